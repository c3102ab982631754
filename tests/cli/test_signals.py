"""SIGINT at random moments of long commands: an end soon, 130, a line and no traceback, files whole or not there.

The moments are drawn with a fixed seed. The commands have hundreds of labels to choose from, so that a single pass, or
a single sentence, takes longer than anybody waits.
"""

import random
import re
import subprocess
import sys
import time

import pytest

import trelliswork as tw
from interrupting import interrupt
from trelliswork import learners

SOON = 2.0  # seconds from the signal to the end of the process, as `interrupting` counts them; it takes less than one
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the shell of the tests has done
from trelliswork.__main__ import program
print("ready", flush=True)
sys.exit(program())
"""


def sentences(n, length, n_labels=600):
    draw = random.Random(1)
    words = (f"w{draw.randrange(50)} L{draw.randrange(n_labels)}" for _ in range(n * length))
    return "\n".join("\n".join(next(words) for _ in range(length)) + "\n" for _ in range(n))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    (folder / "train.txt").write_text(sentences(6000, 20))
    (folder / "few.txt").write_text(sentences(200, 20))
    (folder / "long.txt").write_text(sentences(40, 3000))
    X = [["w1", "w2"]] * 600
    Y = [[f"L{i}", f"L{(i * 7 + 1) % 600}"] for i in range(600)]
    tw.SequenceLabeler(tw.Perceptron(epochs=1)).fit(X, Y).save(folder / "model.tw")
    return folder


def interrupted(command, after):
    """Start a command and interrupt it; return its exit code, errors, and seconds from the signal to its end."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        assert process.poll() is None, process.stderr.read()
        _, err, seconds = interrupt(process)
        return process.returncode, err, seconds
    finally:
        process.kill()
        process.communicate()


def commands(files, folder):
    asks = [("tag", files / "model.tw", files / "long.txt", *how) for how in ([], ["--marginals"], ["--kbest", "50"])]
    asks.append(("eval", files / "model.tw", files / "long.txt"))
    asks.append(("cv", files / "train.txt", "--learner", "perceptron"))
    trains = [
        ("train", files / "train.txt", "-o", folder / "m.tw", "--learner", name, "--checkpoint", folder / "state")
        for name in learners.names()
    ]
    return asks, trains


def check(files, tmp_path, command, after):
    code, err, seconds = interrupted(command, after)
    assert code == 130, f"{after:.2f} s: {err}"
    assert "Traceback" not in err
    assert "interrupted" in err.splitlines()[-1]
    assert seconds < SOON, f"{after:.2f} s: answered after {seconds:.1f} s: {err}"
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"m.tw", "state"}
    if "m.tw" in left:
        assert tw.load(tmp_path / "m.tw").predict([["w1"]])[0][0].startswith("L")


def drawn(n, seed):
    draw = random.Random(seed)
    return [(draw.random(), round(draw.uniform(0.02, 4.0), 3)) for _ in range(n)]


@pytest.mark.parametrize(("which", "after"), drawn(8, seed=1))
def test_a_signal_at_a_random_moment(files, tmp_path, which, after):
    everything = [command for kind in commands(files, tmp_path) for command in kind]
    check(files, tmp_path, everything[int(which * len(everything))], after)


@pytest.mark.slow
@pytest.mark.parametrize(("which", "after"), drawn(150, seed=2))
def test_signals_at_many_moments(files, tmp_path, which, after):
    everything = [command for kind in commands(files, tmp_path) for command in kind]
    check(files, tmp_path, everything[int(which * len(everything))], after)


def test_weights_of_an_iteration_that_is_given_up_are_kept(files, tmp_path):
    command = ["train", files / "few.txt", "-o", tmp_path / "m.tw", "--learner", "perceptron", "--verbose"]
    process = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if " 1: " in line:
            break
    out, err, seconds = interrupt(process)
    assert process.returncode == 130
    assert seconds < SOON
    ended = re.search(r"after (\d+) iterations", out)  # the second may have ended when the signal was heard
    assert f"interrupted: the best model so far is in {tmp_path / 'm.tw'}" in err
    assert tw.load(tmp_path / "m.tw").n_iter_ == int(ended[1]) < 10
