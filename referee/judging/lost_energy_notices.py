"""Lists the runs that lost their energy, one line each, until a run is void or accepted by a review."""

from __future__ import annotations

from dataclasses import dataclass

from referee.contest import Contest
from referee.judging.run_figures import current_judgement, standing_review
from referee.store.lost_energy import energy_lost
from referee.store.records import ENERGY_LOST, ENERGY_MISSING, Run, RunState


@dataclass(frozen=True)
class LostEnergy:
    """A run with a lost energy, and the sentence that reports it."""

    run: int
    team: str
    station: str
    sentence: str


def lost_energies(contest: Contest) -> list[LostEnergy]:
    """Return the runs with a lost energy, oldest first."""
    found = []
    for number, events in contest.store.log.of_kinds(
        (ENERGY_LOST, ENERGY_MISSING)
    ).items():
        run = contest.store.runs.get(number)
        lost = energy_lost(events)
        if lost is not None and not _is_settled(contest, run):
            sentence = lost.sentence(run.id, run.team)
            found.append(LostEnergy(run.id, run.team, run.station, sentence))
    return found


def lost_energy_of(contest: Contest, number: int) -> str | None:
    """Return the sentence that reports a run's lost energy, or None."""
    return next(
        (one.sentence for one in lost_energies(contest) if one.run == number),
        None,
    )


def _is_settled(contest: Contest, run: Run) -> bool:
    """Return True if nothing is left to do about the lost energy: the run is void, or a review accepted it."""
    if run.state is RunState.VOID:
        return True
    judged = current_judgement(contest, run)
    if judged is None:
        return False
    return (
        standing_review(judged, contest.store.reviews.latest().get(run.id)) is not None
    )
