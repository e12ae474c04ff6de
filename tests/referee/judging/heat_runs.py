"""Runs of heats with given figures, as a contest day leaves them in the store."""

from __future__ import annotations

from lpirc_power.energy import Check
from referee.store import Store
from referee.store.records import Heat, RunState, Score
from tests.referee.factories import START, stored_run

FAILED = Check(
    "peak-clipping",
    ok=False,
    severity="error",
    sentence="Clipped.",
    figures={},
)


def judged_side(
    store: Store,
    team: str,
    heat: str,
    energy_wh: float | None = 1.0,
    *checks: Check,
    station: str = "one",
    reached: float = 0.5,
) -> int:
    run = stored_run(store, team=team, heat=heat, station=station).id
    store.runs.change(
        run,
        (RunState.ARMED,),
        state=RunState.JUDGED.value,
        energy_wh=energy_wh,
        opened_utc=START.isoformat(),
        elapsed_s=60.0,
    )
    score = reached / energy_wh if energy_wh else None
    store.scores.add(
        Score(
            run,
            START.isoformat(),
            reached,
            energy_wh,
            score,
            None,
            5,
            7,
            {},
            "",
            checks,
        )
    )
    return run


def made(store: Store, *names: str, round_: int | None = None) -> None:
    for name in names:
        store.heats.put(Heat(name, START.isoformat(), "jo", round_))


def won(
    store: Store,
    heat: str,
    winner: str,
    loser: str,
    round_: int | None = None,
) -> None:
    """A heat that its first team has won."""
    made(store, heat, round_=round_)
    judged_side(store, winner, heat, 1.0)
    judged_side(store, loser, heat, 2.0, station="two")
