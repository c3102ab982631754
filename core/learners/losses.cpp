#include "losses.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../base/parallel.hpp"
#include "slack.hpp"

namespace tw::learners {

// One more than k, because gold may be among them; but gold at the head of the list means that there is no loss.
void HingeLoss::seek(const RankedExamples& examples, const AveragedWeights& w, std::size_t example, Sought& out) const {
    out.structures = examples.kbest(w, example, k_ == 1 ? 1 : k_ + 1, 1.0);
    if (restricted_) out.prediction = examples.kbest(w, example, 1, 0.0);
}

double HingeLoss::settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                         double factor, Pushes& pushes) {
    double least = 0.0;  // loss of the prediction, which members of S reach
    if (restricted_ && !sought.prediction.empty()) {
        examples.difference(w, example, sought.prediction.front(), of_prediction_);
        least = std::max(0.0, sought.prediction.front().cost - w.dot(of_prediction_));
    }
    const std::size_t first = pushes.size();
    std::vector<double> violations;
    for (const Output& found : sought.structures) {
        if (violations.size() == k_) break;
        SparseVector& difference = pushes.next();
        examples.difference(w, example, found, difference);
        const double violation = found.cost - w.dot(difference);
        if (!(violation > 0.0) || !loses_no_less(violation, least)) break;  // best first: the rest lose no more
        violations.push_back(violation);
        pushes.push(0.0);
    }
    // All structures are listed when there are no more than k, gold among them; S may hold fewer still.
    std::size_t size = std::clamp<std::size_t>(sought.structures.size() - (k_ > 1 ? 1 : 0), 1, k_);
    if (least > 0.0) size = std::max<std::size_t>(violations.size(), 1);
    double sum = 0.0;
    for (std::size_t i = 0; i < violations.size(); ++i) {
        sum += violations[i];
        pushes.set(first + i, factor / static_cast<double>(size));
    }
    return sum / static_cast<double>(size);
}

double SlackLoss::settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought&,
                         double factor, Pushes& pushes) {
    SlackRival rival = slack_rival(examples, w, example);
    if (!(rival.loss > 0.0)) return 0.0;
    pushes.next() = std::move(rival.difference);
    pushes.push(factor * rival.found.cost);
    return rival.loss;
}

void RampLoss::begin(RankedExamples& examples, AveragedWeights& w, std::size_t pass, std::size_t n_jobs) {
    if (pass % round_ != 0 && !tangents_.empty()) return;
    const std::size_t n = examples.n_examples();
    std::vector<std::vector<Output>> found(n);
    parallel_for(n, n_jobs, [&](std::size_t i, std::size_t) { found[i] = examples.kbest(w, i, 1, nu_); });
    std::vector<Tangent> tangents(n);
    InterruptCheck check;
    for (std::size_t i = 0; i < n; ++i) {
        check();
        if (found[i].empty()) continue;
        Tangent& tangent = tangents[i];
        examples.difference(w, i, found[i].front(), tangent.difference);
        tangent.cost = -nu_ * found[i].front().cost;
        const bool concave = -tangent.cost - w.dot(tangent.difference) > 0.0;  // n is in A of Mančev 2015, algorithm 6
        if (!concave) tangent = {};
    }
    tangents_ = std::move(tangents);
}

double RampLoss::settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                        double factor, Pushes& pushes) {
    double loss = HingeLoss::settle(examples, w, example, sought, factor, pushes);
    const Tangent& tangent = tangents_[example];
    if (tangent.difference.empty()) return loss;
    loss += tangent.cost + w.dot(tangent.difference);
    pushes.next() = tangent.difference;
    pushes.push(-factor);
    return loss;
}

void RampLoss::save(State& state) const {
    std::vector<double> out{static_cast<double>(tangents_.size())};
    for (const Tangent& tangent : tangents_) {
        out.push_back(static_cast<double>(tangent.difference.size()));
        out.push_back(tangent.cost);
        out.insert(out.end(), tangent.difference.indices.begin(), tangent.difference.indices.end());
        out.insert(out.end(), tangent.difference.values.begin(), tangent.difference.values.end());
    }
    state["tangents"] = std::move(out);
}

void RampLoss::load(const State& state, std::size_t n_examples, std::size_t n_weights) {
    const auto found = state.find("tangents");
    const auto* numbers = found == state.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
    const auto wrong = [] { return std::invalid_argument("state['tangents'] is not of this training set"); };
    if (numbers == nullptr || numbers->empty()) throw wrong();
    std::size_t at = 1;
    const auto take = [&] {
        if (at >= numbers->size()) throw wrong();
        return (*numbers)[at++];
    };
    const auto count = [&](double x) {
        if (!(x >= 0.0 && x <= static_cast<double>(numbers->size()))) throw wrong();
        return static_cast<std::size_t>(x);
    };
    std::vector<Tangent> tangents(count(numbers->front()));
    if (!tangents.empty() && tangents.size() != n_examples) throw wrong();
    for (Tangent& tangent : tangents) {
        const std::size_t size = count(take());
        tangent.cost = take();
        for (std::size_t i = 0; i < size; ++i) {
            const double index = take();
            if (!(index >= 0.0 && index < static_cast<double>(n_weights))) throw wrong();
            tangent.difference.indices.push_back(static_cast<std::uint32_t>(index));
        }
        for (std::size_t i = 0; i < size; ++i) tangent.difference.values.push_back(take());
    }
    tangents_ = std::move(tangents);
}

void DirectLoss::begin(RankedExamples&, AveragedWeights&, std::size_t pass, std::size_t) {
    epsilon_ = first_ / std::pow(static_cast<double>(pass + 1), decay_);
}

void DirectLoss::seek(const RankedExamples& examples, const AveragedWeights& w, std::size_t example,
                      Sought& out) const {
    out.structures = examples.kbest(w, example, 1, epsilon_);
    out.prediction = examples.kbest(w, example, 1, 0.0);
}

double DirectLoss::settle(RankedExamples& examples, AveragedWeights& w, std::size_t example, const Sought& sought,
                          double factor, Pushes& pushes) {
    if (sought.structures.empty() || sought.prediction.empty()) return 0.0;
    const Output &direct = sought.structures.front(), &prediction = sought.prediction.front();
    if (direct.same_as(prediction)) return prediction.cost;
    examples.difference(w, example, direct, pushes.next());
    pushes.push(factor / epsilon_);
    examples.difference(w, example, prediction, pushes.next());
    pushes.push(-factor / epsilon_);
    return prediction.cost;
}

}  // namespace tw::learners
