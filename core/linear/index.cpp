#include "index.hpp"

#include <stdexcept>

namespace tw {

namespace {

void require_room(const std::vector<char>& text, std::size_t more) {
    if (more > 0xffffffffu - text.size())
        throw std::invalid_argument("the names of all attributes together take more than 4 GiB; train without names");
}

template <class T>
std::size_t growth(const std::vector<T>& v) {
    const std::size_t more = v.size() / 8;
    return (v.size() + more <= v.capacity() ? more : v.size() + more) * sizeof(T);
}

}  // namespace

void Names::add(std::string_view name) {
    require_room(text, name.size());
    text.insert(text.end(), name.begin(), name.end());
    ends.push_back(static_cast<std::uint32_t>(text.size()));
}

void Names::append(const Names& more) {
    require_room(text, more.text.size());
    const auto before = static_cast<std::uint32_t>(text.size());
    text.insert(text.end(), more.text.begin(), more.text.end());
    for (const std::uint32_t end : more.ends) ends.push_back(before + end);
}

std::size_t Names::growth_bytes() const { return growth(text) + growth(ends); }

std::vector<std::uint32_t> Index::counts() const {
    std::vector<std::uint32_t> out(keys_.size());
    for (const Entry& entry : entries_)
        if (entry.number != kNoAttribute) out[entry.number] = entry.count;
    return out;
}

std::size_t Index::memory_bytes() const { return entries_.capacity() * sizeof(Entry) + keys_.capacity() * sizeof(Key); }

std::size_t Index::growth_bytes() const {
    const bool grows = (keys_.size() + keys_.size() / 8) * 3 > entries_.size() * 2;
    return growth(keys_) + (grows ? 2 * entries_.size() * sizeof(Entry) : 0);
}

std::uint32_t Index::add(Entry& entry, Key key) {
    if (keys_.size() >= kNoAttribute - 1) throw std::invalid_argument("more than 4,294,967,294 distinct attributes");
    const auto number = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    entry = {key, number, 1};
    if (keys_.size() * 3 > entries_.size() * 2) grow();
    return number;
}

// Homes are top bits, so entries go over in nearly the order they lie in.
void Index::grow() {
    std::vector<Entry> old(entries_.size() * 2, Entry{0, kNoAttribute, 0});
    old.swap(entries_);
    for (const Entry& entry : old)
        if (entry.number != kNoAttribute) place(entry.key) = entry;
}

}  // namespace tw
