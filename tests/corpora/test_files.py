"""Opening and writing: what a file is called, how it is encoded and packed, and what is left after an error."""

import errno
import gzip
import io
import os
import subprocess
import sys

import pytest

from trelliswork.corpora import read_columns, read_text, write_columns
from trelliswork.corpora.files import numbered_lines, writing
from trelliswork.errors import InvalidInput


def lines(data, **options):
    return [line for _, line in numbered_lines(io.BytesIO(data), **options)]


def test_a_path_a_text_file_and_a_binary_file_read_alike(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("é\nb", encoding="utf-8")
    expected = [(1, "é"), (2, "b")]
    assert list(numbered_lines(path)) == list(numbered_lines(str(path))) == expected
    with open(path, encoding="utf-8") as text, open(path, "rb") as binary, open(path, "rb", buffering=0) as raw:
        assert list(numbered_lines(text)) == list(numbered_lines(binary)) == list(numbered_lines(raw)) == expected
        assert not any(file.closed for file in (text, binary, raw))


def test_gzip_is_told_by_the_content_not_the_name(tmp_path):
    path = tmp_path / "some.txt"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert list(numbered_lines(path)) == [(1, "a"), (2, "b")]
    path = tmp_path / "plain.gz"
    path.write_bytes(b"a\n")
    assert list(numbered_lines(path)) == [(1, "a")]


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"a\n" * 99)[:-9], gzip.compress(b"a\n")[:12] + b"xxxxxxxx", b"\x1f\x8b"],
    ids=["cut off", "overwritten", "header alone"],
)
def test_damaged_gzip_is_refused(data):
    with pytest.raises(InvalidInput, match=r"<input>, after line \d+: the gzip data are damaged or cut off"):
        lines(data)


def test_encodings():
    assert lines("é\nß".encode("latin-1"), encoding="latin-1") == ["é", "ß"]
    assert lines("\ufeffé\nß".encode()) == ["é", "ß"]
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        assert lines("é\r\n\nß".encode(encoding), encoding=encoding) == ["é", "", "ß"]


@pytest.mark.parametrize(
    ("data", "options", "found"),
    [
        (b"a\nb\ncaf\xe9\n", {}, r"line 3: byte 0xe9 in column 4 is not 'utf-8'.*encoding='latin-1'"),
        ("a\n".encode("utf-16"), {}, r"line 1: .*UTF-16.*encoding='utf-16'"),
        ("a\n".encode("utf-16-le"), {}, r"line 1: found a NUL.*encoding='utf-16'"),
        (b"a\n\xc3\xa9\n", {"encoding": "ascii"}, "line 2: byte 0xc3"),
        (b"\xff\xfea\0\n\0\0\xd8", {"encoding": "utf-16"}, "after line"),
        (b"ab\n", {"encoding": "utf-16"}, "after line 0: UTF-16 stream does not start with BOM|line 1"),
    ],
)
def test_the_wrong_encoding_is_named_with_its_line(data, options, found):
    with pytest.raises(InvalidInput, match=f"^<input>, {found}"):
        lines(data, **options)


def test_a_text_file_that_cannot_be_decoded(tmp_path):
    path = tmp_path / "some.txt"
    path.write_bytes(b"a\ncaf\xe9\n")
    with open(path, encoding="utf-8") as file, pytest.raises(InvalidInput, match="Open it with its encoding"):
        list(numbered_lines(file))


@pytest.mark.parametrize("encoding", ["no-such", "rot13", None, ""])
def test_unknown_encodings_are_refused(encoding, tmp_path):
    with pytest.raises(InvalidInput, match="encoding"):
        lines(b"", encoding=encoding)
    with pytest.raises(InvalidInput, match="encoding"), writing(tmp_path / "x", encoding):
        pass
    assert not list(tmp_path.iterdir())


def test_what_is_no_file_is_refused():
    with pytest.raises(InvalidInput, match="a path, an open file or '-'"):
        list(numbered_lines(["a"]))
    with pytest.raises(InvalidInput, match="a path, an open file or '-'"):
        write_columns(3, [])


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(read_text(tmp_path / "missing"))


def test_one_byte_first_from_a_pipe_does_not_hide_gzip():
    class Drip(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(1)

    assert list(numbered_lines(Drip(gzip.compress(b"a\nb")))) == [(1, "a"), (2, "b")]


def test_standard_input_and_output():
    code = (
        "from trelliswork.corpora import read_columns, write_columns; print('before', end=' '); "
        "write_columns('-', read_columns('-'), separator=' '); print('after')"
    )
    run = subprocess.run([sys.executable, "-c", code], input=b"a O\r\n", capture_output=True, check=True)
    assert run.stdout == b"before a O\n\n" + f"after{os.linesep}".encode()


def test_a_name_in_gz_is_compressed_the_same_each_time(tmp_path):
    for name in ("one.gz", "two.gz"):
        write_columns(tmp_path / name, [(["a"], ["O"])])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.gz").read_bytes()) == b"a\tO\n\n"


def test_text_files_are_written_to_and_left_open():
    file = io.StringIO()
    assert write_columns(file, [(["a"], ["O"])]) == 1
    assert file.getvalue() == "a\tO\n\n"


@pytest.mark.parametrize("name", ["old.txt", "old.gz"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, name):
    def interrupted():
        yield (["a"], ["O"])
        raise KeyboardInterrupt

    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_columns(path, interrupted())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["new.txt", "new.gz"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, name):
    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_columns(tmp_path / name, [(["a"], ["O"])])
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_device_is_the_usual_error():
    with pytest.raises(OSError, match="No space left"):
        write_columns("/dev/full", [(["a"], ["O"])] * 100_000)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions and links")
def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_columns(link, [(["a"], ["O"])])
    assert link.is_symlink()
    assert path.read_text() == "a\tO\n\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_may_be_rewritten_while_it_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_text("a O\n\nb O\n")
    write_columns(path, read_columns(path), separator="\t")
    assert path.read_text() == "a\tO\n\nb\tO\n\n"


def test_readers_need_no_numpy():
    code = (
        "import sys; sys.modules['numpy'] = None; import trelliswork.corpora as c; "
        "[getattr(c, name) for name in c.__all__]; assert 'trelliswork.structures.chain' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
