"""A form as the original protocol takes it: each row is taken or refused as if it were alone."""

from __future__ import annotations

from dataclasses import astuple
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.detections import MAX_PROBLEMS, parse_detections
from lpirc_score.detections.form_body import take_form
from referee.errors import LengthMismatch, RefereeError
from tests.scoring.detections.detection_bodies import FIELDS, FORM

IMAGES = 9
IDS = np.array([1, 2, 20], np.int64)
VALUES = st.sampled_from(
    [
        "1",
        "2",
        "1.0",
        "20",
        "9",
        "0",
        "10",
        "-1",
        "nan",
        "1e400",
        "",
        "5px",
        "2.jpg",
        "x/2.JPEG",
        "%",
    ]
)
WRITTEN = st.lists(st.tuples(*[VALUES] * 7), max_size=6)


def alone(row: tuple[str, ...]) -> list[list[float]]:
    """What version 1 makes of a row, of which it takes no inverted box."""
    upright = [*row[:5], *row[3:5]]
    try:
        parse_detections(
            urlencode(dict(zip(FIELDS, upright, strict=True))).encode(),
            FORM,
            IMAGES,
            IDS,
        )
        [float(value) for value in row[5:]]
    except (RefereeError, ValueError):
        return []
    numbers = [
        float(value.lower().rpartition("/")[2].partition(".j")[0]) for value in row
    ]
    return [numbers] if np.isfinite(numbers).all() else []


@given(WRITTEN, st.booleans())
def test_a_row_is_taken_or_refused_whatever_stands_beside_it(
    rows: list[tuple[str, ...]],
    interleaved: bool,
) -> None:
    pairs = [
        (name, value) for row in rows for name, value in zip(FIELDS, row, strict=True)
    ]
    body = urlencode(
        pairs if interleaved else sorted(pairs, key=lambda pair: FIELDS.index(pair[0]))
    ).encode()
    taken, refused = take_form(body, IMAGES, IDS)
    expected = [alone(row) for row in rows]
    assert taken.tolist() == [row for one in expected for row in one]
    assert refused.total == len(rows) - len(taken)
    lines = [line for line, one in enumerate(expected, start=1) if not one]
    assert [line for line, _, _ in refused.first] == lines
    assert [text for _, _, text in refused.first] == [
        " ".join(rows[line - 1]) for line in lines
    ]
    assert all(reason for _, reason, _ in refused.first)


def test_all_good_rows_of_a_large_body_are_taken_and_few_refusals_put_into_words() -> (
    None
):
    names = "image_name=1&CLASS_ID={}&confidence={}&xmin=1&ymin=1&xmax=2&ymax=2"
    rows = [
        names.format(1, "nan"),
        names.format(7, "0.5"),
        names.format(2, "0.5"),
    ] * 8000
    taken, refused = take_form("&".join(rows).encode(), IMAGES, IDS)
    assert len(taken) == 8000
    assert refused.total == 16_000
    assert len(refused.first) == MAX_PROBLEMS
    assert [line for line, _, _ in refused.first[:4]] == [1, 2, 4, 5]
    _, ((_, reason, text),) = astuple(
        take_form(rows[0].replace("nan", "x" * 9000).encode(), IMAGES, IDS)[1]
    )
    assert len(reason) < 200
    assert len(text) == 200


@pytest.mark.parametrize("missing", FIELDS[1:])
def test_a_list_that_is_shorter_than_the_images_is_a_mismatch(missing: str) -> None:
    body = urlencode([(name, "1") for name in FIELDS if name != missing] * 2).encode()
    with pytest.raises(LengthMismatch):
        take_form(body, IMAGES, IDS)
