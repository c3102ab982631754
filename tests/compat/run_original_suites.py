"""The tests of python-crfsuite, sklearn-crfsuite and seqeval themselves, run on the drop-ins.

    python tests/compat/run_original_suites.py [--keep FOLDER]

Downloads the source distributions with pip, unpacks their tests (and, for one run, sklearn-crfsuite itself), runs
them and counts. What they import beyond this library's own needs (tabulate and tqdm) is installed into a temporary
folder for them. Decided by pytest's exit codes and counts: 49 passed of python-crfsuite 0.9.12 with doctests, its two
crash tests with ``--runxfail``, 44 of sklearn-crfsuite 0.5.0, and these again with the original sklearn-crfsuite over
the drop-in for python-crfsuite; 497 of seqeval 1.2.2, all but the two that call a program in Perl. Refuses to run where
an original is installed, since tests could pass for the wrong reason. Exit codes: 0 all is as it should be, 1 it is
not, 77 there was nothing to run (no network).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

SOURCES = {"python-crfsuite": "0.9.12", "sklearn-crfsuite": "0.5.0", "seqeval": "1.2.2"}
NEEDS = ("tabulate", "tqdm")  # of the original sklearn-crfsuite
SKIPPED = 77
CRASHES = "test_open_invalid_with_correct_signature or test_tag_not_opened"
PERL = "test_by_ground_truth or test_statistical_tests"
CONFTEST = """
import pycrfsuite, seqeval.metrics, sklearn_crfsuite
assert pycrfsuite.Trainer.__module__.startswith("trelliswork"), pycrfsuite
assert seqeval.metrics.f1_score.__module__.startswith("trelliswork"), seqeval
assert sklearn_crfsuite.CRF.__module__.startswith("{home}"), sklearn_crfsuite
"""


class Run(NamedTuple):
    """One run of a suite: which names lead to drop-ins, where the tests are, options of pytest, what must pass."""

    name: str
    drop_ins: tuple[str, ...]
    suite: str
    options: tuple[str, ...]
    passed: int


ALL = ("pycrfsuite", "seqeval", "sklearn_crfsuite")
RUNS = (
    Run("python-crfsuite", ALL, "python-crfsuite", ("--doctest-modules",), 49),
    Run("its crash tests", ALL, "python-crfsuite", ("--runxfail", "-k", CRASHES), 2),
    Run("sklearn-crfsuite", ALL, "sklearn-crfsuite", (), 44),
    Run("the original sklearn-crfsuite on the drop-in", ("pycrfsuite", "seqeval"), "sklearn-crfsuite", (), 44),
    Run("seqeval", ALL, "seqeval", ("-k", f"not ({PERL})"), 497),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="a folder to download to, and to find downloads in")
    keep = parser.parse_args().keep
    for name in ALL:
        if importlib.util.find_spec(name) is not None:
            print(f"{name} is installed here: tests of the drop-in could pass for the wrong reason.", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sources = {name: unpacked(name, version, folder, Path(temporary)) for name, version in SOURCES.items()}
        if missing := [name for name, path in sources.items() if path is None]:
            print(f"skipped: {' and '.join(missing)} could not be downloaded.")
        found = {name: path for name, path in sources.items() if path is not None}
        needs = installed(Path(temporary) / "needs")
        results = [passes(run, found, needs, Path(temporary)) for run in RUNS if run.suite in found]
        return int(not all(results)) if results else SKIPPED


def unpacked(name: str, version: str, folder: Path, temporary: Path) -> Path | None:
    """Return the folder of a source distribution, or None where it cannot be had."""
    pattern = f"{name.replace('-', '_')}-{version}.tar.gz"
    if not (folder / pattern).exists():
        words = ["download", "-q", "--no-deps", "--no-binary", name, "--dest", str(folder), f"{name}=={version}"]
        subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True)
    if not (folder / pattern).exists():
        return None
    with tarfile.open(folder / pattern) as archive:
        archive.extractall(temporary / "sources", filter="data")
    return temporary / "sources" / f"{name.replace('-', '_')}-{version}"


def installed(folder: Path) -> Path:
    """Return the folder into which packages that the suites import were installed, where they are missing here."""
    if missing := [name for name in NEEDS if importlib.util.find_spec(name) is None]:
        words = ["install", "-q", "--no-deps", "--target", str(folder), *missing]
        if subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True).returncode:
            print(f"the suite of sklearn-crfsuite needs {' and '.join(missing)}, which could not be installed.")
    return folder


def passes(run: Run, sources: dict[str, Path], needs: Path, temporary: Path) -> bool:
    """Run a suite in a folder of its own, with nothing but its tests, and count."""
    place = Path(tempfile.mkdtemp(dir=temporary))
    os.symlink(sources[run.suite] / "tests", place / "tests")
    shims = [f"import trelliswork.compat; trelliswork.compat.install({run.drop_ins!r})"]
    original = "sklearn_crfsuite" not in run.drop_ins
    if original:
        os.symlink(sources["sklearn-crfsuite"] / "sklearn_crfsuite", place / "sklearn_crfsuite")
    (place / "conftest.py").write_text(CONFTEST.format(home="sklearn_crfsuite" if original else "trelliswork"))
    (place / "sitecustomize.py").write_text("\n".join(shims))  # for worker processes, too
    report = place / "report.xml"
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", f"--rootdir={place}", *run.options]
    done = subprocess.run(
        [sys.executable, *words, "--confcutdir", str(place), str(place / "tests"), "-c", os.devnull],
        cwd=place,
        env=os.environ | {"PYTHONPATH": f"{place}{os.pathsep}{needs}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    counts = counted(report) if report.exists() else {}
    good = done.returncode == 0 and counts.get("passed", 0) >= run.passed and not counts.get("failed")
    told = ", ".join(f"{number} {what}" for what, number in counts.items())
    print(f"{'ok  ' if good else 'FAIL'} {run.name}: {told or 'nothing ran'} (wanted: {run.passed} passed)")
    if not good:
        print(done.stdout[-4000:], done.stderr[-2000:])
    return good


def counted(report: Path) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped or expected to fail."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    totals = {
        key: sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    }
    failed = totals["failures"] + totals["errors"]
    counts = {
        "passed": totals["tests"] - failed - totals["skipped"],
        "failed": failed,
        "not counted": totals["skipped"],
    }
    return {what: number for what, number in counts.items() if number}


if __name__ == "__main__":
    sys.exit(main())
