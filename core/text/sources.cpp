#include "sources.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "../base/interrupt.hpp"

namespace tw {

namespace {

constexpr std::size_t kTabledColumns = 1 << 16;

std::string column_name(std::size_t column) { return "x[" + std::to_string(column) + "]"; }

Key column_key(std::size_t column) {
    char text[24] = {'x', '['};
    char* end = std::to_chars(text + 2, text + sizeof(text) - 1, column).ptr;
    *end = ']';
    return hash_bytes({text, static_cast<std::size_t>(end + 1 - text)});
}

// Token starts of a block, counted from its first attribute.
void copy_starts(std::span<const std::size_t> ends, std::vector<std::uint32_t>& starts) {
    if (ends.back() - ends.front() > std::numeric_limits<std::uint32_t>::max())
        throw std::invalid_argument("more than 4294967295 attributes in one block of sequences");
    starts.resize(ends.size());
    for (std::size_t t = 0; t < ends.size(); ++t) starts[t] = static_cast<std::uint32_t>(ends[t] - ends.front());
}

template <class T>
std::string as_text(T value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return std::to_string(value);
}

}  // namespace

void AttributeSource::add(std::string_view name, float value) {
    keys_.push_back(hash_bytes(name));
    if (value != 1.0f && !valued_) {
        values_.assign(keys_.size() - 1, 1.0f);
        valued_ = true;
    }
    if (valued_) values_.push_back(value);
    if (keep_names_) {
        text_.append(name);
        name_ends_.push_back(text_.size());
    }
}

void AttributeSource::drop_token() {
    const std::size_t kept = token_ends_.back();
    keys_.resize(kept);
    if (valued_) values_.resize(kept);
    if (keep_names_) {
        name_ends_.resize(kept + 1);
        text_.resize(name_ends_.back());
    }
}

void AttributeSource::attributes(std::size_t first, std::size_t last, Attributes& out) const {
    out.resize(1);
    AttributeList& list = out.front();
    list.clear();
    const std::size_t begin = sequence_ends_[first], end = sequence_ends_[last];
    copy_starts(std::span(token_ends_).subspan(begin, end - begin + 1), list.starts);
    const auto from = static_cast<std::ptrdiff_t>(token_ends_[begin]),
               to = static_cast<std::ptrdiff_t>(token_ends_[end]);
    list.keys.assign(keys_.begin() + from, keys_.begin() + to);
    if (valued_) list.values.assign(values_.begin() + from, values_.begin() + to);
}

std::string AttributeSource::name(std::size_t sequence, std::size_t token, std::size_t i, std::size_t) const {
    if (!keep_names_) throw std::invalid_argument("the names of the attributes were not kept");
    const std::size_t place = token_ends_[sequence_ends_[sequence] + token] + i;
    return text_.substr(name_ends_[place], name_ends_[place + 1] - name_ends_[place]);
}

MatrixSource::MatrixSource(std::size_t n_rows, std::size_t n_columns, std::span<const std::int64_t> offsets) {
    if (n_columns > std::numeric_limits<std::uint32_t>::max())
        throw std::invalid_argument("a matrix may have at most 4294967295 columns");
    if (offsets.empty() || offsets.front() != 0 || offsets.back() < 0 ||
        static_cast<std::size_t>(offsets.back()) != n_rows || !std::ranges::is_sorted(offsets))
        throw std::invalid_argument("offsets must rise from 0 to the number of rows");
    offsets_.assign(offsets.begin(), offsets.end());
    row_ends_.reserve(n_rows + 1);
    keys_.reserve(std::min(n_columns, kTabledColumns));
    for (std::size_t j = 0; j < std::min(n_columns, kTabledColumns); ++j) keys_.push_back(column_key(j));
}

void MatrixSource::add(std::size_t column, double value) {
    if (!(std::abs(value) <= std::numeric_limits<float>::max())) refuse(column, value);
    const float single = static_cast<float>(value);
    if (single == 0.0f) return;
    columns_.push_back(static_cast<std::uint32_t>(column));
    values_.push_back(single);
}

void MatrixSource::refuse(std::size_t column, double value) const {
    const std::size_t row = row_ends_.size() - 1;
    const std::size_t sequence =
        static_cast<std::size_t>(std::ranges::upper_bound(offsets_, row) - offsets_.begin()) - 1;
    throw std::invalid_argument("[" + std::to_string(sequence) + "][" + std::to_string(row - offsets_[sequence]) +
                                "][" + std::to_string(column) + "] is " + as_text(value) +
                                "; expected a finite number below 3.4e38. Replace missing values before.");
}

template <class T>
MatrixSource MatrixSource::dense(std::span<const T> values, std::size_t n_columns,
                                 std::span<const std::int64_t> offsets) {
    const std::size_t n_rows = offsets.empty() || offsets.back() < 0 ? 0 : static_cast<std::size_t>(offsets.back());
    if (n_columns ? values.size() / n_columns != n_rows || values.size() % n_columns : !values.empty())
        throw std::invalid_argument("offsets must rise from 0 to the number of rows");
    MatrixSource source(n_rows, n_columns, offsets);
    InterruptCheck check;
    for (std::size_t row = 0; row < n_rows; ++row) {
        check();
        for (std::size_t j = 0; j < n_columns; ++j) source.add(j, static_cast<double>(values[row * n_columns + j]));
        source.row_ends_.push_back(source.columns_.size());
    }
    return source;
}

template <class T, class Index>
MatrixSource MatrixSource::sparse(std::span<const Index> indptr, std::span<const Index> indices,
                                  std::span<const T> values, std::size_t n_columns,
                                  std::span<const std::int64_t> offsets) {
    if (indptr.empty() || indptr.front() != 0 || !std::ranges::is_sorted(indptr) ||
        static_cast<std::size_t>(indptr.back()) > std::min(indices.size(), values.size()))
        throw std::invalid_argument("indptr must rise from 0 to at most the number of stored values");
    MatrixSource source(indptr.size() - 1, n_columns, offsets);
    InterruptCheck check;
    for (std::size_t row = 0; row + 1 < indptr.size(); ++row) {
        check();
        for (auto at = static_cast<std::size_t>(indptr[row]); at < static_cast<std::size_t>(indptr[row + 1]); ++at) {
            if (indices[at] < 0 || static_cast<std::size_t>(indices[at]) >= n_columns)
                throw std::invalid_argument("a column index of the sparse matrix is out of range");
            source.add(static_cast<std::size_t>(indices[at]), static_cast<double>(values[at]));
        }
        source.row_ends_.push_back(source.columns_.size());
    }
    return source;
}

void MatrixSource::attributes(std::size_t first, std::size_t last, Attributes& out) const {
    out.resize(1);
    AttributeList& list = out.front();
    list.clear();
    const std::size_t begin = offsets_[first], end = offsets_[last];
    copy_starts(std::span(row_ends_).subspan(begin, end - begin + 1), list.starts);
    const std::size_t from = row_ends_[begin], to = row_ends_[end];
    list.keys.resize(to - from);
    for (std::size_t at = from; at < to; ++at) {
        const std::size_t column = columns_[at];
        list.keys[at - from] = column < keys_.size() ? keys_[column] : column_key(column);
    }
    list.values.assign(values_.begin() + static_cast<std::ptrdiff_t>(from),
                       values_.begin() + static_cast<std::ptrdiff_t>(to));
}

std::string MatrixSource::name(std::size_t sequence, std::size_t token, std::size_t i, std::size_t) const {
    return column_name(columns_[row_ends_[offsets_[sequence] + token] + i]);
}

template MatrixSource MatrixSource::dense(std::span<const float>, std::size_t, std::span<const std::int64_t>);
template MatrixSource MatrixSource::dense(std::span<const double>, std::size_t, std::span<const std::int64_t>);
template MatrixSource MatrixSource::sparse(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                           std::span<const float>, std::size_t, std::span<const std::int64_t>);
template MatrixSource MatrixSource::sparse(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                           std::span<const double>, std::size_t, std::span<const std::int64_t>);
template MatrixSource MatrixSource::sparse(std::span<const std::int64_t>, std::span<const std::int64_t>,
                                           std::span<const float>, std::size_t, std::span<const std::int64_t>);
template MatrixSource MatrixSource::sparse(std::span<const std::int64_t>, std::span<const std::int64_t>,
                                           std::span<const double>, std::size_t, std::span<const std::int64_t>);

}  // namespace tw
