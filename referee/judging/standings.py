"""The standings of a contest: its ranking, the runs without a rank, the runs left out, and the prizes."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lpirc_score.analysis.interval import Halved
from lpirc_score.metrics.evaluation_result import (
    DIGEST_LENGTH,
    signature_parts,
)
from lpirc_testsets.truth_marks import NO_TRUTH_CLAUSE
from referee.contest import Contest
from referee.contest_rules import DEFAULT, ContestRule
from referee.judging.bound_rules import (
    as_judged,
    judged_otherwise,
    other_prizes,
    rules_version,
    signed_rule,
)
from referee.judging.figure_state import judged_state
from referee.judging.jury_decisions import NOT_PUBLISHED, unpublished
from referee.judging.prizes import Award, awards
from referee.judging.ranking import (
    RULES,
    Place,
    Standing,
    rank,
)
from referee.judging.run_figures import (
    failed_checks,
    images_seen,
    standing_review,
    why_not_ranked,
    why_outside_rule,
)
from referee.judging.score_uncertainty import energy_spread_of, halved
from referee.store.records import (
    HALF_SAMPLING,
    Review,
    Run,
    RunState,
    Score,
)


@dataclass(frozen=True)
class LeftOut:
    """A judged run without a place: it has no score, was judged by other rules than those of contest.toml, or waits.

    A run waits if its judgement `is_unpublished`; whether it has a score is not public.

    `no_score` is the clause by which its rule gives it no score.

    `judged_by` is the signature of such a judgement. A run judged by its rules at arming is left out, too, if
    contest.toml was changed later: a board compares like with like.
    """

    run: int
    team: str
    judged_by: str | None
    is_unpublished: bool = False
    lacks_truth: bool = False
    no_score: str | None = None

    @property
    def why(self) -> str:
        """Return the reason as a clause."""
        if self.is_unpublished:
            return NOT_PUBLISHED
        if self.lacks_truth:
            return NO_TRUTH_CLAUSE
        if self.judged_by is None:
            return self.no_score or "it has no score"
        return "it was judged by other rules or settings than contest.toml has now"


@dataclass(frozen=True)
class Standings:
    """The leaderboard, best first, the judged runs that are not on it, and the prizes.

    `unranked` are the runs in review, below `least_map` or outside a limit of the rule, best score first.
    They are shown, but are ignored for
    ranks, for prizes and for the conditions of prizes. `known` has, by run, what decides how certain
    the order of two runs is. `attempts` are all judged runs with a score by the contest's present rules, best score
    first, ranked or not.
    """

    places: tuple[Place, ...]
    left_out: tuple[LeftOut, ...]
    unranked: tuple[Place, ...] = ()
    awards: tuple[Award, ...] = ()
    known: Mapping[int, Halved | None] = field(default_factory=dict, compare=False)
    attempts: tuple[Standing, ...] = ()
    rule: ContestRule = DEFAULT


def standings(
    contest: Contest,
    instead: Mapping[int, Score] | None = None,
    *,
    published_only: bool = False,
) -> Standings:
    """Rank the teams by their best run that has a score by the contest's present rules. Void runs are ignored.

    The scores in `instead`, by run, replace the stored ones, whatever their metric and ground truth, to show the board
    as it would be. With `published_only`, runs that the jury has not published are left out, as the public sees them;
    without it they are ranked with a mark.
    """
    instead = instead or {}
    waiting = unpublished(contest)
    found: list[Standing] = []
    known: dict[int, Halved | None] = {}
    rule = contest.config.contest_rule
    left_out: list[LeftOut] = []
    reviews = contest.store.reviews.latest()
    for run in contest.store.runs.find(RunState.JUDGED):
        if published_only and run.id in waiting:
            left_out.append(LeftOut(run.id, run.team, None, is_unpublished=True))
            continue
        judged = instead.get(run.id) or contest.store.scores.latest(run.id)
        if judged is None or judged.score is None or judged.energy_wh is None:
            no_score = None if judged is None else why_outside_rule(judged)
            lacks_truth = judged is not None and judged.map is None
            left_out.append(
                LeftOut(
                    run.id,
                    run.team,
                    None,
                    lacks_truth=lacks_truth,
                    no_score=no_score,
                )
            )
        elif run.contest_window_s != contest.config.window_s or (
            run.id not in instead and not _is_comparable(contest, run, judged)
        ):
            left_out.append(LeftOut(run.id, run.team, judged.signature))
        else:
            review = standing_review(judged, reviews.get(run.id))
            standing = standing_of(
                run,
                judged,
                review,
                as_judged(contest, run).config.least_map,
            )
            others = standing.other_rules + other_prizes(contest.config, run)
            found.append(
                replace(
                    standing,
                    other_rules=others,
                    is_published=run.id not in waiting,
                )
            )
            is_known = run.id not in instead and rule.quantity is not None
            known[run.id] = halved(contest, run, judged) if is_known else None
    found.sort(key=lambda one: (-rule.merit(one.score), one.run))
    able = with_energy_spread([one for one in found if one.not_ranked is None], known)
    places = rank(able, known, rule)
    best = [place.standing for place in places]
    won = awards(contest.config.prizes, best, known, rule)
    unranked = tuple(Place(None, one) for one in found if one.not_ranked is not None)
    unplaced = tuple(left_out)
    return Standings(places, unplaced, unranked, won, known, tuple(found), rule)


def with_energy_spread(
    attempts: Sequence[Standing],
    known: MutableMapping[int, Halved | None],
) -> list[Standing]:
    """Return the attempts of all teams, each with the spread of its team's energies. Updates `known`, too.

    `attempts` must not contain runs in review, since their energies say nothing about the spread.
    """
    energies_wh: dict[str, list[float]] = {}
    for one in attempts:
        energies_wh.setdefault(one.team, []).append(one.energy_wh)
    spreads = {team: energy_spread_of(its) for team, its in energies_wh.items()}
    for one in attempts:
        its = known.get(one.run)
        if its is not None:
            known[one.run] = replace(its, energy_spread=spreads.get(one.team))
    found = []
    for one in attempts:
        spread = spreads.get(one.team)
        if spread is not None:
            one = replace(one, energy_spread=spread.sd)
        found.append(one)
    return found


class KnownStandings:
    """The standings for a frequent caller, computed again only if a judgement, a review or a decision has changed."""

    def __init__(self, contest: Contest, *, published_only: bool = False) -> None:
        self._contest = contest
        self._published_only = published_only
        self._found: tuple[object, Standings] | None = None

    def now(self) -> Standings:
        """Return the present standings, by the contest.toml that was read at the start."""
        store = self._contest.store
        made_of = store.runs.find(RunState.JUDGED), store.scores.judgement_mark()
        if self._found is None or self._found[0] != made_of:
            found = standings(self._contest, published_only=self._published_only)
            self._found = made_of, found
        return self._found[1]


def place_document(place: Place) -> dict[str, Any]:
    """Return the JSON document of a place on the leaderboard; `others` is left out where a task has none."""
    level_with = [one._asdict() for one in place.level_with]
    failed = [asdict(one) for one in place.standing.failed_checks]
    remarks = {
        "level_with": level_with,
        "differs": list(place.differs),
        "failed_checks": failed,
    }
    remarks["other_rules"] = list(place.standing.other_rules)
    state = judged_state(needs_review=place.standing.needs_review)
    standing = asdict(place.standing)
    if not standing["others"]:
        del standing["others"]
    return {"rank": place.rank} | standing | remarks | {"figure_state": state}


def standing_of(
    run: Run,
    judged: Score,
    review: Review | None,
    least_map: float | None,
) -> Standing:
    """Return a judged run with a score as the leaderboard shows it; `review` is the one that covers the failed checks.

    Raises ValueError for a run without a score.
    """
    if judged.score is None or judged.energy_wh is None or judged.map is None:
        raise ValueError(f"run {run.id} has no score")
    interval = judged.interval
    parts = signature_parts(judged.signature)
    needs_review = judged.needs_review and review is None
    code, reason = why_not_ranked(judged, review, least_map)
    return Standing(
        team=run.team,
        run=run.id,
        score=judged.score,
        score_low=interval.score_low if interval else None,
        score_high=interval.score_high if interval else None,
        map=judged.map,
        map_ilsvrc_det=judged.map_ilsvrc_det,
        energy_wh=judged.energy_wh,
        needs_review=needs_review,
        signature=judged.signature,
        complete=RULES in parts
        and interval is not None
        and interval.method == HALF_SAMPLING,
        official=run.official,
        extra_s=run.extra_s,
        reviewed=None if review is None else review.note,
        rules_sha256=None if run.rules is None else run.rules.sha256,
        other_rules=judged_otherwise(run, judged),
        failed_checks=failed_checks(judged) if needs_review else (),
        images_seen=images_seen(judged),
        not_ranked=reason,
        not_ranked_code=code,
        others=judged.others,
    )


def _is_comparable(
    contest: Contest,
    run: Run,
    judged: Score,
) -> bool:
    """Return True if a score was made by the contest's metric, the current scoring rules and the contest's test set."""
    parts = signature_parts(judged.signature)
    config = contest.config
    version = rules_version(config)
    same_rules = (
        parts["metric"] == config.scored_by
        and parts.get(RULES) in (None, str(version))
        and signed_rule(judged.signature) == config.contest_rule.signed
    )
    # Not the test set at arming, because the ground truth may have been corrected since.
    judged_on = parts.get("gt", run.testset_digest[:DIGEST_LENGTH])
    same_set = judged_on == contest.test_set.digest[:DIGEST_LENGTH]
    return same_rules and same_set
