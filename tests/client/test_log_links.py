"""Links of the log: kept beside receipts with the time, each once, and told when one contradicts another."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lpirc_client.connection import Connection
from lpirc_client.errors import ClientError
from lpirc_client.log_links import LogLink, differences, link_from, read_kept
from lpirc_client.receipts import ReceiptFile
from tests.client.referee_double import PASSWORD, Referee
from tests.client.test_receipts import KEYS, ROW, lines

KEPT = ["log", "seen_utc"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "receipts.jsonl"


def log(events: int, digit: str = "a") -> dict[str, Any]:
    return {"events": events, "link": digit * 64}


def post(referee: Referee, path: Path, shown: list[dict[str, Any] | None]) -> None:
    """Post a body for each of these links, in one session."""
    referee.gives_receipts = True
    receipts = ReceiptFile(path)
    with Connection(referee.url, receipts=receipts) as session:
        session.login("alpha", PASSWORD)
        for one in shown:
            referee.log = one
            session.post(*ROW)
    receipts.end()


def test_each_link_is_kept_once_beside_a_receipt_with_the_time_of_this_device(
    referee: Referee, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = datetime.now(UTC) - timedelta(milliseconds=1)
    post(referee, path, [None, log(4), log(4), log(7, "b"), log(7, "b")])
    kept = lines(path)
    assert [[*one] for one in kept] == [
        KEYS,
        KEYS + KEPT,
        KEYS,
        KEYS + KEPT,
        KEYS,
    ]
    assert [one.get("log") for one in kept] == [None, log(4), None, log(7, "b"), None]
    seen = datetime.fromisoformat(kept[1]["seen_utc"])
    assert began <= seen <= datetime.now(UTC)
    assert "WARNING" not in capsys.readouterr().err
    found = read_kept(path)
    assert [one for one, _ in found] == [LogLink(4, "a" * 64), LogLink(7, "b" * 64)]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (log(4, "b"), "the link of event 4 is another one than before"),
        (log(3), "it has 3 events, and had 4 before"),
    ],
)
def test_a_link_that_contradicts_the_one_before_is_told_and_kept_and_the_run_goes_on(
    referee: Referee,
    path: Path,
    second: dict[str, Any],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(referee, path, [log(4), second, log(9)])
    said = capsys.readouterr().err
    assert said.count("WARNING") == 1
    assert f"WARNING: the contest's log was rewritten: {told}" in said
    assert [one["log"] for one in lines(path)] == [log(4), second, log(9)]


def test_a_file_that_is_continued_knows_the_link_of_last_time(
    referee: Referee, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    post(referee, path, [log(4)])
    post(referee, path, [log(4, "b")])
    assert "another one than before" in capsys.readouterr().err


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"events": "4", "link": "a" * 64},
        {"events": True, "link": "a" * 64},
        {"events": 4, "link": "A" * 64},
        {"events": 4, "link": 5},
    ],
)
def test_what_is_no_link_is_none(value: object) -> None:
    assert link_from(value) is None


def test_all_links_are_compared_with_the_kept_ones_and_what_is_gone_is_told() -> None:
    known = bytes.fromhex("a" * 64 + "b" * 64)

    def told(events: int, digit: str) -> list[str]:
        return differences(known, [(LogLink(events, digit * 64), "here")])

    assert told(1, "a") == told(2, "b") == told(0, "0") == []
    assert "the link of event 2 was aaaa" in told(2, "a")[0]
    assert "the log had 3 events, and has 2 now" in told(3, "a")[0]


@pytest.mark.parametrize("content", ["", "{", "5\n", json.dumps({"run": 3})])
def test_a_file_without_links_is_refused(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(ClientError, match="link"):
        read_kept(path)
