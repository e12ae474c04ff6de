"""`lpirc-client check URL`: its options, and what it does."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check URL`."""
    add = parser.add_argument_group("a referee, or with --proxy a client of it").add_argument
    add("--team", help="log in as this team: a complete check, which uses up one of its attempts")
    text = "file whose first line is the password (else LPIRC_PASSWORD, else a prompt)"
    add("--password-file", type=Path, metavar="F", help=text)
    add("--yes", action="store_true", help="yes, use up one attempt of --team")
    add("--read-only", action="store_true", help="only what uses nothing up but one failed log-in")
    text = (
        "listen there, pass everything on to URL, and report what a client does wrong that uses this address"
    )
    add("--proxy", metavar="[HOST:]PORT", help=text)
    add("--ca-cert", metavar="F", help="PEM file to trust, for a referee with a certificate of its own")
    add("--junit", type=Path, metavar="FILE", help="write JUnit XML, too")
