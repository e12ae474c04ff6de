"""Making a heat: all its runs are armed together, or none, and what was made is on record."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError, StorageFailed
from referee.runs.arming import Arming, ReadyRun
from referee.runs.heat_making import (
    WAY_OUT,
    BeginAct,
    HeatMaking,
    PlannedHeat,
)
from referee.runs.meter_state import MeterState
from referee.runs.run_control import RunControl
from referee.runs.station_meters import StationMeters
from referee.store import Store, heat_table
from referee.store.acts import Act
from referee.store.records import Run
from tests.referee.factories import (
    START,
    TEAM,
    House,
    config_text,
    house,
    station,
)
from tests.referee.runs.observing import code_of, kinds

Build = Callable[..., House]
SIDES = {"one": TEAM, "two": "badgers"}


def two(build: Build, *meters: str, **keys: object) -> House:
    given = [{"meter": one} for one in meters] or [{}, {}]
    stations = [station(name, **one) for name, one in zip(SIDES, given, strict=True)]
    return build(*stations, **keys)


def make(house: House, sides: dict[str, str] = SIDES, **more: Any) -> list[Run]:
    planned = PlannedHeat("final", sides, **more)
    return house.control.heats.make(planned, "jo", begin_in(house.store))


def begin_in(store: Store) -> BeginAct:
    def begin(
        action: str,
        run: int | None = None,
        **detail: object,
    ) -> AbstractContextManager[Act]:
        return store.log.act(START, run, operator="jo", action=action, **detail)

    return begin


def states(house: House) -> list[str]:
    return [run.state.value for run in house.store.runs.find()]


def acts(house: House) -> list[str]:
    events = house.store.log.newest_after(0, 99)[1]
    found = [one["detail"]["action"] for one in events if one["kind"] == "operator"]
    return sorted(found)


def test_one_call_arms_all_sides_and_stores_the_heat(
    build: Build,
) -> None:
    house = two(build)
    runs = make(house, round=3)
    assert {run.station: run.team for run in runs} == SIDES
    assert {run.heat for run in runs} == {"final"}
    (heat,) = house.store.heats.all()
    assert (heat.name, heat.operator, heat.round) == (
        "final",
        "jo",
        3,
    )
    assert acts(house) == ["arm", "arm", "heat"]
    assert len(house.control.start("final", absent_too=True)) == 2


def test_stations_are_armed_at_the_same_time(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = two(build)
    together = threading.Barrier(2)
    make_ready = Arming.make_ready

    def when_both_are_at_it(*arguments: Any, **named: Any) -> ReadyRun:
        together.wait(30)
        return make_ready(*arguments, **named)

    monkeypatch.setattr(Arming, "make_ready", when_both_are_at_it)
    assert len(make(house)) == 2


def test_if_one_meter_is_dead_no_run_is_armed_and_the_sentence_says_which_and_what_to_do(
    build: Build,
    instrument: Any,
) -> None:
    sound = instrument()
    dead = instrument()
    house = two(build, sound.address, dead.address)
    dead.die()
    with pytest.raises(RefereeError) as failure:
        make(house)
    assert failure.value.code == "heat-not-made"
    sentence = failure.value.sentence
    assert sentence.startswith(
        "Heat final is not made, and no run is armed. badgers cannot be armed at two: "
    )
    assert sentence.endswith(WAY_OUT)
    assert TEAM not in sentence
    assert states(house) == acts(house) == house.store.heats.all() == []
    assert house.control.meter_state("one")[0] is MeterState.IDLE

    instrument("--port", dead.port)  # the same name can be used again
    assert len(make(house)) == 2
    assert states(house) == ["armed", "armed"]


def test_if_the_heat_cannot_be_stored_its_meters_are_free_again(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = two(build)
    with monkeypatch.context() as full:
        full.setattr(heat_table, "insert_armed", no_room)
        assert code_of(make, house) == "storage-failed"
    assert states(house) == acts(house) == house.store.heats.all() == []
    assert [run.id for run in make(house)] == [1, 2]


def no_room(*_: object) -> None:
    raise StorageFailed("The disk is full.")


class Killed:
    """Kills this process with SIGKILL before a step: a call, or an SQL statement that writes."""

    def __init__(self, before: int) -> None:
        self.left = before
        self.is_off = True

    def step(self, *_: object) -> None:
        if self.is_off:
            return
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def statement(self, text: str) -> None:
        if text.startswith(("BEGIN", "INSERT", "DELETE", "UPDATE", "COMMIT")):
            self.step()

    def before(self, owner: type, name: str) -> None:
        then = getattr(owner, name)

        def stepped(*arguments: Any, **named: Any) -> Any:
            self.step()
            return then(*arguments, **named)

        setattr(owner, name, stepped)


def killed_while_making(folder: Path, steps: int) -> bool:
    """Make a heat in a process that is killed before one of its steps. Return False if it has fewer steps."""

    def child() -> None:
        kill = Killed(steps)
        for owner, name in (
            (StationMeters, "set_up"),
            (Arming, "_new_run"),
            (HeatMaking, "_stored"),
            (Arming, "keep"),
        ):
            kill.before(owner, name)
        with open_contest(folder) as contest:
            contest.store.database.connection.set_trace_callback(kill.statement)
            control = RunControl(contest, Clock())
            kill.is_off = False
            planned = PlannedHeat("final", SIDES)
            control.heats.make(planned, "jo", begin_in(contest.store))
            os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def test_a_crash_at_any_step_leaves_a_whole_heat_or_none_and_the_restart_goes_on(
    tmp_path: Path,
    small_set: TestSet,
    instrument: Any,
) -> None:
    stations = [station(name, meter=instrument().address) for name in SIDES]
    whole = tmp_path / "whole"
    create_contest(whole, config_text(small_set, *stations))
    with open_contest(whole) as contest:
        for team in SIDES.values():
            contest.store.teams.add(team, "no hash", START)
    found = []
    for steps in itertools.count():
        folder = tmp_path / str(steps)
        shutil.copytree(whole, folder)
        if not killed_while_making(folder, steps):
            break
        with house(folder, small_set, is_new=False) as again:
            again.control.recover()
            is_made = states(again) == ["armed", "armed"]
            assert is_made or states(again) == []
            assert len(again.store.heats.all()) == int(is_made)
            assert acts(again) == (["arm", "arm", "heat"] if is_made else [])
            if is_made not in found:  # once of each kind, since it takes long
                runs = [1, 2] if is_made else [run.id for run in make(again)]
                opened = again.control.start("final", absent_too=True)
                assert [run.id for run in opened] == runs
                for run in runs:
                    again.control.close(run, "operator")
            found.append(is_made)
    assert found == sorted(found), "made in one step, for good"
    assert len(set(found)) == len((False, True))


def test_what_can_be_seen_before_is_refused_before_any_run_is_made(
    build: Build,
) -> None:
    house = two(build, attempts=1)
    assert code_of(make, house, {"one": TEAM}) == "bad-request"
    assert code_of(make, house, {"one": TEAM, "two": TEAM}) == "bad-request"
    assert code_of(make, house, {"one": TEAM, "two": "nobody"}) == "team-unknown"
    assert code_of(make, house, {"one": TEAM, "three": "badgers"}) == "station-unknown"
    assert code_of(make, house, {TEAM: "one", "badgers": "two"}) == "bad-request"
    assert code_of(make, house, round=0) == "bad-request"
    house.control.arm("badgers", "two")
    assert code_of(make, house) == "station-busy"
    house.control.login("badgers")
    house.control.close(1, "operator")
    assert code_of(make, house) == "attempts-used"
    assert [run.id for run in house.store.runs.find()] == [1]
    assert len(make(house, beyond_attempts=True)) == 2


def test_of_two_operators_who_make_the_same_heat_one_is_told_so(
    build: Build,
) -> None:
    stations = [station(name) for name in ("one", "two", "three", "four")]
    house = build(*stations)
    for team in ("voles", "stoats"):
        house.store.teams.add(team, "no hash", START)
    make(house)
    others = {"three": "voles", "four": "stoats"}
    assert code_of(make, house, others) == "heat-made"
    assert states(house) == ["armed", "armed"]
    house.control.start("final", absent_too=True)
    assert code_of(make, house, others) == "heat-started"
    assert kinds(house, 1)[-1] == "open"


def meet_after(
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
) -> None:
    """Let two threads that get past this step at the same time go on together; one that is alone soon goes on."""
    together = threading.Barrier(2)
    then = getattr(owner, name)

    def stepped(*arguments: Any, **named: Any) -> Any:
        found = then(*arguments, **named)
        with suppress(threading.BrokenBarrierError):
            together.wait(0.5)
        return found

    monkeypatch.setattr(owner, name, stepped)


def made_at_once(house: House, *planned: PlannedHeat) -> list[str]:
    """Make heats in a thread each, and return the codes of the errors, or "made", in order."""

    def made_or_code(one: PlannedHeat) -> str:
        try:
            house.control.heats.make(one, "jo", begin_in(house.store))
        except RefereeError as error:
            return error.code
        return "made"

    with ThreadPoolExecutor(len(planned)) as pool:
        return sorted(pool.map(made_or_code, planned))


def four(build: Build) -> House:
    house = build(*(station(name) for name in ("one", "two", "three", "four")))
    for team in ("voles", "stoats"):
        house.store.teams.add(team, "no hash", START)
    return house


def test_of_two_who_make_the_same_heat_at_the_same_moment_one_does(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = four(build)
    meet_after(monkeypatch, HeatMaking, "_require_new")
    others = {"three": "voles", "four": "stoats"}
    found = made_at_once(
        house,
        PlannedHeat("final", SIDES),
        PlannedHeat("final", others),
    )
    assert found == ["heat-made", "made"]
    assert states(house) == ["armed", "armed"]


def test_a_team_that_is_in_two_heats_made_at_the_same_moment_is_armed_once(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = four(build)
    meet_after(monkeypatch, Arming, "require_able")
    found = made_at_once(
        house,
        PlannedHeat("final", SIDES),
        PlannedHeat("third place", {"three": "stoats", "four": TEAM}),
    )
    assert found == ["made", "team-busy"]
    assert [run.team for run in house.store.runs.find()].count(TEAM) <= 1
