"""`referee score`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path

import click

from lpirc_score import (
    COCO,
    Evaluation,
    Order,
    Tolerance,
    tolerance_of,
)
from lpirc_score import score as contest_score
from lpirc_score.analysis.analyses import Analyses, Analysis, Wanted, analysed
from lpirc_score.analysis.selection import Part, leave_out
from lpirc_score.cli.analysis_options import Asked, analysis_options
from lpirc_score.cli.analysis_tables import print_analyses
from lpirc_score.cli.chosen_parts import Chosen, Pairs, chosen_of
from lpirc_score.cli.given_truth import read_given_truth
from lpirc_score.cli.mask_scores import mask_options
from lpirc_score.cli.number_type import Threshold, WattHours
from lpirc_score.cli.score_comparison import (
    Result,
    curves_of,
    find_orders,
    print_comparison,
)
from lpirc_score.cli.score_on_page import page_of
from lpirc_score.cli.score_options import (
    MetricName,
    any_path,
    as_json,
    check_energies,
)
from lpirc_score.cli.score_output import as_document, print_result, threshold_text
from lpirc_score.cli.score_places import check_places
from lpirc_score.detections.files import Submission, read_blacklist, read_submission
from lpirc_score.errors import CodedError
from lpirc_score.files.curve_drawings import (
    Curves,
    check_curve_path,
    write_curves,
    write_overlay,
)
from lpirc_score.files.reading import repeated_in
from lpirc_score.files.score_page import check_page_path, write_score_page
from lpirc_score.metrics.evaluation import evaluated
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.metrics.offered import has_one_threshold
from lpirc_testsets.file_bytes import require_regular
from lpirc_testsets.ground_truth_reader import declares_ids
from lpirc_testsets.truth_digest import truth_digest

ENGINES = ("own", "pycocotools")


@click.command()
@click.argument("ground_truth", type=any_path)
@click.argument("detections", type=any_path, nargs=-1, required=True)
@click.option(
    "--images",
    type=any_path,
    help="CSV file with the header `image` that lists all images, also images without objects; or their folder.",
)
@click.option(
    "--blacklist",
    type=any_path,
    help="CSV file with the header `image,class` that lists the pairs to ignore.",
)
@click.option(
    "--metric",
    "metrics",
    type=MetricName(),
    multiple=True,
    default=["lpirc"],
    show_default=True,
    help="May be given several times.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="The program that computes the metric coco.",
)
@click.option(
    "--iou", type=Threshold(), help="The IoU threshold; default: the metric's own, 0.5."
)
@click.option(
    "--energy-wh",
    "energies_wh",
    type=WattHours(),
    multiple=True,
    help="The energy of the run in Wh, once for each file: the score is mAP / Wh.",
)
@click.option(
    "--curves",
    type=any_path,
    help="Write precision-recall curves to a .csv, .png or .svg.",
)
@mask_options
@analysis_options
@as_json
def score(
    ground_truth: Path,
    detections: tuple[Path, ...],
    images: Path | None,
    blacklist: Path | None,
    metrics: tuple[str, ...],
    engine: str,
    iou: float | None,
    energies_wh: tuple[float, ...],
    curves: Path | None,
    *,
    asked: Asked,
    as_json: bool,
) -> None:
    """Score the files DETECTIONS against GROUND_TRUTH: both may be a file or a folder in many forms.

    GROUND_TRUTH is a test-set folder, VOC annotations, YOLO's text files, a COCO JSON, a CSV or Parquet. DETECTIONS are
    COCO results, CSV, rows of seven numbers, Parquet, VOC results, YOLO's text files, or an export of a run.

    Several files or metrics are compared side by side, with the chance that the order of two files is real. Masks are
    scored with --segm and --label-maps.
    """
    metrics = tuple(dict.fromkeys(metrics))
    _check_options(metrics, engine, iou, curves)
    _check_asked(asked)
    check_energies(energies_wh, detections)
    check_places()
    scorer = _Scorer(
        ground_truth,
        images,
        blacklist,
        engine,
        iou,
        asked,
    )
    given = zip_longest(detections, energies_wh)
    results = [
        scorer.result(file, metric, energy_wh)
        for file, energy_wh in given
        for metric in metrics
    ]
    if curves is not None:
        _write_curves(curves, results, iou)
    orders = find_orders(results, iou)
    if asked.html is not None:
        write_score_page(asked.html, page_of(results, orders, iou))
    if as_json:
        _print_document(results, orders)
    else:
        shown = frozenset(map(Analysis, asked.shown))
        _print_tables(results, orders, shown)


class _Scorer:
    """Scores files against one ground truth; a file is read once for all metrics that read it alike."""

    def __init__(
        self,
        ground_truth: Path,
        images: Path | None,
        blacklist: Path | None,
        engine: str,
        iou: float | None,
        asked: Asked,
    ) -> None:
        for file in filter(None, (ground_truth, images)):
            require_regular(file)  # it is read twice: for the digest and for the boxes
        self._ground_truth = ground_truth
        self._images = images
        self._blacklist = blacklist
        self._engine = engine
        self._iou = iou
        self._truth = read_given_truth(ground_truth, images)
        repeated = repeated_in(ground_truth, self._truth)
        if repeated is not None:
            _warn(repeated)
        self._digest = truth_digest(ground_truth, self._truth, images)
        self._chosen = chosen_of(asked, self._truth)
        self._wanted = _wanted(asked, self._chosen)
        self._told: set[str] = set()
        self._read: dict[tuple[Path, Tolerance], tuple[Submission, Pairs]] = {}

    def result(
        self,
        file: Path,
        metric: str,
        energy_wh: float | None,
    ) -> Result:
        """Score one file by one metric."""
        submission, banned = self._submission(file, metric)
        chosen = self._chosen
        digest = chosen.digest(self._digest, banned)
        of = submission.ground_truth, submission.detections
        if not chosen.is_everything:
            of = chosen.of(*of, banned)
            banned = frozenset()
        evaluation = _evaluated(
            of,
            banned,
            metric,
            self._engine,
            self._iou,
            digest,
        )
        per_wh = None
        if energy_wh is not None:
            reached = contest_score(evaluation.map or 0.0, energy_wh)
            per_wh = None if evaluation.map is None else reached
        truth, detections = of
        counted = leave_out(*of, banned)
        return Result(
            evaluation=evaluation,
            map_ilsvrc_det=evaluated(*of, PUBLISHED, blacklist=banned).map,
            energy_wh=energy_wh,
            score=per_wh,
            file=file,
            truth=truth,
            detections=detections,
            banned=banned,
            analyses=analysed(*counted, metric, self._iou, self._wanted),
            selection=None if chosen.is_everything else chosen.as_document(),
            part=chosen.sentence,
        )

    def _submission(self, file: Path, metric: str) -> tuple[Submission, Pairs]:
        tolerance = _tolerance(metric, self._ground_truth, self._images)
        known = self._read.get((file, tolerance))
        if known is not None:
            return known
        submission = read_submission(file, self._truth, tolerance)
        for sentence in submission.warnings:
            if sentence not in self._told:  # by another metric
                _warn(sentence)
        self._told.update(submission.warnings)
        banned: Pairs = frozenset()
        if self._blacklist:
            truth = submission.ground_truth
            banned = read_blacklist(self._blacklist, truth, tolerance, _warn)
        self._read[file, tolerance] = submission, banned
        return submission, banned


def _wanted(asked: Asked, chosen: Chosen) -> Wanted:
    return Wanted(
        frozenset(map(Analysis, asked.flags)),
        chosen.slices,
        asked.confidence,
        asked.is_lenient,
    )


def _print_document(results: list[Result], orders: list[Order]) -> None:
    documents = [as_document(one) for one in results]
    document = documents[0]
    if len(results) > 1:
        files = [
            {"file": str(one.file)} | document
            for one, document in zip(results, documents, strict=True)
        ]
        document = {"files": files, "orders": list(map(asdict, orders))}
    click.echo(json.dumps(document, allow_nan=False))


def _print_tables(
    results: list[Result],
    orders: list[Order],
    shown: frozenset[Analysis],
) -> None:
    if len(results) == 1:
        print_result(results[0])
    else:
        print_comparison(results, orders)
    if results[0].part:
        click.echo(results[0].part)
    for one in results:
        analyses = one.analyses.only(shown)
        if len(results) > 1 and analyses != Analyses():
            click.echo(f"\n{one.file} by {one.evaluation.metric}")
        print_analyses(analyses, one.names)


def _check_options(
    metrics: tuple[str, ...],
    engine: str,
    iou: float | None,
    curves: Path | None,
) -> None:
    if engine == "pycocotools" and metrics != (COCO,):
        raise click.UsageError(
            f"--engine pycocotools computes the metric coco, not {', '.join(metrics)}; give --metric coco alone."
        )
    others = [metric for metric in metrics if not has_one_threshold(metric)]
    if iou is not None and COCO in others:
        raise click.UsageError(
            "The metric coco sets its own ten IoU thresholds; leave --iou out."
        )
    if iou is not None and others:
        raise click.UsageError(
            f"The metric {others[0]} has no single IoU threshold; leave --iou out."
        )
    if curves is not None:
        check_curve_path(curves)
        for metric in others:
            if metric != COCO:
                raise click.UsageError(
                    f"The metric {metric} has no single IoU threshold, so it has no curves; leave --curves out."
                )


def _check_asked(asked: Asked) -> None:
    takes_confidence = {Analysis.CONFUSION, Analysis.LABELS}
    if asked.confidence is not None and not takes_confidence & {*asked.flags}:
        raise click.UsageError(
            "--confidence is for --confusion and --labels; give one of them, or leave it out."
        )
    if asked.html is not None:
        check_page_path(asked.html)


def _evaluated(
    of: Part,
    banned: frozenset[tuple[int, int]],
    metric: str,
    engine: str,
    iou: float | None,
    digest: str,
) -> Evaluation:
    truth, detections = of
    if engine == ENGINES[0]:
        return evaluated(
            truth,
            detections,
            metric,
            iou,
            banned,
            digest,
        )
    # Imported here, so that only users of this option wait for it and need it installed.
    try:
        from lpirc_score.metrics.coco_reference import evaluate_with_pycocotools
    except ImportError:
        raise CodedError(
            "no-pycocotools",
            "--engine pycocotools needs pycocotools, which is not installed: "
            "pip install pycocotools",
        ) from None

    return evaluate_with_pycocotools(truth, detections, banned, digest)


def _write_curves(
    path: Path,
    results: list[Result],
    iou: float | None,
) -> None:
    curves: dict[str, Curves] = {}
    names: dict[int, str] = {}
    for one in results:
        metric = one.evaluation.metric
        names |= one.names
        curves[f"{one.file} {metric}"] = curves_of(one, iou)
    if len(results) > 1:
        write_overlay(path, curves, names)
        return
    shown = threshold_text(one.evaluation)
    if metric == COCO:
        shown = "IoU .50, and .75 (faint)"
    write_curves(path, curves.popitem()[1], names, f"{metric}, {shown}")


def _tolerance(
    metric: str,
    ground_truth: Path,
    images: Path | None,
) -> Tolerance:
    """Return the metric's tolerance.

    If the ground truth declares its categories or images, new ones are not tolerated.
    """
    tolerance = tolerance_of(metric)
    declared = declares_ids(ground_truth)
    return replace(
        tolerance,
        new_categories=tolerance.new_categories and not declared,
        new_images=tolerance.new_images and not declared and images is None,
    )


def _warn(sentence: str) -> None:
    program = click.get_current_context().find_root().info_name
    click.echo(f"{program}: warning: {sentence}", err=True)
