"""Control socket of the simulated meter, to set faults on demand.

Each command is one line, and so is its answer: `ok`, `ok TEXT` or `error SENTENCE`.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import threading
from collections.abc import Callable
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.simulator.doors import Door
from lpirc_power.simulator.instrument import PanelLockedError, may_wait
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.syntax import RefusedError, spelled
from lpirc_power.simulator.vxi11 import Vxi11Server

HOST: Final = "127.0.0.1"
"""Only address on which the socket listens, since no other host may set faults."""
LONGEST_S: Final = 86400
LONGEST_LINE: Final = 4096
RESTARTS: Final = ("keep", "lose", "error")
SWITCHES: Final = (
    "line_filter",
    "frequency_filter",
    "hold",
    "header",
    "verbose",
    "remote",
    "lockout",
    "key_lock",
)
"""Settings of the simulator that `state` reports as on or off."""
Control = Callable[[Vxi11Server, str], str | None]


def _number(text: str, unit: str, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise MeterError(
            "simulator-control",
            f"{text!r} is not a number of {unit} from 0 to {most:g}.",
        )
    return number


def _seconds(text: str) -> float:
    return _number(text, "seconds", LONGEST_S)


def _set(name: str, parse: Callable[[str], object]) -> Control:
    return lambda server, text: setattr(server.instrument.faults, name, parse(text))


def _lasting(name: str) -> Control:
    def run(server: Vxi11Server, text: str) -> None:
        seconds = _seconds(text)
        instrument = server.instrument
        with instrument.changed:
            instrument.measuring.catch_up(exact=True)
            setattr(instrument.faults, name, instrument.faults.until(seconds))

    return run


def _restart(server: Vxi11Server, text: str) -> None:
    after, _, away = text.partition(" ")
    if after not in RESTARTS:
        raise MeterError(
            "simulator-control",
            f"restart takes one of {', '.join(RESTARTS)}, not {text!r}.",
        )
    seconds = _seconds(away or "0")
    with server.instrument.changed:
        server.instrument.restart(after)
    server.cut(seconds)


def _load(server: Vxi11Server, text: str) -> None:
    meter = server.instrument
    load = parse_load(text, meter.clock)
    with meter.changed:
        meter.measuring.set_load(load)


def _change_range(server: Vxi11Server, _text: str) -> None:
    with server.instrument.changed:
        server.instrument.measuring.change_range()


def _knob(server: Vxi11Server, text: str) -> str | None:
    # A command that waits here blocks every other command, even `heal`.
    if not text or may_wait(text):
        raise MeterError(
            "simulator-control",
            "The knob message is empty, or waits for an event; send a message such as :HOLD ON.",
        )
    try:
        return server.instrument.at_panel(text)
    except PanelLockedError as locked:
        raise MeterError(
            "simulator-control",
            f"The meter's panel does nothing because {locked}. The command `unlock` unlocks the panel.",
        ) from locked
    except RefusedError as refusal:
        raise MeterError(
            "simulator-control", f"The meter refuses it: {refusal}."
        ) from refusal


def _unlock(server: Vxi11Server, _text: str) -> None:
    with server.instrument.changed:
        server.instrument.unlock_panel()


def _heal(server: Vxi11Server, _text: str) -> None:
    server.instrument.faults.heal()
    server.mend()


def _state(server: Vxi11Server, _text: str) -> str:
    meter = server.instrument
    with meter.changed:
        measuring = meter.measuring
        measuring.catch_up(exact=True)
        sums = measuring.integrator
        ranges = measuring.ranges
        settings = meter.settings
        total = measuring.figures(
            meter.model.elements[0] if len(meter.model.elements) == 1 else None
        )
        facts = {
            "model": meter.model.name,
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
                **{
                    key: spelled(value, verbose=True)
                    for key, value in settings.words.items()
                },
            },
            "faults": meter.faults.active(),
        }
    return json.dumps(facts)


def _help(_server: Vxi11Server, _text: str) -> str:
    return "; ".join(
        f"{word} {argument}".strip() for word, (argument, _) in CONTROLS.items()
    )


CONTROLS: Final[dict[str, tuple[str, Control]]] = {
    "drop-link": ("[SECONDS]", lambda server, text: server.cut(_seconds(text or "0"))),
    "hang": (
        "SECONDS",
        lambda server, text: server.instrument.faults.hang(_seconds(text)),
    ),
    "slow": (
        "MS",
        _set(
            "slow_s",
            lambda text: _number(text, "milliseconds", 1000 * LONGEST_S) / 1000,
        ),
    ),
    "wrong": ("TEXT", _set("wrong_answer", str)),
    "nan": ("SECONDS", _lasting("no_data_until_s")),
    "over-range": ("SECONDS", _lasting("over_range_until_s")),
    "clip": ("SECONDS", _lasting("clip_until_s")),
    "restart": ("keep|lose|error [SECONDS]", _restart),
    "busy-after-start": ("SECONDS", _set("busy_after_start_s", _seconds)),
    "load": ("SPEC", _load),
    "range-change": ("", _change_range),
    "knob": ("MESSAGE", _knob),
    "unlock": ("", _unlock),
    "heal": ("", _heal),
    "state": ("", _state),
    "help": ("", _help),
}
"""The commands of the control socket, with their arguments; docs/wt300-commands.md describes each."""


def obey(server: Vxi11Server, line: str) -> str:
    """Run one command line and return its answer."""
    word, _, text = line.strip().partition(" ")
    if word not in CONTROLS:
        return f"error There is no command {word!r}; there are {_help(server, '')}."
    argument, run = CONTROLS[word]
    text = text.strip()
    if text and not argument:
        return f"error {word} takes no argument, {text!r} was given."
    try:
        answer = run(server, text) or ""
    except MeterError as error:
        return f"error {' '.join(error.sentence.split())}"
    return f"ok {answer}".strip()


class ControlServer:
    """Server for commands, on this host only, listening once built; OSError if the port is not available."""

    def __init__(self, server: Vxi11Server, port: int) -> None:
        self._server = server
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
                    # The bytes that follow are the rest of this command, not another one.
                    stream.write(b"error The line is too long.\n")
                    return
                with self._lock:
                    answer = obey(self._server, line.decode("utf-8", "replace"))
                stream.write(answer.encode() + b"\n")
                stream.flush()
