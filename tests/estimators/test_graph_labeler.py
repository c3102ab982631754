"""Labels of the nodes of graphs: brute force, chains, lists, types and kinds, weights that are never negative."""

import io
import itertools
import pickle
import types
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import trelliswork as tw
from trelliswork import _core, learners
from trelliswork.errors import InvalidInput

NAMES = learners.names()
BOUNDED = ["perceptron", "pa", "pegasos", "subgradient", "crf"]


def random_graph(rng, n_most=5, d=2, e=2, K=3, density=0.5):
    """A small graph with features of nodes and edges, and labels."""
    n = int(rng.integers(1, n_most + 1))
    edges = [(a, b) if rng.random() < 0.5 else (b, a) for a, b in itertools.combinations(range(n), 2)]
    edges = [edge for edge in edges if rng.random() < density]
    nodes = rng.normal(size=(n, d)).round(1)
    return (nodes, np.array(edges, dtype=int).reshape(-1, 2), rng.random((len(edges), e)).round(1)), rng.integers(
        K, size=n
    )


def random_graphs(seed, n=12, **how):
    rng = np.random.default_rng(seed)
    X, y = zip(*[random_graph(rng, **how) for _ in range(n)], strict=True)
    return list(X), list(y)


def named(labeler):
    """The weights by what they belong to: attribute, label of the first node, label."""
    return {(w.attribute, w.previous, w.label): w.weight for w in labeler.weights()}


def score(weights, graph, labels):
    """The score of a labelling, from weights by name; columns of edges and nodes are told apart by having a pair."""
    nodes, edges, seen = graph
    total = 0.0
    for row, label in zip(nodes, labels, strict=True):
        total += weights.get((None, None, str(label)), 0.0)
        total += sum(x * weights.get((f"x[{j}]", None, str(label)), 0.0) for j, x in enumerate(row))
    for (a, b), row in zip(edges, seen, strict=True):
        pair = str(labels[a]), str(labels[b])
        total += weights.get((None, *pair), 0.0)
        total += sum(x * weights.get((f"x[{j}]", *pair), 0.0) for j, x in enumerate(row))
    return total


def labellings(n, classes):
    return itertools.product(classes, repeat=n)


