"""`trelliswork compare`: the tests of `trelliswork.evaluation`, from files."""

import json

import pytest

from trelliswork.evaluation import mcnemar, paired_bootstrap

GOLD = [["B-LOC", "I-LOC", "O"], ["B-LOC"]]
FIRST = [["B-LOC", "O", "O"], ["O"]]
SECOND = [["B-LOC", "I-LOC", "O"], ["O"]]


def tagged(path, guess, gold=GOLD):
    sentences = [
        "".join(f"w {y} {z}\n" for y, z in zip(labels, found, strict=True))
        for labels, found in zip(gold, guess, strict=True)
    ]
    path.write_text("\n".join(sentences))
    return path


@pytest.fixture
def files(tmp_path):
    return tagged(tmp_path / "first.txt", FIRST), tagged(tmp_path / "second.txt", SECOND)


def test_tagged_files_are_compared(run, files):
    code, out, err = run("compare", *files, "--json", "--samples", 50)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["mcnemar"] == mcnemar(GOLD, FIRST, SECOND).as_dict()
    assert found["bootstrap"] == paired_bootstrap(GOLD, FIRST, SECOND, n_samples=50).as_dict()


def test_the_text_has_both_tests(run, files):
    out = run("compare", *files, "--samples", 50, "--measure", "accuracy").out
    assert "McNemar's test, 4 tokens" in out
    assert "accuracy: first 50.00, second 75.00, difference +25.00" in out


def test_models_are_compared_on_a_labelled_file(run, recipes, tmp_path):
    models = [tmp_path / f"{name}.tw" for name in ("perceptron", "pa")]
    for model in models:
        run("train", recipes[0], "--learner", model.stem, "--set", "epochs=1", "-o", model, "-q")
    code, out, _ = run("compare", *models, "--test", recipes[1], "--json", "--samples", 20)
    assert code == 0
    assert sum(json.loads(out)["mcnemar"][name] for name in ("both_right", "only_first", "only_second")) > 1000


def test_other_gold_labels_are_refused(run, files, tmp_path):
    other = tagged(tmp_path / "other.txt", SECOND, [["B-LOC", "I-LOC", "B-LOC"], ["B-LOC"]])
    code, _, err = run("compare", files[0], other)
    assert code == 2
    assert "the gold labels of sentence 1 are not the same" in err


def test_other_texts_are_refused(run, files, tmp_path):
    other = tagged(tmp_path / "other.txt", SECOND[:1], GOLD[:1])
    code, _, err = run("compare", files[0], other)
    assert code == 2
    assert "has 2 sentences but" in err


def test_one_standard_input_is_not_two_files(run):
    assert run("compare", "-", "-").code == 2
