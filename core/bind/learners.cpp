#include "arrays.hpp"

namespace tw::bind {

void bind_learners(nb::module_&) {}

}  // namespace tw::bind
