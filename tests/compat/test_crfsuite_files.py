"""Model files of CRFsuite: what is written is read again, and whatever is wrong with a file is an error."""

import io
import itertools
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from reference import log_space
from reference.model_files import best_labels, read_crfsuite
from trelliswork import _core, models
from trelliswork.compat.pycrfsuite import Tagger, Trainer
from trelliswork.errors import InvalidInput, InvalidModel

NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
HEADER = ("magic", "size", "type", "version", "features", "labels", "attributes", "FEAT", "L", "A", "LFRF", "AFRF")


@st.composite
def contents(draw):
    labels = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    names = draw(st.lists(NAMES, max_size=30, unique=True))
    weights = st.floats(-1e6, 1e6).filter(bool)
    rows = [draw(st.dictionaries(st.integers(0, len(labels) - 1), weights, min_size=1)) for _ in names]
    pairs = st.tuples(*[st.integers(0, len(labels) - 1)] * 2)
    return labels, names, rows, draw(st.dictionaries(pairs, weights, max_size=10))


def written(labels, names, rows, moves):
    starts = np.cumsum([0, *map(len, rows)], dtype=np.uint32)
    codes = np.array([code for row in rows for code in sorted(row)], dtype=np.uint32)
    weights = np.array([row[code] for row in rows for code in sorted(row)], dtype=np.float64)
    transitions = np.zeros((len(labels), len(labels)))
    for pair, weight in moves.items():
        transitions[pair] = weight
    data, n_features, n_attributes = _core.crfsuite_bytes(labels, names, starts, codes, weights, transitions.ravel())
    assert (n_features, n_attributes) == (len(codes) + len(moves), len(names))
    return data


@given(contents())
def test_what_is_written_is_read_again(parts):
    labels, names, rows, moves = parts
    data = written(*parts)
    file = _core.CrfsuiteTagger(data)
    assert file.labels() == labels
    assert {(a, b): weight for a, b, weight in file.transitions()} == moves
    found, starts, codes, weights = file.weights()
    assert found == names
    assert [
        dict(zip(codes[b:e].tolist(), weights[b:e].tolist(), strict=True)) for b, e in itertools.pairwise(starts)
    ] == rows
    for name, row in zip(names, rows, strict=True):  # by its hash table
        file.set([[name]])
        file.probability([labels[0]])
        expected = np.zeros(len(labels))
        expected[list(row)] = list(row.values())
        shares = np.exp(expected - expected.max())
        got = [file.marginal(label, 0) for label in labels]
        np.testing.assert_allclose(got, shares / shares.sum(), rtol=1e-9, atol=1e-12)


@given(contents())
def test_to_the_library_and_back_gives_the_same_bytes(parts):
    data = written(*parts)
    tensors, settings = models.from_crfsuite(data)
    again, described = models.loads(models.dumps(tensors, settings))
    assert models.to_crfsuite(again, described) == data


@given(contents(), st.data())
def test_answers_are_those_of_a_reader_of_the_description(parts, draw):
    labels, names, _, _ = parts
    data = written(*parts)
    reference = read_crfsuite(data)
    assert [label.decode() for label in reference.labels] == labels
    values = st.sampled_from([1.0, 0.5, -2.0])
    item = st.lists(st.tuples(st.sampled_from([*names, "unseen"]), values), max_size=4, unique_by=lambda pair: pair[0])
    x = draw.draw(st.lists(item, min_size=1, max_size=4))
    unary, moves = reference.scores([[(name.encode(), value) for name, value in item] for item in x])
    tagger = Tagger()
    tagger.open_inmemory(data)
    found = [labels.index(label) for label in tagger.tag([dict(item) for item in x])]
    best = best_labels(unary, moves)
    score = sum(unary[t, y] for t, y in enumerate(found)) + sum(
        moves[t][a, b] for t, (a, b) in enumerate(itertools.pairwise(found))
    )
    assert found == best or score == pytest.approx(log_space.viterbi_score(unary, moves), rel=1e-12)
    shares = [[tagger.marginal(label, t) for label in labels] for t in range(len(x))]
    np.testing.assert_allclose(shares, log_space.marginals(unary, moves), atol=1e-9)


def test_equal_scores_go_to_the_lowest_label_from_the_end():
    data = written(list("ABC"), ["x"], [{1: 1.0, 2: 1.0}], {})
    with Tagger().open_inmemory(data) as tagger:
        assert tagger.tag([["x"], [], ["x"]]) == ["B", "A", "B"]


