"""A command-line parser that names the option that a misspelt one may mean."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from typing import Any


class ArgumentParser(argparse.ArgumentParser):
    """Parses a command line, and refuses what is unknown with the usage of the command that was given.

    Options are never abbreviated: --password SECRET would pass for --password-file SECRET.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{**options, "allow_abbrev": False})

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments; exit with 2 if one is unknown."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {self._told(unknown)}")
        return found, unknown

    def _told(self, unknown: list[str]) -> str:
        """Return the unknown arguments, and the options that they may mean."""
        options = [one for one in self._option_string_actions if one.startswith("--")]
        meant = []
        for argument in unknown:
            name = argument.partition("=")[0]
            if name.startswith("--"):
                meant += get_close_matches(name, options, n=1)
        question = f". Did you mean {' and '.join(meant)}?" if meant else ""
        return " ".join(unknown) + question
