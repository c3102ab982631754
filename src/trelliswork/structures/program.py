"""Integer linear programs: the best structure when no dynamic program can find it.

Source: Daumé 2017, section 17.6. A structure is a vector z of indicators with the score a . z, and constraints on it
are linear (eq. 17.32). Every structure of the library can be written so (`Chain.program` and others, see
`formulations.py`). SciPy's HiGHS searches for the solution. If constraints are few and refer to the parts of a
structure, Lagrange multipliers with the structure's own best outputs are faster (`core/structures/constrained.hpp`).
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, TrellisworkError, Unsatisfiable
from trelliswork.structures.checks import as_count, as_numbers, label_set
from trelliswork.structures.formulations import Formulation, Rows
from trelliswork.structures.results import Relaxation, Solution, proved
from trelliswork.structures.solving import INFEASIBLE, LIMIT, OPTIMAL, Deadline, Solved, solve

if TYPE_CHECKING:
    from trelliswork.structures.chain import Chain

__all__ = ["Program"]

_FEW_NODES = 300  # of branch and bound, before HiGHS is asked
_MOST_TO_EXPLAIN = 30.0  # seconds to look for constraints that clash, where no limit was given


class Program:
    """The variables z that maximise ``objective @ z`` under linear constraints (Daumé 2017, eq. 17.32).

    Variables are binary by default. A program is immutable: `subject_to` and its shorthands return a new one. Among
    solutions of equal score, the solver chooses one, the same every time.

    Every structure has a `program` too: ``chain.program()``, ``tree.program()``. Its coefficients have the shape of the
    structure's marginals, and its answers are the structure's answers.

    Parameters
    ----------
    objective : array_like
        The score of each variable, in any shape; the variables and the coefficients of `subject_to` have the same
        shape. ``-inf`` fixes a variable at zero.
    constraints : sequence of scipy.optimize.LinearConstraint or (A, lower, upper)
        ``lower <= A @ z <= upper`` over the variables in C order; A is a dense or a sparse matrix.
    lower, upper : array_like, optional
        Bounds of the variables, in the shape of the objective or one for all.
    integer : array_like of bool, optional
        Which variables must be integers; all by default.
    names : sequence of hashable, optional
        A name for each variable of a one-dimensional objective, for use in `subject_to`.
    readout : callable, optional
        Turns the array of values into what `argmax` returns; `Solution` by default.

    Examples
    --------
    Two of three jobs, but never both "a" and "b":

    >>> import trelliswork as tw
    >>> jobs = tw.Program([3.0, 2.0, 1.0], names=["a", "b", "c"])
    >>> jobs = jobs.subject_to({"a": 1, "b": 1, "c": 1}, upper=2).subject_to({"a": 1, "b": 1}, upper=1)
    >>> jobs.argmax().values.tolist(), jobs.argmax().score
    ([1.0, 0.0, 1.0], 4.0)

    A dependency tree in which word 1 has at least two modifiers, and no word more than two:

    >>> tree = tw.DependencyTree([[0, 2, 5, 0], [0, 0, 1, 1], [0, 4, 0, 3], [0, 0, 0, 0]])
    >>> program = tree.program().at_least(n=2, where=1)
    >>> for head in (1, 2, 3):
    ...     program = program.at_most(n=2, where=head)
    >>> best = program.argmax()
    >>> best.heads.tolist(), best.score, best.exact
    ([0, 1, 1], 4.0, True)
    """

    def __init__(
        self,
        objective: npt.ArrayLike,
        constraints: Iterable[Any] = (),
        *,
        lower: npt.ArrayLike = 0.0,
        upper: npt.ArrayLike = 1.0,
        integer: npt.ArrayLike = True,
        names: Sequence[Hashable] | None = None,
        readout: Callable[[npt.NDArray[np.float64]], Any] | None = None,
    ) -> None:
        objective = _numbers("objective", objective)
        forbidden = objective == -np.inf
        whole = _broadcast("integer", np.asarray(integer, dtype=bool), objective.shape)
        lowest, highest = _checked_bounds(lower, upper, forbidden, whole)
        scores = _read_only(np.where(forbidden, 0.0, objective))  # a bound forbids; a coefficient cannot
        self._places = _places(names, objective.shape)
        constraints = [constraints] if _is_linear_constraint(constraints) else constraints
        rows = tuple(_checked_rows(c, scores.size) for c in constraints)
        form = Formulation(scores.ravel(), lowest.ravel(), highest.ravel(), whole.ravel(), rows, read=readout)
        self._source = _Source(None, objective.shape, form)
        self._added: tuple[_Added, ...] = ()

    @classmethod
    def from_chain(cls, chain: Chain) -> Program:
        """Return ``chain.program()``, whose best solution is the chain's best labelling (Daumé 2017, eq. 17.33, 17.34).

        There is a variable z[t, j, k] for each pair of neighbouring labels: position t has label k, and the position
        before it has label j. At the first position the only j is a start symbol. The coefficients of `subject_to` do
        not refer to these variables: they have the shape (T, K) of the indicators "position t has label k".

        For the cost-augmented program, use ``chain.augmented(gold).program()`` (17.5).

        Parameters
        ----------
        chain : Chain
            Unary, transition, start and end scores all count; whatever they forbid stays forbidden.

        Returns
        -------
        Program
            Its `argmax` returns a `Labeling` with its score as ``chain.score`` computes it.

        Notes
        -----
        To constrain transitions, use a ``LinearConstraint``. Its variables in C order are the K of the first position
        and then (T - 1, K, K). Scores are precise to about 12 digits of the largest one.

        Examples
        --------
        Label 1 is best everywhere, but may be used only once:

        >>> import trelliswork as tw
        >>> chain = tw.Chain(unary=[[0, 1], [0, 3], [0, 2]], transitions=[[0, 0], [0, 0]])
        >>> program = tw.Program.from_chain(chain)
        >>> program.argmax().labels.tolist()
        [1, 1, 1]
        >>> program.at_most(label=1, n=1).argmax().labels.tolist()
        [0, 1, 0]
        """
        return chain.program()

    @classmethod
    def _of(cls, structure: Any) -> Program:
        program = cls.__new__(cls)
        program._places, program._added = None, ()
        program._source = _Source(structure, structure._indicators().shape, None)
        return program

    @property
    def objective(self) -> npt.NDArray[np.float64]:
        """The score of each variable, zero for forbidden ones; read-only."""
        scores = self._source.form.objective
        return _read_only(scores if self._source.structure is not None else scores.reshape(self.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the coefficients that `subject_to` takes."""
        return self._source.shape

    @property
    def n_variables(self) -> int:
        """Number of variables, including forbidden ones."""
        return self._source.form.objective.size

    @property
    def n_constraints(self) -> int:
        """Number of linear constraints, without bounds and unused cuts."""
        return sum(len(rows.lower) for rows in (*self._source.form.rows, *(added.rows for added in self._added)))

    def __repr__(self) -> str:
        try:
            return f"Program({self.n_variables} variables, {self.n_constraints} constraints)"
        except InvalidInput:  # too many
            return f"Program({self._source.structure!r}, {len(self._added)} constraints added)"

    # ---- constraints ---------------------------------------------------------------------------------------------

    def subject_to(self, coefficients: Any, lower: npt.ArrayLike = -np.inf, upper: npt.ArrayLike = np.inf) -> Program:
        """Return the program with ``lower <= sum of coefficients * indicators <= upper`` added.

        Parameters
        ----------
        coefficients : array_like, sparse matrix, mapping or scipy.optimize.LinearConstraint
            An array of the program's `shape`, (T, K) for a chain, or several stacked along a new first axis; a sparse
            matrix with a row for each constraint; or a mapping from names or indices, such as ``(t, k)``, to
            coefficients. A ``LinearConstraint`` refers to the variables themselves and has its own bounds.
        lower, upper : float or array_like of shape (n,)
            Bounds of the sum, one for each constraint if there are several; at least one must be finite.

        Returns
        -------
        Program

        Examples
        --------
        Positions 0 and 2 may not both have label 1:

        >>> import trelliswork as tw
        >>> chain = tw.Chain(unary=[[0, 1], [0, 3], [0, 2]], transitions=[[0, 0], [0, 0]])
        >>> program = chain.program().subject_to({(0, 1): 1, (2, 1): 1}, upper=1)
        >>> program.argmax().labels.tolist()
        [0, 1, 1]

        A budget: the costs of the labels at all positions add up to at most 3.

        >>> chain.program().subject_to([[0, 1], [0, 2], [0, 2]], upper=3).argmax().labels.tolist()
        [1, 1, 0]
        """
        if _is_linear_constraint(coefficients):
            return self._with(_Added(_checked_rows(coefficients, self.n_variables), of_variables=True))
        matrix = self._coefficient_rows(coefficients)
        return self._with(_Added(_checked_rows((matrix, lower, upper), math.prod(self.shape))))

    def at_most(self, label: Any = None, n: int = 1, where: Any = None) -> Program:
        """Return the program in which a label occurs at most ``n`` times.

        The label is the last axis of `shape`. What counts is the positions of a chain, the segments, the arcs of a
        labelled tree, or the constituents that have the label.

        Parameters
        ----------
        label : int, collection of int, "each" or None
            The label. Several are counted together, ``"each"`` makes one constraint for every label, and None counts
            all.
        n : int
            The limit.
        where : index or array of bool, optional
            Which indicators to count, as an index into an array of `shape`. In a tree, ``where=3`` counts the arcs from
            word 3, and ``where=np.s_[:, 3]`` those into it. In a chain, ``where=np.s_[2:5]`` counts positions 2 to 4.

        Examples
        --------
        Each label at most once:

        >>> import trelliswork as tw
        >>> chain = tw.Chain(unary=[[0, 1, 5], [0, 3, 9], [0, 2, 0]], transitions=np.zeros((3, 3)))
        >>> chain.program().at_most("each", 1).argmax().labels.tolist()
        [0, 2, 1]
        """
        return self._count("at_most", label, n, where, upper=True)

    def at_least(self, label: Any = None, n: int = 1, where: Any = None) -> Program:
        """Return the program in which a label occurs at least ``n`` times; parameters as for `at_most`.

        Examples
        --------
        Every verb has a subject: label 1 is "subject", and words 1 and 3 are verbs.

        >>> import trelliswork as tw
        >>> labels = np.zeros((4, 4, 2))
        >>> labels[..., 1] = -1.0
        >>> tree = tw.DependencyTree(np.zeros((4, 4)), labels)
        >>> program = tree.program()
        >>> for verb in (1, 3):
        ...     program = program.at_least(label=1, n=1, where=verb)
        >>> best = program.argmax()
        >>> sorted(best.heads[best.labels == 1].tolist()), best.score
        ([1, 3], -2.0)
        """
        return self._count("at_least", label, n, where, lower=True)

    def exactly(self, label: Any = None, n: int = 1, where: Any = None) -> Program:
        """Return the program in which a label occurs exactly ``n`` times; parameters as for `at_most`."""
        return self._count("exactly", label, n, where, lower=True, upper=True)

    # ---- answers -------------------------------------------------------------------------------------------------

    def argmax(self, time_limit: float | None = None, method: str = "auto") -> Any:
        """Return the best solution: an answer of the structure, a `Solution`, or what ``readout`` returns.

        Its ``exact`` says whether it is proved to be the best. No solution is better by more than its ``gap``.

        Parameters
        ----------
        time_limit : float, optional
            Stop after this many seconds, and return the best solution so far with its gap.
        method : {"auto", "lagrangian", "highs"}
            ``"lagrangian"`` adjusts multipliers of the constraints, given the best outputs of the structure, then
            branches; it needs a structure and constraints on its indicators. ``"highs"`` solves the integer program.
            ``"auto"`` starts with the first where possible, and switches to the second if that does not end soon.

        Raises
        ------
        Unsatisfiable
            If no solution meets all constraints; the message names a minimal set of constraints that clash.
        TrellisworkError
            If no solution was found in time, or the program is unbounded.
        """
        return self._best(1, Deadline(time_limit), method)[0]

    def kbest(self, k: int, time_limit: float | None = None, method: str = "auto") -> list[Any]:
        """Return the ``k`` best solutions, distinct and best first; fewer than ``k`` if fewer exist.

        HiGHS needs ``k`` searches, each of which excludes the solutions found before. Solutions differ in their binary
        variables; answers of a structure differ as outputs. Parameters as for `argmax`. If time runs out, the solutions
        found so far are returned, and the last one says that it may not be the next best.

        Examples
        --------
        >>> import trelliswork as tw
        >>> [best.score for best in tw.Program([3.0, 2.0, 1.0]).subject_to([1, 1, 1], upper=2).kbest(4)]
        [5.0, 4.0, 3.0, 3.0]
        """
        return self._best(as_count("k", k), Deadline(time_limit), method)

    def relaxed(self, time_limit: float | None = None) -> Relaxation:
        """Return the best solution of the linear relaxation; its score is an upper bound on that of every solution.

        Examples
        --------
        >>> import trelliswork as tw
        >>> found = tw.Program([1.0, 1.0, 1.0]).subject_to([1, 1, 1], upper=1.5).relaxed()
        >>> found.bound, tw.Program([1.0, 1.0, 1.0]).subject_to([1, 1, 1], upper=1.5).argmax().score
        (1.5, 1.0)
        """
        deadline, source = Deadline(time_limit), self._source
        found = self._solved(self._over_variables(), deadline, relaxed=True)
        if found.values is None:
            raise self._no_solution(found, deadline)
        values = found.values if source.form.indicators is None else source.form.indicators @ found.values
        return Relaxation(values.reshape(self.shape), found.bound)

    def _best(self, k: int, deadline: Deadline, method: str) -> list[Any]:
        if not isinstance(method, str) or method not in ("auto", "lagrangian", "highs"):
            raise InvalidInput(f'method must be "auto", "lagrangian" or "highs", found {method!r}.')
        if method != "highs":
            possible = self._source.structure is not None and not any(added.of_variables for added in self._added)
            if possible and (found := self._by_multipliers(k, deadline, method == "lagrangian")) is not None:
                return found
            if method == "lagrangian" and not possible:
                raise InvalidInput(
                    'method="lagrangian" needs the program of a structure, and constraints on its indicators. Use '
                    '"auto" or "highs".'
                )
        return self._by_highs(k, deadline)

    def _by_multipliers(self, k: int, deadline: Deadline, alone: bool) -> list[Any] | None:
        """Return the best answers, or None where HiGHS should be asked."""
        source = self._source
        if source.view is None:
            if alone:
                raise InvalidInput(f'method="lagrangian" is not there for {source.structure!r}. Use "auto" or "highs".')
            return None
        seconds = deadline.left() if alone else 0.5 * deadline.left()
        answers, is_proved, late, bound = source.best_within(
            [added.rows for added in self._added], k, seconds, 20_000 if alone else _FEW_NODES
        )
        if is_proved and not answers:
            raise Unsatisfiable(self._why_unsatisfiable(deadline))
        if not is_proved and not alone:
            return None
        if not answers:
            raise (
                _too_late(deadline)
                if late
                else TrellisworkError('No solution was found, nor that there is none. Use method="highs".')
            )
        gaps = [0.0 if is_proved else max(0.0, bound - score) for _, score in answers]
        made = [source.answer(parts) for parts, _ in answers]
        return [proved(answer, gap) for answer, gap in zip(made, gaps, strict=True)]

    def _by_highs(self, k: int, deadline: Deadline) -> list[Any]:
        rows = self._over_variables()
        identity: Any = self._identity() if k > 1 else None
        found: list[Any] = []
        while len(found) < k:
            solved = self._solved(rows, deadline)
            if solved.values is None:
                if not found:
                    raise self._no_solution(solved, deadline)
                if solved.status == INFEASIBLE:
                    break
                found[-1] = proved(found[-1], math.inf)
                break
            found.append(self._made(solved))
            if solved.status != OPTIMAL or len(found) == k:
                break
            there = np.rint(identity @ solved.values) > 0.5
            signs = np.where(there, -1.0, 1.0)  # at least one of those there goes, or one of the others comes
            rows = [*rows, Rows(_row(signs @ identity), np.array([1.0 - there.sum()]), np.array([np.inf]))]
        return found

    def _made(self, solved: Solved) -> Any:
        source, values = self._source, solved.values
        assert values is not None
        score = float(np.vdot(source.form.objective, values))
        gap = 0.0 if solved.status == OPTIMAL else max(0.0, solved.bound - score)
        if source.structure is not None:
            assert source.form.read is not None
            return proved(source.form.read(values), gap)
        shaped = values.reshape(self.shape)
        if source.form.read is not None:
            return source.form.read(shaped)
        return Solution(shaped, score, gap == 0.0, gap)

    def _identity(self) -> Any:
        """The 0/1 indicators by which solutions are told apart, as a matrix over the variables."""
        from scipy import sparse

        form = self._source.form
        if form.identity is not None:
            return form.identity
        binary = form.integer & (form.lower >= 0.0) & (form.upper <= 1.0)
        if (form.integer & ~binary).any() or not binary.any():
            raise InvalidInput(
                "kbest needs binary variables to tell solutions apart: bounds of whole variables must be 0 and 1. "
                "Write a whole number as a sum of binary ones."
            )
        return sparse.csr_array(sparse.eye_array(len(binary), format="csr")[np.flatnonzero(binary)])

    # ---- solving -------------------------------------------------------------------------------------------------

    def _over_variables(self, chosen: Iterable[int] | None = None) -> list[Rows]:
        """The added constraints, or those with these numbers, as rows over the variables."""
        indicators = self._source.form.indicators
        numbers = range(len(self._added)) if chosen is None else chosen
        found = []
        for added in (self._added[i] for i in numbers):
            matrix = added.rows.matrix
            if indicators is not None and not added.of_variables:
                matrix = matrix @ indicators
            found.append(added.rows._replace(matrix=matrix))
        return found

    def _solved(self, rows: Sequence[Rows], deadline: Deadline, relaxed: bool = False, objective: Any = None) -> Solved:
        source = self._source
        if deadline.passed:
            return Solved(None, LIMIT, math.inf, "Time limit reached.")
        return solve(source.form, rows, deadline, source.cuts, objective, relaxed)

    def _no_solution(self, solved: Solved, deadline: Deadline) -> TrellisworkError:
        """Return the error that says why."""
        form = self._source.form
        if solved.status == INFEASIBLE:
            return Unsatisfiable(self._why_unsatisfiable(deadline))
        if solved.status == LIMIT:
            return _too_late(deadline)
        nothing = self._solved(self._over_variables(), deadline, objective=np.zeros(form.objective.size))
        if nothing.status == INFEASIBLE:
            return Unsatisfiable(self._why_unsatisfiable(deadline))
        if nothing.status != LIMIT:
            free = (np.isinf(form.upper) & (form.objective > 0)) | (np.isinf(form.lower) & (form.objective < 0))
            places = np.argwhere(free.reshape(self.shape if form.indicators is None else -1))[:3].tolist()
            return TrellisworkError(
                f"The program is unbounded: its score can grow without end. Bound the variables {places}, or add a "
                "constraint that does."
            )
        return TrellisworkError(
            f"The solver stopped without the best solution: {solved.message} "
            "Give it more time, or bound the variables and use smaller coefficients."
        )

    def _feasible(self, chosen: Iterable[int], deadline: Deadline, given: Sequence[int] | None = None) -> bool | None:
        """Whether something meets these of the added constraints; None where time ran out."""
        source, chosen = self._source, list(chosen)
        if given is None and source.view is not None and not any(self._added[i].of_variables for i in chosen):
            rows = [self._added[i].rows for i in chosen]
            answers, is_proved, _, _ = source.best_within(rows, 1, 0.5 * deadline.left(), _FEW_NODES, scored=False)
            if answers or is_proved:
                return bool(answers)
        form = source.form
        if given is not None:
            form = form._replace(rows=tuple(form.rows[i] for i in given))
        if deadline.passed:
            return None
        found = solve(form, self._over_variables(chosen), deadline, source.cuts, np.zeros(form.objective.size))
        return False if found.status == INFEASIBLE else None if found.status == LIMIT else True

    def _why_unsatisfiable(self, deadline: Deadline) -> str:
        """Name constraints that clash: with any one of them left out, some solution is left (a deletion filter)."""
        source, n = self._source, len(self._added)
        deadline = Deadline(_MOST_TO_EXPLAIN) if deadline.seconds is None else deadline
        if source.structure is not None and self._feasible([], deadline) is False:
            source.structure._refuse_impossible()  # raises, and says at which position
        if source.structure is None and self._feasible([], deadline) is False:
            clash = _irreducible(range(len(source.form.rows)), lambda some: self._feasible([], deadline, some))
            if len(clash) == len(source.form.rows):
                return "No solution meets the constraints that the program was made with. Check their bounds."
            which = " and ".join(f"{i} ({source.form.rows[i].said})" for i in clash)
            return f"No solution meets constraints {which} of those that the program was made with. Relax one of them."
        if n == 0:
            return "No solution meets the constraints that the program was made with. Check their bounds."
        first = next((i for i in range(n) if self._feasible(range(i + 1), deadline) is False), n - 1)
        before = _irreducible(range(first), lambda some: self._feasible([*some, first], deadline))
        said = f"No solution is left by constraint {first + 1} of the {n} that were added, {self._added[first].said}"
        if not before:
            return f"{said}. Relax it, or allow more."
        others = " and ".join(f"constraint {i + 1}, {self._added[i].said}" for i in before)
        return f"{said}, together with {others}. With any of them left out there is one: relax one."

    def _with(self, added: _Added) -> Program:
        program = copy.copy(self)
        program._added = (*self._added, added)
        return program

    def _count(self, name: str, label: Any, n: int, where: Any, lower: bool = False, upper: bool = False) -> Program:
        n = as_count("n", n, least=0)
        shown = [] if label is None else [f"label={label!r}"]
        said = f"{name}({', '.join([*shown, f'n={n}', *([] if where is None else [f'where={where!r}'])])})"
        if not self.shape or (label is not None and len(self.shape) < 2):
            raise InvalidInput(
                f"{said} counts along the last axis, but this program has coefficients of shape {self.shape}, not "
                "(T, K). Use subject_to."
            )
        counted = np.zeros(self.shape)
        try:
            counted[... if where is None else where] = 1.0
        except (IndexError, ValueError, TypeError) as error:
            raise InvalidInput(f"where is {where!r}, which is not an index into shape {self.shape}: {error}.") from None
        rows = counted[np.newaxis]
        if label is not None:
            rows = rows * self._of_labels(label)
        sides = (float(n) if lower else -np.inf, float(n) if upper else np.inf)
        made = self.subject_to(rows, *sides)._added[-1].rows
        return self._with(_Added(made._replace(said=said)))

    def _of_labels(self, label: Any) -> npt.NDArray[np.float64]:
        """Which labels each constraint counts, shaped so that it multiplies arrays of the program's shape."""
        n_labels = self.shape[-1]
        if isinstance(label, str):
            if label != "each":
                raise InvalidInput(f'label must be a label, a collection of them or "each", found {label!r}.')
            of = np.eye(n_labels)
        elif isinstance(label, Collection):
            of = np.zeros((1, n_labels))
            of[0, label_set("label", label, n_labels)] = 1.0
        else:
            number = as_count("label", label, least=0)
            if number >= n_labels:
                raise InvalidInput(f"label must be from 0 to {n_labels - 1}, found {number}.")
            of = np.eye(n_labels)[[number]]
        return of.reshape(len(of), *[1] * (len(self.shape) - 1), n_labels)

    def _coefficient_rows(self, coefficients: Any) -> Any:
        """The coefficients as a sparse matrix with a column for each indicator in C order."""
        from scipy import sparse

        size = math.prod(self.shape)
        if isinstance(coefficients, Mapping):
            columns = [self._place(key) for key in coefficients]
            values = _numbers("coefficients", list(coefficients.values()))
            return sparse.csr_array((values, (np.zeros(len(columns), dtype=np.intp), columns)), shape=(1, size))
        if sparse.issparse(coefficients):
            matrix = sparse.csr_array(coefficients)
            found, fits = matrix.shape, matrix.ndim == 2 and matrix.shape[1] == size
        else:
            array = _numbers("coefficients", coefficients)
            found, fits = array.shape, array.shape in (self.shape, (len(array) if array.ndim else 0, *self.shape))
            matrix = sparse.csr_array(array.reshape(-1, size)) if fits and size else sparse.csr_array((1, size))
        if not fits:
            raise InvalidInput(
                f"coefficients must have the shape {self.shape} of this program, or one more axis in front for "
                f"several constraints, found {found}. Give a coefficient for each indicator, zero for those left out."
            )
        return matrix

    def _place(self, key: Any) -> int:
        """The column of a named or numbered indicator."""
        if self._places is not None:
            if key not in self._places:
                raise InvalidInput(f"coefficients names {key!r}, which is not among the names of this program.")
            return self._places[key]
        index = key if isinstance(key, tuple) else (key,)
        try:
            return int(np.ravel_multi_index(tuple(operator.index(i) for i in index), self.shape))
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"coefficients has the key {key!r}, which is no index into the shape {self.shape} of this program."
            ) from error


