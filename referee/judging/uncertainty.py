"""The uncertainty of a judged run's score: a bootstrap over images, and the meter's stated accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from referee.contest import Contest
from referee.judging.checks import is_scorable
from referee.judging.scoring_job import RESAMPLES, SEED
from referee.scoring.bootstrap import centred
from referee.scoring.interval import Resampled, middle
from referee.store.records import Run, Score, ScoreInterval

Floats = NDArray[np.float64]

LEVEL = 0.95


def interval_from(samples: Floats, judged: Score, seed: int = SEED) -> tuple[ScoreInterval, Floats]:
    """The interval of a judgement from the mAPs (RESAMPLES,) of resamples; and those, centred."""
    maps, bias = centred(samples, judged.map), float(samples.mean()) - judged.map
    uncertainty = energy_uncertainty(judged)
    of_score: tuple[float | None, float | None] = None, None
    if uncertainty is not None and is_scorable(judged.energy_wh):
        errors = np.random.default_rng(seed).uniform(-1.0, 1.0, RESAMPLES)
        of_score = middle(Resampled(maps, judged.energy_wh, uncertainty).scores(errors), LEVEL)
    return ScoreInterval(LEVEL, RESAMPLES, seed, *middle(maps, LEVEL), *of_score, uncertainty, bias), maps


def resampled(contest: Contest, run: Run, judged: Score) -> Resampled | None:
    """What the order of a run and others depends on; None without a score, or where its uncertainty is not known."""
    maps = contest.store.resampled_maps(run.id)
    return resampled_of(run, judged, maps, np.sort(contest.store.image_order(run.id)).tobytes())


def resampled_of(run: Run, judged: Score, maps: Floats | None, which: object) -> Resampled | None:
    """As `resampled`, with the judgement's mAPs (R,) of the resamples; `which` says of what images, if known."""
    energy_wh, interval = judged.energy_wh, judged.interval
    uncertainty = None if interval is None else interval.energy_uncertainty
    if interval is None or maps is None or uncertainty is None or not is_scorable(energy_wh):
        return None
    images = which and (interval.seed, interval.resamples, which)
    meter = (run.meter_identity, run.setup) if run.meter_identity and run.setup.range_w else None
    return Resampled(maps, energy_wh, uncertainty, images, meter)


def energy_uncertainty(judged: Score) -> float | None:
    """How far a judged run's energy may be off, relative to it; None where that is not known, or not below 100 %."""
    limit = judged.energy_limit
    return limit if limit is not None and limit < 1 else None
