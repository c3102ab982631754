"""McNemar's test: whether two taggers differ on the same tokens by more than chance (Mančev 2015, sec. 3.3.3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trelliswork.errors import InvalidInput, shown
from trelliswork.evaluation.pairs import paired
from trelliswork.labels.coded import LabelLists

__all__ = ["McNemar", "McNemarTable", "mcnemar"]


@dataclass(frozen=True)
class McNemar:
    """Counts of tokens that two taggers got right and wrong, and the test of a difference between them.

    Tables of several data sets are added up with ``+`` or `sum`, as in Mančev 2015, Table 3.2.

    Parameters
    ----------
    both_right, only_first, only_second, both_wrong : int
        PP, PN, NP and NN of Mančev 2015: tokens that both label correctly, only the first, only the second, or neither.

    Examples
    --------
    The averaged perceptron of Table 3.2, one best against k best, for chunking and Spanish NER together:

    >>> total = McNemar(199265, 1071, 1180, 10041) + McNemar(251189, 688, 960, 11754)
    >>> round(total.statistic, 3)
    37.23
    >>> total.significant()
    True
    >>> print(McNemar(90, 2, 9, 5))
                   second right  second wrong
      first right            90             2
      first wrong             9             5
    chi-squared 4.455, p = 0.03481 (exact 0.06543)
    """

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int

    def __add__(self, other: McNemar) -> McNemar:
        if not isinstance(other, McNemar):
            return NotImplemented
        return McNemar(*(a + b for a, b in zip(self._counts(), other._counts(), strict=True)))

    def __radd__(self, other: Any) -> McNemar:
        return self if other == 0 else NotImplemented  # so that sum() works

    @property
    def n_tokens(self) -> int:
        """Number of compared tokens."""
        return sum(self._counts())

    @property
    def statistic(self) -> float:
        """(PN - NP)^2 / (PN + NP), chi-squared with one degree of freedom if there is no difference; 0 for 0 / 0."""
        differing = self.only_first + self.only_second
        return (self.only_first - self.only_second) ** 2 / differing if differing else 0.0

    @property
    def p_value(self) -> float:
        """The probability of a statistic at least this large without a difference, by the chi-squared distribution."""
        return math.erfc(math.sqrt(self.statistic / 2))

    @property
    def exact_p_value(self) -> float:
        """The same by the binomial distribution, two-sided: exact even if few tokens differ."""
        from scipy.special import bdtr

        differing, fewer = self.only_first + self.only_second, min(self.only_first, self.only_second)
        return min(1.0, 2 * float(bdtr(fewer, differing, 0.5))) if differing else 1.0

    def significant(self, level: float = 0.05) -> bool:
        """Whether the hypothesis of no difference is rejected at this level (0.05: a statistic above 3.84)."""
        if not 0.0 < level < 1.0:
            raise InvalidInput(f"level is {shown(level)}; expected a probability between 0 and 1, such as 0.05.")
        return self.p_value < level

    def as_dict(self) -> dict[str, float | int]:
        """Return the counts, the statistic and both p-values for JSON."""
        return {
            "both_right": self.both_right,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "both_wrong": self.both_wrong,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "exact_p_value": self.exact_p_value,
        }

    def __str__(self) -> str:
        width = max(12, *(len(str(count)) for count in self._counts()))
        rows = [
            ("", "second right", "second wrong"),
            ("first right", self.both_right, self.only_first),
            ("first wrong", self.only_second, self.both_wrong),
        ]
        lines = [f"  {name:<11}  {a:>{width}}  {b:>{width}}" for name, a, b in rows]
        return "\n".join([*lines, self.verdict()])

    def verdict(self) -> str:
        """Return the statistic and the p-values in one line."""
        return f"chi-squared {self.statistic:.3f}, p = {self.p_value:.4g} (exact {self.exact_p_value:.4g})"

    def _counts(self) -> tuple[int, int, int, int]:
        return self.both_right, self.only_first, self.only_second, self.both_wrong


def mcnemar(y_true: LabelLists, first: LabelLists, second: LabelLists) -> McNemar:
    """Return McNemar's test of two predictions of the same tokens.

    The statistic is that of Mančev 2015, 3.3.3 (McNemar 1947), without a correction for continuity. It assumes
    independent tokens, but neighbours in a sentence are not independent. If that matters, use `paired_bootstrap`, whose
    unit is the sequence.

    Parameters
    ----------
    y_true : iterable of n sequences of labels
        Gold labels. Tokens whose gold label is None are ignored.
    first, second : iterables of n sequences of labels
        The two taggers' labels of the same tokens.

    Returns
    -------
    McNemar

    Examples
    --------
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> test = mcnemar(gold, [["B-NP", "O", "O"], ["O", "O"]], gold)
    >>> test.only_first, test.only_second, test.statistic
    (0, 2, 2.0)
    """
    golds, firsts = _paired_lists(y_true, first, "first")
    _, seconds = _paired_lists(golds, second, "second")
    right: Counter[tuple[bool, bool]] = Counter()
    for gold, a, b in zip(golds, firsts, seconds, strict=True):
        right.update((x == label, z == label) for label, x, z in zip(gold, a, b, strict=True) if label is not None)
    return McNemar(right[True, True], right[True, False], right[False, True], right[False, False])


def _paired_lists(y_true: LabelLists, guess: LabelLists, name: str) -> tuple[list[Any], list[Any]]:
    try:
        pairs = list(paired(y_true, guess))
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("y_pred", name)) from None
    return [gold for gold, _ in pairs], [labels for _, labels in pairs]


class McNemarTable:
    """The tests of several pairs of taggers on several data sets, in the form of Mančev 2015, Table 3.2.

    Parameters
    ----------
    tests : mapping of str to (mapping of str to McNemar)
        ``tests[pair][data set]``; every pair has the same data sets.

    Examples
    --------
    >>> print(McNemarTable({
    ...     "Perceptron": {"chunking": McNemar(199265, 1071, 1180, 10041), "NER": McNemar(251189, 688, 960, 11754)},
    ...     "SDM": {"chunking": McNemar(200655, 85, 101, 10716), "NER": McNemar(251929, 237, 248, 12177)},
    ... }))
                    chunking            NER          Total    statistic   p-value
    Perceptron  199265   1071  251189   688  450454   1759       37.230  1.05e-09
                  1180  10041     960 11754    2140  21795
    SDM         200655     85  251929   237  452584    322        1.086     0.297
                   101  10716     248 12177     349  22893
    """

    def __init__(self, tests: Mapping[str, Mapping[str, McNemar]]) -> None:
        self.tests = {name: dict(row) for name, row in tests.items()}
        columns = [list(row) for row in self.tests.values()]
        if not columns or not columns[0] or any(column != columns[0] for column in columns):
            raise InvalidInput("tests must have at least one row, and the same data sets in the same order in each.")
        self.data_sets = columns[0]

    def total(self, name: str) -> McNemar:
        """Return the table of a pair, summed over the data sets."""
        return sum(self.tests[name].values(), start=McNemar(0, 0, 0, 0))

    def as_dict(self) -> dict[str, Any]:
        """Return all tables and totals for JSON."""
        return {
            name: {data_set: test.as_dict() for data_set, test in row.items()} | {"Total": self.total(name).as_dict()}
            for name, row in self.tests.items()
        }

    def __str__(self) -> str:
        tables = {name: [*row.values(), self.total(name)] for name, row in self.tests.items()}
        heads = [*self.data_sets, "Total"]
        left, right = [], []
        for j, head in enumerate(heads):
            column = [row[j] for row in tables.values()]
            left.append(max(len(str(count)) for test in column for count in (test.both_right, test.only_second)))
            right.append(max(len(str(count)) for test in column for count in (test.only_first, test.both_wrong)))
            right[-1] = max(right[-1], len(head) - left[-1] - 1)
        first = max(map(len, tables))
        names = "".join(f"  {head:>{a + b + 1}}" for head, a, b in zip(heads, left, right, strict=True))
        lines = [f"{'':<{first}}{names}  statistic   p-value"]
        for name, row in tables.items():
            pairs = [(test.both_right, test.only_first) for test in row], [(t.only_second, t.both_wrong) for t in row]
            cells = [
                "".join(f"  {a:>{m}} {b:>{n}}" for (a, b), m, n in zip(line, left, right, strict=True))
                for line in pairs
            ]
            lines.append(f"{name:<{first}}{cells[0]}  {row[-1].statistic:9.3f}  {row[-1].p_value:8.3g}")
            lines.append(f"{'':<{first}}{cells[1]}")
        return "\n".join(lines)
