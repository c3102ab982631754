#include "chain.hpp"

#include <memory>

namespace tw::bind {

ChainBatch::ChainBatch(Matrix unary, Indices starts, Indices lengths, Scores transitions, Vector start, Vector end,
                       std::size_t n_jobs)
    : unary_(std::move(unary)), transitions_(std::move(transitions)), start_(std::move(start)), end_(std::move(end)) {
    const std::size_t K = unary_.shape(1), rows = unary_.shape(0);
    require(K >= 1, "there must be at least one label");
    require(starts.size() == lengths.size(), "starts and lengths must have the same size");
    require(start_.size() == K && end_.size() == K, "start and end need one score per label");
    const std::size_t d = transitions_.ndim();
    require((d == 2 || d == 3) && transitions_.shape(d - 1) == K && transitions_.shape(d - 2) == K,
            "transitions must have shape (K, K) or (T - 1, K, K)");
    require_scores(unary_, "unary holds a NaN, +inf or a value beyond 1e300");
    require_scores(transitions_, "transitions hold a NaN, +inf or a value beyond 1e300");
    require_scores(start_, "start holds a NaN, +inf or a value beyond 1e300");
    require_scores(end_, "end holds a NaN, +inf or a value beyond 1e300");
    batch_.potentials = {K, transitions_.data(), d == 3, start_.data(), end_.data()};
    batch_.n_jobs = n_jobs < 1 ? 1 : n_jobs;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::int64_t from = starts.data()[i], length = lengths.data()[i];
        require(from >= 0 && length >= 0 && static_cast<std::size_t>(from) <= rows &&
                    static_cast<std::size_t>(length) <= rows - static_cast<std::size_t>(from),
                "a sequence lies outside the unary scores");
        require(d == 2 || transitions_.shape(0) + 1 == static_cast<std::size_t>(length) ||
                    (length == 0 && transitions_.shape(0) == 0),
                "transitions per step need T - 1 matrices");
        const auto n = static_cast<std::size_t>(length);
        require(n == 0 || K <= (std::size_t{1} << 31) / n, "too many positions times labels: at most 2^31");
        batch_.sequences.push_back({unary_.data() + static_cast<std::size_t>(from) * K, n});
        n_rows_ += n;
        n_edges_ += n > 0 ? n - 1 : 0;
    }
}

std::vector<double*> ChainBatch::edges(double* flat) const {
    std::vector<double*> out;
    for (const Sequence& s : batch_.sequences) {
        out.push_back(flat);
        if (s.length > 0) flat += (s.length - 1) * n_labels() * n_labels();
    }
    return out;
}

std::vector<const std::int32_t*> ChainBatch::labels(const Labels& flat) const {
    require(flat.size() == n_rows_, "labels must have one entry per position");
    for (std::size_t i = 0; i < flat.size(); ++i)
        require(flat.data()[i] >= 0 && static_cast<std::size_t>(flat.data()[i]) < n_labels(),
                "a label is out of range");
    return rows(flat.data(), 1);
}

std::pair<std::vector<std::size_t>, std::vector<chain::Span>> ChainBatch::spans(const Indices& counts,
                                                                                const Indices& begins,
                                                                                const Indices& sizes,
                                                                                const Flags& allowed) const {
    require(counts.size() == size(), "one number of spans per chain is needed");
    require(begins.size() == sizes.size(), "every span needs a begin and a size");
    require(allowed.shape(1) == n_labels(), "allowed labels must have one column per label");
    std::vector<std::size_t> starts{0};
    std::vector<chain::Span> out;
    std::size_t rows = 0;
    for (std::size_t i = 0; i < size(); ++i) {
        const std::int64_t count = counts.data()[i], left = static_cast<std::int64_t>(begins.size() - out.size());
        require(count >= 0 && count <= left, "there are fewer spans than the chains need");
        const auto length = static_cast<std::int64_t>(batch_.sequences[i].length);
        for (std::int64_t j = 0; j < count; ++j) {
            const std::int64_t begin = begins.data()[out.size()], n = sizes.data()[out.size()];
            require(begin >= 0 && n >= 0 && begin <= length && n <= length - begin, "a span lies outside its chain");
            require(rows + static_cast<std::size_t>(n) <= allowed.shape(0), "too few rows of allowed labels");
            out.push_back(
                {static_cast<std::size_t>(begin), static_cast<std::size_t>(n), allowed.data() + rows * n_labels()});
            rows += static_cast<std::size_t>(n);
        }
        starts.push_back(out.size());
    }
    require(out.size() == begins.size(), "there are more spans than the chains need");
    require(rows == allowed.shape(0), "allowed labels must have one row per position");
    return {std::move(starts), std::move(out)};
}

