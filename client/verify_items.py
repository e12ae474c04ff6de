"""Checks a bundle itself and a run's records in it. Written from docs/bundle.md alone."""

from __future__ import annotations

import base64

from verify_bodies import Row, accepted_rows
from verify_formats import (
    ENVELOPE,
    GROUND_TRUTH,
    MANIFEST,
    NotChecked,
    about,
    as_json,
    compact_json_of,
    json_of,
    lines,
    need,
    need_same,
    sha256,
)
from verify_records import NOT_BOUND, Bundle, Event
from verify_signature import need_signature

PAYLOAD_TYPE = "application/vnd.in-toto+json"


# Who made it, and of which parts


def check_signature(bundle: Bundle, key: str | None) -> None:
    """Check that the envelope holds this manifest and its key's signature, and compare the key with a given one."""
    manifest = bundle.parts[MANIFEST]
    envelope = as_json(bundle.parts[ENVELOPE], ENVELOPE)
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    expected = {
        "payload": base64.b64encode(manifest).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [
            {
                "keyid": bundle.key,
                "sig": base64.b64encode(signature).decode(),
            }
        ],
    }
    is_own = bundle.parts[ENVELOPE] == lines(json_of(expected)).encode()
    need(is_own, f"{ENVELOPE} is not the envelope of this {MANIFEST}")

    begin = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(manifest)} "
    text = begin.encode() + manifest
    need_signature(text, signature, bytes.fromhex(bundle.key))
    need(key in (None, bundle.key), f"it is signed by {bundle.key}, not by {key}")


def check_parts(bundle: Bundle) -> None:
    """Check that every part has the SHA-256 stated in the manifest, and that there are no other parts."""
    found = []
    for name in bundle.texts:
        digest = {"sha256": sha256(bundle.parts[name])}
        found.append({"name": name, "digest": digest})
    wrong = [one["name"] for one in found if one not in bundle.subject]
    need(
        found == bundle.subject,
        f"the SHA-256 of these parts is not the one in {MANIFEST}: {wrong}",
    )

    kinds = {
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "urn:lpirc-referee:bundle",
    }
    need_same(MANIFEST, bundle.statement, kinds)
    is_included = GROUND_TRUTH in bundle.parts
    expected = {
        "run": bundle.run["id"],
        "contest": bundle.contest["id"],
        "ground_truth": "included" if is_included else "secret",
    }
    need_same(MANIFEST, bundle.predicate, expected)


# The test set


def check_test_set(bundle: Bundle) -> None:
    """Check the test set's digest against its content and the run, and the run's images against the test set."""
    images = bundle.test_set["images"]
    categories = bundle.test_set["categories"]
    content = {
        "format": "lpirc-testset",
        "version": 1,
        "images": [digest for _, _, _, digest in images],
        "ground_truth": bundle.test_set["ground_truth_sha256"],
        "categories": categories,
    }
    digest = sha256(compact_json_of(content))
    need(
        digest == bundle.test_set["digest"],
        "its digest does not match its content",
    )
    _need_digest_of_run(bundle, digest)

    if bundle.run["images_digest"] is not None:
        shown = [[file, digest] for file, _, _, digest in images]
        known = [id_ for id_, _ in categories]
        images_digest = sha256(json_of([shown, known]))
        is_own = images_digest == bundle.run["images_digest"]
        need(is_own, "its images are not those of the run")

    numbers = {*bundle.order}
    need(
        len(numbers) == len(bundle.order),
        "image_order.json has an image twice",
    )
    are_known = all(1 <= number <= len(images) for number in numbers)
    need(
        are_known,
        "image_order.json has images that the test set does not have",
    )
    is_whole = len(numbers) == bundle.run["images"]
    need(is_whole, "image_order.json does not have as many images as the run")


def _need_digest_of_run(bundle: Bundle, digest: str) -> None:
    """Raise Wrong unless the run was armed with this test set, or the recorded corrections lead to this one."""
    armed_with = bundle.run["testset_digest"]
    if digest != armed_with:
        expected = {"testset_digest": digest, "armed_with": armed_with}
        judged = bundle.last_detail("judged")
        need_same("the event `judged`", judged, expected)

    if bundle.rules is not None:
        led_to = _end_of_corrections(bundle)
        need(
            digest == led_to,
            f"the events `truth-corrected` end at the test set {led_to}, but the bundle has {digest}",
        )


