"""CSV as spreadsheets write it: quoting, names, sentences by their column, every mistake with its line, and back."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.corpora import Sentence, read_csv, write_csv
from trelliswork.errors import InvalidInput

EXPECTED = [
    ([("Rain", "NN"), ('fell, "hard"', "VBD")], ["B-NP", "B-VP"]),
    ([("Stop", "VB")], ["B-VP"]),
]
LAYOUTS = {
    "name on the first row": 'Sentence #,Word,POS,Tag\n1,Rain,NN,B-NP\n,"fell, ""hard""",VBD,B-VP\n2,Stop,VB,B-VP\n',
    "name on every row": 'sentence_idx,word,pos,tag\n1,Rain,NN,B-NP\n1,"fell, ""hard""",VBD,B-VP\n2,Stop,VB,B-VP\n',
    "empty rows": 'word,pos,tag\nRain,NN,B-NP\n"fell, ""hard""",VBD,B-VP\n,,\n\nStop,VB,B-VP\n\n',
    "Windows": '\ufeffWord,POS,Tag\r\nRain,NN,B-NP\r\n"fell, ""hard""",VBD,B-VP\r\n\r\nStop,VB,B-VP\r\n',
    "row numbers of a data frame": (
        ',Sentence #,Word,POS,Tag\n0,1,Rain,NN,B-NP\n1,,"fell, ""hard""",VBD,B-VP\n2,2,Stop,VB,B-VP\n'
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_sentences(layout):
    found = list(read_csv(io.StringIO(LAYOUTS[layout], newline="")))
    assert [(sentence.tokens, sentence.labels) for sentence in found] == EXPECTED
    assert found[0].line == 2


def test_columns_by_name_and_by_position():
    text = "tag;id;word;shape\nN;a;Rain;Xx\nV;a;fell;x\nV;b;Stop;Xx\n"
    by_name = list(read_csv(io.StringIO(text), "tag", ["shape", "word"], "id", separator=";"))
    assert by_name == [
        Sentence([("Xx", "Rain"), ("x", "fell")], ["N", "V"], 2),
        Sentence([("Xx", "Stop")], ["V"], 4),
    ]
    assert list(read_csv(io.StringIO(text), 0, [-1, 2], 1, separator=";")) == by_name
    bare = io.StringIO(text.partition("\n")[2])
    moved = [sentence._replace(line=sentence.line + 1) for sentence in read_csv(bare, 0, [3, 2], 1, False, ";")]
    assert moved == by_name


def test_names_of_columns_may_differ_in_case_unless_two_do():
    assert next(read_csv(io.StringIO("WORD,Tag\na,X\n"), "tag", ["word"])).labels == ["X"]
    assert next(read_csv(io.StringIO("word,tag,TAG\na,X,Y\n"), "TAG", ["word"])).labels == ["Y"]
    with pytest.raises(InvalidInput, match="line 1: the column 'Tag' is there several times"):
        next(read_csv(io.StringIO("word,tag,TAG\na,X,Y\n"), "Tag"))


def test_a_cell_over_several_lines_counts_them():
    text = 'word,tag\n"a\nb",X\nc,Y\n\n,Z\n'
    reader = read_csv(io.StringIO(text))
    assert next(reader) == Sentence([("a\nb",), ("c",)], ["X", "Y"], 2)
    with pytest.raises(InvalidInput, match=r"^<input>, line 6: the cell of the token is empty"):
        next(reader)


def test_without_labels_every_column_is_of_the_token():
    assert next(read_csv(io.StringIO("Sentence #,Word,POS\n1,Rain,NN\n"), None)) == Sentence([("Rain", "NN")], None, 2)


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("word,tag\na,X\nb\n", {}, "line 3: expected 2 cells, found 1 in 'b'"),
        ("word,tag\na,b,X\n", {}, "line 2: expected 2 cells, found 3 .* needs double quotes"),
        ("word,tag\na,\n", {}, "line 2: the cell of the label is empty"),
        ('word,tag\na,X\n"b,Y\n', {}, r"line 3: this row cannot be read \(unexpected end of data\)"),
        ('word,tag\n"a"b,X\n', {}, "line 2: this row cannot be read"),
        ('word,tag\na,"' + "x\n" * 100_000, {}, "line 2: this row cannot be read .*limit"),
        ("word;tag\na;X\n", {}, "line 1: expected a column of tokens and one of labels, found 'word;tag'.*separator="),
        ("word,tag\na,X\n", {"label": "Tags"}, "line 1: the column 'Tags' is not there. The columns are 'word', 'tag'"),
        ("word,tag\na,X\n", {"keep": ["pos"]}, "line 1: the column 'pos' is not there"),
        ("word,tag\na,X\n", {"label": 2}, "line 1: there is no column 2, but 2 columns"),
        ("sentence,tag\na,X\n", {}, "line 1: expected a column of tokens"),
    ],
)
def test_mistakes_are_named_with_their_line(text, options, found):
    with pytest.raises(InvalidInput, match=f"^<input>, {found}"):
        list(read_csv(io.StringIO(text), **options))


@pytest.mark.parametrize(
    "options",
    [
        {"separator": ""},
        {"separator": "||"},
        {"separator": '"'},
        {"keep": "word"},
        {"keep": []},
        {"label": 1.5},
        {"sentence": True},
        {"label": "tag", "header": False},
    ],
)
def test_bad_arguments_are_refused_before_anything_is_read(options):
    with pytest.raises(InvalidInput):
        read_csv("no/such/file", **options)


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=8)
words = cells.filter(bool)


@given(st.lists(st.lists(st.tuples(words, cells, words), min_size=1, max_size=4), max_size=4), st.sampled_from(",;\t|"))
def test_what_is_written_is_read_back(rows, separator):
    sentences = [([row[:2] for row in part], [row[2] for row in part]) for part in rows]
    file = io.StringIO(newline="")
    assert write_csv(file, sentences, separator=separator) == len(sentences)
    file.seek(0)
    found = [(sentence.tokens, sentence.labels) for sentence in read_csv(file, separator=separator)]
    assert found == sentences


def test_what_is_written_without_labels_is_read_back():
    file = io.StringIO()
    write_csv(file, [(["Rain", "fell"], None), (["Stop"], None)], columns=["form"])
    assert file.getvalue() == "Sentence #,form\nSentence: 1,Rain\n,fell\nSentence: 2,Stop\n"
    file.seek(0)
    assert [sentence.tokens for sentence in read_csv(file, None)] == [[("Rain",), ("fell",)], [("Stop",)]]


@pytest.mark.parametrize(
    ("sentences", "options", "found"),
    [
        ([(["a\r"], ["X"])], {}, "carriage return"),
        ([([""], ["X"])], {}, "empty"),
        ([(["a"], [""])], {}, "empty"),
        ([(["a"], ["X"]), ([("b", "c")], ["X"])], {}, r"sentences\[1\], token 0 has 3 columns"),
        ([(["a"], ["X"])], {"columns": ["a", "b"]}, "columns names 2"),
        ([([3], ["X"])], {}, "must be a string"),
    ],
)
def test_what_could_not_be_read_back_is_refused(sentences, options, found):
    with pytest.raises(InvalidInput, match=found):
        write_csv(io.StringIO(), sentences, **options)
