"""``trelliswork train``: a labelled file in, a model file out.

Training can be interrupted and keeps what it has; with a checkpoint it can be taken up again, and then ends with the
same model, bit for bit, as if it had never stopped.
"""

from __future__ import annotations

import ast
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from trelliswork.cli.checkpoint import Checkpoint, fingerprint
from trelliswork.cli.interrupt import interruptible
from trelliswork.cli.models import metadata_from, metadata_option
from trelliswork.cli.progress import TrainingProgress, on_terminal
from trelliswork.cli.reading import Labelled, Layout, layout_options, open_labelled, read_labelled
from trelliswork.cli.streams import say
from trelliswork.cli.trees import TASKS as TREES
from trelliswork.errors import InvalidInput
from trelliswork.features import presets
from trelliswork.labels.schemes import SCHEME_NAMES

if TYPE_CHECKING:
    from trelliswork.learners import Parameter

__all__ = ["command", "learner_from", "parameter_value", "templates_from", "train"]

PRESETS = presets.ABOUT_TOKENS
TASKS = ("labels", "segments", *TREES)
CHECKPOINT_SECONDS = 5.0
DEFAULT_LEARNER, TREE_LEARNER = "crf", "pa"
_LEARNER = "trelliswork.learner"  # where a click context keeps which learner's help is wanted


