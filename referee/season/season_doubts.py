"""Doubts about a contest in a season: whether its figures match its log, and whether the log's chain is intact. Pure.

The chain covers the content of the log: every judgement, closing and act. A log that was rewritten from its first event
on has an intact chain; only the season's earlier notes (`referee.season.season_pins`) reveal it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from lpirc_score.metrics.contest_score import score as score_of
from referee.contest_rules import DEFAULT
from referee.errors import RefereeError
from referee.judging.bound_rules import rule_of
from referee.judging.released_figures import (
    PUBLISHED_MAP_DIGITS,
    published_figures,
    published_score_digits,
)
from referee.season.log_claims import Record
from referee.store.records import Run, RunState

LINKED = 12  # the first form of the database with a chained log
TOLERANCE = 1e-9  # relative tolerance for a quotient
FIGURES = ("map", "energy_wh", "score")


class DoubtCode(StrEnum):
    """Kinds of doubt about a run or its contest; a run loses its rank by any of them except NOT_BOUND."""

    SCORE = "score-differs"
    JUDGEMENT = "judgement-differs"
    ENERGY = "energy-differs"
    BODIES = "bodies-differ"
    VOID = "void-differs"
    LOG = "log-broken"
    RUN = "run-missing"
    KEY = "key-differs"
    HISTORY = "history-differs"
    NOT_BOUND = "not-bound"


@dataclass(frozen=True)
class Doubt:
    """A doubt: a code for programs, and a clause with the values."""

    code: DoubtCode
    sentence: str


class Figures(Protocol):
    """The figures by which a season ranks: those of a judgement or a standing."""

    @property
    def map(self) -> float | None: ...  # noqa: D102 - as in Score and Standing
    @property
    def energy_wh(self) -> float | None: ...  # noqa: D102
    @property
    def score(self) -> float | None: ...  # noqa: D102


def doubts_of_log(
    record: Record,
    form: int,
    runs: Iterable[Run],
) -> tuple[Doubt, ...]:
    """Return the doubts about a contest as a whole, which apply to each of its runs.

    `form` is the database's version.
    """
    listed = list(runs)
    is_bound = any(run.rules is not None for run in listed)
    if not record.is_linked and form < LINKED and not is_bound:
        clause = "an earlier version wrote its log without a hash chain: nothing shows whether its figures were changed"
        return (Doubt(DoubtCode.NOT_BOUND, clause),)
    found = []
    if record.broken_at is not None:
        clause = f"the chain of its contest's log breaks at event {record.broken_at}: the log was changed there"
        found.append(Doubt(DoubtCode.LOG, clause))
    if missing := sorted(record.runs - {run.id for run in listed}):
        clause = (
            f"its contest's log mentions run {missing[0]}, which is not in the database"
        )
        found.append(Doubt(DoubtCode.RUN, clause))
    for run in listed:
        is_said = record.is_void.get(run.id, False)
        if run.state is RunState.VOID and run.rules is not None and not is_said:
            clause = (
                f"run {run.id} of its contest is void, but no event of the log says so"
            )
            found.append(Doubt(DoubtCode.VOID, clause))
    return tuple(found)


def doubts_of_run(
    run: Run,
    figures: Figures,
    record: Record,
    head: tuple[int, str] | None,
    *,
    is_shown: bool = False,
) -> tuple[Doubt, ...]:
    """Return the doubts about a run's `figures`.

    `head` has the number of stored bodies and the head of their chain (empty if the chain does not begin with this
    run), or is None if the bodies were not read. With `is_shown`, the figures are those of a frozen board, and may come
    from any judgement of the run.
    """
    judged = record.judged.get(run.id, [])
    if is_shown:
        judged = [_as_shown(one, figures) for one in judged]
    found = [
        *_of_score(run, figures, is_shown),
        *_of_judgement(run, figures, judged, is_shown),
    ]
    if not is_shown and figures.energy_wh != run.energy_wh:
        clause = (
            f"it was judged with {figures.energy_wh} Wh, but has {run.energy_wh} Wh now"
        )
        found.append(Doubt(DoubtCode.ENERGY, clause))
    said_wh = record.energies_wh.get(run.id, run.energy_wh)
    if said_wh != run.energy_wh:
        clause = f"its energy is {run.energy_wh} Wh in the database and {said_wh} Wh in the log"
        found.append(Doubt(DoubtCode.ENERGY, clause))
    closed = record.closed.get(run.id, {})
    if (
        head is not None
        and "head" in closed
        and head != (closed["posts"], closed["head"])
    ):
        clause = (
            f"its {head[0]} bodies, or the run's data at the start of their chain, are not those of its event "
            f"`closed`, which states {closed['posts']} bodies"
        )
        found.append(Doubt(DoubtCode.BODIES, clause))
    if record.is_void.get(run.id, False) and not is_shown:
        found.append(
            Doubt(
                DoubtCode.VOID,
                "the log says that it is void, but the database says that it is not",
            )
        )
    return tuple(found)


def _as_shown(said: dict[str, Any], figures: Figures) -> dict[str, Any]:
    """Return a logged judgement with the figures that a board shows of it: rounded, or exact on an earlier one."""
    rounded: dict[str, Any] = published_figures(said)
    return said if said.get("map") == figures.map else rounded


def _of_score(run: Run, figures: Figures, is_shown: bool) -> list[Doubt]:
    stated = figures.score
    energy_wh = figures.energy_wh
    if rule_of(run) != DEFAULT:  # no season ranks it
        return []
    reached = figures.map
    if stated is None or energy_wh is None:
        return []
    if reached is None:
        return [Doubt(DoubtCode.SCORE, f"it has a score of {stated:.6g}, but no mAP")]
    try:
        right = score_of(reached, energy_wh)
    except RefereeError as error:
        return [
            Doubt(
                DoubtCode.SCORE,
                f"it has a score of {stated:.6g}, but {error.sentence}".rstrip("."),
            )
        ]
    off = _rounding(energy_wh) if is_shown else 0.0
    if math.isclose(stated, right, rel_tol=TOLERANCE, abs_tol=off):
        return []
    quotient = f"{reached:.6g} / {energy_wh:.6g} Wh = {right:.6g}"
    return [
        Doubt(DoubtCode.SCORE, f"its score of {stated:.6g} is not mAP / Wh: {quotient}")
    ]


def _rounding(energy_wh: float) -> float:
    """Return how far a published score may be from the quotient of the published mAP: each is rounded."""
    of_map = 0.5 * math.pow(10, -PUBLISHED_MAP_DIGITS) / energy_wh
    of_score = 0.5 * math.pow(10, -published_score_digits(energy_wh))
    return of_map + of_score


def _of_judgement(
    run: Run,
    figures: Figures,
    judged: list[dict[str, Any]],
    is_shown: bool,
) -> list[Doubt]:
    if not judged:
        if run.rules is not None:
            return [
                Doubt(
                    DoubtCode.JUDGEMENT,
                    "no event of the log says that it was judged",
                )
            ]
        clause = (
            "an earlier version judged it and did not log the judgement: nothing shows whether the judgement was "
            "changed"
        )
        return [Doubt(DoubtCode.NOT_BOUND, clause)]
    stated = {name: getattr(figures, name) for name in (*FIGURES, "signature")}
    if is_shown and any(_is_same(stated, one) for one in judged):
        return []
    if _is_same(stated, judged[-1]):
        return []
    return [Doubt(DoubtCode.JUDGEMENT, _told_difference(stated, judged[-1]))]


def _is_same(stated: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """Return True if an event has these figures; a figure that an earlier version did not log is not compared."""
    return all(said[name] == value for name, value in stated.items() if name in said)


def _told_difference(stated: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    names = {
        "map": "mAP",
        "energy_wh": "Wh",
        "score": "score",
        "signature": "signature",
    }
    differ = [
        f"{names[name]} {said[name]} in the log, {value} in the database"
        for name, value in stated.items()
        if name in said and said[name] != value
    ]
    return f"its judgement is not the one in the log: {'; '.join(differ)}"
