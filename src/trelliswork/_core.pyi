"""
The compiled core of trelliswork; use the public names of the package instead.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, overload

import numpy
import numpy.typing
from numpy.typing import NDArray


class Stop:
    """
    Lets what the core does in a `with` block, in any thread, end by KeyboardInterrupt.
    """

    def __init__(self) -> None: ...

    def set(self) -> None: ...

    @property
    def is_set(self) -> bool: ...

    def __enter__(self) -> None: ...

    def __exit__(self, type: object | None, value: object | None, traceback: object | None) -> None: ...

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

    def beam_argmax(self, arg0: int, arg1: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], arg2: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def score(self, arg0: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def span_probability(self, arg0: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg2: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg3: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], arg4: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None: ...

    def sample(self, arg0: int, arg1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg2: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], /) -> None: ...

    def kbest(self, k: int, astar: bool) -> list: ...

    def first_dead_end(self) -> list[int]: ...

class Expectation:
    def __init__(self, transitions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_attributes: int) -> None: ...

    def feed(self, unary: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], attributes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], last: bool) -> None: ...

    def result(self) -> tuple: ...

@overload
def padded_losses(unary: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], transitions: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], mask: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, gold: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, cost: float, best: bool, n_jobs: int, losses: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, d_unary: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, d_transitions: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, d_start: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, d_end: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None) -> tuple: ...

@overload
def padded_losses(unary: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], transitions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], mask: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, gold: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, cost: float, best: bool, n_jobs: int, losses: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, d_unary: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, d_transitions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, d_start: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, d_end: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> tuple:
    """
    Losses of chains and, with weights, the gradient of their weighted sum; returns what is wrong and where.
    """

def scalar_vectors(chain: ChainBatch, semiring: str, reverse: bool) -> NDArray[numpy.float64]: ...

def kbest_vectors(chain: ChainBatch, k: int, reverse: bool) -> list[list[float]]: ...

def python_vectors(chain: ChainBatch, plus: Callable, times: Callable, zero: object | None, one: object | None, lift: Callable, reverse: bool) -> list: ...

@overload
def hash_bytes(text: str) -> int:
    """The 64-bit key of a name, as model files hold it."""

@overload
def hash_bytes(text: bytes, seed: int = 0) -> int:
    """The key of a string."""

class Source:
    """Sequences of sites (tokens, spans) whose attributes can be asked for."""

    @property
    def n_sequences(self) -> int: ...

    def length(self, arg: int, /) -> int: ...

    @property
    def channels(self) -> list[str]:
        """Names of the kinds of attributes."""

    def lengths(self) -> NDArray[numpy.int64]: ...

    def attributes(self, first: int, last: int) -> list[tuple]:
        """
        Those of sequences first .. last - 1, for each channel as (starts by site, keys, values or None when all are 1).
        """

    def name(self, sequence: int, site: int, i: int, channel: str = 'token') -> str:
        """The readable name of the i-th attribute of a site."""

class AttributeSource(Source):
    """Named attributes of tokens: dicts, or lists of strings."""

    def __init__(self, X: object, names: bool = False, where: str = 'X', first: int = 0, channel: str = 'token') -> None: ...

class MatrixSource(Source):
    """Rows of a matrix: column j is the attribute x[j]."""

    @overload
    def __init__(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], channel: str = 'token') -> None: ...

    @overload
    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], channel: str = 'token') -> None: ...

    @overload
    def __init__(self, indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], channel: str = 'token') -> None: ...

    @overload
    def __init__(self, indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], channel: str = 'token') -> None: ...

    @overload
    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], channel: str = 'token') -> None: ...

    @overload
    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], channel: str = 'token') -> None: ...

class Columns:
    """Tokens as rows of text columns, sequence after sequence."""

    @property
    def n_sequences(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    def lengths(self) -> NDArray[numpy.int64]:
        """How many tokens each sequence has."""

    def sequence(self, i: int) -> list:
        """
        The tokens of a sequence: strings if there is one column, else tuples of strings.
        """

    def where(self, row: int) -> str:
        """What a message calls this row: its file and line, or its place in X."""

    def labels(self, column: int, known: Sequence[str] = []) -> tuple[numpy.ndarray, list[str]]:
        """
        The values of a column as numbers in order of first sight, continuing `known`, and the table of values.
        """

    def part(self, first: int, last: int) -> Columns:
        """Sequences first .. last - 1 alone; the text is shared."""

    def without(self, column: int) -> Columns:
        """The same rows without one column; the text is shared."""

def parse_columns(data: bytes, separator: str | None = None, comments: str | None = None, keep_docstart: bool = False, name: str = '', first_line: int = 1, n_columns: int = 0) -> Columns:
    """
    The rows of a column file. Rules and errors are those of trelliswork.corpora.read_columns.
    """

def count_lines(data: bytes) -> int:
    """How many ends of lines there are."""

def columns_from_lists(X: Iterable) -> Columns:
    """
    Rows from sequences of strings, or of tuples of strings that all have the same width.
    """

class Extractor:
    """Compiled templates: from rows of columns to attributes."""

    def __init__(self, views: Sequence[tuple[str, int, Sequence[tuple[str, int, str]], str, int]], templates: Sequence[tuple[str, Sequence[str], Sequence[tuple[int, int, str]]]], resources: Sequence[str]) -> None: ...

    @property
    def n_columns(self) -> int:
        """How many columns the templates need."""

class ColumnSource(Source):
    """Rows of columns, seen through templates."""

    def __init__(self, columns: Columns, extractor: Extractor) -> None: ...

    def attribute_arrays(self, first: int, last: int, channel: str = 'token') -> tuple:
        """
        Starts of the tokens, keys and values (none when all are 1) of the attributes of some sequences.
        """

    def attribute_names(self, sequence: int, channel: str = 'token') -> list[list[str]]:
        """The names of the attributes of each token of a sequence."""

class SpanExtractor:
    """Compiled templates about spans."""

    def __init__(self, views: Sequence[tuple[str, int, Sequence[tuple[str, int, str]], str, int]], templates: Sequence[tuple[str, Sequence[tuple[int, int, str, Sequence[int]]]]], resources: Sequence[str]) -> None: ...

    @property
    def n_columns(self) -> int:
        """How many columns the templates need."""

    @property
    def n_templates(self) -> int: ...

class SpanSource(Source):
    """
    Spans of rows of columns, seen through templates: site begin * longest + (size - 1) is the span of so many tokens from `begin` on. With `longest` 0 all spans have sites, and only these.
    """

    @overload
    def __init__(self, columns: Columns, extractor: SpanExtractor, longest: int) -> None: ...

    @overload
    def __init__(self, tokens: ColumnSource, extractor: SpanExtractor, longest: int) -> None: ...

    @property
    def longest(self) -> int:
        """How many tokens a span has at most."""

    def attribute_arrays(self, first: int, last: int, channel: str = 'span') -> tuple:
        """
        Starts of the sites, keys and values (none when all are 1) of the attributes of some sequences.
        """

    def attribute_names(self, sequence: int, channel: str = 'span') -> list[list[str]]:
        """The names of the attributes of each site of a sequence."""

class ArcExtractor:
    """Compiled templates about arcs."""

    def __init__(self, views: Sequence[tuple[str, int, Sequence[tuple[str, int, str]], str, int]], templates: Sequence[tuple[str, str, Sequence[tuple[int, int, str, Sequence[int], str]]]], resources: Sequence[str]) -> None: ...

    @property
    def n_columns(self) -> int:
        """How many columns the templates need."""

    @property
    def n_templates(self) -> int: ...

    @property
    def channels(self) -> list[str]:
        """The channels that have templates."""

def search_pattern(pattern: str, text: str, wapiti: bool = False) -> str | None:
    """
    The leftmost match of a regular expression of templates in a text, or None.
    """

def value_key(text: str) -> int:
    """The hash that keys are made of; never 0."""

def combine_keys(a: int, b: int) -> int:
    """The key of a combination, in this order."""

class Treebank:
    """The words, heads and relations of a CoNLL-U text."""

    @property
    def words(self) -> Columns:
        """Form, lemma, upos, xpos and feats of each word; the text is shared."""

    @property
    def relations(self) -> Columns:
        """The column DEPREL of the words."""

    def heads(self) -> NDArray[numpy.int32]:
        """
        The heads of all words, -1 where one is not known; empty when they were not read.
        """

    def ends(self) -> NDArray[numpy.int64]:
        """Where the text of each sentence ends."""

    def with_trees(self, heads: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], relations: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], names: Sequence[str]) -> bytes:
        """The text with these heads and, unless there are none, these relations."""

def parse_treebank(data: bytes, heads: bool = True, partial: bool = False, single_root: bool = True, name: str = '', first_line: int = 1) -> Treebank:
    """Read CoNLL-U; see trelliswork.corpora.read_treebank."""

class Oracle:
    """
    Examples with gold structures, and questions about them at given weights.
    """

    @property
    def n_examples(self) -> int: ...

    @property
    def n_weights(self) -> int: ...

    @property
    def answers(self) -> tuple[str, ...]:
        """The questions that learners may ask."""

    @property
    def l1_factors(self) -> NDArray[numpy.float64]:
        """How much each weight counts in |w|_1."""

    @property
    def nonnegative(self) -> NDArray[numpy.uint32]:
        """The numbers of weights that must never be negative."""

    def kbest(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], example: int, k: int = 1, nu: float = 0.0) -> list:
        """
        The k best structures under score + nu * cost: (code, score, cost, indices, values of f(gold) - f(y)).
        """

    def margins(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], example: int, k: int, others: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list:
        """
        Of the k best structures at `weights`: the score of gold less theirs at `others`; NaN without a quick way.
        """

    def slack_argmax(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], example: int) -> object:
        """
        (code, score, cost) of the structure with the highest cost * (1 + score - score of gold), or None.
        """

    def part_scores(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], example: int) -> NDArray[numpy.float64]:
        """Scores of the parts of an example."""

    def part_costs(self, example: int) -> NDArray[numpy.float64]:
        """Costs of the parts of an example."""

    def marginals(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], example: int) -> tuple:
        """
        Under these part scores: log Z, marginals of the parts, indices and values of f(gold) - expectation.
        """

    def local(self) -> Oracle:
        """
        The same examples as single decisions given the gold ones before; or None.
        """

    def loss(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int = 1, precise: bool = True, nu: float = 0.0) -> float:
        """The loss of all examples; its gradient is written into `gradient`."""

    def curvature(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], diagonal: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int = 1, nu: float = 0.0) -> None:
        """A diagonal estimate of the second derivative, written into `diagonal`."""

class PartStructure:
    """An output family made of scored parts; see core/structures."""

    @staticmethod
    def chain(n_labels: int, tied: bool = True, transitions: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, start: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, end: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, kernels: bool = False) -> PartStructure:
        """`kernels`: by the kernels of chains, or as any dynamic program."""

    @staticmethod
    def segments(n_labels: int, longest: int, tied: bool = True, transitions: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, start: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, end: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, lengths: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> PartStructure: ...

    @staticmethod
    def automaton(n_labels: int, arcs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], tied: bool = True) -> PartStructure: ...

    @staticmethod
    def projective_tree(n_labels: int = 1, single_root: bool = True, siblings: bool = False, grandparents: bool = False) -> PartStructure:
        """Projective dependency trees; see core/structures/dependency.hpp."""

    @staticmethod
    def bracketing(n_labels: int) -> PartStructure:
        """
        Block: spans, n (n + 1) / 2 x n_labels; outputs are rows of begin, end and label.
        """

    @staticmethod
    def arborescence(n_labels: int = 1, single_root: bool = True) -> PartStructure:
        """Dependency trees whose arcs may cross."""

    @staticmethod
    def nested_bracketing(n_labels: int, allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> PartStructure:
        """
        Blocks: spans, children (pairs of labels), splits; see core/structures/nested_bracketing.cpp.
        """

    @staticmethod
    def grammar(n_symbols: int, n_inner: int, n_terminals: int, n_codes: int, rules: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> PartStructure:
        """
        Derivations of a grammar; see core/structures/grammar.cpp. 2^32 - 1 stands for none.
        """

    @staticmethod
    def graph(n_labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], kinds: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], method: str = 'auto', iterations: int = 1000, tolerance: float = 1e-06, damping: float = 0.5, seconds: float = 0.0, relaxed: bool = False, branch: bool = False, approximate_sums: bool = False, most_entries: float = 67108864.0) -> PartStructure:
        """
        Labels of the nodes of graphs; n_labels by node type; kinds of edges: two types each, one after the other. Shape, blocks and outputs: core/structures/families.hpp. `method`: auto, exact, bp, trw, ad3, cut or ilp.
        """

    @staticmethod
    def spanning_tree() -> PartStructure:
        """
        Spanning trees of undirected graphs; see core/structures/spanning_tree.cpp.
        """

    @staticmethod
    def matching() -> PartStructure:
        """Bipartite matchings; see core/structures/matching.cpp."""

    @staticmethod
    def alignment(affine: bool = False, free_ends: bool = False) -> PartStructure:
        """
        Monotone alignments of two sequences; see core/structures/alignment.cpp.
        """

    @staticmethod
    def grid(n_labels: int, n_dimensions: int = 2, neighbours: int = 4, associative: bool = True, inference: str = 'auto', relaxed: bool = False, iterations: int = 1000, seconds: float = 0.0) -> PartStructure:
        """
        Labelled grids; see core/structures/grid.cpp. `inference`, where no answer is exact: auto, cut, bp, trw or ad3.
        """

    def answers_lists(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
        """
        Whether several best outputs can be had; of a graph, whether exact answers can.
        """

    def answers_sums(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
        """Whether sums over all outputs of a shape are within reach."""

    def blocks(self, arg: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> list:
        """Name, sites and codes of each kind of parts."""

    def parts_of(self, arg0: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> NDArray[numpy.uint32]: ...

    def output_of(self, arg0: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> NDArray[numpy.uint32]: ...

    def answer(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> object:
        """
        The best output, its score, its gap, and the shares of all parts where it is relaxed; or None.
        """

    def best(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int = 1, allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> list: ...

    def best_output(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """The best output and its score, or None."""

    def log_partition(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> float: ...

    def sums(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
        """The log partition and the marginals."""

    def marginals(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> NDArray[numpy.float64]:
        """How often each part is expected in an output."""

    def max_marginals(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> NDArray[numpy.float64]: ...

    def entropy(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> float: ...

    def sample(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, seed: int, distinct: bool = False, allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> list: ...

    @staticmethod
    def constrained(structure: PartStructure, rows: list) -> PartStructure:
        """
        Outputs that keep rows of (block, a coefficient for each of its codes, lower, upper); see core/structures/constrained.hpp.
        """

    def hyperedges(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int) -> object:
        """
        Of a dynamic program, what an output may have: the part of each node, and of each edge its head, its two tails and its part, -1 for none. Else None.
        """

    def best_within(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: tuple, lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int = 1, nodes: int = 20000, most_listed: int = 4096, seconds: float = float('inf')) -> tuple:
        """
        The best outputs that keep linear constraints on parts (the arrays of a CSR matrix): a list of parts, score and gap; whether that is proved; whether time ran out; a bound; how many questions it took.
        """

    def dead_end(self, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """The first position that no beginning of an output gets past."""

def is_projective(heads: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
    """Whether no two arcs of a tree cross."""

def sibling_sites(shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Head, sibling (or -1) and modifier of every site; see core/structures/dependency.hpp.
    """

