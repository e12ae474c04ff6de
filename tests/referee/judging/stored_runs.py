"""Contests with many closed runs, posted as clients post, and what is stored of their judgements."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import TestSet
from referee.contest import create_contest, open_contest
from tests.referee.evidence.closed_runs import closed_with_bodies
from tests.referee.factories import config_text

IMAGES_A_BODY = 100


def store_runs(
    folder: Path,
    test_set: TestSet,
    rows: NDArray[np.float64],
    runs: int,
) -> None:
    """A contest with closed runs of better and worse detectors, that found about `rows` (n, 7), of 1..N in order.

    Each posts them as packed float32.
    """
    create_contest(folder, config_text(test_set))
    bodies = np.arange(IMAGES_A_BODY, len(test_set.images), IMAGES_A_BODY)
    with open_contest(folder) as contest:
        for run in range(runs):
            chance = np.random.default_rng(run)
            sent = rows.copy()
            sent[:, 2] = (rows[:, 2] ** chance.uniform(0.5, 1.5, len(rows))).round(4)
            sent[:, 3:] += chance.normal(0, chance.uniform(0, 3), (len(rows), 1))
            parts = np.split(
                sent.astype("<f4"),
                np.searchsorted(rows[:, 0], bodies, "right"),
            )
            closed_with_bodies(
                contest,
                [(part.tobytes(), "application/octet-stream") for part in parts],
                team=f"team-{run:04}",
            )


def forget_scorings(folder: Path, *, judgements: bool = True) -> None:
    """Put a contest back to where none of its runs was scored, or was judged."""
    with open_contest(folder) as contest:
        with closing(sqlite3.connect(folder / "contest.db")) as database, database:
            for table in (
                "jobs",
                "scorings",
                *(("intervals", "checks", "scores") if judgements else ()),
            ):
                database.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
            if judgements:
                database.execute("UPDATE runs SET state = 'closed'")
        contest.store.integrity.note_count()


def results(folder: Path) -> str:
    """The hash of all newest judgements but their times, and of all scorings."""
    with open_contest(folder) as contest:
        scores = [
            contest.store.scores.latest(run.id) for run in contest.store.runs.find()
        ]
    with closing(sqlite3.connect(folder / "contest.db")) as database:
        scorings = database.execute(
            "SELECT name, figures, resampled FROM scorings ORDER BY name"
        ).fetchall()
    judged = [score and replace(score, judged_utc="") for score in scores]
    return hashlib.sha256(repr((judged, scorings)).encode()).hexdigest()
