#include "elimination.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "../base/interrupt.hpp"
#include "../base/semiring.hpp"
#include "../spanning/distinct_trees.hpp"

namespace tw::graphs {
namespace {

// How a table is walked along one of its terms: loops from the outermost, each with how far the term moves. Dimensions
// along which both move alike are one loop, so that the innermost is as long as can be.
class Walk {
public:
    Walk(std::span<const std::uint32_t> dims, const std::uint32_t* strides, const std::uint32_t* n_labels) {
        for (std::size_t d = 0; d < dims.size(); ++d) {
            const std::size_t size = n_labels[dims[d]], stride = strides[d];
            if (size == 1) continue;
            if (n_ > 0 && stride_[n_ - 1] == size * stride) {
                size_[n_ - 1] *= size;
                stride_[n_ - 1] = stride;
            } else {
                size_[n_] = size;
                stride_[n_++] = stride;
            }
        }
        if (n_ == 0) {
            size_[n_] = 1;
            stride_[n_++] = 0;
        }
    }

    // Calls row(entry of the table, entry of the term, size, stride) for every innermost loop.
    template <class Row>
    void each(Row row) const {
        const std::size_t size = size_[n_ - 1], stride = stride_[n_ - 1];
        if (n_ == 1) return row(0, 0, size, stride);
        if (n_ == 2) {
            for (std::size_t i = 0; i < size_[0]; ++i) row(i * size, i * stride_[0], size, stride);
            return;
        }
        std::array<std::size_t, kMost> at{};
        for (std::size_t entry = 0, term = 0;; entry += size) {
            row(entry, term, size, stride);
            std::size_t d = n_ - 1;
            while (d-- > 0) {
                term += stride_[d];
                if (++at[d] < size_[d]) break;
                term -= size_[d] * stride_[d];
                at[d] = 0;
            }
            if (d == static_cast<std::size_t>(-1)) return;
        }
    }

private:
    static constexpr std::size_t kMost = 64;  // a table with more loops would have 2^64 entries
    std::array<std::size_t, kMost> size_, stride_;
    std::size_t n_ = 0;
};

std::string in_words(double number) {
    if (number >= 1e15) return "10^" + std::to_string(static_cast<int>(std::log10(number)));
    std::string digits = std::to_string(static_cast<long long>(number));
    for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
        digits.insert(static_cast<std::size_t>(i), ",");
    return digits;
}

}  // namespace

Elimination::Elimination(const Graph& graph, Limits limits)
    : n_variables_(graph.n_variables()), n_scores_(graph.n_scores), n_labels_(graph.n_labels) {
    owner_.resize(n_variables_);
    for (std::uint32_t v = 0; v < n_variables_; ++v) owner_[v] = v;
    std::vector<Table> tables;
    Scopes scopes;
    add_tables(graph, tables, scopes);
    if (!narrow()) return;
    // Tables that were given are not too large, whatever they are.
    for (std::size_t i = 0, begin = 0; i < scopes.ends.size(); begin = scopes.ends[i++]) {
        double entries = 1.0;
        for (std::size_t j = begin; j < scopes.ends[i]; ++j) entries *= n_labels_[scopes.variables[j]];
        limits.table = std::max(limits.table, 4.0 * entries);
    }
    limits.table = std::min(limits.table, 4294967295.0);  // strides have 32 bits
    limits.messages = std::max(limits.messages, 4.0 * static_cast<double>(n_scores_));
    limits.entries = std::max(limits.entries, 16.0 * static_cast<double>(n_scores_));
    const Order order = elimination_order(n_labels_, scopes, limits);
    width_ = order.width;
    if (!order.narrow) {
        const bool by_table = width_.widest > limits.table, by_messages = width_.messages > limits.messages;
        const double needed = by_table ? width_.widest : by_messages ? width_.messages : width_.entries;
        const double limit = by_table ? limits.table : by_messages ? limits.messages : limits.entries;
        refusal_ = "the graph is too wide for exact answers: elimination needs " +
                   std::string(by_table      ? "a table of "
                               : by_messages ? "to keep messages of "
                                             : "tables of ") +
                   in_words(needed) + " entries or more" + (by_table ? "" : " in all") + ", and the limit is " +
                   in_words(limit);
        return;
    }
    make_buckets(order, tables, scopes);
}

// ---- tables and logic ----------------------------------------------------------------------------------------------

void Elimination::add_tables(const Graph& graph, std::vector<Table>& tables, Scopes& scopes) {
    for (std::uint32_t v = 0; v < n_variables_; ++v) {
        tables.push_back({Source::kScores, graph.unary_at[v]});
        scopes.variables.push_back(v);
        scopes.ends.push_back(scopes.variables.size());
    }
    for (const Factor& factor : graph.factors) {
        if (factor.kind == Factor::Kind::kStructure) {
            refusal_ = "a structure as one factor has no exact answers by elimination: ask for a search";
            return;
        }
        if (factor.kind != Factor::Kind::kTable) {
            add_logic(factor, tables, scopes);
            if (!narrow()) return;
            continue;
        }
        tables.push_back({Source::kScores, factor.at});
        scopes.variables.insert(scopes.variables.end(), factor.variables.begin(), factor.variables.end());
        scopes.ends.push_back(scopes.variables.size());
    }
}

// One step for each variable that has literals, in the order of variables: (counter before, variable, counter after).
// The first has no counter before, the last none after, but says what the count must be.
void Elimination::add_logic(const Factor& factor, std::vector<Table>& tables, Scopes& scopes) {
    using Kind = Factor::Kind;
    constexpr double kMostEntries = 1 << 26;
    std::map<std::uint32_t, std::vector<std::uint32_t>> steps;  // how many literals each label makes true
    for (const Literal& literal : factor.literals) {
        auto& counts = steps.try_emplace(literal.variable, n_labels_[literal.variable], 0u).first->second;
        ++counts[literal.label];
    }
    const std::size_t most = factor.kind == Kind::kAtMost ? factor.most : 1;
    std::size_t reachable = 0;
    for (const auto& [variable, counts] : steps) reachable += std::ranges::max(counts);
    if (factor.kind == Kind::kAtMost && reachable <= most) return;

    const auto after = [&](std::size_t count) { return factor.kind == Kind::kOr ? std::min(count, most) : count; };
    const auto complete = [&](std::size_t count) {
        return factor.kind == Kind::kAtMost ? count <= most : factor.kind == Kind::kOr ? count >= 1 : count == 1;
    };
    std::map<std::tuple<std::size_t, std::size_t, std::vector<std::uint32_t>>, std::size_t> known;  // where tables are
    std::uint32_t counter = kNoVariable;
    std::size_t n_before = 1, left = steps.size();
    for (const auto& [variable, counts] : steps) {
        const bool last = --left == 0;
        const std::size_t n_after = last ? 1 : std::min<std::size_t>(most, n_before - 1 + std::ranges::max(counts)) + 1;
        const auto [found, fresh] = known.try_emplace({n_before, last ? 0 : n_after, counts}, logic_.size());
        if (fresh) {
            const double entries =
                static_cast<double>(n_before) * static_cast<double>(counts.size()) * static_cast<double>(n_after);
            if (static_cast<double>(logic_.size()) + entries > kMostEntries) {
                refusal_ = "an at-most of " + std::to_string(factor.most) + " among " + std::to_string(steps.size()) +
                           " variables is too wide for exact answers: its counters need more than " +
                           in_words(kMostEntries) + " table entries";
                return;
            }
            for (std::size_t before = 0; before < n_before; ++before)
                for (const std::uint32_t more : counts)
                    for (std::size_t to = 0; to < n_after; ++to) {
                        const bool fits = last ? complete(before + more) : after(before + more) == to;
                        logic_.push_back(fits ? 0.0 : kLogZero);
                    }
        }
        tables.push_back({Source::kLogic, found->second});
        if (counter != kNoVariable) scopes.variables.push_back(counter);
        scopes.variables.push_back(variable);
        if (!last) {
            counter = static_cast<std::uint32_t>(n_labels_.size());
            n_labels_.push_back(static_cast<std::uint32_t>(n_after));
            owner_.push_back(variable);
            scopes.variables.push_back(counter);
        }
        scopes.ends.push_back(scopes.variables.size());
        n_before = n_after;
    }
}

// ---- buckets -------------------------------------------------------------------------------------------------------

void Elimination::make_buckets(const Order& order, const std::vector<Table>& tables, const Scopes& scopes) {
    const std::size_t n = n_labels_.size();
    std::vector<std::uint32_t> turn(n), dim(n);
    for (std::uint32_t i = 0; i < n; ++i) turn[order.variables[i]] = i;
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return turn[a] < turn[b]; };
    const auto scope = [&](std::size_t table) {
        const std::size_t begin = table > 0 ? scopes.ends[table - 1] : 0;
        return std::span(scopes.variables).subspan(begin, scopes.ends[table] - begin);
    };
    // Tables by bucket, in their order.
    std::vector<std::uint32_t> of(tables.size()), sorted(tables.size());
    std::vector<std::size_t> first(n + 1, 0);
    for (std::size_t t = 0; t < tables.size(); ++t) {
        of[t] = turn[*std::ranges::min_element(scope(t), earlier)];
        ++first[of[t] + 1];
    }
    for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
    for (std::size_t t = 0; t < tables.size(); ++t) sorted[first[of[t]]++] = static_cast<std::uint32_t>(t);
    // Messages that each bucket takes: the first one, and after each the next.
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<std::uint32_t> head(n, kNone), tail(n, kNone), next(n, kNone);

