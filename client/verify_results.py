"""Checks the judgements of a run. Written from docs/bundle.md alone."""

from __future__ import annotations

import math
import struct

from verify_bodies import Row
from verify_budget import check_budget
from verify_coco import coco
from verify_formats import NotChecked, is_close, is_same, need, need_same, sha256
from verify_metrics import (
    average_precisions,
    has_no_annotations,
    ilsvrc_det,
    lpirc,
    mean,
    read_objects,
    voc_11,
    voc_area,
)
from verify_records import (
    NOT_BOUND,
    Bundle,
    Event,
    Fields,
    digest_of_rules,
    mean_power_w,
)
from verify_rule import score_by_rule, signed_rule

METRICS = {
    "lpirc": lpirc,
    "ilsvrc-det": ilsvrc_det,
    "voc-area": voc_area,
    "voc-11": voc_11,
    "coco": coco,
}
METRIC_VERSION = 1
INTERVAL = {
    "method": "half-sampling",
    "level": 0.95,
    "resamples": 300,
    "seed": 0,
}
"""Settings of the interval that are the same for every judgement."""
SIGNED_SETTINGS = (
    "voltage_range_v",
    "current_range_a",
    "update_interval_s",
    "mode",
    "crest_factor",
    "line_filter",
    "frequency_filter",
    "synchronize",
    "element",
)
FIGURES = ("map", "energy_wh", "score", "signature")
REHEARSALS = "UNOFFICIAL"
"""Maker named by meters that are for rehearsals only."""
NO_TRUTH = "none (the test set has no ground truth: energy and timing only)"
NOT_JUDGED = "the run is not judged yet"


def published(bundle: Bundle) -> Fields:
    """Return the published judgement. Raises NotChecked if there is none yet."""
    if bundle.result is None:
        raise NotChecked(NOT_JUDGED)
    return bundle.result


# Its figures


def check_judged_event(bundle: Bundle) -> None:
    """Check that the last event `judged` has the figures and the signature of the result."""
    result = published(bundle)
    expected = {name: result[name] for name in FIGURES}
    need_same("the event `judged`", bundle.last_detail("judged"), expected)


def check_map(bundle: Bundle, rows: list[Row]) -> None:
    """Compute the mAP and the AP of each category again, and compare them with the result."""
    result = published(bundle)
    metric = bundle.contest["metric"]
    if bundle.task is not None:
        check_score(bundle, None)
        raise NotChecked(bundle.not_computed)
    if metric not in METRICS:
        raise NotChecked(f"this verifier does not compute {metric}")
    found = _figures(bundle, metric, rows)
    stated = result["ap"] | {"map": result["map"]}
    need(
        stated.keys() == found.keys(),
        "the categories with an AP in result.json are not those of the test set",
    )

    is_rounded = metric == "coco" and bundle.rules is None
    wrong = []
    for name, value in found.items():
        is_right = is_same(value, stated[name])
        if is_rounded and not is_right:
            is_right = is_close(value, stated[name])
        if not is_right:
            wrong.append(f"{name} {stated[name]}, but it is {value}")
    need(not wrong, f"result.json has {'; '.join(wrong)}")

    expected = {"detections": len(rows), "images": len(bundle.order)}
    need_same("result.json", result, expected)


def _figures(
    bundle: Bundle,
    metric: str,
    rows: list[Row],
) -> dict[str, float | None]:
    """Return the AP of each category of the test set, and the mAP under the key `map`."""
    version = bundle.predicate["metric_version"]
    if version != METRIC_VERSION:
        raise NotChecked("its metric_version is unknown: use a newer verifier")
    truth = bundle.truth or b""
    objects = read_objects(truth, images={*bundle.order})
    ap = average_precisions(METRICS[metric], objects, rows)
    found: dict[str, float | None] = {}
    for category, _ in bundle.test_set["categories"]:
        found[str(category)] = ap.get(category)
    found["map"] = mean(ap.values())
    if not objects and has_no_annotations(truth):
        found["map"] = None
    return found


def check_map_ilsvrc_det(bundle: Bundle, rows: list[Row]) -> None:
    """Compute the mAP by ilsvrc-det again, the metric of the published champions, and compare it with the result."""
    result = published(bundle)
    if bundle.task is not None:
        need_same("result.json", result, {"map_ilsvrc_det": None})
        raise NotChecked(bundle.not_computed)
    if result["map_ilsvrc_det"] is None and result["map"] is not None:
        raise NotChecked("an earlier version did not compute it")
    found = _figures(bundle, "ilsvrc-det", rows)
    need_same("result.json", result, {"map_ilsvrc_det": found["map"]})


