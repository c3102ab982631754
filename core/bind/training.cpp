// Examples and the oracle of chains, as Python holds them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "../chain/oracle.hpp"
#include "../chain/vocabulary.hpp"
#include "arrays.hpp"
#include "item_reader.hpp"
#include "tensor_arrays.hpp"

namespace tw::bind {
namespace {

using chain::ChainOracle;
using chain::DevSet;
using Bytes = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto as_span(const Array& array) {
    return std::span(array.data(), array.size());
}
template <class Array>
auto as_span(const std::optional<Array>& array) {
    return array ? std::span(array->data(), array->size()) : decltype(std::span(array->data(), array->size()))();
}

// Attributes whose keys are already known: arrays in, a source out.
class KeySource : public Source {
public:
    KeySource(const Indices& lengths, const Indices& starts, const Keys& keys, const std::optional<Floats>& values,
              const std::optional<Indices>& pair_starts, const std::optional<Keys>& pair_keys,
              const std::optional<Floats>& pair_values) {
        for (const std::int64_t length : as_span(lengths)) {
            require(length >= 0 && length < (std::int64_t{1} << 32), "a length is negative or too large");
            starts_.push_back(starts_.back() + static_cast<std::size_t>(length));
            require(starts_.back() < (std::size_t{1} << 32), "more than 4,294,967,295 tokens");
        }
        lists_.push_back(list(as_span(starts), as_span(keys), as_span(values)));
        if (pair_starts && pair_keys) {
            lists_.push_back(list(as_span(pair_starts), as_span(pair_keys), as_span(pair_values)));
        } else {
            require(!pair_starts && !pair_keys && !pair_values, "pair_starts and pair_keys belong together");
        }
    }
    std::size_t n_sequences() const override { return starts_.size() - 1; }
    std::size_t length(std::size_t sequence) const override { return starts_[sequence + 1] - starts_[sequence]; }
    void attributes(std::size_t first, std::size_t last, Attributes& out) const override {
        out.resize(lists_.size());
        for (std::size_t c = 0; c < lists_.size(); ++c) copy(lists_[c], starts_[first], starts_[last], out[c]);
    }
    std::span<const std::string_view> channels() const override {
        return std::span(kTokenChannels).first(lists_.size());
    }
    std::string name(std::size_t sequence, std::size_t token, std::size_t i, std::size_t channel) const override {
        const AttributeList& from = lists_[channel];
        char text[24];
        std::snprintf(text, sizeof text, "%016llx",
                      static_cast<unsigned long long>(from.keys[from.starts[starts_[sequence] + token] + i]));
        return text;
    }

private:
    AttributeList list(std::span<const std::int64_t> starts, std::span<const Key> keys,
                       std::span<const float> values) const {
        AttributeList out;
        require(starts.size() == starts_.back() + 1 && starts.front() == 0 &&
                    starts.back() == static_cast<std::int64_t>(keys.size()) && std::ranges::is_sorted(starts),
                "starts must have one entry more than there are tokens, rising from 0 to the number of keys");
        require(keys.size() < (std::size_t{1} << 32), "more than 4,294,967,295 attributes");
        require(values.empty() || values.size() == keys.size(), "values must have one entry per key");
        for (const float value : values) require(std::isfinite(value), "values must be finite");
        out.starts.assign(starts.begin(), starts.end());
        out.keys.assign(keys.begin(), keys.end());
        out.values.assign(values.begin(), values.end());
        return out;
    }
    static void copy(const AttributeList& from, std::size_t first, std::size_t last, AttributeList& out) {
        const std::uint32_t begin = from.starts[first], end = from.starts[last];
        out.starts.resize(last - first + 1);
        for (std::size_t t = first; t <= last; ++t) out.starts[t - first] = from.starts[t] - begin;
        out.keys.assign(from.keys.begin() + begin, from.keys.begin() + end);
        out.values.clear();
        if (!from.values.empty()) out.values.assign(from.values.begin() + begin, from.values.begin() + end);
    }

