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
// Cells of spans hold a number for each symbol, the highest first, as nodes are numbered:
//     words of all positions | cell (n-1, n) | cell (n-2, n-1), cell (n-2, n) | ... | goal
// A cell is made from pairs of cells below it: for each symbol that is there on the left, its rules, by their left
// child. Sums run on fractions with a power of two for each cell; where numbers get too small, the recursions answer.
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

    struct Space {
        struct Step {  // a rule with two children, from its left one
            std::uint32_t right, parent;
            Part code;
            double weight;
        };
        std::vector<double> scores, in, of, here;
        std::vector<Step> steps;                       // by left child
        std::vector<std::size_t> first_step;           // of each slot
        std::vector<double> unary;                     // weights of rules with one child
        std::vector<std::vector<std::uint32_t>> live;  // slots of each cell that are left children and not zero
        std::vector<int> exponent;                     // of each cell
    };

    bool best(Shape shape, const PartScores& scores, Space& space, Answer& out) const {
        const std::vector<double> in = inside_best(shape, scores, space);
        out.score = in.back();
        out.parts.clear();
        const Program program = this->program(shape);
        if (out.score != kLogZero)
            hypergraph::trace(program, scores, in, hypergraph::PartsMet<Program>{program, out.parts});
        std::ranges::sort(out.parts);
        return true;
    }

    std::vector<double> inside_best(Shape shape, const PartScores& scores, Space& space) const {
        const std::size_t n = shape[0];
        const Program program = this->program(shape);
        const double* values = read(n, scores, space, [](double score) { return score; });
        std::vector<double> in(program.n_nodes(), kLogZero);
        std::copy_n(values + word_part(n, 0, 0), n * n_terminals_, in.begin());
        each_cell(n, [&](std::size_t i, std::size_t j) {
            double* cell = &in[program.cell(i, j)];
            const auto raise = [&](std::uint32_t slot, double value) {
                if (cell[slot] < value) cell[slot] = value;
            };
            for (std::size_t k = i + 1; k < j; ++k) {
                const double *left = &in[program.cell(i, k)], *right = &in[program.cell(k, j)];
                for (const std::uint32_t slot : space.live[number(program, i, k)])
                    for (std::size_t s = space.first_step[slot]; s < space.first_step[slot + 1]; ++s) {
                        const typename Space::Step& step = space.steps[s];
                        raise(step.parent, left[slot] + right[step.right] + step.weight);
                    }
            }
            if (j == i + 1)
                for (std::size_t t = 0; t < n_terminals_; ++t)
                    for (const std::uint32_t r : by_terminal_[t])
                        raise(slot_of(rules_[r].parent), in[i * n_terminals_ + t] + space.unary[r]);
            finish(
                n, i, j, cell, values, space.live[number(program, i, j)],
                [&](std::size_t u) {
                    raise(slot_of(rules_[u].parent), cell[slot_of(rules_[u].left)] + space.unary[u]);
                },
                [](double& value, double score) { value += score; }, kLogZero);
        });
        for (const std::uint32_t start : starts_)
            if (n > 0) in.back() = std::max(in.back(), in[program.node(0, n, start)]);
        return in;
    }

    bool sums(Shape shape, const PartScores& scores, Space& space, double& log_z, double* expected) const {
        const std::size_t n = shape[0];
        if (n == 0) return false;
        const Program program = this->program(shape);
        bool safe = true;
        const double* values = read(n, scores, space, [&](double score) {
            safe = safe && (score == kLogZero || std::abs(score) < kSafe);
            return std::exp(score);
        });
        std::vector<double>& in = space.in;
        in.assign(program.n_nodes(), 0.0);
        space.exponent.assign(n_spans(n), 0);
        double taken = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const double* word = values + word_part(n, i, 0);
            const double top = n_terminals_ == 0 ? kLogZero : *std::max_element(word, word + n_terminals_);
            if (top == kLogZero) continue;
            taken += top;
            for (std::size_t t = 0; t < n_terminals_; ++t) {
                safe = safe && (word[t] == kLogZero || word[t] - top > -kSafe);
                in[i * n_terminals_ + t] = std::exp(word[t] - top);
            }
        }
        if (!safe) return false;
        each_cell(n, [&](std::size_t i, std::size_t j) {
            if (!safe) return;
            double* cell = &in[program.cell(i, j)];
            int base = kNothing, &exponent = space.exponent[number(program, i, j)];
            for (std::size_t k = i + 1; k < j; ++k) base = std::max(base, exponents(program, space, i, k, j));
            for (std::size_t k = i + 1; k < j; ++k) {
                const int own = exponents(program, space, i, k, j);
                if (own == kNothing) continue;
                safe = safe && own - base > -100;
                const double *left = &in[program.cell(i, k)], *right = &in[program.cell(k, j)];
                const double factor = std::ldexp(1.0, own - base);
                for (const std::uint32_t slot : space.live[number(program, i, k)]) {
                    const double one = left[slot] * factor;
                    for (std::size_t s = space.first_step[slot]; s < space.first_step[slot + 1]; ++s) {
                        const typename Space::Step& step = space.steps[s];
                        cell[step.parent] += one * right[step.right] * step.weight;
                    }
                }
            }
            if (j == i + 1) {
                base = 0;
                for (std::size_t t = 0; t < n_terminals_; ++t)
                    for (const std::uint32_t r : by_terminal_[t])
                        cell[slot_of(rules_[r].parent)] += in[i * n_terminals_ + t] * space.unary[r];
            }
            exponent = base;
            const auto normalise = [&] {
                const double top = *std::max_element(cell, cell + n_all_);
                if (top == 0.0) return false;
                const int shift = std::ilogb(top);
                const double factor = std::ldexp(1.0, -shift);
                for (std::size_t slot = 0; slot < n_all_; ++slot) {
                    cell[slot] *= factor;
                    safe = safe && !(cell[slot] != 0.0 && cell[slot] < kSmallest);
                }
                exponent += shift;
                return true;
            };
            normalise();
            finish(
                n, i, j, cell, values, space.live[number(program, i, j)],
                [&](std::size_t u) {
                    const double child = cell[slot_of(rules_[u].left)];
                    safe = safe && !(child != 0.0 && child < kSmallest);
                    cell[slot_of(rules_[u].parent)] += child * space.unary[u];
                },
                [&](double& value, double score) {
                    safe = safe && (score == kLogZero || std::abs(score) < kSafe);
                    value *= std::exp(score);
                },
                0.0);
            if (!normalise()) exponent = kNothing;
        });
        if (!safe) return false;
        double total = 0.0;
        for (const std::uint32_t start : starts_) total += in[program.node(0, n, start)];
        log_z =
            total == 0.0 ? kLogZero : std::log(total) + space.exponent[number(program, 0, n)] * std::log(2.0) + taken;
        if (!expected) return true;
        std::fill_n(expected, rule_part(n, 0) + n_codes_, 0.0);
        if (total != 0.0) spread(program, values, total, space, expected);
        return true;
    }

