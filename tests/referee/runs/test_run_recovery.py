"""The referee's process ends and another one goes on: nothing acknowledged is lost, the window and the meter go on."""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.meter import IntegratorState
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.judging.judge import judge
from referee.runs import arming
from referee.runs.open_run import OpenRun
from referee.runs.run_control import RunControl
from referee.runs.run_window import remaining_s
from referee.store.event_chain import append_event
from referee.store.records import Run, RunState
from tests.power.conftest import Relay
from tests.referee.factories import TEAM, House, body, parse_rows, station
from tests.referee.runs.observing import kinds
from tests.timeouts import TIMEOUT_S

Build = Callable[..., House]
Until = Callable[[Callable[[], object]], None]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def cable(instrument: Any) -> Iterator[Relay]:
    """The way to a meter of 36 W, to be cut and mended."""
    laid = Relay(int(instrument("--load", "constant:36W").port))
    yield laid
    laid.close()


@pytest.fixture
def hall(build: Build, cable: Relay) -> House:
    return build(station(meter=cable.address), auto_arm=True)


def covers_the_run(run: Run) -> bool:
    assert run.energy_wh is not None
    assert run.elapsed_s is not None
    return 36 * run.elapsed_s <= run.energy_wh * 3600 < 36 * (run.elapsed_s + 3)


def closed_without_meter(
    house: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
) -> Run:
    live = house.control.login(TEAM)
    cable.cut()
    closing = threads.submit(house.control.close, live.run.id, "logout")
    assert live.ending.wait(TIMEOUT_S)
    until(lambda: house.clock.advance(1.0) or closing.done())
    assert closing.result().energy_wh is None
    return closing.result()


@pytest.mark.parametrize("orderly", [True, False])
def test_an_open_run_goes_on_as_if_nothing_had_happened(
    hall: House,
    until: Until,
    orderly: bool,
) -> None:
    before = hall.control.login(TEAM)
    receipt = before.accept(body(3), "k", parse_rows)
    before.serve([(2, 100)])
    until(lambda: hall.store.readings.of_run(1, 0.0))
    hall.clock.advance(100)
    hall.restart(orderly=orderly)
    after = hall.control.live(1)
    assert after is hall.control.login(TEAM) is not before
    assert after.window == before.window
    assert after.run == before.run
    assert after.order.tolist() == before.order.tolist()
    assert 450 < remaining_s(after.window, hall.clock.monotonic_s()) < 500
    assert after.accept(body(3), "k", parse_rows) == receipt
    assert after.accept(body(2), None, parse_rows).received_total == 5
    assert after.served_images == 1
    until(lambda: after.meter.sampler.last is not None)
    assert after.meter.sampler.last is not None
    assert after.meter.sampler.last.state is IntegratorState.START
    readings = len(hall.store.readings.of_run(1, 0.0))
    until(lambda: len(hall.store.readings.of_run(1, 0.0)) > readings)
    hall.clock.added_s = 0.0
    closed = hall.control.close(1, "logout")
    assert covers_the_run(closed)
    assert kinds(hall, 1) == ["armed", "meter-start", "open", "resumed", "closed"]


def test_the_operator_is_told_of_a_window_that_opens_goes_on_and_ends(
    hall: House,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "referee")
    hall.control.login(TEAM)
    hall.clock.advance(100)
    hall.restart()
    closed = hall.control.close(1, "logout")
    told = [
        message
        for message in caplog.messages
        if message.startswith(f"run 1 of {TEAM} ")
    ]
    assert [one.removeprefix(f"run 1 of {TEAM} ").split()[0] for one in told] == [
        "is",
        "is",
        "continues",
        "was",
    ]
    assert told[0].endswith("is armed at one")
    assert told[1].endswith("is open at one for 600 s")
    assert re.search(r" continues at one: (4\d\d|500) s left$", told[2]), told
    assert told[3].endswith(
        f"was closed by logout after {closed.elapsed_s:.3f} s: {closed.energy_wh:.6g} Wh"
    )


def test_a_run_whose_deadline_passed_meanwhile_is_closed_with_its_whole_window(
    hall: House,
    until: Until,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "referee")
    live = hall.control.login(TEAM)
    live.accept(body(3), None, parse_rows)
    hall.abandon()
    hall.clock.advance(5000)
    hall.restart()
    until(lambda: hall.store.runs.get(1).state is RunState.CLOSED)
    (found,) = [
        event for event in hall.store.log.of_run(1) if event["kind"] == "found-over"
    ]
    assert 4400 <= found["ended_s_ago"] < 4500
    assert (
        f"run 1 of {TEAM} had already ended {found['ended_s_ago']:.0f} s ago"
        in caplog.messages
    )
    assert "resumed" not in kinds(hall, 1)
    closed = hall.store.runs.get(1)
    assert closed.closed_by == "deadline"
    assert closed.elapsed_s == 600.0
    assert (closed.energy_wh or 0) > 0
    assert hall.store.posts.count_detections(1) == 3


