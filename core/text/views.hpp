// What templates see of a token: a column through transforms, or what its place in the sequence says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hashing.hpp"
#include "patterns.hpp"

namespace tw {

// The hash of a value; never 0, which stands for no value.
inline Key value_key(std::string_view value) noexcept {
    const Key key = hash_bytes(value);
    return key ? key : 1;
}

// The same for a part of a text, whose bytes up to `end` can be read.
inline Key value_key(std::string_view value, const char* end) noexcept {
    constexpr std::ptrdiff_t kShort = 16;
    if (std::endian::native != std::endian::little || value.size() > kShort || end - value.data() < kShort)
        return value_key(value);
    const Key key = hash_short(value.data(), value.size());
    return key ? key : 1;
}

// Words and their classes: lines "word TAB class".
class WordClasses {
public:
    explicit WordClasses(std::string_view text);
    const std::string* find(std::string_view word) const;

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::unordered_map<std::string, std::string, Hash, std::equal_to<>> class_of_;
};

// One transform of a text.
struct Step {
    enum class Op : std::uint8_t {
        kLower,         // lower case, character by character
        kAsciiLower,    // lower case of A to Z
        kPrefix,        // the first n characters, or all
        kSuffix,        // the last n characters, or all
        kShape,         // X for upper, x for lower case, o for other letters, 0 for digits; runs cut to n (0: not)
        kDigits,        // 0 for every digit
        kCase,          // lower, upper, title, initial (one capital), mixed, none
        kCharacters,    // which kinds of characters there are: A a o 0 . in this order, _ for others
        kLength,        // how many characters
        kReplace,       // every match of the pattern that is not empty replaced by a text
        kMatches,       // "yes" if the pattern is found, else nothing
        kMatch,         // the first match, else nothing
        kTest,          // "true" or "false"
        kMatchOrEmpty,  // the first match, else the empty text
        kClass,         // the class of the word, else nothing
    };
    Op op;
    std::uint32_t n = 0;
    std::shared_ptr<const Pattern> pattern{};
    std::shared_ptr<const WordClasses> classes{};
    std::string replacement{};

    // Puts what becomes of the text into `out`; false for nothing. `out` must not hold the text.
    bool apply(std::string_view text, std::string& out) const;
    bool always_gives() const { return op != Op::kMatches && op != Op::kMatch && op != Op::kClass; }
    bool operator==(const Step&) const = default;  // patterns and classes are the same if they are shared
};

// Entries of one or more tokens, each perhaps with a class: lines "tokens" or "tokens TAB class". Tokens are parted by
// spaces and compared after the steps.
class Gazetteer {
public:
    Gazetteer(std::string_view text, const std::vector<Step>& steps);
    struct Hit {
        std::uint32_t size = 0;  // tokens; 0 for none
        std::uint32_t cls = 0;
    };
    Hit longest(const Key* tokens, std::size_t stride, std::size_t n) const;  // from the first token on
    // Visits all entries from the first token on, the shortest first: visit(Hit).
    template <class Visit>
    void each(const Key* tokens, std::size_t stride, std::size_t n, Visit visit) const {
        std::uint32_t node = 0;
        for (std::size_t t = 0; t < n; ++t) {
            const Key token = tokens[t * stride];
            const auto found = token ? next_.find(combine(node, token)) : next_.end();
            if (found == next_.end()) break;
            node = found->second;
            if (cls_of_[node] != kNone) visit(Hit{static_cast<std::uint32_t>(t + 1), cls_of_[node]});
        }
    }
    const std::string& cls(std::size_t i) const { return classes_[i]; }
    std::size_t n_classes() const { return classes_.size(); }

private:
    std::unordered_map<Key, std::uint32_t> next_;  // combine(node, token) -> node
    std::vector<std::uint32_t> cls_of_{kNone};     // of the entry that ends in a node
    std::vector<std::string> classes_;
    static constexpr std::uint32_t kNone = 0xffffffffu;
};

struct View {
    // kEntry: cells as they are compared with the entries of a gazetteer, for templates about spans.
    enum class Kind : std::uint8_t { kCell, kBegin, kEnd, kGazetteer, kNumber, kEntry };
    bool of_text() const { return kind == Kind::kCell || kind == Kind::kGazetteer || kind == Kind::kEntry; }
    // Whether values differ: views of the others are there or not, and say no more.
    bool of_values() const { return of_text() && (steps.empty() || steps.back().op != Step::Op::kMatches); }
    bool of_gazetteer() const { return kind == Kind::kGazetteer || kind == Kind::kEntry; }
    // What there is outside the sequence: nothing, or the texts of CRF++ (_B-1, _B+1) or Wapiti (_x-1, _x+1, _x-#).
    enum class Outside : std::uint8_t { kNothing, kCrfpp, kWapiti };
    Kind kind = Kind::kCell;
    std::uint32_t column = 0;
    std::vector<Step> steps{};
    Outside outside = Outside::kNothing;
    std::string resource{};  // the lines of the gazetteer

    bool always_gives() const;  // inside a sequence
};

// Runs all steps; false for nothing. The result is `text` itself or lies in one of the two scratch strings.
bool apply_steps(const std::vector<Step>& steps, std::string_view& text, std::string (&scratch)[2]);

}  // namespace tw
