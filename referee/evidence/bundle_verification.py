"""Verifies a bundle: from its bytes to a list of what holds, what does not, and what was not checked. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from lpirc_score.analysis.halves import HALVES, SEED
from lpirc_score.analysis.interval import LEVEL
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_testsets.folder import compute_digest
from referee.errors import RefereeError
from referee.evidence.bundle_container import (
    ENVELOPE,
    GROUND_TRUTH,
    MANIFEST,
    BadBundle,
    read_manifest,
    unpack,
)
from referee.evidence.bundle_values import Bundle, read_bundle
from referee.evidence.judgement_rules import (
    check_corrections,
    check_judgements,
    check_rules,
    require_bound,
)
from referee.evidence.receipts_in_bundle import Receipts, check_receipts, require_own
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.signed_statement import is_signed, subject_of
from referee.evidence.verification_items import Failure, Item, NotChecked, require_same
from referee.store.chain import terms_sha256
from referee.store.records import ENERGY_READ, HALF_SAMPLING, RUN_CLOSED

OF_PROGRAM = ("rules", "v")
TERMS = (
    "images",
    "window_s",
    "setup",
    "meter_identity",
    "meter_standing",
    "images_digest",
)
_MALFORMED = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
)

WITH_UNSEEN_ENERGY = 2  # the first format whose judgements have that check


@dataclass(frozen=True)
class Given:
    """What is known beside the bundle: a public key, a head of the log, receipts, a ground truth.

    `head` may be its first digits, and `head_events` says of how many events it is, where that is known. `interval`:
    compute it, too.
    """

    key: str | None = None
    head: str | None = None
    head_events: int | None = None
    receipts: Receipts | None = None
    ground_truth: bytes | None = None
    interval: bool = False


def verify(data: bytes, given: Given) -> list[Item]:
    """Verify a bundle. Raises BadBundle for one that cannot be read, RefereeError `receipts-other-run`."""
    parts = unpack(data)
    manifest = read_manifest(parts[MANIFEST])
    if given.receipts is not None:
        require_own(given.receipts, manifest["run"])
    sentence = f"Every one of {len(data)} bytes is in its place, in {len(parts)} parts."
    items = [
        Item("container", "ok", sentence),
        *_signed_parts(parts, manifest, given.key),
    ]
    if items[-1].outcome != "ok":
        return items
    try:
        bundle = read_bundle(manifest, parts)
    except BadBundle:
        if items[-2].outcome != "failed":
            raise
        return items  # what cannot be read was signed by someone else
    found = Recomputed(bundle, given.ground_truth)
    checked = [
        _item(name, partial(check, found, given)) for name, check in CHECKS.items()
    ]
    return items + checked


def read_signed(data: bytes) -> Bundle:
    """A bundle whose parts are as its signed manifest says; nothing is computed again. Raises BadBundle."""
    parts = unpack(data)
    manifest = read_manifest(parts[MANIFEST])
    for item in _signed_parts(parts, manifest, None):
        if item.outcome != "ok":
            raise BadBundle(item.part or item.name, item.sentence)
    return read_bundle(manifest, parts)


def _signed_parts(
    parts: Mapping[str, bytes], manifest: Mapping[str, Any], key: str | None
) -> list[Item]:
    signature = _item("signature", lambda: _signature(parts, manifest, key))
    return [signature, _item("parts", lambda: _parts(parts, manifest))]


def _item(name: str, check: Callable[[], str]) -> Item:
    try:
        return Item(name, "ok", check())
    except NotChecked as reason:
        return Item(name, "not checked", str(reason))
    except Failure as failure:
        return Item(name, "failed", str(failure), failure.part)
    except RefereeError as error:
        return Item(name, "failed", error.sentence, name)
    except _MALFORMED as error:
        return Item(
            name,
            "failed",
            f"A value is not what a bundle has there ({error!r:.200}).",
            name,
        )


def _signature(
    parts: Mapping[str, bytes], manifest: Mapping[str, Any], key: str | None
) -> str:
    public_key = manifest["public_key"]
    if not is_signed(parts[ENVELOPE], parts[MANIFEST], public_key):
        raise Failure(
            ENVELOPE,
            "The envelope is not of this manifest, or not signed by the key it names.",
        )
    if key is None:
        return f"The manifest is signed by the key {public_key}: compare it with the board's, or give --key."
    if key != public_key:
        raise Failure(
            ENVELOPE,
            f"The bundle is signed by the key {public_key}, not by the given one.",
        )
    return "The manifest is signed by the given key."


def _parts(parts: Mapping[str, bytes], manifest: Mapping[str, Any]) -> str:
    listed = {
        name: part for name, part in parts.items() if name not in (MANIFEST, ENVELOPE)
    }
    found = subject_of(listed)
    for name, one in zip(listed, found, strict=True):
        if one not in manifest["subject"]:
            raise Failure(
                name, f"Part {name} does not have the SHA-256 that the manifest states."
            )
    sizes_of_plain = {
        name: len(part) for name, part in listed.items() if not name.endswith(".gz")
    }
    sizes = manifest["sizes"]
    stated_secret = {"secret": True, "included": False}[manifest["ground_truth"]]
    is_listed = (
        found == manifest["subject"]
        and [*sizes] == [*listed]
        and sizes | sizes_of_plain == sizes
    )
    if not is_listed or stated_secret != (GROUND_TRUTH not in listed):
        raise Failure(
            MANIFEST,
            "The manifest does not name exactly the parts there are, with their sizes.",
        )
    return f"All {len(listed)} parts have the SHA-256 that the manifest states."


def _test_set(found: Recomputed, _: Given) -> str:
    bundle, test_set = found.bundle, found.bundle.test_set
    digest = compute_digest(
        test_set.images, test_set.ground_truth_sha256, test_set.categories
    )
    require_same("testset.json", "The digest of the test set", test_set.digest, digest)
    if (stated := bundle.run.images_digest) is not None:
        require_same(
            "testset.json", "The digest of the images", stated, test_set.images_digest
        )
    if bundle.run.testset_digest != digest:
        _require_judged_by(bundle, digest)
    if bundle.run.rules is not None:
        return check_corrections(bundle)
    if bundle.run.testset_digest == digest:
        return f"The test set {digest[:12]} is the one that the run was armed with."
    return f"The images are those of the run; judged by a corrected ground truth, as the log says ({digest[:12]})."


def _require_judged_by(bundle: Bundle, digest: str) -> None:
    judged = bundle.last_event("judged")
    require_same(
        "testset.json", "The test set judged with", judged.get("testset_digest"), digest
    )
    require_same(
        "run.json",
        "The test set armed with",
        bundle.run.testset_digest,
        judged.get("armed_with"),
    )


def _ground_truth(found: Recomputed, _: Given) -> str:
    return f"The ground truth is that of the test set: {len(found.ground_truth.image)} objects."


def _bodies(found: Recomputed, _: Given) -> str:
    total, earlier = 0, 0
    pairs = zip(found.bundle.posts, found.taken, strict=True)
    for place, (post, (rows, refused, _first)) in enumerate(pairs, start=1):
        total += len(rows)
        earlier += post.kind == "rows"
        if (post.accepted, post.refused, post.received_total) != (
            len(rows),
            refused,
            total,
        ):
            sentence = (
                f"Body {place} holds {len(rows)} rows that count and {refused} refused ones, {total} with those before "
                f"it, but {post.accepted}, {post.refused} and {post.received_total} are stated."
            )
            raise Failure("posts.jsonl.gz", sentence)
    sentence = f"{len(found.bundle.posts)} bodies give the {total} rows that were acknowledged."
    kept = f" An earlier version did not keep {earlier} of them: their stored rows are taken as they are."
    return sentence + kept * bool(earlier)


def _run_chain(found: Recomputed, _: Given) -> str:
    return f"Each body follows from the one before it, the first from the run; the head is {found.head[:12]}."


def _meter_chain(found: Recomputed, _: Given) -> str:
    """The receipts of bodies bind readings that are there."""
    bundle, before = found.bundle, 0
    require_bound(bundle)
    for place, post in enumerate(bundle.posts, start=1):
        readings = post.readings or 0
        if not before <= readings < len(found.meter):
            sentence = f"Body {place} binds {readings} readings, the one before it {before}, of {len(found.meter) - 1}."
            raise Failure("readings.csv.gz", sentence)
        require_same(
            "readings.csv.gz",
            f"The link of reading {readings}",
            post.meter,
            found.meter[readings],
        )
        before = readings
    until = (
        f", up to {bundle.meter_readings[before - 1].monotonic_s:.1f} s"
        if before
        else ""
    )
    return f"The receipts of the bodies bind {before} of {len(found.meter) - 1} readings{until}."


def _log_chain(found: Recomputed, given: Given) -> str:
    require_same(
        MANIFEST,
        "The head of the log",
        found.bundle.manifest["log_head"],
        found.log[-1],
    )
    if given.head is None:
        return f"{len(found.bundle.events)} events follow one from the other; the newest head is {found.log[-1][:12]}."
    if given.head_events is None:
        is_there = any(link.startswith(given.head) for link in found.log)
    else:
        is_there = _is_head_of(found, given.head, given.head_events)
    if not is_there:
        raise NotChecked(_unknown_head(found, given))
    return f"{len(found.bundle.events)} events follow one from the other, the given head among them."


def _is_head_of(found: Recomputed, head: str, events: int) -> bool:
    """Whether the log had this head after so many events; false if that is not in the bundle. Raises Failure."""
    place = events - found.bundle.events_before
    if not 0 <= place < len(found.log):
        return False
    if not found.log[place].startswith(head):
        sentence = f"After {events} events the head of the log was {head}, here it is {found.log[place]}: "
        raise Failure(
            "events.jsonl.gz",
            f"{sentence}the log was rewritten, or the head is of another contest.",
        )
    return True


def _unknown_head(found: Recomputed, given: Given) -> str:
    bundle = found.bundle
    times = [str(event["utc"])[:19].replace("T", " ") for event in bundle.own_events()]
    last = bundle.events_before + len(bundle.events)
    span = f"events {bundle.events_before} to {last}"
    if times:
        span = f"{span}, about {times[0]} to {times[-1]} UTC"
    if given.head_events is not None:
        return (
            f"The head {given.head} is of event {given.head_events}, and this bundle covers {span}: "
            "take one from there, or ask for `referee log --head`."
        )
    return (
        f"The head {given.head} is not among the links of this bundle, which covers {span}. Shown by the board within "
        "that span, it says that the log was rewritten; before or after, it says nothing of it. With the number of "
        "events it can be told: --head EVENTS:HEX."
    )


def _closing(found: Recomputed, _: Given) -> str:
    bundle, closed = found.bundle, found.bundle.last_event(RUN_CLOSED)
    if "head" not in closed:
        if any(post.number is not None for post in bundle.posts):
            raise Failure(
                "events.jsonl.gz",
                "The log has no event `closed` that binds the run's bodies.",
            )
        raise NotChecked(
            "An earlier version closed the run: the log does not bind its records."
        )
    row = bundle.run_row
    own: dict[str, dict[str, object]] = {
        "posts.jsonl.gz": {"posts": len(bundle.posts), "head": found.head},
        "readings.csv.gz": {
            "readings_sha256": hashlib.sha256(bundle.readings).hexdigest()
        },
        "served.csv.gz": {"served_sha256": hashlib.sha256(bundle.served).hexdigest()},
        "run.json": {
            "elapsed_s": row["elapsed_s"],
            "terms_sha256": terms_sha256(
                [row[name] for name in TERMS], bundle.order.tolist()
            ),
        },
    }
    require_same("run.json", "When it was closed", row["closed_utc"], closed["utc"])
    if closed["energy_wh"] is not None:
        own["run.json"] |= {
            "integrator_s": row["integrator_s"],
            "meter_changes": row["meter_changes"],
        }
    for part, values in own.items():
        for name, value in values.items():
            require_same(part, f"At the close, {name}", closed[name], value)
    return "The log's event of the close binds these bodies, readings, served images and terms."


def _energy(found: Recomputed, _: Given) -> str:
    bundle, run = found.bundle, found.bundle.run
    closed, read = bundle.last_event(RUN_CLOSED), bundle.last_event(ENERGY_READ)
    # Nothing replaces the energy of the close: a closing receipt binds it, and no event after it.
    is_of_close = closed.get("energy_wh") is not None
    energy_wh = (closed if is_of_close else read).get("energy_wh")
    require_same("run.json", "The energy of record", run.energy_wh, energy_wh)
    if energy_wh is None:
        return "There is no energy of record, and no event states one."
    if not is_of_close:
        require_same(
            "run.json", "The integrator's time", run.integrator_s, read["integrator_s"]
        )
        return f"{run.energy_wh} Wh, which was read after the close, as the log says."
    return f"{run.energy_wh} Wh, as the log says of the close."


def _map(found: Recomputed, _: Given) -> str:
    judged, result = found.judged, _result(found)
    for name in ("map", "images", "detections"):
        require_same("result.json", name, result[name], getattr(judged, name))
    ap = {str(id_): ap for id_, ap in judged.ap.items()}
    require_same("result.json", "AP by category", result["ap"], ap)
    return f"mAP {judged.map} by {found.bundle.contest['metric']} of {judged.detections} rows, bit by bit."


def _map_ilsvrc_det(found: Recomputed, _: Given) -> str:
    judged, stated = found.judged, _result(found)["map_ilsvrc_det"]
    if stated is None:
        raise NotChecked(
            "The run was judged by an earlier version, which did not compute it."
        )
    require_same("result.json", "map_ilsvrc_det", stated, judged.map_ilsvrc_det)
    return f"mAP {judged.map_ilsvrc_det} by ilsvrc-det, bit by bit."


def _score(found: Recomputed, _: Given) -> str:
    judged, result = found.judged, _result(found)
    for name in ("energy_wh", "score", "mean_power_w"):
        require_same("result.json", name, result[name], getattr(judged, name))
    is_bound = found.bundle.run.rules is not None
    if (
        is_bound or result.get("energy_known_by") is not None
    ):  # of a version that stores it
        require_same(
            "result.json", "energy_limit", result["energy_limit"], judged.energy_limit
        )
    stated = result.get("energy_own_limit")  # absent up to format 2
    # A version that bound no rules did not store it.
    is_of_earlier = stated is None and found.bundle.run.rules is None
    if "energy_own_limit" in result and not is_of_earlier:
        require_same("result.json", "energy_own_limit", stated, judged.energy_own_limit)
    return (
        f"{judged.map} / {judged.energy_wh} Wh = {judged.score}."
        if judged.score
        else "There is no score."
    )


def _result_signature(found: Recomputed, _: Given) -> str:
    stated, own = (
        signature_parts(one)
        for one in (_result(found)["signature"], found.judged.signature)
    )
    for name in OF_PROGRAM:
        stated.pop(name), own.pop(name)
    require_same("result.json", "The signature of the result", stated, own)
    return f"It says what the score was computed with: {_result(found)['signature']}."


def _checks(found: Recomputed, _: Given) -> str:
    own, stated = found.judged.checks, found.bundle.checks
    if found.bundle.manifest["format"] < WITH_UNSEEN_ENERGY:
        known = {one["code"] for one in stated}
        own = tuple(check for check in own if check.code in known)
    codes = [one["code"] for one in stated], [one.code for one in own]
    require_same("checks.json", "The list of checks", *codes)
    for one, check in zip(stated, own, strict=True):
        for name in ("ok", "severity", "figures"):
            require_same(
                "checks.json",
                f"{name} of the check {check.code}",
                one[name],
                getattr(check, name),
            )
    failed = [check.code for check in own if not check.ok and check.severity == "error"]
    warned = [check.code for check in own if not check.ok and check.severity != "error"]
    failures = f"these failed: {', '.join(failed)}" if failed else "none failed"
    warnings = f"; warnings: {', '.join(warned)}" if warned else ""
    return f"All {len(own)} come out again as stated; {failures}{warnings}."


def _judged_event(found: Recomputed, _: Given) -> str:
    result, event = _result(found), found.bundle.last_event("judged")
    if not event:
        raise Failure("events.jsonl.gz", "The log has no event `judged` of the run.")
    for name in ("map", "energy_wh", "score", "signature"):
        if name in event:
            require_same(
                "events.jsonl.gz", f"In the log, {name}", event[name], result[name]
            )
    return "The log states the same judgement."


def _judgements(found: Recomputed, _: Given) -> str:
    return check_judgements(found.bundle)


def _rules(found: Recomputed, _: Given) -> str:
    return check_rules(found.bundle)


def _interval(found: Recomputed, given: Given) -> str:
    stated, is_bound = _result(found)["interval"], found.bundle.run.rules is not None
    if stated is not None and (is_bound or stated.get("method") == HALF_SAMPLING):
        # Whoever could choose the seed could choose among intervals.
        fixed = {
            "method": HALF_SAMPLING,
            "level": LEVEL,
            "resamples": HALVES,
            "seed": SEED,
        }
        for name, value in fixed.items():
            require_same(
                "result.json", f"The {name} of the interval", stated[name], value
            )
    if not given.interval:
        raise NotChecked("Computing it again takes seconds: --interval.")
    require_same(
        "result.json", "The interval", _result(found)["interval"], found.interval()
    )
    return "It comes out again, bit by bit."


def _receipts(found: Recomputed, given: Given) -> str:
    if given.receipts is None:
        raise NotChecked("No receipts were given: --receipts.")
    return check_receipts(found.bundle, given.receipts, found.head, found.closing_link)


def _result(found: Recomputed) -> Mapping[str, Any]:
    if found.bundle.result is None:
        raise NotChecked("The run is not judged yet.")
    return found.bundle.result


CHECKS: dict[str, Callable[[Recomputed, Given], str]] = {
    "testset": _test_set,
    "ground-truth": _ground_truth,
    "bodies": _bodies,
    "run-chain": _run_chain,
    "meter-chain": _meter_chain,
    "log-chain": _log_chain,
    "closing": _closing,
    "energy": _energy,
    "map": _map,
    "map-ilsvrc-det": _map_ilsvrc_det,
    "score": _score,
    "result-signature": _result_signature,
    "checks": _checks,
    "judged-event": _judged_event,
    "judgements": _judgements,
    "rules": _rules,
    "interval": _interval,
    "receipts": _receipts,
}
"""What is checked once the parts are those of the manifest, by the item's name."""
