"""The programme of a demo day: an operator's acts, requested from the server, and real clients.

A round has each kind of event once. A visitor may arm, void or freeze at the same time: if an act is refused because of
that, it is logged and the programme continues. Start with `play_round`.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee.cli.ask_server import NoServer, ask
from referee.cli.demo_day import ENTRIES, NEXT, QUEUED
from referee.cli.home_contest import client_program, contestant
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.run_figures import figures_of
from referee.served import is_served
from referee.store.records import RunState

STEPS_LOG = "steps.log"
DETECTOR = """\
import os, random, time
from lpirc_client.sample_detector.detector import detect as sample

loads_s = float(os.environ["DEMO_LOADS_S"])

def detect(jpeg, categories):
    global loads_s
    time.sleep(loads_s + float(os.environ["DEMO_STEP_S"]))
    loads_s = 0.0
    return [one for one in sample(jpeg, categories) if random.random() < float(os.environ["DEMO_FOUND"])]
"""
"""Source of a detector that, like a board, loads a model first, needs time for each image and misses some objects."""
LOOK_S = 0.2
PAUSE_S = 5.0  # between two acts
UNVEIL_S = 3.0  # between two places
VOID_AFTER_S = 30.0
READY_WITHIN_S = (
    120.0  # not divided by `speed`: programs start no faster in a fast demo
)
MORE_S = 30.0  # time that a client may take beyond its window
VOID_REASON = "the board's power supply failed"
REVIEW_NOTE = (
    "Checked with the team: the link lost readings, but the integrator did not."
)
FREEZE_NOTICE = (
    "The board is frozen for the last heat; the ranking is unveiled after it."
)


@dataclass(frozen=True)
class Stage:
    """The contest in which the programme runs: served at `url`, and `speed` times as fast as a real day."""

    folder: Path
    url: str
    contest: Contest
    clock: Clock
    speed: float = 1.0

    @property
    def stations(self) -> tuple[str, ...]:
        """The names of the stations."""
        return tuple(one.name for one in self.contest.config.stations)

    def pause(self, seconds: float) -> None:
        """Wait, so that the visitor can look."""
        self.clock.wait(
            threading.Event(), self.clock.monotonic_s() + seconds / self.speed
        )

    def until(self, holds: Callable[[], bool], within_s: float) -> bool:
        """Wait until the condition holds, at most `within_s`; return True if it holds. Raises NoServer."""
        until_s = self.clock.monotonic_s() + within_s
        while not holds():
            if not is_served(self.folder):
                raise NoServer("not-served", f"The server of {self.folder} has ended.")
            if self.clock.monotonic_s() > until_s:
                return False
            self.clock.wait(threading.Event(), self.clock.monotonic_s() + LOOK_S)
        return True

    def act(self, path: str, **body: str) -> Any:
        """Send an act to the server and return its answer; log a refusal and return None. Raises NoServer."""
        try:
            return ask(self.folder, path, body)
        except NoServer:
            raise
        except RefereeError as refusal:
            with (self.folder / STEPS_LOG).open("a") as log:
                log.write(
                    f"{self.clock.utc().isoformat()} {path} {body}: {refusal.sentence}\n"
                )
            return None


def play_round(stage: Stage, number: int) -> None:
    """Play every kind of event once, which takes some ten minutes. Raises NoServer."""
    _let_teams_run(stage, _next_teams(stage, 2))
    _let_reviewed_stand(stage)
    _let_teams_run(stage, _next_teams(stage, 2), heat=f"Heat {2 * number - 1}")
    for team in _next_teams(stage, 1):
        _let_run_be_voided(stage, team)
        _let_teams_run(stage, [team])
    notice = stage.act("/announcements", text=FREEZE_NOTICE)
    stage.act("/board/freeze")
    _let_teams_run(stage, _next_teams(stage, 2), heat=f"Heat {2 * number}")
    stage.act(
        "/announcements", text=f"Round {number} is over: the ranking is unveiled."
    )
    _unveil(stage)
    if notice is not None:
        stage.act(f"/announcements/{notice['id']}/withdraw")


def announce_end(stage: Stage) -> None:
    """Announce that the contest being watched is about to be replaced."""
    stage.act(
        "/announcements",
        text="The demo's day is over and begins again in a moment; log in again then.",
    )


def _next_teams(stage: Stage, count: int) -> list[str]:
    """Return the next teams of the queue, after filling it up with the teams that have the fewest attempts."""
    store = stage.contest.store
    queue = store.queue.teams()
    used = store.runs.attempts_used()
    most = stage.contest.config.attempts
    waiting = [team for team in NEXT if team not in queue and used.get(team, 0) < most]
    waiting.sort(key=lambda team: used.get(team, 0))
    for team in waiting[: max(QUEUED - len(queue), 0)]:
        stage.act("/queue/add", team=team)
    return store.queue.teams()[:count]


def _let_teams_run(stage: Stage, teams: Sequence[str], heat: str = "") -> None:
    """Run one team at each station until all runs have ended, and judge the runs."""
    _clear(stage)
    armed = _arm(stage, teams, heat)
    with _clients(stage, armed) as clients:
        starts = not heat or (
            len(armed) > 1 and stage.until(lambda: _start(stage, heat), READY_WITHIN_S)
        )
        if starts:
            window_s = stage.contest.config.window_s
            stage.until(
                lambda: all(one.poll() is not None for one in clients),
                window_s + MORE_S,
            )
    _clear(stage)
    _judge(stage)
    stage.pause(PAUSE_S)


def _arm(stage: Stage, teams: Sequence[str], heat: str = "") -> list[str]:
    """Arm a run at each station, and return the teams whose run was armed.

    A team whose run was refused is removed from the queue, too.
    """
    armed = []
    for team, station in zip(teams, stage.stations, strict=False):
        in_heat = {"heat": heat} if heat else {}
        if stage.act("/runs", team=team, station=station, **in_heat):
            armed.append(team)
        elif team in stage.contest.store.queue.teams():
            stage.act("/queue/remove", team=team)
    return armed


def _start(stage: Stage, heat: str) -> bool:
    """Start the heat once all teams have logged in.

    Returns True if it was started or if no run is still armed.
    """
    runs = stage.contest.store.runs.find(heat=heat)
    if not any(run.state is RunState.ARMED for run in runs):
        return True
    with suppress(
        RefereeError
    ):  # refused during the first seconds, in which the teams log in
        ask(stage.folder, "/heats/start", {"heat": heat})
        return True
    return False


def _let_run_be_voided(stage: Stage, team: str) -> None:
    _clear(stage)
    store = stage.contest.store
    with _clients(stage, _arm(stage, [team])) as clients:
        stage.until(
            lambda: not clients or bool(store.runs.find(RunState.OPEN, team=team)),
            READY_WITHIN_S,
        )
        stage.pause(VOID_AFTER_S)
        for run in store.runs.find(team=team)[-1:]:
            stage.act(f"/runs/{run.id}/void", reason=VOID_REASON)
    stage.pause(PAUSE_S)


def _let_reviewed_stand(stage: Stage) -> None:
    for run in stage.contest.store.runs.find(RunState.JUDGED):
        if figures_of(stage.contest, run, stage.clock.utc()).needs_review:
            stage.act(f"/runs/{run.id}/review", note=REVIEW_NOTE)


def _unveil(stage: Stage) -> None:
    """Unveil the ranking place by place, the last place first, until the board is live again."""
    while (board := stage.act("/board/unveil")) and board["state"] != "live":
        stage.pause(UNVEIL_S)
    stage.pause(PAUSE_S)


@contextmanager
def _clients(
    stage: Stage, teams: Sequence[str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run the client programs of the teams, and kill all of them when the block ends."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for team in teams:
            running.append(_client(stage, team))  # noqa: PERF401 - those that have started are ended, too
        yield running
    finally:
        for one in running:
            one.kill()
            one.wait()


def _client(stage: Stage, team: str) -> subprocess.Popen[bytes]:
    """Start a team's client, as fast and as accurate as the team's recorded run; it ends when this process ends."""
    entry = next((one for one in ENTRIES if one.team == team), ENTRIES[0])
    times_s = {"DEMO_LOADS_S": entry.loads_s, "DEMO_STEP_S": entry.step_s}
    pace = {name: str(seconds / stage.speed) for name, seconds in times_s.items()}
    environment = os.environ | pace | {"DEMO_FOUND": str(entry.found)}
    given = contestant(team, Path("password"))
    how = (
        "--detector",
        "slow:detect",
        "--no-preflight",
        "--fetch",
        "1",
        "--batch",
        "1",
    )
    words = [client_program(), "run", stage.url, *given, *how]
    with (stage.folder / STEPS_LOG).open("a") as log:
        return subprocess.Popen(  # noqa: S603 - our own program
            words, cwd=stage.folder, env=environment, stdout=log, stderr=log
        )


def _clear(stage: Stage) -> None:
    """Free the stations: wait for a visitor's open run to end, and void the runs that no one opened."""
    store = stage.contest.store
    window_s = stage.contest.config.window_s
    stage.until(lambda: not store.runs.find(RunState.OPEN), window_s + MORE_S)
    for run in store.runs.find(RunState.ARMED):
        stage.act(
            f"/runs/{run.id}/void",
            reason="nobody logged in, and the demo needs the station",
        )


def _judge(stage: Stage) -> None:
    stage.act("/judge")
    stage.until(
        lambda: not stage.contest.store.runs.find(RunState.CLOSED), READY_WITHIN_S
    )
