"""Blocks of a pipe: whole sentences, as soon as they are there."""

import itertools
import os

from hypothesis import given
from hypothesis import strategies as st

from trelliswork.cli.blocks import live_blocks


class Pieces:
    """A pipe that hands out given pieces, one a call, and always has more waiting or never."""

    def __init__(self, pieces, waiting):
        self.pieces = [piece for piece in pieces if piece]
        self.waiting = waiting

    def read1(self, size):
        return self.pieces.pop(0) if self.pieces else b""

    def fileno(self):
        return self.waiting


lines = st.sampled_from([b"a\n", b"bb O\n", b"\n", b"\r\n", b"c\r\n", b" \n"])


@given(st.lists(lines, max_size=12), st.lists(st.integers(0, 30), max_size=5), st.integers(1, 20))
def test_blocks_are_the_text_cut_at_blank_lines(parts, cuts, size):
    text = b"".join(parts)
    places = sorted({0, len(text), *(cut for cut in cuts if cut <= len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    with open(os.devnull, "rb") as always:  # a file always has something waiting: blocks then go by their size
        found = list(live_blocks(Pieces(pieces, always.fileno()), size))
    assert b"".join(block for block, _ in found) == text
    line = 1
    for i, (block, first) in enumerate(found):
        assert first == line
        line += block.count(b"\n")
        if i + 1 < len(found):
            assert block.endswith((b"\n\n", b"\n\r\n"))


def test_a_sentence_comes_back_before_the_next_is_written():
    reading, writing = os.pipe()
    with open(reading, "rb") as pipe:
        found = live_blocks(pipe, 1 << 20)
        for number, word in enumerate((b"one", b"two", b"three")):
            os.write(writing, word + b"\n\n")
            assert next(found) == (word + b"\n\n", 1 + 2 * number)
        os.close(writing)
        assert list(found) == []
