// Derivations of a weighted context-free grammar, by CKY (Kasami 1965; Younger 1967).
//
//     shape: [n words]      output: rows (begin, end, symbol), outermost first; of one span the lower symbol first;
//                           terminals, numbered after the symbols, are rows of one word
//     spans   n (n + 1) / 2 x symbols      the sites of (begin, end) in rows: (0, 1) .. (0, n), (1, 2) .. (1, n), ...
//     words   n x terminals
//     rules   1 x codes, tied: the score of a rule wherever it is used
//
// Rules have one child or two. What binarising longer ones makes are inner symbols: they have no parts, and a tree is
// known without them. A rule with one child leads to a higher symbol, so there are no cycles.
//
// Nodes are numbered by word and terminal, then by cell (begin, end) and symbol, the highest symbol first:
//     words of all positions | cell (n-1, n) | cell (n-2, n-1), cell (n-2, n) | ... | goal
// The fast way keeps a row for each begin and symbol, contiguous in the end:
//     row[begin][symbol][end]      row[i][A][j]  takes  row[i][B][k] + row[k][C][j] + score of A -> B C
// so that one rule at one (i, B, k) is one run over all j > k. Rows below i are complete; cells of row i are completed
// from left to right. Sums run on values relative to the best of their cell, which is known from maxima before.
#include <cmath>
#include <stdexcept>

#include "dynamic_program.hpp"
#include "families.hpp"

namespace tw {
namespace {

class GrammarFamily {
public:
    explicit GrammarFamily(GrammarTables tables)
        : n_symbols_(tables.n_symbols),
          n_all_(tables.n_symbols + tables.n_inner),
          n_terminals_(tables.n_terminals),
          n_codes_(tables.n_codes),
          starts_(std::move(tables.starts)),
          rules_(std::move(tables.rules)) {
        by_parent_.resize(n_all_);
        by_left_.resize(n_all_);
        by_terminal_.resize(n_terminals_);
        const auto require = [](bool holds, const char* what) {
            if (!holds) throw std::invalid_argument(what);
        };
        for (const std::uint32_t start : starts_) require(start < n_symbols_, "a start symbol is out of range");
        for (std::uint32_t r = 0; r < rules_.size(); ++r) {
            const GrammarRule& rule = rules_[r];
            const bool one = rule.right == kNoSymbol;
            require(rule.parent < n_all_ && rule.left < n_all_ + (one ? n_terminals_ : 0) &&
                        (one || rule.right < n_all_) && (rule.code == kNoPart || rule.code < n_codes_),
                    "a rule is out of range");
            require(!one || rule.parent < rule.left, "a rule with one child must lead to a higher symbol");
            by_parent_[rule.parent].push_back(r);
            if (!one)
                by_left_[rule.left].push_back(r);
            else if (rule.left >= n_all_)
                by_terminal_[rule.left - n_all_].push_back(r);
            else
                unary_.push_back(r);
        }
        chained_.resize(n_all_);
        for (const std::uint32_t r : unary_)
            chained_[slot_of(rules_[r].parent)] = chained_[slot_of(rules_[r].left)] = 1;
        for (std::uint32_t slot = 0; slot < n_all_; ++slot)
            if (chained_[slot]) chain_.push_back(slot);
        std::ranges::stable_sort(unary_, std::greater<>{}, [&](std::uint32_t r) { return rules_[r].parent; });
    }

    static std::size_t n_spans(std::size_t n) { return n * (n + 1) / 2; }
    Part span_part(std::size_t n, std::size_t i, std::size_t j, std::size_t symbol) const {
        return static_cast<Part>((i * (2 * n - i + 1) / 2 + j - i - 1) * n_symbols_ + symbol);
    }
    Part word_part(std::size_t n, std::size_t i, std::size_t terminal) const {
        return static_cast<Part>(n_spans(n) * n_symbols_ + i * n_terminals_ + terminal);
    }
    Part rule_part(std::size_t n, Part code) const {
        return code == kNoPart ? kNoPart : static_cast<Part>(n_spans(n) * n_symbols_ + n * n_terminals_ + code);
    }
    std::vector<Block> blocks(Shape shape) const {
        return {{"spans", n_spans(shape[0]), n_symbols_}, {"words", shape[0], n_terminals_}, {"rules", 1, n_codes_}};
    }

