"""A command-line parser that names the option that a misspelt one may mean."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import Any, NoReturn

from lpirc_client import terminal

LEAST_LIKENESS = 0.75
"""The likeness, from 0 to 1, of a slip to what was meant: one wrong letter of four. Below it, a guess misleads."""


class ArgumentParser(argparse.ArgumentParser):
    """Parses a command line, and refuses what is unknown with the usage of the command that was given.

    Options are never abbreviated: --password SECRET would pass for --password-file SECRET.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        self._hint = ""
        super().__init__(*given, **{**options, "allow_abbrev": False})

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments; exit with 2 if one is unknown."""
        given = sys.argv[1:] if args is None else list(args)
        # A misspelt option also lacks: argparse says only that.
        self._hint = self._question(given)
        found, unknown = super().parse_known_args(given, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Exit with 2 and the message; name options that may be meant."""
        super().error(message + self._hint)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help and version at once, as results are: argparse ignores a full disk. Raises OSError."""
        if message and file is sys.stdout:
            terminal.result(message.rstrip("\n"))
        else:
            super()._print_message(message, file)

    def _question(self, given: list[str]) -> str:
        """Return a question for the options that misspelt ones may mean, "" if there is none."""
        options = [
            one[2:] for one in self._option_string_actions if one.startswith("--")
        ]
        meant = []
        for argument in given:
            is_option = argument.startswith("--")
            name = argument[2:].partition("=")[0]
            if is_option and name not in options:
                close = get_close_matches(name, options, 1, LEAST_LIKENESS)
                meant += [f"--{option} instead of --{name}" for option in close]
        return f". Did you mean {' and '.join(meant)}?" if meant else ""
