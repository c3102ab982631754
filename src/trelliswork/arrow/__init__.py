"""Tables in, tables out: labels, spans, probabilities and trees for columns of text or tokens, by Arrow's C interface.

Whatever has ``__arrow_c_stream__`` or ``__arrow_c_array__`` is taken (pyarrow, pandas, polars, DuckDB, ...), and what
comes back has them, too. No package is needed for it; text goes into the core without a Python object for each token.
"""

from trelliswork.lazy import attach

_HOMES = {
    "arrow.batches": ("BatchReader", "RecordBatch", "Table"),
    "arrow.learning": ("examples",),
    "arrow.parsing": ("parse", "parse_batches"),
    "arrow.tagging": ("tag", "tag_batches"),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