@pytest.mark.parametrize("inference", ["auto", "exact", "ilp"])
@pytest.mark.parametrize("seed", range(4))
def test_predictions_probabilities_and_lists_are_those_of_brute_force(seed, inference):
    X, y = random_graphs(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        labeler = tw.GraphLabeler(tw.CRF(l2=0.1, max_iter=5), inference=inference, random_state=seed).fit(X, y)
    weights, classes = named(labeler), labeler.classes_.tolist()
    for graph, found, kbest, marginals, log_prob in zip(
        X, labeler.predict(X), labeler.predict_kbest(X, 3), labeler.predict_marginals(X), labeler.log_prob(X, y),
        strict=True,
    ):  # fmt: skip
        every = list(labellings(len(graph[0]), classes))
        scores = np.array([score(weights, graph, labels) for labels in every])
        total = np.logaddexp.reduce(scores)
        np.testing.assert_allclose(score(weights, graph, found.tolist()), scores.max(), atol=1e-5)
        np.testing.assert_allclose([p for _, p in kbest], np.sort(scores)[::-1][: len(kbest)] - total, atol=1e-5)
        expected = np.zeros((len(graph[0]), len(classes)))
        for labels, p in zip(every, np.exp(scores - total), strict=True):
            expected[np.arange(len(labels)), [classes.index(label) for label in labels]] += p
        np.testing.assert_allclose(marginals, expected, atol=1e-5)
        gold = every.index(tuple(y[[g is graph for g in X].index(True)].tolist()))
        np.testing.assert_allclose(log_prob, scores[gold] - total, atol=1e-5)


def listed(oracle, X, K, y):
    """The same examples as lists of all outputs, from what the oracle says of their differences to gold."""
    w = np.zeros(oracle.n_weights)
    starts, golds, rows, costs = [0], [], [], []
    for i, labels in enumerate(y):
        own = oracle.kbest(w, i, K ** len(labels))
        assert len(own) == K ** len(labels)
        starts.append(starts[-1] + len(own))
        golds.append([cost for _, _, cost, *_ in own].index(0.0))
        for _, _, cost, at, values in own:
            rows.append((at, -values))
            costs.append(cost)
    return _core.EnumeratedOracle.make(
        np.array(starts, dtype=np.int64),
        np.array(golds, dtype=np.int64),
        np.cumsum([0, *(len(at) for at, _ in rows)], dtype=np.int64),
        np.concatenate([at for at, _ in rows]).astype(np.int64),
        np.concatenate([values for _, values in rows]),
        len(w),
        np.array(costs),
        np.ones(len(X)),
    )


@pytest.mark.parametrize("options", [{}, {"symmetric": True}, {"associative": True}], ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "memm"])
def test_every_learner_learns_the_same_as_from_listed_outputs(name, options):
    if options.get("associative") and name not in BOUNDED:
        pytest.skip("refused; see below")
    X, y = random_graphs(3, n=6, n_most=3, K=2)
    learner = learners.by_name(name)
    if name == "crf":
        learner.set_params(solver="owlqn", tol=1e-9)
    elif "epochs" in learner.get_params():
        learner.set_params(epochs=3)
    if "shuffle" in learner.get_params():
        learner.set_params(shuffle=False)
    oracle = tw.GraphLabeler(learner, combinations="all", **options).oracle(X, y)
    other = listed(oracle, X, 2, y)
    start = np.random.default_rng(0).normal(size=oracle.n_weights) if name != "eg" else None
    if options.get("associative"):
        assert len(oracle.nonnegative)
        start = np.abs(start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        found = learner.train(oracle, weights=start, seed=1).weights
        expected = learner.train(other, weights=start, seed=1).weights
    if (expected[oracle.nonnegative] >= 0.0).all():  # lists know of no bounds
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    else:
        assert (found[oracle.nonnegative] >= 0.0).all()


def test_a_chain_is_a_chain():
    rng = np.random.default_rng(0)
    words = [[f"w{rng.integers(6)}" for _ in range(rng.integers(1, 6))] for _ in range(30)]
    y = [[f"{'ABC'[(int(word[1]) + i) % 3]}" for i, word in enumerate(own)] for own in words]
    learner = tw.CRF(l2=0.5, tol=1e-9)
    graphs = [(own, [(t, t + 1) for t in range(len(own) - 1)]) for own in words]
    graph = tw.GraphLabeler(learner).fit(graphs, y)
    # the weight of a label that a node has whatever it looks like is an attribute that all tokens have
    chain = tw.SequenceLabeler(learner, combinations="seen").fit([[[word, "any"] for word in own] for own in words], y)
    tokens = [[[word, "any"] for word in own] for own in words]
    np.testing.assert_allclose(graph.log_prob(graphs, y), chain.log_prob(tokens, y), atol=2e-3)
    assert [found.tolist() for found in graph.predict(graphs)] == chain.predict(tokens)


# ---- types and kinds -----------------------------------------------------------------------------------------------


def typed_graphs():
    """Words and lines: a line is about what most of its words are about, and both have labels of their own."""
    rng, X, y = np.random.default_rng(0), [], []
    for _ in range(20):
        subject = int(rng.integers(2))
        words = [f"{'ab'[subject]}{rng.integers(2)}" for _ in range(3)]
        words[int(rng.integers(3))] = "?"
        X.append(
            tw.GraphInput(
                [*words, [0.5, 1.0]],
                [(0, 1), (1, 2), (0, 3), (1, 3), (2, 3)],
                node_types=["word", "word", "word", "line"],
                edge_kinds=["next", "next", "in", "in", "in"],
            )
        )
        y.append([*(f"word {subject}" for _ in words), "prose" if subject else "verse"])
    return X, y


def test_types_have_labels_and_kinds_have_weights_of_their_own(tmp_path):
    X, y = typed_graphs()
    labeler = tw.GraphLabeler(random_state=0).fit(X, y)
    assert labeler.node_types_ == ["line", "word"]
    assert labeler.edge_kinds_ == [("in", "word", "line"), ("next", "word", "word")]
    assert {name: own.tolist() for name, own in labeler.classes_.items()} == {
        "line": ["prose", "verse"],
        "word": ["word 0", "word 1"],
    }
    assert labeler.score(X, y) == 1.0
    assert [found.tolist() for found in labeler.predict(X[:2])] == y[:2]
    labeler.save(tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw")
    assert [found.tolist() for found in again.predict(X)] == [found.tolist() for found in labeler.predict(X)]
    assert again.edge_kinds_ == labeler.edge_kinds_
    with pytest.warns(tw.UncalibratedScores):  # passive-aggressive scores are no probabilities
        marginals = labeler.predict_marginals(X[:1])[0]
    assert marginals["line"].shape == (1, 2)
    assert marginals["word"].shape == (3, 2)
    np.testing.assert_allclose(marginals["word"].sum(axis=1), 1.0)


def test_kinds_may_be_left_to_the_types():
    X, y = typed_graphs()
    X = [graph._replace(edge_kinds=None) for graph in X]
    labeler = tw.GraphLabeler(random_state=0).fit(X, y)
    assert labeler.edge_kinds_ == [("word-line", "word", "line"), ("word-word", "word", "word")]
    assert labeler.score(X, y) == 1.0
    with pytest.raises(tw.InvalidInput, match="leads from 'line' to 'word', which no edge did"):
        labeler.predict([X[0]._replace(edges=[(3, 0)])])


def test_labels_may_be_named():
    X, y = typed_graphs()
    labels = {"word": ["word 0", "word 1", "word 2"], "line": ["verse", "prose"]}
    labeler = tw.GraphLabeler(labels=labels).fit(X, y)
    assert labeler.classes_["word"].tolist() == labels["word"]
    again = pickle.loads(pickle.dumps(labeler))
    assert again.labels == labels
    file = io.BytesIO()
    labeler.save(file)
    assert tw.load(file.getvalue()).labels == labels
    y[4][0] = "verse"
    with pytest.raises(
        tw.InvalidInput, match=r"X\[4\]: node 0, of the type 'word', has the label 'verse', which is a label"
    ):
        tw.GraphLabeler(labels=labels).fit(X, y)


# ---- weights that must not be negative -----------------------------------------------------------------------------


def noisy_grids(n=8, side=4, seed=0, K=2):
    """Patches of labels, seen with noise."""
    rng, X, y = np.random.default_rng(seed), [], []
    number = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.stack([number[:, :-1], number[:, 1:]], -1).reshape(-1, 2),
            np.stack([number[:-1], number[1:]], -1).reshape(-1, 2),
        ]
    )
    for _ in range(n):
        labels = (np.add.outer(np.arange(side), np.arange(side)) > rng.integers(1, 2 * side - 2)) * 1
        labels = (labels + (rng.integers(2) if K > 2 else 0)).ravel() % K
        seen = np.eye(K)[labels] + rng.normal(size=(side * side, K))
        X.append((seen, edges, rng.random((len(edges), 2))))
        y.append(labels)
    return X, y


