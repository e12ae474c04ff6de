"""Verification of a bundle: which items hold, failed, or were not checked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from lpirc_score.errors import MetricFailed, PluginTaskFailed
from lpirc_score.metrics.evaluation_result import signature_parts
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
from referee.evidence.given_facts import Given
from referee.evidence.judgement_verification import JUDGEMENT_CHECKS
from referee.evidence.receipts_in_bundle import require_own
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.record_verification import (
    RECORD_CHECKS,
    require_own_test_set,
)
from referee.evidence.signed_statement import is_signed, subject_of
from referee.evidence.verification_items import Failure, Item, NotChecked

OF_PLUGIN = ("bodies", "map", "score", "checks", "interval")
"""The items that follow from figures, which a plug-in may compute."""

_MALFORMED = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
)


def verify(data: bytes, given: Given) -> list[Item]:
    """Verify a bundle. Raises BadBundle if it cannot be read, RefereeError `receipts-other-run`, `testset-other`."""
    parts = unpack(data)
    manifest = read_manifest(parts[MANIFEST])
    if given.receipts is not None:
        require_own(given.receipts, manifest["run"])
    sentence = f"The zip is intact: {len(data)} bytes in {len(parts)} parts, written exactly as a bundle must be."
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
        return items  # the unreadable content was not signed by the contest
    found = Recomputed(bundle, given.ground_truth)
    require_own_test_set(found, given)
    checked = [
        _with_plugin(bundle, _item(name, partial(check, found, given)))
        for name, check in CHECKS.items()
    ]
    return items + checked


def read_signed(data: bytes) -> Bundle:
    """Return a bundle after checking its parts against its signed manifest; nothing is recomputed. Raises BadBundle."""
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


def _with_plugin(bundle: Bundle, item: Item) -> Item:
    """Return the item, its sentence completed if a figure differs that a plug-in computed here."""
    if item.outcome != "failed" or item.name not in OF_PLUGIN or not bundle.result:
        return item
    engine = signature_parts(str(bundle.result["signature"])).get("engine")
    if engine is None:
        return item
    sentence = (
        f"{item.sentence} This was computed by the plug-in {engine} as it is installed here: if its code is not that "
        "of the contest, the difference says nothing of the bundle."
    )
    return replace(item, sentence=sentence)


def _item(name: str, check: Callable[[], str]) -> Item:
    try:
        return Item(name, "ok", check())
    except NotChecked as reason:
        return Item(name, "not checked", str(reason))
    except Failure as failure:
        return Item(name, "failed", str(failure), failure.part)
    except (PluginTaskFailed, MetricFailed) as error:
        # A plug-in that fails here says nothing of the bundle.
        return Item(name, "not checked", error.sentence)
    except RefereeError as error:
        return Item(name, "failed", error.sentence, name)
    except _MALFORMED as error:
        return Item(
            name,
            "failed",
            f"A value is malformed ({error!r:.200}).",
            name,
        )


def _signature(
    parts: Mapping[str, bytes], manifest: Mapping[str, Any], key: str | None
) -> str:
    public_key = manifest["public_key"]
    if not is_signed(parts[ENVELOPE], parts[MANIFEST], public_key):
        raise Failure(
            ENVELOPE,
            "The envelope does not contain this manifest, or is not signed by the key that the manifest names.",
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
            "The names or sizes of the parts differ from those in the manifest, or the manifest is wrong about whether "
            "the ground truth is included.",
        )
    return f"All {len(listed)} parts have the SHA-256 that the manifest states."


CHECKS = RECORD_CHECKS | JUDGEMENT_CHECKS


"""The checks of a bundle, by name of the item, made once its parts agree with the manifest."""
