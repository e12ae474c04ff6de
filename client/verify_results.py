"""The items about a run's judgements, and about what its team kept. From docs/bundle.md alone."""

from __future__ import annotations

import json
import math

from verify_formats import (
    NotChecked,
    Row,
    about,
    json_of,
    lines,
    need,
    need_same,
    need_signature,
)
from verify_metrics import COCO, METRICS, average_precisions, mean, read_objects
from verify_records import NOT_BOUND, Bundle, Event, Fields, digest_of_rules, link_of_body

METRIC_VERSION = 1
FIGURES = ("map", "energy_wh", "score", "signature")
NOT_JUDGED = "the run is not judged yet"


# The judgement


def published(bundle: Bundle) -> Fields:
    """The published judgement. Raises NotChecked before there is one."""
    if bundle.result is None:
        raise NotChecked(NOT_JUDGED)
    return bundle.result


def check_judged_event(bundle: Bundle) -> None:
    """The last event `judged` has the figures and the signature of the result."""
    result = published(bundle)
    figures = {name: result[name] for name in FIGURES}
    need_same("the event `judged`", bundle.last_detail("judged"), figures)


def check_map(bundle: Bundle, rows: list[Row]) -> None:
    """The mAP and the AP by category, computed again."""
    result = published(bundle)
    metric = bundle.contest["metric"]
    if metric not in METRICS:
        raise NotChecked(f"this verifier does not compute {metric}")
    ap = _average_precisions(bundle, metric, rows)
    categories = [id_ for id_, _ in bundle.test_set["categories"]]
    found = {str(id_): ap.get(id_) for id_ in categories}
    stated = result["ap"]
    if metric == COCO and bundle.rules is None:  # of versions that left the order of the sums to NumPy
        _need_close(stated | {"map": result["map"]}, found | {"map": mean(ap.values())})
    else:
        wrong = [name for name in {*found, *stated} if _differs(name, found, stated)]
        need(not wrong, f"result.json has another AP of {wrong}")
        need_same("result.json", result, {"map": mean(ap.values())})
    need_same("result.json", result, {"detections": len(rows), "images": len(bundle.order)})


def _average_precisions(bundle: Bundle, metric: str, rows: list[Row]) -> dict[int, float]:
    if bundle.predicate["metric_version"] != METRIC_VERSION:
        raise NotChecked("its metric_version is unknown: use a newer verifier")
    objects = read_objects(bundle.truth or b"", {*bundle.order})
    return average_precisions(metric, objects, rows)


def _differs(name: str, found: Fields, stated: Fields) -> bool:
    return name not in found or name not in stated or json_of(found[name]) != json_of(stated[name])


def _need_close(stated: Fields, found: Fields) -> None:
    """Raise Wrong unless the figures agree within 1e-12."""
    need(stated.keys() == found.keys(), "result.json has an AP of other categories")
    for name, value in found.items():
        same = stated[name] == value
        close = None not in (stated[name], value) and math.isclose(stated[name], value, rel_tol=1e-12)
        need(same or close, f"result.json has {stated[name]} for {name}, it is {value}")


def check_map_ilsvrc_det(bundle: Bundle, rows: list[Row]) -> None:
    """The mAP by the metric of the champions, computed again."""
    result = published(bundle)
    if result["map_ilsvrc_det"] is None:
        raise NotChecked("an earlier version did not compute it")
    ap = _average_precisions(bundle, "ilsvrc-det", rows)
    need_same("result.json", result, {"map_ilsvrc_det": mean(ap.values())})


def check_score(bundle: Bundle) -> str:
    """The score is the mAP divided by the energy. Returns it in words."""
    result = published(bundle)
    energy = bundle.run["energy_wh"]
    score = None
    words = "none"
    if energy is not None and 0 < energy < math.inf:
        score = result["map"] / energy
        words = f"{score:.6g} = {result['map']:.6g} / {energy:.6g} Wh"
    need_same("result.json", result, {"energy_wh": energy, "score": score})
    return words


def check_judgements(bundle: Bundle) -> None:
    """Each judgement has its event, in the same order; the last one is that of the result."""
    if bundle.rules is None:
        raise NotChecked(NOT_BOUND)
    if not bundle.judgements:
        need(bundle.result is None, "that of the result is missing")
        need(not bundle.events_of("judged"), "there is none, but an event `judged`")
        raise NotChecked(NOT_JUDGED)

    events = bundle.events_of("judged")
    counts = f"there are {len(bundle.judgements)}, but {len(events)} events `judged`"
    need(len(events) == len(bundle.judgements), counts)
    for place, (judgement, event) in enumerate(zip(bundle.judgements, events, strict=True), start=1):
        _need_own_event(f"judgement {place}", judgement, event)
    if bundle.result is not None:
        stated = {name: bundle.judgements[-1][name] for name in ("judged_utc", *FIGURES)}
        need_same("result.json", bundle.result, stated)


