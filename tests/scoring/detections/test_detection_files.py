from __future__ import annotations

import json
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score import Detections, Tolerance
from lpirc_score.detections.files import (
    HEADER,
    coco_results,
    read_blacklist,
    read_detections,
    read_submission,
)
from referee.errors import RefereeError
from tests.scoring import oracle

TRUTH = replace(
    oracle.ground_truth([1, 2, 5, 20180000001], [1, 2, 7], []),
    image_names=("2007_000027.jpg", "000005.jpg", "street lamp.png", ""),
    category_names=("person", "traffic light", "7th"),
)
PLAIN = replace(TRUTH, image_names=("a.jpg", "b.jpg", "c.jpg", ""))
NUMBERS = "0.5,1.5,2,30,40.25"
ENTRY = {
    "image_id": 1,
    "category_id": 2,
    "bbox": [1.5, 2, 10, 20.5],
    "score": 0.25,
}


def write(
    folder: Path,
    content: str | bytes | list[Any],
    name: str = "found.csv",
) -> Path:
    path = folder / name
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pairs(found: Detections) -> list[tuple[int, int]]:
    return list(zip(found.image.tolist(), found.category.tolist(), strict=True))


def refusal(
    folder: Path,
    content: str | bytes | list[Any],
    name: str = "found.csv",
) -> RefereeError:
    path = write(folder, content, name)
    with pytest.raises(RefereeError) as failure:
        read_detections(path, PLAIN)
    assert failure.value.sentence.startswith(str(path))
    assert "\n" not in failure.value.sentence
    assert failure.value.facts["file"] == str(path)
    return failure.value


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        HEADER.replace("class", "category"),
        HEADER.replace("confidence", "score"),
        "\ufeff" + HEADER,
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_keeps_the_order_of_its_rows(
    tmp_path: Path,
    header: str,
    end: str,
) -> None:
    path = write(
        tmp_path,
        end.join([header, f"5,2,{NUMBERS}", "", f"1,7,{NUMBERS}", f"5,1,{NUMBERS}"]),
    )
    found = read_detections(path, PLAIN)
    assert pairs(found) == [(5, 2), (1, 7), (5, 1)]
    assert found.confidence.tolist() == [0.5] * 3
    assert found.boxes[0].tolist() == [1.5, 2, 30, 40.25]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("2007_000027.jpg,person", (1, 1)),
        ("2007_000027,1", (1, 1)),
        ("street lamp,traffic light", (5, 2)),
        ('"street lamp.png", "traffic light"'.replace(", ", ","), (5, 2)),
        ("20180000001,7", (20180000001, 7)),
        ("20180000001.0,7th", (20180000001, 7)),
        ("5,2", (5, 2)),
        (
            "000005,2",
            (2, 2),
        ),  # as it stands this is the name of image 2, not the number of image 5
        (" 5 , 2 ", (5, 2)),
    ],
)
def test_images_and_categories_go_by_id_or_name(
    tmp_path: Path,
    cells: str,
    expected: tuple[int, int],
) -> None:
    path = write(tmp_path, f"{HEADER}\n{cells},{NUMBERS}\n")
    assert pairs(read_detections(path, TRUTH)) == [expected]


def test_an_ambiguous_stem_names_nothing(tmp_path: Path) -> None:
    truth = replace(TRUTH, image_names=("a.jpg", "a.png", "b.jpg", ""))
    path = write(tmp_path, f"{HEADER}\na,1,{NUMBERS}\n")
    with pytest.raises(
        RefereeError,
        match=r"image 'a' is ambiguous: it names 'a.jpg' .* give the whole name",
    ):
        read_detections(path, truth)


@pytest.mark.parametrize(
    "line",
    [
        "5 2 0.5 1.5 2 30 40.25",
        f"5,2,{NUMBERS}",
        "5, 2, 0.5, 1.5, 2, 30, 40.25",
        "5 2\t0.5,1.5 , 2 30 40.25",
    ],
)
def test_the_contest_s_rows_need_no_header(
    tmp_path: Path,
    line: str,
) -> None:
    path = write(tmp_path, f"{line}\n1 1 0.5 1 1 2 2\n\n{line}", "found.txt")
    found = read_detections(path, PLAIN)
    assert pairs(found) == [(5, 2), (1, 1), (5, 2)]
    assert found.boxes[2].tolist() == [1.5, 2, 30, 40.25]


