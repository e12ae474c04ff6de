"""The findings of `referee doctor` about plug-ins that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator

from lpirc_power.addresses import driver_registry
from lpirc_score.metrics.offered import SEAM as METRICS
from lpirc_score.metrics.offered import metric_named, metric_names
from lpirc_score.tasks.offered import SEAM as TASKS
from lpirc_score.tasks.offered import task_named, task_names
from lpirc_testsets import TestSetError
from lpirc_testsets.formats import FORMATS, format_named, format_names
from referee import seams
from referee.cli.own_commands import COMMANDS
from referee.errors import RefereeError
from referee.seams import Finding

LOADERS = (
    (seams.COMMANDS.names, seams.COMMANDS.load),
    (seams.PAGES.names, seams.PAGES.load),
    (seams.CHECKS.names, seams.CHECKS.load),
    (metric_names, metric_named),
    (task_names, task_named),
    (format_names, format_named),
)


def look_at_plugins() -> Iterator[Finding]:
    """Import all plug-ins, and yield a finding for each one that cannot be used."""
    for names, load in LOADERS:
        for name in names():
            try:
                load(name)
            except (RefereeError, TestSetError) as error:
                yield Finding(error.code, error.sentence)
    for seam in (METRICS, TASKS, FORMATS):
        for sentence in seam.refused():
            yield Finding("plugin-twice", sentence)
    for sentence in driver_registry.problems():
        yield Finding("plugin-broken", sentence)
    for name in COMMANDS.keys() & set(seams.COMMANDS.names()):
        words = f"A plug-in offers the command {name!r}, which referee has itself"
        yield Finding("plugin-twice", f"{words}: it is ignored; rename it.")
