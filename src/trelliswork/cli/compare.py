"""``trelliswork compare``: whether two taggers differ by more than chance, on the same tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from trelliswork.cli.eval import read_tagged
from trelliswork.cli.models import loaded_model, no_mmap_option, opened_model
from trelliswork.cli.reading import Layout, layout_options, read_labelled
from trelliswork.cli.trees import TASKS as TREES
from trelliswork.cli.trees import task_of
from trelliswork.errors import InvalidInput

if TYPE_CHECKING:
    from trelliswork.evaluation import McNemar, PairedBootstrap

__all__ = ["command", "compare"]


@click.command(
    "compare",
    short_help="Test whether two taggers differ by more than chance.",
    epilog="Example: trelliswork compare pa.tagged crf.tagged, or trelliswork compare pa.tw crf.tw --test test.txt",
)
@click.argument("first")
@click.argument("second")
@click.option(
    "--test",
    metavar="FILE",
    help="A labelled file on which to compare FIRST and SECOND, two models; or the gold trees, if they are files of "
    "trees.",
)
@click.option(
    "--measure",
    type=click.Choice(["auto", "f1", "token_f1", "accuracy"]),
    default="auto",
    show_default=True,
    help="What the bootstrap compares; auto is F1 of spans if the labels encode spans.",
)
@click.option(
    "--samples", type=click.IntRange(min=1), default=10_000, show_default=True, help="Samples of the bootstrap."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The seed of the bootstrap.")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads.  [all processors]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@no_mmap_option
@layout_options(labels=True)
def command(
    first: str,
    second: str,
    test: str | None,
    layout: Layout,
    measure: str,
    samples: int,
    seed: int,
    jobs: int | None,
    as_json: bool,
    mmap: bool,
) -> None:
    """Compare FIRST with SECOND: McNemar's test over tokens, and a paired bootstrap over sentences.

    Both are files that are already tagged: the last two columns are gold and predicted labels, as written by tagging
    a labelled file. With --test they are models. Parsers are compared by their trees: heads and relations word by
    word, or the brackets of each sentence.
    """
    if test is None:
        if not mmap:
            raise click.UsageError("--no-mmap is for models: name a --test file on which to compare two of them.")
        if first == second == "-":
            raise click.UsageError("Only one of the two files can be the standard input.")
        gold, one = _columns_of(first, layout)
        again, two = _columns_of(second, layout)
        _require_same(gold, again, first, second)
    else:
        found = _of_trees(first, second, test, layout, jobs, mmap, samples, seed)
        if found is not None:
            if measure != "auto":
                raise click.UsageError("--measure is for labels, and these are trees.")
            click.echo(json.dumps(found[1]) if as_json else found[0])
            return
        corpus = read_labelled(test, layout)
        one, two = (loaded_model(model, jobs, mmap).predict(corpus.X) for model in (first, second))
        gold = corpus.y
    tokens, sentences = compare(gold, one, two, measure=measure, samples=samples, seed=seed)
    if as_json:
        click.echo(json.dumps({"mcnemar": tokens.as_dict(), "bootstrap": sentences.as_dict()}))
    else:
        click.echo(f"McNemar's test, {tokens.n_tokens} tokens\n{tokens}\n\npaired bootstrap\n{sentences}")


def compare(
    gold: Any, first: Any, second: Any, measure: str = "auto", samples: int = 10_000, seed: int = 0
) -> tuple[McNemar, PairedBootstrap]:
    """Return McNemar's test over tokens and the paired bootstrap over sentences.

    Parameters
    ----------
    gold, first, second : lists of label lists
    measure, samples, seed
        As for `trelliswork.evaluation.paired_bootstrap`.

    Examples
    --------
    >>> tokens, _ = compare([["B-NP", "O"]], [["B-NP", "B-NP"]], [["B-NP", "O"]], samples=10)
    >>> tokens.only_second
    1
    """
    from trelliswork.evaluation import mcnemar, paired_bootstrap

    return mcnemar(gold, first, second), paired_bootstrap(
        gold, first, second, measure, n_samples=samples, random_state=seed
    )


def _of_trees(
    first: str, second: str, test: str, layout: Layout, jobs: int | None, mmap: bool, samples: int, seed: int
) -> tuple[str, dict[str, Any]] | None:
    """Compare two parsers, or two parsed files, as text and for JSON; None if they are neither."""
    task = next((task for task in TREES.values() if task.is_file(first)), None)
    if task is not None:
        return task.compared(test, task.read(first, layout).y, task.read(second, layout).y, layout, samples, seed)
    models = [opened_model(name, jobs, mmap) for name in (first, second)]
    tasks = [task_of(settings) for _, settings in models]
    if tasks[0] is None and tasks[1] is None:
        return None
    if tasks[0] is None or tasks[0] is not tasks[1]:
        raise InvalidInput(f"{first} and {second} are models of different kinds: there is nothing to compare.")
    one, two = (tasks[0].parsed(parser, test, layout) for parser, _ in models)
    return tasks[0].compared(test, one, two, layout, samples, seed)


def _columns_of(source: str, layout: Layout) -> tuple[list[list[str]], list[list[str]]]:
    """The gold labels and the guesses of a tagged file."""
    pairs = list(read_tagged(source, layout))
    return [gold for gold, _ in pairs], [guess for _, guess in pairs]


def _require_same(one: list[list[str]], other: list[list[str]], first: str, second: str) -> None:
    if len(one) != len(other):
        raise InvalidInput(
            f"{first} has {len(one)} sentences but {second} has {len(other)}: they are not the same text."
        )
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        if a != b:
            raise InvalidInput(
                f"the gold labels of sentence {i + 1} are not the same in {first} and {second}. Both must be the same "
                "file, tagged by two taggers; --label-column says where the gold labels are."
            )