    buckets_.reserve(n);
    for (std::size_t i = 0, table = 0; i < n; ++i) {
        Bucket bucket{};
        bucket.variable = order.variables[i];
        bucket.n_labels = n_labels_[bucket.variable];
        bucket.first_dim = dims_.size();
        dims_.push_back(bucket.variable);
        const auto begin = order.neighbours.begin();
        dims_.insert(dims_.end(), begin + static_cast<std::ptrdiff_t>(order.first_neighbour[i]),
                     begin + static_cast<std::ptrdiff_t>(order.first_neighbour[i + 1]));
        std::ranges::sort(dims_.begin() + static_cast<std::ptrdiff_t>(bucket.first_dim), dims_.end(), earlier);
        const std::span own = std::span(dims_).subspan(bucket.first_dim);
        bucket.n_dims = own.size();
        bucket.rest = 1;
        for (std::uint32_t d = 0; d < own.size(); ++d) {
            dim[own[d]] = d;
            if (d > 0) bucket.rest *= n_labels_[own[d]];
        }
        bucket.message = n_messages_;
        n_messages_ += bucket.rest;
        bucket.first_term = terms_.size();
        bucket.first_stride = strides_.size();
        const auto add = [&](Source source, std::size_t at, std::span<const std::uint32_t> variables) {
            terms_.push_back({source, at});
            const std::size_t begin_strides = strides_.size();
            strides_.resize(begin_strides + own.size(), 0);
            std::size_t stride = 1;
            for (std::size_t j = variables.size(); j-- > 0;) {
                strides_[begin_strides + dim[variables[j]]] = static_cast<std::uint32_t>(stride);
                stride *= n_labels_[variables[j]];
            }
        };
        for (; table < first[i]; ++table)
            add(tables[sorted[table]].source, tables[sorted[table]].at, scope(sorted[table]));
        for (std::uint32_t from = head[i]; from != kNone; from = next[from]) {
            const Bucket& child = buckets_[from];
            const std::vector<std::uint32_t> variables(
                dims_.begin() + static_cast<std::ptrdiff_t>(child.first_dim) + 1,
                dims_.begin() + static_cast<std::ptrdiff_t>(child.first_dim + child.n_dims));
            add(Source::kMessages, child.message, variables);
        }
        bucket.n_terms = terms_.size() - bucket.first_term;
        if (!bucket.last()) {
            const std::uint32_t to = turn[own[1]], here = static_cast<std::uint32_t>(i);
            (head[to] == kNone ? head[to] : next[tail[to]]) = here;
            tail[to] = here;
        }
        widest_ = std::max(widest_, bucket.rest * bucket.n_labels);
        widest_rest_ = std::max(widest_rest_, bucket.rest);
        most_labels_ = std::max<std::size_t>(most_labels_, bucket.n_labels);
        buckets_.push_back(bucket);
    }
}

