#include "solver.hpp"

#include <cmath>
#include <stdexcept>

namespace tw::learners {
namespace {

template <class T>
const std::vector<T>& part(const State& state, const std::string& name, std::size_t size) {
    const auto found = state.find(name);
    if (found == state.end()) throw std::invalid_argument("state has no '" + name + "': it is of another solver");
    const auto* values = std::get_if<std::vector<T>>(&found->second);
    if (values == nullptr) throw std::invalid_argument("state['" + name + "'] has the wrong type of numbers");
    if (values->size() != size)
        throw std::invalid_argument("state['" + name + "'] has " + std::to_string(values->size()) + " numbers, not " +
                                    std::to_string(size) + ": it is of another training set or other settings");
    return *values;
}

}  // namespace

const std::vector<double>& numbers(const State& state, const std::string& name, std::size_t size) {
    return part<double>(state, name, size);
}

const std::vector<float>& singles(const State& state, const std::string& name, std::size_t size) {
    return part<float>(state, name, size);
}

const std::vector<double>& any_numbers(const State& state, const std::string& name) {
    const auto found = state.find(name);
    const auto* values = found == state.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
    if (values == nullptr) throw std::invalid_argument("state has no '" + name + "': it is of another solver");
    return *values;
}

double exact_objective(Sums& sums, const Objective& objective, std::span<const double> weights, std::size_t n_jobs) {
    std::vector<double> gradient(weights.size());
    const double loss = sums.loss(weights, gradient, objective.nu, n_jobs, true);
    const auto factors = sums.l1_factors();
    double squares = 0.0, absolutes = 0.0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
        squares += weights[j] * weights[j];
        absolutes += factors[j] * std::abs(weights[j]);
    }
    return loss + 0.5 * objective.l2 * squares + objective.l1 * absolutes;
}

}  // namespace tw::learners
