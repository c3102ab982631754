"""What every command has in common: help, exit codes, where messages go."""

import subprocess
import sys

import pytest

from trelliswork.cli.main import VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_has_an_example(run, verb):
    code, out, err = run(verb, "--help")
    assert code == 0
    assert f"Example: trelliswork {verb}" in " ".join(out.split())
    assert err == ""


def test_the_list_of_verbs_is_the_help(run):
    assert run("--help").code == 0
    assert all(verb in run("--help").out for verb in VERBS)


def test_the_list_of_verbs_loads_none_of_them():
    code = "import sys; from trelliswork.cli.main import main; main(['--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert "trelliswork.cli.train" not in loaded
    assert "'numpy'" not in loaded


def test_an_unknown_verb_is_a_wrong_command(run):
    code, out, err = run("frobnicate")
    assert (code, out) == (2, "")
    assert "frobnicate" in err


def test_an_unknown_option_is_a_wrong_command(run):
    assert run("convert", "--frobnicate").code == 2


def test_a_missing_file_is_named_without_a_traceback(program):
    code, out, err = program("convert", "no/such/file.txt")
    assert (code, out) == (2, "")
    assert err == "error: no/such/file.txt: No such file or directory\n"


def test_a_folder_in_the_place_of_a_file_is_named(program, tmp_path):
    code, _, err = program("convert", tmp_path)
    assert code == 2
    assert err.startswith(f"error: {tmp_path}: ")
    assert "Traceback" not in err


def test_advice_is_in_terms_of_options(run):
    err = run("convert", stdin=b"\xe9 O\n").err
    assert "If it is Latin-1, pass --encoding latin-1 (from Windows: cp1252)" in err
    assert "pass --separator tab" in run("convert", stdin=b"a O\nb c\tO\n").err


def test_a_reader_that_goes_away_is_no_error(left_by_its_reader, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("word O\n\n" * 200_000)
    assert left_by_its_reader("convert", path) == (141, "")
