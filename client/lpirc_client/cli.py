"""The command `lpirc-client`: its options, and the only place that turns failures into exit codes."""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Sequence

from lpirc_client import check_command, commands, progress, terminal, work
from lpirc_client.completion import PrintCompletion
from lpirc_client.errors import ClientError
from lpirc_client.option_types import seconds, whole

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
DEFAULT_FETCH, LARGEST_FETCH = 50, 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 done, 1 a failure, 2 wrong usage, 130 interrupted."""
    terminal.prepare()
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in ("bench", "validate"):
        terminal.say(f"lpirc-client: {given[0]} has a command of its own: use lpirc-harness {given[0]}")
        return USAGE
    options = build_parser().parse_args(given)
    try:
        {"check": check_command, "work": work}.get(options.command, commands).execute(options)
    except ClientError as error:
        terminal.say(f"lpirc-client: {error.sentence}")
        return FAILED
    except KeyboardInterrupt as interrupt:
        terminal.say(f"lpirc-client: {str(interrupt) or 'interrupted'}")
        return INTERRUPTED
    return DONE


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    # No abbreviations: --password SECRET would pass for --password-file SECRET.
    parser = argparse.ArgumentParser(
        prog="lpirc-client", description="Sample client of the LPIRC referee.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"lpirc-client {version('lpirc-client')}")
    parser.add_argument(
        "--completion", action=PrintCompletion, help="print what bash evaluates to complete it"
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    text = "fetch the images, detect, post"
    run = subparsers.add_parser("run", help=text, description="A run with a detector.", allow_abbrev=False)
    run.add_argument("url", metavar="URL", help="the referee's, http://host:port")
    text = "sample (default), module:function of your own, onnx:FILE or litert:FILE"
    run.add_argument("--detector", default="sample", metavar="NAME", help=text)
    text = "JPEG that the detector is tried with before the log-in (default: one of the client's own)"
    run.add_argument("--preflight", type=Path, metavar="F", help=text)
    run.add_argument("--no-preflight", action="store_true", help="log in without trying the detector")
    _add_common(run, batch=10)

    text = "fetch the images, post recorded detections"
    about = "A run with recorded detections."
    replay = subparsers.add_parser("replay", help=text, description=about, allow_abbrev=False)
    replay.add_argument("url", metavar="URL", help="the referee's, http://host:port")
    replay.add_argument("file", metavar="FILE", type=Path, help="CSV with header, or rows of seven numbers")
    text = "test-set folder, to recognize the images by their content"
    replay.add_argument("--testset", type=Path, metavar="DIR", help=text)
    _add_common(replay, batch=20)
    check_command.add_parser(subparsers)
    work.add_parser(subparsers)
    return parser


def _add_common(parser: argparse.ArgumentParser, batch: int) -> None:
    add = parser.add_argument
    add("--team", required=True, help="the team's name")
    text = "file whose first line is the password (else LPIRC_PASSWORD, else a prompt)"
    add("--password-file", type=Path, metavar="F", help=text)
    text = "first image, to resume an interrupted run (default 1)"
    add("--first", type=whole(1), default=1, metavar="N", help=text)
    add("--images", type=whole(1), metavar="N", help="answer at most N images (default: all)")
    add("--batch", type=whole(1), default=batch, metavar="N", help=f"images per POST (default {batch})")
    text = f"images per request, fetched ahead of the detector (default {DEFAULT_FETCH})"
    add("--fetch", type=whole(1, LARGEST_FETCH), default=DEFAULT_FETCH, metavar="N", help=text)
    text = "wait up to S seconds for the referee to answer"
    add("--wait", type=seconds, default=0.0, metavar="S", help=text)
    text = "do not log out at the end: the run stays open, the meter runs on"
    add("--stay", action="store_true", help=text)
    text = "log out although the detector failed (default: the run stays open, to go on with --first)"
    add("--logout-on-error", action="store_true", help=text)
    text = "log out no earlier than S seconds after the log-in: a meter cannot measure less than its update"
    add("--least", type=seconds, default=0.0, metavar="S", help=text)
    text = "best: log out when the provisional score is expected to fall, not within 60 s (or --least)"
    add("--stop", choices=["best"], help=text)
    add("--progress", choices=progress.CHOICES, default="auto", help="on stderr; auto: a bar on a terminal")
    add("--json", action="store_true", help="one JSON document about the run on stdout")
    text = "keep the referee's receipts in F: proofs of what it acknowledged, one file for each run"
    add("--receipts", type=Path, metavar="F", help=text)
    text = "write what was done when to F, for chrome://tracing or Perfetto"
    add("--timeline", type=Path, metavar="F", help=text)
    add("--ca-cert", metavar="F", help="PEM file to trust, for a referee with a certificate of its own")
    add("--parent", type=whole(1), metavar="PID", help="end when process PID ends")


if __name__ == "__main__":
    sys.exit(main())
