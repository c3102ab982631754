#include "views.hpp"

#include <stdexcept>

#include "characters.hpp"
#include "columns.hpp"

namespace tw {

namespace {

constexpr std::size_t kMaxEntryTokens = 64;

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (end > at) visit(text.substr(at, end - at));
        at = end + 1;
    }
}

std::size_t n_characters(std::string_view text) {
    std::size_t n = 0;
    for (const char c : text) n += begins_character(c);
    return n;
}

// Where the character with this number begins; the end when there are no more.
std::size_t place_of_character(std::string_view text, std::size_t number) {
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if (begins_character(text[at]) && number-- == 0) return at;
    return at;
}

char shape_of(char32_t code) {
    switch (kind_of(code)) {
        case CharacterKind::kUpper:
            return 'X';
        case CharacterKind::kLower:
            return 'x';
        case CharacterKind::kLetter:
            return 'o';
        case CharacterKind::kDigit:
            return '0';
        default:
            return '\0';  // stays what it is
    }
}

void append_lower(std::string_view text, std::string& out) {
    for (std::size_t at = 0; at < text.size();) {
        if (const auto byte = static_cast<unsigned char>(text[at]); byte < 0x80) {
            out += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
            ++at;
        } else {
            append_character(out, lower_of(next_character(text, at)));
        }
    }
}

void append_shape(std::string_view text, std::size_t longest_run, std::string& out) {
    char32_t previous = 0;
    std::size_t run = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t code = next_character(text, at);
        const char shape = shape_of(code);
        const char32_t shown = shape ? static_cast<char32_t>(shape) : code;
        run = shown == previous ? run + 1 : 1;
        previous = shown;
        if (longest_run == 0 || run <= longest_run) append_character(out, shown);
    }
}

void append_digits(std::string_view text, std::string& out) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t from = at;
        if (kind_of(next_character(text, at)) == CharacterKind::kDigit)
            out += '0';
        else
            out.append(text, from, at - from);
    }
}

// Matches of nothing are left alone, and end where the next character does.
void append_replaced(std::string_view text, const Pattern& pattern, std::string_view replacement, std::string& out) {
    std::size_t at = 0;
    while (const auto match = pattern.search(text, at)) {
        const bool some = match->end > match->begin;
        std::size_t end = match->end;
        if (!some && end == text.size()) break;
        if (!some) next_character(text, end);
        out.append(text, at, (some ? match->begin : end) - at);
        if (some) out += replacement;
        at = end;
    }
    out.append(text, at);
}

const char* case_of(std::string_view text) {
    std::size_t upper = 0, lower = 0, size = 0;
    bool first_upper = false;
    for (std::size_t at = 0; at < text.size(); ++size) {
        const CharacterKind kind = kind_of(next_character(text, at));
        upper += kind == CharacterKind::kUpper;
        lower += kind == CharacterKind::kLower;
        if (size == 0) first_upper = kind == CharacterKind::kUpper;
    }
    if (upper + lower == 0) return "none";
    if (upper == 0) return "lower";
    if (lower == 0) return upper == 1 && first_upper ? "initial" : "upper";
    return upper == 1 && first_upper ? "title" : "mixed";
}

void append_kinds(std::string_view text, std::string& out) {
    bool has[7] = {};
    for (std::size_t at = 0; at < text.size();) has[static_cast<std::size_t>(kind_of(next_character(text, at)))] = true;
    const auto put = [&](CharacterKind kind, char shown) {
        if (has[static_cast<std::size_t>(kind)]) out += shown;
    };
    put(CharacterKind::kUpper, 'A'), put(CharacterKind::kLower, 'a'), put(CharacterKind::kLetter, 'o');
    put(CharacterKind::kDigit, '0'), put(CharacterKind::kMark, '.');
    if (has[static_cast<std::size_t>(CharacterKind::kSpace)] || has[static_cast<std::size_t>(CharacterKind::kOther)])
        out += '_';
}

}  // namespace