def pair_weights(labeler):
    tensors, _ = labeler.exported()
    return np.concatenate([np.asarray(tensors[f"channel.{name}.weights"]) for name in ("edge0", "pair0")])


@pytest.mark.parametrize("associative", [True, "label"])
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("name", BOUNDED)
def test_associative_weights_are_never_negative(name, averaged, associative):
    X, y = noisy_grids()
    y = [np.random.default_rng(i).permutation(labels) for i, labels in enumerate(y)]  # neighbours prefer nothing
    learner = learners.by_name(name)
    if "averaged" in learner.get_params():
        learner.set_params(averaged=averaged)
    seen = []
    oracle = tw.GraphLabeler(learner, associative=associative).oracle(X, y)
    learner.train(oracle, on_iteration=lambda it: seen.append(it.weights()[oracle.nonnegative].min()))
    assert len(oracle.nonnegative) == (3 if associative is True else 6)
    assert min(seen) >= 0.0
    labeler = tw.GraphLabeler(learner, associative=associative).fit(X, y)
    assert (pair_weights(labeler) >= 0.0).all()
    free = tw.GraphLabeler(learner).fit(X, y)
    assert (pair_weights(free) < 0.0).any()


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.PassiveAggressive])
def test_the_average_is_of_weights_that_were_projected(learner):
    X, y = noisy_grids(1, seed=3)
    y = [np.random.default_rng(0).permutation(y[0])]
    passes = []
    for averaged in (False, True):
        oracle = tw.GraphLabeler(learner(), associative="label").oracle(X, y)
        seen = []
        learner(epochs=8, averaged=averaged).train(oracle, on_iteration=lambda it, to=seen: to.append(it.weights()))
        passes.append(np.array([np.pad(w, (0, oracle.n_weights - len(w))) for w in seen]))
    current, average = passes  # of one example, a pass is a step
    assert (current[:, oracle.nonnegative] == 0.0).any()
    n = len(average)
    np.testing.assert_allclose(average, np.cumsum(current, axis=0)[:n] / np.arange(1, n + 1)[:, None], atol=1e-9)


