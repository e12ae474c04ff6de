"""The figures of a run as all readers see them, judged or provisional, with their JSON documents and the run's reviews.

The command line, the pages, the exports and the bundles all show these values; none of them computes its own.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from lpirc_power.energy import Check, above_idle_wh
from lpirc_score.metrics.contest_score import score
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of_scorer
from lpirc_testsets.truth_marks import NO_TRUTH_CLAUSE
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.bound_rules import (
    as_judged,
    has_provisional_score,
    judged_otherwise,
)
from referee.judging.figure_freshness import state_of
from referee.judging.figure_state import FigureState, judged_state
from referee.judging.ranking import (
    FailedCheck,
    NotRanked,
)
from referee.judging.rule_checks import CONTEST_RULE
from referee.judging.run_checks import is_scorable
from referee.store.acts import Act
from referee.store.records import (
    IMAGES_SEEN,
    Review,
    Run,
    RunState,
    Score,
)


def current_judgement(contest: Contest, run: Run) -> Score | None:
    """Return a run's latest judgement if it used the run's final energy, else None.

    That energy may be read after judging; the run must then be judged again.
    """
    judged = contest.store.scores.latest(run.id)
    return judged if judged is not None and judged.energy_wh == run.energy_wh else None


@dataclass(frozen=True)
class Figures:
    """The figures of a run.

    `energy_wh` is final unless the run is open; the other figures are provisional unless `judged`.

    `provisional_utc` is the time of an open run's figures, `figure_state` says whether they are current. There is a
    score only if the figures are fresh or judged. `reviewed` is the note with which an operator accepted the run.
    `not_ranked` says why a judged run has no rank, `not_ranked_code` is the reason as a code for programs.
    `images_seen` is how many of its images were served to earlier runs of its team, according to its judgement.
    """

    energy_wh: float | None
    map: float | None
    score: float | None
    needs_review: bool | None
    judged: bool
    figure_state: FigureState | None = None
    refused: int = 0  # rows
    provisional_utc: str | None = None
    reviewed: str | None = None
    not_ranked: str | None = None
    not_ranked_code: NotRanked | None = None
    images_seen: int = 0

    @property
    def remarks(self) -> dict[str, Any]:
        """Return the values of a judged run's JSON document that are not in its judgement."""
        names = ("reviewed", "not_ranked", "not_ranked_code", "images_seen")
        return {name: getattr(self, name) for name in names}


def figures_of(
    contest: Contest,
    run: Run,
    now: datetime,
) -> Figures:
    """Return the figures of a run: the judged ones, else those known at `now`, UTC.

    Once a run is closed, its energy is the final one, not the one published while it was open.
    """
    judged = current_judgement(contest, run)
    if judged is not None:
        return judged_figures(contest, run, judged)
    provisional = contest.store.provisional.of_run(run.id)
    reached = None if provisional is None else provisional.map
    energy_wh = run.energy_wh
    utc = None
    if run.state is RunState.OPEN and provisional is not None:
        energy_wh = provisional.energy_wh
        utc = provisional.utc
    state = state_of(contest.store, run, now)
    scored = None
    is_fresh = state is FigureState.FRESH and has_provisional_score(run)
    if is_fresh and reached is not None and is_scorable(energy_wh):
        scored = score(reached, energy_wh)
    return Figures(
        energy_wh,
        reached,
        scored,
        None,
        judged=False,
        figure_state=state,
        refused=contest.store.posts.count_refused(run.id),
        provisional_utc=utc,
    )


def judged_figures(
    contest: Contest,
    run: Run,
    judged: Score,
) -> Figures:
    """Return the figures of a run from its current judgement."""
    review = standing_review(judged, contest.store.reviews.latest().get(run.id))
    is_in_review = judged.needs_review and review is None
    code, reason = why_not_ranked(
        judged,
        review,
        as_judged(contest, run).config.least_map,
    )
    if run.state is RunState.VOID:  # nothing is left to say about its rank
        code = None
        reason = None
    return Figures(
        run.energy_wh,
        judged.map,
        judged.score,
        is_in_review,
        judged=True,
        figure_state=judged_state(needs_review=is_in_review),
        refused=contest.store.posts.count_refused(run.id),
        reviewed=None if review is None else review.note,
        not_ranked=reason,
        not_ranked_code=code,
        images_seen=images_seen(judged),
    )


def power_course(
    contest: Contest,
    run: Run,
    most: int,
) -> dict[str, list[float]]:
    """Return a run's power curve for pages: `elapsed_s` and mean `power_w`, at most `most` values."""
    elapsed_s, power_w = contest.store.readings.power_course(run.id, run.window_s, most)
    return {
        "elapsed_s": [round(one, 1) for one in elapsed_s],
        "power_w": [round(one, 3) for one in power_w],
    }


def standing_review(judged: Score, review: Review | None) -> Review | None:
    """Return the review if it covers every failed check of this judgement, else None.

    A run that is judged again may need another review.
    """
    failed = {one.code for one in failed_checks(judged)}
    return (
        review if review is not None and failed and failed <= {*review.codes} else None
    )


