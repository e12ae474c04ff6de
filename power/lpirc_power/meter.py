"""The meter protocol and its values (identity, setup, reading), and the protocol of a meter driver."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import Enum
from typing import ClassVar, Final, Protocol

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAnswerError, MeterBusy
from lpirc_power.own_term import OwnTerm

UNOFFICIAL: Final = "UNOFFICIAL"
"""Maker in the identity of rehearsal meters at home, whose results are not official."""
SIMULATED: Final = "SIMULATED"
"""Prefix of every simulated meter's serial number."""
MODES: Final = ("rms", "vmean", "dc")
CREST_FACTORS: Final = (3, 6)
SYNCHRONIZE: Final = ("voltage", "current", "off")
ALL_ELEMENTS: Final = "sum"
ELEMENTS: Final = ("1", "2", "3", ALL_ELEMENTS)


class IntegratorState(Enum):
    """States of the integrator, named by the long words of IM WT310-17EN, command :INTEGrate:STATe?."""

    RESET = "RESET"
    START = "START"
    STOP = "STOP"
    TIMEUP = "TIMEUP"
    ERROR = "ERROR"

    @classmethod
    def parse(cls, word: str) -> IntegratorState:
        """Return the state named by a long or short word ("TIMEUP" or "TIM", in any case).

        Raises MeterError `meter-answer` for any other word.
        """
        found = _STATES.get(word.strip().upper())
        if found is None:
            raise MeterAnswerError(
                f"The meter names {word!r} as the integrator's state; no such state is known."
            )
        return found


_STATES: Final = {
    **{state.value: state for state in IntegratorState},
    "RES": IntegratorState.RESET,
    "STAR": IntegratorState.START,
    "TIM": IntegratorState.TIMEUP,
    "ERR": IntegratorState.ERROR,
}


class Unconfirmed(str):
    """A phrase of `Meter.changes` for a setting that could not be read back, because the answer has no meaning."""

    __slots__ = ()


def plain_name(text: str) -> str:
    """Return a part of an identity as `str` writes it, with _ for blanks."""
    return "_".join(text.split(" "))


@dataclass(frozen=True)
class Identity:
    """Identity of a meter, as it answers *IDN?."""

    maker: str
    model: str
    serial: str
    firmware: str

    def __str__(self) -> str:
        # Blanks separate the parts, so a blank within a part would split it.
        parts = [plain_name(one) for one in (self.maker, self.model, self.serial)]
        return " ".join([*parts, self.firmware])

    @classmethod
    def parse(cls, text: str) -> Identity:
        """Parse an identity in the form that `str` writes; only the firmware may contain blanks."""
        parts = [*text.split(" ", 3), "", "", ""]
        return cls(*parts[:4])

    @property
    def is_simulated(self) -> bool:
        """Return True if the serial number marks a simulated meter, whose results are never official."""
        return self.serial.strip().upper().startswith(SIMULATED)


@dataclass(frozen=True)
class Setup:
    """The setup of a measurement.

    A range of None means automatic. The integrator stops by itself after `integrator_timer_s` whole seconds; 0 means
    that it runs until stopped. `mode` is "rms", "vmean" or "dc". `synchronize` is the signal whose zero crossings
    delimit a period: "voltage", "current" or "off". `element` is the measured input, "1" to "3", or "sum" for all of
    them. `ambient_change_c` sets nothing in the meter: it states by how many degrees C the temperature may change after
    the zero level was compensated or a range was set, which bounds the drift of DC.
    """

    voltage_range_v: float | None
    current_range_a: float | None
    update_interval_s: float
    integrator_timer_s: int
    mode: str = "rms"
    crest_factor: int = 3
    line_filter: bool = False
    frequency_filter: bool = False
    synchronize: str = "voltage"
    element: str = "1"
    ambient_change_c: float = 5.0

    @property
    def stated(self) -> dict[str, object]:
        """Return the fields for hashed records, leaving out later additions that have their default value."""
        values = asdict(self)
        if self.ambient_change_c == type(self).ambient_change_c:
            del values["ambient_change_c"]
        return values

    @property
    def range_w(self) -> float | None:
        """The power range: voltage range x current range; None with automatic ranges."""
        if self.voltage_range_v is None or self.current_range_a is None:
            return None
        return self.voltage_range_v * self.current_range_a


@dataclass(frozen=True)
class Choices:
    """Values that a meter can be set to at its present crest factor; empty if there is no choice."""

    voltage_ranges_v: tuple[float, ...]
    current_ranges_a: tuple[float, ...]
    update_intervals_s: tuple[float, ...]
    elements: tuple[str, ...]


