"""Beam search over a chain by its definition, with lists of prefixes."""

import math


def best_beginnings(unary, moves, width, start=None, end=None):
    """Return the best prefix of every size that a beam finds, and its score; fewer where the beam dies.

    One prefix stays for each last label, the best, and of equals the one that is smallest read from its end; of these
    the `width` best, and of equals those with the lowest last label.
    """
    T, K = len(unary), len(unary[0])
    start, end = start or [0] * K, end or [0] * K
    beam, out = [((), 0)], []
    for t in range(T):
        by_last = {}
        for prefix, score in beam:
            for k in range(K):
                more = (moves[prefix[-1]][k] if prefix else start[k]) + unary[t][k]
                by_last.setdefault(k, []).append(((*prefix, k), score + more, end[k] if t == T - 1 else 0))
        kept = [min(rows, key=lambda row: (-row[1], row[0][::-1])) for rows in by_last.values()]
        kept = [row for row in kept if row[1] + row[2] != -math.inf]
        kept = sorted(kept, key=lambda row: (-(row[1] + row[2]), row[0][-1]))[:width]
        if not kept:
            return out
        out.append((list(kept[0][0]), kept[0][1] + kept[0][2]))
        beam = [(prefix, score) for prefix, score, _ in kept]
    return out
