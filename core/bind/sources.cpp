// Where attributes come from, as Python holds it.
#include "../text/sources.hpp"

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include "arrays.hpp"
#include "attribute_reader.hpp"

namespace tw::bind {

namespace {

template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
    return std::span(array.data(), array.size());
}

std::unique_ptr<MatrixSource> named(MatrixSource&& source, const std::string& channel) {
    auto out = std::make_unique<MatrixSource>(std::move(source));
    out->name_channel(channel);
    return out;
}

template <class T>
std::unique_ptr<MatrixSource> dense(const Rows<T>& rows, const Indices& offsets, const std::string& channel) {
    require(offsets.size() > 0 && offsets.data()[offsets.size() - 1] == static_cast<std::int64_t>(rows.shape(0)),
            "offsets must rise from 0 to the number of rows");
    const Unlocked unlocked;
    return named(MatrixSource::dense<T>(span_of(rows), rows.shape(1), span_of(offsets)), channel);
}

template <class T, class Index>
std::unique_ptr<MatrixSource> sparse(const Line<Index>& indptr, const Line<Index>& indices, const Line<T>& values,
                                     std::size_t n_columns, const Indices& offsets, const std::string& channel) {
    const Unlocked unlocked;
    return named(
        MatrixSource::sparse<T, Index>(span_of(indptr), span_of(indices), span_of(values), n_columns, span_of(offsets)),
        channel);
}

nb::object values_of(const AttributeList& list) {
    if (list.values.empty() && !list.keys.empty()) return nb::none();
    return nb::cast(to_numpy(list.values, {list.values.size()}));
}

nb::list attributes_of(const Source& source, std::size_t first, std::size_t last) {
    require(first <= last && last <= source.n_sequences(), "there are no such sequences");
    Attributes out;
    {
        const Unlocked unlocked;
        source.attributes(first, last, out);
    }
    nb::list lists;
    for (const AttributeList& list : out)
        lists.append(nb::make_tuple(to_numpy(list.starts, {list.starts.size()}),
                                    to_numpy(list.keys, {list.keys.size()}), values_of(list)));
    return lists;
}

std::string name_of(const Source& source, std::size_t sequence, std::size_t site, std::size_t i,
                    const std::string& channel) {
    require(sequence < source.n_sequences() && site < source.length(sequence), "there is no such site");
    Attributes out;
    source.attributes(sequence, sequence + 1, out);
    const AttributeList& list = out[source.channel(channel)];
    require(site + 1 < list.starts.size() && i < list.starts[site + 1] - list.starts[site],
            "there is no such attribute");
    return source.name(sequence, site, i, source.channel(channel));
}

std::vector<std::int64_t> lengths_of(const Source& source) {
    std::vector<std::int64_t> lengths(source.n_sequences());
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(source.length(i));
    return lengths;
}

}  // namespace

void bind_sources(nb::module_& m) {
    m.def(
        "hash_bytes", [](std::string_view text) { return hash_bytes(text); }, nb::arg("text"),
        "The 64-bit key of a name, as model files hold it.");

    nb::class_<Source>(m, "Source", "Sequences of sites (tokens, spans) whose attributes can be asked for.")
        .def_prop_ro("n_sequences", &Source::n_sequences)
        .def("length",
             [](const Source& source, std::size_t sequence) {
                 require(sequence < source.n_sequences(), "there is no such sequence");
                 return source.length(sequence);
             })
        .def_prop_ro(
            "channels",
            [](const Source& source) {
                nb::list out;
                for (const std::string_view name : source.channels()) out.append(nb::str(name.data(), name.size()));
                return out;
            },
            nb::sig("def channels(self) -> list[str]"), "Names of the kinds of attributes.")
        .def("lengths",
             [](const Source& source) {
                 const std::vector<std::int64_t> lengths = lengths_of(source);
                 return to_numpy(lengths, {lengths.size()});
             })
        .def("attributes", &attributes_of, nb::arg("first"), nb::arg("last"),
             nb::sig("def attributes(self, first: int, last: int) -> list[tuple]"),
             "Those of sequences first .. last - 1, for each channel as (starts by site, keys, values or None when "
             "all are 1).")
        .def("name", &name_of, nb::arg("sequence"), nb::arg("site"), nb::arg("i"), nb::arg("channel") = "token",
             "The readable name of the i-th attribute of a site.");

    nb::class_<AttributeSource, Source>(m, "AttributeSource", "Named attributes of tokens: dicts, or lists of strings.")
        .def(nb::new_([](nb::handle X, bool names, const std::string& where, std::size_t first,
                         const std::string& channel) { return read_attributes(X, names, where, first, channel); }),
             nb::arg("X"), nb::arg("names") = false, nb::arg("where") = "X", nb::arg("first") = 0,
             nb::arg("channel") = "token");

    nb::class_<MatrixSource, Source>(m, "MatrixSource", "Rows of a matrix: column j is the attribute x[j].")
        .def(nb::new_(&dense<float>), nb::arg("rows"), nb::arg("offsets"), nb::arg("channel") = "token")
        .def(nb::new_(&dense<double>), nb::arg("rows"), nb::arg("offsets"), nb::arg("channel") = "token")
        .def(nb::new_(&sparse<float, std::int32_t>), nb::arg("indptr"), nb::arg("indices"), nb::arg("values"),
             nb::arg("n_columns"), nb::arg("offsets"), nb::arg("channel") = "token")
        .def(nb::new_(&sparse<double, std::int32_t>), nb::arg("indptr"), nb::arg("indices"), nb::arg("values"),
             nb::arg("n_columns"), nb::arg("offsets"), nb::arg("channel") = "token")
        .def(nb::new_(&sparse<float, std::int64_t>), nb::arg("indptr"), nb::arg("indices"), nb::arg("values"),
             nb::arg("n_columns"), nb::arg("offsets"), nb::arg("channel") = "token")
        .def(nb::new_(&sparse<double, std::int64_t>), nb::arg("indptr"), nb::arg("indices"), nb::arg("values"),
             nb::arg("n_columns"), nb::arg("offsets"), nb::arg("channel") = "token");
}

}  // namespace tw::bind
