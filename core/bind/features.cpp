// Columns of text and templates over them, as Python holds them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "../text/arcs.hpp"
#include "../text/columns.hpp"
#include "../text/extractor.hpp"
#include "../text/spans.hpp"
#include "arrays.hpp"

namespace tw::bind {

namespace {

std::unique_ptr<Columns> parse(nb::bytes data, ColumnsFormat format) {
    const std::string_view text(data.c_str(), data.size());
    auto owner = keep_alive(nb::borrow(data));
    const Unlocked unlocked;
    return std::make_unique<Columns>(parse_columns(text, format, std::move(owner)));
}

// A list or tuple from any iterable but a string.
nb::object fast_sequence(nb::handle object, const std::string& where, const char* expected) {
    PyObject* fast = nullptr;
    const bool text = PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) || PyDict_Check(object.ptr());
    if (!text) fast = PySequence_List(object.ptr());
    if (!fast) {
        if (!text && !PyErr_ExceptionMatches(PyExc_Exception)) nb::raise_python_error();  // an interrupt
        if (!text) PyErr_Clear();
        throw std::invalid_argument(where + " is " + std::string(nb::repr(nb::handle(object)).c_str()).substr(0, 80) +
                                    ", but must be " + expected + ".");
    }
    return nb::steal(fast);
}

// Gathers rows from nested Python lists.
class Gatherer {
public:
    void add_sequence(nb::handle tokens, std::size_t sequence) {
        const std::string where = "X[" + std::to_string(sequence) + "]";
        const nb::object held = as_list(tokens, where, "a sequence of tokens");
        const Py_ssize_t n_tokens = PyList_Size(held.ptr());
        for (Py_ssize_t t = 0; t < n_tokens; ++t) {
            const nb::handle token(PyList_GetItem(held.ptr(), t));
            PyUnicode_Check(token.ptr()) ? add_word(token, sequence, t) : add_row(token, sequence, t);
        }
        columns_.starts.push_back(columns_.n_columns ? columns_.cells.size() / columns_.n_columns : 0);
    }

    std::unique_ptr<Columns> finish() {
        const auto text = std::make_shared<const std::string>(std::move(text_));
        columns_.text = *text;
        columns_.owner = text;
        return std::make_unique<Columns>(std::move(columns_));
    }

private:
    static nb::object as_list(nb::handle object, const std::string& where, const char* expected) {
        if (PyList_Check(object.ptr())) return nb::borrow(object);
        return fast_sequence(object, where, expected);
    }

    static std::string place(std::size_t sequence, Py_ssize_t token) {
        return "X[" + std::to_string(sequence) + "][" + std::to_string(token) + "]";
    }

    void add_word(nb::handle word, std::size_t sequence, Py_ssize_t token) {
        require_width(1, sequence, token);
        add_cell(word, sequence, token);
    }

    void add_row(nb::handle row, std::size_t sequence, Py_ssize_t token) {
        if (!PyTuple_Check(row.ptr()) && !PyList_Check(row.ptr()))
            throw std::invalid_argument(place(sequence, token) + " is " +
                                        std::string(nb::repr(row).c_str()).substr(0, 80) +
                                        ", but must be a string or a tuple of strings.");
        const nb::object cells = fast_sequence(row, place(sequence, token), "a tuple of strings");
        const Py_ssize_t width = PyList_Size(cells.ptr());
        require_width(static_cast<std::size_t>(width), sequence, token);
        for (Py_ssize_t i = 0; i < width; ++i) add_cell(nb::handle(PyList_GetItem(cells.ptr(), i)), sequence, token);
    }

    void require_width(std::size_t width, std::size_t sequence, Py_ssize_t token) {
        if (width == 0) throw std::invalid_argument(place(sequence, token) + " has no columns. Give every token one.");
        if (columns_.n_columns == 0) columns_.n_columns = width;
        if (width != columns_.n_columns)
            throw std::invalid_argument(place(sequence, token) + " has " + std::to_string(width) +
                                        " columns, but the tokens before it have " +
                                        std::to_string(columns_.n_columns) + ". Give every token the same columns.");
    }