def grandparent_sites(shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """Grandparent, head and modifier of every site."""

def bethe_matching(shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], iterations: int, tolerance: float) -> object:
    """
    Sums over matchings as Bethe approximates them: log partition, beliefs by part, whether they converged, and after how many iterations; None where there is no matching.
    """

class NGrams:
    """
    The automaton of a chain of higher order; see core/structures/ngrams.hpp.
    """

    @staticmethod
    def all(n_labels: int, order: int, transitions: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, start: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, end: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None) -> NGrams:
        """
        All n-grams that the rules, and `allowed` with an entry for each of full length, leave.
        """

    @staticmethod
    def seen(n_labels: int, order: int, sequences: list, backoff: bool = False, transitions: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, start: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, end: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, strict: bool = False) -> NGrams:
        """
        The n-grams of label sequences (uint32 arrays). A history that was only seen at an end goes on as its longest suffix does, unless `strict`. With `backoff`, labels that were not seen after a history may follow too, and the longest suffix that was seen is remembered.
        """

    @property
    def n_labels(self) -> int: ...

    @property
    def order(self) -> int: ...

    @property
    def n_arcs(self) -> int: ...

    @property
    def n_states(self) -> int: ...

    @property
    def arcs(self) -> NDArray[numpy.uint32]:
        """Rows of state, label and next state; state 0 is the first."""

    @property
    def final(self) -> NDArray[numpy.uint8]: ...

    @property
    def labels(self) -> NDArray[numpy.int64]:
        """
        The labels of each arc, (n_arcs, order + 1), oldest first; -1 before the beginning.
        """

    def structure(self, tied: bool = True) -> PartStructure:
        """Blocks: labels, T x K; arcs, 1 x n_arcs, or T x n_arcs when not tied."""

