"""The command line of an experiment, and what it leaves behind: what it printed, a CSV file, a picture."""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.names import FOLDER

RESULTS = FOLDER / "results"
WITHIN = 0.3  # points, that count as near
SHORT = 6  # letters of a parameter such as 0.0005, which three places would spoil
PUBLISHED, MEASURED = "#9a9a9a", "#d55e00"


class Report:
    """Where the results of one experiment go.

    Parameters
    ----------
    script : str
        ``__file__`` of the experiment; the files are called after it.
    description : str
        Its ``__doc__``.
    """

    def __init__(self, script: str, description: str) -> None:
        self.name = Path(script).stem
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--quick", action="store_true", help="a part of the sentences: a minute or two")
        parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="models trained at a time")
        parser.add_argument("--no-pos", action="store_true", help="leave out POS tagging, whose epochs take seconds")
        parser.add_argument("--pos-epochs", type=int, help="at most so many epochs of POS tagging")
        parser.add_argument(
            "--grown", action="store_true", help="Tables 3.1, 3.2: weights that only wrong outputs have"
        )
        parser.add_argument("--out", type=Path, help="folder for the CSV file and the picture")
        arguments = parser.parse_args()
        self.quick: bool = arguments.quick
        self.jobs: int = arguments.jobs
        self.pos: bool = not arguments.no_pos
        self.grown: bool = arguments.grown
        self._pos_epochs: int | None = arguments.pos_epochs
        self.folder: Path = arguments.out or (RESULTS / "quick" if self.quick else RESULTS)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._began = time.perf_counter()
        self._printed = _Both(sys.stdout, self.folder / f"{self.name}.txt")
        sys.stdout = self._printed
        print(f"# {self.name}{' --quick' if self.quick else ''}: {description.strip().splitlines()[0]}")
        print(f"# {' '.join(['python', f'experiments/{self.name}.py', *sys.argv[1:]])} at {_commit()}\n")

    def epochs(self, task: str, full: int, quick: int) -> int:
        """Return for how many epochs to train on a task: all, or fewer for ``--quick`` or ``--pos-epochs``."""
        epochs = min(full, quick) if self.quick else full
        return min(epochs, self._pos_epochs or epochs) if task == "POS tagging" else epochs

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print rows under their heads; numbers with a point to three places."""
        heads = list(rows[0])
        cells = [heads, *([_text(row.get(head)) for head in heads] for row in rows)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
        print(title)
        for number, line in enumerate(cells):
            print("  ".join(_aligned(text, width, i) for i, (text, width) in enumerate(zip(line, widths, strict=True))))
            if number == 0:
                print("  ".join("-" * width for width in widths))
        print(flush=True)

    def csv(self, rows: Sequence[Mapping[str, Any]], suffix: str = "") -> None:
        """Write rows to the CSV file of the experiment."""
        heads = list(dict.fromkeys(head for row in rows for head in row))
        path = self.folder / f"{self.name}{suffix}.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, heads, lineterminator="\n")
            writer.writeheader()
            writer.writerows({head: _stored(value) for head, value in row.items()} for row in rows)
        print(f"wrote {path.name}")

    @contextmanager
    def picture(
        self, rows: int = 1, columns: int = 1, width: float = 6.4, height: float = 4.2, squeeze: bool = True
    ) -> Iterator[Any]:
        """Yield axes to draw in, an array of them if there are several, and write them to the PNG file.

        The array has two dimensions where there are several rows and columns, and always if not to be squeezed.
        """
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width * columns, height * rows), dpi=110, layout="constrained")
        yield figure.subplots(rows, columns, squeeze=squeeze)
        path = self.folder / f"{self.name}.png"
        figure.savefig(path)
        print(f"wrote {path.name}")

    def finding(self, text: str) -> None:
        """Print what the experiment says about a claim of the thesis."""
        print(f"finding: {text}", flush=True)

    def near(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print how many rows are near what was published; with a part of the sentences none can be."""
        if not self.quick:
            near = sum(row["difference"] >= -WITHIN for row in rows)
            self.finding(f"{near} of {len(rows)} rows are at most {WITHIN} below what was published, or above it.")

    def done(self) -> None:
        """Print how long it took; what is printed from now on goes to the screen alone."""
        print(f"{self.name} took {time.perf_counter() - self._began:.0f} s with {self.jobs} jobs", flush=True)
        sys.stdout = self._printed.screen


class _Both:
    """Prints on the screen and into a file."""

    def __init__(self, screen: Any, path: Path) -> None:
        self.screen, self._path = screen, path
        path.write_text("", encoding="utf-8")

    def write(self, text: str) -> int:
        """Write to both."""
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(text)
        return int(self.screen.write(text))

    def flush(self) -> None:
        """Flush the screen."""
        self.screen.flush()


def _commit() -> str:
    """Return what the library is at, as far as can be known."""
    asked = ["git", "-C", str(RESULTS), "describe", "--always", "--dirty"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "an unknown commit"


def dots(axes: Any, names: Sequence[str], published: Sequence[float], measured: Sequence[float], title: str) -> None:
    """Draw published and measured figures beside each other, a line for each name, the first on top."""
    places = range(len(names))
    for place, a, b in zip(places, published, measured, strict=True):
        axes.plot([a, b], [place, place], color="#dddddd", zorder=1)
    axes.scatter(published, places, facecolors="none", edgecolors=PUBLISHED, marker="s", label="published", zorder=2)
    axes.scatter(measured, places, color=MEASURED, marker="o", label="measured", zorder=3)
    axes.set_yticks(list(places), list(names))
    axes.invert_yaxis()
    axes.set_title(title)
    axes.grid(alpha=0.3, axis="x")
    below = -40 / (72 * axes.get_position().height * axes.figure.get_figheight())  # 40 points, however high the picture
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, below))


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if abs(value) < 1 and len(short) <= SHORT else f"{value:.3f}"


def _stored(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _aligned(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column == 0 else text.rjust(width)
