"""A run is judged by itself when it is over: once, after its energy was read, and a failure waits for a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from referee.store.records import (
    ENERGY_MISSING,
    JUDGE_FAILED,
    JUDGED,
    RUN_CLOSED,
    EnergyMissing,
    RunState,
)
from referee.web.automatic_judging import is_due
from tests.contest_day import Day, until
from tests.referee.factories import run_record

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
