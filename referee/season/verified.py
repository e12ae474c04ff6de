"""Whether the figures of a contest hold: each score by its formula, by its log, and the log by its chain. Pure.

Who can write to a contest's folder can change a figure there. The log has every judgement of every run, and its links
bind the log; who changes all of these alike has to compute the whole log again, which `referee bundle verify --head`
shows to whoever kept an earlier link. The log of an earlier version says less of a judgement: what it does not say is
not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from referee.errors import RefereeError
from referee.judging.leaderboard import Standing
from referee.scoring.result import score
from referee.store.chain import LOG_START
from referee.store.log import LoggedEvent
from referee.store.records import JUDGED, Run, Score

Figures = Score | Standing
NAMES = ("map", "energy_wh", "score", "signature")
_EXACT = 1e-9


@dataclass
class Log:
    """What a contest's log says: where its links do not hold, its judgements by run, the runs that it names."""

    broken_at: int | None = None
    judgements: dict[int, list[Mapping[str, Any]]] = field(default_factory=dict)
    runs: set[int] = field(default_factory=set)


def read_log(events: Iterable[LoggedEvent]) -> Log:
    """Follow the chain of a log from its start; up to form 11 no event has a link."""
    found, link = Log(), LOG_START
    for number, event in enumerate(events, start=1):
        is_first_without = number == 1 and not event.link
        is_linked = bool(event.link) or bool(link)
        is_right = event.id == number and event.link == event.link_after(link)
        if found.broken_at is None and is_linked and not is_first_without and not is_right:
            found.broken_at = number
        link = event.link
        if event.run is None:
            continue
        found.runs.add(event.run)
        if event.kind == JUDGED:
            found.judgements.setdefault(event.run, []).append(event.values)
    return found


def contest_fault(log: Log, runs: Sequence[Run]) -> str | None:
    """What does not hold of a contest as a whole, so of none of its figures; None if all does."""
    if log.broken_at is not None:
        return f"its log is not the one that was written: event {log.broken_at} was changed, added or removed"
    if gone := log.runs - {run.id for run in runs}:
        return f"its log has run {min(gone)}, which is gone"
    return None


def formula_fault(figures: Figures) -> str | None:
    """What does not hold of a score by its own figures; None if it does, or if there is no score."""
    if figures.score is None or figures.energy_wh is None:
        return None
    try:
        by_formula = score(figures.map, figures.energy_wh)
    except RefereeError:
        return f"its energy is {figures.energy_wh} Wh, with which there is no score"
    if math.isclose(figures.score, by_formula, rel_tol=_EXACT):
        return None
    formula = f"{figures.map:.5f} / {figures.energy_wh:.4f} Wh = {by_formula:.4f}"
    return f"its score is {figures.score:.4f}, and by its own figures {formula}"


def record_fault(run: Run, figures: Figures, log: Log, judgements: int, *, is_frozen: bool) -> str | None:
    """What does not hold of a run's figures by its log; None if they do. The database has so many `judgements`.

    The log of a run whose rules are not bound, by an earlier version, need not have them. A frozen board may show an
    earlier one.
    """
    on_record = log.judgements.get(run.id, [])
    if run.rules is not None and len(on_record) != judgements:
        return f"its log has {len(on_record)} judgements of it, the database {judgements}"
    differences = [_difference(figures, one) for one in on_record]
    if not differences or (is_frozen and None in differences):
        return None
    return differences[-1]


def _difference(figures: Figures, on_record: Mapping[str, Any]) -> str | None:
    for name in NAMES:
        found = getattr(figures, name)
        if name in on_record and on_record[name] != found:
            return f"its {name} is {found}, and by its log {on_record[name]}"
    return None
