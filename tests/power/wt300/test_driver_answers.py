"""The driver before answers that no simulated meter gives, or only with luck."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError, MeterLost, MeterRefused, MeterTimeout
from lpirc_power.meter import Setup, Unconfirmed
from lpirc_power.wt300.former_settings import FormerSettings
from lpirc_power.wt300.models import model_named
from lpirc_power.wt300.run_settings import (
    OPTIONAL,
    PANEL_LOCKS,
    measuring,
    measuring_headers,
)
from lpirc_power.wt300.sample import SampleForm
from tests.power.opened import wt300


@pytest.mark.parametrize(
    ("element", "condition", "flags"),
    [
        ("1", 1 << 6 | 1 << 7 | 1 << 8, (True, True, True)),
        ("1", 0b111 << 9 | 0b111 << 12 | 1 << 3, (False, False, False)),
        ("2", 1 << 9, (True, False, False)),
        ("3", 1 << 13, (False, True, False)),
        ("sum", 1 << 14, (False, False, True)),
        ("sum", 1 << 3, (True, False, False)),
        ("sum", 1 << 9 | 1 << 7, (True, True, False)),
    ],
)
def test_flags_are_those_of_what_is_measured(
    clocks: Clocks,
    element: str,
    condition: int,
    flags: tuple[bool, bool, bool],
) -> None:
    link = Canned("WT333E")
    meter = wt300(link, clocks)
    meter.attach(element)
    named = "SIGMA" if element == "sum" else element
    link.answers[SampleForm.of_run(element).question] = (
        f"1;120,.3,36,36,1,0,0,150,1;P,{named};WH,{named};{condition};START"
    )
    reading = meter.read()
    assert (
        reading.over_range,
        reading.voltage_peak_over,
        reading.current_peak_over,
    ) == flags


class Canned:
    """A link whose answers are given, to each question of a message; a setting is remembered and read back."""

    def __init__(
        self,
        model: str = "WT310",
    ) -> None:
        self.answers: dict[str, str | MeterError | list[str | MeterError]] = {
            "*IDN?": f"YOKOGAWA,{model},X,F1.03",
            ":RATE?": "100.0E-03",
            ":STATUS:ERROR?": '0,"No error"',
            ":INTEGRATE:STATE?": "RESET",
        }
        self.written: list[str] = []
        self.timeout_ms: list[int | None] = []

    def write(
        self,
        message: str,
    ) -> None:
        self.written.append(message)
        header, _, data = message.partition(" ")
        self.answers[f"{header}?"] = data

    def query(
        self,
        message: str,
        timeout_ms: int | None = None,
    ) -> str:
        self.timeout_ms.append(timeout_ms)
        if message in self.answers or ";" not in message:
            return self._answer(message)
        return ";".join(map(self._answer, message.split(";")))

    def _answer(
        self,
        message: str,
    ) -> str:
        answer = self.answers.get(message, "")
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, MeterError):
            raise answer
        return answer


class WithoutRanges(Canned):
    """A meter that refuses its ranges as items."""

    def write(
        self,
        message: str,
    ) -> None:
        header, _, data = message.partition(" ")
        super().write(f"{header} NONE" if "RANGE,1" in data else message)


def test_a_meter_that_refuses_its_ranges_as_items_is_read_without_them(
    clocks: Clocks,
    caplog: pytest.LogCaptureFixture,
) -> None:
    meter = wt300(link := WithoutRanges(), clocks)
    meter.attach()
    assert "The range of each single reading is not known" in caplog.text
    assert link.answers[":NUMERIC:NORMAL:NUMBER?"] == "7"
    sample = "1;120,.3,36,36,1,.5,50;P,1;WH,1;0;START"
    link.answers[SampleForm.of_run("1").question] = sample
    reading = meter.read()
    assert reading.energy_wh == 0.5
    assert reading.integrator_s == 50
    assert math.isnan(reading.voltage_range_v)
    assert math.isnan(reading.current_range_a)


SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=0.5,
    update_interval_s=0.1,
    integrator_timer_s=60,
)
WT310 = next(model for model in [model_named("WT310")] if model is not None)
UPDATE = "1;120,.3,36,36,1,.5,50,150,.5;P,1;WH,1;0;START"


class Watched(Canned):
    """A meter that is set up for a run and has an update each time; `asked` are the questions for its settings."""

    def __init__(self) -> None:
        super().__init__()
        self.answers |= dict.fromkeys((f"{header}?" for header in OPTIONAL), "0")
        self.answers[SampleForm.of_run("1").question] = UPDATE
        self.asked: list[str] = []

    def write(
        self,
        message: str,
    ) -> None:
        super().write(message)
        for rate_s in (0.1, 0.5, 5.0):
            for setting in measuring(replace(SETUP, update_interval_s=rate_s), WT310):
                if setting.command == message:
                    self.answers[setting.query] = setting.expected

    def query(
        self,
        message: str,
        timeout_ms: int | None = None,
    ) -> str:
        if message in self.answers or ";" not in message:
            self.asked.append(message)
            return super().query(message, timeout_ms)
        return ";".join(self.query(part) for part in message.split(";"))


@pytest.mark.parametrize(("interval_s", "updates"), [(0.1, 20), (0.5, 4), (5.0, 1)])
def test_every_setting_is_asked_for_within_two_seconds_or_an_update(
    clocks: Clocks,
    interval_s: float,
    updates: int,
) -> None:
    meter = wt300(link := Watched(), clocks)
    setup = replace(SETUP, update_interval_s=interval_s)
    meter.configure(setup)
    wanted = {setting.query for setting in measuring(setup, WT310)}
    link.asked.clear()
    assert {meter.read().changed for _ in range(updates)} == {""}
    assert wanted <= set(link.asked)


def test_a_setting_that_is_changed_in_mid_run_is_named_by_the_samples_that_ask_for_it(
    clocks: Clocks,
) -> None:
    meter = wt300(link := Watched(), clocks)
    meter.configure(SETUP)
    link.answers[":MEASURE:AVERAGING:STATE?"] = "1"
    named = [one for one in (meter.read().changed for _ in range(40)) if one]
    assert 2 <= len(named) <= 4
    assert set(named) == {":MEASURE:AVERAGING:STATE OFF was set, it is 1"}


def test_an_answer_that_is_garbled_once_is_no_change(clocks: Clocks) -> None:
    meter = wt300(link := Watched(), clocks)
    meter.configure(SETUP)
    for setting in measuring(SETUP, WT310):
        sound = link.answers[setting.query]
        link.answers[setting.query] = ["nonsense", *[sound] * 40]  # type: ignore[list-item]
    assert {meter.read().changed for _ in range(40)} == {""}


SILENT = MeterTimeout("no answer")


@pytest.mark.parametrize("first", [[SILENT], ["STA"], [SILENT, "", "RESET"]])
def test_a_meter_that_answers_nothing_right_after_the_start_has_started_all_the_same(
    clocks: Clocks,
    first: list[Any],
) -> None:
    link = Canned()
    link.answers[":INTEGRATE:STATE?"] = [*first, "START"]
    wt300(link, clocks).start()
    assert link.written == [":INTEGRATE:START"]


@pytest.mark.parametrize("answer", ["nan", "9.91E+37", "1e300", "0", "-1", "START"])
def test_an_update_interval_that_can_be_none_is_no_answer(
    clocks: Clocks,
    answer: str,
) -> None:
    link = Canned()
    link.answers[":RATE?"] = answer
    meter = wt300(link, clocks)
    link.query = lambda message, timeout_ms=None: Canned.query(link, message) or "0"  # type: ignore[method-assign]
    with pytest.raises(MeterError) as caught:
        meter.status()
    assert caught.value.code == "meter-answer"
    assert repr(answer) in caught.value.sentence


def test_a_start_that_never_comes_true_says_why() -> None:
    now_s = iter(range(100))
    hurried = Clocks(lambda: float(next(now_s)), lambda: None, lambda _s: None)  # type: ignore[arg-type, return-value]
    link = Canned()
    link.answers |= {
        ":INTEGRATE:STATE?": "TIMEUP",
        ":STATUS:ERROR?": ['842,"x"', '0,"No error"'],
    }
    with pytest.raises(
        MeterError,
        match=r"answers TIMEUP.*842.*must be reset first",
    ) as caught:
        wt300(link, hurried).start()
    assert caught.value.code == "meter-refused"


def test_a_link_that_breaks_at_the_start_is_lost(clocks: Clocks) -> None:
    link = Canned()
    link.answers[":INTEGRATE:STATE?"] = MeterLost("gone")
    with pytest.raises(MeterError) as caught:
        wt300(link, clocks).start()
    assert caught.value.code == "meter-lost"


def test_a_zero_level_that_cannot_be_compensated_is_told(clocks: Clocks) -> None:
    link = Canned()
    link.answers["*CAL?"] = "1"
    with pytest.raises(
        MeterError,
        match="could not compensate its zero level, it answers 1",
    ) as caught:
        wt300(link, clocks).zero()
    assert caught.value.code == "meter-refused"
    assert 60_000 in link.timeout_ms


def test_what_does_not_go_back_is_told_after_all_else_is_back(clocks: Clocks) -> None:
    link = Canned()
    former = FormerSettings()
    meter = wt300(link, clocks, former)
    headers = measuring_headers(model_named("WT310"))
    link.answers |= {f"{header}?": "1" for header in headers}
    former.keep(headers, lambda queries: [link.query(one) for one in queries])
    former.is_due = True
    write = link.write

    def stubborn(message: str) -> None:
        write(message)
        if message == ":RATE 1":
            link.answers[":RATE?"] = "100.0E-03"

    link.write = stubborn  # type: ignore[method-assign]
    with pytest.raises(
        MeterError,
        match=r"Not all former settings are restored.*:RATE 1 ",
    ) as caught:
        meter.restore()
    assert caught.value.code == "meter-refused"
    assert link.answers[":INTEGRATE:TIMER?"] == "1"
    link.write = write  # type: ignore[method-assign]
    meter.restore()
    assert link.answers[":RATE?"] == "1"


@pytest.mark.parametrize("node", ["VOLTAGE", "CURRENT"])
def test_a_range_that_the_meter_chooses_again_at_once_leaves_automatic_ranging_on(
    clocks: Clocks,
    node: str,
) -> None:
    link = Canned()
    former = FormerSettings()
    meter = wt300(link, clocks, former)
    headers = measuring_headers(model_named("WT310"))
    auto = f":INPUT:{node}:AUTO"
    ranging = f":INPUT:{node}:RANGE"
    link.answers |= {f"{header}?": "1" for header in headers}
    former.keep(headers, lambda queries: [link.query(one) for one in queries])
    former.is_due = True
    link.answers |= {f"{auto}?": "0", f"{ranging}?": "5"}
    write = link.write

    def ranges(message: str) -> None:
        write(message)
        if message == f"{auto} 1":
            link.answers[f"{ranging}?"] = "2"
        elif message.startswith(ranging):
            link.answers[f"{auto}?"] = "0"

    link.write = ranges  # type: ignore[method-assign]
    meter.restore()
    assert link.answers[f"{auto}?"] == "1"
    assert link.answers[f"{ranging}?"] == "2"


def test_what_only_some_meters_say_is_understood(clocks: Clocks) -> None:
    link = Canned("WT310E")
    link.answers |= {
        ":INPUT:CFACTOR?": "A6",
        ":RATE?": "AUTO",
        ":INPUT:CURRENT:RANGE?": "EXTERNAL,50.00E-03",
        ":INPUT:VOLTAGE:RANGE?": "150.0E+00",
        ":INPUT:MODE?": "VME",
        ":INPUT:SYNCHRONIZE?": "CURR",
        **dict.fromkeys((":INPUT:VOLTAGE:AUTO?", ":INPUT:CURRENT:AUTO?"), "0"),
        **dict.fromkeys((":INPUT:FILTER:LINE?", ":INPUT:FILTER:FREQUENCY?"), "ON"),
    }
    status = wt300(link, clocks).status()
    assert status.crest_factor == 6
    assert status.update_interval_s == 0.1
    assert status.mode == "vmean"
    assert status.synchronize == "current"
    assert status.line_filter is True
    assert math.isnan(status.current_range_a)


ASKED = tuple(
    header
    for header in OPTIONAL
    if header not in (lock[-1].header for lock in PANEL_LOCKS)
)
"""Those that `configure` asks for."""
UNKNOWN = ['113,"Undefined header"', '0,"No error"']


@pytest.mark.parametrize("answer", [SILENT, "0,0,0"])
def test_a_meter_without_averaging_or_scaling_is_used_without(
    clocks: Clocks,
    answer: Any,
) -> None:
    link = Canned()
    setup = Setup(150.0, 1.0, 0.1, 60)
    for header in OPTIONAL:
        link.answers[f"{header}?"] = answer
    if answer is SILENT:
        link.answers[":STATUS:ERROR?"] = [*(UNKNOWN * len(ASKED)), '0,"No error"']
    write = link.write

    def without_units(message: str) -> None:
        write(re.sub(r"(\d)[VA]$", r"\1", message.replace("100MS", "0.1")))

    link.write = without_units  # type: ignore[method-assign]
    meter = wt300(link, clocks)
    meter.configure(setup)
    assert meter.changes(setup) == ()
    assert not any(message.startswith(OPTIONAL) for message in link.written)
    assert link.timeout_ms.count(500) == len(ASKED)


def test_a_meter_that_says_nothing_for_another_reason_is_not_set_up_by_half(
    clocks: Clocks,
) -> None:
    link = Canned()
    link.answers[f"{OPTIONAL[0]}?"] = SILENT
    with pytest.raises(MeterError) as caught:
        wt300(link, clocks).configure(Setup(150.0, 1.0, 0.1, 60))
    assert caught.value.code == "meter-timeout"


def test_the_sample_of_record_waits_for_an_update_but_not_for_ever() -> None:
    now_s = iter(range(1000))
    pauses: list[float] = []
    hurried = Clocks(lambda: float(next(now_s)), lambda: None, pauses.append)  # type: ignore[arg-type, return-value]
    link = Canned()
    link.answers[":RATE?"] = "5.000E+00"
    meter = wt300(link, hurried)
    meter.attach()
    link.answers |= dict.fromkeys(
        (":HOLD?", ":NUMERIC:HOLD?", ":MEASURE:MHOLD?", ":STATUS:EESR?"),
        "0",
    )
    old, new = (f"{flag};1,2,3,4,5,6,7,8,9;P,1;WH,1;0;STOP" for flag in "01")
    link.answers[SampleForm.of_run("1").question] = [old, old, new]
    assert meter.read_final().energy_wh == 6
    assert len(pauses) == 2
    link.answers[SampleForm.of_run("1").question] = old
    assert meter.read_final().energy_wh == 6
    # Two updates of 5 s, on a clock that goes a second at each look: four for a sample.
    assert len(pauses) - 2 in (2, 3)


def test_a_setting_whose_answer_has_no_meaning_is_unconfirmed_and_refuses_nothing(
    clocks: Clocks,
) -> None:
    link = Spelling()
    link.answers |= {
        ":RATE?": "?$!",
        ":INPUT:MODE?": "",
        ":INPUT:FILTER:LINE?": "PERHAPS",
    }
    meter = wt300(link, clocks)
    meter.configure(SETUP)
    found = meter.changes(SETUP)
    assert found == (
        ":INPUT:MODE RMS was set, but the meter answered ''",
        ":INPUT:FILTER:LINE OFF was set, but the meter answered 'PERHAPS'",
        ":RATE 100MS was set, but the meter answered '?$!'",
    )
    assert all(isinstance(phrase, Unconfirmed) for phrase in found)


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        (":RATE?", "AUTO"),
        (":INPUT:VOLTAGE:RANGE?", "300.0E+00"),
    ],
)
def test_another_setting_than_was_set_is_a_refusal(
    clocks: Clocks,
    asked: str,
    other: str,
) -> None:
    link = Spelling()
    link.answers[asked] = other
    with pytest.raises(MeterRefused, match=re.escape(other)):
        wt300(link, clocks).configure(SETUP)


SETUP = Setup(150.0, 0.5, 0.1, 60)


class Spelling(Canned):
    """Says back what was set, units and all, except where an answer was given beforehand."""

    def write(
        self,
        message: str,
    ) -> None:
        self.written.append(message)
        header, _, data = message.partition(" ")
        self.answers.setdefault(f"{header}?", data)

    def query(
        self,
        message: str,
        timeout_ms: int | None = None,
    ) -> str:
        if message in OPTIONAL_QUESTIONS:
            return "0"
        return super().query(message, timeout_ms)


OPTIONAL_QUESTIONS = tuple(f"{header}?" for header in OPTIONAL)
