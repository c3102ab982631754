"""The drop-in for seqeval: its answers by definition, as the original gave them, and beside it where it is there."""

import hashlib
import importlib
import json
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from trelliswork.compat import install, uninstall
from trelliswork.compat.seqeval import metrics, scheme
from trelliswork.compat.seqeval.metrics import sequence_labeling, v1
from trelliswork.compat.seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2, Entities, Token, Tokens, auto_detect

SCHEMES = {"IOB1": "IOB", "IOB2": "IOB", "IOE1": "IOE", "IOE2": "IOE", "IOBES": "IOBES", "BILOU": "BILOU"}
TRUE = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
PRED = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]


def some_labels(prefixes, types=("PER", "LOC", "_")):
    spelled = ["O" if prefix == "O" else f"{prefix}-{kind}" for prefix in prefixes for kind in types]
    return st.sampled_from(sorted({*spelled, *prefixes}))


def sentences(labels, most=8):
    """Two lists of lists of labels of the same lengths."""
    pairs = st.lists(st.lists(st.tuples(labels, labels), max_size=most), min_size=1, max_size=5)
    return pairs.map(lambda y: tuple([[pair[side] for pair in sentence] for sentence in y] for side in (0, 1)))


def chunks_by_definition(labels):
    """What `start_of_chunk` and `end_of_chunk` say token by token."""
    found, begin, before = [], 0, ("O", "")
    for i, label in enumerate([*labels, "O"]):
        here = label[0], label[1:].split("-", maxsplit=1)[-1] or "_"
        between = before[0], here[0], before[1], here[1]
        if sequence_labeling.end_of_chunk(*between):
            found.append((before[1], begin, i - 1))
        if sequence_labeling.start_of_chunk(*between):
            begin = i
        before = here
    return found


def entities_by_definition(labels, scheme):
    """What the patterns of a scheme say token by token."""
    tokens = [scheme(label) for label in [*labels, "O"]]
    found, i, before = [], 0, scheme("O")
    while i < len(tokens):
        if tokens[i].is_start(before):
            end = i + 1
            while tokens[end].is_inside(tokens[end - 1]):
                end += 1
            if tokens[end].is_end(tokens[end - 1]):
                found.append((tokens[i].tag, i, end))
            i = end
        else:
            i += 1
        before = tokens[i - 1]
    return found


# ---- chunks ----------------------------------------------------------------------------------------------------------


@given(st.lists(some_labels("OBIES"), max_size=12))
def test_chunks_are_those_of_the_definition(labels):
    assert metrics.sequence_labeling.get_entities(labels) == chunks_by_definition(labels)


@given(st.lists(some_labels("OBIES"), max_size=12))
def test_a_suffix_says_what_a_prefix_does(labels):
    turned = [label if "-" not in label else "-".join(reversed(label.split("-"))) for label in labels]
    assert sequence_labeling.get_entities(turned, suffix=True) == sequence_labeling.get_entities(labels)


def test_sentences_are_chunks_one_after_the_other():
    y = [["O", "O", "O", "B", "I", "I", "O"], ["B", "I", "O"]]
    assert sequence_labeling.get_entities(y) == [("_", 3, 5), ("_", 8, 9)]


@pytest.mark.parametrize("name", SCHEMES)
def test_entities_are_those_of_the_patterns(name):
    @given(st.lists(some_labels(SCHEMES[name]), max_size=10))
    def agree(labels):
        own = getattr(scheme, name)
        found = [(entity.tag, entity.start, entity.end) for entity in Tokens(labels, own).entities]
        assert found == entities_by_definition(labels, own)
        assert [
            [entity.to_tuple()[1:] for entity in sentence] for sentence in Entities([labels, labels], own).entities
        ] == [
            found,
            found,
        ]

    agree()


def test_a_prefix_that_the_scheme_lacks_is_refused():
    with pytest.raises(ValueError, match=r"Invalid token is found: S-PER\. Allowed prefixes are: "):
        Tokens(["O", "S-PER"], IOB2).entities  # noqa: B018
    with pytest.raises(KeyError, match="X"):
        Entities([["X-PER"]], IOB2)


def test_schemes_that_never_end_an_entity_come_to_an_end():
    class Odd(Token):
        allowed_prefix = scheme.Prefix.ANY
        start_patterns = inside_patterns = end_patterns = ((scheme.Prefix.ANY, scheme.Prefix.ANY, scheme.Tag.ANY),)

    assert Tokens(["O", "O"], Odd).entities == []  # the original never returns


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["B-PER"], IOB2),
        (["I-PER", "B-PER", "O"], IOB2),
        (["E-PER", "O"], IOE2),
        (["B-PER", "E-PER"], IOBES),
        (["S-PER"], IOBES),
        (["O", "B-PER", "L-PER", "U-PER"], BILOU),
        (["U-PER"], BILOU),
    ],
)
def test_schemes_are_detected(labels, expected):
    assert auto_detect([labels]) is expected


