"""Computes a run's score by the rule that its chain binds. Written from docs/bundle.md alone."""

from __future__ import annotations

from verify_formats import NotChecked
from verify_records import Bundle, Fields

DEFAULT = "accuracy-per-wh"
WITHIN_LIMIT = "accuracy-within-limit"
ABOVE_IDLE = "accuracy-per-excess-wh"
OF_ENERGY = ("least-energy", "floors-then-energy")
"""Rules whose score is the energy itself."""


def rule_of(bundle: Bundle) -> Fields:
    """Return the rule of a run with its settings: the one of its rules, else accuracy over energy."""
    if bundle.rules is None:
        return {"name": DEFAULT}
    rule: Fields = bundle.rules.get("rule") or {"name": DEFAULT}
    return rule


def score_by_rule(
    bundle: Bundle, map_: float, energy: float
) -> tuple[float | None, str]:
    """Return the score of a run with this mAP and energy above 0, and its computation in words.

    Raises NotChecked for a rule that is not known here.
    """
    name = rule_of(bundle)["name"]
    if name == DEFAULT:
        score = map_ / energy
        return score, f"{score:.6g} = {map_:.6g} / {energy:.6g} Wh"
    if name == WITHIN_LIMIT:
        return map_, f"{map_:.6g}, the mAP"
    if name in OF_ENERGY:
        return energy, f"{energy:.6g} Wh, the energy"
    if name == ABOVE_IDLE:
        limit = None if bundle.result is None else bundle.result["energy_limit"]
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


def signed_rule(bundle: Bundle) -> list[str]:
    """Return the part of a result's signature for the rule; accuracy over energy has none."""
    rule = rule_of(bundle)
    if rule["name"] == DEFAULT:
        return []
    settings = {name: value for name, value in rule.items() if name != "name"}
    words = [f"{name}={settings[name]!r}" for name in sorted(settings)]
    return [f"rule:{','.join([rule['name'], *words])}"]
