"""Segmenting pictures: what goes in and comes out, masks, probabilities, files, errors."""

import io
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import trelliswork as tw
from reference.grid_labellings import all_labellings
from reference.pictures import discs, textures
from trelliswork.errors import InvalidInput, UncalibratedScores
from trelliswork.training.image_examples import ImageExamples


@pytest.fixture(scope="module")
def data():
    return discs(8, noise=1.0), discs(4, noise=1.0, seed=1)


@pytest.fixture(scope="module")
def segmenter(data):
    return tw.ImageSegmenter().fit(*data[0])


def test_neighbours_help(data, segmenter):
    (X, Y), (X_new, Y_new) = data
    alone = tw.ImageSegmenter(neighbours=0).fit(X, Y)
    by_value = [tw.ImageSegmenter("pa", "maps", neighbours=n).fit(X, Y).score(X_new, Y_new) for n in (0, 4, 8)]
    assert segmenter.score(X_new, Y_new) > alone.score(X_new, Y_new)
    assert by_value[0] + 0.1 < by_value[1] < by_value[2] + 0.01
    assert segmenter.exact_
    assert alone.exact_


def test_predictions_have_the_shape_and_the_labels_of_y(data, segmenter):
    found = segmenter.predict(data[1][0])
    assert [own.shape for own in found] == [x.shape for x in data[1][0]]
    assert found[0].dtype == segmenter.classes_.dtype == np.int64
    assert set(np.unique(found[0])) <= {0, 1}
    named = tw.ImageSegmenter().fit(data[0][0], [np.array(["no", "yes"])[y] for y in data[0][1]])
    assert named.classes_.tolist() == ["no", "yes"]
    assert (named.predict(data[1][0])[0] == np.array(["no", "yes"])[found[0]]).all()
    flags = tw.ImageSegmenter().fit(data[0][0], [y == 1 for y in data[0][1]])
    assert (flags.predict(data[1][0])[0] == (found[0] == 1)).all()


def test_the_answer_is_the_best_labelling():
    rng = np.random.default_rng(0)
    X, Y = [rng.normal(size=(3, 3)) for _ in range(6)], [rng.integers(0, 2, (3, 3)) for _ in range(6)]
    model = tw.ImageSegmenter().fit(X, Y)
    listed = list(all_labellings((3, 3), 2))
    for x, found in zip(X, model.predict(X), strict=True):
        scores = model._model.scores(x[..., np.newaxis])
        totals = [scores[counts > 0].sum() for _, counts in listed]
        own = next(total for (labels, _), total in zip(listed, totals, strict=True) if labels == found.ravel().tolist())
        assert own == pytest.approx(max(totals))
        grid = model.grid(x)
        assert grid.score(found) == pytest.approx(own)
        assert grid.argmax().exact
        assert grid.argmax().score == pytest.approx(own)


@pytest.mark.parametrize("learner", ["pa", "perceptron", "pegasos", "subgradient"])
def test_pair_weights_are_not_negative(learner, data):
    checkers = [np.indices((12, 12)).sum(axis=0) % 2] * 3  # neighbours differ, so weights would fall below zero
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        model = tw.ImageSegmenter(learner, "maps").fit([np.zeros((12, 12))] * 3, checkers)
        other = tw.ImageSegmenter(learner, "maps").fit(*data[0])
    for found in (model, other):
        pairs = [w for name, w in found._model.weights_of.items() if name not in ("cells", "bias")]
        assert len(pairs) == 4
        assert all((own >= 0.0).all() for own in pairs)


@pytest.mark.parametrize("size", [(2, 3), (3, 2), (4, 4)])
@pytest.mark.parametrize("options", [{}, {"neighbours": 8}, {"associative": False, "inference": "cut"}])
def test_the_grid_has_the_scores_of_the_model(size, options):
    rng = np.random.default_rng(0)
    X, Y = [rng.normal(size=size) for _ in range(4)], [rng.integers(0, 2, size) for _ in range(4)]
    model = tw.ImageSegmenter(**options).fit(X, Y)
    scores = model._model.scores(X[0][..., np.newaxis])
    for labels in Y:
        parts = model._model.structure.parts_of(np.array(size, dtype=np.uint32), labels.ravel().astype(np.uint32))
        assert model.grid(X[0]).score(labels) == pytest.approx(scores[parts].sum())


