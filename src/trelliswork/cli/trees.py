"""Trees at the shell: what `train`, `tag`, `eval` and `inspect` do with parsers.

Dependency trees are CoNLL-U in and out, untouched but for HEAD and DEPREL. Constituents come in brackets, and are
parsed from brackets, or from columns of words and tags; brackets go out, one tree a line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from trelliswork.cli.blocks import blocks
from trelliswork.cli.progress import ByteProgress, on_terminal
from trelliswork.cli.reading import Labelled, Layout, format_of, read_sentences
from trelliswork.errors import InvalidInput

if TYPE_CHECKING:
    from trelliswork.corpora.treebanks import Treebank

__all__ = ["TASKS", "Asked", "TreeTask", "compared_trees", "task_of"]

BLOCK = 1 << 22  # bytes of CoNLL-U in memory at a time
BATCH = 500  # bracketed trees, or sentences of columns


class TreeTask(Protocol):
    """What the verbs ask of a kind of trees."""

    @property
    def kind(self) -> str:
        """What its model files call it."""
        ...

    @property
    def features(self) -> Sequence[str]:
        """Its ready sets of templates."""
        ...

    def estimator(self) -> type[Any]:
        """Return the class to train."""
        ...

    def read(self, source: str, layout: Layout, parser: Any = None, partial: bool = False) -> Labelled:
        """Return sentences and gold trees of a file, as a parser wants them, or trees that are known in part."""
        ...

    def parse(self, parser: Any, source: str, layout: Layout, asked: Asked) -> Iterator[bytes]:
        """Yield the sentences of a file with the parser's trees, some at a time."""
        ...

    def sentences(self, sentence: str | None, source: str, layout: Layout) -> Iterator[list[Any]]:
        """Yield sentences as parsers take them: the one of a text, or those of a file."""
        ...

    def is_file(self, source: str) -> bool:
        """Return whether a file has such trees, by its name."""
        ...

    def parsed(self, parser: Any, source: str, layout: Layout) -> Any:
        """Return a parser's trees of the sentences of a file of gold trees."""
        ...

    def scores(self, parser: Any, source: str, layout: Layout) -> tuple[str, dict[str, Any]]:
        """Return the scores of a parser on a file of gold trees, as text and for JSON."""
        ...

    def compared(
        self, gold: str, first: Any, second: Any, layout: Layout, samples: int, seed: int
    ) -> tuple[str, dict[str, Any]]:
        """Return tests of the difference between trees of two parsers, as text and for JSON."""
        ...


class Asked:
    """What is wanted beside the best tree."""

    def __init__(self, kbest: int | None = None, marginals: bool = False, as_json: bool = False) -> None:
        self.kbest, self.marginals, self.as_json = kbest, marginals, as_json


