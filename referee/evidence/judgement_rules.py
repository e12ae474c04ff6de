"""Compares the rules of each judgement of a run with the run's rules, which its hash chain covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lpirc_power.meter import Identity
from lpirc_power.meter_standing import Standing, excluded_by_identity
from lpirc_score.metrics.evaluation_result import DIGEST_LENGTH, signature_parts
from lpirc_score.tasks.words import words_of
from referee.evidence.bundle_container import JUDGEMENTS
from referee.evidence.bundle_values import Bundle
from referee.evidence.signed_statement import is_by
from referee.evidence.verification_items import Failure, NotChecked, require_same
from referee.judging.run_case import counted_images
from referee.store.hash_links import correction_text
from referee.store.records import JUDGED, TRUTH_CORRECTED
from referee.store.run_rules import Rules
from referee.store.score_table import Judgement

EVENTS = "events.jsonl.gz"
RUN = "run.json"
FIGURES = ("map", "energy_wh", "score", "signature")


def require_bound(bundle: Bundle) -> Rules:
    """Return the run's rules. Raises NotChecked if none were recorded."""
    if bundle.run.rules is None:
        raise NotChecked(
            "An earlier version armed the run and did not record its rules in its chain."
        )
    return bundle.run.rules


def check_judgements(bundle: Bundle) -> str:
    """Return a sentence on all judgements. Raises Failure unless the log has each judgement as stated.

    Raises NotChecked if the run is not judged yet or no rules are bound.
    """
    bound = require_bound(bundle)
    listed = bundle.judgements
    if not listed:
        if bundle.result is not None or bundle.last_event(JUDGED):
            raise Failure(JUDGEMENTS, "The run was judged, but no judgement is listed.")
        raise NotChecked("The run is not judged yet.")
    events = [event for event in bundle.own_events() if event["kind"] == JUDGED]
    if len(events) != len(listed):
        sentence = f"The log has {len(events)} events `judged`, but the bundle lists {len(listed)} judgements."
        raise Failure(EVENTS, sentence)
    for place, (one, event) in enumerate(zip(listed, events, strict=True), start=1):
        _require_on_record(place, one, event)
        _require_signature(place, one)
    _require_published(bundle, listed[-1])
    return f"{len(listed)} recorded: {'; '.join(_told(one, bound) for one in listed)}."


def check_rules(bundle: Bundle) -> str:
    """Return a sentence on the run's rules. Raises Failure if the run or its published judgement violates them.

    Raises NotChecked if none are bound.
    """
    bound = require_bound(bundle)
    run = bundle.run
    of_manifest = bundle.manifest["metric_version"]
    require_same(
        RUN,
        "metric_version in the run's rules",
        bound.metric_version,
        of_manifest,
    )
    of_run: dict[str, tuple[object, object]] = {
        "testset_digest": (bound.testset_digest, run.testset_digest),
        "setup": (_sorted(bound.setup), _sorted(run.setup.stated)),
        "extra_s": (float(bound.extra_s), run.extra_s or 0.0),
        "window_s": (float(bound.window_s + bound.extra_s), run.window_s),
        "per_attempt": (bound.per_attempt or len(bundle.test_set.images), run.images),
    }
    for name, (stated, found) in of_run.items():
        require_same(RUN, f"{name} in the run's rules", stated, found)
    _require_standing(bundle, bound)
    others = _others(bundle, bound)
    for name in ("metric", "count_unserved"):
        stated = getattr(bound, name)
        found = bundle.contest[name]
        require_same(RUN, f"{name} in the run's rules", stated, found)
    sentence = f"The rules {bound.sha256} are recorded in the run's chain"
    if bundle.result is None:
        return f"{sentence}; no judgement is published."
    if others:
        return f"{sentence}, and the run was judged by them, except that the ground truth was corrected: {others[0]}."
    return f"{sentence}, and the run was judged by them."


def _require_standing(bundle: Bundle, bound: Rules) -> None:
    """Raise Failure if the meter's maker or serial number contradicts its recorded standing under the run's rules."""
    run = bundle.run
    if bound.official_makers is None or run.meter_standing is None:
        return
    identity = Identity.parse(run.meter_identity or "")
    excluded = excluded_by_identity(identity, bound.official_makers)
    if excluded is not None:
        what = "meter_standing, as it follows from official_makers in the rules,"
        require_same(RUN, what, excluded, run.meter_standing)
    elif run.meter_standing is Standing.OTHER_MAKER:
        sentence = f"The meter has the official maker {identity.maker}, but its meter_standing is {run.meter_standing}."
        raise Failure(RUN, sentence)


