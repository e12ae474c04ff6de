"""Options and option types that several commands share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from lpirc_score.errors import CodedError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|[A-Z]:\w")


class AnyPath(click.Path):
    """The path of a file or folder; addresses of the web and paths of Windows are refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path. Fails for an address, for a drive of Windows elsewhere, and for - as stdin or stdout.

        What is there is taken, whatever its name.
        """
        if not str(value).strip():
            self.fail("the name of the file or folder is empty; write it", param, ctx)
        if os.path.exists(value):  # noqa: PTH110 - the same on every Python
            return super().convert(value, param, ctx)
        if str(value) == "-":
            self.fail("- is not a file; name one", param, ctx)
        if _ADDRESS.match(str(value)):
            self.fail(
                f"{value} is an address; name a file or folder of this host", param, ctx
            )
        if os.sep == "/" and _WINDOWS.match(str(value)):
            words = "is a path of Windows; write it as this system does: /mnt/d/day"
            self.fail(f"{value} {words}", param, ctx)
        return super().convert(value, param, ctx)


any_path = AnyPath()
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document."
)


class MetricName(click.ParamType[str]):
    """The name of a metric, built in or from another distribution.

    Metrics are imported only when needed, so a command that scores nothing does not wait for numpy.
    """

    name = "metric"

    def get_metavar(
        self,
        param: click.Parameter,
        ctx: click.Context,
    ) -> str:
        """Return the names of the built-in metrics."""
        from lpirc_score.metrics.offered import METRICS

        return f"[{'|'.join(METRICS)}|...]"

    def convert(
        self,
        value: str,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the name. Fails if no such metric is installed or if it cannot be used."""
        from lpirc_score.metrics.offered import metric_named

        try:
            metric_named(value)
        except CodedError as error:
            self.fail(error.sentence, param, ctx)
        return value

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the names that begin with the incomplete text."""
        from lpirc_score.metrics.offered import metric_names

        names = (name for name in metric_names() if name.startswith(incomplete))
        return [CompletionItem(name) for name in names]


def check_energies(
    energies_wh: tuple[float, ...], detections: tuple[Path, ...]
) -> None:
    """Raise `click.UsageError` unless there is no energy, or one for each file."""
    if energies_wh and len(energies_wh) != len(detections):
        counts = f"{len(energies_wh)} --energy-wh for {len(detections)} files"
        raise click.UsageError(
            f"{counts}; give it once for each file, or leave it out."
        )
