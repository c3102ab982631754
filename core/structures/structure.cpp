#include "structure.hpp"

#include <algorithm>

namespace tw {

void Structure::costs(Shape shape, std::span<const Part> gold, std::span<double> out) const {
    const std::size_t n_first = blocks(shape).front().size();
    std::ranges::fill(out, 0.0);
    std::fill_n(out.begin(), n_first, 1.0);
    for (const Part part : gold)
        if (part < n_first) out[part] = 0.0;
}

}  // namespace tw
