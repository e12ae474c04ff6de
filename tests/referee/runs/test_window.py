from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.runs.window import Phase, Window, elapsed_s, phase_at, remaining_s, window_of
from referee.store.records import Run
from tests.referee.factories import run_record

MOMENTS = st.floats(-1e7, 1e7, allow_nan=False)
LENGTHS = st.floats(1, 24 * 3600)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start_s = draw(MOMENTS)
    closed_s = draw(st.none() | st.floats(start_s, start_s + 2 * 24 * 3600))
    return Window(start_s, draw(LENGTHS), closed_s)


@pytest.mark.parametrize(
    ("now_s", "phase"),
    [
        (99.999, Phase.BEFORE),
        (100.0, Phase.OPEN),
        (699.999, Phase.OPEN),
        (math.nextafter(700.0, 0), Phase.OPEN),
        (700.0, Phase.CLOSED),
        (1e9, Phase.CLOSED),
    ],
)
def test_the_start_belongs_to_the_window_and_the_deadline_does_not(now_s: float, phase: Phase) -> None:
    assert phase_at(Window(100.0, 600.0), now_s) is phase


def test_a_close_ends_the_window_at_its_own_moment() -> None:
    window = Window(100.0, 600.0, closed_s=250.0)
    assert phase_at(window, math.nextafter(250.0, 0)) is Phase.OPEN
    assert phase_at(window, 250.0) is Phase.CLOSED
    assert elapsed_s(window, 1e9) == 150.0


def test_a_close_after_the_deadline_does_not_lengthen_the_window() -> None:
    window = Window(100.0, 600.0, closed_s=900.0)
    assert window.end_s == window.deadline_s == 700.0
    assert phase_at(window, 700.0) is Phase.CLOSED


def test_a_close_at_the_very_start_leaves_no_open_moment() -> None:
    window = Window(100.0, 600.0, closed_s=100.0)
    assert phase_at(window, 100.0) is Phase.CLOSED
    assert (elapsed_s(window, 200.0), remaining_s(window, 100.0)) == (0.0, 0.0)


@given(windows(), MOMENTS)
def test_open_is_exactly_from_the_start_until_the_end(window: Window, now_s: float) -> None:
    assert (phase_at(window, now_s) is Phase.OPEN) == (window.start_s <= now_s < window.end_s)


@given(windows(), st.lists(MOMENTS, min_size=2, max_size=5))
def test_phases_never_go_back(window: Window, moments: list[float]) -> None:
    order = [Phase.BEFORE, Phase.OPEN, Phase.CLOSED]
    passed = [order.index(phase_at(window, now_s)) for now_s in sorted(moments)]
    assert passed == sorted(passed)


@given(windows(), MOMENTS)
def test_elapsed_and_remaining_stay_within_the_window(window: Window, now_s: float) -> None:
    whole_s = window.end_s - window.start_s
    assert 0.0 <= elapsed_s(window, now_s) <= min(window.length_s, whole_s + 1e-6)
    assert 0.0 <= remaining_s(window, now_s) <= window.length_s


@given(windows(), st.floats(0, 1))
def test_elapsed_and_remaining_make_the_window_while_it_is_open(window: Window, part: float) -> None:
    now_s = window.start_s + part * (window.end_s - window.start_s)
    if phase_at(window, now_s) is Phase.OPEN:
        both_s = elapsed_s(window, now_s) + remaining_s(window, now_s)
        assert both_s == pytest.approx(window.end_s - window.start_s, abs=1e-6)


@given(windows())
def test_time_is_left_exactly_while_the_window_is_open(window: Window) -> None:
    assert remaining_s(window, window.end_s) == 0.0
    if window.end_s > window.start_s:
        assert remaining_s(window, math.nextafter(window.end_s, -math.inf)) > 0.0


@given(st.floats(0, 1e9), st.floats(1, 86400))
def test_a_run_that_reached_its_deadline_lasted_exactly_its_window(start_s: float, length_s: float) -> None:
    window = Window(start_s, length_s)
    assert elapsed_s(window, window.deadline_s) == elapsed_s(window, window.deadline_s + 5) == length_s


BOOT, OTHER_BOOT = "boot-1", "boot-2"
OPENED = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


def opened_run(**different: object) -> Run:
    return run_record(**({"opened_utc": OPENED.isoformat(), "start_s": 100.0, "boot_id": BOOT} | different))


@given(st.floats(0, 1e6), st.floats(-1e6, 1e6))
def test_within_a_boot_only_the_monotonic_clock_counts(now_s: float, set_by_s: float) -> None:
    now_utc = OPENED + timedelta(seconds=set_by_s)
    assert window_of(opened_run(), now_s, now_utc, BOOT) == Window(100.0, 600.0)


@given(st.floats(0, 1e6), st.floats(-1e6, 1e6))
def test_after_a_reboot_the_wall_clock_tells_how_long_it_has_been(now_s: float, passed_s: float) -> None:
    now_utc = OPENED + timedelta(seconds=passed_s)
    for boot in (OTHER_BOOT, None):
        first, second = (
            window_of(opened_run(team=team), now_s, now_utc, boot) for team in ("otters", "badgers")
        )
        assert first == second
        assert now_s - first.start_s == pytest.approx(max(passed_s, 0.0), abs=1e-5)
        assert first.length_s == 600.0


def test_an_end_on_record_stays_the_end() -> None:
    ended = opened_run(closed_by="logout", elapsed_s=42.0)
    window = window_of(ended, 5.0, OPENED + timedelta(seconds=90), OTHER_BOOT)
    assert (window.start_s, window.end_s) == (-85.0, -43.0)
    assert phase_at(window, 5.0) is Phase.CLOSED
