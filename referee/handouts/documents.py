"""The documents of the project as pages: which there are, how they are grouped, and each one rendered."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from referee.handouts.markdown_page import MarkdownPage, render

FOLDER = Path(__file__).parents[1] / "documents"
GROUPS: Sequence[tuple[str, Sequence[str]]] = (
    (
        "Compete",
        [
            "first-run",
            "boards",
            "contestants",
            "practice",
            "client",
            "detectors",
            "http",
            "conformance",
            "receipts",
            "entries",
            "model-tracks",
            "harness",
            "legacy",
            "faq",
        ],
    ),
    (
        "Operate",
        [
            "first-contest",
            "contest-week",
            "handbook",
            "operators",
            "rules",
            "season",
            "scaling",
            "reliability",
            "security",
            "bundle",
            "database",
            "model-board",
            "testsets",
        ],
    ),
    (
        "Measure",
        [
            "first-measurement",
            "first-hour",
            "lab",
            "lab-pages",
            "scoring",
            "score-api",
            "energy",
            "meter-api",
            "real-meter",
            "meters",
            "mlperf",
            "wt300-commands",
        ],
    ),
    ("Develop", ["architecture", "plugins", "stability", "releasing", "systems"]),
)
"""The pages by reader, in the order in which they are listed."""
DEPLOYMENT = ["deploy/README", "deploy/bare-debian", "deploy/containers"]
SHOWN_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
ELSEWHERE = {
    "referee/web/contestant/openapi.json": "/v1/openapi.json",
    "README.md": "/docs/",
    "docs/index.md": "/docs/",
}
"""Where the server has a file of the repository that is not a document."""
EXAMPLES = "client/examples"
DOWNLOADS = "/client/"


@dataclass(frozen=True)
class Listed:
    """A document in the list: its name in the address, and its title."""

    name: str
    title: str


@cache
def listed() -> list[tuple[str, list[Listed]]]:
    """Return all documents by group; the records of decisions are the last group."""
    records = sorted((FOLDER / "decisions").glob("*.md"))
    decisions = [f"decisions/{record.stem}" for record in records]
    groups = [*GROUPS, ("Deploy", DEPLOYMENT), ("Decisions", decisions)]
    return [(group, [*map(_listed, names)]) for group, names in groups]


@cache
def document(name: str) -> MarkdownPage | None:
    """Return the document with that name, rendered; None if there is none."""
    path = _file(f"{name}.md")
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    return render(text, lambda target: _address(name, target))


@cache
def other_file(name: str) -> tuple[bytes, str] | None:
    """Return content and media type of a picture or a configuration file; None if there is none."""
    path = _file(name)
    if path is None or path.suffix in (".py", ".md"):
        return None
    kind = SHOWN_KINDS.get(path.suffix, "text/plain; charset=utf-8")
    return path.read_bytes(), kind


def _file(name: str) -> Path | None:
    """Return the file of that name if it is one of the documents: no other file can be requested."""
    return _files().get(name)


@cache
def _files() -> dict[str, Path]:
    return {
        path.relative_to(FOLDER).as_posix(): path
        for path in FOLDER.rglob("*")
        if path.is_file()
    }


def _listed(name: str) -> Listed:
    with (FOLDER / f"{name}.md").open(encoding="utf-8") as text:
        return Listed(name, text.readline().removeprefix("# ").strip())


def _address(name: str, target: str) -> str | None:
    """Return where the server has what a document links to; None if it has not.

    Targets on other hosts stay as they are.
    """
    if "://" in target or target.startswith(("mailto:", "#")):
        return target
    path, mark, anchor = target.partition("#")
    folder = posixpath.dirname(posixpath.join("docs", name))
    source = posixpath.normpath(posixpath.join(folder, path))
    if source in ELSEWHERE:
        return ELSEWHERE[source] + mark + anchor
    if source.startswith(EXAMPLES):
        return DOWNLOADS
    inside = source.removeprefix("docs/")
    if inside == source or _file(inside) is None:
        return None
    return f"/docs/{inside.removesuffix('.md')}{mark}{anchor}"
