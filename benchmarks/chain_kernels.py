"""Log partition, marginals and argmax: this library, pytorch-crf, torch-struct and hmmlearn on the same shapes.

All use two threads where they can. This library's time includes handing the arrays over and checking them. hmmlearn
answers for a categorical HMM of the same size (its emissions are looked up, ours are given); the torch libraries work
in single precision, this one in double. torch-struct needs memory of order B T K^3: the address space is capped, and
what does not fit is reported as failed.
"""

from __future__ import annotations

import resource
import warnings
from collections.abc import Callable

import hmmlearn.hmm
import numpy as np
import torch
import torch_struct
import torchcrf

import trelliswork as tw
from timing import SHAPES, best_seconds, print_load, print_table

THREADS = 2
MEMORY_CAP = 10 * 2**30
QUESTIONS = ("log partition", "marginals", "argmax")


def main() -> None:
    """Print one table per shape."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(THREADS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_CAP, MEMORY_CAP))
    print_load()
    worst: dict[str, float] = {}
    for shape in SHAPES:
        rng = np.random.default_rng(0)
        unary, transitions = rng.normal(size=shape), rng.normal(size=(shape[2], shape[2]))
        ours = trelliswork(unary, transitions)
        check_agreement(unary, transitions)
        times = {question: best_seconds(ask) for question, ask in ours.items()}
        rows = [["trelliswork", *(1e3 * times[question] for question in QUESTIONS), "", "", ""]]
        peers = {
            "pytorch-crf": pytorch_crf(unary, transitions),
            "torch-struct": torch_structured(unary, transitions),
            "hmmlearn (scaling)": hmm(shape, "scaling"),
            "hmmlearn (log)": hmm(shape, "log"),
        }
        for name, asked in peers.items():
            found = [attempt(asked[question]) for question in QUESTIONS]
            ratios = [seconds / times[q] if seconds else None for q, seconds in zip(QUESTIONS, found, strict=True)]
            rows.append(
                [
                    name,
                    *(1e3 * s if s else "failed" for s in found),
                    *(f"{ratio:.0f}x" if ratio else "-" for ratio in ratios),
                ]
            )
            worst[name] = min([worst.get(name, np.inf), *(ratio for ratio in ratios if ratio)])
        print_table(
            f"(batch, positions, labels) = {shape}: milliseconds, and how many times faster trelliswork is",
            ["library", *QUESTIONS, *(f"vs {q}" for q in QUESTIONS)],
            rows,
        )
    print("\nSmallest ratio of each peer over all shapes and questions:")
    for name, ratio in worst.items():
        print(f"  {name}: {ratio:.1f}x")


def attempt(question: Callable[[], object]) -> float | None:
    """Time a peer's question; None when it fails (torch-struct runs out of memory)."""
    try:
        return best_seconds(question)
    except (RuntimeError, MemoryError):
        return None


def trelliswork(unary: np.ndarray, transitions: np.ndarray) -> dict[str, Callable[[], object]]:
    """Ask this library, arrays handed over anew each time."""
    return {
        "log partition": lambda: tw.ChainBatch(unary, transitions, n_jobs=THREADS).log_partition(),
        "marginals": lambda: tw.ChainBatch(unary, transitions, n_jobs=THREADS).marginals(),
        "argmax": lambda: tw.ChainBatch(unary, transitions, n_jobs=THREADS).argmax(),
    }


def pytorch_crf(unary: np.ndarray, transitions: np.ndarray) -> dict[str, Callable[[], object]]:
    """Ask pytorch-crf: the likelihood is its log partition, the gradient by the emissions its marginals."""
    model, emissions, gold = crf_layer(unary, transitions)

    def marginals() -> None:
        scores = emissions.clone().requires_grad_(True)
        model(scores, gold).backward()

    def no_gradient(ask: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            with torch.no_grad():
                return ask()

        return run

    return {
        "log partition": no_gradient(lambda: model(emissions, gold)),
        "marginals": marginals,
        "argmax": no_gradient(lambda: model.decode(emissions)),
    }


def crf_layer(unary: np.ndarray, transitions: np.ndarray) -> tuple[torchcrf.CRF, torch.Tensor, torch.Tensor]:
    """Return pytorch-crf's layer with our scores in it, the emissions and a labelling of zeros."""
    model = torchcrf.CRF(unary.shape[2], batch_first=True)
    with torch.no_grad():
        model.transitions.copy_(torch.tensor(transitions))
        model.start_transitions.zero_()
        model.end_transitions.zero_()
    return model, torch.tensor(unary, dtype=torch.float32), torch.zeros(unary.shape[:2], dtype=torch.long)


def torch_structured(unary: np.ndarray, transitions: np.ndarray) -> dict[str, Callable[[], object]]:
    """Ask torch-struct, its potentials made beforehand."""
    emissions = torch.tensor(unary, dtype=torch.float32)
    potentials = emissions[:, 1:, :, None] + torch.tensor(transitions.T, dtype=torch.float32)
    potentials[:, 0] += emissions[:, 0, None, :]
    return {
        "log partition": lambda: torch_struct.LinearChainCRF(potentials).partition,
        "marginals": lambda: torch_struct.LinearChainCRF(potentials).marginals,
        "argmax": lambda: torch_struct.LinearChainCRF(potentials).argmax,
    }


def hmm(shape: tuple[int, int, int], implementation: str) -> dict[str, Callable[[], object]]:
    """Ask hmmlearn about a categorical HMM of the same size."""
    n_chains, length, n_labels = shape
    rng = np.random.default_rng(0)
    model = hmmlearn.hmm.CategoricalHMM(n_components=n_labels, implementation=implementation)
    model.n_features = 50
    model.startprob_ = np.full(n_labels, 1.0 / n_labels)
    model.transmat_ = rng.dirichlet(np.ones(n_labels), n_labels)
    model.emissionprob_ = rng.dirichlet(np.ones(50), n_labels)
    observed = rng.integers(0, 50, size=(n_chains * length, 1))
    lengths = [length] * n_chains
    return {
        "log partition": lambda: model.score(observed, lengths),
        "marginals": lambda: model.predict_proba(observed, lengths),
        "argmax": lambda: model.decode(observed, lengths),
    }


def check_agreement(unary: np.ndarray, transitions: np.ndarray) -> None:
    """Make sure that what is timed is the same answer: log partition and marginals equal pytorch-crf's.

    In double precision; how far its marginals are off in single precision, as it is timed, is printed.
    """
    model, emissions, gold = crf_layer(unary, transitions)
    single = emissions.clone().requires_grad_(True)
    model(single, gold).backward()
    scores = torch.tensor(unary, requires_grad=True)
    model = model.double()
    with torch.no_grad():
        model.transitions.copy_(torch.tensor(transitions))
    log_prob = model(scores, gold, reduction="none")
    log_prob.sum().backward()
    batch = tw.ChainBatch(unary, transitions)
    zeros = [np.zeros(unary.shape[1], dtype=int)] * len(unary)
    np.testing.assert_allclose(log_prob.detach(), batch.score(zeros) - batch.log_partition(), rtol=1e-9)
    assert scores.grad is not None
    assert single.grad is not None
    marginals = np.eye(unary.shape[2])[gold] - scores.grad.numpy()
    np.testing.assert_allclose(np.stack(batch.marginals()), marginals, rtol=0, atol=1e-8)
    off = np.abs(np.eye(unary.shape[2])[gold] - single.grad.numpy() - marginals).max()
    print(f"\n{unary.shape}: pytorch-crf's marginals in single precision are off by up to {off:.1e}")


if __name__ == "__main__":
    main()
