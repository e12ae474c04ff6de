"""The referee without the client, which is a separate distribution."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OTHERS = ("datasets", "scoring", "power", "tracks")
RUN = "from referee.cli import main; main()"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed packages except the client."""
    folder = tmp_path_factory.mktemp("packages")
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if "lpirc_client" not in one.name:
            (folder / one.name).symlink_to(one)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        "rehearse --images 1 --out rehearsal",
        "model validate model.tflite --track ovic-detection",
    ],
)
def test_a_command_that_runs_the_client_says_at_once_that_there_is_none(
    packages: Path,
    tmp_path: Path,
    arguments: str,
) -> None:
    (tmp_path / "model.tflite").write_bytes(b"model")
    path = os.pathsep.join(map(str, (packages, ROOT, *(ROOT / one for one in OTHERS))))
    ended = subprocess.run(
        [sys.executable, "-S", "-c", RUN, *arguments.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    sentence = (
        "The client, which this command runs, is not installed here: pip install ./client in the project's folder, "
        "or lpirc_client-*.whl of the release"
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == f"referee: {sentence}\n"
    assert not (tmp_path / "rehearsal").exists()
