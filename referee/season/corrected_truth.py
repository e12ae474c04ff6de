"""Scores a season's runs again by a corrected ground truth, if they are on its images. The contests do not change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from lpirc_testsets import load_test_set
from referee.auth.signing import SIGNING_KEY_NAME, ContestKey
from referee.clock import Clock
from referee.config import read_config
from referee.contest import Contest, has_same_images, require_unchanged
from referee.errors import RefereeError
from referee.judging.bound_rules import as_judged
from referee.judging.judge import judgement, with_interval
from referee.judging.judge_many import score_runs
from referee.judging.ranking import Place
from referee.judging.rejudge import Change
from referee.judging.scoring_job import Scored
from referee.presence import is_file
from referee.season.season_board import ByRun
from referee.season.season_runs import SeasonRun
from referee.store import DATABASE_NAME, Store
from referee.store.job_table import JobTable
from referee.store.records import Run, RunState
from referee.workers import Workers

CACHE_NAME = "season.db"
OF_PARTS = 7  # the newest form that stores large bodies in parts


def corrected(
    runs: Sequence[SeasonRun],
    testset: Path,
    out: Path,
    clock: Clock,
    workers: Workers | None,
) -> tuple[list[SeasonRun], list[str]]:
    """Return all runs and a sentence for each problem; runs on the images of `testset` are judged by its ground truth.

    A problem is a contest or run that is not scored again. Results are stored in `out` and reused. Raises RefereeError
    `testset-changed`; TestSetError.
    """
    test_set = load_test_set(testset)
    require_unchanged(test_set)
    out.mkdir(parents=True, exist_ok=True)
    after: list[SeasonRun] = []
    problems: list[str] = []
    with closing(Store.open(out / CACHE_NAME, create=True)) as season:
        for path, of_path in groupby(
            sorted(runs, key=lambda one: one.path),
            key=lambda one: one.path,
        ):
            its_runs = [*of_path]
            if its_runs[0].frozen_utc is not None:
                problems.append(
                    f"{path} was not scored again, because its board is frozen."
                )
                after += its_runs
                continue
            try:
                with closing(_store(path, season)) as store:
                    key = ContestKey(path / SIGNING_KEY_NAME, None)
                    changed = Contest(
                        path,
                        read_config(path),
                        b"",
                        "",
                        store,
                        test_set,
                        key,
                    )
                    its_runs = _scored(changed, its_runs, clock, workers, problems)
            except RefereeError as error:
                problems.append(f"{path} was not scored again: {error.sentence}")
            after += its_runs
    return after, problems


def _store(path: Path, season: Store) -> Store:
    """Return a contest's database for reading, with the season's own table for jobs and scorings."""
    if is_file(path):
        raise RefereeError(
            "bundle",
            "a bundle cannot be scored again; give the folder of its contest.",
        )
    store = Store.read_only(path / DATABASE_NAME)
    if store.database.form <= OF_PARTS:
        store.close()
        sentence = (
            f"its database has the old format {store.database.form}; copy the folder, and upgrade the copy with: "
            "referee run list --contest COPY"
        )
        raise RefereeError("database-version", sentence)
    jobs = JobTable(season.database, older=store.jobs)
    return replace(store, jobs=jobs)


def _scored(
    changed: Contest,
    runs: Sequence[SeasonRun],
    clock: Clock,
    workers: Workers | None,
    problems: list[str],
) -> list[SeasonRun]:
    """Return the runs, with those on the changed test set's images judged again."""
    made = {one.run: one for one in runs}

    def judged(run: Run, found: Scored) -> None:
        score, maps = with_interval(
            judgement(as_judged(changed, run), run, clock, found),
            found,
        )
        made[run] = replace(made[run], judged=score, maps=maps)

    def failed(run: Run, reason: str) -> None:
        problems.append(
            f"Run {run.id} in {changed.folder} was not scored again: {reason}"
        )

    wanted = [
        run
        for run in made
        if run.state is RunState.JUDGED and has_same_images(changed, run)
    ]
    score_runs(changed, wanted, clock, workers, judged, failed)
    return [*made.values()]


def changes(before: ByRun, after: ByRun) -> tuple[Change, ...]:
    """Return the changes (before, after) of the runs that are now scored by another ground truth."""
    found = []
    for (contest, run), now in after.items():
        was = before.get((contest, run), Place(None, now.standing))
        one = now.standing
        if was.standing.signature != one.signature:
            pairs = (
                (was.standing.map, one.map),
                (was.standing.score, one.score),
                (was.rank, now.rank),
            )
            found.append(Change(run, f"{one.team} ({contest})", *pairs))
    return tuple(found)
