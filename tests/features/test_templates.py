"""Template texts: what they mean, what is wrong with them, and that nothing of them is lost on the way to a file."""

import copy
import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trelliswork import SequenceLabeler
from trelliswork.errors import InvalidInput
from trelliswork.features import foreign
from trelliswork.features.templates import Templates

X = [[("La", "DT"), ("Rochelle", "NN"), ("fell", "VB")]]


def names(text, token=1, pair=False, **options):
    return Templates(text, **options).attributes(X, pair)[0][token]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("word", ["word[0]=Rochelle"]),
        ("w[-1]", ["word[-1]=La"]),
        ("  word [ -1 .. +1 ]  # a window", ["word[-1]=La", "word[0]=Rochelle", "word[1]=fell"]),
        ("word[-1]&pos", ["word[-1]|pos[0]=La|NN"]),
        (
            "word[-1..0] & pos[0..1]",
            [
                f"word[{i}]|pos[{j}]={a}|{b}"
                for i, a in [(-1, "La"), (0, "Rochelle")]
                for j, b in [(0, "NN"), (1, "VB")]
            ],
        ),
        ("lower(word[-1])", ["lower(word[-1])=la"]),
        ("lower(word)[-1]", ["lower(word[-1])=la"]),
        ("prefix(lower(word), 1..2)", ["prefix(lower(word[0]),1)=r", "prefix(lower(word[0]),2)=ro"]),
        ("suffix(word, 3)", ["suffix(word[0],3)=lle"]),
        ("suffix(word, 99)", ["suffix(word[0],99)=Rochelle"]),
        ("shape(word)", ["shape(word[0])=Xxxxxxxx"]),
        ("shape(word, 2)", ["shape(word[0],2)=Xxx"]),
        ("case(word)", ["case(word[0])=title"]),
        ("length(word)", ["length(word[0])=8"]),
        ('matches(word, "^R")', ['matches(word[0],"^R")=yes']),
        ('matches(word, "^L")', []),
        ('match(word, "l+.") & pos', ['match(word[0],"l+.")|pos[0]=lle|NN']),
        ('matches(word, "#")', []),
        (r'matches(word, "\"|R")', [r'matches(word[0],"\"|R")=yes']),
        ("ngram(pos[-1..1], 2)", ["pos[-1]|pos[0]=DT|NN", "pos[0]|pos[1]=NN|VB"]),
        ("bag(pos[-1..1])", ["bag(pos[-1..1])=DT", "bag(pos[-1..1])=NN", "bag(pos[-1..1])=VB"]),
        ("column 1", ["pos[0]=NN"]),
        ("column(1)[1]", ["pos[1]=VB"]),
        ("c1", ["pos[0]=NN"]),
        ("bias", ["bias"]),
        ("begin[-1]", ["begin[-1]"]),
        ("begin\nend[1]\nend", ["end[1]"]),
        ("both: word", ["word[0]=Rochelle"]),
        ("label: word", ["word[0]=Rochelle"]),
        ("word\nword[0]\nword[-1..0]", ["word[0]=Rochelle", "word[-1]=La"]),
    ],
)
def test_a_line_means_this(text, expected):
    assert names(text) == expected


def test_columns_may_be_named():
    assert names("columns: form, kind\nform & kind") == ["form[0]|kind[0]=Rochelle|NN"]
    with pytest.raises(InvalidInput, match="line 2: there is no column 'word'; there are form, kind"):
        Templates("columns: form kind\nword")


def test_pairs_meet_two_labels_and_so_not_the_first_token():
    text = "word\npair: word & word[-1]\nboth: pos"
    assert names(text, 1) == ["word[0]=Rochelle", "pos[0]=NN"]
    assert names(text, 1, pair=True) == ["word[0]|word[-1]=Rochelle|La", "pos[0]=NN"]
    assert names(text, 0, pair=True) == []
    templates = Templates(text)
    assert templates.has_pairs
    assert templates.names == ["word[0]", "pair: word[0]|word[-1]", "both: pos[0]"]


