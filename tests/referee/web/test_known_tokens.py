"""A token that was good is remembered, and forgotten when it expires."""

from __future__ import annotations

import secrets

import pytest

from referee.auth.tokens import Session, issue
from referee.errors import RefereeError
from referee.web import known_tokens
from referee.web.known_tokens import KnownTokens

SECRET = b"s" * 32
SESSION = Session(run=3, team="ant", expires_s=1000.0)
HEADER = f"Bearer {issue(SECRET, SESSION)}"


def refused(known: KnownTokens, authorization: str | None, now_s: float = 0.0) -> str:
    with pytest.raises(RefereeError) as error:
        known.session(authorization, now_s)
    return error.value.code


def test_a_token_is_good_again_and_again_until_it_expires() -> None:
    known = KnownTokens(SECRET)
    assert [known.session(HEADER, now_s) for now_s in (0.0, 500.0, 999.9)] == [SESSION] * 3
    assert refused(known, HEADER, 1000.0) == "token-expired"


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        (None, "token-missing"),
        ("", "token-missing"),
        ("Bearer", "token-missing"),
        (HEADER + "x", "bad-token"),
    ],
)
def test_what_is_no_token_is_refused_however_often(authorization: str | None, code: str) -> None:
    known = KnownTokens(SECRET)
    known.session(HEADER, 0.0)
    assert [refused(known, authorization) for _ in range(2)] == [code] * 2


def test_the_word_bearer_is_read_in_any_case() -> None:
    assert KnownTokens(SECRET).session(HEADER.replace("Bearer", "bEARER "), 0.0) == SESSION


def test_a_token_is_remembered_once_however_its_header_is_written() -> None:
    known = KnownTokens(SECRET)
    for blanks in range(20):
        assert known.session(HEADER.replace(" ", " " * (1 + blanks * 100)) + " " * blanks, 0.0) == SESSION
    assert known.session(HEADER.replace("Bearer", "bEARER"), 0.0) == SESSION
    assert list(known._known) == [HEADER]


def test_a_very_long_token_is_good_but_not_remembered() -> None:
    known = KnownTokens(SECRET)
    session = Session(1, secrets.token_hex(known_tokens.LONGEST), 1000.0)
    assert known.session(f"Bearer {issue(SECRET, session)}", 0.0) == session
    assert not known._known


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_tokens, "REMEMBERED", 4)
    known = KnownTokens(SECRET)
    for run in range(20):
        session = Session(run, "ant", 1000.0)
        assert known.session(f"Bearer {issue(SECRET, session)}", 0.0) == session
        assert len(known._known) <= 4