def _others(bundle: Bundle, bound: Rules) -> tuple[str, ...]:
    """Return how the published judgement's rules differ from the run's rules. Only the ground truth may differ.

    Raises Failure for any other difference.
    """
    if bundle.result is None:
        return ()
    judged = bundle.judgements[-1].rules if bundle.judgements else None
    if judged is None:
        raise Failure(JUDGEMENTS, "The published judgement does not state its rules.")
    digest = bundle.test_set.digest
    require_same(
        JUDGEMENTS,
        "The test set of the published judgement",
        judged.testset_digest,
        digest,
    )
    others = judged.differences(bound)
    if len(others) > (judged.testset_digest != bound.testset_digest):
        raise Failure(
            JUDGEMENTS,
            f"The run was judged by rules other than those recorded in its chain: {'; '.join(others)}.",
        )
    return others


def _sorted(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values sorted by name, since the rules and a run's setup have different orders."""
    return dict(sorted(values.items()))


def check_corrections(bundle: Bundle) -> str:
    """Return how the ground truth was corrected. Raises Failure unless signed events lead to the present test set."""
    at = bundle.run.testset_digest
    told = []
    for event in bundle.own_events():
        if event["kind"] != TRUTH_CORRECTED:
            continue
        old = event["old"]
        new = event["new"]
        by = event["by"]
        require_same(
            EVENTS, f"The test set before the correction that {by} made", old, at
        )
        text = correction_text(
            bundle.contest["id"],
            bundle.run.id,
            event["utc"],
            old,
            new,
            by,
            event["reason"],
        )
        if not is_by(event["public_key"], text.encode(), event["signature"]):
            raise Failure(
                EVENTS,
                f"The correction of the ground truth by {by} is not signed by the key that its event names.",
            )
        told.append(
            f"from {old[:12]} to {new[:12]} by {by} on {event['utc'][:19].replace('T', ' ')} UTC"
        )
        at = new
    require_same(
        "testset.json",
        "The test set after all corrections in the log",
        at,
        bundle.test_set.digest,
    )
    if not told:
        return f"The test set {at[:12]} is the one that the run was armed with."
    return f"The images are those of the run; its ground truth was corrected: {'; '.join(told)}."


def _require_on_record(place: int, one: Judgement, event: Mapping[str, Any]) -> None:
    judged = one.rules
    stated = {name: getattr(one, name) for name in ("judged_utc", *FIGURES)}
    stated["rules_sha256"] = None if judged is None else judged.sha256
    for name, value in stated.items():
        require_same(
            EVENTS,
            f"The {name} of judgement {place} in the log",
            event.get(name),
            value,
        )


def _require_signature(place: int, one: Judgement) -> None:
    """Raise Failure unless the signature names the metric, ground truth and rules that the judgement states."""
    judged = one.rules
    parts = signature_parts(one.signature)
    if judged is None:
        raise Failure(JUDGEMENTS, f"Judgement {place} does not state its rules.")
    said = {
        "metric": judged.metric,
        "gt": judged.testset_digest[:DIGEST_LENGTH],
        "counts": counted_images(count_unserved=judged.count_unserved),
        "rules": str(judged.metric_version),
    }
    for name, value in said.items():
        require_same(
            JUDGEMENTS,
            f"{name} in the signature of judgement {place}",
            parts.get(name),
            value,
        )


def _require_published(bundle: Bundle, last: Judgement) -> None:
    if bundle.result is None:
        return
    for name in ("judged_utc", *FIGURES):
        require_same(
            JUDGEMENTS,
            f"{name} of the last judgement",
            getattr(last, name),
            bundle.result[name],
        )


def _told(one: Judgement, bound: Rules) -> str:
    when = one.judged_utc[:19].replace("T", " ")
    others = one.rules.differences(bound) if one.rules else ()
    by = "by the run's rules" if not others else f"by other rules ({'; '.join(others)})"
    score = "no score" if one.score is None else f"score {one.score}"
    words = words_of(None if one.rules is None else one.rules.task)
    reached = f"{words.accuracy} {one.map}"
    if one.map is None:
        reached = f"no {words.accuracy}"
    return f"{when} UTC {by}: {reached}, {score}"
