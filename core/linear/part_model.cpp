#include "part_model.hpp"

#include <algorithm>
#include <stdexcept>

#include "../base/parallel.hpp"

namespace tw::linear {
namespace {

constexpr std::size_t kBlockSites = 1024;       // scored at a time: the sums of sites stay in cache
constexpr std::size_t kWorthExpanding = 16384;  // sites after which rows laid out for speed have paid for themselves
constexpr double kMostExpandedBytes = 1e9;

std::size_t offset(const std::vector<Block>& blocks, std::size_t of) {
    std::size_t total = 0;
    for (std::size_t b = 0; b < of; ++b) total += blocks[b].size();
    return total;
}

}  // namespace

PartModel::PartModel(std::shared_ptr<const DerivationStructure> structure, std::vector<ModelChannel> channels,
                     const Tensors& tensors, unsigned hash_bits, std::size_t n_lengths)
    : structure_(std::move(structure)), n_lengths_(n_lengths) {
    const std::vector<Block> blocks = structure_->blocks(std::vector<std::uint32_t>(n_lengths, 1));
    for (ModelChannel& channel : channels) {
        const Channel& feeds = channel.feeds;
        const std::string prefix = "channel." + feeds.name;
        if (feeds.block >= blocks.size()) throw std::invalid_argument("channel " + feeds.name + " feeds no block");
        if ((feeds.codes.empty() ? feeds.n_codes : feeds.codes.size()) != blocks[feeds.block].n_codes)
            throw std::invalid_argument("channel " + feeds.name + " has codes for another number than block " +
                                        blocks[feeds.block].name);
        Held& held = channels_.emplace_back();
        if (feeds.sites == Channel::Sites::kTied)
            held.dense = tied_weights(tensors, prefix, feeds.n_codes);
        else
            held.rows.emplace(tensors, prefix, feeds.n_codes, hash_bits);
        held.channel = std::move(channel);
    }
}

const PartModel::Held* PartModel::find(std::string_view channel) const {
    const auto found = std::ranges::find_if(channels_, [&](const Held& h) { return h.channel.feeds.name == channel; });
    return found == channels_.end() || !found->rows ? nullptr : &*found;
}

bool PartModel::has(std::string_view channel) const { return find(channel) != nullptr; }

const WeightRows& PartModel::rows(std::string_view channel) const {
    if (const Held* held = find(channel)) return *held->rows;
    throw std::invalid_argument("the model has no channel of attributes " + std::string(channel));
}

void PartModel::expect(std::size_t n_sites) const {
    if (expanded_.load(std::memory_order_acquire)) return;
    if (n_scored_.fetch_add(n_sites, std::memory_order_relaxed) + n_sites < kWorthExpanding) return;
    std::call_once(expanding_, [&] {
        double bytes = 0.0;
        for (const Held& held : channels_) bytes += held.rows ? ExpandedRows::bytes(*held.rows) : 0.0;
        if (bytes > kMostExpandedBytes) return;
        for (const Held& held : channels_)
            if (held.rows) held.expanded = std::make_unique<ExpandedRows>(*held.rows);
        expanded_.store(true, std::memory_order_release);
    });
}

void PartModel::scores(const Sources& sources, std::size_t first, std::size_t last, Scratch& space,
                       std::span<std::vector<double>> out) const {
    std::vector<std::vector<Block>> blocks;
    std::vector<std::uint32_t> shape;
    for (std::size_t i = first; i < last; ++i) {
        shape.clear();
        for (const Source* source : sources.first(n_lengths_))
            shape.push_back(static_cast<std::uint32_t>(source->length(i)));
        blocks.push_back(structure_->blocks(shape));
        std::size_t n_parts = 0;
        for (const Block& block : blocks.back()) n_parts += block.size();
        out[i - first].assign(n_parts, 0.0);
    }
    space.attributes.resize(sources.size());
    for (std::size_t s = 0; s < sources.size(); ++s) sources[s]->attributes(first, last, space.attributes[s]);
    for (const Held& held : channels_) {
        const Channel& feeds = held.channel.feeds;
        const double* of_sites = held.dense.data();
        const Source& source = *sources[held.channel.source];
        if (held.rows) {
            const std::size_t channel = source.find(feeds.name);
            if (channel == kNoChannel) continue;
            const AttributeList& list = space.attributes[held.channel.source][channel];
            space.sums.resize(list.n_sites() * feeds.n_codes + Model::kSlack);
            if (expanded_.load(std::memory_order_acquire) && held.expanded)
                held.expanded->sum(list, space.found, space.sums.data());
            else
                held.rows->sum(list, space.sums.data());
            of_sites = space.sums.data();
        }
        for (std::size_t i = first; i < last; ++i) {
            const Block& block = blocks[i - first][feeds.block];
            const std::size_t n_sites = held.rows ? source.length(i) : 1;
            double* parts = out[i - first].data() + offset(blocks[i - first], feeds.block);
            feeds.spread(of_sites, n_sites, block.n_sites, block.n_codes, parts, space.spread);
            if (held.rows) of_sites += n_sites * feeds.n_codes;
        }
    }
}

std::vector<std::vector<double>> PartModel::scores(const Sources& sources, std::size_t n_jobs) const {
    const std::size_t n = sources[0]->n_sequences();
    std::vector<std::size_t> ends;
    std::size_t sites = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (const Source* source : sources) sites += source->length(i);
        if (sites >= kBlockSites || i + 1 == n) {
            ends.push_back(i + 1);
            expect(sites);
            sites = 0;
        }
    }
    std::vector<std::vector<double>> out(n);
    std::vector<Scratch> spaces(std::clamp<std::size_t>(n_jobs, 1, std::max<std::size_t>(1, ends.size())));
    parallel_for(ends.size(), spaces.size(), [&](std::size_t b, std::size_t worker) {
        const std::size_t first = b == 0 ? 0 : ends[b - 1];
        scores(sources, first, ends[b], spaces[worker], std::span(out).subspan(first, ends[b] - first));
    });
    return out;
}

}  // namespace tw::linear
