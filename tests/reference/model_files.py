"""Model files of CRFsuite, Wapiti and CRF++, field after field as their formats are described; nothing is checked.

What is read of a file gives the scores of a sequence, by definition: those of labels at each token, and those of label
pairs at each token but the first.
"""

import re
import struct
from typing import NamedTuple

import numpy as np


class CrfsuiteModel(NamedTuple):
    labels: list[bytes]
    attributes: list[bytes]
    state: dict[tuple[int, int], float]  # (attribute, label); a feature that is listed twice is added twice
    moves: dict[tuple[int, int], float]  # (label, label); of a feature that is listed twice the last counts

    def scores(self, items):
        """Of items that are lists of (name in bytes, value)."""
        numbers = {name: i for i, name in enumerate(self.attributes)}
        rows: dict[int, list[tuple[int, float]]] = {}
        for (attribute, label), weight in self.state.items():
            rows.setdefault(attribute, []).append((label, weight))
        unary = np.zeros((len(items), len(self.labels)))
        for t, item in enumerate(items):
            for name, value in item:
                for label, weight in rows.get(numbers.get(name, -1), ()):
                    unary[t, label] += value * weight
        moves = np.zeros((len(self.labels), len(self.labels)))
        for pair, weight in self.moves.items():
            moves[pair] = weight
        return unary, np.broadcast_to(moves, (max(len(items) - 1, 0), *moves.shape))


def read_crfsuite(data):
    """Return what a model file of CRFsuite holds: all integers have 32 bits, offsets are from the file's beginning."""
    words = struct.unpack_from("<12I", data)
    assert (data[:4], data[8:12], words[3]) == (b"lCRF", b"FOMC", 100)
    n_labels, n_attributes = words[5:7]
    feat, label_names, attribute_names, label_references, attribute_references = words[7:]
    n_features = struct.unpack_from("<I", data, feat + 8)[0]
    features = [struct.unpack_from("<IIId", data, feat + 12 + 20 * i) for i in range(n_features)]
    state: dict[tuple[int, int], float] = {}
    moves: dict[tuple[int, int], float] = {}
    for attribute in range(n_attributes):
        for number in _references(data, attribute_references, attribute):
            _, _, label, weight = features[number]
            state[attribute, label] = state.get((attribute, label), 0.0) + weight
    for before in range(n_labels):
        for number in _references(data, label_references, before):
            _, _, after, weight = features[number]
            moves[before, after] = weight
    names = [_strings(data, at, n) for at, n in ((label_names, n_labels), (attribute_names, n_attributes))]
    return CrfsuiteModel(*names, state, moves)


def _references(data, chunk, i):
    """The numbers of the features of one label or attribute."""
    at = struct.unpack_from("<I", data, chunk + 12 + 4 * i)[0]
    count = struct.unpack_from("<I", data, at)[0]
    return struct.unpack_from(f"<{count}I", data, at + 4)


def _strings(data, database, n):
    """The strings of a database by their numbers: by its backward array, which has the offset of each record."""
    backward = struct.unpack_from("<I", data, database + 20)[0]
    found = []
    for i in range(n):
        record = database + struct.unpack_from("<I", data, database + backward + 4 * i)[0]
        number, size = struct.unpack_from("<II", data, record)
        assert number == i
        found.append(data[record + 8 : record + 8 + size - 1])
    return found


class PatternModel(NamedTuple):
    """A model of Wapiti or CRF++: observations are patterns with every macro replaced."""

    program: str
    labels: list[str]
    patterns: list[str]
    unigrams: dict[str, np.ndarray]
    pairs: dict[str, np.ndarray]
    factor: float

    def scores(self, x):
        """Of a sequence of tuples of columns."""
        n = len(self.labels)
        unary, moves = np.zeros((len(x), n)), np.zeros((max(len(x) - 1, 0), n, n))
        for t in range(len(x)):
            for text in (observed(self.program, pattern, x, t) for pattern in self.patterns):
                if text in self.unigrams:
                    unary[t] += self.unigrams[text]
                if t > 0 and text in self.pairs:
                    moves[t - 1] += self.pairs[text]
        return self.factor * unary, self.factor * moves


