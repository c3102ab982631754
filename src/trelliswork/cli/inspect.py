"""``trelliswork inspect``: what is in a model, and why it labels a token as it does."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import click

from trelliswork.cli.models import no_mmap_option, opened_model, require_labeler
from trelliswork.cli.reading import Layout, layout_options, read_sentences
from trelliswork.cli.trees import TreeTask, task_of
from trelliswork.errors import InvalidInput

__all__ = ["command", "described", "explained", "write_report"]


@click.command(
    "inspect",
    short_help="Show the labels, transitions and weights of a model, or explain a token.",
    epilog="Example: trelliswork inspect recipes.tw --sentence '2 ripe tomatoes' --token tomatoes",
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    help="How many transitions, and weights of each label, to show.",
)
@click.option(
    "--label", "labels", metavar="LABEL", multiple=True, help="Show the weights of this label only; repeatable."
)
@click.option("--sentence", metavar="TEXT", help="Explain the labels of this sentence instead of showing the model.")
@click.option("--explain", metavar="FILE", help='Explain the sentences of this file ("-": standard input).')
@click.option("--token", metavar="WORD|N", help="Explain this token only: a word, or its position from 0.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--html", metavar="FILE", help="Write a report about the model to this HTML file.")
@click.option("--gold", metavar="FILE", help="For the report: a labelled file on which to measure calibration.")
@no_mmap_option
@layout_options(labels=False)
def command(
    model: str,
    top: int,
    labels: tuple[str, ...],
    sentence: str | None,
    explain: str | None,
    token: str | None,
    as_json: bool,
    html: str | None,
    gold: str | None,
    mmap: bool,
    layout: Layout,
) -> None:
    """Show what MODEL has learned, or why it labels a sentence as it does.

    In --sentence, separate tokens by spaces and, if the model was trained on several columns, the columns by slashes.
    """
    if html is not None:
        if as_json or sentence is not None or explain is not None or token is not None:
            raise click.UsageError(
                "--html writes a report about the model: leave out --json, --sentence, --explain and --token."
            )
        write_report(model, html, gold, top, labels, mmap, layout)
        return
    if gold is not None:
        raise click.UsageError("--gold is for the report: pass --html FILE, too.")
    if sentence is None and explain is None:
        facts = described(model, top, labels, mmap)
        click.echo(json.dumps(facts, ensure_ascii=False) if as_json else _text_of(facts))
        return
    explanations = explained(model, sentence, explain, layout, token, top, mmap)
    if as_json:
        click.echo(json.dumps([part for part, _ in explanations], ensure_ascii=False))
    else:
        click.echo("\n\n".join(text for _, text in explanations))


def described(model: str, top: int = 8, labels: tuple[str, ...] = (), mmap: bool = True) -> dict[str, Any]:
    """Return the labels, sizes, settings and strongest weights of a model, ready for JSON.

    Parameters
    ----------
    model : str
        The path of a model.
    top : int
        How many transitions, and how many weights of each label.
    labels : tuple of str
        The labels whose weights are wanted; all if empty.
    mmap : bool
        As for `trelliswork.load`.
    """
    from trelliswork import models
    from trelliswork.estimators.loading import restored

    data, name = models.contents(model, mmap)
    tensors, settings = models.loads_any(data, name)
    require_labeler(settings, model)
    estimator = restored(tensors, settings, name)
    known = estimator.exported()[1]["labels"]
    for label in labels:
        if label not in known:
            raise InvalidInput(f"--label {label}: the labels of {model} are {', '.join(known)}.")
    return _facts(model, len(data), estimator, top, labels)


def write_report(
    model: str,
    target: str,
    gold: str | None = None,
    top: int = 8,
    labels: tuple[str, ...] = (),
    mmap: bool = True,
    layout: Layout | None = None,
) -> None:
    """Write a page about a model: labels, transitions, strongest attributes, learning curve, calibration.

    Parameters
    ----------
    model, top, labels, mmap
        As for `described`.
    target : str
        The path of the page.
    gold : str, optional
        A labelled file, on which calibration is measured.
    layout : Layout, optional
        How that file is laid out.
    """
    from trelliswork.atomic_files import replacing
    from trelliswork.cli.report import report

    text = report(opened_model(model, None, mmap)[0], described(model, top, labels, mmap), gold, layout)
    with replacing(target) as file:
        file.write(text.encode())


def _facts(model: str, size: int, estimator: Any, top: int, labels: tuple[str, ...]) -> dict[str, Any]:
    """What is in a model of so many bytes; of several that stand together, what is in each."""
    from trelliswork import models

    tensors, settings = estimator.exported()
    members = models.members_of(tensors, settings)
    if task_of(settings) is not None and settings.get("hash_bits"):
        return {"model": model, "bytes": size, **_parser_facts(tensors, settings, labels)}
    if not members:
        return {"model": model, "bytes": size, **_single_facts(estimator, top, labels)}
    own = {name: value for name, value in settings.items() if name not in ("labels", "members", "base")}
    found = {
        name: _facts(
            f"{model}, {name} model", sum(models.sizes(part).values()), getattr(estimator, f"{name}_"), top, labels
        )
        for name, (part, _) in members.items()
    }
    return {"model": model, "bytes": size, "labels": settings["labels"], "settings": own, "members": found}


def _metadata_of(settings: dict[str, Any]) -> list[str]:
    """What a user said of the model, a line each."""
    return [f"metadata: {name}={value}" for name, value in settings.get("metadata", {}).items()]


def _parser_facts(tensors: dict[str, Any], settings: dict[str, Any], labels: tuple[str, ...]) -> dict[str, Any]:
    """What is in a parser with hashed attributes: they have no names, so weights are counted, not listed."""
    from trelliswork import models

    if labels:
        raise InvalidInput("--label: the attributes of a parser are hashed, so its weights have no names to show.")
    weights = {name: _length(tensor) for name, tensor in tensors.items() if name.endswith("weights")}
    return {
        "labels": settings["labels"],
        "kind": settings["kind"],
        "weights": sum(weights.values()),
        "tensors": models.sizes(tensors),
        "settings": {name: value for name, value in settings.items() if name not in ("labels", "templates")},
        "templates": settings.get("templates"),
    }


def _length(tensor: Any) -> int:
    view = memoryview(tensor)
    return view.nbytes // view.itemsize


def _single_facts(estimator: Any, top: int, labels: tuple[str, ...]) -> dict[str, Any]:
    from trelliswork import models

    tensors, settings = estimator.exported()
    weights = estimator.weights() if hasattr(estimator, "weights") else []  # a hidden Markov model has none
    known = settings["labels"]
    return {
        "labels": known,
        "attributes": getattr(estimator, "n_attributes_", 0),
        "weights": len(weights),
        "zero_weights": sum(weight.weight == 0 for weight in weights),
        "tensors": models.sizes(tensors),
        "settings": {name: value for name, value in settings.items() if name not in ("labels", "templates")},
        "templates": settings.get("templates"),
        "transitions": [[w.previous, w.label, w.weight] for w in weights if w.attribute is None][:top],
        "top": {
            label: [
                [w.attribute if w.previous is None else f"{w.attribute} after {w.previous}", w.weight]
                for w in islice((w for w in weights if w.label == label and w.attribute is not None), top)
            ]
            for label in labels or known
        },
    }


def explained(
    model: str,
    sentence: str | None,
    source: str | None,
    layout: Layout | None = None,
    token: str | None = None,
    top: int = 8,
    mmap: bool = True,
) -> list[tuple[dict[str, Any], str]]:
    """Return why a model labels sentences as it does: for each, an object for JSON and a text.

    Parameters
    ----------
    model : str
        The path of a model.
    sentence : str or None
        A sentence, its tokens parted by spaces and their columns by slashes.
    source : str or None
        In its place, a file of sentences.
    layout : Layout or None
        How the file is laid out.
    token : str or None
        The only token to explain: a word, or a position from 0.
    top : int
        How many contributions to show.
    mmap : bool
        As for `trelliswork.load`.
    """
    from trelliswork.corpora.files import name_of

    labeler, settings = opened_model(model, None, mmap)
    task = task_of(settings)
    if task is not None:
        return _explained_trees(labeler, task, sentence, source, layout or Layout(), token, top)
    if sentence is not None:
        width = labeler.n_columns_
        rows: list[Any] = [word.rsplit("/", width - 1) if width > 1 else [word] for word in sentence.split()]
        sequences = [rows]
    else:
        sequences = [item.tokens for item in read_sentences(source or "-", layout or Layout(), labelled=False)]
    if not any(sequences):
        where = "--sentence" if sentence is not None else name_of(source or "-")
        raise InvalidInput(f"{where}: there is no token to explain. Give a sentence, or a file that has one.")
    found = []
    for sequence in sequences:
        tokens = [row[0] if len(row) == 1 else tuple(row) for row in sequence]
        explanation = labeler.explain(tokens)
        positions = _positions(tokens, token)
        if positions:
            found.append((_as_dict(explanation, positions, top), _as_text(explanation, positions, top)))
    if not found:
        raise InvalidInput(f"--token {token}: no sentence has this token. Give a word of it, or a position from 0.")
    return found


def _explained_trees(
    parser: Any,
    task: TreeTask,
    sentence: str | None,
    source: str | None,
    layout: Layout,
    token: str | None,
    top: int,
) -> list[tuple[dict[str, Any], str]]:
    """Why sentences have their trees: for each, an object for JSON and a text."""
    found = []
    for x in task.sentences(sentence, source or "-", layout):
        words = [row if isinstance(row, str) else row[0] for row in x]
        places = set(_positions(words, token))
        # An arc is about its word, a constituent about all of its own.
        chosen = [
            part
            for part in parser.explain(x)
            if (part.word - 1 in places if hasattr(part, "word") else places & set(range(part.start, part.stop)))
        ]
        if chosen:
            record = [{**part._asdict(), "contributions": part.contributions[:top]} for part in chosen]
            text = "\n".join(_part_text(part, words, top) for part in chosen)
            found.append(({"tokens": words, "parts": record}, text))
    if not found:
        raise InvalidInput(f"--token {token}: no sentence has this token. Give a word of it, or a position from 0.")
    return found


def _part_text(part: Any, words: list[str], top: int) -> str:
    if hasattr(part, "word"):
        head = "the root" if part.head == 0 else words[part.head - 1]
        what = f"{words[part.word - 1]}: {part.relation} of {head}"
    else:
        what = f"{' '.join(words[part.start : part.stop])}: {part.label}"
    lines = [f"{what}, score {part.score:.3f}, probability {part.probability:.3f}"]
    return "\n".join([*lines, *(f"  {value:+8.3f}  {attribute}" for attribute, value in part.contributions[:top])])


def _positions(tokens: list[Any], token: str | None) -> list[int]:
    """Which tokens are asked for; a word before a position, as words may be numbers."""
    if token is None:
        return list(range(len(tokens)))
    same = [i for i, found in enumerate(tokens) if token == (found if isinstance(found, str) else found[0])]
    if not same and token.isdecimal() and int(token) < len(tokens):
        return [int(token)]
    return same


def _as_dict(explanation: Any, positions: list[int], top: int) -> dict[str, Any]:
    tokens = []
    for t in positions:
        label = explanation.labels[t]
        marginals = dict(zip(explanation.classes, explanation.marginals[t].tolist(), strict=True))
        contributions = [
            {"attribute": part.attribute, "previous": part.previous, "value": part.value}
            for part in explanation.contributions(t)[:top]
        ]
        tokens.append(
            {
                "position": t,
                "token": explanation.tokens[t],
                "label": label,
                "probability": marginals[label],
                "marginals": marginals,
                "contributions": contributions,
            }
        )
    return {"labels": explanation.labels, "log_prob": explanation.log_prob, "tokens": tokens}


def _as_text(explanation: Any, positions: list[int], top: int) -> str:
    """The explanation's own text, cut down to the tokens that are asked for."""
    text: str = explanation.text(top)
    if len(positions) == len(explanation):
        return text
    parts: list[list[str]] = []
    for line in text.splitlines():
        if not line.startswith("  "):
            parts.append([])
        parts[-1].append(line)
    return "\n".join("\n".join(parts[t]) for t in positions)


