"""The last day of a season: teams before a deadline, devices that fail, a host that is switched off, a rival."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests

from bench.figures import row
from bench.soak import report
from bench.soak.client import lines_of
from bench.soak.entrant import TRACK
from bench.soak.entry_reckoning import MUST_BE_NONE, Line, entries_kept, longest_waits_s
from bench.soak.faults import stand_still
from bench.soak.hosts import LastDay, Rival
from lpirc_tracks.submissions.entries import entry_document
from lpirc_tracks.submissions.receiving import upload_document
from lpirc_tracks.submissions.results_files import kept_upload
from lpirc_tracks.submissions.second_copies import require_file
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.store.model_records import Submission
from tests.contest_day import descendants_of

# The deadline's part of the time; what the hosts need before.
DEADLINE = 0.4
STARTING_S = 30.0
OFF_S = 25.0  # so long before the deadline the first host is switched off
# Between faults of devices; a lease is 30 s.
PAUSE_S = (6.0, 14.0)
HUNG_S = (8.0, 45.0)
DRAIN_S = 900.0
LOOK_S = 2.0
UNFINISHED = ("waiting", "being_scored")
JUDGED = "were processed in"  # in the sentence of a measurement that was stored


class Course:
    """What happened, for the table."""

    def __init__(self) -> None:
        self.faults = Counter[str]()
        self.load = list[float]()
        self.away_s = (0.0, 0.0)
        self.drained_s = 0.0
        self.opened_by_rival = 0


def soak(
    folder: Path,
    minutes: float,
    teams: int,
    seed: int,
) -> tuple[list[report.Rows], bool, Course, bool]:
    """Let the day pass; the tables, whether all held, what happened, and whether a small disk was mounted."""
    chance = random.Random(seed)  # noqa: S311
    course = Course()
    lasting_s = minutes * 60
    site = LastDay(folder, teams, time.time() + STARTING_S + DEADLINE * lasting_s)
    try:
        rival = Rival([int(url.rpartition(":")[2]) for url in site.urls])
        groups = site.entrants(chance)
        _happen(site, chance, course, time.time() + lasting_s)
        _drain(site, course)
        rival.stop()
        course.opened_by_rival = rival.opened
        board = site.board()
        for group in groups:
            group.end(5.0)
        for device in site.devices.values():
            device.end(5.0)
        site.finish()
        runs, good = report.figures(site)
        entries, kept = _entries(site, board, course)
    finally:
        site.close()
    return [entries, runs], good and kept, course, site.is_small


def _happen(
    site: LastDay,
    chance: random.Random,
    course: Course,
    end_s: float,
) -> None:
    """Devices die and hang until the end; the first host is switched off once, shortly before the deadline."""
    while time.time() < end_s:
        off_in_s = site.deadline_s - OFF_S - time.time()
        if not course.away_s[0] and off_in_s <= 0:
            _say("first host switched off, its disk gone")
            course.away_s = site.switch_off()
            _say(
                f"the standby serves after {course.away_s[1] - course.away_s[0]:.1f} s"
            )
        # Whoever waits for a device that hangs cannot switch off the host in time.
        may_wait = bool(course.away_s[0]) or off_in_s > HUNG_S[1]
        _harm_device(site, chance, course, may_wait=may_wait)
        course.load.append(os.getloadavg()[0])
        time.sleep(chance.uniform(*PAUSE_S))


def _harm_device(
    site: LastDay,
    chance: random.Random,
    course: Course,
    *,
    may_wait: bool,
) -> None:
    """Kill a device with its harness, or let both stand still for a while."""
    device = site.devices[chance.choice([*site.devices])]
    processes = [device.pid, *descendants_of(device.pid)]
    if chance.random() < 1 / 2:
        course.faults["device killed"] += 1
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    elif may_wait:
        course.faults["device hung"] += 1
        stand_still(processes, chance.uniform(*HUNG_S))


def _drain(site: LastDay, course: Course) -> None:
    """In peace, until all is measured."""
    began_s = time.time()
    while time.time() < began_s + DRAIN_S:
        with suppress(requests.RequestException):
            board = site.board()
            if not any(board.get(name) for name in UNFINISHED) and not board.get(
                "provisional"
            ):
                break
        time.sleep(LOOK_S)
    course.drained_s = time.time() - began_s


def _entries(
    site: LastDay,
    board: dict[str, Any],
    course: Course,
) -> tuple[report.Rows, bool]:
    """The table of entries, and whether what must be none is none."""
    journal = [line for path in site.entry_journals() for line in lines_of(path)]
    stored = stored_entries(site.contest, _judged(site.folder.glob("device-*.log")))
    teams = [place["team"] for place in board["places"]]
    found = entries_kept(journal, stored, teams, site.deadline_s)
    smooth_s, met_s = longest_waits_s(journal, course.away_s)
    away_s = course.away_s[1] - course.away_s[0]
    statuses = Counter(
        str(line["status"]) for line in journal if line["what"] == "asked"
    )
    ended = Counter(line["state"] for line in stored)
    targets = dict.fromkeys(MUST_BE_NONE, 0)
    rows = [row(what, count, targets.get(what)) for what, count in found.items()]
    rows += [
        row("how they ended", _listed(ended)),
        row("answers to their requests (None: no answer)", _listed(statuses)),
        row("longest wait for a final answer, host alive (s)", round(smooth_s, 1)),
        row(
            "longest wait for a final answer over the change of hosts (s)",
            round(met_s, 1),
        ),
        row(
            "from switching off to the standby's first answer (s)",
            round(away_s, 1),
            "<= 10",
        ),
        row("faults of devices", _listed(course.faults)),
        row("half bodies that the rival opened", course.opened_by_rival),
        row("until all was judged, after the last fault (s)", round(course.drained_s)),
    ]
    return rows, not any(found[what] for what in MUST_BE_NONE)


def stored_entries(folder: Path, judged: Mapping[str, int] | None = None) -> list[Line]:
    """The uploads to the track as they stand in a contest folder that is not served.

    `judged` is how often devices were told the outcome of each file's measurement.
    """
    times = judged or {}
    with open_contest(folder) as contest:
        made = [
            one
            for one in contest.store.submissions.all(TRACK)
            if contest.store.uploads.of_submission(one.id)
        ]
        kept = {one.id: _has_file(contest, one) for one in made}
        documents = [
            entry_document(contest.store, one) | upload_document(contest, one)
            for one in made
        ]
    return [
        one["receipt"]
        | {
            "id": one["id"],
            "state": one["state"],
            "judged": times.get(one["file"], 0),
        }
        | {"file_is_there": one["state"] == "refused" or kept[one["id"]]}
        for one in documents
    ]


def _has_file(contest: Contest, one: Submission) -> bool:
    """Whether the referee has what was uploaded, if need be from the journal's disk."""
    try:
        require_file(contest, kept_upload(contest, one))
    except RefereeError:
        return False
    return True


def _judged(logs: Iterable[Path]) -> Counter[str]:
    """How often each file was judged, as the devices were told."""
    lines = [line for log in logs for line in log.read_text().splitlines()]
    outcomes = [
        line.removeprefix(f"{TRACK}, ")
        for line in lines
        if line.startswith(f"{TRACK}, ")
    ]
    return Counter(line.partition(": ")[0] for line in outcomes if JUDGED in line)


def _listed(counted: Counter[str]) -> str:
    return ", ".join(f"{what} {count}" for what, count in sorted(counted.items()))


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
