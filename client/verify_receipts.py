"""Checks a bundle against the receipts kept by a team's client. Written from docs/bundle.md alone."""

from __future__ import annotations

import json

from verify_formats import NotChecked, about, lines, need, need_same
from verify_records import Bundle, Fields, digest_of_rules
from verify_signature import need_signature

OF_BODY = [
    "number",
    "previous",
    "link",
    "received_utc",
    "accepted",
    "received_total",
    "sha256",
]
OF_BODY_SINCE_FORM_2 = ("readings", "meter")


def check_receipts(bundle: Bundle, text: bytes | None) -> None:
    """Check that the bundle holds everything that the receipts acknowledge, unchanged."""
    if text is None:
        raise NotChecked("no receipts were given: give --receipts")
    receipts = 0
    written = text.decode("utf-8-sig").split("\n")
    for place, line in enumerate(written, start=1):
        if not line.strip():
            continue
        with about(f"line {place} of the file of receipts"):
            one = json.loads(line)
            _check_line(bundle, one)
        if "rules_sha256" not in one:
            receipts += 1
    need(receipts > 0, "the file holds no receipts")


def _check_line(bundle: Bundle, one: Fields) -> None:
    """Check one line of the receipts file: a body's receipt, the closing receipt, or the rules. Raises Wrong."""
    of = one.get("closing", one)
    run = of["run"]
    own = bundle.run["id"]
    need(run == own, f"it belongs to run {run}, not to {own}")
    if "number" in one:
        _check_body(bundle, one)
    elif "closing" in one:
        _check_closing(bundle, one["closing"])
    else:
        _check_rules(bundle, one)


def _check_body(bundle: Bundle, one: Fields) -> None:
    """Check a body's receipt: its form, its link, and that the bundle holds the body. Raises Wrong."""
    form = one.get("form", 1)
    need(
        form in (1, 2),
        f"its `form` is {form}, which this verifier does not know: use a newer verifier",
    )
    form_of_run = 2
    if bundle.rules is None:
        form_of_run = 1
    need(
        form == form_of_run,
        f"its `form` is {form}, but the receipts of this run have form {form_of_run}",
    )

    number = one["number"]
    link = bundle.link_of_body(one)
    is_whole = link == one["link"]
    need(
        is_whole,
        f"the receipt of body {number} was altered: its `link` does not match its other fields",
    )
    is_there = 1 <= number <= len(bundle.posts)
    need(is_there, f"body {number} is missing in the bundle")
    expected = {name: one[name] for name in OF_BODY}
    if form == 2:
        for name in OF_BODY_SINCE_FORM_2:
            expected[name] = one[name]
    need_same(f"body {number}", bundle.posts[number - 1], expected)


def _check_closing(bundle: Bundle, one: Fields) -> None:
    """Check the closing receipt: the records that it covers, and its signature. Raises Wrong."""
    closings = bundle.events_of("closed")
    need(closings != [], "the bundle has no event `closed`")
    expected = {
        "posts": len(bundle.posts),
        "head": bundle.head_of_chain(),
        "log": closings[-1].link,
        "public_key": bundle.key,
    }
    need_same("the closing receipt", one, expected)

    values = [one["run"], one["posts"], one["head"], one["log"]]
    text = lines("lpirc-close-1", *values)
    signature = bytes.fromhex(one["signature"])
    key = bytes.fromhex(one["public_key"])
    need_signature(text.encode(), signature, key)


def _check_rules(bundle: Bundle, one: Fields) -> None:
    """Check that the client received the rules that the run was armed with. Raises Wrong."""
    digest = _digest_or_none(one["rules"])
    need(
        digest == one["rules_sha256"],
        "its rules were altered: their SHA-256 differs",
    )
    own = _digest_or_none(bundle.rules)
    need(digest == own, "its rules are not those that the run was armed with")


def _digest_or_none(rules: Fields | None) -> str | None:
    """Return the digest of the rules, or None if there are none."""
    if rules is None:
        return None
    return digest_of_rules(rules)
