"""A soak of two stations and two teams: once with its tables, or as parts of a long watch."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.soak import report
from bench.soak.faults import Happened, drawn, happen
from bench.soak.site import Site
from bench.watch_parts import IN_TIME, PART_S, SOAK, VIOLATED, Part, next_seed

FIRST_S = 10.0
PAUSE_S = (8.0, 16.0)
ENDING_S = 300.0
"""What a part keeps of its time for its last runs, and to compare."""
LEAST_S = 60.0
COMPARED_EVERY = 5
"""So many faults are between two comparisons while a part goes on."""

GoesOn = Callable[[Sequence[Happened]], bool]


def soak(
    site: Site,
    chance: random.Random,
    lasting_s: float,
    load: list[float],
    goes_on: GoesOn = lambda _: True,
) -> list[Happened]:
    """Let faults happen for so long, while `goes_on` of those so far; `load` gets the host's load after each."""
    end_s = time.monotonic() + lasting_s
    happened = list[Happened]()
    time.sleep(FIRST_S)
    for kind in drawn(chance, small_disk=site.is_small):
        if time.monotonic() >= end_s or not goes_on(happened):
            break
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {kind}\n")
        try:
            happened.append(happen(kind, site, chance))
        except OSError as cannot:
            sys.stderr.write(f"         left out: {cannot}\n")
        except Exception:  # noqa: BLE001 - the hour goes on
            traceback.print_exc()
        load.append(os.getloadavg()[0])
        time.sleep(chance.uniform(*PAUSE_S))
    return happened


def watch(folder: Path, minutes: float, seed: int | None) -> bool:
    """Soak part after part, with a file each in the folder, until the time is over; False if something did not hold."""
    end_s = time.monotonic() + minutes * 60
    while _part(folder, seed or next_seed(folder, SOAK), end_s - time.monotonic()):
        seed = None if seed is None else seed + 1
        if end_s - time.monotonic() < ENDING_S + LEAST_S:
            return True
    return False


def _part(folder: Path, seed: int, left_s: float) -> bool:
    """Soak once, for so long at most; False if something did not hold."""
    lasting_s = max(min(left_s, PART_S) - ENDING_S, LEAST_S)
    place = Path(tempfile.mkdtemp(prefix="soak-"))
    site = Site(place)
    part = Part(folder, SOAK, seed)
    sys.stderr.write(f"This part is in {part.path}.\n")
    violations: list[str] = []
    try:
        soak(
            site,
            random.Random(seed),  # noqa: S311 - nothing is secret
            lasting_s,
            [],
            lambda happened: _note(part, site, happened),
        )
        site.finish()
        violations = _reckoned(part, site)
    finally:
        site.close()
        if not violations:
            shutil.rmtree(place)
    if not violations:
        part.end(IN_TIME)
        return True
    minutes = (lasting_s + ENDING_S) / 60
    again = f'repeat: make soak MINUTES={minutes:.0f} ARGS="--seed {seed}"'
    part.end(VIOLATED, [*violations, again])
    for line in (*violations, again, f"Journals, logs and contest are in {place}."):
        sys.stderr.write(f"{line}\n")
    return False


def _note(part: Part, site: Site, happened: Sequence[Happened]) -> bool:
    """Note what has happened and, now and then, what has been kept; False if something was not."""
    counts = part.document["counts"] | {"faults": len(happened)}
    by_kind = dict(sorted(Counter(one.kind for one in happened).items()))
    kept: dict[str, int] | None = None
    if happened and len(happened) % COMPARED_EVERY == 0:
        kept = report.kept_so_far(site)
    part.note(counts=counts | (kept or {}), faults_by_kind=by_kind)
    return kept is None or not any(kept[what] for what in report.ZERO)


def _reckoned(part: Part, site: Site) -> list[str]:
    """Note the figures of a soak whose server has ended; returns those that are not as they must be."""
    rows, _ = report.figures(site)
    kept = report.kept_so_far(site) or {}
    figures = {
        row["what"]: row["measured"] for row in rows if isinstance(row["measured"], int)
    }
    part.note(counts=part.document["counts"] | kept | figures)
    return [
        f"{row['what']}: {row['measured']}, must be {row['target']}"
        for row in rows
        if row["target"] is not None and row["measured"] != row["target"]
    ]
