"""What is fuzzed: for each target, how a case is made from random numbers, and what may come of it.

A case either works or is refused with the library's own error. Everything else is a failure: another exception, an
answer that contradicts itself, a crash, a hang, memory without end.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mutations import mutated
from samples import (
    COLUMNS,
    CONLLU,
    CSV,
    JSONL,
    LABELS,
    MODEL,
    TEMPLATES,
    TEXT,
    WORDS,
    Nearest,
    crfpp_model,
    crfsuite_fields,
    crfsuite_models,
    hashed_model,
    saved_estimators,
    wapiti_model,
)

import trelliswork as tw
from trelliswork import _core, models
from trelliswork.corpora import Treebank, read_columns, read_conllu, read_csv, read_jsonl, read_text, read_treebank
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.features.templates import Templates

__all__ = ["TARGETS"]


class Target(NamedTuple):
    make: Callable[[random.Random], bytes]
    check: Callable[[bytes, random.Random], None]


# ---- models ----------------------------------------------------------------------------------------------------------


def damaged_model(rng: random.Random) -> bytes:
    """A model file with some bytes changed; the checksum notices nearly all of them."""
    return mutated(rng.choice([MODEL, hashed_model()]), rng, WORDS)


def hostile_model(rng: random.Random) -> bytes:
    """A model file whose tensors and header were changed, and whose checksum is right."""
    return hostile(rng.choice([MODEL, hashed_model()]), rng, ["labels", "hash_bits", "templates"])


def hostile_estimator(rng: random.Random) -> bytes:
    """The same of the files of estimators other than the sequence labeler."""
    data = rng.choice(list(saved_estimators().values()))
    return hostile(data, rng, list(models.loads(data)[1]))


def hostile(data: bytes, rng: random.Random, settings_changed: list[str]) -> bytes:
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size : -8])
    names = [name for name in header if name not in ("__metadata__", "checksum")]
    for _ in range(rng.randint(0, 4)):  # bytes that are numbers: offsets, labels, keys
        at = rng.randrange(len(body))
        width = rng.choice([1, 1, 2, 4, 8])
        value = rng.choice([0, 1, 2, 3, 127, 128, 255, 256, 2**16 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1])
        body[at : at + width] = (value % 256**width).to_bytes(width, "little")[: len(body) - at]
    for _ in range(rng.choice([0, 0, 1, 2])):
        entry = header[rng.choice(names)]
        what = rng.randrange(4)
        if what == 0:
            entry["dtype"] = rng.choice(["U8", "U16", "U32", "U64", "I8", "F16", "F32", "F64", "", 1])
        elif what == 1:
            entry["shape"] = rng.choice([[], [0], [1], [-1], [2**63], [2, 2], [9], {}, None, [1.0], [True]])
        elif what == 2:
            entry["data_offsets"] = [rng.choice([0, 8, -8, 2**40, len(body), len(body) // 2]) for _ in range(2)]
        else:  # give its place to another
            first, second = rng.choice(names), rng.choice(names)
            header[first], header[second] = header[second], header[first]
    if rng.random() < 0.3:
        settings = json.loads(header["__metadata__"]["settings"])
        settings[rng.choice(settings_changed)] = rng.choice(
            [None, [], ["A"], LABELS * 2, ["A", "B", "\ud800"], 1, 5, 31, -1, True, {}, "x", 1e308]
        )
        header["__metadata__"]["settings"] = json.dumps(settings)
    text = json.dumps(header).encode()
    out = len(text).to_bytes(8, "little") + text + bytes(body)
    return out + _core.checksum(out).to_bytes(8, "little")


def check_model(data: bytes, rng: random.Random) -> None:
    try:
        opened = models.open_model(data, expand=rng.choice(["now", "never", "auto"]))
    except InvalidInput:
        return
    model = opened.model
    for number in range(min(model.n_attributes, 50)):
        model.name(number)
    try:
        templates = Templates.from_dict(opened.settings.get("templates"))
        n_columns = templates.n_columns
    except InvalidInput:
        return
    text = columns_text(rng, max(1, n_columns))
    try:
        one = model.tag_columns(text, templates.extractor(), opened.labels, n_jobs=1)
        assert model.tag_columns(text, templates.extractor(), opened.labels, n_jobs=3) == one
        model.tag_columns(text, templates.extractor(), opened.labels, output="marginals")
        source = _core.ColumnSource(_core.parse_columns(text), templates.extractor())
        model.known(source)
        if source.n_sequences:
            model.contributions(source, 0)
            model.contributions(source, source.n_sequences - 1, "pair")
    except ValueError as error:
        refused_by_core(error)


def check_estimator(data: bytes, rng: random.Random) -> None:
    try:
        model = tw.load(data, structure=Nearest() if b'"structured-predictor"' in data else None)
    except InvalidInput:
        return
    X: Any = [[rng.choice(WORDS) for _ in range(rng.randint(0, 5))] for _ in range(3)]
    if isinstance(model, tw.MulticlassClassifier | tw.MulticlassPerceptron):
        X = [{"word": rng.choice(WORDS), "length": 2.0}] if model._shape.columns is not None else [[0.5, 1.0]]
    elif isinstance(model, tw.StructuredPredictor):
        X = [0.5, -1.0]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.UnknownAttributes)
            assert len(model.predict(X)) == len(X)
    except ValueError as error:
        refused_by_core(error)


def columns_text(rng: random.Random, n_columns: int) -> bytes:
    rows = [" ".join(rng.choice(WORDS) for _ in range(n_columns)) for _ in range(rng.randint(0, 30))]
    return "\n".join(row if rng.random() < 0.8 else "" for row in rows).encode()


def refused_by_core(error: ValueError) -> None:
    """The core raises ValueError itself, with a sentence; a subclass that is not ours is something else."""
    if not isinstance(error, InvalidInput) and (type(error) is not ValueError or not str(error)):
        raise error


# ---- models of CRFsuite ----------------------------------------------------------------------------------------------


def hostile_crfsuite(rng: random.Random) -> bytes:
    """A model file of CRFsuite with other numbers where its numbers are, cut off, or with bytes changed."""
    good = rng.choice(crfsuite_models())
    data, fields = bytearray(good), crfsuite_fields(good)
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5])):
        places = fields[rng.choice(list(fields))]
        at = rng.choice(places)
        old = int.from_bytes(data[at : at + 4], "little")
        other = rng.choice(places)
        value = rng.choice(
            [
                old + rng.choice([-4, -2, -1, 1, 2, 4, 8]),
                rng.choice([0, 1, 2, 3, 12, 48, 255, 256, 2**31, 2**32 - 1, 2**32 - 4, len(data), len(data) - 4]),
                int.from_bytes(data[other : other + 4], "little"),  # what another of its kind has
                rng.choice(fields[rng.choice(list(fields))]),  # where something else is
                rng.randrange(len(data)),
            ]
        )
        data[at : at + 4] = (value % 2**32).to_bytes(4, "little")
    out = bytes(data[: rng.randrange(len(data))]) if rng.random() < 0.1 else bytes(data)
    return mutated(out, rng, WORDS) if rng.random() < 0.2 else out


def check_crfsuite(data: bytes, rng: random.Random) -> None:
    X = [[f"w={rng.choice(WORDS)}", "w=Rain", "w="] for _ in range(rng.randint(1, 4))]
    try:
        tagger = _core.CrfsuiteTagger(data)
    except ValueError as error:
        refused_by_core(error)
        return
    for ask in (tagger.tag, tagger.set):
        try:
            ask(X)
            total = sum(tagger.marginal(label, 0) for label in tagger.labels())
            assert abs(total - 1.0) < 1e-6
        except ValueError as error:
            refused_by_core(error)
    for tell in (tagger.dump, tagger.weights, tagger.transitions):
        try:
            tell()
        except ValueError as error:
            refused_by_core(error)
    try:
        if rng.random() < 0.1:  # as after many sentences
            for _ in range(300):
                tagger.tag([["w=Rain"] * 10])
            tagger.tag(X)
        labeler = tw.load(data)
        assert len(labeler.predict([X])[0]) == len(X)
    except ValueError as error:
        refused_by_core(error)


# ---- text models of Wapiti and CRF++ --------------------------------------------------------------------------------

NUMBERS = [
    b"0",
    b"1",
    b"2",
    b"-1",
    b"3",
    b"99",
    b"65536",
    b"4294967296",
    b"99999999999999",
    b"1" * 30,
    b"nan",
    b"1e308",
    b"#",
]
PATTERN_WORDS = [
    "%x[0,0]",
    "%x[-1,0]/",
    "%x[@1,0]",
    '%m[0,0,".*"]',
    "u",
    "b",
    "*",
    "U",
    "B",
    "/",
    "%",
    "\n\n",
    ":",
    ",\n",
    "=",
]


def hostile_text_model(rng: random.Random) -> bytes:
    """A text model with other numbers in it, lines twice or in other places, or bytes changed."""
    data = rng.choice([wapiti_model(), crfpp_model()])
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        what = rng.randrange(4)
        numbers = list(re.finditer(rb"\d+", data))
        netstrings = list(re.finditer(rb"\d+:(.*),\n", data))
        if what == 0 and numbers:
            found = rng.choice(numbers[:12] if rng.random() < 0.5 else numbers)
            near = b"%d" % (int(found[0][:20]) + rng.choice([-2, -1, 1, 2]))
            data = data[: found.start()] + rng.choice([near, rng.choice(NUMBERS)]) + data[found.end() :]
        elif what == 1:
            lines = data.split(b"\n")
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            if rng.random() < 0.5:
                del lines[rng.randrange(len(lines))]
            data = b"\n".join(lines)
        elif what == 2 and netstrings:  # another text of the length that is said
            found = rng.choice(netstrings)
            text = mutated(found[1], rng, PATTERN_WORDS)
            data = data[: found.start()] + b"%d:%s,\n" % (len(text), text) + data[found.end() :]
        else:
            data = mutated(data, rng, PATTERN_WORDS)
    return data


def check_text_model(data: bytes, rng: random.Random) -> None:
    try:
        labeler = tw.load(data)
    except InvalidInput:
        return
    n_columns = max(1, Templates.from_dict(labeler.exported()[1]["templates"]).n_columns)
    X = [[(rng.choice(WORDS),) * n_columns for _ in range(rng.randint(0, 4))] for _ in range(2)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.UnknownAttributes)
            predicted = labeler.predict(X)
            shares = labeler.predict_marginals(X)
    except ValueError as error:
        refused_by_core(error)
        return
    assert [len(y) for y in predicted] == [len(x) for x in X]
    assert all(np.allclose(np.asarray(p).sum(axis=1), 1.0) for p in shares if len(p))
    for write in (models.to_wapiti, models.to_crfpp):
        try:
            again = tw.load(write(*labeler.exported()))
        except InvalidModel:
            raise  # what is written can be read
        except InvalidInput:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.UnknownAttributes)
            order = [list(again.classes_).index(label) for label in labeler.classes_]
            for own, other in zip(shares, again.predict_marginals(X), strict=True):
                assert np.allclose(np.asarray(own), np.asarray(other)[:, order] if len(own) else own, atol=1e-6)


# ---- templates -------------------------------------------------------------------------------------------------------

RESOURCES = {"names.txt": "Rain\nNew York\tLOC\n", "classes.txt": "0101\tRain\n0110\tfell\n"}
ROWS = [[("Rain", "NN"), ("fell", "VBD"), ("4711", "é")], [("x", "y")]]


def template_text(rng: random.Random) -> bytes:
    return mutated(rng.choice(TEMPLATES).encode(), rng, [*TEMPLATES, *WORDS])


def check_templates(data: bytes, rng: random.Random) -> None:
    text = data.decode(errors="replace")
    try:
        form = rng.choice([None, None, "own", "crfpp", "wapiti"])
        templates = Templates(text, format=form, resources=RESOURCES, folder=str(Path(__file__).parent))
        rows = [[(token * 5)[: max(1, templates.n_columns)] for token in sentence] for sentence in ROWS]
        if {"label", "pair"} & set(templates.meets):
            templates.attributes(rows)
            templates.attributes(rows, pair=True)
        if "span" in templates.meets:
            templates.span_attributes(rows, rng.choice([1, 2, 3, 50]))
        assert Templates.from_dict(json.loads(json.dumps(templates.to_dict()))) == templates
    except InvalidInput:
        pass
    except ValueError as error:
        refused_by_core(error)
    except OSError:
        pass  # a gazetteer that is not there


def template_settings(rng: random.Random) -> bytes:
    settings = json.dumps(Templates(rng.choice(TEMPLATES), resources=RESOURCES).to_dict()).encode()
    return mutated(settings, rng, WORDS)


def check_settings(data: bytes, rng: random.Random) -> None:
    try:
        settings = json.loads(data)
    except (ValueError, RecursionError):
        return
    try:  # from a model file: no file is opened, whatever it says
        templates = Templates.from_dict(settings)
        templates.extractor() if templates.meets != ("span",) else templates.span_extractor()
    except InvalidInput:
        pass
    except ValueError as error:
        refused_by_core(error)


# ---- corpora ---------------------------------------------------------------------------------------------------------

READERS: dict[str, list[Callable[[io.BytesIO], object]]] = {
    "columns": [
        read_columns,
        lambda file: read_columns(file, columns=["a", "b"], label="a", separator="\t", comments="#"),
        lambda file: read_columns(file, encoding="utf-16"),
    ],
    "conllu": [read_conllu, lambda file: treebank_again(file), lambda file: treebank_again(file, heads=False)],
    "csv": [read_csv, lambda file: read_csv(file, 0, [1], separator="\t", header=False)],
    "jsonl": [read_jsonl, lambda file: read_jsonl(file, names=["O", "B-X"], policy="expand", scheme="BILOU")],
    "text": [read_text],
}
SAMPLES = {"columns": COLUMNS, "conllu": CONLLU, "csv": CSV, "jsonl": JSONL, "text": TEXT}


def treebank_again(file: io.BytesIO, **how: bool) -> list[Any]:
    """A treebank that is read comes back as it was, and another with other trees."""
    treebank = read_treebank(file, **how)
    if how.get("heads", True):
        assert treebank.with_trees(treebank) == treebank.text
    trees = [[0] * len(sentence.rows) for sentence in treebank]
    again = Treebank.from_bytes(treebank.with_trees(trees), single_root=False)
    assert [sentence.rows for sentence in again] == [sentence.rows for sentence in treebank]
    return []


def corpus(rng: random.Random) -> bytes:
    data = mutated(rng.choice(SAMPLES[rng.choice(list(SAMPLES))]).encode(), rng, WORDS)
    if rng.random() < 0.1:
        data = gzip.compress(data)
        data = mutated(data, rng, []) if rng.random() < 0.7 else data
    return data.decode(errors="replace").encode("utf-16") if rng.random() < 0.03 else data


def check_corpus(data: bytes, rng: random.Random) -> None:
    for reader in READERS[rng.choice(list(READERS))]:
        try:
            with warnings.catch_warnings(action="ignore"):  # of what was left out
                for found in reader(io.BytesIO(data)):
                    assert found.line >= 1
        except InvalidInput as error:
            if not str(error).startswith("<input>, "):
                raise


def columns(rng: random.Random) -> bytes:
    return mutated(rng.choice(COLUMNS).encode(), rng, WORDS)


def check_columns(data: bytes, rng: random.Random) -> None:
    """The core and Python read the same, or refuse with the same words."""
    separator, comments = rng.choice([None, None, "\t", " ", "::"]), rng.choice([None, None, "#", "# "])
    answers = []
    for read in (core_sentences, python_sentences):
        try:
            answers.append(read(data, separator, comments))
        except ValueError as error:
            refused_by_core(error)
            answers.append(str(error).partition("'")[0])  # what they quote may be escaped in other ways
    assert answers[0] == answers[1], answers


def core_sentences(data: bytes, separator: str | None, comments: str | None) -> object:
    found = _core.parse_columns(data, separator, comments)
    rows = [found.sequence(i) for i in range(found.n_sequences)]
    return [[token if isinstance(token, tuple) else (token,) for token in sentence] for sentence in rows]


def python_sentences(data: bytes, separator: str | None, comments: str | None) -> object:
    return [s.tokens for s in read_columns(io.BytesIO(data), label=None, separator=separator, comments=comments)]


def check_tagging(data: bytes, rng: random.Random) -> None:
    """Many threads give what one gives, or refuse with the same words."""
    opened = models.open_model(MODEL)
    extractor = Templates.from_dict(opened.settings["templates"]).extractor()
    data *= rng.choice([1, 1, 1, 1, 300])
    answers = []
    for n_jobs in (1, 4):
        try:
            answers.append(opened.model.tag_columns(data, extractor, opened.labels, n_jobs=n_jobs))
        except ValueError as error:
            refused_by_core(error)
            answers.append(str(error).encode())
    assert answers[0] == answers[1], answers


TARGETS = {
    "damaged-model": Target(damaged_model, check_model),
    "hostile-model": Target(hostile_model, check_model),
    "hostile-estimator": Target(hostile_estimator, check_estimator),
    "hostile-crfsuite": Target(hostile_crfsuite, check_crfsuite),
    "hostile-text-model": Target(hostile_text_model, check_text_model),
    "templates": Target(template_text, check_templates),
    "template-settings": Target(template_settings, check_settings),
    "corpora": Target(corpus, check_corpus),
    "columns": Target(columns, check_columns),
    "tagging": Target(columns, check_tagging),
}
