"""Losses and answers about batches of bracketings: against every tree, one by one, and against Bracketing."""

import math

import numpy as np
import pytest

import trelliswork as tw
from reference.bracketings import every_bracketing
from reference.frequencies import assert_frequencies
from trelliswork.errors import InvalidInput, Unsatisfiable

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
from trelliswork.torch import BracketingCRF  # noqa: E402

LENGTHS, SHORT = [3, 0, 1, 4, 2], [3, 0, 1]
LOSSES = ("crf", "softmax-margin", "hinge", "perceptron")
CLOSE = dict(rtol=1e-9, atol=1e-9)


def batch(n_labels, lengths=LENGTHS, dtype=torch.float64):
    """Scores of a padded batch with rubbish where there are no spans, and the mask."""
    n = max(lengths)
    spans = torch.randn(len(lengths), n, n + 1, n_labels, generator=torch.Generator().manual_seed(0), dtype=dtype)
    column = torch.arange(n + 1)
    unused = (column <= torch.arange(n)[:, None]) | (column > torch.tensor(lengths)[:, None, None])
    spans[unused] = torch.nan
    return spans, torch.arange(n) < torch.tensor(lengths)[:, None]


def golds(lengths, n_labels, unknown=0.0):
    """A tree for each sentence, some of its labels unknown."""
    generator, out = np.random.default_rng(2), []
    for n in lengths:
        trees, _ = every_bracketing(n, n_labels)
        rows = trees[generator.integers(len(trees))]
        out.append([(i, j, -100 if generator.random() < unknown else label) for i, j, label in rows])
    return out


def by_enumeration(loss, spans, gold, lengths):
    """The losses of a batch from all trees."""
    join = max if loss in ("hinge", "perceptron") else np.logaddexp.reduce
    out = []
    for i, n in enumerate(lengths):
        known = {(a, b): label for a, b, label in gold[i]}
        totals, right = [], []
        for rows in every_bracketing(n, spans.shape[3])[0]:
            score = sum(spans[i, a, b, label].item() for a, b, label in rows)
            agreeing = sum((a, b) in known and known[a, b] in (label, -100) for a, b, label in rows)
            cost = len(rows) + len(known) - 2 * agreeing
            if cost == 0:
                right.append(score)
            totals.append(score + (cost if loss in ("hinge", "softmax-margin") else 0))
        out.append(join(totals) - join(right))
    return np.array(out)


