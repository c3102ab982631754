// Models of any structure as Python holds them: channels of examples on their way to an oracle, trained weights on
// theirs to a model, and answers about many sequences at once.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <optional>
#include <random>

#include "../base/parallel.hpp"
#include "../base/semiring.hpp"
#include "../linear/channel_tensors.hpp"
#include "../linear/oracle.hpp"
#include "../linear/part_model.hpp"
#include "arrays.hpp"
#include "buffers.hpp"
#include "sparse_arguments.hpp"
#include "tensor_arrays.hpp"

namespace tw::bind {
namespace {

using linear::Channel;
using linear::ChannelTensors;
using linear::LinearOracle;
using linear::PartModel;
using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Reals = nb::ndarray<nb::numpy, double>;

// (name, block, "each" | "tied" | "interval", longest, n_codes, codes by code of the block or none, source[, all
// codes[, not negative]]). In place of one code for each code of the block there may be several: (offsets, codes).
linear::ModelChannel channel_of(nb::handle from) {
    const auto spec = nb::cast<nb::tuple>(from);
    linear::ModelChannel out;
    out.feeds.name = nb::cast<std::string>(spec[0]);
    out.feeds.block = nb::cast<std::size_t>(spec[1]);
    const auto sites = nb::cast<std::string>(spec[2]);
    using Sites = Channel::Sites;
    require(sites == "each" || sites == "tied" || sites == "interval", "sites must be each, tied or interval");
    out.feeds.sites = sites == "each" ? Sites::kEach : sites == "tied" ? Sites::kTied : Sites::kInterval;
    out.feeds.longest = nb::cast<std::size_t>(spec[3]);
    require(sites != "interval" || out.feeds.longest >= 1, "longest must be at least 1");
    out.feeds.n_codes = nb::cast<std::size_t>(spec[4]);
    const bool several = nb::isinstance<nb::tuple>(spec[5]);
    const auto codes = nb::cast<Indices>(several ? nb::cast<nb::tuple>(spec[5])[1] : spec[5]);
    if (several) {
        const auto offsets = nb::cast<Indices>(nb::cast<nb::tuple>(spec[5])[0]);
        out.feeds.shares.starts = starts_of(offsets, codes.size());
        for (std::size_t i = 0; i < codes.size(); ++i) {
            require(codes.data()[i] >= 0 && codes.data()[i] < static_cast<std::int64_t>(out.feeds.n_codes),
                    "a code is out of range");
            out.feeds.shares.columns.push_back(static_cast<std::uint32_t>(codes.data()[i]));
        }
    }
    for (std::size_t i = 0; i < codes.size() && !several; ++i) {
        const std::int64_t code = codes.data()[i];
        require(code >= -1 && code < static_cast<std::int64_t>(out.feeds.n_codes), "a code is out of range");
        out.feeds.codes.push_back(code < 0 ? linear::kNoCode : static_cast<std::uint32_t>(code));
    }
    out.source = nb::cast<std::size_t>(spec[6]);
    out.feeds.all_codes = spec.size() > 7 && nb::cast<bool>(spec[7]);
    out.feeds.nonnegative = spec.size() > 8 && nb::cast<bool>(spec[8]);
    return out;
}

// Channels whose units are the attributes of examples: made into an oracle once.
class PartExamples {
public:
    PartExamples(const nb::list& channels, const nb::list& examples, std::size_t min_count, bool merged, bool by_member,
                 const std::optional<nb::list>& shapes) {
        const Variables variables = !merged ? Variables::kPlain : by_member ? Variables::kByMember : Variables::kScaled;
        std::vector<SiteExamples*> sources;
        for (const nb::handle one : examples) sources.push_back(nb::cast<SiteExamples*>(one));
        require(!sources.empty(), "there must be examples");
        for (const nb::handle spec : channels) {
            linear::ModelChannel channel = channel_of(spec);
            require(channel.source < sources.size(), "a channel has no examples");
            units_.push_back(linear::take_units(channel.feeds, *sources[channel.source], min_count, variables));
            if (!channel.feeds.n_members.empty()) variables_ = variables;
            channels_.push_back(channel.feeds);
            channels_.back().rows = {};  // the oracle's
            given_.push_back(std::move(channel.feeds));
        }
        if (shapes) {
            for (const nb::handle shape : *shapes) {
                const auto array = nb::cast<Numbers>(shape);
                shapes_.emplace_back(array.data(), array.data() + array.size());
            }
            return;
        }
        const auto& starts = sources[0]->sequence_starts;
        for (std::size_t i = 0; i + 1 < starts.size(); ++i)
            shapes_.push_back({static_cast<std::uint32_t>(starts[i + 1] - starts[i])});
    }

