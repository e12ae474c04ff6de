"""Packs what a web server sends as text, so that it need not: nginx takes NAME.gz by `gzip_static on`."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import PurePosixPath

ENDING = ".gz"
PACKED_KINDS = (".css", ".html", ".js", ".json", ".svg")
LEAST_BYTES = 500
"""Below this a packed file saves nothing: a network packet holds it anyway."""
LEVEL = 9


def packed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the packed content of each file that becomes smaller, as NAME.gz; the same bytes for the same content."""
    found = {}
    for name, content in files.items():
        is_text = PurePosixPath(name).suffix in PACKED_KINDS
        if not is_text or len(content) < LEAST_BYTES:
            continue
        small = gzip.compress(content, LEVEL, mtime=0)
        if len(small) < len(content):
            found[name + ENDING] = small
    return found