bool Step::apply(std::string_view text, std::string& out) const {
    out.clear();
    switch (op) {
        case Op::kLower:
            append_lower(text, out);
            return true;
        case Op::kAsciiLower:
            for (const char c : text) out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
            return true;
        case Op::kPrefix:
            out = text.substr(0, place_of_character(text, n));
            return true;
        case Op::kSuffix: {
            const std::size_t size = n_characters(text);
            out = size <= n ? text : text.substr(place_of_character(text, size - n));
            return true;
        }
        case Op::kShape:
            append_shape(text, n, out);
            return true;
        case Op::kDigits:
            append_digits(text, out);
            return true;
        case Op::kCase:
            out = case_of(text);
            return true;
        case Op::kCharacters:
            append_kinds(text, out);
            return true;
        case Op::kLength:
            out = std::to_string(n_characters(text));
            return true;
        case Op::kMatches:
            out = "yes";
            return pattern->found_in(text);
        case Op::kTest:
            out = pattern->found_in(text) ? "true" : "false";
            return true;
        case Op::kReplace:
            if (pattern->found_in(text))
                append_replaced(text, *pattern, replacement, out);
            else
                out = text;
            return true;
        case Op::kMatch:
            if (!pattern->found_in(text)) return false;
            [[fallthrough]];
        case Op::kMatchOrEmpty: {
            const auto match = pattern->search(text);
            if (match) out = text.substr(match->begin, match->end - match->begin);
            return match || op == Op::kMatchOrEmpty;
        }
        case Op::kClass: {
            const std::string* found = classes->find(text);
            if (found) out = *found;
            return found != nullptr;
        }
    }
    return false;
}

bool apply_steps(const std::vector<Step>& steps, std::string_view& text, std::string (&scratch)[2]) {
    std::size_t which = 0;
    for (const Step& step : steps) {
        if (!step.apply(text, scratch[which])) return false;
        text = scratch[which];
        which = 1 - which;
    }
    return true;
}

WordClasses::WordClasses(std::string_view text) {
    for_each_line(text, [&](std::string_view line) {
        const std::size_t tab = line.find('\t');
        if (tab == line.npos) throw std::invalid_argument("word classes need lines of a word, a tab and its class");
        class_of_.emplace(line.substr(0, tab), line.substr(tab + 1));
    });
}

const std::string* WordClasses::find(std::string_view word) const {
    const auto found = class_of_.find(word);
    return found == class_of_.end() ? nullptr : &found->second;
}

Gazetteer::Gazetteer(std::string_view text, const std::vector<Step>& steps) {
    std::unordered_map<std::string, std::uint32_t> number_of;
    std::string scratch[2];
    for_each_line(text, [&](std::string_view line) {
        const std::size_t tab = std::min(line.find('\t'), line.size());
        const std::string cls(tab < line.size() ? line.substr(tab + 1) : std::string_view());
        const auto [known, is_new] = number_of.emplace(cls, static_cast<std::uint32_t>(classes_.size()));
        if (is_new) classes_.push_back(cls);
        std::uint32_t node = 0;
        std::size_t n_tokens = 0;
        const std::string_view entry = line.substr(0, tab);
        for (std::size_t at = 0; at < entry.size();) {
            const std::size_t end = std::min(entry.find(' ', at), entry.size());
            std::string_view token = entry.substr(at, end - at);
            at = end + 1;
            if (token.empty()) continue;
            if (++n_tokens > kMaxEntryTokens)
                throw std::invalid_argument("the gazetteer's entry " + quoted(entry) + " has more than " +
                                            std::to_string(kMaxEntryTokens) + " tokens.");
            if (!apply_steps(steps, token, scratch)) return;
            const auto next = static_cast<std::uint32_t>(cls_of_.size());
            const auto [found, added] = next_.emplace(combine(node, value_key(token)), next);
            if (added) cls_of_.push_back(kNone);
            node = found->second;
        }
        if (node != 0 && cls_of_[node] == kNone) cls_of_[node] = known->second;
    });
}

Gazetteer::Hit Gazetteer::longest(const Key* tokens, std::size_t stride, std::size_t n) const {
    Hit hit;
    each(tokens, stride, n, [&](const Hit& found) { hit = found; });
    return hit;
}

bool View::always_gives() const {
    if (kind != Kind::kCell && kind != Kind::kEntry) return false;
    for (const Step& step : steps)
        if (!step.always_gives()) return false;
    return true;
}

}  // namespace tw
