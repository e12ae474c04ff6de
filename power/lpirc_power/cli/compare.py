"""`meter compare`: which of two measurements takes more energy, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from lpirc_power.cli.options import Figure, OutputFile, json_option
from lpirc_power.cli.page_file import require_free, write_page
from lpirc_power.cli.recording_file import RecordingFile
from lpirc_power.cli.stated_options import stated_options
from lpirc_power.comparison.attempts import (
    Choice,
    Compared,
    require_different,
    side_in_files,
)
from lpirc_power.comparison.comparing import compared
from lpirc_power.comparison.comparison_report import (
    comparison_facts,
    comparison_lines,
    wrong_names,
)
from lpirc_power.foreign.foreign_recording import lacks_times
from lpirc_power.measurement_files.any_measurement import Stated, is_own
from lpirc_power.page.comparison_page import comparison_page
from lpirc_power.report.reading_facts import lines

WITH: Final = "--with"


class TwoSided(click.Command):
    """Command whose option --with takes every word up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat --with before each of its words, as click reads an option that is given several times."""
        found: list[str] = []
        is_second = False
        for word in args:
            if word == WITH:
                is_second = True
            elif is_second and not word.startswith("-"):
                found += [WITH, word]
            else:
                is_second = False
                found.append(word)
        return super().parse_args(ctx, found)


@click.command(cls=TwoSided, short_help="Compare the energies of two measurements.")
@click.argument("files", nargs=-1, type=RecordingFile(), metavar="A... [B]")
@click.option(
    WITH,
    "others",
    multiple=True,
    type=RecordingFile(),
    metavar="B...",
    help="The recordings of the second side; every file up to the next option.",
)
@click.option(
    "--paired",
    "is_paired",
    is_flag=True,
    help="The attempts were made in turn (A B A B): each of A is compared with that of B.",
)
@click.option(
    "--names",
    nargs=2,
    default=("A", "B"),
    help="Names of the two sides for the sentences; default: A B.",
)
@click.option(
    "--least",
    type=Figure("PERCENT", most=100.0),
    default=2.0,
    show_default=True,
    help="Smallest difference of interest, in percent: how many attempts would show it is said.",
)
@click.option(
    "--mark",
    metavar="NAME",
    help="Compare the energies of this mark; default: those of the whole recordings.",
)
@click.option(
    "--above-idle",
    "is_above_idle",
    is_flag=True,
    help="Compare the energies above the idle power, of recordings with --idle; with --mark, those of the mark.",
)
@click.option(
    "--incomplete",
    "is_incomplete_taken",
    is_flag=True,
    help="Also count recordings that were cut off or interrupted, whose COMMAND failed, or that need review.",
)
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    metavar="PAGE",
    help="Also write one HTML page about the comparison, such as cmp.html.",
)
@click.option(
    "--force", is_flag=True, help="Overwrite PAGE if it exists and is a page."
)
@stated_options
@json_option
def compare(
    files: tuple[Path, ...],
    others: tuple[Path, ...],
    is_paired: bool,
    names: tuple[str, str],
    least: float,
    mark: str | None,
    is_above_idle: bool,
    is_incomplete_taken: bool,
    output: Path | None,
    force: bool,
    stated: Stated,
    as_json: bool,
) -> None:
    """Say whether B takes more or less energy than A, by how much, and how sure that is.

    \b
      meter compare a.json b.json                          two series of --repeat
      meter compare a-1.csv a-2.csv --with b-1.csv b-2.csv
      meter compare a-*.csv --with b-*.csv --paired --names old new
      meter compare a.json b.json -o cmp.html              and a page to look at and to keep

    The interval holds the difference with 95.45 %. It is made of the spread between attempts (Student's t: of pairs
    with --paired, else Welch's) and of the meter's errors that do not cancel. If one meter in one fixed range measured
    both, the error of the reading cancels, and all of the meter's if the loads are alike. A single attempt shows no
    spread, so it cannot show a difference.

    The exit code is 0 whether a difference is shown or not; it is 1 if the files cannot be compared.
    """  # noqa: D301  click wants the character itself
    of_first, of_second = _sides(files, others)
    if problem := wrong_names(names):
        raise click.UsageError(
            f"--names gives {names[0]!r} and {names[1]!r}; {problem}."
        )
    if mark is not None and not mark.strip():
        raise click.UsageError("--mark has no name; leave it out to compare all.")
    if output is not None:
        require_free(output, force=force)
    elif force:
        raise click.UsageError(
            "--force is for the page that --output names; give both."
        )
    energies = Compared(mark or "", is_above_idle)
    choice = Choice(energies, is_incomplete_taken)
    if stated.reader.interval_s is not None:
        stated = _of_several([*of_first, *of_second], stated)
    first = side_in_files(names[0], of_first, stated, choice)
    second = side_in_files(names[1], of_second, stated, choice)
    require_different(first, second, [*of_first, *of_second])
    if is_paired and len(first.attempts) != len(second.attempts):
        raise click.UsageError(
            f"--paired needs as many attempts of both: {names[0]} has {len(first.attempts)}, {names[1]} has "
            f"{len(second.attempts)}."
        )
    found = compared(
        first, second, least / 100.0, is_paired=is_paired, energies=energies
    )
    if output is not None:
        write_page(output, comparison_page(found), force=force)
    if as_json:
        click.echo(json.dumps(comparison_facts(found)))
        return
    written = lines({"page": str(output)}) if output is not None else []
    click.echo("\n".join([*comparison_lines(found), *written]))


def _of_several(files: Sequence[Path], stated: Stated) -> Stated:
    """Return what is stated, its interval of the files without times, if there is one; else it is refused."""
    reader = stated.reader
    foreign = [one for one in files if reader.columns or not is_own(one)]
    is_of_several = any(lacks_times(one, reader) for one in foreign)
    return replace(stated, reader=replace(reader, is_of_several=is_of_several))


def _sides(
    files: tuple[Path, ...], others: tuple[Path, ...]
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    if others and files:
        return files, others
    if not others and len(files) == 2:
        return files[:1], files[1:]
    raise click.UsageError(
        f"Two measurements are compared; {len(files)} files are given. Write `meter compare A B`, or several files of "
        "each: `meter compare A1 A2 --with B1 B2`."
    )
