#!/usr/bin/env python3
"""Verifies an upload's receipt: the contest signed it, for this file, with the time at which the last byte arrived.

python3 verify_entry.py RECEIPT [FILE] [--key HEX]

RECEIPT is a file with the referee's answer to the upload or to GET /v1/entries/N, or with only the `receipt` in that
answer. The program needs Python 3.11 and the files verify_*.py beside it. It was written from docs/entries.md alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import verify_arguments as arguments
from verify_formats import NotChecked, Wrong, lines, need, need_same, sentence_of
from verify_signature import need_signature

Fields = dict[str, Any]

VERSION = "1.0.0"
SIGNED = ("contest", "entry", "team", "track", "file", "size", "sha256", "received_utc")
KINDS = dict.fromkeys(SIGNED, str) | {
    "entry": int,
    "size": int,
    "signature": str,
    "public_key": str,
}
DIGITS = {"sha256": 64, "signature": 128, "public_key": 64}
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00"
OF_ANSWER = {
    "id": "entry",
    "entry": "entry",
    "track": "track",
    "file": "file",
    "sha256": "sha256",
    "accepted_utc": "received_utc",
}
"""Facts that an answer repeats from its receipt: the key in the answer -> the key in the receipt."""


@dataclass(frozen=True)
class Given:
    """An answer of the referee, the receipt in it, and the file and key that the user gave."""

    answer: Fields
    receipt: Fields
    file: Path | None
    key: str | None


def receipt_in(text: bytes) -> tuple[Fields, Fields]:
    """Return an answer of the referee and its receipt; for a receipt alone, return it as both. Raises Wrong."""
    try:
        answer = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Wrong("it is not JSON: save the answer as the referee gave it") from None
    if isinstance(answer, list):
        raise Wrong("it has many entries: save the answer of GET /v1/entries/N")
    need(isinstance(answer, dict), "it is not an answer of the referee")
    receipt = answer.get("receipt", answer)
    need(isinstance(receipt, dict), "its receipt is not a JSON object")
    for name, kind in KINDS.items():
        need(name in receipt, f"it has no receipt of an upload: {name} is missing")
        need(
            type(receipt[name]) is kind,
            f"{name} of the receipt has the wrong type",
        )
    _need_forms(receipt)
    return answer, receipt


def _need_forms(receipt: Fields) -> None:
    """Raise Wrong unless each value fits on one line of the signed text.

    Otherwise two different receipts could have the same signed text.
    """
    for name in SIGNED:
        is_one_line = "\n" not in str(receipt[name])
        need(is_one_line, f"{name} of the receipt has several lines")
    for name, digits in DIGITS.items():
        is_digest = re.fullmatch(f"[0-9a-f]{{{digits}}}", receipt[name])
        need(
            is_digest is not None,
            f"{name} of the receipt is not {digits} hexadecimal digits",
        )
    is_time = re.fullmatch(TIME, receipt["received_utc"])
    need(is_time is not None, "received_utc of the receipt is not a time in UTC")


def check_signature(given: Given) -> None:
    """Check that the receipt carries a valid signature by the key that it names."""
    receipt = given.receipt
    values = [receipt[name] for name in SIGNED]
    text = lines("lpirc-entry-1", *values)
    signature = bytes.fromhex(receipt["signature"])
    key = bytes.fromhex(receipt["public_key"])
    try:
        need_signature(text.encode(), signature, key)
    except Wrong as error:
        raise Wrong(f"{error}, or the receipt was altered") from None


def check_key(given: Given) -> None:
    """Check that the receipt names the given key of the contest."""
    if given.key is None:
        raise NotChecked(
            "no key was given: give --key with the key shown on the board; otherwise a signature proves nothing, since "
            "anyone can make one"
        )
    named = given.receipt["public_key"]
    need(
        named == given.key,
        f"the receipt is signed by {named}, not by the given key: it belongs to another contest",
    )


def check_file(given: Given) -> None:
    """Check that the given file is the one that the referee received."""
    if given.file is None:
        raise NotChecked("no FILE was given: give the file that was handed in")
    try:
        with given.file.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError as error:
        raise Wrong(f"{given.file} cannot be read: {error.strerror}") from None
    same = {"size": size, "sha256": digest}
    expected = {name: given.receipt[name] for name in same}
    need_same(f"{given.file}", same, expected)


def check_answer(given: Given) -> None:
    """Check that the answer agrees with the signed receipt beside it."""
    if given.answer is given.receipt:
        raise NotChecked("only the receipt was given")
    for name, of_receipt in OF_ANSWER.items():
        if name in given.answer:
            said = {of_receipt: given.answer[name]}
            signed = {of_receipt: given.receipt[of_receipt]}
            need_same("the part of the answer outside the receipt", said, signed)


CHECKS: dict[str, Callable[[Given], None]] = {
    "signature": check_signature,
    "key": check_key,
    "file": check_file,
    "answer": check_answer,
}


def verify(given: Given) -> tuple[list[str], list[str]]:
    """Return a line for each check, and the names of the checks that failed."""
    said = []
    failed = []
    for name, check in CHECKS.items():
        outcome = "ok"
        try:
            check(given)
        except NotChecked as reason:
            outcome = f"not checked: {reason}"
        except Exception as error:  # noqa: BLE001 - others wrote what is read here
            failed.append(name)
            outcome = f"failed: {sentence_of(error)}"
        said.append(f"{name:10} {outcome}")
    return said, failed


def meaning(given: Given) -> list[str]:
    """Return the sentences that say what a valid receipt proves and what it does not prove."""
    receipt = given.receipt
    said = [
        _printable(
            f"entry {receipt['entry']} of {receipt['team']} to {receipt['track']}: {receipt['file']}"
        ),
        f"the last of its {receipt['size']} bytes arrived at {receipt['received_utc']}",
        "It does not prove that the file passed its check, that it is ranked, or that it was never replaced: see GET "
        "/v1/entries.",
    ]
    if given.key is None:
        said.append(f"signed by {receipt['public_key']}: compare it with the board")
    return said


def _printable(text: str) -> str:
    """Return untrusted text with the characters escaped that a terminal would take as commands."""
    shown = ""
    for letter in text:
        if letter.isprintable():
            shown += letter
        else:
            shown += ascii(letter)[1:-1]
    return shown


def main() -> None:
    """Verify the receipt named on the command line; exit with 1 if any check failed."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    version = f"%(prog)s {VERSION}"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("receipt", help="the referee's answer, as a file")
    parser.add_argument("file", nargs="?", help="the file that was handed in")
    parser.add_argument("--key", help="the contest's public key")
    asked = parser.parse_args()

    file = None
    if asked.file is not None:
        file = Path(asked.file)
    try:
        answer, receipt = receipt_in(arguments.read(Path(asked.receipt)))
    except Wrong as error:
        sys.exit(f"{asked.receipt} cannot be verified: {error}")
    given = Given(answer, receipt, file, arguments.key(asked.key))

    said, failed = verify(given)
    if failed:
        said.append(f"does not hold: {', '.join(failed)}")
    else:
        said += ["holds:", *meaning(given)]
    sys.stdout.write(lines(*said))
    sys.exit(failed != [])


if __name__ == "__main__":
    main()