    void output_of(Shape shape, std::span<const Part> parts, std::vector<std::uint32_t>& rows) const {
        const auto n = static_cast<std::uint32_t>(shape[0]);
        const std::size_t first_word = n_spans(n) * n_symbols_, first_rule = first_word + n * n_terminals_;
        std::vector<std::array<std::uint32_t, 3>> found;
        std::uint32_t i = 0, begin = 0;  // the row of spans, and its first site
        for (const Part part : parts) {
            if (part >= first_rule) break;
            if (part >= first_word) {
                const auto at = static_cast<std::uint32_t>((part - first_word) / n_terminals_);
                found.push_back({at, at + 1, static_cast<std::uint32_t>(n_all_ + (part - first_word) % n_terminals_)});
                continue;
            }
            const auto at = static_cast<std::uint32_t>(part / n_symbols_);
            for (; at >= begin + (n - i); ++i) begin += n - i;
            found.push_back({i, i + at - begin + 1, static_cast<std::uint32_t>(part % n_symbols_)});
        }
        std::ranges::sort(found, [](const auto& a, const auto& b) {
            return std::tuple(a[0], b[1], a[2]) < std::tuple(b[0], a[1], b[2]);
        });
        for (const auto& row : found) rows.insert(rows.end(), row.begin(), row.end());
    }

    // The rules of a tree are found by parsing with what it has, and nothing else.
    void parts_of(Shape shape, std::span<const std::uint32_t> rows, Parts& parts) const {
        const std::size_t n = shape[0], first_rule = n_spans(n) * n_symbols_ + n * n_terminals_;
        std::vector<double> scores(first_rule + n_codes_, 0.0);
        std::fill_n(scores.begin(), first_rule, kLogZero);
        if (rows.size() % 3 != 0) throw std::invalid_argument("a tree must be rows of begin, end and symbol");
        for (std::size_t r = 0; r < rows.size(); r += 3) {
            const std::size_t i = rows[r], j = rows[r + 1], symbol = rows[r + 2];
            const bool terminal = symbol >= n_all_;
            if (i >= j || j > n || symbol >= n_all_ + n_terminals_ || (!terminal && symbol >= n_symbols_) ||
                (terminal && j > i + 1))
                throw std::invalid_argument("a constituent or its symbol is out of range");
            double& score = scores[terminal ? word_part(n, i, symbol - n_all_) : span_part(n, i, j, symbol)];
            if (score == 1.0) throw std::invalid_argument("a constituent is there twice");
            score = 1.0;
        }
        Answer found;
        Space space;
        const PartScores given{scores};
        if (!best(shape, given, space, found) || found.score != static_cast<double>(rows.size() / 3))
            throw std::invalid_argument("the grammar does not derive this tree");
        parts = std::move(found.parts);
    }

    struct Program {
        const GrammarFamily& family;
        std::size_t n, N = family.n_all_, T = family.n_terminals_;

        std::size_t n_nodes() const { return n * T + n_spans(n) * N + 1; }
        std::size_t cell(std::size_t i, std::size_t j) const { return n * T + (n_spans(n - i - 1) + j - i - 1) * N; }
        std::size_t node(std::size_t i, std::size_t j, std::size_t symbol) const { return cell(i, j) + N - 1 - symbol; }

        template <class Found>
        void find(std::size_t v, Found found) const {  // found(begin, end, symbol) of a node in a cell
            const std::size_t span = (v - n * T) / N, symbol = N - 1 - (v - n * T) % N;
            auto row = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(span) + 1.0) - 1.0) / 2.0);
            while (n_spans(row + 1) <= span) ++row;
            while (n_spans(row) > span) --row;
            found(n - row - 1, n - row + span - n_spans(row), symbol);
        }
        std::size_t covered(std::size_t v) const {  // where a beginning of the sentence that is one symbol ends
            std::size_t out = 0;
            if (v >= n * T) find(v, [&](std::size_t i, std::size_t j, std::size_t) { out = i == 0 ? j : 0; });
            return out;
        }
        Part node_part(std::size_t v) const {
            if (v + 1 == n_nodes()) return kNoPart;
            if (v < n * T) return family.word_part(n, v / T, v % T);
            Part out = kNoPart;
            find(v, [&](std::size_t i, std::size_t j, std::size_t symbol) {
                if (symbol < family.n_symbols_) out = family.span_part(n, i, j, symbol);
            });
            return out;
        }

