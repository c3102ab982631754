#include "semiring_totals.hpp"

#include "recursions.hpp"

namespace tw::lattice {

template <class S>
std::vector<typename S::Value> chain_forward(const S& semiring, const ChainGraph& graph) {
    return forward(semiring, graph);
}

template <class S>
std::vector<typename S::Value> chain_backward(const S& semiring, const ChainGraph& graph) {
    return backward(semiring, graph);
}

#define TW_INSTANTIATE(S)                                                         \
    template std::vector<S::Value> chain_forward<S>(const S&, const ChainGraph&); \
    template std::vector<S::Value> chain_backward<S>(const S&, const ChainGraph&);
TW_INSTANTIATE(SumProduct)
TW_INSTANTIATE(MaxProduct)
TW_INSTANTIATE(MaxPlus)
TW_INSTANTIATE(LogSum)
TW_INSTANTIATE(KBest)

}  // namespace tw::lattice
