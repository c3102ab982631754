"""A fresh interpreter: what importing costs, and how soon a line is tagged by a program that was just started.

The models of the last table know CoNLL-2000, if it is there; otherwise that table is left out.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import chunking
import trelliswork as tw
from timing import print_load, print_table

CASES = {
    "python": "pass",
    "import numpy": "import numpy",
    "import trelliswork": "import trelliswork",
    "import trelliswork, ask a chain": "import trelliswork as tw; tw.Chain([[0.0, 1.0]], [[0.0, 0.0]] * 2).argmax()",
}
LINE: list[tuple[str, ...]] = [("Confidence", "NN"), ("in", "IN"), ("the", "DT"), ("pound", "NN"), ("fell", "VBD")]

CRFSUITE = """
import sys
import pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open({model!r})
for row, label in zip({rows!r}, tagger.tag({attributes!r})):
    print(*row, label, sep="\\t")
"""
SKLEARN_CRFSUITE = """
import sklearn_crfsuite
crf = sklearn_crfsuite.CRF(model_filename={model!r})
for row, label in zip({rows!r}, crf.predict([{attributes!r}])[0]):
    print(*row, label, sep="\\t")
"""


def main() -> None:
    """Print the best of interleaved runs, and the ratios."""
    print_load()
    seconds = fastest({name: [sys.executable, "-c", code] for name, code in CASES.items()}, runs=15)
    print_table(
        "A fresh interpreter, warm file cache",
        ["what", "milliseconds", "times import numpy"],
        [[name, 1e3 * found, found / seconds["import numpy"]] for name, found in seconds.items()],
    )
    print_first_answer()
    if chunking.corpus_or_skip("the cold start of tagging") is not None:
        print_cold_start()


SERVING = """
import sys, time
began, work = time.perf_counter(), time.process_time()
import trelliswork as tw
tw.load({model!r}).predict({X!r})
print(time.perf_counter() - began, time.process_time() - work, memory_kib(), *{{"sklearn", "scipy"}} & set(sys.modules))
"""
SERVING_CRFSUITE = """
import sys, time
began, work = time.perf_counter(), time.process_time()
import pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open({model!r})
tagger.tag({attributes!r})
print(time.perf_counter() - began, time.process_time() - work, memory_kib())
"""
MEMORY = """
def memory_kib():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
"""


def print_first_answer() -> None:
    """Print seconds and memory from the import to the first answer of a saved model, in a new process each time.

    The model is of the corpus that ships with the library. Memory is the most that the process ever had.
    """
    corpus = tw.corpora.ingredients()
    folder = chunking.cache_folder()
    ours = folder / "first_answer.tw"
    tw.SequenceLabeler().fit(corpus.X_train, corpus.y_train).save(ours)
    X = corpus.X_test[:1]
    programs = {"tw.load(path).predict(X)": MEMORY + SERVING.format(model=str(ours), X=X)}
    if chunking.installed("pycrfsuite"):
        import pycrfsuite

        theirs = folder / "first_answer.crfsuite"
        trainer = pycrfsuite.Trainer(verbose=False)
        templates = tw.Templates.words()
        for x, y in zip(templates.attributes(corpus.X_train), corpus.y_train, strict=True):
            trainer.append(x, y)
        trainer.set_params({"max_iterations": 50})
        trainer.train(str(theirs))
        facts = {"model": str(theirs), "attributes": templates.attributes(X)[0]}
        programs["python-crfsuite, open and tag"] = MEMORY + SERVING_CRFSUITE.format(**facts)
    found = {name: [float("inf")] * 3 for name in programs}
    for _ in range(11):
        for name, code in programs.items():
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            seconds, work, kib, *imported = done.stdout.split()
            assert not imported, imported
            figures = [float(seconds), float(work), int(kib) / 1024]
            found[name] = [min(pair) for pair in zip(found[name], figures, strict=True)]
    print_table(
        "From the import to the first answer (wanted: 0.15 s and 60 MiB; neither scikit-learn nor SciPy)",
        ["what", "seconds", "seconds of the processor", "MiB"],
        [[name, *figures] for name, figures in found.items()],
    )


def print_cold_start() -> None:
    """Print how long a program takes from its start to the tagged line."""
    line = "".join(f"{word} {tag}\n" for word, tag in LINE).encode()
    programs = {"trelliswork tag": [program(), "tag", str(our_model())]}
    if chunking.installed("pycrfsuite"):
        model = their_model()
        facts = {"model": str(model), "rows": LINE}
        code = CRFSUITE.format(**facts, attributes=chunking.attribute_lists(LINE))
        programs["python-crfsuite, a script"] = [sys.executable, "-c", code]
        if chunking.installed("sklearn_crfsuite"):
            code = SKLEARN_CRFSUITE.format(**facts, attributes=chunking.attribute_dicts(LINE))
            programs["sklearn-crfsuite, a script"] = [sys.executable, "-c", code]
    seconds = fastest(programs, runs=11, stdin=line)
    ours = seconds["trelliswork tag"]
    print_table(
        "One sentence, from the start of the program to its end",
        ["what", "milliseconds", "times trelliswork"],
        [[name, 1e3 * found, found / ours] for name, found in seconds.items()],
    )


def our_model() -> Path:
    """Train this library's model on the chunking task, for this run."""
    path = chunking.cache_folder() / "startup.tw"
    options = ["--features", str(chunking.TEMPLATE_FILE), "--set", "l2=2", "--quiet"]
    command = [sys.executable, "-m", "trelliswork", "train", str(chunking.raw_file("train")), "-o", str(path)]
    subprocess.run([*command, *options], check=True)
    return path


def their_model() -> Path:
    """Train python-crfsuite's model, once."""
    path = chunking.cache_folder() / "chunking.30.crfsuite"
    if not path.exists():
        chunking.peer("crfsuite", chunking.raw_file("train"), 30, "stream", path)
    return path


def program() -> str:
    """Return the path of the program ``trelliswork`` in this environment."""
    return str(Path(sys.executable).parent / "trelliswork")


def fastest(commands: dict[str, list[str]], runs: int, stdin: bytes | None = None) -> dict[str, float]:
    """Run the commands in turn, and return the seconds of the fastest run of each."""
    seconds = dict.fromkeys(commands, float("inf"))
    for _ in range(runs):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, input=stdin, stdout=subprocess.DEVNULL)
            seconds[name] = min(seconds[name], time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    main()
