#include "score_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../base/parallel.hpp"
#include "../base/semiring.hpp"
#include "dependency.hpp"

namespace tw {
namespace {

constexpr double kLargest = 1e300;  // as kernels().first_invalid has it

[[noreturn]] void refuse(std::size_t sentence, const std::string& what) {
    throw std::invalid_argument("sentence " + std::to_string(sentence) + ": " + what);
}

// One sentence at a time, in memory that is kept from one to the next.
class SentenceLoss {
public:
    SentenceLoss(const DerivationStructure& structure, const TableLayout& layout, const GoldTables& gold,
                 const TableLoss& loss)
        : structure_(structure), layout_(layout), gold_(gold), loss_(loss), space_(structure.workspace()) {}

    template <class Real>
    double of(std::size_t sentence, std::uint32_t n, const Real* scores, Real* gradient) {
        begin(sentence, n);
        gather(scores);
        double value = 0.0;
        std::ranges::fill(derivatives_, 0.0);
        if (gold_.numbers) {
            read_gold();
            value -= answer_of_gold(gradient != nullptr);
            add_costs();
        }
        value += answer({scores_}, gradient != nullptr, 1.0);
        if (gradient) scatter(gradient);
        return gold_.numbers && loss_.best ? std::max(value, 0.0) : value;  // gold is a tree: less is rounding
    }

    void check(std::size_t sentence, std::uint32_t n) {
        begin(sentence, n);
        std::ranges::fill(scores_, 0.0);
        read_gold();
        answer_of_gold(false);
    }

private:
    void begin(std::size_t sentence, std::uint32_t n) {
        sentence_ = sentence;
        n_ = n;
        const std::size_t n_sites = layout_.spans() ? n * (n + std::size_t{1}) / 2 : (n + std::size_t{1}) * (n + 1);
        scores_.resize(n_sites * layout_.n_labels);
        derivatives_.resize(scores_.size());
        whole_ = layout_.spans() && n > 0 ? (n - std::size_t{1}) * layout_.n_labels : 0;
    }

    // visit(where the labels stand in the table, first part, how many follow one another) for each row of sites.
    template <class Visit>
    void each_run(Visit visit) const {
        const std::size_t n = n_, L = layout_.n_labels;
        std::size_t part = 0;
        for (std::size_t row = 0; row < (layout_.spans() ? n : n + 1); ++row) {
            const std::size_t first = layout_.spans() ? row + 1 : 0, size = (n + 1 - first) * L;
            visit((row * layout_.n_columns() + first) * L, part, size);
            part += size;
        }
    }

    template <class Real>
    void gather(const Real* table) {
        bool valid = true;
        each_run([&](std::size_t from, std::size_t part, std::size_t size) {
            for (std::size_t i = 0; i < size; ++i) scores_[part + i] = static_cast<double>(table[from + i]);
        });
        if (!layout_.spans()) forbid_what_is_no_arc();
        for (const double score : scores_) valid &= (score <= kLargest) & ((score >= -kLargest) | (score == kLogZero));
        if (!valid) refuse_scores(table);
    }

    void forbid_what_is_no_arc() {
        const std::size_t L = layout_.n_labels, wide = n_ + std::size_t{1};
        for (std::size_t i = 0; i < wide; ++i) {
            std::fill_n(&scores_[i * wide * L], L, kLogZero);
            std::fill_n(&scores_[i * (wide + 1) * L], L, kLogZero);
        }
    }

    template <class Real>
    [[noreturn]] void refuse_scores(const Real* table) const {
        std::string where = "a score";
        each_run([&](std::size_t from, std::size_t part, std::size_t size) {
            for (std::size_t i = size; i-- > 0;) {
                const double score = scores_[part + i];
                if (score <= kLargest && (score >= -kLargest || score == kLogZero)) continue;
                const std::size_t at = from + i, cell = at / layout_.n_labels;
                where = "scores[" + std::to_string(sentence_) + ", " + std::to_string(cell / layout_.n_columns()) +
                        ", " + std::to_string(cell % layout_.n_columns()) + ", " +
                        std::to_string(at % layout_.n_labels) + "] is " +
                        std::to_string(static_cast<double>(table[at]));
            }
        });
        refuse(sentence_, where + "; expected a number up to 1e300, or -inf to forbid");
    }

    template <class Real>
    void scatter(Real* table) const {
        std::fill_n(table, layout_.table(), Real{0});
        each_run([&](std::size_t to, std::size_t part, std::size_t size) {
            for (std::size_t i = 0; i < size; ++i) table[to + i] = static_cast<Real>(derivatives_[part + i]);
        });
    }

    // ---- gold ----------------------------------------------------------------------------------------------------

