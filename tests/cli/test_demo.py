"""The demonstration: what it prints and draws."""

import pytest

from trelliswork.cli import demo


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr("builtins.print", lambda *parts: lines.append(" ".join(map(str, parts))))
        code = demo.main([str(folder)])
    return code, lines, folder


def test_it_ends_well(shown):
    assert shown[0] == 0


def percentage(lines, model, after):
    text = next(line for line in lines if line.startswith(model) and after in line)
    return float(text.split(after)[1].split("%")[0].strip(" :"))


def test_the_crf_is_better_than_the_hmm(shown):
    lines = shown[1]
    assert percentage(lines, "CRF", "span F1") > percentage(lines, "HMM", "span F1") + 2
    assert percentage(lines, "CRF", "token accuracy") > percentage(lines, "HMM", "token accuracy")


def test_both_are_better_than_remembering_words(shown):
    lines = shown[1]
    assert percentage(lines, "HMM", "token accuracy") > percentage(lines, "(", "by word alone") + 10


def test_every_fresh_word_is_tagged(shown):
    tagged = [line.split() for line in shown[1] if line.startswith("    ")]
    assert [word for word, _ in tagged] == [word for line in demo.FRESH_LINES for word in line.split()]


def test_the_trellis_is_a_picture(shown):
    assert (shown[2] / "trellis.png").read_bytes().startswith(b"\x89PNG")


def test_the_parser_is_right_more_often_than_not(shown):
    assert percentage(shown[1], "Parser", "UAS") > 60
    assert percentage(shown[1], "Parser", "LAS") > 50


def test_the_tree_is_a_picture(shown):
    assert (shown[2] / "tree.svg").read_text().startswith("<svg")
