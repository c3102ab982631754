"""Loading a model and asking it in a new process: neither scikit-learn nor SciPy is imported, little memory is used."""

import subprocess
import sys

import pytest

import trelliswork as tw

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "old", "man"]] * 3
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "A", "N"]] * 3

MODELS = {
    "sequence labeler": (lambda: tw.SequenceLabeler().fit(X, Y), X),
    "sequence labeler of attributes": (
        lambda: tw.SequenceLabeler().fit([[{"word": word} for word in x] for x in X], Y),
        [[{"word": word} for word in x] for x in X],
    ),
    "order 2": (lambda: tw.SequenceLabeler(order=2).fit(X, Y), X),
    "segment labeler": (
        lambda: tw.SegmentLabeler().fit(
            [["Ann", "Lee", "sings"], ["Bo"]] * 2, [["B-PER", "I-PER", "O"], ["B-PER"]] * 2
        ),
        [["Ann", "Lee", "hums"]],
    ),
    "MEMM": (lambda: tw.SequenceLabeler("memm").fit(X, Y), X),
    "committee": (lambda: tw.Committee(tw.HMM(), tw.SequenceLabeler(), folds=3).fit(X, Y), X),
    "hidden Markov model": (lambda: tw.HMM().fit(X, Y), [*X, ["unseen", "words"]]),
    "classifier": (lambda: tw.MulticlassClassifier("crf").fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]), [[0.5, 0.4]]),
    "classifier of dicts": (lambda: tw.MulticlassPerceptron().fit([{"a": 1}, {"b": 1}], ["a", "b"]), [{"a": 1.0}]),
}

CODE = """
import sys
import trelliswork as tw
answer = tw.load(sys.argv[1]).predict({X!r})
print(answer if isinstance(answer, list) else answer.tolist())
print(sorted({{"sklearn", "scipy", "pandas", "matplotlib", "click"}} & set(sys.modules)))
try:  # not `resource`, which counts what the parent had before the program was started
    kib = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
except OSError:
    kib = 0
print(kib / 1024)
"""


@pytest.mark.parametrize("kind", MODELS)
def test_a_new_process_answers_without_scikit_learn_and_scipy(kind, tmp_path):
    make, X = MODELS[kind]
    model = make()
    model.save(tmp_path / "model.tw")
    command = [sys.executable, "-c", CODE.format(X=X), str(tmp_path / "model.tw")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    answer, imported, mebibytes = done.stdout.splitlines()
    assert answer == str(model.predict(X) if isinstance(model.predict(X), list) else model.predict(X).tolist())
    assert imported == "[]"
    assert float(mebibytes) < 60
