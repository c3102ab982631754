"""Text models of Wapiti and CRF++: answers by definition, goldens of the originals, both ways, and hostile files."""

import gzip
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trelliswork as tw
from reference import log_space
from reference.model_files import best_labels, observed, read_crfpp, read_wapiti
from trelliswork import models
from trelliswork.cli.main import main
from trelliswork.errors import InvalidInput, InvalidModel

WAPITI = [
    "*",
    "u:word=%x[0,0]",
    "u:lower=%X[-1,0]",
    'u:suf=%m[0,0,".?.$"]',
    'u:cap=%t[1,0,"^\\u"]',
    "u:two=%x[-1,0]/%x[0,1]",
    "u:first=%x[@1,1]",
    "b:pos=%x[0,1]",
    "*:x=%x[1,0]%x[0,0]",
    "b",
]
CRFPP = ["U00:%x[-2,0]", "U01:%x[0,0]/%x[1,0]", "U02:%x[0,0]%x[0,1]", "U", "B", "B01:%x[-1,1]/%x[0,1]"]
WORDS = ["Rain", "fell", "1/2", "/", "a", "é", "//", "日本"]
LABELS = ["B-X", "I-X", "O"]

words = st.sampled_from(WORDS)
columns = st.lists(st.tuples(words, st.sampled_from(["NN", "N/N", "é"])), min_size=1, max_size=4)
weights = st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 3))


def scores_by_definition(program, lines, table, n_labels, x):
    """Scores of labels, and of label pairs at every token but the first; `table` has {text: (of labels, of pairs)}."""
    unary, moves = np.zeros((len(x), n_labels)), np.zeros((max(len(x) - 1, 0), n_labels, n_labels))
    for t, line in itertools.product(range(len(x)), lines):
        of_labels, of_pairs = table.get(observed(program, line, x, t), (None, None))
        if of_labels is not None:
            unary[t] += of_labels
        if of_pairs is not None and t:
            moves[t - 1] += of_pairs
    return unary, moves


def wapiti_file(lines, labels, table, kind="2#"):
    strings = [
        b"#rdr#%d/1/0\n" % len(lines),
        *map(netstring, lines),
        b"#qrk#%d\n" % len(labels),
        *map(netstring, labels),
    ]
    strings += [b"#qrk#%d\n" % len(table), *map(netstring, table)]
    flat = [
        weight
        for of_labels, of_pairs in table.values()
        for part in (of_labels, of_pairs)
        if part is not None
        for weight in np.ravel(part).tolist()
    ]
    active = [b"%d=%s\n" % (i, weight.hex().encode()) for i, weight in enumerate(flat) if weight]
    return b"".join([f"#mdl#{kind}{len(active)}\n".encode(), *strings, *active])


def netstring(text):
    return b"%d:%s,\n" % (len(text.encode()), text.encode())


def crfpp_file(lines, labels, table, cost_factor=1.0):
    features, flat = [], []
    for text in sorted(table):
        features.append(f"{len(flat)} {text}\n")
        flat += np.ravel(next(part for part in table[text] if part is not None)).tolist()
    head = f"version: 100\ncost-factor: {cost_factor}\nmaxid: {len(flat)}\nxsize: 2\n\n"
    parts = ("".join(f"{line}\n" for line in block) for block in (labels, lines))
    return (head + "\n".join([*parts, "".join(features), "".join(f"{w!r}\n" for w in flat)])).encode()


@st.composite
def models_of(draw, program, lines):
    """A sentence, and weights for some of its observations and of those of another."""
    x, other = draw(columns), draw(columns)
    texts = {observed(program, line, y, t) for y in (x, other) for line in lines for t in range(len(y))}
    kept = [text for text in sorted(texts) if draw(st.booleans())] or [lines[0]]
    n = len(LABELS)

    def row(size):
        return np.array(draw(st.lists(weights, min_size=size, max_size=size)))

    return x, {
        text: (row(n) if text[0] in "Uu*" else None, row(n * n).reshape(n, n) if text[0] in "Bb*" else None)
        for text in kept
    }


