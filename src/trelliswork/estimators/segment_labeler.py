"""Segments: attributes of whole stretches of a sequence, and any learner, behind `fit` and `predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core, models
from trelliswork.arguments import callers_level, shown
from trelliswork.errors import InvalidInput
from trelliswork.estimators.base import Estimator, sequence_tags
from trelliswork.estimators.fitted import atomic, check_is_fitted, snapshot
from trelliswork.estimators.saving import learner_from, learner_settings, remember_training, training_settings
from trelliswork.features.inputs import inputs_of
from trelliswork.labels.scheme_constraints import SchemeConstraints
from trelliswork.labels.segments import OUTSIDE, rows_of, span_lists, written
from trelliswork.learners.training import FloatArray
from trelliswork.models.calibration import warn_unless_probabilities
from trelliswork.models.decoding import PredictedSpan
from trelliswork.models.decoding_constraints import Limits, bias_of
from trelliswork.models.json_values import plain
from trelliswork.models.registry import refuse_argument, refuse_arguments
from trelliswork.models.segments import SegmentBatch, SegmentModel, masked, segment_sources
from trelliswork.models.trained import Weight
from trelliswork.structures import checks

if TYPE_CHECKING:
    from trelliswork.models.explanation import Explanation
    from trelliswork.training.monitor import Callback
    from trelliswork.training.segment_examples import SegmentExamples

__all__ = ["SegmentLabeler"]

KIND = "segment-labeler"
_SIMPLE = ("min_count", "hash_bits", "combinations", "patience", "random_state")


class SegmentLabeler(Estimator):
    """Learns to cut sequences into labelled segments, and cuts new ones (semi-Markov; Sarawagi & Cohen 2004).

    Parameters
    ----------
    learner : learner or str, default "crf"
        The training algorithm, such as ``tw.CRF(l2=0.5)``, or its name.
    features : {"auto", "attributes"}, str or Templates, default "auto"
        What is seen of a token, as for `SequenceLabeler`; attributes of the tokens of a segment are added up. Lines of
        templates that begin with ``span:`` are about whole segments: their words, length, ends and surroundings.
    longest : int or dict, optional
        How many tokens a segment may have, for all labels or by label. What is left out is as long as the longest
        segment of the label in the training data.
    segment_features : callable, optional
        ``segment_features(x, start, stop)`` returns attributes of the tokens ``x[start:stop]`` as a segment: a list
        of strings, or a dict. For tokens that no template reads; a model file does not keep it.
    min_count, hash_bits, combinations, patience, n_jobs, random_state, verbose
        As for `SequenceLabeler`.
    constraints : callable, (K, K) array of bool or SchemeConstraints, optional
        Which label may follow which, ``"O"`` for a token outside of segments.

    Attributes
    ----------
    classes_ : object array (K,)
        The labels of segments and ``"O"``, sorted.
    longest_ : dict
        How many tokens a segment of each label may have.
    n_iter_, converged_, message_, history_, best_iteration_
        As for `SequenceLabeler`.

    Notes
    -----
    A segmentation covers the sequence: segments, and every token outside of them as a segment of its own with the label
    ``"O"``. Its score is the sum over segments of the weights of the attributes of their tokens and of themselves with
    their label, and over neighbours of the weight of their two labels. Answers are exact.

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

    classes_: npt.NDArray[np.object_]
    history_: list[dict[str, Any]]
    n_iter_: int
    best_iteration_: int
    converged_: bool
    interrupted_: bool
    message_: str

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
        self.learner = learner
        self.features = features
        self.longest = longest
        self.segment_features = segment_features
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.combinations = combinations
        self.constraints = constraints
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @atomic
    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        callback: Callback | None = None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        """Learn from sequences and their segments.

        Parameters
        ----------
        X : iterable of sequences, or TokenTable
            As for `SequenceLabeler.fit`.
        y : iterable of label sequences, or of lists of (start, stop, label)
            Labels spell segments in any scheme, such as BIO; answers are in the same form.
        X_dev, y_dev : optional
            Development data, scored after each iteration by F1. The weights with the best score are kept.
        sample_weight : (n,) array-like, optional
            The weight of each sequence.
        callback, resume
            As for `SequenceLabeler.fit`.
        """
        from trelliswork.training.loop import learn  # only training needs it

        examples = self._examples(X, y, sample_weight)
        problem = examples.problem(X_dev, y_dev, partial(self._keep, examples))
        learn(self, examples.learner, problem, callback, resume)
        return self

    def oracle(self, X: Any, y: Any, *, sample_weight: npt.ArrayLike | None = None) -> _core.Oracle:
        """Return the examples as the learner sees them; see `trelliswork.oracle`."""
        return self._examples(X, y, sample_weight).oracle

    def _examples(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> SegmentExamples:
        from trelliswork.training.segment_examples import SegmentExamples  # only training needs it

        self._check_parameters()
        inputs, X = inputs_of(X, self.features, SegmentModel.meets)
        return SegmentExamples(self, inputs, X, span_lists(y), sample_weight)

    def _keep(self, examples: SegmentExamples, weights: FloatArray) -> None:
        learner, array = examples.learner, self.constraints is not None
        settings = {
            "kind": KIND,
            "labels": examples.classes,
            "hash_bits": self.hash_bits or 0,
            **({"normalised": "local"} if learner.local else {}),
            "probabilistic": bool(getattr(learner, "probabilistic", True)),
            "scheme": examples.scheme,
            "segment_features": self.segment_features is not None,
            **examples.inputs.as_settings(),
            "learner": learner_settings(learner),
            "parameters": {**{name: plain(getattr(self, name)) for name in _SIMPLE}, "constraints": array},
            "training": {
                "n_sequences": examples.n_sequences,
                "n_tokens": examples.n_tokens,
                "n_weights": examples.n_weights,
                **training_settings(self),
            },
        }
        self._model = examples.model(weights, settings)
        self._set_classes()

    def _set_classes(self) -> None:
        self.classes_ = np.array([*self._model.labels, None], dtype=object)[:-1]
        self.longest_ = dict(zip(self._model.labels, self._model.lengths.tolist(), strict=True))

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> list[list[Any]]:
        """Return the segments of each sequence, in the form that ``y`` had.

        Parameters
        ----------
        X : iterable of sequences, or TokenTable
        allowed : sequence, optional
            For each sequence None, or for each token a collection of the labels that a segment may have there, or None.
        fixed : sequence, optional
            For each sequence None, or a list of (start, stop, label): segments that are known; a label may be ``"O"``.
        bias : dict, optional
            Added to the score of segments with some labels.
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

        ``[t, n, k]`` is that of a segment of ``n + 1`` tokens from token ``t`` on with label ``classes_[k]``; ``L`` is
        the longest of `longest_`.
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
        """Return, for each sequence, its predicted segments that are not outside, each with its probability."""
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
        """Return log p(y | x) of each sequence, -inf where the model cannot have ``y``."""
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
        """Return why one sequence is cut as it is: what adds to the score of each segment.

        The positions of the explanation are segments: its ``tokens`` are their tokens, its ``labels`` their labels.
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
            for site, place, (_, label), value in model.contributions(source, name):
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

    @snapshot
    def weights(self) -> list[Weight]:
        """Return all weights with the names of what they belong to, the largest first."""
        return self._fitted().weights()

    @property
    def n_attributes_(self) -> int:
        """How many attributes the model has, of tokens and of segments."""
        return self._fitted().n_attributes

    @property
    def n_weights_(self) -> int:
        """How many weights the model has, transitions included."""
        return int(self._fitted().settings["training"]["n_weights"])

    # ---- files ---------------------------------------------------------------------------------------------------

    @snapshot
    def save(
        self,
        path: Any,
        *,
        precision: str | None = None,
        prune: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model to one file, as `SequenceLabeler.save` does; `trelliswork.load` reads it."""
        tensors, settings = self.exported()
        models.save(path, *models.shrunk(tensors, models.with_metadata(settings, metadata), precision, prune))

    @property
    def metadata_(self) -> dict[str, Any]:
        """What was said of the model when it was saved."""
        return dict(self._fitted().settings.get("metadata", {}))

    @snapshot
    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file."""
        return self._fitted().tensors, self._fitted().settings

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Any = None, **given: Any
    ) -> Self:
        """Return the labeler of a file that may say anything; ``segment_features`` is given where it had one."""
        model, described = SegmentModel.checked(tensors, settings), given.pop("segment_features", None)
        refuse_arguments(given, KIND)
        if bool(settings["segment_features"]) != (described is not None):
            refuse_argument("the model was trained with segment_features, or without: pass the same to load.")
        saved = settings["parameters"]
        constraints = None
        if saved["constraints"]:
            parts = [
                np.asarray(tensors[f"allowed.{name}"]).astype(np.bool_) for name in ("transitions", "start", "end")
            ]
            constraints = SchemeConstraints(parts[0].reshape(len(model.labels), -1), parts[1], parts[2])
        labeler = cls(
            learner_from(settings["learner"]),
            model.inputs.templates or ("attributes" if model.inputs.kind == "attributes" else "auto"),
            longest=dict(zip(model.labels, model.lengths.tolist(), strict=True)),
            segment_features=described,
            constraints=constraints,
            **{name: saved[name] for name in _SIMPLE},
        )
        labeler._check_parameters()
        remember_training(labeler, settings["training"])
        labeler._model = model
        labeler._set_classes()
        return labeler

    # ---- helpers -------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        return sequence_tags(super().__sklearn_tags__())

    def _check_parameters(self) -> None:
        checks.as_count("min_count", self.min_count)
        if self.hash_bits is not None and not 1 <= checks.as_count("hash_bits", self.hash_bits) <= 30:
            raise InvalidInput(f"hash_bits is {self.hash_bits}; expected 1 to 30, or None.")
        checks.as_jobs(self.n_jobs)
        if self.combinations not in ("auto", "seen", "all", "grown"):
            raise InvalidInput(
                f"combinations is {shown(self.combinations)}; expected 'auto', 'seen', 'all' or 'grown'."
            )
        if isinstance(self.constraints, str):
            raise InvalidInput(
                f"constraints is {self.constraints!r}, but segments need no scheme: which label may follow which is "
                "said by a function or an array."
            )
        if self.segment_features is not None and not callable(self.segment_features):
            raise InvalidInput(f"segment_features is {shown(self.segment_features)}; expected a function, or None.")

    def _fitted(self) -> SegmentModel:
        check_is_fitted(self, "classes_")
        return self._model

    def _require_probabilities(self) -> None:
        if not self._model.told:
            self._model.told = True
            warn_unless_probabilities(self._model.settings, callers_level())

    def _sources(self, X: Any, argument: str = "X", names: bool = False) -> Iterator[list[_core.Source]]:
        model = self._fitted()
        model.inputs.check(X, argument)
        return segment_sources(
            model.inputs, X, model.longest, self.segment_features, argument, names, at_a_time=model.most_asked
        )

    def _ask(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> Iterator[SegmentBatch]:
        """Yield the sequences, some at a time."""
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

            yield model.batch(sources, checks.as_jobs(self.n_jobs), mask, added)
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
