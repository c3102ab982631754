#include "reading.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "../base/interrupt.hpp"

namespace tw::arrow {
namespace {

constexpr int kDeepest = 64;  // types within types
constexpr std::size_t kCodePoints = 0x110000;

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

void require(bool holds, const char* what) {
    if (!holds) fail(std::string("the Arrow data are malformed: ") + what + ".");
}

template <class T>
T read(const void* buffer, std::size_t i) {  // buffers need not be aligned
    T value;
    std::memcpy(&value, static_cast<const char*>(buffer) + i * sizeof(T), sizeof(T));
    return value;
}

std::string_view format_of(const ArrowSchema& schema) { return schema.format; }
std::string_view name_of(const ArrowSchema& schema) { return schema.name ? schema.name : ""; }

// ---- types ----------------------------------------------------------------------------------------------------------

constexpr std::string_view kIntegerFormats = "cCsSiIlL";

bool is_integer(const ArrowSchema& schema) {
    const std::string_view format = format_of(schema);
    return !schema.dictionary && format.size() == 1 && kIntegerFormats.find(format) != format.npos;
}

bool is_plain_text(const ArrowSchema& schema) {  // "n": a column, or lists, of which no value is known
    const std::string_view format = format_of(schema);
    return !schema.dictionary && (format == "u" || format == "U" || format == "vu" || format == "n");
}

bool is_text(const ArrowSchema& schema) {
    if (!schema.dictionary) return is_plain_text(schema);
    const std::string_view format = format_of(schema);
    return format.size() == 1 && kIntegerFormats.find(format) != format.npos && is_plain_text(*schema.dictionary);
}

bool is_list(const ArrowSchema& schema) {
    const std::string_view format = format_of(schema);
    const bool known = format == "+l" || format == "+L" || format == "+vl" || format == "+vL";
    return !schema.dictionary && schema.n_children == 1 && (known || format.starts_with("+w:"));
}

std::string plain_name(std::string_view format) {
    static constexpr std::pair<std::string_view, const char*> kNames[] = {{"n", "null"},
                                                                          {"b", "bool"},
                                                                          {"c", "int8"},
                                                                          {"C", "uint8"},
                                                                          {"s", "int16"},
                                                                          {"S", "uint16"},
                                                                          {"i", "int32"},
                                                                          {"I", "uint32"},
                                                                          {"l", "int64"},
                                                                          {"L", "uint64"},
                                                                          {"e", "float16"},
                                                                          {"f", "float"},
                                                                          {"g", "double"},
                                                                          {"z", "binary"},
                                                                          {"Z", "large_binary"},
                                                                          {"u", "string"},
                                                                          {"U", "large_string"},
                                                                          {"tdD", "date32"},
                                                                          {"vz", "binary_view"},
                                                                          {"vu", "string_view"},
                                                                          {"+s", "struct"},
                                                                          {"+m", "map"},
                                                                          {"tdm", "date64"},
                                                                          {"+l", "list"},
                                                                          {"+L", "large_list"},
                                                                          {"+vl", "list_view"},
                                                                          {"+vL", "large_list_view"},
                                                                          {"+r", "run_end_encoded"}};
    for (const auto& [known, name] : kNames)
        if (format == known) return name;
    if (format.starts_with("+w:")) return "fixed_size_list";
    if (format.starts_with("ts")) return "timestamp";
    if (format.starts_with("d:")) return "decimal";
    return "the format " + quoted(format, 40);
}

void require_schema_at(const ArrowSchema* schema, int depth) {
    require(schema != nullptr, "a type is missing");
    require(schema->release != nullptr, "a type has been released");
    require(schema->format != nullptr, "a type has no format");
    require(schema->n_children >= 0, "a type has a negative number of children");
    require(schema->n_children == 0 || schema->children != nullptr, "the children of a type are missing");
    require(depth < kDeepest, "types are nested too deeply");
    for (std::int64_t i = 0; i < schema->n_children; ++i) require_schema_at(schema->children[i], depth + 1);
    if (schema->dictionary) require_schema_at(schema->dictionary, depth + 1);
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

void require_array(const ArrowArray* array, std::int64_t n_buffers, const char* what) {
    require(array != nullptr, "an array is missing");
    require(array->release != nullptr, "an array has been released");
    require(array->length >= 0 && array->offset >= 0, "a length or an offset is negative");
    require(array->length < std::numeric_limits<std::int64_t>::max() / 16 - array->offset, "an array is too long");
    require(array->n_buffers >= n_buffers && (n_buffers == 0 || array->buffers != nullptr), what);
}

const ArrowArray& child_of(const ArrowArray& array) {
    require(array.n_children == 1 && array.children != nullptr, "a list must have one child");
    require(array.children[0] != nullptr, "the child of a list is missing");
    return *array.children[0];
}

class Validity {
public:
    explicit Validity(const ArrowArray& array) : offset_(static_cast<std::size_t>(array.offset)) {
        if (array.null_count == 0 || array.n_buffers == 0 || array.buffers == nullptr) return;
        bits_ = static_cast<const std::uint8_t*>(array.buffers[0]);
        require(bits_ != nullptr || array.null_count < 0, "there are nulls, but nothing says which");
    }
    bool null(std::size_t i) const {
        const std::size_t bit = offset_ + i;
        return bits_ && !(bits_[bit / 8] >> (bit % 8) & 1);
    }

private:
    const std::uint8_t* bits_ = nullptr;
    std::size_t offset_;
};

class IntegerValues {
public:
    IntegerValues(const ArrowSchema& schema, const ArrowArray& array)
        : array_(array), validity_(checked(array)), format_(schema.format[0]) {
        require(array.length == 0 || array.buffers[1] != nullptr, "integers have no buffer");
    }
    std::size_t size() const { return static_cast<std::size_t>(array_.length); }
    bool null(std::size_t i) const { return validity_.null(i); }
    std::int64_t at(std::size_t i) const {
        const std::size_t place = static_cast<std::size_t>(array_.offset) + i;
        const void* data = array_.buffers[1];
        switch (format_) {
            case 'c':
                return read<std::int8_t>(data, place);
            case 'C':
                return read<std::uint8_t>(data, place);
            case 's':
                return read<std::int16_t>(data, place);
            case 'S':
                return read<std::uint16_t>(data, place);
            case 'i':
                return read<std::int32_t>(data, place);
            case 'I':
                return read<std::uint32_t>(data, place);
            default:  // beyond 2^63 an unsigned one is negative, which nobody takes for an index
                return read<std::int64_t>(data, place);
        }
    }

private:
    static const ArrowArray& checked(const ArrowArray& array) {
        require_array(&array, 2, "integers must have two buffers");
        return array;
    }

    const ArrowArray& array_;
    Validity validity_;
    char format_;
};

// Text of any of the layouts. Each value is checked when it is looked at, so a slice costs what is in it.
class Strings {
public:
    Strings(const ArrowSchema& schema, const ArrowArray& array) : array_(array), validity_(checked(schema, array)) {
        const std::string_view format = format_of(schema);
        const auto end = static_cast<std::size_t>(array.offset + array.length);
        if (schema.dictionary) {
            require(array.dictionary != nullptr, "a dictionary is missing");
            codes_.emplace(schema, array);
            values_ = std::make_unique<Strings>(*schema.dictionary, *array.dictionary);
        } else if (format == "n") {
            unknown_ = true;
        } else if (format == "vu") {
            set_views();
        } else {
            wide_ = format == "U";
            require(array.length == 0 || array.buffers[1] != nullptr, "text has no offsets");
            if (array.length > 0) total_ = offset_at(end);
            require(total_ >= 0, "the offsets of text are negative");
            require(total_ == 0 || array.buffers[2] != nullptr, "text has offsets, but no characters");
        }
    }
    std::size_t size() const { return static_cast<std::size_t>(array_.length); }

    bool null(std::size_t i) const {
        if (unknown_ || validity_.null(i)) return true;
        return values_ && values_->null(code(i));
    }

    std::string_view at(std::size_t i) const {
        if (values_) return values_->at(code(i));
        const std::size_t place = static_cast<std::size_t>(array_.offset) + i;
        if (n_data_) return view_at(place);
        const std::int64_t begin = offset_at(place), end = offset_at(place + 1);
        require(0 <= begin && begin <= end && end <= total_, "the offsets of text do not rise");
        if (begin == end) return {};
        return {static_cast<const char*>(array_.buffers[2]) + begin, static_cast<std::size_t>(end - begin)};
    }

private:
    static const ArrowArray& checked(const ArrowSchema& schema, const ArrowArray& array) {
        const bool plain = !schema.dictionary && format_of(schema) != "n";
        require_array(&array, schema.dictionary ? 2 : plain ? 3 : 0, "text has too few buffers");
        return array;
    }

    void set_views() {
        n_data_ = static_cast<std::size_t>(array_.n_buffers - 3);
        require(array_.length == 0 || array_.buffers[1] != nullptr, "text has no views");
        require(*n_data_ == 0 || array_.buffers[2 + *n_data_] != nullptr, "the sizes of buffers are missing");
    }

    std::int64_t offset_at(std::size_t place) const {
        return wide_ ? read<std::int64_t>(array_.buffers[1], place) : read<std::int32_t>(array_.buffers[1], place);
    }

    // 16 bytes: the size, then up to 12 bytes of text; of longer ones its first four, a buffer and a place in it.
    std::string_view view_at(std::size_t place) const {
        const char* view = static_cast<const char*>(array_.buffers[1]) + 16 * place;
        const auto size = read<std::int32_t>(view, 0);
        require(size >= 0, "a view has a negative size");
        if (size <= 12) return {view + 4, static_cast<std::size_t>(size)};
        const auto number = read<std::int32_t>(view, 2), begin = read<std::int32_t>(view, 3);
        require(number >= 0 && static_cast<std::size_t>(number) < *n_data_, "a view names a buffer that is not there");
        const auto room = read<std::int64_t>(array_.buffers[2 + *n_data_], static_cast<std::size_t>(number));
        const void* data = array_.buffers[2 + number];
        require(begin >= 0 && room >= begin && room - begin >= size && data, "a view reaches beyond its buffer");
        return {static_cast<const char*>(data) + begin, static_cast<std::size_t>(size)};
    }

    std::size_t code(std::size_t i) const {
        const std::int64_t code = codes_->at(i);
        require(code >= 0 && static_cast<std::size_t>(code) < values_->size(), "an index is not in its dictionary");
        return static_cast<std::size_t>(code);
    }

    const ArrowArray& array_;
    Validity validity_;
    bool wide_ = false, unknown_ = false;
    std::int64_t total_ = 0;             // where the last text ends
    std::optional<std::size_t> n_data_;  // of views: how many buffers have their text
    std::optional<IntegerValues> codes_;
    std::unique_ptr<Strings> values_;
};

// Where the values of each list are in the child of an array.
class Lists {
public:
    Lists(const ArrowSchema& schema, const ArrowArray& array)
        : array_(array), format_(format_of(schema)), validity_(checked(format_of(schema), array)) {
        if (format_.starts_with("+w:")) {
            const auto [end, error] = std::from_chars(format_.data() + 3, format_.data() + format_.size(), fixed_);
            require(error == std::errc() && end == format_.data() + format_.size() && fixed_ >= 0 &&
                        fixed_ <= std::numeric_limits<std::int32_t>::max(),
                    "the size of lists is no number");
            return;
        }
        viewed_ = format_.starts_with("+v");
        wide_ = format_.back() == 'L';
        require(array.length == 0 || array.buffers[1] != nullptr, "lists have no offsets");
        require(array.length == 0 || !viewed_ || array.buffers[2] != nullptr, "lists have no sizes");
    }
    bool null(std::size_t i) const { return validity_.null(i); }

    struct Range {
        std::size_t begin, size;
    };
    Range at(std::size_t i) const {
        const std::size_t place = static_cast<std::size_t>(array_.offset) + i;
        const std::int64_t room = array_.children[0]->length;
        std::int64_t begin, size;
        if (fixed_ >= 0) {
            require(fixed_ == 0 || static_cast<std::int64_t>(place) <= room / fixed_ - 1, "lists reach too far");
            begin = static_cast<std::int64_t>(place) * fixed_;
            size = fixed_;
        } else {
            begin = number(1, place);
            size = viewed_ ? number(2, place) : number(1, place + 1);
            require(begin >= 0 && size >= 0, "an offset of a list is negative");
            if (!viewed_) {
                require(begin <= size, "the offsets of lists do not rise");
                size -= begin;
            }
        }
        require(begin <= room && size <= room - begin, "a list reaches beyond its values");
        return {static_cast<std::size_t>(begin), static_cast<std::size_t>(size)};
    }

private:
    static const ArrowArray& checked(std::string_view format, const ArrowArray& array) {
        const std::int64_t needed = format.starts_with("+w:") ? 1 : format.starts_with("+v") ? 3 : 2;
        require_array(&array, needed, "lists have too few buffers");
        require(child_of(array).length >= 0, "a length is negative");
        return array;
    }
    std::int64_t number(std::size_t buffer, std::size_t place) const {
        return wide_ ? read<std::int64_t>(array_.buffers[buffer], place)
                     : read<std::int32_t>(array_.buffers[buffer], place);
    }

    const ArrowArray& array_;
    std::string_view format_;
    Validity validity_;
    std::int64_t fixed_ = -1;
    bool wide_ = false, viewed_ = false;
};

// ---- from values to tokens ------------------------------------------------------------------------------------------

// Gathers text and rows; says of what is wrong in which row it is.
class Gatherer {
public:
    Gatherer(std::size_t n_columns, std::size_t first) : first_(first) { tokens_.columns.n_columns = n_columns; }

    std::size_t row() const { return first_ + tokens_.columns.n_sequences(); }
    bool full(Limit limit) const {
        const std::size_t n_rows = tokens_.columns.n_sequences();
        return n_rows >= limit.rows ||
               text_.size() + sizeof(Columns::Place) * tokens_.columns.cells.size() >= limit.bytes;
    }

    std::size_t add_text(std::string_view text) {  // returns where it begins
        if (const Utf8Error error = utf8_error(text); error.reason)
            fail("row " + std::to_string(row()) + " has text that is not UTF-8: " + error.reason + " at byte " +
                 std::to_string(error.at) + ".");
        const std::size_t begin = text_.size();
        if (begin + text.size() >= std::numeric_limits<std::uint32_t>::max())
            fail("row " + std::to_string(row()) + " has more than 4 GiB of text.");
        text_.append(text);
        return begin;
    }
    void add_cell(std::size_t begin, std::size_t size) {
        tokens_.columns.cells.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size)});
    }
    void add_place(std::size_t begin, std::size_t stop) {
        if (stop > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
            fail("row " + std::to_string(row()) + " has more than 2^31 characters.");
        tokens_.places.push_back(static_cast<std::int32_t>(begin));
        tokens_.places.push_back(static_cast<std::int32_t>(stop));
    }
    void add_missing() {
        tokens_.missing.push_back(tokens_.columns.cells.size() / tokens_.columns.n_columns);
        add_cell(text_.size(), 0);
    }
    void end_row(bool null = false) {
        if (null && tokens_.valid.empty()) tokens_.valid.assign(tokens_.columns.n_sequences(), 1);
        tokens_.columns.starts.push_back(tokens_.columns.cells.size() / tokens_.columns.n_columns);
        if (null || !tokens_.valid.empty()) tokens_.valid.push_back(!null);
    }

    Tokens finish() {
        const auto text = std::make_shared<const std::string>(std::move(text_));
        tokens_.columns.text = *text;
        tokens_.columns.owner = text;
        return std::move(tokens_);
    }

private:
    Tokens tokens_;
    std::string text_;
    std::size_t first_;
};

// A column of lists of text, or of anything else with a size.
template <class Values>
struct ListColumn {
    ListColumn(const Slice& slice, const ArrowSchema& values)
        : lists(*slice.schema, *slice.array), values(values, child_of(*slice.array)), slice(slice) {}
    explicit ListColumn(const Slice& slice) : ListColumn(slice, *slice.schema->children[0]) {}

