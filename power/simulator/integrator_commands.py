"""The table's entries of the integrator."""

from __future__ import annotations

from typing import Final

from power.simulator.command import Command, Data, action, query, word
from power.simulator.refusals import RefusedError
from power.simulator.state import MeterState
from power.simulator.syntax import Pattern
from power.simulator.values import integer, spelled

LONGEST_TIMER_S: Final = 10000 * 3600


def _put_timer(meter: MeterState, _suffix: int | None, data: Data) -> None:
    if len(data) != 3:
        raise RefusedError(109 if len(data) < 3 else 108)
    hours, minutes, seconds = integer(data[0], 0, 10000), integer(data[1], 0, 59), integer(data[2], 0, 59)
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
        lambda meter: "CONTinuous" if meter.measuring.integrator.continuous else "NORMal",
        lambda meter, given: setattr(meter.measuring.integrator, "continuous", given == "CONTinuous"),
        "Whether the timer ends the integration or begins it anew.",
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
    action(":INTEGrate:STARt", lambda meter: meter.start(), "Starts from RESet, or goes on from STOP."),
    action(":INTEGrate:STOP", lambda meter: meter.measuring.stop(), "Stops; the sums stay."),
    action(":INTEGrate:RESet", lambda meter: meter.measuring.reset(), "Clears the sums."),
    query(
        ":INTEGrate:STATe",
        lambda meter: spelled(meter.measuring.integrator.state, meter.settings.verbose),
        "RESet, STARt, STOP, TIMeup or ERRor.",
    ),
)
