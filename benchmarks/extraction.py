"""From rows of text to attributes: tokens and spans per second on CoNLL-2000's training part, one thread.

Templates about tokens are the ready sets; templates about spans are those of the ready set for segments, for all spans
of at most ten tokens. What is timed is extraction alone: the file is read before, and nothing is numbered or learned.
"""

from __future__ import annotations

import chunking
import trelliswork as tw
from timing import best_seconds, print_load, print_table
from trelliswork import _core

LONGEST = 10
BLOCK = 500  # sequences at a time, as training reads them


def main() -> None:
    """Print how many sites have their attributes made in a second, and how many attributes."""
    if chunking.corpus_or_skip("extraction") is None:
        return
    print_load()
    columns = _core.parse_columns(chunking.raw_file("train").read_bytes())
    rows = []
    for name in ("words", "chunking", "ner"):
        templates = tw.Templates.preset(name)
        tokens = _core.ColumnSource(columns, templates.extractor())
        rows.append([f"tokens, {name}", len(templates), *rates(tokens, columns.n_rows)])
    lengths = columns.lengths()
    n_spans = sum(int((lengths - size).clip(0).sum()) for size in range(LONGEST))
    for name in ("segments", "segment_words"):
        extractor = tw.Templates.preset(name).span_extractor()
        spans = _core.SpanSource(columns, extractor, LONGEST)
        rows.append([f"spans, {name}", extractor.n_templates, *rates(spans, n_spans)])
    head = ["sites, set", "templates", "sites", "million sites/s", "million attributes/s"]
    print_table("Extraction, one thread", head, rows)


def rates(source: _core.Source, n_sites: int) -> list[object]:
    """Return how many sites there are, and millions of them and of their attributes per second."""
    made = 0
    for first in range(0, source.n_sequences, BLOCK):
        made += extracted(source, first)

    def everything() -> None:
        for first in range(0, source.n_sequences, BLOCK):
            extracted(source, first)

    seconds = best_seconds(everything, budget=2.0, most=20)
    return [n_sites, n_sites / seconds / 1e6, made / seconds / 1e6]


def extracted(source: _core.Source, first: int) -> int:
    """Make the attributes of a block of sequences, and count them."""
    return sum(len(keys) for _, keys, _ in source.attributes(first, min(first + BLOCK, source.n_sequences)))


if __name__ == "__main__":
    main()
