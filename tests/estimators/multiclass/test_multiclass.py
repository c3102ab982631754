"""Classifiers of single labels: the perceptron written out, weights that classes share, scikit-learn's conventions."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

import trelliswork as tw
from trelliswork import _core, learners
from trelliswork.errors import ConvergenceWarning, InvalidInput

ONE_BY_ONE = "rows are visited one by one: twice the same row is not one of twice the weight"
MISTAKES = "these learn from mistakes alone, and do not see the weights of rows where they make none"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONE_BY_ONE,
    "check_sample_weight_equivalence_on_sparse_data": ONE_BY_ONE,
    "check_class_weight_classifiers": MISTAKES,
}


class CheckedPerceptron(tw.MulticlassPerceptron, BaseEstimator):
    """scikit-learn's checks warn of classes that are not its own."""


class CheckedClassifier(tw.MulticlassClassifier, BaseEstimator):
    """The same."""


@parametrize_with_checks(
    [CheckedPerceptron(), CheckedClassifier(tw.PassiveAggressive())],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# ---- by hand ---------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    n, d, k = draw(st.integers(2, 8)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n)])
    shares = rng.integers(-1, 3, size=(k, draw(st.integers(1, 5)))).astype(float)
    # Whole numbers, so that the perceptron is exact and equal scores are equal in whatever order they are added up.
    return rng.integers(-4, 5, size=(len(y), d)).astype(float), y, shares


def perceptron(X, y, phi, size, epochs):
    """Algorithm 39 of Daumé 2017, as it is printed."""
    w = np.zeros(size)
    for _ in range(epochs):
        for x, label in zip(X, y, strict=True):
            guess = max(range(int(y.max()) + 1), key=lambda k: (w @ phi(x, k), -k))
            if guess != label:
                w += phi(x, label) - phi(x, guess)
    return w


@given(problems())
def test_the_perceptron_is_the_one_of_the_book(problem):
    X, y, _ = problem
    n_classes = int(y.max()) + 1

    def phi(x, k):  # eq. 17.2
        return np.outer(np.eye(n_classes)[k], x).ravel()

    expected = perceptron(X, y, phi, n_classes * X.shape[1], 3).reshape(n_classes, -1)
    found = tw.MulticlassPerceptron(3, averaged=False, shuffle=False, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(found.coef_, expected, atol=1e-12)


@given(problems())
def test_shared_expansions_are_those_written_out(problem):
    X, y, shares = problem

    def phi(x, k):  # eq. 17.9 to 17.11: a copy of x in every place that the class has a share in
        return np.outer(shares[k], x).ravel()

    expected = perceptron(X, y, phi, shares.shape[1] * X.shape[1], 2).reshape(shares.shape[1], -1)
    found = tw.MulticlassPerceptron(2, averaged=False, shuffle=False, fit_intercept=False, expansion=shares).fit(X, y)
    np.testing.assert_allclose(found.coef_, shares @ expected, atol=1e-9)


@given(problems())
def test_every_question_is_answered_as_if_copies_were_columns(problem):
    """Rows with all copies written out, as outputs of a structure that lists its labels."""
    X, y, shares = problem
    gold, d = y.astype(np.int32), X.shape[1]

    class Copies(tw.Structure):
        n_features = d * shares.shape[1]

        def outputs(self, x):
            return range(len(shares))

        def features(self, x, k):
            return np.outer(x, shares[k]).ravel()

    ours = _core.LabelOracle.dense(X, gold, len(shares), np.ones(len(y)), np.zeros((0, 0)), shares)
    theirs = Copies().oracle(X, y)
    weights = np.random.default_rng(1).normal(size=ours.n_weights)
    vectors = np.empty((4, ours.n_weights))
    losses = [ours.loss(weights, vectors[0], nu=0.5), theirs.loss(weights, vectors[1], nu=0.5)]
    ours.curvature(weights, vectors[2], nu=0.5)
    theirs.curvature(weights, vectors[3], nu=0.5)
    np.testing.assert_allclose(*losses, rtol=1e-10)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-10)
    np.testing.assert_allclose(vectors[2], vectors[3], atol=1e-10)
    for i in range(len(y)):
        for one, other in zip(ours.kbest(weights, i, 2, 1.0), theirs.kbest(weights, i, 2, 1.0), strict=True):
            np.testing.assert_allclose(one[1:3], other[1:3], atol=1e-10)
        p = ours.marginals(ours.part_scores(weights, i), i)
        q = theirs.marginals(theirs.part_scores(weights, i), i)
        np.testing.assert_allclose(written_out(ours, *p[2:]), written_out(theirs, *q[2:]), atol=1e-10)


def written_out(oracle, indices, values):
    vector = np.zeros(oracle.n_weights)
    vector[indices] = values
    return vector


@given(problems())
def test_a_hierarchy_has_a_group_for_every_node(problem):
    X, y, _ = problem
    names = np.array(["a", "b", "c", "d"])[y]
    paths = {"a": ["top", "root"], "b": ["top", "root"], "c": ["root"], "d": []}
    groups = sorted(set(names)) + [g for g in ("top", "root") if any(g in paths[name] for name in set(names))]
    shares = np.array([[float(g == name or g in paths[name]) for g in groups] for name in sorted(set(names))])
    by_tree = tw.MulticlassPerceptron(hierarchy=paths).fit(X, names)
    by_matrix = tw.MulticlassPerceptron(expansion=shares).fit(X, names)
    by_function = tw.MulticlassPerceptron(expansion=lambda name: [name, *paths[name]]).fit(X, names)
    assert by_tree.groups_ == groups
    np.testing.assert_allclose(by_tree.coef_, by_matrix.coef_, atol=1e-12)
    np.testing.assert_allclose(by_tree.coef_, by_function.coef_, atol=1e-12)


def test_a_class_that_is_an_ancestor_is_one_node():
    X, y = np.eye(3), ["animal", "dog", "stone"]
    found = tw.MulticlassPerceptron(hierarchy={"dog": ["animal"]}).fit(X, y)
    assert found.groups_ == ["animal", "dog", "stone"]


def test_classes_that_share_learn_from_each_other():
    """What is seen with one class only speaks for its relative, too, against a third."""
    X, y = np.eye(3), ["music", "movies", "oncology"]
    learner = tw.CRF(tol=1e-9)
    plain = tw.MulticlassClassifier(learner, fit_intercept=False).fit(X, y)
    related = tw.MulticlassClassifier(
        learner, fit_intercept=False, hierarchy={"music": ["arts"], "movies": ["arts"]}
    ).fit(X, y)
    movies, oncology = 0, 2
    of_music = 0
    np.testing.assert_allclose(plain.coef_[movies, of_music], plain.coef_[oncology, of_music], atol=1e-4)
    assert related.coef_[movies, of_music] > related.coef_[oncology, of_music] + 0.1


# ---- inputs ----------------------------------------------------------------------------------------------------------


def test_sparse_rows_dense_rows_and_dicts_say_the_same():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, size=(40, 4)).astype(float)
    y = rng.integers(0, 3, 40)
    as_dicts = [{f"c{j}": row[j] for j in range(4)} for row in X]
    fitted = [tw.MulticlassPerceptron().fit(rows, y) for rows in (X, sparse.csr_matrix(X), as_dicts)]
    for other in fitted[1:]:
        np.testing.assert_allclose(fitted[0].coef_, other.coef_, atol=1e-12)
    np.testing.assert_array_equal(fitted[0].predict(X), fitted[2].predict(as_dicts))


