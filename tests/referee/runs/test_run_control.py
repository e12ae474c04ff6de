"""A run's life: opened by a log-in, closed by a log-out, the deadline or the operator, voided; and the server's end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from lpirc_power.meter import IntegratorState
from referee.errors import RefereeError, StorageFailed
from referee.runs import run_control
from referee.runs.open_run import OpenRun
from referee.runs.run_window import Phase, Window, phase_at
from referee.runs.station_meters import RunMeter, StationMeters
from referee.store import post_table
from referee.store.records import Run, RunState
from tests.referee.factories import START, TEAM, House, body, parse_rows, station
from tests.referee.runs.observing import busy_database, code_of, integrates, kinds
from tests.timeouts import TIMEOUT_S

Build = Callable[..., House]
Until = Callable[[Callable[[], object]], None]


# Logging in


def test_the_window_opens_only_after_the_meter_says_that_it_integrates(
    build: Build,
    until: Until,
) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    before_s = house.clock.monotonic_s()
    live = house.control.login(TEAM)
    after_s = house.clock.monotonic_s()
    assert live.run.id == run.id
    assert live.run.state is house.store.runs.get(run.id).state is RunState.OPEN
    assert before_s < live.window.start_s < after_s
    until(lambda: len(house.store.readings.of_run(run.id, 0.0)) >= 3)
    assert all(
        one.state is IntegratorState.START
        for one in house.store.readings.of_run(run.id, 0.0)
    )
    # Integrating is confirmed before the start: what the meter has counted is never less than the window.
    assert kinds(house, run.id) == ["armed", "meter-start", "open"]


def test_no_window_opens_while_the_disk_is_nearly_full(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = build()
    with monkeypatch.context() as full:
        full.setattr(post_table, "LEAST_FREE_BYTES", 2**62)
        assert code_of(house.control.arm, TEAM, "one") == "no-room"
    run = house.control.arm(TEAM, "one")
    with monkeypatch.context() as full:
        full.setattr(post_table, "LEAST_FREE_BYTES", 2**62)
        assert code_of(house.control.login, TEAM) == "no-room"
    assert kinds(house, run.id) == ["armed"]
    assert house.control.login(TEAM).run.id == run.id


def test_a_second_login_gives_the_same_run_and_does_not_restart_the_clock(
    build: Build,
) -> None:
    house = build()
    house.control.arm(TEAM, "one")
    first = house.control.login(TEAM)
    window = first.window
    house.clock.advance(100)
    assert house.control.login(TEAM) is first
    assert first.window == window
    assert kinds(house, first.run.id).count("meter-start") == 1


def test_concurrent_logins_start_the_meter_once(
    build: Build,
    threads: ThreadPoolExecutor,
) -> None:
    house = build(auto_arm=True)
    lives = [threads.submit(house.control.login, TEAM) for _ in range(8)]
    assert len({id(one.result()) for one in lives}) == 1
    assert kinds(house, 1).count("meter-start") == 1
    assert len(house.store.runs.find()) == 1


def test_a_run_is_alone_until_another_one_opens_and_again_when_that_is_closed(
    build: Build,
) -> None:
    house = build(station("one"), station("two"), auto_arm=True)
    live = house.control.login(TEAM)
    found = [live._is_alone()]  # noqa: SLF001 - otherwise it shows only as time that passes
    other = house.control.login("badgers")
    found += [live._is_alone(), other._is_alone()]  # noqa: SLF001 - see above
    house.control.close(other.run.id, "logout")
    assert [*found, live._is_alone()] == [True, False, False, True]  # noqa: SLF001 - see above


def test_teams_at_other_stations_are_independent(
    build: Build,
    instrument: Any,
    threads: ThreadPoolExecutor,
) -> None:
    dead = instrument()
    house = build(station("one", dead.address), station("two"))
    house.control.arm(TEAM, "one")
    house.control.arm("badgers", "two")
    dead.die()
    failing = threads.submit(house.control.login, TEAM)
    live = house.control.login("badgers")
    live.accept(body(2), None, parse_rows)
    assert house.control.close(live.run.id, "logout").state is RunState.CLOSED
    assert code_of(failing.result) == "meter-unreachable"


def test_a_dead_meter_opens_no_window_and_the_run_stays_armed_until_it_answers(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    meter.die()
    for _ in range(2):
        assert code_of(house.control.login, TEAM) == "meter-unreachable"
    assert house.store.runs.get(run.id).state is RunState.ARMED
    assert code_of(house.control.live, run.id) == "window-closed"
    instrument("--port", meter.port)
    live = house.control.login(TEAM)
    assert live.run.id == run.id
    assert live.run.state == RunState.OPEN
    assert "meter-failed" in kinds(house, run.id)


def test_the_meter_that_is_started_is_the_one_on_record(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument("--serial", "OLD")
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    assert "-OLD " in (run.meter_identity or "")
    meter.die()
    instrument("--port", meter.port, "--serial", "NEW")
    assert "-NEW " in (house.control.login(TEAM).run.meter_identity or "")
    assert (house.control.close(run.id, "logout").energy_wh or 0) > 0


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_storage_failure_at_the_start_leaves_the_run_armed_and_the_next_login_opens_it(
    build: Build,
) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    with busy_database(house):
        assert code_of(house.control.login, TEAM) == "storage-failed"
    assert house.store.runs.get(run.id).state is RunState.ARMED
    assert house.control.login(TEAM).run.id == run.id


def started_but_not_recorded(house: House) -> Run:
    """The process has died after the meter of the armed run was started, before its window was stored."""
    run = house.control.arm(TEAM, "one")
    house.abandon()
    StationMeters(house.contest, house.clock).started(run).sampler.close()
    assert integrates(house.contest.station("one").meter)
    return run


def test_a_start_that_was_not_recorded_is_taken_over(
    build: Build,
    instrument: Any,
) -> None:
    house = build(station(meter=instrument().address))
    run = started_but_not_recorded(house)
    house.restart(orderly=False)
    assert house.control.login(TEAM).run.id == run.id
    closed = house.control.close(run.id, "logout")
    assert closed.integrator_s is not None
    assert closed.integrator_s <= (closed.elapsed_s or 0.0) + 2


def test_a_void_of_such_a_run_leaves_the_station_usable(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    run = started_but_not_recorded(house)
    house.restart(orderly=False)
    house.control.void(run.id, "the board burnt")
    assert integrates(meter.address)
    assert house.control.arm("badgers", "one").state is RunState.ARMED


def test_a_test_set_that_was_exchanged_after_arming_opens_no_window(
    build: Build,
    small_set: Any,
) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    house.store.runs.change(run.id, (RunState.ARMED,), testset_digest="e" * 64)
    assert code_of(house.control.login, TEAM) == "testset-changed"
    assert house.store.runs.get(run.id).state is RunState.ARMED


# Closing


def test_a_logout_stops_the_meter_and_reads_the_energy(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument("--load", "constant:36W")
    house = build(station(meter=meter.address))
    house.control.arm(TEAM, "one")
    live = house.control.login(TEAM)
    live.accept(body(4), None, parse_rows)
    closed = house.control.close(live.run.id, "logout")
    assert closed.state == RunState.CLOSED
    assert closed.closed_by == "logout"
    assert closed.elapsed_s is not None
    assert closed.energy_wh is not None
    assert (
        36 * closed.elapsed_s <= closed.energy_wh * 3600 < 36 * (closed.elapsed_s + 2)
    )
    assert not integrates(meter.address)
    assert kinds(house, live.run.id)[-1] == "closed"
    assert code_of(house.control.live, live.run.id) == "window-closed"
    assert code_of(live.accept, body(1), None, parse_rows) == "window-closed"
    assert house.control.close(live.run.id, "operator") == closed


@pytest.mark.parametrize(
    ("ending", "step"),
    [
        ("close", "retire"),
        ("void", "forget"),
    ],
)
def test_a_station_that_is_free_on_record_is_armed_only_after_its_meter_is_put_aside(
    build: Build,
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    step: str,
) -> None:
    house = build()
    run = house.control.arm(TEAM, "one").id
    if ending == "close":
        house.control.login(TEAM)
    put_aside = getattr(StationMeters, step)
    set_up = StationMeters.set_up
    is_set_up = Event()
    armed = []

    def waiting(meters: StationMeters, *given: Any) -> None:
        armed.append(threads.submit(house.control.arm, "badgers", "one"))
        # The station is locked: what is right never depends on this pause.
        assert not is_set_up.wait(0.2)
        put_aside(meters, *given)

    def watched(
        meters: StationMeters,
        *given: Any,
        **named: Any,
    ) -> RunMeter:
        is_set_up.set()
        return set_up(meters, *given, **named)

    monkeypatch.setattr(StationMeters, "set_up", watched)
    monkeypatch.setattr(StationMeters, step, waiting)
    getattr(house.control, ending)(run, "operator")
    monkeypatch.undo()
    assert armed[0].result(20).id == run + 1


def test_the_deadline_closes_by_itself_with_the_whole_window(
    build: Build,
    until: Until,
) -> None:
    house = build(window_s=60)
    house.control.arm(TEAM, "one")
    live = house.control.login(TEAM)
    live.accept(body(4), None, parse_rows)
    house.clock.advance(59)
    assert phase_at(live.window, house.clock.monotonic_s()) is Phase.OPEN
    assert not live.ending.is_set()
    house.clock.advance(1)
    until(live.done.is_set)
    closed = house.store.runs.get(live.run.id)
    assert closed.state == RunState.CLOSED
    assert closed.closed_by == "deadline"
    assert closed.elapsed_s == 60.0
    assert closed.energy_wh is not None


def test_of_many_closers_the_first_counts_and_all_see_it_closed(
    build: Build,
    threads: ThreadPoolExecutor,
) -> None:
    house = build(auto_arm=True, window_s=60)
    live = house.control.login(TEAM)
    closers = [threads.submit(house.control.close, 1, f"closer {n}") for n in range(8)]
    house.clock.advance(60)
    first, *others = (one.result() for one in closers)
    assert all(one == first for one in others)
    assert house.store.runs.get(1).closed_by == live.closed_by
    assert kinds(house, 1).count("closed") == 1


def test_an_operator_s_close_is_on_record_with_the_close_though_the_run_s_own_thread_is_awake(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = build(auto_arm=True)
    live = house.control.login(TEAM)
    end = OpenRun.end

    def end_slowly(ended: OpenRun, closed_by: str) -> Window:
        window = end(ended, closed_by)
        if closed_by == "operator":
            ended.done.wait(0.5)  # the other thread's chance
        return window

    monkeypatch.setattr(OpenRun, "end", end_slowly)
    with house.store.log.act(START, 1, operator="ada", action="close") as act:
        house.control.close(1, "operator", act)
    assert live.done.is_set()
    assert kinds(house, 1)[-2:] == ["operator", "closed"]


def test_posts_that_race_with_the_deadline_are_in_the_database_exactly_if_acknowledged(
    build: Build,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    house = build(auto_arm=True)
    live = house.control.login(TEAM)

    def post(number: int) -> int:
        acknowledged = 0
        with pytest.raises(RefereeError, match="is closed"):  # noqa: PT012 - until it is refused
            while True:
                acknowledged += live.accept(
                    body(1 + number % 4),
                    None,
                    parse_rows,
                ).row_count
        return acknowledged

    posting = [threads.submit(post, number) for number in range(8)]
    until(lambda: live.received_total > 100)
    house.clock.advance(600)
    acknowledged = sum(one.result() for one in posting)
    until(live.done.is_set)
    assert house.store.posts.count_detections(1) == acknowledged == live.received_total


def test_a_login_while_the_former_run_is_being_closed_waits_for_it_and_opens_the_next(
    build: Build,
    threads: ThreadPoolExecutor,
) -> None:
    house = build(auto_arm=True)
    first = house.control.login(TEAM)
    closing = threads.submit(house.control.close, first.run.id, "logout")
    assert first.ending.wait(TIMEOUT_S)
    second = house.control.login(TEAM)
    assert closing.result().state is RunState.CLOSED
    assert second.run.id != first.run.id


def test_a_run_that_is_not_open_cannot_be_closed(build: Build) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    assert code_of(house.control.close, run.id, "operator") == "run-state"
    assert code_of(house.control.close, 99, "operator") == "run-unknown"


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_close_that_cannot_be_stored_is_tried_again_and_keeps_its_end(
    build: Build,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_control, "CLOSING_TIMEOUT_S", 0.1)
    monkeypatch.setattr(run_control, "CLOSE_RETRY_S", 0.1)
    house = build(auto_arm=True)
    live = house.control.login(TEAM)
    live.accept(body(4), None, parse_rows)
    with busy_database(house):
        assert code_of(house.control.close, 1, "logout") == "storage-failed"
        ended_s = live.window.end_s
        assert house.store.runs.get(1).state is RunState.OPEN
        assert code_of(live.accept, body(1), None, parse_rows) == "window-closed"
        # Not locked out for good, and no second run.
        assert code_of(house.control.login, TEAM) == "window-closed"
    until(live.done.is_set)
    closed = house.store.runs.get(1)
    assert closed.state == RunState.CLOSED
    assert closed.closed_by == "logout"
    assert closed.elapsed_s == ended_s - live.window.start_s
    assert closed.energy_wh is not None
    assert house.control.login(TEAM).run.id == 2


def test_a_close_that_fails_after_it_was_stored_is_still_carried_through(
    build: Build,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_control, "CLOSE_RETRY_S", 0.01)
    house = build(auto_arm=True)
    failures = [OSError("once"), OSError("twice")]
    live = house.control.login(TEAM)
    retire = StationMeters.retire

    def fail(meters: StationMeters, *given: Any) -> None:
        if failures:
            raise failures.pop()
        retire(meters, *given)

    monkeypatch.setattr(StationMeters, "retire", fail)
    with pytest.raises(OSError, match="twice"):
        house.control.close(1, "logout")
    until(live.done.is_set)
    assert kinds(house, 1).count("closed") == 1
    assert house.control.login(TEAM).run.id == 2


def test_a_stated_failure_to_close_is_logged_in_its_sentence_alone(
    build: Build,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(run_control, "CLOSE_RETRY_S", 0.01)
    house = build(auto_arm=True)
    failures = [StorageFailed("The disk is full.")]
    live = house.control.login(TEAM)
    retire = StationMeters.retire

    def fail(meters: StationMeters, *given: Any) -> None:
        if failures:
            raise failures.pop()
        retire(meters, *given)

    monkeypatch.setattr(StationMeters, "retire", fail)
    live.end("deadline")
    until(live.done.is_set)
    assert (
        "run 1 could not be closed and is tried again: The disk is full." in caplog.text
    )
    assert "Traceback" not in caplog.text


@pytest.mark.usefixtures("short_lock_timeout")
def test_an_energy_that_was_read_but_not_stored_is_still_in_the_meter_after_the_servers_end(
    build: Build,
    instrument: Any,
) -> None:
    house = build(
        station(meter=instrument("--load", "constant:36W").address),
        auto_arm=True,
    )
    live = house.control.login(TEAM)
    with busy_database(house):
        assert code_of(house.control.close, 1, "logout") == "storage-failed"
        final = live.meter.sampler.last
        house.control.shutdown()
    house.restart(orderly=False)
    closed = house.control.close(1, "logout")
    assert final is not None
    assert closed.state == RunState.CLOSED
    assert closed.energy_wh == final.energy_wh


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_post_that_cannot_be_stored_is_not_acknowledged_and_the_run_goes_on(
    build: Build,
) -> None:
    house = build(auto_arm=True)
    live = house.control.login(TEAM)
    live.accept(body(3), None, parse_rows)
    with busy_database(house):
        assert code_of(live.accept, body(2), "k", parse_rows) == "storage-failed"
        assert live.received_total == house.store.posts.count_detections(1) == 3
    assert live.accept(body(2), "k", parse_rows).received_total == 5
    assert house.control.close(1, "logout").state is RunState.CLOSED


# Void


def test_a_run_can_be_voided_from_every_state_with_its_reason(build: Build) -> None:
    house = build(station("one"))
    for state in (RunState.ARMED, RunState.OPEN, RunState.CLOSED, RunState.JUDGED):
        run = house.control.arm(TEAM, "one").id
        if state is not RunState.ARMED:
            house.control.login(TEAM).accept(body(2), None, parse_rows)
        if state in (RunState.CLOSED, RunState.JUDGED):
            house.control.close(run, "logout")
        if state is RunState.JUDGED:
            house.store.runs.change(
                run,
                (RunState.CLOSED,),
                state=RunState.JUDGED.value,
            )
        voided = house.control.void(run, f"from {state} \ud800")
        assert voided.state == RunState.VOID
        assert voided.void_reason == f"from {state} ?"
        assert house.store.posts.count_detections(run) == (
            0 if state is RunState.ARMED else 2
        )
        assert code_of(house.control.void, run, "again") == "run-state"
    assert house.store.runs.get(2).energy_wh is not None
    assert code_of(house.control.void, 99, "none") == "run-unknown"


def test_a_void_and_a_login_at_once_leave_no_meter_running(
    build: Build,
    instrument: Any,
    threads: ThreadPoolExecutor,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    for _ in range(4):
        run = house.control.arm(TEAM, "one")
        together = threading.Barrier(2)

        def log_in(together: threading.Barrier = together) -> None:
            together.wait()
            house.control.login(TEAM)

        entering = threads.submit(log_in)
        together.wait()
        house.control.void(run.id, "no")
        error = entering.exception()
        assert error is None or (
            isinstance(error, RefereeError) and error.code == "not-armed"
        )
        assert house.store.runs.get(run.id).state is RunState.VOID
        assert not integrates(meter.address)


# Shutting down


def test_nothing_starts_once_the_server_goes_down(build: Build) -> None:
    house = build(auto_arm=True)
    live = house.control.login(TEAM)
    house.control.shutdown()
    assert live.done.is_set()
    assert code_of(house.control.close, 1, "logout") == "run-state"
    assert code_of(house.control.login, "badgers") in ("station-busy", "shutting-down")
    assert house.store.runs.get(1).state is RunState.OPEN


def test_a_login_that_comes_in_while_the_server_goes_down_leaves_the_run_for_the_next_start(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    house.control.shutdown()
    assert code_of(house.control.login, TEAM) == "shutting-down"
    house.restart()
    assert house.control.login(TEAM).run.id == 1
    assert (house.control.close(1, "logout").energy_wh or 0) > 0


def test_a_run_that_is_being_closed_is_closed_before_the_server_is_down(
    build: Build,
    instrument: Any,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    house = build(station(meter=instrument().address), auto_arm=True)
    live = house.control.login(TEAM)
    signals = house.control.board.signals
    with busy_database(house):  # so that closing takes a while
        closing = threads.submit(house.control.close, 1, "logout")
        until(live.closing.locked)
        going_down = threads.submit(house.control.shutdown)
        until(lambda: house.control.board.signals > signals)
    going_down.result(20)
    assert (closing.result().energy_wh or 0) > 0
