#include "columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <unordered_map>

#include "../base/interrupt.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tw {

namespace {

constexpr std::string_view kDocstart = "-DOCSTART-", kByteOrderMark = "\xef\xbb\xbf";

std::string file_name(const std::string& name) { return name.empty() ? "<input>" : name; }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// What the next 32 bytes are, a bit for each: most lines end within them, and have nothing odd.
struct Window {
    static constexpr std::size_t kBytes = 32;
    std::uint32_t ends = 0, blanks = 0;  // of lines; spaces and tabs
    std::uint32_t odd = 0;               // what needs a closer look: outside ASCII, NUL, carriage return
};

#if defined(__SSE2__)
Window window(const char* text) {
    Window out;
    for (int i = 0; i < 2; ++i) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text) + i);
        const auto equal = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
        const auto bits = [&](__m128i some) { return static_cast<std::uint32_t>(_mm_movemask_epi8(some)) << 16 * i; };
        out.ends |= bits(equal('\n'));
        out.blanks |= bits(_mm_or_si128(equal(' '), equal('\t')));
        out.odd |= bits(_mm_or_si128(bytes, _mm_or_si128(equal('\0'), equal('\r'))));
    }
    return out;
}
#else
Window window(const char* text) {
    Window out;
    for (std::size_t i = 0; i < Window::kBytes; ++i) {
        const auto bit = [&](bool some) { return static_cast<std::uint32_t>(some) << i; };
        const char c = text[i];
        out.ends |= bit(c == '\n');
        out.blanks |= bit(is_blank(c));
        out.odd |= bit(static_cast<unsigned char>(c) >= 0x80 || c == '\0' || c == '\r');
    }
    return out;
}
#endif

// What one look over a line finds, eight bytes at a time; nearly every line has nothing odd.
struct Look {
    bool high = false, zero = false, carriage = false;
    std::uint64_t blanks = 0;  // a bit for each of the first 64 bytes: a blank, or behind the end
};

constexpr std::uint64_t kOnes = 0x0101010101010101u, kHighBits = 0x8080808080808080u;

// The high bits of the bytes that are `c`.
constexpr std::uint64_t equal_bytes(std::uint64_t word, char c) {
    const std::uint64_t x = word ^ kOnes * static_cast<unsigned char>(c);
    return ~(((x & ~kHighBits) + ~kHighBits) | x) & kHighBits;
}

// `behind`: how many bytes may be read behind the line.
Look look_over(std::string_view line, std::size_t behind) {
    std::uint64_t high = 0, zero = 0, carriage = 0;
    Look out;
    for (std::size_t i = 0; i < line.size(); i += 8) {
        const std::size_t left = line.size() - i;
        std::uint64_t word = kOnes * ' ';
        if (left >= 8 || (left + behind >= 8 && std::endian::native == std::endian::little)) {
            std::memcpy(&word, line.data() + i, 8);
            if (left < 8) {
                const std::uint64_t inside = (std::uint64_t{1} << (8 * left)) - 1;
                word = (word & inside) | (kOnes * ' ' & ~inside);
            }
        } else {
            std::memcpy(&word, line.data() + i, left);
        }
        high |= word & kHighBits;
        zero |= equal_bytes(word, '\0');
        carriage |= equal_bytes(word, '\r');
        const std::uint64_t blank = equal_bytes(word, ' ') | equal_bytes(word, '\t');
        if (i < 64) out.blanks |= (blank >> 7) * 0x0102040810204080u >> 56 << i;  // one bit for each byte, in order
    }
    if (line.size() < 64) out.blanks |= ~std::uint64_t{0} << line.size();
    out.high = high != 0;
    out.zero = zero != 0;
    out.carriage = carriage != 0;
    return out;
}

std::size_t count_pieces(std::string_view line, std::string_view separator) {
    std::size_t n = 1;
    for (std::size_t at = 0; (at = line.find(separator, at)) != line.npos; at += separator.size()) ++n;
    return n;
}

std::size_t count_fields(std::string_view line) {  // parted at runs of spaces and tabs
    std::size_t n = 0;
    for (std::size_t i = 0; i < line.size(); ++i) n += !is_blank(line[i]) && (i == 0 || is_blank(line[i - 1]));
    return n;
}

// The reader: takes one line after the other and appends its cells.
class Reader {
public:
    Reader(std::string_view data, const ColumnsFormat& format) : data_(data), format_(format) {
        columns_.text = data;
        columns_.n_columns = format.n_columns;
        columns_.name = format.name;
        columns_.first_line = format.first_line;
        columns_.lines.reserve(data.size() / 32);
    }

