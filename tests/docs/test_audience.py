"""Every page says in its first lines for whom it is: in the repository, on the site, and where a referee serves it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("datasets", "scoring", "power", "client", "referee", "tracks")
OF_ALL = {ROOT / "README.md", *(ROOT / part / "README.md" for part in PARTS)}
"""What a newcomer meets first: their readers are all."""
PAGES = sorted(
    {
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "client" / "examples").rglob("README.md"),
        *ROOT.glob("*.md"),
    }
    - OF_ALL
)
READERS = re.compile(
    r"\*For [^*]*\b(operators|contestants|teams|laboratories|developers|anyone)\b[^*]*\.\*"
)
FIRST_LINES = 4


def says_for_whom(lines: list[str]) -> bool:
    return any(map(READERS.fullmatch, lines))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_says_in_its_first_lines_for_whom_it_is(page: Path) -> None:
    text = page.read_text()
    if text.startswith("---\n"):
        text = text.split("---\n", 2)[2].lstrip()
    assert says_for_whom(text.splitlines()[:FIRST_LINES])


def test_every_page_of_the_site_says_for_whom_it_is(site: Path) -> None:
    silent = []
    for page in site.rglob("*.html"):
        article = page.read_text().partition("<article")[2].partition("</article>")[0]
        after_title = article.partition("</h1>")[2]
        if page.name != "404.html" and not re.match(
            r"\s*<p>(<em>For |For )", after_title
        ):
            silent.append(str(page.relative_to(site)))
    assert silent == []


def test_a_page_for_no_one_is_found() -> None:
    assert says_for_whom(["# A", "", "*For operators, on the day.*"])
    assert not says_for_whom(["# A", "", "*For the sake of it.*"])
