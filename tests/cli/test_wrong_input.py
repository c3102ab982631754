"""Every command with wrong input of each kind, in each of its places: exit code 2, one line, in the shell's words."""

import ast
import gzip
import inspect
import re

import pytest

from trelliswork.cli.main import VERBS
from trelliswork.cli.messages import of_library
from trelliswork.corpora import columns, conllu, files, jsonlines, spreadsheets, tables, text
from trelliswork.labels import spans as labels

# Where a command takes a file: the words around it.
PLACES = {
    "train TRAIN": "train {} -o m.tw",
    "train --dev": "train {good} --dev {} -o m.tw",
    "train --features": "train {good} --features {} -o m.tw",
    "train, CoNLL-U": "train {} -o m.tw --format conllu",
    "train, CSV": "train {} -o m.tw --format csv",
    "train, JSON lines": "train {} -o m.tw --format jsonl",
    "tag MODEL": "tag {} {good}",
    "tag INPUT": "tag {model} {}",
    "tag INPUT, text": "tag {model} {} --format text",
    "tag INPUT, JSON": "tag {model} {} --json",
    "eval MODEL": "eval {} {good}",
    "eval TEST": "eval {model} {}",
    "eval TEST, calibration": "eval {model} {} --calibration",
    "eval --tagged": "eval --tagged {}",
    "compare FIRST": "compare {} {tagged}",
    "compare SECOND": "compare {tagged} {}",
    "compare --test": "compare {model} {model} --test {}",
    "compare, a model": "compare {model} {} --test {good}",
    "cv TRAIN": "cv {} --learner pa",
    "cv --dev": "cv {good} --dev {} --learner pa",
    "cv --features": "cv {good} --features {}",
    "inspect MODEL": "inspect {}",
    "inspect, a sentence": "inspect {} --sentence salt",
    "inspect --explain": "inspect {model} --explain {}",
    "convert INPUT": "convert {} -",
    "convert INPUT, to JSON": "convert {} - --to jsonl --to-scheme BILOU",
    "convert INPUT, CSV": "convert {} - --format csv",
}
KINDS = {
    "missing": None,
    "a folder": None,
    "empty": b"",
    "binary": bytes(range(256)) * 8,
    "Latin-1": "Crème B-NAME\nbrûlée I-NAME\n".encode("latin-1"),
    "UTF-16": "Crème B-NAME\nbrûlée I-NAME\n".encode("utf-16"),
    "one column": b"Rain\nfell\n",
    "ragged": b"Rain O\nfell O O O\n",
    "cut off gzip": gzip.compress(b"Rain O\nfell O\n" * 100)[:40],
}
NOTHING_TO_DO = {"tag INPUT", "tag INPUT, text", "tag INPUT, JSON", "convert INPUT", "convert INPUT, to JSON"}
ANY_TEXT = {"tag INPUT, text"}
UNLABELLED = {"tag INPUT", "tag INPUT, JSON", "inspect --explain"}
ARGUMENTS = re.compile(r"\b[a-z_]+=(None|True|False|'|\")|[Pp]ass (X|y|a list|the list|\[)|\by_(true|pred|dev)\b")


@pytest.fixture
def good(small, tmp_path, model, monkeypatch):
    """What is right with a command in which one thing is wrong."""
    monkeypatch.chdir(tmp_path)
    tagged = tmp_path / "tagged.tsv"
    tagged.write_text("Rain O O\nfell B-X B-X\n")
    return {"good": str(small), "tagged": str(tagged), "model": model}


def refused(found):
    """Check that a run ended as runs with wrong input do; return its one line."""
    code, out, err = found
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert not ARGUMENTS.search(err), err
    return err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_wrong_files(place, kind, good, run, tmp_path):
    path = tmp_path / "wrong"
    if kind == "a folder":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes(KINDS[kind])
    words = [str(path) if word == "{}" else word.format(**good) for word in PLACES[place].split()]
    found = run(*words)
    if (place in NOTHING_TO_DO or place == "convert INPUT, CSV") and kind == "empty":
        assert found[:2] == (0, "")
    elif (place in ANY_TEXT and kind in ("one column", "ragged")) or (place in UNLABELLED and kind == "one column"):
        assert found.code == 0
    else:
        said = refused(found)
        assert str(path) in said
    assert not (tmp_path / "m.tw").exists()


