"""Faults planted in the product, by name: the simulation must find each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

from lpirc_power.meter import IntegratorState
from referee.errors import StorageFailed
from referee.judging import judge as judging
from referee.judging import provisional_scores, standings
from referee.runs import missing_energy, run_control, run_recovery, station_meters
from referee.runs.arming import Arming
from referee.runs.open_run import OpenRun
from referee.runs.run_control import RunControl
from referee.runs.run_window import Window, elapsed_s
from referee.runs.station_meters import StationMeters
from referee.store import NewPost, event_chain, post_table
from referee.store.group_commit import GroupCommit, Write
from referee.store.post_table import PostTable
from referee.store.records import Post, Run, RunState
from referee.store.run_table import RunTable
from referee.store.score_table import ScoreTable
from tests.simulation.day import Outcome, simulate

Mutant = Callable[[], AbstractContextManager[object]]


def a_deadline_a_second_late() -> AbstractContextManager[object]:
    return patch.object(
        run_control,
        "Window",
        lambda start_s, length_s: Window(start_s, length_s + 1.0),
    )


def a_grace_for_late_posts() -> AbstractContextManager[object]:
    def require_open(self: OpenRun) -> float:
        return elapsed_s(self.window, self._clock.monotonic_s())

    return patch.object(OpenRun, "_require_open", require_open)


def the_key_is_ignored() -> AbstractContextManager[object]:
    plain = OpenRun.accept

    def accept(
        self: OpenRun,
        body: bytes,
        _key: str | None,
        *more: Any,
        **named: Any,
    ) -> Post:
        return plain(self, body, None, *more, **named)

    return patch.object(OpenRun, "accept", accept)


def _unstored(store: PostTable, run: int, new: NewPost) -> Post:
    """The receipt as it would be if this post were stored."""
    rows = new.taken[0] if isinstance(new.taken, tuple) else new.taken
    total = store.count_detections(run) + len(rows)
    return Post(len(rows), new.sha256, total)


def a_receipt_before_the_commit() -> AbstractContextManager[object]:
    plain = PostTable.append_post

    def append_post(self: PostTable, run: int, new: NewPost) -> Post:
        receipt = _unstored(self, run, new)

        def later() -> None:
            threading.Event().wait(0.5)
            plain(self, run, new)

        threading.Thread(target=later, daemon=True).start()
        return receipt

    return patch.object(PostTable, "append_post", append_post)


def a_failed_commit_is_acknowledged() -> AbstractContextManager[object]:
    plain = PostTable.append_post

    def append_post(self: PostTable, run: int, new: NewPost) -> Post:
        try:
            return plain(self, run, new)
        except StorageFailed:
            return _unstored(self, run, new)

    return patch.object(PostTable, "append_post", append_post)


def a_commit_of_several_loses_one() -> AbstractContextManager[object]:
    plain = GroupCommit._commit  # noqa: SLF001 - a mutant is of the inside

    def commit(self: GroupCommit, group: Sequence[Write]) -> None:
        plain(self, group)
        if len(group) > 1:
            with self._transaction() as connection:
                connection.execute(
                    "DELETE FROM posts WHERE id = (SELECT max(id) FROM posts)"
                )

    return patch.object(GroupCommit, "_commit", commit)


def a_restart_restarts_the_clock() -> AbstractContextManager[object]:
    return patch.object(
        run_recovery,
        "window_of",
        lambda run, now_s, _reboot: Window(now_s, run.window_s),
    )


def a_reboot_is_not_noticed() -> AbstractContextManager[object]:
    return patch.object(run_recovery, "reboot_of", lambda *_: None)


def the_energy_of_the_previous_run() -> AbstractContextManager[object]:
    plain = StationMeters.final_reading
    last = {}

    def final_reading(self: StationMeters, run: Run, *more: Any) -> Any:
        reading = plain(self, run, *more)
        return last.pop(run.station, None) or last.setdefault(run.station, reading)

    return patch.object(StationMeters, "final_reading", final_reading)


def whatever_the_meter_holds_is_the_energy() -> AbstractContextManager[object]:
    return patch.multiple(
        station_meters,
        foreign=lambda *_, **__: None,
        in_doubt=lambda *_: None,
    )


def a_meter_that_was_started_again_is_believed() -> AbstractContextManager[object]:
    plain = missing_energy.in_doubt

    def in_doubt(reading: Any, past: Any) -> Any:
        return plain(replace(reading, state=IntegratorState.STOP), past)

    return patch.object(station_meters, "in_doubt", in_doubt)


def two_runs_at_a_station() -> AbstractContextManager[object]:
    return patch.object(Arming, "_require_free", lambda *_: None)


def a_board_that_stands_still() -> AbstractContextManager[object]:
    plain = standings.KnownStandings.now

    def now(self: standings.KnownStandings) -> Any:
        if self._found is None:
            plain(self)
        return self._found[1]

    return patch.object(standings.KnownStandings, "now", now)


def void_runs_are_ranked() -> AbstractContextManager[object]:
    plain = RunTable.find

    def runs(
        self: RunTable,
        state: RunState | None = None,
        **equals: object,
    ) -> list[Run]:
        found = plain(self, state, **equals)
        if state is RunState.JUDGED and not equals:
            found += [
                run
                for run in plain(self, RunState.VOID)
                if ScoreTable(self._database).latest(run.id)
            ]
        return found

    return patch.object(RunTable, "find", runs)


def _other_head(changed: Callable[[Any], Any]) -> AbstractContextManager[object]:
    """The head of a run's chain, changed before it is used."""
    plain = post_table._head  # noqa: SLF001 - a mutant is of the inside
    return patch.object(
        post_table,
        "_head",
        lambda *arguments: changed(plain(*arguments)),
    )


