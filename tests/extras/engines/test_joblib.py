"""Grids of scikit-learn by the back ends that joblib has: the same scores for all, and estimators as they are."""

import os
import shutil
import sys

import joblib
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import trelliswork as tw

GRID = {"learner": ["pa", tw.CRF(l2=1.0)], "min_count": [1, 2]}


@pytest.fixture(scope="module")
def corpus():
    corpus = tw.corpora.ingredients()
    return list(corpus.X_train)[:60], list(corpus.y_train)[:60]


def scores(corpus, n_jobs=None):
    grid = GridSearchCV(tw.SequenceLabeler(random_state=0), GRID, cv=2, n_jobs=n_jobs).fit(*corpus)
    assert grid.best_estimator_.predict(corpus[0]) == grid.predict(corpus[0])
    return grid.cv_results_["mean_test_score"].tolist()


@pytest.fixture(scope="module")
def expected(corpus):
    found = scores(corpus)
    assert len(set(found)) > 1
    return found


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky", "multiprocessing"])
def test_own_back_ends(corpus, expected, backend):
    with joblib.parallel_config(backend=backend):
        assert scores(corpus, n_jobs=2) == expected
        assert len(cross_val_score(tw.HMM(), *corpus, cv=2, n_jobs=2)) == 2


@pytest.mark.filterwarnings("ignore")
def test_dask(corpus, expected):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert scores(corpus, n_jobs=2) == expected


@pytest.mark.filterwarnings("ignore")
def test_ray(corpus, expected):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        with joblib.parallel_config(backend="ray"):
            assert scores(corpus, n_jobs=2) == expected
    finally:
        ray.shutdown()


@pytest.mark.filterwarnings("ignore")
def test_spark(corpus, expected, monkeypatch):
    joblibspark = pytest.importorskip("joblibspark", reason="joblibspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17, which is not installed")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    joblibspark.register_spark()
    try:
        with joblib.parallel_config(backend="spark"):
            assert scores(corpus, n_jobs=2) == expected
    finally:
        session.stop()
