#include "tree_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../kernels/elimination.hpp"

namespace tw::spanning {
namespace {

constexpr std::size_t kWidth = kTakenTogether;

// The rows of M of the root and of the words begin .. end - 1, which are left.
struct Left {
    double *root, *words;
    std::size_t begin, end;
    bool rooted;  // pivots see the root
};

struct Graph {
    std::size_t n, stride;
    std::span<const std::uint8_t> may_be_root;

    bool only_others(std::size_t begin, std::size_t end) const {
        return std::none_of(may_be_root.begin() + static_cast<std::ptrdiff_t>(begin),
                            may_be_root.begin() + static_cast<std::ptrdiff_t>(end), [](auto may) { return may != 0; });
    }
};

// A product of pivots as a logarithm, with few logarithms.
struct LogProduct {
    double product = 1.0, logs = 0.0;
    void add(double pivot) {
        product *= pivot;
        if (product < 1e-100 || product > 1e100) {
            logs += std::log(product);
            product = 1.0;
        }
    }
    double value() const { return logs + std::log(product); }
};

// Sums of exponentiated scores. What underflows on the way is below 1e-300 in columns that sum to 1e-200 or more: it
// does not matter. Where a pivot is smaller the answer must come from logarithms.
class Exponentials {
public:
    static constexpr double kLeast = 1e-200;
    explicit Exponentials(const Graph& graph) : graph_(graph) {}

    static constexpr bool kExponentiated = true;
    static double score(double value) { return std::log(value); }
    static constexpr double one() { return 1.0; }
    static constexpr double zero() { return 0.0; }
    static double times(double a, double b) { return a * b; }
    static void normalise(std::span<double> values) {
        double total = 0.0;
        for (const double x : values) total += x;
        for (double& x : values) x /= total;
    }
    static void to_probabilities(std::span<double>) {}

    LogProduct log_z;
    bool forget = false;  // columns of words that are out

    bool last(double pivot) {
        log_z.add(pivot);
        return pivot >= kLeast;
    }

    // Takes the first or the last words out.
    bool take_out(Left& left, std::size_t begin, std::size_t end) {
        if (end == left.end) {
            while (left.end > begin)
                if (!take_block(left, std::max(begin, left.end - std::min(kWidth, left.end)), left.end)) return false;
        } else {
            while (left.begin < end)
                if (!take_block(left, left.begin, std::min(end, left.begin + kWidth))) return false;
        }
        return true;
    }

private:
    using Row = std::array<double, kWidth>;

