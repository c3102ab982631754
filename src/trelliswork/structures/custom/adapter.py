"""Asking a structure written in Python: every answer is checked before a learner sees it.

A wrong answer would otherwise become wrong weights without a word. Errors name the question and the example; what the
user's own code raises comes out as it is, with a note that names them.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.questions import require_answers
from trelliswork.structures import checks
from trelliswork.structures.custom.feature_vectors import Place, Vector, shown, stacked, vector_of
from trelliswork.structures.custom.parts import InputParts, PartNumbers

if TYPE_CHECKING:
    from trelliswork.structures.custom.structure import Structure

__all__ = [
    "TOLERANCE",
    "Asked",
    "AskedParts",
    "Listed",
    "asked_about",
    "checked_sample_weight",
    "key_of",
    "listed",
    "oracle_of",
    "predicted",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST_OUTPUTS = 1_000_000  # of one example that are written down
TOLERANCE = 1e-6  # relative to what was added up: user's code may compute in single precision


class Listed(NamedTuple):
    """All outputs of an input, with their features."""

    outputs: list[Any]
    features: list[Vector]


class _Scored(NamedTuple):
    """What a structure returned: its features and cost, its score, how far rounding may have moved the score."""

    output: Any
    features: Vector
    cost: float
    score: float = 0.0
    slack: float = 0.0


def oracle_of(structure: Structure, X: Iterable[Any], Y: Iterable[Any], sample_weight: Any = None) -> _core.Oracle:
    """Return the examples as learners see them: written down if the structure lists its outputs, else asked about."""
    asked = asked_about(structure, X, Y)
    return asked.learnable(checked_sample_weight(sample_weight, len(asked.X)))


def asked_about(structure: Structure, X: Iterable[Any], Y: Iterable[Any]) -> Asked:
    """Return a structure with its examples, checked."""
    return AskedParts(structure, X, Y) if structure.defines("parts") else Asked(structure, X, Y)


def predicted(structure: Structure, X: Iterable[Any], weights: FloatArray) -> list[Any]:
    """Return the best output of each input."""
    weights = np.array(weights, dtype=np.float64)
    weights.flags.writeable = False
    if weights.shape != (structure.n_features,):
        raise InvalidInput(f"there are {weights.size} weights, but n_features is {structure.n_features}.")
    return [_predicted(structure, x, i, weights) for i, x in enumerate(_listed("X", X))]


class Asked:
    """A structure with its examples: what the core's oracle calls.

    Parameters
    ----------
    structure : Structure
    X, Y : iterables
        Inputs and their gold outputs.
    """

    def __init__(self, structure: Structure, X: Iterable[Any], Y: Iterable[Any]) -> None:
        self.structure, self.name = structure, type(structure).__name__
        structure.require_defined()
        self.X, self.Y = _listed("X", X), _listed("Y", Y)
        if len(self.X) != len(self.Y):
            raise InvalidInput(f"X has {len(self.X)} inputs but Y has {len(self.Y)} outputs. Every input needs one.")
        if not self.X:
            raise InvalidInput("X is empty: pass at least one example.")
        self.n_features = int(structure.n_features)
        self.gold = [self._vector(i, y) for i, y in enumerate(self.Y)]
        for i, y in enumerate(self.Y):
            self._require_valid("Y", i, y)
            if (cost := self.cost(i, y)) != 0.0:
                raise InvalidInput(
                    f"{self.name}.cost of Y[{i}] against itself is {cost:g}; the right output must cost 0."
                )
        self._gold_outputs = [_Scored(self._inside(i), f, 0.0) for i, f in enumerate(self.gold)]
        self._found_before: dict[int, list[_Scored]] = {}

    def _inside(self, example: int) -> Any:
        """Gold, as outputs are written in here."""
        return self.Y[example]

    # ---- oracles -------------------------------------------------------------------------------------------------

    def learnable(self, sample_weight: FloatArray) -> _core.Oracle:
        """Return the oracle for learners: of all outputs if the structure lists them, else one that asks."""
        listed = self.structure.defines("outputs")
        return self.enumerated(sample_weight) if listed else self.oracle(sample_weight)

    def oracle(self, sample_weight: FloatArray) -> _core.AskedOracle:
        """Return an oracle that asks this object."""
        answers = self.structure.answers
        return _core.AskedOracle(
            self,
            self.n_features,
            *stacked(self.gold),
            sample_weight,
            kbest="kbest" in answers,
            expectations="expectations" in answers,
            parts="parts" in answers,
        )

    def wrong(self, i: int, output: Any) -> float:
        """Return 1 if an output of example ``i`` is not gold, else 0."""
        return float(key_of(output) != key_of(self.Y[i]))

    def enumerated(
        self, sample_weight: FloatArray, cost: Callable[[int, Any], float] | None = None
    ) -> _core.LinearOracle:
        """Return an oracle of all outputs written down; ``cost`` in place of the structure's own."""
        cost = cost or self.cost
        starts, gold, costs = [0], [], []
        features: list[Vector] = []
        for i, (x, y) in enumerate(zip(self.X, self.Y, strict=True)):
            found = listed(self.structure, x, f"X[{i}]", i)
            gold.append(self._place_of_gold(i, y, found.outputs))
            features += found.features
            costs += [cost(i, output) for output in found.outputs]
            starts.append(len(features))
        return _core.EnumeratedOracle.make(
            np.array(starts),
            np.array(gold),
            *stacked(features),
            self.n_features,
            np.array(costs),
            sample_weight,
        )

    def _place_of_gold(self, i: int, gold: Any, outputs: list[Any]) -> int:
        places: dict[Hashable, int] = {}
        for place, output in enumerate(outputs):
            if (earlier := places.setdefault(key_of(output), place)) != place:
                raise InvalidInput(
                    f"{self.name}.outputs(X[{i}]) lists {shown(output)} twice, as numbers {earlier} and {place}; "
                    "every output may be there once."
                )
        place = places.get(key_of(gold), -1)
        if place < 0:
            raise InvalidInput(
                f"{self.name}.outputs(X[{i}]) does not list Y[{i}], {shown(gold)}. Outputs are compared with ==: "
                "use numbers, strings, tuples and the like, or classes with __eq__ and __hash__."
            )
        return place

    # ---- questions of the core -----------------------------------------------------------------------------------

    def kbest(
        self, weights: FloatArray, example: int, k: int, nu: float
    ) -> list[tuple[IntArray, FloatArray, float, float]]:
        """Return the k best outputs under ``score + nu * cost``: indices and values of features, score, cost."""
        question = "argmax" if k == 1 and self.structure.defines("argmax") else "kbest"
        outputs = self._best(question, weights, example, k, nu)
        found = [self._scored(question, weights, example, output) for output in outputs]
        self._require_order(question, example, found, nu)
        if self.structure.exact:
            self._require_best(question, weights, example, found, k, nu)
        return [(*one.features, one.score, one.cost) for one in found]

    def expectations(self, weights: FloatArray, example: int, nu: float) -> tuple[float, float, IntArray, FloatArray]:
        """Return log Z, the score of gold, and indices and values of the expected features."""
        require_answers("this learner", ["expectations"], self.structure.answers, self.name)
        place = f"{self.name}.expectations(X[{example}])"
        answer = self._ask("expectations", example, weights, nu=nu)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise InvalidInput(f"{place} returned {shown(answer)}; expected (log Z, expected features).")
        total = _number(answer[0], lambda: f"{place}: log Z")
        expected = vector_of(answer[1], self.n_features, lambda: f"{place}: expected features")
        gold, size = self.gold[example].dot(weights)
        if self.structure.exact and total < gold - TOLERANCE * (1.0 + size):
            raise InvalidInput(
                f"{place} returned log Z = {total:g}, but gold alone scores {gold:g}: a sum over all outputs cannot be "
                "less than one of them."
            )
        return total, gold, *expected

    # ---- asking and checking -------------------------------------------------------------------------------------

    def _ask(self, question: str, example: int, *arguments: Any, nu: float = 0.0) -> Any:
        method = getattr(self.structure, question)
        keywords = {}
        if nu != 0.0:
            keywords = {"gold": self.Y[example], "cost_scale": nu}
            if not takes(method, self.X[example], *arguments, **keywords):
                raise InvalidInput(
                    f"this learner asks for {question} with a cost, which {self.name}.{question} does not take: give "
                    "it the arguments gold=None and cost_scale=0.0, and maximise score + cost_scale * cost(gold, y)."
                )
        return _called(method, example, f"{self.name}.{question}", self.X[example], *arguments, **keywords)

    def _best(self, question: str, weights: FloatArray, example: int, k: int, nu: float) -> list[Any]:
        if question == "argmax":
            outputs = [self._ask("argmax", example, weights, nu=nu)]
        else:
            require_answers("this learner", ["kbest"], self.structure.answers, self.name)
            answer = self._ask("kbest", example, weights, k, nu=nu)
            if isinstance(answer, (str, bytes, Mapping, Set)) or not isinstance(answer, Iterable):
                raise InvalidInput(
                    f"{self.name}.kbest(X[{example}]) returned {shown(answer)}; expected a list of outputs."
                )
            outputs = list(answer)
            if not 1 <= len(outputs) <= k:
                raise InvalidInput(
                    f"{self.name}.kbest(X[{example}], k={k}) returned {len(outputs)} outputs; expected 1 to {k}."
                )
            if len({key_of(output) for output in outputs}) < len(outputs):
                raise InvalidInput(
                    f"{self.name}.kbest(X[{example}], k={k}) returned the same output twice; they must be distinct."
                )
        for output in outputs:
            if output is None:
                raise InvalidInput(f"{self.name}.{question}(X[{example}]) returned None; expected an output.")
            self._require_valid(question, example, output)
        return outputs

    def _scored(self, question: str, weights: FloatArray, example: int, output: Any) -> _Scored:
        features = self._vector(example, output)
        score, size = features.dot(weights)
        if not np.isfinite(score):
            raise InvalidInput(f"what {self.name}.{question}(X[{example}]) returned has the score {score}.")
        return _Scored(output, features, self.cost(example, output), score, TOLERANCE * (1.0 + size))

    def _require_order(self, question: str, example: int, found: list[_Scored], nu: float) -> None:
        for first, second in itertools.pairwise(found):
            a, b = first.score + nu * first.cost, second.score + nu * second.cost
            if a < b - first.slack - second.slack:
                raise InvalidInput(
                    f"{self.name}.{question}(X[{example}]) is not sorted: an output of {a:g} comes before one of {b:g} "
                    f"({meaning(nu)}). The best must come first."
                )

    def _require_best(
        self, question: str, weights: FloatArray, example: int, found: list[_Scored], k: int, nu: float
    ) -> None:
        """Refuse an answer that leaves out a better output that is known: gold, or what was found before."""
        worst = found[-1]
        value, short = worst.score + nu * worst.cost, len(found) < k
        for known in (self._gold_outputs[example], *self._found_before.get(example, ())):
            score, size = known.features.dot(weights)
            other = score + nu * known.cost
            if not short and value >= other - worst.slack - TOLERANCE * (1.0 + size):
                continue
            if key_of(known.output) in {key_of(one.output) for one in found}:
                continue
            what = f"Y[{example}]" if known is self._gold_outputs[example] else f"{shown(known.output)}, found before,"
            if short:
                raise InvalidInput(
                    f"{self.name}.{question}(X[{example}], k={k}) returned {len(found)} outputs, and {what} is not "
                    "among them: there are more outputs than that."
                )
            raise InvalidInput(
                f"{self.name}.{question}(X[{example}]) returned an output of {value:g}, but {what} has {other:g} "
                f"({meaning(nu)}): it is not the best. Set exact = False in the class if it searches approximately."
            )
        if rivals := [one for one in found if one.cost > 0.0]:
            self._found_before[example] = rivals

    def _require_valid(self, question: str, example: int, output: Any) -> None:
        if not self.structure.defines("valid"):
            return
        if not _called(self.structure.valid, example, f"{self.name}.valid", self.X[example], output):
            what = f"Y[{example}]" if question == "Y" else f"what {self.name}.{question}(X[{example}]) returned"
            raise InvalidInput(f"{what}, {shown(output)}, is not valid, {self.name}.valid says.")

    def _vector(self, example: int, output: Any) -> Vector:
        if self.structure.n_features != self.n_features:
            raise InvalidInput(
                f"{self.name}.n_features was {self.n_features} when training began, and now is "
                f"{self.structure.n_features}; it must stay as it is."
            )
        return _features(self.structure, self.X[example], output, f"X[{example}]", example)

    def cost(self, example: int, output: Any) -> float:
        """Return the cost of an output of an example, checked."""
        answer = _called(self.structure.cost, example, f"{self.name}.cost", self.Y[example], output)
        cost = _number(answer, lambda: f"{self.name}.cost(Y[{example}], {shown(output)})")
        if cost < 0.0:
            raise InvalidInput(
                f"{self.name}.cost(Y[{example}], {shown(output)}) is {cost:g}; costs must not be negative."
            )
        return cost


