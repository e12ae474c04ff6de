"""The command `lpirc-client`: its options, and the only place that turns failures into exit codes."""

from __future__ import annotations

import sys

try:
    import argparse
    from importlib.metadata import version
    from typing import Any, Sequence

    from lpirc_client import (
        commands,
        log_command,
        progress,
        team_status,
        terminal,
        trial,
        work,
    )
    from lpirc_client.argument_parser import ArgumentParser
    from lpirc_client.completion import PrintCompletion
    from lpirc_client.errors import ClientError
    from lpirc_client.option_types import a_name, any_path, file_path, seconds, whole
    from lpirc_client.referee_url import require_url
except KeyboardInterrupt:  # Ctrl-C while the program is still being loaded
    sys.stderr.write("lpirc-client: interrupted\n")
    raise SystemExit(130) from None

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130
DEFAULT_FETCH = 50
LARGEST_FETCH = 1000
FROM_FILE = "file whose first line is the password (else LPIRC_PASSWORD, else a prompt)"
CA_CERT = "PEM file of a certificate to trust, for a referee whose certificate no public authority signed"
CHECK = (
    "Check a detector on a folder of images, and check each of its rows as a referee would. "
    "With a URL, check a referee or a client."
)
DETECTOR_CHECK = ("detector", "images", "ground_truth", "categories", "limit")
REFEREE_CHECK = (
    *("team", "password_file", "yes", "read_only"),
    *("proxy", "ca_cert", "junit"),
)
EXAMPLE = "example: lpirc-client check --detector mymodule:detect --images DIR"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if done, 1 after a failure, 2 for wrong usage, 130 if interrupted."""
    terminal.prepare()
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in ("bench", "validate"):
        terminal.say(
            f"lpirc-client has no command {given[0]}: use lpirc-harness {given[0]}"
        )
        return USAGE
    try:
        options = build_parser().parse_args(given)
        if options.url is not None:
            options.url = require_url(options.url)
        execute = EXECUTE.get(options.command, commands.execute)
        execute(options)
    except ClientError as error:
        terminal.say(f"lpirc-client: {error.sentence}")
        return FAILED
    except OSError as error:  # stdout is full, or its reader gone
        terminal.say(
            f"lpirc-client: {error.filename or 'system'}: {error.strerror or error}"
        )
        return FAILED
    except KeyboardInterrupt as interrupt:
        terminal.say(f"lpirc-client: {str(interrupt) or 'interrupted'}")
        return INTERRUPTED
    return DONE


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = ArgumentParser(
        prog="lpirc-client",
        description="Sample client of the LPIRC referee.",
    )
    parser.add_argument(
        "--version", action="version", version=f"lpirc-client {version('lpirc-client')}"
    )
    parser.add_argument(
        "--completion",
        action=PrintCompletion,
        help="print the completion script for a shell: bash (default), zsh or tcsh",
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    text = "fetch the images, run the detector, post the detections"
    run = subparsers.add_parser("run", help=text, description="A run with a detector.")
    run.add_argument("url", metavar="URL", help="the referee's, http://host:port")
    text = "sample (default), module:function of your own, onnx:FILE or litert:FILE"
    run.add_argument("--detector", default="sample", metavar="NAME", help=text)
    text = "JPEG file to try the detector with before the log-in (default: an image of the client)"
    preflight = run.add_mutually_exclusive_group()
    preflight.add_argument("--preflight", type=file_path, metavar="F", help=text)
    preflight.add_argument(
        "--no-preflight", action="store_true", help="log in without trying the detector"
    )
    _add_common(run, batch=10)

    text = "fetch the images, post recorded detections"
    about = "Make a run with recorded detections."
    replay = subparsers.add_parser("replay", help=text, description=about)
    replay.add_argument("url", metavar="URL", help="the referee's, http://host:port")
    replay.add_argument(
        "file",
        metavar="FILE",
        type=any_path,
        help="CSV with header, or rows of seven numbers",
    )
    text = "test-set folder, to recognize the images by their content"
    replay.add_argument("--testset", type=any_path, metavar="DIR", help=text)
    _add_common(replay, batch=20)
    _add_check(subparsers)
    work.add_parser(subparsers)
    team_status.add_parser(subparsers, FROM_FILE, CA_CERT)
    log_command.add_parser(subparsers, CA_CERT)
    return parser


def _add_common(parser: argparse.ArgumentParser, batch: int) -> None:
    add = parser.add_argument
    add("--team", type=a_name, required=True, help="the team's name")
    add("--password-file", type=file_path, metavar="F", help=FROM_FILE)
    text = "first image, to resume an interrupted run (default 1)"
    add(
        "--first",
        type=whole(1),
        default=1,
        metavar="N",
        help=text,
    )
    add(
        "--images",
        type=whole(1),
        metavar="N",
        help="post the detections of at most N images (default: all)",
    )
    add(
        "--batch",
        type=whole(1),
        default=batch,
        metavar="N",
        help=f"images per POST (default {batch})",
    )
    text = (
        f"images per request, fetched ahead of the detector (default {DEFAULT_FETCH})"
    )
    add(
        "--fetch",
        type=whole(1, LARGEST_FETCH),
        default=DEFAULT_FETCH,
        metavar="N",
        help=text,
    )
    _add_ends(parser)
    _add_output(parser)
    add("--ca-cert", metavar="F", help=CA_CERT)
    add("--parent", type=whole(1), metavar="PID", help="end when process PID ends")


def _add_ends(parser: argparse.ArgumentParser) -> None:
    """Add the options for when a run begins and ends."""
    add = parser.add_argument
    text = "wait up to S seconds for the referee to answer"
    add(
        "--wait",
        type=seconds,
        default=0.0,
        metavar="S",
        help=text,
    )
    text = "do not log out at the end: the run stays open, and the meter keeps running"
    add("--stay", action="store_true", help=text)
    text = "log out although the detector failed (default: the run stays open, to go on with --first)"
    add("--logout-on-error", action="store_true", help=text)
    text = "log out no earlier than S seconds after the log-in: a meter needs at least one update interval"
    add(
        "--least",
        type=seconds,
        default=0.0,
        metavar="S",
        help=text,
    )
    text = (
        "best: log out when the provisional score is expected to fall, but not in the first 60 s (or --least). The "
        "referee shows that score every 30 s; the score is rounded and covers half of the images"
    )
    add("--stop", choices=["best"], help=text)


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options for what a run shows and writes."""
    add = parser.add_argument
    add(
        "--progress",
        choices=progress.CHOICES,
        default="auto",
        help="how to show progress on stderr (auto: a bar on a terminal)",
    )
    add(
        "--json",
        action="store_true",
        help="print one JSON document about the run on stdout",
    )
    text = "keep the referee's receipts in F: proofs of what it acknowledged, one file for each run"
    add("--receipts", type=any_path, metavar="F", help=text)
    text = "write a timeline of the run to F, for chrome://tracing or Perfetto"
    add("--timeline", type=any_path, metavar="F", help=text)


