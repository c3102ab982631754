"""Spark's TorchDistributor in local mode: it starts the processes that `trelliswork.distributed` trains in."""

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

import trelliswork as tw
from shard_corpora import cut, recipes, same_model
from trelliswork import distributed

for package in ("pyspark.sql", "torch"):
    pytest.importorskip(package, reason=f"{package} is not installed (the extras `spark` and `torch`)")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17, which is not installed", allow_module_level=True)

SCRIPT = """
import sys
from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import SparkSession

def train(n_shards, path):
    import trelliswork as tw
    from trelliswork import distributed
    corpus = tw.corpora.ingredients()
    X, y = list(corpus.X_train[:240]), list(corpus.y_train[:240])
    read = lambda i: (distributed.slice_of(X, i, n_shards), distributed.slice_of(y, i, n_shards))
    tagger = tw.SequenceLabeler(tw.CRF(solver="lbfgs", max_iter=8))
    with distributed.connect(timeout=120) as group:
        tagger = distributed.fit(tagger, read, n_shards, group=group)
        if group.rank == 0:  # what is returned is that of whoever ends last
            tagger.save(path)
        return group.size

session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
size = TorchDistributor(num_processes=2, local_mode=True, use_gpu=False).run(train, 4, sys.argv[1])
assert size == 2, size
session.stop()
"""


@pytest.mark.filterwarnings("ignore::trelliswork.ConvergenceWarning")
def test_the_model_is_that_of_one_process():
    quiet = {"PYSPARK_PYTHON": sys.executable, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.tw")
        done = subprocess.run(  # of its own: the function must not be one of a module that workers lack
            [sys.executable, "-c", SCRIPT, path],
            env={**os.environ, **quiet},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        model = tw.load(path, mmap=False)
    X, y = recipes(240)
    with distributed.connect() as group:
        alone = tw.SequenceLabeler(tw.CRF(solver="lbfgs", max_iter=8))
        alone = distributed.fit(alone, cut(X, y, 4), 4, group=group)
    assert same_model(model, alone)