def test_the_bounded_optimum_is_one():
    X, y = noisy_grids(seed=1)
    y = [np.random.default_rng(i).permutation(labels) for i, labels in enumerate(y)]
    l2 = 0.3
    oracle = tw.GraphLabeler("crf", associative="label").oracle(X, y)
    found = tw.CRF(l2=l2, tol=1e-10).train(oracle).weights
    gradient = np.zeros(len(found))
    oracle.loss(found, gradient)
    gradient += l2 * found
    bounded = np.isin(np.arange(len(found)), oracle.nonnegative)
    at_zero = bounded & (found == 0.0)
    assert (at_zero.any() and (found[bounded] > 0.0).any()) or at_zero.all() == bounded.all()
    np.testing.assert_allclose(gradient[~at_zero], 0.0, atol=1e-3)
    assert (gradient[at_zero] >= -1e-6).all()
    with pytest.raises(tw.InvalidInput, match="solver='lbfgs' does not keep weights from becoming negative"):
        tw.CRF(solver="lbfgs").train(oracle)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*BOUNDED, "memm")])
def test_other_learners_refuse_bounds(name):
    X, y = noisy_grids(2)
    with pytest.raises(tw.InvalidInput, match="must not become negative, and this learner does not keep them so"):
        tw.GraphLabeler(name, associative=True).fit(X, y)


def test_two_associative_labels_are_cut_exactly():
    X, y = noisy_grids(6, side=3)
    labeler = tw.GraphLabeler(tw.Pegasos(epochs=5), associative=True, random_state=0).fit(X, y)
    assert labeler.exact_
    weights = {("edge", w.attribute): w.weight for w in labeler.weights() if w.previous is not None}
    weights |= {(w.label, w.attribute): w.weight for w in labeler.weights() if w.previous is None}
    assert any(weight > 0 for (what, _), weight in weights.items() if what == "edge")
    for (nodes, edges, seen), found in zip(X, labeler.predict(X), strict=True):

        def total(labels, nodes=nodes, edges=edges, seen=seen):
            of_nodes = sum(
                weights.get((str(k), None), 0.0)
                + sum(x * weights.get((str(k), f"x[{j}]"), 0.0) for j, x in enumerate(row))
                for row, k in zip(nodes, labels, strict=True)
            )
            return of_nodes + sum(
                weights.get(("edge", None), 0.0)
                + sum(x * weights.get(("edge", f"x[{j}]"), 0.0) for j, x in enumerate(row))
                for (a, b), row in zip(edges, seen, strict=True)
                if labels[a] == labels[b]
            )

        np.testing.assert_allclose(total(found), max(map(total, labellings(9, (0, 1)))), atol=1e-5)


def test_wide_associative_graphs_are_cut():
    X, y = noisy_grids(4, side=40)
    labeler = tw.GraphLabeler(tw.Pegasos(epochs=3), associative=True, random_state=0).fit(X, y)
    assert labeler.exact_
    alone = tw.GraphLabeler(tw.Pegasos(epochs=3)).fit([(nodes, edges[:0]) for nodes, edges, _ in X], y)
    assert labeler.score(X, y) > alone.score([(nodes, edges[:0]) for nodes, edges, _ in X], y) + 0.05
    several, labels = noisy_grids(4, side=20, K=3)
    with pytest.raises(tw.InvalidInput, match="too wide for exact answers"):
        tw.GraphLabeler(associative=True).fit(several, labels)
    moved = tw.GraphLabeler(associative=True, inference="cut", random_state=0).fit(several, labels)
    assert not moved.exact_
    assert moved.score(several, labels) > 0.8


# ---- graphs that are too wide for exact answers --------------------------------------------------------------------


