"""A recording and its figures, as Python and a notebook see it."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack

from lpirc_power.energy import Budget, Check
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import read_any
from lpirc_power.measurement_files.recorded_files import Group, Series
from lpirc_power.meter import Identity, Setup
from lpirc_power.notebook.cell import recording_cell
from lpirc_power.notebook.doubtful_energy import DoubtfulEnergy
from lpirc_power.notebook.marked_energy import MarkEnergy, mark_energies
from lpirc_power.notebook.plot import Plot
from lpirc_power.notebook.python_words import in_python_words, python_words
from lpirc_power.notebook.readings import Readings
from lpirc_power.notebook.stated_half import stated_half_wh
from lpirc_power.notebook.statements import Statements, stated_of
from lpirc_power.page.recording_charts import charts_of
from lpirc_power.report.budget_words import stated_words
from lpirc_power.report.check_report import what_lacks
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.single_report import single_facts, single_lines
from lpirc_power.sampling.polling import Idle


class Recording:
    """A recording: its energy with what is known of it. Figures that are unknown are NaN; `problem` says why.

    `print` gives the lines of `meter record`, a notebook shows the figures, the checks that fail, and the plot.
    """

    def __init__(self, recorded: Recorded, problem: str | None = None) -> None:
        """Take a recording as `lpirc_power` has it elsewhere."""
        self._recorded: Recorded | None = recorded
        self._problem = problem

    @property
    def recorded(self) -> Recorded:
        """The recording as the other parts of `lpirc_power` take it."""
        if self._recorded is None:
            raise ValueError("a recording without an end has overridden this")
        return self._recorded

    @property
    def path(self) -> Path:
        """The CSV file of the readings; its record lies beside it, with the ending .json."""
        return Path(self.recorded.file)

    @property
    def energy_wh(self) -> float:
        """The energy in watt-hours, counted by the meter's integrator; NaN if there is none."""
        return self.recorded.energy_wh

    @property
    def energy_j(self) -> float:
        """The energy in joules; NaN if there is none."""
        return self.recorded.energy_j

    @property
    def uncertainty_wh(self) -> float:
        """The half-width of the stated interval, which holds the energy with 95.45 %; NaN if it is unknown."""
        return stated_half_wh(self.budget)

    @property
    def mean_power_w(self) -> float:
        """The mean power in watts over the integrated time; NaN if that is too short to know it."""
        return self.recorded.power_w

    @property
    def mean_power_uncertainty_w(self) -> float:
        """The half-width of the interval of the mean power in watts, with 95.45 %; NaN if it is unknown."""
        found = self.recorded.mean_power
        half_w = None if found is None else found.half_w
        return math.nan if half_w is None else half_w

    @property
    def duration_s(self) -> float:
        """The time from the start to the end, in seconds."""
        return self.recorded.measured.elapsed_s

    @property
    def start(self) -> datetime | None:
        """The time of day of the start; None if the recording has no record."""
        record = self.recorded.record
        started = None if record is None else record.started
        return None if started is None else started.start.utc

    @property
    def idle(self) -> Idle | None:
        """The idle power that was measured before, None if none was."""
        return self.recorded.idle

    @property
    def above_idle_wh(self) -> float:
        """The energy above the idle power; NaN if no idle power was measured."""
        found = self.recorded.above_idle_wh
        return math.nan if found is None else found

    @property
    def above_idle_uncertainty_wh(self) -> float:
        """The half-width of the stated interval of the energy above the idle power; NaN if it is unknown."""
        return stated_half_wh(self.recorded.above_idle_budget)

    @property
    def budget(self) -> Budget | None:
        """The uncertainty budget; None if there is no energy."""
        return self.recorded.budget

    @property
    def checks(self) -> tuple[Check, ...]:
        """What was checked: code, severity, sentence, and whether it holds."""
        return self.recorded.checks

    @property
    def failed(self) -> tuple[str, ...]:
        """The codes of failed checks of severity error: with any, the energy needs review."""
        return self.recorded.failed

    @property
    def problem(self) -> str | None:
        """A sentence that must go with the energy; None if all is well."""
        found = self.recorded
        if self._problem is not None:
            return self._problem
        if found.no_energy:
            return found.no_energy
        if found.failed:
            return f"The energy needs review: {', '.join(found.failed)}."
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a recording read from its files does not say, as sentences."""
        return self.recorded.doubts

    @functools.cached_property
    def marks(self) -> dict[str, MarkEnergy]:
        """The energies of what was marked, by name, in the order in which the names first occurred."""
        return mark_energies(self.recorded)

    @functools.cached_property
    def readings(self) -> Readings:
        """The readings as numpy columns."""
        found = self.recorded
        return Readings(found.readings, found.measured.start_s)

    @property
    def meter(self) -> Identity:
        """The meter that answered."""
        return self.recorded.identity

    @property
    def setup(self) -> Setup:
        """The ranges and other settings."""
        return self.recorded.measured.setup

    def document(self) -> dict[str, Any]:
        """Return everything, ready for JSON: the document of `meter record --json`."""
        return single_facts(self.recorded)

    def plot(self) -> Plot:
        """Return a plot of the power over time with its marks."""
        return Plot(charts_of(self.recorded).power)

    def __str__(self) -> str:
        return "\n".join(single_lines(self.recorded))

    def __repr__(self) -> str:
        return f"<recording {self.path}: {stated_words(self.energy_wh, self.budget)}>"

    def _repr_html_(self) -> str:
        return recording_cell(self.recorded, self.marks, self.problem)


def read_recorded(path: str | Path, **stated: Unpack[Statements]) -> Recording:
    """Return a recording from its CSV file, from the record beside it, or from a file of another program.

    `stated` are the arguments of `Statements`, as `meter check` has them as options: how another program's file is
    read, and which meter made it. Raises MeterError if a file cannot be read, is no recording, or is a series or a
    group.
    """
    with in_python_words():
        found = read_any(Path(path), stated_of(stated))
    if not isinstance(found, Recorded):
        raise MeterError(
            "recording-record",
            f"{found.file} is the record of a {found.record.kind}; read it with read_measurement, or give the file of "
            "one of its recordings.",
        )
    return _recording(found)


def read_measurement(
    path: str | Path, **stated: Unpack[Statements]
) -> Recording | list[Recording] | dict[str, Recording]:
    """Return what a file of `meter record`, or of another program, holds; `stated` is that of `read_recorded`.

    A series (`--repeat`) is the list of the recordings that count, several meters are recordings by name; a
    `DoubtfulEnergy` warning says which attempt or meter has no energy. Raises MeterError as `read_recorded`.
    """
    with in_python_words():
        found = read_any(Path(path), stated_of(stated))
    for sentence in what_lacks(found):
        warnings.warn(DoubtfulEnergy(sentence), stacklevel=2)
    if isinstance(found, Series):
        return [_recording(one) for one in found.recordings]
    if isinstance(found, Group):
        return {name: _recording(one) for name, one in found.recordings.items()}
    return _recording(found)


def given_recordings(code: str, given: Any) -> list[Recording]:
    """Return the recordings that an argument is: one, or several. Raises MeterError with a code for anything else."""
    if isinstance(given, Recording):
        return [given]
    if isinstance(given, Mapping):
        names = ", ".join(map(str, given)) or "none"
        sentence = f"Recordings of several meters ({names}) are given; take those of one meter, by its name."
        raise MeterError(code, sentence)
    if isinstance(given, str | Path) or not isinstance(given, Iterable):
        raise MeterError(code, _no_recording(given))
    several = list(given)
    for one in several:
        if not isinstance(one, Recording):
            raise MeterError(code, _no_recording(one))
    return several


def _no_recording(given: object) -> str:
    if isinstance(given, str | Path):
        name = str(given)
        return f"{name!r} is a name and no recording; read it first: read_recorded({name!r})."
    if isinstance(given, Iterable):
        return f"A {type(given).__name__} stands in place of a recording; give its recordings one by one."
    return f"{given!r} is no recording; give what read_recorded returns."


def _recording(found: Recorded) -> Recording:
    doubts = tuple(map(python_words, found.doubts))
    unnamed = python_words(found.unnamed)
    return Recording(replace(found, doubts=doubts, unnamed=unnamed))
