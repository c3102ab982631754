// Arrow's C interfaces at the border with Python: capsules in (`__arrow_c_stream__`, `__arrow_c_array__`), capsules
// out.
#include <nanobind/stl/unique_ptr.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "../arrow/reading.hpp"
#include "../arrow/writing.hpp"
#include "arrays.hpp"

namespace tw::bind {

namespace {

using arrow::ArrowArray;
using arrow::ArrowArrayStream;
using arrow::ArrowSchema;
using arrow::Column;
using arrow::Owned;
using OneFlag = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr const char *kSchema = "arrow_schema", *kArray = "arrow_array", *kStream = "arrow_array_stream";

// ---- capsules -------------------------------------------------------------------------------------------------------

template <class T>
Owned<T> taken(nb::handle capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule.ptr(), name))
        throw std::invalid_argument("expected a capsule with the name '" + std::string(name) + "', found " +
                                    std::string(nb::repr(capsule).c_str()).substr(0, 80) + ".");
    T* lent = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (!lent->release) throw std::invalid_argument("this Arrow capsule has been used already: ask for a new one.");
    return Owned<T>(lent);
}

template <class T>
void destroy(PyObject* capsule) {
    T* held = static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
    if (held->release) held->release(held);
    delete held;
}

template <class T, class Fill>
nb::object given(const char* name, const Fill& fill) {
    auto value = std::make_unique<T>();
    fill(value.get());
    PyObject* capsule = PyCapsule_New(value.get(), name, &destroy<T>);
    if (!capsule) {
        value->release(value.get());
        throw nb::python_error();
    }
    value.release();
    return nb::steal(capsule);
}

std::shared_ptr<const Owned<ArrowSchema>> checked(Owned<ArrowSchema> schema) {
    arrow::require_schema(*schema);
    return std::make_shared<const Owned<ArrowSchema>>(std::move(schema));
}

// ---- what others lend -----------------------------------------------------------------------------------------------

template <class T>
nb::object optional_array(const std::vector<T>& values) {
    return values.empty() ? nb::none() : nb::cast(to_numpy(values, {values.size()}));
}

nb::tuple as_tuple(arrow::Tokens tokens) {
    nb::object columns = nb::cast(std::move(tokens.columns));
    std::vector<std::int64_t> missing(tokens.missing.begin(), tokens.missing.end());
    return nb::make_tuple(columns, optional_array(tokens.valid),
                          to_numpy(tokens.places, {tokens.places.size() / 2, std::size_t{2}}),
                          to_numpy(missing, {missing.size()}));
}

struct LentBatch {
    std::shared_ptr<const arrow::Batch> batch;

    nb::tuple lists(const std::vector<std::size_t>& columns, std::size_t first, std::size_t rows, std::size_t bytes,
                    bool keep_nulls) const {
        arrow::Tokens tokens;
        {
            const Unlocked unlocked;
            std::vector<arrow::Slice> slices;
            for (const std::size_t i : columns) slices.push_back(batch->column(i));
            tokens = arrow::listed_tokens(slices, first, {rows, bytes}, keep_nulls);
        }
        return as_tuple(std::move(tokens));
    }

    nb::tuple words(std::size_t column, nb::bytes classes, std::size_t first, std::size_t rows,
                    std::size_t bytes) const {
        const std::span kinds(reinterpret_cast<const std::uint8_t*>(classes.c_str()), classes.size());
        arrow::Tokens tokens;
        {
            const Unlocked unlocked;
            tokens = arrow::cut_tokens(batch->column(column), first, {rows, bytes}, kinds);
        }
        return as_tuple(std::move(tokens));
    }

    nb::tuple placed(std::size_t column, std::size_t first, const Indices& counts, const Indices& places) const {
        arrow::Tokens tokens;
        {
            const Unlocked unlocked;
            tokens = arrow::placed_tokens(batch->column(column), first, {counts.data(), counts.size()},
                                          {places.data(), places.size()});
        }
        return as_tuple(std::move(tokens));
    }

    nb::list texts(std::size_t column, std::size_t first, std::size_t rows, std::size_t bytes) const {
        nb::list out;
        for (const auto& text : arrow::texts(batch->column(column), first, {rows, bytes}))
            out.append(text ? nb::object(nb::str(text->data(), text->size())) : nb::none());
        return out;
    }

