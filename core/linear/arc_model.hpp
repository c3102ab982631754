// Models of sentences whose words have heads: channels of attributes of arcs feed the blocks of a structure of trees.
//
//     columns --extractor--> table --shapes, channels--> Features --weights--> scores of parts --structure--> heads
//
// The channels of examples to learn from and of sentences to parse are made in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../base/lists.hpp"
#include "../structures/derivations.hpp"
#include "../text/arcs.hpp"
#include "channel.hpp"

namespace tw::linear {

// A channel of attributes of arcs: which one, which block it feeds, and how many units it has.
struct ArcChannel {
    std::size_t channel = 0, block = 0;  // channel: one of ArcExtractor::Channel
    std::size_t n_codes = 1;             // 1: the same weight for all codes of the block
    unsigned bits = 22;

    std::size_t n_weights() const { return n_codes << bits; }
};

// Sentences as templates about arcs see them. Immutable.
struct ArcSentences {
    std::shared_ptr<const Columns> columns;
    std::shared_ptr<const ArcExtractor> extractor;
    std::shared_ptr<const ArcTable> table;
};

std::vector<Channel> arc_channels(const ArcSentences& sentences, std::shared_ptr<const Lists> shapes,
                                  const std::vector<ArcChannel>& channels, const DerivationStructure& structure);

// A trained model: weights of single precision, those of one channel after the other. Views into memory that the caller
// keeps alive. Immutable; any number of threads may use it.
class ArcModel {
public:
    // Throws std::invalid_argument unless there are as many weights as the channels have.
    ArcModel(std::shared_ptr<const DerivationStructure> structure, std::vector<ArcChannel> channels,
             std::span<const float> weights);

    const DerivationStructure& structure() const { return *structure_; }

    // visit(sentence, its scores of parts, a workspace) for all sentences, from several threads at a time.
    using Visit = std::function<void(std::size_t, std::vector<double>&, Workspace&)>;
    void each(const ArcSentences& sentences, std::shared_ptr<const Lists> shapes, std::size_t n_jobs,
              const Visit& visit) const;

    // Sentences with more words are looked at by pruned() through a window: words may have heads that are near, or the
    // root.
    static constexpr std::uint32_t kLong = 300, kNear = 100;

    // Shapes that leave each word the `most` heads with the highest scores of arcs, lowest heads first among equals,
    // and of these the ones within `margin` of the best; `kept` (by word of all sentences, kNoWord for none) are always
    // among them, and so is the word before, so that there is a tree. Block 0 must be arcs with one code.
    Lists pruned(const ArcSentences& sentences, std::size_t most, double margin, std::span<const std::uint32_t> kept,
                 std::size_t n_jobs) const;

private:
    std::shared_ptr<const DerivationStructure> structure_;
    std::vector<ArcChannel> channels_;
    std::span<const float> weights_;
};

// Shapes in which every word may have every head; in the long sentences that pruned() speaks of, those near it and the
// `kept` one.
Lists unpruned(const ArcTable& table);
Lists first_look(const ArcTable& table, std::span<const std::uint32_t> kept);

}  // namespace tw::linear
