"""Every learner on every structure, on small real data: the score reached and the seconds of processor time it took.

    python benchmarks/learners.py            # all learners
    python benchmarks/learners.py pa crf     # some

| column | task | score |
| --- | --- | --- |
| label | one digit for an image, scikit-learn's handwritten digits | accuracy |
| chain, order 2, order 3 | labels of the words of ingredient lines, which ship with the library | F1 of spans |
| segments | the same, as segments of words, which are seen as a whole, too | F1 of spans |
| automaton | the same; the history is the label before, and whether the name has come | F1 of spans |
| enumerated | which span of a line is the name? A class in Python lists all spans | names found exactly |
| parts | all spans of a line and their types; a class in Python scores them as parts | F1 of spans |
| dependency | trees of the sentences that ship with the library | LAS |
| dep. order 2, crossing | the same with siblings and grandparents; with arcs that may cross | LAS |
| spanning | the same without direction; a class in Python scores edges, `tw.SpanningTree` decodes | edges found |
| brackets | the same as constituents, a phrase for each word that has modifiers | F1 of brackets |
| grammar | the same as derivations of a grammar over tags, whose rules have weights; by `tw.Grammar` | heads found |
| graph | tags of the words of the same sentences, along their trees and from word to word; exact | accuracy |
| loopy graph | nine grey levels of the pixels of the digits, seen with noise, 8 x 8; searched by TRW-S | accuracy |
| strips | which cells of noisy pictures are inside of discs? Five rows: all answers are exact | cells found |
| grid | the same, 48 rows: best labels by a minimum cut, so weights of pairs must not be negative | cells found |
| matching | which of eight words eight misspellings mean; a class in Python, by `tw.Matching` | pairs found |
| alignment | which letter of a misspelling stands for which of the word; `tw.Aligner` | F1 of pairs |

Parameters are the learners' own defaults; a cell stops after the epoch in which its time is up (marked *). Where there
is no score, a footnote has the sentence with which the learner was refused.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import trelliswork as tw
from pictures import discs
from timing import print_load, print_table
from trelliswork import learners

SECONDS = 10.0  # of one cell, after which no further epoch is begun
LONGEST = 4  # words of a span in `Spans`

Span = tuple[int, int]
Typed = frozenset[tuple[int, int, str]]
Tagged = list[tuple[str, str]]
FloatArray = npt.NDArray[np.float64]


class Cell(NamedTuple):
    """What came of training one learner on one structure."""

    score: float
    seconds: float
    ended: bool  # before its time was up


class NameSpan(tw.Structure):
    """One span of a line of words; features are the words inside, at its ends and around it, and its length.

    Parameters
    ----------
    lines : list of lists of str
        Where the features are collected from.
    """

    def __init__(self, lines: list[list[str]]) -> None:
        self.numbers: dict[str, int] = {}
        for words in lines:
            for span in self.outputs(words):
                for name in self.names(words, span):
                    self.numbers.setdefault(name, len(self.numbers))
        self.n_features = len(self.numbers)

    def outputs(self, words: list[str]) -> list[Span]:
        return [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]

    def features(self, words: list[str], span: Span) -> dict[int, float]:
        found: dict[int, float] = {}
        for name in self.names(words, span):
            if name in self.numbers:
                found[self.numbers[name]] = found.get(self.numbers[name], 0.0) + 1.0
        return found

    def cost(self, gold: Span, span: Span) -> float:
        """The share of words that are in one of the two spans only."""
        common = max(0, min(gold[1], span[1]) - max(gold[0], span[0]))
        return 1.0 - common / (gold[1] - gold[0] + span[1] - span[0] - common)

    @staticmethod
    def names(words: list[str], span: Span) -> Iterator[str]:
        padded = ["<", *(word.lower() for word in words), ">"]
        before, inside, after = padded[span[0]], padded[span[0] + 1 : span[1] + 1], padded[span[1] + 1]
        yield f"before {before}"
        yield f"after {after}"
        yield f"first {inside[0]}"
        yield f"last {inside[-1]}"
        yield f"end {inside[-1][-2:]}"
        yield f"length {min(len(inside), 5)}"
        for word in inside:
            yield f"in {word}"
            yield f"kind {'letters' if word.isalpha() else 'digits' if word[0].isdigit() else 'other'}"


class Spans(tw.Structure):
    """The spans of a line of words with their types: none overlap. A part is a span with a type.

    Parameters
    ----------
    lines : list of lists of str
    outputs : list of sets of (start, stop, type)
        Where types and features are collected from.
    """

    def __init__(self, lines: list[list[str]], outputs: list[Typed]) -> None:
        self.types = sorted({kind for spans in outputs for _, _, kind in spans})
        self.numbers: dict[str, int] = {}
        for words, spans in zip(lines, outputs, strict=True):
            for start, stop, _ in spans:
                for name in NameSpan.names(words, (start, stop)):
                    self.numbers.setdefault(name, len(self.numbers))
        self.n_features = len(self.numbers) * len(self.types)

    @staticmethod
    def places(n_words: int) -> list[Span]:
        """Return the spans that there are, by where they stop."""
        return [(i, j) for j in range(1, n_words + 1) for i in range(max(0, j - LONGEST), j)]

    def parts(self, words: list[str]) -> tuple[list[int], list[int], FloatArray]:
        starts, indices = [0], []
        for span in self.places(len(words)):
            names = NameSpan.names(words, span)
            known = [self.numbers[name] for name in names if name in self.numbers]
            for kind in range(len(self.types)):
                indices += [number * len(self.types) + kind for number in known]
                starts.append(len(indices))
        return starts, indices, np.ones(len(indices))

    def decode(self, scores: FloatArray, x: list[str]) -> list[int]:  # type: ignore[override]
        """Go from word to word: the best set of spans that ends there, or before."""
        table = scores.reshape(-1, len(self.types))
        kinds, best = table.argmax(axis=1), table.max(axis=1)
        reached, last = np.zeros(len(x) + 1), [-1] * (len(x) + 1)
        for p, (i, j) in enumerate(self.places(len(x))):
            if i == max(0, j - LONGEST):  # the first of those that stop here: or the word is in no span
                reached[j] = reached[j - 1]
            if reached[i] + best[p] > reached[j]:
                reached[j], last[j] = reached[i] + best[p], p
        found, j = [], len(x)
        while j > 0:
            if last[j] < 0:
                j -= 1
            else:
                found.append(last[j] * len(self.types) + int(kinds[last[j]]))
                j = self.places(len(x))[last[j]][0]
        return found

    def marginals(self, scores: FloatArray, x: list[str]) -> tuple[float, FloatArray]:  # type: ignore[override]
        """Forward and backward over the same."""
        spans = self.places(len(x))
        sums = np.logaddexp.reduce(scores.reshape(-1, len(self.types)), axis=1)
        forward, backward = np.zeros(len(x) + 1), np.zeros(len(x) + 1)
        for j in range(1, len(x) + 1):
            ways = [forward[i] + s for (i, stop), s in zip(spans, sums, strict=True) if stop == j]
            forward[j] = np.logaddexp.reduce([forward[j - 1], *ways])
        for i in range(len(x) - 1, -1, -1):
            ways = [backward[j] + s for (start, j), s in zip(spans, sums, strict=True) if start == i]
            backward[i] = np.logaddexp.reduce([backward[i + 1], *ways])
        around = np.repeat([forward[i] + backward[j] for i, j in spans], len(self.types))
        return float(forward[-1]), np.exp(scores + around - forward[-1])

    def parts_of(self, x: list[str], y: Typed) -> list[int]:
        place = {span: p for p, span in enumerate(self.places(len(x)))}
        return [place[start, stop] * len(self.types) + self.types.index(kind) for start, stop, kind in y]

    def output_of(self, x: list[str], numbers: tuple[int, ...]) -> Typed:
        spans = self.places(len(x))
        return frozenset((*spans[n // len(self.types)], self.types[n % len(self.types)]) for n in numbers)


class Edges(tw.Structure):
    """The edges of a tree over tagged words, without direction. A part is a pair of words.

    Parameters
    ----------
    sentences : list of sentences
        Where the features are collected from.
    """

    def __init__(self, sentences: list[Tagged]) -> None:
        self.numbers: dict[str, int] = {}
        for words in sentences:
            for pair in self.pairs(words):
                for name in self.names(words, *pair):
                    self.numbers.setdefault(name, len(self.numbers))
        self.n_features = len(self.numbers)

    @staticmethod
    def pairs(words: Tagged) -> list[Span]:
        """Return the pairs of words, in the order in which `tw.SpanningTree` has edges."""
        return [(i, j) for i in range(len(words)) for j in range(i + 1, len(words))]

    @staticmethod
    def names(words: Tagged, i: int, j: int) -> Iterator[str]:
        tags = ["<", *(tag for _, tag in words), ">"]
        near = str(min(j - i, 4))
        yield f"{tags[i + 1]} {tags[j + 1]}"
        yield f"{tags[i + 1]} {tags[j + 1]} {near}"
        yield f"{tags[i + 1]} {tags[i + 2]} {tags[j]} {tags[j + 1]}"
        yield f"{tags[i]} {tags[i + 1]} {tags[j + 1]} {tags[j + 2]}"
        yield f"{words[i][0]} {tags[j + 1]}"
        yield f"{tags[i + 1]} {words[j][0]}"

    def parts(self, words: Tagged) -> tuple[list[int], list[int], FloatArray]:
        starts, indices = [0], []
        for pair in self.pairs(words):
            indices += [self.numbers[name] for name in self.names(words, *pair) if name in self.numbers]
            starts.append(len(indices))
        return starts, indices, np.ones(len(indices))

    def decode(self, scores: FloatArray, x: Tagged) -> list[int]:  # type: ignore[override]
        place = {pair: p for p, pair in enumerate(self.pairs(x))}
        return [place[i, j] for i, j in self.tree(scores, x).argmax().edges.tolist()]

    def marginals(self, scores: FloatArray, x: Tagged) -> tuple[float, FloatArray]:  # type: ignore[override]
        tree = self.tree(scores, x)
        return tree.log_partition(), tree.edge_marginals()

    def tree(self, scores: FloatArray, words: Tagged) -> tw.SpanningTree:
        """Return the spanning trees over words with these scores of pairs."""
        ends = np.array(self.pairs(words), dtype=np.int64).reshape(-1, 2)
        table = np.zeros((len(words), len(words)))
        table[ends[:, 0], ends[:, 1]] = table[ends[:, 1], ends[:, 0]] = scores
        return tw.SpanningTree(table)

    def parts_of(self, x: Tagged, y: frozenset[Span]) -> list[int]:
        return [p for p, pair in enumerate(self.pairs(x)) if pair in y]

    def output_of(self, x: Tagged, numbers: tuple[int, ...]) -> frozenset[Span]:
        pairs = self.pairs(x)
        return frozenset(pairs[n] for n in numbers)


class Rules(tw.Structure):
    """Derivations of a grammar over tags: a phrase is a word, or a phrase with a modifier on its left or right.

    Parameters
    ----------
    tags : list of str
    """

    def __init__(self, tags: list[str]) -> None:
        self.rules: list[tuple[str, tuple[str, ...]]] = []
        for tag in tags:
            self.rules.append((f"{tag}P", (tag,)))
            self.rules += [(f"{tag}P", (f"{tag}P", f"{other}P")) for other in tags]
            self.rules += [(f"{tag}P", (f"{other}P", f"{tag}P")) for other in tags if other != tag]
        self.starts = [f"{tag}P" for tag in tags]
        self.numbers = {rule: number for number, rule in enumerate(self.rules)}
        self.n_features = len(self.rules)
        self._last: tuple[bytes, tw.Grammar] | None = None

    def features(self, x: list[str], y: tw.Constituent) -> dict[int, float]:
        found: dict[int, float] = {}
        for node, _, _ in y.nodes():
            children = tuple(child if isinstance(child, str) else child.label for child in node.children)
            number = self.numbers[node.label, children]
            found[number] = found.get(number, 0.0) + 1.0
        return found

    def cost(self, gold: tw.Constituent, y: tw.Constituent) -> float:
        """How many constituents are not gold's."""
        right = {(node.label, i, j) for node, i, j in gold.nodes()}
        return float(sum((node.label, i, j) not in right for node, i, j in y.nodes()))

    def kbest(
        self, x: list[str], weights: FloatArray, k: int, gold: Any = None, cost_scale: float = 0.0
    ) -> list[tw.Constituent]:
        return [found.tree for found in self.parses(x, weights, gold, cost_scale).kbest(k)]

    def argmax(self, x: list[str], weights: FloatArray, gold: Any = None, cost_scale: float = 0.0) -> tw.Constituent:
        best: tw.Constituent = self.parses(x, weights, gold, cost_scale).argmax().tree
        return best

    def expectations(
        self, x: list[str], weights: FloatArray, gold: Any = None, cost_scale: float = 0.0
    ) -> tuple[float, FloatArray]:
        parses = self.parses(x, weights, gold, cost_scale)
        return parses.log_partition(), parses.rule_marginals()

    def parses(self, x: list[str], weights: FloatArray, gold: Any, cost_scale: float) -> Any:
        """Return the trees of a sentence; the grammar is made anew when the weights have changed."""
        key = weights.tobytes()
        if self._last is None or self._last[0] != key:
            scored = [(*rule, float(weight)) for rule, weight in zip(self.rules, weights, strict=True)]
            self._last = key, tw.Grammar(scored, start=self.starts)
        found = self._last[1].parse(x)
        return found.augmented(gold, cost_scale) if cost_scale else found

    @staticmethod
    def derivation(tags: list[str], heads: list[int]) -> tw.Constituent:
        """Return a projective tree as a derivation: modifiers on the right first, then on the left, near ones first."""

        def phrase(word: int) -> tw.Constituent:
            found = tw.Constituent(f"{tags[word]}P", [tags[word]])
            for other in range(word + 1, len(tags)):
                if heads[other] == word + 1:
                    found = tw.Constituent(found.label, [found, phrase(other)])
            for other in range(word - 1, -1, -1):
                if heads[other] == word + 1:
                    found = tw.Constituent(found.label, [phrase(other), found])
            return found

        return phrase(heads.index(0))

    @staticmethod
    def heads(tree: tw.Constituent) -> list[int]:
        """Return the tree of a derivation: of two phrases the one with the label of both has the head."""
        found: list[int] = [0] * len(tree.leaves())
        heads: dict[int, int] = {}  # of each constituent, its word
        for node, start, _ in reversed(list(tree.nodes())):
            if len(node.children) == 1:
                heads[id(node)] = start
                continue
            left, right = node.children
            assert isinstance(left, tw.Constituent)
            assert isinstance(right, tw.Constituent)
            head, modifier = (left, right) if left.label == node.label else (right, left)
            heads[id(node)] = heads[id(head)]
            found[heads[id(modifier)]] = heads[id(head)] + 1
        return found


