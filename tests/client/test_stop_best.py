"""`--stop best` in a run of its own: a real referee with provisional scores and a real (simulated) meter.

The scores are released more often than in a contest, by the process of the test.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lpirc_client import cli
from lpirc_testsets import synthesize
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.provisional_scores import follow
from tests.client.conftest import Client
from tests.client.referee_double import Referee
from tests.contest_day import PASSWORD, TEAM, Day, contest_day

IMAGES = 240
# So many that the released mAP, of a secret half of the images, is far above its rounding in every draw.
FOUND = 80
# It finds everything in the first images, in no time, and nothing more however long it looks.
TIRED = """
import hashlib, json, pathlib, time

folder = pathlib.Path({folder!r})
images = json.loads((folder / "manifest.json").read_text())["images"]
objects = json.loads((folder / "ground_truth.json").read_text())["annotations"]
numbers = {{one["sha256"]: one["number"] for one in images}}
seen = []

def detect(jpeg, categories):
    number = numbers[hashlib.sha256(jpeg).hexdigest()]
    seen.append(number)
    if len(seen) > {found}:
        time.sleep(0.4)
        return
    for one in objects:
        if one["image_id"] == number:
            x, y, width, height = one["bbox"]
            yield one["category_id"], 0.9, x, y, x + width - 1, y + height - 1
"""


@pytest.fixture(scope="module")
def testset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesize(
        tmp_path_factory.mktemp("sets") / "set",
        IMAGES,
        2,
        seed=1,
        size=(64, 64),
    ).folder


@pytest.fixture
def day(
    tmp_path: Path,
    testset: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Day]:
    (tmp_path / "tired_detector.py").write_text(
        TIRED.format(folder=str(testset), found=FOUND)
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("LPIRC_PASSWORD", PASSWORD)
    monkeypatch.setattr("lpirc_client.run.LOOK_S", 0.2)
    # So short that the growth of the mAP is soon forgotten, and so long that a clear loss is predicted even
    # where a busy machine takes 20 s for the first images.
    monkeypatch.setattr("lpirc_client.stopping.MINUTE_S", 5.0)
    with contest_day(tmp_path / "contest", testset) as made:
        yield made
    sys.modules.pop("tired_detector", None)


@contextmanager
def following(day: Day) -> Iterator[None]:
    """Release figures in a thread of ours, in place of the server's own process."""
    stop = threading.Event()
    with open_contest(day.folder) as contest:
        thread = threading.Thread(target=follow, args=(contest, Clock(), stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def test_a_run_whose_map_no_longer_grows_is_logged_out(
    day: Day,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("referee.judging.released_figures.EVERY_S", 0.5)
    monkeypatch.setattr("referee.judging.provisional_scores.TICK_S", 0.2)
    config = day.folder / "contest.toml"
    text = config.read_text().replace(
        "teams_see_score = false",
        "teams_see_score = true",
    )
    config.write_text(text.replace("live_score = true ", "live_score = false"))
    wanted = [
        "--team",
        TEAM,
        "--detector",
        "tired_detector:detect",
        "--json",
        "--stop",
        "best",
        "--least",
        "1",
    ]
    picture = str(day.testset / "images" / "000001.jpg")
    server = day.serve()
    with following(day):
        assert cli.main(["run", server.url, *wanted, "--preflight", picture]) == 0
    document = json.loads(capsys.readouterr().out)
    # The first one before the log-in.
    assert len(sys.modules["tired_detector"].seen) == document["images"] + 1
    stop = document["stop"]
    assert document["ended"] == "finished"
    assert document["logged_out"] is True
    assert document["of"] == IMAGES
    assert FOUND < document["images"] < IMAGES
    assert stop["stopped_s"] >= 1
    assert 0 < stop["expected_at_end"] < stop["score"] <= stop["best_score"]
    run = day.run()
    assert run.elapsed_s is not None
    assert run.elapsed_s >= stop["stopped_s"]


def test_where_no_provisional_score_is_shown_it_says_so(
    referee: Referee,
    client: Client,
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text("def detect(jpeg, categories):\n    return []\n")
    done = client(
        "run",
        referee.url,
        "--team",
        "alpha",
        "--detector",
        "mine:detect",
        "--stop",
        "best",
    )
    assert done.returncode == 0
    assert (
        "--stop best could not decide: the referee showed no provisional score\n"
        in done.stderr
    )
    assert "5 of 5 images" in done.stderr
