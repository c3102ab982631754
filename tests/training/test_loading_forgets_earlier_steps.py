"""Working weights that are loaded again remember nothing: a resumed run and an unbroken one take the same steps."""

import numpy as np

import trelliswork as tw
from trelliswork import _core
from trelliswork.labels.encoded import encoded


def test_loading_again_forgets_the_steps_before():
    corpus = tw.corpora.ingredients()
    X, gold = corpus.X_train[:60], encoded(corpus.y_train[:60])
    examples = _core.Examples()
    examples.add(_core.ColumnSource(_core.columns_from_lists(X), tw.Templates.words().extractor()), gold.codes)
    oracle = _core.ChainOracle(examples, len(gold.names), np.arange(len(gold.names), dtype=np.int32))
    start = np.random.default_rng(0).normal(scale=0.1, size=oracle.n_weights)
    working = oracle.working()
    ends = []
    for _ in range(2):
        working.load(start)
        for begin in range(0, 60, 4):
            working.descend(np.arange(begin, begin + 4, dtype=np.uint32), 0.05)
        ends.append(working.store())
    np.testing.assert_array_equal(ends[0], ends[1])
