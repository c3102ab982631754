"""The best model of Spanish names of this library: CoNLL-2002, gazetteers; settings chosen on testa.

Two stages. The first is a tagger learned by k-best passive-aggressive steps that also sees the topic of the document.
The second sees what the first says of the other uses of a word in the document; for the text it learns from, the first
says so by cross-fitting over documents. The second stage adds the scores of taggers that spell names in BIO and IOBES.
The table has the steps that lead there, scored on testa; the ready set with a CRF and the last step are then scored on
testb. ``--quick`` takes a part of the sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Self

import trelliswork as tw
from common.added_scores import AddedScores
from common.best import held_out, scores, test
from common.documents import Topics, documents, joined, other_uses
from common.output import Report
from common.tasks import data_folder, spanish, tasks

PUBLISHED = {"token F": 76.741, "span F1": 81.39}  # the thesis, Table 3.1; Carreras, Marquez & Padro 2002
FOLDS = 5  # of cross-fitting

GAZETTEERS = {
    "first names": ("names_female", "names_male"),
    "countries": ("countries", "isocountries"),
    "places": ("uscities", "usstates", "caprovinces", "mexstates"),
}
LISTS = "".join(f'gazetteer("{name}", word)[-1..1]\n' for name in GAZETTEERS)

COLUMNS = "columns: word pos coarse fine others\n"
TOPICS = """
coarse & shape(word, 1)
coarse & lower(word)
fine & shape(word, 1)
fine & lower(word)
fine & lower(word)[-1] & shape(word, 1)
fine & lower(word)[1] & shape(word, 1)
"""
OTHERS = "others[-1..1]\n"


class Staged:
    """A tagger of one stage or two, with the topics of documents as columns.

    Parameters
    ----------
    first : list of (SequenceLabeler, str)
        Members of the first stage, as `AddedScores` takes them.
    second : list of (SequenceLabeler, str), optional
        Members of the second stage.
    """

    def __init__(self, first: Callable[[], AddedScores], second: Callable[[], AddedScores] | None = None) -> None:
        self.first, self.second = first, second

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> Self:
        """Train topics, the first stage, and on what it says of held-out documents the second."""
        self.topics_ = Topics((5, 12)).fit(X)
        Z = self._with_topics(X)
        self.first_ = self.first().fit(Z, y)
        if self.second is not None:
            folds = tw.evaluation.k_folds(len(X), FOLDS, groups=documents(X))
            said = held_out(self.first, Z, y, folds)
            self.second_ = self.second().fit(joined(Z, other_uses(Z, said)), y)
        return self

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """Return the labels of each sentence; the sentences must be whole documents in order."""
        Z = self._with_topics(X)
        said = self.first_.predict(Z)
        return said if self.second is None else self.second_.predict(joined(Z, other_uses(Z, said)))

    def _with_topics(self, X: Sequence[Any]) -> list[list[tuple[str, ...]]]:
        return joined(X, self.topics_.columns(X))


def tagger(templates: str, scheme: str = "BIO") -> tuple[tw.SequenceLabeler, str]:
    """Return a member that sees the ready set and more."""
    more = tw.Templates(COLUMNS + templates, resources=resources()) if templates else None
    ready = tw.Templates.ner()
    learner = tw.PassiveAggressive(C=0.03, k=5, epochs=15)
    return tw.SequenceLabeler(learner, ready if more is None else ready + more, n_jobs=1), scheme


def stage(templates: str, *schemes: str) -> Callable[[], AddedScores]:
    """Return what makes a stage, which adds the scores of a member for each scheme."""
    return lambda: AddedScores([tagger(templates, scheme) for scheme in schemes])


@cache
def resources() -> dict[str, list[str]]:
    """Return the entries of each gazetteer."""
    folder = data_folder() / "gazetteers"
    return {
        name: [line for file in files for line in (folder / f"{file}.txt").read_text(encoding="utf-8").splitlines()]
        for name, files in GAZETTEERS.items()
    }


STEPS: dict[str, Callable[[], Any]] = {
    "CRF, ready templates": lambda: tw.SequenceLabeler(tw.CRF(), "ner", n_jobs=1),
    "PA, ready templates": stage("", "BIO"),
    "and gazetteers": stage(LISTS, "BIO"),
    "and topics of documents": lambda: Staged(stage(LISTS + TOPICS, "BIO")),
    "and a second stage": lambda: Staged(stage(LISTS + TOPICS, "BIO"), stage(LISTS + TOPICS + OTHERS, "BIO")),
    "and IOBES": lambda: Staged(stage(LISTS + TOPICS, "BIO", "IOBES"), stage(LISTS + TOPICS + OTHERS, "BIO", "IOBES")),
}
FIRST, *_, BEST = STEPS


def main() -> None:
    """Print what each step reaches on testa, and the first and the last on testb."""
    report = Report(__file__, __doc__ or "")
    (task,) = tasks(report.quick, spanish)
    assert task.dev is not None
    chosen = [
        {"model": name, **scores(task.dev.y, make().fit(*task.train).predict(task.dev.X))}
        for name, make in STEPS.items()
    ]
    report.table("testa", chosen)
    tested = test(report, task, STEPS, (FIRST, BEST), PUBLISHED)
    report.csv([{"text": "testa", **row} for row in chosen] + [{"text": "testb", **row} for row in tested])
    report.done()


if __name__ == "__main__":
    main()
