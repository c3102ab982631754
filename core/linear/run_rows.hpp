// What a model says of runs of cells, remembered: a token's scores are the sum of a few rows, each added up once.
//
//     column "pos", runs of 3 cells       "DT NN VBZ" --index--> record
//     record                              | window -2 | window -1 | window 0 |   a row of scores by label each: the sum
//                                         over the templates that see these cells from a token 2 before the last, ...
//     column "word", runs of 1            "the" --index--> record | -2 | -1 | 0 | 1 | 2 |, and a record for each place
//                                         outside of the sequence, where templates see something there
//     places                              for every token, and some places outside, the record of the run that begins
//                                         there: token t adds rows (places[t + offset], window of this offset)
//
// A cell is known by its key, as everywhere else, and a run by the numbers of its cells. Rows are added up in the order
// of the templates, windows in that of Extractor::runs: scores do not depend on what is remembered, so any thread may
// have a memory of its own, and forget it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../text/extractor.hpp"

namespace tw {

class WeightRows;

// Of one thread.
class RunRows final : private SequenceVisitor {
public:
    RunRows(std::shared_ptr<const Extractor> extractor, const WeightRows& weights);
    RunRows(const RunRows&) = delete;
    RunRows& operator=(const RunRows&) = delete;

    // Whether these templates, and so many labels, are a case for it.
    static bool covers(const Extractor& extractor, std::size_t n_labels);
    const Extractor* extractor() const { return extractor_.get(); }
    std::size_t memory_bytes() const;

    // Looks up the runs of sequences first .. last - 1; the attributes of other templates go to `rest`.
    void extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& rest);
    // Adds their rows to scores, [n_tokens][n_labels]; up to 7 numbers behind are written, too.
    void add(double* scores);

private:
    // From keys to numbers in the order they were met. Open addressing, at most half full.
    class Index {
    public:
        Index() { clear(); }
        void clear();
        std::size_t size() const { return n_; }
        std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }
        std::uint32_t find_or_add(Key key) {
            if (2 * (n_ + 1) > slots_.size()) grow();
            std::size_t i = home(key);
            for (; slots_[i].number != kFree; i = (i + 1) & (slots_.size() - 1))
                if (slots_[i].key == key) return slots_[i].number;
            slots_[i] = {key, static_cast<std::uint32_t>(n_)};
            return static_cast<std::uint32_t>(n_++);
        }
        std::uint32_t add() { return static_cast<std::uint32_t>(n_++); }  // a number without a key

    private:
        struct Slot {
            Key key;
            std::uint32_t number;
        };
        static constexpr std::uint32_t kFree = 0xffffffffu;
        std::size_t home(Key key) const { return key * 0x9e3779b97f4a7c15u >> shift_; }
        void grow();

        std::vector<Slot> slots_;
        std::size_t n_ = 0;
        unsigned shift_ = 0;
    };
    struct Table {
        const RunTemplates* templates;
        std::size_t cells;        // the table of single cells of this column
        std::size_t record_size;  // numbers of a record
        bool twice;               // whether rows are sums, which need double precision
        Index index{};
        std::size_t n_composed = 0;                    // records that have their rows
        LargeArray<float> single{};                    // [record][window][padded], or empty
        LargeArray<double> rows{};                     // the same in double precision, or empty
        std::vector<Key> views{};                      // [record][view]: of single cells
        std::vector<std::uint64_t> runs{};             // [record]: the numbers of the cells of longer runs
        std::vector<std::uint32_t> places{};           // [place], sequence after sequence
        std::vector<std::uint32_t> before{}, after{};  // [distance - 1]: records of what is outside
    };
    struct Wanted {  // a weight row that belongs to a new record
        Key key;
        std::size_t row;  // in rows of its table
    };
    // A number for a run of cells: 21 bits each.
    static constexpr unsigned kNumberBits = 21;

    void visit(const ViewTable& views) override;
    void visit_cells(Table& table, const ViewTable& views);
    void visit_runs(Table& table);
    std::uint32_t outside(Table& table, const ViewTable& views, std::size_t distance, bool after);
    void remember_views(Table& table, const Key* views);
    void compose(Table& table);
    void want_rows(const Table& table, std::size_t record);
    void forget();

    std::shared_ptr<const Extractor> extractor_;
    const WeightRows& weights_;
    std::size_t padded_, padding_ = 0;
    std::vector<Table> tables_;
    std::vector<std::size_t> lengths_;  // of the sequences that were looked up
    std::vector<Wanted> wanted_;
    bool whole_ = true;  // false while something is looked up: what failed on the way is forgotten
};

}  // namespace tw