def lookup3(data):
    """Bob Jenkins' hashlittle from 0, word by word as he wrote it."""

    def rotated(x, k):
        return (x << k | x >> (32 - k)) & 0xFFFFFFFF

    a = b = c = (0xDEADBEEF + len(data)) & 0xFFFFFFFF
    while len(data) > 12:
        x, y, z = struct.unpack("<III", data[:12])
        a, b, c, data = (a + x) & 0xFFFFFFFF, (b + y) & 0xFFFFFFFF, (c + z) & 0xFFFFFFFF, data[12:]
        for k, m, n in ((4, 6, 8), (16, 19, 4)):
            a, c = ((a - c) ^ rotated(c, k)) & 0xFFFFFFFF, (c + b) & 0xFFFFFFFF
            b, a = ((b - a) ^ rotated(a, m)) & 0xFFFFFFFF, (a + c) & 0xFFFFFFFF
            c, b = ((c - b) ^ rotated(b, n)) & 0xFFFFFFFF, (b + a) & 0xFFFFFFFF
    if not data:
        return c
    x, y, z = struct.unpack("<III", data.ljust(12, b"\0"))
    a, b, c = (a + x) & 0xFFFFFFFF, (b + y) & 0xFFFFFFFF, (c + z) & 0xFFFFFFFF
    c = ((c ^ b) - rotated(b, 14)) & 0xFFFFFFFF
    a = ((a ^ c) - rotated(c, 11)) & 0xFFFFFFFF
    b = ((b ^ a) - rotated(a, 25)) & 0xFFFFFFFF
    c = ((c ^ b) - rotated(b, 16)) & 0xFFFFFFFF
    a = ((a ^ c) - rotated(c, 4)) & 0xFFFFFFFF
    b = ((b ^ a) - rotated(a, 14)) & 0xFFFFFFFF
    return ((c ^ b) - rotated(b, 24)) & 0xFFFFFFFF


def test_the_reference_has_the_value_that_its_author_gives():
    assert lookup3(b"Four score and seven years ago") == 0x17770551


@given(NAMES)
def test_names_lie_where_lookup3_says(name):
    data = written(["A"], [name], [{0: 1.0}], {})
    expected = lookup3(name.encode() + b"\0")
    database = number(data, 36)
    tables = {i: (number(data, database + 24 + 8 * i), number(data, database + 28 + 8 * i)) for i in range(256)}
    assert [i for i, (_, slots) in tables.items() if slots] == [expected % 256]
    at, slots = tables[expected % 256]
    assert number(data, database + at + 8 * ((expected >> 8) % slots)) == expected


def replaced(data, **header):
    """The file with other numbers in its header."""
    out = bytearray(data)
    for name, value in header.items():
        struct.pack_into("<I", out, 4 * HEADER.index(name), value)
    return bytes(out)


def number(data, at):
    return struct.unpack_from("<I", data, at)[0]


def patched(data, at, value):
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


def hostile(data):
    """Files that end the original's process, and relatives of theirs."""
    feat, labels, attributes, lfrf, _afrf = (number(data, 28 + 4 * i) for i in range(5))
    size = len(data)
    yield "repeated header", b"lCRFfoo" * 100
    yield "cut off", data[: size // 2]
    yield "offsets beyond the end", replaced(data, FEAT=2**32 - 1)
    yield "names beyond the end", replaced(data, A=size - 10)
    yield "lists beyond the end", replaced(data, AFRF=2**32 - 4)
    yield "more labels than there are", replaced(data, labels=1000)
    yield "very many labels", replaced(data, labels=2**31)
    yield "no labels", replaced(data, labels=0)
    yield "more attributes than there are", replaced(data, attributes=2**32 - 1)
    yield "more features than there are", patched(data, feat + 8, 2**32 - 1)
    yield "another version", replaced(data, version=101)
    yield "another type", data[:8] + b"FOMX" + data[12:]
    yield "longer than it is", replaced(data, size=size + 1)
    yield "database beyond the end", patched(data, attributes + 4, 2**31)
    yield "byte order", patched(data, attributes + 12, 0x71534462)
    yield "backward array beyond the end", patched(data, attributes + 20, 2**32 - 1)
    yield "fewer names than numbers", patched(data, labels + 16, 0)
    yield "missing label", patched(data, labels + number(data, labels + 20), 0)
    yield "label without an end", patched(data, labels + number(data, labels + number(data, labels + 20)) + 4, 2**31)
    yield "fewer lists than labels", patched(data, lfrf + 8, 0)
    yield "list beyond the end", patched(data, lfrf + 12, 2**32 - 4)
    yield "list of too many", patched(data, number(data, lfrf + 12), 2**31)
    yield "no such feature", patched(data, number(data, lfrf + 12) + 4, 2**31)


def hostile_later(data, name):
    """Files whose faults are met when an attribute is looked up."""
    feat, _, _attributes, _, afrf = (number(data, 28 + 4 * i) for i in range(5))
    names = _core.CrfsuiteTagger(data).weights()[0]
    at = afrf + 12 + 4 * names.index(name)
    feature = feat + 12 + 20 * number(data, number(data, at) + 4)
    yield "list beyond the end", patched(data, at, 2**32 - 4)
    yield "list of too many", patched(data, number(data, at), 2**31)
    yield "no such feature", patched(data, number(data, at) + 4, 2**31)
    yield "no such label", patched(data, feature + 8, 2**31)
    yield "no such source", patched(data, feature + 4, 2**31)
    yield "no such type", patched(data, feature, 7)
    yield "weight that is no number", data[: feature + 12] + struct.pack("<d", np.nan) + data[feature + 20 :]
    yield "weight that overflows", data[: feature + 12] + struct.pack("<d", 1e300) + data[feature + 20 :]


def test_hostile_files_are_errors_when_they_are_opened(model_bytes, tmp_path):
    path = tmp_path / "model"
    for what, data in hostile(model_bytes):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"CRFsuite, or it is damaged|Error opening"):
            Tagger().open(str(path)), what
        with pytest.raises(InvalidModel):
            tw.load(data), what


