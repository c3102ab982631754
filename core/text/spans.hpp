// Templates about spans at work: attributes of every run of at most `longest` tokens.
//
//     site    begin * longest + (size - 1), as in structures/segments.cpp; a run that would end behind the sequence has
//             no attributes. With `longest` 0 all runs have sites, and only these, as in structures/bracketing.cpp:
//             those from the first token on, the shortest first, then those from the second, and so on
//     key     combine(combine(hash(text), value 1), value 2) ..., as for tokens. The value of a token at an end of the
//             span is the key of its view, that of a size the hash of its text; that of all tokens together is
//
//                 combine(combine(view of the first, view of the second), view of the third) ...
//
//             so a span's is made from that of the span that is one token shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attributes.hpp"
#include "columns.hpp"
#include "view_table.hpp"

namespace tw {

struct SpanPart {
    enum class Kind : std::uint8_t {
        kFirst,    // the view at the first token and `offset` behind it, if that is in the span
        kLast,     // at the last token and -`offset` before it, if that is in the span
        kBefore,   // at the token before the span, or -`offset` before that
        kAfter,    // at the token after the span, or `offset` behind that
        kWhole,    // at all tokens, one after the other; of entries of a gazetteer: whether the span is one
        kOutline,  // likewise, runs of equal values cut to `offset`
        kSize,     // how many tokens, or in which bin that is
    };
    Kind kind = Kind::kFirst;
    std::uint32_t view = 0;
    std::int32_t offset = 0;
    std::vector<std::uint32_t> bins{};  // where the bins of sizes begin, rising; none: each size is one
};

struct SpanTemplate {
    std::string text;             // what names begin with and the key's seed is made of
    std::vector<SpanPart> parts;  // none: the same attribute everywhere
};

class SpanExtractor {
public:
    static constexpr std::int32_t kMaxOffset = 100;
    static constexpr std::size_t kMaxTemplates = 10'000, kMaxParts = 32, kMaxSize = 1'000'000;

    SpanExtractor(std::vector<View> views, std::vector<SpanTemplate> templates);  // throws std::invalid_argument
    SpanExtractor(const SpanExtractor&) = delete;
    SpanExtractor& operator=(const SpanExtractor&) = delete;

    // The attributes of all sites of sequences first .. last - 1; `longest` 0: of all runs. The columns must have at
    // least n_columns().
    void extract(const Columns& columns, std::size_t first, std::size_t last, std::size_t longest,
                 AttributeList& out) const;
    // The name of the i-th attribute of a span, as `extract` orders them.
    std::string name(const Columns& columns, std::size_t sequence, std::size_t begin, std::size_t size,
                     std::size_t i) const;

    std::size_t n_columns() const { return views_.n_columns(); }
    std::size_t n_templates() const { return templates_.size(); }

private:
    struct Sequence {  // values that all tokens of a span have together
        std::uint32_t view;
        std::uint32_t longest_run;  // 0: any
        bool operator==(const Sequence&) const = default;
    };
    struct Place {  // where the keys of a part are, for one span after the other that begins at the same token
        enum class In : std::uint8_t { kFromBegin, kFromEnd, kSizes, kSequences };
        In in;
        std::size_t at;        // the view, or the number of the sizes or of the sequence
        std::ptrdiff_t shift;  // of the token that is looked at
    };
    struct Compiled {  // a template, ready to run
        Key seed = 0;
        std::size_t least = 1;  // size of the spans that have it
        std::vector<Place> places{};
    };
    struct Span {
        const Columns& columns;
        std::size_t sequence, begin, size;
    };
    class Runner;

    Place place_of(const SpanPart& part);
    bool gives(const Span& span, const SpanPart& part) const;
    std::pair<std::ptrdiff_t, std::ptrdiff_t> tokens_of(const Span& span, const SpanPart& part) const;
    std::optional<std::string> value(const Span& span, const SpanPart& part) const;

    ViewSet views_;
    std::vector<SpanTemplate> templates_;
    std::vector<Compiled> compiled_;
    std::vector<Sequence> sequences_;                // those of all templates, each once
    std::vector<std::vector<std::uint32_t>> sizes_;  // their bins, likewise
};

// The spans of rows of columns, seen through templates.
class SpanSource : public Source {
public:
    SpanSource(std::shared_ptr<const Columns> columns, std::shared_ptr<const SpanExtractor> extractor,
               std::size_t longest);
    std::size_t n_sequences() const override { return columns_->n_sequences(); }
    std::size_t length(std::size_t sequence) const override {
        const std::size_t n = columns_->starts[sequence + 1] - columns_->starts[sequence];
        return longest_ > 0 ? n * longest_ : n * (n + 1) / 2;
    }
    std::span<const std::string_view> channels() const override { return {&kSpanChannel, 1}; }
    void attributes(std::size_t first, std::size_t last, Attributes& out) const override;
    std::string name(std::size_t sequence, std::size_t site, std::size_t i, std::size_t channel) const override;
    std::size_t longest() const { return longest_; }  // 0: any

private:
    std::shared_ptr<const Columns> columns_;
    std::shared_ptr<const SpanExtractor> extractor_;
    std::size_t longest_;
};

}  // namespace tw
