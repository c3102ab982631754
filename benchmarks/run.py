"""Run every benchmark, each in a process of its own, and print what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ORDER = [
    "startup",
    "extraction",
    "tagging",
    "training",
    "online",
    "learners",
    "many_labels",
    "trees",
    "factor_graphs",
    "roofline",
    "kbest",
    "masks",
    "long_sequences",
    "chain_kernels",
    "torch_crf",
]


def main() -> int:
    """Run them in order; returns the first failure's exit code."""
    for name in ORDER:
        print(f"\n=== {name} ===", flush=True)
        code = subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py"))], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