def test_what_occurs_twice_in_a_sparse_row_is_added_up():
    twice = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    parts = (twice.indptr.astype(np.int64), twice.indices.astype(np.int64), twice.data, 2)
    rest = (np.array([0, 1], dtype=np.int32), 2, np.zeros(0), np.zeros((0, 0)))
    sparse_oracle = _core.LabelOracle.sparse(*parts, *rest)
    dense_oracle = _core.LabelOracle.dense(np.array([[3.0, 0.0], [0.0, 5.0]]), *rest)
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    for i in range(2):
        found = [oracle.kbest(weights, i, 2)[0] for oracle in (sparse_oracle, dense_oracle)]
        assert found[0][1:3] == found[1][1:3]
        np.testing.assert_array_equal(found[0][3], found[1][3])
        np.testing.assert_array_equal(found[0][4], found[1][4])


def test_dicts_may_bring_new_features_later():
    model = tw.MulticlassPerceptron(3)
    model.partial_fit([{"w": "dog"}, {"w": "run"}], ["N", "V"])
    before = model.predict([{"w": "dog"}]).tolist()
    model.partial_fit([{"w": "sun"}, {"w": "sit", "long": False}], ["N", "V"])
    assert model.coef_.shape == (2, 5)
    assert before == ["N"]
    assert model.predict([{"w": "sun"}, {"w": "sit"}]).tolist() == ["N", "V"]


