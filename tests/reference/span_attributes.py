"""Attributes of spans, evaluated text by text: every run of tokens by itself, from its own rows."""

from reference.attributes import Evaluator, combine, hash_text, stepped

__all__ = ["SpanEvaluator"]


class SpanEvaluator(Evaluator):
    """Attributes of the runs of tokens of one sequence."""

    def spans(self, templates, longest):
        """For every site, begin * longest + (size - 1): (name, key, value) of the attributes of the span."""
        templates = [template for template in templates if "span" in template.meets]
        n = len(self.rows)
        return [
            [found for t in templates for found in [self.of_span(t, begin, size)] if found is not None]
            if begin + size <= n
            else []
            for begin in range(n)
            for size in range(1, longest + 1)
        ]

    def of_span(self, template, begin, size):
        texts, keys, number = [], [], 1.0
        for part in template.parts:
            if part.view.kind == "number":
                at = self.token(part, begin, size)
                if at is None or not 0 <= at < len(self.rows) or self.rows[at][part.view.column] in ("", "_"):
                    return None
                number *= float(self.rows[at][part.view.column])
                keys.append(1)
                continue
            value = self.part_value(part, begin, size)
            if value is None:
                return None
            if isinstance(value, list):
                key = hash_text(value[0])
                for one in value[1:]:
                    key = combine(key, hash_text(one))
                texts.append(" ".join(value))
                keys.append(key)
            elif value is True:
                keys.append(1)
            else:
                texts.append(value)
                keys.append(hash_text(value))
        key = hash_text(template.text)
        for one in keys:
            key = combine(key, one)
        return template.text + ("=" + "|".join(texts) if texts else ""), key, number

    def token(self, part, begin, size):
        """Which token a part looks at; None if the span is too short."""
        end = begin + size
        inside = range(begin, end)
        at = {"first": begin, "last": end - 1, "before": begin - 1, "after": end}[part.mode] + part.offset
        return at if part.mode in ("before", "after") or at in inside else None

    def part_value(self, part, begin, size):
        view = part.view
        if part.mode == "size":
            return bin_text([n for _, n, _ in view.steps], size)
        if part.mode in ("whole", "outline"):
            rows = self.rows[begin : begin + size]
            values = [stepped(row[view.column], view.steps, self.search, self.classes) for row in rows]
            if None in values:
                return None
            if view.kind == "entry":
                return self.entry(view, values)
            return values if part.mode == "whole" else cut(values, part.offset)
        at = self.token(part, begin, size)
        return None if at is None else self.value(view, at)

    def entry(self, view, values):
        for entry, cls in self.gazetteers[view.resource]:
            if [stepped(token, view.steps, self.search, self.classes) for token in entry] == values:
                return cls or "yes"
        return None


def cut(values, longest_run):
    kept = []
    for i, value in enumerate(values):
        run = 1
        while run <= i and values[i - run] == value:
            run += 1
        if run <= longest_run:
            kept.append(value)
    return kept


def bin_text(bins, size):
    if not bins:
        return str(size)
    edges = sorted({1, *bins})
    first = max(edge for edge in edges if edge <= size)
    later = [edge for edge in edges if edge > size]
    if not later:
        return f"{first}+"
    return str(first) if later[0] == first + 1 else f"{first}..{later[0] - 1}"
