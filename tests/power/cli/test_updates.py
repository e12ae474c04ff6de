"""What `meter certify` finds out of the updates around a reset and a START."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpirc_power.cli.certifying import Certification
from lpirc_power.cli.transcript import Transcript
from lpirc_power.cli.updates import Updates, start_part, start_sentence
from lpirc_power.meter import Setup
from lpirc_power.visa.link import Link
from tests.power.logged_box import LoggedBox, served

LATE = "START came too late after an update; try again."
SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=0.5,
    update_interval_s=0.1,
    integrator_timer_s=0,
)


def found(address: str) -> dict[str, list[tuple[bool, str]]]:
    """Return what the calls one by one find: for each code whether it is ok, and the sentence."""
    tried = Certification(address, SETUP)
    told = dict[str, list[tuple[bool, str]]]()
    with tried.transcript.opened():
        tried.converse()
    for one in tried.findings:
        told.setdefault(one.code, []).append((one.ok, one.sentence))
    return told


@pytest.mark.parametrize(
    ("dialect", "how"),
    [
        ("log2015", "updates restart at START."),
        ("free-running", "START does not restart updates."),
    ],
)
def test_it_is_told_whether_updates_restart_at_start_and_neither_differs(
    simulate: Any,
    dialect: str,
    how: str,
) -> None:
    timely: list[str] = []
    while not timely:  # a busy machine may start the meter too late, and says so
        told = found(simulate("--dialect", dialect).address)
        assert [ok for findings in told.values() for ok, _ in findings if not ok] == []
        timely = [
            sentence
            for _, sentence in told["start-update"]
            if not sentence.endswith(LATE)
        ]
    assert {sentence.endswith(how) for sentence in timely} == {True}


@pytest.mark.parametrize(
    "box",
    [LoggedBox(latched=True), LoggedBox(values={"WH": "-0.00000E+00"})],
)
def test_a_reset_that_shows_with_the_next_update_or_as_minus_0_does_not_differ(
    box: LoggedBox,
) -> None:
    with served(box) as address:
        told = found(address)
    assert told["reset"] == [(True, "WH is 0 after the reset.")] * 2
    words = (
        ("START does not restart updates.", LATE)
        if box.latched
        else ("constant power.",)
    )
    assert all(ok and sentence.endswith(words) for ok, sentence in told["start-update"])


def test_a_start_that_comes_late_does_not_tell_whether_updates_restart(
    reading: Any,
) -> None:
    whole = [
        reading(float(second), power_w=36.0, energy_wh=0.01 * second)
        for second in range(1, 5)
    ]
    assert start_sentence(whole, 1.0, 0.6).endswith("updates restart at START.")
    assert start_sentence(whole, 1.0, 0.95).endswith(LATE)
    assert start_sentence(whole, 1.0, math.inf).endswith(LATE)


def test_energy_that_is_there_after_a_reset_still_differs() -> None:
    with served(LoggedBox(values={"WH": "1.00000E+00"})) as address:
        told = found(address)
    assert told["reset"][0] == (
        False,
        "WH is 0 after the reset: no, it is 1.0, not 0.0.",
    )


@example(part=1.0, power_w=1.0, interval_s=0.25)
@given(
    part=st.floats(0.01, 1.0),
    power_w=st.floats(0.5, 500.0),
    interval_s=st.sampled_from([0.1, 0.25, 5.0]),
)
def test_the_part_is_found_whichever_update_is_read_first(
    reading: Any,
    part: float,
    power_w: float,
    interval_s: float,
) -> None:
    update_wh = power_w * interval_s / 3600

    def after(updates: int) -> Any:
        return reading(
            updates * interval_s,
            power_w=power_w,
            energy_wh=(updates - 1 + part) * update_wh,
        )

    waiting = reading(0.0, power_w=power_w, energy_wh=0.0)
    for read in ((1, 2, 3), (2, 4, 9)):
        assert start_part([waiting, *map(after, read)], interval_s) == pytest.approx(
            part,
            abs=1e-6,
        )


def test_without_a_steady_load_or_without_updates_nothing_is_said(reading: Any) -> None:
    steps = [
        reading(float(second), power_w=2.0 + 7.0 * (second % 2), energy_wh=second)
        for second in range(5)
    ]
    idle = [reading(float(second), power_w=0.0, energy_wh=0.0) for second in range(5)]
    for readings in ([], steps, idle, [reading(1.0, energy_wh=0.1)]):
        assert start_sentence(readings, 1.0, 0.6).startswith("Unknown ")


def test_an_update_is_placed_before_the_question_whose_answer_was_slow(
    reading: Any,
) -> None:
    """The meter answers the first question at once, but the host is busy and has the answer 80 ms later."""
    times_s = iter([10.0, 10.1])
    samples = iter(
        [
            (reading(10.08), False),
            (reading(10.11), True),
        ]
    )
    updates = Updates(
        lambda: next(samples), lambda _wait_s: None, 0.1, lambda: next(times_s)
    )
    assert updates.let_one_pass() == 10.0


@dataclass
class TimedBox(LoggedBox):
    """Notes when it has carried out its last message."""

    taken_s: float = 0.0

    def take(
        self,
        message: str,
    ) -> str | None:
        answer = super().take(message)
        self.taken_s = time.monotonic()
        return answer


def test_a_start_counts_from_the_moment_by_which_the_meter_has_carried_it_out() -> None:
    transcript = Transcript()
    box = TimedBox()
    with (
        served(box) as address,
        transcript.opened(),
        contextlib.closing(Link(address)) as link,
    ):
        link.query("*IDN?")
        assert transcript.last_written_s() == math.inf
        link.write(":INTEGRATE:START")
        assert transcript.last_written_s() >= box.taken_s > 0
    assert box.state == "STAR"
