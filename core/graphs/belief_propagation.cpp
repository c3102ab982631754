#include "belief_propagation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../kernels/kernels.hpp"
#include "log_sums.hpp"
#include "pair_kernels.hpp"

namespace tw::graphs {
namespace {

using Form = LaidFactor::Form;

// Below this a sum of exponentials may have lost terms that matter.
constexpr double kTooSmall = 1e-200;

class Propagation {
public:
    Propagation(const Layout& layout, bool sums, double damping)
        : layout_(layout),
          sums_(sums),
          damping_(layout.all_acyclic() ? 0.0 : damping),
          limit_(4.0 * layout.scale + 1000.0),
          to_variable(layout.n_given, 0.0),
          to_factor(layout.n_given, 0.0),
          total_(layout.unary),
          new_(layout.most_labels),
          in_(layout.most_labels),
          around_(layout.most_labels) {
        if (sums) exponentiate();
    }

    void start_from(std::span<const double> messages) {
        if (messages.size() != to_variable.size()) return;
        for (std::size_t i = 0; i < messages.size(); ++i)
            to_variable[i] = std::isfinite(messages[i]) ? messages[i] : 0.0;
    }

    // Every variable tells its factors what it has.
    bool begin() {
        for (std::uint32_t v = 0; v < layout_.n_variables(); ++v)
            if (!tell(v)) return false;
        return layout_.constant != kLogZero;
    }

    // False: nothing is allowed.
    bool pass(bool forward, bool all) {
        change_ = 0.0;
        for (const LaidFactor& f : layout_.factors)
            if (f.form == Form::kStructure && !hear_structure(f)) return false;
        InterruptCheck check;
        const std::size_t n = layout_.order.size();
        for (std::size_t i = 0; i < n; ++i) {
            check();
            const std::uint32_t v = layout_.order[forward ? i : n - 1 - i];
            for (const std::uint32_t s : layout_.slots_at(v)) {
                const Slot& slot = layout_.slots[s];
                if (layout_.factors[slot.factor].form == Form::kStructure) continue;
                if (all || !(forward ? slot.first : slot.last)) hear(slot);
            }
            if (!tell(v)) return false;
        }
        return true;
    }

    double change() const { return change_; }
    // Scores of labels with all messages.
    std::vector<double>& totals() { return total_; }

    // Bethe's log Z, and beliefs of all parts added to `out`.
    double read(std::vector<double>& out);

private:
    void exponentiate() {
        std::size_t size = 0;
        exp_at_.assign(layout_.factors.size(), 0);
        top_.assign(layout_.factors.size(), 0.0);
        for (std::size_t i = 0; i < layout_.factors.size(); ++i) {
            const LaidFactor& f = layout_.factors[i];
            if (f.form != Form::kPair) continue;
            exp_at_[i] = size;
            size += f.entries;
        }
        exp_.resize(size);
        for (std::size_t i = 0; i < layout_.factors.size(); ++i) {
            const LaidFactor& f = layout_.factors[i];
            if (f.form != Form::kPair) continue;
            top_[i] = highest(f.table, f.entries);
            if (top_[i] == kLogZero) top_[i] = 0.0;
            for (std::size_t e = 0; e < f.entries; ++e) exp_[exp_at_[i] + e] = f.table[e] - top_[i];
        }
        kernels().exponentials(exp_.data(), exp_.size(), exp_.data());
    }

    bool tell(std::uint32_t v) {
        const std::size_t K = layout_.n_labels(v);
        double* const total = total_.data() + layout_.label_at[v];
        std::copy_n(layout_.unary.begin() + static_cast<std::ptrdiff_t>(layout_.label_at[v]), K, total);
        for (const std::uint32_t s : layout_.slots_at(v)) {
            const double* message = to_variable.data() + layout_.slots[s].at;
            for (std::size_t x = 0; x < K; ++x) total[x] += message[x];
        }
        if (highest(total, K) == kLogZero) return false;
        for (const std::uint32_t s : layout_.slots_at(v)) {
            const double* message = to_variable.data() + layout_.slots[s].at;
            double* const to = to_factor.data() + layout_.slots[s].at;
            for (std::size_t x = 0; x < K; ++x) to[x] = total[x] == kLogZero ? kLogZero : total[x] - message[x];
            const double top = highest(to, K);
            for (std::size_t x = 0; x < K; ++x) to[x] -= top;
        }
        return true;
    }

    // The new message to a variable, its largest 0, damped.
    void hear(const Slot& slot) {
        const std::size_t K = layout_.n_labels(slot.variable);
        if (sums_)
            sum_message(slot, new_.data());
        else
            layout_.best_message(slot, to_factor.data(), new_.data());
        take(slot, new_.data(), K);
    }

