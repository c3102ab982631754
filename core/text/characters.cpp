#include "characters.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "character_tables.hpp"

namespace tw {

namespace {

CharacterKind search_kind(char32_t code) noexcept {
    // The last run that begins at or before the code.
    const auto* after = std::upper_bound(std::begin(kKindRuns), std::end(kKindRuns), code << 3 | 7);
    const std::uint32_t kind = after[-1] & 7;
    if (kind == 1) return lower_of(code) != code ? CharacterKind::kUpper : CharacterKind::kLower;
    return static_cast<CharacterKind>(kind);
}

char32_t search_lower(char32_t code) noexcept {
    const auto wanted = static_cast<std::int32_t>(code);
    const auto* run = std::lower_bound(std::begin(kLowerRuns), std::end(kLowerRuns), wanted,
                                       [](const LowerRun& r, std::int32_t c) { return r.last < c; });
    if (run != std::end(kLowerRuns) && run->first <= wanted && (wanted - run->first) % run->stride == 0)
        return static_cast<char32_t>(wanted + run->difference);
    return code;
}

}  // namespace

CharacterKind kind_of(char32_t code) noexcept {
    static const auto ascii = [] {
        std::array<CharacterKind, 128> kinds{};
        for (char32_t c = 0; c < 128; ++c) kinds[c] = search_kind(c);
        return kinds;
    }();
    return code < 128 ? ascii[code] : code > 0x10ffff ? CharacterKind::kOther : search_kind(code);
}

char32_t lower_of(char32_t code) noexcept {
    if (code < 128) return code >= 'A' && code <= 'Z' ? code + 32 : code;
    return code > 0x10ffff ? code : search_lower(code);
}

void append_character(std::string& text, char32_t code) {
    const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0 | code >> 6), put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f)), put(0x80 | (code & 0x3f));
    } else {
        put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f)), put(0x80 | (code >> 6 & 0x3f)),
            put(0x80 | (code & 0x3f));
    }
}

}  // namespace tw
