"""`meter watch` and `meter probe` beside a run: nothing of the run may change."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement, energy_checks
from lpirc_power.meter import Setup
from tests import warm_programs
from tests.power.busy_host import failed


@pytest.fixture
def box(simulate: Any) -> Any:
    return simulate("--model", "WT333E", "--serial", "S1", "--load", "constant:36W")


def look(address: str, *options: str) -> None:
    ended = warm_programs.run(["meter", options[0], address, *options[1:]])
    assert ended.returncode == 0
    assert ended.stderr == ""


@pytest.mark.parametrize(
    "options",
    [
        ("watch", "--count", "6"),
        ("watch", "--count", "3", "--element", "sum"),
        ("probe",),
    ],
)
@pytest.mark.parametrize("when", ["before", "during"])
def test_who_looks_on_changes_nothing(
    sampler: Any,
    box: Any,
    recorder: Any,
    setup: Setup,
    pauses: Any,
    until: Any,
    options: tuple[str, ...],
    when: str,
) -> None:
    setup = replace(setup, current_range_a=0.5, element="sum")
    run = sampler(box.address, setup, wait=pauses.wait)
    pauses.last = lambda: run.last
    run.arm()
    if when == "before":
        look(box.address, *options)
    before_s = time.monotonic()
    run.start()
    start_s = time.monotonic()
    recorder.more(3)
    if when == "during":
        look(box.address, *options)
    until(lambda: time.monotonic() > start_s + 2.0)
    end_s = time.monotonic()
    final = run.stop()
    # On a busy machine starting and stopping take a while themselves.
    least_s = end_s - start_s
    most_s = time.monotonic() - before_s
    assert 36.0 * least_s * 0.9 <= final.energy_wh * 3600 <= 36.0 * most_s * 1.1
    measured = Measurement(
        final.energy_wh, final.integrator_s, start_s, end_s, setup, "WT333E", limits_of("WT333E"),
        changes=run.changes,
        start_stop_s=run.ran_s - (end_s - start_s),
    )  # fmt: skip
    # A busy machine misses updates, which tell as gaps and steps.
    missed = {"low-load", "reading-gaps", "integrator-steps"}
    assert set(failed(energy_checks(recorder.readings, measured))) <= missed
    # Of no update it had to be told by other values.
    assert max(pauses.lengths_s) < 0.12
    assert recorder.events == []


def test_an_idle_baseline_is_measured_while_somebody_looks_on(
    sampler: Any,
    box: Any,
    setup: Setup,
) -> None:
    run = sampler(box.address, replace(setup, element="sum"))
    run.arm()
    with warm_programs.start(["meter", "watch", box.address]) as watching:
        assert watching.stdout.readline()
        idle = run.measure_idle(1.0)
        assert 2 <= idle.readings <= idle.duration_s / 0.1 + 1
        watching.terminate()