    void take(const Slot& slot, double* message, std::size_t K) {
        const double top = highest(message, K);
        double* const old = to_variable.data() + slot.at;
        for (std::size_t x = 0; x < K; ++x) {
            if (message[x] == kLogZero || old[x] == kLogZero) {
                if (old[x] != kLogZero) change_ = std::max(change_, 1.0);
                old[x] = kLogZero;
                continue;
            }
            // On strong cycles messages may grow without end; none that is right says more than all scores together.
            const double heard = std::max(message[x] - top, -limit_);
            change_ = std::max(change_, std::abs(heard - old[x]));
            old[x] = (1.0 - damping_) * heard + damping_ * old[x];
        }
    }

    // log of sums over the factor, with its true size.
    void sum_message(const Slot& slot, double* out) {
        const LaidFactor& f = layout_.factors[slot.factor];
        const std::size_t K = layout_.n_labels(slot.variable);
        if (f.form == Form::kCount) return count_sums(f, slot, out);
        if (f.form == Form::kPair || f.form == Form::kPotts) {
            const Slot& other = layout_.slots[f.slots_at + 1 - slot.place];
            const std::size_t L = layout_.n_labels(other.variable);
            kernels().exponentials(to_factor.data() + other.at, L, in_.data());
            double shift = 0.0;
            if (f.form == Form::kPotts) {
                shift = std::max(f.same, f.other);
                potts_sums(std::exp(f.same - shift), std::exp(f.other - shift), K, out);
            } else {
                shift = top_[slot.factor];
                through_table<SumStep>(exp_.data() + exp_at_[slot.factor], slot.place == 0 ? K : L,
                                       slot.place == 0 ? L : K, slot.place == 0, in_.data(), out);
            }
            bool small = false;
            for (std::size_t x = 0; x < K; ++x) small = small || out[x] < kTooSmall;
            if (!small) {
                for (std::size_t x = 0; x < K; ++x) out[x] = std::log(out[x]) + shift;
                return;
            }
        }
        table_sums(f, slot, out);
    }

    void potts_sums(double same, double other, std::size_t K, double* out) {
        // Sums of all but one from both ends: nothing is subtracted.
        double before = 0.0;
        for (std::size_t x = 0; x < K; ++x) {
            out[x] = other * before + same * in_[x];
            before += in_[x];
        }
        double after = 0.0;
        for (std::size_t x = K; x-- > 0;) {
            out[x] += other * after;
            after += in_[x];
        }
    }

    // In logarithms: the best of each label first, then all relative to it.
    void table_sums(const LaidFactor& f, const Slot& slot, double* out) {
        const std::size_t K = layout_.n_labels(slot.variable);
        layout_.best_message(slot, to_factor.data(), around_.data());
        std::fill(out, out + K, 0.0);
        each_entry(f, to_factor.data(), [&](std::size_t entry, std::span<const std::uint32_t> labels, double sum) {
            const std::uint32_t x = labels[slot.place];
            const double all = f.table[entry] + sum, own = to_factor[slot.at + x];
            if (all == kLogZero || around_[x] == kLogZero) return;
            out[x] += std::exp(all - own - around_[x]);
        });
        for (std::size_t x = 0; x < K; ++x)
            out[x] = around_[x] == kLogZero || out[x] == 0.0 ? kLogZero : around_[x] + std::log(out[x]);
    }

    template <class Visit>
    void each_entry(const LaidFactor& f, const double* given, const Visit& visit) const {
        const auto mine = layout_.slots_of_factor(f);
        std::vector<std::uint32_t> n(mine.size());
        for (std::size_t i = 0; i < mine.size(); ++i) n[i] = layout_.graph.n_labels[mine[i].variable];
        Labellings all(std::move(n), std::vector<std::uint32_t>(mine.size(), kFree));
        std::size_t entry = 0;
        do {
            double sum = 0.0;
            for (std::size_t i = 0; i < mine.size(); ++i) sum += given[mine[i].at + all.labels()[i]];
            visit(entry++, all.labels(), sum);
        } while (all.next());
    }