class Dependency:
    """Dependency trees."""

    kind = "dependency-parser"
    features = ("dependency", "dependency2")

    def estimator(self) -> type[Any]:
        """Return the class to train."""
        return _public("DependencyParser")

    def read(self, source: str, layout: Layout, parser: Any = None, partial: bool = False) -> Labelled:
        """Return the words and the trees of a CoNLL-U file, with one root if the parser insists on it."""
        from trelliswork.corpora.treebanks import read_treebank

        self._check(source, layout)
        single_root = parser is not None and bool(parser.single_root)
        treebank = read_treebank(source, partial=partial, single_root=single_root, encoding=layout.encoding)
        if not len(treebank):
            raise _nothing_in(source)
        return Labelled(treebank, treebank, lambda i, t: _line_of(treebank, i, t))

    def parse(self, parser: Any, source: str, layout: Layout, asked: Asked) -> Iterator[bytes]:
        """Yield a CoNLL-U file with the parser's trees, some sentences at a time."""
        from trelliswork.corpora.files import name_of
        from trelliswork.corpora.treebanks import Treebank

        self._check(source, layout)
        name = name_of(source)
        with _progress(source) as progress:
            for block, line in blocks(source, BLOCK, layout.encoding):
                treebank = Treebank.from_bytes(block, name, line, heads=False)
                yield _placed(treebank, partial(self._parsed, parser, treebank, asked))
                progress.advance(len(block))

    def sentences(self, sentence: str | None, source: str, layout: Layout) -> Iterator[list[Any]]:
        """Yield the sentences of a CoNLL-U file."""
        if sentence is not None:
            raise InvalidInput(
                "--sentence has no columns for a dependency parser: use --explain FILE with a CoNLL-U file."
            )
        from trelliswork.corpora.treebanks import read_treebank_blocks

        self._check(source, layout)
        for block in read_treebank_blocks(source, heads=False, encoding=layout.encoding):
            yield from block.tokens

    def is_file(self, source: str) -> bool:
        """Return whether a file is CoNLL-U, by its name."""
        return format_of(source) == "conllu"

    def parsed(self, parser: Any, source: str, layout: Layout) -> Any:
        """Return a parser's trees of the sentences of a CoNLL-U file."""
        gold = self.read(source, layout, parser).X
        return _placed(gold, partial(parser.predict_coded, gold))

    def scores(self, parser: Any, source: str, layout: Layout) -> tuple[str, dict[str, Any]]:
        """Return UAS, LAS and more of a parser on a CoNLL-U file."""
        from trelliswork.evaluation import dependency_scores

        gold = self.read(source, layout, parser).X
        return _told_dependencies(dependency_scores(gold, _placed(gold, partial(parser.predict_coded, gold))))

    def compared(
        self, gold: str, first: Any, second: Any, layout: Layout, samples: int, seed: int
    ) -> tuple[str, dict[str, Any]]:
        """Return McNemar's test over words and a paired bootstrap over sentences, of LAS, or UAS without relations."""
        from trelliswork.evaluation import attachments, mcnemar, paired_bootstrap
        from trelliswork.labels.dependencies import coded_trees

        trees = [coded_trees(found) for found in (self.read(gold, layout).y, first, second)]
        for name, found in zip(("first", "second"), trees[1:], strict=True):
            found.require_like(trees[0], name, "gold")
        labelled = all(found.relations is not None for found in trees)
        truth, one, two = (attachments(found, relations=labelled) for found in trees)
        words = mcnemar(truth, one, two)
        resampled = paired_bootstrap(truth, one, two, n_samples=samples, random_state=seed)
        sentences = replace(resampled, measure="LAS" if labelled else "UAS")
        text = f"McNemar's test, {words.n_tokens} words\n{words}\n\npaired bootstrap\n{sentences}"
        return text, {"mcnemar": words.as_dict(), "bootstrap": sentences.as_dict()}

    def _parsed(self, parser: Any, treebank: Treebank, asked: Asked) -> bytes:
        if asked.as_json:
            return self._records(parser, treebank, asked)
        if asked.kbest is not None:
            return _with_best_trees(treebank, parser.predict_kbest(treebank, asked.kbest))
        trees = parser.predict_coded(treebank)
        if asked.marginals:
            return _with_probabilities(treebank, trees, parser.predict_marginals(treebank))
        return treebank.with_trees(trees)

    def _records(self, parser: Any, treebank: Treebank, asked: Asked) -> bytes:
        records = [
            {"tokens": sentence.words, **_tree_record(tree)}
            for sentence, tree in zip(treebank, parser.predict_coded(treebank), strict=True)
        ]
        if asked.marginals:
            for record, table in zip(records, parser.predict_marginals(treebank), strict=True):
                record["marginals"] = _heads_of(table)
        if asked.kbest is not None:
            for record, best in zip(records, parser.predict_kbest(treebank, asked.kbest), strict=True):
                record["kbest"] = [{**_tree_record(tree), "log_prob": float(score)} for tree, score in best]
        return _json_lines(records)

    def _check(self, source: str, layout: Layout) -> None:
        if layout.format not in (None, "conllu"):
            raise InvalidInput(f"dependency trees are CoNLL-U, so --format {layout.format} does not apply.")
        _refuse_layout(layout, "CoNLL-U")


