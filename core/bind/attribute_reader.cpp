// Objects of the caller's may run any code when they are asked something (__iter__, __float__), and that code may
// change the very list being read. So a token is first read in a way that runs none: exact strings, numbers, lists,
// tuples and dicts, item by item. Whatever else is met, the token is read again from copies of its containers, which
// nobody else holds. Only functions of the limited API are used.
#include "attribute_reader.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "unlocked.hpp"

namespace tw::bind {

namespace {

constexpr int kMaxDepth = 16;

std::string kind_of(nb::handle object) {
    return nb::cast<std::string>(
        nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
}

std::string shown(std::string_view name) {  // a whole name, or the beginning of a long one, cut between characters
    if (name.size() <= 60) return "'" + std::string(name) + "'";
    std::size_t size = 57;
    while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;
    return "'" + std::string(name.substr(0, size)) + "...'";
}

class Reader {
public:
    Reader(AttributeSource& source, const std::string& where) : source_(source), where_(where) {}

    void read_token(PyObject* token, std::size_t sequence, std::size_t position) {
        sequence_ = sequence;
        position_ = position;
        name_.clear();
        if (!read_plain(token)) {
            source_.drop_token();
            name_.clear();
            read_any(token);
        }
        source_.end_token();
    }

private:
    // ---- reading that runs no code of the caller's; false when some would have to run -----------------------------

    bool read_plain(PyObject* token) {
        if (PyList_CheckExact(token)) return read_plain_list(token);
        if (PyTuple_CheckExact(token)) return read_plain_tuple(token);
        if (PyDict_Check(token)) return read_plain_dict(token, 0);
        return false;
    }

    bool read_plain_list(PyObject* list) {
        const Py_ssize_t size = PyList_Size(list);
        for (Py_ssize_t i = 0; i < size; ++i) {
            if (i + kAhead < size) prefetch(PyList_GetItem(list, i + kAhead));
            if (!read_plain_item(PyList_GetItem(list, i))) return false;
        }
        return true;
    }

    bool read_plain_tuple(PyObject* tuple) {
        const Py_ssize_t size = PyTuple_Size(tuple);
        for (Py_ssize_t i = 0; i < size; ++i)
            if (!read_plain_item(PyTuple_GetItem(tuple, i))) return false;
        return true;
    }

    bool read_plain_item(PyObject* item) {
        if (PyUnicode_Check(item)) {
            source_.add(utf8(item), 1.0f);
            return true;
        }
        if (!PyTuple_CheckExact(item) || PyTuple_Size(item) != 2) return false;
        PyObject* name = PyTuple_GetItem(item, 0);
        if (!PyUnicode_Check(name)) return false;
        const std::optional<double> value = plain_number(PyTuple_GetItem(item, 1));
        if (!value) return false;
        const std::string_view text = utf8(name);
        source_.add(text, checked(text, *value));
        return true;
    }

    bool read_plain_dict(PyObject* dict, int depth) {
        if (depth > kMaxDepth) refuse_depth();
        PyObject *key = nullptr, *value = nullptr;
        const std::size_t prefix = name_.size();
        for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
            if (!PyUnicode_Check(key)) return false;
            name_.append(utf8(key));
            if (!read_plain_value(value, depth)) return false;
            name_.resize(prefix);
        }
        return true;
    }

    bool read_plain_value(PyObject* value, int depth) {  // of the attribute called name_
        if (PyUnicode_Check(value)) {
            add_with(value);
            return true;
        }
        if (const std::optional<double> number = plain_number(value)) {
            source_.add(name_, checked(name_, *number));
            return true;
        }
        if (PyDict_Check(value)) {
            name_.push_back(':');
            return read_plain_dict(value, depth + 1);
        }
        if (!PyList_CheckExact(value)) return false;
        for (Py_ssize_t i = 0; i < PyList_Size(value); ++i) {
            PyObject* item = PyList_GetItem(value, i);
            if (!PyUnicode_Check(item)) return false;
            add_with(item);
        }
        return true;
    }

    static std::optional<double> plain_number(PyObject* object) {
        if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
        if (!PyLong_Check(object)) return std::nullopt;
        const double value = PyLong_AsDouble(object);
        if (value == -1.0 && PyErr_Occurred()) {  // beyond 1e308
            PyErr_Clear();
            return std::numeric_limits<double>::infinity();
        }
        return value;
    }

    // ---- reading from copies ---------------------------------------------------------------------------------------

    void read_any(nb::handle token) {
        if (is_text(token)) refuse_token(token);
        if (is_mapping(token)) return read_mapping(token, 0);
        const nb::list items = copied(token, [&] { refuse_token(token); });
        for (std::size_t i = 0; i < nb::len(items); ++i) read_item(nb::object(items[i]), i);
    }

    void read_item(const nb::object& item, std::size_t i) {
        if (is_text(item)) {
            const nb::object text = decoded(item);
            source_.add(utf8(text.ptr()), 1.0f);
            return;
        }
        const bool is_pair = nb::isinstance<nb::tuple>(item) && nb::len(item) == 2;
        if (!is_pair) refuse_item(item, i);
        const nb::object name = nb::borrow(PyTuple_GetItem(item.ptr(), 0));
        const nb::object value = nb::borrow(PyTuple_GetItem(item.ptr(), 1));
        if (!is_text(name)) refuse_item(item, i);
        const nb::object text = decoded(name);
        const std::string copy(utf8(text.ptr()));  // `number` may run any code
        source_.add(copy, checked(copy, number(value, copy)));
    }

    void read_mapping(nb::handle mapping, int depth) {
        if (depth > kMaxDepth) refuse_depth();
        const nb::object items =
            nb::steal(PyDict_Check(mapping.ptr()) ? PyDict_Items(mapping.ptr()) : PyMapping_Items(mapping.ptr()));
        if (!items.is_valid()) nb::raise_python_error();
        const nb::list pairs = copied(items, [] {});
        const std::size_t prefix = name_.size();
        for (std::size_t i = 0; i < nb::len(pairs); ++i) {
            const nb::object pair = pairs[i];
            if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2)
                throw std::invalid_argument(place() + ": items() of " + kind_of(mapping) +
                                            " must give (name, value) pairs");
            const nb::object key = nb::borrow(PyTuple_GetItem(pair.ptr(), 0));
            if (!is_text(key))
                throw std::invalid_argument(place() + " has a key of type " + kind_of(key) +
                                            "; the names of attributes are strings.");
            const nb::object text = decoded(key);
            name_.append(utf8(text.ptr()));
            read_value(nb::borrow(PyTuple_GetItem(pair.ptr(), 1)), depth);
            name_.resize(prefix);
        }
    }

