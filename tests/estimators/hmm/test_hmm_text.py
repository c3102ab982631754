"""The hidden Markov model on real text. The corpora are not shipped: without them these tests are skipped."""

import gzip

import numpy as np
import pytest

import trelliswork as tw
from reference.published import located


def columns(file, token, label, separator):
    """Read sentences of one token per line, ended by empty lines; CoNLL-U's comments and fused tokens are left out."""
    X, y = [[]], [[]]
    with gzip.open(located(file), "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split(separator)
            if fields == [""]:
                X.append([])
                y.append([])
            elif separator == " " or len(fields) == 2 or fields[0].isdecimal():
                X[-1].append(fields[token])
                y[-1].append(fields[label])
    return X[:-1], y[:-1]


def accuracies(hmm, X, y):
    """Return the accuracy on known and on unseen tokens."""
    guesses = hmm.predict(X)
    right = np.array([a == b for guess, gold in zip(guesses, y, strict=True) for a, b in zip(guess, gold, strict=True)])
    known = np.array([token in hmm.vocabulary_ for x in X for token in x])
    return right[known].mean(), right[~known].mean()


def test_part_of_speech_tags_of_newspaper_text():
    hmm = tw.HMM().fit(*columns("conll2000/train.txt.gz", 0, 1, " "))
    X, y = columns("conll2000/test.txt.gz", 0, 1, " ")
    known, unseen = accuracies(hmm, X, y)  # measured: 0.9813 and 0.8465
    assert known > 0.98
    assert unseen > 0.84
    assert hmm.score(X, y) > 0.97  # measured: 0.9719
    posteriors = hmm.predict_marginals(X[:100])
    np.testing.assert_allclose(np.concatenate(posteriors).sum(axis=1), 1.0, rtol=1e-9)
    assert np.isfinite(hmm.log_likelihood(X)).all()


def test_part_of_speech_tags_of_web_text():
    hmm = tw.HMM().fit(*columns("ud_ewt/train.conllu.gz", 1, 3, "\t"))
    known, unseen = accuracies(hmm, *columns("ud_ewt/test.conllu.gz", 1, 3, "\t"))  # measured: 0.9444 and 0.7840
    assert known > 0.94
    assert unseen > 0.77


def test_endings_and_shapes_pay_on_unseen_words():
    train, test = (columns(f"ud_ewt/{part}.conllu.gz", 1, 3, "\t") for part in ("train", "test"))
    _, by_suffix = accuracies(tw.HMM().fit(*train), *test)
    _, uniform = accuracies(tw.HMM(unknown="uniform").fit(*train), *test)  # measured: 0.7840 against 0.5209
    assert by_suffix > uniform + 0.2


def test_unlabelled_text_raises_its_likelihood():
    X, y = columns("conll2000/train.txt.gz", 0, 1, " ")
    X, y = X[:400], [*y[:200], *[None] * 200]
    hmm = tw.HMM(n_iter=30, tol=1e-3).fit(X, y)
    assert hmm.converged_
    assert (np.diff(hmm.log_likelihood_history_) > 0).all()


@pytest.mark.slow
def test_a_million_tokens_and_472_tags():
    X, y = columns("brown/brown.txt.gz", 0, 1, "\t")
    held_out = [i % 10 == 9 for i in range(len(X))]  # by sentence, for want of time; by text it is harder
    train, test = (
        tuple([row for row, out in zip(rows, held_out, strict=True) if out is wanted] for rows in (X, y))
        for wanted in (False, True)
    )
    known, unseen = accuracies(tw.HMM().fit(*train), *test)
    assert known > 0.95
    assert unseen > 0.70


def test_ingredients_of_recipes():
    corpus = tw.corpora.ingredients()
    hmm = tw.HMM().fit(corpus.X_train, corpus.y_train)
    known, unseen = accuracies(hmm, corpus.X_test, corpus.y_test)  # measured: 0.920 and 0.832
    assert known > 0.88
    assert unseen > 0.75
