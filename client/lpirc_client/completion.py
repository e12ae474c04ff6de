"""Completion for bash, made from the parser: `eval "$(lpirc-client --completion)"`."""

from __future__ import annotations

import argparse
from typing import Any

from lpirc_client.terminal import result

SCRIPT = """\
_{function}() {{
  local words='{top}'
  [ "$COMP_CWORD" -gt 1 ] && case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _{function} {program}"""


class PrintCompletion(argparse.Action):
    """An option that prints what a shell evaluates, and ends; where nothing fits, the shell completes file names."""

    def __init__(self, **given: Any) -> None:
        super().__init__(nargs=0, **given)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        *_: object,
    ) -> None:
        """Print it."""
        commands = next(
            one
            for one in parser._actions  # noqa: SLF001 - nothing public lists them
            if isinstance(one, argparse._SubParsersAction)  # noqa: SLF001
        )
        cases = "\n".join(
            f"    {name}) words='{_options(one)}';;"
            for name, one in commands.choices.items()
        )
        top = f"{' '.join(commands.choices)} {_options(parser)}"
        function = parser.prog.replace("-", "_")
        result(
            SCRIPT.format(function=function, top=top, cases=cases, program=parser.prog)
        )
        parser.exit()


def _options(parser: argparse.ArgumentParser) -> str:
    return " ".join(
        word
        for word in parser._option_string_actions  # noqa: SLF001
        if word.startswith("--")
    )
