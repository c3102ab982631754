"""What is in a model, and a reader of the text that CRFsuite prints of one."""

from __future__ import annotations

import re

__all__ = ["CRFsuiteDumpParser", "ParsedDump"]


class ParsedDump:
    """What is in a model, as `Tagger.info` gives it.

    Attributes
    ----------
    header : dict of str
        What the file's header says.
    labels, attributes : dict
        From names to numbers, as text.
    transitions : dict
        From (label, label) to weights, with six decimals.
    state_features : dict
        From (attribute, label) to weights.
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


_SECTION = re.compile(r"(FILEHEADER|LABELS|ATTRIBUTES|TRANSITIONS|STATE_FEATURES) = {")
_FEATURE = re.compile(r"\(\d+\) (.+) --> (.+): ([+-]?\d+\.\d+)")


class CRFsuiteDumpParser:
    """Reads the text of a dump line by line; ``result`` has what was found.

    Names with a line end in them cannot be read back from the text: `Tagger.info` does not take this way.

    Examples
    --------
    >>> parser = CRFsuiteDumpParser()
    >>> for line in ("LABELS = {\\n", "      0: N\\n", "}\\n"):
    ...     parser.feed(line)
    >>> parser.result.labels
    {'N': '0'}
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.result = ParsedDump()

    def feed(self, line: str) -> None:
        """Take the next line."""
        line = line.lstrip().rstrip("\r\n")  # names may end with blanks
        if not line:
            return
        if section := _SECTION.match(line):
            self.state = section[1]
        elif line == "}":
            self.state = None
        else:
            getattr(self, f"parse_{self.state}")(line)

    def parse_FILEHEADER(self, line: str) -> None:
        name, value = _parts(r"(\w+): (.*)", line)
        self.result.header[name] = value

    def parse_LABELS(self, line: str) -> None:
        number, name = _parts(r"(\d+): (.*)", line)
        self.result.labels[name] = number

    def parse_ATTRIBUTES(self, line: str) -> None:
        number, name = _parts(r"(\d+): (.*)", line)
        self.result.attributes[name] = number

    def parse_TRANSITIONS(self, line: str) -> None:
        before, after, weight = _parts(_FEATURE.pattern, line)
        self.result.transitions[before, after] = float(weight)

    def parse_STATE_FEATURES(self, line: str) -> None:
        attribute, label, weight = _parts(_FEATURE.pattern, line)
        self.result.state_features[attribute, label] = float(weight)


def _parts(pattern: str, line: str) -> tuple[str, ...]:
    found = re.match(pattern, line)
    if found is None:
        raise ValueError(f"this is not a line of a dump: {line!r}. Does a name have a line end in it?")
    return found.groups()
