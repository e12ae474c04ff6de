"""Broken and hostile files of detections: taken, or refused in one short sentence that names file and line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpirc_score import STRICT, Tolerance
from lpirc_score.detections.files import HEADER, read_blacklist, read_submission
from referee.errors import RefereeError
from tests import hostile_values as hostile
from tests.contest_day import refers
from tests.scoring import oracle

TRUTH = replace(
    oracle.ground_truth([1, 2, 5], [1, 2, 7], []),
    image_names=("2007_000027.jpg", "9" * 5000 + ".jpg", hostile.ARABIC_INDIC_12),
    category_names=("person", "traffic light", "7th"),
)
GOOD = ("1", "2", "0.5", "1", "2", "30", "40")
ENTRY = {
    "image_id": 1,
    "category_id": 2,
    "bbox": [1.5, 2, 10, 20.5],
    "score": 0.25,
}
LENIENT = Tolerance(
    inverted_boxes=True,
    new_categories=True,
    new_images=True,
)
LONGEST_SENTENCE = 200


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def refusal(act: Callable[[], object], path: Path) -> str:
    """What the act is refused with in one short line about the file; "" when it is not."""
    try:
        act()
    except RefereeError as error:
        sentence = error.sentence
    else:
        return ""
    assert sentence.startswith(str(path))
    assert sentence.isprintable()
    assert len(sentence) - len(str(path)) <= LONGEST_SENTENCE
    return sentence


def said(path: Path) -> str:
    """What a file is refused with, "" for one that is read; it is read with every tolerance as well."""

    def read(tolerance: Tolerance) -> None:
        found = read_submission(path, TRUTH, tolerance).detections
        assert np.isfinite(found.boxes).all()
        assert np.isfinite(found.confidence).all()

    refusal(lambda: read(LENIENT), path)
    return refusal(lambda: read(STRICT), path)


def write(
    root: Path,
    text: str,
    name: str = "found.csv",
) -> Path:
    path = root / name
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


@given(
    st.integers(0, 6),
    hostile.cells,
    st.sampled_from([" ", ",", '","']),
    st.booleans(),
)
@example(2, "9" * 5000, ",", False)
@example(0, hostile.ARABIC_INDIC_12[:1], " ", False)
@example(0, "\uff11", ",", True)
@example(4, "\x00", " ", False)
def test_rows_with_any_cell_anywhere(
    root: Path,
    place: int,
    cell: str,
    separator: str,
    headed: bool,
) -> None:
    cells = [*GOOD]
    cells[place] = cell
    row = separator.join(cells)
    lines = [row if separator != '","' else f'"{row}"', ",".join(GOOD)]
    said(write(root, "\n".join([HEADER, *lines] if headed else lines)))


@given(
    st.binary(max_size=60),
    st.sampled_from(
        [b"", HEADER.encode() + b"\n", b"1 2 0.5 1 2 30 40\n", b'[{"image_id"']
    ),
)
def test_any_bytes(
    root: Path,
    content: bytes,
    head: bytes,
) -> None:
    path = root / "bytes.csv"
    path.write_bytes(head + content)
    said(path)


@given(st.sampled_from([*ENTRY]), hostile.values)
@example("image_id", True)
@example("image_id", hostile.HUGE_INTEGER)
@example("bbox", [0, 0, 10**4000, 1])
@example("score", 10**400)
def test_coco_results_with_any_value_anywhere(
    root: Path,
    key: str,
    value: object,
) -> None:
    said(
        write(
            root,
            hostile.json_text(json.dumps([ENTRY, {**ENTRY, key: value}])),
            "found.json",
        )
    )


@pytest.mark.parametrize("key", ["image_id", "category_id", "score"])
def test_true_is_not_a_number_of_coco_results(
    root: Path,
    key: str,
) -> None:
    assert f"entry 1: {key} True" in said(
        write(root, json.dumps([{**ENTRY, key: True}]), "true.json")
    )


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("digits", ["\u0661", "\uff11", "\u00b9", "1_0"])
def test_only_ascii_digits_are_numbers(
    root: Path,
    place: int,
    digits: str,
) -> None:
    cells = [*GOOD]
    cells[place] = digits
    for text in (" ".join(cells), ",".join(cells), f"{HEADER}\n{','.join(cells)}"):
        assert repr(digits) in said(write(root, text))


@pytest.mark.parametrize(
    "row",
    ["{0} 2 0.5 1 2 30 40", "1 2 {0} 1 2 30 40", "1 2 0.5 1 2 30 {0}"],
)
def test_a_field_of_many_digits_takes_no_longer_than_it_is_long(
    root: Path,
    row: str,
) -> None:
    path = write(root, "\n".join([row.format("1" * 100_000 + "x")] * 3))
    start_s = time.process_time()
    assert said(path)
    assert time.process_time() - start_s < 2.0


@given(hostile.cells, hostile.cells)
@example(hostile.ARABIC_INDIC_12[:1], "1")
def test_a_blacklist_with_any_cell(
    root: Path,
    image: str,
    category: str,
) -> None:
    path = write(root, f"image,class\n{image},{category}\n", "blacklist.csv")
    refusal(lambda: read_blacklist(path, TRUTH), path)


@pytest.mark.parametrize("name", ["found.csv", "found.json"])
def test_the_command_refuses_in_one_line(
    root: Path,
    name: str,
) -> None:
    truth = write(root, "image,class,xmin,ymin,xmax,ymax\n1,2,1,2,30,40\n", "truth.csv")
    found = write(
        root,
        json.dumps([{**ENTRY, "image_id": True}])
        if "json" in name
        else "\u0661 2 0.5 1 2 30 40",
        name,
    )
    ended = refers("score", str(truth), str(found))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    unit = "entry" if "json" in name else "line"
    assert f"{found}: {unit} 1: " in ended.stderr
