from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.errors import RefereeError
from referee.store.room import STEP_BYTES, Room

SIZES = st.integers(0, 4 * STEP_BYTES)


class Disk:
    """Room on a disk, and what runs have put there."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken: dict[int, int] = {}
        self.asked = 0
        self.room = Room(self.free)

    def free(self) -> int:
        self.asked += 1
        return self.size - sum(self.taken.values())

    def put(self, run: int, more: int) -> bool:
        try:
            self.room.require(run, self.taken.get(run, 0), more)
        except RefereeError:
            return False
        self.taken[run] = self.taken.get(run, 0) + more
        return True


@given(size=st.integers(0, 2**32), sent=st.lists(st.tuples(st.integers(1, 3), SIZES), max_size=60))
def test_no_run_takes_more_than_it_leaves(size: int, sent: list[tuple[int, int]]) -> None:
    disk = Disk(size)
    for run, more in sent:
        if disk.put(run, more):
            # Each of the three may have been granted something before the others took theirs.
            assert disk.taken[run] <= disk.free() + 3 * STEP_BYTES
            assert disk.free() >= 0


@pytest.mark.parametrize("size", [10**4, 10**7, 10**10])
@pytest.mark.parametrize("hostile", [1, 2, 5])
def test_others_have_room_whatever_hostile_runs_send(size: int, hostile: int) -> None:
    disk, body = Disk(size), size // 1000
    sending = set(range(1, hostile + 1))
    while sending:
        sending -= {run for run in sending if not disk.put(run, body)}
    assert disk.free() > size / (hostile + 1) * 0.75
    assert disk.put(99, disk.free() // 3)
    assert not disk.put(99, disk.free())


def test_a_run_that_was_refused_goes_on_once_there_is_room(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk(1000)
    with pytest.raises(RefereeError, match=r"Run 1 has 0\.0 MB .* last 0\.0 MB"):
        disk.room.require(1, 0, 501)
    assert disk.put(1, 500)
    assert not disk.put(1, 1)
    disk.size = 2000
    assert disk.put(1, 400)
    assert [record.getMessage() for record in caplog.records] == [
        "run 1 has 0 bytes of detections on disk and gets no more room"
    ]


def test_the_system_is_not_asked_for_every_body() -> None:
    disk = Disk(2**40)
    for _ in range(1000):
        assert disk.put(1, 5600)
    assert disk.asked == 1
