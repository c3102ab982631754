"""`trelliswork convert`: every format into every other, label schemes, and what is refused."""

import gzip
import json

import pytest

COLUMNS = "New NNP B-LOC\nYork NNP I-LOC\nrains VBZ O\n\nParis NNP B-LOC\n"


@pytest.fixture
def columns(tmp_path):
    path = tmp_path / "two.txt"
    path.write_text(COLUMNS)
    return path


def test_columns_come_back_as_they_were(run, columns):
    code, out, err = run("convert", columns)
    assert (code, err) == (0, "2 sentences\n")
    assert out == COLUMNS.replace(" ", "\t") + "\n"


def test_labels_change_their_scheme(run, columns):
    out = run("convert", columns, "--to-scheme", "BILOU").out
    assert [line.split("\t")[-1] for line in out.splitlines() if line] == ["B-LOC", "L-LOC", "O", "U-LOC"]


def test_json_lines_and_back(run, columns, tmp_path):
    assert run("convert", columns, tmp_path / "two.jsonl").code == 0
    first = json.loads((tmp_path / "two.jsonl").read_text().splitlines()[0])
    assert first == {"tokens": ["New", "York", "rains"], "labels": ["B-LOC", "I-LOC", "O"]}
    assert run("convert", tmp_path / "two.jsonl").out == "New\tB-LOC\nYork\tI-LOC\nrains\tO\n\nParis\tB-LOC\n\n"


def test_conllu_and_back(run, columns, tmp_path):
    path = tmp_path / "two.conllu"
    assert run("convert", columns, path, "--to-columns", "form,xpos", "--to-label", "misc").code == 0
    assert path.read_text().splitlines()[0] == "1\tNew\t_\t_\tNNP\t_\t_\t_\t_\tB-LOC"
    back = run("convert", path, "-", "--to", "columns", "--columns", "form,xpos", "--label-column", "misc")
    assert back.out == COLUMNS.replace(" ", "\t") + "\n"


def test_compressed_by_name(run, columns, tmp_path):
    assert run("convert", columns, tmp_path / "two.txt.gz").code == 0
    assert gzip.decompress((tmp_path / "two.txt.gz").read_bytes()).decode() == COLUMNS.replace(" ", "\t") + "\n"
    assert run("convert", tmp_path / "two.txt.gz").out == COLUMNS.replace(" ", "\t") + "\n"


def test_standard_input_to_standard_output(run):
    assert run("convert", "--to", "text", stdin=COLUMNS.encode()).out == "New York rains\nParis\n"


def test_text_is_cut_into_tokens(run):
    assert run("convert", "--format", "text", stdin=b"Rain, again.\n").out == "Rain\n,\nagain\n.\n\n"


def test_spans_that_cut_a_token_are_reported_and_kept(run):
    line = b'{"text": "Anna left", "label": [[0, 4, "PER"], [6, 9, "ODD"]]}\n'
    code, out, err = run("convert", "--format", "jsonl", "--to", "jsonl", "--json-form", "doccano", stdin=line)
    assert (code, json.loads(out)["label"]) == (0, [[0, 4, "PER"], [6, 9, "ODD"]])
    code, out, err = run("convert", "--format", "jsonl", "--to", "jsonl", stdin=line)
    assert (code, json.loads(out)["labels"]) == (0, ["B-PER", "O"])
    assert "warning: <stdin>, line 1: the span ('ODD', 6, 9) cuts the token 'left'" in err


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (b"a O\nb\n", (), "line 2: expected 2 columns, found 1"),
        (b"a O\n\xff O\n", (), "line 2: byte 0xff in column 1 is not 'utf-8'"),
        (b"a O\n\nb I-X\n", ("--to-scheme", "BILOU"), "line 3: 'I-X' is a span of one token here"),
        (b"a O\nb U-X\n", ("--to-scheme", "IOB1"), "line 2: 'U-X' is not of the scheme BIO"),
        (b"a O\n", ("--columns", "zero"), "--columns: 'zero' is not the number of a column"),
        (b"a O\n", ("--columns", "7"), "--columns has 7, but there are 2 columns"),
        (b"{}\n", ("--format", "jsonl"), "line 1: found neither 'tokens' nor 'text'"),
        (b"a O\n", ("--encoding", "klingon"), "--encoding klingon: this encoding is not known"),
    ],
)
def test_bad_input_is_named_by_its_line(run, text, arguments, said):
    code, _, err = run("convert", *arguments, stdin=text)
    assert code == 2
    assert err.startswith("error: ")
    assert said in err


