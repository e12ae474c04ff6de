"""The settings of a rehearsal: folder, meter, test set, client and faults."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from lpirc_score.tasks import BOXES
from referee.cli.home_contest import RANGES
from referee.cli.rehearsed_faults import Faults
from referee.contest_rules import DEFAULT, ContestRule

PID = "{pid}"  # in a load: the client's process id
TEAM = "rehearsal"
DEFAULT_IMAGES = 200
CATEGORIES = 10
SEED = 2017
SIZE = (640, 480)
UPDATE_INTERVAL_S = 0.1
CLIENT_LOAD = f"cpu:{PID},idle=2W,busy=9W"


@dataclass(frozen=True)
class Plan:
    """The settings of a rehearsal: test set, meter, client, faults and folder."""

    folder: Path
    images: int
    window_s: int
    load: str
    meter: str | None
    testset: Path | None
    replay: Path | None
    client: tuple[str, ...] = ()
    faults: Faults = field(default_factory=dict)
    seed: int = 1
    task: str = BOXES
    rule: ContestRule = DEFAULT

    @property
    def testset_folder(self) -> Path:
        """The test set of the rehearsal: the given folder, or else the folder of a synthesized one."""
        return Path(os.path.realpath(self.testset or self.folder / "testset"))

    @property
    def ranges(self) -> tuple[float, float] | None:
        """Return fixed ranges in volts and amperes if the load is known, or None for automatic ranges."""
        is_known = self.meter is None and self.load == CLIENT_LOAD
        return RANGES if is_known else None
