"""A committee of two models: the second uses the first one's predictions and confidence (Mančev 2015, ch. 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core, models
from trelliswork.arguments import listed
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.base import Estimator, sequence_tags
from trelliswork.estimators.committee.stacking import Added, Answer, Intervals
from trelliswork.estimators.fitted import atomic, check_is_fitted, snapshot
from trelliswork.estimators.saving import SavesWeights
from trelliswork.evaluation.folds import splits_of
from trelliswork.features.inputs import Inputs
from trelliswork.models.confidence import CONFIDENCES, confidence
from trelliswork.models.registry import Restore, refuse_arguments
from trelliswork.structures import checks
from trelliswork.training.cloning import cloned

__all__ = ["Committee"]

KIND = "committee"

Indices = npt.NDArray[np.intp]
Tensors = dict[str, Any]


class Committee(SavesWeights, Estimator):
    """Two models in sequence: the second learns from the first one's predictions and their confidence.

    A model's answers are better on its training sequences than on others. So the second model learns from answers by
    cross-fitting: a first model trained on all other folds predicts each fold of the training data. For new sequences,
    the first model is the one trained on all data (Mančev 2015, sec. 4.2, figure 4.1).

    Parameters
    ----------
    first : estimator
        Anything with ``fit`` and ``predict_kbest``: a `SequenceLabeler` with any learner, an `HMM`, a `Committee`.
    second : estimator
        Anything with ``fit`` and ``predict``. A `SequenceLabeler` keeps its own features and gets more, see
        ``templates``.
    folds : int, list of (train, test) pairs or splitter, default 5
        Number of folds of consecutive sequences; or the result of ``evaluation.k_folds``, which may use groups; or a
        splitter of scikit-learn. Each sequence must be held out once.
    k : int, default 5
        Number of best labellings from which confidence is computed.
    confidence : {"kbest", "weighted", "margins", "marginals"} or None, default "kbest"
        How to compute confidence, as in `confidence`. With None the second model uses predictions alone.
    context : int, default 1
        Number of neighbours on either side that the confidence of a label covers (eq. 4.2).
    intervals : sequence of float, default (1.0,)
        Intervals of confidence, given by where each begins except for the first, in increasing order and above 0. The
        default is [0, 1) and [1, 1], as in sec. 4.4; (0.5, 0.9) is [0, 0.5), [0.5, 0.9), [0.9, 1].
    templates : str, default "thesis"
        The second model's features of predictions and confidence, if its features are templates: those of Table 4.1, or
        lines of templates in which ``prediction`` and ``confidence`` are names of columns, such as
        ``"prediction[-1..1]"``. In a committee that is the second model of another, the names are ``prediction2`` and
        ``confidence2``.
    n_jobs : int, optional
        Number of threads for training first models in parallel, and for the members' predictions. With None, members
        use their own number. The result is the same.

    Attributes
    ----------
    first_, second_ : estimators
        The trained members: the first on all sequences, the second on the predictions of first models for held-out
        folds.
    classes_ : object array (K,)
        The labels of the second model.
    reliability_ : list of dict
        For each interval of confidence, on held-out folds: ``interval``, number of ``tokens``, and how many of these
        the first model got ``correct``.

    Notes
    -----
    The features of Table 4.1 are the prediction alone, with the word, and with each of the word's attributes, and the
    same for the interval of the confidence of its context. Attributes here are the further columns, ``case(word)`` and
    ``characters(word)``, as in ``Templates.thesis()``. If tokens are attributes or numbers, the prediction and the
    interval are added to them directly.

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> first = tw.SequenceLabeler(tw.SDM(C=0.1, k=5))
    >>> committee = tw.Committee(first, tw.SequenceLabeler("crf"), folds=3)
    >>> committee = committee.fit(corpus.X_train[:300], corpus.y_train[:300])
    >>> committee.predict([["2", "ripe", "tomatoes"]])
    [['B-QTY', 'B-NAME', 'I-NAME']]
    >>> [fact["interval"] for fact in committee.reliability_]
    ['[0,1)', '[1,1]']
    """

    first_: Any
    second_: Any
    classes_: npt.NDArray[np.object_]
    reliability_: list[dict[str, Any]]
    _added: Added
    _base: Inputs | None

    def __init__(
        self,
        first: Any,
        second: Any,
        folds: Any = 5,
        k: int = 5,
        *,
        confidence: str | None = "kbest",
        context: int = 1,
        intervals: Sequence[float] = (1.0,),
        templates: str = "thesis",
        n_jobs: int | None = None,
    ) -> None:
        self.first = first
        self.second = second
        self.folds = folds
        self.k = k
        self.confidence = confidence
        self.context = context
        self.intervals = intervals
        self.templates = templates
        self.n_jobs = n_jobs

    # ---- learning ------------------------------------------------------------------------------------------------

    @atomic
    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        token_weight: Iterable[npt.ArrayLike] | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> Self:
        """Learn from sequences and their labels: the first model on folds and on all, then the second.

        Parameters
        ----------
        X, y
            Training data of both members, as for ``SequenceLabeler.fit``.
        X_dev, y_dev : optional
            Development data for the second model, and for the first if it has ``patience``.
        sample_weight, token_weight : optional
            Weights of sequences and of tokens, for both members.
        callback : callable, optional
            Called with a `Progress` after each iteration of the second model.

        Returns
        -------
        Committee
            The estimator itself. An interrupt (Ctrl-C) during the training of the second model keeps its best weights
            so far; before that, nothing is kept.
        """
        self._check_parameters()
        X, y = listed(X), _label_lists(y)
        if len(X) != len(y):
            raise InvalidInput(f"y has {len(y)} label lists but X has {len(X)} sequences. Each sequence needs its own.")
        added, base = Added.for_(self.second, X, self._interval_names())
        second = self._prepared_second(added, base)
        given: dict[str, Any] = {"sample_weight": sample_weight, "token_weight": token_weight}
        weights = {name: list(value) for name, value in given.items() if value is not None}
        X_dev = None if X_dev is None else listed(X_dev)
        dev = {name: value for name, value in (("X_dev", X_dev), ("y_dev", y_dev)) if value is not None}
        answers, first = self._cross_fitted(X, y, weights, dev)
        added = replace(added, labels=tuple(_texts(first.classes_)))
        if X_dev is not None:
            dev["X_dev"] = added.to(X_dev, self._answers(first, X_dev), "X_dev")
        more: dict[str, Any] = {} if callback is None else {"callback": callback}
        second.fit(added.to(X, answers), y, **dev, **weights, **more)
        self.first_, self.second_, self._added, self._base = first, second, added, base
        self.reliability_ = _reliability(answers, y)
        self.classes_ = second.classes_
        self.metadata_: dict[str, Any] = {}
        return self

    def _cross_fitted(
        self, X: Any, y: list[Any], weights: Mapping[str, list[Any]], dev: Mapping[str, Any]
    ) -> tuple[list[Answer], Any]:
        """Return what first models say of folds they have not seen, and the first model of all sequences."""
        held_out = self._held_out(len(X))
        everything = np.arange(len(X))
        dev = {} if getattr(self.first, "patience", None) is None else dev

        def trained(indices: Indices) -> Any:
            parts = {name: [value[i] for i in indices] for name, value in weights.items()}
            model = _unfitted(self.first, self._member_jobs(len(held_out) + 1))
            model.fit([X[i] for i in indices], [y[i] for i in indices], **dev, **parts)
            if getattr(model, "interrupted_", False):
                raise KeyboardInterrupt  # half a committee is none
            return model

        def answered(part: Indices) -> list[Answer]:
            model = trained(np.setdiff1d(everything, part))
            return self._answers(model, [X[i] for i in part])

        tasks: list[Callable[[], Any]] = [lambda: trained(everything)]
        tasks += [lambda part=part: answered(part) for part in held_out]  # type: ignore[misc]
        whole, *found = self._done(tasks)
        answers: list[Any] = [None] * len(X)
        for part, of_part in zip(held_out, found, strict=True):
            for i, answer in zip(part, of_part, strict=True):
                answers[i] = answer
        return answers, whole

    def _done(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        threads = 1 if self.n_jobs is None else min(checks.as_jobs(self.n_jobs), len(tasks))
        if threads == 1:
            return [task() for task in tasks]
        stop = _core.Stop()

        def run(task: Callable[[], Any]) -> Any:
            with stop:
                return task()

        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(run, task) for task in tasks]
            try:
                return [future.result() for future in futures]
            except BaseException:  # an interrupt, too: those that have not begun need not, and the others end
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _held_out(self, n: int) -> list[Indices]:
        """The numbers of the sequences of each fold."""
        parts = [split.test for split in splits_of(self.folds, n, groups=None, random_state=None)]
        if not np.array_equal(np.sort(np.concatenate(parts)), np.arange(n)):
            raise InvalidInput("folds: each sequence must be held out once, for the second model to learn from it.")
        return parts

    def _prepared_second(self, added: Added, base: Inputs | None) -> Any:
        """The second model with features that look at what is added, too."""
        second = _unfitted(self.second, self.n_jobs)
        if base is not None and base.templates is not None:
            second.features = added.templates(base.templates, self.templates)
        return second

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> Any:
        """Return the labels of each sequence; ``allowed``, ``fixed`` and ``bias`` apply to the second model."""
        return self._second_says("predict", X, allowed=allowed, fixed=fixed, bias=bias)

    @snapshot
    def predict_kbest(self, X: Any, k: int, allowed: Any = None, fixed: Any = None, bias: Any = None) -> Any:
        """Return the ``k`` best labellings of each sequence and their log-probabilities, by the second model."""
        return self._second_says("predict_kbest", X, k, allowed=allowed, fixed=fixed, bias=bias)

    def _ranked(self, X: Any, k: int) -> Any:
        return self._second_says("_ranked" if hasattr(self.second_, "_ranked") else "predict_kbest", X, k)

    @snapshot
    def predict_marginals(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> Any:
        """Return p(label | x) of every token, an array (T, K) for each sequence, by the second model."""
        return self._second_says("predict_marginals", X, allowed=allowed, fixed=fixed, bias=bias)

    @snapshot
    def predict_max_marginals(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> Any:
        """Return the best score of a labelling with each label at each token, by the second model."""
        return self._second_says("predict_max_marginals", X, allowed=allowed, fixed=fixed, bias=bias)

    @snapshot
    def predict_spans(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> Any:
        """Return the spans of the predicted labels, with their probabilities, by the second model."""
        return self._second_says("predict_spans", X, allowed=allowed, fixed=fixed, bias=bias)

    @snapshot
    def log_prob(self, X: Any, y: Any) -> Any:
        """Return log p(y | x) of each sequence, by the second model."""
        return self._second_says("log_prob", X, y)

    @snapshot
    def score(self, X: Any, y: Any) -> float:
        """Return the score of the predicted labels against ``y``, by the measure of the second model."""
        return float(self._second_says("score", X, y))

    @snapshot
    def explain(self, x: Any) -> Any:
        """Explain the second model's labels of one sequence; the first model's answers are among the attributes."""
        return self._about_one("explain", x)

    @snapshot
    def chain(self, x: Any) -> Any:
        """Return the second model's scores of one sequence as a chain."""
        return self._about_one("chain", x)

    @snapshot
    def weights(self) -> list[Any]:
        """Return the weights of the second model, the largest first."""
        check_is_fitted(self, "second_")
        found: list[Any] = self.second_.weights()
        return found

    @property
    def features(self) -> Any:
        """The features of the second model; another committee may add to them."""
        return self.second.features

    @features.setter
    def features(self, features: Any) -> None:
        self.second.features = features

    @property
    def n_columns_(self) -> int:
        """Number of columns of a token of text."""
        check_is_fitted(self, "second_")
        return self._added.n_columns or 1 if self._added.kind == "columns" else 1

    @snapshot
    def seen(self, X: Any) -> list[Any]:
        """Return the second model's input: the sequences with the first one's predictions and their confidence.

        Examples
        --------
        >>> import trelliswork as tw
        >>> X, y = [["the", "dog"], ["a", "cat"], ["the", "cat"]], [["D", "N"]] * 3
        >>> committee = tw.Committee(tw.HMM(), tw.SequenceLabeler(), folds=3).fit(X, y)
        >>> committee.seen([["a", "dog"]])
        [[('a', 'D', '[0,1)'), ('dog', 'N', '[0,1)')]]
        """
        check_is_fitted(self, "second_")
        if self.n_jobs is not None:
            self.first_.n_jobs = self.second_.n_jobs = self.n_jobs
        X = listed(X)
        return self._added.to(X, self._answers(self.first_, X))

    def _second_says(self, question: str, X: Any, *arguments: Any, **given: Any) -> Any:
        check_is_fitted(self, "second_")
        given = {name: value for name, value in given.items() if value is not None}
        return getattr(self.second_, question)(self.seen(X), *arguments, **given)

    def _about_one(self, question: str, x: Any) -> Any:
        return getattr(self.second_, question)(self.seen([x])[0])

    def _answers(self, first: Any, X: Any) -> list[Answer]:
        """What a first model says of each token: its label, and the interval of its confidence."""
        if self.confidence is None:
            return [(_texts(labels), ()) for labels in first.predict(X)]
        intervals = Intervals.checked(self.intervals)
        found = confidence(first, X, self.confidence, self.k, self.context)
        return [(_texts(each.labels), intervals.of(each.context)) for each in found]

    # ---- files ---------------------------------------------------------------------------------------------------

    @snapshot
    def exported(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the tensors and the settings of the model file: those of the members, side by side."""
        check_is_fitted(self, "second_")
        tensors: Tensors = {}
        members = {}
        for name, member in (("first", self.first_), ("second", self.second_)):
            if not hasattr(member, "exported"):
                raise InvalidInput(
                    f"the {name} model is of {type(member).__name__}, which no file can hold: pickle it."
                )
            own, members[name] = member.exported()
            tensors |= {f"{name}.{key}": tensor for key, tensor in own.items()}
        base = None if self._base is None else self._base.as_settings()
        settings = {
            "kind": KIND,
            "labels": _texts(self.classes_),
            "parameters": {
                "folds": self.folds if isinstance(self.folds, int) else None,
                "k": int(self.k),
                "confidence": self.confidence,
                "context": int(self.context),
                "intervals": [float(bound) for bound in self.intervals],
                "templates": self.templates,
            },
            "added": self._added.as_settings(),
            "base": base,
            "members": members,
            "reliability": self.reliability_,
        }
        return tensors, models.with_metadata(settings, self.metadata_)

    @classmethod
    def restored(cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Restore, **given: Any) -> Self:
        """Return the committee of a file that may say anything; ``restore`` makes members of what is theirs."""
        refuse_arguments(given, KIND)
        members = {name: restore(*parts) for name, parts in models.members_of(tensors, settings).items()}
        saved, base = settings["parameters"], settings["base"]
        saved = {**saved, "folds": saved["folds"] or 5, "intervals": tuple(saved["intervals"])}
        committee = cls(cloned(members["first"]), cloned(members["second"]), **saved)
        committee._check_parameters()
        committee.first_, committee.second_ = members["first"], members["second"]
        committee._base = None if base is None else Inputs.from_settings(base)
        if committee._base is not None and committee._base.templates is not None:
            committee.second.features = committee._base.templates  # without those that look at the first model
        committee._added = Added.from_settings(
            settings["added"], _texts(committee.first_.classes_), committee._interval_names()
        )
        committee.classes_, committee.metadata_ = committee.second_.classes_, dict(settings.get("metadata", {}))
        committee.reliability_ = [
            {"interval": str(fact["interval"]), "tokens": int(fact["tokens"]), "correct": int(fact["correct"])}
            for fact in settings["reliability"]
        ]
        return committee

    # ---- helpers -------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        return sequence_tags(super().__sklearn_tags__())

    def _check_parameters(self) -> None:
        checks.as_count("k", self.k)
        checks.as_count("context", self.context, least=0)
        checks.as_jobs(self.n_jobs)
        Intervals.checked(self.intervals)
        if not isinstance(self.templates, str):
            raise InvalidInput(f'templates is {self.templates!r}; expected "thesis", or lines of templates.')
        if self.confidence is not None and self.confidence not in CONFIDENCES:
            known = ", ".join(map(repr, CONFIDENCES))
            raise InvalidInput(f"confidence is {self.confidence!r}; expected one of {known}, or None.")
        question = "predict" if self.confidence is None else "predict_kbest"
        for name, member, method in (("first", self.first, question), ("second", self.second, "predict")):
            if not hasattr(member, "fit") or not hasattr(member, method):
                raise InvalidInput(f"{name} is {member!r}; expected an estimator with fit and {method}.")

    def _interval_names(self) -> list[str]:
        return [] if self.confidence is None else Intervals.checked(self.intervals).names

    def _member_jobs(self, n_tasks: int) -> int | None:
        """Threads of each of the models that learn side by side."""
        return None if self.n_jobs is None else max(1, checks.as_jobs(self.n_jobs) // n_tasks)


def _unfitted(member: Any, n_jobs: int | None) -> Any:
    """A member as it was before it learned, with so many threads, if that is said."""
    copied = cloned(member)
    if n_jobs is not None and hasattr(copied, "n_jobs"):
        copied.n_jobs = n_jobs
    return copied


def _label_lists(y: Any) -> list[Any]:
    if isinstance(y, (str, bytes)) or not isinstance(y, Iterable):
        raise InvalidInput(f"y is {shown(y)}; expected a list of label lists, one for each sequence of X.")
    return [list(labels) if isinstance(labels, Iterator) else labels for labels in y]


def _texts(labels: Iterable[Any]) -> list[str]:
    return [label if isinstance(label, str) else str(label) for label in labels]


def _reliability(answers: Iterable[Answer], y: Iterable[Any]) -> list[dict[str, Any]]:
    """How often the first model is right, by interval, where the label is known."""
    counts: dict[str, list[int]] = {}
    for (labels, intervals), gold in zip(answers, y, strict=True):
        for label, interval, right in zip(labels, intervals, gold or (), strict=False):
            if right is not None and not isinstance(right, (set, frozenset)):
                count = counts.setdefault(interval, [0, 0])
                count[0] += 1
                count[1] += label == str(right)
    return [{"interval": name, "tokens": n, "correct": right} for name, (n, right) in sorted(counts.items())]
