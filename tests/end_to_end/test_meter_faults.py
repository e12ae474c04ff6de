"""One served contest of many stations, a fault at each meter: the energy is exact, or a check says why not.

The load of every board is 36 W throughout, so the truth is 36 W times the window, whatever its meter goes through.
"""

from __future__ import annotations

import contextlib
import http
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import requests

from lpirc_testsets import synthesize
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.store.records import RunState
from tests.contest_day import HASH, PASSWORD, Program, Server, program, refers, until
from tests.ports import own_port

WINDOW_S = 12
POWER_W = 36.0
EXACT = 0.005
"""Of the energy: a simulated meter knows its energy exactly; what is left is the time that starting takes."""


@dataclass(frozen=True)
class Fault:
    """What happens to a meter: lines for its control socket, at seconds of the window (None: before the log-in).

    `flagged` names codes of which one must be among the failed checks and the run's events if the energy is not exact,
    or `always` even if it is.
    """

    name: str
    lines: tuple[tuple[float | None, str], ...]
    flagged: frozenset[str] = frozenset()
    always: bool = False


def fault(
    name: str,
    *lines: tuple[float | None, str],
    says: str = "",
    always: bool = True,
) -> Fault:
    return Fault(name, lines, frozenset(says.split()), always and bool(says))


STEP = "integrator-trapezoid integrator-stopped integrator-steps integrator-time"
FAULTS = (
    fault("nothing"),
    fault("link lost for 3 s", (4, "drop-link 3"), says="reading-gaps"),
    fault("link lost from the start on", (0.5, "drop-link 3"), says="reading-gaps"),
    fault("link lost over the end", (10, "drop-link 4"), says="reading-gaps", always=False),
    fault("no answer for 3 s", (4, "hang 3"), says="reading-gaps"),
    fault("no answer over the end", (10, "hang 4"), says="reading-gaps", always=False),
    fault("answers after 0.4 s", (0, "slow 400"), says="reading-gaps", always=False),
    fault("answers after 1.2 s", (0, "slow 1200"), says="reading-gaps"),
    fault("slow from the middle on", (5, "slow 600"), says="reading-gaps", always=False),
    fault("busy after the start", (None, "busy-after-start 0.5")),
    fault("no data for 2 s", (4, "nan 2"), says="no-data"),
    fault("over range for 2 s", (4, "over-range 2"), says="over-range"),
    fault("clipped for 3 s", (4, "clip 3"), says="peak-clipping"),
    fault("switched off and on, sums kept", (5, "restart keep 1"), says=f"{STEP} reading-gaps", always=False),
    fault("switched off and on, sums lost", (5, "restart lose 1"), says="meter-reset energy-missing"),
    fault("switched off and on, state ERROR", (5, "restart error 1"), says=STEP),
    fault("stopped at the panel", (6, "knob :INTEGRATE:STOP"), says=STEP),
    fault("stopped for 1.6 s", (5, "knob :INTEGRATE:STOP"), (6.6, "knob :INTEGRATE:START"), says=STEP),
    fault(
        "reset and started again",
        *((5, f"knob :INTEGRATE:{word}") for word in ("STOP", "RESET", "START")),
        says=f"{STEP} energy-missing",
    ),
    fault("another range, and back", (4, "knob :INPUT:CURRENT:RANGE 20"), (8, "knob :INPUT:CURRENT:RANGE 0.5"),
          says="range-changed"),
    fault("a smaller range, and back, in a gap", (3, "drop-link 6"), (4, "knob :INPUT:CURRENT:RANGE 0.1"),
          (8, "knob :INPUT:CURRENT:RANGE 0.5"), says="unseen-energy"),
    fault("stopped and started in a gap", (3, "drop-link 6"), (4, "knob :INTEGRATE:STOP"),
          (5, "knob :INTEGRATE:START"), says="integrator-stopped unseen-energy"),
    fault("another range", (6, "knob :INPUT:CURRENT:RANGE 20"), says="range-changed"),
    fault("the overload's own change of range", (6, "range-change"), says="range-changed"),
    fault("automatic ranging", (6, "knob :INPUT:CURRENT:AUTO ON"), says="range-changed"),
    fault("averaging, and back", (4, "knob :MEASURE:AVERAGING:STATE ON"), (9, "knob :MEASURE:AVERAGING:STATE OFF"),
          says="range-changed"),
    fault("HOLD", (5, "knob :HOLD ON"), says="range-changed reading-gaps"),
    fault("values held", (5, "knob :NUMERIC:HOLD ON"), says="range-changed reading-gaps", always=False),
    fault("maxima held", (5, "knob :MEASURE:MHOLD ON"), says="range-changed", always=False),
    fault("another program's items", (5, "knob :NUMERIC:NORMAL:ITEM4 U,1"), says="range-changed reading-gaps",
          always=False),
    fault("another program's headers", (5, "knob :COMMUNICATE:HEADER ON;:COMMUNICATE:VERBOSE OFF")),
    fault("binary values", (5, "knob :NUMERIC:FORMAT FLOAT"), says="range-changed reading-gaps", always=False),
    fault("an answer that makes no sense", (5, "wrong ?;garbage"), says="reading-gaps", always=False),
    fault("power fed back", (5, "load constant:-36W"), (7, "load constant:36W"), says="negative-power"),
)  # fmt: skip

LOSE_ENERGY = {
    "switched off and on, sums lost",
    "switched off and on, state ERROR",
    "reset and started again",
}
"""After these, and no others, people are told to void the run and arm another."""