    Lists lists;
    Values values;
    Slice slice;
};

void refuse_lengths(std::size_t row, const Slice& a, std::size_t n, const Slice& b, std::size_t m) {
    fail("row " + std::to_string(row) + " has " + std::to_string(n) + " values in " + quoted(name_of(*a.schema)) +
         " but " + std::to_string(m) + " in " + quoted(name_of(*b.schema)) + ". Every token needs one in each column.");
}

struct Decoded {
    std::size_t code, size;
};

Decoded decoded(const char* text) {  // UTF-8 that was checked
    const auto byte = [&](int i) { return static_cast<unsigned char>(text[i]); };
    const auto more = [&](int i) { return static_cast<std::size_t>(byte(i) & 0x3f); };
    if (byte(0) < 0x80) return {byte(0), 1};
    if (byte(0) < 0xe0) return {static_cast<std::size_t>(byte(0) & 0x1f) << 6 | more(1), 2};
    if (byte(0) < 0xf0) return {static_cast<std::size_t>(byte(0) & 0x0f) << 12 | more(1) << 6 | more(2), 3};
    return {static_cast<std::size_t>(byte(0) & 0x07) << 18 | more(1) << 12 | more(2) << 6 | more(3), 4};
}

// Goes through a text by characters.
class Cursor {
public:
    explicit Cursor(std::string_view text) : text_(text) { look(); }
    bool done() const { return at_ == text_.size(); }
    std::size_t at() const { return at_; }                // in bytes
    std::size_t character() const { return character_; }  // in characters
    std::size_t code() const { return now_.code; }
    void advance() {
        at_ += now_.size;
        ++character_;
        look();
    }

private:
    void look() {
        if (!done()) now_ = decoded(text_.data() + at_);
    }