    nb::tuple integers(std::size_t column) const {
        arrow::Integers found;
        {
            const Unlocked unlocked;
            found = arrow::listed_integers(batch->column(column));
        }
        const std::vector<std::int64_t> missing(found.missing.begin(), found.missing.end());
        return nb::make_tuple(to_numpy(found.values, {found.values.size()}),
                              to_numpy(found.lengths, {found.lengths.size()}), optional_array(found.valid),
                              to_numpy(missing, {missing.size()}));
    }

    Column::Shared column(std::size_t i, std::size_t first, std::size_t rows) const {
        arrow::Slice slice = batch->column(i);
        require(first <= slice.length && rows <= slice.length - first, "there are no such rows");
        slice.first += first;
        slice.length = rows;
        return Column::lent(batch, slice);
    }
};

// A table, record batch or array that somebody offers: its type, then batch after batch.
class LentStream {
public:
    explicit LentStream(nb::handle offered) {
        if (nb::hasattr(offered, "__arrow_c_stream__")) {
            const nb::object capsule = offered.attr("__arrow_c_stream__")();
            stream_ = taken<ArrowArrayStream>(capsule, kStream);
            Owned<ArrowSchema> schema;
            call([&] { return stream_->get_schema(stream_.get(), schema.get()); });
            schema_ = checked(std::move(schema));
        } else {
            const nb::object pair = offered.attr("__arrow_c_array__")();
            require(PyTuple_Check(pair.ptr()) && PyTuple_Size(pair.ptr()) == 2,
                    "__arrow_c_array__ must give two capsules");
            schema_ = checked(taken<ArrowSchema>(nb::handle(PyTuple_GetItem(pair.ptr(), 0)), kSchema));
            single_ = taken<ArrowArray>(nb::handle(PyTuple_GetItem(pair.ptr(), 1)), kArray);
        }
    }

    nb::object next() {
        Owned<ArrowArray> array;
        if (stream_->release)
            call([&] { return stream_->get_next(stream_.get(), array.get()); });
        else
            array = std::move(single_);
        if (!array->release) return nb::none();
        return nb::cast(LentBatch{std::make_shared<const arrow::Batch>(schema_, std::move(array))});
    }

    const ArrowSchema& type() const { return **schema_; }
    const ArrowSchema& type(std::size_t i) const { return arrow::column_schema(type(), i); }
    Column::Shared column(std::size_t i) const { return Column::lent(schema_, {&type(i), nullptr, 0, 0}); }

private:
    template <class Call>
    void call(const Call& what) {
        int error;
        {
            const nb::gil_scoped_release unlocked;
            error = what();
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (error == 0) return;
        const char* told = stream_->get_last_error ? stream_->get_last_error(stream_.get()) : nullptr;
        throw std::invalid_argument("the Arrow stream failed: " + std::string(told ? told : std::strerror(error)));
    }

    std::shared_ptr<const Owned<ArrowSchema>> schema_;
    Owned<ArrowArrayStream> stream_;
    Owned<ArrowArray> single_;
};

const char* kind_name(arrow::Kind kind) {
    switch (kind) {
        case arrow::Kind::kText:
            return "text";
        case arrow::Kind::kTokens:
            return "tokens";
        case arrow::Kind::kIntegers:
            return "integers";
        default:
            return "other";
    }
}

nb::list column_names(const ArrowSchema& type) {
    nb::list out;
    for (std::size_t i = 0; i < arrow::n_columns(type); ++i) {
        const char* name = arrow::column_schema(type, i).name;
        PyObject* text =
            PyUnicode_DecodeUTF8(name ? name : "", static_cast<Py_ssize_t>(name ? std::strlen(name) : 0), "replace");
        if (!text) throw nb::python_error();
        out.append(nb::steal(text));
    }
    return out;
}

// ---- what is handed out ---------------------------------------------------------------------------------------------

struct OwnColumn {
    Column::Shared column;

