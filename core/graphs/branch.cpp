#include "branch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace tw::graphs {
namespace {

using Form = LaidFactor::Form;

// A part of a graph that hangs together, with the variables that are decided put into its factors.
struct Piece {
    Graph graph;
    std::vector<double> scores;
    std::vector<std::uint32_t> variables;            // theirs in the whole
    std::vector<std::vector<std::uint32_t>> labels;  // of each: those that are left
};

using LabelsLeft = std::vector<std::vector<std::uint32_t>>;  // of variables

LabelsLeft labels_left(const Layout& layout, const Reweighted& dual) {
    LabelsLeft left(layout.n_variables());
    for (std::uint32_t v = 0; v < layout.n_variables(); ++v)
        for (std::uint32_t x = 0; x < layout.n_labels(v); ++x)
            if (dual.alive(v, x)) left[v].push_back(x);
    return left;
}

class Reduction {
public:
    Reduction(const Layout& layout, LabelsLeft left)
        : layout_(layout), left_(std::move(left)), constant(layout.constant) {
        for (std::uint32_t v = 0; v < layout.n_variables(); ++v)
            if (left_[v].size() == 1) constant += layout.unary[layout.label_at[v] + left_[v][0]];
        group();
        for (const LaidFactor& f : layout.factors) feasible = feasible && put(f);
        // Scores of variables are kept apart from tables until all are known.
        for (std::size_t p = 0; p < pieces.size(); ++p) finish(p);
    }

    std::uint32_t decided(std::uint32_t v) const { return left_[v][0]; }

private:
    const Layout& layout_;
    const LabelsLeft left_;
    std::vector<std::uint32_t> piece_of_, number_;  // of variables
    std::vector<std::vector<double>> unary_;        // of pieces

public:
    std::vector<Piece> pieces;
    double constant;
    bool feasible = true;

private:
    bool open(std::uint32_t v) const { return left_[v].size() > 1; }

    void group() {
        const std::size_t n = layout_.n_variables();
        std::vector<std::uint32_t> root(n);
        std::iota(root.begin(), root.end(), 0u);
        const auto find = [&](std::uint32_t v) {
            while (root[v] != v) v = root[v] = root[root[v]];
            return v;
        };
        for (const LaidFactor& f : layout_.factors) {
            std::uint32_t before = kFree;
            for (const Slot& slot : layout_.slots_of_factor(f)) {
                if (!open(slot.variable)) continue;
                if (before != kFree) root[find(before)] = find(slot.variable);
                before = slot.variable;
            }
        }
        piece_of_.assign(n, kFree);
        number_.assign(n, kFree);
        std::vector<std::uint32_t> piece_of_root(n, kFree);
        for (std::uint32_t v = 0; v < n; ++v) {
            if (!open(v)) continue;
            std::uint32_t& p = piece_of_root[find(v)];
            if (p == kFree) {
                p = static_cast<std::uint32_t>(pieces.size());
                pieces.emplace_back();
                unary_.emplace_back();
            }
            Piece& piece = pieces[p];
            piece_of_[v] = p;
            number_[v] = static_cast<std::uint32_t>(piece.variables.size());
            piece.variables.push_back(v);
            piece.labels.push_back(left_[v]);
            piece.graph.n_labels.push_back(static_cast<std::uint32_t>(left_[v].size()));
            piece.graph.unary_at.push_back(unary_[p].size());
            for (const std::uint32_t x : left_[v]) unary_[p].push_back(layout_.unary[layout_.label_at[v] + x]);
        }
    }

    bool put(const LaidFactor& f) {
        std::vector<std::uint32_t> open_ones;
        for (const Slot& slot : layout_.slots_of_factor(f))
            if (open(slot.variable)) open_ones.push_back(slot.variable);
        return f.form == Form::kCount ? put_count(f, open_ones) : put_table(f, open_ones);
    }

    bool put_table(const LaidFactor& f, const std::vector<std::uint32_t>& open_ones) {
        const auto mine = layout_.slots_of_factor(f);
        std::vector<std::uint32_t> sizes(mine.size()), free(mine.size(), kFree);
        std::vector<double> table;
        for (std::size_t i = 0; i < mine.size(); ++i)
            sizes[i] = static_cast<std::uint32_t>(left_[mine[i].variable].size());
        Labellings all(sizes, free);
        do {
            std::size_t entry = 0;
            for (std::size_t i = 0; i < mine.size(); ++i)
                entry = entry * layout_.n_labels(mine[i].variable) + left_[mine[i].variable][all.labels()[i]];
            table.push_back(f.table[entry]);
        } while (all.next());
        if (open_ones.empty()) {
            constant += table[0];
            return table[0] != kLogZero;
        }
        Piece& piece = pieces[piece_of_[open_ones[0]]];
        if (open_ones.size() == 1) {
            double* const to = unary_[piece_of_[open_ones[0]]].data() + piece.graph.unary_at[number_[open_ones[0]]];
            for (std::size_t x = 0; x < table.size(); ++x) to[x] += table[x];
            return true;
        }
        Factor factor;
        for (const std::uint32_t v : open_ones) factor.variables.push_back(number_[v]);
        factor.at = piece.scores.size();
        piece.scores.insert(piece.scores.end(), table.begin(), table.end());
        piece.graph.factors.push_back(std::move(factor));
        return true;
    }

