#include "elimination_order.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "../base/interrupt.hpp"

namespace tw::graphs {
namespace {

using Neighbours = std::vector<std::uint32_t>;

// Who is connected with whom while variables are eliminated. Lists are sorted; those that are gone stay in them until
// the list is used, so that a leaf costs its neighbour nothing.
class Connections {
public:
    Connections(std::span<const std::uint32_t> n_labels, const Scopes& scopes)
        : lists_(n_labels.size()), gone_(n_labels.size(), 0), degree_(n_labels.size()), weight_(n_labels.size()) {
        std::size_t begin = 0;
        for (const std::size_t end : scopes.ends) {
            for (std::size_t i = begin; i < end; ++i)
                for (std::size_t j = begin; j < end; ++j)
                    if (i != j) lists_[scopes.variables[i]].push_back(scopes.variables[j]);
            begin = end;
        }
        own_.reserve(n_labels.size());
        for (const std::uint32_t n : n_labels) own_.push_back(std::llround(std::log2(n) * 0x1p20));
        for (std::size_t v = 0; v < lists_.size(); ++v) {
            std::ranges::sort(lists_[v]);
            lists_[v].erase(std::unique(lists_[v].begin(), lists_[v].end()), lists_[v].end());
            degree_[v] = lists_[v].size();
            weight_[v] = own_[v];
            for (const std::uint32_t u : lists_[v]) weight_[v] += own_[u];
        }
    }

    std::size_t degree(std::uint32_t v) const { return degree_[v]; }
    std::int64_t weight(std::uint32_t v) const { return weight_[v]; }    // logarithm of the entries of its table
    const Neighbours& list(std::uint32_t v) const { return lists_[v]; }  // those that are gone among them
    bool gone(std::uint32_t v) const { return gone_[v]; }
    bool has_cycle() const {
        std::size_t n = 0;
        std::vector<std::uint32_t> above(lists_.size());
        for (std::uint32_t v = 0; v < above.size(); ++v) above[v] = v;
        const auto top = [&](std::uint32_t v) {
            while (above[v] != v) v = above[v] = above[above[v]];
            return v;
        };
        for (std::uint32_t v = 0; v < lists_.size(); ++v)
            for (const std::uint32_t u : lists_[v]) {
                if (u <= v) continue;
                const std::uint32_t a = top(u), b = top(v);
                if (a == b) return true;
                above[a] = b;
                ++n;
            }
        return false;
    }

    const Neighbours& neighbours(std::uint32_t v) {
        std::erase_if(lists_[v], [&](std::uint32_t u) { return gone_[u]; });
        return lists_[v];
    }
    bool connected(std::uint32_t u, std::uint32_t v) const {
        const bool shorter = lists_[u].size() <= lists_[v].size();
        return std::ranges::binary_search(lists_[shorter ? u : v], shorter ? v : u);
    }
    // How many pairs of its neighbours are not connected. Not counted where there are many neighbours.
    std::size_t fill(std::uint32_t v) {
        constexpr std::size_t kMany = 48;
        if (degree_[v] > kMany) return degree_[v] * degree_[v] / 2;
        const Neighbours& near = neighbours(v);
        std::size_t missing = 0;
        for (std::size_t i = 0; i < near.size(); ++i)
            for (std::size_t j = i + 1; j < near.size(); ++j) missing += !connected(near[i], near[j]);
        return missing;
    }
    // Takes v out and connects its neighbours, which are returned.
    Neighbours eliminate(std::uint32_t v) {
        Neighbours near = neighbours(v);
        gone_[v] = 1;
        lists_[v] = {};
        for (const std::uint32_t u : near) {
            --degree_[u];
            weight_[u] -= own_[v];
        }
        for (std::size_t i = 0; i < near.size(); ++i)
            for (std::size_t j = i + 1; j < near.size(); ++j)
                if (!connected(near[i], near[j])) {
                    connect(near[i], near[j]);
                    connect(near[j], near[i]);
                }
        return near;
    }

private:
    void connect(std::uint32_t u, std::uint32_t v) {
        lists_[u].insert(std::ranges::lower_bound(lists_[u], v), v);
        ++degree_[u];
        weight_[u] += own_[v];
    }

