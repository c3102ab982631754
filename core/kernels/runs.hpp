// Sums and maxima over the edges into many nodes at once: a sparse matrix times a vector, over two semirings.
//
//     chunk of 8 nodes     row 0:  from[0] from[1] ... from[7]      the first edge of each node
//                          row 1:  from[8] ...                      the second; where a node has no more edges, an
//                          ...                                      entry of `in` that is zero of the semiring
//
// Nodes are sorted by their number of edges, so little is filled up (sliced ELLPACK, Monakov et al. 2010). One lane is
// one node: nothing is added across lanes, and no branch depends on the data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw {

inline constexpr std::size_t kRunLanes = 8;

struct Runs {
    std::size_t n_chunks;
    const std::uint32_t* begins;  // [n_chunks + 1] in rows
    const std::uint32_t* from;    // [rows][kRunLanes]
};

// The same for nodes whose edges come from few groups of others, as histories that end alike: every group of sources
// leads to the same columns. Entries lie as [block][pack of columns][source][kRunLanes]; what fills up weighs zero.
struct RunBlocks {
    std::size_t n_blocks;
    const std::uint32_t *source_begins, *sources;  // [n_blocks + 1]; where a source's value is
    const std::uint32_t *pack_begins, *columns;    // [n_blocks + 1]; [packs][kRunLanes], where a column's value is
    const std::uint32_t* entry_begins;             // [n_blocks], in packs
};

struct Range {
    double least, most;  // of what is not zero; +inf and 0 when there is nothing
};

struct RunLoops {
    // out[node] = sum of in[from] * weights, or maximum of in[from] + weights; out has kRunLanes entries for each
    // chunk.
    void (*sum)(const Runs&, const double* weights, const double* in, double* out);
    void (*max)(const Runs&, const double* weights, const double* in, double* out);
    // The sum, and counts += in[from] * rows[node].
    void (*sum_and_count)(const Runs&, const double* weights, const double* in, const double* rows, double* out,
                          double* counts);
    // The same over blocks: out has the zero of the semiring in all columns before. In sum_and_count_blocks columns are
    // `in`, and `rows` and `out` are by source.
    void (*sum_blocks)(const RunBlocks&, const double* weights, const double* in, double* out);
    void (*max_blocks)(const RunBlocks&, const double* weights, const double* in, double* out);
    void (*sum_and_count_blocks)(const RunBlocks&, const double* weights, const double* in, const double* rows,
                                 double* out, double* counts);
    // out = in[from], `size` a multiple of kRunLanes.
    void (*take)(const double* in, const std::uint32_t* from, std::size_t size, double* out);
    // rows *= local[labels], and the range of the result; rows += local[labels]. `size` as in take.
    Range (*multiply)(const double* local, const std::uint32_t* labels, std::size_t size, double* rows);
    void (*add)(const double* local, const std::uint32_t* labels, std::size_t size, double* rows);
    // out = a * b, and the sum of these; `size` as in take.
    double (*products)(const double* a, const double* b, std::size_t size, double* out);
    // The range of values, `size` as in take.
    Range (*range)(const double* values, std::size_t size);
    // exp(values - shift), the shift being the largest; true when a finite value became less than 1e-100, or vanished.
    bool (*exponentials)(const double* values, std::size_t size, double* out, double* shift);
};

const RunLoops& run_loops() noexcept;

}  // namespace tw
