"""The report of a model, one HTML file: labels, transitions, strongest attributes, learning curve, calibration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from trelliswork.cli.models import require_token_marginals
from trelliswork.cli.reading import Layout, read_labelled
from trelliswork.errors import InvalidInput

if TYPE_CHECKING:
    from trelliswork.evaluation import Calibration

__all__ = ["report"]

MOST_LABELS = 60  # in the heat map of transitions
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 70rem; margin: 0 auto; padding: 1rem 1.2rem 3rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } table { font-size: .875rem; }
.labels { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1.2rem; }
.scroll { overflow-x: auto; } svg { max-width: 100%; height: auto; }
caption { font-weight: 600; padding: 0 0 .3rem .4rem; } pre { white-space: pre-wrap; }
@media (max-width: 30rem) { .labels { grid-template-columns: minmax(0, 1fr); } }
"""


def report(estimator: Any, facts: Mapping[str, Any], gold: str | None = None, layout: Layout | None = None) -> str:
    """Return a page about a model.

    Parameters
    ----------
    estimator : SequenceLabeler, or another that was loaded
    facts : mapping
        As `trelliswork.cli.inspect.described` returns them.
    gold : str, optional
        A labelled file, on which calibration is measured.
    layout : Layout, optional
        How the file is laid out.
    """
    name = os.path.basename(facts["model"])
    parts = [f"<h1>{escape(name)}</h1>", _summary(estimator, facts)]
    for member, own in facts.get("members", {}).items():
        parts += [f"<h2>The {escape(member)} model</h2>", _transitions(getattr(estimator, f"{member}_")), _top(own)]
    if not facts.get("members"):
        parts += [_transitions(estimator), _top(facts)]
    parts += [_learning(getattr(estimator, "history_", []))]
    if gold is not None:
        parts.append(_calibration(estimator, name, gold, layout or Layout()))
    if facts.get("templates"):
        parts.append(f"<h2>Templates</h2><pre>{escape(_template_text(facts['templates']))}</pre>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(name)}</title>'
    body = "".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>{body}</body></html>\n'


def _summary(estimator: Any, facts: Mapping[str, Any]) -> str:
    from trelliswork.estimators.saving import learner_from
    from trelliswork.plots.html import table

    settings = facts.get("settings", {})
    learner = settings.get("learner")
    rows = [
        ("kind", str(settings.get("kind", ""))),
        ("size", f"{facts['bytes']:,} bytes"),
        ("labels", f"{len(facts['labels'])}: {', '.join(facts['labels'][:MOST_LABELS])}"),
        ("attributes", f"{facts['attributes']:,}" if "attributes" in facts else ""),
        ("weights", f"{facts['weights']:,}, {facts['zero_weights']:,} of them zero" if "zero_weights" in facts else ""),
        ("learner", repr(learner_from(learner)) if learner else ""),
        ("training", str(getattr(estimator, "message_", "") or "")),
        *((f"metadata: {key}", str(value)) for key, value in settings.get("metadata", {}).items()),
    ]
    return table([row for row in rows if row[1]])


def _transitions(estimator: Any) -> str:
    from trelliswork.plots.html import heat_map

    try:
        weights, labels = estimator.transitions_, [str(label) for label in estimator.classes_]
    except (AttributeError, InvalidInput):  # a parser, or a model whose history is longer
        return ""
    if len(labels) > MOST_LABELS:
        return f"<h2>Transitions</h2><p>Of {len(labels)} labels; the heat map is for up to {MOST_LABELS}.</p>"
    told = "Weights from the label of the row to the label of the column. Forbidden transitions are crossed out."
    drawn = heat_map(weights, labels, labels)
    return f'<h2>Transitions</h2><p>{told}</p><div class="scroll">{drawn}</div>'


def _top(facts: Mapping[str, Any]) -> str:
    from trelliswork.plots.html import bars

    found = {label: rows for label, rows in facts.get("top", {}).items() if rows}
    if not found:
        return ""
    blocks = "".join(
        f"<div>{bars([(name, w) for name, w in rows], caption=label)}</div>" for label, rows in found.items()
    )
    return f'<h2>Strongest attributes of each label</h2><div class="labels">{blocks}</div>'


def _learning(history: Sequence[Mapping[str, Any]]) -> str:
    """Curves of whatever number was recorded after every iteration."""
    from trelliswork.plots.html import curves

    drawn = []
    for name in ("objective", "dev_score"):
        pairs = [
            (i, float(record[name])) for i, record in enumerate(history, 1) if isinstance(record.get(name), int | float)
        ]
        if len(pairs) > 1:
            xs, ys = zip(*pairs, strict=True)
            drawn.append(curves({name: (xs, ys)}, x="iteration", y=name.replace("_", " ")))
    return f"<h2>Learning</h2>{''.join(drawn)}" if drawn else ""


def _calibration(estimator: Any, name: str, gold: str, layout: Layout) -> str:
    from trelliswork.evaluation import calibration
    from trelliswork.plots.html import curves, table

    require_token_marginals(estimator, name)
    data = read_labelled(gold, layout)
    found: Calibration = calibration(estimator.predict_marginals(data.X), data.y, estimator.classes_)
    drawn = curves(
        {"labels": (found.confidence.tolist(), found.accuracy.tolist())},
        x="probability",
        y="share correct",
        square=True,
    )
    rows = [
        ("file", os.path.basename(gold)),
        ("tokens", f"{found.n_tokens:,}"),
        ("expected calibration error", f"{found.expected_calibration_error:.4f}"),
        ("Brier score", f"{found.brier_score:.4f}"),
        ("log loss", f"{found.log_loss:.4f}"),
    ]
    return f"<h2>Calibration</h2>{drawn}{table(rows)}"


def _template_text(templates: Any) -> str:
    from trelliswork.features.templates import Templates

    return Templates.from_dict(templates).text
