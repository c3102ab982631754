"""Processes that train together: what they tell each other, and what happens when one of them is gone.

Process 0 leads. It gathers objects and broadcasts them while the shards are laid out; later vectors of numbers go to
and fro between it and each of the others. Nothing is added up on the way, so no order of addition is left to chance.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, LostProcess

__all__ = ["Alone", "Group", "TorchGroup", "connect"]

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")

_LOOK_UP = 0.2  # seconds between two looks at whether Ctrl-C was pressed


class Group:
    """Processes numbered from 0, of which this is one.

    Attributes
    ----------
    rank, size : int
        The number of this process, and how many there are.
    here : int
        How many of them are on this machine.
    broken : bool
        Whether some are left waiting for others, so that nothing more can be said.
    """

    rank: int
    size: int
    here: int = 1
    broken: bool = False

    def gather(self, thing: Any) -> list[Any] | None:
        """Return what every process passed, in their order, to process 0; None to the others."""
        raise NotImplementedError

    def broadcast(self, thing: Any) -> Any:
        """Return what process 0 passed."""
        raise NotImplementedError

    def send(self, vector: FloatArray, to: int) -> None:
        """Send a vector; it may go on its way later, so it must not be changed before the answer is there."""
        raise NotImplementedError

    def expect(self, size: int, of: int) -> Callable[[], FloatArray]:
        """Return how to wait for the vector that a process sends, of this size; it may arrive before."""
        raise NotImplementedError

    def receive(self, size: int, of: int) -> FloatArray:
        """Return the vector that a process sends, of this size."""
        return self.expect(size, of)()

    def finish(self) -> None:
        """Wait until all that was sent has gone."""

    def shards(self, n_shards: int, rank: int | None = None) -> range:
        """Return the shards that a process holds, this one if left out: neighbours, about as many for each.

        Examples
        --------
        >>> Alone().shards(3)
        range(0, 3)
        """
        rank = self.rank if rank is None else rank
        return range(rank * n_shards // self.size, (rank + 1) * n_shards // self.size)

    def together(self, work: Callable[[], T]) -> T:
        """Return what ``work`` does here; where it refuses its input in any process, all of them raise that.

        Raises
        ------
        InvalidInput
            What the first of the processes said that refused.
        """
        found: T | None = None
        told = None
        try:
            found = work()
        except (InvalidInput, OSError) as error:  # a file that is not there, too
            if self.size == 1:
                raise
            told = str(error)
        told = self.broadcast(_first(self.gather(told)))
        if told is not None:
            self.gather(None)  # so that process 0 is there until all have heard of it
            raise InvalidInput(told)
        return found  # type: ignore[return-value]


def _first(told: list[str | None] | None) -> str | None:
    """What the first process that refused its input said, and which it was."""
    refused = [f"process {rank}: {text}" for rank, text in enumerate(told or ()) if text is not None]
    return refused[0] if refused else None


class Alone(Group):
    """One process that holds every shard.

    Examples
    --------
    >>> Alone().gather("a"), Alone().broadcast("b")
    (['a'], 'b')
    """

    rank, size = 0, 1

    def gather(self, thing: Any) -> list[Any] | None:
        return [thing]

    def broadcast(self, thing: Any) -> Any:
        return thing


class TorchGroup(Group):
    """The processes of `torch.distributed`, whose default group must have been made.

    Whatever waits for another process waits in a thread of its own, so that Ctrl-C is heard meanwhile. A process that
    ends closes its connections, so that the others know at once; one that a network has lost is given up after the
    timeout that the group was made with.
    """

    def __init__(self) -> None:
        import torch
        from torch import distributed

        if distributed.get_backend() != "gloo":
            raise InvalidInput(
                f"torch.distributed uses {distributed.get_backend()!r}; vectors here are on processors: use 'gloo'."
            )
        self._torch, self._distributed = torch, distributed
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # torchrun and TorchDistributor say so
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        self._under_way: list[Any] = []
        threading.Thread(target=self._work, daemon=True).start()

    def gather(self, thing: Any) -> list[Any] | None:
        found = [None] * self.size if self.rank == 0 else None
        self._wait(lambda: self._distributed.gather_object(thing, found))
        return found

    def broadcast(self, thing: Any) -> Any:
        box = [thing]
        self._wait(lambda: self._distributed.broadcast_object_list(box))
        return box[0]

    def send(self, vector: FloatArray, to: int) -> None:
        tensor = self._torch.from_numpy(vector)
        self._under_way.append((self._wait(lambda: self._distributed.isend(tensor, to)), tensor))

    def expect(self, size: int, of: int) -> Callable[[], FloatArray]:
        tensor = self._torch.empty(size, dtype=self._torch.float64)
        coming = self._wait(lambda: self._distributed.irecv(tensor, of))

        def arrived() -> FloatArray:
            self._wait(coming.wait)
            self.finish()  # an answer is there, so the question has gone
            found: FloatArray = tensor.numpy()
            return found

        return arrived

    def finish(self) -> None:
        for sent, _ in self._under_way:
            self._wait(sent.wait)
        self._under_way.clear()

    def _wait(self, call: Callable[[], Any]) -> Any:
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._calls.put((call, answer))
        while True:
            try:
                found, error = answer.get(timeout=_LOOK_UP)
            except queue.Empty:
                continue
            if error is None:
                return found
            raise LostProcess(
                f"process {self.rank} of {self.size} no longer hears from another one, which has ended or cannot be "
                "reached; its own message says why. Start all of them again, and go on from the checkpoint."
            ) from error

    def _work(self) -> None:
        while True:
            call, answer = self._calls.get()
            try:
                answer.put((call(), None))
            except Exception as error:
                answer.put((None, error))


@contextmanager
def connect(timeout: float = 300.0) -> Iterator[Group]:
    """Connect the processes that ``torchrun`` or `TorchDistributor` has started; one that was not stays alone.

    Parameters
    ----------
    timeout : float, default 300.0
        Seconds after which another process that does not answer is given up. It must be longer than reading a shard,
        or a pass over it, takes.

    Examples
    --------
    >>> with connect() as group:
    ...     group.rank, group.size
    (0, 1)
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield Alone()
        return
    from torch import distributed

    if distributed.is_initialized():
        yield TorchGroup()
        return
    distributed.init_process_group("gloo", timeout=timedelta(seconds=timeout))
    group = TorchGroup()
    yield group
    if not group.broken:  # nor after an error: it would wait for processes that are gone
        distributed.destroy_process_group()
