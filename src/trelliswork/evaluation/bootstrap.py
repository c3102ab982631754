"""The paired bootstrap: whether one tagger is better than another by more than chance, also in F1.

It draws sequences with replacement, the same for both taggers, and measures the difference on each sample (Efron &
Tibshirani 1993; Koehn 2004; Berg-Kirkpatrick, Burkett & Klein 2012).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.counts import checked_measure, counts_per_sequence, f1_of, score_of
from trelliswork.evaluation.scores import Score
from trelliswork.labels.coded import LabelLists, coded

__all__ = ["PairedBootstrap", "bootstrap_of_counts", "paired_bootstrap"]

Floats = npt.NDArray[np.float64]

_DRAWS_AT_A_TIME = 1 << 22  # sequences that are drawn at a time


@dataclass(frozen=True, eq=False)
class PairedBootstrap:
    """The result of resampling: the difference of two taggers and its distribution.

    Parameters
    ----------
    first, second : Score
        Scores of the two taggers on the original data.
    differences : (n_samples,) array
        Second minus first on each sample.
    measure : str
    confidence : float
        The confidence level of `interval`.
    """

    first: Score
    second: Score
    differences: Floats
    measure: str
    confidence: float

    @property
    def difference(self) -> float:
        """Second minus first, on the original data."""
        return self.second.f1 - self.first.f1

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of the difference: percentiles of the samples."""
        tail = (1.0 - self.confidence) / 2
        low, high = np.quantile(self.differences, [tail, 1.0 - tail]).tolist()
        return low, high

    @property
    def p_value(self) -> float:
        """The two-sided p-value: the probability of a difference at least this large if there is none.

        The samples are centred on the measured difference, so samples that deviate by at least as much represent chance
        (Berg-Kirkpatrick, Burkett & Klein 2012, whose test is one-sided). The value is never 0, since the data are a
        sample, too.
        """
        # Rounding must not part what is equal: a sample may be the data themselves.
        extreme = np.abs(self.differences - self.difference) >= abs(self.difference) - 1e-12
        return float((1 + np.count_nonzero(extreme)) / (1 + len(self.differences)))

    @property
    def share_second_better(self) -> float:
        """The fraction of samples on which the second is better; ties count half."""
        above = np.count_nonzero(self.differences > 0) + np.count_nonzero(self.differences == 0) / 2
        return float(above / len(self.differences))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "measure": self.measure,
            "first": self.first.f1,
            "second": self.second.f1,
            "difference": self.difference,
            "confidence": self.confidence,
            "interval": list(self.interval),
            "p_value": self.p_value,
            "share_second_better": self.share_second_better,
            "samples": len(self.differences),
        }

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.measure}: first {100 * self.first.f1:.2f}, second {100 * self.second.f1:.2f}, "
            f"difference {100 * self.difference:+.2f}\n"
            f"{100 * self.confidence:g}% of {len(self.differences)} samples: {100 * low:+.2f} to {100 * high:+.2f}, "
            f"p = {self.p_value:.4g}; the second is better in {100 * self.share_second_better:.1f}%"
        )


