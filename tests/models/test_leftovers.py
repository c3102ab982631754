"""What a killed process leaves behind is removed by the next save of that name, and nothing else is."""

import os
import signal
import subprocess
import sys

import pytest

from trelliswork import models
from trelliswork.corpora import write_columns

fcntl = pytest.importorskip("fcntl", reason="without file locks nobody can tell whose temporary files are left over")

SLOW_SAVE = """
import os, sys, time
from trelliswork import models
real = os.fsync
def never(descriptor):
    print("writing", flush=True)
    time.sleep(600)
os.fsync = never
models.save(sys.argv[1], {"x": bytes(1000)}, {})
"""


@pytest.fixture
def saving(tmp_path):
    """A process in the midst of saving ``model``."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_SAVE, str(tmp_path / "model")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_next_save_removes_what_a_killed_one_left(tmp_path, saving):
    saving.send_signal(signal.SIGKILL)
    saving.wait()
    (left,) = os.listdir(tmp_path)
    assert left != "model"
    models.save(tmp_path / "other", {}, {})
    assert sorted(os.listdir(tmp_path)) == sorted([left, "other"])  # it is of another name
    models.save(tmp_path / "model", {}, {})
    assert sorted(os.listdir(tmp_path)) == ["model", "other"]


def test_what_a_living_process_is_writing_stays(tmp_path, saving):
    models.save(tmp_path / "model", {}, {})
    assert len(os.listdir(tmp_path)) == 2


def test_other_writers_remove_it_too(tmp_path, saving):
    saving.kill()
    saving.wait()
    write_columns(tmp_path / "model", [([("a",)], ["X"])])
    assert os.listdir(tmp_path) == ["model"]


def test_files_that_only_look_alike_stay(tmp_path):
    names = [".model.txt", ".model.1-2.tmp.gz", ".model.x-00000000.tmp", "model.1-00000000.tmp", ".model.1-0.tmp"]
    for name in names:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".model.1-00000000.tmp").mkdir()
    models.save(tmp_path / "model", {}, {})
    assert sorted(os.listdir(tmp_path)) == sorted([*names, ".model.1-00000000.tmp", "model"])


def test_many_saves_at_once_do_not_hinder_each_other(tmp_path):
    code = """
import sys
from trelliswork import models
for i in range(40):
    models.save(sys.argv[1], {"x": bytes([i]) * 5000}, {"number": i})
"""
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.communicate()[1] == ""
        assert process.returncode == 0
    assert models.load(tmp_path / "model")[1] == {"number": 39}
    assert os.listdir(tmp_path) == ["model"]


def test_the_folder_is_synchronised_after_the_rename(tmp_path, monkeypatch):
    done = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor):
        done.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real_fsync(descriptor)

    def replace(source, target):
        done.append("rename")
        real_replace(source, target)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("there is no /proc to tell which file a descriptor is of")
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    models.save(tmp_path / "model", {}, {})
    assert done[1:] == ["rename", str(tmp_path)]
    assert done[0].startswith(str(tmp_path / ".model."))