namespace {

// One question whose answer fills one array: the pointers are made first, then the lock is released.
template <class Question>
void answer(Question question) {
    const Unlocked unlocked;
    question();
}

nb::list kbest(const ChainBatch& self, std::size_t k, bool astar) {
    require(k >= 1, "k must be at least 1");
    std::vector<chain::KBestResult> results;
    answer([&] {
        results = chain::kbest(self.batch(), k, astar ? chain::KBestMethod::kAstar : chain::KBestMethod::kViterbi);
    });
    nb::list out;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::size_t n = results[i].scores.size(), length = self.batch().sequences[i].length;
        out.append(
            nb::make_tuple(to_numpy(std::move(results[i].labels), {n, length}), to_numpy(results[i].scores, {n})));
    }
    return out;
}

// Keeps its arrays alive, so that it can outlive the call that made it.
class Expectation {
public:
    Expectation(Scores transitions, Vector start, Vector end, std::size_t n_attributes)
        : transitions_(std::move(transitions)),
          start_(std::move(start)),
          end_(std::move(end)),
          n_attributes_(n_attributes) {
        const std::size_t K = start_.size(), d = transitions_.ndim();
        require(K >= 1 && (d == 2 || d == 3) && transitions_.shape(d - 1) == K && transitions_.shape(d - 2) == K &&
                    end_.size() == K,
                "transitions must have shape (K, K) or (T - 1, K, K), start and end (K,)");
        require_scores(transitions_, "transitions hold a NaN, +inf or a value beyond 1e300");
        require_scores(start_, "start holds a NaN, +inf or a value beyond 1e300");
        require_scores(end_, "end holds a NaN, +inf or a value beyond 1e300");
        const Potentials p{K, transitions_.data(), d == 3, start_.data(), end_.data()};
        pass_ = std::make_unique<chain::ExpectationPass>(p, n_attributes);
    }

    void feed(const Matrix& unary, const Matrix& attributes, bool last) {
        require(!closed_, "the sequence has ended: make a new pass");
        require(unary.shape(1) == start_.size(), "unary needs one column per label");
        require(attributes.shape(0) == unary.shape(0) && attributes.shape(1) == n_attributes_,
                "attributes must have shape (T, n_attributes)");
        require_scores(unary, "unary holds a NaN, +inf or a value beyond 1e300");
        require(transitions_.ndim() == 2 || pass_->n_positions() + unary.shape(0) <= transitions_.shape(0) + 1,
                "more positions than transitions per step");
        closed_ = last;
        answer([&] { pass_->feed(unary.data(), attributes.data(), unary.shape(0), last); });
    }

    nb::tuple result() const {
        const std::size_t K = start_.size();
        std::vector<double> labels(K), transitions(K * K), attributes(n_attributes_ * K);
        pass_->read(labels.data(), transitions.data(), attributes.data());
        return nb::make_tuple(pass_->log_partition(), to_numpy(labels, {K}), to_numpy(transitions, {K, K}),
                              to_numpy(attributes, {n_attributes_, K}));
    }

private:
    Scores transitions_;
    Vector start_, end_;
    std::size_t n_attributes_;
    bool closed_ = false;
    std::unique_ptr<chain::ExpectationPass> pass_;
};

}  // namespace

