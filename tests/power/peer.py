"""A small VXI-11 peer and a small instrument, after the standard and public dumps; neither is the simulator's.

The time of an answer is the instrument's own: who reads for 100 ms an answer that takes 500 ms is told at once that the
time is over, and 100 ms have passed. So a slow meter costs a test no time.
"""

from __future__ import annotations

import contextlib
import math
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator

CREATE = 10
WRITE = 11
READ = 12
DESTROY = 23
IO_TIMEOUT = 15
NOT_SUPPORTED = 8
END = 4
POWER_W = 36.0
NUMBER = ":NUMERIC:NORMAL:NUMBER"
UPDATE_S = 0.1


class Instrument:
    """A WT310 of full words without headers, drawing 36 W; it carries out one message at a time."""

    def __init__(
        self,
        delay_s: float = 0.0,
    ) -> None:
        self.now_s = 1000.0
        self.delay_s = delay_s
        self.delay_after_start_s: float | None = None
        self.deaf_after_start_s = 0.0
        self.deaf_until_s = -math.inf
        self.silent: tuple[str, ...] = ()
        self.longest_message = 1000
        self.unknown: tuple[str, ...] = ()
        self.panel_held = False
        self.shows_energy = True
        self.errors: list[str] = []
        self.questions = 0
        self.settings = dict(SETTINGS)
        self.state = "RESET"
        self.resets = 0
        self.guard = threading.RLock()
        self._begun_s = self._elapsed_s = 0.0
        self._free_s = 0.0
        self._answer: tuple[float, str] | None = None
        self._update = 0
        self._held: str | None = None

    def write(
        self,
        message: str,
    ) -> None:
        with self.guard:
            if self._answer is not None:
                self._answer = None
                self.errors.append('410,"Query interrupted"')
            if self.now_s < self.deaf_until_s or len(message) > self.longest_message:
                return
            found = list(self._units(message))
            if found and len(found) == message.count("?"):
                self.questions += 1
                self._free_s = max(self.now_s, self._free_s) + self.delay_s
                self._answer = self._free_s, ";".join(found)

    def read(
        self,
        timeout_s: float,
    ) -> str | None:
        with self.guard:
            if self._answer is None:
                self.errors.append('420,"Query UNTERMINATED"')
            if self._answer is None or self._answer[0] > self.now_s + timeout_s:
                self.now_s += timeout_s
                return None
            ready_s, answer = self._answer
            self.now_s = max(self.now_s, ready_s)
            self._answer = None
            return answer

    @property
    def ran_s(self) -> float:
        """How long the integrator has run."""
        with self.guard:
            return self._elapsed_s + (
                self.now_s - self._begun_s if self.state == "START" else 0.0
            )

    def _units(
        self,
        message: str,
    ) -> Iterator[str]:
        for unit in message.strip().split(";"):
            header, _, data = unit.partition(" ")
            if self.silent and header.startswith(self.silent):
                return
            if self.unknown and header.startswith(self.unknown):
                self.errors.append('113,"Undefined header"')
                return
            if header.endswith("?"):
                yield self._asked(header[:-1], data)
            else:
                self._told(header, data)

    def _asked(
        self,
        header: str,
        data: str,
    ) -> str:
        if header == "*CAL":
            return "0"
        if header == "*IDN":
            return "YOKOGAWA,WT310,PEER,F1.03"
        if header == ":STATUS:ERROR":
            return self.errors.pop(0) if self.errors else '0,"No error"'
        if header == ":STATUS:EESR":
            before = self._update
            self._update = int(self.now_s / UPDATE_S)
            return str(int(self._update > before))
        if header == ":STATUS:CONDITION":
            return "0"
        if header == ":INTEGRATE:STATE":
            return self.state
        if header in (":NUMERIC:NORMAL:VALUE", ":NUM:VAL"):
            shown = self._values().split(",")
            return (
                shown[int(data) - 1]
                if data
                else ",".join(shown[: int(self.settings[NUMBER])])
            )
        return self.settings[header]

    def _told(
        self,
        header: str,
        data: str,
    ) -> None:
        if header == ":INTEGRATE:START":
            self.state = "START"
            self._begun_s = self.now_s
            self.deaf_until_s = self.now_s + self.deaf_after_start_s
            if self.delay_after_start_s is not None:
                self.delay_s = self.delay_after_start_s
        elif header == ":INTEGRATE:STOP":
            self._elapsed_s = self.ran_s
            self.state = "STOP"
        elif header == ":INTEGRATE:RESET":
            self._elapsed_s = 0.0
            self.state = "RESET"
            self.resets += 1
        elif header in self.settings:
            self.settings[header] = {"ON": "1", "OFF": "0"}.get(
                data,
                plain_number(data),
            )

    def _values(self) -> str:
        values = {
            "U": 120.0,
            "I": 0.3,
            "S": POWER_W,
            "P": POWER_W,
            "LAMBDA": 1.0,
            "WH": POWER_W * self.ran_s / 3600 if self.shows_energy else math.nan,
            "TIME": int(self.ran_s),
        }
        names = [
            self.settings[f":NUMERIC:NORMAL:ITEM{place}"].partition(",")[0]
            for place in range(1, 256)
        ]
        ranges = {"URANGE": 150.0, "IRANGE": 1.0}
        now = ",".join(f"{(values | ranges).get(name, 0.0):.6g}" for name in names)
        if not (
            self.panel_held
            or "1" in (self.settings[":HOLD"], self.settings[":NUMERIC:HOLD"])
        ):
            self._held = now
        return self._held or now


