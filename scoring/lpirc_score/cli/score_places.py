"""Checks where the files of a score go, before anything is read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from lpirc_score.files.output_places import require_place
from lpirc_testsets.presence import is_there


def check_places() -> None:
    """Check the files that the options of the present command name, as `require_place` does. Raises as it does."""
    given = click.get_current_context().params
    _require_no_value(click.get_current_context())
    _require_once(given["detections"], given["energies_wh"])
    read = list(_read(given))
    for option in ("curves", "html"):
        if given[option] is not None:
            require_place(f"--{option}", given[option], read)


def _require_no_value(context: click.Context) -> None:
    """Raise UsageError if a word behind an option that takes none counts as a file, which is not there.

    Where no other file of DETECTIONS is there, the word is taken for a slip of its name.
    """
    given = context.params
    options = [one for one in context.command.params if isinstance(one, click.Option)]
    flags = [
        one.opts[0] for one in options if one.is_flag and given.get(one.name or "")
    ]
    missing = [file for file in given["detections"] if not is_there(file)]
    if not (flags and missing) or len(missing) == len(given["detections"]):
        return
    sentence = (
        f"There is no file {missing[0]}, which is taken as one of the DETECTIONS; {' and '.join(flags)} "
        f"take{'s' if len(flags) == 1 else ''} no value."
    )
    if given["as_json"] and missing[0].suffix.lower() == ".json":
        out = shlex.quote(str(missing[0]))
        sentence += f" To keep the document of --json in a file, write --json > {out}"
    raise click.UsageError(sentence)


def _require_once(files: Sequence[Path], energies_wh: Sequence[float]) -> None:
    """Raise UsageError for a file that is given twice, unless their energies tell them apart."""
    if energies_wh:
        return
    for at, file in enumerate(files):
        if any(_is_same(file, other) for other in files[:at]):
            raise click.UsageError(f"{file} is given twice; give each file once.")


def _is_same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    return is_there(one) and is_there(other) and one.samefile(other)


def _read(given: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    yield "GROUND_TRUTH", given["ground_truth"]
    for file in given["detections"]:
        yield "one of the DETECTIONS", file
    for option in ("images", "blacklist", "img_ids"):
        if given[option]:
            yield f"the file of --{option.replace('_', '-')}", Path(given[option])
    for text in given["slices"]:
        if file := text.partition("=")[2]:
            yield "a file of --slice", Path(file)
