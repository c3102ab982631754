"""`trelliswork serve` beside a FastAPI endpoint over python-crfsuite: throughput, latency, memory.

    python benchmarks/serving.py [--rounds 3] [--seconds 5] [--rate 1000] [--soak 1000000]

Both serve single sentences of recipe lines on loopback, each from one process; wrk (of Debian) asks, from this machine,
so client and server share its cores. Each side does what its users do: text in, labels out, with its own features.
Servers take turns; medians of the rounds are printed, with the least and the greatest. Microseconds of the processor
are what the server spends on a request, which says more than the clock on a machine with other work. Then what the page
takes: bytes, and the time from connecting until its files, the model's description and the first answer are there.
--soak asks our server alone so many times, and prints its VmRSS along the way. The peer needs fastapi and
python-crfsuite in this environment. What hostile requests do: serving_abuse.py.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import trelliswork as tw
from timing import print_load, print_table

PEER = """
import sys, re, pycrfsuite
from fastapi import FastAPI
from pydantic import BaseModel
tagger = pycrfsuite.Tagger(); tagger.open(sys.argv[1])
app = FastAPI()
class Sentence(BaseModel):
    text: str
def features(words, t):
    w = words[t]
    found = {"bias": 1.0, "word": w, "lower": w.lower(), "p1": w[:1], "p2": w[:2], "p3": w[:3], "s1": w[-1:],
             "s2": w[-2:], "s3": w[-3:], "title": w.istitle(), "digit": w.isdigit()}
    if t: found["-1"] = words[t - 1].lower()
    else: found["BOS"] = True
    if t + 1 < len(words): found["+1"] = words[t + 1].lower()
    else: found["EOS"] = True
    return found
@app.post("/tag")
async def tag(sentence: Sentence):
    words = re.findall(r"\\w+|[^\\w\\s]", sentence.text)
    return {"tokens": words, "labels": tagger.tag([features(words, t) for t in range(len(words))])}
import uvicorn
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="error")
"""
SENTENCES = (
    "2 ripe tomatoes, chopped",
    "1 1/2 cups coarsely grated Gruyere cheese, plus extra to serve",
    "a handful of fresh coriander leaves, roughly torn (optional)",
    "2 (15 oz) cans black beans, rinsed and drained",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rate", type=int, default=1000, help="requests a second, for latency")
    parser.add_argument("--soak", type=int, default=0, help="so many requests, and what memory did meanwhile")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        model, peer_model, peer = (os.path.join(folder, name) for name in ("m.tw", "m.crfsuite", "peer.py"))
        Path(peer).write_text(PEER)
        train(model)
        script = os.path.join(folder, "post.lua")
        Path(script).write_text(LUA)
        servers = {
            "trelliswork serve": [sys.executable, "-m", "trelliswork", "serve", model, "--port"],
            "FastAPI + python-crfsuite": [sys.executable, peer, peer_model],
        }
        if arguments.soak:
            with running(servers["trelliswork serve"]) as (port, pid):
                soak(port, pid, script, arguments.soak)
            return
        if not has_peer():
            print("FastAPI or python-crfsuite is not installed: no peer.")
            del servers["FastAPI + python-crfsuite"]
        else:
            train_peer(peer_model)
        print_load()
        found: dict[str, list[float]] = {name: [] for name in servers}
        spent: dict[str, list[float]] = {name: [] for name in servers}
        late: dict[str, list[list[float]]] = {name: [] for name in servers}
        for _ in range(arguments.rounds):
            for name, words in servers.items():
                with running(words) as (port, pid):
                    before = processor_seconds(pid)
                    found[name].append(throughput(port, script, arguments.seconds))
                    n_requests = found[name][-1] * arguments.seconds
                    spent[name].append(1e6 * (processor_seconds(pid) - before) / n_requests)
        for _ in range(arguments.rounds):
            for name, words in servers.items():
                with running(words) as (port, _):
                    late[name].append(asyncio.run(latencies(port, arguments.rate, arguments.seconds)))
        ours = statistics.median(found["trelliswork serve"])
        rows = []
        for name in servers:
            rows.append([name, spread(found[name], ".0f"), ours / statistics.median(found[name])])
            rows[-1].append(spread(spent[name], ".0f"))
            for share in (0.5, 0.99):
                rows[-1].append(spread([1e3 * quantile(own, share) for own in late[name]], ".2f"))
        print_table(
            f"{arguments.rounds} rounds of {arguments.seconds} s; latency at {arguments.rate} requests/s",
            ["", "requests/s", "ours is", "cpu us", "p50 ms", "p99 ms"],
            rows,
        )
        with running(servers["trelliswork serve"]) as (port, _):
            times, sizes = zip(*(page(port) for _ in range(20)), strict=True)
        print(f"\nthe page: {sizes[0]} bytes; all of it and its first answer after {spread(list(times), '.1f')} ms")


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spread(values: list[float], form: str) -> str:
    """The median, the least and the greatest."""
    middle, least, greatest = (format(own, form) for own in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} to {greatest})"


def quantile(values: list[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return sorted(values)[int(share * (len(values) - 1))]


def train(model: str) -> None:
    """Train our model on the recipe lines that ship with the library."""
    corpus = tw.corpora.ingredients()
    tw.SequenceLabeler().fit(corpus.X_train, corpus.y_train).save(model)


def train_peer(peer_model: str) -> None:
    """Train the peer's on the same."""
    import pycrfsuite

    scope: dict[str, object] = {}
    begin, end = PEER.index("def features"), PEER.index("@app")
    exec(PEER[begin:end], scope)
    features = scope["features"]
    corpus = tw.corpora.ingredients()
    trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 50})
    for words, labels in zip(corpus.X_train, corpus.y_train, strict=True):
        trainer.append([features(words, t) for t in range(len(words))], labels)  # type: ignore[operator]
    trainer.train(peer_model)


