// Attributes that a caller made up: named ones (strings, as CRFsuite's users write them) and columns of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attributes.hpp"

namespace tw {

// Sequences of tokens with named attributes; the key of an attribute is the hash of its name.
//
// Filled from front to back (add ... end_token ... end_sequence), then immutable. Names are kept only when asked for:
// training needs them once, tagging never does.
class AttributeSource final : public Source {
public:
    explicit AttributeSource(bool keep_names, std::string channel = std::string(kTokenChannel))
        : keep_names_(keep_names), channel_(std::move(channel)), named_(channel_) {}
    AttributeSource(const AttributeSource&) = delete;
    AttributeSource& operator=(const AttributeSource&) = delete;

    void add(std::string_view name, float value);
    void drop_token();  // forgets what was added since the last end_token
    void end_token() { token_ends_.push_back(keys_.size()); }
    void end_sequence() { sequence_ends_.push_back(token_ends_.size() - 1); }

    std::size_t n_sequences() const override { return sequence_ends_.size() - 1; }
    std::size_t length(std::size_t sequence) const override {
        return sequence_ends_[sequence + 1] - sequence_ends_[sequence];
    }
    std::span<const std::string_view> channels() const override { return {&named_, 1}; }
    void attributes(std::size_t first, std::size_t last, Attributes& out) const override;
    std::string name(std::size_t sequence, std::size_t token, std::size_t i, std::size_t channel) const override;

private:
    bool keep_names_, valued_ = false;
    std::string channel_;
    std::string_view named_;
    std::vector<std::size_t> sequence_ends_{0};  // in tokens
    std::vector<std::size_t> token_ends_{0};     // in keys
    std::vector<Key> keys_;
    std::vector<float> values_;  // one per key, or, unless valued_, none: all are 1
    std::string text_;           // the names, one after the other
    std::vector<std::size_t> name_ends_{0};
};

// Rows of a matrix: column j is the attribute "x[j]", and where a row has a zero it has no attribute.
class MatrixSource final : public Source {
public:
    // offsets: sequence i has the rows offsets[i] .. offsets[i + 1] - 1. All is checked here.
    template <class T>
    static MatrixSource dense(std::span<const T> values, std::size_t n_columns, std::span<const std::int64_t> offsets);
    // Rows as SciPy's CSR has them: row r has indices[indptr[r]] .. indices[indptr[r + 1] - 1].
    template <class T, class Index>
    static MatrixSource sparse(std::span<const Index> indptr, std::span<const Index> indices, std::span<const T> values,
                               std::size_t n_columns, std::span<const std::int64_t> offsets);

    std::size_t n_sequences() const override { return offsets_.size() - 1; }
    std::size_t length(std::size_t sequence) const override { return offsets_[sequence + 1] - offsets_[sequence]; }
    std::span<const std::string_view> channels() const override { return {&named_, 1}; }
    // Lets the columns feed another channel than that of tokens, before anybody asks; afterwards it is not to be moved.
    void name_channel(std::string name) {
        channel_ = std::move(name);
        named_ = channel_;
    }
    void attributes(std::size_t first, std::size_t last, Attributes& out) const override;
    std::string name(std::size_t sequence, std::size_t token, std::size_t i, std::size_t channel) const override;

private:
    MatrixSource(std::size_t n_rows, std::size_t n_columns, std::span<const std::int64_t> offsets);
    void add(std::size_t column, double value);
    [[noreturn]] void refuse(std::size_t column, double value) const;

    std::string channel_;
    std::string_view named_ = kTokenChannel;
    std::vector<std::size_t> offsets_;
    std::vector<std::size_t> row_ends_{0};
    std::vector<std::uint32_t> columns_;
    std::vector<float> values_;
    std::vector<Key> keys_;  // of the first columns; those of the others are made when asked for
};

}  // namespace tw
