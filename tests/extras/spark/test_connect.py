"""Spark Connect: the driver is a client without a context, and models go to the workers as artifacts."""

import os
import shutil
import subprocess
import sys

import pytest

for package in ("pyspark.sql", "pyarrow", "pandas", "grpc", "google.rpc"):
    pytest.importorskip(package, reason=f"{package} is not installed (pip install pyspark[connect])")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17, which is not installed", allow_module_level=True)

SCRIPT = """
from pyspark.sql import SparkSession
import trelliswork as tw
from trelliswork import spark

session = SparkSession.builder.remote("local[2]").getOrCreate()
corpus = tw.corpora.ingredients()
tagger = tw.SequenceLabeler("pa").fit(corpus.X_train, corpus.y_train)
rows = [(i, list(x), list(y)) for i, (x, y) in enumerate(zip(corpus.X_test, corpus.y_test))]
frame = session.createDataFrame(rows, "id int, words array<string>, gold array<string>").repartition(3)
tagged = spark.tag(tagger, frame, "words")
guesses = tagger.predict(corpus.X_test)
assert [row.labels for row in sorted(tagged.collect())] == guesses
scores = spark.evaluate(spark.tag(tagger, frame, "words"))  # the same model: not sent again
assert scores.span == tw.evaluation.span_scores(corpus.y_test, guesses)
session.stop()
print("done")
"""


def test_answers_are_those_of_one_process():
    done = subprocess.run(  # a process has one kind of session
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.stdout.strip().endswith("done"), done.stderr[-3000:]
