"""A model and a table in, the table with the model's answers in new columns out, some rows after the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.arguments import as_count
from trelliswork.arrow.answers import Answers, Task
from trelliswork.arrow.batches import BatchReader, RecordBatch, Table
from trelliswork.arrow_streams import arrow_batches, arrow_stream, offers_arrow
from trelliswork.corpora.tables import TokenTable
from trelliswork.corpora.text import Tokenizer, character_classes, check_tokenizer, token_offsets
from trelliswork.errors import InvalidInput, TrellisworkError, shown
from trelliswork.estimators.fitted import copied
from trelliswork.structures.checks import as_jobs

__all__ = ["answered", "answered_batches"]

_BYTES = 1 << 24  # of text that are answered at a time, unless one row has more
_TAKEN = "text (string, large_string, string_view, a dictionary of these) or lists of text"
_EXPECTED = (
    "expected a table, record batch, data frame or column that has Arrow's C interface (__arrow_c_stream__ or "
    "__arrow_c_array__), as those of pyarrow, pandas 2.2, polars and DuckDB have. Lists go to the model's predict."
)


def answered(task: Task, model: Any, table: Any, *settings: Any) -> Table:
    """Return a table with answers; ``settings`` are those of `tag`, from column to batch_size."""
    if not offers_arrow(table):
        raise InvalidInput(f"table is {shown(table)}; {_EXPECTED}")
    found = _Answered(_Answering(task, model, *settings), iter([table]))
    return BatchReader(found.type, iter(found)).read_all()


def answered_batches(task: Task, model: Any, batches: Any, *settings: Any) -> BatchReader:
    """Return the same, batch after batch."""
    if not offers_arrow(batches) and (isinstance(batches, (str, bytes, dict)) or not isinstance(batches, Iterable)):
        raise InvalidInput(f"batches is {shown(batches)}; {_EXPECTED}")
    answering = _Answering(task, model, *settings)
    found = _Answered(answering, iter([batches] if offers_arrow(batches) else batches))
    if offers_arrow(batches):
        found.type()  # what is wrong with its columns is said at once
    return BatchReader(found.type, iter(found))


class _Answered:
    """One table after the other, with answers."""

    def __init__(self, answering: _Answering, tables: Iterator[Any]) -> None:
        self._answering, self._tables = answering, tables
        self._first: _Plan | None = None
        self._next: _Plan | None = None  # opened, and not gone through

    def type(self) -> RecordBatch:
        """Return a batch without rows."""
        if self._first is None:
            self._open()
        if self._first is None:
            raise InvalidInput("there are no batches, so it is not known which columns they have.")
        return self._first.type

    def __iter__(self) -> Iterator[RecordBatch]:
        row = 0
        while self._next is not None or self._open():
            plan, self._next = self._next, None
            assert plan is not None
            for batch in arrow_batches(plan.stream):
                yield from self._answering.answered(plan, batch, row)
                row += batch.n_rows

    def _open(self) -> bool:
        for table in self._tables:
            if not offers_arrow(table):
                raise InvalidInput(f"a batch is {shown(table)}; {_EXPECTED}")
            self._next = self._answering.plan(arrow_stream(table, "table"))
            if self._first is None:
                self._first = self._next
            elif not self._first.stream.same_type(self._next.stream):
                raise InvalidInput("a batch has other columns than the first one, or other types of them.")
            return True
        return False


@dataclass(frozen=True)
class _Plan:
    """What is done with the columns of a stream."""

    stream: _core.ArrowStream
    columns: list[int]  # of the tokens
    is_text: bool
    kept: list[int]
    outputs: dict[str, str]  # what is added, and its name
    names: list[str]  # of all columns that come back
    type: RecordBatch


class _Answering:
    """A model, and what it is asked."""

    def __init__(
        self,
        task: Task,
        model: Any,
        column: Any,
        output: Any,
        tokenizer: Tokenizer,
        keep: Any,
        n_jobs: Any,
        batch_size: Any,
    ) -> None:
        self._task = task
        self._model = copied(task.checked(model))
        if n_jobs is not None:
            as_jobs(n_jobs)
            self._model.n_jobs = n_jobs
        self._column, self._keep = column, [keep] if isinstance(keep, str) else keep
        self._output = _checked_output(output, task.outputs(model))
        check_tokenizer(tokenizer)
        self._tokenizer = tokenizer
        self._rows = as_count("batch_size", batch_size)

    def plan(self, stream: _core.ArrowStream) -> _Plan:
        """Return what to do with the columns of a stream."""
        names = stream.names
        columns = self._columns(stream)
        is_text = stream.kind(columns[0]) == "text"
        if not is_text and self._tokenizer is not None:
            raise InvalidInput(f"tokenizer cuts text, but {_called(stream, columns[0])} has lists of tokens already.")
        usual = self._task.usual(self._model)
        outputs = self._output or {kind: kind for kind in (("tokens", *usual) if is_text else usual)}
        if not is_text and "tokens" in outputs:
            raise InvalidInput(f"output has 'tokens', but {_called(stream, columns[0])} has them already.")
        kept = self._kept(stream)
        for name in outputs.values():
            if name in [names[i] for i in kept]:
                raise InvalidInput(
                    f"the table has a column {name!r} already. Call the answer something else, as in "
                    f"output={{{usual[0]!r}: 'predicted'}}, or leave the column out by keep=[...]."
                )
        all_names = [*(names[i] for i in kept), *outputs.values()]
        nothing = Answers.nothing(TokenTable.from_lists([]))
        empty = [stream.column(i) for i in kept] + _written(outputs, is_text, nothing, None)
        type = RecordBatch(_core.arrow_table(0, all_names, empty), all_names)
        return _Plan(stream, columns, is_text, kept, outputs, all_names, type)

    def _columns(self, stream: _core.ArrowStream) -> list[int]:
        names = stream.names
        if self._column is None:
            if len(names) != 1:
                raise InvalidInput(f"the table has {_listed(names)}. Say which one has the tokens: column=...")
            columns = [0]
        else:
            wanted = [self._column] if isinstance(self._column, str) else list(self._column)
            if not wanted:
                raise InvalidInput("column is empty; expected the name of a column, or several.")
            columns = [_place(name, stream, "column") for name in wanted]
        kinds = [stream.kind(i) for i in columns]
        for i, kind in zip(columns, kinds, strict=True):
            if kind not in ("text", "tokens"):
                raise InvalidInput(f"{_called(stream, i)} has the type {stream.type_name(i)}; expected {_TAKEN}.")
            if kind == "text" and len(columns) > 1:
                raise InvalidInput(
                    f"{_called(stream, i)} has the type {stream.type_name(i)}; several columns of a token are lists of "
                    "text, as many values in each."
                )
        needed = self._task.n_columns(self._model)
        if needed > len(columns):
            raise InvalidInput(
                f"the model looks at {needed} columns of each token, and column names {len(columns)}. "
                "Pass the names of all, in the order of the training data."
            )
        return columns

    def _kept(self, stream: _core.ArrowStream) -> list[int]:
        if self._keep is not None:
            return [_place(name, stream, "keep") for name in self._keep]
        return list(range(len(stream.names))) if stream.is_table else []

    def answered(self, plan: _Plan, batch: _core.ArrowBatch, row: int) -> Iterator[RecordBatch]:
        """Yield a batch with its answers, in parts; ``row`` is the number of its first row, for errors."""
        first = 0
        while first < batch.n_rows:
            with _located(row):
                columns, valid, places = self._read(plan, batch, first)
            X = TokenTable(columns)
            with _located(row + first):
                answers = self._task.answers(self._model, X, plan.outputs)
            parts = [batch.column(i, first, len(X)) for i in plan.kept]
            parts += _written(plan.outputs, plan.is_text, answers, valid, places)
            yield RecordBatch(_core.arrow_table(len(X), plan.names, parts), plan.names)
            first += len(X)

    def _read(self, plan: _Plan, batch: _core.ArrowBatch, first: int) -> tuple[_core.Columns, Any, Any]:
        if not plan.is_text:
            columns, valid, places, _ = batch.lists(plan.columns, first, self._rows, _BYTES)
        elif callable(self._tokenizer):
            columns, valid, places, _ = self._cut(batch, plan.columns[0], first)
        else:
            classes = character_classes(self._tokenizer or "words")
            columns, valid, places, _ = batch.words(plan.columns[0], classes, first, self._rows, _BYTES)
        return columns, valid, places

    def _cut(self, batch: _core.ArrowBatch, column: int, first: int) -> tuple[Any, ...]:
        places: list[int] = []
        counts: list[int] = []
        for i, text in enumerate(batch.texts(column, first, self._rows, _BYTES), first):
            try:
                offsets = [] if text is None else token_offsets(text, self._tokenizer)
            except InvalidInput as error:
                raise InvalidInput(f"row {i}: {error}") from error
            counts.append(len(offsets))
            for offset in offsets:
                places += offset
        return batch.placed(column, first, np.array(counts, dtype=np.int64), np.array(places, dtype=np.int64))


def _written(
    outputs: Mapping[str, str], is_text: bool, answers: Answers, valid: Any, places: Any = None
) -> list[_core.ArrowColumn]:
    """The columns of the answers."""
    lengths = answers.X.lengths()
    columns = []
    for kind in outputs:
        if kind == "tokens":
            columns.append(_core.arrow_lists(lengths, _core.arrow_cells(answers.X.columns, 0), valid))
        elif kind in ("labels", "relations"):
            columns.append(_core.arrow_lists(lengths, _core.arrow_names(answers.labels, answers.names), valid))
        elif kind == "heads":
            columns.append(_core.arrow_lists(lengths, _core.arrow_numbers(answers.heads), valid))
        elif kind == "probabilities":
            columns.append(_core.arrow_lists(lengths, _core.arrow_numbers(answers.probabilities), valid))
        else:
            columns.append(_written_spans(is_text, answers, valid, places))
    return columns


def _written_spans(is_text: bool, answers: Answers, valid: Any, places: Any) -> _core.ArrowColumn:
    spans = answers.spans
    starts, stops = spans.starts, spans.stops
    fields = {"start": starts, "stop": stops}
    if is_text and len(starts):
        ends = np.cumsum(answers.X.lengths())
        before: npt.NDArray[Any] = np.repeat(np.concatenate([[0], ends[:-1]]), spans.counts)
        firsts, lasts = before + starts, before + stops - 1
        fields = {"start": places[firsts, 0], "stop": places[lasts, 1]}
    else:
        firsts = lasts = np.zeros(0, dtype=np.int64)
    columns = {name: _core.arrow_numbers(values.astype(np.int32)) for name, values in fields.items()}
    columns["type"] = _core.arrow_names(spans.types, spans.names)
    if is_text:
        columns["text"] = _core.arrow_spans(answers.X.columns, firsts, lasts)
    columns["probability"] = _core.arrow_numbers(spans.probabilities)
    return _core.arrow_lists(spans.counts, _core.arrow_table(len(starts), list(columns), list(columns.values())), valid)


def _checked_output(output: Any, possible: Sequence[str]) -> dict[str, str] | None:
    if output is None:
        return None
    if isinstance(output, str):
        output = [output]
    named = dict(output) if isinstance(output, Mapping) else {kind: kind for kind in output}
    for kind, name in named.items():
        if kind not in possible:
            raise InvalidInput(f"output has {kind!r}; expected some of {', '.join(map(repr, possible))}.")
        if not isinstance(name, str):
            raise InvalidInput(f"output calls {kind!r} {shown(name)}; expected the name of a column.")
    if not named or len(set(named.values())) < len(named):
        raise InvalidInput(f"output is {shown(output)}; expected at least one answer, and a name for each.")
    return named


def _place(name: Any, stream: _core.ArrowStream, argument: str) -> int:
    names = stream.names
    if not stream.is_table:
        raise InvalidInput(f"{argument} is {name!r}, but this is a single column, not a table: leave it out.")
    if names.count(name) != 1:
        problem = "several times" if name in names else "no"
        there = f"the table has {problem} column {name!r}" if problem == "no" else f"the column {name!r} is there twice"
        raise InvalidInput(f"{argument}: {there}. It has {_listed(names)}.")
    return names.index(name)


def _called(stream: _core.ArrowStream, i: int) -> str:
    return f"the column {stream.names[i]!r}" if stream.is_table else "the column"


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "no columns"
    return f"the columns {', '.join(map(repr, names[:20]))}{', ...' if len(names) > 20 else ''}"


_PLACE = re.compile(r"(?:X\[(\d+)\](?:\[(\d+)\])?|row (\d+))", re.DOTALL)


@contextmanager
def _located(first: int) -> Iterator[None]:
    """Say of what is wrong in which row of all it is; rows are counted from 0."""
    try:
        yield
    except ValueError as error:
        told, kind = str(error), type(error) if isinstance(error, TrellisworkError) else InvalidInput
        found = _PLACE.match(told)
        if found is None:
            raise error if kind is type(error) else kind(told) from None
        token = "" if found[2] is None else f", token {found[2]}"
        raise kind(f"row {first + int(found[1] or found[3] or 0)}{token}{told[found.end() :]}") from None
