"""Import time in a fresh interpreter: this library against NumPy, which it needs."""

from __future__ import annotations

import subprocess
import sys
import time

from timing import print_load, print_table

CASES = {
    "python": "pass",
    "import numpy": "import numpy",
    "import trelliswork": "import trelliswork",
    "import trelliswork, ask a chain": "import trelliswork as tw; tw.Chain([[0.0, 1.0]], [[0.0, 0.0]] * 2).argmax()",
}


def main() -> None:
    """Print the best of interleaved runs, and the ratio to NumPy's import."""
    print_load()
    seconds = {name: float("inf") for name in CASES}
    for _ in range(15):
        for name, code in CASES.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            seconds[name] = min(seconds[name], time.perf_counter() - began)
    print_table(
        "A fresh interpreter, warm file cache",
        ["what", "milliseconds", "times import numpy"],
        [[name, 1e3 * found, found / seconds["import numpy"]] for name, found in seconds.items()],
    )


if __name__ == "__main__":
    main()
