"""Sequences whose features were extracted once, to train on many parts of them with many settings.

Cross-validation over a grid trains hundreds of models on the same tokens. What a token's attributes are depends neither
on the fold nor on the learner, so they are extracted once, as arrays of keys; each run takes the rows of its sequences.
Runs share nothing that changes, and nearly all of their time is in the core without the interpreter's lock, so threads
are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.features.inputs import Inputs, inputs_of
from trelliswork.labels.encoded import Gold, encoded, paired
from trelliswork.labels.ragged import numbered_in_whole, offsets_of, positions
from trelliswork.learners.training import Iteration
from trelliswork.structures import checks
from trelliswork.training.loop import checked_learner, seed_of
from trelliswork.training.sequence_examples import SequenceExamples
from trelliswork.training.snapshots import Snapshot, Stopwatch

if TYPE_CHECKING:
    from trelliswork.estimators.sequence_labeler import SequenceLabeler

__all__ = ["FeatureCache", "SharesFeatures"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]


class FeatureCache:
    """Features and labels of a corpus, for training on parts of it.

    Parameters
    ----------
    labeler : SequenceLabeler
        Whose ``features`` say what is seen of a token.
    X, y
        As for `SequenceLabeler.fit`; every token needs one label.
    """

    def __init__(self, labeler: SequenceLabeler, X: Any, y: Any) -> None:
        self._features = labeler.features
        inputs, X = inputs_of(X, labeler.features)
        sources = list(inputs.sources(X))
        lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(source.lengths() for source in sources)])
        self._gold = paired(encoded(y), lengths, "X")
        lists = [
            dict(zip(source.channels, source.attributes(0, source.n_sequences), strict=True)) for source in sources
        ]
        self._rows = _Rows(
            inputs.kind,
            inputs.templates,
            inputs.n_columns,
            token_offsets=self._gold.token_offsets,
            label=_Lists.joined([own["token"] for own in lists]),
            pair=_Lists.joined([own["pair"] for own in lists if "pair" in own]),
        )

    @staticmethod
    def possible(labeler: SequenceLabeler) -> bool:
        """Whether runs do what `fit` and `predict` of a labeler would."""
        plain = labeler.patience is None and not labeler.warm_start and labeler.memory is None
        plain = plain and labeler.tag_dictionary is None and labeler.beam is None  # a dictionary needs names
        plain = plain and labeler.label_parts is None
        return labeler._is_chain and labeler.decoder == "argmax" and plain

    def serves(self, estimator: Any) -> bool:
        """Whether an estimator is a labeler that sees in a token what was extracted here."""
        if not isinstance(estimator, SharesFeatures):
            return False
        labeler: Any = estimator
        return bool(labeler.features == self._features) and self.possible(labeler)

    def duration(self, labeler: SequenceLabeler) -> str | None:
        """Return the parameter of a labeler that only says how long training goes on, or None."""
        duration = getattr(checked_learner(labeler.learner), "duration", None)
        return None if duration is None else f"learner__{duration}"

    def run(
        self,
        labeler: SequenceLabeler,
        train: Indices,
        test: Indices,
        wanted: Callable[[int], bool],
        see: Callable[[Snapshot], None],
        stop: Callable[[], bool],
    ) -> Snapshot:
        """Train on some sequences, and say what the model makes of others.

        Parameters
        ----------
        labeler : SequenceLabeler
            Its parameters are used; it is not changed.
        train, test : int arrays
            Sequences by number.
        wanted : callable
            Whether ``see`` is to be called after an iteration.
        see : callable
        stop : callable
            Asked after each iteration whether to give up.

        Returns
        -------
        Snapshot
            At the end of training.
        """
        labeler._check_parameters()
        with numbered_in_whole(train):
            examples = SequenceExamples(labeler, self._rows, train, _part(self._gold, train))
        learner = examples.learner
        n_jobs = checks.as_jobs(labeler.n_jobs)
        (source,) = self._rows.sources(test)
        held_out = examples.oracle.dev(source, n_jobs)

        watch = Stopwatch()

        def snapshot(number: int, objective: float, weights: npt.NDArray[np.float64]) -> Snapshot:
            # In single precision, as a model has them: where two labels score nearly alike it decides.
            labels = held_out.argmax(weights.astype(np.float32).astype(np.float64), n_jobs, learner.local)
            return Snapshot(number, *spent, objective, labels, examples.classes)

        spent = watch.read()

        def on_iteration(iteration: Iteration) -> bool:
            nonlocal spent
            spent = watch.read()
            with watch.paused():
                if wanted(iteration.number):
                    see(snapshot(iteration.number, iteration.objective, iteration.weights()))
                return stop()

        trained = learner.train(
            examples.oracle,
            n_jobs=n_jobs,
            seed=seed_of(labeler.random_state),
            on_iteration=on_iteration,
        )
        return snapshot(trained.n_iter, trained.objective, trained.weights)


@runtime_checkable
class SharesFeatures(Protocol):
    """An estimator whose features can be extracted once for many runs."""

    def feature_cache(self, X: Any, y: Any) -> FeatureCache | None:
        """Return features and labels to train on parts of them; None if runs would not do what `fit` does."""
        ...


@dataclass(frozen=True)
class _Lists:
    """Attributes of all tokens: where each token's begin, their keys, and their values unless all are 1."""

    starts: Ints
    keys: npt.NDArray[np.uint64]
    values: npt.NDArray[np.float32] | None

    @classmethod
    def joined(cls, parts: list[tuple[Any, Any, Any]]) -> _Lists:
        """Return the lists of sources that follow each other."""
        sizes = [np.diff(starts) for starts, _, _ in parts]
        keys = np.concatenate([np.zeros(0, dtype=np.uint64), *(keys for _, keys, _ in parts)])
        values = None
        if any(own is not None for _, _, own in parts):
            ones = [np.ones(len(k), dtype=np.float32) if own is None else own for _, k, own in parts]
            values = np.concatenate([np.zeros(0, dtype=np.float32), *ones])
        return cls(offsets_of(np.concatenate([np.zeros(0, dtype=np.int64), *sizes])), keys, values)

    def of(self, tokens: Ints) -> tuple[Ints, npt.NDArray[np.uint64], npt.NDArray[np.float32] | None]:
        """Return the lists of these tokens."""
        kept = positions(self.starts, tokens)
        values = None if self.values is None else self.values[kept]
        return offsets_of(np.diff(self.starts)[tokens]), self.keys[kept], values


