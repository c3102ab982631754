"""One numbering of attributes and weights for all shards, from what each of them has.

A weight of the whole is a *unit* of attributes with a code (a label, or a pair of labels). Attributes are one unit if
they always occur together, in every shard; a shard alone would merge too many. `Table` decides this for one channel,
from the vocabularies of the shards in their order, on process 0. Every shard then lays its examples out for the weights
that it meets (`shard_tensors`), and finds out where in the whole each of them is (`places`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.training.warm_start import narrowed

__all__ = ["CHANNELS", "Plan", "Table", "plan_of"]

Arrays = Mapping[str, npt.NDArray[Any]]
Ints = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

CHANNELS = ("token", "pair")
_FIRST_NORMAL = 0x00800000  # bits of the smallest normal number of single precision
_HALF = 1 << 16


@dataclass(frozen=True)
class Table:
    """The weights of one channel.

    Attributes
    ----------
    keys : uint64 array (A,)
        Of the attributes that have weights, rising.
    units : int64 array (A,)
        Which unit each is in.
    members : int64 array (U,)
        How many attributes each unit has.
    starts, codes : int64 arrays
        The weights of unit u have the codes ``codes[starts[u]:starts[u + 1]]``.
    """

    keys: npt.NDArray[np.uint64]
    units: Ints
    members: Ints
    starts: Ints
    codes: Ints

    @classmethod
    def merged(cls, vocabularies: Sequence[Arrays], min_count: int, every: Ints | None) -> Table:
        """Return the table of some shards; ``every`` has the codes of all units, None where those seen count.

        Examples
        --------
        >>> def shard(**arrays):
        ...     kind = {"keys": np.uint64}
        ...     return {name: np.array(array, dtype=kind.get(name, np.uint32)) for name, array in arrays.items()}
        >>> one = shard(keys=[3, 5, 9], counts=[2, 2, 1], classes=[0, 0, 1], starts=[0, 1, 2, 3], codes=[0, 0, 1])
        >>> two = shard(keys=[5, 9], counts=[1, 1], classes=[0, 1], starts=[0, 1, 2], codes=[1, 1])
        >>> table = Table.merged([one, two], 2, None)
        >>> table.keys.tolist(), table.units.tolist(), table.codes.tolist()
        ([3, 5, 9], [1, 0, 2], [0, 1, 0, 1])
        """
        keys = np.unique(np.concatenate([np.zeros(0, np.uint64), *(own["keys"] for own in vocabularies)]))
        counts, classes = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        at = [np.searchsorted(keys, own["keys"]) for own in vocabularies]
        for place, own in zip(at, vocabularies, strict=True):
            counts[place] += own["counts"]
            here = np.zeros(len(keys), np.int64)  # 0: not in this shard
            here[place] = own["classes"].astype(np.int64) + 1
            classes = np.unique(classes * (here.max(initial=0) + 1) + here, return_inverse=True)[1]
        kept = counts >= min_count
        _, first, units = np.unique(classes[kept], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)  # the most frequent first, as shards have them; then by their first key
        rank[np.lexsort((first, -counts[kept][first]))] = np.arange(len(first))
        units = rank[units]
        members = np.bincount(units, minlength=len(first))
        if every is not None:
            codes = np.tile(every, len(members))
            return cls(keys[kept], units, members, np.arange(len(members) + 1) * len(every), codes)
        unit_of = np.full(len(keys), -1)
        unit_of[kept] = units
        seen = [np.zeros(0, np.int64)]
        for place, own in zip(at, vocabularies, strict=True):
            sizes: Ints = own["starts"][1:].astype(np.int64) - own["starts"][:-1]
            unit = np.repeat(unit_of[place], sizes)
            seen.append(np.unique(unit[unit >= 0] << 32 | own["codes"].astype(np.int64)[unit >= 0]))
        both = np.unique(np.concatenate(seen))
        starts = np.searchsorted(both >> 32, np.arange(len(members) + 1))
        return cls(keys[kept], units, members, starts, both & 0xFFFFFFFF)

    @property
    def n_weights(self) -> int:
        """How many weights there are, one for a unit and a code."""
        return len(self.codes)

    def rows(self, attributes: Ints) -> tuple[Ints, Ints]:
        """Return where the weights of each of these attributes start among those of all of them, and which they are."""
        units = self.units[attributes]
        sizes = np.diff(self.starts)[units]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        return starts, np.repeat(self.starts[:-1][units], sizes) + within

    def known(self, keys: npt.NDArray[np.uint64]) -> Ints:
        """Return the attributes among these keys that have weights, by their numbers here."""
        if not len(self.keys):
            return np.zeros(0, np.int64)
        at = np.searchsorted(self.keys, keys)
        at[at == len(self.keys)] = 0
        return np.asarray(at[self.keys[at] == keys], dtype=np.int64)


@dataclass(frozen=True)
class Plan:
    """Which weights there are, the same in every process.

    Attributes
    ----------
    labels : list of str
    hash_bits : int
    tables : dict
        A `Table` for each channel that has attributes.
    transitions : int64 array
        ``previous * K + current`` of the pairs of labels that have a weight.
    by_member : bool
        Whether a weight is that of each attribute of its unit, and not scaled by how many there are.
    """

    labels: list[str]
    hash_bits: int
    tables: dict[str, Table]
    transitions: Ints
    by_member: bool

    @property
    def n_weights(self) -> int:
        """How many weights there are."""
        return sum(table.n_weights for table in self.tables.values()) + len(self.transitions)

    @property
    def n_parameters(self) -> int:
        """Weights as users count them: one for each attribute and code."""
        of_tables = (int((np.diff(t.starts) * t.members).sum()) for t in self.tables.values())
        return sum(of_tables) + len(self.transitions)

    @property
    def members(self) -> FloatArray:
        """How many attributes each weight stands for."""
        own = [np.repeat(table.members, np.diff(table.starts)) for table in self.tables.values()]
        return np.concatenate([*own, np.ones(len(self.transitions))])

    def shard_tensors(self, keys: Mapping[str, npt.NDArray[np.uint64]]) -> list[dict[str, Any]]:
        """Return models with the weights of the attributes that a shard has, under their numbers in the whole.

        They are of the form in which the core takes a model to go on from. The first has, for every unit, a number of
        its own as the weight of its members: the core merges attributes only if they occur together and have equal
        weights, so those of one unit of the whole and no others. The second and the third have the numbers of the
        weights, sixteen bits each, so that single precision holds them; the fourth has ones.
        """
        K = len(self.labels)
        models: list[dict[str, Any]] = [{} for _ in range(4)]
        offset = 0
        for name, table in self.tables.items():
            known = table.known(keys[name])
            starts, weights = table.rows(known)
            shape = self._layout(f"channel.{name}", table.keys[known], starts, table.codes[weights], K)
            own = np.repeat(table.units[known], np.diff(starts)).astype(np.uint32) + np.uint32(_FIRST_NORMAL)
            for model, part in zip(models, self._numbers(own.view(np.float32), weights + offset), strict=True):
                model |= shape | {f"channel.{name}.weights": part}
            offset += table.n_weights
        numbers = offset + np.arange(len(self.transitions))
        for model, part in zip(models, self._numbers(np.ones(len(numbers), np.float32), numbers), strict=True):
            moves = np.zeros(K * K, np.float32)
            moves[self.transitions] = part
            model["channel.transitions.weights"] = moves
        return models

    def _layout(
        self, channel: str, keys: npt.NDArray[np.uint64], starts: Ints, codes: Ints, K: int
    ) -> dict[str, npt.NDArray[Any]]:
        """Return keys, starts and codes of a channel as model files have them."""
        pairs = channel.endswith("pair")
        out = {f"{channel}.codes": narrowed(codes, K * K if pairs else K, least=2 if pairs else 1)}
        if self.hash_bits:
            sizes = np.zeros(1 << self.hash_bits, np.int64)
            sizes[keys.astype(np.int64)] = np.diff(starts)
            starts = np.concatenate([[0], np.cumsum(sizes)])
        else:
            out[f"{channel}.keys"], out[f"{channel}.slots"] = _core.key_table(np.ascontiguousarray(keys))
        return out | {f"{channel}.starts": starts.astype(np.uint32)}

    @staticmethod
    def _numbers(own: npt.NDArray[np.float32], numbers: Ints) -> list[npt.NDArray[np.float32]]:
        ones = np.ones(len(numbers), np.float32)
        return [own, (numbers % _HALF).astype(np.float32), (numbers // _HALF).astype(np.float32), ones]

    def places(self, oracle: Any, models: Sequence[Mapping[str, Any]]) -> Ints:
        """Return the number in the whole of each weight of a shard's oracle, made with `shard_tensors`."""
        low, high, ones = (np.asarray(oracle.weights_from(model)) for model in models[1:])
        if not ones.all():
            raise AssertionError("a shard has weights that the whole does not know")
        # A variable of the oracle is sqrt(g) times the weight of its g members, or that weight itself.
        places: Ints = (np.rint(low / ones) + _HALF * np.rint(high / ones)).astype(np.int64)
        if not self.by_member and not np.array_equal(np.rint(ones**2), self.members[places]):
            raise AssertionError("a shard has merged attributes that are apart in the whole")
        return places

    def tensors(self, weights: FloatArray, names: Mapping[str, Sequence[bytes]], dropped: bool) -> dict[str, Any]:
        """Return the tensors of a model with these weights.

        Parameters
        ----------
        weights : array (n_weights,)
        names : dict
            The names of a channel's attributes, or nothing.
        dropped : bool
            Whether weights of zero are left out.
        """
        K, offset, out = len(self.labels), 0, dict[str, Any]()
        each = weights if self.by_member else weights / np.sqrt(self.members)
        for name, table in self.tables.items():
            channel = f"channel.{name}"
            starts, at = table.rows(np.arange(len(table.keys)))
            own = each[offset + at].astype(np.float32)
            if dropped:
                kept = own != 0.0
                starts = np.concatenate([[0], np.cumsum(kept)])[starts]
                own, at = own[kept], at[kept]
            out |= {f"{channel}.weights": own} | self._layout(channel, table.keys, starts, table.codes[at], K)
            if names.get(name):
                out[f"{channel}.names.text"] = np.frombuffer(b"".join(names[name]), dtype=np.uint8)
                out[f"{channel}.names.ends"] = np.cumsum([len(text) for text in names[name]]).astype(np.uint32)
            offset += table.n_weights
        moves = np.zeros(K * K, np.float32)
        moves[self.transitions] = weights[offset:]
        return out | {"channel.transitions.weights": moves}