    std::vector<std::size_t> starts_{0};
    std::vector<AttributeList> lists_;
};

void add(Examples& examples, const Source& source, const Labels& codes, const std::optional<Indices>& label_starts,
         const std::optional<Vector>& sequence_weight, const std::optional<Vector>& token_weight, std::size_t n_jobs) {
    const Gold gold{as_span(codes), as_span(label_starts), as_span(sequence_weight), as_span(token_weight)};
    require(!label_starts || !gold.starts.empty(), "label_starts must have one entry more than there are tokens");
    require(!sequence_weight || !gold.sequence_weight.empty() || source.n_sequences() == 0,
            "sequence_weight must have one entry per sequence");
    const Unlocked unlocked;
    examples.add(source, gold, n_jobs);
}

nb::dict vocabulary(const Examples& examples, const std::string& channel, const Labels& order, std::size_t n_labels,
                    bool seen) {
    require(channel == kTokenChannel || channel == kPairChannel, "channel must be 'token' or 'pair'");
    chain::Vocabulary found;
    {
        const Unlocked unlocked;
        found = chain::vocabulary(examples, channel, as_span(order), n_labels, seen);
    }
    nb::dict out;
    put<std::uint64_t>(out, "keys", found.keys);
    put<std::uint32_t>(out, "counts", found.counts);
    put<std::uint32_t>(out, "classes", found.classes);
    put<std::uint32_t>(out, "starts", found.starts);
    put<std::uint32_t>(out, "codes", found.codes);
    put<std::uint8_t>(out, "names.text", found.names.text);
    put<std::uint32_t>(out, "names.ends", found.names.ends);
    return out;
}

auto seen_transitions(const Examples& examples, const Labels& order, std::size_t n_labels) {
    std::vector<std::uint32_t> found;
    {
        const Unlocked unlocked;
        found = chain::seen_transitions(examples, as_span(order), n_labels);
    }
    return to_numpy(found, {found.size()});
}

chain::Combinations combinations_named(const std::string& name) {
    if (name == "seen") return chain::Combinations::kSeen;
    if (name == "transitions") return chain::Combinations::kTransitions;
    if (name == "states") return chain::Combinations::kStates;
    if (name == "all") return chain::Combinations::kAll;
    if (name == "grown") return chain::Combinations::kGrown;
    throw std::invalid_argument("combinations must be 'seen', 'transitions', 'states', 'all' or 'grown', found '" +
                                name + "'");
}

ChainOracle::Use use_named(const std::string& name) {
    if (name == "fast") return ChainOracle::Use::kFast;
    if (name == "rows") return ChainOracle::Use::kRows;
    if (name == "blocks") return ChainOracle::Use::kBlocks;
    if (name == "general") return ChainOracle::Use::kGeneral;
    if (name == "best") return ChainOracle::Use::kBest;
    if (name == "rounded") return ChainOracle::Use::kRounded;
    throw std::invalid_argument("use must be 'fast', 'rows', 'blocks', 'general', 'best' or 'rounded', found '" + name +
                                "'");
}

std::vector<std::uint8_t> flags(const std::optional<Bytes>& array, std::size_t size, const char* message) {
    if (!array) return std::vector<std::uint8_t>(size, 1);
    require(array->size() == size, message);
    return {array->data(), array->data() + size};
}

// One array of a dictionary of tensors, whatever its integer type, as 32-bit (or 64-bit) numbers; empty when absent.
template <class To, class... Candidates>
std::vector<To> tensor(const nb::dict& tensors, const std::string& name) {
    if (!tensors.contains(name.c_str())) return {};
    const nb::object value = tensors[name.c_str()];
    std::vector<To> out;
    bool found = false;
    const auto attempt = [&]<class From>() {
        nb::ndarray<const From, nb::c_contig, nb::device::cpu> array;
        if (found || !nb::try_cast(value, array, false)) return;
        out.assign(array.data(), array.data() + array.size());
        found = true;
    };
    (attempt.template operator()<Candidates>(), ...);
    if (!found) throw std::invalid_argument("tensor " + name + " has an unexpected type");
    return out;
}

struct AttributeArrays {
    std::vector<Key> keys;
    std::vector<std::uint32_t> slots, starts, labels;
    std::vector<float> weights;
    AttributeArrays(const nb::dict& from, const std::string& prefix)
        : keys(tensor<Key, std::uint64_t>(from, prefix + "keys")),
          slots(tensor<std::uint32_t, std::uint32_t>(from, prefix + "slots")),
          starts(tensor<std::uint32_t, std::uint32_t>(from, prefix + "starts")),
          labels(tensor<std::uint32_t, std::uint8_t, std::uint16_t, std::uint32_t>(from, prefix + "codes")),
          weights(tensor<float, float, double>(from, prefix + "weights")) {}
    chain::AttributeView view() const { return {keys, slots, starts, labels, weights}; }
};

struct ModelArrays {
    AttributeArrays attribute, pair;
    std::vector<float> transitions;
    explicit ModelArrays(const nb::dict& from)
        : attribute(from, "channel.token."),
          pair(from, "channel.pair."),
          transitions(tensor<float, float, double>(from, "channel.transitions.weights")) {}
    chain::ModelView view() const { return {attribute.view(), pair.view(), transitions}; }
};

void make_oracle(ChainOracle* self, Examples& examples, std::size_t n_labels, const Labels& order,
                 std::size_t min_count, const std::string& combinations, bool transitions,
                 const std::optional<Bytes>& allowed_transitions, const std::optional<Bytes>& allowed_start,
                 const std::optional<Bytes>& allowed_end, const std::optional<Matrix>& cost, const std::string& use,
                 std::size_t n_jobs, bool by_member, const std::optional<nb::dict>& earlier, bool keep_known,
                 double min_frequency, const std::optional<Keys>& also_keys,
                 const std::optional<Numbers>& also_labels) {
    chain::Settings settings;
    settings.n_labels = n_labels;
    require(n_labels >= 1 && n_labels <= 65535, "n_labels must be between 1 and 65,535");
    settings.order.assign(order.data(), order.data() + order.size());
    settings.min_count = min_count;
    settings.combinations = combinations_named(combinations);
    settings.transitions = transitions;
    if (allowed_transitions || allowed_start || allowed_end)
        settings.constraints = {
            flags(allowed_transitions, n_labels * n_labels, "allowed_transitions must have shape (n_labels, n_labels)"),
            flags(allowed_start, n_labels, "allowed_start must have one entry per label"),
            flags(allowed_end, n_labels, "allowed_end must have one entry per label")};
    if (cost) settings.cost.assign(cost->data(), cost->data() + cost->size());
    settings.by_member = by_member;
    require(!std::isnan(min_frequency), "min_frequency must be a number");
    settings.min_frequency = min_frequency;
    const auto also = as_span(also_keys);
    require(also.size() == as_span(also_labels).size() && std::ranges::is_sorted(also),
            "also_keys must rise, and have one entry per label of also_labels");
    for (std::size_t i = 0; i < also.size(); ++i) settings.also_seen.emplace_back(also[i], as_span(also_labels)[i]);
    const ModelArrays arrays(earlier ? *earlier : nb::dict());
    const chain::ModelView view = arrays.view();
    if (earlier) settings.earlier = &view;
    settings.keep_known = earlier && keep_known;
    const Unlocked unlocked;
    new (self) ChainOracle(std::move(examples), std::move(settings), n_jobs, use_named(use));
}

nb::dict export_tensors(const ChainOracle& oracle, const Vector& weights, std::size_t n_labels) {
    chain::ModelTensors model;
    {
        const Unlocked unlocked;
        model = oracle.export_tensors(as_span(weights));
    }
    nb::dict out;
    put_channel(out, "token", model.attribute, n_labels);
    if (!model.pair.starts.empty()) put_channel(out, "pair", model.pair, n_labels * n_labels, false, 2);
    put<float>(out, "channel.transitions.weights", model.transitions);
    if (!model.allowed.transitions.empty()) {
        put<std::uint8_t>(out, "allowed.transitions", model.allowed.transitions);
        put<std::uint8_t>(out, "allowed.start", model.allowed.start);
        put<std::uint8_t>(out, "allowed.end", model.allowed.end);
    }
    return out;
}

auto weights_from(ChainOracle& oracle, const nb::dict& tensors) {
    const ModelArrays arrays(tensors);
    std::vector<double> weights;
    {
        const Unlocked unlocked;
        weights = oracle.weights_from(arrays.view());
    }
    return to_numpy(weights, {weights.size()});
}

// Working weights and stochastic steps from Python, for tests; learners use them from C++.
class Working {
public:
    explicit Working(ChainOracle& oracle) : oracle_(oracle), sums_(*oracle.sums()), weights_(sums_.working_weights()) {}
    void load(const Vector& weights) {
        require(weights.size() == oracle_.n_weights(), "weights has the wrong size");
        require_scores(weights, "weights must be finite numbers");
        weights_->load(as_span(weights));
    }
    auto store() const {
        std::vector<double> out(oracle_.n_weights());
        weights_->store(out);
        return to_numpy(out, {out.size()});
    }
    double descend(const Numbers& examples, double step, double nu) {
        const Unlocked unlocked;
        return sums_.descend(*weights_, as_span(examples), step, nu);
    }
    double scale() const { return weights_->scale(); }
    void multiply(double factor) {
        require(std::isfinite(factor) && factor > 0.0, "the factor must be positive and finite");
        weights_->multiply(factor);
    }
    double squared_norm() const { return weights_->squared_norm(); }

private:
    const ChainOracle& oracle_;
    Sums& sums_;
    std::unique_ptr<WorkingWeights> weights_;
};

auto argmax(const DevSet& dev, const Vector& weights, std::size_t n_jobs, bool local, std::optional<std::size_t> beam) {
    require(weights.size() == dev.n_weights(), "weights has the wrong size");
    require_scores(weights, "weights must be finite numbers");
    auto labels = std::make_unique_for_overwrite<std::int32_t[]>(dev.n_tokens());
    {
        const Unlocked unlocked;
        dev.argmax(as_span(weights), {labels.get(), dev.n_tokens()}, n_jobs, local, width_of(beam));
    }
    return to_numpy(std::move(labels), {dev.n_tokens()});
}

void require_weights(const ChainOracle& oracle, const Vector& weights) {
    require(weights.size() == oracle.n_weights(), "weights has the wrong size");
    require_scores(weights, "weights must be finite numbers");
}

void bind_key_source(nb::module_& m) {
    nb::class_<KeySource, Source>(m, "KeySource", "Attributes given as arrays of keys.")
        .def(nb::init<const Indices&, const Indices&, const Keys&, const std::optional<Floats>&,
                      const std::optional<Indices>&, const std::optional<Keys>&, const std::optional<Floats>&>(),
             nb::arg("lengths"), nb::arg("starts"), nb::arg("keys"), nb::arg("values") = nb::none(),
             nb::arg("pair_starts") = nb::none(), nb::arg("pair_keys") = nb::none(),
             nb::arg("pair_values") = nb::none());
}

void bind_storage(nb::module_& m) {
    nb::class_<Storage>(m, "Storage", "How much memory training may take, and the folder of its files.")
        .def(nb::init<std::string, std::size_t, std::size_t, std::string>(), nb::arg("folder"), nb::arg("memory"),
             nb::arg("per_weight") = 0, nb::arg("advice") = "")
        .def_prop_ro("available", &Storage::available, "Bytes that are left to training.")
        .def_prop_ro("window", &Storage::window, "Of these, bytes of files that may be resident.")
        .def_prop_ro("in_memory", &Storage::in_memory, "Bytes of arrays in memory.")
        .def_prop_ro("in_files", &Storage::in_files, "Bytes of files.")
        .def_prop_ro("most_in_files", &Storage::most_in_files, "The most there were.");
    const nb::object storage_error = nb::steal(
        PyErr_NewExceptionWithDoc("trelliswork._core.StorageError",
                                  "A file of training could not be made, enlarged or read.", PyExc_OSError, nullptr));
    m.attr("StorageError") = storage_error;
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* type) {
            try {
                std::rethrow_exception(thrown);
            } catch (const StorageError& error) {
                const nb::object number = nb::int_(error.code), text = nb::str(error.what());
                PyErr_SetObject(static_cast<PyObject*>(type), nb::make_tuple(number, text).ptr());
            }
        },
        storage_error.ptr());  // which the module keeps
}

