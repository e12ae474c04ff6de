"""Arming: by the operator, and by a log-in at the first free station that accepts its address."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_power.meter import Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.vxi11 import Vxi11Server
from lpirc_power.visa.link import Link
from lpirc_testsets import read_ground_truth
from referee.backup.contest_copy import back_up, restore
from referee.contest import open_contest
from referee.errors import NotArmed, RefereeError
from referee.judging.judge import judge
from referee.judging.run_checks import measured_run
from referee.judging.run_figures import figures_of
from referee.runs.open_run import OpenRun
from referee.runs.run_control import RunControl
from referee.store.records import Run, RunState
from tests.referee.factories import TEAM, House, station
from tests.referee.runs.observing import code_of, kinds

Build = Callable[..., House]
Until = Callable[[Callable[[], object]], None]
LEFT = "192.168.1.20"
RIGHT = "192.168.2.20"


def test_arming_sets_up_the_meter_and_fixes_the_order(build: Build) -> None:
    house = build()
    run = house.control.arm(TEAM, "one")
    assert run.state == RunState.ARMED
    assert run.team == TEAM
    assert run.images == 5
    assert run.window_s == 600.0
    assert (run.meter_identity or "").startswith("YOKOGAWA WT310 ")
    assert sorted(house.store.runs.image_order(run.id).tolist()) == [1, 2, 3, 4, 5]
    assert kinds(house, run.id) == ["armed"]


def test_arming_fixes_how_the_meter_measures(build: Build) -> None:
    house = build(
        station(
            voltage_range_v=300,
            current_range_a=0.5,
            line_filter=True,
        )
    )
    run = house.control.arm(TEAM, "one")
    assert run.setup == Setup(300.0, 0.5, 0.1, 600, line_filter=True)
    assert run.idle_power_w is None
    assert not run.official


@contextlib.contextmanager
def served_meter() -> Any:
    load = parse_load("constant:36W", time.monotonic)
    server = Vxi11Server(Instrument(load, time.monotonic), "127.0.0.1", 0)
    with contextlib.closing(server):
        yield f"TCPIP::127.0.0.1,{server.port}::INSTR", server.instrument


@pytest.mark.parametrize(("max_age_min", "zeros"), [(60.0, 1), (1e-6, 2), (0.0, 0)])
def test_arming_compensates_an_old_zero_level_and_the_run_says_how_old_it_is(
    build: Build,
    max_age_min: float,
    zeros: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        served_meter() as (address, _instrument),
        caplog.at_level("DEBUG", "lpirc_power.visa.link"),
    ):
        house = build(station(meter=address, zero_max_age_min=max_age_min))
        for _ in range(2):
            run = house.control.arm(TEAM, "one")
            armed = next(
                one for one in house.store.log.of_run(run.id) if one["kind"] == "armed"
            )
            house.control.void(run.id, "again")
    assert sum("> *CAL?" in line for line in caplog.messages) == zeros
    assert (armed["zero_age_s"] is not None) == (zeros > 0)
    assert armed["zero_error"] is None


def test_voiding_a_run_that_a_killed_process_had_armed_gives_the_keys_back(
    build: Build,
    instrument: Any,
) -> None:
    def lockout() -> str:
        with contextlib.closing(Link(meter.address)) as panel:
            return panel.query(":COMMUNICATE:HEADER OFF;LOCKOUT?")

    meter = instrument()
    house = build(station(meter=meter.address))
    run = house.control.arm(TEAM, "one")
    house.restart(orderly=False)
    assert lockout() == "1", "it is armed, and its keys stay locked"
    house.control.void(run.id, "it was killed")
    assert lockout() == "0"


def test_a_meter_that_cannot_compensate_its_zero_level_is_used_and_the_run_says_so(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with served_meter() as (address, instrument):
        execute = instrument.execute
        monkeypatch.setattr(
            instrument,
            "execute",
            lambda message: "1" if message == "*CAL?" else execute(message),
        )
        house = build(station(meter=address))
        run = house.control.arm(TEAM, "one")
        (armed,) = (
            one for one in house.store.log.of_run(run.id) if one["kind"] == "armed"
        )
    assert armed["zero_age_s"] is None
    assert "could not compensate its zero level" in armed["zero_error"]


@pytest.mark.parametrize(
    ("allowed", "counts"),
    [
        (False, Standing.LOOPBACK),
        (True, Standing.LOOPBACK_ALLOWED),
    ],
)
def test_a_real_meters_answers_over_loopback_count_only_by_the_operators_word(
    build: Build,
    allowed: bool,
    counts: Standing,
) -> None:
    # It answers as a real meter does; nothing but its address shows that it is none.
    load = parse_load("constant:36W", time.monotonic)
    answering = Instrument(load, time.monotonic, serial="C2PH13047V")
    with contextlib.closing(Vxi11Server(answering, "127.0.0.1", 0)) as peer:
        house = build(station(meter=peer.address, loopback_meter=allowed))
        run = house.store.runs.get(house.control.arm(TEAM, "one").id)
        assert run.meter_identity == "YOKOGAWA WT310 C2PH13047V F1.03"
        assert run.meter_standing == counts
        assert run.official == counts.official
        assert house.store.log.of_run(run.id)[0]["standing"] == counts
        house.control.login(TEAM)
        house.control.close(run.id, "operator")
    measured = measured_run(house.store.runs.get(run.id), [], 0.0, limits=None)
    told = next(check for check in measured.checks if check.code == "official-meter")
    assert told.ok is allowed
    assert counts.reason() in told.sentence
    assert "loopback_meter = true" in told.sentence


def test_a_simulated_meter_is_on_record_as_one_whatever_the_operator_says(
    build: Build,
) -> None:
    run = build(station(loopback_meter=True)).control.arm(TEAM, "one")
    assert run.meter_standing == Standing.SIMULATED
    assert run.official is False


def test_a_meter_that_is_exchanged_after_arming_counts_as_what_it_is(
    build: Build,
    instrument: Any,
) -> None:
    load = parse_load("constant:36W", time.monotonic)
    answering = Instrument(load, time.monotonic, serial="C2PH13047V")
    with contextlib.closing(Vxi11Server(answering, "127.0.0.1", 0)) as peer:
        house = build(station(meter=peer.address, loopback_meter=True))
        assert house.control.arm(TEAM, "one").official
    instrument("--port", str(peer.port))
    run = house.control.login(TEAM).run
    assert run.meter_identity == "YOKOGAWA WT310 SIMULATED F1.03"
    assert run.meter_standing == Standing.SIMULATED
    assert house.store.runs.get(run.id).official is False


def test_arming_measures_the_idle_board_if_it_is_wanted(build: Build) -> None:
    house = build(idle_baseline_s=0.5)
    run = house.control.arm(TEAM, "one")
    assert run.idle_power_w == pytest.approx(36.0)
    assert house.store.runs.get(run.id).idle_power_w == run.idle_power_w


def test_a_range_the_meter_does_not_have_is_told_at_arming(build: Build) -> None:
    house = build(station(current_range_a=0.3))
    assert code_of(house.control.arm, TEAM, "one") == "meter-range"
    assert house.store.runs.find() == []


def test_arming_needs_a_team_and_a_station_that_exist_and_are_free(
    build: Build,
) -> None:
    house = build(station("one"), station("two"))
    assert code_of(house.control.arm, "nobody", "one") == "team-unknown"
    assert code_of(house.control.arm, "\ud800", "one") == "team-unknown"
    assert code_of(house.control.arm, TEAM, "three") == "station-unknown"
    house.control.arm(TEAM, "one")
    assert code_of(house.control.arm, "badgers", "one") == "station-busy"
    assert code_of(house.control.arm, TEAM, "two") == "team-busy"


def test_of_concurrent_arms_of_one_team_at_two_stations_one_wins(
    build: Build,
    threads: ThreadPoolExecutor,
) -> None:
    house = build(station("one"), station("two"))
    tries = [threads.submit(house.control.arm, TEAM, name) for name in ("one", "two")]
    failures = [one.exception() for one in tries]
    assert [error.code for error in failures if isinstance(error, RefereeError)] == [
        "team-busy"
    ]
    assert len(house.store.runs.find(RunState.ARMED)) == 1


def test_a_dead_meter_arms_nothing(build: Build, instrument: Any) -> None:
    meter = instrument()
    meter.die()
    house = build(station(meter=meter.address))
    assert code_of(house.control.arm, TEAM, "one") == "meter-unreachable"
    assert house.store.runs.find() == []


def test_a_meter_that_integrates_for_someone_else_is_left_alone(
    build: Build,
    instrument: Any,
) -> None:
    meter = instrument()
    house = build(station(meter=meter.address))
    with contextlib.closing(Link(meter.address)) as panel:
        panel.write(":INTEGRATE:START")
        assert code_of(house.control.arm, TEAM, "one") == "meter-busy"
        assert "STAR" in panel.query(":INTEGRATE:STATE?")


# At a log-in


def test_a_login_without_an_armed_run_is_refused(build: Build) -> None:
    assert code_of(build().control.login, TEAM) == "not-armed"


def test_logins_arm_free_stations_by_themselves_until_all_are_in_use(
    build: Build,
) -> None:
    house = build(station("one"), station("two"), auto_arm=True)
    house.store.teams.add("late", "no hash", house.clock.utc())
    found = [house.control.login(team).run.station for team in (TEAM, "badgers")]
    assert found == ["one", "two"]
    assert code_of(house.control.login, "late") == "station-busy"
    house.control.close(1, "logout")
    assert house.control.login("late").run.station == "one"


def gated(build: Build, **keys: object) -> House:
    """A station for each of two networks."""
    return build(
        station("one", clients=["192.168.1.0/24"]),
        station("two", clients=["192.168.2.0/24"]),
        **keys,
    )


def test_a_dead_meter_at_the_first_free_station_is_passed_over(
    build: Build,
    instrument: Any,
) -> None:
    dead = instrument()
    dead.die()
    house = build(station("one", dead.address), station("two"), auto_arm=True)
    live = house.control.login(TEAM)
    assert live.run.station == "two"
    (event,) = [
        one
        for one in house.store.log.of_run(live.run.id)
        if one["kind"] == "station-passed-over"
    ]
    assert event["station"] == "one"
    assert event["reason"].count("\n") == 0
    # It is tried again once it may have come back.
    assert code_of(house.control.login, "badgers") == "meter-unreachable"
    instrument("--port", dead.port)
    assert house.control.login("badgers").run.station == "one"


def test_with_every_meter_dead_the_log_in_fails_and_arms_nothing(
    build: Build,
    instrument: Any,
) -> None:
    meters = [instrument(), instrument()]
    for one in meters:
        one.die()
    house = build(*(station(one.port, one.address) for one in meters), auto_arm=True)
    assert code_of(house.control.login, TEAM) == "meter-unreachable"
    assert house.store.runs.find() == []


def test_a_log_in_gets_a_station_that_takes_its_address(build: Build) -> None:
    house = gated(build, auto_arm=True)
    assert house.control.login(TEAM, RIGHT).run.station == "two"
    assert house.control.login("badgers", f"::ffff:{LEFT}").run.station == "one"


def test_from_an_address_that_no_station_takes_nothing_is_armed(build: Build) -> None:
    house = gated(build, auto_arm=True)
    for address in ("10.0.0.1", None):
        assert code_of(house.control.login, TEAM, address) == "wrong-address"
    assert house.store.runs.find() == []
    house.control.login(TEAM, LEFT)
    assert code_of(house.control.login, "badgers", LEFT) == "station-busy"


def test_an_armed_run_is_opened_from_its_own_station_only(build: Build) -> None:
    house = gated(build)
    run = house.control.arm(TEAM, "two")
    with pytest.raises(
        RefereeError,
        match=r"Station two does not accept requests from 192\.168\.1\.20",
    ):
        house.control.login(TEAM, LEFT)
    assert kinds(house, run.id) == ["armed"]
    live = house.control.login(TEAM, RIGHT)
    assert code_of(house.control.login, TEAM, LEFT) == "wrong-address"
    assert house.control.login(TEAM, RIGHT) is live


# The images of a run


def attempt(house: House, images: int | None = None) -> Run:
    """A run of the team that is served all its images, or the first of them, and closed."""
    live = house.control.login(TEAM)
    live.serve([(image, 1000) for image in range(1, (images or live.run.images) + 1)])
    return house.control.close(live.run.id, "logout")


def images_of(house: House, run: int) -> set[int]:
    return set(house.store.runs.image_order(run).tolist())


def seen(house: House, run: int) -> list[tuple[int, list[int]]]:
    """What was noted of the run: how many of its images the team has had, and in which runs."""
    events = [
        event for event in house.store.log.of_run(run) if event["kind"] == "images-seen"
    ]
    return [(event["images"], event["runs"]) for event in events]


def test_each_attempt_gets_fresh_images_as_long_as_they_last(build: Build) -> None:
    house = build(auto_arm=True, images={"per_attempt": 2})
    runs = [attempt(house) for _ in range(3)]
    assert [run.images for run in runs] == [2, 2, 2]
    first, second, third = (images_of(house, run.id) for run in runs)
    assert len(first | second) == 4
    assert len(third - first - second) == 1  # of five
    assert [seen(house, run.id) for run in runs[:2]] == [[], []]
    ((count, earlier),) = seen(house, 3)
    assert count == 1
    assert len(earlier) == 1
    assert images_of(house, earlier[0]) & third


def test_images_that_were_not_served_are_fresh_still_and_teams_do_not_share_them(
    build: Build,
) -> None:
    house = build(auto_arm=True, images={"per_attempt": 4})
    attempt(house, images=1)
    had = house.store.runs.image_order(1).tolist()[0]
    assert images_of(house, attempt(house).id) == {1, 2, 3, 4, 5} - {had}
    house.control.arm("badgers", "one")
    assert seen(house, 2) == seen(house, 3) == []


def test_without_it_a_run_with_images_that_the_team_has_had_says_so_and_its_judgement_too(
    build: Build,
) -> None:
    house = build(auto_arm=True)
    runs = [
        attempt(house, 3),
        attempt(house),
        house.control.close(house.control.login(TEAM).run.id, "logout"),
    ]
    assert [seen(house, run.id) for run in runs] == [[], [(3, [1])], [(5, [1, 2])]]
    judged = [judge(house.contest, run.id, house.clock) for run in runs]
    found = [
        [check for check in one.checks if check.code == "images-seen"] for one in judged
    ]
    assert found[0] == []
    assert [(check.ok, check.figures) for check in found[1] + found[2]] == [
        (True, {"images": 3}),
        (True, {"images": 5}),
    ]
    assert (
        found[2][0].sentence
        == "The team was served 5 of these images in earlier runs: [1, 2]."
    )


def test_more_images_than_there_are_cannot_be_given(build: Build) -> None:
    house = build(
        station(meter="TCPIP::127.0.0.1,1::inst0::INSTR"),
        images={"per_attempt": 6},
    )
    # Before a meter is asked.
    assert code_of(house.control.arm, TEAM, "one") == "bad-config"
    assert house.store.runs.find() == []


def test_rows_beyond_the_run_s_own_images_are_refused(build: Build) -> None:
    house = build(auto_arm=True, images={"per_attempt": 2})
    live = house.control.login(TEAM)
    assert [live.testset_number(n) for n in (1, 2)] == house.store.runs.image_order(
        1
    ).tolist()
    assert code_of(live.testset_number, 3) == "image-unknown"


def test_after_a_restore_a_run_of_the_same_number_has_another_order(
    build: Build,
    tmp_path: Path,
) -> None:
    house = build(auto_arm=True)
    copy = tmp_path / "copy.db"
    with contextlib.closing(sqlite3.connect(house.folder / "contest.db")) as database:
        database.execute("VACUUM INTO ?", (str(copy),))
    lost = house.control.login(TEAM).run
    lost_order = house.store.runs.image_order(lost.id).tolist()
    house.control.close(lost.id, "logout")
    orders = []
    # Two of 120 orders are the same one time in 120, four hardly ever.
    for number in range(3):
        with open_contest(
            restored(house.folder, tmp_path / f"restored-{number}", copy)
        ) as contest:
            again = RunControl(contest, house.clock)
            live = again.login(TEAM)
            assert live.run.id == lost.id
            assert live.run.nonce not in (lost.nonce, None)
            orders.append(live.order.tolist())
            again.close(live.run.id, "logout")
            again.shutdown()
    assert [lost_order] * 3 != orders


def restored(folder: Path, to: Path, database: Path) -> Path:
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("contest.db*", "journal"))
    shutil.copy(database, to / "contest.db")
    return to


def test_extra_time_lengthens_the_window_and_the_meter_s_timer_and_is_on_record(
    build: Build,
) -> None:
    house = build()
    run = house.control.arm(TEAM, "one", extra_s=60)
    assert run.window_s == 660.0
    assert run.extra_s == 60
    assert run.contest_window_s == 600.0
    assert run.setup.integrator_timer_s == 660
    assert house.store.runs.get(run.id) == run
    assert house.store.log.of_run(run.id)[0]["extra_s"] == 60
    assert house.control.login(TEAM).window.length_s == 660.0


@pytest.mark.parametrize("extra_s", [0, -5, 86_400])
def test_extra_time_that_makes_no_window_is_refused(build: Build, extra_s: int) -> None:
    house = build()
    with pytest.raises(RefereeError, match="must be above 0") as failure:
        house.control.arm(TEAM, "one", extra_s=extra_s)
    assert failure.value.code == "bad-request"
    assert house.store.runs.find() == []


def test_attempts_are_counted_without_void_runs_and_more_are_armed_only_by_the_operator_s_word(
    build: Build,
) -> None:
    house = build(attempts=1)
    first = house.control.arm(TEAM, "one")
    house.control.void(first.id, "wrong board")
    second = house.control.arm(TEAM, "one")
    assert code_of(house.control.arm, TEAM, "one") == "station-busy"
    house.control.login(TEAM)
    house.control.close(second.id, "operator")
    with pytest.raises(NotArmed, match=f"{TEAM} has used 1 of 1 attempts") as failure:
        house.control.arm(TEAM, "one")
    assert failure.value.code == "attempts-used"
    assert house.store.runs.attempts_used() == {TEAM: 1}
    third = house.control.arm(TEAM, "one", beyond_attempts=True)
    assert house.store.log.of_run(third.id)[0]["beyond_attempts"] == 2
    house.control.void(third.id, "enough")
    assert house.control.arm("badgers", "one").state is RunState.ARMED


def test_a_log_in_arms_no_run_beyond_the_attempts(build: Build) -> None:
    house = build(attempts=1, auto_arm=True)
    run = house.control.login(TEAM).run
    house.control.close(run.id, "logout")
    assert code_of(house.control.login, TEAM) == "attempts-used"


def mark(house: House, run: int) -> int:
    """How many of a run's images its team had seen before, as every list of runs says."""
    judge(house.contest, run, house.clock)
    return figures_of(
        house.contest,
        house.store.runs.get(run),
        house.clock.utc(),
    ).images_seen


