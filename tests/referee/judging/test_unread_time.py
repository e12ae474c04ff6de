"""The time without readings: named, and left out of the steps of the power."""

from __future__ import annotations

import numpy as np

from referee.judging.power_steps import PowerStep
from referee.judging.unread_time import (
    Pause,
    pauses_between,
    steps_outside,
    unread_words,
)


def test_a_meter_that_is_lost_and_comes_again_pauses_as_does_one_that_ends_early() -> (
    None
):
    when_s = np.concatenate([np.arange(0, 30, 0.1), np.arange(50, 80, 0.1)])
    lost, ended = pauses_between(when_s, 100.0, 0.1)
    assert (round(lost.start_s, 1), lost.end_s) == (29.9, 50.0)
    assert (round(ended.start_s, 1), ended.end_s) == (79.9, 100.0)
    assert pauses_between(when_s[:300], 30.0, 0.1) == ()


def test_slow_updates_are_no_pauses_and_no_reading_at_all_is_none() -> None:
    assert pauses_between(np.arange(0, 100, 20.0), 100.0, 20.0) == ()
    assert pauses_between(np.zeros(0), 100.0, 0.1) == ()


def test_steps_are_cut_where_nothing_was_read() -> None:
    steps = (PowerStep(0.0, 40.0, 5.0), PowerStep(40.0, 100.0, 9.0))
    pauses = (Pause(0.0, 3.0), Pause(30.0, 50.0), Pause(80.0, 100.0))
    assert steps_outside(steps, pauses) == (
        PowerStep(3.0, 30.0, 5.0),
        PowerStep(50.0, 80.0, 9.0),
    )
    assert steps_outside(steps, ()) == steps


def test_the_words_have_the_sum_and_the_first_pause() -> None:
    assert unread_words(()) == ""
    words = unread_words((Pause(30.0, 50.0), Pause(80.0, 100.0)))
    assert words == (
        "The meter was not read for 40.0 s of the run (from 30.0 to 50.0 s, the first of 2 times), "
        "so the power of that time is not known."
    )
