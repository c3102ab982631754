"""The expectation semiring: log partition and expected counts in one forward pass (Mančev 2015, sec. 2.4.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.results import Expectations

__all__ = ["ExpectationPass"]


class ExpectationPass:
    """A forward pass that accumulates expected counts, fed block by block.

    This is entropy message passing (Ilić et al. 2012). The pair (z, h) in the last row of Table 2.2 is stored as (log
    z, h / z), the expected counts given the label at the current position, so nothing over- or underflows. Memory is
    O(K (K + K^2 + K F)), however long the sequence; time is O(T K^2 (K^2 + K F)). If the sequence fits in memory,
    `Chain.marginals` and `Chain.edge_marginals` are cheaper by a factor of about K^2.

    Parameters
    ----------
    transitions : (K, K) array-like
        Scores of neighbouring labels; or (T - 1, K, K), one matrix per step.
    start, end : (K,) array-like, optional
        Scores of the first and of the last label.
    n_attributes : int
        Number of attributes F per position.

    Examples
    --------
    >>> sweep = ExpectationPass(transitions=[[0.0, 0.0], [0.0, 0.0]])
    >>> sweep.feed([[0.0, 0.0]])
    >>> sweep.feed([[0.0, 0.0]], last=True)
    >>> sweep.result().transitions.tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """

    def __init__(
        self,
        transitions: npt.ArrayLike,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        n_attributes: int = 0,
    ) -> None:
        moves = checks.as_scores("transitions", transitions)
        if moves.ndim not in (2, 3) or moves.shape[-1] != moves.shape[-2] or moves.shape[-1] == 0:
            raise InvalidInput(f"transitions must have shape (K, K) or (T - 1, K, K), found {moves.shape}.")
        self.n_labels = moves.shape[-1]
        self.n_attributes = checks.as_count("n_attributes", n_attributes, least=0)
        first = checks.as_scores("start", np.zeros(self.n_labels) if start is None else start, (self.n_labels,))
        last = checks.as_scores("end", np.zeros(self.n_labels) if end is None else end, (self.n_labels,))
        self._core = _core.Expectation(moves, first, last, self.n_attributes)
        self._closed = False

    def feed(self, unary: npt.ArrayLike, attributes: Any = None, last: bool = False) -> None:
        """Process the next positions.

        Parameters
        ----------
        unary : (n, K) array-like
            Scores of the next n positions.
        attributes : (n, F) array-like, optional
            Their attribute values; required when ``n_attributes`` is not 0.
        last : bool
            Whether the sequence ends here. If so, the end scores are added, and nothing more can be fed.
        """
        if self._closed:
            raise InvalidInput("the sequence was ended by last=True; make a new ExpectationPass for another one.")
        rows = checks.as_scores("unary", unary, (None, self.n_labels))
        values = np.empty((len(rows), 0)) if attributes is None else checks.as_numbers("attributes", attributes)
        if values.shape != (len(rows), self.n_attributes):
            raise InvalidInput(f"attributes must have shape ({len(rows)}, {self.n_attributes}), found {values.shape}.")
        if not np.isfinite(values).all():
            raise InvalidInput("attributes must be finite numbers.")
        self._closed = bool(last)
        self._core.feed(rows, values, self._closed)

    def result(self) -> Expectations:
        """Return the log partition and the expected counts of all positions fed so far."""
        return Expectations(*self._core.result())
