from __future__ import annotations

import threading
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from referee import clock
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
    event, started = threading.Event(), threading.Event()
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


def test_a_system_without_boot_ids_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(clock, "BOOT_ID_FILE", tmp_path / "nothing")
    assert Clock().boot_id() is None
