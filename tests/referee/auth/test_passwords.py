from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from referee.auth import passwords
from referee.auth.passwords import hash_password, matches


@pytest.mark.parametrize(
    "password",
    ["secret", "", "pass word", "ä€𝄞", "\0", "half a pair \ud800", "x" * 5000],
)
def test_only_the_password_itself_matches_its_hash(
    monkeypatch: pytest.MonkeyPatch,
    password: str,
) -> None:
    # What a hash costs is a constant inside; a cheap one suffices here.
    monkeypatch.setattr(
        passwords,
        "_hasher",
        PasswordHasher(time_cost=1, memory_cost=8, parallelism=1),
    )
    kept = hash_password(password)
    assert matches(kept, password)
    assert not matches(kept, password + "x")


def test_a_hash_costs_the_least_that_owasp_advises_tells_nothing_and_is_salted() -> (
    None
):
    kept = hash_password("secret")
    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert matches(kept, "secret")
    assert "secret" not in kept
    assert kept != hash_password("secret")


def test_an_older_hash_still_holds() -> None:
    kept = PasswordHasher(
        time_cost=1,
        memory_cost=65_536,
        parallelism=4,
    ).hash("secret")
    assert matches(kept, "secret")


@pytest.mark.parametrize("kept", ["", "plain", "$argon2id$", "$2b$12$abc"])
def test_what_is_no_hash_matches_nothing(kept: str) -> None:
    assert not matches(kept, kept)


def test_only_a_right_password_is_remembered_and_only_for_its_hash() -> None:
    stored = passwords.hash_password("six legs")
    other = passwords.hash_password("six legs")
    assert not passwords.matches(stored, "guess")
    assert not passwords.was_right(stored, "guess")
    assert not passwords.was_right(stored, "six legs")
    assert passwords.matches(stored, "six legs")
    assert passwords.was_right(stored, "six legs")
    assert not passwords.was_right(other, "six legs")
    assert not passwords.was_right("", "")
