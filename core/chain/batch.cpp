#include "batch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>

#include "../lattice/graphs.hpp"
#include "../lattice/kbest.hpp"
#include "../lattice/recursions.hpp"
#include "../parallel.hpp"

namespace tw::chain {
namespace {

using lattice::ChainGraph;

// Below this many multiply-adds a second thread costs more than it brings.
constexpr double kWorthAThread = 3e5;

std::size_t padded_size(std::size_t n_labels) {
    const std::size_t w = std::max<std::size_t>(kernels().width, 4);
    return (n_labels + w - 1) / w * w;
}

// Uninitialised doubles on a cache line boundary.
class Buffer {
public:
    double* get(std::size_t size) {
        if (size > size_) {
            data_.reset(static_cast<double*>(::operator new[](size * sizeof(double), std::align_val_t{64})));
            size_ = size;
        }
        return data_.get();
    }

private:
    struct Free {
        void operator()(double* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    std::unique_ptr<double[], Free> data_;
    std::size_t size_ = 0;
};

// Transition matrices packed for one worker (per-step ones are packed again at every step).
class Packed {
public:
    using Pack = void (*)(const Potentials&, std::size_t, std::size_t, PackedTransitions&);
    Packed(const Potentials& p, std::size_t padded, Pack pack) {
        const std::size_t size = padded * padded;
        transitions.forward = buffer_.get(2 * size);
        transitions.backward = transitions.forward + size;
        transitions.shift = 0.0;
        transitions.underflow = false;
        if (!p.per_step) pack(p, 0, padded, transitions);
    }
    PackedTransitions transitions;

private:
    Buffer buffer_;
};

// The non-empty sequences, longest first, cut into groups that advance side by side; a remainder goes one by one.
std::vector<std::vector<std::size_t>> groups(const Batch& batch) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < batch.sequences.size(); ++i)
        if (batch.sequences[i].length > 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return batch.sequences[a].length > batch.sequences[b].length;
    });
    std::vector<std::vector<std::size_t>> out;
    std::size_t i = 0;
    for (; i + kSideBySide <= order.size() && !batch.potentials.per_step; i += kSideBySide)
        out.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(i),
                         order.begin() + static_cast<std::ptrdiff_t>(i + kSideBySide));
    for (; i < order.size(); ++i) out.push_back({order[i]});
    return out;
}

std::size_t workers(const Batch& batch, std::size_t n_items, double cost_per_edge = 1.0) {
    double positions = 0.0;
    for (const Sequence& s : batch.sequences) positions += static_cast<double>(s.length);
    const double k = static_cast<double>(batch.potentials.n_labels);
    const double work = positions * (k * k + 20.0 * k) * cost_per_edge;
    const auto useful = static_cast<std::size_t>(std::max(1.0, std::min(work / kWorthAThread, 1e6)));
    return std::max<std::size_t>(1, std::min({batch.n_jobs, n_items, useful}));
}

// Runs work(sequence index, worker) over all non-empty sequences.
template <class Work>
void each_sequence(const Batch& batch, double cost_per_edge, Work work) {
    const std::size_t n = batch.sequences.size();
    parallel_for(n, workers(batch, n, cost_per_edge), [&](std::size_t i, std::size_t worker) {
        if (batch.sequences[i].length > 0) work(i, worker);
    });
}

