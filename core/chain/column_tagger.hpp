// From a file of columns to the same file with one more: raw bytes in, bytes out, in parallel.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../linear/model.hpp"
#include "../text/columns.hpp"
#include "../text/extractor.hpp"
#include "batch.hpp"

namespace tw::chain {

struct TagOptions {
    ColumnsFormat format;
    std::size_t beam = kExact;
    bool marginals = false;  // after the label, the probability of every label, as "label:0.123456"
    std::size_t n_jobs = 1;
};

// A part of the answer; the whole is all of them, one after the other.
struct Piece {
    std::unique_ptr<char[]> text;
    std::size_t size = 0;
};

// Every line of `data` as it is, blank lines, comments and line ends included; those that are tokens get a tab and
// their best label. Throws std::invalid_argument that names the line of what is wrong.
std::vector<Piece> tag_columns(const Model& model, const std::shared_ptr<const Extractor>& extractor,
                               std::string_view data, const std::vector<std::string>& labels,
                               const TagOptions& options);

}  // namespace tw::chain
