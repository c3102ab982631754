// A trained model applied to sequences: scores, best labels, marginals, block by block in parallel.
//
// A block is a run of whole sequences, cut by the data alone: attributes, scores and answers of one block fit into
// cache, and no answer depends on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "../linear/model.hpp"
#include "../text/attributes.hpp"
#include "../text/extractor.hpp"
#include "batch.hpp"
#include "rounded_viterbi.hpp"

namespace tw::chain {

// unary is [n_tokens][K]; transitions [n_tokens][K][K] when the model has pair attributes (zero at the first token of a
// sequence), and is not touched otherwise.
void scores(const Model&, const Source&, std::size_t n_jobs, double* unary, double* transitions);
// The best labels, as a beam of `width` labels a position finds them, or exactly with kExact; throws
// std::invalid_argument naming the first sequence for which all labellings are forbidden.
void argmax(const Model&, const Source&, std::size_t width, std::size_t n_jobs, std::int32_t* labels);
void marginals(const Model&, const Source&, std::size_t n_jobs, double* out);  // [n_tokens][K]

// How many attributes the model knows, of how many.
struct Known {
    std::size_t known, all;
};
Known known(const Model&, const Source&, std::size_t n_jobs);

// What each known attribute of one sequence adds to the score of a label (or of a label pair: previous * K + current).
struct Contribution {
    std::int64_t token, place, number;  // the attribute: the place-th of its token, and its number in the model
    std::int32_t label;
    double value;
};
std::vector<Contribution> contributions(const Model&, const Source&, std::size_t sequence, std::string_view channel);

// Best labels, and marginals where wanted, of sequences that one thread decodes at a time. Reused from block to block.
class Decoder {
public:
    Decoder(const Model& model, std::size_t width) : model_(model), width_(width) {}
    // Of sequences first .. last - 1: labels [n_tokens] and, unless null, marginals [n_tokens][K]. Returns the first
    // sequence for which all labellings are forbidden, or `last`.
    std::size_t decode(const Source& source, std::size_t first, std::size_t last, std::int32_t* labels,
                       double* marginals);
    void score(const Source& source, std::size_t first, std::size_t last);
    const double* unary() const { return unary_.data(); }
    const double* per_step() const { return per_step_.data(); }

private:
    bool look_up_runs(const Source& source, std::size_t first, std::size_t last);
    std::size_t decode_exactly(const Source& source, std::size_t first, std::size_t last, std::int32_t* labels,
                               double* marginals);
    bool rounding_pays(const Source& source, std::size_t first, std::size_t last);
    std::size_t decode_rounded(const ColumnSource& source, std::size_t first, std::size_t last, std::int32_t* labels);
    std::size_t decode_per_step(std::size_t first, std::size_t last, std::int32_t* labels, double* marginals);

    const Model& model_;
    std::size_t width_;  // of a beam, or kExact
    Model::HeldRunRows runs_;
    Attributes attributes_;
    FoundRows found_;
    std::vector<std::size_t> lengths_;
    std::vector<double> unary_, per_step_;

    // Labels in single precision where that is certain.
    std::optional<RoundedViterbi> rounded_;
    Model::HeldRunRows rounded_runs_;
    LargeArray<float> rounded_unary_;
    std::size_t n_waiting_ = 0;  // blocks until it is tried again
};

}  // namespace tw::chain
