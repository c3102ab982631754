"""`trelliswork cv`: cross-validation from a file."""

import json

import pytest

import trelliswork as tw
from trelliswork.evaluation import cross_validate


@pytest.fixture
def few(recipes, tmp_path):
    """The first 80 lines of recipes, as a file and as lists."""
    sentences = list(tw.corpora.read_columns(recipes[0]))[:80]
    path = tmp_path / "few.tsv"
    tw.corpora.write_columns(path, sentences)
    return path, [list(sentence.tokens) for sentence in sentences], [sentence.labels for sentence in sentences]


def test_all_combinations_are_scored(run, few):
    path, _, y = few
    code, out, err = run(
        "cv", path, "--learner", "pa", "--set", "C=0.1,1", "--set", "epochs=1,2", "--folds", 2, "--json"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [one["params"] for one in found["candidates"]] == [
        {"learner": "pa", "learner__C": C, "learner__epochs": epochs} for C in (0.1, 1) for epochs in (1, 2)
    ]
    X = [[row[0] for row in x] if not isinstance(x[0], str) else x for x in few[1]]
    grid = {"learner__C": [0.1, 1], "learner__epochs": [1, 2]}
    expected = cross_validate(tw.SequenceLabeler("pa", random_state=0), X, y, folds=2, grid=grid)
    assert [one["mean"] for one in found["candidates"]] == [one.mean for one in expected.candidates]


def test_parameters_go_to_the_learners_that_have_them(run, few):
    out = run(
        "cv", few[0], "--learner", "perceptron", "--learner", "pa", "--set", "C=0.1,1", "--folds", 2, "--json"
    ).out
    params = [one["params"] for one in json.loads(out)["candidates"]]
    assert params == [
        {"learner": "perceptron"},
        {"learner": "pa", "learner__C": 0.1},
        {"learner": "pa", "learner__C": 1},
    ]


def test_epochs_are_of_the_learners_that_make_epochs(run, few):
    """crf has its stochastic passes under another name: its number of iterations is max_iter."""
    code, out, err = run("cv", few[0], "--learner", "crf", "--set", "epochs=1,2")
    assert (code, out) == (2, "")
    assert "no learner has the parameter 'epochs'. They have crf: " in err
    assert "max_iter" in err


def test_nested_tells_the_choices(run, few):
    out = run("cv", few[0], "--learner", "pa", "--set", "epochs=1,2", "--folds", 2, "--nested", 2).out
    assert out.startswith("2 outer folds; of 2 settings the best f1 in each\n")


def test_a_development_file_is_scored_instead_of_folds(run, few):
    out = run("cv", few[0], "--dev", few[0], "--learner", "pa").out
    assert out.startswith("1 settings, held-out data")


@pytest.mark.parametrize("against", [None, "C", "iteration"])
def test_a_picture_is_drawn(run, few, tmp_path, against):
    picture = tmp_path / "scores.png"
    extra = [] if against is None else ["--against", against]
    code, _, err = run(
        "cv",
        few[0],
        "--learner",
        "pa",
        "--set",
        "C=0.1,1",
        "--folds",
        2,
        "--set",
        "epochs=2",
        "--plot",
        picture,
        *extra,
    )
    assert (code, err) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_progress_is_a_line_for_each_run(run, few):
    err = run("cv", few[0], "--learner", "pa", "--folds", 2, "-v").err
    assert err.startswith("run 1/2: learner=pa, split ")
    assert len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "C=1"], "no learner has the parameter 'C'"),
        (["--set", "l2"], "expected NAME=VALUE"),
        (["--learner", "frob"], "frob"),
        (["--learner", "pa", "--set", "k=1,0"], "k must be"),
        (["--against", "C"], "--against needs --plot"),
        (["--nested", "2", "--plot", "a.png"], "--nested"),
        (["--plot", "no/such/folder/a.png"], "folder"),
        (["--plot", "scores.xyz"], "ends in .png"),
        (["--folds", "999"], "only 80 sequences"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_trained(run, few, arguments, said):
    code, out, err = run("cv", few[0], *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_label_that_breaks_the_scheme_is_named_with_its_line(run, tmp_path):
    path = tmp_path / "wrong.tsv"
    path.write_text("a O\n\nb I-X\n\nc B-X\n\nd O\n")
    code, _, err = run("cv", path, "--scheme", "BIO", "--folds", 2)
    assert code == 2
    assert f"{path}, line 3: y[1]" in err