    void count_sums(const LaidFactor& f, const Slot& slot, double* out) const {
        const auto mine = layout_.slots_of_factor(f);
        const bool saturates = f.most == mine.size();
        std::vector<double> by_count(f.states, kLogZero);
        by_count[0] = 0.0;
        for (const Slot& one : mine) {
            if (one.place == slot.place) continue;
            double no = kLogZero, yes = kLogZero;
            for (std::size_t x = 0; x < layout_.n_labels(one.variable); ++x) {
                double& to = layout_.counts[one.at + x] ? yes : no;
                to = log_add(to, to_factor[one.at + x]);
            }
            for (std::size_t c = f.states; c-- > 0;) {
                double sum = by_count[c] + no;
                if (c > 0) sum = log_add(sum, by_count[c - 1] + yes);
                if (saturates && c + 1 == f.states) sum = log_add(sum, by_count[c] + yes);
                by_count[c] = sum;
            }
        }
        double with = kLogZero, without = kLogZero;
        for (std::size_t c = 0; c < f.states; ++c) {
            if (c >= f.least) without = log_add(without, by_count[c]);
            if ((saturates || c + 1 < f.states) && c + 1 >= f.least) with = log_add(with, by_count[c]);
        }
        for (std::size_t x = 0; x < layout_.n_labels(slot.variable); ++x)
            out[x] = layout_.counts[slot.at + x] ? with : without;
    }

    // The parts of a structure with what its variables say; its log Z with them. expected: of its parts. by_label: of
    // the labels of its slots, from the first slot on.
    double sum_structure(const LaidFactor& f, std::vector<double>& expected, std::vector<double>& by_label) const;
    bool hear_structure(const LaidFactor& f);

