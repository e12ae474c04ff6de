"""A run is judged by itself when it is over: once, after its energy was read, and a failure waits for a person."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from referee.clock import Clock
from referee.judging.judge import judge
from referee.judging.jury_decisions import Awaited, Seen, confirm, unpublished
from referee.store.records import (
    ENERGY_MISSING,
    JUDGE_FAILED,
    JUDGED,
    RUN_CLOSED,
    EnergyMissing,
    RunState,
)
from referee.web import judge_process
from referee.web.automatic_judging import AutomaticJudging, is_due
from referee.web.judge_process import Judging, run_command
from tests.contest_day import Day, until
from tests.referee.factories import START, House, run_record
from tests.referee.judging.judged_runs import closed_run

CLOSED = {"kind": RUN_CLOSED}
FAILED = {"kind": JUDGE_FAILED}


LATER = {"kind": ENERGY_MISSING, "code": EnergyMissing.READ_LATER}
RESET = {"kind": ENERGY_MISSING, "code": EnergyMissing.METER_RESET}


@pytest.mark.parametrize(
    ("energy_wh", "events", "due"),
    [
        (1.0, [CLOSED], True),
        (1.0, [CLOSED, FAILED], False),
        (1.0, [FAILED, CLOSED], True),
        (None, [CLOSED, LATER], False),
        (None, [LATER, CLOSED], False),
        (1.0, [CLOSED, LATER], True),
        (None, [LATER, CLOSED, RESET], True),
        (None, [CLOSED], True),
    ],
)
def test_a_closed_run_is_due_once_its_energy_is_final_unless_its_judging_failed(
    energy_wh: float | None,
    events: list[Mapping[str, Any]],
    *,
    due: bool,
) -> None:
    run = run_record(state=RunState.CLOSED, energy_wh=energy_wh)
    assert is_due(run, events) is due


def test_the_server_judges_a_run_that_is_over_once_and_without_a_person(
    day: Callable[..., Day],
) -> None:
    made = day(auto_judge=True)
    token = made.fetched(made.login()["token"])
    made.post(token)
    assert made.server is not None
    assert made.server.ask("DELETE", "/v1/session", token).status_code == 200
    until(lambda: made.runs(RunState.JUDGED))
    made.server.end()
    made.serve()  # it looks again
    assert made.login()["run"] == 2
    with made.store() as store:
        kinds = [one["kind"] for one in store.log.of_run(1)]
        assert len(store.scores.judgements(1)) == 1
    assert kinds.count(JUDGED) == 1
    assert "operator" not in kinds, "no one has asked for it"


def test_a_judging_that_fails_by_itself_is_tried_once_also_after_a_restart(
    day: Callable[..., Day],
) -> None:
    made = day(auto_judge=True)
    token = made.fetched(made.login()["token"])
    image = next((made.testset / "images").iterdir())
    content = image.read_bytes()
    image.write_bytes(content + b"x")

    def failures() -> int:
        with made.store() as store:
            kinds = [one["kind"] for one in store.log.of_run(1)]
        return kinds.count(JUDGE_FAILED)

    try:
        assert made.server is not None
        made.server.ask("DELETE", "/v1/session", token)
        until(failures)
        made.server.end()
    finally:
        image.write_bytes(content)
    made.serve()
    assert made.login()["run"] == 2, "it goes on"
    assert made.run(1).state is RunState.CLOSED
    assert failures() == 1


class Asked:
    """Notes which runs it was asked to judge."""

    def __init__(self) -> None:
        self.runs: list[int] = []

    def ask(self, runs: Sequence[int]) -> None:
        self.runs += runs


def test_a_run_is_asked_for_once_while_its_judging_is_under_way(
    build: Callable[..., House],
) -> None:
    house = build()
    run = closed_run(house.contest, "ant")
    asked = Asked()
    watch = AutomaticJudging(house.contest, cast(Judging, asked))
    for _ in range(3):
        watch.look()
    assert asked.runs == [run.id]


def test_the_judge_of_a_worker_that_died_and_the_next_one_make_one_judgement(
    build: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first judge goes on after its worker has died; its judgement is confirmed before the second one begins."""
    house = build(publish_by=1)
    run = closed_run(house.contest, "ant")
    clock = Clock()
    folder = house.contest.folder
    first_is_done = threading.Event()

    def later(*words: str, **limit: float | None) -> Any:
        first_is_done.wait()
        return run_command(*words, **limit)

    monkeypatch.setattr(judge_process, "run_command", later)
    next_worker = Judging(folder, house.store, clock)
    next_worker.ask([run.id])
    judged = judge(house.contest, run.id, clock)
    confirm(house.contest, run.id, Seen(judged.judged_utc), "Eva", START)
    first_is_done.set()
    until(lambda: not next_worker.runs)
    assert len(house.store.scores.judgements(run.id)) == 1
    assert unpublished(house.contest)[run.id] is Awaited.PUBLICATION
    kinds = [one["kind"] for one in house.store.log.of_run(run.id)]
    assert JUDGE_FAILED not in kinds

    next_worker.ask([run.id])  # of a judged run it is asked to judge again
    until(lambda: not next_worker.runs)
    assert len(house.store.scores.judgements(run.id)) == 2