def test_approximate_answers_are_used_where_they_were_asked_for(tmp_path):
    X, y = noisy_grids(4, side=20)
    with pytest.raises(tw.InvalidInput, match=r'X\[0\], with 400 nodes and 760 edges, is too wide .* inference="trw"'):
        tw.GraphLabeler().fit(X, y)
    labeler = tw.GraphLabeler(inference="trw", random_state=0).fit(X, y)
    assert not labeler.exact_
    assert labeler.score(X, y) > 0.9
    labeler.save(tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw")
    assert not again.exact_
    assert again.inference == "trw"
    for a, b in zip(labeler.predict(X), again.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)
    narrow, labels = noisy_grids(2, side=3)
    assert tw.GraphLabeler().fit(narrow, labels).exact_
    with pytest.raises(tw.InvalidInput, match="too wide for exact answers"):
        tw.GraphLabeler().fit(narrow, labels).predict(X)
    with pytest.raises(tw.InvalidInput, match="too wide for several best"), pytest.warns(tw.UncalibratedScores):
        again.predict_kbest(X, 2)
    with pytest.raises(tw.InvalidInput, match="asks for expectations"):
        tw.GraphLabeler("crf", inference="ad3").fit(X, y)


@pytest.mark.parametrize("inference", ["bp", "trw", "ad3", "cut"])
def test_every_search_learns(inference):
    X, y = noisy_grids(4, side=12)
    labeler = tw.GraphLabeler(inference=inference, random_state=0).fit(X, y)
    assert labeler.score(X, y) > 0.9


@pytest.mark.parametrize("inference", ["trw", "ad3"])
def test_relaxed_answers_learn_too(inference):
    X, y = noisy_grids(4, side=12)
    relaxed = tw.GraphLabeler(tw.Pegasos(), inference=inference, relaxed=True, random_state=0).fit(X, y)
    assert relaxed.score(X, y) > 0.9
    assert relaxed.exported()[1]["structure"]["trained"] == {"inference": inference, "relaxed": True, "exact": False}


@pytest.mark.parametrize("inference", ["bp", "trw"])
def test_probabilities_of_wide_graphs_are_approximate_and_say_so(inference):
    X, y = noisy_grids(2, side=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        labeler = tw.GraphLabeler(tw.CRF(max_iter=5), inference=inference).fit(X, y)
    with pytest.warns(UserWarning, match="too wide for exact probabilities"):
        marginals = labeler.predict_marginals(X[:1])[0]
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-6)
    assert (marginals.argmax(axis=1) == y[0]).mean() > 0.8
    with pytest.raises(tw.InvalidInput, match="too wide for exact probabilities"):
        labeler.set_params(inference="exact").predict_marginals(X)


@pytest.mark.parametrize("inference", ["exact", "ilp"])
def test_searches_until_the_answer_is_proved(inference):
    X, y = noisy_grids(3, side=30)
    trained = tw.GraphLabeler(tw.Perceptron(epochs=2), inference="trw", random_state=0).fit(X, y)
    found = trained.set_params(inference=inference).predict(X)
    for x, labels in zip(X, found, strict=True):
        graph = trained.graph(x)
        best = graph.argmax(prove=True)
        assert best.exact
        np.testing.assert_allclose(graph.score(labels), best.score)


def test_a_graph_with_its_scores():
    X, y = typed_graphs()
    labeler = tw.GraphLabeler(random_state=0).fit(X, y)
    for x, found in zip(X[:5], labeler.predict(X[:5]), strict=True):
        graph = labeler.graph(x)
        best = graph.argmax()
        types = [labeler.classes_[name] for name in x.node_types]
        assert [own[k] for own, k in zip(types, best.labels, strict=True)] == found.tolist()
        assert best.exact
    with pytest.warns(tw.UncalibratedScores):
        marginals = labeler.predict_marginals(X[:1])[0]
    bare = labeler.graph(X[0]).marginals()
    np.testing.assert_allclose(np.stack(bare[:3]), marginals["word"], atol=1e-12)
    np.testing.assert_allclose(bare[3], marginals["line"][0], atol=1e-12)


# ---- what graphs are given as --------------------------------------------------------------------------------------


def test_sparse_features_and_attributes_say_the_same_as_arrays():
    X, y = random_graphs(5)
    learner = tw.Perceptron(epochs=3)
    dense = tw.GraphLabeler(learner).fit(X, y).predict(X)
    sparse = [(sp.csr_array(nodes), edges, sp.csr_array(seen)) for nodes, edges, seen in X]
    lists = [(nodes.tolist(), edges.tolist(), seen.tolist()) for nodes, edges, seen in X]
    for other in (sparse, lists):
        for a, b in zip(tw.GraphLabeler(learner).fit(other, y).predict(other), dense, strict=True):
            np.testing.assert_array_equal(a, b)


def test_networkx_graphs():
    nx = pytest.importorskip("networkx")
    X, y = random_graphs(6, n=8)
    graphs, by_node, single = [], [], []
    for (nodes, edges, seen), labels in zip(X, y, strict=True):
        graph = nx.DiGraph()
        for i, row in enumerate(nodes):
            graph.add_node(f"n{i}", features=row, label=int(labels[i]))
        for (a, b), row in zip(edges, seen, strict=True):
            graph.add_edge(f"n{a}", f"n{b}", features=row)
        order = [(int(a[1:]), int(b[1:])) for a, b in graph.edges]
        at = {tuple(edge): j for j, edge in enumerate(edges.tolist())}
        chosen = [at[edge] for edge in order]
        single.append((nodes, edges[chosen], seen[chosen]))
        graphs.append(graph)
        by_node.append({f"n{i}": int(label) for i, label in enumerate(labels)})
    labeler = tw.GraphLabeler(tw.Perceptron()).fit(graphs, by_node)
    expected = tw.GraphLabeler(tw.Perceptron()).fit(single, y)
    for a, b in zip(labeler.predict(graphs), expected.predict(single), strict=True):
        np.testing.assert_array_equal(a, b)
    words = nx.path_graph(3)
    for i, node in enumerate(words):
        words.nodes[node].update({"word": "abc"[i], "size": 2.0, "label": "gold"})
    seen = tw.GraphLabeler().fit([words], [["x", "y", "x"]])
    assert {w.attribute for w in seen.weights() if w.attribute} <= {"word:a", "word:b", "word:c", "size"}


def test_objects_as_pytorch_geometric_has_them():
    X, y = random_graphs(7, n=8)
    objects = [types.SimpleNamespace(x=nodes, edge_index=edges.T, edge_attr=seen) for nodes, edges, seen in X]
    found = tw.GraphLabeler(tw.Perceptron()).fit(objects, y).predict(objects)
    for a, b in zip(found, tw.GraphLabeler(tw.Perceptron()).fit(X, y).predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_empty_and_disconnected_graphs():
    X = [
        (["a", "b", "a"], []),
        ([], []),
        (["b"], np.zeros((0, 2), dtype=int)),
        (["a", "a", "b", "b"], [(0, 1), (2, 3)]),
    ]
    y = [[0, 1, 0], [], [1], [0, 0, 1, 1]]
    labeler = tw.GraphLabeler().fit(X, y)
    assert [found.tolist() for found in labeler.predict(X)] == y
    assert labeler.predict([]) == []
    assert labeler.score(X, y) == 1.0
    without = tw.GraphLabeler().fit([(x, []) for x, _ in X], y)
    assert without.edge_kinds_ == []
    assert [found.tolist() for found in without.predict([(["b", "a"], [])])] == [[1, 0]]


def test_the_rest_of_an_estimator():
    X, y = noisy_grids(12, side=3)
    plain = tw.GraphLabeler("crf").fit(X, y)
    weighted = tw.GraphLabeler("crf").fit(
        [*X, *X[:2]], [*y, *[1 - labels for labels in y[:2]]], sample_weight=[1] * 12 + [0, 0]
    )
    np.testing.assert_allclose(plain.log_prob(X, y), weighted.log_prob(X, y), atol=1e-2)
    watched = tw.GraphLabeler("pa", patience=2, random_state=0).fit(X[:8], y[:8], X[8:], y[8:])
    assert max(h["dev_score"] for h in watched.history_) == watched.score(X[8:], y[8:])
    one, two = (tw.GraphLabeler("pa", n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    for a, b in zip(one.predict(X), two.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)
    from sklearn.base import clone

    assert clone(watched).get_params() == watched.get_params()
    for a, b in zip(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


# ---- what is refused -----------------------------------------------------------------------------------------------

NODES, EDGES, LABELS = np.eye(3), [(0, 1), (1, 2)], [0, 1, 0]


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        ((NODES, [(0, 3)]), LABELS, "edge 0 joins the nodes 0 and 3, but there are 3 nodes"),
        ((NODES, [(0, -1)]), LABELS, "edge 0 joins the nodes 0 and -1"),
        ((NODES, [(0, 1), (2, 2)]), LABELS, "edge 1 joins the node 2 with itself"),
        ((NODES, np.array(EDGES).T[:, :1].repeat(3, 1)), LABELS, r"edges of shape \(2, 3\).* Pass edges.T"),
        ((NODES, [(0.5, 1.0)]), LABELS, "edges of type float64"),
        ((NODES * np.nan, EDGES), LABELS, "a feature that is nan, in row 0"),
        ((np.arange(3.0), EDGES), LABELS, r"features of shape \(3,\).*reshape"),
        ((NODES, EDGES, np.ones((3, 1))), LABELS, "has 2 edges, but features of 3"),
        ((NODES, EDGES, np.full((2, 1), np.inf)), LABELS, "a feature that is inf"),
        ((NODES,), LABELS, "expected .node features, edges"),
        ("graph", LABELS, "expected .node features, edges"),
        ({"nodes": NODES, "edge": EDGES}, LABELS, "a dict with the keys nodes, edge"),
        (tw.GraphInput(NODES, EDGES, node_types=["a"]), LABELS, r"node_types of shape \(1,\) for 3 nodes"),
        (tw.GraphInput(NODES, EDGES, node_types=[0.5, 1, 2]), LABELS, "node_types of type float64"),
        (tw.GraphInput(NODES, EDGES, edge_kinds=["a", "b", "c"]), LABELS, r"edge_kinds of shape \(3,\) for 2 edges"),
        (tw.GraphInput(NODES, EDGES, node_types=["a", "b", "b"], edge_kinds=["k", "k"]), LABELS, "A kind has one pair"),
        ((NODES, EDGES), [0, 1], r"y\[1\] has 2 labels, but X\[1\] has 3 nodes"),
        ((NODES, EDGES), [0, 1, None], r"y\[1\]\[2\] is None"),
        ((NODES, EDGES), [0, 1, np.nan], r"y\[1\]\[\d\] is"),
        ((NODES, EDGES), [[0], [1], [0]], "expected a label for each node"),
        ((NODES, EDGES), {"a": 0}, r"y\[1\] is a dict"),
        ((NODES, EDGES), ["a", "b", "c"], "mixes strings and numbers"),
        ((np.eye(4)[:3], EDGES), LABELS, "have 4 features; expected 3"),
        ((["a", "b", "c"], EDGES), LABELS, "expected 3"),
        ((NODES, EDGES, np.ones((2, 1))), LABELS, "Give all of them, or none"),
    ],
)
def test_what_no_graph_can_be_is_refused(x, y, told):
    plain = (NODES, EDGES)
    types_given = isinstance(x, tw.GraphInput)
    X = [x, x] if types_given else [plain, x]
    with pytest.raises(tw.InvalidInput, match=told.replace("X[1]", r"X\[.\]") if not types_given else told):
        tw.GraphLabeler().fit(X, [y if types_given else LABELS, y])


def test_what_the_model_was_not_trained_on_is_refused():
    labeler = tw.GraphLabeler().fit([(NODES, EDGES, np.ones((2, 2)))], [LABELS])
    for x, told in (
        ((np.eye(4), EDGES, np.ones((2, 2))), "X\\[0\\]: the nodes have 4 features; expected 3"),
        ((NODES, EDGES, np.ones((2, 3))), "the edges have 3 features; expected 2"),
        ((NODES, EDGES), "X\\[0\\] has no features of edges; expected some"),
        (tw.GraphInput(NODES, EDGES, np.ones((2, 2)), node_types=["a"] * 3), "node 0 is of the type 'a'"),
    ):
        with pytest.raises(tw.InvalidInput, match=told):
            labeler.predict([x])
    with pytest.raises(tw.InvalidInput, match="For one graph, pass"):
        labeler.predict(tw.GraphInput(NODES, EDGES))
    assert labeler.score([(NODES, EDGES, np.ones((2, 2)))], [["never", "seen", "labels"]]) == 0.0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"inference": "magic"}, "inference is 'magic'; expected one of"),
        ({"relaxed": True}, "relaxed answers come from"),
        ({"associative": 1}, "associative is 1 .int.; expected False, True"),
        ({"associative": True, "symmetric": True}, "symmetric already"),
        ({"time_limit": -1.0, "inference": "trw"}, "time_limit is -1.0"),
        ({"time_limit": 1.0}, "time_limit does not go with"),
        ({"search_iterations": 0}, "search_iterations"),
        ({"learner": "memm"}, "there is no such order"),
        ({"labels": ["a"]}, "has the label 0; expected one of 'a'"),
        ({"labels": {"a": [0, 1]}}, "labels is about 'a'"),
    ],
)
def test_options_are_used_or_refused(options, told):
    with pytest.raises(tw.InvalidInput, match=told):
        tw.GraphLabeler(**options).fit([(NODES, EDGES)], [LABELS])


