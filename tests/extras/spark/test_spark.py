"""Data frames of Spark, by a session of this machine: labels, trees and scores are those of one process."""

import datetime
import decimal
import os
import shutil
import signal
import sys

import pytest

pytest.importorskip("pyspark.sql", reason="pyspark is not installed (the extra `spark`)")
pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra `spark`)")
pytest.importorskip("pandas", reason="pandas is not installed (the extra `spark`)")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17, which is not installed", allow_module_level=True)

import pyarrow as pa
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import trelliswork as tw
from trelliswork import spark
from trelliswork.errors import InvalidInput

# Spark says of pandas 3 that it is not tested with it; its sockets are closed by the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WORDS = "id int, words array<string>"


@pytest.fixture(scope="module")
def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers are the Python of the system
    settings = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[2, 4]")  # two tasks at a time, each tried four times
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def corpus():
    return tw.corpora.ingredients()


@pytest.fixture(scope="module")
def tagger(corpus):
    return tw.SequenceLabeler(tw.CRF(l2=0.5), constraints="BIO").fit(corpus.X_train, corpus.y_train)


def words_frame(session, X, partitions=2):
    rows = [(i, None if x is None else list(x)) for i, x in enumerate(X)]
    return session.createDataFrame(session.sparkContext.parallelize(rows, partitions), WORDS)


def collected(frame):
    return sorted(frame.collect(), key=lambda row: row.id)


# ---- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partitions", [1, 3])
def test_answers_are_those_of_one_process(session, corpus, tagger, partitions):
    X = list(corpus.X_test)
    frame = spark.tag(tagger, words_frame(session, X, partitions), "words", output=["labels", "probabilities", "spans"])
    assert frame.rdd.getNumPartitions() == partitions
    rows = collected(frame)
    assert [row.words for row in rows] == [list(x) for x in X]
    assert [row.labels for row in rows] == tagger.predict(X)
    expected = pa.table(tw.arrow.tag(tagger, pa.table({"words": X}), output=["probabilities", "spans"]))
    for row, probabilities, spans in zip(rows, *expected.select([1, 2]).to_pydict().values(), strict=True):
        assert row.probabilities == pytest.approx(probabilities, rel=1e-12)  # by the rows they are summed beside
        assert [tuple(span)[:3] for span in row.spans] == [tuple(span.values())[:3] for span in spans]
        assert [span.probability for span in row.spans] == pytest.approx([span["probability"] for span in spans])


def test_text_is_cut_and_columns_are_named(session, tagger):
    frame = session.createDataFrame([(1, "2 ripe tomatoes, chopped"), (2, None), (3, "")], "id int, `a.line` string")
    tagged = spark.tag(tagger, frame, "a.line", keep=["id"], output={"tokens": "words", "labels": "ner"})
    assert tagged.columns == ["id", "words", "ner"]
    assert [row.words for row in collected(tagged)] == [["2", "ripe", "tomatoes", ",", "chopped"], None, []]
    assert [row.ner for row in collected(tagged)][1:] == [None, []]


def test_two_columns_of_one_name(session, tagger):
    frame = session.createDataFrame([(1, ["2", "eggs"])], WORDS)
    twice = frame.select("id", "words", "id")
    (row,) = spark.tag(tagger, twice, "words").collect()
    assert tuple(row) == (1, ["2", "eggs"], 1, ["B-QTY", "B-NAME"])


def test_partitions_without_rows(session, tagger):
    frame = words_frame(session, [["2", "eggs"], None, []], partitions=5)
    assert [row.labels for row in collected(spark.tag(tagger, frame, "words"))] == [["B-QTY", "B-NAME"], None, []]
    assert spark.tag(tagger, frame.limit(0), "words").collect() == []


def test_other_columns_come_back_as_they_were(session, tagger):
    schema = """id int, words array<string>, price decimal(9, 2), day date, time timestamp, raw binary,
                tags map<string, int>, nested struct<a: int, b: array<double>>, flag boolean"""
    time = datetime.datetime(2024, 2, 29, 12, 30, 0, 5)
    row = (1, ["2", "eggs"], decimal.Decimal("1.25"), time.date(), time, b"\0\1", {"a": 1}, (1, [0.5]), True)
    frame = session.createDataFrame([row, (2, *[None] * 8)], schema)
    tagged = spark.tag(tagger, frame, "words")
    assert tagged.schema[: len(frame.schema)] == frame.schema
    assert [tuple(row)[:-1] for row in collected(tagged)] == [tuple(row) for row in collected(frame)]


