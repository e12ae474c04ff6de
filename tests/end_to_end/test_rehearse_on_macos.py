"""A rehearsal of which every process is on macOS, as far as Linux can pretend to be it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pretended_system import run


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/bin/ps").exists(),
    reason="no ps here: apt-get install procps",
)
def test_a_rehearsal_ends_with_a_score(tmp_path: Path) -> None:
    done = run(
        "darwin",
        tmp_path,
        "referee",
        "rehearse",
        "--images",
        "5",
        "--json",
        "--out",
        "rehearsal",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"] > 0
