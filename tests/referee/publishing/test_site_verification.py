"""A copy of a site with something in it that is no file: it is named, and nothing waits for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from referee.publishing.site_publication import Publication
from referee.publishing.site_verification import verify_site


@pytest.mark.parametrize("kind", ["link to a folder", "link to nothing", "pipe"])
def test_what_is_no_file_is_found_in_a_copy(
    published: Callable[..., Publication], tmp_path: Path, kind: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(published().folder, copy)
    odd = copy / "teams" / "odd.html"
    badge = copy / "badge.svg"
    badge.unlink()
    for place in (odd, badge):
        if kind == "pipe":
            os.mkfifo(place)
        else:
            place.symlink_to(tmp_path if "folder" in kind else tmp_path / "gone")
    problems = verify_site(copy, None).problems
    assert [one.split(":")[0] for one in sorted(problems)] == [
        "badge.svg was altered",
        "teams/odd.html was added",
    ]
    assert "its SHA-256 is that of no file" in problems[0]