def test_going_on_from_weights_is_one_long_run():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    settings = {"shuffle": False, "averaged": False}
    whole = tw.MulticlassPerceptron(4, **settings).fit(X, y)
    parts = tw.MulticlassPerceptron(2, **settings).partial_fit(X, y).partial_fit(X, y)
    warm = tw.MulticlassPerceptron(2, warm_start=True, **settings).fit(X, y).fit(X, y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-12)
    np.testing.assert_allclose(warm.coef_, whole.coef_, atol=1e-12)


def test_development_data_choose_the_pass():
    X, y = load_digits(return_X_y=True)
    X, X_dev, y, y_dev = train_test_split(X / 16, y, random_state=0)
    model = tw.MulticlassPerceptron(20, averaged=False, patience=3).fit(X, y, X_dev, y_dev)
    scores = [record["dev_score"] for record in model.history_]
    assert model.best_iteration_ == 1 + int(np.argmax(scores))
    assert model.score(X_dev, y_dev) == max(scores)
    assert model.n_iter_ == min(20, model.best_iteration_ + 3)


def test_an_interrupt_keeps_the_model():
    X, y = load_digits(return_X_y=True)

    class Interrupting(tw.Perceptron):
        def train(self, oracle, *, on_iteration=None, **rest):
            def stop(iteration):
                on_iteration(iteration)
                if iteration.number == 2:
                    raise KeyboardInterrupt

            return super().train(oracle, on_iteration=stop, **rest)

    with pytest.warns(ConvergenceWarning, match="interrupted after 2"):
        model = tw.MulticlassClassifier(Interrupting()).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("learner", learners.names())
def test_every_learner_learns_the_digits(learner):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    assert tw.MulticlassClassifier(learner).fit(X, y).score(X_test, y_test) > 0.93


@pytest.mark.parametrize("learner", learners.names())
def test_every_learner_learns_classes_that_share_weights(learner):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    related = {0: ["round"], 6: ["round"], 8: ["round"], 1: ["straight"], 7: ["straight"]}
    assert tw.MulticlassClassifier(learner, hierarchy=related).fit(X, y).score(X_test, y_test) > 0.92


def test_the_cost_of_a_mistake_steers_learners_that_look_at_it():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 1))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    dear = np.array([[0.0, 1.0], [20.0, 0.0]])  # to take a one for a zero
    plain, careful = (
        tw.MulticlassClassifier(tw.PassiveAggressive(C=0.01), cost=cost).fit(X, y) for cost in ("zero-one", dear)
    )
    assert careful.predict(X).mean() > plain.predict(X).mean() + 0.1


def test_a_search_reaches_the_parameters_of_the_learner():
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(tw.MulticlassClassifier("pa"), {"learner__C": [0.001, 0.1]}, cv=2).fit(X[:200], y[:200])
    assert search.best_params_["learner__C"] in (0.001, 0.1)


