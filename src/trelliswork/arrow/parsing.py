"""Columns of tokens in; the heads and relations of a dependency parser out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trelliswork.arrow.answering import answered, answered_batches
from trelliswork.arrow.answers import PARSING
from trelliswork.arrow.batches import BatchReader, Table
from trelliswork.corpora.text import Tokenizer

__all__ = ["parse", "parse_batches"]


def parse(
    model: Any,
    table: Any,
    column: str | Sequence[str] | None = None,
    *,
    output: str | Sequence[str] | Mapping[str, str] | None = None,
    tokenizer: Tokenizer = None,
    keep: Sequence[str] | None = None,
    n_jobs: int | None = None,
    batch_size: int = 8192,
) -> Table:
    """Return a table with the dependency tree of each row added to it.

    Parameters
    ----------
    model : DependencyParser
    table, tokenizer, keep, n_jobs, batch_size
        As for `tag`.
    column : str or sequence of str, optional
        The columns with the lists of forms, tags and whatever else the parser was trained on, in the order of the
        training data. Text will do for a parser that looks at forms alone.
    output : str, sequence of str, or mapping, optional
        What to add, of the following; a mapping says what to call it. By default the tree; where text is cut into
        tokens, these as well.

        ``"tokens"``
            list<string>: what the text was cut into.
        ``"heads"``
            list<int32>: the head of each token; 0 is the root, ``i`` the token ``i``, from 1.
        ``"relations"``
            list<string>: the relation of each token to its head.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> X, y = [[("dogs", "N"), ("bark", "V")]], [([2, 0], ["nsubj", "root"])]
    >>> parser = tw.DependencyParser(hash_bits=16).fit(X, y)
    >>> table = pa.table({"words": [["cats", "sleep"], None], "tags": [["N", "V"], None]})
    >>> parsed = pa.table(tw.arrow.parse(parser, table, ["words", "tags"]))
    >>> parsed["heads"].to_pylist(), parsed["relations"].to_pylist()
    ([[2, 0], None], [['nsubj', 'root'], None])
    """
    return answered(PARSING, model, table, column, output, tokenizer, keep, n_jobs, batch_size)


def parse_batches(
    model: Any,
    batches: Any,
    column: str | Sequence[str] | None = None,
    *,
    output: str | Sequence[str] | Mapping[str, str] | None = None,
    tokenizer: Tokenizer = None,
    keep: Sequence[str] | None = None,
    n_jobs: int | None = None,
    batch_size: int = 8192,
) -> BatchReader:
    """Return the same as `parse`, batch after batch: each is made when it is asked for, and none is kept.

    Parameters
    ----------
    model, column, output, tokenizer, keep, n_jobs, batch_size
        As for `parse`.
    batches : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or an iterable of such

    Examples
    --------
    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> parser = tw.DependencyParser(hash_bits=16, labels=None).fit([["dogs", "bark"]], [[2, 0]])
    >>> text = pa.table({"text": ["dogs bark"]})
    >>> [pa.record_batch(batch)["heads"].to_pylist() for batch in tw.arrow.parse_batches(parser, text)]
    [[[2, 0]]]
    """
    return answered_batches(PARSING, model, batches, column, output, tokenizer, keep, n_jobs, batch_size)
