"""A WT310E as public logs and drivers show it, on a VXI-11 of its own: nothing of our simulator is in it.

From the log of a WT310E's answer to `:NUM:NORM?`: short headers, no `NORMal`, the group of a header named once, items
without an element where they need none. From the log of 2015: `YOKOGAWA,WT310,...`, headers on and words short when it
is found, physical values such as `300.0E+00`.
"""

from __future__ import annotations

import contextlib
import socketserver
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DUMP = (
    ":NUM:NUM 255;ITEM1 MATH;ITEM2 TIME;ITEM3 U,1;ITEM4 I,1;ITEM5 P,1;ITEM6 S,1;ITEM7 Q,1;ITEM8 LAMB,1;ITEM9 PHI,1;"
    "ITEM10 FU,1;ITEM11 UTHD,1;ITEM12 ITHD,1;ITEM13 LAMB,1;ITEM14 PHI,1;ITEM15 FU,1"
)
POWER_W = 36.0
UPDATE_S = 0.1
VALUES = {
    "U": 120.0,
    "I": 0.3,
    "P": POWER_W,
    "S": 36.0,
    "LAMB": 1.0,
    "UPP": 169.7,
    "UMP": -169.7,
}
VALUES |= {
    "IPP": 0.4243,
    "IMP": -0.4243,
    "URAN": 150.0,
    "IRAN": 0.5,
}
FOUND = {
    "INP:MODE": "RMS",
    "INP:SYNC": "VOLT",
    "INP:CFAC": "3",
    "RATE": "250.0E-03",
    "INTEG:MODE": "NORM",
    "INP:VOLT:RANG": "300.0E+00",
    "INP:CURR:RANG": "1.000E+00",
    "INTEG:TIM": "0,0,0",
    "INP:FILT:LINE": "0",
    "INP:FILT:FREQ": "0",
    "INP:VOLT:AUTO": "1",
    "INP:CURR:AUTO": "1",
    "MEAS:AVER:STAT": "0",
    "INP:SCAL:STAT": "0",
    "HOLD": "0",
    "STAT:FILT1": "NEV",
    "NUM:FORM": "ASC",
    "COMM:HEAD": "1",
    "COMM:VERB": "0",
    "NUM:HOLD": "0",
    "MEAS:MHOL": "0",
    **{
        f"NUM:{header}": value
        for header, value in (one.rpartition(":")[2].split() for one in DUMP.split(";"))
    },
}
MILLI = {"MA": "A", "MV": "V", "MS": "S"}


IRREGULAR = {
    "INTEGRATE": "INTEG",
    "INTEG": "INTEG",
    "NUMBER": "NUM",
}


def short(word: str) -> str:
    """Return four letters of a word, or three where the fourth is a vowel, and the number behind it."""
    letters = word.rstrip("0123456789")
    number = word[len(letters) :]
    if len(letters) <= 4 or letters in IRREGULAR:
        return IRREGULAR.get(letters, letters) + number
    return (letters[:3] if letters[3] in "AEIOU" else letters[:4]) + number


def spelled(text: str) -> str:
    """Return data as the log shows them: short words, NR3 numbers, no element for what has none."""
    word = text.upper()
    for milli, unit in MILLI.items():
        if word.endswith(milli) and word[:-2].isdecimal():
            return (
                f"{float(word[:-2]):.1f}E-03"
                if float(word[:-2]) < 1000
                else f"{float(word[:-2]) / 1000}"
            )
        if word.endswith(unit) and word[:-1].isdecimal():
            return f"{float(word[:-1]):.1f}E+00"
    fields = [short(one) if one.isalpha() else one for one in word.split(",")]
    if fields[0] in ("TIME", "MATH"):
        fields = fields[:1]
    return {"ON": "1", "OFF": "0"}.get(",".join(fields), ",".join(fields))