// Forward, and where outputs are wanted backward, of all groups. finish(index, trellis) sees every sequence once.
template <class Outputs, class Finish>
void run_sums(const Batch& batch, bool keep, Outputs outputs, Finish finish) {
    const Potentials& p = batch.potentials;
    const std::size_t padded = padded_size(p.n_labels);
    const auto all = groups(batch);
    const std::size_t n_workers = workers(batch, all.size());
    std::vector<Buffer> buffers(n_workers);
    const Packed shared(p, padded, kernels().pack_sum);
    parallel_for(all.size(), n_workers, [&](std::size_t g, std::size_t worker) {
        const auto& group = all[g];
        std::size_t size = 0;
        for (const std::size_t i : group) {
            const std::size_t length = batch.sequences[i].length;
            size += (keep ? 2 * length + 3 : kPreparedRows + 2) * padded;
        }
        double* free = buffers[worker].get(size);
        SumTrellis trellises[kSideBySide];
        SumOutputs wanted[kSideBySide];
        for (std::size_t n = 0; n < group.size(); ++n) {
            const Sequence& s = batch.sequences[group[n]];
            double* local = free;
            double* alpha = local + (keep ? s.length : kPreparedRows) * padded;
            double* scratch = alpha + (keep ? s.length : 2) * padded;
            free = scratch + (keep ? 3 : 0) * padded;
            trellises[n] = {s, local, alpha, scratch, 0.0, 0.0, false};
            wanted[n] = outputs(group[n], worker);
        }
        if (p.per_step) {
            Packed own(p, padded, kernels().pack_sum);
            kernels().sum_forward(p, own.transitions, padded, keep, trellises, group.size());
            if (keep) kernels().sum_backward(p, own.transitions, padded, trellises, wanted, group.size());
        } else {
            PackedTransitions view = shared.transitions;
            kernels().sum_forward(p, view, padded, keep, trellises, group.size());
            if (keep) kernels().sum_backward(p, view, padded, trellises, wanted, group.size());
        }
        for (std::size_t n = 0; n < group.size(); ++n) finish(group[n], trellises[n]);
    });
}

double log_space_partition(ChainGraph graph) {
    const double centre = graph.centre();
    return lattice::forward(LogSum{}, graph).back() + centre;
}

void log_space_marginals(ChainGraph graph, double* marginals, double* edges, double* total_edges) {
    const std::size_t K = graph.n_labels(), length = graph.n_positions(), sink = graph.n_nodes() - 1;
    graph.centre();
    const auto alpha = lattice::forward(LogSum{}, graph);
    const auto nodes = lattice::posteriors(graph, alpha, [&](std::size_t u, std::size_t v, double p) {
        if (u == 0 || v == sink) return;
        const std::size_t pair = graph.label(u) * K + graph.label(v);
        if (edges) edges[graph.position(u) * K * K + pair] = p;
        if (total_edges) total_edges[pair] += p;
    });
    // Rounding lets the total drift by a few units in the last place per position: put every position back to one.
    const auto normalise = [](double* values, std::size_t size) {
        const double total = std::accumulate(values, values + size, 0.0);
        for (std::size_t i = 0; i < size && total > 0.0; ++i) values[i] /= total;
    };
    if (marginals) std::copy(nodes.begin() + 1, nodes.end() - 1, marginals);
    for (std::size_t t = 0; t < length; ++t) {
        if (marginals) normalise(marginals + t * K, K);
        if (edges && t + 1 < length) normalise(edges + t * K * K, K * K);
    }
}

// Viterbi scores of all groups; finish(index, scores, ...) runs right after, in the same thread. There is room for one
// more value before and after each sequence's rows.
template <class Finish>
void run_max(const Batch& batch, Finish finish) {
    const Potentials& p = batch.potentials;
    const std::size_t padded = padded_size(p.n_labels);
    const auto all = groups(batch);
    const std::size_t n_workers = workers(batch, all.size());
    std::vector<Buffer> buffers(n_workers);
    const Packed shared(p, padded, kernels().pack_max);
    parallel_for(all.size(), n_workers, [&](std::size_t g, std::size_t worker) {
        const auto& group = all[g];
        std::size_t size = 2 * padded;
        for (const std::size_t i : group) size += (batch.sequences[i].length + 2) * padded;
        double* free = buffers[worker].get(size);
        double* scratch = free;
        free += 2 * padded;
        Sequence sequences[kSideBySide];
        double* scores[kSideBySide];
        for (std::size_t n = 0; n < group.size(); ++n) {
            sequences[n] = batch.sequences[group[n]];
            scores[n] = free + padded;
            free += (sequences[n].length + 2) * padded;
        }
        const auto run = [&](PackedTransitions& transitions) {
            kernels().max_forward(p, transitions, padded, sequences, scores, group.size());
            for (std::size_t n = 0; n < group.size(); ++n) finish(group[n], scores[n], scratch, padded, transitions);
        };
        if (p.per_step) {
            Packed own(p, padded, kernels().pack_max);
            run(own.transitions);
        } else {
            PackedTransitions view = shared.transitions;
            run(view);
        }
    });
}

}  // namespace

