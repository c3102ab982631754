"""All shards as process 0 sees them: a question goes to each, and the answers are added up in the order of the shards.

The other processes `serve`: they hold shards, and no memory of what they were asked. So all that a run needs to be
taken up again is in process 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
    """

    def __init__(
        self,
        group: Group,
        shards: Sequence[ShardExamples],
        places: Sequence[Places],
        sizes: Sequence[int],
        n_weights: int,
    ) -> None:
        self._group, self._own, self._places, self._n_weights = group, list(shards), list(places), n_weights
        self._sizes = np.array(sizes, dtype=np.float64)
        self._asking = False  # whether answers are still to come; after Ctrl-C nobody waits for them

    def loss(self, weights: FloatArray, nu: float, precise: bool) -> tuple[float, FloatArray]:
        """Return the loss of all examples and its gradient."""
        answers = self._ask(LOSS, weights, [(nu, float(precise), 0.0)] * len(self._places))
        return float(sum(answer[0] for answer in answers)), self._added(answers)

    def curvature(self, weights: FloatArray, nu: float) -> FloatArray:
        """Return a diagonal estimate of the second derivative of the loss."""
        return self._added(self._ask(CURVATURE, weights, [(nu, 0.0, 0.0)] * len(self._places)))

    def descend(
        self, weights: FloatArray, seeds: Sequence[int], steps: Sequence[float]
    ) -> tuple[FloatArray, float, list[float]]:
        """Return weights after a stochastic pass over each shard, the losses met, and the steps that were made.

        A weight moves to the mean of where the shards that have it led it, by their numbers of examples: this is a
        start for other solvers, and what a single shard has seen should not wait for the others.
        """
        heads = [(float(seed), step, 0.0) for seed, step in zip(seeds, steps, strict=True)]
        answers = self._ask(DESCENT, weights, heads)
        moved, there = np.zeros(self._n_weights), np.zeros(self._n_weights)
        for answer, places, size in zip(answers, self._places, self._sizes, strict=True):
            moved[places] += size * answer[HEAD:]
            there[places] += size
        after = weights + moved / np.maximum(there, 1.0)
        return after, float(sum(answer[0] for answer in answers)), [float(answer[1]) for answer in answers]

    def epoch(self, weights: FloatArray, seeds: Sequence[int]) -> Epoch:
        """Return what an epoch of an online learner over each shard comes to: the mean of them all.

        This is iterative parameter mixing with a uniform mixture (McDonald, Hall & Mann 2010, fig. 3). In the mean of
        the weights on the way, shards count by their examples.
        """
        answers = self._ask(EPOCH, weights, [(float(seed), 0.0, 0.0) for seed in seeds])
        after, mean = weights.copy(), weights.copy()
        shares = self._sizes / self._sizes.sum()
        for answer, places, share in zip(answers, self._places, shares, strict=True):
            n = len(places)
            after[places] += answer[HEAD : HEAD + n] / len(self._places)
            mean[places] += share * answer[HEAD + n :]
        loss, updates = (float(sum(answer[i] for answer in answers)) for i in (0, 1))
        return Epoch(after, mean, loss, int(updates))

    def end(self) -> None:
        """Let the other processes go; those that still answer a question notice when this process ends."""
        if self._asking:
            self._group.broken = True
            return
        for rank in range(1, self._group.size):
            self._group.send(np.array([float(END)]), rank)
        for rank in range(1, self._group.size):  # a connection that closed too soon would look like a loss
            self._group.receive(1, rank)

    def _added(self, answers: Sequence[FloatArray]) -> FloatArray:
        total = np.zeros(self._n_weights)
        for answer, places in zip(answers, self._places, strict=True):
            total[places] += answer[HEAD:]
        return total

    def _ask(self, kind: int, weights: FloatArray, heads: Sequence[tuple[float, float, float]]) -> list[FloatArray]:
        """Return the answers of all shards; the others work while this process does."""
        group, self._asking = self._group, True
        held = [group.shards(len(heads), rank) for rank in range(group.size)]
        for rank in range(1, group.size):
            group.send(np.array([float(kind)]), rank)
            group.send(self._questions(kind, weights, [heads[i] for i in held[rank]], held[rank]), rank)
        own = self._questions(kind, weights, heads[: len(self._own)], held[0])
        answers = [shard.answer(part) for shard, part in zip(self._own, _split(own, self._places), strict=True)]
        for rank in range(1, group.size):
            sizes = [answer_size(kind, len(self._places[i])) for i in held[rank]]
            answers += np.split(group.receive(sum(sizes), rank), np.cumsum(sizes)[:-1])
        self._asking = False
        return answers

    def _questions(
        self, kind: int, weights: FloatArray, heads: Sequence[tuple[float, float, float]], shards: range
    ) -> FloatArray:
        """Return the questions to some shards, one behind the other."""
        out = np.empty(sum(HEAD + len(self._places[i]) for i in shards))
        parts = _split(out, [self._places[i] for i in shards])
        for part, head, i in zip(parts, heads, shards, strict=True):
            part[:HEAD] = [float(kind), *head]
            part[HEAD:] = weights[self._places[i]]
        return out


def _split(questions: FloatArray, places: Sequence[Places]) -> list[FloatArray]:
    """Return the questions to single shards, of which the first have these places."""
    ends = np.cumsum([HEAD + len(own) for own in places])
    return [part for part in np.split(questions, ends) if len(part)]


def serve(group: Group, shards: Sequence[ShardExamples]) -> None:
    """Answer the questions of process 0 until it has no more."""
    places = [shard.places for shard in shards]
    size = sum(HEAD + len(own) for own in places)
    while True:
        kind = int(group.receive(1, 0)[0])
        if kind == END:
            group.send(np.zeros(1), 0)
            group.finish()
            return
        questions = _split(group.receive(size, 0), places)
        group.send(np.concatenate([shard.answer(own) for shard, own in zip(shards, questions, strict=True)]), 0)
