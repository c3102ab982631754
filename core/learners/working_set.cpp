#include "working_set.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tw::learners {

PackedVector::PackedVector(const SparseVector& from) : indices_(from.indices) {
    const bool exact = std::all_of(from.values.begin(), from.values.end(), [](double value) {
        return static_cast<double>(static_cast<float>(value)) == value;
    });
    if (exact)
        singles_.assign(from.values.begin(), from.values.end());
    else
        doubles_ = from.values;
}

bool PackedVector::same(const SparseVector& other) const {
    if (indices_ != other.indices) return false;
    return doubles_.empty() ? std::equal(singles_.begin(), singles_.end(), other.values.begin())
                            : doubles_ == other.values;
}

void PackedVector::unpack(SparseVector& out) const {
    out.indices = indices_;
    if (doubles_.empty())
        out.values.assign(singles_.begin(), singles_.end());
    else
        out.values = doubles_;
}

std::size_t PackedVector::memory_bytes() const {
    return indices_.capacity() * sizeof(std::uint32_t) + singles_.capacity() * sizeof(float) +
           doubles_.capacity() * sizeof(double);
}

void save_members(std::span<const Member> members, const std::string& name, State& state) {
    std::vector<double> heads, indices, values;
    for (const Member& member : members) {
        heads.insert(heads.end(), {member.lambda, member.cost, static_cast<double>(member.difference.size())});
        member.difference.each([&](std::uint32_t index, double value) {
            indices.push_back(static_cast<double>(index));
            values.push_back(value);
        });
    }
    state[name + "_heads"] = std::move(heads);
    state[name + "_indices"] = std::move(indices);
    state[name + "_values"] = std::move(values);
}

std::vector<Member> load_members(const State& state, const std::string& name, std::size_t n_weights) {
    const auto &heads = any_numbers(state, name + "_heads"), &indices = any_numbers(state, name + "_indices"),
               &values = any_numbers(state, name + "_values");
    const std::invalid_argument wrong("state does not fit together: it is damaged or of another training set");
    if (indices.size() != values.size() || heads.size() % 3 != 0) throw wrong;
    std::vector<Member> members;
    SparseVector difference;
    std::size_t i = 0;
    for (std::size_t head = 0; head < heads.size(); head += 3) {
        const double size = heads[head + 2];
        if (!(size >= 0.0 && size <= static_cast<double>(indices.size() - i))) throw wrong;
        difference.clear();
        for (const std::size_t end = i + static_cast<std::size_t>(size); i < end; ++i) {
            if (!(indices[i] >= 0.0 && indices[i] < static_cast<double>(n_weights))) throw wrong;
            difference.indices.push_back(static_cast<std::uint32_t>(indices[i]));
            difference.values.push_back(values[i]);
        }
        members.push_back({PackedVector(difference), heads[head + 1], heads[head], {}});
    }
    if (i != indices.size()) throw wrong;
    return members;
}

bool WorkingSet::contains(double cost, const SparseVector& difference) const {
    return std::any_of(members.begin(), members.end(),
                       [&](const Member& member) { return member.cost == cost && member.difference.same(difference); });
}

double WorkingSet::sum() const {
    double total = 0.0;
    for (const Member& member : members) total += member.lambda;
    return total;
}

void WorkingSet::gram(Products& scratch, std::size_t n_weights, std::vector<double>& K) {
    const std::size_t n = members.size();
    K.resize(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double>& products = members[i].products;
        if (products.empty()) {  // always this one spread and the earlier ones summed over: the same bits whenever
            products.reserve(i + 1);
            scratch.spread(members[i].difference, n_weights);
            for (std::size_t j = 0; j <= i; ++j) products.push_back(scratch.with(members[j].difference));
            scratch.clear(members[i].difference);
        }
        for (std::size_t j = 0; j <= i; ++j) K[i * n + j] = K[j * n + i] = products[j];
    }
}

template <class Gone>
void WorkingSet::remove(Gone gone) {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < members.size(); ++i)
        if (!gone(i)) kept.push_back(i);
    if (kept.size() == members.size()) return;
    for (std::size_t to = 0; to < kept.size(); ++to) {
        Member member = std::move(members[kept[to]]);
        if (!member.products.empty()) {
            for (std::size_t j = 0; j <= to; ++j) member.products[j] = member.products[kept[j]];
            member.products.resize(to + 1);
        }
        members[to] = std::move(member);
    }
    members.resize(kept.size());
}

void WorkingSet::remove_inactive() {
    remove([&](std::size_t i) { return members[i].lambda == 0.0; });
}

void WorkingSet::merge(std::size_t most, Products& scratch, std::size_t n_weights) {
    if (members.size() <= most) return;
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return members[a].lambda > members[b].lambda; });
    std::vector<bool> gone(members.size(), false);
    for (std::size_t i = most - 1; i < order.size(); ++i) gone[order[i]] = true;

    SparseVector mean;
    double lambda = 0.0, cost = 0.0;
    scratch.spread(mean, n_weights);  // makes room
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!gone[i]) continue;
        lambda += members[i].lambda;
        cost += members[i].lambda * members[i].cost;
        members[i].difference.each([&](std::uint32_t index, double value) {
            mean.indices.push_back(index);
            scratch.at(index) += members[i].lambda * value;
        });
    }
    std::sort(mean.indices.begin(), mean.indices.end());
    mean.indices.erase(std::unique(mean.indices.begin(), mean.indices.end()), mean.indices.end());
    for (const std::uint32_t index : mean.indices)
        mean.values.push_back(std::exchange(scratch.at(index), 0.0) / lambda);
    remove([&](std::size_t i) { return static_cast<bool>(gone[i]); });
    members.push_back({PackedVector(mean), cost / lambda, lambda, {}});
}

std::size_t WorkingSet::memory_bytes() const {
    std::size_t bytes = members.capacity() * sizeof(Member);
    for (const Member& member : members)
        bytes += member.difference.memory_bytes() + member.products.capacity() * sizeof(double);
    return bytes;
}

}  // namespace tw::learners
