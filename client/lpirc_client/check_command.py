"""The command `check`: of a detector without a referee (`trial`), or of a referee and of its clients.

The latter is `conformance.command`: it adds its own options in `add_options(parser)`, and works in `execute(options)`.
"""

from __future__ import annotations

import argparse
from importlib import import_module, util
from pathlib import Path
from typing import Any

from lpirc_client import trial
from lpirc_client.option_types import whole

ABOUT = "Check a detector on a folder of images, every row as a referee does; with URL: check a referee."
EXAMPLE = "example: lpirc-client check --detector mymodule:detect --images DIR"
CONFORMANCE = "lpirc_client.conformance"


def add_parser(subparsers: Any) -> None:
    """Add the command to the command line."""
    text = "check a detector or a referee"
    parser = subparsers.add_parser("check", help=text, description=ABOUT, epilog=EXAMPLE, allow_abbrev=False)
    conformance = import_module(f"{CONFORMANCE}.command") if util.find_spec(CONFORMANCE) else None
    parser.set_defaults(conformance=conformance, refuse_usage=parser.error)
    parser.add_argument("url", metavar="URL", nargs="?", help="the referee's, http://host:port")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add = parser.add_argument_group("a detector, without a referee").add_argument
    add("--detector", metavar="NAME", help="sample, module:function of your own, onnx:FILE or litert:FILE")
    add("--images", type=Path, metavar="DIR", help="test-set folder, or any folder of JPEG files")
    add("--ground-truth", type=Path, metavar="FILE", help="test-set folder or COCO file, for an mAP")
    add("--categories", type=Path, metavar="FILE", help="names of the categories 1, 2, ..., one a line")
    add("--limit", type=whole(1), metavar="N", help="look at the first N images (default: all)")
    if conformance is not None:
        conformance.add_options(parser)


def execute(options: argparse.Namespace) -> None:
    """Do what the options ask; wrong usage exits with 2. Raises ClientError."""
    wanted = (options.url is None, options.detector is not None, options.images is not None)
    if all(wanted):
        trial.execute(options)
    elif any(wanted) or options.conformance is None:
        options.refuse_usage("give --detector and --images, or a referee's URL")
    else:
        options.conformance.execute(options)
