"""Dependency parsers: which channels feed which blocks of a tree, which heads a word may have, and a trained model.

A first pass with few templates and no labels decides which heads a word may have at all; the model itself scores those.
Both are hash kernels: a channel of attributes has as many weights as there are hashes, times its codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.features.arc_columns import first_pass_templates, sentence_columns
from trelliswork.features.templates import Templates
from trelliswork.models.trained import TrainedModel, Weight

__all__ = [
    "UNLABELLED",
    "ArcExplanation",
    "DependencyModel",
    "FirstPass",
    "Limits",
    "TreeBatch",
    "outputs_of",
    "rounded",
    "split_outputs",
    "tensors_of",
    "tree_channels",
    "tree_structure",
]

FloatArray = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

UNLABELLED = "_"  # the only label of a parser without labels
FIRST_PASS_BITS = 18
_LABEL_BITS = 6  # rows of labels are so much fewer than weights of arcs: 2 ** 6 labels, about


def tree_structure(n_labels: int, projective: bool, single_root: bool, meets: Sequence[str]) -> _core.PartStructure:
    """Return the trees that a parser chooses from; ``meets`` says whether siblings or grandparents have scores."""
    if projective:
        return _core.PartStructure.projective_tree(
            n_labels, single_root, siblings="sibling" in meets, grandparents="grandparent" in meets
        )
    return _core.PartStructure.arborescence(n_labels, single_root)


def tree_channels(extractor: _core.ArcExtractor, n_labels: int, bits: int) -> list[tuple[str, int, int, int]]:
    """Return the channels of templates as `_core.ArcModel` takes them: name, block, codes, bits of hashes."""
    found, names = [], extractor.channels
    blocks = {"sibling": 1, "grandparent": 1 + ("sibling" in names)}
    for name in names:
        if not name.startswith("label"):
            found.append((name, blocks.get(name, 0), 1, bits if name == "arc" else max(1, bits - 1)))
        elif n_labels > 1:
            found.append((name, 0, n_labels, max(1, bits - _LABEL_BITS - (name != "label"))))
    return found


def n_weights(channels: Sequence[tuple[str, int, int, int]]) -> int:
    """Return how many weights channels have."""
    return sum(codes << bits for _, _, codes, bits in channels)


def halved(weights: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    """Return weights in half precision, scaled by a power of two so that the largest is in its range.

    Examples
    --------
    >>> halved(np.array([1.0, -0.25, 3e-5])).tolist()[:2]
    [32768.0, -8192.0]
    """
    found: npt.NDArray[np.float16] = (weights * _scale(weights)).astype(np.float16)
    return found


def single(halves: npt.NDArray[np.float16], scale: float) -> Singles:
    """Return the weights that `halved` rounded."""
    found: Singles = halves.astype(np.float32) / np.float32(scale)
    return found


def _scale(weights: npt.NDArray[Any]) -> float:
    largest = float(np.abs(weights).max(initial=0.0))
    return 1.0 if largest == 0.0 else float(2.0 ** np.floor(np.log2(65000.0 / largest)))


def rounded(weights: npt.NDArray[Any]) -> Singles:
    """Return weights as they will be when they have been written to a file and read again."""
    return single(halved(weights), _scale(weights))


def _singles(tensors: Mapping[str, Any], name: str, scale: float, size: int) -> Singles:
    halves = np.asarray(tensors[name])
    halves = halves.view(np.float16) if halves.dtype == np.uint16 else halves.astype(np.float16, copy=False)
    if halves.size != size:
        raise ValueError(f"{name} has {halves.size} weights, expected {size}")
    found = single(halves, scale)
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has weights that are no numbers")
    return found


def outputs_of(
    heads: npt.NDArray[Any], labels: npt.NDArray[Any] | None, lengths: npt.NDArray[np.int64]
) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Return trees as the core has them, one after the other (heads, then labels), and where each ends."""
    if labels is None:
        return heads.astype(np.uint32), np.cumsum(lengths)
    out = np.empty(2 * len(heads), dtype=np.uint32)
    of_heads = _is_head(lengths)
    out[of_heads], out[~of_heads] = heads.astype(np.uint32), labels.astype(np.uint32)
    return out, np.cumsum(2 * lengths)