    std::string_view text_;
    Decoded now_{};
    std::size_t at_ = 0, character_ = 0;
};

class Cutter {
public:
    Cutter(std::span<const std::uint8_t> classes, Gatherer& gatherer) : classes_(classes), gatherer_(gatherer) {}

    void cut(std::string_view text, std::size_t offset) {  // the text is in the gatherer from `offset` on
        for (Cursor cursor(text); !cursor.done();) {
            check_();
            const Character kind = kind_at(cursor);
            const std::size_t begin = cursor.at(), character = cursor.character();
            cursor.advance();
            if (kind == Character::kSpace) continue;
            if (kind != Character::kMark) take(cursor, kind == Character::kEmoji ? kind : Character::kWord);
            gatherer_.add_cell(offset + begin, cursor.at() - begin);
            gatherer_.add_place(character, cursor.character());
        }
    }

private:
    Character kind_at(const Cursor& cursor) const { return static_cast<Character>(classes_[cursor.code()]); }
    void take(Cursor& cursor, Character kind) {
        while (!cursor.done() && (kind_at(cursor) == kind || kind_at(cursor) == Character::kJoiner)) cursor.advance();
    }

    std::span<const std::uint8_t> classes_;
    Gatherer& gatherer_;
    InterruptCheck check_;
};

std::size_t rows_from(const Slice& slice, std::size_t first) {
    if (first > slice.length) fail("there is no such row");
    return slice.length - first;
}

}  // namespace

