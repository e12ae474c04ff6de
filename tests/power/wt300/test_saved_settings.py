"""What the driver found in a meter is put back at the end, whatever happened in between."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError, MeterTimeout
from lpirc_power.meter import Setup
from lpirc_power.sampling.sampler import Sampler
from lpirc_power.visa.link import Link
from lpirc_power.wt300.driver import Wt300
from lpirc_power.wt300.former_settings import FormerSettings
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


FORMER = (
    ":INPUT:CFACTOR 6",
    ":INPUT:MODE VMEAN",
    ":INPUT:FILTER:LINE ON",
    ":INPUT:FILTER:FREQUENCY ON",
    ":INPUT:SYNCHRONIZE CURRENT",
    ":INPUT:VOLTAGE:RANGE 75",
    ":INPUT:CURRENT:AUTO ON",
    ":RATE 2",
    ":INTEGRATE:MODE CONTINUOUS",
    ":INTEGRATE:TIMER 1,2,3",
    ":STATUS:FILTER1 BOTH",
    ":NUMERIC:NUMBER 3",
    ":NUMERIC:ITEM2 UPPEAK,1",
    ":NUMERIC:ITEM9 TIME,1",
    ":COMMUNICATE:HEADER ON",
    ":COMMUNICATE:VERBOSE OFF",
)
ASKED = (
    *(
        ":INPUT:CFACTOR?",
        ":INPUT:MODE?",
        ":INPUT:FILTER:LINE?",
        ":INPUT:FILTER:FREQUENCY?",
        ":INPUT:SYNCHRONIZE?",
    ),
    *(
        ":INPUT:VOLTAGE:RANGE?",
        ":INPUT:VOLTAGE:AUTO?",
        ":INPUT:CURRENT:AUTO?",
        ":RATE?",
        ":INTEGRATE:MODE?",
    ),
    *(
        ":INTEGRATE:TIMER?",
        ":STATUS:FILTER1?",
        ":NUMERIC:FORMAT?",
        ":NUMERIC:NUMBER?",
        ":COMMUNICATE:VERBOSE?",
    ),
    *(f":NUMERIC:ITEM{place}?" for place in range(1, 12)),
)


def everything(spy: Link) -> list[str]:
    return [spy.query(query) for query in ASKED]


@pytest.fixture
def found(box: Any) -> tuple[Wt300, Link, list[str]]:
    """A meter that somebody left far from what a run needs."""
    meter, spy = box
    for command in FORMER:
        spy.write(command)
    return meter, spy, everything(spy)


def test_the_settings_found_are_put_back(found: Any) -> None:
    meter, spy, before = found
    meter.attach()
    meter.configure(SETUP)
    meter.peaks()
    meter.configure(Setup(None, None, 0.5, 10, mode="dc", crest_factor=6))
    assert everything(spy) != before
    meter.restore()
    assert everything(spy) == before
    assert before[0].startswith(":")  # headers are on again
    assert spy.query(":STATUS:ERROR?").startswith("0,")


def test_a_second_restore_does_nothing_and_a_later_setup_starts_anew(
    found: Any,
) -> None:
    meter, spy, _ = found
    meter.configure(SETUP)
    meter.restore()
    spy.write(":INPUT:VOLTAGE:RANGE 150")
    meter.restore()
    assert spy.query(":INPUT:VOLTAGE:RANGE?") == ":INP:VOLT:RANG 150.0E+00"
    meter.configure(SETUP)
    meter.restore()
    assert spy.query(":INPUT:VOLTAGE:RANGE?") == ":INP:VOLT:RANG 150.0E+00"


def test_who_never_configured_has_nothing_to_put_back(box: Any) -> None:
    meter, spy = box
    meter.attach()
    spy.write(":INPUT:VOLTAGE:RANGE 60")
    meter.restore()
    assert spy.query(":INPUT:VOLTAGE:RANGE?") == "60.0E+00"


@pytest.mark.parametrize(
    "at",
    [":RATE ", ":NUMERIC:NORMAL:NUMBER "],
)  # while measuring is set up, and talking
def test_settings_come_back_also_after_a_failed_setup(
    found: Any,
    clocks: Clocks,
    at: str,
) -> None:
    _, spy, before = found
    former = FormerSettings()
    with contextlib.closing(Link(spy.address)) as link:
        with pytest.raises(MeterError, match="broken on purpose"):
            wt300(Breaking(link, at), clocks, former).configure(SETUP)
        assert everything(spy) != before
        wt300(link, clocks, former).restore()
    assert everything(spy) == before


def test_settings_come_back_after_a_setup_that_the_meter_cannot_have(
    found: Any,
) -> None:
    meter, spy, before = found
    with pytest.raises(MeterError):
        meter.configure(Setup(60.0, 3.0, 0.1, 60))
    meter.restore()
    assert everything(spy) == before


def test_a_meter_that_integrates_for_somebody_else_is_left_as_it_is_in_how_it_answers_too(
    found: Any,
    clocks: Clocks,
) -> None:
    _, spy, before = found
    spy.write(":INTEGRATE:START")
    sampler = Sampler(
        spy.address,
        SETUP,
        lambda _: None,
        clocks.monotonic,
        clocks.utcnow,
    )
    with contextlib.closing(sampler), pytest.raises(MeterError) as caught:
        sampler.arm()
    assert caught.value.code == "meter-busy"
    assert everything(spy) == before
    assert spy.query(":INTEGRATE:STATE?") == "STAR"


class Breaking:
    """A link that fails at one command."""

    def __init__(
        self,
        link: Link,
        at: str,
    ) -> None:
        self._link = link
        self._at = at
        self.query = link.query

    def write(
        self,
        message: str,
    ) -> None:
        if message.startswith(self._at):
            raise MeterTimeout("broken on purpose")
        self._link.write(message)


def test_a_driver_on_a_new_link_knows_the_former_settings(
    found: Any,
    clocks: Clocks,
    simulate: Any,
) -> None:
    _, spy, before = found
    former = FormerSettings()
    with (
        contextlib.closing(Link(spy.address)) as first,
        contextlib.closing(Link(spy.address)) as second,
    ):
        wt300(first, clocks, former).configure(SETUP)
        again = wt300(second, clocks, former)
        again.attach()
        again.restore()
        assert everything(spy) == before
    with (
        contextlib.closing(Link(spy.address)) as first,
        contextlib.closing(Link(simulate("--serial", "ANOTHER").address)) as other,
    ):
        wt300(first, clocks, former).configure(SETUP)
        # Another meter: what was found does not belong to it.
        wt300(
            other,
            clocks,
            former,
        ).restore()
        assert other.query(":INPUT:VOLTAGE:AUTO?").endswith(":AUTO 1")


def test_a_meter_that_integrates_is_not_restored(found: Any) -> None:
    meter, spy, before = found
    meter.configure(SETUP)
    meter.start()
    with pytest.raises(MeterError) as caught:
        meter.restore()
    assert caught.value.code == "meter-busy"
    assert meter.changes(SETUP) == ()
    meter.stop()
    meter.restore()
    assert everything(spy) == before
