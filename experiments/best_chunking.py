"""The best chunking model of this library: CoNLL-2000, no other data; settings chosen by cross-validation on train.

Three taggers learned by k-best passive-aggressive steps, on one set of templates, which spell chunks in BIO, IOE2 and
IOBES; their scores are added. The table has the steps that lead there, each scored on held-out fifths of the training
text; the ready set with a CRF and the last step are then trained on all of it and scored on the test text.
``--quick`` takes a part of the sentences and two folds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trelliswork as tw
from common.added_scores import AddedScores
from common.best import held_out, scores, test
from common.output import Report
from common.tasks import chunking, tasks

PUBLISHED = {"token F": 96.21, "span F1": 94.13}  # the thesis's committee, Table 4.2; Zhang, Damerau & Johnson 2001

# What `Templates.chunking` has not: wider conjunctions of words and tags, affixes of the neighbours.
MORE = """
ngram(word[-2..2], 3)
ngram(lower(word)[-1..1], 2)
word[-1] & word[1]
ngram(pos[-2..2], 4..5)
pos[-2] & pos
pos[-1] & pos[1]
pos & pos[2]
word & pos[-1] & pos[1]
word[-1] & pos & pos[1]
word[1] & pos & pos[-1]
word[-1] & pos[1]
word[1] & pos[-1]
prefix(word, 3)[-1]
prefix(word, 3)[1]
suffix(word, 2..3)[-1]
suffix(word, 2..3)[1]
suffix(word, 3) & pos
"""

STEPS: dict[str, Callable[[], Any]] = {
    "CRF, ready templates": lambda: tw.SequenceLabeler(tw.CRF(), "chunking", n_jobs=1),
    "PA, more templates, BIO": lambda: AddedScores([tagger("BIO")]),
    "PA, more templates, IOBES": lambda: AddedScores([tagger("IOBES")]),
    "the sum of both": lambda: AddedScores([tagger("BIO"), tagger("IOBES")]),
    "and of IOE2": lambda: AddedScores([tagger("BIO"), tagger("IOBES"), tagger("IOE2")]),
}
FIRST, *_, BEST = STEPS


def main() -> None:
    """Print what each step reaches in cross-validation, and the first and the last on the test text."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, lambda: chunking(dictionary=False))
    folds = tw.evaluation.k_folds(len(task.train.X), 2 if report.quick else 5, random_state=None)
    chosen = [
        {"model": name, **scores(task.train.y, held_out(make, *task.train, folds, report.jobs))}
        for name, make in STEPS.items()
    ]
    report.table(f"{len(task.train.X)} sentences of the training text, {len(folds)} folds", chosen)
    tested = test(report, task, STEPS, (FIRST, BEST), PUBLISHED)
    report.csv([{"text": "train, held out", **row} for row in chosen] + [{"text": "test", **row} for row in tested])
    report.done()


def tagger(scheme: str) -> tuple[tw.SequenceLabeler, str]:
    """Return a member of the committee."""
    learner = tw.PassiveAggressive(C=0.03, k=5, epochs=10)
    return tw.SequenceLabeler(learner, tw.Templates.chunking() + tw.Templates(MORE), n_jobs=1), scheme


if __name__ == "__main__":
    main()
