"""The settings of a run, asked for in turn with its updates: one that is changed in mid-run shows within seconds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from lpirc_power.wt300 import answers
from lpirc_power.wt300.settings import Ask, Setting

ROUND_S: Final = 2.0
"""So long, or one update if that is longer, it takes until every setting was asked for."""


class Watch:
    """Owns which settings are asked for next."""

    def __init__(self, settings: Sequence[Setting], interval_s: float) -> None:
        self._turns = itertools.cycle(settings)
        self._at_once = min(len(settings), math.ceil(len(settings) * interval_s / ROUND_S))

    def differing(self, query: Ask) -> str:
        """Ask for the next settings, in one message; return what differs from them, "" if nothing does."""
        asked = list(itertools.islice(self._turns, self._at_once))
        # An answer that got lost or garbled on its way is not a setting that was changed.
        return _differing(asked, query) and _differing(asked, query)


def _differing(asked: Sequence[Setting], query: Ask) -> str:
    answer = query(";".join(setting.query for setting in asked))
    found = answers.parts(answer)
    if len(found) != len(asked):
        return f"the settings cannot be read back (the meter answers {answer!r})"
    return "; ".join(
        f"{setting.command} was set, it is {one}"
        for setting, one in zip(asked, found, strict=True)
        if setting.contradicts(one)
    )
