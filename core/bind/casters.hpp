// Arguments as the core wants them: text, lists of things, objects that are shared with Python.
//
// nanobind's own casters of these allocate in functions that must not throw, so that a process that is out of memory
// ends there. Those here only look at an argument while nanobind asks whether it fits, and make what the core wants of
// it when it is handed over, where an exception becomes Python's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/detail/nb_list.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nanobind::detail {

// What the casters below have in common: `make` fills `value` from what `from_python` has looked at.
template <class Derived, class Type>
struct late_caster {
    using Value = Type;
    template <class T>
    using Cast = movable_cast_t<T>;
    template <class T>
    static constexpr bool can_cast() {
        return true;
    }
    explicit operator Value*() { return &made(); }
    explicit operator Value&() { return made(); }
    explicit operator Value&&() { return static_cast<Value&&>(made()); }

protected:
    Value& made() {
        static_cast<Derived*>(this)->make(value);
        return value;
    }
    Value value{};
};

template <>
struct type_caster<std::string> : late_caster<type_caster<std::string>, std::string> {
    static constexpr auto Name = const_name("str");

    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        if (!PyUnicode_Check(source.ptr())) return false;
        text_ = PyUnicode_AsUTF8AndSize(source.ptr(), &size_);
        if (!text_) PyErr_Clear();
        return text_ != nullptr;
    }
    void make(std::string& out) const { out.assign(text_, static_cast<std::size_t>(size_)); }
    static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
        return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    }

private:
    const char* text_ = nullptr;  // the object's own memory
    Py_ssize_t size_ = 0;
};

template <>
struct type_caster<std::optional<std::string>>
    : late_caster<type_caster<std::optional<std::string>>, std::optional<std::string>> {
    static constexpr auto Name = optional_name(make_caster<std::string>::Name);

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        none_ = source.is_none();
        return none_ || inner_.from_python(source, flags, cleanup);
    }
    void make(std::optional<std::string>& out) const {
        if (!none_) inner_.make(out.emplace());
    }

private:
    bool none_ = true;
    make_caster<std::string> inner_;
};

// A list or a tuple.
template <class T>
struct type_caster<std::vector<T>> : late_caster<type_caster<std::vector<T>>, std::vector<T>> {
    using Inner = make_caster<T>;
    static constexpr auto Name =
        io_name("collections.abc.Sequence", "list") + const_name("[") + Inner::Name + const_name("]");

    bool from_python(handle source, std::uint32_t flags, cleanup_list*) noexcept {
        if (!PyList_Check(source.ptr()) && !PyTuple_Check(source.ptr())) return false;
        source_ = source;
        flags_ = flags_for_local_caster<T>(flags);
        for (Py_ssize_t i = 0; i < size(); ++i) {
            Inner inner;
            if (!inner.from_python(item(i), flags_, nullptr) || !inner.template can_cast<T>()) return false;
        }
        return true;
    }
    void make(std::vector<T>& out) const {
        out.clear();
        out.reserve(static_cast<std::size_t>(size()));
        for (Py_ssize_t i = 0; i < size(); ++i) {
            Inner inner;
            if (!inner.from_python(item(i), flags_, nullptr)) throw next_overload();
            out.push_back(inner.operator cast_t<T>());
        }
    }
    template <class List>
    static handle from_cpp(List&& list, rv_policy policy, cleanup_list* cleanup) noexcept {
        return list_caster<std::vector<T>, T>::from_cpp(std::forward<List>(list), policy, cleanup);
    }

private:
    Py_ssize_t size() const { return PySequence_Size(source_.ptr()); }
    handle item(Py_ssize_t i) const {
        return PyList_Check(source_.ptr()) ? PyList_GetItem(source_.ptr(), i) : PyTuple_GetItem(source_.ptr(), i);
    }

    handle source_;
    std::uint32_t flags_ = 0;
};

}  // namespace nanobind::detail

namespace tw::bind {

namespace nb = nanobind;

// Keeps a Python object alive for the core; it may be let go in any thread.
inline std::shared_ptr<const void> keep_alive(nb::object object) {
    PyObject* held = object.release().ptr();
    return std::shared_ptr<const void>(held, [](const void* pointer) {
        const nb::gil_scoped_acquire locked;
        Py_DECREF(static_cast<PyObject*>(const_cast<void*>(pointer)));
    });
}

// What Python holds, for the core to hold as well.
template <class T>
std::shared_ptr<const T> shared(const T& value) {
    return {keep_alive(nb::find(value)), &value};
}

}  // namespace tw::bind
