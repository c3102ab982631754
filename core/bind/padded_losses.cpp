// Losses of padded chains with their gradients, bound for both precisions.
#include "../chain/padded_losses.hpp"

#include <optional>

#include "arrays.hpp"

namespace tw::bind {
namespace {

template <class Real>
using Given = nb::ndarray<const Real, nb::c_contig, nb::device::cpu>;
template <class Real>
using Made = nb::ndarray<Real, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Gold = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

const char* name_of(chain::Problem problem) {
    switch (problem) {
        case chain::Problem::kUnary:
            return "unary";
        case chain::Problem::kTransition:
            return "transitions";
        case chain::Problem::kStart:
            return "start";
        case chain::Problem::kEnd:
            return "end";
        case chain::Problem::kLabel:
            return "label";
        case chain::Problem::kForbiddenGold:
            return "gold";
        case chain::Problem::kImpossible:
            return "impossible";
        case chain::Problem::kNone:
            break;
    }
    return "";
}

template <class Real>
nb::tuple padded_losses(const Given<Real>& unary, const Given<Real>& transitions, const Given<Real>& start,
                        const Given<Real>& end, const std::optional<Mask>& mask, const std::optional<Gold>& gold,
                        double cost, bool best, std::size_t n_jobs, const Output& losses,
                        const std::optional<Vector>& weights, const std::optional<Made<Real>>& d_unary,
                        const std::optional<Made<Real>>& d_transitions, const std::optional<Made<Real>>& d_start,
                        const std::optional<Made<Real>>& d_end) {
    require(unary.ndim() == 3, "unary must have shape (B, T, K)");
    const std::size_t B = unary.shape(0), T = unary.shape(1), K = unary.shape(2);
    require(K >= 1, "there must be at least one label");
    require(T <= (std::size_t{1} << 31) / K, "too many positions times labels: at most 2^31");
    require(transitions.size() == K * K && start.size() == K && end.size() == K,
            "transitions, start or end do not fit");
    require(!mask || (mask->shape(0) == B && mask->shape(1) == T), "the mask does not fit");
    require(!gold || (gold->shape(0) == B && gold->shape(1) == T), "gold does not fit");
    require(gold || cost == 0.0, "a cost needs gold");
    require_size(losses, B);
    chain::LossGradient<Real> gradient{};
    if (weights) {
        require(weights->size() == B && d_unary && d_unary->size() == B * T * K && d_transitions &&
                    d_transitions->size() == K * K && d_start && d_start->size() == K && d_end && d_end->size() == K,
                "weights or gradients do not fit");
        gradient = {weights->data(), d_unary->data(), d_transitions->data(), d_start->data(), d_end->data()};
    }
    const chain::PaddedScores<Real> scores{B,
                                           T,
                                           K,
                                           unary.data(),
                                           mask ? mask->data() : nullptr,
                                           transitions.data(),
                                           start.data(),
                                           end.data(),
                                           gold ? gold->data() : nullptr,
                                           cost,
                                           best,
                                           n_jobs < 1 ? 1 : n_jobs};
    chain::FoundProblem found;
    {
        const Unlocked unlocked;
        found = chain::padded_losses(scores, losses.data(), gradient);
    }
    return nb::make_tuple(name_of(found.what), found.sequence, found.position, found.label);
}

template <class Real>
void bind_precision(nb::module_& m) {
    m.def("padded_losses", padded_losses<Real>, nb::arg("unary").noconvert(), nb::arg("transitions").noconvert(),
          nb::arg("start").noconvert(), nb::arg("end").noconvert(), nb::arg("mask").none(), nb::arg("gold").none(),
          nb::arg("cost"), nb::arg("best"), nb::arg("n_jobs"), nb::arg("losses").noconvert(), nb::arg("weights").none(),
          nb::arg("d_unary").none(), nb::arg("d_transitions").none(), nb::arg("d_start").none(),
          nb::arg("d_end").none(),
          "Losses of chains and, with weights, the gradient of their weighted sum; returns what is wrong and where.");
}

}  // namespace

void bind_padded_losses(nb::module_& m) {
    bind_precision<float>(m);
    bind_precision<double>(m);
}

}  // namespace tw::bind
