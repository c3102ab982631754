"""Pictures of trees: what is drawn is what was given, in SVG and on axes alike."""

import io
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trelliswork as tw
from trelliswork.errors import InvalidInput
from trelliswork.plots import arcs, arcs_svg, tree, tree_svg
from trelliswork.plots.trees import _Arc, _ends, _levels

WORDS, HEADS, RELATIONS = ["The", "dog", "barks", "."], [2, 3, 0, 3], ["det", "nsubj", "root", "punct"]
SPANS = [(0, 4, "S"), (0, 2, "NP"), (2, 3, "VP")]
SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg):
    return ElementTree.fromstring(svg)


def texts(svg):
    """The texts of an SVG that are seen, in the order they are drawn."""
    return [text.text for text in parsed(svg).iter(f"{SVG}text") if text.get("aria-hidden") is None]


def strokes(svg, dashes=None):
    paths = list(parsed(svg).iter(f"{SVG}path"))
    return [p.get("stroke") for p in paths if dashes is None or (p.get("stroke-dasharray") is not None) == dashes]


def test_words_relations_and_tags_are_written():
    assert sorted(texts(arcs_svg(WORDS, HEADS, RELATIONS, tags=["D", "N", "V", "P"]))) == sorted(
        [*WORDS, *RELATIONS, "D", "N", "V", "P"]
    )
    assert texts(arcs_svg(WORDS, HEADS)) == WORDS


def test_both_forms_have_the_same_texts_and_arcs():
    axes = arcs(WORDS, HEADS, RELATIONS, title="a title")
    svg = arcs_svg(WORDS, HEADS, RELATIONS, title="a title")
    assert [text.get_text() for text in axes.texts] == texts(svg)
    n_shapes = len(strokes(svg)) + len(list(parsed(svg).iter(f"{SVG}polygon")))
    assert len(axes.patches) == n_shapes == 8
    assert len(arcs(WORDS, HEADS, directed=False).patches) == 3


def test_marks_of_xml_and_of_formulas_are_words_like_others():
    odd = ["<a>&", '"$5$"', "x\ny", "\x00\ud800\uffff"]
    svg = arcs_svg(odd, HEADS, ["<r>"] * 4)
    assert texts(svg)[:4] == ["<a>&", '"$5$"', "x y", "\ufffd\ufffd\ufffd"]
    assert arcs(odd[:3], [2, 0, 2]).texts[1].get_text() == '"$5$"'
    arcs(odd[:3], [2, 0, 2]).figure.savefig(io.BytesIO())  # raises at what is taken for a formula


def test_what_differs_from_gold_is_told_by_colour_width_and_dashes():
    svg = arcs_svg(WORDS, [2, 3, 0, 2], RELATIONS, gold=(HEADS, ["det", "obj", "root", "punct"]))
    drawn = list(parsed(svg).iter(f"{SVG}path"))
    assert [float(path.get("stroke-width")) > 2 for path in drawn[:4]] == [False, True, False, True]
    assert [path.get("stroke-dasharray") is not None for path in drawn[4:]] == [False, True, False, True]
    assert len(set(strokes(svg))) == 4  # right, wrong, gold, gold missed
    agreeing = arcs_svg(WORDS, HEADS, RELATIONS, gold=HEADS)
    assert len(set(strokes(agreeing))) == 2


def test_probable_arcs_are_darker_and_alternatives_hang_below():
    marginals = np.zeros((5, 5))
    marginals[[2, 3, 0, 3], [1, 2, 3, 4]] = [1.0, 0.9, 0.8, 0.3]
    marginals[2, 4], marginals[1, 4] = 0.66, 0.04
    svg = arcs_svg(WORDS, HEADS, probabilities=marginals)
    shades = [int(colour[1:3], 16) for colour in strokes(svg, dashes=False)]
    assert shades == sorted(shades)
    assert len(set(shades)) == 4
    assert len(strokes(svg, dashes=True)) == 1
    assert texts(svg)[-1] == "0.66"


@st.composite
def trees(draw):
    n = draw(st.integers(1, 9))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = draw(st.sampled_from(order[:place]))
    return heads


