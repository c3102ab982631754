"""Lets every call on files fail once in turn, in a process of its own; prints a line for each scenario.

Run by `test_faults.py` with ``file_faults.c`` put before the system's library. After a failed open, read, write, mmap
or other call, a file is what it was or what it should become, nothing temporary is left, errors name the file, and the
exit code is that of an error of the work; the next attempt works.

    python files.py SHIM FOLDER [SCENARIO ...]
"""

import contextlib
import ctypes
import errno
import io
import os
import shutil
import sys
import warnings
from pathlib import Path

import trelliswork as tw
from trelliswork import models
from trelliswork.cli import train as train_module
from trelliswork.cli.main import main as command

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "man"], ["man", "the", "boats"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"], ["V", "D", "N"]]
CORPUS = "".join(
    "".join(f"{word}\t{y}\n" for word, y in zip(*pair, strict=True)) + "\n" for pair in zip(X, Y, strict=True)
)
OLD = b"what was there before"
ERRORS = (errno.ENOSPC, errno.EIO)


class Wrong(AssertionError):
    """A promise that was not kept."""


def told(*arguments, stdout=None):
    """Run a command in this process: its exit code, and what it wrote to the standard error."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(stdout or io.StringIO()):
        code = command(list(arguments))
    return code, err.getvalue()


class Scenario:
    """Something that reads and writes files in the folder where calls fail."""

    def __init__(self, folder, outside):
        self.folder, self.outside = folder, outside
        self.model, self.corpus = os.path.join(outside, "model.tw"), os.path.join(outside, "corpus.tsv")
        self.target = os.path.join(folder, "target")

    def prepare(self):
        """Make the folder what it is before each attempt."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)
        self.put("target", OLD)

    def put(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)
        return os.path.join(self.folder, name)

    def act(self):
        """Do it; return an error in words, or ``""``."""
        raise NotImplementedError

    def after(self, n):
        """Which call fails after the n-th."""
        return n + 1

    def result(self):
        """What came of it."""
        with open(self.target, "rb") as file:
            return file.read()

    def check(self, error, expected):
        """Hold what there is now against the promises."""
        if error and self.result() not in (OLD, expected):
            raise Wrong("after an error the file is neither the old one nor the new one")
        if not error and self.result() != expected:
            raise Wrong("no error, and not the whole file")

    def run_command(self, *arguments, **options):
        code, err = told(*arguments, **options)
        lines = [line for line in err.splitlines() if line.startswith("error: ")]
        if code not in (0, 1) or (code == 1) != (len(lines) == 1) or "Traceback" in err:
            raise Wrong(f"exit code {code}, and {err!r}")
        return lines[0] if lines else ""


class Save(Scenario):
    def act(self):
        try:
            models.save(self.target, *tw.load(self.model).exported())
        except OSError as error:
            if error.filename is None:
                raise Wrong(f"{error} names no file") from None
            return str(error)
        return ""


class Train(Scenario):
    """The model's own disk fails."""

    def act(self):
        return self.run_command(
            "train", self.corpus, "-o", self.target, "--quiet", "--set", "max_iter=3", "--jobs", "1"
        )

    def result(self):
        data = super().result()
        if data == OLD:
            return data
        return {name: bytes(part) for name, part in models.loads(data)[0].items()}  # settings have times


class TrainFromThere(Train):
    """The training data and the development data are there, too."""

    def prepare(self):
        super().prepare()
        self.data, self.dev = self.put("corpus.tsv", CORPUS.encode()), self.put("dev.tsv", CORPUS.encode())

    def act(self):
        return self.run_command(
            "train", self.data, "--dev", self.dev, "-o", self.target, "--quiet", "--set", "max_iter=3"
        )


class Checkpoint(Train):
    """Only the checkpoint's disk fails: there is a model, whatever happens."""

    def prepare(self):
        super().prepare()
        self.target = os.path.join(self.outside, "trained.tw")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.target)

    def act(self):
        error = self.run_command(
            "train", self.corpus, "-o", self.target, "--checkpoint", os.path.join(self.folder, "state"),
            "--quiet", "--set", "max_iter=3", "--jobs", "1",
        )  # fmt: skip
        if error:
            raise Wrong(f"a checkpoint ended the training: {error}")
        return error


class Resume(Checkpoint):
    """Going on from a checkpoint that cannot be read is an error, and never another model."""

    def prepare(self):
        super().prepare()
        shutil.copy(os.path.join(self.outside, "state"), os.path.join(self.folder, "state"))

    def act(self):
        return self.run_command(
            "train", self.corpus, "-o", self.target, "--checkpoint", os.path.join(self.folder, "state"), "--resume",
            "--quiet", "--set", "max_iter=6", "--jobs", "1",
        )  # fmt: skip

    def check(self, error, expected):
        if not error and self.result() != expected:
            raise Wrong("another model")


class TrainWithinMemory(Train):
    """The disk of the scratch files fails: an error and the old model, or the new one; no file stays open."""

    learner = ("crf", "max_iter=2", "solver=lbfgs")

    def prepare(self):
        super().prepare()
        self.target = os.path.join(self.outside, "limited.tw")
        Path(self.target).write_bytes(OLD)
        self.data = os.path.join(self.outside, "larger.tsv")
        if not os.path.exists(self.data):
            lines = (f"w{(i * i) % 2503} {i % 7}\tL{(i * i) % 5}\n" + "\n" * (i % 20 == 0) for i in range(40_000))
            Path(self.data).write_text("".join(lines), encoding="utf-8")

    def act(self):
        learner, *settings = self.learner
        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        error = self.run_command(
            "train", self.data, "-o", self.target, "--quiet", "--learner", learner, "--jobs", "2",
            *(part for setting in settings for part in ("--set", setting)),
            "--memory", str(now + 40_000_000), "--scratch", self.folder,
        )  # fmt: skip
        links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        still = [os.readlink(link) for link in links if os.path.lexists(link)]
        if any(path.startswith(self.folder) for path in still):
            raise Wrong(f"still open: {still}")
        return error