    void add_cell(nb::handle cell, std::size_t sequence, Py_ssize_t token) {
        if (!PyUnicode_Check(cell.ptr()))
            throw std::invalid_argument(place(sequence, token) + " has " +
                                        std::string(nb::repr(cell).c_str()).substr(0, 80) +
                                        " in it, but columns must be strings.");
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(cell.ptr(), &size);
        if (!text) {
            PyErr_Clear();
            throw std::invalid_argument(place(sequence, token) + " has a lone surrogate in it: " +
                                        std::string(nb::repr(cell).c_str()).substr(0, 80) + ". It is no text.");
        }
        if (text_.size() + static_cast<std::size_t>(size) >= std::numeric_limits<std::uint32_t>::max())
            throw std::invalid_argument("X has more than 4 GiB of text. Hand it over in parts.");
        columns_.cells.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(size)});
        text_.append(text, static_cast<std::size_t>(size));
    }

    Columns columns_;
    std::string text_;
};

std::unique_ptr<Columns> columns_from_lists(nb::handle X) {
    const nb::object sequences = fast_sequence(X, "X", "a list of sequences of tokens");
    Gatherer gatherer;
    const Py_ssize_t n = PyList_Size(sequences.ptr());
    const Interruptible interruptible;
    InterruptCheck check;
    for (Py_ssize_t i = 0; i < n; ++i) {
        check();
        gatherer.add_sequence(nb::handle(PyList_GetItem(sequences.ptr(), i)), static_cast<std::size_t>(i));
    }
    return gatherer.finish();
}

nb::object to_str(std::string_view text) {
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::list sequence_list(const Columns& columns, std::size_t sequence) {
    require(sequence < columns.n_sequences(), "there is no such sequence");
    nb::list rows;
    for (std::size_t row = columns.starts[sequence]; row < columns.starts[sequence + 1]; ++row) {
        if (columns.n_columns == 1) {
            rows.append(to_str(columns.cell(row, 0)));
            continue;
        }
        nb::object cells = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(columns.n_columns)));
        for (std::size_t column = 0; column < columns.n_columns; ++column)
            PyTuple_SetItem(cells.ptr(), static_cast<Py_ssize_t>(column),
                            to_str(columns.cell(row, column)).release().ptr());
        rows.append(cells);
    }
    return rows;
}

void bind_columns(nb::module_& m) {
    nb::class_<Columns>(m, "Columns", "Tokens as rows of text columns, sequence after sequence.")
        .def_prop_ro("n_sequences", &Columns::n_sequences)
        .def_prop_ro("n_rows", &Columns::n_rows)
        .def_ro("n_columns", &Columns::n_columns)
        .def(
            "lengths",
            [](const Columns& columns) {
                std::vector<std::int64_t> lengths(columns.n_sequences());
                for (std::size_t i = 0; i < lengths.size(); ++i)
                    lengths[i] = static_cast<std::int64_t>(columns.starts[i + 1] - columns.starts[i]);
                return to_numpy(lengths, {lengths.size()});
            },
            "How many tokens each sequence has.")
        .def("sequence", &sequence_list, nb::arg("i"), nb::sig("def sequence(self, i: int) -> list"),
             "The tokens of a sequence: strings if there is one column, else tuples of strings.")
        .def(
            "where",
            [](const Columns& columns, std::size_t row) {
                require(row < columns.n_rows(), "there is no such row");
                return columns.where(row);
            },
            nb::arg("row"), "What a message calls this row: its file and line, or its place in X.")
        .def(
            "labels",
            [](const Columns& columns, std::size_t column, std::vector<std::string> known) {
                std::vector<std::int32_t> codes;
                {
                    const Unlocked unlocked;
                    codes = column_codes(columns, column, known);
                }
                nb::list table;
                for (const std::string& value : known) table.append(to_str(value));
                return nb::make_tuple(to_numpy(codes, {codes.size()}), table);
            },
            nb::arg("column"), nb::arg("known") = nb::list(),
            nb::sig("def labels(self, column: int, known: collections.abc.Sequence[str] = []) -> tuple[numpy.ndarray, "
                    "list[str]]"),
            "The values of a column as numbers in order of first sight, continuing `known`, and the table of values.")
        .def(
            "part",
            [](const Columns& columns, std::size_t first, std::size_t last) {
                const Unlocked unlocked;
                return std::make_unique<Columns>(some_sequences(columns, first, last));
            },
            nb::arg("first"), nb::arg("last"), "Sequences first .. last - 1 alone; the text is shared.")
        .def(
            "without",
            [](const Columns& columns, std::size_t column) {
                return std::make_unique<Columns>(without_column(columns, column));
            },
            nb::arg("column"), "The same rows without one column; the text is shared.");
    m.def(
        "parse_columns",
        [](nb::bytes data, std::optional<std::string> separator, std::optional<std::string> comments,
           bool keep_docstart, std::string name, std::size_t first_line, std::size_t n_columns) {
            return parse(std::move(data), {std::move(separator), std::move(comments), keep_docstart, std::move(name),
                                           first_line, n_columns});
        },
        nb::arg("data"), nb::arg("separator") = nb::none(), nb::arg("comments") = nb::none(),
        nb::arg("keep_docstart") = false, nb::arg("name") = "", nb::arg("first_line") = 1, nb::arg("n_columns") = 0,
        "The rows of a column file. Rules and errors are those of trelliswork.corpora.read_columns.");
    m.def(
        "count_lines", [](nb::bytes data) { return count_lines({data.c_str(), data.size()}); }, nb::arg("data"),
        "How many ends of lines there are.");
    m.def("columns_from_lists", &columns_from_lists, nb::arg("X"),
          nb::sig("def columns_from_lists(X: collections.abc.Iterable) -> Columns"),
          "Rows from sequences of strings, or of tuples of strings that all have the same width.");
}

