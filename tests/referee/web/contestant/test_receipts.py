"""Receipts over a real socket: each body's link, the signed one of a closed run, and that both stay what they were.

The links are computed here from the text of docs/receipts.md, by the client's own function.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from lpirc_client.receipts import link_of
from referee.store.records import RunState
from tests.contest_day import ROWS, Day, Server, is_running, until, workers_of
from tests.referee.web.legacy.old_clients import OldClient
from tests.scoring.detections.detection_bodies import TEXT, bodies

SIGNED = "lpirc-close-1\n{run}\n{posts}\n{head}\n{log}\n"


def served(day: Day) -> Server:
    assert day.server is not None
    return day.server


def kept(answer: Any) -> dict[str, Any]:
    """A receipt as a client keeps it; its link must follow from it."""
    assert answer.status_code == 202, answer.text
    document = answer.json()
    receipt: dict[str, Any] = document | document["receipt"]
    assert receipt["link"] == link_of(receipt)
    return receipt


def acknowledged(answer: Any) -> dict[str, Any]:
    """An answer without the log's newest link, which goes on."""
    document: dict[str, Any] = answer.json()
    assert document.pop("log").keys() == {"events", "link"}
    return document


def closing_of(
    day: Day,
    token: str,
    method: str = "GET",
) -> dict[str, Any]:
    """The closing receipt as told now; the contest's key must have signed it."""
    told: dict[str, Any] = (
        served(day).ask(method, "/v1/session", token).json()["receipt"]
    )
    verify(told, SIGNED.format(**told))
    assert told["public_key"] == public_key(day)
    return told


def verify(closing: dict[str, Any], text: str) -> None:
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(closing["public_key"]))
    key.verify(bytes.fromhex(closing["signature"]), text.encode())


def public_key(day: Day) -> str:
    return str(found(day, "SELECT public_key FROM contest")[0][0])


def found(
    day: Day,
    sql: str,
    *values: object,
) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(day.folder / "contest.db")) as database:
        return database.execute(sql, values).fetchall()


def test_each_kind_of_body_is_kept_as_sent_and_has_its_link(
    hall: Day,
    token: str,
) -> None:
    sent = bodies(ROWS)
    receipts = []
    for kind, body in sent.items():
        answer = served(hall).ask(
            "POST",
            "/v1/detections",
            token,
            {"Content-Type": kind},
            data=body,
        )
        receipts.append(kept(answer))
        assert receipts[-1]["sha256"] == hashlib.sha256(body).hexdigest()
    assert [one["previous"] for one in receipts[1:]] == [
        one["link"] for one in receipts[:-1]
    ]
    first = receipts[0]["number"]
    assert [one["number"] for one in receipts] == [*range(first, first + len(sent))]
    stored = found(
        hall,
        "SELECT content_type, body FROM posts WHERE run = 1 AND number >= ?",
        first,
    )
    assert stored == [*sent.items()]


def test_a_repeat_gets_the_first_receipt_and_what_is_refused_adds_no_link(
    hall: Day,
    token: str,
) -> None:
    first = hall.post(token, key="again")
    between = kept(hall.post(token))
    refused = served(hall).ask(
        "POST",
        "/v1/detections",
        token,
        {"Content-Type": TEXT},
        data=b"1 2 3",
    )
    assert refused.status_code == 422
    assert "receipt" not in refused.json()
    assert acknowledged(hall.post(token, key="again")) == acknowledged(first)
    after = kept(hall.post(token))
    assert between["previous"] == kept(first)["link"]
    assert after["previous"] == between["link"]


def test_routes_of_2015_answer_as_ever_and_their_bodies_are_links_too(
    hall: Day,
    token: str,
) -> None:
    before = kept(hall.post(token))
    rows = [["2", "1", "0.5", "0", "0", "5", "5"]]
    for _ in range(2):  # the second one is the same body again, and counts once
        told = OldClient(served(hall), token).post(rows)
        assert told.plain == (200, "Result stored in the server database\n")
    after = kept(hall.post(token))
    assert after["number"] == before["number"] + 2
    sql = (
        "SELECT sha256, received_utc, received_total, readings, lower(hex(meter))"
        " FROM posts WHERE run = 1 AND number = ?"
    )
    sha256, received_utc, total, readings, meter = found(
        hall,
        sql,
        before["number"] + 1,
    )[0]
    between = {
        "form": 2,
        "previous": before["link"],
        "number": before["number"] + 1,
        "sha256": sha256,
    }
    between |= {
        "received_utc": received_utc,
        "accepted": 1,
        "received_total": total,
    }
    between |= {"readings": readings, "meter": meter}
    assert after["previous"] == link_of(between)
    assert "receipt" not in served(hall).ask("GET", "/v1/session", token).json()


def restart(day: Day) -> None:
    old = served(day)
    workers = workers_of(old.pid)
    old.kill()
    until(lambda: not any(map(is_running, workers)))
    day.serve()


def test_the_chain_goes_on_over_a_restart_and_its_head_is_signed_at_the_log_out(
    day: Callable[..., Day],
) -> None:
    made = day()
    token = made.login()["token"]
    first = kept(made.post(token))
    restart(made)
    answer = made.post(token, key="last")
    last = kept(answer)
    assert last["number"] == 2
    assert last["previous"] == first["link"]
    closing = closing_of(made, token, "DELETE")
    assert closing["run"] == 1
    assert closing["posts"] == 2
    assert closing["head"] == last["link"]
    assert found(
        made,
        "SELECT lower(hex(link)) FROM events WHERE run = 1 AND kind = 'closed'",
    ) == [(closing["log"],)]
    with pytest.raises(InvalidSignature):
        verify(closing, SIGNED.format(**closing | {"posts": 3}))
    assert made.refers("run", "void", "1", "--reason", "a test").returncode == 0
    assert closing_of(made, token) == closing_of(made, token, "DELETE") == closing
    assert made.post(token, key="last").json() == answer.json()


def test_the_deadline_s_closing_receipt_is_the_same_after_a_restart(
    day: Callable[..., Day],
) -> None:
    made = day(window_s=2)
    token = made.login()["token"]
    last = kept(made.post(token))
    until(lambda: made.runs(RunState.CLOSED))
    closing = closing_of(made, token)
    assert closing["posts"] == 1
    assert closing["head"] == last["link"]
    restart(made)
    assert closing_of(made, token) == closing


def test_a_run_that_is_voided_while_it_is_open_has_its_closing_receipt(
    day: Callable[..., Day],
) -> None:
    made = day()
    token = made.login()["token"]
    assert made.refers("run", "void", "1", "--reason", "a test").returncode == 0
    closing = closing_of(made, token)
    assert closing["posts"] == 0
    assert len(closing["head"]) == 64


def test_a_log_out_succeeds_without_a_key_that_can_be_read_and_its_receipt_follows(
    day: Callable[..., Day],
) -> None:
    made = day()
    token = made.login()["token"]
    key = made.folder / "signing-key"
    content = key.read_bytes()
    key.write_bytes(b"no key")
    restart(made)  # an open run goes on
    closed = served(made).ask("DELETE", "/v1/session", token)
    assert closed.status_code == 200
    assert ("receipt" in closed.json()) is False
    assert "it is not an Ed25519 key in PEM" in served(made).log.read_text()
    key.write_bytes(content)
    restart(made)
    assert closing_of(made, token)["posts"] == 0
