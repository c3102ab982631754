"""What `SequenceLabeler.score` and early stopping measure: exact spans, tokens, or a function of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.labels.encoded import Gold
from trelliswork.labels.span_labels import SpanLabels

__all__ = ["Scoring", "scoring_of"]

Codes = npt.NDArray[np.int32]
Scoring = Callable[[Gold, Codes, Sequence[str]], float]  # gold, guessed labels by number, the names of all numbers


def scoring_of(scoring: Any, gold: Gold, names: Sequence[str]) -> Scoring:
    """Return the measure that ``scoring`` names.

    Parameters
    ----------
    scoring : {"auto", "f1", "accuracy"} or callable
        ``"auto"`` is F1 of exact spans if the labels spell spans and are all known, else the accuracy of tokens.
    gold : Gold
        What will be scored.
    names : sequence of str
        The labels by number.
    """
    if callable(scoring):
        return lambda gold, guess, names: float(scoring(*_as_lists(gold, guess, names)))
    if scoring == "accuracy":
        return _accuracy
    if scoring not in ("auto", "f1"):
        raise InvalidInput(f'scoring is {scoring!r}; expected "auto", "f1", "accuracy" or a function.')
    labels = SpanLabels.of(names)
    if labels is not None and gold.complete:
        return lambda gold, guess, _: labels.f1(gold.codes, guess, _firsts(gold))
    if scoring == "auto":
        return _accuracy
    if labels is None:
        raise InvalidInput(
            f'scoring is "f1", but the labels ({", ".join(names[:4])}, ...) spell no spans in any scheme. '
            'Use "accuracy".'
        )
    raise InvalidInput('scoring is "f1", but some tokens have no label or several. Use "accuracy".')


def _accuracy(gold: Gold, guess: Codes, names: Sequence[str]) -> float:
    """Return the share of tokens with a right label; those of which nothing is known are left out."""
    if gold.counts is None:
        right = gold.codes == guess
    else:
        tokens = np.repeat(np.arange(len(gold.counts)), gold.counts)
        hits = np.zeros(len(gold.counts), dtype=np.bool_)
        np.logical_or.at(hits, tokens, gold.codes == guess[tokens])
        right = hits[gold.counts > 0]
    if not len(right):
        raise InvalidInput(f"{gold.argument} has no labels to score against: pass at least one labelled token.")
    return float(right.mean())


def _firsts(gold: Gold) -> npt.NDArray[np.bool_]:
    firsts = np.zeros(len(gold.codes), dtype=np.bool_)
    starts = gold.token_offsets[:-1]
    firsts[starts[starts < len(firsts)]] = True
    return firsts


def _as_lists(gold: Gold, guess: Codes, names: Sequence[str]) -> tuple[list[Any], list[list[str]]]:
    offsets = gold.token_offsets.tolist()
    starts = gold.starts
    true: list[Any] = []
    if starts is None:
        true = [names[code] for code in gold.codes.tolist()]
    else:
        for begin, end in pairwise(starts):
            candidates = [names[code] for code in gold.codes[begin:end].tolist()]
            true.append(None if not candidates else candidates[0] if len(candidates) == 1 else set(candidates))
    found = [names[code] for code in guess.tolist()]
    pairs = list(pairwise(offsets))
    return [true[begin:end] for begin, end in pairs], [found[begin:end] for begin, end in pairs]