def has_peer() -> bool:
    from importlib.util import find_spec

    return find_spec("fastapi") is not None and find_spec("pycrfsuite") is not None


@contextlib.contextmanager
def running(words: list[str]) -> Iterator[tuple[int, int]]:
    """Run a server on a port that is free, until it answers and then until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*words, str(port)], stderr=subprocess.DEVNULL)
    body = json.dumps({"text": "salt"}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/tag", body, {"Content-Type": "application/json"})
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), urllib.request.urlopen(request):
                break
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


LUA = "local bodies = {\n" + ",\n".join(f"  [[{json.dumps({'text': s})}]]" for s in SENTENCES) + "\n}\n"
LUA += """local i = 0
request = function()
  i = i % #bodies + 1
  return wrk.format("POST", "/tag", {["Content-Type"] = "application/json"}, bodies[i])
end
"""


def throughput(port: int, script: str, seconds: int) -> float:
    """Return how many requests are answered in a second, when sixteen clients ask as fast as they can."""
    words = ["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{port}"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in text:
        sys.exit(text)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])  # type: ignore[index]


async def latencies(port: int, rate: float, seconds: int) -> list[float]:
    """Return how long answers take when requests come at a steady rate, whether the last was answered or not.

    At most 64 are on their way; the time that one waits for its turn counts.
    """
    found: list[float] = []
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    turns = asyncio.Semaphore(64)

    async def ask(body: bytes, due: float) -> None:
        async with turns:
            await ask_now(body, due)

    async def ask_now(body: bytes, due: float) -> None:
        stream = idle.pop() if idle else await asyncio.open_connection("127.0.0.1", port)
        reader, writer = stream
        head = f"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        writer.write(head.encode() + b"\r\n\r\n" + body)
        head_read = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head_read.lower())[1])  # type: ignore[index]
        await reader.readexactly(length)
        found.append(time.perf_counter() - due)
        idle.append(stream)

    bodies = [json.dumps({"text": sentence}).encode() for sentence in SENTENCES]
    began, tasks = time.perf_counter() + 0.1, []
    for i in range(int(rate * seconds)):
        due = began + i / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(bodies[i % len(bodies)], due)))
    await asyncio.gather(*tasks)
    for _, writer in idle:
        writer.close()
    return found


def page(port: int) -> tuple[float, int]:
    """Ask for what the page asks for; return the milliseconds until its first answer and the bytes of all answers."""
    headers = {"Content-Type": "application/json"}
    sentence = {"text": SENTENCES[0]}
    began, size = time.perf_counter(), 0
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for path, body in (("/", None), ("/page.css", None), ("/page.js", None), ("/model", None), ("/analyse", sentence)):
        if body is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, json.dumps(body), headers)
        size += len(connection.getresponse().read())
    took = 1e3 * (time.perf_counter() - began)
    connection.close()
    return took, size


def soak(port: int, pid: int, script: str, n: int) -> None:
    """Print what memory does over many requests."""
    done, began = 0.0, time.monotonic()
    while done < n:
        done += 5 * throughput(port, script, 5)
        status = Path(f"/proc/{pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index]
        print(f"{done:8.0f} requests, {time.monotonic() - began:4.0f} s: {resident / 1024:.1f} MiB", flush=True)


if __name__ == "__main__":
    main()