    // Outputs of all sequences one after the other; `ends`: where each ends.
    std::unique_ptr<LinearOracle> oracle(const DerivationStructure& structure, const Numbers& outputs,
                                         const Indices& ends, const std::optional<Vector>& weights,
                                         const std::string& combinations) {
        linear::Examples examples;
        const std::size_t n = shapes_.size();
        require(ends.size() == n, "there must be one output for each example");
        for (std::size_t i = 0, begin = 0; i < n; ++i) {
            const auto end = static_cast<std::size_t>(ends.data()[i]);
            require(begin <= end && end <= outputs.size(), "outputs have the wrong size");
            examples.outputs.emplace_back(outputs.data() + begin, outputs.data() + end);
            begin = end;
        }
        if (weights) examples.weights.assign(weights->data(), weights->data() + weights->size());
        for (const double w : examples.weights)
            require(std::isfinite(w) && w >= 0.0, "weights of examples must be finite numbers >= 0");
        return made(structure, std::move(examples), combinations);
    }

    // Outputs are labels of tokens, as the examples have them; `order` is from their codes to labels.
    std::unique_ptr<LinearOracle> label_oracle(const DerivationStructure& structure, const Examples& tokens,
                                               const Labels& order, const std::optional<Matrix>& cost,
                                               const std::string& combinations) {
        linear::Examples examples;
        const auto label = [&](std::int32_t code) {
            require(static_cast<std::size_t>(code) < order.size(), "a label has no number");
            return static_cast<std::uint32_t>(order.data()[code]);
        };
        std::vector<std::uint32_t> labels;
        for (std::size_t i = 0; i < tokens.n_sequences(); ++i) {
            std::vector<std::uint32_t> output;
            for (std::size_t t = tokens.sequence_starts[i]; t < tokens.sequence_starts[i + 1]; ++t) {
                labels.clear();
                for (const std::int32_t code : tokens.allowed(t)) labels.push_back(label(code));
                std::ranges::sort(labels);
                if (tokens.partly_labelled())
                    examples.allowed.push_back(labels);
                else
                    output.push_back(labels.front());
            }
            if (!tokens.partly_labelled()) examples.outputs.push_back(std::move(output));
        }
        examples.weights = tokens.sequence_weights;
        examples.site_weights.assign(tokens.token_weights.begin(), tokens.token_weights.end());
        if (cost) examples.cost.assign(cost->data(), cost->data() + cost->size());
        return made(structure, std::move(examples), combinations);
    }

    nb::dict exported(const LinearOracle& oracle, const Vector& weights) const {
        nb::dict out;
        for (std::size_t c = 0; c < channels_.size(); ++c) {
            ChannelTensors tensors;
            {
                const Unlocked unlocked;
                tensors = linear::tensors_of(units_[c], oracle.features().index(), c, channels_[c].n_codes,
                                             {weights.data(), weights.size()});
            }
            put_channel(out, channels_[c].name, tensors, channels_[c].n_codes, units_[c].tied);
        }
        return out;
    }