    bool take_block(Left& left, std::size_t begin, std::size_t end) {
        check_();
        const std::size_t stride = graph_.stride, width = end - begin, first = left.begin;
        const auto row = [&](std::size_t word) { return left.words + (word - first) * stride; };
        const std::size_t rest_begin = end == left.end ? left.begin : end,
                          rest_end = end == left.end ? begin : left.end;
        panel_.resize(rest_end - rest_begin + 1);
        Row block[kWidth];
        const auto take = [&](double* from, Row& to) {
            from += begin - 1;
            if (width == kWidth) {
                std::copy_n(from, kWidth, to.begin());
                std::fill_n(from, kWidth, 0.0);
                return;
            }
            to = {};
            std::copy_n(from, width, to.begin());
            std::fill_n(from, width, 0.0);
        };
        take(left.root, panel_[0]);
        for (std::size_t b = rest_begin; b < rest_end; ++b) take(row(b), panel_[b - rest_begin + 1]);
        for (std::size_t i = 0; i < width; ++i) take(row(begin + i), block[i]);

        for (std::size_t j = 0; j < width; ++j) {
            double pivot = left.rooted ? panel_[0][j] : 0.0;
            for (std::size_t b = 1; b < panel_.size(); ++b) pivot += panel_[b][j];
            for (std::size_t i = j + 1; i < width; ++i) pivot += block[i][j];
            if (pivot == 0.0 && !left.rooted && graph_.only_others(rest_begin, rest_end) &&
                graph_.only_others(begin + j + 1, end)) {
                pivot = panel_[0][j];
                if (pivot < kLeast) return false;
                std::fill_n(left.root, stride, 0.0);
                panel_[0] = {};
                panel_[0][j] = pivot;
                left.rooted = true;
            }
            if (!(pivot >= kLeast)) return false;
            log_z.add(pivot);
            const double factor = 1.0 / pivot;
            Row from = block[j];
            std::fill_n(from.begin(), j + 1, 0.0);
            const auto lead_on = [&](Row& to) {
                const double c = to[j] * factor;
                for (std::size_t i = 0; i < kWidth; ++i) to[i] += c * from[i];
                to[j] = c;
            };
            for (Row& to : panel_) lead_on(to);
            for (std::size_t i = j + 1; i < width; ++i) lead_on(block[i]);
        }
        const std::size_t columns = forget ? (begin - 1 + kWidth - 1) / kWidth * kWidth : stride;
        const auto& loops = elimination_loops();
        const double* from = row(begin);
        for (std::size_t j = 0; j < width; ++j) {
            loops.add_products(row(begin + j), 1, block[j].data(), from, j, stride, columns);
            if (!forget) row(begin + j)[begin - 1 + j] = 1.0;
        }
        loops.add_products(left.root, 1, panel_[0].data(), from, width, stride, columns);
        if (rest_end > rest_begin + 1)  // of the last word, only the root's row is looked at
            loops.add_products(row(rest_begin), rest_end - rest_begin, panel_[1].data(), from, width, stride, columns);
        left.words = row(rest_begin);
        left.begin = rest_begin;
        left.end = rest_end;
        return true;
    }

    Graph graph_;
    std::vector<Row> panel_;
    InterruptCheck check_;
};

// The same in logarithms, or for best scores.
template <class Semiring>
class Logarithms {
public:
    explicit Logarithms(const Graph& graph) : graph_(graph) {}

    static constexpr bool kExponentiated = false;
    static double score(double value) { return value; }
    static constexpr double one() { return 0.0; }
    static constexpr double zero() { return kLogZero; }
    static double times(double a, double b) { return a == kLogZero || b == kLogZero ? kLogZero : a + b; }
    static void normalise(std::span<double> values) {
        const double total = Semiring::sum(values);
        for (double& x : values) x -= total;
    }
    static void to_probabilities(std::span<double> values) {
        for (double& x : values) x = std::exp(x);
    }

    struct {
        double total = 0.0;
        double value() const { return total; }
    } log_z;
    bool forget = false;

    bool last(double pivot) {
        log_z.total += pivot;
        return pivot != kLogZero;
    }

    bool take_out(Left& left, std::size_t begin, std::size_t end) {
        while (left.end > begin && left.begin < end)
            if (!take_one(left, end >= left.end ? left.end - 1 : left.begin)) return false;
        return true;
    }

private:
    bool take_one(Left& left, std::size_t k) {
        check_();
        const std::size_t stride = graph_.stride;
        const double* from = left.words + (k - left.begin) * stride;
        const bool first = k == left.begin;
        const std::size_t begin = first ? k + 1 : left.begin, end = first ? left.end : left.end - 1;
        double* rest = left.words + (begin - left.begin) * stride;
        column_.clear();
        if (left.rooted) column_.push_back(left.root[k - 1]);
        for (std::size_t b = begin; b < end; ++b) column_.push_back(rest[(b - begin) * stride + k - 1]);
        double pivot = Semiring::sum(column_);
        if (pivot == kLogZero && !left.rooted && graph_.only_others(begin, end)) {
            pivot = left.root[k - 1];
            std::fill_n(left.root, stride, kLogZero);
            left.root[k - 1] = pivot;
            left.rooted = true;
        }
        if (pivot == kLogZero) return false;
        log_z.total += pivot;
        lead_on(left.root, from, k, pivot);
        for (std::size_t b = begin; b < end; ++b) lead_on(rest + (b - begin) * stride, from, k, pivot);
        left.words = rest;
        left.begin = begin;
        left.end = end;
        return true;
    }

