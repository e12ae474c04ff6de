"""The command `check`: of a detector without a referee (`trial`), or of a referee or a client (`conformance`)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lpirc_client import trial
from lpirc_client.option_types import whole

ABOUT = "Check a detector on a folder of images, every row as a referee does; with URL: check a referee, or a client."
EXAMPLE = "example: lpirc-client check --detector mymodule:detect --images DIR"


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    text = "check a detector, a referee or a client"
    parser = subparsers.add_parser("check", help=text, description=ABOUT, epilog=EXAMPLE, allow_abbrev=False)
    parser.set_defaults(refuse_usage=parser.error)
    parser.add_argument("url", metavar="URL", nargs="?", help="the referee's, http://host:port")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add = parser.add_argument_group("a detector, without a referee").add_argument
    add("--detector", metavar="NAME", help="sample, or module:function of your own")
    add("--images", type=Path, metavar="DIR", help="test-set folder, or any folder of JPEG files")
    add("--ground-truth", type=Path, metavar="FILE", help="test-set folder or COCO file, for an mAP")
    add("--categories", type=Path, metavar="FILE", help="names of the categories 1, 2, ..., one a line")
    add("--limit", type=whole(1), metavar="N", help="look at the first N images (default: all)")
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
    """Do what the options ask; wrong usage exits with 2. Raises ClientError."""
    wanted = (options.url is None, options.detector is not None, options.images is not None)
    if all(wanted):
        trial.execute(options)
    elif any(wanted):
        options.refuse_usage("give --detector and --images, or a referee's URL")
    else:
        from lpirc_client.conformance import command  # late: a run needs none of it

        command.execute(options)
