#include "arc_units.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "../structures/dependency.hpp"

namespace tw::linear {

void arcs_of(std::span<const std::uint32_t> shape, std::vector<WordTuple>& out) {
    out.clear();
    const std::uint32_t n = shape[0];
    if (shape.size() == 1) {
        for (std::uint32_t head = 0; head <= n; ++head)
            for (std::uint32_t modifier = 0; modifier <= n; ++modifier)
                out.push_back({head, head == modifier ? 0 : modifier});
        return;
    }
    const std::uint32_t* heads = shape.data() + n + 2;
    for (std::uint32_t modifier = 1; modifier <= n; ++modifier)
        for (std::uint32_t i = shape[modifier]; i < shape[modifier + 1]; ++i) out.push_back({heads[i], modifier});
}

ArcUnits::ArcUnits(std::shared_ptr<const ArcExtractor> extractor, std::shared_ptr<const ArcTable> table,
                   std::shared_ptr<const Lists> shapes, std::size_t channel, unsigned bits)
    : extractor_(std::move(extractor)),
      table_(std::move(table)),
      shapes_(std::move(shapes)),
      channel_(channel),
      bits_(bits) {
    if (channel >= ArcExtractor::kChannels.size()) throw std::invalid_argument("there is no such channel");
    if (bits < 1 || bits > 30) throw std::invalid_argument("hash_bits must be from 1 to 30");
    if (shapes_->size() != table_->size()) throw std::invalid_argument("there must be one shape for each sentence");
    for (std::size_t i = 0; i < shapes_->size(); ++i)
        if (DependencyArcs((*shapes_)[i], 1).n_words() != table_->n_words(i))
            throw std::invalid_argument("sentence " + std::to_string(i) + ": its shape is of another one");
}

std::size_t ArcUnits::n_sites(std::size_t example) const {
    const Shape shape = (*shapes_)[example];
    if (of_words()) return 2 * (shape[0] + std::size_t{1});
    if (channel_ == ArcExtractor::kSibling) return DependencySites(shape, {1, true, false}).blocks()[1].n_sites;
    if (channel_ == ArcExtractor::kGrandparent) return DependencySites(shape, {1, false, true}).blocks()[1].n_sites;
    return DependencyArcs(shape, 1).n_sites();
}

void ArcUnits::words(std::size_t example, std::vector<WordTuple>& out) const {
    const auto shape = (*shapes_)[example];
    if (channel_ == ArcExtractor::kSibling || channel_ == ArcExtractor::kGrandparent) {
        const bool siblings = channel_ == ArcExtractor::kSibling;
        const DependencySites sites(shape, {1, siblings, !siblings});
        out.clear();
        if (siblings)
            for (const auto& [head, sibling, modifier] : sites.siblings()) out.push_back({head, modifier, sibling});
        else
            for (const auto& [grand, head, modifier] : sites.grandparents()) out.push_back({head, modifier, grand});
        return;
    }
    if (!of_words()) return arcs_of(shape, out);
    out.clear();
    for (std::uint32_t word = 0; word <= shape[0]; ++word)
        for (const bool right : {false, true}) {
            if (channel_ == ArcExtractor::kLabelHead)
                out.push_back({word, right ? word + 1 : word == 0 ? 0 : word - 1});
            else
                out.push_back({right ? word == 0 ? 0 : word - 1 : word + 1, word});
        }
}

void ArcUnits::add(std::size_t example, const WordTuple& words, UnitLists& out, Space& space) const {
    const bool used = channel_ == ArcExtractor::kLabelHead ? words.head != words.modifier : words.modifier != 0;
    const std::uint32_t mask = static_cast<std::uint32_t>((std::size_t{1} << bits_) - 1);
    std::uint32_t* to = out.room(extractor_->most(channel_, table_->n_words(example)));
    if (used)
        extractor_->each(*table_, example, words, channel_, space.of_extractor,
                         [&](Key key) { *to++ = static_cast<std::uint32_t>(key) & mask; });
    out.end_site(to);
}

void ArcUnits::units(std::size_t example, std::span<const std::uint32_t> sites, UnitLists& out,
                     UnitSource::Scratch& scratch) const {
    auto& space = static_cast<Space&>(scratch);
    words(example, space.words);
    out.clear();
    for (const std::uint32_t site : sites) add(example, space.words[site], out, space);
    out.end();
}

void ArcUnits::all_units(std::size_t example, UnitLists& out, UnitSource::Scratch& scratch) const {
    auto& space = static_cast<Space&>(scratch);
    words(example, space.words);
    out.clear();
    for (const WordTuple& of_site : space.words) add(example, of_site, out, space);
    out.end();
}

void ArcUnits::map(std::size_t example, std::vector<std::uint32_t>& out) const {
    std::vector<WordTuple> arcs;
    arcs_of((*shapes_)[example], arcs);
    out.clear();
    for (const WordTuple& arc : arcs) {
        const std::uint32_t word = channel_ == ArcExtractor::kLabelHead ? arc.head : arc.modifier;
        out.push_back(2 * word + (arc.modifier > arc.head));
    }
}

}  // namespace tw::linear
