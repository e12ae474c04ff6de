from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement, energy_checks
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.sampling.polling import updates
from lpirc_power.visa.link import Link
from tests.timeouts import TIMEOUT_S

UPDATE_WH = 36 * 0.1 / 3600  # of the load below in one update


def started(sampler: Any, clock: Any, **options: Any) -> Any:
    """Start a run whose clock stands still until it is told how far to go.

    The update that the meter made before it had confirmed its start is the first reading.
    """
    run = sampler(
        clock.server.address,
        monotonic=clock.monotonic,
        wait=clock.wait,
        **options,
    )
    run.arm()
    clock.end_s = clock.now_s
    run.start()
    return run


@pytest.mark.parametrize("interval_s", [0.1, 0.25, 1.0, 5.0])
@pytest.mark.parametrize("question_s", [0.0005, 0.003, 0.01, 0.02])
@pytest.mark.parametrize("late_s", [0.0, 0.001, 0.01])
def test_few_questions_miss_no_update_whatever_they_take(
    reading: Any, interval_s: float, question_s: float, late_s: float
) -> None:
    clock = {"now_s": 0.0, "questions": 0, "seen": 0}

    def read() -> tuple[Reading, bool]:
        clock["questions"] += 1
        asked_s = clock["now_s"]
        clock["now_s"] += question_s
        made = int(asked_s / interval_s)
        is_new = made > clock["seen"]
        clock["seen"] = made
        return reading(asked_s), is_new

    def pause(seconds: float) -> bool:
        clock["now_s"] += seconds + late_s
        return clock["now_s"] > 500 * interval_s

    seen = [
        int(one.monotonic_s / interval_s) for one in updates(read, interval_s, pause)
    ]
    settled = seen[50:]  # by then it knows how long a question takes
    assert settled == list(range(settled[0], 500))
    assert len(seen) >= 490
    if interval_s == 0.1:
        assert clock["questions"] <= 1.5 * len(seen)


def test_a_host_that_is_held_up_now_and_then_misses_only_what_it_slept_through(
    reading: Any,
) -> None:
    """Every second the host is late by most of an update; it is back in time for the next."""
    clock = {"now_s": 0.0, "seen": 0, "late": 0}

    def read() -> tuple[Reading, bool]:
        asked_s = clock["now_s"]
        clock["now_s"] += 0.003
        made = int(asked_s / 0.1)
        is_new = made > clock["seen"]
        clock["seen"] = made
        return reading(asked_s), is_new

    def pause(seconds: float) -> bool:
        late_s = 0.085 if int(clock["now_s"]) > clock["late"] else 0.001
        clock["late"] = int(clock["now_s"])
        clock["now_s"] += seconds + late_s
        return clock["now_s"] > 60.0

    seen = [int(one.monotonic_s / 0.1) for one in updates(read, 0.1, pause)]
    assert seen == list(range(1, len(seen) + 1))


def updates_between(readings: list[Reading]) -> list[int]:
    return [
        round((later.energy_wh - earlier.energy_wh) / UPDATE_WH)
        for earlier, later in pairwise(readings)
    ]


def test_each_update_is_read_once_and_none_is_missed_with_few_questions(
    sampler: Any,
    paced: Any,
    recorder: Any,
) -> None:
    clock = paced()
    run = started(sampler, clock)
    before = clock.updates
    clock.until_s(clock.now_s + 4.05)
    made = clock.updates - before
    run.stop()
    assert made == 40
    assert len(recorder.readings) == 1 + 40
    assert set(updates_between(recorder.readings)) == {1}
    assert clock.questions <= 4 * made


def test_on_a_real_clock_the_sampler_never_asks_to_sleep_over_an_update(
    sampler: Any,
    recorder: Any,
    pauses: Any,
) -> None:
    run = sampler("sim:constant:36W", wait=pauses.wait)
    pauses.last = lambda: run.last
    run.arm()
    run.start()
    recorder.more(30)
    run.stop()
    assert min(updates_between(recorder.readings)) >= 1, "read twice"
    # What a host that is held up sleeps longer than that is its own.
    assert max(pauses.lengths_s) < 0.12


