// Templates at work: from rows of columns to attribute keys, without ever building an attribute's text.
//
// A view is a column seen through transforms (the lower-case word, its last three characters) or something that
// depends on the place in the sequence (its beginning, a match in a gazetteer). A template combines views at offsets;
// its attribute's key is a hash of the template's text and the hashes of the values, in order:
//
//     key = combine(combine(hash(text), hash(value 1)), hash(value 2)) ...
//
// A view may give nothing, for a place outside the sequence above all; then the template gives no attribute there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attributes.hpp"
#include "columns.hpp"
#include "view_table.hpp"

namespace tw {

struct Part {
    // kRelative: offset from the token. kAbsolute (Wapiti's @): 1 is the first token, -1 the last. kIndirect (Wapiti's
    // *): the offset is read as a number from the column `offset` of the token.
    enum class Mode : std::uint8_t { kRelative, kAbsolute, kIndirect };
    std::uint32_t view = 0;
    std::int32_t offset = 0;
    Mode mode = Mode::kRelative;
};

struct Template {
    // What the key's seed is made of, and names: the text, = and the values. Where it has places (\1) these stand there
    // instead, in order, as far as they are more than there or not; and one that begins with \2 has as many as it says.
    std::string text;
    std::array<bool, kTokenChannels.size()> in{true};  // channels that its attributes belong to
    std::vector<Part> parts;                           // none: the same attribute everywhere
};

// Templates that say something of the cells of one column alone: a run of `width` neighbours, seen from a token that is
// `offset` before its first cell. Whatever they say of a run is the same wherever it stands, so their weights can be
// added up once (linear/run_rows.hpp).
struct RunTemplate {
    struct Cell {
        std::uint32_t cell, view;  // place in the run; view, from the first of its column on
    };
    Key seed = 0;
    std::vector<Cell> parts{};
};
struct RunTemplates {
    struct Window {
        std::int32_t offset;
        std::vector<RunTemplate> templates{};
    };
    std::size_t group;  // the column, as ViewSet counts them
    std::size_t width;
    std::vector<Window> windows{};
};

// Sees the views of one sequence after the other while its attributes are made.
class SequenceVisitor {
public:
    virtual ~SequenceVisitor() = default;
    virtual void visit(const ViewTable& table) = 0;
};

class Extractor {
public:
    static constexpr std::int32_t kMaxOffset = 100;
    static constexpr std::size_t kMaxTemplates = 10'000, kMaxParts = 32;

    Extractor(std::vector<View> views, std::vector<Template> templates);  // checked: throws std::invalid_argument
    Extractor(const Extractor&) = delete;
    Extractor& operator=(const Extractor&) = delete;

    // The attributes of sequences first .. last - 1. The columns must have at least n_columns().
    void extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& out) const;
    // The same, but the templates about tokens that are in runs() are left to the visitor.
    void extract_rest(const Columns& columns, std::size_t first, std::size_t last, Attributes& out,
                      SequenceVisitor& visitor) const;
    // The name of the i-th attribute of a token, as `extract` orders them.
    std::string name(const Columns& columns, std::size_t sequence, std::size_t token, std::size_t i,
                     std::size_t channel) const;

    std::size_t n_columns() const { return n_columns_; }
    const ViewSet& views() const { return views_; }
    // Those of one column follow each other, the width of 1, perhaps without windows, first.
    std::span<const RunTemplates> runs() const { return runs_; }
    // Tokens and pairs, and n-grams if there are any. The first token of a sequence has no pair.
    std::span<const std::string_view> channels() const {
        return std::span(kTokenChannels).first(compiled_.back().empty() ? 2 : 3);
    }

private:
    struct Compiled {  // a template, ready to run
        Key seed = 0;
        const Template* source = nullptr;
        bool relative = true;
        std::vector<std::ptrdiff_t> places{};  // of its parts in a table of views, from the row of the token
        std::vector<std::uint32_t> numbers{};  // which of its parts are numbers
    };
    class Runner;

    void compile_templates();
    void collect_runs();
    void extract(const Columns& columns, std::size_t first, std::size_t last, Attributes& out,
                 SequenceVisitor* visitor) const;
    std::ptrdiff_t position(const Part& part, const Columns& columns, std::size_t row, std::size_t token,
                            std::size_t length) const;
    bool gives(const Columns& columns, std::size_t sequence, std::size_t token, const Template& t) const;

    ViewSet views_;
    std::vector<Template> templates_;
    std::array<std::vector<Compiled>, kTokenChannels.size()> compiled_;  // by channel
    std::vector<Compiled> rest_;                                         // of tokens, without those in runs_
    std::vector<RunTemplates> runs_;
    std::size_t n_columns_ = 0;
};

// Rows of columns, seen through templates.
class ColumnSource : public Source {
public:
    ColumnSource(std::shared_ptr<const Columns> columns, std::shared_ptr<const Extractor> extractor);
    std::size_t n_sequences() const override { return columns_->n_sequences(); }
    std::size_t length(std::size_t sequence) const override {
        return columns_->starts[sequence + 1] - columns_->starts[sequence];
    }
    std::span<const std::string_view> channels() const override { return extractor_->channels(); }
    void attributes(std::size_t first, std::size_t last, Attributes& out) const override {
        extractor_->extract(*columns_, first, last, out);
    }
    std::string name(std::size_t sequence, std::size_t token, std::size_t i, std::size_t channel) const override {
        return extractor_->name(*columns_, sequence, token, i, channel);
    }
    const Columns& columns() const { return *columns_; }
    const std::shared_ptr<const Columns>& shared_columns() const { return columns_; }
    const Extractor& extractor() const { return *extractor_; }
    const std::shared_ptr<const Extractor>& shared_extractor() const { return extractor_; }

private:
    std::shared_ptr<const Columns> columns_;
    std::shared_ptr<const Extractor> extractor_;
};

}  // namespace tw