std::size_t Elimination::bytes() const {
    return sizeof *this + buckets_.size() * sizeof(Bucket) + terms_.size() * sizeof(Term) +
           (dims_.size() + strides_.size() + 2 * n_labels_.size()) * sizeof(std::uint32_t) +
           logic_.size() * sizeof(double);
}

// ---- tables while an answer is made --------------------------------------------------------------------------------

void Elimination::prepare(Space& space) const {
    if (!narrow()) throw std::invalid_argument(refusal_);
    space.messages.resize(n_messages_);
    space.table.resize(widest_);
    space.shifts.resize(widest_rest_);
    space.sums.resize(widest_rest_);
    space.row.resize(most_labels_);
}

const double* Elimination::Term::of(std::span<const double> scores, const Elimination& all, const Space& space) const {
    switch (source) {
        case Source::kScores:
            return scores.data() + at;
        case Source::kLogic:
            return all.logic_.data() + at;
        case Source::kMessages:
            break;
    }
    return space.messages.data() + at;
}

void Elimination::fill_table(const Bucket& bucket, std::span<const double> scores, Space& space) const {
    const std::span dims = std::span(dims_).subspan(bucket.first_dim, bucket.n_dims);
    double* const table = space.table.data();
    for (std::size_t t = 0; t < bucket.n_terms; ++t) {
        const double* const term = terms_[bucket.first_term + t].of(scores, *this, space);
        const Walk walk(dims, strides_.data() + bucket.first_stride + t * bucket.n_dims, n_labels_.data());
        const bool add = t > 0;
        walk.each([=](std::size_t entry, std::size_t from, std::size_t size, std::size_t stride) {
            double* const to = table + entry;
            const double* const given = term + from;
            if (!add)
                for (std::size_t i = 0; i < size; ++i) to[i] = given[i * stride];
            else if (stride == 0)
                for (std::size_t i = 0; i < size; ++i) to[i] += *given;
            else if (stride == 1)
                for (std::size_t i = 0; i < size; ++i) to[i] += given[i];
            else
                for (std::size_t i = 0; i < size; ++i) to[i] += given[i * stride];
        });
    }
}

