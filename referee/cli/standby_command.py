"""`referee standby`: serves a copy of a contest once the first host is dead."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import click

from lpirc_score.files.atomic_write import write_atomically
from referee.cli.number_types import RealNumber
from referee.cli.shared_options import (
    any_path,
    contest_argument,
    listening,
    listening_options,
)
from referee.cli.station_addresses import require_addresses
from referee.config import CONFIG_NAME, read_config, toml_table
from referee.errors import RefereeError
from referee.journal.first_host import read_address

AFTER_S = 4.0
_PATH = re.compile(
    r"""(^[ \t]*\[journal\][^\[]*^[ \t]*path[ \t]*=[ \t]*)("[^"\n]*"|'[^'\n]*')""",
    re.MULTILINE,
)


@click.command()
@contest_argument()
@click.option(
    "--journal",
    type=any_path,
    help="Path of the journal on this host; it is written into contest.toml.",
)
@click.option(
    "--first",
    metavar="URL",
    help="Address of the first host, such as http://192.168.1.11:8080.",
)
@click.option(
    "--after",
    "after_s",
    type=RealNumber(2.0, 3600.0),
    default=AFTER_S,
    show_default=True,
    help="Seconds of silence after which the first host is dead.",
)
@click.option(
    "--now",
    is_flag=True,
    help="Take over immediately, even if the first host still runs.",
)
@listening_options
def standby(
    folder: Path,
    journal: Path | None,
    first: str | None,
    after_s: float,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    parent: int | None,
    *,
    now: bool,
) -> None:
    """Stand by with FOLDER, a copy of the contest folder of another host; serve it when that host is dead.

    Until then this host answers every request with 503. The other host counts as dead when it neither writes signs of
    life to the journal nor answers, unless its server ended normally. Everything that it acknowledged is in the
    journal, which it writes before it answers.
    """
    # Importing the server takes a fifth of a second, which other commands need not wait for.
    from referee.web.standby_server import Watch, stand_by

    listen = listening(host, port, tls_cert, tls_key)
    if first is None and not now:
        raise click.UsageError(
            "--first URL is missing: without it, this host cannot find out if the first host is dead."
        )
    if journal is not None:
        _name_journal(folder, journal)
    require_addresses(folder, read_config(folder))
    watch = Watch(None if now or first is None else read_address(first), after_s)
    stand_by(folder, listen, click.echo, watch, parent)


def _name_journal(folder: Path, journal: Path) -> None:
    """Write the path at which this host reaches the journal into contest.toml.

    Raises RefereeError `bad-config`.
    """
    config = read_config(folder)
    path = str(journal.absolute())
    wanted = replace(config, journal=replace(config.journal, path=path))
    if config == wanted:
        return
    file = folder / CONFIG_NAME
    text = with_journal(file.read_text("utf-8-sig"), path)
    try:
        found = toml_table(text)["journal"]["path"]
    except (ValueError, KeyError):
        found = None
    if found != path:
        words = (
            f'{file}: the table [journal] must have path = "{path}"; write it there.'
        )
        raise RefereeError("bad-config", words)
    write_atomically(file, text.encode())


def with_journal(text: str, path: str) -> str:
    """Return the text of a contest.toml with this journal path.

    The path replaces the former one, or is added at the end in a table of its own.
    """
    value = json.dumps(path, ensure_ascii=False)
    changed, found = _PATH.subn(lambda place: place[1] + value, text)
    return changed if found else f"{text.rstrip()}\n\n[journal]\npath = {value}\n"
