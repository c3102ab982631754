// Characters of UTF-8 text: decoding, what kind each is, its lower case. One table for all systems and locales, because
// keys in model files depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tw {

// kMark: punctuation, symbols and numbers that are no decimal digits. kLetter: letters without case, combining marks.
enum class CharacterKind : std::uint8_t { kOther, kLower, kLetter, kDigit, kMark, kSpace, kUpper };

CharacterKind kind_of(char32_t code) noexcept;
char32_t lower_of(char32_t code) noexcept;  // one character for one (simple case mapping)

// The character at `at`, which moves on to the next. The text must be UTF-8; a stray byte is taken as it is.
inline char32_t next_character(std::string_view text, std::size_t& at) noexcept {
    const auto byte = [&](std::size_t i) -> char32_t { return static_cast<unsigned char>(text[i]); };
    const char32_t lead = byte(at);
    const std::size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size == 1 || at + size > text.size()) return ++at, lead;
    char32_t code = lead & (0x7f >> size);
    for (std::size_t i = 1; i < size; ++i) code = code << 6 | (byte(at + i) & 0x3f);
    at += size;
    return code;
}

void append_character(std::string& text, char32_t code);

// Whether a byte begins a character: counting these counts characters.
inline bool begins_character(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

}  // namespace tw
