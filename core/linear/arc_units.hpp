// Attributes of arcs as units of a channel, made when a sentence is visited (the hash kernel of Bohnet 2010): a unit is
// the last bits of a key, so that there is no table of keys, and attributes that only wrong arcs have get weights too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/lists.hpp"
#include "../text/arcs.hpp"
#include "channel.hpp"

namespace tw::linear {

class ArcUnits final : public UnitSource {
public:
    // `shapes`: of sentences, as core/structures/projective_tree.cpp has them. `channel`: one of ArcExtractor::Channel.
    // Throws std::invalid_argument when shapes and sentences do not fit each other.
    ArcUnits(std::shared_ptr<const ArcExtractor> extractor, std::shared_ptr<const ArcTable> table,
             std::shared_ptr<const Lists> shapes, std::size_t channel, unsigned bits);

    std::unique_ptr<UnitSource::Scratch> scratch() const override { return std::make_unique<Space>(); }
    std::size_t n_examples() const override { return shapes_->size(); }
    std::size_t n_sites(std::size_t example) const override;
    void units(std::size_t example, std::span<const std::uint32_t> sites, UnitLists& out,
               UnitSource::Scratch& space) const override;
    void all_units(std::size_t example, UnitLists& out, UnitSource::Scratch& space) const override;
    void map(std::size_t example, std::vector<std::uint32_t>& out) const override;

    std::size_t n_units() const { return std::size_t{1} << bits_; }
    // The words of each site; those of a site that is never used have modifier 0.
    void words(std::size_t example, std::vector<WordTuple>& out) const;

private:
    struct Space final : UnitSource::Scratch {
        std::vector<WordTuple> words;
        ArcExtractor::Scratch of_extractor;
    };
    bool of_words() const { return channel_ == ArcExtractor::kLabelHead || channel_ == ArcExtractor::kLabelModifier; }
    void add(std::size_t example, const WordTuple& words, UnitLists& out, Space& space) const;

    std::shared_ptr<const ArcExtractor> extractor_;
    std::shared_ptr<const ArcTable> table_;
    std::shared_ptr<const Lists> shapes_;
    std::size_t channel_;
    unsigned bits_;
};

// The words of the sites of block "arcs", in their order; modifier 0 where a site is never used.
void arcs_of(std::span<const std::uint32_t> shape, std::vector<WordTuple>& out);

}  // namespace tw::linear
