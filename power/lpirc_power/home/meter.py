"""Meter for rehearsals at home: a sensor, and an integrator in software."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final, Protocol

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterBusy, MeterRangeError, MeterRefused
from lpirc_power.home.counter_wrap import CounterWatch, Wrap
from lpirc_power.meter import (
    ALL_ELEMENTS,
    UNOFFICIAL,
    Choices,
    Identity,
    IntegratorState,
    Peaks,
    Reading,
    Setup,
    Status,
)
from lpirc_power.reading_problem import is_number

UPDATE_INTERVAL_S: Final = 0.25
"""Update interval until the meter is set up, if the driver states none: the factory setting of a WT310."""
SHORTEST_UPDATE_S: Final = 0.01
LONGEST_UPDATE_S: Final = 60.0
LONGEST_TIMER_S: Final = 10000 * 3600
"""Longest time that the timer of a WT300 accepts."""
NO_SETTING: Final = "none"


@dataclass(frozen=True)
class Sample:
    """Values of a sensor at one moment; NaN if unknown.

    `energy_wh` and `running_s` increase from sample to sample; only their differences are meaningful.
    """

    energy_wh: float
    running_s: float
    power_w: float = math.nan
    voltage_v: float = math.nan
    current_a: float = math.nan
    apparent_va: float = math.nan
    power_factor: float = math.nan

    def __post_init__(self) -> None:
        """Raise TypeError for what is no number, as the text of an answer."""
        for one in fields(self):
            value: object = getattr(self, one.name)
            if not is_number(value):
                raise TypeError(
                    f"{one.name} of a Sample is {value!r:.40}, where a number must be"
                )


def unofficial(model: str, serial: str, firmware: str) -> Identity:
    """Return the identity of a meter at home, with _ for blanks, since blanks separate the parts of an identity."""
    return Identity(
        UNOFFICIAL, model, "_".join(serial.split()), "_".join(firmware.split())
    )


class Sensor(Protocol):
    """A source of samples. Every call can raise MeterError; times are seconds of one monotonic clock."""

    @property
    def identity(self) -> Identity:
        """The identity of the meter: maker UNOFFICIAL, its kind, the chosen sensors, and their source."""
        ...

    def look(self, now_s: float) -> Sample:
        """Return the present sample."""
        ...


class Integrator:
    """Adds up a sensor's energy while it runs; stops by itself when its timer has run out.

    A sensor that counts anew was restarted, and the energy between is unknown: the state is then ERROR, and the sums
    are those before. A counter that is full and begins at 0 again has a `wrap`.

    The timer runs on `running_s`. If it ends between two looks, the energy of the part before its end is counted.
    `energy_wh` and `running_s` keep their values until the reset, as WH and TIME do; `running_s` is not rounded.
    """

    def __init__(self, wrap: Wrap | None = None) -> None:
        self.wrap = wrap
        self.state = IntegratorState.RESET
        self.energy_wh = 0.0
        self.running_s = 0.0
        self._left_s = math.inf
        self._last: Sample | None = None
        self._watch: CounterWatch | None = None

    def reset(self, timer_s: float) -> None:
        """Clear the sums and set the timer; 0 s means no timer."""
        self.state = IntegratorState.RESET
        self.energy_wh = self.running_s = 0.0
        self._left_s = timer_s or math.inf

    def start(self, sample: Sample) -> None:
        """Start counting; MeterError `meter-refused` if the integrator runs already or its time is up."""
        if self.state not in (IntegratorState.RESET, IntegratorState.STOP):
            raise MeterRefused(
                f"The integrator cannot start in state {self.state.value}; it must be reset first."
            )
        self.state = IntegratorState.START
        self._last = sample
        self._watch = None
        if self.wrap is not None:
            self._watch = CounterWatch(
                self.wrap, sample.energy_wh, sample.running_s, sample.power_w
            )

    def advance(self, sample: Sample) -> None:
        """Add the energy since the last call if the integrator runs."""
        if self.state is not IntegratorState.START or self._last is None:
            return
        passed_s = sample.running_s - self._last.running_s
        rise_wh = sample.energy_wh - self._last.energy_wh
        if self._watch is not None:
            rise_wh = self._watch.rise_wh(
                sample.energy_wh, sample.running_s, sample.power_w
            )
        is_negative = self._last.power_w < 0 or sample.power_w < 0
        if passed_s < 0 or (rise_wh < 0 and not is_negative):  # it has begun anew
            self.state = IntegratorState.ERROR
            return
        share = min(1.0, self._left_s / passed_s) if passed_s > 0 else 1.0
        self.energy_wh += share * rise_wh
        self.running_s += share * passed_s
        self._left_s -= passed_s
        self._last = sample
        if self._left_s <= 0:
            self.state = IntegratorState.TIMEUP

    def stop(self, sample: Sample) -> None:
        """Add the energy up to now and stop; does nothing if the integrator does not run."""
        self.advance(sample)
        if self.state is IntegratorState.START:
            self.state = IntegratorState.STOP


class HomeMeter:
    """A sensor, its integrator and its last update. Implements lpirc_power.meter.Meter.

    The address object keeps the meter between connections: there is no link to lose, and the integral is not lost.

    The sensor is read once per update interval; between reads the meter shows the last update. Of a setup, only the
    update interval and the timer have an effect. Ranges, filters and similar settings are ignored, so a contest set up
    for a real meter runs unchanged with this one. A laboratory's recording refuses ranges instead. A counter that is
    full at a known energy has a `wrap`; without it, one that falls has begun anew. `update_interval_s` is how often the
    sensor itself has new values: the meter shows it, and is looked at so often, until it is set up.
    """

    integrates_here: Final = True
    """The integrator is in this process: at its end nothing integrates, and nothing holds an energy."""

    def __init__(
        self,
        sensor: Sensor,
        clocks: Clocks,
        wrap: Wrap | None = None,
        *,
        update_interval_s: float = UPDATE_INTERVAL_S,
    ) -> None:
        """Read nothing yet. Raises ValueError for an update interval that no setup can have."""
        if not (
            is_number(update_interval_s)
            and SHORTEST_UPDATE_S <= update_interval_s <= LONGEST_UPDATE_S
        ):
            raise ValueError(
                f"update_interval_s is {update_interval_s!r:.40}, where {SHORTEST_UPDATE_S:g} to {LONGEST_UPDATE_S:g} "
                "s must be"
            )
        self.sensor = sensor
        self._clocks = clocks
        self._integrator = Integrator(wrap)
        self._update_interval_s = update_interval_s
        self._reading: Reading | None = None
        self._due_s = -math.inf

    @property
    def identity(self) -> Identity:
        """The meter's kind and the chosen sensors."""
        return self.sensor.identity

    def attach(self, element: str = "1") -> None:
        """Accept input 1 or the sum, which are the same here. Raises MeterError `meter-range` for any other element."""
        if element not in ("1", ALL_ELEMENTS):
            raise MeterRangeError(
                f"The meter {self.identity.model} has one element, not an element {element}; choose 1."
            )

    def look(self, element: str = "1") -> None:
        """Check the element. Nothing else is needed, since reading disturbs no other program."""
        self.attach(element)

    def require_possible(self, setup: Setup) -> None:
        """Check element, update interval and timer; MeterError `meter-range` for an unsupported value."""
        self.attach(setup.element)
        interval_s = setup.update_interval_s
        timer_s = setup.integrator_timer_s
        if not (
            SHORTEST_UPDATE_S <= interval_s <= LONGEST_UPDATE_S
            and 0 <= timer_s <= LONGEST_TIMER_S
        ):
            raise MeterRangeError(
                f"The update interval, {interval_s:g} s, must be {SHORTEST_UPDATE_S:g} to {LONGEST_UPDATE_S:g} s, and "
                f"the timer, {timer_s} s, 0 to {LONGEST_TIMER_S} s."
            )

    def configure(self, setup: Setup) -> None:
        """Set update interval and timer and reset the integrator; `meter-busy` while it integrates."""
        self.require_possible(setup)
        if self.state() is IntegratorState.START:
            raise MeterBusy(
                f"The meter {self.identity.model} {self.identity.serial} is integrating; stop it before a new run."
            )
        self._update_interval_s = setup.update_interval_s
        self._integrator.reset(setup.integrator_timer_s)
        self._reading = None
        self._due_s = -math.inf

    def start(self) -> None:
        """Start the integrator; the first update comes one interval later."""
        self._update(self._integrator.start)

    def stop(self) -> None:
        """Stop the integrator and count the energy used so far; does nothing if it does not run."""
        if self._integrator.state is IntegratorState.START:
            self._update(self._integrator.stop)

    def state(self) -> IntegratorState:
        """Return the integrator's state now."""
        if self._integrator.state is IntegratorState.START:
            self._integrator.advance(self.sensor.look(self._clocks.monotonic()))
        return self._integrator.state

    def read(self) -> Reading:
        """Return the last update, or a new one if it is due."""
        return self.read_update()[0]

    def read_update(self) -> tuple[Reading, bool]:
        """Return the last update, and True if it was made in this call."""
        late_s = self._clocks.monotonic() - self._due_s
        if self._reading is not None and late_s < 0:
            return self._reading, False
        # Updates are on a grid, so a slightly late query does not delay all later updates; a pause starts a new grid.
        return self._update(
            self._integrator.advance,
            late_s if late_s < self._update_interval_s else 0.0,
        ), True

    def read_final(self) -> Reading:
        """Return the sample that gives the run's energy, after the integrator has stopped."""
        return self._update(self._integrator.advance)

    def status(self) -> Status:
        """Return the status: no ranges, no filters, no errors."""
        return Status(
            voltage_range_v=math.nan,
            voltage_auto=True,
            current_range_a=math.nan,
            current_auto=True,
            update_interval_s=self._update_interval_s,
            mode=NO_SETTING,
            crest_factor=3,
            line_filter=False,
            frequency_filter=False,
            synchronize=NO_SETTING,
            state=self.state(),
            errors=(),
        )

    def changes(self, setup: Setup) -> tuple[str, ...]:
        """Return no changes: the meter has no settings that anyone could change."""
        return ()

    def choices(self) -> Choices:
        """Return empty choices: nothing can be set."""
        return Choices((), (), (), ())

    def peaks(self) -> Peaks:
        """Return NaN: peaks are not measured."""
        return Peaks(math.nan, math.nan)

    def zero(self) -> None:
        """Raise MeterError `meter-refused`: there is no zero level to compensate."""
        raise MeterRefused(
            f"The meter {self.identity.model} {self.identity.serial} has no zero level to compensate."
        )

    def lock_panel(self) -> bool:
        """Return False: a sensor has no keys."""
        return False

    def unlock_panel(self) -> bool:
        """Return False: a sensor has no keys."""
        return False

    def restore(self) -> None:
        """Do nothing: no setting of the sensor was changed."""

    def close(self) -> None:
        """Do nothing: files are open only while they are read."""

    def _update(self, act: Callable[[Sample], None], late_s: float = 0.0) -> Reading:
        """Read the sensor, pass the sample to `act`, and return a reading that is shown until the next update."""
        now_s = self._clocks.monotonic()
        sample = self.sensor.look(now_s)
        act(sample)
        self._due_s = now_s - late_s + self._update_interval_s
        self._reading = Reading(
            monotonic_s=now_s,
            utc=self._clocks.utcnow(),
            voltage_v=sample.voltage_v,
            current_a=sample.current_a,
            apparent_va=sample.apparent_va,
            power_w=sample.power_w,
            power_factor=sample.power_factor,
            energy_wh=self._integrator.energy_wh,
            integrator_s=self._integrator.running_s,
            state=self._integrator.state,
            over_range=False,
            voltage_peak_over=False,
            current_peak_over=False,
        )
        return self._reading
