"""Which confidence finds the errors: lists of the k best labellings, margins, or exact marginals?

Mejer and Crammer (2010) and Mančev (2015), sec. 4.3, take the confidence of a label from the k best labellings. Here
are a model that knows its probabilities (a CRF) and two that do not (the sequential dual method, the averaged
perceptron), on chunking and Spanish names, with the ready sets of features. How well does each kind of confidence rank
wrong labels, and wrong sequences, below right ones? "area" is the area under the curve, the probability that an error
has less confidence than a right answer; "caught" is the share of the errors in the least confident tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import trelliswork as tw
from common.output import Report
from common.tasks import Task, chunking, spanish, tasks

FEATURES = {"chunking": "chunking", "Spanish NER": "ner"}
LEARNERS = {"CRF": tw.CRF(), "SDM": tw.SDM(C=0.1, k=5, tau=1e-3), "perceptron": tw.Perceptron()}
LEVELS = ("label", "context", "sequence")
WAYS: dict[str, dict[str, Any]] = {
    "kbest, k=5": {"method": "kbest", "k": 5},
    "kbest, k=20": {"method": "kbest", "k": 20},
    "kbest, k=100": {"method": "kbest", "k": 100},
    "weighted, k=5": {"method": "weighted", "k": 5},
    "weighted, k=100": {"method": "weighted", "k": 100},
    "margins": {"method": "margins"},
    "marginals": {"method": "marginals"},
}
PUBLISHED = {"[1,1]": 97.7, "[0,1)": 100 - 23.6}  # sec. 4.3: per cent right, five best of an SVM, chunking


def main() -> None:
    """Print a table for each task and learner."""
    report = Report(__file__, __doc__ or "")
    rows: list[dict[str, Any]] = []
    agreement: list[dict[str, Any]] = []
    for task in tasks(report.quick, chunking, spanish):
        for learner in LEARNERS:
            model = tw.SequenceLabeler(LEARNERS[learner], FEATURES[task.name], random_state=0).fit(*task.train)
            found = measured(model, task, learner)
            report.table(f"{task.describe()}; {learner}, span F1 {100 * model.score(*task.test):.2f}", by_way(found))
            rows += found
            agreement += [reliability(model, task, learner, level) for level in ("label", "context")]
    report.table("per cent of labels right where all of the five best agree, and where not (sec. 4.3)", agreement)
    report.csv(rows)
    draw(rows, report)
    for name in FEATURES:
        for learner in LEARNERS:
            report.finding(f"{name}, {learner}: {winners(rows, name, learner)}.")
    report.done()


def measured(model: Any, task: Task, learner: str) -> list[dict[str, Any]]:
    """Return how well each way to be confident of each thing finds the errors."""
    guess = model.predict(task.test.X)
    rows = []
    for name, way in WAYS.items():
        found = tw.confidence(model, task.test.X, **way)
        for level in LEVELS:
            result = tw.evaluation.error_detection([getattr(each, level) for each in found], task.test.y, guess)
            rows.append({"task": task.name, "learner": learner, "confidence": name, "of": level, **result.as_dict()})
    return rows


def by_way(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for each way, the levels side by side."""
    lines = []
    for name in WAYS:
        own = {row["of"]: row for row in rows if row["confidence"] == name}
        line: dict[str, Any] = {"confidence": name}
        for level in LEVELS:
            line |= {f"{level}: area": own[level]["auc"], f"{level}: caught": own[level]["caught"]}
        lines.append(line)
    return lines


def reliability(model: Any, task: Task, learner: str, level: str) -> dict[str, Any]:
    """How often labels are right that the five best agree about, alone or with both neighbours, and the others."""
    counts = {name: [0, 0] for name in PUBLISHED}
    for each, gold in zip(tw.confidence(model, task.test.X, k=5), task.test.y, strict=True):
        for label, sure, right in zip(each.labels, getattr(each, level), gold, strict=True):
            count = counts["[1,1]" if sure == 1.0 else "[0,1)"]
            count[0] += 1
            count[1] += label == right
    row: dict[str, Any] = {"task": task.name, "learner": learner, "of": level}
    for name, (n, n_right) in counts.items():
        row |= {name: 100 * n_right / n, f"{name} published": PUBLISHED[name] if task.name == "chunking" else None}
    row["share in [1,1]"] = counts["[1,1]"][0] / sum(n for n, _ in counts.values())
    return row


def winners(rows: Sequence[dict[str, Any]], task: str, learner: str) -> str:
    """Which way is best at each level."""
    parts = []
    for level in LEVELS:
        own = [row for row in rows if (row["task"], row["learner"], row["of"]) == (task, learner, level)]
        best = max(own, key=lambda row: row["auc"])
        parts.append(f"of a {level}, {best['confidence']} ({best['auc']:.3f}; kbest, k=5 {own[0]['auc']:.3f})")
    return "; ".join(parts)


def draw(rows: Sequence[dict[str, Any]], report: Report) -> None:
    """Areas under the curve, a panel for each task and level."""
    places = range(len(WAYS))
    with report.picture(len(FEATURES), len(LEVELS), width=4.2, height=3.6) as axes:
        for line, task in zip(axes, FEATURES, strict=True):
            for panel, level in zip(line, LEVELS, strict=True):
                for learner, marker in zip(LEARNERS, "os^", strict=True):
                    own = [r["auc"] for r in rows if (r["task"], r["learner"], r["of"]) == (task, learner, level)]
                    panel.plot(own, places, marker=marker, linestyle=":", label=learner)
                panel.set_yticks(list(places), list(WAYS))
                panel.invert_yaxis()
                panel.set_title(f"{task}: of a {level}", fontsize=10)
                panel.set_xlabel("area under the curve")
                panel.grid(alpha=0.3)
        axes[-1, -1].legend(frameon=False)


if __name__ == "__main__":
    main()
