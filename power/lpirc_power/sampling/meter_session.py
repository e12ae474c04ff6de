"""Meter session: the link to one meter, opened when needed, its identity, and its settings, restored at the end."""

from __future__ import annotations

import logging
import math
from typing import Final

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.clocks import Clocks
from lpirc_power.errors import (
    MeterBusy,
    MeterChanged,
    MeterError,
    MeterRangeError,
    PassingMeterError,
)
from lpirc_power.meter import Identity, IntegratorState, Meter, Reading, Setup

_log: Final = logging.getLogger(__name__)

PROMPT_S: Final = 1.0
"""A link that fails sooner is broken. One that fails later has a hanging meter, which would hang again."""


class MeterSession:
    """The link to one meter; refuses another meter at the same address. For one thread at a time."""

    def __init__(self, address: str, element: str, clocks: Clocks) -> None:
        """Check the address without opening it; MeterError `meter-wrong-address` if it is not valid."""
        self.identity: Identity | None = None
        self._address = MeterAddress(address)
        self._element = element
        self._clocks = clocks
        self._meter: Meter | None = None
        self._attached = False
        self._configured = False
        self._has_lock = True
        self.integrates_here = False
        """True if the meter's integrator is in this process, and ends with it."""
        self.integrates_again = False
        """True if the meter, to be restored, was found integrating: another program has started it."""

    def untouched(self) -> Meter:
        """Return the meter, opening a link if there is none; `meter-changed` if another meter answers.

        No setting is changed, since the meter may turn out to be in use.
        """
        if self._meter is None:
            meter = self._address.connect(self._clocks)
            # Compared in written form: a stored identity may have its blanks elsewhere.
            if self.identity is not None and str(meter.identity) != str(self.identity):
                meter.close()
                raise MeterChanged(
                    f"Another meter answers: {meter.identity}, not {self.identity}. Connect the right meter again."
                )
            self._meter = meter
            self.identity = meter.identity
            self.integrates_here = getattr(meter, "integrates_here", False) is True
        return self._meter

    def meter(self) -> Meter:
        """Return the meter, opened and attached for reading."""
        meter = self.untouched()
        if not self._attached:
            try:
                meter.attach(self._element)
            except BaseException:
                self.drop()
                raise
            self._attached = True
        return meter

    def drop(self) -> None:
        """Close the link, for example after a failure; the next call opens a new one."""
        meter = self._meter
        self._meter = None
        self._attached = False
        if meter is not None:
            meter.close()

    def forget(self) -> None:
        """Close the link, and accept any meter that answers next."""
        self.drop()
        self.identity = None
        self._configured = False
        self._has_lock = True

    def configure(self, setup: Setup, *, take_over: bool = False) -> None:
        """Set the meter up. From now on, closing restores its former settings.

        With `take_over`, a meter that integrates is stopped first, unless the setup is invalid.
        """
        meter = self.untouched()
        before = self._configured
        self._configured = True
        try:
            try:
                meter.configure(setup)
            except MeterBusy:
                if not take_over:
                    raise
                meter.stop()
                meter.configure(setup)
            self._attached = True
            self._element = setup.element  # for the next link, too
        except (MeterBusy, MeterRangeError):  # nothing was set
            self._configured = before
            raise

    def lock_panel(self) -> None:
        """Lock the meter's panel, and note whether it has a lock; a driver that returns None may have one."""
        self._has_lock = self.meter().lock_panel() is not False

    def unlock_panel(self) -> None:
        """Unlock the meter's panel, if it has a lock; never raises, since `meter unlock` can do it later."""
        if not self._has_lock:
            return
        try:
            self.untouched().unlock_panel()
        except MeterError as error:
            self.drop()
            said = (
                "The keys of the meter %s may still be locked, see `meter unlock`: %s"
            )
            _log.warning(said, self.identity, error.sentence)

    def restore_settings(self, final: Reading | None = None) -> None:
        """Restore the settings changed by `configure`, if that destroys no energy; never raises.

        `final` is the reading with the run's energy, None if no run was started. Restoring resets the integrator, so a
        meter that holds any other energy is left unchanged. A link that is down, or turns out dead, is reopened once; a
        meter that does not answer is not asked again.
        """
        configured = self._configured
        self._configured = False
        if not configured:
            return
        had_link = self._meter is not None
        asked_s = self._clocks.monotonic()
        try:
            self._restore(final)
        except MeterError as error:
            self.drop()
            prompt = self._clocks.monotonic() - asked_s < PROMPT_S
            if had_link and prompt and isinstance(error, PassingMeterError):
                self._configured = True
                self.restore_settings(final)
                return
            _log.warning(
                "The meter %s may not have its former settings: %s",
                self.identity,
                error.sentence,
            )

    def _restore(self, final: Reading | None) -> None:
        meter = self.untouched()
        state = meter.state()
        if state is IntegratorState.START:
            self.integrates_again = True
            _log.warning(
                "The meter %s integrates again; its settings are left unchanged.",
                self.identity,
            )
        elif state is IntegratorState.RESET or (
            # An energy that has not been read yet may still be read later.
            final is not None
            and math.isfinite(final.energy_wh + final.integrator_s)
            and _energy(self.meter().read()) == _energy(final)
        ):
            meter.restore()
        else:
            _log.warning(
                "The meter %s holds an unknown energy, or that of another run, so the meter and its settings are "
                "left unchanged.",
                self.identity,
            )

    def close(self) -> None:
        """Close the link, and end the simulator of a `sim:` address."""
        self.drop()
        self._address.close()


def _energy(reading: Reading) -> tuple[float, float]:
    return reading.energy_wh, reading.integrator_s
