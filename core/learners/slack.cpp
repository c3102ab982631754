#include "slack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace tw::learners {
namespace {

constexpr std::size_t kMostQuestions = 64;
constexpr double kSteepest = 1e12;
constexpr double kRounding = 1e-12;

struct Point {
    double cost, margin;
    double along(double nu) const { return margin + nu * cost; }
};

class Search {
public:
    Search(RankedExamples& examples, AveragedWeights& w, std::size_t example)
        : examples_(examples), w_(w), example_(example) {}

    void run() {
        const std::vector<Output> first = examples_.kbest(w_, example_, 1, 1.0);
        if (first.empty()) return;
        SparseVector difference;
        examples_.difference(w_, example_, first.front(), difference);
        gold_ = first.front().score + w_.dot(difference);
        bisect(see(first.front()));
        if (!exact_) list();
    }

    const std::optional<Output>& best() const { return best_; }
    double loss() const { return loss_; }
    bool exact() const { return exact_; }

private:
    Point see(const Output& found) {
        const Point point{found.cost, 1.0 + found.score - gold_};
        if (const double value = point.cost * point.margin; point.margin > 0.0 && value > loss_) {
            loss_ = value;
            best_ = found;
        }
        return point;
    }

    // Ends with nu_ between two neighbours on the hull, or where one point proves itself the best: a point that wins at
    // its own nu = m / c.
    void bisect(Point point) {
        std::optional<Point> left, right;  // seen at a smaller nu than the one wanted, and at a larger
        double low = 0.0, high = std::numeric_limits<double>::infinity();
        bool along_edge = false;  // whether left and right are equally good at nu_
        for (std::size_t asked = 1; asked < kMostQuestions; ++asked) {
            highest_ = point.along(nu_);
            exact_ = bound() <= loss_;
            const bool neighbours = along_edge && highest_ <= left->along(nu_) + kRounding * std::abs(highest_);
            if (exact_ || neighbours) return;
            if (nu_ * point.cost < point.margin) {
                left = point;
                low = nu_;
            } else {
                right = point;
                high = nu_;
            }
            exact_ = left && right && left->cost >= right->cost;  // one point, and nothing better to either side of it
            if (exact_) return;
            nu_ = own_nu();
            along_edge = !(nu_ > low && nu_ < high) && left && right;
            if (along_edge)
                nu_ = (left->margin - right->margin) / (right->cost - left->cost);
            else if (!(nu_ > low && nu_ < high))
                nu_ = left ? 2.0 * low : 0.0;
            if (!(nu_ >= low && nu_ < high && nu_ < kSteepest))
                return right ? restore(*right, high) : restore(*left, low);
            const std::vector<Output> found = examples_.kbest(w_, example_, 1, nu_);
            if (found.empty()) return;
            point = see(found.front());
        }
    }

    double own_nu() const { return best_ ? (1.0 + best_->score - gold_) / best_->cost : 0.0; }

    void restore(const Point& point, double nu) {
        nu_ = nu;
        highest_ = point.along(nu);
    }

    // What c m can be at most when  m + nu c <= highest.
    double bound() const {
        return nu_ > 0.0 ? highest_ * highest_ / (4.0 * nu_) * (1.0 - kRounding)
                         : std::numeric_limits<double>::infinity();
    }

    void list() {
        if (!examples_.lists() || !(nu_ > 0.0)) return;
        for (std::size_t k = 4; k <= kLongestSlackList; k *= 4) {
            const std::vector<Output> found = examples_.kbest(w_, example_, k, nu_);
            for (const Output& one : found) highest_ = see(one).along(nu_);
            if (found.size() < k || highest_ <= 0.0 || bound() <= loss_) {
                exact_ = true;
                return;
            }
        }
    }

    RankedExamples& examples_;
    AveragedWeights& w_;
    const std::size_t example_;
    double gold_ = 0.0, loss_ = 0.0, nu_ = 1.0, highest_ = 0.0;
    std::optional<Output> best_;
    bool exact_ = false;
};

}  // namespace

SlackRival slack_search(RankedExamples& examples, AveragedWeights& w, std::size_t example) {
    Search search(examples, w, example);
    search.run();
    SlackRival rival;
    rival.exact = search.exact();
    if (!search.best()) return rival;
    rival.found = *search.best();
    examples.difference(w, example, rival.found, rival.difference);
    rival.loss = search.loss();
    return rival;
}

SlackRival slack_rival(RankedExamples& examples, AveragedWeights& w, std::size_t example) {
    SlackRival rival = slack_search(examples, w, example);
    if (rival.exact || !examples.slack_argmax(w, example, rival.found)) return rival;
    examples.difference(w, example, rival.found, rival.difference);
    rival.loss = rival.found.cost * (1.0 - w.dot(rival.difference));
    if (!(rival.loss > 0.0)) rival = {};
    rival.exact = true;
    return rival;
}

}  // namespace tw::learners
