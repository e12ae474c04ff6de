"""`meter certify`: a guided self-test for whoever has a real meter; it writes one file to send in."""

from __future__ import annotations

import json
from datetime import UTC
from importlib.metadata import version
from pathlib import Path

import click

from power.cli.boundary import StatedFailure
from power.cli.options import Figure, address_argument, setup_options
from power.clocks import real_clocks
from power.energy import Check
from power.meter import Setup


def _new(_ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path:
    path = path or Path(f"meter-certify-{real_clocks().utcnow().astimezone(UTC):%Y%m%dT%H%M%SZ}.json")
    if path.exists() or not path.parent.is_dir():
        raise click.BadParameter(f"{path} exists already, or its folder does not; give a new file.")
    return path


def _show(found: Check) -> None:
    verdict = "ok" if found.ok else {"warning": "differs"}.get(found.severity, "failed")
    click.echo(f"{verdict:8} {found.code}: {found.sentence}")


@click.command(short_help="Try a real meter, and write a file to send in.")
@address_argument
@click.option(
    "--out", type=click.Path(path_type=Path), callback=_new, help="The file to write.", metavar="FILE"
)
@click.option(
    "--seconds", type=Figure("S", least=5.0), default=60.0, show_default=True, help="Length of each run."
)
@click.option("--load-w", type=Figure("W"), help="Power of a known load: it is compared, within 5 %.")
@click.option(
    "--yes", is_flag=True, help="Ask nothing: one run with the load as it is, and no link is pulled."
)
@setup_options
def certify(address: str, out: Path, seconds: float, load_w: float | None, yes: bool, setup: Setup) -> None:
    """Try everything that a contest needs of the meter at ADDRESS: a guided self-test of some five minutes.

    Every call of the driver, with each answer as it came; a run at idle and one under a load; a run in which you pull
    the link. A checklist is printed: ok, differs (it works, but not as expected) or failed. The meter's former settings
    are restored. A meter that integrates, or holds an energy, is left alone.

    FILE holds all of it, without the address and with the serial number as XXX; docs/real-meter.md says where to send
    it. The exit code is 1 if something differs or has failed.
    """
    from power.cli.certifying import Certification

    tried, skipped = Certification(address, setup, _show), []

    def asked(what: str, question: str) -> bool:
        if not yes and click.prompt(f"{question} Enter, or s to skip", default="", show_default=False) != "s":
            return True
        skipped.append(what)
        return False

    with tried.transcript.opened():
        try:
            tried.converse()
            if asked("idle", "Switch the load off."):
                tried.record("idle", seconds)
            if yes or asked("load", "Switch the load on."):
                tried.record("load", seconds, load_w)
            if asked(
                "link",
                f"Within the next {seconds:g} s unplug the meter's network or USB cable for 5 s.",
            ):
                tried.record("link", seconds, known=("reading-gaps",))
        finally:
            if tried.findings:
                facts = tried.facts(version("lpirc-referee"), skipped)
                out.write_text(tried.masked(json.dumps(facts, indent=1)) + "\n", encoding="utf-8")
                click.echo(f"Everything is in {out}; docs/real-meter.md says where to send it.")
    wrong = [found.code for found in tried.findings if not found.ok]
    if wrong:
        raise StatedFailure(
            f"{len(wrong)} of {len(tried.findings)} differ or have failed: {', '.join(wrong)}."
        )