def test_updates_are_seen_though_another_client_reads_their_bit(
    sampler: Any,
    simulate: Any,
    recorder: Any,
) -> None:
    box = simulate("--load", "constant:36W")
    run = sampler(box.address)
    run.arm()
    run.start()
    with contextlib.closing(Link(box.address)) as thief:
        wanted = len(recorder.readings) + 10
        deadline_s = time.monotonic() + TIMEOUT_S
        while len(recorder.readings) < wanted and time.monotonic() < deadline_s:
            thief.query(":STATUS:EESR?")
    final = run.stop()
    assert len(recorder.readings) >= wanted
    energies = [reading.energy_wh for reading in recorder.readings]
    assert all(later > earlier for earlier, later in pairwise(energies))
    assert final.energy_wh >= energies[-1]


def test_a_slow_taker_costs_no_reading(
    sampler: Any,
    paced: Any,
) -> None:
    held: threading.Event = threading.Event()
    taken: list[Reading] = []

    def slow(reading: Reading) -> None:
        held.wait(60)
        taken.append(reading)

    clock = paced()
    run = started(sampler, clock, take=slow)
    clock.until_s(clock.now_s + 2.05)
    assert taken == []
    held.set()
    run.stop()
    assert len(taken) == 1 + 20
    assert set(updates_between(taken)) == {1}


def test_updates_that_a_slow_link_misses_are_told(
    sampler: Any,
    paced: Any,
    recorder: Any,
    setup: Setup,
) -> None:
    clock = paced(question_s=0.12)
    run = started(sampler, clock)
    start_s = clock.now_s
    clock.until_s(start_s + 8.0)
    end_s = clock.now_s
    final = run.stop()
    measured = Measurement(
        final.energy_wh,
        final.integrator_s,
        start_s,
        end_s,
        setup,
        "WT310",
        limits_of("WT310"),
    )
    gaps = next(
        one
        for one in energy_checks(recorder.readings, measured)
        if one.code == "reading-gaps"
    )
    assert gaps.ok is False
    assert gaps.figures["gaps"] == 0
    assert (gaps.figures["readings"] or 0) < 0.9 * (gaps.figures["expected"] or 0)


def test_stop_gives_the_energy_though_the_taker_hangs(
    sampler: Any,
    until: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("lpirc_power.sampling.sampling_thread.JOIN_S", 0.2)
    held = threading.Event()
    run = sampler("sim:constant:36W", take=lambda _reading: held.wait(TIMEOUT_S))
    run.arm()
    run.start()
    until(lambda: run.last is not None and run.last.energy_wh > 3 * UPDATE_WH)
    assert run.stop().energy_wh > 3 * UPDATE_WH
    assert "are not recorded yet" in caplog.text
    held.set()


def test_a_taker_that_fails_does_not_end_sampling(
    sampler: Any,
    recorder: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def failing(reading: Reading) -> None:
        recorder(reading)
        raise ValueError("disk full")

    run = sampler("sim:", take=failing)
    run.arm()
    run.start()
    recorder.more(3)
    run.stop()
    assert "disk full" in caplog.text


def test_a_taker_may_stop_the_run_itself(
    sampler: Any,
    until: Any,
) -> None:
    finals: list[Reading] = []
    run = sampler("sim:", take=lambda _reading: finals.append(run.stop()))
    run.arm()
    run.start()
    until(lambda: finals)
    assert run.stop() is finals[0]


def test_stop_acts_at_once_even_with_slow_updates(
    sampler: Any,
    setup: Setup,
) -> None:
    slept_out: list[bool] = []

    def wait(
        event: threading.Event,
        seconds: float,
    ) -> bool:
        ended = event.wait(seconds)
        if threading.current_thread().name == "sampler":
            slept_out.append(not ended)
        return ended

    run = sampler("sim:", replace(setup, update_interval_s=5.0), wait=wait)
    run.arm()
    run.start()
    assert run.stop().state is IntegratorState.STOP
    assert slept_out == [False]
