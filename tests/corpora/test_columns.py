"""Column files: every layout and line end that people have, every mistake named by file and line."""

import gzip
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.corpora import Sentence, read_columns, write_columns
from trelliswork.errors import InvalidInput

TWO = [
    Sentence([("Rain", "NN"), ("fell", "VBD")], ["B-NP", "B-VP"], 1),
    Sentence([("Stop", "VB")], ["B-VP"], 4),
]
TEXT = "Rain NN B-NP\nfell VBD B-VP\n\nStop VB B-VP\n\n"


def read(text, **options):
    return list(read_columns(io.StringIO(text), **options))


def written(sentences, **options):
    file = io.BytesIO()
    write_columns(file, sentences, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT[:-1],
        TEXT[:-2],
        TEXT.replace(" ", "\t"),
        TEXT.replace(" ", " \t  "),
        TEXT.replace("\n", "\r\n"),
        "\ufeff" + TEXT,
        TEXT.replace("\n\n", "\n \t \n"),
        TEXT + "\n\n\n",
    ],
    ids=["plain", "no blank line", "no line end", "tabs", "mixed", "Windows", "BOM", "white space", "blank lines"],
)
def test_all_of_these_are_the_same_sentences(text):
    assert read(text) == TWO
    assert list(read_columns(io.BytesIO(text.encode()))) == TWO
    assert list(read_columns(io.BytesIO(gzip.compress(text.encode())))) == TWO


def test_labels_may_be_in_any_column_or_absent():
    assert read("B-NP Rain NN\n", label=0) == [Sentence([("Rain", "NN")], ["B-NP"], 1)]
    assert read("Rain NN\n", label=None) == [Sentence([("Rain", "NN")], None, 1)]
    names = ["id", "word", "pos", "chunk"]
    assert read("1 Rain NN B-NP\n", columns=names, label="pos", keep=["word"]) == [Sentence([("Rain",)], ["NN"], 1)]
    assert read("1 Rain NN B-NP\n", columns=4, keep=[2, 1]) == [Sentence([("NN", "Rain")], ["B-NP"], 1)]


def test_a_hash_is_a_token_unless_comments_are_on():
    text = "# # B-NP\n1 CD I-NP\n"
    assert read(text)[0].tokens == [("#", "#"), ("1", "CD")]
    assert read("# text = 1\n1 CD # B-NP\n", comments="#")[0].tokens == [("1", "CD", "#")]


def test_document_marks_are_skipped_and_end_a_sentence():
    text = "-DOCSTART- -X- O\n\nRain NN B-NP\n-DOCSTART- O\nfell VBD B-VP\n"
    assert [sentence.tokens for sentence in read(text)] == [[("Rain", "NN")], [("fell", "VBD")]]
    assert read("-DOCSTART- -X- O\n\n", keep_docstart=True)[0].tokens == [("-DOCSTART-", "-X-")]


def test_only_spaces_and_tabs_part_columns():
    token = "10\u00a0000\u2028\u3000\x0c"
    assert read(f"{token} CD\n") == [Sentence([(token,)], ["CD"], 1)]


def test_with_tabs_columns_may_have_spaces_and_be_empty():
    assert read("New York\t\tB-🏙 x\n", separator="\t") == [Sentence([("New York", "")], ["B-🏙 x"], 1)]


def test_sentences_come_one_at_a_time():
    def endless():
        while True:
            yield b"Rain NN B-NP\n\n"

    class Pipe(io.RawIOBase):
        lines = endless()

        def readable(self):
            return True

        def readinto(self, buffer):
            line = next(self.lines)
            buffer[: len(line)] = line
            return len(line)

    sentences = read_columns(io.BufferedReader(Pipe()))
    assert [next(sentences).line for _ in range(3)] == [1, 3, 5]


