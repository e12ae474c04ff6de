"""What a session says of a meter's keys when it cannot reach the meter at the end."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterLost
from lpirc_power.sampling.meter_session import MeterSession


class Keyed:
    """A meter whose `lock_panel` returns what a test says."""

    identity = "ACME Plug"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def attach(self, element: str) -> None:
        """Accept any element."""

    def lock_panel(self) -> object:
        return self.answer

    def unlock_panel(self) -> bool:
        raise MeterLost("The plug gives no answer.")

    def close(self) -> None:
        """Hold nothing."""


@pytest.mark.parametrize(
    ("answer", "says"), [(False, False), (True, True), (None, True)]
)
def test_only_of_a_meter_that_may_have_a_lock_the_keys_may_still_be_locked(
    monkeypatch: Any, caplog: Any, answer: object, says: bool
) -> None:
    session = MeterSession("sim:constant:36W", "1", real_clocks())
    monkeypatch.setattr(session, "_meter", Keyed(answer))
    session.lock_panel()
    with caplog.at_level(logging.WARNING):
        session.unlock_panel()
    assert ("may still be locked" in caplog.text) is says
