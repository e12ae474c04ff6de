"""Arguments and options of several commands of `referee model`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any

import click

from lpirc_tracks.submissions.harness import Limits
from lpirc_tracks.submissions.metered_bench import DEFAULT_LOOP_S, Metering
from referee.cli.number_types import WholeNumber
from referee.cli.shared_options import any_path, seconds_option
from referee.installed import client_version

model_file = click.argument("model", type=any_path)
rule_option = click.option(
    "--track",
    required=True,
    help="A rule such as ovic-detection (not the name of a contest's track).",
)
track_option = click.option("--track", required=True, help="A track of the contest.")
holdout_flag = click.option(
    "--holdout", is_flag=True, help="Use the hold-out test set; no limit applies."
)


def own_build() -> str:
    """Return the name of the build that a measurement gets by default."""
    return f"referee {version('lpirc-referee')}, client {client_version()}"


build_option = click.option(
    "--build",
    default=own_build,
    help="The build of the measuring program; default: the version of this program.",
)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that become the argument `limits`."""

    @click.option(
        "--memory-mb",
        type=WholeNumber(1),
        help="Memory for the model in MB; default: 2048.",
    )
    @seconds_option(
        "--timeout-s",
        help="Maximum seconds to load the model, and for each inference; default: 30.",
    )
    @click.option(
        "--core",
        type=WholeNumber(0),
        help="The core that the model runs on; default: the last core.",
    )
    @click.option(
        "--repeats",
        type=WholeNumber(1),
        help="Maximum number of passes; default: 5.",
    )
    @wraps(command)
    def with_limits(**named: Any) -> Any:
        limits = Limits(*map(named.pop, ("memory_mb", "timeout_s", "core", "repeats")))
        return command(limits=limits, **named)

    return with_limits


def meter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that become the argument `metering`, which is None without a meter."""

    @click.option(
        "--meter",
        help="Measure the energy per inference: a VISA address, sim:, rapl:, hwmon:.",
    )
    @seconds_option(
        "--energy-loop",
        help=f"Seconds of inferences to measure; default: {DEFAULT_LOOP_S:g}.",
    )
    @seconds_option(
        "--idle", help="First measure the idle device, for this many seconds."
    )
    @wraps(command)
    def with_metering(
        meter: str | None, energy_loop: float | None, idle: float | None, **named: Any
    ) -> Any:
        if meter is None and (energy_loop is not None or idle is not None):
            raise click.UsageError("--energy-loop and --idle need --meter.")
        metering = (
            None
            if meter is None
            else Metering(meter, energy_loop or DEFAULT_LOOP_S, idle)
        )
        return command(metering=metering, **named)

    return with_metering