def test_attributes_of_label_ngrams_are_asked_for_by_themselves():
    templates = Templates("word\nngram: pos\nngram: word[-1]\npair: pos[1]")
    assert templates.attributes(X, ngram=True)[0] == [
        ["pos[0]=DT"],
        *[[f"pos[0]={p}", f"word[-1]={w}"] for p, w in [("NN", "La"), ("VB", "Rochelle")]],
    ]
    assert templates.attributes(X, pair=True)[0] == [[], ["pos[1]=VB"], []]
    assert Templates("word").attributes(X, ngram=True) == [[[], [], []]]
    with pytest.raises(InvalidInput, match="pair and ngram"):
        templates.attributes(X, pair=True, ngram=True)


def test_a_set_says_what_its_attributes_meet():
    assert Templates("word").meets == ("label",)
    assert Templates("pair: word").meets == ("pair",)
    assert Templates("span: size\nngram: pos\nboth: word").meets == ("label", "pair", "ngram", "span")
    assert Templates("U:%x[0,0]\nB:%x[0,0]").meets == ("label", "pair")
    assert Templates("word\nngram: word & pos[-1]").names == ["word[0]", "ngram: word[0]|pos[-1]"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("first.word & last.word & size", "first.word|last.word|size"),
        ("lower(first.word[1])", "lower(first.word[1])"),
        ("suffix(last.w, 2)[-1]", "suffix(last.word[-1],2)"),
        ("before.pos[-1..0]", "before.pos[-1] before.pos"),
        ("after.column 2", "after.c2"),
        ("size(1, 2,5)", "size(1,2,5)"),
        ("whole.word", "whole.word"),
        ("shape(whole.word, 1)", "shape(whole.word,1)"),
        ('gazetteer("x", lower(whole.word))', 'gazetteer("x",lower(whole.word))'),
        ('gazetteer("x", first.word)', 'gazetteer("x",first.word)'),
        ("outline(pos)", "outline(pos)"),
        ("outline(prefix(shape(word), 1), 1..2)", "outline(prefix(shape(word),1),1) outline(prefix(shape(word),1),2)"),
        ("ngram(first.pos[0..2], 2)", "first.pos|first.pos[1] first.pos[1]|first.pos[2]"),
        ("bag(before.pos[-2..0])", "bag(before.pos[-2..0]) bag(before.pos[-2..0]) bag(before.pos[-2..0])"),
        ("begin & end & bias", "begin|end|bias"),
        ("number(first.c2)", "number(first.c2)"),
    ],
)
def test_a_line_about_spans_is_these_templates(line, expected):
    templates = Templates(f"span: {line}", resources={"x": "a"})
    assert templates.names == [f"span: {name}" for name in expected.split(" ")]
    assert templates.meets == ("span",)
    assert Templates.from_dict(json.loads(json.dumps(templates.to_dict()))) == templates
    assert pickle.loads(pickle.dumps(templates)) == templates


def test_tokens_have_no_attributes_where_all_lines_are_about_spans():
    templates = Templates("span: whole.word")
    assert templates.n_columns == 1
    assert templates.attributes(X) == [[[], [], []]]
    assert templates.attributes([[]], pair=True) == [[]]


def test_columns_may_have_the_names_of_anchors():
    names = Templates("columns: first size outline\nspan: first.first & size & last.size & outline(outline)").names
    assert names == ["span: first.first|size|last.size|outline(outline)"]


@pytest.mark.parametrize(
    ("line", "message"), [("span: size", "'span: size' is about whole spans"), ("ngram: word", "meets label n-grams")]
)
def test_a_labeler_refuses_templates_that_meet_what_it_does_not_have(line, message):
    features = Templates(f"word\n{line}")
    with pytest.raises(InvalidInput, match=f"features: .*{message}"):
        SequenceLabeler(features=features).fit([["Rain"]], [["N"]])


def test_plain_pairs_of_labels():
    assert Templates("word").transitions
    assert not Templates("word\ntransitions: no").transitions
    assert Templates("U:%x[0,0]\nB").transitions
    assert not Templates("U:%x[0,0]\nB:%x[0,0]").transitions
    assert not Templates("U:%x[0,0]").transitions
    assert Templates("*\nu:%x[0,0]").transitions


