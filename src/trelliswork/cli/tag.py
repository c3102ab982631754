"""``trelliswork tag``: new text in, the same text with labels out, in blocks, so that files may be larger than memory.

Columns, text, CoNLL-U and JSON lines all become blocks of column text, which the core reads, tags and writes in one
call; this needs neither NumPy nor scikit-learn, so a line is tagged soon after the return key. Only k-best lists, JSON,
and models that are not decoded in one call take the estimator.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import click

from trelliswork.cli.blocks import blocks
from trelliswork.cli.models import no_mmap_option, opened_model, require_labeler, require_token_marginals, with_beam
from trelliswork.cli.progress import ByteProgress, on_terminal
from trelliswork.cli.reading import Layout, is_table, layout_options, read_sentences
from trelliswork.cli.trees import Asked, task_of
from trelliswork.errors import InvalidInput

if TYPE_CHECKING:
    from trelliswork.corpora.columns import Sentence
    from trelliswork.models import OpenModel

__all__ = ["ColumnTagger", "command", "tag_columns", "tag_json", "tag_kbest"]

BLOCK = 1 << 22  # bytes of text in memory at a time
SHORTER = 32  # times, for each thread, where the text grows: memory that is used again is cheaper than fresh pages
SAMPLE = 1 << 14  # bytes looked at for attributes that the model does not know
BATCH = 2000  # sentences at a time, where the estimator is needed


@click.command(
    "tag",
    short_help="Label or parse new text with a model.",
    epilog="Example: trelliswork tag recipes.tw --format text --json <<< '2 ripe tomatoes'",
)
@click.argument("model", metavar="MODEL")
@click.argument("source", metavar="[INPUT]", default="-")
@click.option("--marginals", is_flag=True, help="Write the probability of every label, too.")
@click.option(
    "--kbest", type=click.IntRange(min=1), metavar="K", help="Write the K best labellings, with log-probabilities."
)
@click.option(
    "--beam",
    type=click.IntRange(min=1),
    metavar="N",
    help="Label with a beam of N labels per position (approximate).  [as trained]",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object for each sentence.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads.  [all processors]")
@no_mmap_option
@layout_options(labels=False)
def command(
    model: str,
    source: str,
    marginals: bool,
    kbest: int | None,
    beam: int | None,
    as_json: bool,
    jobs: int | None,
    mmap: bool,
    layout: Layout,
) -> None:
    """Label INPUT (by default, or with "-", the standard input) with MODEL; write the result to the standard output.

    Columns are written unchanged, with the label as an additional last column. Columns that the training data do not
    have, such as gold labels, are kept. Text is written one token per line.

    A dependency parser reads CoNLL-U and writes it with new heads and relations, everything else unchanged;
    --marginals adds the probability of each arc to MISC. A constituency parser reads columns of words and tags, or
    bracketed trees, and writes one tree per line.
    """
    if as_json:
        tag_json(model, source, sys.stdout, layout, marginals, kbest, jobs, mmap, beam)
    elif kbest is not None:
        if marginals:
            raise click.UsageError("--kbest and --marginals together need --json.")
        tag_kbest(model, source, sys.stdout, kbest, layout, jobs, mmap, beam)
    else:
        output = "marginals" if marginals else "labels"
        tag_columns(model, source, sys.stdout.buffer, layout, output, jobs, mmap, beam)


def tag_columns(
    model: str,
    source: str,
    target: IO[bytes],
    layout: Layout | None = None,
    output: str = "labels",
    jobs: int | None = None,
    mmap: bool = True,
    beam: int | None = None,
) -> None:
    """Write a corpus as columns with a label added to each line, block by block; NumPy is not needed.

    With the model of a parser, write its trees: CoNLL-U, or brackets.

    Parameters
    ----------
    model : str
        The path of a model.
    source : str
        A path, or ``"-"``.
    target : binary file
        Where to write.
    layout : Layout or None
        How the source is laid out.
    output : {"labels", "marginals"}
        Whether the probability of every label follows.
    jobs : int or None
        Threads; None is one for each processor.
    mmap : bool
        As for `trelliswork.load`.
    beam : int or None
        As for `trelliswork.SequenceLabeler`; None is what the model was trained with.
    """
    from trelliswork import models

    data, name = models.contents(model, mmap)
    tensors, settings = models.loads_any(data, name)
    settings = with_beam(settings, beam, model)
    task = task_of(settings)
    if task is None:
        _require_text(settings, model)
    if task is None and _decoded_by_core(settings, output):
        if output == "marginals":
            from trelliswork.models.calibration import warn_unless_probabilities

            warn_unless_probabilities(settings, stacklevel=2)
        ColumnTagger(models.opened(tensors, settings, model), output, jobs).tag(source, target, layout)
        return
    from trelliswork.estimators.loading import restored

    labeler = restored(tensors, settings, model)
    labeler.n_jobs = jobs or -1
    if task is not None:
        for text in task.parse(labeler, source, layout or Layout(), Asked(marginals=output == "marginals")):
            _write(target, text)
            target.flush()
        return
    if output == "marginals":
        require_token_marginals(labeler, model)
    _tag_by_estimator(labeler, source, target, layout or Layout(), output)


def tag_json(
    model: str,
    source: str,
    target: IO[str],
    layout: Layout | None = None,
    marginals: bool = False,
    kbest: int | None = None,
    jobs: int | None = None,
    mmap: bool = True,
    beam: int | None = None,
) -> None:
    """Write one JSON object for each sentence: tokens, labels, and what else was asked for.

    Parameters
    ----------
    model, source, layout, jobs, mmap, beam
        As for `tag_columns`.
    target : text file
        Where to write.
    marginals : bool
        Whether to add the probability of every label of every token.
    kbest : int or None
        How many labellings to add, with their log-probabilities.
    """
    import json

    labeler, settings = opened_model(model, jobs, mmap, beam)
    task = task_of(settings)
    if task is not None:
        _write_trees(task.parse(labeler, source, layout or Layout(), Asked(kbest, marginals, as_json=True)), target)
        return
    if marginals:
        require_token_marginals(labeler, model)
    for X in _batches(source, layout or Layout()):
        records: list[dict[str, Any]] = [
            {"tokens": tokens, "labels": list(labels)} for tokens, labels in zip(X, labeler.predict(X), strict=True)
        ]
        if marginals:
            names = [str(name) for name in labeler.classes_]
            for record, table in zip(records, labeler.predict_marginals(X), strict=True):
                record["marginals"] = [dict(zip(names, row, strict=True)) for row in table.tolist()]
        if kbest is not None:
            for record, best in zip(records, labeler.predict_kbest(X, kbest), strict=True):
                record["kbest"] = [{"labels": list(labels), "log_prob": float(score)} for labels, score in best]
        target.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def tag_kbest(
    model: str,
    source: str,
    target: IO[str],
    k: int,
    layout: Layout | None = None,
    jobs: int | None = None,
    mmap: bool = True,
    beam: int | None = None,
) -> None:
    """Write the k best labellings of each sentence as columns, each after a line ``# rank log-probability``.

    Parameters
    ----------
    model, source, layout, jobs, mmap, beam
        As for `tag_columns`.
    target : text file
        Where to write.
    k : int
        How many; fewer are written where fewer exist.
    """
    labeler, settings = opened_model(model, jobs, mmap, beam)
    task = task_of(settings)
    if task is not None:
        _write_trees(task.parse(labeler, source, layout or Layout(), Asked(k)), target)
        return
    for X in _batches(source, layout or Layout()):
        for rows, best in zip(X, labeler.predict_kbest(X, k), strict=True):
            for rank, (labels, score) in enumerate(best, 1):
                target.write(f"# {rank} {float(score):.6f}\n")
                for row, label in zip(rows, labels, strict=True):
                    target.write("\t".join([row, label] if isinstance(row, str) else [*row, label]) + "\n")
                target.write("\n")


class ColumnTagger:
    """A saved model, opened once, that adds labels to column text.

    Parameters
    ----------
    opened : OpenModel
        As `trelliswork.models.open_model` returns it; its features are templates.
    output : {"labels", "marginals"}
        Whether the probability of every label follows the label.
    jobs : int or None
        Threads; None is one for each processor.
    """

    def __init__(self, opened: OpenModel, output: str = "labels", jobs: int | None = None) -> None:
        from trelliswork.features.templates import Templates

        self._model, self._labels = opened.model, opened.labels
        self._training = opened.settings.get("training", {})
        self._extractor = Templates.from_dict(opened.settings["templates"]).extractor()
        self._output, self._jobs = output, jobs or os.cpu_count() or 1
        beam = opened.settings.get("parameters", {}).get("beam")
        self._beam = None
        if beam is not None:
            from trelliswork.arguments import as_count  # loads NumPy, which tagging without a beam does not need

            self._beam = min(as_count("beam", beam), len(self._labels))
        self._looked = False

    def tag(self, source: str, target: IO[bytes], layout: Layout | None = None) -> None:
        """Write a corpus with labels, block by block; arguments are as for `tag_columns`."""
        from trelliswork.corpora.files import name_of

        layout, name = layout or Layout(), name_of(source)
        if is_table(source, layout):
            with _progress(source) as progress:
                for block, line in blocks(source, self._block_size(), layout.encoding):
                    _write(target, self.tagged(block, layout.separator, layout.comments, name, line))
                    target.flush()
                    progress.advance(len(block))
        else:
            for block in _blocks_of(read_sentences(source, layout, labelled=False), name):
                _write(target, self.tagged(block, "\t", None, name, 1, keep_docstart=True))

    def _block_size(self) -> int:
        """How many bytes to tag at a time; with the probabilities of 22 labels they become 25 times as many."""
        return BLOCK if self._output == "labels" else min(BLOCK, max(1, BLOCK // SHORTER * self._jobs))

    def tagged(
        self,
        block: bytes,
        separator: str | None = None,
        comments: str | None = None,
        name: str = "<input>",
        line: int = 1,
        keep_docstart: bool = False,
    ) -> bytes:
        """Return whole sentences of column text with labels; ``name`` and ``line``, its first, are for messages."""
        if not self._looked:
            self._looked = True
            self._warn_of_strangers(block, separator, comments, name)
        try:
            tagged: bytes = self._model.tag_columns(
                block,
                self._extractor,
                self._labels,
                separator=separator,
                comments=comments,
                keep_docstart=keep_docstart,
                name=name,
                first_line=line,
                output=self._output,
                n_jobs=self._jobs,
                beam=self._beam,
            )
        except ValueError as error:
            raise InvalidInput(str(error)) from None
        return tagged

    def _warn_of_strangers(self, block: bytes, separator: str | None, comments: str | None, name: str) -> None:
        """Warn, as the estimator does, if the model knows few of the attributes at the beginning."""
        import warnings

        from trelliswork import _core
        from trelliswork.errors import UnknownAttributes

        end = block.rfind(b"\n\n", 0, SAMPLE) + 1 or len(block)
        try:
            columns = _core.parse_columns(block[:end], separator, comments, name=name)
            known, everything = self._model.known(_core.ColumnSource(columns, self._extractor))
        except ValueError:  # said when the block is tagged
            return
        usual = self._training.get("known_share", 1.0)
        if known < 0.5 * usual * everything and (everything >= 50 or known == 0):
            few = "few" if known else "none"
            message = (
                f"{name}: the model knows {few} of the attributes. Was it trained on other text or columns? They must "
                "be the same, and in the same order."
            )
            warnings.warn(UnknownAttributes(message, known, everything), stacklevel=2)


def _write_trees(texts: Iterable[bytes], target: IO[str]) -> None:
    for text in texts:
        target.write(text.decode())
        target.flush()


def _progress(source: str) -> ByteProgress:
    """A bar for those who watch, if the labels go elsewhere."""
    known = source != "-" and os.path.isfile(source) and not source.endswith(".gz")
    return ByteProgress(os.path.getsize(source) if known else None, on_terminal() and not sys.stdout.isatty())


def _write(target: IO[bytes], text: bytes) -> None:
    """Write all of it: a large write ends early, without an error, when the reader goes away meanwhile."""
    rest = memoryview(text)
    while rest:
        rest = rest[target.write(rest) :]


def _require_text(settings: Mapping[str, Any], path: str) -> None:
    """Refuse a model that looks at something else than columns of text, itself or a member of it."""
    require_labeler(settings, path)
    members = settings.get("members") or {}
    for member in members.values():
        if member.get("kind") != "hmm":  # it takes words as they are
            _require_text(member, path)
    if not members and settings.get("templates") is None:
        raise InvalidInput(
            f"{path}: this model was trained on attributes made in Python, not on text. Use it from Python."
        )


def _decoded_by_core(settings: Mapping[str, Any], output: str) -> bool:
    """Whether one call of the core reads, tags and writes; the rest is the estimator's affair."""
    parameters = settings.get("parameters", {})
    single = settings.get("normalised") != "local" and not settings.get("members") and not settings.get("structure")
    if output == "labels":
        return single and parameters.get("decoder", "argmax") == "argmax"
    return single and "calibration" not in settings and parameters.get("beam") is None


