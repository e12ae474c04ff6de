"""What docs/stability.md promises is as it was kept here. LPIRC_KEEP_STABILITY=1 keeps what is there now."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from referee.web.app import create_app
from tests.referee.conftest import build as build
from tests.referee.conftest import small_set as small_set
from tests.referee.factories import House
from tests.stability import (
    command_surface,
    file_surface,
    http_surface,
    python_surface,
    seam_surface,
)
from tests.wheels.building import ROOT

HERE = Path(__file__).parent
SETTING = "LPIRC_KEEP_STABILITY"
KEEP = f'{SETTING}=1 make test ARGS="tests/stability"'
VANISHED = (
    "{count} public names of {file} are gone or changed: bring them back, or keep the old ones beside the new "
    "ones and deprecate them as docs/stability.md says. Only where it allows the change (a new major "
    "version): add a line to CHANGELOG.md under Removed or Changed, then run {keep}\n{names}"
)
NEW = (
    "{count} names have become public in {file}: if they are meant to stay, document them, then run {keep}; "
    "otherwise take them out of `__all__` and of the pages, or begin them with _\n{names}"
)


def surfaces(house: House) -> dict[str, list[str]]:
    app = create_app(house.contest, house.control, house.clock)
    return {
        "python.txt": python_surface.lines(ROOT),
        "commands.txt": command_surface.lines(),
        "http.txt": http_surface.lines(app, ROOT),
        "files.txt": file_surface.lines(ROOT),
        "seams.txt": seam_surface.lines(ROOT),
    }


def changes(file: str, kept: Sequence[str], now: Sequence[str]) -> list[str]:
    """What to say of a file whose lines differ from those kept; nothing if they do not."""
    said = []
    for form, names in (
        (VANISHED, [one for one in kept if one not in {*now}]),
        (NEW, [one for one in now if one not in {*kept}]),
    ):
        if names:
            listed = "\n".join(f"  {one}" for one in names)
            said.append(
                form.format(count=len(names), file=file, keep=KEEP, names=listed)
            )
    return said


def test_what_is_public_is_as_it_was(build: Callable[..., House]) -> None:
    said = []
    for file, now in surfaces(build()).items():
        path = HERE / file
        if os.environ.get(SETTING):
            path.write_text("".join(f"{one}\n" for one in now))
        said += changes(file, path.read_text().splitlines(), now)
    if said:
        pytest.fail("\n\n".join(said), pytrace=False)


def test_a_name_that_is_gone_is_named_with_what_to_do() -> None:
    (said,) = changes("python.txt", ["a.b(c)", "a.d"], ["a.d"])
    assert said.startswith("1 public names of python.txt are gone or changed")
    assert said.endswith("\n  a.b(c)")
    assert "deprecate" in said


def test_a_changed_signature_is_gone_and_new() -> None:
    gone, new = changes("python.txt", ["a.b(c)"], ["a.b(d)"])
    assert gone.endswith("a.b(c)")
    assert new.endswith("a.b(d)")
    assert "document" in new


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("python.txt", "lpirc_score.evaluate("),
        ("python.txt", "lpirc_power.open_meter("),
        ("python.txt", "lpirc_power.meter.Meter.close()"),
        ("commands.txt", "referee run arm: TEAM"),
        ("commands.txt", "meter record: --duration"),
        ("commands.txt", "lpirc-client run: --team"),
        ("commands.txt", "lpirc-score: --metric"),
        ("http.txt", "POST /v1/detections answers 202"),
        ("http.txt", "POST /result"),
        ("http.txt", "GET /zipimages"),
        ("http.txt", "refusal window-closed: 409"),
        ("files.txt", "format of bundle: 1"),
        ("files.txt", "contest.toml [stations] meter"),
        ("files.txt", "database posts.rows"),
        ("seams.txt", "lpirc-score: lpirc.metrics coco"),
        ("seams.txt", "lpirc-referee: command referee"),
    ],
)
def test_each_kind_of_promise_is_in_its_file(file: str, line: str) -> None:
    text = (HERE / file).read_text()
    assert any(one.startswith(line) for one in text.splitlines()), line
