"""`lpirc-client check URL`: its options, and what it does."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lpirc_client.errors import ClientError
from lpirc_client.terminal import result, say

if TYPE_CHECKING:
    from lpirc_client.conformance.report import Finding


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check URL`."""
    add = parser.add_argument_group("a referee, or with --proxy a client of it").add_argument
    add("--team", help="log in as this team: a complete check, which uses up one of its attempts")
    text = "file whose first line is the password (else LPIRC_PASSWORD, else a prompt)"
    add("--password-file", type=Path, metavar="F", help=text)
    add("--yes", action="store_true", help="yes, use up an attempt of the team")
    add("--read-only", action="store_true", help="only what uses nothing up (but makes one failed log-in)")
    text = "listen there for a client, pass all on to URL, and report what the client does wrong"
    add("--proxy", metavar="[HOST:]PORT", help=text)
    add("--ca-cert", metavar="F", help="PEM file to trust, for a referee with a certificate of its own")
    add("--junit", type=Path, metavar="F", help="write JUnit XML, too")


def execute(options: argparse.Namespace) -> None:
    """Check a referee, or listen to a client. Raises ClientError, also when either is not as documented."""
    from lpirc_client.conformance.report import BAD, junit, table  # late: a run needs none of this
    from lpirc_client.files import write_atomically

    findings, facts = _listen(options) if options.proxy else (_checked(options), {})
    if options.junit is not None:
        try:
            write_atomically(options.junit, junit("lpirc-client check", findings))
        except OSError as error:
            raise ClientError("unwritable", f"{options.junit} cannot be written: {error}") from error
    document = {"url": options.url, **facts, "findings": [vars(one) for one in findings]}
    words = [table(findings), *(f"{name}: {value:.1f}" for name, value in facts.items())]
    result(json.dumps(document) if options.json else "\n".join(words))
    bad = [one.name for one in findings if one.result in BAD]
    if bad:
        raise ClientError("not-conformant", f"{len(bad)} of {len(findings)} do not hold: {', '.join(bad)}")


def _checked(options: argparse.Namespace) -> list[Finding]:
    from lpirc_client.commands import password_from
    from lpirc_client.conformance.checks import Checks

    if options.read_only:
        return list(Checks(options.url, "nobody", ca_cert=options.ca_cert).all())
    if options.team is None or not options.yes:
        options.refuse_usage("a complete check uses up an attempt: give --team T --yes, or --read-only")
    password = password_from(options.password_file)
    return list(Checks(options.url, options.team, password, options.ca_cert).all())


def _listen(options: argparse.Namespace) -> tuple[list[Finding], dict[str, float]]:
    from lpirc_client.conformance.checks import Checks
    from lpirc_client.conformance.proxy import Proxy
    from lpirc_client.conformance.rules import Run

    host, _, port = options.proxy.rpartition(":")
    if not options.url.startswith("http://"):
        options.refuse_usage(f"{options.url}: --proxy needs a referee without TLS, http://host:port")
    next(Checks(options.url, "").all())  # raises if nothing answers there
    try:
        proxy = Proxy((host or "127.0.0.1", int(port)), options.url)
    except (OSError, ValueError, OverflowError) as error:
        raise ClientError("bad-proxy", f"--proxy {options.proxy}: {error}") from error
    with proxy, suppress(KeyboardInterrupt):
        address = "http://{}:{}".format(*proxy.server_address[:2])
        say(f"give your client {address} as its referee; the report comes after the run, or Ctrl-C")
        proxy.serve()
    run = Run([*proxy.exchanges.values()])
    waited_s = run.waited_s()
    return run.judge(), {
        "client_waited_s": waited_s,
        "referee_waited_s": run.ended_s - run.opened_s - waited_s,
    }
