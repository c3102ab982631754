// What all solvers have in common: one iteration a call, and their whole memory can be taken out and put back, so that
// a run that was cut in two ends with the very same bits as one that was not.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../oracle.hpp"

namespace tw::learners {

using State = std::map<std::string, std::variant<std::vector<double>, std::vector<float>>>;

using Facts = std::map<std::string, double>;

// What is minimised, with nu of Sums::loss and the factors c of Sums::l1_factors:
//     sum of losses + l2/2 |w|^2 + l1 sum_j c_j |w_j|
struct Objective {
    double l2 = 1.0, l1 = 0.0, nu = 0.0;
};

enum class Outcome {
    kRunning = 0,
    kConverged = 1,     // within the tolerance
    kRounding = 2,      // no lower value can be told apart from this one
    kNoLowerPoint = 3,  // the line search found nothing lower although the slope promised it
    kNotFinite = 4,     // the objective is not a finite number where the search stands
    kSlow = 5,          // it has fallen by too little for some iterations
};

// Whether a structure loses no less than the prediction: whether it is in the prediction violation set S (after
// eq. 3.19, and before eq. 6.13). Losses that are equal may come out of different sums, which rounding sets apart.
inline bool loses_no_less(double loss, double of_prediction) { return loss >= of_prediction * (1.0 - 1e-10); }

class Solver {
public:
    Solver() = default;
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;
    virtual ~Solver() = default;
    virtual void step(std::size_t n_jobs) = 0;  // nothing happens once the outcome is known
    virtual std::string_view phase() const = 0;
    virtual std::span<const double> weights() const = 0;
    virtual double objective() const = 0;  // at the weights; an estimate from the last pass if the solver is stochastic
    virtual double gradient_norm() const = 0;  // NaN when not known
    virtual double gap() const = 0;            // guess of objective - minimum; infinite while there is none
    virtual double passes() const = 0;         // over the data, so far
    virtual std::size_t iterations() const = 0;
    virtual Outcome outcome() const = 0;
    virtual Facts facts() const { return {}; }  // further numbers worth a line in a log
    virtual State state() const = 0;
    virtual void restore(const State& state) = 0;  // throws std::invalid_argument when it does not fit
};

// The entries of a state, checked: present, of the right kind and size.
const std::vector<double>& numbers(const State& state, const std::string& name, std::size_t size);
const std::vector<float>& singles(const State& state, const std::string& name, std::size_t size);
const std::vector<double>& any_numbers(const State& state, const std::string& name);  // of any size

// The weights that an oracle has added, as GrowingWeights has them; none where it adds none.
inline std::vector<double> grown(Oracle& oracle) {
    return oracle.growth() ? oracle.growth()->grown() : std::vector<double>();
}
inline void grow_again(Oracle& oracle, std::span<const double> list) {
    if (oracle.growth()) oracle.growth()->grow_again(list);
}

// The objective at `weights`, in double precision.
double exact_objective(Sums& sums, const Objective& objective, std::span<const double> weights, std::size_t n_jobs);

}  // namespace tw::learners
