"""Regular expressions of templates: Python's answers where the syntax is the same, Wapiti's where it is Wapiti's."""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from reference import wapiti_patterns
from trelliswork import Templates, _core

ALPHABET = "aAbé1_. -日"
texts = st.text(st.sampled_from(ALPHABET), max_size=8)

characters = st.sampled_from(["a", "b", "A", "é", "1", "_", r"\.", "-", "日"])
classes = st.sampled_from([".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"])
sets = st.sampled_from(
    ["[ab]", "[^a]", "[a-b1]", "[]a]", "[^]a]", r"[\d_]", "[a-]", r"[\w.]", "[é-日]", r"[^\s]", r"[\]\\]"]
)
atoms = characters | classes | sets
repeats = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,1}", "{0}", "*?", "+?", "??", "{1,2}?"])
# What is repeated must read at least one character: engines differ over how often nothing may be repeated.
_repeated = st.builds(str.__add__, atoms, repeats)
patterns = st.recursive(
    _repeated | st.sampled_from(["^", "$"]),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.builds("(?:{}|{})".format, inner, inner)
        | st.builds("({})".format, inner)
        | st.builds("(?:{}{}){}".format, characters, inner, repeats)
    ),
    max_leaves=6,
)


@given(patterns, texts)
@example("$", "a")
@example("a|ab", "ab")
@example("(?:a|ab)(?:c|bcd)", "abcd")
@example("a*?$", "aa")
@example("", "a")
def test_the_leftmost_match_is_pythons(pattern, text):
    found = re.search(pattern, text)
    assert _core.search_pattern(pattern, text) == (found[0] if found else None)


wapiti_items = st.tuples(
    st.sampled_from(
        [
            "a",
            "b",
            "1",
            ".",
            r"\d",
            r"\a",
            r"\w",
            r"\l",
            r"\u",
            r"\p",
            r"\s",
            r"\D",
            r"\U",
            r"\.",
            r"\*",
            "(",
            "|",
            "+",
            "[",
        ]
    ),
    st.sampled_from(["", "", "*", "?"]),
)


@given(st.lists(wapiti_items, max_size=6), st.booleans(), st.booleans(), st.text("aAb1.-+( |[", max_size=8))
@example([("a", "*")], False, False, "aa")
@example([(".", "?")] * 3, False, True, "abcd")
@example([("a", "?"), ("a", ""), ("b", "")], False, False, "ab")
def test_matches_are_wapitis(items, anchored, at_end, text):
    pattern = "^" * anchored + "".join(item + repeat for item, repeat in items) + "$" * at_end
    expected = wapiti_patterns.search(items + [("$", "")] * at_end, anchored, text)
    assert _core.search_pattern(pattern, text, True) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\u\l+", "xAbc1", "Abc"),
        (r"\p+", "ab!?c", "!?"),
        (r"[\u\d]+", "aB2c", "B2"),
        (r"\a+", "12é日b3", "é日b"),
        (r"\A+", "é12b", "12"),
        (r"\.\*", "a.*", ".*"),
        (r"x{3}", "xxxx", "xxx"),
        (r"\u", "Éa", "É"),
        ("^$", "", ""),
    ],
)
def test_classes_of_characters(pattern, text, found):
    assert _core.search_pattern(pattern, text) == found


@pytest.mark.parametrize(
    ("pattern", "mistake"),
    [
        ("(", r"a \( without a \)"),
        ("a)", r"a \) without a \("),
        ("*a", "nothing to repeat"),
        ("a**", "one repeat behind another"),
        ("a{2", r"a \{ without a \}"),
        ("a{,2}", "a number is missing"),
        ("a{3,2}", "m greater than n"),
        ("a{9999}", "more than 1000 times"),
        ("(a{1000}){1000}", "too large"),
        ("((((((){1000}){1000}){1000}){1000}){1000})", "too large"),
        ("[a", r"a \[ without a \]"),
        ("[b-a]", "runs backwards"),
        (r"[a-\d]", "ends in a class"),
        ("a\\", "ends in a backslash"),
        (r"\b", r"\\b is not known"),
        ("(?=a)", r"after \(\? only"),
        ("(" * 200 + ")" * 200, "nested too deeply"),
        ("a" * 5000, "longer than"),
    ],
)
def test_mistakes_are_named(pattern, mistake):
    with pytest.raises(ValueError, match=mistake):
        _core.search_pattern(pattern, "a")


@pytest.mark.parametrize("pattern", ["*a", "a**", "a?*", "\\"])
def test_mistakes_in_wapitis_syntax_are_named(pattern):
    with pytest.raises(ValueError, match="cannot be read"):
        _core.search_pattern(pattern, "a", True)


@pytest.mark.parametrize(
    "pattern", ["(a*)*b", "(a|a)*b", "(a|aa)+$b", "(.*)(.*)(.*)(.*)(.*)(.*)b", "a?" * 500 + "a" * 500 + "b"]
)
def test_no_pattern_takes_more_than_linear_time(pattern):
    """Backtracking would take longer than the universe is old: to end at all is the test."""
    assert _core.search_pattern(pattern, "a" * 2000) is None


@given(st.text(max_size=20) | st.text(r"ab^$.*+?()[]{}|\0123,-:", max_size=20), texts, st.booleans())
@example("[^\\", "", False)
@example("[a-\\", "", False)
@example("{", "", False)
def test_any_text_is_a_pattern_or_a_mistake(pattern, text, wapiti):
    pattern = pattern.encode("utf-8", "replace").decode()
    try:
        found = _core.search_pattern(pattern, text, wapiti)
    except ValueError as error:
        assert "cannot be read" in str(error)  # noqa: PT017 - either is right
    else:
        assert found is None or found in text


def one_attribute(line, text):
    found = Templates(line).attributes([[text]])[0][0]
    return found[0].partition(">")[2] if found else None


def quoted(pattern):
    return '"' + pattern.replace('"', '\\"') + '"'


@given(patterns, texts | st.text("aAb1_. -", max_size=8))
@example("$^", "")
@example("a|$", "b")
@example("^b|a$", "ba")
@example("(?:^a|b)$", "ab")
@example("(?:a|b){2,}a(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)", "abab1")  # too many states for a machine
def test_whether_there_is_a_match_is_what_python_says(pattern, text):
    found = one_attribute(f'matches(word, {quoted(pattern)}) as "found>"', text)
    assert (found is not None) == (re.search(pattern, text) is not None)


@given(patterns, texts | st.text("aAb1_. -", max_size=8), st.sampled_from(["", "x", "a.", "\u65e5"]))
@example("^a", "aa", "")
@example("a|ab", "abaab", "-")
def test_replacing_is_what_python_does(pattern, text, replacement):
    assume(all(match[0] for match in re.finditer(pattern, text)))
    line = f'replace(word, {quoted(pattern)}, {quoted(replacement)}) as ">{{}}"'
    assert one_attribute(line, text) == re.sub(pattern, replacement, text)


@pytest.mark.parametrize(
    ("pattern", "replaced"), [("x*", "ab-dé"), ("^", "abxxdé"), ("$", "abxxdé"), ("b|", "a-xxdé"), ("", "abxxdé")]
)
def test_matches_of_nothing_are_not_replaced(pattern, replaced):
    assert one_attribute(f'replace(word, "{pattern}", "-") as ">{{}}"', "abxxdé") == replaced