class LinearOracle(Oracle):
    """
    Any structure as learners see it: channels of attributes feed its blocks.
    """

    def __init__(self, structure: PartStructure, shapes: list, outputs: list, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], channels: list, combinations: str = 'seen', allowed: tuple | None = None, cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, site_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        `allowed`, in place of outputs that are known only in part: starts and codes of the codes that each site of the first block may have; any where there are none. `cost`, by gold and other code of the first block; `site_weights`, of all its sites.
        """

    @property
    def n_parameters(self) -> int:
        """Weights, one per attribute and code."""

    def weight(self, channel: int, unit: int, code: int) -> int:
        """The number of a weight, or -1."""

class SearchState:
    """Where a search of a factor graph ended."""

    def __init__(self) -> None: ...

    def __copy__(self) -> SearchState: ...

class FactorGraph(PartStructure):
    """One factor graph; see core/graphs/graph.hpp."""

    def __init__(self, n_labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scopes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scope_ends: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], logic: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], literals: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], literal_ends: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], structures: list, most_entries: float) -> None:
        """
        Lists of variables and literals stand one after the other. `logic`: kind (0 xor, 1 or, 2 at-most) and number of each. `structures`: (structure, shape, literals), 2^32 - 1 where a part has none.
        """

    @property
    def n_scores(self) -> int: ...

    @property
    def refusal(self) -> str:
        """Why there are no exact answers; empty where there are."""

    @property
    def width(self) -> tuple:
        """
        Entries of the largest table of elimination, of all messages, and of all tables.
        """

    def search(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], method: str, iterations: int, tolerance: float, damping: float, seconds: float, relaxed: bool, branch: bool, state: SearchState) -> tuple:
        """
        Labels, score, bound, shares, whether it converged, iterations; goes on from `state` and changes it.
        """

    def beliefs(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], method: str, iterations: int, tolerance: float, damping: float, seconds: float, state: SearchState) -> tuple:
        """
        log Z, beliefs of parts, whether messages converged, whether log Z is an upper bound, iterations.
        """

def project_to_counts(point: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], least: int, most: int) -> None:
    """
    Move a point to the nearest one in [0, 1]^n whose sum is from `least` to `most`.
    """

class KeySource(Source):
    """Attributes given as arrays of keys."""

    def __init__(self, lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, pair_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, pair_keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, pair_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

class Storage:
    """How much memory training may take, and the folder of its files."""

    def __init__(self, folder: str, memory: int, per_weight: int = 0, advice: str = '') -> None: ...

    @property
    def available(self) -> int:
        """Bytes that are left to training."""

    @property
    def window(self) -> int:
        """Of these, bytes of files that may be resident."""

    @property
    def in_memory(self) -> int:
        """Bytes of arrays in memory."""

    @property
    def in_files(self) -> int:
        """Bytes of files."""

    @property
    def most_in_files(self) -> int:
        """The most there were."""

class StorageError(OSError):
    """A file of training could not be made, enlarged or read."""

class SiteExamples:
    """Attributes of sites as numbers, by channel."""

    def __init__(self, hash_bits: int = 0, keep_names: bool = True) -> None: ...

    def read(self, source: Source, n_jobs: int = 1) -> None:
        """Add the attributes of a source."""

    def read_only(self, source: Source, sites: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Take the attributes of these sites, and no others from then on."""

    @property
    def n_sequences(self) -> int: ...

    @property
    def n_sites(self) -> int: ...

    def checksum(self) -> int: ...