    void lead_on(double* to, const double* from, std::size_t k, double pivot) const {
        const double c = to[k - 1] - pivot;
        const std::size_t columns = forget ? k - 1 : graph_.n;
        if (c != kLogZero)
            for (std::size_t a = 0; a < columns; ++a) to[a] = Semiring::plus(to[a], from[a] + c);
        to[k - 1] = c;
    }

    Graph graph_;
    std::vector<double> column_;
    InterruptCheck check_;
};

std::uint32_t drawn(std::span<const double> p, double uniform) {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < p.size(); ++i) {
        if (p[i] == 0.0) continue;
        last = i;
        if ((uniform -= p[i]) < 0.0) break;
    }
    return last;
}

// Calls at_last(m, left) for every word m, when all others are out, and after that settle(left, begin, end) wherever
// words whose turn has been will be taken out.
template <class Field, class AtLast, class Settle>
bool each_word(Field& field, std::size_t stride, Left left, double* free, const AtLast& at_last, const Settle& settle) {
    const std::size_t n = left.end - left.begin, middle = left.begin + n / 2;
    if (n == 1) return at_last(left.begin, left);
    Left first{free, free + stride, left.begin, left.end, left.rooted};
    std::copy_n(left.root, stride, first.root);
    std::copy_n(left.words, n * stride, first.words);
    if (!field.take_out(first, middle, left.end) ||
        !each_word(field, stride, first, free + (n + 1) * stride, at_last, settle))
        return false;
    settle(left, left.begin, middle);
    return field.take_out(left, left.begin, middle) && each_word(field, stride, left, free, at_last, settle);
}

}  // namespace

// Copies scores, takes the best of each column out, and with a single root the arcs that no tree has.
bool TreeSums::centre(const ArcScores& arcs) {
    n_ = arcs.n;
    stride_ = (n_ + kWidth - 1) / kWidth * kWidth;
    single_root_ = arcs.single_root;
    shift_ = 0.0;
    scores_.assign((n_ + 1) * stride_, kLogZero);
    bool complete = true;
    for (std::size_t h = 0; h <= n_; ++h) {
        double* row = scores_.data() + h * stride_;
        const double* from = arcs.scores + h * (n_ + 1) + 1;
        std::copy_n(from, n_, row);
        if (h == 0) continue;
        row[h - 1] = 0.0;
        std::size_t n_missing = 0;
        for (std::size_t a = 0; a < n_; ++a) n_missing += row[a] == kLogZero;
        complete &= n_missing == 0;
        row[h - 1] = kLogZero;
    }
    may_be_root_.assign(n_ + 1, 1);
    if (single_root_ && !complete && !find_lowest_roots()) return false;
    std::vector<double>& best = centres_;
    best.assign(stride_, kLogZero);
    for (std::size_t h = 0; h <= n_; ++h)
        for (std::size_t a = 0; a < n_; ++a) best[a] = std::max(best[a], scores_[h * stride_ + a]);
    CompensatedSum total;
    for (std::size_t a = 0; a < n_; ++a) {
        if (best[a] == kLogZero) return false;
        total.add(best[a]);
    }
    shift_ = total.value();
    std::fill(best.begin() + static_cast<std::ptrdiff_t>(n_), best.end(), 0.0);
    for (std::size_t h = 0; h <= n_; ++h)
        for (std::size_t a = 0; a < stride_; ++a) scores_[h * stride_ + a] -= best[a];
    return true;
}

