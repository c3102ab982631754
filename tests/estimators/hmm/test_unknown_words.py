"""Classes of unseen words: hand-worked back-off, and bounds that hold for any counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.estimators.hmm.unknown_words import lexicon, word_classes, word_shape


def known_and_unseen(tokens, counts, max_suffix=2, rare_count=10, class_pseudo_count=0.0):
    counts = np.array(counts, dtype=float)
    return lexicon(tokens, counts, counts, class_pseudo_count, rare_count, max_suffix)


def unseen(*arguments, **options):
    return known_and_unseen(*arguments, **options)[1]


def test_the_mass_set_aside_is_that_of_the_words_seen_once():
    log_known, model = known_and_unseen(["a", "b", "c"], [[1, 0], [3, 0], [0, 6]], max_suffix=None)
    np.testing.assert_allclose(np.exp(model.log_mass), [1.01 / 5.01, 0.01 / 6.01])
    np.testing.assert_allclose(np.exp(log_known), [[1 / 5.01, 0], [3 / 5.01, 0], [0, 6 / 6.01]])


def test_back_off_worked_by_hand():
    # Three rare words, all of lower case: "xa" and "ya" of the first label, "zb" of the second. "the" is not rare.
    model = unseen(["xa", "ya", "zb", "the"], [[1, 0], [1, 0], [0, 1], [0, 50]])
    prior = np.array([2.01, 1.01]) / 3.02
    lower = (np.array([2, 1]) + 5 * prior) / (3 + 5)
    ending = (np.array([2, 0]) + 5 * lower) / (2 + 5)
    share = 2 / 3.02  # of the rare words, two are of lower case and end in "a"
    expected = np.exp(model.log_mass) * share * ending / prior
    np.testing.assert_allclose(np.exp(model.log_prob(["qa"])), [expected])


def test_class_of_a_known_word_adds_sightings_worked_by_hand():
    counts = np.array([[1, 0], [0, 1], [4, 0]], dtype=float)  # the last token is no word, so it has no class
    log_known, model = known_and_unseen(["xa", "yb", 7], counts, max_suffix=0, class_pseudo_count=0.5)
    lower = (np.array([1, 1]) + 5 * np.array([0.5, 0.5])) / (2 + 5)
    weights = counts + np.array([0.5 * lower, 0.5 * lower, [0, 0]])
    totals = weights.sum(axis=0) + 1.01
    np.testing.assert_allclose(np.exp(log_known), weights / totals)
    np.testing.assert_allclose(np.exp(model.log_mass), 1.01 / totals)


def test_word_seen_in_another_case_is_the_narrowest_class():
    words = ["the", "Paris", "London", "Berlin", "Cambridge"]
    model = unseen(words, [[50, 0], *([[0, 1]] * 4)])
    likely = model.log_prob(["The", "Rome"]) - model.log_mass
    assert likely[0, 0] > likely[0, 1]
    assert likely[1, 1] > likely[1, 0]


def test_frequent_words_do_not_speak_for_unseen_ones():
    counts = [[1, 0], [0, 1000]]
    few, all_words = (unseen(["dog", "fog"], counts, rare_count=rare).log_prob(["log"])[0] for rare in (10, 1000))
    assert few[0] - few[1] > all_words[0] - all_words[1]


def test_classes_go_from_wide_to_narrow():
    assert word_classes("Re-used", 2) == ["capitalised-hyphen", "capitalised-hyphen d", "capitalised-hyphen ed"]
    assert word_classes("1990s", 3) == ["digits", "digits s", "digits 0s", "digits 00s"]
    assert word_classes("a", 5) == ["lower", "lower a"]
    assert word_classes("", 5) == ["punctuation"]
    assert word_classes("dog", 0) == ["lower"]


def test_shapes_of_words_that_recipes_and_mail_have():
    words = ["½", "1/2", "10-12", "-", "iPhone", "McDonald", "U.S.", "e-mail", "naïve", "日本", "3rd"]
    assert [word_shape(word) for word in words] == [
        "number",
        "number",
        "number",
        "punctuation",
        "lower",
        "capitalised",
        "capitals",
        "lower-hyphen",
        "lower",
        "lower",
        "digits",
    ]


words = st.text(max_size=6)
tables = st.dictionaries(
    st.one_of(words, st.integers()),
    st.lists(st.floats(0, 20), min_size=3, max_size=3).filter(lambda row: sum(row) > 0.5),
    min_size=1,
    max_size=8,
)


@given(tables, st.lists(st.one_of(words, st.integers()), max_size=5), st.integers(0, 4), st.integers(0, 20))
def test_every_score_is_a_finite_log_probability(table, tokens, max_suffix, rare_count):
    model = unseen(list(table), list(table.values()), max_suffix, rare_count)
    scores = model.log_prob(tokens)
    assert scores.shape == (len(tokens), 3)
    assert np.isfinite(scores).all()
    assert (scores <= 0).all()


@given(tables, st.lists(words, min_size=1, max_size=5))
def test_each_token_is_scored_by_itself(table, tokens):
    model = unseen(list(table), list(table.values()))
    alone = np.concatenate([model.log_prob([token]) for token in tokens])
    np.testing.assert_allclose(model.log_prob(tokens), alone, rtol=1e-12)
