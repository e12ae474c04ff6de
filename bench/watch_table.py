"""`python -m bench.watch_table [FOLDER]`: the parts of a long watch in one table, for docs/reliability.md.

A seed counts once: a day that several parts played, or a soak that several began, is that of the part that did more.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.figures import as_markdown, replace_part, show
from bench.watch_parts import FOLDER, KINDS, SIMULATE, commits_of, parts_in

DOCUMENT = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN = "<!-- watch: make watch-table ARGS=--save -->"
END = "<!-- end of the watch -->"
TARGET_H = 4.0
OF_SOAKS = (
    "faults",
    "runs",
    "posts acknowledged",
    "rows acknowledged",
    "posts acknowledged more than once",
    "lost or altered",
    "duplicated",
)
"""The counts of a soak that add up."""
Part = dict[str, Any]
Row = dict[str, Any]


def main() -> None:
    """Print both tables; exit 1 if a part found something that did not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.watch_table", description=__doc__
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    text = "only parts of this commit, or of a range A..B with A itself"
    parser.add_argument("--commits", metavar="COMMITS", help=text)
    text = "write the tables to docs/reliability.md"
    parser.add_argument("--save", action="store_true", help=text)
    given = parser.parse_args()
    try:
        commits = None if given.commits is None else commits_of(given.commits)
    except ValueError as unknown:
        parser.error(str(unknown))
    parts = parts_in(given.folder)
    counted = of_commits(parts, commits)
    if left_out := len(parts) - len(counted):
        text = "parts are left out, of other commits or of code that was not committed"
        sys.stderr.write(f"{left_out} {text}.\n")
    tables = (summed(counted), [listed(part) for part in counted])
    for title, rows in zip(("watch", "parts"), tables, strict=True):
        show(title, rows)
    if given.save:
        text = "\n\n".join(["", *map(as_markdown, tables), ""])
        replace_part(DOCUMENT, BEGIN, text, END)
    sys.exit(any(part["violations"] for part in counted))


def of_commits(parts: Iterable[Part], commits: set[str] | None) -> list[Part]:
    """Return the parts of committed code, of these commits if some are named."""
    return [
        part
        for part in parts
        if part["is_committed"] and (commits is None or part["commit"] in commits)
    ]


def summed(parts: Sequence[Part]) -> list[Row]:
    """Return a row for each kind of watch, with its hours and what happened in them."""
    by_kind: dict[str, list[Part]] = {kind: [] for kind in KINDS}
    for part in parts:
        by_kind[part["kind"]].append(part)
    return [_sum(kind, of_kind) for kind, of_kind in by_kind.items()]


def _sum(kind: str, parts: Sequence[Part]) -> Row:
    if kind == SIMULATE:
        seeds, lasted_s, counts = _days(parts)
    else:
        seeds, lasted_s, counts = _soaks(parts)
    return {
        "watch": f"make {kind}",
        "parts": len(parts),
        "cut off": sum(part["ended"] == "cut off" for part in parts),
        "seeds": spans(seeds),
        "hours": round(lasted_s / 3600, 2),
        "target": TARGET_H,
        "what happened": ", ".join(f"{what} {count}" for what, count in counts.items()),
        "violations": sum(bool(part["violations"]) for part in parts),
    }


def _days(parts: Sequence[Part]) -> tuple[list[int], float, Counter[str]]:
    """Return the seeds of the days, their time and counts; a day that was played twice counts for its first part."""
    seeds = set[int]()
    counts = Counter[str]({"days": 0, "runs": 0, "posts acknowledged": 0})
    lasted_s = 0.0
    for part in parts:
        days = zip(
            part.get("runs_by_day", ()), part.get("posts_by_day", ()), strict=True
        )
        new = {
            seed: day
            for seed, day in enumerate(days, part["seed"])
            if seed not in seeds
        }
        seeds |= new.keys()
        counts["days"] += len(new)
        counts["runs"] += sum(runs for runs, _ in new.values())
        counts["posts acknowledged"] += sum(posts for _, posts in new.values())
        played = part["counts"].get("days", 0)
        lasted_s += part["lasted_s"] * len(new) / max(played, 1)
    return sorted(seeds), lasted_s, counts


def _soaks(parts: Sequence[Part]) -> tuple[list[int], float, Counter[str]]:
    """Return the seeds of the soaks, their time and counts; of two with one seed the longer counts."""
    longest: dict[int, Part] = {}
    for part in parts:
        known = longest.get(part["seed"])
        if known is None or known["lasted_s"] < part["lasted_s"]:
            longest[part["seed"]] = part
    counts = Counter[str]()
    for part in longest.values():
        counts.update({what: part["counts"].get(what, 0) for what in OF_SOAKS})
    lasted_s = sum(part["lasted_s"] for part in longest.values())
    return sorted(longest), lasted_s, counts


def spans(seeds: Sequence[int]) -> str:
    """Return seeds in rising order as text, such as `1 to 40, 90`."""
    if not seeds:
        return "none"
    found = [[seeds[0], seeds[0]]]
    for seed in seeds[1:]:
        if seed == found[-1][1] + 1:
            found[-1][1] = seed
        else:
            found.append([seed, seed])
    return ", ".join(_span(first, last) for first, last in found)


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} to {last}"


def listed(part: Part) -> Row:
    """Return the row of one part."""
    return {
        "part": f"{part['kind']}, seed {part['seed']}",
        "begun (UTC)": part["begun_utc"].removesuffix("+00:00"),
        "minutes": round(part["lasted_s"] / 60, 1),
        "ended": part["ended"],
        "commit": part["commit"][:8],
        "machine": f"{part['machine']}, nice {part['niceness']}",
        "load average, at most": f"{part['load_mean']}, {part['load_most']}",
    }


if __name__ == "__main__":
    main()
