"""The table of a soak, printed and kept in docs/reliability.md."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.figures import row, show
from bench.soak.faults import Happened
from bench.soak.reckoning import Kept, energies, keeping, until_served_s, window_errors
from bench.soak.site import STATIONS, Site
from referee.contest import open_contest
from referee.store.records import OVER, Run

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- soak: make soak ARGS=--save -->", "<!-- end of the soak -->"
POSTS = "SELECT run, idempotency_key AS key, sha256, row_count AS rows, received_total AS total, elapsed_s FROM posts ORDER BY id"
UNFLAGGED = {"official-meter"}  # every simulated meter


@dataclass(frozen=True)
class Rows:
    """What is printed: where and when, the faults by kind, the figures; `good` is False if anything was lost or doubled."""

    where: str
    faults: Sequence[dict[str, Any]]
    figures: Sequence[dict[str, Any]]
    good: bool


def measured(
    site: Site, happened: Sequence[Happened], minutes: float, seed: int, load: Sequence[float]
) -> Rows:
    """Compare the journals of the teams with the contest folder, once its server has ended."""
    journals = {team: _lines(site.journal(team)) for team in site.teams}
    journal = [line for lines in journals.values() for line in lines]
    with closing(sqlite3.connect(site.contest / "contest.db")) as database:
        database.row_factory = sqlite3.Row
        stored = [dict(one) for one in database.execute(POSTS)]
        sound = database.execute("PRAGMA integrity_check").fetchone()[0]
    with open_contest(site.contest) as contest:
        runs = [run for run in contest.store.runs() if run.opened_utc is not None]
        failed = {run.id: _failed(contest, run) for run in runs}
    kept = keeping(journal, stored, {run.id: run.window_s for run in runs})
    ended = {run.id: {"elapsed_s": run.elapsed_s} for run in runs if run.state in OVER}
    errors, within_s = window_errors(journal, ended)
    measured_runs = [
        {
            "energy_wh": run.energy_wh,
            "truth_wh": STATIONS[run.station] * (run.elapsed_s or 0.0) / 3600,
            "failed": failed[run.id],
        }
        for run in runs
        if run.state in OVER
    ]
    found = energies(measured_runs)
    worst_ms = 1000 * max(errors, default=0.0)
    tracebacks = sum(text.count("Traceback") for text in map(Path.read_text, site.folder.glob("*.log")))
    figures = [
        row("runs", f"{len(runs)}, of them {len(ended)} over"),
        *_kept_rows(kept),
        row(
            "window: worst error of a run",
            f"{worst_ms:.0f} ms, its end measured within {1000 * within_s:.0f} ms (median)",
        ),
        row("energies within 0.5 % of the truth", found.exact),
        row("worst of those without a failed check", f"{100 * found.worst:.3f} %"),
        row("energies further off, with a failed check", found.flagged),
        row("energies lost with the meter, and said to be", found.missing),
        row("energies wrong or missing without a word", found.unsaid, 0),
        row("integrity check of the database", sound, "ok"),
        row("tracebacks in the logs", tracebacks, 0),
    ]
    good = not kept.lost and not kept.duplicated
    return Rows(_where(minutes, seed, load), _fault_rows(happened, journals), figures, good)


def _kept_rows(kept: Kept) -> list[dict[str, Any]]:
    refused = ", ".join(f"{code} {count}" for code, count in sorted(kept.refused.items()))
    return [
        row("acknowledged", f"{kept.posts:,} posts, {kept.rows:,} rows; {kept.repeats} posts more than once"),
        row("lost or altered", kept.lost, 0),
        row("duplicated", kept.duplicated, 0),
        row("stored outside their window", kept.late, 0),
        row("receipts that do not follow the one before", kept.unlinked, 0),
        row("posts refused for good", refused or 0),
    ]


def _failed(contest: Any, run: Run) -> set[str]:
    score = contest.store.latest_score(run.id)
    codes = set() if score is None else {check.code for check in score.checks if not check.ok}
    return codes - UNFLAGGED | {event["kind"] for event in contest.store.events(run.id)} & {"energy-missing"}


def _fault_rows(happened: Sequence[Happened], journals: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for kind in sorted({one.kind for one in happened}):
        several = [one for one in happened if one.kind == kind]
        served = [until_served_s(journals, one.start_s, one.team) for one in several]
        known = [one for one in served if one is not None]
        rows.append({
            "fault": kind,
            "times": len(several),
            "it lasted (s, median)": round(median(one.end_s - one.start_s for one in several), 1),
            "to the next acknowledgement (s, median)": round(median(known), 2) if known else None,
            "worst (s)": round(max(known), 2) if known else None,
        })  # fmt: skip
    return rows


def _where(minutes: float, seed: int, load: Sequence[float]) -> str:
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    machine = f"{os.cpu_count()} x {models[0] if models else platform.machine()}, Linux {platform.release()}"
    busy = f"load average {sum(load) / max(len(load), 1):.1f}, at most {max(load, default=0.0):.1f}"
    return f"{time.strftime('%Y-%m-%d')}, {minutes:g} minutes, seed {seed}; {machine}; {busy}, other work beside it."


def _lines(journal: Path) -> list[Any]:
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def print_rows(rows: Rows) -> None:
    """Print the two tables."""
    show("faults", rows.faults)
    show("soak", rows.figures)
    sys.stdout.write(rows.where + "\n")


def save(rows: Rows) -> None:
    """Put the tables into the page."""
    tables = [_table(rows.faults), _table(rows.figures)]
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    text = "\n\n".join([rows.where, *tables])
    DOCUMENT.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def _table(rows: Sequence[dict[str, Any]]) -> str:
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([_cell(one[name]) for name in columns] for one in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
