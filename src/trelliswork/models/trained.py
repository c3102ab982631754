"""A trained model: its tensors and settings, as the file has them, and questions about sequences.

Immutable, so copies share it; it pickles as the bytes of its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core, models
from trelliswork.features.inputs import Inputs
from trelliswork.learners.memm import locally_normalised
from trelliswork.models.calibration import Calibration
from trelliswork.models.settings import labels_of
from trelliswork.models.shrinking import weights_of
from trelliswork.structures.batch import ChainBatch

__all__ = ["TrainedModel", "Weight"]

FloatArray = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Weight(NamedTuple):
    """A weight: of an attribute and a label; with ``previous``, of an attribute and two labels in a row.

    ``attribute`` is None for the weight that two labels in a row have whatever the token is.
    """

    attribute: str | None
    previous: str | None
    label: str
    weight: float


class TrainedModel:
    """What training made.

    Parameters
    ----------
    tensors : mapping of str to buffers
        As docs/model_file.md describes them.
    settings : mapping
        What JSON can hold: labels, features, parameters.
    """

    meets: ClassVar[Sequence[str]] = ("label", "pair")  # what attributes can meet
    structure: Any = None  # a first-order chain has kernels of its own

    def __init__(self, tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        self.tensors = dict(tensors)
        self.settings = dict(settings)
        self.labels: list[str] = list(settings["labels"])
        self.hash_bits: int = settings.get("hash_bits") or 0
        # Whether every step is normalised by itself, given the label before (MEMM).
        self.local: bool = settings.get("normalised") == "local"
        self.inputs = self._made_inputs(settings)
        self.core: Any = self._made_core()
        if "parts.codes" in self.tensors:
            names, largest = settings.get("parts"), max(np.asarray(self.tensors["parts.codes"]).tolist(), default=-1)
            if not isinstance(names, list) or len(self.labels) + len(names) <= largest:
                raise ValueError("the model does not name the parts of its labels")
        # What scores are divided by to be read as log-probabilities (see `calibration`).
        calibration = Calibration.of(settings)
        self.temperature = 1.0 if calibration is None else calibration.temperature
        self.told = False  # that its scores are no probabilities

    @classmethod
    def checked(cls, tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> Self:
        """Return the model in a file that may say anything."""
        labels_of(settings)
        return cls(tensors, settings)

    def _made_inputs(self, settings: Mapping[str, Any]) -> Any:
        return Inputs.from_settings(settings, self.meets)

    def _made_core(self) -> Any:
        return _core.Model(self.tensors, len(self.labels), self.hash_bits)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (type(self), models.dumps(self.tensors, self.settings))

    def __copy__(self) -> TrainedModel:
        return self

    def __deepcopy__(self, memo: Any) -> TrainedModel:
        return self

    def at_temperature(self, calibration: Calibration | None) -> TrainedModel:
        """Return the same model with its scores divided by another temperature, or by none."""
        settings = {name: value for name, value in self.settings.items() if name != "calibration"}
        return type(self)(self.tensors, settings if calibration is None else settings | calibration.as_settings())

    @property
    def n_attributes(self) -> int:
        """How many attributes of tokens the model has."""
        return int(self.core.n_attributes)

    @property
    def most_asked(self) -> int:
        """How many sequences' scores may be in memory at a time, if they are 32 tokens long."""
        if not self.core.has_pairs and not self.local:
            return 2048
        return max(1, (1 << 26) // (32 * 8 * len(self.labels) ** 2))

    def known(self, source: _core.Source) -> tuple[int, int]:
        """Return how many attributes of a source the model knows, of how many."""
        known, everything = self.core.known(source)
        return known, everything

    def scores(self, source: _core.Source, n_jobs: int) -> Any:
        """Return what `chains` makes chains of."""
        return self.core.scores(source, n_jobs)

    @property
    def start(self) -> FloatArray:
        """Scores of first labels, (K,): 0, or -inf where the constraints forbid one."""
        return self._limited("allowed.start", np.zeros(len(self.labels)))

    @property
    def end(self) -> FloatArray:
        """Scores of last labels, (K,)."""
        return self._limited("allowed.end", np.zeros(len(self.labels)))

    @property
    def transitions(self) -> FloatArray:
        """Weights of two labels in a row, (K, K); -inf where the constraints forbid them."""
        moves = self._limited(
            "allowed.transitions", np.asarray(self.tensors["channel.transitions.weights"], dtype=np.float64)
        )
        return moves.reshape(len(self.labels), -1)

    def _limited(self, name: str, scores: FloatArray) -> FloatArray:
        if name not in self.tensors:
            return scores
        return np.where(np.asarray(self.tensors[name]) != 0, scores, -np.inf)

    def batches(
        self,
        source: _core.Source,
        n_jobs: int,
        allowed: Sequence[Bools] | None = None,
        bias: FloatArray | None = None,
    ) -> Iterator[Any]:
        """Yield the sequences of a source as chains, all at once, or one by one if every step has its own scores.

        Parameters
        ----------
        source : Source
        n_jobs : int
        allowed : sequence of (T, K) bool arrays, optional
            Which labels each token may have, for all sequences of the source.
        bias : (K,) array, optional
            Added to the scores of the labels.
        """
        yield from self.chains(self.scores(source, n_jobs), source.lengths(), n_jobs, allowed, bias)

    def chains(
        self,
        scores: Any,
        lengths: npt.NDArray[np.int64],
        n_jobs: int,
        allowed: Sequence[Bools] | None = None,
        bias: FloatArray | None = None,
    ) -> Iterator[Any]:
        """Yield what `batches` does, for scores of labels and of transitions that the core gave."""
        unary, transitions = scores
        if bias is not None:
            unary = unary + bias
        if self.temperature != 1.0 and not self.local:
            unary, transitions = unary / self.temperature, transitions / self.temperature
        if allowed is not None and not self.local:
            unary = np.where(np.concatenate([np.ones((0, len(self.labels)), dtype=np.bool_), *allowed]), unary, -np.inf)
        if transitions.ndim == 2 and not self.local:
            yield ChainBatch._of_rows(unary, lengths, transitions, self.start, self.end, n_jobs)
            return
        ends = np.cumsum(lengths)
        for i, (begin, end) in enumerate(zip(ends - lengths, ends, strict=True)):
            steps = transitions if transitions.ndim == 2 else np.ascontiguousarray(transitions[begin + 1 : end])
            own, start, last = np.array(unary[begin:end]), self.start, self.end
            if self.local:
                own, steps = (part / self.temperature for part in locally_normalised(own, steps, start, last))
                start = last = np.zeros(len(self.labels))
                if allowed is not None:  # what is known of the labels limits them, but does not normalise steps anew
                    own = np.where(allowed[i], own, -np.inf)
            yield ChainBatch._of_one(own, steps, start, last)

    def best_rows(self, rows: FloatArray, lengths: npt.NDArray[np.int64], n_jobs: int) -> Any:
        """Return the best allowed labellings under scores of labels alone, all sequences one after the other."""
        moves, start, end = (
            np.where(np.isneginf(part), part, 0.0) for part in (self.transitions, self.start, self.end)
        )
        return ChainBatch._of_rows(rows, lengths, moves, start, end, n_jobs).argmax()

    order = 1  # how many labels before a label its score looks at

    def ngram_weights(self) -> dict[tuple[str, str], float]:
        """Return the weights of n-grams longer than two labels, by the labels before and the label."""
        return {}

    def rule_contributions(self, best: Sequence[int]) -> Iterator[tuple[int, str, str, float]]:
        """Yield what an automaton adds to each label of each token after the best ones: token, name, label, value."""
        yield from ()

    def contributions(
        self, source: _core.Source, channel: str
    ) -> Iterator[tuple[int, int, tuple[str | None, str], str | None, float]]:
        """Yield what the attributes of a channel add to the only sequence of a source.

        Token, place, labels, part, value: what a part of labels adds, it adds to each of them; of all else, the part
        is None.
        """
        if channel in self.code_names and channel in source.channels:
            parts = (part.tolist() for part in self.core.contributions(source, 0, channel))
            for t, place, *_, code, value in zip(*parts, strict=True):
                if channel != "token" or code not in self._with_part:
                    yield t, place, self.code_names[channel][code], None, value
                    continue
                for label in self._with_part[code]:
                    part = self.settings["parts"][code - len(self.labels)]
                    yield t, place, self.code_names[channel][label], part, value

    @cached_property
    def _with_part(self) -> dict[int, list[int]]:
        """The labels that have each part, by its code."""
        found: dict[int, list[int]] = {}
        if "parts.codes" in self.tensors:
            offsets, codes = (
                np.asarray(self.tensors[f"parts.{name}"], dtype=np.int64) for name in ("offsets", "codes")
            )
            for label in range(len(self.labels)):
                for code in codes[offsets[label] : offsets[label + 1]].tolist():
                    found.setdefault(code, []).append(label)
        return found

    @cached_property
    def code_names(self) -> dict[str, list[tuple[str | None, str]]]:
        """The labels before and the label of each code, by channel."""
        parts = [f"part {name}" for name in self.settings.get("parts", ())]
        singles: list[tuple[str | None, str]] = [(None, label) for label in [*self.labels, *parts]]
        pairs: list[tuple[str | None, str]] = [(a, b) for a in self.labels for b in self.labels]
        return {"token": singles} | ({"pair": pairs} if self.core.has_pairs else {})

    def weights(self) -> list[Weight]:
        """Return all weights, the largest first."""
        found = [weight for channel in self.code_names for weight in self._attribute_weights(channel)]
        moves = np.asarray(self.tensors["channel.transitions.weights"], dtype=np.float64).reshape(len(self.labels), -1)
        for a, b in np.argwhere(moves != 0).tolist():
            found.append(Weight(None, self.labels[a], self.labels[b], float(moves[a, b])))
        return sorted(found, key=lambda weight: -abs(weight.weight))

    def _attribute_weights(self, channel: str) -> Iterator[Weight]:
        prefix = f"channel.{channel}"
        starts = np.asarray(self.tensors[f"{prefix}.starts"], dtype=np.int64)
        codes = np.asarray(self.tensors[f"{prefix}.codes"])
        weights = weights_of(self.tensors, prefix)
        for number in range(len(starts) - 1):
            begin, end = starts[number], starts[number + 1]
            if begin == end:
                continue
            kept = self.core.name(number, channel)
            name = f"#{number}" if kept is None else str(kept)
            for code, weight in zip(codes[begin:end].tolist(), weights[begin:end].tolist(), strict=True):
                previous, label = self.code_names[channel][code]
                yield Weight(name, previous, label, weight)


def _from_bytes(kind: type[TrainedModel], data: bytes) -> TrainedModel:
    return kind(*models.loads(data))
