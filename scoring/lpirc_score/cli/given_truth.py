"""Reads the ground truth that the command line names; a refusal says which argument it is, and if two are swapped."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from click.core import ParameterSource

from lpirc_testsets import GroundTruth, TestSetError, read_ground_truth
from lpirc_testsets.presence import is_there


def read_given_truth(
    ground_truth: Path,
    images: Path | None,
) -> GroundTruth:
    """Read the argument GROUND_TRUTH of the present command. Raises TestSetError as `read_ground_truth` does."""
    try:
        return read_ground_truth(ground_truth, images)
    except TestSetError as error:
        sentence = error.sentence
        if sentence.startswith(str(ground_truth)):
            swapped = _swapped(ground_truth, images)
            joint = " " if sentence.endswith("?") else ". "
            sentence = f"GROUND_TRUTH {sentence}"
            if swapped:
                sentence = f"{sentence}{joint}{swapped}"
        elif images is not None and sentence.startswith(str(images)):
            sentence = f"--images {sentence}"
        raise TestSetError(error.code, sentence, error.problems) from error


def _swapped(
    ground_truth: Path,
    images: Path | None,
) -> str:
    """Return a sentence if a file of DETECTIONS is ground truth, or ""."""
    context = click.get_current_context()
    detections: tuple[Path, ...] = context.params["detections"]
    for file in detections:
        if not _is_truth(file, images):
            continue
        others = [one for one in detections if one != file]
        if is_there(ground_truth):
            others.insert(0, ground_truth)
        first = f"{file} is ground truth, which stands first"
        if not others:
            return f"{first}; the DETECTIONS follow it"
        files = shlex.join(map(str, (file, *others)))
        same = "; with the same options" if _has_options(context) else ""
        return f"{first}{same}: {context.command_path} {files}"
    return ""


def _has_options(context: click.Context) -> bool:
    """Return True if the command line has options, and not files alone."""
    given = (
        context.get_parameter_source(one.name or "")
        for one in context.command.params
        if isinstance(one, click.Option)
    )
    return ParameterSource.COMMANDLINE in given


def _is_truth(
    file: Path,
    images: Path | None,
) -> bool:
    try:
        read_ground_truth(file, images)
    except TestSetError:
        return False
    return True
