// Forward and backward vectors of a chain over any semiring: the named ones in the core, the user's own through Python.
#include "../base/semiring.hpp"
#include "../chain/program.hpp"
#include "../hypergraph/recursions.hpp"
#include "chain.hpp"

namespace tw::bind {
namespace {

using chain::ChainProgram;

ChainProgram only_chain(const ChainBatch& self) {
    require(self.size() == 1 && self.n_rows() > 0, "one chain with at least one position is needed");
    return ChainProgram(self.batch().potentials, self.batch().sequences[0]);
}

// A semiring whose operations are Python callables. Slow by nature, and the same recursion as all others.
struct PythonSemiring {
    using Value = nb::object;
    nb::callable add, multiply, lift_score;
    nb::object nothing, unit;
    const ChainProgram* program;

    Value zero() const { return nothing; }
    Value one() const { return unit; }
    Value plus(const Value& a, const Value& b) const { return add(a, b); }
    Value times(const Value& a, const Value& b) const { return multiply(a, b); }
    Value sum(std::span<const Value> values) const {
        Value total = nothing;
        for (const Value& v : values) total = add(total, v);
        return total;
    }
    Value lift(double score, std::size_t u, std::size_t v) const {
        const bool first = u == hypergraph::kNoNode, last = v == program->n_nodes() - 1;
        const std::size_t position = last ? program->n_positions() : program->position(v);
        const std::int64_t previous = first ? -1 : static_cast<std::int64_t>(program->label(u));
        const std::int64_t label = last ? -1 : static_cast<std::int64_t>(program->label(v));
        return lift_score(score, position, previous, label);
    }
};

nb::list python_vectors(const ChainBatch& self, nb::callable plus, nb::callable times, nb::object zero, nb::object one,
                        nb::callable lift, bool reverse) {
    const ChainProgram program = only_chain(self);
    const PythonSemiring semiring{plus, times, lift, zero, one, &program};
    constexpr hypergraph::OwnScores scores;
    const std::vector<nb::object> values =
        reverse ? hypergraph::outside(semiring, program, scores) : hypergraph::inside(semiring, program, scores);
    nb::list out;
    for (const nb::object& value : values) out.append(value);
    return out;
}

template <class S>
std::vector<typename S::Value> vectors(const S& semiring, const ChainBatch& self, bool reverse) {
    const Unlocked unlocked;
    const ChainProgram program = only_chain(self);
    return chain::values(semiring, program, reverse);
}

nb::ndarray<nb::numpy, double> scalar_vectors(const ChainBatch& self, const std::string& name, bool reverse) {
    std::vector<double> values;
    if (name == "sum-product")
        values = vectors(SumProduct{}, self, reverse);
    else if (name == "max-product")
        values = vectors(MaxProduct{}, self, reverse);
    else if (name == "max-plus")
        values = vectors(MaxPlus{}, self, reverse);
    else if (name == "log")
        values = vectors(LogSum{}, self, reverse);
    else
        throw std::invalid_argument("unknown semiring: " + name);
    const std::size_t size = values.size();
    return to_numpy(values, {size});
}

std::vector<std::vector<double>> kbest_vectors(const ChainBatch& self, std::size_t k, bool reverse) {
    require(k >= 1, "k must be at least 1");
    return vectors(KBest{k}, self, reverse);
}

}  // namespace

void bind_semirings(nb::module_& m) {
    m.def("scalar_vectors", scalar_vectors, nb::arg("chain"), nb::arg("semiring"), nb::arg("reverse"));
    m.def("kbest_vectors", kbest_vectors, nb::arg("chain"), nb::arg("k"), nb::arg("reverse"));
    m.def("python_vectors", python_vectors, nb::arg("chain"), nb::arg("plus"), nb::arg("times"), nb::arg("zero").none(),
          nb::arg("one").none(), nb::arg("lift"), nb::arg("reverse"));
}

}  // namespace tw::bind
