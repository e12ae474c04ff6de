"""`referee demo`: a contest day to watch within seconds, with live runs, and ended by Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import requests

from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.run_figures import current_judgement
from referee.judging.score_explanation import explain
from referee.judging.standings import standings
from referee.store.records import Run, RunState
from tests import warm_programs
from tests.contest_day import (
    TIMEOUT_S,
    descendants_of,
    is_running,
    processes_naming,
    until,
)

LEAST_SCORE = 1e-9
MORNING = 16  # runs that are recorded, not carried out
LONGEST_DAY_S = 900.0  # of one round, forty times as fast


def started(folder: Path, *options: str) -> tuple[Any, str, str]:
    """Return the demo's process, and the address and the password that it prints."""
    process = warm_programs.start(
        ["referee", "demo", "--folder", str(folder), "--port", "0", *options]
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    assert all(lines), process.communicate()
    url = re.findall(r"board +(http\S+)/\n", lines[0])[0]
    password = re.findall(r"/operator/ .* as demo with the password (\S+)\n", lines[1])[
        0
    ]
    return process, url, password


def test_a_demo_shows_a_day_of_16_teams_goes_on_when_its_server_dies_and_ends_when_it_is_interrupted(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "demo"
    process, url, password = started(folder)
    with open_contest(folder / "day-1") as contest, requests.Session() as session:
        session.trust_env = False
        store = contest.store
        until(
            lambda: (
                store.runs.find(RunState.OPEN)
                and store.served.images(store.runs.find(RunState.OPEN)[0].id)
            )
        )
        assert "demo" in contest.config.name.lower()
        assert len(store.teams.all()) == 16
        assert [
            len(store.runs.find(state)) for state in (RunState.VOID, RunState.JUDGED)
        ] == [1, 15]
        board = standings(contest)
        places = board.places
        assert places[0].standing.team == "Juniper"
        assert round(places[0].standing.score, 3) == 6.419
        in_review = [one for one in board.unranked if one.standing.needs_review]
        assert [one.standing.team for one in in_review] == ["Heron"]
        assert [
            run.team for run in store.runs.find() if store.posts.count_refused(run.id)
        ] == ["Kestrel"]
        assert "Nimbus" not in [one.standing.team for one in places]
        assert store.queue.teams()
        assert store.announcements.standing(Clock().utc())
        browser = {"Accept": "text/html"}
        text = session.get(f"{url}/", headers=browser, timeout=TIMEOUT_S).text
        assert "Juniper" in text
        form = {"name": "demo", "password": password}
        console = session.post(
            f"{url}/operator/login",
            data=form,
            headers=browser,
            timeout=TIMEOUT_S,
        )
        assert console.status_code == 200
        assert console.url == f"{url}/operator/"

    kill_server(process.pid)  # as in a night that nobody looks
    until(
        lambda: (
            not (folder / "day-1").exists()
            and answers(url)
            and board_of(url)["ranking"]
        )
    )
    ended_by_ctrl_c(process, folder)


def kill_server(demo: int) -> None:
    for pid in descendants_of(demo):
        if b"\0serve\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


def ended_by_ctrl_c(process: Any, folder: Path) -> None:
    family = descendants_of(process.pid)
    os.kill(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    until(
        lambda: not any(map(is_running, family)) and not processes_naming(str(folder))
    )


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """A whole day of one round, forty times as fast, and the records after it."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    process, url, _ = started(folder, "--speed", "40", "--rounds", "1")
    try:
        yield seen_day(folder, url)
    finally:
        ended_by_ctrl_c(process, folder)


def seen_day(folder: Path, url: str) -> Day:
    first = folder / "day-1"
    regrets: dict[int, tuple[float, float]] = {}
    with open_contest(first) as contest:
        store = contest.store

        def is_over() -> bool:
            for run in store.runs.find(RunState.JUDGED):
                judged = current_judgement(contest, run)
                if run.id not in regrets and judged is not None:
                    found = explain(contest, run, judged).regret
                    assert found is not None
                    at_most = found.score.max() / max(found.score[-1], LEAST_SCORE)
                    regrets[run.id] = found.ratio, float(at_most)
            return any(
                "begins again" in one["text"]
                for one in store.announcements.standing(Clock().utc())
            )

        until(is_over, LONGEST_DAY_S)
        log = list(store.log.after(0))
        queue = store.queue.teams()
        seen = Day(contest.key.public, store.runs.find(), log, regrets, queue)
    until(lambda: not first.exists() and answers(url) and board_of(url)["ranking"])
    return replace(
        seen,
        anew=board_of(url),
        folders=[one.name for one in folder.iterdir()],
    )


def answers(url: str) -> bool:
    port = int(url.rpartition(":")[2])
    with socket.socket() as looking:
        return looking.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True)
class Day:
    """What was on record at the end of a day, and `anew`, the board after it.

    `regrets` have by run the ratio that its report advises, and the highest one of all its moments.
    """

    key: str
    runs: list[Run]
    log: list[Any]
    regrets: dict[int, tuple[float, float]]
    queue: list[str]
    anew: dict[str, Any] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)

    def acts(self, action: str) -> list[Any]:
        return [
            one
            for one in self.log
            if one.kind == "operator" and one.values.get("action") == action
        ]


def board_of(url: str) -> dict[str, Any]:
    with requests.Session() as session:
        session.trust_env = False
        board: dict[str, Any] = session.get(
            f"{url}/board.json",
            timeout=TIMEOUT_S,
        ).json()
        return board


def test_a_day_of_the_demo_has_every_kind_of_event(day: Day) -> None:
    live = [
        run for run in day.runs if run.station and run.opened_utc and run.id > MORNING
    ]
    assert {run.station for run in live} == {"station-1", "station-2"}
    heats = {run.heat for run in live if run.heat}
    assert {heat: sum(run.heat == heat for run in live) for heat in heats} == {
        "Heat 1": 2,
        "Heat 2": 2,
    }
    assert [run.void_reason for run in live if run.state is RunState.VOID] == [
        "the board's power supply failed"
    ]
    assert {run.state for run in live} == {RunState.VOID, RunState.JUDGED}
    assert len(live) == 8
    for action in (
        "arm",
        "start",
        "void",
        "review",
        "judge",
        "announce",
        "board-freeze",
        "board-unveil",
    ):
        assert day.acts(action), action
    froze = day.acts("board-freeze")[0]
    unveiled = day.acts("board-unveil")[-1]
    in_between = [one for one in day.acts("start") if froze.id < one.id < unveiled.id]
    assert len(in_between) == 1  # the last heat


def test_no_report_of_the_demo_advises_a_log_out_that_a_real_board_could_not_have_made(
    day: Day,
) -> None:
    assert len(day.regrets) == len(
        [run for run in day.runs if run.state is RunState.JUDGED]
    )
    assert max(advised for advised, _ in day.regrets.values()) < 1.5
    in_the_morning = [
        at_most for run, (_, at_most) in day.regrets.items() if run <= MORNING
    ]
    # Without a word of what is known how well: nobody posts before its model is loaded.
    assert max(in_the_morning) < 1.5


def test_after_a_day_the_demo_begins_anew_at_the_same_address_and_keeps_nothing_of_it(
    day: Day,
) -> None:
    assert day.folders == ["day-2"]
    assert day.anew["public_key"] != day.key
    assert len(day.anew["ranking"]) >= 12
    assert day.queue  # to the end of a day somebody is next


def test_a_demo_never_takes_a_folder_with_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    told = warm_programs.run(["referee", "demo", "--folder", str(tmp_path)])
    assert told.returncode == 1
    assert told.stdout == ""
    assert "is not empty" in told.stderr