def _need_own_event(what: str, judgement: Fields, event: Event) -> None:
    rules = judgement["rules"]
    expected = {name: judgement[name] for name in ("judged_utc", *FIGURES)}
    expected["rules_sha256"] = digest_of_rules(rules)
    need_same(f"the event of {what}", event.detail, expected)

    counts = "unserved-too" if rules["count_unserved"] else "served"
    told = {
        "metric": rules["metric"],
        "gt": rules["testset_digest"][:12],
        "counts": counts,
        "rules": str(rules["metric_version"]),
    }
    need_same(f"the signature of {what}", parts_of_signature(judgement["signature"]), told)


def parts_of_signature(signature: str) -> dict[str, str]:
    """The parts of a judgement's signature by name; of two with one name the first counts."""
    metric, *others = signature.split("|")
    parts = {"metric": metric}
    for one in others:
        name, _, value = one.partition(":")
        parts.setdefault(name, value)
    return parts


def check_rules(bundle: Bundle) -> None:
    """The run has what its rules say, and the published judgement is by these rules."""
    rules = bundle.rules
    if rules is None:
        raise NotChecked(NOT_BOUND)
    run = bundle.run
    need_same("run.json", run, {"testset_digest": rules["testset_digest"], "setup": rules["setup"]})
    need((run["extra_s"] or 0) == rules["extra_s"], "the run has another extra time")
    need(run["window_s"] == rules["window_s"] + rules["extra_s"], "the run has another window")
    images = rules["per_attempt"] or len(bundle.test_set["images"])
    need(run["images"] == images, f"the run has {run['images']} images, by its rules {images}")
    of_contest = {"metric": rules["metric"], "count_unserved": rules["count_unserved"]}
    need_same("the published judgement", bundle.contest, of_contest)
    if bundle.result is not None:
        expected = rules | {"testset_digest": bundle.test_set["digest"]}
        of_judgement = bundle.judgements[-1]["rules"]
        need_same("the published judgement", of_judgement, expected)
        need(of_judgement.keys() == expected.keys(), "the published judgement has other rules")


# Receipts


def check_receipts(bundle: Bundle, text: bytes | None) -> None:
    """What a team's client kept is in the bundle, as it was acknowledged."""
    if text is None:
        raise NotChecked("it needs --receipts")
    receipts = 0
    for place, line in enumerate(text.decode("utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        with about(f"line {place} of the file of receipts"):
            one = json.loads(line)
            _check_line(bundle, one)
        receipts += "number" in one or "closing" in one
    need(receipts, "the file holds no receipts")


def _check_line(bundle: Bundle, one: Fields) -> None:
    about = one.get("closing", one)
    need(about["run"] == bundle.run["id"], f"it is of run {about['run']}, not of {bundle.run['id']}")
    if "number" in one:
        _check_body_receipt(bundle, one)
    elif "closing" in one:
        _check_closing_receipt(bundle, one["closing"])
    else:
        _check_rules_line(bundle, one)


def _check_body_receipt(bundle: Bundle, one: Fields) -> None:
    form = one.get("form", 1)
    need(form in (1, 2), f"it is of form {form}: use a newer verifier")
    form_of_run = 1 if bundle.rules is None else 2
    need(form == form_of_run, f"it is of form {form}, the run of form {form_of_run}")

    number = one["number"]
    link = link_of_body(one, is_bound=form == 2)
    need(link == one["link"], f"that of body {number} does not have its own link: it was altered")
    need(0 < number <= len(bundle.posts), f"body {number} is missing in the bundle")
    names = ["number", "previous", "link", "received_utc", "accepted", "received_total", "sha256"]
    if form == 2:
        names += ["readings", "meter"]
    need_same(f"body {number}", bundle.posts[number - 1], {name: one[name] for name in names})


def _check_closing_receipt(bundle: Bundle, one: Fields) -> None:
    closings = bundle.events_of("closed")
    expected = {
        "posts": len(bundle.posts),
        "head": bundle.head,
        "log": closings[-1].link if closings else None,
        "public_key": bundle.key,
    }
    need_same("the closing receipt", one, expected)
    text = lines("lpirc-close-1", one["run"], one["posts"], one["head"], one["log"])
    need_signature(text.encode(), bytes.fromhex(one["signature"]), bytes.fromhex(one["public_key"]))


def _check_rules_line(bundle: Bundle, one: Fields) -> None:
    rules = one["rules"]
    digest = None if rules is None else digest_of_rules(rules)
    need(digest == one["rules_sha256"], "its rules do not have their own SHA-256: it was altered")
    need(digest == bundle.rules_sha256, "the run was armed with other rules")
