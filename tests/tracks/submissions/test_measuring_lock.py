from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

import pytest

from lpirc_tracks.submissions import measuring_lock as lock
from lpirc_tracks.submissions.measuring_lock import (
    MEASURING,
    Record,
    broken_off,
    handing_in_lock,
    measuring_lock,
)
from lpirc_tracks.submissions.open_track import open_track
from lpirc_tracks.submissions.submitting import Order, submit
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.store.model_records import Submission
from referee.store.submission_table import SubmissionTable
from tests.tracks.submissions.model_days import (
    colour_set,
    model_contest,
    packed,
    result,
)

TRACK = (
    '[[tracks]]\nname = "phones"\nrule = "lpirc2018-track1"\ntestset = "../colours"\n'
)
SUBMISSION = Submission(
    id=0,
    accepted_utc="",
    track="phones",
    team="alpha",
    split="public",
    build="b",
    model_file="m.tflite",
    model_sha256="0" * 64,
    testset_digest="0" * 64,
    counts=True,
)


@pytest.fixture
def contest(tmp_path: Path) -> Iterator[Contest]:
    colour_set(tmp_path, ("red", 7), ("green", 8))
    with model_contest(tmp_path / "day", TRACK) as opened:
        yield opened


@contextmanager
def read(contest: Contest) -> Iterator[IO[bytes]]:
    """The lock as one who lists the submissions holds it."""
    with (contest.folder / MEASURING).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield file


class ReadersEnd(Clock):
    """A clock on which readers let go of the lock as soon as someone waits."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def wait(self, event: threading.Event, until_s: float) -> bool:
        fcntl.flock(self.file, fcntl.LOCK_UN)
        return super().wait(event, until_s)


def test_listing_the_submissions_does_not_keep_others_from_measuring(
    contest: Contest,
) -> None:
    with read(contest) as file, measuring_lock(contest, ReadersEnd(file)):
        pass


def test_who_measures_keeps_others_from_it(contest: Contest) -> None:
    with (
        measuring_lock(contest, Clock()),
        pytest.raises(RefereeError, match="Another model") as failure,
        measuring_lock(contest, Clock()),
    ):
        pytest.fail("two measure")
    assert failure.value.code == "bench-busy"


@pytest.mark.parametrize(
    "lock_of",
    [lambda contest: measuring_lock(contest, Clock()), handing_in_lock],
    ids=["measure", "hand in"],
)
def test_only_the_submission_that_is_being_measured_is_not_broken_off(
    contest: Contest,
    lock_of: Callable[[Contest], AbstractContextManager[Record]],
) -> None:
    def accepted() -> int:
        return contest.store.submissions.accept(SUBMISSION, Clock().utc(), limit=9).id

    killed = [accepted()]
    for _ in range(2):
        with lock_of(contest) as record:
            assert broken_off(contest) == set(killed)  # its model is still looked at
            own = accepted()
            record(own)
            assert broken_off(contest) == set(killed)
            killed.append(own)
        assert broken_off(contest) == set(killed)


def test_of_one_document_that_is_handed_in_twice_at_once_one_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images = colour_set(tmp_path, ("red", 7), ("green", 8))
    model = tmp_path / "m.tflite"
    model.write_bytes(b"model")
    order = Order("alpha", model, "b", packed(result(images, b"model", [7, 8])))
    told: dict[
        bool, str
    ] = {}  # whether it is the second's, in whichever order they end
    second_is_there = threading.Event()

    def hand_in() -> None:
        is_second = threading.current_thread() is second
        with open_contest(tmp_path / "day") as contest:
            try:
                submit(
                    contest,
                    open_track(contest, "phones"),
                    order,
                    lambda _: None,
                    lambda _: b"",
                    Clock(),
                )
                told[is_second] = "accepted"
            except RefereeError as failure:
                told[is_second] = failure.code

    second = threading.Thread(target=hand_in, daemon=True)
    flock = fcntl.flock
    accept = SubmissionTable.accept

    def waits(file: IO[bytes], kind: int) -> None:
        if threading.current_thread() is second:
            second_is_there.set()
        flock(file, kind)

    def accepts(table: SubmissionTable, *rest: object, **named: object) -> Submission:
        if threading.current_thread() is second:
            second_is_there.set()
        else:
            second.start()
            assert second_is_there.wait(60)
        return accept(table, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(lock.fcntl, "flock", waits)
    monkeypatch.setattr(SubmissionTable, "accept", accepts)
    with model_contest(tmp_path / "day", TRACK):
        hand_in()
        second.join(60)
    assert told == {False: "accepted", True: "result-repeated"}