def split_outputs(
    outputs: Numbers, lengths: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32] | None]:
    """Return heads and labels (None without labels) of trees as the core has them."""
    if len(outputs) == lengths.sum():
        return outputs.astype(np.int32), None
    of_heads = _is_head(lengths)
    return outputs[of_heads].astype(np.int32), outputs[~of_heads].astype(np.int32)


def _is_head(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return np.repeat(np.tile([True, False], len(lengths)), np.repeat(lengths, 2))


class FirstPass:
    """A small model of arcs that says which heads a word may have.

    Parameters
    ----------
    templates : Templates
    weights : float32 array
    margin : float or None
        How far below that of the best the score of a head may be.
    """

    channels = (("arc", 0, 1, FIRST_PASS_BITS),)

    def __init__(self, templates: Templates, weights: Singles, margin: float | None) -> None:
        self.templates, self.weights, self.margin = templates, weights, margin
        self.structure = tree_structure(1, True, True, ())
        self._core = _core.ArcModel(self.structure, list(self.channels), weights)

    def shapes(self, columns: _core.Columns, most: int, kept: Any = None, n_jobs: int = 1) -> _core.TreeShapes:
        """Return shapes with the ``most`` best heads of each word, and those in ``kept``."""
        sentences = _core.ArcSentences(columns, self.templates.arc_extractor())
        margin = np.inf if self.margin is None else self.margin
        return self._core.pruned(sentences, most, margin, kept, n_jobs)


class DependencyModel(TrainedModel):
    """A trained parser."""

    meets = ("arc", "arc label", "sibling", "grandparent")

    def _made_core(self) -> _core.ArcModel:
        described = self.settings["structure"]
        self.projective, self.single_root = bool(described["projective"]), bool(described["single_root"])
        self.heads: int | None = described["heads"]
        if self.heads is not None and (type(self.heads) is not int or self.heads < 1):
            raise ValueError(f"structure.heads is {self.heads!r}, and must be a whole number from 1 on, or null")
        self.labelled = self.labels != [UNLABELLED]
        templates = self.inputs.templates
        if templates is None:
            raise ValueError("a parser needs templates")
        self.templates = templates
        self.structure = tree_structure(self.n_labels, self.projective, self.single_root, templates.meets)
        self.channels = tree_channels(templates.arc_extractor(), self.n_labels, self.hash_bits)
        scales = self.settings["scales"]
        parts = [
            _singles(self.tensors, f"channel.{name}.weights", scales[name], codes << bits)
            for name, _, codes, bits in self.channels
        ]
        self.single_weights = np.concatenate(parts)
        self.first_pass = None
        if self.heads is not None:
            own = _singles(self.tensors, "first_pass.weights", scales["first_pass"], 1 << FIRST_PASS_BITS)
            margin = described["margin"]
            if margin is not None and (type(margin) not in (int, float) or not margin > 0):
                raise ValueError(f"structure.margin is {margin!r}, and must be a number above 0, or null")
            self.first_pass = FirstPass(first_pass_templates(templates.columns), own, margin)
        return _core.ArcModel(self.structure, self.channels, self.single_weights)

    @property
    def n_labels(self) -> int:
        """How many labels an arc may have."""
        return len(self.labels)

    @property
    def n_attributes(self) -> int:
        """How many hashes there are: attributes have no table of their own."""
        return sum(1 << bits for _, _, _, bits in self.channels)

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Where the weights of each channel begin."""
        found, total = {}, 0
        for name, _, codes, bits in self.channels:
            found[name] = total
            total += codes << bits
        return found

    def explained(self, batch: TreeBatch) -> list[ArcExplanation]:
        """Return why the first sentence of a batch is parsed as it is."""
        ((heads, labels, _),) = batch.refuse_none(batch.best())[0]
        table, found = batch.marginals()[0], []
        for m, (head, label) in enumerate(zip(heads.tolist(), labels.tolist(), strict=True), 1):
            parts: list[tuple[str, float]] = []
            for name, _, codes, bits in self.channels:
                if name in ("sibling", "grandparent"):
                    continue
                names = batch.sentences.attribute_names(0, head, m, None, name)
                units = batch.sentences.attribute_keys(0, head, m, None, name) & np.uint64((1 << bits) - 1)
                at = self.offsets[name] + units.astype(np.intp) * codes + (label if codes > 1 else 0)
                parts += zip(names, (self.single_weights[at] / self.temperature).astype(float).tolist(), strict=True)
            parts.sort(key=lambda part: -abs(part[1]))
            found.append(
                ArcExplanation(
                    m, head, self.labels[label], sum(w for _, w in parts), float(min(table[head, m, label], 1.0)), parts
                )
            )
        return found

    def largest_weights(self, most: int) -> list[Weight]:
        """Return the largest weights; hashes have no names but their numbers."""
        weights = self.single_weights
        order = (
            np.argsort(-np.abs(weights), kind="stable")[:most] if most < len(weights) else np.argsort(-np.abs(weights))
        )
        found = []
        for at in order.tolist():
            if weights[at] == 0.0:
                break
            name = max((name for name in self.offsets if self.offsets[name] <= at), key=self.offsets.__getitem__)
            codes = next(codes for own, _, codes, _ in self.channels if own == name)
            unit, code = divmod(at - self.offsets[name], codes)
            label = self.labels[code] if codes > 1 else UNLABELLED
            found.append(Weight(f"{name} {unit}", None, label, float(weights[at])))
        return found

    def columns(self, X: Any, argument: str = "X") -> _core.Columns:
        """Return sentences as columns."""
        return sentence_columns(X, self.templates.columns, argument)

    def sentences(self, columns: _core.Columns) -> _core.ArcSentences:
        """Return sentences as the templates see them."""
        return _core.ArcSentences(columns, self.templates.arc_extractor())

    def shapes(self, columns: _core.Columns, kept: Any = None, n_jobs: int = 1) -> _core.TreeShapes:
        """Return which heads each word may have."""
        if self.first_pass is None or self.heads is None:
            return self.sentences(columns).shapes()
        return self.first_pass.shapes(columns, self.heads, kept, n_jobs)


class TreeBatch:
    """Scores of the parts of some sentences.

    Parameters
    ----------
    model : DependencyModel
    columns : Columns
    shapes : list of uint32 arrays
        Which heads each word may have.
    n_jobs : int
    masks : list of (sites, L) arrays of bool or None, optional
        Which arcs and labels may be, None for all.
    first : int
        The number of the first of these sentences, for errors.
    """

    def __init__(
        self,
        model: DependencyModel,
        columns: _core.Columns,
        shapes: list[Numbers],
        n_jobs: int,
        masks: Any = None,
        first: int = 0,
    ) -> None:
        self.model, self.shapes, self.n_jobs, self.first = model, shapes, n_jobs, first
        self.columns, self.sentences, self.lengths = columns, model.sentences(columns), columns.lengths()
        found = model.core.scores(self.sentences, _core.TreeShapes.of(shapes), n_jobs)
        for i, own in enumerate(found):
            own /= model.temperature
            if masks is not None and masks[i] is not None:
                own[: masks[i].size][~masks[i].ravel()] = -np.inf
        self.parts: list[FloatArray] = found
        self._core = _core.PartBatch(model.structure, shapes, found, n_jobs)

    def best(self, k: int = 1) -> list[list[tuple[npt.NDArray[Any], npt.NDArray[Any], float]]]:
        """Return, for each sentence, its best trees: heads, labels and score."""
        return [
            [(*self._tree(output, int(n)), float(score)) for output, score in own]
            for n, own in zip(self.lengths, self._core.best(k), strict=True)
        ]

    def refuse_none(self, found: list[Any]) -> list[Any]:
        """Return answers, or say for which sentence there are none, and which word is to blame."""
        for i, own in enumerate(found):
            if not own:
                word = int(self.model.structure.dead_end(self.shapes[i], self.parts[i])) + 1
                raise Unsatisfiable(f"X[{self.first + i}]: what is allowed and fixed leaves no head for word {word}.")
        return found

    def _tree(self, output: npt.NDArray[Any], n: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        return output[:n], output[n:] if self.model.n_labels > 1 else np.zeros(n, dtype=np.uint32)

    def log_partition(self) -> FloatArray:
        """Return log Z of each sentence, -inf where there is no tree."""
        return np.asarray(self._core.log_partition())

    def scores_of(self, heads: list[npt.NDArray[Any]], labels: list[npt.NDArray[Any]]) -> FloatArray:
        """Return the score of one tree of each sentence, -inf where it is not among those that may be."""
        found = []
        for shape, scores, own_heads, own_labels in zip(self.shapes, self.parts, heads, labels, strict=True):
            output = own_heads if self.model.n_labels == 1 else np.concatenate([own_heads, own_labels])
            crossing = self.model.projective and not _core.is_projective(np.ascontiguousarray(own_heads, np.uint32))
            try:
                parts = self.model.structure.parts_of(shape, np.ascontiguousarray(output, dtype=np.uint32))
                found.append(-np.inf if crossing else float(scores[parts].sum()))
            except ValueError:  # a head that was pruned, or a label that is not known
                found.append(-np.inf)
        return np.array(found)

    def marginals(self) -> list[FloatArray]:
        """Return the probability of every arc with every label, (n + 1, n + 1, L) for each sentence."""
        found = []
        for shape, own in zip(self.shapes, self._core.marginals(), strict=True):
            n, own = int(shape[0]), own.reshape(-1, self.model.n_labels)
            table = np.zeros((n + 1, n + 1, self.model.n_labels))
            head, modifier = words_of(shape)
            table[head, modifier] = own
            table[:, 0] = 0.0
            found.append(table)
        return found

    def mbr(self) -> list[list[tuple[npt.NDArray[Any], npt.NDArray[Any], float]]]:
        """Return the tree of each sentence with the largest expected number of right heads, and that number."""
        structure = tree_structure(1, self.model.projective, self.model.single_root, ())
        tables = self.marginals()
        arcs = []
        for shape, table in zip(self.shapes, tables, strict=True):
            head, modifier = words_of(shape)
            own = table.sum(axis=2)[head, modifier]
            arcs.append(np.where(own > 0.0, own, -np.inf))
        found: list[Any] = []
        for best, table in zip(_core.PartBatch(structure, self.shapes, arcs, self.n_jobs).best(1), tables, strict=True):
            if not best:
                found.append([])
                continue
            ((heads, score),) = best
            labels = table[heads, np.arange(1, len(heads) + 1)].argmax(axis=1)
            found.append([(heads, labels, float(score))])
        return found


class ArcExplanation(NamedTuple):
    """Why a word has its head and its relation.

    Attributes
    ----------
    word, head : int
        From 1; 0 is the root.
    relation : str
        ``"_"`` without labels.
    score : float
        Of the arc with its relation: the sum of the contributions.
    probability : float
        Of the arc with its relation.
    contributions : list of (str, float)
        Attributes and what they add, the largest first.
    """

    word: int
    head: int
    relation: str
    score: float
    probability: float
    contributions: list[tuple[str, float]]


class Limits:
    """What is allowed and fixed when sentences are parsed.

    Parameters
    ----------
    model : DependencyModel
    allowed : list or None
        For each sentence None, or for each word a collection of heads, or None.
    fixed : list or None
        For each sentence None, or a tree with None for what is not known.
    n : int
        How many sentences there are.
    """

    def __init__(self, model: DependencyModel, allowed: Any, fixed: Any, n: int) -> None:
        self._model = model
        for name, given in (("allowed", allowed), ("fixed", fixed)):
            if given is not None and (not hasattr(given, "__len__") or len(given) != n):
                raise InvalidInput(f"{name} must have one entry for each of the {n} sentences; None is no limit.")
        self._allowed, self._fixed = allowed, fixed

    def of(self, first: int, shapes: list[Numbers]) -> tuple[list[Numbers], list[Bools | None] | None]:
        """Return shapes that have all heads that are allowed, and which arcs and labels may be."""
        if self._allowed is None and self._fixed is None:
            return shapes, None
        masks: list[Bools | None] = []
        shapes = list(shapes)
        for i, shape in enumerate(shapes):
            heads, labels = self._of_sentence(first + i, int(shape[0]))
            if heads is None:
                masks.append(None)
                continue
            shapes[i] = _with_heads(shape, heads)
            mask = self._mask(shapes[i], heads, labels)
            if not self._possible(shapes[i], mask):  # the heads that the first pass left do not go with these
                shapes[i] = shape[:1]
                mask = self._mask(shapes[i], heads, labels)
            masks.append(mask)
        return shapes, masks

    def _mask(self, shape: Numbers, heads: Any, labels: Any) -> Bools:
        """Which arcs and labels may be."""
        head, modifier = words_of(shape)
        mask = np.ones((len(head), self._model.n_labels), dtype=np.bool_)
        for m, (own, label) in enumerate(zip(heads, labels, strict=True), 1):
            at = modifier == m
            if own is not None:
                mask[at] &= np.isin(head[at], sorted(own))[:, None]
            if label is not None:
                mask[at] &= np.arange(self._model.n_labels) == label
        return mask

    def _possible(self, shape: Numbers, mask: Bools) -> bool:
        """Whether there is a tree."""
        structure = self._model.structure
        scores = np.zeros(sum(sites * codes for _, sites, codes in structure.blocks(shape)))
        scores[: mask.size][~mask.ravel()] = -np.inf
        return bool(structure.best(shape, scores))

    def _of_sentence(self, i: int, n: int) -> tuple[Any, Any]:
        heads: list[Any] = [None] * n
        labels: list[Any] = [None] * n
        given = None if self._allowed is None else self._allowed[i]
        known = None if self._fixed is None else self._fixed[i]
        if given is None and known is None:
            return None, None
        if given is not None:
            if len(given) != n:
                raise InvalidInput(f"allowed[{i}] has {len(given)} entries, but the sentence has {n} words.")
            heads = [None if own is None else {self._head(h, n, f"allowed[{i}]") for h in own} for own in given]
        if known is not None:
            pair = isinstance(known, tuple) and len(known) == 2 and isinstance(known[0], list | tuple | np.ndarray)
            own_heads, relations = known if pair else (known, None)
            if len(own_heads) != n or (relations is not None and len(relations) != n):
                raise InvalidInput(f"fixed[{i}] must have a head, or None, for each of the {n} words.")
            for m, head in enumerate(own_heads):
                if head is None or head == -1:
                    continue
                head = self._head(head, n, f"fixed[{i}]")
                if heads[m] is not None and head not in heads[m]:
                    raise InvalidInput(f"fixed[{i}] gives word {m + 1} the head {head}, which is not allowed.")
                heads[m] = {head}
            for m, relation in enumerate(relations or []):
                if relation is not None and relation != UNLABELLED:
                    if relation not in self._model.labels:
                        raise InvalidInput(
                            f"fixed[{i}] has the relation {relation!r}, which the model never saw. It knows "
                            f"{', '.join(self._model.labels)}."
                        )
                    labels[m] = self._model.labels.index(relation)
        return heads, labels

    def _head(self, head: Any, n: int, place: str) -> int:
        if not isinstance(head, int | np.integer) or isinstance(head, bool) or not 0 <= head <= n:
            raise InvalidInput(f"{place} has the head {head!r}; expected a word from 1 to {n}, or 0 for the root.")
        return int(head)


def _with_heads(shape: Numbers, wanted: list[set[int] | None]) -> Numbers:
    """A shape with these heads, and where there are None, those it has."""
    if len(shape) == 1:
        return shape
    n = int(shape[0])
    starts, heads = shape[1 : n + 2].tolist(), shape[n + 2 :].tolist()
    lists = [
        sorted(own - {m}) if own is not None else heads[starts[m - 1] : starts[m]] for m, own in enumerate(wanted, 1)
    ]
    ends = np.cumsum([0, *map(len, lists)])
    return np.concatenate([[n], ends, *lists]).astype(np.uint32)


def words_of(shape: Numbers) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the head and the modifier of each site of the block of arcs."""
    n = int(shape[0])
    if len(shape) == 1:
        head, modifier = np.divmod(np.arange((n + 1) ** 2), n + 1)
        return head, modifier
    starts = shape[1 : n + 2].astype(np.intp)
    return shape[n + 2 :].astype(np.intp), np.repeat(np.arange(1, n + 1), starts[1:] - starts[:-1])


def tensors_of(
    channels: Sequence[tuple[str, int, int, int]], weights: npt.NDArray[Any], first_pass: FirstPass | None
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return what the file has of the weights, and the scale of each part."""
    tensors: dict[str, Any] = {}
    scales: dict[str, float] = {}
    begin = 0
    parts = []
    for name, _, codes, bits in channels:
        end = begin + (codes << bits)
        parts.append((name, f"channel.{name}.weights", weights[begin:end]))
        begin = end
    if first_pass is not None:
        parts.append(("first_pass", "first_pass.weights", first_pass.weights))
    for name, tensor, own in parts:
        tensors[tensor], scales[name] = halved(own), _scale(own)
    return tensors, scales
