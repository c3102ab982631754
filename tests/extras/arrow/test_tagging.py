"""What comes back for which model and which output, and what is refused."""

import gc
import io
import itertools

import pytest

import trelliswork as tw
from interrupting import assert_interruptible

pa = pytest.importorskip("pyarrow", reason="tables are made by pyarrow")

X = [["Ann", "Lee", "sings"], ["Bo", "hums", "."], ["the", "choir", "sings", "."]]
Y = [["B-PER", "I-PER", "O"], ["B-PER", "O", "O"], ["O", "O", "O", "O"]]
ROWS = [["Ann", "Lee", "hums"], [], None, ["Bo", "sings", "."]]
FULL = [row for row in ROWS if row is not None]


@pytest.fixture(scope="module")
def tagger():
    return tw.SequenceLabeler(tw.CRF(l2=0.01), constraints="BIO").fit(X, Y)


@pytest.fixture
def table():
    return pa.table({"id": [1, 2, 3, 4], "words": ROWS})


def with_nulls(answers):
    """Answers to FULL as answers to ROWS."""
    left = iter(answers)
    return [None if row is None else next(left) for row in ROWS]


def as_dicts(spans, **more):
    return [{"start": s.start, "stop": s.stop, "type": s.type, "probability": s.probability} for s in spans]


def saved(model, name):
    file = io.BytesIO()
    model.save(file)
    return tw.load(file.getvalue())


MODELS = {
    "crf": lambda: tw.SequenceLabeler(tw.CRF(l2=0.01)),
    "loaded": lambda: tw.SequenceLabeler(),
    "memm": lambda: tw.SequenceLabeler(tw.MEMM()),
    "second order": lambda: tw.SequenceLabeler(order=2),
    "minimum risk": lambda: tw.SequenceLabeler(decoder="mbr"),
    "hmm": lambda: tw.HMM(unknown="suffix"),
    "committee": lambda: tw.Committee(tw.SequenceLabeler(), tw.SequenceLabeler(tw.CRF(l2=0.1)), folds=3, k=2),
}


@pytest.mark.filterwarnings("ignore::trelliswork.errors.UnknownAttributes")  # the committee's parts know little
@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_labels_gives_what_it_says_of_lists(name, table):
    model = MODELS[name]().fit(X, Y)
    model = saved(model, name) if name == "loaded" else model
    tagged = pa.table(tw.arrow.tag(model, table, "words", output=("labels", "probabilities", "spans")))
    tagged.validate(full=True)
    labels, marginals = model.predict(FULL), model.predict_marginals(FULL)
    place = {label: k for k, label in enumerate(model.classes_)}
    expected = [
        [float(row[place[label]]) for row, label in zip(rows, own, strict=True)]
        for rows, own in zip(marginals, labels, strict=True)
    ]
    assert tagged["labels"].to_pylist() == with_nulls(labels)
    assert tagged["probabilities"].to_pylist() == with_nulls(expected)
    assert tagged["spans"].to_pylist() == with_nulls(map(as_dicts, model.predict_spans(FULL)))


def test_segments(table):
    model = tw.SegmentLabeler(tw.CRF(l2=0.01)).fit(X, Y)
    tagged = pa.table(tw.arrow.tag(model, table, "words", output=("labels", "spans")))
    assert tagged["labels"].to_pylist() == with_nulls(model.predict(FULL))
    assert tagged["spans"].to_pylist() == with_nulls(map(as_dicts, model.predict_spans(FULL)))
    with pytest.raises(tw.InvalidInput, match="probabilities of segments, not of tokens"):
        tw.arrow.tag(model, table, "words", output="probabilities")
    spans = tw.SegmentLabeler(tw.CRF(l2=0.01)).fit(X, [[(0, 2, "PER")], [(0, 1, "PER")], []])
    with pytest.raises(tw.InvalidInput, match="trained on spans"):
        tw.arrow.tag(spans, table, "words")
    found = pa.table(tw.arrow.tag(spans, table, "words", output="spans"))
    assert found["spans"].to_pylist() == with_nulls(map(as_dicts, spans.predict_spans(FULL)))


@pytest.mark.parametrize("to", ["to_wapiti", "to_crfpp"])
def test_models_of_wapiti_and_crfpp(to, table):
    from trelliswork.models import crfpp, wapiti

    lines = "u:%x[0,0]\nu:%x[-1,0]\nb" if to == "to_wapiti" else "U00:%x[0,0]\nU01:%x[-1,0]\nB"
    trained = tw.SequenceLabeler(features=tw.Templates(lines)).fit(X, Y)
    write = getattr(wapiti if to == "to_wapiti" else crfpp, to)
    model = tw.load(write(*trained.exported()))
    assert pa.table(tw.arrow.tag(model, table, "words"))["labels"].to_pylist() == with_nulls(model.predict(FULL))


