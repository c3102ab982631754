"""Shards in several processes, on this machine: the same bits as in one, and what happens when one is gone."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

import trelliswork as tw
from shard_corpora import recipes, same_model
from trelliswork.distributed import slice_of
from trelliswork.distributed.__main__ import train

pytest.importorskip("torch", reason="torch.distributed connects the processes")

N_SHARDS = 4
PATIENCE = 120  # seconds for whatever takes a few
QUIET = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
LOCAL = ("--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1")
TRAIN = ("-m", "trelliswork.distributed")


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Files, a shard each."""
    folder, (X, y) = tmp_path_factory.mktemp("shards"), recipes()
    paths = []
    for i in range(N_SHARDS):
        paths.append(str(folder / f"shard{i}.txt"))
        with open(paths[-1], "w") as file:
            for x, labels in zip(slice_of(X, i, N_SHARDS), slice_of(y, i, N_SHARDS), strict=True):
                file.writelines(f"{word}\t{label}\n" for word, label in zip(x, labels, strict=True))
                file.write("\n")
    return paths


def by_torchrun(n_processes, *arguments):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n_processes), *LOCAL]
    environment = {**os.environ, **QUIET}
    command = [*torchrun, *TRAIN, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def by_hand():
    """Start processes that nobody watches, as on several machines; what is left of them ends with the test."""
    started = []

    def start(n_processes, *arguments):
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(n_processes)}
        own = [
            subprocess.Popen(
                [sys.executable, *TRAIN, *arguments],
                env={**os.environ, **QUIET, **place, "RANK": str(rank)},
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(n_processes)
        ]
        started.extend(own)
        return own

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.mark.parametrize("learner", ["crf", "perceptron"])
def test_the_number_of_processes_changes_no_bit(shards, tmp_path, learner):
    options = ("--learner", learner, "--min-count", "2")
    train(tuple(shards), str(tmp_path / "0.tw"), learner=learner, min_count=2)
    for n in (2, 4):
        done = by_torchrun(n, *shards, *options, "-o", str(tmp_path / f"{n}.tw"))
        assert done.returncode == 0, done.stderr
    models = [tw.load(tmp_path / f"{n}.tw") for n in (0, 2, 4)]
    assert same_model(models[0], models[1])
    assert same_model(models[0], models[2])


@pytest.mark.parametrize("victim", [0, 1])
def test_a_dead_process_ends_the_run_and_a_checkpoint_resumes_it(by_hand, shards, tmp_path, victim):
    model, state = str(tmp_path / "model.tw"), str(tmp_path / "state")
    long = ("solver=lbfgs", "tol=1e-10")  # it has not ended when it is killed
    options = (*shards, "-o", model, *(word for setting in long for word in ("--set", setting)))
    keep = ("--checkpoint", state, "--checkpoint-seconds", "0")
    processes = by_hand(2, *options, *keep)
    wait_for(lambda: os.path.exists(state) or any(p.poll() is not None for p in processes))
    processes[victim].send_signal(signal.SIGKILL)
    told = processes[1 - victim].communicate(timeout=PATIENCE)[1]
    processes[victim].communicate(timeout=PATIENCE)
    assert processes[1 - victim].returncode == 1, told
    assert "no longer hears from another one" in told
    assert "Traceback" not in told
    assert not os.path.exists(model)
    for process in by_hand(2, *options, *keep, "--resume"):
        told = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 0, told
    train(tuple(shards), str(tmp_path / "whole.tw"), settings=long)
    assert same_model(tw.load(model), tw.load(tmp_path / "whole.tw"))
    assert not os.path.exists(state)


@pytest.mark.parametrize(
    ("text", "told"),
    [("2\tcups\tQTY\n\n", "shard 1 has other features than shard 0"), (None, "second.txt")],
    ids=["other columns", "no file"],
)
def test_what_one_process_refuses_all_of_them_say(by_hand, shards, tmp_path, text, told):
    second = tmp_path / "second.txt"
    if text is not None:
        second.write_text(text)
    for process in by_hand(2, shards[0], str(second), "-o", str(tmp_path / "model.tw")):
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 2, said
        assert told in said
        assert "Traceback" not in said


def test_a_process_that_hangs_is_given_up(by_hand, shards, tmp_path):
    model, state = str(tmp_path / "model.tw"), str(tmp_path / "state")
    long = ("--set", "solver=lbfgs", "--set", "tol=0", "--set", "max_iter=100000", "--timeout", "10")
    processes = by_hand(2, *shards, "-o", model, *long, "--checkpoint", state, "--checkpoint-seconds", "0")
    wait_for(lambda: os.path.exists(state) or any(p.poll() is not None for p in processes))
    processes[1].send_signal(signal.SIGSTOP)
    told = processes[0].communicate(timeout=PATIENCE)[1]
    assert processes[0].returncode == 1, told
    assert "no longer hears from another one" in told


def test_ctrl_c_in_the_leading_process_keeps_the_model_and_the_checkpoint(by_hand, shards, tmp_path):
    model, state = str(tmp_path / "model.tw"), str(tmp_path / "state")
    slow = ("--set", "solver=lbfgs", "--set", "tol=0", "--set", "max_iter=100000")
    options = (*shards, "-o", model, *slow, "--checkpoint", state, "--checkpoint-seconds", "0")
    processes = by_hand(2, *options)
    wait_for(lambda: os.path.exists(state) or any(p.poll() is not None for p in processes))
    processes[0].send_signal(signal.SIGINT)
    told = processes[0].communicate(timeout=PATIENCE)[1]
    assert processes[0].returncode == 0, told
    assert "interrupted after" in told
    processes[1].communicate(timeout=PATIENCE)
    assert tw.load(model).predict([["2", "cups", "sugar"]])
    leading, other = by_hand(2, *options, "--resume", "--seed", "1")
    told = leading.communicate(timeout=PATIENCE)[1]
    assert "state is not of a run with these parameters" in told
    other.communicate(timeout=PATIENCE)
    assert (leading.returncode, other.returncode) == (2, 0)