def test_associative_weights_need_features_that_are_not_negative_and_one_type():
    seen = np.array([[1.0], [-0.5]])
    with pytest.raises(tw.InvalidInput, match=r"a feature of an edge that is -0.5"):
        tw.GraphLabeler(associative=True).fit([(NODES, EDGES, seen)], [LABELS])
    labeler = tw.GraphLabeler(associative=True).fit([(NODES, EDGES, abs(seen))], [LABELS])
    with pytest.raises(tw.InvalidInput, match=r"a feature of an edge that is -0.5"):
        labeler.predict([(NODES, EDGES, seen)])
    X, y = typed_graphs()
    with pytest.raises(tw.InvalidInput, match="associative needs edges between nodes of one type"):
        tw.GraphLabeler(associative=True).fit(X, y)
    with pytest.raises(tw.InvalidInput, match="symmetric needs edges between nodes of one type"):
        tw.GraphLabeler(symmetric=True).fit(X, y)


def test_enormous_graphs_are_refused_before_memory_is_taken():
    n = 1_000_000
    labeler = tw.GraphLabeler(labels=[f"l{k}" for k in range(20)]).fit([(NODES, EDGES)], [["l0", "l1", "l2"]])
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    with pytest.raises(tw.InvalidInput, match=r"1,000,000 nodes and 999,999 edges, whose scores would take 3.1 GiB"):
        labeler.predict([(np.zeros((n, 3), dtype=np.float32), edges)])