private:
    // Products of two numbers of a cell, the weight of a rule and the factor of a split stay above 1e-200.
    static constexpr double kSmallest = 1e-70, kSafe = 69.0;  // e^69 = 1e30
    static constexpr int kNothing = -1000000000;

    std::uint32_t slot_of(std::size_t symbol) const { return static_cast<std::uint32_t>(n_all_ - 1 - symbol); }
    std::size_t number(const Program& program, std::size_t i, std::size_t j) const {  // of a cell
        return (program.cell(i, j) - program.n * n_terminals_) / n_all_;
    }
    int exponents(const Program& program, const Space& space, std::size_t i, std::size_t k, std::size_t j) const {
        const int left = space.exponent[number(program, i, k)], right = space.exponent[number(program, k, j)];
        return left == kNothing || right == kNothing ? kNothing : left + right;
    }

    template <class Work>
    void each_cell(std::size_t n, Work work) const {
        InterruptCheck check;
        for (std::size_t i = n; i-- > 0;)
            for (std::size_t j = i + 1; j <= n; ++j) {
                check();
                work(i, j);
            }
    }

    // Weights of rules, weigh(score), where they are needed; returns all scores, -inf where they are not allowed.
    template <class Weigh>
    const double* read(std::size_t n, const PartScores& scores, Space& space, Weigh weigh) const {
        const double *values = scores.masked(space.scores), *codes = values + rule_part(n, 0);
        const auto weight = [&](const GrammarRule& rule) {
            return weigh(rule.code == kNoPart ? 0.0 : codes[rule.code]);
        };
        space.steps.clear();
        space.first_step.assign(1, 0);
        for (std::size_t slot = 0; slot < n_all_; ++slot) {
            for (const std::uint32_t r : by_left_[n_all_ - 1 - slot])
                if (const GrammarRule& rule = rules_[r]; rule.code == kNoPart || codes[rule.code] != kLogZero)
                    space.steps.push_back({slot_of(rule.right), slot_of(rule.parent), rule.code, weight(rule)});
            space.first_step.push_back(space.steps.size());
        }
        space.unary.resize(rules_.size());
        for (std::size_t r = 0; r < rules_.size(); ++r)
            if (rules_[r].right == kNoSymbol) space.unary[r] = weight(rules_[r]);
        space.live.resize(std::max(space.live.size(), n_spans(n)));
        return values;
    }

    // What a cell still lacks once its splits are known: scores of its symbols and rules with one child, the highest
    // symbol first, so that children come before parents; and the list of those that go on from here.
    template <class One, class Score>
    void finish(std::size_t n, std::size_t i, std::size_t j, double* cell, const double* values,
                std::vector<std::uint32_t>& live, One one, Score score, double nothing) const {
        std::size_t u = 0;
        live.clear();
        for (std::size_t slot = 0; slot < n_all_; ++slot) {
            const std::size_t symbol = n_all_ - 1 - slot;
            for (; u < unary_.size() && rules_[unary_[u]].parent == symbol; ++u) one(unary_[u]);
            if (cell[slot] == nothing) continue;
            if (symbol < n_symbols_)
                if (const double own = values[span_part(n, i, j, symbol)]; own != 0.0) score(cell[slot], own);
            if (cell[slot] != nothing && !by_left_[symbol].empty()) live.push_back(static_cast<std::uint32_t>(slot));
        }
    }

    // Derivatives of log Z, from the goal down; times the value, they are the probability of a node.
    void spread(const Program& program, const double* values, double total, Space& space, double* expected) const {
        const std::size_t n = program.n;
        std::vector<double>&in = space.in, &of = space.of, &here = space.here;
        of.assign(program.n_nodes(), 0.0);
        here.resize(n_all_);
        for (const std::uint32_t start : starts_) of[program.node(0, n, start)] += 1.0 / total;
        const auto met = [&](Part code, double p) {
            if (code != kNoPart) expected[rule_part(n, code)] += p;
        };
        InterruptCheck check;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = n; j > i; --j) {
                check();
                const double* cell = &in[program.cell(i, j)];
                double* of_cell = &of[program.cell(i, j)];
                std::size_t u = unary_.size();
                const int exponent = space.exponent[number(program, i, j)];
                if (exponent == kNothing) continue;
                // The cell was scaled as a whole after its rules were added up: rules see the same factor on both
                // sides, but for words and splits.
                bool reached = false;
                for (std::size_t slot = n_all_; slot-- > 0;) {
                    const std::size_t symbol = n_all_ - 1 - slot;
                    double g = of_cell[slot];
                    if (symbol < n_symbols_ && g != 0.0) {
                        const Part part = span_part(n, i, j, symbol);
                        expected[part] += g * cell[slot];
                        if (values[part] != 0.0) g *= std::exp(values[part]);
                    }
                    here[slot] = g;
                    reached = reached || g != 0.0;
                    for (; u > 0 && rules_[unary_[u - 1]].parent == symbol; --u) {
                        const GrammarRule& rule = rules_[unary_[u - 1]];
                        const double t = g * space.unary[unary_[u - 1]];
                        of_cell[slot_of(rule.left)] += t;
                        met(rule.code, t * cell[slot_of(rule.left)]);
                    }
                }
                if (!reached) continue;
                if (j == i + 1) {
                    const double scaled = std::ldexp(1.0, -exponent);
                    for (std::size_t t = 0; t < n_terminals_; ++t)
                        for (const std::uint32_t r : by_terminal_[t]) {
                            const double p =
                                here[slot_of(rules_[r].parent)] * space.unary[r] * in[i * n_terminals_ + t];
                            met(rules_[r].code, p * scaled);
                            expected[word_part(n, i, t)] += p * scaled;
                        }
                }
                for (std::size_t k = i + 1; k < j; ++k) {
                    const int own = exponents(program, space, i, k, j);
                    if (own == kNothing) continue;
                    const double factor = std::ldexp(1.0, own - exponent);
                    const double *left = &in[program.cell(i, k)], *right = &in[program.cell(k, j)];
                    double *of_left = &of[program.cell(i, k)], *of_right = &of[program.cell(k, j)];
                    for (const std::uint32_t slot : space.live[number(program, i, k)]) {
                        double sum = 0.0;
                        for (std::size_t s = space.first_step[slot]; s < space.first_step[slot + 1]; ++s) {
                            const typename Space::Step& step = space.steps[s];
                            if (here[step.parent] == 0.0 || right[step.right] == 0.0) continue;
                            const double t = here[step.parent] * step.weight * factor;
                            sum += t * right[step.right];
                            of_right[step.right] += t * left[slot];
                            met(step.code, t * left[slot] * right[step.right]);
                        }
                        of_left[slot] += sum;
                    }
                }
            }
    }

    std::size_t n_symbols_, n_all_, n_terminals_, n_codes_;
    std::vector<std::uint32_t> starts_;
    std::vector<GrammarRule> rules_;
    std::vector<std::vector<std::uint32_t>> by_parent_, by_left_, by_terminal_;  // rules with two children, by the left
    std::vector<std::uint32_t> unary_;  // rules with one child that is no terminal, the highest parent first
};

}  // namespace

std::unique_ptr<DerivationStructure> grammar_structure(GrammarTables tables) {
    return std::make_unique<DynamicProgram<GrammarFamily>>(GrammarFamily(std::move(tables)));
}

}  // namespace tw