// The row of a table that the labels of S choose, added up as the table is.
void Elimination::fill_row(const Bucket& bucket, std::span<const double> scores, const Space& space,
                           const std::uint32_t* labels, double* row) const {
    for (std::size_t t = 0; t < bucket.n_terms; ++t) {
        const std::uint32_t* const strides = strides_.data() + bucket.first_stride + t * bucket.n_dims;
        const double* term = terms_[bucket.first_term + t].of(scores, *this, space);
        for (std::size_t d = 1; d < bucket.n_dims; ++d)
            term += std::size_t{strides[d]} * labels[dims_[bucket.first_dim + d]];
        const std::size_t stride = strides[0];
        if (t == 0)
            for (std::size_t l = 0; l < bucket.n_labels; ++l) row[l] = term[l * stride];
        else
            for (std::size_t l = 0; l < bucket.n_labels; ++l) row[l] += term[l * stride];
    }
}

// Subtracts the maximum over the variable, 0 where all are -inf, which is left in `shifts`.
void Elimination::shift_table(const Bucket& bucket, Space& space) const {
    const std::size_t rest = bucket.rest;
    double* const shifts = space.shifts.data();
    double* const table = space.table.data();
    std::copy_n(table, rest, shifts);
    for (std::size_t l = 1; l < bucket.n_labels; ++l)
        for (std::size_t s = 0; s < rest; ++s) shifts[s] = std::max(shifts[s], table[l * rest + s]);
    for (std::size_t s = 0; s < rest; ++s) shifts[s] = shifts[s] == kLogZero ? 0.0 : shifts[s];
    for (std::size_t l = 0; l < bucket.n_labels; ++l)
        for (std::size_t s = 0; s < rest; ++s) table[l * rest + s] -= shifts[s];
}

