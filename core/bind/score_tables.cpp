// Losses of batches of trees whose scores are padded tables, as neural networks make them.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "../structures/score_tables.hpp"
#include "arrays.hpp"

namespace tw::bind {
namespace {

template <class Real>
using Table = nb::ndarray<const Real, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
template <class Real>
using Out = nb::ndarray<Real, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

TableLayout layout_of(const std::string& trees, std::size_t n_sentences, std::size_t n_words, std::size_t n_labels) {
    using Trees = TableLayout::Trees;
    require(trees == "projective" || trees == "crossing" || trees == "brackets",
            "trees must be projective, crossing or brackets");
    return {trees == "projective" ? Trees::kProjective
            : trees == "crossing" ? Trees::kCrossing
                                  : Trees::kBrackets,
            n_sentences, n_words, n_labels};
}

std::span<const std::int64_t> lengths_of(const Indices& lengths, const TableLayout& layout) {
    require(lengths.size() == layout.n_sentences, "there must be one length for each sentence");
    const std::span<const std::int64_t> out(lengths.data(), lengths.size());
    for (const std::int64_t n : out)
        require(n >= 0 && static_cast<std::size_t>(n) <= layout.n_words, "a length is out of range");
    return out;
}

GoldTables gold_of(const std::optional<Integers>& gold, const std::optional<Integers>& labels, std::int64_t unknown,
                   const TableLayout& layout) {
    if (!gold) return {};
    const std::size_t n = layout.n_sentences, all = gold->size();
    if (layout.spans()) {
        require(n == 0 || all % (3 * n) == 0, "gold must be rows of three for each sentence");
        return {gold->data(), nullptr, n == 0 ? 0 : all / (3 * n), unknown};
    }
    require(all == n * layout.n_words, "gold must have one head for each word");
    require(!labels || labels->size() == all, "gold must have one label for each word");
    require(labels || layout.n_labels == 1, "gold must have labels");
    return {gold->data(), labels ? labels->data() : nullptr, 0, unknown};
}

template <class Real>
void losses(const DerivationStructure& structure, const std::string& trees, const Table<Real>& scores,
            const Indices& lengths, const std::optional<Integers>& gold, const std::optional<Integers>& labels,
            std::int64_t unknown, bool best, double cost, std::size_t n_jobs, const Out<Real>& values,
            const std::optional<Out<Real>>& gradient) {
    require(scores.shape(2) > 0, "scores must have a column for the root");
    const TableLayout layout = layout_of(trees, scores.shape(0), scores.shape(2) - 1, scores.shape(3));
    require(scores.shape(1) == layout.n_rows(), "scores have the wrong shape");
    require(values.size() == layout.n_sentences && (!gradient || gradient->size() == layout.size()),
            "the output array has the wrong size");
    const auto sizes = lengths_of(lengths, layout);
    const GoldTables right = gold_of(gold, labels, unknown, layout);
    const Unlocked unlocked;
    table_losses<Real>(structure, layout, scores.data(), sizes, right, {best, cost}, n_jobs, values.data(),
                       gradient ? gradient->data() : nullptr);
}

template <class Real>
void define_losses(nb::module_& m) {
    m.def("table_losses", &losses<Real>, nb::arg("structure"), nb::arg("trees"), nb::arg("scores").noconvert(),
          nb::arg("lengths"), nb::arg("gold").none(), nb::arg("labels").none(), nb::arg("unknown"), nb::arg("best"),
          nb::arg("cost"), nb::arg("n_jobs"), nb::arg("values").noconvert(), nb::arg("gradient").none().noconvert(),
          "Fill in the loss of each sentence of a padded table and its derivatives; see "
          "core/structures/score_tables.hpp.");
}

}  // namespace

void bind_score_tables(nb::module_& m) {
    define_losses<float>(m);
    define_losses<double>(m);
    m.def(
        "check_table_gold",
        [](const DerivationStructure& structure, const std::string& trees, std::size_t n_words, std::size_t n_labels,
           const Indices& lengths, const Integers& gold, const std::optional<Integers>& labels, std::int64_t unknown) {
            const TableLayout layout = layout_of(trees, lengths.size(), n_words, n_labels);
            const auto sizes = lengths_of(lengths, layout);
            const GoldTables right = gold_of(gold, labels, unknown, layout);
            const Unlocked unlocked;
            check_table_gold(structure, layout, sizes, right);
        },
        nb::arg("structure"), nb::arg("trees"), nb::arg("n_words"), nb::arg("n_labels"), nb::arg("lengths"),
        nb::arg("gold"), nb::arg("labels").none(), nb::arg("unknown"),
        "Refuse gold that is no tree of this kind, and say which.");
}

}  // namespace tw::bind
