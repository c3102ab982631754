"""Learners that minimise a regularised loss by subgradient steps: Pegasos and stochastic subgradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.learners.epochs import EpochLearner
from trelliswork.learners.parameters import Only, checked_choice, checked_flag, checked_integer, checked_number
from trelliswork.learners.training import FloatArray

__all__ = ["Pegasos", "Subgradient"]


class Pegasos(EpochLearner):
    """Structured Pegasos: primal subgradient descent with fast, predetermined steps.

    Minimises ``lam/2 |w|^2 + mean of the losses`` (Mančev 2015, eq. 6.1). At step ``t`` the weights shrink by
    ``1 - eta_t lam`` and move by ``eta_t`` times minus the subgradient of the losses of ``batch_size`` examples
    (Shalev-Shwartz et al. 2011; Mančev 2015, algorithm 7 for the max-margin loss, algorithm 8 for those over several
    outputs).

    Parameters
    ----------
    lam : float, default 1e-3
        Strength of the regularisation; ``C = 1 / (lam N)`` in the terms of other learners.
    epochs : int, default 20
        Passes over the examples.
    loss : str, default "max-margin"
        ``"max-margin"``, the structured hinge, ``max over y of cost(y) - w . (f(x, gold) - f(x, y))``; ``"k-best"``,
        the mean hinge of the ``k`` wrong outputs with the largest losses (eq. 6.14), for ``k=1`` the max-margin loss;
        ``"averaged-sum"``, the mean hinge of all wrong outputs (eq. 6.3), computed on the ``k`` with the largest
        losses, or on those of them that ``restricted`` keeps (eq. 6.12); ``"ramp"``, the hinge minus the excess over
        the cost on the other side (eq. 5.2), which bounds the influence of mislabelled examples; ``"ramp-do"``, the
        ramp loss of Do et al. (2008); ``"slack"``, the hinge with slack rescaling,
        ``max over y of cost(y) (1 - w . (f(x, gold) - f(x, y)))``.
    k : int, optional
        For ``"k-best"`` and ``"averaged-sum"``: number of outputs to use for each example. Left out, 5.
    batch_size : int or None, default 1
        Number of examples in a step; None for all. Batches are decoded in parallel (``n_jobs``).
    restricted : bool, default False
        For ``"averaged-sum"``: skip outputs whose loss is smaller than that of the prediction. The theory requires this
        (Theorem 5). It needs one more decoding, and Mančev (2015) found no difference in scores (6.6.1).
    projection : bool, default False
        Whether to project onto the ball of radius ``1 / sqrt(lam)`` after each step (eq. 6.8). The minimum lies in this
        ball if no cost is above 1. Mančev (2015) obtained the best scores without projection (6.6.2).
    step : str, default "pegasos"
        The step size at step ``t`` (6.6.3): ``"pegasos"`` 1/(lam t); ``"power"`` 1/(lam t)^alpha; ``"asgd"``
        gamma/(lam gamma t)^alpha; ``"constant"`` gamma.
    gamma : float or None, default None
        For ``"asgd"`` and ``"constant"``. None uses the best values of Mančev (2015): 0.1, and 0.01 for ``"constant"``
        without projection.
    alpha : float, optional
        For ``"power"`` and ``"asgd"``, above 0.5 and at most 1. Left out, 0.75.
    cccp : int, optional
        For the ramp losses: passes in a round of the concave-convex procedure. Left out, 5.
    averaged : bool, default True
        Whether to return the mean of the weights after every step, which oscillates less.
    average_from : int or float, optional
        When averaging starts: an integer is a number of epochs, a float is a fraction of all steps. Left out, 0.5.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Notes
    -----
    The reported objective is an estimate: the loss of each example is computed with the weights at its visit. Given
    initial weights count as the result of one epoch; otherwise the first step would erase them.

    Examples
    --------
    >>> Pegasos(lam=0.01, loss="k-best", k=3)
    Pegasos(lam=0.01, loss='k-best', k=3)
    """

    LOSSES = ("max-margin", "k-best", "averaged-sum", "ramp", "ramp-do", "slack")
    STEPS = ("pegasos", "power", "asgd", "constant")
    _only: ClassVar[Mapping[str, Only]] = {
        "k": Only(5, loss=("k-best", "averaged-sum")),
        "gamma": Only(None, step=("asgd", "constant")),
        "alpha": Only(0.75, step=("power", "asgd")),
        "cccp": Only(5, loss=("ramp", "ramp-do")),
        "average_from": Only(0.5, averaged=(True,)),
    }
    bytes_per_weight: ClassVar[int | None] = 80

    def __init__(
        self,
        lam: float = 1e-3,
        epochs: int = 20,
        *,
        loss: str = "max-margin",
        k: int | None = None,
        batch_size: int | None = 1,
        restricted: bool = False,
        projection: bool = False,
        step: str = "pegasos",
        gamma: float | None = None,
        alpha: float | None = None,
        cccp: int | None = None,
        averaged: bool = True,
        average_from: float | None = None,
        shuffle: bool = True,
    ) -> None:
        self.lam = lam
        self.epochs = epochs
        self.loss = loss
        self.k = k
        self.batch_size = batch_size
        self.restricted = restricted
        self.projection = projection
        self.step = step
        self.gamma = gamma
        self.alpha = alpha
        self.cccp = cccp
        self.averaged = averaged
        self.average_from = average_from
        self.shuffle = shuffle

    @property
    def asks(self) -> tuple[str, ...]:
        """The questions that an oracle must answer; most losses ignore ``k``."""
        several = self.loss in ("averaged-sum", "k-best") and self._value("k") > 1
        return ("argmax", "kbest") if several else ("argmax",)

    @property
    def duration(self) -> str | None:
        """As for `EpochLearner`; None where averaging starts after a fraction of all steps."""
        return None if self.averaged and isinstance(self._value("average_from"), float) else "epochs"

    def _check(self) -> None:
        checked_number("lam", self.lam, above=0.0)
        checked_choice("loss", self.loss, self.LOSSES)
        checked_choice("step", self.step, self.STEPS)
        checked_integer("k", self._value("k"), least=1)
        checked_integer("cccp", self._value("cccp"), least=1)
        if checked_number("alpha", self._value("alpha"), above=0.5) > 1.0:
            raise InvalidInput(f"alpha must be at most 1, not {self.alpha!r}")
        if self.gamma is not None:
            checked_number("gamma", self.gamma, above=0.0)
        for name in ("restricted", "projection", "averaged", "shuffle"):
            checked_flag(name, getattr(self, name))
        if self.restricted and self.loss != "averaged-sum":
            raise InvalidInput(f"restricted=True is a choice of loss='averaged-sum', not of loss={self.loss!r}")
        _checked_batch_size(self.batch_size)
        _checked_average_from(self._value("average_from"))

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        gamma = self.gamma
        if gamma is None:
            gamma = 0.01 if self.step == "constant" and not self.projection else 0.1
        return _core.Pegasos(
            oracle,
            weights,
            lam=float(self.lam),
            loss=self.loss,
            k=int(self._value("k")),
            restricted=self.restricted,
            cccp=int(self._value("cccp")),
            step=self.step,
            gamma=float(gamma),
            alpha=float(self._value("alpha")),
            batch_size=int(self.batch_size or 0),
            projection=self.projection,
            average_after=_average_after(self, oracle.n_examples),
            averaged=self.averaged,
            shuffle=self.shuffle,
            seed=seed,
        )


class Subgradient(EpochLearner):
    """Stochastic subgradient descent for the structured SVM, and direct minimisation of the cost.

    For each example, the weights move by ``gamma (f(x, gold) - f(x, y))``, where ``y`` is the output with the largest
    loss, and then shrink by ``1 - gamma lam`` (Daumé 2017, algorithm 41, with ``gamma`` 1). This is a perceptron with
    costs and regularisation. The objective is ``1/2 |w|^2 + C * sum of the losses``, or the same divided by ``C N``.

    ``loss="direct"`` minimises the expected cost of the predictions itself (McAllester, Hazan & Keshet 2010): the
    weights move by ``gamma / epsilon (f(x, prediction) - f(x, y))``, where ``y`` maximises ``score + epsilon cost``.
    With ``epsilon`` above 0 they move away from outputs worse than the prediction; below 0, towards better ones. The
    cost is not convex in the weights: start from those of another learner, especially with ``epsilon`` above 0, which
    learns nothing from predictions that could hardly be worse.

    Parameters
    ----------
    C : float, optional
        The weight of the losses relative to the penalty. Left out, 1.
    epochs : int, default 10
        Passes over the examples.
    lam : float or None, default None
        Alternative to ``C``: the strength of the regularisation, ``1 / (C N)``.
    loss : str, default "hinge"
        ``"hinge"`` or ``"direct"``.
    rescaling : str, optional
        How the cost enters the hinge: ``"margin"`` is cost - margin; ``"slack"`` is cost * (1 - margin), which does not
        require large margins against outputs that are very wrong. Left out, ``"margin"``.
    epsilon : float, optional
        For ``"direct"``: how far to search towards worse (above 0) or better (below 0) outputs. Left out, -1.
    epsilon_decay : float, optional
        For ``"direct"``: in pass ``p``, epsilon is divided by ``p ** epsilon_decay``, since the gradient is exact only
        in the limit of small epsilon. Left out, 0.
    batch_size : int or None, default 1
        Number of examples in a step; None for all (the batch method). Batches are decoded in parallel (``n_jobs``).
    step : str, default "constant"
        The step size at step ``t``: ``"constant"`` gamma, ``"root"`` gamma / sqrt(t) or ``"pegasos"`` 1 / (lam t).
    gamma : float, optional
        For ``"constant"`` and ``"root"``: the step size, or the first; 1 in the textbook's algorithm. Left out, 0.1.
    averaged : bool, default True
        Whether to return the mean of the weights after every step.
    average_from : int or float, optional
        When averaging starts: an integer is a number of epochs, a float is a fraction of all steps. Left out, 0.
    shuffle : bool, default True
        Whether to visit the examples in a new random order in each pass.

    Examples
    --------
    >>> Subgradient(C=0.1, rescaling="slack")
    Subgradient(C=0.1, rescaling='slack')
    """

    LOSSES = ("hinge", "direct")
    RESCALINGS = ("margin", "slack")
    STEPS = ("constant", "root", "pegasos")
    _only: ClassVar[Mapping[str, Only]] = {
        "C": Only(1.0, lam=(None,)),
        "rescaling": Only("margin", loss=("hinge",)),
        "epsilon": Only(-1.0, loss=("direct",)),
        "epsilon_decay": Only(0.0, loss=("direct",)),
        "gamma": Only(0.1, step=("constant", "root")),
        "average_from": Only(0, averaged=(True,)),
    }
    bytes_per_weight: ClassVar[int | None] = 80

    def __init__(
        self,
        C: float | None = None,
        epochs: int = 10,
        *,
        lam: float | None = None,
        loss: str = "hinge",
        rescaling: str | None = None,
        epsilon: float | None = None,
        epsilon_decay: float | None = None,
        batch_size: int | None = 1,
        step: str = "constant",
        gamma: float | None = None,
        averaged: bool = True,
        average_from: float | None = None,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.epochs = epochs
        self.lam = lam
        self.loss = loss
        self.rescaling = rescaling
        self.epsilon = epsilon
        self.epsilon_decay = epsilon_decay
        self.batch_size = batch_size
        self.step = step
        self.gamma = gamma
        self.averaged = averaged
        self.average_from = average_from
        self.shuffle = shuffle

    @property
    def duration(self) -> str | None:
        """As for `EpochLearner`; None where averaging starts after a fraction of all steps."""
        return None if self.averaged and isinstance(self._value("average_from"), float) else "epochs"

    def _check(self) -> None:
        checked_number("C", self._value("C"), above=0.0)
        if self.lam is not None:
            checked_number("lam", self.lam, above=0.0)
        checked_choice("loss", self.loss, self.LOSSES)
        checked_choice("rescaling", self._value("rescaling"), self.RESCALINGS)
        checked_choice("step", self.step, self.STEPS)
        if checked_number("epsilon", self._value("epsilon")) == 0.0:
            raise InvalidInput("epsilon must not be 0: the output it looks for would be the prediction itself")
        if checked_number("epsilon_decay", self._value("epsilon_decay"), least=0.0) > 100.0:
            raise InvalidInput(f"epsilon_decay must be at most 100, not {self.epsilon_decay!r}")
        checked_number("gamma", self._value("gamma"), above=0.0)
        checked_flag("averaged", self.averaged)
        checked_flag("shuffle", self.shuffle)
        _checked_batch_size(self.batch_size)
        _checked_average_from(self._value("average_from"))

    def _solver(self, oracle: _core.Oracle, weights: FloatArray, seed: int) -> _core.Solver:
        lam = 1.0 / (self._value("C") * max(oracle.n_examples, 1)) if self.lam is None else self.lam
        hinge = "slack" if self._value("rescaling") == "slack" else "max-margin"
        return _core.Subgradient(
            oracle,
            weights,
            lam=float(lam),
            loss="direct" if self.loss == "direct" else hinge,
            epsilon=float(self._value("epsilon")),
            epsilon_decay=float(self._value("epsilon_decay")),
            step=self.step,
            gamma=float(self._value("gamma")),
            batch_size=int(self.batch_size or 0),
            average_after=_average_after(self, oracle.n_examples),
            averaged=self.averaged,
            shuffle=self.shuffle,
            seed=seed,
        )


def _checked_batch_size(value: Any) -> None:
    if value is not None:
        checked_integer("batch_size", value, least=1)


def _checked_average_from(value: Any) -> None:
    if isinstance(value, float):
        if checked_number("average_from", value, least=0.0) >= 1.0:
            raise InvalidInput(f"average_from={value!r} is a fraction and must be below 1; epochs are whole numbers")
    else:
        checked_integer("average_from", value, least=0)


def _average_after(learner: Pegasos | Subgradient, n_examples: int) -> int:
    """Return how many steps the average leaves out."""
    batch = learner.batch_size or max(n_examples, 1)
    steps = -(-n_examples // batch)
    start = learner._value("average_from")
    return int(start * learner.epochs * steps) if isinstance(start, float) else int(start * steps)