@dataclass
class LoggedBox:
    """What it was set to, and its integrator.

    `always` puts a header before every answer and cannot be told not to; `as_set` says settings back as they were
    written, units and all; `garbled` answers these headers with that text; `values` are these functions' instead.
    A message of more characters than its `buffer` is lost. `latched` shows WH and TIME as they were at the last update,
    also right after a reset. `resets_once` refuses a reset in the state RESET.
    """

    always: bool = False
    as_set: bool = False
    garbled: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    buffer: int = 4096
    latched: bool = False
    resets_once: bool = False
    identity: str = "YOKOGAWA,WT310E,C3UB99999E,F1.04"
    no_error: str = '0,"No error"'
    settings: dict[str, str] = field(default_factory=lambda: dict(FOUND))
    errors: list[str] = field(default_factory=list)
    state: str = "RES"
    sums_s: float = 0.0
    since_s: float = 0.0
    seen: int = 0
    shown_s: float = 0.0
    shown_update: int = 0

    def take(
        self,
        message: str,
    ) -> str | None:
        """Run one message; return what it answers."""
        if len(message) > self.buffer:
            self.errors.append('223,"Too much data"')
            return None
        answers: list[str] = []
        group = said = ""
        self._elapsed_s()  # its timer may have ended it
        for unit in message.strip().split(";"):
            head, _, data = unit.strip().partition(" ")
            nodes = [
                short(node) for node in head.upper().rstrip("?").strip(":").split(":")
            ]
            header = ":".join(node for node in nodes if node != "NORM")
            if not head.startswith((":", "*")) and group:
                header = f"{group}:{header}"
            group = header.rpartition(":")[0]
            if not head.endswith("?"):
                self._do(header, data)
                continue
            answer = self._say(header, data)
            if answer is None:
                self.errors.append('113,"Undefined header"')
                break
            if header == "NUM" or not self._heads(header):
                answers.append(answer)
                continue
            answers.append(
                f"{header.rpartition(':')[2] if group and group == said else ':' + header} {answer}"
            )
            said = group
        return ";".join(answers) if answers else None

    def _heads(
        self,
        header: str,
    ) -> bool:
        if header.startswith("*"):
            return False
        return self.always or (
            header in self.settings and self.settings["COMM:HEAD"] == "1"
        )

    def _do(
        self,
        header: str,
        data: str,
    ) -> None:
        if header == "INTEG:STAR":
            self.state = "STAR"
            self.since_s = time.monotonic()
        elif header == "INTEG:STOP":
            self.sums_s = self._elapsed_s()
            self.state = "STOP"
        elif header == "INTEG:RES" and self.state == "RES" and self.resets_once:
            self.errors.append('845,"Attempted to reset integration while in progress"')
        elif header == "INTEG:RES":
            self.sums_s = 0.0
            self.state = "RES"
        elif data:
            self.settings[header] = (
                data.upper() if self.as_set and "NUM" not in header else spelled(data)
            )

    def _say(
        self,
        header: str,
        data: str,
    ) -> str | None:
        if header in self.garbled:
            return self.garbled[header]
        if header in self.settings:
            return self.settings[header]
        answers = {
            "*IDN": self.identity,
            "*CAL": "0",
            "NUM": DUMP if self.settings["NUM:NUM"] == "255" else "changed",
            "STAT:ERR": self.errors.pop(0)
            if header == "STAT:ERR" and self.errors
            else self.no_error,
            "STAT:COND": "2" if self.state == "STAR" else "0",
            "STAT:EESR": self._events() if header == "STAT:EESR" else "",
            "INTEG:STAT": self.state,
            "NUM:VAL": self._values(data),
        }
        return "NONE" if header.startswith("NUM:ITEM") else answers.get(header)

    def _events(self) -> str:
        before = self.seen
        self.seen = int(time.monotonic() / UPDATE_S)
        return "1" if self.seen != before else "0"

    def _values(
        self,
        data: str,
    ) -> str:
        wanted = (
            [data]
            if data
            else [str(place + 1) for place in range(int(self.settings["NUM:NUM"]))]
        )
        return ",".join(
            self._value(self.settings.get(f"NUM:ITEM{place}", "NONE"))
            for place in wanted
        )

    def _value(
        self,
        item: str,
    ) -> str:
        function = item.partition(",")[0]
        if function in self.values:
            return self.values[function]
        if function == "TIME":
            return str(int(self._sums_s()))
        number = (
            POWER_W * self._sums_s() / 3600
            if function == "WH"
            else VALUES.get(function)
        )
        return "NAN" if number is None else f"{number:.5E}"

    def _sums_s(self) -> float:
        """Return how long it has integrated, as it shows it: at its last update, if it latches."""
        elapsed_s = self._elapsed_s()
        if not self.latched:
            return elapsed_s
        # From the same time as what has elapsed: a busy machine may pause between two looks at the clock.
        now_s = self.since_s + elapsed_s if self.state == "STAR" else time.monotonic()
        update = int(now_s / UPDATE_S)
        if update != self.shown_update:
            late_s = now_s - update * UPDATE_S if self.state == "STAR" else 0.0
            self.shown_s = max(elapsed_s - late_s, 0.0)
            self.shown_update = update
        return self.shown_s

    def _elapsed_s(self) -> float:
        if self.state != "STAR":
            return self.sums_s
        hours, minutes, seconds = map(int, self.settings["INTEG:TIM"].split(","))
        timer_s = hours * 3600 + minutes * 60 + seconds
        elapsed_s = time.monotonic() - self.since_s
        if timer_s and elapsed_s >= timer_s:
            self.sums_s = float(timer_s)
            self.state = "TIM"
            return self.sums_s
        return elapsed_s


