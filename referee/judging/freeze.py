"""The freeze of the public board: which results the public may see, and from when newer ones are hidden. Pure.

Everything that shows figures to the public asks `Freeze`: the pages, the teams' own scores, the reports, the season.
The operators' console and the judge always use the present results.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from referee.judging.prize_states import contest_is_over, with_prize_states
from referee.judging.ranking import FailedCheck, NotRanked, Standing
from referee.store.records import BoardState, Published

NOTE_NOT_PUBLIC = "accepted by an operator"
NOT_KNOWN = {
    "power_w": None,
    "figure_state": None,
    "as_of_utc": None,
    "map": None,
    "energy_wh": None,
    "score": None,
}
"""The figures of an open run while none of them is known."""
EMPTY_HALL: dict[str, list[Any]] = {
    "now": [],
    "next": [],
    "announcements": [],
    "answers": [],
}
NO_POWER: dict[str, list[float]] = {"elapsed_s": [], "power_w": []}
NO_FIGURES: dict[str, Any] = NOT_KNOWN | {
    "power": NO_POWER,
    "images_answered": None,
    "images": None,
}
"""The figures shown for a run without figures, or with figures that the public may not see."""
NO_COURSE: dict[str, list[float]] = {"elapsed_s": [], "energy_wh": [], "score": []}
ABSENT_IN_AN_EARLIER_FORM: dict[str, Any] = {
    "energy_lost": [],
    "corrections": [],
    "rules": {},
    "figures": {},
    "heats": [],
    "tournament": None,
    "teams": {},
}


@dataclass(frozen=True)
class Freeze:
    """The present freeze: the published `row` (None before the first publication) and the contest's `freeze_at`."""

    row: Published | None
    freeze_at: datetime | None = None

    @property
    def state(self) -> BoardState:
        """The state of the board; it is live before anything is published."""
        return BoardState.LIVE if self.row is None else self.row.state

    @property
    def is_on(self) -> bool:
        """True while the board is frozen, or is being unveiled."""
        return self.state is not BoardState.LIVE

    def is_due(self, now: datetime) -> bool:
        """Return True from `freeze_at` on, unless the board has been unveiled since then."""
        if self.freeze_at is None or now < self.freeze_at:
            return False
        unveiled_utc = None if self.row is None else self.row.unveiled_utc
        if unveiled_utc is None:
            return True
        return datetime.fromisoformat(unveiled_utc) < self.freeze_at

    def hides_news(self, now: datetime) -> bool:
        """Return True if the public must not see newer results, because the board is frozen or due to be frozen."""
        return self.is_on or self.is_due(now)

    def since_utc(self, now: datetime) -> str | None:
        """Return the time from which on results are hidden from the public, or None if none are hidden."""
        if self.row is not None and self.is_on:
            return self.row.frozen_utc or self.row.utc
        if self.freeze_at is None or not self.is_due(now):
            return None
        return self.freeze_at.astimezone(UTC).isoformat()

    def public_standings(self) -> list[Standing]:
        """Return the runs that the public sees, ranked runs first; a review is shown without its note."""
        if self.row is None:
            return []
        board = public_view(self.row)
        places = (*board["ranking"], *board["unranked"])
        return [_standing_of(place) for place in places]


def public_view(row: Published) -> dict[str, Any]:
    """Return the published results and the hall's document as one document, with the state of the board.

    Open runs have figures only while the board is live, because a power curve reveals the energy. While the board is
    being unveiled, the unveiled last places are those of the final ranking. The other teams come before them, as they
    were at the freeze, but without a rank.
    """
    document: dict[str, Any] = ABSENT_IN_AN_EARLIER_FORM | json.loads(row.document)
    figures = document.pop("figures")
    hall: dict[str, Any] = {} if row.hall is None else json.loads(row.hall)
    board: dict[str, Any] = (
        EMPTY_HALL
        | hall
        | {
            "state": row.state,
            "utc": row.hall_utc or row.utc,
            "unveiled": row.unveiled,
            "places": row.places,
        }
    )
    if not Freeze(row).is_on:
        now = [one | _figures_at(one, figures) for one in board["now"]]
        return _with_end(document | board | {"now": now}, row)

    board["now"] = [one | NO_FIGURES for one in board["now"]]
    board["heats"] = [_frozen_heat(heat) for heat in document["heats"]]
    board["energy_lost"] = []
    board["frozen_utc"] = row.frozen_utc
    if row.final is not None:
        final = json.loads(row.final)["ranking"]
        board["ranking"] = _unveiled(document["ranking"], final, row.unveiled)
        board["prizes"] = []
        board["unranked"] = []
        board["left_out"] = []
    return _with_end(document | board, row)


def _with_end(board: dict[str, Any], row: Published) -> dict[str, Any]:
    """Return the document with `is_over`, and with the state of each prize."""
    board["is_over"] = contest_is_over(board, row.unveiled_utc)
    board["prizes"] = with_prize_states(board)
    return board


def _standing_of(place: dict[str, Any]) -> Standing:
    """Return an entry of the public board's document as a standing.

    Fields that an earlier version lacks get their default.
    """
    names = {one.name for one in fields(Standing)}
    found: dict[str, Any] = {
        name: value for name, value in place.items() if name in names
    }
    code = found.get("not_ranked_code")
    failed_checks = [FailedCheck(**one) for one in place.get("failed_checks", ())]
    typed = {
        "failed_checks": tuple(failed_checks),
        "other_rules": tuple(place.get("other_rules", ())),
        "not_ranked_code": None if code is None else NotRanked(code),
        "reviewed": NOTE_NOT_PUBLIC if place["reviewed"] else None,
    }
    return Standing(**found | typed)


def _figures_at(running: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a station's run, or NO_FIGURES if `figures` has those of the station's previous run."""
    found: dict[str, Any] = figures.get(running["station"], NO_FIGURES)
    is_its_own = found.get("ends_utc") == running["ends_utc"]
    return NO_FIGURES | found if is_its_own else NO_FIGURES


def _frozen_heat(heat: dict[str, Any]) -> dict[str, Any]:
    """Return a heat without course and power of its runs, unless it was decided before the freeze."""
    if any(side["points"] is not None for side in heat["sides"]):
        return heat
    sides = [side | {"course": NO_COURSE, "power": NO_POWER} for side in heat["sides"]]
    return heat | {"sides": sides}


def _unveiled(
    frozen: list[Any],
    final: list[Any],
    count: int,
) -> list[Any]:
    """Return the ranking while it is unveiled: hidden teams without a rank, then the last `count` final places.

    An unveiled place does not show its comparison with hidden places.
    """
    seen = final[len(final) - count :]
    teams = {place["team"] for place in seen}
    unveiled = []
    for place in seen:
        level_with = [one for one in place["level_with"] if one["team"] in teams]
        unveiled.append(place | {"differs": [], "level_with": level_with})
    without_rank: dict[str, Any] = {"rank": None, "differs": [], "level_with": []}
    hidden = [place for place in frozen if place["team"] not in teams]
    rest = [place | without_rank for place in hidden]
    return rest + unveiled
