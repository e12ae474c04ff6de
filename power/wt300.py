"""The driver of the WT300 family: values to commands and back (IM WT310-17EN, IM WT310E-17EN)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from power import answers
from power.clocks import Clocks
from power.errors import MeterError
from power.explanations import explained, is_error
from power.meter import Choices, Identity, IntegratorState, Peaks, Reading, Setup, Status
from power.models import Model, measured_elements, model_named
from power.transport import Link
from power.wt300_former import FormerSettings
from power.wt300_settings import (
    MODES,
    SYNCHRONIZATIONS,
    Setting,
    measuring,
    measuring_headers,
    peak_items,
    peak_query,
    sample_items,
    talking,
)

CONFIRM_S: Final = 3.0
"""How long the integrator may take to say that it started or stopped."""
CONFIRM_TIMEOUT_MS: Final = 500
POLL_S: Final = 0.05
ZERO_TIMEOUT_MS: Final = 60_000
"""The manuals name no time for the compensation of the zero level; it takes seconds."""
SAMPLE: Final = ":STATUS:EESR?;:NUMERIC:NORMAL:VALUE?;:STATUS:CONDITION?;:INTEGRATE:STATE?"
MOST_ERRORS: Final = 100
AUTOMATIC: Final = "AUTO"


class Wt300:
    """A meter of the family behind a link. Implements power.meter.Meter."""

    def __init__(self, link: Link, clocks: Clocks, former: FormerSettings | None = None) -> None:
        """Ask who is there; MeterError `meter-wrong-model` if it is no WT300.

        `former` holds what `restore` puts back; share one between the drivers of one meter, made one after another.
        """
        self._link = link
        self._clocks = clocks
        self._identity = answers.identity(link.query("*IDN?"))
        self._model: Model = model_named(self._identity.model)
        self._former = FormerSettings() if former is None else former
        self._former.belong_to(self._identity)
        self._element: str | None = None
        self._measured: tuple[str, ...] = ()
        self._flags = answers.Flags.of(())
        self._has_peak_items = False
        self._update_interval_s = 0.0

    @property
    def identity(self) -> Identity:
        """Who answered when the link was opened."""
        return self._identity

    def attach(self, element: str = "1") -> None:
        """Fix how the two talk, and which values a sample carries, without touching the measurement.

        `element` is one of the meter's, or "sum" for all; MeterError `meter-range` if it has no such element.
        """
        self._measured = measured_elements(self._model, element, self._identity.model)
        self._flags = answers.Flags.of(self._measured)
        self._element, self._has_peak_items = None, False
        talk = talking()
        self._former.keep((":COMMUNICATE:HEADER", ":COMMUNICATE:VERBOSE"), self._link.query)
        self._apply_all(talk[:2])
        self._change((*talk[2:], *sample_items(element)))
        self._update_interval_s = self._interval_s()
        self._element = element

    def configure(self, setup: Setup) -> None:
        """Set up the measurement and reset the integrator; every setting is read back.

        Raises MeterError `meter-busy` while the meter integrates, `meter-range` for what it does not have,
        `meter-refused` if it does not take a setting.
        """
        settings = measuring(setup, self._model)
        measured_elements(self._model, setup.element, self._identity.model)
        self._require_not_integrating()
        if self._element != setup.element:
            self.attach(setup.element)
        self._former.keep(measuring_headers(self._model), self._link.query)
        self._link.write("*CLS")
        # First: most settings are refused until the integrator is reset.
        self._reset_integrator()
        self._apply_all(settings)
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
        return self._state()

    def read(self) -> Reading:
        """Take one sample, new or not."""
        return self.read_update()[0]

    def read_update(self) -> tuple[Reading, bool]:
        """Take one sample, and tell whether the meter has measured anew since the last one."""
        stamp = functools.partial(_reading, self._clocks.monotonic(), self._clocks.utcnow(), self._flags)
        return answers.sample(self._link.query(SAMPLE), stamp)

    def read_final(self) -> Reading:
        """Take the sample of record after the stop, once the meter has had an update to settle its values."""
        self._clocks.pause(self._update_interval_s)
        return self.read()

    def status(self) -> Status:
        """Return the present settings and everything in the error queue, which this empties."""
        return Status(
            voltage_range_v=self._range(":INPUT:VOLTAGE:RANGE?"),
            voltage_auto=answers.boolean(self._link.query(":INPUT:VOLTAGE:AUTO?")),
            current_range_a=self._range(":INPUT:CURRENT:RANGE?"),
            current_auto=answers.boolean(self._link.query(":INPUT:CURRENT:AUTO?")),
            update_interval_s=self._interval_s(),
            mode=_named(MODES, self._ask(":INPUT:MODE?")),
            crest_factor=self._crest_factor(),
            line_filter=answers.boolean(self._link.query(":INPUT:FILTER:LINE?")),
            frequency_filter=answers.boolean(self._link.query(":INPUT:FILTER:FREQUENCY?")),
            synchronize=_named(SYNCHRONIZATIONS, self._ask(":INPUT:SYNCHRONIZE?")),
            state=self.state(),
            errors=self._errors(),
        )

    def changes(self, setup: Setup) -> tuple[str, ...]:
        """Return what in the meter differs from `setup`: one phrase for each setting."""
        found = [(setting, self._ask(setting.query)) for setting in measuring(setup, self._model)]
        return tuple(
            f"{setting.command} was set, it is {answer}"
            for setting, answer in found
            if not setting.holds(answer)
        )

    def choices(self) -> Choices:
        """Return what the meter can be set to at its present crest factor."""
        crest_factor = self._crest_factor()
        return Choices(
            voltage_ranges_v=self._model.voltage_ranges_v(crest_factor),
            current_ranges_a=self._model.current_ranges_a(crest_factor),
            update_intervals_s=self._model.rates_s,
            elements=self._model.measurable,
        )

    def peaks(self) -> Peaks:
        """Return the largest peaks of the last update, of either sign and among all elements that are measured.

        They are items of their own behind those of a sample, and asked for one by one: samples stay as they are.
        """
        if not self._has_peak_items:
            self._change(peak_items(self._measured))
            self._has_peak_items = True
        found = [answers.value(part) for part in self._link.query(peak_query(self._measured)).split(";")]
        if len(found) != 4 * len(self._measured):
            raise answers.strange(str(found), f"{4 * len(self._measured)} peaks")
        # For each element: voltage up and down, current up and down.
        return Peaks(
            voltage_v=answers.largest(found[0::4] + found[1::4]),
            current_a=answers.largest(found[2::4] + found[3::4]),
        )

    def zero(self) -> None:
        """Compensate the zero level of all ranges, which may take long.

        Raises MeterError `meter-busy` while the meter integrates or holds an energy that is not reset yet, which is
        when it refuses; `meter-refused` if it says that the compensation failed.
        """
        self._require_not_integrating()
        state = self.state()
        if state is not IntegratorState.RESET:
            raise MeterError(
                "meter-busy",
                f"The meter {self._identity.serial} still holds the energy of a run (state {state.value}); it "
                "compensates its zero level only once the integrator is reset.",
                serial=self._identity.serial,
            )
        answer = self._link.query("*CAL?", timeout_ms=ZERO_TIMEOUT_MS).strip()
        if answer != "0":
            errors = self._errors()
            why = f" ({'; '.join(errors)})" if errors else ""
            raise MeterError(
                "meter-refused",
                f"The meter {self._identity.serial} could not compensate its zero level, it answers {answer}{why}; "
                "let it warm up for half an hour and try again, and have it serviced if that does not help.",
                answer=answer,
                errors=list(errors),
            )

    def restore(self) -> None:
        """Put back the settings found before the first `attach` and `configure`; this resets the integrator.

        Nothing happens if `configure` was never called, and on a second call. Raises MeterError `meter-busy` while
        the meter integrates, `meter-refused` after all others are back if it does not take some.
        """
        former = self._former.settings(measuring_headers(self._model))
        if not former:
            return
        self._require_not_integrating()
        self._element = None
        self._link.write(":COMMUNICATE:HEADER OFF;:COMMUNICATE:VERBOSE ON")
        self._link.write("*CLS")
        self._reset_integrator()
        refused: list[str] = []
        for setting in former:
            try:
                self._apply(setting)
            except MeterError as error:
                if error.code != "meter-refused":
                    raise
                refused.append(error.sentence)
        if refused:
            raise MeterError("meter-refused", f"Not all former settings are back. {' '.join(refused)}")
        self._former.forget()

    def close(self) -> None:
        """Close the link."""
        self._link.close()

    def _ask(self, query: str) -> str:
        return answers.data(self._link.query(query))

    def _state(self, timeout_ms: int | None = None) -> IntegratorState:
        return IntegratorState.parse(answers.data(self._link.query(":INTEGRATE:STATE?", timeout_ms)))

    def _crest_factor(self) -> int:
        # E models have a third one, A6: that of 6 with automatic ranging that looks at the rms value only.
        return 6 if self._ask(":INPUT:CFACTOR?").upper() in ("6", "A6") else 3

    def _interval_s(self) -> float:
        # E models can follow the signal's period; no other figure than the shortest interval is known then.
        answer = self._ask(":RATE?")
        return self._model.rates_s[0] if answer.upper() == AUTOMATIC else answers.value(answer)

    def _range(self, query: str) -> float:
        # EXTERNAL,0.05: the range of a current sensor at the socket for one, in volts; no amperes are known then.
        answer = self._ask(query)
        return math.nan if answer.upper().startswith("EXT") else answers.value(answer)

    def _require_not_integrating(self) -> None:
        if self.state() is IntegratorState.START:
            raise MeterError(
                "meter-busy",
                f"The meter {self._identity.serial} is integrating; stop it first.",
                serial=self._identity.serial,
            )

    def _reset_integrator(self) -> None:
        self._link.write(":INTEGRATE:RESET")
        state = self.state()
        if state is not IntegratorState.RESET:
            raise self._refused(":INTEGRATE:RESET", state.value)

    def _change(self, settings: Sequence[Setting]) -> None:
        self._former.keep((setting.header for setting in settings), self._link.query)
        self._apply_all(settings)

    def _apply_all(self, settings: Iterable[Setting]) -> None:
        for setting in settings:
            self._apply(setting)

    def _apply(self, setting: Setting) -> None:
        self._link.write(setting.command)
        answer = self._ask(setting.query)
        if not setting.holds(answer):
            raise self._refused(setting.command, answer)

    def _confirm(self, wanted: Callable[[IntegratorState], bool], command: str) -> None:
        deadline_s = self._clocks.monotonic() + CONFIRM_S
        answer = "nothing"
        while True:
            try:
                state = self._state(CONFIRM_TIMEOUT_MS)
            except MeterError as error:
                # For some 0.2 s after a start the meter may answer nothing, or nonsense; a lost link is another matter.
                if error.code not in ("meter-timeout", "meter-answer"):
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


def _named(words: dict[str, str], answer: str) -> str:
    # Short words are beginnings of the long ones; none of those of a setting begins another.
    found = [name for name, word in words.items() if answer and word.startswith(answer.upper())]
    return found[0] if found else answer.lower()


def _reading(
    monotonic_s: float,
    utc: datetime,
    flags: answers.Flags,
    numbers: Sequence[float],
    condition: int,
    state: IntegratorState,
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
        over_range=over_range or bool(condition & flags.over_range),
        voltage_peak_over=bool(condition & flags.voltage_peak),
        current_peak_over=bool(condition & flags.current_peak),
    )