def found_all(house: House, live: OpenRun) -> int:
    """Posts every object of the run's images, as a look-up by an image's bytes does, and logs out."""
    truth = read_ground_truth(house.contest.test_set.folder)
    number = {
        image: at
        for at, image in enumerate(
            house.store.runs.image_order(live.run.id).tolist(),
            start=1,
        )
    }
    own = np.isin(truth.image, [*number])
    images = [number[image] for image in truth.image[own].tolist()]
    rows = np.column_stack(
        [images, truth.category[own], np.full(len(images), 0.9), truth.boxes[own]]
    )
    live.serve([(image, 1000) for image in range(1, live.run.images + 1)])
    house.store.posts.append(
        live.run.id,
        rows,
        sha256="",
        idempotency_key=None,
        elapsed_s=1.0,
        now=house.clock.utc(),
    )
    house.control.close(live.run.id, "logout")
    return live.run.id


def test_a_look_up_run_stands_on_the_board_with_its_mark_whatever_became_of_the_first(
    build: Build,
) -> None:
    """Run 1 fetches all and logs out; run 2 answers by what run 1 was shown."""
    house = build(auto_arm=True)
    first = attempt(house)
    house.control.void(first.id, "it answered nothing")
    looked_up = found_all(house, house.control.login(TEAM))
    assert mark(house, looked_up) == 5, "a void run has seen them all the same"
    house.control.arm("badgers", "one")
    others = found_all(house, house.control.login("badgers"))
    assert mark(house, others) == 0, "the images of another team are its own affair"


