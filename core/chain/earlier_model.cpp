#include "earlier_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace tw::chain {
namespace {

void check(const AttributeView& view, std::size_t n_hashed) {
    if (view.starts.empty()) return;
    const auto require = [](bool holds) {
        if (!holds) throw std::invalid_argument("the tensors of the earlier model do not fit together");
    };
    require(view.starts.front() == 0 && std::ranges::is_sorted(view.starts));
    require(view.starts.back() == view.labels.size() && view.labels.size() == view.weights.size());
    for (const float w : view.weights) require(w >= -1e30f && w <= 1e30f);
    if (n_hashed == 0)
        require(valid({view.keys, view.slots}, view.starts.size() - 1));
    else if (view.starts.size() != n_hashed + 1 || !view.slots.empty())
        throw std::invalid_argument("the earlier model was hashed to another size");
}

}  // namespace

void check(const ModelView& model, std::size_t n_labels, std::size_t n_hashed) {
    if (model.transitions.size() != n_labels * n_labels)
        throw std::invalid_argument("the earlier model has another number of labels");
    check(model.attribute, n_hashed);
    check(model.pair, n_hashed);
}

std::vector<std::uint32_t> kinds_of_weights(const AttributeView& view, std::span<const Key> keys,
                                            std::size_t n_attributes, std::size_t n_codes) {
    std::vector<std::uint32_t> kinds(n_attributes, 0);
    std::unordered_map<std::string, std::uint32_t> known;
    std::string row;
    for (std::size_t a = 0; a < n_attributes; ++a) {
        const std::size_t number = view.find(a, keys);
        if (number == kNoAttribute) continue;
        row.clear();
        view.each(number, n_codes, [&](std::uint32_t code, float weight) {
            row.append(reinterpret_cast<const char*>(&code), sizeof code);
            row.append(reinterpret_cast<const char*>(&weight), sizeof weight);
        });
        if (!row.empty()) kinds[a] = known.try_emplace(row, static_cast<std::uint32_t>(known.size() + 1)).first->second;
    }
    return kinds;
}

}  // namespace tw::chain
