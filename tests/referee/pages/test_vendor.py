"""The vendored front-end pieces are those that the list names."""

from __future__ import annotations

import hashlib
import json

from referee.pages import STATIC
from referee.pages.vendor import LIST


def test_every_vendored_file_has_the_checksum_of_the_list_and_a_licence() -> None:
    pieces = json.loads(LIST.read_text())
    listed = {
        name: digest
        for piece in pieces.values()
        for name, digest in piece["sha256"].items()
    }
    kept = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (STATIC / "vendor").iterdir()
    }
    assert kept == listed
    assert all(
        piece["licence"] and any("LICENSE" in name for name in piece["sha256"])
        for piece in pieces.values()
    )
