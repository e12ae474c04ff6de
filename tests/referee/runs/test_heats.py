"""Head to head: runs that one start signal opens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lpirc_power.meter import IntegratorState
from referee.errors import NotStarted, RefereeError
from referee.judging.ranking import head_to_head
from referee.runs import heats, run_control
from referee.runs.heats import start_meters
from referee.runs.meter_state import MeterState
from referee.runs.station_meters import StationMeters
from referee.store.records import Run, RunState
from tests.referee.factories import TEAM, House, body, parse_rows, station
from tests.referee.runs.observing import busy_database, code_of, integrates, kinds

Build = Callable[..., House]
Until = Callable[[Callable[[], object]], None]


@pytest.fixture(autouse=True)
def slow_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meters may start far apart: how far depends on the load of the host."""
    monkeypatch.setattr(heats, "LONGEST_LEAD_S", 60.0)


def armed(build: Build, *meters: str, **keys: object) -> House:
    """Two stations, a team armed at each for the heat "final"."""
    given = [{"meter": one} for one in meters] or [{}, {}]
    stations = [
        station(name, **one) for name, one in zip(("one", "two"), given, strict=True)
    ]
    house = build(*stations, **keys)
    house.control.arm(TEAM, "one", "final")
    house.control.arm("badgers", "two", "final")
    return house


def both_wait(house: House) -> None:
    for team in (TEAM, "badgers"):
        assert code_of(house.control.login, team) == "not-started"


def states(house: House) -> list[str]:
    return [run.state.value for run in house.store.runs.find()]


def starts(house: House) -> list[float | None]:
    return [run.start_s for run in house.store.runs.find()]


def test_a_team_of_a_heat_is_asked_to_wait_for_the_signal(build: Build) -> None:
    house = armed(build)
    with pytest.raises(RefereeError) as failure:
        house.control.login(TEAM)
    assert failure.value.code == "not-started"
    assert failure.value.facts == {"run": 1, "heat": "final", "retry_after_s": 1}
    assert code_of(house.control.login, TEAM) == "not-started"
    assert kinds(house, 1) == ["armed", "waiting"]
    assert states(house) == ["armed", "armed"]


def test_one_signal_opens_all_with_one_start_and_one_deadline(
    build: Build,
    until: Until,
) -> None:
    house = armed(build, window_s=60)
    both_wait(house)
    before_s = house.clock.monotonic_s()
    opened = house.control.start("final")
    assert [(run.team, run.state) for run in opened] == [
        (TEAM, "open"),
        ("badgers", "open"),
    ]
    first, second = starts(house)
    assert first == second
    assert first is not None
    assert before_s < first < house.clock.monotonic_s()
    lives = [house.control.login(team) for team in (TEAM, "badgers")]
    assert lives[0].window == lives[1].window
    assert opened[0].opened_utc == opened[1].opened_utc
    for live in lives:
        until(lambda live=live: len(house.store.readings.of_run(live.run.id, 0.0)) >= 2)
        assert all(
            one.state is IntegratorState.START
            for one in house.store.readings.of_run(live.run.id, 0.0)
        )
        live.accept(body(2), None, parse_rows)
    # Logging out is each team's own affair; the deadline is common.
    assert house.control.close(1, "logout").closed_by == "logout"
    assert lives[1].accept(body(2), None, parse_rows).received_total == 4
    house.clock.advance(60)
    until(lives[1].done.is_set)
    other = house.store.runs.get(2)
    assert other.closed_by == "deadline"
    assert other.elapsed_s == 60.0
    assert all((run.energy_wh or 0) > 0 for run in house.store.runs.find())


def test_a_signal_needs_a_heat_of_two_armed_runs_whose_teams_wait(build: Build) -> None:
    house = build(station("one"), station("two"))
    assert code_of(house.control.start, "final") == "heat-unknown"
    house.control.arm(TEAM, "one", "final")
    assert code_of(house.control.start, "final") == "heat-alone"
    house.control.arm("badgers", "two", "final")
    assert code_of(house.control.login, TEAM) == "not-started"
    with pytest.raises(
        RefereeError,
        match="badgers has not logged in within the last 5 s",
    ):
        house.control.start("final")
    assert code_of(house.control.login, "badgers") == "not-started"
    house.clock.advance(60)  # they have gone away again
    assert code_of(house.control.start, "final") == "team-absent"
    assert states(house) == ["armed", "armed"]
    assert len(house.control.start("final", absent_too=True)) == 2
    assert code_of(house.control.start, "final") == "heat-started"


