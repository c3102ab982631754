// A model file of CRFsuite at work: one sequence after the other is set, then asked about.
//
// Scores are in double precision, as the file has the weights, and the recursions are those of all other chains. What
// was answered about a sequence stays known until the next one is set. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "../linear/crfsuite_file.hpp"
#include "../linear/crfsuite_rows.hpp"
#include "one_chain.hpp"

namespace tw::chain {

class CrfsuiteTagger {
public:
    explicit CrfsuiteTagger(std::string_view bytes);  // a view, as CrfsuiteFile is

    const linear::CrfsuiteFile& file() const { return file_; }
    std::size_t length() const { return length_; }

    // Whether attributes are looked up by key, since so many were asked for that this pays.
    bool keyed() const { return rows_ != nullptr; }
    // Throws std::invalid_argument when a score is not finite, and keeps the sequence there was.
    void set(const linear::Items& items);
    void set(const linear::KeyedItems& items);  // only where `keyed`
    std::span<const std::int32_t> best();
    std::span<const double> marginals();                       // [length][n_labels]
    double probability(std::span<const std::int32_t> labels);  // 0 for a sequence without items

private:
    template <class Score>
    void set_scores(std::size_t length, Score score);
    void look_for_rows(std::size_t n_more);
    Potentials potentials() const;
    Sequence sequence() const { return {unary_.data(), length_}; }

    linear::CrfsuiteFile file_;
    std::unique_ptr<const linear::CrfsuiteRows> rows_;
    linear::KeyedItems keyed_;
    std::size_t n_found_ = 0;  // attributes looked up so far; none are counted once rows were tried
    bool tried_ = false;
    std::vector<double> zeros_, unary_, next_, marginals_, edges_;
    std::vector<std::uint32_t> hashes_;
    std::vector<std::int32_t> labels_;
    std::size_t length_ = 0;
    double log_z_ = 0.0;
    BestOfChain search_;
    SumsOfChain sums_;
    bool packed_best_ = false, packed_sums_ = false, found_best_ = true, found_sums_ = true;
};

}  // namespace tw::chain
