"""A host dies with its disk, and the one that stands by goes on: what was acknowledged is there."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from referee.auth.signing import new_key
from referee.auth.tokens import read
from referee.clock import Clock
from referee.journal.epochs import host_path
from referee.served import read_secret
from referee.store.records import RunState
from tests.contest_day import (
    PASSWORD,
    ROWS,
    TEAM,
    Day,
    Program,
    Server,
    called,
    descendants_of,
    is_running,
    problem,
    program,
    refers,
    until,
    workers_of,
)
from tests.kept_heads import head_kept, shown_link
from tests.ports import own_port

MakeDay = Callable[..., Day]
COPIED = ("contest.toml", "secret", "operator-key", "signing-key")
POSTERS = 4
AFTER_S = "2"


class Standby(Server):
    """`referee standby`; `ready` is what it says when it serves."""

    def __init__(self, folder: Path, *options: str) -> None:
        where = ["--port", str(own_port()), *options, "--parent", str(os.getpid())]
        Program.__init__(
            self,
            [program("referee"), "standby", str(folder), *where],
            folder / "server.log",
        )
        self.standing = Program.first_line(self)
        self.url = next(
            word.rstrip(";")
            for word in self.standing.split()
            if word.startswith("http://")
        )
        self.host, _, port = self.url.rpartition("/")[2].rpartition(":")
        self.port = int(port)

    def until_serving(self) -> None:
        self.ready = Program.first_line(self)
        assert self.ready.startswith("Serving "), self.ready


@pytest.fixture
def pair(day: MakeDay, tmp_path: Path) -> tuple[Day, Path]:
    """A contest whose journal lies on the disk of a second host, and the contest folder there."""
    journal = tmp_path / "second" / "journal"
    second = tmp_path / "second" / "contest"
    second.mkdir(parents=True)
    first = day(served=False)
    config = first.folder / "contest.toml"
    config.write_text(f'{config.read_text()}\n[journal]\npath = "{journal}"\n')
    for name in COPIED:
        shutil.copy(first.folder / name, second / name)
    return first, second


def die(day: Day) -> None:
    """The power of the machine fails, and its disk with it."""
    server = day.server
    assert server is not None
    processes = [server.pid, *workers_of(server.pid)]
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    server.process.wait()
    until(lambda: not any(map(is_running, processes)))

    def is_gone() -> bool:
        # A check's process, just started, may still write there.
        shutil.rmtree(day.folder, ignore_errors=True)
        return not day.folder.exists()

    until(is_gone)


def kinds_of(day: Day) -> list[str]:
    """The kinds of all events on record."""
    with day.store() as store:
        return [event["kind"] for event in store.log.newest_after(0, 1000)[1]]


def test_what_was_acknowledged_by_a_host_that_died_is_at_the_other_one(
    pair: tuple[Day, Path],
) -> None:
    first, folder = pair
    server = first.serve()
    told = first.login()
    token = str(told["token"])
    first.fetched(token)
    secret = read_secret(first.folder / "secret")
    standby = Standby(folder, "--first", server.url, "--after", AFTER_S)
    first.servers.append(standby)
    refused = problem(standby.ask("GET", "/v1/health"), 503, "stands-by")
    assert (
        "Test day: this host follows the host that serves the contest"
        in refused["detail"]
    )
    acknowledged: dict[str, dict[str, Any]] = {}
    died = threading.Event()

    def post_on(poster: int) -> None:
        for number in range(10_000):
            key = f"{poster}-{number}"
            rows = [[1 + number % 6, 1, 0.5, poster, 0, 50 + poster, 5]]
            try:
                answer = server.ask(
                    "POST",
                    "/v1/detections",
                    token,
                    {"Idempotency-Key": key},
                    json=rows,
                )
            except requests.RequestException:
                return
            if answer.status_code == 202:
                acknowledged[key] = answer.json()
            elif died.is_set():
                return

    with ThreadPoolExecutor(POSTERS) as pool:
        posting = [pool.submit(post_on, poster) for poster in range(POSTERS)]
        until(lambda: len(acknowledged) > 50)
        died.set()
        die(first)
        died_s = time.monotonic()
        for one in posting:
            one.result()
    standby.until_serving()
    sys.stderr.write(
        f"served again {time.monotonic() - died_s:.2f} s after the death\n"
    )

    first.server = standby
    first.folder = folder
    shown = standby.ask("GET", "/v1/session", token).json()
    assert shown["phase"] == "open"
    assert shown["run"] == told["run"]
    assert 0 < shown["remaining_s"] < told["remaining_s"]
    assert (
        len(acknowledged) <= shown["detections_accepted"] <= len(acknowledged) + POSTERS
    )
    for key, receipt in acknowledged.items():
        poster, number = map(int, key.split("-"))
        rows = [[1 + number % 6, 1, 0.5, poster, 0, 50 + poster, 5]]
        again = first.post(token, rows, key).json()
        # The log may have grown since.
        assert again | {"log": None} == receipt | {"log": None}
    assert standby.ask("GET", "/v1/images/1", token).status_code == 200
    new = str(first.login()["token"])
    assert read(secret, token).epoch == 1
    assert read(secret, new).epoch == 2
    assert first.post(new).status_code == 202
    assert standby.ask("DELETE", "/v1/session", token).status_code == 200
    run = first.run()
    assert run.state == RunState.CLOSED
    assert (run.energy_wh is not None) is True
    assert kinds_of(first).count("took-over") == 1
    assert kinds_of(first).count("rebooted") == 1
    (worker,) = workers_of(standby.pid)
    # What replaces it serves, and takes over no second time.
    os.kill(worker, signal.SIGKILL)
    assert Server.first_line(standby) == standby.ready
    assert kinds_of(first).count("took-over") == 1


def test_a_host_that_was_frozen_while_another_one_took_over_acknowledges_nothing(
    pair: tuple[Day, Path],
) -> None:
    first, folder = pair
    server = first.serve()
    token = first.fetched(str(first.login()["token"]))
    assert first.post(token).status_code == 202
    standby = Standby(folder, "--first", server.url, "--after", AFTER_S)
    first.servers.append(standby)
    frozen = [server.pid, *descendants_of(server.pid)]
    for process in frozen:
        os.kill(process, signal.SIGSTOP)
    standby.until_serving()
    for process in reversed(frozen):
        os.kill(process, signal.SIGCONT)
    answers: list[tuple[int, str]] = []
    while server.process.poll() is None:
        with contextlib.suppress(requests.RequestException):
            answer = first.post(token)
            answers.append((answer.status_code, answer.json()["code"]))
    unavailable = {
        (503, code) for code in ("superseded", "journal-stalled", "shutting-down")
    }
    assert set(answers) <= unavailable | {(409, "window-closed")}
    assert server.process.returncode == 1
    assert "epoch 2 of " in server.log.read_text()
    assert standby.ask("GET", "/v1/session", token).json()[
        "detections_accepted"
    ] == len(ROWS)
    again = refers("serve", str(first.folder), "--port", "0")
    assert again.returncode == 1
    assert (
        "has taken over. This host accepts no more requests" in again.stderr
    ) is True
    told = refers("team", "disable", TEAM, "--contest", str(first.folder))
    assert told.returncode == 1
    assert ("has taken over" in told.stderr) is True


def test_a_journal_whose_disk_is_not_mounted_is_no_word_of_another_host(
    pair: tuple[Day, Path],
    tmp_path: Path,
) -> None:
    first, _ = pair
    assert first.serve().end() == 0
    (tmp_path / "second" / "journal").rename(tmp_path / "unmounted")
    told = refers("status", "--contest", str(first.folder))
    assert told.returncode == 0
    assert ("Test day" in told.stdout) is True
    assert ("taken over" in told.stdout) is False


def test_the_log_that_a_client_was_shown_goes_on_at_the_host_that_took_over(
    pair: tuple[Day, Path],
) -> None:
    first, folder = pair
    server = first.serve()
    token = str(first.login()["token"])
    standby = Standby(folder, "--first", server.url, "--after", AFTER_S)
    first.servers.append(standby)
    kept = head_kept(first, token)
    die(first)
    standby.until_serving()
    first.server = standby
    log = first.post(token).json()["log"]  # what it says first
    assert log["events"] >= kept["events"]
    assert shown_link(standby, kept["events"]) == kept["link"]
    assert shown_link(standby, log["events"]) == log["link"]


def test_a_freeze_that_falls_due_between_two_hosts_freezes_what_the_first_one_showed(
    pair: tuple[Day, Path],
) -> None:
    first, folder = pair
    first.serve()
    token = str(first.login()["token"])
    kept = head_kept(first, token)
    die(first)
    died = Clock().utc().isoformat()
    config = folder / "contest.toml"
    config.write_text(f"freeze_at = {died}\n{config.read_text()}")
    standby = Standby(folder, "--now")
    first.servers.append(standby)
    standby.until_serving()
    board = standby.ask("GET", "/board.json").json()
    assert board["state"] == "frozen"
    assert board["log"]["events"] == kept["events"]
    assert board["log"]["link"] == kept["link"]
    first.server = standby
    assert first.post(token).json()["log"] == kept


def test_of_two_that_stand_by_one_takes_over_and_the_other_follows_it(
    pair: tuple[Day, Path],
    tmp_path: Path,
) -> None:
    first, folder = pair
    server = first.serve()
    token = str(first.login()["token"])
    third = tmp_path / "third"
    shutil.copytree(folder, third)
    both = [
        Standby(one, "--first", server.url, "--after", AFTER_S)
        for one in (folder, third)
    ]
    first.servers += both
    die(first)
    until(
        lambda: (
            sorted(one.ask("GET", "/v1/health").status_code for one in both)
            == [200, 503]
        )
    )
    serving, following = sorted(
        both,
        key=lambda one: one.ask("GET", "/v1/health").status_code,
    )
    serving.until_serving()
    first.server = serving
    first.folder = folder if serving is both[0] else third
    assert first.post(token).status_code == 202
    serving.kill()  # its worker ends in order
    following.until_serving()
    assert following.ask("GET", "/v1/session", token).json()[
        "detections_accepted"
    ] == len(ROWS)


def test_a_server_that_was_ended_in_order_is_taken_over_only_by_hand(
    pair: tuple[Day, Path],
) -> None:
    first, folder = pair
    server = first.serve()
    token = str(first.login()["token"])
    assert first.post(token).status_code == 202
    standby = Standby(folder, "--first", server.url, "--after", AFTER_S)
    first.servers.append(standby)
    assert server.end() == 0
    time.sleep(2 * float(AFTER_S))
    problem(standby.ask("GET", "/v1/session", token), 503, "stands-by")
    assert standby.end() == 0
    backup = folder.with_name("day.zip")
    restored = folder.with_name("restored")
    returncode = called(
        "backup", str(first.folder), "-o", str(backup), "--with-keys"
    ).returncode
    assert returncode == 0
    assert called("restore", str(backup), str(restored)).returncode == 0
    now = Standby(restored, "--now")
    first.servers.append(now)
    now.until_serving()
    assert now.ask("GET", "/v1/session", token).json()["detections_accepted"] == len(
        ROWS
    )


def test_the_receipt_of_an_upload_is_the_same_from_the_host_that_took_over(
    pair: tuple[Day, Path],
) -> None:
    first, folder = pair
    track = (
        f'[[tracks]]\nname = "files"\nrule = "results"\ntestset = "{first.testset}"\n'
    )
    for config in (first.folder / "contest.toml", folder / "contest.toml"):
        config.write_text(
            config.read_text().replace("\n[journal]\n", f"\n{track}[journal]\n")
        )
    server = first.serve()
    path = "/v1/entries?track=files&name=a.csv"
    auth = (TEAM, PASSWORD)
    told = server.ask(
        "POST",
        path,
        data=b"image,class,confidence,xmin,ymin,xmax,ymax\n",
        auth=auth,
    ).json()
    die(first)
    now = Standby(folder, "--now")
    first.servers.append(now)
    now.until_serving()
    shown = now.ask("GET", f"/v1/entries/{told['id']}", auth=auth).json()
    assert shown["receipt"] == told["receipt"]
    assert (
        shown["receipt"]["public_key"]
        == now.ask("GET", "/board.json").json()["public_key"]
    )

    def state() -> str:
        return str(
            now.ask("GET", f"/v1/entries/{told['id']}", auth=auth).json()["state"]
        )

    until(lambda: state() == "scored")  # the file came by the journal's disk


def test_what_may_not_stand_by_is_told_why(
    pair: tuple[Day, Path],
    tmp_path: Path,
) -> None:
    first, folder = pair
    journal = tmp_path / "second" / "journal"

    def told(*options: str) -> str:
        tried = refers(
            "standby",
            str(folder),
            "--first",
            "http://127.0.0.1:9",
            "--port",
            "0",
            *options,
        )
        assert (tried.returncode, tried.stderr.count("\n")) == (1, 1), tried.stderr
        return tried.stderr

    assert "is not a journal to which a host writes" in told()
    assert first.serve().end() == 0
    config = folder / "contest.toml"
    right = config.read_text()
    config.write_text(right.replace("\n[journal]\n", "\n[journal]\nrequired = false\n"))
    assert "Set required = true on both hosts" in told()
    config.write_text(right.partition("\n[journal]\n")[0])
    assert "names no journal that both hosts reach" in told()
    assert "is not a journal to which a host writes" in told(
        "--journal", str(tmp_path / "elsewhere")
    )
    config.write_text(right)

    host = host_path(journal, 1)
    claim = host.read_text()
    host.write_text(re.sub('"version": "[^"]*"', '"version": "1.0"', claim))
    assert "The first host runs version 1.0 of this program" in told()
    host.write_text(claim)

    for name, words in (
        ("secret", "the secrets in"),
        ("signing-key", "is not the key"),
    ):
        kept = (folder / name).read_bytes()
        other = secrets.token_hex(32).encode() if name == "secret" else new_key()
        (folder / name).write_bytes(other)
        assert words in told()
        (folder / name).write_bytes(kept)
    stderr = refers("standby", str(folder), "--first", "hall-a").stderr
    assert "is not the address of a referee" in stderr
