"""The drop-in's tagger: answers against brute force, and behaviour that client code depends on."""

import itertools
import math
import os
import pickle
import signal
import sys
import threading

import pytest

import trelliswork as tw
from trelliswork import _core
from trelliswork.compat.pycrfsuite import ItemSequence, Tagger


@pytest.fixture
def tagger(model_path):
    tagger = Tagger()
    tagger.open(model_path)
    return tagger


def every_labelling(tagger, items):
    """Score all labellings of items by the weights that `info` would have, in full precision."""
    labels = tagger.labels()
    names, starts, codes, weights = tagger._model.weights()
    state = {
        (name, labels[codes[i]]): weights[i]
        for name, begin, end in zip(names, starts, starts[1:], strict=False)
        for i in range(begin, end)
    }
    moves = {(labels[a], labels[b]): w for a, b, w in tagger._model.transitions()}
    for path in itertools.product(labels, repeat=len(items)):
        score = sum(
            value * state.get((name, y), 0.0)
            for item, y in zip(items, path, strict=True)
            for name, value in item.items()
        )
        yield path, score + sum(moves.get(pair, 0.0) for pair in itertools.pairwise(path))


def test_answers_are_those_of_all_labellings(tagger, xseq):
    items = ItemSequence(xseq[:5]).items()
    scores = dict(every_labelling(tagger, items))
    total = sum(map(math.exp, scores.values()))
    best = max(scores, key=scores.get)
    assert tagger.tag(xseq[:5]) == list(best)
    assert tagger.probability(best) == pytest.approx(math.exp(scores[best]) / total, rel=1e-10)
    for position, label in itertools.product(range(5), tagger.labels()):
        share = sum(math.exp(score) for path, score in scores.items() if path[position] == label) / total
        assert tagger.marginal(label, position) == pytest.approx(share, abs=1e-12)


def test_answers_are_the_same_once_attributes_are_looked_up_by_key(model_path, xseq):
    fresh, used = Tagger(), Tagger()
    fresh.open(model_path)
    used.open(model_path)
    for _ in range(1000):
        used.tag(xseq)
    for x in (xseq, ItemSequence(xseq), [list(item) for item in xseq], [["a\0b"], ["walk\0"], ["\0"]], []):
        assert used.tag(x) == fresh.tag(x)
        n = len(fresh.tag())
        assert [used.marginal("好", i) for i in range(n)] == [fresh.marginal("好", i) for i in range(n)]


def test_names_with_a_zero_end_there(tagger):
    tagger.set([["walk"]])
    plain = tagger.marginal("sunny", 0)
    tagger.set([["walk\0more"]])
    assert tagger.marginal("sunny", 0) == plain


def test_repeated_names_count_twice(tagger):
    tagger.set([{"walk": 2.0}])
    twice = tagger.marginal("sunny", 0)
    tagger.set([["walk", "walk"]])
    assert tagger.marginal("sunny", 0) == twice


def test_tagging_between_two_marginals_changes_nothing(tagger, xseq):
    tagger.set(xseq)
    before = tagger.marginal("sunny", 2)
    tagger.tag()
    assert tagger.marginal("sunny", 2) == before


def test_an_empty_sequence(tagger):
    assert tagger.tag([]) == []
    assert tagger.probability([]) == 0.0
    with pytest.raises(ValueError, match="no position 0"):
        tagger.marginal("sunny", 0)


def test_every_answer_is_a_list_of_its_own(tagger, xseq):
    first = tagger.tag(xseq)
    expected = list(first)
    first[0] = "changed"
    assert tagger.tag() == expected
    tagger.labels().clear()
    assert tagger.labels() == ["sunny", "rainy", "好"]


def test_labels_may_be_bytes_tuples_or_generated(tagger, xseq, yseq):
    tagger.set(xseq)
    expected = tagger.probability(yseq)
    assert tagger.probability(tuple(yseq)) == tagger.probability(y.encode() for y in yseq) == expected
    assert tagger.marginal(b"sunny", 0) == tagger.marginal("sunny", 0)


def test_errors(tagger, xseq):
    tagger.set(xseq)
    with pytest.raises(RuntimeError, match="no label 'snow'"):
        tagger.marginal("snow", 0)
    with pytest.raises(ValueError, match="no position 7"):
        tagger.marginal("sunny", 7)
    with pytest.raises(ValueError, match="no position -1"):
        tagger.marginal("sunny", -1)
    with pytest.raises(ValueError, match="7 items and 2 labels"):
        tagger.probability(["sunny", "sunny"])
    with pytest.raises(RuntimeError):
        tagger.probability(["snow"] * 7)
    with pytest.raises(TypeError):
        tagger.marginal(1, 0)
    with pytest.raises(ValueError, match="not finite"):
        tagger.tag([{"walk": 1e308, "clean": 1e308, "world": -1.7e308}])
    assert len(tagger.tag()) == 7  # what was set before stays


def test_a_tagger_that_is_not_open(xseq, tmp_path):
    tagger = Tagger()
    for ask in (lambda: tagger.tag(xseq), lambda: tagger.set(xseq), tagger.labels, lambda: tagger.tag()):
        with pytest.raises(ValueError, match="not opened"):
            ask()
    for ask in (tagger.info, lambda: tagger.dump(str(tmp_path / "dump"))):
        with pytest.raises(RuntimeError, match="closed"):
            ask()
    tagger.close()


def test_open_gives_something_that_closes(model_path, xseq):
    with Tagger().open(model_path) as tagger:
        assert tagger.tag(xseq)
    with pytest.raises(ValueError, match="not opened"):
        tagger.tag(xseq)


