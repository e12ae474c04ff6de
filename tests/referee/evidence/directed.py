"""A test set and rows of which each category asks one question of a metric: another rule gives another AP."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlencode

from lpirc_testsets import Category, TestSet, load_test_set, synthesize
from lpirc_testsets.writing import ObjectRecord, write_records
from tests.referee.evidence.closed_runs import as_json
from tests.referee.evidence.proved import form

# The images.
SHOWN = 1
UNSERVED = 2
Box = tuple[float, float, float, float]
Bodies = list[tuple[bytes, str]]


@dataclass(frozen=True)
class Question:
    """Objects by x, y, w, h, and the corners of detections, the surest one first."""

    objects: list[Box]
    detections: list[Box]
    crowds: tuple[int, ...] = ()
    areas: dict[int, float] = field(default_factory=dict)
    image: int = SHOWN


IN_A_ROW: list[Box] = [(0, 0, 20, 20), (10, 0, 20, 20)]
FAR: Box = (400, 400, 409, 409)
TWENTY = [40.0 * place for place in range(20)]

QUESTIONS = {
    "an overlap of exactly one half": Question([(10, 10, 10, 10)], [(10, 10, 19, 29)]),
    "an overlap of exactly what a small object asks for": Question(
        [(10, 10, 10, 10)],
        [(5, 5, 24, 24)],
    ),
    "an object without width, which asks for nothing": Question(
        [(10, 10, 0, 10), (50, 0, 9, 9)],
        [FAR],
    ),
    "equal overlaps of two objects in a row": Question(
        IN_A_ROW,
        [(5, 0, 24, 19), (0, 0, 19, 19)],
    ),
    "a better overlap of the last one": Question(
        IN_A_ROW,
        [(5, 0, 24, 19), (10, 0, 29, 19)],
    ),
    "a taken object, with another one at hand": Question(
        [(0, 0, 20, 20), (4, 0, 20, 20)],
        [(0, 0, 19, 19), (1, 0, 20, 19)],
    ),
    "a crowd that overlaps more": Question(
        [(0, 0, 20, 20), (0, 0, 40, 40)],
        [(0, 4, 19, 23)],
        crowds=(1,),
    ),
    "a perfect detection, first in the list": Question(
        [(0, 0, 20, 20)],
        [(0, 0, 19, 19)],
    ),
    "the 101st detection of an image": Question(
        [(0, 0, 20, 20)],
        [FAR] * 100 + [(0, 0, 19, 19)],
    ),
    "an object that is too large to count": Question(
        [(0, 0, 20, 20), (50, 0, 20, 20)],
        [(0, 0, 19, 19)],
        areas={1: 1.5e10},
    ),
    "a detection that is too large to count": Question(
        [(0, 0, 20, 20)],
        [(400, 400, 2e5, 2e5), (0, 0, 19, 19)],
    ),
    "an inverted detection": Question(
        [(0, 0, 20, 20)],
        [(90, 10, 40, 60), (0, 0, 19, 19)],
    ),
    "recalls that are just met": Question(
        [(x, 1, 10, 10) for x in TWENTY],
        [
            box
            for x in TWENTY
            for box in (
                (x, 1, x + 9, 10),
                (x + 20, 1, x + 29, 10),
            )
        ],
    ),
    # Found by search: one step in another order ends on the other side of an overlap that is asked for.
    "the overlap 0.8999999999999999": Question(
        [(25.4, 9, 15, 14.2)],
        [(25.4, 9, 37.9, 22.2)],
    ),
    "a half by fractions": Question([(24.4, 11, 8.2, 12.3)], [(24.4, 11, 39.8, 22.3)]),
    "a half by other fractions": Question(
        [(11.2, 6.7, 18.4, 25.4)],
        [(11.2, 6.7, 47, 31.1)],
    ),
    "a half of sizes": Question([(12.2, 1.8, 16.9, 8.6)], [(12.2, 1.8, 45, 9.4)]),
    "what a small object asks for by its own sides": Question(
        [(20.7, 23.9, 6.1, 11.4)],
        [(15.7, 18.9, 30.8, 39.3)],
    ),
    "the same by fractions": Question(
        [(18.4, 23.9, 11.9, 8.7)],
        [(13.4, 18.9, 34.3, 36.6)],
    ),
    "an image that was not served": Question(
        [(0, 0, 20, 20)],
        [(0, 0, 19, 19)],
        image=UNSERVED,
    ),
}


def directed(folder: Path) -> tuple[TestSet, Bodies]:
    """The set, and the bodies with the rows: JSON, text, and a form that has a refused row and the inverted boxes."""
    test_set = synthesize(
        folder,
        images=2,
        categories=1,
        seed=6,
        size=(96, 64),
    )
    categories = [
        Category(number, name) for number, name in enumerate(QUESTIONS, start=1)
    ]
    objects = []
    rows = []
    for number, question in enumerate(QUESTIONS.values(), start=1):
        for place, box in enumerate(question.objects):
            one = ObjectRecord(
                question.image,
                number,
                box,
                box[2] * box[3],
                crowd=place in question.crowds,
            )
            objects.append(replace(one, area=question.areas.get(place, one.area)))
        for place, corners in enumerate(question.detections):
            rows.append([question.image, number, 1 - place / 256, *corners])
    write_records(folder, "directed", test_set.images, categories, objects)
    return load_test_set(folder), _bodies(rows)


def _bodies(rows: list[list[float]]) -> Bodies:
    upright = [row for row in rows if row[3] <= row[5]]
    of_form = [row for row in rows if row not in upright] + upright[::3]
    text = "".join(f"{' '.join(map(str, row))}\n" for row in upright[1::3])
    return [
        as_json(upright[2::3]),
        (text.encode(), "text/plain"),
        (
            urlencode(form([*of_form, [99, 1, 0.5, 1, 1, 2, 2]])).encode(),
            "application/x-www-form-urlencoded",
        ),
    ]