class Examples(SiteExamples):
    """A training set as it is read: attributes as numbers, and labels."""

    def __init__(self, hash_bits: int = 0, keep_names: bool = True, storage: Storage | None = None) -> None: ...

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

    def vocabulary(self, channel: str, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, seen: bool) -> dict:
        """
        Keys, counts and names of the attributes, in classes of those that always occur together, and the codes that each was `seen` with.
        """

    def seen_transitions(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int) -> NDArray[numpy.uint32]:
        """previous * n_labels + current of neighbouring labels that were seen."""

    def tag_dictionary(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, word: str, loss: float) -> TagDictionary:
        """
        The labels of the attributes whose names begin with `word`: those that they have, and others until no more than a share `loss` of tokens is expected to lack its label.
        """

    def checksum(self) -> int:
        """64 bits that change when sequences, attributes, labels or weights do."""

class TagDictionary:
    """Labels that words may take, as the examples have them."""

    def tensors(self) -> dict:
        """The tensors of a model that has it."""

    @property
    def n_words(self) -> int: ...

    @property
    def n_lost(self) -> int:
        """
        Tokens whose label it would lack, were it made of the other blocks of examples.
        """

class DevSet:
    """Sequences that are tagged while training goes on."""

    @property
    def n_tokens(self) -> int: ...

    def checksum(self) -> int:
        """
        64 bits that change when sequences, or their attributes that have weights, do.
        """

    def argmax(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_jobs: int = 1, local: bool = False, beam: int | None = None) -> NDArray[numpy.int32]:
        """The best label of every token, all sequences one after the other."""

