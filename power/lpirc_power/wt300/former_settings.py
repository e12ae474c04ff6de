"""The settings found in a meter before a run, to be restored after it."""

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
    """The settings found in a meter, each as it was when it was first asked for.

    Give the same one to every `Wt300` that is opened on a meter: a driver made after a lost link finds what an
    earlier one has set, not what was there before. `is_due` says that the meter was set up, and the settings are to be
    restored; `undone` is what differed from the run's and was put right before its final reading; `locks` keeps its
    panel locked; `events` are those that the meter has reported, and so forgotten, since the last update that was read.
    """

    def __init__(self) -> None:
        self.is_due = False
        self.undone: list[str] = []
        self.locks: tuple[Setting, ...] = ()
        self.events = 0
        self._owner: Identity | None = None
        self._found: dict[str, str] = {}

    def belong_to(self, identity: Identity) -> None:
        """Forget everything if it was found in another meter."""
        if self._owner != identity:
            self.forget()
            self._owner = identity

    def forget(self) -> None:
        """Forget everything; the next settings that are kept are the former ones."""
        self._found.clear()
        self.undone.clear()
        self.locks = ()
        self.events = 0
        self.is_due = False

    def keep(
        self, headers: Iterable[str], ask: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        """Ask for every setting that is not known yet, by its header; `ask` answers many questions."""
        unknown = [header for header in headers if header not in self._found]
        self._found.update(
            zip(unknown, ask([f"{header}?" for header in unknown]), strict=True)
        )

    def settings(self, first: Sequence[str]) -> list[Setting]:
        """Return the settings of `first` in order, then the others, and last the form of the meter's answers.

        A range is not insisted on where the meter chose it: setting it again would end automatic ranging.
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
