"""How much each sequence and each token counts in training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.labels.encoded import Gold
from trelliswork.structures import checks

__all__ = ["Weighting"]

Floats = npt.NDArray[np.float64]


class Weighting:
    """Weights of sequences, of tokens, and of tokens by their label; the last two are multiplied.

    Parameters
    ----------
    sample_weight : (n,) array-like or None
    token_weight : iterable of (T,) array-likes or None
    class_weight : "balanced", dict or None
        A label that the dict does not name has weight 1. A token that may have several labels has the mean of their
        weights, one of which nothing is known has weight 1.
    """

    def __init__(self, sample_weight: Any, token_weight: Any, class_weight: Any) -> None:
        self._of_sequences = None if sample_weight is None else _checked("sample_weight", sample_weight)
        if self._of_sequences is not None and len(self._of_sequences) and not self._of_sequences.any():
            raise InvalidInput("sample_weight is zero for every sequence: there is nothing to learn from.")
        if token_weight is not None and (isinstance(token_weight, str) or not isinstance(token_weight, Iterable)):
            raise InvalidInput(f"token_weight is {shown(token_weight)}; expected a list of weights for each sequence.")
        self._of_tokens = None if token_weight is None else list(token_weight)
        if class_weight is not None and class_weight != "balanced" and not isinstance(class_weight, Mapping):
            raise InvalidInput(f'class_weight is {shown(class_weight)}; expected "balanced", a dict, or None.')
        self._class_weight = class_weight
        self._of_codes: Floats | None = None

    def require_meaning(self, learner: Any) -> None:
        """Refuse weights of tokens to a learner that does not look at tokens one by one, nor at what they cost."""
        if learner.sums or learner.local or learner.costs:
            return
        given = {"token_weight": self._of_tokens is not None, "class_weight": self._class_weight is not None}
        for name in (name for name, there in given.items() if there):
            raise InvalidInput(
                f"{name} has no meaning for {learner!r}, which looks at whole outputs and not at what their labels "
                "cost. Weigh sequences by sample_weight, or choose another learner: PassiveAggressive multiplies the "
                "costs of tokens by their weights, CRF their log-probabilities."
            )

    def require_length(self, n_sequences: int) -> None:
        """Refuse weights that are not for so many sequences."""
        for name, given in (("sample_weight", self._of_sequences), ("token_weight", self._of_tokens)):
            if given is not None and len(given) != n_sequences:
                raise InvalidInput(f"{name} has {len(given)} entries but there are {n_sequences} sequences.")

    def of(self, first: int, part: Gold, gold: Gold) -> tuple[Floats | None, Floats | None]:
        """Return the weights of the sequences and of the tokens of ``part``, which begins at ``first``; None is 1."""
        sequences = None if self._of_sequences is None else self._of_sequences[first : first + len(part)]
        tokens = None if self._of_tokens is None else self._given(first, part)
        if self._class_weight is not None:
            by_label = self._by_label(part, gold)
            tokens = by_label if tokens is None else tokens * by_label
        return sequences, tokens

    def _given(self, first: int, part: Gold) -> Floats:
        assert self._of_tokens is not None
        rows = [np.zeros(0)]
        for i, length in enumerate(part.lengths.tolist(), first):
            rows.append(_checked(f"token_weight[{i}]", self._of_tokens[i]))
            if len(rows[-1]) != length:
                raise InvalidInput(f"token_weight[{i}] has {len(rows[-1])} entries but X[{i}] has {length} tokens.")
        return np.concatenate(rows)

    def _by_label(self, part: Gold, gold: Gold) -> Floats:
        if self._of_codes is None:
            self._of_codes = _class_weights(self._class_weight, gold)
        if part.counts is None:
            return self._of_codes[part.codes]
        tokens = np.repeat(np.arange(len(part.counts)), part.counts)
        sums = np.bincount(tokens, self._of_codes[part.codes], minlength=len(part.counts))
        means: Floats = np.where(part.counts > 0, sums / np.maximum(part.counts, 1), 1.0)
        return means


def _class_weights(class_weight: Any, gold: Gold) -> Floats:
    """The weight of each label, by its number."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            if label not in gold.names:
                raise InvalidInput(f"class_weight names the label {label!r}, which y does not have.")
            _checked(f"class_weight[{label!r}]", [weight])
        return np.array([float(class_weight.get(name, 1.0)) for name in gold.names])
    single = gold.codes if gold.counts is None else gold.codes[np.repeat(gold.counts, gold.counts) == 1]
    counts = np.bincount(single, minlength=len(gold.names))
    return np.where(counts > 0, len(single) / (len(gold.names) * np.maximum(counts, 1)), 1.0)


def _checked(name: str, values: Any) -> Floats:
    weights = checks.as_numbers(name, values)
    if weights.ndim != 1:
        raise InvalidInput(f"{name} must have one weight for each entry, found an array of shape {weights.shape}.")
    wrong = ~((weights >= 0) & np.isfinite(weights))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInput(f"{name}[{i}] is {weights[i]}; weights must be finite and not negative.")
    return weights