    Columns read() {
        number_ = format_.first_line;
        InterruptCheck check;
        for (std::size_t at = 0; at < data_.size(); ++number_) {
            check();
            if (take_short(at)) continue;
            const void* found = std::memchr(data_.data() + at, '\n', data_.size() - at);
            const std::size_t end = found ? static_cast<const char*>(found) - data_.data() : data_.size();
            take(at, end, found != nullptr);
            at = end + 1;
        }
        end_sequence();
        return std::move(columns_);
    }

private:
    // Takes the line at `at` and goes behind it, if it is short and there is nothing to say about it.
    bool take_short(std::size_t& at) {
        if (format_.separator || format_.comments || data_.size() - at < Window::kBytes) return false;
        const Window seen = window(data_.data() + at);
        if (seen.ends == 0) return false;
        const auto length = static_cast<std::size_t>(std::countr_zero(seen.ends));
        const std::uint32_t inside = (std::uint32_t{1} << length) - 1;
        if ((seen.odd & inside) != 0) return false;
        std::array<Columns::Place, Window::kBytes / 2> fields;
        std::size_t n = 0;
        for (std::uint32_t blanks = seen.blanks | ~inside; ~blanks != 0; ++n) {
            const auto from = static_cast<std::size_t>(std::countr_one(blanks));
            const auto to = static_cast<std::size_t>(std::countr_zero(blanks & (~std::uint32_t{0} << from)));
            fields[n] = place(at + from, at + to);
            blanks |= (std::uint32_t{1} << to) - 1;
        }
        const std::span<const Columns::Place> found(fields.data(), n);
        if (n > 0 && (n != columns_.n_columns || (!format_.keep_docstart && has_docstart(found)))) return false;
        if (n == 0)
            end_sequence();
        else
            append(found, place(at, at + length));
        at += length + 1;
        return true;
    }

    void append(std::span<const Columns::Place> fields, Columns::Place line) {
        for (const Columns::Place& field : fields) columns_.cells.push_back(field);
        columns_.lines.push_back(line);
    }

    void take(std::size_t begin, std::size_t end, bool ended) {
        const Look look = look_over(data_.substr(begin, end - begin), data_.size() - end);
        const std::size_t looked_at = begin;
        if (look.high) require_utf8(data_.substr(begin, end - begin + ended));
        while (end > begin && data_[end - 1] == '\r') --end;
        if (number_ == 1 && data_.substr(begin, end - begin).starts_with(kByteOrderMark)) begin += 3;
        if (look.zero)
            fail(
                "found a NUL character. This is no text in the encoding 'utf-8'; if it is UTF-16, pass "
                "encoding='utf-16'.");
        const std::string_view line = data_.substr(begin, end - begin);
        if (format_.comments && line.starts_with(*format_.comments)) return;
        fields_.clear();
        if (format_.separator)
            split_at_separator(begin, end);
        else if (std::endian::native == std::endian::little && begin == looked_at && end - begin < 64)
            split_at_bits(begin, end, look.blanks);
        else
            split_at_blanks(begin, end);
        if (fields_.empty() || (!format_.keep_docstart && has_docstart(fields_))) return end_sequence();
        if (look.carriage && line.find('\r') != line.npos)
            fail("found a carriage return. Lines end in \\n or \\r\\n: convert them.");
        if (columns_.n_columns == 0) set_width();
        if (fields_.size() != columns_.n_columns) fail(ragged(line));
        append(fields_, place(begin, end));
    }

    static Columns::Place place(std::size_t begin, std::size_t end) {
        return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
    }

    void split_at_blanks(std::size_t begin, std::size_t end) {
        const char* text = data_.data();
        for (std::size_t at = begin;;) {
            while (at < end && is_blank(text[at])) ++at;
            if (at == end) return;
            const std::size_t from = at;
            while (at < end && !is_blank(text[at])) ++at;
            fields_.push_back(place(from, at));
        }
    }

    // The same where the bits say what is a blank.
    void split_at_bits(std::size_t begin, std::size_t end, std::uint64_t blanks) {
        blanks |= ~std::uint64_t{0} << (end - begin);
        while (~blanks != 0) {
            const auto from = static_cast<std::size_t>(std::countr_one(blanks));
            const std::uint64_t rest = blanks & (~std::uint64_t{0} << from);
            const auto to = static_cast<std::size_t>(std::countr_zero(rest));
            fields_.push_back(place(begin + from, begin + to));
            blanks |= (std::uint64_t{1} << to) - 1;
        }
    }

    void split_at_separator(std::size_t begin, std::size_t end) {
        const std::string_view line = data_.substr(begin, end - begin);
        if (std::ranges::all_of(line, is_blank)) return;
        for (std::size_t at = 0;;) {
            const std::size_t found = std::min(line.find(*format_.separator, at), line.size());
            fields_.push_back(place(begin + at, begin + found));
            if (found == line.size()) return;
            at = found + format_.separator->size();
        }
    }

