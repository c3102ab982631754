"""Good input, from which the fuzzer makes bad."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np

import trelliswork as tw
from trelliswork import _core, models
from trelliswork.features.templates import Templates

__all__ = [
    "COLUMNS",
    "CONLLU",
    "CSV",
    "JSONL",
    "LABELS",
    "MODEL",
    "TEMPLATES",
    "TEXT",
    "WORDS",
    "Nearest",
    "crfpp_model",
    "crfsuite_fields",
    "crfsuite_models",
    "hashed_model",
    "saved_estimators",
    "wapiti_model",
]

LABELS = ["O", "B-X", "I-X"]
COLUMNS = [
    "Rain NN B-NP\nfell VBD B-VP\n. . O\n\nStop VB B-VP\n",
    "# comment\nRain\tNN\r\nfell\tVBD\r\n\r\n-DOCSTART- -X-\n\nNew York\tNNP\n",
    "\ufeffé N\n\n\n \n\t\nx y\n",
]
CONLLU = [
    "# sent_id = 1\n# text = It's.\n1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_\n1\tIt\tit\tPRON\tPRP\tCase=Nom\t2\tnsubj\t_\t_\n"
    "2\t's\tbe\tAUX\tVBZ\t_\t0\troot\t0:root\tSpaceAfter=No\n2.1\te\te\tX\t_\t_\t_\t_\t2:dep\t_\n3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_\n\n"
]
CSV = [
    'Sentence #,Word,POS,Tag\n1,Rain,NN,B-NP\n,"fell, ""hard""",VBD,B-VP\n2,Stop,VB,B-VP\n',
    "word,tag\r\na,X\r\n\r\nb,Y\r\n",
]
JSONL = [
    '{"tokens": ["Rain", "fell"], "labels": ["B-X", "O"]}\n{"text": "Rain fell", "spans": [[0, 4, "X"]]}\n',
    '{"text": "In New York", "entities": [{"start": 3, "end": 11, "label": "LOC"}]}\n',
    '{"data": {"text": "a b"}, "annotations": [{"result": [{"value": {"start": 0, "end": 1, "labels": ["X"]}}]}]}\n',
    '[\n {"tokens": ["a"], "labels": ["O"], "answer": "reject"},\n {"text": "],[", "label": []}\n]\n',
]
TEXT = ["Rain fell. It's late, isn't it?\nTwo lines.\n\n", "no end", "tabs\tand\u2028separators\x0cin it\n"]
TEMPLATES = [
    "word[-2..2]\nngram(word[-1..1], 2)\npos[0]\nlower(word) & pos[-1]\nbegin\nend\n",
    "suffix(word, 1..3)\nprefix(word, 2)\nshape(word[0])\npair: word\n",
    "U00:%x[-2,0]\nU01:%x[-1,0]/%x[0,0]\nU02:%x[0,1]\nB\n",
    'U:wrd-1=%x[-1,0]\n*:two=%X[0,0]/%x[0,1]\nu:sfx=%m[0,0,"..$"]\nb:cap=%t[0,0,"^\\u"]\n*\n',
    'matches(word, "^[A-Z][a-z]+$")\nmatch(word, "(a|b)*[0-9]{1,3}?")\ngazetteer("names.txt", lower(word))\n'
    'prefix(class("classes.txt", word), 2)\nnumber(column 2)\nbag(word[-4..4])\nshape(word, 1)\n',
    "word\nspan: first.word & last.word & size(1,5)\nspan: before.pos[-1..0] & after.word[1]\nngram: word & pos[-1]\n",
    'span: gazetteer("names.txt", lower(whole.word))\nspan: outline(shape(word, 1), 2) & whole.pos\nspan: begin & end\n'
    'span: number(first.c2)\nspan: class("classes.txt", whole.word)\nspan: ngram(first.pos[0..2], 2)\n',
]
WORDS = [
    *[
        "Rain",
        "fell",
        "NN",
        "é",
        "-DOCSTART-",
        "#",
        "%x[0,0]",
        "%m[",
        "[-1..1]",
        "word",
        "pos",
        "ngram(",
        "(a*)*",
        "[^",
    ],
    *["{", "}", '"', "[[[[", ":", ",", "null", "-1", "1e999", "4294967296", "99999999999999999999", "pair:", "B", "*"],
    *[
        "\\u",
        "\\p",
        "(a*)*",
        "{1,1000}",
        "(((((",
        "a{65535}",
        "labels",
        "shape",
        "dtype",
        "U64",
        "data_offsets",
        "0",
        "/",
    ],
    *[
        "\t",
        "|",
        "&",
        "..",
        "@",
        ".",
        "span:",
        "ngram:",
        "first.",
        "last.",
        "before.",
        "after.",
        "whole.",
        "outline(",
        "size",
    ],
]


