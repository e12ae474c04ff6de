"""What the teams were told against what the contest folder has: pure functions on journals and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

Line = Mapping[str, Any]
EXACT = 0.005
"""Of the energy; what is left is the time that starting and stopping take."""
TICK_S = 0.001  # X-Window-Remaining-Ms is a whole number


@dataclass(frozen=True)
class Kept:
    """Acknowledged posts and rows, and in how many posts the folder and the acknowledgements differ."""

    posts: int
    rows: int
    lost: int
    duplicated: int
    late: int
    repeats: int
    unlinked: int
    refused: Counter[str] = field(default_factory=Counter)


def keeping(journal: Sequence[Line], stored: Sequence[Line], windows: Mapping[int, float]) -> Kept:
    """Compare journals with the stored posts (run, key, sha256, rows, total, elapsed_s) in order.

    Lost is a post that is not stored as it was acknowledged, or that was acknowledged twice with different receipts.
    Duplicated is one that is stored twice, under its key or by its body, which no other has.
    """
    told: dict[tuple[int, str], list[Line]] = {}
    for line in journal:
        if line["what"] == "acknowledged":
            told.setdefault((line["run"], line["key"]), []).append(line)
    there = {(row["run"], row["key"]): row for row in stored}
    bodies, keys = (
        Counter(row["sha256"] for row in stored),
        Counter((row["run"], row["key"]) for row in stored),
    )
    return Kept(
        posts=len(told),
        rows=sum(lines[0]["rows"] for lines in told.values()),
        lost=sum(not _is_kept(lines, there.get(post)) for post, lines in told.items()),
        duplicated=sum(count - 1 for counts in (bodies, keys) for count in counts.values()),
        late=sum(not 0 <= row["elapsed_s"] < windows[row["run"]] for row in stored),
        repeats=sum(len(lines) - 1 for lines in told.values()),
        unlinked=_unlinked(told),
        refused=Counter(str(line["code"]) for line in journal if line["what"] == "refused"),
    )


def _is_kept(lines: Sequence[Line], row: Line | None) -> bool:
    receipts = [{name: one for name, one in line["answer"].items() if name != "warnings"} for line in lines]
    if row is None or any(receipt != receipts[0] for receipt in receipts):
        return False
    told = receipts[0]
    stored = (row["rows"], row["total"], row["sha256"])
    return (
        stored == (told["accepted"], told["received_total"], told["sha256"])
        and row["sha256"] == lines[0]["sha256"]
    )


def _unlinked(told: Mapping[tuple[int, str], Sequence[Line]]) -> int:
    """How many receipts of a run do not name the link of the receipt before them; without links, none."""
    by_run: dict[int, dict[int, Line]] = {}
    for (run, _), lines in told.items():
        if (receipt := lines[0]["answer"].get("receipt")) is not None:
            by_run.setdefault(run, {})[receipt["number"]] = receipt
    return sum(
        later["previous"] != earlier["link"]
        for run in by_run.values()
        for (number, earlier), (following, later) in pairwise(sorted(run.items()))
        if following == number + 1
    )


def window_errors(journal: Sequence[Line], ended: Mapping[int, Line]) -> tuple[list[float], float]:
    """Each run's window error in seconds, and within how much its end was measured (median).

    `ended` has closed_by and elapsed_s by run. A time that a client cannot know exactly is an interval, from before it
    asked to after it was told; an error is how far two intervals of the same moment lie apart.
    """
    errors, widths = [], []
    for run in sorted({line["run"] for line in journal} & set(ended)):
        lines = [line for line in journal if line["run"] == run]
        opened = [line for line in lines if line["what"] == "opened"]
        stated = [(one["asked_s"] + one["left_s"], one["told_s"] + one["left_s"]) for one in opened]
        stated += [_deadline(one) for one in lines if one["what"] == "acknowledged" and one["left_ms"]]
        if not opened or not stated:
            continue
        deadline = (max(low for low, _ in stated), min(high for _, high in stated))
        error = max(0.0, deadline[0] - deadline[1])  # it was moved
        start = (deadline[0] - opened[0]["window_s"], deadline[1] - opened[0]["window_s"])
        error = max(error, _apart(start, (opened[0]["first_s"], opened[0]["told_s"])))
        end = _end(lines)
        if end is not None and ended[run]["elapsed_s"] is not None:
            elapsed_s = ended[run]["elapsed_s"]
            error = max(error, _apart((start[0] + elapsed_s, start[1] + elapsed_s), end))
            widths.append(end[1] - end[0])
        errors.append(error)
    return errors, median(widths) if widths else float("nan")


def _deadline(line: Line) -> tuple[float, float]:
    left_s = line["left_ms"] / 1000
    return line["asked_s"] + left_s, line["told_s"] + left_s + TICK_S


def _end(lines: Sequence[Line]) -> tuple[float, float] | None:
    """Between which moments the run ended: after the last post that was taken was begun, before the first refusal."""
    over = [
        one["told_s"] for one in lines if one["what"] == "logged-out" or one.get("code") == "window-closed"
    ]
    taken = [one["first_s"] for one in lines if one["what"] == "acknowledged"]
    return (max(taken), min(over)) if over and taken else None


def _apart(one: tuple[float, float], other: tuple[float, float]) -> float:
    """How far two intervals lie apart."""
    return max(0.0, one[0] - other[1], other[0] - one[1])


@dataclass(frozen=True)
class Energies:
    """Runs by what became of their energy; `worst` is the largest relative error of those without a failed check."""

    exact: int
    flagged: int
    missing: int
    unsaid: int
    worst: float


def energies(runs: Iterable[Line]) -> Energies:
    """Compare energies with `truth_wh`, the simulated board's own over the window; `failed` names checks and events."""
    counts: Counter[str] = Counter()
    worst = 0.0
    for run in runs:
        if run["energy_wh"] is None:
            counts["missing" if "energy-missing" in run["failed"] else "unsaid"] += 1
            continue
        off = abs(run["energy_wh"] / run["truth_wh"] - 1)
        counts["exact" if off <= EXACT else "flagged" if run["failed"] else "unsaid"] += 1
        if not run["failed"]:
            worst = max(worst, off)
    return Energies(counts["exact"], counts["flagged"], counts["missing"], counts["unsaid"], worst)


def until_served_s(journals: Mapping[str, Sequence[Line]], start_s: float, team: str | None) -> float | None:
    """Seconds until the first acknowledgement of a post that was sent after `start_s`, to any team or to that one."""
    told = [
        line["told_s"] - start_s
        for name, journal in journals.items()
        for line in journal
        if team in (None, name) and line["what"] == "acknowledged" and line["asked_s"] > start_s
    ]
    return min(told, default=None)