def _tag_by_estimator(labeler: Any, source: str, target: IO[bytes], layout: Layout, output: str) -> None:
    """Tag with whatever the model is, and write what the core would."""
    for X in _batches(source, layout):
        marginals = labeler.predict_marginals(X) if output == "marginals" else [None] * len(X)
        for tokens, labels, table in zip(X, labeler.predict(X), marginals, strict=True):
            rows = [
                [*([row] if isinstance(row, str) else row), label] for row, label in zip(tokens, labels, strict=True)
            ]
            if table is not None:
                for row, probabilities in zip(rows, table.tolist(), strict=True):
                    row += [f"{name}:{p:.6f}" for name, p in zip(labeler.classes_, probabilities, strict=True)]
            target.write(("".join("\t".join(row) + "\n" for row in rows) + "\n").encode())


def _blocks_of(sentences: Iterable[Sentence], name: str) -> Iterator[bytes]:
    """Sentences as blocks of column text."""
    sentences = iter(sentences)
    while batch := list(islice(sentences, BATCH)):
        for sentence in batch:
            for row in sentence.tokens:
                if not all(_fits(cell) for cell in row):
                    raise InvalidInput(
                        f"{name}, line {sentence.line}: the token {row[0]!r} is blank or contains a tab or a "
                        "line break, so it cannot be a line of columns. Replace it, or use --json."
                    )
        yield "".join("\n".join("\t".join(row) for row in sentence.tokens) + "\n\n" for sentence in batch).encode()


def _fits(cell: str) -> bool:
    return not ("\t" in cell or "\n" in cell or "\r" in cell or "\0" in cell) and bool(cell.strip(" "))


def _batches(source: str, layout: Layout) -> Iterator[list[Any]]:
    """Sentences for the estimator, some at a time."""
    sentences = read_sentences(source, layout, labelled=False)
    while batch := list(islice(sentences, BATCH)):
        yield [[row[0] if len(row) == 1 else row for row in sentence.tokens] for sentence in batch]