    bool put_count(const LaidFactor& f, const std::vector<std::uint32_t>& open_ones) {
        std::size_t already = 0;
        Factor factor;
        for (const Slot& slot : layout_.slots_of_factor(f)) {
            const auto& left = left_[slot.variable];
            if (!open(slot.variable)) {
                already += layout_.counts[slot.at + left[0]];
                continue;
            }
            for (std::uint32_t i = 0; i < left.size(); ++i)
                if (layout_.counts[slot.at + left[i]]) factor.literals.push_back({number_[slot.variable], i});
        }
        if (already > f.most) return false;
        if (f.source->kind == Factor::Kind::kOr) {
            if (already > 0) return true;
            factor.kind = Factor::Kind::kOr;
        } else if (f.source->kind == Factor::Kind::kXor && already == 0) {
            factor.kind = Factor::Kind::kXor;
        } else {
            factor.kind = Factor::Kind::kAtMost;
            factor.most = f.most - already;
        }
        if (factor.literals.empty()) return factor.kind == Factor::Kind::kAtMost;
        pieces[piece_of_[open_ones[0]]].graph.factors.push_back(std::move(factor));
        return true;
    }

    void finish(std::size_t p) {
        Piece& piece = pieces[p];
        const std::size_t shift = unary_[p].size();
        for (Factor& factor : piece.graph.factors) factor.at += shift;
        piece.scores.insert(piece.scores.begin(), unary_[p].begin(), unary_[p].end());
        piece.graph.n_scores = piece.scores.size();
    }
};

// What a factor or a variable has less than its best where it has these labels: where the gap comes from.
double loss_at(const Layout& layout, const Reweighted& dual, const LaidFactor& f,
               std::span<const std::uint32_t> labels) {
    if (f.form == Form::kCount) return 0.0;
    std::size_t entry = 0;
    double total = 0.0;
    for (const Slot& slot : layout.slots_of_factor(f)) {
        entry = entry * layout.n_labels(slot.variable) + labels[slot.variable];
        total += dual.given[slot.at + labels[slot.variable]];
    }
    return -(total + f.table[entry]);
}

struct Choice {
    std::uint32_t variable = kFree, label = 0;
};

// The variable around which a labelling loses most against the bound.
Choice choose(const Layout& layout, const Reweighted& dual, std::span<const std::uint32_t> labels) {
    std::vector<double> loss(layout.n_variables(), 0.0);
    for (const LaidFactor& f : layout.factors) {
        const double lost = loss_at(layout, dual, f, labels);
        for (const Slot& slot : layout.slots_of_factor(f))
            loss[slot.variable] += std::isfinite(lost) ? lost : layout.scale;
    }
    Choice choice;
    double most = -1.0;
    for (std::uint32_t v = 0; v < layout.n_variables(); ++v) {
        double best = kLogZero, second = kLogZero;
        std::uint32_t at = 0;
        for (std::uint32_t x = 0; x < layout.n_labels(v); ++x) {
            if (!dual.alive(v, x)) continue;
            const double b = dual.below()[layout.label_at[v] + x];
            if (b > best) {
                second = best;
                best = b;
                at = x;
            } else {
                second = std::max(second, b);
            }
        }
        if (second == kLogZero) continue;
        const double worth = loss[v] + 1e-9 / (1.0 + best - second);
        if (worth > most) {
            most = worth;
            choice = {v, dual.alive(v, labels[v]) ? labels[v] : at};
        }
    }
    return choice;
}

class Tree {
public:
    Tree(const Layout& layout, Labelling& best, std::size_t passes, const Deadline& deadline)
        : layout_(layout), best_(best), passes_left_(passes), deadline_(deadline), dual_(layout) {}

