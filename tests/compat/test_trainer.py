"""The drop-in's trainer: CRFsuite's features, objective, parameters and messages."""

import itertools
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trelliswork.compat.pycrfsuite import BaseTrainer, CRFSuiteError, ItemSequence, Tagger, Trainer
from trelliswork.compat.pycrfsuite._parameters import ALGORITHMS

ALGORITHM_NAMES = ("lbfgs", "l2sgd", "ap", "pa", "arow")


def trained(data, path, algorithm="lbfgs", holdout=-1, groups=None, **params):
    trainer = Trainer(algorithm, {name.replace("__", "."): value for name, value in params.items()}, verbose=False)
    for i, (x, y) in enumerate(data):
        trainer.append(x, y, 0 if groups is None else groups[i])
    trainer.train(str(path), holdout)
    return trainer


def opened(path):
    tagger = Tagger()
    tagger.open(str(path))
    return tagger


def generated(data, min_frequency, states, transitions):
    """The features that CRFsuite makes, by its rules, one by one."""
    found = defaultdict(float)
    labels = list(dict.fromkeys(y for _, labels in data for y in labels))
    for x, y in data:
        for item, label in zip(x, y, strict=True):
            for name, value in item:
                found[name, label] += value
                if states:
                    for other in labels:
                        found[name, other] += 0.0
        for pair in itertools.pairwise(y):
            found[pair, None] += 1.0
    if transitions:
        for pair in itertools.product(labels, repeat=2):
            found[pair, None] += 0.0
    return {feature for feature, frequency in found.items() if frequency >= min_frequency}


VALUES = st.sampled_from([1.0, 1.0, 0.0, -1.0, 2.0, 0.5])
ITEMS = st.lists(st.tuples(st.sampled_from("abcd"), VALUES), max_size=4, unique_by=lambda pair: pair[0])
SEQUENCES = st.lists(st.tuples(ITEMS, st.sampled_from("XYZ")), max_size=4)


@settings(max_examples=60)
@given(
    st.lists(SEQUENCES, min_size=1, max_size=5),
    st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(ALGORITHM_NAMES),
)
def test_features_are_those_of_crfsuite(tmp_path_factory, data, least, states, transitions, algorithm):
    pairs = [([item for item, _ in sequence], [label for _, label in sequence]) for sequence in data]
    expected = generated(pairs, least, states, transitions)
    trainer = Trainer(algorithm, {"max_iterations": 3}, verbose=False)
    trainer.set_params(
        {"feature.minfreq": least, "feature.possible_states": states, "feature.possible_transitions": transitions}
    )
    for x, y in pairs:
        trainer.append([dict(item) for item in x], y)
    path = str(tmp_path_factory.mktemp("features") / "model")
    trainer.train(path)
    assert trainer.logparser.featgen_num_features == len(expected)
    if any(y for _, y in pairs):
        info = opened(path).info()
        assert {(name, label) for name, label in info.state_features} <= expected
        assert {(pair, None) for pair in info.transitions} <= expected


def objective(tagger, data, c2):
    """CRFsuite's: the sum of -log p(y | x), and c2 times the squared norm."""
    total = 0.0
    for x, y in data:
        tagger.set(x)
        total -= np.log(tagger.probability(y))
    _, _, _, weights = tagger._model.weights()
    moves = [weight for *_, weight in tagger._model.transitions()]
    return total + c2 * (np.sum(weights**2) + np.sum(np.square(moves)))


DATA = [
    ([{"w": "the"}, {"w": "dog", "up": False}, {"w": "barks", "up": 0.5}], ["D", "N", "V"]),
    ([{"w": "a"}, {"w": "dog", "up": True}], ["D", "N"]),
    ([{"w": "dogs", "up": 2.0}, {"w": "bark"}], ["N", "V"]),
] * 3


def test_the_loss_told_is_the_objective_of_the_model(tmp_path):
    trainer = trained(DATA, tmp_path / "m", c2=0.3, delta=0.0, epsilon=1e-9)
    found = objective(opened(tmp_path / "m"), DATA, 0.3)
    assert trainer.logparser.last_iteration["loss"] == pytest.approx(found, abs=2e-6)


def test_no_weight_can_be_moved_to_a_lower_objective(tmp_path):
    trained(DATA, tmp_path / "m", c2=0.3, delta=0.0, epsilon=1e-9, feature__possible_transitions=True)
    data = (tmp_path / "m").read_bytes()
    least = objective(opened(tmp_path / "m"), DATA, 0.3)
    n = int.from_bytes(data[56:60], "little")
    assert n > 10
    for feature, step in itertools.product(range(n), (0.01, -0.01)):
        at = 60 + 20 * feature + 12
        moved = np.frombuffer(data[at : at + 8], "<f8")[0] + step
        tagger = Tagger()
        tagger.open_inmemory(data[:at] + np.float64(moved).tobytes() + data[at + 8 :])
        assert objective(tagger, DATA, 0.3) > least


