"""--force of `meter report`, `compare` and `export` overwrites only what such a command writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.power.cli.conftest import Run, one_line
from tests.power.made_recordings import Made, steady

NAMES = ("a.json", "a-1.csv", "a-1.json", "b.json", "b-2.csv", "b-2.json")
COMMANDS = (
    ("report", "a.json"),
    ("report", "a-1.csv"),
    ("compare", "a.json", "b.json"),
    ("export", "a.json"),
)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    made = Made(tmp_path)
    made.series("a", [steady(6.0), steady(6.01)])
    made.series("b", [steady(5.0), steady(5.01)], start_s=1000.0)
    return made


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_recording_and_its_record_are_never_overwritten(
    meter: Run, made: Made, command: tuple[str, ...]
) -> None:
    before = {name: (made.folder / name).read_bytes() for name in NAMES}
    for name in NAMES:
        ended = meter(*command, "-o", name, "--force")
        assert ended.returncode == 1
        assert one_line(ended.stderr)
        assert f"{name} exists and is not a " in ended.stderr
        assert "not overwritten, with or without --force" in ended.stderr
    after = {name: (made.folder / name).read_bytes() for name in NAMES}
    assert after == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_force_is_advised_that_would_be_refused(
    meter: Run, made: Made, command: tuple[str, ...]
) -> None:
    ended = meter(*command, "-o", "a-1.csv")
    assert ended.returncode == 1
    assert "with or without --force; choose another name" in ended.stderr
    assert (made.folder / "a-1.csv").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_slash_at_the_end_names_a_folder(
    meter: Run, made: Made, command: tuple[str, ...]
) -> None:
    ended = meter(*command, "-o", "pages/")
    assert ended.returncode == 2
    assert "'pages/' ends as the name of a folder; name a file" in ended.stderr
    assert not (made.folder / "pages").exists()


@pytest.mark.parametrize(
    ("command", "name", "told"),
    [
        (("report", "a.json"), "p.pdf", "p.pdf would be a page, whose name does not end in .pdf; write -o p.html."),
        (("export", "a.json"), "x.csv", "x.csv would be a Parquet file, whose name does not end in .csv"),
        (("compare", "a.json", "b.json"), "c.md", "c.md would be a page, whose name does not end in .md"),
    ],
)  # fmt: skip
def test_a_name_of_another_format_is_refused(
    meter: Run, made: Made, command: tuple[str, ...], name: str, told: str
) -> None:
    ended = meter(*command, "-o", name)
    assert ended.returncode == 1
    assert told in ended.stderr
    assert not (made.folder / name).exists()


def test_another_name_of_a_recording_is_no_way_around(meter: Run, made: Made) -> None:
    recording = made.folder / "a-1.csv"
    (made.folder / "linked.html").symlink_to(recording.name)
    os.link(recording, made.folder / "same.html")
    for name in ("linked.html", "same.html"):
        ended = meter("report", "a.json", "-o", name, "--force")
        assert ended.returncode == 1
        assert f"{name} exists and is not a page" in ended.stderr


def test_a_page_an_export_and_an_empty_file_are_overwritten(
    meter: Run, made: Made
) -> None:
    for name in ("page.html", "empty.html"):
        (made.folder / "empty.html").touch()
        for _ in range(2):
            ended = meter("report", "a.json", "-o", name, "--force")
            assert ended.returncode == 0, ended.stderr
        assert (made.folder / name).read_text().startswith("<!doctype html>")
    for _ in range(2):
        ended = meter("export", "a.json", "-o", "a.parquet", "--force")
        assert ended.returncode == 0, ended.stderr


def test_what_is_no_file_is_not_overwritten(meter: Run, made: Made) -> None:
    os.mkfifo(made.folder / "pipe")
    ended = meter("report", "a.json", "-o", "pipe", "--force")
    assert ended.returncode == 1
    assert ended.stderr == "meter: pipe is not a file; choose another name.\n"