    double run() {
        constexpr std::size_t kMostMemory = std::size_t{1} << 28;
        const std::size_t most_nodes =
            std::max<std::size_t>(16, kMostMemory / (sizeof(double) * (1 + dual_.unary.size() + dual_.given.size())));
        std::optional<Choice> split = visit();
        while (true) {
            if (split && (nodes_.size() >= most_nodes || passes_left_ == 0 || deadline_.passed())) {
                // What is left is bounded by the node at hand and those that wait.
                double bound = std::max(best_.score, dual_.bound());
                for (const Node& node : nodes_) bound = std::max(bound, node.bound);
                return bound;
            }
            if (split) {
                nodes_.push_back({dual_.unary, dual_.given, dual_.bound(), *split});
                for (std::uint32_t x = 0; x < layout_.n_labels(split->variable); ++x)
                    if (x != split->label && dual_.alive(split->variable, x)) dual_.take_out(split->variable, x);
                split = visit();
                continue;
            }
            while (!nodes_.empty() && closed(layout_, nodes_.back().bound, best_.score)) nodes_.pop_back();
            if (nodes_.empty()) return best_.score;
            Node& node = nodes_.back();
            dual_.restore(std::move(node.unary), std::move(node.given), node.bound);
            dual_.take_out(node.choice.variable, node.choice.label);
            nodes_.pop_back();
            split = visit();
        }
    }

    std::size_t passes_left() const { return passes_left_; }

private:
    struct Node {
        std::vector<double> unary, given;
        double bound;
        Choice choice;
    };

    // Passes from where the dual is; nothing where that closes the node, else where to split it.
    std::optional<Choice> visit() {
        constexpr std::size_t kMostPasses = 20;
        constexpr double kLeastProgress = 0.03;
        bool forward = false, all = true;
        for (std::size_t i = 0; i < kMostPasses; ++i) {
            const double before = dual_.bound();
            if (passes_left_ > 0) --passes_left_;
            if (!dual_.pass(forward, all, best_.score)) return std::nullopt;
            forward = !forward;
            all = false;
            if (forward) {
                read_off(true);
                if (closed(layout_, dual_.bound(), best_.score)) return std::nullopt;
            }
            if (deadline_.passed()) break;
            if (i >= 3 && forward && before - dual_.bound() < kLeastProgress * (dual_.bound() - best_.score)) break;
        }
        if (!forward) {
            if (!dual_.pass(false, false, best_.score)) return std::nullopt;
            read_off(true);
            if (closed(layout_, dual_.bound(), best_.score)) return std::nullopt;
        }
        const Choice choice = choose(layout_, dual_, tried_.labels);
        if (choice.variable == kFree) return std::nullopt;  // one labelling is left, and it was read off
        return choice;
    }

    void read_off(bool forward) {
        tried_.labels.assign(layout_.n_variables(), kFree);
        const bool whole = dual_.round(forward, tried_.labels);
        if (!whole) {
            for (std::uint32_t v = 0; v < layout_.n_variables(); ++v)
                for (std::uint32_t x = 0; tried_.labels[v] == kFree; ++x)
                    if (dual_.alive(v, x)) tried_.labels[v] = x;
        }
        tried_.score = layout_.score(tried_.labels);
        if (tried_.score == kLogZero) return;
        Labelling moved = tried_;
        improve(layout_, moved);
        if (best_.labels.empty() || moved.score > best_.score) best_ = std::move(moved);
    }

    const Layout& layout_;
    Labelling& best_;
    std::size_t passes_left_;
    const Deadline& deadline_;
    Reweighted dual_;
    std::vector<Node> nodes_;
    Labelling tried_;
};

struct Joined {
    double bound = kLogZero;
    std::size_t passes = 0;
};

// The best labelling of those that are left, piece by piece; `best` becomes it where that is better. The bound is of
// what is left alone.
Joined solve_pieces(const Layout& layout, LabelsLeft labels_left, Labelling& best, std::size_t passes,
                    const Deadline& deadline) {
    const Reduction reduced(layout, std::move(labels_left));
    if (!reduced.feasible) return {};
    // The best labelling as it is in the pieces, where all its labels are left.
    double bound = reduced.constant;
    Labelling joined{std::vector<std::uint32_t>(layout.n_variables(), 0), 0.0};
    bool whole = true;
    for (std::uint32_t v = 0; v < layout.n_variables(); ++v) joined.labels[v] = reduced.decided(v);
    std::size_t left = passes;
    for (const Piece& piece : reduced.pieces) {
        const Layout part(piece.graph, piece.scores);
        Labelling found;
        if (!best.labels.empty()) {
            for (std::size_t i = 0; i < piece.variables.size(); ++i) {
                const auto at = std::ranges::find(piece.labels[i], best.labels[piece.variables[i]]);
                if (at == piece.labels[i].end()) break;
                found.labels.push_back(static_cast<std::uint32_t>(at - piece.labels[i].begin()));
            }
            if (found.labels.size() == piece.variables.size()) found.score = part.score(found.labels);
            if (found.score == kLogZero) found.labels.clear();
        }
        Tree tree(part, found, left, deadline);
        bound += tree.run();
        left = tree.passes_left();
        whole = whole && !found.labels.empty();
        for (std::size_t i = 0; whole && i < piece.variables.size(); ++i)
            joined.labels[piece.variables[i]] = piece.labels[i][found.labels[i]];
        if (bound == kLogZero) break;  // nothing above the best is left
    }
    if (whole) {
        joined.score = layout.score(joined.labels);
        if (joined.score != kLogZero && (best.labels.empty() || joined.score > best.score)) best = joined;
    }
    return {bound, passes - left};
}

// Blocks of variables that are near each other, and the graphs they are.
class Blocks {
public:
    explicit Blocks(const Layout& layout)
        : layout_(layout), number_(layout.n_variables(), kFree), seen_(layout.factors.size(), 0) {}

