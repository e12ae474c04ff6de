"""`python -m bench.soak`: soak a contest and print what became of it; exit 1 if anything was lost or duplicated."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.soak import last_day, report, usual_day
from bench.soak.site import Site
from bench.watch_parts import FOLDER, PART_S


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
    text = "draws the faults (default: 1, with --watch the next)"
    parser.add_argument("--seed", type=int, help=text)
    parser.add_argument(
        "--save", action="store_true", help="write the tables to docs/reliability.md"
    )
    parser.add_argument(
        "--keep", type=Path, help="a new folder for logs and journals, which stays"
    )
    text = f"soak in parts of at most {PART_S / 60:g} minutes, each with a file in this folder (default: bench/watch)"
    parser.add_argument("--watch", type=Path, nargs="?", const=FOLDER, help=text)
    options = parser.parse_args()
    if options.watch is not None and (options.day == "last" or options.keep):
        parser.error("--watch takes neither --day last nor --keep")
    if sys.platform != "linux":
        sys.exit("a soak needs Linux: it finds its victims in /proc and fills a disk")
    # Its processes and its disk are put away then, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.watch is not None:
        is_good = usual_day.watch(options.watch, options.minutes, options.seed)
        sys.exit(not is_good)
    options.seed = options.seed or 1
    load: list[float] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name) if options.keep is None else options.keep.absolute()
        folder.mkdir(exist_ok=True)
        if options.day == "last":
            sys.exit(not _last_day(folder, options))
        site = Site(folder)
        try:
            happened = usual_day.soak(
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


if __name__ == "__main__":
    main()
