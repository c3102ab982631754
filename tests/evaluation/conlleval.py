"""The judge: conlleval's way of counting, token by token, with none of the library's code.

It walks through the lines of a file, asks of each pair of neighbours whether a chunk ends or begins between them, and
keeps a flag for "gold and guess have agreed since both began". No span is ever built. The cases with S are those of
the later ports, which take IOBES; the first script has none of them.
"""

from collections import Counter

# (previous prefix, prefix) of one type between which a chunk ends, or begins.
ENDS = {"BB", "BS", "BO", "IB", "IS", "IO", "EB", "EI", "EE", "ES", "EO", "SB", "SI", "SE", "SS", "SO"}
BEGINS = {"BB", "IB", "EB", "SB", "OB", "BS", "IS", "ES", "SS", "OS", "EI", "SI", "OI", "EE", "SE", "OE"}


def parse(label):
    prefix, _, kind = label.partition("-")
    return prefix, kind


def ends(before, after):
    return before[0] + after[0] in ENDS or (before[0] != "O" and before[1] != after[1])


def begins(before, after):
    return before[0] + after[0] in BEGINS or (after[0] != "O" and before[1] != after[1])


def counts(y_true, y_pred):
    """Return tokens, right tokens, and Counters by type: gold chunks, guessed chunks, right chunks."""
    n_tokens = n_right = 0
    there, found, right = Counter(), Counter(), Counter()
    agreeing, gold_before, guess_before = False, ("O", ""), ("O", "")
    for gold, guess in lines(y_true, y_pred):
        gold_ends, guess_ends = ends(gold_before, gold), ends(guess_before, guess)
        if agreeing and gold_ends and guess_ends:
            right[gold_before[1]] += 1
            agreeing = False
        elif agreeing and gold_ends != guess_ends:
            agreeing = False
        gold_begins, guess_begins = begins(gold_before, gold), begins(guess_before, guess)
        agreeing = agreeing or (gold_begins and guess_begins and gold[1] == guess[1])
        there[gold[1]] += gold_begins
        found[guess[1]] += guess_begins
        gold_before, guess_before = gold, guess
    for y, z in zip(y_true, y_pred, strict=True):
        n_tokens += len(y)
        n_right += sum(a == b for a, b in zip(y, z, strict=True))
    return n_tokens, n_right, +there, +found, +right


def lines(y_true, y_pred):
    """Yield the parsed labels of each line; the empty line after a sentence counts as outside."""
    for gold, guess in zip(y_true, y_pred, strict=True):
        for pair in zip(gold, guess, strict=True):
            yield tuple(map(parse, pair))
        yield ("O", ""), ("O", "")


def figures(right, found, there):
    precision = 100 * right / found if found else 0.0
    recall = 100 * right / there if there else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return "precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f" % (precision, recall, f1)  # noqa: UP031


def report(y_true, y_pred):
    """Return what is printed."""
    n_tokens, n_right, there, found, right = counts(y_true, y_pred)
    totals = right.total(), found.total(), there.total()
    text = f"processed {n_tokens} tokens with {totals[2]} phrases; found: {totals[1]} phrases; correct: {totals[0]}.\n"
    if n_tokens:
        text += "accuracy: %6.2f%%; %s\n" % (100 * n_right / n_tokens, figures(*totals))  # noqa: UP031
    for kind in sorted(there | found):
        text += "%17s: %s  %d\n" % (kind, figures(right[kind], found[kind], there[kind]), found[kind])  # noqa: UP031
    return text
