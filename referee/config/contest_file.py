"""Changes values in contest.toml. Comments, order and layout of everything else in the file stay as they are.

A change is made from a version of the file, and is refused if the file has another one by then: whatever an editor or
another browser wrote in the meantime stays. The whole result is checked as a configuration before it replaces the file.
"""

from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lpirc_score.files.atomic_write import write_atomically
from referee.config import CONFIG_NAME, config_of, read_config, toml_table
from referee.config.toml_edits import Edit, edited, value_in
from referee.errors import BadSetting, RefereeError
from referee.presence import not_accessible

BOM = b"\xef\xbb\xbf"
NOTHING_WRITTEN = "Nothing was written."
FREE = "free some space on its disk"
WAYS_OUT = {
    errno.ENOSPC: FREE,
    errno.EDQUOT: FREE,
    errno.EFBIG: FREE,
    errno.EACCES: "give this user the right to write into its folder",
    errno.EPERM: "give this user the right to write into its folder",
    errno.EROFS: "mount its disk writable",
}
"""What to do when the file cannot be written."""
_lock = threading.Lock()


class SettingsChanged(RefereeError):
    """The file is no longer the one that the change was made from; `conflicts` has both values of each key."""

    def __init__(self, conflicts: Sequence[Change]) -> None:
        told = "; ".join(
            f"{one.key} is {shown(one.old)} in the file, {shown(one.new)} in your form"
            for one in conflicts
        )
        super().__init__(
            "settings-changed",
            f"{CONFIG_NAME} was changed since this page was made, so nothing was written: "
            f"{told or 'the values of this form are the same'}. Look, and send the form again to write yours.",
        )
        self.conflicts = tuple(conflicts)


class SettingRefused(RefereeError):
    """A change was refused: `words` say why, with the names of keys; the file stays as it was."""

    def __init__(self, words: str) -> None:
        super().__init__("bad-config", f"{words} {NOTHING_WRITTEN}")
        self.words = words


@dataclass(frozen=True)
class Change:
    """A key whose value changed; None: not set."""

    key: str
    old: object
    new: object

    def __str__(self) -> str:
        return f"{self.key}: {shown(self.old)} -> {shown(self.new)}"


@dataclass(frozen=True)
class ContestFile:
    """The text of contest.toml as it was read; `version` identifies its bytes."""

    path: Path
    raw: bytes

    @property
    def version(self) -> str:
        """The digest of the file."""
        return hashlib.sha256(self.raw).hexdigest()[:32]

    @property
    def text(self) -> str:
        """The text, without a byte order mark. Raises RefereeError `bad-config`."""
        try:
            return self.raw.removeprefix(BOM).decode()
        except UnicodeDecodeError as error:
            sentence = f"{self.path} cannot be read: {error}."
            raise RefereeError("bad-config", sentence) from error

    @property
    def table(self) -> dict[str, Any]:
        """The values as they are written, without defaults. Raises RefereeError `bad-config`."""
        config_of(self.path, self.text)
        return toml_table(self.text)


OnRecord = Callable[[Sequence[Change]], None]
"""Puts changes on record."""


def read_contest_file(folder: Path) -> ContestFile:
    """Read contest.toml. Raises RefereeError `contest-missing`, `not-accessible`, `bad-config`."""
    path = folder / CONFIG_NAME
    try:
        return ContestFile(path, path.read_bytes())
    except PermissionError as error:
        raise not_accessible(path, error) from error
    except OSError:
        read_config(folder)  # raises the sentence for a file that is missing
        raise


def change_settings(
    folder: Path,
    version: str,
    edits: Sequence[Edit],
    on_record: OnRecord,
) -> list[Change]:
    """Make the edits in contest.toml, made from `version` of it, and return what changed.

    `on_record` is called with the changes just before the file is replaced; if it raises, or an editor has written the
    file meanwhile, nothing is written. Raises SettingsChanged; RefereeError `bad-config` for a file or a result that is
    not valid, `settings-form` for a file that is written in a way these edits do not know, `not-accessible`.
    """
    with _lock:
        file = read_contest_file(folder)
        config_of(file.path, file.text)
        if file.version != version:
            raise SettingsChanged(_conflicts(file.text, edits))
        text = file.text
        for edit in edits:
            text = edited(text, edit)
        changes = list(differences(file.text, text))
        if not changes:
            return []
        try:
            config_of(file.path, text)
        except BadSetting as error:
            raise SettingRefused(error.words) from error
        on_record(changes)
        _require_same(file, edits)
        _replace(file, text)
    return changes


def replace_text(
    folder: Path, version: str, text: str, on_record: OnRecord
) -> list[Change]:
    """Replace the whole text, even of a file that is not valid; return what changed. Raises as `change_settings`."""
    with _lock:
        file = read_contest_file(folder)
        if file.version != version:
            raise SettingsChanged([])
        try:
            changes = list(differences(file.text, text))
        except (RefereeError, ValueError, RecursionError):  # it cannot be compared
            changes = [Change(CONFIG_NAME, "a text that cannot be read", "another")]
        if file.raw == _raw(file, text):
            return []
        on_record(changes)
        _require_same(file)
        _replace(file, text)
    return changes


def _require_same(file: ContestFile, edits: Sequence[Edit] = ()) -> None:
    """Raise SettingsChanged if an editor has written the file since it was read: a record may wait for a busy disk."""
    present = read_contest_file(file.path.parent)
    if present.version == file.version:
        return
    conflicts: list[Change] = []
    with suppress(RefereeError, ValueError, RecursionError):  # half written
        conflicts = _conflicts(present.text, edits)
    raise SettingsChanged(conflicts)


def _raw(file: ContestFile, text: str) -> bytes:
    mark = BOM if file.raw.startswith(BOM) else b""
    return mark + text.encode()


def _replace(file: ContestFile, text: str) -> None:
    try:
        write_atomically(file.path, _raw(file, text))
    except OSError as error:
        words = WAYS_OUT.get(error.errno or 0, "look at its disk")
        what = (
            f"{file.path} cannot be written ({error.strerror}), so it stays as it was"
        )
        sentence = f"{what}; {words} and send the form again."
        raise RefereeError("not-accessible", sentence) from error


def _conflicts(text: str, edits: Sequence[Edit]) -> list[Change]:
    table = toml_table(text)
    found = []
    for edit in edits:
        present = value_in(table, edit)
        if present != edit.wanted:
            found.append(Change(edit.named, present, edit.wanted))
    return found


def differences(old: str, new: str) -> Iterator[Change]:
    """Yield the keys whose values differ between two texts; rows of a table are named by their `name`."""
    was = dict(_flat(toml_table(old)))
    now = dict(_flat(toml_table(new)))
    for key in was | now:
        if was.get(key) != now.get(key):
            yield Change(key, was.get(key), now.get(key))


def _flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    named = partial(_joined, key)
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _flat(one, named(name))
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for number, one in enumerate(value, start=1):
            yield from _flat(one, named(_row_name(one, number)))
    else:
        yield key, deepcopy(value)


def _joined(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)


def _row_name(row: Any, number: int) -> str:
    name = row.get("name") if isinstance(row, dict) else None
    return str(name or number)


def shown(value: object) -> str:
    """Return a value as pages and records show it."""
    if value is None or value == []:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
