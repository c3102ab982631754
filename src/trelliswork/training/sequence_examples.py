"""One call of `fit`: the data on their way to an oracle, and the weights on theirs to a model."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.features.inputs import Inputs, head
from trelliswork.labels.constraints import Constraints, constraints_of, require_kept
from trelliswork.labels.encoded import Gold, require_paired
from trelliswork.models.trained import TrainedModel
from trelliswork.structures import checks
from trelliswork.training.same_run import SameRun, checksum_of_array
from trelliswork.training.warm_start import merged, relabelled
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.sequence_labeler import SequenceLabeler

__all__ = ["Job"]

FloatArray = npt.NDArray[np.float64]


class Job:
    """One call of `fit` or `partial_fit`: the data on their way to an oracle, and weights on theirs to a model."""

    def __init__(
        self,
        labeler: SequenceLabeler,
        inputs: Inputs,
        gold: Gold,
        weighting: Weighting,
        earlier: TrainedModel | None,
        keep_all: bool,
    ) -> None:
        self._labeler, self.inputs, self._gold, self._weighting = labeler, inputs, gold, weighting
        self._earlier, self._keep_all = earlier, keep_all
        weighting.require_meaning(labeler._learner())
        self.classes = sorted({*gold.names, *(earlier.labels if earlier is not None else ())})
        if not self.classes:
            raise InvalidInput("y has no labels to learn from: pass at least one labelled token.")
        self._hash_bits = labeler.hash_bits or 0
        self._names = self._hash_bits == 0 and inputs.named
        if earlier is not None and keep_all and earlier.hash_bits != self._hash_bits:
            raise InvalidInput(
                f"hash_bits is {labeler.hash_bits}, but the model to go on from has {earlier.hash_bits}."
            )
        self._tensors = None if earlier is None else relabelled(earlier.tensors, earlier.labels, self.classes)
        self.n_sequences = self.n_tokens = self.checksum = self._longest = 0

    def oracle(self, X: Any) -> _core.ChainOracle:
        """Read all examples and return what a learner sees of them."""
        number = {name: i for i, name in enumerate(self.classes)}
        order = np.array([number[name] for name in self._gold.names], dtype=np.int32)
        constraints = constraints_of(self._labeler.constraints, self.classes)
        if constraints is not None:
            require_kept(self._gold.renumbered(order), constraints, self.classes)
        examples = _core.Examples(self._hash_bits, self._names)
        self._sample, X = head(X)
        self._read(X, examples)
        self.checksum = examples.checksum()
        self._constraints = constraints
        templates = self.inputs.templates
        return self._made(examples, order, True if templates is None else templates.transitions, constraints)

    def same_run(self, dev: int) -> SameRun:
        """Return what a resumed run must have in common with this one; ``dev`` is a checksum of development data."""
        labeler, constraints = self._labeler, self._constraints
        settings = {
            "labels": self.classes,
            "min_count": int(labeler.min_count),
            "hash_bits": self._hash_bits,
            "combinations": labeler.combinations,
            "scoring": labeler.scoring if isinstance(labeler.scoring, str) else "a function",
            "features": self.inputs.as_settings(),
            "cost": checksum_of_array(checks.as_cost(labeler.cost, len(self.classes))),
            "constraints": None if constraints is None else [checksum_of_array(part) for part in constraints],
        }
        return SameRun(self.n_sequences, self.n_tokens, self.checksum, dev, settings)

    def first_weights(self, oracle: _core.ChainOracle) -> FloatArray | None:
        """Return where to start."""
        return None if self._tensors is None else np.asarray(oracle.weights_from(self._tensors))

    def model(self, oracle: _core.ChainOracle, weights: FloatArray, settings: dict[str, Any]) -> TrainedModel:
        """Return the model with these weights."""
        added = oracle.n_weights - len(weights)  # since the best iteration
        tensors = oracle.export(np.concatenate([weights, np.zeros(added)]) if added else weights)
        if self._keep_all and self._tensors is not None:
            tensors = merged(self._tensors, tensors, self._hash_bits)
            if self._longest < 2:  # no labels in a row: what is known of them stays
                tensors["transitions"] = self._tensors["transitions"]
        model = TrainedModel(tensors, settings)
        model.settings["training"]["known_share"] = self._known_share(model)
        return model

    def _known_share(self, model: TrainedModel) -> float:
        """Which part of the attributes of the first sequences has weights; rare ones may have none."""
        counts = [model.core.known(source) for source in self.inputs.sources(self._sample)]
        return sum(known for known, _ in counts) / max(sum(everything for _, everything in counts), 1)

    def _read(self, X: Any, examples: _core.Examples) -> None:
        if isinstance(X, Sized):
            require_paired(self._gold, len(X), "X")
        n_jobs = checks.as_jobs(self._labeler.n_jobs)
        first = 0
        self._weighting.require_length(len(self._gold))
        for source in self.inputs.sources(X, names=self._names):
            part = self._gold.of(first, source.lengths())
            sequence_weight, token_weight = self._weighting.of(first, part, self._gold)
            try:
                examples.add(source, part.codes, part.starts, sequence_weight, token_weight, n_jobs)
            except ValueError as error:
                raise InvalidInput(str(error)) from None
            self._longest = max(self._longest, int(source.lengths().max(initial=0)))
            first += source.n_sequences
        require_paired(self._gold, first, "X")
        self.n_sequences, self.n_tokens = examples.n_sequences, examples.n_tokens
        if not self.n_tokens:
            raise InvalidInput("X has no tokens to learn from: pass at least one sequence that is not empty.")

    def _made(
        self, examples: _core.Examples, order: npt.NDArray[np.int32], transitions: bool, constraints: Constraints | None
    ) -> _core.ChainOracle:
        labeler = self._labeler
        allowed_transitions, allowed_start, allowed_end = (
            (None, None, None) if constraints is None else (part.astype(np.uint8) for part in constraints)
        )
        cost = checks.as_cost(labeler.cost, len(self.classes))
        learner = labeler._learner()
        if not isinstance(labeler.cost, str) and not learner.costs and labeler.decoder != "mbr":
            raise InvalidInput(
                f"{learner!r} does not look at costs, nor does decoder='argmax'. Leave cost out, choose decoder='mbr', "
                "or a learner that does: CRF(margin=1.0), PassiveAggressive and most others."
            )
        combinations = labeler.combinations
        if combinations == "auto":
            combinations = "grown" if learner.grows else "seen"
        if not learner.sums and not self._gold.complete:
            raise InvalidInput(
                f"{type(learner).__name__} compares outputs with gold, so every token needs one label: "
                "y has tokens with several allowed labels or none. CRF learns from such data."
            )
        if not learner.grows and combinations == "grown":
            raise InvalidInput(
                f"{type(learner).__name__} sums over all outputs, so no weight is met later than others: "
                "combinations must be 'seen', 'transitions' or 'all' for it."
            )
        try:
            return _core.ChainOracle(
                examples,
                len(self.classes),
                order,
                labeler.min_count,
                combinations,
                transitions,
                allowed_transitions,
                allowed_start,
                allowed_end,
                cost if learner.costs else None,
                "fast" if learner.sums else "best",
                checks.as_jobs(labeler.n_jobs),
                learner.by_member,
                self._tensors,
                self._keep_all,
            )
        except ValueError as error:
            raise InvalidInput(str(error)) from None
