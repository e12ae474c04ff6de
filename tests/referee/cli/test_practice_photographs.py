"""`referee practice --images`: one's own photographs, served in one command, with energy and timing only."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from lpirc_testsets import TestSet, TestSetError, load_test_set
from referee.cli.practice_command import prepare
from referee.cli.practice_photographs import default_folder, taken_photographs
from referee.errors import RefereeError
from tests import warm_programs
from tests.contest_day import TIMEOUT_S, called

Ask = Callable[..., requests.Response]


@pytest.fixture
def photographs(tmp_path: Path, small_set: TestSet) -> Path:
    """Five JPEG files among others."""
    folder = tmp_path / "photographs"
    folder.mkdir()
    for image in small_set.images:
        source = small_set.image_path(image.number)
        (folder / image.file).write_bytes(source.read_bytes())
    (folder / "p.png").write_bytes(b"\x89PNG")
    (folder / "q.HEIC").write_bytes(b"heic")
    (folder / "r.txt").write_text("text")
    return folder


def test_photographs_are_served_and_a_run_has_energy_and_timing_only(
    tmp_path: Path,
    photographs: Path,
) -> None:
    folder = tmp_path / "home"
    process = warm_programs.start(
        [
            *("referee", "practice", str(folder)),
            *("--images", str(photographs), "--port", "0"),
        ]
    )
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(6)]
    assert all(told), process.communicate()
    url = told[1].split()[1]
    login = json.loads(shlex.split(told[4])[-1])
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{url}/v1/session", json=login, timeout=TIMEOUT_S)
        about = answer.json()
        assert about["images"] == 5
        assert "person" in [one["name"] for one in about["categories"]]
        session.headers["Authorization"] = f"Bearer {about['token']}"
        for image in (1, 2, 3):
            got = session.get(f"{url}/v1/images/{image}", timeout=TIMEOUT_S)
            assert got.status_code == 200
        rows = [[1, 90, 0.5, 0, 0, 20, 30]]
        posted = session.post(f"{url}/v1/detections", json=rows, timeout=TIMEOUT_S)
        assert posted.status_code == 202
        key = (folder / "operator-key").read_text().strip()
        console = session.get(
            f"{url}/operator/",
            headers={"Authorization": f"Bearer {key}", "Accept": "text/html"},
            timeout=TIMEOUT_S,
        )
        assert "energy and timing only. No run gets a score." in console.text
        ended = session.delete(f"{url}/v1/session", timeout=TIMEOUT_S)
        assert ended.status_code == 200
    line = process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=TIMEOUT_S)
    assert re.match(
        r"Run 1: (0\.\d+ Wh \(simulated\)|no energy), 3 of 5 images in \d+\.\d s \([\d.]+ a second\); "
        r"no mAP and no score: the test set has no ground truth: energy and timing only; checks: ",
        line,
    ), line
    assert "no-truth" not in line
    assert (
        f"{photographs}: left out, since they are not JPEG: p.png, q.HEIC, r.txt.\n"
        "The test set has no ground truth: energy and timing only.\n"
    ) in said
    assert "Traceback" not in said


def test_the_next_start_goes_on_with_the_same_photographs(
    tmp_path: Path,
    photographs: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "home"
    testset = taken_photographs(photographs, folder)
    password = prepare(folder, testset, "sim:")
    digest = load_test_set(testset).digest
    capsys.readouterr()
    assert prepare(folder, taken_photographs(photographs, folder), "sim:") == password
    assert load_test_set(testset).digest == digest
    assert capsys.readouterr().err == ""
    new = photographs / "new.jpg"
    new.write_bytes((photographs / "000001.jpg").read_bytes())
    with pytest.raises(RefereeError) as failure:
        taken_photographs(photographs, folder)
    assert failure.value.sentence == (
        f"{folder} was made of other photographs: {new} is new; choose another DIR."
    )
    new.unlink()
    (photographs / "000001.jpg").unlink()
    with pytest.raises(RefereeError, match=r"000001\.jpg is not there any more"):
        taken_photographs(photographs, folder)


def test_a_test_set_in_place_of_photographs_is_told_its_option(
    tmp_path: Path, small_set: TestSet
) -> None:
    given = small_set.folder
    with pytest.raises(RefereeError) as failure:
        taken_photographs(given, tmp_path / "home")
    assert failure.value.sentence == (
        f"{given} is a test set, no folder of photographs; write: referee practice --testset {shlex.quote(str(given))}"
    )
    assert not (tmp_path / "home").exists()


def test_a_folder_with_another_test_set_is_not_changed(
    tmp_path: Path,
    photographs: Path,
    small_set: TestSet,
) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "testset").symlink_to(small_set.folder)
    with pytest.raises(RefereeError, match="has a test set with ground truth"):
        taken_photographs(photographs, folder)


def test_a_folder_without_photographs_makes_nothing(
    tmp_path: Path,
    photographs: Path,
) -> None:
    for file in photographs.glob("*.jpg"):
        file.unlink()
    with pytest.raises(TestSetError, match=r"no JPEG image .*, only p.png, q.HEIC"):
        taken_photographs(photographs, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_broken_photographs_are_listed_and_nothing_is_served(
    tmp_path: Path,
    photographs: Path,
) -> None:
    for number in (1, 2):
        file = photographs / f"00000{number}.jpg"
        file.write_bytes(file.read_bytes()[:-300])
    result = called(
        "practice", str(tmp_path / "home"), "--images", str(photographs), "--port", "0"
    )
    assert result.returncode == 1
    assert "000001.jpg: cannot be decoded" in result.stderr
    assert "(and 1 more problem)" in result.stderr
    assert "000002.jpg" in result.stdout
    assert not (tmp_path / "home").exists()
    for number in (1, 2):
        (photographs / f"00000{number}.jpg").unlink()
    testset = taken_photographs(photographs, tmp_path / "home")
    assert len(load_test_set(testset).images) == 3


def test_each_folder_of_photographs_has_its_own_contest(tmp_path: Path) -> None:
    assert default_folder(None) == Path("practice")
    assert default_folder(tmp_path / "holiday") == Path("practice-holiday")
    assert default_folder(Path("/")) == Path("practice")


def test_a_test_set_and_photographs_exclude_each_other() -> None:
    result = called("practice", "--testset", "a", "--images", "b")
    assert result.returncode == 2
    assert "Give --testset or --images, not both." in result.stderr