    const Layout& layout_;
    const bool sums_;
    const double damping_, limit_;

public:
    std::vector<double> to_variable;

private:
    std::vector<double> to_factor, total_, new_, in_, around_, exp_, top_;
    std::vector<std::size_t> exp_at_;
    double change_ = 0.0;
};

double Propagation::sum_structure(const LaidFactor& f, std::vector<double>& expected,
                                  std::vector<double>& by_label) const {
    const Factor& source = *f.source;
    const auto mine = layout_.slots_of_factor(f);
    if (!source.structure->sums(source.shape))
        throw std::invalid_argument("a factor is a structure that has no sums over its outputs");
    expected.assign(f.entries, 0.0);
    const std::size_t begin = mine.empty() ? 0 : mine[0].at;
    const std::size_t size = mine.empty() ? 0 : mine.back().at + layout_.n_labels(mine.back().variable) - begin;
    by_label.assign(size, 0.0);
    std::vector<std::uint8_t> covered(size, 0);
    const auto slot_of = [&](const Literal& literal) -> const Slot& {
        return *std::ranges::lower_bound(mine, literal.variable, {}, &Slot::variable);
    };
    for (const Literal& literal : source.literals)
        if (literal.variable != kNoVariable) covered[slot_of(literal).at + literal.label - begin] = 1;
    // What a variable has where none of its literals is true.
    std::vector<double> base(mine.size(), kLogZero);
    double total = 0.0;
    for (const Slot& slot : mine) {
        bool any = false;
        for (std::size_t x = 0; x < layout_.n_labels(slot.variable); ++x) {
            if (covered[slot.at + x - begin]) continue;
            any = true;
            base[slot.place] = log_add(base[slot.place], to_factor[slot.at + x]);
        }
        if (base[slot.place] == kLogZero) base[slot.place] = any ? -600.0 : 0.0;  // next to nothing
        total += base[slot.place];
    }
    std::vector<double> parts(f.entries);
    std::vector<std::uint8_t> allowed(f.entries, 1);
    for (std::size_t p = 0; p < f.entries; ++p) {
        parts[p] = f.table[p];
        const Literal literal = source.literals[p];
        if (literal.variable != kNoVariable) {
            const Slot& slot = slot_of(literal);
            const double z = to_factor[slot.at + literal.label];
            if (z != kLogZero) parts[p] += z - base[slot.place];
            allowed[p] = z != kLogZero;
        }
        if (parts[p] == kLogZero) allowed[p] = 0;
    }
    const double log_z = source.structure->log_partition(source.shape, {parts, allowed}, expected.data());
    if (log_z == kLogZero) return kLogZero;
    std::vector<double> none(mine.size(), 1.0);
    for (std::size_t p = 0; p < f.entries; ++p) {
        const Literal literal = source.literals[p];
        if (literal.variable == kNoVariable) continue;
        const Slot& slot = slot_of(literal);
        by_label[slot.at + literal.label - begin] = expected[p];
        none[slot.place] -= expected[p];
    }
    for (const Slot& slot : mine)
        for (std::size_t x = 0; x < layout_.n_labels(slot.variable); ++x)
            if (!covered[slot.at + x - begin] && to_factor[slot.at + x] != kLogZero)
                by_label[slot.at + x - begin] =
                    std::max(none[slot.place], 0.0) * std::exp(to_factor[slot.at + x] - base[slot.place]);
    return total + log_z;
}

bool Propagation::hear_structure(const LaidFactor& f) {
    if (!sums_) throw std::invalid_argument("a factor is a structure, which has no max-product messages; use AD3");
    std::vector<double> expected, by_label;
    if (sum_structure(f, expected, by_label) == kLogZero) return false;
    const auto mine = layout_.slots_of_factor(f);
    for (const Slot& slot : mine) {
        const std::size_t K = layout_.n_labels(slot.variable);
        for (std::size_t x = 0; x < K; ++x) {
            const double p = by_label[slot.at + x - mine[0].at], q = to_factor[slot.at + x];
            new_[x] = p <= 0.0 || q == kLogZero ? kLogZero : std::log(p) - q;
        }
        take(slot, new_.data(), K);
    }
    return true;
}

double Propagation::read(std::vector<double>& out) {
    out.assign(layout_.graph.n_scores, 0.0);
    CompensatedSum log_z;
    log_z.add(layout_.constant);
    for (std::uint32_t v = 0; v < layout_.n_variables(); ++v) {
        const std::size_t K = layout_.n_labels(v);
        double* const total = total_.data() + layout_.label_at[v];
        log_z.add(normalise(total, K));
        for (std::size_t x = 0; x < K; ++x) out[layout_.graph.unary_at[v] + x] += total[x];
    }
    std::vector<double> expected, by_label, both(layout_.most_labels);
    for (const LaidFactor& f : layout_.factors) {
        const auto mine = layout_.slots_of_factor(f);
        double of_factor = 0.0;
        if (f.form == Form::kStructure) {
            of_factor = sum_structure(f, expected, by_label);
            for (std::size_t p = 0; p < f.entries; ++p) out[f.source->at + p] += expected[p];
        } else {
            sum_message(mine[0], both.data());
            const std::size_t K = layout_.n_labels(mine[0].variable);
            for (std::size_t x = 0; x < K; ++x) both[x] += to_factor[mine[0].at + x];
            of_factor = log_sum(both.data(), K);
            if (f.form != Form::kCount)
                each_entry(f, to_factor.data(), [&](std::size_t entry, std::span<const std::uint32_t>, double sum) {
                    out[f.source->at + entry] += std::exp(f.table[entry] + sum - of_factor);
                });
        }
        log_z.add(of_factor);
        for (const Slot& slot : mine) {
            const std::size_t K = layout_.n_labels(slot.variable);
            for (std::size_t x = 0; x < K; ++x) both[x] = to_factor[slot.at + x] + to_variable[slot.at + x];
            log_z.add(-log_sum(both.data(), K));
        }
    }
    return log_z.value();
}

// Passes each way until nothing changes. False: nothing is allowed.
bool run(const Layout& layout, Propagation& messages, const Search& how, const Deadline& deadline, bool& converged,
         std::size_t& iterations) {
    converged = false;
    iterations = 0;
    if (!messages.begin() || !messages.pass(false, true)) return false;
    const bool one_is_enough = layout.all_acyclic() && !layout.has_structures;
    while (iterations < how.iterations && !deadline.passed()) {
        ++iterations;
        if (!messages.pass(true, false)) return false;
        double change = messages.change();
        if (one_is_enough) {
            converged = true;
            return true;
        }
        if (!messages.pass(false, false)) return false;
        change = std::max(change, messages.change());
        if (change <= how.tolerance) {
            converged = true;
            return true;
        }
    }
    return true;
}

}  // namespace

Beliefs propagate_sums(const Layout& layout, const Search& how, SearchState* warm, const Deadline& deadline) {
    Beliefs out;
    Propagation messages(layout, true, how.damping);
    if (warm != nullptr) messages.start_from(warm->messages);
    if (!run(layout, messages, how, deadline, out.converged, out.iterations)) {
        out.log_z = kLogZero;
        out.converged = out.bound = true;
        out.beliefs.assign(layout.graph.n_scores, 0.0);
        return out;
    }
    out.log_z = messages.read(out.beliefs);
    out.bound = out.converged && layout.all_acyclic() && !layout.has_structures;
    if (warm != nullptr) warm->messages = messages.to_variable;
    return out;
}

bool propagate_maxima(const Layout& layout, const Search& how, SearchState* warm, const Deadline& deadline,
                      std::vector<double>& by_label, bool& converged, std::size_t& iterations) {
    Propagation messages(layout, false, how.damping);
    if (warm != nullptr) messages.start_from(warm->messages);
    if (!run(layout, messages, how, deadline, converged, iterations)) return false;
    by_label = messages.totals();
    if (warm != nullptr) warm->messages = messages.to_variable;
    return true;
}

}  // namespace tw::graphs
