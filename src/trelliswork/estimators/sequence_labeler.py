"""Sequence labelling: features, a chain of labels and any learner, behind `fit` and `predict`."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import as_bytes, callers_level, refuse_unordered
from trelliswork.errors import InvalidInput, UnknownAttributes, Unsatisfiable
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import atomic, snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.features.inputs import Inputs, head, inputs_of
from trelliswork.labels.counts import counts_of
from trelliswork.labels.encoded import Gold, encoded, paired, require_paired, warn_of_unseen
from trelliswork.labels.span_labels import SpanLabels
from trelliswork.learners.training import FloatArray
from trelliswork.models.automata import AutomatonModel
from trelliswork.models.calibration import Calibration, best_temperature
from trelliswork.models.decoding import PredictedSpan, least_risk, masks_of, spans_of
from trelliswork.models.decoding_constraints import Limits, bias_of
from trelliswork.models.trained import TrainedModel
from trelliswork.structures import checks
from trelliswork.structures.batch import ChainBatch
from trelliswork.structures.chain import Chain

if TYPE_CHECKING:
    from trelliswork.models.explanation import Explanation
    from trelliswork.training.feature_cache import FeatureCache
    from trelliswork.training.monitor import Callback
    from trelliswork.training.sequence_examples import SequenceExamples

__all__ = ["PredictedSpan", "SequenceLabeler"]

_SEQUENCES_ASKED = 2048  # whose scores are in memory at a time


class SequenceLabeler(LinearEstimator):
    """Learns to label sequences, token by token, and labels new ones.

    Parameters
    ----------
    learner : learner or str, default "crf"
        The training algorithm, such as ``tw.CRF(l2=0.5)``, or its name.
    features : {"auto", "attributes"}, str or Templates, default "auto"
        The features of a token. With ``"auto"``, words (strings) use ``Templates.words()``, and tuples of columns use
        templates for that number of columns; dicts, lists of strings and rows of numbers are attributes already. With
        ``"attributes"``, tuples of strings are attributes, too. Or templates, or the name of a ready-made set:
        ``"words"``, ``"chunking"``, ``"ner"``, ``"pos"``, ``"thesis"``.
    min_count : int, default 1
        Attributes that occur less often get no weights.
    hash_bits : int, optional
        Hash attributes into ``2 ** hash_bits`` buckets. The model has a fixed size, and its attributes have no names.
    combinations : {"auto", "seen", "transitions", "all", "grown"}, default "auto"
        Which weights the model has. ``"seen"``: attributes and labels that occur together in the training data.
        ``"transitions"``: also all pairs of labels. ``"all"``: every attribute with every label. ``"grown"``: those
        seen, and those that occur in wrong predictions during training. ``"auto"`` is ``"grown"`` for learners that use
        only the best outputs, and ``"seen"`` for those that sum over all outputs.
    order : int, default 1
        Number of previous labels on which the score of a label depends. Order 1 has weights of label pairs, order 2 of
        pairs and triples, and so on. Templates may attach to pairs (``pair:``) and to the longest n-grams (``ngram:``).
    histories : {"seen", "closed", "all"}, default "seen"
        Which histories to distinguish, with an order of 2 or more or an automaton. ``"seen"``: those of the training
        data; any other history counts as its longest suffix that was seen (Ye et al. 2009). ``"all"``: all that the
        constraints allow, which takes up to ``K ** order`` times as long. With both, every labelling is possible.
        ``"closed"``: only the n-grams of the training data are possible, in training and in answers, which is fastest.
    automaton : Automaton, or callable, optional
        A rule about whole sequences: labellings that the automaton does not accept are never predicted, have no
        probability, and are refused in training. Its labels must have names. Or a function that makes an automaton from
        the list of labels, ``classes_``.
    automaton_weights : {"none", "states", "arcs"}, default "none"
        Whether the automaton is only a rule; or its states have weights, too, which count when a label leads to the
        state; or its arcs have, that is, each label in each state.
    constraints : str, callable, (K, K) array of bool or SchemeConstraints, optional
        Which label may follow which, in training and in every answer: the name of a scheme such as ``"BIO"`` or
        ``"IOBES"``; a function of a label and the next one (None at the ends of a sequence); or an array in the order
        of ``classes_``.
    at_most, at_least : dict, optional
        How often labels may occur in a sequence, in training and in every prediction: ``at_most={"B-NP": 3}``. A tuple
        of labels as key counts them together. This works only with learners that use the best outputs, since there is
        no algorithm for sums over such labellings. For learners that sum, and for probabilities, use an automaton.
    tag_dictionary : float, optional
        The fraction of labels that may be lost for speed, such as ``0.001``. Words of the training data may then have
        only the labels seen with them, and those likely to occur with them in new text, so that at most this fraction
        of tokens is expected to lack its label. New words may have any label. This is faster with many labels. Only for
        learners that use the best outputs. ``dictionary_loss_`` is the fraction reached; see the notes.
    beam : int, optional
        Predict with a beam of this many labels per position: approximate, for label sets too large for exact search. It
        finds one labelling, so the k best, probabilities and marginals are refused. For chains of order 1. Training
        does not change; to train with a beam, see ``tw.Perceptron(beam=)``.
    dictionary_attribute : str, optional
        The prefix of attributes that are words, such as ``"word:"`` for dicts. By default the word is the first text
        column that the templates use.
    label_parts : str, dict or callable, optional
        Labels with a common part share its weights, in addition to the weights of each label: ``"-"`` separates the
        parts of ``"B-PER"`` and ``"I-PER"``; or the parts of each label, as a dict of lists or a function that returns
        one. Parts have weights with attributes, and pairs of parts have weights as transitions. For chains of order 1.
    class_weight : "balanced" or dict, optional
        Weights of tokens by label. ``"balanced"`` gives all labels the same total weight.
    cost : "hamming" or (K, K) array, default "hamming"
        ``cost[gold, label]`` of a wrong label: for softmax-margin training and for ``decoder="mbr"``.
    decoder : {"argmax", "mbr"}, default "argmax"
        What `predict` returns: the most probable labelling, or the one with the smallest expected cost (see the notes).
    scoring : {"auto", "f1", "accuracy"} or callable, default "auto"
        What `score` and early stopping measure: F1 of exact spans, accuracy of tokens, or ``scoring(y_true, y_pred)``.
        ``"auto"`` is F1 if the labels encode spans, as in BIO.
    patience : int, optional
        Stop after this many iterations in a row without a better score on the development data.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; models and answers are bit for bit the same for any number.
    random_state : int, optional
        Seed of the order in which stochastic learners visit the examples.
    warm_start : bool, default False
        Whether `fit` starts from the weights of the present model, if there is one.
    memory : str or int, optional
        Limit of the process's resident memory during training, in bytes or as ``"2GB"``. Data that grow with the corpus
        are then kept in files; the model is bit for bit the same. ``X`` and ``y`` should be generators, or come from
        `trelliswork.corpora.open_table`, since data that they hold in memory cannot be moved. See docs/training.md.
    scratch_folder : path, optional
        The folder of these files; by default, that of temporary files. They have no names and vanish with the process.
    verbose : int, default 0
        Whether to print a line for each iteration to the standard error.

    Attributes
    ----------
    classes_ : object array (K,)
        The labels, sorted.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether training ended because nothing was left to gain.
    interrupted_ : bool
        Whether training was interrupted (Ctrl-C).
    message_ : str
        The reason why training ended.
    history_ : list of dict
        For each iteration: ``iteration``, ``objective``, ``dev_score``, ``seconds``, ``phase`` and more.
    best_iteration_ : int
        The iteration whose weights were kept: the best on the development data, or the last without any.
    n_attributes_, n_weights_ : int
        Number of attributes and weights of the model.
    n_features_in_ : int
        Number of columns of a token, if tokens are rows of numbers.
    dictionary_loss_ : float
        With a ``tag_dictionary``, the fraction of tokens whose label it is expected to lack in new text like the
        training data, so that the label cannot be predicted; None without one.

    Notes
    -----
    The score of a labelling is the sum of the weights of its tokens' attributes with their labels, and of its pairs of
    neighbouring labels. In a CRF, p(y | x) = exp(score(x, y)) / sum over y' of exp(score(x, y')).

    With ``decoder="mbr"`` the answer is argmin over y of the sum over y' of p(y' | x) cost(y', y), the minimum Bayes
    risk. With the Hamming cost it has the largest expected number of correct tokens of all labellings that the
    constraints allow.

    With a ``tag_dictionary``, the probability that a word occurs with a further label is estimated from the words with
    the same frequency and labels. (In the Brown corpus, nouns later occur in titles, past tenses as participles.) The
    training data are split into 100 blocks; for each, the labels that a dictionary of the other blocks lacks are
    counted. In training, words seen at most ten times may have any label, since they are most like new words.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "walks", "home"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V", "R"]]
    >>> tagger = tw.SequenceLabeler().fit(X, y)
    >>> tagger.predict([["a", "dog", "walks"]])
    [['D', 'N', 'V']]

    An automaton is a rule about whole sequences, here at most one verb:

    >>> one_verb = lambda labels: tw.Automaton.at_most(labels, "V", 1)
    >>> tagger = tw.SequenceLabeler(automaton=one_verb).fit(X, y)
    >>> tagger.predict([["barks", "walks", "sleeps"]])
    [['D', 'N', 'V']]

    With learners that use only the best labelling, labels can be counted without an automaton:

    >>> tagger = tw.SequenceLabeler("perceptron", at_most={"V": 1}, at_least={"N": 1}).fit(X, y)
    >>> tagger.predict([["barks", "walks", "sleeps"]])[0].count("V")
    1
    """

    kind = "sequence-labeler"
    model_class = TrainedModel
    saved = (
        "order",
        "histories",
        "automaton_weights",
        "tag_dictionary",
        "dictionary_attribute",
        "beam",
        "class_weight",
        "decoder",
        "warm_start",
    )
    choices: ClassVar = {
        "histories": ("seen", "closed", "all"),
        "combinations": ("auto", "seen", "transitions", "all", "grown"),
        "decoder": ("argmax", "mbr"),
        "automaton_weights": ("none", "states", "arcs"),
    }

    order: int
    histories: str
    automaton: Any
    automaton_weights: str
    constraints: Any
    at_most: Any
    at_least: Any
    tag_dictionary: float | None
    dictionary_attribute: str | None
    beam: int | None
    label_parts: Any
    class_weight: Any
    cost: Any
    decoder: str
    scoring: Any
    warm_start: bool
    memory: Any
    scratch_folder: Any
    _model: TrainedModel

    def __init__(
        self,
        learner: Any = "crf",
        features: Any = "auto",
        *,
        min_count: int = 1,
        hash_bits: int | None = None,
        combinations: str = "auto",
        order: int = 1,
        histories: str = "seen",
        automaton: Any = None,
        automaton_weights: str = "none",
        constraints: Any = None,
        at_most: Any = None,
        at_least: Any = None,
        tag_dictionary: float | None = None,
        dictionary_attribute: str | None = None,
        beam: int | None = None,
        label_parts: Any = None,
        class_weight: Any = None,
        cost: Any = "hamming",
        decoder: str = "argmax",
        scoring: Any = "auto",
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        warm_start: bool = False,
        memory: str | int | None = None,
        scratch_folder: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    # ---- learning ------------------------------------------------------------------------------------------------

    @atomic
    def fit(
        self,
        X: Any,
        y: Any,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        token_weight: Iterable[npt.ArrayLike] | None = None,
        callback: Callback | None = None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        """Learn from sequences and their labels.

        Parameters
        ----------
        X : iterable of sequences, or TokenTable
            A token is a word, a tuple of columns, a dict or list of attributes, or a row of numbers; all tokens must be
            of one kind.
        y : iterable of label sequences, or LabelTable
            A label is a string. None is an unlabelled token or, instead of a list, an unlabelled sequence. A set
            contains the possible labels of a token. Training sums over unknown labels.
        X_dev, y_dev : optional
            Development data, scored after each iteration. The weights with the best score are kept.
        sample_weight : (n,) array-like, optional
            The weight of each sequence.
        token_weight : iterable of (T,) array-likes, optional
            The weight of each token, for each sequence.
        callback : callable, optional
            Called with a `Progress` after each iteration; training stops when it returns True.
        resume : dict of arrays, optional
            The result of `Progress.state` in an earlier run with the same data and parameters. Training continues from
            there to the identical model. A state of other data, weights or parameters is refused.

        Returns
        -------
        SequenceLabeler
            The estimator itself. An interrupt (Ctrl-C) ends training and keeps the best weights so far.

        Examples
        --------
        >>> import trelliswork as tw
        >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat", "tame": True}]]
        >>> tagger = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit(X, [["D", "N"], [None, {"N", "V"}]])
        >>> tagger.predict(X)
        [['D', 'N'], ['D', 'N']]
        """
        self._check_parameters()
        earlier = self._model if self.warm_start and hasattr(self, "_model") else None
        examples = self._examples(X, y, sample_weight, token_weight=token_weight, earlier=earlier)
        return self._learn(examples, X_dev, y_dev, callback, resume)

    @atomic
    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: npt.ArrayLike | None = None,
        token_weight: Iterable[npt.ArrayLike] | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Continue training from the present weights, on these sequences only.

        New attributes and labels may appear. Attributes that do not occur in ``X`` keep their weights. The others move
        to the best values for these sequences alone, so also pass old sequences that the model should not forget. To
        learn from old and new sequences together, use `fit` with ``warm_start=True``.

        Parameters
        ----------
        X, y, sample_weight, token_weight, callback
            As for `fit`. The first call is a `fit`.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
        >>> tagger.partial_fit([["the", "old", "dog"]], [["D", "A", "N"]]).classes_.tolist()
        ['A', 'D', 'N']
        """
        self._check_parameters()
        if not hasattr(self, "_model"):
            return self.fit(X, y, sample_weight=sample_weight, token_weight=token_weight, callback=callback)
        model = self._model
        if self.label_parts is not None:
            raise InvalidInput("partial_fit does not know label_parts: use fit.")
        if self.tag_dictionary is not None:
            raise InvalidInput(
                "partial_fit cannot go on with a tag_dictionary, which is made of all training data at once: use fit "
                "with warm_start=True."
            )
        examples = self._examples(
            X, y, sample_weight, model.inputs, token_weight=token_weight, earlier=model, keep_all=True
        )
        return self._learn(examples, callback=callback)

    def _examples(
        self, X: Any, y: Any, sample_weight: Any = None, inputs: Inputs | None = None, **more: Any
    ) -> SequenceExamples:
        # Imported here, as all that only training needs: a program that loads a model and asks it does not wait for it.
        from trelliswork.training.automaton_examples import AutomatonExamples
        from trelliswork.training.label_part_examples import LabelPartExamples
        from trelliswork.training.sequence_examples import SequenceExamples

        if inputs is None:
            inputs, X = inputs_of(X, self.features, (TrainedModel if self._is_chain else AutomatonModel).meets)
        made: type[SequenceExamples] = AutomatonExamples
        if self._is_chain:
            made = SequenceExamples if self.label_parts is None else LabelPartExamples
        return made(self, inputs, X, encoded(y), sample_weight, **more)

    def _saved_parameters(self) -> dict[str, Any]:
        cost = self.cost if isinstance(self.cost, str) else np.asarray(self.cost, dtype=float).tolist()
        scoring = self.scoring if isinstance(self.scoring, str) else "auto"
        return super()._saved_parameters() | {"cost": cost, "scoring": scoring}

    @classmethod
    def _restored_parameters(cls, model: TrainedModel, given: dict[str, Any]) -> dict[str, Any]:
        saved = model.settings["parameters"]
        cost = saved["cost"] if isinstance(saved["cost"], str) else np.array(saved["cost"])
        checks.as_cost(cost, len(model.labels))
        automaton = model.automaton.rule if isinstance(model, AutomatonModel) else None
        more = {"cost": cost, "scoring": saved["scoring"], "automaton": automaton}
        more["label_parts"] = model.settings.get("label_parts")
        for count in model.counts if isinstance(model, AutomatonModel) else ():
            key = count.labels[0] if len(count.labels) == 1 else count.labels
            name, n = ("at_least", count.least) if count.most is None else ("at_most", count.most)
            more[name] = {**more.get(name, {}), key: n}
        return super()._restored_parameters(model, given) | more

    @classmethod
    def _class_of(cls, settings: Mapping[str, Any]) -> type[TrainedModel]:
        return AutomatonModel if settings.get("structure") else TrainedModel

    def oracle(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: npt.ArrayLike | None = None,
        token_weight: Iterable[npt.ArrayLike] | None = None,
    ) -> _core.Oracle:
        """Return the examples as an oracle for learners; see `trelliswork.oracle`."""
        self._check_parameters()
        oracle: _core.Oracle = self._examples(X, y, sample_weight, token_weight=token_weight).oracle
        return oracle

    def feature_cache(self, X: Any, y: Any) -> FeatureCache | None:
        """Return features and labels, extracted once for all folds of a cross-validation; None if that is impossible.

        Parameters
        ----------
        X, y
            As for `fit`; every token must have one label.
        """
        from trelliswork.training.feature_cache import FeatureCache

        return FeatureCache(self, X, y) if FeatureCache.possible(self) else None

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> list[list[str]]:
        """Return the labels of each sequence.

        Parameters
        ----------
        X : iterable of sequences, or TokenTable
            Tokens of the kind that the model was trained on.
        allowed : sequence, optional
            For each sequence None, or a list with, for each token, a collection of possible labels, or None for any.
        fixed : sequence, optional
            For each sequence None, a dict from positions to known labels, or a list with each token's label or None.
        bias : dict, optional
            Numbers to add to the scores of labels at every token, which trades precision for recall.

        Returns
        -------
        list of lists of str

        Warns
        -----
        UnknownAttributes
            If most attributes of ``X`` are unknown to the model.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([["the", "dog"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
        >>> tagger.predict([["the", "barks"]], fixed=[{1: "V"}])
        [['D', 'V']]
        """
        labels, lengths = self._decode(X, allowed, fixed, bias)
        names: list[str] = self.classes_[labels].tolist()
        ends = np.cumsum(lengths).tolist()
        return [names[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    @snapshot
    def predict_kbest(
        self, X: Any, k: int, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> list[list[tuple[list[str], float]]]:
        """Return, for each sequence, its ``k`` most probable labellings with their log-probabilities, best first.

        Fewer are returned when fewer exist. ``allowed``, ``fixed`` and ``bias`` are as for `predict`; probabilities are
        then conditional on them.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([["the", "dog"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
        >>> [labels for labels, log_prob in tagger.predict_kbest([["the", "dog"]], k=2)[0]]
        [['D', 'N'], ['N', 'N']]
        """
        self._fitted()
        self._require_probabilities()
        return self._ranked(X, k, allowed, fixed, bias)

    def _ranked(
        self, X: Any, k: int, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> list[list[tuple[list[str], float]]]:
        """Return what `predict_kbest` does, to one who looks at the order and at differences alone."""
        self._require_no_beam()
        k = checks.as_count("k", k)

        def kbest(batch: ChainBatch) -> list[list[tuple[list[str], float]]]:
            pairs = zip(batch.kbest(k), batch.log_partition(), strict=True)
            return [
                [(self._names(labels), min(float(score - total), 0.0)) for labels, score in best]
                for best, total in pairs
            ]

        return self._ask(X, kbest, allowed, fixed, bias)

    @snapshot
    def predict_marginals(self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None) -> list[FloatArray]:
        """Return, for each sequence, p(y_t = label | x) as an array (T, K), columns in the order of `classes_`.

        ``allowed``, ``fixed`` and ``bias`` are as for `predict`; probabilities are then conditional on them.
        """
        self._fitted()
        self._require_probabilities()
        plain = allowed is None and fixed is None and bias is None and self._model.temperature == 1.0
        if self._model.local or not plain or self._model.structure is not None:
            return self._ask(X, lambda batch: batch.marginals(), allowed, fixed, bias)
        answers: list[FloatArray] = []
        for first, source in self._sources(X, _SEQUENCES_ASKED):
            with _placed(first):
                rows = np.asarray(self._model.core.marginals(source, checks.as_jobs(self.n_jobs)))
            ends = np.cumsum(source.lengths()).tolist()
            answers += [rows[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        return answers

    @snapshot
    def predict_max_marginals(
        self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> list[FloatArray]:
        """Return, for each sequence, the best score of a labelling with each label at each token, an array (T, K).

        The largest of each row is the score of the best labelling; its lead over the others is a margin. ``allowed``,
        ``fixed`` and ``bias`` are as for `predict`.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([["the", "dog"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
        >>> tagger.predict_max_marginals([["the", "dog"]])[0].argmax(axis=1).tolist()
        [0, 1]
        """
        self._fitted()
        self._require_no_beam()
        if getattr(self._model, "counts", None):
            self._require_probabilities()  # refuses
        return self._ask(X, lambda batch: batch.max_marginals(), allowed, fixed, bias)

    @snapshot
    def predict_spans(
        self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> list[list[PredictedSpan]]:
        """Return, for each sequence, the spans of its predicted labels, each with its probability.

        The probability of a span is exact: the sum over all labellings that have a span of this type with precisely
        these tokens, neither longer nor shorter. ``allowed``, ``fixed`` and ``bias`` are as for `predict`. Labels that
        violate the scheme are read in the way of conlleval.

        Examples
        --------
        >>> import trelliswork as tw
        >>> X, y = [["Ann", "Lee", "sings"], ["Bo", "hums"]], [["B-PER", "I-PER", "O"], ["B-PER", "O"]]
        >>> tagger = tw.SequenceLabeler(tw.CRF(l2=0.01), constraints="BIO").fit(X, y)
        >>> for span in tagger.predict_spans([["Ann", "Lee", "hums"]])[0]:
        ...     print(span.type, span.start, span.stop, round(span.probability, 1))
        PER 0 2 1.0
        """
        self._fitted()
        spelled = SpanLabels.of(self._model.labels)
        if spelled is None:
            raise InvalidInput(
                f"the labels of this model ({', '.join(self._model.labels[:4])}, ...) spell no spans in any scheme, as "
                "B-PER and I-PER do. Use predict."
            )
        self._require_probabilities()
        return self._ask(X, lambda batch: spans_of(batch, self._decoded(batch), spelled), allowed, fixed, bias)

    @snapshot
    def log_prob(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y | x) of each sequence, -inf if the constraints forbid ``y``.

        If labels are None or sets, it is the log-probability of all labellings that agree with them.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
        >>> tagger.log_prob([["the", "dog"]], [[None, None]]).tolist()
        [0.0]
        """
        self._fitted()
        self._require_probabilities()
        model, gold = self._model, self._known_gold(y)
        answers = [np.zeros(0)]
        n_jobs = checks.as_jobs(self.n_jobs)
        n_sequences = 0
        for first, source in self._sources(X, self._model.most_asked):
            part = gold.of(first, source.lengths())
            n_sequences += source.n_sequences
            free, bound = (model.batches(source, n_jobs, masks) for masks in (None, masks_of(part, len(model.labels))))
            for batch, limited in zip(free, bound, strict=True):
                with _placed(sum(map(len, answers))):
                    batch._require_possible()
                answers.append(np.minimum(limited.log_partition() - batch.log_partition(), 0.0))
        require_paired(gold, n_sequences, "X")
        return np.concatenate(answers)

    @atomic
    def calibrate(self, X: Any, y: Any) -> Self:
        """Fit a temperature that divides scores before they are turned into probabilities.

        Learners that use only the best output give scores of any scale, and nearly all marginals are 0 or 1. The
        temperature that maximises the probability of the labels of ``X`` (Guo et al. 2017) calibrates the
        probabilities, as far as one number can. It changes no predictions except those of ``decoder="mbr"``. The model
        file stores it, and new training discards it.

        Parameters
        ----------
        X, y
            Development data, as for `fit`, that the model has not been trained on; on training data it would be
            overconfident. Sequences whose labels it cannot predict, at any temperature, are skipped.

        Returns
        -------
        SequenceLabeler
            The estimator itself; ``calibration_`` has the result.

        Examples
        --------
        >>> import trelliswork as tw
        >>> corpus = tw.corpora.ingredients()
        >>> tagger = tw.SequenceLabeler("perceptron").fit(corpus.X_train[:300], corpus.y_train[:300])
        >>> found = tagger.calibrate(corpus.X_test, corpus.y_test).calibration_
        >>> found.temperature > 2.0, found.log_loss < found.log_loss_before
        (True, True)
        """
        self._fitted()
        self._require_no_beam()
        if getattr(self._model, "counts", None):
            self._require_probabilities()  # refuses
        model, gold = self._model.at_temperature(None), encoded(y, "y", self._model.labels)
        warn_of_unseen(gold.names[len(model.labels) :], "y")
        n_jobs, K = checks.as_jobs(self.n_jobs), len(model.labels)
        held = []
        for first, source in self._sources(X, self._model.most_asked):
            lengths = source.lengths()
            known = [mask[:, :K] for mask in masks_of(gold.of(first, lengths), len(gold.names))]
            held.append((model.scores(source, n_jobs), lengths, known))
        require_paired(gold, sum(len(lengths) for _, lengths, _ in held), "X")

        def log_losses(temperature: float) -> FloatArray:
            there = model.at_temperature(Calibration(temperature))
            losses = [np.zeros(0)]
            for scores, lengths, masks in held:
                free, bound = (there.chains(scores, lengths, n_jobs, allowed) for allowed in (None, masks))
                for batch, limited in zip(free, bound, strict=True):
                    losses.append(np.maximum(batch.log_partition() - limited.log_partition(), 0.0))
            return np.concatenate(losses)

        self._model = model.at_temperature(best_temperature(log_losses))
        return self

    @property
    def calibration_(self) -> Calibration | None:
        """The result of `calibrate`; None if it has not been called since training."""
        self._fitted()
        return Calibration.of(self._model.settings)

    @snapshot
    def score(self, X: Any, y: Any) -> float:
        """Return the score of the predicted labels against ``y``, by the measure ``scoring``."""
        labels, lengths = self._decode(X)
        gold = paired(encoded(y, "y", self._model.labels), lengths, "X")
        from trelliswork.training.scoring import scoring_of

        return scoring_of(self.scoring, gold, gold.names)(gold, labels, gold.names)

    @snapshot
    def explain(self, x: Any) -> Explanation:
        """Explain the labels of one sequence: what each attribute and transition adds to the score of each label.

        Parameters
        ----------
        x : sequence of tokens
            One sequence, not a list of them.

        Examples
        --------
        >>> import trelliswork as tw
        >>> X = [[["the"], ["dog", "noun-like"]], [["a"], ["cat", "noun-like"]]]
        >>> tagger = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit(X, [["D", "N"], ["D", "N"]])
        >>> why = tagger.explain([["the"], ["cow", "noun-like"]])
        >>> why.labels
        ['D', 'N']
        >>> [contribution.attribute for contribution in why.contributions(1)]
        [None, 'noun-like']
        """
        tokens, source = self._one(x, names=True)
        self._require_probabilities()
        rows = [tokens[t] for t in range(source.length(0))]
        with _placed(0, "x"):
            from trelliswork.models.explanation import explained

            return explained(self._model, source, rows)

    @snapshot
    def chain(self, x: Any) -> Chain:
        """Return the model's scores for one sequence as a `Chain`, for all other questions.

        Its labels are numbered in the order of `classes_`; labels and transitions that the constraints forbid score
        ``-inf``.

        Parameters
        ----------
        x : sequence of tokens
            One sequence, not a list of them.

        Returns
        -------
        Chain
            Use it for marginals, the k best, samples, entropy, further constraints and plots.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tagger = tw.SequenceLabeler().fit([["the", "dog"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
        >>> chain = tagger.chain(["the", "dog"])
        >>> tagger.classes_[chain.argmax().labels].tolist()
        ['D', 'N']
        >>> chain.marginals().shape
        (2, 3)
        """
        _, source = self._one(x)
        if self._model.structure is not None:
            other = f"of order {self.order}" if self.automaton is None else "has an automaton"
            other = "counts labels" if self._counts else other
            raise InvalidInput(
                f"a Chain is of order 1, and this model {other}. Its questions are predict_kbest, "
                "predict_marginals, predict_max_marginals and log_prob."
            )
        self._warn_of_unknown([source])
        (batch,) = self._model.batches(source, 1)
        chain: Chain = batch[0]
        return chain

    @property
    def dictionary_loss_(self) -> float | None:
        """The fraction of tokens whose label the ``tag_dictionary`` is expected to lack in new text; None without one.

        It is estimated on the training data: the fraction of tokens whose label would be missing from a dictionary of
        all other blocks of the data.

        Examples
        --------
        >>> import trelliswork as tw
        >>> X, y = [["a", "can", "can", "can"], ["a", "a", "can"]], [["D", "N", "V", "V"], ["D", "D", "V"]]
        >>> tagger = tw.SequenceLabeler("perceptron", tag_dictionary=0.2).fit(X, y)
        >>> round(tagger.dictionary_loss_, 3)
        0.143
        >>> tagger.predict([["can", "a"]])[0][1]
        'D'
        """
        self._fitted()
        found = self._model.settings["training"].get("dictionary_loss")
        return None if found is None else float(found)

    @property
    def transitions_(self) -> FloatArray:
        """The weights of pairs of labels, (K, K), in the order of `classes_`; -inf where they are forbidden."""
        self._fitted()
        return self._model.transitions

    @property
    def n_columns_(self) -> int:
        """Number of text columns that the features use; 1 if they are not templates."""
        self._fitted()
        templates = self._model.inputs.templates
        return 1 if templates is None else templates.n_columns

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checks.as_count("order", self.order)
        if self.automaton is None and self.automaton_weights != "none":
            raise InvalidInput(
                f"automaton_weights is {self.automaton_weights!r}, but there is no automaton to have any."
            )
        if self.memory is not None:
            as_bytes("memory", self.memory)
            if not self._is_chain:
                raise InvalidInput("memory is for chains of order 1, without an automaton, at_most and at_least.")
        elif self.scratch_folder is not None:
            raise InvalidInput("scratch_folder has no meaning without memory: say how much there is.")
        if self.tag_dictionary is not None:
            lost = self.tag_dictionary
            if isinstance(lost, bool) or not isinstance(lost, (int, float)) or not 0 < lost < 1:
                raise InvalidInput(
                    f"tag_dictionary is {lost!r}; expected the share of labels that may be lost, such as 0.001."
                )
            if not self._is_chain:
                raise InvalidInput(
                    "tag_dictionary is for chains of order 1, without an automaton, at_most and at_least."
                )
        elif self.dictionary_attribute is not None:
            raise InvalidInput("dictionary_attribute has no meaning without tag_dictionary.")
        if self.dictionary_attribute is not None and not isinstance(self.dictionary_attribute, str):
            raise InvalidInput(f"dictionary_attribute is {self.dictionary_attribute!r}; expected text.")
        if self.label_parts is not None:
            if (
                not (isinstance(self.label_parts, (str, Mapping)) or callable(self.label_parts))
                or self.label_parts == ""
            ):
                raise InvalidInput(
                    f"label_parts is {self.label_parts!r}; expected what stands between parts, a dict from labels to "
                    "lists of parts, or a function from a label to one."
                )
            if not self._is_chain:
                raise InvalidInput("label_parts are for chains of order 1, without an automaton, at_most and at_least.")
            for name, given in (("tag_dictionary", self.tag_dictionary), ("memory", self.memory)):
                if given is not None:
                    raise InvalidInput(f"label_parts and {name} do not go together: leave one of them out.")
            if self.warm_start:
                raise InvalidInput("label_parts and warm_start=True do not go together: leave one of them out.")
        if self.beam is not None:
            checks.as_count("beam", self.beam)
            if not self._is_chain:
                raise InvalidInput("beam is for chains of order 1, without an automaton, at_most and at_least.")
            if self.decoder == "mbr":
                raise InvalidInput("decoder='mbr' needs probabilities, which a beam does not find: leave beam out.")
        if self._counts and self.decoder == "mbr":
            raise InvalidInput("decoder='mbr' needs probabilities, which are not known with at_most or at_least.")

    @property
    def _counts(self) -> list[Any]:
        """How often labels may occur."""
        return counts_of(self.at_most, self.at_least)

    def _require_no_beam(self) -> None:
        if self.beam is not None:
            raise InvalidInput(
                f"beam is {self.beam}: it finds one labelling, which need not be the best, and neither the next best "
                "ones nor probabilities. Use predict, or set_params(beam=None) for exact answers."
            )

    def _require_probabilities(self) -> None:
        self._require_no_beam()
        if getattr(self._model, "counts", None):
            raise InvalidInput(
                "this model was trained with at_most or at_least: sums over all labellings, and so probabilities and "
                "marginals, are not known. Use predict, or count with an automaton."
            )
        super()._require_probabilities()

    @property
    def _is_chain(self) -> bool:
        """Whether labels depend on the one before and on no other, which has kernels of its own."""
        return self.order == 1 and self.automaton is None and not self._counts

    def _names(self, labels: npt.NDArray[Any]) -> list[str]:
        names: list[str] = self.classes_[labels].tolist()
        return names

    def _one(self, x: Any, names: bool = False) -> tuple[Any, _core.Source]:
        """Return the tokens of one sequence, and their attributes."""
        self._fitted()
        if not hasattr(x, "tocsr"):
            refuse_unordered(x, "x")
        tokens = x.tocsr() if hasattr(x, "tocsr") else list(x)
        (source,) = self._model.inputs.sources([tokens], "x", names=names)
        return tokens, source

    def _sources(self, X: Any, at_a_time: int | None) -> Iterator[tuple[int, _core.Source]]:
        """Yield the attributes of X, and the number of their first sequence, after a look at whether they are known."""
        self._fitted()
        inputs = self._model.inputs
        inputs.check(X)
        sample, X = head(X)
        first = 0
        for source in inputs.sources(X, at_a_time=at_a_time):
            if first == 0:
                small = source.n_sequences <= len(sample)
                self._warn_of_unknown([source] if small else inputs.sources(sample))
            yield first, source
            first += source.n_sequences

    def _warn_of_unknown(self, sources: Iterable[_core.Source]) -> None:
        counts = [self._model.known(source) for source in sources]
        known, everything = (sum(column) for column in zip((0, 0), *counts, strict=True))
        usual = self._model.settings["training"].get("known_share", 1.0)
        if known < 0.5 * usual * everything and (everything >= 50 or known == 0):
            few = "few" if known else "none"
            message = (
                f"the model knows {few} of the attributes of X. Was it trained on other features? Names, columns and "
                "their order must be the same."
            )
            warnings.warn(UnknownAttributes(message, known, everything), stacklevel=callers_level())

    def _decode(
        self, X: Any, allowed: Any = None, fixed: Any = None, bias: Any = None
    ) -> tuple[npt.NDArray[np.int32], Any]:
        """Return the labels of all tokens by number, and the lengths of the sequences."""
        lengths = [np.zeros(0, dtype=np.int64)]
        labels = [np.zeros(0, dtype=np.int32)]
        self._fitted()
        plain = allowed is None and fixed is None and bias is None and self.decoder == "argmax"
        beam = None if self.beam is None else min(checks.as_count("beam", self.beam), len(self.classes_))
        if plain and not self._model.local and self._model.structure is None:
            for first, source in self._sources(X, None):
                with _placed(first):
                    labels.append(np.asarray(self._model.core.argmax(source, checks.as_jobs(self.n_jobs), beam)))
                lengths.append(source.lengths())
        else:
            labels += self._ask(X, self._decoded, allowed, fixed, bias)
            lengths.append(np.array([len(part) for part in labels[1:]], dtype=np.int64))
        return np.concatenate(labels), np.concatenate(lengths)

    def _decoded(self, batch: ChainBatch) -> list[npt.NDArray[np.int32]]:
        if self.beam is not None:
            return [best.labels for best in batch.argmax(self.beam)]
        if self.decoder == "argmax":
            return [best.labels for best in batch.argmax()]
        if self.decoder != "mbr":
            raise InvalidInput(f'decoder is {self.decoder!r}; expected "argmax" or "mbr".')
        self._require_probabilities()
        return least_risk(batch, checks.as_cost(self.cost, batch.n_labels), self._model)

    def _ask(
        self, X: Any, question: Callable[[ChainBatch], Iterable[Any]], allowed: Any, fixed: Any, bias: Any
    ) -> list[Any]:
        """Return the answers for all sequences, asked some at a time."""
        self._fitted()
        limits = Limits(self._model.labels, allowed, fixed)
        added = bias_of(bias, self._model.labels)
        answers: list[Any] = []
        for first, source in self._sources(X, self._model.most_asked):
            masks = limits.of(first, source.lengths().tolist()) if limits else None
            for batch in self._model.batches(source, checks.as_jobs(self.n_jobs), masks, added):
                with _placed(len(answers)):
                    answers.extend(question(batch))
        limits.require_length(len(answers))
        return answers

    def _known_gold(self, y: Any) -> Gold:
        gold = encoded(y, "y", self._model.labels)
        unseen = gold.names[len(self._model.labels) :]
        if unseen:
            raise InvalidInput(f"y has the label {unseen[0]!r}; the model knows {', '.join(self._model.labels)}.")
        return gold


class _placed:
    """Says of a sequence for which every labelling is forbidden which one of X it is."""

    def __init__(self, first: int, single: str | None = None) -> None:
        self._first, self._single = first, single

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if not isinstance(error, ValueError):
            return
        told = re.fullmatch(r"(?:(?:chain|sequence) (\d+): )?(.*forbid.*)", str(error))
        if told is None or not (isinstance(error, Unsatisfiable) or type(error) is ValueError):
            return
        place = self._single or f"X[{self._first + int(told[1] or 0)}]"
        raise Unsatisfiable(f"{place}: {told[2]}") from None
