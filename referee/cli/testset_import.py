"""`referee testset import`: one command for each installed format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from lpirc_score.files.output_places import require_place
from lpirc_testsets import TestSet, TestSetError
from lpirc_testsets.formats import (
    FORMATS,
    FileOption,
    Format,
    NumbersOption,
    OptionsConflict,
    format_named,
    format_names,
)
from lpirc_testsets.plugins import PluginError
from lpirc_testsets.presence import is_folder, is_there
from referee.cli.shared_options import any_path, as_json
from referee.cli.testset_output import out_option, report, reporting, show_option

EXPECTED = (
    TestSetError,
    OptionsConflict,
    OSError,
    MemoryError,
    click.ClickException,
)
"""Errors that an importer may raise; any other error is a defect of the importer."""


class FormatGroup(click.Group):
    """The formats as commands, from their entry points.

    A format that cannot be loaded is listed, and fails when called.
    """

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of the formats."""
        return format_names()

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        """Return the command of a format, or None if no distribution has a format of this name."""
        if name not in format_names():
            return None
        try:
            return _command(name, format_named(name))
        except PluginError as error:
            return _broken_command(name, error)


@click.group("import", cls=FormatGroup)
def import_group() -> None:
    """Import a data set: check it as a whole, copy its images byte for byte.

    After an interruption, the same command continues the import.
    """


def _command(name: str, format_: Format) -> click.Command:
    """Return the command of a format, with the options common to all formats."""

    def execute(*, show: int, as_json: bool, **given: Any) -> None:
        _require_outside(given)
        test_set, notes = _imported(name, given, show, as_json=as_json)
        report(test_set, notes, as_json=as_json)
        if not (as_json or notes):
            _report_left_out(test_set, given["images"])

    images = click.option(
        "--images", type=any_path, required=True, help="Folder of the images."
    )
    for option in (as_json, show_option, out_option, images):
        execute = option(execute)
    for file in reversed(format_.options):
        execute = _option_of(file)(execute)
    return click.command(name, help=format_.help)(execute)


def _require_outside(given: dict[str, Any]) -> None:
    """Raise RefereeError `bad-place` if the new folder is in that of the images: the next import would read it too."""
    images = given.get("images")
    if images is not None and is_folder(images) and not is_there(given["out"]):
        require_place("--out", given["out"], [("the folder of --images", images)])


def _option_of(file: FileOption) -> Any:
    if isinstance(file, NumbersOption):
        # A default of None would count as a path that is given.
        kind: dict[str, Any] = {"type": WholeNumbers(), "default": ()}
    else:
        kind = {"type": any_path}
    return click.option(
        f"--{file.name}",
        file.keyword,
        required=file.required,
        help=file.help,
        **kind,
    )


class WholeNumbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers from 0, separated by commas."""

    name = "NUMBER,..."

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[int, ...]:
        """Return the numbers in a text."""
        if not isinstance(value, str):
            return tuple(value)
        words = [word.strip() for word in value.split(",")]
        if not all(
            word.isascii() and word.isdigit() and len(word) < 10 for word in words
        ):
            problem = f"{value!r} is not whole numbers such as 255 or 0,255"
            self.fail(problem, param, ctx)
        return tuple(map(int, words))


def _broken_command(name: str, error: PluginError) -> click.Command:
    """Return a command that accepts any options and reports why a format cannot be used."""

    @click.command(
        name,
        short_help="This format cannot be used; run its command to see the reason.",
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
    )
    @click.argument("arguments", nargs=-1)
    def execute(arguments: tuple[str, ...]) -> None:
        raise error

    return execute


def _imported(
    name: str,
    given: dict[str, Any],
    show: int,
    *,
    as_json: bool,
) -> tuple[TestSet, list[str]]:
    plugin = FORMATS.load(name)
    try:
        with reporting(show, as_json=as_json) as reports, plugin.running(*EXPECTED):
            test_set: object = plugin.value.importer(reports=reports, **given)
    except OptionsConflict as error:
        raise click.UsageError(str(error)) from None
    except KeyboardInterrupt:
        click.echo("Interrupted: run the same command again to continue.", err=True)
        raise
    if not isinstance(test_set, TestSet):
        problem = f"it made {test_set!r:.80}, which is not a TestSet"
        raise plugin.broken(problem)
    return test_set, reports.notes


def _report_left_out(test_set: TestSet, folder: Path) -> None:
    """Print the number of image files that no annotation names."""
    named = {image.file for image in test_set.images}
    left_out = 0
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name).relative_to(folder).as_posix()
            left_out += file not in named
    if left_out:
        click.echo(
            f"{left_out} files of {folder} are left out: the annotations do not name them."
        )
