"""The simulator as a process: serve until told to end, or until the process it serves is gone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from power.errors import MeterError
from power.simulator.instrument import Instrument
from power.simulator.loads import parse_load
from power.simulator.vxi11 import Vxi11Server

PARENT_LOOK_S: Final = 0.5
LONGEST_NAP_S: Final = 0.5


def serve(
    *,
    host: str,
    port: int,
    load: str,
    serial: str,
    parent: int | None,
    clock: Callable[[], float],
    announce: Callable[[str], None],
) -> None:
    """Serve a simulated WT310 until SIGTERM or SIGINT; `announce` gets its VISA address once it answers.

    With `parent`, the process also ends when that process does, even by SIGKILL. Raises MeterError for a load
    that does not exist or a port that is taken.
    """
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: ending.set())
    instrument = Instrument(parse_load(load, clock), clock, serial=serial)
    try:
        server = Vxi11Server(instrument, host, port)
    except OSError as error:
        raise MeterError(
            "simulator-port",
            f"The simulated meter cannot listen on {host} port {port}: {error.strerror}. "
            "Choose another, or 0 for any.",
            host=host,
            port=port,
        ) from error
    ticker = threading.Thread(target=_tick, args=(instrument, ending), name="ticker", daemon=True)
    ticker.start()
    try:
        announce(server.address)
        _wait(ending, parent)
    finally:
        ending.set()
        server.close()
        ticker.join()


def _tick(instrument: Instrument, ending: threading.Event) -> None:
    # The load is looked at on every update even if nobody asks: CPU time can only be measured as it passes.
    nap_s = 0.0
    while not ending.wait(nap_s):
        nap_s = min(max(instrument.tick(), 0.001), LONGEST_NAP_S)


def _wait(ending: threading.Event, parent: int | None) -> None:
    # A process id can be used again; the time of its start cannot.
    started = _start_time(parent) if parent else None
    while not ending.wait(PARENT_LOOK_S):
        if parent and (started is None or _start_time(parent) != started):
            return


def _start_time(pid: int) -> str | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    # a zombie has ended, though its parent has not yet taken note
    return None if fields[0] in "ZX" else fields[19]
