"""The driver of the WT300 family: values to commands and back (IM WT310-17EN, IM WT310E-17EN)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from power import answers
from power.clocks import Clocks
from power.errors import MeterError
from power.explanations import explained, is_error
from power.meter import Identity, IntegratorState, Reading, Setup, Status
from power.models import Model, listed, model_named
from power.transport import Link

CONFIRM_S: Final = 3.0
"""How long the integrator may take to say that it started or stopped."""
POLL_S: Final = 0.05
MODES: Final = {"rms": "RMS", "vmean": "VMEAN", "dc": "DC"}
SHORT_MODES: Final = {"RMS": "rms", "VMEAN": "vmean", "VME": "vmean", "DC": "dc"}
LONGEST_TIMER_S: Final = 10000 * 3600
SAMPLE: Final = ":STATUS:EESR?;:NUMERIC:NORMAL:VALUE?;:STATUS:CONDITION?;:INTEGRATE:STATE?"
MOST_ERRORS: Final = 100


@dataclass(frozen=True)
class _Setting:
    command: str
    query: str
    expected: str | float


class Wt300:
    """A meter of the family behind a link; element 1 is measured. Implements power.meter.Meter."""

    def __init__(self, link: Link, clocks: Clocks) -> None:
        """Ask who is there; MeterError `meter-wrong-model` if it is no WT300."""
        self._link = link
        self._clocks = clocks
        self._identity = answers.identity(link.query("*IDN?"))
        self._model: Model = model_named(self._identity.model)
        self._update_interval_s = 0.0

    @property
    def identity(self) -> Identity:
        """Who answered when the link was opened."""
        return self._identity

    def attach(self) -> None:
        """Fix how the two talk, and which values a sample carries, without touching the measurement.

        *RST leaves headers and word length alone, so both are always set.
        """
        self._link.write(":COMMUNICATE:HEADER OFF;:COMMUNICATE:VERBOSE ON")
        self._link.write(":STATUS:FILTER1 FALL")
        self._link.write(":NUMERIC:FORMAT ASCII")
        self._apply(
            _Setting(
                f":NUMERIC:NORMAL:NUMBER {len(answers.ITEMS)}", ":NUMERIC:NORMAL:NUMBER?", len(answers.ITEMS)
            )
        )
        for index, item in enumerate(answers.ITEMS, start=1):
            node = f":NUMERIC:NORMAL:ITEM{index}"
            self._apply(_Setting(f"{node} {item},1", f"{node}?", f"{item},1"))
        self._update_interval_s = answers.value(self._link.query(":RATE?"))

    def configure(self, setup: Setup) -> None:
        """Set up the measurement and reset the integrator; every setting is read back.

        Raises MeterError `meter-busy` while the meter integrates, `meter-range` for a range or a rate it does
        not have, `meter-refused` if it does not take a setting.
        """
        if self.state() is IntegratorState.START:
            raise MeterError(
                "meter-busy",
                f"The meter {self._identity.serial} is integrating; stop it before a new run.",
                serial=self._identity.serial,
            )
        self._link.write("*CLS")
        # First: most settings are refused until the integrator is reset.
        self._link.write(":INTEGRATE:RESET")
        if self.state() is not IntegratorState.RESET:
            raise self._refused(":INTEGRATE:RESET", self.state().value)
        for setting in self._settings(setup):
            self._apply(setting)
        self._update_interval_s = setup.update_interval_s
        errors = self._errors()
        if errors:
            raise MeterError("meter-refused", f"The meter reports {'; '.join(errors)}.", errors=list(errors))

    def start(self) -> None:
        """Start the integrator; returns once the meter says that it integrates, within three seconds."""
        self._link.write(":INTEGRATE:START")
        self._confirm(lambda state: state is IntegratorState.START, ":INTEGRATE:START")

    def stop(self) -> None:
        """Stop the integrator; nothing happens if it has stopped already, by its timer or otherwise."""
        if self.state() is IntegratorState.START:
            self._link.write(":INTEGRATE:STOP")
            self._confirm(lambda state: state is not IntegratorState.START, ":INTEGRATE:STOP")

    def state(self) -> IntegratorState:
        """Return the integrator's state now."""
        return IntegratorState.parse(self._link.query(":INTEGRATE:STATE?"))

    def read(self) -> Reading:
        """Take one sample, new or not."""
        return self.read_update()[0]

    def read_update(self) -> tuple[Reading, bool]:
        """Take one sample, and tell whether the meter has measured anew since the last one."""
        stamp = functools.partial(_reading, self._clocks.monotonic(), self._clocks.utcnow())
        return answers.sample(self._link.query(SAMPLE), stamp)

    def read_final(self) -> Reading:
        """Take the sample of record after the stop, once the meter has had an update to settle its values."""
        self._clocks.pause(self._update_interval_s)
        return self.read()

    def status(self) -> Status:
        """Return the present settings and everything in the error queue, which this empties."""
        mode = self._link.query(":INPUT:MODE?").strip().upper()
        return Status(
            voltage_range_v=answers.value(self._link.query(":INPUT:VOLTAGE:RANGE?")),
            voltage_auto=self._link.query(":INPUT:VOLTAGE:AUTO?") == "1",
            current_range_a=answers.value(self._link.query(":INPUT:CURRENT:RANGE?")),
            current_auto=self._link.query(":INPUT:CURRENT:AUTO?") == "1",
            update_interval_s=answers.value(self._link.query(":RATE?")),
            mode=SHORT_MODES.get(mode, mode.lower()),
            crest_factor=self._crest_factor(),
            state=self.state(),
            errors=self._errors(),
        )

    def changes(self, setup: Setup) -> tuple[str, ...]:
        """Return what in the meter differs from `setup`: one phrase for each setting."""
        found = [
            (setting.command, answer)
            for setting in self._settings(setup)
            if not _same(answer := self._link.query(setting.query), setting.expected)
        ]
        return tuple(f"{command} was set, it is {answer}" for command, answer in found)

    def close(self) -> None:
        """Close the link."""
        self._link.close()

    def _settings(self, setup: Setup) -> list[_Setting]:
        if setup.mode not in MODES:
            raise MeterError(
                "meter-range",
                f"The meter has no mode {setup.mode!r}; it has {', '.join(MODES)}.",
                mode=setup.mode,
            )
        if not 0 <= setup.integrator_timer_s <= LONGEST_TIMER_S:
            raise MeterError(
                "meter-range",
                f"The integrator's timer cannot be {setup.integrator_timer_s} s; "
                f"it takes 0 to {LONGEST_TIMER_S} s.",
            )
        rate_s = listed(setup.update_interval_s, self._model.rates_s, "update interval", "s")
        mode = MODES[setup.mode]
        minutes, seconds = divmod(setup.integrator_timer_s, 60)
        timer = f"{minutes // 60},{minutes % 60},{seconds}"
        return [
            _Setting(f":INPUT:MODE {mode}", ":INPUT:MODE?", mode),
            *self._range_settings(setup),
            _Setting(f":RATE {rate_s * 1000:.0f}MS", ":RATE?", rate_s),
            _Setting(":INTEGRATE:MODE NORMAL", ":INTEGRATE:MODE?", "NORMAL"),
            _Setting(f":INTEGRATE:TIMER {timer}", ":INTEGRATE:TIMER?", timer),
        ]

    def _range_settings(self, setup: Setup) -> list[_Setting]:
        crest_factor = self._crest_factor()
        voltages_v = self._model.voltage_ranges_v(crest_factor)
        currents_a = self._model.current_ranges_a(crest_factor)
        return [
            *_range_settings("VOLTAGE", "V", setup.voltage_range_v, voltages_v),
            *_range_settings("CURRENT", "A", setup.current_range_a, currents_a),
        ]

    def _crest_factor(self) -> int:
        return 6 if answers.value(self._link.query(":INPUT:CFACTOR?")) == 6 else 3

    def _apply(self, setting: _Setting) -> None:
        self._link.write(setting.command)
        answer = self._link.query(setting.query)
        if not _same(answer, setting.expected):
            raise self._refused(setting.command, answer)

    def _confirm(self, wanted: Callable[[IntegratorState], bool], command: str) -> None:
        deadline_s = self._clocks.monotonic() + CONFIRM_S
        answer = "nothing"
        while True:
            try:
                state = self.state()
            except MeterError as error:
                # For some 0.2 s after a start the meter may not answer at all; a lost link is another matter.
                if error.code != "meter-timeout":
                    raise
            else:
                if wanted(state):
                    return
                answer = state.value
            if self._clocks.monotonic() >= deadline_s:
                raise self._refused(command, answer)
            self._clocks.pause(POLL_S)

    def _refused(self, command: str, answer: str) -> MeterError:
        errors = self._errors()
        why = "; ".join(errors) if errors else "it gives no reason"
        return MeterError(
            "meter-refused",
            f"The meter does not take {command} (it answers {answer}): {why}.",
            command=command,
            answer=answer,
            errors=list(errors),
        )

    def _errors(self) -> tuple[str, ...]:
        found: list[str] = []
        while len(found) < MOST_ERRORS and is_error(error := self._link.query(":STATUS:ERROR?")):
            found.append(explained(error))
        return tuple(found)