class _Added(NamedTuple):
    """A constraint that was added: over the indicators, or over the variables themselves."""

    rows: Rows
    of_variables: bool = False

    @property
    def said(self) -> str:
        """How it was written."""
        return self.rows.said


class _Source:
    """What a program was made of, shared by all that add constraints to it: each form is made when it is asked for."""

    def __init__(self, structure: Any, shape: tuple[int, ...], form: Formulation | None) -> None:
        self.structure, self.shape = structure, shape
        self.cuts: list[Rows] = []
        if form is not None:
            self.__dict__["form"] = form

    @cached_property
    def form(self) -> Formulation:
        """Variables and rows."""
        found: Formulation = self.structure._formulation()
        return found

    @cached_property
    def view(self) -> Any:
        """The structure as the core has it: structure, shape and scores of parts; None where it has none."""
        return None if self.structure is None else self.structure._as_parts()

    @cached_property
    def indicators(self) -> npt.NDArray[np.int64]:
        """The part of each indicator; -1 where there is none, -2 where every output has it."""
        found: npt.NDArray[np.int64] = self.structure._indicators().ravel()
        return found

    def answer(self, parts: npt.NDArray[np.uint32]) -> Any:
        """Make an answer from parts."""
        return self.structure._from_parts(parts)

    def best_within(
        self, rows: Sequence[Rows], k: int, seconds: float, nodes: int, scored: bool = True
    ) -> tuple[list[tuple[Any, float]], bool, bool, float]:
        """Return the best outputs with their scores, whether that is proved, whether time ran out, and a bound."""
        structure, shape, scores = self.view
        if not scored:
            scores = np.where(scores > -np.inf, 0.0, -np.inf)
        csr, lower, upper = self._over_parts(rows, len(scores))
        found, is_proved, late, bound, _ = structure.best_within(
            shape, scores, csr, lower, upper, min(k, 2**62), nodes, 4096, seconds
        )
        return [(parts, score) for parts, score, _ in found], is_proved, late, bound

    def _over_parts(self, rows: Sequence[Rows], n_parts: int) -> tuple[Any, Any, Any]:
        """Rows over the indicators as rows over parts, the arrays of a CSR matrix and two sides."""
        starts, parts, values = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        lower, upper, total = [np.zeros(0)], [np.zeros(0)], 0
        for row in rows:
            matrix, fixed = row.matrix, np.zeros(len(row.lower))
            own = self.indicators[matrix.indices]
            if (own < 0).any():
                of = np.repeat(np.arange(len(fixed)), np.diff(matrix.indptr))
                np.add.at(fixed, of[own == -2], matrix.data[own == -2])
                kept = own >= 0
                counts = np.bincount(of[kept], minlength=len(fixed))
            else:
                kept, counts = slice(None), np.diff(matrix.indptr)
            starts.append(total + np.cumsum(counts))
            total += int(counts.sum())
            parts.append(own[kept])
            values.append(matrix.data[kept])
            lower.append(row.lower - fixed)
            upper.append(row.upper - fixed)
        csr = tuple(np.concatenate(x) for x in (starts, parts, values))
        return (csr[0].astype(np.int64), csr[1].astype(np.int64), csr[2]), np.concatenate(lower), np.concatenate(upper)


