"""`SequenceLabeler(at_most=..., at_least=...)`: counts are kept in training, in answers and in the model file."""

import io
import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference.orders import every_labelling
from trelliswork import learners
from trelliswork.errors import InvalidInput, Unsatisfiable

LABELS = ["A", "B", "C"]
WORDS = tw.Templates("word[-1..1]")
COUNTS = {"at_most": {"B": 1, ("A", "C"): 3}, "at_least": {"A": 1}}
BEST_ONLY = [name for name in learners.names() if name not in ("crf", "eg", "memm")]


def keeps(labels):
    return labels.count("B") <= 1 and labels.count("A") + labels.count("C") <= 3 and labels.count("A") >= 1


def corpus(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X, y = [], []
    while len(X) < n:
        T = int(rng.integers(1, 5))
        labels = rng.choice(LABELS, T).tolist()
        if keeps(labels):
            X.append(rng.choice(list("xyz"), T).tolist())
            y.append(labels)
    return [*X, ["x", "y", "z"]], [*y, ["A", "B", "C"]]


def fitted(learner="perceptron", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tw.SequenceLabeler(learner, WORDS, **{**COUNTS, **options}).fit(*corpus())


@pytest.mark.parametrize("name", BEST_ONLY)
def test_every_learner_of_best_outputs_trains_it_and_answers_by_its_weights(name):
    labeler = fitted(learners.by_name(name))
    for x in (["x"], ["x", "z", "y"], ["y", "y", "x", "x"]):
        listed = {y: s for y, s in every_labelling(labeler, WORDS.attributes([x])[0]) if keeps(y)}
        assert listed[tuple(labeler.predict([x])[0])] == pytest.approx(max(listed.values()), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["crf", "eg", "memm"])
def test_learners_that_ask_for_more_are_refused_with_the_question(name):
    question = {"crf": "expectations", "eg": "parts", "memm": "local"}[name]
    with pytest.raises(InvalidInput, match=f"asks for {question} .*which these examples do not answer"):
        fitted(learners.by_name(name))


def test_at_most_learns_what_the_automaton_of_the_same_rule_learns():
    X, y = corpus()
    learner = tw.CuttingPlane(tol=1e-8)  # one optimum, whichever of equal outputs is found first
    counted = tw.SequenceLabeler(learner, WORDS, at_most={"B": 1}).fit(X, y)
    rule = lambda labels: tw.Automaton.at_most(labels, "B", 1)  # noqa: E731
    ruled = tw.SequenceLabeler(learner, WORDS, automaton=rule).fit(X, y)
    found, expected = ({w[:-1]: w.weight for w in model.weights()} for model in (counted, ruled))
    for key in found.keys() | expected.keys():
        assert found.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), abs=1e-3)
    new = [["x", "z", "y", "y", "x"], ["z"] * 7]
    assert counted.predict(new) == ruled.predict(new)


def test_the_model_file_remembers_the_counts():
    labeler = fitted()
    file = io.BytesIO()
    labeler.save(file)
    file.seek(0)
    again = tw.load(file)
    assert (again.at_most, again.at_least) == (COUNTS["at_most"], COUNTS["at_least"])
    X = [["x", "y", "z", "x"], ["y", "y"], ["z", "z", "z"]]
    assert again.predict(X) == labeler.predict(X)
    assert all(keeps(labels) for labels in again.predict(X))
    assert again.fit(*corpus()).predict(X) == labeler.predict(X)


def test_a_file_with_counts_that_make_no_sense_is_refused():
    tensors, settings = fitted().exported()
    for counts in ([[["Q"], 0, 1]], [[["A"], -1, 1]], [[[], 0, 1]], ["A"], [[["A"], 2, 1.5]]):
        broken = {**settings, "structure": {**settings["structure"], "counts": counts}}
        with pytest.raises((ValueError, TypeError)):  # which loading takes for an unsound file
            tw.SequenceLabeler.restored(tensors, broken)


def test_limits_and_bias_hold_beside_counts():
    labeler = fitted()
    x = ["x", "y", "z", "x"]
    found = labeler.predict([x], fixed=[{1: "B"}], bias={"C": 50.0})[0]
    assert found[1] == "B"
    assert keeps(found)
    with pytest.raises(Unsatisfiable, match=r"X\[1\]"):
        labeler.predict([x, ["x"] * 6])


