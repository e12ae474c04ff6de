"""The tables of a soak, printed and kept in docs/reliability.md."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench.figures import as_markdown, replace_part, row, show
from bench.soak.client import lines_of
from bench.soak.faults import Happened
from bench.soak.reckoning import energies, keeping, longest_pause_s, window_errors
from bench.soak.site import STATIONS, Site
from bench.watch_parts import machine
from referee.contest import Contest, open_contest
from referee.store.records import ENERGY_MISSING, OVER, RUN_CLOSED, Run, Score

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN = "<!-- soak: make soak ARGS=--save -->"
END = "<!-- end of the soak -->"
POSTS = """SELECT run, idempotency_key AS key, sha256, row_count AS accepted, received_total, elapsed_s, number,
    lower(hex(previous)) AS previous, received_utc FROM posts ORDER BY id"""
WINDOWS = "SELECT id, window_s FROM runs WHERE opened_utc IS NOT NULL"
LAST_DAY_BEGIN = '<!-- last day: make soak ARGS="--day last --save" -->'
LAST_DAY_END = "<!-- end of the last day -->"
ZERO = (
    "lost or altered",
    "duplicated",
    "stored outside their window",
    "receipts whose links do not hold",
)
UNFLAGGED = {"official-meter"}  # every simulated meter is none
Rows = list[dict[str, Any]]


def figures(site: Site) -> tuple[Rows, bool]:
    """Compare the journals with the contest folder, whose server has ended; whether nothing is lost or duplicated."""
    journal = [line for team in site.teams for line in lines_of(site.journal(team))]
    with closing(sqlite3.connect(site.contest / "contest.db")) as database:
        database.row_factory = sqlite3.Row
        stored = [dict(one) for one in database.execute(POSTS)]
        sound = database.execute("PRAGMA integrity_check").fetchone()[0]
    with open_contest(site.contest) as contest:
        runs = [run for run in contest.store.runs.find() if run.opened_utc is not None]
        over = [run for run in runs if run.state in OVER and run.elapsed_s is not None]
        found, worst = energies([_metered(contest, run) for run in over])
    kept = keeping(journal, stored, {run.id: run.window_s for run in runs})
    errors, within_s = window_errors(
        journal, {run.id: run.elapsed_s or 0.0 for run in over}
    )
    refused = Counter(
        str(line["code"]) for line in journal if line["what"] == "refused"
    )
    logs = "".join(log.read_text() for log in site.folder.glob("*.log"))
    rows = [row("runs, those that are over", f"{len(runs)}, {len(over)}")]
    targets = dict.fromkeys(ZERO, 0)
    rows += [row(what, count, targets.get(what)) for what, count in kept.items()]
    rows += [
        row(
            "posts refused for good",
            ", ".join(f"{code} {count}" for code, count in sorted(refused.items())),
        ),
        row("worst error of a window (ms)", round(1000 * max(errors, default=0.0)), 0),
        row("its end is measured within (ms, median)", round(1000 * within_s)),
        row(
            "energies within 0.5 % of the simulator's, or the start and stop on record",
            found["exact"],
        ),
        row("worst of those that nothing flags (%)", round(100 * worst, 4)),
        row("energies further off, flagged by a check", found["off"]),
        row("energies lost with the meter, said to be", found["missing"]),
        row("energies off or missing without a word", found["unsaid"], 0),
        row("integrity check of the database", sound, "ok"),
        row("tracebacks in the logs", logs.count("Traceback"), 0),
    ]
    return rows, not kept["lost or altered"] and not kept["duplicated"]


def kept_so_far(site: Site) -> dict[str, int] | None:
    """Compare the journals with the database of a server that may be at work; None while it cannot be read."""
    # The journals first: what is in them was stored before.
    journal = [line for team in site.teams for line in lines_of(site.journal(team))]
    try:
        with closing(
            sqlite3.connect(f"file:{site.contest / 'contest.db'}?mode=ro", uri=True)
        ) as database:
            database.row_factory = sqlite3.Row
            stored = [dict(one) for one in database.execute(POSTS)]
            windows = dict(database.execute(WINDOWS).fetchall())
    except sqlite3.OperationalError:
        return None
    return {"runs": len(windows)} | keeping(journal, stored, windows)


def _metered(contest: Contest, run: Run) -> dict[str, Any]:
    score = contest.store.scores.latest(run.id)
    events = contest.store.log.of_run(run.id)
    failed = {event["kind"] for event in events} & {ENERGY_MISSING}
    failed |= (
        {check.code for check in score.checks if not check.ok} - UNFLAGGED
        if score is not None
        else set()
    )
    power_w = STATIONS[run.station]
    truth_wh = power_w * (run.elapsed_s or 0.0) / 3600
    # How much longer than the window the integrator ran is on record: it is the energy of that time, too.
    ran_s = [event["start_stop_s"] for event in events if event["kind"] == RUN_CLOSED]
    more_wh = _stated_wh(run, score)
    if None not in ran_s:
        more_wh = power_w * sum(ran_s) / 3600
    return {
        "energy_wh": run.energy_wh,
        "truth_wh": truth_wh,
        "more_wh": more_wh,
        "failed": failed,
    }


def _stated_wh(run: Run, score: Score | None) -> float:
    """Return the uncertainty of an energy whose start and stop are not known: the server was killed in the run."""
    if score is None:
        return 0.0
    if score.interval is None:
        return 0.0
    relative = score.interval.energy_uncertainty
    if relative is None:
        return 0.0
    if run.energy_wh is None:
        return 0.0
    return relative * run.energy_wh


def faults(site: Site, happened: Sequence[Happened], end_s: float) -> Rows:
    """For each kind of fault how long nothing was acknowledged, until the next one began; the last ends at `end_s`."""
    answered_s: dict[str, list[float]] = {}
    for team in site.teams:
        lines = lines_of(site.journal(team))
        acknowledged = [line for line in lines if line["what"] == "acknowledged"]
        answered_s[team] = [line["told_s"] for line in acknowledged]
    everyone = [moment for moments in answered_s.values() for moment in moments]
    pauses: dict[str, list[float]] = {}
    for one, until_s in zip(
        happened,
        [*(later.start_s for later in happened[1:]), end_s],
        strict=True,
    ):
        moments = everyone if one.team is None else answered_s[one.team]
        pauses.setdefault(one.kind, []).append(
            longest_pause_s(moments, one.start_s, until_s)
        )
    rows: Rows = []
    for kind, several in sorted(pauses.items()):
        of_kind = [one for one in happened if one.kind == kind]
        lasted_s = median(one.end_s - one.start_s for one in of_kind)
        rows.append(
            {
                "fault": kind,
                "times": len(several),
                "lasted (s, median)": round(lasted_s, 1),
                "nothing acknowledged for (s, median)": round(median(several), 1),
                "worst (s)": round(max(several), 1),
            }
        )
    return rows


def where(
    minutes: float,
    seed: int,
    load: Sequence[float],
    small_disk: bool,
) -> str:
    """What was soaked where and when, in one paragraph."""
    busy = f"Load average {mean(load or [0.0]):.1f}, at most {max(load, default=0.0):.1f}, with other work beside it."
    left_out = (
        "" if small_disk else " No small disk could be mounted: it was never full."
    )
    return f"{time.strftime('%Y-%m-%d')}: {minutes:g} minutes, seed {seed}, on {machine()}. {busy}{left_out}"


def publish(
    said: str,
    tables: Sequence[Rows],
    *,
    save: bool,
    titles: Sequence[str] = ("faults", "soak"),
    marks: tuple[str, str] = (BEGIN, END),
) -> None:
    """Print the tables; with `save`, put them into the page between the marks."""
    begin, end = marks
    for title, rows in zip(titles, tables, strict=True):
        show(title, rows)
    sys.stdout.write(said + "\n")
    if save:
        replace_part(
            DOCUMENT,
            begin,
            "\n\n".join(["", said, *map(as_markdown, tables), ""]),
            end,
        )
