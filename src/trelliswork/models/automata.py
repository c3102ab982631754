"""Models of chains whose history is the state of an automaton: of label n-grams, and of one that a user wrote.

In a chain of order 2 or more the states are histories and the arcs are n-grams. An arc has a code for each length of
n-gram that it ends with, and the channels of these lengths share weights by it. With an automaton of a user's, states
are pairs of a history and a state of his; an arc then also has codes for the arc of his that it takes, and for the
state which that leads to::

    arc  (D N) -> V      2-gram  N V      3-gram  D N V      arc  waiting -V->      state  seen
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core, models
from trelliswork.labels.counts import LabelCount, counting
from trelliswork.models.part_batch import PartBatch
from trelliswork.models.parts import PartsModel
from trelliswork.structures.automaton import Automaton

__all__ = ["AutomatonModel", "LabelAutomaton"]

FloatArray = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NONE = 0xFFFFFFFF  # in the file: no label, before the beginning of a sequence
_ATTRIBUTES = ("token", "pair", "ngram")  # channels that have some; the others are tied
_MOST_ARCS = 10_000_000


class LabelAutomaton(NamedTuple):
    """The automaton of a model, as its file has it."""

    n_labels: int
    order: int
    arcs: npt.NDArray[np.uint32]  # (n, 3): state, label, next state; state 0 is the first
    final: npt.NDArray[np.uint8]  # by state: whether a sequence may end there
    labels: Ints  # (n, order + 1): the labels of each arc, oldest first; -1 before the beginning
    rule: Automaton | None = None  # a user's, over the same labels
    taken: Ints | None = None  # (n,): the arc of the rule that each arc takes

    @classmethod
    def of(cls, found: _core.NGrams, rule: Automaton | None = None) -> LabelAutomaton:
        """Return what the core made of n-grams, with a user's automaton beside it."""
        arcs = np.asarray(found.arcs).reshape(-1, 3)
        ngrams = cls(found.n_labels, found.order, arcs, np.asarray(found.final), np.asarray(found.labels))
        return ngrams if rule is None else ngrams._with_rule(rule)

    def _with_rule(self, rule: Automaton) -> LabelAutomaton:
        """Return the automaton whose states are pairs: a history, and a state of the rule."""
        n_states, leaving, to = len(rule.states), rule.arcs_from(), rule.numbered[:, 2].astype(np.int64)
        sources, labels, targets = self.arcs.astype(np.int64).T
        firsts = np.searchsorted(sources, np.arange(len(self.final) + 1))
        new, seen, n_arcs = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), 0
        found: list[Ints] = []
        while len(new):  # one step further from the start: pairs are history * n_states + state
            history, state = np.divmod(new, n_states)
            counts = firsts[history + 1] - firsts[history]
            n_arcs += int(counts.sum())
            if n_arcs > _MOST_ARCS:
                raise ValueError(
                    f"the automaton and the label histories make more than {_MOST_ARCS:,} arcs together: lower the "
                    "order, or give the automaton fewer states"
                )
            own = np.repeat(firsts[history] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
            taken = leaving[np.repeat(state, counts), labels[own]]
            kept = taken >= 0
            own, taken, source = own[kept], taken[kept], np.repeat(new, counts)[kept]
            target = targets[own] * n_states + to[taken]
            found.append(np.stack([source, target, own, taken]))
            new = np.setdiff1d(target, seen)
            seen = np.union1d(seen, new)
        source, target, own, taken = np.concatenate(found, axis=1)
        ends = seen[(self.final[seen // n_states] != 0) & rule.final[seen % n_states]]
        useful, n_useful = ends, -1
        while len(useful) > n_useful:
            n_useful, useful = len(useful), np.union1d(useful, source[np.isin(target, useful)])
        if 0 not in useful:
            raise ValueError("no labelling keeps both to the automaton and to the constraints. Relax one of them.")
        kept = np.isin(source, useful) & np.isin(target, useful)
        source, target, own, taken = (part[kept] for part in (source, target, own, taken))
        order = np.lexsort((labels[own], source))
        source, target, own, taken = (part[order] for part in (source, target, own, taken))
        arcs = np.stack([np.searchsorted(useful, source), labels[own], np.searchsorted(useful, target)], axis=1)
        final = np.isin(useful, ends).astype(np.uint8)
        return self._replace(
            arcs=arcs.astype(np.uint32), final=final, labels=self.labels[own], rule=rule, taken=taken.astype(np.int64)
        )

    @classmethod
    def read(cls, tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> LabelAutomaton:
        """Return that of a file that may say anything."""
        described = settings["structure"]
        order = described["order"]
        if type(order) is not int or not 1 <= order <= 16:
            raise ValueError(f"structure.order is {order!r}")
        labels = np.asarray(tensors["structure.labels"]).astype(np.int64).reshape(-1, order + 1)
        labels[labels == _NONE] = -1
        arcs = np.asarray(tensors["structure.arcs"]).reshape(-1, 3)
        if len(arcs) != len(labels) or labels.max(initial=-1) >= len(settings["labels"]):
            raise ValueError("the n-grams of the structure do not fit its arcs")
        own = cls(len(settings["labels"]), order, arcs, np.asarray(tensors["structure.final"]), labels)
        if described.get("states") is None:
            return own
        states = [_state(value) for value in described["states"]]
        rows, final = np.asarray(tensors["rule.arcs"]).reshape(-1, 3), np.asarray(tensors["rule.final"])
        taken = np.asarray(tensors["structure.taken"]).astype(np.int64)
        fits = len(final) == len(states) > rows[:, [0, 2]].max(initial=0) and len(taken) == len(arcs)
        if not fits or taken.max(initial=-1) >= len(rows):
            raise ValueError("the automaton of the structure does not fit its arcs")
        given = [(states[source], label, states[target]) for source, label, target in rows.tolist()]
        rule = Automaton(settings["labels"], given, states[0], [states[q] for q in np.flatnonzero(final).tolist()])
        if list(rule.states) != states:
            raise ValueError("structure.states are not those of the arcs")
        return own._replace(rule=rule, taken=taken)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return what the file has of the structure."""
        labels = np.where(self.labels < 0, _NONE, self.labels).astype(np.uint32)
        found: dict[str, npt.NDArray[Any]] = {
            "structure.arcs": np.ascontiguousarray(self.arcs, dtype=np.uint32).ravel(),
            "structure.final": np.ascontiguousarray(self.final, dtype=np.uint8),
            "structure.labels": labels.ravel(),
        }
        if self.rule is not None and self.taken is not None:
            found["structure.taken"] = self.taken.astype(np.uint32)
            found["rule.arcs"] = self.rule.numbered.ravel()
            found["rule.final"] = self.rule.final.astype(np.uint8)
        return found

    def as_settings(self, histories: str) -> dict[str, Any]:
        """Return what the settings of the file say of the structure."""
        name = "n-grams" if self.rule is None else "automaton"
        found = {"name": name, "order": self.order, "histories": histories}
        return found if self.rule is None else found | {"states": [_plain(state) for state in self.rule.states]}

    def structure(self, tied: bool) -> _core.PartStructure:
        """Return the structure; ``tied`` if the scores of arcs are the same at every token."""
        arcs = np.require(self.arcs, np.uint32, ["C", "ALIGNED"]).ravel()  # in a file they may lie anywhere
        return _core.PartStructure.automaton(self.n_labels, arcs, np.ascontiguousarray(self.final), tied)

    def codes(self, channel: str) -> tuple[Ints, Ints]:
        """Return the code of each arc in a channel, -1 for none, and what each code stands for.

        That is a row of labels, oldest first; in the channel ``arc`` a state of the rule and a label, in ``state`` a
        state.
        """
        if channel == "token":
            return np.zeros(0, dtype=np.int64), np.arange(self.n_labels)[:, None]
        if self.rule is not None and self.taken is not None and channel in ("state", "arc"):
            rows = self.rule.numbered.astype(np.int64)
            if channel == "arc":
                return self.taken, rows[:, :2]
            return rows[self.taken, 2], np.arange(len(self.rule.states))[:, None]
        n = self._length(channel)
        ends = self.labels[:, self.order + 1 - n :]
        whole = ends[:, 0] >= 0
        grams, found = np.unique(ends[whole], axis=0, return_inverse=True)
        codes = np.full(len(ends), -1, dtype=np.int64)
        codes[whole] = found.ravel()
        return codes, grams

    def keys(self, channel: str, labels: Sequence[str]) -> list[tuple[str, ...]]:
        """Return what each code of a channel stands for, by the names of labels and of states."""
        names: list[Sequence[str]] = [labels] * (self.order + 1)
        if self.rule is not None and channel in ("state", "arc"):
            names[0] = [repr(state) for state in self.rule.states]
        rows = self.codes(channel)[1].tolist()
        return [tuple(own[k] for own, k in zip(names, row, strict=False)) for row in rows]

    def named(self, transitions: bool, attributes: Sequence[str], rule: str = "none") -> list[str]:
        """Return the names of the channels of a model.

        ``attributes`` are the channels that features have, ``rule`` says what of the rule has weights.
        """
        plain = [f"{n}-gram" for n in range(2, self.order + 2)] if transitions else []
        return [*(name for name in attributes if name in _ATTRIBUTES), *plain, *_RULE_CHANNELS[rule]]

    def channels(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the channels with these names as the core wants them."""
        found = []
        for name in names:
            codes, meanings = self.codes(name)
            block, sites = int(name != "token"), "each" if name in _ATTRIBUTES else "tied"
            # Which states gold never enters is what a rule is about: they have weights from the start.
            found.append((name, block, sites, 0, len(meanings), codes, 0, name in ("state", "arc")))
        return found

    def _length(self, channel: str) -> int:
        """Return how many labels the codes of a channel have."""
        known = {"pair": 2, "ngram": self.order + 1} | {f"{n}-gram": n for n in range(2, self.order + 2)}
        if channel not in known:
            raise ValueError(f"there is no channel {channel!r} in a chain of order {self.order}")
        return known[channel]


_RULE_CHANNELS = {"none": [], "states": ["state"], "arcs": ["arc"]}


def _plain(state: Any) -> Any:
    """Return a state as JSON can hold it; what it cannot becomes its text."""
    if isinstance(state, tuple):
        return [_plain(part) for part in state]
    return state if state is None or isinstance(state, (bool, int, float, str)) else repr(state)


def _state(value: Any) -> Any:
    return tuple(map(_state, value)) if isinstance(value, list) else value


class AutomatonModel(PartsModel):
    """A trained chain of order 2 or more, or with an automaton."""

    meets = ("label", "pair", "ngram")

    def _described(self) -> tuple[_core.PartStructure, list[tuple[Any, ...]]]:
        self.automaton = LabelAutomaton.read(self.tensors, self.settings)
        self.order = self.automaton.order
        self._tied = not self.local and not {"pair", "ngram"} & set(self.channels)  # arcs: the same at every token
        self.counts = [LabelCount.read(given) for given in self.settings["structure"].get("counts", [])]
        structure = counting(self.automaton.structure(self._tied), self.counts, self.settings["labels"])
        return structure, self.automaton.channels(self.channels)

    @property
    def n_attributes(self) -> int:
        """How many attributes of tokens the model has."""
        return int(self.core.n_attributes("token"))

    @property
    def most_asked(self) -> int:
        """How many sequences' scores may be in memory at a time, if they are 32 tokens long."""
        n_arcs = len(self.automaton.arcs) * (1 if self._tied else 32)
        return int(max(1, min(2048, (1 << 26) // (8 * (n_arcs + 32 * len(self.labels))))))

    @property
    def transitions(self) -> FloatArray:
        """Weights of two labels in a row, (K, K), without those of longer n-grams; -inf where they are forbidden."""
        K = len(self.labels)
        moves = np.zeros((K, K))
        if "2-gram" in self.channels:
            _, grams = self.automaton.codes("2-gram")
            moves[grams[:, 0], grams[:, 1]] = np.asarray(self.tensors["channel.2-gram.weights"])
        return self._limited("allowed.transitions", moves.ravel()).reshape(K, K)

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
        yield PartBatch(self.structure, lengths, found, K, n_jobs, self._forbidding)

    def best_rows(self, rows: FloatArray, lengths: npt.NDArray[np.int64], n_jobs: int) -> Any:
        """Return the best labellings under scores of labels alone, all sequences one after the other."""
        n_arcs, ends = len(self.automaton.arcs), np.cumsum(lengths)
        parts = [
            np.r_[own.ravel(), np.zeros(n_arcs * (1 if self._tied else len(own)))] for own in np.split(rows, ends[:-1])
        ]
        batch = PartBatch(self.structure, lengths, parts, len(self.labels), n_jobs, self._forbidding)
        return batch.argmax() if len(lengths) else []

    @property
    def _forbidding(self) -> str:
        """What may forbid every labelling of a sequence."""
        counts = ", ".join(map(str, self.counts))
        return f"{counts} and the scores together" if counts else "the scores"

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
        """Return the weights under the codes of another automaton of the same order, over at least the same labels."""
        tensors = {name: np.asarray(part) for name, part in models.quantize(self.tensors, "float32").items()}
        for name in self.channels:
            prefix, theirs = f"channel.{name}", to.keys(name, labels)
            number = {key: code for code, key in enumerate(theirs)}
            keys = self.automaton.keys(name, self.labels)
            codes = np.array([number.get(key, -1) for key in keys], dtype=np.int64)
            if name not in _ATTRIBUTES:
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
        return {
            name: [(" ".join(key[:-1]) or None, key[-1]) for key in self.automaton.keys(name, self.labels)]
            for name in self.channels
            if name not in ("state", "arc")
        }

    def ngram_weights(self) -> dict[tuple[str, str], float]:
        """Return the weights of n-grams longer than two labels, by the labels before and the label."""
        return {
            (weight.previous, weight.label): weight.weight
            for name in self.channels
            if name.endswith("-gram") and name != "2-gram"
            for weight in self._tied_weights(name)
            if weight.previous is not None
        }

    def _tied_names(self, channel: str) -> list[tuple[str | None, str | None, str]]:
        if channel == "state":
            return [(f"into state {state}", None, "*") for (state,) in self.automaton.keys(channel, self.labels)]
        if channel == "arc":
            return [(f"in state {state}", None, label) for state, label in self.automaton.keys(channel, self.labels)]
        return super()._tied_names(channel)

    def rule_contributions(self, best: Sequence[int]) -> Iterator[tuple[int, str, str, float]]:
        """Yield what the user's automaton adds to each label of each token after the best ones: token, name, label."""
        rule = self.automaton.rule
        if rule is None:
            return
        leaving, state = rule.arcs_from(), 0
        added = {
            name: np.asarray(self.tensors[f"channel.{name}.weights"])
            for name in ("state", "arc")
            if name in self.channels
        }
        for t, chosen in enumerate(best):
            for k, label in enumerate(self.labels):
                arc = int(leaving[state, k])
                to = int(rule.numbered[arc, 2])
                if arc < 0 or (t + 1 == len(best) and not rule.final[to]):
                    yield t, f"in state {rule.states[state]!r}", label, -np.inf
                    continue
                for name, weights in added.items():
                    place = f"into state {rule.states[to]!r}" if name == "state" else f"in state {rule.states[state]!r}"
                    yield t, place, label, float(weights[to if name == "state" else arc])
            state = int(rule.numbered[leaving[state, chosen], 2])
