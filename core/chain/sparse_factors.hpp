// What factors.hpp has for few labels, with transitions as kernels/many_labels.hpp wants them: the pairs of labels that
// have a weight, and one factor for all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../kernels/many_labels.hpp"
#include "block_layout.hpp"
#include "factors.hpp"
#include "training_set.hpp"

namespace tw::chain {

template <class Real>
class SparseFactors : public FixedScores<Real> {
public:
    SparseFactors(const TrainingSet& set, const BlockLayout& layout);

    std::size_t n_edges() const { return forward_.from.size() * width_; }  // numbers that a group has for transitions
    SparseMoves<Real> moves() const { return moves_; }
    bool usable() const { return usable_; }  // else this precision does not suffice for any sequence

    void set_transitions(std::span<const double> scores);  // of each pair that has a weight

    // The expected transitions of each pair, from what a group has; and how much of them went over raised factors.
    void add(const Real* edges, std::span<double> out) const;
    void add_squares(const Real* squares, std::span<double> out) const;
    double raised(const Real* edges) const;

private:
    struct Matrix {
        std::vector<std::uint32_t> starts{0}, slots;  // of packs; of each pair, where its value is
        std::vector<std::uint32_t> others;            // values of possible pairs that have no weight
        std::vector<std::uint16_t> from;
        std::vector<Real> values;
        SparseMatrix<Real> view() { return {starts.data(), from.data(), values.data()}; }
    };
    enum Kind : std::uint8_t { kOther, kForbidden, kWeight };
    void list_pairs();
    template <class Kinds>
    void find_whole_columns(const Kinds& kind);
    template <class Kinds>
    void lay_out(Matrix& matrix, bool turned, const Kinds& kind);

    const TrainingSet& set_;
    const BlockLayout& layout_;
    std::size_t K_, width_;
    Matrix forward_, backward_;
    std::vector<std::uint8_t> whole_;   // of each label: all that may come before it is listed
    std::vector<std::uint8_t> offset_;  // of each pair: whether `rest` is added to what is listed
    bool others_ = false;               // whether some possible pair has no weight
    std::vector<Real> scores_, factors_, rest_;
    Real rest_factor_ = Real{0};
    SparseMoves<Real> moves_{};
    bool usable_ = true, raised_ = false;
};

extern template class SparseFactors<float>;
extern template class SparseFactors<double>;

}  // namespace tw::chain
