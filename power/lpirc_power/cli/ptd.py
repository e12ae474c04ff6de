"""`meter ptd`: make a meter available to MLPerf Power's harness."""

from __future__ import annotations

import contextlib
import functools
import os
import socketserver
import threading
from typing import IO

import click

from lpirc_power.cli.boundary import warnings_printed
from lpirc_power.cli.options import WholeNumber, address_argument
from lpirc_power.clocks import real_clocks
from lpirc_power.endings import on_endings, setting
from lpirc_power.errors import MeterError
from lpirc_power.meter import ELEMENTS
from lpirc_power.operating_system import FREES_PORTS_LATE, LONGEST_WAIT_S
from lpirc_power.ptd.device import TYPES, address_of, wanted
from lpirc_power.ptd.protocol import Daemon


@click.command(short_help="Serve a meter to MLPerf's power harness.")
@click.argument("kinds", metavar="[TYPE]", nargs=-1, type=click.Choice(TYPES))
@address_argument
@click.option(
    "-l",
    "--log",
    type=click.File("a"),
    default=os.devnull,
    help="The file to which samples are appended.",
)
@click.option(
    "-p",
    "--port",
    type=WholeNumber(0, 65535),
    default=8888,
    show_default=True,
    help="TCP port.",
)
@click.option(
    "-c",
    "channels",
    metavar="FIRST,COUNT",
    help="The channels of a multichannel device, or one channel.",
)
@click.option("-D", "is_dc", is_flag=True, help="Measure direct current.")
@click.option(
    "-n",
    "interface",
    flag_value="n",
    help="ADDRESS is the host name or IP address of a meter in the network.",
)
@click.option(
    "-g", "interface", flag_value="g", help="ADDRESS is the number of a meter on GPIB."
)
@click.option(
    "-b", "board", type=WholeNumber(0), help="With -g: the number of the GPIB board."
)
@click.option(
    "--element",
    type=click.Choice(ELEMENTS),
    help="Input element, or the sum of all; default: 1.",
)
def ptd(
    kinds: tuple[str, ...],
    address: str,
    log: IO[str],
    port: int,
    channels: str | None,
    is_dc: bool,
    interface: str | None,
    board: int | None,
    element: str | None,
) -> None:
    """Serve the meter at ADDRESS to MLPerf Power's ptd_client_server, in the protocol that it speaks.

    The command replaces SPEC PTDaemon but reports its own name, so the compliance check refuses the result. TYPE is the
    harness's number of the device: 49 (WT310), 52 (WT330), 77 (WT330 with several channels), 549 and 586 (direct
    current). Filters and crest factor stay as set in the meter, and so does the mode, unless -D is given. The command
    listens on 127.0.0.1 until Ctrl-C or SIGTERM, then restores the former settings. docs/mlperf.md shows how to use it.
    """
    if len(kinds) > 1:
        raise click.UsageError(f"One TYPE is enough, not {' '.join(kinds)}.")
    kind = kinds[0] if kinds else None
    asked = wanted(kind, channels, element, is_dc=is_dc)
    address = address_of(address, interface, board)

    class Conversation(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):
                for line in self.rfile:
                    reply = daemon.answer(line.decode(errors="replace"))
                    daemon.say(f"Response to client sent: {reply.splitlines()[0]}")
                    self.wfile.write(f"{reply}\r\n".encode())

    class Server(socketserver.TCPServer):
        allow_reuse_address = FREES_PORTS_LATE

    ended = threading.Event()
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings_printed())
        # A signal only ends the waiting: interrupting a query to the meter leaves the link out of step.
        stack.enter_context(on_endings(setting(ended)))
        record = functools.partial(print, file=log, flush=True)
        daemon = Daemon(address, asked, real_clocks(), record, click.echo)
        stack.callback(daemon.close)
        try:
            server = stack.enter_context(Server(("127.0.0.1", port), Conversation))
        except OSError as error:
            sentence = f"Port {port} is not free ({error.strerror}); choose a --port."
            raise MeterError("ptd-port", sentence) from error
        daemon.say(f"Waiting for a connection on 127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        while not ended.wait(LONGEST_WAIT_S):
            pass
