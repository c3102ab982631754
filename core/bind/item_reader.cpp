// As in attribute_reader.cpp, an item is first read in a way that runs no code of the caller's: exact strings, numbers,
// lists and dicts. Whatever else is met, it is read again from copies of its containers. Where Python is not limited to
// its stable interface, ASCII is read in place.
#include "item_reader.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace tw::bind {
namespace {

constexpr int kMaxDepth = 100;

std::string kind_of(nb::handle object) {
    return nb::cast<std::string>(
        nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
}

std::string_view utf8(PyObject* text) {
#ifndef Py_LIMITED_API
    if (PyUnicode_IS_COMPACT_ASCII(text))
        return {static_cast<const char*>(PyUnicode_DATA(text)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))};
#endif
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) nb::raise_python_error();
    return {bytes, static_cast<std::size_t>(size)};
}

std::string_view bytes_of(PyObject* bytes) {
    return {PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes))};
}

template <class Sink>
class Reader {
public:
    explicit Reader(Sink& out) : out_(out) {}

    void read_sequence(nb::handle sequence) {
        const Interruptible interruptible;
        InterruptCheck check;
        if (PyList_CheckExact(sequence.ptr())) {
            for (Py_ssize_t i = 0; i < PyList_Size(sequence.ptr()); ++i) {  // which code of the caller's may change
                check();
                read_item(nb::borrow(PyList_GetItem(sequence.ptr(), i)));
            }
            return;
        }
        const nb::object iterator = nb::steal(PyObject_GetIter(sequence.ptr()));
        if (!iterator.is_valid()) nb::raise_python_error();
        for (;;) {
            check();
            const nb::object item = nb::steal(PyIter_Next(iterator.ptr()));
            if (!item.is_valid()) break;
            read_item(item);
        }
        if (PyErr_Occurred()) nb::raise_python_error();
    }

private:
    void read_item(const nb::object& item) {
        name_.clear();
        if (PyUnicode_Check(item.ptr())) warn_of_text();
        const bool plain = PyDict_Check(item.ptr())        ? read_plain_dict(item.ptr(), 0)
                           : PyList_CheckExact(item.ptr()) ? read_plain_list(item.ptr())
                                                           : false;
        if (!plain) {
            out_.drop_item();
            name_.clear();
            read_any(item, 0);
        }
        out_.end_item();
    }