def test_three_labels_by_expansion_and_in_colour():
    X, Y = textures(6)
    with pytest.raises(InvalidInput, match=r"3 labels the best labels .* inference='cut'"):
        tw.ImageSegmenter().fit(X, Y)
    model = tw.ImageSegmenter(inference="cut", neighbours=8).fit(X, Y)
    X_new, Y_new = textures(3, seed=1)
    alone = tw.ImageSegmenter(neighbours=0).fit(X, Y)
    assert not model.exact_
    assert alone.exact_
    assert model.score(X_new, Y_new) > max(0.97, alone.score(X_new, Y_new))
    assert model.classes_.tolist() == ["grass", "sand", "sea"]


def test_bytes_are_taken_for_numbers_from_0_to_1():
    X, Y = textures(3)
    model = tw.ImageSegmenter(inference="cut").fit(X, Y)
    assert all((a == b).all() for a, b in zip(model.predict(X), model.predict([x / 255.0 for x in X]), strict=True))


@pytest.mark.parametrize(
    "options",
    [{"inference": "cut"}, {"inference": "trw"}, {"inference": "ad3"}, {"inference": "trw", "relaxed": True}],
)
def test_pairs_of_any_sign(options):
    rng = np.random.default_rng(0)
    truth = [np.indices((14, 14)).sum(axis=0) % 2, 1 - np.indices((14, 14)).sum(axis=0) % 2]
    X = [y + rng.normal(0.0, 0.8, y.shape) for y in truth]
    with pytest.raises(InvalidInput, match=r"prefer to differ .* inference='cut'"):
        tw.ImageSegmenter(associative=False).fit(X, truth)
    model = tw.ImageSegmenter("pa", "maps", associative=False, **options).fit(X, truth)
    assert model.score(X, truth) == 1.0
    assert not model.exact_


def test_masked_cells_do_not_count(data):
    (X, Y), _ = data
    rng = np.random.default_rng(0)
    hidden = [rng.random(y.shape) < 0.3 for y in Y]
    marked = [np.where(h, 255, y) for y, h in zip(Y, hidden, strict=True)]
    masked = [np.ma.MaskedArray(y, h) for y, h in zip(Y, hidden, strict=True)]
    wrong = [np.ma.MaskedArray(np.where(h, 1 - y, y), h) for y, h in zip(Y, hidden, strict=True)]
    models = [
        tw.ImageSegmenter(ignore=255).fit(X, marked),
        tw.ImageSegmenter().fit(X, masked),
        tw.ImageSegmenter().fit(X, wrong),
    ]
    for model in models:
        assert model.classes_.tolist() == [0, 1]
        np.testing.assert_array_equal(model.predict(X), models[0].predict(X))
        assert model.weights() == models[0].weights()
    assert models[0].score(X, marked) == models[1].score(X, masked)
    assert models[0].score(X, Y) > 0.9


def test_pictures_of_different_sizes_and_of_one_cell(segmenter):
    sizes = [(1, 1), (1, 7), (5, 1), (40, 3), (0, 4)]
    found = segmenter.predict([np.ones(size) for size in sizes])
    assert [own.shape for own in found] == sizes
    X, Y = discs(3, size=20)
    model = tw.ImageSegmenter().fit([X[0][:5], X[1][:, :9], X[2]], [Y[0][:5], Y[1][:, :9], Y[2]])
    assert model.score(X, Y) > 0.8
    tiny = tw.ImageSegmenter().fit([[[0.0]], [[1.0]]], [[[0]], [[1]]])
    assert [own.item() for own in tiny.predict([[[0.0]], [[1.0]]])] == [0, 1]


def test_volumes():
    rng = np.random.default_rng(0)
    truth = np.zeros((6, 8, 8), dtype=int)
    truth[2:5, 2:6, 2:6] = 1
    X = [truth + rng.normal(0.0, 0.6, truth.shape) for _ in range(4)]
    scores = [
        tw.ImageSegmenter("pa", "maps", neighbours=n, volume=True).fit(X[:3], [truth] * 3).score(X[3:], [truth])
        for n in (0, 4, 26)
    ]
    assert scores[0] < min(scores[1:])
    model = tw.ImageSegmenter(volume=True, position=True).fit([x[..., None] for x in X], [truth] * 4)
    assert "plane^2" in model._model.features.names
    assert model.grid(X[0]).argmax().labels.shape == truth.shape


