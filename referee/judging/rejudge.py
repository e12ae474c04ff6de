"""Judging again what is judged: by other settings or a corrected ground truth, and what that changes on the board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from referee.clock import Clock
from referee.contest import Contest, has_same_images, require_same_images, require_unchanged
from referee.errors import RefereeError, TestSetChanged
from referee.judging.judge import judgement
from referee.judging.results import Standings, standings
from referee.judging.uncertainty import judge_with_interval
from referee.store import is_served
from referee.store.records import Run, RunState, Score
from testsets import load_test_set


@dataclass(frozen=True)
class Figures:
    """What a judgement says of a run; `rank` is None where another run of the team counts, or none."""

    map: float
    score: float | None
    rank: int | None


@dataclass(frozen=True)
class Change:
    """A run before and after it is judged again; `before` is None for a run that was not judged."""

    run: int
    team: str
    before: Figures | None
    after: Figures


@dataclass(frozen=True)
class Rejudged:
    """What judging again changes: of each run, and the ranks (before, after) of the teams whose rank changes.

    `skipped` are the judged runs on other images, which stay as they are.
    """

    changes: tuple[Change, ...]
    places: Mapping[str, tuple[int | None, int | None]]
    skipped: tuple[int, ...]


def rejudge(contest: Contest, number: int | None, clock: Clock) -> Rejudged:
    """Judge a run, or with None all judged runs, again by contest.toml and its test set, and store it.

    The ground truth may be another one than the runs were armed with, unless the contest is served. Raises RefereeError
    as `judge` does, and `contest-busy`.
    """
    require_unchanged(contest.test_set)
    runs, skipped = _chosen(contest, number)
    others = [run.id for run in runs if run.testset_digest != contest.test_set.digest]
    if others and is_served(contest.folder):
        raise RefereeError(
            "contest-busy",
            f"{contest.folder} is being served, and run {others[0]} was armed with another ground truth: a corrected "
            "one counts when the server is stopped; stop it first.",
        )
    stored = _stored(contest, runs)
    before = standings(contest, stored)
    made = {run.id: judge_with_interval(contest, run.id, clock, corrected=True) for run in runs}
    return _compared(runs, stored, before, made, standings(contest), skipped)


def preview(
    contest: Contest, number: int | None, clock: Clock, metric: str | None, testset: Path | None
) -> Rejudged:
    """What `rejudge` would change with this metric and the test set in this folder; nothing is stored.

    Raises RefereeError as `rejudge` does, and `testset-changed` for a test set with other images; TestSetError.
    """
    other = contest.test_set if testset is None else load_test_set(testset)
    require_unchanged(other)
    if other.images_digest != contest.test_set.images_digest:
        raise TestSetChanged(
            f"{testset} has other images or categories than {contest.test_set.folder}: only the boxes may differ."
        )
    config = replace(contest.config, metric=metric or contest.config.metric)
    changed = replace(contest, config=config, test_set=other)
    runs, skipped = _chosen(contest, number)
    stored = _stored(contest, runs)
    made = {run.id: judgement(changed, run, clock) for run in runs}
    return _compared(runs, stored, standings(contest, stored), made, standings(changed, made), skipped)


def _chosen(contest: Contest, number: int | None) -> tuple[list[Run], tuple[int, ...]]:
    if number is not None:
        run = contest.store.run(number)
        require_same_images(contest, run)
        return [run], ()
    judged = contest.store.runs(RunState.JUDGED)
    chosen = [run for run in judged if has_same_images(contest, run)]
    return chosen, tuple(run.id for run in judged if run not in chosen)


def _stored(contest: Contest, runs: list[Run]) -> dict[int, Score]:
    found = ((run.id, contest.store.latest_score(run.id)) for run in runs)
    return {run: score for run, score in found if score is not None}


def _compared(
    runs: list[Run],
    stored: Mapping[int, Score],
    before: Standings,
    made: Mapping[int, Score],
    after: Standings,
    skipped: tuple[int, ...],
) -> Rejudged:
    changes = tuple(
        Change(
            run.id,
            run.team,
            _figures(stored[run.id], before) if run.id in stored else None,
            _figures(made[run.id], after),
        )
        for run in runs
    )
    was, now = ({place.standing.team: place.rank for place in board.places} for board in (before, after))
    teams = sorted(was | now, key=lambda team: now.get(team, len(now) + 1))
    places = {team: (was.get(team), now.get(team)) for team in teams if was.get(team) != now.get(team)}
    return Rejudged(changes, places, skipped)


def _figures(score: Score, board: Standings) -> Figures:
    rank = next((place.rank for place in board.places if place.standing.run == score.run), None)
    return Figures(score.map, score.score, rank)