Kind kind_of(const ArrowSchema& schema) {
    if (is_text(schema)) return Kind::kText;
    if (!is_list(schema)) return Kind::kOther;
    const ArrowSchema& values = *schema.children[0];
    return is_text(values) ? Kind::kTokens : is_integer(values) ? Kind::kIntegers : Kind::kOther;
}

std::string type_name(const ArrowSchema& schema) {
    if (schema.dictionary)
        return "dictionary<" + type_name(*schema.dictionary) + ", " + plain_name(format_of(schema)) + ">";
    const std::string name = plain_name(format_of(schema));
    if (is_list(schema)) return name + "<" + type_name(*schema.children[0]) + ">";
    return name;
}

bool same_type(const ArrowSchema& a, const ArrowSchema& b) {
    if (format_of(a) != format_of(b) || a.n_children != b.n_children || !a.dictionary != !b.dictionary) return false;
    for (std::int64_t i = 0; i < a.n_children; ++i)
        if (name_of(*a.children[i]) != name_of(*b.children[i]) || !same_type(*a.children[i], *b.children[i]))
            return false;
    return !a.dictionary || same_type(*a.dictionary, *b.dictionary);
}

void require_schema(const ArrowSchema& schema) { require_schema_at(&schema, 0); }

bool is_table(const ArrowSchema& schema) { return format_of(schema) == "+s"; }