def test_templates_of_crfpp():
    text = "# Unigram\nU00:%x[-2,0]\nU01:%x[-1,0]/%x[0,0]\nU:%x[0,0]\nU:%x[1,0]\n\n# Bigram\nB\nB1:%x[0,1]"
    assert names(text, 0) == ["U00:_B-2", "U01:_B-1/La", "U:La", "U:Rochelle"]
    assert names(text, 2) == ["U00:La", "U01:Rochelle/fell", "U:fell", "U:_B+1"]
    assert names(text, 1, pair=True) == ["B1:NN"]


def test_templates_of_crfpp_without_numbers_share_their_attributes():
    """The bag of words of CRF++'s manual."""
    source = Templates("U:%x[0,0]\nU:%x[-1,0]")
    from trelliswork import _core

    columns = _core.columns_from_lists([["a", "a"]])
    starts, keys, _ = _core.ColumnSource(columns, source.extractor()).attribute_arrays(0, 1)
    assert keys[starts[1]] == keys[starts[1] + 1]


def test_templates_of_wapiti():
    text = '*:%x[0,1]  # both\nu1:%m[0,0,"^.?.?"]\nU2:%X[-1,0]\nu3:%t[1,0,"^\\u"]/%T[0,0,"^\\u"]\nb'
    assert names(text) == ["*:NN", "u1:Ro", "u2:la", "u3:false/true"]
    assert names(text, pair=True) == ["*:NN"]
    assert names(text, 0) == ["*:DT", "u1:La", "u2:_x-1", "u3:true/true"]


