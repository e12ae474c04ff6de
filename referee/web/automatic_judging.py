"""Has each run judged once it is over: the same process as for the console's button, one run at a time.

A run whose energy is still to be read waits for it. A judging that fails is an event of the run and is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from referee.contest import Contest
from referee.store.records import (
    ENERGY_MISSING,
    JUDGE_FAILED,
    RUN_CLOSED,
    EnergyMissing,
    Run,
    RunState,
)
from referee.web.judge_process import Judging


class AutomaticJudging:
    """Asks for the judgement of closed runs, once for each. Call `look` each second, from one thread."""

    def __init__(self, contest: Contest, judging: Judging) -> None:
        self._contest = contest
        self._judging = judging
        self._asked: set[int] = set()

    def look(self) -> None:
        """Ask for the judgement of the closed runs that can be judged now. Raises StorageFailed."""
        if not self._contest.config.auto_judge:
            return
        store = self._contest.store
        closed = [
            run for run in store.runs.find(RunState.CLOSED) if run.id not in self._asked
        ]
        due = [run.id for run in closed if is_due(run, store.log.of_run(run.id))]
        self._asked.update(due)
        if due:
            self._judging.ask(due)


def is_due(run: Run, events: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a closed run can be judged: its energy is final, and no judging has failed since it was closed."""
    newest = {event["kind"]: at for at, event in enumerate(events)}
    failed_at = newest.get(JUDGE_FAILED, -1)
    if failed_at > newest.get(RUN_CLOSED, -1):
        return False
    if run.energy_wh is not None:
        return True
    missing_at = newest.get(ENERGY_MISSING)
    if missing_at is None:
        return True
    return events[missing_at].get("code") != EnergyMissing.READ_LATER
