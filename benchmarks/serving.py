"""`trelliswork serve` beside a FastAPI endpoint over python-crfsuite: throughput, latency, memory.

    python benchmarks/serving.py [--rounds 3] [--seconds 5] [--soak 1000000]

Both serve single sentences of recipe lines on loopback, each from one process; wrk (of Debian) asks, from this machine,
so client and server share its cores. Each side does what its users do: text in, labels out, with its own features.
Servers take turns; medians are printed. The peer needs fastapi and python-crfsuite in this environment.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
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
    parser.add_argument("--soak", type=int, default=0, help="so many requests, and what memory did meanwhile")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        model, peer_model, peer = (os.path.join(folder, name) for name in ("m.tw", "m.crfsuite", "peer.py"))
        Path(peer).write_text(PEER)
        train(model, peer_model)
        script = os.path.join(folder, "post.lua")
        Path(script).write_text(LUA)
        servers = {
            "trelliswork serve": [sys.executable, "-m", "trelliswork", "serve", model, "--port"],
            "FastAPI + python-crfsuite": [sys.executable, peer, peer_model],
        }
        if not has_peer():
            print("FastAPI or python-crfsuite is not installed: no peer.")
            del servers["FastAPI + python-crfsuite"]
        found: dict[str, list[float]] = {name: [] for name in servers}
        late: dict[str, list[list[float]]] = {name: [] for name in servers}
        for _ in range(arguments.rounds):
            for name, words in servers.items():
                with running(words) as (port, _):
                    found[name].append(throughput(port, script, arguments.seconds))
        rate = statistics.median(found["trelliswork serve"]) / 2
        for _ in range(arguments.rounds):
            for name, words in servers.items():
                with running(words) as (port, _):
                    late[name].append(asyncio.run(latencies(port, rate, arguments.seconds)))
        ours = statistics.median(found["trelliswork serve"])
        print(f"{'':28} {'requests/s':>11} {'times':>6}   at {rate:.0f} requests/s: {'p50 ms':>7} {'p99 ms':>7}")
        for name in servers:
            middle = statistics.median(found[name])
            p50, p99 = (
                1e3 * statistics.median(sorted(own)[int(share * (len(own) - 1))] for own in late[name])
                for share in (0.5, 0.99)
            )
            print(f"{name:28} {middle:11.0f} {ours / middle:6.2f} {'':23} {p50:7.2f} {p99:7.2f}")
        if arguments.soak:
            with running(servers["trelliswork serve"]) as (port, pid):
                soak(port, pid, script, arguments.soak)


def train(model: str, peer_model: str) -> None:
    """Train both models on the recipe lines that ship with the library."""
    import trelliswork as tw

    corpus = tw.corpora.ingredients()
    tw.SequenceLabeler().fit(corpus.X_train, corpus.y_train).save(model)
    if not has_peer():
        return
    import pycrfsuite

    scope: dict[str, object] = {}
    begin, end = PEER.index("def features"), PEER.index("@app")
    exec(PEER[begin:end], scope)
    features = scope["features"]
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
    """Return how long answers take when requests come at a steady rate, whether the last was answered or not."""
    found: list[float] = []
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(body: bytes, due: float) -> None:
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


def soak(port: int, pid: int, script: str, n: int) -> None:
    """Print what memory does over many requests."""
    done, began = 0.0, time.monotonic()
    print(f"memory over {n} requests:", end="", flush=True)
    while done < n:
        done += 5 * throughput(port, script, 5)
        status = Path(f"/proc/{pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index]
        print(f" {resident / 1024:.1f}", end="", flush=True)
    print(f" MiB ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()
