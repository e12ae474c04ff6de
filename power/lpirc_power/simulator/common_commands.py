"""Command table entries of IEEE 488.2, of the status system, and of communication."""

from __future__ import annotations

from typing import Final

from lpirc_power.simulator.command_table import (
    Command,
    Data,
    action,
    flag,
    mask,
    only,
    query,
    remembered,
    switch,
    word,
)
from lpirc_power.simulator.instrument_state import LAST_FILTER, LOCKS, MeterState
from lpirc_power.simulator.syntax import (
    Pattern,
    RefusedError,
    choice,
    integer,
    register,
    spelled,
)

FILTERS: Final = ("RISE", "FALL", "BOTH", "NEVer")
OPTIONS: Final = "C7"
"""Installed options of the simulated meter: the Ethernet interface."""
LONGEST_TIMER_S: Final = 10000 * 3600


def _wait(meter: MeterState, _suffix: int | None, data: Data) -> None:
    meter.wait_for_events(register(only(data), 65535))


def _wait_query(meter: MeterState, suffix: int | None, data: Data) -> str:
    _wait(meter, suffix, data)
    return "1"


def _filter_place(meter: MeterState, number: int | None) -> int:
    place = (number or 1) - 1
    if place >= meter.status.filter_count:
        raise RefusedError(114)
    return place


COMMON: Final = (
    query(
        "*IDN",
        lambda meter: meter.identity,
        "Maker, model, serial number and firmware.",
    ),
    query("*OPT", lambda _meter: OPTIONS, "The options built in."),
    query(
        "*ESR",
        lambda meter: meter.status.take_events(),
        "The standard event register, which it clears.",
    ),
    # The answer that contains the status byte does not count as waiting.
    query(
        "*STB",
        lambda meter: meter.status.status_byte(answer_waiting=False),
        "The status byte.",
    ),
    query(
        "*CAL", lambda _meter: 0, "Compensates the zero level; 0 is good.", locked=True
    ),
    query("*TST", lambda _meter: 0, "Tests itself; 0 is good."),
    Command(
        Pattern("*OPC"),
        "Sets bit 0 of the standard events when all commands are done; the query answers 1 at that time.",
        "",
        lambda _meter, _suffix, _data: "1",
        lambda meter, _suffix, _data: meter.status.complete(),
    ),
    action(
        "*RST",
        lambda meter: meter.reset(),
        "Restores the factory settings, except those of communication.",
    ),
    action("*CLS", lambda meter: meter.status.clear(), "Clears events and errors."),
    action(
        "*WAI", lambda _meter: None, "Waits for pending operations; there are none."
    ),
    action(
        "*TRG",
        lambda _meter: None,
        "Does nothing: the simulator has no single measurement.",
    ),
    mask("*ESE", "event_enable", 255, "Which standard events show in the status byte."),
    mask(
        "*SRE",
        "request_enable",
        255,
        "Which bits of the status byte show in its summary.",
    ),
)

STATUS: Final = (
    query(
        ":STATus:ERRor",
        lambda meter: meter.status.next_error(),
        "The oldest error, taken out.",
    ),
    query(
        ":STATus:CONDition",
        lambda meter: meter.status.condition,
        "The condition register.",
    ),
    query(
        ":STATus:EESR",
        lambda meter: meter.status.take_extended_events(),
        "The extended event register, which it clears.",
    ),
    mask(
        ":STATus:EESE",
        "extended_enable",
        65535,
        "Which extended events show in the status byte.",
    ),
    Command(
        Pattern(":STATus:FILTer<n>"),
        "The change of condition bit n-1 that sets the extended event of this bit; n is 1 to 16.",
        "{RISE|FALL|BOTH|NEVer}",
        lambda meter, n, _data: spelled(
            meter.status.filters[_filter_place(meter, n)], meter.settings.verbose
        ),
        lambda meter, n, data: meter.status.filters.__setitem__(
            _filter_place(meter, n), choice(only(data), FILTERS)
        ),
        most=LAST_FILTER,
    ),
    flag(
        ":STATus:QMESsage",
        lambda meter: meter.status.texts,
        lambda meter, on: setattr(meter.status, "texts", on),
        "Whether errors carry their text.",
    ),
)

SYSTEM: Final = (
    query(":SYSTem:MODel", lambda meter: f'"{meter.model.name}"', "The model."),
    query(
        ":SYSTem:SERial",
        lambda meter: '"{}"'.format(meter.identity.split(",")[2]),
        "The serial number.",
    ),
    switch(LOCKS[0], "key_lock", "Whether the panel's keys are locked."),
)

COMMUNICATION: Final = (
    switch(
        ":COMMunicate:HEADer",
        "header",
        "Whether answers of settings begin with their header.",
    ),
    switch(
        ":COMMunicate:VERBose",
        "verbose",
        "Whether answers have full words instead of abbreviations.",
    ),
    switch(
        ":COMMunicate:REMote",
        "remote",
        "Whether the panel's keys, except LOCAL, are locked.",
    ),
    switch(LOCKS[1], "lockout", "Whether the key LOCAL is locked too."),
    Command(
        Pattern(":COMMunicate:WAIT"),
        "Waits until an extended event of the mask is set; the query answers 1 at that time.",
        "<register>",
        _wait_query,
        _wait,
        waits=True,
    ),
    remembered(
        "[:SYSTem]:COMMunicate:COMMand",
        "command_set",
        "WT300 WT300E WT200",
        "The command set; always that of the WT300.",
    ),
)


def _put_timer(meter: MeterState, _suffix: int | None, data: Data) -> None:
    if len(data) != 3:
        raise RefusedError(109 if len(data) < 3 else 108)
    hours = integer(data[0], 0, 10000)
    minutes = integer(data[1], 0, 59)
    seconds = integer(data[2], 0, 59)
    timer_s = hours * 3600 + minutes * 60 + seconds
    if timer_s > LONGEST_TIMER_S:
        raise RefusedError(222)
    meter.measuring.integrator.timer_s = timer_s


def _timer(meter: MeterState, _suffix: int | None, _data: Data) -> str:
    minutes, seconds = divmod(meter.measuring.integrator.timer_s, 60)
    return f"{minutes // 60},{minutes % 60},{seconds}"


INTEGRATE: Final = (
    word(
        ":INTEGrate:MODE",
        ("NORMal", "CONTinuous"),
        lambda meter: (
            "CONTinuous" if meter.measuring.integrator.continuous else "NORMal"
        ),
        lambda meter, given: setattr(
            meter.measuring.integrator, "continuous", given == "CONTinuous"
        ),
        "Whether the timer ends the integration or starts it again.",
        locked=True,
    ),
    Command(
        Pattern(":INTEGrate:TIMer"),
        "The timer in hours, minutes, seconds, up to 10000 hours; 0,0,0 is none.",
        "<h>,<m>,<s>",
        _timer,
        _put_timer,
        locked=True,
    ),
    action(
        ":INTEGrate:STARt",
        lambda meter: meter.start(),
        "Starts from RESet, or goes on from STOP.",
    ),
    action(
        ":INTEGrate:STOP", lambda meter: meter.measuring.stop(), "Stops; the sums stay."
    ),
    action(
        ":INTEGrate:RESet", lambda meter: meter.measuring.reset(), "Clears the sums."
    ),
    query(
        ":INTEGrate:STATe",
        lambda meter: spelled(meter.measuring.integrator.state, meter.settings.verbose),
        "RESet, STARt, STOP, TIMeup or ERRor.",
    ),
)
