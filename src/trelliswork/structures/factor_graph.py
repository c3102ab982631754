"""Factor graphs from bare scores: exact elimination on acyclic and narrow graphs, search with a bound on others."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import as_count
from trelliswork.errors import ConvergenceWarning, InvalidInput, Unsatisfiable
from trelliswork.structures import checks, factors
from trelliswork.structures import graph_inputs as inputs
from trelliswork.structures.checks import FloatArray, LabelArray
from trelliswork.structures.parts import Numbers, PartScores
from trelliswork.structures.results import GraphBeliefs, GraphLabeling
from trelliswork.structures.solving import Deadline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.structures.formulations import Formulation

__all__ = ["FactorGraph"]

Integers = npt.NDArray[np.int64]

METHODS = ("auto", "exact", "bp", "trw", "ad3", "cut", "ilp")
_NONE = np.empty(0, dtype=np.uint32)
_SECONDS_PER_ENTRY = 5e-9  # of the best labelling: some nanoseconds each
_MOST_ENTRIES = 2.0**30  # table entries that an exact answer may go through: some seconds


class FactorGraph(PartScores[GraphLabeling]):
    """Variables, each with its own labels, and factors that score the labels of several variables together.

    The score of a labelling is the sum of the unary and factor scores that apply to it. Scores are maximised; ``-inf``
    forbids. On graphs that are acyclic or narrow, every answer is exact. On others, `argmax` searches and reports what
    it has proved; sums are refused unless you ask for approximate ones.

    Parameters
    ----------
    unary : list of (K_i,) arrays, or (n, K) array
        Scores of the labels of each variable.
    edges : (m, 2) array or list of pairs, optional
        The two variables of each pairwise table, in either order. Two variables may have several edges.
    pairwise : list of (K_i, K_j) arrays, (m, K, K) array, or one (K, K) array for all edges, optional
        ``pairwise[e][a, b]`` is the score of labels ``a`` and ``b`` at the first and the second variable of edge e.
    factors : list, optional
        Factors of `trelliswork.factors`: ``Table``, ``Xor``, ``Or``, ``AtMost``, ``Structure``.

    Attributes
    ----------
    n_variables : int
        Number of variables.
    n_labels : (n,) array of int
        Number of labels of each variable.
    edges : (m, 2) array of int
        The variables of each edge, as given.
    factors : tuple
        All factors other than edges.

    Notes
    -----
    The cost of elimination is the number of entries of its tables (see `width`): O(n K^2) on trees, O(n K^(w+1)) for
    width w. The order is greedy, smallest table first or min-fill (Koller and Friedman 2009, sec. 9.4.3), so w may
    exceed the treewidth. Logic factors are counters: an ``AtMost`` over a thousand variables is narrow. Each further
    one of the k best costs as much as reading off the best (Lawler 1972). Ties: the lowest label of the variable that
    is eliminated last, then of the one before it, and so on.

    Examples
    --------
    >>> agree = [[1.0, 0.0], [0.0, 1.0]]
    >>> graph = FactorGraph([[2.0, 0.0], [0.0, 0.5], [0.0, 0.5]], [(0, 1), (1, 2), (2, 0)], agree)
    >>> best = graph.argmax()
    >>> best.labels.tolist(), best.score, best.exact, best.gap
    ([0, 0, 0], 5.0, True, 0.0)
    >>> [p.round(2).tolist() for p in graph.marginals()]
    [[0.8, 0.2], [0.56, 0.44], [0.56, 0.44]]
    """

    _output_name = "labelling"
    _where_to_look = "factors that forbid"

    def __init__(
        self,
        unary: npt.ArrayLike | Sequence[npt.ArrayLike],
        edges: npt.ArrayLike | None = None,
        pairwise: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
        factors: Iterable[Any] | None = None,
    ) -> None:
        scores, n_labels = inputs.as_unary(unary)
        ends = inputs.as_edges(edges, len(n_labels))
        pairs = inputs.as_pairwise(pairwise, ends, n_labels)
        others = tuple(factors) if factors is not None else ()
        more = [inputs.factor_scores(i, factor, n_labels) for i, factor in enumerate(others)]
        # Tables come before structures, whatever order they were given in.
        tables = [s for s, f in zip(more, others, strict=True) if not inputs.is_structure(f)]
        structures = [s for s, f in zip(more, others, strict=True) if inputs.is_structure(f)]
        all_scores = np.concatenate([scores, pairs, *tables, *structures])
        inputs.require_room(len(all_scores))
        self._set(n_labels, ends, others, all_scores)

    def _set(
        self,
        n_labels: Integers,
        edges: Integers,
        others: tuple[Any, ...],
        scores: FloatArray,
        core: _core.FactorGraph | None = None,
    ) -> None:
        self.n_labels, self.edges, self.factors = n_labels, edges, others
        self._starts = np.concatenate([[0], np.cumsum(n_labels)])
        sizes = n_labels[edges[:, 0]] * n_labels[edges[:, 1]]
        self._pair_starts = self._starts[-1] + np.concatenate([[0], np.cumsum(sizes)])
        for array in (n_labels, edges, scores):
            array.flags.writeable = False
        self._core = core if core is not None else _built(n_labels, edges, others)
        super().__init__(self._core, [], scores)

    def _with(self, scores: FloatArray) -> Self:
        """Return the same graph with other scores: what elimination found out of it is kept."""
        other = type(self).__new__(type(self))
        other._set(self.n_labels, self.edges, self.factors, scores, self._core)
        return other

    def __repr__(self) -> str:
        others = f", {len(self.factors)} other factors" if self.factors else ""
        return f"FactorGraph({self.n_variables} variables, {len(self.edges)} edges{others})"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.n_labels, self.edges, self.factors, self._scores

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.n_labels)

    @property
    def unary(self) -> list[FloatArray]:
        """Scores of the labels of each variable, read-only."""
        return self._by_variable(self._scores)

    @property
    def pairwise(self) -> list[FloatArray]:
        """Scores of pairs of labels of each edge, read-only."""
        return self._by_edge(self._scores)

    def width(self) -> tuple[float, float]:
        """Return the number of entries of the largest table of elimination, and of all its tables.

        They measure the cost of exact answers. If these are refused, the numbers say how far elimination got.

        Examples
        --------
        >>> chain = FactorGraph(np.zeros((100, 3)), [(i, i + 1) for i in range(99)], np.zeros((3, 3)))
        >>> chain.width()
        (9.0, 894.0)
        """
        widest, _, entries = self._core.width
        return widest, entries

    def is_narrow(self) -> bool:
        """Return whether the graph is narrow enough for exact answers."""
        return not self._core.refusal

    # ---- the best ------------------------------------------------------------------------------------------------

    def argmax(
        self,
        method: str = "auto",
        time_limit: float | None = None,
        iterations: int = 1000,
        tolerance: float = 1e-6,
        damping: float = 0.5,
        prove: bool = False,
        start: GraphLabeling | None = None,
    ) -> GraphLabeling:
        """Return the best labelling found, its score, and whether it is proved to be the best.

        Parameters
        ----------
        method : {"auto", "exact", "bp", "trw", "ad3", "cut", "ilp"}
            "auto" uses elimination if the graph is narrow, and a search otherwise. "exact" uses elimination or refuses.
            The others search, in this order: by loopy max-product messages, tree-reweighted messages with a bound, dual
            decomposition (which handles logic and whole structures directly), minimum cuts, branch and bound.
        time_limit : float, optional
            Limit of a search in seconds. "auto" also searches if elimination would take longer than this.
        iterations : int
            Maximum number of iterations of a search.
        tolerance : float
            Threshold of convergence, for changes of messages and for the gap as a fraction of the score.
        damping : float
            Weight of the old message in belief propagation, at least 0 and below 1.
        prove : bool
            Whether to branch on what a search leaves undecided until the answer is proved or time is up.
        start : GraphLabeling, optional
            An earlier answer for a graph with the same variables and factors, with any scores. The search begins where
            the earlier one ended.

        Raises
        ------
        Unsatisfiable
            If every labelling is forbidden.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> n, wheel = 60, [(i, j) for i in range(60) for j in range(i)]
        >>> graph = FactorGraph(rng.normal(size=(n, 3)), wheel, rng.normal(size=(len(wheel), 3, 3)))
        >>> graph.is_narrow()
        False
        >>> found = graph.argmax(iterations=20)
        >>> abs(graph.score(found.labels) - found.score) < 1e-9, found.gap > 0
        (True, True)
        """
        if method not in METHODS:
            raise InvalidInput(f"method must be one of {', '.join(METHODS)}; found {method!r}.")
        settings = _search_settings(time_limit, iterations, tolerance, damping)
        prove = checks.as_flag("prove", prove)
        if method == "exact" or (method == "auto" and self.is_narrow() and self._is_quick(time_limit)):
            self._require_narrow("the best labelling")
            return super().argmax()
        self._require_factors_of(method)
        state = _state_of(start)
        found: Any = self._core.search(self._scores, method, *settings, False, prove, state)
        labels, score, bound, _, converged, n_iterations = found
        if len(labels) < self.n_variables:
            if bound == -np.inf:
                self._refuse_impossible()
            raise Unsatisfiable(
                f"the search found no labelling that is allowed, in {n_iterations} iterations; whether there is one is "
                "not known. Try another method, or more iterations."
            )
        gap = max(bound - score, 0.0)
        status = "proved" if gap == 0.0 else "converged" if converged else "stopped"
        return GraphLabeling(labels.astype(np.int32), score, gap == 0.0, gap, status, n_iterations, state)

    def kbest(self, k: int, method: str = "astar") -> list[GraphLabeling]:
        """Return the ``k`` best labellings, distinct and best first; fewer than ``k`` if fewer exist.

        Parameters
        ----------
        k : int
            Number of labellings.
        method : {"astar", "viterbi"}
            As for `Chain.kbest`; both use the same search here.

        Examples
        --------
        >>> [best.labels.tolist() for best in FactorGraph([[0.0, 1.0], [0.0, 3.0]]).kbest(3)]
        [[1, 1], [0, 1], [1, 0]]
        """
        self._require_narrow("the k best labellings")
        return super().kbest(k, method)

    def max_marginals(self) -> list[FloatArray]:
        """Return the best score of a labelling with each label of each variable; -inf where none has it.

        Examples
        --------
        >>> [m.tolist() for m in FactorGraph([[0.0, 1.0], [0.0, 3.0]]).max_marginals()]
        [[3.0, 4.0], [1.0, 4.0]]
        """
        self._require_narrow("max-marginals")
        return self._by_variable(self._structure.max_marginals(self._shape, self._scores))

    # ---- sums ----------------------------------------------------------------------------------------------------

    def log_partition(self, method: str = "exact", **settings: Any) -> float:
        """Return the log of the sum of exp(score) over all labellings; -inf when all are forbidden.

        Parameters
        ----------
        method : {"exact", "bp", "trw"}
            "bp" is an estimate by damped belief propagation (Bethe), "trw" an upper bound by reweighted messages; both
            are exact on graphs without cycles. You get a warning if messages do not converge.
        **settings
            As for `beliefs`.
        """
        if method != "exact":
            return self._settled(method, settings).log_partition
        _require_no(settings)
        self._require_narrow("the log partition")
        return super().log_partition()

    def marginals(self, method: str = "exact", **settings: Any) -> list[FloatArray]:
        """Return the probability of every label of every variable, a list of (K_i,) arrays.

        Parameters
        ----------
        method : {"exact", "bp", "trw"}
            As for `log_partition`; "bp" and "trw" give estimates if the graph has cycles.
        **settings
            As for `beliefs`.
        """
        if method != "exact":
            return self._settled(method, settings).marginals
        _require_no(settings)
        return self._by_variable(self._expected())

    def edge_marginals(self, method: str = "exact", **settings: Any) -> list[FloatArray]:
        """Return the probability of every pair of labels of every edge, a list of (K_i, K_j) arrays.

        Parameters
        ----------
        method : {"exact", "bp", "trw"}
            As for `marginals`.
        **settings
            As for `beliefs`.

        Examples
        --------
        >>> graph = FactorGraph(np.zeros((2, 2)), [(0, 1)], [[0.0, 0.0], [0.0, -np.inf]])
        >>> graph.edge_marginals()[0].round(3).tolist()
        [[0.333, 0.333], [0.333, 0.0]]
        """
        if method != "exact":
            return self._settled(method, settings).edge_marginals
        _require_no(settings)
        return self._by_edge(self._expected())

    def beliefs(
        self,
        method: str = "bp",
        time_limit: float | None = None,
        iterations: int = 1000,
        tolerance: float = 1e-6,
        damping: float = 0.5,
        start: GraphBeliefs | None = None,
    ) -> GraphBeliefs:
        """Return sums by message passing: estimates if the graph has cycles, and whether they converged.

        Parameters
        ----------
        method : {"bp", "trw"}
            Damped belief propagation, or tree-reweighted messages, whose log partition is an upper bound.
        time_limit : float, optional
            Limit in seconds.
        iterations : int
            Maximum number of iterations.
        tolerance : float
            Messages that change by less than this have converged.
        damping : float
            Weight of the old message, at least 0 and below 1.
        start : GraphBeliefs, optional
            An earlier result for a graph with the same variables and factors, to begin where it ended.
        """
        if method not in ("bp", "trw"):
            raise InvalidInput(f'method must be "bp" or "trw" where sums are approximate, found {method!r}.')
        settings = _search_settings(time_limit, iterations, tolerance, damping)
        state = _state_of(start)
        found: Any = self._core.beliefs(self._scores, method, *settings, state)
        log_z, parts, converged, is_bound, n = found
        if log_z == -np.inf:
            self._refuse_impossible()
        return GraphBeliefs(self._by_variable(parts), self._by_edge(parts), log_z, converged, is_bound, n, state)

    def entropy(self) -> float:
        """Return the entropy of the distribution, in nats."""
        self._require_narrow("the entropy")
        return super().entropy()

    def sample(self, n: int = 1, random_state: Any = None, replace: bool = True) -> LabelArray:
        """Draw ``n`` labellings from the distribution, an array with a row for each; see `Chain.sample`.

        Parameters
        ----------
        n : int
            Number of labellings.
        random_state : None, int or numpy.random.Generator
            Source of randomness; an integer gives the same labellings every time.
        replace : bool
            Whether a labelling may be drawn again.

        Examples
        --------
        >>> FactorGraph([[0.0, 9.0], [9.0, 0.0]]).sample(2, random_state=0).tolist()
        [[1, 0], [1, 0]]
        """
        self._require_narrow("samples")
        drawn = self._drawn(n, random_state, replace)
        return np.array(drawn, dtype=np.int32).reshape(len(drawn), self.n_variables)

    # ---- other graphs --------------------------------------------------------------------------------------------

    def with_scores(
        self,
        unary: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
        pairwise: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    ) -> Self:
        """Return the same graph with other scores; the order of elimination is kept.

        Parameters
        ----------
        unary, pairwise
            As for the graph; None keeps the present scores.

        Examples
        --------
        >>> graph = FactorGraph([[0.0, 1.0], [0.0, 1.0]], [(0, 1)], [[[0.0, 0.0], [0.0, -5.0]]])
        >>> graph.with_scores(unary=[[0.0, 2.0], [0.0, 9.0]]).argmax().labels.tolist()
        [0, 1]
        """
        scores = np.array(self._scores)
        if unary is not None:
            numbers, n_labels = inputs.as_unary(unary)
            if not np.array_equal(n_labels, self.n_labels):
                raise InvalidInput("unary must have as many variables and labels as the graph.")
            scores[: self._starts[-1]] = numbers
        if pairwise is not None:
            pairs = inputs.as_pairwise(pairwise, self.edges, self.n_labels)
            scores[self._starts[-1] : self._pair_starts[-1]] = pairs
        return self._with(scores)

    def augmented(self, gold: npt.ArrayLike, cost: str | npt.ArrayLike = "hamming", scale: float = 1.0) -> Self:
        """Return the graph with ``scale`` times the cost of each label against ``gold`` added.

        Parameters
        ----------
        gold : (n,) array-like of int
            The correct labels.
        cost : "hamming" or (K, K) array-like
            ``cost[gold, label]``, where all variables have K labels.
        scale : float
            Any real factor.

        Examples
        --------
        >>> FactorGraph([[0.5, 0.0]]).augmented([0]).argmax().labels.tolist()
        [1]
        """
        right = self._as_labels("gold", gold)
        charged = np.ones(int(self._starts[-1]))
        if isinstance(cost, str):
            checks.as_cost(cost, int(self.n_labels.max(initial=0)))
            charged[self._starts[:-1] + right] = 0.0
        else:
            if len(np.unique(self.n_labels)) > 1:
                raise InvalidInput('cost must be "hamming" where variables have different numbers of labels.')
            matrix = checks.as_cost(cost, int(self.n_labels[0]) if self.n_variables else 0)
            charged = matrix[right].ravel()
        scores = np.array(self._scores)
        scores[: self._starts[-1]] += checks.as_scale(scale) * charged
        checks.require_scores("unary with the cost", scores[: self._starts[-1]])
        return self._with(scores)

    def constrained(self, allowed: Any = None, fixed: Any = None) -> Self:
        """Return the graph with some labels forbidden.

        Parameters
        ----------
        allowed : list of candidate sets or (K_i,) masks, or (n, K) array of bool, optional
            Which labels each variable may take; ``None`` in a list leaves the variable free.
        fixed : dict of variable to label, or (n,) array of int with -1 for free, optional
            Known labels.

        Raises
        ------
        Unsatisfiable
            If no labelling is left; detected only on graphs that are narrow enough.

        Examples
        --------
        >>> agree = np.eye(2)
        >>> graph = FactorGraph([[0.0, 1.0], [0.0, 0.0]], [(0, 1)], agree)
        >>> graph.constrained(fixed={0: 0}).argmax().labels.tolist()
        [0, 0]
        """
        scores = np.array(self._scores)
        if allowed is not None:
            scores[: self._starts[-1]][~self._as_allowed(allowed)] = -np.inf
        if fixed is not None:
            known = self._as_fixed(fixed)
            free = np.repeat(known < 0, self.n_labels)
            chosen = np.zeros_like(free)
            chosen[(self._starts[:-1] + known)[known >= 0]] = True
            scores[: self._starts[-1]][~(free | chosen)] = -np.inf
        limited = self._with(scores)
        if limited.is_narrow() and limited._structure.best_output(limited._shape, scores) is None:
            limited._refuse_impossible()
        return limited

    def plot(self, **options: Any) -> Axes:
        """Draw the graph with the best labels found, paler where they are uncertain.

        Parameters
        ----------
        **options
            As for `trelliswork.plots.factor_graph`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from trelliswork.plots.graphs import factor_graph

        others = []
        for factor in self.factors:
            scope = inputs.scope_of(factor)
            others.append((type(factor).__name__, np.unique(scope[scope >= 0]).tolist()))
        if "labels" not in options:
            options["labels"] = self.argmax().labels
        if "confidence" not in options and self.is_narrow():
            chosen = zip(self.marginals(), options["labels"], strict=True)
            options["confidence"] = [probabilities[label] for probabilities, label in chosen]
        return factor_graph(self.n_variables, self.edges, others=others, **options)

    # ---- what a caller hands over --------------------------------------------------------------------------------

    def _as_labels(self, name: str, labels: Any) -> Integers:
        array = checks.as_array(name, labels)
        if array.shape != (self.n_variables,):
            raise InvalidInput(f"{name} must have one label per variable, ({self.n_variables},); found {array.shape}.")
        if array.size and array.dtype.kind not in "iu":
            raise InvalidInput(f"{name} must hold whole numbers, found type {array.dtype}.")
        wrong = (array < 0) | (array >= self.n_labels)
        if wrong.any():
            v = int(np.argmax(wrong))
            raise InvalidInput(f"{name}[{v}] is {array[v]}; variable {v} has labels 0 to {self.n_labels[v] - 1}.")
        return array.astype(np.int64)

    def _as_allowed(self, allowed: Any) -> npt.NDArray[np.bool_]:
        if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
            if len(np.unique(self.n_labels)) > 1:
                raise InvalidInput("allowed must be a list where variables have different numbers of labels.")
            shape = (self.n_variables, int(self.n_labels[0]) if self.n_variables else allowed.shape[-1])
            return checks.as_mask("allowed", allowed, shape).ravel()
        if not checks.is_list(allowed) or len(allowed) != self.n_variables:
            raise InvalidInput(f"allowed must have one entry per variable ({self.n_variables}), or be a boolean array.")
        mask = np.zeros(int(self._starts[-1]), dtype=np.bool_)
        for v, candidates in enumerate(allowed):
            begin, end = self._starts[v : v + 2]
            rows = checks.as_allowed(f"allowed[{v}]", [candidates], 1, int(end - begin))
            mask[begin:end] = rows[0]
        return mask

    def _as_fixed(self, fixed: Any) -> Integers:
        if not isinstance(fixed, Mapping):
            known = checks.as_array("fixed", fixed)
            if known.shape == (self.n_variables,) and (known.size == 0 or known.dtype.kind in "iu"):
                self._as_labels("fixed", np.where(known == -1, 0, known))
                return known.astype(np.int64)
            raise InvalidInput(
                f"fixed must map variables to labels, or hold one label per variable ({self.n_variables}), -1 for free."
            )
        known = np.full(self.n_variables, -1, dtype=np.int64)
        for variable, label in fixed.items():
            v = as_count("a variable of fixed", variable, least=0)
            if v >= self.n_variables:
                raise InvalidInput(f"fixed names variable {v}, but there are only {self.n_variables} variables.")
            (known[v],) = checks.label_set(f"fixed[{v}]", [label], int(self.n_labels[v]))
        return known

    # ---- what scores of parts ask of every structure -------------------------------------------------------------

    def _expected(self) -> FloatArray:
        self._require_narrow("marginals")
        return super()._expected()

    def _log_count(self) -> float:
        self._require_narrow("the number of labellings")
        return super()._log_count()

    def _scores_of_parts(self, of: Self) -> FloatArray | None:
        same = self._core is of._core or (
            np.array_equal(self.n_labels, of.n_labels)
            and np.array_equal(self.edges, of.edges)
            and [repr(factor) for factor in self.factors] == [repr(factor) for factor in of.factors]
        )
        return self._scores if same else None

    def _by_variable(self, parts: FloatArray) -> list[FloatArray]:
        return _pieces(parts, self._starts, self.n_labels[:, None])

    def _by_edge(self, parts: FloatArray) -> list[FloatArray]:
        return _pieces(parts, self._pair_starts, self.n_labels[self.edges])

    def _indicators(self) -> Integers:
        """(n, K): labels that a variable does not have are none."""
        numbers = self._starts[:-1, None] + np.arange(int(self.n_labels.max(initial=0)))
        return np.where(numbers < self._starts[1:, None], numbers, -1).astype(np.int64)

    def _as_parts(self) -> tuple[_core.PartStructure, Numbers, FloatArray] | None:
        return super()._as_parts() if self.is_narrow() else None

    def _formulation(self) -> Formulation:
        from trelliswork.structures.formulations import Tables, of_tables

        tables = [(ends, table) for ends, table in zip(self.edges.tolist(), self.pairwise, strict=True)]
        logic, structures, at = [], [], int(self._pair_starts[-1])
        for factor in self.factors:
            if isinstance(factor, factors.Table):
                size = factor.scores.size
                tables.append((factor.variables.tolist(), self._scores[at : at + size].reshape(factor.scores.shape)))
                at += size
            elif isinstance(factor, factors.Structure):
                parts = factor.scores._indicators().ravel()
                there = np.flatnonzero(parts >= 0)
                there = there[factor.literals[parts[there], 0] >= 0]
                shared = np.column_stack([there, factor.literals[parts[there]]]).astype(np.int64)
                structures.append((factor.scores._formulation(), shared))
            else:
                least = 0.0 if isinstance(factor, factors.AtMost) else 1.0
                most = np.inf if isinstance(factor, factors.Or) else 1.0
                most = float(factor.most) if isinstance(factor, factors.AtMost) else most
                logic.append((factor.literals, least, most))
        unary = self._scores[: self._starts[-1]]
        graph = Tables(self.n_labels, unary, tables, logic, structures)
        return of_tables(graph, self._indicators(), self._labelled)

    def _labelled(self, labels: Integers) -> GraphLabeling:
        return GraphLabeling(labels.astype(np.int32), self.score(labels), True, 0.0)

    def _shaped(self, parts: FloatArray, join: np.ufunc, nothing: float) -> Any:
        return self._by_variable(parts)

    def _answer(self, output: Numbers, score: float) -> GraphLabeling:
        return GraphLabeling(output.astype(np.int32), score, True, 0.0)

    def _sampled(self, output: Numbers) -> LabelArray:
        return output.astype(np.int32)

    def _output(self, output: npt.ArrayLike) -> Numbers:
        return self._as_labels("labels", output).astype(np.uint32)

    def _is_quick(self, time_limit: float | None) -> bool:
        """Whether elimination takes less than the limit, by far: by what its entries cost on a slow machine."""
        return time_limit is None or self.width()[1] * _SECONDS_PER_ENTRY < time_limit

    def _settled(self, method: str, settings: dict[str, Any]) -> GraphBeliefs:
        found = self.beliefs(method, **settings)
        if not found.converged:
            warnings.warn(
                f"messages did not come to rest in {found.iterations} iterations: what they say is an estimate of "
                "unknown quality. Ask for more iterations or more damping.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _require_narrow(self, question: str) -> None:
        if self._core.refusal:
            raise InvalidInput(
                f"{question} cannot be given exactly: {self._core.refusal}. Where estimates will do, ask "
                'argmax(method="trw" or "ad3") or beliefs(method="bp" or "trw").'
            )

    def _require_factors_of(self, method: str) -> None:
        """Refuse factors that a search has no messages or cuts for."""
        for i, factor in enumerate(self.factors):
            if method == "cut" and not (isinstance(factor, factors.Table) and len(factor.variables) <= 2):
                raise InvalidInput(
                    f'method="cut" needs tables of one or two variables, but factors[{i}] is {factor!r:.80}. '
                    'Use "ad3" or "ilp".'
                )
            if method == "bp" and inputs.is_structure(factor):
                raise InvalidInput(
                    f'method="bp" has no messages of the best for a whole structure, which factors[{i}] is. '
                    'Use "ad3" or "ilp".'
                )

    def _refuse_impossible(self) -> NoReturn:
        if not self.is_narrow():
            raise Unsatisfiable("every labelling is forbidden. Look at the -inf scores and the factors that forbid.")
        variable = self._core.dead_end(self._shape, self._scores)
        raise Unsatisfiable(
            f"every labelling is forbidden: no label of variable {variable} agrees with others. "
            "Look at the -inf scores there, and at the factors that forbid."
        )


def _built(n_labels: Integers, edges: Integers, others: tuple[Any, ...]) -> _core.FactorGraph:
    if not others:
        return _core.FactorGraph(
            n_labels.astype(np.uint32),
            edges.ravel().astype(np.uint32),
            _NONE,
            _NONE,
            _NONE,
            _NONE,
            _NONE,
            [],
            _MOST_ENTRIES,
        )
    tables = [f.variables for f in others if isinstance(f, factors.Table)]
    logic = [f for f in others if isinstance(f, factors._Logic)]
    structures = [
        (f._structure, f._shape, np.where(f.literals < 0, factors.NOTHING, f.literals).ravel().astype(np.uint32))
        for f in others
        if inputs.is_structure(f)
    ]
    return _core.FactorGraph(
        n_labels.astype(np.uint32),
        edges.ravel().astype(np.uint32),
        *_lists(tables),
        np.array([(f._code, min(f.most, 2**32 - 1)) for f in logic], dtype=np.uint32).ravel(),
        np.concatenate([np.empty((0, 2), dtype=np.int64), *(f.literals for f in logic)]).ravel().astype(np.uint32),
        np.cumsum([len(f.literals) for f in logic]).astype(np.uint32),
        structures,
        _MOST_ENTRIES,
    )


def _lists(lists: list[Integers]) -> tuple[Numbers, Numbers]:
    """Return lists one after the other, and where each ends."""
    joined = np.concatenate([np.empty(0, dtype=np.int64), *lists])
    return joined.astype(np.uint32), np.cumsum([len(one) for one in lists]).astype(np.uint32)


def _search_settings(
    time_limit: float | None, iterations: int, tolerance: float, damping: float
) -> tuple[int, float, float, float]:
    seconds = 0.0
    if time_limit is not None:
        limit = Deadline(time_limit).seconds
        seconds = limit if limit is not None and limit < np.inf else 0.0
    for name, value, most in (("tolerance", tolerance, np.inf), ("damping", damping, 1.0)):
        if not isinstance(value, (int, float, np.number)) or not 0.0 <= value < most:
            raise InvalidInput(
                f"{name} must be a number from 0{' to below 1' if most == 1.0 else ''}, found {value!r}."
            )
    return min(as_count("iterations", iterations), 2**62), float(tolerance), float(damping), seconds


def _require_no(settings: Mapping[str, Any]) -> None:
    if settings:
        raise InvalidInput(f'{", ".join(settings)}: exact sums have no settings. Those of method="bp" or "trw" do.')


def _state_of(start: GraphLabeling | GraphBeliefs | None) -> _core.SearchState:
    """Return a copy of where a search ended, or the beginning of one."""
    if start is None or (isinstance(start, (GraphLabeling, GraphBeliefs)) and start.state is None):
        return _core.SearchState()
    if not isinstance(start, (GraphLabeling, GraphBeliefs)):
        raise InvalidInput(f"start must be an earlier answer, found a {type(start).__name__}.")
    state: _core.SearchState = copy.copy(start.state)
    return state


def _pieces(flat: FloatArray, starts: Integers, shapes: Integers) -> list[FloatArray]:
    """Cut what stands one after the other into arrays of these shapes."""
    begin, end = int(starts[0]), int(starts[-1])
    if len(shapes) and (shapes == shapes[0]).all():
        return list(flat[begin:end].reshape(len(shapes), *shapes[0]))
    bounds = starts.tolist()
    return [
        flat[a:b].reshape(shape) for a, b, shape in zip(bounds, bounds[1:], map(tuple, shapes.tolist()), strict=False)
    ]
