"""The signed receipt of an upload, verified by whoever holds it, with Python alone, by docs/entries.md."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import synthesize
from referee.auth.signing import ContestKey, new_key
from referee.store.hash_links import entry_text
from tests.contest_day import PASSWORD, ROOT, TEAM, Day, contest_day, until
from tests.tracks.web.test_entries import csv_of, own, rows_of
from tests.tracks.web.test_receiving import FUTURE, TRACK

SCRIPT = ROOT / "client" / "verify_entry.py"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "set"
    return synthesize(
        folder,
        images=40,
        categories=2,
        seed=4,
        size=(64, 64),
    ).folder


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, images: Path) -> Iterator[Day]:
    with contest_day(tmp_path_factory.mktemp("hall") / "contest", images) as made:
        with (made.folder / "contest.toml").open("a") as file:
            file.write(TRACK.format(testset=images, until=FUTURE))
        made.serve()
        yield made


def handed_in(
    day: Day,
    body: bytes,
    more: str = "",
) -> tuple[int, dict[str, Any]]:
    assert day.server is not None
    path = f"/v1/entries?track=files&name=a.csv{more}"
    answer = day.server.ask("POST", path, data=body, auth=(TEAM, PASSWORD))
    return answer.status_code, answer.json()


def board_key(day: Day) -> str:
    """The contest's key, as everyone sees it beside the board of the track."""
    assert day.server is not None
    key: str = day.server.ask("GET", "/tracks/files.json").json()["public_key"]
    assert key == day.server.ask("GET", "/board.json").json()["public_key"]
    return key


class Verifier:
    """The command, beside files that a team keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self,
        answer: object,
        body: bytes | None = None,
        key: str | None = None,
    ) -> tuple[int, str]:
        receipt = self.folder / "answer.json"
        file = self.folder / "a.csv"
        receipt.write_text(json.dumps(answer))
        words = [str(receipt)]
        if body is not None:
            file.write_bytes(body)
            words.append(str(file))
        if key is not None:
            words += ["--key", key]
        ended = subprocess.run(
            [sys.executable, str(SCRIPT), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def verifier(tmp_path: Path) -> Verifier:
    return Verifier(tmp_path)


def test_a_team_verifies_its_receipt_against_its_file_and_the_board_s_key(
    hall: Day,
    images: Path,
    verifier: Verifier,
) -> None:
    body = csv_of(rows_of(images))
    _, answer = handed_in(hall, body)
    receipt = answer["receipt"]
    key = board_key(hall)
    code, said = verifier(answer, body, key)
    assert (code, "failed" in said, "not checked" in said) == (0, False, False), said
    assert (
        f"the last of its {len(body)} bytes arrived at {answer['accepted_utc']}\n"
        in said
    )
    code, said = verifier(receipt)
    assert code == 0
    assert said.count("not checked") == 3
    assert f"signed by {key}: compare it with the board" in said
    code, said = verifier(receipt, body + b"\n")
    assert code == 1
    assert (f"{verifier.folder / 'a.csv'} has the wrong size, sha256" in said) is True


def test_a_receipt_that_was_altered_or_is_of_another_contest_does_not_hold(
    hall: Day,
    images: Path,
    verifier: Verifier,
) -> None:
    body = csv_of(rows_of(images)) + b"\n"
    _, answer = handed_in(hall, body)
    receipt = answer["receipt"]
    key = board_key(hall)
    altered = {
        "received_utc": "2020-01-01T00:00:00+00:00",
        "sha256": "0" * 64,
        "size": receipt["size"] + 1,
        "entry": receipt["entry"] + 1,
        "team": "rival",
        "contest": "another",
    }
    for name, value in altered.items():
        code, said = verifier(receipt | {name: value}, key=key)
        assert (code, said.endswith("does not hold: signature\n")) == (1, True), said
    path = verifier.folder / "own-key"
    path.touch(0o600)
    path.write_bytes(new_key())
    own_key = ContestKey(path, None)
    dated = receipt | {
        "received_utc": altered["received_utc"],
        "public_key": own_key.public,
    }
    what = [
        dated[name]
        for name in ("team", "track", "file", "size", "sha256", "received_utc")
    ]
    dated["signature"] = own_key.sign(
        entry_text(dated["contest"], dated["entry"], *what)
    )
    code, said = verifier(dated, body, key)
    assert (code, said.endswith("does not hold: key\n")) == (1, True), said
    code, said = verifier(answer | {"accepted_utc": altered["received_utc"]}, body, key)
    assert (
        code,
        "the part of the answer outside the receipt has the wrong received_utc" in said,
    ) == (
        1,
        True,
    ), said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # The same text with its lines moved: what was the file's name is now in the track's.
        ({"track": "files\na.csv"}, "track of the receipt has several lines"),
        ({"size": 3.0}, "size of the receipt has the wrong type"),
        ({"entry": True}, "entry of the receipt has the wrong type"),
        ({"signature": "ab"}, "signature of the receipt is not 128 hexadecimal digits"),
        ({"received_utc": "noon"}, "received_utc of the receipt is not a time in UTC"),
        ({"receipt": []}, "its receipt is not a JSON object"),
    ],
)
def test_what_is_no_receipt_is_said_in_a_sentence(
    verifier: Verifier,
    changes: dict[str, Any],
    words: str,
) -> None:
    texts = dict.fromkeys(("contest", "team", "track", "file"), "x") | {
        "public_key": "0" * 64
    }
    receipt = texts | {
        "entry": 1,
        "size": 1,
        "sha256": "0" * 64,
        "signature": "0" * 128,
    }
    receipt |= {"received_utc": "2026-01-01T00:00:00+00:00"}
    code, said = verifier(receipt | changes)
    assert code == 1
    assert said == f"{verifier.folder / 'answer.json'} cannot be verified: {words}\n"


def test_the_receipt_of_a_replaced_file_says_when_it_came_and_not_that_it_counts(
    hall: Day,
    images: Path,
    verifier: Verifier,
) -> None:
    status, refused = handed_in(hall, b"image,nothing\n", "&wait=60")
    assert status == 422
    body = csv_of(rows_of(images)) + b"\n\n"
    _, answer = handed_in(hall, body, f"&replaces={refused['entry']}")
    assert answer["replaces"] == refused["entry"]
    for one in (refused, own(hall, refused["entry"]), answer):
        code, said = verifier(one, key=board_key(hall))
        assert (
            code,
            "It does not prove that the file passed its check, that it is ranked"
            in said,
        ) == (0, True), said
    swapped = refused | {"receipt": answer["receipt"]}
    code, said = verifier(swapped)
    assert (
        code,
        "the part of the answer outside the receipt has the wrong entry" in said,
    ) == (
        1,
        True,
    ), said


def test_a_receipt_from_before_a_restart_holds_after_it(
    hall: Day,
    images: Path,
    verifier: Verifier,
) -> None:
    body = csv_of(rows_of(images)) + b"\n\n\n"
    _, answer = handed_in(hall, body)
    assert hall.server is not None
    hall.server.kill()
    hall.serve()
    code, said = verifier(answer, body, board_key(hall))
    assert (code, "not checked" in said) == (0, False), said
    assert own(hall, answer["id"])["receipt"] == answer["receipt"]
    until(lambda: own(hall, answer["id"])["state"] == "scored")
