"""The figures that others than operators learn: rounded, so that they reveal little of the ground truth.

Those of a run that is not judged yet are also released seldom, over a secret half of its images. A figure that changes
with each row is an oracle: a team that asks often enough learns the ground truth (docs/security.md has measurements).
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score import score
from referee.contest import Contest
from referee.contest_rules import DEFAULT, ContestRule
from referee.contest_rules.floors_then_energy import (
    PRINTED_DIGITS,
    FloorsThenEnergy,
)
from referee.judging.bound_rules import has_provisional_score, rule_of
from referee.judging.figure_freshness import state_of
from referee.judging.figure_state import FigureState
from referee.judging.jury_decisions import is_published
from referee.judging.run_checks import is_scorable
from referee.judging.run_figures import current_judgement, judged_figures
from referee.store.records import Released, Run, RunState, Score

EVERY_S = 30.0
"""An open run's window is divided into parts of this length; at most one release per part, none in the first."""

MAP_DIGITS = 2
"""Decimal places of a released mAP.

Significant digits would show a small mAP more finely, which would again be an oracle.
"""

SCORE_DIGITS = 2
"""Significant digits of a released score."""

MAPS = ("map", "map_ilsvrc_det")
OTHERS = "others"
"""The further figures of a task, by name; they are rounded as its accuracy is."""
SCORES = ("score", "score_low", "score_high")
PUBLISHED_MAP_DIGITS = 5
"""Decimal places of a published mAP, as pages show it."""
PUBLISHED_SCORE_DIGITS = 4
"""Decimal places of a published score, as pages show it; fewer for a small energy."""
CHANCE_DIGITS = 3
"""Decimal places of the chance that two teams are ordered rightly, a percentage with one place."""
LEAST_WH = 0.1
"""From this energy on, a published score reveals no more of the mAP than the published mAP does."""
OF_AWARD = {"best-score": "score", "least-energy": "energy_wh", "highest-map": "map"}
BARS_OF_MAP = ("least-energy",)


def half_of(
    secret: bytes,
    run: Run,
    order: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return half of a run's images, rounded up, by their numbers in the test set, ascending.

    The half is drawn from the contest's secret and the run, so it is the same after a restart.
    """
    digest = hmac.digest(
        secret,
        f"half of run {run.id} {run.nonce}".encode(),
        hashlib.sha256,
    )
    drawn = np.random.default_rng(list(digest)).permutation(np.sort(order))
    return np.sort(drawn[: (len(order) + 1) // 2])


def is_due(
    run: Run,
    before: Released | None,
    now: datetime,
) -> bool:
    """Return True if new figures of an open run may be released `now`; `before` are the last released ones."""
    part = _part(run, now)
    if part is None or part < 1:
        return False
    if before is None:
        return True
    released = _part(run, datetime.fromisoformat(before.released_utc))
    return released is not None and released < part


def _part(run: Run, moment: datetime) -> int | None:
    """Return the number, from 0, of the part of EVERY_S seconds since the run opened that contains `moment`."""
    if run.opened_utc is None:
        return None
    return int(
        (moment - datetime.fromisoformat(run.opened_utc)).total_seconds() // EVERY_S
    )


def rough_map(value: float | None) -> float | None:
    """Return an mAP rounded to the released digits, None if there is none."""
    return None if value is None else round(value, MAP_DIGITS)


def rough_score(released_map: float | None, energy_wh: float | None) -> float | None:
    """Return the score computed from the released mAP, so that it reveals no more about the true mAP."""
    if released_map is None or not is_scorable(energy_wh):
        return None
    return float(f"{score(released_map, energy_wh):.{SCORE_DIGITS - 1}e}")


def release_of(
    run: Run,
    half_map: float | None,
    energy_wh: float | None,
    detections: int,
    *,
    utc: str,
    now: datetime,
) -> Released:
    """Return the record of a release at `now`, of figures as they were at `utc`."""
    shown = rough_map(half_map)
    return Released(
        run=run.id,
        released_utc=now.isoformat(),
        utc=utc,
        map=shown,
        energy_wh=energy_wh,
        score=rough_score(shown, energy_wh) if has_provisional_score(run) else None,
        detections=detections,
    )


def is_last(
    run: Run,
    before: Released | None,
    detections: int,
) -> bool:
    """Return True if the run has ended and its last figures have been released."""
    if run.state is RunState.OPEN or before is None:
        return False
    return (before.energy_wh, before.detections) == (run.energy_wh, detections)


def released_of(
    contest: Contest,
    run: Run,
    now: datetime,
) -> Released | None:
    """Return the released figures of a run that has opened; None before the first release.

    Until its judgement is public, these are the last released figures, without energy and score unless they are fresh
    at `now`. After that they are the judged figures of all images, rounded in the same way.
    """
    judged = public_judgement(contest, run)
    if judged is not None:
        utc = judged.judged_utc
        shown = rough_map(judged.map)
        rough = _rough_judged(run, judged)
        return Released(
            run.id,
            utc,
            utc,
            shown,
            judged.energy_wh,
            rough,
            judged.detections,
        )
    released = contest.store.provisional.released(run.id)
    if released is None or state_of(contest.store, run, now) is FigureState.FRESH:
        return released
    return replace(released, energy_wh=None, score=None)


def _rough_judged(run: Run, judged: Score) -> float | None:
    """Return the score of a judgement, rounded as the figures that are released before it."""
    shown = rough_map(judged.map)
    rule = rule_of(run)
    if rule == DEFAULT:
        return rough_score(shown, judged.energy_wh)
    value = judged.score
    if value is None or shown is None or judged.map is None:
        return None
    if rule.is_of_accuracy:
        value *= shown / judged.map if judged.map > 0 else 0.0
    return float(f"{value:.{SCORE_DIGITS - 1}e}")


def public_judgement(contest: Contest, run: Run) -> Score | None:
    """Return a run's current judgement if others than operators may see it, else None."""
    if not is_published(contest, run.id):
        return None
    return current_judgement(contest, run)


def public_state(
    contest: Contest,
    run: Run,
    now: datetime,
) -> FigureState | None:
    """Return the state of a run's figures as others than operators may know it."""
    judged = public_judgement(contest, run)
    if judged is not None:
        return judged_figures(contest, run, judged).figure_state
    return state_of(contest.store, run, now)


def released_document(
    contest: Contest,
    run: Run,
    now: datetime,
) -> dict[str, Any] | None:
    """Return the released figures of a run as its team sees them, with their age and state; None if there are none."""
    released = released_of(contest, run, now)
    if released is None:
        return None
    age = now - datetime.fromisoformat(released.utc)
    state = public_state(contest, run, now)
    return asdict(released) | {"age_s": age.total_seconds(), "figure_state": state}


def published_figures(value: Any, rule: ContestRule = DEFAULT) -> Any:
    """Return a document of results with mAP, score and chance rounded as they are published; `rule` made the scores.

    A score with fewer decimal places than usual has their number beside it, as `score_digits`: its zeros are no digits.
    Ranks, prizes and points are decided before, on the exact figures.
    """
    if isinstance(value, list):
        return [published_figures(one, rule) for one in value]
    if not isinstance(value, dict):
        return value
    places: dict[str, int | None] = dict.fromkeys(MAPS, PUBLISHED_MAP_DIGITS)
    of_score = _score_digits(value, rule)
    places |= dict.fromkeys(SCORES, of_score)
    places["chance"] = CHANCE_DIGITS
    found: dict[str, Any] = {}
    for name, one in value.items():
        if name == OTHERS and one is not None:
            found[name] = _rounded(one)
            continue
        if name in places and isinstance(one, float):
            digits = places[name]
            found[name] = one if digits is None else round(one, digits)
        else:
            found[name] = published_figures(one, rule)
    is_short = of_score is not None and of_score < PUBLISHED_SCORE_DIGITS
    if is_short and isinstance(value.get("score"), float):
        found["score_digits"] = of_score
    return found


def _rounded(others: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, PUBLISHED_MAP_DIGITS) for name, value in others.items()}


