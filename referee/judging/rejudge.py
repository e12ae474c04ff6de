"""Judges judged runs again, by another metric or a corrected ground truth, and reports the changes of the board."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from lpirc_testsets import load_test_set
from referee.clock import Clock
from referee.contest import Contest, has_same_images, require_unchanged
from referee.errors import RefereeError, TestSetChanged
from referee.judging.bound_rules import as_judged
from referee.judging.judge import Again, judge, judgeable, judgement
from referee.judging.judge_many import Failed, not_scored, score_runs
from referee.judging.scoring_job import Scored
from referee.judging.standings import standings
from referee.served import is_served
from referee.store.records import Run, RunState, Score
from referee.workers import Workers

Pair = tuple[float | None, float | None]


@dataclass(frozen=True)
class Change:
    """A run's values before and after a new judgement. A rank is None if the run is not its team's ranked run."""

    run: int
    team: str
    map: Pair
    score: Pair
    rank: Pair


@dataclass(frozen=True)
class Rejudged:
    """The changes made by judging again, one per run; `skipped` are judged runs on other images, left unchanged."""

    changes: tuple[Change, ...]
    skipped: tuple[int, ...]


def rejudge(
    contest: Contest,
    number: int | None,
    clock: Clock,
    again: Again,
    workers: Workers | None = None,
    failed: Failed = not_scored,
) -> Rejudged:
    """Judge one run again, or all judged runs if `number` is None, and store the judgements.

    The runs are judged by their own rules, on the test set; by another metric only if `again` names one. The ground
    truth may differ from the one at arming, unless the contest is being served. Known results for a run by another
    ground truth are reused. Raises RefereeError as `judge` does, and `contest-busy`.
    """
    require_unchanged(contest.test_set)
    runs, _ = _chosen(contest, number)
    others = [run.id for run in runs if run.testset_digest != contest.test_set.digest]
    if others and is_served(contest.folder):
        why = f"run {others[0]} was armed with a ground truth other than the present one; stop the server first"
        raise RefereeError(
            "contest-busy",
            f"{contest.folder} is being served, but {why}.",
        )
    return _rejudged(
        contest,
        number,
        contest,
        clock,
        workers,
        failed,
        again.metric,
        again,
    )


def preview(
    contest: Contest,
    number: int | None,
    clock: Clock,
    metric: str | None,
    testset: Path | None,
    workers: Workers | None = None,
    failed: Failed = not_scored,
) -> Rejudged:
    """Return the changes that `rejudge` would make with this metric and test set; no judgement is stored.

    Raises RefereeError as `rejudge` does, and `testset-changed` for a test set with other images; TestSetError.
    """
    other = contest.test_set if testset is None else load_test_set(testset)
    require_unchanged(other)
    if other.images_digest != contest.test_set.images_digest:
        own = contest.test_set.folder
        raise TestSetChanged(
            f"{testset} has other images or categories than {own}; only boxes may differ."
        )
    changed = replace(contest, test_set=other)
    return _rejudged(contest, number, changed, clock, workers, failed, metric, None)


def _chosen(contest: Contest, number: int | None) -> tuple[list[Run], tuple[int, ...]]:
    if number is not None:
        return [judgeable(contest, number, corrected=True)], ()
    judged = contest.store.runs.find(RunState.JUDGED)
    skipped = tuple(run.id for run in judged if not has_same_images(contest, run))
    return [run for run in judged if run.id not in skipped], skipped


def _rejudged(
    contest: Contest,
    number: int | None,
    changed: Contest,
    clock: Clock,
    workers: Workers | None,
    failed: Failed,
    metric: str | None,
    again: Again | None,
) -> Rejudged:
    """Judge runs again and return the changes; with `again` None, no judgement is stored."""
    runs, skipped = _chosen(contest, number)
    former = {run.id: contest.store.scores.latest(run.id) for run in runs}
    before = _ranks(
        contest,
        {run: score for run, score in former.items() if score is not None},
    )
    made: dict[int, Score] = {}

    def keep(run: Run, found: Scored) -> None:
        if again is not None:
            made[run.id] = judge(
                contest,
                run.id,
                clock,
                again=again,
                found=found,
                act=again.act,
            )
        else:
            made[run.id] = judgement(as_judged(changed, run, metric), run, clock, found)

    score_runs(changed, runs, clock, workers, keep, failed, metric)
    # Stored scores are ranked as on a board: a run judged by another metric is on no board.
    after = _ranks(changed, made) if again is None else _ranks(contest, {})
    changes = []
    for run in [one for one in runs if one.id in made]:
        was = former[run.id]
        now = made[run.id]
        rank = (before.get(run.id), after.get(run.id))
        then = (None, None) if was is None else (was.map, was.score)
        changes.append(
            Change(run.id, run.team, (then[0], now.map), (then[1], now.score), rank)
        )
    return Rejudged(tuple(changes), skipped)


def _ranks(contest: Contest, scores: dict[int, Score]) -> dict[int, int | None]:
    return {
        place.standing.run: place.rank for place in standings(contest, scores).places
    }