def a_total_that_is_one_too_high() -> AbstractContextManager[object]:
    def changed(head: Any) -> Any:
        newest, link, number, total = head
        return newest, link, number, total + (number == 2)

    return _other_head(changed)


def a_repeat_that_gets_another_receipt() -> AbstractContextManager[object]:
    newest = "(SELECT max(received_total) FROM posts AS p WHERE p.run = posts.run)"
    sql = post_table._FIND.replace("received_total", newest)  # noqa: SLF001 - a mutant is of the inside
    return patch.object(post_table, "_FIND", sql)


def a_void_that_is_not_stored() -> AbstractContextManager[object]:
    def void(self: RunControl, run: int, reason: str) -> Run:
        found = self._store.runs.get(run)
        return replace(found, state=RunState.VOID, void_reason=reason)

    return patch.object(RunControl, "void", void)


def _other_case(changed: Callable[[Any], Any]) -> AbstractContextManager[object]:
    """What a run is judged from, changed before it is judged."""
    plain = judging.case_of
    return patch.object(
        judging,
        "case_of",
        lambda *given, **how: changed(plain(*given, **how)),
    )


def a_judge_that_loses_the_last_row() -> AbstractContextManager[object]:
    return _other_case(lambda case: replace(case, rows=case.rows[:-1]))


def a_judge_that_counts_images_not_served() -> AbstractContextManager[object]:
    return _other_case(lambda case: replace(case, served=range(1, len(case.order) + 1)))


def a_provisional_score_that_is_not_finished() -> AbstractContextManager[object]:
    return patch.object(
        provisional_scores.FollowedRuns,
        "_unpublished",
        lambda _self: [],
    )


def a_provisional_score_of_every_other_row() -> AbstractContextManager[object]:
    plain = provisional_scores.evaluate_rows
    return patch.object(
        provisional_scores,
        "evaluate_rows",
        lambda contest, truth, rows: plain(contest, truth, rows[::2]),
    )


def a_heat_that_starts_one_by_one() -> AbstractContextManager[object]:
    plain = RunControl._open  # noqa: SLF001 - a mutant is of the inside

    def open_each(self: RunControl, started: dict[int, Any]) -> list[OpenRun]:
        return [
            opened
            for run, meter in started.items()
            for opened in plain(self, {run: meter})
        ]

    return patch.object(RunControl, "_open", open_each)


def a_link_that_is_skipped() -> AbstractContextManager[object]:
    def changed(head: Any) -> Any:
        newest, link, number, total = head
        return newest, bytes(32) if number == 2 else link, number, total

    return _other_head(changed)


