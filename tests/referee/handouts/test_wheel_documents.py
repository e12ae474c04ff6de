"""What an installed referee serves at /docs: its wheel has everything that a page links to or shows."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from referee.handouts import documents
from referee.web.app import create_app
from tests.referee.factories import House
from tests.referee.handouts.test_documents import HOST, pages_from
from tests.wheels.building import ROOT, build_one

TEMPLATES = ROOT / "referee" / "web" / "templates"
LINK = re.compile(r'href="/docs/([^"#{]*)[#"]')
CACHES = (documents.listed, documents.document, documents.other_file, documents._files)  # noqa: SLF001


@pytest.fixture
def of_a_wheel(
    build: Callable[..., House],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[FlaskClient]:
    """A referee whose documents are those of its wheel."""
    wheel = build_one("lpirc-referee", tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    monkeypatch.setattr(documents, "FOLDER", tmp_path / "referee" / "documents")
    for cached in CACHES:
        cached.cache_clear()
    made = build()
    yield create_app(made.contest, made.control, made.clock).test_client()
    for cached in CACHES:
        cached.cache_clear()


def test_no_link_of_a_document_leads_to_what_a_wheel_lacks(
    of_a_wheel: FlaskClient,
) -> None:
    pages, wrong = pages_from(of_a_wheel, f"{HOST}/docs/", f"{HOST}/client/")
    assert wrong == []
    names = [one.name for _, group in documents.listed() for one in group]
    assert {f"/docs/{name}" for name in names} <= pages.keys()


def test_every_page_links_to_a_document_that_a_wheel_has(
    of_a_wheel: FlaskClient,
) -> None:
    linked = {
        name
        for template in TEMPLATES.rglob("*.html")
        for name in LINK.findall(template.read_text())
    }
    assert "contestants" in linked
    missing = [
        name for name in linked if of_a_wheel.get(f"/docs/{name}").status_code != 200
    ]
    assert missing == []
