// A sequence of items as CRFsuite's users write them: named attributes with values in double precision.
//
//     text:    name \0 name \0 name \0 ...      the zero is part of what CRFsuite hashes
//     ends:    of each attribute, behind its zero
//     values:  of each attribute
//     items:   item i has the attributes items[i] .. items[i + 1] - 1
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::linear {

struct Items {
    std::string text;
    std::vector<std::size_t> ends;
    std::vector<double> values;
    std::vector<std::size_t> items{0};

    std::size_t size() const { return items.size() - 1; }
    std::size_t n_attributes() const { return ends.size(); }

    // The name of an attribute with its final zero.
    std::string_view with_zero(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends[i - 1];
        return {text.data() + begin, ends[i] - begin};
    }
    std::string_view name(std::size_t i) const {
        const std::string_view all = with_zero(i);
        return all.substr(0, all.size() - 1);
    }

    // A name ends at its first zero, as it does in C.
    void add(std::string_view name, double value) {
        text.append(name.substr(0, name.find('\0')));
        text.push_back('\0');
        ends.push_back(text.size());
        values.push_back(value);
    }
    void end_item() { items.push_back(ends.size()); }
    void drop_item() {  // forgets what was added since the last end_item
        ends.resize(items.back());
        values.resize(items.back());
        text.resize(ends.empty() ? 0 : ends.back());
    }
    void clear() {
        text.clear();
        ends.clear();
        values.clear();
        items.assign(1, 0);
    }
};

}  // namespace tw::linear
