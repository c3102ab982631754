"""Columns of text or of tokens in; labels, their probabilities and spans out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trelliswork.arrow.answering import answered, answered_batches
from trelliswork.arrow.answers import TAGGING
from trelliswork.arrow.batches import BatchReader, Table
from trelliswork.corpora.text import Tokenizer

__all__ = ["tag", "tag_batches"]


def tag(
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
    """Return a table with the answers of a model to one of its columns added to it.

    Parameters
    ----------
    model : SequenceLabeler, SegmentLabeler, HMM or Committee
        Trained on words, or on tokens of several columns.
    table : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``
        A table, record batch, data frame, relation or single column of pyarrow, pandas, polars, DuckDB or any other
        library that has Arrow's C interface.
    column : str or sequence of str, optional
        The column of text or of lists of tokens; where a token has several columns (word and tag), those that hold them
        as lists. Nothing is needed if there is only one.
    output : str, sequence of str, or mapping, optional
        What to add, of the following; a mapping says what to call it, as in ``{"labels": "ner"}``. By default labels;
        where text is cut into tokens, these as well.

        ``"tokens"``
            list<string>: what the text was cut into.
        ``"labels"``
            list<string>: the label of each token.
        ``"probabilities"``
            list<double>: for each token the probability of its label.
        ``"spans"``
            list<struct<start, stop, type, text, probability>>: what the labels spell, as `predict_spans` gives it. Of
            text, start and stop are characters, and its words are there as ``text``; of lists they are tokens.
    tokenizer : {"words", "whitespace"}, callable or None
        How text is cut, as for `corpora.token_offsets`; ``"words"`` by default. A callable is called for each row.
    keep : sequence of str, optional
        Which columns of the table come back before the answers, without being copied; all by default.
    n_jobs : int, optional
        Threads; by default as the model says.
    batch_size : int, default 8192
        The most rows in a batch. It has fewer where they are long: 16 MiB of text are tagged at a time.

    Returns
    -------
    Table
        To be taken by ``pyarrow.table``, ``polars.DataFrame``, ``duckdb.sql``, ``pandas.DataFrame.from_arrow``.
        Where a row is null, so are its answers.

    Raises
    ------
    InvalidInput
        If the column is not there or of another type, has text that is not UTF-8, or a null inside of a list; if the
        model reads something other than words.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> X, y = [["Ann", "Lee", "sings"], ["Bo", "hums"]], [["B-PER", "I-PER", "O"], ["B-PER", "O"]]
    >>> tagger = tw.SequenceLabeler(tw.CRF(l2=0.01), constraints="BIO").fit(X, y)
    >>> notes = pa.table({"id": [7, 8], "note": ["Ann Lee hums.", None]})
    >>> tagged = pa.table(tw.arrow.tag(tagger, notes, "note", output="spans"))
    >>> tagged["spans"][0].as_py()[0]["text"], tagged["spans"][1].as_py()
    ('Ann Lee', None)
    >>> pa.table(tw.arrow.tag(tagger, notes, "note", keep=["id"])).column_names
    ['id', 'tokens', 'labels']
    """
    return answered(TAGGING, model, table, column, output, tokenizer, keep, n_jobs, batch_size)


def tag_batches(
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
    """Return the same as `tag`, batch after batch: each is made when it is asked for, and none is kept.

    Parameters
    ----------
    model, column, output, tokenizer, keep, n_jobs, batch_size
        As for `tag`.
    batches : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or an iterable of such
        A table, a reader of record batches, or the iterator that Spark's ``mapInArrow`` hands over.

    Returns
    -------
    BatchReader
        An iterator of record batches; ``pyarrow.RecordBatchReader.from_stream`` and DuckDB take it as a whole.

    Examples
    --------
    In Spark, with a model that every worker has loaded once:

    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> tagger = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
    >>> def tagged(batches):  # frame.mapInArrow(tagged, schema)
    ...     for batch in tw.arrow.tag_batches(tagger, batches, "words"):
    ...         yield pa.record_batch(batch)
    >>> list(tagged(iter([pa.record_batch({"words": [["the", "dog"]]})])))[0]["labels"].to_pylist()
    [['D', 'N']]
    """
    return answered_batches(TAGGING, model, batches, column, output, tokenizer, keep, n_jobs, batch_size)
