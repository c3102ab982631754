"""Cross-validation: how good each setting of a grid is on sequences that it did not learn from.

All settings see the same folds, so their predictions can be compared token by token (`mcnemar`, `paired_bootstrap`).
Features are extracted once, and settings that differ only in the number of epochs are one run (see `runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.counts import checked_measure, counts_per_sequence, f1_of
from trelliswork.evaluation.folds import Split, k_folds, splits_of
from trelliswork.evaluation.grids import Grid, settings_of
from trelliswork.evaluation.results import CrossValidation, NestedCrossValidation, candidate_of
from trelliswork.evaluation.runs import Corpus, run_all
from trelliswork.labels.coded import CodedLabels
from trelliswork.structures import checks

__all__ = ["Scoring", "cross_validate", "nested_cross_validate", "scorer_of", "validate"]

Scoring = str | Callable[[list[list[Any]], list[list[Any]]], float]


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
        What settings are judged by: F1 of exact spans, F1 of the tokens inside of spans (Mančev's F-measure),
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
    corpus, splits = Corpus.with_dev(X, y, X_dev, y_dev)
    return _cross_validated(corpus, estimator, grid, splits, scoring, n_jobs, curves, verbose)


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
    say in the choice of the setting that labels them: the protocol of Salzberg (1997), with which Mančev 2015, Table
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
    measure, score = scorer_of(scoring, corpus.gold)
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
        candidate_of({}, measure, outcomes),
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
    measure, score = scorer_of(scoring, corpus.gold)
    outcomes = run_all(
        corpus, settings, splits, score, n_jobs=checks.as_jobs(n_jobs), curves=bool(curves), verbose=verbose
    )
    candidates = [candidate_of(setting.params, measure, row) for setting, row in zip(settings, outcomes, strict=True)]
    return CrossValidation(candidates, measure, splits, corpus.gold)


def scorer_of(scoring: Any, gold: CodedLabels) -> tuple[str, Callable[[CodedLabels, CodedLabels], dict[str, float]]]:
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
