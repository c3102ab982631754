"""Columns of lists as X and y, tables of examples, and the libraries that hand them over."""

import pytest

import trelliswork as tw

pa = pytest.importorskip("pyarrow", reason="columns are made by pyarrow")

X = [["Ann", "Lee", "sings"], ["Bo", "hums"], [], ["the", "choir", "sings"]]
Y = [["B-PER", "I-PER", "O"], ["B-PER", "O"], [], ["O", "O", "O"]]
NAMES = ["O", "B-PER", "I-PER"]


def columns_of(values):
    yield pa.array(values)
    yield pa.chunked_array([values[:1], values[1:3], values[3:]], pa.large_list(pa.string()))
    polars = pytest.importorskip("polars", reason="a column of polars")
    yield polars.Series(values)


ESTIMATORS = {
    "sequences": lambda: tw.SequenceLabeler(tw.CRF(l2=0.1)),
    "segments": lambda: tw.SegmentLabeler(tw.CRF(l2=0.1)),
    "hmm": lambda: tw.HMM(unknown="suffix"),
    "perceptron": lambda: tw.SequenceLabeler("perceptron"),
}


@pytest.mark.filterwarnings("ignore::trelliswork.errors.UncalibratedScores")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_columns_are_learned_from_as_lists_are(name):
    lists = ESTIMATORS[name]().fit(X, Y)
    for tokens, labels in zip(columns_of(X), columns_of(Y), strict=True):
        model = ESTIMATORS[name]().fit(tokens, labels)
        assert model.predict(tokens) == lists.predict(X)
        assert model.score(tokens, labels) == lists.score(X, Y)
        for got, expected in zip(model.predict_marginals(tokens), lists.predict_marginals(X), strict=True):
            assert (got == expected).all()


def test_development_data_and_log_probabilities():
    tokens, labels = pa.array(X), pa.array(Y)
    by_lists = tw.SequenceLabeler().fit(X, Y, X, Y)
    by_columns = tw.SequenceLabeler().fit(tokens, labels, tokens, labels)
    assert by_columns.log_prob(tokens, labels).tolist() == by_lists.log_prob(X, Y).tolist()


def test_labels_that_are_missing():
    labels = pa.array([["B-PER", None, "O"], None, [], ["O", "O", "O"]])
    learned = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit(pa.array(X), labels)
    lists = tw.SequenceLabeler(tw.CRF(l2=0.1)).fit(X, [["B-PER", None, "O"], None, [], ["O", "O", "O"]])
    assert [(weight.attribute, weight.weight) for weight in learned.weights()] == [
        (weight.attribute, weight.weight) for weight in lists.weights()
    ]


def test_columns_that_are_no_lists_of_text():
    tagger = tw.SequenceLabeler().fit(X, Y)
    with pytest.raises(tw.InvalidInput, match="X: row 1 is null"):
        tagger.predict(pa.array([["a"], None]))
    with pytest.raises(tw.InvalidInput, match="X: row 0 has a null at position 0"):
        tagger.predict(pa.array([[None, "a"]]))
    for other in (pa.array(["Ann sings"]), pa.array([[1, 2]]), pa.table({"words": X})):
        with pytest.raises(tw.InvalidInput):
            tagger.predict(other)
    with pytest.raises(tw.InvalidInput, match="y has 1 label lists but X has 4 sequences"):
        tw.SequenceLabeler().fit(pa.array(X), pa.array([["O", "O", "O"]]))


def test_examples_of_a_table():
    numbers = [[NAMES.index(label) for label in labels] for labels in Y]
    table = pa.table({"tokens": X, "ner_tags": numbers, "text": Y})
    for got, labels in (tw.arrow.examples(table, names=NAMES), tw.arrow.examples(table, labels="text")):
        assert list(got) == X
        assert list(labels) == Y
    tokens, _ = tw.arrow.examples(pa.table({"a": X, "b": Y, "ner_tags": Y}), ["a", "b"])
    assert tokens[1] == [("Bo", "B-PER"), ("hums", "O")]
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])
    assert list(tw.arrow.examples(chunked, names=NAMES)[1]) == Y
    empty = tw.arrow.examples(table.slice(0, 0), names=NAMES)
    assert list(empty[0]) == list(empty[1]) == []


def test_examples_without_labels():
    table = pa.table({"tokens": [["a", "b"], ["c"], ["d"]], "ner_tags": [[1, -100], None, [0]]})
    assert tw.arrow.examples(table, names=NAMES)[1] == [["B-PER", None], None, ["O"]]