void log_partition(const Batch& batch, double* out) {
    std::fill_n(out, batch.sequences.size(), 0.0);
    run_sums(
        batch, false, [](std::size_t, std::size_t) { return SumOutputs{}; },
        [&](std::size_t i, const SumTrellis& trellis) {
            out[i] = trellis.underflow ? log_space_partition(ChainGraph(batch.potentials, batch.sequences[i]))
                                       : trellis.log_total;
        });
}

void marginals(const Batch& batch, std::span<double* const> out) {
    run_sums(
        batch, true, [&](std::size_t i, std::size_t) { return SumOutputs{out[i], nullptr, nullptr}; },
        [&](std::size_t i, const SumTrellis& trellis) {
            if (trellis.underflow)
                log_space_marginals(ChainGraph(batch.potentials, batch.sequences[i]), out[i], nullptr, nullptr);
        });
}

void edge_marginals(const Batch& batch, std::span<double* const> out) {
    const std::size_t K = batch.potentials.n_labels;
    run_sums(
        batch, true, [&](std::size_t i, std::size_t) { return SumOutputs{nullptr, out[i], nullptr}; },
        [&](std::size_t i, const SumTrellis& trellis) {
            if (!trellis.underflow) return;
            std::fill_n(out[i], (batch.sequences[i].length - 1) * K * K, 0.0);
            log_space_marginals(ChainGraph(batch.potentials, batch.sequences[i]), nullptr, out[i], nullptr);
        });
}

void total_edge_marginals(const Batch& batch, double* out) {
    // One table per sequence group would depend on the grouping only, but cost memory; one per sequence, added in
    // order, keeps the sum independent of threads. Blocks of sequences bound the memory.
    const std::size_t K = batch.potentials.n_labels, padded = padded_size(K);
    const Packed shared(batch.potentials, padded, kernels().pack_sum);
    std::vector<double> scaled(K * padded, 0.0), exact(K * K, 0.0);
    constexpr std::size_t kBlock = 256;
    std::vector<double> tables(kBlock * K * padded);
    for (std::size_t begin = 0; begin < batch.sequences.size(); begin += kBlock) {
        const std::size_t end = std::min(batch.sequences.size(), begin + kBlock);
        Batch block = batch;
        block.sequences.assign(batch.sequences.begin() + static_cast<std::ptrdiff_t>(begin),
                               batch.sequences.begin() + static_cast<std::ptrdiff_t>(end));
        std::fill(tables.begin(), tables.end(), 0.0);
        std::vector<char> redo(block.sequences.size(), 0);
        run_sums(
            block, true,
            [&](std::size_t i, std::size_t) { return SumOutputs{nullptr, nullptr, tables.data() + i * K * padded}; },
            [&](std::size_t i, const SumTrellis& trellis) { redo[i] = trellis.underflow; });
        for (std::size_t i = 0; i < block.sequences.size(); ++i) {
            if (block.sequences[i].length < 2) continue;
            if (redo[i])
                log_space_marginals(ChainGraph(block.potentials, block.sequences[i]), nullptr, nullptr, exact.data());
            else
                for (std::size_t j = 0; j < K * padded; ++j) scaled[j] += tables[i * K * padded + j];
        }
    }
    for (std::size_t a = 0; a < K; ++a)
        for (std::size_t b = 0; b < K; ++b)
            out[a * K + b] = exact[a * K + b] + scaled[a * padded + b] * shared.transitions.forward[a * padded + b];
}

void max_marginals(const Batch& batch, std::span<double* const> out) {
    run_max(
        batch, [&](std::size_t i, double* scores, double* scratch, std::size_t padded, PackedTransitions& transitions) {
            kernels().max_backward(batch.potentials, transitions, padded, batch.sequences[i], scores, scratch, out[i]);
        });
}

void argmax(const Batch& batch, std::span<std::int32_t* const> labels, double* best) {
    std::fill_n(best, batch.sequences.size(), 0.0);
    run_max(batch, [&](std::size_t i, double* scores, double*, std::size_t padded, PackedTransitions& transitions) {
        best[i] = kernels().max_trace(batch.potentials, transitions, padded, batch.sequences[i], scores, labels[i]);
    });
}

void entropy(const Batch& batch, double* out) {
    std::fill_n(out, batch.sequences.size(), 0.0);
    each_sequence(batch, 20.0, [&](std::size_t i, std::size_t) {
        ChainGraph graph(batch.potentials, batch.sequences[i]);
        graph.centre();
        out[i] = lattice::entropy(graph, lattice::forward(LogSum{}, graph));
    });
}

