"""The site that `make docs` builds, opened from a disk: no link of it leads nowhere, and it asks no other host."""

from __future__ import annotations

import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from markdown_it import MarkdownIt
from playwright.sync_api import Browser, expect

from tests.browser import visit

ROOT = Path(__file__).parents[2]
HOST = "http://site"
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "srcset"),
}


class Links(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(
        self,
        tag: str,
        attributes: list[tuple[str, str | None]],
    ) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in LOADED and value:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def broken(site: Path) -> list[str]:
    """Each link within the site that leads nowhere, and whatever a page loads from elsewhere."""
    pages = {page: Links(page.read_text()) for page in site.rglob("*.html")}
    found = []
    for page, links in pages.items():
        base = f"{HOST}/{page.relative_to(site)}"
        for link in links.links + links.loaded:
            url = urlsplit(urljoin(base, link))
            if f"{url.scheme}://{url.netloc}" != HOST:
                found += [f"{page.name} loads {link}"] if link in links.loaded else []
                continue
            file = site / unquote(url.path).lstrip("/")
            there = file in pages and url.fragment in pages[file].anchors
            if not file.is_file() or (url.fragment and not there):
                found.append(f"{page.relative_to(site)}: {link}")
    return found


def shown_otherwise(site: Path) -> list[str]:
    """The pages whose lists, tables or code blocks are not those that GitHub shows of the same text."""
    outside = runpy.run_path(str(ROOT / "docs" / "make" / "pages.py"))["OUTSIDE"]
    sources = {
        f"docs/{page.relative_to(ROOT / 'docs')}": page
        for page in (ROOT / "docs").rglob("*.md")
    }
    sources |= {
        name: ROOT / name
        for name in outside
        if name.endswith(".md") and name != "README.md"
    }
    github = MarkdownIt("commonmark").enable("table")
    found = []
    for name, source in sources.items():
        place = outside.get(name, name.removeprefix("docs/")).removesuffix(".md")
        if place.endswith("README"):
            place = f"{place.removesuffix('README')}index"
        built = (site / f"{place}.html").read_text()
        built = built.partition("<article")[2].partition("</article>")[0]
        both = [
            [len(re.findall(f"<{tag}[ >]", html)) for tag in ("li", "pre", "tr")]
            for html in (github.render(source.read_text()), built)
        ]
        if both[0] != both[1]:
            found.append(
                f"{name}: {both}: a list needs a blank line before it, and four blanks to go on"
            )
    return found


def test_the_site_is_whole_asks_no_other_host_and_finds_what_is_searched(
    browser: Browser,
    site: Path,
) -> None:
    assert broken(site) == []
    assert shown_otherwise(site) == []

    with visit(browser, (site / "index.html").as_uri()) as page:
        for door in ("Operate", "Compete", "Measure"):
            expect(
                page.locator(".md-tabs").get_by_role("link", name=door)
            ).to_be_visible()
        page.get_by_role("link", name="every route").click()
        expect(page.get_by_role("heading", name="POST /v1/detections")).to_be_visible()
        # What is typed before the page's program listens is lost.
        page.wait_for_load_state("networkidle")
        page.get_by_role("textbox", name="Search").click()
        page.get_by_role("textbox", name="Search").press_sequentially("idempotency")
        found = page.locator(".md-search-result__item").first
        expect(found).to_be_visible()
        found.get_by_role("link").first.click()
        expect(page.locator("article mark").first).to_be_visible()


def test_a_link_that_leads_nowhere_and_a_file_of_another_host_are_found(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.html").write_text(
        "<a href='.'><a href='b.html#there'><p id='here'><a href='#here'>"
    )
    (tmp_path / "b.html").write_text(
        "<a href='a.html#there'><script src='https://cdn.test/x.js'></script>"
    )
    assert sorted(broken(tmp_path)) == [
        "a.html: .",
        "a.html: b.html#there",
        "b.html loads https://cdn.test/x.js",
        "b.html: a.html#there",
    ]
