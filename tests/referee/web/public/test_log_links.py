"""The public links of the log over HTTP: all, what is new of them, in each 202, and none newer than a freeze."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpirc_client.cli import main
from referee.clock import Clock
from referee.evidence.published_chain import log_record, read_chain
from referee.store.records import Published
from tests.contest_day import PASSWORD, ROOT, TEAM, TIMEOUT_S, Day, until

LINKS = "/log/links"
ONE_FILE = ROOT / "client" / "examples" / "python" / "client.py"


def asked(day: Day, method: str = "GET", **headers: str) -> Any:
    assert day.server is not None
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return day.server.ask(method, LINKS, headers=sent)


def head(day: Day) -> dict[str, Any]:
    """The newest public link, as the board has it."""
    assert day.server is not None
    board: dict[str, Any] = day.server.ask("GET", "/board.json").json()
    log = board["log"] or {"events": 0, "link": ""}
    return {name: log[name] for name in ("events", "link")}


def append(day: Day, count: int = 1) -> None:
    """Some acts, by another process than the server."""
    with day.store() as store:
        for number in range(count):
            store.log.append(Clock().utc(), None, "odd", number=number)


def events(day: Day) -> int:
    with day.store() as store:
        return store.log.head()[0]


def published(day: Day) -> Published:
    with day.store() as store:
        row = store.published.get()
    assert row is not None
    return row


@pytest.fixture
def shown(day: Callable[..., Day]) -> Day:
    """A served contest whose whole log is public."""
    made = day()
    until(lambda: head(made)["events"] == events(made) > 0)
    return made


def test_all_links_are_served_up_to_the_one_on_the_board_and_fit_the_record(
    shown: Day,
) -> None:
    answer = asked(shown)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    newest = head(shown)
    with shown.store() as store:
        assert answer.content == store.log.links(0, newest["events"])
        record = read_chain(log_record(store, newest["events"]), "record")
    assert record.links == read_chain(answer.content, "links").links
    assert record.links[-1] == newest["link"]


def test_a_follower_gets_what_is_new_and_nothing_while_nothing_is(shown: Day) -> None:
    before = asked(shown)
    tag = before.headers["ETag"]
    unchanged = asked(shown, If_None_Match=tag)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    length = len(before.content)

    append(shown, 3)
    until(lambda: head(shown)["events"] == length // 32 + 3)
    new = asked(shown, Range=f"bytes={length - 32}-", If_None_Match=tag)
    assert new.status_code == 206
    assert new.content[:32] == before.content[-32:], "the log is the same until here"
    assert len(new.content) == 4 * 32
    assert new.headers["Content-Range"] == (
        f"bytes {length - 32}-{length + 95}/{length + 96}"
    )
    assert new.headers["ETag"] != tag
    last = asked(shown, Range="bytes=-32")
    assert last.content.hex() == head(shown)["link"]
    beyond = asked(shown, Range=f"bytes={length + 96}-")
    assert beyond.status_code == 416
    look = asked(shown, "HEAD")
    assert (look.content, look.headers["Content-Length"]) == (b"", str(length + 96))


def test_each_202_has_the_link_on_the_board_and_while_it_is_frozen_none_newer(
    shown: Day,
) -> None:
    token = str(shown.login()["token"])
    until(lambda: head(shown)["events"] == events(shown))
    live = shown.post(token).json()["log"]
    assert live.keys() == {"events", "link"}
    with shown.store() as store:
        assert store.log.links(live["events"] - 1, live["events"]).hex() == live["link"]

    assert shown.refers("board", "freeze").returncode == 0
    frozen = head(shown)
    links = asked(shown).content
    assert len(links) == 32 * frozen["events"]
    append(shown, 20)
    seen = published(shown).hall_utc
    until(lambda: published(shown).hall_utc != seen)
    until(lambda: shown.post(token).json()["log"] == frozen)
    # The page is made twice more: nothing of these acts ever comes.
    for _ in range(2):
        seen = published(shown).hall_utc
        until(lambda before=seen: published(shown).hall_utc != before)
        assert shown.post(token).json()["log"] == frozen == head(shown)
        assert asked(shown).content == links


def test_the_command_keeps_the_newest_link_and_tells_when_it_is_gone(
    shown: Day, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown.server is not None
    kept = tmp_path / "kept.jsonl"
    assert main(["links", shown.server.url, "--by", "the otters"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["log"] == head(shown)
    assert line["by"] == "the otters"
    kept.write_text(json.dumps(line))
    again = ["links", shown.server.url, "--kept", str(kept)]
    assert main(again) == 0
    assert "All 1 kept links are in the log" in capsys.readouterr().out
    kept.write_text(json.dumps(line | {"log": line["log"] | {"link": "0" * 64}}))
    assert main(again) == 1
    said = capsys.readouterr().err
    assert "1 of 1 kept links are not in the log" in said
    assert line["seen_utc"] in said


def test_the_client_of_one_file_keeps_links_that_are_in_the_log(
    shown: Day, tmp_path: Path
) -> None:
    assert shown.server is not None
    password = tmp_path / "password"
    kept = tmp_path / "kept.jsonl"
    password.write_text(PASSWORD)
    given = [shown.server.url, TEAM, str(password), "1", str(kept)]
    subprocess.run(
        [sys.executable, "-I", str(ONE_FILE), *given], check=True, timeout=TIMEOUT_S
    )
    assert kept.read_text().count("\n") >= 1
    assert main(["links", shown.server.url, "--kept", str(kept)]) == 0
