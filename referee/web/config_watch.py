"""Notices that contest.toml no longer says what the server was started with."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from referee.config import CONFIG_NAME, ContestConfig, read_config
from referee.errors import RefereeError

logger = logging.getLogger(__name__)


class ConfigWatch:
    """Compares contest.toml with the configuration in use; `look` each second, from one thread or several.

    `changed` is the sentence that tells the difference, None while there is none.
    """

    def __init__(self, folder: Path, in_use: ContestConfig) -> None:
        self._folder, self._in_use = folder, in_use
        self._stamp: tuple[int, ...] = ()
        self.changed: str | None = None

    def look(self) -> str | None:
        """The difference now; a new one is logged once. The file is read only when it was written since."""
        try:
            found = (self._folder / CONFIG_NAME).stat()
            stamp: tuple[int, ...] = (found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            stamp = (0,)
        if stamp != self._stamp:
            before, self.changed, self._stamp = self.changed, self._compare(), stamp
            if self.changed is not None and self.changed != before:
                logger.warning("%s", self.changed)
        return self.changed

    def _compare(self) -> str | None:
        try:
            found = differences(self._in_use, read_config(self._folder))
        except RefereeError as error:
            invalid = f"{CONFIG_NAME} is no longer valid; the server goes on with what it was started with."
            return f"{invalid} {error.sentence}"
        if not found:
            return None
        return (
            f"{CONFIG_NAME} was changed: {'; '.join(found)}. "
            "The server goes on with the old values until it is started again; judging uses the new ones."
        )


def differences(old: ContestConfig, new: ContestConfig) -> list[str]:
    """The keys whose values differ, each as `key: old -> new`; tables of a list are named by their `name`."""
    was, now = dict(_flat(asdict(old))), dict(_flat(asdict(new)))
    return [
        f"{key}: {_shown(was.get(key))} -> {_shown(now.get(key))}"
        for key in was | now
        if was.get(key) != now.get(key)
    ]


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
