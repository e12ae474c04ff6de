"""The driver in conversation with a simulated meter behind real VXI-11."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.visa.link import Link
from lpirc_power.wt300.dialogue import Dialogue
from lpirc_power.wt300.driver import Wt300
from lpirc_power.wt300.setting_commands import plain
from tests.power.opened import wt300

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=1.0,
    update_interval_s=0.1,
    integrator_timer_s=3600,
)


@pytest.fixture
def box(
    simulate: Any,
    clocks: Clocks,
) -> Iterator[tuple[Wt300, Link]]:
    """A driver, and a second link to look behind its back."""
    address = simulate("--load", "constant:36W").address
    with (
        contextlib.closing(Link(address)) as link,
        contextlib.closing(Link(address)) as spy,
    ):
        yield wt300(link, clocks), spy


def test_setup_arrives_in_the_meter(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(SETUP)
    assert spy.query(":COMMUNICATE:HEADER?;VERBOSE?") == "0;1"
    assert spy.query(":INPUT:MODE?;VOLTAGE:RANGE?;AUTO?") == "RMS;150.0E+00;0"
    assert spy.query(":INPUT:CURRENT:RANGE?;AUTO?;:RATE?") == "1.000E+00;0;100.0E-03"
    assert spy.query(":INTEGRATE:MODE?;TIMER?;STATE?") == "NORMAL;1,0,0;RESET"
    assert spy.query(":NUMERIC:NUMBER?;ITEM6?") == "9;WH,1"
    assert meter.changes(SETUP) == ()
    spy.write(":INPUT:CURRENT:AUTO ON")
    assert meter.changes(SETUP)[0] == ":INPUT:CURRENT:AUTO OFF was set, it is 1"


def test_no_range_means_auto_range(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(Setup(None, None, 0.25, 0, mode="dc"))
    answer = spy.query(":INPUT:VOLTAGE:AUTO?;:INPUT:CURRENT:AUTO?;:INPUT:MODE?")
    assert answer == "1;1;DC"


@pytest.mark.parametrize(
    ("setup", "named"),
    [
        (Setup(100.0, 1.0, 0.1, 60), "15, 30, 60, 150, 300, 600 V"),
        (Setup(150.0, 3.0, 0.1, 60), "0.005, 0.01, .*, 20 A"),
        (Setup(150.0, 1.0, 0.3, 60), "0.1, 0.25, 0.5, 1, 2, 5 s"),
        (Setup(150.0, 1.0, 0.1, 36_000_001), "36000000"),
        (Setup(150.0, 1.0, 0.1, 60, mode="ac"), "rms, vmean, dc"),
        (Setup(150.0, 1.0, 0.1, 60, synchronize="mains"), "voltage, current, off"),
        (Setup(150.0, 1.0, 0.1, 60, crest_factor=5), "crest factor 5; it has 3 and 6"),
    ],
)
def test_what_the_meter_does_not_have_is_refused_naming_what_it_has(
    box: Any,
    setup: Setup,
    named: str,
) -> None:
    meter, _ = box
    meter.attach()
    with pytest.raises(MeterError, match=named) as caught:
        meter.configure(setup)
    assert caught.value.code == "meter-range"


def test_crest_factor_six_halves_what_can_be_chosen(box: Any) -> None:
    meter, spy = box
    meter.attach()
    assert meter.choices().voltage_ranges_v == (15, 30, 60, 150, 300, 600)
    meter.configure(Setup(7.5, 0.0025, 0.1, 60, crest_factor=6))
    answer = spy.query(":INPUT:CFACTOR?;VOLTAGE:RANGE?;:INPUT:CURRENT:RANGE?")
    assert answer == "6;7.5E+00;2.5E-03"
    assert meter.choices().voltage_ranges_v == (7.5, 15, 30, 75, 150, 300)
    with pytest.raises(MeterError, match=r"7\.5, 15, 30, 75, 150, 300 V"):
        meter.configure(Setup(600.0, 1.0, 0.1, 60, crest_factor=6))


def test_a_whole_measurement(
    box: Any,
    until: Any,
) -> None:
    meter, _ = box
    meter.attach()
    meter.configure(SETUP)
    assert meter.state() is IntegratorState.RESET
    meter.start()
    first = meter.read()
    assert first.state is IntegratorState.START
    assert first.utc.tzinfo is not None
    until(lambda: meter.read().integrator_s >= 1)
    running = meter.read()
    assert running.voltage_v == 120.0
    assert running.power_w == 36.0
    assert running.power_factor == 1.0
    assert running.apparent_va == pytest.approx(36.0)
    meter.stop()
    final = meter.read_final()
    assert final.state is IntegratorState.STOP
    assert (
        36 * final.integrator_s
        <= final.energy_wh * 3600
        <= 36 * (final.integrator_s + 1)
    )
    meter.stop()
    assert meter.read().energy_wh == final.energy_wh


def test_a_start_gives_no_data_until_the_next_update(
    box: Any,
    dialect: str,
) -> None:
    meter, _ = box
    meter.attach()
    meter.configure(Setup(150.0, 1.0, 5.0, 60))
    begun_s = time.monotonic()
    meter.start()
    reading = meter.read()
    # An update has ended just now.
    if dialect == "free-running" and math.isfinite(reading.voltage_v):
        assert reading.energy_wh * 3600 <= 36 * (time.monotonic() - begun_s)
        return
    assert math.isnan(reading.voltage_v)
    assert math.isnan(reading.power_w)
    assert reading.energy_wh == 0.0
    assert reading.integrator_s == 0.0


def test_the_timer_of_the_meter_ends_it_and_stop_finds_nothing_to_do(
    box: Any,
    until: Any,
) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(Setup(150.0, 1.0, 0.1, 1))
    meter.start()
    until(lambda: meter.state() is IntegratorState.TIMEUP)
    meter.stop()
    final = meter.read_final()
    assert final.state == IntegratorState.TIMEUP
    assert final.integrator_s == 1.0
    assert final.energy_wh == 0.01
    assert spy.query(":STATUS:ERROR?").startswith("0,")


def test_a_start_that_is_refused_says_why(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(Setup(150.0, 1.0, 0.1, 1))
    spy.write(":INTEGRATE:START;STOP")
    spy.write("*CLS;:INTEGRATE:RESET;TIMER 0,0,1;START")
    assert spy.query(":INTEGRATE:STATE?") == "START"
    # The meter integrates already: the start is refused, but what was wanted is the case.
    meter.start()
    assert spy.query(":STATUS:ERROR?").startswith("842,")


def test_a_meter_that_integrates_is_not_set_up(box: Any) -> None:
    meter, _ = box
    meter.attach()
    meter.start()
    with pytest.raises(MeterError) as caught:
        meter.configure(SETUP)
    assert caught.value.code == "meter-busy"
    assert meter.state() is IntegratorState.START


def test_a_setting_that_does_not_stay_is_refused_with_the_meters_reason(
    box: Any,
    clocks: Clocks,
) -> None:
    meter, spy = box
    meter.attach()
    meter.start()
    with pytest.raises(
        MeterError,
        match=r"813 .*cannot be changed until the integrator is reset",
    ) as caught:
        Dialogue(spy, clocks).apply(plain(":RATE", "1"))
    assert caught.value.code == "meter-refused"


def test_attaching_touches_neither_ranges_nor_integrator(box: Any) -> None:
    meter, spy = box
    spy.write(
        ":COMMUNICATE:HEADER OFF;VERBOSE ON;:INPUT:VOLTAGE:RANGE 60;:RATE 1;:INTEGRATE:START"
    )
    meter.attach()
    answer = spy.query(":INPUT:VOLTAGE:RANGE?;:RATE?;:INTEGRATE:STATE?")
    assert answer == "60.0E+00;1.000E+00;START"
    assert spy.query(":STATUS:ERROR?").startswith("0,")


def test_readings_tell_over_range_and_clipped_peaks(
    simulate: Any,
    clocks: Clocks,
    until: Any,
) -> None:
    address = simulate("--load", "constant:36W,crest=6").address
    with contextlib.closing(Link(address)) as link:
        meter = wt300(link, clocks)
        meter.attach()
        meter.configure(Setup(150.0, 0.5, 0.1, 0))
        readings: list[Reading] = []

        def is_clipped() -> bool:
            """The updates before are still of the range before, or have no data."""
            readings.append(meter.read())
            return readings[-1].current_peak_over and math.isfinite(
                readings[-1].power_w
            )

        until(is_clipped)
        clipped = readings[-1]
        assert not clipped.voltage_peak_over
        assert not clipped.over_range
        assert clipped.power_w == pytest.approx(33.333)
        meter.configure(Setup(150.0, 0.1, 0.1, 0))
        until(lambda: meter.read().over_range)
        assert math.isinf(meter.read().power_w)


def test_status_shows_settings_and_empties_the_error_queue(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(SETUP)
    spy.write(":NONSENSE")
    assert spy.query("*OPC?") == "1"
    status = meter.status()
    assert status.voltage_range_v == 150.0
    assert status.voltage_auto is False
    assert status.update_interval_s == 0.1
    assert status.mode == "rms"
    assert status.crest_factor == 3
    assert status.state == IntegratorState.RESET
    assert status.errors == ('113 "Undefined header": it does not know the command',)
    assert meter.status().errors == ()


def test_peaks_are_the_waves_and_leave_the_sample_alone(
    simulate: Any,
    clocks: Clocks,
    until: Any,
) -> None:
    with contextlib.closing(
        Link(simulate("--load", "constant:36W,crest=2").address)
    ) as link:
        meter = wt300(link, clocks)
        meter.configure(SETUP)
        until(lambda: meter.read().power_w > 0)
        peaks = meter.peaks()
        assert peaks.voltage_v == pytest.approx(120 * math.sqrt(2), rel=1e-3)
        assert 0.3 * math.sqrt(2) * 0.999 <= peaks.current_a <= 0.6 * 1.001
        assert meter.read().power_w == 36.0
        assert link.query(":NUMERIC:NUMBER?") == "9"


def test_the_zero_level_is_compensated_unless_an_energy_is_at_stake(box: Any) -> None:
    meter, _ = box
    meter.configure(SETUP)
    meter.zero()
    meter.start()
    with pytest.raises(MeterError, match="integrating") as caught:
        meter.zero()
    assert caught.value.code == "meter-busy"
    meter.stop()
    with pytest.raises(MeterError, match="still holds the energy of a run") as caught:
        meter.zero()
    assert caught.value.code == "meter-busy"


def test_a_meter_of_one_element_says_so(box: Any) -> None:
    meter, _ = box
    for element in ("2", "sum"):
        with pytest.raises(MeterError, match="WT310 has element 1 only") as caught:
            meter.attach(element)
        assert caught.value.code == "meter-range"
    with pytest.raises(MeterError, match="WT310 has element 1 only"):
        meter.configure(Setup(150.0, 1.0, 0.1, 60, element="2"))
    assert meter.choices().elements == ("1",)


@pytest.mark.parametrize(
    ("different", "phrase"),
    [
        (":INPUT:CFACTOR 6", ":INPUT:CFACTOR 3 was set, it is 6"),
        (":INPUT:FILTER:LINE ON", ":INPUT:FILTER:LINE OFF was set, it is 1"),
        (":INPUT:FILTER:FREQUENCY ON", ":INPUT:FILTER:FREQUENCY OFF was set, it is 1"),
        (":INPUT:SYNCHRONIZE OFF", ":INPUT:SYNCHRONIZE VOLTAGE was set, it is OFF"),
        (":INPUT:MODE DC", ":INPUT:MODE RMS was set, it is DC"),
        (":RATE 5", ":RATE 100MS was set, it is 5.000E+00"),
        (":INTEGRATE:TIMER 0,0,1", ":INTEGRATE:TIMER 1,0,0 was set, it is 0,0,1"),
        (":HOLD ON", ":HOLD OFF was set, it is 1"),
        (":NUMERIC:HOLD ON", ":NUMERIC:HOLD OFF was set, it is 1"),
        (":MEASURE:MHOLD ON", ":MEASURE:MHOLD OFF was set, it is 1"),
        (
            ":MEASURE:AVERAGING:STATE ON",
            ":MEASURE:AVERAGING:STATE OFF was set, it is 1",
        ),
        (":INPUT:SCALING:STATE ON", ":INPUT:SCALING:STATE OFF was set, it is 1"),
        (":STATUS:FILTER1 RISE", ":STATUS:FILTER1 FALL was set, it is RISE"),
        (":NUMERIC:FORMAT FLOAT", ":NUMERIC:FORMAT ASCII was set, it is FLOAT"),
        (":NUMERIC:NORMAL:NUMBER 7", ":NUMERIC:NORMAL:NUMBER 9 was set, it is 7"),
        (
            ":NUMERIC:NORMAL:ITEM6 AH,1",
            ":NUMERIC:NORMAL:ITEM6 WH,1 was set, it is AH,1",
        ),
    ],
)
def test_every_setting_that_differs_is_told(
    box: Any,
    different: str,
    phrase: str,
) -> None:
    meter, spy = box
    meter.configure(SETUP)
    spy.write(different)
    assert phrase in meter.changes(SETUP)


def test_every_setting_of_a_setup_arrives(box: Any) -> None:
    meter, _ = box
    meter.configure(
        Setup(
            15.0,
            0.25,
            0.25,
            0,
            "vmean",
            crest_factor=6,
            line_filter=True,
            frequency_filter=True,
            synchronize="off",
        )
    )
    status = meter.status()
    assert status.crest_factor == 6
    assert status.voltage_range_v == 15.0
    assert status.current_range_a == 0.25
    assert status.mode == "vmean"
    assert status.synchronize == "off"
    assert status.update_interval_s == 0.25
    assert status.line_filter is True
    assert status.frequency_filter is True
    assert status.errors == ()


@pytest.mark.parametrize(
    ("model", "element", "power_w"),
    [
        ("WT333E", "sum", 36.0),
        ("WT333E", "2", 12.0),
        ("WT332E", "sum", 36.0),
        ("WT332E", "3", 18.0),
    ],
)
def test_an_element_or_the_sum_of_all_is_measured_whatever_the_wiring_was(
    simulate: Any,
    clocks: Clocks,
    until: Any,
    model: str,
    element: str,
    power_w: float,
) -> None:
    address = simulate("--model", model, "--load", "constant:36W").address
    with contextlib.closing(Link(address)) as link:
        meter = wt300(link, clocks)
        if element == "sum":
            # The sum would leave out the second element.
            link.write(":INPUT:WIRING P3W3")
        setup = Setup(150.0, 1.0, 0.1, 3600, element=element)
        meter.configure(setup)
        assert meter.changes(setup) == ()
        # The first readings may still be of the former settings.
        until(lambda: meter.read().power_w == pytest.approx(power_w, rel=1e-4))
        until(
            lambda: (
                meter.peaks().voltage_v == pytest.approx(120 * math.sqrt(2), rel=1e-3)
            )
        )
        meter.restore()
        assert element != "sum" or link.query(":INPUT:WIRING?").endswith(" P3W3")


def test_settings_are_the_same_in_short_words_and_with_headers(box: Any) -> None:
    meter, spy = box
    meter.configure(SETUP)
    spy.write(":COMMUNICATE:HEADER ON;VERBOSE OFF")
    assert meter.changes(SETUP) == ()
    assert meter.read().state is IntegratorState.RESET


@pytest.fixture
def three(
    simulate: Any,
    clocks: Clocks,
) -> Iterator[tuple[Wt300, Link]]:
    """A driver of a meter with three elements, and a second link."""
    address = simulate("--model", "WT333E", "--load", "constant:36W").address
    with (
        contextlib.closing(Link(address)) as link,
        contextlib.closing(Link(address)) as spy,
    ):
        yield wt300(link, clocks), spy


SPOILT = (
    ":NUMERIC:NORMAL:ITEM6 WH,1",
    ":NUMERIC:NORMAL:NUMBER 3",
    ":NUMERIC:FORMAT FLOAT",
    ":HOLD ON",
    ":NUMERIC:HOLD ON",
    ":MEASURE:MHOLD ON",
    ":STATUS:FILTER1 NEVER",
)


@pytest.mark.parametrize("spoilt", SPOILT)
def test_the_energy_of_record_is_the_right_one_whatever_somebody_did_to_the_values(
    three: Any,
    until: Any,
    spoilt: str,
) -> None:
    meter, spy = three
    setup = Setup(150.0, 1.0, 0.1, 1, element="sum")
    meter.configure(setup)
    meter.start()
    until(lambda: meter.read().power_w > 0)
    spy.write(spoilt)
    until(lambda: meter.state() is IntegratorState.TIMEUP)
    found = meter.changes(setup)
    assert len(found) == 1
    final = meter.read_final()
    assert final.energy_wh == pytest.approx(0.01)
    assert final.integrator_s == 1.0
    assert meter.changes(setup) == found, (
        "what is put right for the final reading is still reported"
    )
    meter.configure(setup)
    assert meter.changes(setup) == ()


WATCHED = (
    ":NUMERIC:NORMAL:NUMBER?",
    ":NUMERIC:FORMAT?",
    ":STATUS:FILTER1?",
    ":COMMUNICATE:HEADER?",
)


def everything(spy: Link) -> list[str]:
    return [
        spy.query(query)
        for query in (
            *WATCHED,
            *(f":NUMERIC:NORMAL:ITEM{place}?" for place in range(1, 256)),
        )
    ]


def test_looking_leaves_a_run_of_another_element_alone(
    three: Any,
    clocks: Clocks,
    until: Any,
) -> None:
    meter, spy = three
    meter.configure(Setup(150.0, 1.0, 1.0, 60, element="sum"))
    meter.start()
    before = everything(spy)
    onlooker = wt300(Link(spy.address), clocks)
    onlooker.look("2")
    assert [one for one in everything(spy) if one not in before] != []
    assert everything(spy)[:40] == before[:40]
    reading = onlooker.read()
    assert reading.state is IntegratorState.START
    assert math.isnan(onlooker.peaks().voltage_v) or onlooker.peaks().voltage_v > 0
    until(lambda: onlooker.read().power_w > 0)
    assert onlooker.read().power_w == pytest.approx(12.0)
    assert meter.read_update()[1], "the onlooker has read the run's event"
    assert meter.read().power_w == pytest.approx(36.0)
    onlooker.close()
    # Behind the settings the items are in their order: only its own, from 201 on, are others now.
    assert everything(spy)[: len(WATCHED) + 200] == before[: len(WATCHED) + 200]


def test_an_onlooker_that_comes_and_goes_leaves_another_one_its_values(
    three: Any,
    clocks: Clocks,
) -> None:
    _, spy = three
    first = wt300(Link(spy.address), clocks)
    second = wt300(Link(spy.address), clocks)
    first.look("1")
    taken = everything(spy)
    second.look("1")
    second.close()
    assert everything(spy) == taken
    first.read()
    first.close()


def test_looking_does_not_turn_a_meter_that_integrates_from_binary_to_text(
    three: Any,
) -> None:
    meter, spy = three
    spy.write(":NUMERIC:FORMAT FLOAT;:INTEGRATE:START")
    with pytest.raises(MeterError) as caught:
        meter.look("1")
    assert caught.value.code == "meter-busy"
    spy.write(":INTEGRATE:STOP")
    meter.look("1")
    meter.read()
    meter.close()
    assert "FLO" in spy.query(":NUMERIC:FORMAT?")


def test_looking_works_with_headers_and_short_words(
    three: Any,
    until: Any,
) -> None:
    meter, spy = three
    spy.write(":COMMUNICATE:HEADER ON;VERBOSE OFF")
    meter.look("sum")
    until(lambda: meter.read().power_w == pytest.approx(36.0))
    assert meter.peaks().voltage_v == pytest.approx(120 * math.sqrt(2), rel=1e-3)
    assert meter.status().mode == "rms"
    assert spy.query(":COMMUNICATE:VERBOSE?") == ":COMM:VERB 0"
