"""Fit a labeler on shards of examples that several processes hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.distributed.groups import Alone, Group
from trelliswork.distributed.mixing import mixed, refuse_learner
from trelliswork.distributed.pool import Pool, serve
from trelliswork.distributed.shards import ShardExamples
from trelliswork.distributed.vocabulary import Plan, plan_of
from trelliswork.errors import InvalidInput
from trelliswork.estimators.fitted import atomic
from trelliswork.estimators.sequence_labeler import SequenceLabeler
from trelliswork.features.inputs import Inputs, inputs_of
from trelliswork.labels.constraints import Constraints, constraints_of
from trelliswork.labels.encoded import Gold, encoded
from trelliswork.models.channels import described_chain
from trelliswork.models.trained import TrainedModel
from trelliswork.structures import checks
from trelliswork.training.examples import DevScore, Examples, allowed_tensors
from trelliswork.training.loop import checked_learner, learn
from trelliswork.training.monitor import Callback
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.sequence_examples import labelling_score

__all__ = ["fit", "slice_of"]

FloatArray = npt.NDArray[np.float64]
Read = Callable[[int], tuple[Any, Any]]


def fit(
    labeler: SequenceLabeler,
    read: Read,
    n_shards: int,
    X_dev: Any = None,
    y_dev: Any = None,
    *,
    group: Group | None = None,
    callback: Callback | None = None,
    resume: Mapping[str, npt.NDArray[Any]] | None = None,
) -> SequenceLabeler:
    """Fit a labeler on shards. Every process calls this with the same arguments; process 0 gets the model.

    Parameters
    ----------
    labeler : SequenceLabeler
        With the learner CRF, Perceptron or PassiveAggressive; of order 1, without automaton, counts of labels and class
        weights, and not to be warm-started.
    read : callable
        ``read(i)`` returns ``X, y`` of shard i, counting from 0, as `SequenceLabeler.fit` takes them. A process calls
        it for the shards that it holds.
    n_shards : int
        How many there are, at least one for each process. The model depends on the shards to the last bit, but not on
        how many processes hold them, nor on ``n_jobs``.
    X_dev, y_dev : optional
        Development data; only process 0 looks at them.
    group : Group, optional
        The processes, from `connect`; left out, this one alone.
    callback : callable, optional
        As for `SequenceLabeler.fit`; only process 0 calls it.
    resume : dict of arrays, optional
        What `Progress.state` gave in an earlier run with the same shards, on however many processes; only process 0
        looks at it.

    Returns
    -------
    SequenceLabeler
        The labeler: in process 0 fitted, in the others as it was.

    Raises
    ------
    LostProcess
        When another process has ended or cannot be reached.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "walks", "home"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V", "R"]]
    >>> tagger = tw.SequenceLabeler()
    >>> fit(tagger, lambda i: (slice_of(X, i, 2), slice_of(y, i, 2)), n_shards=2).predict([["a", "dog", "walks"]])
    [['D', 'N', 'V']]
    """
    group = Alone() if group is None else group
    labeler._check_parameters()
    _refuse(labeler)
    n_shards = checks.as_count("n_shards", n_shards)
    if n_shards < group.size:
        raise InvalidInput(f"n_shards is {n_shards}, but there are {group.size} processes: each needs one at least.")
    laid_out = _lay_out(labeler, read, n_shards, group)
    if group.rank > 0:
        serve(group, laid_out.own)
        return labeler
    assert laid_out.pooled is not None
    try:
        fitted = _learn(labeler, laid_out.pooled, X_dev, y_dev, callback, resume)
    except InvalidInput:  # of development data or a state, which the others know nothing of
        laid_out.pooled.pool.end()
        raise
    laid_out.pooled.pool.end()
    return fitted


def slice_of(sequences: Any, i: int, n: int) -> Any:
    """Return the i-th of n slices of a list, about as long as the others.

    Examples
    --------
    >>> [slice_of("abcde", i, 2) for i in range(2)]
    ['ab', 'cde']
    """
    return sequences[i * len(sequences) // n : (i + 1) * len(sequences) // n]


@atomic
def _learn(
    labeler: SequenceLabeler,
    examples: PooledExamples,
    X_dev: Any,
    y_dev: Any,
    callback: Callback | None,
    resume: Mapping[str, npt.NDArray[Any]] | None,
) -> SequenceLabeler:
    examples.taken_by(labeler)
    problem = examples.problem(X_dev, y_dev, partial(labeler._keep, examples))
    learn(labeler, mixed(examples.learner, examples.pool, examples.n_shards), problem, callback, resume)
    return labeler


def _refuse(labeler: Any) -> None:
    """Refuse what cannot be said shard by shard."""
    if not isinstance(labeler, SequenceLabeler):
        raise InvalidInput(f"{labeler!r} cannot be trained on shards yet: only SequenceLabeler can.")
    refuse_learner(checked_learner(labeler.learner))
    if not labeler._is_chain:
        raise InvalidInput("order > 1, automaton, at_most and at_least are not known to work on shards.")
    if labeler.tag_dictionary is not None:
        raise InvalidInput("a tag_dictionary looks at all words at once, which no process holds. Leave it out.")
    if labeler.label_parts is not None:
        raise InvalidInput("label_parts are not known to work on shards. Leave them out.")
    if labeler.class_weight is not None:
        raise InvalidInput("class_weight looks at all labels at once, which no process holds. Leave it out.")
    if labeler.warm_start:
        raise InvalidInput("warm_start=True is not known to work on shards: set it to False.")


class _Read(NamedTuple):
    """A shard as it was read."""

    inputs: Inputs
    X: Any
    gold: Gold


class _LaidOut(NamedTuple):
    """The shards of this process, and for process 0 what all of them are together."""

    own: list[ShardExamples]
    pooled: PooledExamples | None


def _lay_out(labeler: SequenceLabeler, read: Read, n_shards: int, group: Group) -> _LaidOut:
    """Read the shards, agree on labels, attributes and weights, and lay the shards out for them."""

    def read_own() -> list[_Read]:
        out = []
        for i in group.shards(n_shards):
            X, y = read(i)
            with _named(i):
                inputs, X = inputs_of(X, labeler.features, TrainedModel.meets)
                out.append(_Read(inputs, X, encoded(y)))
        return out

    def encode_own() -> list[ShardExamples]:
        out = []
        for i, own in zip(group.shards(n_shards), shards, strict=True):
            with _named(i):
                out.append(ShardExamples(labeler, own.inputs, own.X, own.gold, labels=labels))
        return out

    shards = group.together(read_own)
    found = group.gather([own.gold.names for own in shards])
    labels = group.broadcast(found and sorted({name for own in found for names in own for name in names}))
    examples = group.together(encode_own)
    shards.clear()
    facts = group.gather([own.facts() for own in examples])
    planned = group.together(lambda: _planned(labeler, labels, facts))
    plan, n_sequences = group.broadcast(planned and (planned.plan, planned.n_sequences))
    for own in examples:
        own.laid_out(plan, n_sequences)
    places = group.gather([own.places for own in examples])
    if planned is None or places is None:
        return _LaidOut(examples, None)
    everywhere = [own for of_process in places for own in of_process]
    jobs = checks.as_jobs(labeler.n_jobs)
    threads = max(jobs, min(jobs * group.here, os.cpu_count() or 1))  # those of processes that wait for this one, too
    pool = Pool(group, examples, everywhere, planned.sizes, plan.n_weights, threads)
    return _LaidOut(examples, PooledExamples(labeler, examples[0], planned, pool))


class _named:
    """Says of an error which shard it is about."""

    def __init__(self, shard: int) -> None:
        self._shard = shard

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, InvalidInput):
            raise type(error)(f"shard {self._shard}: {error}") from error


class _Planned(NamedTuple):
    """What process 0 knows of all shards."""

    plan: Plan
    names: dict[str, list[bytes]]
    constraints: Constraints | None
    sizes: list[int]
    n_sequences: int
    n_tokens: int
    checksum: int


def _planned(labeler: SequenceLabeler, labels: list[str], facts: list[Any] | None) -> _Planned | None:
    """Return the plan of the shards of all processes; None where they are not known."""
    if facts is None:
        return None
    shards = [own for of_process in facts for own in of_process]
    for i, own in enumerate(shards):
        if own["inputs"] != shards[0]["inputs"]:
            raise InvalidInput(
                f"shard {i} has other features than shard 0: {own['inputs']} and {shards[0]['inputs']}. Tokens must "
                "have the same form and as many columns."
            )
    constraints = constraints_of(labeler.constraints, labels)
    K, learner = len(labels), checked_learner(labeler.learner)
    possible = np.ones(K * K, np.bool_) if constraints is None else constraints.transitions.ravel().astype(np.bool_)
    templates = shards[0]["inputs"]["templates"]
    plan, names = plan_of(
        shards,
        labels,
        labeler.hash_bits or 0,
        labeler.min_count,
        shards[0]["combinations"],
        True if templates is None else Inputs.from_settings(shards[0]["inputs"]).templates.transitions,  # type: ignore[union-attr]
        possible,
        learner.by_member,
    )
    sizes = [int(own["n_sequences"]) for own in shards]
    checksum = checksum_of_array(np.array([own["checksum"] for own in shards], dtype=np.uint64))
    n_tokens = sum(int(own["n_tokens"]) for own in shards)
    return _Planned(plan, names, constraints, sizes, sum(sizes), n_tokens, checksum)


class PooledExamples(Examples):
    """The examples of all shards, as process 0 has them: how weights become a model, and score."""

    def __init__(self, labeler: SequenceLabeler, first: ShardExamples, planned: _Planned, pool: Pool) -> None:
        super().__init__(labeler, first.inputs)
        self.classes, self.n_sequences, self.n_tokens = planned.plan.labels, planned.n_sequences, planned.n_tokens
        self.n_shards, self.pool = len(planned.sizes), pool
        self._plan, self._names, self._checksum = planned.plan, planned.names, planned.checksum
        self._sample, self._constraints = first._sample, planned.constraints
        factors = np.ones(planned.plan.n_weights) if planned.plan.by_member else np.sqrt(planned.plan.members)
        self.oracle = _core.SummedOracle(pool, self.n_sequences, factors)

    def taken_by(self, labeler: SequenceLabeler) -> None:
        """Use the parameters of this labeler from now on."""
        self._estimator = labeler

    @property
    def n_weights(self) -> int:
        return self._plan.n_parameters

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> TrainedModel:
        tensors = self._plan.tensors(weights, self._names, dropped=self.learner.grows)
        tensors |= allowed_tensors(self._constraints)
        return TrainedModel(tensors, settings | described_chain(tensors, len(self.classes)))

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        return labelling_score(self._estimator, self.classes, self.inputs, X_dev, y_dev, self._dev_guess)

    def _dev_guess(self, sources: list[_core.Source], n_jobs: int) -> tuple[Callable[[FloatArray], Any], list[Any]]:
        """Return how weights label development data, and these as things that have a checksum."""
        settings, seen = self._trial_settings(), _core.SiteExamples(self._hash_bits, False)
        for source in sources:
            seen.read(source, n_jobs)

        def guess(weights: FloatArray) -> Any:
            core = self._model_of(weights, settings).core
            return np.concatenate([core.argmax(source, n_jobs) for source in sources])

        return guess, [seen]

    def _run_settings(self) -> dict[str, Any]:
        labeler = self._estimator
        return super()._run_settings() | {
            "scoring": labeler.scoring if isinstance(labeler.scoring, str) else "a function",
            "cost": checksum_of_array(checks.as_cost(labeler.cost, len(self.classes))),
            "shards": self.n_shards,
        }