class Connection(socketserver.BaseRequestHandler):
    """The core channel of VXI-11, as its specification has it: create, write, read, destroy."""

    server: Any

    def handle(self) -> None:
        answer = b""
        with contextlib.suppress(OSError, struct.error):
            while head := self._bytes(4):
                call = self._bytes(struct.unpack(">I", head)[0] & 0x7FFFFFFF)
                number, procedure = struct.unpack(">I16xI", call[:24])[:2]
                arguments = call[40:]
                result = struct.pack(">I", 0)
                if procedure == 10:
                    result = struct.pack(">IIII", 0, 1, 0, 4096)
                elif procedure == 11:
                    size = struct.unpack(">16xI", arguments[:20])[0]
                    with self.server.guard:
                        said = self.server.box.take(arguments[20 : 20 + size].decode())
                    answer = b"" if said is None else said.encode() + b"\n"
                    result = struct.pack(">II", 0, size)
                elif procedure == 12 and answer:
                    result = (
                        struct.pack(">III", 0, 4, len(answer))
                        + answer
                        + b"\0" * (-len(answer) % 4)
                    )
                    answer = b""
                elif procedure == 12:
                    # Nothing to say.
                    time.sleep(
                        min(struct.unpack(">8xI", arguments[:12])[0], 500) / 1000
                    )
                    result = struct.pack(">III", 15, 0, 0)
                body = struct.pack(">IIIIII", number, 1, 0, 0, 0, 0) + result
                self.request.sendall(struct.pack(">I", 0x80000000 | len(body)) + body)

    def _bytes(
        self,
        count: int,
    ) -> bytes:
        found = b""
        while len(found) < count and (more := self.request.recv(count - len(found))):
            found += more
        return found


@contextlib.contextmanager
def served(box: LoggedBox) -> Iterator[str]:
    """Serve a box on a port of its own; give its VISA address."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        server.daemon_threads = True
        server.box = box
        server.guard = threading.Lock()  # type: ignore[attr-defined]
        thread = threading.Thread(
            target=server.serve_forever,
            args=(0.02,),
            daemon=True,
        )
        thread.start()
        yield f"TCPIP::127.0.0.1,{server.server_address[1]}::INSTR"
        server.shutdown()
        thread.join()
