"""Cross-validation: how good each setting of a grid is on sequences that it did not learn from.

All settings see the same folds, so their predictions can be compared token by token (`mcnemar`, `paired_bootstrap`).
Features are extracted once, and settings that differ only in the number of epochs are one run (see `runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.evaluation.coding import CodedLabels, checked_measure, counts_per_sequence, f1_of
from trelliswork.evaluation.folds import Split, k_folds, splits_of
from trelliswork.evaluation.grids import Grid, settings_of, text_of_value
from trelliswork.evaluation.mcnemar import McNemar, mcnemar
from trelliswork.evaluation.pairs import shown
from trelliswork.evaluation.runs import Corpus, Outcome, run_all
from trelliswork.structures import checks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Candidate",
    "CrossValidation",
    "NestedCrossValidation",
    "cross_validate",
    "nested_cross_validate",
    "validate",
]

Floats = npt.NDArray[np.float64]
Scoring = str | Callable[[list[list[Any]], list[list[Any]]], float]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One setting, and what it came to on each fold.

    Attributes
    ----------
    params : dict
        What the grid says of it.
    measure : str
        The name of the score it is judged by.
    scores : dict of str to (n_folds,) array
        From 0 to 1: ``"f1"`` of exact spans, ``"token_f1"`` and ``"accuracy"``, as far as the labels have them, and a
        function's of your own under its name.
    seconds : (n_folds,) array
        Of training, reading the examples not counted. Runs that go on side by side slow each other down.
    iterations : (n_folds,) array of int
    curves : list of n_folds lists of dict
        For each iteration ``iteration``, ``seconds``, ``objective`` and the scores; empty unless asked for.
    """

    params: dict[str, Any]
    measure: str
    scores: dict[str, Floats]
    seconds: Floats
    iterations: npt.NDArray[np.int64]
    curves: list[list[dict[str, float]]]
    _guesses: list[CodedLabels]

    @property
    def mean(self) -> float:
        """The mean score over the folds."""
        return float(self.scores[self.measure].mean())

    @property
    def std(self) -> float:
        """The standard deviation of the score over the folds; 0 if there is one."""
        return _std(self.scores[self.measure])

    def row(self) -> dict[str, Any]:
        """Return parameters, mean scores, their deviations and mean seconds, flat: a row of a table."""
        means = {name: float(values.mean()) for name, values in self.scores.items()}
        return {
            **self.params,
            **means,
            f"{self.measure}_std": self.std,
            "iterations": float(self.iterations.mean()),
            "seconds": float(self.seconds.mean()),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all figures, ready for JSON; parameters that JSON does not know are written as text."""
        return {
            "params": {name: plain(value) for name, value in self.params.items()},
            "mean": self.mean,
            "std": self.std,
            "scores": {name: values.tolist() for name, values in self.scores.items()},
            "seconds": self.seconds.tolist(),
            "iterations": self.iterations.tolist(),
            "curves": [[{name: plain(value) for name, value in point.items()} for point in c] for c in self.curves],
        }


class _HeldOut:
    """What cross-validations have in common: gold labels and predictions of the sequences that were held out."""

    splits: list[Split]
    _gold: CodedLabels

    @cached_property
    def tested(self) -> npt.NDArray[np.intp]:
        """The numbers of the sequences held out, rising."""
        return np.sort(np.concatenate([split.test for split in self.splits]), kind="stable")

    @cached_property
    def gold(self) -> list[list[Any]]:
        """The gold labels of the sequences held out, in the order of `tested`."""
        return self._gold.some(self.tested).lists()

    def _predictions(self, guesses: Sequence[CodedLabels]) -> list[list[Any]]:
        numbers = np.concatenate([split.test for split in self.splits])
        lists = [labels for guess in guesses for labels in guess.lists()]
        return [lists[i] for i in np.argsort(numbers, kind="stable").tolist()]


@dataclass(frozen=True, eq=False)
class CrossValidation(_HeldOut):
    """The settings of a grid, each with its scores on every fold.

    Attributes
    ----------
    candidates : list of Candidate
        In the order of the grid.
    measure : str
        What they are judged by.
    splits : list of Split
        Which sequences each fold learns from and holds out.

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> X, y = corpus.X_train[:150], corpus.y_train[:150]
    >>> result = cross_validate(tw.SequenceLabeler("pa"), X, y, folds=3, grid={"learner__epochs": [1, 4]})
    >>> result.best.params
    {'learner__epochs': 4}
    >>> first, second = result.candidates
    >>> result.compare(first, second).n_tokens == sum(map(len, y))
    True
    """

    candidates: list[Candidate]
    measure: str
    splits: list[Split]
    _gold: CodedLabels

    @property
    def best(self) -> Candidate:
        """The setting with the highest mean score, the first of equals."""
        return max(self.candidates, key=lambda candidate: candidate.mean)

    def predictions(self, candidate: Candidate | int | None = None) -> list[list[Any]]:
        """Return what a setting said of the sequences held out, in the order of `tested`; by default the best.

        In k-fold cross-validation that is every sequence of X, in its order, each labelled by the model that did not
        see it.
        """
        return self._predictions(self._chosen(candidate)._guesses)

    def compare(self, first: Candidate | int, second: Candidate | int) -> McNemar:
        """Return McNemar's test of two settings on all tokens that were held out (004, 3.3.3)."""
        return mcnemar(self.gold, self.predictions(first), self.predictions(second))

    def rows(self) -> list[dict[str, Any]]:
        """Return a flat dict for each setting: for `csv.DictWriter` or a data frame."""
        return [candidate.row() for candidate in self.candidates]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the predictions, ready for JSON."""
        best = self.best
        return {
            "measure": self.measure,
            "folds": len(self.splits),
            "best": {name: plain(value) for name, value in best.params.items()},
            "candidates": [candidate.as_dict() for candidate in self.candidates],
        }

    def __str__(self) -> str:
        best = self.best
        names = _varied([candidate.params for candidate in self.candidates])
        measures = list(best.scores)
        rows = [["", *map(_short(names), names), *measures, "seconds"]]
        for candidate in self.candidates:
            params = [text_of_value(candidate.params.get(name, "")) for name in names]
            scores = [_percent(candidate.scores[name]) for name in measures]
            rows.append(["*" if candidate is best else "", *params, *scores, f"{candidate.seconds.mean():.2f}"])
        folds = f"{len(self.splits)} folds" if len(self.splits) > 1 else "held-out data"
        said = "mean and standard deviation over the folds" if len(self.splits) > 1 else "one run each"
        head = f"{len(self.candidates)} settings, {folds}; {said}; * is the best {self.measure}"
        return "\n".join([head, *aligned(rows)])

    def plot(self, x: str | None = None, measure: str | None = None, ax: Axes | None = None, **how: Any) -> Axes:
        """Draw the score against a parameter of the grid, or against the iterations or seconds of training.

        Parameters
        ----------
        x : str, optional
            A parameter such as ``"learner__k"``: one line for each combination of the others. Or ``"iteration"`` or
            ``"seconds"``: one line for each setting, for which ``curves=True`` must have been asked. By default the
            first parameter with several values that are numbers, else iterations.
        measure : str, optional
            Which score; by default the one that settings are judged by.
        ax, **how
            As for `trelliswork.plots.score_curves`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from trelliswork.plots.score_curves import plot_candidates

        return plot_candidates(self.candidates, x, measure or self.measure, ax=ax, **how)

    def _chosen(self, candidate: Candidate | int | None) -> Candidate:
        if candidate is None:
            return self.best
        return candidate if isinstance(candidate, Candidate) else self.candidates[candidate]


@dataclass(frozen=True, eq=False)
class NestedCrossValidation(_HeldOut):
    """How good it is to choose a setting by cross-validation and to learn with it.

    Attributes
    ----------
    outer : Candidate
        The scores of the chosen settings on the outer folds.
    chosen : list of dict
        The setting that was chosen in each outer fold.
    settings : list of dict
        All settings.
    inner_scores : (n_outer, n_settings) array
        Mean scores of the settings over the inner folds.
    splits : list of Split
        The outer folds.
    """

    outer: Candidate
    chosen: list[dict[str, Any]]
    settings: list[dict[str, Any]]
    inner_scores: Floats
    splits: list[Split]
    _gold: CodedLabels

    @property
    def measure(self) -> str:
        """What settings are judged by."""
        return self.outer.measure

    @property
    def mean(self) -> float:
        """The mean score over the outer folds: no sequence had a say in the choice of what labelled it."""
        return self.outer.mean

    @property
    def std(self) -> float:
        """The standard deviation of the score over the outer folds."""
        return self.outer.std

    @property
    def scores(self) -> dict[str, Floats]:
        """The scores on the outer folds by name."""
        return self.outer.scores

    def predictions(self) -> list[list[Any]]:
        """Return what the chosen settings said of the sequences held out, in the order of `tested`."""
        return self._predictions(self.outer._guesses)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the predictions, ready for JSON."""
        listed = [{name: plain(value) for name, value in params.items()} for params in self.settings]
        return {
            **self.outer.as_dict(),
            "measure": self.measure,
            "folds": len(self.splits),
            "chosen": [{name: plain(value) for name, value in params.items()} for params in self.chosen],
            "settings": listed,
            "inner_scores": self.inner_scores.tolist(),
        }

    def __str__(self) -> str:
        names = _varied(self.settings)
        measures = list(self.scores)
        rows = [["fold", *map(_short(names), names), *measures]]
        for i, params in enumerate(self.chosen):
            values = [f"{100 * self.scores[name][i]:.2f}" for name in measures]
            rows.append([str(i + 1), *(text_of_value(params.get(name, "")) for name in names), *values])
        rows.append(["mean", *[""] * len(names), *(_percent(self.scores[name]) for name in measures)])
        head = f"{len(self.splits)} outer folds; of {len(self.settings)} settings the best {self.measure} in each"
        return "\n".join([head, *aligned(rows)])


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    folds: Any = 5,
    grid: Grid = None,
    scoring: Scoring = "auto",
    groups: Iterable[Hashable] | None = None,
    random_state: int | None = 0,
    curves: bool = False,
    n_jobs: int = -1,
    verbose: int = 0,
) -> CrossValidation:
    """Return how good each setting of a grid is on the sequences of each fold, having learned from the others.

    Parameters
    ----------
    estimator : estimator, or mapping of str to estimators
        What is trained; it is copied, not changed. Several are told apart by their names.
    X, y
        As for the estimator's `fit`; every token needs one label.
    folds : int, list of (train, test) index pairs, or scikit-learn splitter
        How sequences are parted, see `k_folds`.
    grid : dict or list of dicts, optional
        From parameters, as `set_params` knows them (``"learner__C"``), to lists of values. All combinations are tried,
        those of several dicts one after the other. ``"learner"`` may have several learners.
    scoring : {"auto", "f1", "token_f1", "accuracy"} or callable
        What settings are judged by: F1 of exact spans, F1 of the tokens inside of spans (the thesis's F-measure),
        accuracy of tokens, or ``scoring(y_true, y_pred)``, higher being better. ``"auto"`` is ``"f1"`` if the labels
        spell spans, else ``"accuracy"``. All that the labels have are recorded.
    groups : iterable of hashables, optional
        What each sequence belongs to, such as its document: those of one group stay together.
    random_state : int or None
        The seed of the folds; None holds out neighbours. Estimators have seeds of their own.
    curves : bool
        Whether to score after every iteration, for pictures of F against epoch and time.
    n_jobs : int
        How many runs go on at a time; -1 is one for each processor. Results are the same for any number.
    verbose : int
        Whether to write a line for each run, to the standard error.

    Returns
    -------
    CrossValidation
        A table (`str`), `as_dict`, `plot`, the `best` setting, and the predictions of each.

    Notes
    -----
    Labels are decoded from weights in double precision; a model that was fitted and saved has single precision, so that
    a token with two labels of nearly the same score may come out otherwise.

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> X, y = corpus.X_train[:150], corpus.y_train[:150]
    >>> result = cross_validate(
    ...     tw.SequenceLabeler(), X, y, folds=3,
    ...     grid={"learner": ["perceptron", "pa"], "learner__epochs": [2, 5]},
    ... )
    >>> [candidate.params["learner__epochs"] for candidate in result.candidates]
    [2, 5, 2, 5]
    >>> tagger = tw.SequenceLabeler().set_params(**result.best.params).fit(X, y)
    """
    corpus = Corpus(X, y)
    splits = splits_of(folds, len(corpus), groups, random_state)
    return _cross_validated(corpus, estimator, grid, splits, scoring, n_jobs, curves, verbose)


def validate(
    estimator: Any,
    X: Any,
    y: Any,
    X_dev: Any,
    y_dev: Any,
    *,
    grid: Grid = None,
    scoring: Scoring = "auto",
    curves: bool = False,
    n_jobs: int = -1,
    verbose: int = 0,
) -> CrossValidation:
    """Return how good each setting of a grid is on development data, having learned from X and y.

    Parameters
    ----------
    estimator, X, y, grid, scoring, curves, n_jobs, verbose
        As for `cross_validate`.
    X_dev, y_dev
        What the settings are scored on.

    Returns
    -------
    CrossValidation
        With one fold; its predictions are those of ``X_dev``.

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> result = validate(
    ...     tw.SequenceLabeler("pa"), corpus.X_train[:200], corpus.y_train[:200], corpus.X_test, corpus.y_test,
    ...     grid={"learner__C": [0.01, 1.0]},
    ... )
    >>> result.best.scores["f1"].shape
    (1,)
    """
    n, (X, y) = _length(X), (_joined(X, X_dev), _joined(y, y_dev))
    corpus = Corpus(X, y)
    split = splits_of([(np.arange(n), np.arange(n, len(corpus)))], len(corpus), None, None)
    return _cross_validated(corpus, estimator, grid, split, scoring, n_jobs, curves, verbose)


def nested_cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    grid: Grid,
    folds: Any = 5,
    inner_folds: int = 5,
    scoring: Scoring = "auto",
    groups: Iterable[Hashable] | None = None,
    random_state: int | None = 0,
    n_jobs: int = -1,
    verbose: int = 0,
) -> NestedCrossValidation:
    """Return how good the best setting of a grid is on each fold, chosen by cross-validation within the others.

    The best of many settings looks better on the data that chose it than it is. Here the sequences of a fold have no
    say in the choice of the setting that labels them: the protocol of Salzberg (1997), with which the thesis's Table
    3.2 was made.

    Parameters
    ----------
    estimator, X, y, grid, scoring, groups, random_state, n_jobs, verbose
        As for `cross_validate`.
    folds : int, list of (train, test) index pairs, or scikit-learn splitter
        The outer folds.
    inner_folds : int
        In how many parts the sequences of an outer fold's training data are parted to choose the setting.

    Returns
    -------
    NestedCrossValidation

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> X, y = corpus.X_train[:150], corpus.y_train[:150]
    >>> result = nested_cross_validate(
    ...     tw.SequenceLabeler("pa"), X, y, folds=3, inner_folds=2, grid={"learner__epochs": [1, 4]}
    ... )
    >>> len(result.chosen), result.inner_scores.shape
    (3, (3, 2))
    """
    corpus = Corpus(X, y)
    groups = None if groups is None else list(groups)
    outer = splits_of(folds, len(corpus), groups, random_state)
    inner: list[Split] = []
    for train, _ in outer:
        own = None if groups is None else [groups[i] for i in train.tolist()]
        parts = k_folds(len(train), inner_folds, groups=own, random_state=random_state)
        inner += [Split(train[part.train], train[part.test]) for part in parts]
    settings = settings_of(estimator, grid)
    measure, score = _scorer(scoring, corpus.gold)
    jobs = checks.as_jobs(n_jobs)
    tried = run_all(corpus, settings, inner, score, n_jobs=jobs, verbose=verbose)
    scores = np.array([[outcome.scores[measure] for outcome in row] for row in tried])
    means = scores.reshape(len(settings), len(outer), -1).mean(axis=2).T
    chosen = means.argmax(axis=1).tolist()
    outcomes: list[Any] = [None] * len(outer)
    for best in sorted(set(chosen)):
        own = [i for i, choice in enumerate(chosen) if choice == best]
        again = run_all(corpus, [settings[best]], [outer[i] for i in own], score, n_jobs=jobs, verbose=verbose)
        for i, outcome in zip(own, again[0], strict=True):
            outcomes[i] = outcome
    return NestedCrossValidation(
        _candidate({}, measure, outcomes),
        [settings[best].params for best in chosen],
        [setting.params for setting in settings],
        means,
        outer,
        corpus.gold,
    )


def _cross_validated(
    corpus: Corpus,
    estimator: Any,
    grid: Grid,
    splits: list[Split],
    scoring: Scoring,
    n_jobs: int,
    curves: bool,
    verbose: int,
) -> CrossValidation:
    settings = settings_of(estimator, grid)
    measure, score = _scorer(scoring, corpus.gold)
    outcomes = run_all(
        corpus, settings, splits, score, n_jobs=checks.as_jobs(n_jobs), curves=bool(curves), verbose=verbose
    )
    candidates = [_candidate(setting.params, measure, row) for setting, row in zip(settings, outcomes, strict=True)]
    return CrossValidation(candidates, measure, splits, corpus.gold)


def _candidate(params: dict[str, Any], measure: str, outcomes: Sequence[Outcome]) -> Candidate:
    return Candidate(
        params,
        measure,
        {name: np.array([outcome.scores[name] for outcome in outcomes]) for name in outcomes[0].scores},
        np.array([outcome.seconds for outcome in outcomes]),
        np.array([outcome.iteration for outcome in outcomes], dtype=np.int64),
        [outcome.curve for outcome in outcomes],
        [outcome.guess for outcome in outcomes],
    )


def _scorer(scoring: Any, gold: CodedLabels) -> tuple[str, Callable[[CodedLabels, CodedLabels], dict[str, float]]]:
    """Return the name of the measure that settings are judged by, and a function that gives all of them."""
    spelled = checked_measure("auto", gold.names, "scoring") == "f1"
    measures = ["f1", "token_f1", "accuracy"] if spelled else ["accuracy"]
    if isinstance(scoring, str):
        measure = checked_measure(scoring, gold.names, "scoring")
        measures += [] if measure in measures else [measure]
    elif callable(scoring):
        measure = getattr(scoring, "__name__", "score")
    else:
        raise InvalidInput(f'scoring is {shown(scoring)}; expected "auto", "f1", "token_f1", "accuracy" or a function.')

    def score(gold: CodedLabels, guess: CodedLabels) -> dict[str, float]:
        found = {name: float(f1_of(counts_per_sequence(gold, guess, name).sum(axis=0))) for name in measures}
        return found if isinstance(scoring, str) else {measure: float(scoring(gold.lists(), guess.lists())), **found}

    return measure, score


def _joined(first: Any, second: Any) -> Any:
    """Return the entries of both."""
    if hasattr(first, "tocsr"):
        from scipy.sparse import vstack

        return vstack([first, second]).tocsr()
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([first, second])
    return [*first, *second]


def _length(items: Any) -> int:
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def _std(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _percent(values: Floats) -> str:
    spread = f" ± {100 * _std(values):.2f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.2f}{spread}"


def _varied(params: Sequence[dict[str, Any]]) -> list[str]:
    """Return the parameters that settings have, those that are always the same left out unless all are."""
    names = list(dict.fromkeys(name for one in params for name in one))
    texts = {name: {text_of_value(one.get(name, "")) for one in params} for name in names}
    return [name for name in names if len(texts[name]) > 1]


def _short(names: Sequence[str]) -> Callable[[str], str]:
    """Return how a table calls parameters: by the last part of their name where that is enough."""
    lasts = [name.rpartition("__")[2] for name in names]
    return lambda name: last if lasts.count(last := name.rpartition("__")[2]) == 1 else name


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: None for what is not finite, text for what it does not know."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def aligned(rows: list[list[str]]) -> list[str]:
    """Return rows as lines, each column flush right under its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
