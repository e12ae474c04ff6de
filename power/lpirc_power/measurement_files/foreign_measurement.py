"""A recording of another program as one of ours: its energy, and which checks its file can answer."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.energy.measurement import TIME_RESOLUTION_S
from lpirc_power.errors import MeterError
from lpirc_power.foreign.foreign_recording import (
    ForeignRecording,
    Reader,
    read_foreign,
)
from lpirc_power.measurement_files.bare_recording import (
    NO_IDENTITY,
    unsaid_of_limits,
)
from lpirc_power.meter import Identity, Limits, Setup
from lpirc_power.record.document import Mark
from lpirc_power.report.recording_report import UNKNOWN, Recorded

NEVER_ANSWERED: Final = (
    "integrator-stopped", "over-range", "peak-clipping", "range-changed", "official-meter",
)  # fmt: skip
"""Checks that need what no other program's file says, unless it contradicts them."""
UNNAMED: Final = (
    "The file does not name the meter: its limits of error are unknown, so the energy has no uncertainty. "
    "--model WT310E --voltage-range 150 --current-range 0.5 states them."
)
OF_INTEGRATOR: Final = ("integrator-trapezoid", "integrator-steps", "integrator-time")


def foreign_recorded(
    path: Path,
    reader: Reader,
    setup: Setup,
    model: str | None = None,
    *,
    is_interval_stated: bool = False,
) -> Recorded:
    """Return the recording in a file of another program, with the checks that the file can answer.

    `setup` holds what a person states of the ranges and filters; its update interval counts if `is_interval_stated`,
    else it is the median pause. Raises MeterError: those of `read_foreign`, `recording-empty` (a single time), and
    `meter-wrong-model` if no driver knows the model.
    """
    found = read_foreign(path, reader)
    _require_energy(found, path)
    if not is_interval_stated:
        setup = replace(setup, update_interval_s=_median_pause_s(found))
    limits = None if model is None else limits_of_model(model)
    identity = NO_IDENTITY if model is None else Identity(UNKNOWN, model, UNKNOWN, "")
    measured = _measured(found, setup, model, limits)
    readings = found.readings
    return Recorded(
        identity=identity,
        measured=measured,
        readings=readings,
        idle=None,
        link_events=(),
        file=str(path),
        rows=len(readings),
        marks=[Mark(one.name, one.begin_s, one.end_s) for one in found.stretches],
        doubts=(*_doubts(found, model), *_lacks(found, limits)),
        unnamed=UNNAMED if model is None else "",
        unanswered=(*_unanswered(found), *unsaid_of_limits(measured, readings)),
    )


def _require_energy(found: ForeignRecording, path: Path) -> None:
    """Raise MeterError `recording-empty` if the readings have no duration, or no power."""
    readings = found.readings
    if readings[-1].monotonic_s == readings[0].monotonic_s:
        raise MeterError(
            "recording-empty",
            f"The recording {path} holds the readings of one time alone; an energy needs two times.",
        )
    if not any(math.isfinite(one.power_w) for one in readings):
        raise MeterError(
            "recording-empty", f"No reading of the recording {path} has a power."
        )


def _median_pause_s(found: ForeignRecording) -> float:
    pauses_s = [
        after.monotonic_s - one.monotonic_s for one, after in pairwise(found.readings)
    ]
    return statistics.median_low(pauses_s) or TIME_RESOLUTION_S


def _measured(
    found: ForeignRecording, setup: Setup, model: str | None, limits: Limits | None
) -> Measurement:
    last = found.readings[-1]
    return Measurement(
        integrator_wh=last.energy_wh,
        integrator_s=_integrator_s(found),
        start_s=found.readings[0].monotonic_s,
        end_s=last.monotonic_s,
        setup=setup,
        model=model or UNKNOWN,
        limits=limits,
        official=False,
        start_stop_s=0.0,
    )


def _integrator_s(found: ForeignRecording) -> float:
    """Return the integrator's time; without one, that of the readings in whole seconds, as a meter shows it.

    A time that is not whole would count as known exactly, and then start and stop would have no error.
    """
    last_s = found.readings[-1].integrator_s
    return last_s if "counted" in found.quantities else float(round(last_s))


def limits_of_model(model: str) -> Limits:
    """Return the limits of error of a model that a person states. Raises MeterError `meter-wrong-model`."""
    limits = limits_of(model)
    if limits is None:
        raise MeterError(
            "meter-wrong-model",
            f"No driver knows the model {model!r}, so its limits of error are unknown; write it as *IDN? names it, "
            "WT310E for one, or leave --model away.",
        )
    return limits


def _unanswered(found: ForeignRecording) -> tuple[str, ...]:
    codes = list(NEVER_ANSWERED)
    if "energy" not in found.quantities:
        codes += OF_INTEGRATOR
    elif "counted" not in found.quantities:
        codes += OF_INTEGRATOR[1:]
    return tuple(codes)


def _lacks(found: ForeignRecording, limits: Limits | None) -> tuple[str, ...]:
    """Return what to name if the limits of error of a stated model need a quantity that no reading has."""
    if limits is None or any(math.isfinite(one.voltage_v) for one in found.readings):
        return ()
    return (
        "The limits of error need a voltage, and a current, an apparent power or a power factor. Name columns that "
        "have them: --columns voltage=HEAD,current=HEAD.",
    )


def _doubts(found: ForeignRecording, model: str | None) -> tuple[str, ...]:
    doubts = list(found.notes)
    if "energy" not in found.quantities:
        how = "the trapezoid of its powers"
        if found.holds:
            how = "that of its powers, each of which holds until the next"
        doubts.append(
            f"The file has no energy of the meter's integrator: the energy is {how}, which no second figure confirms."
        )
    if model is None:
        doubts.append(UNNAMED)
    return tuple(doubts)
