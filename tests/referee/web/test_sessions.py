"""Whose request it is, whatever stands in its header."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from referee.auth import tokens
from referee.auth.tokens import Session, issue
from referee.errors import RefereeError, WindowClosed
from referee.web import callers as callers_module
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.callers import Callers, open_run_of, session_of
from referee.web.team_login import issue_token
from referee.web.web_request import WebRequest
from tests.referee.factories import TEAM, House

EXPIRES = datetime(2026, 5, 5, tzinfo=UTC)


def test_a_token_is_good_until_the_moment_it_expires_however_often_it_was_read(
    build: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = build()
    app = create_app(house.contest, house.control, house.clock)
    callers = part_of(app, Callers)
    session = Session(1, TEAM, EXPIRES.timestamp())
    environ = {
        "HTTP_AUTHORIZATION": f"bearer  {issue(house.contest.secret, session, house.contest.id)} "
    }
    monkeypatch.setattr(house.clock, "utc", lambda: EXPIRES - timedelta(milliseconds=1))
    for _ in range(2):
        assert session_of(callers, WebRequest(environ)) == session
    monkeypatch.setattr(house.clock, "utc", lambda: EXPIRES)
    with pytest.raises(RefereeError) as failure:
        session_of(callers, WebRequest(environ))
    assert failure.value.code == "token-expired"


def test_a_wall_clock_set_forward_logs_no_one_out_of_an_open_run(
    build: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = build()
    app = create_app(house.contest, house.control, house.clock)
    callers = part_of(app, Callers)
    house.control.arm(TEAM, "one")
    run = house.control.login(TEAM).run
    opened = Session(run.id, TEAM, EXPIRES.timestamp(), run.nonce)
    restored = Session(
        run.id,
        TEAM,
        EXPIRES.timestamp(),
        "of a run that a restore took back",
    )
    later = EXPIRES + timedelta(days=400)
    monkeypatch.setattr(house.clock, "utc", lambda: later)

    def asked(session: Session) -> Session:
        token = issue(house.contest.secret, session, house.contest.id)
        bearing = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
        return session_of(callers, WebRequest(bearing))

    assert asked(opened) == opened
    with pytest.raises(RefereeError, match="expired"):
        asked(restored)
    house.control.close(run.id, "logout")
    with pytest.raises(RefereeError, match="expired"):
        asked(opened)


def test_of_two_tokens_in_a_request_each_is_good_for_its_own_run_only(
    build: Callable[..., House],
) -> None:
    house = build()
    app = create_app(house.contest, house.control, house.clock)
    callers = part_of(app, Callers)

    def opened() -> Session:
        house.control.arm(TEAM, "one")
        run = house.control.login(TEAM).run
        return Session(run.id, TEAM, EXPIRES.timestamp() + 1e9, run.nonce)

    former = opened()
    house.control.close(former.run, "logout")
    present = opened()
    secret = house.contest.secret
    in_header = issue(secret, present, house.contest.id)
    asked = WebRequest({"HTTP_AUTHORIZATION": f"Bearer {in_header}"})
    live = open_run_of(callers, asked)
    assert live.run.id == present.run

    session = session_of(callers, asked, issue(secret, former, house.contest.id))
    with pytest.raises(WindowClosed):
        open_run_of(callers, asked, session)
    expired = Session(former.run, TEAM, 0.0, former.nonce)
    session_of(callers, asked)
    with pytest.raises(RefereeError, match="expired"):
        session_of(callers, asked, issue(secret, expired, house.contest.id))
    assert session_of(callers, asked) == present


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/session"),
        ("DELETE", "/v1/session"),
        ("GET", "/v1/images/1"),
        ("POST", "/v1/detections"),
        ("GET", "/v1/health"),
    ],
)
def test_token_and_run_are_looked_up_once_a_request(
    build: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    *,
    is_over: bool,
) -> None:
    house = build(auto_arm=True)
    app = create_app(house.contest, house.control, house.clock)
    live = house.control.login(TEAM)
    token = issue_token(part_of(app, Callers), live.run)
    if is_over:
        house.control.close(live.run.id, "logout")
    looked: list[str] = []

    def counting(name: str, looks: Callable[..., object]) -> Callable[..., object]:
        def look(*given: object) -> object:
            looked.append(name)
            return looks(*given)

        return look

    monkeypatch.setattr(callers_module.tokens, "read", counting("token", tokens.read))
    find = house.control.find_live
    monkeypatch.setattr(house.control, "find_live", counting("run", find))
    answer = app.test_client().open(
        path,
        method=method,
        headers={"Authorization": f"Bearer {token}"},
        data=b"1 1 .5 0 0 5 5\n" if method == "POST" else None,
        content_type="text/plain",
    )
    assert answer.headers["X-Window-Remaining-Ms"]
    assert looked.count("token") == 1
    if not is_over:
        assert looked.count("run") == 1