def paired_bootstrap(
    y_true: LabelLists,
    first: LabelLists,
    second: LabelLists,
    measure: str = "auto",
    *,
    n_samples: int = 10_000,
    confidence: float = 0.95,
    random_state: int = 0,
    outside: Hashable = "O",
) -> PairedBootstrap:
    """Return the difference in F1 between two predictions, with a confidence interval and a p-value.

    Parameters
    ----------
    y_true : iterable of n sequences of labels
        Gold labels, one for each token.
    first, second : iterables of n sequences of labels
        The predictions of the two taggers.
    measure : {"auto", "f1", "token_f1", "accuracy"}
        ``"f1"`` of exact spans, read in the way of conlleval; ``"token_f1"`` of the tokens inside of spans, Mančev's
        F-measure; accuracy of tokens. ``"auto"`` is ``"f1"`` if the labels encode spans, else ``"accuracy"``. For trees
        use `bootstrap_of_counts`.
    n_samples : int
        Number of samples.
    confidence : float
        The confidence level of the interval.
    random_state : int
        The seed.
    outside : label
        The label of tokens in no span.

    Returns
    -------
    PairedBootstrap

    Examples
    --------
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"], ["O", "B-VP"]] * 40
    >>> worse = [["B-NP", "O", "O"], ["B-NP", "O"], ["O", "B-VP"]] * 40
    >>> test = paired_bootstrap(gold, worse, gold, n_samples=1000)
    >>> round(test.first.f1, 3), test.second.f1, test.p_value < 0.01
    (0.667, 1.0, True)
    """
    gold = coded(y_true, "y_true")
    one = coded(first, "first", gold.names)
    two = coded(second, "second", one.names)
    one.require_like(gold, "first", "y_true")
    two.require_like(gold, "second", "y_true")
    if not len(gold):
        raise InvalidInput("y_true has no sequences: there is nothing to compare.")
    measure = checked_measure(measure, two.names)
    one_counts, two_counts = (counts_per_sequence(gold, guess, measure, outside) for guess in (one, two))
    return bootstrap_of_counts(
        one_counts, two_counts, measure, n_samples=n_samples, confidence=confidence, random_state=random_state
    )


def bootstrap_of_counts(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    measure: str = "f1",
    *,
    n_samples: int = 10_000,
    confidence: float = 0.95,
    random_state: int = 0,
) -> PairedBootstrap:
    """Return the difference in F1, with a confidence interval and a p-value, from the counts of each sentence.

    Parameters
    ----------
    first, second : (n, 3) arrays of int
        For each sentence, the numbers of correct, guessed and gold items, such as
        ``bracket_scores(gold, guess).counts``.
    measure : str
        A name for the counts, for the text of the answer.
    n_samples, confidence, random_state
        As for `paired_bootstrap`.

    Examples
    --------
    >>> bootstrap_of_counts([[1, 2, 2]] * 30, [[2, 2, 2]] * 30, n_samples=100).difference
    0.5
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise InvalidInput(f"n_samples is {shown(n_samples)}; expected how often to draw, such as 10,000.")
    if not 0.0 < confidence < 1.0:
        raise InvalidInput(f"confidence is {shown(confidence)}; expected a number between 0 and 1, such as 0.95.")
    counts = [np.asarray(part, dtype=np.int64) for part in (first, second)]
    if counts[0].shape != counts[1].shape or counts[0].ndim != 2 or counts[0].shape[1] != 3 or not len(counts[0]):
        raise InvalidInput(
            f"first and second have the shapes {counts[0].shape} and {counts[1].shape}; expected (n, 3) for both, a "
            "row for each sentence."
        )
    # Both side by side, so that a sample is drawn and summed once.
    sums = _resampled(np.concatenate(counts, axis=1), int(n_samples), random_state)
    differences = f1_of(sums[:, 3:]) - f1_of(sums[:, :3])
    return PairedBootstrap(score_of(counts[0]), score_of(counts[1]), differences, measure, float(confidence))


def _resampled(counts: npt.NDArray[np.int64], n_samples: int, random_state: int) -> npt.NDArray[np.int64]:
    """Return the sums of n rows drawn with replacement, once for each sample."""
    rng = np.random.default_rng(random_state)
    n = len(counts)
    at_a_time = max(1, _DRAWS_AT_A_TIME // n)
    sums = []
    for first in range(0, n_samples, at_a_time):
        drawn = rng.integers(n, size=(min(at_a_time, n_samples - first), n))
        # How often each row was drawn, by one bincount over all samples of the block.
        flat = (drawn + n * np.arange(len(drawn))[:, None]).ravel()
        sums.append(np.bincount(flat, minlength=n * len(drawn)).reshape(-1, n) @ counts)
    return np.concatenate(sums)
