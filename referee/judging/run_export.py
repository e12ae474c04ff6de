"""Export of a run's records as files for other programs: detections, readings, events."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from lpirc_power.recording import header_line, row
from lpirc_score.files.atomic_write import write_atomically
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.task_bodies import media_type
from lpirc_testsets.box_corners import coco_from_corners
from referee.contest import Contest, require_same_images
from referee.errors import RefereeError
from referee.judging.bound_rules import as_judged
from referee.judging.judge import served_images
from referee.judging.run_case import START_S, undo_image_order
from referee.judging.scoring_job import IMAGE
from referee.store.records import Run

AT_ONCE = 100_000  # rows
NUMBERS = ("confidence", "xmin", "ymin", "xmax", "ymax")
ENDINGS = {
    "application/json": "json",
    "text/csv": "csv",
    "text/plain": "txt",
    "image/png": "png",
}
"""The ending of a body's file by its media type; any other ends in bin."""
Columns = dict[str, NDArray[Any]]


def export_run(
    contest: Contest,
    number: int,
    folder: Path,
    formats: tuple[str, ...],
) -> list[Path]:
    """Write a run's detections in these FORMATS, its readings and its events, each file atomically; return their paths.

    In another task than boxes the bodies are written as received, with a table of the images that they answer.

    Raises RefereeError `run-unknown`, `testset-changed`, `no-pyarrow`; OSError.
    """
    run = contest.store.runs.get(number)
    require_same_images(contest, run)
    if run.task == BOXES:
        sent = sent_rows(contest, run)
        files = dict(FORMATS[form](sent) for form in formats)
    else:
        files = dict(_bodies(contest, run))
    readings = [
        row(one) + "\n" for one in contest.store.readings.of_run(run.id, START_S)
    ]
    files["readings.csv"] = "".join([header_line() + "\n", *readings]).encode()
    events = [json.dumps(event) + "\n" for event in contest.store.log.of_run(run.id)]
    files["events.jsonl"] = "".join(events).encode()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def _bodies(contest: Contest, run: Run) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each body of answers as received, and of a table of the answered images."""
    order = contest.store.runs.image_order(run.id)
    lines = ["post,elapsed_s,team_image,image,file"]
    images = iter(contest.store.posts.images(run.id).tolist())
    posts = contest.store.posts.bodies(run.id)
    for number, (post, receipt) in enumerate(posts, start=1):
        ending = ENDINGS.get(media_type(post["content_type"] or ""), "bin")
        yield f"post-{number:06}.{ending}", post["body"] or b""
        for team_image in islice(images, receipt.row_count):
            image = contest.test_set.images[int(order[team_image - 1]) - 1]
            when = f"{number},{post['elapsed_s']},{team_image}"
            lines.append(f"{when},{image.number},{image.file}")
    yield "answers.csv", ("\n".join(lines) + "\n").encode()


def sent_rows(contest: Contest, run: Run) -> Columns:
    """Return the rows that the team has sent in a run so far, in order of arrival, as columns of equal length.

    `post` is the number of the POST, from 1; `team_image` is the image number that the team knows, `image` the number
    in the test set; `counts` is 0 if the row does not count because the run was not served the image.
    """
    posts = contest.store.posts.arrivals(run.id)  # read first: more may arrive
    sizes = [count for _, count in posts]
    as_sent = contest.store.posts.detections(run.id)[: sum(sizes)]
    team_image = as_sent[:, IMAGE].astype(np.int64)
    rows = undo_image_order(
        as_sent,
        contest.store.runs.image_order(run.id),
    )  # in place
    image = rows[:, IMAGE].astype(np.int64)
    category = rows[:, 1].astype(np.int64)
    names = {one.id: one.name for one in contest.test_set.categories}
    name_of_row = [names[id_] for id_ in category.tolist()]
    files = ["", *(one.file for one in contest.test_set.images)]
    count_unserved = as_judged(contest, run).config.count_unserved
    counts = served_images(contest, run) | count_unserved
    elapsed_s = np.array([at_s for at_s, _ in posts], np.float64)
    return {
        "post": np.repeat(np.arange(1, len(posts) + 1), sizes),
        "elapsed_s": np.repeat(elapsed_s, sizes),
        "team_image": team_image,
        "image": image,
        "file": np.array(files, object)[image],
        "counts": counts[image].astype(np.uint8),
        "category": category,
        "name": np.array(name_of_row, object),
        **{name: rows[:, place] for place, name in enumerate(NUMBERS, start=2)},
    }


def _csv(sent: Columns) -> tuple[str, Iterator[bytes]]:
    """Return a table of all rows, in order of arrival; numbers are as short as possible without loss."""
    cells = {
        name: _cells(set(values.tolist()))
        for name, values in sent.items()
        if values.dtype == object
    }

    def parts() -> Iterator[bytes]:
        yield (",".join(sent) + "\n").encode()
        for first in range(0, len(sent["post"]), AT_ONCE):
            columns: list[list[str]] = []
            for name, values in sent.items():
                part = values[first : first + AT_ONCE]
                if name in cells:
                    texts = cells[name]
                    columns.append([texts[value] for value in part.tolist()])
                else:
                    columns.append(_numbers(part))
            rows = map(",".join, zip(*columns, strict=True))
            text = "\n".join(rows)
            yield f"{text}\n".encode()

    return "detections.csv", parts()


def _cells(texts: set[str]) -> dict[str, str]:
    """Return for each text its form as a cell of the table, quoted if necessary."""
    cells = {}
    for text in texts:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow((text, ""))
        cells[text] = line.getvalue()[:-1]
    return cells


def _numbers(values: NDArray[Any]) -> list[str]:
    """Return numbers (n,), at least one, as Python writes them. orjson is faster, but writes exponents differently."""
    content = orjson.dumps(
        np.ascontiguousarray(values),
        option=orjson.OPT_SERIALIZE_NUMPY,
    )
    texts = content[1:-1].decode().split(",")
    size = np.abs(values)
    if values.dtype == np.float64:
        is_small = (size != 0) & (size < 1e-4)
        is_large = size >= 1e15
        for place in np.flatnonzero(is_small | is_large).tolist():
            texts[place] = repr(values[place].item())
    return texts


def _coco(sent: Columns) -> tuple[str, Iterator[bytes]]:
    """Return COCO results of the rows that count, ordered by image, so that a COCO evaluator gives the judge's mAP."""
    order = np.argsort(sent["image"], kind="stable")
    order = order[sent["counts"][order] > 0]

    def parts() -> Iterator[bytes]:
        yield b"["
        for first in range(0, len(order), AT_ONCE):
            chosen = order[first : first + AT_ONCE]
            corners = np.column_stack([sent[name][chosen] for name in NUMBERS[1:]])
            values = zip(
                sent["image"][chosen].tolist(),
                sent["category"][chosen].tolist(),
                coco_from_corners(corners).tolist(),
                sent["confidence"][chosen].tolist(),
                strict=True,
            )
            keys = ("image_id", "category_id", "bbox", "score")
            results = [dict(zip(keys, each, strict=True)) for each in values]
            entries = orjson.dumps(results)
            if first:
                yield b","
            yield entries[1:-1]
        yield b"]\n"

    return "detections.coco.json", parts()


def _parquet(sent: Columns) -> tuple[str, bytes]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise RefereeError(
            "no-pyarrow",
            "Parquet needs pyarrow, which is not installed: "
            "pip install pyarrow; or export --format csv",
        ) from None
    texts = {name: pa.array(sent[name], pa.string()) for name in ("file", "name")}
    file = io.BytesIO()
    parquet.write_table(pa.table(sent | texts), file)
    return "detections.parquet", file.getvalue()


FORMATS: dict[str, Callable[[Columns], tuple[str, bytes | Iterator[bytes]]]] = {
    "csv": _csv,
    "coco": _coco,
    "parquet": _parquet,
}
"""For each format, the function that returns the name and the content of its file of detections."""
