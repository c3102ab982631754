"""`SequenceLabeler(automaton=...)`: every answer is that of enumeration, and every learner trains it."""

import io
import json
import pickle
import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference.orders import check_answers, every_labelling
from trelliswork import learners, models
from trelliswork.labels.constraints import constraints_of

LABELS = ["A", "B", "C"]
RULES = {
    "at most": lambda labels: tw.Automaton.at_most(labels, "B", 1),
    "only after": lambda labels: tw.Automaton.only_after(labels, "C", "A"),
    "both": lambda labels: tw.Automaton.at_most(labels, "B", 1) & tw.Automaton.only_after(labels, "C", "A"),
    # Ends only after an even number of As: a state that cannot end, and arcs that are never left out.
    "parity": lambda labels: tw.Automaton(
        labels, [(q, label, (q + 1) % 2 if label == "A" else q) for q in (0, 1) for label in labels], final=[0]
    ),
}
WORDS = tw.Templates("word[-1..1]")
ATTACHED = tw.Templates("word[-1..1]\npair: word\nngram: word")


def corpus(rule, seed=0, n=14, longest=5):
    """Sequences of letters whose labels the rule accepts."""
    automaton = RULES[rule](LABELS)
    rng = np.random.default_rng(seed)
    X, y = [], []
    while len(X) < n:
        T = int(rng.integers(1, longest + 1))
        labels = [str(label) for label in rng.choice(LABELS, T)]
        if automaton.accepts(labels):
            X.append([str(word) for word in rng.choice(list("xyz"), T)])
            y.append(labels)
    return [*X, ["x", "y", "z"]], [*y, ["A", "B", "A"]]


def fitted(rule="both", learner=None, features=WORDS, X=None, y=None, automaton=None, **options):
    if X is None:
        X, y = corpus(rule)
    learner = tw.CRF(l2=0.1, max_iter=15) if learner is None else learner
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tw.SequenceLabeler(learner, features, automaton=automaton or RULES[rule], **options).fit(X, y)


def enumerated(labeler, x, rule="both", features=WORDS, **options):
    automaton = RULES[rule](list(labeler.classes_)) if isinstance(rule, str) else rule
    names, pairs = (features.attributes([x], pair=pair)[0] for pair in (False, True))
    ngrams = [[f"word[0]={word}"] for word in x] if features is ATTACHED else None
    return list(every_labelling(labeler, names, pairs, ngrams, rule=automaton, **options))


@pytest.mark.parametrize("weights", ["none", "states", "arcs"])
@pytest.mark.parametrize("rule", list(RULES))
def test_answers_are_those_of_enumeration(rule, weights):
    labeler = fitted(rule, automaton_weights=weights)
    for x in (["x", "y"], ["x", "q", "y"], ["z", "x", "x", "y", "z"]):
        listed = enumerated(labeler, x, rule)
        check_answers(labeler, x, listed)
        total = np.logaddexp.reduce([score for _, score in listed])
        expected = np.array([score for _, score in listed]) - total
        found = labeler.log_prob([x] * len(listed), [list(labels) for labels, _ in listed])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        assert sum(map(labeler.explain(x).score, range(len(x)))) == pytest.approx(max(score for _, score in listed))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("histories", ["seen", "all"])
def test_orders_and_attached_templates_stand_beside_the_automaton(order, histories):
    labeler = fitted("both", features=ATTACHED, order=order, histories=histories, automaton_weights="arcs")
    for x in (["x"], ["z", "x", "x", "y"]):
        check_answers(labeler, x, enumerated(labeler, x, features=ATTACHED))


def test_a_label_that_may_not_come_speaks_against_itself_without_end():
    labeler = fitted("at most", automaton_weights="arcs")
    found = labeler.explain(["x", "y", "z"])
    after = found.labels.index("B") + 1 if "B" in found.labels[:-1] else None
    for t in range(3):
        assert (found.score(t, "B") == -np.inf) == (after is not None and t >= after)


def test_limits_bias_constraints_and_the_automaton_hold_together():
    X, y = corpus("both")
    rules = constraints_of(lambda before, after: (before, after) != ("B", "B"), LABELS)
    labeler = fitted(X=X, y=y, constraints=lambda before, after: (before, after) != ("B", "B"))
    x = ["x", "y", "z", "x"]
    listed = [
        (labels, score + 0.5 * labels.count("B") if labels[1] == "A" and labels[2] in "AB" else -np.inf)
        for labels, score in enumerated(labeler, x, constraints=rules)
    ]
    check_answers(labeler, x, listed, allowed=[[None, None, {"A", "B"}, None]], fixed=[{1: "A"}], bias={"B": 0.5})


