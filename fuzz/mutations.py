"""How input goes wrong: bytes flipped, cut, doubled, moved, replaced by numbers at the edge or by known words."""

from __future__ import annotations

import random
from collections.abc import Sequence

__all__ = ["mutated"]

EDGES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF]
ODDITIES = [
    b"\0",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b" ",
    b"\t",
]


def mutated(data: bytes, rng: random.Random, words: Sequence[str]) -> bytes:
    """Some changes of the data; now and then none."""
    out = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 5, 10])):
        change = rng.randrange(8)
        at = rng.randrange(len(out) + 1)
        length = min(rng.choice([1, 1, 2, 4, 8, 16, 64]), len(out) - at)
        if change == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            del out[at : at + length]
        elif change == 2:
            out[at:at] = out[at : at + length] * rng.choice([1, 1, 2, 100])
        elif change == 3:
            width = rng.choice([1, 2, 4, 8])
            out[at : at + width] = (rng.choice(EDGES) % 256**width).to_bytes(width, "little")
        elif change == 4:
            out[at : at + rng.choice([0, length])] = rng.choice(ODDITIES)
        elif change == 5 and words:
            out[at : at + rng.choice([0, length])] = rng.choice(words).encode()
        elif change == 6:
            other = rng.randrange(len(out) + 1)
            out[at:at] = out[other : other + length]
        elif change == 7 and rng.random() < 0.3:
            del out[at:]
    return bytes(out)
