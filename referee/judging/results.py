"""What is published of runs: their figures, documents, standings and meetings.

The command line, the pages, the exports and the bundles all show these values; none of them computes its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from lpirc_power.energy import above_idle_wh
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.bound_rules import as_judged, judged_otherwise, other_prizes
from referee.judging.checks import is_scorable
from referee.judging.leaderboard import RULES, Place, Standing, head_to_head, rank
from referee.judging.prizes import Award, awards
from referee.judging.uncertainty import resampled
from referee.scoring.bootstrap import BOOTSTRAP_METRICS
from referee.scoring.interval import Resampled
from referee.scoring.result import DIGEST_LENGTH, RULES_VERSION, score, signature_parts
from referee.store.records import Review, Run, RunState, Score


def current_judgement(contest: Contest, run: Run) -> Score | None:
    """The run's judgement, or None before there is one for the energy of record: that may be read after judging."""
    judged = contest.store.latest_score(run.id)
    return judged if judged is not None and judged.energy_wh == run.energy_wh else None


@dataclass(frozen=True)
class Figures:
    """What is known of a run: `energy_wh` of record unless it is open, the rest provisional unless it is `judged`.

    `provisional_utc` is when the figures of an open run were computed. `reviewed` is the note with which an operator
    let the run stand, `not_ranked` says why a judged run has no rank.
    """

    energy_wh: float | None
    map: float | None
    score: float | None
    needs_review: bool | None
    judged: bool
    refused: int = 0  # rows
    provisional_utc: str | None = None
    reviewed: str | None = None
    not_ranked: str | None = None


def figures_of(contest: Contest, run: Run) -> Figures:
    """The figures of a run: as judged, else as far as they are known.

    Once a run is closed, its energy is that of record, not the one published while it was open.
    """
    judged, refused = current_judgement(contest, run), contest.store.count_refused(run.id)
    if judged is not None:
        review = standing_review(judged, contest.store.latest_reviews().get(run.id))
        return Figures(
            run.energy_wh,
            judged.map,
            judged.score,
            judged.needs_review and review is None,
            judged=True,
            refused=refused,
            reviewed=None if review is None else review.note,
            not_ranked=below_least_map(as_judged(contest, run).config.least_map, judged.map),
        )
    provisional = contest.store.provisional(run.id)
    reached = None if provisional is None else provisional.map
    energy_wh, utc = run.energy_wh, None
    if run.state is RunState.OPEN and provisional is not None:
        energy_wh, utc = provisional.energy_wh, provisional.utc
    scored = score(reached, energy_wh) if reached is not None and is_scorable(energy_wh) else None
    return Figures(energy_wh, reached, scored, None, judged=False, refused=refused, provisional_utc=utc)


def power_course(contest: Contest, run: Run, most: int) -> dict[str, list[float]]:
    """The course of a run's power as pages draw it: at most `most` means over its window, `elapsed_s` and `power_w`."""
    elapsed_s, power_w = contest.store.power_course(run.id, run.window_s, most)
    return {"elapsed_s": [round(one, 1) for one in elapsed_s], "power_w": [round(one, 3) for one in power_w]}


def standing_review(judged: Score, review: Review | None) -> Review | None:
    """The review, if it covers every check that this judgement failed: judged again, a run may need another one."""
    failed = _failed(judged)
    return review if review is not None and failed and {*failed} <= {*review.codes} else None


def let_stand(contest: Contest, number: int, operator: str, note: str, now: datetime) -> Review:
    """Keep that a judged run stands although checks of it failed. Raises RefereeError `run-unknown`, `run-state`."""
    run = contest.store.run(number)
    judged = current_judgement(contest, run) if run.state is RunState.JUDGED else None
    if judged is None:
        sentence = f"Run {number} is {run.state}, not judged as it stands; only a judged run can be reviewed."
        raise RefereeError("run-state", sentence, run=number)
    if not (codes := _failed(judged)):
        raise RefereeError("run-state", f"Run {number} needs no review: no check of it failed.", run=number)
    review = Review(operator, note, now.isoformat(), codes)
    contest.store.add_review(number, review)
    return review


