"""Run every experiment after the other and say how long each took: ``python experiments/run.py --quick``.

Arguments are passed on to each. One that fails does not stop the others; the exit code says whether any did.
"""

from __future__ import annotations

import subprocess
import sys
import time

from common.names import EXPERIMENTS, FOLDER


def main() -> int:
    """Run them; return 1 if one failed."""
    began = time.perf_counter()
    failed = []
    for name in EXPERIMENTS:
        if subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), *sys.argv[1:]], check=False).returncode:
            failed.append(name)
        print(f"----- {time.perf_counter() - began:.0f} s so far\n", flush=True)
    print("failed: " + ", ".join(failed) if failed else f"all {len(EXPERIMENTS)} experiments ran")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
