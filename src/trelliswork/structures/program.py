"""Integer linear programs: the best structure when no dynamic program can find it.

Source: Daumé 2017, section 17.6. A structure is a vector z of indicators, its score is a . z, and whatever can be said
about it in linear constraints can be asked for (eq. 17.32). SciPy's HiGHS does the searching. `Program.from_chain`
encodes a chain by eq. 17.33 and 17.34, which makes it the reference for constraints that reach across the whole
sequence.
"""

from __future__ import annotations

import copy
import functools
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, TrellisworkError, Unsatisfiable
from trelliswork.structures.checks import as_count, as_numbers
from trelliswork.structures.results import Labeling

if TYPE_CHECKING:
    from trelliswork.structures.chain import Chain

__all__ = ["Program", "Solution"]

OPTIMAL, INFEASIBLE = 0, 2  # statuses of scipy.optimize.milp
# HiGHS is content with an absolute gap of 1e-6. With the largest score at 1 it took 3.0000001 and 3.0000000 for equal;
# with the largest at 2**20 it tells scores apart to the 12th digit.
LARGEST_EXPONENT = 20


class Solution(NamedTuple):
    """The best values of the variables, in the shape of the objective, and their score.

    Examples
    --------
    >>> Solution(np.array([1.0, 0.0]), 2.5).score
    2.5
    """

    values: npt.NDArray[np.float64]
    score: float


