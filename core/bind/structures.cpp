// Order-M chains and segmentations. Each call builds its graph (a view) and asks one question.
#include "../lattice/questions.hpp"
#include "arrays.hpp"

namespace tw::bind {
namespace {

using lattice::NGramGraph;
using lattice::SegmentGraph;

class NGramChain {
public:
    NGramChain(Matrix unary, Scores ngram) : unary_(std::move(unary)), ngram_(std::move(ngram)) {
        const std::size_t K = unary_.shape(1), T = unary_.shape(0);
        require(K >= 1 && T >= 1, "there must be at least one position and one label");
        require(ngram_.ndim() >= 2, "ngram needs at least two dimensions");
        double nodes = static_cast<double>(T);
        for (std::size_t d = 0; d < ngram_.ndim(); ++d) {
            require(ngram_.shape(d) == K, "every dimension of ngram must be the number of labels");
            if (d > 0) nodes *= static_cast<double>(K);
        }
        require(nodes < 4e9, "too many positions times label histories: at most 4e9");
        require_scores(unary_, "unary holds a NaN, +inf or a value beyond 1e300");
        require_scores(ngram_, "ngram holds a NaN, +inf or a value beyond 1e300");
    }
    NGramGraph graph() const {
        return NGramGraph({unary_.data(), unary_.size()}, unary_.shape(1), {ngram_.data(), ngram_.size()},
                          ngram_.ndim() - 1);
    }

private:
    Matrix unary_;
    Scores ngram_;
};

class SegmentChain {
public:
    SegmentChain(Cube segments, Matrix transitions, Vector start, Vector end)
        : segments_(std::move(segments)),
          transitions_(std::move(transitions)),
          start_(std::move(start)),
          end_(std::move(end)) {
        const std::size_t K = segments_.shape(2);
        require(segments_.shape(0) >= 1 && segments_.shape(1) >= 1 && K >= 1, "segment_scores must not be empty");
        require(transitions_.shape(0) == K && transitions_.shape(1) == K && start_.size() == K && end_.size() == K,
                "transitions must have shape (K, K), start and end (K,)");
        require(static_cast<double>(segments_.shape(0)) * static_cast<double>(K) < 2e9,
                "too many positions times labels");
        require_scores(segments_, "segment_scores hold a NaN, +inf or a value beyond 1e300");
        require_scores(transitions_, "transitions hold a NaN, +inf or a value beyond 1e300");
        require_scores(start_, "start holds a NaN, +inf or a value beyond 1e300");
        require_scores(end_, "end holds a NaN, +inf or a value beyond 1e300");
    }
    SegmentGraph graph() const {
        return SegmentGraph({segments_.data(), segments_.size()}, segments_.shape(0), segments_.shape(1),
                            {transitions_.data(), transitions_.size()}, {start_.data(), start_.size()},
                            {end_.data(), end_.size()});
    }

private:
    Cube segments_;
    Matrix transitions_;
    Vector start_, end_;
};

std::vector<std::int32_t> decode(const NGramGraph& graph, const std::vector<std::size_t>& path) {
    std::vector<std::int32_t> labels;
    const std::size_t length = graph.n_positions(), last = path.size() - 1;
    const std::size_t sourced = path[last] == 0 ? 1 : 0;  // sampled paths stop before the source
    for (std::size_t t = 0; t < length; ++t)
        labels.push_back(static_cast<std::int32_t>(graph.label(t, path[last - sourced - t])));
    return labels;
}

std::vector<std::int32_t> decode(const SegmentGraph& graph, const std::vector<std::size_t>& path) {
    std::vector<std::int32_t> segments;  // rows (start, stop, label)
    for (std::size_t i = path.size(); i-- > 0;) {
        const std::size_t v = path[i];
        if (v == 0 || v == graph.n_nodes() - 1 || graph.is_closed(v)) continue;
        segments.push_back(static_cast<std::int32_t>(graph.boundary(v)));
        segments.push_back(static_cast<std::int32_t>(graph.boundary(path[i - 1])));
        segments.push_back(static_cast<std::int32_t>(graph.label(v)));
    }
    return segments;
}

template <class Structure>
nb::list kbest(const Structure& self, std::size_t k, bool astar) {
    require(k >= 1, "k must be at least 1");
    std::vector<std::pair<std::vector<std::int32_t>, double>> found;
    {
        const Unlocked unlocked;
        const auto graph = self.graph();
        for (const lattice::ScoredPath& path : lattice::kbest_paths(graph, k, astar))
            found.emplace_back(decode(graph, path.nodes), path.score);
    }
    nb::list out;
    for (auto& [labels, score] : found) {
        const std::size_t n = labels.size();
        out.append(nb::make_tuple(to_numpy(labels, {n}), score));
    }
    return out;
}

template <class Structure>
nb::list sample(const Structure& self, std::size_t n, Vector uniforms) {
    std::vector<std::vector<std::int32_t>> drawn;
    {
        const Unlocked unlocked;
        const auto graph = self.graph();
        for (const auto& path : lattice::sample_paths(graph, n, {uniforms.data(), uniforms.size()}))
            drawn.push_back(decode(graph, path));
    }
    nb::list out;
    for (auto& labels : drawn) {
        const std::size_t size = labels.size();
        out.append(to_numpy(labels, {size}));
    }
    return out;
}

template <class Structure, class Answer>
auto unlocked(const Structure& self, Answer answer) {
    const Unlocked released;
    return answer(self.graph());
}

template <class Structure, class Class>
void bind_common(Class& bound) {
    bound
        .def("log_partition",
             [](const Structure& self) {
                 return unlocked(self, [](const auto& g) { return lattice::log_partition(g); });
             })
        .def("entropy",
             [](const Structure& self) {
                 return unlocked(self, [](const auto& g) { return lattice::path_entropy(g); });
             })
        .def("first_dead_end",
             [](const Structure& self) {
                 return unlocked(self, [](const auto& g) { return lattice::first_dead_end(g); });
             })
        .def("max_marginals",
             [](const Structure& self, Output out) {
                 const auto graph = self.graph();
                 require_size(out, graph.n_positions() * graph.n_labels());
                 const Unlocked released;
                 lattice::max_marginals(graph, out.data());
             })
        .def("kbest", kbest<Structure>, nb::arg("k"), nb::arg("astar"))
        .def("sample", sample<Structure>, nb::arg("n"), nb::arg("uniforms"));
}

void zero(Output& out) { std::fill_n(out.data(), out.size(), 0.0); }

}  // namespace

void bind_structures(nb::module_& m) {
    nb::class_<NGramChain> ngram(m, "NGramChain");
    ngram.def(nb::init<Matrix, Scores>(), nb::arg("unary"), nb::arg("ngram"))
        .def("marginals", [](const NGramChain& self, Output unary, Output edges, Output ngrams) {
            const auto g = self.graph();
            const std::size_t T = g.n_positions(), K = g.n_labels(), M = g.order();
            require_size(unary, T * K);
            require_size(edges, (T - 1) * K * K);
            require_size(ngrams, T > M ? (T - M) * g.n_states(T - 1) * K : 0);
            zero(unary), zero(edges), zero(ngrams);
            const Unlocked released;
            lattice::marginals(g, unary.data(), edges.data(), ngrams.data());
        });
    bind_common<NGramChain>(ngram);

    nb::class_<SegmentChain> segments(m, "SegmentChain");
    segments
        .def(nb::init<Cube, Matrix, Vector, Vector>(), nb::arg("segment_scores"), nb::arg("transitions"),
             nb::arg("start"), nb::arg("end"))
        .def("marginals", [](const SegmentChain& self, Output unary, Output boundaries, Output segment_marginals) {
            const auto g = self.graph();
            const std::size_t T = g.n_positions(), K = g.n_labels();
            require_size(unary, T * K);
            require_size(boundaries, (T - 1) * K * K);
            require_size(segment_marginals, T * g.longest() * K);
            zero(unary), zero(boundaries), zero(segment_marginals);
            const Unlocked released;
            lattice::marginals(g, unary.data(), boundaries.data(), segment_marginals.data());
        });
    bind_common<SegmentChain>(segments);
}

}  // namespace tw::bind
