"""Model files on disk: saved whole or not at all, mapped, light to load."""

import errno
import gc
import io
import os
import subprocess
import sys

import numpy as np
import pytest

from reference.models import make_tensors, source
from trelliswork import _core, models
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models import dumps, load, open_model, save

TENSORS = make_tensors({"a": {0: 1.0, 1: 2.0}, "b": {1: 1.0}}, np.zeros((2, 2)))
SETTINGS = {"labels": ["A", "B"]}


def test_a_saved_model_tags(tmp_path):
    path = tmp_path / "model"
    assert save(path, TENSORS, SETTINGS) == path.stat().st_size
    opened = open_model(path)
    assert opened.labels == ["A", "B"]
    np.testing.assert_array_equal(opened.model.argmax(source([[["a"], ["b"]]])), [1, 1])
    assert opened.settings == SETTINGS


def test_bytes_and_open_files_will_do_as_well(tmp_path):
    file = io.BytesIO()
    save(file, TENSORS, SETTINGS)
    data = file.getvalue()
    assert data == dumps(TENSORS, SETTINGS)
    for whole in (data, bytearray(data), memoryview(data)):
        assert load(whole)[1] == SETTINGS
        assert open_model(whole).labels == SETTINGS["labels"]
    assert open_model(io.BytesIO(data)).labels == SETTINGS["labels"]


def test_the_file_is_mapped_and_stays_so_as_long_as_it_is_needed(tmp_path):
    path = tmp_path / "model"
    save(path, TENSORS, SETTINGS)
    model = open_model(path, expand="never").model
    gc.collect()
    save(path, make_tensors({}, np.zeros((3, 3))), {"labels": ["X", "Y", "Z"]})  # another file takes its place
    gc.collect()
    np.testing.assert_array_equal(model.scores(source([[["a", "b"]]]))[0], [[1.0, 3.0]])
    assert open_model(path).labels == ["X", "Y", "Z"]
    path.unlink()
    np.testing.assert_array_equal(model.scores(source([[["a", "b"]]]))[0], [[1.0, 3.0]])


def test_saving_over_a_link_keeps_the_link(tmp_path):
    save(tmp_path / "real", {}, {})
    (tmp_path / "link").symlink_to("real")
    save(tmp_path / "link", TENSORS, SETTINGS)
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real")[1] == SETTINGS


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    """The system refuses to write beyond a limit, in a process of its own."""
    path = tmp_path / "model"
    save(path, TENSORS, SETTINGS)
    before = path.read_bytes()
    code = f"""
import resource
from trelliswork import _core, models
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    models.save({str(path)!r}, {{"channel.token.names.text": bytes(100_000)}}, {{}})
except OSError as error:
    print("refused", error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", str(errno.EFBIG)]
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "model"
    save(path, TENSORS, SETTINGS)
    before = path.read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        save(path, {}, {})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_files_that_are_not_there_or_no_models_say_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(InvalidModel, match="empty: 0 bytes are too few"):
        load(tmp_path / "empty")
    (tmp_path / "text").write_text("just a text file that is no model")
    with pytest.raises(InvalidModel, match="text: this is no model file"):
        load(tmp_path / "text")
    with open(tmp_path / "text") as file, pytest.raises(InvalidInput, match="mode 'rb'"):
        load(file)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"labels": []},
        {"labels": "AB"},
        {"labels": ["A", 1]},
        {"labels": ["A", "A"]},
        {"labels": ["A"]},
        {"labels": ["A", "B"], "hash_bits": 64},
        {"labels": ["A", "B"], "hash_bits": True},
        {"labels": ["A", "B"], "hash_bits": 3},
        {"labels": ["A", "B"], "hash_bits": "x"},
    ],
)
def test_settings_must_fit_the_tensors(settings):
    with pytest.raises(InvalidModel):
        open_model(dumps(TENSORS, settings))


def test_labels_must_be_text():
    """JSON can say what UTF-8 cannot: half of a character."""
    data = dumps(TENSORS, {"labels": ["A", "\x00X"]})
    hostile = data[:-8].replace(b"\\\\u0000X", b"\\\\ud800 ")
    assert hostile != data[:-8]
    with pytest.raises(InvalidModel, match="half of a character"):
        open_model(hostile + _core.checksum(hostile).to_bytes(8, "little"))


def test_loading_and_scoring_import_no_array_library(tmp_path):
    """What `trelliswork tag` does on its way to the first answer, in a fresh interpreter."""
    path = tmp_path / "model"
    save(path, TENSORS, SETTINGS)
    code = f"""
import sys
from trelliswork import _core, models
opened = models.open_model({str(path)!r})
assert opened.model.n_attributes == 2 and opened.model.name(0) == "a"
heavy = {{"numpy", "scipy", "sklearn", "safetensors", "tempfile", "gzip"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_names_of_the_store_are_there():
    assert all(hasattr(models, name) for name in models.__all__)