    // ---- reading that runs no code of the caller's; false when some would have to run -----------------------------

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
            add_with(utf8(value));
        } else if (PyFloat_CheckExact(value)) {
            add(PyFloat_AsDouble(value));
        } else if (PyBool_Check(value)) {
            add(value == Py_True ? 1.0 : 0.0);
        } else if (PyLong_CheckExact(value)) {
            const double number = PyLong_AsDouble(value);
            if (number == -1.0 && PyErr_Occurred()) nb::raise_python_error();
            add(number);
        } else if (PyDict_Check(value)) {
            name_.push_back(':');
            return read_plain_dict(value, depth + 1);
        } else if (PyList_CheckExact(value)) {
            name_.push_back(':');
            return read_plain_list(value);
        } else if (PyBytes_Check(value)) {
            add_with(bytes_of(value));
        } else {
            return false;
        }
        return true;
    }

    bool read_plain_list(PyObject* list) {  // of names that begin with name_
        const Py_ssize_t size = PyList_Size(list);
        const std::size_t prefix = name_.size();
        for (Py_ssize_t i = 0; i < size; ++i) {
            PyObject* name = PyList_GetItem(list, i);
            if (!PyUnicode_Check(name)) return false;
            if (prefix == 0) {
                out_.add(utf8(name), 1.0);
                continue;
            }
            name_.append(utf8(name));
            out_.add(name_, 1.0);
            name_.resize(prefix);
        }
        return true;
    }

    // ---- reading from copies ---------------------------------------------------------------------------------------

    void read_any(const nb::object& item, int depth) {
        if (depth > kMaxDepth) refuse_depth();
        const bool is_dict = PyDict_Check(item.ptr());
        if (!is_dict && PyObject_Size(item.ptr()) < 0) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
            PyErr_Clear();
            throw nb::type_error(
                (place() + " is of type " + kind_of(item) + "; expected a dict or a list of strings.").c_str());
        }
        const nb::object copy = nb::steal(is_dict ? PyDict_Items(item.ptr()) : PySequence_List(item.ptr()));
        if (!copy.is_valid()) nb::raise_python_error();
        const std::size_t prefix = name_.size();
        for (Py_ssize_t i = 0; i < PyList_Size(copy.ptr()); ++i) {
            const nb::object entry = nb::borrow(PyList_GetItem(copy.ptr(), i));
            if (is_dict) {
                append_name(nb::borrow(PyTuple_GetItem(entry.ptr(), 0)));
                read_value(nb::borrow(PyTuple_GetItem(entry.ptr(), 1)), depth);
            } else {
                append_name(entry);
                out_.add(name_, 1.0);
            }
            name_.resize(prefix);
        }
    }

    void read_value(const nb::object& value, int depth) {
        PyObject* object = value.ptr();
        if (PyUnicode_Check(object)) return add_with(utf8(object));
        if (PyBytes_Check(object)) return add_with(bytes_of(object));
        if (PyDict_Check(object) || PyList_Check(object) || nb::isinstance<nb::set>(value)) {
            name_.push_back(':');
            return read_any(value, depth + 1);
        }
        const double number = PyFloat_AsDouble(object);
        if (number == -1.0 && PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
            PyErr_Clear();
            throw nb::type_error((place() + ", attribute " + shown() + " is of type " + kind_of(value) +
                                  "; expected a string, a number, a bool, or a dict, list or set of more.")
                                     .c_str());
        }
        add(number);
    }

    void append_name(const nb::object& name) {
        PyObject* object = name.ptr();
        if (PyUnicode_Check(object)) {
            name_.append(utf8(object));
        } else if (PyBytes_Check(object)) {
            name_.append(bytes_of(object));
        } else if (PyByteArray_Check(object)) {
            name_.append(PyByteArray_AsString(object), static_cast<std::size_t>(PyByteArray_Size(object)));
        } else {
            throw nb::type_error(
                (place() + " has an attribute whose name is of type " + kind_of(name) + "; expected a string.")
                    .c_str());
        }
    }

    // ---- helpers ---------------------------------------------------------------------------------------------------

    void add(double value) {
        if (!std::isfinite(value))
            throw std::invalid_argument(place() + ", attribute " + shown() + " is " +
                                        (std::isnan(value) ? "NaN" : "infinite") +
                                        ". Leave out attributes without a value.");
        out_.add(name_, value);
    }

    void add_with(std::string_view value) {  // name_:value
        const std::size_t size = name_.size();
        name_.push_back(':');
        name_.append(value);
        out_.add(name_, 1.0);
        name_.resize(size);
    }

    void warn_of_text() {
        if (warned_) return;
        warned_ = true;
        const std::string message = place() +
                                    " is a str, and each of its letters is taken for an attribute. An item is a dict "
                                    "or a list of strings: was [[word], [word], ...] meant?";
        if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 2) < 0) nb::raise_python_error();
    }

    std::string place() const { return "item " + std::to_string(out_.size()); }

    std::string shown() const {
        if (name_.size() <= 60) return "'" + name_ + "'";
        std::size_t size = 57;
        while (size > 0 && (static_cast<unsigned char>(name_[size]) & 0xc0) == 0x80) --size;
        return "'" + name_.substr(0, size) + "...'";
    }

    [[noreturn]] void refuse_depth() {
        throw std::invalid_argument(place() + ": dicts are nested more than " + std::to_string(kMaxDepth) +
                                    " deep. Does one contain itself?");
    }

    Sink& out_;
    std::string name_;  // of the attribute being read: the keys on the way to it
    bool warned_ = false;
};

}  // namespace

void read_items(nb::handle sequence, linear::Items& out) { Reader(out).read_sequence(sequence); }

void read_items(nb::handle sequence, linear::KeyedItems& out) { Reader(out).read_sequence(sequence); }

std::string label_bytes(nb::handle label) {
    std::string_view found;
    if (PyUnicode_Check(label.ptr()))
        found = utf8(label.ptr());
    else if (PyBytes_Check(label.ptr()))
        found = bytes_of(label.ptr());
    else
        throw nb::type_error(("a label is of type " + kind_of(label) + "; expected a string.").c_str());
    return std::string(found.substr(0, found.find('\0')));
}

std::vector<std::string> texts_of(nb::handle labels) {
    const nb::object iterator = nb::steal(PyObject_GetIter(labels.ptr()));
    if (!iterator.is_valid()) nb::raise_python_error();
    std::vector<std::string> out;
    for (;;) {
        const nb::object label = nb::steal(PyIter_Next(iterator.ptr()));
        if (!label.is_valid()) break;
        out.push_back(label_bytes(label));
    }
    if (PyErr_Occurred()) nb::raise_python_error();
    return out;
}

}  // namespace tw::bind
