"""A team that has used its attempts: each reader is told the way out that it has."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from tests.contest_day import PASSWORD, TEAM, Day, problem
from tests.referee.web.setup.settings_pages import Pages

COMMAND = f'referee run arm {TEAM} --anyway --reason "…"'


def test_each_reader_gets_a_way_out(day: Callable[..., Day]) -> None:
    made = day(served=False)
    path = made.folder / "contest.toml"
    path.write_text(f"attempts = 1\n{path.read_text()}")
    made.serve()
    assert made.server is not None
    token = made.login()["token"]
    made.post(token)
    made.refers("run", "close", "1")

    again = made.server.ask(
        "POST", "/v1/session", json={"team": TEAM, "password": PASSWORD}
    )
    detail = problem(again, 409, "attempts-used")["detail"]
    assert detail.endswith("an operator can void a run, or allow one more")

    pages = Pages(made)
    console = f"{made.server.url}/operator/"
    page = pages.session.get(console).text
    csrf = page.partition('name="csrf" content="')[2].partition('"')[0]
    headers = {"X-CSRF-Token": csrf}
    refused = pages.session.post(f"{console}runs", json={"team": TEAM}, headers=headers)
    assert refused.json()["detail"].endswith(
        "or allow one more. To allow it here, tick “Even if a team has used its attempts”."
    )

    asked = {"team": TEAM, "beyond_attempts": True}
    refused = pages.session.post(f"{console}runs", json=asked, headers=headers)
    assert refused.json()["detail"].endswith('a text is needed, as in "yes" or "no".')

    of_heat = ("--heat", "h 1", "--extra-time", "9")
    said = made.refers("run", "arm", TEAM, *of_heat).stderr
    assert f"arm {TEAM} --heat 'h 1' --extra-time 9 --anyway --reason" in said
    said = made.refers("run", "arm", TEAM).stderr
    assert f"or allow one more: {COMMAND} --contest " in said
    _, *pasted = shlex.split(COMMAND)
    assert made.refers(*pasted).returncode == 0