def brute(unary, moves):
    """Probabilities of labels, and the score of the best labelling, by enumeration."""
    n, k = unary.shape
    paths = list(itertools.product(range(k), repeat=n))
    scores = np.array(
        [
            sum(unary[t, y] for t, y in enumerate(path))
            + sum(moves[t][a, b] for t, (a, b) in enumerate(itertools.pairwise(path)))
            for path in paths
        ]
    )
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    marginals = np.zeros((n, k))
    for path, share in zip(paths, shares, strict=True):
        marginals[np.arange(n), path] += share
    return marginals, scores.max(), dict(zip(paths, scores, strict=True))


def check(labeler, x, unary, moves):
    marginals, best, scores = brute(unary, moves)
    names = list(labeler.classes_)
    order = [LABELS.index(name) for name in names]
    np.testing.assert_allclose(np.asarray(labeler.predict_marginals([x])[0]), marginals[:, order], atol=1e-9)
    found = tuple(LABELS.index(label) for label in labeler.predict([x])[0])
    assert scores[found] == pytest.approx(best, abs=1e-9)


@pytest.mark.filterwarnings("ignore::trelliswork.UnknownAttributes")
@given(models_of("wapiti", WAPITI))
def test_a_model_of_wapiti_answers_by_definition(case):
    x, table = case
    labeler = tw.load(wapiti_file(WAPITI, LABELS, table))
    scores = scores_by_definition("wapiti", WAPITI, table, len(LABELS), x)
    check(labeler, x, *scores)
    check(tw.load(models.to_wapiti(*labeler.exported())), x, *scores)


@pytest.mark.filterwarnings("ignore::trelliswork.UnknownAttributes")
@given(models_of("crfpp", CRFPP), st.sampled_from([1.0, 0.5, 2.0]))
def test_a_model_of_crfpp_answers_by_definition(case, cost_factor):
    x, table = case
    labeler = tw.load(crfpp_file(CRFPP, LABELS, table, cost_factor))
    unary, moves = scores_by_definition("crfpp", CRFPP, table, len(LABELS), x)
    check(labeler, x, unary * cost_factor, moves * cost_factor)
    check(tw.load(models.to_crfpp(*labeler.exported())), x, unary * cost_factor, moves * cost_factor)


def test_a_memm_of_wapiti_is_normalised_step_by_step():
    table = {"u:a": (np.array([1.0, 0.0]), None), "b": (None, np.array([[0.0, 2.0], [1.0, 0.0]]))}
    x = [("a",), ("a",)]
    memm = tw.load(wapiti_file(["u:%x[0,0]", "b"], ["A", "B"], table, kind="1#"))
    first = np.exp([1.0, 0.0]) / np.exp([1.0, 0.0]).sum()
    step = np.exp([[1.0, 2.0], [2.0, 0.0]])
    second = first @ (step / step.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(np.asarray(memm.predict_marginals([x])[0]), [first, second], atol=1e-12)
    assert b"#mdl#1#" in models.to_wapiti(*memm.exported())
    # Files of before there were types have CRFs.
    crf = tw.load(wapiti_file(["u:%x[0,0]", "b"], ["A", "B"], table, kind=""))
    marginals, _, _ = brute(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[[0.0, 2.0], [1.0, 0.0]]]))
    np.testing.assert_allclose(np.asarray(crf.predict_marginals([x])[0]), marginals, atol=1e-12)


def test_patterns_of_no_label_pairs_add_up():
    table = {
        "*": (np.array([0.5, 0.0]), np.array([[1.0, 0.0], [0.0, 0.0]])),
        "b": (None, np.array([[0.25, 0.0], [0.0, 0.0]])),
        "u": (np.array([0.0, 0.125]), None),
    }
    tensors, _ = models.from_wapiti(wapiti_file(["*", "b", "u", "u:%x[0,0]"], ["A", "B"], table))
    assert tensors["channel.transitions.weights"].tolist() == [1.25, 0.0, 0.0, 0.0]
    assert tensors["channel.token.weights"].tolist() == [0.5, 0.125]


