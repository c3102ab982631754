"""Chunk-coding schemes as constraints: which label may follow which, when labels spell out spans.

The original scheme, here IOB1, is from Ramshaw & Marcus (1995); Tjong Kim Sang & Veenstra (1999) name the variants.
Nothing is estimated: the constraints follow from the names of the labels, so that an invalid sequence can never be
the answer. What is forbidden scores ``-inf``, the zero of max-plus.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.labels.schemes import SCHEMES, Scheme, scheme_of

__all__ = ["SchemeConstraints", "scheme_constraints"]


class SchemeConstraints(NamedTuple):
    """What a scheme allows: ``transitions[a, b]`` if b may follow a, and where a sequence may start and end.

    Examples
    --------
    >>> scheme_constraints(["O", "B-PER", "I-PER"]).start.tolist()
    [True, True, False]
    """

    transitions: npt.NDArray[np.bool_]
    start: npt.NDArray[np.bool_]
    end: npt.NDArray[np.bool_]


def scheme_constraints(labels: Sequence[str], scheme: str = "BIO") -> SchemeConstraints:
    """Return which transitions, first and last labels a chunk-coding scheme allows.

    Parameters
    ----------
    labels : sequence of str
        The K label names, in the order of the chain's labels: a prefix of the scheme, a dash and a type, as in
        ``"B-PER"``. The type may contain dashes and may be left out (``"B"``, ``"I"``). ``"O"`` is outside of all.
    scheme : str
        In capitals or not:

        - ``"BIO"`` or ``"IOB2"``: B begins every span, I continues it.
        - ``"IOB1"``: I is any token of a span; B begins one only where the span before it has the same type.
        - ``"IOE2"``, ``"IOE1"``: the mirror images, with E at the end.
        - ``"IOBES"`` or ``"BIOES"``: B begins, I continues, E ends, S is a span of one token.
        - ``"BILOU"`` or ``"BILUO"``: the same with L for E and U for S.
        - ``"BMES"``: the same with M for I; O is allowed, too.

    Returns
    -------
    SchemeConstraints
        Boolean arrays ``transitions`` (K, K), ``start`` (K,) and ``end`` (K,).

    Raises
    ------
    InvalidInput
        If the scheme is unknown or a label does not belong to it.

    Warns
    -----
    UserWarning
        If the other labels leave a label no place in any valid sequence, such as I-PER in BIO without B-PER.

    Examples
    --------
    Without the constraint, I-PER follows O here:

    >>> import trelliswork as tw
    >>> chain = tw.Chain(unary=[[2, 0, 0], [0, 1, 2]], transitions=[[0, 0, 0], [0, 0, 0], [0, 0, 0]])
    >>> chain.argmax().labels.tolist()
    [0, 2]
    >>> bio = tw.scheme_constraints(["O", "B-PER", "I-PER"], scheme="BIO")
    >>> chain.constrained(**bio._asdict()).argmax().labels.tolist()
    [0, 1]
    """
    coding = scheme_of(scheme)
    names = _checked(labels)
    parsed = [_parse(name, coding) for name in names]
    rules = _rules(coding)
    constraints = SchemeConstraints(
        transitions=np.array([[_may_follow(before, after, rules) for after in parsed] for before in parsed]),
        start=np.array([prefix in rules.start for prefix, _ in parsed]),
        end=np.array([prefix in rules.end for prefix, _ in parsed]),
    )
    _warn_of_unusable(names, constraints, coding)
    return constraints


class _Follow(NamedTuple):
    """The prefixes that may come next: if they are of the same type, and whatever their type is."""

    same_type: str
    any_type: str


class _Rules(NamedTuple):
    """What may begin and end a sequence, and what may come after each prefix. ``O`` is a prefix without a type."""

    start: str
    end: str
    after: dict[str, _Follow]


def _rules(scheme: Scheme) -> _Rules:
    return _rules_between(scheme) if scheme.only_between else _rules_everywhere(scheme)


def _rules_everywhere(scheme: Scheme) -> _Rules:
    """Of a scheme that writes every span alike: a span goes on after some prefixes, and may be over after some."""
    _, begin, inside, end, single, _ = scheme
    opening, closing = f"{begin}{single}O", f"{end}{single}O"
    after = {
        prefix: _Follow(
            same_type=inside + end if prefix in (begin, inside) else "", any_type=opening if prefix in closing else ""
        )
        for prefix in (*scheme.prefixes, "O")
    }
    return _Rules(opening, closing, after)


def _rules_between(scheme: Scheme) -> _Rules:
    """Of a scheme that marks a span only where another of its type touches it, at its begin (IOB1) or end (IOE1)."""
    inside = scheme.inside
    if scheme.begin != inside:
        mark, free = scheme.begin, f"{inside}O"
        after = {prefix: _Follow(mark, free) for prefix in (mark, inside)}
        return _Rules(free, mark + free, {**after, "O": _Follow("", free)})
    mark, free = scheme.end, f"{inside}{scheme.end}O"
    return _Rules(
        free, f"{inside}O", {inside: _Follow("", free), mark: _Follow(inside + mark, ""), "O": _Follow("", free)}
    )


def _checked(labels: Iterable[str]) -> list[str]:
    if isinstance(labels, str | Set) or not isinstance(labels, Iterable):
        raise InvalidInput(f"labels must be a list of label names in the order of the chain's, found {labels!r}.")
    names = list(labels)
    if not names:
        raise InvalidInput("labels is empty. Name at least one label.")
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise InvalidInput(f"labels[{i}] must be a string such as 'B-PER', found {name!r}.")
        if name in names[:i]:
            raise InvalidInput(f"labels[{i}] is {name!r} again. Name every label once.")
    return names


def _parse(label: str, scheme: Scheme) -> tuple[str, str]:
    """The prefix and the type, which is empty for ``O`` and for labels without a type."""
    prefix, dash, kind = label.partition("-")
    if label == "O" or (prefix in scheme.prefixes and bool(dash) == bool(kind)):
        return prefix, kind
    prefixes = ", ".join(f"{known}-TYPE" for known in scheme.prefixes)
    raise InvalidInput(
        f"label {label!r} is not of the scheme {scheme.names[0]}, which has {prefixes} and O.{_hint(label, scheme)}"
    )


def _hint(label: str, scheme: Scheme) -> str:
    """What was probably meant: the same label written otherwise, or another scheme."""
    first, _, rest = label.replace("_", "-").replace(":", "-").partition("-")
    rest_reversed, _, last = label.replace("_", "-").rpartition("-")
    if first.upper() == "O":
        return " Write 'O', without a type."
    if first.upper() in scheme.prefixes:
        return f" Write {first.upper() + '-' * bool(rest) + rest!r}."
    if last.upper() in scheme.prefixes:
        return f" Write {last.upper() + '-' + rest_reversed!r}: the prefix comes first."
    others = [other.names[0] for other in SCHEMES if first in other.prefixes]
    if others:
        return f" {first!r} belongs to {' and '.join(others)}: choose the scheme that fits all labels."
    return " Use 'O' for what is in no span."


def _may_follow(before: tuple[str, str], after: tuple[str, str], rules: _Rules) -> bool:
    (prefix_before, type_before), (prefix_after, type_after) = before, after
    follow = rules.after[prefix_before]
    return prefix_after in follow.any_type or (prefix_after in follow.same_type and type_before == type_after)


def _warn_of_unusable(names: Sequence[str], constraints: SchemeConstraints, scheme: Scheme) -> None:
    transitions, start, end = constraints
    usable = _reached(start, transitions) & _reached(end, transitions.T)
    if not usable.all():
        unusable = ", ".join(name for name, ok in zip(names, usable, strict=True) if not ok)
        warnings.warn(
            f"No valid {scheme.names[0]} sequence of these labels can contain {unusable}. "
            "Add the labels of the same type that are missing, or check the scheme.",
            stacklevel=3,
        )


def _reached(first: npt.NDArray[np.bool_], transitions: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The labels that some sequence from the first ones comes to."""
    reached = first
    for _ in range(len(first)):
        reached = reached | (reached @ transitions)
    return reached
