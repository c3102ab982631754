"""The OpenAPI description of what may be asked, and a page of it; both are made from `requests.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from typing import Any

import msgspec

__all__ = ["described", "description_page"]

Questions = Mapping[str, tuple[type[Any], str]]
EXAMPLES: dict[str, dict[str, Any]] = {
    "Sentence": {"text": "2 ripe tomatoes", "fixed": {"0": "B-QTY"}},
    "KBest": {"tokens": ["2", "ripe", "tomatoes"], "k": 3},
    "Explain": {"tokens": ["2", "ripe", "tomatoes"], "position": 1},
    "Batch": {"sentences": [{"text": "2 ripe tomatoes"}, {"tokens": ["salt"]}]},
}
PROBLEMS = {
    "400": "The body is not JSON, or not of the form described.",
    "408": "The request did not arrive in time.",
    "413": "The request asks for more than the server takes.",
    "415": "The content type is not JSON.",
    "422": "The model cannot answer this. The error says why.",
    "503": "Too many requests are waiting, or the answer took too long.",
}


def described(questions: Questions) -> dict[str, Any]:
    """Return the description, OpenAPI 3.1."""
    bodies = [body for body, _ in questions.values()]
    _, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    answer = {"type": "object", "description": "See docs/serving.md for its fields."}
    problem = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "trelliswork", "version": version("trelliswork"), "license": {"name": "Apache-2.0"}},
        "paths": {
            path: {
                "post": {
                    "summary": summary,
                    "operationId": path[1:],
                    "requestBody": {"required": True, "content": _content(f"#/components/schemas/{body.__name__}")},
                    "responses": {"200": {"description": summary, "content": _content("#/components/schemas/Answer")}}
                    | {
                        status: {"description": text, "content": _content("#/components/schemas/Problem")}
                        for status, text in PROBLEMS.items()
                    },
                }
            }
            for path, (body, summary) in questions.items()
        }
        | {path: {"get": _said(summary)} for path, summary in SAID.items()},
        "components": {"schemas": {**schemas, "Answer": answer, "Problem": problem}},
    }


SAID = {
    "/model": "The model: its kind, its labels, the number of columns it looks at.",
    "/health": "Whether the server is up.",
    "/metrics": "Counts of requests and tokens, times and memory, as Prometheus reads them.",
}


def _content(reference: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": reference}}}


def _said(summary: str) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": {"description": summary}}}


def description_page(questions: Questions) -> str:
    """Return the description as a page."""
    parts = []
    for path, (body, summary) in questions.items():
        example = json.dumps(EXAMPLES[body.__name__])
        call = f"curl -s localhost:8000{path} -H 'Content-Type: application/json' -d '{example}'"
        parts.append(f"<h2>POST {path}</h2><p>{escape(summary)}</p><pre>{escape(call)}</pre>{_fields(body)}")
    parts += [f"<h2>GET {path}</h2><p>{escape(summary)}</p>" for path, summary in SAID.items()]
    rows = "".join(f"<tr><td>{status}</td><td>{escape(text)}</td></tr>" for status, text in PROBLEMS.items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<title>trelliswork: HTTP API</title><link rel="stylesheet" href="page.css"><main class="prose">'
        '<h1>HTTP API</h1><p><a href="./">The page</a> · <a href="openapi.json">OpenAPI description</a></p>'
        f"{''.join(parts)}<h2>Errors</h2><p>Their body is "
        "<code>{&quot;error&quot;: &quot;what was wrong&quot;}</code>.</p>"
        f"<table>{rows}</table></main></html>"
    )


def _fields(body: type[Any]) -> str:
    fields = msgspec.structs.fields(body)
    rows = "".join(
        f"<tr><td><code>{field.encode_name}</code></td><td>{escape(_told(body, field))}</td></tr>" for field in fields
    )
    return f"<table>{rows}</table>"


def _told(body: type[Any], field: Any) -> str:
    """What the documentation of a request says about a field."""
    for one in body.__mro__:
        lines = (one.__doc__ or "").splitlines()
        for i, line in enumerate(lines):
            if line.strip().startswith(f"{field.name} :"):
                told = []
                for more in lines[i + 1 :]:
                    if not more.startswith("        "):
                        break
                    told.append(more.strip())
                return " ".join(told).replace("``", "")
    return {"k": "The number of answers.", "sentences": "Each as for /tag."}.get(field.name, "")
