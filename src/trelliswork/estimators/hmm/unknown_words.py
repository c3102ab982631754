"""Emission probabilities of known and unknown tokens; those of unknown words depend on shape and ending.

After Brants (2000), "TnT: a statistical part-of-speech tagger", section 2.3: an unseen word behaves like the rare words
with the same ending, and longer endings are smoothed by shorter ones (successive abstraction). There are three
differences, each of which improves the tagging of held-out text. Shapes (capitals, digits, hyphens, punctuation) come
before endings. The weight of a class depends on the number of its words, instead of one weight for all. And a word seen
in another case ("Wonderful" at the beginning of a sentence) is the narrowest class of all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.estimators.hmm.counts import Array, blocks, log_of
from trelliswork.labels.ragged import positions

__all__ = ["UnseenTokens", "WordClasses", "lexicon", "word_classes", "word_shape"]

_FLOOR = 0.01  # every label may emit an unseen token, also one that had no rare word in training
_WORDS_OF_TRUST = 5.0  # words that a class needs before its own counts weigh as much as the wider class's
_CASE_TRUST = 1.0  # the same, in tokens, for the same word in another case


def word_shape(word: str) -> str:
    """Return the shape of a word: which of capitals, digits, a hyphen and punctuation it has.

    Examples
    --------
    >>> [word_shape(word) for word in ["dog", "Dog", "DOG", "D", "well-known", "1,000", "B2B", "..."]]
    ['lower', 'capitalised', 'capitals', 'capital', 'lower-hyphen', 'number', 'digits', 'punctuation']
    """
    letters = word if word.isalpha() else "".join(c for c in word if c.isalpha())
    digits = letters != word and any(_is_digit(c) for c in word)
    if not letters:
        return "number" if digits else "punctuation"
    if digits:
        shape = "digits"
    elif letters.isupper():
        shape = "capitals" if len(letters) > 1 else "capital"
    else:
        shape = "capitalised" if word[0].isupper() else "lower"
    return shape + "-hyphen" if "-" in word[1:] else shape


def word_classes(word: str, max_suffix: int) -> list[str]:
    """Return the classes of a word, wide to narrow: its shape, then with endings of 1 to ``max_suffix`` characters.

    Examples
    --------
    >>> word_classes("Tuned", 3)
    ['capitalised', 'capitalised d', 'capitalised ed', 'capitalised ned']
    """
    shape = word_shape(word)
    plain = word.lower() if word.isalpha() else "".join("0" if _is_digit(c) else c for c in word.lower())
    return [shape, *(f"{shape} {plain[-n:]}" for n in range(1, min(max_suffix, len(plain)) + 1))]


def lexicon(
    tokens: Sequence[Hashable],
    counts: Array,
    weights: Array,
    class_pseudo_count: float,
    rare_count: int,
    max_suffix: int | None,
) -> tuple[Array, UnseenTokens]:
    r"""Return log o(x | y) of the tokens that training saw, shape (V, K), and the model of all others.

    A known token has its counts. A known word also has those of its class: ``class_pseudo_count`` additional
    occurrences with the labels of the class, since a word seen once as a noun may well be a verb if it ends like one.

    An unseen token :math:`x` has

    .. math:: o(x \mid y) = \lambda_y \, p(c_x)\, \tilde p(y \mid c_x) / \tilde p(y)

    where :math:`\lambda_y` is the probability that label :math:`y` emits an unseen token. Its count is the number of
    tokens of :math:`y` seen once (Good and Turing), plus 0.01, added to the counts of :math:`y` as one more token. The
    rest is Bayes' rule for :math:`p(c_x \mid y)` with the classes of `WordClasses`. Every value is above 0 and at most
    1. Tokens that are not strings have :math:`\lambda_y`; without classes, so have all tokens.

    Parameters
    ----------
    tokens : sequence of hashable
        The tokens of the training data, each once.
    counts : array (V, K)
        How often each occurs with each label; expected counts are possible.
    weights : array (V, K)
        The same with pseudo-counts.
    class_pseudo_count : float
        The weight of the class of a known word, in occurrences.
    rare_count : int
        Unknown words are modelled on the words seen at most this often.
    max_suffix : int or None
        The longest ending used; None for no classes.
    """
    classes = None if max_suffix is None else WordClasses.of(tokens, counts, rare_count, max_suffix)
    if classes is not None and class_pseudo_count:
        weights = _with_classes(tokens, weights, classes, class_pseudo_count)
    # Half a count of slack: expected counts of a token seen once sum to one only up to rounding.
    once = counts[counts.sum(axis=1) < 1.5].sum(axis=0) + _FLOOR
    log_total = np.log(weights.sum(axis=0) + once)
    return log_of(weights) - log_total, UnseenTokens(np.log(once) - log_total, classes)


class UnseenTokens:
    """Emission probabilities of unseen tokens: the probability reserved by each label, and its classes."""

    def __init__(self, log_mass: Array, classes: WordClasses | None) -> None:
        self.log_mass = log_mass
        self.classes = classes

    def log_prob(self, tokens: Sequence[Hashable]) -> Array:
        """Return log o(x | y) of unseen tokens, shape (n, K)."""
        if self.classes is None:
            return np.tile(self.log_mass, (len(tokens), 1))
        return self.log_mass + self.classes.log_likelihood(tokens)


class WordClasses:
    r"""The labels of rare words, class by class.

    With :math:`n` rare words in class :math:`c`, of which :math:`n_y` are labelled :math:`y`,

    .. math:: \tilde p(y \mid c) = (n_y + 5\,\tilde p(y \mid c')) / (n + 5), \quad c' \text{ the next wider class,}

    up to the class of all rare words, :math:`\tilde p(y)`; :math:`p(c)` is the share of the rare words that are in
    :math:`c`. A word is in the narrowest of its classes that contains a rare word. A token that is not a string is in
    the class of all words.
    """

    def __init__(
        self,
        max_suffix: int,
        classes: tuple[dict[str, int], SparseRows],
        cases: tuple[dict[str, int], SparseRows],
        prior: Array,
        n_rare: float,
    ) -> None:
        self.max_suffix, self.classes, self.cases = max_suffix, classes, cases
        self.prior, self.n_rare = prior, n_rare

    @classmethod
    def of(cls, tokens: Sequence[Hashable], counts: Array, rare_count: int, max_suffix: int) -> WordClasses:
        """Return the classes of the words among the tokens, which were counted so often with each label."""
        words = [(row, token) for row, token in enumerate(tokens) if isinstance(token, str)]
        occurrences = counts.sum(axis=1)
        rare = [(row, word) for row, word in words if occurrences[row] < rare_count + 0.5]
        # Every rare word counts once, however often it was seen: what is unseen is a new word, not a new occurrence.
        shares = counts[[row for row, _ in rare]] / occurrences[[row for row, _ in rare], None]
        classes = _grouped([word_classes(word, max_suffix) for _, word in rare], shares)
        cases = _grouped([[word.lower()] for _, word in words], counts[[row for row, _ in words]])
        weights = shares.sum(axis=0) + _FLOOR
        n_rare = float(weights.sum())
        return cls(max_suffix, classes, cases, weights / n_rare, n_rare)

    def posterior(self, tokens: Sequence[Hashable]) -> tuple[Array, Array]:
        """Return p(y | c), shape (n, K), and p(c), shape (n,), of each token's class c."""
        posterior, share = np.tile(self.prior, (len(tokens), 1)), np.ones(len(tokens))
        paths = [word_classes(token, self.max_suffix) if isinstance(token, str) else [] for token in tokens]
        for depth in range(self.max_suffix + 1):
            rows, ids = _found(self.classes[0], [path[depth] if depth < len(path) else None for path in paths])
            counts = self.classes[1].dense(ids)
            posterior[rows] = _abstracted(counts, posterior[rows], _WORDS_OF_TRUST)
            share[rows] = counts.sum(axis=1) / self.n_rare
        return posterior, share

    def log_likelihood(self, tokens: Sequence[Hashable]) -> Array:
        """Return log p(c | y) of each token's class, shape (n, K); the narrowest is that word in another case."""
        posterior, share = self.posterior(tokens)
        rows, ids = _found(self.cases[0], [token.lower() if isinstance(token, str) else None for token in tokens])
        posterior[rows] = _abstracted(self.cases[1].dense(ids), posterior[rows], _CASE_TRUST)
        likelihood = share[:, None] * posterior / self.prior
        # Rare words do not tell the share of words in another case; it is taken small enough for a probability.
        likelihood /= np.maximum(likelihood.max(axis=1, keepdims=True, initial=0.0), 1.0)
        return np.log(likelihood)


def _with_classes(tokens: Sequence[Hashable], weights: Array, classes: WordClasses, class_pseudo_count: float) -> Array:
    """Return the weights with each known word's class added; block by block, as both may be large."""
    weights = weights.copy()
    words = np.flatnonzero([isinstance(token, str) for token in tokens])
    for block in blocks(np.ones(len(words), dtype=np.intp), weights.shape[1]):
        rows = words[block]
        posterior, _ = classes.posterior([tokens[row] for row in rows])
        weights[rows] += class_pseudo_count * posterior
    return weights


def _abstracted(counts: Array, wider: Array, trust: float) -> Array:
    """Return the distribution of the counts, smoothed by that of the wider class."""
    smoothed: Array = (counts + trust * wider) / (counts.sum(axis=1, keepdims=True) + trust)
    return smoothed


class SparseRows(NamedTuple):
    """Rows of K numbers, most of them zero: where each row starts, and the columns and values of what is not."""

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: Array
    n_columns: int

    def dense(self, rows: npt.NDArray[np.intp]) -> Array:
        """Return some rows with their zeros."""
        found = np.zeros((len(rows), self.n_columns))
        kept = positions(self.starts, rows)
        owners = np.repeat(np.arange(len(rows)), np.diff(self.starts)[rows])
        found[owners, self.columns[kept]] = self.values[kept]
        return found


def _grouped(groups: list[list[str]], rows: Array) -> tuple[dict[str, int], SparseRows]:
    """Return an index of the groups' names and, for each name, the sum of the rows that are in it."""
    index: dict[str, int] = {}
    members = np.array([index.setdefault(name, len(index)) for names in groups for name in names], dtype=np.int64)
    owners = np.repeat(np.arange(len(groups)), [len(names) for names in groups])
    K = rows.shape[1]
    of_row, columns = np.nonzero(rows)
    offsets = np.searchsorted(of_row, np.arange(len(rows) + 1)).astype(np.int64)
    kept = positions(offsets, owners)
    keys = np.repeat(members, np.diff(offsets)[owners]) * K + columns[kept]
    cells, place = np.unique(keys, return_inverse=True)
    values: Array = np.bincount(place, rows[of_row[kept], columns[kept]], minlength=len(cells)).astype(np.float64)
    starts = np.searchsorted(cells, np.arange(len(index) + 1) * K).astype(np.int64)
    return index, SparseRows(starts, (cells % K).astype(np.int32), values, K)


def _found(index: dict[str, int], names: list[str | None]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the positions of the names that the index has, and what it has for them."""
    ids = np.array([-1 if name is None else index.get(name, -1) for name in names], dtype=np.intp)
    rows = np.flatnonzero(ids >= 0)
    return rows, ids[rows]


def _is_digit(character: str) -> bool:
    return character.isnumeric() and not character.isalpha()
