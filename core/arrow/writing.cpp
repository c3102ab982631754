#include "writing.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace tw::arrow {
namespace {

const std::uint64_t kNothing[8] = {};  // what an empty buffer points at: some readers do not like null

std::int32_t narrow(std::size_t value) {
    if (value > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw std::invalid_argument("an answer is too long for Arrow's 32-bit offsets. Hand over shorter rows.");
    return static_cast<std::int32_t>(value);
}

template <class T>
std::shared_ptr<const void> buffer(std::vector<T> values) {
    if (values.empty()) return {std::shared_ptr<const void>(), kNothing};
    const auto held = std::make_shared<const std::vector<T>>(std::move(values));
    return {held, held->data()};
}

// What a struct that was handed out needs until it is released.
template <class T>
struct Held {
    ~Held() {
        for (T& child : children)
            if (child.release) child.release(&child);
        if (dictionary.release) dictionary.release(&dictionary);
    }
    void resize(std::size_t n) {
        children.resize(n);
        for (T& child : children) pointers.push_back(&child);
    }
    std::string format, name;
    std::vector<T> children;
    std::vector<T*> pointers;
    T dictionary{};
    std::shared_ptr<const void> owner;                // of what was lent
    std::vector<std::shared_ptr<const void>> owners;  // of buffers
    std::vector<const void*> buffers;
};

template <class T>
void release(T* value) {
    delete static_cast<Held<T>*>(value->private_data);
    value->release = nullptr;
}

template <class T>
void hand_over(std::unique_ptr<Held<T>> held, T* to) {
    to->n_children = static_cast<std::int64_t>(held->children.size());
    to->children = held->pointers.empty() ? nullptr : held->pointers.data();
    to->dictionary = held->dictionary.release ? &held->dictionary : nullptr;
    to->release = &release<T>;
    to->private_data = held.release();
}

// A copy of the structs of what was lent; strings and buffers stay where they are.
void lend(const ArrowSchema& from, const std::shared_ptr<const void>& owner, ArrowSchema* to) {
    auto held = std::make_unique<Held<ArrowSchema>>();
    held->owner = owner;
    held->resize(static_cast<std::size_t>(from.n_children));
    for (std::size_t i = 0; i < held->children.size(); ++i) lend(*from.children[i], owner, &held->children[i]);
    if (from.dictionary) lend(*from.dictionary, owner, &held->dictionary);
    ArrowSchema out = from;
    hand_over(std::move(held), &out);
    *to = out;
}

void lend(const ArrowSchema& type, const ArrowArray& from, const std::shared_ptr<const void>& owner, ArrowArray* to) {
    if (from.n_children != type.n_children || (from.n_children > 0 && !from.children) ||
        !from.dictionary != !type.dictionary || from.n_buffers < 0 || (from.n_buffers > 0 && !from.buffers))
        throw std::invalid_argument("the Arrow data are malformed: a column is not of its type.");
    auto held = std::make_unique<Held<ArrowArray>>();
    held->owner = owner;
    held->resize(static_cast<std::size_t>(from.n_children));
    for (std::size_t i = 0; i < held->children.size(); ++i) {
        if (!from.children[i]) throw std::invalid_argument("the Arrow data are malformed: an array is missing.");
        lend(*type.children[i], *from.children[i], owner, &held->children[i]);
    }
    if (from.dictionary) lend(*type.dictionary, *from.dictionary, owner, &held->dictionary);
    ArrowArray out = from;
    hand_over(std::move(held), &out);
    *to = out;
}

}  // namespace

Column::Shared Column::numbers(std::span<const double> values) {
    auto out = std::shared_ptr<Column>(new Column("g", values.size()));
    out->buffers_ = {nullptr, buffer(std::vector<double>(values.begin(), values.end()))};
    return out;
}

Column::Shared Column::numbers(std::span<const std::int32_t> values) {
    auto out = std::shared_ptr<Column>(new Column("i", values.size()));
    out->buffers_ = {nullptr, buffer(std::vector<std::int32_t>(values.begin(), values.end()))};
    return out;
}

Column::Shared Column::strings(const std::vector<std::string_view>& values) {
    std::vector<std::int32_t> ends{0};
    ends.reserve(values.size() + 1);
    std::size_t size = 0;
    for (const std::string_view value : values) ends.push_back(narrow(size += value.size()));
    std::vector<char> text(size);
    char* at = text.data();
    for (const std::string_view value : values) at = std::copy(value.begin(), value.end(), at);
    auto out = std::shared_ptr<Column>(new Column("u", values.size()));
    out->buffers_ = {nullptr, buffer(std::move(ends)), buffer(std::move(text))};
    return out;
}

Column::Shared Column::lists(std::span<const std::int64_t> lengths, Shared child, std::span<const std::uint8_t> valid) {
    if (!valid.empty() && valid.size() != lengths.size())
        throw std::invalid_argument("there must be a flag for each list");
    std::vector<std::int32_t> ends{0};
    ends.reserve(lengths.size() + 1);
    std::size_t end = 0;
    for (const std::int64_t length : lengths) {
        if (length < 0) throw std::invalid_argument("a length is negative");
        ends.push_back(narrow(end += static_cast<std::size_t>(length)));
    }
    if (end != child->length()) throw std::invalid_argument("the lists do not have as many values as there are");
    auto out = std::shared_ptr<Column>(new Column("+l", lengths.size()));
    std::vector<std::uint8_t> bits(valid.empty() ? 0 : (valid.size() + 7) / 8);
    for (std::size_t i = 0; i < valid.size(); ++i) {
        bits[i / 8] |= static_cast<std::uint8_t>((valid[i] != 0) << (i % 8));
        out->null_count_ += valid[i] == 0;
    }
    out->buffers_ = {valid.empty() ? nullptr : buffer(std::move(bits)), buffer(std::move(ends))};
    out->children_ = {{"item", std::move(child)}};
    return out;
}

Column::Shared Column::structs(std::size_t length, std::vector<std::pair<std::string, Shared>> children) {
    for (const auto& [name, child] : children)
        if (child->length() != length) throw std::invalid_argument("the columns of a table must be equally long");
    auto out = std::shared_ptr<Column>(new Column("+s", length));
    out->buffers_ = {nullptr};
    out->children_ = std::move(children);
    return out;
}

Column::Shared Column::lent(std::shared_ptr<const void> owner, const Slice& slice) {
    auto out = std::shared_ptr<Column>(new Column("", slice.length));
    out->owner_ = std::move(owner);
    out->slice_ = slice;
    return out;
}

void Column::export_schema(ArrowSchema* to, std::string_view name) const {
    if (slice_.schema) return lend(*slice_.schema, owner_, to);
    auto held = std::make_unique<Held<ArrowSchema>>();
    held->format = format_;
    held->name = name;
    held->resize(children_.size());
    for (std::size_t i = 0; i < children_.size(); ++i)
        children_[i].second->export_schema(&held->children[i], children_[i].first);
    ArrowSchema out{};
    out.format = held->format.c_str();
    out.name = held->name.c_str();
    out.flags = kNullable;
    hand_over(std::move(held), &out);
    *to = out;
}

void Column::export_array(ArrowArray* to) const {
    if (slice_.schema) {
        if (!slice_.array) throw std::invalid_argument("there is a type, but no array");
        lend(*slice_.schema, *slice_.array, owner_, to);
        to->null_count = to->null_count == 0 ? 0 : -1;
        to->offset += static_cast<std::int64_t>(slice_.first);
        to->length = static_cast<std::int64_t>(slice_.length);
        return;
    }
    auto held = std::make_unique<Held<ArrowArray>>();
    held->owners = buffers_;
    for (const Buffer& one : buffers_) held->buffers.push_back(one.get());
    held->resize(children_.size());
    for (std::size_t i = 0; i < children_.size(); ++i) children_[i].second->export_array(&held->children[i]);
    ArrowArray out{};
    out.length = static_cast<std::int64_t>(length_);
    out.null_count = static_cast<std::int64_t>(null_count_);
    out.n_buffers = static_cast<std::int64_t>(held->buffers.size());
    out.buffers = held->buffers.data();
    hand_over(std::move(held), &out);
    *to = out;
}

}  // namespace tw::arrow
