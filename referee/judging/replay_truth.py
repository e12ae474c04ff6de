"""What the jury sees over a replay: the objects of each shown image, found or missed, and which boxes are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from lpirc_score import Detections
from lpirc_score.analysis.error_types import TRUE, analyse_errors
from lpirc_testsets import TestSetError
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.judge import case_of
from referee.judging.run_case import counted_of
from referee.judging.run_figures import current_judgement
from referee.judging.score_explanation import judged_contest
from referee.judging.scoring_job import scored_detections
from referee.store.records import Run

Document = dict[str, Any]
PLACE = ("x", "y", "width", "height")


def with_truth(contest: Contest, run: Run, replay: Document) -> Document:
    """Return a replay with `truth`, a row for each object, and `boxes.right`; `truth` is None if that is not known."""
    judged = current_judgement(contest, run)
    if judged is None:
        return replay | {"truth": None}
    try:
        judging = judged_contest(contest, run, judged)
        metric = judging.config.metric
        truth, rows = counted_of(case_of(judging, run))
        sent = scored_detections(rows, metric)
        found = analyse_errors(truth, sent, metric).found
    except (RefereeError, TestSetError):
        return replay | {"truth": None}
    order = contest.store.runs.image_order(run.id)
    numbers = [int(order[image - 1]) for image in replay["frames"]["image"]]
    frame_of = {number: frame for frame, number in enumerate(numbers)}
    objects = [at for at, image in enumerate(truth.image.tolist()) if image in frame_of]
    names = {one.id: one.name for one in contest.test_set.categories}
    corners = truth.boxes[objects]
    columns: Document = {
        "frame": [frame_of[image] for image in truth.image[objects].tolist()],
        "name": [names.get(one, "") for one in truth.category[objects].tolist()],
        "found": (~found.unfound[objects]).tolist(),
    }
    sizes = corners[:, 2:] - corners[:, :2] + 1
    figures = np.column_stack([corners[:, :2], sizes]).round().astype(np.int64)
    for name, column in zip(PLACE, figures.T, strict=True):
        columns[name] = column.tolist()
    right = _right(sent, found.outcome == TRUE, frame_of)
    boxes = replay["boxes"]
    keys = zip(
        boxes["frame"], boxes["category"], *(boxes[one] for one in PLACE), strict=True
    )
    marked = boxes | {"right": [key in right for key in keys]}
    return replay | {"truth": columns, "boxes": marked}


def _right(
    sent: Detections, is_right: Any, frame_of: dict[int, int]
) -> set[tuple[int, ...]]:
    """Return frame, category and place of each right box, as a replay has them."""
    corners = sent.boxes[is_right]
    sizes = corners[:, 2:] - corners[:, :2] + 1
    places = np.column_stack([corners[:, :2], sizes]).round().astype(np.int64)
    images = sent.image[is_right].tolist()
    categories = sent.category[is_right].tolist()
    return {
        (frame_of[int(image)], int(category), *place)
        for image, category, place in zip(
            images, categories, places.tolist(), strict=True
        )
        if int(image) in frame_of
    }