void bind_examples(nb::module_& m) {
    nb::class_<SiteExamples>(m, "SiteExamples", "Attributes of sites as numbers, by channel.")
        .def(nb::init<unsigned, bool>(), nb::arg("hash_bits") = 0, nb::arg("keep_names") = true)
        .def("read", &SiteExamples::add, nb::arg("source"), nb::arg("n_jobs") = 1, nb::call_guard<Unlocked>(),
             "Add the attributes of a source.")
        .def(
            "read_only",
            [](SiteExamples& self, const Source& source, const Indices& sites) {
                std::vector<std::uint64_t> all(sites.data(), sites.data() + sites.size());
                require(std::ranges::is_sorted(all) && (all.empty() || all.back() < source.n_sites()),
                        "sites must rise, and be of the source");
                const Unlocked unlocked;
                self.add_only(source, all);
            },
            nb::arg("source"), nb::arg("sites"), "Take the attributes of these sites, and no others from then on.")
        .def_prop_ro("n_sequences", &SiteExamples::n_sequences)
        .def_prop_ro("n_sites", &SiteExamples::n_sites)
        .def("checksum", &SiteExamples::checksum, nb::call_guard<Unlocked>());
    nb::class_<Examples, SiteExamples>(m, "Examples",
                                       "A training set as it is read: attributes as numbers, and labels.")
        .def(
            "__init__",
            [](Examples* self, unsigned hash_bits, bool keep_names, Storage* storage) {
                new (self) Examples(hash_bits, keep_names,
                                    storage ? std::const_pointer_cast<Storage>(shared(*storage)) : nullptr);
            },
            nb::arg("hash_bits") = 0, nb::arg("keep_names") = true, nb::arg("storage") = nb::none())
        .def("add", add, nb::arg("source"), nb::arg("codes"), nb::arg("label_starts") = nb::none(),
             nb::arg("sequence_weight") = nb::none(), nb::arg("token_weight") = nb::none(), nb::arg("n_jobs") = 1,
             "Add the sequences of a source with the labels that their tokens may carry.")
        .def_prop_ro("n_sequences", &Examples::n_sequences)
        .def_prop_ro("n_tokens", &Examples::n_tokens)
        .def_prop_ro("n_attributes",
                     [](Examples& examples) { return examples.n_attributes(examples.made(kTokenChannel)); })
        .def_prop_ro("memory_bytes", &Examples::memory_bytes)
        .def("vocabulary", vocabulary, nb::arg("channel"), nb::arg("order"), nb::arg("n_labels"), nb::arg("seen"),
             "Keys, counts and names of the attributes, in classes of those that always occur together, and the codes "
             "that each was `seen` with.")
        .def("seen_transitions", seen_transitions, nb::arg("order"), nb::arg("n_labels"),
             "previous * n_labels + current of neighbouring labels that were seen.")
        .def(
            "tag_dictionary",
            [](const Examples& examples, const Labels& order, std::size_t n_labels, const std::string& word,
               double loss) {
                const Unlocked unlocked;
                return std::make_unique<chain::MadeDictionary>(
                    chain::tag_dictionary(examples, as_span(order), n_labels, word, loss));
            },
            nb::arg("order"), nb::arg("n_labels"), nb::arg("word"), nb::arg("loss"),
            "The labels of the attributes whose names begin with `word`: those that they have, and others until no "
            "more than a share `loss` of tokens is expected to lack its label.")
        .def("checksum", &Examples::checksum, nb::call_guard<Unlocked>(),
             "64 bits that change when sequences, attributes, labels or weights do.");
}

