"""Replays of runs for operators, each made by a command of its own and kept until its run changes."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from referee.contest import Contest
from referee.errors import RefereeError
from referee.store.records import Run
from referee.web.judge_process import run_command
from referee.web.public.kept_answers import Kept, keep

KEPT = 6
WAIT_S = 30.0  # for replays that another operator has requested

logger = logging.getLogger(__name__)


class RunReplays:
    """The replays of any runs as JSON documents, for operators only."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._turn = threading.Lock()
        self._made: OrderedDict[int, tuple[object, Kept]] = OrderedDict()

    def document(self, run: Run) -> Kept:
        """Return the replay of a run. Raises RefereeError `replay-failed`, `too-many-requests`."""
        if not self._turn.acquire(timeout=WAIT_S):
            sentence = "Other replays are being made; try again when they are done."
            raise RefereeError("too-many-requests", sentence)
        try:
            mark = self._mark(run)
            known = self._made.get(run.id)
            if known is not None and known[0] == mark:
                return known[1]
            made = self._replay(run.id)
            self._made[run.id] = (mark, made)
            self._made.move_to_end(run.id)
            if len(self._made) > KEPT:
                self._made.popitem(last=False)
            return made
        finally:
            self._turn.release()

    def _mark(self, run: Run) -> object:
        """Return a value that differs once the replay would."""
        store = self._contest.store
        judged = store.scores.latest(run.id)
        newest = store.readings.newest(run.id)
        return (
            run,
            judged and judged.judged_utc,
            store.posts.count_detections(run.id),
            newest and newest.monotonic_s,
            self._contest.test_set.digest,
        )

    def _replay(self, number: int) -> Kept:
        folder = str(self._contest.folder)
        done, said = run_command("replay", str(number), "--contest", folder)
        if done.returncode:
            logger.error("the replay of run %s: %s", number, done.stderr.strip())
            sentence = f"The replay cannot be made: {said}"
            raise RefereeError("replay-failed", sentence)
        return keep(done.stdout, "application/json")