    bool has_docstart(std::span<const Columns::Place> fields) const {
        return std::ranges::any_of(fields, [&](const Columns::Place& field) {
            return field.size == kDocstart.size() && columns_.at(field) == kDocstart;
        });
    }

    void set_width() {
        columns_.n_columns = fields_.size();
        columns_.cells.reserve(columns_.lines.capacity() * std::min<std::size_t>(fields_.size(), 16));
    }

    void end_sequence() {
        if (columns_.lines.size() > columns_.starts.back()) columns_.starts.push_back(columns_.lines.size());
    }

    void require_utf8(std::string_view line) const {
        const Utf8Error error = utf8_error(line);
        if (!error.reason) return;
        constexpr char kHex[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(line[error.at]);
        const bool utf16 = number_ == 1 && (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff"));
        fail(std::string("byte 0x") + kHex[byte >> 4] + kHex[byte & 15] + " in column " + std::to_string(error.at + 1) +
             " is not 'utf-8' (" + error.reason + "). " +
             (utf16 ? "The file begins as UTF-16 does: pass encoding='utf-16'."
                    : "If it is Latin-1, pass encoding='latin-1' (from Windows: 'cp1252')."));
    }

    std::string ragged(std::string_view line) const {
        const std::size_t width = columns_.n_columns;
        const std::string message = "expected " + std::to_string(width) + " columns, found " +
                                    std::to_string(fields_.size()) + " in " + quoted(line) + ". ";
        if (!format_.separator && count_pieces(line, "\t") == width)
            return message +
                   "Parted at tabs alone it has as many as expected: pass separator='\\t' to allow spaces in columns.";
        if (!format_.separator)
            return message + "Columns are parted by spaces or tabs, and a blank line ends a sentence.";
        if (count_fields(line) == width)
            return message + "Tabs and spaces are mixed here: pass separator=None to part columns at both.";
        return message + "Columns are parted by " + quoted(*format_.separator) + ", and a blank line ends a sentence.";
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw std::invalid_argument(file_name(format_.name) + ", line " + std::to_string(number_) + ": " + what);
    }

    std::string_view data_;
    const ColumnsFormat& format_;
    Columns columns_;
    std::vector<Columns::Place> fields_;
    std::size_t number_ = 1;
};

void check_format(std::string_view data, const ColumnsFormat& format) {
    if (data.size() >= std::numeric_limits<std::uint32_t>::max())
        throw std::invalid_argument(file_name(format.name) + ": more than 4 GiB at once. Read it in blocks.");
    if (format.separator && (format.separator->empty() || format.separator->find_first_of("\r\n") != std::string::npos))
        throw std::invalid_argument("separator must be None or a string without line breaks, such as '\\t', found " +
                                    quoted(*format.separator) + ".");
    if (format.comments && format.comments->empty())
        throw std::invalid_argument("comments must be None or what a comment begins with, such as '#', found ''.");
}

}  // namespace

std::size_t count_lines(std::string_view data) {
    constexpr std::size_t kAtATime = 128;  // counted in bytes, of which many fit into a vector
    std::size_t n = 0, i = 0;
    for (; i + kAtATime <= data.size(); i += kAtATime) {
        std::uint8_t some = 0;
        for (std::size_t j = 0; j < kAtATime; ++j) some += data[i + j] == '\n';
        n += some;
    }
    return n + static_cast<std::size_t>(std::count(data.begin() + static_cast<std::ptrdiff_t>(i), data.end(), '\n'));
}

Columns parse_columns(std::string_view data, const ColumnsFormat& format, std::shared_ptr<const void> owner) {
    check_format(data, format);
    Columns columns = Reader(data, format).read();
    columns.owner = std::move(owner);
    return columns;
}

Columns without_column(const Columns& columns, std::size_t column) {
    if (column >= columns.n_columns) throw std::invalid_argument("there is no such column");
    Columns out;
    out.text = columns.text;
    out.owner = columns.owner;
    out.n_columns = columns.n_columns - 1;
    out.lines = columns.lines;
    out.starts = columns.starts;
    out.name = columns.name;
    out.first_line = columns.first_line;
    out.cells.reserve(columns.n_rows() * out.n_columns);
    for (std::size_t i = 0; i < columns.cells.size(); ++i)
        if (i % columns.n_columns != column) out.cells.push_back(columns.cells[i]);
    return out;
}

Columns some_sequences(const Columns& columns, std::size_t first, std::size_t last) {
    if (first > last || last > columns.n_sequences()) throw std::invalid_argument("there are no such sequences");
    Columns out;
    out.text = columns.text;
    out.owner = columns.owner;
    out.n_columns = columns.n_columns;
    out.name = columns.name;
    out.first_line = columns.first_line;
    const std::size_t begin = columns.starts[first], end = columns.starts[last];
    const auto cell = columns.cells.begin(), line = columns.lines.begin();
    out.cells.assign(cell + static_cast<std::ptrdiff_t>(begin * columns.n_columns),
                     cell + static_cast<std::ptrdiff_t>(end * columns.n_columns));
    if (!columns.lines.empty())
        out.lines.assign(line + static_cast<std::ptrdiff_t>(begin), line + static_cast<std::ptrdiff_t>(end));
    for (std::size_t i = first; i < last; ++i) out.starts.push_back(columns.starts[i + 1] - begin);
    return out;
}

std::vector<std::int32_t> column_codes(const Columns& columns, std::size_t column, std::vector<std::string>& table) {
    if (column >= columns.n_columns && columns.n_rows() > 0) throw std::invalid_argument("there is no such column");
    std::unordered_map<std::string, std::int32_t> code_of;
    for (const std::string& value : table)
        if (!code_of.emplace(value, static_cast<std::int32_t>(code_of.size())).second)
            throw std::invalid_argument("the known labels name " + quoted(value) + " twice.");
    std::vector<std::int32_t> codes;
    codes.reserve(columns.n_rows());
    std::string value;
    InterruptCheck check;
    for (std::size_t row = 0; row < columns.n_rows(); ++row) {
        check();
        value.assign(columns.cell(row, column));
        const auto [found, is_new] = code_of.emplace(value, static_cast<std::int32_t>(code_of.size()));
        if (is_new) {
            if (table.size() >= 0x7fffffffu) throw std::invalid_argument("too many different labels.");
            table.push_back(value);
        }
        codes.push_back(found->second);
    }
    return codes;
}

void Columns::require_columns(std::size_t n) const {
    if (n_rows() > 0 && n_columns < n)
        throw std::invalid_argument("the templates need " + std::to_string(n) + " columns, but the tokens have " +
                                    std::to_string(n_columns) + " (" + where(0) + ").");
}

std::string Columns::where(std::size_t row) const {
    if (lines.empty()) {
        const auto after = std::upper_bound(starts.begin(), starts.end(), row);
        const std::size_t sequence = static_cast<std::size_t>(after - starts.begin()) - 1;
        return "X[" + std::to_string(sequence) + "][" + std::to_string(row - starts[sequence]) + "]";
    }
    const std::string_view before = text.substr(0, lines[row].begin);
    const auto number = first_line + static_cast<std::size_t>(std::ranges::count(before, '\n'));
    return file_name(name) + ", line " + std::to_string(number);
}

Utf8Error utf8_error(std::string_view text) {
    constexpr const char *kStart = "invalid start byte", *kContinuation = "invalid continuation byte",
                         *kEnd = "unexpected end of data";
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    for (std::size_t i = 0; i < text.size();) {
        const unsigned char lead = byte(i);
        if (lead < 0x80) {
            ++i;
            continue;
        }
        if (lead < 0xc2 || lead > 0xf4) return {i, kStart};
        const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        // No overlong forms, no surrogates, nothing beyond U+10FFFF: the second byte decides.
        const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        for (std::size_t k = 1; k < size; ++k) {
            if (i + k == text.size()) return {i, kEnd};
            const unsigned char next = byte(i + k);
            if (next < (k == 1 ? low : 0x80) || next > (k == 1 ? high : 0xbf)) return {i, kContinuation};
        }
        i += size;
    }
    return {};
}

std::string quoted(std::string_view text, std::size_t limit) {
    std::size_t n_characters = 0, cut = text.size();
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
        if (n_characters + 3 == limit) cut = i;
        ++n_characters;
    }
    std::string shown(n_characters <= limit ? text : text.substr(0, cut));
    if (n_characters > limit) shown += "...";
    const char quote = shown.find('\'') != std::string::npos && shown.find('"') == std::string::npos ? '"' : '\'';
    constexpr char kHex[] = "0123456789abcdef";
    std::string out(1, quote);
    for (const char c : shown) {
        const auto code = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\t' || c == '\n' || c == '\r') {
            out += c == '\t' ? "\\t" : c == '\n' ? "\\n" : "\\r";
        } else if (code < 0x20 || code == 0x7f) {
            out += "\\x";
            out += kHex[code >> 4];
            out += kHex[code & 15];
        } else {
            out += c;
        }
    }
    return out + quote;
}

}  // namespace tw
