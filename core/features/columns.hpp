// Tokens as rows of text columns: the words of a corpus and what is known of each, in one block of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

struct Columns {
    struct Place {
        std::uint32_t begin, size;  // in `text`
    };
    std::string text;                    // UTF-8, checked
    std::size_t n_columns = 0;           // of every row
    std::vector<Place> cells;            // [row][column]
    std::vector<Place> lines;            // [row], the line it came from without its end; empty when made from lists
    std::vector<std::size_t> starts{0};  // rows of sequence i: starts[i] .. starts[i + 1] - 1

    std::size_t n_rows() const { return starts.back(); }
    std::size_t n_sequences() const { return starts.size() - 1; }
    std::string_view at(const Place& place) const { return std::string_view(text).substr(place.begin, place.size); }
    std::string_view cell(std::size_t row, std::size_t column) const { return at(cells[row * n_columns + column]); }
};

}  // namespace tw
