"""The questions that learners ask about examples: their names, and what is said where one has no answer.

A learner's ``asks`` are the names of its questions. What examples answer is computed, never declared: an oracle's
``answers`` follow from the interfaces that it hands out (``core/oracle.hpp``), those of a `trelliswork.Structure` from
the methods that its class defines.
"""

from __future__ import annotations

from collections.abc import Sequence

from trelliswork.errors import InvalidInput

__all__ = ["QUESTIONS", "require_answers"]

# Each with what it asks for, and what to do where a class written by a user does not answer it.
QUESTIONS = {
    "argmax": ("the best output", "define argmax(x, weights, gold, cost_scale) or outputs(x)"),
    "kbest": (
        "several best outputs",
        "define kbest(x, weights, k, gold, cost_scale) or outputs(x), or use k=1",
    ),
    "expectations": (
        "sums over all outputs",
        "define expectations(x, weights, gold, cost_scale) or outputs(x), with parts(x) marginals(scores), or choose a "
        "learner that asks for the best output only",
    ),
    "parts": (
        "marginals of parts under any scores",
        "define outputs(x), with parts(x) marginals(scores), or choose another learner",
    ),
    "local": ("single decisions, each given gold before it", "define outputs(x), or choose another learner"),
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
        what, remedy = QUESTIONS[question]
        if name is not None:
            raise InvalidInput(f"{learner} asks for {question}, which class {name} does not define: {remedy}.")
        raise InvalidInput(
            f"{learner} asks for {question} ({what}), which these examples do not answer: choose another learner, or "
            "examples with one gold output each, of a structure that can answer. An oracle of chains must be made with "
            "use='best' for all but sums."
        )