def test_the_mark_counts_the_images_that_were_served_alone(build: Build) -> None:
    house = build(auto_arm=True)
    attempt(house, images=2)
    assert mark(house, found_all(house, house.control.login(TEAM))) == 2


def test_the_mark_counts_only_what_fresh_images_do_not_avoid(build: Build) -> None:
    house = build(auto_arm=True, images={"per_attempt": 2})
    runs = [found_all(house, house.control.login(TEAM)) for _ in range(3)]
    assert [mark(house, run) for run in runs] == [0, 0, 1], (
        "five images, two for each attempt"
    )


def test_a_copy_of_the_contest_for_another_day_knows_what_its_teams_have_seen(
    build: Build,
    tmp_path: Path,
) -> None:
    house = build(auto_arm=True)
    attempt(house, images=3)
    back_up(
        house.folder,
        tmp_path / "day.zip",
        house.clock.utc(),
        keys=True,
        test_sets=False,
    )
    restore(tmp_path / "day.zip", tmp_path / "next day", None, house.clock.utc())
    with open_contest(tmp_path / "next day") as contest:
        control = RunControl(contest, house.clock)
        try:
            run = control.login(TEAM).run.id
            noted = [
                one
                for one in contest.store.log.of_run(run)
                if one["kind"] == "images-seen"
            ]
        finally:
            control.shutdown()
    assert [(one["images"], one["runs"]) for one in noted] == [(3, [1])]
