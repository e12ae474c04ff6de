from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from referee.auth import passwords
from referee.auth.passwords import (
    FAILURE_MEMORY_S,
    FAILURES_ALLOWED,
    FAILURES_OF_AN_ADDRESS,
    FailureLimit,
    hash_password,
    matches,
)
from referee.errors import RefereeError

HERE = ("10.0.0.1", "otters")


def failed(limit: FailureLimit, times: int, now_s: float = 0.0) -> FailureLimit:
    for _ in range(times):
        limit.count(*HERE, now_s)
    return limit


@pytest.mark.parametrize(
    "password", ["secret", "", "pass word", "ä€𝄞", "\0", "half a pair \ud800", "x" * 5000]
)
def test_only_the_password_itself_matches_its_hash(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    kept = hash_password(password)
    assert matches(kept, password)
    assert not matches(kept, password + "x")


def test_a_hash_costs_what_rfc_9106_asks_for_tells_nothing_and_is_salted() -> None:
    kept = hash_password("secret")
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert matches(kept, "secret")
    assert "secret" not in kept
    assert kept != hash_password("secret")


@pytest.mark.parametrize("kept", ["", "plain", "$argon2id$", "$2b$12$abc"])
def test_what_is_no_hash_matches_nothing(kept: str) -> None:
    assert not matches(kept, kept)


def test_after_ten_failures_the_client_waits() -> None:
    limit = failed(FailureLimit(), FAILURES_ALLOWED - 1)
    limit.check(*HERE, 0.0)
    failed(limit, 1)
    with pytest.raises(RefereeError) as failure:
        limit.check(*HERE, 0.5)
    assert failure.value.code == "too-many-failures"
    assert failure.value.facts == {"retry_after_s": 60}


def test_waiting_as_told_is_enough() -> None:
    limit = failed(FailureLimit(), FAILURES_ALLOWED, now_s=7.25)
    with pytest.raises(RefereeError) as failure:
        limit.check(*HERE, 20.0)
    wait_s = failure.value.facts["retry_after_s"]
    assert isinstance(wait_s, int)
    limit.check(*HERE, 20.0 + wait_s)


def test_other_addresses_and_other_teams_are_not_held_up() -> None:
    limit = failed(FailureLimit(), FAILURES_ALLOWED)
    limit.check("10.0.0.2", HERE[1], 1.0)
    limit.check(HERE[0], "badgers", 1.0)


def test_failures_are_forgotten_and_so_is_their_memory() -> None:
    limit = FailureLimit()
    for team in range(1000):
        limit.count("10.0.0.1", f"team {team}", 0.0)
    limit.check(*HERE, FAILURE_MEMORY_S)
    assert not limit._failures  # noqa: SLF001 - what is forgotten shows only inside


def test_guessing_with_ever_new_team_names_is_limited_too() -> None:
    limit = FailureLimit()
    for turn in range(FAILURES_OF_AN_ADDRESS):
        limit.check("10.0.0.1", f"team {turn}", 0.0)
        limit.count("10.0.0.1", f"team {turn}", 0.0)
    with pytest.raises(RefereeError) as told:
        limit.check("10.0.0.1", "one more", 1.0)
    assert told.value.code == "too-many-failures"
    limit.check("10.0.0.2", "one more", 1.0)
    limit.check("10.0.0.1", "one more", FAILURE_MEMORY_S)


def test_only_a_right_password_is_remembered_and_only_for_its_hash() -> None:
    stored, other = passwords.hash_password("six legs"), passwords.hash_password("six legs")
    assert not passwords.matches(stored, "guess")
    assert not passwords.was_right(stored, "guess")
    assert not passwords.was_right(stored, "six legs")
    assert passwords.matches(stored, "six legs")
    assert passwords.was_right(stored, "six legs")
    assert not passwords.was_right(other, "six legs")
    assert not passwords.was_right("", "")