def published_awards(
    awards: Sequence[Mapping[str, Any]],
    ranking: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the documents of awards with the published figure of the best team; `ranking` has published figures."""
    of_team = {place["team"]: place for place in ranking}
    found = []
    for award in awards:
        value = award["value"]
        bar = award["bar"]
        if value is not None:
            value = of_team[award["teams"][0]][OF_AWARD[award["rule"]]]
        if bar is not None and award["rule"] in BARS_OF_MAP:
            bar = round(bar, PUBLISHED_MAP_DIGITS)
        found.append({**award, "value": value, "bar": bar})
    return found


def _score_digits(value: Mapping[str, Any], rule: ContestRule) -> int | None:
    """Return the decimal places of a score in a document; None: not rounded, since it is the energy itself."""
    if rule.quantity == "energy":
        return None
    if rule.quantity == "map":
        return PUBLISHED_MAP_DIGITS
    energy_wh = value.get("energy_wh")
    if not isinstance(energy_wh, (int, float)):
        energy_wh = None  # unknown, or the course of a run
    if isinstance(rule, FloorsThenEnergy):
        return _digits_above_floors(rule, energy_wh)
    if rule.quantity is None and energy_wh is not None:
        energy_wh = min(energy_wh, _divided_by(value) or energy_wh)
    return published_score_digits(energy_wh)


def _digits_above_floors(rule: FloorsThenEnergy, energy_wh: float | None) -> int:
    """Return the decimal places of a score of which a part may be the accuracy: as the contest printed, or fewer."""
    if energy_wh is None:
        return PRINTED_DIGITS
    of_a_point = rule.accuracy_of_a_point(energy_wh)
    if of_a_point is None:
        return 0
    return min(PRINTED_DIGITS, published_score_digits(of_a_point))


def _divided_by(value: Mapping[str, Any]) -> float | None:
    """Return by what the mAP of a document was divided to get its score; None if that is not known."""
    reached = value.get("map")
    its_score = value.get("score")
    if not isinstance(reached, float) or not isinstance(its_score, float):
        return None
    return reached / its_score if reached > 0 and its_score > 0 else None


def published_score_digits(energy_wh: float | None) -> int:
    """Return the decimal places of a published score, so that score times energy is no finer than a published mAP."""
    if not energy_wh or energy_wh >= LEAST_WH:
        return PUBLISHED_SCORE_DIGITS
    return PUBLISHED_SCORE_DIGITS + math.floor(math.log10(energy_wh / LEAST_WH))
