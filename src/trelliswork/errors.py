"""The errors this library raises, each also the built-in error a caller would expect; and how they show a value."""

__all__ = [
    "ConvergenceWarning",
    "InvalidInput",
    "InvalidModel",
    "LostProcess",
    "ScratchError",
    "TrellisworkError",
    "UncalibratedScores",
    "UnknownAttributes",
    "UnknownParameter",
    "Unsatisfiable",
    "shown",
]


class TrellisworkError(Exception):
    """Base of every error raised on purpose by this library."""


class InvalidInput(TrellisworkError, ValueError):
    """An argument is wrong; the message names it, shows what was found and says what to do."""


class UnknownParameter(InvalidInput, TypeError):
    """A parameter has a name that is none of those there are; the message says which one it may be."""


class Unsatisfiable(InvalidInput):
    """Every structure is forbidden; the message says where the last possibility was lost."""


class InvalidModel(InvalidInput):
    """A model file is damaged, of another kind, or from a later release; the message says which."""


class LostProcess(TrellisworkError, ConnectionError):
    """Another process of a training on several machines has ended or cannot be reached."""


class ScratchError(TrellisworkError, OSError):
    """The files of a training that is larger than memory could not be written; the message says where, and why."""


class ConvergenceWarning(UserWarning):
    """Training ended before it had converged; the message says why and what to do."""


class UnknownAttributes(UserWarning):
    """Most attributes of the input are unknown to the model: it was trained on other features.

    The text has no counts, so that Python shows it once, however many sequences are predicted one by one.

    Attributes
    ----------
    known, total : int
        How many attributes of the first sequences the model knows, and how many they have.
    """

    def __init__(self, message: str = "", known: int = 0, total: int = 0) -> None:
        super().__init__(message)
        self.known, self.total = known, total


class UncalibratedScores(UserWarning):
    """The learner's scores are no probabilities, and an answer reads them as such; the message says what to do."""


def shown(value: object) -> str:
    """Return a value and its type for an error message, cut to a line."""
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"
