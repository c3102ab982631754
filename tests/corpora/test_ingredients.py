"""The shipped corpus keeps its promises, and its reader refuses what it cannot read."""

import itertools
import subprocess
import sys

import pytest

from trelliswork.corpora import Corpus, ingredients
from trelliswork.corpora.ingredients import LABELS, _parse
from trelliswork.errors import InvalidInput


@pytest.fixture(scope="module")
def corpus():
    return ingredients()


@pytest.fixture(params=["train", "test"])
def part(request, corpus):
    return getattr(corpus, f"X_{request.param}"), getattr(corpus, f"y_{request.param}")


def test_it_is_a_corpus_of_at_least_a_thousand_training_lines(corpus):
    assert isinstance(corpus, Corpus)
    assert len(corpus.X_train) >= 1000
    assert len(corpus.X_test) >= 200


def test_the_test_part_is_a_fifth(corpus):
    n_lines = len(corpus.X_train) + len(corpus.X_test)
    assert len(corpus.X_test) == pytest.approx(n_lines / 5, abs=1)


def test_every_line_is_distinct_even_in_lower_case(corpus):
    lines = [" ".join(tokens).lower() for tokens in corpus.X_train + corpus.X_test]
    assert len(set(lines)) == len(lines)


def test_no_line_is_in_both_parts(corpus):
    assert {*map(tuple, corpus.X_train)}.isdisjoint(map(tuple, corpus.X_test))


def test_every_token_has_one_label(part):
    X, y = part
    assert [len(tokens) for tokens in X] == [len(labels) for labels in y]


def test_no_line_is_empty_and_no_token_has_white_space(part):
    X, _ = part
    assert all(X)
    assert all(token.split() == [token] for tokens in X for token in tokens)


def test_every_label_occurs_in_both_parts(part):
    _, y = part
    assert {label for labels in y for label in labels} == set(LABELS)


def test_labels_are_valid_bio(part):
    _, y = part
    for labels in y:
        for before, label in itertools.pairwise(["O", *labels]):
            if label.startswith("I-"):
                assert before in (f"B-{label[2:]}", label), labels


def test_punctuation_is_outside_every_span(part):
    X, y = part
    pairs = zip(itertools.chain(*X), itertools.chain(*y), strict=True)
    assert {label for token, label in pairs if token in {",", "(", ")", ":", "."}} == {"O"}


def test_punctuation_is_not_glued_to_words(part):
    X, _ = part
    words = [token for tokens in X for token in tokens if len(token) > 1]
    assert not [word for word in words if word[0] in "([" or word[-1] in ",;:)]"]


def test_each_call_returns_lists_of_its_own(corpus):
    again = ingredients()
    assert again == corpus
    assert again.X_train is not corpus.X_train


def test_the_reader_parts_sequences_at_blank_lines():
    assert _parse("2\tB-QTY\neggs\tB-NAME\n\nsalt\tB-NAME\n", "some.tsv") == (
        [["2", "eggs"], ["salt"]],
        [["B-QTY", "B-NAME"], ["B-NAME"]],
    )


def test_the_reader_ignores_blank_lines_at_the_end():
    assert _parse("salt\tB-NAME\n\n\n", "some.tsv") == ([["salt"]], [["B-NAME"]])


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("salt\tB-NAME\npepper\n", 2, "found 1"),
        ("salt B-NAME\n", 1, "found 1"),
        ("salt\tB-NAME\textra\n", 1, "found 3"),
        ("salt\tB-NAME\n\n\npepper\tB-NAME\n", 3, "blank line"),
        ("\nsalt\tB-NAME\n", 1, "blank line"),
        ("", 1, "blank line"),
        ("salt\tB-NAME\n\n\tO\n", 3, "empty"),
        ("sea salt\tB-NAME\n", 1, "white space"),
        ("salt\tNAME\n", 1, "'NAME' is not one of O, B-QTY"),
        ("salt\t\n", 1, "'' is not one of"),
    ],
)
def test_the_reader_names_the_file_and_the_line_of_a_mistake(text, line, found):
    with pytest.raises(InvalidInput, match=rf"^some\.tsv, line {line}: .*{found}"):
        _parse(text, "some.tsv")


def test_reading_the_corpus_needs_no_numpy():
    code = "import sys; sys.modules['numpy'] = None; from trelliswork.corpora import ingredients; ingredients()"
    subprocess.run([sys.executable, "-c", code], check=True)