class Program:
    """The variables z that maximise ``objective . z`` under linear constraints (Daumé 2017, eq. 17.32).

    Variables are binary unless said otherwise. A program never changes: `subject_to` and its shorthands return a new
    one. Among solutions of equal score the solver chooses; it chooses the same one every time.

    Parameters
    ----------
    objective : array_like
        The score of each variable, of any shape; the variables, and the coefficients of `subject_to`, have the same
        shape. ``-inf`` forbids: the variable is fixed at zero.
    constraints : sequence of scipy.optimize.LinearConstraint or (A, lower, upper)
        ``lower <= A @ z <= upper`` over the variables in C order; A is a dense or a sparse matrix.
    lower, upper : array_like, optional
        Bounds of the variables, of the shape of the objective or one for all.
    integer : array_like of bool, optional
        Which variables must be whole numbers; all by default.
    names : sequence of hashable, optional
        A name for each variable of a one-dimensional objective, to be used in `subject_to`.
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
        self._objective = _read_only(np.where(forbidden, 0.0, objective))  # a bound forbids; a coefficient cannot
        self._integer = _broadcast("integer", np.asarray(integer, dtype=bool), objective.shape)
        self._lower, self._upper = _checked_bounds(lower, upper, forbidden, self._integer)
        self._places = _places(names, objective.shape)
        self._readout = readout
        constraints = [constraints] if _is_linear_constraint(constraints) else constraints
        self._rows = tuple(_checked_rows(c, self._objective.size) for c in constraints)
        self._n_given = len(self._rows)  # those after them were added by subject_to
        self._shape, self._indicators = objective.shape, None
        self._chain: Chain | None = None

    @classmethod
    def from_chain(cls, chain: Chain) -> Program:
        """The program whose best solution is the chain's best labelling (Daumé 2017, eq. 17.33, 17.34).

        There is a variable z[t, j, k] for each pair of neighbouring labels: position t has label k and the one before
        it has j. At the first position the only j is a start symbol. The coefficients of `subject_to` are not over
        these, but have the shape (T, K) of the indicators "position t has label k".

        With costs: ``Program.from_chain(chain.augmented(gold))`` (17.5).

        Parameters
        ----------
        chain : Chain
            Unary, transition, start and end scores all count; what they forbid stays forbidden.

        Returns
        -------
        Program
            Its `argmax` returns a `Labeling`, with the score that ``chain.score`` gives to it.

        Notes
        -----
        In C order the variables are the K of the first position and then (T - 1, K, K), for constraints on
        transitions that are given as a ``LinearConstraint``. Scores count to about 12 digits of the largest one.

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
        n_positions, n_labels = chain.n_positions, chain.n_labels
        ends_in, starts_from = _label_incidence(n_positions, n_labels)
        program = cls(
            _edge_scores(chain),
            [_one_pair_per_position(ends_in, n_labels), _neighbours_agree(ends_in, starts_from, n_labels)],
            readout=functools.partial(_read_labels, ends_in=ends_in, chain=chain),
        )
        program._shape, program._indicators, program._chain = (n_positions, n_labels), ends_in, chain
        return program

    @property
    def objective(self) -> npt.NDArray[np.float64]:
        """The score of each variable, zero for those that are forbidden; read-only."""
        return self._objective

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the coefficients that `subject_to` takes."""
        return self._shape

    @property
    def n_variables(self) -> int:
        """How many variables there are, forbidden ones included."""
        return self._objective.size

    @property
    def n_constraints(self) -> int:
        """How many rows of linear constraints there are, bounds not counted."""
        return sum(len(rows.lower) for rows in self._rows)

    def __repr__(self) -> str:
        return f"Program({self.n_variables} variables, {self.n_constraints} constraints)"

    def subject_to(self, coefficients: Any, lower: npt.ArrayLike = -np.inf, upper: npt.ArrayLike = np.inf) -> Program:
        """Return the program with ``lower <= sum of coefficients * indicators <= upper`` added.

        Parameters
        ----------
        coefficients : array_like, sparse matrix, mapping or scipy.optimize.LinearConstraint
            An array of the program's `shape`, (T, K) for a chain, or several stacked along a new first axis; a sparse
            matrix with a row for each constraint; or a mapping from names or indices, such as ``(t, k)``, to
            coefficients. A ``LinearConstraint`` speaks of the variables themselves and brings its own bounds.
        lower, upper : float or array_like of shape (n,)
            Bounds of the sum, for each constraint if there are several; at least one must be finite.

        Returns
        -------
        Program

        Examples
        --------
        Positions 0 and 2 may not both have label 1:

        >>> import trelliswork as tw
        >>> chain = tw.Chain(unary=[[0, 1], [0, 3], [0, 2]], transitions=[[0, 0], [0, 0]])
        >>> program = tw.Program.from_chain(chain).subject_to({(0, 1): 1, (2, 1): 1}, upper=1)
        >>> program.argmax().labels.tolist()
        [0, 1, 1]
        """
        if _is_linear_constraint(coefficients):
            return self._with(_checked_rows(coefficients, self.n_variables))
        matrix = self._coefficient_rows(coefficients)
        if self._indicators is not None:
            matrix = matrix @ self._indicators
        return self._with(_checked_rows((matrix, lower, upper), self.n_variables))

    def at_most(self, label: int, n: int) -> Program:
        """Return the program in which at most ``n`` positions have the label."""
        return self._count(label, f"at_most(label={label}, n={n})", upper=as_count("n", n, least=0))

    def at_least(self, label: int, n: int) -> Program:
        """Return the program in which at least ``n`` positions have the label."""
        return self._count(label, f"at_least(label={label}, n={n})", lower=as_count("n", n, least=0))

    def exactly(self, label: int, n: int) -> Program:
        """Return the program in which exactly ``n`` positions have the label."""
        n = as_count("n", n, least=0)
        return self._count(label, f"exactly(label={label}, n={n})", lower=n, upper=n)

    def argmax(self, time_limit: float | None = None) -> Any:
        """Return the best solution: a `Labeling` for a chain, else what ``readout`` makes of it.

        Parameters
        ----------
        time_limit : float, optional
            Give up after so many seconds.

        Raises
        ------
        Unsatisfiable
            If nothing meets all constraints; the message names the one that is too many.
        TrellisworkError
            If the solver stops without the best solution, with its message.
        """
        values = self._solve(self._objective.ravel(), self._rows, time_limit)
        if values is None:
            raise Unsatisfiable(self._why_unsatisfiable(time_limit))
        values = values.reshape(self._objective.shape)
        if self._readout is not None:
            return self._readout(values)
        return Solution(values, float(np.vdot(self._objective, values)))

    def _with(self, rows: _Rows) -> Program:
        program = copy.copy(self)
        program._rows = (*self._rows, rows)
        return program

    def _count(self, label: int, said: str, lower: float = -np.inf, upper: float = np.inf) -> Program:
        if len(self._shape) != 2:
            raise InvalidInput(
                f"{said} counts positions, but this program has coefficients of shape {self._shape}, not (T, K). "
                "Use subject_to."
            )
        n_labels, label = self._shape[1], as_count("label", label, least=0)
        if label >= n_labels:
            raise InvalidInput(f"label must be from 0 to {n_labels - 1}, found {label}.")
        coefficients = np.zeros(self._shape)
        coefficients[:, label] = 1.0
        program = self.subject_to(coefficients, lower, upper)
        return self._with(program._rows[-1]._replace(said=said))

    def _coefficient_rows(self, coefficients: Any) -> Any:
        """The coefficients as a sparse matrix with a column for each indicator in C order."""
        from scipy import sparse

        size = math.prod(self._shape)
        if isinstance(coefficients, Mapping):
            row = np.zeros((1, size))
            row[0, [self._place(key) for key in coefficients]] = _numbers("coefficients", list(coefficients.values()))
            return sparse.csr_array(row)
        if sparse.issparse(coefficients):
            matrix = sparse.csr_array(coefficients)
            found, fits = matrix.shape, matrix.ndim == 2 and matrix.shape[1] == size
        else:
            array = _numbers("coefficients", coefficients)
            found, fits = array.shape, array.shape in (self._shape, (len(array) if array.ndim else 0, *self._shape))
            matrix = sparse.csr_array(array.reshape(-1, size)) if fits and size else sparse.csr_array((1, size))
        if not fits:
            raise InvalidInput(
                f"coefficients must have the shape {self._shape} of this program, or one more axis in front for "
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
            return int(np.ravel_multi_index(tuple(operator.index(i) for i in index), self._shape))
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"coefficients has the key {key!r}, which is no index into the shape {self._shape} of this program."
            ) from error

    def _solve(
        self, objective: npt.NDArray[np.float64], rows: Sequence[_Rows], time_limit: float | None
    ) -> npt.NDArray[np.float64] | None:
        """The best values, or None when there are none."""
        integer = self._integer.ravel()
        if objective.size == 0:  # HiGHS takes no empty programs
            met = all(np.all((part.lower <= 0) & (part.upper >= 0)) for part in rows)
            return np.zeros(0) if met else None
        result = _milp(objective, integer, self._lower.ravel(), self._upper.ravel(), rows, time_limit)
        if result.status == INFEASIBLE:
            return None
        if result.status != OPTIMAL:
            raise TrellisworkError(
                f"The solver stopped without the best solution: {result.message} "
                "Give it more time, or bound the variables and use smaller coefficients."
            )
        values: npt.NDArray[np.float64] = np.where(integer, np.round(result.x), result.x)
        return values + 0.0  # -0.0 becomes 0.0

    def _why_unsatisfiable(self, time_limit: float | None) -> str:
        """Say which constraint is the first that leaves nothing."""
        nothing = np.zeros(self.n_variables)
        added = self._rows[self._n_given :]
        for i in range(len(added) + 1):
            if self._solve(nothing, self._rows[: self._n_given + i], time_limit) is None:
                break
        if i == 0 and self._chain is not None:
            self._chain.argmax()  # raises, and says at which position
        if i == 0:
            return "No solution meets the constraints that the program was made with. Check their bounds."
        also = " together with those before it" if i > 1 else ""
        return (
            f"No solution is left by constraint {i} of the {len(added)} that were added, {added[i - 1].said}{also}. "
            "Relax it, or allow more labels."
        )


class _Rows(NamedTuple):
    """Some linear constraints: ``lower <= matrix @ z <= upper``, and how the user wrote them."""

    matrix: Any
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    said: str


def _edge_scores(chain: Chain) -> npt.NDArray[np.float64]:
    """The score of each pair of neighbouring labels (eq. 17.34), those of the first position first."""
    n_positions, n_labels = chain.n_positions, chain.n_labels
    if n_positions == 0:
        return np.zeros(0)
    unary = chain.unary.copy()
    unary[0] += chain.start
    unary[-1] += chain.end
    transitions = np.broadcast_to(chain.transitions, (n_positions - 1, n_labels, n_labels))
    return np.concatenate([unary[0], (transitions + unary[1:, np.newaxis, :]).ravel()])


def _label_incidence(n_positions: int, n_labels: int) -> tuple[Any, Any]:
    """Two sparse 0/1 matrices of shape (T K, n_variables).

    Row (t, k) of the first picks the pairs that end in label k at position t, of the second those that start from it.
    """
    from scipy import sparse

    pairs = np.arange(max(n_positions - 1, 0) * n_labels**2)
    t, before, after = np.unravel_index(pairs, (max(n_positions - 1, 0), n_labels, n_labels))
    first = np.arange(n_labels if n_positions else 0)  # a start symbol comes before these
    columns, shape = first.size + pairs, (n_positions * n_labels, first.size + pairs.size)

    def picking(rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> Any:
        return sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=shape)

    ends_in = picking(np.concatenate([first, (t + 1) * n_labels + after]), np.concatenate([first, columns]))
    return ends_in, picking(t * n_labels + before, columns)


def _one_pair_per_position(ends_in: Any, n_labels: int) -> tuple[Any, Any, Any]:
    """Constraint 2: the sum over j and k of z[t, j, k] is 1 for all t."""
    from scipy import sparse

    n_positions = ends_in.shape[0] // n_labels
    sum_over_labels = sparse.kron(sparse.eye_array(n_positions), np.ones((1, n_labels)), format="csr")
    return sum_over_labels @ ends_in, 1.0, 1.0


def _neighbours_agree(ends_in: Any, starts_from: Any, n_labels: int) -> tuple[Any, Any, Any]:
    """Constraint 3: the sum over j of z[t, j, k] is the sum over j of z[t + 1, k, j], for all k and t but the last."""
    before_the_last = slice(0, max(ends_in.shape[0] - n_labels, 0))
    return (ends_in - starts_from)[before_the_last], 0.0, 0.0


def _read_labels(z: npt.NDArray[np.float64], ends_in: Any, chain: Chain) -> Labeling:
    indicators = (ends_in @ z).reshape(chain.n_positions, chain.n_labels)
    labels = indicators.argmax(axis=1).astype(np.int32)
    return Labeling(labels, chain.score(labels))


def _milp(
    objective: npt.NDArray[np.float64],
    integer: npt.NDArray[np.bool_],
    lower: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
    rows: Sequence[_Rows],
    time_limit: float | None,
) -> Any:
    from scipy.optimize import Bounds, LinearConstraint, milp

    exponent = LARGEST_EXPONENT - math.frexp(np.abs(objective).max())[1]
    return milp(
        np.ldexp(-objective, exponent),  # times a power of two, so that no score is rounded
        integrality=integer.astype(np.intp),
        bounds=Bounds(lower, upper),
        constraints=[LinearConstraint(part.matrix, part.lower, part.upper) for part in rows if len(part.lower)],
        options={"mip_rel_gap": 0.0} | ({} if time_limit is None else {"time_limit": time_limit}),
    )


def _is_linear_constraint(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("A", "lb", "ub"))


def _checked_rows(constraint: Any, n_variables: int) -> _Rows:
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
    return _Rows(matrix, lower, upper, f"with {said}")


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
