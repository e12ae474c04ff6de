"""A file of a published site in the place of its folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.contest_day import called


def test_a_page_of_a_site_is_told_with_the_folder_of_the_site(tmp_path: Path) -> None:
    for name in ("manifest.json", "index.html"):
        (tmp_path / name).touch()
    told = called("verify", str(tmp_path / "index.html")).stderr
    folder = shlex.quote(str(tmp_path))
    assert told.endswith(f"name its folder: referee verify {folder}\n")
