"""The experiments' own parts: what was published, the learners of its tables, the features, the printed table."""

import sys
from pathlib import Path

import pytest

import trelliswork as tw

FOLDER = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture(autouse=True)
def experiments_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in [name for name in sys.modules if name == "common" or name.startswith("common.")]:
        del sys.modules[name]


# The last column of Table 3.2.
STATISTICS = {"Perceptron": 37.230, "PA": 29.326, "RPA": 26.512, "MIRA": 1.559, "SDM": 1.086}


@pytest.mark.parametrize("method", STATISTICS)
def test_counts_of_table_3_2_have_its_statistic(method):
    from common.published import TABLE_3_2

    total = sum(tw.evaluation.McNemar(*counts) for counts in TABLE_3_2[method].values())
    assert round(total.statistic, 3) == STATISTICS[method]


def test_f_measures_of_table_4_2_follow_from_its_precision_and_recall():
    from common.published import TABLE_4_2

    for precision, recall, f in TABLE_4_2.values():
        assert 2 * precision * recall / (precision + recall) == pytest.approx(f, abs=0.011)


def test_tables_that_share_rows_agree():
    from common.published import TABLE_3_1, TABLE_5_1, TABLE_6_1

    assert TABLE_3_1["chunking"]["PA"][0].f == TABLE_6_1["chunking"]["PA"].score
    for task in ("chunking", "POS tagging"):
        for name in ("SDM", "Peg", "Peg-WP"):
            row, same = TABLE_5_1[task][name, "hinge"], TABLE_6_1[task][name]
            assert (row.regularisation, row.epochs, row.score) == (same.regularisation, same.epochs, same.score)


def test_every_row_of_table_6_1_has_a_learner():
    from common.methods import method
    from common.published import TABLE_6_1

    X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    for name, row in TABLE_6_1["chunking"].items():
        learner = method(name, row.regularisation, 2, row.k)
        assert tw.SequenceLabeler(learner).fit(X, y).predict(X) == y, name


def test_ramp_rows_have_rounds_of_T_passes():
    from common.methods import loss_method

    sdm, pegasos = loss_method("SDM", "ramp", 0.1, 4, 10), loss_method("Peg-WP", "ramp", 1e-3, 7, 5)
    assert (sdm.loss, sdm.inner, sdm.epochs) == ("ramp", 10, 40)
    assert (pegasos.loss, pegasos.cccp, pegasos.epochs, pegasos.projection) == ("ramp", 5, 35, False)


@pytest.mark.parametrize("averaged", [True, False])
def test_pegasos_can_be_left_without_an_average(averaged):
    from common.methods import pegasos

    learner = pegasos("Peg", 1e-3, 2, averaged=averaged)
    learner.check()
    assert learner.averaged == averaged


def test_features_are_unigrams_of_the_token_and_bigrams_with_the_one_before():
    from common.features import with_tags

    names = with_tags().names
    local = ["word", "pos", "case(word", "suffix(word"]
    bigrams = [name for name in names if "|" in name]
    assert len(bigrams) == 25
    assert all(name.startswith("pair: ") and "[0]" in name and "[-1]" in name for name in bigrams)
    assert all(any(part in name for name in bigrams) for part in local)
    assert not any("[1]" in name for name in names)


@pytest.mark.parametrize(
    ("tag", "simple"), [("nn-tl", "nn"), ("fw-in+at-tl", "in"), ("do*", "do"), ("*", "*"), ("pps+bez-hl", "pps")]
)
def test_tags_of_brown_lose_their_marks(tag, simple):
    from common.tasks import simple_tag

    assert simple_tag(tag) == simple


def test_report_writes_what_it_prints(tmp_path, monkeypatch, capsys):
    from common.output import Report

    monkeypatch.setattr(sys, "argv", ["table.py", "--quick", "--pos-epochs", "3", "--out", str(tmp_path)])
    report = Report("table.py", "A table.\n")
    rows = [{"method": "PA", "F": 96.0934, "C": None}, {"method": "SDM", "F": 0.001, "C": 1}]
    report.table("Title", rows)
    report.csv(rows)
    with report.picture() as axes:
        axes.plot([0, 1], [0, 1])
    report.done()
    print("more")
    printed = capsys.readouterr().out
    assert "PA      96.093  -" in printed
    assert (tmp_path / "table.txt").read_text() + "more\n" == printed
    assert "# python experiments/table.py --quick --pos-epochs 3" in printed
    assert (tmp_path / "table.csv").read_text() == "method,F,C\nPA,96.0934,\nSDM,0.001,1\n"
    assert (tmp_path / "table.png").stat().st_size > 1000
    assert [report.epochs(task, 100, 10) for task in ("chunking", "POS tagging")] == [10, 3]


def test_readme_takes_what_was_printed_and_keeps_the_rest(tmp_path, monkeypatch):
    import readme

    kept = "```\n# table_3_2: kept\n```\n"
    (tmp_path / "README.md").write_text(
        f"Text.\n\n{readme.FULL}\nSome.\n\n```\n# table_3_1: old\n```\n\n{kept}\n{readme.QUICK}\nMore.\n"
    )
    (tmp_path / "quick").mkdir()
    (tmp_path / "table_3_1.txt").write_text("# table_3_1: new\n5 6\nwrote table_3_1.csv\n")
    (tmp_path / "quick" / "table_3_1.txt").write_text("# table_3_1 --quick: part\n")
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "RESULTS", tmp_path)
    expected = (
        f"Text.\n\n{readme.FULL}\nSome.\n\n```\n# table_3_1: new\n5 6\n```\n\n{kept}\n"
        f"{readme.QUICK}\nMore.\n\n```\n# table_3_1 --quick: part\n```\n"
    )
    for _ in range(2):
        readme.main()
        assert (tmp_path / "README.md").read_text() == expected


def test_every_experiment_is_a_script_with_a_title():
    from common.names import EXPERIMENTS

    for name in EXPERIMENTS:
        assert (FOLDER / f"{name}.py").read_text().startswith('"""'), name
