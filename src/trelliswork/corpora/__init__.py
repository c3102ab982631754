"""Labelled text: shipped corpora, readers and writers of the usual files, and label schemes.

Readers are generators that hold one sentence at a time. They take a path, an open file or ``"-"``, and decompress gzip.
Errors name the file and the line. Importing this package reads no file and does not need NumPy.

========================  ================================================================================
CoNLL columns             `read_columns`, `write_columns`
the same, in the core     `read_table`, all at once; `open_table`, `read_table_blocks`, `read_blocks`
CoNLL-U                   `read_conllu`, `write_conllu`
the same, in the core     `read_treebank`, all at once; `read_treebank_blocks`
bracketed trees           `read_brackets`, `write_brackets`, `Constituent`
JSON lines, JSON lists    `read_jsonl`, `write_jsonl`
CSV of spreadsheets       `read_csv`, `write_csv`
plain text                `read_text`, `token_offsets`
spans of characters       `align_spans`, `spans_from_labels`
label schemes             `spans`, `labels_from_spans`, `convert_labels`, `validate_labels`, `suggest_scheme`
the shipped corpora       `ingredients`, `sentences`
========================  ================================================================================
"""

from trelliswork.corpora.ingredients import ingredients as ingredients  # not lazy: named as its module
from trelliswork.corpora.sentences import sentences as sentences
from trelliswork.lazy import attach

# Module -> the public names that it defines, loaded when first used.
_HOMES = {
    "corpora.brackets": ("read_brackets", "write_brackets"),
    "corpora.columns": ("Sentence", "read_columns", "write_columns"),
    "corpora.conllu": ("ConlluSentence", "EmptyNode", "FusedToken", "Word", "read_conllu", "write_conllu"),
    "corpora.ingredients": ("Corpus", "ingredients"),
    "corpora.jsonlines": ("Example", "read_jsonl", "write_jsonl"),
    "corpora.sentences": ("sentences",),
    "corpora.spreadsheets": ("read_csv", "write_csv"),
    "corpora.tables": (
        "LabelStream",
        "LabelTable",
        "TokenStream",
        "TokenTable",
        "open_table",
        "read_blocks",
        "read_table",
        "read_table_blocks",
    ),
    "corpora.text": (
        "Alignment",
        "Misaligned",
        "TextLine",
        "align_spans",
        "find_offsets",
        "read_text",
        "spans_from_labels",
        "token_offsets",
    ),
    "corpora.treebanks": ("Treebank", "TreebankSentence", "read_treebank", "read_treebank_blocks"),
    "labels.spans": (
        "LabelProblem",
        "Span",
        "convert_labels",
        "labels_from_spans",
        "spans",
        "suggest_scheme",
        "validate_labels",
    ),
    "structures.constituents": ("Constituent", "TreeSpan"),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
