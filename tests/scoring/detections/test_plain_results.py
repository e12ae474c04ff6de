"""The fast reader of COCO results takes only what is read entry by entry too, as the same numbers, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpirc_score.detections.files import plain_results
from lpirc_score.detections.files.plain_results import read_plain_results

WRITTEN = "0.5 -0 -0.0 1e3 1e-400 1e400 5e-324 9007199254740993 18446744073709551616 NaN Infinity true null 01 1. {}"
LONG = ["1" * 309, "0." + "1" * 900, "9" * 4300, "9" * 4301, '"0.5"', "[1]"]
finite = st.floats(allow_nan=False, allow_infinity=False).map(repr)
numbers = st.one_of(
    finite,
    finite,
    st.integers(-99, 99).map(str),
    st.sampled_from([*WRITTEN.split(), *LONG]),
)
ids = st.one_of(st.integers(1, 3).map(str), st.integers(1, 3).map(str), numbers)
boxes = st.lists(numbers, min_size=4, max_size=4) | st.lists(numbers, max_size=5)
bboxes = boxes.map(lambda values: f"[{', '.join(values)}]")
nested = [
    '{"size": [1, 2], "counts": "a},{b"}',
    "[{}, {}]",
    "[[1, 2], [3]]",
    '"\\"},{"',
    '"\u00e9"',
    '"\\ud800"',
    '"\t"',
    "1e999",
]
extras = st.lists(
    st.tuples(
        st.sampled_from(["id", "segmentation"]),
        st.one_of(numbers, st.sampled_from(nested)),
    )
)
gaps = st.sampled_from(["", "", " ", "\n ", "\v", "\u00a0"])
encodings = st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])
endings = st.sampled_from(["]", "]", "]", ",]", "", "] 5"])


@st.composite
def entries(draw: st.DrawFn) -> str:
    fields = [
        ("image_id", draw(ids)),
        ("category_id", draw(ids)),
        ("bbox", draw(bboxes)),
        ("score", draw(numbers)),
    ]
    # The last of equal keys counts.
    again = draw(st.lists(st.sampled_from(fields), max_size=1))
    ordered = draw(st.permutations([*fields, *again, *draw(extras)]))
    return "{" + ", ".join(f'"{key}": {value}' for key, value in ordered) + "}"


@st.composite
def files(draw: st.DrawFn) -> bytes:
    comma = f"{draw(gaps)},{draw(gaps)}"
    text = f"{draw(gaps)}[{comma.join(draw(st.lists(entries(), max_size=5)))}{draw(endings)}{draw(gaps)}"
    return text.encode(draw(encodings), "replace")


def one_by_one(content: bytes) -> list[list[float]] | None:
    """The rows of a file whose entries are all plain, by the standard library; None for any other."""
    try:
        read = json.loads(content.decode("utf-8-sig"))
        rows = [
            [one["image_id"], one["category_id"], one["score"], *one["bbox"]]
            for one in read
        ]
        has_lists = all(type(one["bbox"]) is list for one in read)
        if not has_lists or any(
            {*map(type, row)} - {int, float} or len(row) != 7 for row in rows
        ):
            return None
        if any({type(row[0]), type(row[1])} != {int} for row in rows):
            return None
        return [[float(value) for value in row] for row in rows]
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def as_hex(rows: list[list[float]]) -> list[list[str]]:
    return [[value.hex() for value in row] for row in rows]


PLAIN = '{"image_id": 1, "category_id": 2, "bbox": [1, 2.5, -0.0, 1e-400], "score": 0.1'


@given(files(), st.sampled_from([1, 7, 40, 2**15]))
@example(f'[{PLAIN}, "x": {"9" * 4301}}}]'.encode(), 2**15)
@example(f'[{PLAIN}, "x": "\u00e9"}}]'.encode("latin-1"), 2**15)
@example(f"[{PLAIN}}}\v, {PLAIN}}}]".encode(), 7)
@example(f"[{PLAIN}}}, {PLAIN}}}]".encode("utf-8-sig"), 7)
def test_what_is_read_fast_is_what_is_read_one_by_one(
    tmp_path_factory: pytest.TempPathFactory,
    content: bytes,
    piece_bytes: int,
) -> None:
    path = tmp_path_factory.mktemp("plain") / "found.json"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_results, "PIECE_BYTES", piece_bytes)
        found = read_plain_results(path)
    if found is None:
        return
    expected = one_by_one(content)
    assert expected is not None
    assert found.coco_boxes is not None
    columns = (
        found.image.tolist(),
        found.category.tolist(),
        found.confidence.tolist(),
        found.coco_boxes.tolist(),
    )
    rows = [
        [float(image), float(category), score, *box]
        for image, category, score, box in zip(*columns, strict=True)
    ]
    assert as_hex(rows) == as_hex(expected)


ENTRY = {
    "image_id": 1,
    "category_id": 2,
    "bbox": [1.5, 2, 10, 20.25],
    "score": 0.25,
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(
            [ENTRY | {"segmentation": {"size": [4, 5], "counts": "PQ`a0o"}, "id": 7}]
            * 3000
        ),
        json.dumps([ENTRY] * 3000, separators=(",", ":")),
        json.dumps([dict(reversed(ENTRY.items()))] * 3000, indent=2),
        "\ufeff" + json.dumps([ENTRY] * 3000),
        "[]",
    ],
)
def test_files_of_common_forms_are_read_the_fast_way(
    tmp_path: Path,
    text: str,
) -> None:
    path = tmp_path / "found.json"
    path.write_text(text, encoding="utf-8")
    found = read_plain_results(path)
    assert found is not None
    assert len(found) == len(json.loads(text.lstrip("\ufeff")))


MEASURE = """
import resource, sys
from pathlib import Path
from lpirc_testsets import GroundTruth
from lpirc_score.detections.files import read_submission
from referee.errors import RefereeError
peak_mb = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
truth, before = GroundTruth.of_corners({1: ""}, {2: ""}, []), peak_mb()
try:
    print(len(read_submission(Path(sys.argv[1]), truth).detections))
except RefereeError as error:
    print(error.facts["total"])
print(peak_mb() - before)
"""


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="ru_maxrss counts other units elsewhere",
)
@pytest.mark.parametrize(
    ("content", "count", "most_mb"),
    [
        (
            "[" + ", ".join([json.dumps(ENTRY)] * 100_000) + "]",
            100_000,
            40,
        ),  # by values in Python 70 MB
        ("[" + ",".join(["[]"] * 300_000) + "]", 300_000, 15),  # all at once 24 MB
    ],
    ids=["entries", "empty lists"],
)
def test_a_large_file_takes_little_memory(
    tmp_path: Path,
    content: str,
    count: int,
    most_mb: float,
) -> None:
    path = tmp_path / "found.json"
    path.write_text(content)
    command = [sys.executable, "-c", MEASURE, str(path)]
    ran = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
    )
    read, used_mb = ran.stdout.split()
    assert int(read) == count
    assert float(used_mb) < most_mb