    nb::object schema() const {
        return given<ArrowSchema>(kSchema, [&](ArrowSchema* to) { column->export_schema(to); });
    }
    nb::object array() const {
        return given<ArrowArray>(kArray, [&](ArrowArray* to) { column->export_array(to); });
    }
};

OwnColumn coded_strings(const Labels& codes, const std::vector<std::string>& names) {
    const Unlocked unlocked;
    std::vector<std::string_view> values(codes.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto code = static_cast<std::size_t>(codes.data()[i]);
        require(code < names.size(), "there is no such name");
        values[i] = names[code];
    }
    return {Column::strings(values)};
}

OwnColumn cell_strings(const Columns& columns, std::size_t column) {
    require(column < columns.n_columns || columns.n_rows() == 0, "there is no such column");
    const Unlocked unlocked;
    std::vector<std::string_view> values(columns.n_rows());
    for (std::size_t row = 0; row < values.size(); ++row) values[row] = columns.cell(row, column);
    return {Column::strings(values)};
}

OwnColumn span_strings(const Columns& columns, const Indices& firsts, const Indices& lasts) {
    require(firsts.size() == lasts.size(), "there must be as many first tokens as last ones");
    const Unlocked unlocked;
    std::vector<std::string_view> values(firsts.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto first = static_cast<std::size_t>(firsts.data()[i]), last = static_cast<std::size_t>(lasts.data()[i]);
        require(columns.n_columns == 1 && first <= last && last < columns.n_rows(), "there is no such span");
        const Columns::Place begin = columns.cells[first], end = columns.cells[last];
        require(begin.begin <= end.begin + end.size, "the tokens are not of one text");
        values[i] = columns.text.substr(begin.begin, end.begin + end.size - begin.begin);
    }
    return {Column::strings(values)};
}

OwnColumn lists_of(const Indices& lengths, const OwnColumn& child, std::optional<OneFlag> valid) {
    const std::span<const std::uint8_t> flags =
        valid ? std::span(valid->data(), valid->size()) : std::span<const std::uint8_t>();
    return {Column::lists({lengths.data(), lengths.size()}, child.column, flags)};
}

OwnColumn table_of(std::size_t length, const std::vector<std::string>& names, const nb::list& columns) {
    require(names.size() == columns.size(), "there must be a name for each column");
    std::vector<std::pair<std::string, Column::Shared>> children;
    for (std::size_t i = 0; i < names.size(); ++i)
        children.emplace_back(names[i], nb::cast<const OwnColumn&>(columns[i]).column);
    return {Column::structs(length, std::move(children))};
}

// A stream that asks a Python iterator for its batches, under the interpreter's lock.
struct Batches {
    nb::object iterator;
    Column::Shared type;
    std::string error;

    static Batches& of(ArrowArrayStream* stream) { return *static_cast<Batches*>(stream->private_data); }

    template <class Work>
    int answer(const Work& work) noexcept {
        try {
            work();
            return 0;
        } catch (nb::python_error& raised) {
            const int code = failed(raised);
            // Who asked us cannot pass it on. So an interrupt is asked for again: it is raised when Python has control.
            if (raised.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
            return code;
        } catch (const std::exception& raised) {
            return failed(raised);
        }
    }
    int failed(const std::exception& raised) noexcept {
        try {
            error = raised.what();
        } catch (...) {
            error.clear();
        }
        return EINVAL;
    }

    void next(ArrowArray* to) {
        *to = {};
        PyObject* item = PyIter_Next(iterator.ptr());
        if (!item && PyErr_Occurred()) throw nb::python_error();
        if (!item) return;
        nb::cast<const OwnColumn&>(nb::steal(item)).column->export_array(to);
    }
};

nb::object stream_of(const OwnColumn& type, nb::object batches) {
    PyObject* iterator = PyObject_GetIter(batches.ptr());
    if (!iterator) throw nb::python_error();
    auto held = std::make_unique<Batches>(Batches{nb::steal(iterator), type.column, {}});
    return given<ArrowArrayStream>(kStream, [&](ArrowArrayStream* to) {
        to->get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
            return Batches::of(self).answer([&] { Batches::of(self).type->export_schema(out); });
        };
        to->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
            const nb::gil_scoped_acquire locked;
            return Batches::of(self).answer([&] { Batches::of(self).next(out); });
        };
        to->get_last_error = [](ArrowArrayStream* self) { return Batches::of(self).error.c_str(); };
        to->release = [](ArrowArrayStream* self) {
            const nb::gil_scoped_acquire locked;
            delete &Batches::of(self);
            self->release = nullptr;
        };
        to->private_data = held.release();
    });
}

}  // namespace

