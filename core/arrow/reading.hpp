// Columns of text and of lists that another library lent, as tokens.
//
//   text        utf8, large_utf8, utf8_view, or a dictionary of one of these
//   list of ..  list, large_list, list_view, large_list_view, fixed_size_list
//
// Whatever the C interface lets one check is checked before it is used: the shape of the structs, offsets that rise and
// stay in their array, indices, views, UTF-8. It does not say how long most buffers are; those are taken on trust.
// Everything wrong throws std::invalid_argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../text/columns.hpp"
#include "abi.hpp"

namespace tw::arrow {

// A stretch of an array: `length` values from its value `first` on.
struct Slice {
    const ArrowSchema* schema;
    const ArrowArray* array;
    std::size_t first, length;
};

enum class Kind { kText, kTokens, kIntegers, kOther };  // text, lists of text, lists of integers
Kind kind_of(const ArrowSchema& schema);
std::string type_name(const ArrowSchema& schema);  // as pyarrow shows it, for messages
bool same_type(const ArrowSchema& a, const ArrowSchema& b);
void require_schema(const ArrowSchema& schema);  // throws unless it can be walked through

// A record batch, or an array that stands alone. Released when the last who looks at it has gone.
class Batch {
public:
    Batch(std::shared_ptr<const Owned<ArrowSchema>> schema, Owned<ArrowArray> array);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_columns() const;
    Slice column(std::size_t i) const;
    const ArrowSchema& schema() const { return **schema_; }

private:
    std::shared_ptr<const Owned<ArrowSchema>> schema_;
    Owned<ArrowArray> array_;
    std::size_t n_rows_ = 0;
};

// The columns of a table; of an array that stands alone, itself.
std::size_t n_columns(const ArrowSchema& schema);
const ArrowSchema& column_schema(const ArrowSchema& schema, std::size_t i);
bool is_table(const ArrowSchema& schema);

// How much is read at a time: rows, and bytes of text unless one row has more.
struct Limit {
    std::size_t rows, bytes;
};

struct Tokens {
    Columns columns;                   // a sequence for each row; of a null row it is empty
    std::vector<std::uint8_t> valid;   // for each row; empty when none is null
    std::vector<std::int32_t> places;  // of tokens cut from text: where they begin and stop in it, in characters
    std::vector<std::size_t> missing;  // which tokens are null
};

// Tokens from lists of text, a column of tokens for each. Null tokens are refused unless `keep_nulls`.
Tokens listed_tokens(std::span<const Slice> columns, std::size_t first, Limit limit, bool keep_nulls);

// All sequences, one after the other; the text is copied. All have as many columns, unless they have no rows.
Columns joined(const std::vector<const Columns*>& all);

// What characters are to a tokenizer.
enum class Character : std::uint8_t { kWord, kSpace, kMark, kEmoji, kJoiner };

// Tokens cut from text: every mark alone, runs of emoji (joiners between them), runs of everything else but space.
// `classes` has a Character for each code point.
Tokens cut_tokens(const Slice& column, std::size_t first, Limit limit, std::span<const std::uint8_t> classes);

// Tokens of text that somebody else cut: `counts` for each row, `places` for each token, in characters.
Tokens placed_tokens(const Slice& column, std::size_t first, std::span<const std::int64_t> counts,
                     std::span<const std::int64_t> places);

// The texts of a column; nothing for a null.
std::vector<std::optional<std::string>> texts(const Slice& column, std::size_t first, Limit limit);

// Lists of integers, one after the other.
struct Integers {
    std::vector<std::int64_t> values, lengths;
    std::vector<std::uint8_t> valid;   // for each row; empty when none is null
    std::vector<std::size_t> missing;  // which values are null
};
Integers listed_integers(const Slice& column);

}  // namespace tw::arrow
