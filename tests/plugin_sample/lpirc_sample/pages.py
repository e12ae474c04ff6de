"""A page: `/uptime` says since when the server runs, and keeps that up to date in the background."""

from __future__ import annotations

import threading
from functools import partial

from flask import Blueprint, Response, current_app

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.seams import Pages
from referee.web.html_pages import html

MUCH_S = 86400.0
blueprint = Blueprint("uptime", __name__)


class Uptime:
    """Counts the seconds since the server started, in a thread of its own."""

    def __init__(self, clock: Clock) -> None:
        self.seconds = 0
        self._clock = clock
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._count, name="uptime", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._thread.start()

    def close(self) -> None:
        """End with the server."""
        self._ended.set()
        self._thread.join()

    def _count(self) -> None:
        while not self._clock.wait(self._ended, self._clock.monotonic_s() + 1.0):
            self.seconds += 1


@blueprint.get("/uptime")
def show() -> Response:
    """Show the seconds."""
    uptime: Uptime = current_app.extensions["uptime"]
    words = f"This server has been running for {uptime.seconds} s."
    return html(f"<!doctype html><title>Uptime</title><p>{words}")


def look(contest: Contest) -> None:
    """Say in the server's log that a window is longer than a day."""
    if contest.config.window_s > MUCH_S:
        words = f"window_s = {contest.config.window_s} is longer than a day."
        raise RefereeError("window-long", words)


def uptime_pages(contest: Contest, clock: Clock) -> Pages:
    """Make the page for a server."""
    uptime = Uptime(clock)
    return Pages(
        blueprints=[blueprint],
        state=uptime,
        links=[("Uptime", "/uptime")],
        start=uptime.start,
        close=uptime.close,
        look=partial(look, contest),
    )