OPTIONS = {
    "train": "-o m.tw {good}",
    "tag": "{model} {good}",
    "parse": "{model} {good}",
    "eval": "{model} {good}",
    "compare": "{tagged} {tagged}",
    "cv": "{good}",
    "inspect": "{model}",
    "convert": "{good} -",
    "demo": "pictures",
    "bench": "",
    "serve": "{model}",
}
WRONG = {
    "train": [
        "--jobs 0",
        "--min-count 0",
        "--hash-bits 31",
        "--patience 0",
        "--patience 3",
        "--seed -1",
        "--combinations none",
        "--scheme XYZ",
        "--learner magic",
        "--set l2=-1",
        "--set magic=1",
        "--set l2",
        "--resume",
        "--label-column 7",
        "--label-column word",
        "--columns 5",
        "--columns word",
        "--encoding klingon",
        "--format xml",
        "--tokenizer none",
        "--sentence-column id",
        "--no-header",
        "--separator comma",
        "--features chunking",
        "-o no/such/folder/m.tw",
        "-o {folder}",
        "--checkpoint no/such/folder/state",
    ],
    "tag": ["--jobs 0", "--kbest 0", "--kbest 2 --marginals", "--columns 9", "--encoding klingon", "--label-column 1"],
    "eval": [
        "--scheme XYZ",
        "--jobs 0",
        "--label-column 7",
        "--columns 4",
        "--tagged --columns 0",
        "--sentence-column 1",
    ],
    "compare": ["--samples 0", "--seed -1", "--measure magic", "--jobs 0", "--label-column 9", "--no-header"],
    "cv": [
        "--folds 1",
        "--folds 1000",
        "--nested 1",
        "--nested 2 --dev {good}",
        "--scoring magic",
        "--learner magic",
        "--set C=1",
        "--set l2=",
        "--plot x.doc",
        "--plot no/such/folder/x.png",
        "--against epochs",
        "--jobs 0",
        "--min-count 0",
        "--seed -1",
    ],
    "inspect": ["--top -1", "--label magic", "--sentence salt --token pepper", "--sentence -x- --columns"],
    "convert": [
        "--to xml",
        "--from-scheme XYZ",
        "--to-scheme XYZ",
        "--json-form magic",
        "--to-columns a",
        "--to conllu --to-columns magic",
        "--to csv --to-columns a,b,c",
        "--to-label magic",
        "--to-label 7",
        "--to text --to-label 1",
        "--encoding klingon",
        "--no-header",
    ],
    "serve": ["--port 99999", "--port http", "--workers 0", "--timeout 0", "--max-k 0", "--max-bytes -1"],
    "demo": ["{model}"],
    "bench": ["--jobs 0", "--jobs two"],
}


@pytest.mark.parametrize(("verb", "wrong"), [(verb, wrong) for verb, cases in WRONG.items() for wrong in cases])
def test_wrong_options(verb, wrong, good, run, tmp_path):
    words = OPTIONS[verb].split() if verb != "demo" else []
    refused(run(verb, *(word.format(folder=tmp_path, **good) for word in [*words, *wrong.split()])))
    assert not (tmp_path / "m.tw").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_options_and_arguments_that_no_command_has(verb, good, run):
    words = [word.format(**good) for word in OPTIONS[verb].split()]
    assert refused(run(verb, *words, "--no-such-option")).endswith(f"See trelliswork {verb} --help.\n")
    assert "unexpected extra argument" in refused(run(verb, *words, "one", "two", "three"))


@pytest.mark.parametrize("verb", [verb for verb, words in OPTIONS.items() if words and verb not in ("convert", "demo")])
def test_arguments_that_are_missing(verb, run):
    refused(run(verb))


@pytest.mark.parametrize(
    ("typed", "meant"), [("trian", "train"), ("tags", "tag"), ("inspct", "inspect"), ("evla", "eval")]
)
def test_a_mistyped_command_is_asked_back(typed, meant, run):
    assert f"There is no command '{typed}'. Did you mean {meant}" in refused(run(typed, "x"))


@pytest.mark.parametrize(
    ("words", "meant"),
    [("train x --outptu y", "--output"), ("cv x --fold 3", "--folds"), ("tag x --marginal", "--marginals")],
)
def test_a_mistyped_option_is_asked_back(words, meant, run):
    assert f"Did you mean {meant}?" in refused(run(*words.split()))


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        ("train - -o m.tw", b"Rain\n", "--label-column and --separator say where the labels are"),
        ("convert", b"Rain\n", "If the file has no labels, pass --unlabelled."),
        ("convert", b"\xe9 O\n", "pass --encoding latin-1 (from Windows: cp1252)."),
        ("convert", b"a O\nb c\tO\n", "pass --separator tab to allow spaces"),
        ("convert --separator tab", b"a\tO\nb O\n", "leave --separator out"),
        ("train - -o m.tw --label-column 4", b"a O\n", "--label-column is 4, but there are 2 columns"),
        ("convert --columns 4", b"a O\n", "--columns has 4, but there are 2 columns"),
        ("convert --format csv", b"a;O\n", "pass another --separator"),
        ("convert --format jsonl", b'{"tokens": ["a"], "tags": [1]}', "Write them as names"),
        ("train - -o m.tw --patience 2", b"a O\n", "--patience needs development data: pass --dev FILE"),
    ],
)
def test_advice_is_in_the_words_of_the_shell(words, stdin, said, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refused(run(*words.split(), stdin=stdin))


@pytest.mark.parametrize("module", [columns, conllu, files, jsonlines, labels, spreadsheets, tables, text])
def test_all_advice_of_the_readers_has_its_words_for_the_shell(module):
    """Advice such as "pass separator=None" that nobody has put into terms of options."""
    tree = ast.parse(inspect.getsource(module))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    said = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
    ]
    for message in said:
        assert not re.search(r"([Pp]ass|choose) (another )?\w+=", of_library(message)), message
