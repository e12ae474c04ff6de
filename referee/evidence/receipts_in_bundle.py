"""Comparison of a team's receipts with a bundle: every acknowledged body must be in the bundle, unchanged."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from referee.errors import RefereeError
from referee.evidence.bundle_container import MANIFEST
from referee.evidence.bundle_values import Bundle
from referee.evidence.signed_statement import is_by
from referee.evidence.verification_items import Failure
from referee.store.hash_links import closing_text, receipt_link
from referee.store.run_rules import rules_of

MOST_SHOWN = 20
RECEIPTS = "the receipts file"
"""The `part` of a failure that lies in the receipts themselves."""
POSTS = "posts.jsonl.gz"
EVENTS = "events.jsonl.gz"
RUN = "run.json"
FORMS = (1, 2)
"""Versions of receipts that this program knows. Version 2 also covers the readings and the rules."""
_KINDS = {
    "run": int,
    "number": int,
    "previous": str,
    "link": str,
    "received_utc": str,
    "accepted": int,
    "received_total": int,
    "sha256": str,
}
_OF_METER = {"readings": int, "meter": str}
_RULES = {"run": int, "rules": dict, "rules_sha256": str}
_CLOSING = {
    "run": int,
    "posts": int,
    "head": str,
    "log": str,
    "signature": str,
    "public_key": str,
}
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Receipts:
    """The receipts of a file, in order: receipts of bodies, closing receipts, and the rules stated at log-in."""

    posts: Sequence[Mapping[str, Any]]
    closings: Sequence[Mapping[str, Any]]
    rules: Sequence[Mapping[str, Any]] = ()


def read_receipts(text: bytes, name: str) -> Receipts:
    """Read receipts from JSON lines. Raises RefereeError `bad-receipts` that names the line."""
    found: dict[str, list[Mapping[str, Any]]] = {
        "posts": [],
        "closings": [],
        "rules": [],
    }
    for number, line in enumerate(text.split(b"\n"), start=1):
        if not line.removeprefix(BOM_UTF8).strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            json.dumps(value, ensure_ascii=False).encode()  # must encode as UTF-8
            kind, one = _read(value)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            sentence = (
                f"{name}, line {number}: this is not a receipt; see docs/bundle.md."
            )
            raise RefereeError("bad-receipts", sentence) from None
        if _form(one) not in FORMS:
            sentence = f"{name}, line {number}: this receipt has the protocol version (`form`) {one['form']!r}"
            known = f"but this program knows only {' and '.join(map(str, FORMS))}; use a newer version of this program"
            raise RefereeError("bad-receipts", f"{sentence}, {known}.")
        found[kind].append(one)
    if not found["posts"] and not found["closings"]:
        raise RefereeError("bad-receipts", f"{name} holds no receipts.")
    return Receipts(**found)


def _form(receipt: Mapping[str, Any]) -> object:
    return receipt.get("form", 1)


def _read(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the kind and the content of a line. Raises ValueError, KeyError, TypeError, AttributeError."""
    if "closing" in value:
        kind = "closings"
        one = value["closing"]
        kinds = _CLOSING
    elif "rules_sha256" in value and "number" not in value:
        kind = "rules"
        one = value
        kinds = _RULES
    else:
        kind = "posts"
        one = value
        kinds = _KINDS
        if type(_form(one)) is not int:
            raise TypeError("form")
        if _form(one) == 2:
            kinds = _KINDS | _OF_METER
        elif _form(one) not in FORMS:  # the other keys of a newer form are unknown
            return kind, one
    if not all(type(one[key]) is needed for key, needed in kinds.items()):
        raise TypeError(kind)
    if not all(
        _DIGEST.fullmatch(one.get(key, "0" * 64))
        for key in ("previous", "meter", "rules_sha256")
    ):
        raise ValueError(kind)
    return kind, one


def require_own(receipts: Receipts, run: int) -> None:
    """Raise RefereeError `receipts-other-run` if a receipt is of another run."""
    kept = (*receipts.posts, *receipts.closings, *receipts.rules)
    others = sorted({one["run"] for one in kept} - {run})
    if others:
        sentence = f"The bundle is of run {run}, these receipts are of run {', '.join(map(str, others))}."
        raise RefereeError("receipts-other-run", sentence)


def check_receipts(
    bundle: Bundle, receipts: Receipts, head: str, closing_link: str | None
) -> str:
    """Return a sentence on the receipts. `head` is the head of the bundle's chain. Raises Failure if one is wrong."""
    now = {"posts": len(bundle.posts), "head": head, "log": closing_link}
    found = _of_form(bundle, receipts) or [
        *_of_rules(bundle, receipts),
        *_of_bodies(bundle, receipts),
    ]
    for closing in receipts.closings:
        found += _of_closing(closing, bundle, now)
    if found:
        more = (
            f" (and {len(found) - MOST_SHOWN} more)" if len(found) > MOST_SHOWN else ""
        )
        problems = "; ".join(problem for _, problem in found[:MOST_SHOWN]) + more
        part = next((part for part, _ in found if part != RECEIPTS), RECEIPTS)
        raise Failure(
            part,
            f"Receipts do not match the bundle: {problems}. {_verdict(bundle, receipts, now)}",
        )
    numbers = {one["number"] for one in receipts.posts}
    sentence = f"The bodies of {len(numbers)} receipts are in the bundle, in their order and as acknowledged"
    if not numbers:
        sentence = "No receipt of a body was given"
    if not receipts.closings:
        return f"{sentence}; without a closing receipt it is unknown whether bodies were added after these."
    return f"{sentence}; the run was closed with {receipts.closings[-1]['posts']} bodies, and none was added."


