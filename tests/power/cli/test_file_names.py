"""Names of files that are folders, or no text: every command says one sentence, or does its work."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from pyarrow import parquet

from lpirc_power.measurement_files.parquet_export import METADATA_KEY
from tests.power.cli.conftest import METER, Run, one_line
from tests.power.made_recordings import Made

NO_TEXT = os.fsdecode(b"m\xfc")
"""A name in Latin-1, which is not UTF-8."""


@pytest.mark.parametrize("folder", [".", "/", "", ".."])
@pytest.mark.parametrize("command", ["check", "report", "export"])
def test_a_folder_is_no_recording(
    meter: Run, tmp_path: Path, command: str, folder: str
) -> None:
    ended = meter(command, folder)
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "cannot be read" in ended.stderr or "is a folder" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", [0, 1])
def test_a_folder_cannot_be_compared(meter: Run, tmp_path: Path, place: int) -> None:
    files = [str(Made(tmp_path).recording())]
    files.insert(place, ".")
    ended = meter("compare", *files)
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "cannot be read" in ended.stderr


def test_a_name_that_is_no_text_is_shown_and_has_a_page_and_a_parquet_file(
    tmp_path: Path,
) -> None:
    Made(tmp_path).recording(NO_TEXT)
    for command in ("check", "report", "export"):
        ended = subprocess.run(
            [*METER, command, f"{NO_TEXT}.csv"],
            cwd=tmp_path,
            capture_output=True,
            env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, b""), command
        assert b"m\xfc" in ended.stdout
    page = (tmp_path / f"{NO_TEXT}.html").read_text(encoding="utf-8")
    assert "m?.csv" in page
    with (tmp_path / f"{NO_TEXT}.parquet").open("rb") as file:
        metadata = parquet.read_schema(file).metadata
    assert json.loads(metadata[METADATA_KEY.encode()])["energy_wh"] > 0


@pytest.mark.parametrize(
    "several", [("sim:", "--repeat", "2"), ("a=sim:", "b=sim:constant:5W")]
)
def test_several_recordings_have_names_that_their_record_can_hold(
    meter: Run, tmp_path: Path, several: tuple[str, ...]
) -> None:
    ended = meter("record", *several, "-o", f"{NO_TEXT}.csv", "--duration", "0.5")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "'m\\udcfc.csv' is not a name in UTF-8" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_parquet_file_that_cannot_be_made_is_named_with_the_reason_alone(
    meter: Run, tmp_path: Path
) -> None:
    Made(tmp_path).recording()
    ended = meter("export", "run.csv", "-o", "/proc/run.parquet")
    reason = "No such file or directory"
    if os.geteuid():
        reason = ended.stderr.rpartition(": ")[2].strip(".\n")
    assert ended.returncode == 1
    assert ended.stderr == f"meter: /proc/run.parquet cannot be written: {reason}.\n"


def test_what_lies_where_a_record_would_be_is_not_called_a_record(
    meter: Run, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text("[]")
    ended = meter("record", "sim:", "-o", "run", "--duration", "0.5")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "run.json, where the record of run would be, exists already;" in ended.stderr
