"""Losses and answers about batches of dependency trees: against every tree, one by one, and against DependencyTree."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

import trelliswork as tw
from reference import trees as reference
from reference.frequencies import assert_frequencies
from trelliswork.errors import InvalidInput, Unsatisfiable

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
from trelliswork.torch import DependencyTreeCRF  # noqa: E402

KINDS = [(projective, single) for projective in (True, False) for single in (True, False)]
LENGTHS, SHORT = [3, 0, 1, 4, 2], [3, 0, 1]
LOSSES = ("crf", "softmax-margin", "hinge", "perceptron")
CLOSE = dict(rtol=1e-9, atol=1e-9)


def batch(n_labels=None, lengths=LENGTHS, seed=0, dtype=torch.float64, forbidden=0.0):
    """Scores of a padded batch with rubbish at padding, and the mask."""
    generator = torch.Generator().manual_seed(seed)
    n = max(lengths)
    shape = (len(lengths), n + 1, n + 1)
    arcs = torch.randn(shape, generator=generator, dtype=dtype)
    arcs[torch.rand(shape, generator=generator) < forbidden] = -torch.inf
    labels = None if n_labels is None else torch.randn((*shape, n_labels), generator=generator, dtype=dtype)
    mask = torch.arange(n) < torch.tensor(lengths)[:, None]
    for i, length in enumerate(lengths):
        arcs[i, length + 1 :], arcs[i, :, length + 1 :] = torch.nan, torch.nan
    arcs[:, :, 0] = torch.nan
    arcs.diagonal(0, 1, 2).fill_(torch.inf)
    return (arcs if labels is None else (arcs, labels)), mask


def table_of(scores):
    arcs, labels = scores if isinstance(scores, tuple) else (scores, None)
    return arcs[..., None] if labels is None else arcs[..., None] + labels


def every_tree(table, n, projective, single):
    """(heads, labels, score) of every tree of a sentence."""
    for heads in reference.trees(reference.all_heads(n), single, projective):
        for labels in itertools.product(range(table.shape[-1]), repeat=n):
            parts = [table[h, m, label] for m, (h, label) in enumerate(zip(heads, labels, strict=True), 1)]
            yield heads, labels, sum(parts)


def golds(lengths, projective, single, n_labels, unknown=0.0, seed=1):
    """A tree for each sentence, some of it unknown, with rubbish at padding."""
    generator = np.random.default_rng(seed)
    n = max(lengths)
    heads, labels = np.full((len(lengths), n), 77), np.full((len(lengths), n), -5)
    for i, length in enumerate(lengths):
        options = reference.trees(reference.all_heads(length), single, projective)
        heads[i, :length] = options[generator.integers(len(options))]
        labels[i, :length] = generator.integers(n_labels or 1, size=length)
    for numbers in (heads, labels):
        numbers[generator.random(numbers.shape) < unknown] = -100
    tensors = torch.from_numpy(heads), torch.from_numpy(labels)
    return tensors[0] if n_labels is None else tensors


def by_enumeration(loss, lengths, scores, gold, projective, single):
    """The losses of a batch from all trees."""
    table = table_of(scores).numpy()
    heads, labels = (one.tolist() for one in (gold if isinstance(gold, tuple) else (gold, torch.full_like(gold, -100))))
    join = max if loss in ("hinge", "perceptron") else np.logaddexp.reduce
    out = []
    for i, n in enumerate(lengths):
        totals, right = [], []
        for own, codes, score in every_tree(table[i], n, projective, single):
            wrong = sum(
                heads[i][m] not in (h, -100) or labels[i][m] not in (c, -100)
                for m, (h, c) in enumerate(zip(own, codes, strict=True))
            )
            if wrong == 0:
                right.append(score)
            totals.append(score + (wrong if loss in ("hinge", "softmax-margin") else 0))
        out.append(join(totals) - join(right))
    return np.array(out)


@pytest.mark.parametrize("n_labels", [None, 1, 2])
@pytest.mark.parametrize(("projective", "single"), KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_those_of_all_trees(loss, projective, single, n_labels):
    lengths = LENGTHS if n_labels != 2 else SHORT
    scores, mask = batch(n_labels, lengths)
    for unknown in (0.0, 0.5):
        gold = golds(lengths, projective, single, n_labels, unknown)
        expected = by_enumeration(loss, lengths, scores, gold, projective, single)
        for engine in ("auto", "torch"):
            crf = DependencyTreeCRF(projective, single, n_labels, loss=loss, engine=engine)
            np.testing.assert_allclose(crf(scores, gold, mask, reduction="none"), expected, **CLOSE)
        np.testing.assert_allclose(crf(scores, gold, mask), expected.mean(), **CLOSE)
        np.testing.assert_allclose(crf(scores, gold, mask, reduction="sum"), expected.sum(), **CLOSE)
        token_mean = expected.sum() / sum(lengths)
        np.testing.assert_allclose(crf(scores, gold, mask, reduction="token_mean"), token_mean, **CLOSE)


@pytest.mark.parametrize("n_labels", [None, 2])
@pytest.mark.parametrize(("projective", "single"), KINDS)
def test_answers_are_those_of_dependency_tree(projective, single, n_labels):
    scores, mask = batch(n_labels)
    crf = DependencyTreeCRF(projective, single, n_labels)
    single_trees = []
    for i, n in enumerate(LENGTHS):
        corner = (i, slice(n + 1), slice(n + 1))
        arcs, labels = (scores[0][corner], scores[1][corner]) if n_labels else (scores[corner], None)
        single_trees.append(tw.DependencyTree(arcs.numpy(), labels, projective, single))
    expected = np.array([tree.log_partition() for tree in single_trees])
    np.testing.assert_allclose(crf.log_partition(scores, mask), expected, **CLOSE)
    padded, drawn = crf.marginals(scores, mask, as_tensor=True), crf.sample(scores, 3, mask)
    for i, (tree, found) in enumerate(zip(single_trees, crf.marginals(scores, mask), strict=True)):
        n = LENGTHS[i]
        wanted = tree.marginals() if n_labels is None else tree.label_marginals()
        np.testing.assert_allclose(found, wanted, **CLOSE)
        np.testing.assert_array_equal(padded[i, : n + 1, : n + 1], found)
        assert padded[i, n + 1 :].abs().sum() == padded[i, :, n + 1 :].abs().sum() == 0
        assert len(drawn[i]) == 3

    def listed(tree):
        return tree.heads.tolist() if n_labels is None else (tree.heads.tolist(), tree.labels.tolist())

    assert crf.decode(scores, mask) == [listed(tree.argmax()) for tree in single_trees]
    for found, tree in zip(crf.kbest(scores, 4, mask), single_trees, strict=True):
        assert [output for output, _ in found] == [listed(best) for best in tree.kbest(4)]
        np.testing.assert_allclose([score for _, score in found], [best.score for best in tree.kbest(4)], **CLOSE)


@pytest.mark.parametrize("n_labels", [None, 2])
def test_answers_as_tensors_are_those_as_lists(n_labels):
    scores, mask = batch(n_labels)
    crf = DependencyTreeCRF(n_labels=n_labels)

    def rows(tensors, *index):
        numbers = [one[index].tolist() for one in (tensors if n_labels else (tensors,))]
        assert all(number == -100 for row in numbers for number in row[LENGTHS[index[0]] :])
        shown = tuple(row[: LENGTHS[index[0]]] for row in numbers)
        return shown if n_labels else shown[0]

    tensors = crf.decode(scores, mask, as_tensor=True)
    assert [rows(tensors, i) for i in range(len(LENGTHS))] == crf.decode(scores, mask)
    assert crf(scores, tensors, mask).item() >= 0  # what was decoded can be gold
    tensors, totals = crf.kbest(scores, 3, mask, as_tensor=True)
    for i, found in enumerate(crf.kbest(scores, 3, mask)):
        for j, (output, score) in enumerate(found):
            assert rows(tensors, i, j) == output
            assert totals[i, j].item() == score
        assert (totals[i, len(found) :] == -torch.inf).all()
    torch.manual_seed(3)
    tensors = crf.sample(scores, 2, mask, as_tensor=True)
    torch.manual_seed(3)
    drawn = crf.sample(scores, 2, mask)
    assert [[rows(tensors, i, j) for j in range(2)] for i in range(len(LENGTHS))] == drawn
    generator = torch.Generator().manual_seed(3)
    assert crf.sample(scores, 2, mask, generator=generator) == drawn


@pytest.mark.parametrize(("projective", "single"), KINDS)
def test_samples_have_the_frequencies_of_trees(projective, single):
    scores, _ = batch(lengths=[3])
    crf = DependencyTreeCRF(projective, single)
    drawn = [tuple(heads) for heads in crf.sample(scores, 4000, generator=torch.Generator().manual_seed(0))[0]]
    found = {heads: score for heads, _, score in every_tree(table_of(scores)[0].numpy(), 3, projective, single)}
    probabilities = np.exp(np.array(list(found.values())) - crf.log_partition(scores).item())
    assert_frequencies([drawn.count(heads) for heads in found], probabilities, 4000)


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize(("projective", "single"), KINDS)
def test_the_number_of_trees(projective, single, engine):
    for n in range(1, 8):
        counts = {
            (True, True): math.comb(3 * n - 2, n - 1) // n,
            (True, False): math.comb(3 * n, n) // (2 * n + 1),
            (False, True): n ** (n - 1),
            (False, False): (n + 1) ** (n - 1),
        }
        crf = DependencyTreeCRF(projective, single, engine=engine)
        total = crf.log_partition(torch.zeros(1, n + 1, n + 1, dtype=torch.float64))
        assert total.exp().item() == pytest.approx(counts[projective, single], rel=1e-9)


@pytest.mark.parametrize("n_labels", [None, 2])
@pytest.mark.parametrize(("projective", "single"), KINDS)
@pytest.mark.parametrize("loss", ["softmax-margin", "hinge"])
def test_gradients_are_those_of_differences(loss, projective, single, n_labels):
    scores, mask = batch(n_labels, SHORT)
    tensors = [torch.nan_to_num(one, 0.0, 0.0, 0.0) for one in (scores if n_labels else (scores,))]
    given = tuple(one.requires_grad_() for one in tensors)
    gold = golds(SHORT, projective, single, n_labels, unknown=0.3)
    for engine in ("auto", "torch"):
        crf = DependencyTreeCRF(projective, single, n_labels, loss=loss, engine=engine)

        def value(*parts, crf=crf):
            return crf(parts if n_labels else parts[0], gold, mask, reduction="none")

        assert torch.autograd.gradcheck(value, given)
        assert torch.autograd.gradgradcheck(value, given, fast_mode=True)


@pytest.mark.parametrize(("projective", "single"), KINDS)
def test_forbidden_arcs_have_no_gradient_and_no_probability(projective, single):
    scores, mask = batch(forbidden=0.2, seed=5)
    scores[:, 0, 1], scores[:, 1, 2:] = 0.5, 0.25  # a tree there is
    for i, length in enumerate(LENGTHS):
        scores[i, length + 1 :], scores[i, :, length + 1 :] = torch.nan, torch.nan
    scores.diagonal(0, 1, 2).fill_(torch.nan)
    gold = torch.tensor([[0, 1, 1, 1]] * len(LENGTHS))
    found = []
    for engine in ("auto", "torch"):
        given = scores.clone().requires_grad_()
        loss = DependencyTreeCRF(projective, single, engine=engine)(given, gold, mask, reduction="sum")
        loss.backward()
        assert not given.grad.isnan().any()
        assert (given.grad[scores == -torch.inf] == 0).all()
        found.append((loss.item(), given.grad))
    np.testing.assert_allclose(found[0][0], found[1][0], **CLOSE)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("projective", [True, False])
def test_derivatives_of_marginals(projective):
    scores, mask = batch(lengths=SHORT)
    given = torch.nan_to_num(scores, 0.0, 0.0, 0.0).requires_grad_()
    for engine in ("auto", "torch"):
        crf = DependencyTreeCRF(projective, engine=engine)
        assert torch.autograd.gradcheck(lambda arcs, crf=crf: crf.marginals(arcs, mask, as_tensor=True), given)


@pytest.mark.parametrize(("projective", "single"), KINDS)
def test_single_precision_is_computed_in_double(projective, single):
    scores, mask = batch(lengths=[40, 7])
    crf, gold = DependencyTreeCRF(projective, single), torch.arange(40).repeat(2, 1)
    wide = scores.float().double().requires_grad_()
    narrow = scores.float().requires_grad_()
    crf(wide, gold, mask).backward()
    loss = crf(narrow, gold, mask)
    loss.backward()
    assert loss.dtype == narrow.grad.dtype == torch.float32
    np.testing.assert_array_equal(narrow.grad, wide.grad.float())


def test_half_precision_and_autocast_compute_in_single():
    scores, mask = batch()
    gold = golds(LENGTHS, True, True, None)
    for engine in ("auto", "torch"):
        crf = DependencyTreeCRF(engine=engine)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = crf(scores.bfloat16().requires_grad_(), gold, mask)
        assert loss.dtype == torch.float32
        np.testing.assert_allclose(loss.item(), crf(scores.bfloat16().float(), gold, mask).item(), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of its compilers
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_labels", [None, 2])
@pytest.mark.parametrize("loss", ["crf", "hinge"])
def test_compiled_code_has_no_break_and_the_same_results(loss, n_labels, backend):
    scores, mask = batch(n_labels, dtype=torch.float32)
    tensors = [torch.nan_to_num(one, 0.0, 0.0, 0.0) for one in (scores if n_labels else (scores,))]
    gold = golds(LENGTHS, True, True, n_labels)
    crf = DependencyTreeCRF(n_labels=n_labels, loss=loss)

    def step(*parts):
        return crf([2 * part for part in parts] if n_labels else 2 * parts[0], gold, mask)

    given = [one.clone().requires_grad_() for one in tensors]
    torch._dynamo.reset()
    told = torch._dynamo.explain(step)(*given)
    assert (told.graph_count, told.graph_break_count) == (1, 0)
    compiled = torch.compile(step, fullgraph=True, backend=backend)(*given)
    compiled.backward()
    again = [one.clone().requires_grad_() for one in tensors]
    plain = step(*again)
    plain.backward()
    np.testing.assert_allclose(compiled.item(), plain.item(), rtol=1e-6)
    for a, b in zip(given, again, strict=True):
        np.testing.assert_allclose(a.grad, b.grad, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of its compilers
def test_decoding_compiles():
    scores, mask = batch(dtype=torch.float32)
    crf = DependencyTreeCRF()
    torch._dynamo.reset()
    found = torch.compile(
        lambda arcs: crf.decode(arcs + 0.0, mask, as_tensor=True), fullgraph=True, backend="aot_eager"
    )(scores)
    assert found.tolist() == crf.decode(scores, mask, as_tensor=True).tolist()


def test_exported_programs_need_no_core():
    arcs, gold = torch.randn(2, 4, 4), torch.tensor([[0, 1, 1], [2, 0, 2]])
    for projective in (True, False):
        crf = DependencyTreeCRF(projective)
        exported = torch.export.export(crf, (arcs, gold))
        assert not any("trelliswork" in str(node.target) for node in exported.graph.nodes)
        np.testing.assert_allclose(exported.module()(arcs, gold).item(), crf(arcs, gold).item(), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # PyTorch's own
def test_transforms_of_torch_func():
    arcs = torch.randn(3, 2, 4, 4, dtype=torch.float64)
    gold = torch.tensor([[0, 1, 1], [2, 0, 2]])
    crf = DependencyTreeCRF()
    expected = torch.stack([crf(one, gold) for one in arcs])
    np.testing.assert_allclose(torch.vmap(lambda one: crf(one, gold))(arcs), expected, **CLOSE)
    found = torch.vmap(torch.func.grad(lambda one: crf(one, gold)))(arcs)
    arcs.requires_grad_()
    torch.stack([crf(one, gold) for one in arcs]).sum().backward()
    np.testing.assert_allclose(found, arcs.grad, **CLOSE)


def test_operators_keep_the_rules_of_pytorch():
    scores, mask = batch(2)
    table = torch.nan_to_num(table_of(scores), 0.0, 0.0, 0.0).requires_grad_()
    heads, labels = golds(LENGTHS, True, True, 2)
    for best in (False, True):
        given = (table, mask, heads, labels, "projective", True, best, 1.0, -100, True)
        torch.library.opcheck(torch.ops.trelliswork.tree_losses.default, given)
    given = (table.detach(), mask, "crossing", False, -100)
    torch.library.opcheck(torch.ops.trelliswork.best_trees.default, given)


def test_batches_without_sentences_or_words():
    crf = DependencyTreeCRF()
    for shape in ((0, 4, 4), (3, 1, 1)):
        arcs = torch.zeros(shape, requires_grad=True)
        gold = torch.zeros((shape[0], shape[1] - 1), dtype=torch.int64)
        for engine in ("auto", "torch"):
            crf.engine = engine
            for reduction in ("mean", "sum", "token_mean"):
                assert crf(arcs, gold, reduction=reduction).item() == 0.0
            assert crf(arcs, gold, reduction="none").shape == shape[:1]
            crf(arcs, gold).backward()
        assert crf.decode(arcs) == [[]] * shape[0]
        assert crf.sample(arcs, 2) == [[[], []]] * shape[0]


def test_long_sentences_and_extreme_scores():
    for projective in (True, False):
        crf = DependencyTreeCRF(projective)
        arcs = torch.randn(1, 301, 301, dtype=torch.float64).requires_grad_()
        gold = torch.arange(300)[None]
        loss = crf(arcs, gold)
        loss.backward()
        assert math.isfinite(loss.item())
        np.testing.assert_allclose((arcs.grad[0].sum(0))[1:], 0.0, atol=1e-9)
        huge = (1e6 * torch.randn(1, 12, 12, dtype=torch.float64)).requires_grad_()
        best = crf.decode(huge, as_tensor=True)
        crf(huge, best).backward()
        assert not huge.grad.isnan().any()


def test_results_do_not_depend_on_threads():
    scores, mask = batch(3, lengths=[30] * 12)
    gold = torch.arange(30).repeat(12, 1), torch.zeros(12, 30, dtype=torch.int64)
    crf, before, found = DependencyTreeCRF(n_labels=3), torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            given = scores[1].clone().requires_grad_()
            crf((scores[0], given), gold, mask).backward()
            found.append(given.grad)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_lengths_and_masks_of_numbers_are_masks():
    scores, mask = batch()
    gold = golds(LENGTHS, True, True, None)
    crf = DependencyTreeCRF()
    expected = crf(scores, gold, mask).item()
    assert crf(scores, gold, torch.tensor(LENGTHS)).item() == expected
    assert crf(scores, gold, mask.long()).item() == expected


def test_modules_are_copied_pickled_and_printed():
    crf = DependencyTreeCRF(projective=False, n_labels=3, loss="hinge")
    for other in (copy.deepcopy(crf), pickle.loads(pickle.dumps(crf))):
        assert repr(other) == repr(crf)
    assert repr(crf) == "DependencyTreeCRF(projective=False, single_root=True, n_labels=3, loss='hinge')"
    assert list(crf.parameters()) == []


ZEROS = torch.zeros(2, 4, 4)


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ([[0, 1, 1], [2, 3, 1]], "sentence 1: gold is no tree: a tree has one root, this has 0"),
        ([[0, 1, 1], [0, 3, 2]], "sentence 1: gold is no tree: word 2 is among its own ancestors"),
        ([[0, 0, 1], [0, 1, 1]], "sentence 0: gold is no tree: a tree has one root, this has 2"),
        ([[0, 2, 1], [0, 1, 1]], "sentence 0: gold is no tree: word 2 has a head out of range"),
        ([[0, 1, 1], [0, 4, 1]], "sentence 1: word 2 of gold has the head 4; expected 0 to 3, or -100"),
        ([[0, -1, 1], [0, 1, 1]], "sentence 0: word 2 of gold has the head -1"),
        ([[-100, 3, 2], [0, 1, 1]], "sentence 0: no tree has the heads that are known of gold"),
    ],
)
def test_gold_that_is_no_tree_is_refused(gold, message, engine):
    for loss in LOSSES:
        with pytest.raises(InvalidInput, match=message):
            DependencyTreeCRF(loss=loss, engine=engine)(ZEROS, torch.tensor(gold))


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_crossing_gold_is_refused_unless_arcs_may_cross_or_are_unknown(engine):
    arcs = torch.zeros(1, 5, 5)
    crossing = torch.tensor([[3, 0, 2, 2]])
    assert not reference.is_projective(crossing[0].tolist())
    with pytest.raises(InvalidInput, match="sentence 0: arcs of gold cross"):
        DependencyTreeCRF(engine=engine)(arcs, crossing)
    assert DependencyTreeCRF(projective=False, engine=engine)(arcs, crossing).item() > 0
    crossing[0, 0] = -100
    assert DependencyTreeCRF(engine=engine)(arcs, crossing).item() > 0


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_scores_that_are_none_are_refused(engine):
    crf, gold = DependencyTreeCRF(engine=engine), torch.tensor([[0, 1, 1]] * 2)
    for value in (math.nan, math.inf):
        arcs = ZEROS.clone()
        arcs[1, 2, 3] = value
        with pytest.raises(InvalidInput, match=r"sentence 1: scores\[1, 2, 3, 0\] is (nan|inf)"):
            crf(arcs, gold)
    arcs = ZEROS.clone()
    arcs[1, 0] = -torch.inf
    for answer in (crf.log_partition, crf.marginals, crf.decode, crf.sample):
        with pytest.raises(Unsatisfiable, match="sentence 1: every tree is forbidden"):
            answer(arcs)
    with pytest.raises(InvalidInput, match="sentence 1: "):
        crf(arcs, gold)
    arcs = ZEROS.clone()
    arcs[0, 1, 2] = -torch.inf
    with pytest.raises(InvalidInput, match="sentence 0: gold is forbidden"):
        crf(arcs, gold)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DependencyTreeCRF(projective="no"), "projective"),
        (lambda: DependencyTreeCRF(single_root=2), "single_root"),
        (lambda: DependencyTreeCRF(n_labels=0), "n_labels"),
        (lambda: DependencyTreeCRF(loss="mse"), "loss must be one of"),
        (lambda: DependencyTreeCRF(ignore_index=0), "ignore_index must be a negative integer"),
        (lambda: DependencyTreeCRF(engine="fast"), "engine must be one of"),
        (lambda: DependencyTreeCRF().decode(torch.zeros(2, 3, 4)), r"shape \(B, n \+ 1, n \+ 1\)"),
        (lambda: DependencyTreeCRF().decode(torch.zeros(3, 3)), "3 dimensions"),
        (lambda: DependencyTreeCRF().decode(torch.zeros(2, 0, 0)), "shape"),
        (lambda: DependencyTreeCRF().decode(np.zeros((2, 3, 3))), "must be a tensor"),
        (lambda: DependencyTreeCRF().decode(torch.zeros(2, 3, 3, dtype=torch.int64)), "floating-point"),
        (lambda: DependencyTreeCRF().kbest(ZEROS, 0), "k must be"),
        (lambda: DependencyTreeCRF().sample(ZEROS, -1), "n must be"),
        (lambda: DependencyTreeCRF()(ZEROS, torch.zeros(2, 4, dtype=torch.int64)), r"gold must have shape \(2, 3\)"),
        (lambda: DependencyTreeCRF()(ZEROS, torch.zeros(2, 3)), "gold must be a tensor of integers"),
        (lambda: DependencyTreeCRF()(ZEROS, torch.tensor([[0, 1, 1]] * 2), reduction="max"), "reduction"),
        (lambda: DependencyTreeCRF(n_labels=2).decode(ZEROS), "scores must be a pair"),
        (lambda: DependencyTreeCRF(n_labels=2).decode((ZEROS, torch.zeros(2, 4, 4, 3))), "scores of labels"),
        (lambda: DependencyTreeCRF(n_labels=2)((ZEROS, torch.zeros(2, 4, 4, 2)), ZEROS), "gold must be a pair"),
        (lambda: DependencyTreeCRF().decode(ZEROS, torch.ones(2, 4, dtype=torch.bool)), "mask must have shape"),
        (
            lambda: DependencyTreeCRF().decode(ZEROS, torch.tensor([[1, 1, 1], [0, 1, 1]])),
            "sentence 1: mask leaves out",
        ),
        (
            lambda: DependencyTreeCRF()(ZEROS, torch.tensor([[0, 1, 1]] * 2), torch.tensor([[1, 0, 1], [1, 1, 1]])),
            "sentence 0: mask leaves out a word before others",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_labels_of_gold_are_checked():
    crf = DependencyTreeCRF(n_labels=2)
    heads = torch.tensor([[0, 1, 1]] * 2)
    labels = torch.tensor([[0, 1, 1], [0, 2, 1]])
    with pytest.raises(InvalidInput, match="sentence 1: word 2 of gold has the label 2; expected 0 to 1"):
        crf((ZEROS, torch.zeros(2, 4, 4, 2)), (heads, labels))


def test_other_devices_are_told_apart():
    meta = ZEROS.to("meta")
    with pytest.raises(InvalidInput, match="mask is on cpu, but the scores are on meta"):
        DependencyTreeCRF().log_partition(meta, torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(InvalidInput, match="gold is on cpu, but the scores are on meta"):
        DependencyTreeCRF()(meta, torch.tensor([[0, 1, 1]] * 2))
