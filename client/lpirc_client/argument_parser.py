"""A command-line parser that names the option, command or choice that a misspelt one may mean."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import Any, Iterable, NoReturn

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
        self._hint = self._question(given) or self._order(given)
        commands = self._commands()
        if commands and not given:
            self.error(f"give a command: {', '.join(commands)}; --help describes them")
        found, unknown = super().parse_known_args(given, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(_without_values(unknown))}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Exit with 2 and the message; name options that may be meant."""
        super().error(message + self._hint)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not one of an option's choices, or an unknown command, and name the one meant."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            meant = closest(str(value), [str(one) for one in action.choices or ()])
            hint = "" if meant is None else f". Did you mean {meant}?"
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from error

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
        places = {one.dest: one for one in self._actions if not one.option_strings}
        meant = []
        for argument in given:
            name = argument.lstrip("-\u2013\u2014").partition("=")[0]
            dashes = argument[: argument.find(name)] if name else ""
            if dashes and dashes != "--" and name in options:
                meant.append(f"--{name} instead of {dashes}{name}")
            elif dashes == "--" and name in places and name not in options:
                meant.append(f"{places[name].metavar or name} without --{name}")
            elif dashes == "--" and name not in options:
                close = closest(name, options)
                if close is not None:
                    meant.append(f"--{close} instead of --{name}")
        return f". Did you mean {' and '.join(meant)}?" if meant else ""

    def _commands(self) -> list[str]:
        """Return the names of the commands that this parser has."""
        for action in self._actions:
            if isinstance(action.choices, dict):
                return [*action.choices]
        return []

    def _order(self, given: list[str]) -> str:
        """Return a sentence for an option before its command, "" if there is none."""
        commands = self._commands()
        if not commands or not given or not given[0].startswith("--"):
            return ""
        option = given[0].partition("=")[0]
        later = [one for one in given if one in commands]
        if option in self._option_string_actions or not later:
            return ""
        return f". The options of a command come after it: {self.prog} {later[0]} {option} ..."


def _without_values(unknown: list[str]) -> list[str]:
    """Return the unknown options alone, if there are any: what follows them may be a password."""
    options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    return options or unknown


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which this one may be a slip or the beginning, or None; case does not count."""
    plain = {one.casefold(): one for one in known}
    slip = name.casefold()
    begun = [one for one in plain if len(slip) > 1 and one.startswith(slip + "-")]
    if len(begun) == 1:
        return plain[begun[0]]
    swapped = [one for one in plain if len(one) > 2 and sorted(one) == sorted(slip)]
    found = get_close_matches(slip, plain, 1, LEAST_LIKENESS) or swapped
    return plain[found[0]] if found else None