class AskedParts(Asked):
    """A structure of parts with its examples. Outputs are `PartNumbers` in here, those of users' forms outside.

    Besides the parts of the user there is one more, which every output has: it costs what every output costs.
    """

    def __init__(self, structure: Structure, X: Iterable[Any], Y: Iterable[Any]) -> None:
        self._inputs: dict[int, InputParts] = {}
        self._gold_parts: dict[int, PartNumbers] = {}
        super().__init__(structure, X, Y)

    def wrong(self, i: int, output: Any) -> float:
        return float(self._numbers(i, output) != self._gold_numbers(i))

    def cost(self, example: int, output: Any) -> float:
        """Return how many parts of gold are missing, and how many are wrong."""
        return float(len(set(self._gold_numbers(example)) ^ set(self._numbers(example, output))))

    def part_scores(self, weights: FloatArray, example: int) -> FloatArray:
        """Return the scores of all parts."""
        return np.append(self.input(example).scores(weights), 0.0)

    def part_costs(self, example: int) -> FloatArray:
        """Return what all parts cost."""
        gold = self._gold_numbers(example)
        return np.append(self.input(example).costs(gold), float(len(gold)))

    def marginals(self, scores: FloatArray, example: int) -> tuple[float, FloatArray]:
        """Return log Z and the marginals of all parts under any scores of them."""
        total, marginals = _called(
            self.input(example).marginals, example, f"{self.name}.marginals", np.array(scores[:-1])
        )
        return total + float(scores[-1]), np.append(marginals, 1.0)

    def features_of(self, factors: FloatArray, example: int) -> Vector:
        """Return the features of all parts, each times its factor."""
        return self.input(example).features(factors[:-1])

    def expectations(self, weights: FloatArray, example: int, nu: float) -> tuple[float, float, IntArray, FloatArray]:
        """Return log Z, the score of gold, and indices and values of the expected features."""
        scores = self.part_scores(weights, example)
        total, marginals = self.marginals(scores + nu * self.part_costs(example), example)
        gold, size = self.gold[example].dot(weights)
        if self.structure.exact and total < gold - TOLERANCE * (1.0 + size):
            raise InvalidInput(
                f"{self.name}.marginals(X[{example}]) returned log Z = {total:g}, but gold alone scores {gold:g}: a "
                "sum over all outputs cannot be less than one of them."
            )
        return total, gold, *self.features_of(marginals, example)

    def input(self, example: int) -> InputParts:
        """Return the parts of an input, which are asked for once."""
        if example not in self._inputs:
            name = f"{self.name}.parts"
            self._inputs[example] = _called(InputParts, example, name, self.structure, self.X[example], f"X[{example}]")
        return self._inputs[example]

    def _best(self, question: str, weights: FloatArray, example: int, k: int, nu: float) -> list[Any]:
        scores = self.input(example).scores(weights)
        if nu != 0.0:
            scores = scores + nu * self.input(example).costs(self._gold_numbers(example))
        outputs: list[Any] = _called(self.input(example).kbest, example, f"{self.name}.decode", scores, k)
        for output in outputs:
            self._require_valid("decode", example, output)
        return outputs

    def _require_valid(self, question: str, example: int, output: Any) -> None:
        if self.structure.defines("valid"):
            numbers = self._numbers(example, output)
            super()._require_valid(question, example, self.input(example).output(numbers))

    def _inside(self, example: int) -> PartNumbers:
        return self._gold_numbers(example)

    def _vector(self, example: int, output: Any) -> Vector:
        inputs = self.input(example)
        return inputs.features(inputs.indicator(self._numbers(example, output)))

    def _numbers(self, example: int, output: Any) -> PartNumbers:
        place = f"Y[{example}]" if output is self.Y[example] else shown(output)
        numbers: PartNumbers = _called(self.input(example).gold, example, f"{self.name}.parts_of", output, place)
        return numbers

    def _gold_numbers(self, example: int) -> PartNumbers:
        if example not in self._gold_parts:
            self._gold_parts[example] = self._numbers(example, self.Y[example])
        return self._gold_parts[example]


