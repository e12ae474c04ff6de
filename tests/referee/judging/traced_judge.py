"""`referee judge --all --workers 2` by `python -m`, with short leases, each scoring leaving a trace on the disk."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from referee.cli.main import main
from referee.judging import judge_many
from referee.judging.scoring_job import Scored, ScoringInput, score_whole
from referee.workers import job_dispatch
from tests.referee.judging import traced_judge

LEASE_S = 2.0
WORK_S = 0.15  # of a larger run
TRACE = "trace"


def traced(given: ScoringInput, *more: Any) -> Scored:
    """The scoring, which notes beginning and end, with process and time, in the working directory."""
    note("begin")
    threading.Event().wait(WORK_S)
    found = score_whole(given, *more)
    note("end")
    return found


def note(what: str) -> None:
    with Path(TRACE).open("ab", buffering=0) as file:
        file.write(f"{what} {os.getpid()} {time.time()}\n".encode())


if __name__ == "__main__":
    judge_many.score_whole = traced_judge.traced  # as a worker imports it
    job_dispatch.LEASE_S = LEASE_S
    job_dispatch.RENEW_S = LEASE_S / 3
    sys.exit(main(["judge", "--all", "--workers", "2", "--contest", sys.argv[1]]))
