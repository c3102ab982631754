"""Columns of tokens and labels as `fit` takes them: data frames, tables, the datasets of Hugging Face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trelliswork.arrow_streams import arrow_batches, arrow_stream, offers_arrow
from trelliswork.corpora.tables import TokenTable, token_table
from trelliswork.errors import InvalidInput, shown
from trelliswork.labels.tables import label_table

__all__ = ["examples"]


def examples(
    table: Any,
    tokens: str | Sequence[str] = "tokens",
    labels: str = "ner_tags",
    *,
    names: Sequence[str] | None = None,
) -> tuple[TokenTable, Any]:
    """Return the sequences and the labels of a table, for ``fit(*examples(table))``.

    Parameters
    ----------
    table : datasets.Dataset, or object with ``__arrow_c_stream__`` or ``__arrow_c_array__``
        One split of a dataset of Hugging Face, or a table of pyarrow, pandas, polars, DuckDB.
    tokens : str or sequence of str
        The column with the tokens, lists of text; or several, of which each token has one value.
    labels : str
        The column with their labels: lists of text, or of numbers.
    names : sequence of str, optional
        The label of each number. A dataset knows them, if the column is a sequence of ``ClassLabel``. Negative numbers,
        such as -100, are tokens without a label.

    Returns
    -------
    X : TokenTable
    y : LabelTable or list
        A list where labels are missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import trelliswork as tw
    >>> table = pa.table({"tokens": [["Ann", "sings"], ["Bo"]], "ner_tags": [[1, 0], [1]]})
    >>> X, y = tw.arrow.examples(table, names=["O", "B-PER"])
    >>> tw.SequenceLabeler().fit(X, y).predict([["Ann"]])
    [['B-PER']]
    """
    if isinstance(table, dict) and not offers_arrow(table):
        raise InvalidInput(f"table has the splits {', '.join(map(repr, table))}. Choose one: table['train'].")
    features = getattr(table, "features", None)
    if not offers_arrow(table) or hasattr(table, "with_format"):
        table = _arrow_of_dataset(table)
    stream = arrow_stream(table, "table")
    wanted = [tokens] if isinstance(tokens, str) else list(tokens)
    places = [_place(name, stream.names) for name in (*wanted, labels)]
    for place, kinds in zip(places, [("tokens",)] * len(wanted) + [("tokens", "integers")], strict=True):
        if stream.kind(place) not in kinds:
            raise InvalidInput(
                f"the column {stream.names[place]!r} has the type {stream.type_name(place)}; expected lists of text"
                f"{' or of integers' if len(kinds) > 1 else ''}."
            )
    if stream.kind(places[-1]) == "integers":
        names = _class_names(features, labels) if names is None else names
    else:
        names = None
    batches = list(arrow_batches(stream))  # once: a query may give its rows in another order when it is asked again
    return token_table(batches, places[:-1], "table"), label_table(batches, places[-1], "table", names)


def _arrow_of_dataset(dataset: Any) -> Any:
    if not hasattr(dataset, "with_format") or not hasattr(dataset, "__getitem__"):
        raise InvalidInput(
            f"table is {shown(dataset)}; expected a Dataset of Hugging Face, or a table that has Arrow's C interface."
        )
    return dataset.with_format("arrow")[:]


def _class_names(features: Any, labels: str) -> list[str]:
    feature = features[labels] if features is not None else None
    names = getattr(getattr(feature, "feature", feature), "names", None)
    if names is None:
        raise InvalidInput(f"the column {labels!r} has numbers: pass the label of each, names=['O', 'B-PER', ...].")
    return list(names)


def _place(name: str, names: Sequence[str]) -> int:
    if list(names).count(name) != 1:
        raise InvalidInput(f"there is no single column {name!r} in the table, which has {', '.join(map(repr, names))}.")
    return list(names).index(name)