class Constituency:
    """Constituents."""

    kind = "constituency-parser"
    features = ("constituency",)

    def estimator(self) -> type[Any]:
        """Return the class to train."""
        return _public("ConstituencyParser")

    def read(self, source: str, layout: Layout, parser: Any = None, partial: bool = False) -> Labelled:
        """Return the sentences, as (word, tag), and the trees of a bracketed file."""
        _refuse_layout(layout, "bracketed trees")
        trees = list(self._gold(source, layout))
        if not trees:
            raise _nothing_in(source)
        return Labelled([_tagged(tree) for tree in trees], trees, lambda i, t: f"{source}, tree {i + 1}")

    def parse(self, parser: Any, source: str, layout: Layout, asked: Asked) -> Iterator[bytes]:
        """Yield the parser's trees of a file's sentences, some at a time."""
        if asked.marginals and not asked.as_json:
            raise InvalidInput("--marginals need --json for constituents: brackets have no place for them.")
        for X in self._sentences(source, layout):
            yield self._parsed(parser, X, asked)

    def sentences(self, sentence: str | None, source: str, layout: Layout) -> Iterator[list[Any]]:
        """Yield the words and tags of a text, where slashes part them, or of a file."""
        if sentence is not None:
            yield [tuple(word.rsplit("/", 1)) if "/" in word else word for word in sentence.split()]
            return
        for batch in self._sentences(source, layout):
            yield from batch

    def scores(self, parser: Any, source: str, layout: Layout) -> tuple[str, dict[str, Any]]:
        """Return the bracket scores of a parser on a bracketed file."""
        from trelliswork.evaluation import bracket_scores

        gold = self.read(source, layout, parser)
        return _told_brackets(bracket_scores(gold.y, parser.predict(gold.X)))

    def is_file(self, source: str) -> bool:
        """Return whether a file has bracketed trees, by its name."""
        return format_of(source) == "brackets"

    def parsed(self, parser: Any, source: str, layout: Layout) -> Any:
        """Return a parser's trees of the sentences of a bracketed file."""
        return parser.predict(self.read(source, layout, parser).X)

    def compared(
        self, gold: str, first: Any, second: Any, layout: Layout, samples: int, seed: int
    ) -> tuple[str, dict[str, Any]]:
        """Return a paired bootstrap over sentences, of F1 of brackets."""
        from trelliswork.evaluation import bootstrap_of_counts, bracket_scores

        truth = self.read(gold, layout).y
        one, two = (bracket_scores(truth, trees).counts for trees in (first, second))
        found = bootstrap_of_counts(one, two, "bracket F1", n_samples=samples, random_state=seed)
        return f"paired bootstrap\n{found}", {"bootstrap": found.as_dict()}

    def _gold(self, source: str, layout: Layout) -> Iterator[Any]:
        from trelliswork.corpora.brackets import read_brackets

        # Parsers are trained and scored without empty elements and function tags.
        return read_brackets(source, layout.encoding, empties=False, functions=False, indices=False)

    def _sentences(self, source: str, layout: Layout) -> Iterator[list[Any]]:
        """Sentences as lists of (word, tag), or of words where columns have one."""
        sentences: Iterator[Any]
        if _has_brackets(source, layout):
            _refuse_layout(layout, "bracketed trees")
            sentences = (_tagged(tree) for tree in self._gold(source, layout))
        else:
            rows = read_sentences(source, layout, labelled=False)
            sentences = ([row[0] if len(row) == 1 else row[:2] for row in sentence.tokens] for sentence in rows)
        while batch := list(islice(sentences, BATCH)):
            yield batch

    def _parsed(self, parser: Any, X: list[Any], asked: Asked) -> bytes:
        if asked.as_json:
            return self._records(parser, X, asked)
        if asked.kbest is None:
            return _bracket_lines(parser.predict(X))
        lines = []
        for best in parser.predict_kbest(X, asked.kbest):
            for rank, (tree, score) in enumerate(best, 1):
                lines.append(f"# {rank} {float(score):.6f}\n".encode() + _bracket_lines([tree]))
        return b"".join(lines)

    def _records(self, parser: Any, X: list[Any], asked: Asked) -> bytes:
        records: list[dict[str, Any]] = [
            {"tokens": tree.leaves(), "tree": str(tree), "spans": [list(span) for span in tree.spans()]}
            for tree in parser.predict(X)
        ]
        if asked.marginals:
            for record, table in zip(records, parser.predict_marginals(X), strict=True):
                record["marginals"] = _probable_spans(table, parser.classes_)
        if asked.kbest is not None:
            for record, best in zip(records, parser.predict_kbest(X, asked.kbest), strict=True):
                record["kbest"] = [{"tree": str(tree), "log_prob": float(score)} for tree, score in best]
        return _json_lines(records)


