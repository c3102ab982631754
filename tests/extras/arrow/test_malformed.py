"""Whatever a producer hands over that is not what it says raises an error; every struct is released exactly once."""

import ctypes
import gc

import pytest

import trelliswork as tw
from arrow_structs import Array, Offer, OfferedStream, array, ints, lists, new_capsule, schema, table, text
from trelliswork import _core


@pytest.fixture(scope="module")
def tagger():
    return tw.SequenceLabeler().fit([["the", "dog"], ["a", "cat", "sleeps"]], [["D", "N"], ["D", "N", "V"]])


def labels_of(tagged):
    """The labels of a table, read back by the library itself."""
    found = []
    stream = _core.ArrowStream(tagged)
    place = stream.names.index("labels")
    while (batch := stream.next()) is not None:
        columns, valid, *_ = batch.lists([place], 0, 1 << 40, 1 << 40)
        valid = [1] * columns.n_sequences if valid is None else valid.tolist()
        found += [columns.sequence(i) if known else None for i, known in enumerate(valid)]
    return found


def test_a_column_made_by_hand(tagger):
    kind, values = text("the dog", "", "a cat sleeps")
    tagged = tw.arrow.tag(tagger, Offer(kind, values))
    assert labels_of(tagged) == [["D", "N"], [], ["D", "N", "V"]]
    assert kind.released.count == values.released.count == 1
    assert labels_of(tagged) == labels_of(tagged)  # as often as wanted, though the producer's memory is released


def test_a_table_made_by_hand_and_what_is_kept_of_it(tagger):
    kind, values = table(id=text("x", "y"), words=lists(["the", "dog"], []))
    tagged = tw.arrow.tag(tagger, Offer(kind, values), "words")
    assert tagged.column_names == ["id", "words", "labels"]
    assert values.released.count == 0  # the columns that came with it are its memory
    stream = _core.ArrowStream(tagged)
    batch = stream.next()
    del tagged, stream
    gc.collect()
    assert batch.texts(0, 0, 10, 100) == ["x", "y"]
    del batch
    gc.collect()
    assert kind.released.count == values.released.count == 1


def test_a_stream_is_released_once_and_each_of_its_batches(tagger):
    kind, values = text("the dog")
    _, more = text("a cat")
    offered = OfferedStream(kind, [values, more])
    assert labels_of(tw.arrow.tag(tagger, offered)) == [["D", "N"], ["D", "N"]]
    gc.collect()
    assert offered.released.count == values.released.count == more.released.count == 1


def test_a_stream_that_is_left_early_is_released(tagger):
    kind, values = text("the dog")
    offered = OfferedStream(kind, [values, text("a cat")[1]])
    reader = tw.arrow.tag_batches(tagger, offered)
    next(reader)
    del reader
    gc.collect()
    assert offered.released.count == values.released.count == 1


def test_a_stream_that_fails(tagger):
    kind, values = text("the dog")
    reader = tw.arrow.tag_batches(tagger, OfferedStream(kind, [values, 5]))
    assert next(reader).num_rows == 1
    with pytest.raises(tw.InvalidInput, match="the Arrow stream failed: the disk is gone"):
        next(reader)
    with pytest.raises(tw.InvalidInput, match=r"table: the Arrow stream failed"):
        tw.arrow.tag(tagger, OfferedStream(22, []))
    with pytest.raises(tw.InvalidInput, match=r"the Arrow stream failed: \w"):
        tw.arrow.tag(tagger, OfferedStream(22, [], error=None))


def test_capsules_that_are_none(tagger):
    class Wrong:
        def __init__(self, answer):
            self.answer = answer

        def __arrow_c_array__(self, requested_schema=None):
            return self.answer

    other = new_capsule(ctypes.addressof(array(0)), b"dltensor", None)
    for answer in (None, (1, 2), (other, other), (1, 2, 3)):
        with pytest.raises(tw.InvalidInput):
            tw.arrow.tag(tagger, Wrong(answer))
    offer = Offer(*text("the dog"))
    tw.arrow.tag(tagger, offer)
    with pytest.raises(tw.InvalidInput, match="used already"):
        tw.arrow.tag(tagger, offer)


def broken_text(**changes):
    kind, values = text("the dog", "a cat")
    for name, value in changes.items():
        setattr(kind if hasattr(kind, name) and name != "n_children" else values, name, value)
    return kind, values