// What templates.py hands over; the names are those of the enumerations in core/text.
using StepSpec = std::tuple<std::string, std::uint32_t, std::string>;  // op, n or number of a resource, pattern
using ViewSpec = std::tuple<std::string, std::uint32_t, std::vector<StepSpec>, std::string, std::uint32_t>;
using PartSpec = std::tuple<std::uint32_t, std::int32_t, std::string>;  // view, offset, mode
using SpanPartSpec = std::tuple<std::uint32_t, std::int32_t, std::string, std::vector<std::uint32_t>>;
using SpanTemplateSpec = std::tuple<std::string, std::vector<SpanPartSpec>>;  // text, parts: view, offset, kind, bins
using ArcPartSpec = std::tuple<std::uint32_t, std::int32_t, std::string, std::vector<std::uint32_t>, std::string>;
using ArcTemplateSpec = std::tuple<std::string, std::string, std::vector<ArcPartSpec>>;         // text, channel, parts
using TemplateSpec = std::tuple<std::string, std::vector<std::string>, std::vector<PartSpec>>;  // text, channels, parts

template <class T>
T named(const std::unordered_map<std::string, T>& names, const std::string& name) {
    const auto found = names.find(name);
    if (found == names.end()) throw std::invalid_argument("there is no " + quoted(name) + " in templates");
    return found->second;
}

class ExtractorBuilder {
public:
    explicit ExtractorBuilder(const std::vector<std::string>& resources)
        : resources_(resources), classes_(resources.size()) {}

    std::vector<View> views(const std::vector<ViewSpec>& specs) {
        std::vector<View> built;
        for (const ViewSpec& spec : specs) built.push_back(view(spec));
        return built;
    }

    View view(const ViewSpec& spec) {
        static const std::unordered_map<std::string, View::Kind> kinds{
            {"cell", View::Kind::kCell},           {"begin", View::Kind::kBegin},   {"end", View::Kind::kEnd},
            {"gazetteer", View::Kind::kGazetteer}, {"number", View::Kind::kNumber}, {"entry", View::Kind::kEntry}};
        static const std::unordered_map<std::string, View::Outside> outsides{
            {"", View::Outside::kNothing}, {"crfpp", View::Outside::kCrfpp}, {"wapiti", View::Outside::kWapiti}};
        const auto& [kind, column, steps, outside, resource] = spec;
        View out{named(kinds, kind), column, {}, named(outsides, outside), {}};
        for (const StepSpec& s : steps) out.steps.push_back(step(s));
        if (out.of_gazetteer()) out.resource = resource_at(resource);
        return out;
    }

