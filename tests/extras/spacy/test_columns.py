"""Columns drawn from documents."""

import pickle

import pytest

pytest.importorskip("spacy.tokens", reason="spaCy is not installed (the extra `spacy`)")

import spacy
from spacy.tokens import Doc, Token
from spacy.training import Example

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.spacy.columns import Columns, templates_of, words


@pytest.fixture
def vocab():
    return spacy.blank("en").vocab


def test_one_column_is_strings_and_several_are_tuples(vocab):
    doc = Doc(vocab, words=["Rain", "fell"], tags=["NN", "VBD"])
    assert Columns(["orth"]).of([doc]) == [["Rain", "fell"]]
    assert Columns(["lower", "tag"]).of([doc]) == [[("rain", "NN"), ("fell", "VBD")]]


def test_white_space_is_not_shown():
    nlp = spacy.blank("en")
    doc = nlp("\n Rain  \t fell \n\n")
    assert Columns(["orth"]).of([doc]) == [["Rain", "fell"]]
    assert [doc[i].text for i in words(doc)] == ["Rain", "fell"]
    assert Columns(["orth", "shape"]).of([nlp(""), nlp("  ")]) == [[], []]


def test_flags_morphology_and_extensions(vocab):
    Token.set_extension("trelliswork_test", default=None, force=True)
    doc = Doc(vocab, words=["Rain", "12"], morphs=["Number=Sing", ""])
    doc[1]._.trelliswork_test = 7
    read = Columns(["is_title", "like_num", "morph", "_.trelliswork_test"])
    assert read.of([doc]) == [[("yes", "no", "Number=Sing", ""), ("no", "yes", "", "7")]]
    Token.remove_extension("trelliswork_test")


def test_every_attribute_of_words_can_be_read(vocab):
    doc = Doc(vocab, words=["Rain"], lemmas=["rain"], tags=["NN"], pos=["NOUN"], deps=["ROOT"], heads=[0])
    names = ["orth", "norm", "lower", "shape", "prefix", "suffix", "lemma", "tag", "pos", "dep", "ent_type"]
    assert Columns(names).of([doc])[0][0] == (
        *("Rain", "rain", "rain", "Xxxx", "R", "ain"),
        *("rain", "NN", "NOUN", "ROOT", ""),
    )


def test_the_reference_fills_in_for_what_the_document_does_not_say(vocab):
    reference = Doc(vocab, words=["Rain", "fell", "down"], tags=["NN", "VBD", "RB"])
    bare = Doc(vocab, words=["Rain", "felldown"], spaces=[True, False])
    example = Example(
        bare, Doc(vocab, words=["Rain", "fell", "down"], spaces=[True, False, False], tags=["NN", "VBD", "RB"])
    )
    assert Columns(["orth", "tag"]).of_examples([example], [bare]) == [[("Rain", "NN"), ("felldown", "")]]
    tagged = Doc(vocab, words=["Rain", "fell", "down"], tags=["A", "B", "C"])
    found = Columns(["tag"]).of_examples([Example(tagged, reference)], [tagged])
    assert found == [["A", "B", "C"]], "what the document says counts"


def test_readers_pickle(vocab):
    doc = Doc(vocab, words=["Rain"])
    assert pickle.loads(pickle.dumps(Columns(["orth", "is_title"]))).of([doc]) == [[("Rain", "yes")]]


@pytest.mark.parametrize(
    ("names", "told"),
    [([], "empty"), (["word"], "'word'"), (["orth", "orth"], "twice"), (["tag"], "predicts"), ([3], "3")],
)
def test_columns_that_make_no_sense_are_refused(names, told):
    with pytest.raises(InvalidInput, match=told):
        Columns(names, "tag")


def test_a_column_that_is_empty_everywhere_is_refused():
    with pytest.raises(InvalidInput, match="'tag' is empty in all examples"):
        Columns(["orth", "tag"]).require_filled([[("Rain", ""), ("fell", "")], []])
    Columns(["orth", "tag"]).require_filled([[("Rain", ""), ("fell", "VBD")]])


def test_lines_of_templates_name_the_columns():
    templates = templates_of(["lower(orth)[-1..0]", "lower_ & tag"], ["orth", "lower", "tag"])
    assert templates.attributes([[("Rain", "l", "NN")]])[0][0] == ["lower(orth[0])=rain", "lower_[0]|tag[0]=l|NN"]
    assert templates_of("ner", ["orth", "tag"]) == "ner"
    with pytest.raises(InvalidInput, match="features"):
        templates_of(["pos"], ["orth"])
    assert isinstance(templates_of(["cluster"], ["_.cluster"]), tw.Templates)