def strings(*buffers, format=b"u", length=2, **fields):
    return schema(format, b"text"), array(length, list(buffers), **fields)


def view(size, number=0, begin=0):
    return ints(size) + b"abcd" + ints(number, begin)


NONE_ARRAY = ctypes.POINTER(ctypes.POINTER(Array))()
NO_BUFFERS = ctypes.POINTER(ctypes.c_void_p)()

MALFORMED = {
    "no format": lambda: (schema(None), text("a")[1]),
    "negative length": lambda: broken_text(length=-1),
    "negative offset": lambda: broken_text(offset=-1),
    "a length that overflows": lambda: broken_text(length=2**62, offset=2**62),
    "too few buffers": lambda: broken_text(n_buffers=2),
    "buffers missing": lambda: broken_text(buffers=NO_BUFFERS),
    "no offsets": lambda: strings(None, None, b"ab"),
    "no characters": lambda: strings(None, ints(0, 1, 2), None),
    "falling offsets": lambda: strings(None, ints(0, 5, 2), b"abcde"),
    "negative offsets": lambda: strings(None, ints(-4, 1, 2), b"abcde"),
    "an offset beyond the last": lambda: strings(None, ints(0, 9, 2), b"abcde"),
    "a negative last offset": lambda: strings(None, ints(0, 0, -2), b"abcde"),
    "falling wide offsets": lambda: strings(None, ints(0, 5, 2, size="q"), b"abcde", format=b"U"),
    "nulls without a bitmap": lambda: broken_text(null_count=1),
    "views without views": lambda: strings(None, None, ints(), format=b"vu"),
    "a view of negative size": lambda: strings(None, view(-1), ints(), format=b"vu", length=1),
    "a view of no buffer": lambda: strings(None, view(20), ints(), format=b"vu", length=1),
    "a view of a negative buffer": lambda: strings(
        None, view(20, -1), b"x" * 30, ints(30, size="q"), format=b"vu", length=1
    ),
    "a view beyond its buffer": lambda: strings(
        None, view(20, 0, 11), b"x" * 30, ints(30, size="q"), format=b"vu", length=1
    ),
    "a view from before its buffer": lambda: strings(
        None, view(20, 0, -1), b"x" * 30, ints(30, size="q"), format=b"vu", length=1
    ),
    "views without sizes": lambda: strings(None, view(20), b"x" * 30, None, format=b"vu", length=1),
    "no dictionary": lambda: (schema(b"i", b"", (), schema(b"u")), array(1, [None, ints(0)])),
    "an index beyond its dictionary": lambda: (
        schema(b"i", b"", (), schema(b"u")),
        array(1, [None, ints(2)], (), text("a", "b")[1]),
    ),
    "a negative index": lambda: (schema(b"c", b"", (), schema(b"u")), array(1, [None, b"\xff"], (), text("a", "b")[1])),
    "an index of 64 bits": lambda: (
        schema(b"L", b"", (), schema(b"u")),
        array(1, [None, b"\xff" * 8], (), text("a", "b")[1]),
    ),
    "indices without a buffer": lambda: (
        schema(b"i", b"", (), schema(b"u")),
        array(1, [None, None], (), text("a", "b")[1]),
    ),
    "a list without a child": lambda: (lists(["a"])[0], array(1, [None, ints(0, 1)])),
    "a list whose child is null": lambda: (
        lists(["a"])[0],
        array(1, [None, ints(0, 1)], [None]),
    ),
    "a list without offsets": lambda: (lists(["a"])[0], array(1, [None, None], [text("a")[1]])),
    "falling offsets of lists": lambda: (lists(["a"])[0], array(2, [None, ints(0, 1, 0)], [text("a")[1]])),
    "negative offsets of lists": lambda: (lists(["a"])[0], array(1, [None, ints(-1, 1)], [text("a")[1]])),
    "a list beyond its child": lambda: (lists(["a"])[0], array(1, [None, ints(0, 2)], [text("a")[1]])),
    "a list view beyond its child": lambda: (
        schema(b"+vl", b"", [schema(b"u")]),
        array(1, [None, ints(1), ints(1)], [text("a")[1]]),
    ),
    "a list view without sizes": lambda: (
        schema(b"+vl", b"", [schema(b"u")]),
        array(1, [None, ints(1), None], [text("a")[1]]),
    ),
    "a list view of negative size": lambda: (
        schema(b"+vL", b"", [schema(b"u")]),
        array(1, [None, ints(0, size="q"), ints(-1, size="q")], [text("a")[1]]),
    ),
    "fixed lists beyond their child": lambda: (
        schema(b"+w:2", b"", [schema(b"u")]),
        array(2, [None], [text("a", "b")[1]]),
    ),
    "fixed lists of no number": lambda: (schema(b"+w:x", b"", [schema(b"u")]), array(1, [None], [text("a", "b")[1]])),
    "fixed lists of a huge size": lambda: (
        schema(b"+w:99999999999", b"", [schema(b"u")]),
        array(1, [None], [text("a", "b")[1]]),
    ),
    "a child of negative length": lambda: (
        schema(b"+l", b"", [schema(b"u")]),
        array(1, [None, ints(0, 0)], [array(-1, [None, None, None])]),
    ),
    "a type without children": lambda: (schema(b"+l", n_children=1), text("a")[1]),
    "a negative number of children": lambda: (schema(b"+l", n_children=-1), text("a")[1]),
    "a released child": lambda: (
        schema(b"+l", b"", [schema(b"u", release=type(schema(b"u").release)())]),
        lists(["a"])[1],
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_structs_raise(tagger, what):
    kind, values = MALFORMED[what]()
    with pytest.raises(tw.InvalidInput):
        tw.arrow.tag(tagger, Offer(kind, values))
    gc.collect()
    assert (kind.released.count, values.released.count) in ((1, 1), (1, 0))  # 0: it was never taken over


def test_tables_whose_columns_are_not_there(tagger):
    kind, values = table(text=text("the dog"))
    values.n_children = 0
    with pytest.raises(tw.InvalidInput, match="other columns than its type"):
        tw.arrow.tag(tagger, Offer(kind, values))
    kind, values = table(text=text("the dog"))
    values.length = 2
    with pytest.raises(tw.InvalidInput, match="shorter than its table"):
        tw.arrow.tag(tagger, Offer(kind, values))
    kind, values = table(text=text("the dog"))
    values.children = NONE_ARRAY
    with pytest.raises(tw.InvalidInput, match="columns of a table are missing"):
        tw.arrow.tag(tagger, Offer(kind, values))


def test_a_row_that_is_null_as_a_whole(tagger):
    kind, values = table(text=text("the dog", "a cat"))
    bitmap = ctypes.create_string_buffer(b"\x01")
    values.buffers[0] = ctypes.addressof(bitmap)
    values.null_count = 1
    with pytest.raises(tw.InvalidInput, match="row 1 of the table is null as a whole"):
        tw.arrow.tag(tagger, Offer(kind, values))


def test_a_column_to_keep_that_is_not_of_its_type(tagger):
    kind, values = table(id=lists(["a"]), text=text("the dog"))
    values.children[0].contents.n_children = 0
    tagged = tw.arrow.tag(tagger, Offer(kind, values), "text")
    with pytest.raises(ValueError, match=r"the Arrow stream failed: .*not of its type"):
        labels_of(tagged)


def test_types_within_types_without_end(tagger):
    kind = schema(b"u")
    for _ in range(100):
        kind = schema(b"+l", b"", [kind])
    with pytest.raises(tw.InvalidInput, match="nested too deeply"):
        tw.arrow.tag(tagger, Offer(kind, text("a")[1]))


def test_text_that_is_not_utf8(tagger):
    kind, values = strings(None, ints(0, 3, 6), b"abc\xff\xfe\xfd")
    with pytest.raises(tw.InvalidInput, match="row 1 has text that is not UTF-8: invalid start byte at byte 0"):
        tw.arrow.tag(tagger, Offer(kind, values))
    kind, values = strings(None, ints(0, 3, 6), b"abc\xff\xfe\xfd")
    with pytest.raises(tw.InvalidInput, match="row 1 has text that is not UTF-8"):
        tw.arrow.tag(tagger, Offer(kind, values), tokenizer=str.split)


def test_views_and_buffers_without_alignment(tagger):
    data = b"x" + ints(0, 3, 7)
    memory = ctypes.create_string_buffer(data, len(data))
    values = array(2, [None, None, b"the dog"])
    values.buffers[1] = ctypes.addressof(memory) + 1
    assert labels_of(tw.arrow.tag(tagger, Offer(schema(b"u"), values))) == [["D"], ["N"]]