def test_models_that_do_not_read_words(table):
    attributes = tw.SequenceLabeler().fit([[["w=the"], ["w=dog"]]], [["D", "N"]])
    with pytest.raises(tw.InvalidInput, match=r"trained on attributes.* a table has words"):
        tw.arrow.tag(attributes, table, "words")
    from trelliswork.models.crfsuite import to_crfsuite

    with pytest.raises(tw.InvalidInput, match="trained on attributes"):
        tw.arrow.tag(tw.load(to_crfsuite(*attributes.exported())), table, "words")
    for other in (tw.MulticlassClassifier(), None, "model.tw"):
        with pytest.raises(tw.InvalidInput, match="expected one that labels sequences"):
            tw.arrow.tag(other, table, "words")
    numbers = tw.HMM(n_states=2, random_state=0).fit(X)
    with pytest.raises(tw.InvalidInput, match="only those that are strings"):
        tw.arrow.tag(numbers, table, "words")


def test_a_model_that_is_not_fitted(table):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        tw.arrow.tag(tw.SequenceLabeler(), table, "words")


def test_labels_that_spell_no_spans(table):
    model = tw.SequenceLabeler().fit([["the", "dog"]], [["D", "N"]])
    with pytest.raises(tw.InvalidInput, match="spell no spans"):
        tw.arrow.tag(model, pa.table({"words": [["the"]]}), output="spans")
    hmm = tw.HMM().fit([["the", "dog"]], [["D", "N"]])
    with pytest.raises(tw.InvalidInput, match="spell no spans"):
        tw.arrow.tag(hmm, pa.table({"words": [["the"]]}), output="spans")


def test_wrong_columns(tagger, table):
    with pytest.raises(tw.InvalidInput, match=r"no column 'text'. It has the columns 'id', 'words'"):
        tw.arrow.tag(tagger, table, "text")
    with pytest.raises(tw.InvalidInput, match=r"the columns 'id', 'words'. Say which one"):
        tw.arrow.tag(tagger, table)
    with pytest.raises(tw.InvalidInput, match=r"'id' has the type int64; expected text \(string"):
        tw.arrow.tag(tagger, table, "id")
    with pytest.raises(tw.InvalidInput, match="no columns"):
        tw.arrow.tag(tagger, pa.table({}))
    with pytest.raises(tw.InvalidInput, match="no columns"):
        tw.arrow.tag(tagger, pa.table({}), "words")
    with pytest.raises(tw.InvalidInput, match="is there twice"):
        tw.arrow.tag(tagger, pa.Table.from_arrays([pa.array(["a"])] * 2, ["words", "words"]), "words")
    with pytest.raises(tw.InvalidInput, match="this is a single column"):
        tw.arrow.tag(tagger, pa.array(["a"]), "words")
    with pytest.raises(tw.InvalidInput, match="keep: the table has no column 'text'"):
        tw.arrow.tag(tagger, table, "words", keep=["text"])
    with pytest.raises(tw.InvalidInput, match="column is empty"):
        tw.arrow.tag(tagger, table, [])
    with pytest.raises(tw.InvalidInput, match="several columns of a token are lists"):
        tw.arrow.tag(tagger, pa.table({"a": ["x"], "b": [["x"]]}), ["b", "a"])
    for kind in (pa.list_(pa.int64()), pa.list_(pa.list_(pa.string())), pa.binary(), pa.map_(pa.string(), pa.string())):
        with pytest.raises(tw.InvalidInput, match="has the type"):
            tw.arrow.tag(tagger, pa.table({"words": pa.array([], kind)}))


def test_wrong_arguments(tagger, table):
    for output, told in (
        ("label", "expected some of 'tokens', 'labels'"),
        ([], "at least one answer"),
        ({"labels": 3}, "the name of a column"),
        ({"labels": "a", "spans": "a"}, "a name for each"),
        ("tokens", "has them already"),
    ):
        with pytest.raises(tw.InvalidInput, match=told):
            tw.arrow.tag(tagger, table, "words", output=output)
    with pytest.raises(tw.InvalidInput, match="has a column 'id' already"):
        tw.arrow.tag(tagger, table, "words", output={"labels": "id"})
    with pytest.raises(tw.InvalidInput, match="tokenizer cuts text"):
        tw.arrow.tag(tagger, table, "words", tokenizer="words")
    with pytest.raises(tw.InvalidInput, match="tokenizer must be"):
        tw.arrow.tag(tagger, table, "words", tokenizer="letters")
    with pytest.raises(tw.InvalidInput, match="batch_size must be at least 1"):
        tw.arrow.tag(tagger, table, "words", batch_size=0)
    with pytest.raises(tw.InvalidInput, match="n_jobs"):
        tw.arrow.tag(tagger, table, "words", n_jobs=0)
    for other in (ROWS, None, "table", {"words": ROWS}):
        with pytest.raises(tw.InvalidInput, match="expected a table"):
            tw.arrow.tag(tagger, other, "words")
    for other in (None, "table", {"words": ROWS}):
        with pytest.raises(tw.InvalidInput, match="expected a table"):
            tw.arrow.tag_batches(tagger, other, "words")
    with pytest.raises(tw.InvalidInput, match="a batch is"):
        next(tw.arrow.tag_batches(tagger, [ROWS], "words"))


