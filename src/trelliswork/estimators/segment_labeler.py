"""Segments: attributes of whole segments of a sequence, and any learner, behind `fit` and `predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork import _core
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.features.inputs import inputs_of
from trelliswork.labels.segments import OUTSIDE, rows_of, span_lists, written
from trelliswork.learners.training import FloatArray
from trelliswork.models.decoding import PredictedSpan
from trelliswork.models.decoding_constraints import Limits, bias_of
from trelliswork.models.registry import refuse_argument
from trelliswork.models.segments import SegmentBatch, SegmentModel, masked, segment_sources
from trelliswork.structures import checks

if TYPE_CHECKING:
    from trelliswork.models.explanation import Explanation
    from trelliswork.training.segment_examples import SegmentExamples

__all__ = ["SegmentLabeler"]


class SegmentLabeler(LinearEstimator):
    """Learns to split sequences into labelled segments, and splits new ones (semi-Markov; Sarawagi & Cohen 2004).

    Parameters
    ----------
    learner : learner or str, default "crf"
        The training algorithm, such as ``tw.CRF(l2=0.5)``, or its name.
    features : {"auto", "attributes"}, str or Templates, default "auto"
        The features of a token, as for `SequenceLabeler`; the attributes of all tokens of a segment are added up. Lines
        of templates that begin with ``span:`` are features of whole segments: their words, length, ends and context.
    longest : int or dict, optional
        Maximum number of tokens of a segment, for all labels or by label. By default it is the length of the longest
        segment of the label in the training data.
    segment_features : callable, optional
        ``segment_features(x, start, stop)`` returns attributes of the tokens ``x[start:stop]`` as a segment: a list of
        strings, or a dict. Use it for tokens that templates cannot read. A model file does not store it.
    min_count, hash_bits, combinations, patience, n_jobs, random_state, verbose
        As for `SequenceLabeler`.
    constraints : callable, (K, K) array of bool or SchemeConstraints, optional
        Which label may follow which; ``"O"`` is a token outside of segments.

    Attributes
    ----------
    classes_ : object array (K,)
        The labels of segments and ``"O"``, sorted.
    longest_ : dict
        Maximum number of tokens of a segment of each label.
    n_iter_, converged_, message_, history_, best_iteration_
        As for `SequenceLabeler`.

    Notes
    -----
    For `fit`, ``y`` has for each sequence the labels of its tokens, which encode segments in any scheme such as BIO; or
    a list of ``(start, stop, label)``. Answers have the same form. Development data are scored by F1.

    A segmentation covers the sequence: every token outside of segments is a segment of its own, with the label ``"O"``.
    Its score is a sum over segments and over neighbours. A segment adds the weights of its attributes and of its
    tokens' attributes with its label; two neighbours add the weight of their pair of labels. Answers are exact.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["Ann", "Lee", "sings"], ["Bo", "hums"], ["the", "Bo", "Day", "Trio", "sings"]]
    >>> y = [["B-PER", "I-PER", "O"], ["B-PER", "O"], ["O", "B-ORG", "I-ORG", "I-ORG", "O"]]
    >>> templates = tw.Templates("word\\nspan: last.word & size\\nspan: before.word")
    >>> tagger = tw.SegmentLabeler(tw.CRF(l2=0.01), templates).fit(X, y)
    >>> tagger.predict([["the", "Ann", "Day", "Trio", "hums"]])
    [['O', 'B-ORG', 'I-ORG', 'I-ORG', 'O']]
    """

    kind = "segment-labeler"
    model_class = SegmentModel
    longest: Any
    segment_features: Callable[[Any, int, int], Any] | None
    constraints: Any
    _model: SegmentModel

    def __init__(
        self,
        learner: Any = "crf",
        features: Any = "auto",
        *,
        longest: Any = None,
        segment_features: Callable[[Any, int, int], Any] | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        combinations: str = "auto",
        constraints: Any = None,
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    def _examples(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> SegmentExamples:
        from trelliswork.training.segment_examples import SegmentExamples  # only training needs it

        inputs, X = inputs_of(X, self.features, SegmentModel.meets)
        return SegmentExamples(self, inputs, X, span_lists(y), sample_weight)

    def _more_settings(self, examples: Any) -> dict[str, Any]:
        return {"scheme": examples.scheme, "segment_features": self.segment_features is not None}

    def _take(self, model: SegmentModel) -> None:
        super()._take(model)
        self.longest_ = dict(zip(model.labels, model.lengths.tolist(), strict=True))

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> list[list[Any]]:
        """Return the segments of each sequence, in the form of ``y`` in training.

        Parameters
        ----------
        X : iterable of sequences, or TokenTable
        allowed : sequence, optional
            For each sequence None, or a list with, for each token, the labels that a segment may have there, or None.
        fixed : sequence, optional
            For each sequence None, or a list of known segments (start, stop, label); a label may be ``"O"``.
        bias : dict, optional
            Numbers to add to the scores of segments, by label.
        """
        labels, scheme = self._fitted().labels, self._fitted().settings["scheme"]
        return [
            written(best[0][0], int(length), labels, scheme)
            for batch in self._ask(X, allowed, fixed, bias)
            for length, best in zip(batch.lengths, batch.best(), strict=True)
        ]

    @snapshot
    def predict_kbest(
        self, X: Any, k: int, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> list[list[tuple[list[Any], float]]]:
        """Return, for each sequence, its ``k`` most probable segmentations with their log-probabilities, best first."""
        labels, scheme, k = self._fitted().labels, self._fitted().settings["scheme"], checks.as_count("k", k)
        self._require_probabilities()
        return [
            [(written(rows, int(length), labels, scheme), min(score - total, 0.0)) for rows, score in best]
            for batch in self._ask(X, allowed, fixed, bias)
            for length, best, total in zip(batch.lengths, batch.best(k), batch.log_partition().tolist(), strict=True)
        ]

    @snapshot
    def predict_marginals(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> list[FloatArray]:
        """Return, for each sequence, the probability of every segment as an array (T, L, K).

        ``[t, n, k]`` is the probability of a segment of ``n + 1`` tokens from token ``t`` on with label
        ``classes_[k]``; ``L`` is the maximum of `longest_`.
        """
        self._fitted()
        self._require_probabilities()
        return [part for batch in self._ask(X, allowed, fixed, bias) for part in batch.marginals()]

    @snapshot
    def predict_max_marginals(
        self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> list[FloatArray]:
        """Return, for each sequence, the best score of a segmentation with each segment, an array (T, L, K)."""
        return [part for batch in self._ask(X, allowed, fixed, bias) for part in batch.max_marginals()]

    @snapshot
    def predict_spans(
        self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> list[list[PredictedSpan]]:
        """Return, for each sequence, its predicted segments except ``"O"``, each with its probability."""
        labels = self._fitted().labels
        self._require_probabilities()
        return [
            [
                PredictedSpan(labels[k], start, stop, min(float(table[start, stop - start - 1, k]), 1.0))
                for start, stop, k in best[0][0].tolist()
                if labels[k] != OUTSIDE
            ]
            for batch in self._ask(X, allowed, fixed, bias)
            for best, table in zip(batch.best(), batch.marginals(), strict=True)
        ]

    @snapshot
    def log_prob(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y | x) of each sequence, -inf if the model cannot produce ``y``."""
        model = self._fitted()
        self._require_probabilities()
        gold, answers, first = span_lists(y, "y", model.settings["scheme"]), [np.zeros(0)], 0
        rows: list[Any] = []
        batches = list(self._ask(X))
        rows = rows_of(gold, [int(n) for batch in batches for n in batch.lengths], model.labels)
        for batch in batches:
            own = rows[first : first + len(batch.lengths)]
            first += len(own)
            answers.append(np.minimum(batch.scores_of(own) - batch.log_partition(), 0.0))
        return np.concatenate(answers)

    @snapshot
    def score(self, X: Any, y: Any) -> float:
        """Return the F1 of exact segments."""
        from trelliswork.training.segment_examples import f1

        model = self._fitted()
        gold, batches = span_lists(y, "y", model.settings["scheme"]), list(self._ask(X))
        rows = rows_of(gold, [int(n) for batch in batches for n in batch.lengths], model.labels)
        return f1(rows, [best[0][0] for batch in batches for best in batch.best()], model.labels.index(OUTSIDE))

    @snapshot
    def explain(self, x: Any) -> Explanation:
        """Explain the segments of one sequence: what adds to the score of each.

        The positions of the explanation are segments; ``tokens`` and ``labels`` are those of the segments.
        """
        from trelliswork.models.explanation import Contribution, Explanation

        model, tokens = self._fitted(), list(x)
        self._require_probabilities()
        (sources,) = self._sources([tokens], "x", names=True)
        batch = model.batch(sources, 1)
        ((rows, score),), (table,) = batch.best()[0], batch.marginals()
        starts, stops = rows[:, 0].astype(np.intp), rows[:, 1].astype(np.intp)
        found: list[dict[tuple[str | None, str], list[Contribution]]] = [{} for _ in rows]
        segment_of = np.repeat(np.arange(len(rows)), stops - starts)
        for source in sources:
            (name,) = [name for name in source.channels if name in model.channels]
            site_of = {
                int(b * model.longest + e - b - 1): j for j, (b, e) in enumerate(zip(starts, stops, strict=True))
            }
            for site, place, (_, label), _, value in model.contributions(source, name):
                j = int(segment_of[site]) if name == "token" else site_of.get(site)
                if j is not None:
                    attribute = source.name(0, site, place, name)
                    found[j].setdefault((None, label), []).append(Contribution(attribute, None, label, value))
        return Explanation(
            [tokens[b:e] for b, e in zip(starts, stops, strict=True)],
            [model.labels[k] for k in rows[:, 2].tolist()],
            model.labels,
            min(float(score - batch.log_partition()[0]), 0.0),
            np.array([table[b, e - b - 1] for b, e in zip(starts, stops, strict=True)]).reshape(-1, len(model.labels)),
            model.transitions,
            found,
        )

    @classmethod
    def _restored_parameters(cls, model: SegmentModel, given: dict[str, Any]) -> dict[str, Any]:
        described = given.pop("segment_features", None)
        if bool(model.settings["segment_features"]) != (described is not None):
            refuse_argument("the model was trained with segment_features, or without: pass the same to load.")
        longest = dict(zip(model.labels, model.lengths.tolist(), strict=True))
        return super()._restored_parameters(model, given) | {"longest": longest, "segment_features": described}

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.constraints, str):
            raise InvalidInput(
                f"constraints is {self.constraints!r}, but segments need no scheme: which label may follow which is "
                "said by a function or an array."
            )
        if self.segment_features is not None and not callable(self.segment_features):
            raise InvalidInput(f"segment_features is {shown(self.segment_features)}; expected a function, or None.")

    def _sources(self, X: Any, argument: str = "X", names: bool = False) -> Iterator[list[_core.Source]]:
        model = self._fitted()
        model.inputs.check(X, argument)
        return segment_sources(
            model.inputs, X, model.longest, self.segment_features, argument, names, at_a_time=model.most_asked
        )

    def _ask(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> Iterator[SegmentBatch]:
        """Yield the sequences in batches."""
        model = self._fitted()
        limits, added = Limits(model.labels, allowed), bias_of(bias, model.labels)
        known = None if fixed is None else [_fixed(own, model.labels, i) for i, own in enumerate(fixed)]
        first = 0
        for sources in self._sources(X):
            lengths = sources[0].lengths().tolist()
            masks = limits.of(first, lengths) if limits else None

            def mask(i: int, length: int, masks: Any = masks, first: int = first) -> Any:
                own = known[first + i] if known is not None and first + i < len(known) else []
                if masks is None and not own:
                    return None
                return masked(length, model, None if masks is None else masks[i], own)

            yield model.batch(sources, checks.as_jobs(self.n_jobs), mask, added, first)
            first += len(lengths)
        limits.require_length(first)
        if known is not None and len(known) != first:
            raise InvalidInput(f"fixed has {len(known)} entries but X has {first} sequences. None is no limit.")


def _fixed(given: Any, labels: Sequence[str], i: int) -> list[tuple[int, int, int]]:
    if given is None:
        return []
    found = []
    for item in given:
        if not isinstance(item, (tuple, list)) or len(item) != 3 or item[2] not in labels or not 0 <= item[0] < item[1]:
            raise InvalidInput(
                f"fixed[{i}] has {shown(item)}; expected (start, stop, label) with a label of {', '.join(labels)}."
            )
        found.append((int(item[0]), int(item[1]), labels.index(item[2])))
    return found
