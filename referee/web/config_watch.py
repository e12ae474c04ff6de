"""Detects that contest.toml differs from the configuration that the server started with."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import task_engine
from referee.auth.operator_names import COMMAND
from referee.clock import Clock
from referee.config import CONFIG_NAME, ContestConfig, config_of, read_config
from referee.config.contest_file import read_contest_file
from referee.config.contest_values import is_simulated
from referee.contest import Contest
from referee.errors import RefereeError
from referee.presence import is_there
from referee.runs.run_recorder import note_event
from referee.store.records import SETTINGS

NOT_WRITTEN = "settings-not-written"
"""The act of a change on record that did not reach contest.toml."""
TABLES = ("stations", "tracks", "prizes")
Row = dict[str, Any]

logger = logging.getLogger(__name__)


class ConfigWatch:
    """Compares contest.toml with the configuration in use. Call `look` each second; any thread may.

    `changed` is the sentence that states the difference, None while there is none.
    """

    def __init__(self, folder: Path, in_use: ContestConfig) -> None:
        self._folder = folder
        self._in_use = in_use
        self._stamp: tuple[int, ...] = ()
        self.changed: str | None = None

    def look(self) -> str | None:
        """Return the sentence about the current difference, or None. A new difference is logged once.

        The file is read only if it was written since the last look.
        """
        try:
            found = (self._folder / CONFIG_NAME).stat()
            stamp: tuple[int, ...] = (found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            stamp = (0,)
        if stamp != self._stamp:
            before = self.changed
            self.changed = self._compare()
            self._stamp = stamp
            if self.changed is not None and self.changed != before:
                logger.warning("%s", self.changed)
        return self.changed

    def _compare(self) -> str | None:
        file = self._folder / CONFIG_NAME
        try:
            if not is_there(file):
                return f"{file} is gone; put it back. The server keeps the settings it was started with."
            found = differences(self._in_use, read_config(self._folder))
        except RefereeError as error:
            invalid = f"{CONFIG_NAME} is no longer valid; the server keeps the settings it was started with."
            return f"{invalid} {error.sentence}"
        if not found:
            return None
        return (
            f"{CONFIG_NAME} was changed: {'; '.join(found)}. "
            "The server keeps the old values until it is started again; armed runs keep their own."
        )


def differences(old: ContestConfig, new: ContestConfig) -> list[str]:
    """Return what differs: a row of a table that is new, gone or renamed, else each key as `key: old -> new`."""
    found = []
    was = asdict(old)
    now = asdict(new)
    for table in TABLES:
        found += _rows_changed(table, was[table], now[table])
    flat_was = dict(_flat(was))
    flat_now = dict(_flat(now))
    found += [
        f"{key}: {_shown(flat_was.get(key))} -> {_shown(flat_now.get(key))}"
        for key in flat_was | flat_now
        if flat_was.get(key) != flat_now.get(key)
    ]
    return found


def _rows_changed(table: str, was: tuple[Row, ...], now: tuple[Row, ...]) -> list[str]:
    """Return which rows of a table are new, gone or renamed; the others go on being compared, by their new names."""
    one = table.removesuffix("s")
    names = [row["name"] for row in now]
    gone = [row for row in was if row["name"] not in names]
    names_before = [row["name"] for row in was]
    new = [row for row in now if row["name"] not in names_before]
    said = []
    for row in gone:
        renamed = next((other for other in new if _is_same(row, other)), None)
        if renamed is None:
            said.append(f"{one} {row['name']} is taken away")
            row.clear()
        else:
            new.remove(renamed)
            said.append(f"{one} {row['name']} is now called {renamed['name']}")
            row["name"] = renamed["name"]
    for row in new:
        what = next((row[key] for key in ("meter", "rule") if row.get(key)), None)
        said.append(f"{one} {row['name']} is new{f' ({what})' if what else ''}")
        row.clear()
    return said


def _is_same(row: Row, other: Row) -> bool:
    """Return True if two rows with different names are one that was renamed: all else is equal, or its meter."""
    alone = {key: value for key, value in row.items() if key != "name"}
    others = {key: value for key, value in other.items() if key != "name"}
    meter = row.get("meter", "sim:")
    is_one_meter = not is_simulated(meter) and meter == other.get("meter")
    return alone == others or is_one_meter


def note_settings(contest: Contest, clock: Clock) -> None:
    """Record the settings if they changed since the last start: values, text, digest, and [old, new] per change.

    contest.toml contains no secret.
    """
    # Converted by JSON, so that they compare equal to the values read back from the log.
    values: dict[str, Any] = json.loads(
        json.dumps(dict(_flat(asdict(contest.config))), default=str)
    )
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    before = contest.store.log.last_settings()
    detail: dict[str, Any] = {"digest": digest}
    text = text_in_use(contest)
    is_new = before is None or before["digest"] != digest
    lacks_text = text is not None and before is not None and "text" not in before
    if is_new or lacks_text:
        was = values if before is None else before["values"]
        both = {key: [was.get(key), values.get(key)] for key in was | values}
        detail |= {
            "changed": {key: (o, n) for key, (o, n) in both.items() if o != n},
            "values": values,
        }
        if text is not None:
            detail["text"] = text  # what commands rank by while this server runs
    task = contest.config.task
    engine = None if task == BOXES else task_engine(task)
    if engine is not None:
        # Where it is missing later, its name is what to install.
        detail["task"] = {"name": task, "package": " ".join(engine.rsplit("-", 1))}
    note_event(contest.store, clock, None, SETTINGS, **detail)


def note_unwritten(contest: Contest, clock: Clock) -> None:
    """Record that the newest change on record is not in contest.toml, if the file is as it was before that.

    A change is put on record before it is written; the process may have been killed in between.
    """
    found = contest.store.log.last_settings_act() or {}
    if "before" not in found:
        return
    with suppress(RefereeError):
        if read_contest_file(contest.folder).version == found["before"]:
            who = {"operator": COMMAND, "action": NOT_WRITTEN}
            why = "The referee ended before the change was written."
            now = clock.utc()
            with contest.store.log.act(
                now, None, **who, changed=found["changed"], why=why
            ):
                pass


def text_in_use(contest: Contest) -> str | None:
    """Return the text of contest.toml that has the contest's settings; None if it has others by now."""
    try:
        file = read_contest_file(contest.folder)
        config = config_of(file.path, file.text)
    except RefereeError:
        return None
    return file.text if config == contest.config else None


def _flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _flat(one, f"{key}.{name}" if key else name)
    elif isinstance(value, tuple) and any(isinstance(one, dict) for one in value):
        for one in value:
            if one:  # not one that is told as a whole
                yield from _flat(one, f"{key}.{one['name']}")
    else:
        yield key, value


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == () else str(value)
