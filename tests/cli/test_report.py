"""``trelliswork inspect --html``: the report of a model."""

import pytest

import trelliswork as tw


@pytest.fixture(scope="module")
def corpus():
    return tw.corpora.ingredients()


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "m.tw"
    tw.SequenceLabeler(constraints="BIO").fit(corpus.X_train[:200], corpus.y_train[:200]).save(path)
    return path


@pytest.fixture(scope="module")
def gold(corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "gold.tsv"
    rows = zip(corpus.X_test[:50], corpus.y_test[:50], strict=True)
    path.write_text("\n".join("".join(f"{w}\t{k}\n" for w, k in zip(x, y, strict=True)) for x, y in rows))
    return path


def test_a_report_has_everything(model, gold, run, tmp_path):
    target = tmp_path / "report.html"
    assert run("inspect", model, "--html", target, "--gold", gold).code == 0
    text = target.read_text()
    for part in ("Transitions", "Strongest attributes", "Learning", "Calibration", "Templates", "B-NAME", "&times;"):
        assert part in text
    assert text.count("<svg") == 2
    assert "<h1>m.tw</h1>" in text
    assert str(model.parent) not in text  # it may be shown to people who have no business with folders
    assert "CRF(" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_report_without_gold_has_no_calibration(model, run, tmp_path):
    assert run("inspect", model, "--html", tmp_path / "r.html").code == 0
    assert "Calibration" not in (tmp_path / "r.html").read_text()


def test_parsers_have_a_report_too(run, tmp_path):
    treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences()[:20])
    tw.DependencyParser(hash_bits=12).fit(treebank).save(tmp_path / "p.tw")
    assert run("inspect", tmp_path / "p.tw", "--html", tmp_path / "r.html").code == 0
    assert "nsubj" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("more", [["--json"], ["--sentence", "a"], ["--token", "a"]])
def test_what_a_report_is_not(model, run, tmp_path, more):
    assert run("inspect", model, "--html", tmp_path / "r.html", *more).code == 2
    assert not (tmp_path / "r.html").exists()


def test_gold_without_a_report_is_refused(model, gold, run):
    assert run("inspect", model, "--gold", gold).code == 2


def test_a_folder_that_is_not_there(model, run, tmp_path):
    assert run("inspect", model, "--html", tmp_path / "none" / "r.html").code == 2
