// Tensors of a model in memory that Python objects lend, whatever they are; no array library is needed.
#pragma once

#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../linear/model.hpp"
#include "arrays.hpp"

namespace tw::bind {

// Borrowed memory of any object with the buffer protocol; the object stays alive and its memory in place.
class Buffer {
public:
    explicit Buffer(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { PyBuffer_Release(&view_); }

    const Py_buffer& view() const { return view_; }
    std::string_view bytes() const {
        return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_{};
};

// The type that a buffer's format (of the struct module) says; nothing for one that no tensor has.
inline std::optional<Tensor::Type> type_of(const Py_buffer& view) {
    const char* format = view.format ? view.format : "B";
    if (*format == '<' || *format == '=' || *format == '@') ++format;
    if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
    switch (*format) {
        case 'b':
            return Tensor::Type::kInt8;
        case 'e':
            return Tensor::Type::kFloat16;
        case 'f':
            return Tensor::Type::kFloat32;
        case 'd':
            return Tensor::Type::kFloat64;
        case '?':
            return Tensor::Type::kUint8;
        case 'B':
        case 'H':
        case 'I':
        case 'L':
        case 'Q':
        case 'N':
            switch (view.itemsize) {
                case 1:
                    return Tensor::Type::kUint8;
                case 2:
                    return Tensor::Type::kUint16;
                case 4:
                    return Tensor::Type::kUint32;
                case 8:
                    return Tensor::Type::kUint64;
            }
    }
    return std::nullopt;
}

// Tensors by name; the objects that lend their memory stay alive.
class HeldTensors {
public:
    void take(const nb::dict& tensors) {
        for (const auto& [name, object] : tensors) {
            nb::detail::make_caster<std::string> text;
            require(text.from_python(name, 0, nullptr), "the names of tensors must be text");
            const std::string& known = text.operator std::string&();
            views_.insert_or_assign(known, tensor(known, object));
        }
    }
    const Tensors& views() const { return views_; }

private:
    Tensor tensor(const std::string& name, nb::handle object) {
        const Py_buffer& view = buffers_.emplace_back(object).view();
        const auto type = type_of(view);
        if (!type) throw std::invalid_argument("tensor '" + name + "' has a type that no model has");
        if (view.ndim != 1) throw std::invalid_argument("tensor '" + name + "' must have one dimension");
        const auto item = static_cast<std::size_t>(view.itemsize), bytes = static_cast<std::size_t>(view.len);
        const void* data = view.buf;
        if (reinterpret_cast<std::uintptr_t>(data) % item != 0) {
            std::vector<std::uint64_t>& copy = aligned_.emplace_back(bytes / 8 + 1);
            std::memcpy(copy.data(), data, bytes);
            data = copy.data();
        }
        return {*type, data, bytes / item};
    }

    std::deque<Buffer> buffers_;
    std::deque<std::vector<std::uint64_t>> aligned_;  // what did not lie on a multiple of its size
    Tensors views_;
};

}  // namespace tw::bind