def test_hostile_files_are_errors_when_they_are_used(model_bytes, xseq):
    for what, data in hostile_later(model_bytes, "walk"):
        with Tagger().open_inmemory(data) as tagger:
            with pytest.raises(ValueError, match="damaged"):
                tagger.tag(xseq), what
            with pytest.raises(ValueError, match="damaged"):
                tagger.info(), what
            assert tagger.tag([["clean"]]) == ["rainy"]  # what is not touched by it still works
        with pytest.raises(InvalidModel):
            tw.load(data), what


@pytest.mark.parametrize("step", [97])
def test_every_cut_and_many_changed_bytes(model_bytes, xseq, step):
    rng = np.random.default_rng(0)
    for size in range(0, len(model_bytes), step):
        with pytest.raises(ValueError, match="Error opening"):
            Tagger().open_inmemory(model_bytes[:size])
    for _ in range(3000):
        data = bytearray(model_bytes)
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            with Tagger().open_inmemory(bytes(data)) as tagger:
                tagger.tag(xseq)
                tagger.marginal(tagger.labels()[0], 0)
                tagger.info()
                tagger._named_tagger().dump()
        except (ValueError, RuntimeError):
            pass


def test_lists_that_share_features_are_refused():
    """A small file in which every attribute has all features would take long to read."""
    data = written(list("ABCD"), list("abcdefgh"), [dict.fromkeys(range(4), 1.0), *[{0: 1.0}] * 7], {})
    afrf = number(data, 44)
    for i in range(8):
        data = patched(data, afrf + 12 + 4 * i, number(data, afrf + 12))
    with pytest.raises(InvalidModel, match="more features than there are"):
        tw.load(data)
    with Tagger().open_inmemory(data) as tagger, pytest.raises(ValueError, match="more features"):
        tagger.dump("/dev/null")


def test_a_tagger_goes_on_where_only_part_of_a_file_is_wrong(model_bytes):
    """What is never asked for cannot keep others from being looked up by key, nor be used by it."""
    _, data = next(hostile_later(model_bytes, "walk"))
    with Tagger().open_inmemory(data) as tagger:
        for _ in range(3000):
            tagger.tag([["clean"]])
        with pytest.raises(ValueError, match="damaged"):
            tagger.tag([["walk"]])


def test_labels_that_are_not_text(model_bytes):
    data = model_bytes.replace("好".encode(), b"\xff\xfe\xfd")
    with pytest.raises(ValueError, match="not valid UTF-8"):
        Tagger().open_inmemory(data)


def test_two_labels_of_one_name():
    data = written(["AB", "CD"], [], [], {})
    with pytest.raises(ValueError, match="two labels of one name"):
        _core.CrfsuiteTagger(data.replace(b"CD\0", b"AB\0"))


@pytest.mark.parametrize(
    ("settings", "X"),
    [
        ({"hash_bits": 4}, [[["a"], ["b"]]]),
        ({"constraints": np.array([[True, True], [True, True]])}, [[["a"], ["b"]]]),
        ({"order": 2}, [[["a"], ["b"]]]),
    ],
)
def test_what_crfsuite_does_not_know_is_refused(settings, X):
    try:
        labeler = tw.SequenceLabeler(**settings).fit(X, [["A", "B"]])
    except InvalidInput:
        labeler = tw.SequenceLabeler(constraints="BIO").fit(X, [["B-X", "I-X"]])
    with pytest.raises(InvalidInput, match="which knows no"):
        models.to_crfsuite(*labeler.exported())


