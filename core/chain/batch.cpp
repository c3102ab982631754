#include "batch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../base/huge_pages.hpp"
#include "../base/parallel.hpp"
#include "../hypergraph/kbest.hpp"
#include "../hypergraph/recursions.hpp"
#include "beam.hpp"
#include "best_first.hpp"
#include "program.hpp"
#include "pruned_search.hpp"

namespace tw::chain {
namespace {

using hypergraph::Edge;
using hypergraph::inside;

constexpr hypergraph::OwnScores kScores;

// Below this many multiply-adds a second thread costs more than it brings.
constexpr double kWorthAThread = 3e5;

// Searches that leave out too few labels before the recursion over all of them, which takes sequences side by side, is
// left to do the rest.
constexpr std::size_t kTriesInVain = 4;
constexpr double kShareThatPays = 0.4;

std::size_t padded_size(std::size_t n_labels) {
    const std::size_t w = std::max<std::size_t>(kernels().width, 4);
    return (n_labels + w - 1) / w * w;
}

// Transition matrices packed for one worker (per-step ones are packed again at every step).
class Packed {
public:
    using Pack = void (*)(const Potentials&, std::size_t, std::size_t, PackedTransitions&);
    Packed(const Potentials& p, std::size_t padded, Pack pack, Bound bound = Bound::kLower) {
        const std::size_t size = padded * padded;
        transitions.forward = buffer_.get(2 * size);
        transitions.backward = transitions.forward + size;
        transitions.shift = 0.0;
        transitions.bound = bound;
        transitions.tiny = false;
        if (!p.per_step) pack(p, 0, padded, transitions);
    }
    PackedTransitions transitions;

private:
    Buffer<double> buffer_;
};

// A sequence whose rows would not stay in cache: they are made again block by block, which costs one more forward pass
// and no memory to speak of. (Rows of fresh memory cost more than that.)
constexpr std::size_t kBlockRows = 512;
bool is_long(std::size_t length, std::size_t padded) {
    return length * padded * sizeof(double) > (std::size_t{1} << 22);
}

// The non-empty sequences, longest first, cut into groups that advance side by side; long ones and a remainder go one
// by one.
std::vector<std::vector<std::size_t>> groups(const Batch& batch) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < batch.sequences.size(); ++i)
        if (batch.sequences[i].length > 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return batch.sequences[a].length > batch.sequences[b].length;
    });
    std::vector<std::vector<std::size_t>> out;
    std::size_t i = 0;
    const std::size_t padded = padded_size(batch.potentials.n_labels);
    for (; i < order.size() && is_long(batch.sequences[order[i]].length, padded); ++i) out.push_back({order[i]});
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

// Transitions for one group: the shared ones, or a place of its own where they change from step to step.
template <class Run>
void with_transitions(const Potentials& p, std::size_t padded, Packed::Pack pack, const Packed& shared, Run run) {
    if (p.per_step) {
        Packed own(p, padded, pack);
        run(own.transitions);
    } else {
        PackedTransitions view = shared.transitions;
        run(view);
    }
}

// Calls visit(begin, end) for the blocks of a sequence, first to last.
template <class Visit>
void each_block(std::size_t length, Visit visit) {
    for (std::size_t begin = 0; begin < length; begin += kBlockRows) visit(begin, std::min(length, begin + kBlockRows));
}

// The last row of every block, from which the next block can be made again.
class Checkpoints {
public:
    Checkpoints(std::size_t length, std::size_t padded) : padded_(padded), rows_((length / kBlockRows + 1) * padded) {}
    void save(const Rows& rows, std::size_t end) {
        const double* row = rows.data + ((end - 1) & rows.mask) * padded_;
        std::copy(row, row + padded_, place(end));
    }
    void restore(const Rows& rows, std::size_t end) {
        if (end > 0) std::copy(place(end), place(end) + padded_, rows.data + ((end - 1) & rows.mask) * padded_);
    }

private:
    double* place(std::size_t end) { return rows_.data() + (end - 1) / kBlockRows * padded_; }
    std::size_t padded_;
    std::vector<double> rows_;
};

