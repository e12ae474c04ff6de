from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from power.errors import MeterError
from power.meter import IntegratorState, Setup
from power.sampling.sampler import Sampler
from power.visa.link import Link
from referee.errors import RefereeError
from referee.runs import control as runs_module
from referee.runs.window import Phase, phase_at
from referee.store.records import RunState
from tests.referee.factories import TEAM, House, body, parse_rows, station

Build = Callable[..., House]
Until = Callable[[Callable[[], object]], None]


def code_of(action: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises((RefereeError, MeterError)) as failure:
        action(*arguments)
    return failure.value.code


def kinds(house: House, run: int) -> list[str]:
    return [event["kind"] for event in house.store.events(run)]


def integrator(address: str, clock: Any) -> IntegratorState:
    """What the meter at `address` says to somebody else who looks."""
    look = Sampler(address, Setup(None, None, 0.1, 600), lambda _: None, clock.monotonic_s, clock.utc)
    try:
        look.resume()
        deadline_s = time.monotonic() + 20
        while look.last is None:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        return look.last.state
    finally:
        look.close()


def impatient(house: House) -> None:
    house.store._connection.execute("PRAGMA busy_timeout = 20")


def blocker(house: House) -> sqlite3.Connection:
    other = sqlite3.connect(house.folder / "contest.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


# Arming


def test_arming_sets_up_the_meter_and_fixes_the_order(build: Build) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    assert (run.state, run.team, run.images, run.window_s) == (RunState.ARMED, TEAM, 5, 600.0)
    assert (run.meter_identity or "").startswith("YOKOGAWA WT310 ")
    assert sorted(house.store.image_order(run.id).tolist()) == [1, 2, 3, 4, 5]
    assert kinds(house, run.id) == ["armed"]


def test_arming_fixes_how_the_meter_measures(build: Build) -> None:
    house = build(station(voltage_range_v=300, current_range_a=0.5, line_filter=True))
    run = house.control.arm(TEAM, "one")
    assert run.setup == Setup(300.0, 0.5, 0.1, 600, line_filter=True)
    assert run.idle_power_w is None
    assert not run.official


def test_arming_measures_the_idle_board_if_it_is_wanted(build: Build) -> None:
    house = build(idle_baseline_s=0.5)
    run = house.control.arm(TEAM, "one")
    assert run.idle_power_w == pytest.approx(36.0)
    assert house.store.run(run.id).idle_power_w == run.idle_power_w


def test_a_range_the_meter_does_not_have_is_told_at_arming(build: Build) -> None:
    house = build(station(current_range_a=0.3))
    assert code_of(house.control.arm, TEAM, "one") == "meter-range"
    assert house.store.runs() == []


def test_arming_needs_a_team_and_a_station_that_exist_and_are_free(build: Build) -> None:
    house = build(station("one"), station("two"))
    assert code_of(house.control.arm, "nobody", "one") == "team-unknown"
    assert code_of(house.control.arm, "\ud800", "one") == "team-unknown"
    assert code_of(house.control.arm, TEAM, "three") == "station-unknown"
    house.control.arm(TEAM, "one")
    assert code_of(house.control.arm, "badgers", "one") == "station-busy"
    assert code_of(house.control.arm, TEAM, "two") == "team-busy"


def test_of_concurrent_arms_of_one_team_at_two_stations_one_wins(
    build: Build, threads: ThreadPoolExecutor
) -> None:
    house = build(station("one"), station("two"))
    tries = [threads.submit(house.control.arm, TEAM, name) for name in ("one", "two")]
    failures = [one.exception() for one in tries]
    assert [error.code for error in failures if isinstance(error, RefereeError)] == ["team-busy"]
    assert len(house.store.runs(RunState.ARMED)) == 1


def test_a_dead_meter_arms_nothing(build: Build, instrument: Any) -> None:
    meter = instrument()
    meter.die()
    house = build(station(meter=meter.address))
    assert code_of(house.control.arm, TEAM, "one") == "meter-unreachable"
    assert house.store.runs() == []


def test_a_meter_that_integrates_for_somebody_else_is_left_alone(build: Build, instrument: Any) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    other = Sampler(
        meter.address, Setup(None, None, 0.1, 600), lambda _: None, time.monotonic, house.clock.utc
    )
    other.arm()
    other.start()
    assert code_of(house.control.arm, TEAM, "one") == "meter-busy"
    assert integrator(meter.address, house.clock) is IntegratorState.START
    other.close()


# Logging in


def test_the_window_opens_only_after_the_meter_says_that_it_integrates(build: Build, until: Until) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    before_s = house.clock.monotonic_s()
    live = house.control.login(TEAM)
    after_s = house.clock.monotonic_s()
    assert live.run.id == run.id
    assert live.run.state is house.store.run(run.id).state is RunState.OPEN
    assert before_s < live.window.start_s < after_s
    until(lambda: len(house.store.readings(run.id, 0.0)) >= 3)
    assert all(one.state is IntegratorState.START for one in house.store.readings(run.id, 0.0))
    # Integrating is confirmed before the start: what the meter has counted is never less than the window.
    assert kinds(house, run.id) == ["armed", "meter-start", "open"]


def test_a_second_login_gives_the_same_run_and_does_not_restart_the_clock(build: Build) -> None:
    house = build()
    house.control.arm(TEAM, "one")
    first = house.control.login(TEAM)
    window = first.window
    house.clock.advance(100)
    assert house.control.login(TEAM) is first
    assert first.window == window
    assert kinds(house, first.run.id).count("meter-start") == 1


def test_concurrent_logins_start_the_meter_once(build: Build, threads: ThreadPoolExecutor) -> None:
    house = build(auto_arm=True)
    lives = [threads.submit(house.control.login, TEAM) for _ in range(8)]
    assert len({id(one.result()) for one in lives}) == 1
    assert kinds(house, 1).count("meter-start") == 1
    assert len(house.store.runs()) == 1


def test_a_login_without_an_armed_run_is_refused(build: Build) -> None:
    assert code_of(build().control.login, TEAM) == "not-armed"


def test_logins_arm_free_stations_by_themselves_until_all_are_in_use(build: Build) -> None:
    house = build(station("one"), station("two"), auto_arm=True)
    house.store.add_team("late", "no hash", house.clock.utc())
    found = [house.control.login(team).run.station for team in (TEAM, "badgers")]
    assert found == ["one", "two"]
    assert code_of(house.control.login, "late") == "station-busy"
    house.control.close(1, "logout")
    assert house.control.login("late").run.station == "one"


def test_teams_at_other_stations_are_independent(
    build: Build, instrument: Any, threads: ThreadPoolExecutor
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
    build: Build, instrument: Any
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    meter.die()
    for _ in range(2):
        assert code_of(house.control.login, TEAM) == "meter-unreachable"
    assert house.store.run(run.id).state is RunState.ARMED
    assert code_of(house.control.live, run.id) == "window-closed"
    instrument("--port", meter.port)
    live = house.control.login(TEAM)
    assert (live.run.id, live.run.state) == (run.id, RunState.OPEN)
    assert "meter-failed" in kinds(house, run.id)


def test_the_meter_that_is_started_is_the_one_on_record(build: Build, instrument: Any) -> None:
    meter = instrument("--serial", "OLD")
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    assert " OLD " in (run.meter_identity or "")
    meter.die()
    instrument("--port", meter.port, "--serial", "NEW")
    assert " NEW " in (house.control.login(TEAM).run.meter_identity or "")
    assert (house.control.close(run.id, "logout").energy_wh or 0) > 0


def test_a_storage_failure_at_the_start_leaves_the_run_armed_and_the_next_login_opens_it(
    build: Build, instrument: Any
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    impatient(house)
    other = blocker(house)
    assert code_of(house.control.login, TEAM) == "storage-failed"
    other.close()
    assert house.store.run(run.id).state is RunState.ARMED
    assert house.control.login(TEAM).run.id == run.id


def test_a_start_that_nobody_lived_to_record_is_taken_over(build: Build, instrument: Any) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    house.control._meters.started(run).close()  # and then the process dies
    assert integrator(meter.address, house.clock) is IntegratorState.START
    house.restart(orderly=False)
    assert house.control.login(TEAM).run.id == run.id
    closed = house.control.close(run.id, "logout")
    assert closed.integrator_s is not None
    assert closed.integrator_s <= (closed.elapsed_s or 0.0) + 2


def test_a_void_of_such_a_run_leaves_the_station_usable(build: Build, instrument: Any) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    house.control._meters.started(run).close()
    house.control.void(run.id, "the board burnt")
    assert integrator(meter.address, house.clock) is IntegratorState.START
    assert house.control.arm("badgers", "one").state is RunState.ARMED


def test_a_test_set_that_was_exchanged_after_arming_opens_no_window(build: Build, small_set: Any) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    house.store.change_run(run.id, (RunState.ARMED,), testset_digest="e" * 64)
    assert code_of(house.control.login, TEAM) == "testset-changed"
    assert house.store.run(run.id).state is RunState.ARMED


# Closing


def test_a_logout_stops_the_meter_and_reads_the_energy(build: Build, instrument: Any) -> None:
    meter = instrument("--load", "constant:36W")
    house = build(station(meter=meter.address))
    house.control.arm(TEAM, "one")
    live = house.control.login(TEAM)
    live.accept(body(4), None, parse_rows)
    closed = house.control.close(live.run.id, "logout")
    assert (closed.state, closed.closed_by) == (RunState.CLOSED, "logout")
    assert closed.elapsed_s is not None
    assert closed.energy_wh is not None
    assert 36 * closed.elapsed_s <= closed.energy_wh * 3600 < 36 * (closed.elapsed_s + 2)
    assert integrator(meter.address, house.clock) is IntegratorState.STOP
    assert kinds(house, live.run.id)[-1] == "closed"
    assert code_of(house.control.live, live.run.id) == "window-closed"
    assert code_of(live.accept, body(1), None, parse_rows) == "window-closed"
    assert house.control.close(live.run.id, "operator") == closed


def test_the_meter_shows_the_energy_until_it_is_needed_and_then_has_its_settings_back(
    build: Build, instrument: Any
) -> None:
    meter = instrument("--load", "constant:36W")
    house = build(station(meter=meter.address, voltage_range_v=300, current_range_a=0.5, mode="dc"))
    asked = ":COMMUNICATE:HEADER?;:INPUT:VOLTAGE:RANGE?;:INPUT:MODE?;:INTEGRATE:TIMER?"
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INPUT:VOLTAGE:RANGE 600V")  # a meter that ranges by itself may do so at any moment
        before = panel.query(asked)
        house.control.arm(TEAM, "one")
        assert panel.query(asked) == "0;300.0E+00;DC;0,10,0"
        closed = house.control.close(house.control.login(TEAM).run.id, "logout")
        assert closed.meter_changes == ()
        assert float(panel.query(":NUMERIC:VALUE? 6")) == closed.energy_wh
        house.control.shutdown()
        assert panel.query(asked) == before


@pytest.mark.parametrize(("ending", "step"), [("close", "retire"), ("void", "forget")])
def test_a_station_that_is_free_on_record_is_armed_only_once_its_meter_is_put_aside(
    build: Build, monkeypatch: pytest.MonkeyPatch, ending: str, step: str
) -> None:
    house = build()
    run = house.control.arm(TEAM, "one").id
    if ending == "close":
        house.control.login(TEAM)
    put_aside = getattr(house.control._meters, step)
    seen = []

    def watched(*arguments: Any) -> None:
        seen.append((house.store.run(run).state, house.control._turns.of("station one").locked()))
        put_aside(*arguments)

    monkeypatch.setattr(house.control._meters, step, watched)
    getattr(house.control, ending)(run, "operator")
    assert seen == [(house.store.run(run).state, True)]
    assert house.control.arm(TEAM, "one").id == run + 1


def test_what_starting_and_stopping_took_is_on_record(build: Build, until: Until) -> None:
    house = build(window_s=60, auto_arm=True)
    told = []
    for closed_by in ("logout", "deadline"):
        live = house.control.login(TEAM)
        if closed_by == "deadline":
            house.clock.advance(64.0)  # the host was busy, but the meter's timer ended the integral
            until(live.done.is_set)
        else:
            house.control.close(live.run.id, closed_by)
        told.append(house.store.events(live.run.id)[-1]["start_stop_s"])
    assert all(0 < start_stop_s < 4 for start_stop_s in told)


def test_settings_that_changed_in_mid_run_are_kept_with_it(build: Build, instrument: Any) -> None:
    meter = instrument()
    house = build(station(meter=meter.address, current_range_a=0.5))
    house.control.arm(TEAM, "one")
    live = house.control.login(TEAM)
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INPUT:CURRENT:RANGE 20")
        assert panel.query("*OPC?") == "1"
    closed = house.control.close(live.run.id, "logout")
    assert closed.meter_changes is not None
    assert any("CURRENT:RANGE" in change for change in closed.meter_changes)
    assert (closed.energy_wh or 0) > 0


def test_the_deadline_closes_by_itself_with_the_whole_window(build: Build, until: Until) -> None:
    house = build(window_s=60)
    house.control.arm(TEAM, "one")
    live = house.control.login(TEAM)
    live.accept(body(4), None, parse_rows)
    house.clock.advance(59)
    assert phase_at(live.window, house.clock.monotonic_s()) is Phase.OPEN
    assert not live.ending.is_set()
    house.clock.advance(1)
    until(live.done.is_set)
    closed = house.store.run(live.run.id)
    assert (closed.state, closed.closed_by, closed.elapsed_s) == (RunState.CLOSED, "deadline", 60.0)
    assert closed.energy_wh is not None


def test_of_many_closers_the_first_counts_and_all_see_it_closed(
    build: Build, threads: ThreadPoolExecutor
) -> None:
    house = build(auto_arm=True, window_s=60)
    live = house.control.login(TEAM)
    closers = [threads.submit(house.control.close, 1, f"closer {n}") for n in range(8)]
    house.clock.advance(60)
    assert len({one.result() for one in closers}) == 1
    assert house.store.run(1).closed_by == live.closed_by
    assert kinds(house, 1).count("closed") == 1


def test_posts_that_race_with_the_deadline_are_in_the_database_exactly_if_acknowledged(
    build: Build, threads: ThreadPoolExecutor, until: Until
) -> None:
    house = build(auto_arm=True)
    live = house.control.login(TEAM)

    def post(number: int) -> int:
        acknowledged = 0
        with pytest.raises(RefereeError, match="is closed"):  # noqa: PT012 - until it is refused
            while True:
                acknowledged += live.accept(body(1 + number % 4), None, parse_rows).row_count
        return acknowledged

    posting = [threads.submit(post, number) for number in range(8)]
    until(lambda: live.received_total > 100)
    house.clock.advance(600)
    acknowledged = sum(one.result() for one in posting)
    until(live.done.is_set)
    assert house.store.count_detections(1) == acknowledged == live.received_total


def test_a_login_while_the_former_run_is_being_closed_waits_for_it_and_opens_the_next(
    build: Build, threads: ThreadPoolExecutor
) -> None:
    house = build(auto_arm=True)
    first = house.control.login(TEAM)
    closing = threads.submit(house.control.close, first.run.id, "logout")
    assert first.ending.wait(20)
    second = house.control.login(TEAM)
    assert closing.result().state is RunState.CLOSED
    assert second.run.id != first.run.id


def test_a_run_that_is_not_open_cannot_be_closed(build: Build) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    assert code_of(house.control.close, run.id, "operator") == "run-state"
    assert code_of(house.control.close, 99, "operator") == "run-unknown"


def test_a_close_that_cannot_be_stored_is_tried_again_and_keeps_its_end(
    build: Build, threads: ThreadPoolExecutor, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "CLOSING_PATIENCE_S", 0.1)
    house = build(auto_arm=True)
    live = house.control.login(TEAM)
    live.accept(body(4), None, parse_rows)
    impatient(house)
    other = blocker(house)
    assert code_of(house.control.close, 1, "logout") == "storage-failed"
    ended_s = live.window.end_s
    assert house.store.run(1).state is RunState.OPEN
    assert code_of(live.accept, body(1), None, parse_rows) == "window-closed"
    assert code_of(house.control.login, TEAM) == "window-closed"  # not locked out for good, and no second run
    other.close()
    until(live.done.is_set)
    closed = house.store.run(1)
    assert (closed.state, closed.closed_by) == (RunState.CLOSED, "logout")
    assert closed.elapsed_s == ended_s - live.window.start_s
    assert closed.energy_wh is not None
    assert house.control.login(TEAM).run.id == 2


def test_a_close_that_fails_after_it_was_stored_is_still_carried_through(
    build: Build, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "CLOSE_RETRY_S", 0.01)
    house, failures = build(auto_arm=True), [OSError("once"), OSError("twice")]
    live = house.control.login(TEAM)
    retire = house.control._meters.retire

    def fail(*given: Any) -> None:
        if failures:
            raise failures.pop()
        retire(*given)

    monkeypatch.setattr(house.control._meters, "retire", fail)
    with pytest.raises(OSError, match="twice"):
        house.control.close(1, "logout")
    until(live.done.is_set)
    assert [event["kind"] for event in house.store.events(1)].count("closed") == 1
    assert house.control.login(TEAM).run.id == 2


def test_an_energy_that_was_read_but_not_stored_is_still_in_the_meter_after_the_servers_end(
    build: Build, instrument: Any
) -> None:
    house = build(station(meter=instrument("--load", "constant:36W").address), auto_arm=True)
    live = house.control.login(TEAM)
    impatient(house)
    other = blocker(house)
    assert code_of(house.control.close, 1, "logout") == "storage-failed"
    final = live.meter.sampler.last
    house.control.shutdown()
    other.close()
    house.restart(orderly=False)
    closed = house.control.close(1, "logout")
    assert final is not None
    assert (closed.state, closed.energy_wh) == (RunState.CLOSED, final.energy_wh)


def test_a_post_that_cannot_be_stored_is_not_acknowledged_and_the_run_goes_on(build: Build) -> None:
    house = build(auto_arm=True)
    live = house.control.login(TEAM)
    live.accept(body(3), None, parse_rows)
    impatient(house)
    other = blocker(house)
    assert code_of(live.accept, body(2), "k", parse_rows) == "storage-failed"
    assert live.received_total == house.store.count_detections(1) == 3
    other.close()
    assert live.accept(body(2), "k", parse_rows).received_total == 5
    assert house.control.close(1, "logout").state is RunState.CLOSED


# Without the meter


def test_a_meter_that_is_gone_at_the_end_leaves_the_run_closed_without_energy(
    build: Build, instrument: Any, threads: ThreadPoolExecutor, until: Until
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    meter.die()
    until(lambda: live.meter.sampler.link_error is not None)
    closing = threads.submit(house.control.close, 1, "logout")
    assert live.ending.wait(20)
    until(lambda: house.clock.advance(1.0) or closing.done())  # the patience of Sampler.stop is ten seconds
    closed = closing.result()
    assert (closed.state, closed.energy_wh, closed.integrator_s) == (RunState.CLOSED, None, None)
    assert closed.elapsed_s == live.window.end_s - live.window.start_s
    assert kinds(house, 1)[-2:] == ["energy-missing", "closed"]
    assert house.store.events(1)[-1]["start_stop_s"] is None


def test_another_meters_energy_is_not_taken_for_the_runs(build: Build, instrument: Any, until: Until) -> None:
    meter = instrument("--serial", "OLD")
    house = build(station(meter=meter.address), auto_arm=True)
    house.control.login(TEAM)
    house.control.shutdown()
    meter.die()
    instrument("--port", meter.port, "--serial", "NEW")
    house.restart()
    closed = house.control.close(1, "operator")
    assert closed.energy_wh is None
    (reason,) = [event["reason"] for event in house.store.events(1) if event["kind"] == "energy-missing"]
    assert "Another meter answers" in reason


def test_a_meter_that_was_switched_off_has_no_energy(build: Build, instrument: Any, until: Until) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    meter.die()
    instrument("--port", meter.port)
    until(
        lambda: live.meter.sampler.last is not None and live.meter.sampler.last.state is IntegratorState.RESET
    )
    assert house.control.close(1, "operator").energy_wh is None
    (reason,) = [event["reason"] for event in house.store.events(1) if event["kind"] == "energy-missing"]
    assert "reset or the meter switched off" in reason


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
            house.store.change_run(run, (RunState.CLOSED,), state=RunState.JUDGED.value)
        voided = house.control.void(run, f"from {state} \ud800")
        assert (voided.state, voided.void_reason) == (RunState.VOID, f"from {state} ?")
        assert house.store.count_detections(run) == (0 if state is RunState.ARMED else 2)
        assert kinds(house, run)[-1] == "void"
        assert code_of(house.control.void, run, "again") == "run-state"
    assert house.store.run(2).energy_wh is not None
    assert code_of(house.control.void, 99, "none") == "run-unknown"


def test_a_void_and_a_login_at_once_leave_no_meter_running(
    build: Build, instrument: Any, threads: ThreadPoolExecutor
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
        assert error is None or (isinstance(error, RefereeError) and error.code == "not-armed")
        assert house.store.run(run.id).state is RunState.VOID
        assert integrator(meter.address, house.clock) is not IntegratorState.START


# Shutting down


def test_nothing_starts_once_the_server_goes_down(build: Build) -> None:
    house = build(auto_arm=True)
    live = house.control.login(TEAM)
    house.control.shutdown()
    assert live.done.is_set()
    assert code_of(house.control.close, 1, "logout") == "run-state"
    assert code_of(house.control.login, "badgers") in ("station-busy", "shutting-down")
    assert house.store.run(1).state is RunState.OPEN


def test_a_login_that_comes_in_while_the_server_goes_down_leaves_the_run_for_the_next_start(
    build: Build, instrument: Any
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    house.control.shutdown()
    assert code_of(house.control.login, TEAM) == "shutting-down"
    house.restart()
    assert house.control.login(TEAM).run.id == 1
    assert (house.control.close(1, "logout").energy_wh or 0) > 0


def test_a_run_that_is_being_closed_is_closed_before_the_server_is_down(
    build: Build, instrument: Any, threads: ThreadPoolExecutor
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address), auto_arm=True)
    live = house.control.login(TEAM)
    with live.meter.sampler._link_lock:  # the meter is slow to answer
        closing = threads.submit(house.control.close, 1, "logout")
        assert live.ending.wait(20)
        while not live.closing.locked():
            pass
        going_down = threads.submit(house.control.shutdown)
        while not house.control._is_down:
            pass
    going_down.result(20)
    assert (closing.result().energy_wh or 0) > 0
