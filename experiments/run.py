"""Run every experiment after the other and say how long each took: ``python experiments/run.py --quick``.

Arguments are passed on to each. One that fails does not stop the others; the exit code says whether any did.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPERIMENTS = (
    "table_3_1",
    "table_3_2",
    "figure_3_2",
    "figure_3_3",
    "table_4_2",
    "table_5_1",
    "figure_5_2",
    "figure_5_3",
    "table_6_1",
    "figure_6_1",
    "figure_6_2",
    "figure_6_3",
    "figure_6_4",
    "figure_6_5",
    "figure_6_6",
    "figure_6_7",
    "confidence",
    "active_learning",
    "best_chunking",
    "best_ner",
)


def main() -> int:
    """Run them; return 1 if one failed."""
    began = time.perf_counter()
    failed = []
    for name in EXPERIMENTS:
        if subprocess.run([sys.executable, str(HERE / f"{name}.py"), *sys.argv[1:]], check=False).returncode:
            failed.append(name)
        print(f"----- {time.perf_counter() - began:.0f} s so far\n", flush=True)
    print("failed: " + ", ".join(failed) if failed else f"all {len(EXPERIMENTS)} experiments ran")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
