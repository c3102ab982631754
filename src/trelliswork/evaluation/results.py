"""Results of cross-validation: settings, their scores on each fold, and their predictions for held-out sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import text_of_value
from trelliswork.evaluation.folds import Split
from trelliswork.evaluation.mcnemar import McNemar, mcnemar
from trelliswork.evaluation.runs import Outcome
from trelliswork.evaluation.text import aligned
from trelliswork.labels.coded import CodedLabels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Candidate", "CrossValidation", "NestedCrossValidation", "candidate_of"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One setting, and its results on each fold.

    Attributes
    ----------
    params : dict
        Its parameters in the grid.
    measure : str
        The name of the score for ranking.
    scores : dict of str to (n_folds,) array
        From 0 to 1: ``"f1"`` of exact spans, ``"token_f1"`` and ``"accuracy"``, if they apply to the labels, and the
        score of your own function under its name.
    seconds : (n_folds,) array
        Training time, without reading the examples. Parallel runs slow each other down.
    cpu_seconds : (n_folds,) array
        Training time on the processor's clock, without the time of other processes; of one thread.
    iterations : (n_folds,) array of int
    curves : list of n_folds lists of dict
        For each iteration ``iteration``, ``seconds``, ``cpu_seconds``, ``objective`` and the scores; empty by default.
    """

    params: dict[str, Any]
    measure: str
    scores: dict[str, Floats]
    seconds: Floats
    cpu_seconds: Floats
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
        """Return parameters, mean scores, their deviations and mean seconds as a flat row of a table."""
        means = {name: float(values.mean()) for name, values in self.scores.items()}
        return {
            **self.params,
            **means,
            f"{self.measure}_std": self.std,
            "iterations": float(self.iterations.mean()),
            "seconds": float(self.seconds.mean()),
            "cpu_seconds": float(self.cpu_seconds.mean()),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all figures for JSON; parameters that JSON cannot represent are written as text."""
        return {
            "params": {name: _plain(value) for name, value in self.params.items()},
            "mean": self.mean,
            "std": self.std,
            "scores": {name: values.tolist() for name, values in self.scores.items()},
            "seconds": self.seconds.tolist(),
            "cpu_seconds": self.cpu_seconds.tolist(),
            "iterations": self.iterations.tolist(),
            "curves": [[{name: _plain(value) for name, value in point.items()} for point in c] for c in self.curves],
        }


class _HeldOut:
    """What cross-validations have in common: gold labels and predictions of the sequences that were held out."""

    splits: list[Split]
    _gold: CodedLabels

    @cached_property
    def tested(self) -> npt.NDArray[np.intp]:
        """The numbers of the held-out sequences, in increasing order."""
        return np.sort(np.concatenate([split.test for split in self.splits]), kind="stable")

    @cached_property
    def gold(self) -> list[list[Any]]:
        """The gold labels of the held-out sequences, in the order of `tested`."""
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
        The score for ranking settings.
    splits : list of Split
        The training and held-out sequences of each fold.

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> X, y = corpus.X_train[:150], corpus.y_train[:150]
    >>> result = tw.evaluation.cross_validate(tw.SequenceLabeler("pa"), X, y, folds=3, grid={"learner__epochs": [1, 4]})
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
        """Return a setting's predictions for held-out sequences, in the order of `tested`; by default the best's.

        In k-fold cross-validation these are all sequences of X, in order, each labelled by a model not trained on it.
        """
        return self._predictions(self._chosen(candidate)._guesses)

    def compare(self, first: Candidate | int, second: Candidate | int) -> McNemar:
        """Return McNemar's test of two settings on all held-out tokens (Mančev 2015, 3.3.3)."""
        return mcnemar(self.gold, self.predictions(first), self.predictions(second))

    def rows(self) -> list[dict[str, Any]]:
        """Return a flat dict for each setting, for `csv.DictWriter` or a data frame."""
        return [candidate.row() for candidate in self.candidates]

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the predictions for JSON."""
        best = self.best
        return {
            "measure": self.measure,
            "folds": len(self.splits),
            "best": {name: _plain(value) for name, value in best.params.items()},
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
            A parameter such as ``"learner__k"``: one line for each combination of the others. Or ``"iteration"``,
            ``"seconds"`` or ``"cpu_seconds"``: one line for each setting; these need ``curves=True``. By default, the
            first parameter with several numeric values, else iterations.
        measure : str, optional
            The score to draw; by default the one for ranking settings.
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
    """The scores of choosing a setting by cross-validation and training with it.

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
        """The score for ranking settings."""
        return self.outer.measure

    @property
    def mean(self) -> float:
        """The mean score over the outer folds; no sequence influenced the choice of the setting that labels it."""
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
        """Return the chosen settings' predictions for held-out sequences, in the order of `tested`."""
        return self._predictions(self.outer._guesses)

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the predictions for JSON."""
        listed = [{name: _plain(value) for name, value in params.items()} for params in self.settings]
        return {
            **self.outer.as_dict(),
            "measure": self.measure,
            "folds": len(self.splits),
            "chosen": [{name: _plain(value) for name, value in params.items()} for params in self.chosen],
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


def candidate_of(params: dict[str, Any], measure: str, outcomes: Sequence[Outcome]) -> Candidate:
    """Return a setting with its outcomes on all folds."""
    return Candidate(
        params,
        measure,
        {name: np.array([outcome.scores[name] for outcome in outcomes]) for name in outcomes[0].scores},
        np.array([outcome.seconds for outcome in outcomes]),
        np.array([outcome.cpu_seconds for outcome in outcomes]),
        np.array([outcome.iteration for outcome in outcomes], dtype=np.int64),
        [outcome.curve for outcome in outcomes],
        [outcome.guess for outcome in outcomes],
    )


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


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: None for what is not finite, text for what it does not know."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else repr(value)
