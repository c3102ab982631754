"""Zeros written over a model file that is mapped: answers are wrong, but they come."""

import subprocess
import sys

import pytest

import trelliswork as tw

ASK = """
import os, sys, warnings
import trelliswork as tw
path, text = sys.argv[1], [["w3", "w4", "new"]]
warnings.simplefilter("ignore")
tagger = tw.load(path)
tagger.predict(text)
with open(path, "r+b") as file:
    file.write(bytes(os.path.getsize(path)))
print(tagger.predict(text), len(tagger.predict_marginals(text * 2000)), len(tagger.weights()))
"""


@pytest.mark.parametrize("hash_bits", [None, 10])
def test_searches_in_an_overwritten_model_end(tmp_path, hash_bits):
    X = [[f"w{i}" for i in range(j, j + 5)] for j in range(50)]
    tw.SequenceLabeler("perceptron", hash_bits=hash_bits).fit(X, [list("ABABA")] * 50).save(tmp_path / "m.tw")
    run = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path / "m.tw")], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("[['")