void forward_scores(const Batch& batch, std::span<double* const> out) {
    each_sequence(batch, 10.0, [&](std::size_t i, std::size_t) {
        const ChainGraph graph(batch.potentials, batch.sequences[i]);
        const auto alpha = lattice::forward(LogSum{}, graph);
        std::copy(alpha.begin() + 1, alpha.end() - 1, out[i]);
    });
}

void backward_scores(const Batch& batch, std::span<double* const> out) {
    each_sequence(batch, 10.0, [&](std::size_t i, std::size_t) {
        const ChainGraph graph(batch.potentials, batch.sequences[i]);
        const auto beta = lattice::backward(LogSum{}, graph);
        std::copy(beta.begin() + 1, beta.end() - 1, out[i]);
    });
}

namespace {

// Left to right, as the Viterbi pass adds: the best labelling's score is the same to the last bit.
double path_score(const Potentials& p, const Sequence& s, const std::int32_t* labels) {
    const auto label = [&](std::size_t t) { return static_cast<std::size_t>(labels[t]); };
    const std::size_t K = p.n_labels;
    double total = p.start[label(0)] + s.unary[label(0)];
    for (std::size_t t = 1; t < s.length; ++t) {
        const std::size_t block = p.per_step ? (t - 1) * K * K : 0;
        total = (total + p.transitions[block + label(t - 1) * K + label(t)]) + s.unary[t * K + label(t)];
    }
    return total + p.end[label(s.length - 1)];
}

}  // namespace

void score(const Batch& batch, std::span<const std::int32_t* const> labels, double* out) {
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
        const Sequence& s = batch.sequences[i];
        out[i] = s.length == 0 ? 0.0 : path_score(batch.potentials, s, labels[i]);
    }
}

void sample(const Batch& batch, std::size_t n, std::span<const double* const> uniforms,
            std::span<std::int32_t* const> labels) {
    each_sequence(batch, 10.0, [&](std::size_t i, std::size_t) {
        ChainGraph graph(batch.potentials, batch.sequences[i]);
        graph.centre();
        const auto alpha = lattice::forward(LogSum{}, graph);
        const std::size_t length = batch.sequences[i].length;
        std::vector<std::size_t> path;
        for (std::size_t j = 0; j < n; ++j) {
            const double* uniform = uniforms[i] + j * length;
            // One edge more than labels: the edge from the source is certain and needs no number.
            std::size_t drawn = 0;
            lattice::sample(graph, alpha, [&] { return drawn < length ? uniform[drawn++] : 0.0; }, path);
            for (std::size_t t = 0; t < length; ++t)
                labels[i][j * length + t] = static_cast<std::int32_t>(graph.label(path[length - t]));
        }
    });
}

namespace {

// From the last position of the span back to its first: weights[b] is P(the labels of the span from here on, label b
// here), carried over p(previous | here). Nothing is subtracted, so a certain span has probability one.
double span_probability(const ChainGraph& graph, const std::vector<double>& alpha, const Span& span) {
    const std::size_t K = graph.n_labels();
    if (span.size == 0) return 1.0;
    const std::size_t last = span.begin + span.size - 1;
    std::vector<double> weights(K), before(K);
    const auto nodes = lattice::posteriors(graph, alpha, [](std::size_t, std::size_t, double) {}, graph.node(last, 0));
    const double* position = nodes.data() + graph.node(last, 0);
    const double total = std::accumulate(position, position + K, 0.0);
    const auto keep_allowed = [&](std::size_t i) {
        for (std::size_t k = 0; k < K; ++k) weights[k] = span.allowed[i * K + k] ? weights[k] : 0.0;
    };
    for (std::size_t k = 0; k < K; ++k) weights[k] = position[k] / total;
    keep_allowed(span.size - 1);
    lattice::Arrivals arrivals;
    for (std::size_t i = span.size - 1; i > 0; --i) {
        std::fill(before.begin(), before.end(), 0.0);
        for (std::size_t b = 0; b < K; ++b) {
            if (weights[b] == 0.0) continue;
            arrivals.read(graph, alpha, graph.node(span.begin + i, b));
            for (std::size_t a = 0; a < K; ++a) before[a] += weights[b] * arrivals.probability[a];
        }
        weights.swap(before);
        keep_allowed(i - 1);
    }
    return std::min(1.0, std::accumulate(weights.begin(), weights.end(), 0.0));
}

}  // namespace