@pytest.mark.parametrize("boot", ["boot-2", None])
def test_after_a_reboot_the_wall_clock_tells_what_is_left(
    hall: House,
    boot: str | None,
) -> None:
    hall.control.login(TEAM)
    hall.control.shutdown()
    hall.clock.advance(200)
    hall.clock.reboot(boot)
    hall.restart()
    live = hall.control.live(1)
    assert 380 < remaining_s(live.window, hall.clock.monotonic_s()) < 400
    assert live.window.length_s == 600.0


def test_within_one_boot_the_wall_clock_does_not_matter(hall: House) -> None:
    hall.control.login(TEAM)
    hall.control.shutdown()
    hall.clock.set_forward_s = 3600
    hall.restart()
    assert remaining_s(hall.control.live(1).window, hall.clock.monotonic_s()) > 580


def test_a_wall_clock_set_back_over_a_reboot_does_not_lock_the_team_out(
    hall: House,
) -> None:
    hall.control.login(TEAM)
    hall.control.shutdown()
    hall.clock.set_forward_s = -3600
    hall.clock.reboot()
    hall.restart()
    live = hall.control.login(TEAM)
    assert 590 < remaining_s(live.window, hall.clock.monotonic_s()) <= 600
    live.accept(body(3), None, parse_rows)


def test_a_reboot_with_the_clock_behind_gives_no_more_time_and_needs_review(
    hall: House,
    until: Until,
) -> None:
    live = hall.control.login(TEAM)
    hall.clock.advance(580)
    live.accept(body(3), None, parse_rows)
    hall.restart()
    assert "rebooted" not in kinds(hall, 1)
    hall.control.shutdown()
    hall.clock.reboot()
    hall.clock.advance(5)
    hall.clock.set_forward_s = -300
    hall.restart()
    left_s = remaining_s(hall.control.live(1).window, hall.clock.monotonic_s())
    assert 5 < left_s < 15
    hall.clock.set_forward_s = 3000
    hall.restart()  # again within that boot: its monotonic clock tells
    assert (
        0 < remaining_s(hall.control.live(1).window, hall.clock.monotonic_s()) <= left_s
    )
    (event,) = [
        event for event in hall.store.log.of_run(1) if event["kind"] == "rebooted"
    ]
    assert event["recorded_s"] >= 580
    assert event["by_wall_clock_s"] < -200
    assert event["up_s"] >= 5
    hall.control.close(1, "logout")
    judged = judge(hall.contest, 1, hall.clock)
    (check,) = [check for check in judged.checks if check.code == "rebooted"]
    assert check.ok is False
    assert check.severity == "error"
    assert judged.needs_review
    assert check.figures == {
        name: event[name]
        for name in ("recorded_s", "by_wall_clock_s", "up_s", "remaining_s")
    }


def test_the_windows_of_a_heat_stay_equal_over_a_reboot(build: Build) -> None:
    house = build(station("one"), station("two"))
    for team, name in ((TEAM, "one"), ("badgers", "two")):
        house.control.arm(team, name, "final")
    house.control.start("final", absent_too=True)
    house.clock.advance(50)
    house.control.live(1).accept(body(3), None, parse_rows)
    house.abandon()
    house.control.shutdown()
    house.clock.reboot()
    house.clock.set_forward_s = -300
    house.restart()
    one, other = (house.control.live(run).window for run in (1, 2))
    assert one == other
    assert remaining_s(one, house.clock.monotonic_s()) < 551


def test_a_killed_server_knows_every_image_that_it_had_served(hall: House) -> None:
    live = hall.control.login(TEAM)
    for image in (2, 5):
        live.serve([(image, 1000)])
    hall.restart(orderly=False)
    after = hall.control.live(1)
    assert after.served_images == 2
    after.accept(body(1, image=5), None, parse_rows)
    assert hall.store.served.images(1) == [2, 5]
    hall.control.close(1, "logout")
    assert list(hall.folder.glob("served-*")) == []


