"""The errors this library raises: one family, each also the built-in error a caller would expect to catch."""

__all__ = ["InvalidInput", "InvalidModel", "TrellisworkError", "Unsatisfiable"]


class TrellisworkError(Exception):
    """Base of every error raised on purpose by this library."""


class InvalidInput(TrellisworkError, ValueError):
    """An argument is wrong; the message names it, shows what was found and says what to do."""


class Unsatisfiable(InvalidInput):
    """Every structure is forbidden; the message says where the last possibility was lost."""


class InvalidModel(InvalidInput):
    """A model file is damaged, of another kind, or from a later release; the message says which."""
