"""`meter record`: log meters' readings and print the energy, for a time or while a program runs, once or repeatedly."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from lpirc_power.cli.boundary import StatedFailure, to_stderr, warnings_printed
from lpirc_power.cli.meters_and_command import RecordCommand, meters_and_command
from lpirc_power.cli.options import (
    DURATION,
    OutputFile,
    address_argument,
    json_option,
    require_one,
    setup_options,
)
from lpirc_power.cli.page_option import live_page, page_option
from lpirc_power.cli.repeat_options import Repeats, repeat_options
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterError
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.group_run import GroupRun
from lpirc_power.recording_run.recorder import Order
from lpirc_power.recording_run.series_run import SeriesRun
from lpirc_power.recording_run.single_run import recorded
from lpirc_power.report.advice import advised
from lpirc_power.report.group_report import group_facts, group_lines
from lpirc_power.report.publication import series_publication
from lpirc_power.report.series_marks import series_mark_facts, series_mark_lines
from lpirc_power.report.series_report import series_facts, series_lines
from lpirc_power.report.single_report import single_facts, single_lines
from lpirc_power.sampling.polling import settling_at_least_s

WORTH_SAYING_S: Final = 3.0
"""Waiting time after which the command prints the reason for waiting."""


def _file(_ctx: click.Context, _param: click.Parameter, path: Path) -> Path:
    if str(path) == "-":
        raise click.BadParameter(
            "a recording cannot be written to stdout; name a file. "
            "`meter watch` prints readings to stdout, as JSON with --json."
        )
    return path


@click.command(
    cls=RecordCommand, short_help="Record a run to a CSV file and print its energy."
)
@address_argument
@click.argument("words", nargs=-1, metavar="[ADDRESS]... [--] [COMMAND]...")
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    required=True,
    callback=_file,
    help="The CSV file to write; its record, with the suffix .json, is written beside it.",
    metavar="FILE",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@click.option(
    "--duration",
    "duration_s",
    type=DURATION,
    help="Record for this many seconds; default: until Ctrl-C.",
)
@click.option(
    "--idle",
    "idle_s",
    type=DURATION,
    help="First measure the idle power for this many seconds.",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Use the meter even if it is integrating or shows an energy that was not reset; that energy is lost.",
)
@page_option
@repeat_options
@click.option(
    "--marks",
    "marks_path",
    type=click.Path(path_type=Path),
    help="Take marks at a socket of this path; default: at one of its own, for COMMAND.",
    metavar="PATH",
)
@setup_options
@json_option
@click.pass_context
def record(
    ctx: click.Context,
    /,
    *,
    address: str,
    words: tuple[str, ...],
    repeats: Repeats,
    page_port: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Record the meter at ADDRESS to a CSV file and print the energy.

    \b
      meter record ADDRESS -o run.csv --duration 60
      meter record ADDRESS -o run.csv --voltage-range 150 --current-range 0.5 -- ./detect images
      meter record ADDRESS -o run.csv --warm-up 1 --repeat 5 --cool-down 30 -- ./detect images
      meter record main=ADDRESS board=ADDRESS -o run.csv -- ./detect images

    The meter's integrator runs for as long as COMMAND does, or for --duration, or until Ctrl-C. Each reading is written
    to the file as it arrives. At the end the command restores the meter's former settings.

    With --repeat or --until-stable, the recording is made again and again: run-1.csv, run-2.csv and so on. Several
    meters, each NAME=ADDRESS, record the same run on one clock: run.NAME.csv; the first is the supply's side.

    --page shows power, energy, marks and the link on a live page of this machine while it records.

    An attempt that fails after one that went well is left out and named; the series goes on, and the exit code is 1.

    COMMAND's output goes to stdout, and the result to stderr; with --json, the result is the last line of stdout.
    COMMAND can name its phases: see `meter mark`.

    The exit code is COMMAND's if that is not 0. Otherwise it is 1, with one sentence on stderr, if there is no energy,
    if a check of severity error failed, or if the file is incomplete; else it is 0.
    """  # noqa: D301  click wants the character itself
    meters, command = meters_and_command(ctx, address, words)
    require_one(given["duration_s"], command)
    repeats.require_end(given["duration_s"], command)
    names = list(meters)
    order = Order(
        meters[names[0]], command=command, warm_up_s=repeats.warm_up_s, **given
    )
    settling_s = settling_at_least_s(0.0, order.setup.update_interval_s)
    if settling_s >= WORTH_SAYING_S:
        click.echo(
            f"Recording begins when the meter has settled, in {settling_s:g} s or more.",
            err=True,
        )
    with warnings_printed(), live_page(page_port) as watcher:
        order = replace(order, watcher=watcher)
        if len(meters) > 1:
            told = _group(meters, order, repeats)
        elif repeats.are_several:
            told = _series(order, repeats, is_quiet=as_json)
        else:
            told = _single(order)
    if as_json:
        click.echo(json.dumps(told.facts))
    else:
        click.echo("\n".join(told.lines), err=bool(command))
    if told.problem:
        raise StatedFailure(told.problem, told.exit_code or 1)
    ctx.exit(told.exit_code)


@dataclass(frozen=True)
class _Told:
    """What a recording of any kind says at its end."""

    facts: dict[str, object]
    lines: Sequence[str]
    problem: str | None
    exit_code: int


def _course(order: Order) -> Course:
    return Course(order.duration_s, order.command, real_clocks().monotonic)


def _failing(run: Callable[[], Any], exit_code: Callable[[], int]) -> Any:
    """Return what `run` does; a failure has the exit code of the program, if that is not 0."""
    try:
        return run()
    except MeterError as error:
        raise StatedFailure(error.sentence, exit_code() or 1) from error


def _single(order: Order) -> _Told:
    course = _course(order)
    found, problem = _failing(
        lambda: recorded(order, course, real_clocks()), lambda: course.exit_code
    )
    return _Told(single_facts(found), single_lines(found), problem, course.exit_code)


def _series(order: Order, repeats: Repeats, *, is_quiet: bool) -> _Told:
    def told(line: str) -> None:
        if not is_quiet:
            to_stderr(line)

    run = SeriesRun(repeats.of(order), lambda: _course(order), real_clocks(), told)
    series = _failing(run.run, lambda: run.exit_code)
    lines = [*series_lines(series), *series_mark_lines(series)]
    if series.recordings:
        lines += advised(series.recordings[-1])
    lines.append(series_publication(series).line)
    facts = series_facts(series) | {"marks": series_mark_facts(series)}
    return _Told(facts, lines, run.problem, run.exit_code)


def _group(meters: dict[str, str], order: Order, repeats: Repeats) -> _Told:
    if repeats.are_several:
        raise click.UsageError(
            "A series is of one meter: give one ADDRESS, or leave out --repeat, --until-stable and --warm-up."
        )
    course = _course(order)
    run = GroupRun(meters, order, course, real_clocks())
    group = _failing(run.run, lambda: course.exit_code)
    first = next(iter(group.recordings.values()))
    lines = [*group_lines(group), *advised(first)]
    return _Told(group_facts(group), lines, run.problem, course.exit_code)
