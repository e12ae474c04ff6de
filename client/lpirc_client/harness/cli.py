"""The command `lpirc-harness`: the only place that turns its failures into exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from lpirc_client import terminal
from lpirc_client.argument_parser import ArgumentParser
from lpirc_client.completion import PrintCompletion
from lpirc_client.errors import ClientError

DONE = 0
FAILED = 1
INTERRUPTED = 130
OLDEST = (3, 11)
EXAMPLE = "example: lpirc-harness bench model.tflite --images DIR --track ovic-detection --out result.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 done, 1 a failure, 2 wrong usage, 130 interrupted."""
    terminal.prepare()
    if sys.version_info < OLDEST:  # the rest of the client runs on older ones
        terminal.say(
            f"lpirc-harness: it needs Python 3.11 or later; this is {sys.version.split()[0]}"
        )
        return FAILED
    try:
        from lpirc_client.harness import harness_commands

        harness_commands.execute(build_parser().parse_args(arguments))
    except OSError as error:  # stdout is full, or its reader gone
        terminal.say(
            f"lpirc-harness: {error.filename or 'system'}: {error.strerror or error}"
        )
        return FAILED
    except (ClientError, KeyboardInterrupt) as error:
        terminal.say(f"lpirc-harness: {str(error) or 'interrupted'}")
        return FAILED if isinstance(error, ClientError) else INTERRUPTED
    return DONE


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    from lpirc_client.harness.harness_options import add_parsers

    about = "Checks a model for a model track, and times it on this device."
    parser = ArgumentParser("lpirc-harness", description=about, epilog=EXAMPLE)
    parser.add_argument(
        "--version",
        action="version",
        version=f"lpirc-harness {version('lpirc-client')}",
    )
    parser.add_argument(
        "--completion",
        action=PrintCompletion,
        help="print the completion script for a shell: bash (default), zsh or tcsh",
    )
    add_parsers(parser.add_subparsers(dest="command", required=True, metavar="COMMAND"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