std::size_t n_columns(const ArrowSchema& schema) {
    return is_table(schema) ? static_cast<std::size_t>(schema.n_children) : 1;
}

const ArrowSchema& column_schema(const ArrowSchema& schema, std::size_t i) {
    if (i >= n_columns(schema)) fail("there is no such column");
    return is_table(schema) ? *schema.children[i] : schema;
}

Batch::Batch(std::shared_ptr<const Owned<ArrowSchema>> schema, Owned<ArrowArray> array)
    : schema_(std::move(schema)), array_(std::move(array)) {
    require_array(&*array_, 0, "");
    n_rows_ = static_cast<std::size_t>(array_->length);
    if (!is_table(**schema_)) return;
    require(array_->n_children == (*schema_)->n_children, "a table has other columns than its type");
    require(array_->n_children == 0 || array_->children != nullptr, "the columns of a table are missing");
    const Validity validity(*array_);
    for (std::size_t i = 0; i < n_rows_ && array_->null_count != 0; ++i)
        if (validity.null(i))
            fail("row " + std::to_string(i) + " of the table is null as a whole; only values may be.");
}

std::size_t Batch::n_columns() const { return arrow::n_columns(**schema_); }

Slice Batch::column(std::size_t i) const {
    const ArrowSchema& type = column_schema(**schema_, i);
    if (!is_table(**schema_)) return {&type, &*array_, 0, n_rows_};
    const ArrowArray* child = array_->children[i];
    require_array(child, 0, "");
    require(child->length >= array_->offset + array_->length, "a column is shorter than its table");
    return {&type, child, static_cast<std::size_t>(array_->offset), n_rows_};
}

