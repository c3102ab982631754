"""Prediction with a beam: what `Chain.argmax(beam=)` finds, from every door, and no more than that."""

import json
import subprocess
import sys

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.errors import InvalidInput

WIDTHS = (1, 2, 3)


def corpus():
    """Return sequences whose words say little, so that a narrow beam misses the best labelling."""
    rng = np.random.default_rng(0)
    X = [[f"w{i}" for i in rng.integers(0, 4, n)] for n in rng.integers(1, 10, 120)]
    y = []
    for x in X:
        labels = [int(rng.integers(0, 5))]
        for word in x[1:]:
            labels.append((2 * labels[-1] + int(word[1:]) + int(rng.integers(0, 2))) % 5)
        y.append([f"L{label}" for label in labels])
    return X, y


X, Y = corpus()


@pytest.fixture(scope="module", params=["perceptron", "crf", tw.MEMM()], ids=["perceptron", "crf", "memm"])
def exact(request):
    return tw.SequenceLabeler(request.param).fit(X, Y)


@pytest.mark.parametrize("beam", WIDTHS)
def test_it_predicts_what_the_beam_of_its_chain_finds(exact, beam):
    expected = [exact.classes_[exact.chain(x).argmax(beam=beam).labels].tolist() for x in X]
    with_beam = tw.SequenceLabeler(exact.learner, beam=beam, n_jobs=2).fit(X, Y)
    assert with_beam.predict(X) == expected
    assert with_beam.predict(X, bias={"L0": 0.0}) == expected  # another way through the code


def test_a_narrow_beam_misses_some_and_a_wide_one_none(exact):
    found = {beam: tw.SequenceLabeler(exact.learner, beam=beam).fit(X, Y).predict(X) for beam in (1, 5, 10**30)}
    assert found[5] == found[10**30] == exact.predict(X)
    assert found[1] != found[5]


def test_attributes_of_pairs_have_a_beam_too():
    templates = tw.Templates.parse("word[0]\npair: word[0]\n")
    exact = tw.SequenceLabeler("perceptron", templates).fit(X, Y)
    found = tw.SequenceLabeler("perceptron", templates, beam=2).fit(X, Y).predict(X)
    assert found == [exact.classes_[exact.chain(x).argmax(beam=2).labels].tolist() for x in X]


def test_scores_on_development_data_are_those_of_the_beam():
    scores = []
    labeler = tw.SequenceLabeler(tw.Perceptron(3, averaged=False), beam=1, scoring="accuracy")
    labeler.fit(X[40:], Y[40:], X[:40], Y[:40], callback=lambda progress: scores.append(progress.dev_score))
    assert labeler.score(X[:40], Y[:40]) == pytest.approx(max(scores), abs=1e-12)


def test_it_is_in_the_file_and_can_be_set_afterwards(tmp_path):
    labeler = tw.SequenceLabeler("perceptron", beam=1).fit(X, Y)
    labeler.save(tmp_path / "model.tw")
    loaded = tw.load(tmp_path / "model.tw")
    assert loaded.beam == 1
    assert loaded.predict(X) == labeler.predict(X)
    assert loaded.set_params(beam=None).predict(X) == tw.SequenceLabeler("perceptron").fit(X, Y).predict(X)


@pytest.mark.parametrize(
    "question",
    [
        lambda labeler: labeler.predict_kbest(X, 2),
        lambda labeler: labeler.predict_marginals(X),
        lambda labeler: labeler.predict_max_marginals(X),
        lambda labeler: labeler.log_prob(X, Y),
        lambda labeler: labeler.explain(X[0]),
        lambda labeler: labeler.calibrate(X, Y),
    ],
)
def test_it_answers_nothing_but_the_labelling_that_it_finds(question):
    labeler = tw.SequenceLabeler(beam=2).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"beam is 2: it finds one labelling.*beam=None"):
        question(labeler)
    question(labeler.set_params(beam=None))


def test_spans_have_probabilities_and_are_refused():
    labeler = tw.SequenceLabeler(beam=2).fit([["Ann", "sings"]], [["B-PER", "O"]])
    with pytest.raises(InvalidInput, match="beam is 2"):
        labeler.predict_spans([["Ann", "sings"]])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"beam": 0}, "beam"),
        ({"beam": 1.5}, "beam"),
        ({"beam": "2"}, "beam"),
        ({"order": 2}, "chains of order 1"),
        ({"at_most": {"L0": 1}, "learner": "perceptron"}, "chains of order 1"),
        ({"decoder": "mbr"}, "probabilities"),
    ],
)
def test_what_makes_no_sense_is_refused(more, told):
    with pytest.raises(InvalidInput, match=told):
        tw.SequenceLabeler(**{"beam": 2, **more}).fit(X, Y)


# At the shell.


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beam")
    pairs = [zip(x, y, strict=True) for x, y in zip(X, Y, strict=True)]
    (folder / "train.tsv").write_text("\n".join("".join(f"{w}\t{label}\n" for w, label in own) for own in pairs))
    (folder / "new.txt").write_text("\n".join("".join(f"{word}\n" for word in x) for x in X))
    return folder


def shell(*arguments):
    command = [sys.executable, "-m", "trelliswork", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def labels_of(text):
    return [[line.split("\t")[-1] for line in block.split("\n")] for block in text.strip().split("\n\n")]


def test_at_the_shell_it_is_said_when_training_or_when_tagging(files):
    wide, narrow = files / "wide.tw", files / "narrow.tw"
    train = ["train", files / "train.tsv", "--learner", "perceptron", "-q", "-o"]
    assert shell(*train, wide).returncode == shell(*train, narrow, "--beam", 1).returncode == 0
    expected = tw.load(narrow).predict(X)
    assert tw.load(wide).predict(X) != expected
    assert labels_of(shell("tag", narrow, files / "new.txt").stdout) == expected
    assert labels_of(shell("tag", wide, files / "new.txt", "--beam", 1).stdout) == expected
    assert labels_of(shell("tag", narrow, files / "new.txt", "--beam", 50).stdout) == tw.load(wide).predict(X)
    records = map(json.loads, shell("tag", wide, files / "new.txt", "--beam", 1, "--json").stdout.splitlines())
    assert [record["labels"] for record in records] == expected


@pytest.mark.parametrize("more", [["--marginals"], ["--kbest", 2], ["--marginals", "--json"], ["--kbest", 2, "--json"]])
def test_at_the_shell_what_a_beam_does_not_find_is_refused(files, more):
    model = files / "model.tw"
    tw.SequenceLabeler("crf").fit(X, Y).save(model)
    done = shell("tag", model, files / "new.txt", "--beam", 2, *more)
    assert done.returncode == 2
    assert "beam is 2" in done.stderr


def test_at_the_shell_other_models_have_no_beam(files):
    model = files / "segments.tw"
    tw.SegmentLabeler().fit([["Ann", "sings"]], [["B-PER", "O"]]).save(model)
    done = shell("tag", model, files / "new.txt", "--beam", 2)
    assert (done.returncode, "--beam is for models of a SequenceLabeler" in done.stderr) == (2, True)
    assert shell("train", files / "train.tsv", "--task", "segments", "--beam", 2, "-o", model).returncode == 2
