"""Training larger than memory: copies of CoNLL-2000 with changed words, in memory and within a limit.

    python benchmarks/larger_than_memory.py [--tokens 20e6] [--memory 1GB] [--learner crf perceptron ...] [--cold]

Each run is a process of its own. Peak memory is VmHWM of /proc/self/status, the most that was ever resident, pages of
mapped files included; RssAnon and RssFile are the most that was seen of each after an iteration. Page reads are the
major faults and the blocks read of getrusage, and what /proc/self/io says was fetched from the disk. With --cold, the
pages of the files are taken away from the system after each iteration, as on a machine without memory for them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import chunking
from timing import print_load, print_table

LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "crf": ("tw.CRF(solver='lbfgs', max_iter=5)", {}),
    "sgd": ("tw.CRF(solver='sgd', max_iter=3)", {}),
    "perceptron": ("tw.Perceptron(epochs=3)", {"hash_bits": 18}),
    "pa": ("tw.PassiveAggressive(epochs=3)", {"hash_bits": 18}),
}
CHANGED, NEW = 0.02, 0.005  # tokens that get another word of their tag; tokens whose word is one never seen


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=float, default=20e6)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--learner", nargs="*", default=["crf", "perceptron"], choices=sorted(LEARNERS))
    parser.add_argument("--ways", nargs="*", default=["memory", "files"], choices=["memory", "files"])
    parser.add_argument("--min-count", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--run", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print(json.dumps(run(json.loads(given.run))))
        return
    corpus = chunking.corpus_or_skip("larger_than_memory")
    if corpus is None:
        return
    print_load()
    path = Path(given.folder) / f"trelliswork-bench-{int(given.tokens)}.txt"
    if not path.exists():
        write_corpus(corpus / "train.txt.gz", path, int(given.tokens))
    rows = []
    for name in given.learner:
        bits = set()
        for way in given.ways:
            job = {
                "path": str(path),
                "learner": name,
                "memory": given.memory if way == "files" else None,
                "min_count": given.min_count,
                "jobs": given.jobs,
                "cold": given.cold and way == "files",
                "folder": given.folder,
            }
            command = [sys.executable, __file__, "--run", json.dumps(job)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            bits.add(found["model"])
            rows.append([name, way, *(found[key] for key in HEAD)])
        print(f"{name}: the models of {' and '.join(given.ways)} are {'the same' if len(bits) == 1 else 'DIFFERENT'}")
    title = f"{int(given.tokens):,} tokens, memory={given.memory}, {given.jobs} threads"
    print_table(title, ["learner", "way", *HEAD.values()], rows)


HEAD = {
    "weights": "weights",
    "prepare": "seconds before",
    "pass": "seconds a pass",
    "cpu": "of the processor",
    "peak": "peak MB",
    "anonymous": "RssAnon MB",
    "files": "RssFile MB",
    "disk": "files MB",
    "major": "major faults",
    "blocks": "blocks read",
    "read": "MB read in passes",
}


def write_corpus(original: Path, path: Path, n_tokens: int) -> None:
    """Write copies of CoNLL-2000 whose words are changed here and there, always the same."""
    with gzip.open(original, "rt") as file:
        lines = [line.split() for line in file]
    of_tag: dict[str, list[str]] = {}
    for line in lines:
        if line:
            of_tag.setdefault(line[1], []).append(line[0])
    rng, written, fresh = random.Random(1), 0, 0
    unfinished = path.with_suffix(".part")
    with open(unfinished, "w") as out:
        while written < n_tokens:
            for line in lines:
                if not line:
                    out.write("\n")
                    if written >= n_tokens:
                        break
                    continue
                word, chance = line[0], rng.random()
                if chance < NEW:
                    fresh += 1
                    word = f"{word}{fresh}"
                elif chance < CHANGED:
                    word = rng.choice(of_tag[line[1]])
                out.write(f"{word} {line[1]} {line[2]}\n")
                written += 1
    unfinished.rename(path)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Train once and say what it took."""
    import trelliswork as tw

    text, options = LEARNERS[job["learner"]]
    limits: dict[str, Any] = {"memory": job["memory"], "scratch_folder": job["folder"]} if job["memory"] else {}
    labeler = tw.SequenceLabeler(
        eval(text), features="chunking", min_count=job["min_count"], n_jobs=job["jobs"], **options, **limits
    )
    X, y = tw.corpora.open_table(job["path"])
    began = time.perf_counter()
    seen: list[dict[str, float]] = []
    ends = [began]

    forgetting = 0.0

    def see(progress: Any) -> None:
        nonlocal forgetting
        ends.append(time.perf_counter())
        seen.append(resident() | reads() | {"seconds": progress.seconds - forgetting, "disk": files_bytes()})
        if job["cold"]:
            forget_files()
            forgetting += time.perf_counter() - ends[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labeler.fit(X, y, callback=see)
    passes = [entry.get("passes", i) for i, entry in enumerate(labeler.history_, 1)]
    done = max(passes[-1] - passes[0], 1)
    each = (seen[-1]["seconds"] - seen[0]["seconds"]) / done
    cpu = (seen[-1]["cpu"] - seen[0]["cpu"]) / done
    digest = hashlib.sha256()
    for part in weights_of(labeler):
        digest.update(memoryview(part).cast("B"))
    return {
        "weights": labeler.n_weights_,
        "prepare": ends[1] - began - seen[0]["seconds"],
        "pass": each,
        "cpu": cpu,
        "peak": status()["VmHWM"] * 1.024 / 1000,
        "anonymous": max(entry["RssAnon"] for entry in seen) / 1000,
        "files": max(entry["RssFile"] for entry in seen) / 1000,
        "disk": max(entry["disk"] for entry in seen) / 1e6,
        "major": int(seen[-1]["major"] - seen[0]["major"]),
        "blocks": int(seen[-1]["blocks"] - seen[0]["blocks"]),
        "read": (seen[-1]["read"] - seen[0]["read"]) / 1e6,
        "model": digest.hexdigest(),
    }


def weights_of(labeler: Any) -> list[Any]:
    """All that a model has learned, as arrays."""
    import numpy as np

    tensors, _ = labeler.exported()
    return [np.ascontiguousarray(tensors[name]) for name in sorted(tensors)]


def status() -> dict[str, int]:
    """Numbers of /proc/self/status, in units of 1,024 bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    pairs = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(number) for name, number, _ in pairs}


def resident() -> dict[str, float]:
    """What is resident now, anonymous and of files."""
    now = status()
    return {name: now[name] * 1.024 for name in ("RssAnon", "RssFile")}


def reads() -> dict[str, float]:
    """Seconds of the processor, major faults, blocks and bytes read so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    io = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return {
        "cpu": used.ru_utime + used.ru_stime,
        "major": used.ru_majflt,
        "blocks": used.ru_inblock,
        "read": float(io["read_bytes"]),
    }


def scratch_files() -> list[int]:
    """The descriptors of files without a name."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").endswith("(deleted)"):
                found.append(int(name))
        except OSError:
            continue
    return found


def files_bytes() -> int:
    """What they take."""
    return sum(os.fstat(fd).st_size for fd in scratch_files())


def forget_files() -> None:
    """Let the system forget their pages."""
    for fd in scratch_files():
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    main()