def test_text_in_another_encoding_is_read_when_it_is_named():
    table = {"u:é": (np.array([0.0, 1.0]), None), "b": (None, np.zeros((2, 2)))}
    lines, labels = ["u:%x[0,0]", "b"], ["A", "B"]
    latin = wapiti_file(lines, labels, table).replace(b"4:u:\xc3\xa9", b"3:u:\xe9")
    with pytest.raises(InvalidModel, match="encoding"):
        models.from_wapiti(latin)
    tensors, _ = models.from_wapiti(latin, encoding="latin-1")
    assert bytes(tensors["channel.token.names.text"]).decode() == "u:é"
    crfpp = crfpp_file(["U:%x[0,0]", "B"], labels, {"U:é": table["u:é"], "B": table["b"]})
    with pytest.raises(InvalidModel, match="encoding"):
        tw.load(crfpp.replace("é".encode(), b"\xe9"))
    tensors, _ = models.from_crfpp(crfpp.replace("é".encode(), b"\xe9"), encoding="latin-1")
    assert bytes(tensors["channel.token.names.text"]).decode() == "U:é"


# ---- to and from the library's format --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    X = [[("Rain", "NN"), ("fell", "VBD")], [("Stop", "VB")], [("Rain", "NN"), ("1/2", "CD"), ("fell", "VBD")]]
    y = [["B-X", "O"], ["O"], ["B-X", "I-X", "O"]]
    return {
        program: (X, tw.SequenceLabeler(features=tw.Templates("\n".join(lines), format=program)).fit(X, y))
        for program, lines in (("wapiti", WAPITI), ("crfpp", CRFPP))
    }


@pytest.mark.parametrize("program", ["wapiti", "crfpp"])
def test_what_was_trained_here_is_written_for_there(trained, program):
    X, labeler = trained[program]
    write = {"wapiti": models.to_wapiti, "crfpp": models.to_crfpp}[program]
    back = tw.load(write(*labeler.exported()))
    assert back.predict(X) == labeler.predict(X)
    order = [list(back.classes_).index(label) for label in labeler.classes_]
    for own, other in zip(labeler.predict_marginals(X), back.predict_marginals(X), strict=True):
        np.testing.assert_allclose(np.asarray(other)[:, order], np.asarray(own), atol=1e-12)


@pytest.mark.parametrize(("program", "ending"), [("wapiti", ".wapiti"), ("crfpp", ".crfpp")])
def test_the_command_converts_both_ways_and_tags(trained, program, ending, tmp_path, capfd):
    X, labeler = trained[program]
    own, other, back = (str(tmp_path / name) for name in ("a.tw", f"b{ending}", "c.tw"))
    labeler.save(own)
    for source, target in ((own, other), (other, back)):
        assert main(["convert", source, target]) == 0
    for path in (other, back):
        assert tw.load(path).predict(X) == labeler.predict(X)
        assert tw.load(path, mmap=False).predict(X) == labeler.predict(X)
        with open(path, "rb") as file:
            assert tw.load(file).predict(X) == labeler.predict(X)
    text = tmp_path / "text"
    text.write_text("".join("".join(f"{word}\t{tag}\n" for word, tag in x) + "\n" for x in X))
    capfd.readouterr()
    said = []
    for path in (own, other):
        assert main(["tag", path, str(text)]) == 0
        said.append(capfd.readouterr().out)
    assert said[0] == said[1] != ""
    assert main(["inspect", other]) == 0
    assert f"trained by {'Wapiti' if program == 'wapiti' else 'CRF++'}" in capfd.readouterr().out


