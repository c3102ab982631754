"""What parsers answer, ready for JSON; a drawing of the tree comes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trelliswork.errors import InvalidInput
from trelliswork.plots.trees import arcs_svg, tree_svg
from trelliswork.serving.labels import Answer, Tokens
from trelliswork.serving.requests import Explain, KBest, Sentence

__all__ = ["ConstituentAnswers", "DependencyAnswers"]

SHOWN = 5  # of the best trees, on the page
ARC_COLUMNS = 5  # form, lemma, upos, xpos, feats


class TreeAnswers:
    """What both parsers share: sentences with tags, the best trees, everything at once for the page."""

    kind = ""

    def __init__(self, parser: Any, settings: Mapping[str, Any]) -> None:
        self._parser = parser
        self.labels = [str(label) for label in parser.classes_]
        self._probabilities = bool(settings.get("probabilistic", True) or "calibration" in settings)

    def description(self) -> Answer:
        """Return what the model is."""
        return {"kind": self.kind, "labels": self.labels, "columns": 2, "probabilities": self._probabilities}

    def read(self, sentence: Sentence) -> Tokens:
        """Return the tokens of a request, as rows that the parser takes."""
        tokens = Tokens(sentence, 1) if sentence.tokens is None else _Rows(sentence)
        if not tokens.rows:
            raise InvalidInput("a sentence without a token has no tree.")
        tokens.rows = [self._row(row, i) for i, row in enumerate(tokens.rows)]
        return tokens

    def cost(self, n_tokens: int) -> float:
        """Return about how many steps an answer takes."""
        return float(n_tokens**3 + 300 * n_tokens**2)

    def tag(self, sentence: Sentence, tokens: Tokens) -> Answer:
        """Return the best tree."""
        (found,) = self._parser.predict([tokens.rows], **self._known(sentence, tokens))
        return self._repeated(tokens) | self._tree(found)

    def batch(self, sentences: list[Sentence], tokens: list[Tokens]) -> Answer:
        """Return the best trees of many sentences."""
        return {"sentences": [self.tag(*pair) for pair in zip(sentences, tokens, strict=True)]}

    def kbest(self, sentence: KBest, tokens: Tokens) -> Answer:
        """Return the best trees with their probabilities."""
        return self._repeated(tokens) | {"best": self._best(sentence, tokens, sentence.k)}

    def analyse(self, sentence: Sentence, tokens: Tokens) -> Answer:
        """Return all of it, for the page; what the model cannot answer is left out, with the reason."""
        found, refused = self.tag(sentence, tokens), dict[str, str]()
        questions: dict[str, Callable[[], Any]] = {
            "best": lambda: self._best(sentence, tokens, SHOWN),
            "probabilities": lambda: self._chosen(sentence, tokens, found),
        }
        for name, question in questions.items():
            try:
                found[name] = question()
            except InvalidInput as error:
                refused[name] = str(error)
        return found | {"svg": self._svg(tokens, found), "refused": refused}

    def _best(self, sentence: Sentence, tokens: Tokens, k: int) -> list[Answer]:
        (found,) = self._parser.predict_kbest([tokens.rows], k, **self._known(sentence, tokens))
        return [self._tree(tree) | {"log_prob": float(log_prob)} for tree, log_prob in found]

    def _repeated(self, tokens: Tokens) -> Answer:
        return tokens.answer() | {"tokens": _words(tokens)}

    def _row(self, row: Any, i: int) -> Any:
        raise NotImplementedError

    def _known(self, sentence: Sentence, tokens: Tokens) -> dict[str, Any]:
        raise NotImplementedError

    def _tree(self, tree: Any) -> Answer:
        raise NotImplementedError

    def _chosen(self, sentence: Sentence, tokens: Tokens, found: Answer) -> list[float]:
        raise NotImplementedError

    def _svg(self, tokens: Tokens, found: Answer) -> str:
        raise NotImplementedError


class DependencyAnswers(TreeAnswers):
    """A dependency parser, asked by requests; a token is a word, or a word and its tag, or five columns."""

    kind = "dependencies"

    def marginals(self, sentence: Sentence, tokens: Tokens) -> Answer:
        """Return the probability of every arc: ``marginals[h][m]``, heads and words counted from 1, 0 is the root."""
        (table,) = self._parser.predict_marginals([tokens.rows], **self._known(sentence, tokens))
        return self._repeated(tokens) | {"marginals": table.tolist()}

    def explain(self, sentence: Explain, tokens: Tokens) -> Answer:
        """Return what speaks for and against the arcs of the tree."""
        _require_plain(sentence, len(tokens))
        found = self._parser.explain(tokens.rows)
        asked = [arc for arc in found if sentence.position in (None, arc.word - 1)]
        return self._repeated(tokens) | {
            "explained": [
                {
                    "position": arc.word - 1,
                    "head": int(arc.head),
                    "label": arc.relation,
                    "score": float(arc.score),
                    "probability": float(arc.probability),
                    **_contributions(arc.contributions, sentence.top),
                }
                for arc in asked
            ]
        }

    def _row(self, row: Any, i: int) -> Any:
        cells = [row] if isinstance(row, str) else list(row)
        if len(cells) == 1:
            return (cells[0], "_", "_", "_", "_")
        if len(cells) == 2:
            return (cells[0], "_", cells[1], "_", "_")
        if len(cells) == ARC_COLUMNS:
            return tuple(cells)
        raise InvalidInput(
            f"tokens[{i}] has {len(cells)} columns; expected a word, a word and its tag, or form, lemma, upos, xpos "
            "and feats."
        )

    def _known(self, sentence: Sentence, tokens: Tokens) -> dict[str, Any]:
        if not sentence.fixed:
            return {}
        heads: list[int | None] = [None] * len(tokens)
        for position, head in sentence.fixed.items():
            if position >= len(tokens) or not isinstance(head, int) or not 0 <= head <= len(tokens):
                raise InvalidInput(
                    f"fixed gives token {position} the head {head!r}; expected a token below {len(tokens)} and a head "
                    f"from 0 (the root) to {len(tokens)}."
                )
            heads[position] = head
        labelled = not isinstance(self._parser.predict([tokens.rows])[0], list)
        return {"fixed": [(heads, [None] * len(heads)) if labelled else heads]}

    def _tree(self, tree: Any) -> Answer:
        if isinstance(tree, list):
            return {"heads": tree}
        heads, relations = tree
        return {"heads": list(heads), "relations": list(relations)}

    def _chosen(self, sentence: Sentence, tokens: Tokens, found: Answer) -> list[float]:
        (table,) = self._parser.predict_marginals([tokens.rows], **self._known(sentence, tokens))
        return [float(table[head, word]) for word, head in enumerate(found["heads"], 1)]

    def _svg(self, tokens: Tokens, found: Answer) -> str:
        tags = [row[2] for row in tokens.rows]
        shown = tags if any(tag != "_" for tag in tags) else None
        return arcs_svg(_words(tokens), found["heads"], found.get("relations"), tags=shown)


class ConstituentAnswers(TreeAnswers):
    """A parser of constituents, asked by requests; a token is a word, or a word and its tag."""

    kind = "constituents"

    def marginals(self, sentence: Sentence, tokens: Tokens) -> Answer:
        """Return the probability of every constituent above 0.001, the most probable first."""
        (table,) = self._parser.predict_marginals([tokens.rows], **self._known(sentence, tokens))
        found = [
            {"start": int(i), "stop": int(j), "label": self.labels[k], "probability": float(table[i, j, k])}
            for i, j, k in zip(*(table > 0.001).nonzero(), strict=True)
        ]
        return self._repeated(tokens) | {"spans": sorted(found, key=lambda span: -float(span["probability"]))}

    def explain(self, sentence: Explain, tokens: Tokens) -> Answer:
        """Return what speaks for and against the constituents of the tree."""
        _require_plain(sentence, len(tokens))
        asked = [
            span
            for span in self._parser.explain(tokens.rows)
            if sentence.position is None or span.start <= sentence.position < span.stop
        ]
        return self._repeated(tokens) | {
            "explained": [
                {
                    "start": span.start,
                    "stop": span.stop,
                    "label": span.label,
                    "score": float(span.score),
                    "probability": float(span.probability),
                    **_contributions(span.contributions, sentence.top),
                }
                for span in asked
            ]
        }

    def _row(self, row: Any, i: int) -> Any:
        cells = [row] if isinstance(row, str) else list(row)
        if len(cells) > 2:
            raise InvalidInput(f"tokens[{i}] has {len(cells)} columns; expected a word, or a word and its tag.")
        return cells[0] if len(cells) == 1 else tuple(cells)

    def _known(self, sentence: Sentence, tokens: Tokens) -> dict[str, Any]:
        if sentence.fixed:
            raise InvalidInput("what is fixed in a tree of constituents are spans, not tokens: leave out fixed.")
        return {}

    def _tree(self, tree: Any) -> Answer:
        return {"tree": str(tree), "spans": [list(span) for span in tree.spans()]}

    def _chosen(self, sentence: Sentence, tokens: Tokens, found: Answer) -> list[float]:
        return [float(span.probability) for span in self._parser.explain(tokens.rows)]

    def _svg(self, tokens: Tokens, found: Answer) -> str:
        tags = [row[1] for row in tokens.rows if not isinstance(row, str)]
        shown = tags if len(tags) == len(tokens) else None
        return tree_svg(_words(tokens), [tuple(span) for span in found["spans"]], tags=shown)


class _Rows(Tokens):
    """Tokens with any number of columns, which the parser looks at."""

    def __init__(self, sentence: Sentence) -> None:
        if sentence.text is not None:
            raise InvalidInput("give either text or tokens.")
        self.text, self.rows = None, list(sentence.tokens or [])
        for i, row in enumerate(self.rows):
            if not row:
                raise InvalidInput(f"tokens[{i}] is empty.")


def _words(tokens: Tokens) -> list[str]:
    return [row if isinstance(row, str) else row[0] for row in tokens.rows]


def _require_plain(sentence: Explain, n: int) -> None:
    if sentence.fixed or sentence.label is not None:
        raise InvalidInput("explanations are of the tree that the parser chooses by itself: leave out fixed and label.")
    if sentence.position is not None and sentence.position >= n:
        raise InvalidInput(f"position is {sentence.position}, but there are {n} tokens.")


def _contributions(found: Sequence[tuple[str, float]], top: int) -> Answer:
    listed = [{"attribute": name, "previous": None, "value": float(value)} for name, value in found[:top]]
    return {"contributions": listed, "others": max(len(found) - top, 0)}
