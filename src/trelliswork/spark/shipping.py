"""How a model gets to the workers of Spark: as one file on each machine, mapped by all processes there.

    driver                            machine of an executor              Python worker
    model --save--> file --addFile--> file in the folder of files --mmap--> model, opened once, kept for later tasks

A broadcast variable would be read into the memory of every worker.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from trelliswork.atomic_files import replacing
from trelliswork.errors import TrellisworkError
from trelliswork.estimators.loading import load

__all__ = ["Shipped", "in_partition", "ship"]

_KEPT = 4  # models that a worker keeps open


@dataclass(frozen=True)
class Shipped:
    """A model by the name of its file, which is all that tasks carry, and what no file holds."""

    name: str
    segment_features: Any = None

    def model(self) -> Any:
        """Return the model; for workers."""
        found = _opened.pop(self.name, None)
        if found is None:
            from pyspark import SparkFiles

            found = load(SparkFiles.get(self.name), segment_features=self.segment_features)
        _opened[self.name] = found  # the last one used is the last one to go
        while len(_opened) > _KEPT:
            del _opened[next(iter(_opened))]
        return found


_opened: dict[str, Any] = {}  # the models of this worker, by name


def ship(model: Any, session: Any) -> Shipped:
    """Hand a model to all workers of a session, those to come as well; the same one is sent once.

    Parameters
    ----------
    model : estimator
        One that was trained.
    session : pyspark.sql.SparkSession
        Of a cluster, or of Spark Connect.
    """
    from pyspark import cloudpickle

    file = io.BytesIO()
    model.save(file)
    data, described = file.getbuffer(), getattr(model, "segment_features", None)
    digest = hashlib.sha256(data)
    if described is not None:
        digest.update(cloudpickle.dumps(described))
    name = f"trelliswork-{digest.hexdigest()[:32]}.tw"
    if (_id(session), name) not in _sent:
        path = os.path.join(_folder().name, name)
        if not os.path.exists(path):
            with replacing(path) as copy:
                copy.write(data)
        if _is_remote(session):
            session.addArtifacts(path, file=True)
        else:
            session.sparkContext.addFile(path)
        _sent.add((_id(session), name))
    return Shipped(name, described)


_sent: set[tuple[str, str]] = set()  # applications, or sessions of Spark Connect, and what they have


def _id(session: Any) -> str:
    found: str = session.session_id if _is_remote(session) else session.sparkContext.applicationId
    return found


def _is_remote(session: Any) -> bool:
    """Whether this is Spark Connect, which has no context."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where executors fetch models from as long as this process lives."""
    return tempfile.TemporaryDirectory(prefix="trelliswork-spark-")


@contextmanager
def in_partition() -> Iterator[None]:
    """Say of what is wrong in which partition it is; for workers."""
    try:
        yield
    except TrellisworkError as error:
        from pyspark import TaskContext

        context = TaskContext.get()
        place = "" if context is None else f"partition {context.partitionId()}, "
        raise type(error)(f"{place}{error}") from None