def _predicted(structure: Structure, x: Any, i: int, weights: FloatArray) -> Any:
    if structure.defines("parts"):
        inputs = _called(InputParts, i, f"{type(structure).__name__}.parts", structure, x, f"X[{i}]")
        (best,) = _called(inputs.kbest, i, f"{type(structure).__name__}.decode", inputs.scores(weights), 1)
        return inputs.output(best)
    if structure.defines("outputs"):
        found = listed(structure, x, f"X[{i}]", i)
        return found.outputs[int(np.argmax([vector.dot(weights)[0] for vector in found.features]))]
    name = f"{type(structure).__name__}.argmax"
    output = _called(structure.argmax, i, name, x, weights)
    if output is None:
        raise InvalidInput(f"{name}(X[{i}]) returned None; expected an output.")
    return output


def listed(structure: Structure, x: Any, place: str, example: int | None = None) -> Listed:
    """Return all outputs of an input, checked, with their features; ``place`` is what errors call it."""
    name = f"{type(structure).__name__}.outputs"
    answer = _called(structure.outputs, example, name, x)
    if not isinstance(answer, Iterable):
        raise InvalidInput(f"{name}({place}) returned {shown(answer)}; expected all outputs, as a list or a generator.")
    outputs = _called(lambda: list(itertools.islice(answer, _MOST_OUTPUTS + 1)), example, name)
    if not outputs:
        raise InvalidInput(f"{name}({place}) lists no output; every input needs at least one.")
    if len(outputs) > _MOST_OUTPUTS:
        raise InvalidInput(f"{name}({place}) lists more than {_MOST_OUTPUTS:,} outputs: define argmax instead.")
    return Listed(outputs, [_features(structure, x, output, place, example) for output in outputs])