@pytest.mark.parametrize("algorithm", ALGORITHM_NAMES)
def test_every_algorithm_learns(tmp_path, algorithm):
    trainer = trained(DATA, tmp_path / "m", algorithm)
    tagger = opened(tmp_path / "m")
    assert tagger.labels() == ["D", "N", "V"]
    assert all(tagger.tag(x) == y for x, y in DATA)
    events = list(dict.fromkeys(event for event, _, _ in trainer.logparser.events))
    expected = ["start", "featgen_progress", "featgen_end", "prepared", "iteration", "optimization_end", "end"]
    assert events == expected
    assert trainer.logparser.featgen_percent == 100


@pytest.mark.parametrize(
    "params",
    [
        {"algorithm": "pa", "type": 0},
        {"algorithm": "pa", "type": 2, "c": 0.1, "error_sensitive": False},
        {"algorithm": "pa", "averaging": False, "epsilon": 0.5},
        {"algorithm": "arow", "gamma": 0.1, "variance": 2.0},
        {"algorithm": "lbfgs", "c1": 0.1, "linesearch": "Backtracking", "num_memories": 3},
        {"algorithm": "lbfgs", "c1": 0.0, "c2": 0.0, "max_iterations": 20},
        {"algorithm": "lbfgs", "period": 0},
        {"algorithm": "l2sgd", "c2": 0.01, "period": 3, "delta": 0.1},
    ],
)
def test_parameters_of_the_algorithms(tmp_path, params):
    trained(DATA, tmp_path / "m", **params)
    tagger = opened(tmp_path / "m")
    assert all(tagger.tag(x) == y for x, y in DATA)


def test_l1_leaves_features_out(tmp_path):
    counts = []
    for c1 in (0.0, 0.3, 30.0):
        trained(DATA, tmp_path / "m", c1=c1, c2=0.01)
        counts.append(len(opened(tmp_path / "m").info().state_features))
    assert counts[0] > counts[1] > counts[2]


def test_max_iterations(tmp_path):
    for algorithm in ALGORITHM_NAMES:
        assert len(trained(DATA, tmp_path / "m", algorithm, max_iterations=2).logparser.iterations) <= 2


def test_labels_are_numbered_as_they_appear_in_all_groups(tmp_path):
    data = [([["x"]], ["C"]), ([["y"]], ["A"]), ([["z"]], ["B"])]
    trainer = trained(data, tmp_path / "m", groups=[1, 0, 0], holdout=1)
    tagger = opened(tmp_path / "m")
    assert tagger.labels() == ["C", "A", "B"]
    assert set(tagger.info().attributes) == {"y", "z"}
    last = trainer.logparser.last_iteration
    assert last["scores"]["C"].ref == 1
    assert last["scores"]["A"].precision is None
    assert last["item_accuracy"] == 1
    assert last["instance_accuracy_float"] == 1.0


def test_evaluation_of_the_held_out_group(tmp_path):
    trainer = trained([*DATA, *DATA[:3]], tmp_path / "m", groups=[0] * 9 + [2] * 3, holdout=2)
    last = trainer.logparser.last_iteration
    assert last["item_accuracy"] == last["instance_accuracy"] == 1
    assert last["avg_f1"] == pytest.approx(1.0)
    assert last["scores"]["N"]._asdict() == dict(match=3, model=3, ref=3, precision=1.0, recall=1.0, f1=1.0)
    assert trainer.logparser.log[0] == "Holdout group: 3\n"


