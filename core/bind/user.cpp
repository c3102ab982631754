// Structures written in Python, as an oracle.
#include "learner_arguments.hpp"

namespace tw::bind {

void bind_user(nb::module_&) {}

}  // namespace tw::bind
