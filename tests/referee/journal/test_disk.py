"""A disk that does not answer hangs one thread; other callers are refused at once until it answers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from referee.errors import JournalStalled
from referee.journal.disk import JournalDisk

DEADLINE_S = 0.1


def test_what_the_disk_does_comes_back_and_so_does_its_error(tmp_path: Path) -> None:
    disk = JournalDisk(tmp_path, 30.0)
    assert [disk.do(lambda n=number: n * n) for number in range(100)] == [
        n * n for n in range(100)
    ]
    with pytest.raises(FileNotFoundError):
        disk.do((tmp_path / "missing").read_bytes)
    assert disk.stalled_s is None


def test_only_the_first_waits_for_a_disk_that_hangs_and_all_go_on_when_it_answers(
    tmp_path: Path,
    until: Callable[[Callable[[], object]], None],
) -> None:
    disk = JournalDisk(tmp_path, DEADLINE_S)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(JournalStalled) as first:
        disk.do(pipe.read_bytes)  # opening it waits in the kernel for a writer
    assert first.value.code == "journal-stalled"
    assert (first.value.facts["stalled_s"] >= DEADLINE_S) is True
    begun_s = time.thread_time()
    ran = threading.Event()
    for _ in range(1000):
        with pytest.raises(JournalStalled):
            disk.do(ran.set)
    assert time.thread_time() - begun_s < 1000 * DEADLINE_S / 10
    assert disk.stalled_s is not None
    pipe.write_bytes(b"")
    until(lambda: disk.stalled_s is None)
    assert disk.do(lambda: "on") == "on"
    assert not ran.is_set()


def test_what_takes_long_is_not_given_up_while_it_moves(tmp_path: Path) -> None:
    disk = JournalDisk(tmp_path, 0.5)
    end_s = time.monotonic() + 1.1

    def copy() -> str:
        while time.monotonic() < end_s:
            disk.move()
        return "copied"

    assert disk.do(copy) == "copied"


def test_what_was_given_up_does_not_go_on_when_the_disk_answers(
    tmp_path: Path,
    until: Callable[[Callable[[], object]], None],
) -> None:
    disk = JournalDisk(tmp_path, DEADLINE_S)
    pipe = tmp_path / "pipe"
    done = threading.Event()
    os.mkfifo(pipe)

    def copy() -> None:
        pipe.read_bytes()
        disk.move()
        done.set()

    with pytest.raises(JournalStalled):
        disk.do(copy)
    pipe.write_bytes(b"")
    until(lambda: disk.stalled_s is None)
    assert not done.is_set()


def test_while_one_process_hangs_in_a_write_no_other_one_writes(
    tmp_path: Path,
    until: Callable[[Callable[[], object]], None],
) -> None:
    """The hanging write may still happen later, and would overwrite what another process has written since."""
    one, other = (
        JournalDisk(tmp_path, DEADLINE_S, lock=tmp_path / "lock") for _ in range(2)
    )
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert one.do(lambda: 1) == 1
    assert other.do(lambda: 2) == 2
    with pytest.raises(JournalStalled):
        one.do(pipe.read_bytes)
    with pytest.raises(JournalStalled):
        other.do(lambda: 2)
    assert other.stalled_s is None
    pipe.write_bytes(b"")
    until(lambda: one.stalled_s is None)
    assert other.do(lambda: 2) == 2
    assert one.do(lambda: 1) == 1