        template <class Visit>
        void incoming(std::size_t v, Visit visit) const {
            if (v + 1 == n_nodes()) {
                for (std::size_t s = 0; n > 0 && s < family.starts_.size(); ++s)
                    visit(kNoPart, node(0, n, family.starts_[s]));
                return;
            }
            if (v < n * T) return visit(kNoPart);
            find(v, [&](std::size_t i, std::size_t j, std::size_t symbol) {
                for (const std::uint32_t r : family.by_parent_[symbol]) {
                    const GrammarRule& rule = family.rules_[r];
                    const Part weight = family.rule_part(n, rule.code);
                    if (rule.right != kNoSymbol)
                        for (std::size_t k = i + 1; k < j; ++k)
                            visit(weight, node(i, k, rule.left), node(k, j, rule.right));
                    else if (rule.left < N)
                        visit(weight, node(i, j, rule.left));
                    else if (j == i + 1)
                        visit(weight, i * T + rule.left - N);
                }
            });
        }
    };
    Program program(Shape shape) const { return {*this, shape[0]}; }

    // Numbers that are only looked at where something was put.
    class Rows {
    public:
        void resize(std::size_t size) {
            if (size > size_) data_ = std::make_unique_for_overwrite<double[]>(size);
            size_ = std::max(size, size_);
        }
        double& operator[](std::size_t i) { return data_[i]; }

    private:
        std::unique_ptr<double[]> data_;
        std::size_t size_ = 0;
    };

    struct Space {
        struct Step {  // a rule with two children, from its left one
            std::uint32_t right, parent;
            Part code;
            double weight;
        };
        std::vector<double> scores;
        Rows best, sum, of, around;                       // around: of one begin
        std::vector<Step> steps;                          // by left child
        std::vector<std::size_t> first_step;              // of each slot
        std::vector<double> one_child;                    // weights of rules with one child
        std::vector<double> word;                         // [position][terminal], for sums relative to the best
        std::vector<std::vector<std::uint32_t>> touched;  // slots of each begin that have something
        std::vector<std::uint8_t> has;                    // the same as flags, [begin][slot]
        std::vector<std::vector<std::uint32_t>> live;     // of each cell: slots that are left children
        std::vector<double> top, factor;                  // the best of each cell; of one split, by end
    };

    bool best(Shape shape, const PartScores& scores, Space& space, Answer& out) const {
        const std::size_t n = shape[0], wide = n + 1;
        out.parts.clear();
        out.score = kLogZero;
        if (n == 0) return true;
        best_rows(n, scores, space);
        const auto value = [&](std::size_t i, std::size_t j, std::size_t symbol) {
            const std::size_t row = i * n_all_ + slot_of(symbol);
            return space.has[row] ? space.best[row * wide + j] : kLogZero;
        };
        struct Open {
            std::size_t i, j, symbol;
        };
        std::vector<Open> open(1);
        for (const std::uint32_t start : starts_)
            if (const double score = value(0, n, start); score > out.score) {
                out.score = score;
                open[0] = {0, n, start};
            }
        if (out.score == kLogZero) return true;
        while (!open.empty()) {  // rules are found again, not kept; the first of equal ones
            const auto [i, j, symbol] = open.back();
            open.pop_back();
            if (symbol < n_symbols_) out.parts.push_back(span_part(n, i, j, symbol));
            double highest = kLogZero;
            const GrammarRule* chosen = nullptr;
            std::size_t at = 0;
            for (const std::uint32_t r : by_parent_[symbol]) {
                const GrammarRule& rule = rules_[r];
                const double weight = scores[rule_part(n, rule.code)];
                const auto meet = [&](double score, std::size_t k) {
                    if (!(score > highest)) return;
                    highest = score;
                    chosen = &rule;
                    at = k;
                };
                if (rule.right == kNoSymbol && rule.left < n_all_)
                    meet(weight + value(i, j, rule.left), j);
                else if (rule.right == kNoSymbol && j == i + 1)
                    meet(weight + space.word[i * n_terminals_ + rule.left - n_all_], j);
                else if (rule.right != kNoSymbol && space.has[i * n_all_ + slot_of(rule.left)])
                    for (std::size_t k = i + 1; k < j; ++k)
                        meet(weight + value(i, k, rule.left) + value(k, j, rule.right), k);
            }
            if (const Part part = rule_part(n, chosen->code); part != kNoPart) out.parts.push_back(part);
            if (chosen->left >= n_all_)
                out.parts.push_back(word_part(n, i, chosen->left - n_all_));
            else
                open.push_back({i, at, chosen->left});
            if (chosen->right != kNoSymbol) open.push_back({at, j, chosen->right});
        }
        std::ranges::sort(out.parts);
        return true;
    }

    std::vector<double> inside_best(Shape shape, const PartScores& scores, Space& space) const {
        const std::size_t n = shape[0], wide = n + 1;
        const Program program = this->program(shape);
        best_rows(n, scores, space);
        std::vector<double> in(program.n_nodes(), kLogZero);
        std::ranges::copy(space.word, in.begin());
        for (std::size_t i = 0; i < n; ++i)
            for (const std::uint32_t slot : space.touched[i]) {
                const double* row = &space.best[(i * n_all_ + slot) * wide];
                for (std::size_t j = i + 1; j <= n; ++j) in[program.cell(i, j) + slot] = row[j];
            }
        for (const std::uint32_t start : starts_)
            if (n > 0) in.back() = std::max(in.back(), in[program.node(0, n, start)]);
        return in;
    }

    bool sums(Shape shape, const PartScores& scores, Space& space, double& log_z, double* expected) const {
        const std::size_t n = shape[0], wide = n + 1;
        if (n == 0) return false;
        const double* values = best_rows(n, scores, space);
        if (!relative(n, space)) return false;
        space.sum.resize(n * n_all_ * wide);
        bool safe = true;
        InterruptCheck check;
        for (std::size_t i = n; i-- > 0;) {
            double* rows = &space.sum[i * n_all_ * wide];
            for (const std::uint32_t slot : space.touched[i]) std::fill_n(rows + slot * wide, wide, 0.0);
            for (std::size_t k = i + 1; k <= n; ++k) {
                check();
                const double scaled = std::exp(-space.top[i * wide + k]);
                if (space.top[i * wide + k] == kLogZero) continue;
                if (k == i + 1)
                    each_word_rule([&](std::size_t t, std::uint32_t r) {
                        if (space.word[i * n_terminals_ + t] != 0.0)
                            rows[slot_of(rules_[r].parent) * wide + k] +=
                                space.word[i * n_terminals_ + t] * space.one_child[r] * scaled;
                    });
                complete(
                    n, i, k, values, space,
                    [&](std::size_t slot, double score) { rows[slot * wide + k] *= std::exp(score); },
                    [&](std::uint32_t r) {
                        rows[slot_of(rules_[r].parent) * wide + k] +=
                            rows[slot_of(rules_[r].left) * wide + k] * space.one_child[r];
                    });
                split_factors(n, i, k, space, safe);
                for (const std::uint32_t slot : space.live[i * wide + k])
                    each_step(space, slot, k, [&](const typename Space::Step& step) {
                        const double weight = rows[slot * wide + k] * step.weight, *__restrict factor =
                                                                                       space.factor.data();
                        double* __restrict to = rows + step.parent * wide;
                        const double* __restrict from = &space.sum[(k * n_all_ + step.right) * wide];
                        for (std::size_t j = k + 1; j <= n; ++j) to[j] += weight * (factor[j] * from[j]);
                    });
            }
            for (const std::uint32_t slot : space.touched[i])
                for (std::size_t j = i + 1; j <= n; ++j) safe = safe && rows[slot * wide + j] < 1e200;
            if (!safe) return false;
        }
        double total = 0.0;
        for (const std::uint32_t start : starts_)
            if (space.has[slot_of(start)]) total += space.sum[slot_of(start) * wide + n];
        log_z = total == 0.0 ? kLogZero : std::log(total) + space.top[n];
        if (!expected) return true;
        std::fill_n(expected, rule_part(n, 0) + n_codes_, 0.0);
        if (total != 0.0) spread(n, values, total, space, expected);
        return true;
    }