class WordPairs(tw.Structure):
    """Which word is meant by which misspelling. A part is a pair of both; features are what their letters share."""

    names = ("common letters", "common pairs", "same first", "same last", "length")
    n_features = len(names)

    def parts(self, x: tuple[list[str], list[str]]) -> tuple[list[int], list[int], FloatArray]:
        rows = np.array([self.values(wrong, right) for wrong in x[0] for right in x[1]])
        places = [list(np.flatnonzero(row)) for row in rows]
        starts = np.cumsum([0, *map(len, places)]).tolist()
        return starts, [int(i) for own in places for i in own], rows[rows != 0]

    @staticmethod
    def values(wrong: str, right: str) -> list[float]:
        """Return the features of a pair."""
        pairs = [{word[i : i + 2] for i in range(len(word) - 1)} for word in (wrong, right)]
        common = [len(set(wrong) & set(right)) / len(set(wrong) | set(right))]
        common.append(len(pairs[0] & pairs[1]) / max(1, len(pairs[0] | pairs[1])))
        return [*common, wrong[0] == right[0], wrong[-1] == right[-1], abs(len(wrong) - len(right))]

    def decode(self, scores: FloatArray, x: Any) -> list[int]:  # type: ignore[override]
        n = len(x[1])
        return [i * n + j for i, j in tw.Matching(scores.reshape(-1, n)).argmax().pairs.tolist()]

    def marginals(self, scores: FloatArray, x: Any) -> tuple[float, FloatArray]:  # type: ignore[override]
        found = tw.Matching(scores.reshape(-1, len(x[1]))).sums()
        return found.log_partition, found.marginals.ravel()

    def parts_of(self, x: Any, y: tuple[int, ...]) -> list[int]:
        return [i * len(x[1]) + j for i, j in enumerate(y)]

    def output_of(self, x: Any, numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(n % len(x[1]) for n in sorted(numbers))


def main(arguments: list[str]) -> int:
    """Print the table; the exit code is 1 if a cell is empty for no reason."""
    warnings.simplefilter("ignore", tw.ConvergenceWarning)
    print_load()
    columns = {
        "label": label(),
        "chain": lines(tw.SequenceLabeler),
        "order 2": lines(tw.SequenceLabeler, order=2),
        "order 3": lines(tw.SequenceLabeler, order=3),
        "segments": lines(tw.SegmentLabeler, tw.Templates.segment_words()),
        "automaton": lines(tw.SequenceLabeler, constraints="BIO", automaton=named, automaton_weights="arcs"),
        "constrained chain": lines(tw.SequenceLabeler, at_most={"B-NAME": most_names()}),
        "enumerated": enumerated(),
        "parts": parts(),
        "dependency": dependency(),
        "dep. order 2": dependency(order=2),
        "crossing": dependency(projective=False),
        "spanning": spanning(),
        "brackets": brackets(),
        "grammar": grammar(),
        "graph": graph(),
        "loopy graph": loopy_graph(),
        "strips": pictures(rows=5, columns=40, features="maps", associative=False),
        "grid": pictures(rows=48, columns=48, features="maps", neighbours=8),
        "matching": matching(),
        "alignment": alignment(),
    }
    began = time.perf_counter()
    rows, notes, failed = [], dict[str, int](), False
    for name in arguments or learners.names():
        row: list[object] = [name]
        for column, train in columns.items():
            try:
                cell = train(learners.by_name(name))
                row += [f"{100 * cell.score:.1f}", f"{cell.seconds:.2f}{' ' if cell.ended else '*'}"]
            except tw.TrellisworkError as error:
                row += ["-", f"[{notes.setdefault(f'{column}: {error}', len(notes) + 1)}]"]
            except Exception as error:  # no refusal, but a fault: shown, and the others go on
                failed = True
                row += ["FAILED", f"[{notes.setdefault(f'{column}: {error!r}', len(notes) + 1)}]"]
            print(f"{name}, {column}: {row[-2]} {row[-1]}", file=sys.stderr, flush=True)
        rows.append(row)
    head = ["learner", *(title for column in columns for title in (column, "s"))]
    print_table("score in per cent, seconds of processor time", head, rows)
    for note, number in notes.items():
        print(f"[{number}] {note}")
    print(f"* stopped after {SECONDS:g} s\n\n{time.perf_counter() - began:.0f} s in all")
    return int(failed)


def label() -> Callable[[Any], Cell]:
    """Digits: 1347 rows of 64 numbers to learn from, 450 to be scored."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    return lambda learner: _cell(tw.MulticlassClassifier(learner), X, y, X_test, y_test)


def lines(estimator: Any, templates: Any = None, **options: Any) -> Callable[[Any], Cell]:
    """Ingredient lines: six types of spans."""
    corpus = tw.corpora.ingredients()
    templates = templates or tw.Templates.words()

    def train(learner: Any) -> Cell:
        model = estimator(learner, templates, **options)
        return _cell(model, corpus.X_train, corpus.y_train, corpus.X_test, corpus.y_test)

    return train


def named(labels: list[str]) -> tw.Automaton:
    """Return the automaton that knows whether the name has come; any label may come at any time."""
    arcs = [(seen, label, seen or label == "B-NAME") for seen in (False, True) for label in labels]
    return tw.Automaton(labels, arcs)


def pictures(rows: int, columns: int, **options: Any) -> Callable[[Any], Cell]:
    """Noisy discs: 30 pictures to learn from, 30 to be scored."""
    X, Y = discs(60, rows, columns)
    return lambda learner: _cell(tw.ImageSegmenter(learner, **options), X[:30], Y[:30], X[30:], Y[30:])


def most_names() -> int:
    """As many names as a line to learn from has at most."""
    return max(row.count("B-NAME") for row in tw.corpora.ingredients().y_train)


def enumerated() -> Callable[[Any], Cell]:
    """The lines with one name: find it."""
    corpus = tw.corpora.ingredients()
    X, Y = _with_one_name(corpus.X_train, corpus.y_train)
    X_test, Y_test = _with_one_name(corpus.X_test, corpus.y_test)
    structure = NameSpan(X)

    def exact(gold: list[Span], found: list[Span]) -> float:
        return float(np.mean([a == b for a, b in zip(gold, found, strict=True)]))

    return lambda learner: _cell(tw.StructuredPredictor(structure, learner, scoring=exact), X, Y, X_test, Y_test)


def parts() -> Callable[[Any], Cell]:
    """All spans of the lines; longer ones than can be said are cut."""
    corpus = tw.corpora.ingredients()
    Y, Y_test = (
        [frozenset((s.start, min(s.stop, s.start + LONGEST), s.type) for s in tw.corpora.spans(row)) for row in labels]
        for labels in (corpus.y_train, corpus.y_test)
    )
    structure = Spans(corpus.X_train, Y)

    def f1(gold: Sequence[Typed], found: Sequence[Typed]) -> float:
        right = sum(len(a & b) for a, b in zip(gold, found, strict=True))
        return 2 * right / max(1, sum(map(len, gold)) + sum(map(len, found)))

    return lambda learner: _cell(
        tw.StructuredPredictor(structure, learner, scoring=f1), corpus.X_train, Y, corpus.X_test, Y_test
    )


def dependency(**options: Any) -> Callable[[Any], Cell]:
    """Trees of 154 sentences to learn from, 40 to be scored."""
    train, test = (tw.corpora.Treebank.from_sentences(part) for part in _sentences())
    return lambda learner: _cell(tw.DependencyParser(learner, hash_bits=13, **options), train, None, test, None)


def spanning() -> Callable[[Any], Cell]:
    """The same trees as edges."""
    (X, Y), (X_test, Y_test) = (
        (
            [[(word.form, word.upos) for word in sentence.words] for sentence in part],
            [frozenset((min(m, h - 1), max(m, h - 1)) for m, h in enumerate(sentence.heads) if h) for sentence in part],
        )
        for part in _sentences()
    )

    def found(gold: Sequence[frozenset[Span]], guess: Sequence[frozenset[Span]]) -> float:
        return sum(len(a & b) for a, b in zip(gold, guess, strict=True)) / max(1, sum(map(len, gold)))

    structure = Edges(X)
    return lambda learner: _cell(tw.StructuredPredictor(structure, learner, scoring=found), X, Y, X_test, Y_test)


def brackets() -> Callable[[Any], Cell]:
    """The same trees as constituents."""
    train, test = ([_constituents(sentence) for sentence in part] for part in _sentences())
    return lambda learner: _cell(tw.ConstituencyParser(learner), train, None, test, None)


def grammar() -> Callable[[Any], Cell]:
    """The same trees as derivations; a grammar is made for each change of weights, so there are 30 to learn from."""
    train, test = _sentences()
    (X, Y), (X_test, Y_test) = (
        (
            [[word.upos for word in sentence.words] for sentence in part],
            [
                Rules.derivation([word.upos for word in sentence.words], [head or 0 for head in sentence.heads])
                for sentence in part
            ],
        )
        for part in (train[:30], test)
    )

    def heads(gold: Sequence[tw.Constituent], guess: Sequence[tw.Constituent]) -> float:
        pairs = [
            pair for a, b in zip(gold, guess, strict=True) for pair in zip(Rules.heads(a), Rules.heads(b), strict=True)
        ]
        return float(np.mean([a == b for a, b in pairs]))

    structure = Rules(sorted({tag for part in (X, X_test) for tags in part for tag in tags}))
    return lambda learner: _cell(tw.StructuredPredictor(structure, learner, scoring=heads), X, Y, X_test, Y_test)


def graph() -> Callable[[Any], Cell]:
    """Words with edges to the next word and to the head: cycles, but narrow ones."""
    (X, Y), (X_test, Y_test) = (
        (
            [
                tw.GraphInput(
                    [[word.form, f"*{word.form[-2:]}", str(word.form[0].isupper())] for word in sentence.words],
                    [(t, t + 1) for t in range(len(sentence.words) - 1)]
                    + [(h - 1, m) for m, h in enumerate(sentence.heads) if h],
                    edge_kinds=["next"] * (len(sentence.words) - 1) + ["head" for h in sentence.heads if h],
                )
                for sentence in part
            ],
            [[word.upos for word in sentence.words] for sentence in part],
        )
        for part in _sentences()
    )
    X, Y = zip(*[(x, y) for x, y in zip(X, Y, strict=True) if len(y) <= 12], strict=True)  # narrow, with 16 tags
    X_test, Y_test = zip(*[(x, y) for x, y in zip(X_test, Y_test, strict=True) if len(y) <= 12], strict=True)
    return lambda learner: _cell(tw.GraphLabeler(learner), X, Y, X_test, Y_test)


def loopy_graph() -> Callable[[Any], Cell]:
    """Digits, 60 to learn from and 60 to be scored; too wide for exact answers."""
    images = load_digits().images[:120].astype(int) // 2
    number = np.arange(64).reshape(8, 8)
    pairs = [np.stack([number[:, :-1], number[:, 1:]], -1), np.stack([number[:-1], number[1:]], -1)]
    edges = np.concatenate([both.reshape(-1, 2) for both in pairs])
    noise = np.random.default_rng(0).normal(size=(120, 64))
    seen = (images.reshape(120, 64) + noise).round().astype(int)
    X = [([str(level) for level in row], edges) for row in seen.tolist()]
    Y = list(images.reshape(120, 64))
    return lambda learner: _cell(tw.GraphLabeler(learner, inference="trw"), X[:60], Y[:60], X[60:], Y[60:])


def _sentences() -> tuple[list[Any], list[Any]]:
    """The shipped treebank in two: sentences whose arcs do not cross, since constituents cannot say others."""
    found = [s for s in tw.corpora.sentences() if len(s.words) > 1 and _projective([head or 0 for head in s.heads])]
    return found[:-40], found[-40:]


def _projective(heads: list[int]) -> bool:
    spans = [(min(m, h), max(m, h)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in spans for c, d in spans)


def _constituents(sentence: Any) -> tw.Constituent:
    """A phrase for each word that has modifiers: the word and all below it."""
    words = sentence.words
    first, last = list(range(len(words))), list(range(len(words)))
    for _ in words:  # as often as a tree is deep, at most
        for m, word in enumerate(words):
            if word.head:
                first[word.head - 1] = min(first[word.head - 1], first[m])
                last[word.head - 1] = max(last[word.head - 1], last[m])
    spans = [(first[i], last[i] + 1, f"{words[i].upos}P") for i in range(len(words)) if first[i] < last[i]]
    return tw.Constituent.from_spans(spans, [word.form for word in words], [word.upos for word in words])


def _with_one_name(lines: list[list[str]], labels: list[list[str]]) -> tuple[list[list[str]], list[Span]]:
    X, Y = [], []
    for words, row in zip(lines, labels, strict=True):
        if row.count("B-NAME") == 1:
            start = row.index("B-NAME")
            X.append(words)
            Y.append((start, start + 1 + row.count("I-NAME")))
    return X, Y


def matching() -> Callable[[Any], Cell]:
    """Eight misspellings and eight words, shuffled."""
    rng = np.random.default_rng(0)

    def drawn(n: int) -> tuple[list[Any], list[tuple[int, ...]]]:
        X, y = [], []
        for _ in range(n):
            (wrong, words, _), order = _misspelt(rng, 8), rng.permutation(8)
            X.append((wrong, [words[j] for j in order]))
            y.append(tuple(int(j) for j in np.argsort(order)))
        return X, y

    def found(gold: Sequence[tuple[int, ...]], guess: Sequence[tuple[int, ...]]) -> float:
        return float(np.mean(np.array(gold) == np.array(guess)))

    (X, Y), (X_test, Y_test) = drawn(60), drawn(60)
    return lambda learner: _cell(tw.StructuredPredictor(WordPairs(), learner, scoring=found), X, Y, X_test, Y_test)


def alignment() -> Callable[[Any], Cell]:
    """Misspellings beside their words."""
    rng = np.random.default_rng(0)
    (wrong, words, pairs), (wrong_test, words_test, pairs_test) = _misspelt(rng, 200), _misspelt(rng, 100)
    X, X_test = (list(zip(*both, strict=True)) for both in ((wrong, words), (wrong_test, words_test)))
    return lambda learner: _cell(tw.Aligner(learner), X, pairs, X_test, pairs_test)


def _misspelt(rng: np.random.Generator, n: int) -> tuple[list[str], list[str], list[list[Span]]]:
    """Words of ingredient lines with letters left out, doubled or mistaken, and which letter stands for which."""
    mistaken = dict(zip("aeioucs", "eaeuosc", strict=True))
    lines = tw.corpora.ingredients().X_train
    vocabulary = sorted({word.lower() for line in lines for word in line if len(word) > 4 and word.isalpha()})
    wrong, pairs = [], []
    words = [vocabulary[i] for i in rng.choice(len(vocabulary), n, replace=False)]
    for word in words:
        letters, own = "", []
        for j, (letter, luck) in enumerate(zip(word, rng.random(len(word)), strict=True)):
            if luck < 0.12 and j:
                continue
            own.append((len(letters), j))
            letters += (mistaken.get(letter, letter) if luck < 0.35 else letter) * (2 if luck > 0.9 else 1)
        wrong.append(letters)
        pairs.append(own)
    return wrong, words, pairs


def _cell(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Cell:
    began = time.process_time()
    late = False

    def stop(_: Any) -> bool:
        nonlocal late
        late = time.process_time() - began > SECONDS
        return late

    model.fit(X, y, callback=stop)
    seconds = time.process_time() - began
    return Cell(model.score(X_test, y_test), seconds, not late)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