@pytest.mark.parametrize(
    ("text", "options", "line", "found"),
    [
        ("a b O\nc O\n", {}, 2, "expected 3 columns, found 2 in 'c O'"),
        ("a O\nNew York O\n", {}, 2, "expected 2 columns, found 3"),
        ("a\tO\nNew York\tO\n", {}, 2, r"pass separator='\\t'"),
        ("a\tO\nb O\n", {"separator": "\t"}, 2, "Tabs and spaces are mixed.*separator=None"),
        ("a,O\nb\n", {"separator": ","}, 2, "parted by ','"),
        ("a b O\n", {"columns": 2}, 1, "expected 2 columns, found 3"),
        ("a b O\n", {"columns": ["word", "label"]}, 1, "expected 2 columns, found 3"),
        ("a O\n", {"label": 2}, 1, "label is column 2, but there are 2 columns"),
        ("a O\n", {"keep": [5]}, 1, "keep is column 5"),
        ("\na\nb\n", {}, 2, "pass label=None"),
        ("a O\rb O\rc O\n", {}, 1, "carriage return"),
        ("a O\nb\0 O\n", {}, 2, "NUL"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path, text, options, line, found):
    path = tmp_path / "some.txt"
    path.write_bytes(text.encode())
    with pytest.raises(InvalidInput, match=rf"^{re.escape(str(path))}, line {line}: .*{found}"):
        list(read_columns(path, **options))


def test_what_was_read_before_a_mistake_is_not_lost():
    sentences = read_columns(io.StringIO("a O\n\nb\n"))
    assert next(sentences).tokens == [("a",)]
    with pytest.raises(InvalidInput, match=r"^<input>, line 3"):
        next(sentences)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"label": "pos"}, "pass the names of all columns"),
        ({"label": "pos", "columns": ["word", "tag"]}, "not one of the columns word, tag"),
        ({"columns": ["a", "a"]}, "twice"),
        ({"columns": 0}, "at least one"),
        ({"columns": "word"}, "must be lists"),
        ({"columns": ["word"]}, "pass label=None"),
        ({"label": 1.5}, "position or the name"),
        ({"keep": []}, "at least one"),
        ({"separator": ""}, "separator"),
        ({"separator": "\n"}, "separator"),
        ({"comments": ""}, "comments"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_read(options, found):
    with pytest.raises(InvalidInput, match=found):
        read_columns("no such file", **options)


def test_the_writer_gives_the_file_back():
    assert written(TWO, separator=" ") == TEXT.encode()
    assert written(TWO) == TEXT.replace(" ", "\t").encode()
    assert written([(["a"], None)]) == b"a\n\n"
    assert written([(["a"], ["O"])], label=0, separator=" ") == b"O a\n\n"


@pytest.mark.parametrize(
    ("sentence", "options", "found"),
    [
        ((["New York"], ["O"]), {}, "' '"),
        ((["New York"], ["O"]), {"separator": " "}, "choose another separator"),
        ((["a\tb"], ["O"]), {"separator": "\t"}, r"'\\t'"),
        ((["a"], ["B-X\n"]), {}, r"'\\n'"),
        ((["a\r"], ["O"]), {}, r"'\\r'"),
        (([""], ["O"]), {}, "empty"),
        ((["", ""], None), {"separator": "\t"}, "not be read back"),
        (([], []), {}, "no tokens"),
        ((["a", "b"], ["O"]), {}, "1 labels but 2 tokens"),
        ((["a", ("b", "c")], ["O", "O"]), {}, "3 columns.* but the first token has 2"),
        ((["-DOCSTART-"], ["O"]), {}, "keep_docstart"),
        ((["#"], ["O"]), {"comments": "#"}, "comment"),
        (([3], ["O"]), {}, "token 0 must be"),
        (([("a", 3)], ["O"]), {}, "must be strings"),
        ("ab", {}, "must be .tokens, labels."),
        (("ab", ["O", "O"]), {}, "must be .tokens, labels."),
        ((["a"], ["O"]), {"label": 4}, "label=4"),
        ((["\ufeffa"], ["O"]), {}, "byte order mark"),
        ((["\ud800"], ["O"]), {}, "cannot be written"),
        ((["é"], ["O"]), {"encoding": "ascii"}, "cannot be written"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, sentence, options, found):
    path = tmp_path / "old.txt"
    path.write_text("old")
    good = (["a"], ["O"])
    sentences = [sentence] if "byte order" in found else [good, sentence]
    with pytest.raises(InvalidInput, match=found):
        write_columns(path, sentences, **options)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["old.txt"]


fields = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \t#\u00a0\ufeff"), max_size=4)


@given(
    rows=st.lists(st.lists(st.tuples(fields, fields, fields), max_size=3), max_size=3),
    label=st.sampled_from([-1, 0, 1, None]),
    separator=st.sampled_from([None, "\t", " ", ",", "||"]),
    comments=st.sampled_from([None, "#"]),
)
def test_what_is_written_is_read_back_or_refused(rows, label, separator, comments):
    options = {"separator": separator, "comments": comments}
    sentences = [([row[:2] for row in sentence], [row[2] for row in sentence]) for sentence in rows]
    if label is None:
        sentences = [(tokens, None) for tokens, _ in sentences]
    try:
        data = written(sentences, **options, **({} if label is None else {"label": label}))
    except InvalidInput:
        return
    back = list(read_columns(io.BytesIO(data), label=label, **options))
    assert [(sentence.tokens, sentence.labels) for sentence in back] == sentences