def test_names_of_answers_and_what_is_kept(tagger, table):
    assert tw.arrow.tag(tagger, table, "words", output={"labels": "ner"}, keep=["id"]).column_names == ["id", "ner"]
    assert tw.arrow.tag(tagger, table, "words", keep=[]).column_names == ["labels"]
    assert tw.arrow.tag(tagger, table, "words", keep="id").column_names == ["id", "labels"]
    tagged = tw.arrow.tag(tagger, table, "words", output={"labels": "words"}, keep=["id"])
    assert pa.table(tagged)["words"].to_pylist() == with_nulls(tagger.predict(FULL))


def test_a_null_token_and_ragged_columns(tagger):
    with pytest.raises(tw.InvalidInput, match="row 3 has a null at position 1"):
        tw.arrow.tag(tagger, pa.chunked_array([[["a"]] * 2, [["a"], ["a", None]]]), batch_size=1)
    pairs = tw.SequenceLabeler().fit([[("the", "D"), ("dog", "N")]], [["O", "B-X"]])
    ragged = pa.table({"word": [["the", "dog"], ["a"]], "tag": [["D", "N"], ["D", "N"]]})
    with pytest.raises(tw.InvalidInput, match="row 1 has 1 values in 'word' but 2 in 'tag'"):
        tw.arrow.tag(pairs, ragged, ["word", "tag"])
    with pytest.raises(tw.InvalidInput, match="looks at 2 columns of each token, and column names 1"):
        tw.arrow.tag(pairs, ragged, "word")
    with pytest.raises(tw.InvalidInput, match="looks at 2 columns"):
        tw.arrow.tag(pairs, pa.array(["the dog"]))


def test_what_is_wrong_in_a_row_is_said_by_its_number():
    hmm = tw.HMM(unknown="error").fit([["the", "dog"]], [["D", "N"]])
    words = pa.chunked_array([[["the"], ["dog"]], [None, ["the", "cat"]]])
    with pytest.raises(tw.InvalidInput, match=r"row 3, token 1 is 'cat', which is not one of the 2 tokens"):
        tw.arrow.tag(hmm, words, batch_size=1)
    tagger = tw.SequenceLabeler(constraints="BIO").fit([["a"]], [["O"]])
    with pytest.raises(tw.InvalidInput, match=r"row 1: tokens\[0\] is 'B', which is not in the text"):
        tw.arrow.tag(tagger, pa.array(["a", "b"]), tokenizer=lambda text: [text.upper() if text == "b" else text])


def test_no_rows(tagger, table):
    for nothing in (table.slice(0, 0), pa.table({"id": pa.array([], pa.int64()), "words": pa.array([], pa.string())})):
        tagged = pa.table(tw.arrow.tag(tagger, nothing, "words", output=("labels", "probabilities", "spans")))
        assert tagged.num_rows == 0
        assert tagged.column_names == ["id", "words", "labels", "probabilities", "spans"]
    schema = pa.schema({"words": pa.list_(pa.string())})
    reader = tw.arrow.tag_batches(tagger, pa.RecordBatchReader.from_batches(schema, []))
    assert pa.RecordBatchReader.from_stream(reader).read_all().column_names == ["words", "labels"]


def test_the_type_without_rows_is_that_of_the_rows(tagger, table):
    output = ("labels", "probabilities", "spans")
    some, none = (pa.table(tw.arrow.tag(tagger, part, "words", output=output)) for part in (table, table.slice(0, 0)))
    assert some.schema == none.schema
    text = pa.table({"words": ["Ann sings"]})
    output = ("tokens", *output)
    some, none = (pa.table(tw.arrow.tag(tagger, part, "words", output=output)) for part in (text, text.slice(0, 0)))
    assert some.schema == none.schema


def test_batches_are_made_when_they_are_asked_for(tagger):
    asked = []

    def batches():
        for i in range(3):
            asked.append(i)
            yield pa.record_batch({"i": [i], "words": [["Ann", "sings"]]})

    reader = tw.arrow.tag_batches(tagger, batches(), "words")
    assert asked == []
    assert pa.record_batch(next(reader))["i"].to_pylist() == [0]
    assert asked == [0]
    assert [pa.record_batch(batch)["i"].to_pylist() for batch in reader] == [[1], [2]]
    assert list(tw.arrow.tag_batches(tagger, iter([]), "words")) == []
    with pytest.raises(tw.InvalidInput, match="there are no batches"):
        _ = tw.arrow.tag_batches(tagger, iter([]), "words").column_names


