#include "column_tagger.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>

#include "../base/parallel.hpp"
#include "tagger.hpp"

namespace tw::chain {
namespace {

// Bytes that one thread takes at a time; they end where a sentence does.
constexpr std::size_t kChunkBytes = 32768;
// Tokens that are decoded at a time.
constexpr std::size_t kBlockTokens = 1024;

struct Chunk {
    std::string_view text;
    std::size_t first_line;
};

// The end of the first empty line from `from` on; the end of the data if there is none.
std::size_t after_empty_line(std::string_view data, std::size_t from) {
    for (std::size_t at = from; (at = data.find('\n', at)) != data.npos;) {
        ++at;
        if (data.substr(at, 1) == "\n") return at + 1;
        if (data.substr(at, 2) == "\r\n") return at + 2;
    }
    return data.size();
}

std::vector<Chunk> chunks(std::string_view data, std::size_t first_line) {
    std::vector<Chunk> out;
    for (std::size_t begin = 0, end; begin < data.size(); begin = end) {
        end = after_empty_line(data, std::min(data.size(), begin + kChunkBytes));
        out.push_back({data.substr(begin, end - begin), first_line});
        first_line += count_lines(out.back().text);
    }
    return out;
}

// Appends to memory that is large enough. Lines and labels are short: copied in pieces of one size, the last of which
// goes beyond their end, they need no call each.
class Writer {
public:
    static constexpr std::size_t kPiece = 16;

    explicit Writer(std::size_t capacity) : piece_{std::make_unique_for_overwrite<char[]>(capacity + kPiece), 0} {}
    void write(std::string_view text) {
        std::memcpy(at(), text.data(), text.size());
        piece_.size += text.size();
    }
    // The same where bytes up to `end` can be read.
    void write(std::string_view text, const char* end) {
        if (static_cast<std::size_t>(end - text.data()) < text.size() + kPiece) return write(text);
        for (std::size_t i = 0; i < text.size(); i += kPiece) std::memcpy(at() + i, text.data() + i, kPiece);
        piece_.size += text.size();
    }
    char* reserve(std::size_t size) {  // to be filled by the caller
        char* begin = at();
        piece_.size += size;
        return begin;
    }
    Piece finish() { return std::move(piece_); }

private:
    char* at() { return piece_.text.get() + piece_.size; }

    Piece piece_;
};

// The texts that follow lines, one for each label, with as much behind each as a Writer may read.
class Tags {
public:
    explicit Tags(const std::vector<std::string>& labels) {
        for (const std::string& label : labels) {
            begins_.push_back(text_.size());
            text_ += "\t" + label;
            longest_ = std::max(longest_, label.size() + 1);
        }
        begins_.push_back(text_.size());
        text_.append(Writer::kPiece, '\0');
    }
    std::size_t size() const { return begins_.size() - 1; }
    std::size_t longest() const { return longest_; }
    void write(std::size_t label, Writer& writer) const {
        const std::string_view text =
            std::string_view(text_).substr(begins_[label], begins_[label + 1] - begins_[label]);
        writer.write(text, text_.data() + text_.size());
    }

private:
    std::string text_;
    std::vector<std::size_t> begins_;
    std::size_t longest_ = 0;
};

// Probabilities of all labels as text, "\tA:0.250000\tB:0.750000". It has the same length for every token, so the zeros
// are copied in one go and the few probabilities that are not zero written over them.
class ProbabilityRow {
public:
    explicit ProbabilityRow(const std::vector<std::string>& labels) {
        for (const std::string& label : labels) {
            text_ += "\t" + label + ":";
            places_.push_back(text_.size());
            text_ += "0.000000";
        }
        millionths_.resize(labels.size());
        for (std::uint32_t i = 0; i < 1000; ++i) {
            const char digits[] = {static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
                                   static_cast<char>('0' + i % 10)};
            std::memcpy(thousands_ + 3 * i, digits, 3);
        }
    }
    std::size_t size() const { return text_.size(); }

    void write(const double* probabilities, char* to) {
        std::memcpy(to, text_.data(), text_.size());
        for (std::size_t i = 0; i < places_.size(); ++i)
            millionths_[i] = static_cast<std::int32_t>(probabilities[i] * 1e6 + 0.5);
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const auto value = static_cast<std::uint32_t>(millionths_[i]);
            if (value == 0) continue;
            char* digits = to + places_[i];
            if (value >= 1'000'000) {
                digits[0] = '1';
                continue;
            }
            std::memcpy(digits + 2, thousands_ + 3 * (value / 1000), 3);
            std::memcpy(digits + 5, thousands_ + 3 * (value % 1000), 3);
        }
    }

private:
    std::string text_;
    std::vector<std::size_t> places_;
    std::vector<std::int32_t> millionths_;
    char thousands_[3000];
};

// What one thread needs to tag chunk after chunk.
class ColumnTagger {
public:
    ColumnTagger(const Model& model, const std::shared_ptr<const Extractor>& extractor,
                 const std::vector<std::string>& labels, const TagOptions& options)
        : extractor_(extractor),
          options_(options),
          decoder_(model, options.beam),
          tags_(labels),
          probabilities_(labels) {}