def test_marginals_are_exact_where_pictures_are_narrow():
    rng = np.random.default_rng(0)
    X, Y = [rng.normal(size=(3, 3)) for _ in range(6)], [rng.integers(0, 2, (3, 3)) for _ in range(6)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        model = tw.ImageSegmenter(tw.CRF(l2=1.0)).fit(X, Y)
    listed = list(all_labellings((3, 3), 2))
    (found,) = model.predict_marginals(X[:1])
    scores = model._model.scores(X[0][..., np.newaxis])
    p = np.exp([scores[counts > 0].sum() for _, counts in listed])
    expected = (p / p.sum()) @ np.array([counts[:18] for _, counts in listed])
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-9)


def test_marginals_of_wide_pictures_say_that_they_are_beliefs(data):
    (X, Y), _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        model = tw.ImageSegmenter(tw.CRF(l2=1.0, max_iter=15), inference="trw").fit(X[:2], Y[:2])
    with pytest.warns(UserWarning, match="too wide for exact probabilities: these are beliefs by inference='trw'"):
        (found,) = model.predict_marginals(X[:1])
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, atol=1e-3)
    assert ((found[..., 1] > 0.5) == Y[0]).mean() > 0.9
    assert not model.exact_
    with pytest.raises(InvalidInput, match="expected 'trw' or 'bp'"):
        model.predict_marginals(X[:1], inference="cut")