def check_score(bundle: Bundle, rows: list[Row] | None) -> str:
    """Check that the score follows from the run's figures by its rule. Return the computation in words.

    `rows` are those that count, None for a task whose answers are not read here. Without ground truth, which
    `check_map` has looked at, there is neither.
    """
    result = published(bundle)
    energy = bundle.run["energy_wh"]
    score = None
    words = "none"
    map_ = result["map"]
    if map_ is None:
        truth = bundle.truth
        is_bare = truth is None or has_no_annotations(truth)
        need(is_bare, "result.json has no mAP, but the test set has ground truth")
        words = NO_TRUTH
    elif energy is not None and 0 < energy < math.inf:
        answered = None if rows is None else len({row[0] for row in rows})
        score, words = score_by_rule(bundle, map_, energy, answered)
    expected = {
        "energy_wh": energy,
        "score": score,
        "mean_power_w": mean_power_w(bundle.run),
    }
    need_same("result.json", result, expected)
    check_budget(result, bundle.predicate["format"])
    return words


def check_interval(bundle: Bundle) -> None:
    """Check the interval's seed, level and number of halves; its ends are not computed here."""
    interval = published(bundle)["interval"]
    if interval is None:
        raise NotChecked("the result has no interval")
    is_of_halves = interval.get("method") == INTERVAL["method"]
    if bundle.rules is None and not is_of_halves:
        raise NotChecked(
            "the interval is a bootstrap by an earlier version of the referee"
        )
    need_same("the interval", interval, INTERVAL)
    raise NotChecked(
        "this verifier does not compute the interval; its seed, level and number of halves are right"
    )


def check_result_signature(bundle: Bundle) -> None:
    """Check that the result's signature states the inputs and settings of the computation.

    The parts `rules:` and `v:`, which name the program, are not compared. For a metric of a plug-in, `iou:`
    and `engine:` are not compared either. For a task other than boxes there is no `iou:` and no `blacklist:`.
    """
    stated = published(bundle)["signature"]
    expected = "|".join(_signed_parts(bundle))
    found = _without(stated, ["rules:", "v:"])
    if bundle.task is not None:
        expected = _without(expected, ["iou:", "blacklist:"])
        if "engine" in parts_of_signature(stated):
            found = _without(found, ["engine:"])
    elif bundle.contest["metric"] not in METRICS:
        found = _without(found, ["iou:", "engine:"])
        expected = _without(expected, ["iou:"])
    need(found == expected, f"the signature is {found}, but must be {expected}")


def _signed_parts(bundle: Bundle) -> list[str]:
    """Return the parts that the result's signature must have."""
    run = bundle.run
    metric = bundle.contest["metric"]
    digest = bundle.test_set["digest"]
    counts = "unserved-too" if bundle.contest["count_unserved"] else "served"
    extra_s = run.get("extra_s") or 0
    parts = [
        metric,
        "iou:0.5:0.95" if metric == "coco" else "iou:0.5",
        "blacklist:none",
        f"gt:{digest[:12]}",
        *signed_rule(bundle),
        f"images:{_images_in_words(bundle)}",
        f"counts:{counts}",
        f"window:{run['window_s'] - extra_s:g}s",
    ]
    if extra_s:
        parts.append(f"extra:{extra_s:g}s")
    for name in SIGNED_SETTINGS:
        value = run["setup"][name]
        words = "auto" if value is None else str(value).lower()
        parts.append(f"{name}:{words}")
    parts.append(f"meter:{run['meter_identity']}")
    return parts


def _images_in_words(bundle: Bundle) -> str:
    """Return the signature's wording for the set of images drawn for the run."""
    every = len(bundle.test_set["images"])
    drawn = sorted(bundle.order)
    if len(drawn) == every:
        return "all"
    digest = sha256(struct.pack(f"<{len(drawn)}q", *drawn))
    return f"{len(drawn)}-of-{every}:{digest[:12]}"


def _without(signature: str, begins: list[str]) -> str:
    """Return the signature without the first part that begins so, for each prefix. Raises Wrong if one is missing."""
    parts = signature.split("|")
    for begin in begins:
        those = [part for part in parts if part.startswith(begin)]
        need(those != [], f"the signature has no part that begins with {begin}")
        parts.remove(those[0])
    return "|".join(parts)


# Its rules