template <bool kSums>
std::size_t Elimination::forward(std::span<const double> scores, Space& space, double& constant) const {
    prepare(space);
    CompensatedSum total;
    InterruptCheck check;
    for (const Bucket& bucket : buckets_) {
        check();
        fill_table(bucket, scores, space);
        const std::size_t rest = bucket.rest, entries = rest * bucket.n_labels;
        double* const table = space.table.data();
        double* const message = space.messages.data() + bucket.message;
        if constexpr (kSums) {
            shift_table(bucket, space);
            kernels().exponentials(table, entries, table);
            double* const sums = space.sums.data();
            std::copy_n(table, rest, sums);
            for (std::size_t l = 1; l < bucket.n_labels; ++l)
                for (std::size_t s = 0; s < rest; ++s) sums[s] += table[l * rest + s];
            for (std::size_t s = 0; s < rest; ++s)
                message[s] = sums[s] == 0.0 ? kLogZero : space.shifts[s] + std::log(sums[s]);
        } else {
            std::copy_n(table, rest, message);
            for (std::size_t l = 1; l < bucket.n_labels; ++l)
                for (std::size_t s = 0; s < rest; ++s) message[s] = std::max(message[s], table[l * rest + s]);
        }
        const double top = *std::max_element(message, message + rest);
        if (top == kLogZero) return bucket.variable;
        for (std::size_t s = 0; s < rest; ++s) message[s] -= top;
        total.add(top);
    }
    constant = total.value();
    return kDone;
}

// Joins every entry of the table with what its terms have: parts in `out`, messages in space.given.
template <class Join>
void Elimination::scatter(const Bucket& bucket, double* out, Space& space, Join join) const {
    const std::span dims = std::span(dims_).subspan(bucket.first_dim, bucket.n_dims);
    const double* const table = space.table.data();
    for (std::size_t t = 0; t < bucket.n_terms; ++t) {
        const Term& term = terms_[bucket.first_term + t];
        if (term.source == Source::kLogic || (term.source == Source::kScores && !out)) continue;
        double* const to = (term.source == Source::kScores ? out : space.given.data()) + term.at;
        const Walk walk(dims, strides_.data() + bucket.first_stride + t * bucket.n_dims, n_labels_.data());
        walk.each([=](std::size_t entry, std::size_t at, std::size_t size, std::size_t stride) {
            const double* const from = table + entry;
            if (stride == 0) {
                double all = from[0];
                for (std::size_t i = 1; i < size; ++i) all = join(all, from[i]);
                to[at] = join(to[at], all);
            } else {
                for (std::size_t i = 0; i < size; ++i) to[at + i * stride] = join(to[at + i * stride], from[i]);
            }
        });
    }
}

// ---- answers -------------------------------------------------------------------------------------------------------

bool Elimination::best(std::span<const double> scores, Space& space, Labels& labels) const {
    double constant;
    if (forward<false>(scores, space, constant) != kDone) return false;
    labels.assign(n_labels_.size(), 0);
    InterruptCheck check;
    for (std::size_t i = buckets_.size(); i-- > 0;) {
        check();
        const Bucket& bucket = buckets_[i];
        fill_row(bucket, scores, space, labels.data(), space.row.data());
        const auto row = space.row.begin();
        labels[bucket.variable] = static_cast<std::uint32_t>(std::max_element(row, row + bucket.n_labels) - row);
    }
    labels.resize(n_variables_);
    return true;
}

