"""What a model file means: labels and marginals of a sequence labeler in plain Python, from the file alone.

    python docs/reference_tagger.py model.tw < words.txt    one token a line, tabs between columns, blank lines between

The library is held to it by tests/models/test_reference_tagger.py. It is slow and believes its file. It leaves out
gazetteers, word classes, patterns, names (``as``, ``let:``), templates in the forms of CRF++ and Wapiti,
``decoder="mbr"``, beams, orders, automata.
"""
# ruff: noqa: B905

import itertools
import json
import math
import pathlib
import re
import struct
import sys
import unicodedata

FORBIDDEN = -math.inf
SECRET = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)
KINDS = {"Lu": "X", "Lt": "X", "Ll": "X", "L": "o", "M": "o", "Nd": "0", "N": ".", "P": ".", "S": "."}
TYPES = {"F64": "d", "U64": "Q", "U32": "I", "F32": "f", "U16": "H", "F16": "e", "U8": "B", "I8": "b"}


class Tagger:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        body = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:body])
        self.settings = json.loads(header.pop("__metadata__")["settings"])
        self.tensors = {}
        for name, entry in header.items():
            begin, end = (body + place for place in entry["data_offsets"])
            self.tensors[name] = [x for (x,) in struct.iter_unpack("<" + TYPES[entry["dtype"]], data[begin:end])]
        for kind in ("channel.token", "channel.pair"):
            table = zip(self.tensors.get(f"{kind}.keys", []), self.tensors.get(f"{kind}.slots", []))
            self.tensors[f"{kind}.numbers"] = {key: number for key, number in table if number != 2**32 - 1}
        self.labels, self.bits = self.settings["labels"], self.settings["hash_bits"]
        self.templates = self.settings["templates"] and compiled(self.settings["templates"]["templates"])

    def predict(self, sequence):  # of equally good paths, the one that is smallest read from its end
        start, steps = self.scores(sequence)
        paths = [(score, [y]) for score, y in zip(start, self.labels)]  # the best to each label
        for to in [zip(self.labels, zip(*step)) for step in steps]:
            longer = [[(s + more, [*path, y]) for (s, path), more in zip(paths, scores)] for y, scores in to]
            paths = [max(ways, key=lambda way: way[0]) for ways in longer]
        return max(paths, key=lambda way: way[0])[1][: len(sequence)]

    def marginals(self, sequence):  # [token][label]: forward and backward, in logarithms
        start, steps = self.scores(sequence)
        forward, backward = [start], [[0.0] * len(start)]
        for step in steps:
            forward.append([log_sum(a + b for a, b in zip(forward[-1], column)) for column in zip(*step)])
        for step in reversed(steps):
            backward.append([log_sum(a + b for a, b in zip(backward[-1], row)) for row in step])
        totals = [[a + b for a, b in zip(*rows)] for rows in zip(forward, reversed(backward))]
        return [[math.exp(score) for score in normalised(row)] for row in totals[: len(sequence)]]

    def scores(self, sequence):  # of first labels, and for each later token of [label before][label]
        K, attributes = len(self.labels), self.attributes(sequence)
        unary = [self.of_labels(token, K) for token in attributes[0]] or [[0.0] * K]
        moves = [self.tensors["channel.transitions.weights"]] * (len(unary) - 1)
        if "channel.pair.starts" in self.tensors:
            pairs = [self.sums("channel.pair", token, K * K) for token in attributes[1][1:]]
            moves = [[a + b for a, b in zip(*both)] for both in zip(pairs, moves)]
        unary[0] = self.allowed("start", unary[0])
        unary[-1] = self.allowed("end", unary[-1])
        moves = [self.allowed("transitions", move) for move in moves]
        steps = [[[m[a * K + b] + u[b] for b in range(K)] for a in range(K)] for m, u in zip(moves, unary[1:])]
        if self.settings.get("normalised") == "local":  # a MEMM: each decision has probabilities of its own
            unary[0], steps = normalised(unary[0]), [[normalised(row) for row in step] for step in steps]
        heat = self.settings.get("calibration", {}).get("temperature", 1.0)
        return [s / heat for s in unary[0]], [[[s / heat for s in row] for row in step] for step in steps]

    def of_labels(self, token, K):  # with the weights of their parts, and without labels that the word does not take
        offsets, codes = (self.tensors.get(f"parts.{name}", [0] * (K + 1)) for name in ("offsets", "codes"))
        own = self.sums("channel.token", token, max(K, *codes) + 1 if offsets[-1] else K)
        scores = [own[y] + sum(own[c] for c in codes[slice(*offsets[y : y + 2])]) for y in range(K)]
        keys, starts, labels = (self.tensors.get(f"dictionary.{name}", []) for name in ("keys", "offsets", "labels"))
        word = next((keys.index(key) for key, _ in token if key in keys), None)
        taken = range(K) if word is None else labels[slice(*starts[word : word + 2])]
        return [score if y in taken else FORBIDDEN for y, score in enumerate(scores)]

    def allowed(self, what, scores):
        allowed = self.tensors.get(f"allowed.{what}", [1] * len(scores))
        return [score if may else FORBIDDEN for score, may in zip(scores, allowed)]

    def sums(self, kind, attributes, n_codes):  # weights of many codes are added first, then of few, then of one
        names = ("numbers", "starts", "codes", "weights", "scales")
        known, starts, codes, weights, scales = (self.tensors.get(f"{kind}.{name}") for name in names)
        numbers = [(key >> 64 - self.bits if self.bits else known.get(key), value) for key, value in attributes]
        rows = [(range(*starts[n : n + 2]), value) for n, value in numbers if n is not None]
        rows.sort(key=lambda row: (len(row[0]) < max(5, (n_codes + 7) // 8)) + (len(row[0]) == 1))
        total, scales = [0.0] * n_codes, scales or [1.0]
        for i, value in ((i, value) for row, value in rows for i in row):
            total[codes[i]] += value * single(weights[i] * scales[codes[i] % len(scales)])
        return total

    def attributes(self, sequence):  # (key, value) by token: those that meet its label; the label before as well
        if not self.templates:
            return [[(key_of(name), single(value)) for name, value in named(token)] for token in sequence], None
        rows = [(token,) if isinstance(token, str) else token for token in sequence]
        found = [[] for _ in rows], [[] for _ in rows]
        for (text, pair, parts), t in itertools.product(self.templates, range(len(rows))):
            values = [value_at(rows, t + offset, *view) for view, offset in parts]
            if None not in values:
                key = key_of(text)
                for value in values:  # a text, a number, or True for a place
                    key = fold(key ^ SECRET[0], ((key_of(value) if isinstance(value, str) else 0) or 1) ^ SECRET[1])
                found[pair][t].append((key, single(math.prod(v for v in values if isinstance(v, float)))))
        return found


def log_sum(scores):
    most = max(scores := list(scores))
    return most if most == FORBIDDEN else most + math.log(math.fsum(math.exp(s - most) for s in scores))


def normalised(scores):
    return [s if s == FORBIDDEN else s - log_sum(scores) for s in scores]


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def fold(a, b):
    return a * b % 2**64 ^ a * b >> 64


def key_of(text):
    data, state = text.encode(), SECRET[0]
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, max(len(data), 1), 8)]
    words += [0] * (len(words) % 2)
    for low, high in zip(words[:-2:2], words[1:-2:2]):
        state = fold(low ^ SECRET[1], high ^ state)
    return fold(SECRET[2] ^ len(data), fold(words[-2] ^ SECRET[1], words[-1] ^ state))


def named(token):  # a dict, a list of names or of (name, value), or a row of numbers
    for i, item in enumerate(token.items() if isinstance(token, dict) else token):
        name, value = item if isinstance(item, tuple) else (item, 1.0) if isinstance(item, str) else (f"x[{i}]", item)
        inner = named(value) if isinstance(value, (dict, list)) else [(value, 1.0)] if isinstance(value, str) else None
        yield from [(name, value)] if inner is None else ((f"{name}:{text}", number) for text, number in inner)


def compiled(groups):  # (text, whether it meets label pairs, [(view, offset)]) of each template
    found = []
    for columns, line in [(group["columns"], line) for group in groups for line in group["lines"]]:
        kind, line = re.fullmatch(r"(?:(label|pair|both)\s*:)?(.*)", line).groups()
        factors = [alternatives(term.strip().replace("column ", "c"), columns) for term in line.split("&")]
        for choice in itertools.product(*factors):
            text = "|".join(shown for alternative in choice for shown, *_ in alternative)
            parts = [part[1:] for alternative in choice for part in alternative if part[1] != ("bias",)]
            kinds = {"pair": [True], "both": [False, True]}.get(kind, [False])
            found += [(text, kinds, parts)] if (text, kinds, parts) not in found else []
    return [(text, pair, parts) for text, kinds, parts in found for pair in kinds]


def alternatives(term, columns):  # [[(text, view, offset)]]; a view is a column and what is done to it
    head, column, tail = re.fullmatch(r"((?:\w+\()*)(\w+)(.*)", term).groups()
    functions, given, window, sizes, bag = head.split("(")[:-1], [""], range(1), [1], False
    view = columns.index(column) if column in columns else int(column[1:]) if column[1:].isdigit() else column
    column = columns[view] if isinstance(view, int) and view < len(columns) else column
    views = [(column + "\0" * (column != "bias"), (view,))]
    for offset, number, closed in re.findall(r"\[(.*?)\]|,\s*([\d.]+)|(\))", tail):
        name = functions.pop() if closed else ""
        sizes, bag = given if name == "ngram" else sizes, bag or name == "bag"
        if name not in ("", "ngram", "bag"):
            views = [(f"{name}({s}{a and ','}{a})", (*v, (name, a))) for s, v in views for a in given]
        first, _, last = (offset or number or "0").partition("..")
        numbers = range(int(first), int(last or first) + 1)
        window, given = numbers if offset else window, numbers if number else [""] if closed else given
    for (shown, view), size in itertools.product(views, sizes):
        at = {d: shown.replace("\0", f"[{d}]" if d or shown not in ("begin\0", "end\0") else "") for d in window}
        at = {d: f"bag({shown})".replace("\0", f"[{window[0]}..{window[-1]}]") for d in window} if bag else at
        yield from ([(at[d], view, d) for d in window[i : i + size]] for i in range(len(window) - size + 1))


def value_at(rows, t, column, *functions):
    if not 0 <= t < len(rows) or isinstance(column, str):
        return True if t == {"begin": 0, "end": len(rows) - 1}.get(column) else None
    text = rows[t][column]
    for name, n in functions:
        kinds = [KINDS.get(k, KINDS.get(k[0], "_")) for k in map(unicodedata.category, text)]  # X: cased letters
        kinds = ["x" if k == "X" and c.lower()[0] == c else k for c, k in zip(text, kinds)]
        upper, lower, one = kinds.count("X"), kinds.count("x"), kinds.count("X") == 1 and kinds[0] == "X"
        case = ("mixed" if lower else "upper") if not one else "title" if lower else "initial"
        shape = "".join(c if k in "._" else k for c, k in zip(text, kinds))
        text = {
            "lower": "".join(c.lower()[0] for c in text),
            "prefix": text[: n or None],
            "suffix": text[-(n or 1) :],
            "shape": "".join("".join([*run][: n or None]) for _, run in itertools.groupby(shape)),
            "digits": "".join("0" if k == "0" else c for c, k in zip(text, kinds)),
            "case": case if upper else "lower" if lower else "none",
            "characters": "".join(shown for k, shown in zip("Xxo0._", "Aao0._") if k in kinds),
            "length": str(len(text)),
            "number": single(float(text)) if name == "number" and text not in ("", "_") else None,
        }[name]
    return text


if __name__ == "__main__":
    for filled, lines in itertools.groupby(sys.stdin.read().split("\n"), bool):
        rows = [tuple(line.split("\t")) for line in lines if filled]
        print(*("\t".join((*row, y)) for row, y in zip(rows, Tagger(sys.argv[1]).predict(rows))), sep="\n")
