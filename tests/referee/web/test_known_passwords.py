"""A password that was right is not hashed again for a while, and every other one is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from referee.auth.passwords import hash_password
from referee.web import auth, create_app, known_passwords
from referee.web.known_passwords import REMEMBERED_S, KnownPasswords
from tests.referee.factories import House


def test_a_right_password_is_known_for_its_hash_and_its_time_only() -> None:
    known = KnownPasswords()
    known.remember("ant", "hash", "right", 10.0)
    assert known.knows("ant", "hash", "right", 9.0 + REMEMBERED_S)
    assert not known.knows("ant", "hash", "right", 10.0 + REMEMBERED_S)
    assert not known.knows("ant", "hash", "wrong", 11.0)
    assert not known.knows("ant", "changed", "right", 11.0)
    assert not known.knows("bee", "hash", "right", 11.0)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_passwords, "REMEMBERED", 4)
    known = KnownPasswords()
    for number in range(20):
        known.remember(str(number), "hash", "right", 0.0)
        assert known.knows(str(number), "hash", "right", 0.0)
        assert len(known._known) <= 4


def test_logging_in_again_hashes_nothing_and_a_guess_still_does(
    build: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = build()
    house.contest.store.add_team("bee", hash_password("right"), house.clock.utc())
    client = create_app(house.contest, house.control, house.clock).test_client()
    hashed: list[str] = []
    real = auth.matches
    monkeypatch.setattr(auth, "matches", lambda known, text: hashed.append(text) or real(known, text))

    def log_in(team: str, password: str) -> int:
        return client.post("/v1/session", json={"team": team, "password": password}).status_code

    assert [log_in("bee", "right") for _ in range(3)] == [409] * 3  # no run is armed
    assert hashed == ["right"]
    assert log_in("bee", "guess") == 401
    assert log_in("bee", "right") == 409
    assert hashed == ["right", "guess"]