    // Where to start from a model; weights that it has and the oracle does not yet are made, if the oracle's grow.
    auto weights_from(LinearOracle& oracle, const nb::dict& tensors) const {
        require(variables_ == Variables::kPlain, "to start from a model, attributes must not be merged");
        HeldTensors held;
        held.take(tensors);
        const linear::WeightIndex& index = oracle.features().index();
        std::vector<double> missing, weights;
        const Unlocked unlocked;
        each_weight(held.views(), [&](std::size_t channel, std::uint32_t unit, std::uint32_t code, double weight) {
            if (weight != 0.0 && index.grows() && index.find(channel, unit, code) == linear::kNoWeight)
                missing.insert(missing.end(),
                               {static_cast<double>(channel), static_cast<double>(unit), static_cast<double>(code)});
        });
        if (!missing.empty()) oracle.grow_again(missing);
        weights.assign(oracle.n_weights(), 0.0);
        each_weight(held.views(), [&](std::size_t channel, std::uint32_t unit, std::uint32_t code, double weight) {
            const std::uint32_t found = index.find(channel, unit, code);
            if (found != linear::kNoWeight) weights[found] += weight;
        });
        return weights;
    }

private:
    std::unique_ptr<LinearOracle> made(const DerivationStructure& structure, linear::Examples examples,
                                       const std::string& combinations) {
        require(given_.size() == channels_.size(), "these examples were already made into an oracle");
        require(combinations == "seen" || combinations == "all" || combinations == "grown",
                "combinations must be seen, all or grown");
        examples.shapes = shapes_;
        if (examples.weights.empty()) examples.weights.assign(shapes_.size(), 1.0);
        examples.variables = variables_;
        examples.channels = std::move(given_);
        given_.clear();
        const auto named = combinations == "seen"  ? linear::Combinations::kSeen
                           : combinations == "all" ? linear::Combinations::kAll
                                                   : linear::Combinations::kGrown;
        const auto held = shared(structure);
        const Unlocked unlocked;
        return std::make_unique<LinearOracle>(held, std::move(examples), named);
    }

    template <class Visit>
    void each_weight(const Tensors& tensors, Visit visit) const {
        for (std::size_t c = 0; c < channels_.size(); ++c) {
            const std::string prefix = "channel." + channels_[c].name;
            const std::size_t n_codes = channels_[c].n_codes;
            if (!tensors.contains(prefix + ".weights")) continue;
            const auto add = [&](std::uint32_t unit, std::uint32_t code, double weight) {
                visit(c, unit, code, weight);
            };
            if (!units_[c].tied) {
                linear::each_known_weight(units_[c], WeightRows(tensors, prefix, n_codes, units_[c].hash_bits), add);
                continue;
            }
            const std::vector<double> dense = tied_weights(tensors, prefix, n_codes);
            for (std::uint32_t code = 0; code < n_codes; ++code) add(0, code, dense[code]);
        }
    }

    std::vector<Channel> channels_, given_;
    std::vector<linear::ChannelUnits> units_;
    std::vector<std::vector<std::uint32_t>> shapes_;
    Variables variables_ = Variables::kPlain;
};

class BoundPartModel {
public:
    BoundPartModel(const DerivationStructure& structure, const nb::list& channels, const nb::dict& tensors,
                   unsigned hash_bits, const std::optional<Numbers>& shape) {
        held_.take(tensors);
        std::vector<linear::ModelChannel> read;
        for (const nb::handle spec : channels) {
            read.push_back(channel_of(spec));
            n_sources_ = std::max(n_sources_, read.back().source + 1);
        }
        if (shape)
            model_ = std::make_unique<PartModel>(shared(structure), std::move(read), held_.views(), hash_bits,
                                                 Shape{shape->data(), shape->size()});
        else
            model_ = std::make_unique<PartModel>(shared(structure), std::move(read), held_.views(), hash_bits);
    }

    const PartModel& model() const { return *model_; }

    nb::list scores(const nb::list& sources, std::size_t n_jobs, const std::optional<nb::list>& shapes) const {
        const std::vector<const Source*> all = sources_of(sources);
        Lists given;
        for (std::size_t i = 0; shapes && i < shapes->size(); ++i) {
            const auto array = nb::cast<Numbers>((*shapes)[i]);
            given.push_back({array.data(), array.size()});
        }
        std::vector<std::vector<double>> found;
        {
            const Unlocked unlocked;
            found = model_->scores(all, n_jobs, given);
        }
        nb::list out;
        for (const std::vector<double>& one : found) out.append(to_numpy(one, {one.size()}));
        return out;
    }

