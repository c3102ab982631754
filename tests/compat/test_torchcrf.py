"""The drop-in for pytorch-crf beside the original where it is installed, and by itself."""

import importlib
import importlib.metadata
import io
import itertools
import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="the extra torch is not installed")

from trelliswork import compat  # noqa: E402
from trelliswork.compat.torchcrf import CRF  # noqa: E402
from trelliswork.torch import ChainCRF  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*uint8.*:UserWarning")  # of the original


@pytest.fixture
def original():
    """The original's class, however `torchcrf` is found."""
    try:
        importlib.metadata.version("pytorch-crf")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("pytorch-crf is not installed")
    compat.uninstall()
    found = importlib.import_module("torchcrf").CRF
    assert not found.__module__.startswith("trelliswork")
    return found


def batch(T=6, B=4, K=5, batch_first=False, seed=0):
    generator = torch.Generator().manual_seed(seed)
    emissions = torch.randn(T, B, K, generator=generator)
    tags = torch.randint(0, K, (T, B), generator=generator)
    lengths = torch.randint(1, T + 1, (B,), generator=generator)
    mask = torch.arange(T)[:, None] < lengths
    tensors = (emissions, tags, mask)
    return tuple(x.transpose(0, 1).contiguous() for x in tensors) if batch_first else tensors


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "token_mean"])
@pytest.mark.parametrize("masked", ["no", "bool", "uint8"])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_original(original, batch_first, reduction, masked, seed):
    torch.manual_seed(seed)
    theirs = original(5, batch_first=batch_first)
    torch.manual_seed(seed)
    ours = CRF(5, batch_first=batch_first)
    emissions, tags, mask = batch(batch_first=batch_first, seed=seed)
    mask = {"no": None, "bool": mask, "uint8": mask.to(torch.uint8)}[masked]
    answers = []
    for crf in (ours, theirs):
        given = emissions.clone().requires_grad_()
        found = crf(given, tags, mask, reduction)
        (found * torch.arange(1.0, 1 + found.numel())).sum().backward()
        answers.append([found.detach(), given.grad, *(p.grad for p in crf.parameters())])
    for a, b in zip(*answers, strict=True):
        torch.testing.assert_close(a, b, atol=2e-5, rtol=2e-5)
    assert ours.decode(emissions, mask) == theirs.decode(emissions, mask)


def test_the_same_seed_gives_the_same_parameters_in_the_same_order(original):
    torch.manual_seed(3)
    theirs = original(4)
    torch.manual_seed(3)
    ours = CRF(4)
    for (a, x), (b, y) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert a == b
        assert torch.equal(x, y)
    assert repr(ours) == repr(theirs)


def test_state_dicts_go_both_ways(original):
    ours, theirs, layer = CRF(4), original(4), ChainCRF(4)
    for source, target in itertools.permutations((ours, theirs, layer), 2):
        source.reset_parameters()
        file = io.BytesIO()
        torch.save(source.state_dict(), file)
        file.seek(0)
        target.load_state_dict(torch.load(file, weights_only=True))
        assert torch.equal(source.transitions, target.transitions)
        assert torch.equal(source.start_transitions, target.start_transitions)
        assert torch.equal(source.end_transitions, target.end_transitions)


def test_models_that_the_original_pickled(original):
    theirs = original(4)
    data = pickle.dumps(theirs)
    emissions, _, _ = batch(K=4)
    expected = theirs.decode(emissions)
    compat.install("torchcrf")
    try:
        ours = pickle.loads(data)
    finally:
        compat.uninstall()
    assert type(ours) is CRF
    assert ours.decode(emissions) == expected


WRONG = [
    (
        lambda crf: crf(torch.zeros(1, 2), torch.zeros(2, 2, dtype=torch.long)),
        "emissions must have dimension of 3, got 2",
    ),
    (lambda crf: crf.decode(torch.zeros(1, 2)), "emissions must have dimension of 3, got 2"),
    (
        lambda crf: crf(torch.zeros(1, 2, 3), torch.zeros(2, 2, dtype=torch.long)),
        "the first two dimensions of emissions and tags must match, got (1, 2) and (2, 2)",
    ),
    (
        lambda crf: crf(torch.zeros(1, 2, 4), torch.zeros(1, 2, dtype=torch.long)),
        "expected last dimension of emissions is 3, got 4",
    ),
    (
        lambda crf: crf(torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.long), torch.ones(2, 1, dtype=torch.bool)),
        "the first two dimensions of emissions and mask must match, got (1, 2) and (2, 1)",
    ),
    (
        lambda crf: crf(torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.long), torch.tensor([[False, True]])),
        "mask of the first timestep must all be on",
    ),
    (
        lambda crf: crf.decode(torch.zeros(1, 2, 3), torch.tensor([[False, True]])),
        "mask of the first timestep must all be on",
    ),
    (
        lambda crf: crf(torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.long), reduction="foo"),
        "invalid reduction: foo",
    ),
    (lambda crf: type(crf)(0), "invalid number of tags: 0"),
]


@pytest.mark.parametrize(("question", "message"), WRONG)
def test_errors_are_the_originals(question, message):
    with pytest.raises(ValueError) as found:  # noqa: PT011
        question(CRF(3))
    assert str(found.value) == message


@pytest.mark.parametrize(("question", "message"), WRONG)
def test_errors_of_the_original(original, question, message):
    with pytest.raises(ValueError) as found:  # noqa: PT011
        question(original(3))
    assert str(found.value) == message


def test_a_mask_with_holes_removes_positions():
    crf = CRF(5, batch_first=True)
    emissions, tags, _ = batch(batch_first=True)
    mask = torch.tensor([[True, False, True, True, False, True]]).expand(4, 6)
    kept = [0, 2, 3, 5]
    torch.testing.assert_close(crf(emissions, tags, mask), crf(emissions[:, kept], tags[:, kept]))
    assert crf.decode(emissions, mask) == crf.decode(emissions[:, kept])


def test_scores_that_mean_nothing():
    crf = CRF(5)
    emissions, tags, mask = batch()
    emissions[0, 1, 2] = torch.nan
    with pytest.raises(ValueError, match=r"emissions\[1, 0, 2\] is NaN"):
        crf(emissions, tags, mask)


def test_it_compiles_without_a_graph_break():
    crf = CRF(5)
    emissions, tags, mask = batch()
    told = torch._dynamo.explain(lambda x: crf(x, tags, mask))(emissions.requires_grad_())
    assert (told.graph_count, told.graph_break_count) == (1, 0)


def run(*words):
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_install_and_the_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torchcrf\nprint(torchcrf.CRF.__module__, torchcrf.__version__)")
    assert run("-m", "trelliswork.compat", str(program)) == ["trelliswork.compat.torchcrf", "0.7.2"]


def test_torch_is_not_imported_unless_asked_for():
    told = run("-c", "import sys, trelliswork.compat as c; c.install(); import seqeval; print('torch' in sys.modules)")
    assert told == ["False"]
