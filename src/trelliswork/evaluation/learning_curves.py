"""Learning curves: scores against the number of training sequences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.cross_validation import Scoring, scorer_of
from trelliswork.evaluation.folds import Split, splits_of
from trelliswork.evaluation.grids import Grid, settings_of
from trelliswork.evaluation.results import CrossValidation, candidate_of
from trelliswork.evaluation.runs import Corpus, run_all
from trelliswork.structures import checks

__all__ = ["learning_curve"]


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    X_dev: Any = None,
    y_dev: Any = None,
    *,
    sizes: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 1.0),
    folds: Any = 5,
    grid: Grid = None,
    scoring: Scoring = "auto",
    groups: Iterable[Hashable] | None = None,
    random_state: int | None = 0,
    n_jobs: int = -1,
    verbose: int = 0,
) -> CrossValidation:
    """Return the scores of each setting for increasing numbers of training sequences.

    Each fold trains on increasing parts of its training data, where larger parts contain the smaller ones. The held-out
    sequences are the same for all sizes.

    Parameters
    ----------
    estimator, X, y, folds, grid, scoring, groups, n_jobs, verbose
        As for `cross_validate`.
    X_dev, y_dev : optional
        Data to score on, instead of folds.
    sizes : sequence of float or int
        Fractions of the training data up to 1.0, or numbers of sequences.
    random_state : int or None
        The seed of the folds and of the order of the sequences; with None, neither is shuffled.

    Returns
    -------
    CrossValidation
        A candidate for each setting and size: its parameter ``"sequences"`` is the size. ``plot()`` draws the curves.

    Examples
    --------
    >>> import trelliswork as tw
    >>> corpus = tw.corpora.ingredients()
    >>> result = learning_curve(tw.SequenceLabeler("pa"), corpus.X_train, corpus.y_train, sizes=[50, 700], folds=3)
    >>> few, many = result.candidates
    >>> few.params, many.mean > few.mean
    ({'sequences': 50}, True)
    """
    if X_dev is None and y_dev is None:
        corpus = Corpus(X, y)
        splits = splits_of(folds, len(corpus), groups, random_state)
    else:
        corpus, splits = Corpus.with_dev(X, y, X_dev, y_dev)
    numbers = _checked_sizes(sizes, min(len(split.train) for split in splits))
    rng = None if random_state is None else np.random.default_rng(random_state)
    orders = [split.train if rng is None else rng.permutation(split.train) for split in splits]
    parts = [
        Split(np.sort(order[:number]), split.test)
        for number in numbers
        for order, split in zip(orders, splits, strict=True)
    ]
    settings = settings_of(estimator, grid)
    measure, score = scorer_of(scoring, corpus.gold)
    outcomes = run_all(corpus, settings, parts, score, n_jobs=checks.as_jobs(n_jobs), verbose=verbose)
    candidates = [
        candidate_of({**setting.params, "sequences": number}, measure, row[i * len(splits) : (i + 1) * len(splits)])
        for setting, row in zip(settings, outcomes, strict=True)
        for i, number in enumerate(numbers)
    ]
    return CrossValidation(candidates, measure, splits, corpus.gold)


def _checked_sizes(sizes: Any, most: int) -> list[int]:
    """Return how many sequences each size is."""
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise InvalidInput(f"sizes is {shown(sizes)}; expected a list of shares or numbers of sequences.")
    numbers = []
    for size in sizes:
        share = isinstance(size, float | np.floating)
        number = round(float(size) * most) if share else size
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 1 <= number <= most:
            raise InvalidInput(
                f"sizes has {shown(size)}; expected a share up to 1.0 or a number from 1 to {most}, which is how many "
                "sequences there are to learn from."
            )
        numbers.append(int(number))
    if not numbers:
        raise InvalidInput("sizes is empty; expected a list of shares or numbers of sequences.")
    return list(dict.fromkeys(numbers))
