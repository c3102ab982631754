"""Every learner with every option of the labeler that changes the result: brute force or an identity confirms it.

An option is used or refused, never ignored. ``python tests/estimators/test_options.py`` prints the table.
"""

import os
import sys
import tempfile
import warnings

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import learners
from trelliswork.cli.checkpoint import Checkpoint

if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from reference.enumerated import Enumerated

RNG = np.random.default_rng(11)
LABELS = ["A", "B", "C"]
NAMES = ["u", "v", "w", "x", "y"]


def random_sequences(n):
    lengths = [int(length) for length in RNG.integers(2, 4, n)]

    def token():
        names = RNG.choice(NAMES, 2, replace=False).tolist()
        values = {name: float(value) / 64 for name, value in zip(names, RNG.integers(32, 96, 2), strict=True)}
        return {**values, "t": 1.0, "tt": 1.0} if "u" in names else values  # the last two always occur together

    X = [[token() for _ in range(length)] for length in lengths]
    return X, [[LABELS[int(k)] for k in RNG.integers(0, 3, length)] for length in lengths]


X, Y = random_sequences(6)
MORE_X, MORE_Y = random_sequences(6)
X[0], Y[0] = X[0][:2], ["A", "B"]  # all labels are there, and what the constraints forbid is not
WEIGHTS = [0.5, 2.0, 0.0, 1.25, 3.0, 0.75]
TOKEN_WEIGHTS = [RNG.choice([0.125, 1.0, 8.0], len(x)) for x in X]
CLASS_WEIGHTS = {"A": 0.125, "B": 8.0, "C": 1.5}
COST = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.5], [3.0, 0.25, 0.0]])
SEEN = {pair for y in Y for pair in zip([None, *y], [*y, None], strict=True)}

TIGHT = {
    "crf": {"l2": 0.5, "solver": "lbfgs", "tol": 1e-11},
    "memm": {"l2": 0.5, "solver": "lbfgs", "tol": 1e-11},
    "perceptron": {"epochs": 3, "shuffle": False},
    "pa": {"C": 0.3, "epochs": 3, "shuffle": False},
    "mira": {"C": 0.3, "k": 2, "epochs": 3, "shuffle": False},
    "sdm": {"C": 0.3, "epochs": 4, "tol": 0.0, "tau": 1e-9},
    "larank": {"C": 0.3, "epochs": 3, "tol": 0.0, "tau": 1e-9},
    "pegasos": {"lam": 0.1, "epochs": 4, "average_from": 1},
    "subgradient": {"lam": 0.1, "epochs": 3},
    "frank-wolfe": {"C": 0.3, "epochs": 4, "tol": 0.0},
    "cutting-plane": {"C": 0.3, "epochs": 40, "tol": 0.0},
    "dual-coordinate": {"C": 0.3, "epochs": 4, "tol": 0.0, "tau": 1e-9},
    "eg": {"l2": 0.5, "epochs": 4, "tol": 0.0},
    "arow": {"r": 2.0, "epochs": 3, "shuffle": False},
}
REFUSED = "refused"


def learner_of(name):
    return learners.by_name(name, **TIGHT[name])