    // How many attributes the model knows, of how many.
    std::pair<std::size_t, std::size_t> known(const nb::list& sources) const {
        std::size_t known = 0, all = 0;
        for (const Source* source : sources_of(sources)) {
            Attributes attributes;
            source->attributes(0, source->n_sequences(), attributes);
            for (std::size_t c = 0; c < attributes.size(); ++c) {
                if (!model_->has(source->channels()[c])) continue;
                const WeightRows& rows = model_->rows(source->channels()[c]);
                all += attributes[c].keys.size();
                for (const Key key : attributes[c].keys) {
                    const std::uint32_t number = rows.find(key);
                    known += number != kNoAttribute && (!rows.hashed() || rows.row_size(number) > 0);
                }
            }
        }
        return {known, all};
    }

    // Of one channel of one sequence: site, place among its attributes, code and value of each weight that counts.
    nb::tuple contributions(const Source& source, std::size_t sequence, const std::string& channel) const {
        require(sequence < source.n_sequences(), "there is no such sequence");
        const WeightRows& rows = model_->rows(channel);
        std::vector<std::int64_t> sites, places, codes;
        std::vector<double> values;
        Attributes attributes;
        source.attributes(sequence, sequence + 1, attributes);
        const AttributeList& list = attributes[source.channel(channel)];
        for (std::size_t s = 0; s < list.n_sites(); ++s)
            for (std::size_t i = list.starts[s]; i < list.starts[s + 1]; ++i) {
                const std::uint32_t number = rows.find(list.keys[i]);
                if (number == kNoAttribute) continue;
                const double value = list.values.empty() ? 1.0 : static_cast<double>(list.values[i]);
                rows.each(number, [&](std::uint32_t code, double weight) {
                    sites.push_back(static_cast<std::int64_t>(s));
                    places.push_back(static_cast<std::int64_t>(i - list.starts[s]));
                    codes.push_back(code);
                    values.push_back(value * static_cast<double>(weight));
                });
            }
        const std::size_t n = values.size();
        return nb::make_tuple(to_numpy(sites, {n}), to_numpy(places, {n}), to_numpy(codes, {n}), to_numpy(values, {n}));
    }

    nb::object name(std::size_t number, const std::string& channel) const {
        const WeightRows& rows = model_->rows(channel);
        require(number < rows.n_attributes(), "there is no such attribute");
        const std::string_view text = rows.name(number);
        if (text.data() == nullptr) return nb::none();
        PyObject* name = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
        if (!name) throw nb::python_error();
        return nb::steal(name);
    }

private:
    std::vector<const Source*> sources_of(const nb::list& sources) const {
        std::vector<const Source*> all;
        for (const nb::handle source : sources) all.push_back(nb::cast<const Source*>(source));
        require(all.size() >= std::max<std::size_t>(n_sources_, 1), "a channel of the model has no source");
        for (const Source* source : all)
            require(source->n_sequences() == all[0]->n_sequences(), "the sources have different sequences");
        return all;
    }

    HeldTensors held_;
    std::size_t n_sources_ = 1;
    std::unique_ptr<PartModel> model_;
};

// Scores of the parts of examples of these shapes; answered in parallel, the same bits for any n_jobs.
class PartBatch {
public:
    using Seeds = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    PartBatch(const DerivationStructure& structure, const Indices& lengths, const nb::list& scores, std::size_t n_jobs)
        : structure_(shared(structure)), n_jobs_(std::max<std::size_t>(n_jobs, 1)) {
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            require(lengths.data()[i] >= 0 && lengths.data()[i] < (std::int64_t{1} << 32), "a length is out of range");
            const auto length = static_cast<std::uint32_t>(lengths.data()[i]);
            shapes_.push_back({&length, 1});
        }
        take(scores);
    }
    PartBatch(const DerivationStructure& structure, const nb::list& shapes, const nb::list& scores, std::size_t n_jobs)
        : structure_(shared(structure)), n_jobs_(std::max<std::size_t>(n_jobs, 1)) {
        for (const nb::handle shape : shapes) {
            const auto array = nb::cast<Numbers>(shape);
            shapes_.push_back({array.data(), array.size()});
        }
        take(scores);
    }

