"""What the library tells while it works: records of the logger ``trelliswork``, for whoever listens.

Iterations of training and runs of a cross-validation are records of the level INFO. Estimators and functions that were
asked to be verbose write the same lines to the standard error if nobody listens.
"""

from __future__ import annotations

import logging
import sys

__all__ = ["logger", "tell"]

logger = logging.getLogger("trelliswork")
logger.addHandler(logging.NullHandler())


def tell(line: str, verbose: bool) -> None:
    """Make a record of a line, and write it to the standard error too if ``verbose`` and no handler takes records.

    Examples
    --------
    >>> import logging, sys
    >>> handler = logging.StreamHandler(sys.stdout)
    >>> logger.addHandler(handler)
    >>> logger.setLevel(logging.INFO)
    >>> tell("sgd 1: objective 42", verbose=False)
    sgd 1: objective 42
    >>> logger.removeHandler(handler)
    >>> logger.setLevel(logging.NOTSET)
    """
    logger.info(line)
    if verbose and sys.stderr is not None and not _is_heard():  # print would take None for the standard output
        print(line, file=sys.stderr, flush=True)


def _is_heard() -> bool:
    """Whether a handler of this logger, or of one above it, takes records of the level INFO."""
    if not logger.isEnabledFor(logging.INFO):
        return False
    above: logging.Logger | None = logger
    while above is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in above.handlers):
            return True
        above = above.parent if above.propagate else None
    return False
