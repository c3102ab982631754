"""The hidden Markov model: counts from known labels, Baum-Welch for unknown ones, a chain for every question.

    p(x, y) = t(y_1 | *) prod_i o(x_i | y_i) prod_i t(y_i+1 | y_i) t(STOP | y_m)

Its logarithm is the score of a `Chain`: emissions are the unary scores, START and STOP the two ends (Stratos 2018;
"Structured Prediction", eq. 77.2). STOP is one of the successors of a label, so the denominators count it. It is a
factor at the end of both the sum and the maximum; Stratos 2018 omits it there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import (
    callers_level,
    checked_labels,
    checked_sequence,
    checked_sequences,
    sorted_labels,
)
from trelliswork.corpora.tables import arrow_tokens
from trelliswork.errors import ConvergenceWarning, InvalidInput, Unsatisfiable
from trelliswork.estimators.base import Estimator
from trelliswork.estimators.fitted import atomic, check_is_fitted, snapshot
from trelliswork.estimators.hmm.baum_welch import Learned, baum_welch, random_guess
from trelliswork.estimators.hmm.counts import (
    UNLABELLED,
    Array,
    Corpus,
    Counts,
    Ints,
    LogParameters,
    PseudoCounts,
    blocks,
    hard_counts,
    log_of,
    split,
)
from trelliswork.estimators.hmm.files import exported_model, labeler_of, restored_model
from trelliswork.estimators.hmm.unknown_words import UnseenTokens, lexicon
from trelliswork.estimators.saving import SavesModel
from trelliswork.labels.span_labels import SpanLabels
from trelliswork.labels.tables import arrow_labels
from trelliswork.models.decoding import PredictedSpan, spans_of
from trelliswork.models.registry import refuse_arguments
from trelliswork.structures.batch import ChainBatch
from trelliswork.structures.chain import Chain

if TYPE_CHECKING:
    from trelliswork.estimators.sequence_labeler import SequenceLabeler

__all__ = ["HMM"]

Sequences = Iterable[Iterable[Hashable]]
LabelLists = Iterable[Iterable[Hashable] | None]

_FIRST_GUESS = 0.1  # pseudo-count of the first guess of EM when the model itself has none: what starts at 0 stays at 0
_ROUNDING = 1e-6  # how far from one a sum of probabilities may be: they are often typed


class HMM(SavesModel, Estimator):
    """A hidden Markov model of the first order over tokens of any hashable kind.

    Parameters
    ----------
    n_states : int, optional
        Number of states of a model that learns without labels; they are called 0, 1, ... Not needed with labels.
    use_stop : bool, default True
        Whether a sequence ends with a STOP, which has a probability for each label. The probabilities of all sequences
        of all lengths then sum to one. Otherwise the end of a sequence has no probability.
    transition_pseudo_count : float, default 0.1
        Added to the count of every pair of labels, and of every label with START and STOP.
    emission_pseudo_count : float, default 0.001
        Added to the count of every known token with every label. Keep it small for large vocabularies, since it is
        added once for each token.
    unknown : {"suffix", "uniform", "error"}, default "suffix"
        How to treat unseen tokens: by the rare words of the same shape and ending (Brants 2000; see the notes), as a
        single class of all unseen tokens, or with a `ValueError`. The first two reserve some of every label's
        probability for them.
    class_pseudo_count : float, default 0.3
        With "suffix", added to the counts of every known word, distributed over the labels as in its class.
    rare_count : int, default 10
        Endings are counted on words seen at most this often.
    max_suffix : int, default 5
        Length of the longest ending used, in characters.
    n_iter : int, default 100
        Maximum number of iterations of Baum-Welch.
    tol : float, default 1e-4
        Baum-Welch stops when an iteration gains at most this much per token.
    random_state : int, numpy Generator or None, default None
        Seed of the initial parameters if there are no labels at all.
    n_jobs : int, optional
        Number of threads that share a batch of sequences; the results do not depend on it.

    Attributes
    ----------
    classes_ : object array (K,)
        The labels, sorted (in the order given, for `from_parameters`).
    vocabulary_ : dict
        Maps each known token to its column of `log_emissions_`.
    log_start_, log_transitions_, log_stop_ : arrays (K,), (K, K) and (K,)
        log t(y | START), log t(column | row) and log t(STOP | y); `log_stop_` is None without a STOP.
    log_emissions_ : array (K, V)
        log o(token | label) of the known tokens.
    log_likelihood_history_ : list of float
        The objective of Baum-Welch, from the initial parameters on: the log-likelihood of the tokens and the known
        labels, before probability is reserved for unseen tokens, plus the log of the Dirichlet prior of the
        pseudo-counts, up to a constant. Empty after counting.
    n_iter_ : int
        Number of iterations; 0 after counting.
    converged_ : bool
        Whether training ended because of ``tol``.
    interrupted_ : bool
        Whether training was interrupted (Ctrl-C); the result of the last complete iteration is kept.

    Notes
    -----
    With labels, the estimates are relative counts ("Structured Prediction", eq. 77.4): t(b | a) = count(a, b) / sum of
    count(a, .), where STOP is one of the successors of a. A row that has neither counts nor pseudo-counts is uniform.

    An unseen token x has o(x | y) = lambda(y) p(c | y), where lambda(y) is the share of tokens of label y that were
    seen once (their number, plus 0.01, is added to the counts of y as one more token). c is the narrowest class of x
    that contains a rare word: its shape (capitals, digits, hyphen, punctuation) with the longest possible ending, or
    the same word in another case. Bayes' rule gives p(c | y) from p(y | c), in which each class is smoothed with the
    weight of 5 words of the next wider one. So every unseen token is possible with every label. Tokens that are not
    strings have lambda(y). A known word also has ``class_pseudo_count`` additional occurrences with the labels of its
    class, since a word seen once as a noun may well be a verb if it ends like one.

    Baum-Welch keeps known labels fixed, and starts from the counts of the labelled part. Training on text without
    labels raises its likelihood, but does not always improve the labels (Merialdo 1994). For parts of speech they get
    worse after one or two iterations, so keep ``n_iter`` low and check held-out labels.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "walks", "home"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V", "R"]]
    >>> hmm = tw.HMM().fit(X, y)
    >>> hmm.predict([["a", "dog", "talks"]])
    [['D', 'N', 'V']]
    """

    classes_: npt.NDArray[np.object_]
    vocabulary_: dict[Hashable, int]
    log_start_: Array
    log_transitions_: Array
    log_stop_: Array | None
    log_emissions_: Array
    log_likelihood_history_: list[float]
    n_iter_: int
    converged_: bool
    interrupted_: bool

    def __init__(
        self,
        n_states: int | None = None,
        *,
        use_stop: bool = True,
        transition_pseudo_count: float = 0.1,
        emission_pseudo_count: float = 0.001,
        unknown: str = "suffix",
        class_pseudo_count: float = 0.3,
        rare_count: int = 10,
        max_suffix: int = 5,
        n_iter: int = 100,
        tol: float = 1e-4,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.use_stop = use_stop
        self.transition_pseudo_count = transition_pseudo_count
        self.emission_pseudo_count = emission_pseudo_count
        self.unknown = unknown
        self.class_pseudo_count = class_pseudo_count
        self.rare_count = rare_count
        self.max_suffix = max_suffix
        self.n_iter = n_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def from_parameters(
        cls,
        start: npt.ArrayLike,
        transitions: npt.ArrayLike,
        emissions: npt.ArrayLike,
        labels: Sequence[Hashable],
        tokens: Sequence[Hashable],
        stop: npt.ArrayLike | None = None,
    ) -> HMM:
        """Return the model with these probabilities; it raises an error for tokens that are not in ``tokens``.

        Parameters
        ----------
        start : array-like (K,)
            t(label | START); sums to one.
        transitions : array-like (K, K)
            t(column | row); each row sums to one, together with ``stop`` if that is given.
        emissions : array-like (K, V)
            o(token | label); each row sums to one.
        labels, tokens : sequences of K and V hashables
            The names of the rows and columns.
        stop : array-like (K,), optional
            t(STOP | label); without it, the end of a sequence has no probability.

        Examples
        --------
        Hot and cold days, and the number of ice creams eaten on each:

        >>> import trelliswork as tw
        >>> weather = tw.HMM.from_parameters(
        ...     start=[0.6, 0.4], transitions=[[0.7, 0.3], [0.4, 0.6]],
        ...     emissions=[[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]], labels=["Hot", "Cold"], tokens=[1, 2, 3])
        >>> weather.predict([[3, 3, 1, 1, 2, 3, 3]])
        [['Hot', 'Hot', 'Cold', 'Cold', 'Hot', 'Hot', 'Hot']]
        >>> weather.log_likelihood([[3, 1, 3]]).round(6).tolist()
        [-3.818168]
        """
        model = cls(use_stop=stop is not None, unknown="error")
        model.classes_ = _object_array(_distinct(labels, "labels"))
        model.vocabulary_ = {token: v for v, token in enumerate(_distinct(tokens, "tokens"))}
        model._set_parameters(
            _checked_parameters(start, transitions, emissions, stop, len(model.classes_), len(model.vocabulary_))
        )
        return model

    @atomic
    def fit(self, X: Sequences, y: LabelLists | None = None) -> HMM:
        """Learn from sequences of tokens and their known labels.

        Parameters
        ----------
        X : iterable of sequences of hashable tokens
        y : iterable of label sequences, optional
            One label per token. None is an unlabelled token or, instead of a list, an unlabelled sequence. If all
            labels are known, the estimates are counts. Otherwise Baum-Welch completes them; without any labels, it uses
            ``n_states`` states and starts from random parameters.

        Returns
        -------
        HMM
            The estimator itself. An interrupt (Ctrl-C) ends Baum-Welch and keeps the last parameters.

        Examples
        --------
        >>> import trelliswork as tw
        >>> X = [["the", "dog", "barks"], ["a", "dog"], ["the", "barks"]]
        >>> hmm = tw.HMM().fit(X, [["D", "N", "V"], None, ["D", None]])
        >>> hmm.converged_, hmm.predict([["a", "dog", "barks"]])
        (True, [['D', 'N', 'V']])
        """
        self._check_parameters()
        names, vocabulary, corpus = self._index(X, y)
        if (corpus.labels == UNLABELLED).any():
            learned = self._baum_welch(corpus, self._first_guess(corpus, vocabulary))
            parameters, counts, history, converged, interrupted = learned
        else:
            counts, history, converged, interrupted = hard_counts(corpus), [], True, False
            parameters = self._pseudo_counts.added_to(counts).log_parameters(self.use_stop)
        self.classes_, self.vocabulary_ = _object_array(names), vocabulary
        self.log_likelihood_history_, self.n_iter_, self.converged_ = history, max(len(history) - 1, 0), converged
        self.interrupted_ = interrupted
        self._set_parameters(parameters, counts)
        self.metadata_ = {}
        return self

    @snapshot
    def predict(self, X: Sequences) -> list[list[Any]]:
        """Return the most probable labels of each sequence: argmax of p(x, y), including STOP (Viterbi)."""
        return [self._names(best.labels) for best in self._ask(X, ChainBatch.argmax)]

    @snapshot
    def predict_kbest(self, X: Sequences, k: int) -> list[list[tuple[list[Any], float]]]:
        """Return, for each sequence, its ``k`` most probable labellings with log p(x, y), best first.

        Fewer are returned when fewer exist. Subtract `log_likelihood` to get log p(y | x).

        Examples
        --------
        >>> import trelliswork as tw
        >>> hmm = tw.HMM().fit([["a", "b"], ["a", "c"]], [["A", "B"], ["A", "A"]])
        >>> [(labels, round(score, 2)) for labels, score in hmm.predict_kbest([["a", "b"]], k=2)[0]]
        [(['A', 'B'], -2.76), (['A', 'A'], -6.29)]
        """
        answers = self._ask(X, lambda batch: batch.kbest(k))
        return [[(self._names(labels), score) for labels, score in answer] for answer in answers]

    @snapshot
    def predict_marginals(self, X: Sequences) -> list[Array]:
        """Return, for each sequence, p(y_t = label | x) as an array (T, K), columns in the order of `classes_`."""
        return self._ask(X, ChainBatch.marginals)

    @snapshot
    def predict_spans(self, X: Sequences) -> list[list[PredictedSpan]]:
        """Return, for each sequence, the spans of its predicted labels, each with its probability.

        Examples
        --------
        >>> import trelliswork as tw
        >>> hmm = tw.HMM().fit([["Ann", "Lee", "sings"]], [["B-PER", "I-PER", "O"]])
        >>> [span[:3] for span in hmm.predict_spans([["Ann", "Lee", "sings"]])[0]]
        [('PER', 0, 2)]
        """
        check_is_fitted(self, "classes_")
        labels = self.classes_.tolist()
        spelled = SpanLabels.of(labels) if all(isinstance(label, str) for label in labels) else None
        if spelled is None:
            raise InvalidInput("the labels of this model spell no spans in any scheme, as B-PER and I-PER do.")
        return self._ask(X, lambda batch: spans_of(batch, [best.labels for best in batch.argmax()], spelled))

    @snapshot
    def predict_max_marginals(self, X: Sequences) -> list[Array]:
        """Return, for each sequence, the best log p(x, y) with each label at each token, an array (T, K)."""
        return self._ask(X, ChainBatch.max_marginals)

    @snapshot
    def log_likelihood(self, X: Sequences) -> Array:
        """Return log p(x) of each sequence, including STOP; 0 for an empty one, -inf for an impossible one."""
        return np.array(self._ask(X, ChainBatch.log_partition), dtype=np.float64)

    @snapshot
    def score(self, X: Sequences, y: LabelLists) -> float:
        """Return the accuracy by token, ignoring tokens labelled None."""
        sequences = checked_sequences(arrow_tokens(X))
        gold = [label for labels in checked_labels(arrow_labels(y), sequences) for label in labels]
        guesses = [label for labels in self.predict(sequences) for label in labels]
        right = [guess == label for guess, label in zip(guesses, gold, strict=True) if label is not None]
        if not right:
            raise InvalidInput("y has no labels to score against: pass at least one labelled token.")
        return float(np.mean(right))

    @snapshot
    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file."""
        check_is_fitted(self, "classes_")
        return exported_model(self)

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Any = None, **given: Any
    ) -> Self:
        """Return the model of a file that may say anything; it has no members for ``restore`` to make."""
        refuse_arguments(given, "hmm")
        return restored_model(cls, tensors, settings)

    @snapshot
    def to_labeler(self, words: Iterable[str] | None = None) -> SequenceLabeler:
        """Return a `SequenceLabeler` with the same answers: a CRF whose weights are the log-probabilities.

        Its labels, k best labellings, marginals and log-probabilities given the tokens equal those of this model,
        within the precision of single-precision weights. You can explain, calibrate, train and save it, and use it from
        the shell. It does not have p(x).

        Parameters
        ----------
        words : iterable of str, optional
            Unseen words that the labeler should know. A model with ``unknown="suffix"`` scores unseen words by their
            endings. The labeler cannot: it needs the words themselves. All other words get the probability that each
            label reserves for unseen tokens, as with ``unknown="uniform"``; pass ``()`` if that is enough. In a model
            with ``unknown="error"``, such words give no evidence for any label.

        Examples
        --------
        >>> import trelliswork as tw
        >>> hmm = tw.HMM(unknown="uniform").fit([["the", "dog"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
        >>> labeler = hmm.to_labeler()
        >>> labeler.predict([["the", "cat", "barks"]]) == hmm.predict([["the", "cat", "barks"]])
        True
        """
        check_is_fitted(self, "classes_")
        return labeler_of(self, words)

    @snapshot
    def sample(
        self,
        n: int = 1,
        random_state: int | np.random.Generator | None = None,
        max_length: int = 1000,
        length: int | None = None,
    ) -> tuple[list[list[Any]], list[list[Any]]]:
        """Draw ``n`` sequences and their labels from the model.

        Parameters
        ----------
        n : int
        random_state : int, numpy Generator or None
        max_length : int
            A sequence that has not reached STOP by then is truncated.
        length : int, optional
            Draw sequences of exactly this length; with a STOP, from p(x, y | length). Required by a model without STOP.

        Returns
        -------
        X, y : lists of n lists
            Tokens (only known ones), and labels.

        Examples
        --------
        >>> import trelliswork as tw
        >>> hmm = tw.HMM(transition_pseudo_count=0, emission_pseudo_count=0, unknown="error")
        >>> hmm = hmm.fit([["a", "b"]], [["A", "B"]])
        >>> hmm.sample(2, random_state=0)
        ([['a', 'b'], ['a', 'b']], [['A', 'B'], ['A', 'B']])
        """
        check_is_fitted(self, "classes_")
        _check_integer(n, "n", 0)
        rng = np.random.default_rng(random_state)
        if length is not None:
            paths = self._paths_of_length(n, _check_integer(length, "length", 0), rng)
        elif self.log_stop_ is not None:
            paths = self._paths_to_stop(n, _check_integer(max_length, "max_length", 1), self.log_stop_, rng)
        else:
            raise InvalidInput("length is missing: this model has no STOP, so say how long the sequences should be.")
        tokens = self._emit(np.concatenate([np.zeros(0, dtype=np.intp), *paths]), rng)
        ends = np.cumsum([len(path) for path in paths])
        X = [tokens[end - len(path) : end] for path, end in zip(paths, ends, strict=True)]
        return X, [self._names(path) for path in paths]

    @snapshot
    def chain(self, x: Iterable[Hashable]) -> Chain:
        """Return one sequence as a `Chain` of log-probabilities: scores are log p(x, y), its log partition is log p(x).

        Examples
        --------
        >>> import trelliswork as tw
        >>> hmm = tw.HMM().fit([["a", "b"], ["a", "c"]], [["A", "B"], ["A", "A"]])
        >>> hmm.chain(["a", "b"]).argmax().labels.tolist()
        [0, 1]
        """
        check_is_fitted(self, "classes_")
        unary = self._unary([checked_sequence(x)], lambda _, t: f"x[{t}]")
        return Chain(unary, self.log_transitions_, start=self.log_start_, end=self.log_stop_)

    def _check_parameters(self) -> None:
        if self.n_states is not None:
            _check_integer(self.n_states, "n_states", 1)
        _check_integer(self.rare_count, "rare_count", 0)
        _check_integer(self.max_suffix, "max_suffix", 0)
        _check_integer(self.n_iter, "n_iter", 1)
        for name in ("transition_pseudo_count", "emission_pseudo_count", "class_pseudo_count", "tol"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                raise InvalidInput(f"{name} is {value!r}; expected a finite number that is not negative.")
        if self.unknown not in ("suffix", "uniform", "error"):
            raise InvalidInput(f'unknown is {self.unknown!r}; expected "suffix", "uniform" or "error".')

    def _index(self, X: Sequences, y: LabelLists | None) -> tuple[list[Any], dict[Hashable, int], Corpus]:
        """Return the names of the labels, the numbers of the tokens, and the corpus in these numbers."""
        sequences = checked_sequences(arrow_tokens(X))
        label_lists = [[None] * len(x) for x in sequences] if y is None else checked_labels(arrow_labels(y), sequences)
        tokens = [token for sequence in sequences for token in sequence]
        labels = [label for label_list in label_lists for label in label_list]
        if not tokens:
            raise InvalidInput("X has no tokens to learn from: pass at least one sequence that is not empty.")
        names = self._class_names(labels)
        vocabulary = {token: v for v, token in enumerate(dict.fromkeys(tokens))}
        numbers = {None: UNLABELLED, **{label: k for k, label in enumerate(names)}}
        corpus = Corpus(
            tokens=np.array([vocabulary[token] for token in tokens], dtype=np.intp),
            labels=np.array([numbers[label] for label in labels], dtype=np.intp),
            offsets=_offsets([sequence for sequence in sequences if sequence]),  # an empty one says nothing
            n_tokens=len(vocabulary),
            n_labels=len(names),
        )
        return names, vocabulary, corpus

    def _class_names(self, labels: list[Any]) -> list[Any]:
        names = sorted_labels(labels)
        if not names and self.n_states is None:
            raise InvalidInput("y has no labels: pass labels, or n_states to learn that many states without labels.")
        if names and self.n_states not in (None, len(names)):
            raise InvalidInput(f"n_states is {self.n_states} but y has {len(names)} labels; leave n_states out.")
        return names or list(range(self.n_states or 0))

    @property
    def _pseudo_counts(self) -> PseudoCounts:
        return PseudoCounts(self.transition_pseudo_count, self.emission_pseudo_count)

    def _first_guess(self, corpus: Corpus, vocabulary: dict[Hashable, int]) -> LogParameters:
        if (corpus.labels == UNLABELLED).all():
            return random_guess(corpus, self.use_stop, self.random_state)
        counts = hard_counts(corpus)
        extra = PseudoCounts(*(count or _FIRST_GUESS for count in self._pseudo_counts))
        guess = extra.added_to(counts)._replace(emissions=self._emission_guess(list(vocabulary), counts, extra))
        return guess.log_parameters(self.use_stop)

    def _emission_guess(self, tokens: list[Hashable], counts: Counts, extra: PseudoCounts) -> Array:
        """Estimate emissions from the labelled part; tokens outside it are scored as unseen ones would be."""
        seen = counts.emissions.sum(axis=1) > 0
        inside, outside = ([tokens[v] for v in np.flatnonzero(rows)] for rows in (seen, ~seen))
        log_known, unseen = self._lexicon(inside, counts.emissions[seen], counts.emissions[seen] + extra.emission)
        emissions = np.empty(counts.emissions.shape)
        emissions[seen], emissions[~seen] = np.exp(log_known), np.exp(unseen.log_prob(outside))
        return emissions

    def _baum_welch(self, corpus: Corpus, guess: LogParameters) -> Learned:
        learned = baum_welch(corpus, guess, self._pseudo_counts, self.n_iter, self.tol, self.n_jobs)
        if learned.interrupted:
            warnings.warn(
                f"Baum-Welch was interrupted after {len(learned.history) - 1} iterations; what it had learned is kept.",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )
        elif not learned.converged:
            gain = (learned.history[-1] - learned.history[-2]) / len(corpus.tokens)
            warnings.warn(
                f"Baum-Welch made its {self.n_iter} iterations and the last still gained {gain:.2g} per token. "
                f"Raise n_iter, or tol (now {self.tol:g}).",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )
        return learned

    def _set_parameters(self, parameters: LogParameters, counts: Counts | None = None) -> None:
        """Keep the parameters; of the emissions, set aside what unseen tokens need."""
        self.log_start_, self.log_transitions_, self.log_stop_, emissions = parameters
        self._unseen: UnseenTokens | None = None
        if counts is not None and self.unknown != "error":
            totals = counts.emissions.sum(axis=0) + self.emission_pseudo_count * len(emissions)
            weights = np.exp(emissions) * np.maximum(totals, 1.0)  # a label that EM gave up keeps its tokens
            emissions, self._unseen = self._lexicon(list(self.vocabulary_), counts.emissions, weights)
        # (K, V) to the reader, but a token's scores lie side by side: they are what a chain asks for.
        self.log_emissions_ = np.ascontiguousarray(emissions).T

    def _lexicon(self, tokens: list[Hashable], counts: Array, weights: Array) -> tuple[Array, UnseenTokens]:
        max_suffix = self.max_suffix if self.unknown == "suffix" else None
        return lexicon(tokens, counts, weights, self.class_pseudo_count, self.rare_count, max_suffix)

    def _ask(self, X: Sequences, question: Callable[[ChainBatch], Iterable[Any]]) -> list[Any]:
        """Return the answers for all sequences, asked block by block."""
        check_is_fitted(self, "classes_")
        sequences = checked_sequences(arrow_tokens(X))
        answers: list[Any] = []
        for block in blocks(np.array([len(sequence) for sequence in sequences]), len(self.classes_)):
            batch = self._batch(sequences[block], block.start)
            try:
                answers.extend(question(batch))
            except Unsatisfiable as error:
                raise _impossible(batch, block.start) from error
        return answers

    def _batch(self, sequences: list[list[Any]], first: int) -> ChainBatch:
        unary = split(self._unary(sequences, lambda i, t: f"X[{first + i}][{t}]"), _offsets(sequences))
        return ChainBatch(unary, self.log_transitions_, n_jobs=self.n_jobs, start=self.log_start_, end=self.log_stop_)

    def _unary(self, sequences: list[list[Any]], place: Callable[[int, int], str]) -> Array:
        """Return log o(token | label) of all tokens one after the other, shape (N, K)."""
        tokens = [token for sequence in sequences for token in sequence]
        columns = np.array([self.vocabulary_.get(token, -1) for token in tokens], dtype=np.intp)
        unary = self.log_emissions_.T[columns]
        unknown = np.flatnonzero(columns < 0)
        if len(unknown):
            if self._unseen is None:
                raise self._unknown_token(sequences, place)
            numbers = {token: u for u, token in enumerate(dict.fromkeys(tokens[n] for n in unknown))}
            unary[unknown] = self._unseen.log_prob(list(numbers))[[numbers[tokens[n]] for n in unknown]]
        return unary

    def _unknown_token(self, sequences: list[list[Any]], place: Callable[[int, int], str]) -> InvalidInput:
        words = ((i, t, token) for i, sequence in enumerate(sequences) for t, token in enumerate(sequence))
        i, t, token = next(word for word in words if word[2] not in self.vocabulary_)
        return InvalidInput(
            f"{place(i, t)} is {token!r}, which is not one of the {len(self.vocabulary_)} tokens of the model, and the "
            'model has no unknown tokens: fit one with unknown="suffix" or "uniform", or replace the token.'
        )

    def _names(self, labels: npt.NDArray[Any]) -> list[Any]:
        names: list[Any] = self.classes_[labels].tolist()
        return names

    def _paths_of_length(self, n: int, length: int, rng: np.random.Generator) -> list[Ints]:
        """Draw labels from p(y | length): the chain without observations knows which labels reach STOP in time."""
        silent = np.zeros((length, len(self.classes_)))
        chain = Chain(silent, self.log_transitions_, start=self.log_start_, end=self.log_stop_)
        return list(chain.sample(n, random_state=rng).astype(np.intp))

    def _paths_to_stop(self, n: int, max_length: int, stop: Array, rng: np.random.Generator) -> list[Ints]:
        """Walk from START, all n side by side, until each has met STOP, the label after the last."""
        STOP = len(stop)
        steps = np.vstack([np.exp(np.column_stack([self.log_transitions_, stop])), np.eye(STOP + 1)[STOP]])
        walked = [_draw(np.tile(np.exp(self.log_start_), (n, 1)), rng)]
        while len(walked) < max_length and (walked[-1] < STOP).any():
            walked.append(_draw(steps[walked[-1]], rng))
        return [path[path < STOP] for path in np.column_stack(walked)]

    def _emit(self, labels: Ints, rng: np.random.Generator) -> list[Any]:
        """Draw a known token for each label."""
        drawn = np.empty(len(labels), dtype=np.intp)
        for k in np.unique(labels):
            places = np.flatnonzero(labels == k)
            probabilities = np.exp(self.log_emissions_[k])
            drawn[places] = rng.choice(len(probabilities), size=len(places), p=probabilities / probabilities.sum())
        tokens = list(self.vocabulary_)
        return [tokens[v] for v in drawn]


def _offsets(sequences: list[list[Any]]) -> Ints:
    return np.cumsum([0, *(len(sequence) for sequence in sequences)], dtype=np.intp)


def _object_array(names: list[Any]) -> npt.NDArray[np.object_]:
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def _draw(weights: Array, rng: np.random.Generator) -> Ints:
    """Draw one column of each row in proportion to the weights."""
    ladder = weights.cumsum(axis=1)
    height = rng.random(len(weights)) * ladder[:, -1]
    # Strictly below the last rung that rises: a weight of zero is never drawn.
    height = np.minimum(height, np.nextafter(ladder[:, -1], 0))
    drawn: Ints = (ladder <= height[:, None]).sum(axis=1)
    return drawn


def _impossible(batch: ChainBatch, first: int) -> Unsatisfiable:
    i = first + int(np.flatnonzero(np.isneginf(batch.log_partition()))[0])
    return Unsatisfiable(
        f"X[{i}] has probability zero with every labelling. Find such sequences by log_likelihood, which is -inf for "
        "them, or fit with pseudo-counts above zero, which leave no transition and no emission impossible."
    )


def _distinct(names: Sequence[Hashable], argument: str) -> list[Any]:
    distinct = checked_sequence(names, argument)
    if not distinct:
        raise InvalidInput(f"{argument} is empty; expected at least one name.")
    if len(set(distinct)) < len(distinct):
        twice = next(name for name in distinct if distinct.count(name) > 1)
        raise InvalidInput(f"{argument} has {twice!r} more than once; every name must be different.")
    return distinct


def _checked_parameters(
    start: npt.ArrayLike,
    transitions: npt.ArrayLike,
    emissions: npt.ArrayLike,
    stop: npt.ArrayLike | None,
    K: int,
    V: int,
) -> LogParameters:
    rows = _probabilities(transitions, "transitions", (K, K))
    if stop is not None:
        rows = np.column_stack([rows, _probabilities(stop, "stop", (K,))])
    log_rows = log_of(_summing_to_one(rows, "transitions", " with stop" if stop is not None else ""))
    return LogParameters(
        start=log_of(_summing_to_one(_probabilities(start, "start", (K,)), "start")),
        transitions=np.ascontiguousarray(log_rows[:, :K]),
        stop=log_rows[:, K].copy() if stop is not None else None,
        emissions=log_of(_summing_to_one(_probabilities(emissions, "emissions", (K, V)), "emissions")).T,
    )


def _probabilities(values: npt.ArrayLike, argument: str, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{argument} is not an array of numbers ({error}).") from None
    if array.shape != shape:
        raise InvalidInput(f"{argument} has shape {array.shape}; expected {shape}, from the labels and the tokens.")
    wrong = ~((array >= 0) & (array <= 1 + _ROUNDING))  # NaN too
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InvalidInput(f"{argument}{list(place)} is {array[place]}; expected a probability between 0 and 1.")
    return array


def _summing_to_one(rows: Array, argument: str, what: str = "") -> Array:
    sums = np.atleast_1d(rows.sum(axis=-1))
    wrong = np.flatnonzero(np.abs(sums - 1) > _ROUNDING)
    if len(wrong):
        row = f"{argument}[{wrong[0]}]" if rows.ndim == 2 else argument
        raise InvalidInput(f"{row}{what} sums to {sums[wrong[0]]:.6g}; expected 1.")
    return rows


def _check_integer(value: Any, argument: str, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{argument} is {value!r}; expected an integer of at least {least}.")
    return int(value)