def _failed(judged: Score) -> tuple[str, ...]:
    return tuple(check.code for check in judged.checks if not check.ok and check.severity == "error")


def below_least_map(least: float | None, reached: float) -> str | None:
    """Why a run with this mAP is not ranked; None if the contest's `least` mAP does not forbid it."""
    return f"its mAP {reached:.5f} is below least_map {least:g}" if least and reached < least else None


def energy_above_idle_wh(run: Run, judged: Score) -> float | None:
    """The energy that the run took beyond that of the idle board; None where it is not known."""
    if judged.energy_wh is None or run.idle_power_w is None or run.elapsed_s is None:
        return None
    if judged.mean_power_w is None:  # the energy is not of the window alone
        return None
    return above_idle_wh(judged.energy_wh, run.idle_power_w, run.elapsed_s)


def run_document(run: Run) -> dict[str, Any]:
    """The JSON document of a run as it is stored."""
    return asdict(run) | {"official": run.official}


def score_document(run: Run, judged: Score) -> dict[str, Any]:
    """The JSON document of a judged run; figures that do not exist are null."""
    return {
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
        "checks": [
            asdict(check) | {"figures": {name: _finite(value) for name, value in check.figures.items()}}
            for check in judged.checks
        ],
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


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class LeftOut:
    """A judged run that has no place: it has no score, or was `judged_by` (a signature) other rules than today's.

    Those of its arming are such rules, too, where contest.toml was changed since: a board compares like with like.
    """

    run: int
    team: str
    judged_by: str | None


@dataclass(frozen=True)
class Standings:
    """The leaderboard, best first, the judged runs that are not on it, and the prizes.

    `unranked` are the runs below the contest's `least_map`, best score first: they are shown.
    """

    places: tuple[Place, ...]
    left_out: tuple[LeftOut, ...]
    unranked: tuple[Place, ...] = ()
    awards: tuple[Award, ...] = ()


def standings(contest: Contest, instead: Mapping[int, Score] | None = None) -> Standings:
    """Rank the teams by their best run that has a score by the contest's present rules. Void runs are ignored.

    `instead`, by run, takes the place of what is stored, whatever metric and ground truth it is by: the board as it
    would be.
    """
    instead = instead or {}
    found: list[Standing] = []
    maps: dict[int, Resampled | None] = {}
    left_out: list[LeftOut] = []
    least: dict[int, float | None] = {}
    reviews = contest.store.latest_reviews()
    for run in contest.store.runs(RunState.JUDGED):
        judged = instead.get(run.id) or contest.store.latest_score(run.id)
        if judged is None or judged.score is None or judged.energy_wh is None:
            left_out.append(LeftOut(run.id, run.team, None))
        elif run.contest_window_s != contest.config.window_s or (
            run.id not in instead and not _is_comparable(contest, run, judged)
        ):
            left_out.append(LeftOut(run.id, run.team, judged.signature))
        else:
            review = standing_review(judged, reviews.get(run.id))
            least[run.id] = as_judged(contest, run).config.least_map
            standing = standing_of(run, judged, judged.score, judged.energy_wh, review)
            others = standing.other_rules + other_prizes(contest.config, run)
            found.append(replace(standing, other_rules=others))
            maps[run.id] = None if run.id in instead else resampled(contest, run, judged)
    found.sort(key=lambda one: (-one.score, one.run))
    shown = [
        Place(
            None,
            one,
            differs=one.other_rules,
            not_ranked=below_least_map(least[one.run], one.map),
        )
        for one in found
    ]
    places = rank([one.standing for one in shown if not one.not_ranked], maps)
    won = awards(contest.config.prizes, [place.standing for place in places])
    return Standings(places, tuple(left_out), tuple(one for one in shown if one.not_ranked), won)


class KnownStandings:
    """The standings for a caller who asks often: computed again when a judgement or a review has changed."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._found: tuple[object, Standings] | None = None

    def now(self) -> Standings:
        """The standings by contest.toml as it was read."""
        store = self._contest.store
        made_of = store.runs(RunState.JUDGED), store.judgement_mark()
        if self._found is None or self._found[0] != made_of:
            self._found = made_of, standings(self._contest)
        return self._found[1]


def place_document(place: Place) -> dict[str, Any]:
    """The JSON document of a place on the leaderboard."""
    level_with = [{"team": team, "chance": chance} for team, chance in place.level_with]
    remarks = {"level_with": level_with, "differs": list(place.differs), "not_ranked": place.not_ranked}
    remarks["other_rules"] = list(place.standing.other_rules)
    return {"rank": place.rank} | asdict(place.standing) | remarks


def standing_of(run: Run, judged: Score, per_wh: float, energy_wh: float, review: Review | None) -> Standing:
    """A judged run that has a score, as the leaderboard shows it; `review` is the one that covers what failed."""
    interval, parts = judged.interval, signature_parts(judged.signature)
    return Standing(
        team=run.team,
        run=run.id,
        score=per_wh,
        score_low=interval.score_low if interval else None,
        score_high=interval.score_high if interval else None,
        map=judged.map,
        map_ilsvrc_det=judged.map_ilsvrc_det,
        energy_wh=energy_wh,
        needs_review=judged.needs_review and review is None,
        signature=judged.signature,
        complete=RULES in parts and (interval is not None or parts["metric"] not in BOOTSTRAP_METRICS),
        official=run.official,
        extra_s=run.extra_s,
        reviewed=None if review is None else review.note,
        rules_sha256=None if run.rules is None else run.rules.sha256,
        other_rules=judged_otherwise(run, judged),
    )


def _is_comparable(contest: Contest, run: Run, judged: Score) -> bool:
    """Whether a score was made by the contest's metric and today's scoring rules, on its test set."""
    parts, config = signature_parts(judged.signature), contest.config
    same_rules = parts["metric"] == config.metric and parts.get(RULES) in (None, str(RULES_VERSION))
    # Not the set that the run was armed with: its ground truth may have been corrected since.
    judged_on = parts.get("gt", run.testset_digest[:DIGEST_LENGTH])
    same_set = judged_on == contest.test_set.digest[:DIGEST_LENGTH]
    return same_rules and same_set


@dataclass(frozen=True)
class Side:
    """One run of a meeting, its figures and points."""

    run: Run
    figures: Figures
    points: int


@dataclass(frozen=True)
class Meeting:
    """Two judged runs of different teams; `one_heat`: they started together."""

    sides: tuple[Side, Side]
    one_heat: bool


def meeting(contest: Contest, first: int, second: int) -> Meeting:
    """Decide between two runs: 2 points for the higher score, 1 each for a tie; below `least_map` a score is none.

    Raises RefereeError `run-unknown`, `not-opponents` (of one team), `run-state` (not judged, or void), and
    `energy-missing` where the energy may still be read.
    """
    one, other = contest.store.run(first), contest.store.run(second)
    if one.team == other.team:
        sentence = f"Runs {first} and {second} are both of {one.team}; name the run of another team."
        raise RefereeError("not-opponents", sentence)
    figures = _decided(contest, one), _decided(contest, other)
    points = head_to_head(*(None if each.not_ranked else each.score for each in figures))
    sides = Side(one, figures[0], points[0]), Side(other, figures[1], points[1])
    return Meeting(sides, one_heat=one.heat is not None and one.heat == other.heat)


def _decided(contest: Contest, run: Run) -> Figures:
    figures = figures_of(contest, run)
    if run.state is RunState.VOID:
        raise RefereeError("run-state", f"Run {run.id} is void: {run.void_reason}; name another run.")
    if run.state in (RunState.ARMED, RunState.OPEN):
        raise RefereeError("run-state", f"Run {run.id} is {run.state}; wait until it is over and judged.")
    if run.state is not RunState.JUDGED or not figures.judged:
        sentence = f"Run {run.id} is not judged as it stands; see: referee judge {run.id}"
        raise RefereeError("run-state", sentence)
    if figures.energy_wh is None:
        why = f"run {run.id} of {run.team} has no energy; see: referee run show {run.id}"
        raise RefereeError("energy-missing", f"The meeting is not decided: {why}")
    return figures
