"""Verification items on a bundle's records: test set, bodies, chains, the close and the energy. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of
from lpirc_testsets.folder import compute_digest
from referee.errors import RefereeError
from referee.evidence.bundle_container import (
    MANIFEST,
)
from referee.evidence.bundle_values import Bundle
from referee.evidence.given_facts import Given
from referee.evidence.judgement_rules import (
    check_corrections,
    require_bound,
)
from referee.evidence.link_verification import check_links
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.verification_items import Failure, NotChecked, require_same
from referee.store.hash_links import terms_sha256
from referee.store.records import ENERGY_READ, RUN_CLOSED

TERMS = (
    "images",
    "window_s",
    "setup",
    "meter_identity",
    "meter_standing",
    "images_digest",
)


def _test_set(found: Recomputed, _: Given) -> str:
    bundle = found.bundle
    test_set = found.bundle.test_set
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
    return f"The images are those of the run. The log states that a corrected ground truth was used ({digest[:12]})."


def require_own_test_set(found: Recomputed, given: Given) -> None:
    """Raise RefereeError `testset-other` if another test set was given: this says nothing of the bundle."""
    own = found.bundle.test_set
    is_other = given.test_set not in ("", own.digest)
    truth = hashlib.sha256(given.ground_truth or b"").hexdigest()
    if not is_other or truth == own.ground_truth_sha256:
        return
    is_armed = own.digest == found.bundle.run.testset_digest
    how = "was armed with" if is_armed else "was judged with"
    ids = f"this test set is {given.test_set[:12]}, and run {found.bundle.run.id} {how} {own.digest[:12]}"
    raise RefereeError(
        "testset-other", f"--testset: {ids}; give that one, or leave --testset out."
    )


def _require_judged_by(bundle: Bundle, digest: str) -> None:
    judged = bundle.last_event("judged")
    require_same(
        "testset.json",
        "The test set that the run was judged with",
        judged.get("testset_digest"),
        digest,
    )
    require_same(
        "run.json",
        "The test set that the run was armed with",
        bundle.run.testset_digest,
        judged.get("armed_with"),
    )


def _ground_truth(found: Recomputed, _: Given) -> str:
    if found.bundle.run.task != BOXES:
        truth = found.truth
        return (
            f"The ground truth is that of the test set: {len(truth.by_image)} images."
        )
    return f"The ground truth is that of the test set: {len(found.ground_truth.image)} objects."


def _bodies(found: Recomputed, _: Given) -> str:
    total = 0
    earlier = 0
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
                f"The line of body {place} states {post.accepted} accepted rows, {post.refused} refused rows and "
                f"{post.received_total} accepted rows so far, but the bodies have {len(rows)}, {refused} and {total}."
            )
            raise Failure("posts.jsonl.gz", sentence)
    words = words_of(found.bundle.run.task)
    sentence = f"{len(found.bundle.posts)} bodies give the {total} {words.rows} that were acknowledged."
    kept = f" An earlier version kept only the rows of {earlier} of these bodies; these rows are used as they are."
    return sentence + kept if earlier else sentence


def _run_chain(found: Recomputed, _: Given) -> str:
    return f"The run's chain is intact from its start to the last body; its head is {found.head[:12]}."


def _meter_chain(found: Recomputed, _: Given) -> str:
    """Return a sentence on the readings. Raises Failure unless the bundle has the readings that the receipts cover."""
    bundle = found.bundle
    before = 0
    require_bound(bundle)
    for place, post in enumerate(bundle.posts, start=1):
        readings = post.readings or 0
        if not before <= readings < len(found.meter):
            sentence = (
                f"Body {place} states {readings} readings, but must state at least the {before} of the body before it "
                f"and at most the {len(found.meter) - 1} in the bundle."
            )
            raise Failure("readings.csv.gz", sentence)
        require_same(
            "readings.csv.gz",
            f"The chained digest of the first {readings} readings",
            post.meter,
            found.meter[readings],
        )
        before = readings
    until = (
        f", up to {bundle.meter_readings[before - 1].monotonic_s:.1f} s"
        if before
        else ""
    )
    return f"The receipts of the bodies cover {before} of {len(found.meter) - 1} readings{until}."


def _log_chain(found: Recomputed, given: Given) -> str:
    require_same(
        MANIFEST,
        "The head of the log",
        found.bundle.manifest["log_head"],
        found.log[-1],
    )
    if given.head is None:
        return f"The log's chain is intact, with {len(found.bundle.events)} events; its head is {found.log[-1][:12]}."
    if given.head_events is None:
        is_there = any(link.startswith(given.head) for link in found.log)
    else:
        is_there = _is_head_of(found, given.head, given.head_events)
    if not is_there:
        raise NotChecked(_unknown_head(found, given))
    return f"The log's chain is intact, with {len(found.bundle.events)} events; the given head is in it."


def _is_head_of(found: Recomputed, head: str, events: int) -> bool:
    """Return True if `head` was the log's head after so many events; False if the bundle lacks that part of the log.

    Raises Failure if the log had another head there.
    """
    place = events - found.bundle.events_before
    if not 0 <= place < len(found.log):
        return False
    if not found.log[place].startswith(head):
        sentence = f"The given head of event {events} is {head}, but the bundle has {found.log[place]}: "
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
            f"The head {given.head} is of event {given.head_events}, but this bundle covers {span}: "
            "give the head of one of these events, or ask the operator to run `referee log --head`."
        )
    return (
        f"The head {given.head} is not in this bundle, which covers {span}. If the board showed the head within that "
        "span, the log was rewritten; if the board showed it earlier or later, nothing is proved. To find out, also "
        "give the number of events: --head EVENTS:HEX."
    )


def _closing(found: Recomputed, _: Given) -> str:
    bundle = found.bundle
    closed = found.bundle.last_event(RUN_CLOSED)
    if "head" not in closed:
        if any(post.number is not None for post in bundle.posts):
            raise Failure(
                "events.jsonl.gz",
                "The log has no event `closed` with the digest of the run's bodies.",
            )
        raise NotChecked(
            "An earlier version closed the run and recorded no digests of its data in the log."
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
    require_same(
        "run.json", "The closing time of the run", row["closed_utc"], closed["utc"]
    )
    if closed["energy_wh"] is not None:
        own["run.json"] |= {
            "integrator_s": row["integrator_s"],
            "meter_changes": row["meter_changes"],
        }
    for part, values in own.items():
        for name, value in values.items():
            require_same(part, f"{name} in the event `closed`", closed[name], value)
    return "The event `closed` in the log matches these bodies, readings, served images and terms."


def _energy(found: Recomputed, _: Given) -> str:
    bundle = found.bundle
    run = found.bundle.run
    closed = bundle.last_event(RUN_CLOSED)
    read = bundle.last_event(ENERGY_READ)
    # The energy of the close is final: a closing receipt binds it, but binds no later event.
    is_of_close = closed.get("energy_wh") is not None
    energy_wh = (closed if is_of_close else read).get("energy_wh")
    require_same("run.json", "The run's energy", run.energy_wh, energy_wh)
    if energy_wh is None:
        return "The run has no energy, and no event states an energy."
    if not is_of_close:
        require_same(
            "run.json", "The integrator's time", run.integrator_s, read["integrator_s"]
        )
        return f"{run.energy_wh} Wh, which was read after the close, as the log says."
    return f"{run.energy_wh} Wh, as the event `closed` in the log states."


RECORD_CHECKS: dict[str, Callable[[Recomputed, Given], str]] = {
    "testset": _test_set,
    "ground-truth": _ground_truth,
    "bodies": _bodies,
    "run-chain": _run_chain,
    "meter-chain": _meter_chain,
    "log-chain": _log_chain,
    "links": check_links,
    "closing": _closing,
    "energy": _energy,
}
