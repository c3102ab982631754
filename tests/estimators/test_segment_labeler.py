"""`SegmentLabeler`: every answer is that of enumeration, and every learner trains it."""

import io
import itertools
import pickle
import warnings

import numpy as np
import pytest

import trelliswork as tw
from reference.segmentations import every_segmentation
from trelliswork import learners, models

TEMPLATES = tw.Templates(
    "word\nword[-1]\nspan: whole.word\nspan: size\nspan: first.word & last.word\nspan: before.word\nspan: after.word"
)


def corpus(seed=0, n=10, longest=5):
    """Sequences of letters, and segments of at most three tokens."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        length = int(rng.integers(1, longest + 1))
        X.append([str(w) for w in rng.choice(list("xyz"), length)])
        spans, at = [], 0
        while at < length:
            size = min(int(rng.integers(1, 4)), length - at)
            label = str(rng.choice(["O", "P", "Q"]))
            if label == "O":
                size = 1
            else:
                spans.append((at, at + size, label))
            at += size
        y.append(spans)
    return X, y


def fitted(learner=None, features=TEMPLATES, X=None, y=None, **options):
    if X is None:
        X, y = corpus()
    learner = tw.CRF(l2=0.1, max_iter=15) if learner is None else learner
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tw.SegmentLabeler(learner, features, **options).fit(X, y)


def enumerated(labeler, x, **options):
    spans = TEMPLATES.span_attributes([x], max(labeler.longest_.values()))[0]
    return every_segmentation(labeler, TEMPLATES.attributes([x])[0], spans, **options)


def inside(segments):
    return [segment for segment in segments if segment[2] != "O"]


def check_answers(labeler, x, listed, **limits):
    total = np.logaddexp.reduce([score for _, score in listed])
    ranked = sorted((score for _, score in listed if np.isfinite(score)), reverse=True)
    best = labeler.predict_kbest([x], 4, **limits)[0]
    np.testing.assert_allclose([p for _, p in best], np.array(ranked[:4]) - total, rtol=1e-6, atol=1e-6)
    of = {tuple(inside(segments)): score for segments, score in listed}
    for segments, log_prob in best:
        assert of[tuple(segments)] - total == pytest.approx(log_prob, rel=1e-6, abs=1e-6)
    assert labeler.predict([x], **limits)[0] == best[0][0]
    L, classes = max(labeler.longest_.values()), list(labeler.classes_)
    marginals, most = np.zeros((len(x), L, len(classes))), np.full((len(x), L, len(classes)), -np.inf)
    for segments, score in listed:
        for start, stop, label in segments:
            at = start, stop - start - 1, classes.index(label)
            marginals[at] += np.exp(score - total)
            most[at] = max(most[at], score)
    np.testing.assert_allclose(labeler.predict_marginals([x], **limits)[0], marginals, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(labeler.predict_max_marginals([x], **limits)[0], most, rtol=1e-6, atol=1e-6)
    for span in labeler.predict_spans([x], **limits)[0]:
        assert span.probability == pytest.approx(
            marginals[span.start, span.stop - span.start - 1, classes.index(span.type)], rel=1e-6
        )


def test_answers_are_those_of_enumeration():
    labeler = fitted()
    assert labeler.longest_ == {"O": 1, "P": 3, "Q": 3}
    for x in (["x"], ["y", "z"], ["x", "q", "y"], ["z", "x", "x", "y"]):
        listed = enumerated(labeler, x)
        check_answers(labeler, x, listed)
        total = np.logaddexp.reduce([score for _, score in listed])
        for segments, score in listed[:: max(1, len(listed) // 7)]:
            found = labeler.log_prob([x], [inside(segments) or [(0, 1, "P")]])
            if inside(segments):
                np.testing.assert_allclose(found, [score - total], rtol=1e-6, atol=1e-9)
        why = labeler.explain(x)
        assert sum(why.score(i) for i in range(len(why))) == pytest.approx(max(score for _, score in listed))
    assert labeler.predict([[]]) == [[]]


def test_what_is_allowed_fixed_and_added_is_heard():
    labeler, x = fitted(), ["x", "y", "z", "x"]

    def kept(segments):
        by_token = {t: label for start, stop, label in segments for t in range(start, stop)}
        return (1, 3, "P") in segments and by_token[3] != "Q"

    listed = [
        (segments, score + 0.5 * sum(label == "P" for *_, label in segments) if kept(segments) else -np.inf)
        for segments, score in enumerated(labeler, x)
    ]
    limits = {"allowed": [[None, None, None, {"O", "P"}]], "fixed": [[(1, 3, "P")]], "bias": {"P": 0.5}}
    check_answers(labeler, x, listed, **limits)


def test_constraints_say_which_label_may_follow_which():
    def may_follow(before, after):
        return not (before == "P" and after == "P") and not (before is None and after == "Q")

    X, y = corpus(3, n=40)
    good = [
        i
        for i, own in enumerate(y)
        if (not own or own[0][0] > 0 or own[0][2] != "Q")
        and not any(a[2] == b[2] == "P" and a[1] == b[0] for a, b in itertools.pairwise(own))
    ]
    labeler = fitted(X=[X[i] for i in good], y=[y[i] for i in good], constraints=may_follow)
    for x in (["x", "y", "z"], ["z", "z", "x", "y"]):
        check_answers(labeler, x, enumerated(labeler, x, may_follow=may_follow))
    assert labeler.log_prob([["x", "y"]], [[(0, 1, "Q")]]).tolist() == [-np.inf]
    with pytest.raises(tw.InvalidInput, match=r"y\[0\] has segments with the labels Q, which the constraints forbid"):
        fitted(X=[["x"]], y=[[(0, 1, "Q")]], constraints=may_follow)


@pytest.mark.parametrize("name", learners.names())
def test_every_learner_trains_it_and_answers_by_its_weights(name):
    if name == "memm":  # normalises decisions: see below
        return
    labeler = fitted(learners.by_name(name))
    for x in (["x", "z", "y"], ["y", "x"]):
        listed = enumerated(labeler, x)
        found = dict((tuple(inside(segments)), score) for segments, score in listed)[tuple(labeler.predict([x])[0])]
        assert found == pytest.approx(max(score for _, score in listed), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("constraints", [None, lambda before, after: (before, after) != ("P", "Q")])
def test_a_memm_normalises_the_choice_of_the_next_segment(constraints):
    X, y = corpus()
    rule = constraints or (lambda before, after: True)
    good = [i for i, own in enumerate(y) if all(a[1] < b[0] or rule(a[2], b[2]) for a, b in itertools.pairwise(own))]
    labeler = fitted(tw.MEMM(l2=0.1), X=[X[i] for i in good], y=[y[i] for i in good], constraints=constraints)
    x = ["x", "y", "z", "x"]
    table = {(w.attribute, w.previous, w.label): w.weight for w in labeler.weights()}
    tokens, spans = TEMPLATES.attributes([x])[0], TEMPLATES.span_attributes([x], max(labeler.longest_.values()))[0]

    def score(before, start, stop, label):
        names = [name for t in range(start, stop) for name in tokens[t]] + spans[start, stop]
        return sum(table.get((name, None, label), 0.0) for name in names) + table.get((None, before, label), 0.0)

    listed = []
    for segments, _ in enumerated(labeler, x, may_follow=constraints):
        total, before = 0.0, None
        for start, stop, label in segments:
            ways = [
                score(before, start, start + n, k)
                for k, most in labeler.longest_.items()
                for n in range(1, min(most, len(x) - start) + 1)
                if rule(before, k)
            ]
            allowed = rule(before, label)
            total += score(before, start, stop, label) - np.logaddexp.reduce(ways) if allowed else -np.inf
            before = label
        listed.append((segments, total))
    found = {tuple(own): p for own, p in labeler.predict_kbest([x], 500)[0]}
    log_z = np.logaddexp.reduce([p for _, p in listed])
    assert len(found) == sum(np.isfinite(p) for _, p in listed)
    for segments, p in listed:
        if np.isfinite(p):
            assert found[tuple(inside(segments))] == pytest.approx(p - log_z, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("scheme", ["BIO", "IOBES", "IOE1", "BMES"])
def test_labels_come_back_in_the_scheme_they_were_given_in(scheme):
    X, y = corpus(1, n=30)
    labels = [
        tw.corpora.labels_from_spans([(kind, start, stop) for start, stop, kind in own], len(x), scheme)
        for x, own in zip(X, y, strict=True)
    ]
    by_labels, by_spans = fitted(X=X, y=labels), fitted(X=X, y=y)
    for found, spans in zip(by_labels.predict(X), by_spans.predict(X), strict=True):
        read = [(span.start, span.stop, span.type) for span in tw.corpora.spans(found, scheme)]
        assert read == spans
    assert by_labels.score(X, labels) == by_spans.score(X, y)
    np.testing.assert_allclose(by_labels.log_prob(X, labels), by_spans.log_prob(X, y), rtol=1e-6)


def test_what_only_a_whole_segment_shows_is_learned():
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(80):  # a name is two or three equal letters in a row, whichever: no token tells
        x, spans = [], []
        while len(x) < 8:
            if rng.random() < 0.4:
                n = int(rng.integers(2, 4))
                spans.append((len(x), len(x) + n, "N"))
                x += [str(rng.choice(list("abcdefgh")))] * n
            else:
                x.append(str(rng.choice(list("abcdefgh"))))
                if len(x) > 1 and x[-1] == x[-2]:
                    x.pop()
        X.append(x)
        y.append(spans)

    def equal(x, start, stop):
        return ["equal"] if len(set(x[start:stop])) == 1 else ["mixed"]

    plain = fitted(tw.CRF(l2=0.01), tw.Templates("word"), X=X, y=y)
    whole = fitted(tw.CRF(l2=0.01), tw.Templates("word"), X=X, y=y, segment_features=equal)
    assert whole.score(X, y) > 0.9 > plain.score(X, y) + 0.2


@pytest.mark.parametrize("hash_bits", [None, 10])
def test_files_and_copies_answer_the_same(tmp_path, hash_bits):
    labeler = fitted(hash_bits=hash_bits, constraints=lambda before, after: True)
    X, _ = corpus(7)
    labeler.save(tmp_path / "model.tw", metadata={"data": "letters"})
    for again in (tw.load(tmp_path / "model.tw"), pickle.loads(pickle.dumps(labeler.set_params(constraints=None)))):
        assert again.longest_ == labeler.longest_
        for mine, other in zip(labeler.predict_marginals(X), again.predict_marginals(X), strict=True):
            np.testing.assert_array_equal(mine, other)
    assert tw.load(tmp_path / "model.tw").metadata_ == {"data": "letters"}
    small = io.BytesIO()
    labeler.save(small, precision="int8", prune=1e-4)
    rounded = tw.load(small.getvalue())
    assert np.mean([a == b for a, b in zip(rounded.predict(X), labeler.predict(X), strict=True)]) > 0.7


def test_an_unsound_file_is_refused():
    tensors, settings = fitted().exported()
    for name in tensors:
        for broken in (None, np.zeros(5, dtype=np.asarray(tensors[name]).dtype)):
            if broken is None and "names" in name:
                continue
            parts = {key: part for key, part in tensors.items() if key != name}
            if broken is not None:
                parts[name] = broken
            with pytest.raises(models.InvalidModel):
                tw.load(models.dumps(parts, settings))


def test_threads_change_no_bit():
    X, y = corpus(5, n=40)
    one, two = (fitted(X=X, y=y, n_jobs=n) for n in (1, 2))
    for mine, other in zip(one.predict_marginals(X), two.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert one.weights() == two.weights()


def test_the_best_iteration_on_development_data_is_kept():
    X, y = corpus(6, n=20)
    labeler = tw.SegmentLabeler(tw.Perceptron(epochs=4), TEMPLATES).fit(X, y, X[:8], y[:8])
    assert max(record["dev_score"] for record in labeler.history_) == labeler.score(X[:8], y[:8])


def test_a_segment_beyond_the_maximum_is_named():
    with pytest.raises(
        tw.InvalidInput, match=r"y\[1\] has the segment \(0, 3, 'P'\) of 3 tokens, but longest is 2\. R"
    ):
        fitted(X=[["x"], ["x", "y", "z"]], y=[[], [(0, 3, "P")]], longest=2)
    labeler = fitted(X=[["x"], ["x", "y", "z"]], y=[[], [(0, 2, "P")]], longest=4)
    assert labeler.longest_ == {"O": 1, "P": 4}
    assert labeler.log_prob([["x"] * 5], [[(0, 5, "P")]]).tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": [[(0, 2, "P")]]}, "which overlaps another or ends behind the 1 tokens"),
        ({"y": [[(0, 1, "O")]]}, "a label other than 'O'"),
        ({"y": [["NN"]]}, "not valid in any scheme that spells spans"),
        ({"y": [["B-P", "O"]]}, r"y\[0\] has 2 labels but X\[0\] has 1 tokens"),
        ({"y": [[]]}, "no segments to learn from"),
        ({"constraints": "BIO"}, "segments need no scheme"),
        ({"longest": 0}, "longest is 0"),
        ({"combinations": "transitions"}, "combinations is"),
        ({"combinations": "grown"}, "combinations must be 'seen' or 'all' for it"),
        ({"segment_features": 3}, "segment_features is 3"),
        ({"features": tw.Templates("pair: word")}, "pair"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    X, y = [["x"]], options.pop("y", [[(0, 1, "P")]])
    with pytest.raises(tw.InvalidInput, match=message):
        tw.SegmentLabeler(**options).fit(X, y)


def test_limits_that_make_no_sense_are_refused():
    labeler = fitted()
    with pytest.raises(tw.InvalidInput, match="expected \\(start, stop, label\\)"):
        labeler.predict([["x"]], fixed=[[(0, 1, "Z")]])
    with pytest.raises(tw.InvalidInput, match="which the model cannot have"):
        labeler.predict([["x"] * 9], fixed=[[(0, 9, "P")]])
    with pytest.raises(tw.InvalidInput, match="fixed has 2 entries but X has 1"):
        labeler.predict([["x"]], fixed=[None, None])


def test_templates_may_be_about_spans_alone():
    X, y = [["a", "b"], ["b", "a"]], [["B-P", "I-P"], ["O", "O"]]
    labeler = fitted(tw.CRF(l2=0.01), tw.Templates("span: whole.word"), X, y)
    assert labeler.predict(X) == y


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_of_words_and_columns_spans_are_seen_without_being_asked_for(n_columns):
    X = [[("x", "N", "u")[:n_columns] if n_columns > 1 else "x", ("y", "V", "u")[:n_columns] if n_columns > 1 else "y"]]
    names = {
        weight.attribute for weight in fitted(X=X, y=[["B-P", "O"]], features="auto").weights() if weight.attribute
    }
    assert {"size=1", "lower(whole.word)=x"} <= names
    assert ("outline(pos)=N" in names) == (n_columns > 1)
    assert ("last.c2|after.c2=u|u" in names) == (n_columns > 2)


def test_a_sequence_that_cannot_be_cut_is_named_by_its_place(monkeypatch):
    X, y = [["a", "b"], ["b", "c"], ["c", "a"]], [[(0, 1, "P")], [(0, 1, "P")], [(1, 2, "P")]]
    apart = lambda before, after: (before, after) != ("P", "P")  # noqa: E731
    labeler = tw.SegmentLabeler(tw.CRF(l2=0.1), "words", constraints=apart).fit(X, y)
    monkeypatch.setattr(type(labeler._model), "most_asked", 1)  # sequences are asked one by one
    allowed = [None, None, [["P"], ["P"]]]
    for question in (labeler.predict, labeler.predict_marginals, labeler.predict_spans):
        with pytest.raises(tw.Unsatisfiable, match=r"^X\[2\]: .* forbids every segmentation"):
            question(X, allowed=allowed)
