"""Replay: which recorded rows go out under which number, and what is said before login."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from lpirc_client import replay
from lpirc_client.errors import AnswerError, ClientError
from lpirc_client.wire import Category, Login

LOGIN = Login(
    "token",
    "r1",
    4,
    60.0,
    60.0,
    (
        Category(7, "red-disc"),
        Category(9, "blue bar"),
    ),
)
HEADER = "image,class,confidence,xmin,ymin,xmax,ymax\n"
VALUES = (0.1, 1.0, 2.0, 3.0, 4.0)
TAIL = "0.1,1,2,3,4\n"
SIX_VALUES = (
    "line 2: 6 values instead of 7, which are image, category, confidence, xmin, ymin, "
    "xmax, ymax"
)


@pytest.fixture
def testset(tmp_path: Path) -> Path:
    """Four images, the last two with the same bytes; the name of one is the number of another."""
    files = {
        "dog.jpg": b"a",
        "000001.jpg": b"b",
        "sub/cat.jpg": b"c",
        "1.jpg": b"c",
    }
    images = [
        {
            "number": n,
            "file": file,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for n, (file, data) in enumerate(files.items(), 1)
    ]
    categories = [{"id": c.id, "name": c.name} for c in LOGIN.categories]
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "manifest.json").write_text(
        json.dumps({"images": images, "categories": categories})
    )
    return folder


def recorded(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "found.csv"
    path.write_text(text)
    return path


def refusal(
    tmp_path: Path,
    text: str,
    testset: Path | None = None,
) -> str:
    path = recorded(tmp_path, text)
    with pytest.raises(ClientError) as caught:
        replay.prepare(path, testset)
    assert not isinstance(caught.value, AnswerError) or testset
    return caught.value.sentence.removeprefix(f"{path}, ")


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "2,red-disc," + TAIL,
        HEADER.replace("class", "category") + "2,7," + TAIL,
        "\n" + HEADER + "\n2,7.0," + TAIL,
        "ymax,ymin,xmin,xmax,confidence,image,class,extra\n4,2,1,3,0.1,2,7,x\n",
        "2,7," + TAIL,
        "2 7 0.1 1 2 3 4\n",
        "2.000000, 7.000000, 0.100000, 1.000000, 2.000000, 3.000000, 4.000000\n",
        "\ufeff2\t7\t0.1\t1\t2\t3\t4\r\n",
    ],
)
def test_every_form_of_recording_gives_the_same_row(tmp_path: Path, text: str) -> None:
    answer = replay.prepare(recorded(tmp_path, text), None)(LOGIN)
    assert answer(2, b"") == [(7, *VALUES)]
    assert answer(1, b"") == []


def test_numbers_are_those_of_the_file_to_the_last_bit(tmp_path: Path) -> None:
    answer = replay.prepare(
        recorded(tmp_path, "1 7 0.30000000000000004 5e-324 0.1 1e-300 1e22\n"),
        None,
    )(LOGIN)
    assert answer(1, b"") == [(7, 0.1 + 0.2, 5e-324, 0.1, 1e-300, 1e22)]


def test_images_are_known_by_their_content(tmp_path: Path, testset: Path) -> None:
    lines = ["dog,7,", "2,7,", "sub/cat.jpg,7,", "cat.jpg,9,", "cat,blue bar,"]
    answer = replay.prepare(
        recorded(tmp_path, HEADER + "".join(line + TAIL for line in lines)),
        testset,
    )(LOGIN)
    assert answer(3, b"a") == [(7, *VALUES)]
    assert answer(4, b"b") == [(7, *VALUES)]
    assert [row[0] for row in answer(1, b"c")] == [7, 9, 9]


def test_images_of_the_same_bytes_are_taken_in_order(
    tmp_path: Path,
    testset: Path,
) -> None:
    answer = replay.prepare(
        recorded(tmp_path, HEADER + "3,7," + TAIL + "1.jpg,9," + TAIL),
        testset,
    )(LOGIN)
    assert answer(2, b"c") == [(7, *VALUES)]
    assert answer(1, b"c") == [(9, *VALUES)]
    with pytest.raises(AnswerError, match="image 3 is not in"):
        answer(3, b"c")


def test_a_number_with_leading_zeros_is_a_name_first(
    tmp_path: Path,
    testset: Path,
) -> None:
    answer = replay.prepare(recorded(tmp_path, HEADER + "000001,7," + TAIL), testset)(
        LOGIN
    )
    assert answer(1, b"b") == [(7, *VALUES)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("bird,7,", "line 2: image 'bird' is not a number or file of the test set"),
        ("9,7,", "line 2: image '9' is not a number or file of the test set"),
        ("1,7,", "line 2: image '1' may be number 1 or 4 of the test set"),
        ("dog,cat,", "line 2: category 'cat' is not one of this contest's 2: "),
    ],
)
def test_what_the_test_set_does_not_know_is_said_before_login(
    tmp_path: Path,
    testset: Path,
    text: str,
    sentence: str,
) -> None:
    assert refusal(tmp_path, HEADER + text + TAIL, testset).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            HEADER + "dog.jpg,7," + TAIL,
            "line 2: image 'dog.jpg' is a name; give the test set: --testset DIR",
        ),
        (HEADER + "1,7,x,1,2,3,4\n", "line 2: confidence is 'x', not a finite number"),
        (
            HEADER + "1,7,\u0661,1,2,3,4\n",
            "line 2: confidence is '\u0661', not a finite number",
        ),
        (
            HEADER + "1,7,1_0,1,2,3,4\n",
            "line 2: confidence is '1_0', not a finite number",
        ),
        (HEADER + "1,7,0.5,1,2,3,nan\n", "line 2: ymax is 'nan', not a finite number"),
        ("1 7 0.5 1 2 3 4\n1 7 0.5 1 2 3\n", SIX_VALUES),
        ("image,class,confidence\n", "line 1: the header lacks xmin, ymin, xmax, ymax"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_line(
    tmp_path: Path,
    text: str,
    sentence: str,
) -> None:
    assert refusal(tmp_path, text) == sentence


def test_what_only_the_login_tells_is_checked_right_after_it(
    tmp_path: Path,
    testset: Path,
) -> None:
    for text, words in (
        ("5,7,", "image '5' is not in 1..4"),
        ("1,cat,", "category 'cat' is not one of"),
    ):
        bind = replay.prepare(recorded(tmp_path, HEADER + text + TAIL), None)
        with pytest.raises(AnswerError, match=words):
            bind(LOGIN)
    bind = replay.prepare(recorded(tmp_path, HEADER + "2,7," + TAIL), testset)
    with pytest.raises(AnswerError, match="has 4 images, the contest 5"):
        bind(Login("token", "r1", 5, 60.0, 60.0, LOGIN.categories))


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match=r"none\.csv: cannot be read: No such file"):
        replay.prepare(tmp_path / "none.csv", None)
    with pytest.raises(
        ClientError,
        match=r"no folder of a test set: no manifest\.json is in it",
    ):
        replay.prepare(recorded(tmp_path, HEADER + "1,7," + TAIL), tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(ClientError, match=r"manifest\.json: not a test set's manifest"):
        replay.prepare(recorded(tmp_path, HEADER + "1,7," + TAIL), tmp_path)


def test_a_folder_in_place_of_a_recording_is_told_what_is_wanted(
    tmp_path: Path, testset: Path
) -> None:
    told = "it is a folder; name a file of recorded detections: CSV with a header, or "
    with pytest.raises(ClientError, match=told) as caught:
        replay.prepare(tmp_path, None)
    assert "--testset" not in caught.value.sentence
    with pytest.raises(ClientError, match=f"given as --testset {testset}$"):
        replay.prepare(testset, None)
