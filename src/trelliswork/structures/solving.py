"""Formulations solved by HiGHS, through SciPy: the best values, or the reason why there are none.

Cuts of a formulation are added when a solution violates them: first to the linear relaxation, where that is cheap, then
to the program itself.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.structures.formulations import Formulation, Rows

__all__ = ["Deadline", "Solved", "solve"]

FloatArray = npt.NDArray[np.float64]

OPTIMAL, LIMIT, INFEASIBLE, UNBOUNDED = 0, 1, 2, 3  # statuses of scipy.optimize.milp
# HiGHS is content with an absolute gap of 1e-6. With the largest score at 1 it took 3.0000001 and 3.0000000 for equal;
# with the largest at 2**20 it tells scores apart to the 12th digit.
LARGEST_EXPONENT = 20


class Deadline:
    """When to give up, from now on.

    Parameters
    ----------
    seconds : float, optional
        None: never.
    """

    def __init__(self, seconds: Any = None) -> None:
        if seconds is not None:
            try:
                seconds = float(seconds)
            except (TypeError, ValueError):
                raise InvalidInput(f"time_limit must be a number of seconds, found {seconds!r}.") from None
            if not seconds > 0.0:
                raise InvalidInput(f"time_limit must be a number of seconds above 0, found {seconds}.")
        self.seconds: float | None = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left, inf if there is no end, never below 0."""
        return math.inf if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return self.left() == 0.0


class Solved(NamedTuple):
    """The solver's result: values if it has any, its status, and an upper bound on the score of every solution."""

    values: FloatArray | None
    status: int
    bound: float
    message: str = ""


def solve(
    form: Formulation,
    rows: Sequence[Rows],
    deadline: Deadline,
    cuts: list[Rows],
    objective: FloatArray | None = None,
    relaxed: bool = False,
) -> Solved:
    """Return the best values of a formulation under its own and more rows.

    Parameters
    ----------
    form : Formulation
    rows : sequence of Rows
        More rows, over the variables.
    deadline : Deadline
    cuts : list of Rows
        Cuts that were needed before; those that are needed now are added to it.
    objective : (n,) array, optional
        Other scores than those of the formulation.
    relaxed : bool
        Whether variables need not be whole.
    """
    scores = form.objective if objective is None else objective
    if scores.size == 0:  # HiGHS takes no empty programs
        met = all(np.all((part.lower <= 0) & (part.upper >= 0)) for part in (*form.rows, *rows))
        return Solved(np.zeros(0), OPTIMAL, 0.0) if met else Solved(None, INFEASIBLE, -math.inf)
    stages = [True, False] if form.cuts is not None and not relaxed else [relaxed]
    for as_relaxed in stages:
        while True:
            if deadline.passed:
                return Solved(None, LIMIT, math.inf, "Time limit reached.")
            found = _milp(form, scores, (*form.rows, *rows, *cuts), deadline, as_relaxed)
            if found.values is None or form.cuts is None:
                break
            more = form.cuts(found.values)
            if not more:
                break
            cuts += more
            if found.status == LIMIT:  # what it has is not a solution
                return found._replace(values=None)
        if found.status != OPTIMAL:
            break
    return found


def _milp(form: Formulation, scores: FloatArray, rows: Sequence[Rows], deadline: Deadline, relaxed: bool) -> Solved:
    from scipy.optimize import Bounds, LinearConstraint, milp

    exponent = LARGEST_EXPONENT - math.frexp(np.abs(scores).max())[1]
    left = deadline.left()
    result = _heard(
        lambda: milp(
            np.ldexp(-scores, exponent),  # times a power of two, so that no score is rounded
            integrality=np.zeros(scores.size, dtype=np.intp) if relaxed else form.integer.astype(np.intp),
            bounds=Bounds(form.lower, form.upper),
            constraints=[LinearConstraint(part.matrix, part.lower, part.upper) for part in rows if len(part.lower)],
            options={"mip_rel_gap": 0.0} | ({} if left == math.inf else {"time_limit": max(left, 1e-9)}),
        )
    )
    values = result.x
    if values is not None and not relaxed:
        values = np.where(form.integer, np.round(values), values)
    if values is not None:
        values = values + 0.0  # -0.0 becomes 0.0
    bound = math.inf
    if result.status == OPTIMAL:
        bound = float(np.vdot(scores, values))
    elif (dual := getattr(result, "mip_dual_bound", None)) is not None and math.isfinite(dual):
        bound = float(np.ldexp(-dual, -exponent))
    return Solved(values, int(result.status), bound, str(result.message))


def _heard(work: Callable[[], Any]) -> Any:
    """Return what ``work`` does, and hear Ctrl-C meanwhile.

    HiGHS cannot be stopped through SciPy, and signals wait for the main thread to come back from it. So another thread
    does it; after Ctrl-C that one is left alone, and ends when HiGHS does.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="HiGHS", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failed:
        raise failed[0]
    return done[0]
