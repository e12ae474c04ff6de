"""The table of problems."""

from __future__ import annotations

import pytest

from lpirc_testsets import Problems


@pytest.mark.parametrize(
    ("sentences", "kind"),
    [
        (
            (
                "p/a.jpg: No such file or directory (image of x/a.xml)",
                "p/b.jpg: No such file or directory (image of x/b.xml)",
            ),
            "No such file or directory (image of ...)",
        ),
        (
            (
                "x: line 3: label 'car' is not a whole number from 1 to 1000",
                "y: line 9: label 'b' is not a whole number from 1 to 1000",
            ),
            "label ... is not a whole number from ... to ...",
        ),
        (
            (
                "x.xml: box [1.0, 2.0] (left, top, right, bottom), number 3 of its image, "
                "leaves image d.jpg of 40 x 30 pixels",
                "y.xml: box [3.5, 2.0] (left, top, right, bottom), number 14 of its image, "
                "leaves image e.JPEG of 9 x 8 pixels",
            ),
            "box ... (left, top, right, bottom), number ... of its image, leaves image ... of ... pixels",
        ),
        (
            (
                "x: XMin 'a' is not a finite number up to 1e+15",
                "x: XMin 'b' is not a finite number up to 1e+15",
            ),
            "XMin ... is not a finite number up to ...",
        ),
    ],
)
def test_problems_that_differ_in_values_are_of_one_kind(
    sentences: tuple[str, ...],
    kind: str,
) -> None:
    problems = Problems()
    problems.add(*sentences)
    assert problems.kinds == {kind: 2}


@pytest.mark.parametrize(
    ("what", "value"),
    [
        (f"SHA-256 is {'cc7' + 61 * 'd'}, the manifest says {64 * 'a'}", "cc7"),
        ("line 1 is not UTF-8; as Windows-1252 it reads", ""),
        ("the area is -5.5", "-5.5"),
        ("its size is 1e+15 in img0001", "1e+15"),
    ],
)
def test_a_piece_of_a_word_is_no_value(what: str, value: str) -> None:
    problems = Problems()
    problems.add(f"a.jpg: {what}")
    assert problems.rows[0].value.startswith(value)
    assert value or not problems.rows[0].value


def test_a_row_has_file_place_and_value_and_all_rows_are_counted() -> None:
    problems = Problems(limit=1)
    for line in (7, 8):
        problems.add(
            f"boxes.csv: line {line}: XMin 'nan' is not a number",
            remedy="do this",
        )
    (row,) = problems.rows
    assert row.file == "boxes.csv"
    assert row.place == "line 7"
    assert row.value == "'nan'"
    assert row.remedy == "do this"
    assert problems.count == 2
    assert problems.kept == ("boxes.csv: line 7: XMin 'nan' is not a number",)
