"""Bundles of a real contest day, opened and sealed again as those do who alter them."""

from __future__ import annotations

import gzip
import importlib
import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import requests

from lpirc_testsets import load_test_set, read_ground_truth
from referee.auth.signing import ContestKey, new_key
from referee.errors import RefereeError
from referee.evidence.bundle_container import (
    ENVELOPE,
    FORMAT,
    MANIFEST,
    BadBundle,
    pack,
    unpack,
)
from referee.evidence.bundle_verification import CHECKS, read_signed, verify
from referee.evidence.given_facts import Given
from referee.evidence.receipts_in_bundle import Receipts, read_receipts
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.signed_statement import manifest_of, sign
from referee.evidence.verification_items import Failure
from referee.store import Store
from tests.contest_day import ROOT, TEAM, Day, until

SCRIPT = ROOT / "client" / "verify_bundle.py"
BOUND_READINGS = 2  # that the receipts of the bodies bind
LEAST_READINGS = 3  # after them
Texts = dict[str, bytes]


def second_verifier(name: str) -> ModuleType:
    """A module of the stand-alone verifier, whose files lie beside each other."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(SCRIPT.parent))


SECOND = second_verifier("verify_bundle")


@dataclass(frozen=True)
class Proved:
    """A bundle, what the team's client kept of its run, the contest's key, and another one."""

    data: bytes
    receipts: bytes
    key: ContestKey
    wrong_key: ContestKey
    testset: Path

    def sealed(
        self,
        texts: Texts,
        key: ContestKey | None = None,
        *,
        public_key: str | None = None,
    ) -> bytes:
        """The bundle of these texts with a manifest of its own, signed by the contest's key or another."""
        return b"".join(
            pack(sealed_parts(texts, key or self.key, public_key or self.key.public))
        )


def opened(data: bytes) -> Texts:
    """The texts of a bundle's parts, unpacked."""
    return {
        name: gzip.decompress(part) if name.endswith(".gz") else part
        for name, part in unpack(data).items()
    }


def sealed_parts(
    texts: Texts,
    key: ContestKey,
    public_key: str,
) -> dict[str, bytes]:
    predicate = json.loads(texts[MANIFEST])["predicate"]
    contents = {
        name: text for name, text in texts.items() if name not in (MANIFEST, ENVELOPE)
    }
    parts = packed_parts(contents)
    left_out = ("format", "program", "metric_version", "sizes")
    about = {name: value for name, value in predicate.items() if name not in left_out}
    about |= {"public_key": public_key}
    if predicate["format"] == FORMAT:
        about["format"] = FORMAT
    manifest = manifest_of(
        parts,
        {name: len(text) for name, text in contents.items()},
        about,
    )
    return {
        MANIFEST: manifest,
        ENVELOPE: sign(manifest, key),
        **parts,
    }


def packed_parts(texts: Texts) -> dict[str, bytes]:
    return {
        name: gzip.compress(text, 1, mtime=0) if name.endswith(".gz") else text
        for name, text in texts.items()
    }


def lines(values: list[Any]) -> bytes:
    return b"".join(f"{json.dumps(value)}\n".encode() for value in values)


def by_main(
    data: bytes,
    receipts: bytes | None = None,
    key: str | None = None,
) -> dict[str, str]:
    """What fails by `referee bundle verify`: by item the part, empty where it holds; unchecked ones are left out."""
    given = Given(
        key=key,
        receipts=None if receipts is None else read_receipts(receipts, "receipts"),
    )
    try:
        items = verify(data, given)
    except BadBundle as error:
        return {"container": error.part}
    except RefereeError as error:
        return {"receipts": error.code}
    return {
        item.name: (item.part or item.name) if item.outcome == "failed" else ""
        for item in items
        if item.outcome != "not checked"
    }


@cache
def _read(receipts: bytes) -> Receipts:
    return read_receipts(receipts, "receipts")


def caught_by(data: bytes, receipts: bytes) -> list[str]:
    """Which of `rules` and `receipts` fail; nothing else is verified, which takes longer."""
    given = Given(receipts=_read(receipts))
    found = Recomputed(read_signed(data), None)
    caught = []
    for name in ("rules", "receipts"):
        try:
            CHECKS[name](found, given)
        except Failure:
            caught.append(name)
    return caught


def sentences(data: bytes) -> dict[str, str]:
    """What `referee bundle verify` says of each item."""
    return {item.name: item.sentence for item in verify(data, Given())}


def by_second(
    data: bytes,
    receipts: bytes | None = None,
    key: str | None = None,
) -> dict[str, str]:
    """The same by the stand-alone verifier, which tells sentences."""
    found: dict[str, str] = SECOND.verify(data, key=key, receipts=receipts).wrong
    return found


def failed(found: dict[str, str]) -> list[str]:
    return [name for name, what in found.items() if what]


