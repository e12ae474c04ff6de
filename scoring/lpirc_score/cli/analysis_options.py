"""The options of `lpirc-score` that ask for analyses, and for parts of the set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from lpirc_score.cli.number_type import Number
from lpirc_score.cli.score_options import any_path

# The names of `analysis.analyses.Analysis`, which a command that scores nothing does not import.
_FLAGS = {
    "errors": "Types of errors and the mAP that mending each would gain, as TIDE defines them.",
    "confusion": "Confusion matrix of categories, with background.",
    "f1": "Best F1 and the confidence that reaches it, by category and overall.",
    "calibration": "Calibration error and reliability curve of the confidences.",
    "sizes": "AP of small, medium and large objects.",
    "labels": "Labels to look at: confident detections that contradict the ground truth.",
}


@dataclass(frozen=True)
class Asked:
    """What the options ask for; `flags` are names of analyses, `slices` texts NAME=FILE.

    The terminal has those that are `shown`; a page has all, so that only what was asked for by name is shown beside it.

    With `is_lenient` a calibration was not asked for by name, so it may be left out.
    """

    flags: tuple[str, ...]
    shown: tuple[str, ...]
    is_lenient: bool
    confidence: float | None
    slices: tuple[str, ...]
    img_ids: str | None
    cat_ids: str | None
    no_cats: bool
    html: Path | None


def analysis_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which takes them together as the argument `asked`."""

    @wraps(command)
    def gathered(*arguments: Any, **options: Any) -> Any:
        flags = tuple(name for name in _FLAGS if options.pop(name))
        asked = Asked(
            flags=tuple(_FLAGS) if options["html"] else flags,
            shown=flags,
            is_lenient="calibration" not in flags,
            confidence=options.pop("confidence"),
            slices=options.pop("slices"),
            img_ids=options.pop("img_ids"),
            cat_ids=options.pop("cat_ids"),
            no_cats=options.pop("no_cats"),
            html=options.pop("html"),
        )
        return command(*arguments, asked=asked, **options)

    for option in reversed(_options()):
        gathered = option(gathered)
    return gathered


def _options() -> list[Callable[..., Any]]:
    flags = [
        click.option(f"--{name}", name, is_flag=True, help=text)
        for name, text in _FLAGS.items()
    ]
    return [
        *flags,
        click.option(
            "--confidence",
            type=Number(0, 1),
            help="Take detections from this confidence: --confusion (default 0.25) and --labels (default 0.5).",
        ),
        click.option(
            "--slice",
            "slices",
            metavar="NAME=FILE",
            multiple=True,
            help="Score the images that a file lists, one a line, as a part of that name. May be given several times.",
        ),
        click.option(
            "--img-ids",
            metavar="FILE|LIST",
            help="Only these images: a file with one a line, or ids or names separated by commas.",
        ),
        click.option(
            "--cat-ids",
            metavar="LIST",
            help="Only these categories: ids or names separated by commas.",
        ),
        click.option(
            "--no-cats",
            is_flag=True,
            help="All categories as one: only where a detection lies counts.",
        ),
        click.option(
            "--html",
            type=any_path,
            help="Write a page with all analyses and plots; it needs no network.",
        ),
    ]