    void read_value(const nb::object& value, int depth) {
        if (is_text(value)) return add_with(decoded(value).ptr());
        if (is_mapping(value)) {
            name_.push_back(':');
            return read_mapping(value, depth + 1);
        }
        if (!is_collection(value)) {
            const double read = number(value, name_);
            source_.add(name_, checked(name_, read));
            return;
        }
        const nb::list items = copied(value, [] {});
        for (std::size_t i = 0; i < nb::len(items); ++i) {
            const nb::object item = items[i];
            if (!is_text(item))
                throw std::invalid_argument(place() + ", attribute " + shown(name_) + ": item " + std::to_string(i) +
                                            " is of type " + kind_of(item) + "; expected strings.");
            add_with(decoded(item).ptr());
        }
    }

    static bool is_text(nb::handle object) { return PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()); }

    static bool is_collection(nb::handle object) {
        return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object) || PyAnySet_Check(object.ptr());
    }

    static bool is_mapping(nb::handle object) {
        return PyDict_Check(object.ptr()) ||
               (!is_collection(object) && PyMapping_Check(object.ptr()) && nb::hasattr(object, "items"));
    }

    nb::object decoded(nb::handle text) {
        if (PyUnicode_Check(text.ptr())) return nb::borrow(text);
        nb::object decoded = nb::steal(PyUnicode_FromEncodedObject(text.ptr(), "utf-8", "strict"));
        if (!decoded.is_valid()) refuse_encoding();
        return decoded;
    }

    template <class Refuse>
    static nb::list copied(nb::handle items, Refuse refuse) {
        nb::object iterator = nb::steal(PyObject_GetIter(items.ptr()));
        if (!iterator.is_valid()) {
            if (PyErr_ExceptionMatches(PyExc_TypeError)) {
                PyErr_Clear();
                refuse();
                throw std::invalid_argument("a value cannot be iterated over");
            }
            nb::raise_python_error();
        }
        nb::object list = nb::steal(PySequence_List(iterator.ptr()));
        if (!list.is_valid()) nb::raise_python_error();
        return nb::borrow<nb::list>(list);
    }

    double number(nb::handle object, std::string_view name) {
        const bool numeric = PyNumber_Check(object.ptr()) && !PySequence_Check(object.ptr());
        const double value = numeric ? PyFloat_AsDouble(object.ptr()) : -1.0;
        const bool failed = value == -1.0 && PyErr_Occurred();
        if (failed && PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            return std::numeric_limits<double>::infinity();
        }
        if (failed && !PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
        if (failed) PyErr_Clear();
        if (!numeric || failed)
            throw std::invalid_argument(place() + ", attribute " + shown(name) + " is of type " + kind_of(object) +
                                        "; expected a string, a number, a bool, a list of strings or a dict.");
        return value;
    }

    // ---- helpers ---------------------------------------------------------------------------------------------------

    static constexpr Py_ssize_t kAhead = 6;

    // A string's header and its first bytes: lists of strings lie all over the heap.
    static void prefetch([[maybe_unused]] const void* object) {
#if defined(__GNUC__) || defined(__clang__)
        __builtin_prefetch(object);
        __builtin_prefetch(static_cast<const char*>(object) + 64);
#endif
    }

    std::string_view utf8(PyObject* text) {
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
        if (!bytes) refuse_encoding();
        return {bytes, static_cast<std::size_t>(size)};
    }

    void add_with(PyObject* text) {  // name_:text
        const std::size_t size = name_.size();
        name_.push_back(':');
        name_.append(utf8(text));
        source_.add(name_, 1.0f);
        name_.resize(size);
    }

    float checked(std::string_view name, double value) {
        if (std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())) return static_cast<float>(value);
        const char* what = std::isnan(value) ? "NaN" : std::isinf(value) ? "infinite" : "too large";
        throw std::invalid_argument(place() + ", attribute " + shown(name) + " is " + what +
                                    "; expected a finite number below 3.4e38. Leave out attributes without a value.");
    }

    std::string place() const {
        return where_ + "[" + std::to_string(sequence_) + "][" + std::to_string(position_) + "]";
    }

    [[noreturn]] void refuse_token(nb::handle token) {
        throw std::invalid_argument(place() + " is of type " + kind_of(token) +
                                    "; expected the attributes of a token, a dict or a list of strings.");
    }

    [[noreturn]] void refuse_item(nb::handle item, std::size_t i) {
        throw std::invalid_argument(place() + "[" + std::to_string(i) + "] is of type " + kind_of(item) +
                                    "; expected a string, or a tuple of a string and a number.");
    }

    [[noreturn]] void refuse_depth() {
        throw std::invalid_argument(place() + ": dicts are nested more than " + std::to_string(kMaxDepth) +
                                    " deep. Does one contain itself?");
    }

    [[noreturn]] void refuse_encoding() {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ValueError)) nb::raise_python_error();  // no memory, say
        PyErr_Clear();
        throw std::invalid_argument(place() + " has text that is not valid Unicode (a lone surrogate, or bytes that " +
                                    "are not UTF-8). Was it read in the right encoding?");
    }

    AttributeSource& source_;
    const std::string& where_;
    std::size_t sequence_ = 0, position_ = 0;
    std::string name_;  // of the attribute being read: the keys on the way to it
};

