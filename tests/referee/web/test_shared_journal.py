"""A journal on another host's disk: who may serve with it, and what is said when that disk stalls."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from referee.auth.tokens import issue, read
from referee.clock import Clock
from referee.contest import contest_id
from referee.journal.beats import read_beat
from referee.journal.epochs import claim_epoch, host_path
from referee.judging.contest_status import program_version
from referee.served import read_secret
from referee.store.journaling import LOCK_NAME
from tests.contest_day import ROWS, Day, problem, refers, until
from tests.referee.store.test_journaling import content
from tests.timeouts import TIMEOUT_S

DEADLINE_S = 1.0
SINCE = r"data accepted since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d UTC ?"
MakeDay = Callable[..., Day]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The disk of the other host."""
    made = tmp_path / "mount"
    made.mkdir()
    return made


def with_journal(day: Day, journal: Path, **keys: object) -> Day:
    """The day, its journal at that place."""
    lines = [
        f'path = "{journal}"',
        *(f"{key} = {str(value).lower()}" for key, value in keys.items()),
    ]
    config = day.folder / "contest.toml"
    config.write_text("\n".join([config.read_text(), "[journal]", *lines, ""]))
    return day


def take_over(journal: Path, day: Day, other: Path) -> None:
    """Another host claims the next epoch."""
    other.mkdir(exist_ok=True)
    claim_epoch(
        journal,
        other,
        2,
        contest=contest_id(day.folder),
        version=program_version(),
        utc=Clock().utc(),
    )


@contextlib.contextmanager
def stalled(journal: Path, epoch: int = 1) -> Iterator[None]:
    """A disk that does not answer: who looks whether the epoch is over waits in the kernel, until the disk is back."""
    file = host_path(journal, epoch)
    kept = file.rename(file.with_suffix(".kept"))
    os.mkfifo(file)
    try:
        yield
    finally:
        pipe = file.rename(file.with_suffix(".pipe"))
        kept.rename(file)
        # Whoever waits goes on, and reads what the file says.
        descriptor = os.open(
            pipe,
            os.O_RDWR,
        )
        os.write(descriptor, file.read_bytes()[:16] * 100)
        until(lambda: not processes_at(pipe))
        os.close(descriptor)


