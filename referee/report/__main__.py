"""Writes reports in a process of its own, at low priority: `python -P -m referee.report FOLDER RUN...`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from power.errors import MeterError
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.report import FOLDER_NAME, write_report
from testsets import TestSetError

if __name__ == "__main__":
    os.nice(10)
    folder = Path(sys.argv[1])
    try:
        with open_contest(folder) as contest:
            for number in sys.argv[2:]:
                print(write_report(contest, int(number), folder / FOLDER_NAME), flush=True)  # noqa: T201
    except (RefereeError, MeterError, TestSetError) as failure:
        sys.exit(f"referee: {failure.sentence}")
