"""The table's entries of IEEE 488.2, of the status system, and of communication."""

from __future__ import annotations

from typing import Final

from power.simulator.command import Command, Data, action, flag, mask, only, query, word
from power.simulator.refusals import RefusedError
from power.simulator.state import MeterState
from power.simulator.syntax import Pattern
from power.simulator.values import choice, register, spelled

FILTERS: Final = ("RISE", "FALL", "BOTH", "NEVer")
OPTIONS: Final = "C7"
"""What is built in beside the meter: the Ethernet interface."""


def _filter_index(suffix: int | None) -> int:
    if suffix is None or not 1 <= suffix <= 16:
        raise RefusedError(114)
    return suffix - 1


def _put_filter(meter: MeterState, suffix: int | None, data: Data) -> None:
    meter.status.filters[_filter_index(suffix)] = choice(only(data), FILTERS)


def _filter(meter: MeterState, suffix: int | None, _data: Data) -> str:
    return spelled(meter.status.filters[_filter_index(suffix)], meter.settings.verbose)


def _wait(meter: MeterState, _suffix: int | None, data: Data) -> None:
    meter.wait_for_events(register(only(data), 65535))


def _wait_query(meter: MeterState, suffix: int | None, data: Data) -> str:
    _wait(meter, suffix, data)
    return "1"


COMMON: Final = (
    query("*IDN", lambda meter: meter.identity, "Maker, model, serial number and firmware."),
    query("*OPT", lambda _meter: OPTIONS, "The options built in."),
    query("*ESR", lambda meter: meter.status.take_events(), "The standard event register, which it clears."),
    # The answer that carries the status byte is itself not yet waiting.
    query("*STB", lambda meter: meter.status.status_byte(answer_waiting=False), "The status byte."),
    query("*CAL", lambda _meter: 0, "Compensates the zero level; 0 is good.", locked=True),
    query("*TST", lambda _meter: 0, "Tests itself; 0 is good."),
    Command(
        Pattern("*OPC"),
        "Sets bit 0 of the standard events when all is done; asked, answers 1 then.",
        "",
        lambda _meter, _suffix, _data: "1",
        lambda meter, _suffix, _data: meter.status.complete(),
    ),
    action(
        "*RST", lambda meter: meter.reset(), "Restores the factory's settings, except how the meter talks."
    ),
    action("*CLS", lambda meter: meter.status.clear(), "Clears events and errors."),
    action("*WAI", lambda _meter: None, "Waits until all is done, which it is."),
    action("*TRG", lambda _meter: None, "Does nothing: there is no single measurement here."),
    mask("*ESE", "event_enable", 255, "Which standard events show in the status byte."),
    mask("*SRE", "request_enable", 255, "Which bits of the status byte show in its summary."),
)

STATUS: Final = (
    query(":STATus:ERRor", lambda meter: meter.status.next_error(), "The oldest error, taken out."),
    query(":STATus:CONDition", lambda meter: meter.status.condition, "The condition register."),
    query(
        ":STATus:EESR",
        lambda meter: meter.status.take_extended_events(),
        "The extended event register, which it clears.",
    ),
    mask(":STATus:EESE", "extended_enable", 65535, "Which extended events show in the status byte."),
    Command(
        Pattern(":STATus:FILTer<n>"),
        "Which change of condition bit n-1 raises its extended event; n is 1 to 16.",
        "{RISE|FALL|BOTH|NEVer}",
        _filter,
        _put_filter,
    ),
    flag(
        ":STATus:QMESsage",
        lambda meter: meter.status.texts,
        lambda meter, on: setattr(meter.status, "texts", on),
        "Whether errors are told with their text.",
    ),
)

COMMUNICATION: Final = (
    flag(
        ":COMMunicate:HEADer",
        lambda meter: meter.settings.header,
        lambda meter, on: setattr(meter.settings, "header", on),
        "Whether answers of settings begin with their header.",
    ),
    flag(
        ":COMMunicate:VERBose",
        lambda meter: meter.settings.verbose,
        lambda meter, on: setattr(meter.settings, "verbose", on),
        "Whether answers are in long words.",
    ),
    flag(
        ":COMMunicate:REMote",
        lambda meter: meter.settings.remote,
        lambda meter, on: setattr(meter.settings, "remote", on),
        "Whether the keys of the panel are off, but for LOCAL.",
    ),
    flag(
        ":COMMunicate:LOCKout",
        lambda meter: meter.settings.lockout,
        lambda meter, on: setattr(meter.settings, "lockout", on),
        "Whether the key LOCAL is off too.",
    ),
    Command(
        Pattern(":COMMunicate:WAIT"),
        "Waits until an extended event of the mask is set; asked, answers 1 then.",
        "<register>",
        _wait_query,
        _wait,
        waits=True,
    ),
    word(
        ":SYSTem:COMMunicate:COMMand",
        ("WT300", "WT200"),
        lambda meter: meter.settings.words["command_set"],
        lambda meter, given: meter.settings.words.__setitem__("command_set", given),
        "Which family's commands the meter takes; those of the WT200 are not simulated.",
    ),
)
