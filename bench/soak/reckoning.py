"""What was acknowledged to the teams against what the contest folder has: pure functions on journals and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from referee.store.hash_links import receipt_link

Line = Mapping[str, Any]
EXACT = 0.005  # of an energy; what is left is the time that starting and stopping take
STATED = ("accepted", "received_total", "sha256", "number", "previous", "received_utc")
TICK_S = 0.001  # X-Window-Remaining-Ms is a whole number


def keeping(
    journal: Sequence[Line],
    stored: Sequence[Line],
    windows: Mapping[int, float],
) -> dict[str, int]:
    """Compare journals with the stored posts: run, key, elapsed_s, and what their receipts say.

    Lost is a post that is not stored as it was acknowledged, or was acknowledged twice by different receipts.
    Duplicated is one that is stored twice, under its key or by its body, which no other has.
    """
    acknowledged: dict[tuple[int, str], list[Line]] = {}
    for line in journal:
        if line["what"] == "acknowledged":
            acknowledged.setdefault((line["run"], line["key"]), []).append(line)
    there = {(row["run"], row["key"]): row for row in stored}
    posts = Counter((row["run"], row["key"]) for row in stored)
    bodies = Counter(row["sha256"] for row in stored)
    return {
        "posts acknowledged": len(acknowledged),
        "rows acknowledged": sum(lines[0]["rows"] for lines in acknowledged.values()),
        "posts acknowledged more than once": sum(
            len(lines) > 1 for lines in acknowledged.values()
        ),
        "lost or altered": sum(
            not _is_kept(lines, there.get(post)) for post, lines in acknowledged.items()
        ),
        "duplicated": sum(
            count - 1 for counts in (posts, bodies) for count in counts.values()
        ),
        "stored outside their window": sum(
            not 0 <= row["elapsed_s"] < windows[row["run"]] for row in stored
        ),
        "receipts whose links do not hold": _unlinked(acknowledged, journal),
    }


def _is_kept(lines: Sequence[Line], row: Line | None) -> bool:
    first = lines[0]["answer"]
    said = first | first["receipt"]
    same = (
        row is not None
        and all(row[name] == said[name] for name in STATED)
        and said["sha256"] == lines[0]["sha256"]
    )
    receipt = _without_log(first)
    return same and all(_without_log(line["answer"]) == receipt for line in lines)


def _without_log(answer: Line) -> Line:
    """Return an answer without the newest link of the contest's log, which differs when a post is sent again."""
    return {name: value for name, value in answer.items() if name != "log"}


def _unlinked(
    acknowledged: Mapping[tuple[int, str], Sequence[Line]],
    journal: Sequence[Line],
) -> int:
    """How many links are not the SHA-256 of their receipt and the one before, or not those that a log-out signed."""
    by_run: dict[int, dict[int, Line]] = {}
    for (run, _), lines in acknowledged.items():
        said = lines[0]["answer"] | lines[0]["answer"]["receipt"]
        by_run.setdefault(run, {})[said["number"]] = said
    wrong = [
        said
        for run in by_run.values()
        for said in run.values()
        if _link(said) != said["link"]
    ]
    for said_of in by_run.values():
        for (number, earlier), (following, later) in pairwise(sorted(said_of.items())):
            if following == number + 1 and later["previous"] != earlier["link"]:
                wrong.append(later)
    closings = [
        (line["run"], line["answer"]["receipt"])
        for line in journal
        if line["what"] == "logged-out"
    ]
    for run, closing in closings:
        last = by_run.get(run, {}).get(closing["posts"])
        if last is not None and last["link"] != closing["head"]:
            wrong.append(closing)
    return len(wrong)


def _link(said: Line) -> str:
    previous, meter = (bytes.fromhex(said[name]) for name in ("previous", "meter"))
    counted = (
        said["sha256"],
        said["received_utc"],
        said["accepted"],
        said["received_total"],
    )
    return receipt_link(
        previous,
        said["number"],
        *counted,
        said["readings"],
        meter,
    ).hex()


def window_errors(
    journal: Sequence[Line],
    elapsed_s: Mapping[int, float],
) -> tuple[list[float], float]:
    """Each run's window error, and within how much its end was measured (median), in seconds; `elapsed_s` is stored.

    A moment that a client cannot know exactly is an interval, from before it asked to after the answer; an error is
    how far two intervals of the same moment lie apart: start, deadline as every answer states it, and end.
    """
    errors = []
    widths = []
    for run in sorted(elapsed_s):
        lines = [line for line in journal if line["run"] == run]
        opened = [line for line in lines if line["what"] == "opened"]
        stated = [
            (one["asked_s"] + one["left_s"], one["told_s"] + one["left_s"])
            for one in opened
        ]
        stated += [
            _deadline(one)
            for one in lines
            if one["what"] == "acknowledged" and one["left_ms"]
        ]
        over = [
            one["told_s"]
            for one in lines
            if one["what"] == "logged-out" or one.get("code") == "window-closed"
        ]
        taken = [one["first_s"] for one in lines if one["what"] == "acknowledged"]
        if not (opened and over and taken):
            continue
        low = max(low for low, _ in stated)
        high = min(high for _, high in stated)
        start = (low - opened[0]["window_s"], high - opened[0]["window_s"])
        end = (start[0] + elapsed_s[run], start[1] + elapsed_s[run])
        measured = (max(taken), min(over))
        errors.append(
            max(
                low - high,
                _apart(start, (opened[0]["first_s"], opened[0]["told_s"])),
                _apart(end, measured),
                0.0,
            )
        )
        widths.append(measured[1] - measured[0])
    return errors, median(widths or [0.0])


def _deadline(line: Line) -> tuple[float, float]:
    left_s = line["left_ms"] / 1000
    return line["asked_s"] + left_s, line["told_s"] + left_s + TICK_S


def _apart(one: tuple[float, float], other: tuple[float, float]) -> float:
    return max(one[0] - other[1], other[0] - one[1])


def energies(runs: Iterable[Line]) -> tuple[Counter[str], float]:
    """What became of each run's energy, and the largest relative error of those that no check or event flags.

    A run has energy_wh, the simulator's own `truth_wh` over the window, `more_wh` of the time that start and stop took
    beside it, as recorded, and `failed`, what was flagged.
    """
    found = Counter[str]()
    worst = 0.0
    for run in runs:
        off = (
            None
            if run["energy_wh"] is None
            else abs(run["energy_wh"] / run["truth_wh"] - 1)
        )
        if off is not None and off <= max(
            EXACT, 1.1 * run["more_wh"] / run["truth_wh"]
        ):
            found["exact"] += 1
        else:
            found[
                ("missing" if off is None else "off") if run["failed"] else "unsaid"
            ] += 1
        if off is not None and not run["failed"]:
            worst = max(worst, off)
    return found, worst


def longest_pause_s(answered_s: Iterable[float], start_s: float, end_s: float) -> float:
    """The longest time between two moments without an acknowledgement."""
    between = sorted(one for one in answered_s if start_s < one < end_s)
    return max(
        later - earlier for earlier, later in pairwise([start_s, *between, end_s])
    )