def _add_check(subparsers: Any) -> None:
    """Add the command `check`, which checks a detector without a referee, or checks a referee or a client."""
    text = "check a detector, a referee or a client"
    parser = subparsers.add_parser(
        "check",
        help=text,
        description=CHECK,
        epilog=EXAMPLE,
    )
    parser.set_defaults(refuse_usage=parser.error)
    parser.add_argument(
        "url", metavar="URL", nargs="?", help="the referee's, http://host:port"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document on stdout"
    )
    _add_detector_check(parser)
    _add_referee_check(parser)


def _add_detector_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("a detector, without a referee").add_argument
    add(
        "--detector",
        metavar="NAME",
        help="sample, module:function of your own, onnx:FILE or litert:FILE",
    )
    add(
        "--images",
        type=any_path,
        metavar="DIR",
        help="test-set folder, or any folder of JPEG files",
    )
    add(
        "--ground-truth",
        type=any_path,
        metavar="FILE",
        help="test-set folder or COCO file with the ground truth, to compute the mAP",
    )
    add(
        "--categories",
        type=file_path,
        metavar="FILE",
        help="file with the names of the categories 1, 2, ..., one name per line",
    )
    add(
        "--limit",
        type=whole(1),
        metavar="N",
        help="use only the first N images (default: all)",
    )


def _add_referee_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        "check the referee at URL or, with --proxy, a client that talks to it"
    ).add_argument
    add(
        "--team",
        type=a_name,
        help="log in as this team for a complete check; the check uses up one of the team's attempts",
    )
    add("--password-file", type=file_path, metavar="F", help=FROM_FILE)
    add(
        "--yes",
        action="store_true",
        help="agree that the check uses up an attempt of the team",
    )
    add(
        "--read-only",
        action="store_true",
        help="make only the checks that use up no attempt (they include one failed log-in)",
    )
    text = "listen at this address for a client, pass everything on to URL, and report the client's mistakes"
    add("--proxy", metavar="[HOST:]PORT", help=text)
    add("--ca-cert", metavar="F", help=CA_CERT)
    add("--junit", type=any_path, metavar="F", help="write JUnit XML, too")


def _check(options: argparse.Namespace) -> None:
    """Run `check` with these options; wrong usage exits with 2. Raises ClientError."""
    of_detector = (options.detector, options.images)
    if options.url is None and None in of_detector:
        options.refuse_usage("give --detector and --images, or a referee's URL")
    if options.url is None:
        _refuse_others(options, REFEREE_CHECK, "a check of a referee: give its URL")
        trial.execute(options)
    else:
        _refuse_others(options, DETECTOR_CHECK, "a check without a URL: leave it out")
        # A run needs none of it.
        from lpirc_client.conformance import conformance_command

        conformance_command.execute(options)


def _refuse_others(
    options: argparse.Namespace, names: Sequence[str], place: str
) -> None:
    """Exit with 2 if an option of the other kind of check is given."""
    for name in names:
        if getattr(options, name) not in (None, False):
            options.refuse_usage(f"--{name.replace('_', '-')} is for {place}")


EXECUTE = {
    "check": _check,
    "work": work.execute,
    "status": team_status.execute,
    "links": log_command.execute,
}
"""Functions of the commands that make no run."""


if __name__ == "__main__":
    sys.exit(main())
