"""`python -m bench.soak`: soak a contest and print what became of it; exit 1 if anything was lost or duplicated."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from bench.soak import last_day, report
from bench.soak.faults import Happened, drawn, happen
from bench.soak.site import Site

FIRST_S = 10.0
PAUSE_S = (8.0, 16.0)


def main() -> None:
    """Let faults happen for so many minutes, end in peace, compare."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument(
        "--day",
        choices=("usual", "last"),
        default="usual",
        help="last: a season's last day",
    )
    parser.add_argument(
        "--teams", type=int, default=100, help="that hand in models on the last day"
    )
    parser.add_argument("--seed", type=int, default=1, help="draws the faults")
    parser.add_argument(
        "--save", action="store_true", help="write the tables to docs/reliability.md"
    )
    parser.add_argument(
        "--keep", type=Path, help="a new folder for logs and journals, which stays"
    )
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("a soak needs Linux: it finds its victims in /proc and fills a disk")
    # Its processes and its disk are put away then, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    load: list[float] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name) if options.keep is None else options.keep.absolute()
        folder.mkdir(exist_ok=True)
        if options.day == "last":
            sys.exit(not _last_day(folder, options))
        site = Site(folder)
        try:
            happened = _soak(
                site,
                random.Random(options.seed),  # noqa: S311 - nothing is secret
                options.minutes * 60,
                load,
            )
            end_s = time.monotonic()
            site.finish()
            faults = report.faults(site, happened, end_s)
            figures, good = report.figures(site)
        finally:
            site.close()
    said = report.where(options.minutes, options.seed, load, site.is_small)
    report.publish(said, (faults, figures), save=options.save)
    sys.exit(not good)


def _last_day(folder: Path, options: argparse.Namespace) -> bool:
    tables, good, course, is_small = last_day.soak(
        folder,
        options.minutes,
        options.teams,
        options.seed,
    )
    said = report.where(options.minutes, options.seed, course.load, is_small)
    said = f"{said} {options.teams} teams handed in models, one each."
    titles = ("entries", "runs at the stations")
    marks = (report.LAST_DAY_BEGIN, report.LAST_DAY_END)
    report.publish(
        said,
        tables,
        save=options.save,
        titles=titles,
        marks=marks,
    )
    return good


def _soak(
    site: Site,
    chance: random.Random,
    lasting_s: float,
    load: list[float],
) -> list[Happened]:
    end_s = time.monotonic() + lasting_s
    happened = list[Happened]()
    time.sleep(FIRST_S)
    for kind in drawn(chance, small_disk=site.is_small):
        if time.monotonic() >= end_s:
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


if __name__ == "__main__":
    main()