class ChainOracle(Oracle):
    """The oracle of first-order chains."""

    def __init__(self, examples: Examples, n_labels: int, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], min_count: int = 1, combinations: str = 'seen', transitions: bool = True, allowed_transitions: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, allowed_start: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, allowed_end: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None = None, cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, use: str = 'fast', n_jobs: int = 1, by_member: bool = False, earlier: dict | None = None, keep_known: bool = False, min_frequency: float = float('-inf'), also_keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, also_labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        `by_member`: variables are the weights of single attributes, not scaled by how many they stand for. `earlier`: the tensors of the model that training will start from; with `keep_known`, all of its weights whose attributes occur here are among the weights. `min_frequency`: weights whose features add up to less are left out. `also_keys`, `also_labels`: attributes and labels that count as seen together.
        """

    def export(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict:
        """The tensors of a model with these weights."""

    def crfsuite(self, weights: NDArray[numpy.float64], labels: Sequence[bytes]) -> tuple[bytes, int, int]:
        """
        A model file of CRFsuite with these weights, and how many features and attributes it has.
        """

    def extent(self, weights: NDArray[numpy.float64]) -> tuple[int, float]:
        """
        Of weights, one per attribute and label: how many are not 0, and their norm.
        """

    def limit(self, dictionary: TagDictionary) -> None:
        """
        Let words take only the labels that a dictionary made of the examples has for them.
        """

    def weights_from(self, tensors: dict) -> NDArray[numpy.float64]:
        """Weights that start from another model; attributes are matched by key."""

    def dev(self, source: Source, n_jobs: int = 1) -> DevSet: ...

    def working(self) -> WorkingWeights:
        """A copy of the weights for stochastic steps."""

    def linear(self) -> LinearOracle:
        """The same examples and weights for the oracle of any structure."""

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

    def descend(self, examples: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], step: float, nu: float = 0.0) -> float: ...

    def multiply(self, factor: float) -> None: ...

    @property
    def scale(self) -> float: ...

    @property
    def squared_norm(self) -> float: ...

class LabelOracle:
    """Makes oracles of single labels: one for each row of X."""

    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, sample_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], expansion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> LinearOracle:
        """
        From a matrix. `sample_weight` and `cost` may be empty: ones, and 0/1 cost; `expansion` is labels x groups. Weights are [column][label], or [column][group].
        """

    @staticmethod
    def sparse(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, sample_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], expansion: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> LinearOracle:
        """
        From the parts of a CSR matrix; what occurs twice in a row is added up.
        """

class EnumeratedOracle:
    """Makes oracles of outputs that are all written down."""

    @staticmethod
    def make(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gold: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sample_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> LinearOracle:
        """
        Outputs starts[i]:starts[i + 1] are those of example i; their features are rows of a CSR matrix.
        """

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
    def facts(self) -> dict[str, float]:
        """Further numbers worth a line in a log."""

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

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, l2: float, l1: float, nu: float, memory: int, tol: float, scaled: bool, period: int, delta: float) -> None: ...

class Owlqn(Solver):
    """Orthant-wise L-BFGS, for objectives with L1."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, l2: float, l1: float, nu: float, memory: int, tol: float, scaled: bool, period: int, delta: float) -> None: ...

class Proximal(Solver):
    """A proximal quasi-Newton method, for objectives with L1."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, l2: float, l1: float, nu: float, memory: int, tol: float, scaled: bool, period: int, delta: float) -> None: ...

class Sgd(Solver):
    """Stochastic gradient descent; an iteration is a pass over the data."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, l2: float, l1: float, nu: float, batch: int, shards: int, decay: float, step: float, tol: float, seed: int, passes: int = 0) -> None: ...

    @property
    def first_step_size(self) -> float:
        """eta_0, given or found."""

def exact_objective(oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: float, l1: float = 0.0, n_jobs: int = 1, nu: float = 0.0) -> float:
    """The penalised loss in double precision."""

class Perceptron(Solver):
    """The k-best structured perceptron."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, k: int, averaged: bool, shuffle: bool, seed: int, until_settled: bool = True) -> None: ...

class BeamPerceptron(Solver):
    """The perceptron with max-violation updates in a beam."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, beam: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

class PassiveAggressive(Solver):
    """k-best PA, by score and cost or by score alone, and restricted."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, k: int, augmented: bool, restricted: bool, averaged: bool, shuffle: bool, seed: int, aggressiveness: str = 'at most', margin: str = 'cost', until_settled: bool = True) -> None: ...

def solve_block(K: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], violations: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], constraints: str, C: float, tau: float = 0.0) -> tuple:
    """The dual problem inside one example: lambda, gradient, lambda of gold."""

class MIRA(Solver):
    """k-best MIRA, separable or with slack."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, k: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

class SDM(Solver):
    """The k-best sequential dual method, hinge or ramp."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, k: int, loss: str, inner: int, tau: float, tol: float, growth: int, skip: bool, gap_every: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

class LaRank(Solver):
    """k-best LaRank."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, k: int, reprocess: int, tau: float, tol: float, growth: int, gap_every: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

class DualCoordinate(Solver):
    """Dual coordinate ascent for the squared hinge."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, k: int, tau: float, tol: float, growth: int, skip: bool, gap_every: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

class Subgradient(Solver):
    """Subgradient descent with shrinking."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, lam: float, loss: str, epsilon: float, epsilon_decay: float, step: str, gamma: float, batch_size: int, average_after: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

class Pegasos(Solver):
    """Structured Pegasos, in mini-batches."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, lam: float, loss: str, k: int, restricted: bool, cccp: int, step: str, gamma: float, alpha: float, batch_size: int, projection: bool, average_after: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

class Arow(Solver):
    """AROW and confidence-weighted learning."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, variant: str, r: float, phi: float, C: float, variance: float, k: int, averaged: bool, shuffle: bool, seed: int, augmented: bool = True, inverse: bool = False, until_settled: bool = True) -> None: ...

