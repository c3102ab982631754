"""Trees as pictures: arcs above a sentence, and constituents above their words; on matplotlib axes or as SVG text.

Arcs are drawn with square shoulders, each over all that it covers, so that long sentences stay readable. What is wrong
is vermilion and thick, what is uncertain is pale; gold, or what else is probable, hangs below the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput, shown
from trelliswork.plots.drawing import FAINT, INK, RIGHT, WRONG, Drawing, blend, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["arcs", "arcs_svg", "tree", "tree_svg"]

Floats = npt.NDArray[np.float64]
Tree = tuple[Sequence[int], Sequence[str] | None]

WORD, TAG, LABEL = 15.0, 10.5, 11.0  # sizes of letters
LEVEL, FIRST_LEVEL = 22.0, 24.0  # how much higher an arc is than what it covers, and how high the lowest is
GAP, SLOT, RADIUS = 16.0, 8.0, 7.0  # between words; between arcs at one word; of corners
LEAST = 0.05  # arcs less probable than this are not drawn


class _Arc(NamedTuple):
    head: int  # places of words from 0; -1 is the root
    modifier: int
    label: str
    colour: str
    width: float
    dashes: bool
    ink: str = ""  # of the label; that of the arc, unless that is too pale to read

    @property
    def span(self) -> tuple[int, int]:
        return min(self.head, self.modifier), max(self.head, self.modifier)


def arcs(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    probabilities: npt.ArrayLike | None = None,
    gold: Any = None,
    directed: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a dependency tree as arcs above its sentence and return the axes.

    Parameters
    ----------
    words : sequence of n str
    heads : sequence of n int
        The head of each word: 0 is the root, ``i`` the word ``i``, from 1.
    relations : sequence of n str, optional
        What stands at the arcs.
    tags : sequence of n str, optional
        What stands below the words.
    probabilities : array_like of shape (n + 1, n + 1), optional
        Of each arc [head, modifier], as ``marginals()`` of a `DependencyTree` has them. Arcs are the paler the less
        probable they are; others of at least 0.05 hang below the words, dashed.
    gold : tree, optional
        Heads, or a pair of heads and relations: hangs below the words. Arcs whose head or relation differs are
        vermilion and thick above, blue and dashed below.
    directed : bool
        Whether arcs have an arrow at the modifier. Without, the root's line is not drawn: what hangs on it has no other
        end.
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure that grows with the sentence, and that pyplot does not know about.

    Returns
    -------
    matplotlib.axes.Axes
        ``axes.figure.savefig("tree.png")`` writes the picture; in a notebook, ``axes.figure`` shows it.

    Examples
    --------
    >>> axes = arcs(["The", "dog", "barks"], [2, 3, 0], ["det", "nsubj", "root"])
    >>> [text.get_text() for text in axes.texts]
    ['The', 'dog', 'barks', 'det', 'nsubj', 'root']
    """
    return _arcs(words, heads, relations, tags, probabilities, gold, directed, title).axes(ax)


def arcs_svg(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    probabilities: npt.ArrayLike | None = None,
    gold: Any = None,
    directed: bool = True,
    title: str | None = None,
) -> str:
    """Return a dependency tree as SVG text: arcs above its sentence. matplotlib is not needed.

    Parameters are those of `arcs`.

    Examples
    --------
    >>> svg = arcs_svg(["The", "dog", "barks"], [2, 3, 0], ["det", "nsubj", "root"])
    >>> svg[:38], svg.count("<path")
    ('<svg xmlns="http://www.w3.org/2000/svg', 3)
    """
    return _arcs(words, heads, relations, tags, probabilities, gold, directed, title).svg()


