// Parsers as Python holds them: sentences seen through templates about arcs, on their way to an oracle, and models.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <optional>

#include "../base/checksum.hpp"
#include "../base/semiring.hpp"
#include "../linear/arc_model.hpp"
#include "../linear/arc_units.hpp"
#include "../linear/oracle.hpp"
#include "../structures/dependency.hpp"
#include "arrays.hpp"

namespace tw::bind {
namespace {

using linear::ArcChannel;
using linear::ArcModel;
using linear::ArcSentences;
using linear::LinearOracle;
using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Singles = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// What a structure knows of each sentence, shared by all who ask.
struct Shapes {
    std::shared_ptr<const Lists> lists;
};

std::size_t channel_named(const std::string& name) {
    const auto found = std::ranges::find(ArcExtractor::kChannels, name);
    require(found != ArcExtractor::kChannels.end(), "there is no such channel of arcs");
    return static_cast<std::size_t>(found - ArcExtractor::kChannels.begin());
}

// (channel, block, codes, bits)
using ChannelSpec = std::tuple<std::string, std::size_t, std::size_t, unsigned>;

std::vector<ArcChannel> channels_of(const std::vector<ChannelSpec>& specs) {
    std::vector<ArcChannel> out;
    for (const auto& [name, block, codes, bits] : specs) {
        require(codes >= 1 && bits >= 1 && bits <= 30, "a channel needs a code and 1 to 30 bits");
        out.push_back({channel_named(name), block, codes, bits});
    }
    return out;
}

std::unique_ptr<ArcSentences> sentences_of(const Columns& columns, const ArcExtractor& extractor) {
    auto out = std::make_unique<ArcSentences>();
    out->columns = shared(columns);
    out->extractor = shared(extractor);
    const Unlocked unlocked;
    out->table = std::make_shared<const ArcTable>(extractor.table(columns));
    return out;
}

WordTuple words_of(const ArcSentences& self, std::size_t sentence, std::uint32_t head, std::uint32_t modifier,
                   std::optional<std::uint32_t> third) {
    require(sentence < self.table->size(), "there is no such sentence");
    const std::size_t n = self.table->n_words(sentence);
    require(head <= n && modifier >= 1 && modifier <= n && head != modifier && (!third || *third <= n),
            "there is no such arc");
    return {head, modifier, third.value_or(kNoWord)};
}

void bind_sentences(nb::module_& m) {
    nb::class_<Shapes>(m, "TreeShapes", "How long sentences are, and which heads each word may have.")
        .def("__len__", [](const Shapes& self) { return self.lists->size(); })
        .def(
            "__getitem__",
            [](const Shapes& self, std::size_t i) {
                if (i >= self.lists->size()) throw nb::index_error();
                const auto list = (*self.lists)[i];
                return to_numpy(std::vector<std::uint32_t>(list.begin(), list.end()), {list.size()});
            },
            nb::rv_policy::move)
        .def_static(
            "of",
            [](const nb::list& shapes) {
                auto lists = std::make_shared<Lists>();
                for (const nb::handle shape : shapes) {
                    const auto array = nb::cast<Numbers>(shape);
                    lists->push_back({array.data(), array.size()});
                }
                return Shapes{std::move(lists)};
            },
            nb::arg("shapes"));
    nb::class_<ArcSentences>(m, "ArcSentences", "Rows of columns, seen through templates about arcs.")
        .def(nb::new_(&sentences_of), nb::arg("columns"), nb::arg("extractor"))
        .def("__len__", [](const ArcSentences& self) { return self.table->size(); })
        .def(
            "checksum",
            [](const ArcSentences& self) {
                return checksum_of(self.table->starts, self.table->chains, self.table->between);
            },
            nb::call_guard<Unlocked>(), "64 bits that change when what the templates see does.")
        .def(
            "shapes",
            [](const ArcSentences& self) {
                return Shapes{std::make_shared<const Lists>(linear::unpruned(*self.table))};
            },
            "Shapes in which every word may have every head.")
        .def(
            "first_look",
            [](const ArcSentences& self, const std::optional<Numbers>& kept) {
                require(!kept || kept->size() == self.columns->n_rows(), "there must be one head for each word");
                return Shapes{std::make_shared<const Lists>(linear::first_look(
                    *self.table, kept ? std::span(kept->data(), kept->size()) : std::span<const std::uint32_t>()))};
            },
            nb::arg("kept") = nb::none(),
            "The same, but in very long sentences words may have heads that are near, or the root, or kept.")
        .def(
            "attribute_keys",
            [](const ArcSentences& self, std::size_t sentence, std::uint32_t head, std::uint32_t modifier,
               std::optional<std::uint32_t> third, const std::string& channel) {
                const WordTuple words = words_of(self, sentence, head, modifier, third);
                std::vector<Key> keys;
                ArcExtractor::Scratch space;
                self.extractor->each(*self.table, sentence, words, channel_named(channel), space,
                                     [&](Key key) { keys.push_back(key); });
                return to_numpy(keys, {keys.size()});
            },
            nb::arg("sentence"), nb::arg("head"), nb::arg("modifier"), nb::arg("third") = nb::none(),
            nb::arg("channel") = "arc", "The keys of the attributes of an arc, perhaps with a third word.")
        .def(
            "attribute_names",
            [](const ArcSentences& self, std::size_t sentence, std::uint32_t head, std::uint32_t modifier,
               std::optional<std::uint32_t> third, const std::string& channel) {
                const WordTuple words = words_of(self, sentence, head, modifier, third);
                nb::list out;
                for (const std::string& name :
                     self.extractor->names(*self.columns, *self.table, sentence, words, channel_named(channel)))
                    out.append(
                        nb::steal(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace")));
                return out;
            },
            nb::arg("sentence"), nb::arg("head"), nb::arg("modifier"), nb::arg("third") = nb::none(),
            nb::arg("channel") = "arc",
            nb::sig("def attribute_names(self, sentence: int, head: int, modifier: int, "
                    "third: int | None = None, channel: str = 'arc') -> list[str]"),
            "Their names, in the same order.")
        .def(
            "units",
            [](const ArcSentences& self, const Shapes& shapes, std::size_t sentence, const std::string& channel,
               unsigned bits) {
                const linear::ArcUnits source(self.extractor, self.table, shapes.lists, channel_named(channel), bits);
                require(sentence < source.n_examples(), "there is no such sentence");
                const auto space = source.scratch();
                linear::UnitLists lists;
                source.all_units(sentence, lists, *space);
                const auto copy = [](std::span<const std::uint32_t> from) {
                    return to_numpy(std::vector<std::uint32_t>(from.begin(), from.end()), {from.size()});
                };
                return nb::make_tuple(copy(lists.starts()), copy(lists.units()));
            },
            nb::arg("shapes"), nb::arg("sentence"), nb::arg("channel"), nb::arg("bits"),
            "Where the units of each site of a channel begin, and the units.");
}

// The parts of arcs that a tree may have in which some heads, or some labels, are not known (kNoWord).
Parts allowed_parts(const DerivationStructure& structure, Shape shape, std::span<const std::uint32_t> output) {
    const std::size_t n_labels = structure.blocks(shape).at(0).n_codes;
    const DependencyArcs arcs(shape, n_labels);
    const std::size_t n = arcs.n_words();
    require(output.size() == (n_labels > 1 ? 2 * n : n), "a tree has a head, and perhaps a label, for each word");
    Parts parts;
    for (std::uint32_t m = 1; m <= n; ++m) {
        const std::uint32_t label = n_labels > 1 ? output[n + m - 1] : 0;
        arcs.each_head(m, [&](std::uint32_t head, std::uint32_t site) {
            if (output[m - 1] != kNoWord && output[m - 1] != head) return;
            for (std::uint32_t k = 0; k < n_labels; ++k)
                if (label == kNoWord || label == k) parts.push_back(static_cast<Part>(site * n_labels + k));
        });
    }
    std::ranges::sort(parts);
    return parts;
}

// Outputs of all sentences one after the other; `ends`: where each ends.
std::unique_ptr<LinearOracle> oracle_of(const DerivationStructure& structure, const ArcSentences& sentences,
                                        const Shapes& shapes, const std::vector<ChannelSpec>& channels,
                                        const Numbers& outputs, const Indices& ends,
                                        const std::optional<Vector>& weights, bool partial) {
    linear::Examples examples;
    const std::size_t n = shapes.lists->size();
    require(ends.size() == n, "there must be one output for each sentence");
    require(!weights || weights->size() == n, "there must be one weight for each sentence");
    for (std::size_t i = 0, begin = 0; i < n; ++i) {
        const auto end = static_cast<std::size_t>(ends.data()[i]);
        require(begin <= end && end <= outputs.size(), "outputs have the wrong size");
        const auto shape = (*shapes.lists)[i];
        const std::span<const std::uint32_t> output(outputs.data() + begin, end - begin);
        if (partial)
            examples.allowed_parts.push_back(allowed_parts(structure, shape, output));
        else
            examples.outputs.emplace_back(output.begin(), output.end());
        begin = end;
        examples.shapes.emplace_back(shape.begin(), shape.end());
    }
    if (weights)
        examples.weights.assign(weights->data(), weights->data() + n);
    else
        examples.weights.assign(n, 1.0);
    for (const double w : examples.weights)
        require(std::isfinite(w) && w >= 0.0, "weights of examples must be finite numbers >= 0");
    const auto held = shared(structure);
    const auto specs = channels_of(channels);
    const Unlocked unlocked;
    examples.channels = linear::arc_channels(sentences, shapes.lists, specs, structure);
    return std::make_unique<LinearOracle>(held, std::move(examples), linear::Combinations::kAll);
}

class BoundArcModel {
public:
    BoundArcModel(const DerivationStructure& structure, const std::vector<ChannelSpec>& channels,
                  const Singles& weights)
        : weights_(weights), model_(shared(structure), channels_of(channels), {weights.data(), weights.size()}) {
        for (std::size_t i = 0; i < weights.size(); ++i)
            require(std::isfinite(weights.data()[i]), "weights must be finite numbers");
    }

    Shapes pruned(const ArcSentences& sentences, std::size_t most, double margin, const std::optional<Numbers>& kept,
                  std::size_t n_jobs) const {
        require(!kept || kept->size() == sentences.columns->n_rows(), "there must be one head for each word");
        const Unlocked unlocked;
        return {std::make_shared<const Lists>(
            model_.pruned(sentences, most, margin,
                          kept ? std::span(kept->data(), kept->size()) : std::span<const std::uint32_t>(), n_jobs))};
    }

    nb::list scores(const ArcSentences& sentences, const Shapes& shapes, std::size_t n_jobs) const {
        std::vector<std::vector<double>> found(shapes.lists->size());
        {
            const Unlocked unlocked;
            model_.each(sentences, shapes.lists, n_jobs,
                        [&](std::size_t i, std::vector<double>& scores, Workspace&) { found[i] = scores; });
        }
        nb::list out;
        for (const std::vector<double>& one : found) out.append(to_numpy(one, {one.size()}));
        return out;
    }

    // The best output of each sentence, one after the other, and where each ends; an empty one where there is none.
    nb::tuple best(const ArcSentences& sentences, const Shapes& shapes, std::size_t n_jobs) const {
        std::vector<std::vector<std::uint32_t>> found(shapes.lists->size());
        std::vector<double> totals(found.size(), kLogZero);
        {
            const Unlocked unlocked;
            model_.each(sentences, shapes.lists, n_jobs,
                        [&](std::size_t i, std::vector<double>& scores, Workspace& space) {
                            const Shape shape = (*shapes.lists)[i];
                            const std::vector<Answer> answers = model_.structure().best(shape, {scores}, 1, space);
                            if (answers.empty()) return;
                            totals[i] = answers[0].score;
                            model_.structure().output_of(shape, answers[0].parts, found[i]);
                        });
        }
        std::vector<std::uint32_t> outputs;
        std::vector<std::int64_t> ends;
        for (const auto& one : found) {
            outputs.insert(outputs.end(), one.begin(), one.end());
            ends.push_back(static_cast<std::int64_t>(outputs.size()));
        }
        return nb::make_tuple(to_numpy(outputs, {outputs.size()}), to_numpy(ends, {ends.size()}),
                              to_numpy(totals, {totals.size()}));
    }

private:
    Singles weights_;
    ArcModel model_;
};

}  // namespace

void bind_arcs(nb::module_& m) {
    bind_sentences(m);
    m.def("arc_oracle", &oracle_of, nb::arg("structure"), nb::arg("sentences"), nb::arg("shapes"), nb::arg("channels"),
          nb::arg("outputs"), nb::arg("ends"), nb::arg("weights") = nb::none(), nb::arg("partial") = false,
          "Sentences with gold trees as learners see them. Channels: (name, block, codes, hash bits). `partial`: heads "
          "and labels of 2**32 - 1 are not known.");
    nb::class_<BoundArcModel>(m, "ArcModel", "A trained model of arcs: immutable, for many threads at once.")
        .def(nb::init<const DerivationStructure&, const std::vector<ChannelSpec>&, const Singles&>(),
             nb::arg("structure"), nb::arg("channels"), nb::arg("weights"))
        .def("pruned", &BoundArcModel::pruned, nb::arg("sentences"), nb::arg("most"), nb::arg("margin"),
             nb::arg("kept") = nb::none(), nb::arg("n_jobs") = 1,
             "Shapes that leave each word its best heads, and those that are kept.")
        .def("scores", &BoundArcModel::scores, nb::arg("sentences"), nb::arg("shapes"), nb::arg("n_jobs") = 1,
             "Scores of all parts of each sentence.")
        .def("best", &BoundArcModel::best, nb::arg("sentences"), nb::arg("shapes"), nb::arg("n_jobs") = 1,
             "The best outputs one after the other, where each ends, and their scores.");
}

}  // namespace tw::bind
