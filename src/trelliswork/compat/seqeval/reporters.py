"""What a report is written with: rows of scores, as a dict or as text."""

from __future__ import annotations

import abc
from typing import Any

__all__ = ["DictReporter", "Reporter", "StringReporter"]

_COLUMNS = ("precision", "recall", "f1-score", "support")


class Reporter(abc.ABC):
    """Takes rows, and gives a report of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: B027
        pass

    @abc.abstractmethod
    def report(self) -> Any:
        """Return the report."""
        raise NotImplementedError

    @abc.abstractmethod
    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        raise NotImplementedError


class DictReporter(Reporter):
    """A report that is a dict.

    Examples
    --------
    >>> reporter = DictReporter()
    >>> reporter.write("PER", 0.5, 1.0, 0.67, 3)
    >>> reporter.report()
    {'PER': {'precision': 0.5, 'recall': 1.0, 'f1-score': 0.67, 'support': 3}}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.report_dict: dict[str, dict[str, Any]] = {}

    def report(self) -> dict[str, dict[str, Any]]:
        """Return the rows by their names."""
        return self.report_dict

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        self.report_dict[row_name] = dict(zip(_COLUMNS, (precision, recall, f1, support), strict=True))

    def write_blank(self) -> None:
        """Add nothing."""


class StringReporter(Reporter):
    """A report that is text.

    Examples
    --------
    >>> reporter = StringReporter(width=5, digits=2)
    >>> reporter.write("PER", 0.5, 1.0, 0.67, 3)
    >>> print(reporter.report())
           precision    recall  f1-score   support
    <BLANKLINE>
      PER       0.50      1.00      0.67         3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.buffer: list[str] = []
        self.row_fmt = "{:>{width}s} " + " {:>9.{digits}f}" * 3 + " {:>9}"
        self.width: int = kwargs.get("width", 10)
        self.digits: int = kwargs.get("digits", 4)

    def report(self) -> str:
        """Return the header and all rows."""
        return self.write_header() + "\n".join(self.buffer)

    def write(self, row_name: str, precision: float, recall: float, f1: float, support: int) -> None:
        """Add a row."""
        row = self.row_fmt.format(row_name, precision, recall, f1, support, width=self.width, digits=self.digits)
        self.buffer.append(row)

    def write_header(self) -> str:
        """Return the names of the columns."""
        return f"{'':>{self.width}s} " + "".join(f" {column:>9}" for column in _COLUMNS) + "\n\n"

    def write_blank(self) -> None:
        """Add an empty line."""
        self.buffer.append("")
