"""The released figures of a run that is not judged yet: seldom, roughly, of a secret half of its images.

A figure that follows each row is an oracle: whoever asks it often enough learns the ground truth. What is released here
teaches next to nothing (docs/security.md has what was measured), and in the end all images count.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from lpirc_score import score
from referee.contest import Contest
from referee.judging.figure_freshness import state_of
from referee.judging.figure_state import FigureState
from referee.judging.run_checks import is_scorable
from referee.judging.run_figures import current_judgement
from referee.store.records import Released, Run, RunState

EVERY_S = 30.0
"""Figures of an open run are released at most once in each such part of its window, never in the first."""

MAP_DIGITS = 2
"""Digits of an mAP after the point. Significant digits would be finer for a small mAP, and that is an oracle, too."""

SCORE_DIGITS = 2
"""Significant digits of a score."""


def half_of(
    secret: bytes,
    run: Run,
    order: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Half of a run's images, rounded up, by their numbers in the test set, ascending.

    It is drawn by the contest's secret and the run, so it is the same one after a restart.
    """
    digest = hmac.digest(
        secret,
        f"half of run {run.id} {run.nonce}".encode(),
        hashlib.sha256,
    )
    drawn = np.random.default_rng(list(digest)).permutation(np.sort(order))
    return np.sort(drawn[: (len(order) + 1) // 2])


def is_due(
    run: Run,
    before: Released | None,
    now: datetime,
) -> bool:
    """Tell whether figures of an open run may be released `now`, after those released `before`."""
    part = _part(run, now)
    if part is None or part < 1:
        return False
    if before is None:
        return True
    released = _part(run, datetime.fromisoformat(before.released_utc))
    return released is not None and released < part


def _part(run: Run, moment: datetime) -> int | None:
    """Return the number of the interval of EVERY_S seconds since the run opened that a moment lies in, from 0."""
    if run.opened_utc is None:
        return None
    return int(
        (moment - datetime.fromisoformat(run.opened_utc)).total_seconds() // EVERY_S
    )


def rough_map(value: float) -> float:
    """Return an mAP with the digits that are released."""
    return round(value, MAP_DIGITS)


def rough_score(released_map: float, energy_wh: float | None) -> float | None:
    """Return the score that follows from a released mAP, so it reveals no more about the true one."""
    if not is_scorable(energy_wh):
        return None
    return float(f"{score(released_map, energy_wh):.{SCORE_DIGITS - 1}e}")


def release_of(
    run: Run,
    half_map: float,
    energy_wh: float | None,
    detections: int,
    *,
    utc: str,
    now: datetime,
) -> Released:
    """Return the figures to release `now`; the figures are of `utc`."""
    shown = rough_map(half_map)
    return Released(
        run=run.id,
        released_utc=now.isoformat(),
        utc=utc,
        map=shown,
        energy_wh=energy_wh,
        score=rough_score(shown, energy_wh),
        detections=detections,
    )


def is_last(
    run: Run,
    before: Released | None,
    detections: int,
) -> bool:
    """Tell whether of a run that is over the last figures are released."""
    if run.state is RunState.OPEN or before is None:
        return False
    return (before.energy_wh, before.detections) == (run.energy_wh, detections)


def released_of(
    contest: Contest,
    run: Run,
    now: datetime,
) -> Released | None:
    """Return the released figures of a run that has opened; None before the first.

    Until it is judged that is what was released, without energy and score unless these are fresh `now`. Then it is what
    was judged, of all images, and as rough.
    """
    judged = current_judgement(contest, run)
    if judged is not None:
        utc = judged.judged_utc
        shown = rough_map(judged.map)
        rough = rough_score(shown, judged.energy_wh)
        return Released(
            run.id,
            utc,
            utc,
            shown,
            judged.energy_wh,
            rough,
            judged.detections,
        )
    released = contest.store.provisional.released(run.id)
    if released is None or state_of(contest.store, run, now) is FigureState.FRESH:
        return released
    return replace(released, energy_wh=None, score=None)
