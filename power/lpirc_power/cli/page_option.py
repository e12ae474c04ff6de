"""The option --page: a live page beside the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import click

from lpirc_power.cli.boundary import to_stderr
from lpirc_power.cli.options import WholeNumber
from lpirc_power.clocks import real_clocks
from lpirc_power.live.live_state import LiveState
from lpirc_power.live.server import live_server
from lpirc_power.recording_run.recorder import NOBODY
from lpirc_power.recording_run.watcher import Watcher

page_option: Final = click.option(
    "--page",
    "page_port",
    type=WholeNumber(0, 65535),
    is_flag=False,
    flag_value=0,
    metavar="[PORT]",
    help="Show a live page on this machine, with metrics for Prometheus; without PORT, on any free one. Its address is "
    "printed on stderr.",
)


@contextlib.contextmanager
def live_page(port: int | None) -> Iterator[Watcher]:
    """Serve the live page during a with statement, which gets who is to hear of the recording."""
    if port is None:
        yield NOBODY
        return
    state = LiveState(real_clocks().monotonic)
    with live_server(state, port) as address:
        to_stderr(f"meter: live page at {address}, for Prometheus at {address}metrics")
        yield state