    std::vector<Neighbours> lists_;
    std::vector<std::uint8_t> gone_;
    std::vector<std::size_t> degree_;
    std::vector<std::int64_t> own_, weight_;  // logarithms in 2^-20 bits: whole numbers, so nothing drifts
};

// The turn of each variable when every component is swept breadth first from a far end of it; neighbours of few come
// first.
std::vector<std::uint32_t> sweep(const Connections& connections, std::size_t n) {
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<std::uint32_t> turn(n, kNone), seen(n, kNone), queue;
    Neighbours near;
    std::uint32_t round = 0;
    // Visits what is connected with v, in the order of `queue`.
    const auto visit = [&](std::uint32_t v, bool by_degree) {
        queue.assign(1, v);
        seen[v] = ++round;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            near.clear();
            for (const std::uint32_t u : connections.list(queue[i]))
                if (seen[u] != round) {
                    seen[u] = round;
                    near.push_back(u);
                }
            if (by_degree) std::ranges::stable_sort(near, {}, [&](std::uint32_t u) { return connections.degree(u); });
            queue.insert(queue.end(), near.begin(), near.end());
        }
    };
    std::uint32_t next = 0;
    for (std::uint32_t v = 0; v < n; ++v) {
        if (turn[v] != kNone) continue;
        visit(v, false);
        visit(queue.back(), false);
        visit(queue.back(), true);
        for (const std::uint32_t u : queue) turn[u] = next++;
    }
    return turn;
}

// rank(v): what the next variable has the least of. all: whether it may change for neighbours of neighbours too.
template <class Rank>
Order greedy(std::span<const std::uint32_t> n_labels, Connections connections, const Limits& limits, bool all,
             const Rank& rank) {
    using Entry = std::tuple<decltype(rank(connections, 0u)), std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;
    std::vector<decltype(rank(connections, 0u))> latest(n_labels.size());
    const auto put = [&](std::uint32_t v) { waiting.push({latest[v] = rank(connections, v), v}); };
    for (std::uint32_t v = 0; v < n_labels.size(); ++v) put(v);
    Order out;
    out.first_neighbour.push_back(0);
    Neighbours changed;
    InterruptCheck check;
    while (!waiting.empty()) {
        check();
        const auto [least, v] = waiting.top();
        waiting.pop();
        if (connections.gone(v) || least != latest[v]) continue;
        // Tables of a large degree are too large for certain: nothing is joined before that is said.
        double rest = 1.0;
        for (const std::uint32_t u : connections.neighbours(v)) rest *= n_labels[u];
        const double entries = rest * n_labels[v];
        out.width.widest = std::max(out.width.widest, entries);
        out.width.messages += rest;
        out.width.entries += entries;
        if (entries > limits.table || out.width.messages > limits.messages || out.width.entries > limits.entries) {
            out.narrow = false;
            return out;
        }
        const Neighbours near = connections.eliminate(v);
        out.variables.push_back(v);
        out.neighbours.insert(out.neighbours.end(), near.begin(), near.end());
        out.first_neighbour.push_back(out.neighbours.size());
        changed.assign(near.begin(), near.end());
        if (all)
            for (const std::uint32_t u : near)
                if (connections.degree(u) <= 48)
                    for (const std::uint32_t w : connections.neighbours(u)) changed.push_back(w);
        std::ranges::sort(changed);
        changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
        for (const std::uint32_t u : changed) put(u);
    }
    return out;
}

}  // namespace

Order elimination_order(std::span<const std::uint32_t> n_labels, const Scopes& scopes, const Limits& limits) {
    constexpr std::size_t kMany = 20'000;  // variables: min-fill looks at more than their number
    const Connections connections(n_labels, scopes);
    Order best =
        greedy(n_labels, connections, limits, false, [](const Connections& c, std::uint32_t v) { return c.weight(v); });
    if (!connections.has_cycle()) return best;
    const auto other = [&](bool all, const auto& rank) {
        Limits below = limits;
        if (best.narrow) below.entries = std::min(limits.entries, best.width.entries);
        Order found = greedy(n_labels, connections, below, all, rank);
        if (found.narrow) best = std::move(found);
    };
    const std::vector<std::uint32_t> turn = sweep(connections, n_labels.size());
    other(false, [&](const Connections&, std::uint32_t v) { return turn[v]; });
    if (n_labels.size() <= kMany)
        other(true, [](Connections& c, std::uint32_t v) {
            return std::pair<std::size_t, std::int64_t>(c.fill(v), c.weight(v));
        });
    return best;
}

}  // namespace tw::graphs