@pytest.mark.parametrize("write", [models.to_wapiti, models.to_crfpp])
def test_what_cannot_be_expressed_is_refused(trained, write):
    X, labeler = trained["wapiti" if write is models.to_crfpp else "crfpp"]
    with pytest.raises(InvalidInput, match="which has no templates but its own"):
        write(*labeler.exported())
    own = tw.SequenceLabeler().fit(X, labeler.predict(X))
    with pytest.raises(InvalidInput, match="templates but its own"):
        write(*own.exported())
    attributes = tw.SequenceLabeler().fit([[["a"], ["b"]]], [["A", "B"]])
    with pytest.raises(InvalidInput, match="do not come from templates"):
        write(*attributes.exported())
    hmm = tw.HMM().fit([["a"]], [["A"]])
    with pytest.raises(InvalidInput, match="no models of this kind"):
        write(*hmm.exported())


def test_longer_histories_constraints_and_lost_names_are_refused():
    X, y, features = [["a", "b"]], [["B-X", "I-X"]], tw.Templates("U:%x[0,0]\nB")
    for labeler, what in (
        (tw.SequenceLabeler(features=features, order=2), "longer histories"),
        (tw.SequenceLabeler(features=features, hash_bits=10), "hashed"),
        (tw.SequenceLabeler(features=features, constraints="BIO"), "constraints"),
    ):
        with pytest.raises(InvalidInput, match=f"CRF\\+\\+, which has no {what}"):
            models.to_crfpp(*labeler.fit(X, y).exported())
    tensors, own = tw.SequenceLabeler(features=features).fit(X, y).exported()
    with pytest.raises(InvalidInput, match="without names"):
        models.to_crfpp(models.prune(tensors, drop_names=True), own)


def test_attributes_that_read_alike_are_refused_when_their_weights_differ():
    X = [[("a/b", "c"), ("x", "x")], [("a", "b/c"), ("x", "x")]]
    labeler = tw.SequenceLabeler(features=tw.Templates("U:%x[0,0]/%x[0,1]\nB")).fit(X, [["A", "B"], ["B", "A"]])
    with pytest.raises(InvalidInput, match="two attributes that read 'U:a/b/c'"):
        models.to_crfpp(*labeler.exported())


def test_names_with_white_space_are_refused_by_crfpp():
    labeler = tw.SequenceLabeler(features=tw.Templates("U:%x[0,0]\nB")).fit([["New York", "x"]], [["A", "B"]])
    with pytest.raises(InvalidInput, match="no white space in it"):
        models.to_crfpp(*labeler.exported())


def test_lines_that_crfpp_would_cut_are_refused():
    features = tw.Templates("U:%x[0,0]\nB")
    for size, fits in ((8178, True), (8179, False)):
        labeler = tw.SequenceLabeler(features=features).fit([["a" * size, "x"]], [["A", "B"]])
        if fits:
            assert max(map(len, models.to_crfpp(*labeler.exported()).split(b"\n"))) <= 8191
        else:
            with pytest.raises(InvalidInput, match="cuts lines after 8191"):
                models.to_crfpp(*labeler.exported())


# ---- hostile files ---------------------------------------------------------------------------------------------------

