"""What a soak of the last day counts: an entry that is planted as lost, late, misdated or judged twice is found."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.soak.entrant import TRACK
from bench.soak.entry_reckoning import entries_kept, longest_waits_s
from bench.soak.last_day import stored_entries
from lpirc_testsets import synthesize
from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.receiving import Offer, receive_body, upload_document
from referee.clock import Clock
from tests.referee.factories import TEAM, house

DEADLINE_S = 2000.0


def utc(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()


RECEIPT = {
    "team": "ant",
    "track": "models",
    "file": "a.onnx",
    "size": 9,
    "sha256": "a",
}
RECEIPT |= {"received_utc": utc(1000.5)}
STORED: dict[str, Any] = RECEIPT | {
    "id": 1,
    "state": "scored",
    "judged": 1,
    "file_is_there": True,
}
SENT: dict[str, Any] = {
    "what": "sent",
    "team": "ant",
    "sha256": "a",
    "first_s": 1000.0,
}
TOLD: dict[str, Any] = SENT | {
    "what": "received",
    "told_s": 1001.0,
    "attempts": [(1000.0, 1001.0)],
}
TOLD |= {"entry": {"id": 1, "receipt": RECEIPT}}
REFUSED = SENT | {
    "what": "refused",
    "told_s": 1001.0,
    "code": "track-closed",
    "attempts": [],
}


@pytest.mark.parametrize(
    ("told", "stored", "found"),
    [
        (TOLD, [STORED], None),
        (TOLD, [], "entries acknowledged and lost or altered"),
        (
            TOLD,
            [STORED | {"file_is_there": False}],
            "entries acknowledged and lost or altered",
        ),
        (TOLD, [STORED | {"size": 8}], "entries acknowledged and lost or altered"),
        (
            TOLD | {"attempts": [(1000.6, 1001.0)]},
            [STORED],
            "entries dated otherwise than by their last byte",
        ),
        (REFUSED, [], "entries refused for a deadline that had not passed"),
        (REFUSED | {"told_s": 2000.5}, [], None),
        (TOLD, [STORED, STORED | {"id": 2}], "entries stored twice"),
        (TOLD, [STORED | {"judged": 2}], "entries judged twice"),
        (
            TOLD,
            [STORED | {"state": "waiting"}],
            "entries in time without score or sentence",
        ),
        (SENT, [], "teams without a final answer"),
    ],
)
def test_each_fault_of_an_entry_is_counted(
    told: dict[str, Any],
    stored: list[dict[str, Any]],
    found: str | None,
) -> None:
    counted = entries_kept([SENT, told], stored, ["ant"], DEADLINE_S)
    informative = (
        "teams that handed in",
        "entries acknowledged",
        "entries refused after the deadline",
    )
    assert [
        what for what, count in counted.items() if count and what not in informative
    ] == ([] if found is None else [found])


def test_a_late_entry_that_was_taken_and_a_team_that_the_board_lacks_are_counted() -> (
    None
):
    late = RECEIPT | {"received_utc": utc(DEADLINE_S)}
    told = TOLD | {"attempts": [(1999.0, 2001.0)], "entry": {"id": 1, "receipt": late}}
    counted = entries_kept([SENT, told], [STORED | late], [], DEADLINE_S)
    assert counted["entries taken after the deadline"] == 1
    assert counted["scored entries whose team the board lacks"] == 1


def test_waits_over_the_change_of_hosts_are_told_apart() -> None:
    later = TOLD | {"first_s": 1500.0, "told_s": 1508.0}
    assert longest_waits_s([TOLD, later], (1499.0, 1505.0)) == (1.0, 8.0)


def test_an_acknowledged_entry_that_is_deleted_from_the_database_is_found(
    tmp_path: Path,
) -> None:
    images = synthesize(
        tmp_path / "set",
        images=5,
        categories=2,
        seed=1,
        size=(64, 64),
    )
    folder = tmp_path / "contest"
    track = {
        "name": TRACK,
        "rule": "results",
        "testset": str(images.folder),
    }
    with house(folder, images, (), tracks=[track]) as made:
        offer = Offer(configured_track(made.contest, TRACK), TEAM, "a.csv")
        before_s = time.time()
        entry = receive_body(made.contest, Clock(), offer, [b"a file"])
        receipt = upload_document(made.contest, entry)["receipt"]
    told = TOLD | {"team": TEAM, "attempts": [(before_s, time.time())]}
    told |= {"entry": {"id": entry.id, "receipt": receipt}}
    what = "entries acknowledged and lost or altered"
    assert entries_kept([told], stored_entries(folder), [], math.inf)[what] == 0
    with closing(sqlite3.connect(folder / "contest.db")) as database, database:
        database.execute("DELETE FROM uploads WHERE submission = ?", (entry.id,))
    assert entries_kept([told], stored_entries(folder), [], math.inf)[what] == 1