def test_files_that_cannot_be_opened(tmp_path):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    for path, kind in ((str(tmp_path / "none"), OSError), (str(empty), ValueError), (__file__, ValueError)):
        with pytest.raises(kind):
            Tagger().open(path)
    with pytest.raises(TypeError):
        Tagger().open(empty)
    with pytest.raises(TypeError):
        Tagger().open_inmemory(bytearray(b"lCRF"))


def test_a_model_in_memory_is_kept(model_bytes, xseq, yseq):
    tagger = Tagger()
    tagger.open_inmemory(bytes(bytearray(model_bytes)))
    junk = [bytes(len(model_bytes)) for _ in range(50)]
    assert tagger.tag(xseq) == yseq
    del junk


def test_a_file_that_is_removed_stays_open(model_bytes, xseq, yseq, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(model_bytes)
    tagger = Tagger()
    tagger.open(str(path))
    path.unlink()
    assert tagger.tag(xseq) == yseq


def test_a_file_that_is_written_anew_while_it_is_open(model_bytes, xseq, yseq, tmp_path):
    """As by a program that opens the path to write: mapped memory would change, or end the process."""
    path = tmp_path / "model"
    path.write_bytes(model_bytes)
    tagger = Tagger()
    tagger.open(str(path))
    for data in (bytes(len(model_bytes)), b""):
        path.write_bytes(data)
        assert tagger.tag(xseq) == yseq
        assert tagger.info().labels["sunny"] == "0"


def test_a_tagger_that_is_asked_while_it_reads(tagger):
    class Asks:
        def __float__(self):
            assert tagger.tag([["clean"], ["clean"]]) == ["rainy", "rainy"]
            return 1.0

    for _ in range(2):
        assert tagger.tag([{"walk": Asks()}]) == ["sunny"]
        assert len(tagger.tag()) == 1
        for _ in range(2000):  # until attributes are looked up by key
            tagger.tag([["walk"]])


def test_threads_may_share_a_tagger(tagger):
    """Reading and long sequences let other threads run in between; every call has its own answer all the same."""
    rounds, faults = 30, []
    switch = sys.getswitchinterval()

    def items(name, n):
        for _ in range(n):
            yield {name: 1.0}

    def ask(name, label, n):
        try:
            for _ in range(rounds):
                assert tagger.tag(items(name, n)) == [label] * n
        except BaseException as error:
            faults.append(error)

    work = ("walk", "sunny", 3000), ("clean", "rainy", 2000), ("walk", "sunny", 10), ("world", "好", 100)
    threads = [threading.Thread(target=ask, args=arguments) for arguments in work]
    try:
        sys.setswitchinterval(1e-5)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert not faults


def test_a_handler_of_signals_cannot_use_a_tagger_at_work(tagger):
    """It comes between two steps of a call, whose scores must stay."""
    heard = []

    def handler(*_):
        try:
            heard.append(tagger.tag([["walk"]]))
        except RuntimeError as error:
            heard.append(str(error))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        for _ in range(5):
            assert tagger.tag([["clean"]] * 200_000) == ["rainy"] * 200_000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(answer == ["sunny"] or "at work" in answer for answer in heard)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_tagger_works_on_in_a_fork(tagger, xseq, yseq):
    child = os.fork()
    if child == 0:
        os._exit(0 if tagger.tag(xseq) == yseq else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tagger.tag(xseq) == yseq


def test_nothing_pickles(tagger):
    for thing in (tagger, ItemSequence([])):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(thing)


def test_subclasses(model_path, xseq):
    class Mine(Tagger):
        def __init__(self, note):
            self.note, self.sets = note, 0

        def set(self, xseq):
            self.sets += 1
            super().set(xseq)

    tagger = Mine("mine")
    with tagger.open(model_path):
        tagger.tag(xseq)
    assert tagger.sets == 1  # as the original does


def test_info_reads_names_with_line_ends(tagger):
    info = tagger.info()
    assert info.header["num_labels"] == "3"
    assert info.header["num_features"] == "0"
    assert list(info.labels.items()) == [("sunny", "0"), ("rainy", "1"), ("好", "2")]
    assert ("line\nend", "好") in info.state_features
    assert ("sun:not shining", "rainy") in info.state_features
    assert set(info.attributes) == {name for name, _ in info.state_features}
    assert all(round(weight, 6) == weight for weight in (*info.transitions.values(), *info.state_features.values()))


def test_a_dump_can_be_read_back(model_path, tagger, tmp_path, capfd):
    from trelliswork.compat.pycrfsuite._dumpparser import CRFsuiteDumpParser

    path = tmp_path / "dump"
    path.write_text("x" * 100_000)  # an older, longer one
    tagger.dump(str(path))
    text = path.read_text(encoding="utf-8")
    parser = CRFsuiteDumpParser()
    for line in text.replace("line\nend", "line end").splitlines():
        parser.feed(line)
    info = tagger.info()
    assert parser.result.header == info.header
    assert parser.result.transitions == info.transitions
    assert len(parser.result.state_features) == len(info.state_features)
    tagger.dump()
    assert capfd.readouterr().out == text


def test_the_library_gives_the_same_answers(model_path, tagger, xseq):
    labeler = tw.load(model_path)
    assert labeler.predict([xseq]) == [tagger.tag(xseq)]
    [marginals] = labeler.predict_marginals([xseq])
    for position, label in itertools.product(range(len(xseq)), range(3)):
        expected = tagger.marginal(tagger.labels()[label], position)
        assert marginals[position][label] == pytest.approx(expected, abs=1e-12)


def test_marginals_of_all_labels(tagger, xseq):
    tagger.set(xseq)
    rows = tagger._model.marginals()
    assert [list(row) for row in rows] == [tagger.labels()] * len(xseq)
    assert all(sum(row.values()) == pytest.approx(1.0) for row in rows)
    assert isinstance(tagger._model, _core.CrfsuiteTagger)
