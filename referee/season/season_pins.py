"""Pins: a season's notes on each contest that it has read: its signing key, and how far its log went.

A log that was rewritten from its first event on has an intact chain, so only an earlier reading can reveal it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from lpirc_score.files.atomic_write import write_atomically
from referee.errors import RefereeError
from referee.season.log_claims import Record
from referee.season.season_doubts import Doubt, DoubtCode

PINS_NAME = "season-pins.json"


@dataclass(frozen=True)
class Pin:
    """A contest when it was read: its public key (hexadecimal), its number of events, and the link of the last event.

    The key is None for a contest of an earlier version. The link is None if only the key was written down, by hand.
    """

    public_key: str | None = None
    events: int = 0
    link: str | None = None


class Pins:
    """The pins of a season, by contest id: `known` at the beginning, `seen` after reading."""

    def __init__(self, known: dict[str, Pin]) -> None:
        self.known = known
        self.seen = dict(known)

    def events_of(self, contest: str) -> int:
        """Return the number of events in the contest's log when it was pinned, or 0."""
        return self.known.get(contest, Pin()).events

    def doubts(
        self,
        contest: str,
        public_key: str | None,
        record: Record | None,
    ) -> tuple[Doubt, ...]:
        """Return a doubt for each difference between a contest and its pin.

        `record` is None if only the key is known, as from a bundle. If there is no doubt and the log's chain is intact,
        the contest's present state becomes its pin in `seen`.
        """
        pin = self.known.get(contest)
        found = []
        if pin is not None and pin.public_key not in (None, public_key):
            clause = (
                f"its contest signs with the key {public_key}, but the season recorded the key {pin.public_key} for it "
                "before"
            )
            found.append(Doubt(DoubtCode.KEY, clause))
        if record is None:
            return tuple(found)
        if (
            pin is not None
            and pin.link is not None
            and pin.events
            and record.link_then != pin.link
        ):
            clause = f"the first {pin.events} events in its contest's log are not those that the season read before"
            found.append(Doubt(DoubtCode.HISTORY, clause))
        if not found and record.is_linked and record.broken_at is None:
            self.seen[contest] = Pin(public_key, record.events, record.link)
        return tuple(found)

    def write(self, folder: Path) -> None:
        """Write the recorded keys and log heads (`seen`) to the season's folder."""
        document = {contest: asdict(pin) for contest, pin in sorted(self.seen.items())}
        write_atomically(
            folder / PINS_NAME,
            (json.dumps(document, indent=1) + "\n").encode(),
        )


def read_pins(folder: Path | None) -> Pins:
    """Return the pins in a season's folder, none before the first reading. Raises RefereeError `season-pins`."""
    file = None if folder is None else folder / PINS_NAME
    if file is None or not file.is_file():
        return Pins({})
    try:
        return Pins(
            {
                contest: Pin(**pin)
                for contest, pin in json.loads(file.read_text()).items()
            }
        )
    except (OSError, ValueError, TypeError, AttributeError) as error:
        sentence = f"{file} cannot be read ({error}); restore it from a copy, or delete it to begin again."
        raise RefereeError("season-pins", sentence) from error