@dataclass(frozen=True)
class Peaks:
    """Largest absolute momentary voltage and current of the last update; NaN without data."""

    voltage_v: float
    current_a: float


@dataclass(frozen=True)
class Reading:
    """One sample of everything that is recorded during a run.

    NaN means that the meter had no data, infinity that it was over range. `monotonic_s` and `utc` are the host's time
    when the sample was requested. `integrator_s` has the meter's resolution of whole seconds. The two peak flags mean
    that the wave was clipped, which the values themselves never show. The ranges are those at the time of the sample,
    NaN if the meter does not report them. `changed` names the settings that differed from those of the run, "" if none
    did; a meter may check only some of its settings with each sample. `stopped` means that the meter has latched an end
    of integration, however short, since the previous reading.
    """

    monotonic_s: float
    utc: datetime
    voltage_v: float
    current_a: float
    apparent_va: float
    power_w: float
    power_factor: float
    energy_wh: float
    integrator_s: float
    state: IntegratorState
    over_range: bool
    voltage_peak_over: bool
    current_peak_over: bool
    voltage_range_v: float = math.nan
    current_range_a: float = math.nan
    changed: str = ""
    stopped: bool = False


@dataclass(frozen=True)
class Status:
    """Settings in use in a meter, for display."""

    voltage_range_v: float
    voltage_auto: bool
    current_range_a: float
    current_auto: bool
    update_interval_s: float
    mode: str
    crest_factor: int
    line_filter: bool
    frequency_filter: bool
    synchronize: str
    state: IntegratorState
    errors: tuple[str, ...]


class Meter(Protocol):
    """A meter behind an open link, used by one thread at a time. Every call can raise MeterError."""

    @property
    def identity(self) -> Identity:
        """Identity of the meter that answered when the link was opened."""

    def attach(self, element: str = "1") -> None:
        """Choose the format of answers, and a sample's values and element, without changing the measurement."""

    def look(self, element: str = "1") -> None:
        """Prepare to read an element without disturbing other clients; no reading is then marked as new."""

    def require_possible(self, setup: Setup) -> None:
        """Raise MeterError `meter-range` for values that the meter does not support, without sending anything."""

    def configure(self, setup: Setup) -> None:
        """Set up the measurement and reset the integrator; raise `meter-busy` while the integrator runs."""

    def start(self) -> None:
        """Start the integrator; return once the meter has confirmed that it integrates."""

    def stop(self) -> None:
        """Stop the integrator; does nothing if it has already stopped."""

    def state(self) -> IntegratorState:
        """Return the integrator's state now."""

    def read(self) -> Reading:
        """Return one sample, whether or not the meter has updated."""

    def read_update(self) -> tuple[Reading, bool]:
        """Return one sample, and True if the meter has updated since the last one."""

    def read_final(self) -> Reading:
        """After the stop, undo settings that spoil the energy, then return the sample with the run's energy."""

    def status(self) -> Status:
        """Return the present settings and all queued errors; reading the errors clears the queue."""

    def changes(self, setup: Setup) -> tuple[str, ...]:
        """Return a phrase for each setting that differs from `setup`, `Unconfirmed` if its answer has no meaning."""

    def choices(self) -> Choices:
        """Return the values that the meter can be set to."""

    def peaks(self) -> Peaks:
        """Return the peaks of the last update."""

    def zero(self) -> None:
        """Compensate the zero level, which may take long; raise `meter-busy` while the meter integrates."""

    def lock_panel(self) -> bool:
        """Lock the panel's keys, and check the lock at updates; return False if the meter has no keys or no lock."""
        ...

    def unlock_panel(self) -> bool:
        """Unlock the panel's keys, whoever locked them; return False if the meter has no known lock."""
        ...

    def restore(self) -> None:
        """Restore the settings found at the first `attach` and `configure`; this resets the integrator.

        Does nothing if `configure` was never called, or on a second call. Raises `meter-busy` while the meter
        integrates.
        """

    def close(self) -> None:
        """Close the link; a second call does nothing."""


def require_no_energy(meter: Meter) -> None:
    """Raise MeterError `meter-busy` if the integrator has ended: its energy may not have been read yet.

    Setting the meter up would reset the integrator. A meter that still integrates cannot be set up anyway.
    """
    state = meter.state()
    if state not in (IntegratorState.RESET, IntegratorState.START):
        raise MeterBusy(
            f"The meter {meter.identity} still holds the energy of a run (state {state.value}); read it with `meter "
            "probe`, then press RESET on its panel (`meter unlock` unlocks the keys)."
        )


