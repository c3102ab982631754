#include "layout.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "pair_kernels.hpp"

namespace tw::graphs {

namespace {

using Form = LaidFactor::Form;

// The variables of literals, each once, in the order of their first occurrence.
std::vector<std::uint32_t> variables_of(const Factor& factor) {
    if (factor.kind == Factor::Kind::kTable) return factor.variables;
    std::vector<std::uint32_t> out;
    for (const Literal& literal : factor.literals)
        if (literal.variable != kNoVariable) out.push_back(literal.variable);
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// Whether a square table has one score where labels agree and another where they do not.
bool is_potts(const double* table, std::size_t K) {
    const double same = table[0], other = table[1];
    if (!std::isfinite(same) || !std::isfinite(other)) return false;
    for (std::size_t a = 0; a < K; ++a)
        for (std::size_t b = 0; b < K; ++b)
            if (table[a * K + b] != (a == b ? same : other)) return false;
    return true;
}

double largest(std::span<const double> values) {
    double out = 0.0;
    for (const double x : values)
        if (x != kLogZero) out = std::max(out, std::abs(x));
    return out;
}

}  // namespace

Layout::Layout(const Graph& of, std::span<const double> with) : graph(of), scores(with) {
    const std::size_t n = graph.n_variables();
    label_at.assign(n + 1, 0);
    for (std::size_t v = 0; v < n; ++v) {
        label_at[v + 1] = label_at[v] + graph.n_labels[v];
        most_labels = std::max<std::size_t>(most_labels, graph.n_labels[v]);
    }
    unary.resize(label_at[n]);
    for (std::size_t v = 0; v < n; ++v) {
        const auto from = scores.subspan(graph.unary_at[v], graph.n_labels[v]);
        std::ranges::copy(from, unary.begin() + static_cast<std::ptrdiff_t>(label_at[v]));
        scale += largest(from);
    }
    factors.reserve(graph.factors.size());
    for (const Factor& factor : graph.factors) lay_factor(factor);
    counts.resize(n_given, 0);
    for (const LaidFactor& f : factors) {
        if (f.form != Form::kCount) continue;
        for (const Literal& literal : f.source->literals)
            for (const Slot& slot : slots_of_factor(f))
                if (slot.variable == literal.variable) counts[slot.at + literal.label] = 1;
    }
    slots_of_at.assign(n + 1, 0);
    for (const Slot& slot : slots) ++slots_of_at[slot.variable + 1];
    for (std::size_t v = 0; v < n; ++v) slots_of_at[v + 1] += slots_of_at[v];
    slots_of.resize(slots.size());
    std::vector<std::uint32_t> next(slots_of_at.begin(), slots_of_at.end() - 1);
    for (std::uint32_t s = 0; s < slots.size(); ++s) slots_of[next[slots[s].variable]++] = s;
    find_components();
    choose_order();
}

void Layout::lay_factor(const Factor& factor) {
    using Kind = Factor::Kind;
    const std::vector<std::uint32_t> variables = variables_of(factor);
    LaidFactor f{};
    f.source = &factor;
    f.slots_at = static_cast<std::uint32_t>(slots.size());
    f.n_slots = static_cast<std::uint32_t>(variables.size());
    switch (factor.kind) {
        case Kind::kTable: {
            f.table = scores.data() + factor.at;
            f.entries = 1;
            for (const std::uint32_t v : variables) f.entries *= graph.n_labels[v];
            scale += largest({f.table, f.entries});
            if (variables.empty()) {
                constant += f.table[0];
                return;
            }
            f.form = variables.size() == 2 ? Form::kPair : Form::kTable;
            const std::size_t K = graph.n_labels[variables[0]];
            if (f.form == Form::kPair && K >= 4 && K == graph.n_labels[variables[1]] && is_potts(f.table, K)) {
                f.form = Form::kPotts;
                f.same = f.table[0];
                f.other = f.table[1];
            }
            break;
        }
        case Kind::kXor:
        case Kind::kOr:
        case Kind::kAtMost: {
            f.form = Form::kCount;
            f.least = factor.kind == Kind::kAtMost ? 0 : 1;
            f.most = factor.kind == Kind::kXor ? 1 : factor.kind == Kind::kOr ? variables.size() : factor.most;
            f.most = std::min<std::size_t>(f.most, variables.size());
            // Where all may be true, counts beyond the least are one.
            f.states = (f.most == variables.size() ? f.least : f.most) + 1;
            if (variables.empty()) {
                if (f.least > 0) constant = kLogZero;
                return;
            }
            break;
        }
        case Kind::kStructure:
            f.form = Form::kStructure;
            f.table = scores.data() + factor.at;
            f.entries = factor.literals.size();
            scale += largest({f.table, f.entries});
            has_structures = true;
            break;
    }
    for (std::uint32_t place = 0; place < variables.size(); ++place) {
        slots.push_back({variables[place], static_cast<std::uint32_t>(factors.size()), place, n_given, false, false});
        n_given += graph.n_labels[variables[place]];
    }
    factors.push_back(f);
}

void Layout::find_components() {
    const std::size_t n = n_variables();
    component.assign(n, kFree);
    std::vector<std::uint8_t> seen(factors.size(), 0);
    std::vector<std::uint32_t> reached;
    std::uint32_t n_components = 0;
    for (std::uint32_t root = 0; root < n; ++root) {
        if (component[root] != kFree) continue;
        // A connected bipartite graph has no cycle if and only if it has one edge less than nodes.
        std::size_t n_nodes = 0, n_edges = 0;
        const auto reach = [&](std::uint32_t v) {
            component[v] = n_components;
            reached.push_back(v);
            ++n_nodes;
        };
        reached.clear();
        reach(root);
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for (const std::uint32_t s : slots_at(reached[i])) {
                const std::uint32_t f = slots[s].factor;
                if (seen[f]) continue;
                seen[f] = 1;
                ++n_nodes;
                n_edges += factors[f].n_slots;
                for (const Slot& slot : slots_of_factor(factors[f]))
                    if (component[slot.variable] == kFree) reach(slot.variable);
            }
        }
        acyclic.push_back(n_edges + 1 == n_nodes);
        if (acyclic.back()) {
            order.insert(order.end(), reached.begin(), reached.end());
        } else {
            std::ranges::sort(reached);
            order.insert(order.end(), reached.begin(), reached.end());
        }
        ++n_components;
    }
}

void Layout::choose_order() {
    std::vector<std::uint32_t> rank(n_variables());
    for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    for (const LaidFactor& f : factors) {
        if (f.n_slots == 0) continue;
        const auto by_rank = [&](const Slot& a, const Slot& b) { return rank[a.variable] < rank[b.variable]; };
        const auto begin = slots.begin() + f.slots_at, end = begin + f.n_slots;
        std::min_element(begin, end, by_rank)->first = true;
        std::max_element(begin, end, by_rank)->last = true;
    }
}

bool Layout::all_acyclic() const {
    return std::ranges::all_of(acyclic, [](std::uint8_t a) { return a != 0; });
}

double Layout::score(std::span<const std::uint32_t> labels) const {
    if (has_structures) return graph.score(scores, labels);
    CompensatedSum total;
    total.add(constant);
    for (std::uint32_t v = 0; v < n_variables(); ++v) total.add(unary[label_at[v] + labels[v]]);
    for (const LaidFactor& f : factors) {
        const auto mine = slots_of_factor(f);
        if (f.form == Form::kCount) {
            std::size_t n_true = 0;
            for (const Slot& slot : mine) n_true += counts[slot.at + labels[slot.variable]];
            if (n_true < f.least || n_true > f.most) return kLogZero;
            continue;
        }
        std::size_t entry = 0;
        for (const Slot& slot : mine) entry = entry * n_labels(slot.variable) + labels[slot.variable];
        total.add(f.table[entry]);
    }
    const double sum = total.value();
    return std::isfinite(sum) ? sum : kLogZero;  // -inf added up with its rounding is not a number
}

void Layout::best_message(const Slot& slot, const double* given, double* out, const std::uint32_t* fixed) const {
    const LaidFactor& f = factors[slot.factor];
    switch (f.form) {
        case Form::kPair:
        case Form::kPotts: {
            const Slot& other = slots[f.slots_at + 1 - slot.place];
            return pair_message(f, slot.place, given + other.at, out, fixed ? fixed[other.variable] : kFree);
        }
        case Form::kTable:
            return table_message(f, slot.place, given, out, fixed);
        case Form::kCount:
            return count_message(f, slot.place, given, out, fixed);
        case Form::kStructure:
            break;
    }
    std::fill(out, out + n_labels(slot.variable), 0.0);
}

void Layout::pair_message(const LaidFactor& f, std::uint32_t place, const double* other, double* out,
                          std::uint32_t fixed) const {
    const std::size_t rows = n_labels(slots[f.slots_at].variable), columns = n_labels(slots[f.slots_at + 1].variable);
    if (fixed != kFree) {
        if (place == 1)
            std::copy(f.table + fixed * columns, f.table + (fixed + 1) * columns, out);
        else
            for (std::size_t a = 0; a < rows; ++a) out[a] = f.table[a * columns + fixed];
        return;
    }
    if (f.form != Form::kPotts) return through_table<MaxStep>(f.table, rows, columns, place == 0, other, out);
    double best = kLogZero, second = kLogZero;
    std::size_t at = 0;
    for (std::size_t k = 0; k < rows; ++k) {
        if (other[k] > best) {
            second = best;
            best = other[k];
            at = k;
        } else if (other[k] > second) {
            second = other[k];
        }
    }
    const double rest = best + f.other;
    for (std::size_t k = 0; k < rows; ++k) out[k] = std::max(rest, other[k] + f.same);
    if (f.other > f.same) out[at] = std::max(second + f.other, best + f.same);
}

void Layout::table_message(const LaidFactor& f, std::uint32_t place, const double* given, double* out,
                           const std::uint32_t* fixed) const {
    const auto mine = slots_of_factor(f);
    const Slot& inner = mine.back();
    const std::size_t K = n_labels(inner.variable);
    std::vector<std::uint32_t> n, held;
    for (const Slot& slot : mine.first(mine.size() - 1)) {
        n.push_back(graph.n_labels[slot.variable]);
        held.push_back(fixed && slot.place != place ? fixed[slot.variable] : kFree);
    }
    const std::uint32_t last = fixed && inner.place != place ? fixed[inner.variable] : kFree;
    std::fill(out, out + n_labels(mine[place].variable), kLogZero);
    Labellings outer(std::move(n), std::move(held));
    do {
        double base = 0.0;
        std::size_t row = 0;
        for (std::size_t i = 0; i + 1 < mine.size(); ++i) {
            const std::uint32_t x = outer.labels()[i];
            row = row * n_labels(mine[i].variable) + x;
            if (i != place && !(fixed && fixed[mine[i].variable] != kFree)) base += given[mine[i].at + x];
        }
        const double* table = f.table + row * K;
        if (place == inner.place) {
            for (std::size_t x = 0; x < K; ++x) out[x] = std::max(out[x], base + table[x]);
            continue;
        }
        double best = kLogZero;
        if (last != kFree) {
            best = table[last];
        } else {
            const double* z = given + inner.at;
            for (std::size_t x = 0; x < K; ++x) best = std::max(best, table[x] + z[x]);
        }
        double& to = out[outer.labels()[place]];
        to = std::max(to, base + best);
    } while (outer.next());
}

void Layout::count_message(const LaidFactor& f, std::uint32_t place, const double* given, double* out,
                           const std::uint32_t* fixed) const {
    const auto mine = slots_of_factor(f);
    const bool saturates = f.most == mine.size();
    std::vector<double> by_count(f.states, kLogZero);
    by_count[0] = 0.0;
    for (const Slot& slot : mine) {
        if (slot.place == place) continue;
        double no = kLogZero, yes = kLogZero;
        const std::uint32_t held = fixed ? fixed[slot.variable] : kFree;
        for (std::uint32_t x = 0; x < n_labels(slot.variable); ++x) {
            if (held != kFree && held != x) continue;
            double& to = counts[slot.at + x] ? yes : no;
            to = std::max(to, held != kFree ? 0.0 : given[slot.at + x]);
        }
        for (std::size_t c = f.states; c-- > 0;) {
            double best = by_count[c] + no;
            if (c > 0) best = std::max(best, by_count[c - 1] + yes);
            if (saturates && c + 1 == f.states) best = std::max(best, by_count[c] + yes);
            by_count[c] = best;
        }
    }
    // With this one: true counts one more.
    double with = kLogZero, without = kLogZero;
    for (std::size_t c = 0; c < f.states; ++c) {
        if (c >= f.least) without = std::max(without, by_count[c]);
        const bool fits = saturates || c + 1 < f.states;
        if (fits && c + 1 >= f.least) with = std::max(with, by_count[c]);
    }
    const Slot& slot = mine[place];
    for (std::size_t x = 0; x < n_labels(slot.variable); ++x) out[x] = counts[slot.at + x] ? with : without;
}

double Layout::best_of(const LaidFactor& f, const double* given, std::uint32_t* labels, Parts* parts) const {
    switch (f.form) {
        case Form::kPair:
        case Form::kPotts:
            return best_pair(f, given, labels);
        case Form::kTable:
            return best_table(f, given, labels);
        case Form::kCount:
            return best_count(f, given, labels);
        case Form::kStructure:
            break;
    }
    return best_structure(f, given, labels, parts);
}

double Layout::best_pair(const LaidFactor& f, const double* given, std::uint32_t* labels) const {
    const Slot &first = slots[f.slots_at], &second = slots[f.slots_at + 1];
    const std::size_t rows = n_labels(first.variable), columns = n_labels(second.variable);
    const double *a = given + first.at, *b = given + second.at;
    double best = kLogZero;
    std::size_t row = 0;
    for (std::size_t x = 0; x < rows; ++x) {
        const double* table = f.table + x * columns;
        double top = kLogZero;
        for (std::size_t y = 0; y < columns; ++y) top = std::max(top, table[y] + b[y]);
        if (top + a[x] > best) {
            best = top + a[x];
            row = x;
        }
    }
    if (labels != nullptr && best != kLogZero) {
        const double* table = f.table + row * columns;
        std::size_t column = 0;
        for (std::size_t y = 1; y < columns; ++y)
            if (table[y] + b[y] > table[column] + b[column]) column = y;
        labels[0] = static_cast<std::uint32_t>(row);
        labels[1] = static_cast<std::uint32_t>(column);
    }
    return best;
}

double Layout::best_table(const LaidFactor& f, const double* given, std::uint32_t* labels) const {
    const auto mine = slots_of_factor(f);
    std::vector<std::uint32_t> n(mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) n[i] = graph.n_labels[mine[i].variable];
    Labellings all(std::move(n), std::vector<std::uint32_t>(mine.size(), kFree));
    double best = kLogZero;
    std::size_t entry = 0;
    do {
        double sum = f.table[entry++];
        for (std::size_t i = 0; i < mine.size(); ++i) sum += given[mine[i].at + all.labels()[i]];
        if (sum > best) {
            best = sum;
            if (labels != nullptr) std::ranges::copy(all.labels(), labels);
        }
    } while (all.next());
    return best;
}

// The best of each variable's labels that count and of those that do not, then how many of them by a table of counts.
double Layout::best_count(const LaidFactor& f, const double* given, std::uint32_t* labels) const {
    const auto mine = slots_of_factor(f);
    const std::size_t n = mine.size(), states = f.states;
    const bool saturates = f.most == n;
    std::vector<double> by_count((n + 1) * states, kLogZero), value(2 * n, kLogZero);
    std::vector<std::uint32_t> label(2 * n, 0);
    by_count[0] = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::uint32_t x = 0; x < n_labels(mine[i].variable); ++x) {
            const std::size_t side = 2 * i + counts[mine[i].at + x];
            if (given[mine[i].at + x] > value[side]) {
                value[side] = given[mine[i].at + x];
                label[side] = x;
            }
        }
        const double *before = by_count.data() + i * states, no = value[2 * i], yes = value[2 * i + 1];
        double* const after = by_count.data() + (i + 1) * states;
        for (std::size_t c = 0; c < states; ++c) {
            after[c] = before[c] + no;
            if (c > 0) after[c] = std::max(after[c], before[c - 1] + yes);
            if (saturates && c + 1 == states) after[c] = std::max(after[c], before[c] + yes);
        }
    }
    std::size_t c = f.least;
    for (std::size_t other = f.least; other < states; ++other)
        if (by_count[n * states + other] > by_count[n * states + c]) c = other;
    const double best = by_count[n * states + c];
    if (labels == nullptr || best == kLogZero) return best;
    for (std::size_t i = n; i-- > 0;) {
        const double *before = by_count.data() + i * states, now = by_count[(i + 1) * states + c];
        const double yes = value[2 * i + 1];
        std::size_t counted = 1, from = c;
        if (now == before[c] + value[2 * i])
            counted = 0;
        else if (c > 0 && now == before[c - 1] + yes)
            from = c - 1;
        labels[i] = label[2 * i + counted];
        c = from;
    }
    return best;
}