def test_the_form_is_told_by_the_text():
    assert names("U:%x[9,0]", 2) == ["U:_B+9"]
    assert names("u:%x[9,0]", 2) == ["u:_x+#"]
    assert names("U:%x[9,0]", 2, format="wapiti") == ["u:_x+#"]
    assert Templates("bag(word)\nboth: word\nbegin").names == ["bag(word[0..0])", "both: word[0]", "begin"]


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("wrod", "there is no column 'wrod'; there are word, pos"),
        ("lowr(word)", "there is no function 'lowr'; there are bag, case"),
        ("word[", "expected a number"),
        ("word[1", r"expected '\]' at its end"),
        ("word[2..1]", "runs backwards"),
        ("word[101]", "from -100 to 100, found 101"),
        ("word[99999999999]", "expected a number"),
        ("word[1][1]", "is not expected"),
        ("lower(word[1])[1]", "two offsets"),
        ("word &", "the line ends too early"),
        ("& word", "expected a column or a function, found '&'"),
        ("word pos", "'pos' is not expected"),
        ("word; pos", "';' is not expected"),
        ("prefix(word)", "expected ','"),
        ("prefix(word, 0)", "from 1 to 100"),
        ("prefix(word, word)", "expected a number, found 'word'"),
        ("matches(word, x)", "needs a regular expression in quotes"),
        ('replace(word, "a")', "expected ',', found '\\)'"),
        ('replace(word, "a", b)', "replace needs what replaces it in quotes"),
        ('replace(word, "(", "")', r"a \( without a \)"),
        ('matches(word, "\0")', "there is a control character"),
        ('word as "w"', "the name has 0 places {} for the 1 values that there are"),
        ('begin as "b{}"', "the name has 1 places {} for the 0 values"),
        ('word[-1..1] as "w{}"', "a name is for one template, and the line stands for 3"),
        ('word as ""', "the name behind as is empty"),
        ("word as w", "as needs a name in quotes"),
        ('word as "{}" & pos', "'&' is not expected"),
        ('span: first.word as "{}"', "names are given to attributes of tokens alone"),
        ("let: clean", "expected a name and what it stands for"),
        ("let: 1a = word", "expected a name and what it stands for"),
        ("let: word = pos", "'word' has a meaning already"),
        ("let: lower = word", "'lower' has a meaning already"),
        ("let: a = word[-1]", "without an offset or a range"),
        ("let: a = prefix(word, 1..2)", "without an offset or a range"),
        ("let: a = begin", "let needs a column"),
        ("let: a = word & pos", "'&' is not expected"),
        ('matches(word, "(")', r"a \( without a \)"),
        ("lower(begin)", "lower needs a column"),
        ("lower(number(word))", "lower needs a column"),
        ("number(lower(word))", "number needs a column as it is"),
        ('lower(gazetteer("x", word))', "lower needs a column"),
        ("gazetteer(word)", "the name of a file in quotes"),
        ("ngram(word[0..1], 3)", "longer than its window"),
        ("ngram(word, 99)", "from 1 to 32"),
        ("column x", "expected a number"),
        ("column 1..2", "one number"),
        ("column 1001", "from 0 to 1000"),
        ("pear: word", "'pear:' is not known here; did you mean 'pair:'. There are 'label:', 'pair:', 'both:'"),
        ("xyz: word", "'xyz:' is not known here; there are 'label:', 'pair:'"),
        ("spam: first.word", "did you mean 'span:'"),
        ("first.word", "'first.' is an anchor; lines that begin with 'span:' have it"),
        ("lower(nose.word)", "'nose.' is an anchor; lines about tokens have none"),
        ("size", "there is no column 'size'"),
        ("size(1,2)", "size is a term of its own, in lines that begin with 'span:'"),
        ("outline(word)", "outline is a term of its own"),
        ("span:", "ends too early"),
        (
            "span: word",
            "which token of the span is 'word' of.*first.word, last.word, before.word, after.word, whole.word",
        ),
        ("span: size & lower(word)", "which token of the span is 'word' of"),
        ("span: frist.word", "no anchor 'frist' in a line about a span; did you mean 'first.'"),
        ("span: head.word", "no anchor 'head' in a line about a span; there are 'first.', 'last.'"),
        ("span: first.wrod", "there is no column 'wrod'"),
        ("span: first.", "expected a column behind 'first.'"),
        ("span: first.1", "expected a column behind 'first.'"),
        ("span: first.first.word", "there is no column 'first'"),
        ("span: first.word[-1]", "'first.' takes offsets from 0 to 100, found -1..-1; write before"),
        ("span: lower(last.word)[0..1]", "'last.' takes offsets from -100 to 0, found 0..1; write after"),
        ("span: before.word[1]", "'before.' takes offsets from -100 to 0"),
        ("span: after.word[-1]", "'after.' takes offsets from 0 to 100"),
        ("span: whole.word[1]", "'whole.' takes no offset"),
        ("span: begin[1]", "begin has no offset in a line about a span"),
        ("span: size()", "expected a number"),
        ("span: size(0)", "from 1 to 1000000"),
        ("span: size(1,1)", "must rise"),
        ("span: size[1]", "is not expected"),
        ("span: lower(size)", "there is no column 'size'"),
        ("span: outline(first.word)", "'first.' is not expected: outline.pos. is about all tokens"),
        ("span: outline(pos[1])", "outline takes no offset"),
        ("span: outline(pos, 0)", "from 1 to 100"),
        ("span: outline(begin)", "outline needs a column"),
        ('span: outline(gazetteer("x", word))', "outline needs a column"),
        ("span: outline", "expected '.' at its end"),
        ("span: outline(number(c2))", "number needs one token of the span"),
        ("span: number(whole.c2)", "number needs one token of the span"),
        ("span: bag(whole.word)", "bag needs a window of tokens"),
        ("span: ngram(whole.word, 1)", "ngram needs a window of tokens"),
        ("pair: span: size", "there is no column 'span'"),
        ("pair:", "ends too early"),
        ("columns: a b", "before the first template"),
        ("transitions: perhaps", "transitions: yes"),
        (" & ".join(["word"] * 33), "more than 32 parts"),
        (" & ".join(["word[-50..50]"] * 3), "more than 10000 templates"),
        ('"word"', "expected a column or a function"),
        ("word\\", "is not expected"),
        ("w" * 10_001, "at most 10000 characters"),
    ],
)
def test_mistakes_are_named_with_their_line(line, mistake):
    with pytest.raises(InvalidInput, match=rf"^mine\.tpl, line 2: .*{mistake}"):
        Templates("word\n" + line, format="own", name="mine.tpl", resources={"x": ""})