@pytest.mark.parametrize("n_labels", [1, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_those_of_all_trees(loss, n_labels):
    lengths = LENGTHS if n_labels == 1 else [3, 0, 1, 2]
    spans, mask = batch(n_labels, lengths)
    for unknown in (0.0, 0.5):
        gold = golds(lengths, n_labels, unknown)
        expected = by_enumeration(loss, spans, gold, lengths)
        for engine in ("auto", "torch"):
            crf = BracketingCRF(n_labels, loss=loss, engine=engine)
            np.testing.assert_allclose(crf(spans, gold, mask, reduction="none"), expected, **CLOSE)
        np.testing.assert_allclose(crf(spans, gold, mask), expected.mean(), **CLOSE)
        np.testing.assert_allclose(crf(spans, gold, mask, reduction="sum"), expected.sum(), **CLOSE)
        token_mean = expected.sum() / sum(lengths)
        np.testing.assert_allclose(crf(spans, gold, mask, reduction="token_mean"), token_mean, **CLOSE)


def test_answers_are_those_of_bracketing():
    spans, mask = batch(2)
    crf = BracketingCRF(2)
    singles = [tw.Bracketing(spans[i, :n, : n + 1].numpy()) for i, n in enumerate(LENGTHS)]
    expected = np.array([one.log_partition() for one in singles])
    np.testing.assert_allclose(crf.log_partition(spans, mask), expected, **CLOSE)
    padded = crf.marginals(spans, mask, as_tensor=True)
    for i, (one, found) in enumerate(zip(singles, crf.marginals(spans, mask), strict=True)):
        n = LENGTHS[i]
        np.testing.assert_allclose(found, one.marginals(), **CLOSE)
        np.testing.assert_array_equal(padded[i, :n, : n + 1], found)
        assert padded[i, n:].abs().sum() == padded[i, :, n + 1 :].abs().sum() == 0
    assert crf.decode(spans, mask) == [one.argmax().spans for one in singles]
    for found, one in zip(crf.kbest(spans, 4, mask), singles, strict=True):
        assert [rows for rows, _ in found] == [best.spans for best in one.kbest(4)]
        np.testing.assert_allclose([score for _, score in found], [best.score for best in one.kbest(4)], **CLOSE)


def test_answers_as_tensors_are_those_as_lists():
    spans, mask = batch(2)
    crf = BracketingCRF(2)

    def rows(tensor):
        return [tuple(row) for row in tensor.tolist() if row[0] != -100]

    found = crf.decode(spans, mask, as_tensor=True)
    assert found.shape == (len(LENGTHS), 2 * max(LENGTHS) - 1, 3)
    assert [rows(one) for one in found] == crf.decode(spans, mask)
    assert crf(spans, found, mask).item() == crf(spans, crf.decode(spans, mask), mask).item()
    found, totals = crf.kbest(spans, 3, mask, as_tensor=True)
    for i, trees in enumerate(crf.kbest(spans, 3, mask)):
        assert [(rows(found[i, j]), totals[i, j].item()) for j in range(len(trees))] == trees
        assert (totals[i, len(trees) :] == -torch.inf).all()
    torch.manual_seed(3)
    found = crf.sample(spans, 2, mask, as_tensor=True)
    torch.manual_seed(3)
    assert [[rows(tree) for tree in trees] for trees in found] == crf.sample(spans, 2, mask)


def test_samples_have_the_frequencies_of_trees():
    spans, _ = batch(1, [3])
    crf = BracketingCRF(1)
    drawn = [tuple(rows) for rows in crf.sample(spans, 4000, generator=torch.Generator().manual_seed(0))[0]]
    trees, _ = every_bracketing(3, 1)
    scores = np.array([sum(spans[0, i, j, label].item() for i, j, label in rows) for rows in trees])
    probabilities = np.exp(scores - crf.log_partition(spans).item())
    assert_frequencies([drawn.count(rows) for rows in trees], probabilities, 4000)


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_the_number_of_trees_is_that_of_schroeder(engine):
    for n, count in enumerate((1, 1, 3, 11, 45, 197), 1):
        spans = torch.zeros(1, n, n + 1, 1, dtype=torch.float64)
        if n > 1:
            spans[:, torch.arange(n), torch.arange(1, n + 1)] = -torch.inf  # words are bare
        assert BracketingCRF(1, engine=engine).log_partition(spans).exp().item() == pytest.approx(count, rel=1e-9)


@pytest.mark.parametrize("loss", ["softmax-margin", "hinge"])
def test_gradients_are_those_of_differences(loss):
    spans, mask = batch(2, SHORT)
    given = torch.nan_to_num(spans, 0.0).requires_grad_()
    gold = golds(SHORT, 2, 0.3)
    for engine in ("auto", "torch"):
        crf = BracketingCRF(2, loss=loss, engine=engine)

        def value(scores, crf=crf):
            return crf(scores, gold, mask, reduction="none")

        assert torch.autograd.gradcheck(value, given)
        assert torch.autograd.gradgradcheck(value, given, fast_mode=True)


def test_forbidden_spans_have_no_gradient():
    spans, mask = batch(2)
    spans[torch.rand(spans.shape, generator=torch.Generator().manual_seed(1)) < 0.3] = -torch.inf
    gold = [[(0, n, 0)] if n else [] for n in LENGTHS]
    for i, n in enumerate(LENGTHS):
        spans[i, 0, n, 0] = 0.5
    found = []
    for engine in ("auto", "torch"):
        given = spans.clone().requires_grad_()
        loss = BracketingCRF(2, engine=engine)(given, gold, mask, reduction="sum")
        loss.backward()
        assert not given.grad.isnan().any()
        assert (given.grad[spans == -torch.inf] == 0).all()
        found.append((loss.item(), given.grad))
    np.testing.assert_allclose(found[0][0], found[1][0], **CLOSE)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-7, atol=1e-9)


def test_single_precision_is_computed_in_double():
    spans, mask = batch(3, [20, 5])
    crf, gold = BracketingCRF(3), [[(0, 20, 0), (3, 7, 1)], [(0, 5, 2)]]
    wide, narrow = spans.float().double().requires_grad_(), spans.float().requires_grad_()
    crf(wide, gold, mask).backward()
    loss = crf(narrow, gold, mask)
    loss.backward()
    assert loss.dtype == narrow.grad.dtype == torch.float32
    np.testing.assert_array_equal(narrow.grad, wide.grad.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert crf(spans.bfloat16(), gold, mask).dtype == torch.float32


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of its compilers
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.parametrize("loss", ["crf", "hinge"])
def test_compiled_code_has_no_break_and_the_same_results(loss, backend):
    spans, mask = batch(2, dtype=torch.float32)
    spans = torch.nan_to_num(spans, 0.0)
    crf = BracketingCRF(2, loss=loss)
    gold = crf.decode(torch.randn_like(spans), mask, as_tensor=True)

    def step(scores):
        return crf(2 * scores, gold, mask)

    given, again = spans.clone().requires_grad_(), spans.clone().requires_grad_()
    torch._dynamo.reset()
    told = torch._dynamo.explain(step)(given)
    assert (told.graph_count, told.graph_break_count) == (1, 0)
    compiled, plain = torch.compile(step, fullgraph=True, backend=backend)(given), step(again)
    compiled.backward()
    plain.backward()
    np.testing.assert_allclose(compiled.item(), plain.item(), rtol=1e-6)
    np.testing.assert_allclose(given.grad, again.grad, rtol=1e-6, atol=1e-7)


def test_exported_programs_need_no_core():
    spans, gold = torch.randn(2, 3, 4, 2), torch.tensor([[[0, 3, 0], [1, 3, 1]], [[0, 3, 1], [-100, -100, -100]]])
    crf = BracketingCRF(2)
    exported = torch.export.export(crf, (spans, gold))
    assert not any("trelliswork" in str(node.target) for node in exported.graph.nodes)
    np.testing.assert_allclose(exported.module()(spans, gold).item(), crf(spans, gold).item(), rtol=1e-5)


def test_batches_without_sentences_or_words():
    for shape in ((0, 3, 4, 1), (2, 0, 1, 1)):
        spans, gold = torch.zeros(shape, requires_grad=True), [[]] * shape[0]
        for engine in ("auto", "torch"):
            crf = BracketingCRF(1, engine=engine)
            assert crf(spans, gold).item() == 0.0
            assert crf(spans, gold, reduction="none").shape == shape[:1]
            crf(spans, gold).backward()
        assert crf.decode(spans) == gold


ZEROS = torch.zeros(2, 3, 4, 2)


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "sentence 1: gold is no tree: the whole sentence must be a constituent"),
        ([(0, 3, 0), (0, 2, 0), (1, 3, 0)], "sentence 1: gold is no tree: two constituents cross"),
        ([(0, 3, 0), (0, 3, 1)], "sentence 1: gold is no tree: a span has two labels"),
        ([(0, 4, 0)], r"sentence 1: gold has the constituent \(0, 4, 0\); expected 0 <= begin < end <= 3"),
        ([(0, 3, 2)], r"sentence 1: gold has the constituent \(0, 3, 2\); expected a label from 0 to 1"),
        ([(0, 3)], r"gold\[1\] has \(0, 3\); expected \(begin, end, label\)"),
        ([(0, 3, 0.5)], r"gold\[1\] has"),
    ],
)
def test_gold_that_is_no_tree_is_refused(wrong, message, engine):
    for loss in ("crf", "hinge"):
        with pytest.raises(InvalidInput, match=message):
            BracketingCRF(2, loss=loss, engine=engine)(ZEROS, [[(0, 3, 0)], wrong])


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_scores_that_are_none_are_refused(engine):
    crf, gold = BracketingCRF(2, engine=engine), [[(0, 3, 0)], [(0, 3, 0)]]
    for value in (math.nan, math.inf):
        spans = ZEROS.clone()
        spans[1, 0, 2, 1] = value
        with pytest.raises(InvalidInput, match=r"sentence 1: scores\[1, 0, 2, 1\] is (nan|inf)"):
            crf(spans, gold)
    spans = ZEROS.clone()
    spans[1, 0, 3] = -torch.inf
    for answer in (crf.log_partition, crf.marginals, crf.decode, crf.sample):
        with pytest.raises(Unsatisfiable, match=r"sentence 1: every (tree|bracketing) is forbidden"):
            answer(spans)
    spans = ZEROS.clone()
    spans[0, 0, 3, 0] = -torch.inf
    with pytest.raises(InvalidInput, match="sentence 0: gold is forbidden"):
        crf(spans, gold)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BracketingCRF(0), "n_labels"),
        (lambda: BracketingCRF(None), "n_labels"),
        (lambda: BracketingCRF(1, loss="mse"), "loss must be one of"),
        (lambda: BracketingCRF(2).decode(torch.zeros(2, 3, 3, 2)), r"\(B, n, n \+ 1, 2\).*pad\(scores"),
        (lambda: BracketingCRF(1).decode(ZEROS), r"\(B, n, n \+ 1, 1\)"),
        (lambda: BracketingCRF(2)(ZEROS, [[(0, 3, 0)]]), "for each of 2 sentences"),
        (lambda: BracketingCRF(2)(ZEROS, torch.zeros(2, 1, 2, dtype=torch.int64)), "gold must have shape"),
        (lambda: BracketingCRF(2).decode(ZEROS, torch.tensor([[1, 1, 1], [0, 1, 1]])), "sentence 1: mask leaves out"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