double Layout::best_structure(const LaidFactor& f, const double* given, std::uint32_t* labels, Parts* of_parts) const {
    const Factor& source = *f.source;
    const auto mine = slots_of_factor(f);
    // A variable none of whose literals is true has the best of its other labels.
    const std::size_t begin = mine.empty() ? 0 : mine[0].at;
    const std::size_t end = mine.empty() ? 0 : mine.back().at + n_labels(mine.back().variable);
    std::vector<std::uint8_t> covered(end - begin, 0);
    std::vector<const Slot*> slot_of(source.literals.size(), nullptr);
    for (std::size_t p = 0; p < source.literals.size(); ++p) {
        const Literal literal = source.literals[p];
        if (literal.variable == kNoVariable) continue;
        const auto found = std::ranges::lower_bound(mine, literal.variable, {}, &Slot::variable);
        slot_of[p] = &*found;
        covered[found->at + literal.label - begin] = 1;
    }
    std::vector<double> base(mine.size(), kLogZero);
    std::vector<std::uint32_t> other(mine.size(), 0);
    double total = 0.0;
    for (const Slot& slot : mine) {
        double most = kLogZero;
        bool any = false;
        for (std::uint32_t x = 0; x < n_labels(slot.variable); ++x) {
            const double z = given[slot.at + x];
            most = std::max(most, z);
            if (covered[slot.at + x - begin]) continue;
            any = true;
            if (z > base[slot.place]) {
                base[slot.place] = z;
                other[slot.place] = x;
            }
        }
        if (most == kLogZero) return kLogZero;
        // All labels have literals: one of them is true in every output that counts. Where only labels with a literal
        // are left, an output without them is too bad to be chosen.
        if (base[slot.place] == kLogZero) base[slot.place] = any ? most - scale - 1.0 : 0.0;
        total += base[slot.place];
    }
    std::vector<double> parts(f.entries);
    std::vector<std::uint8_t> allowed(f.entries, 1);
    for (std::size_t p = 0; p < f.entries; ++p) {
        parts[p] = f.table[p];
        if (slot_of[p] != nullptr) {
            const double z = given[slot_of[p]->at + source.literals[p].label];
            if (z == kLogZero)
                allowed[p] = 0;
            else
                parts[p] += z - base[slot_of[p]->place];
        }
        if (parts[p] == kLogZero) allowed[p] = 0;
    }
    const std::vector<Answer> found = source.structure->best(source.shape, {parts, allowed}, 1);
    if (found.empty()) return kLogZero;
    if (of_parts != nullptr) *of_parts = found[0].parts;
    if (labels != nullptr) {
        std::ranges::copy(other, labels);
        for (const Part part : found[0].parts)
            if (slot_of[part] != nullptr) labels[slot_of[part]->place] = source.literals[part].label;
    }
    return total + found[0].score;
}

