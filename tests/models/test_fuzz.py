"""The first cases of every target of the fuzzer, the same ones each time; `make fuzz` goes on from there."""

import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"
if not FUZZ.is_dir():
    pytest.skip("the fuzzer is not part of this copy of the source", allow_module_level=True)
sys.path.insert(0, str(FUZZ))

from targets import TARGETS  # noqa: E402

from run import case_random  # noqa: E402


@pytest.mark.parametrize("target", TARGETS)
def test_the_first_cases_work_or_are_refused(target):
    for number in range(1, 201):
        rng = case_random(target, 0, number)
        TARGETS[target].check(TARGETS[target].make(rng), rng)


def test_cases_repeat():
    for target, (make, _) in TARGETS.items():
        assert make(case_random(target, 5, 6)) == make(case_random(target, 5, 6))
