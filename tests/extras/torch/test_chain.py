"""`ChainCRF` against enumeration, against PyTorch alone, and against what users get wrong."""

import copy
import io
import itertools
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.errors import InvalidInput, Unsatisfiable
from trelliswork.torch import ChainCRF
from trelliswork.torch.reductions import LOSSES, REDUCTIONS


def made(n_labels=3, seed=0, scale=1.0, **options):
    """A layer in double precision with scores of a normal distribution."""
    crf = ChainCRF(n_labels, **options).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for scores in crf.parameters():
            scores.copy_(scale * torch.randn(scores.shape, generator=generator, dtype=torch.float64))
    return crf


def data(B=4, T=4, K=3, seed=0, scale=1.0):
    """Emissions, labels and a mask with holes; the last sequence is empty."""
    generator = torch.Generator().manual_seed(seed)
    emissions = scale * torch.randn(B, T, K, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, K, (B, T), generator=generator)
    mask = torch.rand(B, T, generator=generator) < 0.7
    mask[0] = True
    mask[-1] = False
    return emissions, labels, mask


def enumerated(crf, emissions, mask):
    """All labellings of each sequence and their scores, one by one: slow, and too simple to be wrong."""
    for rows, here in zip(emissions, mask, strict=True):
        rows = rows[here]
        found = []
        for y in itertools.product(range(crf.n_labels), repeat=len(rows)):
            score = sum((rows[t, k] for t, k in enumerate(y)), torch.zeros((), dtype=torch.float64))
            if y:
                score = score + crf.start_transitions[y[0]] + crf.end_transitions[y[-1]]
            score = score + sum(crf.transitions[a, b] for a, b in itertools.pairwise(y))
            if crf.order == 2:
                score = score + sum(crf.trigrams[y[t - 2], y[t - 1], y[t]] for t in range(2, len(y)))
            found.append((y, score))
        yield found


def enumerated_losses(crf, emissions, labels, mask):
    out = []
    for found, gold, here in zip(enumerated(crf, emissions, mask), labels, mask, strict=True):
        gold = tuple(gold[here].tolist())
        cost = crf.loss in ("softmax-margin", "hinge")
        scores = torch.stack([s + cost * sum(a != b for a, b in zip(y, gold, strict=True)) for y, s in found])
        total = scores.max() if crf.loss in ("hinge", "perceptron") else scores.logsumexp(0)
        out.append(total - dict(found)[gold])
    return torch.stack(out)


def gradients(crf, loss, *inputs):
    return torch.autograd.grad(loss, [*inputs, *crf.parameters()], allow_unused=True, materialize_grads=True)


def assert_all_close(found, expected, atol=1e-9):
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=atol, rtol=1e-9)


every = pytest.mark.parametrize(("order", "engine"), list(itertools.product((1, 2), ("auto", "torch"))))


@every
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_losses_and_gradients_are_those_of_enumeration(loss, reduction, order, engine):
    crf = made(loss=loss, order=order, engine=engine)
    emissions, labels, mask = data()
    emissions.requires_grad_()
    losses = enumerated_losses(crf, emissions, labels, mask)
    weights = torch.tensor([2.0, -1.0, 0.5, 3.0], dtype=torch.float64)  # also what is to become larger
    expected = {
        "mean": losses.mean(),
        "sum": losses.sum(),
        "token_mean": losses.sum() / mask.sum(),
        "none": (losses * weights).sum(),
    }[reduction]
    found = crf(emissions, labels, mask, reduction)
    assert found.shape == (() if reduction != "none" else (4,))
    found = (found * weights).sum() if reduction == "none" else found
    torch.testing.assert_close(found, expected)
    assert_all_close(gradients(crf, found, emissions), gradients(crf, expected, emissions))