def key_of(output: Any) -> Hashable:
    """Return something by which equal outputs can be recognised; lists and arrays are as good as tuples.

    Examples
    --------
    >>> key_of([1, [2, 3]]) == key_of((1, np.array([2, 3])))
    True
    """
    try:
        hash(output)
        return output  # type: ignore[no-any-return]
    except TypeError:
        pass
    if isinstance(output, np.ndarray):
        return key_of(output.tolist())
    if isinstance(output, Sequence):
        return tuple(key_of(item) for item in output)
    if isinstance(output, Mapping):
        return frozenset((key_of(name), key_of(value)) for name, value in output.items())
    if isinstance(output, Set):
        return frozenset(key_of(item) for item in output)
    if dataclasses.is_dataclass(output):
        parts = [getattr(output, field.name) for field in dataclasses.fields(output) if field.compare]
        return (type(output), *map(key_of, parts))
    return repr(output)


def _features(structure: Structure, x: Any, output: Any, place: str, example: int | None) -> Vector:
    name = f"{type(structure).__name__}.features"
    answer = _called(structure.features, example, name, x, output)
    return vector_of(answer, int(structure.n_features), lambda: f"{name}({place}, {shown(output)})")


def _called(method: Callable[..., Any], example: int | None, name: str, *arguments: Any, **keywords: Any) -> Any:
    try:
        return method(*arguments, **keywords)
    except Exception as error:
        if example is not None:
            error.add_note(f"raised when trelliswork asked {name} about example {example} (X[{example}])")
        raise


def takes(method: Callable[..., Any], *arguments: Any, **keywords: Any) -> bool:
    try:
        inspect.signature(method).bind(*arguments, **keywords)
    except TypeError:
        return False
    return True


def _number(value: Any, name: Place) -> float:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (float, Real, np.bool_)) or not math.isfinite(value):
        raise InvalidInput(f"{name()} is {shown(value)}; expected a finite number.")
    return float(value)


def _listed(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} is {shown(values)}; expected a list.")
    return list(values)


def checked_sample_weight(sample_weight: Any, n: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n)
    weights = checks.as_numbers("sample_weight", sample_weight)
    if weights.shape != (n,):
        raise InvalidInput(f"sample_weight has shape {weights.shape}, but there are {n} examples.")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InvalidInput("sample_weight must hold finite numbers that are not negative.")
    return weights


def meaning(nu: float) -> str:
    return "its score" if nu == 0.0 else f"score + {nu:g} * cost"
