"""How sure the score of a judged run is: a bootstrap over images, and the meter's stated accuracy."""

from __future__ import annotations

import math
import statistics

from power.accuracy import power_range_w, relative_uncertainty
from power.meter import Identity
from referee.checks import is_scorable
from referee.contest import Contest
from referee.judging import START_S, scored_columns
from referee.records import Run, ScoreInterval
from referee.scoring.bootstrap import BOOTSTRAP_METRICS, bootstrap
from referee.scoring.interval import score_interval

LEVEL = 0.95
RESAMPLES = 1000
SEED = 0


def judge_interval(contest: Contest, number: int) -> ScoreInterval | None:
    """How sure the latest score of a judged run is, stored with it; None for a metric without a bootstrap.

    Apart from `judge`, since it takes a thousand times as much computing and no prize depends on it.
    """
    run, judged = contest.store.run(number), contest.store.latest_score(number)
    if judged is None or contest.config.metric not in BOOTSTRAP_METRICS:
        return None
    if judged.interval is not None:
        return judged.interval
    of_map = bootstrap(*scored_columns(contest, run), contest.config.metric, RESAMPLES, SEED, LEVEL)
    uncertainty = run_uncertainty(contest, run)
    of_score = None
    if uncertainty is not None and is_scorable(judged.energy_wh):
        of_score = score_interval(of_map, judged.energy_wh, uncertainty, SEED)
    interval = ScoreInterval(
        level=LEVEL,
        resamples=RESAMPLES,
        seed=SEED,
        map_low=of_map.low,
        map_high=of_map.high,
        score_low=of_score.low if of_score else None,
        score_high=of_score.high if of_score else None,
        energy_uncertainty=uncertainty,
    )
    contest.store.add_interval(number, interval)
    return interval


def run_uncertainty(contest: Contest, run: Run) -> float | None:
    """The meter's limit of error for the run's energy, relative to it; None where its readings do not tell.

    Setup and model are those of the run; nothing is known of the meters for rehearsing at home.
    """
    readings = contest.store.readings(run.id, START_S)
    good = [one for one in readings if math.isfinite(one.power_w) and math.isfinite(one.apparent_va)]
    if not good or not run.meter_identity:
        return None
    power_w = statistics.fmean(one.power_w for one in good)
    apparent_va = statistics.fmean(one.apparent_va for one in good)
    model = Identity.parse(run.meter_identity).model
    range_w = power_range_w(
        run.setup,
        model,
        statistics.fmean(one.voltage_v for one in good),
        statistics.fmean(one.current_a for one in good),
    )
    uncertainty = relative_uncertainty(power_w, apparent_va, range_w, model, run.setup.mode)
    return uncertainty if uncertainty is not None and uncertainty < 1 else None
