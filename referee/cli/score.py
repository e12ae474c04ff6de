"""`referee score`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from referee.cli.options import as_json
from referee.detection_files import read_blacklist, read_detections
from referee.scoring import METRICS, Evaluation, evaluate, format_score
from referee.scoring import score as contest_score
from testsets import GroundTruth, load_test_set, read_ground_truth

file_path = click.Path(path_type=Path)


@dataclass(frozen=True)
class Result:
    """An evaluation with the energy and the score, where an energy was given."""

    evaluation: Evaluation
    energy_wh: float | None
    score: float | None


@click.command()
@click.argument("ground_truth", type=file_path)
@click.argument("detections", type=file_path)
@click.option("--images", type=file_path, help="CSV `image`: every image, also those without objects.")
@click.option("--blacklist", type=file_path, help="CSV `image,class`: pairs that do not count.")
@click.option("--metric", type=click.Choice(METRICS), default="lpirc", show_default=True)
@click.option("--iou", type=float, help="The least overlap; default: the metric's own, 0.5.")
@click.option("--energy-wh", type=float, help="The energy of the run in Wh: the score is mAP by Wh.")
@as_json
def score(
    ground_truth: Path,
    detections: Path,
    images: Path | None,
    blacklist: Path | None,
    metric: str,
    iou: float | None,
    energy_wh: float | None,
    *,
    as_json: bool,
) -> None:
    """Score the file DETECTIONS against GROUND_TRUTH: a test-set folder, a COCO JSON or a CSV."""
    truth = read_ground_truth(ground_truth, images)
    evaluation = evaluate(
        truth,
        read_detections(detections, truth),
        metric,
        iou,
        read_blacklist(blacklist, truth) if blacklist else (),
        _digest(ground_truth, images),
    )
    per_wh = None if energy_wh is None else contest_score(evaluation.map, energy_wh)
    result = Result(evaluation, energy_wh, per_wh)
    if as_json:
        click.echo(json.dumps(as_document(result), allow_nan=False))
    else:
        _print_table(result, truth)


def as_document(result: Result) -> dict[str, Any]:
    """Make the JSON document: floats in full, categories without ground truth null."""
    evaluation = result.evaluation
    return {
        "metric": evaluation.metric,
        "map": evaluation.map,
        "ap": {str(category): ap for category, ap in evaluation.ap.items()},
        "categories_with_ground_truth": evaluation.categories_with_ground_truth,
        "images": evaluation.images,
        "detections": evaluation.detections,
        "energy_wh": result.energy_wh,
        "score": result.score,
        "signature": evaluation.signature,
    }


def _digest(ground_truth: Path, images: Path | None) -> str:
    """Return a test set's own digest, or that of a file's bytes; a list of images completes either."""
    if ground_truth.is_dir():
        digest = load_test_set(ground_truth).digest
    else:
        digest = hashlib.sha256(ground_truth.read_bytes()).hexdigest()
    if images is None:
        return digest
    return hashlib.sha256(digest.encode() + images.read_bytes()).hexdigest()


def _print_table(result: Result, truth: GroundTruth) -> None:
    evaluation = result.evaluation
    table = Table(title=f"{evaluation.metric}, IoU {evaluation.iou:g}", title_justify="left")
    table.add_column("id", justify="right")
    table.add_column("category")
    for heading in ("objects", "found", "false", "AP"):
        table.add_column(heading, justify="right")
    for category, name in zip(truth.category_ids.tolist(), truth.category_names, strict=True):
        counts, ap = evaluation.counts[category], evaluation.ap[category]
        numbers = (counts.objects, counts.true_positives, counts.false_positives)
        table.add_row(str(category), name, *map(str, numbers), "none" if ap is None else f"{ap:.5f}")
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(table)
    console.print(
        f"mAP {evaluation.map:.5f}, the mean of {evaluation.categories_with_ground_truth} categories with "
        f"objects; {evaluation.detections} detections on {evaluation.images} images"
    )
    if result.score is not None:
        console.print(f"score {format_score(result.score)} mAP/Wh with {result.energy_wh} Wh")
    console.print(f"signature {evaluation.signature}")