    nb::list best(std::size_t k) const {
        std::vector<std::vector<std::pair<std::vector<std::uint32_t>, double>>> found(shapes_.size());
        each([&](std::size_t i, Workspace& space) {
            for (const Answer& answer : structure_->best(shape(i), scores_[i], k, space)) {
                auto& [output, score] = found[i].emplace_back();
                structure_->output_of(shape(i), answer.parts, output);
                score = answer.score;
            }
        });
        nb::list out;
        for (const auto& one : found) {
            nb::list answers;
            for (const auto& [output, score] : one)
                answers.append(nb::make_tuple(to_numpy(output, {output.size()}), score));
            out.append(answers);
        }
        return out;
    }

    Reals log_partition() const {
        std::vector<double> out(shapes_.size());
        each([&](std::size_t i, Workspace& space) {
            out[i] = structure_->log_partition(shape(i), scores_[i], nullptr, nullptr, space);
        });
        return to_numpy(out, {out.size()});
    }

    Reals entropy() const {
        std::vector<double> out(shapes_.size());
        each([&](std::size_t i, Workspace&) { out[i] = structure_->entropy(shape(i), scores_[i]); });
        return to_numpy(out, {out.size()});
    }

    // n outputs of each, from a seed of its own.
    nb::list sample(std::size_t n, const Seeds& seeds, bool distinct) const {
        require(seeds.size() == shapes_.size(), "there must be one seed for each example");
        std::vector<std::vector<std::vector<std::uint32_t>>> found(shapes_.size());
        each([&](std::size_t i, Workspace&) {
            std::mt19937_64 engine(seeds.data()[i]);
            const auto draw = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
            for (const Parts& parts : structure_->sample(shape(i), scores_[i], n, distinct, draw))
                structure_->output_of(shape(i), parts, found[i].emplace_back());
        });
        nb::list out;
        for (const auto& one : found) {
            nb::list outputs;
            for (const auto& output : one) outputs.append(to_numpy(output, {output.size()}));
            out.append(outputs);
        }
        return out;
    }

    // Of the parts of the first block, or of all.
    nb::list marginals(bool all) const {
        return numbers(all, [&](std::size_t i, std::vector<double>& out, Workspace& space) {
            if (structure_->log_partition(shape(i), scores_[i], out.data(), nullptr, space) == kLogZero)
                std::ranges::fill(out, 0.0);
        });
    }
    nb::list max_marginals(bool all) const {
        return numbers(all, [&](std::size_t i, std::vector<double>& out, Workspace&) {
            structure_->max_marginals(shape(i), scores_[i], out);
        });
    }

private:
    Shape shape(std::size_t i) const { return shapes_[i]; }

    void take(const nb::list& scores) {
        require(shapes_.size() == scores.size(), "there must be scores for each sequence");
        for (std::size_t i = 0; i < shapes_.size(); ++i) {
            const auto& array = arrays_.emplace_back(nb::cast<Vector>(scores[i]));
            require(array.size() == structure_->n_parts(shape(i)), "there must be one score for each part");
            require_scores(array, "scores hold a NaN, +inf or a value beyond 1e300");
            scores_.push_back({{array.data(), array.size()}});
        }
    }

    template <class Work>
    void each(Work work) const {
        const Unlocked unlocked;
        std::vector<std::unique_ptr<Workspace>> spaces(std::min(n_jobs_, std::max<std::size_t>(1, shapes_.size())));
        for (auto& space : spaces) space = structure_->workspace();
        parallel_for(shapes_.size(), spaces.size(),
                     [&](std::size_t i, std::size_t worker) { work(i, *spaces[worker]); });
    }
    template <class Work>
    nb::list numbers(bool all, Work work) const {
        std::vector<std::vector<double>> found(shapes_.size());
        each([&](std::size_t i, Workspace& space) {
            found[i].resize(scores_[i].scores.size());
            work(i, found[i], space);
            if (!all) found[i].resize(structure_->blocks(shape(i)).front().size());
        });
        nb::list out;
        for (const std::vector<double>& one : found) out.append(to_numpy(one, {one.size()}));
        return out;
    }

