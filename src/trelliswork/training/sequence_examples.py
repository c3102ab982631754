"""Labelled sequences on their way to an oracle, and the weights that were learned from them on theirs to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.corpora.tables import TokenStream, TokenTable
from trelliswork.errors import InvalidInput
from trelliswork.features.inputs import Inputs, head
from trelliswork.labels.constraints import constraints_of, require_kept
from trelliswork.labels.encoded import Gold, encoded, paired, require_paired, warn_of_unseen
from trelliswork.models.channels import described_chain
from trelliswork.models.trained import TrainedModel
from trelliswork.structures import checks
from trelliswork.training.examples import DevScore, Examples
from trelliswork.training.same_run import checksum_of_array, checksum_of_dev
from trelliswork.training.scoring import scoring_of
from trelliswork.training.scratch import scratch_errors, storage_of
from trelliswork.training.warm_start import merged, relabelled
from trelliswork.training.weighting import Weighting

if TYPE_CHECKING:
    from trelliswork.estimators.sequence_labeler import SequenceLabeler

__all__ = ["PartSequenceExamples", "SequenceExamples", "labelling_score"]

FloatArray = npt.NDArray[np.float64]

_SEQUENCES_READ = 64  # at a time, where memory is limited: attributes as Python holds them take a kilobyte a token


class SequenceExamples(Examples):
    """What one call of `SequenceLabeler.fit` or `partial_fit` learns from.

    Parameters
    ----------
    labeler : SequenceLabeler
        Its parameters are used.
    inputs : Inputs
        What is seen of a token.
    X, gold
        The sequences, and their labels as numbers.
    sample_weight, token_weight : optional
        As for `SequenceLabeler.fit`.
    earlier : TrainedModel, optional
        The model to start from.
    keep_all : bool
        Whether attributes that only the earlier model has stay in the new one.
    labels : iterable of str
        Labels that there are besides those of ``gold``.
    """

    def __init__(
        self,
        labeler: SequenceLabeler,
        inputs: Inputs,
        X: Any,
        gold: Gold,
        sample_weight: Any = None,
        token_weight: Any = None,
        earlier: TrainedModel | None = None,
        keep_all: bool = False,
        labels: Iterable[str] = (),
    ) -> None:
        super().__init__(labeler, inputs)
        self._gold, self._keep_all, self._min_count = gold, keep_all, labeler.min_count
        self._weighting = Weighting(sample_weight, token_weight, labeler.class_weight)
        self._weighting.require_meaning(self.learner)
        self.classes = sorted({*gold.names, *labels, *(earlier.labels if earlier is not None else ())})
        if not self.classes:
            raise InvalidInput("y has no labels to learn from: pass at least one labelled token.")
        self._names = self._hash_bits == 0 and inputs.named
        if earlier is not None and keep_all and earlier.hash_bits != self._hash_bits:
            raise InvalidInput(
                f"hash_bits is {labeler.hash_bits}, but the model to go on from has {earlier.hash_bits}."
            )
        self._earlier = None if earlier is None else self._taken_over(earlier)
        self._longest = 0
        number = {name: i for i, name in enumerate(self.classes)}
        order = np.array([number[name] for name in gold.names], dtype=np.int32)
        self._constraints = constraints_of(labeler.constraints, self.classes)
        self._storage = storage_of(labeler.memory, labeler.scratch_folder, self.learner)
        if self._constraints is not None and self._storage is None:  # with one, the core looks at one block at a time
            require_kept(gold.renumbered(order), self._constraints, self.classes)
        examples = _core.Examples(self._hash_bits, self._names, self._storage)
        self._sample, X = head(X)
        with scratch_errors():
            self._read(X, examples)
        self._checksum = examples.checksum()
        with scratch_errors():
            self._dictionary = self._tag_dictionary(examples, order)
            self.oracle = self._made(examples, order)
        if self._dictionary is not None:
            self.oracle.limit(self._dictionary)

    def _taken_over(self, earlier: TrainedModel) -> dict[str, Any]:
        """Return the tensors of a model to start from, for the labels that there are now."""
        return relabelled(earlier.tensors, earlier.labels, self.classes)

    def _first_weights(self) -> FloatArray | None:
        return None if self._earlier is None else np.asarray(self.oracle.weights_from(self._earlier))

    def _model_of(self, weights: FloatArray, settings: dict[str, Any]) -> TrainedModel:
        added = self.oracle.n_weights - len(weights)  # since the best iteration
        tensors = self.oracle.export(np.concatenate([weights, np.zeros(added)]) if added else weights)
        if self._keep_all and self._earlier is not None:
            tensors = merged(self._earlier, tensors, self._hash_bits)
            if self._longest < 2:  # no labels in a row: what is known of them stays
                tensors["channel.transitions.weights"] = self._earlier["channel.transitions.weights"]
        if self._dictionary is not None:
            tensors |= self._dictionary.tensors()
            loss = self._dictionary.n_lost / self.n_tokens
            settings = settings | {"training": settings["training"] | {"dictionary_loss": loss}}
        return TrainedModel(tensors, settings | described_chain(tensors, len(self.classes)))

    def _dev_score(self, X_dev: Any, y_dev: Any) -> DevScore:
        return labelling_score(self._estimator, self.classes, self.inputs, X_dev, y_dev, self._dev_guess)

    def _dev_guess(self, sources: list[_core.Source], n_jobs: int) -> tuple[Callable[[FloatArray], Any], list[Any]]:
        """Return how weights label development data, and these as things that have a checksum."""
        sets = [self.oracle.dev(source, n_jobs) for source in sources]
        local, beam = self.learner.local, self._estimator.beam
        beam = None if beam is None else min(int(beam), len(self.classes))
        return (lambda weights: np.concatenate([part.argmax(weights, n_jobs, local, beam) for part in sets])), sets

    def _run_settings(self) -> dict[str, Any]:
        labeler = self._estimator
        return super()._run_settings() | {
            "order": int(labeler.order),
            "histories": labeler.histories,
            "tag_dictionary": labeler.tag_dictionary,
            "dictionary_attribute": labeler.dictionary_attribute,
            "beam": labeler.beam,
            "scoring": labeler.scoring if isinstance(labeler.scoring, str) else "a function",
            "cost": checksum_of_array(checks.as_cost(labeler.cost, len(self.classes))),
        }

    def _read(self, X: Any, examples: _core.Examples) -> None:
        if isinstance(X, Sized) and not isinstance(X, TokenStream):  # whose file would be read for it
            require_paired(self._gold, len(X), "X")
        n_jobs = checks.as_jobs(self._estimator.n_jobs)
        first = 0
        self._weighting.require_length(len(self._gold))
        at_a_time = None if self._storage is None or isinstance(X, TokenTable) else _SEQUENCES_READ
        for source in self.inputs.sources(X, names=self._names, at_a_time=at_a_time):
            part = self._gold.of(first, source.lengths())
            sequence_weight, token_weight = self._weighting.of(first, part, self._gold)
            try:
                codes = np.ascontiguousarray(part.codes, dtype=np.int32)
                examples.add(source, codes, part.starts, sequence_weight, token_weight, n_jobs)
            except ValueError as error:
                raise InvalidInput(str(error)) from None
            self._longest = max(self._longest, int(source.lengths().max(initial=0)))
            first += source.n_sequences
        require_paired(self._gold, first, "X")
        self.n_sequences, self.n_tokens = examples.n_sequences, examples.n_tokens
        if not self.n_tokens:
            raise InvalidInput("X has no tokens to learn from: pass at least one sequence that is not empty.")

    def _tag_dictionary(self, examples: _core.Examples, order: npt.NDArray[np.int32]) -> Any:
        """Return which labels words take, or None where they take all."""
        labeler, templates = self._estimator, self.inputs.templates
        if labeler.tag_dictionary is None:
            return None
        if self.learner.sums:
            raise InvalidInput(
                f"{self.learner!r} sums over all labellings, which a tag_dictionary does not limit. Choose a learner "
                "that looks for the best outputs, such as Perceptron."
            )
        word = labeler.dictionary_attribute
        if word is None:
            if templates is None:
                raise InvalidInput(
                    "tag_dictionary does not know which attribute of a token is its word: say how the names of such "
                    "attributes begin, dictionary_attribute='word:' for example."
                )
            word = f"{templates.columns[0]}[0]="
        try:
            found = examples.tag_dictionary(order, len(self.classes), word, float(labeler.tag_dictionary))
        except ValueError as error:
            raise InvalidInput(str(error)) from None
        if not found.n_words:
            raise InvalidInput(
                f"no attribute has a name that begins with {word!r}: there is no word for the tag_dictionary. See "
                "dictionary_attribute."
            )
        return found

    def _made(self, examples: _core.Examples, order: npt.NDArray[np.int32]) -> Any:
        """Return the oracle of the examples."""
        labeler, learner, constraints = self._estimator, self.learner, self._constraints
        templates = self.inputs.templates
        allowed_transitions, allowed_start, allowed_end = (
            (None, None, None) if constraints is None else (part.astype(np.uint8) for part in constraints)
        )
        cost = checks.as_cost(labeler.cost, len(self.classes))
        combinations = self._combinations()
        try:
            return _core.ChainOracle(
                examples,
                len(self.classes),
                order,
                self._min_count,
                combinations,
                True if templates is None else templates.transitions,
                allowed_transitions,
                allowed_start,
                allowed_end,
                cost if learner.costs else None,
                "fast" if learner.sums else "best",
                checks.as_jobs(labeler.n_jobs),
                learner.by_member,
                self._earlier,
                self._keep_all,
            )
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def _combinations(self) -> str:
        labeler, learner = self._estimator, self.learner
        if not isinstance(labeler.cost, str) and not learner.costs and labeler.decoder != "mbr":
            raise InvalidInput(
                f"{learner!r} does not look at costs, nor does decoder='argmax'. Leave cost out, choose decoder='mbr', "
                "or a learner that does: CRF(margin=1.0), PassiveAggressive and most others."
            )
        return super()._combinations()


class PartSequenceExamples(SequenceExamples):
    """Sequences for the oracle of any structure: development data are labelled by the model that weights make."""

    _parts: _core.PartExamples

    def _dev_guess(self, sources: list[_core.Source], n_jobs: int) -> tuple[Callable[[FloatArray], Any], list[Any]]:
        settings, beam = self._trial_settings(), [] if self._estimator.beam is None else [self._estimator.beam]

        def guess(weights: FloatArray) -> Any:
            model = self._model_of(weights, settings)
            batches = (batch for source in sources for batch in model.batches(source, n_jobs))
            return np.concatenate([best.labels for batch in batches for best in batch.argmax(*beam)])

        sets = [_core.SiteExamples(self._hash_bits, False) for _ in sources]
        for own, source in zip(sets, sources, strict=True):
            own.read(source, n_jobs)
        return guess, sets


def labelling_score(
    labeler: SequenceLabeler,
    classes: list[str],
    inputs: Inputs,
    X_dev: Any,
    y_dev: Any,
    dev_guess: Callable[[list[_core.Source], int], tuple[Callable[[FloatArray], Any], list[Any]]],
) -> DevScore:
    """Return how weights score on labelled sequences.

    Parameters
    ----------
    labeler, classes, inputs
        Whose parameters are used, the labels, and what is seen of a token.
    X_dev, y_dev
        The sequences and their labels.
    dev_guess : callable
        From the sequences and a number of threads to what labels them by weights, and to things with a checksum.
    """
    gold = encoded(y_dev, "y_dev", classes)
    sources = list(inputs.sources(X_dev, "X_dev"))
    lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(source.lengths() for source in sources)])
    gold = paired(gold, lengths, "X_dev")
    warn_of_unseen(gold.names[len(classes) :])
    guess, sets = dev_guess(sources, checks.as_jobs(labeler.n_jobs))
    measure = scoring_of(labeler.scoring, gold, gold.names)
    return DevScore(lambda weights: measure(gold, guess(weights), gold.names), checksum_of_dev(gold, sets))
