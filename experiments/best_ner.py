"""The best model of Spanish names of this library: CoNLL-2002, gazetteers; settings chosen on testa.

Two stages. The first is a tagger learned by k-best passive-aggressive steps that also sees the topic of the document.
The second sees what the first says of the other uses of a word in the document; for the text it learns from, the first
says so by cross-fitting over documents. The first table has the steps that lead there, scored on testa; the ready set
with a CRF and the last step are then scored on testb. ``--quick`` takes a part of the sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Self

import trelliswork as tw
from common.best import held_out, scores, started, test
from common.documents import Topics, documents, other_uses
from common.learned_columns import WithColumns, joined
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
TOPIC_SIZES = (5, 12)


class TwoStages:
    """A tagger whose second stage sees what the first says of other uses of a word.

    Parameters
    ----------
    first, second : callable
        Return the tagger of a stage, not trained.
    """

    def __init__(self, first: Callable[[], Any], second: Callable[[], Any]) -> None:
        self.first, self.second = first, second

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> Self:
        """Train the first stage, and on what it says of held-out documents the second."""
        folds = tw.evaluation.k_folds(len(X), FOLDS, groups=documents(X))
        said = held_out(self.first, X, y, folds)
        self.first_ = self.first().fit(X, y)
        self.second_ = self.second().fit(joined(X, other_uses(X, said)), y)
        return self

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """Return the labels of each sentence; the sentences must be whole documents in order."""
        labels: list[list[str]] = self.second_.predict(joined(X, other_uses(X, self.first_.predict(X))))
        return labels


def tagger(more: str) -> Callable[[], tw.SequenceLabeler]:
    """Return what makes a tagger that sees the ready set and more."""
    learner = tw.PassiveAggressive(C=0.03, k=5, epochs=15)

    def make() -> tw.SequenceLabeler:
        templates = tw.Templates.ner()
        if more:
            templates += tw.Templates(COLUMNS + more, resources=resources())
        return tw.SequenceLabeler(learner, templates, n_jobs=1)

    return make


@cache
def resources() -> dict[str, list[str]]:
    """Return the entries of each gazetteer."""
    folder = data_folder() / "gazetteers"
    return {
        name: [line for file in files for line in (folder / f"{file}.txt").read_text(encoding="utf-8").splitlines()]
        for name, files in GAZETTEERS.items()
    }


def with_topics(make: Callable[[], Any]) -> Callable[[], WithColumns]:
    """Return what makes a tagger that sees the topic of the document."""
    return lambda: WithColumns(make, [Topics(TOPIC_SIZES)])


STEPS: dict[str, Callable[[], Any]] = {
    "CRF, ready templates": lambda: tw.SequenceLabeler(tw.CRF(), "ner", n_jobs=1),
    "PA, ready templates": tagger(""),
    "and gazetteers": tagger(LISTS),
    "and topics of documents": with_topics(tagger(LISTS + TOPICS)),
    "and other uses of a word": with_topics(lambda: TwoStages(tagger(LISTS + TOPICS), tagger(LISTS + TOPICS + OTHERS))),
}
FIRST, *_, BEST = STEPS


def main() -> None:
    """Print what each step reaches on testa, and the first and the last on testb."""
    report = started(__file__, __doc__ or "")
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