GOOD_WAPITI = (
    b"#mdl#2#2\n#rdr#2/0/0\n9:u:%x[0,0],\n1:b,\n#qrk#2\n1:D,\n1:N,\n#qrk#2\n5:u:the,\n1:b,\n0=0x1p+0\n3=0x1.8p+0\n"
)
GOOD_CRFPP = (
    b"version: 100\ncost-factor: 1\nmaxid: 6\nxsize: 1\n\nD\nN\n\nU:%x[0,0]\nB\n\n0 B\n4 U:the\n\n0\n1.5\n0\n0\n1\n0\n"
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"#mdl#2#2", b"#mdl#3#2", "type of the model is 3"),
        (b"#mdl#2#2", b"#mdl#2#2#2", "first line is damaged"),
        (b"#mdl#2#2", b"#mdl#2#-2", "must be a number"),
        (b"#mdl#2#2", b"#mdl#2#3", "there are 2 weights, but the first line says 3"),
        (b"#mdl#2#2", b"#mdl#2#99999999999999", "cut off or damaged"),
        (b"#rdr#2/0/0", b"#rdr#0/0/0", "without patterns"),
        (b"#rdr#2/0/0", b"#rdr#99999999999999/0/0", "number of patterns is"),
        (b"#rdr#2/0/0", b"#rdr#2", "#rdr# is damaged"),
        (b"#rdr#2/0/0", b"#rdr#1/0/0", "expected a line that begins with #qrk#"),
        (b"9:u:", b"8:u:", "patterns are cut off or damaged"),
        (b"9:u:", b"99999999999999:u:", "patterns are cut off"),
        (b"9:u:%x[0,0],", b"9:u:%x[0,0,", "patterns are cut off"),
        (b"#rdr#2/0/0\n9:u:%x[0,0],", b"#rdr#1/0/0", "no template"),
        (b"9:u:%x[0,0],", b"3:u:%,", "is no macro"),
        (b"9:u:%x[0,0],", b"9:x:%x[0,0],", "must begin with one of"),
        (b"9:u:%x[0,0],", b"10:u:%x[0,0]#,", "has a comment"),
        (b"9:u:%x[0,0],", b"10:u:%x[0,0]\n,", "a line end"),
        (b"9:u:%x[0,0],", b'17:u:%t[0,0,"(*a*"],', "pattern"),
        (b"1:b,\n#qrk#2\n1:D", b"1:b,\n#qrk#99999999\n1:D", "number of labels"),
        (b"#qrk#2\n1:D,\n1:N,\n", b"#qrk#0\n", "only 0 have a meaning|no labels"),
        (b"1:N,", b"1:D,", "a label is there twice"),
        (b"1:N,", b"1:\xff,", "no text in utf-8"),
        (b"5:u:the,", b"5:x:the,", "must begin with one of"),
        (b"5:u:the,", b"0:,", "must begin with one of"),
        (b"5:u:the,", b"1:b,", "there twice"),
        (b"3=0x1.8p+0", b"6=0x1.8p+0", "there is a weight 6, but only 6 have a meaning"),
        (b"3=0x1.8p+0", b"3=nan", "is no weight"),
        (b"3=0x1.8p+0", b"3=inf", "is no weight"),
        (b"3=0x1.8p+0", b"3=0x1p+9999", "is no weight"),
        (b"3=0x1.8p+0", b"3=1_0", "is no weight"),
        (b"3=0x1.8p+0", b"3=1e101", "a weight is beyond"),
        (b"3=0x1.8p+0", b"-3=0x1p+0", "must be a number"),
        (b"3=0x1.8p+0", b"99999999999999999999=0x1p+0", "must be a number"),
        (b"3=0x1.8p+0\n", b"", "there are 1 weights"),
        (b"3=0x1.8p+0\n", b"3=0x1.8p+0\n4=0x1p+0\n", "there are 3 weights"),
    ],
)
def test_hostile_files_of_wapiti_are_refused(old, new, message):
    assert GOOD_WAPITI.count(old) == 1
    tw.load(GOOD_WAPITI)
    with pytest.raises(InvalidModel, match=message):
        tw.load(GOOD_WAPITI.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"version: 100", b"version: 101", "100 can be read"),
        (b"cost-factor: 1\n", b"", "expected the lines"),
        (b"cost-factor: 1", b"cost-factor: nan", "cost factor must be a number"),
        (b"cost-factor: 1", b"cost-factor: 1.7e308", "a weight is beyond 1e[+]100"),
        (b"maxid: 6", b"maxid: 7", "there are 6 weights, but maxid is 7"),
        (b"maxid: 6", b"maxid: 99999999999999", "maxid is 99999999999999"),
        (b"maxid: 6", b"maxid: six", "maxid must be a number"),
        (b"xsize: 1", b"xsize: 0", "look at 1 columns, but xsize is 0"),
        (b"D\nN", b"D\nD", "a label is there twice"),
        (b"D\nN", b"D\nN\nX", "overlap"),
        (b"U:%x[0,0]", b"U:%x[0,0]\nU:%x[0,0]", "a pattern is there twice"),
        (b"U:%x[0,0]", b"X:%x[0,0]", "must begin with one of"),
        (b"U:%x[0,0]", b'U:%t[0,0,"a"]', "is no macro"),
        (b"U:%x[0,0]", b"U:%x[999,0]", "rows go from"),
        (b"4 U:the", b"5 U:the", "end behind the last"),
        (b"4 U:the", b"3 U:the", "overlap those of another"),
        (b"4 U:the", b"7 U:the", "weights of an observation begin is 7"),
        (b"4 U:the", b"-4 U:the", "must be a number"),
        (b"4 U:the", b"4", "must begin with one of"),
        (b"4 U:the", b"4 X:the", "must begin with one of"),
        (b"1.5", b"1.5.5", "is no weight"),
        (b"1.5", b"inf", "is no weight"),
        (b"1.5\n", b"", "there are 5 weights"),
        (b"\n\n0\n1.5", b"\n0\n1.5", "found 4"),
    ],
)
def test_hostile_files_of_crfpp_are_refused(old, new, message):
    assert GOOD_CRFPP.count(old) == 1
    tw.load(GOOD_CRFPP)
    with pytest.raises(InvalidModel, match=message):
        tw.load(GOOD_CRFPP.replace(old, new))


