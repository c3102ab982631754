#include "tagger.hpp"

#include <algorithm>
#include <stdexcept>

#include "../base/parallel.hpp"
#include "../base/semiring.hpp"
#include "../linear/run_rows.hpp"
#include "pruned_search.hpp"

namespace tw::chain {
namespace {

// Tokens in a block: enough sequences to advance side by side at similar lengths, few enough to stay in cache.
constexpr std::size_t kBlockTokens = 1024;

// Where single precision leaves more than this share of a block undecided, which are then searched one by one, it does
// not pay; after so many blocks it is tried again.
constexpr double kMostUnsure = 0.05;
constexpr std::size_t kBlocksWithout = 16;

struct Block {
    std::size_t first, last;  // sequences
    std::size_t token;        // the first token of the first sequence
};

std::vector<Block> blocks(const Source& source) {
    std::vector<Block> out;
    std::size_t token = 0, in_block = kBlockTokens;
    for (std::size_t i = 0; i < source.n_sequences(); ++i) {
        if (in_block >= kBlockTokens) {
            out.push_back({i, i, token});
            in_block = 0;
        }
        token += source.length(i);
        in_block += source.length(i) + 1;  // one more: a million empty sequences are many blocks too
        out.back().last = i + 1;
    }
    return out;
}

// Runs work(block, its number, decoder) for every block; each worker has a decoder of its own.
template <class Work>
void each_block(const Model& model, const Source& source, std::size_t width, std::size_t n_jobs, Work work) {
    model.expect(source.n_sites());
    const std::vector<Block> all = blocks(source);
    std::vector<Decoder> decoders;
    const std::size_t n_workers = std::clamp<std::size_t>(n_jobs, 1, std::max<std::size_t>(1, all.size()));
    decoders.reserve(n_workers);
    for (std::size_t i = 0; i < n_workers; ++i) decoders.emplace_back(model, width);
    parallel_for(all.size(), n_workers, [&](std::size_t b, std::size_t worker) { work(all[b], b, decoders[worker]); });
}

struct Answers {
    std::int32_t* labels;
    double* marginals;  // or null
};

// Decodes every block into answers(block, scratch); throws if all labellings of a sequence are forbidden.
template <class Where>
void decode_all(const Model& model, const Source& source, std::size_t width, std::size_t n_jobs, Where answers) {
    std::vector<std::size_t> dead;  // by block, so that the first is named whichever thread finds it
    const std::size_t none = source.n_sequences();
    dead.assign(blocks(source).size(), none);
    each_block(model, source, width, n_jobs, [&](const Block& block, std::size_t b, Decoder& decoder) {
        std::vector<std::int32_t> scratch;
        const Answers out = answers(block, scratch);
        const std::size_t found = decoder.decode(source, block.first, block.last, out.labels, out.marginals);
        if (found != block.last) dead[b] = found;
    });
    for (const std::size_t sequence : dead)
        if (sequence != none)
            throw std::invalid_argument("sequence " + std::to_string(sequence) +
                                        ": the constraints of the model forbid every labelling of it");
}

Potentials potentials(const Model& model) {
    return {model.n_labels(), model.transitions().data(), false, model.start().data(), model.end().data()};
}

}  // namespace

// The place of a channel among attributes; a list without any is added where the source has no such channel.
std::size_t place_of(std::string_view name, const Source& source, Attributes& attributes) {
    const std::size_t channel = source.find(name);
    if (channel != kNoChannel) return channel;
    const std::size_t n_sites = attributes.front().n_sites();
    attributes.emplace_back().starts.assign(n_sites + 1, 0);
    return attributes.size() - 1;
}

// Where the source is columns seen through templates, what is known of runs of their cells need not be looked up anew.
bool Decoder::look_up_runs(const Source& source, std::size_t first, std::size_t last) {
    const auto* columns = dynamic_cast<const ColumnSource*>(&source);
    if (!columns) return false;
    for (std::size_t i = first; i < last; ++i)
        if (source.length(i) >= RunRows::kTooLong) return false;
    if (!runs_ || runs_->extractor() != &columns->extractor())
        runs_ = model_.run_rows(columns->shared_extractor(), false);
    if (!runs_) return false;
    runs_->extract(columns->columns(), first, last, attributes_);
    return true;
}

void Decoder::score(const Source& source, std::size_t first, std::size_t last) {
    const bool by_runs = look_up_runs(source, first, last);
    if (!by_runs) source.attributes(first, last, attributes_);
    const std::size_t token = place_of(kTokenChannel, source, attributes_);
    const std::size_t pair = model_.pairs() ? place_of(kPairChannel, source, attributes_) : token;
    const AttributeList &tokens = attributes_[token], &pairs = attributes_[pair];
    const std::size_t K = model_.n_labels(), n = tokens.n_sites();
    lengths_.clear();
    for (std::size_t i = first; i < last; ++i) {
        lengths_.push_back(source.length(i));
        if (K > (std::size_t{1} << 31) / std::max<std::size_t>(1, lengths_.back()))
            throw std::invalid_argument("too many positions times labels: at most 2^31");
    }
    unary_.resize(n * K + Model::kSlack);
    model_.unary(tokens, found_, unary_.data());
    if (by_runs) runs_->add(unary_.data());
    if (!tokens.values.empty() && kernels().first_invalid(unary_.data(), n * K) != n * K)
        throw std::invalid_argument("a value of an attribute is NaN or infinite");
    if (!model_.pairs()) return;
    const std::size_t size = n * K * K;
    per_step_.resize(size + Model::kSlack);
    model_.per_step(pairs, found_, per_step_.data());
    if (!pairs.values.empty() && kernels().first_invalid(per_step_.data(), size) != size)
        throw std::invalid_argument("a value of an attribute is NaN or infinite");
}

std::size_t Decoder::decode(const Source& source, std::size_t first, std::size_t last, std::int32_t* labels,
                            double* marginals_out) {
    if (!marginals_out && rounding_pays(source, first, last))
        return decode_rounded(static_cast<const ColumnSource&>(source), first, last, labels);
    return decode_exactly(source, first, last, labels, marginals_out);
}

// Single precision is for exact searches in columns of which runs are remembered, with few labels, and for short
// sequences, several at a time; where it mostly decides.
bool Decoder::rounding_pays(const Source& source, std::size_t first, std::size_t last) {
    const std::size_t K = model_.n_labels();
    if (width_ != kExact || model_.pairs() || K > RoundedViterbi::kMostLabels || many_labels(K)) return false;
    if (last - first < kSideBySide) return false;
    const auto* columns = dynamic_cast<const ColumnSource*>(&source);
    if (!columns || columns->extractor().views().has_numbers()) return false;
    for (std::size_t i = first; i < last; ++i)
        if (source.length(i) > RoundedViterbi::kLongest) return false;
    if (!rounded_runs_ || rounded_runs_->extractor() != &columns->extractor())
        rounded_runs_ = model_.run_rows(columns->shared_extractor(), true);
    if (!rounded_runs_) return false;
    if (n_waiting_ == 0) return true;
    --n_waiting_;
    return false;
}

std::size_t Decoder::decode_rounded(const ColumnSource& source, std::size_t first, std::size_t last,
                                    std::int32_t* labels) {
    rounded_runs_->extract(source.columns(), first, last, attributes_);
    const AttributeList& rest = attributes_[place_of(kTokenChannel, source, attributes_)];
    if (!rounded_) rounded_.emplace(potentials(model_));
    const std::size_t K = model_.n_labels(), n = rest.n_sites(), padded = rounded_->padded();
    unary_.resize(n * K + Model::kSlack);
    rounded_unary_.resize(n * padded);
    model_.unary(rest, found_, unary_.data());
    const RunRows::Bounds bounds = rounded_runs_->add_rounded(unary_.data(), rounded_unary_.data(), padded);
    std::vector<std::size_t> lengths, numbers, unsure;
    for (std::size_t i = first; i < last; ++i) {
        if (source.length(i) == 0) continue;
        lengths.push_back(source.length(i));
        numbers.push_back(i);
    }
    rounded_->search(lengths, rounded_unary_.data(), bounds.error, bounds.largest, labels, unsure);
    if (static_cast<double>(unsure.size()) > kMostUnsure * static_cast<double>(lengths.size()))
        n_waiting_ = kBlocksWithout;
    std::size_t token = 0, chain = 0;
    for (const std::size_t u : unsure) {
        for (; chain < u; ++chain) token += lengths[chain];
        const std::size_t i = numbers[u];
        if (decode_exactly(source, i, i + 1, labels + token, nullptr) == i) return i;
    }
    return last;
}

std::size_t Decoder::decode_exactly(const Source& source, std::size_t first, std::size_t last, std::int32_t* labels,
                                    double* marginals_out) {
    score(source, first, last);
    if (model_.pairs()) return decode_per_step(first, last, labels, marginals_out);
    const std::size_t K = model_.n_labels();
    Batch batch{potentials(model_), {}, 1};
    std::vector<std::int32_t*> label_rows;
    std::vector<double*> marginal_rows;
    std::size_t token = 0;
    for (const std::size_t length : lengths_) {
        batch.sequences.push_back({unary_.data() + token * K, length});
        label_rows.push_back(labels + token);
        if (marginals_out) marginal_rows.push_back(marginals_out + token * K);
        token += length;
    }
    std::vector<double> best(lengths_.size(), 0.0);
    chain::argmax(batch, width_, label_rows, best.data());
    const auto dead = std::find(best.begin(), best.end(), kLogZero);
    if (dead == best.end() && marginals_out) chain::marginals(batch, marginal_rows);
    return first + static_cast<std::size_t>(dead - best.begin());
}

// Where transitions change from step to step, every sequence is a batch of its own.
std::size_t Decoder::decode_per_step(std::size_t first, std::size_t last, std::int32_t* labels, double* marginals_out) {
    const std::size_t K = model_.n_labels();
    std::size_t token = 0;
    for (std::size_t i = first; i < last; ++i) {
        const std::size_t length = lengths_[i - first];
        if (length == 0) continue;
        Batch batch{potentials(model_), {{unary_.data() + token * K, length}}, 1};
        batch.potentials.transitions = per_step_.data() + (token + 1) * K * K;
        batch.potentials.per_step = true;
        std::int32_t* label_row = labels + token;
        double* marginal_row = marginals_out ? marginals_out + token * K : nullptr;
        double best = 0.0;
        chain::argmax(batch, width_, {&label_row, 1}, &best);
        if (best == kLogZero) return i;
        if (marginals_out) chain::marginals(batch, {&marginal_row, 1});
        token += length;
    }
    return last;
}

void scores(const Model& model, const Source& source, std::size_t n_jobs, double* unary, double* transitions) {
    const std::size_t K = model.n_labels();
    each_block(model, source, kExact, n_jobs, [&](const Block& block, std::size_t, Decoder& decoder) {
        decoder.score(source, block.first, block.last);
        std::size_t token = block.token;
        for (std::size_t i = block.first; i < block.last; token += source.length(i), ++i) {
            const std::size_t length = source.length(i), from = token - block.token;
            std::copy_n(decoder.unary() + from * K, length * K, unary + token * K);
            if (!model.pairs() || length == 0) continue;
            std::fill_n(transitions + token * K * K, K * K, 0.0);
            std::copy_n(decoder.per_step() + (from + 1) * K * K, (length - 1) * K * K,
                        transitions + (token + 1) * K * K);
        }
    });
}

void argmax(const Model& model, const Source& source, std::size_t width, std::size_t n_jobs, std::int32_t* labels) {
    decode_all(model, source, width, n_jobs,
               [&](const Block& block, std::vector<std::int32_t>&) { return Answers{labels + block.token, nullptr}; });
}

void marginals(const Model& model, const Source& source, std::size_t n_jobs, double* out) {
    decode_all(model, source, kExact, n_jobs, [&](const Block& block, std::vector<std::int32_t>& unwanted) {
        std::size_t n = 0;
        for (std::size_t i = block.first; i < block.last; ++i) n += source.length(i);
        unwanted.resize(n);
        return Answers{unwanted.data(), out + block.token * model.n_labels()};
    });
}

Known known(const Model& model, const Source& source, std::size_t n_jobs) {
    const std::vector<Block> all = blocks(source);
    std::vector<Known> counts(all.size(), Known{0, 0});
    parallel_for(all.size(), std::max<std::size_t>(1, n_jobs), [&](std::size_t b, std::size_t) {
        Attributes attributes;
        source.attributes(all[b].first, all[b].last, attributes);
        const auto count = [&](const AttributeList& list, const WeightRows& rows) {
            counts[b].all += list.keys.size();
            for (const Key key : list.keys) {
                const std::uint32_t number = rows.find(key);
                counts[b].known += number != kNoAttribute && (!rows.hashed() || rows.row_size(number) > 0);
            }
        };
        for (std::size_t c = 0; c < attributes.size(); ++c)
            if (const WeightRows* rows = model.rows(source.channels()[c])) count(attributes[c], *rows);
    });
    Known total{0, 0};
    for (const Known& count : counts) total = {total.known + count.known, total.all + count.all};
    return total;
}

std::vector<Contribution> contributions(const Model& model, const Source& source, std::size_t sequence,
                                        std::string_view channel) {
    std::vector<Contribution> out;
    if (!model.rows(channel)) return out;
    const WeightRows& rows = *model.rows(channel);
    Attributes attributes;
    source.attributes(sequence, sequence + 1, attributes);
    const AttributeList& list = attributes[place_of(channel, source, attributes)];
    for (std::size_t t = channel == kPairChannel ? 1 : 0; t < list.n_sites(); ++t)
        for (std::size_t i = list.starts[t]; i < list.starts[t + 1]; ++i) {
            const std::uint32_t number = rows.find(list.keys[i]);
            if (number == kNoAttribute) continue;
            const double value = list.values.empty() ? 1.0 : static_cast<double>(list.values[i]);
            rows.each(number, [&](std::uint32_t code, double weight) {
                out.push_back({static_cast<std::int64_t>(t), static_cast<std::int64_t>(i - list.starts[t]), number,
                               static_cast<std::int32_t>(code), value * static_cast<double>(weight)});
            });
        }
    return out;
}

}  // namespace tw::chain
