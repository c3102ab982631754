"""``trelliswork cv``: how good learners and their parameters are on sentences that they did not learn from."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from trelliswork.cli.progress import on_terminal
from trelliswork.cli.reading import Layout, layout_options, read_labelled
from trelliswork.cli.train import DEFAULT_LEARNER, PRESETS, parameter_value, templates_from
from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import SCHEME_NAMES

if TYPE_CHECKING:
    from trelliswork.evaluation import CrossValidation, NestedCrossValidation

__all__ = ["command", "cross_validated", "grid_from"]


@click.command(
    "cv",
    short_help="Cross-validate learners and their parameters.",
    epilog="Example: trelliswork cv train.txt --learner pa --set C=0.01,0.1,1 --set epochs=5,10,20 --plot c.png",
)
@click.argument("source", metavar="TRAIN")
@click.option("--dev", metavar="FILE", help="Train on all of TRAIN and score on this file, instead of folds.")
@click.option(
    "--learner",
    "learners",
    metavar="NAME",
    multiple=True,
    default=[DEFAULT_LEARNER],
    help="A learner; repeatable.  [crf]",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE,...",
    multiple=True,
    help="Values of a parameter to try, for the learners that have it.",
)
@click.option(
    "--features", metavar="NAME|FILE", default="auto", help=f"{', '.join(PRESETS)}, or a template file.  [auto]"
)
@click.option(
    "--scheme",
    type=click.Choice(SCHEME_NAMES, case_sensitive=False),
    help="Only predict labels that are valid in this scheme.",
)
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Drop attributes that occur less often.",
)
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="The number of folds.")
@click.option(
    "--nested", type=click.IntRange(min=2), metavar="N", help="Choose the best setting in each fold by N inner folds."
)
@click.option(
    "--scoring",
    type=click.Choice(["auto", "f1", "token_f1", "accuracy"]),
    default="auto",
    show_default=True,
    help="The score that ranks the settings; auto is F1 of spans if the labels encode spans.",
)
@click.option("--plot", metavar="FILE", help="Draw the scores into this file (.png, .svg, .pdf).")
@click.option(
    "--against",
    metavar="NAME",
    help="The x-axis of the drawing: a parameter, iteration, seconds or cpu_seconds.  [a parameter]",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs in parallel.  [one for each processor]")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The seed of folds and learners."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Write a line for each run, as on a terminal.")
@click.option("-q", "--quiet", is_flag=True, help="Write only the result, warnings and errors.")
@layout_options(labels=True)
def command(
    source: str,
    as_json: bool,
    plot: str | None,
    against: str | None,
    verbose: bool,
    quiet: bool,
    nested: int | None,
    **how: Any,
) -> None:
    """Cross-validate on the labelled file TRAIN ("-" is the standard input).

    Every combination of the values of --set is trained on all folds but one and scored on that one, in turn. The best
    is marked. Use --nested to measure how good it is on data that were not used to choose it.
    """
    _check_plot(plot, against, nested, how["dev"])
    verbose = (verbose or on_terminal()) and not quiet
    result = cross_validated(
        source, nested=nested, curves=against in ("iteration", "seconds", "cpu_seconds"), verbose=verbose, **how
    )
    if plot is not None:
        from trelliswork.evaluation import CrossValidation

        assert isinstance(result, CrossValidation)
        figure: Any = result.plot(_parameter_named(against, result)).figure
        figure.savefig(plot)
    click.echo(json.dumps(result.as_dict(), ensure_ascii=False) if as_json else result)


def cross_validated(
    source: str,
    layout: Layout | None = None,
    dev: str | None = None,
    learners: Sequence[str] = (DEFAULT_LEARNER,),
    settings: Sequence[str] = (),
    features: str = "auto",
    scheme: str | None = None,
    min_count: int = 1,
    folds: int = 5,
    nested: int | None = None,
    scoring: str = "auto",
    curves: bool = False,
    jobs: int | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> CrossValidation | NestedCrossValidation:
    """Cross-validate on a labelled file.

    Parameters
    ----------
    source : str
        The labelled file; ``"-"`` is the standard input.
    layout : Layout or None
        How labelled files are laid out.
    dev : str or None
        A labelled file to score on instead of folds.
    learners, settings : sequences of str
        Names of learners, and ``"name=value,value"`` for their parameters.
    features, scheme, min_count
        As for `trelliswork.cli.train.train`.
    folds : int
    nested : int or None
        How many folds choose the setting within each fold; None tells the scores of all settings.
    scoring, curves
        As for `trelliswork.evaluation.cross_validate`.
    jobs, seed : int
        Runs at a time, and the seed of the folds and the learners.
    verbose : bool
        Whether to write a line for each run.
    """
    from trelliswork.estimators.sequence_labeler import SequenceLabeler
    from trelliswork.evaluation import cross_validate, nested_cross_validate, validate

    grid = grid_from(learners, settings)
    tagger = SequenceLabeler(
        features=templates_from(features), constraints=scheme, min_count=min_count, random_state=seed
    )
    layout = layout or Layout()
    corpus = read_labelled(source, layout)
    common: dict[str, Any] = {"grid": grid, "scoring": scoring, "n_jobs": jobs or -1, "verbose": int(verbose)}
    try:
        if dev is not None:
            held_out = read_labelled(dev, layout)
            return validate(tagger, corpus.X, corpus.y, held_out.X, held_out.y, curves=curves, **common)
        common |= {"folds": folds, "random_state": seed}
        if nested is not None:
            return nested_cross_validate(tagger, corpus.X, corpus.y, inner_folds=nested, **common)
        return cross_validate(tagger, corpus.X, corpus.y, curves=curves, **common)
    except InvalidInput as error:
        raise corpus.placed(error) from error


def grid_from(names: Sequence[str], settings: Sequence[str]) -> list[dict[str, Any]]:
    """Return a grid for each learner, of the parameters that it has.

    Examples
    --------
    >>> grid_from(["perceptron", "pa"], ["C=0.1,1"])
    [{'learner': 'perceptron'}, {'learner': 'pa', 'learner__C': [0.1, 1]}]
    """
    from trelliswork import learners

    known = {name: [parameter.name for parameter in learners.parameters_of(name)] for name in names}
    values: dict[str, list[Any]] = {}
    for setting in settings:
        parameter, equals, texts = setting.partition("=")
        if not equals or not texts:
            raise InvalidInput(f"--set {setting}: expected NAME=VALUE, or several values separated by commas.")
        if not any(parameter in own for own in known.values()):
            listed = "; ".join(f"{name}: {', '.join(own)}" for name, own in known.items())
            raise InvalidInput(f"--set {setting}: no learner has the parameter {parameter!r}. They have {listed}.")
        values[parameter] = [parameter_value(text) for text in texts.split(",")]
    grids: list[dict[str, Any]] = []
    for name, own in known.items():
        fitting = {parameter: options for parameter, options in values.items() if parameter in own}
        for values_of_one in itertools.product(*fitting.values()):  # checked now, not after the corpus has been read
            learners.by_name(name, **dict(zip(fitting, values_of_one, strict=True)))
        grids.append({"learner": name, **{f"learner__{one}": options for one, options in fitting.items()}})
    return grids


def _check_plot(plot: str | None, against: str | None, nested: int | None, dev: str | None) -> None:
    """Refuse what would fail only after hours of training."""
    if nested is not None and (plot is not None or dev is not None):
        raise click.UsageError("--nested chooses a setting in each fold, so it does not go with --plot or --dev.")
    if against is not None and plot is None:
        raise click.UsageError("--against needs --plot, the file to draw into.")
    if plot is None:
        return
    if not os.path.isdir(os.path.dirname(os.path.abspath(plot))):
        raise InvalidInput(f"--plot {plot}: the folder of this file does not exist.")
    from trelliswork.plots.figures import new_axes

    if os.path.splitext(plot)[1][1:].lower() not in new_axes(1, 1).figure.canvas.get_supported_filetypes():
        raise InvalidInput(f"--plot {plot}: expected a name that ends in .png, .svg or .pdf.")


def _parameter_named(against: str | None, result: CrossValidation) -> str | None:
    """The full name of a parameter that was called by the name its learner has for it."""
    known = {name for candidate in result.candidates for name in candidate.params}
    return f"learner__{against}" if f"learner__{against}" in known else against
