"""Attributes of templates, evaluated text by text: slow, and too simple to be wrong."""

import re
import unicodedata

_MASK = (1 << 64) - 1
_SECRETS = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)


def fold(a, b):
    product = a * b
    return (product & _MASK) ^ (product >> 64)


def combine(a, b):
    """The key of a combination (core/text/hashing.hpp)."""
    return fold(a ^ _SECRETS[0], b ^ _SECRETS[1])


def hash_text(text):
    """The key of a text (core/text/hashing.hpp)."""
    data = text.encode()
    state = _SECRETS[0]
    left = data
    while len(left) > 16:
        state = fold(int.from_bytes(left[:8], "little") ^ _SECRETS[1], int.from_bytes(left[8:16], "little") ^ state)
        left = left[16:]
    low, high = int.from_bytes(left[:8], "little"), int.from_bytes(left[8:], "little")
    return fold(_SECRETS[2] ^ len(data), fold(low ^ _SECRETS[1], high ^ state))


def lower(character):
    return "i" if character == "İ" else character.lower() if len(character.lower()) == 1 else character


def kind(character):
    """upper, lower, letter, digit, mark, space or other."""
    category = unicodedata.category(character)
    if category in ("Lu", "Lt", "Ll"):
        return "upper" if lower(character) != character else "lower"
    if category[0] in "LM":
        return "letter"
    if category == "Nd":
        return "digit"
    if category[0] in "PSN":
        return "mark"
    return "space" if category[0] == "Z" or character in "\t\n\x0b\x0c\r" else "other"


def shape(text, longest):
    shown = [{"upper": "X", "lower": "x", "letter": "o", "digit": "0"}.get(kind(c), c) for c in text]
    runs = []
    for character in shown:
        if runs and runs[-1][0] == character:
            runs[-1] += character
        else:
            runs.append(character)
    return "".join(run[:longest] if longest else run for run in runs)


def case(text):
    kinds = [kind(character) for character in text]
    upper, lower_ = kinds.count("upper"), kinds.count("lower")
    if not upper and not lower_:
        return "none"
    if not upper:
        return "lower"
    first = kinds[0] == "upper" and upper == 1
    if not lower_:
        return "initial" if first else "upper"
    return "title" if first else "mixed"


def characters(text):
    kinds = {kind(character) for character in text}
    shown = [("upper", "A"), ("lower", "a"), ("letter", "o"), ("digit", "0"), ("mark", ".")]
    return "".join(letter for name, letter in shown if name in kinds) + ("_" if kinds & {"space", "other"} else "")


def stepped(text, steps, search, classes):
    """What becomes of a text; None for nothing. `search` finds a pattern: (op, pattern, text) -> text or None."""
    for op, n, argument in steps:
        if op == "lower":
            text = "".join(map(lower, text))
        elif op == "ascii_lower":
            text = "".join(c.lower() if c.isascii() else c for c in text)
        elif op == "prefix":
            text = text[:n]
        elif op == "suffix":
            text = text[-n:]
        elif op == "shape":
            text = shape(text, n)
        elif op == "digits":
            text = "".join("0" if kind(c) == "digit" else c for c in text)
        elif op == "case":
            text = case(text)
        elif op == "characters":
            text = characters(text)
        elif op == "length":
            text = str(len(text))
        elif op == "replace":
            pattern, replacement = argument.split("\0")
            text = re.sub(pattern, lambda match, new=replacement: new if match[0] else "", text)
        elif op == "class":
            text = classes[argument].get(text)
        else:
            found = search(op, argument, text)
            text = {
                "matches": None if found is None else "yes",
                "match": found,
                "test": "false" if found is None else "true",
                "match_or_empty": found or "",
            }[op]
        if text is None:
            return None
    return text


def gazetteer_values(tokens, entries):
    """For every token its place in the longest entry that begins earliest, and the class; None outside."""
    values = [None] * len(tokens)
    at = 0
    while at < len(tokens):
        sizes = [size for size in range(len(tokens) - at, 0, -1) if tuple(tokens[at : at + size]) in entries]
        if not sizes:
            at += 1
            continue
        size = sizes[0]
        cls = entries[tuple(tokens[at : at + size])]
        for i in range(size):
            place = "S" if size == 1 else "B" if i == 0 else "E" if i == size - 1 else "I"
            values[at + i] = place + ("-" + cls if cls else "")
        at += size
    return values


def outside_text(style, distance):
    """distance < 0 before the sequence, > 0 behind it."""
    sign, far = ("-" if distance < 0 else "+"), abs(distance)
    if style == "wapiti":
        return f"_x{sign}{far if far <= 4 else '#'}"
    return f"_B{sign}{far}"


class Evaluator:
    """Attributes of one sequence of rows. Classes are dicts; gazetteers are lists of (tokens, class)."""

    def __init__(self, rows, search, classes=None, gazetteers=None):
        self.rows = rows
        self.search = search
        self.classes = classes or {}
        self.gazetteers = gazetteers or {}

    def attributes(self, templates, meets="label"):
        """For every token: (name, key, value) of its attributes. The first token has no label before it."""
        return [
            [
                found
                for template in templates
                if meets in template.meets and not (meets == "pair" and token == 0)
                for found in [self.attribute(template, token)]
                if found is not None
            ]
            for token in range(len(self.rows))
        ]

    def attribute(self, template, token):
        values, number = [], 1.0
        for part in template.parts:
            at = self.position(part, token)
            if part.view.kind == "number":
                if not 0 <= at < len(self.rows) or self.rows[at][part.view.column] in ("", "_"):
                    return None
                number *= float(self.rows[at][part.view.column])
                values.append(None)
                continue
            value = self.value(part.view, at)
            if value is None:
                return None
            values.append(value)
        return self.name(template, values), self.key(template, values), number

    def position(self, part, token):
        if part.mode == "@":
            return len(self.rows) + part.offset if part.offset < 0 else part.offset - 1
        if part.mode == "*":
            return token + int(self.rows[token][part.offset])
        return token + part.offset

    def value(self, view, at):
        if view.kind in ("begin", "end"):
            return True if at == (0 if view.kind == "begin" else len(self.rows) - 1) and self.rows else None
        if not 0 <= at < len(self.rows):
            if not view.outside:
                return None
            text = outside_text(view.outside, at if at < 0 else at - len(self.rows) + 1)
            return stepped(text, view.steps, self.search, self.classes)
        if view.kind == "gazetteer":
            tokens = [stepped(row[view.column], view.steps, self.search, self.classes) for row in self.rows]
            entries = {}
            for entry, cls in self.gazetteers[view.resource]:
                entries.setdefault(tuple(stepped(token, view.steps, self.search, self.classes) for token in entry), cls)
            return gazetteer_values(tokens, entries)[at]
        return stepped(self.rows[at][view.column], view.steps, self.search, self.classes)

    def name(self, template, values):
        if "\1" in template.text or template.text.startswith("\2"):
            text = template.text
            for part, value in zip(template.parts, values, strict=True):
                hidden = part.view.steps and part.view.steps[-1][0] == "matches"
                if isinstance(value, str) and not hidden:
                    text = text.replace("\1", "\2" + value.replace("\1", ""), 1)
            return text.replace("\2", "")
        shown = [value for value in values if isinstance(value, str)]
        return template.text + ("=" + "|".join(shown) if shown else "")

    def key(self, template, values):
        key = hash_text(template.text)
        for value in values:
            key = combine(key, hash_text(value) if isinstance(value, str) else 1)
        return key
