"""Driver of the WT300 family: turns values into commands and answers into values (IM WT310-17EN, IM WT310E-17EN)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from lpirc_power.clocks import Clocks
from lpirc_power.errors import (
    MeterAnswerError,
    MeterError,
    MeterRefused,
)
from lpirc_power.meter import (
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
    require_no_energy,
)  # fmt: skip
from lpirc_power.wt300 import answers, guard
from lpirc_power.wt300.dialogue import Dialogue
from lpirc_power.wt300.former_settings import FormerSettings
from lpirc_power.wt300.integration import POLL_S, Integration
from lpirc_power.wt300.models import (
    SUPPORTED,
    Model,
    is_of_family,
    measured_elements,
    model_named,
)
from lpirc_power.wt300.run_settings import (
    FORMAT,
    HOLDS,
    TALKING,
    TELLING,
    crest_factor,
    interval_s,
    measuring,
    measuring_headers,
    status,
)
from lpirc_power.wt300.sample import (
    EVENTS,
    PLAIN,
    SampleForm,
    largest_peaks,
)
from lpirc_power.wt300.setting_commands import Setting, plain
from lpirc_power.wt300.settings_watch import Watch, difference, differences
from lpirc_power.wt300.zero_level import compensate_zero

_log: Final = logging.getLogger(__name__)

SETTLING_UPDATES: Final = 2.0
SETTLING_S: Final = 0.5
"""Time to wait for one more update of a stopped meter."""


class Wt300:
    """A meter of the family behind a link. Implements lpirc_power.meter.Meter."""

    def __init__(
        self,
        link: VisaLink,
        identity: Identity,
        clocks: Clocks,
        former: FormerSettings | None = None,
    ) -> None:
        """Create the driver without a query; MeterError `meter-wrong-model` if the identity is not a WT300's.

        `former` holds the settings to `restore`; share it among all drivers created for one meter.
        """
        model = model_named(identity.model)
        if model is None:
            raise MeterError("meter-wrong-model", f"A {identity.model} is not a WT300.")
        self._link = link
        self._dialogue = Dialogue(link, clocks)
        self._integration = Integration(link, self._dialogue, clocks)
        self._clocks = clocks
        self._identity = identity
        self._model: Model = model
        self._former = FormerSettings() if former is None else former
        self._former.belong_to(self._identity)
        self._element: str | None = None
        self._measured: tuple[str, ...] = ()
        self._flags = answers.Flags.of(())
        self._form = SampleForm.of_run("1")
        self._latches: tuple[Setting, ...] = ()
        self._found_format: Setting | None = None
        self._has_peak_items = False
        self._update_interval_s = self._model.rates_s[0]
        self._watch: Watch | None = None

    @property
    def identity(self) -> Identity:
        """Identity of the meter that answered when the link was opened."""
        return self._identity

    def attach(self, element: str = "1") -> None:
        """Set the message format and the values of a sample, without changing the measurement.

        `element` is one of the meter's, or "sum" for all of them; MeterError `meter-range` if it does not exist.
        """
        self._choose(SampleForm.of_run(element))
        self._change(TALKING)
        try:
            self._change((*TELLING, *self._form.settings))
        except MeterRefused as error:
            _log.warning(
                "The range of each single reading is not known: %s", error.sentence
            )
            self._form = SampleForm.of_run(element, PLAIN)
            self._change((*TELLING, *self._form.settings))
        self._latches = guard.latch(
            self._flags, self._change, self._dialogue, self._identity
        )
        with contextlib.suppress(
            MeterAnswerError
        ):  # what it cannot say in `attach`, `configure` sets
            self._update_interval_s = interval_s(self._dialogue.ask, self._model)
        self._element = element

    def look(self, element: str = "1") -> None:
        """Prepare to read an element without disturbing other clients.

        The values come from item numbers reserved by convention for onlookers (ASIDE), and these items are not
        restored. No reading is marked as new. Raises MeterError `meter-range` if there is no such element, `meter-busy`
        if the meter integrates and is set to answer in binary. A meter that does not integrate is set to answer in text
        until `close`.
        """
        self._choose(SampleForm.of_onlooker(element))
        found = self._dialogue.ask(FORMAT.query)
        if not FORMAT.holds(found):
            self._integration.require_ended(self._identity)
            self._found_format = plain(FORMAT.header, found)
            self._dialogue.apply(FORMAT)
        self._dialogue.apply_all(
            (*self._form.settings, *self._form.peak_settings(self._measured))
        )
        self._has_peak_items = True

    def require_possible(self, setup: Setup) -> None:
        """Raise MeterError `meter-range` for a setup that the model does not support, without asking the meter."""
        measuring(setup, self._model)
        measured_elements(self._model, setup.element, self._identity.model)

    def configure(self, setup: Setup) -> None:
        """Set up the measurement and reset the integrator; every setting is read back.

        Raises MeterError `meter-busy` while the meter integrates, `meter-range` for unsupported values, `meter-refused`
        if the meter does not accept a setting.
        """
        self.require_possible(setup)  # before anything is done
        self._integration.require_ended(self._identity)
        self._former.is_due = True
        if self._element != setup.element:
            self.attach(setup.element)
        settings = self._settings(setup)
        headers = [
            header
            for header in measuring_headers(self._model)
            if self._dialogue.knows(header)
        ]
        self._former.keep(headers, self._dialogue.ask_all)
        self._former.undone.clear()
        self._link.write("*CLS")
        # This comes first: most settings are refused until the integrator is reset.
        self._integration.reset()
        self._dialogue.apply_all(settings)
        self._update_interval_s = setup.update_interval_s
        self._watch = Watch(settings, setup.update_interval_s)
        errors = self._dialogue.errors()
        if errors:
            raise MeterRefused(f"The meter reports {'; '.join(errors)}.")

    def start(self) -> None:
        """Start the integrator; return once the meter confirms that it integrates.

        This takes a quarter of a second, up to three seconds if the meter hesitates, or twelve if it gives no answer.
        """
        self._dialogue.query(EVENTS)  # so no event of before is one of the run
        self._former.events = 0
        self._integration.start()

    def stop(self) -> None:
        """Stop the integrator; does nothing if it has already stopped, by its timer or otherwise."""
        self._integration.stop()

    def state(self) -> IntegratorState:
        """Return the integrator's state now."""
        return self._integration.state()

    def read(self) -> Reading:
        """Return one sample, whether or not the meter has updated."""
        return self.read_update()[0]

    def read_update(self) -> tuple[Reading, bool]:
        """Return one sample, and True if the meter has updated since the last one.

        With each new update of a run, some of the settings are compared with those of the setup.
        """
        taken, is_new = self._sample()
        if is_new and self._watch is not None:
            taken = replace(taken, changed=self._watch.differing(self._dialogue.query))
        return taken, is_new

    def read_final(self) -> Reading:
        """Return the sample with the run's energy, one update after the stop, when the values have settled.

        First it undoes what would spoil the sample, which `changes` then reports: another element's values, chosen by
        another client, and a hold of the displayed values. Neither changes the energy itself.
        """
        holds = (one for one in HOLDS if self._dialogue.knows(one.header))
        wanted = [*holds, *TELLING, *self._form.settings]
        # The last query clears older events.
        *found, _ = self._dialogue.ask_all(
            [*(setting.query for setting in wanted), EVENTS]
        )
        spoilt = [
            one for one in zip(wanted, found, strict=True) if not one[0].holds(one[1])
        ]
        if spoilt:
            self._former.undone += [difference(*one) for one in spoilt]
            self._dialogue.apply_all([setting for setting, _ in spoilt])
            self._dialogue.query(EVENTS)
        return self._settled()

    def status(self) -> Status:
        """Return the present settings and all queued errors; reading the errors clears the queue."""
        return status(
            self._dialogue.ask, self._model, self.state, self._dialogue.errors
        )

    def changes(self, setup: Setup) -> tuple[str, ...]:
        """Return one phrase for each difference from `setup` and from the items of a sample.

        From then on, updates are also checked for changes of `setup`, as after `configure`.
        """
        settings = self._settings(setup)
        self._watch = self._watch or Watch(settings, setup.update_interval_s)
        form = self._form
        if self._element != setup.element:
            form = SampleForm.of_run(setup.element)
        wanted = (
            *settings,
            *self._former.locks,
            *TELLING,
            *self._latches,
            *form.settings,
        )
        found = self._dialogue.ask_all([setting.query for setting in wanted])
        return (*self._former.undone, *differences(wanted, found))

    def choices(self) -> Choices:
        """Return the values that the meter can be set to at its present crest factor."""
        factor = crest_factor(self._dialogue.ask)
        return Choices(
            voltage_ranges_v=self._model.voltage_ranges_v(factor),
            current_ranges_a=self._model.current_ranges_a(factor),
            update_intervals_s=self._model.rates_s,
            elements=self._model.measurable,
        )

    def peaks(self) -> Peaks:
        """Return the largest absolute peaks of the last update, over all measured elements.

        Peaks have items of their own after those of a sample, so samples do not change.
        """
        if not self._has_peak_items:
            self._change(self._form.peak_settings(self._measured))
            self._has_peak_items = True
        question = self._form.peak_question(self._measured)
        answer = self._dialogue.query(question)
        return largest_peaks(answer, len(self._measured))

    def zero(self) -> None:
        """Compensate the zero level of all ranges, which may take long.

        Raises MeterError `meter-busy` while the meter integrates or holds an energy that is not reset, since the meter
        then refuses; `meter-refused` if it reports that the compensation failed.
        """
        self._integration.require_ended(self._identity)
        require_no_energy(self)  # only then it compensates
        compensate_zero(self._link, self._dialogue, self._identity)

    def lock_panel(self) -> bool:
        """Lock the panel's keys and check that they stay locked; log it and return False if the meter has no lock."""
        self._former.locks = guard.lock_panel(self._dialogue, self._identity)
        if self._watch is not None:
            self._watch.add(self._former.locks)
        return guard.has_lock(self._dialogue)

    def unlock_panel(self) -> bool:
        """Unlock the panel's keys, whoever locked them; return False if the meter has no known lock.

        Raises MeterError `meter-refused` if they stay locked.
        """
        self._former.locks = ()
        return guard.unlock_panel(self._dialogue)

    def restore(self) -> None:
        """Restore the settings found before the first `attach` and `configure`; this resets the integrator.

        Does nothing if `configure` was never called, or on a second call. Raises MeterError `meter-busy` while the
        meter integrates, and `meter-refused` if the meter does not accept a setting, after all others are restored.
        """
        if not self._former.is_due:
            return
        self._integration.require_ended(self._identity)
        self._element = None
        self._link.write(":COMMUNICATE:HEADER OFF;:COMMUNICATE:VERBOSE ON")
        self._link.write("*CLS")
        self._integration.reset()
        former = self._former.settings(measuring_headers(self._model))
        self._dialogue.apply_all(former, "Not all former settings are restored. ")
        self._former.forget()

    def close(self) -> None:
        """Restore the answer format that `look` found, and close the link."""
        found = self._found_format
        self._found_format = None
        if found is not None:
            with contextlib.suppress(MeterError):
                self._link.write(found.command)
        self._link.close()

    def _sample(self) -> tuple[Reading, bool]:
        now = self._clocks.monotonic(), self._clocks.utcnow()
        stamp = self._form.stamp(*now, self._flags)
        answer = self._dialogue.query(self._form.question)
        taken, events = self._form.taken(answer, stamp, self._former.events)
        is_new = bool(events & answers.NEW_DATA)
        self._former.events = 0 if is_new else events
        return taken, is_new

    def _choose(self, form: SampleForm) -> None:
        self._measured = measured_elements(
            self._model, form.element, self._identity.model
        )
        self._flags = answers.Flags.of(self._measured)
        self._form = form
        self._element = None
        self._has_peak_items = False

    def _settings(self, setup: Setup) -> list[Setting]:
        return [
            setting
            for setting in measuring(setup, self._model)
            if self._dialogue.knows(setting.header)
        ]

    def _settled(self) -> Reading:
        """Return the sample after one more update, or after a time limit, since another client may clear the event."""
        interval_s = self._update_interval_s
        deadline_s = (
            self._clocks.monotonic() + SETTLING_UPDATES * interval_s + SETTLING_S
        )
        while True:
            sample, is_new = self._sample()
            if is_new or self._clocks.monotonic() >= deadline_s:
                return sample
            self._clocks.pause(min(interval_s / 10, 2 * POLL_S))

    def _change(self, settings: Sequence[Setting]) -> None:
        self._former.keep(
            (setting.header for setting in settings), self._dialogue.ask_all
        )
        self._dialogue.apply_all(settings)


class Wt300Family:
    """The registered driver: one instance per address, for all its links. Implements lpirc_power.meter.Driver."""

    models: ClassVar[str] = SUPPORTED
    matches = staticmethod(is_of_family)

    def __init__(self) -> None:
        self._former = FormerSettings()

    @staticmethod
    def limits(model: str) -> Limits | None:
        """Return the limits of error of a model of the family."""
        return None if (found := model_named(model)) is None else found.limits

    def meter(self, link: VisaLink, identity: Identity, clocks: Clocks) -> Meter:
        """Return the meter behind a link.

        It restores the settings that were found before the first change, over any link.
        """
        return Wt300(link, identity, clocks, self._former)