def let_stand(
    contest: Contest,
    number: int,
    operator: str,
    note: str,
    now: datetime,
    act: Act | None = None,
) -> Review:
    """Store a review that accepts a judged run despite failed checks.

    Raises RefereeError `run-unknown`, `run-state`.
    """
    run = contest.store.runs.get(number)
    judged = current_judgement(contest, run) if run.state is RunState.JUDGED else None
    if judged is None:
        sentence = f"Run {number} is {run.state} and has no current judgement; only a judged run can be reviewed."
        raise RefereeError("run-state", sentence, run=number)
    if not (codes := tuple(one.code for one in failed_checks(judged))):
        raise RefereeError(
            "run-state",
            f"Run {number} needs no review: none of its checks failed.",
            run=number,
        )
    review = Review(operator, note, now.isoformat(), codes)
    contest.store.reviews.add(number, review, act)
    return review


def why_not_ranked(
    judged: Score,
    review: Review | None,
    least_map: float | None,
) -> tuple[NotRanked | None, str | None]:
    """Return why a judged run has no rank, as a code and a clause; (None, None) if it may have a rank.

    `review` is the review that covers the failed checks. A run below `least_map`, or outside a
    limit of its rule, stays unranked, even with a review.
    """
    if judged.map is None:
        return NotRanked.NO_TRUTH, NO_TRUTH_CLAUSE
    if least_map and judged.map < least_map:
        scored_by = signature_parts(judged.signature)["metric"]
        return (
            NotRanked.BELOW_LEAST_MAP,
            f"its {words_of_scorer(scored_by).accuracy} {judged.map:.5f} is below least_map {least_map:g}",
        )
    outside = why_outside_rule(judged)
    if outside is not None:
        return NotRanked.OUTSIDE_RULE, outside
    if judged.score is None or review is not None or not judged.needs_review:
        return None, None
    failed = "; ".join(
        f"{one.code} failed ({one.sentence.rstrip('.')})"
        for one in failed_checks(judged)
    )
    return NotRanked.IN_REVIEW, f"it is in review until an operator decides: {failed}"


def why_outside_rule(judged: Score) -> str | None:
    """Return the clause that says why a judged run is not ranked by its rule, or None."""
    found = (one for one in judged.checks if one.code == CONTEST_RULE and not one.ok)
    return next((one.sentence for one in found), None)


def failed_checks(judged: Score) -> tuple[FailedCheck, ...]:
    """Return the checks because of which a run needs review."""
    failed = (
        check for check in judged.checks if not check.ok and check.severity == "error"
    )
    return tuple(FailedCheck(check.code, check.sentence) for check in failed)


def images_seen(judged: Score) -> int:
    """Return how many of a run's images had been served to earlier runs of its team, void ones included."""
    noted = (
        check.figures["images"] for check in judged.checks if check.code == IMAGES_SEEN
    )
    return int(next(noted, 0) or 0)


def energy_above_idle_wh(run: Run, judged: Score) -> float | None:
    """Return the energy of a run above that of the idle board, or None if it is unknown."""
    if judged.energy_wh is None or run.idle_power_w is None or run.elapsed_s is None:
        return None
    if judged.mean_power_w is None:  # the energy is not that of the window only
        return None
    return above_idle_wh(judged.energy_wh, run.idle_power_w, run.elapsed_s)


def run_document(run: Run) -> dict[str, Any]:
    """Return the JSON document of a stored run."""
    document = asdict(run) | {"official": run.official}
    for name in ("task", "rule"):  # as before there were any
        if run.rules is not None and getattr(run.rules, name) is None:
            del document["rules"][name]
    return document


def score_document(run: Run, judged: Score) -> dict[str, Any]:
    """Return the JSON document of a judged run; figures that do not exist are null."""
    of_task: dict[str, Any] = {}
    if run.task != BOXES:
        of_task = {"task": run.task, "others": judged.others}
    return of_task | {
        "run": run.id,
        "team": run.team,
        "metric": signature_parts(judged.signature)["metric"],
        "map": judged.map,
        "map_ilsvrc_det": judged.map_ilsvrc_det,
        "energy_wh": judged.energy_wh,
        "score": judged.score,
        "official": run.official,
        "idle_power_w": run.idle_power_w,
        "energy_above_idle_wh": energy_above_idle_wh(run, judged),
        "images": judged.images,
        "detections": judged.detections,
        "elapsed_s": run.elapsed_s,
        "mean_power_w": judged.mean_power_w,
        "energy_limit": judged.energy_limit,
        "energy_known_by": judged.energy_known_by,
        "energy_budget": judged.energy_budget,
        "checks": [_check_document(check) for check in judged.checks],
        "needs_review": judged.needs_review,
        "interval": None if judged.interval is None else asdict(judged.interval),
        "ap": {str(category): ap for category, ap in judged.ap.items()},
        "window_s": run.window_s,
        "closed_by": run.closed_by,
        "meter": run.meter_identity,
        "meter_setup": asdict(run.setup),
        "signature": judged.signature,
        "rules_sha256": None if run.rules is None else run.rules.sha256,
        "other_rules": list(judged_otherwise(run, judged)),
    }


def _check_document(check: Check) -> dict[str, Any]:
    figures = {name: _finite(value) for name, value in check.figures.items()}
    return asdict(check) | {"figures": figures}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