@pytest.mark.parametrize(
    "model",
    [
        tw.HMM(),
        tw.SegmentLabeler(hash_bits=12),
        tw.SegmentLabeler(hash_bits=12, segment_features=lambda x, start, stop: [f"long={stop - start > 1}"]),
        tw.Committee(tw.SequenceLabeler("perceptron"), tw.SequenceLabeler("pa"), folds=2),
    ],
    ids=["hmm", "segments", "segments with a function", "committee"],
)
def test_every_kind_of_model(session, corpus, model):
    model = model.fit(corpus.X_train, corpus.y_train)
    X = list(corpus.X_test)[:20]
    rows = collected(spark.tag(model, words_frame(session, X), "words"))
    assert [row.labels for row in rows] == model.predict(X)


def test_what_is_wrong_is_said_before_anything_runs(session, tagger):
    frame = words_frame(session, [["2", "eggs"]])
    with pytest.raises(InvalidInput, match="no column 'line'"):
        spark.tag(tagger, frame, "line")
    with pytest.raises(InvalidInput, match=r"'id' has the type int; expected string or array<string>"):
        spark.tag(tagger, frame, "id")
    with pytest.raises(InvalidInput, match="has a column 'words' already"):
        spark.tag(tagger, frame, "words", output={"labels": "words"})
    with pytest.raises(InvalidInput, match="keep: the table has no column 'other'"):
        spark.tag(tagger, frame, "words", keep=["other"])
    with pytest.raises(InvalidInput, match="output has 'heads'"):
        spark.tag(tagger, frame, "words", output="heads")
    with pytest.raises(InvalidInput, match="expected a data frame of Spark"):
        spark.tag(tagger, [["2", "eggs"]])
    with pytest.raises(ValueError, match="not fitted"):
        spark.tag(tw.SequenceLabeler(), frame, "words")
    with pytest.raises(InvalidInput, match="expected one that labels sequences"):
        spark.tag("recipes.tw", frame, "words")


def test_what_is_wrong_with_a_row_names_it(session, tagger):
    frame = session.createDataFrame([(1, ["2", "eggs"]), (2, ["2", None])], WORDS).coalesce(1)
    with pytest.raises(PythonException, match=r"InvalidInput: partition 0, row 1.*null"):
        spark.tag(tagger, frame, "words").collect()


# ---- workers ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="only Linux shows what a process has mapped")
def test_the_model_is_one_file_that_each_worker_opens_once(session, corpus, tagger):
    from trelliswork.spark import shipping

    frame = words_frame(session, corpus.X_test, partitions=6)
    shipped = shipping.ship(tagger, session)
    files = len(session.sparkContext.listFiles)

    def looked(batches):
        import os

        from trelliswork.spark import shipping

        assert sum(batch.num_rows for batch in batches)  # a worker that leaves rows unread is not used again
        loads, load = [], shipping.load
        shipping.load = lambda *given, **named: loads.append(given) or load(*given, **named)
        shipped.model()
        shipping.load = load
        with open("/proc/self/maps") as maps:
            mapped = sorted({line.split()[-1] for line in maps if shipped.name in line})
        yield pa.record_batch({"worker": [os.getpid()], "loads": [len(loads)], "mapped": [mapped]})

    rows = frame.mapInArrow(looked, "worker long, loads long, mapped array<string>").collect()
    assert len(rows) == 6
    workers = {row.worker for row in rows}
    assert sum(row.loads for row in rows) <= len(workers) < len(rows)  # fewer if a test before this one used it
    assert {len(row.mapped) for row in rows} == {1}
    assert len({row.mapped[0] for row in rows}) == 1
    assert shipping.ship(tagger, session) == shipped
    assert len(session.sparkContext.listFiles) == files


