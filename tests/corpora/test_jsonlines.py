"""JSON lines: each form that tools export, labels and spans through it and back, and every mistake with its line."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trelliswork.corpora import Example, labels_from_spans, read_jsonl, write_jsonl
from trelliswork.corpora.json_items import json_items
from trelliswork.errors import InvalidInput

TEXT = "Anna met Bob."
LABELS = ["B-PER", "O", "B-PER", "O"]
FORMS = {
    "doccano labels": {"id": 3, "text": TEXT, "labels": [[0, 4, "PER"], [9, 12, "PER"]]},
    "doccano label": {"text": TEXT, "label": [[9, 12, "PER"], [0, 4, "PER"]]},
    "doccano entities": {
        "text": TEXT,
        "entities": [
            {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 4},
            {"id": 2, "label": "PER", "start_offset": 9, "end_offset": 12},
        ],
        "relations": [],
    },
    "Prodigy": {
        "text": TEXT,
        "tokens": [
            {"text": "Anna", "start": 0, "end": 4, "id": 0},
            {"text": "met", "start": 5, "end": 8, "id": 1},
            {"text": "Bob", "start": 9, "end": 12, "id": 2},
            {"text": ".", "start": 12, "end": 13, "id": 3},
        ],
        "spans": [{"start": 0, "end": 4, "label": "PER"}, {"start": 9, "end": 12, "label": "PER", "token_start": 2}],
        "answer": "accept",
    },
    "Label Studio": {
        "data": {"text": TEXT},
        "annotations": [
            {"was_cancelled": True, "result": []},
            {
                "result": [
                    {"type": "labels", "value": {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}},
                    {"type": "labels", "value": {"start": 9, "end": 12, "text": "Bob", "labels": ["PER"]}},
                    {"type": "relation", "from_id": "a", "to_id": "b"},
                    {"type": "choices", "value": {"choices": ["news"]}},
                ]
            },
        ],
    },
    "Label Studio, short": {
        "text": TEXT,
        "label": [
            {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]},
            {"start": 9, "end": 12, "text": "Bob", "labels": ["PER"]},
        ],
    },
    "text and tokens": {"text": "Anna  met Bob .", "tokens": ["Anna", "met", "Bob", "."], "labels": LABELS},
    "tokens": {"tokens": ["Anna", "met", "Bob", "."], "labels": LABELS},
    "integers": {"tokens": ["Anna", "met", "Bob", "."], "ner_tags": [1, 0, 1, 0]},
}


def read(*records, **options):
    return list(read_jsonl(io.StringIO("\n".join(map(json.dumps, records))), **options))


def written(examples, **options):
    file = io.BytesIO()
    write_jsonl(file, examples, **options)
    return file.getvalue().decode()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_tokens_and_labels(form):
    (example,) = read(FORMS[form], names=["O", "B-PER"])
    assert example.tokens == ["Anna", "met", "Bob", "."]
    assert example.labels == LABELS
    assert not example.misaligned
    assert example.record == FORMS[form]
    assert example.line == 1


def test_keys_may_have_other_names():
    record = {"words": ["a"], "pos": ["X"], "labels": ["Y"]}
    assert read(record, tokens="words", labels="pos")[0].labels == ["X"]
    record = {"body": "Anna", "marks": [[0, 4, "PER"]]}
    assert read(record, text="body", labels="marks", scheme="BILOU")[0].labels == ["U-PER"]


def test_objects_without_labels_are_unlabelled():
    examples = read({"tokens": ["a"]}, {"text": "a b"}, {"tokens": ["a"], "labels": None}, {"tokens": []})
    assert [example.labels for example in examples] == [None] * 4
    assert [example.tokens for example in examples] == [["a"], ["a", "b"], ["a"], []]


def test_what_cannot_be_aligned_is_reported():
    marked = [[0, 4, "PER"], [6, 8, "ODD"], [2, 8, "ODD"], [99, 100, "ODD"], [3, 3, "ODD"]]
    (example,) = read({"text": TEXT, "labels": marked})
    assert example.labels == ["B-PER", "O", "O", "O"]
    assert [[wrong.span.start, wrong.span.stop, wrong.span.type] for wrong in example.misaligned] == marked[1:]


def test_offsets_that_contradict_the_quoted_text_are_reported():
    record = {"text": "😀 Anna", "label": [{"start": 3, "end": 7, "text": "Anna", "labels": ["PER"]}]}
    (wrong,) = read(record)[0].misaligned
    assert "outside" in wrong.reason
    record = {"text": "😀 Anna met", "label": [{"start": 3, "end": 7, "text": "Anna", "labels": ["PER"]}]}
    (wrong,) = read(record)[0].misaligned
    assert "is on 'nna ', but was marked as 'Anna'" in wrong.reason


def test_two_labels_on_one_span_are_one_and_one_reported():
    (example,) = read({"text": "Anna", "label": [{"start": 0, "end": 4, "labels": ["PER", "ORG"]}]})
    assert example.labels == ["B-PER"]
    assert [wrong.span.type for wrong in example.misaligned] == ["ORG"]


@pytest.mark.parametrize(
    ("record", "options", "found"),
    [
        ("[1, 2]", {}, r"expected an object in braces, found \[1, 2\].*must be the whole file"),
        ("{", {}, "this is not JSON"),
        ("[" * 100_000, {}, "this is not JSON"),
        ("9" * 5000, {}, "this is not JSON|expected an object"),
        ("{}", {}, "neither 'tokens' nor 'text'"),
        ('{"tokens": ["a", "b"], "labels": ["O"]}', {}, "'labels' has 1 labels but 'tokens' has 2 tokens"),
        ('{"tokens": "ab"}', {}, "'tokens' must be a list of strings"),
        ('{"tokens": ["a", 3]}', {}, r"tokens\[1\] must be a string, found 3"),
        ('{"tokens": ["a"], "labels": [null]}', {}, r"labels\[0\] must be a string"),
        ('{"tokens": ["a"], "tags": [1]}', {}, "Pass the list of label names as names"),
        ('{"tokens": ["a"], "tags": [-100]}', {"names": ["O"]}, "-100"),
        ('{"tokens": ["a"], "tags": [2]}', {"names": ["O"]}, "has 2, but names has the labels 0 to 0"),
        ('{"tokens": ["a"], "tags": ["O"]}', {"labels": "pos"}, "found no 'pos'"),
        ('{"text": 3}', {}, "'text' must be a string"),
        ('{"text": "a", "labels": [[0, 1]]}', {}, r"labels\[0\] must be a span"),
        ('{"text": "a", "labels": [["0", 1, "X"]]}', {}, r"labels\[0\] must be a span"),
        ('{"text": "a", "labels": "X"}', {}, "must be a list of spans"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1}]}', {}, r"spans\[0\] must be a span"),
        ('{"text": "a", "annotations": [{"result": []}, {"result": []}]}', {}, "2 annotations"),
        ('{"text": "a", "annotations": [{"result": 1}]}', {}, "list 'result'"),
        ('{"text": "a", "tokens": ["b"], "spans": []}', {}, "not in the text"),
        ('{"text": "a", "tokens": [{"start": 0, "end": 5}]}', {}, r"offsets\[0\]"),
        ('{"text": "a", "tokens": [{"start": 0}]}', {}, "objects with 'start' and 'end'"),
    ],
)
def test_mistakes_are_named_with_their_line(record, options, found):
    good = '{"tokens": [], "pos": [], "tags": []}\n\n'
    with pytest.raises(InvalidInput, match=f"^<input>, line 3: .*({found})"):
        list(read_jsonl(io.StringIO(good + record), **options))


@pytest.mark.parametrize("options", [{"policy": "x"}, {"scheme": "x"}, {"tokenizer": "x"}, {"names": "x"}])
def test_bad_arguments_are_refused_before_anything_is_read(options):
    with pytest.raises(InvalidInput, match=next(iter(options))):
        read_jsonl("no such file", **options)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("tokens", {"tokens": ["Zoë", "met"], "labels": ["B-PER", "O"]}),
        ("doccano", {"text": "Zoë met", "label": [[0, 3, "PER"]]}),
        ("doccano-entities", {"text": "Zoë met", "entities": [{"start_offset": 0, "end_offset": 3, "label": "PER"}]}),
        ("prodigy", {"text": "Zoë met", "spans": [{"start": 0, "end": 3, "label": "PER"}]}),
    ],
)
def test_forms_that_are_written(form, expected):
    line = written([(["Zoë", "met"], ["B-PER", "O"])], form=form)
    assert json.loads(line) == expected
    assert "Zoë" in line


@pytest.mark.parametrize("form", ["doccano", "doccano-entities", "prodigy"])
def test_misaligned_spans_are_written_back(form):
    record = {"text": TEXT, "label": [[0, 4, "PER"], [6, 8, "ODD"]]}
    line = written(read(record), form=form)
    assert json.loads(written(list(read_jsonl(io.StringIO(line))), form="doccano")) == record


def test_dicts_are_written_as_they_are_and_surrogates_survive():
    record = {"text": "\ud83d lone", "more": [1, None]}
    assert json.loads(written([record])) == record
    assert json.loads(written([{"a": "é"}], encoding="ascii")) == {"a": "é"}


@pytest.mark.parametrize(
    ("example", "found"),
    [
        ((["a"], ["O", "O"]), r"examples\[0\] has 2 labels but 1 tokens"),
        (([3], ["O"]), "must be a string"),
        ({"a": object()}, "cannot be written as JSON"),
        (7, "must be an Example"),
    ],
)
def test_what_cannot_be_written_is_refused(example, found):
    with pytest.raises(InvalidInput, match=found):
        written([example])
    with pytest.raises(InvalidInput, match="form must be"):
        written([], form="brat")


@st.composite
def examples(draw):
    tokens = draw(st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=4), max_size=6))
    cuts = sorted(draw(st.sets(st.integers(0, len(tokens)), max_size=4)))
    found = [(draw(st.sampled_from(["PER", "LOC"])), a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    return Example(tokens, labels_from_spans(found, len(tokens)))


@given(st.lists(examples(), max_size=3), st.sampled_from(["tokens", "doccano", "doccano-entities", "prodigy"]))
def test_what_is_written_is_read_back(examples, form):
    data = written(examples, form=form).encode()
    back = list(read_jsonl(io.BytesIO(data), tokenizer="whitespace"))
    assert [(example.tokens, example.labels) for example in back] == [(x.tokens, x.labels) for x in examples]
    assert not any(example.misaligned for example in back)


ANSWERED = [{"tokens": [str(i)], "labels": ["B-X"], "answer": answer} for i, answer in enumerate("arriaa")]
for record in ANSWERED:
    record["answer"] = {"a": "accept", "r": "reject", "i": "ignore"}[record["answer"]]


def test_what_an_annotator_rejected_or_ignored_is_no_gold():
    lines = "\n".join(map(json.dumps, ANSWERED))
    with pytest.warns(
        UserWarning, match="^<input>: left out 1 with the answer 'ignore' and 2 with the answer 'reject'"
    ):
        assert [example.tokens for example in read_jsonl(io.StringIO(lines))] == [["0"], ["4"], ["5"]]
    assert len(list(read_jsonl(io.StringIO(lines), answers=None))) == 6
    with pytest.warns(UserWarning, match="left out 3 with the answer 'accept'"):
        assert [example.tokens for example in read_jsonl(io.StringIO(lines), answers=["reject", "ignore"])] == [
            ["1"],
            ["2"],
            ["3"],
        ]


def test_answers_that_are_not_prodigys_say_nothing():
    record = {"tokens": ["Who"], "labels": ["O"], "answer": "Anna"}
    assert [example.labels for example in read_jsonl(io.StringIO(json.dumps(record)))] == [["O"]]
    assert [example.labels for example in read_jsonl(io.StringIO(json.dumps(record | {"answer": ["a"]})))] == [["O"]]


def test_tasks_of_label_studio_that_were_skipped_are_no_gold_and_new_ones_are_unlabelled():
    skipped = {"data": {"text": TEXT}, "annotations": [{"was_cancelled": True, "result": []}]}
    with pytest.warns(UserWarning, match="left out 1 with the answer 'ignore'"):
        assert list(read_jsonl(io.StringIO(json.dumps(skipped)))) == []
    assert next(read_jsonl(io.StringIO(json.dumps(skipped | {"annotations": []})))).labels is None


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("form", FORMS)
def test_a_list_is_read_as_its_objects_are_line_by_line(form, indent):
    records = [
        FORMS[form],
        {"tokens": ["],[", '}{"\\', "\n"], "labels": ["O", ",", "["]},
        {"text": "a [b", "spans": []},
    ]
    names = ["O", "B-PER"]
    lines = list(read_jsonl(io.StringIO("\n".join(map(json.dumps, records))), names=names))
    listed = list(read_jsonl(io.StringIO(json.dumps(records, indent=indent)), names=names))
    assert [example._replace(line=0) for example in listed] == [example._replace(line=0) for example in lines]
    assert [example.line for example in lines] == [1, 2, 3]
    if indent is None:
        assert [example.line for example in listed] == [1, 1, 1]
    else:
        text = json.dumps(records, indent=indent).splitlines()
        assert [text[example.line - 1].strip() for example in listed] == ["{"] * 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[\n{},\n{}", "line 2: found neither"),
        ('[\n{"tokens": []},\n{"tokens": [', "line 3: the list that begins the file is not closed"),
        ("[", "line 1: the list that begins the file is not closed"),
        ('[{"tokens": []},\n]', "line 2: an item of the list is missing before ']'"),
        ('[\n,{"tokens": []}]', "line 2: an item of the list is missing before ','"),
        ('[{"tokens": []}]\n\n{}', "line 3: there is text behind the end of the list"),
        ('[{"tokens": []}] x', "line 1: there is text behind the end of the list"),
        ('[{"tokens": []},\n3]', "line 2: expected an object in braces, found 3"),
        ('[{"tokens": []},\n\n{"tokens" []}]', "line 3: this is not JSON"),
        ("[}", "line 1: found a brace that closes nothing"),
        ("[{]}]", "line 1: found a brace that closes nothing"),
    ],
)
def test_mistakes_in_a_list_are_named_with_their_line(text, found):
    with pytest.raises(InvalidInput, match=f"^<input>, {found}"):
        list(read_jsonl(io.StringIO(text)))


def test_an_empty_list_has_no_objects():
    assert list(read_jsonl(io.StringIO("[ ]\n"))) == []


@given(st.lists(st.dictionaries(st.text(), st.text() | st.lists(st.text())), max_size=4), st.sampled_from([None, 0, 1]))
def test_items_of_any_list_are_its_items(records, indent):
    lines = enumerate(json.dumps(records, indent=indent).split("\n"), 1)
    assert [json.loads(item) for _, item in json_items(lines, "any")] == records
