"""Fetches the front-end packages listed in `vendor.json` from npm and stores their checksums: `make vendor`."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from referee.pages import STATIC

LIST = Path(__file__).parent / "vendor.json"


def fetch(name: str, piece: dict[str, Any]) -> dict[str, str]:
    """Put the files of an npm package into `static/vendor`, and return their SHA-256 by file name."""
    sums = {}
    with tempfile.TemporaryDirectory() as folder:
        pack = [
            "npm",
            "pack",
            f"{name}@{piece['version']}",
            "--silent",
            "--pack-destination",
            folder,
        ]
        subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - a developer's own command
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for inside, kept in piece["files"].items():
                member = packed.extractfile(f"package/{inside}")
                assert member is not None, inside  # noqa: S101 - a folder has no content
                content = member.read()
                (STATIC / "vendor" / kept).write_bytes(content)
                sums[kept] = hashlib.sha256(content).hexdigest()
    return sums


def main() -> None:
    """Fetch all packages."""
    pieces = json.loads(LIST.read_text())
    for name, piece in pieces.items():
        piece["sha256"] = fetch(name, piece)
    LIST.write_text(json.dumps(pieces, indent=2) + "\n")


if __name__ == "__main__":
    main()