class _TrainCommand(click.Command):
    """A command whose help lists the learners, and the parameters of the one that ``--learner`` names."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.meta[_LEARNER] = _learner_in(args)  # help is shown before any option is read
        return super().parse_args(context, args)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        from trelliswork import learners

        known = learners.names()
        shown = context.meta.get(_LEARNER, DEFAULT_LEARNER)
        with formatter.section("Learners"):
            formatter.write_dl([(name, learners.summary(name)) for name in known])
        if shown in known:
            with formatter.section(f"--learner {shown}, parameters for --set"):
                formatter.write_dl([_as_option(parameter) for parameter in learners.parameters_of(shown)])
        if len(known) > 1:
            formatter.write_paragraph()
            formatter.write_text("For the parameters of another learner: trelliswork train --learner NAME --help")
        super().format_epilog(context, formatter)


@click.command(
    "train",
    cls=_TrainCommand,
    short_help="Train a model on a labelled file.",
    epilog="Example: trelliswork train train.txt --dev dev.txt --features chunking --set l2=0.5 -o chunks.tw",
)
@click.argument("source", metavar="TRAIN")
@click.option("-o", "--output", "model", metavar="MODEL", required=True, help="The model file to write.")
@click.option("--dev", metavar="FILE", help="Score this file after each iteration, and keep the best model.")
@click.option(
    "--features", metavar="NAME|FILE", default="auto", help=f"{', '.join(PRESETS)}, or a template file.  [auto]"
)
@click.option(
    "--learner",
    metavar="NAME",
    help=f"The training algorithm; see below.  [{DEFAULT_LEARNER}; {TREE_LEARNER} for trees]",
)
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="A parameter of the learner; see below.")
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
@click.option(
    "--hash-bits", type=click.IntRange(1, 30), metavar="N", help="Hash attributes into 2^N places, a fixed number."
)
@click.option(
    "--combinations",
    type=click.Choice(["auto", "seen", "transitions", "all", "grown"]),
    default="auto",
    show_default=True,
    help="Which pairs of attribute and label have a weight.",
)
@click.option(
    "--task",
    type=click.Choice(TASKS),
    default="labels",
    show_default=True,
    help="Label tokens, or whole segments (the labels must encode spans); or predict dependency trees (CoNLL-U) or "
    "constituents (bracketed trees).",
)
@click.option(
    "--longest",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --task segments: the maximum length of a segment.  [as in TRAIN]",
)
@click.option(
    "--order",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many previous labels a score depends on; 2 for dependency trees with siblings and grandparents.",
)
@click.option(
    "--histories",
    type=click.Choice(["seen", "closed", "all"]),
    default="seen",
    show_default=True,
    help="With --order 2 or more: which label histories to distinguish.",
)
@click.option(
    "--tag-dictionary",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Give known words only likely labels, which is faster with many labels; SHARE is the share of labels that "
    "may be lost, such as 0.001.",
)
@click.option(
    "--label-parts",
    metavar="TEXT",
    help="The separator of label parts, such as '-' in B-PER; labels share the weights of common parts.",
)
@click.option(
    "--beam", type=click.IntRange(min=1), metavar="N", help="Label with a beam of N labels per position (approximate)."
)
@click.option(
    "--projective/--non-projective",
    default=None,
    help="With --task dependency: forbid or allow crossing arcs.  [projective]",
)
@click.option(
    "--single-root/--multi-root",
    default=None,
    help="With --task dependency: one root per sentence, or one or more.  [single root]",
)
@click.option(
    "--labels",
    type=click.Choice(["joint", "chain", "none"]),
    help="With --task dependency: how to predict relations, if at all.  [joint]",
)
@click.option(
    "--heads",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --task dependency: candidate heads for each word.  [12]",
)
@click.option(
    "--partial", is_flag=True, help="With --task dependency: also learn from sentences in which some heads are '_'."
)
@click.option(
    "--patience", type=click.IntRange(min=1), metavar="N", help="Stop after N iterations without a better dev score."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Threads; the model is the same for any number.  [all]"
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Limit the memory of the process, such as 2GB; data that do not fit go to files. The model is the same.",
)
@click.option("--scratch", metavar="FOLDER", help="With --memory: where those files go.  [the temporary folder]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The random seed.")
@click.option("--checkpoint", metavar="FILE", help="Save the state of training to this file while it runs.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if there is one.")
@metadata_option
@click.option("--json", "as_json", is_flag=True, help="Print a summary of the training as one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Write a line for each iteration.")
@click.option("-q", "--quiet", is_flag=True, help="Write only warnings and errors.")
@layout_options(labels=True)
def command(source: str, model: str, as_json: bool, quiet: bool, **how: Any) -> None:
    """Train on the labelled file TRAIN ("-" is the standard input) and write MODEL.

    By default, a file has columns separated by spaces or tabs, tokens first and labels last, and a blank line after
    each sentence. Ctrl-C ends training, keeps the best model so far and exits with 130.
    """
    try:
        facts = train(source, model, quiet=quiet, **how)
    except KeyboardInterrupt:
        say("interrupted before a model was written")
        raise click.exceptions.Exit(130) from None
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
    elif not quiet:
        click.echo(_told(facts))
    if facts["interrupted"]:
        say(f"interrupted: the best model so far is in {model}")
        raise click.exceptions.Exit(130)


def train(
    source: str,
    model: str,
    layout: Layout | None = None,
    dev: str | None = None,
    features: str = "auto",
    learner: str | None = None,
    settings: Sequence[str] = (),
    scheme: str | None = None,
    min_count: int = 1,
    hash_bits: int | None = None,
    combinations: str = "auto",
    task: str = "labels",
    longest: int | None = None,
    order: int = 1,
    histories: str = "seen",
    tag_dictionary: float | None = None,
    beam: int | None = None,
    label_parts: str | None = None,
    projective: bool | None = None,
    single_root: bool | None = None,
    labels: str | None = None,
    heads: int | None = None,
    partial: bool = False,
    patience: int | None = None,
    jobs: int | None = None,
    memory: str | None = None,
    scratch: str | None = None,
    seed: int = 0,
    checkpoint: str | None = None,
    resume: bool = False,
    metadata: Sequence[str] = (),
    verbose: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Train on a labelled file, save the model, and return the facts about it.

    Parameters
    ----------
    source, model : str
        The labelled file (``"-"`` is the standard input) and the model file to write.
    layout : Layout or None
        How the labelled files are laid out.
    dev : str or None
        A labelled file to score after each iteration.
    features : str
        ``"auto"``, the name of a ready set of templates, or the path of a template file.
    learner : str or None
        The name of a learner; None is that of the task.
    settings : sequence of str
        Its parameters, ``"name=value"`` each.
    scheme : str or None
        The label scheme to keep to.
    task : {"labels", "segments", "dependency", "constituency"}
        Whether to train a `trelliswork.SequenceLabeler`, `SegmentLabeler`, `DependencyParser` or `ConstituencyParser`.
    longest
        As for `trelliswork.SegmentLabeler`.
    projective, single_root, labels, heads
        As for `trelliswork.DependencyParser`, ``"none"`` for None; None is its default.
    partial : bool
        Whether dependency trees may be known in part.
    min_count, hash_bits, combinations, order, histories, tag_dictionary, beam, label_parts, patience
        As for `trelliswork.SequenceLabeler`.
    jobs, seed : int
        Threads, and the seed of what is random.
    memory, scratch : str or None
        As ``memory`` and ``scratch_folder`` of `trelliswork.SequenceLabeler`; the file is then read in blocks.
    checkpoint : str or None
        Where to keep the state of training.
    resume : bool
        Whether to go on from there.
    metadata : sequence of str
        What to keep with the model, ``"key=value"`` each.
    verbose, quiet : bool
        Whether to write a line for each iteration, or no progress at all.

    Returns
    -------
    dict
        Ready for JSON: what was trained on, how training ended, scores, sizes.
    """
    layout = layout or Layout()
    kept = metadata_from(metadata)
    _check_paths(model, checkpoint, resume)
    common: dict[str, Any] = {
        "learner": learner_from(learner or (TREE_LEARNER if task in TREES else DEFAULT_LEARNER), settings),
        "features": templates_from(features, TREES[task].features if task in TREES else PRESETS),
        "min_count": min_count,
        "hash_bits": hash_bits,
        "combinations": combinations,
        "patience": patience,
        "n_jobs": jobs or -1,
        "random_state": seed,
    }
    of_chains = {"order": order, "histories": histories, "constraints": scheme}
    limits = {"memory": memory, "scratch_folder": scratch, "tag_dictionary": tag_dictionary, "beam": beam}
    limits["label_parts"] = label_parts
    if task != "labels" and any(limits.values()):
        raise InvalidInput("--memory, --scratch, --tag-dictionary, --beam and --label-parts are for --task labels.")
    of_trees = {"projective": projective, "single_root": single_root, "labels": labels, "heads": heads}
    labeler = _labeler(task, common, longest, of_chains, of_trees)
    if task == "labels":
        labeler.set_params(**limits)
    if partial and task != "dependency":
        raise InvalidInput("--partial is for --task dependency.")
    began = time.perf_counter()
    corpus = open_labelled(source, layout) if memory else _read(task, source, layout, labeler, partial)
    held_out = None if dev is None else _read(task, dev, layout, labeler)
    keeper = Checkpoint(checkpoint, _run_of(labeler, source, dev) if checkpoint else {}, CHECKPOINT_SECONDS)
    resumed = _resumed(keeper, checkpoint, quiet) if resume else None
    bar = on_terminal() and not quiet and not verbose
    progress = TrainingProgress(n_tokens(corpus.X), labeler.learner, bar, verbose)

    def save() -> None:
        labeler.save(model, metadata=kept)

    interrupted = _fit_and_save(labeler, corpus, held_out, save, keeper, resumed, progress)
    return _facts(labeler, model, corpus.X, time.perf_counter() - began, interrupted)


