"""Hash chains: each link is a SHA-256 that covers all links before it. Pure functions.

Other programs compute the same links from the same texts. A run's chain starts with the identity of the run and its
rules; each accepted body adds a link, which the body's receipt shows. Each of these links also covers the newest link
of the chain of the meter's readings. The log's chain has a link for each event of the contest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

LINK_BYTES = 32
LOG_START = READINGS_START = bytes(LINK_BYTES)
"""The link before the first event, and before the first reading."""


def run_start(
    contest: str,
    run: int,
    nonce: str | None,
    team: str,
    testset_digest: str,
    rules_sha256: str | None,
) -> bytes:
    """Return the link before a run's first body.

    If `rules_sha256` is None, the link does not cover the rules (an earlier version).
    """
    of_run = [contest, run, nonce, team, testset_digest]
    if rules_sha256 is None:
        return _sha256(json.dumps(["lpirc-run-1", *of_run]))
    return _sha256(json.dumps(["lpirc-run-2", *of_run, rules_sha256]))


def receipt_link(
    previous: bytes,
    number: int,
    sha256: str,
    received_utc: str,
    accepted: int,
    received_total: int,
    readings: int | None,
    meter: bytes | None,
) -> bytes:
    """Return the link of a run's body `number` (1, 2, ...): it covers SHA-256, time, rows and the run's total of rows.

    `readings` is the number of readings on disk when the body was stored, and `meter` the link of the last reading;
    None in an older chain, which covers neither the rules nor the readings.
    """
    of_body = f"{previous.hex()}\n{number}\n{sha256}\n{received_utc}\n{accepted}\n{received_total}\n"
    if meter is None:
        return _sha256(f"lpirc-receipt-1\n{of_body}")
    return _sha256(f"lpirc-receipt-2\n{of_body}{readings}\n{meter.hex()}\n")


def meter_link(previous: bytes, line: str) -> bytes:
    """Return the link of a reading; `line` is its CSV line including the line feed."""
    return _sha256(f"lpirc-meter-1\n{previous.hex()}\n{line}")


def correction_text(
    contest: str, run: int, utc: str, old: str, new: str, by: str, reason: str | None
) -> str:
    """Return the text to sign when a run is judged by another ground truth.

    `old` and `new` are test-set digests.
    """
    return json.dumps(["lpirc-truth-1", contest, run, utc, old, new, by, reason])


def closing_text(run: int, posts: int, head: str, log: str) -> str:
    """Return the text to sign after a run is closed.

    It has the number of bodies, the head of their chain, and the log's link of the closing event.
    """
    return f"lpirc-close-1\n{run}\n{posts}\n{head}\n{log}\n"


def entry_text(
    contest: str,
    entry: int,
    team: str,
    track: str,
    file: str,
    size: int,
    sha256: str,
    received_utc: str,
) -> str:
    """Return the text to sign once an upload is on disk; it has the SHA-256, the size in bytes and the time."""
    what = f"{team}\n{track}\n{file}\n{size}\n{sha256}\n{received_utc}"
    return f"lpirc-entry-1\n{contest}\n{entry}\n{what}\n"


def terms_sha256(terms: Sequence[object], image_order: Sequence[int]) -> str:
    """Return the digest of a run's terms: images in order, window, setup, and the meter's identity and standing."""
    return _sha256(json.dumps([*terms, image_order])).hex()


def event_digest(utc: str, run: int | None, kind: str, detail: str) -> bytes:
    """Return the digest that replaces an event that is not shown; `detail` is its JSON text as stored."""
    return _sha256(json.dumps(["lpirc-event-1", utc, run, kind, detail]))


def log_link(previous: bytes, digest: bytes) -> bytes:
    """Return the link of an event in the log, from the event's digest and the previous link."""
    return _sha256(f"lpirc-log-1\n{previous.hex()}\n{digest.hex()}\n")


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
