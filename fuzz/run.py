"""Fuzzing: wrong input of every kind, for as long as wanted; a crash, a hang or a surprise ends it.

    make fuzz MINUTES=10

Targets run in processes of their own, so that a crash is seen and not shared. Every case follows from the target, the
seed and its number alone: what failed is written to `fuzz/failures/`, and can be run again with

    python fuzz/run.py --again TARGET SEED NUMBER

With `--sanitizer PYTHON`, every other process runs in that interpreter, whose core is built with AddressSanitizer.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FAILURES = HERE / "failures"
MOST_SECONDS = 20  # of a process; then another takes over, with another target and seed
HANG_SECONDS = 60  # of a single case

sys.path.insert(0, str(HERE))


def main() -> int:
    arguments = parsed()
    if arguments.worker:
        return work(*arguments.worker)
    if arguments.again:
        return again(*arguments.again)
    return supervise(arguments)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first process; random when left out")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", action="append", help="only these; may be given several times")
    parser.add_argument("--sanitizer", metavar="PYTHON", help="an interpreter whose core has AddressSanitizer")
    parser.add_argument("--again", nargs=3, metavar=("TARGET", "SEED", "NUMBER"))
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- the process that watches ----------------------------------------------------------------------------------------


class Worker:
    """A process that runs cases of one target, and the place where it says which."""

    def __init__(self, target: str, seed: int, seconds: float, sanitizer: str | None) -> None:
        self.target, self.seed, self.sanitizer = target, seed, sanitizer
        self._file = tempfile.NamedTemporaryFile(prefix="trelliswork-fuzz-")  # noqa: SIM115 - lives with the worker
        self._file.write(bytes(8))
        self._file.flush()
        self._number = mmap.mmap(self._file.fileno(), 8)
        self._seen, self._since = 0, time.monotonic()
        self.process = subprocess.Popen(
            [sanitizer or sys.executable, __file__, "--worker", target, str(seed), str(seconds), self._file.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | (sanitizer_environment() if sanitizer else {}),
        )

    def number(self) -> int:
        return int.from_bytes(self._number[:], "little")

    def hangs(self) -> bool:
        if self.number() != self._seen:
            self._seen, self._since = self.number(), time.monotonic()
        return time.monotonic() - self._since > HANG_SECONDS

    def close(self) -> str:
        self.process.kill()
        output, _ = self.process.communicate()
        self._number.close()
        self._file.close()
        return output.decode(errors="replace")


def supervise(arguments: argparse.Namespace) -> int:
    from targets import TARGETS

    names = arguments.target or list(TARGETS)
    for unknown in set(names) - TARGETS.keys():
        print(f"there is no target {unknown!r}: choose from {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    seed = random.SystemRandom().randrange(10**9) if arguments.seed is None else arguments.seed
    print(f"fuzzing {', '.join(names)} for {arguments.minutes:g} minutes, seeds from {seed}", flush=True)
    end = time.monotonic() + 60 * arguments.minutes
    turn = min(MOST_SECONDS, 60 * arguments.minutes * arguments.jobs / (2 * len(names)))  # two rounds at least
    counts = dict.fromkeys(names, 0)
    sanitized = launched = failed = 0
    running: list[Worker] = []
    try:
        while not failed and (running or time.monotonic() < end):
            while len(running) < arguments.jobs and time.monotonic() < end:
                left = min(turn, max(1.0, end - time.monotonic()))
                # Round after round over the targets, every second round with the sanitizer.
                python = arguments.sanitizer if launched // len(names) % 2 == 1 else None
                worker = Worker(names[launched % len(names)], seed + launched, left, python)
                launched += 1
                running.append(worker)
            time.sleep(0.05)
            for worker in [worker for worker in running if worker.process.poll() is not None or worker.hangs()]:
                running.remove(worker)
                counts[worker.target] += worker.number()
                sanitized += worker.number() if worker.sanitizer else 0
                failed += judged(worker)
    finally:
        for worker in running:
            worker.close()
    print(", ".join(f"{name}: {count} cases" for name, count in counts.items()), f"({sanitized} with the sanitizer)")
    print("FAILED" if failed else "nothing failed")
    return 1 if failed else 0


def judged(worker: Worker) -> int:
    """Whether the end of a worker is a failure; if so, it is told and its input kept."""
    code, number = worker.process.poll(), worker.number()
    output = worker.close()
    if code == 0:
        return 0
    from targets import TARGETS

    FAILURES.mkdir(exist_ok=True)
    path = FAILURES / f"{worker.target}-{worker.seed}-{number}"
    path.write_bytes(TARGETS[worker.target].make(case_random(worker.target, worker.seed, number)))
    what = "a hang" if code is None else f"exit {code}" if code > 0 else f"signal {-code}"
    print(f"{output}\n{worker.target}: {what}\ninput: {path}")
    print(f"again: {worker.sanitizer or sys.executable} {__file__} --again {worker.target} {worker.seed} {number}")
    return 1


def sanitizer_environment() -> dict[str, str]:
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


# ---- the process that works ------------------------------------------------------------------------------------------


def case_random(target: str, seed: int, number: int) -> random.Random:
    return random.Random(f"{target} {seed} {number}")


def work(target: str, seed: str, seconds: str, place: str) -> int:
    import faulthandler

    from targets import TARGETS

    faulthandler.enable()
    limit_memory()
    chosen = TARGETS[target]
    end = time.monotonic() + float(seconds)
    with open(place, "r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
        number = 0
        while time.monotonic() < end:
            number += 1
            shared[:] = number.to_bytes(8, "little")
            rng = case_random(target, int(seed), number)
            data = chosen.make(rng)
            chosen.check(data, rng)
    return 0


def again(target: str, seed: str, number: str) -> int:
    from targets import TARGETS

    rng = case_random(target, int(seed), int(number))
    data = TARGETS[target].make(rng)
    print(repr(data[:2000]))
    TARGETS[target].check(data, rng)
    print("nothing failed")
    return 0


def limit_memory() -> None:
    """A few bytes of input must not ask for gigabytes. (AddressSanitizer reserves terabytes and goes without.)"""
    if "ASAN_OPTIONS" in os.environ:
        return
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    except (ImportError, ValueError):
        pass


if __name__ == "__main__":
    sys.exit(main())
