"""Judges judged runs again, by other settings or a corrected ground truth, and shows the changes of the board."""

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
    """A run (before, after) a new judgement; `rank` is None if another run of the team counts, or none."""

    run: int
    team: str
    map: Pair
    score: Pair
    rank: Pair


@dataclass(frozen=True)
class Rejudged:
    """The changes of judging again, by run; `skipped` are the judged runs on other images, which stay as they are."""

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
    """Judge a run, or with None all judged runs, again by their bound rules and the test set, and store it.

    By another metric only where `again` names one. The ground truth may be another one than the runs were armed with,
    unless the contest is served. What is known of a run by another ground truth is not computed again. Raises
    RefereeError as `judge` does, and `contest-busy`.
    """
    require_unchanged(contest.test_set)
    runs, _ = _chosen(contest, number)
    others = [run.id for run in runs if run.testset_digest != contest.test_set.digest]
    if others and is_served(contest.folder):
        why = f"run {others[0]} was armed with another ground truth; stop the server first"
        raise RefereeError(
            "contest-busy",
            f"{contest.folder} is being served, and {why}.",
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
    """Return the changes of a `rejudge` with this metric and the test set in this folder; no judgement is stored.

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
    """`again` of None stores nothing."""
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
    # What is stored is ranked as boards do it: a run by another metric than theirs is on none.
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
