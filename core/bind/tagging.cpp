#include "arrays.hpp"

namespace tw::bind {

void bind_tagging(nb::module_&) {}

}  // namespace tw::bind
