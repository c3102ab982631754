"""One shard of the examples, in the process that holds it: read, laid out by the plan of all, and asked.

A question is a vector, ``[kind, ...]`` and the weights that the shard has; so is the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.distributed.vocabulary import CHANNELS, Plan
from trelliswork.structures import checks
from trelliswork.training.sequence_examples import SequenceExamples

__all__ = ["CURVATURE", "DESCENT", "END", "EPOCH", "HEAD", "LOSS", "ShardExamples", "answer_size"]

FloatArray = npt.NDArray[np.float64]

END, LOSS, CURVATURE, DESCENT, EPOCH = range(5)  # kinds of questions
HEAD = 4  # numbers before the weights
DECAY = 0.7  # of a stochastic step, in a pass

_VECTORS = {LOSS: 1, CURVATURE: 1, DESCENT: 1, EPOCH: 2}  # of weights, in the answer

_NEVER = 2**32 - 1  # no attribute is as frequent: only those of the plan have weights


class ShardExamples(SequenceExamples):
    """A shard; it has an oracle once it was `laid_out`."""

    learner: Any
    places: npt.NDArray[np.int64]  # of its weights in the whole

    def _made(self, examples: _core.Examples, order: npt.NDArray[np.int32]) -> Any:
        self._waiting, self._order = examples, order
        return None

    def _combinations(self) -> str:
        found = super()._combinations()
        return "all" if found == "grown" else found  # the numbers of weights must not change

    def facts(self) -> dict[str, Any]:
        """Return what process 0 makes a plan of."""
        combinations, K = self._combinations(), len(self.classes)
        found: dict[str, Any] = {
            name: self._waiting.vocabulary(name, self._order, K, combinations != "all") for name in CHANNELS
        }
        self._keys = {name: found[name]["keys"] for name in CHANNELS}
        return found | {
            "transitions": self._waiting.seen_transitions(self._order, K).astype(np.int64),
            "combinations": combinations,
            "n_sequences": self.n_sequences,
            "n_tokens": self.n_tokens,
            "checksum": self._checksum,
            "inputs": self.inputs.as_settings(),
        }

    def laid_out(self, plan: Plan, n_sequences: int) -> None:
        """Make the oracle, whose weights are those of the plan that the shard meets.

        Parameters
        ----------
        plan : Plan
        n_sequences : int
            How many all shards have.
        """
        models = plan.shard_tensors(self._keys)
        self._earlier, self._keep_all, self._min_count = models[0], True, _NEVER
        self.oracle = super()._made(self._waiting, self._order)
        self.places = plan.places(self.oracle, models)
        self._share = self.n_sequences / n_sequences
        self._n_jobs = checks.as_jobs(self._estimator.n_jobs)
        del self._waiting, self._keys, self._earlier

    def answer(self, question: FloatArray) -> FloatArray:
        """Return the answer to a question."""
        kind, head, weights = int(question[0]), question[1:HEAD].tolist(), question[HEAD:]
        out = np.zeros(answer_size(kind, len(weights)))
        if kind == LOSS:
            nu, precise, _ = head
            out[0] = self.oracle.loss(weights, out[HEAD:], self._n_jobs, bool(precise), nu)
        elif kind == CURVATURE:
            self.oracle.curvature(weights, out[HEAD:], self._n_jobs, head[0])
        elif kind == DESCENT:
            seed, step, _ = head
            self._descend(weights, int(seed), step, out)
        else:
            self._learn_online(weights, int(head[0]), out)
        return out

    def _descend(self, weights: FloatArray, seed: int, step: float, out: FloatArray) -> None:
        """A pass of stochastic gradient descent: the losses met, the first step, and how far weights moved."""
        learner, l2 = self.learner, float(self.learner.l2) * self._share
        solver = _core.Sgd(
            self.oracle,
            weights,
            l2=l2,
            l1=0.0,  # which the second phase looks after
            nu=float(learner.margin),
            batch=learner._value("batch_size"),
            shards=learner._value("shards"),
            decay=DECAY,
            step=step,
            tol=0.0,
            seed=seed,
        )
        solver.step(self._n_jobs)
        after = solver.weights()
        out[:2] = solver.objective - 0.5 * l2 * float(after @ after), solver.first_step_size
        out[HEAD:] = after - weights

    def _learn_online(self, weights: FloatArray, seed: int, out: FloatArray) -> None:
        """A pass of an online learner: losses met, updates made, how far weights moved, and did so on average."""
        solver = self.learner._solver(self.oracle, weights, seed)
        solver.step(self._n_jobs)
        held = solver.state()["weights"]  # a scale, three numbers of the average, the weights without the scale, ...
        out[:2] = solver.objective, solver.facts["updates"]
        out[HEAD : HEAD + len(weights)] = held[0] * held[4 : 4 + len(weights)] - weights
        out[HEAD + len(weights) :] = solver.weights() - weights


def answer_size(kind: int, n_weights: int) -> int:
    """Return how many numbers an answer has.

    Examples
    --------
    >>> answer_size(LOSS, 10), answer_size(EPOCH, 10)
    (14, 24)
    """
    return HEAD + _VECTORS[kind] * n_weights