def _end_of_corrections(bundle: Bundle) -> str:
    """Return the test set's digest after all corrections recorded since the run was armed. Raises Wrong."""
    digest: str = bundle.run["testset_digest"]
    for event in bundle.events_of("truth-corrected"):
        with about(f"the correction of {event.utc}"):
            old = event.detail["old"]
            need(
                old == digest,
                f"it corrects the test set {old}, but the test set was {digest}",
            )
            _need_signed(bundle, event)
        digest = event.detail["new"]
    return digest


def _need_signed(bundle: Bundle, event: Event) -> None:
    """Raise Wrong unless this correction of the ground truth is signed by the key that its event names."""
    detail = event.detail
    values = [
        "lpirc-truth-1",
        bundle.contest["id"],
        bundle.run["id"],
        event.utc,
        detail["old"],
        detail["new"],
        detail["by"],
        detail["reason"],
    ]
    signature = bytes.fromhex(detail["signature"])
    key = bytes.fromhex(detail["public_key"])
    need_signature(json_of(values).encode(), signature, key)


def check_ground_truth(bundle: Bundle) -> None:
    """Check that the ground truth has the SHA-256 that the test set states."""
    if bundle.truth is None:
        raise NotChecked("the ground truth is still secret: give --testset")
    digest = sha256(bundle.truth)
    is_own = digest == bundle.test_set["ground_truth_sha256"]
    stated = "is not the one that the test set states"
    if bundle.truth is not bundle.texts.get(GROUND_TRUTH):
        stated = "is not the run's: give the run's test set, or leave --testset out"
    need(is_own, f"its SHA-256 {digest[:12]} {stated}")


# Bodies and chains


def check_bodies(bundle: Bundle) -> list[Row]:
    """Check each body against its line in posts.jsonl.gz. Return the counted rows with the test set's image numbers."""
    bodies = bundle.texts["bodies.gz"]
    if bundle.task is not None:
        _need_acknowledged(bundle, bodies)
        return []
    categories = {id_ for id_, _ in bundle.test_set["categories"]}
    accepted: list[Row] = []
    at = 0
    for place, post in enumerate(bundle.posts, start=1):
        end = at + post["bytes"]
        with about(f"body {place}"):
            rows = accepted_rows(post, bodies[at:end], bundle.run["images"], categories)
            accepted += rows
            expected = {
                "accepted": len(rows),
                "received_total": len(accepted),
            }
            need_same("its line", post, expected)
        at = end
    need(at == len(bodies), "bodies.gz has bytes that belong to no body")

    return _counted(bundle, accepted)


def _need_acknowledged(bundle: Bundle, bodies: bytes) -> None:
    """Raise Wrong unless the bodies of another task have the SHA-256 of their lines, and the lines count up."""
    at = 0
    total = 0
    for place, post in enumerate(bundle.posts, start=1):
        end = at + post["bytes"]
        total += post["accepted"]
        with about(f"body {place}"):
            is_own = sha256(bodies[at:end]) == post["sha256"]
            need(is_own, "its SHA-256 differs from the one in its line")
            need_same("its line", post, {"kind": "body", "received_total": total})
        at = end
    need(at == len(bodies), "bodies.gz has bytes that belong to no body")


def _counted(bundle: Bundle, accepted: list[Row]) -> list[Row]:
    """Return the counted rows with the test set's image numbers: all of them, or those of served images only."""
    served = _served_images(bundle)
    counts_all = bundle.contest["count_unserved"]
    counted = []
    for image, *rest in accepted:
        if counts_all or image in served:
            number = bundle.order[int(image) - 1]
            counted.append((float(number), *rest))
    return counted


def _served_images(bundle: Bundle) -> set[int]:
    """Return the numbers of the images served to the team, in the numbering that the team saw."""
    table = bundle.texts["served.csv.gz"].decode()
    _, *written = table.splitlines()
    images = [line.split(",")[0] for line in written]
    return {int(image) for image in images}


