"""The ready sets: what each needs, and what a CRF reaches with it on the corpora it was chosen for."""

import pytest

import trelliswork as tw
from reference.published import located


@pytest.mark.parametrize(
    ("name", "n_columns"),
    [("words", 1), ("pos", 1), ("chunking", 2), ("ner", 2), ("thesis", 2), ("segments", 2), ("segment_words", 1)],
)
def test_a_ready_set_needs_these_columns(name, n_columns):
    templates = tw.Templates.preset(name)
    assert templates == getattr(tw.Templates, name)()
    assert templates.n_columns == n_columns
    assert templates.transitions
    assert 5 < len(templates) < 100
    assert ("span" in templates.meets) == name.startswith("segment")


def test_there_is_no_other():
    with pytest.raises(tw.InvalidInput, match="there are words, chunking, ner, pos, thesis"):
        tw.Templates.preset("chunks")


def test_the_thesis_has_words_and_tags_of_two_tokens_with_pairs_of_labels():
    names = tw.Templates.thesis().names
    for both in ("word[0]|word[-1]", "word[0]|pos[-1]", "pos[0]|word[-1]", "pos[0]|pos[-1]", "word[0]", "pos[0]"):
        assert f"pair: {both}" in names


def test_sets_about_spans_are_refused_where_there_are_none():
    with pytest.raises(tw.InvalidInput, match="is about whole spans, which this estimator does not have"):
        tw.SequenceLabeler(features="segments").fit([[("Rain", "NN")]], [["B-NP"]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "train", "test", "least"),
    [
        ("chunking", "conll2000/train.txt.gz", "conll2000/test.txt.gz", 0.940),
        ("ner", "conll2002/esp.train.gz", "conll2002/esp.testb.gz", 0.800),
    ],
)
def test_spans_found_in_the_test_set(name, train, test, least):
    X, y = tw.corpora.read_table(located(train))
    X_test, y_test = tw.corpora.read_table(located(test))
    labeler = tw.SequenceLabeler("crf", name).fit(X, y)
    assert tw.evaluation.evaluate(list(y_test), labeler.predict(X_test)).span.overall.f1 >= least
