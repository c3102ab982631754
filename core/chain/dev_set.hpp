// Sequences that are tagged while training goes on: of their attributes only those that have weights are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../text/attributes.hpp"
#include "tag_dictionary.hpp"
#include "training_set.hpp"

namespace tw::chain {

class DevSet {
public:
    // `dictionary`: which labels words take, or null.
    DevSet(std::shared_ptr<const TrainingSet> set, std::shared_ptr<const WeightIndex> index,
           std::shared_ptr<const MadeDictionary> dictionary, const Source& source, std::size_t n_jobs);

    std::size_t n_tokens() const { return starts_.back(); }
    std::size_t n_weights() const { return index_->n_weights(); }
    Key checksum() const;  // changes when sequences or their attributes that have weights do

    // The best labelling of every sequence, all one after the other.
    // `local`: of the model that is normalised step by step. `width`: of a beam, or kExact.
    void argmax(std::span<const double> weights, std::span<std::int32_t> labels, std::size_t n_jobs, bool local,
                std::size_t width) const;

private:
    struct Terms {  // units of each token, with what their variables are multiplied with
        std::vector<std::uint32_t> starts{0}, units;
        std::vector<float> factors;
    };
    void add(const AttributeList& list, bool pairs, std::span<const Key> table_keys,
             std::span<const std::uint32_t> slots, std::size_t n_tokens);
    void argmax_block(std::span<const double> weights, std::size_t first, std::size_t last, bool local,
                      std::size_t width, std::int32_t* labels) const;

    std::shared_ptr<const TrainingSet> set_;
    std::shared_ptr<const WeightIndex> index_;
    std::shared_ptr<const MadeDictionary> dictionary_;
    std::vector<std::uint32_t> words_;  // of each token in the dictionary, or TagDictionary::kNone
    std::vector<std::uint64_t> starts_{0};
    Terms terms_, pair_terms_;
};

}  // namespace tw::chain