def check_judgements(bundle: Bundle) -> None:
    """Check that the judgements and the events `judged` match in order, and that the last judgement is the result."""
    if bundle.rules is None:
        raise NotChecked(NOT_BOUND)
    judgements = bundle.judgements
    events = bundle.events_of("judged")
    counts = (
        f"there are {len(judgements)} judgements, but {len(events)} events `judged`"
    )
    need(len(events) == len(judgements), counts)
    for place, judgement in enumerate(judgements, start=1):
        _need_event(f"judgement {place}", judgement, events[place - 1])

    if bundle.result is not None:
        need(judgements != [], "the judgement of the result is missing")
        last = judgements[-1]
        expected = {name: last[name] for name in ("judged_utc", *FIGURES)}
        need_same("result.json", bundle.result, expected)
    if not judgements:
        raise NotChecked(NOT_JUDGED)


def _need_event(
    what: str,
    judgement: Fields,
    event: Event,
) -> None:
    """Raise Wrong unless a judgement agrees with its event `judged` and its signature."""
    rules = judgement["rules"]
    expected = {name: judgement[name] for name in ("judged_utc", *FIGURES)}
    expected["rules_sha256"] = digest_of_rules(rules)
    need_same(f"the event of {what}", event.detail, expected)

    signed = {
        "metric": rules["metric"],
        "gt": rules["testset_digest"][:12],
        "counts": "unserved-too" if rules["count_unserved"] else "served",
        "rules": str(rules["metric_version"]),
    }
    parts = parts_of_signature(judgement["signature"])
    need_same(f"the signature of {what}", parts, signed)


def parts_of_signature(signature: str) -> dict[str, str]:
    """Return the parts of a judgement's signature by name; if a name occurs twice, its first value."""
    metric, *others = signature.split("|")
    parts = {"metric": metric}
    for one in others:
        name, _, value = one.partition(":")
        parts.setdefault(name, value)
    return parts


def check_rules(bundle: Bundle) -> None:
    """Check that the run and its published judgement followed the rules recorded when the run was armed."""
    if bundle.rules is None:
        raise NotChecked(NOT_BOUND)
    _need_run_by_rules(bundle, bundle.rules)
    version = bundle.predicate["metric_version"]
    is_of_manifest = version == bundle.rules["metric_version"]
    need(
        is_of_manifest,
        f"manifest.json has metric_version {version}, but the run's rules have {bundle.rules['metric_version']}",
    )
    of_contest = {
        "metric": bundle.rules["metric"],
        "count_unserved": bundle.rules["count_unserved"],
    }
    need_same("the published judgement", bundle.contest, of_contest)
    if bundle.result is None:
        return

    expected = bundle.rules | {"testset_digest": bundle.test_set["digest"]}
    found = bundle.judgements[-1]["rules"]
    need_same("the published judgement", found, expected)
    need(
        found.keys() == expected.keys(),
        "the rules of the published judgement have other keys than those of the run",
    )


def _need_run_by_rules(bundle: Bundle, rules: Fields) -> None:
    """Raise Wrong unless the run's settings are those of its rules."""
    run = bundle.run
    for name in ("testset_digest", "setup"):
        need_same("run.json", run, {name: rules[name]})
    extra_s = rules["extra_s"]
    is_same_extra = extra_s == (run["extra_s"] or 0)
    need(
        is_same_extra,
        f"the run has {run['extra_s'] or 0} s of extra time, but its rules state {extra_s} s",
    )
    window_s = rules["window_s"] + extra_s
    is_same_window = window_s == run["window_s"]
    need(
        is_same_window,
        f"the run has a window of {run['window_s']} s, but its rules state {window_s} s, with the extra time",
    )

    images = rules["per_attempt"]
    if images == 0:
        images = len(bundle.test_set["images"])
    found = run["images"]
    need(found == images, f"the run has {found} images, but its rules require {images}")
    _need_standing_by_makers(run, rules)


def _need_standing_by_makers(run: Fields, rules: Fields) -> None:
    """Raise Wrong if the meter's standing contradicts the official makers, or that the meter is simulated."""
    standing = run["meter_standing"]
    if standing is None or "official_makers" not in rules:
        return

    maker, _, serial, *_ = [*(run["meter_identity"] or "").split(" "), "", "", ""]
    makers = [_plain(one) for one in rules["official_makers"]]
    is_official = _plain(maker) in makers and _plain(maker) != REHEARSALS
    if not is_official:
        need(
            standing == "other-maker",
            f"meter_standing is {standing!r}, but {maker} is not an official maker",
        )
        return
    is_simulated = serial.upper().startswith("SIMULATED")
    if is_simulated:
        need(
            standing == "simulated",
            f"meter_standing is {standing!r}, but the meter {serial} is simulated",
        )
        return
    need(
        standing != "other-maker",
        f"meter_standing is {standing!r}, but {maker} is an official maker",
    )


def _plain(maker: str) -> str:
    """Return a maker's name as a meter's identity shows it: spaces as underscores, in capitals."""
    return maker.strip().replace(" ", "_").upper()
