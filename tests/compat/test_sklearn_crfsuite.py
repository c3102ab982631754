"""The drop-in for sklearn-crfsuite: scikit-learn's conventions, attributes, pickles."""

import inspect
import os
import pickle

import numpy as np
import pytest

from trelliswork.compat.pycrfsuite import Trainer
from trelliswork.compat.pycrfsuite._logparser import TrainLogParser
from trelliswork.compat.sklearn_crfsuite import CRF, metrics
from trelliswork.compat.sklearn_crfsuite._fileresource import FileResource
from trelliswork.compat.sklearn_crfsuite.utils import flatten
from trelliswork.errors import InvalidModel

X = [[{"w": "the"}, {"w": "dog"}, {"w": "barks"}], [{"w": "a"}, {"w": "cat"}]] * 3
Y = [["D", "N", "V"], ["D", "N"]] * 3


def test_it_has_28_parameters_with_the_defaults_of_the_original():
    defaults = {p.name: p.default for p in inspect.signature(CRF.__init__).parameters.values() if p.name != "self"}
    assert len(defaults) == 28
    assert {name for name, value in defaults.items() if value is not None} == {"verbose", "keep_tempfiles"}
    assert CRF(c1=0.5).get_params()["c1"] == 0.5


def test_before_fit_everything_is_none():
    crf = CRF()
    names = (
        "tagger_",
        "classes_",
        "size_",
        "num_attributes_",
        "attributes_",
        "state_features_",
        "transition_features_",
    )
    assert [getattr(crf, name) for name in names] == [None] * 7
    assert crf.training_log_ is None
    with pytest.raises(ValueError, match="not been fitted"):
        crf.predict(X)


def test_fitted():
    crf = CRF(c1=0.01, c2=0.01, max_iterations=50, all_possible_transitions=True).fit(X, Y)
    predicted = crf.predict(X)
    assert predicted.dtype == object
    assert predicted.shape == (6,)
    assert list(predicted) == Y
    assert crf.score(X, Y) == 1.0
    assert crf.classes_ == ["D", "N", "V"]
    assert set(crf.attributes_) == {name for name, _ in crf.state_features_}
    assert len(crf.attributes_) == crf.num_attributes_
    assert crf.size_ == os.path.getsize(crf.modelfile.name)
    assert ("D", "N") in crf.transition_features_
    marginals = crf.predict_marginals(X)
    assert marginals.dtype == object
    assert all(set(item) == {"D", "N", "V"} and sum(item.values()) == pytest.approx(1) for x in marginals for item in x)
    assert isinstance(crf.training_log_, TrainLogParser)
    assert crf.training_log_.iterations


def test_sequences_of_one_length_make_an_array_of_two_dimensions():
    assert CRF().fit(X, Y).predict(X[:1] * 2).shape == (2, 3)  # as the original does


def test_held_out_data(capsys):
    crf = CRF(verbose=True).fit(X, Y, X[:2], Y[:2])
    assert "Acc(item/seq)=1.000 1.000" in capsys.readouterr().out
    assert crf.training_log_.last_iteration["item_accuracy"] == 1
    with pytest.raises(ValueError, match="both"):
        CRF().fit(X, Y, X_dev=X)


def test_a_trainer_of_ones_own():
    class Mine(Trainer):
        seen = 0

        def on_iteration(self, log, info):
            Mine.seen += 1

    CRF(trainer_cls=Mine, verbose=True).fit(X, Y)
    assert Mine.seen > 0


def test_a_subclass_of_before_the_parameters_of_the_file_were_kept():
    class Older(CRF):
        @property
        def model_filename(self):
            return self.modelfile.name

        @property
        def keep_tempfiles(self):
            return self.modelfile.keep_tempfiles

    crf = Older(keep_tempfiles=False).fit(X, Y)
    assert crf.model_filename == crf.modelfile.name
    assert list(crf.predict(X)) == Y


def test_it_can_be_cloned_and_searched():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    from trelliswork.compat.sklearn_crfsuite import scorers

    assert clone(CRF(c1=0.5)).c1 == 0.5
    search = GridSearchCV(CRF(), {"c2": [0.01, 1.0]}, cv=2, scoring=scorers.sequence_accuracy).fit(X, Y)
    assert search.best_score_ == 1.0


def test_pickles_carry_the_model():
    crf = CRF().fit(X, Y)
    again = pickle.loads(pickle.dumps(crf))
    assert list(again.predict(X)) == Y
    assert again.modelfile.name != crf.modelfile.name
    assert type(again).__module__ == "trelliswork.compat.sklearn_crfsuite.estimator"


