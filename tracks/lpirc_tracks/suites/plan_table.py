"""A table of a suite's TOML file, whose values are read one by one and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lpirc_testsets.close_names import did_you_mean
from referee.errors import RefereeError

SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class PlanTable:
    """A table of the file, with its name for messages. All methods raise RefereeError `bad-suite`."""

    name: str
    values: Mapping[str, Any]

    def bad(self, problem: str) -> RefereeError:
        """Return the error for a problem of this table."""
        return RefereeError("bad-suite", f"{self.name}: {problem}.")

    def require_known(self, *known: str) -> None:
        """Refuse any key that is not in `known`."""
        for key in self.values:
            if key not in known:
                meant = did_you_mean(key, known)
                keys = ", ".join(known)
                sentence = (
                    f"{self.name}: unknown key {key!r}; the keys are {keys}.{meant}"
                )
                raise RefereeError("bad-suite", sentence)

    def get(self, key: str, default: Any) -> Any:
        """Return the value of a key, which must be there if it has no default."""
        value = self.values.get(key, default)
        if value is None:
            raise self.bad(f"the key {key!r} is missing")
        return value

    def is_stated(self, key: str) -> bool:
        """Return True if the key is there, with a value other than "", which stands for an unknown one."""
        return bool(self.values.get(key, "") != "")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a line of text that is not blank, or the default."""
        value = self.get(key, default)
        is_line = (
            isinstance(value, str)
            and value.isprintable()
            and (value.strip() or value == default)
        )
        if not is_line:
            raise self.bad(f"{key} = {value!r} must be a line of text")
        return str(value).strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of at least one line of text."""
        value = self.get(key, None)
        if not isinstance(value, list) or not value:
            raise self.bad(f"{key} = {value!r} must be a list of names")
        return tuple(replace(self, values={key: one}).text(key) for one in value)

    def word(self, key: str, words: Sequence[str], default: str | None = None) -> str:
        """Return one of the words, or the default."""
        value = self.get(key, default)
        if value != default and value not in words:
            raise self.bad(f"{key} = {value!r} must be {' or '.join(words)}")
        return str(value)

    def sha256(self, key: str) -> str:
        """Return a checksum in lower case, or "" for an unknown one."""
        value = str(self.values.get(key, "")).strip().lower()
        if value and not SHA256.fullmatch(value):
            given = self.values[key]
            raise self.bad(f"{key} = {given!r} must have 64 hexadecimal digits")
        return value

    def number(
        self, key: str, least: float, most: float, default: float | None = None
    ) -> float:
        """Return a number within bounds, or the default."""
        value = self.get(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            raise self.bad(
                f"{key} = {value!r} must be a number from {least:g} to {most:g}"
            )
        return value

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number within bounds, or the default."""
        value = self.number(key, least, most, default)
        if not isinstance(value, int):
            raise self.bad(f"{key} = {value!r} must be a whole number")
        return value

    def levels(self, key: str, least: float, most: float) -> str:
        """Return one number for all channels, or a list of three, as the harness's option takes it."""
        value = self.values[key]
        each = value if isinstance(value, list) and len(value) == 3 else [value]
        numbers = [
            replace(self, values={key: one}).number(key, least, most) for one in each
        ]
        return ",".join(map(repr, numbers))
