"""Published corpora, read with the counts they are known by. They are not shipped: without them, these are skipped."""

import gzip
import io
from collections import Counter

import pytest

from reference.published import located
from trelliswork.corpora import (
    convert_labels,
    read_columns,
    read_conllu,
    read_jsonl,
    read_text,
    spans,
    suggest_scheme,
    validate_labels,
    write_columns,
    write_conllu,
    write_jsonl,
)


def unpacked(file):
    with gzip.open(located(file)) as lines:
        return lines.read()


@pytest.mark.parametrize(
    ("file", "sentences", "tokens", "forms", "tags", "labels", "chunks"),
    [
        ("conll2000/train.txt.gz", 8_936, 211_727, 19_122, 44, 22, 106_978),
        ("conll2000/test.txt.gz", 2_012, 47_377, 8_118, 43, 19, 23_852),
        ("conll2002/esp.train.gz", 8_323, 264_715, 26_099, 59, 9, 18_798),
        ("conll2002/esp.testa.gz", 1_915, 52_923, 9_646, 56, 9, 4_352),
        ("conll2002/esp.testb.gz", 1_517, 51_533, 9_086, 53, 9, 3_559),
    ],
)
def test_shared_task_columns(file, sentences, tokens, forms, tags, labels, chunks):
    read = list(read_columns(located(file)))
    rows = [row for sentence in read for row in sentence.tokens]
    assert (len(read), len(rows)) == (sentences, tokens)
    assert len({word for word, _ in rows}) == forms
    assert len({tag for _, tag in rows}) == tags
    assert len({label for sentence in read for label in sentence.labels}) == labels
    assert sum(len(spans(sentence.labels)) for sentence in read) == chunks
    file_again = io.BytesIO()
    assert write_columns(file_again, read, separator=" ") == sentences
    assert file_again.getvalue() == unpacked(file)


def test_chunks_by_type():
    read = read_columns(located("conll2000/test.txt.gz"))
    counts = Counter(span.type for sentence in read for span in spans(sentence.labels))
    assert counts.most_common() == [
        *[("NP", 12_422), ("PP", 4_811), ("VP", 4_658), ("ADVP", 866), ("SBAR", 535)],
        *[("ADJP", 438), ("PRT", 106), ("CONJP", 9), ("LST", 5), ("INTJ", 2)],
    ]


def test_the_entities_across_sentence_breaks_are_the_only_invalid_labels():
    for file in ("esp.train.gz", "esp.testa.gz", "esp.testb.gz"):
        read = [sentence.labels for sentence in read_columns(located(f"conll2002/{file}"))]
        invalid = [labels for labels in read if validate_labels(labels)]
        assert len(invalid) == 1
        assert [problem.position for problem in validate_labels(invalid[0])] == [0]
        assert suggest_scheme(read) == []
        assert suggest_scheme(convert_labels(labels, "BIO", "BIO", lenient=True) for labels in read) == ["BIO"]


@pytest.mark.parametrize("scheme", ["IOB1", "IOE1", "IOE2", "IOBES", "BILOU", "BMES"])
def test_chunks_survive_every_scheme(scheme):
    for sentence in read_columns(located("conll2000/test.txt.gz")):
        converted = convert_labels(sentence.labels, "BIO", scheme)
        assert convert_labels(converted, scheme, "BIO") == sentence.labels


def test_brown_corpus():
    tokens, sentences, forms, tags = 0, 0, set(), set()
    for sentence in read_columns(located("brown/brown.txt.gz"), columns=["word", "tag"], label="tag", separator="\t"):
        sentences += 1
        tokens += len(sentence.tokens)
        forms.update(word for (word,) in sentence.tokens)
        tags.update(sentence.labels)
    assert (sentences, tokens, len(forms), len(tags)) == (57_340, 1_161_192, 56_057, 472)


@pytest.mark.parametrize(
    ("part", "sentences", "words", "fused", "empty", "upos", "xpos", "relations"),
    [
        ("train", 12_544, 204_577, 2_614, 37, 17, 49, 51),
        ("dev", 2_001, 25_147, 359, 4, 17, 49, 49),
        ("test", 2_077, 25_094, 354, 2, 17, 48, 49),
    ],
)
def test_a_treebank_is_written_back_byte_for_byte(part, sentences, words, fused, empty, upos, xpos, relations):
    file = f"ud_ewt/{part}.conllu.gz"
    read = list(read_conllu(located(file)))
    assert (len(read), sum(len(sentence.words) for sentence in read)) == (sentences, words)
    assert sum(len(sentence.fused) for sentence in read) == fused
    assert sum(len(sentence.empty) for sentence in read) == empty
    for column, count in (("upos", upos), ("xpos", xpos), ("deprel", relations)):
        assert len({getattr(word, column) for sentence in read for word in sentence.words}) == count
    assert all(sum(word.head == 0 for word in sentence.words) == 1 for sentence in read)
    file_again = io.BytesIO()
    write_conllu(file_again, read)
    assert file_again.getvalue() == unpacked(file)


def test_older_dependency_files():
    read = list(read_conllu(located("ptb_sample/dependencies.conll.gz")))
    words = [word for sentence in read for word in sentence.words]
    assert (len(read), len(words), len({word.xpos for word in words})) == (3_914, 94_084, 45)
    file_again = io.BytesIO()
    write_conllu(file_again, read)
    assert file_again.getvalue() == unpacked("ptb_sample/dependencies.conll.gz")


@pytest.mark.parametrize(("part", "n", "tokens", "labels"), [("train", 1_513, 10_722, 29), ("test", 833, 5_721, 24)])
def test_addresses(part, n, tokens, labels):
    read = list(read_jsonl(located(f"usaddress/{part}.jsonl.gz")))
    assert (len(read), sum(len(address.tokens) for address in read)) == (n, tokens)
    assert len({label for address in read for label in address.labels}) == labels
    file_again = io.BytesIO()
    write_jsonl(file_again, read)
    file_again.seek(0)
    assert [address[:2] for address in read_jsonl(file_again)] == [address[:2] for address in read]


@pytest.mark.parametrize(
    ("file", "entries"), [("names_female.txt", 5_001), ("uscities.txt", 255), ("countries.txt", 289)]
)
def test_word_lists_are_plain_text(file, entries):
    assert sum(1 for _ in read_text(located(f"gazetteers/{file}"))) == entries
