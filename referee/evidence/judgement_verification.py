"""Verification items on the judgement: mAP, score, checks, rules, interval, receipts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lpirc_score.analysis.halves import HALVES, SEED
from lpirc_score.analysis.interval import LEVEL
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of
from lpirc_testsets.truth_marks import NO_TRUTH_SENTENCE
from referee.contest_rules import DEFAULT
from referee.evidence.budget_verification import require_own_rules, require_same_budget
from referee.evidence.bundle_container import FORMAT_OF_BUDGETS
from referee.evidence.given_facts import Given
from referee.evidence.judgement_rules import (
    check_judgements,
    check_rules,
)
from referee.evidence.receipts_in_bundle import check_receipts
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.verification_items import Failure, NotChecked, require_same
from referee.judging.bound_rules import rule_of
from referee.judging.run_figures import why_outside_rule
from referee.store.records import HALF_SAMPLING

OF_PROGRAM = ("rules", "v")


WITH_UNSEEN_ENERGY = 2  # the first format with that check


def _map(found: Recomputed, _: Given) -> str:
    judged = found.judged
    result = _result(found)
    for name in ("map", "images", "detections"):
        require_same("result.json", name, result[name], getattr(judged, name))
    ap = {str(id_): ap for id_, ap in judged.ap.items()}
    require_same("result.json", "AP by category", result["ap"], ap)
    if judged.map is None:
        return f"{NO_TRUTH_SENTENCE} There is no mAP."
    task = found.bundle.run.task
    words = words_of(task)
    if task != BOXES:
        require_same("result.json", "others", result.get("others"), judged.others)
    by = f"the metric {found.bundle.contest['metric']}"
    if task != BOXES:
        by = f"the task {task}"
    return (
        f"{words.accuracy} {judged.map} was recomputed from {judged.detections} {words.rows} with {by}; "
        "it is identical bit for bit."
    )


def _map_ilsvrc_det(found: Recomputed, _: Given) -> str:
    judged = found.judged
    stated = _result(found)["map_ilsvrc_det"]
    if found.bundle.run.task != BOXES:
        require_same("result.json", "map_ilsvrc_det", stated, None)
        return f"The task {found.bundle.run.task} has no mAP."
    if judged.map is None:
        require_same("result.json", "map_ilsvrc_det", stated, None)
        return f"{NO_TRUTH_SENTENCE} There is no mAP."
    if stated is None:
        raise NotChecked(
            "The run was judged by an earlier version, which did not compute map_ilsvrc_det."
        )
    require_same("result.json", "map_ilsvrc_det", stated, judged.map_ilsvrc_det)
    return f"mAP {judged.map_ilsvrc_det} was recomputed with the metric ilsvrc-det; it is identical bit for bit."


def _score(found: Recomputed, _: Given) -> str:
    judged = found.judged
    result = _result(found)
    for name in ("energy_wh", "score", "mean_power_w"):
        require_same("result.json", name, result[name], getattr(judged, name))
    is_bound = found.bundle.run.rules is not None
    if (
        is_bound or result.get("energy_known_by") is not None
    ):  # judged by a version that stores it
        require_same(
            "result.json", "energy_limit", result["energy_limit"], judged.energy_limit
        )
    stated = result.get("energy_own_limit")  # absent up to format 2
    # Versions before bound rules did not store it.
    is_of_earlier = stated is None and found.bundle.run.rules is None
    if "energy_own_limit" in result and not is_of_earlier:
        require_same("result.json", "energy_own_limit", stated, judged.energy_own_limit)
    _require_budget(found)
    if judged.map is None:
        return f"{NO_TRUTH_SENTENCE} There is no score."
    rule = rule_of(found.bundle.run)
    outside = why_outside_rule(judged)
    if rule != DEFAULT:
        score = "no score" if judged.score is None else f"{judged.score} {rule.unit}"
        ranked = "" if outside is None else f" It is not ranked: {outside}."
        return f"{score}, by the rule of the run. {rule.sentence}{ranked}"
    if not judged.score:
        return "There is no score."
    return f"{judged.map} / {judged.energy_wh} Wh = {judged.score}."


def _require_budget(found: Recomputed) -> None:
    result = _result(found)
    has_budget = "energy_budget" in result
    is_to_have = found.bundle.manifest["format"] >= FORMAT_OF_BUDGETS
    require_same("result.json", "that it has an energy_budget", has_budget, is_to_have)
    if not has_budget:
        return
    judged = found.judged
    versions = {
        signature_parts(one).get("v") for one in (result["signature"], judged.signature)
    }
    require_same_budget(
        result["energy_budget"],
        judged.energy_budget,
        has_own_words=len(versions) == 1,
    )


def _result_signature(found: Recomputed, _: Given) -> str:
    stated, own = (
        signature_parts(one)
        for one in (_result(found)["signature"], found.judged.signature)
    )
    for name in OF_PROGRAM:
        stated.pop(name), own.pop(name)
    require_same("result.json", "The signature of the result", stated, own)
    return f"The signature states what the score was computed with: {_result(found)['signature']}."


def _checks(found: Recomputed, _: Given) -> str:
    own = found.judged.checks
    stated = found.bundle.checks
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
    return f"All {len(own)} checks were recomputed, with the results that the bundle states; {failures}{warnings}."


def _judged_event(found: Recomputed, _: Given) -> str:
    result = _result(found)
    event = found.bundle.last_event("judged")
    if not event:
        raise Failure("events.jsonl.gz", "The log has no event `judged` of the run.")
    for name in ("map", "energy_wh", "score", "signature"):
        if name in event:
            require_same(
                "events.jsonl.gz",
                f"The {name} in the event `judged`",
                event[name],
                result[name],
            )
    return "The log states the same judgement."


def _judgements(found: Recomputed, _: Given) -> str:
    return check_judgements(found.bundle)


def _rules(found: Recomputed, _: Given) -> str:
    return check_rules(found.bundle)


def _interval(found: Recomputed, given: Given) -> str:
    stated = _result(found)["interval"]
    is_bound = found.bundle.run.rules is not None
    if stated is not None and (is_bound or stated.get("method") == HALF_SAMPLING):
        # The seed is fixed, since a free choice of seed would be a choice among intervals.
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
        raise NotChecked(
            "The interval was not recomputed, because this takes seconds; give --interval."
        )
    if "energy_budget" in _result(found):
        require_own_rules(_result(found)["energy_budget"])
    require_same(
        "result.json", "The interval", _result(found)["interval"], found.interval()
    )
    return "The interval was recomputed; it is identical bit for bit."


def _receipts(found: Recomputed, given: Given) -> str:
    if given.receipts is None:
        raise NotChecked("No receipts were given; give --receipts.")
    return check_receipts(found.bundle, given.receipts, found.head, found.closing_link)


def _result(found: Recomputed) -> Mapping[str, Any]:
    if found.bundle.result is None:
        raise NotChecked("The run is not judged yet.")
    return found.bundle.result


JUDGEMENT_CHECKS: dict[str, Callable[[Recomputed, Given], str]] = {
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