void bind_arrow(nb::module_& m) {
    nb::class_<OwnColumn>(m, "ArrowColumn", "An array to hand out; a struct of columns is a record batch.")
        .def_prop_ro("length", [](const OwnColumn& self) { return self.column->length(); })
        .def("schema", &OwnColumn::schema, "Its type as a capsule.")
        .def("array", &OwnColumn::array, "Its values as a capsule.");
    nb::class_<LentBatch>(m, "ArrowBatch", "Rows that somebody lent, until nobody looks at them any more.")
        .def_prop_ro("n_rows", [](const LentBatch& self) { return self.batch->n_rows(); })
        .def("lists", &LentBatch::lists, nb::arg("columns"), nb::arg("first"), nb::arg("rows"), nb::arg("bytes"),
             nb::arg("keep_nulls") = false,
             "Tokens of lists of text: columns, which rows are valid (None: all), no places, which tokens are null.")
        .def("words", &LentBatch::words, nb::arg("column"), nb::arg("classes"), nb::arg("first"), nb::arg("rows"),
             nb::arg("bytes"), "Text, cut by the class of each character: the same, with the places of tokens.")
        .def("placed", &LentBatch::placed, nb::arg("column"), nb::arg("first"), nb::arg("counts"), nb::arg("places"),
             "Text that the caller cut: tokens of each row, and where they begin and stop.")
        .def("texts", &LentBatch::texts, nb::arg("column"), nb::arg("first"), nb::arg("rows"), nb::arg("bytes"),
             nb::sig("def texts(self, column: int, first: int, rows: int, bytes: int) -> list[str | None]"))
        .def("integers", &LentBatch::integers, nb::arg("column"),
             "Lists of integers: values, lengths, which rows are valid (None: all), which values are null.")
        .def(
            "column",
            [](const LentBatch& self, std::size_t i, std::size_t first, std::size_t rows) {
                return OwnColumn{self.column(i, first, rows)};
            },
            nb::arg("i"), nb::arg("first"), nb::arg("rows"), "Some rows of a column, to hand on as they are.");
    nb::class_<LentStream>(m, "ArrowStream", "What an object with __arrow_c_stream__ or __arrow_c_array__ offers.")
        .def(nb::init<nb::handle>(), nb::arg("offered"))
        .def("next", &LentStream::next, nb::sig("def next(self) -> ArrowBatch | None"))
        .def(
            "same_type",
            [](const LentStream& self, const LentStream& other) { return arrow::same_type(self.type(), other.type()); },
            nb::arg("other"))
        .def_prop_ro("is_table", [](const LentStream& self) { return arrow::is_table(self.type()); })
        .def_prop_ro(
            "names", [](const LentStream& self) { return column_names(self.type()); },
            nb::sig("def names(self) -> list[str]"))
        .def(
            "kind", [](const LentStream& self, std::size_t i) { return kind_name(arrow::kind_of(self.type(i))); },
            nb::arg("i"), "What can be made of a column: text, tokens, integers, other.")
        .def(
            "type_name", [](const LentStream& self, std::size_t i) { return arrow::type_name(self.type(i)); },
            nb::arg("i"))
        .def(
            "column", [](const LentStream& self, std::size_t i) { return OwnColumn{self.column(i)}; }, nb::arg("i"),
            "The type of a column without rows.");

    m.def(
        "joined_columns",
        [](const nb::list& all) {
            std::vector<const Columns*> parts;
            for (const nb::handle one : all) parts.push_back(&nb::cast<const Columns&>(one));
            const Unlocked unlocked;
            return std::make_unique<Columns>(arrow::joined(parts));
        },
        nb::arg("all"), nb::sig("def joined_columns(all: list[Columns]) -> Columns"),
        "All sequences, one after the other.");
    m.def(
        "arrow_numbers",
        [](const Vector& values) { return OwnColumn{Column::numbers(std::span(values.data(), values.size()))}; },
        nb::arg("values"));
    m.def(
        "arrow_numbers",
        [](const Labels& values) { return OwnColumn{Column::numbers(std::span(values.data(), values.size()))}; },
        nb::arg("values"));
    m.def("arrow_names", &coded_strings, nb::arg("codes"), nb::arg("names"), "The name of each code.");
    m.def("arrow_cells", &cell_strings, nb::arg("columns"), nb::arg("column"), "A column of tokens.");
    m.def("arrow_spans", &span_strings, nb::arg("columns"), nb::arg("firsts"), nb::arg("lasts"),
          "The text from one token to another, both in it, of tokens that were cut from text.");
    m.def("arrow_lists", &lists_of, nb::arg("lengths"), nb::arg("child"), nb::arg("valid") = nb::none(),
          "Lists of so many values each; those that are not valid are null.");
    m.def("arrow_table", &table_of, nb::arg("length"), nb::arg("names"), nb::arg("columns"),
          nb::sig("def arrow_table(length: int, names: collections.abc.Sequence[str], columns: list) -> ArrowColumn"),
          "A record batch, or a column of structs.");
    m.def("arrow_stream", &stream_of, nb::arg("type"), nb::arg("batches"),
          "Record batches of one type, from an iterator that is asked for the next when it is wanted, as a capsule.");
}

}  // namespace tw::bind