def _labeler(
    task: str, common: dict[str, Any], longest: int | None, of_chains: dict[str, Any], of_trees: dict[str, Any]
) -> Any:
    """Return the estimator of a task; options of the others are refused."""
    if longest is not None and task != "segments":
        raise InvalidInput("--longest is for --task segments.")
    said = {name: value for name, value in of_trees.items() if value is not None}
    if said and task != "dependency":
        named = ", ".join(f"--{name.replace('_', '-')}" for name in of_trees)
        raise InvalidInput(f"{named} are for --task dependency.")
    if task in TREES:
        return _parser(task, common, of_chains, said)
    if task == "labels":
        from trelliswork.estimators.sequence_labeler import SequenceLabeler

        return SequenceLabeler(**common, **of_chains)
    from trelliswork.estimators.segment_labeler import SegmentLabeler

    if of_chains != NO_CHAIN_OPTIONS:
        raise InvalidInput("--order, --histories and --scheme are for --task labels.")
    return SegmentLabeler(**common, longest=longest)


NO_CHAIN_OPTIONS = {"order": 1, "histories": "seen", "constraints": None}


def _parser(task: str, common: dict[str, Any], of_chains: dict[str, Any], of_trees: dict[str, Any]) -> Any:
    """Return the parser of a task; options that it does not have are refused, unless they say what is so anyway."""
    import inspect

    kind = TREES[task].estimator()
    known = inspect.signature(kind).parameters
    unsaid = {"features": "auto", "min_count": 1, "hash_bits": None, "combinations": "auto", "patience": None}
    given = {**common, **of_chains, **of_trees}
    for name, nothing in {**unsaid, **NO_CHAIN_OPTIONS}.items():
        if given[name] == nothing:
            del given[name]  # the parser's own default
        elif name not in known:
            option = {"constraints": "scheme"}.get(name, name).replace("_", "-")
            raise InvalidInput(f"--{option} does not apply to --task {task}.")
    if given.get("labels") == "none":
        given["labels"] = None
    return kind(**given)