// How many rows of local factors and of forward values a sequence keeps.
struct Kept {
    std::size_t local_rows, local_mask, alpha_rows, alpha_mask;
};
Kept kept_rows(std::size_t length, bool everything, bool blocks) {
    if (!everything) return {kPreparedRows, kPreparedRows - 1, 2, 1};
    if (blocks) return {kBlockRows, kBlockRows - 1, 2 * kBlockRows, 2 * kBlockRows - 1};
    return {length, kKeepAll, length, kKeepAll};
}

// Forward and backward over a long sequence: forward once for the row at the end of every block, then block by block
// from the last, forward again and backward. Returns the log partition.
double sum_in_blocks(const Potentials& p, PackedTransitions& transitions, std::size_t padded, SumTrellis& trellis,
                     const SumOutputs& wanted) {
    const std::size_t length = trellis.sequence.length;
    Checkpoints checkpoints(length, padded);
    each_block(length, [&](std::size_t begin, std::size_t end) {
        kernels().sum_forward(p, transitions, padded, &trellis, 1, begin, end);
        checkpoints.save(trellis.alpha, end);
    });
    const double total = kernels().sum_total(trellis, padded);
    for (std::size_t begin = (length - 1) / kBlockRows * kBlockRows;; begin -= kBlockRows) {
        const std::size_t end = std::min(length, begin + kBlockRows);
        if (end < length) {
            checkpoints.restore(trellis.alpha, begin);
            kernels().sum_forward(p, transitions, padded, &trellis, 1, begin, end);
        }
        kernels().sum_backward(p, transitions, padded, &trellis, &wanted, 1, begin, end);
        if (begin == 0) return total;
    }
}

// Whether scores taken for forbidden, because they were too small, can matter: not if the total is the same with
// something larger in their place. The probability of all paths that use one is then below the rounding of the total.
bool tiny_scores_matter(const Potentials& p, std::size_t padded, const Sequence& sequence, double total) {
    if (total == kLogZero) return true;
    Packed upper(p, padded, kernels().pack_sum, Bound::kUpper);
    std::vector<double> rows((kPreparedRows + 2) * padded);
    SumTrellis trellis{
        sequence, {rows.data(), kPreparedRows - 1}, {rows.data() + kPreparedRows * padded, 1}, nullptr, {}, 0.0, false,
        false};
    kernels().sum_forward(p, upper.transitions, padded, &trellis, 1, 0, sequence.length);
    const double excess = kernels().sum_total(trellis, padded) - total;
    return trellis.underflow || !(excess <= 1e-14 + 4e-15 * std::abs(total));
}

// Forward, and where outputs are wanted backward, of all groups. finish(index, underflow, log partition) sees every
// sequence once.
template <class Outputs, class Finish>
void run_sums(const Batch& batch, bool backward, Outputs outputs, Finish finish) {
    const Potentials& p = batch.potentials;
    const std::size_t padded = padded_size(p.n_labels);
    const auto all = groups(batch);
    const std::size_t n_workers = workers(batch, all.size());
    std::vector<Buffer<double>> buffers(n_workers);
    const Packed shared(p, padded, kernels().pack_sum);
    parallel_for(all.size(), n_workers, [&](std::size_t g, std::size_t worker) {
        const auto& group = all[g];
        const std::size_t longest = batch.sequences[group[0]].length;
        const bool blocks = backward && is_long(longest, padded);
        const Kept kept = kept_rows(longest, backward, blocks);
        const std::size_t rows = kept.local_rows + kept.alpha_rows + 3;
        double* free = buffers[worker].get(group.size() * rows * padded);
        SumTrellis trellises[kSideBySide];
        SumOutputs wanted[kSideBySide];
        for (std::size_t n = 0; n < group.size(); ++n, free += rows * padded) {
            double* alpha = free + kept.local_rows * padded;
            double* scratch = alpha + kept.alpha_rows * padded;
            trellises[n] = {batch.sequences[group[n]],
                            {free, kept.local_mask},
                            {alpha, kept.alpha_mask},
                            scratch,
                            {},
                            0.0,
                            false,
                            false};
            wanted[n] = outputs(group[n], worker);
        }
        double totals[kSideBySide];
        with_transitions(p, padded, kernels().pack_sum, shared, [&](PackedTransitions& transitions) {
            if (blocks) {
                totals[0] = sum_in_blocks(p, transitions, padded, trellises[0], wanted[0]);
                return;
            }
            kernels().sum_forward(p, transitions, padded, trellises, group.size(), 0, longest);
            for (std::size_t n = 0; n < group.size(); ++n) totals[n] = kernels().sum_total(trellises[n], padded);
            if (backward) kernels().sum_backward(p, transitions, padded, trellises, wanted, group.size(), 0, longest);
        });
        for (std::size_t n = 0; n < group.size(); ++n) {
            const SumTrellis& t = trellises[n];
            const bool underflow = t.underflow || (t.tiny && tiny_scores_matter(p, padded, t.sequence, totals[n]));
            finish(group[n], underflow, totals[n]);
        }
    });
}