def fitted(name, X=X, Y=Y, *, fit=None, **options):
    labeler = tw.SequenceLabeler(
        learner_of(name), "attributes", **{"combinations": "all", "random_state": 4, **options}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        return labeler.fit(X, Y, **(fit or {}))


def brute_force(name, every, start=None):
    """The weights that the learner finds when all labellings are listed."""
    learner = learner_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        if name == "memm":
            return tw.CRF(**TIGHT[name]).train(every.decisions(), weights=start, seed=4).weights
        return learner.train(every.oracle(), weights=start, seed=4).weights


def agrees(found, expected, what):
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    assert np.abs(expected).max() > 1e-3
    return what


def confirmed(name, reason, *, fit=None, options=None, **brute):
    """A cell that brute force confirms; and the option must have had an effect."""
    every = Enumerated(X, Y, **brute)
    found = every.vector(fitted(name, fit=fit, **(options or {})))
    agrees(found, brute_force(name, every), reason)
    assert not np.allclose(found, every.vector(fitted(name)), atol=1e-4), "no effect"
    return reason


def refused(call, words):
    with pytest.raises(tw.InvalidInput, match=words) as error:
        call()
    assert str(error.value)[-1] in ".)" or len(str(error.value).split()) > 8
    return REFUSED


def scores(labeler, X=X):
    return np.concatenate(labeler.predict_max_marginals(X))


def plain(name):
    every = Enumerated(X, Y)
    return agrees(every.vector(fitted(name)), brute_force(name, every), "brute force over all labellings")


def sample_weight(name):
    found = confirmed(name, "brute force", fit={"sample_weight": WEIGHTS}, sample_weight=WEIGHTS)
    without = [i for i, weight in enumerate(WEIGHTS) if weight]
    if name in ("crf", "memm"):  # the optimum of a sum
        twice = fitted(name, [*X, X[0]], [*Y, Y[0]])
        np.testing.assert_allclose(
            scores(fitted(name, fit={"sample_weight": [2.0] + [1.0] * 5})), scores(twice), atol=1e-4
        )
        found += ", weight 2 = given twice"
    if name in ("crf", "memm", "perceptron", "pa", "mira", "arow"):
        part = [X[i] for i in without], [Y[i] for i in without]
        of_part = fitted(name, *part, fit={"sample_weight": [WEIGHTS[i] for i in without]})
        np.testing.assert_allclose(
            scores(fitted(name, fit={"sample_weight": WEIGHTS}), part[0]), scores(of_part, part[0]), atol=1e-4
        )
        found += ", weight 0 = left out"
    return found


def token_weight(name):
    if name in ("perceptron", "eg"):
        return refused(lambda: fitted(name, fit={"token_weight": TOKEN_WEIGHTS}), "token_weight has no meaning for")
    if name == "crf":
        weights = [np.full(len(x), weight) for x, weight in zip(X, WEIGHTS, strict=True)]
        same = scores(fitted(name, fit={"sample_weight": WEIGHTS}))
        np.testing.assert_allclose(scores(fitted(name, fit={"token_weight": weights})), same, atol=1e-4)
        assert not np.allclose(scores(fitted(name, fit={"token_weight": TOKEN_WEIGHTS})), scores(fitted(name)))
        return "equal within a sequence = weight of the sequence (loss by enumeration: tests/training)"
    return confirmed(name, "brute force", fit={"token_weight": TOKEN_WEIGHTS}, token_weight=TOKEN_WEIGHTS)


def class_weight(name):
    if name in ("perceptron", "eg"):
        return refused(lambda: fitted(name, class_weight=CLASS_WEIGHTS), "class_weight has no meaning for")
    by_label = [[CLASS_WEIGHTS[label] for label in y] for y in Y]
    found = scores(fitted(name, class_weight=CLASS_WEIGHTS))
    np.testing.assert_array_equal(found, scores(fitted(name, fit={"token_weight": by_label})))
    assert not np.allclose(found, scores(fitted(name)), atol=1e-4)
    return "= token weights by label"


def cost(name):
    if not learner_of(name).costs:
        return refused(lambda: fitted(name, cost=COST), "does not look at costs")
    return confirmed(name, "brute force", options={"cost": COST}, cost=COST)


def constraints(name):
    def allows(before, after):
        return (before, after) in SEEN

    found = confirmed(name, "brute force over allowed labellings", options={"constraints": allows}, allows=allows)
    labeler = fitted(name, constraints=allows)
    found_pairs = {pair for y in labeler.predict(MORE_X) for pair in zip([None, *y], [*y, None], strict=True)}
    assert found_pairs <= SEEN
    assert len(SEEN) < 15
    return found


def partial_labels(name):
    known = [[*y[:-1], {"A", "B"}] for y in Y]
    if name in ("eg", "memm"):
        return refused(lambda: fitted(name, X, known), "give every example one gold output")
    one = scores(fitted(name, X, [[{label} for label in y] for y in Y]))
    np.testing.assert_allclose(one, scores(fitted(name)), atol=1e-5)
    some, none = [[*y[:-1], set(LABELS)] for y in Y], [[*y[:-1], None] for y in Y]
    np.testing.assert_allclose(scores(fitted(name, X, some)), scores(fitted(name, X, none)), atol=1e-5)
    if learner_of(name).sums:  # others visit it, though it teaches nothing
        unlabelled = fitted(name, [*X, X[0]], [*Y, None])
        np.testing.assert_allclose(scores(unlabelled), scores(fitted(name)), atol=1e-5)
    assert not np.allclose(scores(fitted(name, X, known)), scores(fitted(name)), atol=1e-4)
    return "{y} = y, all labels = None, no labels = left out (loss by enumeration: tests/training)"


def warm_start(name):
    labeler = fitted(name, MORE_X, MORE_Y, warm_start=True)
    every = Enumerated(X, Y, names=[*NAMES, "t", "tt"])
    start = every.vector(labeler)
    assert labeler.classes_.tolist() == LABELS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        labeler.fit(X, Y)
    return agrees(every.vector(labeler), brute_force(name, every, start), "brute force from the weights there were")


def partial_fit(name):
    labeler = fitted(name, MORE_X, MORE_Y)
    every = Enumerated(X, Y, names=[*NAMES, "t", "tt"])
    start = every.vector(labeler)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        labeler.partial_fit(X, Y)
    return agrees(every.vector(labeler), brute_force(name, every, start), "brute force from the weights there were")


def states_of(name):
    states = []
    whole = fitted(name, fit={"callback": lambda done: states.append(done.state()) and None})
    assert len(states) > 1
    return whole, states


def resume(name):
    whole, states = states_of(name)
    for state in states[:-1]:
        np.testing.assert_array_equal(scores(fitted(name, fit={"resume": state})), scores(whole))
    return "from every iteration = uninterrupted, to the last bit"


def checkpoint(name):
    whole, states = states_of(name)
    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoint(os.path.join(folder, "state"), {"learner": name}, seconds=0.0)
        kept.offer(lambda: states[0], at_once=True)
        np.testing.assert_array_equal(scores(fitted(name, fit={"resume": kept.load()})), scores(whole))
    return "through a file = uninterrupted, to the last bit"


def hash_bits(name):
    hashed = fitted(name, hash_bits=22)
    assert all(weight.attribute is None or weight.attribute.startswith("#") for weight in hashed.weights())
    np.testing.assert_allclose(scores(hashed), scores(fitted(name)), rtol=1e-5, atol=1e-5)
    few = fitted(name, hash_bits=1)
    assert len({weight.attribute for weight in few.weights()} - {None}) <= 2
    assert not np.allclose(scores(few), scores(fitted(name)), atol=1e-4)
    return "22 bits = not hashed"


def min_count(name):
    counts = {n: sum(n in token for x in X for token in x) for n in [*NAMES, "t", "tt"]}
    limit = sorted(counts.values())[2] + 1
    kept = [[{n: value for n, value in token.items() if counts[n] >= limit} for token in x] for x in X]
    found = scores(fitted(name, min_count=limit))
    np.testing.assert_allclose(found, scores(fitted(name, kept), kept), rtol=1e-5, atol=1e-5)
    assert not np.allclose(found, scores(fitted(name)), atol=1e-4)
    return "= rarer attributes removed by hand"


def combinations(name):
    every = Enumerated(X, Y, seen=True)
    seen = every.vector(fitted(name, combinations="seen"))
    found = agrees(seen, brute_force(name, every), "'seen' = brute force with these weights alone")
    if not learner_of(name).grows:
        refused(lambda: fitted(name, combinations="grown"), "combinations must be 'seen'")
        return found + "; 'grown' refused"
    grown = scores(fitted(name, combinations="grown"))
    np.testing.assert_allclose(grown, scores(fitted(name)), rtol=1e-5, atol=1e-5)
    return found + "; 'grown' = all"


def dev_set(name):
    best = fitted(name, fit={"X_dev": MORE_X, "y_dev": MORE_Y})
    assert best.history_[best.best_iteration_ - 1]["dev_score"] == max(r["dev_score"] for r in best.history_)
    stopped = fitted(name, fit={"callback": lambda done: done.number == best.best_iteration_})
    if name != "frank-wolfe" or best.best_iteration_ < best.n_iter_:
        np.testing.assert_array_equal(scores(best), scores(stopped))
    return "= stopped after the best iteration"


def patience(name):
    dev = {"X_dev": MORE_X, "y_dev": MORE_Y}
    patient = fitted(name, fit=dev, patience=1)
    dev_scores = [record["dev_score"] for record in fitted(name, fit=dev).history_]
    expected = next((i + 1 for i in range(1, len(dev_scores)) if dev_scores[i] <= max(dev_scores[:i])), len(dev_scores))
    assert patient.n_iter_ == expected
    refused(lambda: fitted(name, patience=1), "patience needs development data")
    return "ends at the first iteration that is no better; refused without data"


OPTIONS = {
    "(none)": plain,
    "sample_weight": sample_weight,
    "token_weight": token_weight,
    "class_weight": class_weight,
    "cost": cost,
    "constraints": constraints,
    "partial labels": partial_labels,
    "warm_start": warm_start,
    "partial_fit": partial_fit,
    "resume": resume,
    "checkpoint": checkpoint,
    "hash_bits": hash_bits,
    "min_count": min_count,
    "combinations": combinations,
    "dev set": dev_set,
    "patience": patience,
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", learners.names())
def test_an_option_has_the_effect_that_it_should_or_is_refused(name, option):
    assert OPTIONS[option](name)


def test_every_learner_has_a_row():
    assert set(TIGHT) == set(learners.names())


def print_table():
    """Print how each cell was confirmed."""
    reasons = []
    rows = []
    for name in learners.names():
        cells = []
        for check in OPTIONS.values():
            reason = check(name)
            if reason not in (REFUSED, *reasons):
                reasons.append(reason)
            cells.append("-" if reason == REFUSED else str(1 + reasons.index(reason)))
        rows.append([name, *cells])
    header = ["learner", *OPTIONS]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print("\n- refused with a sentence. Confirmed:")
    for number, reason in enumerate(reasons, 1):
        print(f"{number:3}  {reason}")


if __name__ == "__main__":
    print_table()