void bind_chain(nb::module_& m) {
    nb::class_<ChainBatch>(m, "ChainBatch")
        .def(nb::init<Matrix, Indices, Indices, Scores, Vector, Vector, std::size_t>(), nb::arg("unary"),
             nb::arg("starts"), nb::arg("lengths"), nb::arg("transitions"), nb::arg("start"), nb::arg("end"),
             nb::arg("n_jobs"))
        .def("log_partition",
             [](const ChainBatch& self, Output out) {
                 require_size(out, self.size());
                 answer([&] { chain::log_partition(self.batch(), out.data()); });
             })
        .def("entropy",
             [](const ChainBatch& self, Output out) {
                 require_size(out, self.size());
                 answer([&] { chain::entropy(self.batch(), out.data()); });
             })
        .def("marginals",
             [](const ChainBatch& self, Output out) {
                 require_size(out, self.n_rows() * self.n_labels());
                 const auto rows = self.rows(out.data(), self.n_labels());
                 answer([&] { chain::marginals(self.batch(), rows); });
             })
        .def("edge_marginals",
             [](const ChainBatch& self, Output out) {
                 require_size(out, self.n_edges() * self.n_labels() * self.n_labels());
                 const auto rows = self.edges(out.data());
                 answer([&] { chain::edge_marginals(self.batch(), rows); });
             })
        .def("total_edge_marginals",
             [](const ChainBatch& self, Output out) {
                 require(!self.batch().potentials.per_step, "total_edge_marginals needs transitions of shape (K, K)");
                 require_size(out, self.n_labels() * self.n_labels());
                 answer([&] { chain::total_edge_marginals(self.batch(), out.data()); });
             })
        .def("max_marginals",
             [](const ChainBatch& self, Output out) {
                 require_size(out, self.n_rows() * self.n_labels());
                 const auto rows = self.rows(out.data(), self.n_labels());
                 answer([&] { chain::max_marginals(self.batch(), rows); });
             })
        .def("forward",
             [](const ChainBatch& self, Output out) {
                 require_size(out, self.n_rows() * self.n_labels());
                 const auto rows = self.rows(out.data(), self.n_labels());
                 answer([&] { chain::forward_scores(self.batch(), rows); });
             })
        .def("backward",
             [](const ChainBatch& self, Output out) {
                 require_size(out, self.n_rows() * self.n_labels());
                 const auto rows = self.rows(out.data(), self.n_labels());
                 answer([&] { chain::backward_scores(self.batch(), rows); });
             })
        .def("argmax",
             [](const ChainBatch& self, LabelOutput labels, Output scores) {
                 require(labels.size() == self.n_rows() && scores.size() == self.size(),
                         "the output arrays have the wrong size");
                 const auto rows = self.rows(labels.data(), 1);
                 answer([&] { chain::argmax(self.batch(), rows, scores.data()); });
             })
        .def("beam_argmax",
             [](const ChainBatch& self, std::size_t width, LabelOutput labels, Output scores) {
                 require(labels.size() == self.n_rows() && scores.size() == self.size(),
                         "the output arrays have the wrong size");
                 width = width_of(width);
                 const auto rows = self.rows(labels.data(), 1);
                 answer([&] { chain::beam_argmax(self.batch(), width, rows, scores.data()); });
             })
        .def("score",
             [](const ChainBatch& self, Labels labels, Output out) {
                 require_size(out, self.size());
                 const auto rows = self.labels(labels);
                 answer([&] { chain::score(self.batch(), rows, out.data()); });
             })
        .def("span_probability",
             [](const ChainBatch& self, Indices counts, Indices begins, Indices sizes, Flags allowed, Output out) {
                 require_size(out, begins.size());
                 const auto [starts, spans] = self.spans(counts, begins, sizes, allowed);
                 answer([&, &starts = starts, &spans = spans] {
                     chain::span_probability(self.batch(), starts, spans, out.data());
                 });
             })
        .def("sample",
             [](const ChainBatch& self, std::size_t n, Vector uniforms, LabelOutput labels) {
                 require(uniforms.size() == n * self.n_rows() && labels.size() == n * self.n_rows(), "wrong sizes");
                 const auto random = self.rows(uniforms.data(), n);
                 const auto rows = self.rows(labels.data(), n);
                 answer([&] { chain::sample(self.batch(), n, random, rows); });
             })
        .def("kbest", kbest, nb::arg("k"), nb::arg("astar"))
        .def("first_dead_end", [](const ChainBatch& self) { return chain::first_dead_end(self.batch()); });

    nb::class_<Expectation>(m, "Expectation")
        .def(nb::init<Scores, Vector, Vector, std::size_t>(), nb::arg("transitions"), nb::arg("start"), nb::arg("end"),
             nb::arg("n_attributes"))
        .def("feed", &Expectation::feed, nb::arg("unary"), nb::arg("attributes"), nb::arg("last"))
        .def("result", &Expectation::result);
}

}  // namespace tw::bind