void span_probability(const Batch& batch, std::span<const Span> spans, double* out) {
    std::fill_n(out, batch.sequences.size(), 1.0);
    each_sequence(batch, 20.0, [&](std::size_t i, std::size_t) {
        ChainGraph graph(batch.potentials, batch.sequences[i]);
        graph.centre();
        const auto alpha = lattice::forward(LogSum{}, graph);
        out[i] = alpha.back() == kLogZero ? std::nan("") : span_probability(graph, alpha, spans[i]);
    });
}

namespace {

KBestResult viterbi_lists(const Potentials& potentials, const Sequence& sequence, std::size_t k) {
    const ChainGraph graph(potentials, sequence);
    std::vector<std::pair<double, std::vector<std::int32_t>>> found;
    for (const lattice::ScoredPath& path : lattice::kbest_viterbi(graph, k)) {
        std::vector<std::int32_t> labels;
        for (std::size_t t = 0; t < sequence.length; ++t)
            labels.push_back(static_cast<std::int32_t>(graph.label(path.nodes[sequence.length - t])));
        const double score = path_score(potentials, sequence, labels.data());
        found.emplace_back(score, std::move(labels));
    }
    // The lattice rounds its sums differently; order by the scores that are reported.
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    KBestResult result;
    for (const auto& [score, labels] : found) {
        result.scores.push_back(score);
        result.labels.insert(result.labels.end(), labels.begin(), labels.end());
    }
    return result;
}

// A* with the vectorised Viterbi pass in front: `scores` are its padded rows, numbered as the graph's nodes are. Labels
// are written from their parents' rows: what is shared is copied.
KBestResult best_first(const ChainGraph& graph, double* scores, double top, const std::vector<std::int32_t>& best,
                       std::size_t k) {
    const std::size_t length = graph.n_positions(), sink = graph.n_nodes() - 1;
    std::vector<std::uint32_t> nodes{static_cast<std::uint32_t>(sink)};
    for (std::size_t t = length; t-- > 0;)
        nodes.push_back(static_cast<std::uint32_t>(graph.node(t, static_cast<std::size_t>(best[t]))));
    nodes.push_back(0);
    scores[-1] = 0.0;  // the source and the sink have their places around the rows (run_max)
    scores[sink - 1] = top;
    const auto value = [=](std::size_t v) { return scores[static_cast<std::ptrdiff_t>(v) - 1]; };
    const lattice::BestFirst search(graph, value, std::move(nodes), k);

    KBestResult result;
    const auto& paths = search.paths();
    result.labels.resize(paths.size() * length);
    std::copy(best.begin(), best.end(), result.labels.begin());
    for (std::size_t i = 0; i < paths.size(); ++i) {
        result.scores.push_back(top - paths[i].loss);
        if (i == 0) continue;
        std::int32_t* row = result.labels.data() + i * length;
        const std::int32_t* parent = result.labels.data() + paths[i].parent * length;
        const std::size_t kept = length + 1 - paths[i].keep;    // positions from here on come from the parent
        const std::size_t joined = length + 1 - paths[i].join;  // positions before this come from the best
        std::copy(parent + kept, parent + length, row + kept);
        for (std::size_t j = 0; j < paths[i].fresh.size(); ++j)
            row[kept - 1 - j] = static_cast<std::int32_t>(graph.label(paths[i].fresh[j]));
        std::copy(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(std::min(joined, length)), row);
    }
    return result;
}

}  // namespace

std::vector<KBestResult> kbest(const Batch& batch, std::size_t k, KBestMethod method) {
    std::vector<KBestResult> results(batch.sequences.size());
    for (std::size_t i = 0; i < results.size(); ++i)
        if (batch.sequences[i].length == 0) results[i].scores.push_back(0.0);  // the empty labelling
    if (method == KBestMethod::kViterbi) {
        each_sequence(batch, 20.0, [&](std::size_t i, std::size_t) {
            results[i] = viterbi_lists(batch.potentials, batch.sequences[i], k);
        });
        return results;
    }
    run_max(batch, [&](std::size_t i, double* scores, double*, std::size_t padded, PackedTransitions& transitions) {
        const Sequence& s = batch.sequences[i];
        std::vector<std::int32_t> best(s.length);
        const double top = kernels().max_trace(batch.potentials, transitions, padded, s, scores, best.data());
        if (top == kLogZero) return;
        results[i] = best_first(ChainGraph(batch.potentials, s, padded), scores, top, best, k);
    });
    return results;
}

