// Tokens as rows of text columns: the words of a corpus and what is known of each, in one block of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

struct Columns {
    struct Place {
        std::uint32_t begin, size;  // in `text`
    };
    std::string_view text;               // UTF-8, checked; whoever holds it is kept alive by `owner`
    std::shared_ptr<const void> owner;   // null when the caller sees to it
    std::size_t n_columns = 0;           // of every row
    std::vector<Place> cells;            // [row][column]
    std::vector<Place> lines;            // [row], the line it came from without its end; empty when made from lists
    std::vector<std::size_t> starts{0};  // rows of sequence i: starts[i] .. starts[i + 1] - 1
    std::string name;                    // of the file, for messages; empty when made from lists
    std::size_t first_line = 1;          // number of the line that `text` begins with

    std::size_t n_rows() const { return starts.back(); }
    std::size_t n_sequences() const { return starts.size() - 1; }
    std::string_view at(const Place& place) const { return text.substr(place.begin, place.size); }
    std::string_view cell(std::size_t row, std::size_t column) const { return at(cells[row * n_columns + column]); }
    void require_columns(std::size_t n) const;  // throws std::invalid_argument when templates need more than there are
    std::string where(std::size_t row) const;   // "train.txt, line 7", or "X[0][6]": what a message calls this row
};

// How to read a file of columns; the same rules as trelliswork.corpora.read_columns.
struct ColumnsFormat {
    std::optional<std::string> separator;  // none: any run of spaces and tabs
    std::optional<std::string> comments;   // lines that begin with this are skipped
    bool keep_docstart = false;            // lines with -DOCSTART- in a column are tokens, no ends of sequences
    std::string name;                      // of the file, for messages
    std::size_t first_line = 1;            // number of the first line; a byte order mark is dropped from line 1
    std::size_t n_columns = 0;             // 0: the first line decides
};

// Reads columns. The result refers to `data`, which `owner` keeps alive; without one, the caller does.
// Throws std::invalid_argument that names the line for what is no UTF-8, has NUL or carriage returns in it, or is
// ragged.
Columns parse_columns(std::string_view data, const ColumnsFormat& format, std::shared_ptr<const void> owner = nullptr);

// How many ends of lines there are.
std::size_t count_lines(std::string_view data);

// The same rows without one column; the text is shared.
Columns without_column(const Columns& columns, std::size_t column);

// Sequences first .. last - 1 alone; the text is shared.
Columns some_sequences(const Columns& columns, std::size_t first, std::size_t last);

// The values of a column as numbers in order of first sight. `table` holds the values known before and grows.
std::vector<std::int32_t> column_codes(const Columns& columns, std::size_t column, std::vector<std::string>& table);

// Where `text` stops being UTF-8 and why, in Python's words ("invalid start byte"); no reason when it does not.
struct Utf8Error {
    std::size_t at = 0;
    const char* reason = nullptr;
};
Utf8Error utf8_error(std::string_view text);

// `text` in quotes as Python shows strings, cut to `limit` characters.
std::string quoted(std::string_view text, std::size_t limit = 60);

}  // namespace tw
