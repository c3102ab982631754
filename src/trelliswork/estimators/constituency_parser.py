"""Constituency parsing: a tree of labelled constituents, and any learner, behind `fit` and `predict`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trelliswork.arguments import refuse_no_list
from trelliswork.corpora.tables import TokenTable
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import atomic, snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.features.inputs import Inputs, inputs_of
from trelliswork.labels.constituents import chains_of, rows_of_trees, tree_of, trees_of
from trelliswork.learners.training import FloatArray
from trelliswork.models.constituents import ConstituentExplanation, ConstituentModel, Limits, TreeBatch
from trelliswork.structures import checks
from trelliswork.structures.constituents import NO_TAG, TOP, Constituent

if TYPE_CHECKING:
    from trelliswork.evaluation.brackets import BracketScores
    from trelliswork.training.constituent_examples import ConstituentExamples
    from trelliswork.training.monitor import Callback

__all__ = ["ConstituencyParser"]


class ConstituencyParser(LinearEstimator):
    """Learns to find the constituents of sentences, and parses new ones.

    Parameters
    ----------
    learner : learner or str, default "pa"
        The training algorithm, such as ``tw.PassiveAggressive(epochs=8)``, or its name.
    features : "auto", str or Templates, default "auto"
        The features of a constituent: lines of templates that begin with ``span:`` and ``rule:`` (docs/features.md).
        ``"auto"`` is `Templates.constituency` or, for words without tags, `Templates.constituency_words`.
    rules : {"seen", "all", None}, default "seen"
        Whether the score of a tree also has weights of the labels of parents and children, and of the boundaries
        between the children of a constituent: for the pairs of labels in the training data, for all pairs, or for none.
    attributes : {"gold", "all"}, default "gold"
        Which attributes of spans have weights: those of gold constituents, or those of all spans, which are many times
        more. With ``hash_bits``, all attributes have weights.
    mbr : bool, default False
        Whether `predict` returns the tree with the smallest expected number of wrong and missed constituents (minimum
        risk) instead of the best one. This needs a learner whose scores are probabilities.
    min_count, hash_bits, combinations, patience, n_jobs, random_state, verbose
        As for `SequenceLabeler`.

    Attributes
    ----------
    classes_ : object array
        The labels, sorted. ``"S+VP"`` is an S whose only child is a VP: chains of unary constituents are one label
        inside the model, and separate constituents in answers.
    n_iter_, converged_, message_, history_, best_iteration_
        As for `SequenceLabeler`.

    Notes
    -----
    Trees are n-ary, and each counts once, without binarisation. Tags come from X, or are ``"_"`` if it has none; a
    sentence without words has the tree ``(TOP)``. Development data are scored by F1 of brackets, by evalb's rules.
    `MEMM` learns the top-down decisions that build a tree; predictions use its weights as weights of whole trees.

    Examples
    --------
    >>> import trelliswork as tw
    >>> trees = ["(S (NP (DT the) (NN dog)) (VP (VBZ barks)))", "(S (NP (PRP it)) (VP (VBZ sees) (NP (NNS cats))))"]
    >>> parser = tw.ConstituencyParser().fit([tw.Constituent.from_text(tree) for tree in trees])
    >>> print(parser.predict([[("the", "DT"), ("cat", "NN"), ("sees", "VBZ"), ("dogs", "NNS")]])[0])
    (S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NNS dogs))))
    """

    kind: ClassVar[str] = "constituency-parser"
    model_class = ConstituentModel
    saved: ClassVar[tuple[str, ...]] = ("rules", "attributes", "mbr")
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **LinearEstimator.choices,
        "attributes": ("gold", "all"),
    }

    rules: str | None
    attributes: str
    mbr: bool
    _model: ConstituentModel

    def __init__(
        self,
        learner: Any = "pa",
        features: Any = "auto",
        *,
        rules: str | None = "seen",
        attributes: str = "gold",
        mbr: bool = False,
        min_count: int = 1,
        hash_bits: int | None = None,
        combinations: str = "auto",
        patience: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    # ---- learning ------------------------------------------------------------------------------------------------

    @atomic
    def fit(
        self,
        X: Any,
        y: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        callback: Callback | None = None,
        resume: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : list of sentences or of trees, or TokenTable
            A sentence is a list of words, or of tuples of columns, of which the second is the tag.
        y : list of trees, optional
            Each is a `Constituent`, or text in brackets. Its leaves are the words; its tags are ignored. By default,
            the trees in X.
        X_dev, y_dev : optional
            Development data, scored after each iteration by F1 of brackets. The best weights are kept.
        sample_weight : (n,) array-like, optional
            The weight of each sentence.
        callback, resume
            As for `SequenceLabeler.fit`.
        """
        self._check_parameters()
        if X_dev is not None:
            y_dev = _own_trees(X_dev, y_dev, "y_dev")
            X_dev = _sentences(X_dev, "X_dev")
        return self._learn(self._examples(X, y, sample_weight), X_dev, y_dev, callback, resume)

    def _examples(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> ConstituentExamples:
        from trelliswork.training.constituent_examples import ConstituentExamples  # only training needs it

        trees = _own_trees(X, y, "y")
        sentences = _sentences(X)
        if not any(map(len, sentences)):
            raise InvalidInput("X has no words to learn from: pass at least one sentence that is not empty.")
        inputs = self._inputs(sentences)
        return ConstituentExamples(self, inputs, sentences, trees_of(trees, sentences), sample_weight)

    def _inputs(self, sentences: Any) -> Inputs:
        inputs, _ = inputs_of(sentences, self.features, ConstituentModel.meets)
        if inputs.kind != "columns" or inputs.templates is None:
            raise InvalidInput(
                f"X has {inputs.described()}; expected words, or tuples of columns: a word, its tag, and what else "
                "there is."
            )
        if "span" not in inputs.templates.meets:
            raise InvalidInput("features has no line about spans. Write lines such as span: first.word & last.word.")
        if self.rules is None:
            inputs = Inputs(inputs.kind, inputs.templates.without("rule"))
        return inputs

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any, allowed: Any = None, fixed: Any = None) -> list[Constituent]:
        """Return the tree of each sentence.

        Parameters
        ----------
        X : list of sentences or of trees, or TokenTable
            Sentences; of trees, only the words and tags are used.
        allowed : list, optional
            For each sentence None, or a boolean array of the spans that may be constituents: (n, n + 1), or
            (n, n + 1, L) by label. ``[i, j]`` is the span of the words ``i .. j - 1``.
        fixed : list, optional
            For each sentence None, or a list of known constituents, (start, stop) or (start, stop, label).

        Examples
        --------
        >>> import trelliswork as tw
        >>> parser = tw.ConstituencyParser().fit(["the dog barks".split()], ["(S (NP (D the) (N dog)) (V barks))"])
        >>> print(*parser.predict(["the dog barks".split()], fixed=[[(1, 3)]]))
        (S (_ the) (NP (_ dog) (_ barks)))
        """
        if self.mbr:
            self._fitted()
            self._require_probabilities()
        return [
            self._tree(own[0][0], x)
            for batch, block in self._ask(X, allowed, fixed)
            for own, x in zip(batch.least_risk() if self.mbr else batch.best(), block, strict=True)
        ]

    @snapshot
    def predict_kbest(
        self, X: Any, k: int, allowed: Any = None, fixed: Any = None
    ) -> list[list[tuple[Constituent, float]]]:
        """Return, for each sentence, its ``k`` most probable trees with their log-probabilities, best first."""
        self._fitted()
        k = checks.as_count("k", k)
        self._require_probabilities()
        return [
            [(self._tree(rows, x), min(score - total, 0.0)) for rows, score in own]
            for batch, block in self._ask(X, allowed, fixed)
            for own, total, x in zip(batch.best(k), batch.log_partition().tolist(), block, strict=True)
        ]

    @snapshot
    def predict_marginals(self, X: Any, allowed: Any = None, fixed: Any = None) -> list[FloatArray]:
        """Return, for each sentence of n words, the probability of every constituent, an array (n, n + 1, L).

        ``[i, j, k]`` is the probability of a constituent with label ``classes_[k]`` over the words ``i .. j - 1``.
        """
        self._fitted()
        self._require_probabilities()
        return [table for batch, _ in self._ask(X, allowed, fixed) for table in batch.marginals()]

    @snapshot
    def log_prob(self, X: Any, y: Any = None) -> FloatArray:
        """Return log p(y | x) of each sentence, -inf if the tree has a label that the model does not know."""
        model = self._fitted()
        self._require_probabilities()
        sentences = _sentences(X)
        trees = trees_of(_own_trees(X, y, "y"), sentences)
        L, found, first = len(model.labels), [np.zeros(0)], 0
        rows = rows_of_trees([_chains(tree, model.join) for tree in trees], model.labels, unknown=L)
        for batch, block in self._ask(sentences):
            own = rows[first : first + len(block)]
            first += len(own)
            found.append(np.minimum(batch.scores_of(own) - batch.log_partition(), 0.0))
        return np.concatenate(found)

    @snapshot
    def scores(self, X: Any, y: Any = None) -> BracketScores:
        """Return precision, recall and F1 of brackets, by evalb's rules; see `tw.evaluation.bracket_scores`."""
        sentences = _sentences(X)
        return self._compared(trees_of(_own_trees(X, y, "y"), sentences), self.predict(sentences))

    @snapshot
    def score(self, X: Any, y: Any = None) -> float:
        """Return F1 of brackets, by evalb's rules; see `scores`."""
        return self.scores(X, y).f1

    @snapshot
    def explain(self, x: Any) -> list[ConstituentExplanation]:
        """Explain the parse of one sentence: its constituents, outermost first, and what adds to the score of each."""
        model = self._fitted()
        self._require_probabilities()
        (sources,) = model.sources(_sentences([x], "x"))
        found: list[ConstituentExplanation] = model.explained(sources, model.batch(sources, 1))
        return found

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.rules not in ("seen", "all", None):
            raise InvalidInput(f"rules is {shown(self.rules)}; expected 'seen', 'all' or None.")
        checks.as_flag("mbr", self.mbr)

    @staticmethod
    def _compared(gold: list[Constituent], guess: list[Constituent]) -> BracketScores:
        from trelliswork.evaluation.brackets import bracket_scores

        return bracket_scores(gold, guess)

    def _tree(self, rows: Any, sentence: Any) -> Constituent:
        return tree_of(rows, sentence, self._model.label_chains) if len(rows) else Constituent(TOP)

    def _ask(self, X: Any, allowed: Any = None, fixed: Any = None) -> Iterator[tuple[TreeBatch, Any]]:
        """Yield the sentences in batches."""
        model, n_jobs, first = self._fitted(), checks.as_jobs(self.n_jobs), 0
        sentences = _sentences(X)
        limited = allowed is not None or fixed is not None
        limits = Limits(model, allowed, fixed, len(sentences)) if limited else None
        for sources in model.sources(sentences):
            batch = model.batch(sources, n_jobs, first, limits)
            yield batch, sentences[first : first + len(batch.lengths)]
            first += len(batch.lengths)


def _own_trees(X: Any, y: Any, name: str) -> Any:
    """The trees that sentences have with them, unless they are given."""
    if y is not None:
        return y
    if isinstance(X, list | tuple) and all(isinstance(x, Constituent) for x in X):
        return X
    raise InvalidInput(f"{name} is missing: pass the tree of each sentence, or trees as X.")


def _chains(tree: Constituent, join: str) -> list[tuple[int, int, str]]:
    """The constituents of a tree; one with labels that no model has, as they have what joins labels in them."""
    try:
        return chains_of(tree, join)
    except InvalidInput:
        return [(0, len(tree.leaves()), "")]


def _sentences(X: Any, name: str = "X") -> Any:
    """Return sentences as lists of words or of tuples of columns; trees stand for their words and tags."""
    if isinstance(X, TokenTable):
        return X
    refuse_no_list(X, name)
    return [
        [(word, NO_TAG if tag is None else tag) for word, tag in x.tagged()]
        if isinstance(x, Constituent)
        else x
        if isinstance(x, list | tuple)
        else list(x)
        for x in X
    ]
