"""The factories and the scorer that spaCy knows the component by; entry points of the package lead here.

`trelliswork_tagger` and `trelliswork_pos` are `trelliswork` with another target. spaCy wants to know by the name of a
factory what a component assigns and which score counts.
"""

# No `from __future__ import annotations`: spaCy makes the schema of the settings from the types as they are.

from collections.abc import Callable
from typing import Any

from spacy import Language, registry
from spacy.scorer import Scorer, get_ner_prf

from trelliswork.spacy.component import LabelerPipe

__all__ = ["make_entities", "make_pos", "make_scorer", "make_tags", "score"]

_SETTINGS: dict[str, Any] = {
    "target": "ents",
    "columns": ["orth"],
    "features": "auto",
    "scheme": "BIO",
    "learner": "crf",
    "learner_parameters": {},
    "labeler_parameters": {},
    "learn_in": "initialize",
    "overwrite": False,
    "probabilities": None,
    "scorer": {"@scorers": "trelliswork.scorer.v1"},
}


def make(
    nlp: Language,
    name: str,
    target: str,
    columns: list[str],
    features: str | list[str],
    scheme: str,
    learner: str,
    learner_parameters: dict[str, Any],
    labeler_parameters: dict[str, Any],
    learn_in: str,
    overwrite: bool,
    probabilities: bool | None,
    scorer: Callable[..., Any] | None,
) -> LabelerPipe:
    """Return the component with these settings."""
    return LabelerPipe(
        nlp.vocab,
        name,
        target=target,
        columns=columns,
        features=features,
        scheme=scheme,
        learner=learner,
        learner_parameters=learner_parameters,
        labeler_parameters=labeler_parameters,
        learn_in=learn_in,
        overwrite=overwrite,
        probabilities=probabilities,
        scorer=scorer,
    )


make_entities = Language.factory(
    "trelliswork",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type", "span._.probability"],
    default_config=_SETTINGS,
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
    func=make,
)
make_tags = Language.factory(
    "trelliswork_tagger",
    assigns=["token.tag", "token._.probability"],
    default_config=_SETTINGS | {"target": "tag"},
    default_score_weights={"tag_acc": 1.0},
    func=make,
)
make_pos = Language.factory(
    "trelliswork_pos",
    assigns=["token.pos", "token._.probability"],
    default_config=_SETTINGS | {"target": "pos"},
    default_score_weights={"pos_acc": 1.0},
    func=make,
)


def score(examples: Any, *, target: str, **options: Any) -> dict[str, Any]:
    """Return precision, recall and F1 of entities, or the accuracy of tags, as spaCy's own components have them."""
    options.pop("labels", None)
    if target == "ents":
        return dict(get_ner_prf(examples, **options))
    return dict(Scorer.score_token_attr(examples, target, **options))


@registry.scorers("trelliswork.scorer.v1")
def make_scorer() -> Callable[..., dict[str, Any]]:
    """Return `score`."""
    return score