@every
def test_answers_are_those_of_enumeration(order, engine):
    crf = made(order=order, engine=engine)
    emissions, _, mask = data(seed=3)
    decoded, kbest = crf.decode(emissions, mask), crf.kbest(emissions, 5, mask)
    log_partition, marginals = crf.log_partition(emissions, mask), crf.marginals(emissions, mask)
    for i, found in enumerate(enumerated(crf, emissions, mask)):
        best = sorted(((score.item(), y) for y, score in found), reverse=True)
        assert decoded[i] == list(best[0][1])
        assert [tuple(labels) for labels, _ in kbest[i]] == [y for _, y in best[:5]]
        np.testing.assert_allclose([score for _, score in kbest[i]], [s for s, _ in best[:5]], atol=1e-9)
        scores = torch.stack([score for _, score in found])
        torch.testing.assert_close(log_partition[i], scores.logsumexp(0))
        expected = torch.zeros_like(marginals[i])
        for (y, _), p in zip(found, scores.softmax(0), strict=True):
            for t, k in enumerate(y):
                expected[t, k] += p
        torch.testing.assert_close(marginals[i], expected)


@pytest.mark.parametrize("order", [1, 2])
def test_samples_come_from_the_distribution(order):
    crf = made(n_labels=2, order=order)
    emissions, _, mask = data(B=2, T=3, K=2)
    generator = torch.Generator().manual_seed(0)
    drawn = crf.sample(emissions, 4000, mask, generator=generator)
    assert drawn[1] == [[]] * 4000
    share = torch.tensor(drawn[0], dtype=torch.float64).mean(dim=0)
    torch.testing.assert_close(share, crf.marginals(emissions, mask)[0][:, 1], atol=0.04, rtol=0)
    again = crf.sample(emissions, 4000, mask, generator=generator.manual_seed(0))
    assert drawn == again


@every
def test_padded_tensors_have_every_label_where_it_is(order, engine):
    crf = made(order=order, engine=engine)
    emissions, _, mask = data(seed=1)
    labels = crf.decode(emissions, mask, as_tensor=True)
    assert (labels[~mask] == -100).all()
    assert [row[here].tolist() for row, here in zip(labels, mask, strict=True)] == crf.decode(emissions, mask)
    marginals = crf.marginals(emissions, mask, as_tensor=True)
    assert (marginals[~mask] == 0).all()
    torch.testing.assert_close(marginals.sum(-1), mask.double())
    best, scores = crf.kbest(emissions, 2, mask, as_tensor=True)
    assert best.shape == (4, 2, 4)
    assert (best[:, 0] == labels).all()
    assert scores[-1].tolist() == [0.0, -np.inf]  # an empty sequence has one labelling
    assert crf.sample(emissions, 3, mask, as_tensor=True).shape == (4, 3, 4)


@given(st.integers(0, 10**6), st.sampled_from([1, 2]), st.sampled_from([1.0, 20.0, 300.0]))
def test_both_engines_agree_in_single_precision(seed, order, scale):
    crf = made(K := 5, seed=seed, scale=scale, order=order).float()
    judge = made(K, seed=seed, scale=scale, order=order, engine="torch").float().double()
    emissions, labels, mask = data(6, 7, K, seed, scale)
    single = emissions.float().requires_grad_()
    double = single.detach().double().requires_grad_()
    found, expected = crf(single, labels, mask), judge(double, labels, mask)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    for a, b in zip(gradients(crf, found, single), gradients(judge, expected, double), strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("largest", [1e4, 1e20, 1e28])
def test_extreme_scores_are_exact(dtype, largest):
    crf = ChainCRF(3).to(dtype)
    with torch.no_grad():
        for scores in crf.parameters():
            scores.zero_()
    emissions = torch.zeros(5, 6, 3, dtype=dtype)
    emissions[:, 2, 1] = -largest
    emissions[:, 3, 0] = largest
    emissions.requires_grad_()
    labels = torch.zeros(5, 6, dtype=torch.int64)
    crf(emissions, labels, reduction="sum").backward()
    probabilities = torch.full((5, 6, 3), 1 / 3, dtype=dtype)
    probabilities[:, 2] = torch.tensor([0.5, 0.0, 0.5])
    probabilities[:, 3] = torch.tensor([1.0, 0.0, 0.0])
    gold = torch.nn.functional.one_hot(labels, 3)
    torch.testing.assert_close(emissions.grad, probabilities - gold)


def test_what_is_forbidden_has_no_probability():
    crf = made(4, constraints=np.eye(4, dtype=bool))
    emissions, _, _ = data(3, 5, 4)
    emissions[:, :, 2] = -torch.inf
    emissions.requires_grad_()
    labels = torch.tensor([[0] * 5, [1] * 5, [3] * 5])
    crf(emissions, labels).backward()
    assert (emissions.grad[:, :, 2] == 0).all()
    off = ~torch.eye(4, dtype=torch.bool)
    assert (crf.transitions.grad[off] == 0).all()
    assert all(len(set(row)) == 1 and row[0] != 2 for row in crf.decode(emissions))


def test_the_number_of_threads_changes_no_bit():
    crf = made(30).float()
    emissions, labels, mask = data(70, 40, 30)
    answers = []
    before = torch.get_num_threads()
    try:
        for n in (1, 3):
            torch.set_num_threads(n)
            given = emissions.float().requires_grad_()
            crf.zero_grad()
            loss = crf(given, labels, mask)
            loss.backward()
            answers.append([loss.detach(), given.grad, crf.transitions.grad, crf.start_transitions.grad])
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*answers, strict=True):
        assert torch.equal(a, b)


