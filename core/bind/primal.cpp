// Pegasos, subgradient descent and AROW, bound.
#include "learner_arguments.hpp"

namespace tw::bind {

void bind_primal(nb::module_&) {}

}  // namespace tw::bind
