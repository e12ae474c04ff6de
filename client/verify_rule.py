"""Computes a run's score by the rule that its chain binds. Written from docs/bundle.md alone."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext

from verify_formats import NotChecked
from verify_records import Bundle, Fields

DEFAULT = "accuracy-per-wh"
WITHIN_LIMIT = "accuracy-within-limit"
ABOVE_IDLE = "accuracy-per-excess-wh"
LEAST_ENERGY = "least-energy"
FLOORS = "floors-then-energy"
WITHOUT_LIMITS = (DEFAULT, FLOORS)
"""Rules that rank every run with a score."""


def rule_of(bundle: Bundle) -> Fields:
    """Return the rule of a run with its settings: the one of its rules, else accuracy over energy."""
    if bundle.rules is None:
        return {"name": DEFAULT}
    rule: Fields = bundle.rules.get("rule") or {"name": DEFAULT}
    return rule


def score_by_rule(
    bundle: Bundle, map_: float, energy: float, answered: int | None
) -> tuple[float | None, str]:
    """Return the score of a run with this mAP and energy above 0, and its computation in words.

    `answered` is the number of answered images, None for that of the bundle. Raises NotChecked for a rule that is not
    known here.
    """
    name = rule_of(bundle)["name"]
    limit = None if bundle.result is None else bundle.result.get("energy_limit")
    if name == DEFAULT:
        score = map_ / energy
        return score, f"{score:.6g} = {map_:.6g} / {energy:.6g} Wh"
    if name == WITHIN_LIMIT:
        return map_, f"{map_:.6g}, the mAP"
    if name == LEAST_ENERGY:
        return energy, f"{energy:.6g} Wh, the energy"
    if name == FLOORS:
        if answered is None:
            answered = _stated_answered(bundle)
        return _floors(bundle, map_, energy, limit or 0.0, answered)
    if name == ABOVE_IDLE:
        return _above_idle(bundle.run, map_, energy, limit or 0.0)
    raise NotChecked(f"this verifier does not know the rule {name}")


def _above_idle(
    run: Fields, map_: float, energy: float, limit: float
) -> tuple[float | None, str]:
    """Return the mAP divided by the energy less that of the idle board; None if nothing is left, or not known.

    `limit` is the largest error of the energy, relative to it: what is left must be more.
    """
    idle_w = run["idle_power_w"]
    elapsed_s = run["elapsed_s"]
    if idle_w is None or elapsed_s is None:
        return None, "none: the idle board was not measured"
    if not (idle_w >= 0 and elapsed_s >= 0):
        return None, "none: the idle board's power or the run's length is below 0"
    idle = idle_w * elapsed_s / 3600
    rest = energy - idle
    if rest > 0 and not rest > limit * energy:
        return None, f"none: {rest:.6g} Wh above idle are within the limit of error"
    if not rest > 0:
        return None, f"none: nothing of {energy:.6g} Wh is above the idle {idle:.6g} Wh"
    score = map_ / rest
    return score, f"{score:.6g} = {map_:.6g} / ({energy:.6g} - {idle:.6g}) Wh"


def _floors(
    bundle: Bundle,
    map_: float,
    energy: float,
    limit: float,
    answered: int,
) -> tuple[float | None, str]:
    """Return 100 / log2(joules), less below the floors of accuracy and speed.

    None without an answered image, without a length, or if the joules may be 1 or less.
    """
    rule = rule_of(bundle)
    images = bundle.run["images"]
    elapsed_s = bundle.run["elapsed_s"]
    if not answered:
        return None, "none: no image is answered"
    if elapsed_s is None or not elapsed_s > 0:
        return None, "none: the length of the run is not known"

    joules = energy * 3600
    if answered < images:
        joules = joules * images / answered
    if not joules - limit * joules > 1:
        return None, f"none: {joules:.6g} J are not above 1 J, or may not be"

    missing = max(rule["least_accuracy"] - map_, 0)
    of_accuracy = max(1 - 5 * missing, 0.1)
    speed = answered / elapsed_s
    of_speed = min(speed / rule["least_images_per_s"], 1)
    score = 100 / _log2(joules) * of_accuracy * of_speed
    words = f"100 / log2({joules:.6g} J) x {of_accuracy:.6g} x {of_speed:.6g}"
    return score, f"{score:.6g} = {words}"


def _log2(value: float) -> float:
    """Return the binary logarithm as the double nearest to it: `math.log2` is not the same everywhere."""
    with localcontext(prec=50):
        return float(Decimal(value).ln() / Decimal(2).ln())


def _stated_answered(bundle: Bundle) -> int:
    """Return the number of answered images that the bundle states. Raises NotChecked if it states none."""
    for check in json.loads(bundle.texts["checks.json"]):
        if check["code"] == "contest-rule":
            stated: int = check["figures"]["images_answered"]
            return stated
    raise NotChecked("the number of its answered images is not in checks.json")


def signed_rule(bundle: Bundle) -> list[str]:
    """Return the part of a result's signature for the rule; accuracy over energy has none."""
    rule = rule_of(bundle)
    if rule["name"] == DEFAULT:
        return []
    settings = {name: value for name, value in rule.items() if name != "name"}
    words = [f"{name}={settings[name]!r}" for name in sorted(settings)]
    return [f"rule:{','.join([rule['name'], *words])}"]