double log_space_partition(ChainProgram graph) {
    const double centre = graph.centre();
    return inside(LogSum{}, graph, kScores).back() + centre;
}

void log_space_marginals(ChainProgram graph, double* marginals, double* edges, double* total_edges) {
    const std::size_t K = graph.n_labels(), length = graph.n_positions(), goal = graph.n_nodes() - 1;
    graph.centre();
    const auto alpha = inside(LogSum{}, graph, kScores);
    const auto on_edge = [&](std::size_t v, const Edge<ChainProgram>& edge, double p) {
        if (edge.n_tails == 0 || v == goal) return;
        const std::size_t pair = graph.label(edge.tails[0]) * K + graph.label(v);
        if (edges) edges[graph.position(edge.tails[0]) * K * K + pair] = p;
        if (total_edges) total_edges[pair] += p;
    };
    const auto nodes = hypergraph::posteriors(graph, kScores, alpha, on_edge);
    // Rounding lets the total drift by a few units in the last place per position: put every position back to one.
    const auto normalise = [](double* values, std::size_t size) {
        const double total = std::accumulate(values, values + size, 0.0);
        for (std::size_t i = 0; i < size && total > 0.0; ++i) values[i] /= total;
    };
    if (marginals) std::copy(nodes.begin(), nodes.end() - 1, marginals);
    for (std::size_t t = 0; t < length; ++t) {
        if (marginals) normalise(marginals + t * K, K);
        if (edges && t + 1 < length) normalise(edges + t * K * K, K * K);
    }
}

// All Viterbi scores of a group of sequences, longest first, and what is needed to go on from them. There is room for
// one more value before and after the rows.
struct Viterbi {
    std::span<const std::size_t> group;  // their numbers
    Sequence sequences[kSideBySide];
    Rows scores[kSideBySide];
    double* scratch;  // 2 padded rows
    std::size_t padded;
    PackedTransitions& transitions;
};

// The best labelling of a long sequence: scores once for the row at the end of every block, then block by block from
// the last, scores again and the labels read off.
double trace_in_blocks(const Potentials& p, PackedTransitions& transitions, std::size_t padded, const Sequence& s,
                       Buffer<double>& buffer, std::int32_t* labels) {
    const Rows scores{buffer.get(2 * kBlockRows * padded), 2 * kBlockRows - 1};
    Checkpoints checkpoints(s.length, padded);
    each_block(s.length, [&](std::size_t begin, std::size_t end) {
        kernels().max_forward(p, transitions, padded, &s, &scores, 1, begin, end);
        checkpoints.save(scores, end);
    });
    const double best = kernels().max_last(p, padded, s, scores, labels);
    if (best == kLogZero) return best;
    for (std::size_t begin = (s.length - 1) / kBlockRows * kBlockRows;; begin -= kBlockRows) {
        const std::size_t end = std::min(s.length, begin + kBlockRows);
        if (end < s.length) {
            checkpoints.restore(scores, begin);
            kernels().max_forward(p, transitions, padded, &s, &scores, 1, begin, end);
        }
        kernels().max_trace(p, transitions, padded, &s, &scores, &labels, 1, begin, end);
        if (begin == 0) return best;
    }
}

