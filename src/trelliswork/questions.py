"""The questions that learners ask about examples: their names, and what is said where one has no answer.

A learner's ``asks`` are the names of its questions. What examples answer is computed, never declared: an oracle's
``answers`` follow from the interfaces that it hands out (``core/oracle.hpp``), those of a `trelliswork.Structure` from
the methods that its class defines.
"""

from __future__ import annotations

from collections.abc import Sequence

from trelliswork.errors import InvalidInput

__all__ = ["QUESTIONS", "require_answers"]

_OF_CHAINS = "choose another learner; an oracle of chains answers with use='best'"
_ONE_GOLD = "choose another learner, or, if some gold is known only in part, give every example one gold output"

# Each with what it asks for, what to do where a class written by a user does not answer it, and where examples do not.
QUESTIONS = {
    "argmax": (
        "the best output",
        "define argmax(x, weights, gold, cost_scale) or outputs(x)",
        _OF_CHAINS,
    ),
    "kbest": (
        "several best outputs",
        "define kbest(x, weights, k, gold, cost_scale) or outputs(x), or use k=1",
        f"use k=1, or {_OF_CHAINS}",
    ),
    "beam": (
        "the best beginnings of an output",
        "leave beam out",
        "leave beam out; an oracle of chains of order 1 answers, where every token has one gold label",
    ),
    "expectations": (
        "sums over all outputs",
        "define expectations(x, weights, gold, cost_scale) or outputs(x), with parts(x) marginals(scores), or choose a "
        "learner that asks for the best output only",
        "choose a learner that asks for the best output only",
    ),
    "parts": (
        "marginals of parts under any scores",
        "define outputs(x), with parts(x) marginals(scores), or choose another learner",
        f"{_ONE_GOLD}; some structures have no sums over all outputs; an oracle of chains answers with use='best'",
    ),
    "local": (
        "single decisions, each given gold before it",
        "define outputs(x), or choose another learner",
        f"{_ONE_GOLD}; some structures are not built by single decisions; an oracle of chains answers with use='best'",
    ),
}


def require_answers(learner: object, asks: Sequence[str], answers: Sequence[str], name: str | None = None) -> None:
    """Refuse a learner that asks for what examples do not answer.

    Parameters
    ----------
    learner : object
        Named in the sentence.
    asks, answers : sequences of str
        Names of questions: those of the learner, and those that have an answer.
    name : str, optional
        The class, written by a user, whose answers they are; else they are an oracle's.

    Examples
    --------
    >>> require_answers("Perceptron(k=5)", ["argmax", "kbest"], ["argmax"], "Sign")
    Traceback (most recent call last):
    ...
    trelliswork.errors.InvalidInput: Perceptron(k=5) asks for kbest, which class Sign does not define: define
    kbest(x, weights, k, gold, cost_scale) or outputs(x), or use k=1.
    """
    for question in asks:
        if question in answers:
            continue
        what, definition, otherwise = QUESTIONS[question]
        if name is not None:
            raise InvalidInput(f"{learner} asks for {question}, which class {name} does not define: {definition}.")
        raise InvalidInput(f"{learner} asks for {question} ({what}), which these examples do not answer: {otherwise}.")
