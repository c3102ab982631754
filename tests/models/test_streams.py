"""Models from pipes, devices and files that are not mapped: read once, and no further than their header says."""

import io
import os
import subprocess
import sys
import threading

import pytest

import trelliswork as tw
from trelliswork import _core, models
from trelliswork.errors import InvalidModel
from trelliswork.models import format as layout

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices by name are POSIX")
X, Y = [["the", "dog", "barks"], ["a", "cat"]] * 3, [["D", "N", "V"], ["D", "N"]] * 3


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "memm.tw"
    tw.SequenceLabeler("memm").fit(X, Y).save(path)
    return path


class Endless(io.RawIOBase):
    """A file that begins with some bytes and never ends; counts what is read of it."""

    def __init__(self, start, most=1 << 28):
        self.start, self.given, self.most = start, 0, most

    def readable(self):
        return True

    def read(self, size=-1):
        assert size >= 0, "all of an endless file was asked for"
        chunk = (self.start[self.given : self.given + size] or bytes(size))[:size]
        self.given += len(chunk)
        assert self.given <= self.most, "an endless file was read on and on"
        return chunk


ENDLESS = {
    "zeros": (b"", 1000),
    "text": (b"y\ny\ny\ny\ny\n", 1000),
    "a header that never ends": ((1 << 26).to_bytes(8, "little") + b"{", 70_000_000),
    "a header that lies": (None, 2_000_000),
}


@pytest.mark.parametrize("what", ENDLESS)
@pytest.mark.parametrize("read", [models.load, models.open_model, tw.load])
def test_an_endless_file_is_refused_soon(what, read):
    start, most = ENDLESS[what]
    if start is None:  # the largest tensor that a header can declare
        data = models.dumps({"x": bytes(16)}, {})
        size = 1 << 46
        start = data[8:].replace(
            b'"shape":[16],"data_offsets":[0,16]', b'"shape":[%d],"data_offsets":[0,%d]' % (size, size)
        )
        start = start.replace(b'"data_offsets":[16,24]', b'"data_offsets":[%d,%d]' % (size, size + 8))
        header = start[: start.index(b"}}") + 2]
        start = len(header).to_bytes(8, "little") + header
    file = Endless(start)
    with pytest.raises(InvalidModel):
        read(file)
    assert file.given <= most


def test_what_follows_a_model_in_a_stream_is_noticed(model):
    file = Endless(model.read_bytes())
    with pytest.raises(InvalidModel, match="after the last tensor"):
        tw.load(file)
    assert file.given <= model.stat().st_size + (1 << 16)


def test_a_stream_that_gives_little_at_a_time_is_read_whole(model):
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 100) if size >= 0 else size)

    assert tw.load(Slow(model.read_bytes())).predict(X) == Y
    for cut in (0, 4, 8, 50, -9, -1):
        with pytest.raises(InvalidModel):
            tw.load(Slow(model.read_bytes()[:cut]))


@posix
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("verb", ["tag", "eval", "inspect"])
def test_devices_are_no_models(device, verb):
    if not os.path.exists(device):
        pytest.skip(f"there is no {device}")
    limit = 2 << 30
    code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n"
    code += "import sys; from trelliswork.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, verb, device]
    done = subprocess.run(command, input=b"", capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {device}: ".encode())


@posix
@pytest.mark.parametrize("arguments", [["tag"], ["tag", "--json"], ["eval"], ["eval", "--calibration"], ["inspect"]])
def test_a_model_from_a_pipe_is_opened_once(model, tmp_path, arguments):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "test.txt").write_text("the D\ndog N\nbarks V\n")
    verb, *options = arguments
    corpus = [] if verb == "inspect" else [tmp_path / "test.txt"]

    def run(path):
        command = [sys.executable, "-m", "trelliswork", verb, path, *corpus, *options]
        return subprocess.run(command, capture_output=True, check=False, timeout=30)

    def give():
        with open(fifo, "wb") as file:
            file.write(model.read_bytes())

    expected = run(model)
    giver = threading.Thread(target=give, daemon=True)
    giver.start()
    done = run(fifo)
    giver.join(5)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == expected.stdout.replace(os.fsencode(model), os.fsencode(fifo))


@posix
@pytest.mark.parametrize("read", [tw.load, models.open_model])
def test_a_model_that_is_not_mapped_survives_its_file(model, tmp_path, read):
    copy = tmp_path / "copy.tw"
    copy.write_bytes(model.read_bytes())
    loaded = read(copy, mmap=False)
    os.truncate(copy, 0)
    if read is tw.load:
        assert loaded.predict(X) == Y
    else:
        assert loaded.model.name(0) is not None


@posix
@pytest.mark.parametrize("arguments", [["tag"], ["tag", "--json"], ["eval"], ["inspect"]])
def test_no_mmap_at_the_shell(model, tmp_path, arguments, monkeypatch, capfd):
    from trelliswork.cli.main import main

    (tmp_path / "test.txt").write_text("the D\ndog N\nbarks V\n")
    verb, *options = arguments
    corpus = [] if verb == "inspect" else [str(tmp_path / "test.txt")]

    def refuse(*_, **__):
        raise AssertionError("the file was mapped")

    assert main([verb, str(model), *corpus, *options]) == 0
    expected = capfd.readouterr()
    monkeypatch.setattr("mmap.mmap", refuse)
    assert main([verb, str(model), *corpus, *options, "--no-mmap"]) == 0
    assert capfd.readouterr() == expected


def test_a_model_larger_than_streams_may_be_is_refused(model, monkeypatch):
    monkeypatch.setattr(layout, "_LARGEST_STREAM", 100)
    with pytest.raises(InvalidModel, match="save it to a file"):
        tw.load(io.BytesIO(model.read_bytes()))
    assert tw.load(model, mmap=False).predict(X) == Y


def test_the_checksum_is_looked_at_in_streams_too(model):
    data = bytearray(model.read_bytes())
    data[-20] ^= 1
    with pytest.raises(InvalidModel, match="checksum is wrong"):
        tw.load(io.BytesIO(data))
    assert _core.checksum(model.read_bytes()[:-8]) == int.from_bytes(model.read_bytes()[-8:], "little")