@pytest.mark.parametrize("labels", [["I-PER"], ["O"], ["S-PER", "O"], ["X-PER"], ["B-PER", "E-PER", "L-PER"], []])
def test_other_schemes_are_not_supported(labels):
    with pytest.raises(ValueError, match="This scheme is not supported: "):
        auto_detect([labels])


def test_iob1_and_ioe1_are_not_detected_but_known():
    labels = ["I-PER", "B-PER"], ["I-PER", "E-PER", "E-PER"]
    assert [entity.to_tuple()[1:] for entity in Tokens(labels[0], IOB1).entities] == [("PER", 0, 1), ("PER", 1, 2)]
    assert [entity.to_tuple()[1:] for entity in Tokens(labels[1], IOE1).entities] == [("PER", 0, 2)]


# ---- scores and reports ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "strict"])
def test_reports_have_the_text_of_the_original(mode):
    expected = (
        "              precision    recall  f1-score   support\n\n"
        "        MISC     0.0000    0.0000    0.0000         1\n"
        "         PER     1.0000    1.0000    1.0000         1\n\n"
        "   micro avg     0.5000    0.5000    0.5000         2\n"
        "   macro avg     0.5000    0.5000    0.5000         2\n"
        "weighted avg     0.5000    0.5000    0.5000         2\n"
    )
    assert metrics.classification_report(TRUE, PRED, digits=4, mode=mode) == expected


