"""When a team may see the answers to a run: the rule of public replays, with a look at who runs now."""

from __future__ import annotations

from datetime import datetime

from referee.contest import Contest
from referee.judging.freeze import Freeze
from referee.judging.replay_release import why_hidden
from referee.store.records import RunState

ACTIVE = (RunState.ARMED, RunState.OPEN)


def may_show_truth(contest: Contest, now: datetime) -> bool:
    """Return True if a team may see at `now`, UTC, what tells of the ground truth, such as where its errors are.

    The published row may be a second old, so runs and queue are read as well: a run that is armed now counts.
    """
    store = contest.store
    freeze = Freeze(store.published.get(), contest.config.freeze_at)
    until = contest.config.ground_truth_secret_until
    if why_hidden(until, freeze, now) is not None:
        return False
    is_anyone_on = any(store.runs.find(state) for state in ACTIVE)
    return not is_anyone_on and not store.queue.teams()
