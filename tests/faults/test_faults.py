"""Every call on files and every allocation of the core fails once in turn; how many did is printed (``pytest -s``).

Shims put before the system's libraries make calls fail, in a process of its own for each scenario.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILERS = {"file_faults.c": "cc", "allocation_faults.cpp": "c++"}
QUICK_STEP = 23  # every so manieth allocation, where not all are tried

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD and /proc/self/fd are Linux's"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="another library is preloaded already: a sanitizer's"),
]


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """From the name of a source to its compiled library."""

    def compiled(source):
        compiler = shutil.which(COMPILERS[source])
        if compiler is None:
            pytest.skip(f"there is no {COMPILERS[source]} to compile {source}")
        library = tmp_path_factory.mktemp("shims") / f"{source.partition('.')[0]}.so"
        options = ["-std=c++20"] if source.endswith(".cpp") else []
        command = [compiler, *options, "-O1", "-shared", "-fPIC", "-o", library, HERE / source, "-ldl"]
        subprocess.run(command, check=True)
        return str(library)

    return compiled


def run(library, program, *arguments):
    """Run a program of this folder with a library preloaded; return what it printed."""
    environment = {**os.environ, "LD_PRELOAD": library, "PYTHONHASHSEED": "0"}
    command = [sys.executable, str(HERE / program), library, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1800)
    last = done.stderr.replace("\r", "\n").strip().splitlines()[-3:]
    assert done.returncode == 0, f"exit code {done.returncode}: {' | '.join(last)}"
    print(done.stdout)
    return done.stdout


def total(printed):
    return int(printed.split()[-3])


def test_every_call_on_files_fails_once(shim, tmp_path):
    assert total(run(shim("file_faults.c"), "files.py", tmp_path)) > 200


def test_some_allocations_fail(shim):
    assert total(run(shim("allocation_faults.cpp"), "allocations.py", QUICK_STEP)) > 300


@pytest.mark.slow
def test_every_allocation_fails_once(shim):
    assert total(run(shim("allocation_faults.cpp"), "allocations.py", 1)) > 10_000
