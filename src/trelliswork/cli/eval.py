"""``trelliswork eval``: exact spans as conlleval counts them, and tokens; of a model, or of a file tagged already."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import tee
from typing import TYPE_CHECKING, Any

import click

from trelliswork.cli.models import no_mmap_option, opened_model, require_token_marginals
from trelliswork.cli.reading import Labelled, Layout, format_of, labelled_blocks, layout_options, read_sentences
from trelliswork.cli.trees import compared_trees, task_of
from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import SCHEME_NAMES

if TYPE_CHECKING:
    from trelliswork.evaluation import Calibration, Evaluation
    from trelliswork.evaluation.summary import EvaluationCounts

__all__ = ["calibration_of_model", "command", "evaluate_model", "evaluate_tagged", "read_tagged"]


@click.command(
    "eval",
    short_help="Score a model, or a file that is already tagged.",
    epilog="Example: trelliswork eval chunks.tw test.txt --json",
)
@click.argument("model", metavar="[MODEL]", required=False)
@click.argument("test", metavar="TEST", default="-")
@click.option("--tagged", is_flag=True, help="TEST is tagged: its last two columns are gold and predicted labels.")
@click.option(
    "--gold", metavar="FILE", help="TEST is already parsed: score its trees against those of FILE (CoNLL-U, brackets)."
)
@click.option("--scheme", type=click.Choice([*SCHEME_NAMES, "none"], case_sensitive=False), help="The label scheme.")
@click.option(
    "--strict", is_flag=True, help="Count only valid spans; by default, invalid labels are read as conlleval does."
)
@click.option("--calibration", is_flag=True, help="Also measure how far the model's probabilities can be trusted.")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads.  [all processors]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@no_mmap_option
@layout_options(labels=True)
def command(
    model: str | None,
    test: str,
    tagged: bool,
    gold: str | None,
    layout: Layout,
    scheme: str | None,
    strict: bool,
    calibration: bool,
    jobs: int | None,
    as_json: bool,
    mmap: bool,
) -> None:
    """Score MODEL on the labelled file TEST (by default, or with "-", the standard input).

    With --tagged there is no model: the file has gold and predicted labels side by side, as written by tagging a
    labelled file. Without --scheme, the gold labels determine the scheme; labels that do not encode spans, such as
    parts of speech, are scored as tokens. A parser is scored by its trees: UAS and LAS, or brackets. With --gold, an
    already parsed file is scored against the trees of another file.
    """
    if calibration and (tagged or test == "-"):
        raise click.UsageError("--calibration needs a MODEL and a TEST file that can be read twice.")
    if tagged and not mmap:
        raise click.UsageError("--no-mmap needs a MODEL, and with --tagged there is none.")
    if gold is not None:
        if tagged or calibration or scheme is not None or strict or not mmap:
            raise click.UsageError("--gold is for trees, and only goes with --json, --format and --encoding.")
        _tell(*compared_trees(gold, model if model is not None else test, layout), as_json)
        return
    reliability = None
    if tagged:
        evaluation = evaluate_tagged(model if model is not None else test, layout, scheme, strict)
    elif model is None:
        raise click.UsageError("Name a MODEL and a TEST file, or pass --tagged with a file that is already tagged.")
    else:
        labeler, settings = opened_model(model, jobs, mmap)
        task = task_of(settings)
        if task is not None:
            if scheme is not None or strict or calibration:
                raise click.UsageError("--scheme, --strict and --calibration are for labels, and this is a parser.")
            _tell(*task.scores(labeler, test, layout), as_json)
            return
        evaluation = evaluate_model(labeler, test, layout, scheme, strict)
        if calibration:
            require_token_marginals(labeler, str(model))
        reliability = calibration_of_model(labeler, test, layout) if calibration else None
    if as_json:
        more = {} if reliability is None else {"calibration": reliability.as_dict()}
        click.echo(json.dumps(evaluation.as_dict() | more, ensure_ascii=False))
    else:
        click.echo(evaluation if reliability is None else f"{evaluation}\n\n{reliability}")


def _tell(text: str, figures: dict[str, Any], as_json: bool) -> None:
    click.echo(json.dumps(figures, ensure_ascii=False) if as_json else text)


def evaluate_tagged(source: str, layout: Layout, scheme: str | None = None, strict: bool = False) -> Evaluation:
    """Return the scores of a column file whose last column is the guess and the one before it the gold label.

    Parameters
    ----------
    source : str
        A path, or ``"-"``.
    layout : Layout
        How it is laid out; `label` is the gold column, ``-2`` if None.
    scheme : str or None
        How labels spell spans; ``"none"`` if they do not, None to find out.
    strict : bool
        Whether invalid spans count for nothing, instead of being read as conlleval does.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tagged.txt"
    ...     _ = path.write_text("Rain B-NP B-NP\\nfell B-VP O\\n")
    ...     evaluate_tagged(str(path), Layout()).span.recall
    0.5
    """
    counts = _counts(scheme, strict)
    with _placed(source):
        for gold, guess in read_tagged(source, layout):
            counts.add(gold, guess)
        return counts.evaluation()


def read_tagged(source: str, layout: Layout) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the gold labels and the guesses of each sentence of a tagged file; see `evaluate_tagged`."""
    from trelliswork.corpora.files import name_of

    if format_of(source, layout.format) not in ("columns", "csv"):
        raise InvalidInput(f"{name_of(source)}: tagged files have columns. Convert it, or name a model to tag it with.")
    if layout.columns is not None:
        raise InvalidInput("--columns does not apply to tagged files: only gold and predicted labels are read.")
    layout = replace(layout, label="-2" if layout.label is None else layout.label, columns=("-1",))
    sentence = None
    for sentence in read_sentences(source, layout):
        yield sentence.labels or [], [row[0] for row in sentence.tokens]
    if sentence is None:
        raise InvalidInput(f"{name_of(source)}: found no sentence. There is nothing to score.")