// The words that all others are below in some tree.
bool TreeSums::find_lowest_roots() {
    std::vector<std::uint8_t> seen(n_ + 1, 0);
    std::vector<std::size_t> stack;
    const auto reach = [&](std::size_t from, bool upwards) {
        std::size_t count = 1;
        seen[from] = 1;
        stack.assign(1, from);
        while (!stack.empty()) {
            const std::size_t v = stack.back();
            stack.pop_back();
            for (std::size_t u = 1; u <= n_; ++u) {
                if (seen[u] || scores_[upwards ? u * stride_ + v - 1 : v * stride_ + u - 1] == kLogZero) continue;
                seen[u] = 1;
                ++count;
                stack.push_back(u);
            }
        }
        return count;
    };
    std::size_t last = 1;
    for (std::size_t v = 1; v <= n_; ++v) {
        if (seen[v]) continue;
        reach(v, false);
        last = v;
    }
    std::ranges::fill(seen, 0);
    if (reach(last, false) < n_) return false;
    std::ranges::fill(seen, 0);
    reach(last, true);
    may_be_root_ = seen;
    for (std::size_t v = 1; v <= n_; ++v)
        if (!seen[v]) scores_[v - 1] = kLogZero;
    return true;
}

// M before any word is out, with room for the copies that each_word makes.
template <class Field>
void TreeSums::put_weights() {
    const std::size_t size = (n_ + 1) * stride_;
    weights_ = scores_.data();
    if (Field::kExponentiated) {
        exponentials_.resize(size);
        kernels().exponentials(scores_.data(), size, exponentials_.data());
        weights_ = exponentials_.data();
    }
    if (rows_.size() < (3 * n_ + 64) * stride_) rows_.resize((3 * n_ + 64) * stride_);
    std::copy_n(weights_, size, rows_.data());
}

// The heads of word m when all others are out, by their weights.
template <class Field, class At>
void TreeSums::put_heads(const At& at, std::size_t m, std::span<double> out) const {
    out[0] = weights_[m - 1];
    for (std::size_t h = 1; h <= n_; ++h)
        out[h] = h == m ? Field::zero() : Field::times(weights_[h * stride_ + m - 1], at.root[h - 1]);
    Field::normalise(out);
}

template <class Field>
bool TreeSums::all_heads(Field field, double* log_z, double* marginals) {
    put_weights<Field>();
    Left left{rows_.data(), rows_.data() + stride_, 1, n_ + 1, !single_root_};
    if (!marginals) {
        field.forget = true;
        if (!field.take_out(left, 2, n_ + 1) || !field.last(left.root[0])) return false;
        *log_z = field.log_z.value();
        return true;
    }
    bool known = false;
    if (Field::kExponentiated && escape_.size() < n_ * stride_) escape_.resize(n_ * stride_);
    std::vector<double> heads(n_ + 1);
    const auto at_last = [&](std::size_t m, const Left& at) {
        if (!field.last(at.root[m - 1])) return false;
        if (!known) *log_z = field.log_z.value();
        known = true;
        if constexpr (Field::kExponentiated) {
            double* escape = escape_.data() + (m - 1) * stride_;
            const double factor = 1.0 / at.root[m - 1];
            for (std::size_t a = 0; a < n_; ++a) escape[a] = at.root[a] * factor;
            marginals[m] = weights_[m - 1] * factor;
            return true;
        }
        put_heads<Field>(at, m, heads);
        for (std::size_t h = 0; h <= n_; ++h) marginals[h * (n_ + 1) + m] = heads[h];
        return true;
    };
    if (!each_word(field, stride_, left, rows_.data() + (n_ + 1) * stride_, at_last,
                   [](const Left&, std::size_t, std::size_t) {}))
        return false;
    if (Field::kExponentiated) put_marginals(marginals);
    return true;
}

