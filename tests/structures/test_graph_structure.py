"""Labels of typed graphs as a structure for learners: blocks, parts, costs and every exact answer, by enumeration."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork import _core


def numbers(values):
    return np.asarray(values, dtype=np.uint32).ravel()


def structure(n_labels, kinds, **options):
    return _core.PartStructure.graph(numbers(n_labels), numbers(kinds), **options)


def shape_of(types, edges):
    return numbers([len(types), len(edges), *types, *itertools.chain.from_iterable(edges)])


def by_hand(n_labels, kinds, types, edges, labels):
    """The parts of a labelling, counted block by block as families.hpp says."""
    sites = [[v for v, t in enumerate(types) if t == own] for own in range(len(n_labels))]
    first, parts = 0, []
    for own, nodes in enumerate(sites):
        parts += [first + i * n_labels[own] + labels[v] for i, v in enumerate(nodes)]
        first += len(nodes) * n_labels[own]
    for own, (s, t) in enumerate(kinds):
        rows = [(a, b) for kind, a, b in edges if kind == own]
        size = n_labels[s] * n_labels[t]
        parts += [first + i * size + labels[a] * n_labels[t] + labels[b] for i, (a, b) in enumerate(rows)]
        first += len(rows) * size
    return parts, first


@given(st.integers(0, 2**32 - 1))
def test_every_answer_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    n_labels = rng.integers(1, 4, size=rng.integers(1, 3)).tolist()
    kinds = rng.integers(0, len(n_labels), size=(rng.integers(1, 4), 2)).tolist()
    types = rng.integers(0, len(n_labels), size=rng.integers(0, 6)).tolist()
    edges = []
    for _ in range(rng.integers(0, 9) if len(types) > 1 else 0):
        a, b = (int(v) for v in rng.choice(len(types), 2, replace=False))
        edges += [(k, a, b) for k, ends in enumerate(kinds) if ends == [types[a], types[b]]][:1]
    graph, shape = structure(n_labels, kinds), shape_of(types, edges)
    outputs = list(itertools.product(*(range(n_labels[t]) for t in types)))
    n_parts = by_hand(n_labels, kinds, types, edges, outputs[0])[1]
    assert sum(sites * codes for _, sites, codes in graph.blocks(shape)) == n_parts
    scores = rng.normal(size=n_parts) * 2
    scores[rng.random(n_parts) < rng.choice([0.0, 0.2])] = -np.inf
    totals, found = [], []
    for labels in outputs:
        parts = by_hand(n_labels, kinds, types, edges, labels)[0]
        assert graph.parts_of(shape, numbers(labels)).tolist() == parts
        assert graph.output_of(shape, numbers(parts)).tolist() == list(labels)
        if scores[parts].sum() > -np.inf:
            totals.append(scores[parts].sum())
            found.append(parts)
    log_z = np.logaddexp.reduce(totals) if totals else -np.inf
    assert graph.log_partition(shape, scores) == pytest.approx(log_z, abs=1e-9)
    answers = graph.best(shape, scores, 10_000)
    assert sorted(parts.tolist() for parts, _ in answers) == sorted(found)
    np.testing.assert_allclose([score for _, score in answers], sorted(totals, reverse=True), atol=1e-9)
    if not found:
        assert graph.best(shape, scores, 1) == []
        return
    expected, highest = np.zeros(n_parts), np.full(n_parts, -np.inf)
    for total, parts in zip(totals, found, strict=True):
        expected[parts] += np.exp(total - log_z)
        highest[parts] = np.maximum(highest[parts], total)
    np.testing.assert_allclose(graph.marginals(shape, scores), expected, atol=1e-9)
    np.testing.assert_allclose(graph.max_marginals(shape, scores), highest, atol=1e-9)
    assert len(graph.sample(shape, scores, 10_000, 3, True)) == len(found)


def test_masked_parts_are_in_no_output():
    graph, shape = structure([2], [(0, 0)]), shape_of([0, 0], [(0, 0, 1)])
    allowed = np.ones(8, dtype=np.uint8)
    allowed[[0, 7]] = 0  # node 0 not label 0; not both label 1
    ((parts, score),) = graph.best(shape, np.zeros(8), 10, allowed)
    assert graph.output_of(shape, parts).tolist() == [1, 0]
    assert score == 0.0


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([], "number of its nodes"),
        ([1, 0], "a type for each node"),
        ([1, 0, 7], "a type that is not there"),
        ([2, 1, 0, 0, 0, 0, 2], "a node that is not there"),
        ([2, 1, 0, 0, 0, 1, 1], "from a node to itself"),
        ([2, 1, 0, 0, 3, 0, 1], "a kind that is not there"),
        ([2, 1, 0, 1, 0, 0, 1], "types of its nodes"),
    ],
)
def test_shapes_that_are_no_graph_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        structure([2, 3], [(0, 0)]).blocks(numbers(shape))


def test_wrong_types_kinds_methods_and_labels_are_refused():
    for make in (lambda: structure([], []), lambda: structure([0], []), lambda: structure([2], [(0, 1)])):
        with pytest.raises(ValueError, match=r"node type|label"):
            make()
    with pytest.raises(ValueError, match="method"):
        structure([2], [(0, 0)], method="magic")
    with pytest.raises(ValueError, match="out of range for the type"):
        structure([2, 3], []).parts_of(shape_of([0], []), numbers([2]))


def test_what_is_too_wide_is_searched_unless_only_exact_answers_will_do():
    edges = [(0, a, b) for a, b in itertools.combinations(range(40), 2)]
    shape, scores = shape_of([0] * 40, edges), np.random.default_rng(0).normal(size=120 + 9 * len(edges))
    ((parts, score),) = structure([3], [(0, 0)], iterations=5).best(shape, scores)
    assert scores[parts].sum() == pytest.approx(score)
    assert len(parts) == 40 + len(edges)
    for question in (
        lambda: structure([3], [(0, 0)], method="exact").best(shape, scores),
        lambda: structure([3], [(0, 0)]).best(shape, scores, 2),
        lambda: structure([3], [(0, 0)]).log_partition(shape, scores),
    ):
        with pytest.raises(ValueError, match="too wide"):
            question()


def test_threads_share_what_is_known_of_shapes():
    graph = structure([3], [(0, 0)])
    rng = np.random.default_rng(0)
    shapes = [shape_of([0] * n, [(0, v, v + 1) for v in range(n - 1)]) for n in range(1, 40)]
    scores = [rng.normal(size=3 * n + 9 * (n - 1)) for n in range(1, 40)]
    expected = [structure([3], [(0, 0)]).log_partition(*one) for one in zip(shapes, scores, strict=True)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(graph.log_partition, shapes, scores)) == expected