@dataclass(frozen=True)
class Drift:
    """Drift of the DC zero level per degree C since it was compensated or a range was set.

    The voltage drifts by a share (a part of 1) of its range. The current drifts by `coarse_a_per_c` amperes in ranges
    from `coarse_from_a` up, and by `fine_a_per_c` below. `smallest_voltage_range_v` is the model's smallest voltage
    range; `source` names document and page.
    """

    voltage_range_share_per_c: float
    coarse_a_per_c: float
    fine_a_per_c: float = 0.0
    coarse_from_a: float = 0.0
    smallest_voltage_range_v: float = 0.0
    source: str = ""

    def current_a_per_c(self, range_a: float) -> float:
        """Return the drift of the current, in amperes per degree C, in a range."""
        return (
            self.fine_a_per_c if range_a < self.coarse_from_a else self.coarse_a_per_c
        )

    def under(self, setup: Setup) -> Drift:
        """Return this drift for the ranges under a setup: crest factor 6 halves them."""
        named = 3 / setup.crest_factor
        from_a = named * self.coarse_from_a
        smallest_v = named * self.smallest_voltage_range_v
        return replace(self, coarse_from_a=from_a, smallest_voltage_range_v=smallest_v)


@dataclass(frozen=True)
class Limits:
    """Limits of error of a model's active power, as its maker states them, as fractions, not in percent.

    The shares are of the reading and of the power range, for AC and for DC (`dc_reading_share` None: as for AC), and of
    the apparent power at a power factor of 0. The line filter adds to the shares of the reading; crest factor 6
    multiplies those of the range. `smallest_range_w` is the smallest power range of one element; `elements` is the
    number of elements in the sum. `source` names document and pages. `drift` is the drift at DC, None if none is
    stated. `own` are further terms of the uncertainty budget. `age_s` is how old a value of a meter's counter may be
    when it is read, such as the 0.1 s of one that counts ten times a second; None: not stated, so it is taken as an
    update interval for a meter whose TIME has fractions of a second.
    """

    reading_share: float
    range_share: float
    dc_range_share: float
    apparent_share: float
    smallest_range_w: float
    elements: int = 1
    dc_reading_share: float | None = None
    filter_share: float = 0.0
    dc_filter_share: float = 0.0
    crest_factor_6_times: float = 1.0
    source: str = ""
    drift: Drift | None = None
    own: tuple[OwnTerm, ...] = ()
    age_s: float | None = None

    def under(self, setup: Setup) -> Limits:
        """Return the limits under a setup's crest factor and line filter."""
        times = self.crest_factor_6_times if setup.crest_factor > 3 else 1.0
        dc_share = (
            self.reading_share
            if self.dc_reading_share is None
            else self.dc_reading_share
        )
        return replace(
            self,
            reading_share=self.reading_share + setup.line_filter * self.filter_share,
            dc_reading_share=dc_share + setup.line_filter * self.dc_filter_share,
            range_share=times * self.range_share,
            dc_range_share=times * self.dc_range_share,
            drift=self.drift and self.drift.under(setup),
        )


class VisaLink(Protocol):
    """An open VISA session; `lpirc_power.visa.link.Link` documents the MeterErrors of its calls."""

    def write(self, message: str) -> None:
        """Send a message that has no answer."""

    def query(self, message: str, timeout_ms: int | None = None) -> str:
        """Send a message and return its answer."""
        ...

    def close(self) -> None:
        """Close the session."""


class Driver(Protocol):
    """Driver of a family of meters behind VISA. Registered as a class under the entry point group `lpirc.meters`.

    One instance serves every link that one address opens, and keeps what must outlive a link, such as the settings
    found in the meter.
    """

    models: ClassVar[str]
    """Supported models, for messages: "WT310, WT310E and WT332E"."""

    def __init__(self) -> None: ...

    @staticmethod
    def matches(identity: Identity) -> bool:
        """Return True if a meter with this identity belongs to the family."""
        ...

    @staticmethod
    def limits(model: str) -> Limits | None:
        """Return the accuracy data of a model; None if it is not of this family."""
        ...

    def meter(self, link: VisaLink, identity: Identity, clocks: Clocks) -> Meter:
        """Return the meter behind an open link; closing the meter closes the link."""
        ...
