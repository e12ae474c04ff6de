"""Public HTTP: the routes, the fields of version 1 as its OpenAPI document has them, and the codes of refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flask import Flask

from referee.web.problem_documents import STATUS_OF_CODE

METHODS = ("get", "post", "put", "patch", "delete")
NO_PROMISE = ("/operator", "/static")
"""Their pages change with each version."""


def lines(app: Flask, root: Path) -> list[str]:
    """Return a line for each route, field and code."""
    document = json.loads((root / "referee/web/contestant/openapi.json").read_text())
    codes = [f"refusal {code}: {status}" for code, status in STATUS_OF_CODE.items()]
    return sorted({*_routes(app), *_fields(document), *codes})


def _routes(app: Flask) -> Iterator[str]:
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith(NO_PROMISE):
            continue
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            yield f"{method} {rule.rule}"


def _fields(document: Mapping[str, Any]) -> Iterator[str]:
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                for status in operations[method]["responses"]:
                    yield f"{method.upper()} {path} answers {status}"
    for name, schema in document["components"].get("schemas", {}).items():
        yield from _of_schema(f"document {name}", schema)


def _of_schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    must = schema.get("required", ())
    for key, inner in schema.get("properties", {}).items():
        yield f"{name}.{key}{' (always there)' if key in must else ''}"
        yield from _of_schema(f"{name}.{key}", inner)
    if "items" in schema:
        yield from _of_schema(f"{name}[]", schema["items"])
    for inner in schema.get("allOf", ()):
        yield from _of_schema(name, inner)