std::vector<std::size_t> first_dead_end(const Batch& batch) {
    std::vector<std::size_t> out(batch.sequences.size());
    const std::size_t K = batch.potentials.n_labels;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t length = out[i] = batch.sequences[i].length;
        if (length == 0) continue;
        const ChainGraph graph(batch.potentials, batch.sequences[i]);
        const auto alpha = lattice::forward(MaxPlus{}, graph);
        if (alpha.back() != kLogZero) continue;
        std::size_t t = 0;
        while (t < length && std::any_of(
                                 alpha.begin() + static_cast<std::ptrdiff_t>(graph.node(t, 0)),
                                 alpha.begin() + static_cast<std::ptrdiff_t>(graph.node(t, 0) + K),
                                 [](double x) { return x != kLogZero; }))
            ++t;
        out[i] = std::min(t, length - 1);  // all reached: the end scores forbid what is left
    }
    return out;
}

ExpectationPass::ExpectationPass(const Potentials& potentials, std::size_t n_attributes)
    : p_(potentials),
      k_(potentials.n_labels),
      f_(n_attributes),
      size_(k_ + k_ * k_ + f_ * k_),
      alpha_(k_),
      next_alpha_(k_),
      counts_(k_ * size_, 0.0),
      next_counts_(k_ * size_, 0.0),
      terms_(k_) {}

void ExpectationPass::feed(const double* unary, const double* attributes, std::size_t length, bool last) {
    for (std::size_t t = 0; t < length; ++t)
        step(unary + t * k_, attributes ? attributes + t * f_ : nullptr, last && t + 1 == length);
}

// The pair (z, h) of Table 2.2 is kept as (log z, h / z): expected counts given the label here. Then
// (z1, h1) (.) (z2, h2) summed over predecessors is a mean weighted by p(previous | here), which never over- or
// underflows.
void ExpectationPass::step(const double* unary, const double* attributes, bool last) {
    for (std::size_t b = 0; b < k_; ++b) {
        double* counts = next_counts_.data() + b * size_;
        std::fill_n(counts, size_, 0.0);
        double arrived = p_.start[b];
        if (fed_ > 0) {
            const double* moves = p_.transitions + (p_.per_step ? (fed_ - 1) * k_ * k_ : 0);
            for (std::size_t a = 0; a < k_; ++a) terms_[a] = alpha_[a] + moves[a * k_ + b];
            arrived = kernels().log_sum_exp(terms_.data(), k_);
            kernels().softmax(terms_.data(), k_);
            for (std::size_t a = 0; a < k_; ++a) {
                if (terms_[a] == 0.0) continue;
                const double* before = counts_.data() + a * size_;
                for (std::size_t j = 0; j < size_; ++j) counts[j] += terms_[a] * before[j];
                counts[k_ + a * k_ + b] += terms_[a];
            }
        }
        counts[b] += 1.0;
        for (std::size_t f = 0; f < f_; ++f) counts[k_ + k_ * k_ + f * k_ + b] += attributes[f];
        next_alpha_[b] = arrived + unary[b] + (last ? p_.end[b] : 0.0);
    }
    alpha_.swap(next_alpha_);
    counts_.swap(next_counts_);
    ++fed_;
}

double ExpectationPass::log_partition() const { return fed_ == 0 ? 0.0 : kernels().log_sum_exp(alpha_.data(), k_); }

void ExpectationPass::read(double* labels, double* transitions, double* attributes) const {
    std::vector<double> weights(alpha_), total(size_, 0.0);
    if (fed_ > 0) {
        kernels().softmax(weights.data(), k_);
        for (std::size_t b = 0; b < k_; ++b)
            for (std::size_t j = 0; j < size_; ++j) total[j] += weights[b] * counts_[b * size_ + j];
    }
    std::copy_n(total.data(), k_, labels);
    std::copy_n(total.data() + k_, k_ * k_, transitions);
    std::copy_n(total.data() + k_ + k_ * k_, f_ * k_, attributes);
}

}  // namespace tw::chain
