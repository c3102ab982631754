"""A model and a data frame in, the frame with the model's answers in new columns out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, CharType, DataType, StringType, StructField, StructType, VarcharType

from trelliswork.arrow.parsing import parse_batches
from trelliswork.arrow.tagging import tag_batches
from trelliswork.corpora.text import Tokenizer
from trelliswork.errors import InvalidInput, shown
from trelliswork.spark.shipping import Shipped, in_partition, ship

__all__ = ["parse", "tag"]

Answer = Callable[..., Any]  # tag_batches or parse_batches


def tag(
    model: Any,
    frame: DataFrame,
    column: str | Sequence[str] | None = None,
    *,
    output: str | Sequence[str] | Mapping[str, str] | None = None,
    tokenizer: Tokenizer = None,
    keep: Sequence[str] | None = None,
    n_jobs: int = 1,
) -> DataFrame:
    """Return a data frame with the answers of a model to one of its columns added to it.

    Parameters
    ----------
    model : SequenceLabeler, SegmentLabeler, HMM or Committee
        Trained on words, or on tokens of several columns. It is sent to each machine once.
    frame : pyspark.sql.DataFrame
    column, output, tokenizer, keep
        As for `trelliswork.arrow.tag`: text or ``array<string>`` in; ``array<string>`` (labels, tokens),
        ``array<double>`` (probabilities) and arrays of structs (spans) out.
    n_jobs : int, default 1
        Threads of each task. Spark runs a task for each core, so one is enough unless ``spark.task.cpus`` is more.

    Returns
    -------
    pyspark.sql.DataFrame
        As many rows; where a row is null, so are its answers.

    Raises
    ------
    InvalidInput
        If the column is not there or of another type, or if the model reads something other than words. What is wrong
        with a row is said when Spark comes to it, and names the partition and the row in it.

    Notes
    -----
    Workers import this library, so it has to be installed where they run, and ``PYSPARK_PYTHON`` must name that Python.

    Examples
    --------
    >>> from trelliswork import spark
    >>> tagged = spark.tag(tagger, frame, "line", output=["labels", "spans"])  # doctest: +SKIP
    >>> tagged.write.parquet("tagged")  # doctest: +SKIP
    """
    return _answered(tag_batches, model, frame, column, output, tokenizer, keep, n_jobs)


def parse(
    model: Any,
    frame: DataFrame,
    column: str | Sequence[str] | None = None,
    *,
    output: str | Sequence[str] | Mapping[str, str] | None = None,
    tokenizer: Tokenizer = None,
    keep: Sequence[str] | None = None,
    n_jobs: int = 1,
) -> DataFrame:
    """Return a data frame with the dependency tree of each row added to it.

    Parameters
    ----------
    model : DependencyParser
    frame : pyspark.sql.DataFrame
    column, output, tokenizer, keep
        As for `trelliswork.arrow.parse`: ``array<string>`` in, one column for each that the parser was trained on;
        ``array<int>`` (heads) and ``array<string>`` (relations) out.
    n_jobs : int, default 1
        As for `tag`.

    Returns
    -------
    pyspark.sql.DataFrame

    Examples
    --------
    >>> from trelliswork import spark
    >>> spark.parse(parser, frame, ["form", "upos"]).select("heads", "relations").show()  # doctest: +SKIP
    """
    return _answered(parse_batches, model, frame, column, output, tokenizer, keep, n_jobs)


def _answered(
    answer: Answer, model: Any, frame: DataFrame, column: Any, output: Any, tokenizer: Any, keep: Any, n_jobs: int
) -> DataFrame:
    settings = {"column": column, "output": output, "tokenizer": tokenizer, "keep": keep, "n_jobs": n_jobs}
    _refuse_other_types(frame, column)
    schema = _schema(frame.schema, keep, answer(model, _empty(frame.schema), **settings))
    shipped = ship(model, frame.sparkSession)
    needed = _needed(frame.columns, column, keep)
    names = [frame.columns[i] for i in needed]

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _rows(answer, shipped, (batch.rename_columns(names) for batch in batches), settings)

    # Numbers for names on the way: mapInArrow finds neither a column a.b nor one of two that are called alike.
    numbered = frame.toDF(*_numbers(frame.schema)).select([f"c{i}" for i in needed])
    return numbered.mapInArrow(rows, _numbered(schema)).toDF(*schema.names)


def _rows(
    answer: Answer, shipped: Shipped, batches: Iterator[pa.RecordBatch], settings: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """What a worker does."""
    with in_partition():
        for batch in answer(shipped.model(), batches, **settings):
            yield pa.record_batch(batch).rename_columns(_numbers(batch.column_names))


def _numbered(schema: StructType) -> StructType:
    fields = zip(_numbers(schema), schema, strict=True)
    return StructType([StructField(name, own.dataType, own.nullable, own.metadata) for name, own in fields])


def _numbers(columns: Sized) -> list[str]:
    return [f"c{i}" for i in range(len(columns))]


# ---- the columns, looked at by the driver ---------------------------------------------------------------------------


def _refuse_other_types(frame: DataFrame, column: Any) -> None:
    """Refuse what is not text nor lists of it, in Spark's words; whether the columns are there is checked later."""
    if not hasattr(frame, "mapInArrow"):
        raise InvalidInput(f"frame is {shown(frame)}; expected a data frame of Spark. Others go to trelliswork.arrow.")
    asked = frame.schema.names if column is None else [column] if isinstance(column, str) else list(column)
    for field in frame.schema:
        if field.name in asked and _arrow_type(field.dataType) == pa.null():
            kind = field.dataType.simpleString()
            raise InvalidInput(f"the column {field.name!r} has the type {kind}; expected string or array<string>.")


def _empty(schema: StructType) -> pa.Table:
    """A table without rows and with the columns of a frame, as far as models read them."""
    return pa.schema([(field.name, _arrow_type(field.dataType)) for field in schema]).empty_table()


def _arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, StringType | CharType | VarcharType):
        return pa.string()
    if isinstance(kind, ArrayType) and _arrow_type(kind.elementType) == pa.string():
        return pa.list_(pa.string())
    return pa.null()


def _schema(schema: StructType, keep: Sequence[str] | str | None, answers: Any) -> StructType:
    """The columns that are kept as the frame has them, and those of the answers."""
    kept = list(schema) if keep is None else [schema[name] for name in _listed(keep)]
    added = list(pa.schema(answers))[len(kept) :]
    return StructType([*kept, *(StructField(field.name, from_arrow_type(field.type)) for field in added)])


def _needed(names: Sequence[str], column: Any, keep: Sequence[str] | str | None) -> list[int]:
    """Only the columns that are read or kept: others need not leave Spark."""
    if keep is None:
        return list(range(len(names)))
    wanted = [*(names if column is None else _listed(column)), *_listed(keep)]
    return list(dict.fromkeys(names.index(name) for name in wanted))


def _listed(names: Sequence[str] | str) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
