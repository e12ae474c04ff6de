"""Watches the settings of a run during measurement, so that changes by another client or a person show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final

from lpirc_power.meter import Unconfirmed
from lpirc_power.wt300 import answers
from lpirc_power.wt300.setting_commands import Setting

ROUND_S: Final = 2.0
"""Time in which every setting is read once, or one update if longer."""


def difference(setting: Setting, answer: str) -> str:
    """Return a phrase for an answer that differs from a setting; `Unconfirmed` if the answer has no meaning."""
    if setting.contradicts(answer):
        return f"{setting.command} was set, it is {answer}"
    return Unconfirmed(f"{setting.command} was set, but the meter answered {answer!r}")


def differences(settings: Sequence[Setting], found: Sequence[str]) -> list[str]:
    """Return one phrase for each answer that differs from its setting."""
    return [
        difference(setting, answer)
        for setting, answer in zip(settings, found, strict=True)
        if not setting.holds(answer)
    ]


class Watch:
    """Settings of a run. Each update queries a few of them, so that a change during the run shows within seconds."""

    def __init__(self, settings: Sequence[Setting], interval_s: float) -> None:
        self._interval_s = interval_s
        self._begin(settings)

    def _begin(self, settings: Sequence[Setting]) -> None:
        self._settings = tuple(settings)
        self._turns = itertools.cycle(self._settings)
        self._at_once = min(
            len(settings), math.ceil(len(settings) * self._interval_s / ROUND_S)
        )

    def add(self, settings: Sequence[Setting]) -> None:
        """Watch more settings; those already watched are not queried twice."""
        new = [one for one in settings if one not in self._settings]
        if new:
            self._begin([*self._settings, *new])

    def differing(self, query: Callable[[str], str]) -> str:
        """Query the next settings in one message; return a phrase for those that differ, "" if none do."""
        asked = list(itertools.islice(self._turns, self._at_once))
        # Ask again: a lost or garbled answer does not mean that a setting was changed.
        return _differing(asked, query) and _differing(asked, query)


def _differing(asked: Sequence[Setting], query: Callable[[str], str]) -> str:
    answer = query(";".join(setting.query for setting in asked))
    found = answers.parts(answer)
    if len(found) != len(asked):
        return f"the settings cannot be read back (the meter answers {answer!r})"
    return "; ".join(
        f"{setting.command} was set, it is {one}"
        for setting, one in zip(asked, found, strict=True)
        if setting.contradicts(one)
    )