def _text_of(facts: dict[str, Any]) -> str:
    if "members" in facts:
        return "\n\n".join([_text_of_committee(facts), *map(_text_of, facts["members"].values())])
    if "kind" in facts:
        what = f"a {facts['kind'].replace('-', ' ')} with {facts['weights']:,} weights"
        return "\n".join([*_heading(facts, what), "", "features", *_template_lines(facts["templates"])])
    what = f"{facts['attributes']:,} attributes, {facts['weights']:,} weights, {facts['zero_weights']:,} of them zero"
    lines = [
        *_heading(facts, what),
        "",
        "strongest transitions",
        *(f"  {weight:+8.3f}  {before} -> {label}" for before, label, weight in facts["transitions"]),
    ]
    for label, weights in facts["top"].items():
        lines += ["", label, *(f"  {weight:+8.3f}  {attribute}" for attribute, weight in weights)]
    return "\n".join(lines)


def _template_lines(templates: Any) -> list[str]:
    from trelliswork.features.templates import Templates

    return [f"  {line}" for line in Templates.from_dict(templates).text.splitlines()]


def _heading(facts: dict[str, Any], what: str) -> list[str]:
    """Size, labels, learner, options, training: what every model has."""
    settings = facts["settings"]
    learner, training = settings.get("learner", {}), settings.get("training", {})
    parameters = [f"{name}={value}" for name, value in learner.get("parameters", {}).items()]
    options = [f"{name}={value}" for name, value in settings.get("parameters", {}).items() if value is not None]
    return [
        f"{facts['model']}: {facts['bytes'] / 2**20:.2f} MiB, {what}",
        f"labels: {' '.join(facts['labels'])}",
        f"learner: {learner.get('name')} {' '.join(parameters)}",
        f"options: {' '.join(options)}",
        f"trained on {training.get('n_sequences', 0):,} sequences, {training.get('n_tokens', 0):,} tokens; "
        f"{training.get('message')}",
        _probabilities(settings),
        *_metadata_of(settings),
        "bytes: " + ", ".join(f"{name} {size:,}" for name, size in facts["tensors"].items()),
    ]


def _probabilities(settings: dict[str, Any]) -> str:
    """What is to be made of the model's marginals."""
    found = settings.get("calibration")
    if found is not None:
        return (
            f"calibrated on {found['n_sequences']:,} sequences: temperature {found['temperature']:.4g}, log loss "
            f"{found['log_loss_before']:.4g} -> {found['log_loss']:.4g}"
        )
    if settings.get("probabilistic", True):
        return "probabilities: as trained"
    return "probabilities: none, scores have not been calibrated"


def _text_of_committee(facts: dict[str, Any]) -> str:
    settings = facts["settings"]
    options = [f"{name}={value}" for name, value in settings["parameters"].items() if value is not None]
    lines = [
        f"{facts['model']}: {facts['bytes'] / 2**20:.2f} MiB, a committee of {len(facts['members'])} models",
        f"options: {' '.join(options)}",
        *_metadata_of(settings),
    ]
    for fact in settings["reliability"]:
        lines.append(
            f"confidence in {fact['interval']}: {fact['correct'] / max(fact['tokens'], 1):.2%} of {fact['tokens']:,} "
            "labels of the first model were right, on held-out folds"
        )
    return "\n".join(lines)
