"""CoNLL-U: words, and all that is not a word, go through unchanged; mistakes are named by line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.corpora import ConlluSentence, EmptyNode, FusedToken, Word, read_conllu, write_conllu
from trelliswork.errors import InvalidInput


def row(number, form="x", head="_", misc="_"):
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\t_\t_\t{misc}"


FULL = "\n".join(
    [
        "# sent_id = 1",
        "#no space",
        row("0.1", "before"),
        row("1-2", "It's", misc="SpaceAfter=No"),
        row("1", "It", 3),
        row("2", "'s", 3),
        row("2.1", "really"),
        row("2.2", "really"),
        row("3", "very late", 0),
        "",
        "# text = Go",
        row("1", "Go"),
        "",
        "",
    ]
)


def read(text):
    return list(read_conllu(io.StringIO(text)))


def written(sentences):
    file = io.BytesIO()
    write_conllu(file, sentences)
    return file.getvalue().decode()


def test_words_are_kept_apart_from_what_is_not_in_the_tree():
    first, second = read(FULL)
    assert [(word.form, word.head) for word in first.words] == [("It", 3), ("'s", 3), ("very late", 0)]
    assert first.comments == ["# sent_id = 1", "#no space"]
    assert first.fused == [FusedToken(1, 2, "It's", misc="SpaceAfter=No")]
    assert [(node.after, node.number, node.form) for node in first.empty] == [
        (0, 1, "before"),
        (2, 1, "really"),
        (2, 2, "really"),
    ]
    assert (first.line, second.line) == (1, 11)
    assert second.words == [Word("Go")]


def test_writing_gives_the_same_file_back():
    assert written(read(FULL)) == FULL


@pytest.mark.parametrize(
    "text", [FULL.rstrip("\n"), FULL.replace("\n", "\r\n"), "\ufeff" + FULL, "\n" + FULL + "\n \n"]
)
def test_line_ends_and_blank_lines_do_not_matter(text):
    assert written(read(text)) == FULL


@pytest.mark.parametrize(
    ("rows", "line", "found"),
    [
        (["1 a _ _ _ _ _ _ _ _"], 1, "expected 10 columns, found 1.*not spaces"),
        ([row("1") + "\t_"], 1, "expected 10 columns, found 11"),
        ([row("1", "")], 1, "column 2 is empty"),
        ([row("1"), row("3")], 2, "found word 3 where word 2"),
        ([row("0")], 1, "found word 0"),
        ([row("x")], 1, "'x' is none"),
        ([row("01")], 1, "'01' is none"),
        ([row("9" * 5000)], 1, "is none"),
        ([row("1", head="x")], 1, "head 'x'"),
        ([row("1", head="9" * 5000)], 1, "is not a number"),
        ([row("1", head="3"), row("2")], 1, "head is 3, but the sentence has 2 words"),
        ([row("1"), row("1-2"), row("2")], 2, "range 1-2 is out of place"),
        ([row("1-3"), row("1"), row("2-3"), row("2"), row("3")], 3, "do not overlap"),
        ([row("1-2"), row("1")], 3, "ends within the range 1-2"),
        ([row("2-1"), row("1")], 1, "out of place"),
        ([row("1.1"), row("1")], 1, "1.1 is out of place, as 0.1"),
        ([row("1"), row("1.2")], 2, "as 1.1"),
        ([row("1"), "# late"], 2, "comment among the words"),
        (["# alone"], 2, "has no words"),
        ([row("1", "a\rb")], 1, "carriage return"),
    ],
)
def test_mistakes_are_named_with_their_line(rows, line, found):
    with pytest.raises(InvalidInput, match=rf"^<input>, line {line}: .*{found}"):
        read("\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        (ConlluSentence([]), "no words"),
        (ConlluSentence([Word("a\tb")]), "without tabs"),
        (ConlluSentence([Word("a\nb")]), "line break"),
        (ConlluSentence([Word("")]), "empty"),
        (ConlluSentence([Word("a", head=7)]), "head is 7"),
        (ConlluSentence([Word("a")], comments=["no hash"]), "expected 10 columns"),
        (ConlluSentence([Word("a")], fused=[FusedToken(2, 3, "x")]), "at no word"),
        (ConlluSentence([Word("a"), Word("b")], fused=[FusedToken(1, 2, "x")] * 2), "two are at one"),
        (ConlluSentence([Word("a")], empty=[EmptyNode(4, 1, "x")]), "at no word"),
        (ConlluSentence([Word("a")], empty=[EmptyNode(1, 2, "x")]), "out of place"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(sentence, found):
    with pytest.raises(InvalidInput, match=rf"^sentences\[1\].*{found}"):
        write_conllu(io.BytesIO(), [ConlluSentence([Word("good")]), sentence])


columns = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"), min_size=1, max_size=4)
words = st.builds(
    Word, columns, columns, columns, columns, columns, st.none() | st.integers(0, 1), columns, columns, columns
)


@given(st.lists(st.lists(words, min_size=1, max_size=3), max_size=3))
def test_any_words_are_read_back(sentences):
    back = read_conllu(io.BytesIO(written([ConlluSentence(words) for words in sentences]).encode()))
    assert [sentence.words for sentence in back] == sentences
