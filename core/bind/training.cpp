#include "arrays.hpp"

namespace tw::bind {

void bind_training(nb::module_&) {}

}  // namespace tw::bind