def _trained() -> dict[str, np.ndarray]:
    """A model that knows the attributes of a few sentences; some have one weight, some all; a pair attribute too."""
    rng = np.random.default_rng(1)
    tensors: dict[str, np.ndarray] = {"channel.transitions.weights": rng.normal(size=9).astype(np.float32)}
    for prefix, n_codes, code in (("channel.token", 3, np.uint8), ("channel.pair", 9, np.uint16)):
        source = _core.ColumnSource(_core.parse_columns(COLUMNS[0].encode()), _templates().extractor())
        keys = np.unique(source.attribute_arrays(0, source.n_sequences, prefix.removeprefix("channel."))[1])
        rows = [np.sort(rng.permutation(n_codes)[: rng.integers(1, n_codes + 1)]) for _ in keys]
        tensors[f"{prefix}.keys"], tensors[f"{prefix}.slots"] = _core.key_table(keys)
        tensors[f"{prefix}.starts"] = np.cumsum([0, *map(len, rows)]).astype(np.uint32)
        tensors[f"{prefix}.codes"] = np.concatenate(rows).astype(code)
        tensors[f"{prefix}.weights"] = rng.normal(size=len(tensors[f"{prefix}.codes"])).astype(np.float32)
        tensors[f"{prefix}.names.text"] = np.frombuffer(b"name" * len(keys), dtype=np.uint8)
        tensors[f"{prefix}.names.ends"] = np.arange(1, len(keys) + 1, dtype=np.uint32) * 4
    tensors["allowed.start"] = np.array([1, 1, 0], dtype=np.uint8)
    return tensors


def _templates() -> Templates:
    return Templates("word[-1..1]\npos[0]\nsuffix(word, 2)\npair: pos\n")


def _settings() -> dict[str, object]:
    return {"kind": "sequence-labeler", "labels": LABELS, "templates": _templates().to_dict()}


MODEL = models.dumps(_trained(), _settings())


@functools.cache
def hashed_model(bits: int = 5) -> bytes:
    """The same kind of model without a table, rounded to int8."""
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 4, size=2**bits)
    labels = np.concatenate([np.arange(n) for n in counts])
    tensors = {
        "channel.token.starts": np.cumsum([0, *counts]).astype(np.uint32),
        "channel.token.codes": labels.astype(np.uint8),
        "channel.token.weights": rng.normal(size=len(labels)).astype(np.float32),
        "channel.transitions.weights": rng.normal(size=9).astype(np.float32),
    }
    return models.dumps(models.quantize(tensors, "int8"), _settings() | {"hash_bits": bits})


class Nearest(tw.Structure):
    """One of three numbers, for a `StructuredPredictor`."""

    n_features = 3

    def outputs(self, x: float) -> list[int]:
        return [0, 1, 2]

    def features(self, x: float, y: int) -> dict[int, float]:
        return {y: x}


@functools.cache
def saved_estimators() -> dict[str, bytes]:
    """Files of every estimator but the sequence labeler."""
    X, y = [["the", "dog", "barks"], ["a", "Cat"], ["the", "man"]], [["A", "B", "C"], ["A", "B"], ["A", "B"]]
    rows, classes = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["a", "b", "c"]
    dicts = [{"word": "dog", "length": 3}, {"word": "cat"}, {"length": 2}]
    made = {
        "hmm": tw.HMM().fit(X, y),
        "uniform": tw.HMM(unknown="uniform", use_stop=False).fit(X, y),
        "committee": tw.Committee(tw.HMM(), tw.SequenceLabeler("perceptron"), folds=3).fit(X, y),
        "rows": tw.MulticlassClassifier("crf").fit(rows, classes),
        "dicts": tw.MulticlassPerceptron(epochs=2).fit(dicts, [1, 2, 2]),
        "structured": tw.StructuredPredictor(Nearest(), "perceptron").fit([1.0, -1.0], [0, 1]),
    }
    files = {}
    chains = [("order 2", 2), ("order 3", 3)]
    templates = Templates("word[-1..1]\npair: word\nngram: bias\n")
    words, labels = [["Rain", "fell", "on", "Rain"]] * 2, [["A", "B", "C", "A"], ["B", "A", "A", "C"]]
    made |= {
        name: tw.SequenceLabeler(tw.CRF(tol=0.1), templates, order=order).fit(words, labels) for name, order in chains
    }
    spans = Templates("word\nspan: whole.word\nspan: size\n")
    made["segments"] = tw.SegmentLabeler(tw.CRF(tol=0.1), spans).fit(words, [[(0, 2, "A")], [(1, 4, "B")]])
    for name, estimator in made.items():
        file = io.BytesIO()
        estimator.save(file)
        files[name] = file.getvalue()
    return files