def tree(
    words: Sequence[str],
    spans: Iterable[tuple[int, int, Any]],
    *,
    tags: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    gold: Iterable[tuple[int, int, Any]] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw constituents as a tree above their words and return the axes.

    Parameters
    ----------
    words : sequence of n str
    spans : iterable of (start, stop, label)
        Constituents over the words ``start`` to ``stop - 1``, none of which cross; of equal ones the outer comes first.
        A `Constituent` has them as ``spans()``.
    tags : sequence of n str, optional
        What stands between words and constituents.
    probabilities : sequence of float, optional
        One for each span: labels and lines are the paler the less probable it is.
    gold : iterable of (start, stop, label), optional
        Constituents that are not among these are vermilion; how many of these are missing is said below.
    title : str, optional
    ax : matplotlib.axes.Axes, optional
        As for `arcs`.

    Examples
    --------
    >>> axes = tree(["the", "dog", "barks"], [(0, 3, "S"), (0, 2, "NP"), (2, 3, "VP")])
    >>> [text.get_text() for text in axes.texts]
    ['the', 'dog', 'barks', 'S', 'NP', 'VP']
    """
    return _constituents(words, spans, tags, probabilities, gold, title).axes(ax)


def tree_svg(
    words: Sequence[str],
    spans: Iterable[tuple[int, int, Any]],
    *,
    tags: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    gold: Iterable[tuple[int, int, Any]] | None = None,
    title: str | None = None,
) -> str:
    """Return constituents as SVG text: a tree above its words. matplotlib is not needed.

    Parameters are those of `tree`.

    Examples
    --------
    >>> tree_svg(["dogs", "bark"], [(0, 2, "S")]).count("<path")
    2
    """
    return _constituents(words, spans, tags, probabilities, gold, title).svg()


def _arcs(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None,
    tags: Sequence[str] | None,
    probabilities: npt.ArrayLike | None,
    gold: Any,
    directed: bool,
    title: str | None,
) -> Drawing:
    names = _texts(words, "words")
    tree_heads = _checked_heads(heads, len(names), "heads")
    labels = [""] * len(names) if relations is None else _texts(relations, "relations", len(names))
    marginals = _checked_probabilities(probabilities, len(names))
    if gold is not None and marginals is not None:
        raise InvalidInput("gold and probabilities both hang below the words. Give one of them.")
    above = [_Arc(head - 1, m, labels[m], INK, 1.4, False) for m, head in enumerate(tree_heads)]
    below: list[_Arc] = []
    if marginals is not None:
        above = [_shaded(arc, INK, marginals[arc.head + 1, arc.modifier + 1]) for arc in above]
        below = _alternatives(tree_heads, marginals)
    if gold is not None:
        below = _gold_arcs(gold, len(names), relations is not None)
        above, below = _marked(above, below)
    if not directed:
        above, below = ([arc for arc in side if arc.head >= 0] for side in (above, below))
    return _drawn_arcs(names, None if tags is None else _texts(tags, "tags", len(names)), above, below, directed, title)


def _alternatives(heads: list[int], marginals: Floats) -> list[_Arc]:
    """Probable arcs that the tree does not have."""
    found = []
    for h, m in zip(*np.nonzero(marginals >= LEAST), strict=True):
        if m > 0 and h != m and heads[m - 1] != h:
            probability = float(marginals[h, m])
            found.append(_shaded(_Arc(h - 1, m - 1, f"{probability:.2f}", RIGHT, 1.4, True), RIGHT, probability))
    return found


def _shaded(arc: _Arc, colour: str, probability: float) -> _Arc:
    return arc._replace(colour=blend(colour, probability), ink=blend(colour, max(probability, 0.6)))


def _gold_arcs(gold: Any, n: int, labelled: bool) -> list[_Arc]:
    if hasattr(gold, "heads"):
        gold = (gold.heads, getattr(gold, "relations", None))
    pair = isinstance(gold, tuple | list) and len(gold) == 2 and not isinstance(gold[0], int | np.integer)
    heads, relations = gold if pair else (gold, None)
    numbers = _checked_heads(heads, n, "gold")
    labels = _texts(relations, "the relations of gold", n) if labelled and relations is not None else [""] * n
    return [_Arc(head - 1, m, labels[m], FAINT, 1.4, False) for m, head in enumerate(numbers)]


def _marked(above: list[_Arc], below: list[_Arc]) -> tuple[list[_Arc], list[_Arc]]:
    """Arcs that differ from gold's in colour and width, and gold's that are missed."""
    wrong = [
        arc.head != other.head or bool(other.label and arc.label != other.label)
        for arc, other in zip(above, below, strict=True)
    ]
    above = [arc._replace(colour=WRONG, width=2.4) if w else arc for arc, w in zip(above, wrong, strict=True)]
    below = [arc._replace(colour=RIGHT, dashes=True) if w else arc for arc, w in zip(below, wrong, strict=True)]
    return above, below


def _drawn_arcs(
    words: list[str], tags: list[str] | None, above: list[_Arc], below: list[_Arc], directed: bool, title: str | None
) -> Drawing:
    drawing = Drawing(f"Dependency tree of: {' '.join(words)}")
    centres = _centres(words, tags, [*above, *below])
    for x, word in zip(centres, words, strict=True):
        drawing.text((x, 0.0), word, WORD)
    bottom = 0.35 * WORD
    if tags is not None:
        for x, tag in zip(centres, tags, strict=True):
            drawing.text((x, 1.35 * WORD), tag, TAG, FAINT)
        bottom += 1.1 * WORD
    _draw_side(drawing, centres, above, -WORD - 3.0, -1.0, directed)
    _draw_side(drawing, centres, below, bottom + 3.0, 1.0, directed)
    if title is not None:
        left, top, right, _ = drawing.bounds()
        drawing.text(((left + right) / 2, top - 6.0), _line(title), WORD, INK, bold=True)
    return drawing


def _centres(words: list[str], tags: list[str] | None, drawn: list[_Arc]) -> list[float]:
    """Where words stand: side by side, and far enough apart for what is written at arcs between neighbours."""
    widths = [text_width(word, WORD) for word in words]
    if tags is not None:
        widths = [max(width, text_width(tag, TAG)) for width, tag in zip(widths, tags, strict=True)]
    crowd = [0] * len(words)
    for arc in drawn:
        for place in arc.span:
            if place >= 0:
                crowd[place] += 1
    widths = [max(width, SLOT * min(n, 12)) for width, n in zip(widths, crowd, strict=True)]
    centres: list[float] = []
    for i, width in enumerate(widths):
        centre = width / 2 if i == 0 else centres[-1] + widths[i - 1] / 2 + GAP + width / 2
        for arc in drawn:  # the label fits between the ends of its arc
            first, last = arc.span
            if last == i and first >= 0:
                room = text_width(arc.label, LABEL) + 2 * RADIUS + SLOT * (crowd[first] + crowd[last]) / 2
                centre = max(centre, centres[first] + room)
        centres.append(centre)
    return centres


def _draw_side(
    drawing: Drawing, centres: list[float], drawn: list[_Arc], base: float, side: float, directed: bool
) -> None:
    """The arcs above the words (``side`` -1) or below them (1): lines, then arrow heads, then what stands at them."""
    levels = _levels(drawn)
    ends = _ends(centres, drawn)
    top = max(levels, default=0)
    # A root is as high as whatever stands over it, and has room for its text.
    texts = []
    for arc, level, (head_x, modifier_x) in zip(drawn, levels, ends, strict=True):
        root = arc.head < 0
        height = FIRST_LEVEL + LEVEL * ((top if root else level) - 1) + (0.6 * LEVEL if root else 0.0)
        y = base + side * height
        points = [(modifier_x, y), (modifier_x, base)]
        if not root:
            points = [(head_x, base), (head_x, y), *points]
        drawing.line(points, arc.colour, arc.width, arc.dashes, RADIUS)
        if directed:
            drawing.arrow_head((modifier_x, base), 6.0 + arc.width / 2, side < 0, arc.colour)
        if arc.label:
            x = modifier_x if root else (head_x + modifier_x) / 2
            shift = -3.0 if root and side < 0 else LABEL if root else 0.35 * LABEL
            texts.append(((x, y + shift), arc.label, arc.ink or arc.colour))
    for at, label, colour in texts:
        drawing.text(at, label, LABEL, colour, rim=True)


def _levels(drawn: list[_Arc]) -> list[int]:
    """How high arcs are: 1, or one more than the highest that an arc covers; equal and crossing ones get apart, too."""
    levels = [0] * len(drawn)
    placed: list[tuple[int, int, int]] = []
    for i in sorted(range(len(drawn)), key=lambda i: (drawn[i].span[1] - drawn[i].span[0], drawn[i].span)):
        first, last = drawn[i].span
        if first < 0:
            levels[i] = 1  # the root's arc is a line over one word
            continue
        # Shorter ones that share more than an end with this one lie below it.
        under = [level for a, b, level in placed if a < last and b > first]
        levels[i] = 1 + max(under, default=0)
        placed.append((first, last, levels[i]))
    return levels


def _ends(centres: list[float], drawn: list[_Arc]) -> list[tuple[float, float]]:
    """Where arcs meet words: side by side, so that none runs through another.

    At a word, from left to right: arcs to the left, shortest first; the root's; arcs to the right, longest first.
    """
    at_word: dict[int, list[tuple[float, int, str]]] = {}
    for i, arc in enumerate(drawn):
        for place, other, end in ((arc.head, arc.modifier, "head"), (arc.modifier, arc.head, "modifier")):
            if place < 0:
                continue
            distance = other - place
            order = 0.0 if other < 0 else -1.0 - 1.0 / -distance if distance < 0 else 1.0 + 1.0 / distance
            # Longer ones are nearer to the middle: -1 - 1/d rises with d, and 1 + 1/d falls.
            at_word.setdefault(place, []).append((order, i, end))
    found: dict[tuple[int, str], float] = {}
    for place, meeting in at_word.items():
        meeting.sort()
        for slot, (_, i, end) in enumerate(meeting):
            found[i, end] = centres[place] + SLOT * (slot - (len(meeting) - 1) / 2)
    return [(found.get((i, "head"), 0.0), found[i, "modifier"]) for i in range(len(drawn))]


class _Node(NamedTuple):
    start: int
    stop: int
    label: str
    colour: str
    children: list[int]  # numbers of nodes; words are -1 - place


def _constituents(
    words: Sequence[str],
    spans: Iterable[tuple[int, int, Any]],
    tags: Sequence[str] | None,
    probabilities: Sequence[float] | None,
    gold: Iterable[tuple[int, int, Any]] | None,
    title: str | None,
) -> Drawing:
    names = _texts(words, "words")
    listed = _checked_spans(spans, len(names), "spans")
    colours = [INK] * len(listed)
    if probabilities is not None:
        shares = np.asarray(probabilities, dtype=np.float64)
        if shares.shape != (len(listed),) or not np.isfinite(shares).all():
            raise InvalidInput(f"probabilities must be {len(listed)} numbers, one for each span.")
        colours = [blend(INK, share) for share in shares]
    missing: list[tuple[int, int, str]] = []
    if gold is not None:
        truth = _checked_spans(gold, len(names), "gold")
        missing = [span for span in truth if span not in listed]
        colours = [colour if span in truth else WRONG for span, colour in zip(listed, colours, strict=True)]
    nodes = _nested(listed, colours, len(names))
    return _drawn_tree(names, None if tags is None else _texts(tags, "tags", len(names)), nodes, missing, title)


def _nested(spans: list[tuple[int, int, str]], colours: list[str], n: int) -> list[_Node]:
    """Constituents with their children, outer ones first."""
    order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1], i))
    nodes = [_Node(*spans[i], colours[i], []) for i in order]
    open_nodes: list[int] = []
    word = 0
    for number, node in enumerate(nodes):
        word = _hang_words(nodes, open_nodes, word, node.start)
        while open_nodes and nodes[open_nodes[-1]].stop <= node.start:
            open_nodes.pop()
        if open_nodes:
            outer = nodes[open_nodes[-1]]
            if node.stop > outer.stop:
                raise InvalidInput(
                    f"the spans ({outer.start}, {outer.stop}) and ({node.start}, {node.stop}) cross; a tree has none "
                    "that do."
                )
            outer.children.append(number)
        open_nodes.append(number)
    _hang_words(nodes, open_nodes, word, n)
    return nodes


def _hang_words(nodes: list[_Node], open_nodes: list[int], word: int, until: int) -> int:
    """Give the words before ``until`` to the innermost constituents that they are in."""
    for place in range(word, until):
        while open_nodes and nodes[open_nodes[-1]].stop <= place:
            open_nodes.pop()
        if open_nodes:
            nodes[open_nodes[-1]].children.append(-1 - place)
    return max(word, until)


def _drawn_tree(
    words: list[str], tags: list[str] | None, nodes: list[_Node], missing: list[tuple[int, int, str]], title: str | None
) -> Drawing:
    drawing = Drawing(f"Constituents of: {' '.join(words)}")
    level = 2.6 * WORD
    widths = [max(text_width(word, WORD), text_width(tag, TAG)) for word, tag in zip(words, tags or words, strict=True)]
    for node in nodes:  # a chain over one word must be as wide as its label
        if node.stop - node.start == 1:
            widths[node.start] = max(widths[node.start], text_width(node.label, LABEL + 2))
    centres = [sum(widths[:i]) + GAP * i + width / 2 for i, width in enumerate(widths)]
    feet = -WORD - 4.0 if tags is None else -WORD - 4.0 - TAG - 6.0  # where lines to words end
    xs, heights = _places(nodes, centres)
    for node, x, height in zip(nodes, xs, heights, strict=True):
        y = feet - level * height
        for child in node.children:
            to = (xs[child], feet - level * heights[child] - LABEL - 5.0) if child >= 0 else (centres[-1 - child], feet)
            # Aslant within one level, then straight down: so no line runs through another constituent.
            knee = (to[0], min(y + level - LABEL - 5.0, to[1]))
            drawing.line([(x, y + 4.0), knee, to], nodes[child].colour if child >= 0 else node.colour, 1.2)
    for x, word in zip(centres, words, strict=True):
        drawing.text((x, 0.0), word, WORD)
    for x, tag in zip(centres, tags or [], strict=False):
        drawing.text((x, -WORD - 6.0), tag, TAG, FAINT)
    for node, x, height in zip(nodes, xs, heights, strict=True):
        drawing.text((x, feet - level * height), node.label, LABEL + 2, node.colour, bold=True, rim=True)
    _, _, right, bottom = drawing.bounds()
    if missing:
        said = "missing: " + ", ".join(f"{label} over {' '.join(words[a:b])}" for a, b, label in missing)
        drawing.text((right / 2, bottom + 8.0), _line(said, 100), TAG, RIGHT)
    if title is not None:
        left, top, right, _ = drawing.bounds()
        drawing.text(((left + right) / 2, top - 6.0), _line(title), WORD, INK, bold=True)
    return drawing


def _places(nodes: list[_Node], centres: list[float]) -> tuple[list[float], list[int]]:
    """Where constituents stand: in the middle of their children, one level above the highest."""
    xs, heights = [0.0] * len(nodes), [1] * len(nodes)
    for number in reversed(range(len(nodes))):  # children have higher numbers
        children = nodes[number].children
        middles = [xs[child] if child >= 0 else centres[-1 - child] for child in children]
        xs[number] = (min(middles) + max(middles)) / 2
        heights[number] = 1 + max((heights[child] for child in children if child >= 0), default=0)
    return xs, heights


def _texts(given: Any, name: str, expected: int | None = None) -> list[str]:
    """Texts on one line each."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is {shown(given)}; expected a list of texts.")
    texts = [_line(str(text), None) for text in given]
    if expected is not None and len(texts) != expected:
        raise InvalidInput(f"{name} has {len(texts)} texts for {expected} words. Give one for each.")
    return texts


