"""What every test shares: the path to `tests/reference`, and how many examples Hypothesis draws.

``pytest --hypothesis-profile=thorough`` (or ``HYPOTHESIS_PROFILE=thorough``) draws ten times as many, afresh each run;
``quick`` draws a handful. The default repeats the same examples on every run, so that a failure repeats too.
Also, how a test marked ``alone`` gets a process of its own.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `from reference import ...` under any import mode

# A shell without job control lets what it starts in the background ignore Ctrl-C, which tests send.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_patient = dict(
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    print_blob=True,
)
hypothesis.settings.register_profile("default", max_examples=250, derandomize=True, **_patient)
hypothesis.settings.register_profile("thorough", max_examples=2500, **_patient)
hypothesis.settings.register_profile("quick", max_examples=25, derandomize=True, **_patient)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is marked ``alone`` by another pytest, and pass when it does."""
    if pyfuncitem.get_closest_marker("alone") is None or os.environ.get("TRELLISWORK_TEST_ALONE"):
        return None
    quiet = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, pyfuncitem.nodeid],
        cwd=pyfuncitem.config.rootpath,
        env={**os.environ, "TRELLISWORK_TEST_ALONE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return True