def evaluate_model(
    labeler: Any, source: str, layout: Layout, scheme: str | None = None, strict: bool = False
) -> Evaluation:
    """Return the scores of a model on a labelled file.

    Parameters
    ----------
    labeler : estimator
        As `trelliswork.load` returns it.
    source, layout, scheme, strict
        As for `evaluate_tagged`.
    """
    counts = _counts(scheme, strict)
    with _placed(source):
        for block, guesses in _answered(source, layout, labeler.predict):
            for gold, guess in zip(block.y, guesses, strict=True):
                counts.add(gold, guess)
        return counts.evaluation()


def calibration_of_model(labeler: Any, source: str, layout: Layout) -> Calibration:
    """Return how far a model's marginals can be trusted on a labelled file; arguments are as for `evaluate_model`."""
    from trelliswork.evaluation import calibration

    found = _answered(source, layout, labeler.predict_marginals)
    # Both are asked for in turn, so that one sequence is kept at a time.
    first, second = tee(pair for block, tables in found for pair in zip(tables, block.y, strict=True))
    return calibration((table for table, _ in first), (gold for _, gold in second), labeler.classes_)


def _answered(source: str, layout: Layout, answer: Callable[[Any], Any]) -> Iterator[tuple[Labelled, Any]]:
    """Blocks of a labelled file, with what a model says of them."""
    for block in labelled_blocks(source, layout):
        try:
            answers = answer(block.X)
        except InvalidInput as error:
            raise block.placed(error) from error
        yield block, answers


def _counts(scheme: str | None, strict: bool) -> EvaluationCounts:
    from trelliswork.evaluation.summary import EvaluationCounts

    spelled = "auto" if scheme is None else None if scheme.lower() == "none" else scheme
    return EvaluationCounts(spelled, lenient=not strict)


@contextmanager
def _placed(source: str) -> Iterator[None]:
    """Name the file in errors about labels, which know only the number of a sequence."""
    from trelliswork.corpora.files import name_of

    try:
        yield
    except InvalidInput as error:
        if not str(error).startswith(("y_true", "y_pred")):
            raise
        raise InvalidInput(
            f"{name_of(source)}: {error} Pass --scheme none if the labels do not encode spans."
        ) from error