// Viterbi scores of all groups; finish(viterbi) runs right after each, in the same thread. A long sequence is given
// to in_blocks(index, transitions, padded, buffer) instead, unless that returns false.
template <class InBlocks, class Finish>
void run_max(const Batch& batch, InBlocks in_blocks, Finish finish) {
    const Potentials& p = batch.potentials;
    const std::size_t padded = padded_size(p.n_labels);
    const auto all = groups(batch);
    const std::size_t n_workers = workers(batch, all.size());
    std::vector<Buffer<double>> buffers(n_workers);
    const Packed shared(p, padded, kernels().pack_max);
    parallel_for(all.size(), n_workers, [&](std::size_t g, std::size_t worker) {
        const auto& group = all[g];
        with_transitions(p, padded, kernels().pack_max, shared, [&](PackedTransitions& transitions) {
            const std::size_t longest = batch.sequences[group[0]].length;
            if (is_long(longest, padded) && in_blocks(group[0], transitions, padded, buffers[worker])) return;
            double* scratch = buffers[worker].get((group.size() * (longest + 2) + 2) * padded);
            Viterbi v{group, {}, {}, scratch, padded, transitions};
            for (std::size_t n = 0; n < group.size(); ++n) {
                v.sequences[n] = batch.sequences[group[n]];
                v.scores[n] = {scratch + (3 + n * (longest + 2)) * padded, kKeepAll};
            }
            kernels().max_forward(p, transitions, padded, v.sequences, v.scores, group.size(), 0, longest);
            finish(v);
        });
    });
}

// The best labellings of a group and their scores; labels mean nothing when every labelling is forbidden. labels(n) is
// where those of its sequence n go.
template <class Labels>
void trace(const Potentials& p, const Viterbi& v, Labels labels, double* best) {
    std::int32_t* of_group[kSideBySide];
    for (std::size_t n = 0; n < v.group.size(); ++n) {
        of_group[n] = labels(n);
        best[n] = kernels().max_last(p, v.padded, v.sequences[n], v.scores[n], of_group[n]);
    }
    kernels().max_trace(p, v.transitions, v.padded, v.sequences, v.scores, of_group, v.group.size(), 0,
                        v.sequences[0].length);
}

// For questions that need all scores at once.
constexpr auto kNotInBlocks = [](std::size_t, PackedTransitions&, std::size_t, Buffer<double>&) { return false; };

}  // namespace

void log_partition(const Batch& batch, double* out) {
    std::fill_n(out, batch.sequences.size(), 0.0);
    run_sums(
        batch, false, [](std::size_t, std::size_t) { return SumOutputs{}; },
        [&](std::size_t i, bool underflow, double total) {
            out[i] = underflow ? log_space_partition(ChainProgram(batch.potentials, batch.sequences[i])) : total;
        });
}

void marginals(const Batch& batch, std::span<double* const> out) {
    run_sums(
        batch, true, [&](std::size_t i, std::size_t) { return SumOutputs{out[i], nullptr, nullptr}; },
        [&](std::size_t i, bool underflow, double) {
            if (underflow)
                log_space_marginals(ChainProgram(batch.potentials, batch.sequences[i]), out[i], nullptr, nullptr);
        });
}

void edge_marginals(const Batch& batch, std::span<double* const> out) {
    const std::size_t K = batch.potentials.n_labels;
    run_sums(
        batch, true, [&](std::size_t i, std::size_t) { return SumOutputs{nullptr, out[i], nullptr}; },
        [&](std::size_t i, bool underflow, double) {
            const std::size_t size = (std::max<std::size_t>(batch.sequences[i].length, 1) - 1) * K * K;
            if (!underflow) {
                for (double& p : std::span(out[i], size)) p = std::min(p, 1.0);  // rounding may lift one above
                return;
            }
            std::fill_n(out[i], size, 0.0);
            log_space_marginals(ChainProgram(batch.potentials, batch.sequences[i]), nullptr, out[i], nullptr);
        });
}