@pytest.mark.parametrize("format", [None, "own", "crfpp", "wapiti"])
@pytest.mark.parametrize(
    "piece", ["%x[0,0]", "%x[ ", '%t[0,0,"', "# ", '"', "word & ", "(", "\\", "U", "a\t", '"\\" # '], ids=repr
)
def test_a_line_of_any_length_is_refused_in_linear_time(piece, format):
    """A second look at the rest of the line for each of its pieces would take hours: to end at all is the test."""
    line = "U" + piece * (8_000_000 // len(piece))
    with pytest.raises(InvalidInput, match="line 1: expected a line of at most 10000 characters"):
        Templates(line, format=format)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("U:%x[0,0]#", "wapiti"),
        ("U#:%x[0,0]", "crfpp"),
        ("U:%x[0,0]%x[1,0]/#/%x[2,0]", "wapiti"),
        ("U:%x[0,0]", "crfpp"),
    ],
)
def test_a_comment_behind_a_macro_is_wapitis(line, kind):
    assert foreign.detect([line]) == kind


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("U01:%x[0]", "no macro"),
        ("U01:%x[0,0", "no macro"),
        ("U01:%y[0,0]", "no macro"),
        ('U01:%m[0,0,"a"]', "no macro"),
        ("X01:%x[0,0]", "lines begin with U or B; found 'X'"),
        ("U01:%x[101,0]", "rows go from -100"),
        ("U01:%x[0,1001]", "columns go from 0"),
        ("U" + "%x[0,0]" * 33, "more than 32 macros"),
    ],
)
def test_mistakes_in_files_of_crfpp(line, mistake):
    with pytest.raises(InvalidInput, match=rf"^templates, line 2: .*{mistake}"):
        Templates("U:%x[0,0]\n" + line, format="crfpp")


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("x:%x[0,0]", "lines begin with u, b or"),
        ("u:%m[0,0]", "%m needs a regular expression"),
        ('u:%x[0,0,"a"]', "%x takes no regular expression"),
        ('u:%t[0,0,"**"]', r"a \* or \? with nothing before it"),
        ('u:%t[0,0,"a]', "no macro"),
        ("u:%x[*-1,0]", "columns go from 0"),
    ],
)
def test_mistakes_in_files_of_wapiti(line, mistake):
    with pytest.raises(InvalidInput, match=rf"^templates, line 2: .*{mistake}"):
        Templates("u:%x[0,0]\n" + line, format="wapiti")


@pytest.mark.parametrize("text", ["", "# nothing", "columns: a b", "B", "transitions: yes"])
def test_no_templates_are_refused(text):
    with pytest.raises(InvalidInput, match="there is no template"):
        Templates(text)


def test_gazetteers_and_classes_come_from_files_beside_the_templates(tmp_path):
    (tmp_path / "mine.tpl").write_text(
        'gazetteer("towns.txt", word)\nclass("paths", word)\nprefix(class("paths", word), 2)'
    )
    (tmp_path / "towns.txt").write_text("La   Rochelle\tport\n\nAix\n")
    (tmp_path / "paths").write_text("0110\tfell\t12\n1001\tLa\t3\n")
    templates = Templates.load(tmp_path / "mine.tpl")
    assert templates.attributes(X)[0] == [
        ['gazetteer("towns.txt",word[0])=B-port', 'class("paths",word[0])=1001', 'prefix(class("paths",word[0]),2)=10'],
        ['gazetteer("towns.txt",word[0])=E-port'],
        ['class("paths",word[0])=0110', 'prefix(class("paths",word[0]),2)=01'],
    ]
    (tmp_path / "towns.txt").unlink()
    assert Templates.from_dict(json.loads(json.dumps(templates.to_dict()))) == templates
    with pytest.raises(InvalidInput, match=r"mine\.tpl, line 1: there is no file '.*towns\.txt'"):
        Templates.load(tmp_path / "mine.tpl")


def test_contents_of_files_may_be_handed_over():
    text = 'gazetteer("towns", word)'
    assert names(text, resources={"towns": ["La Rochelle"]}) == ['gazetteer("towns",word[0])=E']
    assert names(text, resources={"towns": "Rochelle\nLa"}) == ['gazetteer("towns",word[0])=S']
    assert names('class("c", word)', resources={"c": ["Rochelle NAME", "La ART"]}) == ['class("c",word[0])=NAME']
    with pytest.raises(InvalidInput, match="c, line 1: expected a word and its class"):
        Templates('class("c", word)', resources={"c": ["Rochelle"]})
    with pytest.raises(InvalidInput, match="can be only one"):
        Templates('class("c", word)\ngazetteer("c", word)', resources={"c": ["a b"]})
    with pytest.raises(InvalidInput, match="more than 64 tokens"):
        Templates(text, resources={"towns": "a " * 65}).extractor()


