"""Taggers that decide together: their scores are added, and the best labelling of the sum is the answer.

Members may spell spans in different schemes, as in the votes of Kudoh & Matsumoto (2001). A label of IOBES says at
least as much as a label of any of the others, so the scores of every member can be read as scores of IOBES labels, and
one chain over these holds the sum.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

import trelliswork as tw
from trelliswork.corpora import convert_labels
from trelliswork.labels.schemes import scheme_of

FINEST = "IOBES"
Scores = npt.NDArray[np.float64]


class AddedScores:
    """A tagger of spans in BIO, made of several.

    Parameters
    ----------
    members : sequence of (SequenceLabeler, str)
        Taggers, not trained, each with the scheme in which it spells spans: ``"BIO"``, ``"IOE2"`` or ``"IOBES"``. Their
        templates must not look at pairs of labels. The learners should be of one kind: scores are added as they are.
    """

    def __init__(self, members: Sequence[tuple[tw.SequenceLabeler, str]]) -> None:
        self.members = members

    def fit(self, X: Any, y: Sequence[Sequence[str]]) -> Self:
        """Train every member on spans in BIO; a span that nothing began is read as conlleval reads it."""
        for labeler, scheme in self.members:
            labeler.set_params(constraints=scheme).fit(X, [_rewritten(labels, "BIO", scheme) for labels in y])
        self.labels_ = sorted({label for labels in y for label in _rewritten(labels, "BIO", FINEST)})
        self._columns = [_columns(labeler, scheme, self.labels_) for labeler, scheme in self.members]
        return self

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """Return the labels of each sequence, in BIO."""
        if not X:
            return []
        rules = tw.scheme_constraints(self.labels_, FINEST)
        batch = tw.ChainBatch(
            [self._unary(x) for x in X],
            self._transitions() + _forbidding(rules.transitions),
            start=_forbidding(rules.start),
            end=_forbidding(rules.end),
            n_jobs=1,
        )
        return [_rewritten([self.labels_[k] for k in best.labels], FINEST, "BIO") for best in batch.argmax()]

    def _unary(self, x: Any) -> Scores:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.UnknownAttributes)  # one sentence may well be strange; a text is not
            chains = [labeler.chain(x) for labeler, _ in self.members]
        unary: Scores = np.sum(
            [chain.unary[:, columns] for chain, columns in zip(chains, self._columns, strict=True)], axis=0
        )
        return unary

    def _transitions(self) -> Scores:
        """The members' transitions, added; what a member forbids is forbidden in IOBES, too."""
        members = zip(self.members, self._columns, strict=True)
        added: Scores = np.sum([labeler.transitions_[np.ix_(k, k)] for (labeler, _), k in members], axis=0)
        return added


def _columns(labeler: tw.SequenceLabeler, scheme: str, labels: list[str]) -> list[int]:
    """For each label of IOBES, the number of the member's label that says the same."""
    rules = scheme_of(scheme)
    spelled = {"B": rules.begin, "I": rules.inside, "E": rules.end, "S": rules.single, "O": "O"}
    number = {label: k for k, label in enumerate(labeler.classes_)}
    return [number[spelled[label[0]] + label[1:]] for label in labels]


def _rewritten(labels: Sequence[str], source: str, target: str) -> list[str]:
    return convert_labels(labels, source, target, lenient=True)


def _forbidding(allowed: npt.NDArray[np.bool_]) -> Scores:
    return np.where(allowed, 0.0, -np.inf)
