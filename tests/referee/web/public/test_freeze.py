"""A freeze cannot leak: contests whose results differ only after it answer alike, whoever asks who is no operator."""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from werkzeug.routing import AnyConverter, Rule

from lpirc_testsets import TestSet
from referee.auth import tokens
from referee.auth.tokens import TeamSession
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.replay_publisher import ReplayPublisher
from referee.runs.run_control import RunControl
from referee.store.records import (
    Heat,
    Provisional,
    Released,
    RunState,
)
from referee.store.team_table import SESSION_LIFETIME
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.callers import Callers
from referee.web.team.team_access import TEAM_COOKIE
from referee.web.team_login import issue_token
from tests.contest_day import HASH, PASSWORD
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.judged_runs import closed_run, opened_run
from tests.referee.web.public.acts_after_freeze import (
    HALL,
    OTHERS,
    RESULTS,
    RUNS,
    hall,
    result,
)
from tests.referee.web.public.route_verdicts import (
    NOTHING_WITHOUT_QUERY,
    OF_ROUTES,
    QUERIES,
    verdict_of,
    why_not,
)

# A route with another parameter is not covered until it is here.
PARAMETERS = {
    "number": "1",
    "run": "1",
    "image": "1",
    "name": "one",
    "path": "style.css",
    "station": "one",
}
PARAMETERS |= {
    "team": TEAM,
    "job": "one",
    "what": "result",
}
PARAMETERS_OF = {
    "client.one_file": {"name": "client.py"},
    "documents.one_document": {"name": "operators"},
    "pages.static_file": {"name": "style.css"},
    "replay.of_two": {"number": "6"},
}
BODY = {
    "team": TEAM,
    "username": TEAM,
    "password": PASSWORD,
    "reason": "a test",
    "image_name": "1",
    "text": "a",
}
DIFFERS = ("Date",)
WHO = ("public", "team", "page", "password")
BASIC = f"{TEAM}:{PASSWORD}".encode()


def value_of(rule: Rule, name: str) -> str:
    """A value for a parameter of a route, with which it has something to show: of a choice, its first one."""
    own = PARAMETERS_OF.get(rule.endpoint, {})
    if name in own:
        return own[name]
    converter = rule._converters[name]  # noqa: SLF001 - nothing else tells the choices
    if isinstance(converter, AnyConverter):
        return min(converter.items)
    return PARAMETERS[name]


def paths_of(rule: Rule) -> list[str]:
    """The addresses at which a route is asked."""
    built = rule.build({name: value_of(rule, name) for name in rule.arguments})
    assert built is not None
    path = built[1]
    queries = QUERIES.get(rule.endpoint, ())
    paths = [f"{path}?{query}" for query in queries]
    return paths if rule.endpoint in NOTHING_WITHOUT_QUERY else [path, *paths]


def methods_of(rule: Rule) -> list[str]:
    return sorted((rule.methods or set()) - {"OPTIONS"})


