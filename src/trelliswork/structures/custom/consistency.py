"""Whether the answers of a structure written in Python contradict each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trelliswork.errors import InvalidInput
from trelliswork.structures.custom.adapter import TOLERANCE, Asked, AskedParts, key_of, meaning, takes
from trelliswork.structures.custom.feature_vectors import Vector

if TYPE_CHECKING:
    from trelliswork.structures.custom.structure import Structure

__all__ = ["Checked", "checked_about"]

FloatArray = npt.NDArray[np.float64]


def checked_about(structure: Structure, X: Iterable[Any], Y: Iterable[Any]) -> Checked:
    """Return a structure with examples, about which it is to be asked."""
    return _CheckedParts(structure, X, Y) if structure.defines("parts") else Checked(structure, X, Y)


class Checked(Asked):
    """A structure whose answers are compared with each other: what `Structure.check` does."""

    _rounds = 10  # random weights for each example
    _most = 3  # outputs asked for at a time
    _step = 1e-4  # of differences of log Z

    def ask(self, rng: np.random.Generator) -> None:
        """Ask all questions about all examples."""
        if self.structure.defines("outputs"):
            self.enumerated(np.ones(len(self.X)))  # what is listed cannot contradict itself
            return
        for example in range(len(self.X)):
            for _ in range(self._rounds):
                weights = rng.normal(size=self.n_features)
                weights.flags.writeable = False
                for nu in (0.0, 1.0, -1.0):
                    if self._takes_cost() or nu == 0.0:
                        self._ask_about_best(example, weights, nu)
                        self._ask_about_sums(example, weights, nu, rng)

    def _takes_cost(self) -> bool:
        method = self.structure.argmax
        return takes(method, self.X[0], np.zeros(self.n_features), gold=self.Y[0], cost_scale=1.0)

    def _ask_about_best(self, example: int, weights: FloatArray, nu: float) -> None:
        known = list(self._found_before.get(example, ()))
        answers = [self.kbest(weights, example, 1, nu)]
        known += self._found_before.get(example, ())
        if "kbest" in self.structure.answers:
            answers += [self.kbest(weights, example, k, nu) for k in range(2, self._most + 1)]
            known += self._found_before.get(example, ())
        if not self.structure.exact:
            return
        self._found_before[example] = list({key_of(one.output): one for one in known}.values())
        for fewer, more in itertools.pairwise(answers):
            for place, (one, other) in enumerate(zip(fewer, more, strict=False)):
                a, b = (found[2] + nu * found[3] for found in (one, other))
                if abs(a - b) > TOLERANCE * (1.0 + abs(a)):
                    raise InvalidInput(
                        f"{self.name}.kbest(X[{example}]) with k={len(more)} has an output of {b:g} in place {place}, "
                        f"but with k={len(fewer)} (k=1: argmax) there is one of {a:g} ({meaning(nu)})."
                    )

    def _ask_about_sums(self, example: int, weights: FloatArray, nu: float, rng: np.random.Generator) -> None:
        if "expectations" not in self.structure.answers:
            return
        direction = rng.normal(size=self.n_features)
        total, _, indices, values = self.expectations(weights, example, nu)
        up, down = (self.expectations(weights + sign * self._step * direction, example, nu)[0] for sign in (1.0, -1.0))
        if not self.structure.exact:
            return
        slope, expected = (up - down) / (2 * self._step), float(direction[indices] @ values)
        if abs(slope - expected) > 1e-4 * (1.0 + abs(slope) + float(np.abs(direction[indices] * values).sum())):
            raise InvalidInput(
                f"{self.name}.expectations(X[{example}]): the expected features are not the derivative of log Z, which "
                f"is {slope:g} in a direction in which they are {expected:g} (cost_scale={nu:g})."
            )
        best = np.logaddexp.reduce([f.dot(weights)[0] + nu * f_cost for f, f_cost in self._known(example)])
        if total < best - TOLERANCE * (1.0 + abs(best)):
            raise InvalidInput(
                f"{self.name}.expectations(X[{example}]) returned log Z = {total:g}, but the outputs found so far make "
                f"{best:g} alone ({meaning(nu)})."
            )

    def _known(self, example: int) -> list[tuple[Vector, float]]:
        known = [self._gold_outputs[example], *self._found_before.get(example, ())]
        distinct = {key_of(one.output): one for one in known}
        return [(one.features, one.cost) for one in distinct.values()]


class _CheckedParts(Checked, AskedParts):
    """The same for a structure of parts, whose cost comes by itself."""

    def _takes_cost(self) -> bool:
        return True