def test_no_one_joins_a_heat_that_has_started(build: Build) -> None:
    house = armed(build)
    house.control.start("final", absent_too=True)
    house.control.close(1, "logout")
    assert code_of(house.control.arm, TEAM, "one", "final") == "heat-started"
    assert house.control.arm(TEAM, "one", "final 2").heat == "final 2"


@pytest.mark.parametrize(
    "name", ["two\nlines", "x" * 61, "bell\a", "..", "a/../final", "/final"]
)
def test_a_heat_has_a_name_that_can_be_printed_on_a_line(
    build: Build,
    name: str,
) -> None:
    assert code_of(build().control.arm, TEAM, "one", name) == "bad-request"


def test_a_voided_run_leaves_its_heat_and_can_be_replaced(build: Build) -> None:
    house = armed(build)
    house.control.void(1, "the board burnt")
    house.control.arm(TEAM, "one", "final")
    assert [run.id for run in house.control.start("final", absent_too=True)] == [2, 3]


def test_runs_with_other_windows_are_no_heat(build: Build) -> None:
    house = armed(build)
    house.store.runs.change(1, (RunState.ARMED,), window_s=300.0)
    assert code_of(house.control.start, "final") == "heat-uneven"


def test_if_one_meter_does_not_start_nothing_opens_and_the_other_is_stopped(
    build: Build,
    instrument: Any,
) -> None:
    dying = instrument()
    sound = instrument()
    house = armed(build, dying.address, sound.address)
    both_wait(house)
    dying.die()
    assert code_of(house.control.start, "final") == "meter-unreachable"
    assert states(house) == ["armed", "armed"]
    assert starts(house) == [None, None]
    assert not integrates(sound.address)
    assert kinds(house, 2)[-1] == "start-undone"
    assert code_of(house.control.login, "badgers") == "not-started"
    state, said = house.control.meter_state("one")
    assert state is MeterState.LOST
    assert "the next start of heat final starts it" in str(said)
    assert house.control.meter_state("two") == (MeterState.IDLE, None)

    # Found by asking, before any is started.
    assert code_of(house.control.start, "final") == "meter-unreachable"
    assert kinds(house, 2).count("meter-start") == 1

    instrument("--port", dying.port)
    both_wait(house)
    house.control.start("final")
    assert house.control.meter_state("one") == (MeterState.INTEGRATING, None)
    for number in (1, 2):
        closed = house.control.close(number, "operator")
        assert closed.energy_wh is not None
        assert closed.integrator_s is not None
        assert abs(closed.integrator_s - (closed.elapsed_s or 0.0)) <= 2


