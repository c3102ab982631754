"""`trelliswork eval`: scores of a file that is tagged already, and of a model."""

import json
import subprocess
import sys
import tracemalloc

import pytest

import trelliswork as tw
from trelliswork.cli import reading
from trelliswork.cli.eval import evaluate_model, evaluate_tagged
from trelliswork.cli.models import loaded_model
from trelliswork.cli.reading import Layout

TAGGED = b"New B-LOC B-LOC\nYork I-LOC I-LOC\nrains O O\n\nParis B-LOC O\n"


def test_tagged_files_are_scored_as_conlleval_scores_them(run):
    code, out, err = run("eval", "--tagged", "-", stdin=TAGGED)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "processed 4 tokens with 2 phrases; found: 1 phrases; correct: 1."
    assert out.splitlines()[1] == "accuracy:  75.00%; precision: 100.00%; recall:  50.00%; FB1:  66.67"


def test_the_json_form_has_what_scripts_ask_for(run):
    scores = json.loads(run("eval", "--tagged", "--json", stdin=TAGGED).out)
    assert scores["span"]["precision"] == 1.0
    assert scores["span"]["recall"] == 0.5
    assert scores["span"]["f1"] == pytest.approx(2 / 3)
    assert scores["token"]["accuracy"] == 0.75
    assert scores["token"]["f1"] == pytest.approx(0.8)
    assert scores["per_type"]["LOC"]["support"] == 2


def test_labels_that_spell_no_spans_are_scored_as_tokens(run):
    scores = json.loads(run("eval", "--tagged", "--json", stdin=b"Rain NOUN NOUN\nfell VERB NOUN\n").out)
    assert scores["span"] is None
    assert scores["token"]["accuracy"] == 0.5
    assert scores["per_label"]["NOUN"] == {
        "precision": 0.5,
        "recall": 1.0,
        "f1": pytest.approx(2 / 3),
        "support": 1,
        "found": 2,
        "correct": 1,
    }
    table = run("eval", "--tagged", stdin=b"Rain NOUN NOUN\nfell VERB NOUN\n").out.splitlines()
    assert table[-2:] == ["NOUN       50.00  100.00  66.67        1", "VERB        0.00    0.00   0.00        1"]


def test_the_scheme_is_found_from_the_gold_labels(run):
    scores = json.loads(run("eval", "--tagged", "--json", stdin=b"a U-X U-X\nb O O\nc U-X O\n").out)
    assert (scores["scheme"], scores["span"]["recall"]) == ("BILOU", 0.5)


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (b"", (), "found no sentence"),
        (b"a O O\nb O\n", (), "line 2: expected 3 columns, found 2"),
        (b"a DET O\n", ("--scheme", "BIO"), "Pass --scheme none"),
    ],
)
def test_bad_input(run, text, arguments, said):
    code, out, err = run("eval", "--tagged", *arguments, stdin=text)
    assert (code, out) == (2, "")
    assert said in err


def test_without_a_model_and_a_file_the_command_is_wrong(run):
    assert run("eval").code == 2


def test_calibration_bins_the_marginals_of_the_model(run, model, recipes):
    bare = json.loads(run("eval", model, recipes[1], "--json").out)
    scores = json.loads(run("eval", model, recipes[1], "--json", "--calibration").out)
    calibration = scores.pop("calibration")
    assert scores == bare
    assert sum(part["count"] for part in calibration["bins"]) == calibration["tokens"] == 1754
    assert calibration["expected_calibration_error"] < 0.05
    assert "expected calibration error" in run("eval", model, recipes[1], "--calibration").out


def test_calibration_reads_its_file_twice(run, model):
    code, _, err = run("eval", model, "-", "--calibration", stdin=b"a O\n")
    assert code == 2
    assert "read twice" in err