def _range_settings(node: str, unit: str, wanted: float | None, choices: tuple[float, ...]) -> list[_Setting]:
    auto = f":INPUT:{node}:AUTO"
    if wanted is None:
        return [_Setting(f"{auto} ON", f"{auto}?", 1.0)]
    value = listed(wanted, choices, f"{node.lower()} range", unit)
    place = f":INPUT:{node}:RANGE"
    return [
        _Setting(f"{auto} OFF", f"{auto}?", 0.0),
        _Setting(f"{place} {value * 1000:g}M{unit}", f"{place}?", value),
    ]


def _same(answer: str, expected: str | float) -> bool:
    if isinstance(expected, str):
        return answer.replace(" ", "").upper() == expected
    try:
        return math.isclose(float(answer), expected, rel_tol=1e-6)
    except ValueError:
        return False


def _reading(
    monotonic_s: float, utc: datetime, numbers: Sequence[float], condition: int, state: IntegratorState
) -> Reading:
    voltage_v, current_a, apparent_va, power_w, power_factor, energy_wh, integrator_s = numbers
    over_range = any(math.isinf(number) for number in (voltage_v, current_a, apparent_va, power_w))
    return Reading(
        monotonic_s=monotonic_s,
        utc=utc,
        voltage_v=voltage_v,
        current_a=current_a,
        apparent_va=apparent_va,
        power_w=power_w,
        power_factor=power_factor,
        energy_wh=energy_wh,
        integrator_s=integrator_s,
        state=state,
        over_range=over_range or bool(condition & answers.OVER_RANGE),
        voltage_peak_over=bool(condition & answers.VOLTAGE_PEAK),
        current_peak_over=bool(condition & answers.CURRENT_PEAK),
    )
