"""Backups while the contest is served: by command, and by the server at regular times."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from referee.config import Backup
from referee.contest import Contest, contest_id
from referee.web.live_process import COPIES, LOOK_COPIES_S, make_copies
from tests.contest_day import ROWS, Day, called, refers, until
from tests.referee.factories import DrivenClock, House

FIRST_POSTS = 20


def total(acknowledged: list[dict[str, Any]]) -> int:
    return max(one["received_total"] for one in acknowledged)


@contextmanager
def posting(made: Day, token: str) -> Iterator[list[dict[str, Any]]]:
    """Two clients that post all the time; the answers that they got so far."""
    acknowledged: list[dict[str, Any]] = []
    stop = threading.Event()

    def post() -> None:
        while not stop.is_set():
            answer = made.post(token)
            assert answer.status_code == 202, answer.text
            acknowledged.append(answer.json())

    with ThreadPoolExecutor(2) as clients:
        ended = [clients.submit(post) for _ in range(2)]
        try:
            yield acknowledged
        finally:
            stop.set()
        for one in ended:
            one.result()


def test_a_backup_while_posts_arrive_has_all_that_was_acknowledged_and_gives_the_same_figures_elsewhere(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    made = day(served=False)
    config = made.folder / "contest.toml"
    config.write_text(config.read_text() + '[backup]\nfolder = "copies"\n')
    (made.folder / "copies").mkdir()
    server = made.serve()
    token = made.fetched(made.login()["token"])
    open_file = tmp_path / "open.zip"
    closed_file = tmp_path / "closed.zip"
    with posting(made, token) as acknowledged:
        until(lambda: len(acknowledged) >= FIRST_POSTS)
        before = total(acknowledged)
        told = refers("backup", str(made.folder), "-o", str(open_file), "--with-keys")
        after = total(acknowledged)
        posts = len(acknowledged)
        until(lambda: len(acknowledged) > posts)
    assert told.returncode == 0, told.stderr
    assert after > before  # it went on meanwhile
    assert server.ask("DELETE", "/v1/session", token).status_code == 200
    returncode = called(
        "backup", str(made.folder), "-o", str(closed_file), "--with-keys"
    ).returncode
    assert returncode == 0

    until(lambda: list((made.folder / "copies").glob("*.zip")))
    (scheduled,) = (made.folder / "copies").iterdir()
    assert scheduled.name.startswith(f"backup-{contest_id(made.folder)}-")
    assert stat.S_IMODE(scheduled.stat().st_mode) == 0o600
    restored = called(
        "restore", str(scheduled), str(tmp_path / "scheduled"), "--base", str(open_file)
    )
    assert restored.stdout.startswith("Restored "), restored
    assert server.end() == 0

    for file in (open_file, closed_file):
        assert called("restore", str(file), str(tmp_path / file.stem)).returncode == 0
    boards = []
    for folder in (made.folder, tmp_path / "closed"):
        assert called("judge", "--all", "--contest", str(folder)).returncode == 0
        boards.append(
            json.loads(called("leaderboard", "--json", "--contest", str(folder)).stdout)
        )
    assert boards[0] == boards[1]
    assert boards[0]

    copy = Day(tmp_path / "open", made.testset, made.meter)
    with copy.store() as store:
        held = store.posts.count_detections(1)
    assert before <= held <= after + 2 * len(ROWS)
    try:
        shown = copy.serve().ask("GET", "/v1/session", token).json()
        assert shown["phase"] == "open"
        assert shown["detections_accepted"] == held
        posted = copy.post(token).json()
        assert posted["received_total"] == held + len(ROWS)
        links = {
            one["receipt"]["number"]: one["receipt"]["link"] for one in acknowledged
        }
        assert posted["receipt"]["previous"] == links[posted["receipt"]["number"] - 1]
    finally:
        assert copy.server is not None
        copy.server.close()


class Schedule:
    """The copies of a contest, made by a clock that a test advances."""

    def __init__(
        self,
        contest: Contest,
        folder: str,
        every_min: float = 1.0,
    ) -> None:
        self.contest = replace(
            contest,
            config=replace(contest.config, backup=Backup(folder, every_min)),
        )
        self.clock = DrivenClock()
        self.stop = threading.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(
            target=make_copies,
            args=(self.contest, self.clock, self.stop),
        )
        thread.start()
        try:
            yield
        finally:
            self.stop.set()
            thread.join()


def test_a_folder_that_is_missing_is_told_once_and_so_is_its_return(
    build: Callable[..., House],
    caplog: pytest.LogCaptureFixture,
) -> None:
    contest = build().contest
    folder = contest.folder / "stick"
    schedule = Schedule(contest, "stick")

    def told() -> list[str]:
        return [
            record.getMessage()
            for record in caplog.records
            if record.name == "referee.web.live_process"
        ]

    with caplog.at_level(logging.WARNING), schedule.at_work():
        until(told)
        for _ in range(3):
            schedule.clock.advance(LOOK_COPIES_S)
            threading.Event().wait(0.05)  # it tries again meanwhile
        (sentence,) = told()
        assert sentence.startswith(
            f"Scheduled backups into {folder} fail: [Errno 2] No such file"
        )
        folder.mkdir()
        until(lambda: schedule.clock.advance(LOOK_COPIES_S) or len(told()) == 2)
    assert told()[1] == "Scheduled backups work again."
    assert list(folder.glob("backup-*.zip"))
    events = contest.store.log.newest_after(0, 9)[1]
    assert [
        one["detail"]["sentence"] for one in events if one["kind"] == "backup"
    ] == told()[::-1]


def test_the_newest_copies_stay_and_others_files_are_left_alone(
    build: Callable[..., House],
) -> None:
    contest = build().contest
    folder = contest.folder / "stick"
    folder.mkdir()
    others = folder / "backup-other-20260101-000000.zip"
    others.touch()
    schedule = Schedule(contest, "stick")
    seen = set[Path]()

    def own() -> set[Path]:
        return {*folder.glob("backup-*.zip")} - {others}

    def are_enough() -> bool:
        schedule.clock.advance(LOOK_COPIES_S)
        seen.update(own())
        return len(seen) >= COPIES + 3

    with schedule.at_work():
        until(are_enough)
    assert own() == {*sorted(seen | own())[-COPIES:]}
    assert others.exists()


def test_a_restart_makes_no_copy_before_it_is_due(build: Callable[..., House]) -> None:
    contest = build().contest
    schedule = Schedule(contest, "stick", every_min=10.0)
    newest = (
        contest.folder
        / "stick"
        / f"backup-{contest_id(contest.folder)}-20260504-090000.zip"
    )
    newest.parent.mkdir()
    newest.touch()
    os.utime(newest, (schedule.clock.utc().timestamp() - 300,) * 2)
    with schedule.at_work():
        schedule.clock.advance(120)
        threading.Event().wait(0.1)
        assert list(newest.parent.iterdir()) == [newest]
        schedule.clock.advance(180)
        until(lambda: len(list(newest.parent.glob("*.zip"))) == 2)


def test_copies_are_not_made_without_end_in_a_folder_that_cannot_be_listed(
    build: Callable[..., House],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contest = build().contest
    folder = contest.folder / "stick"
    folder.mkdir()
    schedule = Schedule(contest, "stick")
    listed = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path == folder:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    with caplog.at_level(logging.WARNING), schedule.at_work():
        until(lambda: "Permission denied; run this as" in caplog.text)
        for _ in range(3):
            schedule.clock.advance(LOOK_COPIES_S)
    monkeypatch.undo()
    assert list(folder.iterdir()) == []


def test_a_restored_contest_has_the_folder_of_backups_that_init_makes(
    tmp_path: Path,
) -> None:
    made = tmp_path / "made"
    copy = tmp_path / "copy.zip"
    restored = tmp_path / "restored"
    assert called("init", str(made), "--yes").returncode == 0
    assert called("backup", str(made), "-o", str(copy), "--no-testset").returncode == 0
    assert called("restore", str(copy), str(restored)).returncode == 0
    assert (restored / "backups").is_dir()