def _irreducible(numbers: Iterable[int], feasible: Callable[[list[int]], bool | None]) -> list[int]:
    """Leave out what can be left out without making anything possible; where nobody knows, it stays."""
    kept = list(numbers)
    for i in list(kept):
        fewer = [j for j in kept if j != i]
        if feasible(fewer) is False:
            kept = fewer
    return kept


def _too_late(deadline: Deadline) -> TrellisworkError:
    return TrellisworkError(
        f"No solution was found within the time limit of {deadline.seconds:g} s. Give it more time, or relax some "
        "constraint."
    )


def _row(values: Any) -> Any:
    from scipy import sparse

    return sparse.csr_array(np.atleast_2d(values.toarray() if sparse.issparse(values) else np.asarray(values)))


def _is_linear_constraint(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("A", "lb", "ub"))


def _checked_rows(constraint: Any, n_variables: int) -> Rows:
    from scipy import sparse

    if _is_linear_constraint(constraint):
        constraint = (constraint.A, constraint.lb, constraint.ub)
    try:
        matrix, lower, upper = constraint
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"A constraint must be a LinearConstraint or (A, lower, upper), found {type(constraint).__name__}."
        ) from error
    matrix = sparse.csr_array(matrix if sparse.issparse(matrix) else np.atleast_2d(_numbers("constraints", matrix)))
    if matrix.shape[1] != n_variables:
        raise InvalidInput(
            f"A constraint has {matrix.shape[1]} coefficients for {n_variables} variables. Give one for each."
        )
    if not np.isfinite(matrix.data).all():
        raise InvalidInput("The coefficients of a constraint must be finite. To forbid a variable, set its upper to 0.")
    lower, upper = (_broadcast(n, _not_nan(n, v), matrix.shape[:1]) for n, v in (("lower", lower), ("upper", upper)))
    if (lower > upper).any() or (np.isinf(lower) & np.isinf(upper)).any():
        i = int(np.flatnonzero((lower > upper) | (np.isinf(lower) & np.isinf(upper)))[0])
        raise InvalidInput(
            f"A constraint has lower={lower[i]} and upper={upper[i]}. One must be finite and lower at most upper."
        )
    said = " and ".join(f"{name}={_brief(bound)}" for name, bound in (("lower", lower), ("upper", upper)))
    return Rows(matrix, np.array(lower), np.array(upper), f"with {said}")


