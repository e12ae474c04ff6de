"""Runs `lpirc-client check URL`; its options are in `cli`."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress

from lpirc_client.commands import password_from
from lpirc_client.conformance.client_rules import Run
from lpirc_client.conformance.findings_report import BAD, Finding, junit, table
from lpirc_client.conformance.posted_bodies import Bodies
from lpirc_client.conformance.proxy import Proxy
from lpirc_client.conformance.referee_checks import Checks
from lpirc_client.connection import Connection
from lpirc_client.errors import ClientError
from lpirc_client.files import require_apart, write_atomically
from lpirc_client.referee_url import LARGEST_PORT, LONGEST_PORT
from lpirc_client.terminal import result, say
from lpirc_client.wire import task_from


def execute(options: argparse.Namespace) -> None:
    """Check a referee, or observe a client. Raises ClientError, also if one of them deviates from docs/http.md."""
    read = (options.password_file, options.ca_cert)
    require_apart("--junit", options.junit, (b"<?xml", b"<testsuite"), read)
    findings, facts = _listen(options) if options.proxy else (_checked(options), {})
    if options.junit is not None:
        try:
            write_atomically(options.junit, junit("lpirc-client check", findings))
        except OSError as error:
            raise ClientError(
                "unwritable",
                f"{options.junit} cannot be written: {error.strerror or error}",
            ) from error
    document = {
        "url": options.url,
        **facts,
        "findings": [vars(one) for one in findings],
    }
    words = [
        table(findings),
        *(f"{name}: {value:.1f}" for name, value in facts.items()),
    ]
    result(json.dumps(document) if options.json else "\n".join(words))
    bad = [one.name for one in findings if one.result in BAD]
    if bad:
        what = f"{len(bad)} of {len(findings)} checks failed: {', '.join(bad)}; docs/conformance.md describes them"
        raise ClientError("not-conformant", what)


def _checked(options: argparse.Namespace) -> list[Finding]:
    if options.read_only:
        return list(Checks(options.url, "nobody", ca_cert=options.ca_cert).all())
    if options.team is None or not options.yes:
        options.refuse_usage(
            "a complete check uses up an attempt: give --team T --yes, or --read-only"
        )
    with Connection(options.url, options.ca_cert) as connection:
        why_not = Bodies(task_from(connection.health())).why_not
    if why_not:
        what = f"{why_not}; nothing was checked and no attempt used: give --read-only for the checks without a log-in"
        raise ClientError("task-unchecked", what)
    password = password_from(options.password_file)
    return list(Checks(options.url, options.team, password, options.ca_cert).all())


def _listen(options: argparse.Namespace) -> tuple[list[Finding], dict[str, float]]:
    host, _, port = options.proxy.rpartition("://")[2].rpartition(":")
    is_number = port.isascii() and port.isdigit() and len(port) <= LONGEST_PORT
    if not is_number or int(port) > LARGEST_PORT:
        options.refuse_usage(
            f"--proxy {options.proxy}: {port!r} is not a port; write 8081 or 0.0.0.0:8081"
        )
    if not options.url.startswith("http://"):
        options.refuse_usage(
            f"{options.url}: --proxy needs a referee without TLS, http://host:port"
        )
    with Connection(options.url) as connection:
        connection.health()  # raises unless a referee answers there
    try:
        proxy = Proxy((host or "127.0.0.1", int(port)), options.url)
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        what = f"--proxy {options.proxy}: {reason}; give a free port of this host, such as 8081 or 0.0.0.0:8081"
        raise ClientError("bad-proxy", what) from error
    with proxy, suppress(KeyboardInterrupt):
        address = "http://{}:{}{}".format(
            *proxy.server_address[:2], proxy.referee.path.rstrip("/")
        )
        say(
            f"give your client {address} as its referee; the report comes after the run, or Ctrl-C"
        )
        proxy.serve()
    run = Run([*proxy.exchanges.values()])
    waited_s = run.waited_s()
    return run.judge(), {
        "client_waited_s": waited_s,
        "referee_waited_s": run.ended_s - run.opened_s - waited_s,
    }