std::vector<Elimination::Labels> Elimination::k_best(std::span<const double> scores, std::size_t k,
                                                     Space& space) const {
    std::vector<Labels> found;
    double constant;
    if (k == 0 || forward<false>(scores, space, constant) != kDone) return found;
    // What follows `from` but for one detour: another label at a turn, counted from the last bucket.
    struct Detour {
        double loss;
        std::size_t from, turn;
        std::uint32_t label;
        bool operator<(const Detour& other) const {  // for a heap: the least loss on top, the first of equal ones
            return std::tie(loss, from, turn, label) > std::tie(other.loss, other.from, other.turn, other.label);
        }
    };
    const std::size_t n = buckets_.size();
    std::vector<Detour> heap, fresh;
    InterruptCheck check;
    // Labels from a turn on, and the detours from there.
    const auto follow = [&](Labels& labels, std::size_t turn, double loss) {
        fresh.clear();
        for (; turn < n; ++turn) {
            check();
            const Bucket& bucket = buckets_[n - 1 - turn];
            double* const row = space.row.data();
            fill_row(bucket, scores, space, labels.data(), row);
            const auto chosen = static_cast<std::uint32_t>(std::max_element(row, row + bucket.n_labels) - row);
            labels[bucket.variable] = chosen;
            for (std::uint32_t l = 0; l < bucket.n_labels; ++l)
                if (l != chosen && row[l] != kLogZero)
                    fresh.push_back({loss + (row[chosen] - row[l]), found.size(), turn, l});
        }
        const std::size_t wanted = k - found.size();  // this one among them, so that one more than needed is kept
        const auto better = [](const Detour& a, const Detour& b) { return b < a; };
        if (fresh.size() > wanted) {
            std::ranges::nth_element(fresh, fresh.begin() + static_cast<std::ptrdiff_t>(wanted), better);
            fresh.resize(wanted);
        }
        for (const Detour& detour : fresh) {
            heap.push_back(detour);
            std::push_heap(heap.begin(), heap.end());
        }
        found.push_back(std::move(labels));
    };
    Labels first(n, 0);
    follow(first, 0, 0.0);
    while (found.size() < k && !heap.empty()) {
        std::pop_heap(heap.begin(), heap.end());
        const Detour detour = heap.back();
        heap.pop_back();
        Labels labels = found[detour.from];
        labels[buckets_[n - 1 - detour.turn].variable] = detour.label;
        follow(labels, detour.turn + 1, detour.loss);
    }
    for (Labels& labels : found) labels.resize(n_variables_);
    return found;
}

double Elimination::sums(std::span<const double> scores, double* expected, double* entropy, Space& space) const {
    double log_z;
    if (expected) std::fill_n(expected, n_scores_, 0.0);
    if (entropy) *entropy = 0.0;
    if (forward<true>(scores, space, log_z) != kDone) return kLogZero;
    if (!expected && !entropy) return log_z;
    space.given.assign(n_messages_, 0.0);
    CompensatedSum nats;
    InterruptCheck check;
    for (std::size_t i = buckets_.size(); i-- > 0;) {
        check();
        const Bucket& bucket = buckets_[i];
        const std::size_t rest = bucket.rest, entries = rest * bucket.n_labels;
        double* const table = space.table.data();
        double* const given = space.given.data() + bucket.message;
        double* const sums = space.sums.data();
        if (bucket.last()) given[0] = 1.0;
        fill_table(bucket, scores, space);
        shift_table(bucket, space);
        if (entropy) space.more.assign(table, table + entries);
        kernels().exponentials(table, entries, table);
        std::copy_n(table, rest, sums);
        for (std::size_t l = 1; l < bucket.n_labels; ++l)
            for (std::size_t s = 0; s < rest; ++s) sums[s] += table[l * rest + s];
        if (entropy)  // H(v | S) = log of the sum - mean of the shifted scores: neither is negative
            for (std::size_t s = 0; s < rest; ++s) {
                if (given[s] == 0.0 || sums[s] == 0.0) continue;
                double mean = 0.0;
                for (std::size_t e = s; e < entries; e += rest)
                    if (table[e] != 0.0) mean += table[e] * space.more[e];
                nats.add(given[s] * (std::log(sums[s]) - mean / sums[s]));
            }
        for (std::size_t s = 0; s < rest; ++s) sums[s] = sums[s] == 0.0 ? 0.0 : given[s] / sums[s];
        for (std::size_t l = 0; l < bucket.n_labels; ++l)
            for (std::size_t s = 0; s < rest; ++s) table[l * rest + s] *= sums[s];
        scatter(bucket, expected, space, [](double a, double b) { return a + b; });
    }
    if (entropy) *entropy = std::max(nats.value(), 0.0);
    return log_z;
}