@given(trees())
def test_no_arc_lies_on_another(heads):
    drawn = [_Arc(head - 1, m, "", "", 1.0, False) for m, head in enumerate(heads)]
    levels, ends = _levels(drawn), _ends([100.0 * i for i in range(len(heads))], drawn)
    for (a, i), (b, j) in combinations(zip(drawn, levels, strict=True), 2):
        if a.head >= 0 and b.head >= 0 and a.span[0] < b.span[1] and b.span[0] < a.span[1]:
            assert i != j  # their horizontal parts would overlap
    met = [x for arc, pair in zip(drawn, ends, strict=True) for x in (pair if arc.head >= 0 else pair[1:])]
    assert len(set(met)) == len(met)  # nor do vertical ones


@given(trees())
def test_projective_arcs_do_not_cross(heads):
    drawn = [_Arc(head - 1, m, "", "", 1.0, False) for m, head in enumerate(heads)]
    spans = [arc.span for arc in drawn]
    if any(a < c < b < d for (a, b) in spans for (c, d) in spans):
        return
    levels, ends = _levels(drawn), _ends([100.0 * i for i in range(len(heads))], drawn)
    for (a, level, across), (b, other, down) in combinations(zip(drawn, levels, ends, strict=True), 2):
        for arc, y, xs, high, verticals in ((a, level, across, other, down), (b, other, down, level, across)):
            if arc.head >= 0 and min(a.head, b.head) >= 0 and high > y:
                assert not any(min(xs) < x < max(xs) for x in verticals)


def test_long_sentences_get_longer_pictures():
    n = 200
    svg = arcs_svg(["word"] * n, [*range(2, n + 1), 0])
    assert float(parsed(svg).get("width")) > 40 * n
    assert arcs(["word"] * n, [*range(2, n + 1), 0]).figure.get_figwidth() == 40.0


def test_no_words_and_one_word_are_drawn():
    assert texts(arcs_svg([], [])) == []
    assert texts(arcs_svg(["Go"], [0], ["root"])) == ["Go", "root"]
    assert texts(tree_svg(["Go"], [(0, 1, "S"), (0, 1, "VP")])) == ["Go", "S", "VP"]


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ({"heads": [2, 3, 0]}, "heads has 3 heads for 4 words"),
        ({"heads": [2, 3, 0, 5]}, r"5 \(int\) for word 4"),
        ({"heads": [1, 3, 0, 3]}, "for word 1; expected the number of another"),
        ({"heads": [2, 3, 0, 1.5]}, "1.5"),
        ({"relations": ["a"]}, "relations has 1 texts for 4 words"),
        ({"tags": "DNVP"}, "tags is 'DNVP'"),
        ({"words": "abcd"}, "words is 'abcd'"),
        ({"probabilities": np.zeros((4, 4))}, r"the shape \(5, 5\)"),
        ({"probabilities": np.zeros((5, 5)), "gold": HEADS}, "Give one of them"),
        ({"gold": [0, 1]}, "gold has 2 heads for 4 words"),
    ],
)
def test_arcs_that_do_not_fit_are_refused(how, found):
    with pytest.raises(InvalidInput, match=found):
        arcs_svg(**{"words": WORDS, "heads": HEADS, **how})


def test_constituents_are_written_above_their_words():
    svg = tree_svg(WORDS, SPANS, tags=["D", "N", "V", "P"])
    assert sorted(texts(svg)) == sorted([*WORDS, "D", "N", "V", "P", "S", "NP", "VP"])
    assert len(strokes(svg)) == 6  # one line to each child
    height = {text.text: float(text.get("y")) for text in parsed(svg).iter(f"{SVG}text")}
    assert height["S"] < height["NP"] == height["VP"] < height["The"]
    assert [text.get_text() for text in tree(WORDS, SPANS, tags=["D", "N", "V", "P"]).texts] == texts(svg)


def test_constituents_that_are_not_gold_are_told_and_missing_ones_said():
    svg = tree_svg(WORDS, SPANS, gold=[(0, 4, "S"), (0, 3, "NP"), (0, 2, "NP")])
    fill = {text.text: text.get("fill") for text in parsed(svg).iter(f"{SVG}text") if not text.get("aria-hidden")}
    assert fill["VP"] != fill["NP"] == fill["S"]
    assert "missing: NP over The dog barks" in fill


def test_spans_come_in_any_order_and_equal_ones_are_nested_as_given():
    shuffled = [SPANS[2], SPANS[0], SPANS[1]]
    assert texts(tree_svg(WORDS, shuffled)) == texts(tree_svg(WORDS, SPANS))
    svg = tree_svg(["x"], [(0, 1, "A"), (0, 1, "B")])
    height = {text.text: float(text.get("y")) for text in parsed(svg).iter(f"{SVG}text")}
    assert height["A"] < height["B"]


