"""The thesis's algorithms by the names that its tables have, as learners of this library.

Everything is averaged from the first step on, as the prefix *avg* of the thesis says. The thesis does not say in
which order examples are visited; here it is a new random one in each epoch, which brings 0.1 of F on held-out chunks
against the order of the corpus.
"""

from __future__ import annotations

from typing import Any

import trelliswork as tw

TAU = 1e-10  # tolerance of the optimality conditions (Table 3.1)


def kbest_method(name: str, C: float | None, epochs: int, k: int = 1) -> Any:
    """Return a learner of chapter 3."""
    if name == "Perceptron":
        return tw.Perceptron(epochs, k=k)
    assert C is not None
    if name in ("PA", "RPA"):
        return tw.PassiveAggressive(C, epochs, k=k, restricted=name == "RPA")
    if name == "MIRA":
        return tw.MIRA(C, epochs, k=k)
    assert name == "SDM", name
    return sdm(C, epochs, k=k)


def sdm(C: float, epochs: int, **how: Any) -> tw.SDM:
    """Return the sequential dual method as the thesis runs it: averaged, to the last epoch, no gap measured."""
    return tw.SDM(C, epochs, **({"tau": TAU, "averaged": True} | how), tol=0.0, gap_every=0)


def pegasos(name: str, lam: float, epochs: int, k: int | None = None, **how: Any) -> tw.Pegasos:
    """Return a learner of chapter 6.

    Parameters
    ----------
    name : str
        ``Peg``, ``PegMML``, ``PegASL`` or ``ResPegASL``, with ``-WP`` for no projection. MML takes ``k`` examples a
        step, ASL ``k`` outputs of one example.
    """
    kind, _, without = name.partition("-")
    if kind == "PegMML":
        how |= {"batch_size": k}
    elif kind != "Peg":
        how |= {"loss": "averaged-sum", "k": k, "restricted": kind == "ResPegASL"}
    if how.get("averaged", True):
        how = {"average_from": 0} | how
    return tw.Pegasos(lam, epochs, projection=without != "WP", **how)


def method(name: str, regularisation: float | None, epochs: int, k: int | None = None) -> Any:
    """Return any learner of Table 6.1."""
    if "Peg" in name:
        assert regularisation is not None
        return pegasos(name, regularisation, epochs, k)
    return kbest_method(name, regularisation, epochs, k or 1)


def loss_method(name: str, loss: str, regularisation: float, epochs: int, T: int | None = None) -> Any:
    """Return a learner of chapter 5; with the ramp loss, ``epochs`` rounds of ``T`` passes."""
    if name == "SDM":
        inner: dict[str, Any] = {} if T is None else {"loss": loss, "inner": T}
        return sdm(regularisation, epochs * (T or 1), **inner)
    rounds: dict[str, Any] = {} if T is None else {"loss": loss, "cccp": T}
    return pegasos(name, regularisation, epochs * (T or 1), **rounds)
