"""Settings that a run makes in a WT300 meter, and the order in which they are restored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lpirc_power.channels import JOINT
from lpirc_power.meter import ALL_ELEMENTS, IntegratorState, Setup, Status
from lpirc_power.wt300 import setting_commands as controls
from lpirc_power.wt300.answers import Flags
from lpirc_power.wt300.models import Model
from lpirc_power.wt300.setting_commands import Range, Setting, Switch

Ask = Callable[[str], str]
"""Sends a query and returns its answer without a header."""
PANEL_LOCKS: Final = ((controls.REMOTE, controls.LOCKOUT), (controls.KEY_LOCK,))
"""Groups of settings that lock the panel's keys, the lock itself last; the first group that the meter has is used."""
_LOCKING: Final = tuple(lock[-1] for lock in PANEL_LOCKS)
_MAY_LACK: Final = (
    controls.AVERAGING,
    controls.SCALING,
    controls.NUMERIC_HOLD,
    controls.MAXIMUM_HOLD,
    *_LOCKING,
)
OPTIONAL: Final = tuple(one.header for one in _MAY_LACK)
"""Settings that a meter may lack."""
_MEASURING: Final = tuple(
    one.header
    # In the order in which they are restored: the crest factor forces both ranges to their maximum, and a range
    # that is set ends automatic ranging.
    for one in (
        controls.CREST_FACTOR,
        controls.MODE,
        controls.LINE_FILTER,
        controls.FREQUENCY_FILTER,
        controls.SYNCHRONIZATION,
        controls.VOLTAGE_RANGE,
        controls.VOLTAGE_AUTO,
        controls.CURRENT_RANGE,
        controls.CURRENT_AUTO,
        controls.UPDATE_RATE,
        controls.INTEGRATE_MODE,
        controls.INTEGRATE_TIMER,
        controls.AVERAGING,
        controls.SCALING,
        controls.NUMERIC_HOLD,
        controls.MAXIMUM_HOLD,
        controls.HOLD,
    )
)
HOLDS: Final = (
    controls.HOLD.to(on=False),
    controls.NUMERIC_HOLD.to(on=False),
    controls.MAXIMUM_HOLD.to(on=False),
)
"""Settings that end a hold, in which a meter answers with earlier or maximum values as if they were readings."""
TALKING: Final = (controls.HEADERS.to(on=False), controls.LONG_WORDS.to(on=True))
"""Settings for plain values in long words. *RST does not change them, so they are always made."""
FORMAT: Final = controls.FORMAT.to("ASCII")
TELLING: Final = (controls.EVENT_FILTER.to(1, "FALL"), FORMAT)
"""Settings that report the end of an update as an event, and values as text."""


def measuring_headers(model: Model) -> tuple[str, ...]:
    """Return the headers of the settings that `measuring` may change, in a valid order for restoring them."""
    if len(model.elements) == 1:
        return _MEASURING
    return (controls.WIRING.header, *_MEASURING)


def latches(flags: Flags) -> tuple[Setting, ...]:
    """Return the settings that latch, until the next sample, an end of integration or a rise of a flag."""
    # The filter of a bit of the condition register has the number after the bit's.
    rising = [controls.EVENT_FILTER.to(bit + 1, "RISE") for bit in flags.bits]
    return (controls.EVENT_FILTER.to(2, "FALL"), *rising)


def item(place: int, function: str) -> Setting:
    """Return the setting that assigns a function of an element ("U,1") to item number `place`, 1 to 255."""
    return controls.ITEM.to(place, function)


def sample_number(count: int) -> Setting:
    """Return the setting for the number of items in an answer, counted from the first."""
    return controls.ITEM_NUMBER.to(str(count))


def sample_items(
    functions: Sequence[str], element: str, first: int
) -> tuple[Setting, ...]:
    """Return the settings that assign functions of one element, or of the "sum", to items from `first` on."""
    named = controls.item_functions(functions, element)
    return tuple(item(place, text) for place, text in enumerate(named, start=first))


def measuring(setup: Setup, model: Model) -> tuple[Setting, ...]:
    """Return the settings of a measurement; MeterError `meter-range` for values that the model lacks."""
    mode = controls.MODE.to(setup.mode)
    synchronization = controls.SYNCHRONIZATION.to(setup.synchronize)
    crest_factor = controls.CREST_FACTOR.to(setup.crest_factor)
    update_rate = controls.UPDATE_RATE.to(setup.update_interval_s, model)
    voltages_v = model.voltage_ranges_v(setup.crest_factor)
    currents_a = model.current_ranges_a(setup.crest_factor)
    wiring: list[Setting] = []
    if setup.element == ALL_ELEMENTS or JOINT in setup.element:
        wiring = [controls.WIRING.to(model)]
    return (
        *HOLDS,
        crest_factor,
        mode,
        controls.LINE_FILTER.to(on=setup.line_filter),
        controls.FREQUENCY_FILTER.to(on=setup.frequency_filter),
        synchronization,
        *wiring,
        *_ranging(
            controls.VOLTAGE_AUTO,
            controls.VOLTAGE_RANGE,
            setup.voltage_range_v,
            voltages_v,
        ),
        *_ranging(
            controls.CURRENT_AUTO,
            controls.CURRENT_RANGE,
            setup.current_range_a,
            currents_a,
        ),
        update_rate,
        controls.INTEGRATE_MODE.to("NORMAL"),
        controls.INTEGRATE_TIMER.to(setup.integrator_timer_s),
        controls.AVERAGING.to(on=False),
        controls.SCALING.to(on=False),
    )


def _ranging(
    auto: Switch, fixed: Range, wanted: float | None, choices: tuple[float, ...]
) -> list[Setting]:
    if wanted is None:
        return [auto.to(on=True)]
    return [auto.to(on=False), fixed.to(wanted, choices)]


def status(
    ask: Ask,
    model: Model,
    state: Callable[[], IntegratorState],
    errors: Callable[[], tuple[str, ...]],
) -> Status:
    """Return the present settings, the integrator's state, and the errors, including those of these queries."""
    return Status(
        voltage_range_v=controls.VOLTAGE_RANGE.read(ask(controls.VOLTAGE_RANGE.query)),
        voltage_auto=controls.VOLTAGE_AUTO.read(ask(controls.VOLTAGE_AUTO.query)),
        current_range_a=controls.CURRENT_RANGE.read(ask(controls.CURRENT_RANGE.query)),
        current_auto=controls.CURRENT_AUTO.read(ask(controls.CURRENT_AUTO.query)),
        update_interval_s=interval_s(ask, model),
        mode=controls.MODE.read(ask(controls.MODE.query)),
        crest_factor=crest_factor(ask),
        line_filter=controls.LINE_FILTER.read(ask(controls.LINE_FILTER.query)),
        frequency_filter=controls.FREQUENCY_FILTER.read(
            ask(controls.FREQUENCY_FILTER.query)
        ),
        synchronize=controls.SYNCHRONIZATION.read(ask(controls.SYNCHRONIZATION.query)),
        state=state(),
        errors=errors(),
    )


def crest_factor(ask: Ask) -> int:
    """Query the crest factor, 3 or 6."""
    return controls.CREST_FACTOR.read(ask(controls.CREST_FACTOR.query))


def interval_s(ask: Ask, model: Model) -> float:
    """Query the update interval."""
    return controls.UPDATE_RATE.read(ask(controls.UPDATE_RATE.query), model)