@pytest.mark.parametrize(
    ("spans", "how", "found"),
    [
        ([(0, 3, "A"), (1, 4, "B")], {}, r"\(0, 3\) and \(1, 4\) cross"),
        ([(0, 5, "A")], {}, "words 0 to 4, but there are 4"),
        ([(2, 2, "A")], {}, "words 2 to 1"),
        ([(0, 4)], {}, "expected .start, stop, label."),
        (SPANS, {"probabilities": [1.0]}, "probabilities must be 3 numbers"),
    ],
)
def test_constituents_that_do_not_fit_are_refused(spans, how, found):
    with pytest.raises(InvalidInput, match=found):
        tree_svg(WORDS, spans, **how)


def test_sentences_of_a_treebank_draw_themselves():
    sentence = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())[0]
    assert texts(sentence._repr_svg_()) == texts(sentence.svg())
    assert {*sentence.words, *sentence.relations, "DET"} <= set(texts(sentence.svg()))
    assert [text.get_text() for text in sentence.plot().texts] == texts(sentence.svg())
    unknown = sentence._replace(heads=[None, *sentence.heads[1:]])
    assert unknown._repr_svg_() is None
    with pytest.raises(InvalidInput, match="not all heads"):
        unknown.plot()


def test_constituents_of_a_file_draw_themselves():
    found = tw.corpora.Constituent.from_text("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    assert sorted(texts(found._repr_svg_())) == sorted(["the", "dog", "barks", "DT", "NN", "VBZ", "S", "NP", "VP"])
    assert [text.get_text() for text in found.plot().texts] == texts(found.svg())


def test_parsers_draw_the_trees_they_predict():
    treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences()[:60])
    parser = tw.DependencyParser(tw.CRF(max_iter=60), hash_bits=12).fit(treebank)
    sentence, (_, relations) = treebank[7], parser.predict(treebank)[7]
    svg = parser.svg(sentence, marginals=True)
    assert set(sentence.words + relations) <= set(texts(svg))
    assert [text.get_text() for text in parser.plot(sentence, marginals=True).texts] == texts(svg)
    assert len(strokes(parser.svg(sentence.rows, gold=sentence))) == 2 * len(sentence.words)


def test_structures_draw_their_best_answer():
    scores = np.zeros((4, 4))
    scores[0, 2] = scores[2, 1] = scores[2, 3] = 5.0
    axes = tw.DependencyTree(scores).plot(["a", "b", "c"], marginals=True)
    assert {"a", "b", "c"} <= {text.get_text() for text in axes.texts}
    labels = np.zeros((4, 4, 2))
    labels[2, 1, 1] = 1.0
    assert "right" in {text.get_text() for text in tw.DependencyTree(scores, labels).plot(labels=["x", "right"]).texts}
    spans = np.full((3, 4, 2), -1.0)
    spans[0, 3, 1] = spans[0, 2, 0] = 2.0
    axes = tw.Bracketing(spans).plot(["a", "b", "c"], ["NP", "S"], marginals=True)
    assert [text.get_text() for text in axes.texts] == ["a", "b", "c", "S", "NP"]
    assert [text.get_text() for text in tw.Bracketing(spans).plot().texts] == ["0", "1", "2", "1", "0"]


def test_edges_of_a_spanning_tree_are_drawn_once_and_without_arrows():
    scores = np.array([[0.0, 1.0, 5.0, 0.0], [1.0, 0.0, 4.0, 0.0], [5.0, 4.0, 0.0, 3.0], [0.0, 0.0, 3.0, 0.0]])
    graph = tw.SpanningTree(scores)
    assert len(graph.plot().patches) == 3
    likely = graph.marginals()
    others = [(0, 1), (0, 3), (1, 3)]  # the tree has 0-2, 1-2 and 2-3
    axes = graph.plot(["a", "b", "c", "d"], marginals=True)
    assert len(axes.patches) == 3 + sum(likely[edge] >= 0.05 for edge in others)
    told = [text.get_text() for text in axes.texts][4:]
    assert sorted(told) == sorted(f"{likely[edge]:.2f}" for edge in others if likely[edge] >= 0.05)
    assert len(tw.SpanningTree([[0.0]]).plot().patches) == 0


def test_svg_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from trelliswork.plots import arcs_svg, tree_svg\n"
        "arcs_svg(['a', 'b'], [2, 0]); tree_svg(['a', 'b'], [(0, 2, 'S')])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
