"""Working weights begin anew when weights are loaded into them, whatever they were stepped through before."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import _core
from trelliswork.corpora.tables import TokenTable


@pytest.fixture(scope="module")
def oracle():
    """Lines of recipes: frequent attributes, whose rows have room for labels that they have no weights with."""
    corpus = tw.corpora.ingredients()
    names = sorted({label for labels in corpus.y_train for label in labels})
    codes = np.array([names.index(label) for labels in corpus.y_train[:300] for label in labels], dtype=np.int32)
    examples = _core.Examples()
    table = TokenTable.from_lists(corpus.X_train[:300])
    examples.add(_core.ColumnSource(table.columns, tw.Templates.words().extractor()), codes)
    return _core.ChainOracle(examples, len(names), np.arange(len(names), dtype=np.int32))


def stepped(oracle, working):
    order = np.arange(oracle.n_examples, dtype=np.uint32)
    loss = sum(working.descend(order[i : i + 4], 0.05) for i in range(0, len(order), 4))
    return loss, working.store()


def test_a_second_pass_from_the_same_weights_is_the_same_pass(oracle):
    assert oracle.fast
    working = oracle.working()
    passes = []
    for _ in range(2):
        working.load(np.zeros(oracle.n_weights))
        passes.append(stepped(oracle, working))
    assert passes[0][0] == passes[1][0]
    np.testing.assert_array_equal(passes[0][1], passes[1][1])


def test_what_is_stored_is_all_that_scores_depend_on(oracle):
    working = oracle.working()
    working.load(np.zeros(oracle.n_weights))
    _, weights = stepped(oracle, working)
    fresh = oracle.working()
    fresh.load(weights)
    some = np.arange(40, dtype=np.uint32)
    assert working.descend(some, 0.0) == pytest.approx(fresh.descend(some, 0.0), rel=1e-5)
