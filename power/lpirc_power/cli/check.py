"""`meter check`: the checks of an energy on a recording, also on one by another program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from lpirc_power.cli.boundary import StatedFailure
from lpirc_power.cli.options import json_option
from lpirc_power.cli.recording_file import RecordingFile
from lpirc_power.cli.stated_options import stated_options
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import Stated, read_any
from lpirc_power.measurement_files.recorded_files import Group, Series
from lpirc_power.report.budget_table import budget_csv, budget_text, budgets_of
from lpirc_power.report.check_report import (
    check_facts,
    check_lines,
    failure_of,
    series_warnings,
    what_lacks,
)
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_marks import series_mark_lines
from lpirc_power.report.series_report import series_warning_lines

BUDGETS: Final = {"text": budget_text, "csv": budget_csv}


@click.command(short_help="Check a recording, also one by another program.")
@click.argument("file", type=RecordingFile())
@click.option(
    "--budget",
    "budget_as",
    type=click.Choice(tuple(BUDGETS)),
    help="Print the table of the uncertainty budget instead, as text or as CSV.",
)
@stated_options
@json_option
def check(file: Path, budget_as: str | None, stated: Stated, as_json: bool) -> None:
    """Run the checks of an energy on the recording in FILE.

    \b
      meter check run.csv
      meter check run.csv --budget csv
      meter check old.csv --columns power=Load,time=Stamp
      meter check old.csv --model WT310E --voltage-range 150 --current-range 0.5

    FILE is a recording of `meter record` (run.csv or run.json; also the run.json of a series or of several meters), one
    of the 2015 driver, a log of SPEC PTDaemon or MLPerf Power, or a table of any program: its separator, its heads and
    their units are found out, and said. A file that names no meter has no limits of error, until --model and the
    options of the setup state them.

    The exit code is 1, with one sentence on stderr, if there is no energy, also of one meter or attempt of several, if
    a check of severity error fails, or if the file cannot be read.
    """  # noqa: D301  click wants the character itself
    if budget_as and as_json:
        raise click.UsageError(
            "Give --budget or --json, not both: the JSON has the budget in it."
        )
    measurement = read_any(file, stated)
    found = recordings_in(measurement)
    if budget_as:
        click.echo(_budgets(measurement, budget_as))
    elif as_json:
        facts = _facts(measurement)
        click.echo(json.dumps(facts[0] if len(facts) == 1 else facts))
    else:
        blocks = ["\n".join(each) for each in _lines(measurement)]
        click.echo("\n\n".join(blocks), nl=bool(blocks))
    failures = [failure for one in found if (failure := failure_of(one))]
    failures += what_lacks(measurement)
    if failures:
        raise StatedFailure(" ".join(failures))


def _budgets(found: Recorded | Series | Group, form: str) -> str:
    budgets = budgets_of(found)
    if not budgets:
        raise MeterError(
            "recording-empty",
            "The file has no energy, so it has no uncertainty budget.",
        )
    return BUDGETS[form](budgets)


def _facts(found: Recorded | Series | Group) -> list[dict[str, object]]:
    if isinstance(found, Group):
        named = found.recordings.items()
        return [{"name": name} | check_facts(one) for name, one in named]
    more = series_warnings(found)
    return [check_facts(one) | more for one in recordings_in(found)]


def _lines(found: Recorded | Series | Group) -> list[list[str]]:
    if isinstance(found, Group):
        named = found.recordings.items()
        return [[f"{'name':16} {name}", *check_lines(one)] for name, one in named]
    blocks = [check_lines(one) for one in recordings_in(found)]
    if isinstance(found, Series):
        of_all = [*series_mark_lines(found), *series_warning_lines(found)]
        blocks += [of_all] if of_all else []
    return blocks


def recordings_in(found: Recorded | Series | Group) -> Sequence[Recorded]:
    """Return the recordings of a measurement that count."""
    if isinstance(found, Recorded):
        return (found,)
    if isinstance(found, Series):
        return found.recordings
    return tuple(found.recordings.values())