class SteppedClock(Clock):
    """One time for all who are compared; it goes on when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic_s(self) -> float:
        return self.seconds

    def utc(self) -> datetime:
        return datetime.fromtimestamp(START.timestamp() + self.seconds, START.tzinfo)


@dataclass
class Side:
    """One of the contests that were the same until the freeze."""

    contest: Contest
    client: FlaskClient
    publisher: Publisher
    rules: list[Rule]
    token: str
    cookie: str
    statuses: dict[tuple[str, str, str, str], int] = field(default_factory=dict)

    def answers(
        self,
    ) -> dict[tuple[str, ...], tuple[int, list[tuple[str, str]], bytes]]:
        """What everybody, and the team, gets on every route by every method.

        HEAD asks for the compressed form, whose length would tell, too.
        """
        found = {}
        for rule in self.rules:
            is_legacy = rule.endpoint.startswith("legacy.")
            for path in paths_of(rule):
                for method in methods_of(rule):
                    for who in WHO:
                        answer = self._ask(method, path, who, is_legacy=is_legacy)
                        headers = [
                            (name, value)
                            for name, value in answer.headers
                            if name not in DIFFERS
                        ]
                        status = answer.status_code
                        found[method, path, who] = (status, headers, answer.data)
                        self.statuses[rule.endpoint, method, path, who] = status
        return found

    def _ask(
        self,
        method: str,
        path: str,
        who: str,
        *,
        is_legacy: bool,
    ) -> Any:
        headers = {"Accept": "text/html,*/*"}
        headers |= {"Accept-Encoding": "gzip"} if method == "HEAD" else {}
        headers |= {"Authorization": f"Bearer {self.token}"} if who == "team" else {}
        if who == "page":
            headers["Cookie"] = f"{TEAM_COOKIE}={self.cookie}"
        if who == "password":
            headers["Authorization"] = "Basic " + b64encode(BASIC).decode()
        body = BODY | ({"token": self.token} if who == "team" else {})
        sent: dict[str, Any] = {"data": body} if is_legacy else {"json": body}
        with self.client.open(
            path,
            method=method,
            headers=headers,
            **sent,
        ) as answer:
            answer.get_data()
            return answer


@pytest.fixture(scope="module")
def sides(
    tmp_path_factory: pytest.TempPathFactory,
    small_set: TestSet,
) -> Iterator[tuple[Side, Side]]:
    folder = tmp_path_factory.mktemp("freeze")
    clock = SteppedClock()
    settings = {"teams_see_score": True, "public_score": True, "heats": "knock-out"}
    create_contest(folder / "one", config_text(small_set, **settings))
    with open_contest(folder / "one") as contest:
        until_the_freeze(contest, clock)
    shutil.copytree(folder / "one", folder / "other")
    with ExitStack() as stack:
        yield (
            served(stack, folder / "one", clock),
            served(stack, folder / "other", clock),
        )


def until_the_freeze(contest: Contest, clock: Clock) -> None:
    store = contest.store
    store.teams.add(TEAM, HASH, START)
    for seed, team in enumerate((TEAM, *OTHERS[:2])):
        judge(contest, closed_run(contest, team, 1.0 + seed, seed).id, clock)
    mine = closed_run(contest, TEAM, 0.5, seed=9, nonce="a")
    store.provisional.set(Provisional(mine.id, START.isoformat(), 0.4, 0.5, 0.8, 30))
    store.provisional.release(
        Released(mine.id, START.isoformat(), START.isoformat(), 0.4, 0.5, 0.8, 30)
    )
    opened_run(contest, OTHERS[0], station="two")
    heats(contest, clock)
    store.announcements.add("jo", "Lunch at noon.", START)
    store.queue.change(lambda _: list(OTHERS))
    Publisher(contest, clock).tick()
    for _ in store.runs.find(RunState.JUDGED):
        ReplayPublisher(contest, clock).tick()
    store.published.freeze(clock.utc(), "")


def heats(contest: Contest, clock: Clock) -> None:
    """One that is decided before the freeze, and one that is running at it."""
    store = contest.store
    for number, name in enumerate(("decided", "one")):
        store.heats.put(Heat(name, START.isoformat(), "jo", number + 1))
    for seed, team in enumerate(OTHERS[:2]):
        named = {"heat": "decided", "nonce": f"heat {seed}"}
        judge(contest, closed_run(contest, team, 1.0 + seed, seed, **named).id, clock)
    for team in OTHERS[1:]:
        opened_run(contest, team, heat="one", station=f"lane of {team}")


def served(stack: ExitStack, folder: Path, clock: Clock) -> Side:
    contest = stack.enter_context(open_contest(folder))
    control = RunControl(contest, clock)
    stack.callback(control.shutdown)
    app = create_app(contest, control, clock)
    (mine,) = contest.store.runs.find(RunState.CLOSED, team=TEAM)
    rules = list(app.url_map.iter_rules())
    token = issue_token(part_of(app, Callers), mine)
    cookie = team_cookie(contest, clock)
    client = app.test_client(use_cookies=False)
    return Side(contest, client, Publisher(contest, clock), rules, token, cookie)


def team_cookie(contest: Contest, clock: Clock) -> str:
    """A session of the team's own pages; both contests draw the same mark."""
    mark = "0" * 32
    contest.store.teams.begin_session(TEAM, mark, clock.utc() + SESSION_LIFETIME)
    stamp = tokens.stamp(contest.secret, HASH)
    return tokens.issue_team(contest.secret, TeamSession(TEAM, stamp, mark))