def _verdict(bundle: Bundle, receipts: Receipts, now: Mapping[str, object]) -> str:
    """Return what the contest's key proves about receipts that do not fit; a receipt of a body alone can be forged."""
    key = bundle.manifest["public_key"]
    signed = [
        one for one in receipts.closings if one["public_key"] == key and _is_signed(one)
    ]
    if not signed:
        return (
            "No closing receipt signed by the contest's key was given, so it is unknown whether the receipts or the "
            "bundle were altered."
        )
    if any(one[name] != value for one in signed for name, value in now.items()):
        return (
            "The closing receipt has a valid signature but does not match the bundle: the run was closed with data "
            "other than those in the bundle."
        )
    return (
        "The closing receipt is signed by the bundle's key and matches the bundle, so the other receipts are not "
        "those of the run."
    )


def _of_form(bundle: Bundle, receipts: Receipts) -> list[tuple[str, str]]:
    """Return a problem if the receipts' version is not the run's, so that they cannot be compared."""
    own = 1 if bundle.run.rules is None else 2
    others = [one["number"] for one in receipts.posts if _form(one) != own]
    if not others:
        return []
    binds = {1: "do not cover rules and readings", 2: "cover rules and readings"}
    problem = f"the receipts have the protocol version {3 - own} and {binds[3 - own]}"
    return [
        (
            POSTS,
            f"{problem}; the receipts of the run in the bundle have version {own} and {binds[own]}",
        )
    ]


def _of_rules(bundle: Bundle, receipts: Receipts) -> Iterator[tuple[str, str]]:
    bound = bundle.run.rules
    for one in receipts.rules:
        try:
            told = rules_of(one["rules"])
        except (KeyError, TypeError):
            told = None
        if told is None or told.sha256 != one["rules_sha256"]:
            yield RECEIPTS, "the rules do not have the SHA-256 that is stated with them"
        elif bound is None:
            yield (
                RUN,
                "the team received rules at its login, but the bundle has no rules of the run",
            )
        elif told != bound:
            yield (
                RUN,
                f"the team's rules at its login are not those in the bundle: {'; '.join(told.differences(bound))}",
            )


def _of_bodies(bundle: Bundle, receipts: Receipts) -> Iterator[tuple[str, str]]:
    """Yield (part, problem) for each body's receipt that contradicts the bundle."""
    posts = {post.number: post for post in bundle.posts if post.number is not None}
    for receipt in receipts.posts:
        number = receipt["number"]
        fields = [
            receipt[name]
            for name in ("sha256", "received_utc", "accepted", "received_total")
        ]
        is_bound = _form(receipt) == 2
        fields += (
            [receipt["readings"], bytes.fromhex(receipt["meter"])]
            if is_bound
            else [None, None]
        )
        kinds = _KINDS | _OF_METER if is_bound else _KINDS
        names = [name for name in kinds if name != "run"]
        if (
            receipt_link(bytes.fromhex(receipt["previous"]), number, *fields).hex()
            != receipt["link"]
        ):
            problem = "the receipt contradicts itself: its link does not match its other fields"
            yield RECEIPTS, f"body {number}: {problem}"
        elif number not in posts:
            yield POSTS, f"body {number} is missing"
        elif wrong := [
            name for name in names if getattr(posts[number], name) != receipt[name]
        ]:
            yield POSTS, f"body {number} is not as acknowledged: {', '.join(wrong)}"


def _of_closing(
    closing: Mapping[str, Any], bundle: Bundle, now: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    if closing["public_key"] != (key := bundle.manifest["public_key"]):
        yield (
            MANIFEST,
            f"the closing receipt is signed by the key {closing['public_key']}, but the bundle by {key} "
            "(a contest that is restored without its keys gets a new key; compare both with the key on the board)",
        )
    if not _is_signed(closing):
        yield (
            RECEIPTS,
            "the signature of the closing receipt does not match its content",
        )
    if closing["posts"] != now["posts"]:
        yield (
            POSTS,
            f"the run was closed with {closing['posts']} bodies, the bundle has {now['posts']}",
        )
    if closing["head"] != now["head"]:
        yield (
            POSTS,
            "the head of the run's chain is not the one that the run was closed with",
        )
    if closing["log"] != now["log"]:
        yield (
            EVENTS,
            "the log up to the event `closed` does not match the closing receipt",
        )


def _is_signed(closing: Mapping[str, Any]) -> bool:
    text = closing_text(
        closing["run"], closing["posts"], closing["head"], closing["log"]
    )
    return is_by(closing["public_key"], text.encode(), closing["signature"])
