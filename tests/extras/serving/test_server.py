"""A server in a process of its own: slow, silent and greedy clients, many at once, and its end."""

import concurrent.futures
import http.client
import json
import socket
import time

import pytest

import trelliswork as tw

pytest.importorskip("uvicorn", reason="the extra serve is not installed")


def ask(port, body, path="/tag"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_many_ask_at_once(served, labeler):
    corpus = tw.corpora.ingredients()
    sentences = corpus.X_test[:100]
    expected = tw.load(labeler).predict(sentences)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda x: ask(served.port, {"tokens": x}), sentences))
    assert [(status, answer["labels"]) for status, answer in found] == [(200, labels) for labels in expected]


def test_a_silent_client_is_cut_off(served):
    with socket.create_connection(("127.0.0.1", served.port)) as silent:
        silent.settimeout(20)
        began = time.monotonic()
        assert silent.recv(100) == b""
        assert time.monotonic() - began > 1.0


def test_a_slow_head_is_cut_off(served):
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.settimeout(0.3)
        slow.sendall(b"POST /tag HTTP/1.1\r\nHost: localhost\r\n")
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            try:
                slow.sendall(b"x-more: y\r\n")
                if slow.recv(100) == b"":
                    return
            except TimeoutError:
                continue
            except OSError:
                return
    pytest.fail("the server waited")


def test_a_slow_body_is_refused(served):
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.settimeout(20)
        slow.sendall(
            b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        assert b" 408 " in slow.recv(1000)


def test_a_body_without_a_length_is_still_too_large(served):
    with socket.create_connection(("127.0.0.1", served.port)) as greedy:
        greedy.settimeout(20)
        greedy.sendall(
            b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        answer = b""
        try:
            for _ in range(100):
                greedy.sendall(b"4000\r\n" + b"a" * 0x4000 + b"\r\n")
        except OSError:
            pass
        try:
            answer = greedy.recv(1000)
        except OSError:
            return  # cut off before its answer was read
        assert b" 413 " in answer


@pytest.mark.parametrize(
    "noise", [b"\x16\x03\x01\x02\x00" * 100, b"\r\n" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 4096]
)
def test_what_is_no_http_ends_the_connection_alone(served, noise):
    with socket.create_connection(("127.0.0.1", served.port)) as other:
        other.settimeout(20)
        try:
            other.sendall(noise)
            other.recv(1000)
        except OSError:
            pass
    assert ask(served.port, {"text": "salt"})[0] == 200


def test_hostile_requests_leave_no_memory_behind(served):
    hostile = [b"{" * 50_000, b"\xff" * 50_000, b"[" * 90_000, b'{"text": "' + b"a " * 45_000 + b'"}', b"", b'{"x":']

    def once():
        for body in hostile:
            connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
            connection.request("POST", "/tag", body, {"Content-Type": "application/json"})
            assert connection.getresponse().status in (200, 400, 413, 422, 503)
            connection.close()

    for _ in range(10):
        once()
    before = served.memory()
    for _ in range(40):
        once()
    assert served.memory() - before < 8 << 20


def test_it_ends_when_told_to(start, labeler):
    server = start(labeler)
    assert ask(server.port, {"text": "salt"})[0] == 200
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 5


def test_a_model_that_cannot_be_served_is_exit_code_2(tmp_path):
    from trelliswork.cli.main import main

    (tmp_path / "no.tw").write_bytes(b"no model")
    assert main(["serve", str(tmp_path / "no.tw")]) == 2
