#include "arrays.hpp"

namespace tw::bind {

void bind_features(nb::module_&) {}

}  // namespace tw::bind
