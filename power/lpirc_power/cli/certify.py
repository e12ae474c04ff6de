"""`meter certify`: a guided self-test for owners of a real meter; it writes one file to send in."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click

from lpirc_power.cli.boundary import StatedFailure
from lpirc_power.cli.certifying import Certification
from lpirc_power.cli.options import (
    Figure,
    OutputFile,
    address_argument,
    setup_options,
)
from lpirc_power.errors import MeterError
from lpirc_power.meter import Setup
from lpirc_power.presence import is_there
from lpirc_power.recording_run.logbook import require_folder

FORM: Final = "meter-certify-1"


@click.command(
    short_help="Test the driver with a real meter, and write the results to a file for the project."
)
@address_argument
@click.option(
    "--out",
    type=OutputFile(),
    default="meter-certify.json",
    help="The file.",
    metavar="FILE",
)
@click.option(
    "--seconds",
    type=Figure("S", least=5.0),
    default=60.0,
    help="Length of each run.  [default: 60]",
)
@click.option(
    "--load-w",
    type=Figure("W"),
    help="Power of a known load; the measured power must be within 5 % of it.",
)
@click.option(
    "--yes",
    is_flag=True,
    help="Ask no questions: make one run with the present load, without unplugging the cable.",
)
@setup_options
def certify(
    address: str,
    out: Path,
    seconds: float,
    load_w: float | None,
    yes: bool,
    setup: Setup,
) -> None:
    """Try everything that a contest needs of the meter at ADDRESS: a guided self-test of some five minutes.

    The test makes every call of the driver, and records three runs: at idle, under a load, and one in which you pull
    the link. It then prints a checklist: ok, differs (it works, but not as expected) or failed, and restores the
    meter's former settings. It refuses a meter that integrates or still holds an energy.

    FILE (meter-certify.json) holds every answer of the meter, without the address, and with the serial number as XXX;
    docs/real-meter.md says where to send it. The exit code is 1 if something differs or has failed.
    """
    if is_there(out):
        raise MeterError(
            "recording-file", f"{out} exists already; give another name with --out."
        )
    require_folder(out)
    out.touch()  # what cannot be written must show now, not when all is done
    out.unlink()
    tried = Certification(address, setup)
    skipped = []

    def asked(part: str, question: str) -> bool:
        if not yes and not _skips(question):
            return True
        skipped.append(part)
        return False

    with tried.transcript.opened():
        try:
            tried.converse()
            if asked("idle", "Switch the load off."):
                tried.record("idle", seconds)
            if yes or asked("load", "Switch the load on."):
                tried.record("load", seconds, load_w)
            pull = f"Press Enter first; within the next {seconds:g} s unplug the meter's cable for about 5 s."
            if asked("link", pull):
                tried.record("link", seconds, pulled=True)
        finally:
            if tried.findings:
                facts = {
                    "form": FORM,
                    "version": version("lpirc-power"),
                    "skipped": skipped,
                    **tried.facts(),
                }
                out.write_text(
                    tried.masked(json.dumps(facts, indent=1)) + "\n", encoding="utf-8"
                )
                click.echo(
                    f"Everything is in {out}; docs/real-meter.md says where to send it."
                )
    wrong = [found.code for found in tried.findings if not found.ok]
    if wrong:
        raise StatedFailure(
            f"{len(wrong)} of {len(tried.findings)} differ or failed: {', '.join(wrong)}."
        )


def _skips(question: str) -> bool:
    try:
        answer: str = click.prompt(
            f"{question} Enter, or s to skip", default="", show_default=False
        )
    except click.Abort:
        if sys.stdin.isatty():
            raise
        words = (
            "Nobody answers, since stdin is no terminal: run it on one, or add --yes."
        )
        raise StatedFailure(words) from None
    return answer.strip().lower() in ("s", "skip")
