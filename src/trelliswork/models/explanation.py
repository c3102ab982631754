"""Explanations of labels: what each attribute and each transition adds to the score of each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.models.trained import TrainedModel

__all__ = ["Contribution", "Explanation", "explained"]

FloatArray = npt.NDArray[np.float64]


class Contribution(NamedTuple):
    """The contribution of an attribute, or of the transition from the previous label, to the score of a label.

    ``attribute`` is None for the transition; ``previous`` is None for an attribute of a single label. In chains of
    higher order, ``previous`` has all previous labels that count, such as ``"D N"``. ``part`` is the part of the label
    that the weight belongs to, None for weights of the label itself.
    """

    attribute: str | None
    previous: str | None
    label: str
    value: float
    part: str | None = None

    def __str__(self) -> str:
        labels = self.label if self.previous is None else f"{self.previous} -> {self.label}"
        labels += "" if self.part is None else f": {self.part}"
        return f"{self.value:+8.3f}  {labels if self.attribute is None else f'{self.attribute}  ({labels})'}"


@dataclass(frozen=True)
class Explanation:
    """The labels of one sequence, and the contributions to their scores.

    The score of a labelling is the sum of the contributions to its labels, including transitions. Its probability is
    exp(score), divided by the sum over all labellings.

    Attributes
    ----------
    tokens : list
        The tokens as given.
    labels : list of str
        The best labels.
    classes : list of str
    log_prob : float
        Log-probability of these labels as a whole.
    marginals : array (T, K)
        Probability of each label at each token.
    transitions : array (K, K)
        Weights of pairs of labels; longer n-grams appear only as contributions.
    order : int
        Number of previous labels on which the score of a label depends.
    """

    tokens: list[Any]
    labels: list[str]
    classes: list[str]
    log_prob: float
    marginals: FloatArray
    transitions: FloatArray
    _attributes: list[dict[tuple[str | None, str], list[Contribution]]]
    order: int = 1
    _ngrams: Mapping[tuple[str, str], float] = field(default_factory=dict)  # by labels before, and label

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def _number(self) -> dict[str, int]:
        """The numbers of the classes."""
        return {label: number for number, label in enumerate(self.classes)}

    def contributions(self, position: int, label: str | None = None) -> list[Contribution]:
        """Return the contributions for and against a label of one token, the strongest first.

        Parameters
        ----------
        position : int
            Position of the token.
        label : str, optional
            One of the classes; by default, the predicted label. The previous label is always the predicted one.
        """
        position = range(len(self))[position]
        label = self.labels[position] if label is None else label
        if label not in self._number:
            raise InvalidInput(f"label is {label!r}; the model knows {', '.join(self.classes)}.")
        found = list(self._attributes[position].get((None, label), []))
        for n in range(1, min(self.order, position) + 1):
            previous = " ".join(self.labels[position - n : position])
            found += self._attributes[position].get((previous, label), [])
            move = self._ngrams.get((previous, label), 0.0)
            if n == 1:
                move = float(self.transitions[self._number[previous], self._number[label]])
            if move:
                found.append(Contribution(None, previous, label, move))
        return sorted(found, key=lambda contribution: -abs(contribution.value))

    def score(self, position: int, label: str | None = None) -> float:
        """Return the sum of `contributions`."""
        return float(sum(contribution.value for contribution in self.contributions(position, label)))

    def runner_up(self, position: int) -> tuple[str, float] | None:
        """Return the most probable other label of one token, and its probability; None if there is no other."""
        row = self.marginals[position].copy()
        row[self._number[self.labels[position]]] = -1.0
        best = int(np.argmax(row))
        return (self.classes[best], float(row[best])) if len(row) > 1 else None

    def text(self, top: int = 5) -> str:
        """Return a table as text: each token, its label, and the ``top`` contributions to it."""
        lines = []
        for t, (token, label) in enumerate(zip(self.tokens, self.labels, strict=True)):
            probability = self.marginals[t, self._number[label]]
            other = self.runner_up(t)
            instead = "" if other is None else f"   (else {other[0]} {other[1]:.3f})"
            lines.append(f"{_shown(token)}   {label} {probability:.3f}{instead}")
            found = self.contributions(t)
            lines += [f"  {contribution}" for contribution in found[:top]]
            if len(found) > top:
                rest = sum(contribution.value for contribution in found[top:])
                lines.append(f"  {rest:+8.3f}  {len(found) - top} others")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self, top: int = 8) -> str:
        """Return the labels for a notebook, each with the contributions for and against it."""
        from trelliswork.plots.html import bars

        parts = []
        for t, (token, label) in enumerate(zip(self.tokens, self.labels, strict=True)):
            probability = self.marginals[t, self._number[label]]
            found = [
                (c.attribute if c.attribute is not None else f"after {c.previous}", c.value)
                for c in self.contributions(t)[:top]
            ]
            head = f"{escape(_shown(token))}: <b>{escape(label)}</b> {probability:.3f}"
            parts.append(f"<details><summary>{head}</summary>{bars(found)}</details>")
        return "".join(parts)


def explained(model: TrainedModel, source: _core.Source, tokens: Sequence[Any]) -> Explanation:
    """Return the explanation of the only sequence of a source, which keeps names."""
    (batch,) = model.batches(source, 1)
    best = batch.argmax()[0].labels
    classes = model.labels
    by_token: list[dict[tuple[str | None, str], list[Contribution]]] = [{} for _ in range(source.length(0))]
    for channel in ("token", "pair", "ngram"):
        for t, place, (previous, label), part, value in model.contributions(source, channel):
            contribution = Contribution(source.name(0, t, place, channel), previous, label, value, part)
            by_token[t].setdefault((previous, label), []).append(contribution)
    for t, state, label, value in model.rule_contributions(best.tolist()):
        by_token[t].setdefault((None, label), []).append(Contribution(state, None, label, value))
    return Explanation(
        list(tokens),
        [classes[k] for k in best.tolist()],
        classes,
        float(batch.log_prob([best])[0]),
        batch.marginals()[0],
        model.transitions,
        by_token,
        model.order,
        model.ngram_weights(),
    )


def _shown(token: Any) -> str:
    if isinstance(token, str):
        return token
    if isinstance(token, tuple) and all(isinstance(cell, str) for cell in token):
        return " ".join(token)
    text = repr(token)
    return text if len(text) <= 60 else text[:57] + "..."