@functools.cache
def crfsuite_models() -> tuple[bytes, ...]:
    """Model files of CRFsuite: one of every kind of name and weight, one larger, and one without attributes."""
    labels, names = LABELS, [f"w={word}" for word in ("Rain", "fell", "é", "a\nb", "")]
    starts = np.array([0, 3, 4, 5, 6, 8], dtype=np.uint32)
    codes = np.array([0, 1, 2, 0, 1, 2, 0, 2], dtype=np.uint32)
    weights = np.array([0.5, -1.0, 2.0, 1.5, -0.25, 1e-9, 3.0, -3.0])
    moves = np.array([0.5, 0.0, -2.0, 0.0, 1.0, 0.0, 0.25, 0.0, 0.125])
    rng = np.random.default_rng(3)
    many = [f"w={word}{i}" for i in range(20) for word in ("Rain", "", "[-1]:")] + ["w=Rain", "w="]
    rows = np.arange(0, 4 * len(many) + 1, 4, dtype=np.uint32)
    of_rows = np.concatenate([np.sort(rng.permutation(12)[:4]) for _ in many]).astype(np.uint32)
    larger = [f"L{i}" for i in range(12)]
    none = np.zeros(1, dtype=np.uint32), np.zeros(0, dtype=np.uint32), np.zeros(0)
    return (
        _core.crfsuite_bytes(labels, names, starts, codes, weights, moves)[0],
        _core.crfsuite_bytes(larger, many, rows, of_rows, rng.normal(size=len(of_rows)), rng.normal(size=144))[0],
        _core.crfsuite_bytes(["A"], [], *none, np.ones(1))[0],
    )


@functools.cache
def crfsuite_fields(data: bytes) -> dict[str, list[int]]:
    """Where the integers of a model file of CRFsuite are, by what they are."""

    def word(at: int) -> int:
        return int.from_bytes(data[at : at + 4], "little")

    fields: dict[str, list[int]] = {"header": [4 * i for i in range(12)]}
    features, *databases, of_labels, of_attributes = (word(28 + 4 * i) for i in range(5))
    fields["features"] = [features + 4 * i for i in range(3)]
    fields["feature"] = [features + 12 + 20 * i + 4 * j for i in range(word(features + 8)) for j in range(5)]
    for name in ("database", "table", "slot", "record", "backward", "references", "list"):
        fields[name] = []
    for at in databases:
        fields["database"] += [at + 4 * i for i in range(6)]
        for table in range(at + 24, at + 24 + 8 * 256, 8):
            fields["table"] += [table, table + 4]
            first, n_slots = at + word(table), word(table + 4)
            fields["slot"] += [first + 4 * i for i in range(2 * n_slots)]
        n, backward = word(at + 16), at + word(at + 20)
        fields["backward"] += [backward + 4 * i for i in range(n)]
        fields["record"] += [at + word(backward + 4 * i) + 4 * j for i in range(n) for j in range(2)]
    for at in (of_labels, of_attributes):
        offsets = [at + 12 + 4 * i for i in range(word(at + 8))]
        fields["references"] += [at, at + 4, at + 8, *offsets]
        for begin in filter(None, map(word, offsets)):
            fields["list"] += [begin + 4 * i for i in range(1 + word(begin))]
    return {name: places for name, places in fields.items() if places}


@functools.cache
def wapiti_model() -> bytes:
    """A model file of Wapiti."""
    return models.to_wapiti(
        *_of_templates('*\nu:%x[-1,0]/%x[0,0]\n*:%X[0,0]%x[1,0]\nu:%m[0,0,"..$"]\nb:%t[0,0,"^\\u"]\nb')
    )


@functools.cache
def crfpp_model() -> bytes:
    """A text model file of CRF++."""
    return models.to_crfpp(*_of_templates("U00:%x[-1,0]/%x[0,0]\nU01:%x[0,0]%x[1,0]\nB01:%x[0,0]\nB"))


def _of_templates(text: str) -> tuple[Any, Any]:
    labeler = tw.SequenceLabeler(features=Templates(text))
    return labeler.fit([["Rain", "fell", "on"], ["é", "Rain"]], [LABELS, LABELS[1:]]).exported()
