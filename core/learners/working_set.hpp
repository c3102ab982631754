// The structures of one example that have a part in the dual solution: for each the difference of its features to those
// of gold, its cost, its dual variable lambda, and its inner products with the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../oracle.hpp"
#include "solver.hpp"

namespace tw::learners {

// A sparse vector that is kept for long: the values in single precision when that loses nothing (counts, mostly).
class PackedVector {
public:
    PackedVector() = default;
    explicit PackedVector(const SparseVector& from);

    std::size_t size() const { return indices_.size(); }
    std::span<const std::uint32_t> indices() const { return indices_; }
    bool same(const SparseVector& other) const;
    void unpack(SparseVector& out) const;
    std::size_t memory_bytes() const;

    template <class Visit>
    void each(Visit visit) const {  // visit(index, value)
        if (doubles_.empty())
            for (std::size_t i = 0; i < size(); ++i) visit(indices_[i], static_cast<double>(singles_[i]));
        else
            for (std::size_t i = 0; i < size(); ++i) visit(indices_[i], doubles_[i]);
    }

    double dot(const ScaledWeights& w) const {
        double sum = 0.0;
        each([&](std::uint32_t index, double value) { sum += w.stored[index] * value; });
        return w.scale * sum;
    }

private:
    std::vector<std::uint32_t> indices_;
    std::vector<float> singles_;
    std::vector<double> doubles_;
};

// Inner products by way of a dense copy of one of the two vectors: those of one example share most of their indices, so
// that what is touched stays in cache.
class Products {
public:
    template <class V>
    void spread(const V& vector, std::size_t n_weights) {
        if (dense_.size() < n_weights) dense_.resize(n_weights, 0.0);
        visit_all(vector, [&](std::uint32_t index, double value) { dense_[index] = value; });
    }
    template <class V>
    double with(const V& vector) const {
        double sum = 0.0;
        visit_all(vector, [&](std::uint32_t index, double value) { sum += dense_[index] * value; });
        return sum;
    }
    template <class V>
    void clear(const V& vector) {
        visit_all(vector, [&](std::uint32_t index, double) { dense_[index] = 0.0; });
    }
    double& at(std::uint32_t index) { return dense_[index]; }
    std::size_t memory_bytes() const { return dense_.capacity() * sizeof(double); }

private:
    template <class Visit>
    static void visit_all(const PackedVector& vector, Visit visit) {
        vector.each(visit);
    }
    template <class Visit>
    static void visit_all(const SparseVector& vector, Visit visit) {
        for (std::size_t i = 0; i < vector.size(); ++i) visit(vector.indices[i], vector.values[i]);
    }

    std::vector<double> dense_;  // all zeros between uses
};

struct Member {
    PackedVector difference;
    double cost = 0.0, lambda = 0.0;
    std::vector<double> products;  // with the members before it, then with itself; empty until first needed
};

// Members as parts of a state, under names that begin with `name`, and back; throws std::invalid_argument when they do
// not fit together.
void save_members(std::span<const Member> members, const std::string& name, State& state);
std::vector<Member> load_members(const State& state, const std::string& name, std::size_t n_weights);

class WorkingSet {
public:
    double gold = 0.0;  // lambda of gold, whose difference and cost are zero
    std::vector<Member> members;

    bool contains(double cost, const SparseVector& difference) const;
    void add(double cost, const SparseVector& difference) {
        members.push_back({PackedVector(difference), cost, 0.0, {}});
    }
    double sum() const;  // of the lambdas of the members

    // The inner products of all members as an n by n matrix; computes those that are not yet known.
    void gram(Products& scratch, std::size_t n_weights, std::vector<double>& K);

    // Members with lambda = 0 take no part in the solution (last line of Mančev 2015, SMO procedure).
    void remove_inactive();
    // No more than `most` members: those with the least lambdas become one, their mean weighted by lambda. That changes
    // neither w nor the dual objective, and it stays feasible, the mean being a convex combination of structures.
    void merge(std::size_t most, Products& scratch, std::size_t n_weights);

    std::size_t memory_bytes() const;

private:
    template <class Gone>
    void remove(Gone gone);
};

}  // namespace tw::learners
