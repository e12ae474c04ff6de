"""Completion for shells, made from the parser by shtab: `eval "$(lpirc-client --completion)"`."""

from __future__ import annotations

import argparse
from typing import Any

from lpirc_client.errors import missing_extra
from lpirc_client.terminal import result

SHELLS = ("bash", "zsh", "tcsh")


class PrintCompletion(argparse.Action):
    """An option that prints a completion script, for bash unless another shell is named, and exits."""

    def __init__(self, **given: Any) -> None:
        super().__init__(
            nargs="?",
            const=SHELLS[0],
            choices=SHELLS,
            metavar="SHELL",
            **given,
        )

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _: object,
        shell: Any,
        *__: object,
    ) -> None:
        """Print it. Raises ModelError `missing-extra` without shtab."""
        try:
            import shtab
        except ImportError:
            raise missing_extra("--completion", "shtab", "completion") from None
        script = shtab.complete(parser, shell=shell)
        # Where nothing fits, bash completes file names.
        result(script.replace(" -o bashdefault ", " -o bashdefault -o default "))
        parser.exit()
