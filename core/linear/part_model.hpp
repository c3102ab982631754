// A trained model of any structure: from attributes of sites to scores of parts. Views into memory that the caller
// keeps alive; every size, offset, code and number is checked before any is used.
//
//     sources --attributes--> rows of weights --sums of sites--> channel.spread --> scores of parts, one sequence
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../structures/derivations.hpp"
#include "../text/attributes.hpp"
#include "channel.hpp"
#include "model.hpp"

namespace tw::linear {

// A channel of a model: how it feeds its block, which source has its attributes, and their weights.
struct ModelChannel {
    Channel feeds;           // without units
    std::size_t source = 0;  // of those that a question is asked with
};

// Immutable; any number of threads may use it.
class PartModel {
public:
    // Reads the tensors channel.NAME.*; throws std::invalid_argument unless they fit the channels and the structure.
    PartModel(std::shared_ptr<const DerivationStructure> structure, std::vector<ModelChannel> channels,
              const Tensors& tensors, unsigned hash_bits, std::size_t n_lengths = 1);

    const DerivationStructure& structure() const { return *structure_; }
    std::size_t n_channels() const { return channels_.size(); }
    // Throws std::invalid_argument when the model has no channel of attributes with this name.
    const WeightRows& rows(std::string_view channel) const;
    bool has(std::string_view channel) const;

    // The scores of all parts of each sequence, whose shape is its lengths in the first n_lengths sources. The same
    // bits for any n_jobs.
    using Sources = std::span<const Source* const>;
    std::vector<std::vector<double>> scores(const Sources& sources, std::size_t n_jobs) const;

private:
    struct Scratch {  // of one thread
        std::vector<Attributes> attributes;
        FoundRows found;
        std::vector<double> sums, spread;
    };
    void scores(const Sources& sources, std::size_t first, std::size_t last, Scratch& space,
                std::span<std::vector<double>> out) const;
    struct Held {
        ModelChannel channel;
        std::optional<WeightRows> rows;
        std::vector<double> dense;  // of a tied channel: by code
        mutable std::unique_ptr<const ExpandedRows> expanded;
    };
    const Held* find(std::string_view channel) const;
    void expect(std::size_t n_sites) const;

    std::shared_ptr<const DerivationStructure> structure_;
    std::vector<Held> channels_;
    std::size_t n_lengths_;
    mutable std::atomic<std::size_t> n_scored_{0};
    mutable std::once_flag expanding_;
    mutable std::atomic<bool> expanded_{false};
};

}  // namespace tw::linear
