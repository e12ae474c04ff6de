"""A database that is removed while it is served: nothing more is acknowledged, nothing acknowledged is lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from referee.errors import StorageFailed
from referee.web.server_watches import watch_files
from tests.contest_day import ROWS, Day, problem, refers, until


def test_a_removed_database_refuses_results_and_leaves_a_copy_with_all_that_was_acknowledged(
    day: Callable[..., Day],
) -> None:
    made = day()
    server = made.server
    folder = made.folder
    assert server is not None
    token = made.login()["token"]
    assert made.post(token).status_code == 202
    (folder / "contest.db").unlink()
    told = problem(made.post(token), 503, "storage-failed")
    assert "contest-rescued" in told["detail"]
    assert server.ask("GET", "/v1/images/1", token).status_code == 200
    until(lambda: list(folder.glob("contest-rescued-*.db")))
    (copy,) = folder.glob("contest-rescued-*.db")
    until(
        lambda: (
            f"! {folder}/contest.db or its -wal"
            in refers("status", "--contest", str(folder)).stdout
        )
    )
    until(lambda: "contest-rescued" in (folder / "server.log").read_text())
    server.end()
    missing = refers("serve", str(folder), "--port", "0")
    assert "contest.db is missing or empty" in missing.stderr
    copy.rename(folder / "contest.db")
    for leftover in ("contest.db-wal", "contest.db-shm"):
        (folder / leftover).unlink(missing_ok=True)
    shown = made.serve().ask("GET", "/v1/session", token).json()
    assert shown["phase"] == "open"
    assert shown["detections_accepted"] == len(ROWS)
    assert made.post(token).json()["received_total"] == 2 * len(ROWS)


def test_what_stays_wrong_is_logged_once_and_again_after_it_was_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looks = iter(["gone", "gone", "", "gone"])
    ends = iter([False, False, False, True])

    def watch(_: object) -> None:
        if sentence := next(looks):
            raise StorageFailed(sentence)

    store: Any = SimpleNamespace(
        integrity=SimpleNamespace(watch=watch),
        served=SimpleNamespace(flush=lambda: None),
    )
    clock: Any = SimpleNamespace(
        wait=lambda *_: next(ends), monotonic_s=lambda: 0.0, utc=lambda: None
    )
    watches: Any = SimpleNamespace(
        config_watch=SimpleNamespace(look=lambda: None),
        refusals=SimpleNamespace(store_new=lambda: None),
        auto_judging=SimpleNamespace(look=lambda: None),
        board=SimpleNamespace(log_head=lambda: None),
    )
    with caplog.at_level(logging.ERROR):
        watch_files(watches, store, clock, threading.Event())
    assert caplog.messages == ["gone", "gone"]


def test_a_look_that_breaks_off_ends_no_other_look(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An error in the automatic judging must not end the storing of refusals, of served images, and the watches."""
    seen: list[str] = []
    ends = iter([False, False, True])

    def breaks() -> None:
        raise ZeroDivisionError("odd")

    store: Any = SimpleNamespace(
        integrity=SimpleNamespace(watch=lambda _: breaks()),
        served=SimpleNamespace(flush=lambda: seen.append("flush")),
    )
    clock: Any = SimpleNamespace(
        wait=lambda *_: next(ends), monotonic_s=lambda: 0.0, utc=lambda: None
    )
    watches: Any = SimpleNamespace(
        config_watch=SimpleNamespace(look=breaks),
        refusals=SimpleNamespace(store_new=lambda: seen.append("refusals")),
        auto_judging=SimpleNamespace(look=breaks),
        board=SimpleNamespace(log_head=lambda: None),
    )
    with caplog.at_level(logging.ERROR):
        watch_files(watches, store, clock, threading.Event())
    assert seen == ["flush", "refusals"] * 3
    assert caplog.messages == ["odd"] * 3, "once for each look that fails"