void Elimination::max_marginals(std::span<const double> scores, std::span<double> out, Space& space) const {
    double top;
    std::ranges::fill(out, kLogZero);
    if (forward<false>(scores, space, top) != kDone) return;
    space.given.assign(n_messages_, kLogZero);
    InterruptCheck check;
    for (std::size_t i = buckets_.size(); i-- > 0;) {
        check();
        const Bucket& bucket = buckets_[i];
        double* const table = space.table.data();
        double* const given = space.given.data() + bucket.message;
        if (bucket.last()) given[0] = top;
        fill_table(bucket, scores, space);
        shift_table(bucket, space);
        for (std::size_t l = 0; l < bucket.n_labels; ++l)
            for (std::size_t s = 0; s < bucket.rest; ++s) table[l * bucket.rest + s] += given[s];
        scatter(bucket, out.data(), space, [](double a, double b) { return std::max(a, b); });
    }
}

void Elimination::draw_labels(std::span<const double> scores, const std::function<double()>& draw, Space& space,
                              Labels& labels) const {
    labels.assign(n_labels_.size(), 0);
    InterruptCheck check;
    for (std::size_t i = buckets_.size(); i-- > 0;) {
        check();
        const Bucket& bucket = buckets_[i];
        double* const row = space.row.data();
        fill_row(bucket, scores, space, labels.data(), row);
        kernels().softmax(row, bucket.n_labels);
        double left = draw();
        for (std::uint32_t l = 0; l < bucket.n_labels; ++l) {
            if (row[l] == 0.0) continue;
            labels[bucket.variable] = l;  // the last possible one, should rounding leave a remainder
            left -= row[l];
            if (left < 0.0) break;
        }
    }
}

std::vector<Elimination::Labels> Elimination::sample(std::span<const double> scores, std::size_t n, bool distinct,
                                                     const std::function<double()>& draw, Space& space) const {
    std::vector<Labels> out;
    double log_z;
    if (forward<true>(scores, space, log_z) != kDone) return out;
    const std::size_t n_all = n_labels_.size();
    const auto one = [&] {
        Labels labels;
        draw_labels(scores, draw, space, labels);
        return labels;
    };
    const auto complete = [&](std::span<const std::uint32_t> choices) {
        Labels labels(n_all, 0);
        for (std::size_t i = 0; i < choices.size(); ++i) labels[buckets_[n_all - 1 - i].variable] = choices[i];
        return labels;
    };
    const auto conditional = [&](std::span<const std::uint32_t> choices, std::vector<double>& log_p) {
        const Bucket& bucket = buckets_[n_all - 1 - choices.size()];
        log_p.resize(bucket.n_labels);
        fill_row(bucket, scores, space, complete(choices).data(), log_p.data());
        const double total = kernels().log_sum_exp(log_p.data(), log_p.size());
        for (double& p : log_p) p -= total;
    };
    if (distinct)
        out = spanning::distinct_trees(n, n_all, draw, one, conditional, complete);
    else
        while (out.size() < n) out.push_back(one());
    for (Labels& labels : out) labels.resize(n_variables_);
    return out;
}

std::size_t Elimination::dead_end(std::span<const double> scores, Space& space) const {
    double constant;
    const std::size_t variable = forward<false>(scores, space, constant);
    return variable == kDone ? 0 : owner_[variable];
}

}  // namespace tw::graphs
