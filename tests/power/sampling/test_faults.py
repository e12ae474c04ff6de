"""Runs with a meter in which something goes wrong, told by its control socket."""

from __future__ import annotations

import json
import logging
import math
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Check, Measurement, energy_checks
from lpirc_power.errors import MeterLost
from lpirc_power.meter import IntegratorState, Setup
from tests.power.busy_host import failed
from tests.timeouts import TIMEOUT_S

logger = logging.getLogger(__name__)


@dataclass
class Broken:
    """A simulated meter of 36 W, and its control socket."""

    address: str
    control: str

    def tell(
        self,
        command: str,
    ) -> str:
        host, _, port = self.control.rpartition(":")
        with (
            socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as line,
            line.makefile("rw") as stream,
        ):
            stream.write(command + "\n")
            stream.flush()
            verdict, _, text = stream.readline().strip().partition(" ")
        assert verdict == "ok", text
        return text

    def state(self) -> dict[str, Any]:
        return json.loads(self.tell("state"))  # type: ignore[no-any-return]


@pytest.fixture
def dialect() -> str:
    """The form of the simulated meter, but for the tests that name several."""
    return "log2015"


UPDATES = pytest.mark.parametrize("dialect", ["log2015", "free-running"])
"""Central tests run with updates that restart at START, and with updates that run on."""


@pytest.fixture
def broken(
    simulate: Any,
    dialect: str,
) -> Broken:
    # Its panel cannot be locked: what the keys do is for the checks of the energy to find.
    options = ("--dialect", dialect, "--without", "lock")
    box = simulate("--load", "constant:36W", "--control", "0", *options)
    word, control = box.process.stdout.readline().split()
    assert word == "control"
    return Broken(box.address, control)


class Run:
    """A run that is going on, and its checks at the end."""

    def __init__(
        self,
        sampler: Any,
        recorder: Any,
        setup: Setup,
    ) -> None:
        self.sampler = sampler
        self.recorder = recorder
        self._setup = setup
        self._start_s = time.monotonic()

    def checks(self) -> dict[str, Check]:
        end_s = time.monotonic()
        final = self.sampler.stop()
        measured = Measurement(
            integrator_wh=final.energy_wh,
            integrator_s=final.integrator_s,
            start_s=self._start_s,
            end_s=end_s,
            setup=self._setup,
            model=self.sampler.identity.model,
            limits=limits_of(self.sampler.identity.model),
            changes=self.sampler.changes,
        )
        return {
            check.code: check
            for check in energy_checks(self.recorder.readings, measured)
        }

    def failed(self) -> set[str]:
        # A busy host shifts the edges of so short a window by more than the trapezoid's tolerance; the energy itself is
        # compared with what the meter knows to be true.
        checks = self.checks().values()
        for check in checks:
            if not check.ok:
                logger.warning("%s: %s", check.code, check.sentence)
        return set(failed(checks)) - {"integrator-trapezoid"}


@pytest.fixture
def going(
    sampler: Any,
    broken: Broken,
    recorder: Any,
    setup: Setup,
) -> Callable[[], Run]:
    def start() -> Run:
        run = sampler(broken.address)
        run.arm()
        run.start()
        begun = Run(run, recorder, setup)
        recorder.more(3)
        return begun

    return start


@UPDATES
def test_a_dropped_link_costs_no_energy(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
) -> None:
    run = going()
    broken.tell("drop-link 2.5")
    until(lambda: len(recorder.events) == 2)
    recorder.more(5)
    assert [event.kind for event in recorder.events] == ["meter-lost", "meter-back"]
    assert "its integrator went on" in recorder.events[1].sentence
    assert not run.checks()["reading-gaps"].ok
    assert run.failed() == set()
    final = run.sampler.stop()
    state = broken.state()
    assert final.energy_wh == pytest.approx(state["true_energy_wh"], rel=1e-5)


@pytest.mark.slow
def test_a_hung_meter_goes_on_where_it_was(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
) -> None:
    run = going()
    broken.tell("hang 5")
    until(lambda: len(recorder.events) == 2)
    recorder.more(2)
    assert not run.checks()["reading-gaps"].ok
    assert run.sampler.stop().energy_wh == pytest.approx(
        broken.state()["true_energy_wh"],
        rel=1e-5,
    )


@UPDATES
def test_a_restart_that_keeps_the_integral_is_a_gap_only(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
) -> None:
    run = going()
    broken.tell("restart keep 0.5")
    until(lambda: len(recorder.events) == 2)
    recorder.more(5)
    assert [event.kind for event in recorder.events] == ["meter-lost", "meter-back"]
    assert run.sampler.stop().energy_wh == pytest.approx(
        broken.state()["true_energy_wh"],
        rel=1e-5,
    )


