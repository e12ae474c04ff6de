"""No window opens before images, key and database were looked at in full."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from referee.errors import RefereeError
from referee.runs.run_control import RunControl
from referee.runs.start_checks import LONGEST_WAIT_S, Found, StartChecks
from referee.store.records import RunState
from tests.referee.factories import TEAM, House


def test_a_log_in_waits_for_the_look_and_a_fault_opens_no_window(
    build: Callable[..., House],
) -> None:
    house = build(auto_arm=True)
    checks = StartChecks()
    control = RunControl(house.contest, house.clock, checks)
    ways = (
        lambda: control.login(TEAM),
        lambda: control.arm(TEAM, "one"),
        lambda: control.start("heat"),
    )
    with ThreadPoolExecutor(len(ways)) as threads:
        waiting = [threads.submit(way) for way in ways]
        house.clock.advance(LONGEST_WAIT_S + 1)
        errors = [each.exception() for each in waiting]
    checks.note(Found.FAULTS)
    for way in ways:
        with pytest.raises(RefereeError) as refused:
            way()
        errors.append(refused.value)
    assert [getattr(error, "code", error) for error in errors] == ["not-ready"] * 6
    assert ["still checking" in str(error) for error in errors] == [True] * 3 + [
        False
    ] * 3
    assert house.store.runs.find() == []
    checks.note(Found.SOUND)
    assert control.login(TEAM).run.state is RunState.OPEN
    control.shutdown()
