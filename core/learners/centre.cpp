#include "centre.hpp"

#include <stdexcept>

namespace tw::learners {

double Centre::squared_distance(std::span<const double> w) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < w.size(); ++j) {
        const double far = w[j] - at(j);
        sum += far * far;
    }
    return sum;
}

double Centre::dot_of_distance(std::span<const double> w) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < std::min(w.size(), values_.size()); ++j) sum += values_[j] * (w[j] - values_[j]);
    return sum;
}

void Centre::restore(const State& state, std::size_t n_weights) {
    const auto& values = any_numbers(state, "centre");
    if (values.size() > n_weights) throw std::invalid_argument("state['centre'] is of another training set");
    values_ = values;
}

}  // namespace tw::learners
