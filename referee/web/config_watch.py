"""Detects that contest.toml differs from the configuration that the server started with."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from referee.clock import Clock
from referee.config import CONFIG_NAME, ContestConfig, read_config
from referee.contest import Contest
from referee.errors import RefereeError
from referee.presence import is_there
from referee.runs.run_recorder import note_event
from referee.store.records import SETTINGS

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
    """Return the keys whose values differ, each as `key: old -> new`; tables of a list are identified by `name`."""
    was = dict(_flat(asdict(old)))
    now = dict(_flat(asdict(new)))
    return [
        f"{key}: {_shown(was.get(key))} -> {_shown(now.get(key))}"
        for key in was | now
        if was.get(key) != now.get(key)
    ]


def note_settings(contest: Contest, clock: Clock) -> None:
    """Record the settings if they changed since the last start: all values, their digest, and [old, new] per change.

    contest.toml contains no secret.
    """
    # Converted by JSON, so that they compare equal to the values read back from the log.
    values: dict[str, Any] = json.loads(
        json.dumps(dict(_flat(asdict(contest.config))), default=str)
    )
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    before = contest.store.log.last_settings()
    detail: dict[str, Any] = {"digest": digest}
    if before is None or before["digest"] != digest:
        was = values if before is None else before["values"]
        both = {key: [was.get(key), values.get(key)] for key in was | values}
        detail |= {
            "changed": {key: (o, n) for key, (o, n) in both.items() if o != n},
            "values": values,
        }
    note_event(contest.store, clock, None, SETTINGS, **detail)


def _flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _flat(one, f"{key}.{name}" if key else name)
    elif isinstance(value, tuple) and any(isinstance(one, dict) for one in value):
        for one in value:
            yield from _flat(one, f"{key}.{one['name']}")
    else:
        yield key, value


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == () else str(value)
