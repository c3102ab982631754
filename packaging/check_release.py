"""Check the archives of a release: form, binary, types, and that the wheel works where nothing else is.

    python packaging/check_release.py dist        (`make release` builds first)

The wheel is repaired for manylinux by auditwheel, checked by twine, its stubs by stubtest; then it is installed in a
new environment whose PATH has no compiler, imported, asked for its version, and the demonstration is run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

NEEDED = ("trelliswork/py.typed", "trelliswork/_core.pyi", "trelliswork/serving/page/index.html")
# What stubtest says of all that nanobind makes: its functions, classes and their ``__init__`` are kinds of their own.
NANOBIND = (
    " is not a function",
    " is a disjoint base at runtime",
    " is inconsistent, metaclass differs",
    " is inconsistent, stub is a staticmethod but runtime is not",
    '.__init__ is inconsistent, stub does not have *args parameter "args"',
)
UNWANTED = (".ci/", "build/", ".git/")


def main() -> None:
    """Check what is in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    (source,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    if sys.platform == "linux":
        wheel = repaired(wheel)
    run("twine", "check", "--strict", source, wheel)
    check_contents(source, wheel)
    with tempfile.TemporaryDirectory() as scratch:
        check_installed(wheel, Path(scratch))
    print(f"checked: {source.name}, {wheel.name}")


def repaired(wheel: Path) -> Path:
    """Return the wheel with the name of the oldest system that it runs on, in the place of the one given."""
    run("auditwheel", "show", wheel)
    run("auditwheel", "repair", wheel, "-w", wheel.parent)
    (made,) = wheel.parent.glob("*manylinux*.whl")
    wheel.unlink()
    return made


def check_contents(source: Path, wheel: Path) -> None:
    """Refuse archives that lack something, or have what they should not."""
    inside = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in NEEDED if name not in inside]
    if missing:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    with tarfile.open(source) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    wrong = [name for name in names if name.startswith(UNWANTED)]
    if wrong:
        sys.exit(f"{source.name} has {', '.join(wrong[:5])}")


def check_installed(wheel: Path, scratch: Path) -> None:
    """Install the wheel where there is nothing else, and use it."""
    run(sys.executable, "-m", "venv", scratch / "venv")
    own = scratch / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = own / "python"
    bare = {"PATH": str(own), "HOME": str(scratch)} | {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "SYSTEMROOT"))
    }
    run(python, "-m", "pip", "install", "-q", f"{wheel}[plots]", "mypy", env=bare, cwd=scratch)
    run(python, "-m", "pip", "check", env=bare, cwd=scratch)
    run(own / "trelliswork", "--version", env=bare, cwd=scratch)
    check_stubs(python, bare, scratch)
    run(own / "trelliswork", "demo", env=bare, cwd=scratch)


def check_stubs(python: Path, environment: dict[str, str], scratch: Path) -> None:
    """Hold the stubs of the core against it. What nanobind makes is neither a function nor a class as Python's are."""
    words = [str(python), "-m", "mypy.stubtest", "trelliswork._core", "--ignore-missing-stub"]
    print("$", *words, flush=True)
    done = subprocess.run(words, env=environment, cwd=scratch, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if line.startswith("error:")]
    wrong = [line for line in found if not any(known in line for known in NANOBIND)]
    print(f"{len(found)} remarks, {len(found) - len(wrong)} of them about nanobind's own kinds of things", flush=True)
    if wrong or (done.returncode and not found):
        sys.exit("\n".join(wrong) or done.stdout + done.stderr)


def run(*words: object, **how: object) -> None:
    """Run a command with the tools of this environment, active or not; end with its exit code if it fails."""
    print("$", *words, flush=True)
    how.setdefault("env", os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"})
    done = subprocess.run([str(word) for word in words], check=False, **how)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"exit code {done.returncode}")


if __name__ == "__main__":
    main()
