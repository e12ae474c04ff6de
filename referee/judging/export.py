"""A run's records as files for other programs: detections, readings, served images, events."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from power.recording import header_line, row
from referee.contest import Contest, require_same_images
from referee.errors import RefereeError
from referee.files.atomic_write import write_atomically
from referee.files.tables import csv_line, table_bytes
from referee.judging.judge import IMAGE, START_S, served_images, undo_image_order
from referee.store.records import Run
from testsets.boxes import coco_from_corners

FORMATS = ("csv", "coco", "parquet")
AT_ONCE = 100_000  # rows
NUMBERS = ("confidence", "xmin", "ymin", "xmax", "ymax")
COLUMNS = ("post", "elapsed_s", "team_image", "image", "file", "counts", "category", "name", *NUMBERS)
SERVED_COLUMNS = ("elapsed_s", "team_image", "image", "file")


@dataclass(frozen=True, eq=False)
class SentRows:
    """What a team sent, in order of arrival: `rows` (n, 7) with the test set's image numbers.

    `team_image` (n,) are the images as the team knows them, `post` (n,) the number of the POST, from 1, at
    `posted_s` (posts,). By number, `counts` (N + 1,) says of an image whether its rows count, `files` its name.
    """

    rows: NDArray[np.float64]
    team_image: NDArray[np.int64]
    post: NDArray[np.int64]
    posted_s: NDArray[np.float64]
    counts: NDArray[np.bool_]
    files: list[str]
    categories: Mapping[int, str]


def export_run(contest: Contest, number: int, folder: Path, formats: tuple[str, ...]) -> list[Path]:
    """Write a run's detections in these FORMATS, its readings, served images and events; each file atomically.

    Raises RefereeError `run-unknown`, `testset-changed`, `no-pyarrow`; OSError.
    """
    run = contest.store.run(number)
    require_same_images(contest, run)
    writers: dict[str, tuple[str, Callable[[SentRows], bytes | Iterator[bytes]]]] = {
        "csv": ("detections.csv", _csv),
        "coco": ("detections.coco.json", _coco),
        "parquet": ("detections.parquet", _parquet),
    }
    sent = sent_rows(contest, run)
    files = {writers[form][0]: writers[form][1](sent) for form in formats}
    readings = [row(one) + "\n" for one in contest.store.readings(run.id, START_S)]
    files["readings.csv"] = "".join([header_line() + "\n", *readings]).encode()
    files["served.csv"] = table_bytes(SERVED_COLUMNS, _served(contest, run))
    events = [json.dumps(event) + "\n" for event in contest.store.events(run.id)]
    files["events.jsonl"] = "".join(events).encode()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def sent_rows(contest: Contest, run: Run) -> SentRows:
    """What the team of a run has sent so far."""
    posts = contest.store.post_log(run.id)  # first: more may arrive meanwhile
    sizes = [count for _, count in posts]
    rows = contest.store.detections(run.id)[: sum(sizes)]
    team_image = rows[:, IMAGE].astype(np.int64)
    return SentRows(
        rows=undo_image_order(rows, contest.store.image_order(run.id)),
        team_image=team_image,
        post=np.repeat(np.arange(1, len(posts) + 1), sizes),
        posted_s=np.array([elapsed_s for elapsed_s, _ in posts], np.float64),
        counts=served_images(contest, run) | contest.config.count_unserved,
        files=["", *(image.file for image in contest.test_set.images)],
        categories={one.id: one.name for one in contest.test_set.categories},
    )


def _served(contest: Contest, run: Run) -> Iterator[dict[str, object]]:
    order = contest.store.image_order(run.id).tolist()
    for team_image, elapsed_s in contest.store.served_log(run.id):
        number = order[team_image - 1]
        file = contest.test_set.images[number - 1].file
        yield dict(zip(SERVED_COLUMNS, (elapsed_s, team_image, number, file), strict=True))


def _csv(sent: SentRows) -> Iterator[bytes]:
    """A table of every row, in order of arrival. Numbers are as short as reads back to the same."""
    posts = [b"%d,%r" % posted for posted in enumerate([0.0, *sent.posted_s.tolist()])]
    images = [
        csv_line((number, file, int(counts)))
        for number, (file, counts) in enumerate(zip(sent.files, sent.counts, strict=True))
    ]
    categories = {id_: csv_line((id_, name)) for id_, name in sent.categories.items()}
    yield csv_line(COLUMNS) + b"\n"
    for first in range(0, len(sent.rows), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        rows = sent.rows[part]
        lines = zip(
            map(posts.__getitem__, sent.post[part].tolist()),
            map(b"%d".__mod__, sent.team_image[part].tolist()),
            map(images.__getitem__, rows[:, 0].astype(int).tolist()),
            map(categories.__getitem__, rows[:, 1].astype(int).tolist()),
            _texts(rows[:, 2:], b"],["),
            strict=True,
        )
        yield b"".join(map(b"%b,%b,%b,%b,%b\n".__mod__, lines))


def _coco(sent: SentRows) -> Iterator[bytes]:
    """COCO results of the rows that count, image by image: they score what the judge says."""
    order = np.argsort(sent.rows[:, IMAGE], kind="stable")
    order = order[sent.counts[sent.rows[order, IMAGE].astype(np.int64)]]
    yield b"["
    for first in range(0, len(order), AT_ONCE):
        rows = sent.rows[order[first : first + AT_ONCE]]
        values = zip(
            rows[:, 0].astype(int).tolist(),
            rows[:, 1].astype(int).tolist(),
            _texts(coco_from_corners(rows[:, 3:]), b"],["),
            _texts(rows[:, 2], b","),
            strict=True,
        )
        entry = b'{"image_id":%d,"category_id":%d,"bbox":[%b],"score":%b}'
        yield (b",\n" if first else b"") + b",\n".join(map(entry.__mod__, values))
    yield b"]\n"


def _parquet(sent: SentRows) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise RefereeError(
            "no-pyarrow",
            "Parquet needs pyarrow, which is not installed: pip install pyarrow; or export --format csv",
        ) from None
    image, category = sent.rows[:, IMAGE].astype(np.int64), sent.rows[:, 1].astype(np.int64)
    ids = sorted(sent.categories)
    named = pa.DictionaryArray.from_arrays
    columns = {
        "post": sent.post,
        "elapsed_s": sent.posted_s[sent.post - 1],
        "team_image": sent.team_image,
        "image": image,
        "file": named(pa.array(image), sent.files),
        "counts": sent.counts[image],
        "category": category,
        "name": named(pa.array(np.searchsorted(ids, category)), [sent.categories[id_] for id_ in ids]),
        **{name: sent.rows[:, place] for place, name in enumerate(NUMBERS, start=2)},
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def _texts(values: NDArray[np.float64], between: bytes) -> list[bytes]:
    """The numbers (m,) or (m, k) as text, one a row; `between` is what separates two rows in JSON."""
    text = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
    return text.strip(b"[]").split(between)
