"""Treebanks: trees are read with their mistakes named by line, and written without touching another byte."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.published import located
from trelliswork.corpora import Treebank, read_conllu, read_treebank, read_treebank_blocks, sentences
from trelliswork.errors import InvalidInput


def row(number, form="x", head="0", relation="dep", deps="_", misc="_"):
    return f"{number}\t{form}\tl\tU\tX\tF=1\t{head}\t{relation}\t{deps}\t{misc}"


FULL = "\n".join(
    [
        "# sent_id = 1",
        "#no space",
        row("0.1", "before", "_", "_"),
        row("1-2", "It's", "_", "_", misc="SpaceAfter=No"),
        row("1", "It", 3, "nsubj", deps="3:nsubj"),
        row("2", "'s", 3, "cop"),
        row("2.1", "really", "_", "_", deps="3:advmod"),
        row("3", "very late", 0, "root", misc="a=b|c"),
        "",
        "# text = Go",
        row("1", "Go", 0, "root"),
        "",
        "",
    ]
)


def read(text, **how):
    return read_treebank(io.BytesIO(text.encode() if isinstance(text, str) else text), **how)


def test_words_have_heads_relations_and_five_columns():
    first, second = read(FULL)
    assert first.words == ["It", "'s", "very late"]
    assert first.rows[0] == ("It", "l", "U", "X", "F=1")
    assert (first.heads, first.relations) == ([3, 3, 0], ["nsubj", "cop", "root"])
    assert (second.words, second.heads) == (["Go"], [0])


def test_a_treebank_agrees_with_the_slow_reader():
    treebank = read(FULL)
    for fast, slow in zip(treebank, read_conllu(io.BytesIO(FULL.encode())), strict=True):
        assert (fast.rows, fast.heads, fast.relations) == (slow.rows, slow.heads, slow.relations)
    np.testing.assert_array_equal(treebank.lengths(), [3, 1])
    assert treebank.n_words == 4
    assert treebank.labelled


HOSTILE = {
    "as it should be": FULL,
    "carriage returns": FULL.replace("\n", "\r\n"),
    "no line end": FULL.rstrip("\n"),
    "no blank line at the end": FULL.rstrip("\n") + "\n",
    "byte order mark": "\ufeff" + FULL,
    "blank lines everywhere": "\n\n" + FULL.replace("\n\n", "\n\n \t\n\n") + "\n\n\n",
    "empty form": FULL.replace("\tGo\t", "\t\t"),
    "empty cells": FULL.replace("a=b|c", ""),
    "comments at the end": FULL + "# nothing follows\n",
    "only comments": "# a\n# b\n",
    "nothing": "",
    "-DOCSTART- as a word": FULL.replace("\tGo\t", "\t-DOCSTART-\t"),
    "line separators in a form": FULL.replace("\tGo\t", "\tG\u2028o\x0c\t"),
    "a hash as a word": FULL.replace("\tGo\t", "\t#\t"),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_comes_back_byte_for_byte(text):
    data = text.encode()
    treebank = read(data)
    assert treebank.text == data
    assert treebank.with_trees(treebank) == data
    assert b"".join(block.with_trees(block) for block in read_treebank_blocks(io.BytesIO(data), 60)) == data


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_sentences_have_texts_of_their_own_which_make_up_the_file(text):
    treebank = read(text)
    texts = [treebank.sentence_text(i) for i in range(len(treebank))]
    assert b"".join([*texts, treebank.rest]) == treebank.text
    assert [list(read(part)) for part in texts] == [[sentence] for sentence in treebank]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_only_heads_and_relations_are_replaced(text):
    treebank = read(text, heads=False)
    trees = [(np.zeros(len(sentence.rows), int), ["new"] * len(sentence.rows)) for sentence in treebank]
    replaced = text.replace("\t3\tnsubj\t", "\t0\tnew\t").replace("\t3\tcop\t", "\t0\tnew\t")
    assert treebank.with_trees(trees).decode() == replaced.replace("\t0\troot\t", "\t0\tnew\t")


def test_heads_alone_leave_relations_as_they_are():
    assert read(FULL).with_trees([[0, 1, 1], [0]]).decode() == (
        FULL.replace("\t3\tnsubj", "\t0\tnsubj")
        .replace("\t3\tcop", "\t1\tcop")
        .replace("0\troot\t_\ta=", "1\troot\t_\ta=")
    )


def test_an_unknown_head_is_written_as_it_is_read():
    text = FULL.replace("\t3\tcop", "\t_\tcop")
    treebank = read(text, partial=True)
    assert treebank[0].heads == [3, None, 0]
    assert treebank.with_trees(treebank).decode() == text


def test_writing_goes_to_files_of_any_kind(tmp_path):
    treebank = read(FULL)
    treebank.write(tmp_path / "copy.conllu.gz")
    assert gzip.decompress((tmp_path / "copy.conllu.gz").read_bytes()).decode() == FULL
    treebank.write(tmp_path / "new.conllu", [([0, 1, 1], ["a", "b", "c"]), ([0], ["d"])])
    assert [(s.heads, s.relations) for s in read_treebank(tmp_path / "new.conllu")] == [
        ([0, 1, 1], ["a", "b", "c"]),
        ([0], ["d"]),
    ]


def test_files_without_relations_are_not_labelled():
    treebank = read(row(1, head=2, relation="_") + "\n" + row(2, head=0, relation="_"))
    assert not treebank.labelled
    assert treebank.coded().relations is None


@pytest.mark.parametrize(
    ("rows", "line", "found"),
    [
        ([row("1") + "\t_"], 1, "expected 10 columns, found 11"),
        ([row("1"), "2\tx"], 2, "expected 10 columns, found 2"),
        ([row("1").replace("\t", " ")], 1, "expected 10 columns, found 1"),
        ([row("1"), row("3")], 2, "found word 3 where word 2 was expected"),
        ([row("0")], 1, "found word 0"),
        ([row("01")], 1, "'01' is none"),
        ([row("x")], 1, "'x' is none"),
        ([row("1-")], 1, "'1-' is none"),
        ([row("1.x")], 1, "'1.x' is none"),
        ([row("1-2")], 1, "has no words"),
        ([row("1", head="y")], 1, "the head 'y' is not a number"),
        ([row("1", head="-1")], 1, "the head '-1' is not a number"),
        ([row("1", head="007")], 1, "the head '007' is not a number"),
        ([row("1", head="9" * 30)], 1, "is not a number"),
        ([row("1", head="")], 1, "the head '' is not a number"),
        ([row("1", head="_")], 1, "the head is '_'"),
        ([row("1", head="2"), row("2", relation="")], 2, "the relation is empty. Write '_'"),
        ([row("1"), row("2", head="3")], 2, "the head is 3, but the sentence has 2 words"),
        ([row("1"), row("2", head="2")], 2, "word 2 is its own head"),
        ([row("1"), "# no matter", row("2")], 3, "a second word has the head 0"),
        ([row("1", head="2"), row("2", head="1")], 1, "word 1 is in a cycle"),
        ([row("1"), row("2", head=4), row("3", head=2), row("4", head=3)], 2, "word 2 is in a cycle"),
        ([row("1"), "", "# text", row("1", head="2")], 4, "the head is 2"),
    ],
)
def test_mistakes_are_named_by_file_and_line(rows, line, found, tmp_path):
    path = tmp_path / "wrong.conllu"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(InvalidInput, match=found) as caught:
        read_treebank(path)
    assert f"wrong.conllu, line {line}: " in str(caught.value)
    with pytest.raises(InvalidInput, match=found) as caught:
        list(read_treebank_blocks(path, 10))
    assert f"wrong.conllu, line {line}: " in str(caught.value)


def test_several_roots_are_read_when_asked_for():
    text = row("1") + "\n" + row("2") + "\n"
    assert read(text, single_root=False)[0].heads == [0, 0]


def test_cycles_among_known_heads_are_refused():
    rows = [row("1", head="_"), row("2", head=3), row("3", head=2)]
    with pytest.raises(InvalidInput, match="line 2: word 2 is in a cycle"):
        read("\n".join(rows), partial=True)


def test_heads_are_not_looked_at_when_they_need_not_be():
    treebank = read(row("1", head="nonsense"), heads=False)
    assert treebank[0].heads == [None]
    assert treebank.with_trees([([0], ["root"])]).decode() == row("1", head=0, relation="root")
    with pytest.raises(InvalidInput, match="without its heads"):
        treebank.coded()


@pytest.mark.parametrize(
    ("trees", "found"),
    [
        ([([0], ["root"])], "2 sentences with 4 words"),
        ([([0, 1], ["a", "b"]), ([0, 0], ["a", "b"])], "of another length"),
        ([([0, 1, 4], ["a"] * 3), ([0], ["a"])], r"trees\[0\] has the head 4"),
        ([([0, 1, 1], ["a"] * 2), ([0], ["a"])], "3 heads but 2 relations"),
        ([([0, 1, 1], ["a\tb"] * 3), ([0], ["a"])], "cannot be written"),
        ([([0, 1, 1], [""] * 3), ([0], ["a"])], "cannot be written"),
        ([([0, 1, 1], [1] * 3), ([0], ["a"])], "has the relation 1"),
        ([([0, 1, 1], ["a"] * 3), [0]], r"trees\[1\] has no relations"),
        ("trees", "expected a list"),
        ([3, 4], "expected heads"),
        ([[0, 1.5, 1], [0]], "the head 1.5"),
    ],
)
def test_trees_that_do_not_fit_are_refused(trees, found):
    with pytest.raises(InvalidInput, match=found):
        read(FULL).with_trees(trees)


def test_undecodable_bytes_and_nul_are_named_by_line():
    with pytest.raises(InvalidInput, match="line 2: byte 0xff"):
        read(b"# a\n1\t\xff" + b"\t_" * 8 + b"\n")
    with pytest.raises(InvalidInput, match="line 1: found a NUL"):
        read(row("1").replace("x", "\0"))


@given(st.lists(st.integers(min_value=1, max_value=8), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_every_tree_survives_writing_and_reading(lengths, random):
    trees = [tree(n, random) for n in lengths]
    blank = "\n\n".join("\n".join(row(i + 1, head="_") for i in range(n)) for n in lengths)
    treebank = read(read(blank, heads=False).with_trees(trees))
    assert [(sentence.heads, sentence.relations) for sentence in treebank] == trees


def tree(n, random):
    """A tree with one root: words are hung one by one to words that hang already."""
    order = random.sample(range(1, n + 1), n)
    heads = [0] * n
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = random.choice(order[:place])
    return heads, [random.choice("abc") for _ in range(n)]


def test_the_shipped_sentences_are_trees():
    treebank = Treebank.from_sentences(sentences())
    assert (len(treebank), treebank.n_words) == (194, 1380)


@pytest.mark.parametrize(
    ("file", "n_sentences", "n_words"),
    [
        ("ud_ewt/train.conllu.gz", 12_544, 204_577),
        ("ud_ewt/dev.conllu.gz", 2_001, 25_147),
        ("ud_ewt/test.conllu.gz", 2_077, 25_094),
    ],
)
def test_a_published_treebank_comes_back_byte_for_byte(file, n_sentences, n_words):
    path = located(file)
    treebank = read_treebank(path)
    assert (len(treebank), treebank.n_words) == (n_sentences, n_words)
    assert treebank.with_trees(treebank) == gzip.decompress(path.read_bytes())
    assert treebank.with_trees(list(treebank)) == treebank.text


def test_dependencies_without_labels_are_read():
    treebank = read_treebank(located("ptb_sample/dependencies.conll.gz"))
    assert not treebank.labelled
    assert treebank.with_trees(treebank) == treebank.text
    assert treebank[0].heads[:3] == [2, 8, 2]
