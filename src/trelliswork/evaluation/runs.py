"""Many runs of training and prediction: shared features, all cores, the same results in any order.

A `SequenceLabeler` extracts its features once for all runs. Settings that differ only in the length of training share a
run: the short one is the beginning of the long one. Other estimators are fitted separately.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import text_of_value
from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.folds import Split, splits_of
from trelliswork.evaluation.grids import Setting
from trelliswork.labels.coded import CodedLabels, coded
from trelliswork.labels.ragged import numbered_in_whole
from trelliswork.log import tell
from trelliswork.training.cloning import cloned
from trelliswork.training.feature_cache import SharesFeatures
from trelliswork.training.snapshots import Snapshot, Stopwatch

__all__ = ["Corpus", "Outcome", "run_all"]

Scorer = Callable[[CodedLabels, CodedLabels], dict[str, float]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one setting on one split.

    Attributes
    ----------
    guess : CodedLabels
        Predictions for the held-out sequences.
    scores : dict of str to float
    seconds, cpu_seconds : float
        Of training.
    iteration : int
        The last iteration; 0 if the estimator does not tell.
    curve : list of dict
        For each iteration: its number, seconds, objective and scores; empty if not asked for.
    """

    guess: CodedLabels
    scores: dict[str, float]
    seconds: float
    cpu_seconds: float
    iteration: int
    curve: list[dict[str, float]] = field(default_factory=list)


class Corpus:
    """Sequences and labels; runs train on parts of them.

    Parameters
    ----------
    X : sequence, array or sparse matrix
    y : sequence of label sequences, or of labels where there is one to each entry of X
    """

    def __init__(self, X: Any, y: Any) -> None:
        self.X = X if hasattr(X, "__len__") or hasattr(X, "shape") else list(X)
        y = y if hasattr(y, "__len__") else list(y)
        self.flat = _is_flat(y)
        self.y = y
        self.gold = coded(_nested(y) if self.flat else y)
        n = _length(self.X)
        if n != len(self.gold):
            raise InvalidInput(f"y has {len(self.gold)} entries but X has {n}. Every sequence needs its labels.")
        self._prepared: list[Any] = []

    @classmethod
    def with_dev(cls, X: Any, y: Any, X_dev: Any, y_dev: Any) -> tuple[Corpus, list[Split]]:
        """Return all sequences as one corpus, and the split that learns from the first and holds out the others."""
        parts = {"X": X, "y": y, "X_dev": X_dev, "y_dev": y_dev}
        for name, part in parts.items():
            if part is None:
                raise InvalidInput(f"{name} is missing: development data are X_dev with y_dev.")
            if isinstance(part, str | bytes) or not hasattr(part, "__iter__"):
                raise InvalidInput(f"{name} is {shown(part)}; expected a list with an item for each sequence.")
            parts[name] = part if hasattr(part, "__len__") or hasattr(part, "shape") else list(part)
        for of in ("", "_dev"):
            if _length(parts[f"X{of}"]) != _length(parts[f"y{of}"]):
                raise InvalidInput(
                    f"y{of} has {_length(parts[f'y{of}'])} entries but X{of} has {_length(parts[f'X{of}'])}. "
                    "Every sequence needs its labels."
                )
        corpus = cls(_joined(parts["X"], parts["X_dev"]), _joined(parts["y"], parts["y_dev"]))
        n = _length(parts["X"])
        return corpus, splits_of([(np.arange(n), np.arange(n, len(corpus)))], len(corpus), None, None)

    def __len__(self) -> int:
        return len(self.gold)

    def prepared(self, estimator: Any) -> Any:
        """Return what an estimator is trained from: features it shares with others, if it can, or X and y."""
        for ready in self._prepared:
            if ready.serves(estimator):
                return ready
        made = estimator.feature_cache(self.X, self.y) if isinstance(estimator, SharesFeatures) else None
        if made is None:
            return _Plain(self)
        self._prepared.append(made)
        return made

    def some(self, sequences: npt.NDArray[np.intp]) -> tuple[Any, Any]:
        """Return X and y of these sequences."""
        return _some(self.X, sequences), _some(self.y, sequences)


