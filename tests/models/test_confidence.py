"""Confidence by its definition: shares of written-out lists, products over contexts, sums over every labelling."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.models.confidence import over_context

TOLERANCE = {"rtol": 1e-9, "atol": 1e-12}
X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "bark"], ["cats"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["N"]]


class Lists:
    """A model that has nothing but its lists of best labellings."""

    def __init__(self, lists):
        self.lists = lists

    def predict_kbest(self, X, k):
        return [self.lists[i][:k] for i, _ in enumerate(X)]


@st.composite
def ranked_lists(draw):
    lists = []
    for _ in range(draw(st.integers(1, 3))):
        T = draw(st.integers(0, 5))
        n = draw(st.integers(1, 6))
        scores = sorted(draw(st.lists(st.floats(-20, 0), min_size=n, max_size=n)), reverse=True)
        labels = st.lists(st.sampled_from("ABC"), min_size=T, max_size=T)
        lists.append([(draw(labels), score) for score in scores])
    return lists


@given(ranked_lists(), st.integers(1, 7))
def test_a_label_has_the_share_of_the_list_that_agrees_with_it(lists, k):
    for found, ranked in zip(tw.confidence(Lists(lists), lists, k=k), lists, strict=True):
        ranked = ranked[:k]
        best = ranked[0][0]
        assert found.labels == best
        for t, label in enumerate(best):
            assert found.label[t] == sum(labels[t] == label for labels, _ in ranked) / len(ranked)


@given(ranked_lists(), st.integers(1, 7))
def test_weighted_shares_count_labellings_by_their_probability(lists, k):
    for found, ranked in zip(tw.confidence(Lists(lists), lists, "weighted", k=k), lists, strict=True):
        p = np.exp([score for _, score in ranked[:k]])
        for t, label in enumerate(found.labels):
            agreeing = [labels[t] == label for labels, _ in ranked[:k]]
            np.testing.assert_allclose(found.label[t], p[agreeing].sum() / p.sum(), **TOLERANCE)
            assert (found.label[t] == 1.0) or not all(agreeing)
        np.testing.assert_allclose(found.sequence, p[0] / p.sum(), **TOLERANCE)


@given(ranked_lists(), st.integers(0, 6))
def test_a_context_has_the_product_of_its_labels(lists, context):
    for found in tw.confidence(Lists(lists), lists, context=context):
        T = len(found.labels)
        for t in range(T):
            inside = [found.label[i] for i in range(T) if abs(i - t) <= context]
            np.testing.assert_allclose(found.context[t], np.prod(inside), **TOLERANCE)
        np.testing.assert_allclose(found.sequence, np.prod(found.label), **TOLERANCE)


def test_figure_4_2():
    """Three paths that part at two positions: 2/3 and 1/3 there, and 1 elsewhere."""
    paths = [(list("AABBA"), 0.0), (list("AABCA"), -1.0), (list("AACCA"), -2.0)]
    found = tw.confidence(Lists([paths]), [list("vwxyz")], k=3)[0]
    np.testing.assert_allclose(found.label, [1, 1, 2 / 3, 1 / 3, 1])
    np.testing.assert_allclose(found.context, [1, 2 / 3, 2 / 9, 2 / 9, 1 / 3])


def test_a_full_agreement_over_a_context_is_exactly_one():
    assert over_context(np.ones(9), 3).tolist() == [1.0] * 9


@pytest.mark.parametrize("model", [tw.SequenceLabeler().fit(X, Y), tw.HMM().fit(X, Y)], ids=["CRF", "HMM"])
class TestProbabilities:
    NEW = (["the", "dogs", "bark"], ["cat"], [])

    def test_marginals_are_those_of_the_predicted_labels(self, model):
        tables = model.predict_marginals(self.NEW)
        for found, table in zip(tw.confidence(model, self.NEW, "marginals"), tables, strict=True):
            columns = [model.classes_.tolist().index(label) for label in found.labels]
            np.testing.assert_allclose(found.label, table[np.arange(len(columns)), columns])

    def test_a_list_of_all_labellings_by_weight_gives_the_marginals(self, model):
        by_list = tw.confidence(model, self.NEW, "weighted", k=1000)
        exactly = tw.confidence(model, self.NEW, "marginals")
        for one, other in zip(by_list, exactly, strict=True):
            np.testing.assert_allclose(one.label, other.label, rtol=1e-9)
            np.testing.assert_allclose(one.sequence, other.sequence, rtol=1e-9)

    def test_margins_are_distances_to_the_best_labelling_with_another_label(self, model):
        lists = model.predict_kbest(self.NEW, 1000)
        for found, ranked in zip(tw.confidence(model, self.NEW, "margins"), lists, strict=True):
            for t, label in enumerate(found.labels):
                other = max(score for labels, score in ranked if labels[t] != label)
                ahead = ranked[0][1] - other
                np.testing.assert_allclose(found.label[t], ahead / (1 + ahead), rtol=1e-9)
            ahead = ranked[0][1] - ranked[1][1] if len(ranked) > 1 else np.inf
            np.testing.assert_allclose(found.sequence, 1 - 1 / (1 + ahead), rtol=1e-9)

    def test_max_marginals_are_those_of_the_chain(self, model):
        for x, table in zip(self.NEW, model.predict_max_marginals(self.NEW), strict=True):
            np.testing.assert_allclose(table, model.chain(x).max_marginals(), rtol=1e-12)

    def test_margins_of_large_scores_are_told_apart(self, model):
        large = copy.copy(model)
        large.predict_kbest = lambda X, k: [[(labels, 1e6 * s) for labels, s in r] for r in model.predict_kbest(X, k)]
        large.predict_max_marginals = lambda X: [1e6 * table for table in model.predict_max_marginals(X)]
        one, other = (tw.confidence(each, self.NEW, "margins")[0].label for each in (model, large))
        assert np.argsort(one).tolist() == np.argsort(other).tolist()
        assert len(set(other.tolist())) == len(set(one.tolist()))

    def test_labels_are_those_of_predict(self, model):
        for method in ("kbest", "weighted", "margins", "marginals"):
            found = [each.labels for each in tw.confidence(model, self.NEW, method)]
            assert found == model.predict(self.NEW)

    def test_generators_will_do(self, model):
        given = (iter(x) for x in self.NEW)
        once = tw.confidence(model, given, "marginals")
        again = tw.confidence(model, self.NEW, "marginals")
        assert [each.label.tolist() for each in once] == [each.label.tolist() for each in again]


def test_all_is_between_zero_and_one():
    model = tw.SequenceLabeler().fit(X, Y)
    for method, k in itertools.product(("kbest", "weighted", "margins", "marginals"), (1, 4)):
        for found in tw.confidence(model, X, method, k=k):
            for values in (found.label, found.context, np.array([found.sequence])):
                assert ((values >= 0) & (values <= 1)).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "best"}, "'kbest', 'weighted', 'margins', 'marginals'"),
        ({"k": 0}, "k must"),
        ({"context": -1}, "context must"),
    ],
)
def test_wrong_arguments_are_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        tw.confidence(Lists([]), [], **given)
