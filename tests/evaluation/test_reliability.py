"""Calibration: by hand, against loops over tokens, and on labels drawn from the marginals themselves."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.evaluation import calibration

CLASSES = ["A", "B", "C"]


@st.composite
def marked_marginals(draw):
    """Draw marginals of a few sequences and gold labels, one of which no column has."""
    lengths = draw(st.lists(st.integers(0, 5), max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    marginals = [rng.dirichlet([0.3] * 3, size=length) for length in lengths]
    return marginals, [rng.choice([*CLASSES, "D"], size=length).tolist() for length in lengths]


def events(marginals, y_true, of):
    """The confidences and whether they are right, one by one."""
    for p, gold in zip(marginals, y_true, strict=True):
        for row, label in zip(p, gold, strict=True):
            best = max(range(3), key=lambda k: (row[k], -k))
            for k in range(3) if of == "all" else [best]:
                yield row[k], CLASSES[k] == label


@given(marked_marginals(), st.sampled_from(["best", "all"]), st.integers(1, 12))
def test_bins_equal_loops(drawn, of, n_bins):
    result = calibration(*drawn, CLASSES, n_bins=n_bins, of=of)
    pairs = list(events(*drawn, of))
    error = 0.0
    for b in range(n_bins):
        low, high = result.edges[b : b + 2]
        inside = [(c, right) for c, right in pairs if low <= c < high or c == high == 1.0]
        assert result.counts[b] == len(inside)
        if inside:
            np.testing.assert_allclose(result.confidence[b], np.mean([c for c, _ in inside]), rtol=1e-12)
            np.testing.assert_allclose(result.accuracy[b], np.mean([right for _, right in inside]), rtol=1e-12)
            error += len(inside) / len(pairs) * abs(result.confidence[b] - result.accuracy[b])
        else:
            assert math.isnan(result.confidence[b])
            assert math.isnan(result.accuracy[b])
    if pairs:
        np.testing.assert_allclose(result.expected_calibration_error, error, rtol=1e-12, atol=1e-15)
        assert result.maximum_calibration_error >= result.expected_calibration_error - 1e-12


@given(marked_marginals())
def test_proper_scores_equal_loops(drawn):
    brier, log_loss, n = 0.0, 0.0, 0
    for p, gold in zip(*drawn, strict=True):
        for row, label in zip(p, gold, strict=True):
            columns = dict(zip([*CLASSES, "D"], [*row, 0.0], strict=True))
            brier += sum((q - (k == label)) ** 2 for k, q in columns.items())
            log_loss += -math.log(columns[label]) if columns[label] > 0 else math.inf
            n += 1
    result = calibration(*drawn, CLASSES)
    assert result.n_tokens == n
    if n:
        np.testing.assert_allclose(result.brier_score, brier / n, rtol=1e-12)
        np.testing.assert_allclose(result.log_loss, log_loss / n, rtol=1e-12)


def test_worked_by_hand():
    marginals = [[[0.95, 0.05], [0.85, 0.15]], [[0.35, 0.65]]]
    result = calibration(marginals, [["A", "B"], ["B"]], ["A", "B"], n_bins=2)
    assert result.counts.tolist() == [0, 3]
    assert result.expected_calibration_error == pytest.approx(2.45 / 3 - 2 / 3)
    assert result.brier_score == pytest.approx((2 * 0.05**2 + 2 * 0.85**2 + 2 * 0.35**2) / 3)
    assert result.log_loss == pytest.approx(-math.log(0.95 * 0.15 * 0.65) / 3)


def test_an_edge_belongs_to_the_bin_above_and_one_to_the_last():
    result = calibration([[[0.5, 0.5], [1.0, 0.0]]], [["A", "A"]], ["A", "B"], n_bins=2, of="all")
    assert result.counts.tolist() == [1, 3]


def test_labels_drawn_from_the_marginals_are_calibrated():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5] * 3, size=40000)
    gold = [CLASSES[k] for k in (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)]
    for of in ("best", "all"):
        honest = calibration([p], [gold], CLASSES, of=of)
        sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
        boastful = calibration([sharper], [gold], CLASSES, of=of)
        assert honest.expected_calibration_error < 0.01  # measured: 0.0043 and 0.0030
        assert boastful.expected_calibration_error > 5 * honest.expected_calibration_error
        assert honest.brier_score < boastful.brier_score
        assert honest.log_loss < boastful.log_loss


def test_marginals_of_a_model_that_drew_its_labels_are_calibrated():
    rng = np.random.default_rng(1)
    transitions = rng.normal(size=(3, 3))
    marginals, gold = [], []
    for _ in range(300):
        chain = tw.Chain(2 * rng.normal(size=(20, 3)), transitions)
        marginals.append(chain.marginals())
        gold.append([CLASSES[k] for k in chain.sample(1, random_state=rng)[0]])
    assert calibration(marginals, gold, CLASSES).expected_calibration_error < 0.02  # measured: 0.0100


def test_chosen_labels_need_not_be_the_most_probable():
    result = calibration([[[0.6, 0.4]]], [["B"]], ["A", "B"], y_pred=[["B"]])
    assert np.flatnonzero(result.counts).tolist() == [4]
    assert (result.confidence[4], result.accuracy[4]) == (0.4, 1.0)


def test_tokens_without_a_gold_label_are_left_out():
    result = calibration([[[0.6, 0.4], [0.0, 1.0]]], [[None, "B"]], ["A", "B"])
    assert (result.n_tokens, result.counts.sum(), result.brier_score) == (1, 1, 0.0)
    chosen = calibration([[[0.6, 0.4], [0.0, 1.0]]], [[None, "B"]], ["A", "B"], y_pred=[["A", "B"]])
    assert chosen.as_dict() == result.as_dict()


@pytest.mark.parametrize(
    ("marginals", "gold"), [([], []), ([[]], [[]]), ([np.zeros((0, 2))], [[]]), ([[[1, 0]]], [[None]])]
)
def test_nothing_has_no_calibration(marginals, gold):
    result = calibration(marginals, gold, ["A", "B"])
    assert result.n_tokens == 0
    assert math.isnan(result.expected_calibration_error)
    assert math.isnan(result.maximum_calibration_error)
    assert json.loads(json.dumps(result.as_dict()))["log_loss"] is None
    assert "nan" in str(result)


def test_as_dict_is_json_even_with_an_infinite_loss():
    result = calibration([[[1.0, 0.0]]], [["B"]], ["A", "B"], n_bins=1)
    assert result.log_loss == math.inf
    answer = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert answer["log_loss"] is None
    assert answer["bins"] == [{"from": 0.0, "to": 1.0, "confidence": 1.0, "accuracy": 0.0, "count": 1}]


def test_generators_single_precision_and_array_classes_are_taken():
    p = np.random.default_rng(0).dirichlet([1.0] * 3, size=50).astype(np.float32)
    gold = ["A"] * 50
    result = calibration((q for q in [p]), iter([iter(gold)]), np.array(CLASSES, dtype=object))
    assert result.n_tokens == 50


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"marginals": [[[0.5, 0.5]]]}, r"marginals\[0\] has the shape \(1, 2\); expected \(2, 2\)"),
        ({"marginals": [[[0.5, 0.2, 0.3]] * 2]}, r"marginals\[0\] has the shape \(2, 3\)"),
        ({"marginals": [[[0.5, 0.5], [0.9, 0.9]]]}, r"marginals\[0\]\[1\] is \[0.9, 0.9\].* sum to 1"),
        ({"marginals": [[[0.5, 0.5], [1.5, -0.5]]]}, r"marginals\[0\]\[1\]"),
        ({"marginals": [[[0.5, 0.5], [math.nan, 1.0]]]}, r"marginals\[0\]\[1\]"),
        ({"marginals": [[["a", "b"]] * 2]}, r"marginals\[0\] is .* expected a \(T, K\) array"),
        ({"marginals": []}, "marginals has 0 sequences but y_true has more"),
        ({"marginals": None}, "marginals is None"),
        ({"y_true": None}, "y_true is None"),
        ({"y_true": ["A"]}, r"y_true\[0\] is 'A'"),
        ({"classes": ["A", "A"]}, "each of them once"),
        ({"classes": "AB"}, "classes is 'AB'"),
        ({"classes": [["A"], ["B"]]}, "classes is .* for each column"),
        ({"n_bins": 0}, "n_bins is 0"),
        ({"n_bins": 2.5}, "n_bins is 2.5"),
        ({"of": "gold"}, "of is 'gold'"),
        ({"of": "all", "y_pred": [["A", "B"]]}, "leave it out"),
        ({"y_pred": [["A", "X"]]}, r"y_pred\[0\]\[1\] is 'X' \(str\), which is not in classes"),
        ({"y_pred": [["A"]]}, r"y_pred\[0\] has 1 labels but y_true\[0\] has 2"),
    ],
)
def test_bad_input_is_refused(change, says):
    good = {"marginals": [[[0.5, 0.5], [0.5, 0.5]]], "y_true": [["A", "B"]], "classes": ["A", "B"]}
    with pytest.raises(InvalidInput, match=says):
        calibration(**{**good, **change})