@pytest.mark.parametrize("name", learners.names())
@pytest.mark.parametrize("weights", ["none", "arcs"])
def test_every_learner_trains_it_and_answers_by_its_weights(name, weights):
    X, y = corpus("both", n=8, longest=4)
    labeler = fitted("both", learners.by_name(name), X=X, y=y, automaton_weights=weights)
    x = ["x", "z", "y"]
    if name == "memm":
        assert labeler.predict_marginals([x])[0].sum() == pytest.approx(3.0)
        assert RULES["both"](LABELS).accepts(labeler.predict([x])[0])
        return
    listed = dict(enumerated(labeler, x))
    assert listed[tuple(labeler.predict([x])[0])] == pytest.approx(max(listed.values()), rel=1e-5, abs=1e-5)


def test_a_count_is_learned_that_no_bigram_knows():
    X = [["n"] * k for k in range(2, 9)] * 2
    y = [["NAME", "NAME", *["REST"] * (len(x) - 2)] for x in X]
    once = lambda labels: tw.Automaton.at_most(labels, "NAME", 2).relaxed()  # noqa: E731
    plain = tw.SequenceLabeler(tw.CRF(l2=0.01), tw.Templates("word")).fit(X, y)
    counting = fitted(None, tw.CRF(l2=0.01), tw.Templates("word"), X, y, once, automaton_weights="arcs")
    assert plain.predict(X) != y
    assert counting.predict(X) == y
    (broken,) = [w for w in counting.weights() if w.attribute == "in state 2" and w.label == "NAME"]
    assert broken.weight < 0  # although no gold has it


def test_the_decoder_of_least_risk_keeps_to_the_automaton():
    for weights in ("none", "arcs"):
        labeler = fitted("parity", decoder="mbr", automaton_weights=weights)
        X = corpus("parity", seed=5, n=30)[0]
        automaton = RULES["parity"](LABELS)
        assert all(automaton.accepts(labels) for labels in labeler.predict(X))


def test_spans_have_the_probability_of_all_labellings_that_spell_them():
    X = [["x", "y", "z", "x"], ["y", "z"], ["x", "x", "y"]] * 2
    y = [["B-P", "I-P", "O", "O"], ["O", "B-P"], ["B-P", "O", "O"]] * 2
    rule = lambda labels: tw.Automaton.at_most(labels, "B-P", 1)  # noqa: E731
    labeler = fitted(None, X=X, y=y, automaton=rule, constraints="BIO", automaton_weights="states")
    rules = constraints_of("BIO", list(labeler.classes_))
    listed = enumerated(labeler, X[0], rule(list(labeler.classes_)), constraints=rules)
    total = np.logaddexp.reduce([score for _, score in listed])
    (span,) = labeler.predict_spans([X[0]])[0]
    wanted = ("B-P", *["I-P"] * (span.stop - span.start - 1))
    same = [
        score
        for labels, score in listed
        if labels[span.start : span.stop] == wanted and labels[span.stop : span.stop + 1] != ("I-P",)
    ]
    assert span.probability == pytest.approx(np.exp(np.logaddexp.reduce(same) - total))


@pytest.mark.parametrize("learner", [tw.CRF(max_iter=15), tw.PassiveAggressive(epochs=3)], ids=["sums", "best"])
def test_partial_labels_are_summed_over_what_the_automaton_accepts(learner):
    X, y = corpus("both", 4)
    hidden = [
        [None if t % 3 == 1 else {"A", label} if t % 3 == 2 else label for t, label in enumerate(own)] for own in y
    ]
    labeler = fitted(X=[*X, ["x", "y"]], y=[*hidden, None], learner=learner, automaton_weights="arcs")
    x, known = ["x", "y", "z"], [None, {"A", "B"}, "C"]
    listed = enumerated(labeler, x)
    agree = [score for labels, score in listed if labels[1] in "AB" and labels[2] == "C"]
    expected = np.logaddexp.reduce(agree) - np.logaddexp.reduce([score for _, score in listed])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.UncalibratedScores)
        np.testing.assert_allclose(labeler.log_prob([x], [known]), [expected], rtol=1e-5)


