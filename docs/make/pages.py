"""Hook of mkdocs: pages that lie outside docs/ are on the site, and links fit there as they fit in the repository."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "report-a-vulnerability.md",
    "README.md": "index.md",
    "docs/decisions": "decisions/index.md",
    "referee/web/contestant/openapi.json": "api.md",
}
"""Where a file of the repository is on the site, if it is elsewhere than in docs/."""
OUTSIDE |= {
    str(page.relative_to(ROOT)): str(page.relative_to(ROOT / "client"))
    for page in (ROOT / "client" / "examples").rglob("README.md")
}
FOR_DEVELOPERS = "*For developers: why it is so.*"
SHIM = Path(__file__).parent / "vendor"
"""Lets a page from a disk search: there a browser starts no worker."""
PLACES = {
    "decisions/*": 0.002,
    "changelog.md": 0.05,
    "architecture.md": 0.1,
    "contributing.md": 0.1,
    "plugins.md": 0.2,
    "wt300-commands.md": 0.2,
    "harness.md": 0.5,
    "legacy.md": 0.5,
    "first-*": 3.0,
    "boards.md": 1.5,
    "contest-week.md": 2.0,
    "contestants.md": 2.0,
    "faq.md": 1.5,
    "lab.md": 2.0,
    "operators.md": 3.0,
    "receipts.md": 2.0,
    "releasing.md": 1.5,
    "rules.md": 1.5,
    "detectors.md": 2.0,
    "http.md": 1.5,
}
"""What a page's rank in the search is multiplied by: pages of users come before those of developers."""
LINK = re.compile(
    r"(?<!`)(!?\[([^]]*)\]\(|^\[[^]]+\]: )([^)\s#]+)(#[^)\s]*)?(\)?)", re.MULTILINE
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/ and a list of the decision records."""
    for source, uri in OUTSIDE.items():
        if (
            files.get_file_from_path(uri) is None
            and source.endswith(".md")
            and (ROOT / source).is_file()
        ):
            files.append(
                File.generated(config, uri, content=(ROOT / source).read_text())
            )
    for name in ("iframe-worker.js", "iframe-worker-LICENSE"):
        files.append(
            File.generated(config, f"assets/{name}", abs_src_path=str(SHIM / name))
        )
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    listed = "".join(
        f"- [{record.read_text().splitlines()[0][2:]}]({record.name})\n"
        for record in records
    )
    files.append(
        File.generated(
            config,
            "decisions/index.md",
            content=f"# Decisions\n\n{FOR_DEVELOPERS}\n\n{listed}",
        )
    )
    return files


def on_page_markdown(
    markdown: str,
    page: Page,
    config: MkDocsConfig,
    files: Files,
) -> str:
    """Rewrite the links of a page: from files of the repository to pages of the site; others become plain text."""
    uri = page.file.src_uri
    page.meta["search"] = {"boost": _boost(uri)}
    inside = Path("docs") / uri
    outside = (Path(one) for one, there in OUTSIDE.items() if there == uri)
    source = inside if (ROOT / inside).exists() else next(outside)

    def on_site(link: re.Match[str]) -> str:
        before, text, target, anchor, end = link.groups(default="")
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        path = os.path.normpath(source.parent / target)
        there = OUTSIDE.get(path, os.path.relpath(path, "docs"))
        if files.get_file_from_path(there) is None:
            return text if (ROOT / path).exists() else link[0]
        return f"{before}{os.path.relpath(there, Path(uri).parent)}{anchor}{end}"

    return LINK.sub(on_site, markdown)


def _boost(uri: str) -> float:
    found = (boost for form, boost in PLACES.items() if fnmatch(uri, form))
    return next(found, 1.0)
