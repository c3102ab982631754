"""The chunking task that the training and tagging benchmarks share: CoNLL-2000, the CRFsuite tutorial's templates.

Attributes are written here as the peers' users write them, in Python; `templates/conll2000.tpl` says the same to this
library. A template that reaches outside of the sentence gives nothing, and the ends have attributes of their own.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
TEMPLATE_FILE = HERE / "templates" / "conll2000.tpl"
C2 = 1.0  # CRFsuite's penalty is c2 |w|^2; this library's is l2/2 |w|^2, so l2 = 2

Sentence = list[tuple[str, ...]]

# Conjunctions of (column, offset).
TEMPLATES = (
    [((0, o),) for o in (-2, -1, 0, 1, 2)]
    + [((0, -1), (0, 0)), ((0, 0), (0, 1))]
    + [((1, o),) for o in (-2, -1, 0, 1, 2)]
    + [((1, o), (1, o + 1)) for o in (-2, -1, 0, 1)]
    + [((1, o), (1, o + 1), (1, o + 2)) for o in (-2, -1, 0)]
)
NAMES = ["|".join(f"{('w', 'pos')[column]}[{offset}]" for column, offset in template) for template in TEMPLATES]


def data_folder() -> Path | None:
    """Return the folder of public corpora: TRELLISWORK_DATA, or ../shared/data beside the repository; None if not."""
    for folder in (os.environ.get("TRELLISWORK_DATA"), HERE.parent.parent / "shared" / "data"):
        if folder and (Path(folder) / "conll2000" / "train.txt.gz").exists():
            return Path(folder)
    return None


def corpus_or_skip(name: str) -> Path | None:
    """Return the folder of CoNLL-2000, or say that the benchmark is skipped."""
    folder = data_folder()
    if folder is None:
        print(f"{name} is skipped: CoNLL-2000 was not found. Set TRELLISWORK_DATA to a folder with conll2000/ in it.")
        return None
    return folder / "conll2000"


def raw_file(part: str, copies: int = 1) -> Path:
    """Return the path of an unpacked part (``"train"`` or ``"test"``), so many times over, in the cache folder."""
    folder = data_folder()
    assert folder is not None
    path = cache_folder() / f"conll2000.{part}.{copies}.txt"
    if not path.exists():
        with gzip.open(folder / "conll2000" / f"{part}.txt.gz", "rb") as file:
            text = file.read().rstrip(b"\n") + b"\n\n"
        path.write_bytes(text * copies)
    return path


def cache_folder() -> Path:
    """Return a folder for what is made once: unpacked files, peers' models, the optimum."""
    folder = Path(tempfile.gettempdir()) / f"trelliswork-bench-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    folder.mkdir(exist_ok=True)
    return folder


def read_sentences(path: Path) -> list[Sentence]:
    """Read a column file in plain Python."""
    sentences: list[Sentence] = []
    current: Sentence = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if fields:
                current.append(tuple(fields))
            elif current:
                sentences.append(current)
                current = []
    return [*sentences, current] if current else sentences


def attribute_lists(sentence: Sentence) -> list[list[str]]:
    """Return the attributes of each token as strings."""
    n, listed = len(sentence), []
    for t in range(n):
        attributes = []
        for name, template in zip(NAMES, TEMPLATES, strict=True):
            values = []
            for column, offset in template:
                if not 0 <= t + offset < n:
                    break
                values.append(sentence[t + offset][column])
            else:
                attributes.append(name + ":" + "|".join(values))
        listed.append(attributes)
    listed[0].append("__BOS__")
    listed[-1].append("__EOS__")
    return listed


def attribute_dicts(sentence: Sentence) -> list[dict[str, str | bool]]:
    """Return the same attributes as the dicts that sklearn-crfsuite's users write."""
    n, listed = len(sentence), []
    for t in range(n):
        attributes: dict[str, str | bool] = {}
        for name, template in zip(NAMES, TEMPLATES, strict=True):
            values = []
            for column, offset in template:
                if not 0 <= t + offset < n:
                    break
                values.append(sentence[t + offset][column])
            else:
                attributes[name] = "|".join(values)
        if t == 0:
            attributes["__BOS__"] = True
        if t == n - 1:
            attributes["__EOS__"] = True
        listed.append(attributes)
    return listed


def labels(sentence: Sentence) -> list[str]:
    """Return the gold labels."""
    return [row[-1] for row in sentence]


def span_f1(gold: list[list[str]], guess: list[list[str]]) -> float:
    """Return the F1 of exact spans in percent."""
    import trelliswork as tw

    return 100 * tw.evaluation.span_scores(gold, guess).f1


def run_child(arguments: list[str], stdin: bytes | None = None) -> dict[str, object]:
    """Run a program; return its wall time, its peak memory (VmHWM), and what it printed last, read as JSON if it is.

    The peak is read while it runs: ru_maxrss carries the parent's own peak across the fork.
    """
    began = time.perf_counter()
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE if stdin is not None else None, stdout=subprocess.PIPE)
    peak, done = [0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, peak, done))
    watcher.start()
    printed, _ = process.communicate(stdin)
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with exit code {process.returncode}")
    last = printed.decode().strip().splitlines()[-1:] or [""]
    result = json.loads(last[0]) if last[0].startswith("{") else {"printed": last[0]}
    return {"wall": seconds, "peak_mib": peak[0] / 1024, **result}


def peer(what: str, *arguments: object) -> dict[str, object]:
    """Run a peer's half in a process of its own."""
    return run_child([sys.executable, str(HERE / "peers.py"), what, *map(str, arguments)])


def installed(module: str) -> bool:
    """Return whether a peer is there."""
    import importlib.util

    return importlib.util.find_spec(module) is not None


def _watch(pid: int, peak: list[int], done: threading.Event) -> None:
    while not done.wait(0.01):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                found = [int(line.split()[1]) for line in file if line.startswith("VmHWM")]
        except OSError:
            return
        peak[0] = max([peak[0], *found])