@pytest.mark.parametrize("data", [GOOD_WAPITI, GOOD_CRFPP])
def test_files_that_are_cut_off_are_refused_or_whole(data):
    whole = models.loads_any(data)[0]
    for size in range(8, len(data) - 1):
        try:
            tensors, _ = models.loads_any(data[:size])
        except InvalidModel:
            continue
        # What cannot be noticed: digits of the last weight.
        assert size >= len(data) - len(b"x1.8p+0\n"), data[:size]
        assert set(tensors) == set(whole)


def test_too_many_labels_are_refused_before_a_matrix_is_made():
    many = b"".join(b"%d:%s,\n" % (len(text), text) for text in (b"%d" % i for i in range(5000)))
    data = GOOD_WAPITI.replace(b"#qrk#2\n1:D,\n1:N,\n", b"#qrk#5000\n" + many)
    with pytest.raises(InvalidModel, match="5000 labels"):
        tw.load(data)
    with pytest.raises(InvalidModel, match="5000 labels"):
        tw.load(GOOD_CRFPP.replace(b"D\nN", b"\n".join(b"%d" % i for i in range(5000))))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("u" + "/".join(["%x[0,0]"] * 30), "u" + "/" * 200),
        ("u" + "%x[0,0]" * 30, "u" + "a" * 200),
        ("u%x[0,0]/%x[0,0]", "u" + "/" * 1_000_000),
    ],
)
def test_observations_of_too_many_ways_are_refused_soon(line, text):
    data = b"".join(
        [b"#mdl#2#1\n#rdr#1/0/0\n", netstring(line), b"#qrk#1\n1:A,\n#qrk#1\n", netstring(text), b"0=0x1p+0\n"]
    )
    with pytest.raises(InvalidModel, match="too many ways"):
        tw.load(data)


