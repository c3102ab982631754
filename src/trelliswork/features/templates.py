"""Templates: a text that defines the attributes of tokens, spans or arcs, and is executed by the core."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trelliswork.errors import InvalidInput
from trelliswork.features import foreign, grammar, presets
from trelliswork.features.parsed import MAX_LINE, MAX_TEMPLATES, MEETS, Part, Template, View, wrong

if TYPE_CHECKING:
    from trelliswork import _core

__all__ = ["Templates"]

_VERSION = 1
_WITHOUT_COLUMN = ("begin", "end", "size", "direction", "distance")  # kinds of views
_FORMATS = ("own", "crfpp", "wapiti")
_MET = {
    "label": ("meets labels", ""),
    "pair": ("meets label pairs", ""),
    "ngram": ("meets label n-grams", ", or use SequenceLabeler(order=2)"),
    "span": ("is about whole spans", ", or use SegmentLabeler or ConstituencyParser"),
    "arc": ("is about arcs", ", or use DependencyParser"),
    "arc label": ("is about labels of arcs", ", or use DependencyParser"),
    "sibling": ("is about siblings", ", or use DependencyParser(order=2)"),
    "grandparent": ("is about grandparents", ", or use DependencyParser(order=2)"),
    "rule": ("is about rules", ", or use ConstituencyParser"),
}
# By what attributes of tokens meet. Children of a constituent meet between two tokens, as labels of a pair do.
_CHANNELS = {"label": "token", "pair": "pair", "ngram": "ngram", "rule": "pair"}
_ARC_CHANNELS = {"arc": "arc", "arc label": "label", "sibling": "sibling", "grandparent": "grandparent"}


class Templates:
    """A set of templates, immutable; sets are equal if they produce the same attributes.

    Parameters
    ----------
    text : str
        Templates, one per line, in the library's own format, or in that of CRF++ or Wapiti.
    format : {"own", "crfpp", "wapiti"} or None
        The format of the text; None detects it.
    resources : mapping of str to str or iterable of str, or None
        Contents of the files that ``gazetteer`` and ``class`` name, as text or as lines. Other files are read from
        ``folder``.
    folder : path or None
        The folder of these files; with None, the current folder.
    name : str
        The name of the text in messages.

    See Also
    --------
    Templates.load : the same from a file.

    Examples
    --------
    >>> templates = Templates('''
    ... word[-1..1]              # three templates: the word before, the word itself, the word behind
    ... lower(word) & pos[-1]    # two things at once
    ... suffix(word, 2..3)
    ... pair: word               # meets the label and the one before it
    ... ''')
    >>> len(templates), templates.n_columns
    (7, 2)
    >>> templates.attributes([[("Rain", "NN"), ("fell", "VBD")]])[0][1]
    ['word[-1]=Rain', 'word[0]=fell', 'lower(word[0])|pos[-1]=fell|NN', 'suffix(word[0],2)=ll', 'suffix(word[0],3)=ell']
    """

    __slots__ = (
        "_arc_extractor",
        "_extractor",
        "_groups",
        "_n_columns",
        "_resources",
        "_span_extractor",
        "_templates",
        "transitions",
    )

    def __init__(
        self,
        text: str,
        *,
        format: str | None = None,
        resources: Mapping[str, str | Iterable[str]] | None = None,
        folder: str | os.PathLike[str] | None = None,
        name: str = "templates",
    ) -> None:
        if not isinstance(text, str):
            raise InvalidInput(f"text must be templates, one a line, found {text!r}. To read a file: Templates.load.")
        if format is not None and format not in _FORMATS:
            raise InvalidInput(f"format must be one of {', '.join(_FORMATS)} or None, found {format!r}.")
        lines = text.split("\n")
        _check_lines(lines, name)  # before anything looks into them: what follows may take long for long lines
        group = _Group(format or foreign.detect(lines), grammar.DEFAULT_COLUMNS, lines)
        self._build([group], _Resources(resources or {}, folder), name, None)

    def _build(self, groups: list[_Group], resources: _Resources, name: str, transitions: bool | None) -> None:
        templates: dict[object, Template] = {}
        asked: list[bool] = []
        kept = []
        for group in groups:
            reader = _Reader(group, resources, name)
            for template in reader:
                templates.setdefault(template, template)
                if len(templates) > MAX_TEMPLATES:
                    raise InvalidInput(f"{name}: there are more than {MAX_TEMPLATES} templates.")
            asked.append(reader.transitions)
            kept.append(_Group(group.format, reader.columns, reader.kept))
        if not templates:
            raise InvalidInput(f"{name}: there is no template. Write one a line, such as word[-1..1].")
        self._groups = tuple(kept)
        self._templates = tuple(templates.values())
        self._n_columns = max(map(_columns_of, self._templates))
        self._resources = resources.used
        self.transitions: bool = any(asked) if transitions is None else transitions
        self._extractor: _core.Extractor | None = None
        self._span_extractor: _core.SpanExtractor | None = None
        self._arc_extractor: _core.ArcExtractor | None = None

    @classmethod
    def parse(cls, text: str, **options: Any) -> Templates:
        """Return the templates of a text; the same as ``Templates(text, **options)``.

        Examples
        --------
        >>> Templates.parse("U00:%x[-1,0]/%x[0,0]\\nB").attributes([["Rain", "fell"]])
        [[['U00:_B-1/Rain'], ['U00:Rain/fell']]]
        """
        return cls(text, **options)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        resources: Mapping[str, str | Iterable[str]] | None = None,
    ) -> Templates:
        """Return the templates of a file, in the library's own format, CRF++'s or Wapiti's.

        Files that templates name are read from the folder of this file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "mine.tpl")
        ...     _ = path.write_text('word[-1..1]\\ngazetteer("towns.txt", word)\\n')
        ...     _ = pathlib.Path(folder, "towns.txt").write_text("Aix\\nLa Rochelle\\n")
        ...     templates = Templates.load(path)
        >>> templates.attributes([["In", "La", "Rochelle"]])[0][1][-1]
        'gazetteer("towns.txt",word[0])=B'
        """
        from trelliswork.corpora.files import name_of, numbered_lines

        text = "\n".join(line for _, line in numbered_lines(path))
        folder = os.path.dirname(os.fspath(path))
        return cls(text, format=format, resources=resources, folder=folder, name=name_of(path))

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Templates:
        """Return the templates that `to_dict` described.

        Examples
        --------
        >>> templates = Templates("word[-1..1]")
        >>> Templates.from_dict(templates.to_dict()) == templates
        True
        """
        groups, resources, transitions = _checked_settings(settings)
        self = cls.__new__(cls)
        self._build(groups, _Resources(resources, None, closed=True), "templates", transitions)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the set as JSON data, including the contents of gazetteers.

        Examples
        --------
        >>> Templates("word[-1..1]").to_dict()
        {'version': 1, 'transitions': True, 'templates': [{'format': 'own', 'columns': ['word', 'pos'],
        'lines': ['word[-1..1]']}], 'resources': {}}
        """
        return {
            "version": _VERSION,
            "transitions": self.transitions,
            "templates": [
                {"format": group.format, "columns": list(group.columns), "lines": list(group.lines)}
                for group in self._groups
            ],
            "resources": dict(self._resources),
        }

    @classmethod
    def words(cls) -> Templates:
        """Return templates for one column of words in any language: neighbours, affixes, shapes."""
        return cls._preset("words")

    @classmethod
    def chunking(cls) -> Templates:
        """Return templates for text chunking: columns of words and part-of-speech tags."""
        return cls._preset("chunking")

    @classmethod
    def ner(cls) -> Templates:
        """Return templates for named entities: columns of words and part-of-speech tags."""
        return cls._preset("ner")

    @classmethod
    def pos(cls) -> Templates:
        """Return templates for part-of-speech tagging: one column of words."""
        return cls._preset("pos")

    @classmethod
    def thesis(cls) -> Templates:
        """Return the base templates of Table 4.1 of Mančev 2015: words and tags, with a label and with a label pair."""
        return cls._preset("thesis")

    @classmethod
    def segments(cls) -> Templates:
        """Return templates for labelled segments, chunks or names: words and tags, for tokens and spans."""
        return cls._preset("segments")

    @classmethod
    def segment_words(cls) -> Templates:
        """Return templates for labelled segments of one column of words, for tokens and spans."""
        return cls._preset("segment_words")

    @classmethod
    def dependency(cls) -> Templates:
        """Return templates for dependency parsing with the columns of CoNLL-U, for arcs and their labels."""
        return cls._preset("dependency")

    @classmethod
    def dependency2(cls) -> Templates:
        """Return templates for dependency parsing of order 2, also for siblings and grandparents."""
        return cls._preset("dependency2")

    @classmethod
    def constituency(cls) -> Templates:
        """Return templates for constituents: words and part-of-speech tags, for spans and boundaries of children."""
        return cls._preset("constituency")

    @classmethod
    def constituency_words(cls) -> Templates:
        """Return templates for constituents of one column of words."""
        return cls._preset("constituency_words")

    @classmethod
    def preset(cls, name: str) -> Templates:
        """Return a ready-made set by name, which is the name of its method.

        Examples
        --------
        >>> Templates.preset("words") == Templates.words()
        True
        """
        known = (*presets.ABOUT_TOKENS, *presets.ABOUT_SPANS, *presets.ABOUT_ARCS, *presets.ABOUT_CONSTITUENTS)
        if name not in known:
            raise InvalidInput(f"there are no templates named {name!r}; there are {', '.join(known)}.")
        return cls._preset(name)

    @classmethod
    def _preset(cls, name: str) -> Templates:
        return cls(getattr(presets, name.upper()), format="own", name=name)

    @property
    def parsed(self) -> tuple[Template, ...]:
        """All templates, with ranges expanded, in the form of `trelliswork.features.parsed`."""
        return self._templates

    @property
    def names(self) -> list[str]:
        """The prefixes of attribute names of all templates, with ranges expanded."""
        return [_shown(template) for template in self._templates]

    @property
    def text(self) -> str:
        """The lines of the set, without comments and without the contents of files."""
        return "\n".join(line for group in self._groups for line in group.lines)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the first columns; in joined sets, those of the set that names most.

        Examples
        --------
        >>> Templates("columns: form tag\\nform[-1..1]").columns
        ('form', 'tag')
        """
        return max((group.columns for group in self._groups), key=len)

    @property
    def n_columns(self) -> int:
        """Number of columns that the templates need."""
        return self._n_columns

    @property
    def meets(self) -> tuple[str, ...]:
        """What attributes of this set are combined with, in a fixed order.

        For tokens, the values are ``"label"``, ``"pair"`` and ``"ngram"``; for spans ``"span"``; for arcs ``"arc"``,
        ``"arc label"``, ``"sibling"`` and ``"grandparent"``.

        Examples
        --------
        >>> Templates("word\\nboth: pos\\nspan: size").meets
        ('label', 'pair', 'span')
        """
        found = {kind for template in self._templates for kind in template.meets}
        return tuple(kind for kind in MEETS if kind in found)

    @property
    def has_pairs(self) -> bool:
        """Whether some attributes are combined with label pairs."""
        return "pair" in self.meets

    def require(self, allowed: Iterable[str], who: str) -> None:
        """Refuse templates whose attributes are combined with something that ``who`` does not have.

        Parameters
        ----------
        allowed : iterable of str
            The allowed values of `meets`.
        who : str
            Its name in messages.

        Examples
        --------
        >>> Templates("word\\nspan: size").require(["label", "pair"], "an HMM")
        Traceback (most recent call last):
        trelliswork.errors.InvalidInput: features: 'span: size' is about whole spans, which an HMM does not have. Leave
        out lines that begin with 'span:', or use SegmentLabeler or ConstituencyParser.
        """
        allowed = set(allowed)
        for template in self._templates:
            for kind in template.meets:
                if kind not in allowed:
                    about, instead = _MET[kind]
                    lines = "such lines" if kind in ("arc", "arc label") else f"lines that begin with {kind + ':'!r}"
                    raise InvalidInput(
                        f"features: {_shown(template)!r} {about}, which {who} does not have. "
                        f"Leave out {lines}{instead}."
                    )

    def without(self, kind: str) -> Templates:
        """Return the set without the templates of this kind, one of the values of `meets`.

        Examples
        --------
        >>> Templates("head.word & mod.word\\nlabel: mod.word").without("arc label").names
        ['head.word|mod.word']
        """
        if kind not in self.meets:
            return self
        groups = []
        for group in self._groups:
            reader = _Reader(group, _Resources(self._resources, None, closed=True), "templates")
            lines = [line for line in group.lines if kind not in {own for t in reader.of(line) for own in t.meets}]
            groups.append(_Group(group.format, group.columns, lines))
        fewer = Templates.__new__(Templates)
        fewer._build(groups, _Resources(self._resources, None, closed=True), "templates", self.transitions)
        return fewer

    def extractor(self) -> _core.Extractor:
        """Return the templates for tokens in the form of the core."""
        if self._extractor is None:
            from trelliswork import _core

            views = _Views(self._resources)
            templates = [
                (
                    template.text,
                    [_CHANNELS[kind] for kind in template.meets],
                    [
                        (views.number(part.view), part.offset, "" if part.mode == "split" else part.mode)
                        for part in template.parts
                    ],
                )
                for template in self._templates
                if _CHANNELS.keys() >= set(template.meets)
            ]
            with _refused():
                self._extractor = _core.Extractor(views.specs(), templates, views.contents)
        return self._extractor

    def span_extractor(self) -> _core.SpanExtractor:
        """Return the templates for spans in the form of the core; `meets` says whether there are any."""
        if self._span_extractor is None:
            from trelliswork import _core

            views = _Views(self._resources)
            templates = [
                (template.text, [_span_part(part, views) for part in template.parts])
                for template in self._templates
                if "span" in template.meets
            ]
            with _refused():
                self._span_extractor = _core.SpanExtractor(views.specs(), templates, views.contents)
        return self._span_extractor

    def arc_extractor(self) -> _core.ArcExtractor:
        """Return the templates for arcs in the form of the core; `meets` says whether there are any."""
        if self._arc_extractor is None:
            from trelliswork import _core

            views = _Views(self._resources)
            templates = [
                (template.text, _ARC_CHANNELS[template.meets[0]], [_arc_part(part, views) for part in template.parts])
                for template in self._templates
                if template.meets[0] in _ARC_CHANNELS
            ]
            with _refused():
                self._arc_extractor = _core.ArcExtractor(views.specs(), templates, views.contents)
        return self._arc_extractor

    def attributes(self, X: Any, pair: bool = False, ngram: bool = False) -> list[list[list[str]]]:
        """Return the names of the attributes of every token, for inspection.

        Parameters
        ----------
        X : list of sequences
            Sequences of words, or of tuples of columns.
        pair, ngram : bool
            Whether to return the attributes combined with label pairs, or label n-grams, instead of labels.

        Examples
        --------
        >>> Templates("word").attributes([["Rain", "fell"], ["Stop"]])
        [[['word[0]=Rain'], ['word[0]=fell']], [['word[0]=Stop']]]
        """
        from trelliswork import _core
        from trelliswork.corpora.tables import TokenTable

        if pair and ngram:
            raise InvalidInput("pair and ngram: ask for one of them.")
        table = X if isinstance(X, TokenTable) else TokenTable.from_lists(X)
        try:
            source = _core.ColumnSource(table.columns, self.extractor())
            channel = "ngram" if ngram else "pair" if pair else "token"
            if channel not in source.channels:
                return [[[] for _ in range(length)] for length in source.lengths().tolist()]
            return [source.attribute_names(i, channel) for i in range(len(table))]
        except ValueError as error:
            raise InvalidInput(str(error)) from None

    def span_attributes(self, X: Any, longest: int) -> list[dict[tuple[int, int], list[str]]]:
        """Return the names of the attributes of every span, by its start and its stop (the token after it).

        Parameters
        ----------
        X : list of sequences
            Sequences of words, or of tuples of columns.
        longest : int
            Maximum number of tokens of a span.

        Examples
        --------
        >>> templates = Templates("span: whole.word & size\\nspan: before.word")
        >>> for (begin, end), names in templates.span_attributes([["New", "York", "fell"]], longest=2)[0].items():
        ...     print(begin, end, names)
        0 1 ['whole.word|size=New|1']
        0 2 ['whole.word|size=New York|2']
        1 2 ['whole.word|size=York|1', 'before.word=New']
        1 3 ['whole.word|size=York fell|2', 'before.word=New']
        2 3 ['whole.word|size=fell|1', 'before.word=York']
        """
        from trelliswork import _core
        from trelliswork.corpora.tables import TokenTable

        if type(longest) is not int or longest < 1:
            raise InvalidInput(f"longest is {longest!r}; expected how many tokens a span has at most, 1 or more.")
        if "span" not in self.meets:
            raise InvalidInput("there are no templates about spans. Write lines such as span: first.word & size.")
        table = X if isinstance(X, TokenTable) else TokenTable.from_lists(X)
        found = []
        try:
            source = _core.SpanSource(table.columns, self.span_extractor(), longest)
            for i, length in enumerate(table.columns.lengths().tolist()):
                names = source.attribute_names(i)
                spans = [(b, b + size + 1) for b in range(length) for size in range(longest)]
                found.append({span: of for span, of in zip(spans, names, strict=True) if span[1] <= length})
        except ValueError as error:
            raise InvalidInput(str(error)) from None
        return found

    def arc_attributes(
        self, x: Any, head: int, modifier: int, *, third: int | None = None, kind: str = "arc"
    ) -> list[str]:
        """Return the names of the attributes of an arc in one sentence.

        Parameters
        ----------
        x : sequence
            A sentence: words, or tuples of columns.
        head, modifier : int
            Words, from 1; a head may be 0, the root.
        third : int, optional
            The sibling or the grandparent; None if there is none.
        kind : {"arc", "label", "sibling", "grandparent"}
            Which lines to use: those without a prefix, or with this one.

        Examples
        --------
        >>> templates = Templates("with: direction\\nhead.word & mod.word[-1]\\nlabel: mod.word")
        >>> templates.arc_attributes(["Rain", "fell", "fast"], 2, 3)
        ['head.word|mod.word[-1]|direction=fell|fell|right']
        >>> templates.arc_attributes(["Rain", "fell", "fast"], 0, 2, kind="label")
        ['mod.word|direction=fell|right']
        """
        from trelliswork import _core
        from trelliswork.corpora.tables import TokenTable

        if kind not in _ARC_CHANNELS.values():
            raise InvalidInput(f"kind is {kind!r}; expected one of {', '.join(_ARC_CHANNELS.values())}.")
        if not set(self.meets) & _ARC_CHANNELS.keys():
            raise InvalidInput("there are no templates about arcs. Write lines such as head.word & mod.word.")
        channels = [kind] if kind != "label" else ["label", "label.head", "label.modifier"]
        try:
            sentences = _core.ArcSentences(TokenTable.from_lists([x]).columns, self.arc_extractor())
            return [name for own in channels for name in sentences.attribute_names(0, head, modifier, third, own)]
        except (ValueError, TypeError) as error:
            raise InvalidInput(str(error)) from None

    def __add__(self, other: Templates) -> Templates:
        if not isinstance(other, Templates):
            return NotImplemented
        resources = dict(self._resources)
        for name, text in other._resources.items():
            if resources.setdefault(name, text) != text:
                raise InvalidInput(f"both sets of templates name {name!r} but with different contents. Rename one.")
        joined = Templates.__new__(Templates)
        transitions = self.transitions or other.transitions
        groups = [*self._groups, *other._groups]
        joined._build(groups, _Resources(resources, None, closed=True), "templates", transitions)
        return joined

    def __len__(self) -> int:
        return len(self._templates)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Templates):
            return NotImplemented
        mine, theirs = ((t._templates, t._resources, t.transitions) for t in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self._templates, self.transitions))

    def __reduce__(self) -> tuple[Any, ...]:
        return Templates.from_dict, (self.to_dict(),)

    def __copy__(self) -> Templates:
        return self

    def __deepcopy__(self, memo: object) -> Templates:
        return self

    def __repr__(self) -> str:
        lines = "; ".join(line for group in self._groups for line in group.lines)
        return f"<Templates: {len(self)} templates: {lines if len(lines) <= 70 else lines[:67] + '...'}>"


def _columns_of(template: Template) -> int:
    """Return how many columns a template needs."""
    wanted = [0]
    for part in template.parts:
        wanted.append(part.view.column + 1 if part.view.kind not in _WITHOUT_COLUMN else 0)
        wanted.append(part.offset + 1 if part.mode == "*" else 0)
    return max(wanted)


class _Views:
    """The views that templates look through, numbered, as the core is handed them."""

    def __init__(self, resources: Mapping[str, str]) -> None:
        self.contents = list(resources.values())
        self._resource = {name: i for i, name in enumerate(resources)}
        self._views: dict[View, int] = {}

    def number(self, view: View) -> int:
        return self._views.setdefault(view, len(self._views))

    def specs(self) -> list[Any]:
        return [
            (view.kind, view.column, self._steps(view), view.outside, self._resource.get(view.resource, 0))
            for view in self._views
        ]

    def _steps(self, view: View) -> list[tuple[str, int, str]]:
        return [(op, self._resource[text], "") if op == "class" else (op, n, text) for op, n, text in view.steps]


def _span_part(part: Part, views: _Views) -> tuple[int, int, str, list[int]]:
    if part.mode == "size":
        return 0, 0, part.mode, [n for _, n, _ in part.view.steps]
    return views.number(part.view), part.offset, part.mode, []


def _arc_part(part: Part, views: _Views) -> tuple[int, int, str, list[int], str]:
    if part.mode in ("direction", "distance"):
        return 0, 0, part.mode, [n for _, n, _ in part.view.steps], ""
    return views.number(part.view), part.offset, part.mode, [], part.value


@contextmanager
def _refused() -> Iterator[None]:
    """What the core refuses in templates."""
    try:
        yield
    except ValueError as error:
        raise InvalidInput(f"templates: {error}") from None
    except TypeError:  # the types are right; what cannot be handed over is half of a character
        raise InvalidInput("templates: they have a lone surrogate in them, which is no text.") from None


class _Group:
    """Lines of one form."""

    __slots__ = ("columns", "format", "lines")

    def __init__(self, format: str, columns: tuple[str, ...], lines: list[str]) -> None:
        self.format = format
        self.columns = columns
        self.lines = lines


def _check_lines(lines: Sequence[Any], name: str) -> None:
    """Refuse what is no line, or too long a one, or too many."""
    if len(lines) > MAX_TEMPLATES:
        raise InvalidInput(f"{name}: there are more than {MAX_TEMPLATES} lines.")
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        if not isinstance(line, str) or len(line) > MAX_LINE or "\n" in line:
            raise InvalidInput(f"{where}: expected a line of at most {MAX_LINE} characters.")
        if any("\ud800" <= c <= "\udfff" for c in line):
            raise InvalidInput(f"{where}: found a lone surrogate, which is no text. Remove it.")


class _Reader:
    """The templates of a group of lines, and what its directives say."""

    def __init__(self, group: _Group, resources: _Resources, name: str) -> None:
        self.group = group
        self.resources = resources
        self.name = name
        self.columns = group.columns
        self.kept: list[str] = []  # the lines that count, as to_dict keeps them
        self.transitions = group.format == "own"
        self.joined: list[tuple[Part, ...]] | None = None  # what the last `with:` line says
        self.named: dict[str, tuple[View, str]] = {}  # what `let:` lines say

    def __iter__(self) -> Iterator[Template]:
        for number, line in enumerate(self.group.lines, 1):
            yield from self.of(line, f"{self.name}, line {number}")

    def of(self, line: str, where: str = "templates") -> Iterator[Template]:
        """The templates of one line, which may be changed by those before it."""
        return self._foreign(line, where) if self.group.format != "own" else self._own(line, where)

    def _foreign(self, line: str, where: str) -> Iterator[Template]:
        line = foreign.without_comment(line, self.group.format).rstrip()
        if not line:
            return
        template, pairs = foreign.parse_line(line, self.group.format, where)
        self.transitions |= pairs
        self.kept.append(line)
        if template is not None:
            yield template

    def _own(self, line: str, where: str) -> Iterator[Template]:
        line = grammar.without_comment(line)
        if not line:
            return
        head, colon, rest = line.partition(":")
        if colon and head.strip() == "columns":
            if self.kept:
                raise wrong(where, line, "the columns must be named before the first template")
            self.columns = grammar.columns_of(rest, where, line)
            return
        if colon and head.strip() == "transitions":
            if rest.strip() not in ("yes", "no"):
                raise wrong(where, line, "expected transitions: yes or transitions: no")
            self.transitions = rest.strip() == "yes"
            return

        if colon and head.strip() == "with":
            self.joined = grammar.parse_with(rest, self.columns, where, line)
            self.kept.append(line)
            return

        def need(kind: str, file: str) -> None:
            self.resources.need(kind, file, where)

        if colon and head.strip() == "let":
            name, view = grammar.parse_let(rest, self.columns, need, where, line, self.named)
            self.named[name] = view
            self.kept.append(line)
            return
        templates = grammar.parse_line(line, self.columns, need, where, self.joined, self.named)
        self.kept.append(line)
        yield from templates


class _Resources:
    """Contents of the files that templates name, read when first needed."""

    def __init__(
        self,
        given: Mapping[str, str | Iterable[str]],
        folder: str | os.PathLike[str] | None,
        closed: bool = False,
    ) -> None:
        for name in given:
            grammar.check_name(name)
        self.given = given
        self.folder = os.fspath(folder) if folder is not None else ""
        self.closed = closed  # nothing is read from files
        self.used: dict[str, str] = {}
        self.kinds: dict[str, str] = {}

    def need(self, kind: str, name: str, where: str) -> None:
        if self.kinds.setdefault(name, kind) != kind:
            raise InvalidInput(f"{where}: {name!r} is used as a gazetteer and as word classes. It can be only one.")
        if name in self.used:
            return
        grammar.check_name(name)
        lines: Iterable[tuple[int, str]]
        if name in self.given:
            content = self.given[name]
            lines = enumerate(content.split("\n") if isinstance(content, str) else content, 1)
        elif self.closed:
            raise InvalidInput(f"{where}: the contents of {name!r} are missing.")
        else:
            from trelliswork.corpora.files import numbered_lines

            path = os.path.join(self.folder, name)
            if not os.path.isfile(path):
                raise InvalidInput(f"{where}: there is no file {path!r}. Put it there, or pass its lines as resources.")
            lines = numbered_lines(path)
        self.used[name] = _gazetteer_text(lines, name) if kind == "gazetteer" else _classes_text(lines, name)


def _gazetteer_text(lines: Iterable[tuple[int, str]], name: str) -> str:
    """Entries as the core reads them: tokens parted by one space, perhaps a tab and a class."""
    entries = []
    for number, line in lines:
        if not isinstance(line, str) or "\n" in line:
            raise InvalidInput(f"{name}, line {number}: expected an entry of a gazetteer, found {line!r}.")
        entry, _, cls = line.partition("\t")
        if entry.strip():
            entry = " ".join(entry.split())
            entries.append(f"{entry}\t{cls.strip()}" if cls.strip() else entry)
    return "\n".join(entries)


def _classes_text(lines: Iterable[tuple[int, str]], name: str) -> str:
    """Lines of a word, a tab and its class, from these or from Brown-cluster paths (bits, word, count)."""
    rows = []
    for number, line in lines:
        if not isinstance(line, str) or "\n" in line:
            raise InvalidInput(f"{name}, line {number}: expected a word and its class, found {line!r}.")
        row = line.strip("\r").split("\t") if "\t" in line else line.split()
        if not line.strip():
            continue
        if len(row) not in (2, 3) or not row[0] or not row[1]:
            raise InvalidInput(
                f"{name}, line {number}: expected a word and its class, or bits, a word and a count, found {line!r}."
            )
        rows.append(row)
    if (rows and all(len(row) == 3 for row in rows)) or (rows and all(not row[0].strip("01") for row in rows)):
        return "\n".join(f"{row[1]}\t{row[0]}" for row in rows)
    return "\n".join(f"{row[0]}\t{row[1]}" for row in rows)


def _shown(template: Template) -> str:
    named = template.text.startswith("\2")
    text = template.text[1:].replace("\1", "{}") if named else template.text.replace("\1", "%")
    prefix = (
        "both"
        if len(template.meets) > 1
        else {"label": "", "arc": "", "arc label": "label"}.get(template.meets[0], template.meets[0])
    )
    return f"{prefix}: {text}" if prefix else text


def _checked_settings(settings: Mapping[str, Any]) -> tuple[list[_Group], dict[str, str], bool]:
    """The parts of what `to_dict` gave; it may come from a file that someone tampered with."""
    if not isinstance(settings, Mapping) or settings.get("version") != _VERSION:
        found = settings.get("version") if isinstance(settings, Mapping) else settings
        raise InvalidInput(f"templates: expected settings of version {_VERSION}, found {found!r}.")
    groups, resources, transitions = (settings.get(key) for key in ("templates", "resources", "transitions"))
    if not isinstance(groups, list) or not isinstance(resources, Mapping) or not isinstance(transitions, bool):
        raise InvalidInput("templates: the settings are damaged: templates, resources or transitions are missing.")
    for name, text in resources.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidInput("templates: the settings are damaged: resources must be texts.")
    checked = []
    for group in groups[:MAX_TEMPLATES]:
        if not isinstance(group, Mapping):
            raise InvalidInput("templates: the settings are damaged: expected groups of lines.")
        format, columns, lines = group.get("format"), group.get("columns"), group.get("lines")
        if format not in _FORMATS or not isinstance(columns, list) or not isinstance(lines, list):
            raise InvalidInput("templates: the settings are damaged: a group needs a format, columns and lines.")
        _check_lines(lines, "templates")
        names = " ".join(column for column in columns if isinstance(column, str))
        checked.append(_Group(format, grammar.columns_of(names, "templates, columns", names), lines))
    return checked, dict(resources), transitions
