"""The documents that a referee serves: all are listed, and each link of each leads somewhere on the same server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from flask.testing import FlaskClient

from referee.handouts.documents import document, listed, other_file
from referee.handouts.markdown_page import render
from referee.web.app import create_app
from tests.docs.test_site import Links
from tests.referee.factories import House

DOCS = Path(__file__).parents[3] / "docs"
NAMES = [one.name for _, group in listed() for one in group]
HOST = "http://referee"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def client(build: Callable[..., House]) -> FlaskClient:
    made = build()
    return create_app(made.contest, made.control, made.clock).test_client()


def test_every_document_is_listed_by_its_title() -> None:
    written = {
        path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")
    }
    assert written - {*NAMES} == {"index"}
    assert len(NAMES) == len({*NAMES})
    for _, group in listed():
        for one in group:
            shown = document(one.name)
            assert shown is not None
            assert shown.title.replace("`", "") == one.title.replace("`", "")


def pages_from(client: FlaskClient, *starts: str) -> tuple[dict[str, Links], list[str]]:
    """All pages that can be reached, and each address that is not answered."""
    pages: dict[str, Links] = {}
    asked = [*starts]
    wrong = []
    while asked:
        url = asked.pop()
        path = urlsplit(url).path
        if path in pages:
            continue
        answer = client.get(path, headers=BROWSER, follow_redirects=True)
        if answer.status_code != 200:
            wrong.append(f"{url}: {answer.status_code}")
        is_page = answer.mimetype == "text/html"
        pages[path] = Links(answer.text if is_page else "")
        if path == "/" or not is_page:
            continue
        assert not re.search(r"<[^>]* style=|<script", answer.text), path
        found = (*pages[path].links, *pages[path].loaded)
        there = (urljoin(url, link) for link in found)
        asked += [one for one in there if one.startswith(HOST)]
    return pages, wrong


def test_every_link_of_every_document_leads_to_what_the_server_has(
    client: FlaskClient,
) -> None:
    pages, wrong = pages_from(client, f"{HOST}/docs/", f"{HOST}/client/")
    for path, page in pages.items():
        for link in page.links:
            there = urlsplit(urljoin(HOST + path, link))
            is_here = there.netloc == "referee" and there.fragment
            if is_here and there.fragment not in pages[there.path].anchors:
                wrong.append(f"{path}: {link}")
    assert wrong == []
    assert {f"/docs/{name}" for name in NAMES} <= pages.keys()


@pytest.mark.parametrize(
    "name",
    [
        "../referee/pyproject.toml",
        "..%2fREADME.md",
        "make/pages.py",
        "/etc/passwd",
        "operators.md/",
        "nothing",
        "",
    ],
)
def test_nothing_but_a_document_can_be_asked_for(name: str) -> None:
    assert document(name) is None
    assert other_file(name) is None


def test_markup_in_a_document_is_text_and_alignment_a_class() -> None:
    text = "# A `b`\n\n<b onclick=x>\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n[x](javascript:alert(1)) [gone](../x.py)\n"
    page = render(text, lambda target: target if "x.py" not in target else None)
    assert page.title == "A b"
    assert "<b " not in page.html
    assert "javascript:" not in re.sub(r">[^<]*<", "><", page.html)
    assert "style" not in page.html
    assert '<td class="figure">2</td>' in page.html
    assert "gone" in page.html
    assert "x.py" not in page.html


def test_a_comment_is_no_text_and_what_follows_it_is_code() -> None:
    text = "# A\n\nSay:\n\n<!-- run -->\n    meter find\n\n    a <!-- b --> c\n"
    page = render(text, lambda target: target)
    assert "run" not in page.html
    assert page.html.count("<pre") == 1
    assert "a &lt;!-- b --&gt; c" in page.html
    for name in NAMES:
        shown = document(name)
        assert shown is not None
        prose = re.sub(r"<(code|pre).*?</\1>", "", shown.html, flags=re.DOTALL)
        assert "&lt;!--" not in prose, name


def test_an_old_address_with_md_leads_to_the_page(client: FlaskClient) -> None:
    answer = client.get("/docs/http.md")
    assert (answer.status_code, answer.headers["Location"]) == (301, "/docs/http")
    assert client.get("/docs").headers["Location"] == "/docs/"
