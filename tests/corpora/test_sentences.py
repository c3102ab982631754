"""The shipped treebank: every sentence is one tree, and reading and writing it loses nothing."""

import io
from importlib.resources import files

import pytest

from trelliswork.corpora import sentences, write_conllu

UPOS = set(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "VERB",
    ]
)


@pytest.fixture(scope="module")
def treebank():
    return sentences()


def test_every_sentence_is_a_tree_with_one_root(treebank):
    for sentence in treebank:
        heads = [word.head for word in sentence.words]
        assert heads.count(0) == 1
        for start in range(1, len(heads) + 1):
            met, at = set(), start
            while at:
                assert at not in met, sentence.comments
                met.add(at)
                at = heads[at - 1]


def test_words_have_universal_tags_and_relations(treebank):
    for sentence in treebank:
        for word in sentence.words:
            assert word.upos in UPOS
            assert (word.deprel == "root") == (word.head == 0)


def test_it_is_written_as_it_was_read(treebank):
    file = io.BytesIO()
    write_conllu(file, treebank)
    assert file.getvalue() == (files("trelliswork.corpora") / "data" / "sentences.conllu").read_bytes()


def test_no_sentence_stands_twice(treebank):
    texts = [" ".join(word.form for word in sentence.words) for sentence in treebank]
    assert len(set(texts)) == len(texts) >= 150