nb::list copied_sequence(nb::handle items, const std::string& place, const char* expected) {
    PyObject* list = nullptr;
    if (!PyUnicode_Check(items.ptr()) && !PyBytes_Check(items.ptr()) && !PyDict_Check(items.ptr()))
        list = PySequence_List(items.ptr());
    if (!list) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
        PyErr_Clear();
        throw std::invalid_argument(place + " is of type " + kind_of(items) + "; expected " + expected + ".");
    }
    return nb::steal<nb::list>(list);
}

}  // namespace

std::unique_ptr<AttributeSource> read_attributes(nb::handle X, bool keep_names, const std::string& where,
                                                 std::size_t first, const std::string& channel) {
    auto source = std::make_unique<AttributeSource>(keep_names, channel);
    Reader reader(*source, where);
    const nb::list sequences = copied_sequence(X, where, "a list of sequences of tokens");
    const Interruptible interruptible;
    InterruptCheck check;
    for (std::size_t i = 0; i < nb::len(sequences); ++i) {
        const nb::object given = sequences[i];
        const nb::list tokens =
            copied_sequence(given, where + "[" + std::to_string(first + i) + "]", "a sequence of tokens");
        for (std::size_t t = 0; t < nb::len(tokens); ++t) {
            check();
            const nb::object token = tokens[t];
            reader.read_token(token.ptr(), first + i, t);
        }
        source->end_sequence();
    }
    return source;
}

}  // namespace tw::bind
