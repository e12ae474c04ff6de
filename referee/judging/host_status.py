"""Parts of the status that no run has, settings, disk and backups; and the runs whose judging has failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from referee.contest import Contest
from referee.errors import StorageFailed
from referee.judging.attention import rounded_mb
from referee.store import Store
from referee.store.records import BACKUP, JUDGE_FAILED, JUDGED, LIVE_FAILED


def host_status(contest: Contest) -> dict[str, Any]:
    """Return the contest's settings that matter to operators, and what is wrong on its host."""
    store = contest.store
    return {
        "publish_by": contest.config.publish_by,
        "auto_judge": contest.config.auto_judge,
        "disk_free_mb": _free_mb(store),
    }


@dataclass(frozen=True)
class Told:
    """What the log says of the present: of backups, and by number of runs that could not be judged, or evaluated live.

    `drawn` is the queue if its last change was a draw, or None.
    """

    judging: Mapping[int, str]
    live: Mapping[int, str]
    backup: str | None
    drawn: tuple[str, ...] | None


def told_by_log(store: Store) -> Told:
    """Read it from the log."""
    last = store.log.last_queue_act()
    drawn = None
    if last is not None and last["action"] == "draw":
        drawn = tuple(last["queue"])
    return Told(
        _failures(store, JUDGE_FAILED),
        _failures(store, LIVE_FAILED),
        _backup_trouble(store),
        drawn,
    )


def _failures(store: Store, kind: str) -> dict[int, str]:
    """Return the sentence of each run whose newest event of this kind has no judgement after it."""
    failed = {}
    for run, events in store.log.of_kinds((kind, JUDGED)).items():
        if events[-1]["kind"] == kind:
            failed[run] = str(events[-1]["sentence"])
    return failed


def _backup_trouble(store: Store) -> str | None:
    """Return the sentence about scheduled backups that fail; None if the newest event says that they work."""
    told = store.log.of_kinds((BACKUP,))
    newest = [one for events in told.values() for one in events][-1:]
    return next((one["sentence"] for one in newest if one.get("failed")), None)


def _free_mb(store: Store) -> int | None:
    try:
        return rounded_mb(store.posts.free_bytes())
    except StorageFailed:
        return None  # the trouble with the database says so