@settings(
    max_examples=3,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
)  # shrinking would take minutes
@example(steps=[(action, pick) for pick, action in enumerate(RESULTS + HALL)])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(RESULTS + HALL), st.integers(0, 9)),
        min_size=4,
        max_size=12,
    )
)
def test_contests_that_differ_only_after_the_freeze_answer_alike(
    sides: tuple[Side, Side],
    steps: list[tuple[str, int]],
) -> None:
    """Both halls go on, and one of the two has other results; whatever both would do, they answer alike."""
    still, goes_on = sides
    clock = still.publisher._clock  # noqa: SLF001 - the clock that both share
    for action, pick in steps:
        if action in HALL:
            hall(still.contest, action, pick)
            hall(goes_on.contest, action, pick)
            continue
        if action in RUNS:
            closed_run(still.contest, OTHERS[pick % len(OTHERS)])
        result(goes_on.contest, action, pick, clock)
    for side in sides:
        side.publisher.tick()
        ReplayPublisher(side.contest, clock).tick()
    clock.seconds += 1.0  # type: ignore[attr-defined]  # it is ours
    expected = still.answers()
    found = goes_on.answers()
    assert [key for key in expected if expected[key] != found[key]] == []
    for path, who in (
        ("/board.json", "public"),
        ("/v1/session", "team"),
        ("/heats", "public"),
        ("/heats/one", "public"),
        ("/live/heats/one", "public"),
        ("/replay/1/course.json", "public"),
        ("/v1/team", "page"),
        ("/v1/team", "password"),
        ("/team/", "page"),
        (f"/teams/{TEAM}", "public"),
    ):
        assert found["GET", path, who][0] == 200
    misfits = {}
    for (endpoint, method, path, who), status in still.statuses.items():
        verdict = verdict_of(endpoint)
        assert verdict is not None, endpoint
        why = why_not(verdict, method, who, status)
        if why is not None:
            misfits[method, path, who, status] = why
    assert misfits == {}
    own = json.loads(found["GET", "/v1/team", "page"][2])["runs"]
    assert {run["state"] for run in own} == {"closed", "judged"}


def test_somebody_has_decided_of_every_route_who_may_see_what_it_shows(
    sides: tuple[Side, Side],
) -> None:
    endpoints = {rule.endpoint for rule in sides[0].rules}
    undecided = [one for one in endpoints if verdict_of(one) is None]
    assert undecided == [], "decide in route_verdicts.py"
    assert OF_ROUTES.keys() <= endpoints, "a verdict on no route"


@pytest.mark.parametrize("action", HALL)
def test_what_the_hall_sees_goes_on_in_every_public_answer_while_the_board_is_frozen(
    sides: tuple[Side, Side],
    action: str,
) -> None:
    side = sides[0]
    clock = side.publisher._clock  # noqa: SLF001 - the clock that both share

    def answers() -> list[str]:
        clock.seconds += 1.0  # type: ignore[attr-defined]  # it is ours
        side.publisher.tick()
        boards = ("/", "/board/live", "/board.json")
        return [
            side.client.get(path, headers={"Accept": "text/html"}).text
            for path in boards
        ]

    before = answers()
    hall(side.contest, action, 5)
    after = answers()
    assert all(now != then for now, then in zip(after, before, strict=True))
    assert json.loads(after[2])["state"] == "frozen"
