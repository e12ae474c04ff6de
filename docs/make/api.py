"""Hook of mkdocs: the page of every route, made from the OpenAPI document that the referee serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOCUMENT = (
    Path(__file__).resolve().parents[2]
    / "referee"
    / "web"
    / "contestant"
    / "openapi.json"
)
Node = dict[str, Any]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    document = json.loads(DOCUMENT.read_text())
    files.append(
        File.generated(config, "api.md", content="\n".join(page(document)) + "\n")
    )
    return files


def page(document: Node) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Every route\n"
    yield "*For contestants and developers who write a client.*\n"
    yield document["info"]["description"] + "\n"
    yield "With curl, limits and what to do when something is wrong: [every request](http.md).\n"
    for path, item in document["paths"].items():
        shared = item.get("parameters", [])
        for method, operation in item.items():
            if method != "parameters":
                yield from _operation(
                    document,
                    f"{method.upper()} {path}",
                    operation,
                    shared,
                )
    yield "## Bodies\n"
    for name, schema in document["components"]["schemas"].items():
        yield f"### {name}\n"
        yield from _schema(document, schema)


def _operation(
    document: Node,
    title: str,
    operation: Node,
    shared: list[Node],
) -> Iterator[str]:
    yield f"## {title}\n"
    open_to_all = " It needs no token." if operation.get("security") == [] else ""
    yield f"{operation['summary']}.{open_to_all}\n"
    if parameters := [*shared, *operation.get("parameters", [])]:
        yield "| parameter | in | | |\n|---|---|---|---|"
        for one in parameters:
            yield f"| `{one['name']}` | {one['in']} | {_kind(one['schema'])} | {one['description']} |"
        yield ""
    if body := operation.get("requestBody"):
        yield f"**Body.** {body.get('description', '')}\n"
        yield "| `Content-Type` | | for example |\n|---|---|---|"
        for media, content in body["content"].items():
            example = json.dumps(content["example"]) if "example" in content else ""
            schema = content["schema"]
            about = schema.get("items", schema).get("description") or _kind(schema)
            yield f"| `{media}` | {about} | {example and f'`{example}`'} |"
        yield ""
    yield "| status | | body |\n|---|---|---|"
    for status, answer in sorted(operation["responses"].items()):
        one = _resolved(document, answer)
        bodies = ", ".join(
            f"`{media}` {_kind(content.get('schema', {}))}"
            for media, content in one.get("content", {}).items()
        )
        yield f"| {status} | {one['description']} | {bodies} |"
    yield ""


def _schema(document: Node, schema: Node) -> Iterator[str]:
    if about := schema.get("description"):
        yield f"{about}\n"
    required = schema.get("required", [])
    yield "| key | | |\n|---|---|---|"
    for name, one in schema.get("properties", {}).items():
        optional = "" if name in required else "not always there. "
        about = _resolved(document, one).get("description", "")
        yield f"| `{name}` | {_kind(one)} | {optional}{about} |"
        for inner, deeper in one.get("properties", {}).items():
            yield f"| `{name}.{inner}` | {_kind(deeper)} | {deeper.get('description', '')} |"
    yield ""


def _kind(schema: Node) -> str:
    """Say in a word or two what a value is."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if parts := schema.get("allOf"):
        return ", ".join(_kind(part) for part in parts if "$ref" in part)
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("items"):
        return f"array of {_kind(schema['items'])}"
    if keys := schema.get("properties"):
        return "object of " + ", ".join(f"`{key}`" for key in keys)
    kind = schema.get("type", "")
    bounds = [
        f"{word} {schema[key]}"
        for key, word in (
            ("minimum", "from"),
            ("maximum", "to"),
        )
        if key in schema
    ]
    return " ".join([" or ".join(kind) if isinstance(kind, list) else kind, *bounds])


def _resolved(document: Node, node: Node) -> Node:
    """Follow a reference within the document."""
    for key in node.get("$ref", "").split("/")[1:]:
        document = document[key]
    return document if "$ref" in node else node
