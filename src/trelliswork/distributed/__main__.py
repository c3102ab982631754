"""``torchrun ... -m trelliswork.distributed SHARD... -o MODEL``: train on files that several processes share out."""

from __future__ import annotations

import sys
from typing import Any

import click

from trelliswork.cli import messages
from trelliswork.cli.checkpoint import Checkpoint
from trelliswork.cli.reading import Layout, layout_options, read_labelled
from trelliswork.cli.streams import say
from trelliswork.cli.train import CHECKPOINT_SECONDS, learner_from, templates_from
from trelliswork.distributed.fitting import fit
from trelliswork.distributed.groups import connect
from trelliswork.errors import InvalidInput, LostProcess, TrellisworkError
from trelliswork.estimators.sequence_labeler import SequenceLabeler
from trelliswork.labels.schemes import SCHEME_NAMES

__all__ = ["command", "main", "train"]


@click.command("python -m trelliswork.distributed")
@click.argument("sources", metavar="SHARD...", nargs=-1, required=True)
@click.option("-o", "--output", "model", metavar="MODEL", required=True, help="The model file to write.")
@click.option("--dev", metavar="FILE", help="Score this file after each iteration, and keep the best model.")
@click.option("--features", metavar="NAME|FILE", default="auto", help="A ready-made set, or a template file.  [auto]")
@click.option("--learner", metavar="NAME", default="crf", help="crf, perceptron or pa.  [crf]")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="A parameter of the learner.")
@click.option("--scheme", type=click.Choice(SCHEME_NAMES, case_sensitive=False), help="Keep to this label scheme.")
@click.option("--min-count", type=click.IntRange(min=1), default=1, show_default=True, help="Drop rarer attributes.")
@click.option("--hash-bits", type=click.IntRange(1, 30), metavar="N", help="Hash attributes into 2^N places.")
@click.option(
    "--patience", type=click.IntRange(min=1), metavar="N", help="Stop after N iterations without a better score."
)
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of each process.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The random seed.")
@click.option("--checkpoint", metavar="FILE", help="Save the state of training to this file while it runs.")
@click.option("--checkpoint-seconds", default=CHECKPOINT_SECONDS, show_default=True, help="How often, at most.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if there is one.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds after which a silent process is lost.")
@click.option("-v", "--verbose", is_flag=True, help="Write a line for each iteration.")
@layout_options(labels=True)
def command(**how: Any) -> None:
    """Train on the labelled files SHARD... with the processes that torchrun starts, and write MODEL.

    The model depends on the files and their order, not on the number of processes.
    """
    train(**how)


def train(
    sources: tuple[str, ...],
    model: str,
    layout: Layout | None = None,
    dev: str | None = None,
    features: str = "auto",
    learner: str = "crf",
    settings: tuple[str, ...] = (),
    scheme: str | None = None,
    checkpoint: str | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    resume: bool = False,
    timeout: float = 300.0,
    jobs: int = 1,
    seed: int = 0,
    verbose: bool = False,
    **options: Any,
) -> None:
    """Train as the command does; ``options`` are those of `SequenceLabeler`."""
    if resume and checkpoint is None:
        raise InvalidInput("--resume needs --checkpoint, the file to continue from.")
    known = layout or Layout()
    labeler = SequenceLabeler(
        learner_from(learner, settings),
        templates_from(features),
        constraints=scheme,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(verbose),
        **options,
    )
    keeper = Checkpoint(checkpoint, {"shards": len(sources)}, checkpoint_seconds)

    def read(i: int) -> tuple[Any, Any]:
        found = read_labelled(sources[i], known)
        return found.X, found.y

    with connect(timeout) as group:
        leads = group.rank == 0
        held_out = read_labelled(dev, known) if dev is not None and leads else None
        fit(
            labeler,
            read,
            len(sources),
            None if held_out is None else held_out.X,
            None if held_out is None else held_out.y,
            group=group,
            callback=lambda iteration: keeper.offer(iteration.state),
            resume=keeper.load() if resume and leads else None,
        )
    if leads:
        labeler.save(model)
        if labeler.converged_:
            keeper.remove()
        say(f"{model}: {labeler.message_}")


def main() -> int:
    """Run the command; every error is one line, and which process said it."""
    try:
        command.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        say(f"error: {error.format_message()}")
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except TrellisworkError as error:
        say(f"error: {error}")
        return 1 if isinstance(error, LostProcess) else 2
    except OSError as error:
        say(f"error: {messages.of_file(error)}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