    static Template make_template(const TemplateSpec& spec) {
        static const std::unordered_map<std::string, Part::Mode> modes{
            {"", Part::Mode::kRelative}, {"@", Part::Mode::kAbsolute}, {"*", Part::Mode::kIndirect}};
        const auto& [text, channels, parts] = spec;
        Template out{text, {}, {}};
        for (std::size_t i = 0; i < kTokenChannels.size(); ++i)
            out.in[i] = std::ranges::find(channels, kTokenChannels[i]) != channels.end();
        for (const auto& [view, offset, mode] : parts) out.parts.push_back({view, offset, named(modes, mode)});
        return out;
    }

    static SpanTemplate make_span_template(const SpanTemplateSpec& spec) {
        using Kind = SpanPart::Kind;
        static const std::unordered_map<std::string, Kind> kinds{
            {"first", Kind::kFirst}, {"last", Kind::kLast},       {"before", Kind::kBefore}, {"after", Kind::kAfter},
            {"whole", Kind::kWhole}, {"outline", Kind::kOutline}, {"size", Kind::kSize}};
        const auto& [text, parts] = spec;
        SpanTemplate out{text, {}};
        for (const auto& [view, offset, kind, bins] : parts)
            out.parts.push_back({named(kinds, kind), view, offset, bins});
        return out;
    }

    static ArcTemplate make_arc_template(const ArcTemplateSpec& spec) {
        using Kind = ArcPart::Kind;
        static const std::unordered_map<std::string, Kind> kinds{
            {"head", Kind::kHead},           {"mod", Kind::kModifier},     {"sibling", Kind::kThird},
            {"grand", Kind::kThird},         {"between", Kind::kBetween},  {"count", Kind::kCount},
            {"direction", Kind::kDirection}, {"distance", Kind::kDistance}};
        const auto& [text, channel, parts] = spec;
        const auto found = std::ranges::find(ArcExtractor::kChannels, channel);
        require(found != ArcExtractor::kChannels.end(), "there is no such channel of arcs");
        ArcTemplate out{text, static_cast<std::size_t>(found - ArcExtractor::kChannels.begin()), {}};
        for (const auto& [view, offset, kind, bins, value] : parts)
            out.parts.push_back({named(kinds, kind), view, offset, bins, value});
        return out;
    }

private:
    Step step(const StepSpec& spec) {
        using Op = Step::Op;
        static const std::unordered_map<std::string, Op> ops{
            {"lower", Op::kLower},    {"ascii_lower", Op::kAsciiLower},
            {"prefix", Op::kPrefix},  {"suffix", Op::kSuffix},
            {"shape", Op::kShape},    {"digits", Op::kDigits},
            {"case", Op::kCase},      {"characters", Op::kCharacters},
            {"length", Op::kLength},  {"matches", Op::kMatches},
            {"match", Op::kMatch},    {"test", Op::kTest},
            {"class", Op::kClass},    {"match_or_empty", Op::kMatchOrEmpty},
            {"replace", Op::kReplace}};
        const auto& [name, n, text] = spec;
        Step out{named(ops, name), n, {}, {}, {}};
        // What replaces stands behind the pattern and a zero.
        const std::size_t split = out.op == Op::kReplace ? std::min(text.find('\0'), text.size()) : text.size();
        const std::string pattern = text.substr(0, split);
        out.replacement = text.substr(std::min(split + 1, text.size()));
        const bool wapiti = out.op == Op::kTest || out.op == Op::kMatchOrEmpty;
        if (wapiti || out.op == Op::kMatch || out.op == Op::kMatches || out.op == Op::kReplace) {
            std::shared_ptr<const Pattern>& shared = patterns_[{pattern, wapiti}];
            if (!shared)
                shared = std::make_shared<const Pattern>(pattern,
                                                         wapiti ? Pattern::Dialect::kWapiti : Pattern::Dialect::kUsual);
            out.pattern = shared;
        }
        if (out.op == Op::kClass) {
            const std::string& lines = resource_at(n);
            if (!classes_[n]) classes_[n] = std::make_shared<const WordClasses>(lines);
            out.classes = classes_[n];
        }
        return out;
    }

