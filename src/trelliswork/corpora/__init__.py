"""Labelled text: a corpus that the library ships, readers and writers of the usual files, and label schemes.

Readers are generators that hold one sentence at a time. They take a path, an open file or ``"-"``, decompress gzip,
and name the file and the line of whatever is wrong. Importing this package reads no file and needs no NumPy.

========================  ================================================================================
CoNLL columns             `read_columns`, `write_columns`
the same, in the core     `read_table`, all at once; `read_table_blocks`; `read_blocks`
CoNLL-U                   `read_conllu`, `write_conllu`
JSON lines, JSON lists    `read_jsonl`, `write_jsonl`
CSV of spreadsheets       `read_csv`, `write_csv`
plain text                `read_text`, `token_offsets`
spans of characters       `align_spans`, `spans_from_labels`
label schemes             `spans`, `labels_from_spans`, `convert_labels`, `validate_labels`, `suggest_scheme`
the shipped corpus        `ingredients`
========================  ================================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trelliswork.corpora.ingredients import Corpus, ingredients  # not lazy: a module has the same name

if TYPE_CHECKING:
    from trelliswork.corpora.columns import Sentence, read_columns, write_columns
    from trelliswork.corpora.conllu import ConlluSentence, EmptyNode, FusedToken, Word, read_conllu, write_conllu
    from trelliswork.corpora.jsonlines import Example, read_jsonl, write_jsonl
    from trelliswork.corpora.spreadsheets import read_csv, write_csv
    from trelliswork.corpora.tables import LabelTable, TokenTable, read_blocks, read_table, read_table_blocks
    from trelliswork.corpora.text import (
        Alignment,
        Misaligned,
        TextLine,
        align_spans,
        find_offsets,
        read_text,
        spans_from_labels,
        token_offsets,
    )
    from trelliswork.labels.spans import (
        LabelProblem,
        Span,
        convert_labels,
        labels_from_spans,
        spans,
        suggest_scheme,
        validate_labels,
    )

# Public name -> module that defines it; loaded when first used.
_HOME = {
    "Alignment": "corpora.text",
    "ConlluSentence": "corpora.conllu",
    "EmptyNode": "corpora.conllu",
    "Example": "corpora.jsonlines",
    "FusedToken": "corpora.conllu",
    "LabelProblem": "labels.spans",
    "LabelTable": "corpora.tables",
    "Misaligned": "corpora.text",
    "Sentence": "corpora.columns",
    "Span": "labels.spans",
    "TextLine": "corpora.text",
    "TokenTable": "corpora.tables",
    "Word": "corpora.conllu",
    "align_spans": "corpora.text",
    "convert_labels": "labels.spans",
    "find_offsets": "corpora.text",
    "labels_from_spans": "labels.spans",
    "read_blocks": "corpora.tables",
    "read_columns": "corpora.columns",
    "read_conllu": "corpora.conllu",
    "read_csv": "corpora.spreadsheets",
    "read_jsonl": "corpora.jsonlines",
    "read_table": "corpora.tables",
    "read_table_blocks": "corpora.tables",
    "read_text": "corpora.text",
    "spans": "labels.spans",
    "spans_from_labels": "corpora.text",
    "suggest_scheme": "labels.spans",
    "token_offsets": "corpora.text",
    "validate_labels": "labels.spans",
    "write_columns": "corpora.columns",
    "write_conllu": "corpora.conllu",
    "write_csv": "corpora.spreadsheets",
    "write_jsonl": "corpora.jsonlines",
}

__all__ = [
    "Alignment",
    "ConlluSentence",
    "Corpus",
    "EmptyNode",
    "Example",
    "FusedToken",
    "LabelProblem",
    "LabelTable",
    "Misaligned",
    "Sentence",
    "Span",
    "TextLine",
    "TokenTable",
    "Word",
    "align_spans",
    "convert_labels",
    "find_offsets",
    "ingredients",
    "labels_from_spans",
    "read_blocks",
    "read_columns",
    "read_conllu",
    "read_csv",
    "read_jsonl",
    "read_table",
    "read_table_blocks",
    "read_text",
    "spans",
    "spans_from_labels",
    "suggest_scheme",
    "token_offsets",
    "validate_labels",
    "write_columns",
    "write_conllu",
    "write_csv",
    "write_jsonl",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trelliswork.corpora' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"trelliswork.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
