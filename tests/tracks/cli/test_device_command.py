"""`referee device add`: a name that is known gets a new key, and the person is told."""

from __future__ import annotations

from pathlib import Path

from lpirc_testsets import TestSet
from referee.contest import create_contest
from tests.contest_day import called
from tests.referee.conftest import small_set
from tests.referee.factories import config_text

__all__ = ["small_set"]


def test_a_second_key_for_a_device_is_told_to_replace_the_first(
    tmp_path: Path, small_set: TestSet
) -> None:
    folder = tmp_path / "contest"
    create_contest(folder, config_text(small_set))
    first, second = (
        called("device", "add", "pixel-4", "--contest", str(folder)) for _ in range(2)
    )
    assert first.stderr == ""
    assert "pixel-4 was registered already: its former key is refused" in second.stderr
    assert len({first.stdout, second.stdout}) == 2


def test_a_folder_without_its_option_is_told_with_all_that_was_given(
    tmp_path: Path,
) -> None:
    told = called("device", "add", "pixel-4", str(tmp_path)).stderr
    assert f"write: referee device add pixel-4 --contest {tmp_path}\n" in told
