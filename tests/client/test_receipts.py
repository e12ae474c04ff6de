"""Receipts: what the client keeps of them, what it warns of, and that a run never fails for them."""

from __future__ import annotations

import json
import re
import resource
from array import array
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from lpirc_client.connection import Connection
from lpirc_client.errors import ClientError
from lpirc_client.receipts import ReceiptFile, link_of
from lpirc_client.rows import body_of
from tests.client.conftest import Client
from tests.client.referee_double import PASSWORD, RULES, RULES_SHA256, Referee

PAGE = Path(__file__).parents[2] / "docs" / "receipts.md"
ROW = body_of(array("d", (1, 7, 0.5, 1.0, 2.0, 3.0, 4.0)), is_packed=True)
CHAIN = ["form", "number", "previous", "link", "received_utc", "readings", "meter"]
KEYS = ["run", *CHAIN, "accepted", "received_total", "sha256"]


@pytest.fixture
def referee(referee: Referee) -> Referee:
    referee.run = 3
    referee.gives_receipts = True
    return referee


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "receipts.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    """All but the rules."""
    return [line for line in every_line(path) if "rules_sha256" not in line]


def every_line(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def post(
    referee: Referee,
    path: Path,
    times: int,
    *,
    log_out: bool = False,
) -> None:
    """Post so many bodies in one session, as a client of one's own does."""
    receipts = ReceiptFile(path)
    with Connection(referee.url, receipts=receipts) as session:
        session.login("alpha", PASSWORD)
        for _ in range(times):
            session.post(*ROW)
        if log_out:
            session.logout()
            assert session.closing == lines(path)[-1]["closing"]
    receipts.end()


def test_the_example_of_the_page_is_right() -> None:
    rows = dict(
        re.findall(
            r"^\| `?([a-z_0-9]+)`? \| (.+) \|$",
            PAGE.read_text().partition("## An example")[2],
            re.M,
        )
    )
    first, second = (
        {
            key: cells.split(" | ")[at].strip("`")
            for key, cells in rows.items()
            if " | " in cells
        }
        for at in (0, 1)
    )
    assert len(first) == 9
    links = [link_of({"form": 2, **one}) for one in (first, second)]
    assert links == [first["link"], second["link"]]
    assert second["previous"] == first["link"]


def test_the_closing_receipt_of_the_page_is_signed_and_its_der_prefix_is_that_of_a_public_key() -> (
    None
):
    page = PAGE.read_text()
    (closing,) = (
        json.loads(one)["closing"]
        for one in re.findall(r'^    (\{"closing".+)$', page, re.M)
    )
    bodies = re.findall(r"^\| `link` \| `\w+` \| `(\w+)` \|$", page, re.M)
    assert closing["posts"] == 2
    assert [closing["head"]] == bodies
    (prefix,) = set(re.findall(r"\b302a[0-9a-f]+", page))
    key = load_der_public_key(bytes.fromhex(prefix + closing["public_key"]))
    assert isinstance(key, Ed25519PublicKey)
    text = "lpirc-close-1\n{run}\n{posts}\n{head}\n{log}\n".format(**closing)
    key.verify(bytes.fromhex(closing["signature"]), text.encode())


