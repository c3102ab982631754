"""Training larger than memory: how much of it there is, and where the files go that take the rest.

What grows with the corpus (attributes, labels, lists of weights for each token) moves to files without a name as soon
as it takes too much; what a learner keeps for each weight has to fit. The core does both, in ``core/base/storage.hpp``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trelliswork import _core
from trelliswork.arguments import as_bytes
from trelliswork.errors import InvalidInput, ScratchError

__all__ = ["scratch_errors", "storage_of"]


def storage_of(memory: Any, folder: Any, learner: Any) -> _core.Storage | None:
    """Return what keeps training within so many bytes; None if they are not limited.

    Parameters
    ----------
    memory : str, int or None
        Of the whole process.
    folder : path or None
        Where files go; None is that of temporary files.
    learner : Learner
        Whose weights have to fit.
    """
    if memory is None:
        return None
    per_weight = getattr(learner, "bytes_per_weight", None)
    if per_weight is None:
        raise InvalidInput(
            f"{learner!r} keeps something of each example in memory, so that memory={memory!r} cannot be kept to. "
            "Leave memory out, or choose CRF, Perceptron, PassiveAggressive, MIRA, AROW, Pegasos or Subgradient."
        )
    remembers = getattr(learner, "memory", None) or 6
    fewer = f", or {type(learner).__name__}(memory={remembers // 2})" if learner.sums and remembers > 1 else ""
    where, size = str(folder) if folder is not None else tempfile.gettempdir(), as_bytes("memory", memory)
    try:
        with scratch_errors():
            return _core.Storage(where, size, per_weight, fewer)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None


@contextmanager
def scratch_errors() -> Iterator[None]:
    """Turn what the core says of files into `ScratchError`."""
    try:
        yield
    except _core.StorageError as error:
        advice = "Choose another scratch_folder, or a larger memory."
        raise ScratchError(error.errno, f"{error.strerror}. {advice}") from None
