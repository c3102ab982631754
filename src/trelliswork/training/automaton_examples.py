"""Labelled sequences for chains of order 2 and more or with an automaton, and the weights learned from them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.labels.constraints import automaton_of, require_accepted
from trelliswork.labels.counts import counting, counts_of, require_counts
from trelliswork.models.automata import AutomatonModel, LabelAutomaton
from trelliswork.models.trained import TrainedModel
from trelliswork.structures import checks
from trelliswork.structures.automaton import Automaton
from trelliswork.training.examples import allowed_tensors
from trelliswork.training.same_run import checksum_of_array
from trelliswork.training.sequence_examples import PartSequenceExamples

__all__ = ["AutomatonExamples"]

FloatArray = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class AutomatonExamples(PartSequenceExamples):
    """What one call of `SequenceLabeler.fit` with an order of 2 or more, or with an automaton, learns from."""

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> AutomatonModel:
        described = {
            "structure": self._automaton.as_settings(self._estimator.histories) | self._counted(),
            "blocks": {"labels": len(self.classes), "arcs": len(self._automaton.arcs)},
            "channels": {
                name: {"block": "labels" if block == 0 else "arcs", "sites": sites}
                for name, block, sites, *_ in self._channels
            },
        }
        tensors = self._parts.export(self.oracle, weights) | self._automaton.tensors()
        tensors |= allowed_tensors(self._constraints)
        return AutomatonModel(tensors, settings | described)

    def _counted(self) -> dict[str, Any]:
        """What the settings of the file say of how often labels occur."""
        counts = counts_of(self._estimator.at_most, self._estimator.at_least)
        return {"counts": [[list(count.labels), count.least, count.most] for count in counts]} if counts else {}

    def _taken_over(self, earlier: TrainedModel) -> Any:
        if self._keep_all:
            raise InvalidInput(
                "partial_fit is for order=1 without an automaton or counts. Otherwise, use fit with warm_start=True."
            )
        if not isinstance(earlier, AutomatonModel) or earlier.automaton.order != self._estimator.order:
            raise InvalidInput("warm_start goes on from a model of the same order. Fit a new labeler.")
        if (earlier.automaton.rule is None) != (self._estimator.automaton is None):
            raise InvalidInput(
                "warm_start: one of the earlier model and the labeler has an automaton, the other has none. Fit a new "
                "labeler."
            )
        return earlier

    def _first_weights(self) -> FloatArray | None:
        earlier: Any = self._earlier
        if earlier is None:
            return None
        tensors = earlier.renumbered(self._automaton, self.classes)
        return np.asarray(self._parts.weights_from(self.oracle, tensors))

    def _made(self, examples: _core.Examples, order: npt.NDArray[np.int32]) -> _core.LinearOracle:
        labeler, templates = self._estimator, self.inputs.templates
        combinations = self._combinations()
        if combinations == "transitions":
            raise InvalidInput(
                "combinations='transitions' is for order=1 without an automaton. Otherwise, use 'seen' or 'all'."
            )
        attributes = ["token"]
        if templates is not None:
            attributes += [name for name in ("pair", "ngram") if name in templates.meets]
        try:
            self._automaton = LabelAutomaton.of(self._found_ngrams(order), self._rule(order))
            transitions = True if templates is None else templates.transitions
            names = self._automaton.named(transitions, attributes, labeler.automaton_weights)
            self._channels = self._automaton.channels(names)
            merged = self._earlier is None  # a model to go on from may weigh them differently
            self._parts = _core.PartExamples(
                self._channels, [examples], labeler.min_count, merged, self.learner.by_member
            )
            cost = checks.as_cost(labeler.cost, len(self.classes)) if self.learner.costs else None
            counts = counts_of(labeler.at_most, labeler.at_least)
            require_counts(self._gold.renumbered(order), counts, self.classes)
            structure = counting(self._automaton.structure(tied=len(attributes) == 1), counts, self.classes)
            return self._parts.label_oracle(structure, examples, order, cost, combinations)
        except ValueError as error:
            if said := re.fullmatch(r"example (\d+): no output is allowed", str(error)):
                error = ValueError(
                    f"{self._gold.argument}[{said[1]}] has no labelling that constraints, histories and automaton "
                    "allow together. Check the labels, or leave one of the three out."
                )
            raise InvalidInput(str(error)) from None

    def _rule(self, order: npt.NDArray[np.int32]) -> Automaton | None:
        """Return the automaton that the user gave, after a look at whether gold keeps to it."""
        if self._estimator.automaton is None:
            return None
        rule = automaton_of(self._estimator.automaton, self.classes)
        require_accepted(self._gold.renumbered(order), rule)
        return rule

    def _run_settings(self) -> dict[str, Any]:
        rule, found = self._automaton.rule, super()._run_settings()
        if counted := self._counted():
            found |= counted
        if rule is not None:
            found["automaton"] = [
                self._estimator.automaton_weights,
                *map(checksum_of_array, (rule.numbered, rule.final)),
            ]
        return found

    def _found_ngrams(self, order: npt.NDArray[np.int32]) -> _core.NGrams:
        """Return the histories to tell apart: those that gold has, or all that the constraints allow."""
        labeler, K = self._estimator, len(self.classes)
        rules: list[Any] = [None, None, None]
        if self._constraints is not None:
            rules = [np.ascontiguousarray(part, dtype=np.uint8) for part in self._constraints]
        if labeler.histories == "all":
            return _core.NGrams.all(K, labeler.order, *rules)
        return _core.NGrams.seen(K, labeler.order, self._known_runs(order), labeler.histories == "seen", *rules)

    def _known_runs(self, order: npt.NDArray[np.int32]) -> list[npt.NDArray[np.uint32]]:
        """Return the labels of each sequence, cut where a token has several or none."""
        gold = self._gold
        known: Ints = order[gold.codes].astype(np.int64)
        if gold.counts is not None:
            first = np.cumsum(gold.counts) - gold.counts
            known = np.where(gold.counts == 1, known[np.minimum(first, len(known) - 1)], -1)
        runs = []
        for own in np.split(known, gold.token_offsets[1:-1]):
            gaps = np.flatnonzero(own < 0)
            runs += [run[run >= 0].astype(np.uint32) for run in np.split(own, gaps)]
        return [run for run in runs if len(run)]
