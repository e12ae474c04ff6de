"""The driver of the WT300 family: values to commands and back (IM WT310-17EN, IM WT310E-17EN)."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from lpirc_power.clocks import Clocks
from lpirc_power.errors import (
    MeterAnswerError,
    MeterBusy,
    MeterError,
    MeterRefused,
    MeterTimeout,
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
from lpirc_power.wt300 import settings as present
from lpirc_power.wt300.dialogue import Dialogue
from lpirc_power.wt300.models import Model, measured_elements, model_named
from lpirc_power.wt300.sample import EVENTS, PLAIN, SampleForm, reading
from lpirc_power.wt300.settings import (
    FORMAT,
    TELLING,
    FormerSettings,
    Setting,
    measuring,
    measuring_headers,
    plain,
)

_log: Final = logging.getLogger(__name__)

CONFIRM_S: Final = 3.0
"""How long the integrator may take to say that it started or stopped, if it answers."""
SILENCE_S: Final = 12.0
"""How long it may answer nothing then: the sum of the next."""
CONFIRM_TIMEOUTS_MS: Final = (100, 300, 900, 2700, 8100)
"""A lost question is asked again soon where a link can give up an answer: until then the meter integrates unseen."""
DEAF_AFTER_START_S: Final = 0.25
"""Real meters lose a question in the 0.2 s after a start, and on USB an answer that never comes may cost the link."""
STATE: Final = ":INTEGRATE:STATE?"
POLL_S: Final = 0.02
SETTLING_UPDATES: Final = 2.0
SETTLING_S: Final = 0.5
"""How long a stopped meter may take for one more update."""
ZERO_TIMEOUT_MS: Final = 60_000
"""The manuals name no time for the compensation of the zero level; it takes seconds."""


class Wt300:
    """A meter of the family behind a link. Implements lpirc_power.meter.Meter."""

    def __init__(
        self,
        link: VisaLink,
        identity: Identity,
        clocks: Clocks,
        former: FormerSettings | None = None,
    ) -> None:
        """Nothing is asked yet; MeterError `meter-wrong-model` if the identity is not that of a WT300.

        `former` holds what `restore` restores; share it among the drivers made for one meter.
        """
        model = model_named(identity.model)
        if model is None:
            raise MeterError("meter-wrong-model", f"A {identity.model} is not a WT300.")
        self._link = link
        self._dialogue = Dialogue(link, clocks)
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
        self._watch: present.Watch | None = None

    @property
    def identity(self) -> Identity:
        """Who answered when the link was opened."""
        return self._identity

    def attach(self, element: str = "1") -> None:
        """Set the form of messages and the values of a sample, without touching the measurement.

        `element` is one of the meter's, or "sum" for all; MeterError `meter-range` if it has no such element.
        """
        self._choose(SampleForm.of_run(element))
        self._change(present.TALKING)
        try:
            self._change((*TELLING, *self._form.settings))
        except MeterRefused as error:
            _log.warning(
                "The ranges are not known from reading to reading: %s", error.sentence
            )
            self._form = SampleForm.of_run(element, PLAIN)
            self._change((*TELLING, *self._form.settings))
        self._latches = guard.latch(
            self._flags, self._change, self._dialogue, self._identity
        )
        with contextlib.suppress(
            MeterAnswerError
        ):  # what it cannot say in `attach`, `configure` sets
            self._update_interval_s = present.interval_s(
                self._dialogue.ask, self._model
            )
        self._element = element

    def look(self, element: str = "1") -> None:
        """Prepare to read an element without disturbing other clients.

        The values come from items that are an onlooker's by convention (ASIDE), and stay so; no reading is marked as
        new. MeterError `meter-range` if there is no such element, `meter-busy` if a meter that integrates is set to
        answer in binary; one that does not integrate answers in text until `close`.
        """
        self._choose(SampleForm.of_onlooker(element))
        found = self._dialogue.ask(FORMAT.query)
        if not FORMAT.holds(found):
            self._require_not_integrating()
            self._found_format = plain(FORMAT.header, found)
            self._dialogue.apply(FORMAT)
        self._dialogue.apply_all(
            (*self._form.settings, *self._form.peak_settings(self._measured))
        )
        self._has_peak_items = True

    def require_possible(self, setup: Setup) -> None:
        """Raise MeterError `meter-range` for a setup that the model does not have; the meter is not asked."""
        measuring(setup, self._model)
        measured_elements(self._model, setup.element, self._identity.model)

    def configure(self, setup: Setup) -> None:
        """Set up the measurement and reset the integrator; every setting is read back.

        Raises MeterError `meter-busy` while the meter integrates, `meter-range` for what it does not have,
        `meter-refused` if it does not take a setting.
        """
        self.require_possible(setup)  # before anything is done
        self._require_not_integrating()
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
        # First: most settings are refused until the integrator is reset.
        self._reset_integrator()
        self._dialogue.apply_all(settings)
        self._update_interval_s = setup.update_interval_s
        self._watch = present.Watch(settings, setup.update_interval_s)
        errors = self._dialogue.errors()
        if errors:
            raise MeterRefused(f"The meter reports {'; '.join(errors)}.")

    def start(self) -> None:
        """Start the integrator; returns once the meter says that it integrates.

        It takes a quarter of a second, up to three if the meter hesitates, or twelve if it answers nothing.
        """
        self._dialogue.query(EVENTS)  # so no event of before is one of the run
        self._former.events = 0
        self._link.write(":INTEGRATE:START")
        self._clocks.pause(DEAF_AFTER_START_S)
        self._confirm(lambda state: state is IntegratorState.START, ":INTEGRATE:START")

    def stop(self) -> None:
        """Stop the integrator; nothing happens if it has stopped already, by its timer or otherwise."""
        if self.state() is IntegratorState.START:
            self._link.write(":INTEGRATE:STOP")
            self._confirm(
                lambda state: state is not IntegratorState.START, ":INTEGRATE:STOP"
            )

    def state(self) -> IntegratorState:
        """Return the integrator's state now."""
        return IntegratorState.parse(self._dialogue.ask(STATE))

    def read(self) -> Reading:
        """Take one sample, new or not."""
        return self.read_update()[0]

    def read_update(self) -> tuple[Reading, bool]:
        """Take one sample, and say whether the meter has updated since the last one.

        With an update of a run, the meter is asked whether some of its settings are still those of the setup.
        """
        taken, is_new = self._sample()
        if is_new and self._watch is not None:
            taken = replace(taken, changed=self._watch.differing(self._dialogue.query))
        return taken, is_new

    def read_final(self) -> Reading:
        """Take the sample of record after the stop, once the meter has had an update to settle its values.

        First it undoes what would spoil the sample, and `changes` reports that: another element's values, which another
        client may have chosen, and what holds the values that it shows. None of it changes the energy itself.
        """
        holds = (one for one in present.HOLDS if self._dialogue.knows(one.header))
        wanted = [*holds, *TELLING, *self._form.settings]
        # The last question clears older events.
        *found, _ = self._dialogue.ask_all(
            [*(setting.query for setting in wanted), EVENTS]
        )
        spoilt = [
            one for one in zip(wanted, found, strict=True) if not one[0].holds(one[1])
        ]
        if spoilt:
            self._former.undone += [present.difference(*one) for one in spoilt]
            self._dialogue.apply_all([setting for setting, _ in spoilt])
            self._dialogue.query(EVENTS)
        return self._settled()

    def status(self) -> Status:
        """Return the present settings and everything in the error queue, which this empties."""
        return present.status(
            self._dialogue.ask, self._model, self.state, self._dialogue.errors
        )

    def changes(self, setup: Setup) -> tuple[str, ...]:
        """Return what in the meter differs from `setup`, and from the values of a sample: one phrase each.

        From then on updates are watched for changes of `setup`, as after `configure`.
        """
        settings = self._settings(setup)
        self._watch = self._watch or present.Watch(settings, setup.update_interval_s)
        form = (
            self._form
            if self._element == setup.element
            else SampleForm.of_run(setup.element)
        )
        wanted = (
            *settings,
            *self._former.locks,
            *TELLING,
            *self._latches,
            *form.settings,
        )
        found = self._dialogue.ask_all([setting.query for setting in wanted])
        pairs = zip(wanted, found, strict=True)
        return (
            *self._former.undone,
            *(
                present.difference(setting, answer)
                for setting, answer in pairs
                if not setting.holds(answer)
            ),
        )

    def choices(self) -> Choices:
        """Return what the meter can be set to at its present crest factor."""
        crest_factor = present.crest_factor(self._dialogue.ask)
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
        found = [
            answers.value(part)
            for part in answers.parts(self._dialogue.query(question))
        ]
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
        require_no_energy(self)  # only then it compensates
        answer = self._link.query("*CAL?", timeout_ms=ZERO_TIMEOUT_MS).strip()
        if answer != "0":
            errors = self._dialogue.errors()
            why = f" ({'; '.join(errors)})" if errors else ""
            raise MeterRefused(
                f"The meter {self._identity.serial} could not compensate its zero level, it answers {answer}{why}; "
                "let it warm up for half an hour and try again, and have it serviced if that does not help."
            )

    def lock_panel(self) -> None:
        """Lock the keys of the panel, and watch that they stay locked; a meter that cannot is used as it is."""
        self._former.locks = guard.lock_panel(self._dialogue, self._identity)
        if self._watch is not None:
            self._watch.add(self._former.locks)

    def unlock_panel(self) -> bool:
        """Unlock the keys of the panel, whoever has locked them; False if the meter knows no lock.

        MeterError `meter-refused` if they stay locked.
        """
        self._former.locks = ()
        return guard.unlock_panel(self._dialogue)

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
        former = self._former.settings(measuring_headers(self._model))
        self._dialogue.apply_all(former, "Not all former settings are restored. ")
        self._former.forget()

    def close(self) -> None:
        """Close the link, after restoring the form of values that `look` found."""
        found, self._found_format = self._found_format, None
        if found is not None:
            with contextlib.suppress(MeterError):
                self._link.write(found.command)
        self._link.close()

    def _sample(self) -> tuple[Reading, bool]:
        stamp = functools.partial(
            reading, self._clocks.monotonic(), self._clocks.utcnow(), self._flags
        )
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
        self._form, self._element, self._has_peak_items = form, None, False

    def _settings(self, setup: Setup) -> list[Setting]:
        return [
            setting
            for setting in measuring(setup, self._model)
            if self._dialogue.knows(setting.header)
        ]

    def _settled(self) -> Reading:
        """Return the sample after one more update, but do not wait for ever: another client may clear its event."""
        interval_s = self._update_interval_s
        deadline_s = (
            self._clocks.monotonic() + SETTLING_UPDATES * interval_s + SETTLING_S
        )
        while True:
            sample, is_new = self._sample()
            if is_new or self._clocks.monotonic() >= deadline_s:
                return sample
            self._clocks.pause(min(interval_s / 10, 2 * POLL_S))

    def _require_not_integrating(self) -> None:
        if self.state() is IntegratorState.START:
            raise MeterBusy(
                f"The meter {self._identity.model} {self._identity.serial} is integrating; press STOP and RESET on its "
                "panel (`meter unlock` frees locked keys), or end the program that uses it."
            )

    def _reset_integrator(self) -> None:
        if self.state() is IntegratorState.RESET:
            return  # some meters queue error 845 for a second reset
        self._link.write(":INTEGRATE:RESET")
        state = self.state()
        if state is not IntegratorState.RESET:
            raise self._dialogue.refused(":INTEGRATE:RESET", state.value)

    def _change(self, settings: Sequence[Setting]) -> None:
        self._former.keep(
            (setting.header for setting in settings), self._dialogue.ask_all
        )
        self._dialogue.apply_all(settings)

    def _confirm(self, wanted: Callable[[IntegratorState], bool], command: str) -> None:
        asked_s = self._clocks.monotonic()
        answer = ""
        timeouts_ms = itertools.chain(
            CONFIRM_TIMEOUTS_MS, itertools.repeat(CONFIRM_TIMEOUTS_MS[-1])
        )
        for timeout_ms in timeouts_ms:
            try:
                state = IntegratorState.parse(
                    answers.data(self._dialogue.query_early(STATE, timeout_ms))
                )
                if wanted(state):
                    return
                answer = state.value
            except (MeterTimeout, MeterAnswerError):
                pass  # it may be deaf for longer than is known, or answer nonsense
            if self._clocks.monotonic() - asked_s >= (
                CONFIRM_S if answer else SILENCE_S
            ):
                break
            self._clocks.pause(POLL_S)
        raise self._dialogue.refused(command, answer or "nothing")


class Wt300Family:
    """The registered driver: one for each address, over all its links. Implements lpirc_power.meter.Driver."""

    models: ClassVar[str] = "WT310, WT332 and WT333, WT310E, WT310EH, WT332E and WT333E"

    def __init__(self) -> None:
        self._former = FormerSettings()

    @staticmethod
    def matches(identity: Identity) -> bool:
        """Whether the model is of the family."""
        return model_named(identity.model) is not None

    @staticmethod
    def limits(model: str) -> Limits | None:
        """Return the limits of error of a model of the family."""
        return None if (found := model_named(model)) is None else found.limits

    def meter(self, link: VisaLink, identity: Identity, clocks: Clocks) -> Meter:
        """Return the meter behind a link, which restores what was found over any earlier link."""
        return Wt300(link, identity, clocks, self._former)