def test_from_the_library(tmp_path):
    X = [[{"w": "the"}, {"w": "dog", "length": 0.5}], [{"w": "a"}, {"w": "cat"}]]
    labeler = tw.SequenceLabeler().fit(X, [["D", "N"], ["D", "N"]])
    path = tmp_path / "model.crfsuite"
    path.write_bytes(models.to_crfsuite(*labeler.exported()))
    with Tagger().open(str(path)) as tagger:
        for x, rows in zip(X, labeler.predict_marginals(X), strict=True):
            tagger.set(x)
            found = [[tagger.marginal(label, i) for label in labeler.classes_] for i in range(len(x))]
            np.testing.assert_allclose(found, rows, atol=1e-9)


def test_at_the_shell(model_path, model_bytes, tmp_path):
    from trelliswork.cli.convert import convert_model

    library, back = str(tmp_path / "model.tw"), str(tmp_path / "back.crfsuite")
    convert_model(model_path, library)
    convert_model(library, back)
    with open(back, "rb") as file:
        assert file.read() == model_bytes


LINES = ["(2 Main St.,", "12 Elm Ave", "Elm St 100", "7 7 Main"]
PLACES = [["N", "S", "T"], ["N", "S", "T"], ["S", "T", "N"], ["N", "N", "S"]]
NAMED = tw.Templates("""
let: clean = replace(lower(word), "^[(]+|[,.]+$", "")
clean as "word:{}"
clean[-1] & clean as "two:{}|{}"
length(clean) & matches(clean, "^\\d+$") as "length:d:{}"
matches(clean, "^\\d+$")[1] as "next:number"
begin as "start"
suffix(clean, 2)
""")


def read_by_python(words):
    """The attributes of the templates above, by code."""
    clean = [word.lower().lstrip("(").rstrip(",.") for word in words]
    for t, word in enumerate(clean):
        item = {"word": word, 'suffix(replace(lower(word[0]),"^[(]+|[,.]+$",""),2)=' + word[-2:]: True}
        item["two"] = f"{clean[t - 1]}|{word}" if t else False
        item["length"] = {"d": str(len(word))} if word.isdigit() else False
        item["next"] = {"number": t + 1 < len(clean) and clean[t + 1].isdigit()}
        yield item | {"start": t == 0}


@pytest.fixture(scope="module")
def addresses_file(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("named") / "addresses.crfsuite")
    trainer = Trainer("lbfgs", {"c2": 0.1}, verbose=False)
    for line, labels in zip(LINES, PLACES, strict=True):
        trainer.append(list(read_by_python(line.split())), labels)
    trainer.train(path)
    return path


def test_a_model_with_templates_that_give_its_names_takes_words(addresses_file):
    by_code, by_templates = tw.load(addresses_file), tw.load(addresses_file, features=NAMED)
    X = [*(line.split() for line in LINES), ["9", "main", "12", "Elm"], ["x"], []]
    items = [list(read_by_python(x)) for x in X]
    assert by_templates.predict(X) == by_code.predict(items)
    for ours, theirs in zip(by_templates.predict_marginals(X), by_code.predict_marginals(items), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    weights = [{(w.attribute, w.label): w.weight for w in m.weights()} for m in (by_code, by_templates)]
    assert weights[0] == weights[1]


def test_a_value_with_what_stands_between_values_is_found_in_every_way(addresses_file):
    """Python wrote two:a|b|c, which is a|b and c, or a and b|c."""
    X = [["a|b", "c"], ["a", "b|c"]]
    trainer = Trainer("lbfgs", {"c2": 0.1}, verbose=False)
    for x, labels in zip(X, (["D", "N"], ["D", "V"]), strict=True):
        trainer.append([{"two": f"{x[t - 1]}|{x[t]}" if t else False} for t in range(2)], labels)
    trainer.train(addresses_file + ".two")
    model = tw.load(addresses_file + ".two", features=tw.Templates('word[-1] & word as "two:{}|{}"'))
    marginals = model.predict_marginals(X)
    np.testing.assert_array_equal(*marginals)  # one name is one attribute


def test_a_converted_model_is_written_and_read_again(addresses_file):
    model = tw.load(addresses_file, features=NAMED)
    again = tw.load(models.to_crfsuite(*model.exported()), features=NAMED)
    X = [line.split() for line in LINES]
    assert again.predict(X) == model.predict(X) == PLACES


def test_attributes_that_no_template_gives_are_refused(addresses_file):
    with pytest.raises(
        InvalidInput, match=r"attributes that none of the templates gives, such as '.*Write the missing"
    ):
        tw.load(addresses_file, features=tw.Templates('word as "word:{}"'))
    with pytest.raises(InvalidInput, match="meet labels"):
        tw.load(addresses_file, features=NAMED + tw.Templates("pair: word"))


def test_templates_are_for_models_of_crfsuite():
    model = tw.SequenceLabeler().fit([["a"]], [["A"]])
    file = io.BytesIO()
    model.save(file)
    with pytest.raises(InvalidInput, match="has templates of its own; models of CRFsuite alone are given some"):
        tw.load(file.getvalue(), features=NAMED)