    // Fills allowed_, the parts that trees which agree with gold may have; and parts_ where gold is known wholly.
    void read_gold() {
        known_ = true;
        output_.clear();
        allowed_.assign(scores_.size(), layout_.spans() ? 0 : 1);
        if (layout_.spans())
            read_spans();
        else
            read_heads();
        if (!known_ && !layout_.spans()) return;
        try {
            structure_.parts_of({&n_, 1}, output_, parts_);
        } catch (const std::invalid_argument& error) {
            refuse(sentence_, std::string("gold is no tree: ") + error.what());
        }
        if (layout_.trees == TableLayout::Trees::kProjective && !is_projective(std::span(output_).first(n_)))
            refuse(sentence_,
                   "arcs of gold cross, which no projective tree has. Pass projective=False, or leave "
                   "the heads of these words unknown");
    }

    void read_heads() {
        const std::int64_t* heads = gold_.numbers + sentence_ * layout_.n_words;
        const std::int64_t* labels = gold_.labels ? gold_.labels + sentence_ * layout_.n_words : nullptr;
        const std::size_t L = layout_.n_labels, wide = n_ + std::size_t{1};
        for (std::size_t m = 1; m <= n_; ++m) {
            const std::int64_t head = number(heads[m - 1], wide, m, "head");
            const std::int64_t label = labels ? number(labels[m - 1], L, m, "label") : 0;
            output_.push_back(static_cast<std::uint32_t>(head));
            for (std::size_t h = 0; h < wide; ++h)
                for (std::size_t l = 0; l < L; ++l)
                    if ((head >= 0 && h != static_cast<std::size_t>(head)) ||
                        (label >= 0 && l != static_cast<std::size_t>(label)))
                        allowed_[(h * wide + m) * L + l] = 0;
        }
        for (std::size_t m = 1; L > 1 && m <= n_; ++m)
            output_.push_back(labels ? static_cast<std::uint32_t>(labels[m - 1]) : 0);
    }

    void read_spans() {
        const std::int64_t* row = gold_.numbers + sentence_ * gold_.n_rows * 3;
        for (std::size_t r = 0; r < gold_.n_rows; ++r, row += 3) {
            if (row[0] == gold_.unknown) continue;
            const auto size = static_cast<std::int64_t>(n_), L = static_cast<std::int64_t>(layout_.n_labels);
            const auto shown = [&] {
                return "gold has the constituent (" + std::to_string(row[0]) + ", " + std::to_string(row[1]) + ", " +
                       std::to_string(row[2]) + ")";
            };
            if (row[0] < 0 || row[0] >= row[1] || row[1] > size)
                refuse(sentence_, shown() + "; expected 0 <= begin < end <= " + std::to_string(n_));
            if (row[2] != gold_.unknown && (row[2] < 0 || row[2] >= L))
                refuse(sentence_, shown() + "; expected a label from 0 to " + std::to_string(L - 1));
            known_ &= row[2] != gold_.unknown;
            for (std::size_t x = 0; x < 3; ++x)
                output_.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(row[x], 0)));
            const std::size_t first = first_part(static_cast<std::size_t>(row[0]), static_cast<std::size_t>(row[1]));
            for (std::int64_t l = 0; l < L; ++l)
                if (row[2] == gold_.unknown || row[2] == l) allowed_[first + static_cast<std::size_t>(l)] = 1;
        }
    }

    std::size_t first_part(std::size_t begin, std::size_t end) const {
        return (begin * (2 * std::size_t{n_} - begin + 1) / 2 + end - begin - 1) * layout_.n_labels;
    }

    // A head or a label of gold; -1: not known.
    std::int64_t number(std::int64_t given, std::size_t n, std::size_t word, const char* what) {
        if (given == gold_.unknown) {
            known_ = false;
            return -1;
        }
        if (given < 0 || given >= static_cast<std::int64_t>(n))
            refuse(sentence_, "word " + std::to_string(word) + " of gold has the " + what + " " +
                                  std::to_string(given) + "; expected 0 to " + std::to_string(n - 1) + ", or " +
                                  std::to_string(gold_.unknown) + " where it is not known");
        return given;
    }

    double answer_of_gold(bool wanted) {
        double value = 0.0;
        if (known_)
            for (const Part part : parts_) {
                value += scores_[part];
                if (wanted) derivatives_[part] -= 1.0;
            }
        else if (layout_.spans())
            for (const Part part : parts_) value += answer_of_labels(part - part % layout_.n_labels, wanted);
        else
            value = answer({scores_, allowed_}, wanted, -1.0);
        if (value == kLogZero)
            refuse(sentence_, known_ || layout_.spans()
                                  ? "gold is forbidden: the score of one of its parts is -inf"
                                  : "no tree has the heads that are known of gold, or all such trees are forbidden");
        return value;
    }

