"""A hall for tests of the projector: four stations, a queue, and as many ranked teams as wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.judge import judge
from tests.contest_day import HASH, Day, Meter, contest_day
from tests.referee.judging.judged_runs import closed_run

STATIONS = 4
RUNNING = (
    "The Low-Power Vision Laboratory of the North, second team",
    "w" * 100,
    "bee",
    "Team <b>four</b> & the measured many of the south-west",
)
AFFILIATION = "Institute of Embedded Systems and Signal Processing, University of Somewhere Far Away"
LONG_NAMES = (
    "A team whose name is much too long for any line of a screen in a hall, as some are",
    "W" * 60,
)
HEAT = "the final of the afternoon"


def names(teams: int) -> tuple[str, ...]:
    """As many names of teams, two of them long."""
    short = (f"ranked team {number} of the many" for number in range(1, teams + 1 - 2))
    return (*LONG_NAMES, *short)


@contextmanager
def hall_of(teams: int, folder: Path, test_set: Path) -> Iterator[Day]:
    """A served contest day with that many ranked teams."""
    ranked = names(teams)
    with contest_day(folder, test_set, auto_arm=False, teams=ranked) as made:
        settings = folder / "contest.toml"
        more = []
        for number in range(2, STATIONS + 1):
            made.meters.append(Meter(folder / "meter.log"))
            meter = made.meters[-1].address
            more.append(
                f'[[stations]]\nname = "station-{number}"\nmeter = "{meter}"\nupdate_interval_s = 0.1\n'
            )
        text = settings.read_text().replace(
            "[[stations]]",
            'public_score = true\nboard_url = "http://192.168.1.20:8080/"\n[[stations]]',
            1,
        )
        settings.write_text("\n".join([text, *more]))
        with open_contest(folder) as contest:
            for seed, team in enumerate(ranked):
                run = closed_run(contest, team, 1.0 + seed / 50, seed)
                judge(contest, run.id, Clock())
            for team in RUNNING:
                contest.store.teams.add(team, HASH, Clock().utc(), AFFILIATION)
            contest.store.queue.change(lambda _: [RUNNING[0], *ranked[1:6]])
        made.serve()
        yield made


def ask(hall: Day, path: str, **body: object) -> Any:
    """The answer to an operator's POST, which is done."""
    assert hall.server is not None
    answer = hall.server.ask("POST", f"/operator{path}", key_of(hall), json=body)
    assert answer.ok, answer.text
    return answer.json()


def key_of(hall: Day) -> str:
    return (hall.folder / "operator-key").read_text().strip()