TASKS: dict[str, TreeTask] = {"dependency": Dependency(), "constituency": Constituency()}


def compared_trees(gold: str, parsed: str, layout: Layout) -> tuple[str, dict[str, Any]]:
    """Return the scores of a file of trees against another, as text and for JSON.

    Parameters
    ----------
    gold, parsed : str
        The names of two files, both CoNLL-U or both bracketed trees, of the same sentences.
    layout : Layout
        How they are laid out.
    """
    if _has_brackets(gold, layout):
        from trelliswork.evaluation import bracket_scores

        task = Constituency()
        return _told_brackets(bracket_scores(task.read(gold, layout).y, task.read(parsed, layout).y))
    from trelliswork.evaluation import dependency_scores

    trees = [Dependency().read(source, layout).X for source in (gold, parsed)]
    return _told_dependencies(dependency_scores(*trees))


def _told_dependencies(found: Any) -> tuple[str, dict[str, Any]]:
    return str(found), found.as_dict()


def _told_brackets(found: Any) -> tuple[str, dict[str, Any]]:
    return str(found), {"bracket": found.as_dict()}


def task_of(settings: Mapping[str, Any]) -> TreeTask | None:
    """Return the kind of trees that a model file is about; None if it is about something else."""
    return next((task for task in TASKS.values() if task.kind == settings.get("kind")), None)


def _public(name: str) -> type[Any]:
    import trelliswork

    found: type[Any] = getattr(trelliswork, name)
    return found


def _has_brackets(source: str, layout: Layout) -> bool:
    """Whether a file has bracketed trees: its name or --format says so."""
    if layout.format is not None:
        return layout.format == "brackets"
    return format_of(source) == "brackets"


def _refuse_layout(layout: Layout, kind: str) -> None:
    plain = Layout(format=layout.format, encoding=layout.encoding, tokenizer=layout.tokenizer)
    if layout != plain:
        raise InvalidInput(f"--columns, --label-column, --separator and --comments do not apply to {kind}.")


def _nothing_in(source: str) -> InvalidInput:
    from trelliswork.corpora.files import name_of

    return InvalidInput(f"{name_of(source)}: found no sentence.")


def _line_of(treebank: Treebank, i: int, t: int) -> str:
    return treebank.tokens.columns.where(int(treebank.lengths()[:i].sum()) + t)


def _placed(treebank: Treebank, answer: Callable[[], Any]) -> Any:
    """What is answered about a treebank; an error about ``X[i]`` is said with its file and line."""
    try:
        return answer()
    except InvalidInput as error:
        raise Labelled(treebank, treebank, lambda i, t: _line_of(treebank, i, t)).placed(error) from error