    const std::string& resource_at(std::size_t i) const {
        require(i < resources_.size(), "a template names a resource that does not exist");
        return resources_[i];
    }

    const std::vector<std::string>& resources_;
    std::vector<std::shared_ptr<const WordClasses>> classes_;
    std::map<std::pair<std::string, bool>, std::shared_ptr<const Pattern>> patterns_;  // and whether they are Wapiti's
};

std::unique_ptr<Extractor> make_extractor(const std::vector<ViewSpec>& views,
                                          const std::vector<TemplateSpec>& templates,
                                          const std::vector<std::string>& resources) {
    ExtractorBuilder builder(resources);
    std::vector<Template> ready;
    for (const TemplateSpec& t : templates) ready.push_back(ExtractorBuilder::make_template(t));
    return std::make_unique<Extractor>(builder.views(views), std::move(ready));
}

std::unique_ptr<SpanExtractor> make_span_extractor(const std::vector<ViewSpec>& views,
                                                   const std::vector<SpanTemplateSpec>& templates,
                                                   const std::vector<std::string>& resources) {
    ExtractorBuilder builder(resources);
    std::vector<SpanTemplate> ready;
    for (const SpanTemplateSpec& t : templates) ready.push_back(ExtractorBuilder::make_span_template(t));
    return std::make_unique<SpanExtractor>(builder.views(views), std::move(ready));
}

std::unique_ptr<ArcExtractor> make_arc_extractor(const std::vector<ViewSpec>& views,
                                                 const std::vector<ArcTemplateSpec>& templates,
                                                 const std::vector<std::string>& resources) {
    ExtractorBuilder builder(resources);
    std::vector<ArcTemplate> ready;
    for (const ArcTemplateSpec& t : templates) ready.push_back(ExtractorBuilder::make_arc_template(t));
    return std::make_unique<ArcExtractor>(builder.views(views), std::move(ready));
}

nb::tuple attribute_arrays(const Source& source, std::size_t first, std::size_t last, const std::string& channel) {
    require(first <= last && last <= source.n_sequences(), "there are no such sequences");
    Attributes attributes;
    {
        const Unlocked unlocked;
        source.attributes(first, last, attributes);
    }
    const AttributeList& list = attributes[source.channel(channel)];
    return nb::make_tuple(to_numpy(list.starts, {list.starts.size()}), to_numpy(list.keys, {list.keys.size()}),
                          to_numpy(list.values, {list.values.size()}));
}

nb::list attribute_names(const Source& source, std::size_t sequence, const std::string& channel) {
    require(sequence < source.n_sequences(), "there is no such sequence");
    Attributes attributes;
    source.attributes(sequence, sequence + 1, attributes);
    const AttributeList& list = attributes[source.channel(channel)];
    nb::list tokens;
    for (std::size_t t = 0; t < list.n_sites(); ++t) {
        nb::list names;
        for (std::uint32_t i = 0; i < list.starts[t + 1] - list.starts[t]; ++i)
            names.append(to_str(source.name(sequence, t, i, source.channel(channel))));
        tokens.append(names);
    }
    return tokens;
}

