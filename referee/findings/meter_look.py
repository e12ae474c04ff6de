"""Asks one station's meter as a program of its own, so that a meter that hangs holds up no server.

`python -c "from referee.findings.meter_look import main; main()" look|trial FOLDER STATION` prints one JSON document.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lpirc_testsets import TestSetError
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.findings.meter_findings import look_at_meter, trial_run

LOOK = "look"
TRIAL = "trial"


def main() -> None:
    """Ask the meter that the arguments name, and print what was found."""
    what, folder, station = sys.argv[1:]
    try:
        with open_contest(Path(folder), only_looks=True) as contest:
            document = _asked(contest, what, station)
    except (RefereeError, TestSetError) as error:
        document = {"findings": [[error.code, error.sentence, False]]}
    json.dump(document, sys.stdout)


def _asked(contest: Contest, what: str, name: str) -> dict[str, Any]:
    station = contest.station(name)
    if what == LOOK:
        found = look_at_meter(contest.config, contest.store, station)
        return {"findings": list(found)}
    trial = trial_run(contest, station)
    return {
        "findings": trial.findings,
        "energy_wh": trial.energy_wh,
        "mean_power_w": trial.mean_power_w,
    }