@pytest.mark.parametrize(
    ("after", "state", "words"),
    [
        ("lose", IntegratorState.RESET, "its integrator is reset"),
        ("error", IntegratorState.ERROR, "its integrator has ended (ERROR)"),
    ],
)
def test_a_restart_that_ends_the_integral_is_told(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
    after: str,
    state: IntegratorState,
    words: str,
) -> None:
    run = going()
    broken.tell(f"restart {after} 0.5")
    until(lambda: len(recorder.events) == 2)
    recorder.more(3)
    assert words in recorder.events[1].sentence
    assert recorder.readings[-1].state is state
    assert run.sampler.stop().state is state


def test_a_meter_that_hears_nothing_after_its_start_is_started_all_the_same(
    sampler: Any,
    broken: Broken,
    recorder: Any,
) -> None:
    broken.tell("busy-after-start 0.3")
    run = sampler(broken.address)
    run.arm()
    run.start()
    recorder.more(5)
    assert recorder.events == []
    assert run.stop().energy_wh > 0


def test_a_wrong_answer_is_no_reading_and_ends_nothing(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
) -> None:
    run = going()
    # One that meets the question after the settings is asked again, and nobody need know.
    while not recorder.events:
        broken.tell("wrong nonsense")
        recorder.more(2)
    # Lost and back; a busy host may lose it again.
    until(lambda: len(recorder.events) >= 2)
    recorder.more(2)
    assert "'nonsense'" in recorder.events[0].sentence
    assert run.failed() == set()


def test_slow_answers_cost_readings_only(
    going: Any,
    broken: Broken,
    recorder: Any,
) -> None:
    run = going()
    broken.tell("slow 150")
    recorder.more(5)
    broken.tell("heal")
    recorder.more(2)
    assert recorder.events == []
    assert run.failed() == set()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("over-range", "over-range"),
        ("clip", "peak-clipping"),
    ],
)
def test_what_the_meter_flags_fails_its_check(
    going: Any,
    broken: Broken,
    recorder: Any,
    fault: str,
    code: str,
) -> None:
    run = going()
    broken.tell(f"{fault} 3600")
    recorder.more(5)
    broken.tell("heal")
    # The updates that were on their way when it was told and when it was healed may be either.
    recorder.more(3)
    flags = [one.over_range or one.current_peak_over for one in recorder.readings]
    checks = run.checks()
    assert not checks[code].ok
    assert sum(flags) >= 3
    assert not any(flags[:3])
    assert not flags[-1]
    assert 3 <= (checks[code].figures["flagged"] or 0) <= sum(flags)


def test_readings_without_data_are_told_as_such(
    going: Any,
    broken: Broken,
    recorder: Any,
) -> None:
    run = going()
    recorder.more(12)  # no data is how it should be in the first second
    broken.tell("nan 3600")
    recorder.more(4)
    broken.tell("heal")
    recorder.more(2)
    assert run.failed() == {"no-data"}


def test_a_range_that_the_meter_changed_by_itself_is_told(
    going: Any,
    broken: Broken,
    recorder: Any,
) -> None:
    run = going()
    broken.tell("range-change")
    recorder.more(3)
    checks = run.checks()
    assert not checks["range-changed"].ok
    assert "CURRENT:AUTO OFF was set, it is 1" in checks["range-changed"].sentence


def test_a_turned_knob_is_told_when_the_link_is_back(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
) -> None:
    run = going()
    broken.tell("drop-link 3600")
    until(lambda: run.sampler.link_error)
    broken.tell("knob :INPUT:VOLTAGE:RANGE 300V")
    broken.tell("heal")
    until(lambda: len(recorder.events) == 2)
    recorder.more(2)
    (change,) = recorder.events[1].changes
    assert ":INPUT:VOLTAGE:RANGE 150V was set, it is 300" in change
    assert change in recorder.events[1].sentence
    # A busy host makes the gap longer, and rightly says what it did not see.
    assert run.failed() - {"unseen-energy"} == {"range-changed"}


@pytest.mark.parametrize("deaf_s", [0.0, 0.2])
def test_a_short_run_of_a_meter_that_is_deaf_after_its_start_is_an_honest_one(
    sampler: Any,
    broken: Broken,
    recorder: Any,
    setup: Setup,
    until: Any,
    deaf_s: float,
) -> None:
    setup = replace(setup, current_range_a=0.5)
    broken.tell(f"busy-after-start {deaf_s}")
    run = sampler(broken.address, setup)
    run.arm()
    run.start()
    start_s = time.monotonic()
    until(lambda: time.monotonic() > start_s + 2.0)
    end_s = time.monotonic()
    final = run.stop()
    start_stop_s = run.ran_s - (end_s - start_s)
    assert start_stop_s >= deaf_s
    measured = Measurement(
        final.energy_wh,
        final.integrator_s,
        start_s,
        end_s,
        setup,
        "WT310",
        limits_of("WT310"),
        start_stop_s=start_stop_s,
    )
    assert failed(energy_checks(recorder.readings, measured)) == []
    over_s = final.energy_wh * 3600 / 36 - (end_s - start_s)
    assert over_s <= start_stop_s + 1e-3  # six digits of an energy


