"""The control socket of the simulated meter: faults on demand.

One command a line, one answer a line: `ok`, `ok TEXT` or `error SENTENCE`.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from power.errors import MeterError
from power.simulator.doors import Door
from power.simulator.instrument import Instrument, may_wait
from power.simulator.loads import parse_load
from power.simulator.syntax import RefusedError, spelled
from power.simulator.vxi11 import Vxi11Server

HOST: Final = "127.0.0.1"
"""The only address it listens on, wherever the meter itself does: no other host may set faults."""
LONGEST_S: Final = 86400
LONGEST_LINE: Final = 4096
RESTARTS: Final = ("keep", "lose", "error")
SWITCHES: Final = ("line_filter", "frequency_filter", "hold", "header", "verbose", "remote", "lockout")
"""What `state` tells of the simulator's settings that are on or off."""


@dataclass(frozen=True)
class Rig:
    """A simulated meter with its server, and the clock that new loads measure with."""

    instrument: Instrument
    server: Vxi11Server
    clock: Callable[[], float]


def _number(text: str, unit: str, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise MeterError("simulator-control", f"{text!r} is not a number of {unit} from 0 to {most:g}.")
    return number


def _seconds(text: str) -> float:
    return _number(text, "seconds", LONGEST_S)


def _needed(text: str, what: str) -> str:
    if not text:
        raise MeterError("simulator-control", f"It needs {what}.")
    return text


def _drop(rig: Rig, text: str) -> None:
    rig.server.cut(_seconds(text or "0"))


def _hang(rig: Rig, text: str) -> None:
    rig.instrument.faults.hang(_seconds(text))


def _slow(rig: Rig, text: str) -> None:
    rig.instrument.faults.slow_s = _number(text, "milliseconds", LONGEST_S * 1000) / 1000


def _wrong(rig: Rig, text: str) -> None:
    rig.instrument.faults.wrong_answer = text


def _lasting(name: str) -> Callable[[Rig, str], None]:
    def run(rig: Rig, text: str) -> None:
        seconds = _seconds(text)
        with rig.instrument.state.changed:
            rig.instrument.state.measuring.catch_up(exact=True)
            setattr(rig.instrument.faults, name, rig.instrument.faults.until(seconds))

    return run


def _restart(rig: Rig, text: str) -> None:
    after, _, away = text.partition(" ")
    if after not in RESTARTS:
        raise MeterError("simulator-control", f"restart takes one of {', '.join(RESTARTS)}, not {text!r}.")
    seconds = _seconds(away or "0")
    with rig.instrument.state.changed:
        rig.instrument.state.restart(after)
    rig.server.cut(seconds)


def _busy(rig: Rig, text: str) -> None:
    rig.instrument.faults.busy_after_start_s = _seconds(text)


def _load(rig: Rig, text: str) -> None:
    load = parse_load(_needed(text, "the specification of a load, such as constant:36W"), rig.clock)
    with rig.instrument.state.changed:
        rig.instrument.state.measuring.set_load(load)


def _change_range(rig: Rig, _text: str) -> None:
    with rig.instrument.state.changed:
        rig.instrument.state.measuring.change_range()


def _knob(rig: Rig, text: str) -> str | None:
    # A command that waits here blocks every other one, `heal` too.
    if may_wait(text):
        raise MeterError("simulator-control", "No knob waits for an event; send that over a link.")
    try:
        return rig.instrument.at_panel(_needed(text, "a program message, such as :INTEGRATE:STOP"))
    except RefusedError as refusal:
        raise MeterError("simulator-control", f"The meter refuses it: {refusal}.") from refusal


def _heal(rig: Rig, _text: str) -> None:
    rig.instrument.faults.heal()
    rig.server.mend()


def _state(rig: Rig, _text: str) -> str:
    state = rig.instrument.state
    with state.changed:
        measuring = state.measuring
        measuring.catch_up(exact=True)
        sums, ranges, settings = measuring.integrator, measuring.ranges, state.settings
        total = measuring.figures(state.model.elements[0] if len(state.model.elements) == 1 else None)
        facts = {
            "model": state.model.name,
            "integrator": spelled(sums.state, verbose=True),
            "true_energy_wh": sums.true_wh,
            "energy_wh": (sums.plus_wh + sums.minus_wh) * len(measuring.wired),
            "elapsed_s": sums.elapsed_s,
            "power_w": total.power_w if math.isfinite(total.power_w) else None,
            "updates": measuring.updates,
            "settings": {
                "voltage_range_v": ranges.voltage.value(),
                "voltage_auto": ranges.voltage.auto,
                "current_range_a": ranges.current.value(),
                "current_auto": ranges.current.auto,
                "crest_factor": ranges.crest_factor,
                "update_interval_s": measuring.rate_s,
                "integrator_timer_s": sums.timer_s,
                **{name: getattr(settings, name) for name in SWITCHES},
                "items": settings.item_count,
                **{key: spelled(value, verbose=True) for key, value in settings.words.items()},
            },
            "faults": rig.instrument.faults.active(),
        }
    return json.dumps(facts)


def _help(_rig: Rig, _text: str) -> str:
    return "; ".join(f"{word} {argument}".strip() for word, (argument, _) in CONTROLS.items())


CONTROLS: Final[dict[str, tuple[str, Callable[[Rig, str], str | None]]]] = {
    "drop-link": ("[SECONDS]", _drop),
    "hang": ("SECONDS", _hang),
    "slow": ("MS", _slow),
    "wrong": ("TEXT", _wrong),
    "nan": ("SECONDS", _lasting("no_data_until_s")),
    "over-range": ("SECONDS", _lasting("over_range_until_s")),
    "clip": ("SECONDS", _lasting("clip_until_s")),
    "restart": ("keep|lose|error [SECONDS]", _restart),
    "busy-after-start": ("SECONDS", _busy),
    "load": ("SPEC", _load),
    "range-change": ("", _change_range),
    "knob": ("MESSAGE", _knob),
    "heal": ("", _heal),
    "state": ("", _state),
    "help": ("", _help),
}
"""Every command of the control socket, with its argument; docs/wt300-commands.md says what each does."""


def obey(rig: Rig, line: str) -> str:
    """Run one line and return its answer."""
    word, _, text = line.strip().partition(" ")
    if word not in CONTROLS:
        return f"error There is no command {word!r}; there are {_help(rig, '')}."
    argument, run = CONTROLS[word]
    text = text.strip()
    if text and not argument:
        return f"error {word} takes no argument, {text!r} was given."
    try:
        answer = run(rig, text) or ""
    except MeterError as error:
        return f"error {' '.join(error.sentence.split())}"
    return f"ok {answer}".strip()


class ControlServer:
    """Listens for commands, on this host only, from the moment it is built; OSError if the port cannot be had."""

    def __init__(self, rig: Rig, port: int) -> None:
        self._rig = rig
        self._lock = threading.Lock()
        self._door = Door(HOST, port, self._serve, "control")
        self.address = f"{HOST}:{self._door.port}"

    def close(self) -> None:
        """Stop listening."""
        self._door.close()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection.makefile("rwb") as stream:
            while line := stream.readline(LONGEST_LINE):
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    # What follows is the rest of it, not another command.
                    stream.write(b"error The line is too long.\n")
                    return
                with self._lock:
                    answer = obey(self._rig, line.decode("utf-8", "replace"))
                stream.write(answer.encode() + b"\n")
                stream.flush()