void bind_dictionary(nb::module_& m) {
    nb::class_<chain::MadeDictionary>(m, "TagDictionary", "Labels that words may take, as the examples have them.")
        .def(
            "tensors",
            [](const chain::MadeDictionary& made) {
                nb::dict out;
                put<std::uint64_t>(out, "dictionary.keys", made.keys);
                put<std::uint32_t>(out, "dictionary.offsets", made.starts);
                put<std::uint16_t>(out, "dictionary.labels", made.labels);
                return out;
            },
            "The tensors of a model that has it.")
        .def_prop_ro("n_words", [](const chain::MadeDictionary& made) { return made.keys.size(); })
        .def_prop_ro(
            "n_lost", [](const chain::MadeDictionary& made) { return made.n_lost; },
            "Tokens whose label it would lack, were it made of the other blocks of examples.");
}

void bind_dev_set(nb::module_& m) {
    nb::class_<DevSet>(m, "DevSet", "Sequences that are tagged while training goes on.")
        .def_prop_ro("n_tokens", &DevSet::n_tokens)
        .def("checksum", &DevSet::checksum, nb::call_guard<Unlocked>(),
             "64 bits that change when sequences, or their attributes that have weights, do.")
        .def("argmax", argmax, nb::arg("weights"), nb::arg("n_jobs") = 1, nb::arg("local") = false,
             nb::arg("beam") = nb::none(), "The best label of every token, all sequences one after the other.");
}

