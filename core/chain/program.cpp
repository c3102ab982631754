#include "program.hpp"

#include "../base/semiring.hpp"
#include "../hypergraph/recursions.hpp"

namespace tw::chain {

template <class S>
std::vector<typename S::Value> values(const S& semiring, const ChainProgram& program, bool reverse) {
    constexpr hypergraph::OwnScores scores;
    return reverse ? hypergraph::outside(semiring, program, scores) : hypergraph::inside(semiring, program, scores);
}

#define TW_INSTANTIATE(S) template std::vector<S::Value> values<S>(const S&, const ChainProgram&, bool);
TW_INSTANTIATE(SumProduct)
TW_INSTANTIATE(MaxProduct)
TW_INSTANTIATE(MaxPlus)
TW_INSTANTIATE(LogSum)
TW_INSTANTIATE(KBest)

}  // namespace tw::chain
