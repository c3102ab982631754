"""``trelliswork serve``: a model behind HTTP, with a page to look at its answers."""

from __future__ import annotations

import click

from trelliswork.cli.streams import say
from trelliswork.errors import InvalidInput

__all__ = ["command"]


@click.command(
    "serve",
    short_help="Serve a model over HTTP, with a web page for trying it out.",
    epilog="Example: trelliswork serve recipes.tw --port 8000",
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on; the default is this machine only."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0 takes any free one."
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="The number of processes.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Threads of each process, for long requests.",
)
@click.option(
    "--max-bytes", type=click.IntRange(min=1), default=1 << 20, show_default=True, help="Maximum bytes of a request."
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=20_000, show_default=True, help="Maximum tokens of a request."
)
@click.option(
    "--max-sentences",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    help="Maximum sentences of a batch.",
)
@click.option(
    "--max-k", type=click.IntRange(min=1), default=100, show_default=True, help="Maximum number of best answers."
)
@click.option(
    "--timeout", type=click.FloatRange(min=0.01), default=10.0, show_default=True, help="Maximum seconds for a request."
)
@click.option(
    "--max-connections", type=click.IntRange(min=1), default=1_000, show_default=True, help="Maximum open connections."
)
def command(
    model: str,
    host: str,
    port: int,
    workers: int,
    threads: int,
    max_bytes: int,
    max_tokens: int,
    max_sentences: int,
    max_k: int,
    timeout: float,
    max_connections: int,
) -> None:
    """Serve MODEL over HTTP until interrupted, with a web page that shows its answers.

    POST /tag, /batch, /kbest, /marginals and /explain take JSON: {"text": "2 ripe tomatoes"}. GET / is the page,
    /docs describes the requests, /health and /metrics are for monitoring.
    """
    try:
        from trelliswork.serving import Limits, serve
    except ImportError as error:
        raise InvalidInput(f"{error.name} is not installed: pip install 'trelliswork[serve]'.") from None
    limits = Limits(
        body=max_bytes,
        tokens=max_tokens,
        sentences=max_sentences,
        k=max_k,
        seconds=timeout,
        connections=max_connections,
        threads=threads,
    )
    if port:
        say(f"serving {model} on http://{f'[{host}]' if ':' in host else host}:{port} (Ctrl-C to stop)")
    serve(model, host=host, port=port, workers=workers, limits=limits, log_level="warning" if port else "info")
