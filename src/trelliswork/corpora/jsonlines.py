"""JSON lines: one object per line, with tokens and labels, or with a text and spans from annotation tools.

A file that begins with a bracket is one JSON list of such objects, as exported by Label Studio. There are two families
of objects, which differ in their keys.

- ``{"tokens": [...], "labels": [...]}``; labels may be integers, as in datasets of Hugging Face.
- ``{"text": "...", ...}`` with spans of characters: doccano's ``"label"`` or ``"labels": [[0, 4, "PER"]]`` and
  ``"entities": [{"start_offset": 0, "end_offset": 4, "label": "PER"}]``, Prodigy's
  ``"spans": [{"start": 0, "end": 4, "label": "PER"}]``, and Label Studio's
  ``"annotations": [{"result": [{"value": {"start": 0, "end": 4, "labels": ["PER"]}}]}]`` beside ``"data"``.

Objects that an annotator did not accept are skipped: Prodigy's ``"answer": "reject"`` and ``"ignore"``, and skipped
tasks of Label Studio (``"was_cancelled": true``).
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from trelliswork.corpora.files import Source, Target, name_of, numbered_lines, writing
from trelliswork.corpora.json_items import json_items
from trelliswork.corpora.text import (
    Misaligned,
    Tokenizer,
    align_spans,
    find_offsets,
    spans_from_labels,
    token_offsets,
)
from trelliswork.errors import InvalidInput
from trelliswork.labels.spans import Span

__all__ = ["Example", "read_jsonl", "write_jsonl"]

_Object: TypeAlias = dict[str, Any]
_TOKEN_KEYS = ("labels", "tags", "ner_tags")
_ANSWERS = ("accept", "reject", "ignore")
_SPAN_KEYS = ("spans", "entities", "labels", "label", "annotations")


class Example(NamedTuple):
    """An object of a JSON lines file, as tokens and labels.

    ``labels`` is None if the object has none. ``text`` and ``offsets``, the places of the tokens in it, are None if the
    object has only tokens. ``misaligned`` lists the spans that the labels do not contain, with the reasons. ``record``
    is the whole object.

    Examples
    --------
    >>> Example(["Rain", "fell"], ["B-NP", "B-VP"]).misaligned
    ()
    """

    tokens: list[str]
    labels: list[str] | None
    text: str | None = None
    offsets: list[tuple[int, int]] | None = None
    misaligned: Sequence[Misaligned] = ()
    record: Mapping[str, Any] = {}
    line: int = 0


def read_jsonl(
    source: Source,
    tokens: str = "tokens",
    labels: str | None = None,
    text: str = "text",
    names: Sequence[str] | None = None,
    tokenizer: Tokenizer = None,
    policy: str = "strict",
    scheme: str = "BIO",
    answers: Collection[str] | None = ("accept",),
    encoding: str = "utf-8",
) -> Iterator[Example]:
    """Yield the objects of a JSON lines file, or of a JSON list, as tokens and labels, one at a time.

    Parameters
    ----------
    source : path, file object or "-"
        What to read: ``"-"`` is the standard input, and gzip files are decompressed. Blank lines are skipped. If the
        first character is a bracket, the file is one list.
    tokens : str
        The key of the tokens, a list of strings. Besides a text, tokens may also be objects with ``start`` and ``end``,
        as in Prodigy, which then determine the tokens of the text.
    labels : str or None
        The key of the labels or of the spans; an object without it is refused. With None, the known keys are tried:
        with tokens ``labels``, ``tags``, ``ner_tags``; with a text ``spans``, ``entities``, ``labels``, ``label``,
        ``annotations``. An object with none of them is unlabelled.
    text : str
        The key of the text; in objects of Label Studio, also inside of ``data``.
    names : sequence of str or None
        The names of integer labels, from 0.
    tokenizer : {"words", "whitespace"}, callable or None
        How to tokenise a text, as for `token_offsets`.
    policy : {"strict", "expand", "contract"}
        What to do with spans that begin or stop inside of a token, as for `align_spans`.
    scheme : str
        The scheme in which the labels of spans are written.
    answers : collection of {"accept", "reject", "ignore"}, or None
        Which objects to read, by the annotator's answer: Prodigy's ``answer``; a skipped task of Label Studio counts as
        "ignore". The others are skipped, and a warning at the end gives their number. Objects without an answer are
        always read; None reads all objects.
    encoding : str
        The encoding of the file.

    Yields
    ------
    Example
        Spans that could not be aligned are in its ``misaligned``; check it, or you may lose entities. ``line`` is the
        first line of the object.

    Warns
    -----
    UserWarning
        If objects were skipped, after the last one.

    Raises
    ------
    InvalidInput
        If a line is not a JSON object or has none of the forms above. The message names the line.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO('{"text": "Anna left.", "label": [[0, 4, "PER"], [6, 9, "ODD"]]}')
    >>> example = next(read_jsonl(file))
    >>> list(zip(example.tokens, example.labels))
    [('Anna', 'B-PER'), ('left', 'O'), ('.', 'O')]
    >>> example.misaligned
    [Misaligned(span=Span(type='ODD', start=6, stop=9), reason="cuts the token 'left'")]

    >>> file = io.StringIO('{"tokens": ["Anna", "left"], "ner_tags": [1, 0]}')
    >>> next(read_jsonl(file, names=["O", "B-PER"])).labels
    ['B-PER', 'O']
    """
    if isinstance(names, str):
        raise InvalidInput(f"names must be a list of label names, found the string {names!r}.")
    if answers is not None and (isinstance(answers, str) or not set(answers) <= set(_ANSWERS)):
        raise InvalidInput(f"answers must be a list of some of {', '.join(_ANSWERS)}, or None, found {answers!r}.")
    align_spans("", [], [], policy, scheme)  # refuses bad arguments now, not at the first text
    token_offsets("", None if callable(tokenizer) else tokenizer)
    wanted = _ANSWERS if answers is None else tuple(answers)
    return _Reader(tokens, labels, text, names, tokenizer, policy, scheme, wanted).examples(source, encoding)


def write_jsonl(
    target: Target,
    examples: Iterable[Example | Mapping[str, Any] | tuple[Sequence[str], Sequence[str] | None]],
    form: str = "tokens",
    scheme: str = "BIO",
    encoding: str = "utf-8",
) -> int:
    """Write examples as JSON lines and return their number.

    Parameters
    ----------
    target : path, file object or "-"
        Where to write: ``"-"`` is the standard output, and a path that ends in ``.gz`` is compressed. After an error, a
        file at a path is unchanged.
    examples : iterable of Example, of (tokens, labels), or of dict
        A dict is written as it is. May be a generator.
    form : {"tokens", "doccano", "doccano-entities", "prodigy"}
        ``"tokens"`` writes tokens and labels. The others write a text and spans of characters: doccano's two forms
        (``label`` and ``entities``) and Prodigy's (``spans``). Misaligned spans are written with the others. Tokens
        without a text are joined by spaces.
    scheme : str
        The scheme of the labels, for forms with spans.
    encoding : str
        The encoding of the file.

    Examples
    --------
    >>> example = (["Anna", "left"], ["B-PER", "O"])
    >>> write_jsonl("-", [example])
    {"tokens": ["Anna", "left"], "labels": ["B-PER", "O"]}
    1
    >>> write_jsonl("-", [example], form="doccano")
    {"text": "Anna left", "label": [[0, 4, "PER"]]}
    1
    """
    if form not in ("tokens", "doccano", "doccano-entities", "prodigy"):
        raise InvalidInput(f"form must be 'tokens', 'doccano', 'doccano-entities' or 'prodigy', found {form!r}.")
    count = 0
    with writing(target, encoding) as write:
        for count, example in enumerate(examples, 1):
            where = f"examples[{count - 1}]"
            record = example if isinstance(example, Mapping) else _record(example, form, scheme, where)
            write(_dumped(record, encoding, where) + "\n")
    return count


class _Reader(NamedTuple):
    """What `read_jsonl` was asked."""

    tokens: str
    labels: str | None
    text: str
    names: Sequence[str] | None
    tokenizer: Tokenizer
    policy: str
    scheme: str
    answers: tuple[str, ...]

    def examples(self, source: Source, encoding: str) -> Iterator[Example]:
        name = name_of(source)
        left_out: Counter[str] = Counter()
        for number, item in json_items(numbered_lines(source, encoding), name):
            try:
                record = _loaded(item)
                answer = _answer(record)
                if answer is not None and answer not in self.answers:
                    left_out[answer] += 1
                    continue
                example = self._example(record)
            except InvalidInput as error:
                raise InvalidInput(f"{name}, line {number}: {error}") from error
            yield example._replace(line=number)
        if left_out:
            counts = " and ".join(f"{count:,} with the answer {answer!r}" for answer, count in sorted(left_out.items()))
            warnings.warn(f"{name}: left out {counts}, which is not gold.", stacklevel=2)

    def _example(self, record: _Object) -> Example:
        text = record.get(self.text)
        data = record.get("data")
        if text is None and isinstance(data, dict):
            text = data.get(self.text)
        if text is not None and not self._has_labelled_tokens(record):
            return self._from_text(record, text)
        if self.tokens in record:
            return self._from_tokens(record)
        raise InvalidInput(
            f"found neither {self.tokens!r} nor {self.text!r} among the keys {_shown(list(record))}. "
            "Pass the names of the keys as tokens and labels, or as text."
        )

    def _has_labelled_tokens(self, record: _Object) -> bool:
        """Whether tokens with labels stand beside a text; the text is then not needed."""
        key = self._key(record, _TOKEN_KEYS)
        labels = None if key is None else record[key]
        return self.tokens in record and isinstance(labels, list) and isinstance(next(iter(labels), None), str | int)

    def _from_tokens(self, record: _Object) -> Example:
        tokens = _strings(record[self.tokens], self.tokens)
        key = self._key(record, _TOKEN_KEYS)
        if key is None or record[key] is None:
            return Example(tokens, None, record=record)
        labels = self._named(record[key], key)
        if len(labels) != len(tokens):
            raise InvalidInput(
                f"{key!r} has {len(labels)} labels but {self.tokens!r} has {len(tokens)} tokens. "
                "Every token needs one label."
            )
        return Example(tokens, labels, record=record)

    def _named(self, found: object, key: str) -> list[str]:
        """The labels as strings; integers are looked up among the names."""
        if not isinstance(found, list) or not any(_is_integer(label) for label in found):
            return _strings(found, key)
        if self.names is None:
            raise InvalidInput(f"{key!r} has integers. Pass the list of label names as names.")
        for label in found:
            if not _is_integer(label) or not 0 <= label < len(self.names):
                raise InvalidInput(
                    f"{key!r} has {_shown(label)}, but names has the labels 0 to {len(self.names) - 1}. "
                    "Remove what is no label (-100 marks parts of words to be ignored), or complete the names."
                )
        return [self.names[label] for label in found]

    def _from_text(self, record: _Object, text: object) -> Example:
        if not isinstance(text, str):
            raise InvalidInput(f"{self.text!r} must be a string, found {_shown(text)}.")
        offsets = self._offsets(record, text)
        tokens = [text[start:stop] for start, stop in offsets]
        key = self._key(record, _SPAN_KEYS)
        # Label Studio's list of annotations is empty until somebody has worked on the task.
        if key is None or record[key] is None or (key == "annotations" and record[key] == []):
            return Example(tokens, None, text, offsets, record=record)
        marked = _annotated(record[key], key) if _is_label_studio(record[key]) else _listed(record[key], key)
        return self._aligned(record, text, offsets, tokens, marked)

    def _aligned(
        self, record: _Object, text: str, offsets: list[tuple[int, int]], tokens: list[str], marked: list[_Marked]
    ) -> Example:
        good, doubtful = [], []
        for span, quoted in marked:
            reason = _contradiction(text, span, quoted)
            if reason is None:
                good.append(span)
            else:
                doubtful.append(Misaligned(span, reason))
        alignment = align_spans(text, good, offsets, self.policy, self.scheme)
        return Example(tokens, alignment.labels, text, offsets, [*alignment.misaligned, *doubtful], record)

    def _offsets(self, record: _Object, text: str) -> list[tuple[int, int]]:
        """The tokens that the object itself has, or else those of the tokenizer."""
        given = record.get(self.tokens)
        if given is None:
            return token_offsets(text, self.tokenizer)
        if isinstance(given, list) and given and all(isinstance(token, dict) for token in given):
            offsets = [(token.get("start"), token.get("end")) for token in given]
            if not all(_is_integer(start) and _is_integer(stop) for start, stop in offsets):
                raise InvalidInput(f"{self.tokens!r} must be strings, or objects with 'start' and 'end'.")
            align_spans(text, [], offsets)  # refuses tokens that are out of order or outside of the text
            return offsets
        return find_offsets(text, _strings(given, self.tokens))

    def _key(self, record: _Object, known: Sequence[str]) -> str | None:
        """The key of the labels: the one asked for, or the first known one that is there."""
        if self.labels is None:
            return next((key for key in known if key in record), None)
        if self.labels not in record:
            raise InvalidInput(f"found no {self.labels!r} among the keys {_shown(list(record))}. Check labels=.")
        return self.labels


class _Marked(NamedTuple):
    """A span of characters and, if the tool wrote it down, the text it was put on."""

    span: Span
    quoted: str | None


def _loaded(line: str) -> _Object:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"this is not JSON ({error}). Write one whole object on each line, or all in one list."
        ) from error
    if not isinstance(record, dict):
        raise InvalidInput(
            f"expected an object in braces, found {_shown(record)}. A list of objects must be the whole file."
        )
    return record


def _answer(record: _Object) -> str | None:
    """What the annotator said of an object; None if nothing was said."""
    answer, annotations = record.get("answer"), record.get("annotations")
    if isinstance(answer, str) and answer in _ANSWERS:
        return answer
    if not isinstance(annotations, list) or not _is_label_studio(annotations):
        return None
    return "ignore" if all(isinstance(item, dict) and item.get("was_cancelled") for item in annotations) else "accept"


def _strings(found: object, key: str) -> list[str]:
    if not isinstance(found, list):
        raise InvalidInput(f"{key!r} must be a list of strings, found {_shown(found)}.")
    for i, item in enumerate(found):
        if not isinstance(item, str):
            raise InvalidInput(f"{key}[{i}] must be a string, found {_shown(item)}.")
    return found


def _is_label_studio(found: Any) -> bool:
    return isinstance(found, list) and any(isinstance(item, dict) and "result" in item for item in found)


def _annotated(found: Any, key: str) -> list[_Marked]:
    """The spans of Label Studio: those of the one annotation of the task that was not cancelled."""
    kept = [item for item in found if not (isinstance(item, dict) and item.get("was_cancelled"))]
    if len(kept) > 1:
        raise InvalidInput(f"{key!r} has {len(kept)} annotations of one text. Keep the one to be used.")
    marked = []
    for annotation in kept:
        result = annotation.get("result") if isinstance(annotation, dict) else None
        if not isinstance(result, list):
            raise InvalidInput(f"{key!r} must be objects with a list 'result', found {_shown(annotation)}.")
        # Relations and answers about the whole text are results too, but have no labels in a value.
        values = [item["value"] for item in result if isinstance(item, dict) and isinstance(item.get("value"), dict)]
        marked += _listed([value for value in values if "labels" in value], key)
    return marked


def _listed(found: object, key: str) -> list[_Marked]:
    """The spans of a list of ``[start, end, type]`` or of objects."""
    if not isinstance(found, list):
        raise InvalidInput(f"{key!r} must be a list of spans, found {_shown(found)}.")
    marked = []
    for i, item in enumerate(found):
        start, stop, kinds, quoted = _parts(item)
        if not (_is_integer(start) and _is_integer(stop) and kinds and all(isinstance(kind, str) for kind in kinds)):
            raise InvalidInput(
                f"{key}[{i}] must be a span such as [0, 4, 'PER'] or {{'start': 0, 'end': 4, 'label': 'PER'}}, "
                f"found {_shown(item)}."
            )
        marked += [_Marked(Span(kind, start, stop), quoted if isinstance(quoted, str) else None) for kind in kinds]
    return marked


def _parts(item: object) -> tuple[Any, Any, list[Any], Any]:
    """Start, end, types and quoted text of one span; an object may have several types."""
    if isinstance(item, list) and len(item) == 3:
        return item[0], item[1], [item[2]], None
    if not isinstance(item, dict):
        return None, None, [], None
    kinds = item.get("label", item.get("labels"))
    start, stop = item.get("start", item.get("start_offset")), item.get("end", item.get("end_offset"))
    return start, stop, kinds if isinstance(kinds, list) else [kinds], item.get("text")


def _contradiction(text: str, span: Span, quoted: str | None) -> str | None:
    """Why the text a tool wrote down shows the offsets to be wrong; white space may differ."""
    inside = 0 <= span.start <= span.stop <= len(text)  # if not, align_spans says so
    if quoted is None or not inside or quoted.replace("\\n", " ").split() == text[span.start : span.stop].split():
        return None
    return (
        f"is on {text[span.start : span.stop]!r}, but was marked as {quoted!r}: "
        "offsets may count something other than characters"
    )


def _record(example: Any, form: str, scheme: str, where: str) -> _Object:
    """The object of an example in one of the forms."""
    if not isinstance(example, Example):
        try:
            tokens, labels = example
        except (TypeError, ValueError):
            raise InvalidInput(f"{where} must be an Example, (tokens, labels) or a dict, found {example!r}.") from None
        example = Example(list(tokens), None if labels is None else list(labels))
    if example.labels is not None and len(example.labels) != len(example.tokens):
        raise InvalidInput(
            f"{where} has {len(example.labels)} labels but {len(example.tokens)} tokens. Every token needs one label."
        )
    _strings(example.tokens, f"{where}: tokens")
    if form == "tokens":
        return {"tokens": example.tokens} | ({} if example.labels is None else {"labels": example.labels})
    return _with_spans(example, form, scheme)


def _with_spans(example: Example, form: str, scheme: str) -> _Object:
    text, offsets = example.text, example.offsets
    if text is None or offsets is None:
        text = " ".join(example.tokens)
        offsets = find_offsets(text, example.tokens)
    if example.labels is None:
        return {"text": text}
    found = [*spans_from_labels(example.labels, offsets, scheme), *(wrong.span for wrong in example.misaligned)]
    found.sort(key=lambda span: (span.start, span.stop))
    if form == "doccano":
        return {"text": text, "label": [[span.start, span.stop, span.type] for span in found]}
    key, start, stop = ("spans", "start", "end") if form == "prodigy" else ("entities", "start_offset", "end_offset")
    return {"text": text, key: [{start: span.start, stop: span.stop, "label": span.type} for span in found]}


def _dumped(record: Mapping[str, Any], encoding: str, where: str) -> str:
    try:
        line = json.dumps(dict(record), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{where} cannot be written as JSON: {error}. Use lists, strings and numbers.") from error
    try:
        line.encode(encoding)
    except UnicodeEncodeError:  # lone surrogates, or an encoding without these characters
        return json.dumps(dict(record))
    return line


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(found: object) -> str:
    """What was found, cut short."""
    shown = repr(found)
    return shown if len(shown) <= 80 else shown[:77] + "..."
