"""Wapiti's regular expressions by trying everything, after the description in its source (src/pattern.c)."""


def matches_one(item, character):
    if item == ".":
        return True
    if item[0] == "\\":
        kinds = {
            "a": str.isalpha,
            "d": str.isdigit,
            "l": str.islower,
            "u": str.isupper,
            "w": str.isalnum,
            "s": str.isspace,
            "p": lambda c: c.isascii() and c.isprintable() and not c.isalnum() and not c.isspace(),
        }
        if item[1].lower() in kinds and item[1].isascii():
            return kinds[item[1].lower()](character) == item[1].islower()
        return item[1] == character
    return item == character


def ends(items, text, at):
    """Where matches that begin here end, in the order in which Wapiti tries them: * shortest first, ? longest first."""
    if not items:
        yield at
        return
    (item, repeat), rest = items[0], items[1:]
    if item == "$":
        if at == len(text):
            yield at
        return
    here = at < len(text) and matches_one(item, text[at])
    if repeat == "*":
        yield from ends(rest, text, at)
        if here:
            yield from ends(items, text, at + 1)
    elif repeat == "?":
        if here:
            yield from ends(rest, text, at + 1)
        yield from ends(rest, text, at)
    elif here:
        yield from ends(rest, text, at + 1)


def search(items, anchored, text):
    """The leftmost match of a list of (item, "" or "*" or "?"), or None."""
    for start in range(1 if anchored else len(text) + 1):
        for end in ends(items, text, start):
            return text[start:end]
    return None