def test_learners_that_sum_are_refused_on_wide_pictures(data):
    with pytest.raises(InvalidInput, match=r"CRF.* asks for expectations"):
        tw.ImageSegmenter("crf").fit(*data[0])
    alone = tw.ImageSegmenter("crf", neighbours=0).fit(*data[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = alone.predict_marginals(data[0][0][:1])[0]
    assert ((found[..., 1] > 0.5) == (alone.predict(data[0][0][:1])[0] == 1)).all()


def test_the_pseudo_likelihood_is_exact_on_wide_pictures(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        model = tw.ImageSegmenter("memm", "maps").fit(*data[0])
    assert model.exact_
    assert model.score(*data[1]) > tw.ImageSegmenter("pa", "maps", neighbours=0).fit(*data[0]).score(*data[1]) + 0.05


def test_scores_of_margin_learners_are_no_probabilities(segmenter, data):
    segmenter._model.told = False
    with pytest.warns(UncalibratedScores):
        segmenter.predict_marginals([data[0][0][0][:3]])


def test_a_file_has_all(data, segmenter, tmp_path):
    (X, Y), _ = data
    for model in (
        segmenter,
        tw.ImageSegmenter(neighbours=8, contrast=0.5, position=True, ignore=-1).fit(X, Y),
        tw.ImageSegmenter(associative=False, inference="trw", contrast=False).fit(X[:2], Y[:2]),
        tw.ImageSegmenter(inference="cut", neighbours=0, features="maps").fit(*textures(2)),
    ):
        file = io.BytesIO()
        model.save(file, metadata={"from": "tests"})
        loaded = tw.load(file.getvalue())
        for name in ("neighbours", "associative", "contrast", "position", "inference", "ignore", "features"):
            assert getattr(loaded, name) == getattr(model, name)
        pictures = X[:2] if model.n_features_in_ == 1 else textures(2)[0]
        for a, b in zip(loaded.predict(pictures), model.predict(pictures), strict=True):
            assert a.dtype == b.dtype
            assert (a == b).all()
        assert loaded.weights() == model.weights()
        assert loaded.exact_ == model.exact_
        assert loaded.metadata_ == {"from": "tests"}
    segmenter.save(tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").score(X, Y) == segmenter.score(X, Y)


def test_unsound_files_are_refused(segmenter):
    tensors, settings = segmenter.exported()
    for change in (
        {"image": settings["image"] | {"kind": "smell"}},
        {"image": settings["image"] | {"contrast": -1}},
        {"structure": settings["structure"] | {"neighbours": 5}},
        {"structure": settings["structure"] | {"inference": "magic"}},
        {"label_kind": "dog"},
        {"labels": ["0", "1", "2"]},
    ):
        file = io.BytesIO()
        tw.models.save(file, tensors, settings | change)
        with pytest.raises(tw.InvalidModel):
            tw.load(file.getvalue())


def test_more_threads_change_nothing(data, segmenter):
    (X, Y), (X_new, _) = data
    two = tw.ImageSegmenter(n_jobs=2).fit(X, Y)
    assert two.weights() == segmenter.weights()
    np.testing.assert_array_equal(two.predict(X_new), segmenter.predict(X_new))


def test_development_data_and_weights_of_pictures(data):
    (X, Y), dev = data
    model = tw.ImageSegmenter(tw.Perceptron(epochs=4)).fit(X, Y, *dev)
    assert max(record["dev_score"] for record in model.history_) == pytest.approx(model.score(*dev))
    first = tw.ImageSegmenter().fit(X[:4], Y[:4])
    weighted = tw.ImageSegmenter().fit(X, Y, sample_weight=[1] * 4 + [0] * 4)
    assert weighted.score(X[:4], Y[:4]) > 0.9
    assert first.score(X[:4], Y[:4]) > 0.9


def test_scikit_learns_clone(segmenter):
    assert clone(segmenter).get_params() == segmenter.get_params()


def test_weights_have_names(segmenter):
    names = {weight.attribute for weight in segmenter.weights()}
    assert {"colour[0]", "mean9[0]", "right", "down contrast"} <= names
    assert segmenter.n_weights_ == 14 * 2 + 2 + 4


@pytest.mark.parametrize(
    ("X", "y", "told"),
    [
        ([], [], "no pictures"),
        (3, [], "expected a list of pictures"),
        (np.zeros((4, 4)), [np.zeros((4, 4), int)], "that is one picture"),
        ([np.zeros(4)], [np.zeros(4, int)], r"X\[0\] has shape \(4,\); expected \(rows, columns"),
        ([np.zeros((2, 2, 2, 2))], [np.zeros((2, 2), int)], "volume=True"),
        ([np.array([["a"]])], [np.zeros((1, 1), int)], "expected numbers"),
        ([np.array([[0.0, np.nan]])], [np.zeros((1, 2), int)], r"X\[0\] has nan at \(0, 1\)"),
        ([np.array([[0.0, np.inf]])], [np.zeros((1, 2), int)], r"X\[0\] has inf at \(0, 1\)"),
        (
            [np.zeros((2, 2)), np.zeros((2, 2, 3))],
            [np.zeros((2, 2), int)] * 2,
            r"X\[1\] has 3 channels but X\[0\] has 1",
        ),
        ([np.zeros((2, 2))], [np.zeros((2, 3), int)], r"y\[0\] has shape \(2, 3\) but its picture has \(2, 2\)"),
        ([np.zeros((2, 2))], [], "X has 1 pictures but y has 0 maps"),
        ([np.zeros((2, 2))], [np.zeros((2, 2))], "labels of type float64"),
        ([np.zeros((2, 2))], [np.ma.MaskedArray(np.zeros((2, 2), int), True)], "no cell with a known label"),
        ([np.zeros((1, 2))] * 2, [np.zeros((1, 2), int), np.array([["a", "b"]])], "labels of one kind"),
        ([np.zeros((2, 2, 0))], [np.zeros((2, 2), int)], "no channels"),
    ],
)
def test_bad_data_is_named(X, y, told):
    with pytest.raises(InvalidInput, match=told):
        tw.ImageSegmenter().fit(X, y)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"neighbours": 6}, r"neighbours is 6 \(int\); expected 4, 8 or 0"),
        ({"neighbours": True}, "neighbours is True"),
        ({"contrast": -1.0}, "contrast is -1.0"),
        ({"contrast": "much"}, "contrast is 'much'"),
        ({"inference": "ilp"}, "inference is 'ilp'"),
        ({"features": "words"}, "features is 'words'"),
        ({"relaxed": True}, "relaxed answers come from inference='trw' or 'ad3'"),
        ({"volume": "yes"}, "volume"),
    ],
)
def test_bad_parameters_are_named(options, told, data):
    with pytest.raises(InvalidInput, match=told):
        tw.ImageSegmenter(**options).fit(*data[0])