def test_a_meter_that_is_out_of_reach_at_first_is_sampled_again_and_gives_the_energy(
    hall: House,
    cable: Relay,
    until: Until,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hall.control.login(TEAM)
    cable.cut()
    hall.restart()
    live = hall.control.live(1)
    live.accept(body(3), None, parse_rows)
    until(lambda: "does not answer yet" in caplog.text)
    cable.mend()
    until(lambda: live.meter.sampler.last is not None)
    closed = hall.control.close(1, "logout")
    assert covers_the_run(closed)


def test_a_run_that_was_armed_before_the_restart_is_opened_after_it(
    build: Build,
    cable: Relay,
) -> None:
    house = build(station(meter=cable.address))
    house.control.arm(TEAM, "one")
    house.restart(orderly=False)
    live = house.control.login(TEAM)
    assert live.run.id == 1
    assert covers_the_run(house.control.close(1, "logout"))


def test_an_armed_run_keeps_its_own_window_when_the_configuration_changes(
    build: Build,
    cable: Relay,
) -> None:
    house = build(station(meter=cable.address), window_s=300)
    house.control.arm(TEAM, "one")
    config = house.folder / "contest.toml"
    config.write_text(config.read_text().replace("window_s = 300", "window_s = 600"))
    house.restart()
    live = house.control.login(TEAM)
    assert live.window.length_s == 300.0
    assert live.meter.setup.integrator_timer_s == 300


def test_a_meter_that_comes_back_after_the_close_gives_the_energy_at_the_next_start(
    hall: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    closed = closed_without_meter(hall, cable, threads, until)
    hall.restart()
    assert hall.store.runs.get(1).energy_wh is None
    cable.mend()
    hall.restart()
    found = hall.store.runs.get(1)
    assert (found.energy_wh or 0) > 0
    assert found.state == closed.state
    assert found.elapsed_s == closed.elapsed_s
    assert kinds(hall, 1)[-1] == "energy-read"
    hall.restart()
    assert hall.store.runs.get(1) == found


def test_an_energy_that_is_read_later_is_stored_with_its_event_or_not_at_all(
    hall: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed_without_meter(hall, cable, threads, until)
    cable.mend()

    def fail(
        _: object,
        utc: str,
        run: int,
        kind: str,
        detail: object,
    ) -> bytes:
        if kind == "energy-read":
            raise sqlite3.OperationalError("disk I/O error")
        return append_event(_, utc, run, kind, detail)  # type: ignore[arg-type]

    with monkeypatch.context() as failing:
        for module in ("run_table", "event_table"):
            failing.setattr(f"referee.store.{module}.append_event", fail)
        hall.restart()
    assert hall.store.runs.get(1).energy_wh is None
    hall.restart()
    assert (hall.store.runs.get(1).energy_wh or 0) > 0


def test_a_meter_that_comes_back_after_the_close_is_read_before_it_is_armed_again(
    hall: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    closed_without_meter(hall, cable, threads, until)
    cable.mend()
    second = hall.control.arm("badgers", "one")
    assert (hall.store.runs.get(1).energy_wh or 0) > 0
    assert hall.control.login("badgers").run.id == second.id
    assert covers_the_run(hall.control.close(second.id, "logout"))


def test_a_void_run_whose_meter_was_out_of_reach_does_not_block_its_station(
    hall: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    closed_without_meter(hall, cable, threads, until)
    hall.control.void(1, "cable")
    cable.mend()
    assert hall.control.arm("badgers", "one").state is RunState.ARMED
    assert hall.store.runs.get(1).state is RunState.VOID


def test_the_energy_of_a_later_run_is_not_taken_for_an_earlier_ones(
    hall: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed_without_meter(hall, cable, threads, until)
    monkeypatch.setattr(arming, "read_left_over", lambda *_: True)
    monkeypatch.setattr(arming, "energy_may_be_held", lambda *_: False)
    cable.mend()
    hall.control.login("badgers")
    monkeypatch.undo()
    hall.restart()
    hall.control.close(2, "logout")
    hall.restart()
    assert hall.store.runs.get(1).energy_wh is None
    assert hall.store.runs.get(2).energy_wh is not None


def test_an_open_run_needs_its_station_and_its_test_set(hall: House) -> None:
    hall.control.login(TEAM)
    hall.control.shutdown()
    hall.store.runs.change(1, (RunState.OPEN,), testset_digest="e" * 64)
    hall.restart()
    assert refused_by(hall) == "not-resumed"
    hall.store.runs.change(
        1,
        (RunState.OPEN,),
        testset_digest=hall.contest.test_set.digest,
        station="gone",
    )
    hall.restart()
    assert refused_by(hall) == "not-resumed"
    assert hall.control.void(1, "its station is gone").state is RunState.VOID


def refused_by(house: House) -> str:
    """The last event of run 1, which no server has in its hands."""
    with pytest.raises(RefereeError, match="is closed"):
        house.control.live(1)
    return kinds(house, 1)[-1]


def test_a_run_that_was_ended_is_not_reopened_by_a_crash_before_its_close(
    hall: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    live = hall.control.login(TEAM)
    live.accept(body(3), None, parse_rows)
    cable.cut()
    closing = threads.submit(hall.control.close, 1, "logout")
    until(lambda: hall.store.runs.get(1).closed_by)
    ended = hall.store.runs.get(1)
    assert ended.state is RunState.OPEN
    until(lambda: hall.clock.advance(1.0) or closing.done())
    closing.result()
    # As the crash had left it.
    hall.store.runs.change(
        1,
        (RunState.CLOSED,),
        state=RunState.OPEN.value,
    )
    cable.mend()
    hall.restart(orderly=False)
    with pytest.raises(RefereeError, match="is closed"):
        hall.control.live(1).accept(body(3), None, parse_rows)
    until(lambda: hall.store.runs.get(1).state is RunState.CLOSED)
    closed = hall.store.runs.get(1)
    assert closed.closed_by == "logout"
    assert closed.elapsed_s == ended.elapsed_s
    assert (closed.energy_wh or 0) > 0


def test_a_run_judged_without_energy_waits_for_judgement_again_once_it_is_read(
    hall: House,
    cable: Relay,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    closed_without_meter(hall, cable, threads, until)
    hall.store.runs.change(1, (RunState.CLOSED,), state=RunState.JUDGED.value)
    cable.mend()
    hall.restart()
    found = hall.store.runs.get(1)
    assert (found.energy_wh or 0) > 0
    assert found.state is RunState.CLOSED


SERVER = """
import sys
from pathlib import Path
from referee.clock import Clock
from referee.contest import open_contest
from referee.runs.run_control import RunControl
from tests.referee.factories import TEAM, body, parse_rows
with open_contest(Path(sys.argv[1])) as contest:
    live = RunControl(contest, Clock()).login(TEAM)
    for number in range(1_000_000):
        print(live.accept(body(1 + number % 3), f"key {number}", parse_rows).received_total, flush=True)
"""


def test_a_killed_process_loses_nothing_that_it_acknowledged(
    hall: House,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    hall.control.shutdown()
    command = [sys.executable, "-c", SERVER, str(hall.folder)]
    server = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert server.stdout is not None
    acknowledged = [server.stdout.readline() for _ in range(200)]
    server.send_signal(signal.SIGKILL)
    acknowledged += [
        line
        for line in server.stdout.read().splitlines(keepends=True)
        if line.endswith("\n")
    ]
    server.wait()
    server.stdout.close()
    with open_contest(hall.folder) as contest:
        control = RunControl(contest, live_clock := type(hall.clock)())
        live_clock.boot = contest.store.runs.get(1).boot_id
        control.recover()
        live: OpenRun = control.login(TEAM)
        total = int(acknowledged[-1])
        # One body may have been committed whose receipt was on its way.
        assert (
            total
            <= live.received_total
            == len(contest.store.posts.detections(1))
            <= total + 3
        )
        last = len(acknowledged) - 1
        again = live.accept(body(1 + last % 3), f"key {last}", parse_rows)
        assert again.received_total == total
        assert covers_the_run(control.close(1, "logout"))
        control.shutdown()


FORM_7 = Path(__file__).parents[1] / "store" / "contest_form_7.sql"
REASONS = {
    3: "The meter gives nan Wh in 12.0 s. The meter keeps it until its reset; it is read at the server's next start "
    "or the station's next arming.",
    4: "The meter's integrator was reset or the meter switched off after the run had started.",
    5: "The meter's integrator began anew after the run (0.0061 Wh in 12 s, then 0.0001 Wh in 3 s).",
}


def test_a_contest_folder_of_form_7_goes_on_as_before(build: Build) -> None:
    house = build(*(station(f"s{run}") for run in REASONS))
    house.control.shutdown()
    house.store.close()
    (path := house.folder / "contest.db").unlink()
    shutil.rmtree(house.folder / "journal")
    with contextlib.closing(sqlite3.connect(path)) as old:
        old.executescript(
            FORM_7.read_text(encoding="utf-8").replace(
                "d" * 64,
                house.contest.test_set.digest,
            )
        )
    with open_contest(house.folder) as contest:
        for run, reason in REASONS.items():
            check = judge(contest, run, house.clock).checks[0]
            assert check.code == "energy-measured"
            assert check.ok is False
            assert check.sentence.endswith(reason)
    house.restart()
    # Only the meter that may still hold its run's energy is asked again; it is another one.
    assert [kinds(house, run).count("energy-missing") for run in REASONS] == [2, 1, 1]
    assert "Another meter answers" in house.store.log.of_run(3)[-1]["reason"]
    assert house.control.arm(TEAM, "s4").id == 6