private:
    static constexpr double kSafe = 69.0, kSmallest = 161.0;  // 1e30, 1e70

    std::uint32_t slot_of(std::size_t symbol) const { return static_cast<std::uint32_t>(n_all_ - 1 - symbol); }

    template <class Visit>
    void each_word_rule(Visit visit) const {
        for (std::size_t t = 0; t < n_terminals_; ++t)
            for (const std::uint32_t r : by_terminal_[t]) visit(t, r);
    }

    // The rules of a left child whose right one is somewhere at k.
    template <class Visit>
    void each_step(const Space& space, std::uint32_t left, std::size_t k, Visit visit) const {
        if (k * n_all_ >= space.has.size()) return;  // at the end
        const std::uint8_t* has = &space.has[k * n_all_];
        for (std::size_t s = space.first_step[left]; s < space.first_step[left + 1]; ++s)
            if (has[space.steps[s].right]) visit(space.steps[s]);
    }

    // What a cell still lacks once its splits are known: scores of its symbols, and rules with one child. Those that
    // such rules are about come with the highest symbol first, so that children come before parents.
    template <class Score, class One>
    void complete(std::size_t n, std::size_t i, std::size_t j, const double* values, Space& space, Score score,
                  One one) const {
        const auto own = [&](std::uint32_t slot) {
            const std::size_t symbol = n_all_ - 1 - slot;
            if (symbol >= n_symbols_) return;
            if (const double value = values[span_part(n, i, j, symbol)]; value != 0.0) score(slot, value);
        };
        for (const std::uint32_t slot : space.touched[i])
            if (!chained_[slot]) own(slot);
        std::size_t u = 0;
        for (const std::uint32_t slot : chain_) {
            for (; u < unary_.size() && slot_of(rules_[unary_[u]].parent) == slot; ++u)
                if (space.has[i * n_all_ + slot_of(rules_[unary_[u]].left)]) one(unary_[u]);
            if (space.has[i * n_all_ + slot]) own(slot);
        }
    }

    // Maxima of all rows; returns the scores, -inf where they are not allowed.
    const double* best_rows(std::size_t n, const PartScores& scores, Space& space) const {
        const std::size_t wide = n + 1;
        const double* values = read(n, scores, space);
        space.word.assign(values + word_part(n, 0, 0), values + word_part(n, n, 0));
        space.best.resize(n * n_all_ * wide);
        space.top.assign(n * wide, kLogZero);
        space.has.assign(n * n_all_, 0);
        space.touched.resize(n);
        space.live.resize(std::max(space.live.size(), n * wide));
        InterruptCheck check;
        for (std::size_t i = n; i-- > 0;) {
            double* rows = &space.best[i * n_all_ * wide];
            std::vector<std::uint32_t>& touched = space.touched[i];
            touched.clear();
            const auto touch = [&](std::uint32_t slot) {
                if (space.has[i * n_all_ + slot]) return;
                space.has[i * n_all_ + slot] = 1;
                touched.push_back(slot);
                std::fill_n(rows + slot * wide, wide, kLogZero);
            };
            const auto raise = [&](std::uint32_t slot, std::size_t j, double value) {
                if (value == kLogZero) return;
                touch(slot);
                double& at = rows[slot * wide + j];
                if (at < value) at = value;
            };
            for (std::size_t k = i + 1; k <= n; ++k) {
                check();
                if (k == i + 1)
                    each_word_rule([&](std::size_t t, std::uint32_t r) {
                        raise(slot_of(rules_[r].parent), k, space.word[i * n_terminals_ + t] + space.one_child[r]);
                    });
                complete(
                    n, i, k, values, space, [&](std::size_t slot, double score) { rows[slot * wide + k] += score; },
                    [&](std::uint32_t r) {
                        raise(slot_of(rules_[r].parent), k,
                              rows[slot_of(rules_[r].left) * wide + k] + space.one_child[r]);
                    });
                std::vector<std::uint32_t>& live = space.live[i * wide + k];
                live.clear();
                for (const std::uint32_t slot : touched) {
                    const double value = rows[slot * wide + k];
                    if (value == kLogZero) continue;
                    space.top[i * wide + k] = std::max(space.top[i * wide + k], value);
                    if (space.first_step[slot] < space.first_step[slot + 1]) live.push_back(slot);
                }
                for (const std::uint32_t slot : live)
                    each_step(space, slot, k, [&](const typename Space::Step& step) {
                        touch(step.parent);
                        const double left = rows[slot * wide + k], weight = step.weight;
                        double* __restrict to = rows + step.parent * wide;
                        const double* __restrict from = &space.best[(k * n_all_ + step.right) * wide];
                        for (std::size_t j = k + 1; j <= n; ++j) {
                            const double value = left + from[j] + weight;
                            to[j] = to[j] < value ? value : to[j];
                        }
                    });
            }
        }
        return values;
    }

    // The scores of rules where they are needed.
    const double* read(std::size_t n, const PartScores& scores, Space& space) const {
        const double *values = scores.masked(space.scores), *codes = values + rule_part(n, 0);
        const auto weight = [&](const GrammarRule& rule) { return rule.code == kNoPart ? 0.0 : codes[rule.code]; };
        space.steps.clear();
        space.first_step.assign(1, 0);
        for (std::size_t slot = 0; slot < n_all_; ++slot) {
            for (const std::uint32_t r : by_left_[n_all_ - 1 - slot])
                if (const GrammarRule& rule = rules_[r]; weight(rule) != kLogZero)
                    space.steps.push_back({slot_of(rule.right), slot_of(rule.parent), rule.code, weight(rule)});
            space.first_step.push_back(space.steps.size());
        }
        space.one_child.assign(rules_.size(), 0.0);
        for (std::size_t r = 0; r < rules_.size(); ++r)
            if (rules_[r].right == kNoSymbol) space.one_child[r] = weight(rules_[r]);
        return values;
    }

    // Weights as factors. False where numbers would leave the safe range: then nothing is known. What is 1e70 below the
    // best of its cell might be the only way further up; all that is above is found, since a product that vanishes is
    // below 1e-200.
    bool relative(std::size_t n, Space& space) const {
        const std::size_t wide = n + 1;
        bool safe = true;
        const auto exponentiate = [&](double& x) {
            safe = safe && (x == kLogZero || std::abs(x) < kSafe);
            x = std::exp(x);
        };
        for (typename Space::Step& step : space.steps) exponentiate(step.weight);
        for (double& weight : space.one_child) exponentiate(weight);
        for (std::size_t i = 0; i < n; ++i) {
            for (const std::uint32_t slot : space.touched[i])
                for (std::size_t j = i + 1; j <= n; ++j) {
                    const double value = space.best[(i * n_all_ + slot) * wide + j];
                    safe = safe && (value == kLogZero || value - space.top[i * wide + j] > -kSmallest);
                }
            for (std::size_t t = i * n_terminals_; t < (i + 1) * n_terminals_; ++t) exponentiate(space.word[t]);
        }
        return safe;
    }

    // What cells (i, k) and (k, j) together are relative to cell (i, j), for all j.
    void split_factors(std::size_t n, std::size_t i, std::size_t k, Space& space, bool& safe) const {
        const std::size_t wide = n + 1;
        space.factor.assign(wide, 0.0);
        for (std::size_t j = k + 1; j <= n; ++j) {
            const double whole = space.top[i * wide + j], rest = space.top[k * wide + j];
            if (whole == kLogZero || rest == kLogZero) continue;
            space.factor[j] = std::exp(space.top[i * wide + k] + rest - whole);
            safe = safe && space.factor[j] < 1e200;
        }
    }

    // Derivatives of log Z, from the whole sentence down; times the value, they are the probability of a node.
    void spread(std::size_t n, const double* values, double total, Space& space, double* expected) const {
        const std::size_t wide = n + 1;
        space.of.resize(n * n_all_ * wide);
        space.around.resize(n_all_ * wide);  // the derivatives without the score of the symbol itself
        for (std::size_t i = 0; i < n; ++i)
            for (const std::uint32_t slot : space.touched[i])
                std::fill_n(&space.of[(i * n_all_ + slot) * wide], wide, 0.0);
        for (const std::uint32_t start : starts_)
            if (space.has[slot_of(start)]) space.of[slot_of(start) * wide + n] += 1.0 / total;
        const auto met = [&](Part code, double p) {
            if (code != kNoPart) expected[rule_part(n, code)] += p;
        };
        InterruptCheck check;
        for (std::size_t i = 0; i < n; ++i) {
            const double* rows = &space.sum[i * n_all_ * wide];
            double *of = &space.of[i * n_all_ * wide], *around = &space.around[0];
            for (const std::uint32_t slot : space.touched[i]) std::fill_n(around + slot * wide, wide, 0.0);
            for (std::size_t k = n; k > i; --k) {
                check();
                if (space.top[i * wide + k] == kLogZero) continue;
                bool safe = true;
                split_factors(n, i, k, space, safe);
                for (const std::uint32_t slot : space.live[i * wide + k])
                    each_step(space, slot, k, [&](const typename Space::Step& step) {
                        const double* __restrict over = around + step.parent * wide, * __restrict factor =
                                                                                         space.factor.data();
                        const double* __restrict right = &space.sum[(k * n_all_ + step.right) * wide];
                        double* __restrict of_right = &space.of[(k * n_all_ + step.right) * wide];
                        const double left = rows[slot * wide + k] * step.weight;
                        double sum = 0.0;
                        for (std::size_t j = k + 1; j <= n; ++j) {
                            const double above = over[j] * factor[j];
                            sum += above * right[j];
                            of_right[j] += above * left;
                        }
                        of[slot * wide + k] += step.weight * sum;
                        met(step.code, left * sum);
                    });
                // The cell itself, parents before children.
                const auto own = [&](std::uint32_t slot) {
                    double g = of[slot * wide + k];
                    const std::size_t symbol = n_all_ - 1 - slot;
                    if (symbol < n_symbols_ && g != 0.0) {
                        const Part part = span_part(n, i, k, symbol);
                        expected[part] = g * rows[slot * wide + k];
                        if (values[part] != 0.0) g *= std::exp(values[part]);
                    }
                    around[slot * wide + k] = g;
                };
                std::size_t u = unary_.size();
                for (std::size_t c = chain_.size(); c-- > 0;) {
                    const std::uint32_t slot = chain_[c];
                    if (space.has[i * n_all_ + slot]) own(slot);
                    for (; u > 0 && slot_of(rules_[unary_[u - 1]].parent) == slot; --u) {
                        const std::uint32_t r = unary_[u - 1], left = slot_of(rules_[r].left);
                        if (!space.has[i * n_all_ + left] || !space.has[i * n_all_ + slot]) continue;
                        const double t = around[slot * wide + k] * space.one_child[r];
                        of[left * wide + k] += t;
                        met(rules_[r].code, t * rows[left * wide + k]);
                    }
                }
                for (const std::uint32_t slot : space.touched[i])
                    if (!chained_[slot]) own(slot);
                if (k > i + 1) continue;
                const double scaled = std::exp(-space.top[i * wide + k]);
                each_word_rule([&](std::size_t t, std::uint32_t r) {
                    const std::uint32_t slot = slot_of(rules_[r].parent);
                    if (!space.has[i * n_all_ + slot] || space.word[i * n_terminals_ + t] == 0.0) return;
                    const double p =
                        around[slot * wide + k] * space.one_child[r] * space.word[i * n_terminals_ + t] * scaled;
                    met(rules_[r].code, p);
                    expected[word_part(n, i, t)] += p;
                });
            }
        }
    }

    std::size_t n_symbols_, n_all_, n_terminals_, n_codes_;
    std::vector<std::uint32_t> starts_;
    std::vector<GrammarRule> rules_;
    std::vector<std::vector<std::uint32_t>> by_parent_, by_left_, by_terminal_;  // rules with two children, by the left
    std::vector<std::uint32_t> unary_;   // rules with one child that is no terminal, the highest parent first
    std::vector<std::uint32_t> chain_;   // the slots of their symbols, the highest symbol first
    std::vector<std::uint8_t> chained_;  // the same as flags
};

}  // namespace

std::unique_ptr<DerivationStructure> grammar_structure(GrammarTables tables) {
    return std::make_unique<DynamicProgram<GrammarFamily>>(GrammarFamily(std::move(tables)));
}

}  // namespace tw