def test_the_command_keeps_each_receipt_and_the_closing_one(
    referee: Referee,
    client: Client,
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(
        "def detect(jpeg, categories):\n    yield 7, 0.5, 1, 2, 3, 4\n"
    )
    referee.faults["POST /v1/detections"] = ["drop-after"]  # sent again, and kept once
    options = (
        "--team",
        "alpha",
        "--detector",
        "mine:detect",
        "--batch",
        2,
        "--receipts",
        "kept.jsonl",
    )
    done = client("run", referee.url, *options)
    assert (done.returncode, done.stderr.count("\n")) == (0, 2), done.stderr
    *bodies, closing = lines(tmp_path / "kept.jsonl")
    assert [list(one) for one in bodies] == [KEYS] * len(referee.posts)
    assert [(one["run"], one["number"]) for one in bodies] == [
        (3, number + 1) for number in range(len(bodies))
    ]
    assert sum(one["accepted"] for one in bodies) == 5
    assert [one["link"] for one in bodies] == [link_of(one) for one in bodies]
    assert closing["closing"]["head"] == bodies[-1]["link"] == referee.head


def test_a_run_whose_window_ended_gets_its_closing_receipt(
    referee: Referee,
    client: Client,
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(
        "def detect(jpeg, categories):\n    yield 7, 0.5, 1, 2, 3, 4\n"
    )
    referee.faults["POST /v1/detections"] = [(409, "window-closed")]
    options = (
        "--team",
        "alpha",
        "--detector",
        "mine:detect",
        "--stay",
        "--receipts",
        "kept.jsonl",
    )
    assert client("run", referee.url, *options).returncode == 0
    assert [*lines(tmp_path / "kept.jsonl")[0]] == ["closing"]


@pytest.mark.parametrize(
    ("alters", "said"),
    [
        (
            (2, "link"),
            "receipt 2 of run 3 is inconsistent: its `link` is not the digest of its other fields",
        ),
        ((2, "previous"), "its `link` is not the digest of its other fields"),
        ((2, "received_utc"), "its `link` is not the digest of its other fields"),
        ((2, "meter"), "its `link` is not the digest of its other fields"),
        (
            (2, "form"),
            "receipt 2 has version 0, which this client does not know; it is kept unchecked",
        ),
        (
            (0, "head"),
            "the closing receipt of run 3 is inconsistent: its `head` is not the `link` of the last receipt, 3",
        ),
        ((0, "posts"), "it reports 0 accepted bodies, fewer than the 3 receipts given"),
        ((0, "run"), "it belongs to run 0"),
    ],
)
def test_what_was_altered_is_kept_with_a_warning_and_the_run_goes_on(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
    alters: tuple[int, str],
    said: str,
) -> None:
    referee.alters = alters
    post(referee, path, 3, log_out=True)
    assert len(lines(path)) == 4
    assert said in capsys.readouterr().err


def test_the_rules_are_kept_once_before_the_receipts(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(referee, path, 1)
    post(referee, path, 1)
    first, *others = every_line(path)
    assert first == {
        "run": 3,
        "rules": RULES,
        "rules_sha256": RULES_SHA256,
    }
    assert [one["number"] for one in others] == [1, 2]
    assert capsys.readouterr().err == ""


def test_rules_that_are_not_those_of_their_hash_are_kept_with_a_warning(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    referee.rules = {"metric": "coco"}
    post(referee, path, 1)
    assert every_line(path)[0]["rules"] == {"metric": "coco"}
    assert "the record of the rules of run 3 is inconsistent" in capsys.readouterr().err


def test_a_receipt_that_binds_fewer_readings_than_the_one_before_is_noticed(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(referee, path, 2)
    referee.readings_a_body = 1
    post(referee, path, 1)
    assert (
        "it covers 3 readings, fewer than the 8 of receipt 2" in capsys.readouterr().err
    )


def test_a_chain_that_was_begun_again_is_noticed(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(referee, path, 2)
    referee.head = "00" * 32
    post(referee, path, 1)
    assert "its link does not continue that of receipt 2" in capsys.readouterr().err
    referee.posts.clear()
    post(referee, path, 1)
    assert "it does not come after receipt 3" in capsys.readouterr().err


def test_bodies_of_another_process_between_are_no_reason_to_warn(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(referee, path, 1)
    referee.skips = 4
    referee.head = "77" * 32
    post(referee, path, 1)
    referee.skips = 5
    referee.head = "88" * 32
    post(referee, path, 0, log_out=True)
    assert capsys.readouterr().err == ""
    assert [one.get("number") for one in lines(path)] == [1, 6, None]


def test_a_resumed_run_continues_its_file_without_the_line_that_a_crash_cut_off(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(referee, path, 1)
    with path.open("a") as file:
        file.write('{"run": 3, "numb')
    post(referee, path, 1)
    assert [one["number"] for one in lines(path)] == [1, 2]
    assert capsys.readouterr().err == ""


def test_another_run_gets_a_file_of_its_own(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(referee, path, 1)
    referee.run = 4
    post(referee, path, 1)
    assert len(lines(path)) == 1
    assert [one["run"] for one in lines(path.with_name("receipts-run-4.jsonl"))] == [4]
    assert "has receipts of run 3; those of run 4 go to" in capsys.readouterr().err


def test_an_older_referee_gives_none_and_the_client_says_so(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    referee.gives_receipts = False
    receipts = ReceiptFile(path)
    with Connection(referee.url, receipts=receipts) as session:
        session.login("alpha", PASSWORD)
        assert session.post(*ROW).chain is None
        session.logout()
        assert session.closing is None
    receipts.end()
    assert path.read_text() == ""
    err = capsys.readouterr().err
    assert (
        err == f"The referee gave no receipts (an older version?): {path} got none.\n"
    )


def test_a_referee_that_acknowledged_nothing_is_not_called_an_older_one(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    referee.faults["POST /v1/detections"] = [(507, "storage-failed")]
    receipts = ReceiptFile(path)
    with Connection(referee.url, receipts=receipts) as session:
        session.login("alpha", PASSWORD)
        with pytest.raises(ClientError, match="storage-failed"):
            session.post(*ROW)
    receipts.end()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n",
        "no line",
        "[1, 2]\n",
        '{"image": 1}\n',
        '{"image": 1}',
        '{"run": 1}\n{"image": 1}',
    ],
)
def test_a_file_of_something_else_is_refused_before_the_log_in_and_left_as_it_is(
    path: Path,
    content: str,
) -> None:
    path.write_text(content)
    with pytest.raises(ClientError) as caught:
        ReceiptFile(path)
    assert caught.value.code == "no-receipts-file"
    told = "is no file of receipts, and is left as it is; choose another one"
    assert caught.value.sentence == f"{path} {told}"
    assert path.read_text() == content


def test_a_disk_that_takes_half_a_line_leaves_a_file_of_whole_ones(
    referee: Referee,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    receipts = ReceiptFile(path)
    with Connection(referee.url, receipts=receipts) as session:
        session.login("alpha", PASSWORD)
        session.post(*ROW)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
        try:
            session.post(*ROW)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        session.post(*ROW)
    receipts.end()
    assert [one["number"] for one in lines(path)] == [1, 3]
    told = capsys.readouterr().err
    assert f"{path}: a receipt cannot be kept" in told
    assert told.count("cannot be kept") == 1
    assert f"{path} has 3 of 4 lines" in told


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ClientError,
        match=r"no/receipts: .*No such file or directory.*; choose another one",
    ):
        ReceiptFile(tmp_path / "no" / "receipts")
