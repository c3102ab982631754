"""``trelliswork eval``: exact spans as conlleval counts them, and tokens; of a model, or of a file tagged already."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from trelliswork.cli.reading import Layout, format_of, layout_options, read_labelled
from trelliswork.errors import InvalidInput
from trelliswork.scheme_table import SCHEME_NAMES

if TYPE_CHECKING:
    from trelliswork.evaluation import Calibration, Evaluation

__all__ = ["calibration_of_model", "command", "evaluate_model", "evaluate_tagged", "loaded_model", "read_tagged"]


@click.command(
    "eval",
    short_help="Score a model, or a file that is tagged already.",
    epilog="Example: trelliswork eval chunks.tw test.txt --json",
)
@click.argument("model", metavar="[MODEL]", required=False)
@click.argument("test", metavar="TEST", default="-")
@click.option("--tagged", is_flag=True, help="TEST is tagged: its last two columns are the gold label and the guess.")
@click.option(
    "--scheme", type=click.Choice([*SCHEME_NAMES, "none"], case_sensitive=False), help="How labels spell spans."
)
@click.option(
    "--strict", is_flag=True, help="Count valid spans only; by default invalid labels are read as conlleval does."
)
@click.option("--calibration", is_flag=True, help="Also say how far the model's probabilities can be trusted.")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads.  [all processors]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@layout_options(labels=True)
def command(
    model: str | None,
    test: str,
    tagged: bool,
    layout: Layout,
    scheme: str | None,
    strict: bool,
    calibration: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Score MODEL on the labelled file TEST ("-" or nothing: the standard input).

    With --tagged there is no model: the file holds gold and guessed labels side by side, as tagging a labelled file
    leaves them. Without --scheme, the scheme is found from the gold labels; labels that spell no spans, such as parts
    of speech, are scored as tokens.
    """
    if calibration and (tagged or test == "-"):
        raise click.UsageError("--calibration needs a MODEL and a TEST file that can be read twice.")
    reliability = None
    if tagged:
        evaluation = evaluate_tagged(model if model is not None else test, layout, scheme, strict)
    elif model is None:
        raise click.UsageError("Name a MODEL and a TEST file, or pass --tagged with a file that is tagged already.")
    else:
        evaluation = evaluate_model(model, test, layout, scheme, strict, jobs)
        reliability = calibration_of_model(model, test, layout, jobs) if calibration else None
    if as_json:
        more = {} if reliability is None else {"calibration": reliability.as_dict()}
        click.echo(json.dumps(evaluation.as_dict() | more, ensure_ascii=False))
    else:
        click.echo(evaluation if reliability is None else f"{evaluation}\n\n{reliability}")


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
    gold, guess = read_tagged(source, layout)
    return _scored(gold, guess, scheme, strict, source)


def read_tagged(source: str, layout: Layout) -> tuple[list[list[str]], list[list[str]]]:
    """Return the gold labels and the guesses of a column file whose last column is the guess; see `evaluate_tagged`."""
    from trelliswork.corpora.columns import read_columns
    from trelliswork.corpora.files import name_of

    if format_of(source, layout.format) != "columns":
        raise InvalidInput(f"{name_of(source)}: tagged files have columns. Convert it, or name a model to tag it with.")
    gold: list[list[str]] = []
    guess: list[list[str]] = []
    label = -2 if layout.label is None else layout.label_position()
    options: dict[str, Any] = {"separator": layout.separator, "comments": layout.comments, "encoding": layout.encoding}
    for sentence in read_columns(source, label=label, keep=[-1], **options):
        gold.append(sentence.labels or [])
        guess.append([row[0] for row in sentence.tokens])
    if not gold:
        raise InvalidInput(f"{name_of(source)}: found no sentence. There is nothing to score.")
    return gold, guess


def evaluate_model(
    model: str,
    source: str,
    layout: Layout,
    scheme: str | None = None,
    strict: bool = False,
    jobs: int | None = None,
) -> Evaluation:
    """Return the scores of a saved model on a labelled file; arguments are as for `evaluate_tagged`.

    Parameters
    ----------
    model : str
        The path of the model.
    source, layout, scheme, strict
        As for `evaluate_tagged`.
    jobs : int or None
        Threads; None is one for each processor.
    """
    labeler = loaded_model(model, jobs)
    corpus = read_labelled(source, layout)
    try:
        guess = labeler.predict(corpus.X)
    except InvalidInput as error:
        raise corpus.placed(error) from error
    return _scored(corpus.y, guess, scheme, strict, source)


def calibration_of_model(model: str, source: str, layout: Layout, jobs: int | None = None) -> Calibration:
    """Return how far a saved model's marginals can be trusted on a labelled file; arguments as for `evaluate_model`."""
    from trelliswork.evaluation import calibration

    labeler = loaded_model(model, jobs)
    corpus = read_labelled(source, layout)
    return calibration(labeler.predict_marginals(corpus.X), corpus.y, labeler.classes_)


def loaded_model(model: str, jobs: int | None) -> Any:
    """Return a saved model, ready to predict with so many threads; None is one for each processor."""
    from trelliswork.estimators.saved import loaded

    labeler = loaded(model, light=True)
    labeler.n_jobs = jobs or -1
    return labeler


def _scored(gold: Any, guess: Any, scheme: str | None, strict: bool, source: str) -> Evaluation:
    from trelliswork.corpora.files import name_of
    from trelliswork.evaluation import evaluate

    spelled = found_scheme(gold) if scheme is None else None if scheme.lower() == "none" else scheme
    try:
        return evaluate(gold, guess, scheme=spelled, lenient=not strict)
    except InvalidInput as error:
        raise InvalidInput(f"{name_of(source)}: {error} Say --scheme none if labels spell no spans.") from error


def found_scheme(gold: Any) -> str | None:
    """Return the scheme in which all gold labels are valid; BIO for those that only conlleval can read; or None.

    Examples
    --------
    >>> found_scheme([["B-NP", "I-NP", "O"]]), found_scheme([["O", "U-NP"]]), found_scheme([["DET", "NOUN"]])
    ('BIO', 'BILOU', None)
    """
    from trelliswork.corpora.labels import suggest_scheme

    fitting = suggest_scheme(gold)
    if fitting:
        return fitting[0]
    distinct = {label for labels in gold for label in labels}
    return "BIO" if all(label == "O" or label[:2] in ("B-", "I-") for label in distinct) else None
