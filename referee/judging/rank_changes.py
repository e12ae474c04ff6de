"""What other settings would do to the ranking: which judged runs would lose their place, and whose rank changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from referee.contest import Contest
from referee.judging.standings import Standings, standings

MOST_NAMED = 12


@dataclass(frozen=True)
class RankChanges:
    """Runs by number. `lost` were comparable and would be left out, `back` are left out and would be comparable.

    `moved` have another rank, though they stay.
    """

    lost: tuple[int, ...] = ()
    moved: tuple[int, ...] = ()
    back: tuple[int, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The changes in words, the worst first; empty if there is none."""
        said = []
        if self.lost:
            many = (
                "judged runs lose their rank"
                if len(self.lost) > 1
                else "judged run loses its rank"
            )
            why = "judged by other rules than these; the board leaves out what cannot be compared"
            said.append(f"{len(self.lost)} {many}: {_numbers(self.lost)}, {why}.")
        if self.moved:
            many = "judged runs have" if len(self.moved) > 1 else "judged run has"
            said.append(
                f"{len(self.moved)} {many} another rank: {_numbers(self.moved)}."
            )
        if self.back:
            many = "judged runs are" if len(self.back) > 1 else "judged run is"
            said.append(f"{len(self.back)} {many} ranked again: {_numbers(self.back)}.")
        return said


def rank_changes(now: Contest, then: Contest) -> RankChanges:
    """Return what changes in the ranking from the settings of one contest to those of another, of the same store."""
    before = standings(now)
    after = standings(then)
    stood = {one.run for one in before.attempts}
    stays = {one.run for one in after.attempts}
    ranks = _ranks(before)
    later = _ranks(after)
    moved = [run for run in stood & stays if ranks.get(run) != later.get(run)]
    return RankChanges(
        tuple(sorted(stood - stays)),
        tuple(sorted(moved)),
        tuple(sorted(stays - stood)),
    )


def _ranks(found: Standings) -> dict[int, int | None]:
    return {place.standing.run: place.rank for place in found.places}


def _numbers(runs: Iterable[int]) -> str:
    listed = [str(one) for one in runs]
    more = len(listed) - MOST_NAMED
    shown = ", ".join(listed[:MOST_NAMED])
    return f"run {shown} and {more} more" if more > 0 else f"run {shown}"