def test_scores_are_averaged_as_asked():
    y_true = [["O", "O", "B-MISC", "I-MISC", "B-MISC", "O", "O"], ["B-PER", "I-PER", "O"]]
    y_pred = [["O", "O", "B-MISC", "I-MISC", "B-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    assert metrics.f1_score(y_true, y_pred) == pytest.approx(2 / 3)
    assert metrics.f1_score(y_true, y_pred, average="macro") == 0.75
    assert metrics.f1_score(y_true, y_pred, average=None).tolist() == [0.5, 1.0]
    assert metrics.precision_score(y_true, y_pred, average="weighted") == pytest.approx(2 / 3)
    assert metrics.recall_score(y_true, y_pred, average=None).tolist() == [0.5, 1.0]
    assert metrics.accuracy_score(y_true, y_pred) == 0.9
    assert metrics.performance_measure(y_true, y_pred) == {"TP": 5, "FP": 1, "FN": 0, "TN": 4}


def test_strict_scores_ask_for_more():
    y_true, y_pred = [["B-ORG", "I-ORG"]], [["I-ORG", "I-ORG"]]
    assert metrics.f1_score(y_true, y_pred) == 1
    with pytest.warns(UndefinedMetricWarning, match="Precision is ill-defined"):
        assert metrics.precision_score(y_true, y_pred, mode="strict", scheme=IOB2) == 0


@pytest.mark.parametrize(("mode", "own"), [(None, None), ("strict", IOB2)])
def test_what_is_undefined_is_warned_of(mode, own):
    with pytest.warns(UndefinedMetricWarning, match="F-score is ill-defined and being set to 0.0 due to no true nor"):
        metrics.f1_score([[]], [[]], mode=mode, scheme=own)
    with pytest.warns(RuntimeWarning):
        metrics.f1_score([[]], [[]], average="macro", mode=mode, scheme=own)
    assert metrics.f1_score([[]], [[]], mode=mode, scheme=own, zero_division=1) == 1.0


def test_labels_that_are_none_of_chunks_are_warned_of():
    with pytest.warns(UserWarning, match="MISC seems not to be NE tag"):
        sequence_labeling.get_entities(["O", "MISC", "MISC"])


@pytest.mark.parametrize(
    ("y_true", "y_pred", "error"),
    [
        ([["O"]], [[]], ValueError),
        ([()], [()], TypeError),
        (np.array([[]]), [[]], TypeError),
        ([], [], TypeError),
        ([["B"], []], [["B"], ["I"]], ValueError),
    ],
)
def test_what_does_not_fit_is_refused(y_true, y_pred, error):
    with pytest.raises(error, match="Found input variables with"):
        v1.check_consistent_length(y_true, y_pred)
    with pytest.raises(error):
        metrics.f1_score(y_true, y_pred)


def test_odd_arguments_are_refused():
    with pytest.raises(ValueError, match="average has to be one of"):
        metrics.f1_score(TRUE, PRED, average="samples")
    with pytest.raises(ValueError, match="beta should be >=0"):
        sequence_labeling.precision_recall_fscore_support(TRUE, PRED, beta=-1)


def reports(package, seed):
    """What a package (the drop-in or the original) says of labels that a seed makes: scores, warnings, errors."""
    rng = random.Random(seed)
    prefixes = rng.choice(["OBI", "OIE", "OBIES", "BILOU", "I", "O"])
    types = rng.sample(["PER", "LOC", "a-b", "", "long name of a type"], rng.randint(1, 4))
    suffix = rng.random() < 0.2
    labels = [f"{kind}-{prefix}" if suffix else f"{prefix}-{kind}" for prefix in prefixes for kind in types] + ["O"] * 3
    labels += rng.choice([[], ["MISC"], ["B"], ["X-PER"]]) if rng.random() < 0.3 else []
    lengths = [rng.randint(0, 9) for _ in range(rng.randint(1, 6))]
    y_true = [[rng.choice(labels) for _ in range(length)] for length in lengths]
    y_pred = [[label if rng.random() < 0.7 else rng.choice(labels) for label in sentence] for sentence in y_true]
    names, schemes = package("metrics.sequence_labeling"), package("scheme")
    own = rng.choice([None, *(getattr(schemes, name) for name in SCHEMES)])
    how = {"suffix": suffix, "zero_division": rng.choice(["warn", 0, 1])}
    asked = []
    for mode in (None, "strict"):
        strict = {"mode": mode, "scheme": own} | how
        digits = rng.randint(0, 6)
        asked.append(lambda s=strict, d=digits: names.classification_report(y_true, y_pred, digits=d, **s))
        asked.append(lambda s=strict: names.classification_report(y_true, y_pred, output_dict=True, **s))
        for average in (None, "micro", "macro", "weighted"):
            for score in (names.f1_score, names.precision_score, names.recall_score):
                asked.append(lambda s=strict, f=score, a=average: f(y_true, y_pred, average=a, **s))
    asked.append(lambda: names.precision_recall_fscore_support(y_true, y_pred, beta=rng.choice([0, 2, np.inf]), **how))
    asked.append(lambda: names.accuracy_score(y_true, y_pred))
    asked.append(lambda: names.performance_measure(y_true, y_pred))
    asked.append(lambda: names.get_entities(y_true, suffix))
    return [answer_of(ask) for ask in asked]


def answer_of(ask):
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            answer = told(ask())
        except (ValueError, KeyError, ZeroDivisionError, TypeError, IndexError) as error:
            answer = type(error).__name__, str(error)[:22]  # what follows depends on the release of Python
    return answer, sorted({(one.category.__name__, own_words(one.message)) for one in caught})


def own_words(message):
    return "" if isinstance(message, RuntimeWarning) else str(message)  # NumPy's words change


def told(value):
    if isinstance(value, dict):
        return {key: told(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [told(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def drop_in(name):
    return importlib.import_module(f"trelliswork.compat.seqeval.{name}")


# What the original, seqeval 1.2.2, said: the SHA-256 of the answers for seeds 0 to 299, as JSON.
ORIGINAL = "1a42a7f8ff8597a4703549cd70f5a4359a9bb2c0c872826c588695887dbadeed"


def test_answers_are_those_that_the_original_gave():
    said = json.dumps([reports(drop_in, seed) for seed in range(300)])
    assert hashlib.sha256(said.encode()).hexdigest() == ORIGINAL


@pytest.fixture
def original():
    found = importlib.util.find_spec("seqeval")
    if found is None:
        pytest.skip("seqeval, the original, is not installed")
    yield lambda name: importlib.import_module(f"seqeval.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "seqeval"]:
        del sys.modules[name]


def test_answers_are_those_of_the_original_beside_it(original):
    assert "trelliswork" not in original("metrics").f1_score.__module__

    @given(st.integers(300, 2**40))
    def agree(seed):
        assert json.dumps(reports(drop_in, seed)) == json.dumps(reports(original, seed))  # where NaN equals NaN

    agree()


# ---- in the place of the original ------------------------------------------------------------------------------------


def test_it_takes_the_place_of_the_original():
    install("seqeval")
    try:
        from seqeval.metrics import f1_score
        from seqeval.metrics.v1 import precision_recall_fscore_support
        from seqeval.reporters import DictReporter
        from seqeval.scheme import IOB2 as found

        assert f1_score is metrics.f1_score
        assert found is IOB2
        assert precision_recall_fscore_support is v1.precision_recall_fscore_support
        assert DictReporter.__module__ == "trelliswork.compat.seqeval.reporters"
    finally:
        uninstall("seqeval")


def test_the_shim_is_the_drop_in():
    import subprocess

    from trelliswork.compat import shim_folder

    program = "import seqeval.metrics; print(seqeval.metrics.f1_score.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(Path(shim_folder()))}
    )
    assert done.stdout.strip() == "trelliswork.compat.seqeval.metrics.sequence_labeling", done.stderr