def test_a_copy_and_a_pickle_are_as_good_as_the_model():
    X, y = load_digits(return_X_y=True)
    model = tw.MulticlassPerceptron(3, hierarchy={0: ["round"], 8: ["round"]}).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epochs": 0}, "epochs must be"),
        ({"k": 0}, "k must be"),
        ({"hierarchy": {"b": ["x"]}}, "names none of the classes"),
        ({"hierarchy": {0: "x"}}, r"hierarchy\[0\] is 'x'"),
        ({"hierarchy": [1, 2]}, "expected a dict"),
        ({"hierarchy": {0: ["x"]}, "expansion": np.eye(2)}, "pass one of them"),
        ({"expansion": np.eye(3)}, r"expansion has the shape \(3, 3\); expected a row for each of the 2 classes"),
        ({"expansion": np.zeros((2, 0))}, "expansion has the shape"),
        ({"expansion": [[1.0, np.nan], [0.0, 1.0]]}, "expansion must hold finite numbers"),
        ({"expansion": lambda label: []}, "no class any group"),
        ({"expansion": lambda label: {"g": np.inf}}, r"expansion\(0\) has the share inf"),
        ({"expansion": lambda label: 5}, r"expansion\(0\) is 5"),
        ({"patience": 2}, "patience needs development data"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        tw.MulticlassPerceptron(**parameters).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("much", 'expected "zero-one"'),
        ([[0.0, -1.0], [1.0, 0.0]], "non-negative"),
        ([[1.0, 1.0], [1.0, 0.0]], "zero diagonal"),
        (np.zeros((3, 3)), r"shape \(2, 2\)"),
    ],
)
def test_costs_that_make_no_sense_are_refused(cost, message):
    with pytest.raises(InvalidInput, match=message):
        tw.MulticlassClassifier("pa", cost=cost).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize(
    ("cost", "message"),
    [([[0.0, -1.0], [1.0, 0.0]], "below 0"), ([[0.0, 1.0], [1.0, 0.5]], r"cost\[1\]\[1\] must be 0")],
)
def test_the_oracle_of_labels_refuses_such_costs_too(cost, message):
    with pytest.raises(ValueError, match=message):
        _core.LabelOracle.dense(np.eye(2), np.array([0, 1], dtype=np.int32), 2, np.zeros(0), np.array(cost))


def test_more_weights_than_can_be_numbered_are_refused():
    nothing = np.zeros(0, dtype=np.int64)
    with pytest.raises(ValueError, match=r"more weights than 2\*\*32"):
        _core.LabelOracle.sparse(
            np.zeros(1, dtype=np.int64),
            nothing,
            np.zeros(0),
            2**31,
            np.zeros(0, dtype=np.int32),
            3,
            np.zeros(0),
            np.zeros((0, 0)),
        )


def test_what_does_not_go_with_the_model_is_refused():
    model = tw.MulticlassPerceptron().partial_fit(np.eye(2), [0, 1])
    with pytest.raises(InvalidInput, match=r"y has the class .*2.*, which is not among the classes"):
        model.partial_fit(np.eye(2), [0, 2])
    with pytest.raises(InvalidInput, match="classes are"):
        model.partial_fit(np.eye(2), [0, 1], classes=[0, 1, 2])
    with pytest.raises(InvalidInput, match="the rows of X are dicts, but the model was trained on numbers"):
        model.partial_fit([{"a": 1}], [0])
    with pytest.raises(InvalidInput, match=r"X\[0\]\['a'\] is None"):
        tw.MulticlassPerceptron().fit([{"a": None}], [0])
    with pytest.raises(InvalidInput, match=r"X\[1\] is 3"):
        tw.MulticlassPerceptron().fit([{"a": 1}, 3], [0, 1])
    with pytest.raises(InvalidInput, match="learner is"):
        tw.MulticlassClassifier(tw.Perceptron).fit(np.eye(2), [0, 1])


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = tw.MulticlassPerceptron().fit(np.eye(2), ["a", "b"])
    with pytest.raises(InvalidInput):
        model.set_params(k=0).fit(np.eye(2), ["c", "d"])
    assert model.predict(np.eye(2)).tolist() == ["a", "b"]