@dataclass
class Metered:
    """A simulated meter with its control socket."""

    fault: Fault
    process: Program
    address: str
    control: str
    missed: list[str] = field(default_factory=list)

    def set(self, line: str) -> None:
        host, _, port = self.control.rpartition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(line.encode() + b"\n")
            answer = connection.makefile().readline()
        if not answer.startswith("ok"):
            self.missed.append(f"{line}: {answer}")


@contextlib.contextmanager
def meters(folder: Path) -> Iterator[list[Metered]]:
    with contextlib.ExitStack() as stack:
        started = []
        for number, one in enumerate(FAULTS):
            options = [
                "--load",
                f"constant:{POWER_W:g}W",
                "--control",
                "0",
                "--parent",
                str(os.getpid()),
            ]
            options += ["--port", str(own_port())]
            # A knob is for the checks of the energy to find.
            options += [
                "--without",
                "lock",
            ]
            process = Program(
                [program("meter"), "simulate", *options],
                folder / f"meter-{number}.log",
            )
            stack.callback(process.close)
            address = process.first_line()
            stdout = process.process.stdout
            assert stdout is not None
            started.append(
                Metered(one, process, address, stdout.readline().split()[-1])
            )
        yield started


def contest_text(testset: Path, meters: list[Metered]) -> str:
    stations = (
        f'[[stations]]\nname = "s{number}"\nmeter = "{meter.address}"\nvoltage_range_v = 150\n'
        "current_range_a = 0.5\nupdate_interval_s = 0.25\n"
        for number, meter in enumerate(meters)
    )
    head = f'name = "Faults"\nwindow_s = {WINDOW_S}\ntestset = "{testset}"\nauto_arm = true\nlive_score = false\n'
    head += "count_unserved = true\n"
    return head + "\n".join(stations)


def log_in(server: Server, team: str) -> requests.Response:
    """Log in, and again where so many at once are too many for a busy host."""
    while True:
        answer = server.ask(
            "POST",
            "/v1/session",
            json={"team": team, "password": PASSWORD},
        )
        if answer.status_code != http.HTTPStatus.TOO_MANY_REQUESTS:
            return answer
        threading.Event().wait(float(answer.headers["Retry-After"]))


def take_part(
    folder: Path,
    server: Server,
    team: str,
    by_station: dict[str, Metered],
) -> None:
    """Log in, let happen to the station's meter what its fault says, and wait for the window's end."""
    answer = log_in(server, team)
    start_s = time.monotonic()
    assert answer.status_code == 201, answer.text
    document = answer.json()
    with open_contest(folder) as contest:
        meter = by_station[contest.store.runs.get(document["run"]).station]
    server.ask(
        "POST",
        "/v1/detections",
        document["token"],
        json=[[1, 1, 0.5, 0, 0, 5, 5]],
    )
    for at_s, line in meter.fault.lines:
        if at_s is not None:
            threading.Event().wait(max(start_s + at_s - time.monotonic(), 0.0))
            meter.set(line)


def test_whatever_happens_to_a_meter_the_energy_is_exact_or_a_check_says_why_not(
    tmp_path: Path,
) -> None:
    testset = tmp_path / "testset"
    synthesize(testset, images=2, categories=2, seed=1)
    folder = tmp_path / "contest"
    with meters(tmp_path) as started:
        create_contest(folder, contest_text(testset, started))
        teams = [f"t{number}" for number in range(len(started))]
        with open_contest(folder) as contest:
            for team in teams:
                contest.store.teams.add(team, HASH, Clock().utc())
        for meter in started:
            for at_s, line in meter.fault.lines:
                if at_s is None:
                    meter.set(line)
        server = Server(folder)
        try:
            by_station = {f"s{number}": meter for number, meter in enumerate(started)}
            with ThreadPoolExecutor(len(teams)) as pool:
                list(
                    pool.map(
                        lambda team: take_part(folder, server, team, by_station),
                        teams,
                    )
                )
            with open_contest(folder) as contest:
                # The server judges by itself what has closed.
                until(
                    lambda: (
                        {run.state for run in contest.store.runs.find()}
                        <= {RunState.CLOSED, RunState.JUDGED}
                    )
                )
        finally:
            server.end()
            server.close()
        found = judged(folder, by_station)
    (tmp_path / "found.json").write_text(json.dumps(found))
    assert [meter.missed for meter in started if meter.missed] == []
    assert [row for row in found if row[-1] != "good"] == []
    assert {name for name, _, says, _ in found if "energy-lost" in says} == LOSE_ENERGY


def judged(
    folder: Path,
    by_station: dict[str, Metered],
) -> list[tuple[str, float | None, list[str], str]]:
    """For each fault: how far its energy is off, what was flagged, and whether that is good."""
    assert refers("judge", "--all", "--contest", str(folder)).returncode == 0
    found = []
    with open_contest(folder) as contest:
        for run in contest.store.runs.find():
            one = by_station[run.station].fault
            score = contest.store.scores.latest(run.id)
            assert score is not None
            failed = {check.code for check in score.checks if not check.ok}
            events = {event["kind"] for event in contest.store.log.of_run(run.id)}
            says = failed - {"official-meter"} | events & {
                "energy-missing",
                "energy-lost",
            }
            truth_wh = POWER_W * (run.elapsed_s or 0.0) / 3600.0
            off = None if run.energy_wh is None else run.energy_wh / truth_wh - 1
            exact = off is not None and abs(off) <= EXACT
            good = (exact and not one.always) or bool(says & one.flagged)
            # A busy host may read nothing for a while, whatever happens to the meter.
            wrong = exact and not one.flagged and bool(says - {"reading-gaps"})
            verdict = "false alarm" if wrong else "good" if good else "silent"
            found.append((one.name, off, sorted(says), verdict))
    return found
