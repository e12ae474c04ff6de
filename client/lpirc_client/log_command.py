"""The command `links`: keeps the newest link of a contest's log, or compares all of them with links that were kept."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from lpirc_client.connection import Connection
from lpirc_client.errors import ClientError, TransientError, printable
from lpirc_client.http_errors import from_response
from lpirc_client.log_links import (
    LINK_BYTES,
    LogLink,
    SeenLinks,
    differences,
    now_utc,
    read_kept,
)
from lpirc_client.option_types import file_path, positive_seconds
from lpirc_client.terminal import result, say

PATH = "/log/links"
LAST = {"Range": f"bytes=-{LINK_BYTES}"}
EMPTY = 416
MOST_SHOWN = 5
ABOUT = (
    "Print the newest link of the contest's log as a line to keep: lpirc-client links URL >> FILE. No team and no"
    " password are needed. With --kept, compare all links of the log with those in files."
)


def add_parser(subparsers: Any, ca_cert: str) -> None:
    """Add the command to the command line; `ca_cert` is the help of an option that other commands have, too."""
    text = "keep links of the contest's log, or compare them with the log"
    parser = subparsers.add_parser(
        "links", help=text, description=ABOUT, allow_abbrev=False
    )
    add = parser.add_argument
    add("url", metavar="URL", help="the referee's, http://host:port")
    add("--by", metavar="NAME", help="who keeps the link")
    text = "print a line each S seconds if the log has grown, until Ctrl-C"
    add = parser.add_mutually_exclusive_group().add_argument
    add("--every", type=positive_seconds, metavar="S", help=text)
    text = "compare the log with the links in this file (may be repeated)"
    add(
        "--kept", type=file_path, action="append", default=[], metavar="FILE", help=text
    )
    parser.add_argument("--ca-cert", metavar="F", help=ca_cert)


def execute(options: argparse.Namespace) -> None:
    """Run the command. Raises ClientError; `two-histories` if the log is not the one that was kept."""
    with Connection(options.url, options.ca_cert) as connection:
        if options.kept:
            _compare(connection, options.kept)
        elif options.every is None:
            _keep(newest(connection), options)
        else:
            _follow(connection, options)


def newest(connection: Connection) -> LogLink | None:
    """Return the newest public link; None while there is none. Raises ClientError."""
    answer = connection.ask("GET", PATH, headers=LAST)
    if answer.status_code == EMPTY:
        return None
    if answer.status_code not in (200, 206) or len(answer.content) % LINK_BYTES:
        raise from_response(connection.url + PATH, answer)
    whole = answer.headers.get("Content-Range", "").rpartition("/")[2]
    size = int(whole) if whole.isdecimal() else len(answer.content)
    if not answer.content:
        return None
    return LogLink(size // LINK_BYTES, answer.content[-LINK_BYTES:].hex())


def _keep(found: LogLink | None, options: argparse.Namespace) -> None:
    if found is None:
        say("The referee has not published a link of its log yet.")
        return
    by = {} if options.by is None else {"by": options.by}
    kept = {"log": found.values, "seen_utc": now_utc(), "url": options.url}
    result(json.dumps({**kept, **by}))


def _follow(connection: Connection, options: argparse.Namespace) -> None:
    seen = SeenLinks()
    while True:
        try:
            found = newest(connection)
        except TransientError as error:
            say(error.sentence)
            found = seen.last
        if found is not None and found != seen.last:
            wrong = seen.see(found)
            _keep(found, options)
            if wrong is not None:
                say(f"WARNING: the log was rewritten: {wrong}")
        time.sleep(options.every)


def _compare(connection: Connection, files: list[Path]) -> None:
    kept = [one for file in files for one in read_kept(file)]
    answer = connection.ask("GET", PATH)
    if answer.status_code != 200 or len(answer.content) % LINK_BYTES:
        raise from_response(connection.url + PATH, answer)
    found = differences(answer.content, kept)
    events = len(answer.content) // LINK_BYTES
    if found:
        shown = "; ".join(found[:MOST_SHOWN])
        raise ClientError(
            "two-histories",
            printable(
                f"{len(found)} of {len(kept)} kept links are not in the log of {events} events: {shown}"
            ),
        )
    result(f"All {len(kept)} kept links are in the log of {events} events.")