@pytest.mark.parametrize("layout", [Layout(), Layout(columns=("0",))], ids=["as a table", "as sentences"])
def test_scores_block_by_block_are_those_of_the_whole_file(model, recipes, layout, monkeypatch):
    _, _, X, y = tw.corpora.ingredients()
    whole = tw.evaluation.evaluate(y, tw.load(model).predict(X)).as_dict()
    assert evaluate_model(loaded_model(model, 1), recipes[1], layout).as_dict() == whole
    for size in (1, 300, 5000):
        monkeypatch.setattr(reading, "BLOCK", size)
        monkeypatch.setattr(reading, "BATCH", size)
        assert evaluate_model(loaded_model(model, 1), recipes[1], layout).as_dict() == whole


def test_calibration_block_by_block_is_that_of_the_whole_file(run, model, recipes, monkeypatch):
    def found():
        return json.loads(run("eval", model, recipes[1], "--json", "--calibration").out)["calibration"]

    whole = found()
    monkeypatch.setattr(reading, "BLOCK", 500)
    blocks = found()
    for one, other in zip(whole.pop("bins"), blocks.pop("bins"), strict=True):
        assert one == (pytest.approx(other, rel=1e-9) if other["count"] else other)
    assert whole == pytest.approx(blocks, rel=1e-9)  # marginals are rounded batch by batch


@pytest.mark.parametrize("text", [b"a O\n\nb O\nc O O\n", b"a O\n\nb O O\n"])
def test_a_block_of_other_columns_is_refused_with_its_line(run, model, text, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 1)
    code, out, err = run("eval", model, "-", stdin=text)
    assert (code, out) == (2, "")
    assert "expected 2 columns, found 3" in err
    assert "<stdin>, line 4" in err or "<stdin>, line 3" in err


def test_memory_for_a_tagged_file_does_not_grow_with_it(tmp_path):
    def peak(n):
        path = tmp_path / "tagged.txt"
        path.write_bytes(b"New B-LOC B-LOC\nYork I-LOC O\nrains O O\n\n" * n)
        tracemalloc.start()
        try:
            assert evaluate_tagged(str(path), Layout()).token.n_tokens == 3 * n
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)  # imports, caches
    assert peak(10_000) < 1.5 * peak(1000)  # it was 10 times as much


MEASURED = """
import sys
from trelliswork.cli import reading
from trelliswork.cli.eval import {what}
from trelliswork.cli.models import loaded_model
from trelliswork.cli.reading import Layout
reading.BLOCK = 1 << 16
{what}(loaded_model(sys.argv[1], 1), sys.argv[2], Layout())
# Not `resource`, which counts what the parent had before the program was started.
print(int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures what is resident as Linux tells it")
@pytest.mark.parametrize("what", ["evaluate_model", "calibration_of_model"])
def test_memory_for_a_model_and_a_file_does_not_grow_with_it(what, model, recipes, tmp_path):
    def peak(copies):
        path = tmp_path / "test.txt"
        with open(recipes[1], "rb") as file:
            path.write_bytes((file.read().rstrip() + b"\n\n") * copies)
        code = MEASURED.format(what=what)
        done = subprocess.run([sys.executable, "-c", code, model, path], capture_output=True, text=True, check=True)
        return int(done.stdout), path.stat().st_size

    (few, small), (many, large) = peak(8), peak(80)
    assert many - few < large - small  # it was more than six times as much


def test_a_tagged_spreadsheet_is_scored(run):
    sheet = b'Sentence #,Word,Tag,Guess\n1,New,B-LOC,B-LOC\n,York,I-LOC,I-LOC\n,"rains, hard",O,O\n2,Paris,B-LOC,O\n'
    assert run("eval", "--tagged", "--format", "csv", stdin=sheet).out == run("eval", "--tagged", stdin=TAGGED).out


def test_other_text_than_trained_on_is_told_once_for_all_blocks(run, model, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 100)
    text = "".join(f"unheard{i} O\n\n" for i in range(200)).encode()
    code, _, err = run("eval", model, "-", stdin=text)
    assert code == 0
    assert err.count("\n") == 1
    assert "of the attributes of the input" in err
