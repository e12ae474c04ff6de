"""A small instrument of anybody's make behind VXI-11: it knows the answers that it is given, and nothing else."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping

from lpirc_power.simulator.doors import Door
from lpirc_power.simulator.links import END
from lpirc_power.simulator.vxi11 import CORE_PROGRAM
from lpirc_power.simulator.xdr import (
    MalformedError,
    Reader,
    Records,
    opaque,
    reply,
    uint,
)

Answers = Mapping[str, Callable[[], str]]


@contextlib.contextmanager
def served(answers: Answers) -> Iterator[str]:
    """Give its address, on loopback."""
    door = Door(
        "127.0.0.1",
        0,
        lambda connection: _serve(connection, answers),
        "foreign",
    )
    try:
        yield f"TCPIP::127.0.0.1,{door.port}::INSTR"
    finally:
        door.close()


def _serve(
    connection: socket.socket,
    answers: Answers,
) -> None:
    """Serve as much of VXI-11's core channel as a query needs."""
    records = Records(connection)
    answer = [b""]

    def write(reader: Reader) -> bytes:
        for _ in ("link", "io timeout", "lock timeout", "flags"):
            reader.uint()
        asked = reader.opaque()
        answer[0] = answers[asked.decode().strip()]().encode() + b"\n"
        return uint(0, len(asked))

    procedures = {
        10: lambda _create_link: uint(0, 1, 0, 8192),
        11: write,
        12: lambda _read: uint(0, END) + opaque(answer[0]),
        23: lambda _destroy_link: uint(0),
    }
    with contextlib.suppress(OSError, MalformedError):
        while (record := records.receive()) is not None:
            records.send(reply(record, CORE_PROGRAM, 1, procedures))