    // The variables nearest to one, up to a number of them; those that have a block already are not taken.
    std::vector<std::uint32_t> around(std::uint32_t seed, std::size_t size, std::span<const std::uint32_t> block_of) {
        std::vector<std::uint32_t> block{seed};
        number_[seed] = 0;
        for (std::size_t i = 0; i < block.size() && block.size() < size; ++i)
            for (const std::uint32_t s : layout_.slots_at(block[i]))
                for (const Slot& slot : layout_.slots_of_factor(layout_.factors[layout_.slots[s].factor])) {
                    const std::uint32_t v = slot.variable;
                    if (number_[v] != kFree || block.size() >= size) continue;
                    if (!block_of.empty() && block_of[v] != kFree) continue;
                    number_[v] = 0;
                    block.push_back(v);
                }
        for (const std::uint32_t v : block) number_[v] = kFree;
        return block;
    }

    // The block with the factors that are in it alone, and with these scores of its labels.
    Piece alone(std::span<const std::uint32_t> block, std::span<const double> unary) { return piece(block, unary, {}); }

    // The block given the labels of all other variables.
    Piece among(std::span<const std::uint32_t> block, std::span<const std::uint32_t> labels) {
        return piece(block, layout_.unary, labels);
    }

private:
    Piece piece(std::span<const std::uint32_t> block, std::span<const double> unary,
                std::span<const std::uint32_t> others) {
        Piece out;
        for (const std::uint32_t v : block) {
            number_[v] = static_cast<std::uint32_t>(out.graph.n_labels.size());
            out.graph.n_labels.push_back(layout_.graph.n_labels[v]);
            out.graph.unary_at.push_back(out.scores.size());
            const auto own = unary.subspan(layout_.label_at[v], layout_.n_labels(v));
            out.scores.insert(out.scores.end(), own.begin(), own.end());
        }
        ++round_;
        for (const std::uint32_t v : block)
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const std::uint32_t f = layout_.slots[s].factor;
                if (seen_[f] != round_) put(layout_.factors[f], others, out);
                seen_[f] = round_;
            }
        out.graph.n_scores = out.scores.size();
        for (const std::uint32_t v : block) number_[v] = kFree;
        return out;
    }

    void put(const LaidFactor& f, std::span<const std::uint32_t> others, Piece& out) const {
        const auto mine = layout_.slots_of_factor(f);
        std::vector<std::uint32_t> sizes(mine.size()), fixed(mine.size(), kFree);
        Factor factor;
        std::size_t already = 0;
        for (std::size_t i = 0; i < mine.size(); ++i) {
            const std::uint32_t v = mine[i].variable;
            sizes[i] = layout_.graph.n_labels[v];
            if (number_[v] != kFree) {
                factor.variables.push_back(number_[v]);
            } else if (others.empty()) {
                return;  // between blocks
            } else {
                fixed[i] = others[v];
                already += f.form == Form::kCount && layout_.counts[mine[i].at + others[v]];
            }
        }
        if (f.form == Form::kCount) return put_count(f, already, out);
        factor.at = out.scores.size();
        Labellings all(std::move(sizes), std::move(fixed));
        do {
            std::size_t entry = 0;
            for (std::size_t i = 0; i < mine.size(); ++i)
                entry = entry * layout_.n_labels(mine[i].variable) + all.labels()[i];
            out.scores.push_back(f.table[entry]);
        } while (all.next());
        out.graph.factors.push_back(std::move(factor));
    }

