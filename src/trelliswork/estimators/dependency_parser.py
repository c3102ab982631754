"""Dependency parsing: a head and a relation for every word, and any learner, behind `fit` and `predict`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trelliswork import _core, models
from trelliswork.errors import ConvergenceWarning, InvalidInput, Unsatisfiable, shown
from trelliswork.estimators.base import store
from trelliswork.estimators.fitted import atomic, snapshot
from trelliswork.estimators.linear import LinearEstimator
from trelliswork.estimators.relation_chains import chain_templates, chains_of, in_order
from trelliswork.features.arc_columns import arc_templates, column_names, sentence_columns
from trelliswork.features.inputs import Inputs
from trelliswork.features.templates import Templates
from trelliswork.labels.dependencies import CodedTrees
from trelliswork.learners.training import FloatArray
from trelliswork.models.dependency import ArcExplanation, DependencyModel, Limits, TreeBatch, split_outputs
from trelliswork.models.trained import Weight
from trelliswork.structures import checks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trelliswork.estimators.sequence_labeler import SequenceLabeler
    from trelliswork.evaluation.dependencies import AttachmentScores
    from trelliswork.training.dependency_examples import DependencyExamples
    from trelliswork.training.monitor import Callback

__all__ = ["DependencyParser"]

_CHAINS, _CHAIN_BITS = "relations", 20  # the member of a file that has chains of relations, and bits of its hashes
_AT_A_TIME = 512  # sentences whose scores are in memory
Tree = Any  # (heads, relations), or heads


class DependencyParser(LinearEstimator):
    """Learns to find the head and the relation of every word, and parses new sentences.

    Parameters
    ----------
    learner : learner or str, default "pa"
        The training algorithm, such as ``tw.PassiveAggressive(epochs=8)``, or its name. The names ``"crf"`` and
        ``"memm"`` stand for training with five stochastic passes, since other solvers take gigabytes for millions of
        hashes.
    features : "auto", str or Templates, default "auto"
        The features of an arc: lines of templates with ``head.`` and ``mod.`` (docs/features.md). ``"auto"`` is
        `Templates.dependency` or, for order 2, `Templates.dependency2`, adapted to the columns of the sentences.
    order : {1, 2}, default 1
        With 1, the score of a tree is a sum over arcs; with 2, also over siblings and grandparents.
    projective : bool, default True
        Whether arcs of an answer must not cross (Eisner 1996) or may cross (Chu & Liu 1965; Edmonds 1967).
    labels : {"joint", "chain", None}, default "joint"
        ``"joint"`` predicts heads and relations together. ``"chain"`` predicts heads first, then the relations of each
        head's modifiers as a chain, by a `SequenceLabeler` with the same learner. None predicts heads only.
    heads : int or None, default 12
        Number of candidate heads of each word that a fast first pass keeps; None for all.
    single_root : bool, default True
        Whether exactly one word of a sentence has the root as its head; otherwise one or more words do.
    mbr : bool, default False
        Whether `predict` returns the tree with the largest expected number of correct heads (minimum risk) instead of
        the best one. This needs a learner whose scores are probabilities.
    hash_bits : int, default 22
        There are ``2 ** hash_bits`` weights of arcs; attributes that share a hash share a weight.
    patience : int, optional
        Stop after this many iterations in a row without a better score on the development data.
    n_jobs : int, optional
        Number of threads, -1 for all; results are the same for any number.
    random_state : int, optional
        Seed of the order in which the sentences are visited.
    verbose : int, default 0
        With 1, print a line for each iteration.

    Attributes
    ----------
    classes_ : object array
        The relations, sorted; ``["_"]`` without labels.
    n_iter_, converged_, message_, history_, best_iteration_
        As for `SequenceLabeler`.

    Notes
    -----
    Attributes are hashed and never stored, so attributes that occur only on wrong arcs have weights, too (Bohnet 2010).
    Gold trees that are not projective are kept; their score is the sum over their parts. Evaluation counts punctuation,
    and ignores subtypes of relations.

    Examples
    --------
    >>> import trelliswork as tw
    >>> treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
    >>> parser = tw.DependencyParser(hash_bits=18).fit(treebank)
    >>> words = [("The", "DET"), ("dog", "NOUN"), ("barks", "VERB")]
    >>> parser.predict([[(form, "_", upos, "_", "_") for form, upos in words]])
    [([2, 3, 0], ['det', 'nsubj', 'root'])]
    """

    kind: ClassVar[str] = "dependency-parser"
    model_class = DependencyModel
    saved: ClassVar[tuple[str, ...]] = ("order", "projective", "labels", "heads", "single_root", "mbr")
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    min_count: int = 1  # a hash kernel has no counts
    combinations: str = "all"

    order: int
    projective: bool
    labels: str | None
    heads: int | None
    single_root: bool
    mbr: bool
    _model: DependencyModel
    _labeler: SequenceLabeler | None = None  # of relations, where these are chains

    def __init__(
        self,
        learner: Any = "pa",
        features: Any = "auto",
        *,
        order: int = 1,
        projective: bool = True,
        labels: str | None = "joint",
        heads: int | None = 12,
        single_root: bool = True,
        mbr: bool = False,
        hash_bits: int = 22,
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
        X : Treebank, TokenTable, or list of sentences
            A sentence is a list of words, of tuples of columns, or of dicts of columns.
        y : list of trees, optional
            A tree is a pair of heads and relations, or heads alone: 0 is the root, ``i`` the word ``i``, from 1. None
            is an unknown head: training then assumes that one of the trees with the known heads is correct. By default,
            the trees in X.
        X_dev, y_dev : optional
            Development data, scored after each iteration by LAS (UAS without labels). The best weights are kept.
        sample_weight : (n,) array-like, optional
            The weight of each sentence.
        callback, resume
            As for `SequenceLabeler.fit`.
        """
        self._check_parameters()
        X, y, X_dev, y_dev = _held(X), _held(y), _held(X_dev), _held(y_dev)
        if X_dev is not None and y_dev is None:
            y_dev = _own_trees(X_dev, "y_dev")
        with warnings.catch_warnings():
            if isinstance(self.learner, str):  # so many passes were asked for
                warnings.filterwarnings("ignore", ".*training has not converged", ConvergenceWarning)
            self._learn(self._examples(X, y, sample_weight), X_dev, y_dev, callback, resume)
            self._take_labeler(self._chains(X, y, sample_weight) if self.labels == "chain" else None)
            return self

    def _take_labeler(self, labeler: SequenceLabeler | None) -> None:
        self._labeler = labeler
        if labeler is not None:
            self.classes_ = labeler.classes_

    def _chains(self, X: Any, y: Any, sample_weight: Any) -> SequenceLabeler | None:
        """Learn the relations of each head's modifiers, in order."""
        from trelliswork.estimators.sequence_labeler import SequenceLabeler

        columns, gold = self.read_gold(X, y, self._fitted().templates)
        if gold.relations is None:
            return None
        if (gold.heads < 0).any() or sample_weight is not None:
            raise InvalidInput(
                "labels='chain' learns from whole trees that all count the same: leave out None heads and "
                "sample_weight, or choose labels='joint'."
            )
        chains, places = chains_of(columns, gold.heads)
        relations = [gold.names[gold.relations[place]] for place in places]
        ends = np.cumsum([len(chain) for chain in chains]).tolist()
        spelled = [relations[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        labeler = SequenceLabeler(
            self.learner,
            chain_templates(columns.n_columns),
            hash_bits=min(int(self.hash_bits or _CHAIN_BITS), _CHAIN_BITS),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        return labeler.fit(chains, spelled)

    def _examples(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> DependencyExamples:
        from trelliswork.training.dependency_examples import DependencyExamples  # only training needs it

        X = _held(X)
        templates = self._templates(X)
        columns, gold = self.read_gold(X, y, templates)
        if not len(gold.heads):
            raise InvalidInput("X has no words to learn from: pass at least one sentence that is not empty.")
        return DependencyExamples(self, Inputs("columns", templates), columns, gold, sample_weight)

    def _templates(self, X: Any) -> Templates:
        features = self.features
        if isinstance(features, str) and features == "auto":
            found = arc_templates(column_names(X, sentence_columns(X)), self.order)
        elif isinstance(features, str):
            found = Templates.preset(features)
        elif isinstance(features, Templates):
            found = features
        else:
            raise InvalidInput(f'features is {shown(features)}; expected "auto", Templates or their name.')
        joint = self.labels == "joint"
        allowed = ("arc", *(("arc label",) if joint else ()), *(("sibling", "grandparent") * (self.order - 1)))
        if not joint:
            found = found.without("arc label")
        found.require(allowed, f"a parser of order {self.order}")
        if "arc" not in found.meets:
            raise InvalidInput("features has no line about arcs. Write lines such as head.form & mod.form.")
        if self.order == 2 and not {"sibling", "grandparent"} & set(found.meets):
            raise InvalidInput("features has no line about siblings or grandparents, which order 2 is about.")
        return found

    def read_gold(
        self, X: Any, y: Any, templates: Templates, name: str = "X", y_name: str = "y"
    ) -> tuple[_core.Columns, CodedTrees]:
        """Return sentences as columns, and their trees as numbers."""
        from trelliswork.training.dependency_examples import gold_trees

        columns = _checked(sentence_columns(X, templates.columns, name), templates, name)
        gold = gold_trees(_own_trees(X, y_name) if y is None else y, columns.lengths(), y_name)
        return columns, gold

    # ---- answers -------------------------------------------------------------------------------------------------

    @snapshot
    def predict(self, X: Any, allowed: Any = None, fixed: Any = None) -> list[Tree]:
        """Return the tree of each sentence: (heads, relations), or heads without labels.

        Parameters
        ----------
        X : Treebank, TokenTable, or list of sentences
        allowed : list, optional
            For each sentence None, or a list with, for each word, a collection of possible heads, or None for any.
        fixed : list, optional
            For each sentence None, or a tree with known heads and relations, and None for unknown ones.

        Examples
        --------
        >>> import trelliswork as tw
        >>> treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
        >>> parser = tw.DependencyParser(hash_bits=18, labels=None).fit(treebank)
        >>> parser.predict([[("Go", "_", "VERB", "_", "_"), ("home", "_", "ADV", "_", "_")]])
        [[0, 1]]
        """
        return self._written(self.predict_coded(X, allowed, fixed))

    @snapshot
    def predict_coded(self, X: Any, allowed: Any = None, fixed: Any = None) -> CodedTrees:
        """Return the trees as arrays of numbers, the form that `Treebank.with_trees` and `tw.evaluation` take."""
        model, X = self._fitted(), _held(X)
        if self.mbr or allowed is not None or fixed is not None:
            if self.mbr:
                self._require_probabilities()
            found = [
                own
                for batch in self._ask(X, allowed, fixed)
                for own in batch.refuse_none(batch.mbr() if self.mbr else batch.best())
            ]
            outputs = [part for ((heads, labels, _),) in found for part in (heads, labels)[: min(model.n_labels, 2)]]
            lengths = np.array([len(heads) for ((heads, _, _),) in found], dtype=np.int64)
            flat = np.concatenate([np.zeros(0, dtype=np.uint32), *outputs])
            trees = self._coded(flat, np.cumsum(lengths * min(model.n_labels, 2)), lengths)
            return self._with_chains(self._columns(X), trees)
        columns, n_jobs = self._columns(X), checks.as_jobs(self.n_jobs)
        sentences, lengths = model.sentences(columns), columns.lengths()
        outputs, ends, _ = model.core.best(sentences, model.shapes(columns, n_jobs=n_jobs), n_jobs)
        return self._with_chains(columns, self._coded(outputs, ends, lengths))

    def _with_chains(self, columns: _core.Columns, trees: CodedTrees) -> CodedTrees:
        """The same trees with relations, where chains say them."""
        if self._labeler is None:
            return trees
        names = self._labeler.classes_.tolist()
        numbers = {name: k for k, name in enumerate(names)}
        chains, places = chains_of(columns, trees.heads)
        found = in_order(self._labeler.predict(chains) if chains else [], places)
        relations = np.array([numbers[name] for name in found], dtype=np.int32)
        return CodedTrees(trees.heads, relations, names, trees.lengths)

    def _coded(self, outputs: Any, ends: Any, lengths: Any) -> CodedTrees:
        model = self._fitted()
        wrong = np.diff(ends, prepend=0) != lengths * (2 if model.n_labels > 1 else 1)
        for i in np.flatnonzero(wrong).tolist():
            raise Unsatisfiable(f"X[{i}]: there is no tree with these heads.")
        heads, labels = split_outputs(outputs, lengths)
        if not model.labelled:
            return CodedTrees(heads, None, [], lengths)
        labels = np.zeros(len(heads), dtype=np.int32) if labels is None else labels
        return CodedTrees(heads, labels, list(model.labels), lengths)

    def _written(self, trees: CodedTrees) -> list[Tree]:
        starts, heads = trees.starts.tolist(), trees.heads.tolist()
        spans = list(pairwise(starts))
        if trees.relations is None:
            return [heads[a:b] for a, b in spans]
        names = [trees.names[k] for k in trees.relations.tolist()]
        return [(heads[a:b], names[a:b]) for a, b in spans]

    @snapshot
    def predict_kbest(self, X: Any, k: int, allowed: Any = None, fixed: Any = None) -> list[list[tuple[Tree, float]]]:
        """Return, for each sentence, its ``k`` most probable trees with their log-probabilities, best first."""
        self._require_joint("predict_kbest")
        k = checks.as_count("k", k)
        self._require_probabilities()
        return [
            [(self._tree(heads, labels), min(score - total, 0.0)) for heads, labels, score in own]
            for batch in self._ask(X, allowed, fixed)
            for own, total in zip(batch.refuse_none(batch.best(k)), batch.log_partition().tolist(), strict=True)
        ]

    def _tree(self, heads: Any, labels: Any) -> Tree:
        model = self._fitted()
        return (heads.tolist(), [model.labels[k] for k in labels.tolist()]) if model.labelled else heads.tolist()

    @snapshot
    def predict_marginals(
        self, X: Any, *, labels: bool = False, allowed: Any = None, fixed: Any = None
    ) -> list[FloatArray]:
        """Return, for each sentence of n words, the probability of every arc, an array (n + 1, n + 1).

        ``[h, m]`` is the probability that ``h`` (0 is the root) is the head of word ``m``, from 1. It is 0 for heads
        that the first pass has excluded.

        Parameters
        ----------
        X : sentences
        labels : bool
            Whether to distinguish arcs by relation: (n + 1, n + 1, L), in the order of `classes_`.
        allowed, fixed
            As for `predict`.
        """
        if labels:
            self._require_joint("predict_marginals(labels=True)")
        self._fitted()
        self._require_probabilities()
        found = []
        for batch in self._ask(X, allowed, fixed):
            batch.refuse_none(batch.best())
            found += [table if labels else table.sum(axis=2) for table in batch.marginals()]
        return found

    @snapshot
    def log_prob(self, X: Any, y: Any = None) -> FloatArray:
        """Return log p(y | x) of each sentence, -inf if the model cannot produce this tree."""
        self._require_joint("log_prob")
        model, X = self._fitted(), _held(X)
        self._require_probabilities()
        _, gold = self.read_gold(X, y, model.templates)
        if (gold.heads < 0).any():
            raise InvalidInput("y has heads that are not known: pass whole trees.")
        if model.labelled and gold.relations is None:
            raise InvalidInput("y has no relations, but the model does: pass pairs of heads and relations.")
        numbers = {name: k for k, name in enumerate(model.labels)}
        codes = np.array([numbers.get(name, len(numbers)) for name in gold.names], dtype=np.int64)
        labels = codes[gold.relations] if model.labelled else np.zeros(len(gold.heads), dtype=np.int64)
        heads, found, first = np.split(gold.heads, gold.starts[1:-1]), [np.zeros(0)], 0
        relations = np.split(labels, gold.starts[1:-1])
        for batch in self._ask(X):
            last = first + len(batch.lengths)
            found.append(
                np.minimum(batch.scores_of(heads[first:last], relations[first:last]) - batch.log_partition(), 0.0)
            )
            first = last
        return np.concatenate(found)

    def plot(self, x: Any, *, marginals: bool = False, ax: Axes | None = None, **how: Any) -> Axes:
        """Draw the tree of one sentence and return the axes.

        Parameters
        ----------
        x : sentence
        marginals : bool
            Whether to shade arcs by probability, and to draw other probable arcs below the words.
        ax : matplotlib.axes.Axes, optional
        **how
            As for `trelliswork.plots.arcs`, such as ``gold``.
        """
        from trelliswork.plots.trees import arcs

        return arcs(ax=ax, **self._picture(x, marginals), **how)

    def svg(self, x: Any, *, marginals: bool = False, **how: Any) -> str:
        """Return the tree of one sentence as SVG text; arguments are those of `plot`.

        Examples
        --------
        >>> import trelliswork as tw
        >>> treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
        >>> parser = tw.DependencyParser(hash_bits=16).fit(treebank)
        >>> parser.svg(treebank[0])[:4]
        '<svg'
        """
        from trelliswork.plots.trees import arcs_svg

        return arcs_svg(**self._picture(x, marginals), **how)

    @snapshot
    def _picture(self, x: Any, marginals: bool) -> dict[str, Any]:
        """What is drawn of a sentence: words, heads, relations, and probabilities of arcs."""
        words = [row if isinstance(row, str) else row[0] for row in self._columns([x], "x").sequence(0)]
        heads, relations = self.predict_coded([x])[0]
        probabilities = self.predict_marginals([x])[0] if marginals else None
        return {"words": words, "heads": heads.tolist(), "relations": relations, "probabilities": probabilities}

    @snapshot
    def explain(self, x: Any) -> list[ArcExplanation]:
        """Explain the parse of one sentence: for each word its head, relation, and the contributions to the score.

        Parameters
        ----------
        x : sentence
        """
        model: DependencyModel = self._fitted()
        return model.explained(next(self._ask([x])))

    @snapshot
    def weights(self, most: int = 1000) -> list[Weight]:
        """Return the largest weights; hashes have no names: ``arc 123`` is the weight of all arcs with that hash."""
        model: DependencyModel = self._fitted()
        return model.largest_weights(checks.as_count("most", most))

    @snapshot
    def scores(self, X: Any, y: Any = None) -> AttachmentScores:
        """Return UAS and LAS, with and without subtypes, and the fraction of completely correct trees.

        Parameters
        ----------
        X, y
            As for `fit`.

        Examples
        --------
        >>> import trelliswork as tw
        >>> treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
        >>> scores = tw.DependencyParser(hash_bits=18).fit(treebank).scores(treebank)
        >>> scores.uas > 0.9, scores.las > 0.9
        (True, True)
        """
        from trelliswork.evaluation.dependencies import dependency_scores

        model, X = self._fitted(), _held(X)
        _, gold = self.read_gold(X, y, model.templates)
        found = self.predict_coded(X)
        if gold.relations is None or found.relations is None:
            gold, found = (CodedTrees(t.heads, None, [], t.lengths) for t in (gold, found))
        return dependency_scores(gold, found).words

    @snapshot
    def score(self, X: Any, y: Any = None) -> float:
        """Return LAS, or UAS if there are no labels; see `scores`."""
        found = self.scores(X, y)
        return found.uas if found.las is None else found.las

    # ---- files ---------------------------------------------------------------------------------------------------

    @snapshot
    def save(self, path: Any, *, metadata: Mapping[str, Any] | None = None) -> None:  # type: ignore[override]
        """Write the model to a file, completely or not at all; `trelliswork.load` reads it.

        Parameters
        ----------
        path : path or binary file
            Where to write.
        metadata : dict, optional
            Any JSON data to store with the model (`metadata_`); None keeps the present data.
        """
        tensors, settings = self.exported()
        models.save(path, tensors, models.with_metadata(settings, metadata))

    @snapshot
    def exported(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors and the settings of the model file; chains of relations are a member of it."""
        tensors, settings = super().exported()
        if self._labeler is None:
            return tensors, settings
        of_chains, described = self._labeler.exported()
        own = {f"{_CHAINS}.{name}": tensor for name, tensor in of_chains.items()}
        return {**tensors, **own}, {**settings, "members": {_CHAINS: described}}

    @classmethod
    def restored(
        cls, tensors: Mapping[str, Any], settings: Mapping[str, Any], restore: Any = None, **given: Any
    ) -> Self:
        """Return the parser of a file that may say anything."""
        described = (settings.get("members") or {}).get(_CHAINS)
        prefix = f"{_CHAINS}."
        own = {name: tensor for name, tensor in tensors.items() if not name.startswith(prefix)}
        rest = {name: value for name, value in settings.items() if name != "members"}
        parser = super().restored(own, rest, restore, **given)
        if described is not None:
            inner = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            parser._take_labeler(restore(inner, described))
        return parser

    @classmethod
    def _restored_parameters(cls, model: Any, given: dict[str, Any]) -> dict[str, Any]:
        found = super()._restored_parameters(model, given)
        return {name: value for name, value in found.items() if name not in ("min_count", "combinations")}

    # ---- helpers -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.hash_bits is None:
            raise InvalidInput("hash_bits is None, but attributes of arcs are always hashed; expected 1 to 30.")
        if self.order not in (1, 2) or isinstance(self.order, bool):
            raise InvalidInput(f"order is {shown(self.order)}; expected 1 or 2.")
        for name in ("projective", "single_root", "mbr"):
            checks.as_flag(name, getattr(self, name))
        if self.labels not in ("joint", "chain", None):
            raise InvalidInput(f"labels is {shown(self.labels)}; expected 'joint', 'chain', or None for heads only.")
        if self.heads is not None:
            checks.as_count("heads", self.heads)
        if self.order == 2 and not self.projective:
            raise InvalidInput(
                "order=2 needs projective=True: the best tree of order 2 whose arcs may cross cannot be found in "
                "reasonable time. Choose order=1, or projective trees."
            )

    def _require_joint(self, question: str) -> None:
        self._fitted()
        if self._labeler is not None:
            raise InvalidInput(
                f"{question} is about heads and relations together, which labels='chain' finds one after the other. "
                "Train with labels='joint', or with labels=None for heads alone."
            )

    def _ask(self, X: Any, allowed: Any = None, fixed: Any = None) -> Iterator[TreeBatch]:
        """Yield the sentences in batches."""
        model, n_jobs, first = self._fitted(), checks.as_jobs(self.n_jobs), 0
        X = getattr(X, "tokens", X)
        X = X if hasattr(X, "__len__") and hasattr(X, "__getitem__") else list(X)
        if self._labeler is not None and any(_has_relations(own) for own in fixed or ()):
            self._require_joint("fixed with relations")
        limits = Limits(model, allowed, fixed, len(X))
        for first in range(0, max(len(X), 1), _AT_A_TIME):
            block = X if len(X) <= _AT_A_TIME else X[first : first + _AT_A_TIME]
            columns = self._columns(block)
            pruned = model.shapes(columns, n_jobs=n_jobs)
            shapes, masks = limits.of(first, [pruned[i] for i in range(len(pruned))])
            yield TreeBatch(model, columns, shapes, n_jobs, masks, first)

    def _columns(self, X: Any, name: str = "X") -> _core.Columns:
        templates = self._fitted().templates
        return _checked(sentence_columns(X, templates.columns, name), templates, name)


def _checked(columns: _core.Columns, templates: Templates, name: str) -> _core.Columns:
    if columns.n_rows and columns.n_columns < templates.n_columns:
        raise InvalidInput(
            f"the words of {name} have {columns.n_columns} columns, but the features look at {templates.n_columns}: "
            f"{', '.join(templates.columns)}. Pass every word as a tuple of so many strings, or choose other features."
        )
    return columns


def _held(given: Any) -> Any:
    """What can be looked at more than once."""
    return list(given) if isinstance(given, Iterator) else given


def _has_relations(known: Any) -> bool:
    """Whether a tree that is fixed says more than heads."""
    return isinstance(known, tuple) and len(known) == 2 and not isinstance(known[0], int | None) and any(known[1] or ())


def _own_trees(X: Any, name: str) -> Any:
    """The trees that sentences have with them."""
    if hasattr(X, "coded"):
        return X
    if isinstance(X, Sequence) and all(hasattr(x, "heads") or hasattr(x, "words") for x in X):
        return [x if hasattr(x, "heads") else ([w.head for w in x.words], [w.deprel for w in x.words]) for x in X]
    raise InvalidInput(f"{name} is missing: pass the tree of each sentence, or a Treebank as X.")