Tokens listed_tokens(std::span<const Slice> columns, std::size_t first, Limit limit, bool keep_nulls) {
    std::vector<ListColumn<Strings>> lists;
    lists.reserve(columns.size());
    for (const Slice& slice : columns) {
        if (kind_of(*slice.schema) != Kind::kTokens) fail("expected lists of text");
        lists.emplace_back(slice);
    }
    if (lists.empty()) fail("expected a column of tokens");
    Gatherer gatherer(lists.size(), first);
    InterruptCheck check;
    std::vector<Lists::Range> ranges(lists.size());
    for (std::size_t n = rows_from(columns[0], first), i = 0; i < n && !gatherer.full(limit); ++i) {
        check();
        bool null = false;
        for (const auto& list : lists) null = null || list.lists.null(list.slice.first + first + i);
        for (std::size_t c = 0; c < lists.size() && !null; ++c) {
            ranges[c] = lists[c].lists.at(columns[c].first + first + i);
            if (ranges[c].size != ranges[0].size)
                refuse_lengths(gatherer.row(), columns[0], ranges[0].size, columns[c], ranges[c].size);
        }
        for (std::size_t t = 0; !null && t < ranges[0].size; ++t) {
            check();
            for (std::size_t c = 0; c < lists.size(); ++c) {
                const std::size_t place = ranges[c].begin + t;
                if (!lists[c].values.null(place)) {
                    const std::string_view text = lists[c].values.at(place);
                    gatherer.add_cell(gatherer.add_text(text), text.size());
                } else if (keep_nulls) {
                    gatherer.add_missing();
                } else {
                    fail("row " + std::to_string(gatherer.row()) + " has a null at position " + std::to_string(t) +
                         "; a row may be null, a token may not.");
                }
            }
        }
        gatherer.end_row(null);
    }
    return gatherer.finish();
}

Columns joined(const std::vector<const Columns*>& all) {
    Columns out;
    std::string text;
    for (const Columns* columns : all) {
        if (columns->n_rows() > 0 && out.n_rows() > 0 && columns->n_columns != out.n_columns)
            fail("the tokens have different numbers of columns");
        if (columns->n_rows() > 0) out.n_columns = columns->n_columns;
        if (text.size() + columns->text.size() >= std::numeric_limits<std::uint32_t>::max())
            fail("there are more than 4 GiB of text. Hand it over in parts.");
        const auto shift = static_cast<std::uint32_t>(text.size());
        const std::size_t n_before = out.starts.back();
        text.append(columns->text);
        for (const Columns::Place& cell : columns->cells) out.cells.push_back({cell.begin + shift, cell.size});
        for (std::size_t i = 0; i < columns->n_sequences(); ++i)
            out.starts.push_back(n_before + columns->starts[i + 1]);
    }
    const auto held = std::make_shared<const std::string>(std::move(text));
    out.text = *held;
    out.owner = held;
    return out;
}

