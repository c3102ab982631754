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

    def loss(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int = 1, precise: bool = True) -> float:
        """The loss of all examples; its gradient is written into `gradient`."""

    def curvature(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], diagonal: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int = 1) -> None:
        """A diagonal estimate of the second derivative, written into `diagonal`."""

class KeySource(Source):
    """Attributes given as arrays of keys."""

    def __init__(self, lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, pair_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, pair_keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, pair_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

class Examples:
    """A training set as it is read: attributes as numbers, and labels."""

    def __init__(self, hash_bits: int = 0, keep_names: bool = True) -> None: ...

    def add(self, source: Source, codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, sequence_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, token_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_jobs: int = 1) -> None:
        """
        Add the sequences of a source with the labels that their tokens may carry.
        """

    @property
    def n_sequences(self) -> int: ...

    @property
    def n_tokens(self) -> int: ...

    @property
    def n_attributes(self) -> int: ...

    @property
    def memory_bytes(self) -> int: ...

class DevSet:
    """Sequences that are tagged while training goes on."""

    @property
    def n_tokens(self) -> int: ...

    def argmax(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_jobs: int = 1) -> NDArray[numpy.int32]:
        """The best label of every token, all sequences one after the other."""

class ChainOracle(Oracle):
    """The oracle of first-order chains."""

    def __init__(self, examples: Examples, n_labels: int, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], min_count: int = 1, combinations: str = 'seen', transitions: bool = True, allowed_transitions: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, allowed_start: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, allowed_end: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, general: bool = False) -> None: ...

    def export(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict:
        """The tensors of a model with these weights."""

    def weights_from(self, tensors: dict) -> NDArray[numpy.float64]:
        """Weights that start from another model; attributes are matched by key."""

    def dev(self, source: Source, n_jobs: int = 1) -> DevSet: ...

    def working(self) -> WorkingWeights:
        """A copy of the weights for stochastic steps."""

    def set_cost_scale(self, scale: float) -> None:
        """
        How much of the cost is added to the score of a wrong labelling (softmax-margin).
        """

    @property
    def l1_factors(self) -> NDArray[numpy.float64]:
        """How much each weight counts in a sum of absolute values."""

    @property
    def n_labels(self) -> int: ...

    @property
    def n_parameters(self) -> int:
        """Weights, one per attribute and label."""

    @property
    def memory_bytes(self) -> int: ...

    @property
    def fast(self) -> bool:
        """Whether the layout made for speed is in use."""

class WorkingWeights:
    """Weights that stochastic steps change in place."""

    def load(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def store(self) -> NDArray[numpy.float64]: ...

    def descend(self, examples: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], step: float) -> float: ...

    def multiply(self, factor: float) -> None: ...

    @property
    def scale(self) -> float: ...

    @property
    def squared_norm(self) -> float: ...

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
