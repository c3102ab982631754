// Dependency trees in text, as Python holds them.
#include <nanobind/stl/unique_ptr.h>

#include "../text/treebank.hpp"
#include "arrays.hpp"

namespace tw::bind {

namespace {

std::unique_ptr<Treebank> parse(nb::bytes data, const TreeChecks& checks, std::string name, std::size_t first_line) {
    const std::string_view text(data.c_str(), data.size());
    auto owner = keep_alive(nb::borrow(data));
    const Unlocked unlocked;
    const ColumnsFormat format{"\t", "#", true, std::move(name), first_line, 10};
    return std::make_unique<Treebank>(read_treebank(parse_columns(text, format, std::move(owner)), checks));
}

void require_trees(const Treebank& treebank, std::span<const std::int32_t> heads,
                   std::span<const std::int32_t> relations, const std::vector<std::string>& names) {
    const std::vector<std::size_t>& starts = treebank.words.starts;
    if (heads.size() != treebank.words.n_rows())
        throw std::invalid_argument("there are " + std::to_string(treebank.words.n_rows()) + " words, but " +
                                    std::to_string(heads.size()) + " heads.");
    if (!relations.empty() && relations.size() != heads.size())
        throw std::invalid_argument("there are " + std::to_string(heads.size()) + " words, but " +
                                    std::to_string(relations.size()) + " relations.");
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
        for (std::size_t row = starts[i]; row < starts[i + 1]; ++row)
            if (heads[row] < kNoHead || heads[row] > static_cast<std::int64_t>(starts[i + 1] - starts[i]))
                throw std::invalid_argument("sentence " + std::to_string(i) + " has " +
                                            std::to_string(starts[i + 1] - starts[i]) + " words, but the head " +
                                            std::to_string(heads[row]) + ".");
    for (const std::int32_t code : relations)
        require(code >= 0 && static_cast<std::size_t>(code) < names.size(), "there is no relation of such a number");
    for (const std::string& name : names)
        if (name.empty() || name.find_first_of(std::string_view("\t\r\n\0", 4)) != std::string::npos)
            throw std::invalid_argument("the relation " + quoted(name) +
                                        " cannot be written: it is empty, or has a tab, a line break or NUL in it.");
}

}  // namespace

void bind_treebanks(nb::module_& m) {
    nb::class_<Treebank>(m, "Treebank", "The words, heads and relations of a CoNLL-U text.")
        .def_prop_ro(
            "words", [](const Treebank& treebank) { return std::make_unique<Columns>(treebank.words); },
            "Form, lemma, upos, xpos and feats of each word; the text is shared.")
        .def_prop_ro(
            "relations", [](const Treebank& treebank) { return std::make_unique<Columns>(treebank.relations); },
            "The column DEPREL of the words.")
        .def(
            "heads", [](const Treebank& treebank) { return to_numpy(treebank.heads, {treebank.heads.size()}); },
            "The heads of all words, -1 where one is not known; empty when they were not read.")
        .def(
            "ends",
            [](const Treebank& treebank) {
                const std::vector<std::int64_t> ends = sentence_ends(treebank);
                return to_numpy(ends, {ends.size()});
            },
            "Where the text of each sentence ends.")
        .def(
            "with_trees",
            [](const Treebank& treebank, Labels heads, Labels relations, const std::vector<std::string>& names) {
                const std::span<const std::int32_t> head(heads.data(), heads.size()),
                    relation(relations.data(), relations.size());
                std::string text;
                {
                    const Unlocked unlocked;
                    require_trees(treebank, head, relation, names);
                    text = with_trees(treebank, head, relation, names);
                }
                return nb::bytes(text.data(), text.size());
            },
            nb::arg("heads"), nb::arg("relations"), nb::arg("names"),
            "The text with these heads and, unless there are none, these relations.");
    m.def(
        "parse_treebank",
        [](nb::bytes data, bool heads, bool partial, bool single_root, std::string name, std::size_t first_line) {
            return parse(data, {heads, partial, single_root}, std::move(name), first_line);
        },
        nb::arg("data"), nb::arg("heads") = true, nb::arg("partial") = false, nb::arg("single_root") = true,
        nb::arg("name") = "", nb::arg("first_line") = 1, "Read CoNLL-U; see trelliswork.corpora.read_treebank.");
}

}  // namespace tw::bind