def test_orders_constraints_and_automata_stand_beside_counts():
    X, y = corpus()
    for options in ({"order": 2}, {"constraints": lambda a, b: (a, b) != ("C", "C")}, {"histories": "all", "order": 2}):
        kept = [i for i, labels in enumerate(y) if "CC" not in "".join(labels)]
        labeler = tw.SequenceLabeler("pa", WORDS, at_most={"B": 1}, **options)
        labeler.fit([X[i] for i in kept], [y[i] for i in kept])
        assert all(labels.count("B") <= 1 for labels in labeler.predict([["x", "q", "z", "y", "y"]]))
    rule = lambda labels: tw.Automaton.only_after(labels, "B", "A")  # noqa: E731
    kept = [i for i, labels in enumerate(y) if rule(LABELS).accepts(labels)]
    labeler = tw.SequenceLabeler("pa", WORDS, automaton=rule, at_most={"B": 1})
    found = labeler.fit([X[i] for i in kept], [y[i] for i in kept]).predict([["y"] * 5])[0]
    assert rule(LABELS).accepts(found)
    assert found.count("B") <= 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda m, X: m.predict_marginals(X),
        lambda m, X: m.predict_kbest(X, 2),
        lambda m, X: m.predict_max_marginals(X),
        lambda m, X: m.log_prob(X, [["A"]]),
        lambda m, X: m.calibrate(X, [["A"]]),
        lambda m, X: m.explain(X[0]),
        lambda m, X: m.chain(X[0]),
    ],
)
def test_what_needs_sums_is_refused(ask):
    with pytest.raises(InvalidInput, match=r"at_most or at_least|counts labels"):
        ask(fitted(), [["x"]])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"at_most": {"B": 0}}, r"y\[\d+\] has 'B' 1 times, which at_most={.B.: 0} does not allow"),
        ({"at_least": {("A", "C"): 3}}, r"y\[\d+\] has 'A' and 'C' \d times"),
        ({"at_most": {"Q": 1}}, "counts 'Q', which is not a label: these are A, B, C"),
        ({"at_most": {"B": -1}}, "must be at least 0"),
        ({"at_most": {"B": 1.5}}, "must be an integer"),
        ({"at_most": ["B"]}, "at_most must be a dict"),
        ({"at_least": {3: 1}}, "at_least has the key 3"),
        ({"decoder": "mbr"}, "decoder='mbr' needs probabilities"),
    ],
)
def test_bad_input_is_refused_and_named(options, said):
    with pytest.raises(InvalidInput, match=said):
        fitted(**options)


def test_labels_that_are_not_known_cannot_be_counted():
    X, y = corpus()
    with pytest.raises(InvalidInput, match="every token of y to have one label"):
        tw.SequenceLabeler("perceptron", WORDS, at_most={"B": 1}).fit(X, [*y[:-1], None])


def test_partial_fit_and_warm_start():
    X, y = corpus()
    labeler = tw.SequenceLabeler("perceptron", WORDS, at_most={"B": 1}, warm_start=True).fit(X, y)
    assert all(labels.count("B") <= 1 for labels in labeler.fit(X, y).predict(X))
    with pytest.raises(InvalidInput, match="partial_fit is for order=1 without an automaton or counts"):
        labeler.partial_fit(X, y)


def test_the_oracle_of_counts_answers_best_outputs_only():
    oracle = tw.SequenceLabeler("perceptron", WORDS, at_most={"B": 1}).oracle(*corpus())
    assert "argmax" in oracle.answers
    assert "kbest" in oracle.answers
    assert not {"expectations", "parts", "local"} & set(oracle.answers)


def test_a_sequence_that_is_too_short_for_its_counts_is_told_which_they_are():
    tagger = tw.SequenceLabeler("pa", at_least={"N": 1, "D": 1}).fit([["the", "dog"]], [["D", "N"]])
    with pytest.raises(ValueError, match=r"X\[1\]: at_least=\{'N': 1\}, at_least=\{'D': 1\} and the scores"):
        tagger.predict([["the", "dog"], ["dog"]])
