"""The CRF on chains of a published corpus: the optimum that CRFsuite also heads for, threads, and a run cut in two."""

from pathlib import Path

import numpy as np
import pytest

import trelliswork as tw
from reference.published import located
from trelliswork import _core
from trelliswork.learners.crf import CRF

ROOT = Path(__file__).resolve().parents[2]
MINIMUM = 13139.2709  # of l2=2, to a tolerance of 1e-9; 100 iterations of CRFsuite with c2=1 end at 13156.5


@pytest.fixture(scope="module")
def oracle():
    tokens, labels = tw.corpora.read_table(located("conll2000/train.txt.gz"))
    templates = tw.Templates.load(ROOT / "benchmarks" / "templates" / "conll2000.tpl")
    examples = _core.Examples(keep_names=False)
    examples.add(_core.ColumnSource(tokens.columns, templates.extractor()), labels.codes, n_jobs=2)
    return _core.ChainOracle(examples, len(labels.names), np.arange(len(labels.names), dtype=np.int32))


@pytest.fixture(scope="module")
def run(oracle):
    iterations = []
    trained = CRF(l2=2.0).train(
        oracle, n_jobs=2, on_iteration=lambda i: iterations.append((i, i.state() if i.number == 9 else None)) and None
    )
    return trained, iterations


def test_default_training_ends_within_a_thousandth_of_the_minimum(run):
    trained, iterations = run
    assert trained.converged
    assert MINIMUM * (1 - 1e-5) < trained.objective < MINIMUM * 1.001
    assert iterations[-1][0].facts["passes"] < 35


def test_the_same_bits_with_one_thread(oracle, run):
    assert CRF(l2=2.0).train(oracle, n_jobs=1).weights.tobytes() == run[0].weights.tobytes()


def test_a_run_cut_in_two_ends_with_the_same_bits(oracle, run):
    state = run[1][8][1]
    assert CRF(l2=2.0).train(oracle, n_jobs=2, state=state).weights.tobytes() == run[0].weights.tobytes()
