#include "treebank.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "../base/interrupt.hpp"

namespace tw {

namespace {

enum Column : std::size_t { kId, kForm, kLemma, kUpos, kXpos, kFeats, kHead, kRelation };
constexpr std::size_t kColumns = 10, kWordColumns = 5;
constexpr std::int32_t kNotANumber = -2;

// A number in ASCII digits without leading zeros, as far as `text` has one, which is then taken off.
std::int32_t take_number(std::string_view& text) {
    std::int32_t number = 0;
    if (text.empty() || text[0] < '0' || text[0] > '9') return kNotANumber;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto size = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || (size > 1 && text[0] == '0')) return kNotANumber;
    text.remove_prefix(size);
    return number;
}

std::int32_t number_of(std::string_view text) {
    const std::int32_t number = take_number(text);
    return text.empty() ? number : kNotANumber;
}

bool is_range_or_empty_node(std::string_view id) {
    if (take_number(id) == kNotANumber || id.empty() || (id[0] != '-' && id[0] != '.')) return false;
    id.remove_prefix(1);
    return number_of(id) > 0;
}

class Reader {
public:
    Reader(const Columns& rows, const TreeChecks& checks) : rows_(rows), checks_(checks) {
        for (Columns* part : {&treebank_.words, &treebank_.relations}) {
            part->text = rows.text;
            part->owner = rows.owner;
            part->name = rows.name;
            part->first_line = rows.first_line;
            part->lines.reserve(rows.n_rows());
        }
        treebank_.words.n_columns = kWordColumns;
        treebank_.words.cells.reserve(rows.n_rows() * kWordColumns);
        treebank_.relations.n_columns = 1;
        treebank_.relations.cells.reserve(rows.n_rows());
        treebank_.head_cells.reserve(rows.n_rows());
        treebank_.heads.reserve(checks.heads ? rows.n_rows() : 0);
    }

    Treebank read() {
        InterruptCheck check;
        for (std::size_t i = 0; i < rows_.n_sequences(); ++i) {
            check();
            read_sentence(rows_.starts[i], rows_.starts[i + 1]);
        }
        treebank_.relations.lines = treebank_.words.lines;
        treebank_.relations.starts = treebank_.words.starts;
        return std::move(treebank_);
    }

private:
    void read_sentence(std::size_t begin, std::size_t end) {
        word_rows_.clear();
        for (std::size_t row = begin; row < end; ++row) {
            const std::string_view id = rows_.cell(row, kId);
            const std::int32_t number = number_of(id);
            if (number != static_cast<std::int32_t>(word_rows_.size() + 1)) {
                if (number == kNotANumber && is_range_or_empty_node(id)) continue;
                wrong_number(row, id, number);
            }
            add_word(row);
        }
        if (word_rows_.empty()) fail(begin, "the sentence has no words, only ranges or empty nodes. Remove its lines.");
        treebank_.words.starts.push_back(treebank_.head_cells.size());
        if (checks_.heads) read_heads();
    }

    void add_word(std::size_t row) {
        const Columns::Place* cells = rows_.cells.data() + row * kColumns;
        treebank_.words.cells.insert(treebank_.words.cells.end(), cells + kForm, cells + kForm + kWordColumns);
        treebank_.words.lines.push_back(rows_.lines[row]);
        treebank_.relations.cells.push_back(cells[kRelation]);
        treebank_.head_cells.push_back(cells[kHead]);
        word_rows_.push_back(row);
    }

    void read_heads() {
        const std::size_t first = treebank_.heads.size(), n = word_rows_.size();
        std::size_t n_roots = 0, second_root = 0, n_unknown = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t head = head_of(word_rows_[i], i + 1);
            if (rows_.cell(word_rows_[i], kRelation).empty())
                fail(word_rows_[i], "the relation is empty. Write '_' where there is none.");
            if (head == 0 && ++n_roots == 2) second_root = word_rows_[i];
            n_unknown += head == kNoHead;
            treebank_.heads.push_back(head);
        }
        if (checks_.single_root && n_roots > 1)
            fail(second_root, "a second word has the head 0. " + std::string(kOneRoot));
        const std::span<const std::int32_t> heads(treebank_.heads.data() + first, n);
        if (const std::size_t word = word_in_cycle(heads))
            fail(word_rows_[word - 1],
                 "word " + std::to_string(word) + " is in a cycle: its heads lead back to it and never to the root.");
        if (n_roots == 0 && n_unknown == 0) fail(word_rows_[0], "no word of the sentence has the head 0.");
    }

