"""Options by which a person says what a recording of another program does not say."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import click
from click.core import ParameterSource

from lpirc_power.cli.options import DURATION, setup_options
from lpirc_power.foreign.decimal_sign import SIGNS
from lpirc_power.foreign.foreign_recording import Reader
from lpirc_power.measurement_files.any_measurement import Stated
from lpirc_power.meter import Setup

_STATED: Final = (
    click.option(
        "--columns",
        default="",
        metavar="QUANTITY[:UNIT]=HEAD,...",
        help="Columns that the heads do not tell, by head or by place: power:mW=Load,time=Stamp. Quantities: power, "
        "voltage, current, apparent, factor, energy, counted, time, date, mark.",
    ),
    click.option(
        "--interval",
        "interval_s",
        type=DURATION,
        help="Seconds from reading to reading, for a file without times.",
    ),
    click.option(
        "--decimal",
        type=click.Choice(SIGNS),
        help="The decimal sign of a file whose numbers do not show it.",
    ),
    click.option(
        "--model",
        help="The meter's model, such as WT310E: it states the limits of error of a recording without a record.",
    ),
)


def stated_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which receives them as one argument `stated`."""

    @functools.wraps(command)
    @click.pass_context
    def with_stated(ctx: click.Context, /, *arguments: Any, **given: Any) -> None:
        setup: Setup = given.pop("setup")
        interval_s = given.pop("interval_s")
        is_dc = setup.mode == "dc"
        decimal = given.pop("decimal")
        reader = Reader(given.pop("columns"), interval_s, is_dc, decimal)
        source = ctx.get_parameter_source("update_interval_s")
        is_stated = source is ParameterSource.COMMANDLINE
        stated = Stated(reader, setup, given.pop("model"), is_stated)
        command(*arguments, stated=stated, **given)

    chosen = setup_options(with_stated)
    for option in reversed(_STATED):
        chosen = option(chosen)
    return chosen