    // Tags a chunk; sets `width` to its number of columns, 0 if it has no tokens.
    Piece tag(const Chunk& chunk, std::size_t& width) {
        ColumnsFormat format = options_.format;
        format.first_line = chunk.first_line;
        const auto columns = std::make_shared<const Columns>(parse_columns(chunk.text, format));
        width = columns->n_columns;
        const std::size_t row_size = tags_.longest() + (options_.marginals ? probabilities_.size() : 0);
        Writer writer(chunk.text.size() + columns->n_rows() * row_size);
        std::size_t done = 0;
        if (columns->n_rows() > 0) {
            const ColumnSource source(columns, extractor_);
            for (std::size_t first = 0, last; first < columns->n_sequences(); first = last) {
                last = first + 1;
                while (last < columns->n_sequences() &&
                       columns->starts[last + 1] - columns->starts[first] <= kBlockTokens)
                    ++last;
                decode(*columns, source, first, last);
                write(*columns, columns->starts[first], columns->starts[last], done, writer);
            }
        }
        writer.write(chunk.text.substr(done));
        return writer.finish();
    }

private:
    void decode(const Columns& columns, const Source& source, std::size_t first, std::size_t last) {
        const std::size_t n = columns.starts[last] - columns.starts[first];
        labels_.resize(n);
        if (options_.marginals) marginals_.resize(n * tags_.size());
        const std::size_t dead =
            decoder_.decode(source, first, last, labels_.data(), options_.marginals ? marginals_.data() : nullptr);
        if (dead != last)
            throw std::invalid_argument(columns.where(columns.starts[dead]) +
                                        ": the constraints of the model forbid every labelling of this sentence.");
    }

    void write(const Columns& columns, std::size_t first, std::size_t last, std::size_t& done, Writer& writer) {
        const std::size_t K = tags_.size();
        const char* const text_end = columns.text.data() + columns.text.size();
        for (std::size_t row = first; row < last; ++row) {
            const std::size_t end = columns.lines[row].begin + columns.lines[row].size;
            writer.write(columns.text.substr(done, end - done), text_end);
            done = end;
            tags_.write(static_cast<std::size_t>(labels_[row - first]), writer);
            if (options_.marginals)
                probabilities_.write(marginals_.data() + (row - first) * K, writer.reserve(probabilities_.size()));
        }
    }

    std::shared_ptr<const Extractor> extractor_;
    const TagOptions& options_;
    Decoder decoder_;
    Tags tags_;
    ProbabilityRow probabilities_;
    std::vector<std::int32_t> labels_;
    std::vector<double> marginals_;
};

void check_labels(const Model& model, const std::vector<std::string>& labels) {
    if (labels.size() != model.n_labels())
        throw std::invalid_argument("the model has " + std::to_string(model.n_labels()) + " labels, and " +
                                    std::to_string(labels.size()) + " names were given");
    for (const std::string& label : labels)
        if (label.find_first_of("\t\r\n") != label.npos)
            throw std::invalid_argument("the label " + quoted(label) + " cannot be written in a column");
}

}  // namespace

std::vector<Piece> tag_columns(const Model& model, const std::shared_ptr<const Extractor>& extractor,
                               std::string_view data, const std::vector<std::string>& labels,
                               const TagOptions& options) {
    check_labels(model, labels);
    const std::vector<Chunk> all = chunks(data, options.format.first_line);
    std::vector<Piece> pieces(all.size());
    std::vector<std::size_t> widths(all.size(), 0);
    std::vector<std::exception_ptr> failures(all.size());
    if (!all.empty()) model.expect(all.back().first_line - all.front().first_line);
    std::vector<ColumnTagger> taggers;
    const std::size_t n_workers = std::clamp<std::size_t>(options.n_jobs, 1, std::max<std::size_t>(1, all.size()));
    taggers.reserve(n_workers);
    for (std::size_t i = 0; i < n_workers; ++i) taggers.emplace_back(model, extractor, labels, options);
    parallel_for(all.size(), n_workers, [&](std::size_t c, std::size_t worker) {
        try {
            pieces[c] = taggers[worker].tag(all[c], widths[c]);
        } catch (const std::invalid_argument&) {
            failures[c] = std::current_exception();
        }
    });
    std::erase(widths, std::size_t{0});
    const bool ragged = std::ranges::adjacent_find(widths, std::not_equal_to{}) != widths.end();
    const auto failed = std::ranges::find_if(failures, [](const auto& failure) { return failure != nullptr; });
    if (!ragged && failed == failures.end()) return pieces;
    // What reading the whole file says first, whatever else is wrong: chunks know only their own first line's columns.
    (void)parse_columns(data, options.format);
    if (failed != failures.end()) std::rethrow_exception(*failed);
    return pieces;
}

}  // namespace tw::chain
