"""The uncertainty of a judged run's score: a bootstrap over images, and the meter's stated accuracy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import GroundTruth
from referee.clock import Clock
from referee.contest import Contest
from referee.judging.case import scored_detections
from referee.judging.checks import is_scorable
from referee.judging.judge import counted, judge
from referee.scoring.bootstrap import BOOTSTRAP_METRICS, bootstrap_samples, centred
from referee.scoring.interval import Resampled, middle
from referee.store.records import Run, Score, ScoreInterval

Floats = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 1000
SEED = 0


def judge_with_interval(contest: Contest, number: int, clock: Clock, *, corrected: bool = False) -> Score:
    """Judge a run, then add the interval of its score, if its metric has a bootstrap. Raises as `judge` does.

    The score is stored first: the interval takes a thousand times as long, and no prize depends on it.
    """
    judged, metric = judge(contest, number, clock, corrected=corrected), contest.config.metric
    if metric not in BOOTSTRAP_METRICS:
        return judged
    ground_truth, rows, _ = counted(contest, contest.store.run(number))
    interval, maps = interval_of(ground_truth, rows, metric, judged)
    contest.store.add_interval(judged, interval, maps)
    return replace(judged, interval=interval)


def interval_of(
    ground_truth: GroundTruth, rows: Floats, metric: str, judged: Score, seed: int = SEED
) -> tuple[ScoreInterval, Floats]:
    """The interval of a judgement, and the mAPs (RESAMPLES,) of the resamples, from the rows (n, 7) that count."""
    samples = bootstrap_samples(ground_truth, scored_detections(rows, metric), metric, RESAMPLES, seed)
    maps, bias = centred(samples, judged.map), float(samples.mean()) - judged.map
    uncertainty = energy_uncertainty(judged)
    of_score: tuple[float | None, float | None] = None, None
    if uncertainty is not None and is_scorable(judged.energy_wh):
        errors = np.random.default_rng(seed).uniform(-1.0, 1.0, RESAMPLES)
        of_score = middle(Resampled(maps, judged.energy_wh, uncertainty).scores(errors), LEVEL)
    return ScoreInterval(LEVEL, RESAMPLES, seed, *middle(maps, LEVEL), *of_score, uncertainty, bias), maps


def resampled(contest: Contest, run: Run, judged: Score) -> Resampled | None:
    """What the order of a run and others depends on; None without a score, or where its uncertainty is not known."""
    maps, energy_wh, interval = contest.store.resampled_maps(run.id), judged.energy_wh, judged.interval
    uncertainty = None if interval is None else interval.energy_uncertainty
    if interval is None or maps is None or uncertainty is None or not is_scorable(energy_wh):
        return None
    images = interval.seed, interval.resamples, np.sort(contest.store.image_order(run.id)).tobytes()
    meter = (run.meter_identity, run.setup) if run.meter_identity and run.setup.range_w else None
    return Resampled(maps, energy_wh, uncertainty, images, meter)


def energy_uncertainty(judged: Score) -> float | None:
    """The meter's limit of error for a judged run's energy, relative to it, as its check `accuracy` found it.

    None where the readings or the meter do not give one, and where it is not below 100 %.
    """
    found = next((check.figures["uncertainty"] for check in judged.checks if check.code == "accuracy"), None)
    return found if found is not None and found < 1 else None
