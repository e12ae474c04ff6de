"""Replays of runs for operators, each made by a command of its own and kept until its run changes."""

from __future__ import annotations

from collections import OrderedDict

from referee.contest import Contest
from referee.store.records import Run
from referee.web.command_turns import CommandTurns, Refused, output_of
from referee.web.public.kept_answers import Kept, keep

KEPT = 6
BUSY = "Other replays are being made; try again when they are done."
NO_REPLAY = Refused("replay-failed", "The replay cannot be made")


class RunReplays:
    """The replays of any runs as JSON documents, with the ground truth, for operators only."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._turns = CommandTurns(BUSY)
        self._made: OrderedDict[int, tuple[object, Kept]] = OrderedDict()

    def document(self, run: Run) -> Kept:
        """Return the replay of a run. Raises RefereeError `replay-failed`, `too-many-requests`."""
        with self._turns.turn():
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
        words = ("replay", str(number), "--truth", "--contest", folder)
        printed = output_of(*words, refused=NO_REPLAY)
        return keep(printed, "application/json")