ALL = Templates(
    'columns: form tag\nform[-1..1]\npair: form & tag\ngazetteer("towns", lower(form))\ntransitions: no',
    resources={"towns": ["Aix", "La Rochelle\tport"]},
)


@pytest.mark.parametrize(
    "templates",
    [
        ALL,
        Templates.words(),
        Templates.chunking(),
        Templates.ner(),
        Templates.pos(),
        Templates.thesis(),
        Templates("U:%x[0,0]\nB"),
        Templates('u:%t[0,0,"a"]#\n*'),
        ALL + Templates("U:%x[0,0]"),
    ],
)
def test_nothing_is_lost_in_a_file_or_a_pickle(templates):
    for again in (
        Templates.from_dict(json.loads(json.dumps(templates.to_dict()))),
        pickle.loads(pickle.dumps(templates)),
        copy.deepcopy(templates),
    ):
        assert again == templates
        assert hash(again) == hash(templates)
        assert again.to_dict() == templates.to_dict()
        assert again.names == templates.names
        assert again.attributes(X) == templates.attributes(X)


def test_sets_can_be_joined():
    joined = Templates("word\ntransitions: no") + Templates("columns: form kind\nkind\nform") + Templates("U:%x[0,0]")
    assert joined.attributes(X)[0][1] == ["word[0]=Rochelle", "kind[0]=NN", "form[0]=Rochelle", "U:Rochelle"]
    assert joined.transitions
    assert len(joined) == 4
    with pytest.raises(InvalidInput, match="different contents"):
        ALL + Templates('gazetteer("towns", word)', resources={"towns": ["x"]})


def test_equality():
    assert Templates("word[-1..1]") == Templates("word[-1]\nword # here\nword[1]")
    assert Templates("word") != Templates("pos")
    assert Templates("word") != Templates("word\ntransitions: no")
    assert Templates("word") != "word"


def test_repr_shows_the_beginning():
    assert repr(Templates("word[-1..1]\npos")) == "<Templates: 4 templates: word[-1..1]; pos>"
    assert len(repr(Templates.ner())) < 110


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["own", "word", "U:%x[0,0]"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["format", "columns", "lines", "a"]), inner)
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={"version": st.just(1), "templates": _json, "resources": _json, "transitions": st.booleans() | _json},
    )
    | _json
)
@example(
    {
        "version": 1,
        "templates": [{"format": "own", "columns": ["word"], "lines": [["word"]]}],
        "resources": {},
        "transitions": True,
    }
)
@example(
    {
        "version": 1,
        "templates": [{"format": [], "columns": ["word"], "lines": []}],
        "resources": {},
        "transitions": True,
    }
)
@example(
    {
        "version": 1,
        "templates": [{"format": "own", "columns": ["word"], "lines": ['class("x", word)']}],
        "resources": {},
        "transitions": True,
    }
)
@example(
    {
        "version": 1,
        "templates": [{"format": "own", "columns": ["word"], "lines": ['class("x", word)']}],
        "resources": {"x": "a"},
        "transitions": True,
    }
)
def test_damaged_settings_are_refused(settings):
    message = None
    try:
        Templates.from_dict(settings).extractor()
    except InvalidInput as error:
        message = str(error)
    assert message is None or message


_pieces = [
    "word",
    "pos",
    "lower",
    "prefix",
    "(",
    ")",
    "[",
    "]",
    "..",
    ",",
    "&",
    ":",
    "pair",
    "both",
    '"a"',
    '"',
    "#",
    "1",
    "-2",
    " ",
    "\n",
]
_pieces += [
    "U",
    "B",
    "%x[",
    "%m[",
    "0,0",
    "*",
    "@",
    "ngram",
    "bag",
    "class",
    "gazetteer",
    "number",
    "begin",
    "column",
    "é",
    "\0",
    "\1",
    "\\",
]