def _brief(bound: npt.NDArray[np.float64]) -> str:
    return f"{bound[0]:g}" if bound.size == 1 else np.array2string(bound, threshold=4, edgeitems=2)


def _checked_bounds(
    lower: npt.ArrayLike, upper: npt.ArrayLike, forbidden: npt.NDArray[np.bool_], integer: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    lowest = _broadcast("lower", _not_nan("lower", lower), forbidden.shape)
    highest = _broadcast("upper", _not_nan("upper", upper), forbidden.shape)
    # Whole bounds for whole variables: given 2.5, HiGHS 1.12 presolved its way to a solution that was not the best.
    lowest = np.where(integer, np.ceil(lowest), lowest)
    highest = np.where(integer, np.floor(highest), highest)
    if (lowest > highest).any():
        index = np.argwhere(lowest > highest)[0].tolist()
        raise InvalidInput(
            f"lower and upper leave no value for the variable {index}. Lower the one, or raise the other."
        )
    if (forbidden & ((lowest > 0) | (highest < 0))).any():
        index = np.argwhere(forbidden & ((lowest > 0) | (highest < 0)))[0].tolist()
        raise InvalidInput(f"objective forbids the variable {index}, but its bounds leave out zero.")
    lowest[forbidden] = highest[forbidden] = 0.0
    return _read_only(lowest), _read_only(highest)


def _places(names: Sequence[Hashable] | None, shape: tuple[int, ...]) -> dict[Hashable, int] | None:
    if names is None:
        return None
    places = {name: i for i, name in enumerate(names)}
    if (len(names),) != shape or len(places) != len(names):
        raise InvalidInput(
            f"names must give each variable of an objective of shape {shape} a name of its own, "
            f"found {len(names)} names, {len(places)} of them different."
        )
    return places


def _numbers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = _not_nan(name, values)
    if (array == np.inf).any():
        index = np.argwhere(array == np.inf)[0].tolist()
        raise InvalidInput(f"{name} has +inf at {index}; use finite numbers.")
    return array


def _not_nan(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = as_numbers(name, values)
    if np.isnan(array).any():
        raise InvalidInput(f"{name} has NaN at {np.argwhere(np.isnan(array))[0].tolist()}; use numbers.")
    return array


def _broadcast(name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    try:
        return np.broadcast_to(array, shape)
    except ValueError as error:
        raise InvalidInput(f"{name} must be one number or have the shape {shape}, found {array.shape}.") from error


def _read_only(array: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    array.flags.writeable = False
    return array