class AveragedWeights:
    """Weights that scale for free, and their lazy average."""

    def __init__(self, start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def add(self, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: float) -> None:
        """w += step * x"""

    def multiply(self, factor: float) -> None:
        """w *= factor"""

    def grow(self, n: int) -> None:
        """Zeros up to n weights."""

    def count(self, times: float = 1.0) -> None:
        """The weights as they are enter the average."""

    @property
    def scale(self) -> float: ...

    @property
    def squared_norm(self) -> float: ...

    def current(self) -> NDArray[numpy.float64]:
        """w"""

    def average(self) -> NDArray[numpy.float64]:
        """The mean of the weights counted; w when none were."""

def slack_rival(oracle: Oracle, weights: numpy.typing.NDArray[numpy.float64], example: int, search: bool = False) -> tuple | None:
    """
    The structure most violated with rescaled slack, or None; with `search`, by kbest alone.
    """

class FrankWolfe(Solver):
    """Block-coordinate Frank-Wolfe for max-margin."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, tol: float, rescaling: str, averaged: str, line_search: bool, gap_every: int, shuffle: bool, seed: int) -> None: ...

    def evaluate(self, n_jobs: int = 1) -> None:
        """Make objective and gap exact."""

class CuttingPlane(Solver):
    """1-slack cutting planes for max-margin."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, C: float, tol: float, rescaling: str) -> None: ...

class ExponentiatedGradient(Solver):
    """Online EG on the dual."""

    def __init__(self, oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, loss: str, kappa: float, tol: float, step: float, gap_every: int, averaged: bool, shuffle: bool, seed: int) -> None: ...

    def evaluate(self, n_jobs: int = 1) -> None:
        """Make objective and gap exact."""

def hinge_sum(oracle: Oracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_jobs: int = 1, rescaling: str = 'margin') -> float:
    """
    Sum over the examples of weight * max over y of cost(y) - w . d, or of cost(y) * (1 - w . d) with rescaled slack; d = f(gold) - f(y).
    """

class AskedOracle(Oracle):
    """Examples about which a Python object is asked."""

    def __init__(self, asked: object, n_features: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sample_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kbest: bool, expectations: bool, parts: bool) -> None: ...

class SummedOracle(Oracle):
    """Examples whose sums a Python object has added up."""

    def __init__(self, asked: object, n_examples: int, l1_factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Places:
    """Which weights of the whole a shard has, each of them once."""

    def __init__(self, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_weights: int) -> None: ...

    def __len__(self) -> int: ...

    def to_shard(self, whole: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shard: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int) -> None:
        """Fills `shard` with its weights."""

    def add_to_whole(self, shard: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], whole: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_jobs: int) -> None:
        """
        Adds numbers of the shard to those of the whole; the same bits for any `n_jobs`.
        """

class PartExamples:
    """Channels whose units are the attributes of examples."""

    def __init__(self, channels: list, examples: list, min_count: int = 1, merged: bool = False, by_member: bool = False, shapes: list | None = None) -> None:
        """
        `merged`: attributes that always occur together are one variable, `by_member` the weight of each. `shapes`: of the examples, where they are more than the length in the first source.
        """

    def oracle(self, structure: PartStructure, outputs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, combinations: str = 'seen') -> LinearOracle:
        """What learners see, once."""

    def label_oracle(self, structure: PartStructure, tokens: Examples, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, combinations: str = 'seen') -> LinearOracle:
        """The same where outputs are labels of tokens, known in part perhaps."""

    def export(self, oracle: LinearOracle, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> dict:
        """The tensors of a model with these weights."""

    def weights_from(self, oracle: LinearOracle, tensors: dict) -> NDArray[numpy.float64]:
        """Weights that start from another model with the same codes."""

class PartModel:
    """A trained model of any structure: immutable, for many threads at once."""

    def __init__(self, structure: PartStructure, channels: list, tensors: dict, hash_bits: int = 0, shape: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """`shape`: one that the structure knows; left out, a length of 1."""

    def scores(self, sources: list, n_jobs: int = 1, shapes: list | None = None) -> list:
        """
        Scores of all parts of each sequence; its shape is its length in the first source, unless given.
        """

    def known(self, sources: list) -> tuple[int, int]: ...

    def contributions(self, source: Source, sequence: int, channel: str) -> tuple: ...

    def n_attributes(self, channel: str) -> int: ...

    def name(self, number: int, channel: str) -> object: ...

class PartBatch:
    """Scores of parts of many examples, and what follows from them."""

    @overload
    def __init__(self, structure: PartStructure, lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: list, n_jobs: int = 1) -> None: ...

    @overload
    def __init__(self, structure: PartStructure, shapes: list, scores: list, n_jobs: int = 1) -> None: ...

    def entropy(self) -> NDArray[numpy.float64]: ...

    def sample(self, n: int, seeds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], distinct: bool = False) -> list: ...

    def best(self, k: int = 1) -> list:
        """For each sequence, its best outputs with their scores."""

    def log_partition(self) -> NDArray[numpy.float64]: ...

    def marginals(self, all: bool = False) -> list: ...

    def max_marginals(self, all: bool = False) -> list: ...

@overload
def table_losses(structure: PartStructure, trees: str, scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gold: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)] | None, unknown: int, best: bool, cost: float, n_jobs: int, values: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None) -> None: ...

@overload
def table_losses(structure: PartStructure, trees: str, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gold: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)] | None, unknown: int, best: bool, cost: float, n_jobs: int, values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> None:
    """
    Fill in the loss of each sentence of a padded table and its derivatives; see core/structures/score_tables.hpp.
    """

def check_table_gold(structure: PartStructure, trees: str, n_words: int, n_labels: int, lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gold: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)] | None, unknown: int) -> None:
    """Refuse gold that is no tree of this kind, and say which."""

