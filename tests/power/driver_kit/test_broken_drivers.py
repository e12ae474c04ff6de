"""The kit names each planted fault, and raises no false alarm for a driver without one."""

from __future__ import annotations

from typing import Any

import pytest

from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.cable import AskedCable, Cable
from lpirc_power.driver_kit.finding import Finding, Verdict
from lpirc_power.driver_kit.kit import examined_alone
from lpirc_power.driver_kit.known_load import known_load
from lpirc_power.driver_kit.subject import subject_of
from lpirc_power.meter import Setup
from tests.power.driver_kit.drivers import DEVICE, POWER_W, SlowCounter
from tests.power.home.conftest import HandClock

DRIVERS = "tests.power.driver_kit.drivers"


class Table:
    """The table with the device; what lies on it can be unplugged. Implements lpirc_power.driver_kit.cable.Cable."""

    why_not = ""
    can_hang = True
    can_spoil = True

    @property
    def is_spoiled(self) -> bool:
        return DEVICE.is_garbled

    def spoil(self) -> None:
        DEVICE.is_garbled = True

    def pull(self) -> None:
        DEVICE.is_there = False

    hang = pull

    def plug(self) -> None:
        DEVICE.is_there = True
        DEVICE.is_garbled = False

    close = plug


@pytest.fixture
def kit() -> Any:
    """Examine a driver by the name of its class, on a clock that no one waits for."""
    hand = HandClock()
    DEVICE.counts_from_s = hand.now_s
    DEVICE.is_there = True
    SlowCounter.passes = hand.passes

    def restart() -> None:
        DEVICE.counts_from_s = hand.now_s

    def examine(
        name: str,
        cable: Cable | None = None,
        setup: Setup = Setup(None, None, 0.25, 0),  # noqa: B008 - it is frozen
    ) -> dict[str, Finding]:
        address = "acme:127.0.0.1:80"
        bench = Bench(
            subject=subject_of(f"{DRIVERS}:{name}", address),
            address=address,
            setup=setup,
            seconds=5.0,
            clocks=hand.clocks(),
            cable=cable or Table(),
            load=known_load(f"{POWER_W}W", 0.01),
            restart=restart,
        )
        return {one.code: one for one in examined_alone(bench)}

    return examine


def test_a_clean_driver_has_no_fault_and_every_demand_on_it_is_tried(kit: Any) -> None:
    found = kit("Clean")
    assert [one.line for one in found.values() if one.failed] == []
    untried = {one.code for one in found.values() if one.verdict is Verdict.NOT_TRIED}
    assert untried == {"find", "library", "dialect"}


def test_ranges_that_the_meter_lacks_are_left_out_and_that_is_said(kit: Any) -> None:
    found = kit("Clean", setup=Setup(150.0, 0.5, 0.25, 0))
    assert [one.line for one in found.values() if one.failed] == []
    assert "offers no ranges" in found["choices"].line