// p(h -> m) = W[h -> m] e_m(h), in squares of eight, since one lies by head and the other by modifier.
void TreeSums::put_marginals(double* marginals) {
    std::vector<double> total(marginals, marginals + n_ + 1);
    for (std::size_t h0 = 1; h0 <= n_; h0 += kWidth)
        for (std::size_t m0 = 1; m0 <= n_; m0 += kWidth)
            for (std::size_t h = h0; h < std::min(h0 + kWidth, n_ + 1); ++h)
                for (std::size_t m = m0; m < std::min(m0 + kWidth, n_ + 1); ++m) {
                    const double p = weights_[h * stride_ + m - 1] * escape_[(m - 1) * stride_ + h - 1];
                    marginals[h * (n_ + 1) + m] = p;
                    total[m] += p;
                }
    for (double& x : total) x = x > 0.0 ? 1.0 / x : 0.0;
    for (std::size_t h = 0; h <= n_; ++h)
        for (std::size_t m = 1; m <= n_; ++m) marginals[h * (n_ + 1) + m] *= total[m];
}

double TreeSums::log_partition(const ArcScores& arcs, double* marginals) {
    if (marginals) std::fill_n(marginals, (arcs.n + 1) * (arcs.n + 1), 0.0);
    centred_ = 0.0;
    if (arcs.n == 0) return 0.0;
    if (!centre(arcs)) return kLogZero;
    const Graph graph{n_, stride_, may_be_root_};
    double log_z = 0.0;
    if (!all_heads(Exponentials(graph), &log_z, marginals)) {
        if (marginals) std::fill_n(marginals, (n_ + 1) * (n_ + 1), kLogZero);
        if (!all_heads(Logarithms<LogSum>(graph), &log_z, marginals)) {
            if (marginals) std::fill_n(marginals, (n_ + 1) * (n_ + 1), 0.0);
            return kLogZero;
        }
        if (marginals) Logarithms<LogSum>::to_probabilities({marginals, (n_ + 1) * (n_ + 1)});
    }
    centred_ = log_z;
    return log_z + shift_;
}

void TreeSums::max_marginals(const ArcScores& arcs, double* out) {
    std::fill_n(out, (arcs.n + 1) * (arcs.n + 1), kLogZero);
    if (arcs.n == 0 || !centre(arcs)) return;
    double best = 0.0;
    if (!all_heads(Logarithms<MaxPlus>(Graph{n_, stride_, may_be_root_}), &best, out))
        return std::fill_n(out, (n_ + 1) * (n_ + 1), kLogZero), void();
    for (std::size_t i = 0; i < (n_ + 1) * (n_ + 1); ++i) out[i] += best + shift_;
}

void TreeSums::start_samples(const ArcScores& arcs) {
    of_root_.clear();
    long_walks_ = false;
    if (arcs.single_root) {
        std::vector<double> marginals((arcs.n + 1) * (arcs.n + 1));
        log_partition(arcs, marginals.data());
        of_root_.assign(marginals.begin(), marginals.begin() + static_cast<std::ptrdiff_t>(arcs.n) + 1);
    } else {
        centre(arcs);
    }
    cumulative_.assign((n_ + 1) * (n_ + 1), 0.0);
    for (std::size_t m = 1; m <= n_; ++m) {
        double best = kLogZero, total = 0.0;
        for (std::size_t h = single_root_; h <= n_; ++h) best = std::max(best, scores_[h * stride_ + m - 1]);
        for (std::size_t h = single_root_; h <= n_ && best != kLogZero; ++h)
            cumulative_[m * (n_ + 1) + h] = total += std::exp(scores_[h * stride_ + m - 1] - best);
    }
}

void TreeSums::sample(const std::function<double()>& draw, std::span<std::uint32_t> heads) {
    std::uint32_t below_root = 0;
    if (single_root_ && n_ > 0) below_root = drawn(of_root_, draw());
    if (!long_walks_ && walk(draw, heads, below_root)) return;
    long_walks_ = true;
    const Graph graph{n_, stride_, may_be_root_};
    if (!heads_one_by_one(Exponentials(graph), draw, heads, below_root))
        heads_one_by_one(Logarithms<LogSum>(graph), draw, heads, below_root);
}

