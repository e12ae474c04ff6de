"""`referee publish` and `referee verify`: a contest as a signed static site, and a copy of one verified."""

from __future__ import annotations

import json
import shlex
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lpirc_score.cli.number_type import Number
from lpirc_score.cli.score_options import AnyPath
from referee.cli.number_types import WholeNumber
from referee.cli.output_paths import results_folder
from referee.cli.shared_options import as_json, contest_argument, hexadecimal
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError

if TYPE_CHECKING:
    from referee.publishing.site_publication import Publication

LEAST_EVERY_S = 10
MINUTE_S = 60
DAY_S = 86_400
MB = 1e6


@click.command("publish")
@contest_argument(metavar="CONTEST")
@click.argument("out", metavar="OUT", type=results_folder)
@click.option(
    "--every",
    "every_s",
    type=WholeNumber(LEAST_EVERY_S, DAY_S),
    help="Publish again each so many seconds, until Ctrl-C.",
)
@click.option(
    "--final",
    is_flag=True,
    help="The contest is over: add reports, bundles and certificates. They show images of the test set.",
)
@click.option(
    "--mbit",
    "mbit_s",
    type=Number(min=0, min_open=True),
    default=100.0,
    show_default=True,
    help="Bandwidth of the web server in Mbit/s, to state how many viewers it serves.",
)
@as_json
def publish(
    folder: Path,
    out: Path,
    every_s: int | None,
    mbit_s: float,
    *,
    final: bool,
    as_json: bool,
) -> None:
    """Write what is public of a contest as a static site that any web server can hold, signed by the contest's key.

    OUT is replaced in one step. It is a link to the present version, which is in a folder beside it.
    """
    if final and every_s:
        raise click.UsageError(
            "Give either --final, when the contest is over, or --every."
        )
    clock = Clock()
    never = threading.Event()
    while True:
        began_s = clock.monotonic_s()
        try:
            made = _published(folder, out, clock, every_s, final=final)
        except (RefereeError, OSError) as error:
            if every_s is None:
                raise
            sentence = getattr(error, "sentence", f"{folder}: {error}.")
            click.echo(f"referee: {sentence} Trying again.", err=True)
        else:
            click.echo(_said(made, mbit_s, every_s, as_json=as_json))
            for sentence in made.left_out:
                click.echo(f"referee: {sentence}", err=True)
        if every_s is None:
            return
        try:
            clock.wait(never, began_s + every_s)
        except KeyboardInterrupt:
            return


def _published(
    folder: Path, out: Path, clock: Clock, every_s: int | None, *, final: bool
) -> Publication:
    from referee.publishing.site_publication import publish_site

    with open_contest(folder, as_served=True) as contest:
        return publish_site(
            contest,
            out,
            clock.utc(),
            final=final,
            every_s=every_s,
            utc=clock.utc,
        )


def _said(
    made: Publication, mbit_s: float, every_s: int | None, *, as_json: bool
) -> str:
    renewing_s = every_s or MINUTE_S
    first = made.viewing.first_looks_a_second(mbit_s)
    viewers = made.viewing.viewers(mbit_s, renewing_s)
    if as_json:
        document = asdict(made) | {
            "folder": str(made.folder),
            "mbit_s": mbit_s,
            "first_looks_a_second": first,
            "viewers": viewers,
            "renewing_s": renewing_s,
        }
        return json.dumps(document)
    done = "published" if made.is_new else "unchanged"
    kb = made.viewing.first_bytes / 1e3
    renewed_kb = made.viewing.renewed_bytes / 1e3
    said = [
        f"{made.folder} {done}: {made.files} files, {made.size / MB:.2f} MB, {made.state} as of {made.as_of_utc}.",
        f"A first look loads {kb:.1f} kB, a renewed one {renewed_kb:.1f} kB (by gzip).",
        f"At {mbit_s:g} Mbit/s a web server serves {first:,} first looks a second, or {viewers:,} viewers who "
        f"look again each {renewing_s} s.",
    ]
    return "\n".join(said)


class Site(AnyPath):
    """The folder of a published site; for the address of one, the command that takes it is said."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path. Fails for an address."""
        if str(value).lower().startswith(("http://", "https://")):
            over_network = (
                f"python3 -m lpirc_client.verify_site {shlex.quote(str(value))}"
            )
            words = f"is an address, and SITE is a folder; a site at an address is verified by: {over_network}"
            self.fail(f"{value} {words}", param, ctx)
        return super().convert(value, param, ctx)


@click.command("verify")
@click.argument("folder", metavar="SITE", type=Site())
@click.option(
    "--key",
    metavar="HEX",
    help="The contest's public key, as shown on the board and the printed sheet.",
)
@as_json
def verify(folder: Path, key: str | None, *, as_json: bool) -> None:
    """Verify a copy of a published site: signed by the contest, no file altered, missing or added."""
    from referee.publishing.site_verification import verify_site

    site = verify_site(folder, hexadecimal("--key", key, 64))
    about = site.manifest.about
    if as_json:
        document = {
            "ok": not site.problems,
            "about": about,
            "problems": site.problems,
        }
        click.echo(json.dumps(document))
    for sentence in [] if as_json else site.problems:
        click.echo(sentence)
    if site.problems:
        raise RefereeError(
            "site-altered",
            f"The site failed verification: {len(site.problems)} of its files are not as published.",
        )
    if not as_json:
        known = "" if key else "; compare the key with the one on the board"
        click.echo(
            f"{len(site.manifest.files)} files of {about.get('contest')} are as signed by {site.public_key}, as of "
            f"{about.get('as_of_utc')}{known}."
        )
