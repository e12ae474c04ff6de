from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.runs.run_window import (
    Phase,
    Window,
    elapsed_s,
    phase_at,
    reboot_of,
    remaining_s,
    window_of,
)
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
def test_the_start_belongs_to_the_window_and_the_deadline_does_not(
    now_s: float,
    phase: Phase,
) -> None:
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
    assert elapsed_s(window, 200.0) == 0.0
    assert remaining_s(window, 100.0) == 0.0


@given(windows(), MOMENTS)
def test_open_is_exactly_from_the_start_until_the_end(
    window: Window,
    now_s: float,
) -> None:
    assert (phase_at(window, now_s) is Phase.OPEN) == (
        window.start_s <= now_s < window.end_s
    )


@given(windows(), st.lists(MOMENTS, min_size=2, max_size=5))
def test_phases_never_go_back(window: Window, moments: list[float]) -> None:
    order = [Phase.BEFORE, Phase.OPEN, Phase.CLOSED]
    passed = [order.index(phase_at(window, now_s)) for now_s in sorted(moments)]
    assert passed == sorted(passed)


@given(windows(), MOMENTS)
def test_elapsed_and_remaining_stay_within_the_window(
    window: Window,
    now_s: float,
) -> None:
    whole_s = window.end_s - window.start_s
    assert 0.0 <= elapsed_s(window, now_s) <= min(window.length_s, whole_s + 1e-6)
    assert 0.0 <= remaining_s(window, now_s) <= window.length_s


@given(windows(), st.floats(0, 1))
def test_elapsed_and_remaining_make_the_window_while_it_is_open(
    window: Window,
    part: float,
) -> None:
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
def test_a_run_that_reached_its_deadline_lasted_exactly_its_window(
    start_s: float,
    length_s: float,
) -> None:
    window = Window(start_s, length_s)
    assert (
        elapsed_s(window, window.deadline_s)
        == elapsed_s(window, window.deadline_s + 5)
        == length_s
    )


BOOT = "boot-1"
OTHER_BOOT = "boot-2"
OPENED = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


def opened_run(**different: object) -> Run:
    return run_record(
        **(
            {
                "opened_utc": OPENED.isoformat(),
                "start_s": 100.0,
                "boot_id": BOOT,
            }
            | different
        )
    )


def resumed(
    run: Run,
    now_s: float,
    now_utc: datetime,
    boot: str | None,
    last: Any = None,
) -> Window:
    return window_of(run, now_s, reboot_of(run, now_s, now_utc, boot, last))


UPTIMES = st.floats(0, 1e6)
JUMPS = st.floats(-1e6, 1e6)
RECORDED = st.none() | st.tuples(
    st.floats(0, 600),
    JUMPS.map(lambda s: OPENED + timedelta(seconds=s)),
)


@given(UPTIMES, JUMPS, RECORDED)
def test_within_a_boot_only_the_monotonic_clock_counts(
    now_s: float,
    set_by_s: float,
    last: Any,
) -> None:
    now_utc = OPENED + timedelta(seconds=set_by_s)
    assert resumed(opened_run(), now_s, now_utc, BOOT, last) == Window(100.0, 600.0)


@given(UPTIMES, JUMPS, RECORDED, st.sampled_from([OTHER_BOOT, None]))
def test_after_a_reboot_the_window_is_as_short_as_any_clock_says(
    up_s: float,
    set_by_s: float,
    last: tuple[float, datetime] | None,
    boot: str | None,
) -> None:
    now_utc = OPENED + timedelta(seconds=set_by_s)
    first, second = (
        resumed(opened_run(team=team), up_s, now_utc, boot, last)
        for team in ("otters", "badgers")
    )
    assert first == second
    assert first.length_s == 600.0
    recorded_s, utc = last or (0.0, OPENED)
    by_wall_s = recorded_s + (now_utc - utc).total_seconds()
    passed_s = up_s - first.start_s
    assert passed_s >= by_wall_s - 1e-6
    assert passed_s >= recorded_s + (up_s if boot else 0.0) - 1e-6
    expected_s = max(by_wall_s, recorded_s, recorded_s + up_s if boot else 0.0)
    assert passed_s == pytest.approx(expected_s, abs=1e-5)  # and no shorter


@given(st.floats(0, 600), st.floats(0, 600), st.floats(0, 1e5), JUMPS)
def test_no_reboot_and_no_clock_gives_a_run_more_time_than_it_had_left(
    recorded_s: float,
    up_s: float,
    off_s: float,
    clock_set_by_s: float,
) -> None:
    """The truth: the last record, then the host was off, then up; its wall clock may show anything."""
    last = (recorded_s, OPENED + timedelta(seconds=recorded_s))
    shown = OPENED + timedelta(seconds=recorded_s + off_s + up_s + clock_set_by_s)
    window = resumed(opened_run(), up_s, shown, OTHER_BOOT, last)
    assert remaining_s(window, up_s) <= max(600 - recorded_s - up_s, 0.0) + 1e-6
    if clock_set_by_s >= 0:
        assert (
            remaining_s(window, up_s)
            <= max(600 - recorded_s - off_s - up_s, 0.0) + 1e-6
        )


def test_nine_seconds_that_were_left_do_not_become_more_with_a_clock_behind() -> None:
    last = (591.0, OPENED + timedelta(seconds=591))
    window = resumed(
        opened_run(),
        2.5,
        OPENED + timedelta(seconds=581.3),
        OTHER_BOOT,
        last,
    )
    assert remaining_s(window, 2.5) == pytest.approx(6.5)


def test_a_wall_clock_that_was_put_right_in_the_window_costs_no_time() -> None:
    """A host without a battery for its clock: an hour behind at the start, right from the first minute on."""
    last = (60.0, OPENED + timedelta(hours=1, seconds=60))
    window = resumed(
        opened_run(),
        5.0,
        OPENED + timedelta(hours=1, seconds=90),
        OTHER_BOOT,
        last,
    )
    assert remaining_s(window, 5.0) == pytest.approx(510.0)


def test_an_end_on_record_stays_the_end() -> None:
    ended = opened_run(closed_by="logout", elapsed_s=42.0)
    window = resumed(ended, 5.0, OPENED + timedelta(seconds=90), OTHER_BOOT)
    assert window.start_s == -85.0
    assert window.end_s == -43.0
    assert phase_at(window, 5.0) is Phase.CLOSED


def test_an_end_without_a_time_on_record_does_not_end_the_window() -> None:
    window = window_of(opened_run(closed_by="logout", elapsed_s=None), 5.0, None)
    assert window.closed_s is None
    assert window.end_s == 700.0
    closed_s = window_of(opened_run(closed_by=None, elapsed_s=42.0), 5.0, None).closed_s
    assert closed_s is None


def test_a_run_that_was_not_started_would_have_its_whole_window_left() -> None:
    assert window_of(opened_run(start_s=None), 5.0, None) == Window(5.0, 600.0)
