"""The command `check`: of a detector without a referee, or of a referee and of clients of it.

`check --detector` is the dry run of `trial`. `check URL` belongs to `conformance.command`, which gives its own options
in `add_options(parser)` and does the work in `execute(options)`.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from lpirc_client.option_types import whole

CONFORMANCE = "lpirc_client.conformance.command"
ABOUT = (
    "With --detector: run it on a folder of images, without a referee, and check every row as a referee does."
    " With URL: check a referee."
)
EXAMPLE = "example: lpirc-client check --detector mymodule:detect --images myset"


def add_parser(subparsers: Any) -> None:
    """Add the command; `conformance.command` may add options of its own, but not those named here."""
    parser = subparsers.add_parser(
        "check", help="check a detector or a referee", description=ABOUT, epilog=EXAMPLE, allow_abbrev=False
    )
    parser.set_defaults(refuse_usage=parser.error)
    parser.add_argument("url", metavar="URL", nargs="?", help="the referee's, http://host:port")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add = parser.add_argument_group("a detector without a referee").add_argument
    add("--detector", metavar="NAME", help="sample, or module:function of your own")
    add("--images", type=Path, metavar="DIR", help="test-set folder, or any folder of JPEGs")
    add("--ground-truth", type=Path, metavar="FILE", help="test-set folder or COCO file, for an mAP")
    add("--categories", type=Path, metavar="FILE", help="names of the categories 1, 2, ..., one a line")
    add("--limit", type=whole(1), metavar="N", help="look at the first N images (default: all)")
    conformance = _conformance()
    if conformance is not None:
        conformance.add_options(parser)


def execute(options: argparse.Namespace) -> None:
    """Do what the options ask. Raises ClientError; leaves with 2 for wrong usage."""
    if options.url is not None:
        conformance = _conformance()
        if options.detector is not None or options.images is not None:
            options.refuse_usage("give either URL, or --detector and --images")
        if conformance is None:
            options.refuse_usage("this version of lpirc-client cannot check a referee")
        else:
            conformance.execute(options)
        return
    if options.detector is None or options.images is None:
        options.refuse_usage("give --detector and --images, or a referee's URL")
    options.refuse_usage("this version of lpirc-client cannot check a detector")


def _conformance() -> Any:
    """Return the module that checks referees; None while this version has none."""
    try:
        return importlib.import_module(CONFORMANCE)
    except ModuleNotFoundError as error:
        if error.name is None or not CONFORMANCE.startswith(error.name):
            raise
        return None
