"""The table of commands that drives the simulated meter; each entry's words are those of IM WT310-17EN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from power.simulator import numeric
from power.simulator.refusals import RefusedError
from power.simulator.state import MeterState
from power.simulator.syntax import Pattern
from power.simulator.values import boolean, choice, integer, number, plain, spelled

Data = tuple[str, ...]
Query = Callable[[MeterState, int | None, Data], str]
Write = Callable[[MeterState, int | None, Data], None]

RATES_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Command:
    """One line of the table: what a query answers, what a setting does, and whether integration locks it."""

    pattern: Pattern
    query: Query | None = None
    write: Write | None = None
    locked: bool = False

    @property
    def is_setting(self) -> bool:
        """Whether its answers carry a header when headers are on: common commands and mere queries do not."""
        return self.query is not None and self.write is not None and not self.pattern.text.startswith("*")


def _only(data: Data) -> str:
    if not data:
        raise RefusedError(109)
    if len(data) > 1:
        raise RefusedError(108)
    return data[0]


def _query(pattern: str, answer: Callable[[MeterState], object]) -> Command:
    return Command(Pattern(pattern), query=lambda meter, _suffix, _data: str(answer(meter)))


def _action(pattern: str, action: Callable[[MeterState], None]) -> Command:
    def write(meter: MeterState, _suffix: int | None, data: Data) -> None:
        if data:
            raise RefusedError(108)
        action(meter)

    return Command(Pattern(pattern), write=write)


def _setting(
    pattern: str,
    get: Callable[[MeterState], str],
    put: Callable[[MeterState, str], None],
    locked: bool = False,
) -> Command:
    return Command(
        Pattern(pattern),
        lambda meter, _suffix, _data: get(meter),
        lambda meter, _suffix, data: put(meter, _only(data)),
        locked,
    )


def _word(pattern: str, key: str, words: tuple[str, ...], locked: bool = False) -> Command:
    def put(meter: MeterState, text: str) -> None:
        meter.settings.words[key] = choice(text, words)

    return _setting(
        pattern, lambda meter: spelled(meter.settings.words[key], meter.settings.verbose), put, locked
    )


def _flag(pattern: str, name: str) -> Command:
    return _setting(
        pattern,
        lambda meter: str(int(getattr(meter.settings, name))),
        lambda meter, text: setattr(meter.settings, name, boolean(text)),
    )


def _register(pattern: str, name: str, highest: int) -> Command:
    return _setting(
        pattern,
        lambda meter: str(getattr(meter.status, name)),
        lambda meter, text: setattr(meter.status, name, integer(text, 0, highest)),
    )


def _put_range(ranges: list[float], text: str, unit: str) -> int:
    value = number(text, unit)
    for index, listed in enumerate(ranges):
        if abs(value - listed) <= 1e-6 * listed:
            return index
    raise RefusedError(222)


def _put_voltage(meter: MeterState, text: str) -> None:
    ranges = meter.measuring.ranges
    ranges.voltage_index = _put_range(ranges.voltages_v(), text, "V")
    ranges.voltage_auto = False


def _put_current(meter: MeterState, text: str) -> None:
    ranges = meter.measuring.ranges
    ranges.current_index = _put_range(ranges.currents_a(), text, "A")
    ranges.current_auto = False


def _put_crest_factor(meter: MeterState, text: str) -> None:
    factor = integer(text, 3, 6)
    if factor not in (3, 6):
        raise RefusedError(222)
    ranges = meter.measuring.ranges
    ranges.crest_factor = factor
    ranges.voltage_index, ranges.current_index = len(ranges.voltages_v()) - 1, len(ranges.currents_a()) - 1


def _put_rate(meter: MeterState, text: str) -> None:
    meter.measuring.set_rate(RATES_S[_put_range(list(RATES_S), text, "S")])


def _rate(meter: MeterState) -> str:
    rate_s = meter.measuring.rate_s
    return plain(rate_s, 3)


def _put_integrator_mode(meter: MeterState, text: str) -> None:
    meter.measuring.continuous = choice(text, ("NORMal", "CONTinuous")) == "CONTinuous"


def _integrator_mode(meter: MeterState) -> str:
    return spelled("CONTinuous" if meter.measuring.continuous else "NORMal", meter.settings.verbose)


def _put_timer(meter: MeterState, _suffix: int | None, data: Data) -> None:
    if len(data) != 3:
        raise RefusedError(109 if len(data) < 3 else 108)
    hours, minutes, seconds = integer(data[0], 0, 10000), integer(data[1], 0, 59), integer(data[2], 0, 59)
    timer_s = hours * 3600 + minutes * 60 + seconds
    if timer_s > 10000 * 3600:
        raise RefusedError(222)
    meter.measuring.timer_s = timer_s


def _timer(meter: MeterState, _suffix: int | None, _data: Data) -> str:
    minutes, seconds = divmod(meter.measuring.timer_s, 60)
    return f"{minutes // 60},{minutes % 60},{seconds}"


def _filter_index(suffix: int | None) -> int:
    if suffix is None or not 1 <= suffix <= 16:
        raise RefusedError(114)
    return suffix - 1


def _put_filter(meter: MeterState, suffix: int | None, data: Data) -> None:
    word = choice(_only(data), ("RISE", "FALL", "BOTH", "NEVer"))
    meter.status.filters[_filter_index(suffix)] = word


def _filter(meter: MeterState, suffix: int | None, _data: Data) -> str:
    return spelled(meter.status.filters[_filter_index(suffix)], meter.settings.verbose)


def _display_index(suffix: int | None) -> int:
    if suffix is None or not 1 <= suffix <= 4:
        raise RefusedError(114)
    return suffix


def _put_display(meter: MeterState, suffix: int | None, data: Data) -> None:
    meter.settings.display[_display_index(suffix)] = choice(data[0] if data else "", numeric.FUNCTIONS)


def _display(meter: MeterState, suffix: int | None, _data: Data) -> str:
    return spelled(meter.settings.display[_display_index(suffix)], meter.settings.verbose) + ",1"


def _wait(meter: MeterState, _suffix: int | None, data: Data) -> None:
    meter.wait_for_events(integer(_only(data), 0, 65535))


def _wait_query(meter: MeterState, suffix: int | None, data: Data) -> str:
    _wait(meter, suffix, data)
    return "1"


def _calibrate(meter: MeterState) -> int:
    if meter.measuring.state == "STARt":
        raise RefusedError(813)
    return 0


_COMMON: Final = (
    _query("*IDN", lambda meter: meter.identity),
    _query("*ESR", lambda meter: meter.status.take_events()),
    # The answer that carries the status byte is itself not yet waiting.
    _query("*STB", lambda meter: meter.status.status_byte(answer_waiting=False)),
    _query("*CAL", _calibrate),
    _query("*TST", lambda _meter: 0),
    Command(
        Pattern("*OPC"),
        lambda _meter, _suffix, _data: "1",
        lambda meter, _suffix, _data: meter.status.complete(),
    ),
    _action("*RST", lambda meter: meter.reset()),
    _action("*CLS", lambda meter: meter.status.clear()),
    _action("*WAI", lambda _meter: None),
    _action("*TRG", lambda _meter: None),
    _register("*ESE", "event_enable", 255),
    _register("*SRE", "request_enable", 255),
)

_STATUS: Final = (
    _query(":STATus:ERRor", lambda meter: meter.status.next_error()),
    _query(":STATus:CONDition", lambda meter: int(meter.status.condition)),
    _query(":STATus:EESR", lambda meter: meter.status.take_extended_events()),
    _register(":STATus:EESE", "extended_enable", 65535),
    Command(Pattern(":STATus:FILTer<n>"), _filter, _put_filter),
    _flag(":COMMunicate:HEADer", "header"),
    _flag(":COMMunicate:VERBose", "verbose"),
    _flag(":COMMunicate:REMote", "remote"),
    _flag(":COMMunicate:LOCKout", "lockout"),
    Command(Pattern(":COMMunicate:WAIT"), _wait_query, _wait),
)

_INPUT: Final = (
    _word("[:INPut]:MODE", "mode", ("RMS", "VMEan", "DC"), locked=True),
    _setting(
        "[:INPut]:VOLTage:RANGe", lambda meter: plain(meter.measuring.ranges.voltage_v(), 1), _put_voltage
    ),
    _setting(
        "[:INPut]:VOLTage:AUTO",
        lambda meter: str(int(meter.measuring.ranges.voltage_auto)),
        lambda meter, text: setattr(meter.measuring.ranges, "voltage_auto", boolean(text)),
    ),
    _setting(
        "[:INPut]:CURRent:RANGe", lambda meter: plain(meter.measuring.ranges.current_a(), 3), _put_current
    ),
    _setting(
        "[:INPut]:CURRent:AUTO",
        lambda meter: str(int(meter.measuring.ranges.current_auto)),
        lambda meter, text: setattr(meter.measuring.ranges, "current_auto", boolean(text)),
    ),
    _setting(
        "[:INPut]:CFACtor",
        lambda meter: str(meter.measuring.ranges.crest_factor),
        _put_crest_factor,
        locked=True,
    ),
    _word("[:INPut]:SYNChronize", "synchronize", ("VOLTage", "CURRent", "OFF")),
    _word("[:INPut]:FILTer:LINE", "line_filter", ("ON", "OFF"), locked=True),
    _word("[:INPut]:FILTer:FREQuency", "frequency_filter", ("ON", "OFF"), locked=True),
    _word("[:INPut]:WIRing", "wiring", ("P1W2",), locked=True),
    _setting(":RATE", _rate, _put_rate, locked=True),
    _word(":HOLD", "hold", ("ON", "OFF")),
    _word(":SYSTem:COMMunicate:COMMand", "command_set", ("WT300", "WT200")),
    Command(Pattern(":DISPlay[:NORMal]:ITEM<n>"), _display, _put_display),
)

_NUMERIC: Final = (
    _setting(":NUMeric:FORMat", numeric.number_format, numeric.put_number_format),
    _setting(":NUMeric[:NORMal]:NUMber", numeric.item_count, numeric.put_item_count),
    Command(Pattern(":NUMeric[:NORMal]:ITEM<n>"), numeric.item, numeric.put_item),
    Command(Pattern(":NUMeric[:NORMal]:VALue"), numeric.values),
)

_INTEGRATE: Final = (
    _setting(":INTEGrate:MODE", _integrator_mode, _put_integrator_mode, locked=True),
    Command(Pattern(":INTEGrate:TIMer"), _timer, _put_timer, locked=True),
    _action(":INTEGrate:STARt", lambda meter: meter.measuring.start()),
    _action(":INTEGrate:STOP", lambda meter: meter.measuring.stop()),
    _action(":INTEGrate:RESet", lambda meter: meter.measuring.reset()),
    _query(":INTEGrate:STATe", lambda meter: spelled(meter.measuring.state, meter.settings.verbose)),
)

COMMANDS: Final = (*_COMMON, *_STATUS, *_INPUT, *_NUMERIC, *_INTEGRATE)
"""Every command the simulated meter knows."""