def test_a_long_path_is_labelled():
    n = 100_000
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(2, size=n // 10), 10)
    nodes = (2 * np.eye(2)[labels] + rng.normal(size=(n, 2))).astype(np.float32)
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    X = [(nodes[i : i + 50], edges[:49]) for i in range(0, 1000, 50)]
    labeler = tw.GraphLabeler(tw.Perceptron(epochs=3)).fit(X, [labels[i : i + 50] for i in range(0, 1000, 50)])
    assert labeler.score([(nodes, edges)], [labels]) > 0.85


SQUARE = (np.eye(3), [(0, 1), (1, 2)])


@pytest.mark.parametrize(
    "seen",
    [
        {"a": np.float32(-1)},
        {"a": np.int64(-1)},
        {"a": {"b": -1.0}},
        [("a", -1.0)],
        {"a": Fraction(-1, 2)},
    ],
)
def test_no_form_of_a_number_below_zero_gets_past_associative(seen):
    X, y = [(*SQUARE, [seen, {"a": 1.0}])], [[0, 1, 0]]
    labeler = tw.GraphLabeler(associative=True)
    with pytest.raises(ValueError, match="below zero at edge 0"):
        labeler.fit(X, y)
    labeler.fit([(*SQUARE, [{"a": 1.0}, {"b": True}])], y)
    with pytest.raises(ValueError, match="below zero at edge 0"):
        labeler.predict(X)


@pytest.mark.parametrize("edges", [None, 5, [(0, 1), (1,)]])
def test_edges_that_are_none_are_refused_by_name(edges):
    with pytest.raises(InvalidInput, match=r"X\[0\] has .*edges.*two nodes for each"):
        tw.GraphLabeler().fit([(np.eye(3), edges)], [[0, 1, 0]])


@pytest.mark.parametrize("labels", [5, "01", {"node": 5}, iter([0, 1]), [0, 1, "x"], {0, 1}])
def test_labels_must_be_a_list_of_one_kind(labels):
    with pytest.raises(InvalidInput, match="labels of the type 'node'"):
        tw.GraphLabeler(labels=labels).fit([SQUARE], [[0, 1, 0]])


def test_labels_by_type_come_back_from_a_file_with_one_type(tmp_path):
    labeler = tw.GraphLabeler(labels={"node": [0, 1, 2]}).fit([SQUARE], [[0, 1, 0]])
    labeler.save(tmp_path / "model")
    assert tw.load(tmp_path / "model").labels == {"node": [0, 1, 2]}


def test_kinds_of_edges_that_training_had_not_are_refused():
    labeler = tw.GraphLabeler().fit([SQUARE], [[0, 1, 0]])
    with pytest.raises(InvalidInput, match=r"X\[0\] has edge_kinds; the model was trained without"):
        labeler.predict([tw.GraphInput(*SQUARE, edge_kinds=["a", "b"])])
    assert len(labeler.predict([tw.GraphInput(np.eye(3), [], edge_kinds=[])])[0]) == 3


def test_development_data_without_nodes_are_refused():
    with pytest.raises(InvalidInput, match="X_dev has no nodes"):
        tw.GraphLabeler().fit([SQUARE], [[0, 1, 0]], [], [])


def test_several_best_of_a_wide_graph_are_refused_without_advice_that_does_not_help():
    n = 20
    edges = [(i * n + j, i * n + j + 1) for i in range(n) for j in range(n - 1)]
    edges += [(i * n + j, i * n + n + j) for i in range(n - 1) for j in range(n)]
    X, y = [(np.zeros((n * n, 1)), edges)], [np.arange(n * n) % 2]
    labeler = tw.GraphLabeler(tw.Perceptron(epochs=1), associative=True).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scores of a perceptron are no log-probabilities
        with pytest.raises(InvalidInput, match=r"several best labellings\. Use predict"):
            labeler.predict_kbest(X, 2)


@pytest.mark.parametrize("inference", ["auto", "cut"])
def test_iterations_are_refused_where_nothing_is_searched(inference):
    labeler = tw.GraphLabeler(inference=inference, search_iterations=5)
    with pytest.raises(tw.InvalidInput, match="search_iterations does not go with inference"):
        labeler.fit([(np.zeros((2, 1)), [(0, 1)], None)], [[0, 1]])
