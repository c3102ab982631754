"""`trelliswork tag`: labels, probabilities and k-best lists, from files and pipes, in any format."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.cli import tag as tag_module

LINES = ["2 large eggs", "1 cup sugar , sifted"]
COLUMNS = "".join("\n".join(line.split()) + "\n\n" for line in LINES).encode()


@pytest.fixture
def expected(model):
    return tw.load(model).predict([line.split() for line in LINES])


def labels_of(out):
    return [[row.split("\t")[-1] for row in block.split("\n")] for block in out.strip("\n").split("\n\n")]


def test_lines_come_back_with_their_labels(run, model, expected):
    code, out, err = run("tag", model, stdin=COLUMNS)
    assert (code, err) == (0, "")
    assert labels_of(out) == expected
    assert "\n".join(row.split("\t")[0] for row in out.split("\n")) == COLUMNS.decode()


def test_a_model_with_an_automaton_keeps_to_it(run, tmp_path):
    corpus = tw.corpora.ingredients()
    kept = [i for i, labels in enumerate(corpus.y_train[:200]) if labels.count("B-NAME") == 1]
    X, y = ([part[i] for i in kept] for part in (corpus.X_train, corpus.y_train))
    one_name = lambda labels: tw.Automaton.at_most(labels, "B-NAME", 1)  # noqa: E731
    labeler = tw.SequenceLabeler("perceptron", automaton=one_name, automaton_weights="arcs").fit(X, y)
    labeler.save(tmp_path / "model.tw")
    code, out, err = run("tag", tmp_path / "model.tw", stdin=COLUMNS)
    assert (code, err) == (0, "")
    assert labels_of(out) == labeler.predict([line.split() for line in LINES])
    code, out, err = run("inspect", tmp_path / "model.tw")
    assert (code, err) == (0, "")
    assert "in state 0" in out


def test_what_else_is_in_the_columns_is_passed_on(run, model, expected):
    gold = b"2\tB-QTY\nlarge\tB-SIZE\neggs\tB-NAME\n"
    out = run("tag", model, stdin=gold).out
    assert out == "".join(
        f"{row}\t{label}\n" for row, label in zip(gold.decode().split("\n"), expected[0], strict=False)
    )


def test_text_is_cut_and_labelled(run, model, expected):
    out = run("tag", model, "--format", "text", stdin="\n".join(LINES).encode()).out
    assert labels_of(out) == expected


def test_json_lines_and_conllu_are_read(run, model, expected):
    lines = "".join(json.dumps({"tokens": line.split()}) + "\n" for line in LINES).encode()
    assert labels_of(run("tag", model, "--format", "jsonl", stdin=lines).out) == expected
    rows = [f"{i}\t{word}" + "\t_" * 8 for i, word in enumerate(LINES[0].split(), 1)]
    conllu = ("\n".join(rows) + "\n\n").encode()
    assert labels_of(run("tag", model, "--format", "conllu", stdin=conllu).out) == expected[:1]


def test_a_file_and_a_compressed_file(run, model, expected, tmp_path):
    (tmp_path / "new.txt").write_bytes(COLUMNS)
    assert labels_of(run("tag", model, tmp_path / "new.txt").out) == expected
    assert run("convert", "--unlabelled", tmp_path / "new.txt", tmp_path / "new.txt.gz").code == 0
    assert labels_of(run("tag", model, tmp_path / "new.txt.gz").out) == expected


def test_the_json_form(run, model, expected):
    out = run("tag", model, "--json", stdin=COLUMNS).out
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["tokens"] for record in records] == [line.split() for line in LINES]
    assert [record["labels"] for record in records] == expected


def test_probabilities_as_json(run, model):
    record = json.loads(run("tag", model, "--json", "--marginals", stdin=b"2\neggs\n").out)
    table = tw.load(model).predict_marginals([["2", "eggs"]])[0]
    assert [sum(row.values()) for row in record["marginals"]] == pytest.approx([1.0, 1.0])
    assert np.array([list(row.values()) for row in record["marginals"]]) == pytest.approx(table)


def test_probabilities_as_columns(run, model):
    out = run("tag", model, "--marginals", stdin=b"2\neggs\n").out
    labeler = tw.load(model)
    table = labeler.predict_marginals([["2", "eggs"]])[0]
    for row, marginals in zip(out.splitlines(), table, strict=True):
        shown = dict(part.rsplit(":", 1) for part in row.split("\t")[2:])
        assert list(shown) == list(labeler.classes_)
        assert [float(value) for value in shown.values()] == pytest.approx(marginals.tolist(), abs=1e-4)


def test_the_best_labellings_best_first(run, model):
    best = tw.load(model).predict_kbest([["2", "eggs"]], 3)[0]
    out = run("tag", model, "--kbest", "3", stdin=b"2\neggs\n").out
    blocks = out.strip("\n").split("\n\n")
    assert len(blocks) == 3
    for rank, (block, (labels, log_prob)) in enumerate(zip(blocks, best, strict=True), 1):
        head, *rows = block.split("\n")
        assert head == f"# {rank} {log_prob:.6f}"
        assert [row.split("\t")[1] for row in rows] == list(labels)
    record = json.loads(run("tag", model, "--kbest", "3", "--json", stdin=b"2\neggs\n").out)
    assert [item["labels"] for item in record["kbest"]] == [list(labels) for labels, _ in best]
    assert [item["log_prob"] for item in record["kbest"]] == pytest.approx([score for _, score in best])


def test_blocks_do_not_change_the_answer(run, monkeypatch, model, recipes):
    whole = run("tag", model, recipes[1]).out
    monkeypatch.setattr(tag_module, "BLOCK", 50)
    monkeypatch.setattr(tag_module, "BATCH", 3)
    assert run("tag", model, recipes[1], "--jobs", "3").out == whole
    texts = run("convert", recipes[1], "--to", "text").out.encode()
    by_text = run("tag", model, "--format", "text", "--tokenizer", "whitespace", stdin=texts).out
    assert labels_of(by_text) == labels_of(whole)


def test_nothing_in_nothing_out(run, model):
    assert run("tag", model, stdin=b"") == (0, "", "")
    assert run("tag", model, "--json", stdin=b"") == (0, "", "")


def test_a_tagged_file_can_be_scored(run, model, recipes, tmp_path):
    (tmp_path / "tagged.txt").write_text(run("tag", model, recipes[1]).out)
    tagged = json.loads(run("eval", "--tagged", tmp_path / "tagged.txt", "--json").out)
    scored = json.loads(run("eval", model, recipes[1], "--json").out)
    assert tagged == scored
    assert scored["span"]["f1"] > 0.88


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (b"2 a\neggs\n", (), "<stdin>, line 2: expected 2 columns, found 1"),
        (b"2\n\n\xe9ggs\n", (), "<stdin>, line 3: byte 0xe9"),
        (b"2\n\n\xe9ggs\n", ("--json",), "<stdin>, line 3: byte 0xe9"),
        (b"{\n", ("--format", "jsonl"), "<stdin>, line 1: this is not JSON"),
    ],
)
def test_bad_input_is_named_by_its_line(run, model, text, arguments, said):
    code, _, err = run("tag", model, *arguments, stdin=text)
    assert code == 2
    assert err.startswith("error: ")
    assert said in err


@pytest.mark.parametrize("token", ["a\tb", "a\nb", " ", "a\rb"])
def test_a_token_that_is_no_line_of_columns_needs_json(run, model, token):
    line = json.dumps({"tokens": ["2", token]}).encode()
    code, out, err = run("tag", model, "--format", "jsonl", stdin=b"\n" + line)
    assert (code, out) == (2, "")
    assert f"<stdin>, line 2: the token {token!r} is blank or contains a tab" in err
    assert json.loads(run("tag", model, "--format", "jsonl", "--json", stdin=line).out)["tokens"] == ["2", token]


def test_a_token_that_marks_documents_elsewhere_is_a_token_here(run, model):
    out = run("tag", model, "--format", "text", "--tokenizer", "whitespace", stdin=b"-DOCSTART- eggs\n").out
    assert [row.split("\t")[0] for row in out.splitlines() if row] == ["-DOCSTART-", "eggs"]


def test_a_model_of_attributes_made_in_python_is_refused(run, tmp_path):
    X, y = [[["w=2"], ["w=eggs"]]], [["B-QTY", "B-NAME"]]
    tw.SequenceLabeler().fit(X, y).save(tmp_path / "m.tw")
    code, _, err = run("tag", tmp_path / "m.tw", stdin=b"2\n")
    assert code == 2
    assert "this model was trained on attributes made in Python" in err


def test_a_model_of_another_decoder_tags_by_it(run, recipes, tmp_path):
    X, y = tw.corpora.ingredients()[:2]
    labeler = tw.SequenceLabeler(features="words", decoder="mbr").fit(X[:80], y[:80])
    labeler.save(tmp_path / "m.tw")
    assert labels_of(run("tag", tmp_path / "m.tw", stdin=COLUMNS).out) == labeler.predict(
        [line.split() for line in LINES]
    )


def test_later_blocks_count_their_lines_from_the_beginning(run, monkeypatch, model):
    monkeypatch.setattr(tag_module, "BLOCK", 16)
    code, _, err = run("tag", model, stdin=b"a b\n\n" * 50 + b"a\n")
    assert code == 2
    assert "line 101: expected 2 columns, found 1" in err


def test_too_few_columns_for_the_model(run, tmp_path):
    path = tmp_path / "two.txt"
    path.write_text("Rain NN B-NP\nfell VBD B-VP\n\n" * 5)
    assert run("train", path, "-o", tmp_path / "m.tw", "--quiet", "--features", "chunking").code == 0
    code, out, err = run("tag", tmp_path / "m.tw", stdin=b"Rain\nfell\n")
    assert (code, out) == (2, "")
    assert "<stdin>, line 1" in err


def test_input_of_another_kind_than_the_model_was_trained_on_is_a_warning(run, model):
    code, _, err = run("tag", model, stdin="".join(f"слово{i} x{i}\n" for i in range(40)).encode())
    assert code == 0
    assert err.startswith("warning: ")


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: b"", lambda data: data[:400] + b"?" + data[401:]]
)
def test_a_damaged_model_is_an_error_of_the_input(run, model, tmp_path, damage):
    path = tmp_path / "bad.tw"
    with open(model, "rb") as file:
        path.write_bytes(damage(file.read()))
    code, out, err = run("tag", path, stdin=b"2\n")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {path}: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_an_error_of_the_work(model, options):
    command = [sys.executable, "-m", "trelliswork", "tag", model, *options]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, input=b"2\n", stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"error: <stdout>: No space left on device\n"


def test_a_missing_model_is_named(run):
    assert run("tag", "no/such/model.tw", stdin=b"2\n") == (
        2,
        "",
        "error: no/such/model.tw: No such file or directory\n",
    )


def test_tagging_needs_neither_numpy_nor_scikit_learn(model):
    code = (
        "import sys; from trelliswork.cli.main import main; code = main(['tag', *sys.argv[1:]]); "
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'rich') if name in sys.modules], code)"
    )
    for options in ([], ["--marginals"], ["--format", "text"]):
        command = [sys.executable, "-c", code, model, *options]
        done = subprocess.run(command, input="2\neggs\n", capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[] 0"


def test_a_sentence_comes_back_before_the_next_is_written(model):
    command = [sys.executable, "-m", "trelliswork", "tag", model]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for _ in range(2):
        process.stdin.write(b"2\neggs\n\n")
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(3)] == [b"2\tB-QTY\n", b"eggs\tB-NAME\n", b"\n"]
    process.stdin.close()
    assert process.stdout.read() == b""
    process.stdout.close()
    assert process.wait() == 0


def test_a_reader_that_goes_away_ends_tagging(left_by_its_reader, model, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("2\neggs\n\n" * 300_000)
    assert left_by_its_reader("tag", model, path) == (141, "")