class TrainOnlineWithinMemory(TrainWithinMemory):
    """Lists of sentences are copied from the files, one at a time: not every such call is tried."""

    learner = ("perceptron", "epochs=2")

    def after(self, n):
        return n + 1 if n < 20 else n + 1499


class Tag(Scenario):
    """The model, the text and the output are on the disk that fails. What was written of the output may stay."""

    options = ()

    def prepare(self):
        super().prepare()
        self.there = self.put("model.tw", Path(self.model).read_bytes())
        self.text = self.put("text.tsv", CORPUS.encode() * 50)
        self.stdout = io.TextIOWrapper(io.FileIO(self.target, "w"), encoding="utf-8")  # as the shell does

    def act(self):
        return self.into_target("tag", self.there, self.text, *self.options)

    def into_target(self, *arguments):
        try:
            return self.run_command(*arguments, stdout=self.stdout)
        finally:
            with contextlib.suppress(OSError):
                self.stdout.close()

    def check(self, error, expected):
        if not error and self.result() != expected:
            raise Wrong("no error, and not all of the output")


class TagJson(Tag):
    options = ("--json", "--no-mmap")


class Inspect(Tag):
    def act(self):
        return self.into_target("inspect", self.there, "--json")


class Convert(Scenario):
    def prepare(self):
        super().prepare()
        self.text = self.put("text.tsv", CORPUS.encode())

    def act(self):
        return self.run_command("convert", self.text, self.target, "--to", "jsonl")


class ConvertCompressed(Convert):
    def prepare(self):
        super().prepare()
        self.target = self.put("target.gz", OLD)


class ConvertModel(Scenario):
    def prepare(self):
        super().prepare()
        self.there = self.put("model.tw", Path(self.model).read_bytes())

    def act(self):
        return self.run_command("convert", self.there, self.target, "--weights", "int8")


SCENARIOS = {
    "save": Save,
    "train": Train,
    "train from there": TrainFromThere,
    "checkpoint": Checkpoint,
    "resume": Resume,
    "train within memory": TrainWithinMemory,
    "train online within memory": TrainOnlineWithinMemory,
    "tag": Tag,
    "tag --json --no-mmap": TagJson,
    "inspect": Inspect,
    "convert": Convert,
    "convert to gzip": ConvertCompressed,
    "convert a model": ConvertModel,
}


class Faults:
    def __init__(self, shim):
        self._shim = ctypes.CDLL(shim)
        self._shim.faults_disarm.restype = ctypes.c_long
        self._shim.faults_last.restype = ctypes.c_char_p

    def attempt(self, scenario, n, code):
        """Whether the n-th call failed, which one that was, and the error that came of it."""
        scenario.prepare()
        self._shim.faults_arm(scenario.folder.encode(), ctypes.c_long(n), code)
        try:
            error = scenario.act()
        finally:
            failed = self._shim.faults_disarm()
        return failed, self._shim.faults_last().decode(), error


def tried(faults, scenario):
    """Let every call fail once with each error; return how often each ended in an error, or in success."""
    _, _, error = faults.attempt(scenario, 0, 0)
    if error:
        raise Wrong(f"without a fault: {error}")
    expected = scenario.result()
    before = sorted(os.listdir(scenario.folder))
    counts = {"error": 0, "success": 0}
    for code in ERRORS:
        n = 1
        while True:
            failed, call, error = faults.attempt(scenario, n, code)
            if not failed:
                break
            try:
                if error and os.strerror(code) not in error:
                    raise Wrong(f"another error: {error}")
                scenario.check(error, expected)
                left = [name for name in os.listdir(scenario.folder) if name not in {*before, "state"}]
                if left:
                    raise Wrong(f"left over: {left}")
            except Wrong as wrong:
                raise Wrong(f"call {n}, {call}, {os.strerror(code)}: {wrong}") from None
            counts["error" if error else "success"] += 1
            n = scenario.after(n)
    return counts


def prepared(outside):
    """A model, a corpus and a checkpoint where nothing fails."""
    tw.SequenceLabeler(n_jobs=1).fit(X, Y).save(os.path.join(outside, "model.tw"))
    corpus = os.path.join(outside, "corpus.tsv")
    with open(corpus, "w", encoding="utf-8") as file:
        file.write(CORPUS)
    code, err = told(
        "train", corpus, "-o", os.path.join(outside, "cut.tw"), "--checkpoint", os.path.join(outside, "state"),
        "--quiet", "--set", "max_iter=3", "--jobs", "1",
    )  # fmt: skip
    assert code == 0, err


def main():
    shim, folder, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    train_module.CHECKPOINT_SECONDS = 0.0
    outside = os.path.join(folder, "outside")
    os.makedirs(outside, exist_ok=True)
    prepared(outside)
    faults, total = Faults(shim), 0
    for name in names or SCENARIOS:
        try:
            counts = tried(faults, SCENARIOS[name](os.path.join(folder, "inside"), outside))
        except Wrong as wrong:
            raise Wrong(f"{name}: {wrong}") from None
        total += sum(counts.values())
        print(f"{name}: {sum(counts.values())} failed calls: {counts}", flush=True)
    print(f"{total} failed calls", flush=True)


if __name__ == "__main__":
    main()