def observed(program, line, x, t):
    """The text of a pattern at a token: the macros replaced, one after the other."""

    def cell(t, column):
        if 0 <= t < len(x):
            return x[t][column]
        outside = f"{t:+d}" if t < 0 else f"{t - len(x) + 1:+d}"
        if program == "crfpp":
            return f"_B{outside}"
        return f"_x{outside}" if abs(int(outside)) <= 4 else f"_x{outside[0]}#"

    def value(macro):
        command, absolute, row, column, pattern = macro.groups()
        at = int(row) - 1 if absolute else t + int(row)
        text = cell(at, int(column))
        if pattern is not None:
            found = re.search(pattern.replace("\\u", "[A-Z]"), text)
            text = (found[0] if found else "") if command == "m" else "true" if found else "false"
        return "".join(c.lower() if c.isascii() else c for c in text) if command.isupper() else text

    return re.sub(r'%([xtmX])\[(@?)([-+]?\d+),(\d+)(?:,"([^"]*)")?\]', value, line)


def read_wapiti(data):
    """Return what a model file of Wapiti holds, whose regular expressions are as simple as Python's."""
    at = 0

    def line():
        nonlocal at
        begin, at = at, data.index(b"\n", at) + 1
        return data[begin : at - 1].decode()

    def netstring():
        nonlocal at
        colon = data.index(b":", at)
        begin, size = colon + 1, int(data[at:colon])
        at = begin + size + 2
        return data[begin : begin + size].decode()

    n_active = int(line().split("#")[-1])
    patterns = [netstring() for _ in range(int(line().removeprefix("#rdr#").split("/")[0]))]
    labels, observations = ([netstring() for _ in range(int(line().removeprefix("#qrk#")))] for _ in range(2))
    n = len(labels)
    sizes = [{"u": n, "b": n * n, "*": n + n * n}[text[0]] for text in observations]
    weights = np.zeros(sum(sizes))
    for _ in range(n_active):
        index, value = line().split("=")
        weights[int(index)] = float.fromhex(value)
    unigrams, pairs, first = {}, {}, 0
    for text, size in zip(observations, sizes, strict=True):
        own, first = weights[first : first + size], first + size
        if text[0] in "u*":
            unigrams[text], own = own[:n], own[n:]
        if text[0] in "b*":
            pairs[text] = own.reshape(n, n)
    return PatternModel("wapiti", labels, patterns, unigrams, pairs, 1.0)


def read_crfpp(data):
    """Return what a text model file of CRF++ holds."""
    header, labels, templates, features, weights = data.decode().split("\n\n", 4)
    factor = float(re.search(r"^cost-factor: (.*)$", header, re.MULTILINE)[1])
    numbers, names = np.array([float(weight) for weight in weights.split()]), labels.split("\n")
    n = len(names)
    unigrams, pairs = {}, {}
    for index, text in (feature.split(" ", 1) for feature in features.split("\n")):
        at = int(index)
        if text[0] == "U":
            unigrams[text] = numbers[at : at + n]
        else:
            pairs[text] = numbers[at : at + n * n].reshape(n, n)
    return PatternModel("crfpp", names, templates.split("\n"), unigrams, pairs, factor)


def best_labels(unary, moves):
    """Return the best labelling; of equal ones that with the lowest labels, from the end backwards."""
    best, back = unary.copy(), np.zeros(unary.shape, dtype=int)
    for t in range(1, len(unary)):
        arrivals = best[t - 1][:, None] + moves[t - 1]
        back[t], best[t] = arrivals.argmax(axis=0), arrivals.max(axis=0) + unary[t]
    labels = [int(best[-1].argmax())]
    for t in range(len(unary) - 1, 0, -1):
        labels.append(int(back[t][labels[-1]]))
    return labels[::-1]
