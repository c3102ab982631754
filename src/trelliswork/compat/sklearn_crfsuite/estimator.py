"""`CRF`: CRFsuite's algorithms behind ``fit`` and ``predict``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork.compat.pycrfsuite import Tagger, Trainer
from trelliswork.compat.sklearn_crfsuite._fileresource import FileResource
from trelliswork.compat.sklearn_crfsuite.compat import BaseEstimator
from trelliswork.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
from trelliswork.errors import InvalidModel

__all__ = ["CRF"]

# Names of parameters here and in python-crfsuite, where they differ by more than "." for "_".
_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
    **{f"calibration_{name}": f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
}
_OWN = (
    *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch"),
    *("c", "error_sensitive", "averaging", "variance", "gamma"),
)


class CRF(BaseEstimator):  # type: ignore[misc]
    """A conditional random field, or one of CRFsuite's other learners, as scikit-learn knows estimators.

    Parameters left out have CRFsuite's default values, which depend on the algorithm.

    Parameters
    ----------
    algorithm : {'lbfgs', 'l2sgd', 'ap', 'pa', 'arow'}, optional
        Left out, ``'lbfgs'``.
    min_freq : float, optional
        Features whose values add up to less are left out.
    all_possible_states, all_possible_transitions : bool, optional
        Whether all pairs of attributes and labels, or of labels, have weights, and not only those in the data.
    c1, c2 : float, optional
        Factors of the 1-norm, and of the squared norm (not its half), of the weights.
    max_iterations, num_memories, epsilon, period, delta, linesearch, max_linesearch : optional
        Of ``'lbfgs'``, in part of the others.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials : optional
        Of ``'l2sgd'``.
    pa_type, c, error_sensitive, averaging : optional
        Of ``'pa'``.
    variance, gamma : optional
        Of ``'arow'``.
    verbose : bool, default False
        Whether to print a line for each iteration.
    model_filename : str, optional
        The model file, to be read if it is there, and written by `fit`. Left out, it is a temporary one.
    keep_tempfiles : bool, default False
    trainer_cls : type, optional
        A `Trainer`, in place of `LinePerIterationTrainer`.

    Examples
    --------
    >>> crf = CRF(c1=0.1, c2=0.1).fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]])
    >>> crf.predict_single([{"w": "the"}, {"w": "cat"}])
    ['D', 'N']
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[Trainer] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        # Subclasses of before version 0.5 have properties of these names, as spacy-crfsuite's.
        for name, value in (("model_filename", model_filename), ("keep_tempfiles", keep_tempfiles)):
            if not isinstance(getattr(type(self), name, None), property):
                setattr(self, name, value)
        self.trainer_cls = trainer_cls
        self.modelfile = FileResource(
            filename=model_filename, keep_tempfiles=keep_tempfiles, suffix=".crfsuite", prefix="model"
        )
        self.training_log_: Any = None
        self._tagger: Tagger | None = None
        self._info_cached: Any = None

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Learn from sequences of items, as `pycrfsuite.ItemSequence` takes them, and of labels.

        Parameters
        ----------
        X : list of sequences of items
        y : list of sequences of str
        X_dev, y_dev : optional
            Data to evaluate on after each iteration.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        if self._tagger is not None:
            self._tagger.close()
            self._tagger = None
            self._info_cached = None
        self.modelfile.refresh()
        trainer = self._get_trainer()
        for xseq, yseq in self._shown(_pairs("X", X, "y", y), "loading training data to CRFsuite", X):
            trainer.append(xseq, yseq)
        if X_dev is not None:
            held_out = _pairs("X_dev", X_dev, "y_dev", y_dev)
            for xseq, yseq in self._shown(held_out, "loading dev data to CRFsuite", X_dev):
                trainer.append(xseq, yseq, 1)
        trainer.train(self.modelfile.name, holdout=-1 if X_dev is None else 1)
        self.training_log_ = trainer.logparser
        return self

    def _shown(self, pairs: Iterable[tuple[Any, Any]], what: str, X: Any) -> Iterable[tuple[Any, Any]]:
        """Return the pairs, with a bar of progress where one is wanted and can be had."""
        if not self.verbose:
            return pairs
        try:
            from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            print(what)
            return pairs
        bar: Iterable[tuple[Any, Any]] = tqdm(pairs, what, len(X), leave=True)
        return bar

    def predict(self, X: Any) -> npt.NDArray[np.object_]:
        """Return the labels of sequences, as an array of objects."""
        return np.array([self.predict_single(xseq) for xseq in X], dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        """Return the labels of one sequence."""
        return self._opened.tag(xseq)

    def predict_marginals(self, X: Any) -> npt.NDArray[np.object_]:
        """Return the probabilities of labels at each item of sequences, dicts in an array of objects."""
        return np.array([self.predict_marginals_single(xseq) for xseq in X], dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Return the probabilities of labels at each item of one sequence."""
        tagger = self._opened
        tagger.set(xseq)
        return tagger._tagger.marginals()

    def score(self, X: Any, y: Any) -> Any:
        """Return the accuracy of items."""
        from trelliswork.compat.sklearn_crfsuite.metrics import flat_accuracy_score

        return flat_accuracy_score(y, self.predict(X))

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model file; None before there is one."""
        if self._tagger is None:
            if self.modelfile.name is None:
                return None
            tagger = Tagger()
            tagger.open(self.modelfile.name)
            self._tagger = tagger
            self._info_cached = None
        return self._tagger

    @property
    def _opened(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise ValueError("this CRF has not been fitted: call fit, or pass model_filename")
        return tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels; None before `fit`."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model file; None before `fit`."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have weights; None before `fit`."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The names of the attributes; None before `fit`."""
        if self._info is None:
            return None
        names = [""] * int(self._info.header["num_attrs"])
        for name, number in self._info.attributes.items():
            names[int(number)] = name
        return names

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by attribute and label; None before `fit`."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by label and label; None before `fit`."""
        return None if self._info is None else self._info.transitions

    @property
    def _info(self) -> Any:
        if self.tagger_ is None:
            return None
        if self._info_cached is None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    def _get_trainer(self) -> Any:
        names = _NAMES | {name: name for name in _OWN}
        params = {there: getattr(self, here) for here, there in names.items()}
        params = {name: value for name, value in params.items() if value is not None}
        kind = self.trainer_cls or LinePerIterationTrainer
        return kind(algorithm=self.algorithm, params=params, verbose=self.verbose)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_tagger": None, "_info_cached": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if not isinstance(state.get("modelfile"), FileResource):
            raise InvalidModel("a pickled CRF without a model file is of an unknown version of sklearn-crfsuite.")
        CRF.__init__(self)  # parameters that its version did not know have their default values
        self.__dict__.update(state)


def _pairs(name: str, X: Any, other: str, y: Any) -> Iterable[tuple[Any, Any]]:
    """Return sequences with their labels; a warning says when some have none, which sklearn-crfsuite leaves out."""
    if hasattr(X, "__len__") and hasattr(y, "__len__") and len(X) != len(y):
        message = f"{name} has {len(X)} sequences and {other} has {len(y)}: those without a partner are left out."
        warnings.warn(message, UserWarning, stacklevel=3)
    return zip(X, y, strict=False)