@pytest.mark.parametrize("name", ["found.json", "found.txt"])
def test_coco_boxes_become_inclusive_corners(
    tmp_path: Path,
    name: str,
) -> None:
    found = read_detections(
        write(tmp_path, [ENTRY, {**ENTRY, "image_id": 20180000001}], name),
        PLAIN,
    )
    assert pairs(found) == [(1, 2), (20180000001, 2)]
    assert found.boxes[0].tolist() == [1.5, 2, 10.5, 21.5]
    assert found.confidence.tolist() == [0.25, 0.25]


@pytest.mark.parametrize("content", [HEADER, HEADER + "\r\n\r\n", "[]"])
def test_a_header_alone_is_no_detections(
    tmp_path: Path,
    content: str,
) -> None:
    assert len(read_detections(write(tmp_path, content), PLAIN)) == 0


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n \n",
        b"\x00\x01",
        b"\xff\xfe1",
        "{}",
        "[",
        "[" * 10**5,
        "image,class\n1,1",
    ],
)
@pytest.mark.parametrize("name", ["found.csv", "found.json"])
def test_what_is_no_detections_file_is_refused(
    tmp_path: Path,
    content: str | bytes,
    name: str,
) -> None:
    assert refusal(tmp_path, content, name).code == "unreadable-file"


def test_a_missing_file_is_refused_and_so_is_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(RefereeError) as failure:
            read_detections(path, PLAIN)
        assert failure.value.code == "unreadable-file"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            f"9,1,{NUMBERS}",
            "image '9' is unknown; the ids are 1, 2, 5, 20180000001, the names a.jpg to c.jpg",
        ),
        (f"1.5,1,{NUMBERS}", "image '1.5' is unknown"),
        (f"d.jpg,1,{NUMBERS}", "image 'd.jpg' is unknown"),
        (f",1,{NUMBERS}", "image '' is unknown"),
        (f"1_0,1,{NUMBERS}", "image '1_0' is unknown"),
        (f"1,3,{NUMBERS}", "category '3' is unknown"),
        (f"1,Person,{NUMBERS}", "category 'Person' is unknown"),
        ("1,1,nan,1,1,2,2", "'nan' is not a finite number"),
        ("1,1,0.5,1,1,1e999,2", "'1e999' is not a finite number"),
        ("1,1,0.5,1,1,-inf,2", "'-inf' is not a finite number"),
        ("1,1,high,1,1,2,2", "'high' is not a number"),
        ("1,1,1_0,1,1,2,2", "'1_0' is not a number"),
        ("1,1,0.5,3,1,2,2", "the box 3, 1, 2, 2 is inverted"),
        ("1,1,0.5,1,2.5,2,2", "the box 1, 2.5, 2, 2 is inverted"),
        (
            "1,1,20,30,40,50,0.5",
            "the box 30, 40, 50, 0.5 is inverted: xmin, ymin, xmax,",
        ),
        ("1,1,0.5,1,1,2", "a row needs 7 values, but this one has 6"),
        ("1,1,0.5,1,1,2,2,2", "a row needs 7 values, but this one has 8"),
    ],
)
@pytest.mark.parametrize("header", [HEADER, f"1,1,{NUMBERS}"])
def test_every_mistake_is_named_with_line_and_value(
    tmp_path: Path,
    header: str,
    row: str,
    words: str,
) -> None:
    failure = refusal(tmp_path, f"{header}\n\n1,1,{NUMBERS}\n{row}\n1,1,{NUMBERS}\n")
    assert failure.code == "bad-detections"
    assert failure.facts["total"] == 1
    assert f"line 4: {words}" in failure.sentence
    seems_last = "; the confidence seems to stand last: confidence, xmin, "
    assert (seems_last in failure.sentence) == ("30, 40, 50, 0.5" in words)


def test_classes_that_are_counted_from_0_are_told_so(tmp_path: Path) -> None:
    path = write(tmp_path, f"{HEADER}\n1,0,{NUMBERS}\n")
    told = (
        r"category '0' is unknown; the ids are 1 to 3; if yours begin with 0, add 1 to"
    )
    with pytest.raises(RefereeError, match=told):
        read_detections(path, oracle.ground_truth([1], [1, 2, 3], []))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image_id": 3}, "image_id 3 is unknown"),
        ({"image_id": 1.5}, "image_id 1.5 is unknown"),
        ({"image_id": "d.jpg"}, "image 'd.jpg' is unknown"),
        ({"category_id": True}, "category_id True is unknown"),
        ({"category_id": [1]}, "category_id [1] is unknown"),
        ({"bbox": [1, 2, 3]}, "bbox [1, 2, 3] is not four numbers"),
        ({"bbox": None}, "bbox None is not four numbers"),
        ({"bbox": [1, 2, -3, 4]}, "bbox [1, 2, -3, 4] is inverted"),
        ({"bbox": [1, 2, "3", 4]}, "bbox '3' is not a number"),
        ({"bbox": [1, 2, 10**400, 4]}, "is too large"),
        ({"score": float("nan")}, "nan is not a finite number"),
        ({"score": False}, "score False is not a number"),
    ],
)
def test_mistakes_in_coco_results_are_named_by_entry(
    tmp_path: Path,
    change: dict[str, Any],
    words: str,
) -> None:
    failure = refusal(tmp_path, [ENTRY, {**ENTRY, **change}], "found.json")
    assert failure.code == "bad-detections"
    assert "entry 2: " in failure.sentence
    assert words in failure.sentence