def check_run_chain(bundle: Bundle) -> None:
    """Check that each body's link follows from the one before it, and the first link from the run and its rules."""
    before = bundle.start_of_chain()
    has_begun = False
    for place, post in enumerate(bundle.posts, start=1):
        if post["number"] is None and not has_begun:
            continue  # of an earlier version
        has_begun = True
        expected = {
            "number": place,
            "previous": before,
            "link": bundle.link_of_body(post),
        }
        need_same(f"body {place}", post, expected)
        before = post["link"]


def check_meter_chain(bundle: Bundle) -> None:
    """Check that each body's `meter` is the link of its last reading, and that `readings` never decreases."""
    if bundle.rules is None:
        raise NotChecked(NOT_BOUND)
    links = bundle.meter_links()
    before = 0
    for place, post in enumerate(bundle.posts, start=1):
        count = post["readings"]
        need(
            count >= before,
            f"body {place} states {count} readings, but the body before it states {before}",
        )
        need(
            count < len(links),
            f"body {place} states {count} readings, but the bundle has {len(links) - 1}",
        )
        is_own = post["meter"] == links[count]
        need(
            is_own,
            f"`meter` of body {place} is not the chained digest of its {count} readings",
        )
        before = count


def check_log_chain(bundle: Bundle, head: str | None) -> None:
    """Check that the links end at the manifest's head, and that the head given by the user is one of them."""
    stated = bundle.predicate["log_head"]
    need(
        bundle.log[-1] == stated,
        f"the log's chain ends at the head {bundle.log[-1]}, but {MANIFEST} states {stated}",
    )
    if head is None:
        return

    first = bundle.events_before
    last = first + len(bundle.log) - 1
    span = f"this bundle has the heads of the log from event {first} to event {last}"
    advice = "for any other head, ask the operator to run `referee log --head`"
    count, colon, digits = head.rpartition(":")
    if not colon:
        is_among_them = any(link.startswith(digits) for link in bundle.log)
        if not is_among_them:
            raise NotChecked(
                f"the head {digits} is not in the bundle; {span}; {advice}"
            )
        return
    if not first <= int(count) <= last:
        raise NotChecked(f"the given head is that of event {count}; {span}; {advice}")
    link = bundle.log[int(count) - first]
    is_same_log = link.startswith(digits)
    need(
        is_same_log,
        f"the head of event {count} is {link} in the bundle, not the given one: the log was rewritten",
    )


# The close


def check_closing(bundle: Bundle) -> None:
    """Check that the event `closed` matches the bodies, readings, served images and terms in the bundle."""
    closed = bundle.last_detail("closed")
    has_links = any(post["number"] is not None for post in bundle.posts)
    is_of_earlier_version = bundle.rules is None and not has_links
    if "head" not in closed and is_of_earlier_version:
        raise NotChecked(
            "an earlier version of the referee closed the run and recorded no digests of its data"
        )

    expected = {
        "terms_sha256": _digest_of_terms(bundle),
        "posts": len(bundle.posts),
        "head": bundle.head_of_chain(),
        "readings_sha256": sha256(bundle.texts["readings.csv.gz"]),
        "served_sha256": sha256(bundle.texts["served.csv.gz"]),
    }
    need_same("the event `closed`", closed, expected)
    of_run = {
        "elapsed_s": closed["elapsed_s"],
        "closed_utc": bundle.events_of("closed")[-1].utc,
    }
    if closed["energy_wh"] is not None:
        of_run["meter_changes"] = closed["meter_changes"]
    need_same("run.json", bundle.run, of_run)


def _digest_of_terms(bundle: Bundle) -> str:
    """Return the SHA-256 of the terms under which the run was armed."""
    run = bundle.run
    terms = [
        run["images"],
        run["window_s"],
        run["setup"],
        run["meter_identity"],
        run["meter_standing"],
        run["images_digest"],
        bundle.order,
    ]
    return sha256(json_of(terms))


def check_energy(bundle: Bundle) -> None:
    """Check that the run's energy and integrator time are those stated by its events."""
    of_record = bundle.last_detail("closed")
    if of_record.get("energy_wh") is None:
        of_record = bundle.last_detail("energy-read")
    expected = {"energy_wh": of_record.get("energy_wh")}
    if "integrator_s" in of_record:
        expected["integrator_s"] = of_record["integrator_s"]
    need_same("run.json", bundle.run, expected)