@given(
    st.lists(st.sampled_from(_pieces), max_size=25).map("".join) | st.text(max_size=40),
    st.sampled_from([None, "own", "crfpp", "wapiti"]),
)
@example("\\", None)
@example('matches(word, "\\', None)
@example("columns:", "own")
@example("word[--1]", "own")
def test_any_text_is_read_or_refused(text, format):
    message = None
    try:
        templates = Templates(text, format=format, resources={"a": "a b"})
        templates.attributes([[("a",) * (templates.n_columns or 1)]])
    except InvalidInput as error:
        message = str(error)
    assert message is None or message.startswith(("templates", "a, line 1", "resources", "X[0]", "expected a number"))


def test_templates_need_no_numpy():
    code = (
        "import sys; from trelliswork.features.templates import Templates; t = Templates.chunking(); t.extractor(); "
        "Templates.from_dict(t.to_dict()); assert not {'numpy', 'sklearn', 'dataclasses'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lines_about_rules_look_at_both_sides_of_a_split():
    templates = Templates("rule: split.pos[-1] & lower(split.word)\nrule: bias")
    assert templates.names == ["rule: split.pos[-1]|lower(split.word)", "rule: bias"]
    assert templates.meets == ("rule",)
    (names,) = templates.attributes([[("A", "x"), ("B", "y"), ("C", "z")]], pair=True)
    assert names == [
        [],
        ["split.pos[-1]|lower(split.word)=x|b", "bias"],
        ["split.pos[-1]|lower(split.word)=y|c", "bias"],
    ]
    assert Templates.from_dict(templates.to_dict()) == templates


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rule: pos", "which token of the rule is 'pos' of"),
        ("rule: first.pos", "no anchor 'first'"),
        ("rule: begin", "not of rules"),
        ("rule: size", "no column 'size'"),
        ("span: split.pos", "no anchor 'split'"),
        ("split.pos", "lines that begin with 'rule:' have it"),
    ],
)
def test_wrong_lines_about_rules_are_refused(line, told):
    with pytest.raises(InvalidInput, match=told):
        Templates(line)


def test_the_sets_for_constituents_are_about_spans_and_rules():
    for name in ("constituency", "constituency_words"):
        assert Templates.preset(name).meets == ("span", "rule")
    assert Templates.constituency_words().n_columns == 1


LET = """
let: clean = replace(word, "^[(]+|[,.)]+$", "")
let: small = lower(clean)
small[-1] as "previous:word:{}"
suffix(small, 2)
matches(clean, "^\\d+$") & length(small) as "digits:{}"
"""


def test_what_has_a_name_is_what_it_stands_for():
    clean = 'replace(word{}, "^[(]+|[,.)]+$", "")'
    spelled = Templates(
        "\n".join(
            [
                f'lower({clean.format("[-1]")}) as "previous:word:{{}}"',
                f"suffix(lower({clean.format('')}), 2)",
                f'matches({clean.format("")}, "^\\d+$") & length(lower({clean.format("")})) as "digits:{{}}"',
            ]
        )
    )
    named = Templates(LET)
    assert named == spelled
    assert named.attributes([["(Main", "12),"]]) == [
        [
            ['suffix(lower(replace(word[0],"^[(]+|[,.)]+$","")),2)=in'],
            ["previous:word:main", 'suffix(lower(replace(word[0],"^[(]+|[,.)]+$","")),2)=12', "digits:2"],
        ]
    ]
    assert named.names[0] == "previous:word:{}"
    assert Templates.from_dict(named.to_dict()) == named == pickle.loads(pickle.dumps(named))


def test_a_name_is_known_below_its_line_and_about_tokens_alone():
    with pytest.raises(InvalidInput, match="there is no column 'small'"):
        Templates("small\nlet: small = lower(word)")
    with pytest.raises(InvalidInput, match="'small' has a meaning already"):
        Templates("let: small = lower(word)\nlet: small = word\nsmall")
    with pytest.raises(InvalidInput, match="'small' is for lines about tokens"):
        Templates("let: small = lower(word)\nspan: first.small")
    deep = "\n".join(f"let: a{i + 1} = lower({f'a{i}' if i else 'word'})" for i in range(200))
    with pytest.raises(InvalidInput, match="more than 100 functions"):
        Templates(f"{deep}\na200")