def plan_of(
    found: Sequence[Mapping[str, Any]],
    labels: list[str],
    hash_bits: int,
    min_count: int,
    combinations: str,
    transitions: bool,
    possible: npt.NDArray[np.bool_],
    by_member: bool,
) -> tuple[Plan, dict[str, list[bytes]]]:
    """Return the plan of all shards, and the names of its attributes.

    Parameters
    ----------
    found : list of dicts
        What each shard has, in their order: vocabularies by channel, and the ``transitions`` it has seen.
    labels, hash_bits, min_count, combinations, transitions, by_member
        As the oracle of chains has them; no weights grow.
    possible : bool array (K * K,)
        Which pairs of labels the constraints allow.
    """
    pairs = np.flatnonzero(possible)
    every = {"token": np.arange(len(labels)), "pair": pairs} if combinations == "all" else {}
    tables, names = {}, {}
    for name in CHANNELS:
        own = [shard[name] for shard in found]
        if name == "pair" and not any(len(shard["keys"]) for shard in own):
            continue
        if name == "pair":
            own = [_possible(shard, possible) for shard in own]
        tables[name] = Table.merged(own, min_count, every.get(name))
        names[name] = _names(tables[name].keys, own)
    moves = np.zeros(0, np.int64)
    if transitions:
        seen = np.concatenate([np.zeros(0, np.int64), *(shard["transitions"] for shard in found)])
        moves = np.intersect1d(seen, pairs) if combinations == "seen" else pairs
    return Plan(labels, hash_bits, tables, moves.astype(np.int64), by_member), names


def _possible(vocabulary: Arrays, possible: npt.NDArray[np.bool_]) -> Arrays:
    kept = possible[vocabulary["codes"]]
    starts = np.concatenate([[0], np.cumsum(kept)])[vocabulary["starts"]]
    return {**vocabulary, "codes": vocabulary["codes"][kept], "starts": starts}


def _names(keys: npt.NDArray[np.uint64], vocabularies: Sequence[Arrays]) -> list[bytes]:
    """Return the names of these attributes; nothing where they have none."""
    out: list[bytes] = [b""] * len(keys)
    found = False
    for own in vocabularies:
        if not len(own["names.ends"]) or not len(keys):
            continue
        found = True
        text, ends = bytes(own["names.text"]), own["names.ends"].tolist()
        at = np.minimum(np.searchsorted(keys, own["keys"]), len(keys) - 1)
        for i in np.flatnonzero(keys[at] == own["keys"]).tolist():
            out[at[i]] = text[ends[i - 1] if i else 0 : ends[i]]
    return out if found else []