def test_bad_questions(segmenter, data):
    with pytest.raises(InvalidInput, match=r"X\[0\] has 3 channels but the model was trained on 1"):
        segmenter.predict([np.zeros((2, 2, 3))])
    with pytest.raises(InvalidInput, match="x has 3 channels"):
        segmenter.grid(np.zeros((2, 2, 3)))
    with pytest.raises(InvalidInput, match="labels every cell by itself"):
        tw.ImageSegmenter(neighbours=0).fit(*data[0]).grid(data[0][0][0])
    unseen = [np.full(y.shape, 7) for y in data[0][1]]
    assert segmenter.score(data[0][0], unseen) == 0.0  # a label that was never seen is wrong


def test_pictures_that_do_not_fit_in_memory_are_refused_with_the_number(segmenter, data):
    huge = np.broadcast_to(np.float32(0.0), (1 << 17, 1 << 17))
    with pytest.raises(InvalidInput, match=r"X\[0\] has 17,179,869,184 cells: an answer would take [\d,.]+ GB"):
        segmenter._model.require_memory(huge[..., np.newaxis], "X[0]")
    examples = SimpleNamespace(classes=["a", "b"], _neighbours=4, _n_jobs=1, _estimator=segmenter)
    with pytest.raises(InvalidInput, match=r"learning from 17,179,869,184 cells with 14 numbers .* GB of memory"):
        ImageExamples._require_memory(examples, [huge[..., np.newaxis]], "colour")


def test_a_picture_of_a_segmentation(segmenter, data):
    pytest.importorskip("matplotlib")
    axes = segmenter.plot(data[1][0][0], data[1][1][0])
    assert [ax.get_title().split(",")[0] for ax in axes] == ["image", "truth", "labels"]
    assert len(segmenter.plot(data[1][0][0])) == 2
    colours = tw.ImageSegmenter(neighbours=0).fit(*textures(1))
    assert len(colours.plot(textures(1)[0][0])) == len(colours.plot(textures(1)[0][0] * 2.0)) == 2
    with pytest.raises(InvalidInput, match="truth has shape"):
        segmenter.plot(data[1][0][0], np.zeros((2, 2), int))


SMALL, SMALL_LABELS = [np.arange(12.0).reshape(3, 4)], [(np.arange(12) > 5).astype(int).reshape(3, 4)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"features": "maps", "position": True}, "position goes with the ready set"),
        ({"ignore": [1]}, "ignore is .*expected a label"),
        ({"ignore": 1.5}, "ignore is .*expected a label"),
        ({"ignore": "void"}, "ignore is 'void' .*labels of y are of type int"),
        ({"neighbours": 4.0}, "neighbours is 4.0"),
    ],
)
def test_options_that_could_only_be_ignored_are_refused(given, told):
    with pytest.raises(InvalidInput, match=told):
        tw.ImageSegmenter(**given).fit(SMALL, SMALL_LABELS)


def test_numbers_that_single_precision_cannot_square_are_refused_by_name():
    segmenter = tw.ImageSegmenter().fit(SMALL, SMALL_LABELS)
    with pytest.raises(InvalidInput, match=r"X\[0\] has numbers beyond"):
        segmenter.predict([SMALL[0] * -1e300])


def test_development_data_without_labels_are_refused():
    with pytest.raises(InvalidInput, match="y_dev has no cell with a known label"):
        tw.ImageSegmenter().fit(SMALL, SMALL_LABELS, [], [])


def test_pictures_too_wide_for_exact_labels_are_warned_of_once_where_nobody_asked_for_approximate_ones():
    rng = np.random.default_rng(0)
    narrow, wide = [rng.normal(size=(5, 2)) for _ in range(4)], [rng.normal(size=(30, 30))]
    three = [(x > 0).astype(int) + (x > 1) for x in narrow]
    segmenter = tw.ImageSegmenter().fit(narrow, three)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        segmenter.predict(narrow)
        tw.ImageSegmenter().fit(narrow, [y > 0 for y in three]).predict(wide)  # a cut
        tw.ImageSegmenter(inference="cut").fit(narrow, three).predict(wide)  # asked for
    with pytest.warns(UserWarning, match="these may not be the best"):
        segmenter.predict(wide)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        segmenter.predict(wide)