def test_what_coco_results_lack_is_named(tmp_path: Path) -> None:
    entries = [
        {key: value for key, value in ENTRY.items() if key != missing}
        for missing in ENTRY
    ]
    listed: Any = refusal(tmp_path, [*entries, 7], "found.json").facts["problems"]
    assert [problem["problem"].split()[0].strip("'") for problem in listed] == [
        *ENTRY,
        "7",
    ]


ANYTHING = Tolerance(
    inverted_boxes=True,
    new_categories=True,
    new_images=True,
)


def test_what_is_tolerated_completes_the_ground_truth(tmp_path: Path) -> None:
    rows = [f"4,9,{NUMBERS}", f"1,1,{NUMBERS}", "4,1,0.5,3,1,2,2", f"0,9.0,{NUMBERS}"]
    taken = read_submission(
        write(tmp_path, "\n".join([HEADER, *rows])),
        PLAIN,
        ANYTHING,
    )
    assert pairs(taken.detections) == [(4, 9), (1, 1), (4, 1), (0, 9)]
    assert taken.ground_truth.image_ids.tolist() == [0, 1, 2, 4, 5, 20180000001]
    assert taken.ground_truth.image_names == ("", "a.jpg", "b.jpg", "", "c.jpg", "")
    assert taken.ground_truth.category_names == ("person", "traffic light", "7th", "9")
    assert [warning.split(": ")[1] for warning in taken.warnings] == [
        "line 2",
        "line 2",
        "line 4",
    ]
    assert [warning.split("(")[-1] for warning in taken.warnings] == [
        "3 rows of this kind)",
        "2 rows of this kind)",
        "1 row of this kind)",
    ]


def test_coco_results_are_tolerated_alike_and_keep_their_boxes(tmp_path: Path) -> None:
    odd = {
        **ENTRY,
        "category_id": 9,
        "bbox": [4, 4, -2, 3],
    }
    taken = read_submission(
        write(tmp_path, [ENTRY, odd], "found.json"),
        PLAIN,
        ANYTHING,
    )
    assert taken.detections.coco_boxes is not None
    assert taken.detections.coco_boxes.tolist() == [[1.5, 2, 10, 20.5], [4, 4, -2, 3]]
    assert taken.ground_truth.category_ids.tolist() == [1, 2, 7, 9]
    assert [warning.split(": ")[1] for warning in taken.warnings] == [
        "entry 2",
        "entry 2",
    ]


@pytest.mark.parametrize(
    "row",
    ["1.5,1", "d,1", "1,cat", "1,9007199254740994", "inf,1"],
)
def test_only_whole_numbers_are_new_ids(
    tmp_path: Path,
    row: str,
) -> None:
    with pytest.raises(RefereeError, match=r"line 2: .* is unknown"):
        read_submission(write(tmp_path, f"{HEADER}\n{row},{NUMBERS}"), PLAIN, ANYTHING)


def test_twenty_problems_are_told_and_all_counted(tmp_path: Path) -> None:
    failure = refusal(tmp_path, "\n".join([HEADER, *[f"9,1,{NUMBERS}"] * 30]))
    listed: Any = failure.facts["problems"]
    assert [problem["line"] for problem in listed] == list(range(2, 22))
    assert failure.facts["total"] == 30
    assert failure.sentence.endswith("(and 29 more problems)")


@given(st.binary(max_size=60))
def test_garbage_is_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory,
    content: bytes,
) -> None:
    path = write(tmp_path_factory.mktemp("garbage"), content)
    with suppress(RefereeError):  # anything else is a defect
        assert set(read_detections(path, PLAIN).image.tolist()) <= set(
            PLAIN.image_ids.tolist()
        )


def test_a_broken_quote_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, f'{HEADER}\n"1,1,{NUMBERS}\n').code == "unreadable-file"


@pytest.mark.parametrize("header", ["image,class", "image,category"])
def test_a_blacklist_goes_by_id_or_name(
    tmp_path: Path,
    header: str,
) -> None:
    path = write(tmp_path, f"{header}\n1,2\na.jpg,person\n\nc,7\n1,2\n")
    assert read_blacklist(path, PLAIN) == {(1, 2), (1, 1), (5, 7)}
    assert read_blacklist(write(tmp_path, header), PLAIN) == frozenset()


