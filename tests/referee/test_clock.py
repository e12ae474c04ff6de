from __future__ import annotations

import threading
import time
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from referee import operating_system
from referee.clock import Clock


def test_the_monotonic_clock_never_goes_back() -> None:
    readings_s = [Clock().monotonic_s() for _ in range(1000)]
    assert readings_s == sorted(readings_s)


def test_records_carry_utc() -> None:
    now = Clock().utc()
    assert now.utcoffset() == timedelta(0)
    assert now.tzinfo is UTC


def test_waiting_ends_at_once_when_the_event_is_set() -> None:
    event = threading.Event()
    event.set()
    assert Clock().wait(event, Clock().monotonic_s() + 3600)
    assert Clock().wait(event, 0.0)


def test_waiting_ends_at_the_moment_and_not_before() -> None:
    until_s = Clock().monotonic_s() + 0.05
    assert not Clock().wait(threading.Event(), until_s)
    assert Clock().monotonic_s() >= until_s


def test_waiting_ends_when_another_thread_sets_the_event() -> None:
    event = threading.Event()
    started = threading.Event()
    results: list[bool] = []

    def wait() -> None:
        started.set()
        results.append(Clock().wait(event, Clock().monotonic_s() + 3600))

    waiting = threading.Thread(target=wait)
    waiting.start()
    started.wait()
    event.set()
    waiting.join()
    assert results == [True]


def test_the_boot_is_the_same_as_long_as_the_machine_runs() -> None:
    assert Clock().boot_id() == Clock().boot_id()


def test_a_system_without_boot_ids_has_none(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(operating_system, "BOOT_ID", tmp_path / "nothing")
    assert Clock().boot_id() is None


def test_a_time_of_another_processs_monotonic_clock_is_one_of_this_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before_s = Clock().monotonic_s()
    told_s = time.monotonic()
    after_s = Clock().monotonic_s()
    assert before_s - 0.01 <= Clock().of_process_s(told_s) <= after_s + 0.01
    # Suspended for an hour.
    monkeypatch.setattr(
        Clock,
        "monotonic_s",
        lambda _: time.monotonic() + 3600,
    )
    assert Clock().of_process_s(told_s) == pytest.approx(told_s + 3600, abs=0.01)
