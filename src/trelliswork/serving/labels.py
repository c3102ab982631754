"""What a model that labels the tokens of sequences answers, ready for JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trelliswork.corpora.text import token_offsets
from trelliswork.errors import InvalidInput
from trelliswork.serving.requests import Explain, KBest, Sentence

__all__ = ["LabelAnswers"]

Answer = dict[str, Any]
SHOWN = 5  # of the best labellings, on the page


class Tokens:
    """The tokens of one request, and where they stand in its text."""

    def __init__(self, sentence: Sentence, n_columns: int) -> None:
        if (sentence.text is None) == (sentence.tokens is None):
            raise InvalidInput("give either text or tokens.")
        self.text = sentence.text
        if sentence.text is not None:
            if n_columns > 1:
                raise InvalidInput(
                    f"this model looks at {n_columns} columns: give tokens, each a list of {n_columns} strings."
                )
            self.offsets = token_offsets(sentence.text)
            self.rows: list[Any] = [sentence.text[start:stop] for start, stop in self.offsets]
            return
        assert sentence.tokens is not None
        self.rows = [_row(token, i, n_columns) for i, token in enumerate(sentence.tokens)]

    def __len__(self) -> int:
        return len(self.rows)

    def answer(self) -> Answer:
        """Return the tokens as an answer repeats them."""
        words = [row if isinstance(row, str) else list(row) for row in self.rows]
        return {"tokens": words} | ({} if self.text is None else {"offsets": self.offsets})


def _row(token: Any, i: int, n_columns: int) -> Any:
    cells = [token] if isinstance(token, str) else token
    if len(cells) < n_columns:
        raise InvalidInput(f"tokens[{i}] has {len(cells)} columns; this model looks at {n_columns}.")
    return cells[0] if n_columns == 1 else tuple(cells)


class LabelAnswers:
    """A labeler of sequences, asked by requests.

    Parameters
    ----------
    labeler : SequenceLabeler, SegmentLabeler or Committee
    settings : mapping
        Of its model file.
    """

    kind = "labels"

    def __init__(self, labeler: Any, settings: Mapping[str, Any]) -> None:
        self._labeler = labeler
        self._segments = hasattr(labeler, "longest_")
        self.labels = [str(label) for label in labeler.classes_]
        self._n_columns = int(getattr(labeler, "n_columns_", 1))
        self._probabilities = bool(settings.get("probabilistic", True) or "calibration" in settings)

    def description(self) -> Answer:
        """Return what the model is, for those who ask before they ask it."""
        return {
            "kind": self.kind,
            "labels": self.labels,
            "columns": self._n_columns,
            "probabilities": self._probabilities,
        }

    def read(self, sentence: Sentence) -> Tokens:
        """Return the tokens of a request, checked."""
        return Tokens(sentence, self._n_columns)

    def cost(self, n_tokens: int) -> float:
        """Return about how many steps an answer takes."""
        return float(n_tokens * len(self.labels) ** 2)

    # ---- questions -------------------------------------------------------------------------------------------------

    def tag(self, sentence: Sentence, tokens: Tokens) -> Answer:
        """Return the best labels."""
        return tokens.answer() | {"labels": self._labels([tokens], self._known(sentence, tokens))[0]}

    def batch(self, sentences: list[Sentence], tokens: list[Tokens]) -> Answer:
        """Return the best labels of many sentences."""
        if any(sentence.fixed for sentence in sentences):
            known = [self._known(*pair) for pair in zip(sentences, tokens, strict=True)]
            merged = {name: [own.get(name, [None])[0] for own in known] for name in ("fixed", "allowed")}
            limits = {name: values for name, values in merged.items() if any(value is not None for value in values)}
        else:
            limits = {}
        labels = self._labels(tokens, limits)
        return {"sentences": [own.answer() | {"labels": row} for own, row in zip(tokens, labels, strict=True)]}

    def kbest(self, sentence: KBest, tokens: Tokens) -> Answer:
        """Return the best labellings with their probabilities."""
        return tokens.answer() | {"best": self._best(sentence, tokens, sentence.k)}

    def marginals(self, sentence: Sentence, tokens: Tokens) -> Answer:
        """Return the probability of every label at every token."""
        return tokens.answer() | {"labels": self.labels, "marginals": self._marginals(sentence, tokens)}

    def explain(self, sentence: Explain, tokens: Tokens) -> Answer:
        """Return what speaks for and against labels."""
        if sentence.fixed:
            raise InvalidInput("explanations are of the labels that the model chooses by itself: leave out fixed.")
        if sentence.position is None and sentence.label is not None:
            raise InvalidInput("label needs the position of a token.")
        if sentence.position is not None and sentence.position >= len(tokens):
            raise InvalidInput(f"position is {sentence.position}, but there are {len(tokens)} tokens.")
        why = self._labeler.explain(tokens.rows)
        asked = range(len(tokens)) if sentence.position is None else [sentence.position]
        return tokens.answer() | {
            "labels": why.labels,
            "explained": [_explained(why, t, sentence.label, sentence.top) for t in asked],
        }

    def analyse(self, sentence: Sentence, tokens: Tokens) -> Answer:
        """Return all of it, for the page; what the model cannot answer is left out, with the reason."""
        found = self.tag(sentence, tokens)
        refused: dict[str, str] = {}
        questions: dict[str, Callable[[], Any]] = {
            "marginals": lambda: self._marginals(sentence, tokens),
            "best": lambda: self._best(sentence, tokens, SHOWN),
            "spans": lambda: self._spans(sentence, tokens),
        }
        for name, question in questions.items():
            try:
                found[name] = question()
            except InvalidInput as error:
                refused[name] = str(error)
        return found | {"refused": refused}

    # ---- asked of the model ----------------------------------------------------------------------------------------

    def _known(self, sentence: Sentence, tokens: Tokens) -> dict[str, Any]:
        """What is known of a sentence, as the labeler takes it."""
        if not sentence.fixed:
            return {}
        for position, label in sentence.fixed.items():
            if position >= len(tokens):
                raise InvalidInput(f"fixed has the position {position}, but there are {len(tokens)} tokens.")
            if label not in self.labels:
                raise InvalidInput(f"fixed has the label {label!r}; the model knows {', '.join(self.labels)}.")
        if self._segments:  # a token is fixed by the labels that its segment may have
            return {"allowed": [[{sentence.fixed[t]} if t in sentence.fixed else None for t in range(len(tokens))]]}
        return {"fixed": [sentence.fixed]}

    def _labels(self, tokens: list[Tokens], limits: dict[str, Any]) -> list[list[Any]]:
        return [list(row) for row in self._labeler.predict([own.rows for own in tokens], **limits)]

    def _best(self, sentence: Sentence, tokens: Tokens, k: int) -> list[Answer]:
        (found,) = self._labeler.predict_kbest([tokens.rows], k, **self._known(sentence, tokens))
        return [{"labels": list(labels), "log_prob": float(log_prob)} for labels, log_prob in found]

    def _marginals(self, sentence: Sentence, tokens: Tokens) -> list[list[float]]:
        if self._segments:
            raise InvalidInput("this model labels segments, whose tokens have no probabilities of their own.")
        (table,) = self._labeler.predict_marginals([tokens.rows], **self._known(sentence, tokens))
        rows: list[list[float]] = table.tolist()
        return rows

    def _spans(self, sentence: Sentence, tokens: Tokens) -> list[Answer]:
        (found,) = self._labeler.predict_spans([tokens.rows], **self._known(sentence, tokens))
        return [
            {"type": span.type, "start": span.start, "stop": span.stop, "probability": float(span.probability)}
            for span in found
        ]


def _explained(why: Any, t: int, label: str | None, top: int) -> Answer:
    contributions = why.contributions(t, label)
    chosen = why.labels[t] if label is None else label
    other = why.runner_up(t)
    return {
        "position": t,
        "label": chosen,
        "score": why.score(t, label),
        "probability": float(why.marginals[t, why.classes.index(chosen)]),
        "runner_up": None if other is None else {"label": other[0], "probability": other[1]},
        "contributions": [
            {"attribute": c.attribute, "previous": c.previous, "value": c.value} for c in contributions[:top]
        ],
        "others": len(contributions) - min(top, len(contributions)),
    }
