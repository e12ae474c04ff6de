"""The detector is tried with one picture before the log-in: a mistake costs nothing then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lpirc_client import cli
from tests.client.referee_double import PASSWORD, Referee

DETECTORS = """
import io
from PIL import Image

def right(jpeg, categories):
    return [(categories[0].id, 0.5, 1, 2, 30, 40)]

def decodes(jpeg, categories):
    size = Image.open(io.BytesIO(jpeg)).convert("RGB").size
    raise ValueError(f"{size}, {[one.name for one in categories]}")

def names(jpeg, categories):
    return [(7, 0.5, 1, 2, 3, 4), ("red-disc", 0.5, 1, 2, 3, 4)]

def percent(jpeg, categories):
    return [(7, 87.5, 1, 2, 30, 40)]

def nothing(jpeg, categories):
    pass

def exhausts(jpeg, categories):
    raise MemoryError
"""
LOG_IN = "POST /v1/session"
Run = Callable[..., "tuple[int, str]"]


@pytest.fixture
def referee(serve: Callable[..., Referee]) -> Referee:
    return serve(health={"categories": [{"id": 7, "name": "red-disc"}]})


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Run]:
    (tmp_path / "tried_detectors.py").write_text(DETECTORS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("LPIRC_PASSWORD", PASSWORD)

    def of(
        referee: Referee,
        name: str,
        *more: str,
    ) -> tuple[int, str]:
        wanted = ["--team", "alpha", "--detector", f"tried_detectors:{name}"]
        return cli.main(["run", referee.url, *wanted, *more]), capsys.readouterr().err

    yield of
    del sys.modules["tried_detectors"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("names", ", row 2: category is the name 'red-disc'; expected its id, 7"),
        ("nothing", ", row 1: the answer is None; expected rows"),
        ("decodes", ": the detector failed: ValueError: (320, 240), ['red-disc'] ("),
        ("decodes", "/tried_detectors.py, line 10) (not logged in"),
        ("exhausts", ": the detector failed: MemoryError (/"),
    ],
)
def test_a_detector_that_would_fail_is_named_and_no_one_logs_in(
    referee: Referee,
    run: Run,
    name: str,
    words: str,
) -> None:
    code, said = run(referee, name)
    assert code == 1
    assert said.count("\n") == 1
    assert referee.requests[LOG_IN] == 0
    assert said.startswith("lpirc-client: preflight with preflight.jpg")
    assert words in said
    assert "(not logged in; --no-preflight skips this)" in said


def test_what_is_only_odd_is_said_and_the_run_goes_on(
    referee: Referee,
    run: Run,
) -> None:
    code, said = run(referee, "percent")
    assert code == 0
    assert len(referee.rows) == 5
    assert "row 1: the confidence is 87.5; expected 0 to 1, not percent\n" in said
    assert "preflight" not in run(referee, "right", "--stay")[1]


def test_it_can_be_skipped(referee: Referee, run: Run) -> None:
    code, said = run(referee, "names", "--no-preflight")
    assert code == 1
    assert referee.requests[LOG_IN] == 1
    assert "image 1, row 2: category is the name 'red-disc'; expected its id, 7" in said


def test_the_picture_may_be_ones_own(
    referee: Referee,
    run: Run,
    tmp_path: Path,
) -> None:
    code, said = run(referee, "right", "--preflight", "nowhere.jpg")
    assert code == 1
    assert referee.requests[LOG_IN] == 0
    assert "nowhere.jpg: cannot be read: No such file or directory" in said
    (tmp_path / "a.jpg").write_bytes(b"GIF89a")
    assert "a.jpg: not a JPEG file" in run(referee, "right", "--preflight", "a.jpg")[1]


def test_nothing_can_be_tried_before_an_older_referee(
    serve: Callable[..., Referee],
    run: Run,
) -> None:
    older = serve()
    assert run(older, "names")[0] == 1
    assert older.requests[LOG_IN] == 1
