// Frank-Wolfe, cutting planes and exponentiated gradient, bound.
#include "learner_arguments.hpp"

namespace tw::bind {

void bind_batch(nb::module_&) {}

}  // namespace tw::bind