void total_edge_marginals(const Batch& batch, double* out) {
    // One table per sequence group would depend on the grouping only, but cost memory; one per sequence, added in
    // order, keeps the sum independent of threads. Blocks of sequences bound the memory.
    const std::size_t K = batch.potentials.n_labels, padded = padded_size(K);
    const Packed shared(batch.potentials, padded, kernels().pack_sum);
    std::vector<double> scaled(K * padded, 0.0), exact(K * K, 0.0);
    const std::size_t n_tables = std::clamp<std::size_t>((std::size_t{1} << 23) / (K * padded), 4, 256);
    std::vector<double> tables(n_tables * K * padded);
    for (std::size_t begin = 0; begin < batch.sequences.size(); begin += n_tables) {
        const std::size_t end = std::min(batch.sequences.size(), begin + n_tables);
        Batch block = batch;
        block.sequences.assign(batch.sequences.begin() + static_cast<std::ptrdiff_t>(begin),
                               batch.sequences.begin() + static_cast<std::ptrdiff_t>(end));
        std::fill(tables.begin(), tables.end(), 0.0);
        std::vector<char> redo(block.sequences.size(), 0);
        run_sums(
            block, true,
            [&](std::size_t i, std::size_t) { return SumOutputs{nullptr, nullptr, tables.data() + i * K * padded}; },
            [&](std::size_t i, bool underflow, double) { redo[i] = underflow; });
        for (std::size_t i = 0; i < block.sequences.size(); ++i) {
            if (block.sequences[i].length < 2) continue;
            if (redo[i])
                log_space_marginals(ChainProgram(block.potentials, block.sequences[i]), nullptr, nullptr, exact.data());
            else
                for (std::size_t j = 0; j < K * padded; ++j) scaled[j] += tables[i * K * padded + j];
        }
    }
    for (std::size_t a = 0; a < K; ++a)
        for (std::size_t b = 0; b < K; ++b)
            out[a * K + b] = exact[a * K + b] + scaled[a * padded + b] * shared.transitions.forward[a * padded + b];
}

double all_sums(const Potentials& p, const Sequence& s, double* nodes, double* edges) {
    const std::size_t K = p.n_labels, padded = padded_size(K), n_edges = p.per_step ? s.length - 1 : 1;
    std::fill_n(edges, n_edges * K * K, 0.0);
    std::vector<double> table(p.per_step ? 0 : K * padded, 0.0);
    double total = 0.0;
    bool redo = false;
    run_sums(
        {p, {s}, 1}, true,
        [&](std::size_t, std::size_t) {
            return SumOutputs{nodes, p.per_step ? edges : nullptr, p.per_step ? nullptr : table.data()};
        },
        [&](std::size_t, bool underflow, double found) {
            redo = underflow;
            total = found;
        });
    if (redo) {
        std::fill_n(edges, n_edges * K * K, 0.0);
        log_space_marginals(ChainProgram(p, s), nodes, p.per_step ? edges : nullptr, p.per_step ? nullptr : edges);
        return log_space_partition(ChainProgram(p, s));
    }
    if (p.per_step || s.length < 2) return total;
    const Packed shared(p, padded, kernels().pack_sum);
    for (std::size_t a = 0; a < K; ++a)
        for (std::size_t b = 0; b < K; ++b)
            edges[a * K + b] = table[a * padded + b] * shared.transitions.forward[a * padded + b];
    return total;
}

void max_marginals(const Batch& batch, std::span<double* const> out) {
    run_max(batch, kNotInBlocks, [&](const Viterbi& v) {
        for (std::size_t n = 0; n < v.group.size(); ++n)
            kernels().max_backward(batch.potentials, v.transitions, v.padded, v.sequences[n], v.scores[n].data,
                                   v.scratch, out[v.group[n]]);
    });
}