def test_a_worker_that_is_killed_loses_nothing(session, corpus, tagger, tmp_path):
    marker = str(tmp_path / "killed")
    lines = [(i, " ".join(x)) for i, x in enumerate(corpus.X_test)]
    fatal = lines[len(lines) // 2 + 3][1]

    def cut(text):
        if text == fatal and not os.path.exists(marker):
            with open(marker, "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return text.split()

    frame = session.createDataFrame(session.sparkContext.parallelize(lines, 2), "id int, line string")
    rows = collected(spark.tag(tagger, frame, "line", tokenizer=cut))
    with open(marker) as file:
        assert int(file.read()) != os.getpid()
    assert [row.id for row in rows] == list(range(len(lines)))
    assert [row.labels for row in rows] == tagger.predict([line.split() for _, line in lines])


def test_a_worker_keeps_a_few_models(monkeypatch):
    from pyspark import SparkFiles

    from trelliswork.spark import shipping

    monkeypatch.setattr(SparkFiles, "get", lambda name: name)
    monkeypatch.setattr(shipping, "load", lambda path, segment_features: object())
    monkeypatch.setattr(shipping, "_opened", {})
    first = shipping.Shipped("0").model()
    for i in range(1, 8):
        shipping.Shipped(str(i)).model()
        assert shipping.Shipped("0").model() is first
    assert list(shipping._opened) == ["5", "6", "7", "0"]


# ---- trees -----------------------------------------------------------------------------------------------------------


def test_trees_are_those_of_one_process(session):
    treebank = tw.corpora.Treebank.from_sentences(tw.corpora.sentences())
    parser = tw.DependencyParser(hash_bits=18).fit(treebank)
    X, names = list(treebank.tokens), ["form", "lemma", "upos", "xpos", "feats"]
    rows = [(i, *([word[k] for word in x] for k in range(5))) for i, x in enumerate(X)]
    schema = "id int, " + ", ".join(f"{name} array<string>" for name in names)
    frame = session.createDataFrame([*rows, (len(X), *[None] * 5)], schema)
    parsed = spark.parse(parser, frame, names, keep=["id"])
    assert parsed.schema.simpleString() == "struct<id:int,heads:array<int>,relations:array<string>>"
    *found, last = collected(parsed)
    assert [(row.heads, row.relations) for row in found] == parser.predict(X)
    assert last.heads is None
    with pytest.raises(InvalidInput, match="looks at 5 columns"):
        spark.parse(parser, frame, "form")


# ---- scores ----------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_one_process(session, corpus, tagger):
    rows = [(i, list(x), list(y)) for i, (x, y) in enumerate(zip(corpus.X_test, corpus.y_test, strict=True))]
    frame = session.createDataFrame(session.sparkContext.parallelize(rows, 3), f"{WORDS}, `true labels` array<string>")
    tagged = spark.tag(tagger, frame, "words")
    found = spark.evaluate(tagged, "true labels", "labels")
    guesses = tagger.predict(corpus.X_test)
    assert found.span == tw.evaluation.span_scores(corpus.y_test, guesses)
    assert found.token == tw.evaluation.token_scores(corpus.y_test, guesses)
    assert str(found) == str(tw.evaluation.evaluate(corpus.y_test, guesses))
    assert 0.5 < found.span.f1 < 1


def test_scores_of_few_rows(session):
    schema = "gold array<string>, labels array<string>"
    frame = session.createDataFrame([(["N", "V"], ["N", "N"]), (None, None), ([], [])], schema)
    assert spark.evaluate(frame, scheme=None).token.accuracy == 0.5
    assert spark.evaluate(frame.limit(0)).token.n_tokens == 0
    with pytest.raises(
        PythonException, match=r"InvalidInput: partition \d+, y_true\[0\]: labels\[0\]: 'N' is not of the scheme BIO"
    ):
        spark.evaluate(frame)
    wrong = session.createDataFrame([(["N"], None)], schema)
    with pytest.raises(PythonException, match=r"InvalidInput: partition \d+, y_pred\[0\] is None"):
        spark.evaluate(wrong, scheme=None)
    with pytest.raises(InvalidInput, match="no single column 'tags'"):
        spark.evaluate(frame, "tags")
    with pytest.raises(InvalidInput, match="the type int; expected array<string>"):
        spark.evaluate(frame.selectExpr("size(gold) as gold", "labels"))
    with pytest.raises(InvalidInput, match="scheme"):
        spark.evaluate(frame, scheme="nonsense")
