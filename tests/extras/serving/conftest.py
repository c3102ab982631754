"""Models to serve, a client that asks an application, and a server in a process of its own."""

import os
import re
import subprocess
import sys
import time
import warnings

import pytest

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("msgspec", reason="the extra serve is not installed")
pytest.importorskip("prometheus_client", reason="the extra serve is not installed")

import trelliswork as tw


@pytest.fixture(scope="session")
def labeler(tmp_path_factory):
    """The path of a labeler of recipe lines."""
    corpus = tw.corpora.ingredients()
    tagger = tw.SequenceLabeler(tw.CRF(), constraints="BIO").fit(corpus.X_train[:300], corpus.y_train[:300])
    path = tmp_path_factory.mktemp("models") / "recipes.tw"
    tagger.save(path)
    return path


@pytest.fixture(scope="session")
def parser(tmp_path_factory):
    """The path of a dependency parser."""
    treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
    path = tmp_path_factory.mktemp("models") / "trees.tw"
    tw.DependencyParser(hash_bits=16).fit(treebank).save(path)
    return path


@pytest.fixture
def client_of():
    """A function from a model to a client that asks an application of it."""
    from trelliswork.serving import application

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the client's own dependencies
        from starlette.testclient import TestClient

    opened = []

    def client(model, **how):
        made = TestClient(application(model, **how), raise_server_exceptions=True)
        made.__enter__()
        opened.append(made)
        return made

    yield client
    for made in opened:
        made.__exit__(None, None, None)


class Served:
    """A server in a process of its own."""

    def __init__(self, *arguments):
        words = [sys.executable, "-m", "trelliswork", "serve", *map(str, arguments), "--port", "0"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ})
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            found = re.search(r"running on http://[^:]+:(\d+)", line)
            if found:
                self.port = int(found[1])
                return
        raise AssertionError(self.said)

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/status") as status:
            (line,) = [line for line in status if line.startswith("VmRSS")]
        return int(line.split()[1]) * 1024

    def stop(self):
        """End it as Ctrl-C does; returns the exit code."""
        self.process.terminate()
        try:
            return self.process.wait(timeout=20)
        finally:
            self.process.kill()
            self.process.stderr.close()
            time.sleep(0)


@pytest.fixture(scope="session")
def start():
    """A function that starts a server."""
    return Served


@pytest.fixture(scope="session")
def served(labeler):
    server = Served(labeler, "--timeout", "2", "--max-bytes", "100000", "--max-connections", "200")
    yield server
    server.stop()
