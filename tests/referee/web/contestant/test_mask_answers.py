"""Label maps and instances over a real socket: what is hostile is refused in words, and nothing of it counts."""

from __future__ import annotations

import base64
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lpirc_testsets import synthesize
from tests.contest_day import Day, contest_day, problem
from tests.referee.web.contestant.test_answers import PACKED, Send, sender
from tests.scoring.tasks.label_map_sets import png_of
from tests.scoring.tasks.test_label_png import chunk, header
from tests.scoring.tasks.test_label_png import png as png_file

SIZE = (96, 64)
WHOLE = png_of(np.ones((64, 96), np.uint8))


def day_of(task: str, folder: Path) -> Iterator[Day]:
    made = synthesize(
        folder / "set",
        images=6,
        categories=3,
        size=SIZE,
        task=task,
    )
    with contest_day(
        folder / "contest",
        made.folder,
        task=task,
    ) as day:
        day.serve()
        yield day


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Send]:
    for day in day_of("segmentation", tmp_path_factory.mktemp("maps")):
        yield sender(day, day.login()["token"])


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Send]:
    for day in day_of("instances", tmp_path_factory.mktemp("instances")):
        yield sender(day, day.login()["token"])


def packed(image: int, png: bytes) -> bytes:
    return (
        struct.pack(
            "<II",
            image,
            len(png),
        )
        + png
    )


def an_answer(image: int, png: bytes) -> dict[str, object]:
    return {"image": image, "png": base64.b64encode(png).decode()}


def first_problem(send: Send, body: object) -> str:
    refused = problem(
        send(body),
        422,
        "bad-answers",
    )
    return str(refused["problems"][0]["problem"])


def test_a_label_map_counts_once_in_either_form(maps: Send) -> None:
    assert maps([an_answer(1, WHOLE)]).json()["accepted"] == 1
    assert maps(packed(2, WHOLE), PACKED).json()["accepted"] == 1
    again = problem(
        maps(packed(2, WHOLE), PACKED),
        409,
        "answered-already",
    )
    assert again["images"] == [2]


def test_a_refused_body_names_place_and_image_and_nothing_of_it_counts(
    maps: Send,
) -> None:
    small = png_of(np.ones((8, 8), np.uint8))
    body = [an_answer(3, WHOLE), an_answer(4, small)]
    refused = problem(
        maps(body),
        422,
        "bad-answers",
    )
    assert refused["detail"] == (
        "Answer 2, image 4: the label map is 8 x 8 pixels, the image 96 x 64; nothing was taken."
    )
    assert maps([an_answer(3, WHOLE)]).status_code == 202


def test_a_png_bomb_is_refused_at_once(maps: Send) -> None:
    zeros = zlib.compress(bytes(2**28), 1)
    bomb = png_file(
        header(*SIZE),
        chunk(b"IDAT", zeros),
        chunk(b"IEND", b""),
    )
    started_s = time.monotonic()
    refused = problem(
        maps(packed(5, bomb), PACKED),
        422,
        "bad-answers",
    )
    assert time.monotonic() - started_s < 20
    assert "unpacks to more than the 6,208 bytes of its pixels" in refused["detail"]


def test_other_hostile_maps_are_named(maps: Send) -> None:
    outside = png_of(
        np.full(
            (64, 96),
            77,
            np.uint8,
        )
    )
    assert first_problem(maps, [an_answer(5, outside)]).startswith(
        "6,144 pixels have the value 77"
    )
    jpeg = b"\xff\xd8\xff\xe0" + bytes(50)
    assert first_problem(maps, [an_answer(5, jpeg)]).startswith("it is a JPEG")
    twice = [an_answer(5, WHOLE), an_answer(5, WHOLE)]
    assert "answer 1 of this body is for the same image" in first_problem(maps, twice)
    large = packed(6, bytes(16 * 2**20))
    assert maps(large, PACKED).status_code == 413


def test_instances_are_taken_and_lies_are_named(instances: Send) -> None:
    triangle = [[10, 10, 50, 10, 30, 40]]
    row = {"image_id": 1, "category_id": 1, "score": 0.5}
    good = [{**row, "segmentation": triangle}] * 3
    assert instances(good).json()["accepted"] == 3
    assert instances(good).status_code == 202  # an image has any number
    lie = {"size": [64, 96], "counts": [5, 6]}
    assert first_problem(instances, [{**row, "segmentation": lie}]) == (
        "segmentation: the counts add up to 11, but 64 x 96 pixels are 6144"
    )
    other = {"size": [96, 64], "counts": [6144]}
    assert "size is [96, 64]" in first_problem(
        instances, [{**row, "segmentation": other}]
    )