def _with_best_trees(treebank: Treebank, best: Sequence[Sequence[tuple[Any, float]]]) -> bytes:
    """Every sentence once for each of its trees, with comments that tell their rank and log-probability."""
    written = []
    for i, trees in enumerate(best):
        for rank, (tree, score) in enumerate(trees, 1):
            text = _parsed_alone(treebank, i, tree)
            missing = b"" if text.endswith((b"\n\n", b"\n\r\n")) else b"\n" if text.endswith(b"\n") else b"\n\n"
            written.append(f"# rank = {rank}\n# log_prob = {float(score):.6f}\n".encode() + text + missing)
    return b"".join([*written, treebank.rest])


def _with_probabilities(treebank: Treebank, trees: Iterable[Any], tables: Sequence[Any]) -> bytes:
    """The sentences with trees, and ``HeadProb=`` of each word's arc at the end of MISC."""
    written = []
    for i, (tree, table) in enumerate(zip(trees, tables, strict=True)):
        probabilities = iter([_arc_probability(table, head, m) for m, head in enumerate(tree[0], 1)])
        lines = []
        for line in _parsed_alone(treebank, i, tree).split(b"\n"):
            columns = line.split(b"\t")
            if len(columns) == 10 and columns[0].isdigit():
                said = f"HeadProb={next(probabilities):.4f}".encode()
                misc = columns[9].rstrip(b"\r")
                end = columns[9][len(misc) :]
                columns[9] = (said if misc in (b"_", b"") else misc + b"|" + said) + end
            lines.append(b"\t".join(columns))
        written.append(b"\n".join(lines))
    return b"".join([*written, treebank.rest])


def _parsed_alone(treebank: Treebank, i: int, tree: Any) -> bytes:
    """The text of a sentence with another tree."""
    from trelliswork.corpora.treebanks import Treebank

    return Treebank.from_bytes(treebank.sentence_text(i), heads=False).with_trees([tree])


def _arc_probability(table: Any, head: int, modifier: int) -> float:
    arc = table[int(head), modifier]
    return float(arc.sum()) if getattr(arc, "ndim", 0) else float(arc)


def _tree_record(tree: Any) -> dict[str, Any]:
    heads, relations = tree if isinstance(tree, tuple) else (tree, None)  # without labels, heads alone
    record: dict[str, Any] = {"heads": [int(head) for head in heads]}
    if relations is not None:
        record["relations"] = [str(relation) for relation in relations]
    return record


def _heads_of(table: Any) -> list[dict[str, float]]:
    """For each word the probability of each head, those that round to 0 left out."""
    arcs = table.sum(axis=2) if table.ndim == 3 else table
    columns = arcs[:, 1:].T.tolist()
    return [{str(head): round(p, 6) for head, p in enumerate(column) if p >= 5e-7} for column in columns]


def _bracket_lines(trees: Sequence[Any]) -> bytes:
    import io

    from trelliswork.corpora.brackets import write_brackets

    file = io.BytesIO()
    write_brackets(file, trees)
    return file.getvalue()


def _json_lines(records: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def _tagged(tree: Any) -> list[Any]:
    """The words of a tree with their tags; words alone where one has none."""
    rows = tree.tagged()
    return [word for word, _ in rows] if any(tag is None for _, tag in rows) else rows


def _probable_spans(table: Any, labels: Any) -> list[list[Any]]:
    """Constituents with a probability that does not round to 0: start, stop, label, probability."""
    found = zip(*(places.tolist() for places in (table >= 5e-7).nonzero()), strict=True)
    return [[i, j, str(labels[k]), round(float(table[i, j, k]), 6)] for i, j, k in found]


def _progress(source: str) -> ByteProgress:
    """A bar for those who watch, if the trees go elsewhere."""
    import sys

    known = source != "-" and os.path.isfile(source) and not source.endswith(".gz")
    return ByteProgress(os.path.getsize(source) if known else None, on_terminal() and not sys.stdout.isatty())
