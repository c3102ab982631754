"""Models of chains of order 2 and more: label n-grams are the arcs of an automaton, whose states are histories.

An arc has a code for each length of n-gram that it ends with, and the channels of these lengths share weights by it::

    arc  (D N) -> V      2-gram  N V      3-gram  D N V
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core, models
from trelliswork.models.part_batch import PartBatch
from trelliswork.models.trained import TrainedModel, Weight

__all__ = ["AutomatonModel", "LabelAutomaton"]

FloatArray = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NONE = 0xFFFFFFFF  # in the file: no label, before the beginning of a sequence


class LabelAutomaton(NamedTuple):
    """The automaton of a chain of higher order, as a model file has it."""

    n_labels: int
    order: int
    arcs: npt.NDArray[np.uint32]  # (n, 3): state, label, next state; state 0 is the first
    final: npt.NDArray[np.uint8]  # by state: whether a sequence may end there
    labels: Ints  # (n, order + 1): the labels of each arc, oldest first; -1 before the beginning

    @classmethod
    def of(cls, found: _core.NGrams) -> LabelAutomaton:
        """Return what the core made."""
        arcs = np.asarray(found.arcs).reshape(-1, 3)
        return cls(found.n_labels, found.order, arcs, np.asarray(found.final), np.asarray(found.labels))

    @classmethod
    def read(cls, tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> LabelAutomaton:
        """Return those of a file that may say anything."""
        order = settings["structure"]["order"]
        if type(order) is not int or not 1 <= order <= 16:
            raise ValueError(f"structure.order is {order!r}")
        labels = np.asarray(tensors["structure.labels"]).astype(np.int64).reshape(-1, order + 1)
        labels[labels == _NONE] = -1
        arcs = np.asarray(tensors["structure.arcs"]).reshape(-1, 3)
        if len(arcs) != len(labels) or labels.max(initial=-1) >= len(settings["labels"]):
            raise ValueError("the n-grams of the structure do not fit its arcs")
        return cls(len(settings["labels"]), order, arcs, np.asarray(tensors["structure.final"]), labels)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return what the file has of the structure."""
        labels = np.where(self.labels < 0, _NONE, self.labels).astype(np.uint32)
        return {
            "structure.arcs": np.ascontiguousarray(self.arcs, dtype=np.uint32).ravel(),
            "structure.final": np.ascontiguousarray(self.final, dtype=np.uint8),
            "structure.labels": labels.ravel(),
        }

    def structure(self, tied: bool) -> _core.PartStructure:
        """Return the structure; ``tied`` if the scores of arcs are the same at every token."""
        arcs = np.ascontiguousarray(self.arcs, dtype=np.uint32).ravel()
        return _core.PartStructure.automaton(self.n_labels, arcs, np.ascontiguousarray(self.final), tied)

    def codes(self, n: int) -> tuple[Ints, Ints]:
        """Return which n-gram of ``n`` labels each arc ends with, -1 for none, and these n-grams in ascending order."""
        ends = self.labels[:, self.order + 1 - n :]
        whole = ends[:, 0] >= 0
        grams, found = np.unique(ends[whole], axis=0, return_inverse=True)
        codes = np.full(len(ends), -1, dtype=np.int64)
        codes[whole] = found.ravel()
        return codes, grams

    def channels(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the channels with these names as the core wants them."""
        return [self._channel(name) for name in names]

    def named(self, transitions: bool, attributes: Sequence[str]) -> list[str]:
        """Return the names of the channels of a model; ``attributes`` are those that features have."""
        plain = [f"{n}-gram" for n in range(2, self.order + 2)] if transitions else []
        return [*(name for name in attributes if name in ("token", "pair", "ngram")), *plain]

    def length(self, channel: str) -> int:
        """Return how many labels the codes of a channel have."""
        return {"token": 1, "pair": 2, "ngram": self.order + 1}.get(channel) or int(channel.removesuffix("-gram"))

    def _channel(self, name: str) -> tuple[Any, ...]:
        if name == "token":
            return name, 0, "each", 0, self.n_labels, np.zeros(0, dtype=np.int64), 0
        n = self.length(name)
        if not 2 <= n <= self.order + 1:
            raise ValueError(f"there is no channel {name!r} in a chain of order {self.order}")
        codes, grams = self.codes(n)
        return name, 1, "tied" if name.endswith("-gram") else "each", 0, len(grams), codes, 0


class AutomatonModel(TrainedModel):
    """A trained chain of order 2 or more."""

    meets = ("label", "pair", "ngram")

    def _made_core(self) -> _core.PartModel:
        self.automaton = LabelAutomaton.read(self.tensors, self.settings)
        self.order = self.automaton.order
        self.channels = list(self.settings["channels"])
        self.structure = self.automaton.structure(not self.local and not {"pair", "ngram"} & set(self.channels))
        channels = self.automaton.channels(self.channels)
        return _core.PartModel(self.structure, channels, self.tensors, self.hash_bits)

    @property
    def n_attributes(self) -> int:
        """How many attributes of tokens the model has."""
        return int(self.core.n_attributes("token"))

    @property
    def most_asked(self) -> int:
        """How many sequences' scores may be in memory at a time, if they are 32 tokens long."""
        n_arcs = len(self.automaton.arcs) * (32 if self.local or {"pair", "ngram"} & set(self.channels) else 1)
        return int(max(1, min(2048, (1 << 26) // (8 * (n_arcs + 32 * len(self.labels))))))

    @property
    def transitions(self) -> FloatArray:
        """Weights of two labels in a row, (K, K), without those of longer n-grams; -inf where they are forbidden."""
        K = len(self.labels)
        moves = np.zeros((K, K))
        if "2-gram" in self.channels:
            _, grams = self.automaton.codes(2)
            moves[grams[:, 0], grams[:, 1]] = np.asarray(self.tensors["channel.2-gram.weights"])
        return self._limited("allowed.transitions", moves.ravel()).reshape(K, K)

    def known(self, source: _core.Source) -> tuple[int, int]:
        """Return how many attributes of a source the model knows, of how many."""
        known, everything = self.core.known([source])
        return known, everything

    def scores(self, source: _core.Source, n_jobs: int) -> list[FloatArray]:
        """Return the scores of all parts of each sequence."""
        found: list[FloatArray] = self.core.scores([source], n_jobs)
        return found

    def chains(
        self,
        scores: Any,
        lengths: npt.NDArray[np.int64],
        n_jobs: int,
        allowed: Sequence[Bools] | None = None,
        bias: FloatArray | None = None,
    ) -> Iterator[Any]:
        """Yield the sequences as one batch."""
        K, found = len(self.labels), []
        for i, (length, own) in enumerate(zip(lengths.tolist(), scores, strict=True)):
            unary = own[: length * K].reshape(length, K) + (0.0 if bias is None else bias)
            parts = np.concatenate([unary.ravel(), own[length * K :]])
            if self.local:
                parts = self._locally_normalised(parts, length)
            parts = parts / self.temperature
            if allowed is not None:
                parts[: length * K][~allowed[i].ravel()] = -np.inf
            found.append(parts)
        yield PartBatch(self.structure, lengths, found, K, n_jobs)

    def _locally_normalised(self, parts: FloatArray, length: int) -> FloatArray:
        """Return scores of arcs that are log-probabilities of a label given the history, and none of labels."""
        if length == 0:
            return parts
        states, labels, to = (part.astype(np.intp) for part in self.automaton.arcs.T)
        n_unary = length * len(self.labels)
        steps = parts[n_unary:].reshape(length, -1) + parts[:n_unary].reshape(length, -1)[:, labels]
        steps[-1, self.automaton.final[to] == 0] = -np.inf
        order = np.argsort(states, kind="stable")
        firsts = np.flatnonzero(np.diff(states[order], prepend=-1))
        totals = np.full((length, len(self.automaton.final)), -np.inf)
        totals[:, states[order][firsts]] = np.logaddexp.reduceat(steps[:, order], firsts, axis=1)
        totals[np.isneginf(totals)] = 0.0  # a dead end stays one
        return np.concatenate([np.zeros(n_unary), (steps - totals[:, states]).ravel()])

    def renumbered(self, to: LabelAutomaton, labels: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """Return the weights under the codes of other n-grams of the same order, over at least the same labels."""
        place = np.array([list(labels).index(label) for label in self.labels], dtype=np.int64)
        tensors = {name: np.asarray(part) for name, part in models.quantize(self.tensors, "float32").items()}
        for name in self.channels:
            n, prefix = self.automaton.length(name), f"channel.{name}"
            grams = np.arange(len(self.labels))[:, None] if n == 1 else self.automaton.codes(n)[1]
            theirs = np.arange(len(labels))[:, None] if n == 1 else to.codes(n)[1]
            number = {tuple(gram): code for code, gram in enumerate(theirs.tolist())}
            codes = np.array([number.get(tuple(gram), -1) for gram in place[grams].tolist()], dtype=np.int64)
            if name.endswith("-gram"):
                dense = np.zeros(len(theirs), dtype=np.float32)
                dense[codes[codes >= 0]] = tensors[f"{prefix}.weights"][codes >= 0]
                tensors[f"{prefix}.weights"] = dense
                continue
            own = codes[tensors[f"{prefix}.codes"]]
            kept = np.concatenate([[0], np.cumsum(own >= 0)])
            tensors[f"{prefix}.starts"] = kept[tensors[f"{prefix}.starts"]].astype(np.uint32)
            tensors[f"{prefix}.codes"] = own[own >= 0].astype(np.uint32)
            tensors[f"{prefix}.weights"] = tensors[f"{prefix}.weights"][own >= 0]
        return tensors

    @cached_property
    def code_names(self) -> dict[str, list[tuple[str | None, str]]]:
        """The labels before and the label of each code, by channel."""
        found: dict[str, list[tuple[str | None, str]]] = {}
        for name in self.channels:
            n = self.automaton.length(name)
            grams = [[k] for k in range(len(self.labels))] if n == 1 else self.automaton.codes(n)[1].tolist()
            words = [[self.labels[k] for k in gram] for gram in grams]
            found[name] = [(" ".join(gram[:-1]) or None, gram[-1]) for gram in words]
        return found

    def ngram_weights(self) -> dict[tuple[str, str], float]:
        """Return the weights of n-grams longer than two labels, by the labels before and the label."""
        return {
            (weight.previous, weight.label): weight.weight
            for name in self.channels
            if name.endswith("-gram") and name != "2-gram"
            for weight in self._tied_weights(name)
            if weight.previous is not None
        }

    def weights(self) -> list[Weight]:
        """Return all weights, the largest first; ``previous`` are the labels before, as far as the weight sees."""
        found: list[Weight] = []
        for name in self.channels:
            found += self._tied_weights(name) if name.endswith("-gram") else self._attribute_weights(name)
        return sorted(found, key=lambda weight: -abs(weight.weight))

    def _tied_weights(self, channel: str) -> list[Weight]:
        dense = np.asarray(self.tensors[f"channel.{channel}.weights"], dtype=np.float64)
        names = self.code_names[channel]
        return [Weight(None, *names[code], float(dense[code])) for code in np.flatnonzero(dense).tolist()]