class _Plain:
    """Training as anybody would do it: `fit` on some sequences, `predict` others."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def duration(self, estimator: Any) -> str | None:
        return None

    def run(
        self,
        estimator: Any,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
        wanted: Callable[[int], bool],
        see: Callable[[Snapshot], None],
        stop: Callable[[], bool],
    ) -> Snapshot:
        watch = Stopwatch()
        with numbered_in_whole(train):
            fitted = cloned(estimator).fit(*self._corpus.some(train))
        spent = watch.read()
        found = fitted.predict(self._corpus.some(test)[0])
        guess = coded(_nested(found) if self._corpus.flat else found, "the prediction")
        guess.require_like(self._corpus.gold.some(test), "the prediction", "y")
        iterations = getattr(fitted, "n_iter_", 0)
        number = int(iterations) if isinstance(iterations, int | np.integer) else 0
        return Snapshot(number, *spent, float("nan"), guess.codes, guess.names)


def run_all(
    corpus: Corpus,
    settings: Sequence[Setting],
    splits: Sequence[Split],
    score: Scorer,
    *,
    n_jobs: int,
    curves: bool = False,
    verbose: int = 0,
) -> list[list[Outcome]]:
    """Return the outcome of every setting on every split: ``outcomes[setting][split]``.

    Parameters
    ----------
    corpus : Corpus
    settings : sequence of Setting
    splits : sequence of Split
    score : callable
        From gold and guessed labels to scores by name.
    n_jobs : int
        Number of parallel runs.
    curves : bool
        Whether to score after every iteration.
    verbose : int
        Whether to write a line for each run to the standard error.
    """
    families = _families(corpus, settings)
    n_runs = len(families) * len(splits)
    threads = max(1, n_jobs // max(n_runs, 1))  # of each run, where there are more processors than runs
    for setting in settings:
        if "n_jobs" in setting.estimator.get_params(deep=False):
            setting.estimator.set_params(n_jobs=threads)
    outcomes: list[list[Any]] = [[None] * len(splits) for _ in settings]
    stop = _core.Stop()

    def run(family: list[int], number: int) -> tuple[list[int], int, list[Outcome]]:
        members = [settings[i] for i in family]
        with stop:
            return family, number, _run(corpus, members, splits[number], score, curves, lambda: stop.is_set)

    # Folds of one setting after each other: what is slow is then seen early, and memory is used by few at a time.
    tasks = [(family, number) for family in families for number in range(len(splits))]
    with ThreadPoolExecutor(max_workers=max(1, min(n_jobs, n_runs))) as pool:
        futures = [pool.submit(run, *task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                family, number, found = future.result()
                for i, outcome in zip(family, found, strict=True):
                    outcomes[i][number] = outcome
                    tell(_line(f"{done}/{n_runs}", settings[i], number, outcome), bool(verbose))
        except BaseException:  # Ctrl-C as well: signals reach none of the others
            stop.set()
            for future in futures:
                future.cancel()
            raise
    return outcomes


def _families(corpus: Corpus, settings: Sequence[Setting]) -> list[list[int]]:
    """Return the settings that one run can serve, by number: they differ only in how long it is."""
    families: dict[Hashable, list[int]] = {}
    for i, setting in enumerate(settings):
        ready = corpus.prepared(setting.estimator)
        duration = ready.duration(setting.estimator)
        shared = duration is not None and duration in setting.place
        place = {name: value for name, value in setting.place.items() if name != duration}
        families.setdefault(tuple(place.items()) if shared else (i,), []).append(i)
    return list(families.values())


def _run(
    corpus: Corpus,
    members: Sequence[Setting],
    split: Split,
    score: Scorer,
    curves: bool,
    stop: Callable[[], bool],
) -> list[Outcome]:
    """Return the outcomes of settings that differ only in how long they are trained."""
    gold = corpus.gold.some(split.test)
    ready = corpus.prepared(members[0].estimator)
    lengths = [0]
    if len(members) > 1:
        duration = ready.duration(members[0].estimator)
        lengths = [int(setting.params[duration]) for setting in members]
    longest = members[int(np.argmax(lengths))].estimator
    snapshots: dict[int, Snapshot] = {}
    curve: list[dict[str, float]] = []

    def see(snapshot: Snapshot) -> None:
        if snapshot.iteration in lengths:
            snapshots[snapshot.iteration] = snapshot
        if curves:
            point = {name: getattr(snapshot, name) for name in ("iteration", "seconds", "cpu_seconds", "objective")}
            curve.append(point | score(gold, _guess(snapshot, gold)))

    last = ready.run(longest, *split, lambda number: curves or number in lengths, see, stop)
    outcomes = []
    for length in lengths:
        end = snapshots.get(length, last)  # the last where training converged earlier
        guess = _guess(end, gold)
        so_far = [point for point in curve if point["iteration"] <= end.iteration]
        outcomes.append(Outcome(guess, score(gold, guess), end.seconds, end.cpu_seconds, end.iteration, so_far))
    return outcomes


def _guess(snapshot: Snapshot, gold: CodedLabels) -> CodedLabels:
    """Return the labels of a snapshot by the numbers that gold has, new ones after these."""
    numbers = {name: code for code, name in enumerate(gold.names)}
    table = [numbers.setdefault(name, len(numbers)) for name in snapshot.classes]
    # As narrow as can be: a large grid keeps the labels of every token once for each of its settings.
    codes = np.array(table, dtype=np.min_scalar_type(len(numbers)))
    return CodedLabels(list(numbers), codes[snapshot.labels], gold.offsets)


def _line(progress: str, setting: Setting, number: int, outcome: Outcome) -> str:
    params = ", ".join(f"{name}={text_of_value(value)}" for name, value in setting.params.items())
    scores = ", ".join(f"{name} {100 * value:.2f}" for name, value in outcome.scores.items())
    return f"run {progress}: {params or 'as given'}, split {number + 1}: {scores}, {outcome.seconds:.1f} s"


def _some(items: Any, sequences: npt.NDArray[np.intp]) -> Any:
    items = getattr(items, "iloc", items)  # pandas counts by place only there
    return items[sequences] if hasattr(items, "shape") else [items[i] for i in sequences.tolist()]


def _is_flat(y: Any) -> bool:
    """Whether y has a label for each entry of X, not a sequence of them."""
    first = next(iter(y), None)
    return isinstance(first, str | bytes) or (first is not None and not isinstance(first, Iterable))


def _nested(y: Any) -> list[list[Any]]:
    return [[label] for label in (y.tolist() if isinstance(y, np.ndarray) else y)]


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
