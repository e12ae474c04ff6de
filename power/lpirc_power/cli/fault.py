"""`meter fault`: make a simulated meter fail on demand."""

from __future__ import annotations

import socket

import click

from lpirc_power.errors import MeterError

TIMEOUT_S = 10.0


@click.command(
    short_help="Cause a fault in a simulated meter.",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("address", metavar="HOST:PORT")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def fault(address: str, command: tuple[str, ...]) -> None:
    """Send COMMAND to the control socket of `meter simulate --control`, and print its answer.

    `meter fault HOST:PORT help` lists the commands, for example drop-link 30, hang 5, nan 2, restart lose,
    load constant:60W, state and heal.
    """
    answer = _asked(address, " ".join(command))
    verdict, _, text = answer.partition(" ")
    if verdict != "ok":
        raise MeterError(
            "simulator-control", text or f"The simulated meter answers {answer!r}."
        )
    click.echo(text or verdict)


def _asked(address: str, line: str) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise MeterError(
            "simulator-control",
            f"{address!r} is not of the form HOST:PORT. `meter simulate --control 0` prints the control address.",
        )
    try:
        with (
            socket.create_connection(
                (host, int(port)), timeout=TIMEOUT_S
            ) as connection,
            connection.makefile("rw", encoding="utf-8", newline="\n") as stream,
        ):
            stream.write(" ".join(line.split("\n")) + "\n")
            stream.flush()
            answer = stream.readline()
    except (
        OSError,
        UnicodeError,
    ) as error:  # no host can have that name; an answer in no UTF-8
        why = (isinstance(error, OSError) and error.strerror) or error
        raise MeterError(
            "simulator-control",
            f"No control socket answers at {address} ({why}); "
            "start the meter with `meter simulate --control 0`.",
        ) from error
    if not answer.endswith("\n"):
        raise MeterError(
            "simulator-control",
            f"The program at {address} closed the connection without an answer: it is no control socket, though it may "
            "be the meter's own port. `meter simulate --control 0` prints the control address.",
        )
    return answer.rstrip("\n")
