"""Cross-validation: scores of each setting of a grid on held-out sequences.

All settings use the same folds, so their predictions can be compared token by token (`mcnemar`, `paired_bootstrap`).
Features are extracted once, and settings that differ only in the number of epochs share a run (see `runs`).
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
    """Return the scores of each setting of a grid on each fold, after training on the others.

    Parameters
    ----------
    estimator : estimator, or mapping of str to estimators
        The estimator to train; it is copied, not changed. Several are distinguished by name.
    X, y
        As for the estimator's `fit`; every token must have one label.
    folds : int, list of (train, test) index pairs, or scikit-learn splitter
        How to split the sequences, see `k_folds`.
    grid : dict or list of dicts, optional
        Maps parameters, with names as in `set_params` (``"learner__C"``), to lists of values. All combinations are
        tried, those of several dicts one after the other. ``"learner"`` may have several learners.
    scoring : {"auto", "f1", "token_f1", "accuracy"} or callable
        The measure for ranking settings: F1 of exact spans, F1 of the tokens inside of spans (Mančev's F-measure),
        accuracy of tokens, or ``scoring(y_true, y_pred)``, higher being better. ``"auto"`` is ``"f1"`` if the labels
        encode spans, else ``"accuracy"``. All measures that apply to the labels are recorded.
    groups : iterable of hashables, optional
        The group of each sequence, such as its document; the sequences of a group stay together.
    random_state : int or None
        The seed of the folds; with None, folds are consecutive sequences. Estimators have their own seeds.
    curves : bool
        Whether to score after every iteration, for plots of scores against epochs and time.
    n_jobs : int
        Number of parallel runs; -1 is one for each processor. Results are the same for any number.
    verbose : int
        Whether to write a line for each run to the standard error.

    Returns
    -------
    CrossValidation
        A table (`str`), `as_dict`, `plot`, the `best` setting, and the predictions of each setting.

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
    """Return the scores of each setting of a grid on development data, after training on X and y.

    Parameters
    ----------
    estimator, X, y, grid, scoring, curves, n_jobs, verbose
        As for `cross_validate`.
    X_dev, y_dev
        Development data, for the scores.

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
    """Return the score on each fold of the best setting of a grid, chosen by cross-validation on the others.

    The score of the best of many settings is too optimistic on the data used to choose it. Here the sequences of a fold
    do not influence the choice of the setting that labels them. This is the protocol of Salzberg (1997), used for Table
    3.2 of Mančev 2015.

    Parameters
    ----------
    estimator, X, y, grid, scoring, groups, random_state, n_jobs, verbose
        As for `cross_validate`.
    folds : int, list of (train, test) index pairs, or scikit-learn splitter
        The outer folds.
    inner_folds : int
        Number of inner folds of the training data of an outer fold, for choosing the setting.

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
    """Return the name of the measure for ranking settings, and a function that computes all measures."""
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
