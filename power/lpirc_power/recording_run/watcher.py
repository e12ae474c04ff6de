"""What a page beside a recording hears of it. A watcher must return at once, and must not raise."""

from __future__ import annotations

from lpirc_power.marks.mark_list import MarkList
from lpirc_power.meter import Identity, Reading
from lpirc_power.record.document import Moment
from lpirc_power.sampling.sampler import LinkEvent


class Watcher:
    """Hears of a recording and does nothing; a page overrides what it shows.

    Readings and events of the link come from the sampler's second thread, everything else from the main thread.
    """

    def on_marks(self, marks: MarkList) -> None:
        """A recording begins, whose marks come in here."""

    def on_armed(self, name: str, identity: Identity) -> None:
        """The meter is set up; `name` is that of the recording's file."""

    def on_start(self, name: str, start: Moment) -> None:
        """The integrator runs."""

    def on_reading(self, name: str, reading: Reading) -> None:
        """A reading is in the file."""

    def on_link(self, name: str, event: LinkEvent) -> None:
        """The link to the meter is lost, or back."""

    def on_stop(self, name: str, reading: Reading) -> None:
        """The integrator is stopped; the reading has the energy."""
