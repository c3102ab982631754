"""Training within a limit of memory: the same model as without one, from files that leave nothing behind."""

import contextlib
import ctypes
import errno
import gc
import io
import os
import resource
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import _core
from trelliswork.arguments import as_bytes
from trelliswork.errors import InvalidInput, ScratchError
from trelliswork.training import sequence_examples

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures what is resident as Linux tells it")

MB = 1_000_000
LABELS = ("B-A", "B-X", "B-Y", "B-Z", "O")


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def little():
    """Hardly more memory than the process has now: arrays of some megabytes do not fit.

    Tests that ask for it are marked `alone`. What was left free on the heap goes back to the system first: it would be
    room that nobody counts.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc's
        ctypes.CDLL(None).malloc_trim(0)
    return resident() + 14 * MB


def corpus(n_sequences, n_words=150, seed=0, values=False):
    """Tokens with a few attributes, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(0, 30, n_sequences).tolist():
        words = (rng.zipf(1.3, length) % n_words).tolist()
        X.append([attributes(words, t, values) for t in range(length)])
        y.append([LABELS[(word * 7 + word // 3) % 5] for word in words])
    return X, y


def attributes(words, t, values):
    found = {f"w={words[t]}": 1.0, f"p={words[t - 1] if t else '-'}": 1.0, "bias": 1.0, f"twin={words[t]}": 1.0}
    found |= {f"{place}={words[(t + place) % len(words)] % 50}": 1.0 for place in range(2, 10)}
    if values:
        found["share"] = 0.25 + words[t] / 100
    return found


@pytest.fixture
def storages(monkeypatch):
    """All that limited trainings were given, to see whether they used files."""
    made = []

    def remembered(*given):
        made.append(storage_of(*given))
        return made[-1]

    storage_of = sequence_examples.storage_of
    monkeypatch.setattr(sequence_examples, "storage_of", remembered)
    return made


def fitted(learner, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        return tw.SequenceLabeler(learner, "attributes", **options).fit(X, y)


def same_bits(one, other):
    a, b = one.exported()[0], other.exported()[0]
    assert a.keys() == b.keys()
    return all(np.array_equal(a[name], b[name]) for name in a)


LEARNERS = [
    tw.CRF(solver="lbfgs", max_iter=8),
    tw.CRF(solver="lbfgs", tol=1e-7, max_iter=60),  # the last iterations in double precision
    tw.CRF(solver="sgd", max_iter=2),
    tw.CRF(solver="sgd-lbfgs", sgd_epochs=2, max_iter=6),
    tw.CRF(l1=0.5, solver="owlqn", max_iter=6),
    tw.CRF(margin=1.0, solver="lbfgs", max_iter=4),
    tw.Perceptron(epochs=2),
    tw.PassiveAggressive(epochs=2),
    tw.MIRA(epochs=2, k=3),
    tw.AROW(epochs=2),
    tw.Pegasos(epochs=2),
    tw.Subgradient(epochs=2),
]


@pytest.mark.alone
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_model_is_the_same_to_the_last_bit(learner, n_jobs, storages):
    X, y = corpus(2500)
    free = fitted(learner, X, y, n_jobs=n_jobs)
    limited = fitted(learner, X, y, n_jobs=n_jobs, memory=little())
    assert storages[-1].most_in_files > 2 * MB
    assert same_bits(free, limited)
    assert [entry["objective"] for entry in free.history_] == [entry["objective"] for entry in limited.history_]


@pytest.mark.alone
@pytest.mark.parametrize("learner", [tw.CRF(solver="lbfgs", max_iter=4), tw.Perceptron(epochs=2)], ids=repr)
@pytest.mark.parametrize(
    "options",
    [{"hash_bits": 9}, {"min_count": 40}, {"constraints": "BIO"}, {"combinations": "all"}, {"values": True}],
    ids=lambda options: next(iter(options)),
)
def test_so_it_is_with_every_option(learner, options, storages):
    options = dict(options)
    X, y = corpus(2000, values=options.pop("values", False))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        free, limited = (
            tw.SequenceLabeler(learner, "attributes", **options, memory=memory()).fit(X, y, sample_weight=weights)
            for memory in (lambda: None, little)
        )
    assert storages[-1].most_in_files > MB
    assert same_bits(free, limited)


@pytest.mark.alone
@pytest.mark.parametrize("values", [False, True])
def test_so_it_is_with_more_labels_than_a_half_word_has_bits(values, storages):
    X, y = corpus(1500, values=values)
    y = [[f"L{(LABELS.index(label) * 11 + t) % 40}" for t, label in enumerate(labels)] for labels in y]
    free = fitted(tw.MIRA(epochs=2, k=2), X, y, combinations="seen")
    limited = fitted(tw.MIRA(epochs=2, k=2), X, y, combinations="seen", memory=little())
    assert storages[-1].most_in_files > MB
    assert same_bits(free, limited)


@pytest.mark.alone
@pytest.mark.parametrize("learner", [tw.CRF(max_iter=8), tw.CRF(solver="lbfgs", tol=1e-7, max_iter=5)], ids=repr)
def test_so_it_is_with_so_many_labels_that_rows_have_gaps(learner, storages):
    X, y = corpus(2000)
    y = [
        [f"L{(LABELS.index(label) * 11 + 3 * t + i) % 120}" for t, label in enumerate(labels)]
        for i, labels in enumerate(y)
    ]
    free, limited = fitted(learner, X, y, hash_bits=7), fitted(learner, X, y, hash_bits=7, memory=little())
    assert len(free.classes_) == 120
    assert storages[-1].most_in_files > MB
    assert same_bits(free, limited)


@pytest.mark.alone
@pytest.mark.parametrize("learner", [tw.Perceptron(epochs=2), tw.PassiveAggressive(epochs=2)], ids=repr)
def test_so_it_is_where_labels_are_known_in_part_and_attributes_meet_pairs(learner, storages):
    X, y = corpus(3500)
    words = [[str(min(token)) for token in x] for x in X]
    y = [[None if (i + t) % 9 == 0 else label for t, label in enumerate(labels)] for i, labels in enumerate(y)]
    templates = tw.Templates("c0[-1..1]\npair: c0[0]")
    free, limited = (
        tw.SequenceLabeler(learner, templates, memory=memory()).fit(words, y) for memory in (lambda: None, little)
    )
    assert storages[-1].most_in_files > MB // 4
    assert same_bits(free, limited)


def test_a_corpus_that_fits_stays_in_memory(storages):
    X, y = corpus(100)
    assert same_bits(fitted("crf", X, y), fitted("crf", X, y, memory="8GB"))
    assert storages[-1].most_in_files == 0


@pytest.mark.alone
def test_generators_and_files_are_read_in_blocks(tmp_path, storages):
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 20, 14_000)
    X = [[(f"w{word}", f"t{word % 7}") for word in rng.integers(0, 99, length)] for length in lengths]
    y = [[f"L{(len(word) + int(word[1:])) % 3}" for word, _ in x] for x in X]
    path = tmp_path / "train.txt"
    tw.corpora.write_columns(path, zip(X, y, strict=True))
    templates = tw.Templates("c0[-1..1]\nc1[0]")
    learner = tw.Perceptron(epochs=1)
    free = tw.SequenceLabeler(learner, templates).fit(X, y)
    generated = tw.SequenceLabeler(learner, templates, memory=little()).fit((x for x in X), (labels for labels in y))
    limit = little() + 20 * MB  # its file is read once for the labels before training begins
    streamed = tw.SequenceLabeler(learner, templates, memory=limit).fit(*tw.corpora.open_table(path))
    assert same_bits(free, generated)
    assert same_bits(free, streamed)
    assert all(storage.most_in_files > MB // 2 for storage in storages if storage)


def test_a_table_that_is_open_is_a_list_of_sequences_that_can_be_read_again(tmp_path):
    path = tmp_path / "two.txt"
    path.write_text("Rain NN B\nfell VBD O\n\nStop VB O\n")
    X, y = tw.corpora.open_table(path)
    assert [list(X), list(X)] == [[[("Rain", "NN"), ("fell", "VBD")], [("Stop", "VB")]]] * 2
    assert [list(y), list(y)] == [[["B", "O"], ["O"]]] * 2
    assert (len(X), X.n_tokens) == (2, 3)
    assert X.where(1, 0) == f"{path}, line 4"
    with pytest.raises(InvalidInput, match="read more than once"):
        tw.corpora.open_table("-")


def test_too_little_memory_is_refused_with_what_would_do():
    X, y = corpus(50)
    with pytest.raises(InvalidInput, match=r"memory is 1 MB, but the process takes \d+ MB .* at least \d+ MB"):
        fitted("crf", X, y, memory="1MB")


@pytest.mark.alone
def test_weights_that_do_not_fit_are_refused_with_how_many_would():
    X = [[[f"w{i}"]] for i in range(70_000)]
    y = [[f"L{i % 40}"] for i in range(70_000)]
    with pytest.raises(InvalidInput, match=r"\d+ weights take \d+ MB, .* \d+ would fit.*min_count.*hash_bits"):
        fitted(tw.CRF(), X, y, combinations="all", memory=resident() + 100 * MB)


@pytest.mark.alone
def test_an_index_that_does_not_fit_is_refused_and_hashing_does_it():
    X = [[[f"{i}-{j}" for j in range(25)]] for i in range(12_000)]
    y = [[f"L{i % 2}"] for i in range(12_000)]
    with pytest.raises(InvalidInput, match=r"\d+ attributes take \d+ MB.*hash_bits=18"):
        fitted(tw.Perceptron(epochs=1), iter(X), iter(y), memory=little())
    labeler = fitted(tw.Perceptron(epochs=1), iter(X), iter(y), hash_bits=10, memory=little())
    assert labeler.n_attributes_ == 1024
    assert labeler.hash_bits == tw.load(saved(labeler)).hash_bits == 10


def saved(labeler):
    file = io.BytesIO()
    labeler.save(file)
    return file.getvalue()


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    X, y = corpus(50)
    with pytest.raises(ScratchError, match="no file can be made in the folder") as caught:
        fitted("crf", X, y, memory="8GB", scratch_folder=tmp_path / "none")
    assert caught.value.errno == errno.ENOENT


@pytest.mark.alone
@pytest.mark.parametrize("most", [100_000, 1_000_000, 3_000_000])
def test_a_full_disk_is_an_error_that_says_so_and_leaves_nothing(tmp_path, most):
    X, y = corpus(4000)
    labeler = tw.SequenceLabeler(tw.Perceptron(epochs=1), "attributes", memory=little())
    labeler.set_params(scratch_folder=tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        with pytest.raises(ScratchError, match=r"no room for files of \d+ MB .*: File too large"):
            labeler.fit(X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not hasattr(labeler, "classes_")
    assert not os.listdir(tmp_path)
    assert not scratch_files(tmp_path)
    assert labeler.fit(X, y).classes_.tolist() == sorted(LABELS)


def scratch_files(folder):
    """Files of a folder that this process holds open, whether they have a name or not."""
    links = []
    for name in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return [link for link in links if link.startswith(str(folder))]


@pytest.mark.alone
@pytest.mark.parametrize("learner", [tw.CRF(solver="lbfgs"), tw.Perceptron(epochs=50)], ids=repr)
def test_an_interrupt_keeps_a_model_and_removes_the_files(learner, tmp_path):
    X, y = corpus(2500)
    held = []

    def interrupt(progress):
        held.append(scratch_files(tmp_path))
        assert not os.listdir(tmp_path)
        if progress.number == 2:
            raise KeyboardInterrupt

    labeler = tw.SequenceLabeler(learner, "attributes", memory=little(), scratch_folder=tmp_path)
    with pytest.warns(tw.ConvergenceWarning, match="interrupted after 2 iterations"):
        labeler.fit(X, y, callback=interrupt)
    assert held[0]
    assert labeler.interrupted_
    assert len(labeler.predict(X[:5])) == 5
    assert not os.listdir(tmp_path)
    assert not scratch_files(tmp_path)


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from test_larger_than_memory import *
X, y = corpus(2500)
labeler = tw.SequenceLabeler(tw.Perceptron(epochs=10**6), "attributes", scratch_folder={folder!r})
labeler.set_params(memory=little())
labeler.fit(X, y, callback=lambda progress: progress.number == 1 and print(len(scratch_files({folder!r})), flush=True))
"""


def test_a_process_that_is_killed_leaves_nothing(tmp_path):
    script = KILLED.format(tests=os.path.dirname(__file__), folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert int(process.stdout.readline()) > 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    time.sleep(0.1)
    assert not os.listdir(tmp_path)


@pytest.mark.alone
def test_a_run_within_a_limit_goes_on_from_one_without(storages):
    X, y = corpus(2500)
    states = []
    whole = fitted(tw.Perceptron(epochs=4), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        tw.SequenceLabeler(tw.Perceptron(epochs=2), "attributes").fit(
            X, y, callback=lambda progress: states.append(progress.state())
        )
        limited = tw.SequenceLabeler(tw.Perceptron(epochs=4), "attributes", memory=little())
        limited.fit(X, y, resume=states[-1])
    assert storages[-1].most_in_files > MB
    assert same_bits(whole, limited)


@pytest.mark.parametrize("name", ["frank-wolfe", "cutting-plane", "sdm", "larank", "eg", "memm"])
def test_learners_that_keep_something_of_each_example_are_refused(name):
    X, y = corpus(20)
    known = {alias: alias for alias in tw.learners.names()}
    if name not in known:
        pytest.skip(f"there is no learner called {name}")
    with pytest.raises(InvalidInput, match="keeps something of each example"):
        fitted(name, X, y, memory="8GB")


def test_what_cannot_be_kept_within_memory_is_refused():
    X, y = corpus(50)
    with pytest.raises(InvalidInput, match="chains of order 1"):
        fitted("crf", X, y, order=2, memory="8GB")
    with pytest.raises(InvalidInput, match="no meaning without memory"):
        fitted("crf", X, y, scratch_folder="/tmp")
    with pytest.raises(InvalidInput, match="every token has one label"):
        fitted("crf", X, [[None] * len(x) for x in X[:5]] + y[5:], memory="8GB")
    with pytest.raises(InvalidInput, match="memory is 'much'"):
        fitted("crf", X, y, memory="much")


def test_sizes_have_units():
    assert [as_bytes("memory", text) for text in ("10", "1kB", "2 GB", "0.5GiB", "3m")] == [
        10,
        1000,
        2 * 10**9,
        2**29,
        3 * 10**6,
    ]
    for wrong in ("", "GB", "-1GB", "1iB", "2 GBs", True, 0, "0"):
        with pytest.raises(InvalidInput, match="memory"):
            as_bytes("memory", wrong)


def test_what_is_resident_stays_within_the_limit():
    """In a process of its own, whose peak is not that of the tests before."""
    script = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_larger_than_memory import *
X = ([[f"w{{i * 31 % 997}}", f"v{{(i + t) % 499}}"] + [f"{{j}}={{(i * j + t) % 61}}" for j in range(25)]
      for t in range(20)] for i in range(20_000))
y = ([LABELS[(i + t) % 5] for t in range(20)] for i in range(20_000))
labeler = tw.SequenceLabeler(tw.Perceptron(epochs=2), "attributes", memory=resident() + 40 * MB)
labeler.fit(X, y)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(labeler.memory, int(peak.split()[1]) * 1024)
"""
    limit, peak = map(
        int, subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout.split()
    )
    assert peak <= limit


def test_arrays_without_a_limit_are_not_looked_after():
    assert _core.Examples(0, True).n_tokens == 0