# ---- masks -----------------------------------------------------------------------------------------------------------


def test_a_mask_removes_positions():
    crf = made()
    emissions, labels, _ = data(1, 6)
    mask = torch.tensor([[False, True, False, True, True, False]])
    kept = crf(emissions[:, [1, 3, 4]], labels[:, [1, 3, 4]])
    torch.testing.assert_close(crf(emissions, labels, mask), kept)
    torch.testing.assert_close(crf(emissions, labels, mask.to(torch.uint8)), kept)
    torch.testing.assert_close(crf(emissions, labels, mask.long()), kept)
    torch.testing.assert_close(crf(emissions, torch.where(mask, labels, -100)), kept)
    torch.testing.assert_close(
        crf(emissions[:, :3], labels[:, :3], torch.tensor([2])), crf(emissions[:, :2], labels[:, :2])
    )


def test_masked_positions_may_hold_anything():
    crf = made()
    emissions, labels, mask = data()
    expected = crf(emissions, labels, mask)
    emissions[~mask] = torch.nan
    labels[~mask] = 77
    emissions.requires_grad_()
    for engine in ("auto", "torch"):
        crf.engine = engine
        found = crf(emissions, labels, mask)
        torch.testing.assert_close(found, expected)
        (gradient,) = torch.autograd.grad(found, emissions)
        assert (gradient[~mask] == 0).all()
        assert gradient.isfinite().all()


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0), (2, 1)])
@pytest.mark.parametrize("order", [1, 2])
def test_nothing_and_one_token(shape, engine, order):
    crf = made(order=order, engine=engine)
    emissions = torch.zeros(*shape, 3, dtype=torch.float64, requires_grad=True)
    labels = torch.zeros(shape, dtype=torch.int64)
    for reduction in REDUCTIONS:
        loss = crf(emissions, labels, reduction=reduction)
        assert loss.isfinite().all()
        assert loss.shape == (shape[:1] if reduction == "none" else ())
        assert all(gradient.isfinite().all() for gradient in gradients(crf, loss.sum(), emissions))
    assert [len(row) for row in crf.decode(emissions)] == [shape[1]] * shape[0]
    assert crf.marginals(emissions, as_tensor=True).shape == emissions.shape
    assert len(crf.kbest(emissions, 2)) == len(crf.sample(emissions, 2)) == shape[0]


@pytest.mark.parametrize("order", [1, 2])
def test_one_label(order):
    crf = made(1, order=order)
    emissions = torch.randn(2, 3, 1, dtype=torch.float64)
    assert crf(emissions, torch.zeros(2, 3, dtype=torch.int64)).item() == pytest.approx(0.0, abs=1e-12)
    assert crf.decode(emissions) == [[0, 0, 0], [0, 0, 0]]


def test_a_hundred_thousand_tokens():
    crf = ChainCRF(3)
    emissions = torch.randn(1, 100_000, 3, requires_grad=True)
    loss = crf(emissions, torch.zeros(1, 100_000, dtype=torch.int64))
    loss.backward()
    chain = tw.Chain(
        emissions[0].detach().numpy(),
        *(p.detach().numpy() for p in (crf.transitions, crf.start_transitions, crf.end_transitions)),
    )
    assert loss.item() == pytest.approx(-chain.log_prob(np.zeros(100_000, dtype=int)), rel=1e-6)
    np.testing.assert_allclose(emissions.grad[0, :5, 1:], chain.marginals()[:5, 1:], atol=1e-5)


