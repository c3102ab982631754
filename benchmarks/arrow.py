"""Tables: tokens per second by `tw.arrow.tag`, by lists, and by python-crfsuite through a data frame, in turns.

    python benchmarks/arrow.py [--rounds 5] [--repeat 60]

The corpus is the one that ships with the library, several times over. All run in one thread; the best of the rounds is
compared with `predict` on lists. python-crfsuite and pandas take part where they are installed: features are those of
its tutorial, made in Python for each row, as users do it; its model is trained on the same sentences.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

import trelliswork as tw
from timing import alternating, print_load, print_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=60)
    arguments = parser.parse_args()
    print_load()
    corpus = tw.corpora.ingredients()
    tagger = tw.SequenceLabeler(tw.CRF(l2=0.5)).fit(corpus.X_train, corpus.y_train)
    X = list(corpus.X_test) * arguments.repeat
    lists, text = pa.table({"x": X}), pa.table({"x": [" ".join(x) for x in X]})
    ways: dict[str, Callable[[], object]] = {
        "predict(lists)": lambda: tagger.predict(X),
        "arrow, lists": lambda: tw.arrow.tag(tagger, lists),
        "arrow, text": lambda: tw.arrow.tag(tagger, text, tokenizer="whitespace"),
        "predict(column.to_pylist())": lambda: pa.array(tagger.predict(lists["x"].to_pylist())),
        "arrow, probabilities": lambda: tw.arrow.tag(tagger, lists, output="probabilities"),
        "predict_spans(lists)": lambda: tagger.predict_spans(X),
        "arrow, spans": lambda: tw.arrow.tag(tagger, lists, output="spans"),
    }
    if find_spec("pycrfsuite") and find_spec("pandas"):
        ways["python-crfsuite, pandas apply"] = crfsuite_apply(corpus, X)
    n_tokens = sum(map(len, X))
    best = alternating(ways, arguments.rounds)
    rows = [
        [name, len(X), n_tokens, n_tokens / seconds / 1e6, best["predict(lists)"] / seconds]
        for name, seconds in best.items()
    ]
    print_table("Tagging tables", ["way", "rows", "tokens", "million tokens/s", "times predict(lists)"], rows)


def crfsuite_apply(corpus: Any, X: Sequence[list[str]]) -> Callable[[], object]:
    """Return a call that tags a data frame row by row with python-crfsuite."""
    import pandas
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 50})
    for x, y in zip(corpus.X_train, corpus.y_train, strict=True):
        trainer.append(features(x), list(y))
    file = os.path.join(tempfile.mkdtemp(), "ingredients.crfsuite")
    trainer.train(file)
    tagger = pycrfsuite.Tagger()
    tagger.open(file)
    frame = pandas.DataFrame({"x": X})
    return lambda: frame["x"].apply(lambda x: tagger.tag(features(x)))


def features(x: Sequence[str]) -> list[list[str]]:
    """Return the attributes of python-crfsuite's tutorial, without parts of speech."""
    found = []
    for t, word in enumerate(x):
        own = ["bias", f"word.lower={word.lower()}", f"word[-3:]={word[-3:]}", f"word[-2:]={word[-2:]}"]
        own += [f"word.isupper={word.isupper()}", f"word.istitle={word.istitle()}", f"word.isdigit={word.isdigit()}"]
        for offset, sign in ((-1, "-1"), (1, "+1")):
            if 0 <= t + offset < len(x):
                near = x[t + offset]
                own += [f"{sign}:word.lower={near.lower()}", f"{sign}:word.istitle={near.istitle()}"]
                own += [f"{sign}:word.isupper={near.isupper()}"]
            else:
                own.append("BOS" if offset < 0 else "EOS")
        found.append(own)
    return found


if __name__ == "__main__":
    main()