bool TreeSums::walk(const std::function<double()>& draw, std::span<std::uint32_t> heads, std::uint32_t below_root) {
    std::vector<std::uint8_t> settled(n_ + 1, 0);
    settled[below_root] = 1;
    heads[below_root] = 0;
    std::size_t left = n_ * n_ + 1000;
    for (std::uint32_t m = 1; m <= n_; ++m) {
        for (std::uint32_t at = m; !settled[at]; at = heads[at]) {
            if (--left == 0) return false;
            const double* begin = cumulative_.data() + at * (n_ + 1);
            const double x = draw() * begin[n_];
            heads[at] = static_cast<std::uint32_t>(std::upper_bound(begin, begin + n_, x) - begin);
        }
        for (std::uint32_t at = m; !settled[at]; at = heads[at]) settled[at] = 1;
    }
    return true;
}

// In the order in which all other words are out: what is drawn is the only way on for the walk from there.
template <class Field>
bool TreeSums::heads_one_by_one(Field field, const std::function<double()>& draw, std::span<std::uint32_t> heads,
                                std::uint32_t below_root) {
    const auto weight = [&](std::size_t h, std::size_t m) {
        if (below_root != 0 && (h == 0 || m == below_root))
            return h == 0 && m == below_root ? Field::one() : Field::zero();
        return weights_[h * stride_ + m - 1];
    };
    put_weights<Field>();
    for (std::size_t h = 0; h <= n_; ++h)
        for (std::size_t m = 1; m <= n_; ++m) rows_[h * stride_ + m - 1] = weight(h, m);
    std::vector<double> p(n_ + 1);
    const auto at_last = [&](std::size_t m, const Left& at) {
        if (!field.last(at.root[m - 1])) return false;
        p[0] = weight(0, m);
        for (std::size_t h = 1; h <= n_; ++h)
            p[h] = h == m ? Field::zero() : Field::times(weight(h, m), at.root[h - 1]);
        Field::normalise(p);
        Field::to_probabilities(p);
        heads[m] = drawn(p, draw());
        return true;
    };
    const auto settle = [&](const Left& left, std::size_t begin, std::size_t end) {
        for (std::size_t m = begin; m < end; ++m) {
            const std::size_t h = heads[m];
            const auto put = [&](double* row, bool here) {
                if (h != 0 && (h < left.begin || h >= left.end))
                    row[m - 1] = row[h - 1];
                else
                    row[m - 1] = here ? Field::one() : Field::zero();
            };
            put(left.root, h == 0);
            for (std::size_t b = left.begin; b < left.end; ++b) put(left.words + (b - left.begin) * stride_, b == h);
        }
    };
    return each_word(field, stride_, Left{rows_.data(), rows_.data() + stride_, 1, n_ + 1, true},
                     rows_.data() + (n_ + 1) * stride_, at_last, settle);
}

void TreeSums::log_conditional(const ArcScores& arcs, std::span<const std::uint32_t> heads, std::uint32_t m,
                               std::span<double> out) {
    std::vector<double> scores(arcs.scores, arcs.scores + (arcs.n + 1) * (arcs.n + 1));
    for (std::size_t before = 1; before < m; ++before)
        for (std::size_t h = 0; h <= arcs.n; ++h)
            if (h != heads[before]) scores[h * (arcs.n + 1) + before] = kLogZero;
    centre({scores.data(), arcs.n, arcs.single_root});
    const Graph graph{n_, stride_, may_be_root_};
    if (!conditional(Exponentials(graph), m, out)) conditional(Logarithms<LogSum>(graph), m, out);
}

template <class Field>
bool TreeSums::conditional(Field field, std::uint32_t m, std::span<double> out) {
    put_weights<Field>();
    Left left{rows_.data(), rows_.data() + stride_, 1, n_ + 1, !single_root_};
    if (!field.take_out(left, m + 1, n_ + 1) || !field.take_out(left, 1, m) || !field.last(left.root[m - 1]))
        return false;
    put_heads<Field>(left, m, out);
    for (double& x : out) x = Field::score(x);
    return true;
}

}  // namespace tw::spanning