# ---- constraints -----------------------------------------------------------------------------------------------------


@every
def test_constraints_of_a_scheme(order, engine):
    names = ["O", "B-X", "I-X"]
    crf = made(names, order=order, constraints="BIO", engine=engine)
    emissions, _, _ = data(20, 6, 3, scale=3.0)
    for labels in crf.decode(emissions):
        assert not tw.corpora.validate_labels([names[k] for k in labels], "BIO")
    probabilities = crf.marginals(emissions, as_tensor=True)
    assert (probabilities[:, 0, 2] == 0).all()
    drawn = crf.sample(emissions, 20)
    assert all(y[0] != 2 for own in drawn for y in own)
    with pytest.raises(InvalidInput, match=r"labels\[3\].* forbidden"):
        crf(emissions[:4], torch.tensor([[0] * 6] * 3 + [[0, 2, 0, 0, 0, 0]]))


def test_constraints_by_array_and_by_function():
    allowed = np.array([[True, True], [False, True]])
    emissions, _, _ = data(5, 5, 2, scale=3.0)
    by_array = made(2, constraints=allowed)
    by_function = made(["a", "b"], constraints=lambda before, after: (before, after) != ("b", "a"))
    assert by_array.decode(emissions) == by_function.decode(emissions)
    assert all(labels == sorted(labels) for labels in by_array.decode(emissions))
    with pytest.raises(InvalidInput, match="names of the labels"):
        ChainCRF(2, constraints="BIO")
    with pytest.raises(InvalidInput, match="shape"):
        ChainCRF(3, constraints=allowed)


def test_constraints_are_not_part_of_the_state():
    crf = ChainCRF(["O", "B", "I"], constraints="BIO")
    assert list(crf.state_dict()) == ["start_transitions", "end_transitions", "transitions"]


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("loss", ["crf", "softmax-margin"])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_gradcheck_and_gradgradcheck(order, loss, reduction):
    crf = made(2, order=order, loss=loss)
    emissions, labels, mask = data(3, 3, 2)
    names = [name for name, _ in crf.named_parameters()]

    def question(emissions, *parameters):
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(crf, given, (emissions, labels, mask), {"reduction": reduction})

    inputs = [emissions.requires_grad_(), *(p.detach().clone().requires_grad_() for p in crf.parameters())]
    assert torch.autograd.gradcheck(question, inputs)
    assert torch.autograd.gradgradcheck(question, inputs)


def test_gradients_flow_through_marginals():
    crf, judge = made(), made(engine="torch")
    emissions, _, mask = data()
    emissions.requires_grad_()
    found, expected = (
        gradients(layer, (layer.marginals(emissions, mask, as_tensor=True) ** 2).sum(), emissions)
        for layer in (crf, judge)
    )
    assert_all_close(found, expected)


def test_second_derivatives_of_hinge_are_zero():
    crf = made(loss="hinge")
    emissions, labels, mask = data()
    emissions.requires_grad_()
    (first,) = torch.autograd.grad(crf(emissions, labels, mask), emissions, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), emissions, allow_unused=True, materialize_grads=True)
    assert (second == 0).all()


def test_operators_keep_their_word():
    from trelliswork.torch.chain_ops import chain_best, chain_gradient, chain_losses

    crf = made()
    emissions, labels, mask = data()
    scores = (emissions.requires_grad_(), *crf._moves(emissions))
    weights = torch.rand(4, dtype=torch.float64)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static")
    torch.library.opcheck(chain_losses, (*scores, labels, mask, 0.0, False), test_utils=tests)
    torch.library.opcheck(chain_gradient, (*scores, labels, mask, weights, 1.0, False), test_utils=tests)
    torch.library.opcheck(chain_best, (*scores, mask, -1), test_utils=tests[:3])