    // Of the labels that gold allows of a span.
    double answer_of_labels(std::size_t first, bool wanted) {
        double best = kLogZero, total = 0.0;
        std::size_t at = first;
        for (std::size_t part = first; part < first + layout_.n_labels; ++part)
            if (allowed_[part] && scores_[part] > best) best = scores_[at = part];
        if (best == kLogZero || loss_.best) {
            if (wanted) derivatives_[at] -= 1.0;
            return best;
        }
        for (std::size_t part = first; part < first + layout_.n_labels; ++part)
            if (allowed_[part]) total += std::exp(scores_[part] - best);
        for (std::size_t part = first; wanted && part < first + layout_.n_labels; ++part)
            if (allowed_[part]) derivatives_[part] -= std::exp(scores_[part] - best) / total;
        return best + std::log(total);
    }

    // Arcs that gold does not allow; constituents that it has not, and those of gold that are missing: these are all
    // of its constituents, charged to the whole sentence, less those that a tree has.
    void add_costs() {
        if (loss_.cost == 0.0) return;
        const double right = layout_.spans() ? -loss_.cost : 0.0;
        for (std::size_t part = 0; part < scores_.size(); ++part) scores_[part] += allowed_[part] ? right : loss_.cost;
        for (std::size_t l = 0; layout_.spans() && n_ > 0 && l < layout_.n_labels; ++l)
            scores_[whole_ + l] += loss_.cost * static_cast<double>(parts_.size());
    }

    // Sum or best of the trees that these scores allow; adds `sign` times its derivatives.
    double answer(const PartScores& given, bool wanted, double sign) {
        const Shape shape{&n_, 1};
        if (n_ == 0) return 0.0;
        if (loss_.best) {
            const std::vector<Answer> found = structure_.best(shape, given, 1, *space_);
            if (found.empty()) return kLogZero;
            for (const Part part : found.front().parts) derivatives_[part] += sign;
            return found.front().score;
        }
        if (!wanted) return structure_.log_partition(shape, given, nullptr, nullptr, *space_);
        expected_.resize(scores_.size());
        const double log_z = structure_.log_partition(shape, given, expected_.data(), nullptr, *space_);
        if (log_z != kLogZero)
            for (std::size_t part = 0; part < expected_.size(); ++part) derivatives_[part] += sign * expected_[part];
        return log_z;
    }

    const DerivationStructure& structure_;
    const TableLayout& layout_;
    const GoldTables& gold_;
    const TableLoss& loss_;
    std::unique_ptr<Workspace> space_;
    std::size_t sentence_ = 0, whole_ = 0;  // whole_: first part of the whole sentence
    std::uint32_t n_ = 0;
    bool known_ = true;
    std::vector<double> scores_, expected_, derivatives_;
    std::vector<std::uint8_t> allowed_;
    std::vector<std::uint32_t> output_;
    Parts parts_;
};

// A thread has to have about 100 microseconds of work before it pays.
std::size_t n_workers(const TableLayout& layout, std::span<const std::int64_t> lengths, std::size_t n_jobs) {
    double work = 0.0;
    for (const std::int64_t length : lengths) {
        const auto n = static_cast<double>(length);
        work += n * n * (n + 4.0 * static_cast<double>(layout.n_labels));
    }
    const double most = std::min(static_cast<double>(std::max<std::size_t>(n_jobs, 1)), 1.0 + work / 2e5);
    return std::min(static_cast<std::size_t>(most), std::max<std::size_t>(layout.n_sentences, 1));
}

}  // namespace

template <class Real>
void table_losses(const DerivationStructure& structure, const TableLayout& layout, const Real* scores,
                  std::span<const std::int64_t> lengths, const GoldTables& gold, const TableLoss& loss,
                  std::size_t n_jobs, Real* values, Real* gradient) {
    std::vector<std::unique_ptr<SentenceLoss>> workers(n_workers(layout, lengths, n_jobs));
    for (auto& worker : workers) worker = std::make_unique<SentenceLoss>(structure, layout, gold, loss);
    parallel_for(layout.n_sentences, workers.size(), [&](std::size_t i, std::size_t worker) {
        Real* const own = gradient ? gradient + i * layout.table() : nullptr;
        values[i] = static_cast<Real>(
            workers[worker]->of(i, static_cast<std::uint32_t>(lengths[i]), scores + i * layout.table(), own));
    });
}

void check_table_gold(const DerivationStructure& structure, const TableLayout& layout,
                      std::span<const std::int64_t> lengths, const GoldTables& gold) {
    const TableLoss loss{.best = true};
    SentenceLoss one(structure, layout, gold, loss);
    for (std::size_t i = 0; i < layout.n_sentences; ++i) one.check(i, static_cast<std::uint32_t>(lengths[i]));
}

template void table_losses(const DerivationStructure&, const TableLayout&, const float*, std::span<const std::int64_t>,
                           const GoldTables&, const TableLoss&, std::size_t, float*, float*);
template void table_losses(const DerivationStructure&, const TableLayout&, const double*, std::span<const std::int64_t>,
                           const GoldTables&, const TableLoss&, std::size_t, double*, double*);

}  // namespace tw
