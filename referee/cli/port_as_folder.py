"""A port, or an address with one, that stands where a command takes the contest's folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from referee.config import CONFIG_NAME
from referee.config.missing_contest import contests_in
from referee.presence import is_file, is_there

_PORT = re.compile(r":?(?P<port>\d{4,5})|(?P<host>[\w.-]+):(?P<at>\d{1,5})")
_YEAR = re.compile(r"(?:19|20)\d\d")
LARGEST_PORT = 65535


def require_no_port(command: str, folder: Path) -> None:
    """Raise click.UsageError for a missing folder that is called like a port, or a host with a port.

    A year is no port: contests are called 2027.
    """
    given = str(folder)
    found = _PORT.fullmatch(given)
    if found is None or _YEAR.fullmatch(given) or is_there(folder):
        return
    port = found["port"] or found["at"]
    if int(port) > LARGEST_PORT:
        return
    host = f"--host {found['host']} " if found["host"] else ""
    what = "an address" if host else "a port"
    words = f"write: referee {command} {_contest_here()} {host}--port {port}"
    raise click.UsageError(
        f"{given!r} looks like {what}, and the contest's folder is needed; {words}"
    )


def _contest_here() -> str:
    """Return the contest in the working folder, if there is one and no other; else "FOLDER"."""
    here = Path()
    if is_file(here / CONFIG_NAME):
        return "."
    inside = contests_in(here, CONFIG_NAME)
    return shlex.quote(inside[0]) if len(inside) == 1 else "FOLDER"
