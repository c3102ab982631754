"""Spark on this machine: labels, seconds, what the engine adds, growth with partitions, memory of its Python workers.

    PYSPARK_PYTHON=python python benchmarks/spark.py [--tokens 2000000] [--rounds 3] [--cores 2]

The corpus is the one that ships with the library, several times over, as Parquet files of equal size; each is a
partition. Spark reads and tags them and throws the rows away (``noop``); "nothing" is the same with the rows handed
back as they are, so the difference is the tagging and the rest the engine. One process does the same with
`trelliswork.arrow`. All run in turns; the shortest of the rounds counts. Memory is sampled from /proc: Pss counts pages
that several processes share by their share.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import trelliswork as tw
from timing import alternating, print_load, print_table
from trelliswork import spark

FILES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    print_load()
    corpus = tw.corpora.ingredients()
    tagger = tw.SequenceLabeler(tw.CRF(l2=0.5), constraints="BIO", n_jobs=1).fit(corpus.X_train, corpus.y_train)
    with tempfile.TemporaryDirectory() as folder:
        files, n_tokens = written(corpus, arguments.tokens, Path(folder))
        began = time.perf_counter()
        session = started(arguments.cores)
        print(f"session: {time.perf_counter() - began:.1f} s")
        measure(session, tagger, files, n_tokens, arguments.rounds)
        session.stop()


def written(corpus: Any, n_tokens: int, folder: Path) -> tuple[list[str], int]:
    """Write files of equal size with at least so many tokens in all, and return their names and the tokens."""
    X, y = list(corpus.X_test), [list(labels) for labels in corpus.y_test]
    times = -(-n_tokens // (FILES * sum(map(len, X))))
    files = []
    for i in range(FILES):
        first = i * times * len(X)
        table = pa.table({"id": range(first, first + times * len(X)), "words": X * times, "gold": y * times})
        files.append(str(folder / f"{i}.parquet"))
        pq.write_table(table, files[-1])
    return files, FILES * times * sum(map(len, X))


def started(cores: int) -> SparkSession:
    settings = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.files.openCostInBytes": str(1 << 30),  # a file is a partition
        "spark.sql.parquet.filterPushdown": "false",
    }
    builder = SparkSession.builder.master(f"local[{cores}, 4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def measure(session: SparkSession, tagger: Any, files: list[str], n_tokens: int, rounds: int) -> None:
    frames = {k: session.read.parquet(*files[:k]) for k in (1, 2, 4, 8)}
    tagged = {k: spark.tag(tagger, frame, "words", keep=["id"]) for k, frame in frames.items()}
    assert [frame.rdd.getNumPartitions() for frame in frames.values()] == list(frames)
    ways: dict[str, Callable[[], object]] = {
        "one process": lambda: one_process(tagger, files, 1),
        "one process, two threads": lambda: one_process(tagger, files, 2),
        "one process, spans": lambda: one_process(tagger, files, 1, "spans"),
        "Spark, nothing": lambda: run(
            frames[8].select("id", "words").mapInArrow(unchanged, "id long, words array<string>")
        ),
        "Spark, spans": lambda: run(spark.tag(tagger, frames[8], "words", keep=["id"], output="spans")),
    }
    ways["Spark, labels and evaluate"] = lambda: spark.evaluate(spark.tag(tagger, frames[8], "words"))
    for k, frame in tagged.items():
        ways[f"Spark, {k} of 8 partitions"] = lambda frame=frame: run(frame)  # type: ignore[misc]
    with Memory() as memory:
        began = time.perf_counter()
        same = compared(tagger, tagged[8], files)
        print(f"first job, and its rows to the driver: {time.perf_counter() - began:.1f} s")
        print(f"labels of {n_tokens} tokens equal to those of one process: {same}")
        best = alternating(ways, rounds)
    rows = []
    for name, seconds in best.items():
        share = int(name.split()[1]) / 8 if "of 8" in name else 1
        rows.append([name, int(n_tokens * share), seconds, n_tokens * share / seconds / 1e6])
    print_table("Tagging in Spark", ["way", "tokens", "seconds", "million tokens/s"], rows)
    engine, whole, alone = best["Spark, nothing"], best["Spark, 8 of 8 partitions"], best["one process"]
    print(f"engine: {engine:.2f} s of {whole:.2f} s; Spark takes {whole / alone:.2f} times as long as one process")
    half = best["Spark, 4 of 8 partitions"]
    print(
        f"seconds for each partition: {half / 4:.3f} of 4, {whole / 8:.3f} of 8, {(whole - half) / 4:.3f} of the last 4"
    )
    print(
        f"Python workers: {memory.workers}; at most {memory.rss / 1e6:.0f} MB Rss, {memory.pss / 1e6:.0f} MB Pss each"
    )


def run(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def one_process(tagger: Any, files: list[str], n_jobs: int, output: str = "labels") -> int:
    found = 0
    for file in files:
        batches = pq.ParquetFile(file).iter_batches(10_000, columns=["id", "words"])
        for batch in tw.arrow.tag_batches(tagger, batches, "words", output=output, keep=["id"], n_jobs=n_jobs):
            found += pa.record_batch(batch).num_rows
    return found


def compared(tagger: Any, tagged: DataFrame, files: list[str]) -> bool:
    """Whether Spark's labels are those of one process."""
    found = tagged.toArrow().sort_by("id")
    own = pa.concat_tables([pa.table(tw.arrow.tag(tagger, pq.read_table(f), "words", keep=["id"])) for f in files])
    return bool(found["id"].equals(own["id"])) and found["labels"].to_pylist() == own["labels"].to_pylist()


class Memory:
    """The most memory that a Python worker of Spark takes while the block runs, looked at five times a second."""

    def __init__(self) -> None:
        self.rss = self.pss = 0
        self._pids: set[int] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    @property
    def workers(self) -> int:
        """How many processes there were."""
        return len(self._pids)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.2):
            for pid, (rss, pss) in workers_of(os.getpid()).items():
                self._pids.add(pid)
                self.rss, self.pss = max(self.rss, rss), max(self.pss, pss)


def workers_of(driver: int) -> dict[int, tuple[int, int]]:
    """Return Rss and Pss of the processes that Spark's daemon, a grandchild of the driver, has forked."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended
    found = {}
    for pid in parents:
        line, at = [pid], pid
        while at in parents and at != driver:
            at = parents[at]
            line.append(at)
        if at != driver or len(line) != 4:  # worker, daemon, Java, driver
            continue
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:
            continue
        kilobytes = {row.split(":")[0]: int(row.split()[1]) for row in lines}
        found[pid] = (kilobytes["Rss"] * 1024, kilobytes["Pss"] * 1024)
    return found


if __name__ == "__main__":
    main()
