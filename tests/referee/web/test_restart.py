"""Whatever is killed, what was acknowledged is on disk and an open run goes on with its remaining window."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from itsdangerous import URLSafeSerializer

from lpirc_testsets import read_ground_truth
from referee.auth import tokens
from referee.store.records import RunState
from tests.contest_day import (
    ROWS,
    Day,
    Server,
    called,
    is_running,
    problem,
    refers,
    until,
    workers_of,
)
from tests.timeouts import TIMEOUT_S

POSTS = 5


def test_kill_of_the_whole_server_loses_nothing_and_the_window_goes_on(
    day: Callable[..., Day],
) -> None:
    made = day()
    first = made.server
    assert first is not None
    told = made.login()
    token = told["token"]
    for number in range(1, POSTS + 1):
        assert made.post(token).json()["received_total"] == number * len(ROWS)
    with made.store() as store:
        until(lambda: len(store.readings.of_run(1, 0.0)) >= 3)
    workers = workers_of(first.pid)
    first.kill()
    until(lambda: not any(map(is_running, workers)))

    second = made.serve()
    shown = second.ask("GET", "/v1/session", token).json()
    assert shown["run"] == told["run"]
    assert shown["phase"] == "open"
    assert shown["detections_accepted"] == POSTS * len(ROWS)
    assert shown["remaining_s"] < told["remaining_s"]
    assert made.login()["token"] == token
    assert made.post(token).json()["received_total"] == (POSTS + 1) * len(ROWS)
    with made.store() as store:
        before = len(store.readings.of_run(1, 0.0))
        until(lambda: len(store.readings.of_run(1, 0.0)) >= before + 3)
    assert second.ask("DELETE", "/v1/session", token).status_code == 200
    run = made.run()
    assert run.elapsed_s is not None
    assert run.elapsed_s > told["window_s"] - told["remaining_s"]
    # The meter integrated all through, the gap included; it starts before the window and stops after it.
    assert run.energy_wh is not None
    assert run.integrator_s is not None
    assert run.elapsed_s - 0.1 <= run.energy_wh * 3600 / 36 <= run.elapsed_s + 2
    assert run.integrator_s >= int(run.elapsed_s - 0.1)  # it is told in whole seconds
    with made.store() as store:
        assert len(store.posts.detections(1)) == (POSTS + 1) * len(ROWS)


def test_an_open_run_goes_on_though_an_image_changed_and_only_that_one_is_refused(
    day: Callable[..., Day],
    tiny_set: Path,
    tmp_path: Path,
) -> None:
    """No check of all files keeps a run waiting; without an open run the server would refuse to start."""
    testset = tmp_path / "own set"
    shutil.copytree(tiny_set, testset)
    made = day(testset=testset)
    token = made.login()["token"]
    first = made.server
    assert first is not None
    workers = workers_of(first.pid)
    first.kill()
    until(lambda: not any(map(is_running, workers)))
    changed, *_ = sorted((testset / "images").iterdir())
    changed.write_bytes(b"another file")

    second = made.serve()
    images = made.run().images
    answers = [
        second.ask("GET", f"/v1/images/{number}", token)
        for number in range(1, images + 1)
    ]
    assert sorted(answer.status_code for answer in answers) == [200] * (images - 1) + [
        503
    ]
    log = made.folder / "server.log"
    until(lambda: f"the image file {changed.name} is not the file" in log.read_text())


def test_a_deadline_that_passes_while_nothing_serves_is_kept(
    day: Callable[..., Day],
) -> None:
    made = day(window_s=2)
    assert made.server is not None
    token = made.login()["token"]
    made.post(token)
    made.server.kill()
    until(lambda: made.server is not None and not workers_of(made.server.pid))
    with socket.create_connection(("127.0.0.1", made.meter.port)):
        pass  # the meter lives on
    server = made.serve()
    until(lambda: made.runs(RunState.CLOSED))
    run = made.run()
    assert run.closed_by == "deadline"
    assert run.elapsed_s == 2.0
    assert run.energy_wh == pytest.approx(36 * 2 / 3600, rel=0.01)
    problem(server.ask("GET", "/v1/images/1", token), 409, "window-closed")


def test_a_killed_worker_is_replaced_and_the_run_goes_on(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    server = made.server
    token = made.login()["token"]
    made.post(token)
    (worker,) = workers_of(server.pid)
    os.kill(worker, signal.SIGKILL)
    assert server.first_line() == server.ready
    assert workers_of(server.pid) not in ([], [worker])
    assert made.post(token).json()["received_total"] == 2 * len(ROWS)
    assert server.end() == 0


def test_workers_killed_in_quick_succession_are_replaced_and_the_run_goes_on(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    server = made.server
    token = made.login()["token"]
    made.post(token)
    for _ in range(3):
        kill_worker(server)
    assert server.first_line() == server.ready
    assert made.post(token).json()["received_total"] == 2 * len(ROWS)
    assert server.end() == 0


def kill_worker(server: Server) -> None:
    """Kill the worker and wait no longer than until its successor exists, be it ready or not."""
    (worker,) = workers_of(server.pid)
    os.kill(worker, signal.SIGKILL)
    until(
        lambda: (
            workers_of(server.pid) not in ([], [worker])
            and len(workers_of(server.pid)) == 1
        )
    )


def test_a_terminal_that_goes_away_does_not_end_the_contest(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    token = made.login()["token"]
    workers = workers_of(made.server.pid)
    os.kill(made.server.pid, signal.SIGHUP)
    assert made.post(token).status_code == 202
    assert workers_of(made.server.pid) == workers


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_asked_end_leaves_the_run_open_and_no_process(
    day: Callable[..., Day],
    number: signal.Signals,
) -> None:
    made = day()
    assert made.server is not None
    server = made.server
    token = made.login()["token"]
    made.post(token)
    workers = workers_of(server.pid)
    stalled = stall(server, token) if number == signal.SIGTERM else None
    server.process.send_signal(number)
    assert server.process.wait(TIMEOUT_S) == 0
    if stalled is not None:
        stalled.close()
    assert not any(map(is_running, workers))
    assert [run.id for run in made.runs(RunState.OPEN)] == [1]
    assert not (made.folder / "server").exists()
    assert "removed" not in (made.folder / "server.log").read_text()
    assert made.serve().ask("GET", "/v1/session", token).json()[
        "detections_accepted"
    ] == len(ROWS)


def stall(server: Server, token: str) -> socket.socket:
    """A client that stops in mid-body must not hold the server up."""
    connection = socket.create_connection(("127.0.0.1", server.port))
    head = f"POST /v1/detections HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 99\r\n\r\n["
    connection.sendall(head.encode())
    return connection


def test_an_asked_end_is_heard_whichever_thread_of_the_server_gets_the_signal(
    day: Callable[..., Day],
) -> None:
    server = day().server
    assert server is not None
    threads = [int(one.name) for one in Path(f"/proc/{server.pid}/task").iterdir()]
    tgkill = ctypes.CDLL(None).tgkill
    assert 0 in [
        tgkill(server.pid, one, signal.SIGTERM) for one in threads if one != server.pid
    ]
    assert server.process.wait(TIMEOUT_S) == 0


def test_a_frozen_worker_is_replaced_and_the_run_goes_on(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    server = made.server
    token = made.login()["token"]
    made.post(token)
    (worker,) = workers_of(server.pid)
    os.kill(worker, signal.SIGSTOP)
    assert server.first_line() == server.ready
    assert not is_running(worker)
    assert made.post(token).json()["received_total"] == 2 * len(ROWS)
    text = (made.folder / "server.log").read_text()
    assert "the worker has shown no sign of life for 15 s" in text


@pytest.mark.parametrize("half", ["window_s = [", None])
def test_a_worker_that_dies_while_contest_toml_is_half_written_is_replaced_all_the_same(
    day: Callable[..., Day], half: str | None
) -> None:
    """An editor has the file open in the middle of a run: the run goes on with the settings in use."""
    made = day()
    assert made.server is not None
    server = made.server
    token = made.login()["token"]
    made.post(token)
    file = made.folder / "contest.toml"
    whole = file.read_text()
    if half is None:
        file.unlink()  # some editors write the new file beside it first
    else:
        file.write_text(half)
    (worker,) = workers_of(server.pid)
    os.kill(worker, signal.SIGKILL)
    assert server.first_line() == server.ready
    assert made.post(token).json()["received_total"] == 2 * len(ROWS)
    assert "The settings in use go on" in (made.folder / "server.log").read_text()
    file.write_text(whole)
    assert server.ask("DELETE", "/v1/session", token).status_code == 200


def test_a_server_does_not_start_with_a_file_that_cannot_be_read(
    day: Callable[..., Day],
) -> None:
    """The settings on record are those of the last start; whoever has changed the file since wants others."""
    made = day()
    assert made.server is not None
    made.server.kill()
    until(lambda: made.server is not None and not workers_of(made.server.pid))
    (made.folder / "contest.toml").write_text("window_s = [")
    refused = refers("serve", str(made.folder), "--port", "0")
    assert refused.returncode == 1
    assert "cannot be read" in refused.stderr


def test_rows_count_for_an_image_that_was_fetched_just_before_the_server_was_killed(
    day: Callable[..., Day],
    tiny_set: Path,
) -> None:
    made = day()
    token = made.login()["token"]
    assert made.server is not None
    rows = found(made, tiny_set)
    for number in (2, 4):
        assert made.server.ask("GET", f"/v1/images/{number}", token).status_code == 200
    made.server.kill()
    until(lambda: made.server is not None and not workers_of(made.server.pid))
    second = made.serve()
    assert second.ask("GET", "/v1/session", token).json()["images_served"] == 2
    assert made.post(token, rows).status_code == 202
    second.ask("DELETE", "/v1/session", token)
    judged = json.loads(made.refers("judge", "1", "--json").stdout)
    of_others = [row for row in rows if row[0] not in (2, 4)]
    (check,) = [
        check for check in judged["checks"] if check["code"] == "images-not-fetched"
    ]
    assert check["ok"] is False
    assert check["figures"]["rows"] == len(of_others)
    assert check["figures"]["images"] == 4
    assert judged["detections"] == len(rows) - len(of_others)
    assert 0 < judged["map"] < check["figures"]["map_with_them"] == 1.0
    assert "images-not-fetched" in made.refers("run", "show", "1").stdout
    config = made.folder / "contest.toml"
    config.write_text("count_unserved = true\n" + config.read_text())
    again = json.loads(made.refers("judge", "1", "--json").stdout)
    assert (again["map"], again["signature"]) == (judged["map"], judged["signature"]), (
        "its rules are bound"
    )


def found(day: Day, testset: Path) -> list[list[float]]:
    """Every object of the set, in the numbers of run 1."""
    truth = read_ground_truth(testset)
    with day.store() as store:
        known_as = {
            original: n
            for n, original in enumerate(store.runs.image_order(1).tolist(), start=1)
        }
    columns = (truth.image.tolist(), truth.category.tolist(), truth.boxes.tolist())
    return [
        [known_as[image], category, 0.5, *box]
        for image, category, box in zip(*columns, strict=True)
    ]


def test_the_token_of_a_run_that_a_restore_took_back_is_refused(
    day: Callable[..., Day],
) -> None:
    made = day(served=False)
    with contextlib.closing(sqlite3.connect(made.folder / "contest.db")) as database:
        database.execute("VACUUM INTO ?", (str(made.folder / "copy.db"),))
    first = made.serve()
    lost = made.login()
    assert first.ask("GET", "/v1/images/1", lost["token"]).status_code == 200
    first.ask("DELETE", "/v1/session", lost["token"])
    assert first.end() == 0
    for name in ("contest.db-wal", "contest.db-shm"):
        (made.folder / name).unlink(missing_ok=True)
    (made.folder / "copy.db").replace(made.folder / "contest.db")
    # Else what the copy lacks is taken from there.
    shutil.rmtree(made.folder / "journal")
    refused = refers("serve", str(made.folder), "--port", "0").stderr
    assert "is missing: a new one begins with a copy of the database" in refused
    assert refused.endswith(f"referee doctor {made.folder} --accept\n")
    assert refers("doctor", str(made.folder), "--accept").returncode == 0
    second = made.serve()
    again = made.login()
    assert again["run"] == lost["run"]
    assert (again["token"] != lost["token"]) is True
    for method, path in (
        ("GET", "/v1/images/1"),
        ("GET", "/v1/session"),
        ("DELETE", "/v1/session"),
    ):
        problem(second.ask(method, path, lost["token"]), 401, "bad-token")
    problem(made.post(lost["token"]), 401, "bad-token")
    problem(made.post(lost["token"], key="k"), 401, "bad-token")
    status_code = second.ask(
        "POST",
        "/image",
        data={"token": lost["token"], "image_name": "1"},
    ).status_code
    assert status_code == 401
    assert second.ask("GET", "/v1/images/1", again["token"]).status_code == 200


def test_after_a_log_out_and_restarts_a_token_only_reads_and_a_restored_backup_gives_it_no_score(
    day: Callable[..., Day],
    tmp_path: Path,
) -> None:
    """The team logs out at its best moment, and would post better rows without energy."""
    made = day()
    token = made.login()["token"]
    backup = tmp_path / "backup.zip"
    returncode = called(
        "backup", str(made.folder), "-o", str(backup), "--with-keys"
    ).returncode
    assert returncode == 0
    assert made.server is not None
    ended = made.server.ask("DELETE", "/v1/session", token).json()
    for _ in range(2):
        assert made.server.end() == 0
        server = made.serve()
        for path in ("/v1/images/1", "/v1/images"):
            problem(server.ask("GET", path, token), 409, "window-closed")
        problem(made.post(token), 409, "window-closed")
        assert server.ask("GET", "/v1/session", token).json()["phase"] == "closed"
        assert server.ask("DELETE", "/v1/session", token).json() == ended
    assert made.server.end() == 0

    assert called("restore", str(backup), str(tmp_path / "restored")).returncode == 0
    made.folder = tmp_path / "restored"
    server = made.serve()
    assert made.post(made.fetched(token)).status_code == 202, (
        "the restored run goes on: no one recorded its end"
    )
    assert server.ask("DELETE", "/v1/session", token).json()["energy_wh"] is None
    assert called("judge", "--all", "--contest", str(made.folder)).returncode == 0
    assert made.run().energy_wh is None
    board = called("leaderboard", "--json", "--contest", str(made.folder)).stdout
    assert json.loads(board) == [], "no energy, no score"


def test_a_run_that_was_open_before_runs_had_a_random_value_goes_on_with_its_token(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    token = made.login()["token"]
    assert made.server.end() == 0
    with (
        contextlib.closing(sqlite3.connect(made.folder / "contest.db")) as database,
        database,
    ):
        database.execute("ALTER TABLE runs DROP COLUMN nonce")
        database.execute("PRAGMA user_version = 9")
    session = tokens.read(bytes.fromhex((made.folder / "secret").read_text()), token)
    serializer = URLSafeSerializer(
        bytes.fromhex((made.folder / "secret").read_text()),
        "session",
        signer_kwargs={"key_derivation": "hmac"},
    )
    old = serializer.dumps(
        {
            "run": 1,
            "team": session.team,
            "expires_s": session.expires_s,
        }
    )
    server = made.serve()
    assert server.ask("GET", "/v1/images/1", old).status_code == 200
    # Its value is not that of the run.
    problem(
        server.ask("GET", "/v1/images/1", token),
        401,
        "bad-token",
    )
    again = made.login()["token"]
    assert server.ask("GET", "/v1/images/1", again).status_code == 200
    assert server.ask("DELETE", "/v1/session", old).status_code == 200
