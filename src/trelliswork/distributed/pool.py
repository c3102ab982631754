"""All shards as process 0 sees them: a question goes to each, and the answers are added up in the order of the shards.

The other processes `serve`: they hold shards, and no memory of what they were asked. So all that a run needs to be
taken up again is in process 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.distributed.groups import Group
from trelliswork.distributed.shards import (
    CURVATURE,
    DESCENT,
    END,
    EPOCH,
    HEAD,
    LOSS,
    ShardExamples,
    answer_size,
)

__all__ = ["Epoch", "Pool", "serve"]

FloatArray = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Head = tuple[float, float, float]  # of a question, after its kind


class Epoch(NamedTuple):
    """What a pass over all shards, each from the same weights, came to."""

    weights: FloatArray
    mean: FloatArray  # of the weights on the way
    loss: float
    updates: int


class Pool:
    """The shards of all processes, for process 0 to ask.

    Parameters
    ----------
    group : Group
    shards : list of ShardExamples
        Those that this process holds.
    places : list of int arrays
        For every shard, which weights of the whole it has.
    sizes : list of int
        How many examples each shard has.
    n_weights : int
        Of the whole.
    n_jobs : int
        Threads for what this process does while the others wait: vectors go apart and are added up.
    """

    def __init__(
        self,
        group: Group,
        shards: Sequence[ShardExamples],
        places: Sequence[Places],
        sizes: Sequence[int],
        n_weights: int,
        n_jobs: int,
    ) -> None:
        self._group, self._own, self._n_weights = group, list(shards), n_weights
        self.n_jobs = n_jobs
        self._places = [_core.Places(own, n_weights) for own in places]
        self._sizes = np.array(sizes, dtype=np.float64)
        self._asking = False  # whether answers are still to come; after Ctrl-C nobody waits for them

    def loss(self, weights: FloatArray, gradient: FloatArray, nu: float, precise: bool) -> float:
        """Return the loss of all examples, and fill its gradient."""
        return self._add(LOSS, weights, gradient, (nu, float(precise), 0.0))

    def curvature(self, weights: FloatArray, diagonal: FloatArray, nu: float) -> None:
        """Fill a diagonal estimate of the second derivative of the loss."""
        self._add(CURVATURE, weights, diagonal, (nu, 0.0, 0.0))

    def descend(
        self, weights: FloatArray, seeds: Sequence[int], steps: Sequence[float]
    ) -> tuple[FloatArray, float, list[float]]:
        """Return weights after a stochastic pass over each shard, the losses met, and the steps that were made.

        A weight moves to the mean of where the shards that have it led it, by their numbers of examples: this is a
        start for other solvers, and what a single shard has seen should not wait for the others.
        """
        heads = [(float(seed), step, 0.0) for seed, step in zip(seeds, steps, strict=True)]
        moved, there = np.zeros(self._n_weights), np.zeros(self._n_weights)
        loss, made = 0.0, []
        for i, answer in enumerate(self._ask(DESCENT, weights, heads)):
            loss += float(answer[0])
            made.append(float(answer[1]))
            self._add_shard(i, self._sizes[i] * answer[HEAD:], moved)
            self._add_shard(i, np.full(len(self._places[i]), self._sizes[i]), there)
        return weights + moved / np.maximum(there, 1.0), loss, made

    def epoch(self, weights: FloatArray, seeds: Sequence[int]) -> Epoch:
        """Return what an epoch of an online learner over each shard comes to: the mean of them all.

        This is iterative parameter mixing with a uniform mixture (McDonald, Hall & Mann 2010, fig. 3). In the mean of
        the weights on the way, shards count by their examples.
        """
        after, mean, loss, updates = weights.copy(), weights.copy(), 0.0, 0
        shares = self._sizes / self._sizes.sum()
        for i, answer in enumerate(self._ask(EPOCH, weights, [(float(seed), 0.0, 0.0) for seed in seeds])):
            n = len(self._places[i])
            loss += float(answer[0])
            updates += int(answer[1])
            self._add_shard(i, answer[HEAD : HEAD + n] / len(self._places), after)
            self._add_shard(i, shares[i] * answer[HEAD + n :], mean)
        return Epoch(after, mean, loss, updates)

    def end(self) -> None:
        """Let the other processes go; those that still answer a question notice when this process ends."""
        if self._asking:
            self._group.broken = True
            return
        for rank in range(1, self._group.size):
            self._group.send(np.full(self._question_size(self._held(rank)), float(END)), rank)
        for rank in range(1, self._group.size):  # a connection that closed too soon would look like a loss
            self._group.receive(1, rank)

    def _add(self, kind: int, weights: FloatArray, total: FloatArray, head: Head) -> float:
        """Fill a vector with the sum of the shards' own; return that of their first numbers."""
        total[:] = 0.0
        first = 0.0
        for i, answer in enumerate(self._ask(kind, weights, [head] * len(self._places))):
            first += float(answer[0])
            self._add_shard(i, answer[HEAD:], total)
        return first

    def _ask(self, kind: int, weights: FloatArray, heads: Sequence[Head]) -> Iterator[FloatArray]:
        """Yield the answers of all shards in their order; the others work while this process does."""
        group, self._asking = self._group, True
        expected: list[Callable[[], FloatArray]] = []
        for rank in range(1, group.size):
            group.send(self._questions(kind, weights, heads, self._held(rank)), rank)
            expected.append(group.expect(sum(self._answer_sizes(kind, rank)), rank))
        own = self._questions(kind, weights, heads, self._held(0))
        questions = _split(own, self._places[: len(self._own)])
        # All of them first: sums empty the caches, which would not hold what they are added to from one to the next.
        yield from [shard.answer(question) for shard, question in zip(self._own, questions, strict=True)]
        for rank, answers in enumerate(expected, 1):
            yield from np.split(answers(), np.cumsum(self._answer_sizes(kind, rank))[:-1])
        self._asking = False

    def _questions(self, kind: int, weights: FloatArray, heads: Sequence[Head], shards: range) -> FloatArray:
        """Return the questions to some shards, one behind the other."""
        out = np.empty(self._question_size(shards))
        for part, i in zip(_split(out, [self._places[j] for j in shards]), shards, strict=True):
            part[:HEAD] = [float(kind), *heads[i]]
            self._places[i].to_shard(weights, part[HEAD:], self.n_jobs)
        return out

    def _add_shard(self, i: int, numbers: FloatArray, total: FloatArray) -> None:
        self._places[i].add_to_whole(numbers, total, self.n_jobs)

    def _held(self, rank: int) -> range:
        return self._group.shards(len(self._places), rank)

    def _question_size(self, shards: range) -> int:
        return sum(HEAD + len(self._places[i]) for i in shards)

    def _answer_sizes(self, kind: int, rank: int) -> list[int]:
        return [answer_size(kind, len(self._places[i])) for i in self._held(rank)]


def _split(questions: FloatArray, places: Sequence[Sized]) -> list[FloatArray]:
    """Return the questions to single shards, which have so many weights."""
    return np.split(questions, np.cumsum([HEAD + len(own) for own in places])[:-1])


def serve(group: Group, shards: Sequence[ShardExamples]) -> None:
    """Answer the questions of process 0 until it has no more."""
    places = [shard.places for shard in shards]
    size = sum(HEAD + len(own) for own in places)
    while True:
        question = group.receive(size, 0)
        if int(question[0]) == END:
            group.send(np.zeros(1), 0)
            group.finish()
            return
        questions = _split(question, places)
        group.send(np.concatenate([shard.answer(own) for shard, own in zip(shards, questions, strict=True)]), 0)
