"""What a meter was set to before it was touched, kept for as long as one meter is of interest, over any links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from power.meter import Identity
from power.wt300 import answers
from power.wt300.settings import Setting, plain


class FormerSettings:
    """The settings found in a meter, each as it was when it was first asked for.

    Give the same one to every `Wt300` that is opened on a meter: a driver made after a lost link finds what an
    earlier one has set, not what was there before. `is_due` says that the meter was taken over, so that they are to be
    put back.
    """

    def __init__(self) -> None:
        self.is_due = False
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
        self.is_due = False

    def keep(self, headers: Iterable[str], query: Callable[[str], str]) -> None:
        """Ask for every setting that is not known yet, by its header."""
        for header in headers:
            if header not in self._found:
                self._found[header] = answers.data(query(f"{header}?"))

    def settings(self, first: Sequence[str]) -> list[Setting]:
        """Return those of `first` in its order, then the others, and last how the meter answers."""
        measuring = [header for header in first if header in self._found]
        talking = [header for header in self._found if header not in first]
        talking.sort(key=lambda header: header.startswith(":COMMUNICATE"))
        return [plain(header, self._found[header]) for header in (*measuring, *talking)]
