#include "index.hpp"

#include <stdexcept>

namespace tw {

namespace {

void require_room(const std::vector<char>& text, std::size_t more) {
    if (more > 0xffffffffu - text.size())
        throw std::invalid_argument("the names of all attributes together take more than 4 GiB; train without names");
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

std::vector<std::uint32_t> Index::counts() const {
    std::vector<std::uint32_t> out(keys_.size());
    for (const Entry& entry : entries_)
        if (entry.number != kNoAttribute) out[entry.number] = entry.count;
    return out;
}

std::size_t Index::memory_bytes() const { return entries_.capacity() * sizeof(Entry) + keys_.capacity() * sizeof(Key); }

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