def test_a_link_that_breaks_at_the_start_charges_nothing_of_the_time_until_it_is_back(
    sampler: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
    flawed: Any,
) -> None:
    opened = flawed()
    run = sampler(broken.address)
    run.arm()
    meter = opened[-1]
    start = opened[-1].start

    def lost_on_the_way() -> None:
        meter.start = start
        start()
        started_s = time.monotonic()
        until(lambda: time.monotonic() > started_s + 1.5)
        lost_s.append(time.monotonic())
        raise MeterLost("The cable is out.")

    meter.start = lost_on_the_way
    lost_s: list[float] = []
    called_s = time.monotonic()
    run.start()
    recorder.more(3)
    # A reading is answered after its time, and before the next one's.
    first, second = recorder.readings[:2]
    assert first.energy_wh * 3600 / 36 <= second.monotonic_s - lost_s[0]
    final = run.stop()
    # The time until the link was back is none of it.
    assert run.ran_s < time.monotonic() - called_s - 1.5
    assert final.energy_wh == pytest.approx(broken.state()["true_energy_wh"], rel=1e-5)


def test_a_run_whose_values_somebody_changed_goes_on_with_its_own(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
) -> None:
    run = going()
    broken.tell("knob :NUMERIC:NORMAL:ITEM4 I,1")
    until(lambda: len(recorder.events) == 2)
    assert (
        "another program has changed the items of its answers"
        in recorder.events[0].sentence
    )
    recorder.more(2)
    assert all(
        reading.power_w in (36.0, pytest.approx(math.nan, nan_ok=True))
        for reading in recorder.readings
    )
    assert run.failed() == set()


@UPDATES
def test_hold_at_the_end_of_a_run_costs_no_energy_and_is_told(
    going: Any,
    broken: Broken,
    recorder: Any,
) -> None:
    run = going()
    recorder.more(5)
    broken.tell("knob :HOLD ON")
    recorder.more(5)
    checks = run.checks()
    assert ":HOLD OFF was set, it is 1" in checks["range-changed"].sentence
    assert run.sampler.stop().energy_wh == pytest.approx(
        broken.state()["true_energy_wh"],
        rel=1e-5,
    )


def test_hold_before_a_run_is_released_and_put_back(
    sampler: Any,
    broken: Broken,
    recorder: Any,
) -> None:
    broken.tell("knob :HOLD ON")
    run = sampler(broken.address)
    run.arm()
    run.start()
    recorder.more(5)
    assert run.stop().energy_wh == pytest.approx(
        broken.state()["true_energy_wh"],
        rel=1e-5,
    )
    assert run.changes == ()
    run.close()
    assert broken.tell("knob :HOLD?").endswith("1")


STOP, RESET, START = ("knob :INTEGRATE:" + key for key in ("STOP", "RESET", "START"))


@pytest.mark.parametrize(
    ("done", "undone", "code"),
    [
        ([STOP], [START], "integrator-stopped"),
        ([STOP, RESET], [START], "integrator-stopped"),
        (
            ["knob :INPUT:VOLTAGE:RANGE 300V"],
            ["knob :INPUT:VOLTAGE:RANGE 150V"],
            "range-changed",
        ),
        (
            ["knob :MEASURE:AVERAGING:STATE ON"],
            ["knob :MEASURE:AVERAGING:STATE OFF"],
            "range-changed",
        ),
        (["knob :HOLD ON"], ["knob :HOLD OFF"], "range-changed"),
    ],
)
def test_what_is_done_at_the_panel_and_undone_in_mid_run_fails_its_check(
    going: Any,
    broken: Broken,
    recorder: Any,
    until: Any,
    done: list[str],
    undone: list[str],
    code: str,
) -> None:
    run = going()
    for key in done:
        broken.tell(key)
    shown = {"integrator-stopped": lambda one: one.state is not IntegratorState.START}
    until(lambda: any(map(shown.get(code, lambda one: one.changed), recorder.readings)))
    for key in undone:
        broken.tell(key)
    recorder.more(3)
    check = run.checks()[code]
    assert check.ok is False
    assert check.severity == "error"
    assert run.sampler.changes == ()
    assert " s of the window" in check.sentence


@UPDATES
def test_a_well_formed_false_sample_fails_its_check(
    going: Any,
    broken: Broken,
    recorder: Any,
) -> None:
    run = going()
    # On a busy machine updates are missed, and where they are no step can be told from what was missed.
    while not any(
        read.power_w == 360 and after.monotonic_s - before.monotonic_s < 0.3
        for before, read, after in zip(
            recorder.readings,
            recorder.readings[1:],
            recorder.readings[2:],
            strict=False,
        )
    ):
        now = recorder.readings[-1]
        sums = f"{now.energy_wh + 0.001:.5E},{now.integrator_s:.0f}"
        broken.tell(
            f"wrong 1;120.00E+00,3.0000E+00,360.00E+00,360.00E+00,1,{sums},150,.5;P,1;WH,1;6;START"
        )
        recorder.more(3)
    recorder.more(25)  # the last two seconds may be those after the integrator's end
    assert "integrator-steps" in run.failed()
    assert recorder.events == []
