"""The driver of the WT300 family: values to commands and back (IM WT310-17EN, IM WT310E-17EN)."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from power.clocks import Clocks
from power.errors import MeterAnswerError, MeterBusy, MeterError, MeterRefused, MeterTimeout
from power.meter import (
    Choices,
    Identity,
    IntegratorState,
    Limits,
    Meter,
    Peaks,
    Reading,
    Setup,
    Status,
    VisaLink,
)  # fmt: skip
from power.wt300 import answers
from power.wt300 import settings as present
from power.wt300.models import Model, measured_elements, model_named
from power.wt300.sample import EVENTS, PLAIN, SampleForm, reading
from power.wt300.settings import (
    FORMAT,
    HOLD_OFF,
    OPTIONAL,
    TELLING,
    FormerSettings,
    Setting,
    measuring,
    measuring_headers,
    plain,
    talking,
)
from power.wt300.watch import Watch

_log: Final = logging.getLogger(__name__)

CONFIRM_S: Final = 3.0
"""How long the integrator may take to say that it started or stopped."""
CONFIRM_TIMEOUTS_MS: Final = (100, 100, 100, 200, 400, 800)
"""A question in the 0.2 s after a start may be lost; asking again soon costs little time. The later ones are for a slow
meter."""
POLL_S: Final = 0.02
SETTLING_UPDATES: Final = 2.0
SETTLING_S: Final = 0.5
"""How long a stopped meter may take for one more update."""
OPTIONAL_TIMEOUT_MS: Final = 500
UNKNOWN_HEADER: Final = "113"
ZERO_TIMEOUT_MS: Final = 60_000
"""The manuals name no time for the compensation of the zero level; it takes seconds."""
SAMPLE: Final = SampleForm.of_run("1").question


class Wt300:
    """A meter of the family behind a link. Implements power.meter.Meter."""

    def __init__(
        self, link: VisaLink, identity: Identity, clocks: Clocks, former: FormerSettings | None = None
    ) -> None:
        """Nothing is asked yet; MeterError `meter-wrong-model` if the identity is not that of a WT300.

        `former` holds what `restore` restores; share it among the drivers made for one meter.
        """
        model = model_named(identity.model)
        if model is None:
            raise MeterError("meter-wrong-model", f"A {identity.model} is not a WT300.")
        self._link = link
        self._clocks = clocks
        self._identity = identity
        self._model: Model = model
        self._former = FormerSettings() if former is None else former
        self._former.belong_to(self._identity)
        self._element: str | None = None
        self._measured: tuple[str, ...] = ()
        self._flags = answers.Flags.of(())
        self._form = SampleForm.of_run("1")
        self._borrowed: list[Setting] = []
        self._known: dict[str, bool] = {}
        self._has_peak_items = False
        self._update_interval_s = 0.0
        self._watch: Watch | None = None

    @property
    def identity(self) -> Identity:
        """Who answered when the link was opened."""
        return self._identity

    def attach(self, element: str = "1") -> None:
        """Set the form of messages and the values of a sample, without touching the measurement.

        `element` is one of the meter's, or "sum" for all; MeterError `meter-range` if it has no such element.
        """
        self._choose(SampleForm.of_run(element))
        talk = talking()
        self._former.keep((":COMMUNICATE:HEADER", ":COMMUNICATE:VERBOSE"), self._link.query)
        self._apply_all(talk[:2])
        try:
            self._change((*talk[2:], *self._form.settings))
        except MeterRefused as error:
            _log.warning("The ranges are not known from reading to reading: %s", error.sentence)
            self._form = SampleForm.of_run(element, PLAIN)
            self._change((*talk[2:], *self._form.settings))
        self._update_interval_s = present.interval_s(self._ask, self._model)
        self._element = element

    def look(self, element: str = "1") -> None:
        """Prepare to read an element without disturbing other clients: `close` restores what that changed.

        The values come from items of their own, and no reading is marked as new. MeterError `meter-range` if there
        is no such element, `meter-busy` if a meter that integrates is set to answer in binary.
        """
        self._choose(SampleForm.of_onlooker(element))
        wanted = [*self._form.settings, *self._form.peak_settings(self._measured)]
        if not FORMAT.holds(self._ask(FORMAT.query)):
            self._require_not_integrating()
            wanted.append(FORMAT)
        for setting in wanted:
            found = self._ask(setting.query)
            # Items that are set already belong to another onlooker, or to one that was killed.
            if not setting.holds(found):
                self._borrowed.append(plain(setting.header, found))
                self._apply(setting)
        self._has_peak_items = True

    def configure(self, setup: Setup) -> None:
        """Set up the measurement and reset the integrator; every setting is read back.

        Raises MeterError `meter-busy` while the meter integrates, `meter-range` for what it does not have,
        `meter-refused` if it does not take a setting.
        """
        measuring(setup, self._model)  # before anything is done, for what the meter does not have
        measured_elements(self._model, setup.element, self._identity.model)
        self._require_not_integrating()
        self._former.is_due = True
        if self._element != setup.element:
            self.attach(setup.element)
        settings = self._settings(setup)
        headers = [header for header in measuring_headers(self._model) if self._knows(header)]
        self._former.keep(headers, self._link.query)
        self._link.write("*CLS")
        # First: most settings are refused until the integrator is reset.
        self._reset_integrator()
        self._apply_all(settings)
        self._update_interval_s = setup.update_interval_s
        self._watch = Watch(settings, setup.update_interval_s)
        errors = self._errors()
        if errors:
            raise MeterRefused(f"The meter reports {'; '.join(errors)}.")

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
        """Take one sample, and say whether the meter has updated since the last one.

        With an update of a run, the meter is asked whether some of its settings are still those of the setup.
        """
        stamp = functools.partial(reading, self._clocks.monotonic(), self._clocks.utcnow(), self._flags)
        taken, is_new = self._form.taken(self._link.query(self._form.question), stamp)
        if is_new and self._watch is not None:
            taken = replace(taken, changed=self._watch.differing(self._link.query))
        return taken, is_new

    def read_final(self) -> Reading:
        """Take the sample of record after the stop, once the meter has had an update to settle its values.

        First it undoes what would spoil the sample: another element's values, which another client may have chosen, and
        HOLD, which freezes what the meter shows. Neither changes the energy itself.
        """
        self._apply_all(
            setting for setting in self._in_the_way() if not setting.holds(self._ask(setting.query))
        )
        self._await_update()
        return self.read()

    def status(self) -> Status:
        """Return the present settings and everything in the error queue, which this empties."""
        return present.status(self._ask, self._model, self.state, self._errors)

    def changes(self, setup: Setup) -> tuple[str, ...]:
        """Return what in the meter differs from `setup`, and from the values of a sample: one phrase each.

        From then on updates are watched for changes of `setup`, as after `configure`.
        """
        settings = self._settings(setup)
        self._watch = self._watch or Watch(settings, setup.update_interval_s)
        form = self._form if self._element == setup.element else SampleForm.of_run(setup.element)
        wanted = (*settings, *TELLING, *form.settings)
        found = [(setting, self._ask(setting.query)) for setting in wanted]
        return tuple(
            f"{setting.command} was set, it is {answer}"
            for setting, answer in found
            if not setting.holds(answer)
        )

    def choices(self) -> Choices:
        """Return what the meter can be set to at its present crest factor."""
        crest_factor = present.crest_factor(self._ask)
        return Choices(
            voltage_ranges_v=self._model.voltage_ranges_v(crest_factor),
            current_ranges_a=self._model.current_ranges_a(crest_factor),
            update_intervals_s=self._model.rates_s,
            elements=self._model.measurable,
        )

    def peaks(self) -> Peaks:
        """Return the largest peaks of the last update, of either sign and among all elements that are measured.

        They are items of their own behind those of a sample, so samples stay as they are.
        """
        if not self._has_peak_items:
            self._change(self._form.peak_settings(self._measured))
            self._has_peak_items = True
        question = self._form.peak_question(self._measured)
        found = [answers.value(part) for part in self._link.query(question).split(";")]
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
            raise MeterBusy(
                f"The meter {self._identity.serial} still holds the energy of a run (state {state.value}); it "
                "compensates its zero level only once the integrator is reset."
            )
        answer = self._link.query("*CAL?", timeout_ms=ZERO_TIMEOUT_MS).strip()
        if answer != "0":
            errors = self._errors()
            why = f" ({'; '.join(errors)})" if errors else ""
            raise MeterRefused(
                f"The meter {self._identity.serial} could not compensate its zero level, it answers {answer}{why}; "
                "let it warm up for half an hour and try again, and have it serviced if that does not help."
            )

    def restore(self) -> None:
        """Restore the settings found before the first `attach` and `configure`; this resets the integrator.

        Nothing happens if `configure` was never called, and on a second call. Raises MeterError `meter-busy` while
        the meter integrates, `meter-refused` after all others are back if it does not take some.
        """
        if not self._former.is_due:
            return
        self._require_not_integrating()
        self._element = None
        self._link.write(":COMMUNICATE:HEADER OFF;:COMMUNICATE:VERBOSE ON")
        self._link.write("*CLS")
        self._reset_integrator()
        refused: list[str] = []
        for setting in self._former.settings(measuring_headers(self._model)):
            try:
                self._apply(setting)
            except MeterRefused as error:
                refused.append(error.sentence)
        if refused:
            raise MeterRefused(f"Not all former settings are restored. {' '.join(refused)}")
        self._former.forget()

    def close(self) -> None:
        """Close the link, after restoring what `look` changed."""
        borrowed, self._borrowed = self._borrowed, []
        with contextlib.suppress(MeterError):
            for setting in borrowed:
                self._link.write(setting.command)
        self._link.close()

    def _choose(self, form: SampleForm) -> None:
        self._measured = measured_elements(self._model, form.element, self._identity.model)
        self._flags = answers.Flags.of(self._measured)
        self._form, self._element, self._has_peak_items = form, None, False

    def _settings(self, setup: Setup) -> list[Setting]:
        return [setting for setting in measuring(setup, self._model) if self._knows(setting.header)]

    def _knows(self, header: str) -> bool:
        """Whether the meter has a setting that not every meter may have."""
        if header not in OPTIONAL:
            return True
        if header not in self._known:
            self._known[header] = self._says_on_or_off(header)
        return self._known[header]

    def _says_on_or_off(self, header: str) -> bool:
        try:
            answers.boolean(self._link.query(f"{header}?", OPTIONAL_TIMEOUT_MS))
        except MeterAnswerError:
            return False  # an answer per element, as larger meters give, could not be restored as it came
        except MeterTimeout:
            if any(error.startswith(UNKNOWN_HEADER) for error in self._errors()):
                return False
            raise
        return True

    def _in_the_way(self) -> tuple[Setting, ...]:
        return (HOLD_OFF, *TELLING, *self._form.settings)

    def _await_update(self) -> None:
        """Wait for one more update, but not for ever: another client may clear its event first."""
        interval_s = self._update_interval_s
        deadline_s = self._clocks.monotonic() + SETTLING_UPDATES * interval_s + SETTLING_S
        self._link.query(EVENTS)  # clears older events
        while not answers.register(self._link.query(EVENTS)) & answers.NEW_DATA:
            if self._clocks.monotonic() >= deadline_s:
                return
            self._clocks.pause(min(interval_s / 10, 2 * POLL_S))

    def _ask(self, query: str) -> str:
        return answers.data(self._link.query(query))

    def _state(self, timeout_ms: int | None = None) -> IntegratorState:
        return IntegratorState.parse(answers.data(self._link.query(":INTEGRATE:STATE?", timeout_ms)))

    def _require_not_integrating(self) -> None:
        if self.state() is IntegratorState.START:
            raise MeterBusy(
                f"The meter {self._identity.model} {self._identity.serial} is integrating; press STOP and RESET on its "
                "panel, or end the program that uses it."
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
        timeouts_ms = itertools.chain(CONFIRM_TIMEOUTS_MS, itertools.repeat(CONFIRM_TIMEOUTS_MS[-1]))
        for timeout_ms in timeouts_ms:
            try:
                state = self._state(timeout_ms)
                if wanted(state):
                    return
                answer = state.value
            except (MeterTimeout, MeterAnswerError):
                pass  # for some 0.2 s after a start the meter may answer nothing, or nonsense
            if self._clocks.monotonic() >= deadline_s:
                break
            self._clocks.pause(POLL_S)
        raise self._refused(command, answer)

    def _refused(self, command: str, answer: str) -> MeterError:
        errors = self._errors()
        why = "; ".join(errors) if errors else "it gives no reason"
        return MeterRefused(f"The meter does not take {command} (it answers {answer}): {why}.")

    def _errors(self) -> tuple[str, ...]:
        return answers.queued_errors(lambda: self._link.query(":STATUS:ERROR?"))


class Wt300Family:
    """The registered driver: one for each address, over all its links. Implements power.meter.Driver."""

    models: ClassVar[str] = "WT310, WT310E, WT310EH and WT332E/WT333E"

    def __init__(self) -> None:
        self._former = FormerSettings()

    @staticmethod
    def matches(identity: Identity) -> bool:
        """Whether the model is of the family."""
        return model_named(identity.model) is not None

    @staticmethod
    def limits(model: str) -> Limits | None:
        """Return the limits of error of a model of the family."""
        found = model_named(model)
        return None if found is None else found.limits

    def meter(self, link: VisaLink, identity: Identity, clocks: Clocks) -> Meter:
        """Return the meter behind a link, which restores what was found over any earlier link."""
        return Wt300(link, identity, clocks, self._former)
