"""The state of a training run in a file, to go on from after an interruption and end with the very same model.

It is a file of the model's layout: checked when loaded, replaced whole when written, never half there.
"""

from __future__ import annotations

import os
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from trelliswork.errors import InvalidInput

__all__ = ["Checkpoint"]

KIND = "checkpoint"


class Checkpoint:
    """Where the state of a run is kept, and whether what is kept belongs to this run.

    Parameters
    ----------
    path : str or None
        The file; None keeps nothing.
    run : mapping
        What must be the same when the run is taken up again, ready for JSON: parameters, options, data.
    seconds : float
        How long to wait before writing again; iterations that are quicker pass unwritten.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(os.path.join(folder, "state"), {"seed": 1}, seconds=0.0)
    ...     checkpoint.offer(lambda: {"weights": np.array([0.1, 0.2])})
    ...     checkpoint.load()["weights"]
    array([0.1, 0.2])
    """

    def __init__(self, path: str | None, run: Mapping[str, Any], seconds: float = 5.0) -> None:
        self._path = path
        self._run = dict(run)
        self._seconds = seconds
        self._written = time.monotonic()

    def offer(self, state: Any, at_once: bool = False) -> None:
        """Write what ``state()`` returns, names and arrays, if it is time to; what cannot be written is a warning."""
        if self._path is None or (not at_once and time.monotonic() - self._written < self._seconds):
            return
        import numpy as np

        from trelliswork import models

        arrays = {name: np.ascontiguousarray(array) for name, array in state().items()}
        tensors = {name: array.reshape(-1).view(np.uint8) for name, array in arrays.items()}
        forms = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
        with self._warning("training continues without a checkpoint"):
            models.save(self._path, tensors, {"kind": KIND, "run": self._run, "forms": forms})
        self._written = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """Return the state that was kept, or None if there is none yet; refuse one of another run."""
        if self._path is None or not os.path.exists(self._path):
            return None
        import numpy as np

        from trelliswork import models

        with open(self._path, "rb") as file:  # read, not mapped: the file will be replaced while the state is in use
            tensors, settings = models.load(file)
        if settings.get("kind") != KIND:
            raise InvalidInput(
                f"{self._path}: this is not a checkpoint, but a file of the kind {settings.get('kind')!r}."
            )
        self._refuse_another_run(settings.get("run"))
        try:
            forms = settings["forms"]
            return {
                name: np.frombuffer(tensors[name], dtype=np.dtype(form)).reshape(shape).copy()
                for name, (form, shape) in forms.items()
            }
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"{self._path}: this checkpoint is damaged ({error}). Start again without it."
            ) from error

    def remove(self) -> None:
        """Remove the file: the run is over."""
        if self._path is not None and os.path.exists(self._path):
            with self._warning("the model is saved, and the checkpoint is no longer needed"):
                os.unlink(self._path)

    @contextmanager
    def _warning(self, consequence: str) -> Iterator[None]:
        """Make a warning of what the system refuses: a full disk under the checkpoint must not cost the model."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            warnings.warn(f"{self._path}: {reason}; {consequence}.", UserWarning, stacklevel=2)

    def _refuse_another_run(self, run: Any) -> None:
        found = run if isinstance(run, dict) else {}
        for name, now in self._run.items():
            if found.get(name) != now:
                raise InvalidInput(
                    f"{self._path}: this checkpoint is from another run: {name} was {found.get(name)!r} and is "
                    f"{now!r}. Use the same options and data, or start again without --resume."
                )


def fingerprint(source: str) -> int | None:
    """Return a checksum of a file, to tell whether it is the same as before; None if it can be read only once."""
    if source == "-" or not os.path.isfile(source):
        return None
    checksum = 0
    with open(source, "rb") as file:
        while chunk := file.read(1 << 20):
            checksum = zlib.crc32(chunk, checksum)
    return checksum