def processes_at(pipe: Path) -> list[str]:
    """The descriptors of other processes that are open on it."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if link.parts[2] != str(os.getpid()) and link.readlink() == pipe:
                found.append(str(link))
    return found


def doctor(day: Day) -> str:
    return refers("doctor", str(day.folder)).stdout


def test_a_server_leaves_signs_of_life_and_says_when_it_ends_in_order(
    day: MakeDay,
    journal: Path,
) -> None:
    made = with_journal(day(served=False), journal)
    server = made.serve()
    until(lambda: read_beat(journal, 1) is not None)
    first = read_beat(journal, 1)
    until(lambda: read_beat(journal, 1) != first)
    assert server.end() == 0
    last = read_beat(journal, 1)
    assert last is not None
    assert last.is_ended


def test_while_the_disk_stalls_it_is_said_and_open_runs_go_on(
    day: MakeDay,
    journal: Path,
) -> None:
    made = with_journal(day(served=False), journal, deadline_s=DEADLINE_S)
    server = made.serve()
    token = made.login()["token"]

    def trouble() -> str:
        return str(
            json.loads(made.refers("status", "--json").stdout)["journal_trouble"]
        )

    assert trouble() == "None"
    log = made.folder / "server.log"
    with stalled(journal):
        until(lambda: "does not answer: nothing is accepted" in trouble())
        until(lambda: "does not answer: nothing is accepted" in log.read_text())
        for number in range(1, 7):
            assert server.ask("GET", f"/v1/images/{number}", token).status_code == 200
        assert made.login()["token"] == token
        assert server.ask("GET", "/v1/session", token).json()["phase"] == "open"
        assert server.ask("GET", "/v1/health").status_code == 200
        for _ in range(3):
            told = problem(made.post(token, key="kept"), 503, "journal-stalled")
            assert told["retry_after_s"] == 5
        detections_accepted = server.ask("GET", "/v1/session", token).json()[
            "detections_accepted"
        ]
        assert detections_accepted == 0
    until(lambda: trouble() == "None")
    until(lambda: "answers again" in log.read_text())
    until(lambda: made.post(token, key="kept").status_code == 202)
    assert made.post(token, key="kept").json()["received_total"] == len(ROWS)


def test_without_required_the_contest_goes_on_and_the_record_says_from_when_to_when(
    day: MakeDay,
    journal: Path,
) -> None:
    made = with_journal(
        day(served=False), journal, deadline_s=DEADLINE_S, required=False
    )
    server = made.serve()
    token = made.login()["token"]
    assert made.post(token).status_code == 202

    def noted(kind: str) -> int:
        with made.store() as store:
            return [
                event["kind"] for event in store.log.newest_after(0, 1000)[1]
            ].count(kind)

    def trouble() -> str:
        return str(
            json.loads(made.refers("status", "--json").stdout)["journal_trouble"]
        )

    with stalled(journal):
        log = made.folder / "server.log"
        until(lambda: "are on this host's disk only" in log.read_text())
        for number in range(2, 5):
            assert made.post(token).json()["received_total"] == number * len(ROWS)
        until(lambda: re.search(SINCE + "are on this host's disk only", trouble()))
    # A copy of the whole database would hold the open run up, and no command makes one either.
    until(
        lambda: re.search(
            SINCE
            + ": its disk answers again, and the journal will restart once no run",
            trouble(),
        )
    )
    until(lambda: made.refers("team", "disable", "ant").returncode == 0)
    assert re.search(
        f"journal-behind: .* {SINCE}: its disk did not answer",
        doctor(made),
    )
    assert made.post(token).json()["received_total"] == 5 * len(ROWS)
    assert noted("journal-behind") == 1
    assert noted("journal-again") == 0

    assert server.ask("DELETE", "/v1/session", token).status_code == 200
    until(lambda: trouble() == "None")
    assert "journal-behind" not in doctor(made)
    # Who had the file open before goes on in the new one.
    until(lambda: made.refers("team", "enable", "ant").returncode == 0)
    again = made.login()["token"]
    assert made.post(again).status_code == 202
    assert server.ask("DELETE", "/v1/session", again).status_code == 200
    assert noted("journal-behind") == 1
    assert noted("journal-again") == 1
    assert server.end() == 0
    before = content(made.folder / "contest.db")
    for one in made.folder.glob("contest.db*"):
        one.unlink()
    restored = refers("restore", "--journal", str(made.folder))
    assert restored.returncode == 0, restored.stderr
    after = content(made.folder / "contest.db")
    assert {table for table in before if after[table] != before[table]} <= {
        "events",
        "published",
    }


def test_a_host_that_was_superseded_ends_and_says_so_when_it_is_started_again(
    day: MakeDay,
    journal: Path,
    tmp_path: Path,
) -> None:
    made = with_journal(day(served=False), journal)
    server = made.serve()
    token = made.login()["token"]
    secret = read_secret(made.folder / "secret")
    later = issue(
        secret,
        replace(read(secret, token), epoch=2),
        contest_id(made.folder),
    )
    problem(server.ask("GET", "/v1/images/1", later), 503, "superseded")
    take_over(journal, made, tmp_path / "second")
    assert server.process.wait(TIMEOUT_S) == 1
    words = (
        f"This host had epoch 1 of the contest, but epoch 2 of {tmp_path}/second on "
    )
    assert words in (made.folder / "server.log").read_text()
    again = refers("serve", str(made.folder), "--port", "0")
    assert again.returncode == 1
    assert words in again.stderr
    assert f"! {words}" in refers("status", "--contest", str(made.folder)).stdout


def test_neither_a_copy_nor_a_folder_without_its_disk_is_served(
    day: MakeDay,
    journal: Path,
    tmp_path: Path,
) -> None:
    made = with_journal(day(served=False), journal, deadline_s=DEADLINE_S)
    assert made.serve().end() == 0
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)

    def refused(folder: Path) -> str:
        tried = refers("serve", str(folder), "--port", "0")
        assert (tried.returncode, tried.stderr.count("\n")) == (1, 1), tried.stderr
        return tried.stderr

    assert (
        f"may not write to the journal {journal}: it has epoch 1 of {made.folder} on "
        in refused(copy)
    )
    with (made.folder / LOCK_NAME).open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as work does that nobody waits for any more
        assert "has not answered for" in refused(made.folder)
    assert "journal-same-disk" in refers("doctor", str(made.folder)).stdout
    assert "journal-elsewhere: " in refers("doctor", str(copy)).stdout
    held = (copy / "contest.db").read_bytes()
    restored = refers("restore", "--journal", str(copy))
    assert restored.returncode == 1
    assert ("may not write to the journal" in restored.stderr) is True
    assert (copy / "contest.db").read_bytes() == held
    with stalled(journal):
        assert f"has not answered for {DEADLINE_S} s" in refused(made.folder)
        stdout = refers("doctor", str(made.folder)).stdout
        assert "journal-stalled: The journal's disk at " in stdout
    hidden = journal.rename(tmp_path / "not mounted")
    assert f"The journal of {made.folder} is not at {journal}" in refused(made.folder)
    journal.mkdir()
    assert f"The journal of {made.folder} is not at {journal}" in refused(made.folder)
    journal.rmdir()
    hidden.rename(journal)
    assert made.serve().end() == 0
