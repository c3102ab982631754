"""Hostile requests to `trelliswork serve`: what each kind is answered, what it costs, and whether memory comes back.

    python benchmarks/serving_abuse.py [--rounds 200] [--slow 3]

The server is a process of its own on loopback, with a time limit of one second. A round sends every quick kind once;
slow kinds, where the server waits for a client until it has had enough, are sent by 50 clients at once, `--slow` times.
Between kinds an ordinary request must be answered. Memory is VmRSS, after the first fifth of the rounds, which warm
up what is kept, and at the end. Everything is bounded: no kind sends more than four megabytes.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from serving import running, train
from timing import print_table

CLIENTS = 50
PATIENCE = 20.0  # seconds after which a kind has failed to be refused


def request(body: bytes, *, kind: str = "application/json", host: str = "localhost", path: str = "/tag") -> bytes:
    """A request with this body."""
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


HEAD = b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
NOTHING = json.dumps({"text": "salt"}).encode()
# Kind -> bytes, and the statuses that refuse it; "closed" where the connection ends without an answer.
QUICK: dict[str, tuple[bytes, set[str]]] = {
    "a body of 4 MB": (request(b'{"text": "' + b"a " * (2 << 20) + b'"}'), {"413"}),
    "4 MB in chunks, no length": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"a" * 0x10000 + b"\r\n") * 64,
        {"413"},
    ),
    "a length that is a lie": (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{", {"400", "413", "closed"}),
    "a head of 200 kB": (HEAD + b"X-More: " + b"a" * 200_000 + b"\r\n\r\n", {"400", "431", "closed"}),
    "20,001 tokens": (request(json.dumps({"tokens": ["a"] * 20_001}).encode()), {"413"}),
    "1,001 sentences": (request(json.dumps({"sentences": [{"text": "a"}] * 1_001}).encode(), path="/batch"), {"413"}),
    "500,000 brackets": (request(b'{"tokens": ' + b"[" * 500_000), {"400"}),
    "250,000 nested lists, closed": (request(b'{"text": ' + b"[" * 250_000 + b"]" * 250_000 + b"}"), {"400"}),
    "100,000 nested objects": (request(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), {"400"}),
    "no JSON": (request(b"text=2+eggs"), {"400"}),
    "JSON that ends too soon": (request(b'{"text": "2 eg'), {"400"}),
    "a field that is not known": (request(b'{"text": "a", "texts": 1}'), {"400"}),
    "a wrong type": (request(b'{"text": 7}'), {"400"}),
    "bytes that are not UTF-8": (request(b'{"text": "\xff\xfe\xfa"}'), {"400"}),
    "UTF-16": (request('{"text": "salt"}'.encode("utf-16")), {"400"}),
    "half of a surrogate pair": (request(b'{"text": "\\ud800"}'), {"400", "422"}),
    "a form": (request(b"text=2+eggs", kind="application/x-www-form-urlencoded"), {"415"}),
    "another host's name": (request(NOTHING, host="example.org"), {"400"}),
    "a label that is not there": (request(b'{"text": "a", "fixed": {"0": "NO"}}'), {"422"}),
    "another method": (b"DELETE /tag HTTP/1.1\r\nHost: localhost\r\n\r\n", {"405"}),
    "no HTTP": (b"\x16\x03\x01\x02\x00" * 1_000, {"400", "closed"}),
}
# What a client sends before it falls silent, or sends a byte every tenth of a second.
SLOW: dict[str, tuple[bytes, bytes, set[str]]] = {
    "silence": (b"", b"", {"closed"}),
    "a head, byte by byte": (HEAD, b"x", {"closed", "408"}),
    "a body, byte by byte": (HEAD + b"Content-Length: 1000\r\n\r\n", b" ", {"408"}),
    "a body that stops": (HEAD + b"Content-Length: 1000\r\n\r\n{", b"", {"408"}),
}


def main() -> None:
    """Print a table of kinds, and what memory does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--slow", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "m.tw")
        train(model)
        words = [sys.executable, "-m", "trelliswork", "serve", model, "--timeout", "1", "--port"]
        with running(words) as (port, pid):
            attack(port, pid, arguments.rounds, arguments.slow)


def attack(port: int, pid: int, rounds: int, slow: int) -> None:
    """Send everything, and print what came back."""
    wrong: list[str] = []
    answers: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    seconds: dict[str, float] = collections.defaultdict(float)

    def met(kind: str, status: str, allowed: set[str], took: float) -> None:
        answers[kind][status] += 1
        seconds[kind] = max(seconds[kind], took)
        if status not in allowed:
            wrong.append(f"{kind}: {status}")

    memory = [resident(pid)]
    for i in range(rounds):
        for kind, (sent, allowed) in QUICK.items():
            met(kind, *asked(port, sent, allowed))
        met("an ordinary request", *asked(port, request(NOTHING), {"200"}))
        hang_up(port)
        if i == rounds // 5:
            memory.append(resident(pid))
    memory.append(resident(pid))
    for _ in range(slow):
        for kind, (first, more, allowed) in SLOW.items():
            for status, took in dawdled(port, first, more):
                met(kind, status, allowed, took)
        met("an ordinary request", *asked(port, request(NOTHING), {"200"}))
    memory.append(resident(pid))
    rows = [
        [kind, sum(found.values()), ", ".join(f"{n} x {status}" for status, n in found.items()), 1e3 * seconds[kind]]
        for kind, found in answers.items()
    ]
    print_table("Hostile requests", ["kind", "times", "answers", "slowest ms"], rows)
    told = ", ".join(f"{size:.1f}" for size in memory)
    print(f"\nMiB at the start, after a fifth of the rounds, after all of them, after slow clients: {told}")
    print(f"open files of the server at the end: {len(os.listdir(f'/proc/{pid}/fd'))}")
    print(f"answers that were not a refusal: {len(wrong)} {sorted(set(wrong))}")


def asked(port: int, sent: bytes, allowed: set[str]) -> tuple[str, set[str], float]:
    """Send something on a connection of its own; return the status of the answer and the seconds until it came."""
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        with contextlib.suppress(OSError):  # it may be refused before all of it was sent
            connection.sendall(sent)
        return status_of(connection), allowed, time.perf_counter() - began


def hang_up(port: int) -> None:
    """Ask for a lot and go away before it is answered."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request(json.dumps({"tokens": ["a"] * 20_000, "k": 100}).encode(), path="/kbest"))


def status_of(connection: socket.socket) -> str:
    """The status of the next answer, or that there is none."""
    try:
        found = re.match(rb"HTTP/1\.1 (\d+)", connection.recv(4096))
    except TimeoutError:
        return "nothing"
    except OSError:
        return "closed"
    return found[1].decode() if found else "closed"


def dawdled(port: int, first: bytes, more: bytes) -> list[tuple[str, float]]:
    """Let many clients dawdle at once; return how each ended, and when."""
    found: list[tuple[str, float]] = []

    def dawdle() -> None:
        began = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port), timeout=0.1) as connection:
            status = "nothing"
            try:
                connection.sendall(first)
                while status == "nothing" and time.perf_counter() - began < PATIENCE:
                    status = status_of(connection)
                    if status == "nothing":
                        connection.sendall(more)
            except OSError:
                status = "closed"
        found.append((status, time.perf_counter() - began))

    run_all([dawdle] * CLIENTS)
    return found


def run_all(works: list[Callable[[], None]]) -> None:
    """Run functions in threads of their own, and wait for them."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def resident(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024  # type: ignore[index]


if __name__ == "__main__":
    main()
