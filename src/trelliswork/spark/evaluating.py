"""Scores of the labels in a data frame: counted in each partition, added up by the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import tee
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.pairs import paired
from trelliswork.evaluation.summary import Evaluation, EvaluationCounts
from trelliswork.spark.shipping import in_partition

__all__ = ["evaluate"]


def evaluate(
    frame: DataFrame,
    gold: str = "gold",
    predicted: str = "labels",
    *,
    scheme: str | None = "BIO",
    lenient: bool = True,
    outside: str = "O",
) -> Evaluation:
    """Return the scores of spans and tokens and the confusion table of two columns of labels.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    gold, predicted : str
        The columns, ``array<string>`` both. Rows in which both are null are left out; a null in one is an error.
    scheme, lenient, outside
        As for `trelliswork.evaluation.evaluate`.

    Returns
    -------
    Evaluation
        The same as `trelliswork.evaluation.evaluate` gives of all rows in one process.

    Examples
    --------
    >>> from trelliswork import spark
    >>> print(spark.evaluate(tagged, "gold", "labels"))  # doctest: +SKIP
    """
    total = EvaluationCounts(scheme, lenient)
    for name in (gold, predicted):
        _check_column(frame, name)

    def counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _counts(batches, scheme, lenient)

    columns = frame.select(frame[f"`{gold}`"].alias("gold"), frame[f"`{predicted}`"].alias("predicted"))
    for (counted,) in columns.mapInArrow(counts, "counts binary").collect():
        total.merge(pickle.loads(counted))  # what our own function wrote, as Spark does with all that Python sends
    return total.evaluation(outside)


def _counts(batches: Iterator[pa.RecordBatch], scheme: str | None, lenient: bool) -> Iterator[pa.RecordBatch]:
    """What a worker does: one row for each partition."""
    counts = EvaluationCounts(scheme, lenient)
    with in_partition():
        rows, same_rows = tee(_labelled_rows(batches))
        for gold, predicted in paired((row[0] for row in rows), (row[1] for row in same_rows)):
            counts.add(gold, predicted)
    yield pa.record_batch({"counts": pa.array([pickle.dumps(counts)], type=pa.binary())})


def _labelled_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, Any]]:
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if row != (None, None):
                yield row


def _check_column(frame: DataFrame, name: str) -> None:
    if not hasattr(frame, "mapInArrow"):
        raise InvalidInput(f"frame is {shown(frame)}; expected a data frame of Spark.")
    if frame.columns.count(name) != 1:
        raise InvalidInput(f"there is no single column {name!r} in the frame, which has {', '.join(frame.columns)}.")
    kind = frame.schema[name].dataType.simpleString()
    if kind != "array<string>":
        raise InvalidInput(f"the column {name!r} has the type {kind}; expected array<string>, the labels of tokens.")