SETTINGS = {
    ":COMMUNICATE:HEADER": "0",
    ":COMMUNICATE:VERBOSE": "1",
    **{f":STATUS:FILTER{place}": "NEVER" for place in range(1, 17)},
    ":COMMUNICATE:REMOTE": "0",
    ":COMMUNICATE:LOCKOUT": "0",
    ":NUMERIC:FORMAT": "ASCII",
    NUMBER: "9",
    **{f":NUMERIC:NORMAL:ITEM{place}": "U,1" for place in range(1, 256)},
    **dict.fromkeys((":HOLD", ":NUMERIC:HOLD", ":MEASURE:MHOLD"), "0"),
    **dict.fromkeys((":MEASURE:AVERAGING:STATE", ":INPUT:SCALING:STATE"), "0"),
    ":INPUT:CFACTOR": "3",
    ":INPUT:MODE": "RMS",
    **dict.fromkeys((":INPUT:FILTER:LINE", ":INPUT:FILTER:FREQUENCY"), "0"),
    ":INPUT:SYNCHRONIZE": "VOLTAGE",
    ":INPUT:VOLTAGE:RANGE": "600.0E+00",
    ":INPUT:VOLTAGE:AUTO": "0",
    ":INPUT:CURRENT:RANGE": "20.00E+00",
    ":INPUT:CURRENT:AUTO": "0",
    ":RATE": "250.0E-03",
    ":INTEGRATE:MODE": "NORMAL",
    ":INTEGRATE:TIMER": "0,0,0",
}


def plain_number(data: str) -> str:
    """Return a quantity as the meter answers it: 100MS is 0.1, 150V is 150."""
    quantity = re.fullmatch(r"([\d.]+)(M?)[VAS]", data)
    return (
        f"{float(quantity[1]) / (1000 if quantity[2] else 1):.4E}" if quantity else data
    )


class Peer:
    """Serves one instrument over VXI-11; `wait` is called before each answer to a read."""

    def __init__(
        self,
        instrument: Instrument,
        wait: Callable[[], object] = lambda: None,
    ) -> None:
        self.instrument = instrument
        self._wait = wait
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"TCPIP::127.0.0.1,{self._listener.getsockname()[1]}::INSTR"
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        for one in (self._listener, *self._connections):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                self._threads.append(
                    threading.Thread(target=self._serve, args=(connection,))
                )
                self._threads[-1].start()

    def _serve(
        self,
        connection: socket.socket,
    ) -> None:
        with (
            contextlib.suppress(OSError, struct.error),
            connection.makefile("rb") as stream,
        ):
            while head := stream.read(4):
                call = stream.read(struct.unpack(">I", head)[0] & 0x7FFFFFFF)
                number, procedure = struct.unpack_from(">I16xI", call)
                answer = struct.pack(">6I", number, 1, 0, 0, 0, 0) + self._reply(
                    procedure,
                    call[40:],
                )
                connection.sendall(struct.pack(">I", len(answer) | 0x80000000) + answer)

    def _reply(
        self,
        procedure: int,
        body: bytes,
    ) -> bytes:
        if procedure == CREATE:
            return struct.pack(">4I", 0, 1, 0, 4096)
        if procedure == WRITE:
            (size,) = struct.unpack_from(">16xI", body)
            self.instrument.write(body[20 : 20 + size].decode())
            return struct.pack(">2I", 0, size)
        if procedure == READ:
            (timeout_ms,) = struct.unpack_from(">8xI", body)
            self._wait()
            answer = self.instrument.read(timeout_ms / 1000)
            if answer is None:
                return struct.pack(">3I", IO_TIMEOUT, 0, 0)
            data = answer.encode() + b"\n"
            return struct.pack(">3I", 0, END, len(data)) + data + bytes(-len(data) % 4)
        return struct.pack(">I", 0 if procedure == DESTROY else NOT_SUPPORTED)