def test_a_trainer_may_train_twice_and_forget(tmp_path):
    trainer = Trainer(verbose=False)
    for x, y in DATA:
        trainer.append(x, y)
    trainer.train(str(tmp_path / "a"))
    trainer.train(str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    trainer.clear()
    trainer.append([["x"]], ["A"])
    trainer.train(str(tmp_path / "a"))
    assert opened(tmp_path / "a").labels() == ["A"]


def test_items_that_were_read_before(tmp_path):
    trainer = Trainer(verbose=False)
    for x, y in DATA:
        trainer.append(ItemSequence(x), tuple(y))
    trainer.train(str(tmp_path / "a"))
    trained(DATA, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("algorithm", ALGORITHM_NAMES)
def test_training_without_data(tmp_path, algorithm):
    trainer = Trainer(algorithm, verbose=False)
    trainer.train(str(tmp_path / "m"))
    trainer.append([], [])
    trainer.train(str(tmp_path / "m"))
    with pytest.raises(ValueError, match="no labels"):
        opened(tmp_path / "m")


def test_training_when_no_feature_is_frequent_enough(tmp_path):
    trainer = trained(DATA, tmp_path / "m", feature__minfreq=1000)
    assert trainer.logparser.featgen_num_features == 0
    assert opened(tmp_path / "m").tag(DATA[0][0]) == ["D"] * 3


def test_where_models_go(tmp_path):
    trainer = Trainer(verbose=False)
    trainer.append([["x"]], ["A"])
    trainer.train("")
    with pytest.warns(RuntimeWarning, match="was not written") as told:
        trainer.train(str(tmp_path / "none" / "m"))
    assert told[0].filename == __file__
    with pytest.raises(TypeError):
        trainer.train(tmp_path / "m")
    trainer.train(str(tmp_path / "m").encode())
    assert [path.name for path in Path(tmp_path).iterdir()] == ["m"]


def test_what_cannot_be_appended():
    trainer = Trainer(verbose=False)
    with pytest.raises(ValueError, match="2 items and 1 labels"):
        trainer.append([["a"], ["b"]], ["A"])
    with pytest.raises(TypeError, match="label is of type int"):
        trainer.append([["a"]], [1])
    with pytest.raises(TypeError):
        trainer.append([["a"]], None)
    with pytest.raises(TypeError):
        trainer.append([["a"]], ["A"], "first")
    with pytest.raises(ValueError, match="too large"):
        trainer.append([{"a": 1e300}], ["A"])
    trainer.append([["a"], ["b"]], (y for y in [b"A", "B"]))


@pytest.mark.parametrize("algorithm", [*ALGORITHM_NAMES, "averaged-perceptron", "passive-aggressive", "LBFGS"])
def test_parameters_are_set_and_got(algorithm):
    trainer = Trainer(algorithm)
    values = trainer.get_params()
    trainer.set_params(values)
    assert trainer.get_params() == values
    assert all(trainer.help(name) for name in trainer.params())
    with pytest.raises(ValueError, match="Parameter not found: foo"):
        trainer.set("foo", 1)
    with pytest.raises(ValueError, match="Parameter not found"):
        trainer.get("foo")
    with pytest.warns(RuntimeWarning, match="max_iterations='abc' is taken as 0") as told:
        trainer.set("max_iterations", "abc")
    assert told[0].filename == __file__
    assert trainer.get("max_iterations") == 0
    with pytest.warns(RuntimeWarning, match="None is taken as 0.0"):
        trainer.set("feature.minfreq", None)
    assert trainer.get("feature.minfreq") == 0.0
    with pytest.warns(RuntimeWarning, match="2147483647"):
        trainer.set("max_iterations", 2**40)
    trainer.set("max_iterations", 100.0)
    assert trainer.get("max_iterations") == 100
    trainer.set("feature.possible_states", True)
    assert trainer.get("feature.possible_states") is True


def test_an_unknown_line_search_is_told_of():
    with pytest.warns(RuntimeWarning, match="linesearch='Newton'"):
        Trainer("lbfgs", {"linesearch": "Newton"})
    Trainer("lbfgs", {"linesearch": "StrongBacktracking"})


def test_defaults_are_those_of_crfsuite():
    assert Trainer("lbfgs").get_params() == {
        "feature.minfreq": 0.0,
        "feature.possible_states": False,
        "feature.possible_transitions": False,
        "c1": 0.0,
        "c2": 1.0,
        "max_iterations": 2147483647,
        "num_memories": 6,
        "epsilon": 1e-5,
        "period": 10,
        "delta": 1e-5,
        "linesearch": "MoreThuente",
        "max_linesearch": 20,
    }
    assert Trainer("l2sgd").get("calibration.samples") == 1000.0
    assert isinstance(Trainer("l2sgd").get("calibration.samples"), float)
    assert Trainer("pa").get("error_sensitive") is True
    assert Trainer("pa").get("type") == 1
    assert {name: len(values) for name, values in ALGORITHMS.items()} == {
        "lbfgs": 12,
        "l2sgd": 12,
        "averaged-perceptron": 5,
        "passive-aggressive": 9,
        "arow": 7,
    }


def test_bad_algorithms():
    for arguments in (("foo",), ("lbfgs", "crf2d")):
        with pytest.raises(ValueError, match="Bad arguments"):
            Trainer().select(*arguments)


def test_subclasses_get_messages_and_may_raise(tmp_path):
    class Captures(Trainer):
        def __init__(self):
            self.messages = []

        def message(self, message):
            self.messages.append(message)
            if "Iteration #2" in message:
                raise KeyError("enough")

    trainer = Captures()
    trainer.append(*DATA[0])
    with pytest.raises(KeyError, match="enough"):
        trainer.train(str(tmp_path / "m"))
    assert "type: CRF1d\n" in trainer.messages
    assert trainer.messages.count(".") == 40
    assert not (tmp_path / "m").exists()


def test_base_trainer_prints(tmp_path, capsys):
    trainer = BaseTrainer()
    trainer.append(*DATA[0])
    trainer.train(str(tmp_path / "m"))
    assert "Storing the model" in capsys.readouterr().out
    with pytest.raises(TypeError):
        pickle.dumps(trainer)


def test_errors_can_be_raised_and_pickled():
    error = pickle.loads(pickle.dumps(CRFSuiteError(-2147483643)))
    assert str(error) == "Overflow"
    assert error.code == -2147483643
    assert str(CRFSuiteError(5)) == "Unexpected error"
