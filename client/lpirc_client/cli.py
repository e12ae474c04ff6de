"""The command `lpirc-client`: its options, and its one boundary from failures to exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from lpirc_client import progress
from lpirc_client.arguments import count, seconds
from lpirc_client.commands import execute
from lpirc_client.errors import ClientError
from lpirc_client.harness import arguments as model_options
from lpirc_client.harness import commands as model_commands
from lpirc_client.output import say, settle

DONE, FAILED, INTERRUPTED = 0, 1, 130
USUAL_FETCH, LARGEST_FETCH = 50, 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 done, 1 a stated failure, 2 wrong usage, 130 interrupted."""
    settle()
    options = build_parser().parse_args(arguments)
    try:
        (model_commands.execute if options.command in model_commands.COMMANDS else execute)(options)
    except ClientError as error:
        say(f"lpirc-client: {error.sentence}")
        return FAILED
    except KeyboardInterrupt as interrupt:
        say(f"lpirc-client: {str(interrupt) or 'interrupted'}")
        return INTERRUPTED
    return DONE


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    # No abbreviations: --password SECRET would otherwise pass for --password-file SECRET.
    parser = argparse.ArgumentParser(
        prog="lpirc-client", description="Sample client of the LPIRC referee.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"lpirc-client {version('lpirc-client')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser(
        "run",
        help="fetch the images, detect, post",
        description="A run with a detector.",
        allow_abbrev=False,
    )
    run.add_argument("url", metavar="URL", help="the referee's, http://host:port")
    run.add_argument(
        "--detector",
        default="sample",
        metavar="NAME",
        help="sample (default), or module:function of your own",
    )
    _add_common(run, batch=10)

    replay = commands.add_parser(
        "replay",
        help="fetch the images, post recorded detections",
        description="A run with recorded detections.",
        allow_abbrev=False,
    )
    replay.add_argument("url", metavar="URL", help="the referee's, http://host:port")
    replay.add_argument("file", metavar="FILE", type=Path, help="CSV with header, or rows of seven numbers")
    replay.add_argument(
        "--testset", type=Path, metavar="DIR", help="test-set folder, to know the images by their content"
    )
    _add_common(replay, batch=20)
    model_options.add_parsers(commands)
    return parser


def _add_common(parser: argparse.ArgumentParser, batch: int) -> None:
    add = parser.add_argument
    add("--team", required=True, help="the team's name")
    add(
        "--password-file",
        type=Path,
        metavar="F",
        help="file whose first line is the password (else LPIRC_PASSWORD, else asked for)",
    )
    add(
        "--first",
        type=count,
        default=1,
        metavar="N",
        help="first image, to take up an interrupted run (default 1)",
    )
    add("--images", type=count, metavar="N", help="answer at most N images (default: all)")
    add("--batch", type=count, default=batch, metavar="N", help=f"images per POST (default {batch})")
    add(
        "--fetch",
        type=_fetch,
        default=USUAL_FETCH,
        metavar="N",
        help=f"images per request, ahead of the detector; 1: one by one (default {USUAL_FETCH})",
    )
    add(
        "--wait",
        type=seconds,
        default=0.0,
        metavar="S",
        help="wait up to S seconds for the referee to answer",
    )
    add(
        "--stay", action="store_true", help="do not log out at the end: the run stays open, the meter runs on"
    )
    add(
        "--least",
        type=seconds,
        default=0.0,
        metavar="S",
        help="log out no earlier than S seconds after the log-in: a meter cannot measure less than its update",
    )
    add("--progress", choices=progress.CHOICES, default="auto", help="on stderr; auto: a bar on a terminal")
    add("--json", action="store_true", help="one JSON document about the run on stdout")
    add("--ca-cert", metavar="F", help="PEM file to trust, for a referee with a certificate of its own")
    add("--parent", type=count, metavar="PID", help="end when this process is gone")


def _fetch(text: str) -> int:
    value = count(text)
    if value > LARGEST_FETCH:
        raise argparse.ArgumentTypeError(f"{value} is more than the {LARGEST_FETCH} images of one request")
    return value


if __name__ == "__main__":
    sys.exit(main())