def _read(task: str, source: str, layout: Layout, labeler: Any, partial: bool = False) -> Labelled:
    """Read what a task learns from."""
    if task not in TREES:
        return read_labelled(source, layout)
    return TREES[task].read(source, layout, labeler, partial)


def learner_from(name: str, settings: Sequence[str] = ()) -> Any:
    """Return a learner by its name, its parameters set from ``name=value`` texts; a wrong one lists them all.

    Examples
    --------
    >>> learner_from("crf", ["l2=0.5", "solver=lbfgs"])
    CRF(l2=0.5, solver='lbfgs')
    """
    from trelliswork import learners

    known = {parameter.name: parameter.default for parameter in learners.parameters_of(name)}
    params = {}
    try:
        for setting in settings:
            parameter, equals, value = setting.partition("=")
            if not equals:
                raise InvalidInput(f"--set {setting}: expected NAME=VALUE.")
            if parameter not in known:
                raise InvalidInput(f"--set {setting}: the learner {name} has no parameter {parameter!r}.")
            params[parameter] = parameter_value(value)
        return learners.by_name(name, **params)  # checked now, not after the corpus has been read
    except InvalidInput as error:
        listed = ", ".join(f"{parameter}={_value_text(default)}" for parameter, default in known.items())
        raise InvalidInput(f"{str(error).rstrip('.')}. Its parameters are {listed}.") from error


def templates_from(features: str, ready: Sequence[str] = PRESETS) -> Any:
    """Return templates by the name of a ready set or from a file; ``"auto"`` is left for the data to decide."""
    from trelliswork.features.templates import Templates

    if features == "auto":
        return features
    if features in ready:
        return getattr(Templates, features)()
    if not os.path.exists(features):
        raise InvalidInput(
            f"--features {features}: this is neither a file nor one of the ready-made sets {', '.join(ready)}."
        )
    return Templates.load(features)


def parameter_value(text: str) -> Any:
    """Return a parameter's value from its text: a number, true, false, none or inf; anything else is a string.

    Examples
    --------
    >>> [parameter_value(text) for text in ("0.1", "true", "lbfgs")]
    [0.1, True, 'lbfgs']
    """
    named = {"true": True, "false": False, "none": None, "inf": math.inf}
    if text.lower() in named:
        return named[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, int | float | str) else text


def _learner_in(args: Sequence[str]) -> str:
    """The value of ``--learner`` among arguments that are not parsed yet."""
    for i, argument in enumerate(args):
        option, _, value = argument.partition("=")
        if option == "--learner" and (value or args[i + 1 : i + 2]):
            return value or args[i + 1]
    return DEFAULT_LEARNER


def _as_option(parameter: Parameter) -> tuple[str, str]:
    """A parameter as `--help` shows it, with its default behind what it does."""
    head = f"{parameter.name}: {parameter.type}" if parameter.type else parameter.name
    return head, f"{parameter.description}  [{_value_text(parameter.default)}]".lstrip()