class TreeShapes:
    """How long sentences are, and which heads each word may have."""

    def __len__(self) -> int: ...

    def __getitem__(self, arg: int, /) -> NDArray[numpy.uint32]: ...

    @staticmethod
    def of(shapes: list) -> TreeShapes: ...

class ArcSentences:
    """Rows of columns, seen through templates about arcs."""

    def __init__(self, columns: Columns, extractor: ArcExtractor) -> None: ...

    def __len__(self) -> int: ...

    def checksum(self) -> int:
        """64 bits that change when what the templates see does."""

    def shapes(self) -> TreeShapes:
        """Shapes in which every word may have every head."""

    def first_look(self, kept: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> TreeShapes:
        """
        The same, but in very long sentences words may have heads that are near, or the root, or kept.
        """

    def attribute_keys(self, sentence: int, head: int, modifier: int, third: int | None = None, channel: str = 'arc') -> NDArray[numpy.uint64]:
        """The keys of the attributes of an arc, perhaps with a third word."""

    def attribute_names(self, sentence: int, head: int, modifier: int, third: int | None = None, channel: str = 'arc') -> list[str]:
        """Their names, in the same order."""

    def units(self, shapes: TreeShapes, sentence: int, channel: str, bits: int) -> tuple:
        """Where the units of each site of a channel begin, and the units."""

def arc_oracle(structure: PartStructure, sentences: ArcSentences, shapes: TreeShapes, channels: Sequence[tuple[str, int, int, int]], outputs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, partial: bool = False) -> LinearOracle:
    """
    Sentences with gold trees as learners see them. Channels: (name, block, codes, hash bits). `partial`: heads and labels of 2**32 - 1 are not known.
    """

class ArcModel:
    """A trained model of arcs: immutable, for many threads at once."""

    def __init__(self, structure: PartStructure, channels: Sequence[tuple[str, int, int, int]], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def pruned(self, sentences: ArcSentences, most: int, margin: float, kept: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_jobs: int = 1) -> TreeShapes:
        """Shapes that leave each word its best heads, and those that are kept."""

    def scores(self, sentences: ArcSentences, shapes: TreeShapes, n_jobs: int = 1) -> list:
        """Scores of all parts of each sentence."""

    def best(self, sentences: ArcSentences, shapes: TreeShapes, n_jobs: int = 1) -> tuple:
        """
        The best outputs one after the other, where each ends, and their scores.
        """

def checksum(data: object) -> int:
    """
    64 bits that change when the bytes do; part of the model file's format.
    """

def key_table(keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """Keys and slots of the table in which attribute i has keys[i]."""

class Model:
    """A trained model: immutable, usable from many threads at once."""

    def __init__(self, tensors: dict, n_labels: int, hash_bits: int = 0, expand: str = 'auto') -> None: ...

    @property
    def n_labels(self) -> int: ...

    @property
    def n_attributes(self) -> int: ...

    @property
    def n_weights(self) -> int: ...

    @property
    def has_pairs(self) -> bool: ...

    @property
    def transitions(self) -> NDArray[numpy.float64]: ...

    @property
    def start(self) -> NDArray[numpy.float64]: ...

    @property
    def end(self) -> NDArray[numpy.float64]: ...

    def scores(self, source: Source, n_jobs: int = 1) -> tuple: ...

    def argmax(self, source: Source, n_jobs: int = 1, beam: int | None = None) -> NDArray[numpy.int32]: ...

    def marginals(self, source: Source, n_jobs: int = 1) -> NDArray[numpy.float64]: ...

    def known(self, source: Source, n_jobs: int = 1) -> tuple[int, int]: ...

    def contributions(self, source: Source, sequence: int, channel: str = 'token') -> tuple: ...

    def tag_columns(self, data: object, extractor: Extractor, labels: Sequence[str], separator: str | None = None, comments: str | None = None, keep_docstart: bool = False, name: str = '', first_line: int = 1, output: str = 'labels', n_jobs: int = 1, beam: int | None = None) -> bytes: ...

    def name(self, number: int, channel: str = 'token') -> object: ...

class GridScores:
    """
    Scores of a grid: unary, and pair scores by direction as (kind, array).
    """

    def __init__(self, size: Sequence[int], neighbours: int, n_labels: int, unary: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], pairs: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]]]) -> None: ...

    def score(self, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> float:
        """The score of one label for each cell."""

    def refused(self) -> object:
        """
        The first edge that is not submodular: direction, from, to, two labels, what they score where cells agree and where they differ; or None.
        """

    def bytes_needed(self) -> float:
        """Bytes that a cut takes beside the scores."""

class GridSolver:
    """
    Cuts on grids, in memory that is kept; for one thread at a time. Answers are labels or None, score, bound, exact, impossible.
    """

    def __init__(self) -> None: ...

    def cut(self, grid: GridScores) -> tuple: ...

    def cut_again(self, before: GridScores, grid: GridScores) -> tuple:
        """As cut, from the flow of the last cut, which was of `before`."""

    def expansion(self, grid: GridScores, start: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None = None, rounds: int = 100) -> tuple: ...

    def swap(self, grid: GridScores, start: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None = None, rounds: int = 100) -> tuple: ...

    def partial(self, grid: GridScores) -> tuple: ...

    def qpbo(self, grid: GridScores, start: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None = None, rounds: int = 10) -> tuple: ...

    def kbest(self, grid: GridScores, k: int) -> list: ...

    def max_marginals(self, grid: GridScores) -> NDArray[numpy.float64]: ...

class Items:
    """A sequence of items, read as python-crfsuite reads them."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, sequence: object) -> None: ...

    def __len__(self) -> int: ...

    def dicts(self) -> list:
        """A dict of values by name for each item."""

class ItemSelection(Source):
    """Some sequences of an ItemCorpus."""

    def labels(self) -> NDArray[numpy.int32]: ...

class ItemCorpus:
    """Sequences of items with labels, in groups."""

    def __init__(self) -> None: ...

    def append(self, sequence: object, labels: object, group: int = 0) -> None: ...

    @property
    def n_sequences(self) -> int: ...

    @property
    def n_attributes(self) -> int: ...

    def labels(self) -> list[bytes]:
        """In the order in which they were met."""

    def features(self, holdout: int, min_frequency: float, states: bool, transitions: bool) -> tuple:
        """
        How many features CRFsuite makes of the sequences that are not held out, which attributes have some, and keys and labels of those whose values are all 0.
        """

    def selection(self, holdout: int, held: bool, has_features: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> ItemSelection:
        """
        The sequences that are held out, or the others; nothing may be appended while it is in use.
        """

class CrfsuiteTagger:
    """A model file of CRFsuite in memory that an object lends."""

    def __init__(self, data: object) -> None: ...

    def set(self, sequence: object) -> None: ...

    def best(self) -> list[str]: ...

    def tag(self, sequence: object) -> list[str]: ...

    def marginal(self, label: object, position: int) -> float: ...

    def marginals(self) -> list[dict[str, float]]: ...

    def probability(self, labels: object) -> float: ...

    def labels(self) -> list[str]: ...

    def dump(self) -> bytes: ...

    def header(self) -> bytes: ...

    def weights(self) -> tuple[list[str], NDArray[numpy.uint32], NDArray[numpy.uint32], NDArray[numpy.float64]]:
        """
        Names of attributes; where the weights of each begin; labels and weights.
        """

    def transitions(self) -> list[tuple[int, int, float]]: ...

def crfsuite_bytes(labels: list, names: list, starts: NDArray[numpy.uint32], codes: NDArray[numpy.uint32], weights: NDArray[numpy.float64], transitions: NDArray[numpy.float64]) -> tuple[bytes, int, int]:
    """A model file of CRFsuite, and how many features and attributes it has."""

class ArrowColumn:
    """An array to hand out; a struct of columns is a record batch."""

    @property
    def length(self) -> int: ...

    def schema(self) -> object:
        """Its type as a capsule."""

    def array(self) -> object:
        """Its values as a capsule."""

class ArrowBatch:
    """Rows that somebody lent, until nobody looks at them any more."""

    @property
    def n_rows(self) -> int: ...

    def lists(self, columns: Sequence[int], first: int, rows: int, bytes: int, keep_nulls: bool = False) -> tuple:
        """
        Tokens of lists of text: columns, which rows are valid (None: all), no places, which tokens are null.
        """

    def words(self, column: int, classes: bytes, first: int, rows: int, bytes: int) -> tuple:
        """
        Text, cut by the class of each character: the same, with the places of tokens.
        """

    def placed(self, column: int, first: int, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
        """
        Text that the caller cut: tokens of each row, and where they begin and stop.
        """

    def texts(self, column: int, first: int, rows: int, bytes: int) -> list[str | None]: ...

    def integers(self, column: int) -> tuple:
        """
        Lists of integers: values, lengths, which rows are valid (None: all), which values are null.
        """

    def column(self, i: int, first: int, rows: int) -> ArrowColumn:
        """Some rows of a column, to hand on as they are."""

class ArrowStream:
    """What an object with __arrow_c_stream__ or __arrow_c_array__ offers."""

    def __init__(self, offered: object) -> None: ...

    def next(self) -> ArrowBatch | None: ...

    def same_type(self, other: ArrowStream) -> bool: ...

    @property
    def is_table(self) -> bool: ...

    @property
    def names(self) -> list[str]: ...

    def kind(self, i: int) -> str:
        """What can be made of a column: text, tokens, integers, other."""

    def type_name(self, i: int) -> str: ...

    def column(self, i: int) -> ArrowColumn:
        """The type of a column without rows."""

def joined_columns(all: list[Columns]) -> Columns:
    """All sequences, one after the other."""

@overload
def arrow_numbers(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> ArrowColumn: ...

@overload
def arrow_numbers(values: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> ArrowColumn: ...

def arrow_names(codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], names: Sequence[str]) -> ArrowColumn:
    """The name of each code."""

def arrow_cells(columns: Columns, column: int) -> ArrowColumn:
    """A column of tokens."""

def arrow_spans(columns: Columns, firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lasts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> ArrowColumn:
    """
    The text from one token to another, both in it, of tokens that were cut from text.
    """

def arrow_lists(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], child: ArrowColumn, valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> ArrowColumn:
    """Lists of so many values each; those that are not valid are null."""

def arrow_table(length: int, names: Sequence[str], columns: list) -> ArrowColumn:
    """A record batch, or a column of structs."""

def arrow_stream(type: ArrowColumn, batches: object) -> object:
    """
    Record batches of one type, from an iterator that is asked for the next when it is wanted, as a capsule.
    """

def kernels() -> str:
    """Instruction set of the kernels in use."""

def kernel_width() -> int:
    """Doubles in one vector of the kernels in use."""

def first_invalid(arg: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], /) -> int:
    """
    Flat index of the first NaN, +inf or value beyond 1e300; the size when there is none.
    """

def mask_arcs(arcs: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n: int) -> int:
    """
    Forbid the first column and the diagonal of squares of n rows; then as first_invalid.
    """

def exponentials(arg0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None:
    """e**x of each value (x <= 700), as the kernels compute it."""

def probe(what: str, rounds: int) -> float:
    """Run a throughput probe; returns how many operations were done."""
