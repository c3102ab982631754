"""Labelled sequences for chains whose labels share the weights of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.labels.parts import LabelParts, parts_of
from trelliswork.models.channels import described_chain
from trelliswork.models.trained import TrainedModel
from trelliswork.structures import checks
from trelliswork.training.examples import allowed_tensors
from trelliswork.training.sequence_examples import PartSequenceExamples

__all__ = ["LabelPartExamples"]

FloatArray = npt.NDArray[np.float64]


class LabelPartExamples(PartSequenceExamples):
    """What one call of `SequenceLabeler.fit` with ``label_parts`` learns from."""

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> TrainedModel:
        K, parts = len(self.classes), self._label_parts
        tensors = self._parts.export(self.oracle, weights)
        moves = np.zeros(K * K, dtype=np.float64)
        if "channel.transitions.weights" in tensors:  # of pairs of labels and of their parts: the model has the sums
            own = np.asarray(tensors["channel.transitions.weights"], dtype=np.float64)
            offsets, codes = parts.pair_codes()
            moves = np.add.reduceat(own[codes], offsets[:-1])
        tensors |= allowed_tensors(self._constraints) | {
            "channel.transitions.weights": moves.astype(np.float32),
            "parts.offsets": parts.offsets.astype(np.uint32),
            "parts.codes": (K + parts.numbers).astype(np.uint32),
        }
        described = {"parts": parts.names, "label_parts": self._given_parts}
        return TrainedModel(tensors, settings | described_chain(tensors, K) | described)

    def _made(self, examples: _core.Examples, order: npt.NDArray[np.int32]) -> _core.LinearOracle:
        labeler, templates, K = self._estimator, self.inputs.templates, len(self.classes)
        combinations = self._combinations()
        if combinations == "transitions":
            raise InvalidInput("combinations='transitions' has no meaning with label_parts. Use 'seen' or 'all'.")
        if templates is not None and "pair" in templates.meets:
            raise InvalidInput(
                "label_parts are for attributes of single labels, and these templates have pairs of them."
            )
        self._given_parts = parts_of(labeler.label_parts, self.classes)
        self._label_parts = parts = LabelParts.of(self._given_parts, self.classes)
        if not parts.names:
            raise InvalidInput("label_parts: no two labels have a part in common, so there is nothing to share.")
        P = len(parts.names)
        channels: list[tuple[Any, ...]] = [("token", 0, "each", 0, K + P, parts.codes(), 0)]
        if templates is None or templates.transitions:
            channels.append(("transitions", 1, "tied", 0, K * K + P * P, parts.pair_codes(), 0))
        rules: list[Any] = [None, None, None]
        if self._constraints is not None:
            rules = [np.ascontiguousarray(part, dtype=np.uint8) for part in self._constraints]
        moves, start, end = rules
        try:
            self._parts = _core.PartExamples(channels, [examples], labeler.min_count, True, self.learner.by_member)
            cost = checks.as_cost(labeler.cost, K) if self.learner.costs else None
            structure = _core.PartStructure.chain(K, True, moves, start, end, True)
            return self._parts.label_oracle(structure, examples, order, cost, combinations)
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def _run_settings(self) -> dict[str, Any]:
        return super()._run_settings() | {"label_parts": self._given_parts}