namespace {

// Of many labels, the best labellings that a search finds which leaves labels out. Returns the sequences for which it
// does not pay, or has no answer, with all others empty.
Batch argmax_pruned(const Batch& batch, std::span<std::int32_t* const> labels, double* best) {
    const Potentials& p = batch.potentials;
    if (!leaves_labels_out(p.n_labels) || p.per_step) return batch;
    BoundedTransitions moves;
    moves.set(p.n_labels, p.transitions);
    Batch rest = batch;
    const std::size_t n = batch.sequences.size(), n_workers = workers(batch, n);
    std::vector<PrunedSearch> searches(n_workers);
    std::vector<std::size_t> in_vain(n_workers, 0);  // one after the other
    parallel_for(n, n_workers, [&](std::size_t i, std::size_t worker) {
        PrunedSearch& search = searches[worker];
        const Sequence& s = batch.sequences[i];
        if (s.length == 0 || in_vain[worker] >= kTriesInVain) return;
        const bool found = search.search(moves, p.start, p.end, s, nullptr, 0, kShareThatPays);
        in_vain[worker] = search.share_left() > kShareThatPays ? in_vain[worker] + 1 : 0;
        if (!found) return;
        std::copy_n(search.labels(), s.length, labels[i]);
        best[i] = search.score();
        rest.sequences[i].length = 0;
    });
    return rest;
}

}  // namespace

void argmax(const Batch& all, std::span<std::int32_t* const> labels, double* best) {
    std::fill_n(best, all.sequences.size(), 0.0);
    const Batch batch = argmax_pruned(all, labels, best);
    if (std::ranges::all_of(batch.sequences, [](const Sequence& s) { return s.length == 0; })) return;
    run_max(
        batch,
        [&](std::size_t i, PackedTransitions& transitions, std::size_t padded, Buffer<double>& buffer) {
            best[i] = trace_in_blocks(batch.potentials, transitions, padded, batch.sequences[i], buffer, labels[i]);
            return true;
        },
        [&](const Viterbi& v) {
            double of_group[kSideBySide];
            trace(batch.potentials, v, [&](std::size_t n) { return labels[v.group[n]]; }, of_group);
            for (std::size_t n = 0; n < v.group.size(); ++n) best[v.group[n]] = of_group[n];
        });
}

void beam_argmax(const Batch& batch, std::size_t width, std::span<std::int32_t* const> labels, double* best) {
    std::vector<Beam> beams(std::max<std::size_t>(batch.n_jobs, 1));
    std::fill_n(best, batch.sequences.size(), 0.0);
    each_sequence(batch, 10.0, [&](std::size_t i, std::size_t worker) {
        best[i] = beam_argmax(beams[worker], batch.potentials, batch.sequences[i], width, labels[i]);
    });
}

void entropy(const Batch& batch, double* out) {
    std::fill_n(out, batch.sequences.size(), 0.0);
    each_sequence(batch, 20.0, [&](std::size_t i, std::size_t) {
        ChainProgram graph(batch.potentials, batch.sequences[i]);
        graph.centre();
        out[i] = hypergraph::entropy(graph, kScores, inside(LogSum{}, graph, kScores));
    });
}

void forward_scores(const Batch& batch, std::span<double* const> out) {
    each_sequence(batch, 10.0, [&](std::size_t i, std::size_t) {
        const ChainProgram graph(batch.potentials, batch.sequences[i]);
        const auto alpha = inside(LogSum{}, graph, kScores);
        std::copy(alpha.begin(), alpha.end() - 1, out[i]);
    });
}

