"""Scores of tokens whose templates see runs of cells: sums of the weights of all attributes, whatever is remembered."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.run_models import TEMPLATES, attributes_of, tensors_of, weights_for
from trelliswork import _core
from trelliswork.features.templates import Templates

CLOSE = dict(rtol=1e-12, atol=1e-12)
WORDS, TAGS = ["Rain", "rain", "fell", "café", "on", "x", "23"], ["N", "V", "P"]
texts = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(TAGS)), min_size=1, max_size=7), min_size=1, max_size=6
)


def source_of(sentences, extractor):
    text = "\n\n".join("\n".join(" ".join(token) for token in sentence) for sentence in sentences)
    return _core.ColumnSource(_core.parse_columns(text.encode()), extractor)


def slow_scores(rows, n_labels, source):
    out = np.zeros((sum(source.length(i) for i in range(source.n_sequences)), n_labels))
    for scores, keys in zip(out, attributes_of(source), strict=True):
        for key in keys:
            for code, weight in rows.get(key, {}).items():
                scores[code] += weight
    return out


@pytest.mark.parametrize("name", TEMPLATES)
@given(texts, texts, st.sampled_from([1, 3, 8, 22, 64, 65]), st.sampled_from(["now", "never"]), st.integers(0, 2**32))
def test_scores_are_sums_of_the_weights_of_all_attributes(name, known, sentences, n_labels, expand, seed):
    extractor = Templates(TEMPLATES[name]).extractor()
    rng = np.random.default_rng(seed)
    rows = weights_for(source_of(known, extractor), n_labels, rng)
    model = _core.Model(tensors_of(rows, n_labels, rng), n_labels, expand=expand)
    for some in (sentences, known, sentences):  # new, then partly known, then remembered
        source = source_of(some, extractor)
        np.testing.assert_allclose(model.scores(source)[0], slow_scores(rows, n_labels, source), **CLOSE)


def large_problem(n_words=3000, n_sentences=400, n_labels=9, templates="chunking"):
    rng = np.random.default_rng(4)
    extractor = Templates(TEMPLATES[templates]).extractor()
    words = [f"w{i}" for i in range(n_words)]

    def sentence():
        return [(words[int(rng.zipf(1.3)) % n_words], TAGS[rng.integers(3)]) for _ in range(rng.integers(1, 30))]

    source = source_of([sentence() for _ in range(n_sentences)], extractor)
    return tensors_of(weights_for(source, n_labels, rng), n_labels, rng), source, n_labels


@pytest.mark.parametrize("templates", ["chunking", "steps", "runs of words"])
def test_what_is_remembered_changes_no_bit(templates):
    tensors, source, n_labels = large_problem(templates=templates)
    expected = _core.Model(tensors, n_labels, expand="never").scores(source)[0]
    for expand in ("never", "now"):
        model = _core.Model(tensors, n_labels, expand=expand)
        for n_jobs in (2, 1, 5, 2):
            np.testing.assert_array_equal(model.scores(source, n_jobs)[0], expected)


def test_what_does_not_fit_into_memory_is_forgotten():
    """Rows of 64 labels for 40,000 words would take 100 MB."""
    tensors, source, n_labels = large_problem(40_000, 200, 64)
    rng = np.random.default_rng(0)
    extractor = Templates(TEMPLATES["chunking"]).extractor()
    model = _core.Model(tensors, n_labels)
    words = [(f"u{i}", TAGS[rng.integers(3)]) for i in range(40_000)]
    many = source_of([words[i : i + 20] for i in range(0, len(words), 20)], extractor)
    expected = model.scores(source)[0]
    first = model.scores(many)[0]
    np.testing.assert_array_equal(model.scores(many)[0], first)
    np.testing.assert_array_equal(model.scores(source)[0], expected)


def test_threads_that_ask_at_once_have_memories_of_their_own():
    tensors, source, n_labels = large_problem()
    expected = _core.Model(tensors, n_labels).argmax(source)
    model = _core.Model(tensors, n_labels)
    found = [None] * 6
    start = threading.Barrier(len(found))

    def ask(i):
        start.wait()
        found[i] = model.argmax(source, 2)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for labels in found:
        np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("bits", [3, 10])
def test_hashed_models_are_covered_too(bits):
    rng = np.random.default_rng(bits)
    extractor = Templates(TEMPLATES["chunking"]).extractor()
    sentences = [[(WORDS[rng.integers(7)], TAGS[rng.integers(3)]) for _ in range(5)] for _ in range(30)]
    source = source_of(sentences, extractor)
    by_place = {place: {int(rng.integers(4)): float(np.float32(rng.normal()))} for place in range(2**bits)}
    tensors = tensors_of(by_place, 4, rng)
    del tensors["channel.token.keys"], tensors["channel.token.slots"]
    rows = {key: by_place[key >> (64 - bits)] for token in attributes_of(source) for key in token}
    unary, _ = _core.Model(tensors, 4, bits).scores(source)
    np.testing.assert_allclose(unary, slow_scores(rows, 4, source), **CLOSE)
