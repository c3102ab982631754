#include "arc_model.hpp"

#include <algorithm>
#include <stdexcept>

#include "../base/parallel.hpp"
#include "../structures/dependency.hpp"
#include "arc_units.hpp"
#include "features.hpp"

namespace tw::linear {

std::vector<Channel> arc_channels(const ArcSentences& sentences, std::shared_ptr<const Lists> shapes,
                                  const std::vector<ArcChannel>& channels, const DerivationStructure& structure) {
    const std::uint32_t one = 1;
    const std::vector<Block> blocks = structure.blocks({&one, 1});
    std::vector<Channel> out;
    for (const ArcChannel& from : channels) {
        if (from.block >= blocks.size()) throw std::invalid_argument("a channel feeds no block");
        const auto source =
            std::make_shared<ArcUnits>(sentences.extractor, sentences.table, shapes, from.channel, from.bits);
        Channel& channel = out.emplace_back();
        channel.name = ArcExtractor::kChannels[from.channel];
        channel.block = from.block;
        const bool of_words = from.channel == ArcExtractor::kLabelHead || from.channel == ArcExtractor::kLabelModifier;
        channel.sites = of_words ? Channel::Sites::kMapped : Channel::Sites::kEach;
        channel.n_codes = from.n_codes;
        channel.n_units = source->n_units();
        if (from.n_codes == 1 && blocks[from.block].n_codes != 1) channel.codes.assign(blocks[from.block].n_codes, 0);
        channel.first.push_back(0);
        for (std::size_t i = 0; i < shapes->size(); ++i)
            channel.first.push_back(channel.first.back() + source->n_sites(i));
        channel.source = source;
    }
    return out;
}

ArcModel::ArcModel(std::shared_ptr<const DerivationStructure> structure, std::vector<ArcChannel> channels,
                   std::span<const float> weights)
    : structure_(std::move(structure)), channels_(std::move(channels)), weights_(weights) {
    std::size_t n = 0;
    for (const ArcChannel& channel : channels_) {
        if (channel.bits < 1 || channel.bits > 30) throw std::invalid_argument("hash_bits must be from 1 to 30");
        n += channel.n_weights();
    }
    if (n != weights_.size()) throw std::invalid_argument("there are more or fewer weights than the channels have");
}

void ArcModel::each(const ArcSentences& sentences, std::shared_ptr<const Lists> shapes, std::size_t n_jobs,
                    const Visit& visit) const {
    Features features(*structure_, *shapes, arc_channels(sentences, shapes, channels_, *structure_));
    features.set_weights(std::vector<WeightTable>(channels_.size()), false);
    struct Space {
        Features::Scratch features;
        std::vector<double> scores;
        std::unique_ptr<Workspace> structure;
    };
    const std::size_t n = shapes->size();
    std::vector<Space> spaces(std::clamp<std::size_t>(n_jobs, 1, std::max<std::size_t>(1, n)));
    parallel_for(n, spaces.size(), [&](std::size_t i, std::size_t worker) {
        Space& space = spaces[worker];
        if (!space.structure) space.structure = structure_->workspace();
        space.scores.resize(features.n_parts(i));
        features.scores({{}, 1.0, weights_}, i, space.scores.data(), space.features);
        visit(i, space.scores, *space.structure);
    });
}

Lists unpruned(const ArcTable& table) {
    Lists out;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const auto n = static_cast<std::uint32_t>(table.n_words(i));
        out.push_back({&n, 1});
    }
    return out;
}

Lists first_look(const ArcTable& table, std::span<const std::uint32_t> kept) {
    Lists out;
    std::vector<std::uint32_t> shape, heads;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const auto n = static_cast<std::uint32_t>(table.n_words(i));
        if (n <= ArcModel::kLong) {
            out.push_back({&n, 1});
            continue;
        }
        shape.assign(n + 2, 0);
        shape[0] = n;
        heads.clear();
        for (std::uint32_t m = 1; m <= n; ++m) {
            const std::uint32_t first = m > ArcModel::kNear ? m - ArcModel::kNear : 1;
            const std::uint32_t last = std::min(n, m + ArcModel::kNear);
            const std::uint32_t gold = kept.empty() ? kNoWord : kept[table.starts[i] - i + m - 1];
            heads.push_back(0);
            if (gold > 0 && gold < first) heads.push_back(gold);
            for (std::uint32_t h = first; h <= last; ++h)
                if (h != m) heads.push_back(h);
            if (gold > last && gold <= n) heads.push_back(gold);
            shape[m + 1] = static_cast<std::uint32_t>(heads.size());
        }
        shape.insert(shape.end(), heads.begin(), heads.end());
        out.push_back(shape);
    }
    return out;
}

Lists ArcModel::pruned(const ArcSentences& sentences, std::size_t most, double margin,
                       std::span<const std::uint32_t> kept, std::size_t n_jobs) const {
    const ArcTable& table = *sentences.table;
    if (most < 1) throw std::invalid_argument("each word must have a head");
    const auto wide = std::make_shared<const Lists>(first_look(table, kept));
    std::vector<std::vector<std::uint32_t>> shapes(table.size());
    each(sentences, wide, n_jobs, [&](std::size_t i, std::vector<double>& scores, Workspace&) {
        const DependencyArcs arcs((*wide)[i], 1);
        const auto n = static_cast<std::uint32_t>(table.n_words(i));
        const std::size_t first = table.starts[i] - i;  // of its words, in those of all sentences
        struct Choice {
            double score;
            std::uint32_t head;
            bool operator<(const Choice& other) const {  // is better
                return score != other.score ? score > other.score : head < other.head;
            }
        };
        std::vector<Choice> choices;
        std::vector<std::uint32_t> heads, order;
        std::vector<std::uint32_t>& shape = shapes[i];
        shape.assign(n + 2, 0);
        shape[0] = n;
        for (std::uint32_t m = 1; m <= n; ++m) {
            choices.clear();
            arcs.each_head(m, [&](std::uint32_t h, std::uint32_t site) { choices.push_back({scores[site], h}); });
            const std::size_t size = std::min(most, choices.size());
            std::partial_sort(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(size), choices.end());
            order.clear();
            for (std::size_t c = 0; c < size && choices[c].score >= choices[0].score - margin; ++c)
                order.push_back(choices[c].head);
            const std::uint32_t gold = kept.empty() ? kNoWord : kept[first + m - 1];
            for (const std::uint32_t head : {m - 1, gold})
                if (head <= n && head != m && std::ranges::find(order, head) == order.end()) order.push_back(head);
            std::ranges::sort(order);
            heads.insert(heads.end(), order.begin(), order.end());
            shape[m + 1] = static_cast<std::uint32_t>(heads.size());
        }
        shape.insert(shape.end(), heads.begin(), heads.end());
    });
    Lists out;
    for (const auto& shape : shapes) out.push_back(shape);
    return out;
}

}  // namespace tw::linear