def pickled_by_the_original(crf):
    """The bytes that sklearn-crfsuite writes: its names in the place of ours, and a descriptor of its process."""
    crf.modelfile.__dict__.setdefault("fd", 3)
    data = pickle.dumps(crf, protocol=2)
    return data.replace(b"trelliswork.compat.", b"")


def test_pickles_of_the_original_load(drop_ins):
    data = pickled_by_the_original(CRF(algorithm="lbfgs", c2=0.1).fit(X, Y, X[:1], Y[:1]))
    assert b"sklearn_crfsuite.estimator" in data
    assert b"pycrfsuite._logparser" in data
    assert b"trelliswork" not in data
    crf = pickle.loads(data)
    assert isinstance(crf, CRF)
    assert crf.c2 == 0.1
    assert list(crf.predict(X)) == Y
    assert crf.training_log_.last_iteration["num"] >= 1


def test_pickles_of_unknown_versions_are_refused_or_completed(drop_ins):
    crf = CRF(c2=0.1).fit(X, Y)
    state = crf.__getstate__()
    older = CRF.__new__(CRF)
    older.__setstate__({name: value for name, value in state.items() if name != "trainer_cls"})
    assert older.trainer_cls is None
    assert list(older.predict(X)) == Y
    with pytest.raises(InvalidModel, match="unknown version"):
        CRF.__new__(CRF).__setstate__({name: value for name, value in state.items() if name != "modelfile"})
    data, resource = "__FILE_RESOURCE_DATA__", crf.modelfile.__getstate__()
    for changed in ({}, {data: "text"}, resource | {data: 5}):
        with pytest.raises(InvalidModel, match="unknown version"):
            FileResource.__new__(FileResource).__setstate__(changed)
    damaged = CRF.__new__(CRF)
    damaged.__setstate__(state | {"modelfile": FileResource()})
    damaged.modelfile.__setstate__(resource | {data: b"lCRFfoo" * 100})
    with pytest.raises(ValueError, match="Error opening model file"):
        damaged.predict(X)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_does_not_remove_the_model_file():
    crf = CRF().fit(X, Y)
    child = os.fork()
    if child == 0:
        del crf
        os._exit(0)
    os.waitpid(child, 0)
    assert list(crf.predict(X)) == Y


def test_sequences_without_labels_are_told_of():
    with pytest.warns(UserWarning, match="X has 6 sequences and y has 5") as told:
        CRF().fit(X, Y[:5])
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="X_dev has 1 sequences and y_dev has 2"):
        CRF().fit(X, Y, X[:1], Y[:2])
    assert list(CRF().fit(iter(X), iter(Y)).predict(X)) == Y


def test_a_model_file_of_ones_own(tmp_path):
    path = str(tmp_path / "m.crfsuite")
    CRF(model_filename=path).fit(X, Y)
    crf = CRF(model_filename=path)
    assert list(crf.predict(X)) == Y
    assert list(pickle.loads(pickle.dumps(crf)).predict(X)) == Y
    del crf
    assert os.path.exists(path)


def test_temporary_files_go_with_their_owner():
    crf = CRF().fit(X, Y)
    name = crf.modelfile.name
    assert os.path.exists(name)
    del crf
    assert not os.path.exists(name)
    kept = CRF(keep_tempfiles=True).fit(X, Y)
    name = kept.modelfile.name
    del kept
    assert os.path.exists(name)
    os.unlink(name)


def test_file_resources():
    resource = FileResource(suffix=".x", prefix="y")
    resource.ensure_name()
    with open(resource.name, "wb") as file:
        file.write(b"mine")
    again = pickle.loads(pickle.dumps(resource))
    with open(again.name, "rb") as file:
        assert file.read() == b"mine"
    assert again.name.endswith(".x")
    resource.cleanup()
    assert resource.name is None


def test_metrics():
    truth, guess = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    assert metrics.flat_accuracy_score(truth, guess) == pytest.approx(2 / 3)
    assert metrics.flat_precision_score(truth, guess, average="macro", zero_division=0) == pytest.approx(1 / 3)
    assert metrics.flat_recall_score(truth, guess, average="micro") == pytest.approx(2 / 3)
    assert metrics.flat_f1_score(truth, guess, average="macro", zero_division=0) == pytest.approx(0.4)
    assert metrics.flat_fbeta_score(truth, guess, beta=1, average="micro") == pytest.approx(2 / 3)
    assert "precision" in metrics.flat_classification_report(truth, guess, zero_division=0)
    assert metrics.sequence_accuracy_score(truth, guess) == 0.5
    assert metrics.sequence_accuracy_score([["A"], ["B"]], np.array([["A"], ["A"]], dtype=object)) == 0.5
    assert metrics.sequence_accuracy_score([], []) == 0
    assert flatten(truth) == ["A", "B", "A"]