def test_mistakes_in_a_blacklist_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, "image,class\n1,9\n9,1\n1\n")
    with pytest.raises(
        RefereeError,
        match="line 2: category '9' is unknown",
    ) as failure:
        read_blacklist(path, PLAIN)
    assert failure.value.code == "bad-blacklist"
    assert failure.value.facts["total"] == 3
    for content in ("", "1,2\n"):
        with pytest.raises(RefereeError) as failure:
            read_blacklist(write(tmp_path, content), PLAIN)
        assert failure.value.code == "unreadable-file"


PLAIN_FILES = [
    json.dumps(
        [
            ENTRY,
            {
                **ENTRY,
                "image_id": 20180000001,
                "score": 1e-05,
            },
            ENTRY,
        ]
    ),
    json.dumps([dict(reversed(ENTRY.items()))] * 2, indent=1),
    json.dumps([ENTRY | {"bbox": [-1e300, 0, 3, 1.5e-7]}] * 2, separators=(",", ":")),
]
ODD = '0123456789+-.eE ,:[]{}"\\ntruab_\n'


def outcome(path: Path) -> object:
    try:
        found = read_detections(path, PLAIN)
    except RefereeError as error:
        return error.code, error.sentence
    assert found.coco_boxes is not None
    return np.column_stack(
        [found.image, found.category, found.confidence, found.boxes, found.coco_boxes]
    ).tolist()


def test_plain_coco_results_are_read_as_those_entry_by_entry_are_however_they_are_damaged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_plain = coco_results.read_plain_results
    taken = []
    chance = random.Random(0)  # noqa: S311 - damage, not secrets
    for number in range(600):
        text = PLAIN_FILES[number % 3]
        for _ in range(chance.choice([0, 1, 1, 2])):
            at = chance.randrange(len(text))
            gone = chance.randrange(3)
            text = (
                text[:at]
                + chance.choice([*ODD, "", *map(str, ENTRY)])
                + text[at + gone :]
            )
        path = write(tmp_path, text, "found.json")
        monkeypatch.setattr(coco_results, "read_plain_results", read_plain)
        fast = outcome(path)
        taken.append(read_plain(path) is not None)
        monkeypatch.setattr(coco_results, "read_plain_results", lambda _: None)
        assert fast == outcome(path), text
    assert 50 < sum(taken) < len(taken)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": NaN}]',
            "nan is not a finite number",
        ),
        (
            '[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1e999}]',
            "inf is not a finite",
        ),
        (f'[{{"image_id": {2**70}}}]', "'category_id' is missing"),
        ('["\\ud800"]', "is not an object"),
        ("[" * 5000, "not JSON"),
        (
            '[{"image_id": 1, "score"',
            "not JSON: it ends in the middle, so it was cut sh",
        ),
        (
            '[{"image_id": 1}, {"image_id": 0.',
            "it ends in the middle, so it was cut short",
        ),
        ('[{"image_id": "a', "it ends in the middle, so it was cut short; copy or"),
        ("<results/>", "not JSON: it begins with '<results/>'; COCO results are"),
        ("[1 2]", "not JSON: line 1: a comma is missing before '2]'"),
        ("[1\x0c,", "not JSON: "),
        (
            "{}\n{}",
            "line 2 begins a second document, where one is needed; COCO results",
        ),
        (
            '{"annotations": []}',
            "score}; it has annotations, as ground truth has: is it",
        ),
        ('{"format": "lpirc-testset"}', "; it is the manifest of a test set"),
        ('{"a": 1, "found": []}', "; this is an object, with the lists 'found'"),
        ("7", "score}; this is 7"),
    ],
)
def test_json_that_is_read_the_slow_way_is_refused_for_what_it_holds(
    tmp_path: Path,
    text: str,
    sentence: str,
) -> None:
    assert sentence in refusal(tmp_path, text, "found.json").sentence


@pytest.mark.parametrize(
    "damage",
    [
        ('image_id"', 'image_id3"'),
        ('"score"', '"scor"'),
        ("}]", "},]"),
        ("}]", "} 5]"),
        (": 1,", ": 1.5,"),
    ],
)
def test_what_only_resembles_plain_coco_results_is_refused(
    tmp_path: Path,
    damage: tuple[str, str],
) -> None:
    before, after = json.dumps([ENTRY, ENTRY]).rsplit(damage[0], 1)
    refusal(tmp_path, before + damage[1] + after, "found.json")
