"""Where commands may write: not into a test set, not over the files of a contest."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from lpirc_testsets import synthesize
from referee.cli.output_paths import output_path

OWN = ("contest.toml", "contest.db", "secret", "operator-key", "signing-key")


@pytest.mark.parametrize("inside", [".", "images", "new/deep"])
def test_a_place_in_a_test_set_is_refused(tmp_path: Path, inside: str) -> None:
    images = synthesize(tmp_path / "set", images=1, categories=1, size=(64, 64))
    place = images.folder / inside
    with pytest.raises(click.BadParameter, match="is in the test set"):
        output_path.convert(str(place), None, None)


@pytest.mark.parametrize("name", OWN)
def test_a_file_of_a_contest_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "contest.toml").touch()
    with pytest.raises(click.BadParameter, match="is a file of the contest"):
        output_path.convert(str(tmp_path / name), None, None)


@pytest.mark.parametrize("name", ["run-1", "reports", "bundle.zip"])
def test_a_place_beside_them_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "contest.toml").touch()
    place = tmp_path / name
    assert output_path.convert(str(place), None, None) == place