    void put_count(const LaidFactor& f, std::size_t already, Piece& out) const {
        Factor factor;
        for (const Literal& literal : f.source->literals)
            if (number_[literal.variable] != kFree)
                factor.literals.push_back({number_[literal.variable], literal.label});
        if (f.source->kind == Factor::Kind::kOr && already > 0) return;
        factor.kind = already > 0 ? Factor::Kind::kAtMost : f.source->kind;
        factor.most = f.most - std::min(already, f.most);
        out.graph.factors.push_back(std::move(factor));
    }

    const Layout& layout_;
    std::vector<std::uint32_t> number_;  // of variables, in the block at hand
    std::vector<std::uint32_t> seen_;    // of factors: in which round
    std::uint32_t round_ = 0;
};

}  // namespace

Branched branch(const Layout& layout, const Reweighted& dual, Labelling& best, std::size_t passes,
                const Deadline& deadline) {
    Branched out{best.score, 0};
    if (closed(layout, dual.bound(), best.score)) return out;
    const Joined joined = solve_pieces(layout, labels_left(layout, dual), best, passes, deadline);
    out.passes = joined.passes;
    out.bound = std::max(best.score, std::min(joined.bound, dual.bound()));
    return out;
}

void improve_by_blocks(const Layout& layout, Labelling& best, std::size_t size, std::size_t passes,
                       const Deadline& deadline) {
    const std::size_t n = layout.n_variables();
    if (best.labels.empty() || n == 0) return;
    Blocks blocks(layout);
    // Blocks around variables in turn, a step apart, so that every one is in several.
    std::size_t unchanged = 0;
    const std::size_t step = std::max<std::size_t>(1, size / 3), n_blocks = (n + step - 1) / step;
    for (std::size_t i = 0; unchanged < n_blocks && i < 4 * n_blocks && !deadline.passed(); ++i) {
        const std::vector<std::uint32_t> block = blocks.around(layout.order[(i * step) % n], size, {});
        const Piece piece = blocks.among(block, best.labels);
        const Layout part(piece.graph, piece.scores);
        Labelling found;
        for (const std::uint32_t v : block) found.labels.push_back(best.labels[v]);
        found.score = part.score(found.labels);
        const double before = found.score;
        Tree(part, found, passes, deadline).run();
        ++unchanged;
        if (!(found.score > before + layout.slack())) continue;
        unchanged = 0;
        for (std::size_t k = 0; k < block.size(); ++k) best.labels[block[k]] = found.labels[k];
    }
    best.score = layout.score(best.labels);
}

double bound_by_blocks(const Layout& layout, const Reweighted& dual, const Labelling& best, std::size_t size,
                       std::size_t passes, const Deadline& deadline) {
    Blocks blocks(layout);
    std::vector<std::uint32_t> block_of(layout.n_variables(), kFree);
    std::vector<std::vector<std::uint32_t>> members;
    for (const std::uint32_t seed : layout.order) {
        if (block_of[seed] != kFree) continue;
        members.push_back(blocks.around(seed, size, block_of));
        for (const std::uint32_t v : members.back()) block_of[v] = static_cast<std::uint32_t>(members.size() - 1);
    }
    // Factors between blocks are worth their best with what they were given; the blocks have the rest.
    CompensatedSum bound;
    bound.add(layout.constant);
    std::vector<double> unary = dual.unary;
    for (const LaidFactor& f : layout.factors) {
        const auto mine = layout.slots_of_factor(f);
        const std::uint32_t home = block_of[mine[0].variable];
        if (std::ranges::all_of(mine, [&](const Slot& slot) { return block_of[slot.variable] == home; })) continue;
        const double most = layout.best_of(f, dual.given.data());
        if (most == kLogZero) return kLogZero;
        bound.add(most);
        for (const Slot& slot : mine) {
            double* const own = unary.data() + layout.label_at[slot.variable];
            for (std::size_t x = 0; x < layout.n_labels(slot.variable); ++x)
                if (own[x] != kLogZero) own[x] -= dual.given[slot.at + x];
        }
    }
    for (const std::vector<std::uint32_t>& block : members) {
        const Piece piece = blocks.alone(block, unary);
        const Layout part(piece.graph, piece.scores);
        Labelling found;
        if (!best.labels.empty()) {
            for (const std::uint32_t v : block) found.labels.push_back(best.labels[v]);
            found.score = part.score(found.labels);
            if (found.score == kLogZero) found.labels.clear();
        }
        const double most = Tree(part, found, deadline.passed() ? 1 : passes, deadline).run();
        if (most == kLogZero) return kLogZero;
        bound.add(most);
    }
    return bound.value();
}

}  // namespace tw::graphs