void bind_extractor(nb::module_& m) {
    nb::class_<Extractor>(m, "Extractor", "Compiled templates: from rows of columns to attributes.")
        .def(nb::new_(&make_extractor), nb::arg("views"), nb::arg("templates"), nb::arg("resources"))
        .def_prop_ro("n_columns", &Extractor::n_columns, "How many columns the templates need.");
    nb::class_<ColumnSource, Source>(m, "ColumnSource", "Rows of columns, seen through templates.")
        .def(nb::new_([](const Columns& columns, const Extractor& extractor) {
                 return std::make_unique<ColumnSource>(shared(columns), shared(extractor));
             }),
             nb::arg("columns"), nb::arg("extractor"))
        .def("attribute_arrays", &attribute_arrays, nb::arg("first"), nb::arg("last"), nb::arg("channel") = "token",
             "Starts of the tokens, keys and values (none when all are 1) of the attributes of some sequences.")
        .def("attribute_names", &attribute_names, nb::arg("sequence"), nb::arg("channel") = "token",
             nb::sig("def attribute_names(self, sequence: int, channel: str = 'token') -> list[list[str]]"),
             "The names of the attributes of each token of a sequence.");
    nb::class_<SpanExtractor>(m, "SpanExtractor", "Compiled templates about spans.")
        .def(nb::new_(&make_span_extractor), nb::arg("views"), nb::arg("templates"), nb::arg("resources"))
        .def_prop_ro("n_columns", &SpanExtractor::n_columns, "How many columns the templates need.")
        .def_prop_ro("n_templates", &SpanExtractor::n_templates);
    nb::class_<SpanSource, Source>(
        m, "SpanSource",
        "Spans of rows of columns, seen through templates: site begin * longest + (size - 1) "
        "is the span of so many tokens from `begin` on. With `longest` 0 all spans have sites, and only these.")
        .def(nb::new_([](const Columns& columns, const SpanExtractor& extractor, std::size_t longest) {
                 return std::make_unique<SpanSource>(shared(columns), shared(extractor), longest);
             }),
             nb::arg("columns"), nb::arg("extractor"), nb::arg("longest"))
        .def(nb::new_([](const ColumnSource& tokens, const SpanExtractor& extractor, std::size_t longest) {
                 return std::make_unique<SpanSource>(tokens.shared_columns(), shared(extractor), longest);
             }),
             nb::arg("tokens"), nb::arg("extractor"), nb::arg("longest"))
        .def_prop_ro("longest", &SpanSource::longest, "How many tokens a span has at most.")
        .def("attribute_arrays", &attribute_arrays, nb::arg("first"), nb::arg("last"), nb::arg("channel") = "span",
             "Starts of the sites, keys and values (none when all are 1) of the attributes of some sequences.")
        .def("attribute_names", &attribute_names, nb::arg("sequence"), nb::arg("channel") = "span",
             nb::sig("def attribute_names(self, sequence: int, channel: str = 'span') -> list[list[str]]"),
             "The names of the attributes of each site of a sequence.");
    nb::class_<ArcExtractor>(m, "ArcExtractor", "Compiled templates about arcs.")
        .def(nb::new_(&make_arc_extractor), nb::arg("views"), nb::arg("templates"), nb::arg("resources"))
        .def_prop_ro("n_columns", &ArcExtractor::n_columns, "How many columns the templates need.")
        .def_prop_ro("n_templates", &ArcExtractor::n_templates)
        .def_prop_ro(
            "channels",
            [](const ArcExtractor& self) {
                std::vector<std::string> names;
                for (std::size_t c = 0; c < ArcExtractor::kChannels.size(); ++c)
                    if (self.has(c)) names.emplace_back(ArcExtractor::kChannels[c]);
                return names;
            },
            "The channels that have templates.");
    m.def(
        "search_pattern",
        [](const std::string& pattern, const std::string& text, bool wapiti) -> std::optional<nb::str> {
            const Pattern compiled(pattern, wapiti ? Pattern::Dialect::kWapiti : Pattern::Dialect::kUsual);
            const auto match = compiled.search(text);
            if (!match) return std::nullopt;
            return nb::str(text.data() + match->begin, match->end - match->begin);
        },
        nb::arg("pattern"), nb::arg("text"), nb::arg("wapiti") = false,
        "The leftmost match of a regular expression of templates in a text, or None.");
    m.def(
        "value_key", [](const std::string& text) { return value_key(text); }, nb::arg("text"),
        "The hash that keys are made of; never 0.");
    m.def("combine_keys", &combine, nb::arg("a"), nb::arg("b"), "The key of a combination, in this order.");
}

}  // namespace

void bind_features(nb::module_& m) {
    bind_columns(m);
    bind_extractor(m);
}

}  // namespace tw::bind