def _line(text: str, longest: int | None = 120) -> str:
    line = " ".join(text.split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def _checked_heads(heads: Any, n: int, name: str) -> list[int]:
    if isinstance(heads, str | bytes | dict | set) or not isinstance(heads, Iterable):
        raise InvalidInput(f"{name} is {shown(heads)}; expected the head of each word.")
    listed = list(heads)
    if len(listed) != n:
        raise InvalidInput(f"{name} has {len(listed)} heads for {n} words. Give one for each.")
    for m, head in enumerate(listed, 1):
        if isinstance(head, bool) or not isinstance(head, int | np.integer) or not 0 <= head <= n or head == m:
            raise InvalidInput(
                f"{name} has {shown(head)} for word {m}; expected the number of another of its {n} words, or 0."
            )
    return [int(head) for head in listed]


def _checked_probabilities(probabilities: npt.ArrayLike | None, n: int) -> Floats | None:
    if probabilities is None:
        return None
    numbers = np.asarray(probabilities, dtype=np.float64)
    if numbers.shape != (n + 1, n + 1):
        raise InvalidInput(
            f"probabilities must have the shape {(n + 1, n + 1)} of [head, modifier], found {numbers.shape}."
        )
    return np.nan_to_num(numbers)


def _checked_spans(spans: Any, n: int, name: str) -> list[tuple[int, int, str]]:
    found = []
    for i, span in enumerate(spans):
        try:
            start, stop, label = span
        except (TypeError, ValueError):
            raise InvalidInput(f"{name}[{i}] is {shown(span)}; expected (start, stop, label).") from None
        if not 0 <= start < stop <= n:
            raise InvalidInput(f"{name}[{i}] is over the words {start} to {stop - 1}, but there are {n}, from 0.")
        found.append((int(start), int(stop), _line(str(label))))
    return found
