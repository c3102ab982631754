// A batch of first-order chains as Python holds it: the arrays are kept alive, the views into them are ready.
#pragma once

#include "../chain/batch.hpp"
#include "arrays.hpp"

namespace tw::bind {

class ChainBatch {
public:
    ChainBatch(Matrix unary, Indices starts, Indices lengths, Scores transitions, Vector start, Vector end,
               std::size_t n_jobs);

    const chain::Batch& batch() const { return batch_; }
    std::size_t n_labels() const { return batch_.potentials.n_labels; }
    std::size_t size() const { return batch_.sequences.size(); }
    std::size_t n_rows() const { return n_rows_; }  // positions in all
    std::size_t n_edges() const { return n_edges_; }

    // One pointer per sequence into a flat array of rows.
    template <class T>
    std::vector<T*> rows(T* flat, std::size_t row_size) const {
        std::vector<T*> out;
        for (const Sequence& s : batch_.sequences) {
            out.push_back(flat);
            flat += s.length * row_size;
        }
        return out;
    }
    std::vector<double*> edges(double* flat) const;
    std::vector<const std::int32_t*> labels(const Labels& flat) const;  // checked
    // counts[i] spans of chain i, one after the other: where those of each chain begin, and the spans; checked.
    std::pair<std::vector<std::size_t>, std::vector<chain::Span>> spans(const Indices& counts, const Indices& begins,
                                                                        const Indices& sizes,
                                                                        const Flags& allowed) const;

private:
    Matrix unary_;
    Scores transitions_;
    Vector start_, end_;
    chain::Batch batch_;
    std::size_t n_rows_ = 0, n_edges_ = 0;
};

}  // namespace tw::bind
