"""What is shown while training goes on: figures that are true, and a sign of life every few seconds."""

import re
import time
from types import SimpleNamespace

import pytest

import trelliswork as tw
from trelliswork.cli import progress
from trelliswork.cli.progress import TrainingProgress


def told(learner, capsys, iterations=20, gap=None):
    """The lines of so many iterations of a learner."""
    shown = TrainingProgress(1000, learner, bar=False, lines=True)
    facts = {} if gap is None else {"gap": gap}
    for number in range(1, iterations + 1):
        shown.update(SimpleNamespace(number=number, objective=10.0, phase="any", dev_score=None, facts=facts))
        time.sleep(0.001)
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("learner", [tw.CRF(), tw.CRF(l1=1.0), tw.MEMM()], ids=repr)
def test_no_end_is_foretold_where_nobody_knows_it(learner, capsys):
    lines = told(learner, capsys, gap=0.25)
    assert not any("left" in line for line in lines)
    assert lines[-1].endswith("within 0.025 of the minimum, stops at 0.001")


def test_of_a_fixed_number_of_passes_the_longest_time_is_told(capsys):
    lines = told(tw.Perceptron(epochs=20), capsys)
    assert "left" not in lines[0]  # nothing is known of the pace
    assert all(re.search(r"at most \d+ s left$", line) for line in lines[1:-1])
    assert "left" not in lines[-1]


def test_a_log_gets_a_line_every_few_seconds_even_if_nothing_ends(monkeypatch, capsys):
    monkeypatch.setattr(progress, "HEARTBEAT", 0.01)
    shown = TrainingProgress(1000, tw.CRF(), bar=False, lines=True)
    deadline = time.monotonic() + 30
    err = ""
    with shown.showing():
        while err.count("indexing: still working") < 2 and time.monotonic() < deadline:
            err += capsys.readouterr().err
            time.sleep(0.01)
        shown.update(SimpleNamespace(number=1, objective=10.0, phase="sgd", dev_score=None, facts={}))
        while "after sgd 1: still working" not in err and time.monotonic() < deadline:
            err += capsys.readouterr().err
            time.sleep(0.01)
    assert "indexing: still working, 1 s\n" in err
    assert "after sgd 1: still working" in err
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""  # it ends with the work


def test_without_verbose_nothing_is_written(capsys):
    shown = TrainingProgress(1000, tw.CRF(), bar=False, lines=False)
    with shown.showing():
        shown.update(SimpleNamespace(number=1, objective=10.0, phase="sgd", dev_score=None, facts={}))
    assert capsys.readouterr() == ("", "")
