// MIRA, SDM, LaRank and dual coordinate descent, bound.
#include "learner_arguments.hpp"

namespace tw::bind {

void bind_dual(nb::module_&) {}

}  // namespace tw::bind
