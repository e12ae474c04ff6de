"""`meter ptd`: make a meter available to MLPerf Power's harness."""

from __future__ import annotations

import contextlib
import functools
import os
import socketserver
import threading
from typing import IO

import click

from lpirc_power.cli.boundary import on_endings, warnings_printed
from lpirc_power.cli.options import address_argument, element_option
from lpirc_power.clocks import real_clocks
from lpirc_power.endings import setting
from lpirc_power.errors import MeterError
from lpirc_power.operating_system import FREES_PORTS_LATE, LONGEST_WAIT_S
from lpirc_power.ptd_protocol import Daemon


@click.command(short_help="Serve a meter to MLPerf's power harness.")
@click.argument(
    "kind",
    metavar="[TYPE]",
    nargs=-1,
    type=click.Choice(["49", "52"]),
    expose_value=False,
)
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
    type=click.IntRange(0, 65535),
    default=8888,
    show_default=True,
    help="TCP port.",
)
@element_option
def ptd(address: str, log: IO[str], port: int, element: str) -> None:
    """Serve the meter at ADDRESS to MLPerf Power's ptd_client_server, in the protocol that it speaks.

    The command replaces SPEC PTDaemon but reports its own name, so the compliance check refuses the result. TYPE, the
    harness's number of a WT310 (49) or WT330 (52), changes nothing. Mode, filters and crest factor stay as set in the
    meter. The command listens on 127.0.0.1 until Ctrl-C or SIGTERM, then restores the former settings.
    docs/mlperf.md shows how to use it.
    """

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
        daemon = Daemon(address, element, real_clocks(), record, click.echo)
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
