"""What a live page knows: no peak is lost, memory stays constant, and an old reading never looks like a new one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.live.envelope import MOST_PARTS, Envelope
from lpirc_power.live.live_page import live_part
from lpirc_power.live.live_state import MOST_METERS, LiveState
from lpirc_power.live.metrics import metrics_text
from lpirc_power.marks.mark_list import MarkList
from lpirc_power.meter import Identity, IntegratorState, Reading
from lpirc_power.record.document import Moment
from lpirc_power.sampling.sampler import LinkEvent

IDENTITY = Identity("YOKOGAWA", "WT310E", 'S"1', "F1.03")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Make = Callable[..., Reading]


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def started(clock: Clock) -> LiveState:
    state = LiveState(clock)
    state.on_armed("run", IDENTITY)
    state.on_start("run", Moment(0.0, NOW))
    return state


def event(kind: str, sentence: str) -> LinkEvent:
    return LinkEvent(kind, 1.0, NOW, sentence)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(-1e3, 1e3)), min_size=1))
def test_an_envelope_keeps_the_least_and_the_largest_power(
    readings: list[tuple[float, float]],
) -> None:
    envelope = Envelope(0.0)
    for time_s, power_w in sorted(readings):
        envelope.add(time_s, power_w)
    values = envelope.trace(2.0).values
    assert values.min() == min(power_w for _, power_w in readings)
    assert values.max() == max(power_w for _, power_w in readings)
    assert len(envelope.least) <= MOST_PARTS


def test_a_week_at_10_hz_needs_no_more_memory_than_a_minute() -> None:
    envelope = Envelope(0.0)
    for number in range(0, 6_048_000, 97):
        envelope.add(number / 10, 5.0)
    assert len(envelope.least) <= MOST_PARTS


def test_readings_without_a_power_leave_a_hole() -> None:
    envelope = Envelope(0.0)
    for time_s, power_w in ((0.0, 5.0), (1.0, math.nan), (2.0, math.inf), (3.0, 5.0)):
        envelope.add(time_s, power_w)
    assert set(envelope.trace(2.0).values) == {5.0}


def test_the_last_reading_is_shown_as_the_power_now(reading: Make) -> None:
    clock = Clock()
    state = started(clock)
    state.on_reading("run", reading(1.0))
    clock.now_s = 1.1
    assert "<dt>power</dt><dd>6 W</dd>" in live_part(state.view())
    assert 'lpirc_power_watts{recording="run"} 6.0' in metrics_text(state.view())


def test_a_reading_that_is_old_is_no_power_of_now(reading: Make) -> None:
    clock = Clock()
    state = started(clock)
    state.on_reading("run", reading(1.0))
    clock.now_s = 8.0
    shown = live_part(state.view())
    assert "<dt>power</dt>" not in shown
    assert "No reading for 7 s" in shown
    assert "lpirc_power_watts" not in metrics_text(state.view())
    assert "lpirc_energy_joules_total" in metrics_text(state.view())


def test_a_meter_of_20_s_updates_is_not_called_old_between_them(reading: Make) -> None:
    clock = Clock()
    state = started(clock)
    state.on_reading("run", reading(20.0))
    state.on_reading("run", reading(40.0))
    clock.now_s = 58.0
    assert "lpirc_power_watts" in metrics_text(state.view())


def test_a_lost_link_is_said_and_its_return_too(reading: Make) -> None:
    clock = Clock()
    state = started(clock)
    state.on_reading("run", reading(1.0))
    state.on_link("run", event("meter-lost", "The cable is out."))
    assert "The cable is out." in live_part(state.view())
    text = metrics_text(state.view())
    assert 'lpirc_link_up{recording="run"} 0.0' in text
    assert 'lpirc_link_losses_total{recording="run"} 1.0' in text
    assert "lpirc_power_watts" not in text
    state.on_link("run", event("meter-back", "It is back."))
    state.on_reading("run", reading(1.2))
    clock.now_s = 1.3
    assert 'lpirc_link_up{recording="run"} 1.0' in metrics_text(state.view())
    assert "The cable is out." not in live_part(state.view())


def test_after_the_stop_the_energy_is_final(reading: Make) -> None:
    clock = Clock()
    state = started(clock)
    state.on_reading("run", reading(9.0))
    state.on_stop("run", reading(10.0, state=IntegratorState.STOP))
    clock.now_s = 5000.0
    assert "its energy is final" in live_part(state.view())
    assert 'lpirc_recording{recording="run"} 0.0' in metrics_text(state.view())


def test_no_data_and_over_range_are_those_words(reading: Make) -> None:
    state = started(Clock())
    state.on_reading("run", reading(0.1, power_w=math.nan, energy_wh=math.nan))
    text = metrics_text(state.view())
    assert 'lpirc_power_watts{recording="run"} NaN' in text
    assert "lpirc_energy_joules_total" not in text
    state.on_reading("run", reading(0.2, power_w=math.inf, over_range=True))
    assert 'lpirc_power_watts{recording="run"} +Inf' in metrics_text(state.view())
    assert "over range" in live_part(state.view())


def test_marks_are_shown_with_the_one_that_is_open(reading: Make) -> None:
    clock = Clock()
    state = started(clock)
    marks = MarkList()
    marks.add("<b>load", 0.5, 1.0)
    marks.begin(1, "inference", 1.5)
    state.on_marks(marks)
    state.on_reading("run", reading(2.0))
    clock.now_s = 2.0
    shown = live_part(state.view())
    assert "&lt;b&gt;load" in shown
    assert "<b>" not in shown
    assert '<td class="figure">now</td>' in shown


def test_of_many_marks_the_last_ones_are_shown_and_that_is_said(reading: Make) -> None:
    state = started(Clock())
    marks = MarkList()
    for number in range(1000):
        marks.add("inference", number / 10, number / 10 + 0.05)
    marks.begin(1, "still open", 99.0)
    state.on_marks(marks)
    state.on_reading("run", reading(100.0))
    shown = live_part(state.view())
    assert "These are the last 200 marks." in shown
    assert "still open" in shown


def test_a_reading_after_a_gap_is_old_as_soon_as_any_other(reading: Make) -> None:
    clock = Clock()
    state = started(clock)
    for time_s in (1.0, 1.1, 60.0):
        state.on_reading("run", reading(time_s))
    clock.now_s = 64.0
    assert "lpirc_power_watts" not in metrics_text(state.view())


SAMPLE = re.compile(
    r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (NaN|[+-]Inf|-?[0-9.e+-]+)'
)


def test_the_metrics_are_what_prometheus_reads(reading: Make) -> None:
    """HELP and TYPE stand once before their samples, in base units; the names of counters end with _total."""
    state = LiveState(Clock())
    for name in ("run", 'a"b\\c\nd'):
        state.on_armed(name, IDENTITY)
        state.on_start(name, Moment(0.0, NOW))
        state.on_reading(name, reading(0.1, power_w=math.inf, voltage_v=math.nan))
    text = metrics_text(state.view())
    assert text.endswith("\n")
    kinds: dict[str, str] = {}
    seen = set()
    family = ""
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, told = line.split(" ", 3)
            assert (word == "TYPE") == (name == family)
            if word == "TYPE":
                assert name not in kinds
                kinds[name] = told
            family = name
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        assert found[1] == family
        assert found[1] in kinds
        assert (found[1], found[2]) not in seen
        seen.add((found[1], found[2]))
        float(found[3])
    assert kinds["lpirc_energy_joules_total"] == "counter"
    for name, kind in kinds.items():
        assert (kind == "counter") == name.endswith("_total")
    units = {"watts", "volts", "amperes", "voltamperes", "ratio", "seconds", "joules"}
    words = "_".join(kinds).split("_")
    assert units <= set(words)


def test_after_the_recording_its_link_is_neither_up_nor_down(reading: Make) -> None:
    state = started(Clock())
    state.on_reading("run", reading(9.0))
    assert "lpirc_link_up" in metrics_text(state.view())
    state.on_stop("run", reading(10.0, state=IntegratorState.STOP))
    assert "lpirc_link_up" not in metrics_text(state.view())


def test_names_are_escaped_for_prometheus(reading: Make) -> None:
    state = LiveState(Clock())
    state.on_armed('a"b\\c\nd', IDENTITY)
    state.on_reading('a"b\\c\nd', reading(0.1))
    text = metrics_text(state.view())
    assert 'recording="a\\"b\\\\c\\nd"' in text
    assert 'serial="S\\"1"' in text
    for line in text.splitlines():
        assert line.startswith(("#", "lpirc_"))


def test_of_a_thousand_attempts_the_last_ones_are_kept() -> None:
    state = LiveState(Clock())
    for number in range(1000):
        state.on_armed(f"run-{number}", IDENTITY)
    names = [one.name for one in state.view().meters]
    assert len(names) == MOST_METERS
    assert names[-1] == "run-999"
