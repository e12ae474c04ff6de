"""Two operators act on one thing at once, in two sessions: what one has done the other is told, by whom and when."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest
import requests

from referee.contest import open_contest
from referee.store.records import RunState
from tests.contest_day import (
    HASH,
    PASSWORD,
    TEAM,
    Day,
    contest_day,
    until,
)
from tests.referee.factories import START
from tests.referee.web.setup.test_settings import fields
from tests.referee.web.two_stations import (
    OTHER_TEAM,
    two_stations,
)

CSRF = re.compile(r'<meta name="csrf" content="([^"]+)">')
PEOPLE = ("Eva", "Max", "Ida")
TIMES = 3
AT = r" at \d\d:\d\d:\d\d UTC"


class Person:
    """A session of an operator who is logged in by name."""

    def __init__(self, day: Day, name: str) -> None:
        assert day.server is not None
        self.name = name
        self.url = f"{day.server.url}/operator"
        self.session = requests.Session()
        form = {"name": name, "password": PASSWORD}
        self.session.post(f"{self.url}/login", data=form, timeout=60)
        (token,) = CSRF.findall(self.session.get(f"{self.url}/", timeout=60).text)
        self.session.headers["X-CSRF-Token"] = token

    def post(self, path: str, **body: str) -> requests.Response:
        return self.session.post(f"{self.url}{path}", json=body, timeout=60)

    def is_judging(self, run: int) -> bool:
        status = self.session.get(f"{self.url}/status", timeout=60).json()
        return any(one["judging"] for one in status["runs"] if one["run"] == run)


def log_in(day: Day, *names: str) -> list[Person]:
    with open_contest(day.folder) as contest:
        for name in names:
            contest.store.operators.add(name, HASH, START)
    return [Person(day, name) for name in names]


def at_once(
    *acts: Callable[[], requests.Response],
) -> list[requests.Response]:
    """Send requests at the same time, and return the answers in order."""
    together = Barrier(len(acts))

    def send(
        act: Callable[[], requests.Response],
    ) -> requests.Response:
        together.wait(60)
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(send, acts))


def loser(answers: list[requests.Response], people: list[Person]) -> tuple[str, str]:
    """Return the name of the only one who won, and the sentence that the other got."""
    won = [one.ok for one in answers]
    assert sorted(won) == [False, True], [one.text for one in answers]
    refused = answers[won.index(False)]
    assert refused.status_code == 409
    return people[won.index(True)].name, refused.json()["detail"]


@pytest.fixture
def day(tmp_path: Path, tiny_set: Path) -> Iterator[Callable[..., Day]]:
    days = []

    def make(*, served: bool = True, **settings: object) -> Day:
        entered = contest_day(tmp_path / f"day-{len(days)}", tiny_set, **settings)
        made = entered.__enter__()
        days.append(entered)
        if served:
            made.serve()
        return made

    yield make
    for entered in days:
        entered.__exit__(None, None, None)


def judged_run(day: Day, operator: Person) -> dict[str, str]:
    """Let a run be made and judged, and return what names its judgement."""
    number = int(day.login()["run"])
    operator.post(f"/runs/{number}/close")
    until(lambda: day.run(number).closed_utc)
    operator.post(f"/runs/{number}/judge")
    until(lambda: day.run(number).state is RunState.JUDGED)
    with open_contest(day.folder) as contest:
        judged = contest.store.scores.latest(number)
        assert judged is not None
        return {"judged_utc": judged.judged_utc}


def settings(day: Day, text: str) -> None:
    config = day.folder / "contest.toml"
    config.write_text(f"{text}\n{config.read_text()}")


def test_of_two_who_publish_at_once_one_does_and_a_void_run_is_not_confirmed(
    day: Callable[..., Day],
) -> None:
    made = day(served=False)
    settings(made, "publish_by = 2")
    made.serve()
    eva, *others = log_in(made, *PEOPLE)
    for number in range(1, TIMES + 1):
        seen = judged_run(made, eva)
        assert eva.post(f"/runs/{number}/confirm", **seen).ok
        path = f"/runs/{number}/publish"
        answers = at_once(*(partial(one.post, path, **seen) for one in others))
        name, sentence = loser(answers, others)
        told = f"Run {number} is published already, by {name}{AT}\\."
        assert re.fullmatch(told, sentence), sentence

        seen = judged_run_again(made, eva, number)
        confirmed, voided = at_once(
            partial(eva.post, f"/runs/{number}/confirm", **seen),
            partial(
                others[0].post,
                f"/runs/{number}/void",
                reason="a wrong board",
            ),
        )
        assert voided.ok, "whoever confirms does not keep a run in the contest"
        assert made.run(number).state is RunState.VOID
        if not confirmed.ok:
            told = f"Run {number} is void, by {others[0].name}{AT};"
            assert re.match(told, confirmed.json()["detail"])
        late = eva.post(f"/runs/{number}/confirm", **seen)
        assert late.status_code == 409
        assert re.match(
            f"Run {number} is void, by {others[0].name}{AT};",
            late.json()["detail"],
        )


def judged_run_again(day: Day, operator: Person, number: int) -> dict[str, str]:
    with open_contest(day.folder) as contest:
        store = contest.store
        before = len(store.scores.judgements(number))
        until(lambda: not operator.is_judging(number))
        operator.post(f"/runs/{number}/judge")
        until(lambda: len(store.scores.judgements(number)) > before)
        judged = store.scores.latest(number)
        assert judged is not None
        return {"judged_utc": judged.judged_utc}


def test_of_two_who_press_start_one_starts_the_heat_and_the_other_is_told_who_did(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False)
    people = log_in(made, *PEOPLE[:2])
    for heat in ("first", "second"):
        sides = {"station-1": TEAM, "station-2": OTHER_TEAM}
        body = {"name": heat, "sides": sides}
        url = f"{people[0].url}/heats"
        assert people[0].session.post(url, json=body, timeout=60).ok
        given = {"heat": heat, "absent": "start"}
        answers = at_once(
            *(partial(one.post, "/heats/start", **given) for one in people)
        )
        name, sentence = loser(answers, people)
        assert re.match(
            f"Heat {heat} has been started by {name}{AT}: run",
            sentence,
        )
        runs = made.runs(RunState.OPEN)
        assert len({run.opened_utc for run in runs}) == 1
        for run in runs:
            people[0].post(f"/runs/{run.id}/close")
        until(lambda: made.runs(RunState.OPEN) == [])


def test_a_draw_is_undone_or_armed_from_and_who_is_late_is_told_who_was_first(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, auto_arm=False)
    eva, max_ = log_in(made, *PEOPLE[:2])
    for number in range(1, TIMES + 1):
        assert eva.post("/queue/draw").ok
        undone, armed = at_once(
            partial(eva.post, "/queue/undo"),
            partial(max_.post, "/runs", team=TEAM, station="station-1"),
        )
        assert armed.ok, armed.text
        with made.store() as store:
            queue = store.queue.teams()
        if undone.ok:
            assert queue == [], "as it was before the draw"
        else:
            told = f"The queue has changed since the draw: Max{AT} \\(arm\\)"
            assert re.match(told, undone.json()["detail"]), undone.text
            assert queue == [OTHER_TEAM]
        late = max_.post("/queue/undo")
        assert late.status_code == 409
        assert re.search(AT, late.json()["detail"]), late.text
        max_.post(f"/runs/{number}/void", reason="a test")
        eva.post("/queue/remove", team=OTHER_TEAM)


def send_form(
    operator: Person,
    step: str,
    action: str,
    **changed: str,
) -> requests.Response:
    """Send a form of the settings as a browser does."""
    url = f"{operator.url}/settings"
    page = operator.session.get(f"{url}/{step}", timeout=60)
    form = fields(page.text, action) | changed
    return operator.session.post(f"{url}/{action}", data=form, timeout=60)


def test_one_operator_does_not_become_two_people_in_the_settings(
    day: Callable[..., Day],
) -> None:
    made = day(served=False)
    settings(made, "publish_by = 2")
    made.serve()
    eva, max_ = log_in(made, *PEOPLE[:2])
    seen = judged_run(made, eva)
    assert eva.post("/runs/1/confirm", **seen).ok
    given = {"name": "Bob", "password": PASSWORD}
    page = send_form(eva, "operators", "operators/add", **given)
    assert "registered by Eva" in page.text
    refused = Person(made, "Bob").post("/runs/1/publish", **seen)
    assert (refused.status_code, refused.json()["code"]) == (403, "second-person")

    fewer = send_form(eva, "rules", "rules", publish_by="1")
    assert fewer.status_code == 403
    assert "Log in by the operator key" in fewer.text
    assert "publish_by = 2" in (made.folder / "contest.toml").read_text()

    assert max_.post("/runs/1/publish", **seen).ok
