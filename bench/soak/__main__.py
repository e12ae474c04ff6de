"""`python -m bench.soak`: soak a contest and print what became of it; exit 1 if anything was lost or duplicated."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from bench.soak.faults import Happened, drawn, happen
from bench.soak.report import measured, print_rows, save
from bench.soak.site import Site

FIRST_S, PAUSE_S = 10.0, (3.0, 12.0)
JUDGE_EACH = 5  # faults


def main() -> None:
    """Let faults happen for so many minutes, end in peace, compare."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1, help="draws the faults")
    parser.add_argument("--save", action="store_true", help="write the table to docs/reliability.md")
    parser.add_argument(
        "--keep", type=Path, help="a new folder that stays: logs, journals, and the contest's database"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name) if options.keep is None else options.keep.absolute()
        folder.mkdir(exist_ok=True)
        site = Site(folder)
        try:
            load: list[float] = []
            happened = _soak(site, random.Random(options.seed), options.minutes * 60, load)  # noqa: S311 - no secret
            site.finish()
            rows = measured(site, happened, options.minutes, options.seed, load)
        finally:
            site.close()
    print_rows(rows)
    if options.save:
        save(rows)
    sys.exit(not rows.good)


def _soak(site: Site, chance: random.Random, lasting_s: float, load: list[float]) -> list[Happened]:
    end_s, happened = time.monotonic() + lasting_s, []
    time.sleep(FIRST_S)
    for number, kind in enumerate(drawn(chance, small_disk=site.is_small)):
        if time.monotonic() >= end_s:
            return happened
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {kind}\n")
        try:
            happened.append(happen(kind, site, chance))
        except Exception:  # noqa: BLE001 - the hour goes on
            traceback.print_exc()
        load.append(os.getloadavg()[0])
        if number % JUDGE_EACH == 0:
            site.ask_to_judge()
        time.sleep(chance.uniform(*PAUSE_S))
    return happened


if __name__ == "__main__":
    main()
