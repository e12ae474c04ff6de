"""Guessing: what it costs the guesser, and that it costs no one else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest
from argon2 import PasswordHasher

from referee.auth import guessing, passwords
from referee.auth.guessing import (
    FAILURE_MEMORY_S,
    FAILURES_ALLOWED,
    WAITING_AT_MOST,
    WAITING_OF_AN_ADDRESS,
    PasswordChecks,
)
from referee.errors import LoginRefused, RefereeError
from tests.contest_day import TIMEOUT_S, until

HERE = ("10.0.0.1", "otters")
PASSWORD = "six legs"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def stored() -> str:
    return CHEAP.hash(PASSWORD)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> PasswordChecks:
    monkeypatch.setattr(guessing, "decoy_hash", lambda: CHEAP.hash("no one's"))
    return PasswordChecks()


def refused(
    checks: PasswordChecks,
    address: str,
    team: str,
    stored: str | None,
    now_s: float = 0.0,
) -> str:
    with pytest.raises(LoginRefused) as failure:
        checks.require(address, team, stored, "guess", now_s)
    return failure.value.code


def guess_out(
    checks: PasswordChecks,
    stored: str | None,
    now_s: float = 0.0,
) -> None:
    codes = [refused(checks, *HERE, stored, now_s) for _ in range(FAILURES_ALLOWED)]
    assert codes == ["bad-credentials"] * FAILURES_ALLOWED


def test_after_ten_failures_a_team_waits_at_that_address_as_long_as_it_is_told(
    checks: PasswordChecks,
    stored: str,
) -> None:
    guess_out(checks, stored, now_s=7.25)
    with pytest.raises(LoginRefused) as failure:
        checks.require(*HERE, stored, PASSWORD, 20.0)
    assert failure.value.code == "too-many-failures"
    assert failure.value.facts == {"retry_after_s": 48}
    checks.require("10.0.0.2", HERE[1], stored, PASSWORD, 20.0)
    checks.require(*HERE, CHEAP.hash(PASSWORD), PASSWORD, 68.0)


def test_behind_one_address_a_rival_s_wrong_passwords_keep_no_other_team_out(
    checks: PasswordChecks,
    stored: str,
) -> None:
    for turn in range(60):
        assert refused(checks, HERE[0], f"team {turn}", None) == "bad-credentials"
    checks.require(*HERE, stored, PASSWORD, 1.0)


def test_a_password_known_to_be_right_is_never_refused(
    checks: PasswordChecks,
    stored: str,
) -> None:
    assert passwords.matches(stored, PASSWORD)
    guess_out(checks, stored)
    checks.require(*HERE, stored, PASSWORD, 1.0)
    assert refused(checks, *HERE, stored, 1.0) == "too-many-failures"


def test_failures_are_forgotten_and_no_more_of_them_are_kept_than_can_count(
    checks: PasswordChecks,
    stored: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guessing, "PAIRS_KEPT", 3)
    guess_out(checks, stored)
    for number in range(2):
        refused(checks, f"10.0.1.{number}", "x" * 1000, None)
    assert refused(checks, *HERE, stored, 1.0) == "too-many-failures"
    assert refused(checks, *HERE, stored, FAILURE_MEMORY_S) == "bad-credentials"
    for number in range(300):
        refused(checks, f"10.0.2.{number}", "x" * 1000, None)
    assert len(checks._failures) == 3  # noqa: SLF001 - what is forgotten shows only inside


class Held:
    """Log-ins while one check takes as long as the test wants."""

    def __init__(
        self,
        checks: PasswordChecks,
        stored: str,
        threads: ThreadPoolExecutor,
    ) -> None:
        self.goes_on = threading.Event()
        self._checks = checks
        self._stored = stored
        self._threads = threads
        self._sent = list[Future[None]]()

    def matches(self, stored: str, password: str) -> bool:
        assert self.goes_on.wait(TIMEOUT_S)
        return passwords.matches(stored, password)

    def log_in(self, address: str, password: str) -> Future[None]:
        sent = self._threads.submit(
            self._checks.require,
            address,
            HERE[1],
            self._stored,
            password,
            1.0,
        )
        self._sent.append(sent)
        until(lambda: self.waiting == sum(not one.done() for one in self._sent))
        return sent

    @property
    def waiting(self) -> int:
        return len(self._checks._waiting)  # noqa: SLF001 - who waits shows only inside


@pytest.fixture
def held(
    checks: PasswordChecks,
    stored: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Held]:
    with ThreadPoolExecutor(WAITING_AT_MOST + 8) as threads:
        made = Held(checks, stored, threads)
        monkeypatch.setattr(guessing, "matches", made.matches)
        yield made
        made.goes_on.set()


def test_ten_log_ins_at_once_from_one_address_wait_and_get_in(held: Held) -> None:
    sent = [held.log_in(HERE[0], PASSWORD) for _ in range(10)]
    assert held.waiting == 10
    held.goes_on.set()
    assert {one.result(TIMEOUT_S) for one in sent} == {None}


def test_log_ins_beyond_those_that_may_wait_are_told_to_try_again_soon(
    held: Held,
) -> None:
    for _ in range(WAITING_OF_AN_ADDRESS):
        held.log_in(HERE[0], "guess")
    assert told_at_once(held.log_in(HERE[0], PASSWORD)) == 1
    others = [
        held.log_in(f"10.1.0.{number}", "guess")
        for number in range(WAITING_AT_MOST - WAITING_OF_AN_ADDRESS)
    ]
    assert told_at_once(held.log_in("10.2.0.1", PASSWORD)) == 1
    held.goes_on.set()
    wait(others)
    held.log_in("10.2.0.1", PASSWORD).result(TIMEOUT_S)


def told_at_once(refused: Future[None]) -> object:
    told = refused.exception(TIMEOUT_S)
    assert isinstance(told, RefereeError)
    assert told.code == "too-many-requests"
    return told.facts["retry_after_s"]


def test_a_team_that_has_logged_in_gets_in_whoever_guesses_and_however_many_wait(
    held: Held,
    checks: PasswordChecks,
    stored: str,
) -> None:
    held.goes_on.set()
    held.log_in(HERE[0], PASSWORD).result(TIMEOUT_S)
    guess_out(checks, stored, now_s=1.0)
    held.goes_on.clear()
    for number in range(WAITING_AT_MOST):
        held.log_in(f"10.1.0.{number}", "guess")
    for address in (HERE[0], "10.2.0.1"):
        held.log_in(address, PASSWORD).result(TIMEOUT_S)
