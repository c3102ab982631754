"""Attributes of arcs: the core against an evaluation in Python that looks at every arc by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork import _core
from trelliswork.corpora import TokenTable
from trelliswork.errors import InvalidInput
from trelliswork.features import presets
from trelliswork.features.arc_columns import arc_templates, column_names, first_pass_templates, sentence_columns
from trelliswork.features.templates import Templates

LINES = """
columns: form pos
bias & direction
head.form
with: direction, direction & distance
mod.pos
head.form & mod.form[-1]
mod.form & head.pos[1] & head.pos[-2]
head.pos & between(pos) & mod.pos
between(form)
with: distance(2,4), direction
head.pos & mod.pos & count(between(pos), "V")
count(between(lower(form)), "b", 1) & between(pos)
lower(head.form) & suffix(mod.form, 1)
with:
head.form & distance & direction
label: mod.form
label: head.pos & direction
label: head.pos & mod.pos & distance(1,3)
label: between(pos)
sibling: head.pos & sibling.pos & mod.pos & direction
sibling: sibling.form & sibling.form[1]
sibling: sibling.form & distance
grandparent: grand.form & head.pos & mod.pos & direction
grandparent: grand.pos[-1] & between(form)
"""
CHANNELS = {"arc": "arc", "label": "arc label", "sibling": "sibling", "grandparent": "grandparent"}
rows = st.tuples(st.sampled_from(["a", "B", "b", "cc"]), st.sampled_from(["N", "V", "D"]))
sentences = st.lists(rows, min_size=1, max_size=7)


def cell(sentence, at, column):
    """A column of the root, of a word, or of what is no word."""
    return None if not 0 <= at <= len(sentence) else "ROOT" if at == 0 else sentence[at - 1][column]


def through(text, steps):
    for op, n, _ in steps:
        text = {"lower": str.lower, "suffix": lambda t: t[-n:]}[op](text)  # noqa: B023
    return text


def binned(bins, distance):
    if distance >= bins[-1]:
        return f"{bins[-1]}+"
    low = max((b for b in bins if b <= distance), default=1)
    high = min(b for b in bins if b > distance) - 1
    return str(low) if low == high else f"{low}..{high}"


def values_of(part, sentence, head, modifier, third, kind):
    """What a part says: a list of values, empty for nothing; and which group of the key it belongs to."""
    low, high = sorted((head, modifier))
    if part.mode == "direction":
        side = "right" if modifier > head else "left"
        return [f"{'right' if head > third else 'left'} {side}" if kind == "grandparent" else side], "tail"
    if part.mode == "distance":
        return [binned([n for _, n, _ in part.view.steps], high - low)], "tail"
    between = range(modifier - 1, head, -1) if head < modifier else range(modifier + 1, head)
    seen = [through(sentence[w - 1][part.view.column], part.view.steps) for w in between]
    if part.mode == "between":
        return list(dict.fromkeys(seen)), "between"
    if part.mode == "count":
        return [str(min(seen.count(part.value), part.offset))], "count"
    word = {"head": head, "mod": modifier}.get(part.mode, third)
    if word is None:
        text = "NONE" if part.offset == 0 else None
    else:
        text = cell(sentence, word + part.offset, part.view.column)
    return [] if text is None else [through(text, part.view.steps)], part.mode


def chained(keys):
    total = keys[0]
    for key in keys[1:]:
        total = _core.combine_keys(total, key)
    return total


def evaluated(templates, sentence, head, modifier, third, kind):
    found = []
    for template in templates._templates:
        if CHANNELS[kind] not in template.meets:
            continue
        values = [values_of(part, sentence, head, modifier, third, kind) for part in template.parts]
        if any(not own for own, _ in values):
            continue
        many = next((own for own, group in values if group == "between"), [None])
        for value in many:
            texts = [value if group == "between" else own[0] for own, group in values]
            groups = {}
            for text, (_, group) in zip(texts, values, strict=True):
                groups.setdefault(group, []).append(_core.value_key(text))
            core = [chained(groups[name]) for name in ("head", "mod", "sibling", "grand", "between") if name in groups]
            core += groups.get("count", [])
            tail = chained([_core.hash_bytes(template.text.encode()), *groups.get("tail", [])])
            key = _core.combine_keys(chained(core) if core else 1, tail)
            found.append((template.text + ("=" if texts else "") + "|".join(texts), key))
    return sorted(found)


@given(sentences, st.data())
def test_names_and_keys_are_those_of_plain_python(sentence, data):
    templates = Templates(LINES)
    seen = _core.ArcSentences(TokenTable.from_lists([sentence]).columns, templates.arc_extractor())
    n = len(sentence)
    modifier = data.draw(st.integers(1, n))
    head = data.draw(st.integers(0, n).filter(lambda h: h != modifier))
    for kind in CHANNELS:
        third = data.draw(st.none() | st.integers(0, n)) if kind == "sibling" else data.draw(st.integers(0, n))
        channels = ["label", "label.head", "label.modifier"] if kind == "label" else [kind]
        given = third if kind in ("sibling", "grandparent") else None
        names = [name for c in channels for name in seen.attribute_names(0, head, modifier, given, c)]
        keys = [int(key) for c in channels for key in seen.attribute_keys(0, head, modifier, given, c)]
        assert sorted(zip(names, keys, strict=True)) == evaluated(templates, sentence, head, modifier, given, kind)


@given(st.lists(sentences, min_size=1, max_size=3))
def test_units_are_the_last_bits_of_keys_at_every_site(corpus):
    templates = Templates(LINES)
    seen = _core.ArcSentences(TokenTable.from_lists(corpus).columns, templates.arc_extractor())
    shapes = seen.shapes()
    for i, sentence in enumerate(corpus):
        n = len(sentence)
        arcs = [(h, m, None) for h in range(n + 1) for m in range(n + 1)]
        siblings = [(h, m, None if s < 0 else s) for h, s, m in _core.sibling_sites(shapes[i]).tolist()]
        grand = [(h, m, g) for g, h, m in _core.grandparent_sites(shapes[i]).tolist()]
        for channel, sites in (("arc", arcs), ("label", arcs), ("sibling", siblings), ("grandparent", grand)):
            starts, units = seen.units(shapes, i, channel, 12)
            assert len(starts) == len(sites) + 1
            for site, (h, m, third) in enumerate(sites):
                own = units[starts[site] : starts[site + 1]].tolist()
                if m == 0 or h == m:
                    assert own == []
                else:
                    assert own == [int(k) & 4095 for k in seen.attribute_keys(i, h, m, third, channel)]
        for channel, side in (("label.head", 0), ("label.modifier", 1)):
            starts, units = seen.units(shapes, i, channel, 12)
            assert len(starts) == 2 * (n + 1) + 1
            for h, m, _ in arcs:
                if m and h != m:
                    site = 2 * (h, m)[side] + (m > h)
                    own = units[starts[site] : starts[site + 1]].tolist()
                    assert own == [int(k) & 4095 for k in seen.attribute_keys(i, h, m, None, channel)]


def test_the_lines_of_the_documentation_are_read():
    templates = Templates(
        """
        columns: form lemma upos xpos feats
        with: direction, direction & distance     # each line below, once with each of these
        head.xpos & mod.xpos                      # an arc unless the line says otherwise
        head.xpos & head.xpos[1] & mod.xpos[-1] & mod.xpos
        head.xpos & between(xpos) & mod.xpos      # one attribute for each different tag between
        sibling: head.xpos & sibling.xpos & mod.xpos
        grandparent: grand.xpos & head.xpos & mod.xpos
        label: head.xpos & mod.form               # meets the arc's label
        """
    )
    assert templates.names[:2] == ["head.xpos|mod.xpos|direction", "head.xpos|mod.xpos|direction|distance"]
    assert len(templates) == 12
    assert templates.meets == ("arc", "arc label", "sibling", "grandparent")
    assert Templates.from_dict(templates.to_dict()) == templates


def test_lines_about_tokens_stay_what_they_were():
    templates = Templates("columns: head distance direction\nhead\ndistance\nlabel: direction & head[1]")
    assert templates.meets == ("label",)
    assert templates.attributes([[("a", "b", "c"), ("d", "e", "f")]])[0][0][-1] == "direction[0]|head[1]=c|d"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("head.form & form", "which token of the arc is 'form' of? Write head.form, mod.form"),
        ("head.form & sibling.form", "there is no anchor 'sibling' in a line about an arc"),
        ("sibling: head.form & grand.form", "there is no anchor 'grand' in a line about a sibling"),
        ("head.form & begin", "begin is of tokens and spans, not of arcs"),
        ("number(head.form)", "number is of tokens and spans, not of arcs"),
        ("between(head.form) & mod.form", "'head.' is not expected: between has no anchors"),
        ("between(form[1]) & mod.form", "between takes no offset"),
        ("between(form) & between(pos)", "between stands in it twice"),
        ('mod.form & count(form, "V")', "count is of words between"),
        ("mod.form & count(between(form), 3)", "count needs the value that is counted in quotes"),
        ("mod.form & distance(3,2)", "the numbers of distance must rise"),
        ("mod.form & distance(0)", "expected a number from 1 to 1000, found 0"),
        ("with: head.form", "expected direction or distance, found 'head'"),
        ("with: direction,", "the line ends too early"),
        ("mod.nose", "there is no column 'nose'"),
    ],
)
def test_mistakes_are_named(line, message):
    with pytest.raises(InvalidInput) as error:
        Templates(f"columns: form pos\nhead.pos & mod.pos\n{line}")
    assert message in str(error.value)
    assert "line 3" in str(error.value)


def test_other_estimators_say_who_has_arcs():
    with pytest.raises(InvalidInput, match="is about arcs, which an HMM does not have"):
        Templates("head.word & mod.word").require(["label"], "an HMM")


def test_templates_can_be_had_without_labels():
    whole = Templates.dependency2()
    fewer = whole.without("arc label")
    assert fewer.meets == ("arc", "sibling", "grandparent")
    assert fewer.names == [name for name in whole.names if not name.startswith("label:")]


@pytest.mark.parametrize("names", [("form",), ("form", "pos"), ("form", "upos", "xpos"), ("word", "xpos", "feats")])
@pytest.mark.parametrize("order", [1, 2])
def test_ready_sets_fit_the_columns_there_are(names, order):
    templates = arc_templates(names, order)
    assert templates.columns == names
    assert templates.n_columns <= len(names)
    assert ("sibling" in templates.meets) == (order == 2)
    assert len(set(templates.names)) == len(templates.names)
    assert first_pass_templates(names).meets == ("arc",)
    row = tuple("x" for _ in names)
    assert templates.arc_attributes([row, row], 2, 1)


def test_ready_sets_for_all_columns_are_those_of_templates():
    assert arc_templates(("form", "lemma", "upos", "xpos", "feats"), 1) == Templates.dependency()
    assert arc_templates(("form", "lemma", "upos", "xpos", "feats"), 2) == Templates.dependency2()
    assert Templates.preset("dependency") == Templates.dependency()
    assert set(presets.ABOUT_ARCS) == {"dependency", "dependency2"}


def test_sentences_come_in_many_forms():
    rows = [("It", "it", "PRON", "PRP", "_"), ("rains", "rain", "VERB", "VBZ", "_")]
    names = ("form", "lemma", "upos", "xpos", "feats")
    dicts = [dict(zip(names, row, strict=True)) for row in rows]
    assert sentence_columns([dicts]).sequence(0) == rows
    assert sentence_columns([dicts], ["upos", "form"]).sequence(0) == [("PRON", "It"), ("VERB", "rains")]
    assert column_names([dicts], sentence_columns([dicts])) == names
    assert column_names([[{"form": "a"}]], sentence_columns([[{"form": "a"}]])) == ("form",)
    with pytest.raises(InvalidInput, match=r"X\[0\]\[1\] is .* expected a dict with 'form'"):
        sentence_columns([[{"form": "a"}, {"upos": "b"}]])
    with pytest.raises(InvalidInput, match=r"X\[1\] is 'rains' .*expected a sentence"):
        sentence_columns([["It"], "rains"])


def test_keys_never_change():
    """They stand in model files."""
    seen = _core.ArcSentences(
        TokenTable.from_lists([[("a", "N"), ("b", "V")]]).columns, Templates(LINES).arc_extractor()
    )
    keys = np.concatenate([seen.attribute_keys(0, 2, 1, None, c) for c in ("arc", "label", "label.head")])
    assert len(keys) == KEPT[0]
    assert int(np.bitwise_xor.reduce(keys)) == KEPT[1]


KEPT = (13, 0xCCCE02EA271A35C3)
