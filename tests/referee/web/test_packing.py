"""What browsers are sent compressed, once for all of them, and what is never compressed."""

from __future__ import annotations

import gzip
import re
import secrets
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from referee.clock import Clock
from referee.judging.judge import judge
from referee.web import packing
from referee.web.app import create_app
from referee.web.packing import MOST_PACKED, is_packable
from tests.referee.factories import House
from tests.referee.judging.judged_runs import closed_run

Build = Callable[..., House]
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def made(build: Build) -> House:
    made = build()
    for number in range(16):
        team = f"team {number}"
        judge(made.contest, closed_run(made.contest, team, 1.0 + number).id, Clock())
    return made


@pytest.fixture
def client(made: House) -> FlaskClient:
    return create_app(made.contest, made.control, made.clock).test_client()


def operator(made: House) -> dict[str, str]:
    return {"Authorization": f"Bearer {made.contest.operator_key}"}


@pytest.mark.parametrize("path", ["/", "/static/style.css", "/static/live.js"])
def test_pages_and_static_files_are_sent_compressed_to_who_reads_gzip(
    client: FlaskClient,
    path: str,
) -> None:
    plain = client.get(path, headers=BROWSER)
    short = client.get(path, headers=BROWSER | GZIP)
    assert "Content-Encoding" not in plain.headers
    assert short.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in short.headers["Vary"]
    assert gzip.decompress(short.data) == plain.data
    assert len(short.data) < len(plain.data) * 0.6
    again = BROWSER | GZIP | {"If-None-Match": plain.headers["ETag"]}
    told = client.get(path, headers=again)
    assert told.status_code == 304
    assert told.data == b""


def test_a_rendering_is_compressed_once_for_all_who_look(
    client: FlaskClient,
    made: House,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed_lengths = list[int]()

    def compress(content: bytes) -> bytes:
        packed_lengths.append(len(content))
        return gzip.compress(content)

    monkeypatch.setattr(packing, "compress", compress)
    name = f"team {secrets.token_hex(8)}"  # no other test has had this content
    judge(made.contest, closed_run(made.contest, name, 1.0).id, Clock())
    for _ in range(5):
        client.get("/operator/live", headers=operator(made) | GZIP)
    assert len(packed_lengths) == 1


def test_a_page_with_a_secret_is_never_compressed_as_its_length_would_tell_of_it(
    client: FlaskClient,
    made: House,
) -> None:
    page = client.get("/operator/", headers=operator(made) | BROWSER | GZIP)
    assert 'name="csrf"' in page.text
    assert "Content-Encoding" not in page.headers


def test_the_lists_of_the_console_are_sent_only_when_they_have_changed(
    client: FlaskClient,
    made: House,
) -> None:
    def live(version: str = "") -> str:
        asked = client.get(
            f"/operator/live?lists={version}", headers=operator(made) | GZIP
        )
        sizes.append(len(asked.data))
        return gzip.decompress(asked.data).decode()

    sizes: list[int] = []
    whole = live()
    found = re.search(r'id="lists" data-version="(\w+)"', whole)
    assert found
    assert 'id="run-7"' in whole
    same = live(found[1])
    assert "data-same" in same
    assert 'id="run-7"' not in same
    assert sizes[1] * 3 < sizes[0]
    assert 'id="run-7"' in live("another")


def test_a_document_too_long_to_be_kept_is_sent_as_it_is() -> None:
    assert is_packable(b"x" * MOST_PACKED, "text/html; charset=utf-8")
    assert not is_packable(b"x" * (MOST_PACKED + 1), "text/html")
    assert not is_packable(b"x", "image/jpeg")
