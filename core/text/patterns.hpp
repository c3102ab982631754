// Regular expressions over the characters of UTF-8 text, matched in time linear in the text.
//
// A pattern becomes a program for a non-deterministic machine all of whose states are followed at once (Thompson 1968;
// with priorities, Pike's machine: the leftmost match, and of those the one that backtracking would find first). No
// pattern and no text can make it slow: the work is at most size of the program times length of the text. Whether there
// is a match at all is asked most often: small patterns have a deterministic machine for that, over ASCII.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tw {

class Pattern {
public:
    // kUsual: . [a-z] [^...] ( ) (?: ) | * + ? {m,n}, each also lazy with ?, ^ $, classes \d \w \s \a (letter) \u
    // (upper)
    // \l (lower) \p (punctuation) and their complements in capitals.
    // kWapiti: . \d \w \s \a \u \l \p ^ $, * (shortest first) and ? after one character; all else stands for itself.
    enum class Dialect : std::uint8_t { kUsual, kWapiti };
    struct Match {
        std::size_t begin, end;  // bytes
    };

    // Throws std::invalid_argument that says what is wrong with the pattern.
    Pattern(std::string_view pattern, Dialect dialect);

    // The leftmost match that begins at byte `from` or behind it; ^ is the beginning of the whole text.
    std::optional<Match> search(std::string_view text, std::size_t from = 0) const;
    bool found_in(std::string_view text) const;  // whether there is one

    std::size_t size() const { return program_.size(); }

private:
    friend class PatternCompiler;
    friend class MachineBuilder;
    struct Set {
        std::vector<std::pair<char32_t, char32_t>> ranges;
        std::uint32_t kinds = 0;  // bit per CharacterKind
        bool negated = false;
        bool has(char32_t code) const;
    };
    enum class Op : std::uint8_t { kCharacter, kAny, kSet, kSplit, kJump, kBegin, kEnd, kMatch };
    struct Instruction {
        Op op;
        std::uint32_t x = 0, y = 0;  // character or set; or where to go on, the better one first
    };
    struct Threads;
    // The deterministic machine: states 0, where no match can follow, 1, where one was found, and 2, the first.
    struct Machine {
        std::array<std::uint8_t, 128> class_of{};  // characters that no instruction tells apart; 0 is the end
        std::vector<std::uint8_t> next{};          // [state][class]; empty: there is none
        std::size_t n_classes = 0;
    };

    bool matches(const Instruction& instruction, char32_t code) const;
    void follow(Threads& threads, std::uint32_t at, std::size_t start, std::size_t position, std::size_t size) const;

    std::vector<Instruction> program_;
    std::vector<Set> sets_;
    Machine machine_;
};

}  // namespace tw
