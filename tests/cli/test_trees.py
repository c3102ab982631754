"""Parsers at the shell: trained, parsed with, scored, looked at; CoNLL-U comes back untouched but for its trees."""

import gzip
import json

import pytest

import trelliswork as tw
from trelliswork.cli.train import train
from trelliswork.corpora import Treebank, read_treebank


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The shipped sentences, some to learn from and some held out, and a parser."""
    folder = tmp_path_factory.mktemp("trees")
    sentences = tw.corpora.sentences()
    tw.corpora.write_conllu(folder / "train.conllu", sentences[:150])
    tw.corpora.write_conllu(folder / "test.conllu", sentences[150:])
    train(str(folder / "train.conllu"), str(folder / "parser.tw"), task="dependency", hash_bits=16, quiet=True)
    return folder


@pytest.fixture(scope="module")
def parser(folder):
    return folder / "parser.tw"


@pytest.fixture(scope="module")
def crf(folder):
    """A parser whose scores are log-probabilities."""
    path = folder / "crf.tw"
    how = {"learner": "crf", "settings": ["max_iter=5"], "hash_bits": 12, "quiet": True}
    with pytest.warns(tw.ConvergenceWarning):
        train(str(folder / "train.conllu"), str(path), task="dependency", **how)
    return path


@pytest.fixture(scope="module")
def test(folder):
    return folder / "test.conllu"


def test_training_tells_what_it_learned_from(run, folder, tmp_path):
    code, out, err = run(
        "train", folder / "train.conllu", "-o", tmp_path / "p.tw", "--task", "dependency", "--hash-bits", 14,
        "--dev", folder / "test.conllu", "--set", "epochs=2", "--json",
    )  # fmt: skip
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["sequences"], facts["tokens"]) == (150, sum(len(s.words) for s in tw.corpora.sentences()[:150]))
    assert facts["learner"] == "PassiveAggressive(epochs=2)"
    assert 0.3 < facts["dev_score"] < 1.0


@pytest.mark.parametrize("verb", ["parse", "tag"])
def test_parsing_replaces_heads_and_relations_alone(run, parser, test, verb):
    code, out, err = run(verb, parser, test)
    assert code == 0, err
    treebank = read_treebank(test)
    assert out.encode() == treebank.with_trees(tw.load(parser).predict(treebank))


def test_parsing_needs_no_heads_and_keeps_what_is_no_word(run, parser):
    text = (
        "# text = don't\r\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tX=1\r\n1\tdo\t_\tAUX\t_\t_\t_\t_\t_\t_\r\n"
        "2\tn't\t_\tPART\t_\t_\tnonsense\t_\t0:x\t_\r\n2.1\tgo\t_\tVERB\t_\t_\t_\t_\t0:root\t_"
    )
    code, out, err = run("parse", parser, stdin=text.encode())
    assert code == 0, err
    kept = [line.split("\t") for line in out.split("\n")]
    given = [line.split("\t") for line in text.split("\n")]
    assert len(kept) == len(given)
    for after, before in zip(kept, given, strict=True):
        if before[0].isdigit():
            assert after[6] in "012"
            after[6:8] = before[6:8]
        assert after == before


def test_blocks_of_a_stream_come_back_one_after_the_other(run, parser, test, monkeypatch):
    whole = run("parse", parser, test).out
    monkeypatch.setattr("trelliswork.cli.trees.BLOCK", 300)
    assert run("parse", parser, test).out == whole
    assert run("parse", parser, stdin=test.read_bytes()).out == whole


def test_compressed_files_are_parsed_too(run, parser, test, tmp_path):
    (tmp_path / "test.conllu.gz").write_bytes(gzip.compress(test.read_bytes()))
    assert run("parse", parser, tmp_path / "test.conllu.gz").out == run("parse", parser, test).out


def test_k_best_trees_come_best_first(run, crf, test):
    code, out, _ = run("parse", crf, test, "--kbest", 3)
    assert code == 0
    found = list(Treebank.from_bytes(out.encode()))
    expected = tw.load(crf).predict_kbest(read_treebank(test), 3)
    assert [(s.heads, s.relations) for s in found] == [(list(t[0]), t[1]) for best in expected for t, _ in best]
    ranks = [line for line in out.splitlines() if line.startswith("# rank")]
    assert ranks[:3] == ["# rank = 1", "# rank = 2", "# rank = 3"]


def test_probabilities_of_arcs_go_to_misc(run, crf, test):
    code, out, _ = run("parse", crf, test, "--marginals")
    assert code == 0
    treebank = read_treebank(test)
    tables = tw.load(crf).predict_marginals(treebank)
    found = [word for sentence in tw.corpora.read_conllu(_file(out)) for word in sentence.words]
    given = [word for sentence in tw.corpora.read_conllu(test) for word in sentence.words]
    places = [(i, m) for i, sentence in enumerate(treebank) for m in range(1, len(sentence.rows) + 1)]
    for word, before, (i, m) in zip(found, given, places, strict=True):
        *kept, said = word.misc.split("|")
        assert "|".join(kept) or before.misc == "_"
        assert float(said.removeprefix("HeadProb=")) == pytest.approx(tables[i][word.head, m], abs=1e-4)


def _file(text):
    import io

    return io.BytesIO(text.encode())


def test_json_has_trees_and_what_else_was_asked_for(run, crf, test):
    code, out, _ = run("parse", crf, test, "--json", "--kbest", 2, "--marginals")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    treebank = read_treebank(test)
    trees = tw.load(crf).predict(treebank)
    assert [(r["heads"], r["relations"]) for r in records] == [(list(heads), names) for heads, names in trees]
    assert [r["tokens"] for r in records] == [sentence.words for sentence in treebank]
    assert all(r["kbest"][0]["heads"] == r["heads"] for r in records)
    assert all(abs(sum(heads.values()) - 1) < 1e-3 for r in records for heads in r["marginals"])


def test_evaluation_tells_attachment_scores(run, parser, test):
    code, out, _ = run("eval", parser, test, "--json")
    assert code == 0
    found = json.loads(out)
    treebank = read_treebank(test)
    expected = tw.evaluation.dependency_scores(treebank, tw.load(parser).predict(treebank)).as_dict()
    assert found == expected
    assert 0.6 < found["las"] < found["uas"]
    code, out, _ = run("eval", parser, test)
    assert out.startswith(f"UAS {100 * found['uas']:.2f}%, LAS {100 * found['las']:.2f}%")


def test_a_parsed_file_is_scored_against_gold(run, parser, test, tmp_path):
    (tmp_path / "parsed.conllu").write_text(run("parse", parser, test).out)
    code, out, _ = run("eval", "--gold", test, tmp_path / "parsed.conllu", "--json")
    assert code == 0
    assert json.loads(out) == json.loads(run("eval", parser, test, "--json").out)
    trees = tmp_path / "two.mrg"
    trees.write_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n")
    code, out, _ = run("eval", "--gold", trees, trees, "--json")
    assert (code, json.loads(out)["bracket"]["f1"]) == (0, 1.0)
    code, _, err = run("eval", "--gold", test, test, "--tagged")
    assert (code, "--gold is for trees" in err) == (2, True)


def test_parsers_are_compared(run, parser, crf, test, tmp_path):
    code, out, err = run("compare", parser, crf, "--test", test, "--samples", 100, "--json")
    assert code == 0, err
    found = json.loads(out)
    scores = [json.loads(run("eval", model, test, "--json").out)["las"] for model in (parser, crf)]
    assert [found["bootstrap"]["first"], found["bootstrap"]["second"]] == pytest.approx(scores)
    assert found["bootstrap"]["measure"] == "LAS"
    for name, model in (("one.conllu", parser), ("two.conllu", crf)):
        (tmp_path / name).write_text(run("parse", model, test).out)
    how = ["--test", test, "--samples", 100, "--json"]
    code, out, _ = run("compare", tmp_path / "one.conllu", tmp_path / "two.conllu", *how)
    assert (code, json.loads(out)) == (0, found)
    assert "McNemar" in run("compare", parser, crf, "--test", test, "--samples", 10).out
    code, _, err = run("compare", parser, crf, *how, "--measure", "f1")
    assert (code, "--measure is for labels" in err) == (2, True)


def test_constituents_are_compared(run, brackets, tmp_path):
    trees = brackets / "trees.mrg"
    code, out, err = run("compare", trees, trees, "--test", trees, "--samples", 10)
    assert code == 0, err
    assert "bracket F1: first 100.00, second 100.00" in out
    code, out, err = run("compare", brackets / "parser.tw", brackets / "parser.tw", "--test", trees, "--samples", 10)
    assert (code, "difference +0.00" in out) == (0, True), err


def test_a_model_is_shown_without_names_that_hashes_do_not_have(run, parser):
    code, out, _ = run("inspect", parser)
    assert code == 0
    assert "a dependency parser with" in out
    assert "head.upos" in out
    assert json.loads(run("inspect", parser, "--json").out)["kind"] == "dependency-parser"
    code, _, err = run("inspect", parser, "--label", "nsubj")
    assert (code, "hashed" in err) == (2, True)


def test_arcs_are_explained(run, parser, test):
    code, out, _ = run("inspect", parser, "--explain", test, "--token", "0", "--top", 2)
    assert code == 0
    assert ", score " in out
    code, out, _ = run("inspect", parser, "--explain", test, "--json")
    record = json.loads(out)[0]
    assert [arc["word"] for arc in record["parts"]] == list(range(1, len(record["tokens"]) + 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"1\tGo\t_\tVERB\t_\t_\t7\troot\t_\t_\n", "line 1: the head is 7"),
        (b"1\tGo\t_\tVERB\t_\t_\tx\troot\t_\t_\n", "line 1: the head 'x' is not a number"),
        (b"1\ta\t_\t_\t_\t_\t2\tx\t_\t_\n2\tb\t_\t_\t_\t_\t1\tx\t_\t_\n", "line 1: word 1 is in a cycle"),
        (b"1\ta\t_\t_\t_\t_\t0\tx\t_\t_\n2\tb\t_\t_\t_\t_\t0\tx\t_\t_\n", "line 2: a second word has the head 0"),
        (b"1\ta\t_\t_\t_\t_\t0\tx\t_\t_\n2\tb\t_\t_\t_\t_\t0\tx\t_\t_\n", "with --multi-root it may have more"),
        (b"1\ta\t_\t_\t_\t_\t_\tx\t_\t_\n", "are learned from with --partial"),
        (b"1\tGo\n", "line 1: expected 10 columns, found 2"),
        (b"# nothing\n", "found no sentence"),
    ],
)
def test_bad_gold_is_named_by_file_and_line(run, tmp_path, text, said):
    path = tmp_path / "bad.conllu"
    path.write_bytes(text)
    code, _, err = run("train", path, "-o", tmp_path / "p.tw", "--task", "dependency")
    assert code == 2
    assert said in err
    assert "bad.conllu" in err


def test_bad_input_of_the_parser_is_named_by_line(run, parser):
    code, _, err = run("parse", parser, stdin=b"1\tGo\t_\tVERB\n")
    assert (code, "<stdin>, line 1: expected 10 columns, found 4" in err) == (2, True)
    code, _, err = run("parse", parser, "--format", "text", stdin=b"Go home")
    assert (code, "CoNLL-U" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "labels", "--heads", "3"], "are for --task dependency"),
        (["--task", "segments", "--non-projective"], "are for --task dependency"),
        (["--task", "dependency", "--scheme", "BIO"], "--scheme does not apply to --task dependency"),
        (["--task", "dependency", "--histories", "all"], "--histories does not apply"),
        (["--task", "dependency", "--longest", "3"], "--longest is for --task segments"),
        (["--task", "dependency", "--features", "words"], "ready-made sets dependency, dependency2"),
        (["--task", "dependency", "--order", "2", "--non-projective"], "order=2 needs projective=True"),
        (["--task", "dependency", "--columns", "form"], "do not apply to CoNLL-U"),
    ],
)
def test_options_of_other_tasks_are_refused(run, folder, tmp_path, options, said):
    code, _, err = run("train", folder / "train.conllu", "-o", tmp_path / "p.tw", *options)
    assert code == 2
    assert said in err


def test_trees_known_in_part_are_learned_from_when_asked_for(run, folder, tmp_path):
    lines = [line.split("\t") for line in (folder / "train.conllu").read_text().split("\n")]
    for line in lines:
        if len(line) == 10 and line[3] == "DET":
            line[6] = "_"
    (tmp_path / "part.conllu").write_text("\n".join("\t".join(line) for line in lines))
    how = ["train", tmp_path / "part.conllu", "-o", tmp_path / "p.tw", "--hash-bits", 16]
    code, _, err = run(*how, "--task", "dependency", "--partial")
    assert code == 0, err
    assert json.loads(run("eval", tmp_path / "p.tw", folder / "test.conllu", "--json").out)["uas"] > 0.6
    code, _, err = run(*how, "--partial")
    assert (code, "--partial is for --task dependency" in err) == (2, True)


def test_options_of_the_task_are_taken(run, folder, tmp_path):
    path = tmp_path / "p.tw"
    code, _, err = run(
        "train", folder / "train.conllu", "-o", path, "--task", "dependency", "--non-projective", "--multi-root",
        "--labels", "none", "--heads", 5, "--learner", "perceptron", "--set", "epochs=1", "--hash-bits", 14,
    )  # fmt: skip
    assert code == 0, err
    found = tw.load(path)
    assert (found.projective, found.single_root, found.labels, found.heads) == (False, False, None, 5)
    code, out, _ = run("parse", path, folder / "test.conllu", "--json")
    assert code == 0
    assert "relations" not in json.loads(out.splitlines()[0])


BRACKETS = [
    "(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks) (NP (-NONE- *))))",
    "(S (NP (PRP it)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))",
    "(S (NP (NP (DT the) (NN cat)) (PP (IN on) (NP (DT the) (NN mat)))) (VP (VBZ sleeps)) (. .))",
]


@pytest.fixture(scope="module")
def brackets(tmp_path_factory):
    """A file of bracketed trees, and a parser that learned from it."""
    folder = tmp_path_factory.mktemp("brackets")
    (folder / "trees.mrg").write_text("\n".join(f"( {tree} )" for tree in BRACKETS) + "\n")
    train(str(folder / "trees.mrg"), str(folder / "parser.tw"), task="constituency", learner="crf", quiet=True)
    return folder


def test_constituents_are_parsed_from_trees_and_from_columns(run, brackets):
    trees = list(tw.corpora.read_brackets(brackets / "trees.mrg", empties=False, functions=False, indices=False))
    expected = "".join(f"( {tree})\n" for tree in tw.load(brackets / "parser.tw").predict(trees))
    code, out, err = run("parse", brackets / "parser.tw", brackets / "trees.mrg")
    assert (code, out) == (0, expected), err
    columns = "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in tree.tagged()) for tree in trees)
    assert run("parse", brackets / "parser.tw", stdin=columns.encode()).out == expected


def test_constituents_have_k_best_trees_and_probabilities(run, brackets):
    code, out, _ = run("parse", brackets / "parser.tw", brackets / "trees.mrg", "--kbest", 2)
    assert code == 0
    assert [line[:3] for line in out.splitlines()[::2]] == ["# 1", "# 2"] * 3
    code, out, _ = run("parse", brackets / "parser.tw", brackets / "trees.mrg", "--json", "--marginals", "--kbest", 2)
    record = json.loads(out.splitlines()[0])
    assert record["kbest"][0]["tree"] == record["tree"]
    assert {(i, j, label) for i, j, label in record["spans"]} <= {
        (i, j, label) for i, j, label, _ in record["marginals"]
    }
    code, _, err = run("parse", brackets / "parser.tw", brackets / "trees.mrg", "--marginals")
    assert (code, "need --json" in err) == (2, True)


def test_constituents_are_scored_and_explained(run, brackets):
    code, out, _ = run("eval", brackets / "parser.tw", brackets / "trees.mrg", "--json")
    assert code == 0
    found = json.loads(out)["bracket"]
    assert {"precision", "recall", "f1"} <= set(found)
    assert found["f1"] > 0.9
    assert "complete" in run("eval", brackets / "parser.tw", brackets / "trees.mrg").out
    code, out, _ = run("inspect", brackets / "parser.tw", "--sentence", "the/DT dog/NN barks/VBZ", "--token", "dog")
    assert code == 0
    assert out.startswith("the dog barks: S, score ")
    assert "=VBZ" in run("inspect", brackets / "parser.tw").out  # attributes have names


def test_brackets_that_do_not_match_are_named_by_line(run, tmp_path):
    (tmp_path / "bad.mrg").write_text("(S (NN rain))\n(S (NN rain)\n")
    code, _, err = run("train", tmp_path / "bad.mrg", "-o", tmp_path / "p.tw", "--task", "constituency")
    assert (code, "bad.mrg" in err, "line 2" in err) == (2, True, True)
    (tmp_path / "good.mrg").write_text("(S (NN rain))\n")
    code, _, err = run(
        "train", tmp_path / "good.mrg", "-o", tmp_path / "p.tw", "--task", "constituency", "--order", "2"
    )
    assert (code, "--order does not apply to --task constituency" in err) == (2, True)


def test_tags_of_bracketed_trees_are_labels(run, tmp_path):
    trees = tmp_path / "some.mrg"
    trees.write_text("( (S (NP (DT the) (NN dog)) (VP (VBZ barks) (NP (-NONE- *))))) " * 5)
    code, out, err = run("train", trees, "-o", tmp_path / "tagger.tw")
    assert code == 0, err
    assert "5 sequences (15 tokens), 3 labels" in out
