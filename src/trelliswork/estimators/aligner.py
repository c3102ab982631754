"""Alignments of two sequences: attributes of pairs and gaps, and any learner, behind `fit` and `predict`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trelliswork import _core
from trelliswork.arguments import refuse_no_list
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.learners.training import FloatArray
from trelliswork.models.alignments import AlignmentModel, alignment_sources
from trelliswork.models.registry import refuse_argument
from trelliswork.structures import checks
from trelliswork.structures.alignment import Alignment
from trelliswork.structures.parts import Batch

if TYPE_CHECKING:
    from trelliswork.training.alignment_examples import AlignmentExamples

__all__ = ["Aligner"]

Pair = tuple[int, int]


class Aligner(LinearEstimator):
    """Learns to align two sequences, and aligns new ones: an edit distance whose costs are learned.

    Parameters
    ----------
    learner : learner or str, default "crf"
        The training algorithm, such as ``tw.CRF(l2=0.5)``, or its name.
    features : "auto" or callable, default "auto"
        The features of pairs of items and of unaligned items. By default: the items themselves, whether they and their
        neighbours are equal, their classes, and their distance. Or a function ``features(source, target)`` that returns
        attributes of pairs, as n lists of m lists of strings or dicts, or as an array (n, m, d); or a tuple of these,
        the attributes of the n deletions and those of the m insertions. A model file does not store the function.
    affine : bool, default False
        Whether the beginning of a run of gaps has a weight.
    free_ends : bool, default False
        Whether items before the first pair and after the last one score nothing (local alignment).
    min_count, hash_bits, combinations, patience, n_jobs, random_state, verbose
        As for `SequenceLabeler`.

    Attributes
    ----------
    n_iter_, converged_, message_, history_, best_iteration_
        As for `SequenceLabeler`.

    Notes
    -----
    ``X`` is a list of pairs (source, target): two strings, or two lists of tokens, each a string, a list of strings or
    a dict of attributes. Or a list of arrays (n, m, d), or of triples of arrays (n, m, d), (n, e), (m, f): numeric
    features of pairs, deletions and insertions. ``y`` has a list of pairs (i, j) for each, which must not cross. Every
    answer is exact; see `Alignment`. Development data are scored by F1.

    Examples
    --------
    Letters that replace each other in misspellings, learned from a few examples:

    >>> import trelliswork as tw
    >>> X = [("recieve", "receive"), ("definately", "definitely"), ("acomodate", "accommodate"), ("untill", "until")]
    >>> y = [tw.Alignment(same, -0.6, -0.6).argmax().pairs.tolist()
    ...      for same in ([[float(a == b) for b in right] for a in wrong] for wrong, right in X)]
    >>> aligner = tw.Aligner(tw.CRF(l2=0.1)).fit(X, y)
    >>> aligner.score(X, y)
    1.0
    >>> wrong, right = "seperatelly", "separately"
    >>> print(aligner.alignments([(wrong, right)])[0].argmax().text(wrong, right))
    seperatelly
    separate-ly
    >>> words = ["definitely", "separately", "receive"]
    >>> scores = [found.argmax().score for found in aligner.alignments([(wrong, word) for word in words])]
    >>> words[int(np.argmax(scores))]
    'separately'
    """

    kind = "aligner"
    model_class = AlignmentModel
    saved: ClassVar[tuple[str, ...]] = ("affine", "free_ends")
    affine: bool
    free_ends: bool
    _model: AlignmentModel

    def __init__(
        self,
        learner: Any = "crf",
        features: Any = "auto",
        *,
        affine: bool = False,
        free_ends: bool = False,
        min_count: int = 1,
        hash_bits: int | None = None,
        combinations: str = "auto",
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    def _examples(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> AlignmentExamples:
        from trelliswork.training.alignment_examples import AlignmentExamples  # only training needs it

        refuse_no_list(X, "X")
        X = X if hasattr(X, "__len__") or not hasattr(X, "__iter__") else list(X)
        return AlignmentExamples(self, X, y, self._kind_of(X), sample_weight)

    def _kind_of(self, X: Any) -> Any:
        """Return what is seen of inputs: "tokens", "arrays" or a function."""
        if callable(self.features):
            return self.features
        first = next(iter(X), None)
        arrays = isinstance(first, np.ndarray) or (
            isinstance(first, (tuple, list)) and len(first) == 3 and isinstance(first[0], np.ndarray)
        )
        return "arrays" if arrays else "tokens"

    def _more_settings(self, examples: Any) -> dict[str, Any]:
        by = examples.described_by
        return {"described_by": "function" if callable(by) else by, "columns": examples.columns}

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any) -> list[list[Pair]]:
        """Return the best alignment of each input, as a list of (i, j)."""
        return [_listed(found.pairs) for batch in self._batches(X) for found in batch.argmax()]

    @snapshot
    def predict_kbest(self, X: Any, k: int) -> list[list[tuple[list[Pair], float]]]:
        """Return, for each input, its ``k`` most probable alignments with their log-probabilities, best first."""
        k, out = checks.as_count("k", k), []
        self._fitted()
        self._require_probabilities()
        for batch in self._batches(X):
            for best, total in zip(batch.kbest(k), batch.log_partition().tolist(), strict=True):
                out.append([(_listed(found.pairs), min(found.score - total, 0.0)) for found in best])
        return out

    @snapshot
    def predict_marginals(self, X: Any) -> list[FloatArray]:
        """Return, for each input, the probability of every pair, (n, m)."""
        self._fitted()
        self._require_probabilities()
        return [table for batch in self._batches(X) for table in batch.marginals()]

    @snapshot
    def predict_max_marginals(self, X: Any) -> list[FloatArray]:
        """Return, for each input, the best score of an alignment with each pair, (n, m)."""
        return [table for batch in self._batches(X) for table in batch.max_marginals()]

    @snapshot
    def alignments(self, X: Any) -> list[Alignment]:
        """Return the alignments of each input with their scores, for all other questions; see `Alignment`.

        ``-alignments([(a, b)])[0].argmax().score`` is a learned distance.
        """
        model, n_jobs = self._fitted(), checks.as_jobs(self.n_jobs)
        return [found for sources in self._sources(X) for found in model.alignments(sources, n_jobs)]

    @snapshot
    def log_prob(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y | x) of each input."""
        self._fitted()
        self._require_probabilities()
        found = self.alignments(X)
        gold = self._gold(y, found)
        return np.array([one.log_prob(own) for one, own in zip(found, gold, strict=True)])

    @snapshot
    def score(self, X: Any, y: Any) -> float:
        """Return the F1 of pairs."""
        from trelliswork.training.alignment_examples import f1

        found = self.alignments(X)
        return f1(self._gold(y, found), [one.argmax().pairs for one in found])

    @snapshot
    def error_rate(self, X: Any, y: Any, possible: Any = None) -> float:
        """Return the alignment error rate (Och & Ney 2003): ``1 - (|A & S| + |A & P|) / (|A| + |S|)``.

        Parameters
        ----------
        X : inputs
        y : list of lists of (i, j)
            The sure pairs S of each input.
        possible : list of lists of (i, j), optional
            The possible pairs P: also correct, but no error if missing. They include those of ``y``. By default there
            are no others, and the error rate is 1 minus the F1.
        """
        found = self.alignments(X)
        gold = [set(_listed(own)) for own in self._gold(y, found)]
        also = [set[Any]()] * len(gold)
        if possible is not None:
            refuse_no_list(possible, "possible")
            possible = list(possible)
            if len(possible) != len(gold):
                raise InvalidInput(f"possible has {len(possible)} entries, but X has {len(gold)}.")
            also = [
                set(_listed(checks.as_pairs(f"possible[{k}]", own, one.lengths, "a source and a target item")))
                for k, (own, one) in enumerate(zip(possible, found, strict=True))
            ]
        right = total = 0
        for one, sure, more in zip(found, gold, also, strict=True):
            pairs = set(_listed(one.argmax().pairs))
            right += len(pairs & sure) + len(pairs & (sure | more))
            total += len(pairs) + len(sure)
        return 1.0 - right / total if total else 0.0

    @classmethod
    def _restored_parameters(cls, model: AlignmentModel, given: dict[str, Any]) -> dict[str, Any]:
        function = given.pop("features", None)
        by = model.settings["described_by"]
        if by not in ("function", "tokens", "arrays"):
            raise ValueError(f"there are no features {by!r}")
        if (by == "function") != callable(function):
            refuse_argument("the model was trained with a function as features, or without: pass the same to load.")
        return super()._restored_parameters(model, given) | {"features": function if callable(function) else "auto"}

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.features != "auto" and not callable(self.features):
            raise InvalidInput(f'features is {shown(self.features)}; expected "auto" or a function.')
        for name in ("affine", "free_ends"):
            checks.as_flag(name, getattr(self, name))

    def _sources(self, X: Any) -> Iterator[list[_core.Source]]:
        settings = self._fitted().settings
        by = settings["described_by"]
        return alignment_sources(X, self.features if by == "function" else by, columns=settings.get("columns"))

    def _batches(self, X: Any) -> Iterator[Batch[Any]]:
        model, n_jobs = self._fitted(), checks.as_jobs(self.n_jobs)
        for sources in self._sources(X):
            yield Batch(model.alignments(sources, n_jobs), n_jobs)

    @staticmethod
    def _gold(y: Any, found: list[Alignment]) -> list[Any]:
        from trelliswork.training.alignment_examples import gold_pairs

        return list(gold_pairs(y, [one.lengths for one in found]))


def _listed(pairs: Any) -> list[Pair]:
    return [(i, j) for i, j in pairs.tolist()]