    std::shared_ptr<const DerivationStructure> structure_;
    std::size_t n_jobs_;
    Lists shapes_;
    std::vector<Vector> arrays_;
    std::vector<PartScores> scores_;
};

}  // namespace

void bind_part_models(nb::module_& m) {
    nb::class_<PartExamples>(m, "PartExamples", "Channels whose units are the attributes of examples.")
        .def(nb::init<const nb::list&, const nb::list&, std::size_t, bool, bool, const std::optional<nb::list>&>(),
             nb::arg("channels"), nb::arg("examples"), nb::arg("min_count") = 1, nb::arg("merged") = false,
             nb::arg("by_member") = false, nb::arg("shapes") = nb::none(),
             "`merged`: attributes that always occur together are one variable, `by_member` the weight of each. "
             "`shapes`: of the examples, where they are more than the length in the first source.")
        .def("oracle", &PartExamples::oracle, nb::arg("structure"), nb::arg("outputs"), nb::arg("ends"),
             nb::arg("weights") = nb::none(), nb::arg("combinations") = "seen", "What learners see, once.")
        .def("label_oracle", &PartExamples::label_oracle, nb::arg("structure"), nb::arg("tokens"), nb::arg("order"),
             nb::arg("cost") = nb::none(), nb::arg("combinations") = "seen",
             "The same where outputs are labels of tokens, known in part perhaps.")
        .def("export", &PartExamples::exported, nb::arg("oracle"), nb::arg("weights"),
             "The tensors of a model with these weights.")
        .def(
            "weights_from",
            [](const PartExamples& self, LinearOracle& oracle, const nb::dict& tensors) {
                const std::vector<double> weights = self.weights_from(oracle, tensors);
                return to_numpy(weights, {weights.size()});
            },
            nb::arg("oracle"), nb::arg("tensors"), "Weights that start from another model with the same codes.");
    nb::class_<BoundPartModel>(m, "PartModel", "A trained model of any structure: immutable, for many threads at once.")
        .def(nb::init<const DerivationStructure&, const nb::list&, const nb::dict&, unsigned,
                      const std::optional<Numbers>&>(),
             nb::arg("structure"), nb::arg("channels"), nb::arg("tensors"), nb::arg("hash_bits") = 0,
             nb::arg("shape") = nb::none(), "`shape`: one that the structure knows; left out, a length of 1.")
        .def("scores", &BoundPartModel::scores, nb::arg("sources"), nb::arg("n_jobs") = 1,
             nb::arg("shapes") = nb::none(),
             "Scores of all parts of each sequence; its shape is its length in the first source, unless given.")
        .def("known", &BoundPartModel::known, nb::arg("sources"))
        .def("contributions", &BoundPartModel::contributions, nb::arg("source"), nb::arg("sequence"),
             nb::arg("channel"))
        .def(
            "n_attributes",
            [](const BoundPartModel& self, const std::string& channel) {
                return self.model().rows(channel).n_attributes();
            },
            nb::arg("channel"))
        .def("name", &BoundPartModel::name, nb::arg("number"), nb::arg("channel"));
    nb::class_<PartBatch>(m, "PartBatch", "Scores of parts of many examples, and what follows from them.")
        .def(nb::init<const DerivationStructure&, const Indices&, const nb::list&, std::size_t>(), nb::arg("structure"),
             nb::arg("lengths"), nb::arg("scores"), nb::arg("n_jobs") = 1)
        .def(nb::init<const DerivationStructure&, const nb::list&, const nb::list&, std::size_t>(),
             nb::arg("structure"), nb::arg("shapes"), nb::arg("scores"), nb::arg("n_jobs") = 1)
        .def("entropy", &PartBatch::entropy)
        .def("sample", &PartBatch::sample, nb::arg("n"), nb::arg("seeds"), nb::arg("distinct") = false)
        .def("best", &PartBatch::best, nb::arg("k") = 1, "For each sequence, its best outputs with their scores.")
        .def("log_partition", &PartBatch::log_partition)
        .def("marginals", &PartBatch::marginals, nb::arg("all") = false)
        .def("max_marginals", &PartBatch::max_marginals, nb::arg("all") = false);
}

}  // namespace tw::bind
