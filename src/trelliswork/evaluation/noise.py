"""Artificial outliers: sequences with random labels, to test how robust losses are (Mančev 2015, 5.4, Figure 5.3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.pairs import in_order
from trelliswork.labels.coded import LabelLists, coded

__all__ = ["NoisyLabels", "with_outliers"]


class NoisyLabels(NamedTuple):
    """Label sequences, some of which were replaced.

    Attributes
    ----------
    labels : list of lists of labels
        All sequences.
    outliers : list of int
        The positions of those with random labels.
    """

    labels: list[list[Any]]
    outliers: list[int]


def with_outliers(y: LabelLists, share: float, random_state: int = 0, scheme: str | None = None) -> NoisyLabels:
    """Return the labels with a fraction of the sequences relabelled at random.

    "We chose a portion of examples and changed their labels randomly" (Mančev 2015, 5.4): every token of an outlier
    gets a label drawn uniformly from all labels of ``y``, independently of the others. With the same seed, the outliers
    of a smaller fraction are among those of a larger one, with the same labels, so curves over fractions are
    consistent.

    Parameters
    ----------
    y : iterable of n sequences of labels
    share : float
        The fraction of sequences, from 0 to 1; ``round(share * n)`` are changed.
    random_state : int
        The seed.
    scheme : str, optional
        With a label scheme such as ``"BIO"``, all labellings that are valid in it are equally probable instead. Use
        this for models with constraints, which refuse gold labels that violate them.

    Returns
    -------
    NoisyLabels
        ``labels`` and the positions of the ``outliers``.

    Examples
    --------
    >>> y = [["D", "N", "V"] * 5] * 10
    >>> labels, outliers = with_outliers(y, 0.2, random_state=1)
    >>> len(outliers), sum(noisy != gold for noisy, gold in zip(labels, y))
    (2, 2)
    >>> set(outliers) <= set(with_outliers(y, 0.5, random_state=1).outliers)
    True
    """
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0.0 <= share <= 1.0:
        raise InvalidInput(f"share is {shown(share)}; expected a part of the sequences, from 0 to 1, such as 0.2.")
    gold = coded(y, "y")
    labels = gold.lists()
    names = in_order(gold.names)
    n = len(labels)
    chosen = np.random.default_rng(random_state).permutation(n)[: round(float(share) * n)]
    outliers = sorted(chosen.tolist())
    for i in outliers:
        # A generator of its own: what one outlier gets does not depend on which others there are.
        labels[i] = _random_labels(names, len(labels[i]), np.random.default_rng([random_state, i]), scheme)
    return NoisyLabels(labels, outliers)


def _random_labels(names: list[Any], length: int, rng: np.random.Generator, scheme: str | None) -> list[Any]:
    if scheme is None or length == 0:
        return [names[code] for code in rng.integers(len(names), size=length).tolist()]
    from trelliswork.labels.scheme_constraints import scheme_constraints
    from trelliswork.structures.chain import Chain

    n_labels = len(names)
    flat = Chain(np.zeros((length, n_labels)), np.zeros((n_labels, n_labels)))
    allowed = flat.constrained(**scheme_constraints(names, scheme)._asdict())
    drawn = allowed.sample(1, random_state=int(rng.integers(2**31)))
    return [names[code] for code in np.asarray(drawn).reshape(-1).tolist()]
