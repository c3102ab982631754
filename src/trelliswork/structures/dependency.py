"""Dependency trees: a head for every word, from scores of arcs, with the questions of a `Chain`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.structures import checks
from trelliswork.structures.checks import FloatArray
from trelliswork.structures.parts import Batch, Numbers, PartScores
from trelliswork.structures.results import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.formulations import Formulation

__all__ = ["DependencyTree"]


_MOST_SHOWN = 100  # words, in a notebook


class DependencyTree(PartScores[Tree]):
    """Dependency trees over n words; the score of a tree is the sum over its arcs.

    Index 0 is the root, which precedes the first word; words are 1 to n. The score of a tree is the sum of
    ``arcs[head, word]`` over its words, of ``labels[head, word, label]`` if there are labels, and of the scores of
    siblings and grandparents if they are given. ``-inf`` forbids.

    Parameters
    ----------
    arcs : (n + 1, n + 1) array-like
        ``arcs[h, m]`` scores the arc from head ``h`` to modifier ``m``. Column 0 and the diagonal are ignored.
    labels : (n + 1, n + 1, L) array-like, optional
        Score of each label of each arc, added to that of the arc.
    projective : bool
        Whether arcs must not cross (Eisner 1996). Otherwise every word may be the head of every other.
    single_root : bool
        Whether exactly one word has the root as its head; otherwise one or more words do.
    siblings : (n + 1, n + 1, n + 1) array-like, optional
        ``siblings[h, s, m]`` scores two neighbouring modifiers of ``h`` on one side, ``s`` being nearer to ``h``;
        ``siblings[h, h, m]`` scores ``m`` as the nearest modifier of ``h`` on its side. Other entries are ignored.
    grandparents : (n + 1, n + 1, n + 1) array-like, optional
        ``grandparents[g, h, m]`` scores the arcs from ``g`` to ``h`` and from ``h`` to ``m``, where ``h`` is a word.
        Other entries are ignored.

    Notes
    -----
    An answer costs O(n^3), also with siblings (McDonald and Pereira 2006), and O(n^4) with grandparents (Koo and
    Collins 2010). If arcs may cross, siblings and grandparents are not available. The best tree then takes O(n^2) (Chu
    and Liu 1965, Edmonds 1967, Tarjan 1977), each further one O(n^2) (Camerini, Fratta and Maffioli 1980). Sums take
    O(n^3) by the matrix-tree theorem (Koo et al. 2007), computed without subtractions. Samples are random walks (Wilson
    1996).

    Every tree is counted once. Ties: the lower label is preferred, and the order of trees is always the same. If arcs
    may cross, words and cycles take the lowest of their best heads.

    Examples
    --------
    >>> arcs = np.zeros((4, 4))  # the root and three words
    >>> arcs[0, 2], arcs[2, 1], arcs[2, 3] = 3.0, 2.0, 1.0
    >>> tree = DependencyTree(arcs)
    >>> tree.argmax().heads.tolist(), tree.argmax().score
    ([2, 0, 2], 6.0)
    >>> tree.marginals().round(2)[:, 2].tolist()  # who is the head of word 2
    [0.97, 0.01, 0.0, 0.02]
    >>> round(np.exp(tree.log_count())), round(np.exp(DependencyTree(arcs, projective=False).log_count()))
    (7, 9)
    """

    _output_name = "tree"

    def __init__(
        self,
        arcs: npt.ArrayLike,
        labels: npt.ArrayLike | None = None,
        projective: bool = True,
        single_root: bool = True,
        siblings: npt.ArrayLike | None = None,
        grandparents: npt.ArrayLike | None = None,
    ) -> None:
        self.arcs = _as_arcs(arcs)
        n = len(self.arcs) - 1
        self.labels = None if labels is None else _as_labels(labels, n)
        self.projective = checks.as_flag("projective", projective)
        self.single_root = checks.as_flag("single_root", single_root)
        self.siblings = None if siblings is None else _as_cube("siblings", siblings, n, _sibling_sites(n))
        self.grandparents = (
            None if grandparents is None else _as_cube("grandparents", grandparents, n, _grandparent_sites(n))
        )
        structure = _structure(
            self.projective, self.n_labels, self.single_root, siblings is not None, grandparents is not None
        )
        scores = self.arcs.ravel()
        if self.labels is not None:
            scores = (self.arcs[:, :, None] + self.labels).ravel()
            checks.require_scores("arcs + labels", scores)
        if self.siblings is not None:
            scores = np.concatenate([scores, self.siblings[_sibling_sites(n)]])
        if self.grandparents is not None:
            scores = np.concatenate([scores, self.grandparents[_grandparent_sites(n)]])
        super().__init__(structure, [n], scores)

    @classmethod
    def batch(
        cls,
        arcs: Iterable[npt.ArrayLike],
        labels: Iterable[npt.ArrayLike] | None = None,
        projective: bool = True,
        single_root: bool = True,
        n_jobs: int | None = None,
    ) -> Batch[Tree]:
        """Return a `Batch` of many sentences, which answers for all of them at once.

        Parameters
        ----------
        arcs : list of (n_i + 1, n_i + 1) array-like, or (B, n + 1, n + 1) array-like
            Scores of arcs of each sentence.
        labels : list of (n_i + 1, n_i + 1, L) array-like, or (B, n + 1, n + 1, L) array-like, optional
            Scores of labels of each sentence.
        projective, single_root : bool
            As for `DependencyTree`.
        n_jobs : int, optional
            Number of threads; see `Batch`.

        Examples
        --------
        >>> batch = DependencyTree.batch(np.zeros((2, 3, 3)))
        >>> [tree.heads.tolist() for tree in batch.argmax()]
        [[0, 1], [0, 1]]
        """
        if labels is None and isinstance(arcs, np.ndarray) and arcs.ndim == 3 and arcs.size:
            single_root, projective = (
                checks.as_flag("single_root", single_root),
                checks.as_flag("projective", projective),
            )
            structure = _structure(projective, 1, single_root, False, False)
            shape = np.array([arcs.shape[1] - 1], dtype=np.uint32)
            members = []
            for own in _as_arcs(arcs, 3):
                one = cls.__new__(cls)
                one.arcs, one.labels, one.siblings, one.grandparents = own, None, None, None
                one.projective, one.single_root = projective, single_root
                one._structure, one._shape, one._scores = structure, shape, own.reshape(-1)
                members.append(one)
            return Batch(members, n_jobs)
        of_arcs = list(arcs)
        of_labels = [None] * len(of_arcs) if labels is None else list(labels)
        if len(of_labels) != len(of_arcs):
            raise InvalidInput(f"arcs has {len(of_arcs)} sentences, labels has {len(of_labels)}.")
        pairs = zip(of_arcs, of_labels, strict=True)
        return Batch([cls(own, names, projective, single_root) for own, names in pairs], n_jobs)

    def __repr__(self) -> str:
        kinds = ", projective" if self.projective else ""
        kinds += ", single root" if self.single_root else ""
        labels = "" if self.labels is None else f", {self.n_labels} labels"
        second = "".join(f", {name}" for name in ("siblings", "grandparents") if getattr(self, name) is not None)
        return f"DependencyTree({self.n_words} words{labels}{second}{kinds})"

    def _repr_html_(self) -> str:
        """Return the best tree for a notebook: arcs above the numbers of its words."""
        if not 0 < self.n_words <= _MOST_SHOWN:
            return f"<code>{escape(repr(self))}</code>"
        from trelliswork.plots.trees import arcs_svg

        try:
            best = self.argmax()
        except Unsatisfiable as error:
            return f"<code>{escape(repr(self))}</code>: {escape(str(error))}"
        names = None if best.labels is None else [str(k) for k in best.labels]
        return arcs_svg([str(m) for m in range(1, self.n_words + 1)], best.heads.tolist(), names)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self.arcs, self.labels, self.projective, self.single_root, self.siblings, self.grandparents
        )  # fmt: skip

    @property
    def n_words(self) -> int:
        """Number of words, n."""
        return len(self.arcs) - 1

    @property
    def n_labels(self) -> int:
        """Number of labels, L; 1 if arcs have no labels."""
        return 1 if self.labels is None else int(self.labels.shape[2])

    def marginals(self) -> FloatArray:
        """Return the probability of every arc, (n + 1, n + 1): ``[h, m]`` is that of ``h`` being the head of ``m``."""
        return self._shaped(self._expected(), np.add, 0.0)

    def label_marginals(self) -> FloatArray:
        """Return the probability of every arc with every label, (n + 1, n + 1, L)."""
        return self._arcs_of(self._expected())

    def sibling_marginals(self) -> FloatArray:
        """Return the probability of every entry of ``siblings``."""
        return self._second_order_marginals("siblings")

    def grandparent_marginals(self) -> FloatArray:
        """Return the probability of every entry of ``grandparents``."""
        return self._second_order_marginals("grandparents")

    def max_marginals(self) -> FloatArray:
        """Return the best score of a tree with each arc, (n + 1, n + 1); -inf where no tree has the arc."""
        return self._shaped(self._structure.max_marginals(self._shape, self._scores), np.maximum, -np.inf)

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> list[Tree]:
        """Draw ``n`` trees from the distribution; see `Chain.sample`.

        Parameters
        ----------
        n : int
            Number of trees.
        random_state : int or Generator, optional
            Seed or source of randomness; an integer gives the same draws every time.
        replace : bool
            Whether a tree may be drawn again. If not, fewer than ``n`` are returned when fewer exist.
        """
        return [self._sampled(output) for output in self._drawn(n, random_state, replace)]

    def score(self, output: Any) -> float:
        """Return the score of a tree; -inf if it is forbidden, also by ``projective`` or ``single_root``.

        Parameters
        ----------
        output : Tree, n heads, or (heads, labels)
            The head of every word, 0 for the root; with labels, also the label of every arc.
        """
        given = self._output(output)
        if self.projective and not _core.is_projective(given[: self.n_words]):
            return -np.inf
        return self._total(given)

    def mbr(self) -> Tree:
        """Return the tree with the most correct heads in expectation (minimum Bayes risk); its score is their number.

        Each arc has its most probable label.

        Examples
        --------
        >>> tree = DependencyTree([[0.0, 1.0, 0.5], [0.0, 0.0, 0.2], [0.0, 0.4, 0.0]])
        >>> best = tree.mbr()
        >>> best.heads.tolist(), round(best.score, 3)
        ([0, 1], 1.149)
        """
        of_labels = self.label_marginals()
        arcs = of_labels.sum(axis=2)
        possible = np.where(arcs > 0.0, arcs, -np.inf)
        best = type(self)(possible, projective=self.projective, single_root=self.single_root).argmax()
        if self.labels is None:
            return best
        labels = of_labels[best.heads, np.arange(1, self.n_words + 1)].argmax(axis=1)
        return Tree(best.heads, labels.astype(np.int32), best.score)

    def plot(
        self,
        words: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        marginals: bool = False,
        **options: Any,
    ) -> Axes:
        """Draw the best tree as arcs above its words.

        Parameters
        ----------
        words : sequence of n str, optional
            The words to draw; their numbers by default.
        labels : sequence of L str, optional
            Names of the labels; their numbers by default.
        marginals : bool
            Whether to shade arcs by probability, and to draw other probable arcs below the words.
        **options
            As for `trelliswork.plots.arcs`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from trelliswork.plots.trees import arcs

        best = self.argmax()
        names = None
        if best.labels is not None:
            names = [str(label) if labels is None else str(labels[label]) for label in best.labels]
        shown_words = [str(i) for i in range(1, self.n_words + 1)] if words is None else words
        if marginals:
            options["probabilities"] = self.marginals()
        return arcs(shown_words, best.heads.tolist(), names, **options)

    def augmented(self, gold: Any, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the trees with ``scale`` times the cost of every arc against ``gold`` added; see `Chain.augmented`.

        Parameters
        ----------
        gold : Tree, n heads, or (heads, labels)
            The correct tree.
        cost : "hamming" or array
            "hamming" charges one for every word whose head or label is wrong. An array is the cost of every arc,
            (n + 1, n + 1), or of every labelled arc, (n + 1, n + 1, L), charged whatever ``gold`` is.
        scale : float
            The factor of the cost.
        """
        right = self._output(gold).astype(np.int64)
        shape = (*self.arcs.shape, self.n_labels)
        if isinstance(cost, str):
            if cost != "hamming":
                raise InvalidInput(f'cost must be "hamming" or an array of the shape of arcs, found {cost!r}.')
            charged = np.ones(shape)
            labels = right[self.n_words :] if self.n_labels > 1 else 0
            charged[right[: self.n_words], np.arange(1, self.n_words + 1), labels] = 0.0
        else:
            charged = checks.as_numbers("cost", cost)
            charged = charged[:, :, None] if charged.ndim == 2 else charged
            if charged.shape not in (shape, (*shape[:2], 1)) or not np.isfinite(charged).all() or (charged < 0).any():
                raise InvalidInput(f"cost must hold finite numbers from 0, shape {shape[:2]}; found {charged.shape}.")
        return self._with_added(checks.as_scale(scale) * charged)

    def constrained(
        self,
        forced: Iterable[Any] | None = None,
        forbidden: Iterable[Any] | None = None,
        allowed: npt.ArrayLike | None = None,
    ) -> Self:
        """Return the trees with arcs that are forced or forbidden.

        Parameters
        ----------
        forced, forbidden : list of (head, modifier) or (head, modifier, label), optional
            Arcs that every tree must have, and arcs that none may have. The modifier of a forced arc can have no other
            head. An arc without a label stands for all labels.
        allowed : (n + 1, n + 1) array of bool, optional
            Which arcs may occur.

        Examples
        --------
        >>> tree = DependencyTree([[0.0, 1.0, 0.5], [0.0, 0.0, 0.2], [0.0, 0.4, 0.0]])
        >>> tree.constrained(forced=[(2, 1)]).argmax().heads.tolist()
        [2, 0]
        """
        possible = np.ones((*self.arcs.shape, self.n_labels), dtype=np.bool_)
        if allowed is not None:
            possible &= checks.as_mask("allowed", allowed, self.arcs.shape)[:, :, None]
        for head, modifier, labels in self._checked_arcs("forced", forced):
            others = np.ones((len(self.arcs), self.n_labels), dtype=np.bool_)
            others[head, labels] = False
            possible[:, modifier][others] = False
        for head, modifier, labels in self._checked_arcs("forbidden", forbidden):
            possible[head, modifier, labels] = False
        limited = self._with_added(np.where(possible, 0.0, -np.inf))
        limited._possible_log_partition()
        return limited

    def _with_added(self, scores: FloatArray) -> Self:
        """Add scores of arcs, (n + 1, n + 1, 1), or of their labels."""
        arcs, labels = self.arcs, self.labels
        if labels is None or scores.shape[2] == 1:
            arcs = arcs + scores[:, :, 0]
        else:
            labels = labels + scores
        return type(self)(arcs, labels, self.projective, self.single_root, self.siblings, self.grandparents)

    def _checked_arcs(self, name: str, arcs: Iterable[Any] | None) -> list[tuple[int, int, Any]]:
        out: list[tuple[int, int, Any]] = []
        for i, arc in enumerate(() if arcs is None else arcs):
            place = f"{name}[{i}]"
            if not checks.is_list(arc) or len(arc) not in ((2, 3) if self.labels is not None else (2,)):
                raise InvalidInput(
                    f"{place} must be (head, modifier){_OR_LABEL[self.labels is not None]}, found {arc!r}."
                )
            head, modifier = (checks.as_count(f"a word of {place}", word, least=0) for word in arc[:2])
            if modifier == 0 or head == modifier or max(head, modifier) > self.n_words:
                raise InvalidInput(
                    f"{place} is {(head, modifier)}; heads are 0 to {self.n_words}, modifiers other words from 1."
                )
            label = slice(None) if len(arc) == 2 else checks.label_set(f"the label of {place}", [arc[2]], self.n_labels)
            out.append((head, modifier, label))
        return out

    def _arcs_of(self, parts: FloatArray) -> FloatArray:
        shape = (*self.arcs.shape, self.n_labels)
        return parts[: self.arcs.size * self.n_labels].reshape(shape)

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> FloatArray:
        arcs = self._arcs_of(parts)
        return arcs[:, :, 0] if self.n_labels == 1 else np.asarray(join.reduce(arcs, axis=2))

    def _indicators(self) -> npt.NDArray[np.int64]:
        shape = (*self.arcs.shape, self.n_labels)
        parts = np.arange(self.arcs.size * self.n_labels, dtype=np.int64).reshape(shape)
        return parts[:, :, 0] if self.labels is None else parts

    def _formulation(self) -> Formulation:
        if self.projective:
            return super()._formulation()
        from trelliswork.structures.formulations import Trees, equal, of_trees, picking

        n, n_labels, size = len(self.arcs), self.n_labels, len(self._scores)
        heads, modifiers, _ = np.unravel_index(np.arange(size), (n, n, n_labels))
        used = np.flatnonzero((modifiers != 0) & (modifiers != heads))
        by_part = picking(used, np.arange(len(used)), (size, len(used)))
        from_root = np.flatnonzero(heads[used] == 0)
        root = picking(np.zeros(len(from_root), dtype=np.int64), from_root, (1, len(used)))

        def read(z: FloatArray) -> Tree:
            return self._from_parts(np.flatnonzero(np.rint(by_part @ z)).astype(np.uint32))

        rows = (equal(root, 1.0),) if self.single_root and n > 1 else ()
        arcs = heads[used].astype(np.int64), modifiers[used].astype(np.int64), self._scores[used]
        return of_trees(Trees(n, *arcs, rows, by_part, by_part, read))

    def _sampled(self, output: Numbers) -> Tree:
        return self._answer(output, self._total(output))

    def _second_order_marginals(self, name: str) -> FloatArray:
        cube = getattr(self, name)
        if cube is None:
            raise InvalidInput(f"this tree has no scores of {name}.")
        sites = _sibling_sites(self.n_words) if name == "siblings" else _grandparent_sites(self.n_words)
        begin = self.arcs.size * self.n_labels
        if name == "grandparents" and self.siblings is not None:
            begin += len(_sibling_sites(self.n_words)[0])
        out = np.zeros(cube.shape)
        out[sites] = self._expected()[begin : begin + len(sites[0])]
        return out

    def _total(self, output: Numbers) -> float:
        try:
            parts = self._structure.parts_of(self._shape, output)
        except ValueError:  # of the right form, but not a tree of this kind
            return -np.inf
        return float(self._scores[parts].sum())

    def _answer(self, output: Numbers, score: float) -> Tree:
        numbers = output.astype(np.int32)
        if self.labels is None:
            return Tree(numbers, None, score)
        n = len(self.arcs) - 1
        return Tree(numbers[:n], numbers[n:] if self.n_labels > 1 else np.zeros(n, dtype=np.int32), score)

    def _output(self, output: Any) -> Numbers:
        given = (output.heads, output.labels) if isinstance(output, Tree) else output
        if self.labels is None:
            heads, labels = (given[0] if isinstance(output, Tree) else given), None
        elif isinstance(given, tuple) and len(given) == 2 and given[1] is not None:
            heads, labels = given
        else:
            raise InvalidInput("a labelled tree is given as (heads, labels), or as a Tree that has labels.")
        out, n = checks.as_array("heads", heads), self.n_words
        if out.shape != (n,) or (n and (out.dtype.kind not in "iu" or out.min() < 0 or out.max() > n)):
            raise InvalidInput(f"heads must be {n} integers from 0 to {n}, one for each word; found {heads!r}.")
        if labels is not None:
            own = checks.as_labels("labels", labels, self.n_words, self.n_labels)
            out = np.concatenate([out, own]) if self.n_labels > 1 else out
        return out.astype(np.uint32)

    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        same = (self.projective, self.single_root) == (of.projective, of.single_root)
        return super()._scores_of_parts(of) if same and self._structure is of._structure else None

    def _refuse_impossible(self) -> NoReturn:
        word = self._structure.dead_end(self._shape, self._scores) + 1
        why = "with the heads that the words before it may have, none of its heads makes a tree"
        if not (self._arcs_of(self._scores)[:, word] > -np.inf).any():
            why = "every arc into it is forbidden"
        elif not (self._arcs_of(self._scores)[0, 1:] > -np.inf).any():
            why = "no word may be below the root"
        raise Unsatisfiable(f"every tree is forbidden: word {word} has no head, since {why}. Look at the -inf scores.")


_OR_LABEL = {False: "", True: " or (head, modifier, label)"}


@lru_cache(maxsize=64)
def _structure(
    projective: bool, n_labels: int, single_root: bool, siblings: bool, grandparents: bool
) -> _core.PartStructure:
    """Return the one structure of its kind: which trees there are, and their parts."""
    if not projective:
        if siblings or grandparents:
            raise InvalidInput(
                "siblings and grandparents need projective=True: with crossing arcs there is no exact way."
            )
        return _core.PartStructure.arborescence(n_labels, single_root)
    return _core.PartStructure.projective_tree(n_labels, single_root, siblings, grandparents)


Sites = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


@lru_cache(maxsize=8)
def _sibling_sites(n: int) -> Sites:
    """Return the words of every sibling site: head, sibling (the head where there is none), modifier."""
    head, sibling, modifier = _core.sibling_sites(np.array([n], dtype=np.uint32)).T
    return head, np.where(sibling < 0, head, sibling), modifier


@lru_cache(maxsize=8)
def _grandparent_sites(n: int) -> Sites:
    """Return the words of every grandparent site: grandparent, head, modifier."""
    grandparent, head, modifier = _core.grandparent_sites(np.array([n], dtype=np.uint32)).T
    return grandparent, head, modifier


def _as_arcs(arcs: Any, ndim: int = 2) -> FloatArray:
    """Return scores of arcs of a sentence, or of several, with -inf for what is not an arc."""
    array = checks.as_numbers("arcs", arcs)
    if array.ndim != ndim or array.shape[-2] != array.shape[-1] or array.shape[-1] == 0:
        raise InvalidInput(
            f"arcs must have shape (n + 1, n + 1), [head, modifier] with the root as 0; found {array.shape}."
        )
    if _core.mask_arcs(array, array.shape[-1]) < array.size:
        checks.require_scores("arcs", array)
    array.flags.writeable = False
    return array


def _as_labels(labels: Any, n: int) -> FloatArray:
    """Return scores of labels, with 0 for what is not an arc."""
    array = checks.as_numbers("labels", labels)
    if array.ndim != 3 or array.shape[:2] != (n + 1, n + 1) or array.shape[2] == 0:
        raise InvalidInput(f"labels must have shape ({n + 1}, {n + 1}, L) for these arcs, found {array.shape}.")
    array[:, 0] = 0.0
    array.reshape(-1, array.shape[2])[:: n + 2] = 0.0
    checks.require_scores("labels", array)
    array.flags.writeable = False
    return array


def _as_cube(name: str, scores: Any, n: int, sites: Sites) -> FloatArray:
    """Return scores of three words, with 0 where no tree has them."""
    array = checks.as_numbers(name, scores)
    if array.shape != (n + 1,) * 3:
        raise InvalidInput(f"{name} must have shape {(n + 1,) * 3} for these arcs, found {array.shape}.")
    used = np.zeros(array.shape)
    used[sites] = array[sites]
    checks.require_scores(name, used)
    used.flags.writeable = False
    return used