BACKENDS = ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)]


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of its compilers
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_compiled_code_runs_without_a_graph_break(backend, reduction):
    crf = made()
    emissions, labels, mask = data()

    def question(emissions):
        return crf(torch.tanh(emissions), labels, mask, reduction).sum()

    torch._dynamo.reset()
    told = torch._dynamo.explain(question)(emissions.requires_grad_())
    assert (told.graph_count, told.graph_break_count) == (1, 0)
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend(backend)
    compiled = torch.compile(question, backend=counter, fullgraph=True)
    found = gradients(crf, compiled(emissions), emissions)
    assert counter.frame_count == 1  # it was compiled, and run
    assert_all_close(found, gradients(crf, question(emissions), emissions))
    decode = torch.compile(lambda x: crf.decode(x, mask, as_tensor=True), backend=backend, fullgraph=True)
    assert torch.equal(decode(emissions), crf.decode(emissions, mask, as_tensor=True))
    labels[0, 1] = 9
    with pytest.raises(ValueError, match=r"labels\[0, 1\] is 9"):
        compiled(emissions)


@pytest.mark.parametrize("order", [1, 2])
def test_export_needs_nothing_of_this_library(order):
    crf = made(order=order)
    emissions, labels, mask = data()

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.crf = crf

        def forward(self, emissions, labels, mask):
            return self.crf(emissions, labels, mask), self.crf.decode(emissions, mask, as_tensor=True)

    batch = {0: torch.export.Dim("batch", min=2)}
    program = torch.export.export(Both(), (emissions, labels, mask), dynamic_shapes=(batch,) * 3)
    assert not any("trelliswork" in str(node.target) for node in program.graph.nodes)
    for size in (4, 2):
        loss, best = program.module()(emissions[:size], labels[:size], mask[:size])
        torch.testing.assert_close(loss, crf(emissions[:size], labels[:size], mask[:size]))
        assert torch.equal(best, crf.decode(emissions[:size], mask[:size], as_tensor=True))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # PyTorch's own
def test_transforms_of_torch_func():
    crf = made()
    emissions, labels, mask = data()
    many = torch.stack([emissions, 2 * emissions, -emissions])
    losses = torch.vmap(lambda x: crf(x, labels, mask))(many)
    torch.testing.assert_close(losses, torch.stack([crf(x, labels, mask) for x in many]))
    by_sequence = torch.vmap(torch.func.grad(lambda x, y, m: crf(x[None], y[None], m[None])))(emissions, labels, mask)
    emissions.requires_grad_()
    torch.testing.assert_close(by_sequence, gradients(crf, crf(emissions, labels, mask, "sum"), emissions)[0])
    hessian = torch.func.hessian(lambda x: crf(x, labels, mask))(emissions.detach())
    again = torch.autograd.functional.hessian(lambda x: crf(x, labels, mask), emissions.detach())
    torch.testing.assert_close(hessian, again)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_single(dtype):
    crf = ChainCRF(3)
    emissions, labels, mask = data()
    emissions = emissions.to(dtype).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = crf(emissions, labels, mask)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, crf(emissions.float(), labels, mask))
    loss.backward()
    assert emissions.grad.dtype == dtype


def test_tensors_of_another_device():
    crf = ChainCRF(3, engine="torch").to("meta")
    emissions = torch.empty(2, 4, 3, device="meta")
    labels = torch.empty(2, 4, dtype=torch.int64, device="meta")
    assert crf(emissions, labels).device.type == "meta"
    assert crf.decode(emissions, as_tensor=True).shape == (2, 4)
    here = ChainCRF(3)
    with pytest.raises(InvalidInput, match="emissions are on meta, but the parameters are on cpu"):
        here(emissions, labels)
    with pytest.raises(InvalidInput, match="labels are on meta"):
        here(torch.zeros(2, 4, 3), labels)
    with pytest.raises(InvalidInput, match="mask is on meta"):
        here(torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.int64), labels > 0)


def test_copies_pickles_and_state_dicts():
    crf = made(["O", "B", "I"], constraints="BIO", order=2)
    emissions, _, mask = data(seed=5)
    expected = crf.decode(emissions, mask)
    file = io.BytesIO()
    torch.save(crf.state_dict(), file)
    file.seek(0)
    loaded = ChainCRF(["O", "B", "I"], constraints="BIO", order=2).double()
    loaded.load_state_dict(torch.load(file, weights_only=True))
    for other in (copy.deepcopy(crf), pickle.loads(pickle.dumps(crf)), loaded):
        assert other.decode(emissions, mask) == expected