def another_key(folder: Path) -> ContestKey:
    path = folder / "wrong-key"
    path.touch(mode=0o600)
    path.write_bytes(new_key())
    return ContestKey(path, None)


def guesses(
    store: Store,
    run: int,
    testset: Path,
    seed: int,
) -> list[list[float]]:
    """Rows for most objects of the set, about where they are, by the numbers that the team knows the images by."""
    truth = read_ground_truth(load_test_set(testset).folder)
    chance = np.random.default_rng(seed)
    known = {
        int(image): number
        for number, image in enumerate(store.runs.image_order(run), start=1)
    }
    rows = []
    for image, category, box in zip(
        truth.image,
        truth.category,
        truth.boxes,
        strict=True,
    ):
        if chance.random() < 0.8:
            corners = (box + chance.integers(0, 3, 1)).tolist()
            rows.append(
                [known[int(image)], int(category), round(chance.random(), 3), *corners]
            )
        if chance.random() < 0.5:
            rows.append(
                [
                    known[int(image)],
                    int(category),
                    round(chance.random(), 3),
                    1,
                    1,
                    5,
                    5,
                ]
            )
    return rows


def form(rows: list[list[float]]) -> list[tuple[str, str]]:
    names = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")
    return [
        (name, str(value))
        for row in rows
        for name, value in zip(names, row, strict=True)
    ]


def all_kinds_of_bodies(rows: list[list[float]]) -> list[tuple[str, Any, str]]:
    """(path, body, Content-Type; empty: as the library writes it) with some of the rows in each."""
    texts = "".join(f"{' '.join(map(str, row))}\n" for row in rows[1::5])
    table = "\r\n".join(",".join(map(str, row)) for row in rows[2::5])
    odd = [
        *form(rows[3::5]),
        *form(
            [
                [1, 1, "nan", 1, 1, 2, 2],
                [99, 1, 0.5, 1, 1, 2, 2],
                [1, 1, 0.5, 9, 9, 2, 2],
            ]
        ),
    ]  # type: ignore[list-item]
    named = [
        (name, f"images/{value}.jpg" if name == "image_name" else value)
        for name, value in odd
    ]
    return [
        ("/v1/detections", json.dumps(rows[0::5]), "application/json"),
        ("/v1/detections", texts, "text/plain; charset=utf-8"),
        ("/v1/detections", table, "text/csv"),
        ("/v1/detections", b"", "application/json"),
        (
            "/v1/detections",
            np.array(rows[3::5], "<f4").tobytes(),
            "application/octet-stream",
        ),
        ("/v1/detections", form(rows[4::5]), ""),
        ("/result", odd, ""),
        ("/result", named, ""),
        ("/result", {"files": named}, ""),
        ("/v1/detections", [], "application/x-www-form-urlencoded"),
    ]


def send(
    day: Day,
    token: str,
    bodies: list[tuple[str, Any, str]],
) -> list[dict[str, Any]]:
    """Post them all and return the receipts that the answers had."""
    kept = []
    for path, body, content_type in bodies:
        answer = _sent(day, token, path, body, content_type)
        assert answer.status_code in (200, 202), answer.text
        if path.startswith("/v1"):
            document = answer.json()
            names = ("accepted", "received_total", "sha256")
            kept.append(document["receipt"] | {name: document[name] for name in names})
    return kept


def _sent(
    day: Day,
    token: str,
    path: str,
    body: Any,
    content_type: str,
) -> requests.Response:
    assert day.server is not None
    headers = {"Content-Type": content_type} if content_type else {}
    if path == "/result":
        whole = [("token", token), *(body["files"] if isinstance(body, dict) else body)]
        if isinstance(body, dict):
            return day.server.ask(
                "POST",
                path,
                files=[(name, (None, value)) for name, value in whole],
            )
        return day.server.ask("POST", path, data=whole)
    return day.server.ask("POST", path, token, headers, data=body)


def whole_run(day: Day, bodies: Any, team: str = TEAM) -> bytes:
    """A run of that team over HTTP; `bodies` makes them from the run's number. Returns what its client kept."""
    session = day.login(team)
    token = day.fetched(session["token"])
    run = session["run"]
    with day.store() as store:
        until(lambda: len(store.readings.of_run(run, 0.0)) >= BOUND_READINGS)
        rules = {name: session[name] for name in ("rules", "rules_sha256")}
        kept = [{"run": run, **one} for one in (rules, *send(day, token, bodies(run)))]
        until(
            lambda: (
                len(store.readings.of_run(run, 0.0)) >= BOUND_READINGS + LEAST_READINGS
            )
        )
    assert day.server is not None
    closed = day.server.ask("DELETE", "/v1/session", token).json()["receipt"]
    return lines([*kept, {"closing": {"run": run, **closed}}])