@dataclass(frozen=True)
class _Rows(Inputs):
    """Inputs whose sequences are numbers: those of sequences whose attributes are here already."""

    token_offsets: Ints = field(kw_only=True)
    label: _Lists = field(kw_only=True)
    pair: _Lists = field(kw_only=True)

    named: ClassVar[bool] = False

    def sources(
        self, X: Any, argument: str = "X", names: bool = False, at_a_time: int | None = None
    ) -> Iterator[_core.Source]:
        """Yield the attributes of the sequences with these numbers, all at once."""
        tokens = positions(self.token_offsets, X)
        lengths = np.diff(self.token_offsets)[X]
        starts, keys, values = self.label.of(tokens)
        # Templates without pairs have no keys there: the core then knows that it needs no room for them.
        pairs = self.pair.of(tokens) if len(self.pair.keys) else (None, None, None)
        yield _core.KeySource(lengths, starts, keys, values, *pairs)


def _part(gold: Gold, sequences: Indices) -> Gold:
    """Return the labels of some sequences; labels that they have not are no longer known."""
    kept, codes = np.unique(gold.codes[positions(gold.token_offsets, sequences)], return_inverse=True)
    names = [gold.names[code] for code in kept.tolist()]
    return Gold(names, codes.astype(np.int32), None, gold.lengths[sequences], gold.argument)
