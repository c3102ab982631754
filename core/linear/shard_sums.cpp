#include "shard_sums.hpp"

namespace tw::linear {

// Cut where the work, counted in units and parts, is about the same.
ShardSums::ShardSums(const Features& features, std::size_t n_examples) : features_(features) {
    constexpr std::size_t kMadeUnits = 64;                 // of a site, about
    constexpr std::size_t kShards = 8, kWorthAShard = 64;  // with fewer examples a thread costs more than it saves
    std::vector<std::size_t> work{0};
    for (std::size_t i = 0; i < n_examples; ++i) {
        std::size_t n = 1 + features.n_parts(i);
        for (const Channel& channel : features.channels())
            n += channel.source  ? kMadeUnits * channel.n_sites(i)
                 : channel.dense ? channel.n_units * channel.n_sites(i)
                                 : channel.rows.starts[channel.first[i + 1]] - channel.rows.starts[channel.first[i]];
        work.push_back(work.back() + n);
    }
    shards_.resize(std::clamp(n_examples / kWorthAShard, std::size_t{1}, kShards));
    std::size_t first = 0;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        const std::size_t goal = static_cast<std::size_t>(
            static_cast<double>(work.back()) * static_cast<double>(s + 1) / static_cast<double>(shards_.size()));
        const auto cut = std::lower_bound(work.begin(), work.end(), goal) - work.begin();
        shards_[s].first_ = first;
        shards_[s].last_ = first =
            s + 1 == shards_.size() ? n_examples : std::max(first, static_cast<std::size_t>(cut));
        lay_out(shards_[s]);
    }
}

void ShardSums::lay_out(Shard& shard) const {
    const WeightIndex& index = features_.index();
    shard.n_own_ = index.n_own();
    std::uint32_t size = 0;
    for (std::size_t c = 0; c < features_.channels().size(); ++c) {
        const Channel& channel = features_.channels()[c];
        std::vector<std::uint32_t>& at = shard.at_.emplace_back(channel.n_units, kNone);
        Features::Scratch space;
        for (std::size_t example = shard.first_; example < shard.last_; ++example)
            features_.each_unit_of(c, example, space, [&](std::uint32_t unit) { at[unit] = 0; });
        for (std::uint32_t unit = 0; unit < channel.n_units; ++unit) {
            if (at[unit] == kNone) continue;
            at[unit] = size;
            size += index.begin(c, unit + 1) - index.begin(c, unit);
        }
    }
    shard.sums_.resize(size);
}

double ShardSums::add_up(std::span<double> out, std::size_t n_jobs) const {
    constexpr std::size_t kChunks = 16, kWorthAThread = 50000;
    const WeightIndex& index = features_.index();
    for (std::size_t c = 0; c < features_.channels().size(); ++c) {
        const std::size_t n_units = features_.channels()[c].n_units;
        parallel_for(kChunks, n_units < kWorthAThread ? 1 : n_jobs, [&](std::size_t chunk, std::size_t) {
            const std::size_t end = (chunk + 1) * n_units / kChunks;
            for (std::size_t unit = chunk * n_units / kChunks; unit < end; ++unit) {
                const std::size_t begin = index.begin(c, unit), n = index.begin(c, unit + 1) - begin;
                std::fill_n(out.data() + begin, n, 0.0);
                for (const Shard& shard : shards_) {
                    const std::uint32_t at = shard.at_[c][unit];
                    if (at == kNone) continue;
                    for (std::size_t k = 0; k < n; ++k) out[begin + k] += shard.sums_[at + k];
                }
            }
        });
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(index.n_own()), out.end(), 0.0);
    double total = 0.0;
    for (const Shard& shard : shards_) {
        total += shard.total_;
        for (std::size_t i = 0; i < shard.added_.size(); ++i) out[index.n_own() + i] += shard.added_[i];
    }
    return total;
}

}  // namespace tw::linear