Tokens cut_tokens(const Slice& column, std::size_t first, Limit limit, std::span<const std::uint8_t> classes) {
    if (kind_of(*column.schema) != Kind::kText) fail("expected text");
    if (classes.size() != kCodePoints) fail("expected a class for every character");
    const Strings strings(*column.schema, *column.array);
    Gatherer gatherer(1, first);
    Cutter cutter(classes, gatherer);
    InterruptCheck check;
    for (std::size_t n = rows_from(column, first), i = 0; i < n && !gatherer.full(limit); ++i) {
        check();
        const bool null = strings.null(column.first + first + i);
        if (!null) {
            const std::string_view text = strings.at(column.first + first + i);
            cutter.cut(text, gatherer.add_text(text));
        }
        gatherer.end_row(null);
    }
    return gatherer.finish();
}

Tokens placed_tokens(const Slice& column, std::size_t first, std::span<const std::int64_t> counts,
                     std::span<const std::int64_t> places) {
    if (kind_of(*column.schema) != Kind::kText) fail("expected text");
    if (counts.size() > rows_from(column, first)) fail("there are more counts than rows");
    const Strings strings(*column.schema, *column.array);
    Gatherer gatherer(1, first);
    InterruptCheck check;
    std::size_t next = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const bool null = strings.null(column.first + first + i);
        const std::string_view text = null ? std::string_view() : strings.at(column.first + first + i);
        const std::size_t offset = gatherer.add_text(text);
        Cursor cursor(text);
        for (std::int64_t t = 0; t < counts[i]; ++t, next += 2) {
            check();
            if (next + 2 > places.size()) fail("there are fewer places than tokens");
            const std::int64_t begin = places[next], stop = places[next + 1];
            if (begin < static_cast<std::int64_t>(cursor.character()) || stop <= begin)
                fail("row " + std::to_string(gatherer.row()) +
                     ": tokens must be in order, not empty, not overlapping.");
            while (!cursor.done() && cursor.character() < static_cast<std::size_t>(begin)) cursor.advance();
            const std::size_t at = cursor.at();
            while (!cursor.done() && cursor.character() < static_cast<std::size_t>(stop)) cursor.advance();
            if (cursor.character() != static_cast<std::size_t>(stop))
                fail("row " + std::to_string(gatherer.row()) + ": a token reaches beyond the text.");
            gatherer.add_cell(offset + at, cursor.at() - at);
            gatherer.add_place(static_cast<std::size_t>(begin), static_cast<std::size_t>(stop));
        }
        gatherer.end_row(null);
    }
    if (next != places.size()) fail("there are more places than tokens");
    return gatherer.finish();
}

std::vector<std::optional<std::string>> texts(const Slice& column, std::size_t first, Limit limit) {
    if (kind_of(*column.schema) != Kind::kText) fail("expected text");
    const Strings strings(*column.schema, *column.array);
    std::vector<std::optional<std::string>> out;
    std::size_t bytes = 0;
    for (std::size_t n = rows_from(column, first), i = 0; i < std::min(n, limit.rows) && bytes < limit.bytes; ++i) {
        out.emplace_back();
        if (strings.null(column.first + first + i)) continue;
        out.back().emplace(strings.at(column.first + first + i));
        bytes += out.back()->size();
        if (const Utf8Error error = utf8_error(*out.back()); error.reason)
            fail("row " + std::to_string(first + i) + " has text that is not UTF-8: " + error.reason + " at byte " +
                 std::to_string(error.at) + ".");
    }
    return out;
}

Integers listed_integers(const Slice& column) {
    if (kind_of(*column.schema) != Kind::kIntegers) fail("expected lists of integers");
    const ListColumn<IntegerValues> list(column);
    Integers out;
    InterruptCheck check;
    for (std::size_t i = 0; i < column.length; ++i) {
        check();
        const bool null = list.lists.null(column.first + i);
        if (null && out.valid.empty()) out.valid.assign(i, 1);
        if (null || !out.valid.empty()) out.valid.push_back(!null);
        const Lists::Range range = null ? Lists::Range{0, 0} : list.lists.at(column.first + i);
        out.lengths.push_back(static_cast<std::int64_t>(range.size));
        for (std::size_t t = 0; t < range.size; ++t) {
            const bool missing = list.values.null(range.begin + t);
            if (missing) out.missing.push_back(out.values.size());
            out.values.push_back(missing ? 0 : list.values.at(range.begin + t));
        }
    }
    return out;
}

}  // namespace tw::arrow
