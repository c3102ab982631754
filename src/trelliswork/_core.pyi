"""
The compiled core of trelliswork; use the public names of the package instead.
"""

from collections.abc import Callable
from typing import Annotated

import numpy
from numpy.typing import NDArray


class ChainBatch:
    def __init__(self, unary: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], transitions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_jobs: int) -> None: ...

    def log_partition(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def entropy(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def marginals(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def edge_marginals(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def total_edge_marginals(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def max_marginals(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def forward(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def backward(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def argmax(self, arg0: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def score(self, arg0: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def span_probability(self, arg0: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg2: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], arg3: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def sample(self, arg0: int, arg1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg2: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], /) -> None: ...

    def kbest(self, k: int, astar: bool) -> list: ...

    def first_dead_end(self) -> list[int]: ...

class Expectation:
    def __init__(self, transitions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_attributes: int) -> None: ...

    def feed(self, unary: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], attributes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], last: bool) -> None: ...

    def result(self) -> tuple: ...

class NGramChain:
    def __init__(self, unary: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ngram: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def marginals(self, arg0: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], arg2: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def log_partition(self) -> float: ...

    def entropy(self) -> float: ...

    def first_dead_end(self) -> int: ...

    def max_marginals(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def kbest(self, k: int, astar: bool) -> list: ...

    def sample(self, n: int, uniforms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list: ...

class SegmentChain:
    def __init__(self, segment_scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], transitions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def marginals(self, arg0: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], arg2: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def log_partition(self) -> float: ...

    def entropy(self) -> float: ...

    def first_dead_end(self) -> int: ...

    def max_marginals(self, arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def kbest(self, k: int, astar: bool) -> list: ...

    def sample(self, n: int, uniforms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list: ...

def scalar_vectors(chain: ChainBatch, semiring: str, reverse: bool) -> NDArray[numpy.float64]: ...

def kbest_vectors(chain: ChainBatch, k: int, reverse: bool) -> list[list[float]]: ...

def python_vectors(chain: ChainBatch, plus: Callable, times: Callable, zero: object | None, one: object | None, lift: Callable, reverse: bool) -> list: ...

class Source:
    """Sequences of tokens whose attributes can be asked for."""

    @property
    def n_sequences(self) -> int: ...

    def length(self, arg: int, /) -> int: ...

class Oracle:
    """
    Examples with gold structures, and questions about them at given weights.
    """

    @property
    def n_examples(self) -> int: ...

    @property
    def n_weights(self) -> int: ...

    def set_cost_scale(self, nu: float) -> None:
        """The factor of the cost added to wrong structures; 0 for none."""

    @property
    def l1_factors(self) -> NDArray[numpy.float64]:
        """How much each weight counts in |w|_1."""

    def loss(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int = 1, precise: bool = True) -> float:
        """The loss of all examples; its gradient is written into `gradient`."""

    def curvature(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], diagonal: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int = 1) -> None:
        """A diagonal estimate of the second derivative, written into `diagonal`."""

class LabelOracle(Oracle):
    """Multinomial logistic loss: one label for each row of X."""

    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, sample_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> LabelOracle:
        """
        From a matrix. `sample_weight` and `cost` may be empty: ones, and 0/1 cost.
        """

    @staticmethod
    def sparse(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, sample_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> LabelOracle:
        """From the parts of a CSR matrix."""

    @property
    def n_labels(self) -> int: ...

class Solver:
    """Minimises the penalised loss of an oracle, one iteration a call."""

    def step(self, n_jobs: int = 1) -> None:
        """One iteration; nothing happens once the outcome is known."""

    @property
    def phase(self) -> str: ...

    @property
    def objective(self) -> float: ...

    @property
    def gradient_norm(self) -> float: ...

    @property
    def gap(self) -> float:
        """A guess of how far the objective is above its minimum."""

    @property
    def passes(self) -> float:
        """Passes over the data so far."""

    @property
    def iterations(self) -> int: ...

    @property
    def outcome(self) -> str: ...

    def weights(self) -> NDArray[numpy.float64]:
        """A copy of the weights."""

    def state(self) -> dict:
        """All that `restore` needs."""

    def restore(self, state: dict) -> None:
        """Go on from where `state` was taken, to the identical result."""

class Lbfgs(Solver):
    """Limited-memory BFGS, for objectives without L1."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, l2: float = 1.0, l1: float = 0.0, memory: int = 6, tol: float = 0.0005, scaled: bool = False) -> None: ...

class Owlqn(Solver):
    """Orthant-wise L-BFGS, for objectives with L1."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, l2: float = 1.0, l1: float = 0.0, memory: int = 6, tol: float = 0.0005, scaled: bool = False) -> None: ...

class Sgd(Solver):
    """Stochastic gradient descent; an iteration is a pass over the data."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, l2: float = 1.0, batch: int = 4, shards: int = 2, step: float = 0.0, tol: float = 0.0005, seed: int = 0) -> None: ...

    @property
    def first_step_size(self) -> float:
        """eta_0, given or found."""

def exact_objective(oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: float, l1: float = 0.0, n_jobs: int = 1) -> float:
    """The penalised loss in double precision."""

def kernels() -> str:
    """Instruction set of the kernels in use."""

def kernel_width() -> int:
    """Doubles in one vector of the kernels in use."""

def first_invalid(arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], /) -> int:
    """
    Flat index of the first NaN, +inf or value beyond 1e300; the size when there is none.
    """

def exponentials(arg0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None:
    """e**x of each value (x <= 700), as the kernels compute it."""

def probe(what: str, rounds: int) -> float:
    """Run a throughput probe; returns how many operations were done."""