def test_scores_that_are_not_contiguous_or_of_mixed_precision():
    crf = made()
    emissions, labels, mask = data()
    expected = crf(emissions, labels, mask)
    turned = emissions.transpose(0, 1).contiguous().transpose(0, 1)
    torch.testing.assert_close(crf(turned, labels.t().contiguous().t(), mask.t().contiguous().t()), expected)
    assert ChainCRF(3)(emissions, labels.int(), mask).dtype == torch.float64


# ---- what is refused -------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_scores_that_mean_nothing(bad, order, engine):
    crf = made(order=order, engine=engine)
    emissions, labels, mask = data()
    emissions[0, 2, 1] = bad
    for question in (
        lambda: crf(emissions, labels, mask),
        lambda: crf.decode(emissions, mask),
        lambda: crf.marginals(emissions, mask),
        lambda: crf.log_partition(emissions, mask),
        lambda: crf.kbest(emissions, 2, mask),
        lambda: crf.sample(emissions, 2, mask),
    ):
        with pytest.raises(InvalidInput, match=r"emissions\[0, 2, 1\] is (NaN|\+inf)"):
            question()


@every
def test_everything_forbidden(order, engine):
    crf = made(order=order, engine=engine)
    emissions, _, _ = data()
    emissions[2, 1] = -torch.inf
    for question in (crf.decode, crf.marginals, crf.log_partition, lambda x: crf.kbest(x, 1), crf.sample):
        with pytest.raises(Unsatisfiable):
            question(emissions)


@every
@pytest.mark.parametrize("label", [-1, 3, -100])
def test_labels_out_of_range(label, order, engine):
    crf = made(order=order, engine=engine, ignore_index=None)
    emissions, labels, _ = data()
    labels[1, 3] = label
    with pytest.raises(InvalidInput, match=rf"labels\[1, 3\] is {label}"):
        crf(emissions, labels)


def test_parameters_that_are_nan():
    crf = made()
    emissions, labels, mask = data()
    with torch.no_grad():
        crf.transitions[1, 2] = torch.nan
    with pytest.raises(InvalidInput, match=r"transitions\[1, 2\] is NaN"):
        crf(emissions, labels, mask)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e, y, m: (e[0], y, m), r"emissions must have shape \(B, T, 3\)"),
        (lambda e, y, m: (e[..., :2], y, m), r"emissions must have shape \(B, T, 3\)"),
        (lambda e, y, m: (e.long(), y, m), "floating-point"),
        (lambda e, y, m: (e.numpy(), y, m), "ndarray"),
        (lambda e, y, m: (e, y[:, :3], m), r"labels must have shape \(4, 4\)"),
        (lambda e, y, m: (e, y.double(), m), "labels must be a tensor of integers"),
        (lambda e, y, m: (e, y.tolist(), m), "labels must be a tensor of integers"),
        (lambda e, y, m: (e, y, m[:, :3]), r"mask must have shape \(4, 4\)"),
        (lambda e, y, m: (e, y, m.double()), "0 and 1"),
        (lambda e, y, m: (e, y, 2 * m.long()), "0 and 1"),
        (lambda e, y, m: (e, y, torch.tensor([1, 2, 3, 5])), r"lengths\[3\] is 5"),
        (lambda e, y, m: (e, y, torch.tensor([1, 2, 3])), "mask must have shape"),
        (lambda e, y, m: (e, y, m, "average"), "reduction must be one of"),
        (lambda e, y, m: (e, y, m, None), "reduction must be one of"),
    ],
)
def test_what_does_not_fit(change, message):
    with pytest.raises(InvalidInput, match=message):
        made()(*change(*data()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_labels": 0}, "n_labels must be at least 1"),
        ({"n_labels": 2.5}, "n_labels"),
        ({"n_labels": 2, "loss": "squared"}, "loss must be one of"),
        ({"n_labels": 2, "order": 3}, "order must be 1 or 2"),
        ({"n_labels": 2, "engine": "gpu"}, "engine must be one of"),
    ],
)
def test_layers_that_cannot_be(options, message):
    with pytest.raises(InvalidInput, match=message):
        ChainCRF(**options)