def test_batches_of_different_types(tagger):
    batches = [pa.record_batch({"words": [["Ann"]]}), pa.record_batch({"words": ["Ann"]})]
    reader = tw.arrow.tag_batches(tagger, batches, "words")
    next(reader)
    with pytest.raises(tw.InvalidInput, match="other columns than the first"):
        next(reader)


def test_what_is_wrong_with_a_table_is_said_at_once(tagger, table):
    with pytest.raises(tw.InvalidInput, match="no column 'text'"):
        tw.arrow.tag_batches(tagger, table, "text")


def test_errors_pass_through_whoever_reads(tagger):
    def batches():
        yield pa.record_batch({"words": [["Ann"]]})
        raise ValueError("the file has ended")

    reader = pa.RecordBatchReader.from_stream(tw.arrow.tag_batches(tagger, batches()))
    assert reader.read_next_batch().num_rows == 1
    with pytest.raises((pa.ArrowInvalid, OSError), match="the file has ended"):
        reader.read_next_batch()


def test_an_interrupt_passes_through_whoever_reads(tagger):
    def batches():
        yield pa.record_batch({"words": [["Ann"]]})
        raise KeyboardInterrupt

    reader = pa.RecordBatchReader.from_stream(tw.arrow.tag_batches(tagger, batches()))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        try:
            list(reader)
        except pa.ArrowInvalid:  # all that pyarrow knows of it; then Python hears of the interrupt itself
            for _ in range(1000):
                pass


def test_ctrl_c(tagger):
    many = pa.chunked_array([pa.array([["Ann", "Lee", "hums", "."]] * 50_000)] * 10)
    text = pa.array(["Ann Lee hums. " * 1_000_000])
    gc.disable()  # what is raised while garbage is collected is lost
    try:
        assert_interruptible(lambda: tw.arrow.tag(tagger, many))
        assert_interruptible(lambda: tw.arrow.tag(tagger, many.slice(0, 200_000), output="spans"))
        assert_interruptible(lambda: [tw.arrow.tag(tagger, text, output="tokens") for _ in range(20)])
    finally:
        gc.enable()


def test_rows_are_taken_by_their_length_too(tagger):
    text = pa.array(["Ann sings. " * 200_000] * 20)
    batches = [len(batch) for batch in tw.arrow.tag_batches(tagger, text, output="tokens")]
    assert sum(batches) == 20
    assert max(batches) < 10


def test_a_long_text(tagger):
    text = "Ann Lee sings. Bo hums. " * 50_000
    (row,) = pa.table(tw.arrow.tag(tagger, pa.array([text]), output="spans"))["spans"].to_pylist()
    assert {text[span["start"] : span["stop"]] for span in row} == {"Ann Lee", "Bo"} == {span["text"] for span in row}
    assert len(row) == 100_000


def test_threads_change_nothing(tagger):
    table = pa.table({"words": [["Ann", "Lee", "hums"], ["Bo", "sings", "."]] * 2000})
    one, four = (pa.table(tw.arrow.tag(tagger, table, n_jobs=jobs, output=("labels", "spans"))) for jobs in (1, 4))
    assert one.equals(four)
    assert tagger.n_jobs is None


@pytest.mark.slow
def test_a_million_rows_in_little_memory(tagger):
    import resource

    rows = pa.record_batch({"words": [["Ann", "Lee", "hums", "."]] * 100_000})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = [len(batch) for batch in tw.arrow.tag_batches(tagger, itertools.repeat(rows, 10))]
    assert sum(counts) == 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_the_answers_outlive_everything(tagger):
    def made():
        table = pa.table({"id": list(range(100)), "words": [["Ann", str(i)] for i in range(100)]})
        return pa.table(tw.arrow.tag(tagger, table, "words"))

    tagged = made()
    gc.collect()
    tagged.validate(full=True)
    assert tagged["id"].to_pylist() == list(range(100))


def test_what_comes_out_goes_in(tagger, table):
    first = tw.arrow.tag(tagger, table, "words")
    again = tw.arrow.tag(tagger, first, "words", output={"labels": "again"})
    tagged = pa.table(again)
    assert tagged["again"].to_pylist() == tagged["labels"].to_pylist()
    reader = tw.arrow.tag_batches(tagger, tw.arrow.tag_batches(tagger, table, "words"), "words", output={"labels": "b"})
    assert reader.column_names == ["id", "words", "labels", "b"]
    assert [len(batch) for batch in reader] == [4]
