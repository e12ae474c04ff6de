"""Builds the wheels into dist/, tries each, prints a table; the exit code is 1 when one does not do its job."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.wheels.building import AT_ONCE, ROOT, built
from tests.wheels.installing import environment, install_locked
from tests.wheels.jobs import JOBS, Job, Trial

LINE = "{:<24} {:>8} {:>6} {:>9} {:>6}  {}"


@dataclass(frozen=True)
class Outcome:
    """How one distribution was tried."""

    job: Job
    packages: int
    size_mb: float
    installed_s: float
    done_s: float
    failure: str

    def __str__(self) -> str:
        """The line of the table."""
        return LINE.format(
            self.job.wanted,
            self.packages,
            f"{self.size_mb:.0f}",
            f"{self.installed_s:.1f}",
            f"{self.done_s:.1f}",
            self.failure or self.job.title,
        )


def main() -> int:
    """Build, install, try; return the exit code."""
    began_s = time.monotonic()
    dist = ROOT / "dist"
    for old in dist.glob("lpirc_*.whl"):
        old.unlink()
    wheels = built(dist)
    click.echo(f"{time.monotonic() - began_s:.1f} s: {len(wheels)} wheels in dist/")
    with (
        TemporaryDirectory(prefix="lpirc-wheels-") as temporary,
        ThreadPoolExecutor(AT_ONCE) as trials,
    ):
        # The largest first, so that none is waited for alone.
        tried = [
            trials.submit(tried_alone, job, wheels, Path(temporary) / str(number))
            for number, job in reversed([*enumerate(JOBS)])
        ]
        outcomes = [one.result() for one in reversed(tried)]
    header = LINE.format(
        "installed alone",
        "packages",
        "MB",
        "install s",
        "job s",
        "job",
    )
    click.echo("\n".join([header, *map(str, outcomes)]))
    click.echo(f"{time.monotonic() - began_s:.1f} s in all")
    return int(any(one.failure for one in outcomes))


def tried_alone(
    job: Job,
    wheels: Mapping[str, Path],
    folder: Path,
) -> Outcome:
    """Install one distribution into a fresh environment of `folder`, and let it do its job."""
    began_s = time.monotonic()
    work = folder / "work"
    work.mkdir(parents=True)
    programs = environment(folder / "venv")
    names = install_locked(programs, job.wanted, wheels, folder / "requirements.txt")
    installed_s = time.monotonic() - began_s
    failure = ""
    try:
        job.do(Trial(programs, work))
    except (subprocess.CalledProcessError, AssertionError, OSError) as error:
        failure = f"FAILED: {error}"
    done_s = time.monotonic() - began_s - installed_s
    size_mb = _size_mb(folder / "venv")
    return Outcome(job, len(names), size_mb, installed_s, done_s, failure)


def _size_mb(folder: Path) -> float:
    """The size of the files, without what Python compiles while it runs."""
    files = (one for one in folder.rglob("*") if one.suffix != ".pyc")
    return sum(one.lstat().st_size for one in files) / 1e6


if __name__ == "__main__":
    sys.exit(main())