def test_invalid_labels_are_read_as_conlleval_does_when_asked(run):
    out = run("convert", "--to-scheme", "BIO", "--lenient", stdin=b"b I-X\n").out
    assert out == "b\tB-X\n\n"


def test_after_an_error_the_old_file_is_there_and_nothing_else(run, tmp_path):
    target = tmp_path / "kept.txt"
    target.write_text("what was there")
    assert run("convert", "-", target, stdin=b"a O\nb\n").code == 2
    assert target.read_text() == "what was there"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


SHEET = """Sentence #,Word,POS,Tag
Sentence: 1,New,NNP,B-LOC
,York,NNP,I-LOC
,"rains, hard",VBZ,O
Sentence: 2,Paris,NNP,B-LOC
"""


def test_spreadsheets_and_back(run, tmp_path):
    sheet, again = tmp_path / "sheet.csv", tmp_path / "again.csv"
    sheet.write_text(SHEET)
    code, out, err = run("convert", sheet, "-", "--to", "jsonl")
    assert (code, err) == (0, "2 sentences\n")
    assert json.loads(out.splitlines()[0])["tokens"] == ["New", "York", "rains, hard"]
    assert run("convert", sheet, again, "--to-columns", "Word,POS").code == 0
    assert again.read_text() == SHEET


def test_columns_of_a_spreadsheet_are_chosen_by_name(run):
    text = b"id;tag;token\na;N;Rain\na;V;fell\nb;V;Stop\n"
    how = (
        "--format",
        "csv",
        "--separator",
        "semicolon",
        "--to",
        "columns",
        "--label-column",
        "tag",
        "--columns",
        "token",
    )
    expected = "Rain\tN\nfell\tV\n\nStop\tV\n\n"
    assert run("convert", *how, "--sentence-column", "id", stdin=text).out == expected
    bare = text.partition(b"\n")[2]
    by_number = ("--no-header", "--label-column", "1", "--columns", "2", "--sentence-column", "0")
    assert run("convert", *how[:6], *by_number, stdin=bare).out == expected


def test_a_list_of_label_studio_is_read_by_its_name(run, tmp_path):
    value = {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}
    tasks = [
        {"id": 1, "data": {"text": "Anna left"}, "annotations": [{"result": [{"type": "labels", "value": value}]}]},
        {"id": 2, "data": {"text": "Bob left"}, "annotations": [{"was_cancelled": True, "result": []}]},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks, indent=2))
    code, out, err = run("convert", path)
    assert (code, out) == (0, "Anna\tB-PER\nleft\tO\n\n")
    assert err == f"warning: {path}: left out 1 with the answer 'ignore', which is not gold.\n1 sentences\n"


def test_what_an_annotator_rejected_is_not_learned_from(run, tmp_path):
    records = [{"tokens": ["Anna"], "labels": ["B-PER"], "answer": answer} for answer in ("accept", "reject", "ignore")]
    path = tmp_path / "prodigy.jsonl"
    path.write_text("\n".join(map(json.dumps, [*records, records[1]])))
    code, out, err = run("train", path, "-o", tmp_path / "m.tw", "--json")
    assert code == 0
    assert json.loads(out)["sequences"] == 1
    assert err == (
        f"warning: {path}: left out 1 with the answer 'ignore' and 2 with the answer 'reject', which is not gold.\n"
    )
    assert run("tag", tmp_path / "m.tw", path, "--json").out.count("\n") == 4  # text to be tagged is another matter
