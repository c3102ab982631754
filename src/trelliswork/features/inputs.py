"""The forms of `X`, determined by its first token, and their conversion to attributes in the core.

===========================  ==========================================================
a token is                   its attributes are
===========================  ==========================================================
a word, ``"dog"``            what templates find in the words around it
columns, ``("dog", "NN")``   what templates find in the columns around it
a dict or a list of strings  these, as CRFsuite reads them
a row of numbers             one for each column that is not zero
===========================  ==========================================================
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from trelliswork import _core
from trelliswork.arguments import refuse_no_list, refuse_unordered
from trelliswork.corpora.tables import TokenStream, TokenTable, arrow_tokens
from trelliswork.errors import InvalidInput, shown
from trelliswork.features import presets
from trelliswork.features.templates import Templates

__all__ = ["Inputs", "head", "inputs_of", "matrix_rows", "matrix_source", "named_templates"]

_SEQUENCES_READ = 1024  # attributes of so many sequences are in memory at a time
_ROWS_READ = 1 << 16  # rows of matrices
_SAMPLED = (32, 200)  # sequences, and tokens of each, that are looked at for attributes that a model does not know

TOKENS_MEET = ("label", "pair")  # what attributes of tokens meet in a chain


@dataclass(frozen=True)
class Inputs:
    """The conversion of sequences to attributes.

    Attributes
    ----------
    kind : {"columns", "attributes", "matrix"}
        The form of the tokens; words are a single column.
    templates : Templates or None
        The features of columns.
    n_columns : int or None
        Number of columns of a matrix.
    """

    kind: str
    templates: Templates | None = None
    n_columns: int | None = None

    named: ClassVar[bool] = True  # whether attributes have names to keep

    def sources(
        self, X: Any, argument: str = "X", names: bool = False, at_a_time: int | None = None
    ) -> Iterator[_core.Source]:
        """Yield the attributes of ``X`` in order, in batches of sequences.

        Parameters
        ----------
        X : sequences
        argument : str
            Its name in error messages.
        names : bool
            Whether the names of attributes will be needed.
        at_a_time : int, optional
            Maximum number of sequences in a batch; by default, the most efficient number.
        """
        X = arrow_tokens(X, argument)
        self.check(X, argument)
        if self.kind == "columns":
            return self._of_columns(X, argument, at_a_time)
        if self.kind == "attributes":
            return self._of_attributes(X, argument, names, at_a_time or _SEQUENCES_READ)
        return self._of_matrices(X, argument, at_a_time)

    def check(self, X: Any, argument: str = "X") -> None:
        """Refuse what is no list of sequences, or a table where the features are not looked for in columns."""
        refuse_no_list(X, argument)
        if isinstance(X, TokenTable) and self.kind != "columns":
            raise InvalidInput(f"{argument} is a TokenTable, but the model was trained on {self.described()}.")

    def described(self) -> str:
        """Return what X holds, for an error message."""
        if self.kind == "columns":
            return "templates over words or columns"
        return "attributes (dicts or lists of strings)" if self.kind == "attributes" else f"{self.n_columns} numbers"

    def as_settings(self) -> dict[str, Any]:
        """Return what a model file says of the features."""
        templates = None if self.templates is None else self.templates.to_dict()
        return {"features": {"kind": self.kind, "n_columns": self.n_columns}, "templates": templates}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], meets: Iterable[str] = TOKENS_MEET) -> Inputs:
        """Return what `as_settings` described; `meets` is what attributes can meet in the structure."""
        templates, features = settings.get("templates"), settings["features"]
        kind, n_columns = features["kind"], features.get("n_columns")
        if kind not in ("columns", "attributes", "matrix") or (kind == "columns") != (templates is not None):
            raise InvalidInput(f"there are no features of the kind {kind!r} with these templates")
        if kind == "matrix" and (type(n_columns) is not int or n_columns < 0):
            raise InvalidInput(f"a matrix cannot have {n_columns!r} columns")
        read = None if templates is None else Templates.from_dict(templates)
        if read is not None:
            read.require(meets, "the model")
        return cls(kind, read, n_columns)

    def _of_columns(self, X: Any, argument: str, at_a_time: int | None) -> Iterator[_core.Source]:
        if isinstance(X, TokenStream):
            for table in X.tables():
                yield self._column_source(table.columns, argument)
            return
        if at_a_time is None or (isinstance(X, Sized) and len(X) <= at_a_time):
            columns = X.columns if isinstance(X, TokenTable) else _columns(X, argument, 0)
            yield self._column_source(columns, argument)
            return
        if isinstance(X, TokenTable):
            for first in range(0, len(X), at_a_time):
                yield self._column_source(X.part(first, min(first + at_a_time, len(X))).columns, argument)
            return
        for first, block in _blocks(X, at_a_time):
            yield self._column_source(_columns(block, argument, first), argument)

    def _column_source(self, columns: _core.Columns, argument: str) -> _core.Source:
        assert self.templates is not None
        if columns.n_rows == 0:
            return _core.AttributeSource([[]] * columns.n_sequences)
        if columns.n_columns < self.templates.n_columns:
            raise InvalidInput(
                f"the tokens of {argument} have {columns.n_columns} columns, but the features look at "
                f"{self.templates.n_columns}. Pass every token as a tuple of so many strings, or choose other features."
            )
        with _invalid_input():
            return _core.ColumnSource(columns, self.templates.extractor())

    def _of_attributes(self, X: Any, argument: str, names: bool, at_a_time: int) -> Iterator[_core.Source]:
        for first, block in _blocks(X, at_a_time):
            for i, x in enumerate(block):
                refuse_unordered(x, f"{argument}[{first + i}]", f"[{argument}]")
            with _invalid_input():
                source = _core.AttributeSource(block, names, argument, first)
            yield source

    def _of_matrices(self, X: Any, argument: str, at_a_time: int | None) -> Iterator[_core.Source]:
        assert self.n_columns is not None
        block: list[Any] = []
        first = n_rows = 0
        for i, x in enumerate(X):
            block.append(matrix_rows(x, self.n_columns, f"{argument}[{i}]"))
            n_rows += len_of(block[-1])
            if n_rows >= _ROWS_READ or len(block) == at_a_time:
                yield matrix_source(block, self.n_columns, argument, first)
                block, first, n_rows = [], i + 1, 0
        if block:
            yield matrix_source(block, self.n_columns, argument, first)


def inputs_of(X: Any, features: Any, meets: Collection[str] = TOKENS_MEET) -> tuple[Inputs, Any]:
    """Return the conversion for ``X``, and ``X`` itself with all its items.

    Parameters
    ----------
    X : sequences
    features : {"auto", "attributes"}, str or Templates
    meets : collection of str
        What the structure can combine attributes with, of the values of `Templates.meets`; other templates are refused.

    Examples
    --------
    >>> inputs_of([[{"word": "dog"}]], "auto")[0].kind
    'attributes'
    """
    X = arrow_tokens(X)
    if isinstance(features, str) and features not in ("auto", "attributes"):
        features = named_templates(features)
    if isinstance(features, Templates):
        features.require(meets, "this estimator")
        return Inputs("columns", features), X
    if not isinstance(features, str):
        raise InvalidInput(f'features is {shown(features)}; expected "auto", "attributes", Templates or their name.')
    if isinstance(X, TokenTable):
        return Inputs("columns", _templates_for(X.n_columns, meets)), X
    refuse_no_list(X, "X")
    x, X = _first_sequence(X)
    if features == "attributes":
        return Inputs("attributes"), X
    return _of_sequence(x, meets), X


def head(X: Any) -> tuple[list[Any], Any]:
    """Return the beginnings of the first sequences of X, and X itself with all its items."""
    X = arrow_tokens(X)
    refuse_no_list(X, "X")
    first = list(itertools.islice(X, _SAMPLED[0]))
    if isinstance(X, Iterator):
        first = [list(x) if isinstance(x, Iterator) else x for x in first]
        X = itertools.chain(first, X)
    return [_beginning(x) for x in first], X


def _beginning(x: Any) -> Any:
    if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim > 0):
        return x[: _SAMPLED[1]]
    return x.tocsr()[: _SAMPLED[1]] if _is_sparse(x) else x


def named_templates(name: str) -> Templates:
    """Return a ready-made set of templates by name."""
    known = (*presets.ABOUT_TOKENS, *presets.ABOUT_SPANS, *presets.ABOUT_CONSTITUENTS)
    if name not in known:
        raise InvalidInput(f'features is {name!r}; expected "auto", "attributes" or one of {", ".join(known)}.')
    return Templates.preset(name)


def len_of(rows: Any) -> int:
    """Return the number of rows of an array or a sparse matrix."""
    return int(rows.shape[0])


def _first_sequence(X: Any) -> tuple[Any, Any]:
    """Return the first sequence that has a token, and all of X again."""
    looked_at: list[Any] = []
    sequences = iter(X)
    for i, x in enumerate(sequences):
        refuse_unordered(x, f"X[{i}]", "[X]") if not _is_sparse(x) else None
        x = x if isinstance(x, Sized) or _is_sparse(x) else list(x)
        looked_at.append(x)
        if len_of(x) if _is_sparse(x) else len(x):
            break
    else:
        raise InvalidInput("X has no tokens to learn from: pass at least one sequence that is not empty.")
    return looked_at[-1], X if sequences is not X else itertools.chain(looked_at, sequences)


def _of_sequence(x: Any, meets: Collection[str]) -> Inputs:
    if _is_sparse(x) or (isinstance(x, np.ndarray) and x.ndim == 2):
        return Inputs("matrix", n_columns=int(x.shape[1]))
    token = next(iter(x))
    if isinstance(token, str):
        return Inputs("columns", _templates_for(1, meets))
    if isinstance(token, tuple) and token and all(isinstance(cell, str) for cell in token):
        return Inputs("columns", _templates_for(len(token), meets))
    if isinstance(token, np.ndarray) and token.ndim == 1 and token.dtype.kind in "fiub":
        return Inputs("matrix", n_columns=len(token))
    if isinstance(token, (list, tuple)) and token and all(isinstance(value, Real) for value in token):
        return Inputs("matrix", n_columns=len(token))
    if isinstance(token, (list, tuple, Mapping, AbstractSet)):
        return Inputs("attributes")
    raise InvalidInput(
        f"the first token of X is {shown(token)}; expected a word (a string), a tuple of columns, a dict or a list of "
        "attributes, or a row of numbers. X is a list of sequences of tokens: if yours is one sequence, pass [X]."
    )


def _templates_for(n_columns: int, meets: Collection[str]) -> Templates:
    """What to look at in words, and in the columns beside them; in spans, too, where the structure has them."""
    if "rule" in meets:
        return _constituency_templates(n_columns)
    spans = "span" in meets
    templates = Templates.segment_words() if spans else Templates.words()
    others = range(1, n_columns)
    lines = [f"c{k}[-2..2]\nngram(c{k}[-2..2], 2..3)" for k in others]
    lines += [presets.SPANS_OF_TAGS.replace("pos", f"c{k}") for k in others if spans]
    return templates + Templates("\n".join(lines)) if lines else templates


def _constituency_templates(n_columns: int) -> Templates:
    if n_columns == 1:
        return Templates.constituency_words()
    ends = "span: first.c{0}\nspan: last.c{0}\nspan: before.c{0} & first.c{0}\nspan: last.c{0} & after.c{0}"
    more = "\n".join(ends.format(k) for k in range(2, n_columns))
    return Templates.constituency() + Templates(more) if more else Templates.constituency()


def _blocks(X: Any, at_a_time: int) -> Iterator[tuple[int, list[Any]]]:
    sequences, first = iter(X), 0
    while block := list(itertools.islice(sequences, at_a_time)):
        yield first, block
        first += len(block)


def _columns(X: Any, argument: str, first: int) -> _core.Columns:
    X = [x if isinstance(x, (list, tuple)) else _listed(x, f"{argument}[{i}]") for i, x in enumerate(X, first)]
    with _invalid_input(argument, first):
        return _core.columns_from_lists(X)


def _listed(x: Any, place: str) -> list[Any]:
    refuse_unordered(x, place, f"[{place.partition('[')[0]}]")
    return x.tolist() if isinstance(x, np.ndarray) else list(x)


def _is_sparse(x: Any) -> bool:
    return hasattr(x, "tocsr") and hasattr(x, "shape")  # without importing SciPy


def matrix_rows(x: Any, n_columns: int, place: str) -> Any:
    """Return one sequence as an array or a sparse matrix with so many columns."""
    if _is_sparse(x):
        rows = x.tocsr()
    else:
        refuse_unordered(x, place, f"[{place.partition('[')[0]}]")
        items = x if isinstance(x, np.ndarray) else list(x)
        try:
            rows = np.asarray(items)
        except ValueError:
            raise InvalidInput(f"{place} has tokens with different numbers of columns; expected {n_columns}.") from None
        if rows.shape == (0,):
            rows = np.zeros((0, n_columns))
        if rows.dtype.kind not in "fiub":
            raise InvalidInput(
                f"{place} has tokens of type {rows.dtype}; expected rows of {n_columns} numbers, as in the first token."
            )
    if rows.ndim != 2 or rows.shape[1] != n_columns:
        raise InvalidInput(f"{place} has shape {rows.shape}; expected (tokens, {n_columns}).")
    return rows


def matrix_source(block: list[Any], n_columns: int, argument: str, first: int, channel: str = "token") -> _core.Source:
    """Return the rows of matrices, or of sparse ones, one for each sequence; ``first``: of the first, for errors."""
    offsets = np.cumsum([0, *map(len_of, block)], dtype=np.int64)
    try:
        if all(isinstance(rows, np.ndarray) for rows in block):
            return _core.MatrixSource(_floats(np.concatenate(block)), offsets, channel)
        from scipy.sparse import csr_array, vstack

        stacked = csr_array(vstack([csr_array(rows) for rows in block]))
        index = np.int32 if stacked.indptr.dtype == stacked.indices.dtype == np.int32 else np.int64
        indptr, indices = stacked.indptr.astype(index, copy=False), stacked.indices.astype(index, copy=False)
        return _core.MatrixSource(indptr, indices, _floats(stacked.data), n_columns, offsets, channel)
    except ValueError as error:
        place, _, rest = str(error).partition("]")
        if not place.startswith("["):
            raise InvalidInput(f"{argument}: {error}") from None
        raise InvalidInput(f"{argument}[{first + int(place[1:])}]{rest}") from None


def _floats(values: Any) -> Any:
    dtype = np.float32 if values.dtype in (np.float32, np.float16) else np.float64
    return np.ascontiguousarray(values, dtype=dtype)


class _invalid_input:
    """Turns a ValueError of the core into InvalidInput; a place in its X is called by its place in the argument."""

    def __init__(self, argument: str | None = None, first: int = 0) -> None:
        self._argument, self._first = argument, first

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if kind is not ValueError:
            return
        text = str(error)
        place = re.match(r"X\[(\d+)\]", text)
        if self._argument is not None and place is not None:
            text = f"{self._argument}[{self._first + int(place[1])}]{text[place.end() :]}"
        raise InvalidInput(text) from None