def an_event_that_is_not_chained() -> AbstractContextManager[object]:
    plain = event_chain.log_link

    def log_link(previous: bytes, digest: bytes) -> bytes:
        return plain(event_chain.LOG_START if digest[0] < 8 else previous, digest)

    return patch.object(event_chain, "log_link", log_link)


def a_score_with_yesterdays_energy() -> AbstractContextManager[object]:
    plain = ScoreTable.add

    def add_score(self: ScoreTable, score: Any, *rest: Any) -> None:
        before = self.latest(score.run)
        if before is not None:
            score = replace(
                score,
                score=before.score,
                energy_wh=before.energy_wh,
                map=0.5,
            )
        plain(self, score, *rest)

    return patch.object(ScoreTable, "add", add_score)


MUTANTS: dict[str, Mutant] = {
    mutant.__name__: mutant
    for mutant in (
        a_deadline_a_second_late,
        a_grace_for_late_posts,
        the_key_is_ignored,
        a_receipt_before_the_commit,
        a_failed_commit_is_acknowledged,
        a_commit_of_several_loses_one,
        a_restart_restarts_the_clock,
        a_reboot_is_not_noticed,
        the_energy_of_the_previous_run,
        whatever_the_meter_holds_is_the_energy,
        a_meter_that_was_started_again_is_believed,
        two_runs_at_a_station,
        a_board_that_stands_still,
        void_runs_are_ranked,
        a_total_that_is_one_too_high,
        a_repeat_that_gets_another_receipt,
        a_void_that_is_not_stored,
        a_judge_that_loses_the_last_row,
        a_judge_that_counts_images_not_served,
        a_provisional_score_that_is_not_finished,
        a_provisional_score_of_every_other_row,
        a_heat_that_starts_one_by_one,
        a_link_that_is_skipped,
        an_event_that_is_not_chained,
    )
}


ONLY = ("set_clock",)
"""What goes wrong on most of these days: little, so they are short; the fault is there without more."""
FOUND_BY: dict[str, tuple[int, Sequence[str]]] = {
    "a_grace_for_late_posts": (2, ONLY),
    "a_receipt_before_the_commit": (1, ("kill",)),
    "a_failed_commit_is_acknowledged": (1, ("fill_disk",)),
    "a_commit_of_several_loses_one": (40, ONLY),
    "a_restart_restarts_the_clock": (6, ("kill",)),
    "a_reboot_is_not_noticed": (6, ("reboot",)),
    "whatever_the_meter_holds_is_the_energy": (2, ("press",)),
    "a_meter_that_was_started_again_is_believed": (3, ("press",)),
    "a_void_that_is_not_stored": (9, ONLY),
    "void_runs_are_ranked": (9, ONLY),
    "two_runs_at_a_station": (3, ONLY),
    "a_judge_that_loses_the_last_row": (6, ONLY),
    "a_provisional_score_that_is_not_finished": (4, ()),
    "a_heat_that_starts_one_by_one": (9, ()),
    "an_event_that_is_not_chained": (2, ONLY),
}
"""The seed of the short day that shows a fault soon, and what goes wrong on it (nothing named: everything).

Any other fault: the first seed, with ONLY. A change of the product may shift it, then one of the next seeds finds it.
"""
FURTHER = 60
SHORT_S = 60.0


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The product with this fault."""
    with MUTANTS[name]():
        yield


def search(name: str) -> Outcome | None:
    """The first short day on which the fault is found; None: on none.

    Raises AssertionError if the unchanged product fails on that day, too.
    """
    first, mishaps = FOUND_BY.get(name, (1, ONLY))
    for seed in (first, *range(1, FURTHER)):
        with planted(name):
            day = simulate(seed, SHORT_S, mishaps)
        if day.failures:
            plain = _plain(seed, mishaps)
            assert not plain.failures, plain.told()
            return day
    return None


@cache
def _plain(seed: int, mishaps: Sequence[str]) -> Outcome:
    """That day with the unchanged product."""
    return simulate(seed, SHORT_S, mishaps)