void bind_chain_oracle(nb::module_& m) {
    nb::class_<ChainOracle, Oracle>(m, "ChainOracle", "The oracle of first-order chains.")
        .def(
            "__init__", make_oracle, nb::arg("examples"), nb::arg("n_labels"), nb::arg("order"),
            nb::arg("min_count") = 1, nb::arg("combinations") = "seen", nb::arg("transitions") = true,
            nb::arg("allowed_transitions") = nb::none(), nb::arg("allowed_start") = nb::none(),
            nb::arg("allowed_end") = nb::none(), nb::arg("cost") = nb::none(), nb::arg("use") = "fast",
            nb::arg("n_jobs") = 1, nb::arg("by_member") = false, nb::arg("earlier") = nb::none(),
            nb::arg("keep_known") = false, nb::arg("min_frequency") = -std::numeric_limits<double>::infinity(),
            nb::arg("also_keys") = nb::none(), nb::arg("also_labels") = nb::none(),
            "`by_member`: variables are the weights of single attributes, not scaled by how many they stand for. "
            "`earlier`: the tensors of the model that training will start from; with `keep_known`, all of its weights "
            "whose attributes occur here are among the weights. `min_frequency`: weights whose features add up to less "
            "are left out. `also_keys`, `also_labels`: attributes and labels that count as seen together.")
        .def(
            "export",
            [](const ChainOracle& oracle, const Vector& weights) {
                require_weights(oracle, weights);
                return export_tensors(oracle, weights, oracle.n_labels());
            },
            nb::arg("weights"), "The tensors of a model with these weights.")
        .def(
            "crfsuite",
            [](const ChainOracle& oracle, const Vector& weights, nb::handle labels) {
                require_weights(oracle, weights);
                linear::CrfsuiteCounts counts;
                const std::vector<std::string> names = texts_of(labels);
                std::string bytes;
                {
                    const Unlocked unlocked;
                    bytes = oracle.crfsuite_bytes(as_span(weights), names, counts);
                }
                return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), counts.features, counts.attributes);
            },
            nb::arg("weights"), nb::arg("labels"),
            nb::sig("def crfsuite(self, weights: NDArray[numpy.float64], labels: Sequence[bytes]) -> tuple[bytes, int, "
                    "int]"),
            "A model file of CRFsuite with these weights, and how many features and attributes it has.")
        .def(
            "extent",
            [](const ChainOracle& oracle, const Vector& weights) {
                require_weights(oracle, weights);
                const ChainOracle::Extent extent = oracle.extent(as_span(weights));
                return nb::make_tuple(extent.n_active, extent.norm);
            },
            nb::arg("weights"), nb::sig("def extent(self, weights: NDArray[numpy.float64]) -> tuple[int, float]"),
            "Of weights, one per attribute and label: how many are not 0, and their norm.")
        .def(
            "limit",
            [](ChainOracle& oracle, const chain::MadeDictionary& dictionary) {
                const std::shared_ptr<const chain::MadeDictionary> held = shared(dictionary);
                const Unlocked unlocked;
                oracle.limit(held);
            },
            nb::arg("dictionary"),
            "Let words take only the labels that a dictionary made of the examples has for them.")
        .def("weights_from", weights_from, nb::arg("tensors"),
             "Weights that start from another model; attributes are matched by key.")
        .def(
            "dev",
            [](const ChainOracle& oracle, const Source& source, std::size_t n_jobs) {
                const Unlocked unlocked;
                return std::make_unique<DevSet>(oracle.dev(source, n_jobs));
            },
            nb::arg("source"), nb::arg("n_jobs") = 1)
        .def(
            "working", [](ChainOracle& oracle) { return std::make_unique<Working>(oracle); }, nb::keep_alive<0, 1>(),
            "A copy of the weights for stochastic steps.")
        .def("linear", &ChainOracle::linear, "The same examples and weights for the oracle of any structure.")
        .def_prop_ro("n_labels", &ChainOracle::n_labels)
        .def_prop_ro("n_parameters", &ChainOracle::n_parameters, "Weights, one per attribute and label.")
        .def_prop_ro("memory_bytes", &ChainOracle::memory_bytes)
        .def_prop_ro("fast", &ChainOracle::fast, "Whether the layout made for speed is in use.");
}

void bind_working_weights(nb::module_& m) {
    nb::class_<Working>(m, "WorkingWeights", "Weights that stochastic steps change in place.")
        .def("load", &Working::load, nb::arg("weights"))
        .def("store", &Working::store)
        .def("descend", &Working::descend, nb::arg("examples"), nb::arg("step"), nb::arg("nu") = 0.0)
        .def("multiply", &Working::multiply, nb::arg("factor"))
        .def_prop_ro("scale", &Working::scale)
        .def_prop_ro("squared_norm", &Working::squared_norm);
}

}  // namespace

void bind_training(nb::module_& m) {
    bind_key_source(m);
    bind_storage(m);
    bind_examples(m);
    bind_dictionary(m);
    bind_dev_set(m);
    bind_chain_oracle(m);
    bind_working_weights(m);
}

}  // namespace tw::bind