@pytest.mark.parametrize(
    ("driver", "code", "said"),
    [
        ("CountsJoules", "energy", "that is watt-seconds (joules), not watt-hours"),
        ("ShowsMilliwatts", "units", "milli for units?"),
        ("ShowsMilliwatts", "load", "36000 W are shown for a load of 36 W"),
        ("FactorInPercent", "units", "give a fraction, not percent"),
        ("TenPercentTooHigh", "load", "39.6 W are shown for a load of 36 W"),
        ("CountsLooks", "late", "in a pause of 1.5 s WH rose by"),
        ("LimitsInPercent", "limits", "reading_share = 1 is 100 %"),
        ("LimitsWithoutSource", "limits", "`source` is empty"),
        ("OwnTermWithoutASize", "limits", "of which one must be above 0"),
        ("OwnTermOfNoNumber", "limits", "the own term 'clamp' has share = nan"),
        ("OwnTermTooLarge", "limits", "the own term 'clamp' has energy_wh = 1e+300"),
        ("AgeOfNoNumber", "limits", "age_s = nan, where a number from 0 to 3600"),
        ("LimitsThatChange", "same-limits", "than at the beginning: reading_share ="),
        ("ForgetsThatTheCounterIsFull", "stop", "takes wrap=Wrap(at_wh, most_w)"),
        ("LetsErrorsEscape", "calls", "failed to do `read`: KeyError: 'total'"),
        ("UtcWithoutZone", "calls", "without its time zone: use clocks.utcnow()"),
        ("OtherClock", "readings", "use clocks.monotonic()"),
        ("AlwaysNew", "updates", "were marked as new; an update each 0.25 s makes"),
        ("NeverNew", "updates", "No answer in 5 s was marked as new"),
        ("AnswersSlowly", "speed", "and an update comes each 250 ms"),
        ("MarksFew", "updates", "were marked as new; an update each 0.25 s makes"),
        ("Forgets", "link", "the integrator that ran is in state RESET"),
        ("ShowsOldReadings", "lost", "goes on returning readings"),
        ("LossEndsTheRun", "lost", "raises meter-refused, which ends a run"),
        ("AsksNobody", "unreachable", "`connect` returns a meter"),
        ("UnreachableEscapes", "unreachable", "TimeoutError: timed out"),
        ("IgnoresTheTimer", "timer", "the state is START after the timer's end"),
        ("RunsOn", "stop", "energy_wh goes from"),
        ("ResetsWhatRuns", "busy", "`configure` resets an integrator that runs"),
        ("Restless", "two-links", "a second link shows ACME Plug link-"),
        ("TalksOfElsewhere", "standing", "leads to this machine, and neither"),
        ("ClosesOnce", "close", "OSError: Bad file descriptor"),
        ("TakesAnyAddress", "address", "raises ValueError: invalid literal"),
        ("TakesARestartForAWrap", "restart", "WH rose by 65."),
        ("LetsRubbishEscape", "rubbish", "ValueError: not a number: '?'"),
        ("TakesRubbishForNothing", "rubbish", "state ERROR"),
        ("CountsEachSecond", "age", "WH changes each 1 s, but without `age_s`"),
        ("StatesTooYoung", "age", "but the driver states values up to 0.1 s old"),
        ("ListsHosts", "find", "'kitchen' is listed"),
    ],
)
def test_a_planted_fault_is_named(
    kit: Any,
    driver: str,
    code: str,
    said: str,
) -> None:
    finding = kit(driver)[code]
    assert finding.failed, finding.line
    assert said in finding.sentence
    assert finding.advice


def test_what_a_driver_states_as_its_own_is_allowed_to_a_known_load(kit: Any) -> None:
    assert not kit("ClampOfTenPercent")["load"].failed


def test_a_counter_that_is_full_is_counted_on_by_a_home_meter_that_knows_its_size(
    kit: Any,
) -> None:
    found = kit("UnwrapsTheCounter")
    counts = ("energy", "late", "link", "stop", "timer", "age")
    assert [found[code].line for code in counts if found[code].failed] == []


def test_an_age_that_the_driver_states_holds_for_a_counter_of_that_age(
    kit: Any,
) -> None:
    finding = kit("StatesItsAge")["age"]
    assert not finding.failed, finding.line
    assert "cannot be seen" in finding.sentence


def test_a_device_that_updates_less_often_than_it_is_asked_is_not_said_to_update_each_time(
    kit: Any,
) -> None:
    said = kit("StatesItsAge")["updates"].sentence
    assert "each update once" not in said
    assert "different values: a device that updates less often states" in said
    assert "each update once" in kit("Clean")["updates"].sentence


def test_an_error_that_escapes_is_told_with_its_line(kit: Any) -> None:
    assert "(drivers.py, line " in kit("LetsErrorsEscape")["calls"].sentence


def test_a_counter_that_begins_anew_shows_as_an_error_of_the_integrator(
    kit: Any,
) -> None:
    assert "state ERROR" in kit("Clean")["restart"].sentence


@pytest.mark.parametrize(
    ("driver", "codes"),
    [
        ("CountsJoules", {"energy"}),
        ("ShowsMilliwatts", {"units", "load", "energy"}),
        ("LimitsInPercent", {"limits"}),
        ("AlwaysNew", {"updates", "late"}),
        ("IgnoresTheTimer", {"timer"}),
        ("LossEndsTheRun", {"lost", "silent"}),
        ("AgeOfNoNumber", {"limits"}),
        ("LimitsThatChange", {"same-limits"}),
    ],
)
def test_a_fault_is_told_where_it_is_and_not_everywhere(
    kit: Any,
    driver: str,
    codes: set[str],
) -> None:
    found = kit(driver)
    assert {code for code, one in found.items() if one.failed} == codes


def test_a_person_is_asked_to_disconnect_the_device_and_to_connect_it_again(
    kit: Any,
) -> None:
    asked: list[str] = []

    def ask(question: str) -> None:
        asked.append(question.partition(" ")[0])
        DEVICE.is_there = question.startswith("Connect")

    found = kit("Clean", AskedCable(ask))
    assert [one.line for one in found.values() if one.failed] == []
    assert asked == ["Disconnect", "Connect"] * 2  # for `lost`, and for `unreachable`
    assert found["silent"].verdict is Verdict.NOT_TRIED
