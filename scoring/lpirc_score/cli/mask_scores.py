"""`lpirc-score --segm` and `--label-maps`: scores of masks in place of boxes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from lpirc_score.cli.framed_tables import figures_table, print_framed
from lpirc_score.cli.score_options import check_energies

_OPTIONS = {
    "segm": "Score instance masks as COCO does: DETECTIONS are its results with `segmentation`.",
    "label-maps": "Score label maps: DETECTIONS are folders of PNGs, named as the images of the set GROUND_TRUTH.",
}
_OF_MASKS = frozenset(
    ("ground_truth", "detections", "masks", "energies_wh", "as_json", "help")
)
_MAIN = "AP"
"""Among COCO's numbers the one that is the accuracy."""


@dataclass(frozen=True)
class _Scored:
    """What a file or a folder reaches; `score` is None without an energy, or without an accuracy."""

    file: Path
    found: Any
    energy_wh: float | None
    score: float | None


def mask_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--segm` and `--label-maps`, with which masks are scored and the command itself does nothing."""

    @wraps(command)
    def chosen(*arguments: Any, masks: str | None, **options: Any) -> Any:
        if masks is None:
            return command(*arguments, **options)
        _refuse_options_of_boxes(masks)
        files = options["detections"]
        energies_wh = options["energies_wh"]
        check_energies(energies_wh, files)
        wh = energies_wh or (None,) * len(files)
        truth = options["ground_truth"]
        scored = [_scored(masks, truth, *one) for one in zip(files, wh, strict=True)]
        if options["as_json"]:
            _print_document(scored)
        else:
            _print_table(scored)
        return None

    for name in reversed(_OPTIONS):
        option = click.option(
            f"--{name}", "masks", flag_value=name, help=_OPTIONS[name]
        )
        chosen = option(chosen)
    return chosen


def _refuse_options_of_boxes(masks: str) -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in _OF_MASKS:
            sentence = f"{parameter.opts[0]} is for boxes; leave it out with --{masks}."
            raise click.UsageError(sentence)


def _scored(
    masks: str,
    truth: Path,
    file: Path,
    energy_wh: float | None,
) -> _Scored:
    from lpirc_score import evaluate_label_maps, evaluate_segm
    from lpirc_score import score as contest_score

    evaluate = evaluate_segm if masks == "segm" else evaluate_label_maps
    found = evaluate(truth, file)
    if energy_wh is None:
        return _Scored(file, found, None, None)
    per_wh = contest_score(found.accuracy or 0.0, energy_wh)
    reached = None if found.accuracy is None else per_wh
    return _Scored(file, found, energy_wh, reached)


def _print_document(scored: Sequence[_Scored]) -> None:
    documents = [_document(one) for one in scored]
    document = documents[0]
    if len(scored) > 1:
        files = [
            {"file": str(one.file)} | its
            for one, its in zip(scored, documents, strict=True)
        ]
        document = {"files": files}
    click.echo(json.dumps(document, allow_nan=False))


def _document(one: _Scored) -> dict[str, Any]:
    found = one.found
    return {
        "figure": found.figure,
        "accuracy": found.accuracy,
        "by_category": {str(id_): value for id_, value in found.by_category.items()},
        "others": dict(found.others),
        "names": {str(id_): name for id_, name in found.names.items()},
        "images": found.images,
        "answers": found.answers,
        "energy_wh": one.energy_wh,
        "score": one.score,
    }


def _print_table(scored: Sequence[_Scored]) -> None:
    from lpirc_score.files.page_parts import figure

    first = scored[0].found
    headings = [str(one.file) for one in scored]
    table = figures_table("id", "category", figures=headings, title=first.figure)
    for id_, name in first.names.items():
        cells = [figure(one.found.by_category.get(id_)) for one in scored]
        table.add_row(str(id_), name, *cells)
    table.add_section()
    table.add_row("", first.figure, *(figure(one.found.accuracy) for one in scored))
    for name in first.others:
        if name != _MAIN:
            cells = [figure(one.found.others[name]) for one in scored]
            table.add_row("", name, *cells)
    if scored[0].energy_wh is not None:
        cells = [figure(one.score, 4) for one in scored]
        table.add_row("", f"score {first.figure}/Wh", *cells)
    table.add_row("", "answers", *(str(one.found.answers) for one in scored))
    table.add_row("", "images", *(str(one.found.images) for one in scored))
    print_framed(table)
