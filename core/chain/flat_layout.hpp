// Where the weights of each token lie for stochastic steps: the layout of rows with its composites taken apart, since
// weights change from one step to the next, and how far each weight moves. Shared by all working weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../kernels/training.hpp"
#include "group_runner.hpp"
#include "row_layout.hpp"
#include "training_set.hpp"

namespace tw::chain {

class FlatLayout {
public:
    static constexpr std::size_t kLists = 6;  // in which the tokens of a sequence have their places

    // `cells`: whether members() will be asked which cells of the rows are weights.
    FlatLayout(const TrainingSet& set, const RowLayout& layout, std::size_t n_jobs, bool cells = true);

    // Entries have their place in the sequence, not in the group: any few sequences can make a step.
    TokenLists token_lists() const;
    Members members() const { return {row_members_.data(), entry_members_.data(), cells_.data(), packs_}; }
    float once_members(std::size_t token) const { return once_members_[token]; }
    // What the lists of tokens begin .. end - 1 take; and that these will be read soon.
    std::size_t bytes(std::size_t begin, std::size_t end) const;
    void read_ahead(std::size_t begin, std::size_t end) const;

private:
    template <class Visit>
    void each_token(std::size_t first_group, std::size_t last_group, Visit visit) const;
    void count_groups(std::size_t first, std::size_t last);
    void list_groups(std::size_t first, std::size_t last);
    void count_members(bool cells);

    const TrainingSet& set_;
    const RowLayout& layout_;
    Stored<std::uint32_t> row_starts_, entry_starts_;  // of each token
    Stored<std::uint32_t> rows_, entries_, entry_places_;
    std::vector<float> row_members_, entry_members_;
    Stored<float> once_members_;
    std::vector<std::uint16_t> cells_;  // of rows, those that are weights
    std::size_t packs_;
};

}  // namespace tw::chain