@pytest.mark.parametrize("weights", ["none", "states", "arcs"])
def test_files_and_copies_answer_the_same(tmp_path, weights):
    labeler = fitted("both", automaton_weights=weights, features=ATTACHED)
    X, _ = corpus("both", seed=7)
    labeler.save(tmp_path / "model.tw")
    again = tw.load(tmp_path / "model.tw")
    assert again.automaton_weights == weights
    assert again.automaton.states == RULES["both"](LABELS).states
    assert again.automaton.labels == tuple(LABELS)
    copy = pickle.loads(pickle.dumps(again))  # what the file has is an automaton, not the function that made it
    for other in (again, copy):
        for mine, theirs in zip(labeler.predict_marginals(X), other.predict_marginals(X), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert other.weights() == labeler.weights()
    small = io.BytesIO()
    labeler.save(small, precision="int8", prune=1e-4)
    assert all(RULES["both"](LABELS).accepts(labels) for labels in tw.load(small.getvalue()).predict(X))


def test_states_of_any_kind_have_names_in_the_file():
    states = [("a", 1), frozenset("b"), 2.5, None]
    arcs = [(a, label, b) for a, b in zip(states, [*states[1:], states[0]], strict=True) for label in LABELS]
    X, y = corpus("both")
    labeler = fitted(X=X, y=y, automaton=tw.Automaton(LABELS, arcs), automaton_weights="states")
    file = io.BytesIO()
    labeler.save(file)
    again = tw.load(file.getvalue())
    assert again.automaton.states == (("a", 1), "frozenset({'b'})", 2.5, None)
    assert again.predict(X) == labeler.predict(X)


def test_an_unsound_file_is_refused():
    tensors, settings = fitted(automaton_weights="arcs").exported()
    wrong = json.loads(json.dumps(settings))
    for states in (wrong["structure"]["states"][:-1], [[]] * 3, 7, None):
        wrong["structure"]["states"] = states
        with pytest.raises(models.InvalidModel):
            tw.load(models.dumps(tensors, wrong))
    for name in [name for name in tensors if name.startswith(("structure.", "rule.", "channel.arc"))]:
        for broken in (None, np.full(5, 9, dtype=np.asarray(tensors[name]).dtype)):
            parts = {key: part for key, part in tensors.items() if key != name}
            if broken is not None:
                parts[name] = broken
            with pytest.raises(models.InvalidModel):
                tw.load(models.dumps(parts, settings))


def test_an_oracle_of_it_trains_as_any_other():
    X, y = corpus("both")
    labeler = tw.SequenceLabeler(tw.CRF(l2=0.1), WORDS, automaton=RULES["both"], automaton_weights="arcs")
    found = tw.CRF(l2=0.1).train(tw.oracle(labeler, X, y))
    assert found.objective == pytest.approx(labeler.fit(X, y).history_[-1]["objective"], rel=1e-6)


def test_threads_change_no_bit():
    X, y = corpus("both", 5, n=40)
    one, two = (fitted(X=X, y=y, automaton_weights="arcs", n_jobs=n) for n in (1, 2))
    assert one.weights() == two.weights()
    for mine, other in zip(one.predict_marginals(X), two.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_rule_of_everything_is_the_chain():
    X, y = corpus("both")
    chain = tw.SequenceLabeler(tw.CRF(l2=0.1), WORDS).fit(X, y)
    free = fitted(X=X, y=y, learner=tw.CRF(l2=0.1), automaton=tw.Automaton(LABELS, [(0, k, 0) for k in LABELS]))
    assert free.history_[-1]["objective"] == pytest.approx(chain.history_[-1]["objective"], rel=1e-4)


def test_a_warm_start_goes_on_with_the_weights_of_states_and_arcs():
    X, y = corpus("both", n=20)
    for weights in ("states", "arcs"):
        labeler = fitted(X=X, y=y, learner=tw.CRF(l2=0.1), automaton_weights=weights, warm_start=True)
        first = labeler.n_iter_
        labeler.fit(X, y)
        assert labeler.n_iter_ < first / 2
        labeler.fit([*X, ["q"]], [*y, ["D"]])  # another label: the arcs of the automaton have other numbers
        assert labeler.predict([["q"]]) == [["D"]]


def test_a_run_is_resumed_with_the_same_automaton_alone():
    X, y = corpus("both")
    states = []
    labeler = tw.SequenceLabeler(tw.Perceptron(epochs=3), WORDS, automaton=RULES["both"], automaton_weights="arcs")
    labeler.fit(X, y, callback=lambda progress: states.append(progress.state()))
    whole = labeler.weights()
    assert labeler.fit(X, y, resume=states[0]).weights() == whole
    with pytest.raises(tw.InvalidInput, match="automaton"):
        labeler.set_params(automaton=RULES["at most"]).fit(X, y, resume=states[0])


def test_an_automaton_by_names_is_taken_over_to_the_labels_of_the_data():
    X, y = corpus("both")
    rule = tw.Automaton.at_most(["C", "X", "B", "A"], "B", 1)
    labeler = fitted(X=X, y=y, automaton=rule)
    assert labeler.predict(X) == fitted("at most", X=X, y=y).predict(X)
    assert labeler.get_params()["automaton"] is rule
    numbered = fitted(X=X, y=y, automaton=tw.Automaton.at_most(3, 1, 1))
    assert numbered.predict(X) == labeler.predict(X)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        (
            {"automaton": RULES["at most"]},
            ["A", "B", "B"],
            r"y\[0\]\[2\] is 'B', which the automaton forbids in state 1",
        ),
        ({"automaton": RULES["parity"]}, ["A", "B", "C"], r"y\[0\] ends after 3 labels in state 1, where .* no end"),
        (
            {"automaton": lambda labels: tw.Automaton.at_most(labels, ["B", "C"], 1)},
            [{"A", "B"}, "C", None, {"B", "C"}],
            r"accepts no labelling of y\[0\]: the last is lost at y\[0\]\[3\]",
        ),
        ({"automaton": lambda labels: labels}, "ABC", "function of the labels that returns one, but it returned list"),
        ({"automaton": "at most"}, "ABC", "automaton must be an Automaton, or a function of the labels.* not str"),
        ({"automaton": tw.Automaton.at_most(["A", "B"], "B", 2)}, "ABC", "does not know the label 'C', only A, B"),
        ({"automaton": tw.Automaton.at_most(4, 1, 2)}, "ABC", "4 labels without names, but there are 3: A, B, C"),
        (
            {"automaton": lambda labels: tw.Automaton(labels, [(0, "A", 0), (0, "B", 1)], final=[0])},
            "AAB",
            "no final state can be reached from state 1",
        ),
        ({"automaton_weights": "arcs"}, "ABC", "there is no automaton"),
        ({"automaton": RULES["at most"], "automaton_weights": "all"}, "ABC", "automaton_weights is 'all'; expected"),
        ({"automaton": RULES["at most"], "combinations": "transitions"}, "ABC", "without an automaton"),
    ],
)
def test_what_cannot_be_is_refused(options, y, message):
    with pytest.raises(tw.InvalidInput, match=message):
        tw.SequenceLabeler(**options).fit([["x"] * len(y)], [list(y)])