    std::int32_t head_of(std::size_t row, std::size_t word) const {
        const std::string_view cell = rows_.cell(row, kHead);
        if (cell == "_" && checks_.partial) return kNoHead;
        const std::int32_t head = number_of(cell);
        if (cell == "_")
            fail(row,
                 "the head is '_', not known. Every word needs one here; trees known in part are read with "
                 "partial=True, sentences without trees with heads=False.");
        if (head == kNotANumber)
            fail(row, "the head " + quoted(cell) + " is not a number. Write that of a word, or 0 for the root.");
        if (head > static_cast<std::int32_t>(word_rows_.size()))
            fail(row, "the head is " + std::to_string(head) + ", but the sentence has " +
                          std::to_string(word_rows_.size()) + " words.");
        if (head == static_cast<std::int32_t>(word)) fail(row, "word " + std::to_string(word) + " is its own head.");
        return head;
    }

    [[noreturn]] void wrong_number(std::size_t row, std::string_view id, std::int32_t number) const {
        if (number == kNotANumber)
            fail(row, "the number " + quoted(id) + " is none. Words have 1, 2, ...; others 1-2 or 1.1.");
        fail(row, "found word " + std::to_string(number) + " where word " + std::to_string(word_rows_.size() + 1) +
                      " was expected. A blank line ends a sentence; number words anew.");
    }

    [[noreturn]] void fail(std::size_t row, const std::string& what) const {
        throw std::invalid_argument(rows_.where(row) + ": " + what);
    }

    static constexpr const char* kOneRoot =
        "A tree has one root here; files with more are read with single_root=False.";

    const Columns& rows_;
    const TreeChecks& checks_;
    Treebank treebank_;
    std::vector<std::size_t> word_rows_;  // of the sentence
};

void append_number(std::string& text, std::int32_t number) {
    char digits[12];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
    text.append(digits, end);
}

}  // namespace

Treebank read_treebank(const Columns& rows, const TreeChecks& checks) {
    if (rows.n_rows() > 0 && rows.n_columns != kColumns)
        throw std::invalid_argument(rows.where(0) + ": expected 10 columns, found " + std::to_string(rows.n_columns) +
                                    ". Columns are parted by one tab.");
    return Reader(rows, checks).read();
}

std::string with_trees(const Treebank& treebank, std::span<const std::int32_t> heads,
                       std::span<const std::int32_t> relations, const std::vector<std::string>& names) {
    const std::string_view text = treebank.words.text;
    std::string out;
    out.reserve(text.size() + text.size() / 16);
    std::size_t done = 0;
    const auto copy_until = [&](const Columns::Place& cell) {
        out.append(text, done, cell.begin - done);
        done = cell.begin + cell.size;
    };
    for (std::size_t i = 0; i < heads.size(); ++i) {
        copy_until(treebank.head_cells[i]);
        heads[i] == kNoHead ? out.append("_") : (append_number(out, heads[i]), out);
        if (relations.empty()) continue;
        copy_until(treebank.relations.cells[i]);
        out.append(names[static_cast<std::size_t>(relations[i])]);
    }
    return out.append(text, done);
}

std::vector<std::int64_t> sentence_ends(const Treebank& treebank) {
    const std::string_view text = treebank.words.text;
    const auto behind_line = [&](std::size_t at) { return std::min(text.find('\n', at), text.size() - 1) + 1; };
    std::vector<std::int64_t> ends;
    for (std::size_t i = 1; i <= treebank.words.n_sequences(); ++i) {
        const Columns::Place& last = treebank.words.lines[treebank.words.starts[i] - 1];
        std::size_t line = behind_line(last.begin + last.size);
        for (bool blank = false; !blank && line < text.size();) {
            const std::size_t next = behind_line(line);
            blank = text.substr(line, next - line).find_first_not_of(" \t\r\n") == text.npos;
            line = next;
        }
        ends.push_back(static_cast<std::int64_t>(line));
    }
    return ends;
}

std::size_t word_in_cycle(std::span<const std::int32_t> heads) {
    // Each word is walked through once: a walk ends at the root, at a head not known, or at a word of an earlier walk.
    std::vector<std::size_t> walk(heads.size() + 1, 0);
    for (std::size_t start = 1; start <= heads.size(); ++start)
        for (std::size_t word = start; walk[word] == 0;) {
            walk[word] = start;
            if (heads[word - 1] <= 0) break;
            word = static_cast<std::size_t>(heads[word - 1]);
            if (walk[word] == start) {  // back on this walk: the cycle's lowest word
                std::size_t lowest = word;
                for (auto next = static_cast<std::size_t>(heads[word - 1]); next != word;
                     next = static_cast<std::size_t>(heads[next - 1]))
                    lowest = std::min(lowest, next);
                return lowest;
            }
        }
    return 0;
}

}  // namespace tw
