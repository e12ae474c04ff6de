"""A judged run for people and for machines."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from power.energy import above_idle_wh
from referee.contest import Contest
from referee.judging.checks import is_of_the_window
from referee.scoring import format_score
from referee.store.records import Run, Score


def current_judgement(contest: Contest, run: Run) -> Score | None:
    """The run's judgement, None before there is one of the energy of record: that may be read after judging."""
    judged = contest.store.latest_score(run.id)
    return judged if judged is not None and judged.energy_wh == run.energy_wh else None


def score_document(run: Run, score: Score) -> dict[str, Any]:
    """The JSON document of a judged run; figures that do not exist are null."""
    return {
        "run": run.id,
        "team": run.team,
        "map": score.map,
        "energy_wh": score.energy_wh,
        "score": score.score,
        "official": run.official,
        "idle_power_w": run.idle_power_w,
        "energy_above_idle_wh": _above_idle_wh(run, score),
        "images": score.images,
        "detections": score.detections,
        "elapsed_s": run.elapsed_s,
        "mean_power_w": score.mean_power_w,
        "checks": [
            {
                "code": check.code,
                "ok": check.ok,
                "severity": check.severity,
                "sentence": check.sentence,
                "figures": {name: _finite(value) for name, value in check.figures.items()},
            }
            for check in score.checks
        ],
        "needs_review": score.needs_review,
        "interval": None if score.interval is None else asdict(score.interval),
        "ap": {str(category): ap for category, ap in score.ap.items()},
        "window_s": run.window_s,
        "closed_by": run.closed_by,
        "meter": run.meter_identity,
        "meter_setup": asdict(run.setup),
        "signature": score.signature,
    }


def print_score(run: Run, score: Score) -> None:
    """The figures and every check, on stdout."""
    console = Console(soft_wrap=True, highlight=False)
    table = Table(title=f"Run {run.id} of {run.team}", show_header=False, title_justify="left")
    table.add_row("images", f"{score.images}")
    table.add_row("detections", f"{score.detections}")
    interval = score.interval
    between = "" if interval is None else _between(interval.map_low, interval.map_high, interval.level, 5)
    table.add_row("mAP", f"{score.map:.5f}{between}")
    unofficial = "" if run.official else "  (unofficial meter)"
    table.add_row("energy", _with_unit(score.energy_wh, "Wh", 6) + unofficial)
    if run.idle_power_w is not None:
        idle = f"{_with_unit(_above_idle_wh(run, score), 'Wh', 6)} (idle {run.idle_power_w:.3f} W)"
        table.add_row("above idle", idle)
    table.add_row("mean power", _with_unit(score.mean_power_w, "W", 3))
    table.add_row("elapsed", f"{_with_unit(run.elapsed_s, 's', 3)} (closed by {run.closed_by})")
    table.add_row("score", _score_words(score), style="bold")
    console.print(table)
    for check in score.checks:
        mark = "[green]ok[/]" if check.ok else f"[red]{check.severity}[/]"
        console.print(f"{mark:>5} {check.code}: {check.sentence}")
    if score.needs_review:
        console.print("[bold red]This run needs review:[/] a check failed.")
    console.print(f"signature {score.signature}")


def _above_idle_wh(run: Run, score: Score) -> float | None:
    if score.energy_wh is None or run.idle_power_w is None or run.elapsed_s is None:
        return None
    if not is_of_the_window(score.checks):
        return None
    return above_idle_wh(score.energy_wh, run.idle_power_w, run.elapsed_s)


def _score_words(score: Score) -> str:
    if score.score is None:
        return "none"
    words, interval = f"{format_score(score.score)} mAP/Wh", score.interval
    if interval is None or interval.score_low is None or interval.score_high is None:
        return words
    return words + _between(interval.score_low, interval.score_high, interval.level, 4)


def _between(low: float, high: float, level: float, digits: int) -> str:
    return f"  ({low:.{digits}f} to {high:.{digits}f} at {level:.0%})"


def _with_unit(value: float | None, unit: str, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f} {unit}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