def test_meters_that_start_far_apart_open_nothing(
    build: Build,
    instrument: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meters = [instrument(), instrument()]
    house = armed(build, *(one.address for one in meters))
    monkeypatch.setattr(heats, "LONGEST_LEAD_S", -1.0)
    assert code_of(house.control.start, "final", absent_too=True) == "heat-uneven"
    assert states(house) == ["armed", "armed"]
    assert not any(integrates(one.address) for one in meters)
    monkeypatch.undo()
    assert len(house.control.start("final", absent_too=True)) == 2


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_start_that_cannot_be_stored_opens_nothing(
    build: Build,
    instrument: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meters = [instrument(), instrument()]
    house = armed(build, *(one.address for one in meters))
    with contextlib.ExitStack() as stack:

        def started(*arguments: Any) -> Any:
            made = start_meters(*arguments)
            stack.enter_context(busy_database(house))
            return made

        monkeypatch.setattr(run_control, "start_meters", started)
        code = code_of(house.control.start, "final", absent_too=True)
        assert code == "storage-failed"
    monkeypatch.undo()
    assert states(house) == ["armed", "armed"]
    assert not any(integrates(one.address) for one in meters)


def test_of_two_runs_either_both_are_opened_or_none(build: Build) -> None:
    house = armed(build)
    house.store.runs.change(2, (RunState.ARMED,), state=RunState.VOID.value)
    with pytest.raises(
        RefereeError, match="is void; this command needs a run that is armed"
    ):
        house.store.runs.change_all(
            {run: {"state": "open", "start_s": 5.0} for run in (1, 2)},
            (RunState.ARMED,),
        )
    assert states(house) == ["armed", "void"]
    assert starts(house) == [None, None]


def test_a_process_that_dies_between_the_meters_start_and_the_record_leaves_both_armed(
    build: Build,
    instrument: Any,
) -> None:
    meters = [instrument(), instrument()]
    house = armed(build, *(one.address for one in meters))
    house.abandon()
    made = StationMeters(house.contest, house.clock)
    for meter in start_meters(made, house.store.runs.find(), house.clock).values():
        meter.sampler.close()
    assert all(integrates(one.address) for one in meters)
    house.restart(orderly=False)
    assert states(house) == ["armed", "armed"]
    assert len(house.control.start("final", absent_too=True)) == 2
    closed = house.control.close(1, "logout")
    assert (closed.integrator_s or 0.0) <= (closed.elapsed_s or 0.0) + 2


@pytest.mark.parametrize("reboot", [False, True], ids=["killed", "rebooted"])
def test_a_restart_in_the_middle_keeps_the_windows_equal(
    build: Build,
    instrument: Any,
    until: Until,
    reboot: bool,
) -> None:
    house = armed(build, *(instrument().address for _ in range(2)), window_s=60)
    house.control.start("final", absent_too=True)
    house.clock.advance(20)
    if reboot:
        house.abandon()
        house.clock.reboot()
    house.restart(orderly=False)
    lives = [house.control.login(team) for team in (TEAM, "badgers")]
    assert lives[0].window == lives[1].window
    assert 38 < lives[0].window.end_s - house.clock.monotonic_s() <= 40
    house.clock.advance(40)
    for live in lives:
        until(live.done.is_set)
    assert {(run.closed_by, run.elapsed_s) for run in house.store.runs.find()} == {
        ("deadline", 60.0)
    }
    assert all((run.energy_wh or 0) > 0 for run in house.store.runs.find())


def test_log_ins_that_come_with_the_signal_get_the_open_runs(
    build: Build,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    house = armed(build)

    def log_in(team: str) -> Run:
        while True:
            signals = house.control.board.signals
            try:
                return house.control.login(team).run
            except NotStarted:
                pass
            ticket = house.control.board.enter(team)
            assert house.control.board.wait(team, ticket, signals)

    waiting = [threads.submit(log_in, team) for team in (TEAM, "badgers")]
    until(
        lambda: (
            not house.control.board.absent(
                house.store.runs.find(),
                house.clock.monotonic_s(),
            )
        )
    )
    house.control.start("final")
    assert [one.result().id for one in waiting] == [1, 2]


def test_only_the_newest_log_in_of_a_team_waits(
    build: Build,
    threads: ThreadPoolExecutor,
) -> None:
    board = heats.StartBoard()
    first = board.enter(TEAM)
    other = board.enter("badgers")
    waiting = threads.submit(board.wait, TEAM, first, board.signals)
    second = board.enter(TEAM)
    assert waiting.result() is False
    seen = board.signals
    waits = [
        threads.submit(board.wait, *of, seen)
        for of in ((TEAM, second), ("badgers", other))
    ]
    board.signal()
    assert [one.result() for one in waits] == [True, True]


def test_a_shutdown_and_a_void_let_those_that_wait_ask_again(build: Build) -> None:
    house = armed(build)
    seen = house.control.board.signals
    house.control.void(1, "no")
    assert house.control.board.signals == seen + 1
    house.control.shutdown()
    assert house.control.board.signals == seen + 2


@pytest.mark.parametrize(
    ("first", "second", "points"),
    [
        (0.2, 0.1, (2, 0)),
        (0.1, 0.2, (0, 2)),
        (0.1, 0.1, (1, 1)),
        (0.0, None, (2, 0)),
        (None, 0.0, (0, 2)),
        (None, None, (0, 0)),
    ],
)
def test_the_higher_score_wins_two_points_and_a_tie_gives_one_each(
    first: float | None,
    second: float | None,
    points: tuple[int, int],
) -> None:
    assert head_to_head(first, second) == points
