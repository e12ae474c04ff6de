"""The distributions of the workspace, their wheels, and what is in one."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[2]
FOLDERS: Final = {
    "lpirc-testsets": "datasets",
    "lpirc-score": "scoring",
    "lpirc-power": "power",
    "lpirc-client": "client",
    "lpirc-referee": "referee",
    "lpirc-tracks": "tracks",
}
"""Each distribution and its folder; it needs none of those below it."""
AT_ONCE = 2


def built(folder: Path, target: str = "wheel") -> dict[str, Path]:
    """Build each distribution in `folder`, as a wheel or as an sdist; return the files by distribution."""
    # Two builders that both find no folder both make it, and hatchling has the second one fail.
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as builders:
        files = builders.map(lambda name: build_one(name, folder, target), FOLDERS)
        return dict(zip(FOLDERS, files, strict=True))


def build_one(name: str, folder: Path, target: str = "wheel") -> Path:
    """Build one distribution in `folder`; return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    command += ["--directory", str(folder)]
    subprocess.run(
        command,
        cwd=ROOT / FOLDERS[name],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    suffix = "-py3-none-any.whl" if target == "wheel" else ".tar.gz"
    (found,) = folder.glob(f"{name.replace('-', '_')}-*{suffix}")
    return found


def file_of(wheel: Path, name: str) -> bytes:
    """Return a file beside the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (found,) = (
            one
            for one in archive.namelist()
            if re.fullmatch(rf"[^/]*\.dist-info/{name}", one)
        )
        return archive.read(found)


def requirements_of(wheel: Path) -> list[str]:
    """Return the lines `Requires-Dist` of a wheel, those of its extras too."""
    document = message_from_bytes(file_of(wheel, "METADATA"))
    return document.get_all("Requires-Dist", [])