def _value_text(value: Any) -> str:
    """The text of a parameter's value, as `parameter_value` reads it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _check_paths(model: str, checkpoint: str | None, resume: bool) -> None:
    """Refuse what would fail only after hours of training."""
    if resume and checkpoint is None:
        raise InvalidInput("--resume needs --checkpoint, the file to continue from.")
    for option, path in (("-o", model), ("--checkpoint", checkpoint)):
        if path is None:
            continue
        folder = os.path.dirname(os.path.abspath(path))
        if path == "-" or os.path.isdir(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            raise InvalidInput(f"{option} {path}: this must be a file in a writable folder.")


def _fit_and_save(
    labeler: Any,
    corpus: Labelled,
    dev: Labelled | None,
    save: Callable[[], None],
    keeper: Checkpoint,
    resumed: dict[str, Any] | None,
    progress: TrainingProgress,
) -> bool:
    """Learn and write the model, whatever Ctrl-C says meanwhile; return whether it said something."""
    with interruptible() as interrupt:

        def callback(iteration: Any) -> bool:
            interrupt.kept, interrupt.learning = True, False
            progress.update(iteration)
            stop = interrupt.asked
            keeper.offer(iteration.state, at_once=stop)
            interrupt.learning = not stop
            return stop

        with progress.showing():
            _fit(labeler, corpus, dev, callback, resumed)
        interrupt.kept, interrupt.learning = True, False  # also if there was no iteration to do
        save()
        if labeler.converged_:
            keeper.remove()
    return interrupt.asked


def _fit(
    labeler: Any, corpus: Labelled, dev: Labelled | None, callback: Callable[[Any], bool], resume: dict[str, Any] | None
) -> None:
    """Fit; what is wrong with a sequence is said with its file and line."""
    X_dev, y_dev = (None, None) if dev is None else (dev.X, dev.y)
    try:
        labeler.fit(corpus.X, corpus.y, X_dev, y_dev, callback=callback, resume=resume)
    except InvalidInput as error:
        placed = corpus.placed(error) if dev is None else dev.placed(corpus.placed(error), "_dev")
        if "constraints forbid" not in str(placed):
            raise placed from error
        advice = "`trelliswork convert --to-scheme SCHEME --lenient` repairs labels; without --scheme, all are allowed."
        raise InvalidInput(f"{placed} {advice}") from error


MORE_OPTIONS = (
    "order",
    "histories",
    "tag_dictionary",
    "beam",
    "label_parts",
    "longest",
    "projective",
    "single_root",
    "labels",
    "heads",
)


def _run_of(labeler: Any, source: str, dev: str | None) -> dict[str, Any]:
    """What a resumed run must have in common with the one before, ready for JSON."""
    from trelliswork.models.json_values import parameters_as_json

    learner = labeler.learner
    # How far to go may change; how many threads go there does not matter.
    free = ("tol", "max_iter" if hasattr(learner, "max_iter") else "epochs")
    parameters = {name: value for name, value in learner.get_params().items() if name not in free}
    options = ("min_count", "hash_bits", "combinations", "constraints", "patience", "random_state")
    more = {name: getattr(labeler, name, None) for name in MORE_OPTIONS}
    features = labeler.features
    return {
        "learner": type(learner).__name__,
        "parameters": parameters_as_json(parameters),
        **{name: getattr(labeler, name, None) for name in options},
        **{name: value for name, value in more.items() if value is not None},
        "features": features if isinstance(features, str) else json.loads(json.dumps(features.to_dict())),
        "training data": fingerprint(source),
        "development data": None if dev is None else fingerprint(dev),
    }


def _resumed(keeper: Checkpoint, path: str | None, quiet: bool) -> dict[str, Any] | None:
    state = keeper.load()
    if state is None and not quiet:
        say(f"there is no checkpoint {path} yet: training starts from the beginning")
    return state


def n_tokens(X: Any) -> int:
    """Return how many tokens there are."""
    found = getattr(X, "n_tokens", getattr(X, "n_words", None))
    return found if isinstance(found, int) else sum(map(len, X))


def _facts(labeler: Any, model: str, X: Any, seconds: float, interrupted: bool) -> dict[str, Any]:
    best: dict[str, Any] = next(
        (entry for entry in labeler.history_ if entry["iteration"] == labeler.best_iteration_), {}
    )
    return {
        "model": model,
        "bytes": os.path.getsize(model),
        "learner": repr(labeler.learner),
        "sequences": len(X),
        "tokens": n_tokens(X),
        "labels": len(labeler.classes_),
        "iterations": labeler.n_iter_,
        "best_iteration": labeler.best_iteration_,
        "converged": bool(labeler.converged_),
        "interrupted": interrupted,
        "message": labeler.message_,
        "objective": best.get("objective"),
        "dev_score": best.get("dev_score"),
        "seconds": seconds,
    }


def _told(facts: dict[str, Any]) -> str:
    """The facts in a few lines."""
    lines = [
        f"trained {facts['learner']} on {facts['sequences']:,} sequences ({facts['tokens']:,} tokens), "
        f"{facts['labels']} labels, in {facts['seconds']:.1f} s",
        facts["message"],
    ]
    if facts["dev_score"] is not None:
        lines.append(f"best dev score {100 * facts['dev_score']:.2f}, at iteration {facts['best_iteration']}")
    return "\n".join([*lines, f"{facts['model']}: {facts['bytes'] / 2**20:.2f} MiB"])
