"""A freeze cannot leak: contests that differ only after it answer alike, whoever asks who is not an operator."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from werkzeug.routing import Rule

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest
from referee.judging.board import Publisher
from referee.judging.judge import judge
from referee.runs.control import RunControl
from referee.store.records import Provisional, Released, Review, RunState
from referee.web.app import create_app
from referee.web.login import issue_token
from referee.web.state import state_of
from tests.contest_day import HASH, PASSWORD
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.judged_runs import armed_run, closed_run, opened_run, posted

OTHERS = ("badgers", "voles", "stoats")
# A route with another parameter is not covered until it is here.
PARAMETERS = {"number": "1", "run": "1", "image": "1", "name": "one", "path": "style.css", "station": "one"}
PARAMETERS |= {"team": TEAM, "action": "add", "job": "one", "what": "result"}
BODY = {
    "team": TEAM,
    "username": TEAM,
    "password": PASSWORD,
    "reason": "a test",
    "image_name": "1",
    "text": "a",
}
DIFFERS = ("Date",)


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

    def answers(self) -> dict[tuple[str, ...], tuple[int, list[tuple[str, str]], bytes]]:
        """What everybody, and the team, gets on every route by every method."""
        found = {}
        for rule in self.rules:
            path = rule.build({name: PARAMETERS[name] for name in rule.arguments})
            assert path is not None
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                for who in ("public", "team"):
                    answer = self._ask(method, path[1], who, is_legacy=rule.endpoint.startswith("legacy."))
                    headers = [(name, value) for name, value in answer.headers if name not in DIFFERS]
                    found[method, path[1], who] = answer.status_code, headers, answer.data
        return found

    def _ask(self, method: str, path: str, who: str, *, is_legacy: bool) -> Any:
        headers = {"Accept": "text/html,*/*"}
        headers |= {"Authorization": f"Bearer {self.token}"} if who == "team" else {}
        body = BODY | ({"token": self.token} if who == "team" else {})
        sent: dict[str, Any] = {"data": body} if is_legacy else {"json": body}
        with self.client.open(path, method=method, headers=headers, **sent) as answer:
            answer.get_data()
            return answer


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory, small_set: TestSet) -> Iterator[tuple[Side, Side]]:
    folder, clock = tmp_path_factory.mktemp("freeze"), SteppedClock()
    create_contest(folder / "one", config_text(small_set, teams_see_score=True, public_score=True))
    with open_contest(folder / "one") as contest:
        until_the_freeze(contest, clock)
    shutil.copytree(folder / "one", folder / "other")
    with ExitStack() as stack:
        yield served(stack, folder / "one", clock), served(stack, folder / "other", clock)


def until_the_freeze(contest: Contest, clock: Clock) -> None:
    store = contest.store
    store.add_team(TEAM, HASH, START)
    for seed, team in enumerate((TEAM, *OTHERS[:2])):
        judge(contest, closed_run(contest, team, 1.0 + seed, seed).id, clock)
    mine = closed_run(contest, TEAM, 0.5, seed=9, nonce="a")
    store.set_provisional(Provisional(mine.id, START.isoformat(), 0.4, 0.5, 0.8, 30))
    store.set_released(Released(mine.id, START.isoformat(), START.isoformat(), 0.4, 0.5, 0.8, 30))
    opened_run(contest, OTHERS[0], station="two")
    store.announce("jo", "Lunch at noon.", START)
    store.change_queue(lambda _: list(OTHERS))
    Publisher(contest, clock).tick()
    store.freeze_board(clock.utc(), "")


def served(stack: ExitStack, folder: Path, clock: Clock) -> Side:
    contest = stack.enter_context(open_contest(folder))
    control = RunControl(contest, clock)
    stack.callback(control.shutdown)
    app = create_app(contest, control, clock)
    (mine,) = contest.store.runs(RunState.CLOSED, team=TEAM)
    rules = list(app.url_map.iter_rules())
    token = issue_token(state_of(app), mine)
    return Side(contest, app.test_client(), Publisher(contest, clock), rules, token)


def change(contest: Contest, action: str, pick: int, clock: Clock) -> None:
    """Something that happens after the freeze, other than an act of the team."""
    store, team = contest.store, OTHERS[pick % len(OTHERS)]
    theirs = [run for run in store.runs() if run.team != TEAM]
    run, over, any_state = theirs[pick % len(theirs)], (RunState.CLOSED, RunState.JUDGED), tuple(RunState)
    now = clock.utc().isoformat()
    acts: dict[str, Callable[[], object]] = {
        "arm": lambda: armed_run(contest, team),
        "run": lambda: judge(contest, closed_run(contest, team, 0.1 + pick / 10, pick).id, clock),
        "post": lambda: run.state is RunState.OPEN and posted(contest, run, pick),
        "void": lambda: store.change_run(run.id, any_state, state="void", void_reason="a test"),
        "unvoid": lambda: run.state is RunState.VOID and store.change_run(run.id, any_state, state="closed"),
        "judge": lambda: run.state in over and judge(contest, run.id, clock),
        "judge ours": lambda: [judge(contest, ours.id, clock) for ours in store.runs(team=TEAM)],
        "review": lambda: store.add_review(run.id, Review("jo", "It stands.", START.isoformat(), ())),
        "queue": lambda: store.change_queue(lambda queue: queue[1:] + queue[:1]),
        "announce": lambda: store.announce("jo", f"Number {pick}", START),
        "provisional": lambda: [
            store.set_provisional(Provisional(one.id, START.isoformat(), pick / 10, 0.5, pick / 5, pick))
            for one in store.runs()
        ],
        "release": lambda: [
            store.set_released(Released(one.id, now, now, pick / 10, 0.5, pick / 5, pick))
            for one in store.runs()
        ],
        "event": lambda: store.log_event(START, run.id, "operator", operator="jo"),
    }
    acts[action]()


ACTIONS = (
    *("arm", "run", "post", "void", "unvoid", "judge", "judge ours", "review"),
    *("queue", "announce", "provisional", "release", "event"),
)


@settings(
    max_examples=3, deadline=None, phases=(Phase.explicit, Phase.generate)
)  # shrinking would take minutes
@example(steps=[(action, pick) for pick, action in enumerate(ACTIONS)])
@given(steps=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9)), min_size=4, max_size=12))
def test_contests_that_differ_only_after_the_freeze_answer_alike(
    sides: tuple[Side, Side], steps: list[tuple[str, int]]
) -> None:
    """One of the two goes on from example to example; whatever both would do, they would answer as the other does."""
    still, goes_on = sides
    clock = still.publisher._clock  # noqa: SLF001 - the clock that both share
    for action, pick in steps:
        change(goes_on.contest, action, pick, clock)
    for side in sides:
        side.publisher.tick()
    clock.seconds += 1.0  # type: ignore[attr-defined]  # it is ours
    expected, found = still.answers(), goes_on.answers()
    assert [key for key in expected if expected[key] != found[key]] == []
    assert found["GET", "/board.json", "public"][0] == found["GET", "/v1/session", "team"][0] == 200
