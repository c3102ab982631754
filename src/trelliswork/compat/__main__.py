"""Run a program with the drop-ins in the place of the originals: ``python -m trelliswork.compat script.py arguments``.

``-m module`` runs a module. Processes that the program starts find the drop-ins, too.
"""

from __future__ import annotations

import os
import runpy
import sys

from trelliswork.compat import install, shim_folder

USAGE = "usage: python -m trelliswork.compat (script.py | -m module) [arguments]"


def main(arguments: list[str]) -> int:
    """Run what the arguments say; 2 if they say nothing."""
    by_module = arguments[:1] == ["-m"]
    program = arguments[1:] if by_module else arguments
    if not program or program[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if program else sys.stderr)
        return 0 if program else 2
    install()
    paths = [str(shim_folder()), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.path.insert(0, str(shim_folder()))  # which processes of `multiprocessing` take over
    sys.argv[:] = program
    if by_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(program[0])))
        runpy.run_path(program[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
