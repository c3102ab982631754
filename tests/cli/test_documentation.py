"""Every command of docs/command_line.md is run, in order, and prints what the page says."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
SHELL = shutil.which("bash")


def commands():
    """Each command and what is said to follow it."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


@pytest.fixture(scope="module")
def folder(recipes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for source, name in zip(recipes, ("recipes.train.tsv", "recipes.test.tsv"), strict=True):
        shutil.copy(source, folder / name)
    shutil.copy(Path(recipes[0]).with_name("sentences.conllu"), folder / "trees.conllu")
    program = folder / "bin" / "trelliswork"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trelliswork "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.mark.skipif(SHELL is None, reason="the commands are written for a POSIX shell")
def test_the_commands_print_what_the_page_says(folder):
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command, said in commands():
        done = subprocess.run(
            [SHELL, "-c", f"{{ {command} ; }} 2>&1"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        printed = done.stdout + (f"[exit code {done.returncode}]\n" if done.returncode else "")
        assert checker.check_output(said, printed, flags), f"{command}\n--- printed\n{printed}\n--- expected\n{said}"
