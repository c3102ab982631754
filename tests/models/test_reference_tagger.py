"""docs/reference_tagger.py says what a model file means; the library gives what it gives."""

import json
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import trelliswork as tw

FOLDER = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(FOLDER))

from reference_tagger import Tagger, compiled  # noqa: E402

VERSION_1 = Path(__file__).parent / "version_1"
WORDS = ["rain", "Rain", "RAIN", "fell", "2,000", "ÉTÉ", "été", "x86", "I", "McX", "日本", "İx", "...", "", "a b"]
TAGS = ["N", "V", "."]
TEMPLATES = """
columns: word tag size
both: word[-1..1]
ngram(lower(word)[-1..1], 2) & tag
prefix(word, 1..2)
suffix(digits(word), 2)[-1]
shape(word, 1)[-1..1]
shape(word)
case(word) & characters(word)
length(word)
bag(tag[1..2])
pair: column 1
pair: bias & tag[1]
label: begin & word
end[1]
number(size)
number(size)[-1] & word
begin
word
"""


def agree(path, X):
    """The library and the reference say the same of these sequences."""
    tagger = Tagger(path)
    model = tw.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.UncalibratedScores)
        marginals = model.predict_marginals(X)
    assert [tagger.predict(x) for x in X] == model.predict(X)
    for x, expected in zip(X, marginals, strict=True):
        found = np.array(tagger.marginals(x)).reshape(len(x), len(tagger.labels))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def trained(learner, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.ConvergenceWarning)
        return tw.SequenceLabeler(learner, **options).fit(X, y)


def random_rows(seed, n=12):
    """Sequences of (word, tag, number) and labels: those of spans, so that constraints mean something."""
    rng = random.Random(seed)
    X, y = [], []
    for length in [rng.randint(1, 7) for _ in range(n)]:
        X.append(
            [(rng.choice(WORDS), rng.choice(TAGS), rng.choice(["_", "0.5", "-2", "+1e-3"])) for _ in range(length)]
        )
        y.append(rng.choices(["O", "B-X"], k=length))
        y[-1] = [
            "I-X" if t and before != "O" and rng.random() < 0.5 else label
            for t, (before, label) in enumerate(zip(["O", *y[-1]], y[-1], strict=False))
        ]
    return X, y


def test_it_is_short_and_needs_nothing_but_python():
    text = (FOLDER / "reference_tagger.py").read_text()
    assert len(text.splitlines()) < 210
    imported = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_the_shipped_corpus_gets_the_same_labels_and_marginals(precision, tmp_path):
    corpus = tw.corpora.ingredients()
    model = trained(tw.CRF(max_iter=20), corpus.X_train[:150], corpus.y_train[:150])
    model.save(tmp_path / "model.tw", precision=precision)
    agree(tmp_path / "model.tw", corpus.X_test[:40])


@pytest.mark.parametrize("name", ["words", "chunking", "ner", "pos", "thesis"])
def test_ready_sets_stand_for_the_same_templates(name):
    templates = tw.Templates.preset(name)
    found = [("pair: " if pair else "") + text for text, pair, _ in compiled(templates.to_dict()["templates"])]
    assert found == templates.names


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (tw.CRF(max_iter=5), {}),
        (tw.CRF(max_iter=5), {"hash_bits": 5}),
        (tw.CRF(max_iter=5), {"constraints": "BIO"}),
        (tw.MEMM(max_iter=5), {}),
        (tw.MEMM(max_iter=5), {"constraints": "BIO"}),
        (tw.Perceptron(epochs=2), {"constraints": "BIO"}),  # whole numbers: many ties
        (tw.PassiveAggressive(epochs=3), {"min_count": 2}),
    ],
    ids=str,
)
def test_random_models_over_columns_agree(learner, options, seed, tmp_path):
    X, y = random_rows(seed)
    trained(learner, X, y, features=tw.Templates(TEMPLATES), **options).save(tmp_path / "model.tw")
    agree(tmp_path / "model.tw", [*random_rows(seed + 100)[0], []])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (tw.CRF(max_iter=5), {"label_parts": "-", "constraints": "BIO"}),
        (tw.MEMM(max_iter=5), {"label_parts": {"O": ["a", "b"], "B-X": ["a", "c"], "I-X": ["b", "a"]}}),
        (tw.Perceptron(epochs=2), {"label_parts": "-"}),
        (tw.Perceptron(epochs=2), {"tag_dictionary": 0.1}),
    ],
    ids=str,
)
def test_parts_of_labels_and_tag_dictionaries(learner, options, seed, tmp_path):
    X, y = random_rows(seed)
    X = [[word for word, *_ in x] for x in X]
    trained(learner, X, y, **options).save(tmp_path / "model.tw")
    agree(tmp_path / "model.tw", [*([word for word, *_ in x] for x in random_rows(seed + 100)[0]), []])


def test_a_temperature_divides_the_scores(tmp_path):
    X, y = random_rows(1, 30)
    for learner in (tw.Pegasos(epochs=3), tw.MEMM(max_iter=5)):
        model = trained(learner, X, y, features=tw.Templates(TEMPLATES)).calibrate(*random_rows(2, 30))
        assert model.calibration_ is not None
        model.save(tmp_path / "model.tw")
        agree(tmp_path / "model.tw", random_rows(3)[0])


@pytest.mark.parametrize(
    "token",
    [
        lambda w, t, n: [w, t],
        lambda w, t, n: [(w, 0.3), (t, -1.0)],
        lambda w, t, n: {"word": w, "tag": t, "size": n, "bag": [w, t], "in": {"word": w, "size": 2 * n}},
        lambda w, t, n: [float(len(w)), n, 0.0, 1.0 if t == "V" else -0.1],
    ],
    ids=["names", "names and values", "dicts", "numbers"],
)
def test_attributes_in_every_form_agree(token, tmp_path):
    def tokens(seed):
        return [[token(w, t, 0.25 * len(size)) for w, t, size in x] for x in random_rows(seed)[0]]

    trained(tw.CRF(max_iter=5), tokens(5), random_rows(5)[1]).save(tmp_path / "model.tw")
    agree(tmp_path / "model.tw", tokens(6))


@pytest.mark.parametrize("path", sorted(VERSION_1.glob("*.tw")), ids=lambda path: path.stem)
def test_files_of_version_1_agree_once_they_are_saved_again(path, tmp_path):
    tw.load(path).save(tmp_path / "model.tw")
    agree(tmp_path / "model.tw", json.loads((VERSION_1 / "answers.json").read_text())[path.stem]["X"])


def test_the_command_tags_what_it_reads(tmp_path):
    X, y = random_rows(7)
    model = trained(tw.CRF(max_iter=5), X, y, features=tw.Templates(TEMPLATES))
    model.save(tmp_path / "model.tw")
    X = [[row for row in x if row[0]] for x in X[:3]]
    text = "\n\n".join("\n".join(map("\t".join, x)) for x in X) + "\n"
    command = [sys.executable, str(FOLDER / "reference_tagger.py"), str(tmp_path / "model.tw")]
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    found = [[line.split("\t")[-1] for line in block.splitlines()] for block in out.strip().split("\n\n")]
    assert found == model.predict(X)
