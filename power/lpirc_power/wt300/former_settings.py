"""Settings found in a meter before a run, to be restored after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from lpirc_power.meter import Identity
from lpirc_power.wt300 import answers
from lpirc_power.wt300 import setting_commands as controls
from lpirc_power.wt300.setting_commands import Setting

_AUTOMATIC: Final = {
    controls.VOLTAGE_RANGE.header: controls.VOLTAGE_AUTO.header,
    controls.CURRENT_RANGE.header: controls.CURRENT_AUTO.header,
}


class FormerSettings:
    """Settings found in a meter, each with the value at its first query.

    Share one instance among all `Wt300` opened for a meter: a driver created after a lost link must restore the
    original settings, not those that an earlier driver made. `is_due` means that the meter was set up and must be
    restored. `undone` lists the differences from the run that were undone before its final reading. `locks` keeps the
    panel locked. `events` are those reported, and thereby cleared in the meter, since the last update that was read.
    """

    def __init__(self) -> None:
        self.is_due = False
        self.undone: list[str] = []
        self.locks: tuple[Setting, ...] = ()
        self.events = 0
        self._owner: Identity | None = None
        self._found: dict[str, str] = {}

    def belong_to(self, identity: Identity) -> None:
        """Clear everything if it was found in another meter."""
        if self._owner != identity:
            self.forget()
            self._owner = identity

    def forget(self) -> None:
        """Clear everything; the settings kept next are the new former settings."""
        self._found.clear()
        self.undone.clear()
        self.locks = ()
        self.events = 0
        self.is_due = False

    def keep(
        self, headers: Iterable[str], ask: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        """Query and keep every setting in `headers` not yet known; `ask` answers several queries."""
        unknown = [header for header in headers if header not in self._found]
        self._found.update(
            zip(unknown, ask([f"{header}?" for header in unknown]), strict=True)
        )

    def settings(self, first: Sequence[str]) -> list[Setting]:
        """Return the settings of `first` in order, then all other settings, and last the format of answers.

        A range under automatic ranging is not checked, since setting it again would end automatic ranging.
        """
        measuring = [header for header in first if header in self._found]
        talking = [header for header in self._found if header not in first]
        talking.sort(key=lambda header: header.startswith(":COMMUNICATE"))
        chosen = {
            ranging
            for ranging, auto in _AUTOMATIC.items()
            if answers.same(self._found.get(auto, ""), "ON")
        }
        settings: list[Setting] = []
        for header in (*measuring, *talking):
            value = self._found[header]
            insisted_on = None if header in chosen else value
            settings.append(Setting(header, value, insisted_on))
        return settings