void Layout::conditional(std::uint32_t v, std::span<const std::uint32_t> labels, double* out) const {
    const std::size_t K = n_labels(v);
    std::copy(unary.begin() + static_cast<std::ptrdiff_t>(label_at[v]),
              unary.begin() + static_cast<std::ptrdiff_t>(label_at[v] + K), out);
    for (const std::uint32_t s : slots_at(v)) {
        const Slot& slot = slots[s];
        const LaidFactor& f = factors[slot.factor];
        const auto mine = slots_of_factor(f);
        if (f.form == Form::kCount) {
            std::size_t others = 0;
            for (const Slot& one : mine)
                if (one.place != slot.place) others += counts[one.at + labels[one.variable]];
            for (std::size_t x = 0; x < K; ++x) {
                const std::size_t n_true = others + counts[slot.at + x];
                if (n_true < f.least || n_true > f.most) out[x] = kLogZero;
            }
        } else if (f.form != Form::kStructure) {
            std::size_t entry = 0, stride = 1;
            for (const Slot& one : mine) {
                entry = entry * n_labels(one.variable) + (one.place == slot.place ? 0 : labels[one.variable]);
                stride = one.place <= slot.place ? 1 : stride * n_labels(one.variable);
            }
            for (std::size_t x = 0; x < K; ++x) out[x] += f.table[entry + x * stride];
        }
    }
}

Labellings::Labellings(std::vector<std::uint32_t> n_labels, std::vector<std::uint32_t> fixed)
    : n_labels_(std::move(n_labels)), fixed_(std::move(fixed)), labels_(n_labels_.size(), 0) {
    for (std::size_t i = 0; i < labels_.size(); ++i)
        if (fixed_[i] != kFree) labels_[i] = fixed_[i];
}

bool Labellings::next() {
    for (std::size_t i = labels_.size(); i-- > 0;) {
        if (fixed_[i] != kFree) continue;
        if (++labels_[i] < n_labels_[i]) return true;
        labels_[i] = 0;
    }
    return false;
}

Deadline::Deadline(double seconds) : limited_(seconds > 0.0) {
    if (limited_)
        end_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                      std::chrono::duration<double>(std::min(seconds, 1e8)));
}

bool Deadline::passed() const { return limited_ && std::chrono::steady_clock::now() >= end_; }

}  // namespace tw::graphs