@settings(max_examples=200)
@given(st.sampled_from([GOOD_WAPITI, GOOD_CRFPP]), st.data())
def test_changed_bytes_give_a_model_or_an_error_of_the_library(good, data):
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(5, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        labeler = tw.load(bytes(changed))
    except InvalidModel:
        return
    n_columns = 2000 if b"," in good else 1
    assert len(labeler.predict([[("the",) * n_columns]])[0]) == 1


# ---- goldens ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def golden():
    folder = Path(os.environ.get("TRELLISWORK_DATA", "nowhere"))
    if not (folder.parent / "golden" / "wapiti").is_dir() or not (folder / "conll2000").is_dir():
        pytest.skip("there are no golden answers of Wapiti and CRF++ beside TRELLISWORK_DATA")
    with gzip.open(folder / "conll2000" / "test.txt.gz", "rt") as file:
        sentences = list(itertools.islice(blocks(file), 60))
    X = [[tuple(line.split()[:2]) for line in sentence] for sentence in sentences]
    return folder.parent / "golden", X


def blocks(lines):
    for empty, group in itertools.groupby(lines, key=lambda line: line == "\n"):
        if not empty:
            yield [line.rstrip("\n") for line in group]


def read(path):
    with gzip.open(path, "rt") as file:
        return [block[1:] for block in blocks(file)]


def test_wapitis_posteriors_are_those_that_it_printed(golden):
    folder, X = golden
    labeler = tw.load(gzip.decompress((folder / "wapiti" / "wap.model.gz").read_bytes()))
    labels = list(labeler.classes_)
    for marginals, rows in zip(labeler.predict_marginals(X), read(folder / "wapiti" / "wap.post.gz"), strict=True):
        for shares, row in zip(np.asarray(marginals), rows, strict=True):
            label, share = row.split("\t")[-1].rsplit("/", 1)
            assert labels[int(shares.argmax())] == label
            assert shares.max() == pytest.approx(float(share), abs=1e-6)


def test_crfpps_labels_and_posteriors_are_those_that_it_printed(golden):
    folder, X = golden
    labeler = tw.load(gzip.decompress((folder / "crfpp" / "m.crfpp.txt.gz").read_bytes()))
    answers = zip(labeler.predict(X), labeler.predict_marginals(X), read(folder / "crfpp" / "v2.txt.gz"), strict=True)
    for predicted, marginals, rows in answers:
        for label, shares, row in zip(predicted, np.asarray(marginals), rows, strict=True):
            _, _, _, best, *others = row.split("\t")
            assert best.rsplit("/", 1)[0] == label
            printed = dict(other.rsplit("/", 1) for other in others)
            wanted = [float(printed[name]) for name in labeler.classes_]
            np.testing.assert_allclose(shares, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "read"), [("wapiti/wap.model.gz", read_wapiti), ("crfpp/m.crfpp.txt.gz", read_crfpp)]
)
def test_files_of_the_originals_mean_what_a_reader_of_their_description_finds(golden, model, read):
    folder, X = golden
    data = gzip.decompress((folder / model).read_bytes())
    reference, labeler = read(data), tw.load(data)
    order = [reference.labels.index(label) for label in labeler.classes_]
    for x, predicted, shares in zip(X, labeler.predict(X), labeler.predict_marginals(X), strict=True):
        unary, moves = reference.scores(x)
        assert predicted == [reference.labels[y] for y in best_labels(unary, moves)]
        np.testing.assert_allclose(np.asarray(shares), log_space.marginals(unary, moves)[:, order], atol=1e-9)


@pytest.mark.parametrize("program", ["wapiti", "crfpp"])
def test_files_that_are_written_mean_what_a_reader_of_their_description_finds(trained, program):
    X, labeler = trained[program]
    write, read = {"wapiti": (models.to_wapiti, read_wapiti), "crfpp": (models.to_crfpp, read_crfpp)}[program]
    reference = read(write(*labeler.exported()))
    order = [reference.labels.index(label) for label in labeler.classes_]
    for x, shares in zip(X, labeler.predict_marginals(X), strict=True):
        found = log_space.marginals(*reference.scores(x))[:, order]
        np.testing.assert_allclose(np.asarray(shares), found, atol=1e-9)
