"""All solvers of one convex problem reach the same objective, and it is the minimum of the program written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.small_problems import chains, label_oracle, oracles
from reference import max_margin
from trelliswork import _core
from trelliswork.learners.batch import CuttingPlane, FrankWolfe
from trelliswork.learners.crf import CRF
from trelliswork.learners.dual import SDM, LaRank
from trelliswork.learners.exponentiated_gradient import ExponentiatedGradient

AGREE = 1e-4  # of the objective

# Each minimises |w|^2 / 2 + C * sum of hinge losses; a new solver is a line here.
MAX_MARGIN = {
    "frank-wolfe": lambda C: FrankWolfe(C, 50_000, tol=5e-5, averaged=False, gap_every=20),
    "frank-wolfe, weighted": lambda C: FrankWolfe(C, 50_000, tol=5e-5, gap_every=20),
    "cutting-plane": lambda C: CuttingPlane(C, 2000, tol=1e-6),
    "exponentiated-gradient": lambda C: ExponentiatedGradient(
        C=C, epochs=50_000, loss="max-margin", tol=5e-5, gap_every=20
    ),
    "sdm": lambda C: SDM(C, 5000, tau=1e-7, tol=1e-5),
    "sdm, k = 3": lambda C: SDM(C, 5000, k=3, tau=1e-7, tol=1e-5),
    "larank": lambda C: LaRank(C, 5000, tau=1e-7, tol=1e-5),
}

# The same with rescaled slack.
RESCALED_SLACK = {
    "frank-wolfe": lambda C: FrankWolfe(C, 50_000, tol=5e-5, rescaling="slack", averaged=False, gap_every=20),
    "frank-wolfe, weighted": lambda C: FrankWolfe(C, 50_000, tol=5e-5, rescaling="slack", gap_every=20),
    "cutting-plane": lambda C: CuttingPlane(C, 2000, tol=1e-6, rescaling="slack"),
    "sdm": lambda C: SDM(C, 5000, loss="slack", tau=1e-7, tol=1e-5),
}
SOLVERS = {"margin": MAX_MARGIN, "slack": RESCALED_SLACK}

# Each minimises the sum of log losses + l2/2 |w|^2.
LOG_LOSS = {
    "lbfgs": lambda l2: CRF(l2, solver="lbfgs", tol=1e-9),
    "sgd-lbfgs": lambda l2: CRF(l2, solver="sgd-lbfgs", tol=1e-9),
    "exponentiated-gradient": lambda l2: ExponentiatedGradient(l2, 5000, tol=1e-5),
}


@pytest.mark.parametrize(
    ("rescaling", "name"), [(rescaling, name) for rescaling in SOLVERS for name in SOLVERS[rescaling]]
)
@given(make=oracles(), C=st.sampled_from([0.02, 0.2, 1.0]))
@settings(max_examples=15)
def test_max_margin_solvers_reach_the_minimum_of_the_program_written_out(rescaling, name, make, C):
    if name.startswith("frank-wolfe"):
        C /= 20  # its gap falls as C / passes: with some problems 50,000 are not enough for C = 0.2
    oracle, sample_weight = make()
    least = max_margin.minimum(oracle, C, sample_weight, rescaling)
    trained = SOLVERS[rescaling][name](C).train(oracle)
    found = max_margin.objective(oracle, trained.weights, C, sample_weight, rescaling)
    np.testing.assert_allclose(found, least, rtol=AGREE, atol=1e-6)


SETS = {
    "labels": lambda: label_oracle(21, n=60, d=4, k=4, costly=True)[0],
    "chains": lambda: chains(22, {"valued"}, n_labels=3, n_sequences=12, max_length=5)[0],
}


@pytest.mark.parametrize("examples", SETS)
@pytest.mark.parametrize("rescaling", SOLVERS)
@pytest.mark.parametrize("C", [0.05, 0.5])
def test_max_margin_solvers_agree(examples, rescaling, C):
    found = {name: objective(SETS[examples](), make(C), C, rescaling) for name, make in SOLVERS[rescaling].items()}
    np.testing.assert_allclose(list(found.values()), min(found.values()), rtol=AGREE, err_msg=str(found))


@pytest.mark.parametrize("examples", SETS)
@pytest.mark.parametrize("l2", [0.5, 5.0])
def test_log_loss_solvers_agree(examples, l2):
    found = {}
    for name, make in LOG_LOSS.items():
        oracle = SETS[examples]()
        trained = make(l2).train(oracle)
        found[name] = _core.exact_objective(oracle, trained.weights, l2)
    np.testing.assert_allclose(list(found.values()), min(found.values()), rtol=AGREE, err_msg=str(found))


def objective(oracle, learner, C, rescaling):
    weights = learner.train(oracle).weights
    return weights @ weights / 2 + C * _core.hinge_sum(oracle, weights, rescaling=rescaling)
