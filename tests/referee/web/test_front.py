"""What is at `/`."""

from __future__ import annotations

import pytest

from tests.contest_day import Day


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_root_leads_to_the_help_as_in_the_original(hall: Day, method: str) -> None:
    assert hall.server is not None
    answer = hall.server.ask(method, "/", allow_redirects=False)
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/help"


def test_the_help_names_the_routes_of_new_clients_too(hall: Day) -> None:
    assert hall.server is not None
    page = hall.server.ask("GET", "/")
    assert page.status_code == 200
    assert ("/v1/openapi.json" in page.text) is True
    assert ("/get_token" in page.text) is True