def test_examples_that_are_refused():
    table = pa.table({"tokens": X, "ner_tags": [[0], [3], [], []], "id": [1, 2, 3, 4]})
    with pytest.raises(tw.InvalidInput, match="there is a label 3, but only 3 names"):
        tw.arrow.examples(table, names=NAMES)
    with pytest.raises(tw.InvalidInput, match=r"'ner_tags' has numbers: pass the label of each"):
        tw.arrow.examples(table)
    with pytest.raises(tw.InvalidInput, match=r"no single column 'words' in the table, which has 'tokens'"):
        tw.arrow.examples(table, "words")
    with pytest.raises(tw.InvalidInput, match=r"'id' has the type int64; expected lists of text or of integers"):
        tw.arrow.examples(table, labels="id")
    with pytest.raises(tw.InvalidInput, match=r"'ner_tags' has the type list<int64>; expected lists of text\."):
        tw.arrow.examples(table, "ner_tags", "tokens")
    with pytest.raises(tw.InvalidInput, match=r"has the splits 'train'. Choose one"):
        tw.arrow.examples({"train": table})
    with pytest.raises(tw.InvalidInput, match="expected a Dataset"):
        tw.arrow.examples([1, 2])


def test_hugging_face_datasets():
    datasets = pytest.importorskip("datasets", reason="a dataset of Hugging Face")
    features = datasets.Features(
        {
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(datasets.ClassLabel(names=NAMES)),
        }
    )
    numbers = [[NAMES.index(label) for label in labels] for labels in Y]
    dataset = datasets.Dataset.from_dict({"tokens": X, "ner_tags": numbers}, features)
    tokens, labels = tw.arrow.examples(dataset)
    assert list(tokens) == X
    assert list(labels) == Y
    some = dataset.select([3, 0])  # in another order than the memory has
    assert list(tw.arrow.examples(some)[0]) == [X[3], X[0]]
    assert list(tw.arrow.examples(some)[1]) == [Y[3], Y[0]]
    with pytest.raises(tw.InvalidInput, match="Choose one"):
        tw.arrow.examples(datasets.DatasetDict(train=dataset))
    tagger = tw.SequenceLabeler().fit(tokens, labels)
    added = dataset.map(lambda part: {"found": tagger.predict(part["tokens"])}, batched=True)
    assert added["found"][0] == Y[0]
    assert tagger.predict(dataset["tokens"]) == tagger.predict(X)
    strings = datasets.Dataset.from_dict({"tokens": X, "ner_tags": Y})
    assert list(tw.arrow.examples(strings)[1]) == Y
    tagged = tw.arrow.tag(tagger, dataset.with_format("arrow")[:], "tokens")
    assert datasets.Dataset(pa.table(tagged)).column_names == ["tokens", "ner_tags", "labels"]


@pytest.fixture(scope="module")
def tagger():
    return tw.SequenceLabeler(tw.CRF(l2=0.01), constraints="BIO").fit(X, Y)


ROWS = {"id": [1, 2, 3], "note": ["Ann Lee hums.", None, "Bo sings"]}


def test_pandas(tagger):
    pandas = pytest.importorskip("pandas", minversion="2.2", reason="a data frame of pandas")
    frame = pandas.DataFrame(ROWS)
    tagged = pa.table(tw.arrow.tag(tagger, frame, "note", output="spans")).to_pandas()
    assert tagged["id"].tolist() == [1, 2, 3]
    assert [span["text"] for span in tagged["spans"][0]] == ["Ann Lee"]
    assert tagged["spans"][1] is None
    words = pandas.DataFrame({"words": X})
    assert pa.table(tw.arrow.tag(tagger, words))["labels"].to_pylist() == tagger.predict(X)
    assert tagger.predict(words["words"]) == tagger.predict(X)
    category = pandas.DataFrame({"note": pandas.Categorical(ROWS["note"])})
    assert pa.table(tw.arrow.tag(tagger, category, output="tokens"))["tokens"].to_pylist()[1:] == [
        None,
        ["Bo", "sings"],
    ]


def test_polars(tagger):
    polars = pytest.importorskip("polars", reason="a data frame of polars")
    frame = polars.DataFrame(ROWS)
    tagged = polars.DataFrame(tw.arrow.tag(tagger, frame, "note", output="spans", batch_size=2))
    assert tagged["id"].to_list() == [1, 2, 3]
    assert tagged["spans"].list.eval(polars.element().struct.field("text")).to_list() == [["Ann Lee"], None, ["Bo"]]
    assert polars.DataFrame(tw.arrow.tag(tagger, frame["note"]))["tokens"].to_list()[2] == ["Bo", "sings"]
    enum = frame.with_columns(polars.col("note").cast(polars.Categorical))
    assert polars.DataFrame(tw.arrow.tag(tagger, enum, "note"))["tokens"].to_list()[1:] == [None, ["Bo", "sings"]]


def test_duckdb(tagger):
    duckdb = pytest.importorskip("duckdb", reason="a relation of DuckDB")
    notes = pa.table(ROWS)
    relation = duckdb.sql("select * from notes order by id")
    tagged = tw.arrow.tag(tagger, relation, "note", output="spans")  # noqa: F841
    found = duckdb.sql("select id, unnest(spans).text as name from tagged order by id").fetchall()
    assert found == [(1, "Ann Lee"), (3, "Bo")]
    reader = tw.arrow.tag_batches(tagger, notes, "note", batch_size=1)  # noqa: F841
    assert duckdb.sql("select count(*) from reader where note is not null").fetchall() == [(2,)]
