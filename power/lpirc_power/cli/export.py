"""`meter export`: the readings of a recording as a Parquet file."""

from __future__ import annotations

from pathlib import Path

import click

from lpirc_power.cli.options import OutputFile
from lpirc_power.cli.page_file import Kind, beside, require_free, written_whole
from lpirc_power.cli.recording_file import RecordingFile
from lpirc_power.cli.stated_options import stated_options
from lpirc_power.measurement_files.any_measurement import Stated, read_any
from lpirc_power.measurement_files.parquet_export import write_parquet


@click.command(short_help="Write the readings of a recording to a Parquet file.")
@click.argument("file", type=RecordingFile())
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    metavar="PARQUET",
    help="The file to write; default: FILE with the ending .parquet.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Overwrite PARQUET if it exists and is a Parquet file.",
)
@stated_options
def export(file: Path, output: Path | None, force: bool, stated: Stated) -> None:
    """Write the readings in FILE to a Parquet file, for pandas, Polars, DuckDB and others.

    \b
      meter export run.csv
      meter export series.json -o series.parquet

    Its columns are those of a recording, whose names have the units. What else is known (meter, setup, energy, budget,
    checks, marks) is a JSON document in its metadata, under the key lpirc_power. A series or several meters are one
    file, with a column `recording`. FILE is what `meter check` takes. It needs pyarrow: pip install pyarrow.
    """  # noqa: D301  click wants the character itself
    wanted = output or beside(file, ".parquet")
    require_free(wanted, Kind.PARQUET, force=force)
    found = read_any(file, stated)
    with written_whole(wanted) as fresh:
        rows = write_parquet(found, fresh)
    click.echo(f"{rows} readings are in {wanted}.")
