"""Sampling the meter of a run that was taken up after a restart, as soon as the meter answers."""

from __future__ import annotations

import logging

from power.errors import MeterError
from referee.clock import Clock
from referee.runs.open_run import LiveRun
from referee.runs.window import Phase, phase_at

logger = logging.getLogger(__name__)
RESUME_RETRY_S = 1.0


def resume_sampling(live: LiveRun, clock: Clock) -> None:
    """Return once the run's meter is sampled, its window over, or the run closed or let go of."""
    window, warned = live.window, False
    while phase_at(window, clock.monotonic_s()) is Phase.OPEN:
        with live.closing:
            if live.ending.is_set() or live.done.is_set():
                return
            try:
                live.meter.sampler.resume()
            except MeterError as error:
                if not warned:
                    logger.warning("run %d: its meter does not answer yet: %s", live.run.id, error.sentence)
                warned = True
            else:
                return
        again_s = clock.monotonic_s() + RESUME_RETRY_S
        clock.wait(live.ending, min(again_s, window.deadline_s))
