"""The best chunking model of this library: CoNLL-2000, no other data; settings chosen by cross-validation on train.

Three taggers learned by k-best passive-aggressive steps, which spell chunks in BIO, IOBES and IOE2; their scores are
added. They see many conjunctions of words and tags, and clusters of words learned from the training text. The first
table has the steps that lead there, each scored on held-out fifths of the training text; the ready set with a CRF and
the last step are then trained on all of it and scored on the test text. ``--quick`` takes a part of the sentences and
two folds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trelliswork as tw
from common.added_scores import AddedScores
from common.best import held_out, scores, started, test
from common.learned_columns import WithColumns
from common.tasks import chunking, tasks
from common.word_clusters import WordClusters

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

# Words in few and in many clusters, learned from the training text itself.
CLUSTERS = """
columns: word pos few many
few[-2..2]
ngram(few[-2..2], 2..3)
many[-2..2]
ngram(many[-1..1], 2)
many & pos[-1]
many & pos[1]
"""
SIZES = (50, 200)

STEPS: dict[str, Callable[[], Any]] = {
    "CRF, ready templates": lambda: tw.SequenceLabeler(tw.CRF(), "chunking", n_jobs=1),
    "PA, more templates": lambda: AddedScores([tagger("BIO")]),
    "in IOBES": lambda: AddedScores([tagger("IOBES")]),
    "in IOBES, word clusters": lambda: clustered("IOBES"),
    "BIO, IOBES and IOE2 added, word clusters": lambda: clustered("BIO", "IOBES", "IOE2"),
}
FIRST, *_, BEST = STEPS


def main() -> None:
    """Print what each step reaches in cross-validation, and the first and the last on the test text."""
    report = started(__file__, __doc__ or "")
    (task,) = tasks(report.quick, chunking)
    folds = tw.evaluation.k_folds(len(task.train.X), 2 if report.quick else 5, random_state=None)
    chosen = [
        {"model": name, **scores(task.train.y, held_out(make, *task.train, folds, report.jobs))}
        for name, make in STEPS.items()
    ]
    report.table(f"{len(task.train.X)} sentences of the training text, {len(folds)} folds", chosen)
    tested = test(report, task, STEPS, (FIRST, BEST), PUBLISHED)
    report.csv([{"text": "train, held out", **row} for row in chosen] + [{"text": "test", **row} for row in tested])
    report.done()


def tagger(scheme: str, clusters: bool = False) -> tuple[tw.SequenceLabeler, str]:
    """Return a member of the committee."""
    templates = tw.Templates.chunking() + tw.Templates(MORE)
    learner = tw.PassiveAggressive(C=0.03, k=5, epochs=10)
    return tw.SequenceLabeler(learner, templates + tw.Templates(CLUSTERS) if clusters else templates, n_jobs=1), scheme


def clustered(*schemes: str) -> WithColumns:
    """Return a committee whose members see clusters of words."""
    return WithColumns(lambda: AddedScores([tagger(scheme, True) for scheme in schemes]), [WordClusters(SIZES)])


if __name__ == "__main__":
    main()
