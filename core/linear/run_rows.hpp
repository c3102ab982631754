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
//
// Where rounded scores will do, all rows have single precision; how far a score can be from the exact one is known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/huge_pages.hpp"
#include "../base/prefetch.hpp"
#include "../text/extractor.hpp"

namespace tw {

class WeightRows;

// Of one thread.
class RunRows final : private SequenceVisitor {
public:
    enum class Precision { kExact, kRounded };
    RunRows(std::shared_ptr<const Extractor> extractor, const WeightRows& weights, Precision precision);
    RunRows(const RunRows&) = delete;
    RunRows& operator=(const RunRows&) = delete;

    // Whether these templates, and so many labels, are a case for it.
    static bool covers(const Extractor& extractor, std::size_t n_labels);
    const Extractor* extractor() const { return extractor_.get(); }
    Precision precision() const { return precision_; }
    std::size_t memory_bytes() const;  // taken, used or not

    // Sequences that have so many tokens must be scored otherwise: their cells could not be numbered.
    static constexpr std::size_t kTooLong = std::size_t{1} << 20;
    // Looks up the runs of sequences first .. last - 1; the attributes of other templates go to `rest`.
    void extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& rest);
    // Adds their rows to scores, [n_tokens][n_labels]; up to 7 numbers behind are written, too.
    void add(double* scores);
    // Rounded: scores, [n_tokens][padded], are the rows and what is in `rest`, [n_tokens][n_labels]; see
    // RowSumLoops::add_rounded.
    struct Bounds {
        double error;    // a score is at most so far from the sum in double precision
        double largest;  // what its absolute value is at most
    };
    Bounds add_rounded(const double* rest, float* scores, std::size_t padded);

private:
    // From keys to numbers in the order they were met. Open addressing, at most a quarter full.
    class Index {
    public:
        Index() { clear(); }
        void clear();
        std::size_t size() const { return n_; }
        std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }
        void fetch(Key key) const { fetch_to_read(&slots_[home(key)]); }  // where a search for it begins
        std::uint32_t find_or_add(Key key) {
            const Slot* const slots = slots_.data();
            const std::size_t mask = slots_.size() - 1;
            std::size_t i = home(key);
            for (; slots[i].number != kFree; i = (i + 1) & mask)
                if (slots[i].key == key) return slots[i].number;
            return add(key, i);
        }
        std::uint32_t add() { return static_cast<std::uint32_t>(n_++); }  // a number without a key

    private:
        struct Slot {
            Key key;
            std::uint32_t number;
        };
        static constexpr std::uint32_t kFree = 0xffffffffu;
        std::size_t home(Key key) const { return key * 0x9e3779b97f4a7c15u >> shift_; }
        std::uint32_t add(Key key, std::size_t slot);

        std::vector<Slot> slots_;
        std::size_t n_ = 0;
        unsigned shift_ = 0;
    };
    struct Table {
        const RunTemplates* templates;
        std::size_t cells;        // the table of single cells of this column
        std::size_t record_size;  // numbers of a record
        bool twice;               // whether rows have double precision: they are sums, and are not to be rounded
        Index index{};
        std::size_t n_composed = 0;                    // records that have their rows
        LargeArray<float> single{};                    // [record][window][padded], or empty
        LargeArray<double> rows{};                     // the same in double precision, or empty
        std::vector<float> largest{};                  // [window]: absolute values of rounded rows
        std::vector<Key> views{};                      // [record][view]: of single cells
        std::vector<std::uint64_t> runs{};             // [record]: the numbers of the cells of longer runs
        std::vector<std::uint32_t> places{};           // [place], sequence after sequence
        std::vector<std::uint32_t> before{}, after{};  // [distance - 1]: records of what is outside
    };
    struct Lists;
    struct Wanted {  // a weight row that belongs to a new record
        Key key;
        std::size_t row;  // in `sums_`
    };
    // A number for a run of cells: 21 bits each.
    static constexpr unsigned kNumberBits = 21;

    void visit(const ViewTable& views) override;
    void visit_cells(Table& table, const ViewTable& views);
    void visit_runs(Table& table);
    std::uint32_t outside(Table& table, const ViewTable& views, std::size_t distance, bool after);
    std::size_t used_bytes() const;
    void remember_views(Table& table, const Key* views);
    void compose(Table& table);
    void add_up();  // rows of what is wanted, into `sums_`
    bool in_double(const Table& table) const { return table.twice || wide_; }
    void widen();
    void put_single(Table& table, std::size_t first);
    // Into `wanted_`; rows count from those of record `first`.
    void want_rows(const Table& table, std::size_t record, std::size_t first);
    void forget();

    std::shared_ptr<const Extractor> extractor_;
    const WeightRows& weights_;
    Precision precision_;
    bool wide_ = false;  // all rows have double precision: some attribute lists a label twice, which makes it a sum
    std::size_t padded_, padding_ = 0;
    std::vector<Table> tables_;
    std::vector<std::size_t> lengths_;  // of the sequences that were looked up
    std::vector<Wanted> wanted_;
    std::vector<double> sums_;  // the rows of new records
    bool whole_ = true;         // false while something is looked up: what failed on the way is forgotten
};

}  // namespace tw