def test_partial_labels_that_automaton_and_constraints_allow_only_apart_are_refused():
    rule = tw.Automaton.at_most(LABELS, "B", 1)
    labeler = tw.SequenceLabeler(automaton=rule, constraints=lambda before, after: (before, after) != ("A", "A"))
    with pytest.raises(ValueError, match=r"y\[0\] has no labelling that .* allow together"):
        labeler.fit([["x"] * 4, ["x"]], [[{"A", "B"}] * 4, ["C"]])


def test_what_chains_alone_have_says_so():
    labeler = fitted()
    with pytest.raises(tw.InvalidInput, match="a Chain is of order 1, and this model has an automaton"):
        labeler.chain(["x"])
    with pytest.raises(tw.InvalidInput, match="partial_fit is for order=1 without an automaton"):
        labeler.partial_fit(*corpus("both"))
    with pytest.raises(tw.InvalidInput, match="the other has none"):
        fitted(order=2).set_params(automaton=None, warm_start=True).fit(*corpus("both"))


def test_a_length_that_the_automaton_does_not_have_is_said_to_be_impossible():
    pairs = tw.Automaton(["A", "B"], [(0, "A", 1), (1, "B", 0)], final=[0])
    labeler = fitted(X=[["x", "y"]], y=[["A", "B"]], automaton=pairs)
    assert labeler.predict([["x"] * 4, []]) == [["A", "B", "A", "B"], []]
    with pytest.raises(tw.Unsatisfiable, match=r"X\[1\]"):
        labeler.predict([["x", "y"], ["x"]])
