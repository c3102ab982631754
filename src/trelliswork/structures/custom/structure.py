"""Structures written in Python: a class with a few methods, on which every learner runs that it can answer.

Slower than the library's own structures, and complete: a learner sees `trelliswork._core.Oracle` either way. A class
that lists its outputs is written down once and then answered by the core alone; other classes are asked while learning
goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.errors import InvalidInput
from trelliswork.structures import checks
from trelliswork.structures.custom import adapter
from trelliswork.structures.custom.adapter import key_of
from trelliswork.structures.custom.consistency import checked_about
from trelliswork.structures.custom.feature_vectors import vector_of
from trelliswork.structures.custom.parts import InputParts

__all__ = ["Structure"]

FloatArray = npt.NDArray[np.float64]

_QUESTIONS = ("argmax", "kbest", "expectations")


class Structure:
    """Base class of structures of your own.

    A subclass says how many features there are (``n_features``), what the features of an output are, and how the best
    output is found. For this there are three ways:

    - List all outputs of an input, in `outputs`, and define `features`. Every question is answered by going through the
      outputs.
    - Say of which parts outputs are made: `parts` has their features, `decode` finds the best set of parts by scores of
      parts. The cost and the k best come by themselves; with `marginals`, so do sums. No method sees a weight.
    - Define `features` and `argmax`, and, for learners that ask for more, `kbest` and `expectations`.

    Attributes
    ----------
    n_features : int
        How many features, and so weights, there are. To be set by the subclass.
    exact : bool, default True
        Whether `argmax`, `kbest` and `expectations` are exact. Answers that cannot be are refused as errors; with
        False, an answer that is worse than gold is accepted.

    Notes
    -----
    Answers are checked: features and costs must be finite, indices in range, the best output no worse than gold and
    than what was found before, k outputs distinct and sorted, log Z no less than the score of gold. Errors name the
    method and the example. What a method raises itself comes out as it is, with a note that names the example. `check`
    looks harder.

    Outputs are compared by ``==``; lists and arrays are as good as tuples.

    Examples
    --------
    A ranking of three things, each with two numbers: things that are worth more are to come first.

    >>> import itertools
    >>> import numpy as np
    >>> import trelliswork as tw
    >>> class Ranking(tw.Structure):
    ...     n_features = 2
    ...     def outputs(self, x):
    ...         return itertools.permutations(range(len(x)))
    ...     def features(self, x, y):
    ...         return sum(np.array(x[thing]) * -place for place, thing in enumerate(y))
    >>> X = [[(1, 0), (3, 1), (2, 5)], [(2, 2), (0, 1), (1, 0)]]
    >>> Y = [(1, 2, 0), (0, 2, 1)]
    >>> ranking = Ranking()
    >>> weights = tw.PassiveAggressive().train(ranking.oracle(X, Y)).weights
    >>> ranking.argmax([(5, 1), (9, 0)], weights)
    (1, 0)
    """

    n_features: int
    exact: ClassVar[bool] = True

    # ---- for subclasses to define --------------------------------------------------------------------------------

    def features(self, x: Any, y: Any) -> Any:
        """Return the features of an output; with `parts`, those of its parts.

        Parameters
        ----------
        x : input
        y : output

        Returns
        -------
        dict, pair of arrays, or array
            From indices to numbers; indices and numbers (what occurs twice is added up); or all ``n_features`` numbers.
        """
        if self.defines("parts"):
            inputs = InputParts(self, x, "x")
            return tuple(inputs.features(inputs.indicator(inputs.gold(y, "y"))))
        raise InvalidInput(f"class {type(self).__name__} must define features(x, y).")

    def cost(self, gold: Any, y: Any) -> float:
        """Return what ``y`` costs where ``gold`` is right: a number >= 0, and 0 for gold. As it stands: 0 or 1.

        With `parts` it is the number of parts of gold that are missing, and of those that are wrong.
        """
        return 0.0 if key_of(gold) == key_of(y) else 1.0

    def outputs(self, x: Any) -> Iterable[Any]:
        """Return all outputs of an input, each once; for structures that have few enough."""
        raise InvalidInput(f"class {type(self).__name__} does not define outputs(x).")

    def argmax(self, x: Any, weights: FloatArray, gold: Any = None, cost_scale: float = 0.0) -> Any:
        """Return the output with the highest ``score + cost_scale * cost(gold, y)``, the first of equals.

        Parameters
        ----------
        x : input
        weights : array (n_features,)
            Not to be written to.
        gold : output, optional
            The right output; given only where ``cost_scale`` is not 0.
        cost_scale : float, default 0.0
            May be negative.
        """
        if self.defines("kbest"):
            return self.kbest(x, weights, 1, **({} if cost_scale == 0.0 else {"gold": gold, "cost_scale": cost_scale}))[
                0
            ]
        return self._best(x, weights, 1, gold, cost_scale, "argmax")[0]

    def kbest(self, x: Any, weights: FloatArray, k: int, gold: Any = None, cost_scale: float = 0.0) -> list[Any]:
        """Return the ``k`` best outputs, best first and distinct; fewer where fewer exist. See `argmax`."""
        return self._best(x, weights, k, gold, cost_scale, "kbest")

    def expectations(self, x: Any, weights: FloatArray, gold: Any = None, cost_scale: float = 0.0) -> tuple[float, Any]:
        """Return log Z and the expected features under ``p(y) = exp(score + cost_scale * cost(gold, y)) / Z``."""
        if self.defines("parts"):
            inputs, scores, constant = self._part_scores(x, weights, gold, cost_scale)
            log_total, marginals = inputs.marginals(scores)
            return log_total + constant, tuple(inputs.features(marginals))
        found, values = self._values(x, weights, gold, cost_scale, "expectations")
        highest = values.max()
        p = np.exp(values - highest)
        total = float(p.sum())
        expected = np.zeros(self.n_features)
        for vector, share in zip(found.features, p / total, strict=True):
            expected[vector.indices] += share * vector.values
        return float(highest + np.log(total)), expected

    def parts(self, x: Any) -> Any:
        """Return the features of the parts that outputs of ``x`` are made of.

        Returns
        -------
        sparse matrix, array, or (indptr, indices, values)
            One row for each part, ``n_features`` columns. The last form is that of a CSR matrix.
        """
        raise InvalidInput(f"class {type(self).__name__} does not define parts(x).")

    def decode(self, scores: FloatArray) -> Any:
        """Return the parts of the output with the highest sum of scores, as a set, a list or an array of numbers.

        A subclass may have more arguments, by these names; it is given those that it has.

        Parameters
        ----------
        scores : array (n_parts,)
            Not to be written to.
        x : input, optional
        forced, forbidden : arrays of int, optional
            Parts that the output must have, and that it must not have. Return None where there is no such output. A
            ``decode`` without them is told by scores that outweigh all others.
        """
        raise InvalidInput(f"class {type(self).__name__} does not define decode(scores).")

    def marginals(self, scores: FloatArray) -> tuple[float, Any]:
        """Return log Z, the log of the sum of exp(score) over all outputs, and the probability of each part.

        A subclass may have the argument ``x``, too.
        """
        raise InvalidInput(f"class {type(self).__name__} does not define marginals(scores).")

    def parts_of(self, x: Any, y: Any) -> Any:
        """Return the numbers of the parts of an output; as it stands, outputs are such numbers."""
        return y

    def output_of(self, x: Any, numbers: tuple[int, ...]) -> Any:
        """Return the output that has these parts, in rising order; as it stands, the numbers themselves."""
        return numbers

    def valid(self, x: Any, y: Any) -> bool:
        """Whether ``y`` can be an output of ``x`` at all (its length, say); asked of everything found, if defined."""
        return True

    # ---- for learners and estimators -----------------------------------------------------------------------------

    @property
    def answers(self) -> tuple[str, ...]:
        """The questions that this structure answers.

        ``"argmax"``, ``"kbest"``, ``"expectations"``; ``"parts"``, which structures do that list their outputs (an
        output is then a part) or have ``marginals`` of parts; and ``"local"``, which only those do that list their
        outputs: choosing one is one decision.
        """
        if self.defines("parts"):
            return ("argmax", "kbest", *(("expectations", "parts") if self.defines("marginals") else ()))
        if self.defines("outputs"):
            return (*_QUESTIONS, "parts", "local")
        defined = [question for question in _QUESTIONS if self.defines(question)]
        return ("argmax", *(q for q in defined if q != "argmax")) if "kbest" in defined else tuple(defined)

    def defines(self, method: str) -> bool:
        """Whether the subclass has a method of its own by this name."""
        return getattr(getattr(self, method), "__func__", None) is not getattr(Structure, method)

    def require_defined(self) -> None:
        """Raise `InvalidInput` unless the class has all that it needs, and nothing twice."""
        name = type(self).__name__
        if not hasattr(self, "n_features"):
            raise InvalidInput(f"class {name} must set n_features, the number of its features.")
        if checks.as_count(f"{name}.n_features", self.n_features) >= 2**32:
            raise InvalidInput(f"{name}.n_features is {self.n_features}; there may be fewer than 2**32.")
        if self.defines("parts"):
            return self._require_parts()
        if not self.defines("features"):
            raise InvalidInput(f"class {name} must define features(x, y).")
        own = [question for question in _QUESTIONS if self.defines(question)]
        if self.defines("outputs") and own:
            raise InvalidInput(
                f"class {name} defines outputs, from which every answer follows, and {', '.join(own)}, too: keep one."
            )
        if "argmax" not in self.answers:
            raise InvalidInput(
                f"class {name} cannot find its best output: define outputs(x), or argmax(x, weights, gold, cost_scale)."
            )

    def _require_parts(self) -> None:
        name, others = type(self).__name__, ("features", "cost", "outputs", *_QUESTIONS)
        if not self.defines("decode"):
            raise InvalidInput(f"class {name} defines parts(x), but not decode(scores), which finds the best output.")
        if own := [method for method in others if self.defines(method)]:
            raise InvalidInput(
                f"class {name} defines parts, from which every answer follows, and {', '.join(own)}, too: keep one."
            )

    def oracle(self, X: Iterable[Any], Y: Iterable[Any], sample_weight: npt.ArrayLike | None = None) -> _core.Oracle:
        """Return examples as learners see them: ``learner.train(structure.oracle(X, Y))``.

        Parameters
        ----------
        X, Y : iterables
            Inputs and their right outputs.
        sample_weight : (n,) array-like, optional
            How much each example counts.
        """
        return adapter.oracle_of(self, X, Y, sample_weight)

    def check(self, X: Iterable[Any], Y: Iterable[Any], random_state: int = 0) -> None:
        """Raise `InvalidInput` if answers contradict each other: a test for a new class, to be run on few examples.

        Every question that the class answers is asked about every example, with and without cost, at random weights.
        The best output must be no worse than any that was found at other weights, the k best must begin with the best,
        and the expected features must be the derivative of log Z.

        Examples
        --------
        >>> import trelliswork as tw
        >>> class Sign(tw.Structure):
        ...     n_features = 1
        ...     def features(self, x, y):
        ...         return [x * y]
        ...     def argmax(self, x, weights, gold=None, cost_scale=0.0):
        ...         return 1 if weights[0] * x > 0 else -1
        >>> Sign().check([2.0, -1.0], [1, -1])
        Traceback (most recent call last):
        ...
        trelliswork.errors.InvalidInput: Sign.argmax(X[0]) returned an output of -0.73579, but Y[0] has -0.26421
        (score + -1 * cost): it is not the best. Set exact = False in the class if it searches approximately.
        """
        checked_about(self, X, Y).ask(np.random.default_rng(random_state))

    def score(self, x: Any, y: Any, weights: FloatArray) -> float:
        """Return the score of an output, ``weights @ features(x, y)``."""
        place = f"{type(self).__name__}.features(x, y)"
        vector = vector_of(self.features(x, y), int(self.n_features), lambda: place)
        return vector.dot(np.asarray(weights, dtype=np.float64))[0]

    # ---- by parts, or by going through all outputs ---------------------------------------------------------------

    def _best(self, x: Any, weights: FloatArray, k: int, gold: Any, cost_scale: float, question: str) -> list[Any]:
        if self.defines("parts"):
            inputs, scores, _ = self._part_scores(x, weights, gold, cost_scale)
            return [inputs.output(numbers) for numbers in inputs.kbest(scores, k)]
        found, values = self._values(x, weights, gold, cost_scale, question)
        order = np.argsort(-values, kind="stable")[:k]
        return [found.outputs[place] for place in order.tolist()]

    def _part_scores(
        self, x: Any, weights: FloatArray, gold: Any, cost_scale: float
    ) -> tuple[InputParts, FloatArray, float]:
        """Return the parts of an input, what each is worth with the cost, and what all outputs have besides."""
        inputs = InputParts(self, x, "x")
        scores = inputs.scores(weights)
        if cost_scale == 0.0:
            return inputs, scores, 0.0
        numbers = inputs.gold(gold, "gold")
        return inputs, scores + cost_scale * inputs.costs(numbers), cost_scale * len(numbers)

    def _values(
        self, x: Any, weights: FloatArray, gold: Any, cost_scale: float, question: str
    ) -> tuple[adapter.Listed, FloatArray]:
        """Return all outputs and what each of them is worth."""
        if not self.defines("outputs"):
            raise InvalidInput(f"class {type(self).__name__} defines neither {question} nor outputs(x).")
        found = adapter.listed(self, x, "x")
        values = np.array([vector.dot(weights)[0] for vector in found.features])
        if cost_scale != 0.0:
            values += cost_scale * np.array([self.cost(gold, output) for output in found.outputs])
        return found, values