void backward_scores(const Batch& batch, std::span<double* const> out) {
    each_sequence(batch, 10.0, [&](std::size_t i, std::size_t) {
        const ChainProgram graph(batch.potentials, batch.sequences[i]);
        const auto beta = hypergraph::outside(LogSum{}, graph, kScores);
        std::copy(beta.begin(), beta.end() - 1, out[i]);
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
    InterruptCheck check;
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
        check();
        const Sequence& s = batch.sequences[i];
        out[i] = s.length == 0 ? 0.0 : path_score(batch.potentials, s, labels[i]);
    }
}

void sample(const Batch& batch, std::size_t n, std::span<const double* const> uniforms,
            std::span<std::int32_t* const> labels) {
    each_sequence(batch, 10.0, [&](std::size_t i, std::size_t) {
        ChainProgram graph(batch.potentials, batch.sequences[i]);
        graph.centre();
        const auto alpha = inside(LogSum{}, graph, kScores);
        const std::size_t length = batch.sequences[i].length;
        for (std::size_t j = 0; j < n; ++j) {
            const double* uniform = uniforms[i] + j * length;
            // One edge more than labels: the first label's is certain and needs no number.
            std::size_t drawn = 0;
            hypergraph::sample(
                graph, kScores, alpha, [&] { return drawn < length ? uniform[drawn++] : 0.0; },
                [&](std::size_t, const Edge<ChainProgram>& edge) {
                    for (const std::size_t u : edge.each())
                        labels[i][j * length + graph.position(u)] = static_cast<std::int32_t>(graph.label(u));
                });
        }
    });
}

namespace {

// From the last position of the span back to its first: weights[b] is P(the labels of the span from here on, label b
// here), carried over p(previous | here). Nothing is subtracted, so a certain span has probability one.
// `nodes` are the posteriors, complete from the last position of the span on.
double span_probability(const ChainProgram& graph, const std::vector<double>& alpha, const std::vector<double>& nodes,
                        const Span& span) {
    const std::size_t K = graph.n_labels();
    if (span.size == 0) return 1.0;
    const std::size_t last = span.begin + span.size - 1;
    std::vector<double> weights(K), before(K);
    const double* position = nodes.data() + graph.node(last, 0);
    const double total = std::accumulate(position, position + K, 0.0);
    const auto keep_allowed = [&](std::size_t i) {
        for (std::size_t k = 0; k < K; ++k) weights[k] = span.allowed[i * K + k] ? weights[k] : 0.0;
    };
    for (std::size_t k = 0; k < K; ++k) weights[k] = position[k] / total;
    keep_allowed(span.size - 1);
    hypergraph::Arrivals arrivals;
    for (std::size_t i = span.size - 1; i > 0; --i) {
        std::fill(before.begin(), before.end(), 0.0);
        for (std::size_t b = 0; b < K; ++b) {
            if (weights[b] == 0.0) continue;
            arrivals.read(graph, kScores, alpha, graph.node(span.begin + i, b));
            for (std::size_t a = 0; a < K; ++a) before[a] += weights[b] * arrivals.probability[a];
        }
        weights.swap(before);
        keep_allowed(i - 1);
    }
    return std::min(1.0, std::accumulate(weights.begin(), weights.end(), 0.0));
}

}  // namespace

void span_probability(const Batch& batch, std::span<const std::size_t> starts, std::span<const Span> spans,
                      double* out) {
    std::fill_n(out, spans.size(), 1.0);
    each_sequence(batch, 20.0, [&](std::size_t i, std::size_t) {
        const auto own = spans.subspan(starts[i], starts[i + 1] - starts[i]);
        std::size_t first = batch.sequences[i].length;  // of the last positions
        for (const Span& span : own)
            if (span.size > 0) first = std::min(first, span.begin + span.size - 1);
        if (own.empty()) return;
        ChainProgram graph(batch.potentials, batch.sequences[i]);
        graph.centre();
        const auto alpha = inside(LogSum{}, graph, kScores);
        const bool possible = alpha.back() != kLogZero;
        std::vector<double> nodes;
        if (possible && first < batch.sequences[i].length)
            nodes = hypergraph::posteriors(
                graph, kScores, alpha, [](std::size_t, const Edge<ChainProgram>&, double) {}, graph.node(first, 0));
        for (std::size_t j = 0; j < own.size(); ++j)
            out[starts[i] + j] = possible ? span_probability(graph, alpha, nodes, own[j]) : std::nan("");
    });
}

namespace {

KBestResult viterbi_lists(const Potentials& potentials, const Sequence& sequence, std::size_t k) {
    const ChainProgram graph(potentials, sequence);
    std::vector<std::pair<double, std::vector<std::int32_t>>> found;
    hypergraph::KBest search(graph, kScores, inside(MaxPlus{}, graph, kScores));
    std::vector<std::int32_t> labels(sequence.length);
    const auto on_step = [&](std::size_t, const Edge<ChainProgram>& edge) {
        for (const std::size_t u : edge.each()) labels[graph.position(u)] = static_cast<std::int32_t>(graph.label(u));
    };
    for (double rounded; found.size() < k && search.find(found.size(), rounded, on_step);)
        found.emplace_back(path_score(potentials, sequence, labels.data()), labels);
    // The search rounds its sums differently; order by the scores that are reported.
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    KBestResult result;
    result.labels = std::make_unique_for_overwrite<std::int32_t[]>(found.size() * sequence.length);
    for (const auto& [score, labels] : found) {
        std::copy(labels.begin(), labels.end(), result.labels.get() + result.scores.size() * sequence.length);
        result.scores.push_back(score);
    }
    return result;
}

// A* with the vectorised Viterbi pass in front: `scores` are its padded rows, numbered as the program's nodes are.
// Labels are written from their parents' rows: what is shared is copied.
KBestResult best_first(const ChainProgram& graph, double* scores, double top, const std::vector<std::int32_t>& best,
                       std::size_t k) {
    const std::size_t length = graph.n_positions(), sink = graph.n_nodes();
    std::vector<std::uint32_t> nodes{static_cast<std::uint32_t>(sink)};
    for (std::size_t t = length; t-- > 0;)
        nodes.push_back(static_cast<std::uint32_t>(graph.node(t, static_cast<std::size_t>(best[t])) + 1));
    nodes.push_back(0);
    scores[-1] = 0.0;  // the source and the sink have their places around the rows (run_max)
    scores[sink - 1] = top;
    const auto value = [=](std::size_t v) { return scores[static_cast<std::ptrdiff_t>(v) - 1]; };
    const BestFirst search(graph, value, std::move(nodes), k);

    KBestResult result;
    const auto& paths = search.paths();
    result.labels = std::make_unique_for_overwrite<std::int32_t[]>(paths.size() * length);
    std::copy(best.begin(), best.end(), result.labels.get());
    InterruptCheck check;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        check();
        result.scores.push_back(top - paths[i].loss);
        if (i == 0) continue;
        std::int32_t* row = result.labels.get() + i * length;
        const std::int32_t* parent = result.labels.get() + paths[i].parent * length;
        const std::size_t kept = length + 1 - paths[i].keep;    // positions from here on come from the parent
        const std::size_t joined = length + 1 - paths[i].join;  // positions before this come from the best
        std::copy(parent + kept, parent + length, row + kept);
        const auto fresh = search.fresh(paths[i]);
        for (std::size_t j = 0; j < fresh.size(); ++j)
            row[kept - 1 - j] = static_cast<std::int32_t>(graph.label(fresh[j] - 1));
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
    run_max(batch, kNotInBlocks, [&](const Viterbi& v) {
        std::vector<std::int32_t> best[kSideBySide];
        for (std::size_t n = 0; n < v.group.size(); ++n) best[n].resize(v.sequences[n].length);
        double top[kSideBySide];
        trace(batch.potentials, v, [&](std::size_t n) { return best[n].data(); }, top);
        for (std::size_t n = 0; n < v.group.size(); ++n)
            if (top[n] != kLogZero)
                results[v.group[n]] = best_first(ChainProgram(batch.potentials, v.sequences[n], v.padded),
                                                 v.scores[n].data, top[n], best[n], k);
    });
    return results;
}

std::vector<std::size_t> first_dead_end(const Batch& batch) {
    std::vector<std::size_t> out(batch.sequences.size());
    const std::size_t K = batch.potentials.n_labels;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t length = out[i] = batch.sequences[i].length;
        if (length == 0) continue;
        const ChainProgram graph(batch.potentials, batch.sequences[i]);
        const auto alpha = inside(MaxPlus{}, graph, kScores);
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
    const std::size_t fed = fed_;  // what a feed that is interrupted goes back to
    std::vector<double> alpha = alpha_, counts = counts_;
    InterruptCheck check;
    try {
        for (std::size_t t = 0; t < length; ++t) {
            check();
            step(unary + t * k_, attributes ? attributes + t * f_ : nullptr, last && t + 1 == length);
        }
    } catch (...) {
        fed_ = fed;
        alpha_.swap(alpha);
        counts_.swap(counts);
        throw;
    }
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
