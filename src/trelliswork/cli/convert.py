"""``trelliswork convert``: a corpus in another format, labels in another scheme, one sentence in memory at a time; or a
model in fewer bytes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from trelliswork.atomic_files import replacing
from trelliswork.cli.models import metadata_from, metadata_option
from trelliswork.cli.reading import CONLLU_COLUMNS, FORMATS, Layout, format_of, layout_options, read_sentences
from trelliswork.cli.streams import say
from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import SCHEME_NAMES

if TYPE_CHECKING:
    from trelliswork.corpora.columns import Sentence
    from trelliswork.corpora.jsonlines import Example

__all__ = ["command", "convert", "convert_model"]

PRECISIONS = ("float32", "float16", "int8")
JSON_FORMS = ("tokens", "doccano", "doccano-entities", "prodigy")


@click.command(
    "convert",
    short_help="Convert a corpus to another format or label scheme, or make a model smaller.",
    epilog="Example: trelliswork convert esp.train.gz esp.jsonl --from-scheme BIO --to-scheme BILOU, or trelliswork "
    "convert model.tw small.tw --weights int8 --prune 1e-4",
)
@click.argument("source", metavar="[INPUT]", default="-")
@click.argument("target", metavar="[OUTPUT]", default="-")
@click.option("--to", type=click.Choice(FORMATS), help="The format to write. By default, the name of OUTPUT decides.")
@click.option(
    "--from-scheme", type=click.Choice(SCHEME_NAMES, case_sensitive=False), help="The label scheme of the input.  [BIO]"
)
@click.option(
    "--to-scheme",
    type=click.Choice(SCHEME_NAMES, case_sensitive=False),
    help="The label scheme of the output. By default, labels stay as they are.",
)
@click.option("--lenient", is_flag=True, help="Read invalid labels as conlleval does, instead of rejecting them.")
@click.option(
    "--json-form",
    type=click.Choice(JSON_FORMS),
    default="tokens",
    show_default=True,
    help="The form of JSON lines to write.",
)
@click.option(
    "--to-columns", metavar="LIST", help="Names for the columns of a token (CoNLL-U, CSV).  [form,upos,xpos,...]"
)
@click.option("--to-label", metavar="COLUMN", help="The column for the labels: a number, or a name (CoNLL-U, CSV).")
@click.option("--unlabelled", is_flag=True, help="The input has no labels.")
@click.option("--weights", type=click.Choice(PRECISIONS), help="INPUT is a model: write its weights in this precision.")
@click.option(
    "--prune", type=click.FloatRange(min=0), metavar="SIZE", help="INPUT is a model: drop weights of at most this size."
)
@click.option(
    "--features",
    metavar="FILE",
    help="INPUT is a CRFsuite model: templates that make attributes with its names.",
)
@click.option("--drop-names", is_flag=True, help="INPUT is a model: drop the names of attributes.")
@metadata_option
@layout_options(labels=True)
def command(
    source: str,
    target: str,
    layout: Layout,
    to_scheme: str | None,
    lenient: bool,
    weights: str | None,
    prune: float | None,
    drop_names: bool,
    metadata: tuple[str, ...],
    features: str | None,
    **how: object,
) -> None:
    """Convert INPUT to OUTPUT; "-", the default of both, is the standard input and output.

    Files with names in .gz are compressed. Sentences are converted one at a time, so files may be larger than memory.
    Spans of characters that cut a token are reported; the JSON forms with such spans keep them.

    With --weights, --prune, --drop-names, --features or --metadata, INPUT is a model, and OUTPUT the changed model. A
    model of CRFsuite, Wapiti or CRF++ (text) is recognised as INPUT by its first bytes, and as OUTPUT by a name that
    ends in .crfsuite, .wapiti or .crfpp.
    """
    of_models = weights is not None or prune is not None or features is not None or drop_names or metadata
    if of_models or _are_models(source, target):
        _refuse_options_of_corpora(click.get_current_context())
        sizes = convert_model(source, target, weights, prune, drop_names, metadata, features)
        click.echo("{:,} bytes (before: {:,})".format(*reversed(sizes)), err=True)
        return
    from_scheme = how.pop("from_scheme")
    scheme = None if to_scheme is None and from_scheme is None else (from_scheme or "BIO", to_scheme or from_scheme)
    count = convert(source, target, layout, scheme, lenient, **how)  # type: ignore[arg-type]
    say(f"{count:,} sentences")


def convert_model(
    source: str,
    target: str,
    weights: str | None = None,
    prune: float | None = None,
    drop_names: bool = False,
    metadata: Sequence[str] = (),
    features: str | None = None,
) -> tuple[int, int]:
    """Rewrite a model in fewer bytes, or from or to that of another program, and return how many it had and has.

    Parameters
    ----------
    source, target : str
        Paths, or ``"-"``.
    weights, prune, drop_names
        As ``precision``, ``threshold`` and ``drop_names`` of `trelliswork.models.shrunk`.
    metadata : sequence of str
        What to keep with the model besides what is there, ``"key=value"`` each.
    features : str, optional
        A file of templates for a model of CRFsuite, as ``features`` of `trelliswork.load`.
    """
    from trelliswork import models
    from trelliswork.estimators.loading import restored
    from trelliswork.features.templates import Templates

    data, name = models.contents(sys.stdin.buffer if source == "-" else source)
    tensors, settings = models.loads_any(data, name, None if features is None else Templates.load(features))
    restored(tensors, settings, name)  # refuses what is no model
    if metadata:
        settings = models.with_metadata(settings, {**settings.get("metadata", {}), **metadata_from(metadata)})
    smaller = models.shrunk(tensors, settings, weights, prune, drop_names)
    write = models.writer_for(target)
    if write is not None:
        written = write(*smaller, name)
        with replacing(target) as file:
            file.write(written)
        return len(data), len(written)
    return len(data), models.save(sys.stdout.buffer if target == "-" else target, *smaller)


def _are_models(source: str, target: str) -> bool:
    """Whether a model of another program is to be read or written."""
    from trelliswork import models

    if models.writer_for(target) is not None:
        return True
    if source == "-" or not os.path.isfile(source):
        return False
    with open(source, "rb") as file:
        return models.is_of_others(file.read(16))


def _refuse_options_of_corpora(context: click.Context) -> None:
    """Refuse options that say how a corpus is read or written, where a model is."""
    from click.core import ParameterSource

    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) not in (ParameterSource.DEFAULT, None)
        if given and name not in ("source", "target", "weights", "prune", "drop_names", "metadata", "features"):
            raise click.UsageError(f"{parameter.opts[-1]} is for corpora, but other options say that INPUT is a model.")


def convert(
    source: str,
    target: str,
    layout: Layout,
    scheme: tuple[str, str] | None = None,
    lenient: bool = False,
    to: str | None = None,
    json_form: str = "tokens",
    to_columns: str | None = None,
    to_label: str | None = None,
    unlabelled: bool = False,
) -> int:
    """Rewrite a corpus and return the number of its sentences.

    Parameters
    ----------
    source, target : str
        Paths, or ``"-"``.
    layout : Layout
        How the source is laid out.
    scheme : (str, str) or None
        The label schemes from and to which to convert; None leaves labels alone.
    lenient : bool
        Whether labels that the scheme does not allow are read as conlleval reads them.
    to : str or None
        The format to write; None goes by the name of the target.
    json_form : str
        As `form` of `trelliswork.corpora.write_jsonl`.
    to_columns, to_label : str or None
        Where the columns and the label go: in CoNLL-U and CSV names, in columns the position of the label.
    unlabelled : bool
        Whether the source has no labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two.txt"
    ...     _ = path.write_text("New B-LOC\\nYork I-LOC\\n")
    ...     convert(str(path), "-", Layout(), scheme=("BIO", "BILOU"))
    New	B-LOC
    York	L-LOC
    <BLANKLINE>
    1
    """
    kind = format_of(target, to)
    labelled = not unlabelled and format_of(source, layout.format) != "text"
    if kind == "jsonl" and format_of(source, layout.format) == "jsonl":
        return _between_jsonl(source, target, layout, scheme, lenient, json_form)
    sentences = _rewritten(read_sentences(source, layout, labelled), source, layout, scheme, lenient)
    if kind == "columns":
        if to_columns is not None:
            raise InvalidInput("--to-columns does not apply to the format columns, which has no names.")
        as_read = layout if format_of(source, layout.format) == "columns" else Layout()
        return _to_columns(target, sentences, as_read, to_label)
    if kind == "csv":
        return _to_csv(target, sentences, to_columns, to_label)
    if kind == "conllu":
        return _to_conllu(target, sentences, to_columns, to_label)
    if to_label is not None or to_columns is not None:
        raise InvalidInput(f"--to-columns and --to-label do not apply to the format {kind}.")
    spelled = "BIO" if scheme is None else scheme[1]
    return _to_jsonl(target, sentences, json_form, spelled) if kind == "jsonl" else _to_text(target, sentences)


def _rewritten(
    sentences: Iterable[Sentence], source: str, layout: Layout, scheme: tuple[str, str] | None, lenient: bool
) -> Iterator[Sentence]:
    """The sentences with their labels in the other scheme."""
    by_line = format_of(source, layout.format) == "columns" and layout.comments is None
    for sentence in sentences:
        if scheme is None or sentence.labels is None:
            yield sentence
        else:
            labels = _converted(sentence.labels, scheme, lenient, source, sentence.line, by_line)
            yield sentence._replace(labels=labels)


def _converted(
    labels: list[str], scheme: tuple[str, str], lenient: bool, source: str, line: int, by_line: bool
) -> list[str]:
    """Labels in another scheme; what is wrong with them is said with its line: the first one plus the position, if
    every token has a line of its own."""
    from trelliswork.corpora.files import name_of
    from trelliswork.labels.spans import convert_labels, validate_labels

    for problem in validate_labels(labels, scheme[0]):
        if problem.expected is None or not lenient:
            where = f"{name_of(source)}, line {line + problem.position * by_line}"
            advice = "Check --from-scheme" if problem.expected is None else "Pass --lenient to read as conlleval does"
            raise InvalidInput(f"{where}: {problem.message}. {advice}, or correct the label.")
    return convert_labels(labels, *scheme, lenient=True)


def _to_columns(target: str, sentences: Iterable[Sentence], layout: Layout, to_label: str | None) -> int:
    from trelliswork.corpora.columns import write_columns

    if to_label is not None and not to_label.lstrip("-").isdigit():
        raise InvalidInput(
            f"--to-label: {to_label!r} is not the number of a column. Count from 0, or from -1 backwards."
        )
    label = -1 if to_label is None else int(to_label)
    return write_columns(target, sentences, label, layout.separator, layout.comments)


def _to_csv(target: str, sentences: Iterable[Sentence], to_columns: str | None, to_label: str | None) -> int:
    from trelliswork.corpora.spreadsheets import write_csv

    names = None if to_columns is None else [name.strip() for name in to_columns.split(",")]
    return write_csv(target, sentences, names, to_label or "Tag")


def _to_conllu(target: str, sentences: Iterable[Sentence], to_columns: str | None, to_label: str | None) -> int:
    from trelliswork.corpora.conllu import ConlluSentence, Word, write_conllu

    label = to_label or ("upos" if to_columns is None else "misc")
    free = [name for name in CONLLU_COLUMNS if name not in (label, "head", "deps")]
    names = free if to_columns is None else [name.strip() for name in to_columns.split(",")]
    for name in (*names, label):
        if name not in CONLLU_COLUMNS or name == "head":
            raise InvalidInput(f"{name!r} is not a CoNLL-U column to write to. Choose among {', '.join(free)}.")

    def written() -> Iterator[ConlluSentence]:
        for sentence in sentences:
            if len(sentence.tokens[0]) > len(names):
                raise InvalidInput(
                    f"tokens have {len(sentence.tokens[0])} columns, but --to-columns names {len(names)}. Name all."
                )
            words = []
            for i, row in enumerate(sentence.tokens):
                fields = dict(zip(names, row, strict=False))
                if sentence.labels is not None:
                    fields[label] = sentence.labels[i]
                words.append(Word(**fields))  # type: ignore[arg-type]
            yield ConlluSentence(words)

    return write_conllu(target, written())


def _to_jsonl(target: str, sentences: Iterable[Sentence], form: str, scheme: str) -> int:
    from trelliswork.corpora.jsonlines import write_jsonl

    pairs = (([row[0] for row in sentence.tokens], sentence.labels) for sentence in sentences)
    return write_jsonl(target, pairs, form, scheme)


def _between_jsonl(
    source: str, target: str, layout: Layout, scheme: tuple[str, str] | None, lenient: bool, form: str
) -> int:
    """From JSON lines to JSON lines: texts and the spans that fit no token are kept."""
    from trelliswork.corpora.jsonlines import read_jsonl, write_jsonl

    def rewritten() -> Iterator[Example]:
        for example in read_jsonl(source, tokenizer=layout.tokenizer, encoding=layout.encoding):
            if form == "tokens":
                _report_misaligned(example, source)
            if scheme is not None and example.labels is not None:
                labels = _converted(example.labels, scheme, lenient, source, example.line, by_line=False)
                example = example._replace(labels=labels)
            yield example

    return write_jsonl(target, rewritten(), form, "BIO" if scheme is None else scheme[1])


def _report_misaligned(example: Example, source: str) -> None:
    import warnings

    from trelliswork.corpora.files import name_of

    for wrong in example.misaligned:
        where = f"{name_of(source)}, line {example.line}"
        warnings.warn(f"{where}: the span {tuple(wrong.span)} {wrong.reason}, and is not in the labels.", stacklevel=2)


def _to_text(target: str, sentences: Iterable[Sentence]) -> int:
    from trelliswork.corpora.files import writing

    count = 0
    with writing(target) as write:
        for sentence in sentences:
            count += 1
            write(" ".join(row[0] for row in sentence.tokens) + "\n")
    return count
