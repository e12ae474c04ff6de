"""`referee log`: shows a contest's event log, and verifies its hash chain."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

from lpirc_score.cli.terminal_tables import one_line
from lpirc_score.files.atomic_write import write_atomically
from referee.auth.operator_names import doer
from referee.cli.output_paths import output_path
from referee.cli.shared_options import contest_argument, hexadecimal, run_number
from referee.clock import Clock
from referee.config import CONFIG_NAME, read_config
from referee.errors import RefereeError
from referee.presence import is_there
from referee.store import DATABASE_NAME, LoggedEvent, Store
from referee.store.event_chain import SALT
from referee.store.hash_links import LOG_START

LOOK_S = 1.0
WHO = ("operator", "user", "address")
NOT_SHOWN = ("action", "values", SALT)


@click.command()
@contest_argument(default=Path(), envvar="REFEREE_CONTEST")
@click.option("--follow", is_flag=True, help="Follow new events until Ctrl-C.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document per line."
)
@click.option("--run", "run", type=run_number, help="Show only events of this run.")
@click.option(
    "--operator",
    help="Show only acts of this operator, or of a holder of the operator key who gave this name.",
)
@click.option(
    "--head",
    help="A link of the log that the board showed, at least its first 12 digits: check that the log contains it.",
)
@click.option(
    "--record",
    type=output_path,
    help="Write the record of the log to this file: each event's digest, from which its links follow.",
)
def log(
    folder: Path,
    run: int | None,
    operator: str | None,
    head: str | None,
    record: Path | None,
    *,
    follow: bool,
    as_json: bool,
) -> None:
    """List the events on record of the contest in FOLDER; exit code 1 if their hash chain is broken.

    All of the log is verified, whatever is shown. FOLDER is $REFEREE_CONTEST, or the current folder, if not named.
    """
    if not is_there(folder / CONFIG_NAME):
        read_config(folder)  # which says what the folder is not
    reading = _Reading(hexadecimal("--head", head, 12))
    shown = 0
    with closing(Store.open(folder / DATABASE_NAME, only_looks=True)) as store:
        with suppress(KeyboardInterrupt):
            for event in reading.all_of(store, follow=follow):
                if run not in (None, event.run) or not (
                    operator is None or _is_by(operator, event.values)
                ):
                    continue
                shown += 1
                click.echo(json.dumps(event.document()) if as_json else _line(event))
        reading.report(as_json=as_json)
        if record is not None:
            _write_record(store, record)
        if run is not None and not shown:
            store.runs.get(run)  # raises `run-unknown`
        if operator is not None and not shown:
            click.echo(f"No event is an act of {operator!r}.", err=True)


class _Reading:
    """The log as read so far: the number of events, the newest link, and the first event that breaks the chain."""

    def __init__(self, wanted: str | None) -> None:
        self._wanted = wanted
        self._seen = ""
        self._count = 0
        self._link = LOG_START
        self._utc = ""
        self._broken = ""

    def all_of(self, store: Store, *, follow: bool) -> Iterator[LoggedEvent]:
        """Yield every event in order, and with `follow` also new ones, until an event breaks the chain."""
        clock = Clock()
        never = threading.Event()
        while True:
            for event in store.log.after(self._count):
                self._take(event)
                yield event
            if not follow or self._broken:
                return
            clock.wait(never, clock.monotonic_s() + LOOK_S)

    def _take(self, event: LoggedEvent) -> None:
        if not self._broken and (
            event.id != self._count + 1 or event.link_after(self._link) != event.link
        ):
            self._broken = f"event {event.id} ({event.utc}, {event.kind})"
        self._count = event.id
        self._link = event.link
        self._utc = event.utc
        if (
            self._wanted
            and not self._seen
            and self._link.hex().startswith(self._wanted)
        ):
            at = f"event {event.id}, of {str(event.utc)[:19].replace('T', ' ')} UTC"
            self._seen = (
                f"The head {self._wanted[:12]} is {at}: the log up to it is unchanged."
            )

    def report(self, *, as_json: bool) -> None:
        """Print the head of the log. Raises RefereeError `log-broken`, `head-unknown`."""
        if self._broken:
            sentence = "does not match the event before it: an event was changed, removed or added afterwards."
            raise RefereeError(
                "log-broken", f"The log is broken: {self._broken} {sentence}"
            )
        found = {"events": self._count, "utc": self._utc, "head": self._link.hex()}
        click.echo(
            json.dumps(found)
            if as_json
            else f"{self._count} events, head {found['head']}"
        )
        if self._seen and not as_json:
            click.echo(self._seen)
        if self._wanted and not self._seen:
            sentence = "it is not the log that the board showed, or events at its end are missing."
            raise RefereeError(
                "head-unknown", f"No event has the link {self._wanted}: {sentence}"
            )


def _write_record(store: Store, file: Path) -> None:
    """Write the record of the whole log, which has been verified. Raises RefereeError, OSError."""
    from referee.evidence.published_chain import log_record

    events, _, _ = store.log.head()
    write_atomically(file, log_record(store, events))
    click.echo(f"The record of {events} events is in {file}.", err=True)


def _is_by(name: str, detail: dict[str, Any]) -> bool:
    user = str(detail.get("user", ""))
    return name in (detail.get("operator"), user, user.partition("@")[0])


def _line(event: LoggedEvent) -> str:
    detail = dict(event.values)
    who, user, address = (detail.pop(key, None) for key in WHO)
    by = ""
    if who:
        by = f"  by {doer(who, user)}"
        if address:
            by += f" at {address}"
    what = ", ".join(
        f"{key} {_text(one)}" for key, one in detail.items() if key not in NOT_SHOWN
    )
    kind = detail.get("action", event.kind)
    run = "" if event.run is None else f"  run {event.run}"
    return one_line(
        f"{event.utc[:19].replace('T', ' ')}  {kind}{run}{by}{f'  {what}' if what else ''}"
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
