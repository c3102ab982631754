// Every question about first-order chains, asked of a whole batch at once. A single chain is a batch of one.
//
// Sums run on rescaled probabilities (kernels.hpp); a sequence whose values leave the safe range is redone in log space
// (program.hpp). Sequences are grouped by length, kSideBySide at a time; groups depend on the data alone, so the
// answers do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace tw::chain {

struct Batch {
    Potentials potentials;
    std::vector<Sequence> sequences;  // any may be empty
    std::size_t n_jobs = 1;
};

// Outputs by row are one pointer per sequence, to [length][n_labels].
void log_partition(const Batch&, double* out);
void marginals(const Batch&, std::span<double* const> out);
void edge_marginals(const Batch&, std::span<double* const> out);
void total_edge_marginals(const Batch&, double* out);  // [n_labels][n_labels]
// All of these for one sequence of at least one position: returns log Z; `edges` is [n_labels][n_labels], added up over
// the steps, or one such table for each step where transitions have one.
double all_sums(const Potentials&, const Sequence&, double* nodes, double* edges);
void max_marginals(const Batch&, std::span<double* const> out);
void argmax(const Batch&, std::span<std::int32_t* const> labels, double* scores);
// The same by a beam of `width` labels a position (beam.hpp), exact only where that is all of them.
void beam_argmax(const Batch&, std::size_t width, std::span<std::int32_t* const> labels, double* scores);
// By a beam, or exactly where its width is kExact.
inline constexpr std::size_t kExact = 0;
inline void argmax(const Batch& batch, std::size_t width, std::span<std::int32_t* const> labels, double* scores) {
    width == kExact ? argmax(batch, labels, scores) : beam_argmax(batch, width, labels, scores);
}
void entropy(const Batch&, double* out);
void forward_scores(const Batch&, std::span<double* const> out);   // log alpha
void backward_scores(const Batch&, std::span<double* const> out);  // log beta
void score(const Batch&, std::span<const std::int32_t* const> labels, double* out);

// Positions begin .. begin + size - 1 of a sequence; allowed is [size][n_labels], non-zero where a label will do.
struct Span {
    std::size_t begin, size;
    const std::uint8_t* allowed;
};
// P(every position of the span carries an allowed label); NaN when every labelling is forbidden. Those of sequence i
// are spans[starts[i]] .. spans[starts[i + 1] - 1].
void span_probability(const Batch&, std::span<const std::size_t> starts, std::span<const Span> spans, double* out);

// `uniforms[i]` is [n][length]; draws are taken last position first.
void sample(const Batch&, std::size_t n, std::span<const double* const> uniforms,
            std::span<std::int32_t* const> labels);

enum class KBestMethod { kAstar, kViterbi };
struct KBestResult {
    std::vector<double> scores;
    std::unique_ptr<std::int32_t[]> labels;  // [scores.size()][length]
};
std::vector<KBestResult> kbest(const Batch&, std::size_t k, KBestMethod method);

// Position of each sequence from which on nothing is reachable; its length when some labelling is possible.
std::vector<std::size_t> first_dead_end(const Batch&);

// One forward pass over the expectation semiring: log Z, and the expected counts of labels, label pairs and
// (attribute, label) pairs, in memory that does not grow with the length (Ilic et al. 2012; Table 2.2, last row).
class ExpectationPass {
public:
    ExpectationPass(const Potentials& potentials, std::size_t n_attributes);
    // Feeds `length` more positions; attributes is [length][n_attributes]. `last` adds the end scores.
    void feed(const double* unary, const double* attributes, std::size_t length, bool last);
    double log_partition() const;
    void read(double* labels, double* transitions, double* attributes) const;  // [K], [K][K], [n_attributes][K]
    std::size_t n_positions() const { return fed_; }

private:
    void step(const double* unary, const double* attributes, bool last);

    Potentials p_;
    std::size_t k_, f_, size_;  // size_: counts kept per label
    std::size_t fed_ = 0;
    std::vector<double> alpha_, next_alpha_;    // log, [K]
    std::vector<double> counts_, next_counts_;  // expected counts given the label at the current position, [K][size_]
    std::vector<double> terms_;                 // p(previous | current)
};

}  // namespace tw::chain
